"""MindMap's path exploration: a walk through a list of entities, each reached from the last by a shortest path.

Wen et al. 2024, section 3.2 (path-based evidence exploration). The paper is silent on three points; the readings here:
the graph is searched in both directions, because it need not state inverse relations; entities are tried in the order
given, which decides the result; and *every* entity that a path passes counts as reached (the authors' code consumes
one).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from kgmed.kg.graph import Adjacency
from kgmed.kg.search.shortest import Direction, Paths, shortest


@dataclass(frozen=True, slots=True)
class Segment:
    """Entities that hang together: a leg leads from each of the ends to the next."""

    entities: tuple[int, ...]  # those of the list that the best path of each leg passes, in its order
    legs: tuple[Paths, ...]  # none where an entity stands alone


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
    legs: list[Paths] = []
    while waiting:
        leg = shortest(adjacency, passed[-1], waiting[0], hops=hops, direction=direction, limit=limit, via=waiting)
        if not leg.found:
            break
        done = [node for node in leg.nodes[0].tolist() if node in waiting]
        passed, waiting = passed + done, [node for node in waiting if node not in done]
        legs.append(leg)
    return Segment(tuple(passed), tuple(legs)), waiting
