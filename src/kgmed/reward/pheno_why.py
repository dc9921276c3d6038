"""Why a disease stands where it stands: each finding of the patient, what is missing, and what speaks against it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from kgmed.kg.by_role import ByRole
from kgmed.reward.pheno_patient import Patient
from kgmed.reward.pheno_world import BROADER, EXACT, NARROWER, TWIN, World
from kgmed.types import Entity, Role, Triple

EXPECTED = 5  # findings named that are expected and were not mentioned
_NAMES = {EXACT: "exact", NARROWER: "narrower", TWIN: "twin", BROADER: "broader"}


@dataclass(frozen=True, slots=True)
class Reason:
    """One thing for or against a disease.

    `kind`: exact, narrower, twin, broader (for it, see `phenotype`); agrees (absent in the patient, and the disease is
    said not to have it); unlisted, denied, excluded, missing, sex, onset (against it).
    """

    kind: str
    finding: Entity | None  # of the patient; None = about the disease as a whole
    triples: tuple[Triple, ...] = ()  # what it rests on, with frequencies and references
    through: Entity | None = None  # the broader finding that both come under, or the twin

    @property
    def frequencies(self) -> tuple[str, ...]:
        """The frequencies that the sources state, each once."""
        said = (v for t in self.triples for s in t.support for k, v in s.qualifiers if k == "frequency")
        return tuple(dict.fromkeys(said))

    @property
    def references(self) -> tuple[str, ...]:
        """The references behind it, each once."""
        return tuple(dict.fromkeys(r for t in self.triples for r in t.references))


def reasons(
    world: World, disease: int, present: Sequence[int], absent: Sequence[int], patient: Patient
) -> tuple[Reason, ...]:
    """What speaks for a disease, then what is missing, then what speaks against it."""
    told = _Told(world, disease)
    return (
        *(told.fit(q) for q in present),
        *told.denied(present),
        *(reason for q in absent for reason in told.absent(q)),
        *told.missing(present),
        *told.whole(patient),
    )


class _Told:
    """What the graph tells of one disease, by node."""

    def __init__(self, world: World, disease: int) -> None:
        self.world, self.disease = world, disease
        self.node = int(world.diseases[disease])
        self.found = self._edges(self.node, Role.FINDING)
        self.no = self._edges(self.node, Role.EXCLUDES)
        self.under = self._best(self.found)

    def _edges(self, node: int, role: Role) -> dict[int, int]:
        """The edges of a disease by the node at their other end, most frequent first."""
        weight = self.world.graph.weight
        hops = ByRole(self.world.graph, role).objects([node])
        often = np.ones(len(hops.edge)) if weight is None else weight[hops.edge]
        order = np.argsort(-often, kind="stable")
        return dict(zip(hops.node[order].tolist(), hops.edge[order].tolist(), strict=True))

    def _best(self, edges: dict[int, int]) -> dict[int, int]:
        """For each node that some edges lead to or below: its own edge, else that of the most frequent kind of it."""
        found: dict[int, int] = {}
        for node, edge in edges.items():
            for above in self.world.above[node].tolist():
                found.setdefault(above, edge)
        return found | edges

    def fit(self, q: int) -> Reason:
        """How the disease comes to a finding."""
        world, finding = self.world, self.world.graph.at(q)
        kind = int(world.fit(q)[0][self.disease])
        if kind in (EXACT, NARROWER):
            return Reason(_NAMES[kind], finding, self._triples(self.under[q]))
        if kind == TWIN:
            twin, edge = self._twin(q)
            return Reason("twin", finding, self._triples(edge), world.graph.at(int(world.diseases[twin])))
        if kind == BROADER:
            nearest = min((a for a in world.above[q].tolist() if a in self.under), key=lambda a: world.rarity[a])
            return Reason("broader", finding, self._triples(self.under[nearest]), world.graph.at(nearest))
        return Reason("unlisted", finding)

    def _twin(self, q: int) -> tuple[int, int]:
        """The first twin that has q or a kind of it, and the edge that says so."""
        twins = ((t, self._edges(int(self.world.diseases[t]), Role.FINDING)) for t in self.world.lenders(self.disease))
        return next((t, best[q]) for t, edges in twins if q in (best := self._best(edges)))

    def _triples(self, edge: int) -> tuple[Triple, ...]:
        return (self.world.graph.triple(edge),)

    def _refused(self, q: int) -> tuple[Triple, ...]:
        """The triples by which the disease does not have q, or anything that q is a kind of."""
        return tuple(self.world.graph.triple(self.no[a]) for a in self.world.above[q].tolist() if a in self.no)

    def denied(self, present: Sequence[int]) -> Iterator[Reason]:
        """Findings of the patient that the disease does not have."""
        for q in present:
            if triples := self._refused(q):
                yield Reason("denied", self.world.graph.at(q), triples)

    def absent(self, q: int) -> Iterator[Reason]:
        """What the absence of a finding says."""
        if q in self.under:
            yield Reason("excluded", self.world.graph.at(q), self._triples(self.under[q]))
        elif refused := self._refused(q):
            yield Reason("agrees", self.world.graph.at(q), refused)

    def missing(self, present: Sequence[int]) -> Iterator[Reason]:
        """The most frequent findings of the disease that were not mentioned."""
        seen = {a for q in present for near in (self.world.above, self.world.below) for a in near[q].tolist()}
        for edge in [edge for node, edge in self.found.items() if node not in seen][:EXPECTED]:
            yield Reason("missing", None, self._triples(edge))

    def whole(self, patient: Patient) -> Iterator[Reason]:
        """Sex and age, where they speak against the disease."""
        if self.world.other_sex(patient.sex)[self.disease]:
            yield Reason("sex", None, self._all(Role.INHERITANCE))
        if self.world.other_age(patient.age, patient.onset)[self.disease]:
            yield Reason("onset", None, self._all(Role.ONSET))

    def _all(self, role: Role) -> tuple[Triple, ...]:
        return tuple(self.world.graph.triple(edge) for edge in np.unique(list(self._edges(self.node, role).values())))
