"""What lies around nodes: their edges, their neighbourhood, and a small graph cut out of a large one."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kgmed.errors import BadInput
from kgmed.graph.base import Adjacency, Csr

# --- The array moves that every search is made of: spread ranges, follow edges, find the edges between two sets.
# All work on whole arrays; nothing here loops over edges in Python.

Ints = NDArray[np.int64]
Nodes = NDArray[np.int32]

BLOCK = 1 << 15  # elements worked on at once, so that the arrays between two steps stay in the cache
_KEY_BITS = 36
HUB = 4096  # edges; a shorter row is scanned sooner than a bisection of it is set up


def spread(starts: Ints, lengths: Ints) -> Ints:
    """The positions start, start + 1, ... of each range, one range after the other.

    >>> spread(np.array([5, 0, 9]), np.array([2, 0, 3])).tolist()
    [5, 6, 9, 10, 11]
    """
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    positions: Ints = np.arange(total) + np.repeat(starts - (ends - lengths), lengths)
    return positions


def edge_numbers(csr: Csr, positions: Ints) -> Nodes:
    """The edge numbers at positions of one direction."""
    return positions.astype(np.int32) if csr.edge is None else csr.edge[positions]


class KnownDegrees(Adjacency):
    """Edges cut out of a larger graph, whose nodes have the degrees that they have there."""

    degree: Ints  # (n,)

    @classmethod
    def of_whole(cls, adjacency: Adjacency, degree: Ints) -> "KnownDegrees":
        """The edges with those degrees."""
        made = cls(*adjacency)
        made.degree = degree
        return made

    def degrees(self, nodes: NDArray[Any]) -> NDArray[np.int64]:
        """The number of edges at each node in the larger graph."""
        known: Ints = self.degree[nodes]
        return known


def degrees(adjacency: Adjacency, nodes: Nodes) -> Ints:
    """The number of edges at each node, in and out, parallel ones counted apart."""
    return adjacency.degrees(nodes)


def direction(adjacency: Adjacency, *, forward: bool) -> tuple[Csr, Csr]:
    """The rows that a step follows, and those that lead back."""
    return (adjacency.out, adjacency.into) if forward else (adjacency.into, adjacency.out)


def follow(csr: Csr, nodes: Nodes) -> tuple[Ints, Ints]:
    """For every edge that leaves `nodes`: the place of its node in `nodes`, and its position in `csr`.

    >>> a = Adjacency.of(3, np.array([[0, 0, 1], [0, 0, 2], [2, 0, 1]]))
    >>> [x.tolist() for x in follow(a.out, np.array([2, 0], np.int32))]
    [[0, 1, 1], [2, 0, 1]]
    """
    starts = csr.indptr[nodes]
    lengths = csr.indptr[nodes + 1] - starts
    return np.repeat(np.arange(len(nodes)), lengths), spread(starts, lengths)


class Crossing(NamedTuple):
    """The edges from one set of nodes into another."""

    left: Ints  # (e,) place of the start in the left set
    right: Ints  # (e,) place of the end in the right set
    edge: Nodes  # (e,) edge number


def crossing(there: Csr, back: Csr, left: Nodes, right: Nodes) -> Crossing:
    """The edges by `there` from `left` into `right` (both ascending, without repetition), in no promised order.

    Scans the side with fewer edges; `back` are the rows of the other direction. A node with far more edges than the
    other side has nodes is not scanned but asked for each of them by bisection, so that hubs stay cheap.

    >>> a = Adjacency.of(3, np.array([[0, 0, 1], [0, 1, 1], [0, 0, 2]]))
    >>> [x.tolist() for x in crossing(a.out, a.into, np.array([0], np.int32), np.array([1], np.int32))]
    [[0, 0], [0, 0], [0, 1]]
    """
    if _effort(there, left, len(right)) <= _effort(back, right, len(left)):
        return Crossing(*_scan(there, left, right))
    end, start, edge = _scan(back, right, left)
    return Crossing(start, end, edge)


def _effort(csr: Csr, nodes: Nodes, targets: int) -> int:
    """About how many edges a scan from `nodes` looks at."""
    degree = csr.indptr[nodes + 1] - csr.indptr[nodes]
    total = int(degree.sum())
    return (
        total
        if total <= HUB
        else int(np.where(degree > HUB, np.minimum(degree, _bisection(degree, targets)), degree).sum())
    )


def _bisection(degree: Ints, targets: int) -> Ints:
    """The steps in which so many targets are found among so many edges, first and last edge of each."""
    return np.asarray(2 * targets * np.frexp(degree + 1.0)[1], np.int64)


def _scan(csr: Csr, nodes: Nodes, targets: Nodes) -> tuple[Ints, Ints, Nodes]:
    """Place of the start in `nodes`, place of the end in `targets`, edge number."""
    degree = csr.indptr[nodes + 1] - csr.indptr[nodes]
    total, place = int(degree.sum()), None
    if 16 * total > len(csr.indptr):  # else a table of all nodes costs more than looking the few up
        place = np.zeros(len(csr.indptr) - 1, np.int32)  # 0 = no target
        place[targets] = np.arange(1, len(targets) + 1)
    if total <= HUB:
        return _walk(csr, nodes, np.arange(len(nodes)), targets, place)
    heavy = (degree > HUB) & (degree > _bisection(degree, len(targets)))
    light = np.flatnonzero(~heavy)
    parts = [_walk(csr, nodes, block, targets, place) for block in blocks(light, degree[light])]
    parts += [_bisect(csr, nodes, int(i), targets) for i in np.flatnonzero(heavy)]
    if not parts:
        return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.int32)
    if len(parts) == 1:
        return parts[0]
    return (
        np.concatenate([p[0] for p in parts]),
        np.concatenate([p[1] for p in parts]),
        np.concatenate([p[2] for p in parts]),
    )


def blocks(items: Ints, sizes: Ints) -> list[Ints]:
    """The items in stretches; the sizes of a stretch, its first item left out, add up to at most `BLOCK`.

    >>> [b.tolist() for b in blocks(np.arange(4), np.array([BLOCK - 1, 1, BLOCK, 1]))]
    [[0, 1], [2], [3]]
    """
    if not len(items):
        return []
    ends = np.cumsum(sizes)
    if ends[-1] <= BLOCK:
        return [items]
    return np.split(items, np.flatnonzero(np.diff((ends - 1) // BLOCK)) + 1)


def _walk(csr: Csr, nodes: Nodes, chosen: Ints, targets: Nodes, place: Nodes | None) -> tuple[Ints, Ints, Nodes]:
    """All edges of the chosen nodes, kept where they end in a target; `place` is each node's place in it from 1."""
    owner, position = follow(csr, nodes[chosen])
    end = csr.neighbour[position]
    if place is None:
        at = np.minimum(np.searchsorted(targets, end), len(targets) - 1)
        hit = np.flatnonzero(targets[at] == end) if len(targets) else np.empty(0, np.int64)
        return chosen[owner[hit]], at[hit], edge_numbers(csr, position[hit])
    found = place[end]
    hit = np.flatnonzero(found)
    return chosen[owner[hit]], found[hit].astype(np.int64) - 1, edge_numbers(csr, position[hit])


