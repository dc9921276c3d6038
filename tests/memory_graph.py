"""A small `LocalGraph` in memory, made of rows (head, relation, tail), for tests."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from kgmed.errors import UnknownName
from kgmed.graph.base import Adjacency, Match, NodeName, Scope
from kgmed.records import Entity, Relation, Role, Triple


class MemoryGraph:
    """A graph whose ids are its names in lower case; nodes are numbered by name."""

    name = "small"
    label = "small 1 (0)"
    language = "en"
    folder = ""

    def __init__(
        self,
        rows: Sequence[tuple[str, str, str]],
        *,
        roles: Mapping[str, Role] | None = None,
        weights: Mapping[tuple[str, str, str], float] | None = None,
        texts: Sequence[tuple[str, str, str]] = (),
        isolated: Sequence[str] = (),
    ) -> None:
        names = sorted({x for head, _, tail in rows for x in (head, tail)} | set(isolated) | {t[0] for t in texts})
        self._names = names
        self._number = {name.lower(): i for i, name in enumerate(names)}
        self._entities = [Entity(name.lower(), name) for name in names]
        roles = roles or {}
        self._relation_names = sorted({relation for _, relation, _ in rows})
        self._relations = [Relation(name, roles.get(name, Role.OTHER)) for name in self._relation_names]
        numbered = [
            (self._number[h.lower()], self._relation_names.index(r), self._number[t.lower()]) for h, r, t in rows
        ]
        self._adjacency = Adjacency.of(len(names), np.array(numbered, np.int64).reshape(-1, 3))
        self._weights = weights or {}
        self._texts = texts

    @property
    def adjacency(self) -> Adjacency:
        return self._adjacency

    @property
    def relations(self) -> tuple[Relation, ...]:
        return tuple(self._relations)

    @property
    def weight(self) -> NDArray[np.float32]:
        return np.array([self.triple(i).weight for i in range(self._adjacency.edges)], np.float32)

    def of_kind(self, kind: str, /) -> NDArray[np.int64]:
        return np.array([i for i, e in enumerate(self._entities) if e.kind == kind], np.int64)

    def entity(self, entity_id: str, /) -> Entity:
        return self.at(self.number(entity_id))

    def lookup(self, name: str, /) -> list[Match]:
        return [Match(e, e.name, "exact") for e in self._entities if e.name == name]

    def neighbours(self, entity_id: str, /, *, limit: int = 64, roles: Sequence[Role] = ()) -> list[Triple]:
        node = self._entities[self.number(entity_id)]
        found = [self.triple(i) for i in range(self._adjacency.edges)]
        found = [t for t in found if node in (t.head, t.tail) and (not roles or t.relation.role in roles)]
        return sorted(found, key=lambda t: -t.weight)[:limit]

    def attributes(self, entity_id: str, /) -> list[Triple]:
        return [
            Triple(self.entity(h.lower()), Relation(r), Entity("", text))
            for h, r, text in self._texts
            if h.lower() == entity_id
        ]

    def number(self, entity_id: str, /) -> int:
        if entity_id not in self._number:
            raise UnknownName("entity", entity_id, self._number)
        return self._number[entity_id]

    def at(self, node: int, /) -> Entity:
        return self._entities[node]

    def triple(self, edge: int, /) -> Triple:
        out = self._adjacency.out
        head = int(np.searchsorted(out.indptr, edge, "right")) - 1
        triple = (
            self._names[head],
            self._relation_names[int(out.relation[edge])],
            self._names[int(out.neighbour[edge])],
        )
        return Triple(
            self._entities[head],
            self._relations[int(out.relation[edge])],
            self._entities[int(out.neighbour[edge])],
            weight=self._weights.get(triple, 1.0),
            source="small 1",
        )

    def names(self, *, scopes: Sequence[int] = ()) -> Iterator[NodeName]:
        for i, name in enumerate(self._names):
            if not scopes or Scope.PREFERRED in scopes:
                yield NodeName(name, i, Scope.PREFERRED)
