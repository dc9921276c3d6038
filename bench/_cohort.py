"""Ranks of the diseases of solved phenopackets, also without annotations that cite the case's own publication.

Ranks are over every annotated disease of one database; ties count half. A case whose disease is not among them has no
rank: it counts in every figure, as not found.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import NDArray

from kgmed.diagnose.engine import DATABASE, DiagnosisEngine
from kgmed.diagnose.table import DiseaseTable, read
from kgmed.evaluate.datasets.cases import Packet
from kgmed.graph.base import LocalGraph

Bools = NDArray[np.bool_]
Scores = NDArray[np.floating]


@dataclass(frozen=True, slots=True)
class Ranks:
    """The rank of each case's disease; inf = it has none."""

    ranks: tuple[float, ...]

    def top(self, k: int) -> float:
        """The share of cases whose disease is among the first k."""
        return sum(rank <= k for rank in self.ranks) / len(self.ranks)

    @property
    def reciprocal(self) -> float:
        """The mean reciprocal rank.

        >>> Ranks((1.0, 4.0, float("inf"))).reciprocal.__round__(4)
        0.4167
        """
        return sum(1 / rank for rank in self.ranks) / len(self.ranks)

    @property
    def unranked(self) -> int:
        """How many have no rank."""
        return self.ranks.count(inf)


def rank(scores: Scores, right: int) -> float:
    """The place of `right` among scores, from 1; one that ties with it counts half.

    >>> rank(np.array([3.0, 1.0, 3.0, 5.0]), 0)
    2.5
    """
    better, same = int((scores > scores[right]).sum()), int((scores == scores[right]).sum()) - 1
    return 1 + better + same / 2


class Cohort:
    """Solved cases and the graph's diseases, with a copy of each disease for each case report that it cites."""

    def __init__(self, graph: LocalGraph, packets: Sequence[Packet]) -> None:
        """Read both; raises `BadInput`, `StoreError`."""
        self.packets, table = tuple(packets), read(graph)
        self.copies = _copies(table, {p.reference for p in packets if p.reference})
        self.model = DiagnosisEngine(graph, copies=self.copies, table=table)
        self._place = {graph.at(node).id: place for place, node in enumerate(table.diseases.tolist())}
        self._copy = {pair: len(table.diseases) + i for i, pair in enumerate(self.copies)}
        self._of: dict[str, list[tuple[int, int]]] = {}
        for (disease, reference), copy in self._copy.items():
            self._of.setdefault(reference, []).append((disease, copy))

    def allowed(self, packet: Packet, *, own: bool, database: str = DATABASE) -> Bools:
        """Which diseases stand for choice; without `own`, copies stand for those that cite the case's report."""
        allowed = self.model.of(database)
        for disease, copy in () if own else self._of.get(packet.reference, ()):
            allowed[copy] = allowed[disease] and self.model.world.annotated[copy]
            allowed[disease] = False
        return allowed

    def right(self, packet: Packet, *, own: bool) -> int:
        """The place of the case's disease, or of its copy; -1 where the graph does not have it."""
        place = self._place.get(packet.disease, -1)
        return place if own else self._copy.get((place, packet.reference), place)

    def rank(self, packet: Packet, scores: Scores, *, own: bool, database: str = DATABASE) -> float:
        """The rank of the case's disease by the scores of all (diseases,); inf where it does not stand for choice."""
        allowed, right = self.allowed(packet, own=own, database=database), self.right(packet, own=own)
        if right < 0 or not allowed[right]:
            return inf
        return rank(np.where(allowed, scores, -np.inf), right)


def _copies(table: DiseaseTable, references: set[str]) -> list[tuple[int, str]]:
    """Each disease with each of the references that it cites, by disease."""
    wanted = np.flatnonzero(np.isin(table.references, sorted(references)))
    at = np.isin(table.reference, wanted)
    pairs = {(int(d), str(table.references[r])) for d, r in zip(table.disease[at], table.reference[at], strict=True)}
    return sorted(pairs)
