"""Searches on a graph that only tells neighbours: what lies around some entities is fetched, one round trip a level."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from kgmed.errors import BadInput, NeedsAll, Unavailable, UnknownName
from kgmed.graph.base import Adjacency, Batched, Csr, KnowledgeGraph, LocalGraph, Match, NodeName, Paths, indptr
from kgmed.graph.search.chains import MOST_HOPS
from kgmed.graph.search.paths import FoundPaths, paths_between, shortest
from kgmed.language.text import tokens
from kgmed.records import Entity, Relation, Role, Triple
from kgmed.stop import check_stop

MOST = 50_000  # triples that are fetched for one search (ours): 50 MB of memory


def lookup_many(graph: KnowledgeGraph, names: Sequence[str]) -> dict[str, list[Match]]:
    """The entities of each name: in one call where the graph takes many, else one after the other."""
    if isinstance(graph, Batched):
        return graph.lookup_many(names)
    return {name: graph.lookup(name) for name in dict.fromkeys(names)}


def neighbours_of(graph: KnowledgeGraph, ids: Sequence[str], *, limit: int = 64) -> dict[str, list[Triple]]:
    """At most `limit` triples around each id: in one call where the graph takes many, else one after the other."""
    if isinstance(graph, Batched):
        return graph.neighbours_of(ids, limit=limit)
    return {one: graph.neighbours(one, limit=limit) for one in dict.fromkeys(ids)}


@dataclass(frozen=True, eq=False)
class Nearby:
    """What lies around some entities, searched as a local graph is; `cut` names the budget that left something out."""

    adjacency: Adjacency
    entities: Sequence[Entity]
    triples: Sequence[Triple]
    numbers: Mapping[str, int]
    cut: tuple[str, ...] = ()

    def number(self, entity_id: str, /) -> int:
        """The node number of an id."""
        return self.numbers[entity_id]

    def at(self, node: int, /) -> Entity:
        """The entity of a node number."""
        return self.entities[node]

    def triple(self, edge: int, /) -> Triple:
        """The triple of an edge number."""
        return self.triples[edge]


def nearby(graph: KnowledgeGraph, ids: Sequence[str], levels: int, *, most: int = MOST) -> Nearby:
    """All triples within some steps of some entities, at most about `most`; `levels` calls where the graph has batches.

    Nodes are in the order of their ids, edges in that of the names of their relations.
    """
    found: dict[tuple[str, str, str], Triple] = {}
    known, frontier, cut = set(ids), list(dict.fromkeys(ids)), False
    for _ in range(levels):
        around = neighbours_of(graph, frontier, limit=most)
        triples = [t for one in frontier for t in around.get(one, ())]
        found |= {(t.head.id, t.relation.name, t.tail.id): t for t in triples}
        ends = {end.id for t in triples for end in (t.head, t.tail)}
        frontier = sorted(ends - known)
        known |= ends
        if cut := len(found) >= most:
            break
    return _made(graph, list(found.values()), ids, ("triples fetched",) if cut else ())


def _made(graph: KnowledgeGraph, triples: list[Triple], ids: Sequence[str], cut: tuple[str, ...]) -> Nearby:
    """The fetched triples with node and edge numbers."""
    entities = {end.id: end for t in triples for end in (t.head, t.tail)}
    entities |= {one: graph.entity(one) for one in ids if one not in entities}
    ordered = sorted(entities)
    relations = {r: i for i, r in enumerate(sorted({t.relation for t in triples}, key=str))}
    numbers = {one: i for i, one in enumerate(ordered)}
    rows = [(numbers[t.head.id], relations[t.relation], numbers[t.tail.id]) for t in triples]
    by_edge = sorted(range(len(rows)), key=lambda i: (rows[i][0], rows[i][2], rows[i][1]))
    adjacency = Adjacency.of(len(ordered), np.array(rows, np.int64).reshape(-1, 3))
    return Nearby(adjacency, [entities[one] for one in ordered], [triples[i] for i in by_edge], numbers, cut)


def paths_on(graph: KnowledgeGraph, entities: Sequence[Entity], *, hops: int = 0, limit: int = 20) -> FoundPaths:
    """As `paths_between`, on any graph: by the server where it can, else on what lies around the entities.

    A path of h steps passes no entity that is more than h/2 steps from its nearer end: so many levels around each end
    hold every path with all the edges of the entities it passes, by whose number paths are ranked.
    """
    if len({e.id for e in entities}) < 2:
        raise BadInput("a path needs two different entities")
    if hasattr(graph, "adjacency"):
        return paths_between(cast(LocalGraph, graph), entities, hops=hops, limit=limit)
    pair = len({e.id for e in entities}) == 2
    hops = hops or (MOST_HOPS if pair else 3)
    if isinstance(graph, Paths):
        ids = list(dict.fromkeys(e.id for e in entities))
        told = graph.between(ids[0], ids[1], hops, limit) if pair else graph.chains(ids, hops, limit)
        return cast(FoundPaths, told)
    around = nearby(graph, [e.id for e in entities], hops // 2 + 1)
    found = paths_between(cast(LocalGraph, around), entities, hops=hops, limit=limit)
    return FoundPaths(found.paths, found.total, (*around.cut, *found.cut))


# --- A graph in a database, of which as much is fetched as a question needs.

MOST_EDGES = 2_000_000  # edges that are fetched for one question, as numbers (ours): 80 MB
_DENSE = 8_000_000  # nodes up to which the numbers of a database serve a search as they are (ours)
_LONGEST, _LONGEST_CJK = 10, 24  # words, characters of a name that is looked for in a text
_OPENED = 8  # entities of one name whose edges are fetched
_KIN, _MOST_KIN, _STEPS = (Role.IS_A, Role.SAME_AS, Role.INGREDIENT), 200, 4  # what a method looks at beside a thing
_AHEAD = 1_000  # triples of one relation that are fetched with the first of them


class ByNumber(KnowledgeGraph, Batched, Protocol):
    """A graph in a database that also tells nodes and edges by number; see `remote.database`."""

    @property
    def relations(self) -> Sequence[Relation]:
        """The relations by relation number."""
        ...

    @property
    def nodes(self) -> int:
        """Its nodes are numbered 0..nodes-1; 0 = by numbers of the database's own."""
        ...

    def numbers(self, ids: Iterable[str]) -> dict[str, int]:
        """The node number of each id; one that is not known is left out."""
        ...

    def described(self, nodes: Iterable[int]) -> dict[int, tuple[Entity, int]]:
        """The entity of each node number, and how many edges it has."""
        ...

    def facts(self, edges: Mapping[int, int]) -> dict[int, Triple]:
        """The triples of edge numbers, each given with the node of its head."""
        ...

    def ask(self, what: str, by: str, values: Iterable[Any], /, **more: Any) -> list[Any]:
        """Rows (edge, head, relation, tail, weight) of `level` or `across`."""
        ...