def _bisect(csr: Csr, nodes: Nodes, at: int, targets: Nodes) -> tuple[Ints, Ints, Nodes]:
    """The edges of one hub into the targets."""
    begin, end = int(csr.indptr[nodes[at]]), int(csr.indptr[nodes[at] + 1])
    row = csr.neighbour[begin:end]
    low = np.searchsorted(row, targets, "left")
    many = np.searchsorted(row, targets, "right") - low
    position = spread(low + begin, many)
    return np.full(len(position), at), np.repeat(np.arange(len(targets)), many), edge_numbers(csr, position)


def distinct(values: Nodes | Ints) -> NDArray[Any]:
    """The values, each once, ascending; the vectorised sort is faster than `numpy.unique`, which hashes.

    >>> distinct(np.array([3, 1, 3])).tolist()
    [1, 3]
    """
    ordered = np.sort(values)
    return ordered[np.concatenate([[True], ordered[1:] != ordered[:-1]])] if len(ordered) else ordered


def kth_least(group: Ints | Nodes, key: Ints | Nodes, k: int, groups: int) -> Ints:
    """The k-th least key of each group (groups,), keys below 2**36; the largest there can be where there are fewer.

    >>> kth_least(np.array([0, 1, 0, 0]), np.array([7, 5, 3, 9]), 2, 2).tolist() == [7, 2**36 - 1]
    True
    """
    packed = group.astype(np.int64) << _KEY_BITS | key
    packed.sort()
    many = np.bincount(group, minlength=groups)
    limit = np.full(groups, (1 << _KEY_BITS) - 1)
    full = np.flatnonzero(many >= max(k, 1))
    limit[full] = packed[np.cumsum(many)[full] - many[full] + max(k, 1) - 1] & ((1 << _KEY_BITS) - 1)
    return limit


def rounded(weights: NDArray[np.float64]) -> Nodes:
    """Positive weights as integers below 2**31 in the same order, near ones as equal (single precision)."""
    with np.errstate(over="ignore"):  # what is too large is infinite, and still the largest
        return weights.astype(np.float32).view(np.int32)


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
    csr = adjacency.into
    numbers = np.arange(len(csr.neighbour), dtype=np.int32) if csr.edge is None else csr.edge
    into = numbers[begin : min(end, begin + most)]
    edges = {"out": out, "in": into}.get(direction)
    if edges is None:  # both are ascending: the least of both are among the least of each
        edges = np.sort(np.concatenate([out, into[adjacency.into.neighbour[begin : begin + len(into)] != node]]))
    return edges[:limit] if weight is None else _heaviest(edges, weight[edges], limit)


def _heaviest(edges: Nodes, weight: NDArray[np.floating[Any]], limit: int) -> Nodes:
    """The `limit` heaviest of ascending edges, heaviest first, ties by number; sorts only those that stay."""
    if limit < len(edges):
        bound = np.partition(weight, len(edges) - max(limit, 1))[len(edges) - max(limit, 1)]
        above, equal = np.flatnonzero(weight > bound), np.flatnonzero(weight == bound)
        kept = np.sort(np.concatenate([above, equal[: limit - len(above)]]))[:limit]
        edges, weight = edges[kept], weight[kept]
    return edges[np.argsort(-weight, kind="stable")]


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

    Grows level by level, edges taken in both directions: a node leads on to its `per_node` neighbours of lowest degree,
    which keeps hubs out, and of the level that is too large the nodes of lowest degree are kept (ties: lowest number).
    All seeds are kept, even where they are more than `size`.
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
    triples = np.column_stack([found.left[order], adjacency.relation_of(edges), found.right[order]])
    return Subgraph(Adjacency.of(len(nodes), triples), nodes, edges)
