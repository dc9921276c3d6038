"""MindMap's evidence as numbered chains: `[1] P1: (cough)<-has symptom-(flu)-test->(PCR)`.

Names stand in brackets as in Wen et al. 2024, 3.2; arrows, which the paper leaves out, keep the direction of the graph.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kgmed.kg.text import one_line
from kgmed.models.labels import labels
from kgmed.types import Context, Evidence, Query, Triple


@dataclass(frozen=True, slots=True)
class Chains:
    """One line a piece of evidence: its number, its label (P1, N1, ...) and its chain."""

    def __call__(self, query: Query, evidence: Sequence[Evidence], /) -> Context:
        """The lines, and the evidence in the same order."""
        lines = [
            f"[{i}] {label}: {chain(e)}"
            for i, (label, e) in enumerate(zip(labels(evidence), evidence, strict=True), start=1)
        ]
        return Context("\n".join(lines), tuple(evidence))


def chain(evidence: Evidence) -> str:
    """A piece of evidence as a chain of names in brackets; its text where it has no triples.

    >>> from kgmed.types import Entity, Relation
    >>> flu, a, b = Entity("1", "flu"), Entity("2", "fever"), Entity("3", "cough")
    >>> has = Relation("has_symptom")
    >>> chain(Evidence("", "neighbours", (Triple(flu, has, a), Triple(flu, has, b)), (flu,)))
    '(flu)-has symptom->(fever, cough)'
    >>> chain(Evidence("", "path", (Triple(flu, has, a), Triple(flu, has, b)), (a, b)))
    '(fever)<-has symptom-(flu)-has symptom->(cough)'
    """
    if not evidence.triples:
        return one_line(evidence.text)
    if evidence.kind == "path":
        return _path(evidence)
    return "; ".join(_grouped(evidence.triples))


def _path(evidence: Evidence) -> str:
    """The steps one after the other, from the entity that the path starts at."""
    at = evidence.about[0] if evidence.about else evidence.triples[0].head
    text = f"({_name(at.name)})"
    for t in evidence.triples:
        if t.head == at:
            at, text = t.tail, f"{text}-{_name(t.relation.name)}->({_name(t.tail.name)})"
        else:
            at, text = t.head, f"{text}<-{_name(t.relation.name)}-({_name(t.head.name)})"
    return text


def _grouped(triples: Sequence[Triple]) -> list[str]:
    """The triples of one head and relation, or of one relation and tail, as one chain."""
    by_head: dict[tuple[str, str, str], list[Triple]] = {}
    by_tail: dict[tuple[str, str, str], list[Triple]] = {}
    for t in triples:
        by_head.setdefault((t.head.id, t.head.name, t.relation.name), []).append(t)
        by_tail.setdefault((t.relation.name, t.tail.id, t.tail.name), []).append(t)
    groups = min((by_head, by_tail), key=len).values()
    return [f"({_names(t.head.name for t in g)})-{_name(g[0].relation.name)}->({_names(t.tail.name for t in g)})"
            for g in groups]  # fmt: skip


def _names(names: Iterable[str]) -> str:
    """Names, each once, between commas."""
    return ", ".join(dict.fromkeys(map(_name, names)))


def _name(text: str) -> str:
    return one_line(text.replace("_", " "))
