"""Paths through and between entities: MindMap's exploration, and the paths as triples for people to read."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kgmed.errors import BadInput
from kgmed.graph.base import Adjacency, LocalGraph
from kgmed.graph.search.chains import MOST_HOPS, chains
from kgmed.graph.search.shortest import Direction, ShortestPaths, shortest
from kgmed.records import Entity, Triple

# --- MindMap's path exploration: a walk through a list of entities, each reached from the last by a shortest path.
# Wen et al. 2024, section 3.2 (path-based evidence exploration). The paper is silent on three points; the readings
# here:
# the graph is searched in both directions, because it need not state inverse relations; entities are tried in the order
# given, which decides the result; and *every* entity that a path passes counts as reached (the authors' code consumes
# one).


@dataclass(frozen=True, slots=True)
class Segment:
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
    nodes = list(dict.fromkeys(graph.number(e.id) for e in entities))
    if len(nodes) < 2:
        raise BadInput("a path needs two different entities")
    if len(nodes) == 2:
        found = shortest(graph.adjacency, nodes[0], nodes[1], hops=hops or MOST_HOPS, limit=limit)
        rows = zip(found.nodes.tolist(), found.edges.tolist(), strict=True)
        return FoundPaths(tuple(_path(graph, *row) for row in rows), int(found.total))
    many = chains(graph.adjacency, nodes, hops=hops or 3, per_pair=limit)
    rows = zip(many.nodes.tolist(), many.edges.tolist(), strict=True)
    return FoundPaths(tuple(_path(graph, *row) for row in rows), int(np.sum(many.total)), many.cut)


def _path(graph: LocalGraph, nodes: list[int], edges: list[int]) -> TriplePath:
    """One row of a search, whose places after the end hold -1."""
    entities = tuple(graph.at(n) for n in nodes if n >= 0)
    return TriplePath(entities, tuple(graph.triple(e) for e in edges if e >= 0))
