"""The graph in memory with kinds, descriptions, relations written backwards, and weights that may be missing."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from kgmed.records import Entity, Link, Mention, Query, Question, Relation
from memory_graph import MemoryGraph


class RoleGraph(MemoryGraph):
    """Rows as in `MemoryGraph`; `relations` say what they mean, `kinds` what things are."""

    def __init__(
        self,
        rows: Sequence[tuple[str, str, str]],
        relations: Iterable[Relation],
        kinds: Mapping[str, Sequence[str]],
        *,
        weights: Mapping[tuple[str, str, str], float] | None = None,
        texts: Sequence[tuple[str, str, str]] = (),
        descriptions: Mapping[str, str] | None = None,
        isolated: Sequence[str] = (),
        language: str = "en",
    ) -> None:
        super().__init__(rows, weights=weights, texts=texts, isolated=isolated)
        known = {r.name: r for r in relations}
        kind = {name: k for k, names in kinds.items() for name in names}
        said = descriptions or {}
        self._relations = [known.get(name, Relation(name)) for name in self._relation_names]
        self._entities = [Entity(e.id, e.name, kind.get(e.name, ""), said.get(e.name, "")) for e in self._entities]
        self._weighted, self._known, self.language = weights is not None, known, language

    @property
    def weight(self) -> NDArray[np.float32] | None:  # type: ignore[override]
        return super().weight if self._weighted else None

    def attributes(self, entity_id: str, /) -> list:  # type: ignore[type-arg]
        found = super().attributes(entity_id)
        return [type(t)(t.head, self._known.get(t.relation.name, t.relation), t.tail, source="small 1") for t in found]

    def link(self, name: str, *, no: bool = False) -> Link:
        """A certain link to the entity of that name."""
        return Link(Mention(name, name, 0, len(name), no), self.entity(name.lower()), 1.0, "exact")


def query(text: str, options: Mapping[str, str] | None = None) -> Query:
    """A query of that text."""
    return Query(Question(text, tuple((options or {}).items())))