class Fetched(Adjacency):
    """The edges that were fetched; the number of edges of a node is that of the whole graph.

    The number of an edge is its place among all that were fetched, so that it stays when more are.
    """

    source: "Excerpt"

    def relation_of(self, edges: NDArray[Any]) -> NDArray[Any]:
        """The relation number of each edge number."""
        found: NDArray[np.int64] = self.source.rows[edges, 2]
        return found

    def degrees(self, nodes: NDArray[Any]) -> NDArray[np.int64]:
        """The number of edges at each node in the whole graph."""
        return self.source.degrees(nodes)


class Excerpt:
    """What lies around the entities of a question, out of a graph in a database; implements `LocalGraph`.

    All edges of what is looked up are here, and those between their neighbours; more only where a path needs it. Names
    that stand in no text that was read are not known, so what needs all of a graph (its diseases) is refused.
    """

    folder = ""

    def __init__(self, graph: ByNumber, text: str = "", *, hops: int = 3, shortest: bool = False) -> None:
        """Read a text; paths are to have up to `hops` steps, and only the `shortest` where that is said."""
        self.graph, self.hops, self.shortest = graph, hops, shortest
        self.name, self.label, self.language = graph.name, graph.label, graph.language
        self.relations = graph.relations
        self.cut: tuple[str, ...] = ()
        self._matches: dict[str, list[Match]] = {}
        self._number: dict[str, int] = {}  # by id: the number of the database
        self._known: dict[int, tuple[Entity, int]] = {}
        self._whole: dict[str, Entity] = {}  # with descriptions
        self._texts: dict[str, list[Triple]] = {}
        self._anchors: dict[int, None] = {}
        self._opened: set[int] = set()
        self._edges: dict[int, int] = {}  # by number of the database: the number here
        self.rows: NDArray[np.int64] = np.empty((0, 4), np.int64)  # by number here: edge, head, relation, tail
        self._weights: NDArray[np.float32] = np.empty(0, np.float32)
        self._reached: set[tuple[int, Role]] = set()
        self._facts: dict[int, Triple] = {}
        self._place: dict[int, int] = {}
        self._nodes: list[int] = []
        self._dense = 0 < graph.nodes <= _DENSE
        self._made: Fetched | None = None
        self.read(text)

    # --- names

    def read(self, text: str) -> None:
        """Look up every run of words of a text that may be a name, at once."""
        self.expect(_runs(text))

    def expect(self, names: Iterable[str], /) -> None:
        """Look up at once what will be asked one by one."""
        new = [name for name in dict.fromkeys(names) if name not in self._matches]
        if new:
            self._matches |= self.graph.lookup_many(new)
            found = dict.fromkeys(m.entity.id for name in new for m in self._matches[name])
            self._number |= self.graph.numbers(one for one in found if one not in self._number)

    def names(self, *, scopes: Sequence[int] = ()) -> Iterator[NodeName]:
        """The names that stand in the texts that were read, and those that were looked up."""
        for match in {(m.entity.id, m.name): m for found in self._matches.values() for m in found}.values():
            base = 0.93 if match.how == "folded" else 1.0 if match.score > 0.99 or match.how == "exact" else 0.99
            scope = max(0, round((base - match.score) / 0.005))
            if not scopes or scope in scopes:
                yield NodeName(match.name, self._at(self._number[match.entity.id]), scope)

    def lookup(self, name: str, /) -> list[Match]:
        """The entities of that name, as the database gives them; their edges are fetched."""
        if name not in self._matches:
            self._matches[name] = self.graph.lookup_many([name])[name]
        found = self._matches[name]
        self.open([m.entity.id for m in found[:_OPENED]])
        return found

    def vectors(self, encoder: Any) -> Any:
        """The names of the whole graph by their vectors, where the database has them; see `graph.vectors.Names`."""
        there = getattr(self.graph, "vectors", None)
        return there(encoder) if there is not None else None

    # --- entities

    def number(self, entity_id: str, /) -> int:
        """The node number of an id; raises `UnknownName`."""
        if entity_id not in self._number:
            self.open([entity_id])
        return self._at(self._number[entity_id])

    def _at(self, number: int) -> int:
        """The node of a number of the database; it stays that of it."""
        if self._dense:
            return number
        if number not in self._place:
            self._place[number] = len(self._nodes)
            self._nodes.append(number)
            self._made = None
        return self._place[number]

    def _numbers(self, nodes: NDArray[Any]) -> list[int]:
        return nodes.tolist() if self._dense else [self._nodes[node] for node in nodes.tolist()]

    def at(self, node: int, /) -> Entity:
        """The entity of a node number."""
        (number,) = self._numbers(np.array([node]))
        self._describe([number])
        return self._known[number][0]

    def _describe(self, numbers: list[int]) -> None:
        """Fetch what is not known of some nodes; with one of them all that are next to what was looked up."""
        missing = [n for n in numbers if n not in self._known]
        if len(missing) == 1 and self._opened:
            missing += [n for n in self._near() if n not in self._known][: _AHEAD * 10]
        if missing:
            self._known |= self.graph.described(dict.fromkeys(missing))
        if gone := [n for n in numbers if n not in self._known]:
            raise Unavailable(
                f"{self.name}: node {gone[0]} is gone; the graph has changed while it was asked, ask again"
            )

    def _near(self) -> list[int]:
        """What was looked up, and all that is next to it."""
        ends = self.rows[:, [1, 3]]
        anchors = np.fromiter(self._anchors, np.int64, len(self._anchors))
        found: list[int] = np.unique(ends[np.isin(ends, anchors).any(axis=1)]).tolist()
        return found

    def degrees(self, nodes: NDArray[Any]) -> NDArray[np.int64]:
        """The number of edges at each node in the whole graph."""
        numbers = self._numbers(np.asarray(nodes).ravel())
        self._describe(list(dict.fromkeys(numbers)))
        return np.array([self._known[n][1] for n in numbers], np.int64).reshape(np.shape(nodes))

    def entity(self, entity_id: str, /) -> Entity:
        """The entity of that id with its description; raises `UnknownName`."""
        if entity_id not in self._whole:
            self._whole[entity_id] = self.graph.entity(entity_id)
        return self._whole[entity_id]

    def of_kind(self, kind: str, /) -> NDArray[np.int64]:
        """The nodes of a kind among what is here; raises `NeedsAll` for diseases, of which all would be needed."""
        if kind == "disease":
            raise NeedsAll(
                f"{self.name}: this needs all diseases of the graph; fetch it: kgmed graph build NAME --from ADDRESS"
            )
        return np.array(sorted(self._at(n) for n, (e, _) in self._known.items() if e.kind == kind), np.int64)

    def neighbours(self, entity_id: str, /, *, limit: int = 64, roles: Sequence[Role] = ()) -> list[Triple]:
        """At most `limit` triples around an entity, heaviest first; `roles` narrows them."""
        return self.graph.neighbours(entity_id, limit=limit, roles=roles)

    def attributes(self, entity_id: str, /) -> list[Triple]:
        """The texts about an entity."""
        if entity_id not in self._texts:
            self._texts[entity_id] = self.graph.attributes(entity_id)
        return self._texts[entity_id]

    # --- edges

    def open(self, ids: Sequence[str], *, shortest: bool | None = None) -> None:
        """Fetch the edges of some entities and of their kin; raises `UnknownName`."""
        self.shortest = self.shortest if shortest is None else shortest
        missing = [one for one in dict.fromkeys(ids) if one not in self._number]
        if missing:
            self._number |= self.graph.numbers(missing)
        if unknown := [one for one in missing if one not in self._number]:
            raise UnknownName(f"entity of {self.name}", unknown[0], (), "search by name")
        new = [n for n in dict.fromkeys(self._number[one] for one in ids) if n not in self._anchors]
        if new:
            self._anchors |= dict.fromkeys(new)
            self._open([*new, *self._kin(new)])
            self._made = None

    def _kin(self, numbers: list[int]) -> list[int]:
        """What some nodes are kinds of, the same as or made of, and the other way round."""
        kin = [i for i, r in enumerate(self.relations) if r.role in _KIN]
        found, frontier = dict.fromkeys(numbers), numbers
        for _ in range(_STEPS if kin else 0):
            rows = self.graph.ask("level", "nodes", frontier, limit=_MOST_KIN, relations=kin)
            ends = dict.fromkeys(end for row in rows for end in (row[1], row[3]))
            frontier = [end for end in ends if end not in found]
            if not frontier or len(found) + len(frontier) > _MOST_KIN:
                break
            found |= dict.fromkeys(frontier)
        return [n for n in found if n not in numbers]

    def reach(self, nodes: Sequence[int], roles: Sequence[Role]) -> None:
        """Fetch the edges of some roles at some nodes, unless all of theirs are here.

        With one node those of all that are next to what was looked up, where the roles are of kinds and ingredients.
        """
        numbers = self._numbers(np.asarray(nodes, np.int64))
        if not self._unreached(numbers, roles):
            return
        if len(numbers) == 1 and {*roles} <= {*_KIN}:
            numbers += self._near()
        wanted = self._unreached(numbers, roles)
        relations = [i for i, r in enumerate(self.relations) if r.role in roles]
        if relations:
            self._fetch("level", {n for n, _ in wanted}, relations=relations)
        self._reached |= wanted

    def _unreached(self, numbers: Sequence[int], roles: Sequence[Role]) -> set[tuple[int, Role]]:
        return {(n, role) for n in numbers if n not in self._opened for role in roles} - self._reached

    def _fetch(self, what: str, numbers: Iterable[int], **more: Any) -> None:
        """Add edges: those that touch some nodes (`level`), or those between them (`across`)."""
        check_stop()
        left = MOST_EDGES - len(self._edges)
        asked = sorted(numbers)
        by = "heads" if what == "across" else "nodes"
        rows = self.graph.ask(what, by, asked, limit=left + 1, **more) if asked and left > 0 else []
        new = [row for row in {row[0]: row for row in rows}.values() if row[0] not in self._edges]
        if len(rows) > left:
            self.cut = ("triples fetched",)
        if new:
            self._edges |= {row[0]: i for i, row in enumerate(new, len(self._edges))}
            self.rows = np.concatenate([self.rows, np.array([row[:4] for row in new], np.int64)])
            self._weights = np.concatenate([self._weights, np.array([row[4] for row in new], np.float32)])
            self._made = None

    def _open(self, numbers: Iterable[int]) -> None:
        """Fetch all edges of some nodes."""
        new = [n for n in dict.fromkeys(numbers) if n not in self._opened]
        self._fetch("level", new, relations=None)
        self._opened.update(new)

    @property
    def adjacency(self) -> Fetched:
        """The edges on node numbers."""
        if self._made is None:
            self._connect()
            self._made = self._compact()
        return self._made

    def _connect(self) -> None:
        """Fetch what paths of so many steps between the entities need, level by level."""
        if len(self._anchors) < 2 or self.hops < 3:
            return
        for level in range(1, self.hops // 2 + 1):
            if level > 1 and self.shortest and self._joined():
                return
            if level > 1:
                self._open(np.unique(self.rows[:, [1, 3]]).tolist())
            if 2 * level < self.hops and not (level > 1 and self.shortest and self._joined()):
                ends = np.unique(self.rows[:, [1, 3]]).tolist()
                self._fetch("across", ends, nodes=ends)

    def _joined(self) -> bool:
        """Whether there is a path already between each entity and the next."""
        made, ends = self._compact(), [self._at(n) for n in self._anchors]
        return all(shortest(made, a, b, hops=self.hops).found for a, b in pairwise(ends))

    def _compact(self) -> Fetched:
        """The edges as arrays, in the order of the store: by head, tail, relation."""
        nodes = self.graph.nodes
        head, relation, tail = self.rows[:, 1], self.rows[:, 2], self.rows[:, 3]
        if not self._dense:
            head, tail = (np.array([self._at(n) for n in ends.tolist()], np.int64) for ends in (head, tail))
            nodes = len(self._nodes)
        if len(relation) and not 0 <= relation.min() <= relation.max() < len(self.relations):
            raise Unavailable(f"{self.name} has changed while it was asked; ask again")
        order = np.lexsort((relation, tail, head))
        table = np.column_stack([head, tail, relation])[order]
        kept = np.ones(len(order), bool)
        kept[1:] = (table[1:] != table[:-1]).any(axis=1)
        number, (head, tail, relation) = order[kept].astype(np.int32), table[kept].T
        back = np.lexsort((relation, head, tail))
        made = Fetched(
            Csr(indptr(head, nodes), tail.astype(np.int32), relation.astype(np.uint16), number),
            Csr(indptr(tail, nodes), head[back].astype(np.int32), relation[back].astype(np.uint16), number[back]),
        )
        made.source = self
        return made

    @property
    def weight(self) -> NDArray[np.float32] | None:
        """The weight of each edge (m,)."""
        return None if (self._weights == 1).all() else self._weights

    def ahead(self, edges: Sequence[int]) -> None:
        """Fetch the triples of edge numbers that will be asked for."""
        asked = dict(self.rows[list(edges), :2].tolist())
        if missing := {number: head for number, head in asked.items() if number not in self._facts}:
            self._facts |= self.graph.facts(missing)

    def triple(self, edge: int, /) -> Triple:
        """The triple of an edge number."""
        number, head, relation, tail = self.rows[edge].tolist()
        if number not in self._facts:
            wanted = np.array([n for n in (head, tail) if n in self._anchors])
            alike = (self.rows[:, 2] == relation) & np.isin(self.rows[:, [1, 3]], wanted).any(axis=1)
            ahead = [(e, h) for e, h in self.rows[alike, :2].tolist() if e not in self._facts][:_AHEAD]
            self._facts |= self.graph.facts(dict([(number, head), *ahead]))
        if number not in self._facts:
            raise Unavailable(f"{self.name}: a triple is gone; the graph has changed while it was asked, ask again")
        return self._facts[number]


def _runs(text: str) -> list[str]:
    """Every run of words of a text that may be a name, as it is written, each once.

    >>> _runs("What is gout?")
    ['What', 'What is', 'What is gout', 'is', 'is gout', 'gout']
    """
    words = tokens(text)
    found: dict[str, None] = {}
    for i, first in enumerate(words):
        letters = 0
        for j in range(i, min(i + _LONGEST_CJK, len(words))):
            letters += not words[j].is_cjk
            if letters > _LONGEST or "\n" in text[first.start : words[j].end]:
                break
            found[text[first.start : words[j].end]] = None
    return list(found)
