"""Retrievers that several methods share: neighbours, paths and overviews."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from typing import TYPE_CHECKING, NamedTuple

from kgmed.errors import BadInput
from kgmed.graph.base import KnowledgeGraph, LocalGraph
from kgmed.pipeline import note
from kgmed.records import Entity, Evidence, Link, Query, Relation, Role, Triple

if TYPE_CHECKING:
    from kgmed.graph.search.paths import Direction, Segment, ShortestPaths
    from kgmed.graph.store.store import Store

# --- Paths written as arrow chains. Both ends are shown for every shape, and each arrow points as its graph states it.


Walk = Sequence[tuple[int, bool]]  # (edge number, along the edge?) in walking order


def arrows(triples: Sequence[Triple], forward: Sequence[bool]) -> str:
    """The chain from the start of the first triple, as walked, to the end of the last.

    >>> from kgmed.records import Entity, Relation
    >>> a, x, b = (Entity(n, n) for n in "AXB")
    >>> arrows([Triple(a, Relation("r"), x), Triple(b, Relation("s"), x)], [True, False])
    'A -[r]-> X <-[s]- B'
    """
    if not triples:
        return ""
    text = (triples[0].head if forward[0] else triples[0].tail).name
    for t, along in zip(triples, forward, strict=True):
        text += f" -[{t.relation}]-> {t.tail.name}" if along else f" <-[{t.relation}]- {t.head.name}"
    return text


def anchors(graph: LocalGraph, links: Sequence[Link]) -> list[int]:
    """The node numbers of the linked entities, each once, in the order of the links; negated mentions left out.

    "No fever" is no reason to look for what fever has to do with the rest.
    """
    return list(dict.fromkeys(graph.number(link.entity.id) for link in links if not link.mention.negated))


# --- Retriever: the triples around each linked entity, one piece of evidence each.


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
        return [triple_evidence(triple, tuple(entities)) for triple, entities in about.items()]

    def _around(self, entity: Entity) -> list[Triple]:
        triples = self.graph.neighbours(entity.id, limit=self.limit, roles=self.roles)
        if not self.attributes:
            return triples
        return triples + [
            t for t in self.graph.attributes(entity.id) if not self.roles or t.relation.role in self.roles
        ]


def triple_evidence(triple: Triple, about: tuple[Entity, ...], score: float | None = None) -> Evidence:
    """A triple as evidence, scored by its weight where nothing else is given."""
    return Evidence(str(triple), "triple", (triple,), about, triple.weight if score is None else score)


# --- Retriever: MindMap's path evidence, a walk through the linked entities by shortest paths.


class _Way(NamedTuple):
    """One path: its edges with their directions, and the entities it joins."""

    edges: list[int]
    forward: list[bool]
    about: tuple[int, ...]


@dataclass(frozen=True)
class PathRetriever:
    """At most `keep` paths through the entities in the order of the links (MindMap 3.2).

    Evidence: kind "path"; about = the entities that a path joins, its start first; triples in walking order; score =
    1 / number of steps. First the joined path of every segment, made of the best path of each leg; then, leg by leg
    over all segments in turn, the other shortest paths. A note says how many shortest paths are not shown.
    """

    graph: LocalGraph
    hops: int = 5  # the authors' code
    keep: int = 5  # the authors' code
    # the authors' code: "out", on a graph that states every relation in both directions
    direction: "Direction" = "both"

    def __call__(self, query: Query, links: Sequence[Link]) -> list[Evidence]:
        """The paths, joined ones first."""
        from kgmed.graph.search.paths import explore  # the searches are not read in where none of them is asked for

        if self.keep < 1:
            raise BadInput(f"path evidence needs keep >= 1, not {self.keep}")
        nodes = anchors(self.graph, links)
        segments = explore(self.graph.adjacency, nodes, hops=self.hops, direction=self.direction, limit=self.keep)
        joined = [_joined(segment) for segment in segments if segment.legs]
        others = zip_longest(*(list(_others(segment)) for segment in segments))
        ways = [*joined, *(way for way in chain.from_iterable(others) if way)]
        every = len(joined) + sum(leg.total - 1 for segment in segments for leg in segment.legs)
        if every > self.keep:
            note(f"paths: {self.keep} of {every:.0f} shortest paths shown")
        return list(map(self._evidence, ways[: self.keep]))

    def _evidence(self, way: _Way) -> Evidence:
        triples = tuple(map(self.graph.triple, way.edges))
        about = tuple(map(self.graph.at, way.about))
        return Evidence(arrows(triples, way.forward), "path", triples, about, 1 / len(triples))


def _way(leg: "ShortestPaths", row: int, about: tuple[int, ...]) -> _Way:
    return _Way(leg.edges[row].tolist(), leg.forward[row].tolist(), about)


def _joined(segment: "Segment") -> _Way:
    """The best path of each leg, one after the other."""
    best = [_way(leg, 0, ()) for leg in segment.legs]
    return _Way([e for w in best for e in w.edges], [f for w in best for f in w.forward], segment.entities)


def _others(segment: "Segment") -> Iterator[_Way]:
    """The second best path of each leg, then the third best, and so on."""
    for row in range(1, max((len(leg) for leg in segment.legs), default=0)):
        for leg in segment.legs:
            if row < len(leg):
                yield _way(leg, row, (int(leg.nodes[row, 0]), int(leg.nodes[row, -1])))


# --- Retriever: the neighbourhood of entities, one piece of evidence for each relation of each entity.


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
        found = [] if self.roles else list(self.definition(entity, score))
        return found + [
            piece for rows in groups.values() for piece in self._pieces(entity, _one_way(entity, rows), score)
        ]

    def definition(self, entity: Entity, score: float = 1.0) -> Iterator[Evidence]:
        """What the graph says that the entity is."""
        text = self.graph.entity(entity.id).description
        if text:
            source = getattr(self.graph, "describes", self.graph.label)
            triple = Triple(entity, DEFINITION, Entity("", text), source=source)
            yield Evidence(f"{entity.name}: {text}", "text", (triple,), (entity,), score)

    def _pieces(self, entity: Entity, rows: list[Triple], score: float) -> Iterator[Evidence]:
        """The heaviest triples of one relation, `listed` to a piece."""
        for begin in range(0, min(len(rows), self.listed * self.pieces), self.listed):
            shown = rows[begin : begin + self.listed]
            last = begin + self.listed >= self.listed * self.pieces
            more = max(len(rows) - begin - self.listed, 0) if last else 0
            text = f"{entity.name} {told(entity, shown)}" + (f", … (+{more})" if more else "")
            yield Evidence(text, "neighbours", tuple(shown), (entity,), score)


def told(entity: Entity, rows: Sequence[Triple]) -> str:
    """The other ends, those of one relation and direction together, as the graph writes it.

    >>> a, b, c = (Entity(n, n) for n in "abc")
    >>> told(a, [Triple(a, Relation("has"), b), Triple(c, Relation("seen in"), a)])
    '— has → b; ← seen in — c'
    """
    groups: dict[str, list[str]] = {}
    for t in rows:
        arrow = f"— {t.relation} →" if t.head == entity else f"← {t.relation} —"
        groups.setdefault(arrow, []).append(other_end(t, entity).name)
    return "; ".join(f"{arrow} {', '.join(names)}" for arrow, names in groups.items())


def other_end(triple: Triple, entity: Entity) -> Entity:
    """The end of a triple that is not the entity."""
    return triple.tail if triple.head == entity else triple.head


def _one_way(entity: Entity, rows: list[Triple]) -> list[Triple]:
    """One triple for each neighbour: a graph that writes a fact both ways says it once."""
    kept: dict[Entity, Triple] = {}
    for t in rows:
        kept.setdefault(other_end(t, entity), t)
    return list(kept.values())


# --- Ranker: in the order in which it was retrieved.


@dataclass(frozen=True)
class First:
    """The first `keep` pieces in the order they come, each once, and every warning after them."""

    keep: int = 12

    def __call__(self, query: Query, evidence: Sequence[Evidence]) -> list[Evidence]:
        """The pieces kept, in their order."""
        distinct = list({(e.text, e.id): e for e in evidence}.values())
        return [*distinct[: self.keep], *(e for e in distinct[self.keep :] if e.is_safety)]


_ORDERED = 2_000  # ours: facts of a role; more are left as they stand


def as_listed(store: "Store", entity: Entity, roles: Sequence[Role] = ()) -> tuple[list[int], dict[Role, int]]:
    """The edges of an entity in turns of roles, each as answers list what it leads to, and how many each role has."""
    from kgmed.steps.family import Family  # read in where a thing is shown

    edges, found = store.incident(store.number(entity.id), limit=1 << 31), dict[Role, list[int]]()
    for edge, relation in zip(edges, store.adjacency.out.relation[edges].tolist(), strict=True):
        found.setdefault(store.relations[relation].role, []).append(edge)
    found = dict(sorted(found.items(), key=lambda pair: -len(pair[1])))
    for role, some in found.items():
        if 1 < len(some) <= _ORDERED and role in (roles or found):
            rows = [t for own in (True, False) for t in Family(store).ordered(entity, role, own=own)]
            place = {other: i for i, t in reversed([*enumerate(rows)]) for other in (t.head.id, t.tail.id)}
            others = (t.tail.id if t.head.id == entity.id else t.head.id for t in store.triples(some))
            some.sort(key={e: place.get(other, len(rows)) for e, other in zip(some, others, strict=True)}.__getitem__)
    wanted = (some for role, some in found.items() if role in (roles or found))
    turns = [e for row in zip_longest(*wanted) for e in row if e is not None]
    return turns, {role: len(some) for role, some in found.items()}
