"""Retriever: the triples around each linked entity, one piece of evidence each."""

from collections.abc import Sequence
from dataclasses import dataclass

from kgmed.kg.graph import KnowledgeGraph
from kgmed.types import Entity, Evidence, Link, Query, Role, Triple


@dataclass(frozen=True)
class Neighbours:
    """The heaviest `limit` triples of each entity. Evidence: kind "triple", score = weight, about = the entities.

    KG-Rank and MKG-Rank, one-hop retrieval. `roles` narrows the relations, `attributes` adds the texts about an entity.
    Entities of negated mentions bring in nothing, unless `negated` is set: what a finding leads to does not follow
    from its absence.
    """

    graph: KnowledgeGraph
    limit: int = 500  # KG-Rank's code: 20 pages of 25
    roles: tuple[Role, ...] = ()
    attributes: bool = True
    negated: bool = False

    def __call__(self, query: Query, links: Sequence[Link]) -> list[Evidence]:
        """The triples of each entity in turn, heaviest first; one that several entities share stands once, for all."""
        about: dict[Triple, list[Entity]] = {}
        for entity in dict.fromkeys(link.entity for link in links if self.negated or not link.mention.negated):
            for triple in self._around(entity):
                about.setdefault(triple, []).append(entity)
        return [_evidence(triple, tuple(entities)) for triple, entities in about.items()]

    def _around(self, entity: Entity) -> list[Triple]:
        triples = self.graph.neighbours(entity.id, limit=self.limit, roles=self.roles)
        if not self.attributes:
            return triples
        return triples + [
            t for t in self.graph.attributes(entity.id) if not self.roles or t.relation.role in self.roles
        ]


def _evidence(triple: Triple, about: tuple[Entity, ...]) -> Evidence:
    text = f"{triple.head.name} — {triple.relation} → {triple.tail.name}"
    return Evidence(text, "triple", (triple,), about, triple.weight)
