"""The edges of a graph by what they mean, whichever way round the graph writes them."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kgmed.kg.graph import Csr, LocalGraph
from kgmed.types import Role

Nodes = NDArray[np.int64]


class Hops(NamedTuple):
    """One step from each of some nodes: from nodes[origin[i]] over edge[i] to node[i]."""

    origin: Nodes  # (h,) positions in the nodes asked for
    node: Nodes  # (h,)
    edge: Nodes  # (h,) edge numbers


class ByRole:
    """Steps over the edges of some roles, from subject to object or back.

    >>> from kgmed.kg.graph import Adjacency
    >>> from kgmed.types import Relation
    >>> class G:
    ...     adjacency = Adjacency.of(3, np.array([[0, 0, 1], [2, 1, 0]]))
    ...     relations = (Relation("has", Role.FINDING), Relation("seen in", Role.FINDING, reverse=True))
    >>> ByRole(G(), Role.FINDING).objects(np.array([0])).node.tolist()
    [1, 2]
    """

    def __init__(self, graph: LocalGraph, *roles: Role) -> None:
        """The edges of `graph` whose relation has one of `roles`."""
        self._adjacency = graph.adjacency
        self._forward = np.array([r.role in roles and not r.reverse for r in graph.relations], bool)
        self._backward = np.array([r.role in roles and r.reverse for r in graph.relations], bool)

    def objects(self, nodes: Sequence[int] | Nodes) -> Hops:
        """From each of `nodes` as subject to its objects, such as from a disease to its findings."""
        return self._both(nodes, self._forward, self._backward)

    def subjects(self, nodes: Sequence[int] | Nodes) -> Hops:
        """From each of `nodes` as object to its subjects, such as from a finding to the diseases that have it."""
        return self._both(nodes, self._backward, self._forward)

    def _both(self, nodes: Sequence[int] | Nodes, along: NDArray[np.bool_], against: NDArray[np.bool_]) -> Hops:
        starts = np.asarray(nodes, np.int64)
        steps = [_steps(self._adjacency.out, starts, along), _steps(self._adjacency.into, starts, against)]
        return Hops(*(np.concatenate(columns) for columns in zip(*steps, strict=True)))

    def closure(self, node: int, *, up: bool) -> dict[int, int]:
        """Every node reached from `node` by repeated steps, with the number of steps; `up` = towards objects."""
        reached, frontier, depth = {node: 0}, np.array([node]), 0
        while len(frontier):
            depth += 1
            found = (self.objects if up else self.subjects)(frontier).node
            frontier = np.array([n for n in np.unique(found).tolist() if n not in reached], np.int64)
            reached.update(dict.fromkeys(frontier.tolist(), depth))
        return reached


def _steps(csr: Csr, nodes: Nodes, wanted: NDArray[np.bool_]) -> Hops:
    """The edges of one direction at some nodes whose relation is wanted."""
    if not wanted.any():
        return Hops(*(np.empty(0, np.int64) for _ in range(3)))
    begin = csr.indptr[nodes]
    counts = csr.indptr[nodes + 1] - begin
    before = np.cumsum(counts) - counts
    at = np.arange(int(counts.sum())) + np.repeat(begin - before, counts)
    keep = wanted[csr.relation[at]]
    at, origin = at[keep], np.repeat(np.arange(len(nodes)), counts)[keep]
    return Hops(origin, csr.neighbour[at].astype(np.int64), at if csr.edge is None else csr.edge[at].astype(np.int64))
