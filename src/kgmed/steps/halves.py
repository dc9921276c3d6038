"""Verdicts on questions of which one half alone is in the graph: what no graph names is told as it stands."""

import re
from collections.abc import Sequence
from dataclasses import replace

from kgmed.graph.base import LocalGraph
from kgmed.language.pair import PairType, is_yes_no, other_side, pairs_asked
from kgmed.language.particulars import is_of_an_animal
from kgmed.language.question import QuestionType, asking_part, texts_asked
from kgmed.language.text import lazily
from kgmed.records import Entity, Evidence, Link, Query, Relation, Role, Triple
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


def animals(query: Query) -> list[Evidence]:
    """That nothing is said of animals, where one is asked about."""
    name = ("animals", "动物")[language_of(query.text)]
    return [lacks("lacking", query, name, _ILLNESS)] if is_of_an_animal(query.text) else []


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


def codes(graph: LocalGraph, query: Query, links: Sequence[Link]) -> list[Evidence]:
    """The codes of what is named in the system that is asked for (ICD-10, OMIM, ...), from the names of its entries."""
    asked = _CODE.search(query.text)
    if not asked:
        return []
    system, language = _bare(asked["one"] or asked["other"]), language_of(query.text)
    system = {"ICD": "ICD10"}.get(system, system)
    things = [link for link in links if not link.mention.negated and _bare(link.mention.surface) not in _SYSTEMS]
    called = "ICD-10" if system == "ICD10" else system
    row = replace(_NO_CODE, says=(f"Code in {called}", f"{called}编码"))
    if not things:
        return [lacks("lacking", query, "", row)]
    entities = [m.entity for x in things for n in (x.mention.name, x.entity.name) for m in graph.lookup(n)]
    entities += [e for x in things for e in Family(graph).twins(x)]
    written = getattr(graph, "aliases", None)
    found: dict[str, Triple] = {}
    for e in dict.fromkeys(entities):
        for name in (e.id, *(text for text, _ in (written(graph.number(e.id)) if written else ()))):
            of, _, code = name.partition(":")
            if _bare(of) == system and not _RANGE.search(code):
                found.setdefault(code, Triple(e, Relation(f"{called} code"), Entity("", code)))
    if not found:
        return [lacks("lacking", query, named(things[0].entity, language), row)]
    told = list(found)[:_CODES]
    name = named(things[0].entity, language)
    head = (f"Code of {name} in {called}", f"{name}的{called}编码")[language]
    said = affirmed(head, language, [", ".join(told)])
    return [Evidence(said, VERDICT, tuple(found[code] for code in told), (things[0].entity,), 1.0, "yes")]


def _bare(name: str) -> str:
    """Letters and digits alone: ICD10 of icd-10."""
    return re.sub(r"\W|_", "", name).upper()


def one_thing(graph: LocalGraph, query: Query, links: Sequence[Link]) -> list[Evidence]:
    """That two names of a yes or no question are of one thing: Panadol and paracetamol."""
    mine = [link for link in links if not link.mention.negated and link.mention.start >= 0]
    names, language = list(dict.fromkeys(link.mention.surface for link in mine)), language_of(query.text)
    if len(names) != 2 or len(stated(mine)) != 1 or not any(p.name == "same" for p in pairs_asked(query.text)):
        return []
    thing = mine[0].entity
    written = [n for n in names if any(m.entity.id == thing.id for m in graph.lookup(n))]
    triples = tuple(Triple(thing, Relation("also called"), Entity("", n)) for n in written)
    told = (f"{names[0]} and {names[1]} are names of {named(thing, 0)}", f"{names[0]}与{names[1]}是同一物的名称")
    said = affirmed(("Yes", "是")[language], language, [told[language]])
    return [Evidence(said, VERDICT, triples, (thing,), 1.0, "yes")]


_SYSTEMS = frozenset({"ICD", "ICD10", "OMIM", "ORPHA", "UMLS", "SNOMEDCTUS", "SNOMED", "HP", "HPO", "MESH", "MONDO"})
_CODE = lazily(
    r"(?<![A-Za-z])(?P<one>ICD(?:[- ]?10)?|OMIM|ORPHA|UMLS|MESH|MONDO)(?![A-Za-z]).{0,20}"
    r"(?:\b(?:code|id|number)s?\b|编码|代码|编号)"
    r"|(?:\b(?:code|id|number)s?\b|编码|代码|编号).{0,60}"
    r"(?<![A-Za-z])(?P<other>ICD(?:[- ]?10)?|OMIM|ORPHA|UMLS|MESH|MONDO)(?![A-Za-z])",
    re.IGNORECASE,
)
_RANGE = re.compile(r"\w-\w")  # of a chapter: E10-E14
_CODES = 6  # ours: codes that are told
_ILLNESS = QuestionType("animal", r"(?!)", says=("Illnesses and their treatment", "疾病与用药"))
_NO_CODE = QuestionType("code", r"(?!)", says=("Code", "编码"))
_OF_EFFECTS = (  # rows of which the other thing may be anything: "caused by eating sugar"
    *("is treated", "is caused", "causes", "cures", "treats", "is prevented", "prevents", "link", "affects"),
    *("is a risk", "is a symptom", "is a side effect", "is a complication"),
)
_VACCINE = lazily(r"\bvaccin(?:e|es|ation)\b|\bjabs?\b|疫苗", re.IGNORECASE)
_A_VACCINE = lazily(r"\bvaccine|\bBCG\b|疫苗|卡介苗|接种", re.IGNORECASE)
_NO_VACCINE = QuestionType("vaccine", r"(?!)", says=("Word of a vaccine", "疫苗记载"))
_ALL = 1 << 20
