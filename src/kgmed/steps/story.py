"""Whether a text tells of a patient, asks for something, or asks what a thing is."""

import re
from collections.abc import Sequence

from kgmed.language import lay
from kgmed.language.pair import asks_what, is_yes_no, pairs_asked
from kgmed.language.question import asking_part, asks_diagnosis, compares, roles_asked, texts_asked, types_asked
from kgmed.language.text import has_cjk, lazily
from kgmed.records import Link, Role
from kgmed.steps.asked import PATIENT
from kgmed.steps.diagnosis import TAKEN
from kgmed.steps.halves import stated
from kgmed.steps.things import A_DISEASE, defined


def describes_a_patient(text: str, links: Sequence[Link]) -> bool:
    """Whether a text tells of someone and does not only ask, or lists several things that are there.

    >>> describes_a_patient("What is gout?", []), describes_a_patient("My toe hurts. What helps?", [])
    (False, True)
    """
    things = stated(links)
    shown = [thing for thing in things if thing.kind not in TAKEN]
    several = len(shown) > 1 and len(shown) == len(things) and not pairs_asked(text) and not compares(text)
    named = len(things) == 1 and A_DISEASE.search(things[0].name) and roles_asked(text) and not asks_diagnosis(text)
    return several or (asking_part(text).strip() != text.strip() and not named)  # "gout, which drugs"


def told_by_diseases(text: str) -> bool:
    """Whether the diseases that fit a patient answer what is asked: what it is, why it is, what is done about it."""
    asked = {*roles_asked(text)}
    if asked and not asks_diagnosis(text):
        return bool(asked & {*PATIENT, Role.CAUSE, Role.FINDING, Role.COMPLICATION})
    return asks_diagnosis(text) or not asks(text) or asking_part(text).strip() != text.strip()


def asks(text: str) -> bool:
    """Whether a text has the words of a question, and does not only tell or name things."""
    return is_yes_no(text) or asks_what(asking_part(text)) or "还是" in text


def asks_of(text: str) -> bool:
    """Whether a text has the words of a type of question: "sertraline side effects"."""
    return bool(types_asked(text) or texts_asked(text) or pairs_asked(text))


_DEFINES = lazily(
    r"what(?:'s| is| are|s) (?:this|that|it)(?:\W*$| (?:when|then|exactly|please|actually|in )\b)|what does (?:this"
    r"|that|it) mean|\bmeaning\W*$|\bmeans\W*$|\bdef\W*$|\bin plain (?:words|english|terms)\b"
    r"|是(?:一?个|一种|指)?(?:什么|啥)(?:病|疾病|意思|东西|药)?[呀啊呢哦]?\W*$",
    re.IGNORECASE,
)


def defines_one(text: str, links: Sequence[Link]) -> bool:
    """Whether a question names one thing and asks what it is.

    >>> from kgmed.records import Entity, Mention
    >>> link = Link(Mention("ptosis", "ptosis", 0, 6), Entity("1", "Ptosis"), 1.0, "exact")
    >>> [defines_one(f"My report says ptosis. {asked}", [link]) for asked in ("What is that?", "What could it be?")]
    [True, False]
    """
    if (
        len(stated(links)) != 1
        or not (said := _DEFINES.search(text))
        or any(lay.said(x.mention.surface) for x in links)
    ):
        return False  # "it burns when I pee, what is it": which illness
    return not has_cjk(said[0]) or bool(defined(text, links)) or not _WHICH_ILLNESS.search(said[0])


_WHICH_ILLNESS = lazily("病")  # "chest pain, 可能是啥病" asks which illness it is
