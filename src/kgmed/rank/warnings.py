"""Ranker: adds what the graph warns of to the drugs that the evidence speaks of."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kgmed.asks import asks
from kgmed.kg.graph import KnowledgeGraph
from kgmed.types import Entity, Evidence, Query, Role, Triple

_DRUG_ROLES = (Role.TREATS, Role.DOSAGE, Role.ADVERSE, Role.INTERACTS)
_MANY = 1 << 20  # all of them: a contraindication is never left out


@dataclass(frozen=True)
class Warned:
    """The evidence, then a warning for each drug that a piece of it is about: all its contraindications.

    Where the question asks what to take, so does each drug in a list.
    A drug without contraindications brings its first `cautions` precautions.
    """

    graph: KnowledgeGraph
    cautions: int = 2

    def __call__(self, query: Query, evidence: Sequence[Evidence]) -> list[Evidence]:
        """All of the evidence and, kind "warning", what it must not be read without."""
        said = {t for e in evidence for t in e.triples}
        listed = Role.TREATS in asks(query.text)
        about = (t.subject for e in evidence for t in e.triples if _is_about(e, t, listed=listed))
        drugs = dict.fromkeys(drug for drug in about if drug.id)  # a treatment that is only a text has no warnings
        return [*evidence, *(w for drug in drugs for w in self._warning(drug, said))]

    def _warning(self, drug: Entity, said: set[Triple]) -> Iterator[Evidence]:
        """One piece with what is not said already."""
        mine = [t for t in self._of(drug, Role.CONTRAINDICATED) if t not in said]
        if not mine and not any(t.subject == drug and t.relation.role is Role.CONTRAINDICATED for t in said):
            mine = [t for t in self._of(drug, Role.PRECAUTION) if t not in said][: self.cautions]
        if mine:
            names = "; ".join(dict.fromkeys(t.object.name for t in mine))
            yield Evidence(f"{drug.name} — {mine[0].relation} → {names}", "warning", tuple(mine), (drug,))

    def _of(self, drug: Entity, role: Role) -> list[Triple]:
        around = self.graph.neighbours(drug.id, limit=_MANY, roles=(role,))
        said = [*around, *self.graph.attributes(drug.id)]
        return [t for t in said if t.relation.role is role and t.subject == drug]


def _is_about(evidence: Evidence, triple: Triple, *, listed: bool) -> bool:
    """Whether a piece of evidence speaks of the drug of a triple, or `listed` and it names it as a treatment."""
    role = triple.relation.role
    return (listed and role is Role.TREATS) or (role in _DRUG_ROLES and triple.subject in evidence.about)
