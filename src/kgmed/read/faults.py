"""The ways in which a reply is of no use, each said in a few words."""

import re
from collections.abc import Sequence

from kgmed.kg.text import has_cjk, normalise
from kgmed.models.marks import without_marks

_LETTER = re.compile(r"[^\W\d_]")
_SENTENCE_END = re.compile(r"[.!?。！？；\n]+")
LOOPS_FROM = 12  # runs of words (or characters) before a reply can be said to loop
DISTINCT = (
    0.5  # least share of distinct runs; chosen by eye between lists of evidence (0.7 and more) and loops (below 0.3)
)


def fault(reply: str, *, language: str, instructions: Sequence[str] = (), fence: str = "") -> str:
    """What is wrong with the reply, to follow the model's name; "" = nothing.

    `language` = the one to answer in; `instructions` = lines of the prompt, without the evidence, and `fence` = the
    line around the evidence, neither of which an answer repeats.
    """
    text = reply.strip()
    if not _LETTER.search(text):
        return "said nothing"
    if "\ufffd" in text:
        return "wrote broken characters"
    if (fence and fence in text) or echoes(text, instructions):
        return "repeated its instructions"
    if loops(without_marks(text)):
        return "repeated itself"
    if foreign(text, language):
        return f"did not answer in the language of the question ({language})"
    return ""


def echoes(reply: str, instructions: Sequence[str]) -> bool:
    """Whether the reply holds a line of the prompt's instructions (20 characters or more, 10 of Chinese)."""
    said = normalise(reply)
    return any(line in said for line in map(normalise, instructions) if len(line) >= (10 if has_cjk(line) else 20))


def loops(text: str) -> bool:
    """Whether the text says the same thing over and over: a sentence three times, or few distinct runs of words.

    >>> loops("The sky is blue. " * 3), loops("Asthma is treated with salbutamol. Asthma is treated with budesonide.")
    (True, False)
    """
    sentences = [s for s in map(normalise, _SENTENCE_END.split(text)) if s]
    if sentences and max(map(sentences.count, sentences)) >= 3:
        return True
    units, size = (list(normalise(text).replace(" ", "")), 6) if has_cjk(text) else (normalise(text).split(), 3)
    runs = [tuple(units[i : i + size]) for i in range(len(units) - size + 1)]
    return len(runs) >= LOOPS_FROM and len(set(runs)) < DISTINCT * len(runs)


def before_loop(text: str) -> str:
    """The text up to where it begins to say again what it said: the longest beginning that does not loop.

    >>> before_loop("Rest helps. Drink. " * 4), before_loop("缺铁性贫血性贫血性贫血性贫血性贫血")
    ('Rest helps. Drink.', '缺铁性贫血')
    """
    found = text
    for times in (4, 2, 1):
        found = _before_again(text, times)
        if not loops(found):
            break
    return found


def _before_again(text: str, times: int) -> str:
    """The text up to the first run of so many words (or characters) that it has said before, `times` those of a run."""
    pattern, size = (r"\S", 6) if has_cjk(text) else (r"\S+", 3)
    units = list(re.finditer(pattern, text))
    words = [normalise(unit.group()) for unit in units]
    said: set[tuple[str, ...]] = set()
    for i in range(len(units) - size * times + 1):
        run = tuple(words[i : i + size * times])
        if run in said:
            return text[: units[i].start()].strip()
        said.add(run)
    return text


def foreign(reply: str, language: str) -> bool:
    """Whether a Chinese answer holds almost no Chinese, or an English one mostly Chinese (names may be foreign).

    A reply of fewer than 4 letters, such as the letter of an option, is of no language.

    >>> foreign("Take omeprazole.", "zh"), foreign("可用 omeprazole 治疗", "zh"), foreign("B", "zh")
    (True, False, False)
    """
    letters = _LETTER.findall(reply)
    if len(letters) < 4 or language not in ("en", "zh"):
        return False
    share = sum(map(has_cjk, letters)) / len(letters)
    return share < 0.1 if language == "zh" else share > 0.5
