"""The paths between entities as triples, for people to read."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kgmed.errors import BadInput
from kgmed.kg.graph import LocalGraph
from kgmed.kg.search.chains import MOST_HOPS, chains
from kgmed.kg.search.shortest import shortest
from kgmed.types import Entity, Triple


@dataclass(frozen=True, slots=True)
class Path:
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
class Found:
    """The paths found, how many there are in all, and the budgets that cut the search (then there may be more)."""

    paths: tuple[Path, ...]
    total: int
    cut: tuple[str, ...] = ()


def between(graph: LocalGraph, entities: Sequence[Entity], *, hops: int = 0, limit: int = 20) -> Found:
    """The shortest paths between two entities (`hops` 5 by default), or the chains between all of more (by default 3).

    At most `limit` paths, of each pair where there are several. Raises `BadInput` for fewer than two.
    """
    nodes = list(dict.fromkeys(graph.number(e.id) for e in entities))
    if len(nodes) < 2:
        raise BadInput("a path needs two different entities")
    if len(nodes) == 2:
        found = shortest(graph.adjacency, nodes[0], nodes[1], hops=hops or MOST_HOPS, limit=limit)
        rows = zip(found.nodes.tolist(), found.edges.tolist(), strict=True)
        return Found(tuple(_path(graph, *row) for row in rows), int(found.total))
    many = chains(graph.adjacency, nodes, hops=hops or 3, per_pair=limit)
    rows = zip(many.nodes.tolist(), many.edges.tolist(), strict=True)
    return Found(tuple(_path(graph, *row) for row in rows), int(np.sum(many.total)), many.cut)


def _path(graph: LocalGraph, nodes: list[int], edges: list[int]) -> Path:
    """One row of a search, whose places after the end hold -1."""
    entities = tuple(graph.at(n) for n in nodes if n >= 0)
    return Path(entities, tuple(graph.triple(e) for e in edges if e >= 0))
