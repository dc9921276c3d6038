"""The rankers of the model-free answer; what they need is read in where the evidence names medicines or diseases."""

from collections.abc import Sequence
from dataclasses import dataclass

from kgmed.graph.base import LocalGraph
from kgmed.pipeline import note
from kgmed.records import Evidence, Query, Role
from kgmed.steps.family import MEDICINES

_HELPS = (Role.TREATS, Role.FOOD, Role.DOSAGE)


@dataclass(frozen=True)
class PatientGate:
    """The evidence without what must not be given to this patient (`kgmed.facts.safety`), and what labels warn of."""

    graph: LocalGraph

    def __call__(self, query: Query, evidence: Sequence[Evidence]) -> list[Evidence]:
        """The pieces in their order, then warnings; as they are where they name no medicine and nothing is refused."""
        named = any(
            t.relation.role in _HELPS or t.subject.kind in MEDICINES or t.object.kind in MEDICINES
            for e in evidence
            for t in e.triples
        ) or any(n.kind in MEDICINES or not n.links for ask in query.frame.asks for n in ask.things)
        if not named and not any(ask.negative for ask in query.frame.asks):
            return list(evidence)
        from kgmed.facts.safety import NotForThisPatient
        from kgmed.facts.warnings import Warned

        return Warned(self.graph)(query, NotForThisPatient(self.graph)(query, evidence))


@dataclass(frozen=True)
class OnlyRare:
    """The evidence as it is, with a note where it proposes diseases and the graph treats none."""

    graph: LocalGraph

    def __call__(self, query: Query, evidence: Sequence[Evidence]) -> list[Evidence]:
        """All of the evidence."""
        if any(e.kind == "candidate" and e.about and e.about[0].kind == "disease" for e in evidence):
            from kgmed.diagnose.engine import engine

            if not engine(self.graph).world.knows_common:
                note(f"common diseases are not in {self.graph.name}; the rare ones that it describes are listed")
        return list(evidence)
