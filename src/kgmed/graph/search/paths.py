"""Shortest paths, paths through and between entities (MindMap's exploration), and paths as triples for people."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kgmed.errors import BadInput
from kgmed.graph.base import Adjacency, Csr, LocalGraph
from kgmed.graph.search.chains import MOST_HOPS, chains
from kgmed.graph.search.scan import Ints, Nodes, crossing, degrees, distinct, kth_least, rounded, spread
from kgmed.records import Entity, Triple
from kgmed.stop import check_stop

# Shortest paths between two nodes.

Direction = Literal["out", "both"]
_MOST_STEPS = 30  # so that products of degrees and keys of paths stay within their bits


@dataclass(frozen=True, slots=True)
class ShortestPaths:
    """The shortest paths between two nodes, the best first.

    They are ordered by the nodes of `via` that they miss, then by the product of the degrees of their inner nodes,
    then nodes, relations and directions: a total order. Parallel edges make distinct paths.
    """

    distance: int  # steps; 0 = both ends are one node; -1 = none within the limit
    total: float  # how many shortest paths there are; exact below 2**53; nan = they were not counted
    nodes: Nodes  # (r, distance + 1) from source to target
    edges: Nodes  # (r, distance) edge numbers
    forward: NDArray[np.bool_]  # (r, distance) whether the step goes along its edge

    def __len__(self) -> int:
        """The number of paths shown."""
        return len(self.nodes)

    @property
    def found(self) -> bool:
        """Whether there is a path."""
        return self.distance >= 0


class _Layer(NamedTuple):
    """The steps of all shortest paths from one level to the next."""

    start: Ints  # (e,) place in the level
    end: Ints  # (e,) place in the next level
    edge: Nodes  # (e,)
    forward: NDArray[np.bool_]  # (e,)


def shortest(
    adjacency: Adjacency,
    source: int,
    target: int,
    *,
    hops: int = 5,
    direction: Direction = "both",
    limit: int = 1,
    via: Sequence[int] = (),
) -> ShortestPaths:
    """The first `limit` of all shortest paths from `source` to `target` of at most `hops` steps.

    `direction="out"` follows the edges only as they point. Paths through nodes of `via` come first.

    >>> a = Adjacency.of(4, np.array([[0, 0, 1], [2, 0, 1], [2, 0, 3]]))
    >>> shortest(a, 0, 3).nodes.tolist(), shortest(a, 0, 3).forward.tolist(), shortest(a, 0, 3, hops=2).distance
    ([[0, 1, 2, 3]], [[True, False, True]], -1)
    """
    if not 0 <= hops <= _MOST_STEPS or limit < 1:
        raise BadInput(f"a search needs 0 to {_MOST_STEPS} hops and limit >= 1, not {hops} and {limit}")
    if source == target:
        return ShortestPaths(0, 1.0, np.array([[source]], np.int32), np.empty((1, 0), np.int32), np.empty((1, 0), bool))
    sides = _search(adjacency, source, target, hops, direction)
    if sides is None:
        return ShortestPaths(-1, 0.0, np.empty((0, 1), np.int32), np.empty((0, 0), np.int32), np.empty((0, 0), bool))
    levels, layers = _between(adjacency, *sides, direction)
    best = _best(adjacency, levels, layers, limit, np.asarray(via, np.int32))
    return ShortestPaths(len(layers), _count(levels, layers), best.nodes, best.edges, best.forward)


def _rows(adjacency: Adjacency, direction: Direction, *, towards: bool) -> list[Csr]:
    """The rows that lead on from the source (`towards`) or back from the target."""
    return [adjacency.out, adjacency.into] if direction == "both" else [adjacency.out] if towards else [adjacency.into]


def _search(
    adjacency: Adjacency, source: int, target: int, hops: int, direction: Direction
) -> tuple[list[Nodes], list[Nodes]] | None:
    """The levels from the source and those from the target, the last of both being the nodes where they meet."""
    rows = [_rows(adjacency, direction, towards=t) for t in (True, False)]
    levels = ([np.array([source], np.int32)], [np.array([target], np.int32)])
    seen = [np.zeros(adjacency.nodes, bool), np.zeros(adjacency.nodes, bool)]
    seen[0][source] = seen[1][target] = True
    effort = [_effort(rows[side], levels[side][0]) for side in (0, 1)]
    for _ in range(hops):
        check_stop()
        side = int(effort[1] < effort[0])
        if not effort[side]:
            return None
        nodes = _next(rows[side], levels[side][-1], seen[side])
        met = nodes[seen[1 - side][nodes]]
        if len(met):
            levels[1 - side][-1] = met
            levels[side].append(met)
            return levels
        levels[side].append(nodes)
        effort[side] = _effort(rows[side], nodes)
    return None


def _effort(rows: list[Csr], nodes: Nodes) -> int:
    """The number of edges at some nodes."""
    after = nodes + 1
    return sum(int((csr.indptr[after] - csr.indptr[nodes]).sum()) for csr in rows)


def _next(rows: list[Csr], nodes: Nodes, seen: NDArray[np.bool_]) -> Nodes:
    """The neighbours not seen before, ascending; marks them as seen."""
    parts = []
    for csr in rows:
        starts = csr.indptr[nodes]
        reached = csr.neighbour[spread(starts, csr.indptr[nodes + 1] - starts)]
        parts.append(reached[~seen[reached]])
    new: Nodes = distinct(np.concatenate(parts))
    seen[new] = True
    return new


def _between(
    adjacency: Adjacency, first: list[Nodes], last: list[Nodes], direction: Direction
) -> tuple[list[Nodes], list[_Layer]]:
    """One level per step from source to target, only of nodes on shortest paths, and the steps between them."""
    near: list[Nodes] = [first[-1]]
    to_meeting: list[_Layer] = []
    for level in first[-2::-1]:
        layer = _steps(adjacency, level, near[0], direction)
        used, start = np.unique(layer.start, return_inverse=True)
        near, to_meeting = [level[used], *near], [layer._replace(start=start), *to_meeting]
    far: list[Nodes] = [last[-1]]
    from_meeting: list[_Layer] = []
    for level in last[-2::-1]:
        layer = _steps(adjacency, far[-1], level, direction)
        used, end = np.unique(layer.end, return_inverse=True)
        far, from_meeting = [*far, level[used]], [*from_meeting, layer._replace(end=end)]
    return [*near, *far[1:]], [*to_meeting, *from_meeting]


def _steps(adjacency: Adjacency, start: Nodes, end: Nodes, direction: Direction) -> _Layer:
    """All steps from one set of nodes into another."""
    along = crossing(adjacency.out, adjacency.into, start, end)
    if direction == "out":
        return _Layer(*along, np.ones(len(along.edge), bool))
    against = crossing(adjacency.into, adjacency.out, start, end)
    forward = np.repeat([True, False], [len(along.edge), len(against.edge)])
    return _Layer(
        np.concatenate([along.left, against.left]),
        np.concatenate([along.right, against.right]),
        np.concatenate([along.edge, against.edge]),
        forward,
    )


def _count(levels: list[Nodes], layers: list[_Layer]) -> float:
    count: NDArray[np.float64] = np.ones(len(levels[-1]))
    for level, layer in zip(levels[-2::-1], layers[::-1], strict=True):
        count = np.bincount(layer.start, count[layer.end], len(level)).astype(np.float64)
    return float(count.sum())


class _Tails(NamedTuple):
    """The best paths from each node of a level to the target, grouped by that node."""

    at: Ints  # (r,) place of the node in its level
    missed: Ints  # (r,) inner nodes that are not among those to pass
    weight: NDArray[np.float64]  # (r,) product of the degrees of the inner nodes
    nodes: Nodes
    edges: Nodes
    forward: NDArray[np.bool_]

    def take(self, places: Ints) -> "_Tails":
        """Some of the paths."""
        return _Tails._make(column[places] for column in self)


def _best(adjacency: Adjacency, levels: list[Nodes], layers: list[_Layer], limit: int, via: Nodes) -> _Tails:
    """The first `limit` paths: the best of each node are among the best of the next level, one step longer."""
    none = np.empty((1, 0))
    tails = _Tails(
        np.zeros(1, np.int64),
        np.zeros(1, np.int64),
        np.ones(1),
        levels[-1][:, None],
        none.astype(np.int32),
        none.astype(bool),
    )
    for i in range(len(layers) - 1, -1, -1):
        tails = _longer(levels[i], layers[i], tails)
        if i:
            tails = _past(adjacency, tails, via)
        tails = _first(adjacency, tails, limit, len(levels[i]))
    return tails


def _longer(level: Nodes, layer: _Layer, tails: _Tails) -> _Tails:
    """All tails with one more step before them."""
    ends = np.searchsorted(tails.at, [layer.end, layer.end + 1])
    many = ends[1] - ends[0]
    step, child = np.repeat(np.arange(len(many)), many), spread(ends[0], many)
    old = tails.take(child)
    return _Tails(
        layer.start[step],
        old.missed,
        old.weight,
        np.column_stack([level[layer.start[step]], old.nodes]),
        np.column_stack([layer.edge[step], old.edges]),
        np.column_stack([layer.forward[step], old.forward]),
    )


def _past(adjacency: Adjacency, tails: _Tails, via: Nodes) -> _Tails:
    """The tails with their first node counted as an inner node."""
    node = tails.nodes[:, 0]
    missed = tails.missed + ~np.isin(node, via) if len(via) else tails.missed
    return tails._replace(missed=missed, weight=tails.weight * degrees(adjacency, node))


def _first(adjacency: Adjacency, tails: _Tails, limit: int, places: int) -> _Tails:
    """The first `limit` tails of each node, in order; those that cannot be among them are left out before the sort."""
    if len(tails.at) == 1:
        return tails
    near = np.arange(len(tails.at))
    if len(near) > 8 * limit:
        key = tails.missed << 31 | rounded(tails.weight)
        near = np.flatnonzero(key <= kth_least(tails.at, key, limit, places)[tails.at])
    at, edges = tails.at[near], tails.edges[near]
    relation, nodes, forward = adjacency.relation_of(edges), tails.nodes[near], tails.forward[near]
    order = np.lexsort((at, tails.missed[near], tails.weight[near], *nodes.T, *relation.T, *forward.T)[::-1])
    many = np.bincount(at, minlength=places)
    rank = np.arange(len(at)) - np.repeat(np.cumsum(many) - many, many)
    return tails.take(near[order[rank < limit]])


# Paths through and between entities: MindMap's exploration, and the paths as triples for people to read.

# --- MindMap's path exploration: a walk through a list of entities, each reached from the last by a shortest path.
# Wen et al. 2024, section 3.2 (path-based evidence exploration). The paper is silent on three points; the readings
# here:
# the graph is searched in both directions, because it need not state inverse relations; entities are tried in the order
# given, which decides the result; and *every* entity that a path passes counts as reached (the authors' code consumes
# one).


class Segment(NamedTuple):
    """Entities that hang together: a leg leads from each of the ends to the next."""

    entities: tuple[int, ...]  # those of the list that the best path of each leg passes, in its order
    legs: tuple[ShortestPaths, ...]  # none where an entity stands alone


def explore(
    adjacency: Adjacency,
    entities: Sequence[int],
    *,
    hops: int = 5,  # the authors' code; the slides are silent
    direction: Direction = "both",
    limit: int = 1,
) -> list[Segment]:
    """The segments that hold all entities, each once, in the order they are given.

    From the first entity the next one of the list is searched within `hops` steps. If a path is found it becomes the
    new start, and all entities on the path are done; if not, the segment ends and the next one starts there. Of equally
    short paths one that passes more of the remaining entities is preferred. `limit` paths are kept per leg.

    >>> import numpy as np
    >>> line = Adjacency.of(4, np.array([[0, 0, 1], [2, 0, 1]]))
    >>> [segment.entities for segment in explore(line, [0, 2, 1, 3])]
    [(0, 1, 2), (3,)]
    """
    segments: list[Segment] = []
    waiting = list(dict.fromkeys(int(e) for e in entities))
    while waiting:
        segment, waiting = _segment(adjacency, waiting, hops=hops, direction=direction, limit=limit)
        segments.append(segment)
    return segments


def _segment(
    adjacency: Adjacency, waiting: list[int], *, hops: int, direction: Direction, limit: int
) -> tuple[Segment, list[int]]:
    """The segment that starts at the first of the waiting entities, and those that wait still."""
    passed, waiting = [waiting[0]], waiting[1:]
    legs: list[ShortestPaths] = []
    while waiting:
        leg = shortest(adjacency, passed[-1], waiting[0], hops=hops, direction=direction, limit=limit, via=waiting)
        if not leg.found:
            break
        done = [node for node in leg.nodes[0].tolist() if node in waiting]
        passed, waiting = passed + done, [node for node in waiting if node not in done]
        legs.append(leg)
    return Segment(tuple(passed), tuple(legs)), waiting


# --- The paths between entities as triples, for people to read.


@dataclass(frozen=True, slots=True)
class TriplePath:
    """One path: its entities in order, and the triple of each step, which may point either way."""

    entities: tuple[Entity, ...]
    triples: tuple[Triple, ...]

    def __str__(self) -> str:
        """The path on one line, each arrow in the direction of its triple."""
        text = self.entities[0].name
        for start, end, triple in zip(self.entities, self.entities[1:], self.triples, strict=False):
            along = triple.head == start
            text += f" -{triple.relation}-> {end.name}" if along else f" <-{triple.relation}- {end.name}"
        return text


@dataclass(frozen=True, slots=True)
class FoundPaths:
    """The paths found, how many there are in all, and the budgets that cut the search (then there may be more)."""

    paths: tuple[TriplePath, ...]
    total: int
    cut: tuple[str, ...] = ()


def paths_between(graph: LocalGraph, entities: Sequence[Entity], *, hops: int = 0, limit: int = 20) -> FoundPaths:
    """The shortest paths between two entities (`hops` 5 by default), or the chains between all of more (by default 3).

    At most `limit` paths, of each pair where there are several. Raises `BadInput` for fewer than two.
    """
    rows = rows_between(graph.adjacency, [graph.number(e.id) for e in entities], hops=hops, limit=limit)
    if (ahead := getattr(graph, "ahead", None)) is not None:  # an excerpt of a database: in one call
        ahead([edge for edges in rows.edges for edge in edges])
    paths = zip(rows.nodes, rows.edges, strict=True)
    found = (TriplePath(tuple(map(graph.at, nodes)), tuple(map(graph.triple, edges))) for nodes, edges in paths)
    return FoundPaths(tuple(found), rows.total, rows.cut)


class PathRows(NamedTuple):
    """Paths as numbers: the nodes and the edges of each, how many there are in all, and the budgets that cut."""

    nodes: list[list[int]]
    edges: list[list[int]]
    total: int
    cut: tuple[str, ...] = ()


def rows_between(adjacency: Adjacency, nodes: Sequence[int], *, hops: int = 0, limit: int = 20) -> PathRows:
    """As `paths_between`, on node numbers; raises `BadInput` for fewer than two."""
    nodes = list(dict.fromkeys(nodes))
    if len(nodes) < 2:
        raise BadInput("a path needs two different entities")
    if len(nodes) == 2:
        found = shortest(adjacency, nodes[0], nodes[1], hops=hops or MOST_HOPS, limit=limit)
        return PathRows(_without_ends(found.nodes), _without_ends(found.edges), int(found.total))
    many = chains(adjacency, nodes, hops=hops or 3, per_pair=limit)
    return PathRows(_without_ends(many.nodes), _without_ends(many.edges), int(np.sum(many.total)), many.cut)


def _without_ends(rows: NDArray[Any]) -> list[list[int]]:
    """The rows of a search, whose places after the end hold -1, without these."""
    return [[number for number in row if number >= 0] for row in rows.tolist()]
