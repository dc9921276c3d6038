"""Retriever: the neighbourhood of entities, one piece of evidence for each relation of each entity."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kgmed.kg.graph import KnowledgeGraph
from kgmed.types import Entity, Evidence, Link, Query, Relation, Role, Triple

DEFINITION = Relation("definition")


@dataclass(frozen=True)
class Overview:
    """What the graph says of each linked entity, grouped by the role of its relation.

    Evidence: kind "neighbours", at most `listed` triples a piece and `pieces` pieces a relation, heaviest first; the
    last says how many are not shown. Without `roles` the entity's definition comes first, kind "text".
    """

    graph: KnowledgeGraph
    listed: int = 12  # names in one piece of evidence
    limit: int = 256  # triples looked at around one entity
    roles: tuple[Role, ...] = ()
    pieces: int = 1

    def __call__(self, query: Query, links: Sequence[Link]) -> list[Evidence]:
        """The pieces of each entity in turn, those with the heaviest triples first."""
        entities = dict.fromkeys(link.entity for link in links if not link.mention.negated)
        return [piece for entity in entities for piece in self.of(entity)]

    def of(self, entity: Entity, *, score: float = 1.0) -> list[Evidence]:
        """The pieces of one entity, each with the given score."""
        groups: dict[tuple[str, bool], list[Triple]] = {}
        triples = self.graph.neighbours(entity.id, limit=self.limit, roles=self.roles)
        texts = [t for t in self.graph.attributes(entity.id) if not self.roles or t.relation.role in self.roles]
        for t in (*triples, *texts):
            what = t.relation.name if t.relation.role in (Role.OTHER, Role.SAME_AS) else t.relation.role.value
            groups.setdefault((what, t.subject == entity), []).append(t)
        found = [] if self.roles else list(self._definition(entity, score))
        return found + [
            piece for rows in groups.values() for piece in self._pieces(entity, _one_way(entity, rows), score)
        ]

    def _definition(self, entity: Entity, score: float) -> Iterator[Evidence]:
        """What the graph says that the entity is."""
        text = self.graph.entity(entity.id).description
        if text:
            triple = Triple(entity, DEFINITION, Entity("", text), source=self.graph.label)
            yield Evidence(f"{entity.name}: {text}", "text", (triple,), (entity,), score)

    def _pieces(self, entity: Entity, rows: list[Triple], score: float) -> Iterator[Evidence]:
        """The heaviest triples of one relation, `listed` to a piece."""
        for begin in range(0, min(len(rows), self.listed * self.pieces), self.listed):
            shown = rows[begin : begin + self.listed]
            last = begin + self.listed >= self.listed * self.pieces
            more = max(len(rows) - begin - self.listed, 0) if last else 0
            text = f"{entity.name} {_told(entity, shown)}" + (f", … (+{more})" if more else "")
            yield Evidence(text, "neighbours", tuple(shown), (entity,), score)


def _told(entity: Entity, rows: Sequence[Triple]) -> str:
    """The other ends, those of one relation and direction together, as the graph writes it.

    >>> a, b, c = (Entity(n, n) for n in "abc")
    >>> _told(a, [Triple(a, Relation("has"), b), Triple(c, Relation("seen in"), a)])
    '— has → b; ← seen in — c'
    """
    groups: dict[str, list[str]] = {}
    for t in rows:
        arrow = f"— {t.relation} →" if t.head == entity else f"← {t.relation} —"
        groups.setdefault(arrow, []).append(_other(t, entity).name)
    return "; ".join(f"{arrow} {', '.join(names)}" for arrow, names in groups.items())


def _other(triple: Triple, entity: Entity) -> Entity:
    """The end of a triple that is not the entity."""
    return triple.tail if triple.head == entity else triple.head


def _one_way(entity: Entity, rows: list[Triple]) -> list[Triple]:
    """One triple for each neighbour: a graph that writes a fact both ways says it once."""
    kept: dict[Entity, Triple] = {}
    for t in rows:
        kept.setdefault(_other(t, entity), t)
    return list(kept.values())
