"""What of the links of a question are findings: one finding is one set of nodes, whatever names and graphs it has."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from kgmed import vocabulary
from kgmed.diagnose.engine import DiagnosisEngine, Differential, FindingReason, RankedDisease, engine
from kgmed.diagnose.knowledge import FEW, Nodes
from kgmed.diagnose.patient import Patient
from kgmed.disk import packaged_toml
from kgmed.errors import BadInput, UnknownName
from kgmed.graph.base import ByRole, LocalGraph, kept_with_graph
from kgmed.language import lay
from kgmed.language.negation import marked
from kgmed.language.particulars import ALCOHOL
from kgmed.language.text import has_cjk, lazily, one_line
from kgmed.question.patient import TAKEN, patient_of
from kgmed.records import Entity, Link, Mention, Role, Status
from kgmed.stop import check_stop

_JOINS = lazily(r"[、，,和及或伴]")


def findings_of(graph: LocalGraph, links: Sequence[Link]) -> Mapping[Nodes, Link]:
    """The findings that the links name, each by its nodes; one that is named both ways is present.

    Nodes that are kinds of each other are one finding, of which the node that fits a disease best counts.
    """
    return _findings_of(graph, tuple(links))


@kept_with_graph(1 << 6)
def _findings_of(graph: LocalGraph, links: tuple[Link, ...]) -> Mapping[Nodes, Link]:
    model = engine(graph)
    found: list[tuple[list[int], Link]] = []
    for link in sorted(links, key=lambda link: link.mention.negated):
        check_stop()
        if (
            not link.entity.id
            or link.entity.name in ALCOHOL.names
            or link.entity.kind in TAKEN
            or vocabulary.listed("classes of what is taken").search(link.entity.name)
        ):
            continue
        for node in _meant(model, link.entity):
            same = next((nodes for nodes, _ in found if any(_alike(model, node, n) for n in nodes)), None)
            if same is None:
                found.append(([node], link))
            elif node not in same and not link.mention.negated:
                same.append(node)
    return {tuple(nodes): link for nodes, link in found}


def several_findings(graph: LocalGraph, links: Sequence[Link]) -> bool:
    """Whether the links name more than one finding; of one name that cannot be made of several nothing is asked."""
    some = len(links) > 1 or any(_may_have_parts(_run_together(link.entity.name)) for link in links)
    return some and len(findings_of(graph, links)) > 1


def _alike(model: DiagnosisEngine, one: int, other: int) -> bool:
    """Whether two nodes are one finding, each a kind of the other."""
    return one in model.world.kinds(other) and other in model.world.kinds(one)


def _meant(model: DiagnosisEngine, entity: Entity) -> list[int]:
    """The findings that an entity stands for; [] = none.

    What the graph has under just that name and joins nothing stands for itself; 发热、咳嗽 for 发热 and 咳嗽; what no
    disease has, for something broader. A body part is none.
    """
    node, world = model.graph.number(entity.id), model.world
    if world.names and world.names.is_place(node):
        return _by_words(model, entity.name)
    whole = world.own(node) > 0 and not _JOINS.search(entity.name)
    parts = [] if whole else _parts(model, node, entity.name)
    return parts or next(([n] for n in world.broader(node)[:3] if world.is_finding(n)), [])


def _by_words(model: DiagnosisEngine, name: str) -> list[int]:
    """The finding that a name is a patient's words for: 右下腹痛 of 右下腹; [] = none."""
    told = [one for one in lay.said(name) if one.span == (0, len(name))] if has_cjk(name) else []
    nodes = (model.graph.number(m.entity.id) for one in told for n in one.names for m in model.graph.lookup(n)[:1])
    return [n for n in nodes if model.world.own(n) >= FEW][:1]


def _parts(model: DiagnosisEngine, node: int, name: str) -> list[int]:
    """The findings that a Chinese name of four characters or more is made of: 尿频 and 尿痛 of 尿频、尿痛."""
    said = _run_together(name)
    return _cut(model, said, max(FEW, model.world.own(node)), whole=True) if _may_have_parts(said) else []


def _run_together(name: str) -> str:
    return _JOINS.sub("", name)


def _may_have_parts(said: str) -> bool:
    """Whether a name is long enough, and Chinese: each finding in it has two characters or more."""
    return len(said) > 3 and has_cjk(said)


def _cut(model: DiagnosisEngine, said: str, least: int, *, whole: bool = False) -> list[int]:
    """The findings, each of at least so many diseases, whose names make up a text; [] = none do."""
    for cut in range(2, len(said) - 1 if whole else len(said) + 1):
        nodes = [model.graph.number(m.entity.id) for m in model.graph.lookup(said[:cut])[:1]]
        if nodes and model.world.own(nodes[0]) >= least:
            rest = _cut(model, said[cut:], least) if said[cut:] else []
            if rest or not said[cut:]:
                return [*nodes, *rest]
    return []


# --- A patient described in words, and all that a diagnosis says of it.


Linked = Callable[[str], Sequence[Link]]  # the entities that a text names


