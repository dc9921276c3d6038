"""Ranker: adds what the graph warns of to the drugs that the evidence speaks of."""

from collections.abc import Sequence
from dataclasses import dataclass

from kgmed.kg.graph import KnowledgeGraph
from kgmed.types import Entity, Evidence, Query, Role

WARNS = (Role.CONTRAINDICATED, Role.PRECAUTION)


@dataclass(frozen=True)
class Warned:
    """The evidence, then for each of the first `drugs` drugs in it its contraindications, else its precautions."""

    graph: KnowledgeGraph
    drugs: int = 5
    each: int = 2

    def __call__(self, query: Query, evidence: Sequence[Evidence]) -> list[Evidence]:
        """All of the evidence and, kind "warning", what it must not be read without."""
        return [*evidence, *(w for drug in self._named(evidence) for w in self._warnings(drug))]

    def _named(self, evidence: Sequence[Evidence]) -> list[Entity]:
        treats = [t.subject for e in evidence for t in e.triples if t.relation.role in (Role.TREATS, Role.DOSAGE)]
        return list(dict.fromkeys(treats))[: self.drugs]

    def _warnings(self, drug: Entity) -> list[Evidence]:
        said = [*self.graph.neighbours(drug.id, roles=WARNS), *self.graph.attributes(drug.id)]
        said = [t for t in said if t.relation.role in WARNS and t.subject == drug]
        said.sort(key=lambda t: WARNS.index(t.relation.role))
        first = [t for t in said if t.relation.role is said[0].relation.role][: self.each]
        return [Evidence(f"{t.head.name} — {t.relation} → {t.tail.name}", "warning", (t,), (drug,)) for t in first]
