"""Verdicts on questions of which one half alone is in the graph: what no graph names is told as it stands."""

import re
from collections.abc import Sequence

from kgmed.graph.base import LocalGraph
from kgmed.language.pair import PairType, is_yes_no, other_side
from kgmed.language.question import QuestionType, asking_part, texts_asked
from kgmed.language.text import lazily
from kgmed.records import Entity, Evidence, Link, Query, Role
from kgmed.steps.family import Family
from kgmed.steps.pairs import VERDICT
from kgmed.steps.phrase import affirmed, language_of, named, sentence, verdict


def stated(links: Sequence[Link]) -> list[Entity]:
    """The entities that a question names and does not deny, each once; people only where it names nothing else."""
    told = list(dict.fromkeys(link.entity for link in links if not link.mention.negated))
    return [entity for entity in told if entity.kind != "population"] or told


def lacks(which: str, query: Query, name: str, row: QuestionType | None = None) -> Evidence:
    """The verdict that the graph does not have a name, or of a thing what is asked."""
    language = language_of(query.text)
    thing, what = name or ("this", "此项")[language], row.says[language] if row else ""
    what = what if language else what[:1].lower() + what[1:]
    return Evidence(verdict(which, language, (), thing, what), VERDICT, (), (), 1.0, which)


def half_known(query: Query, links: Sequence[Link], pair: PairType | None) -> list[Evidence]:
    """That nothing ties what is named to the other thing of a yes or no question, which no graph names."""
    things = [link for link in links if not link.mention.negated]
    if not pair or pair.name not in _OF_EFFECTS or len(stated(links)) != 1 or not is_yes_no(query.text):
        return []
    if texts_asked(query.text):
        return []
    places = tuple((link.mention.start, link.mention.end) for link in things if link.mention.start >= 0)
    other = other_side(query.text, pair, places)
    if not other:
        return []
    language, thing = language_of(query.text), things[0]
    two = (named(thing.entity, language), other)
    two = two if query.text.find(other) > thing.mention.start else two[::-1]
    return [Evidence(verdict("none", language, (), *two), VERDICT, (), (thing.entity,), 1.0, "none")]


def vaccines(graph: LocalGraph, query: Query, links: Sequence[Link]) -> list[Evidence]:
    """Whether there is a vaccine for what is named, if that is asked: among what treats and prevents it."""
    if not _VACCINE.search(asking_part(query.text)) or not is_yes_no(query.text) or len(stated(links)) != 1:
        return []
    twins = [e for link in links if not link.mention.negated for e in Family(graph).twins(link)]
    near = (t for e in twins for t in graph.neighbours(e.id, limit=_ALL, roles=(Role.PREVENTION, Role.TREATS)))
    known = list(dict.fromkeys(t for t in near if _A_VACCINE.search(f"{t.head.name} {t.tail.name}")))[:2]
    language = language_of(query.text)
    if not known:
        return [lacks("lacking", query, stated(links)[0].name, _NO_VACCINE)]
    said = affirmed(("Yes", "有")[language], language, [sentence(t, language) for t in known])
    return [Evidence(said, VERDICT, tuple(known), (twins[0],), 1.0, "yes")]


_OF_EFFECTS = (  # rows of which the other thing may be anything: "caused by eating sugar"
    *("is treated", "is caused", "causes", "cures", "treats", "is prevented", "prevents", "link", "affects"),
    *("is a risk", "is a symptom", "is a side effect", "is a complication"),
)
_VACCINE = lazily(r"\bvaccin(?:e|es|ation)\b|\bjabs?\b|疫苗", re.IGNORECASE)
_A_VACCINE = lazily(r"\bvaccine|\bBCG\b|疫苗|卡介苗|接种", re.IGNORECASE)
_NO_VACCINE = QuestionType("vaccine", r"(?!)", says=("Word of a vaccine", "疫苗记载"))
_ALL = 1 << 20
