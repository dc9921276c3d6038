"""Retriever: MindMap's neighbour evidence, what stands around the linked entities and around their relevant neighbours.

Wen et al. 2024, 3.2: all triples of an entity are candidates; a neighbour that has to do with the question brings in
its own triples as well. Candidates are ranked first and capped afterwards, and nothing outlives a question.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from kgmed.kg.graph import KnowledgeGraph
from kgmed.kg.text import one_line
from kgmed.retrieve.fact import Fact, fact
from kgmed.retrieve.found import Found
from kgmed.retrieve.relevance import Every, Relevance
from kgmed.types import Entity, Evidence, Link, Query, Role, Triple

_Found = tuple[Triple, Entity, tuple[Entity, ...]]  # a triple, where it stands, and from where it was reached


class _Scored(NamedTuple):
    """A triple at an entity, how relevant it is, and the linked entities that it was reached from."""

    triple: Triple
    at: Entity
    score: float
    about: tuple[Entity, ...]


@dataclass(frozen=True)
class Relevant:
    """At most `keep` rows, labelled N1, N2, ...: an entity, a relation, and the entities at its other end.

    Evidence: kind "neighbours"; score = that of its most relevant triple; about = the linked entity, and after it the
    neighbour that the row is of. A row that warns is kept beyond `keep`. `notes` say what is not shown.
    """

    graph: KnowledgeGraph
    relevance: Relevance = field(default_factory=Every)
    keep: int = 5  # the authors' code
    listed: int = 8  # ours: names in a row
    expand: int = 5  # ours: relevant neighbours that bring in their own triples
    limit: int = 500  # ours: triples looked at around one entity
    through: tuple[str, ...] = ()  # kinds of neighbours that are expanded; () = any (the authors' code: diseases)
    skip: tuple[Role, ...] = ()  # roles left out around a neighbour (the authors' code: has_symptom)

    def __call__(self, query: Query, links: Sequence[Link]) -> Found:
        """The rows, most relevant first."""
        entities = list(dict.fromkeys(link.entity for link in links if not link.mention.negated))
        near = self._scored(query, _distinct((t, e, (e,)) for e in entities for t in self._around(e)))
        rows = [*self._rows(near), *self._rows(self._beyond(query, near, entities))]
        rows.sort(key=lambda e: -e.score)  # stable: of equals what is at a linked entity first
        kept = [e for i, e in enumerate(rows) if i < self.keep or e.is_safety]
        hubs = [e.name for e in entities if len(self._around(e)) >= self.limit]
        notes = [f"neighbours: {len(kept)} of {len(rows)} rows shown"] if len(kept) < len(rows) else []
        notes += [f"neighbours: only {self.limit} triples of {name} were looked at" for name in hubs]
        return Found((replace(e, id=f"N{i}") for i, e in enumerate(kept, start=1)), notes=tuple(notes))

    def _around(self, entity: Entity) -> list[Triple]:
        """The triples at an entity."""
        return self.graph.neighbours(entity.id, limit=self.limit)

    def _scored(self, query: Query, found: Sequence[_Found]) -> list[_Scored]:
        """The relevant triples, and those that warn."""
        scores = self.relevance(query, [t for t, _, _ in found]).tolist()
        every = [_Scored(t, at, score, about) for (t, at, about), score in zip(found, scores, strict=True)]
        return [s for s in every if s.score > 0 or s.triple.relation.role.is_safety]

    def _beyond(self, query: Query, near: Sequence[_Scored], entities: Sequence[Entity]) -> list[_Scored]:
        """The relevant triples around the most relevant neighbours that are not linked themselves."""
        best: dict[Entity, _Scored] = {}
        for s in sorted(near, key=lambda s: -s.score):
            other = _other(s)
            if s.score > 0 and other.id and other not in entities and (not self.through or other.kind in self.through):
                best.setdefault(other, s)
        chosen = list(best.items())[: self.expand]
        known = {fact(s.triple) for s in near}
        found = _distinct((t, n, (*s.about, n)) for n, s in chosen for t in self._around(n))
        new = [f for f in found if f[0].relation.role not in self.skip and fact(f[0]) not in known]
        return [s for s in self._scored(query, new) if s.score > 0]

    def _rows(self, scored: Iterable[_Scored]) -> Iterator[Evidence]:
        """The triples grouped by entity, relation and direction."""
        groups: dict[tuple[str, str, bool], list[_Scored]] = {}
        for s in scored:
            groups.setdefault((s.at.id, s.triple.relation.name, s.triple.head == s.at), []).append(s)
        for group in groups.values():
            group.sort(key=lambda s: -s.score)
            shown = [s for i, s in enumerate(group) if i < self.listed]
            yield _row(shown, len(group))


def _distinct(found: Iterable[_Found]) -> list[_Found]:
    """The triples around each entity, of those that say the same the first."""
    once: dict[tuple[str, Fact], _Found] = {}
    for row in found:
        once.setdefault((row[1].id, fact(row[0])), row)
    return list(once.values())


def _other(scored: _Scored) -> Entity:
    """The entity at the other end."""
    return scored.triple.tail if scored.triple.head == scored.at else scored.triple.head


def _row(shown: Sequence[_Scored], there: int) -> Evidence:
    """One row as evidence; it says how many names it leaves out."""
    first = shown[0]
    names = ", ".join(one_line(_other(s).name) for s in shown)
    more = f" (+{there - len(shown)})" if there > len(shown) else ""
    relation, at = first.triple.relation.name, one_line(first.at.name)
    text = f"{at} — {relation} → {names}" if first.triple.head == first.at else f"{names} — {relation} → {at}"
    return Evidence(text + more, "neighbours", tuple(s.triple for s in shown), first.about, first.score)
