"""Retriever: the neighbourhood of entities, one piece of evidence for each relation of each entity."""

from collections.abc import Sequence
from dataclasses import dataclass

from kgmed.kg.graph import KnowledgeGraph
from kgmed.types import Entity, Evidence, Link, Query, Role, Triple


@dataclass(frozen=True)
class Overview:
    """What the graph says of each linked entity, grouped by the role of its relation. Evidence: kind "neighbours"."""

    graph: KnowledgeGraph
    listed: int = 12  # names in one piece of evidence
    limit: int = 256  # triples looked at around one entity
    roles: tuple[Role, ...] = ()

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
        return [self._piece(entity, _one_way(entity, rows), score) for rows in groups.values()]

    def _piece(self, entity: Entity, rows: list[Triple], score: float) -> Evidence:
        shown, more = rows[: self.listed], max(len(rows) - self.listed, 0)
        outgoing = rows[0].head == entity
        names = ", ".join(_other(t, entity).name for t in shown) + (f", … ({more} more)" if more else "")
        arrow = f"— {rows[0].relation} →" if outgoing else f"← {rows[0].relation} —"
        return Evidence(f"{entity.name} {arrow} {names}", "neighbours", tuple(shown), (entity,), score)


def _other(triple: Triple, entity: Entity) -> Entity:
    """The end of a triple that is not the entity."""
    return triple.tail if triple.head == entity else triple.head


def _one_way(entity: Entity, rows: list[Triple]) -> list[Triple]:
    """One triple for each neighbour: a graph that writes a fact both ways says it once."""
    return list({_other(t, entity): t for t in reversed(rows)}.values())[::-1]
