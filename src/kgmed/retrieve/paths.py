"""Retriever: MindMap's path evidence, a walk through the linked entities by shortest paths."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from typing import NamedTuple

from kgmed.errors import BadInput
from kgmed.kg.graph import LocalGraph
from kgmed.kg.search.explore import Segment, explore
from kgmed.kg.search.shortest import Direction
from kgmed.kg.search.shortest import Paths as Shortest
from kgmed.retrieve.arrows import anchors, arrows
from kgmed.retrieve.found import Found
from kgmed.types import Evidence, Link, Query


class _Way(NamedTuple):
    """One path: its edges with their directions, and the entities it joins."""

    edges: list[int]
    forward: list[bool]
    about: tuple[int, ...]


@dataclass(frozen=True)
class Paths:
    """At most `keep` paths through the entities in the order of the links (MindMap 3.2).

    Evidence: kind "path"; about = the entities that a path joins, its start first; triples in walking order; score =
    1 / number of steps. First the joined path of every segment, made of the best path of each leg; then, leg by leg
    over all segments in turn, the other shortest paths. The result's `notes` say how many shortest paths are not shown.
    """

    graph: LocalGraph
    hops: int = 5  # the authors' code
    keep: int = 5  # the authors' code
    direction: Direction = "both"  # the authors' code: "out", on a graph that states every relation in both directions

    def __call__(self, query: Query, links: Sequence[Link]) -> Found:
        """The paths, joined ones first."""
        if self.keep < 1:
            raise BadInput(f"path evidence needs keep >= 1, not {self.keep}")
        nodes = anchors(self.graph, links)
        segments = explore(self.graph.adjacency, nodes, hops=self.hops, direction=self.direction, limit=self.keep)
        joined = [_joined(segment) for segment in segments if segment.legs]
        others = zip_longest(*(list(_others(segment)) for segment in segments))
        ways = [*joined, *(way for way in chain.from_iterable(others) if way)]
        return Found(map(self._evidence, ways[: self.keep]), notes=_notes(segments, joined, self.keep))

    def _evidence(self, way: _Way) -> Evidence:
        triples = tuple(map(self.graph.triple, way.edges))
        about = tuple(map(self.graph.at, way.about))
        return Evidence(arrows(triples, way.forward), "path", triples, about, 1 / len(triples))


def _way(leg: Shortest, row: int, about: tuple[int, ...]) -> _Way:
    return _Way(leg.edges[row].tolist(), leg.forward[row].tolist(), about)


def _joined(segment: Segment) -> _Way:
    """The best path of each leg, one after the other."""
    best = [_way(leg, 0, ()) for leg in segment.legs]
    return _Way([e for w in best for e in w.edges], [f for w in best for f in w.forward], segment.entities)


def _others(segment: Segment) -> Iterator[_Way]:
    """The second best path of each leg, then the third best, and so on."""
    for row in range(1, max((len(leg) for leg in segment.legs), default=0)):
        for leg in segment.legs:
            if row < len(leg):
                yield _way(leg, row, (int(leg.nodes[row, 0]), int(leg.nodes[row, -1])))


def _notes(segments: list[Segment], joined: list[_Way], keep: int) -> tuple[str, ...]:
    """One line where not all paths are shown."""
    found = len(joined) + sum(leg.total - 1 for segment in segments for leg in segment.legs)
    return (f"paths: {keep} of {found:.0f} shortest paths shown",) if found > keep else ()