@dataclass(frozen=True, slots=True)
class DescribedPatient:
    """The findings that a text names; ids, each once. One that is named both ways is present."""

    present: tuple[str, ...]
    absent: tuple[str, ...]
    links: tuple[Link, ...]  # how each was understood
    other: tuple[Link, ...]  # what was understood and is no finding


def findings_in_text(graph: LocalGraph, linked: Linked, text: str) -> DescribedPatient:
    """The findings in a text: what is negated in it ("no seizures") is absent, what others have is left out."""
    links = tuple(link for link in linked(text) if link.mention.status is not Status.OTHER)
    found = ByRole(graph, Role.FINDING, Role.EXCLUDES)
    up = ByRole(graph, Role.IS_A)
    annotated = {
        link.entity.id
        for link in links
        if len(found.subjects(list(up.closure(graph.number(link.entity.id), up=False))).node)
    }
    findings = tuple(link for link in links if link.entity.id in annotated)
    present = dict.fromkeys(link.entity.id for link in findings if not link.mention.negated)
    absent = dict.fromkeys(link.entity.id for link in findings if link.mention.negated)
    others = tuple(link for link in links if link.entity.id not in annotated)
    return DescribedPatient(tuple(present), tuple(i for i in absent if i not in present), findings, others)


@dataclass(frozen=True, slots=True)
class Diagnosed:
    """How a description was understood, and the diseases of each patient."""

    understood: tuple[Link, ...]
    patients: tuple[Differential, ...]
    skipped: tuple[str, ...] = ()  # patients of whom a file gives no findings, and where

    def called(self, name: Callable[[Entity], Entity]) -> "Diagnosed":
        """The same with its entities called otherwise."""

        def reason(given: FindingReason) -> FindingReason:
            triples = tuple(replace(t, head=name(t.head), tail=name(t.tail)) for t in given.triples)
            finding, through = (entity and name(entity) for entity in (given.finding, given.through))
            return replace(given, finding=finding, triples=triples, through=through)

        def ranked(given: RankedDisease) -> RankedDisease:
            return replace(given, disease=name(given.disease), reasons=tuple(map(reason, given.reasons)))

        return replace(
            self,
            understood=tuple(replace(link, entity=name(link.entity)) for link in self.understood),
            patients=tuple(
                replace(p, ranked=tuple(map(ranked, p.ranked)), both=tuple(map(name, p.both))) for p in self.patients
            ),
        )


def described(model: DiagnosisEngine, linked: Linked, patient: Patient, text: str) -> tuple[Patient, tuple[Link, ...]]:
    """The patient with the findings of a description, its sex and age where none are given, and how it was understood.

    Raises `BadInput` where it names none that is present.
    """
    said = findings_in_text(model.graph, linked, text)
    values = [link for link in measured(model.graph, text) if link.mention.status is not Status.OTHER]
    present = tuple(dict.fromkeys((*patient.present, *said.present, *(link.entity.id for link in values))))
    absent = tuple(i for i in dict.fromkeys((*patient.absent, *said.absent)) if i not in present)
    if not present:
        raise BadInput(f"no finding of {model.graph.label} is named in {one_line(text)[:60]!r}; give HPO ids")
    told = patient_of(text)
    age = told.age if patient.age is None else patient.age
    return replace(patient, present=present, absent=absent, sex=patient.sex or told.sex, age=age), (
        *said.links,
        *values,
    )


# What is measured, then a number that is no end of a range, then its unit.
_VALUE = (
    r"(?i)(?<![a-z])(?:{})(?![a-z])[^\d.;!?。；！？\n]{{0,30}}?(?<![-\d])(\d{{1,3}}(?:,\d{{3}})+|\d+(?:\.\d+)?)(?![\d%-])"
    r" ?([×x]? ?10[\^⁹9]+ ?/l|[a-zµμ]*(?:/[a-z\d]+)?)"
)


@lru_cache(1)
def _limits() -> tuple[tuple[str, dict[str, Any]], ...]:
    """What is measured: the pattern of its value in a text, and its row of `lab_limits.toml`."""
    rows = packaged_toml("kgmed.diagnose.lab_limits")["value"]
    return tuple((_VALUE.format("|".join(map(re.escape, row["names"]))), row) for row in rows)


def measured(graph: LocalGraph, text: str) -> list[Link]:
    """The findings that measured values of a text stand for: those far outside the usual range (`lab_limits.toml`)."""
    found: list[tuple[Mention, Entity]] = []
    for pattern, row in _limits():
        for m in re.finditer(pattern, text):
            unit = m[2].replace(" ", "").lower()
            factor = row["units"].get(unit, 1 if row.get("bare") and "/" not in unit else 0)
            value = factor * float(m[1].replace(",", ""))
            low, high = row.get("below", (0, "")), row.get("above", (math.inf, ""))
            id_ = low[1] if value < low[0] else high[1] if value > high[0] else ""
            if factor and id_:
                with suppress(UnknownName):  # the graph need not have it
                    found.append((Mention(m[0].strip(), m[0].strip(), *m.span()), graph.entity(id_)))
    said = marked(text, [mention for mention, _ in found])
    return [Link(mention, entity, 1.0, "value") for mention, (_, entity) in zip(said, found, strict=True)]
