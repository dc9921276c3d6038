"""What lies around nodes: their edges, their neighbourhood, and a small graph cut out of a large one."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from kgmed.errors import BadInput
from kgmed.kg.graph import Adjacency, Csr
from kgmed.kg.search.scan import Ints, Nodes, crossing, degrees, distinct, follow, kth_least

Direction = Literal["out", "in", "both"]


def incident(
    adjacency: Adjacency,
    node: int,
    *,
    limit: int = 64,
    weight: NDArray[np.floating[Any]] | None = None,
    direction: Direction = "both",
) -> Nodes:
    """The numbers of at most `limit` edges at a node, heaviest first, then the lowest number; a self loop counts once.

    `weight` has one entry an edge; without it all are equal. Nothing but arrays is made before the cap, so that hubs
    are cheap.

    >>> a = Adjacency.of(3, np.array([[0, 0, 1], [0, 1, 1], [2, 0, 0], [0, 0, 0]]))
    >>> incident(a, 0).tolist(), incident(a, 0, limit=2, weight=np.array([0.1, 0.1, 0.9, 0.5])).tolist()
    ([0, 1, 2, 3], [2, 3])
    """
    if limit < 0:
        raise BadInput(f"a node cannot have {limit} edges shown")
    most = limit if weight is None else adjacency.edges
    begin, end = (int(adjacency.out.indptr[node + i]) for i in (0, 1))
    out = np.arange(begin, min(end, begin + most), dtype=np.int32)
    begin, end = (int(adjacency.into.indptr[node + i]) for i in (0, 1))
    into = _edge_numbers(adjacency.into)[begin : min(end, begin + most)]
    edges = {"out": out, "in": into}.get(direction)
    if edges is None:  # both are ascending: the least of both are among the least of each
        edges = np.sort(np.concatenate([out, into[adjacency.into.neighbour[begin : begin + len(into)] != node]]))
    return edges[:limit] if weight is None else _heaviest(edges, weight[edges], limit)


def _edge_numbers(csr: Csr) -> Nodes:
    """The edge numbers of a direction."""
    return np.arange(len(csr.neighbour), dtype=np.int32) if csr.edge is None else csr.edge


def _heaviest(edges: Nodes, weight: NDArray[np.floating[Any]], limit: int) -> Nodes:
    """The `limit` heaviest of ascending edges, heaviest first, ties by number; sorts only those that stay."""
    if limit < len(edges):
        bound = np.partition(weight, len(edges) - max(limit, 1))[len(edges) - max(limit, 1)]
        above, equal = np.flatnonzero(weight > bound), np.flatnonzero(weight == bound)
        kept = np.sort(np.concatenate([above, equal[: limit - len(above)]]))[:limit]
        edges, weight = edges[kept], weight[kept]
    return edges[np.argsort(-weight, kind="stable")]


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """The nodes within some steps of the seeds, level by level, each level in ascending order."""

    nodes: Nodes  # (n,)
    steps: Nodes  # (n,) how far from the nearest seed; 0 = a seed


def neighbourhood(
    adjacency: Adjacency, seeds: Sequence[int] | Nodes, *, hops: int = 1, per_node: int | None = None
) -> Neighbourhood:
    """The nodes within `hops` steps of the seeds, edges taken in both directions.

    A node leads on to its `per_node` neighbours of lowest degree (ties: lowest number), which keeps hubs out.

    >>> star = Adjacency.of(4, np.array([[0, 0, 1], [0, 0, 2], [0, 0, 3], [3, 0, 2]]))
    >>> neighbourhood(star, [1], hops=2).nodes.tolist(), neighbourhood(star, [0], per_node=2).nodes.tolist()
    ([1, 0, 2, 3], [0, 1, 2])
    """
    level = np.unique(np.asarray(seeds, np.int32))
    seen = np.zeros(adjacency.nodes, bool)
    levels = [level]
    seen[level] = True
    for _ in range(hops):
        reached = _lightest(adjacency, level, per_node)
        level = distinct(reached[~seen[reached]])
        seen[level] = True
        levels.append(level)
    sizes = [len(x) for x in levels]
    return Neighbourhood(np.concatenate(levels), np.repeat(np.arange(len(levels), dtype=np.int32), sizes))


def _lightest(adjacency: Adjacency, nodes: Nodes, per_node: int | None) -> Nodes:
    """Of each node the `per_node` neighbours of lowest degree, self loops left out."""
    rows = [(csr, *follow(csr, nodes)) for csr in adjacency]
    owner = np.concatenate([owner for _, owner, _ in rows])
    reached = np.concatenate([csr.neighbour[position] for csr, _, position in rows])
    if per_node is None:
        return reached
    other = np.flatnonzero(reached != nodes[owner])
    pairs = distinct(owner[other] << 32 | reached[other])
    owner, reached = pairs >> 32, (pairs & 0xFFFFFFFF).astype(np.int32)
    degree = degrees(adjacency, reached)
    near = np.flatnonzero(degree <= kth_least(owner, degree, per_node, len(nodes))[owner])
    owner, reached, degree = owner[near], reached[near], degree[near]
    order = np.lexsort((reached, degree, owner))
    many = np.bincount(owner, minlength=len(nodes))
    rank = np.arange(len(owner)) - np.repeat(np.cumsum(many) - many, many)
    chosen: Nodes = reached[order[rank < per_node]]
    return chosen


@dataclass(frozen=True, slots=True)
class Subgraph:
    """A graph cut out of a larger one. Node i of `adjacency` is `nodes[i]` there, and edge j is `edges[j]`."""

    adjacency: Adjacency  # relations keep their numbers
    nodes: Nodes  # (n,) ascending
    edges: Nodes  # (m,) ascending

    def local(self, nodes: Sequence[int] | Nodes) -> Ints:
        """The local numbers of nodes that are in the subgraph."""
        wanted = np.asarray(nodes, np.int32)
        places = np.searchsorted(self.nodes, wanted)
        if not np.array_equal(self.nodes[np.minimum(places, len(self.nodes) - 1)], wanted):
            raise BadInput("a node asked for is not in the subgraph")
        return places


def subgraph(
    adjacency: Adjacency, seeds: Sequence[int] | Nodes, *, size: int = 2000, per_node: int | None = 64
) -> Subgraph:
    """At most `size` nodes around the seeds with all edges between them.

    Grows level by level as `neighbourhood` does; of the level that is too large the nodes of lowest degree are kept
    (ties: lowest number). All seeds are kept, even where they are more than `size`.
    """
    level = np.unique(np.asarray(seeds, np.int32))
    kept, seen = [level], np.zeros(adjacency.nodes, bool)
    seen[level] = True
    room = size - len(level)
    while room > 0 and len(level):
        reached = _lightest(adjacency, level, per_node)
        level = distinct(reached[~seen[reached]])
        level = level[np.lexsort((level, degrees(adjacency, level)))[:room]]
        seen[level] = True
        kept.append(level)
        room -= len(level)
    return induced(adjacency, np.concatenate(kept))


def induced(adjacency: Adjacency, nodes: Sequence[int] | Nodes) -> Subgraph:
    """Some nodes with all edges between them.

    >>> a = Adjacency.of(4, np.array([[3, 7, 1], [1, 5, 1], [0, 0, 1]]))
    >>> cut = induced(a, [3, 1])
    >>> cut.nodes.tolist(), cut.edges.tolist(), cut.adjacency.out.neighbour.tolist()
    ([1, 3], [1, 2], [0, 0])
    """
    nodes = np.unique(np.asarray(nodes, np.int32))
    found = crossing(adjacency.out, adjacency.into, nodes, nodes)
    order = np.argsort(found.edge)
    edges = found.edge[order]
    triples = np.column_stack([found.left[order], adjacency.out.relation[edges], found.right[order]])
    return Subgraph(Adjacency.of(len(nodes), triples), nodes, edges)
