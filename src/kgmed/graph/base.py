"""The protocol of a knowledge graph, whether its files are here or its answers come from a server; the rows that a
reader
of a file yields before there is a graph; and the edges of a graph by what they mean.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import wraps
from itertools import repeat
from pathlib import Path
from typing import Any, Concatenate, NamedTuple, ParamSpec, Protocol, TypeVar, cast, runtime_checkable
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from kgmed.records import Entity, Relation, Role, Support, Triple

# --- What a reader of a graph file yields, row by row, before there is a graph.
# A reader is a function `(path, ...) -> Source`. Its `rows()` may be called again and starts from the first row.
# Rows may come in any order: an edge may name an entity whose `NodeRow` comes later or never.


class Scope(IntEnum):
    """How close another name is to the entity; the order is the order of trust."""

    PREFERRED = 0
    EXACT = 1
    LAYPERSON = 2
    TRANSLATION = 3  # the name in another language
    ABBREVIATION = 4
    BRAND = 5
    NARROW = 6
    RELATED = 7
    BROAD = 8
    XREF = 9  # an identifier in another vocabulary


class Alias(NamedTuple):
    """Another name of an entity."""

    text: str
    scope: Scope = Scope.EXACT
    language: str = ""  # ISO 639-1; "" = that of the graph, or what its script tells


class NodeRow(NamedTuple):
    """An entity. `key` is its id, without the source's prefix where it has one. A later row adds to an earlier one."""

    key: str
    name: str = ""  # "" = the key is the name
    kind: str = ""
    description: str = ""
    aliases: tuple[Alias, ...] = ()


class EdgeRow(NamedTuple):
    """A triple between two entities, by key. Equal ones are merged: their support adds up, the largest weight stays."""

    head: str
    relation: str
    tail: str
    weight: float = 1.0
    support: tuple[Support, ...] = ()


class TextRow(NamedTuple):
    """An attribute: a text about an entity (a dosage, a caution) that is no entity itself."""

    key: str
    relation: str
    text: str
    support: tuple[Support, ...] = ()


MENDED = "mended: "  # begins the reason of a row that was kept after a repair


class DroppedRow(NamedTuple):
    """A row left out for a reason that does not damage the rest, such as NaN; counted and shown by `doctor`."""

    reason: str
    line: int
    file: Path | None = None  # the file whose blemish it is, which `Source.strict` refuses


Row = NodeRow | EdgeRow | TextRow | DroppedRow
Told = NodeRow | TextRow | DroppedRow
Codes = NDArray[np.integer[Any]]
_NO_CODES = np.empty(0, np.int32)


class Batch(NamedTuple):
    """Many rows at once: edges as columns of codes (k,), the other rows one by one."""

    told: Sequence[Told]
    head: Codes = _NO_CODES
    relation: Codes = _NO_CODES
    tail: Codes = _NO_CODES
    weight: NDArray[np.float32] | None = None  # None = all 1
    support: Codes | None = None  # None = none has one
    taken: tuple[Any, int, int] | None = None  # a `Store`: its entities from a number to before another, as they stand


def _no_supports(codes: list[int]) -> list[str]:
    """Nothing for each code."""
    return [""] * len(codes)


@dataclass(frozen=True, eq=False)
class Batches:
    """Rows that a reader has as columns: iterated they come one by one, `batches` gives them as they are.

    Codes are small numbers from 0 that the reader gives to keys, relations and supports as it likes; `keys`,
    `relations` and `supports` turn them into texts, a support into that of `store.arrays.pack_support`.
    """

    batches: Iterable[Batch]
    keys: Callable[[list[int]], list[str]]
    relations: Callable[[list[int]], list[str]]
    supports: Callable[[list[int]], list[str]] = _no_supports

    def __iter__(self) -> Iterator[Row]:
        """The rows one by one: of each batch first the edges; none may be taken over."""
        for batch in self.batches:
            head, relation, tail = (codes.tolist() for codes in (batch.head, batch.relation, batch.tail))
            weight = repeat(1.0) if batch.weight is None else batch.weight.tolist()
            said = repeat(()) if batch.support is None else map(unpacked_support, self.supports(batch.support.tolist()))
            edges = zip(self.keys(head), self.relations(relation), self.keys(tail), weight, said)  # noqa: B905
            yield from map(tuple.__new__, repeat(EdgeRow), edges)  # three times as fast as EdgeRow(*edge)
            yield from batch.told


def unpacked_support(support: str) -> tuple[Support, ...]:
    """The support in a text of `store.arrays.pack_support`."""
    rows = json.loads(support) if support else ()
    return tuple(Support(reference, tuple((k, v) for k, v in said)) for reference, said in rows)


@dataclass(frozen=True)
class Source:
    """A graph on its way in: where it comes from, what its relations mean, and its rows."""

    name: str
    rows: Callable[[], Iterable[Row]]  # may be `Batches`
    release: str = ""
    licence: str = ""
    citation: str = ""
    language: str = ""  # ISO 639-1 of its names
    prefix: str = ""  # put before every key, as in cmekg:肺炎; "" = keys are CURIEs already
    relations: Mapping[str, Relation] = field(default_factory=dict)  # those not named here are inferred by name
    kinds: Mapping[str, tuple[str, str]] = field(default_factory=dict)  # relation -> kind of head, kind of tail
    parts: tuple[str, ...] = ()  # the labels of the graphs that it is made of, where it is made of graphs
    describes: str = ""  # those of them that describe entities
    origins: Mapping[str, str] = field(default_factory=dict)  # relation -> graph and release of its triples
    inputs: tuple[Path, ...] = ()  # the files it is read from; their hash tells whether a build is needed
    strict: bool = False  # a blemish of its files ends the build
    size: int = 0  # bytes or rows to come, for the progress bar; 0 = not known


@dataclass(frozen=True, slots=True)
class Match:
    """An entity that a name led to, by which of its names, and how."""

    entity: Entity
    name: str
    how: str  # exact, alias, normalised, folded
    score: float = 1.0


class KnowledgeGraph(Protocol):
    """What every graph can do; a remote one does no more than this."""

    @property
    def name(self) -> str:
        """The name a person types."""
        ...

    @property
    def label(self) -> str:
        """Name, release and content hash: what a run records."""
        ...

    @property
    def language(self) -> str:
        """ISO 639-1 of its names."""
        ...

    def entity(self, entity_id: str, /) -> Entity:
        """The entity of that id with its description; raises `UnknownName`."""
        ...

    def lookup(self, name: str, /) -> list[Match]:
        """The entities of that name, best first: exact, alias, normalised, folded; ties by degree, then id."""
        ...

    def neighbours(self, entity_id: str, /, *, limit: int = 64, roles: Sequence[Role] = ()) -> list[Triple]:
        """At most `limit` triples around an entity, heaviest first; `roles` narrows them."""
        ...

    def attributes(self, entity_id: str, /) -> list[Triple]:
        """The texts about an entity; the tail of each is a literal without id."""
        ...


@runtime_checkable
class Batched(Protocol):
    """A graph behind a server that answers many questions in one call."""

    def lookup_many(self, names: Sequence[str], /) -> dict[str, list[Match]]:
        """The entities of each name, as `lookup` gives them."""
        ...

    def neighbours_of(self, ids: Sequence[str], /, *, limit: int = 64) -> dict[str, list[Triple]]:
        """At most `limit` triples around each id, as `neighbours` gives them; an id that is not known is left out."""
        ...


@runtime_checkable
class Ahead(Protocol):
    """A graph behind a server that may be told which names will be asked one by one, and asks for all in one call."""

    def expect(self, names: Sequence[str], /) -> None:
        """Look the names up."""
        ...


@runtime_checkable
class ListsAliases(Protocol):
    """A graph behind a server that can list the other names of an entity."""

    def aliases(self, entity_id: str, /) -> list[tuple[str, Scope]]:
        """The other names of the entity of that id, each with its scope."""
        ...


@runtime_checkable
class Paths(Protocol):
    """A graph behind a server that searches for paths itself, by fixed queries; they come as `FoundPaths`."""

    def between(self, one: str, other: str, hops: int, limit: int, /) -> Any:
        """The shortest paths between two ids."""
        ...

    def chains(self, anchors: Sequence[str], hops: int, limit: int, /) -> Any:
        """The chains between several ids."""
        ...


_HOW_SCORE = {"exact": 1.0, "normalised": 0.99, "folded": 0.93}
_SCOPE_COST = 0.005  # per step of `Scope` away from the preferred name


def how_found(name: str, text: str, scope: int, *, folded: bool) -> tuple[str, float]:
    """How a name that was asked for led to one of a graph, and the score.

    >>> how_found("Fever", "fever", Scope.PREFERRED, folded=False), how_found("Fever", "Fever", 1, folded=False)
    (('normalised', 0.99), ('alias', 0.995))
    """
    how = "folded" if folded else "exact" if text == name else "normalised"
    return ("alias" if scope and not folded else how), _HOW_SCORE[how] - _SCOPE_COST * scope


class Csr(NamedTuple):
    """One direction of the edges: those of node v stand at indptr[v]:indptr[v+1], sorted by (neighbour, relation).

    Parallel edges (same ends, other relation) are kept.
    """

    indptr: NDArray[np.int64]  # (n + 1,)
    neighbour: NDArray[np.int32]  # (m,) the node at the other end
    relation: NDArray[np.uint16]  # (m,)
    edge: NDArray[np.int32] | None = None  # (m,) the edge's number in the outgoing order; None = that order itself


class Adjacency(NamedTuple):
    """Both directions of the edges of one graph, on integer node numbers."""

    out: Csr
    into: Csr

    @property
    def nodes(self) -> int:
        """The number of nodes n."""
        return len(self.out.indptr) - 1

    @property
    def edges(self) -> int:
        """The number of edges m."""
        return len(self.out.neighbour)

    def degrees(self, nodes: NDArray[Any]) -> NDArray[np.int64]:
        """The number of edges at each node, in and out, parallel ones counted apart."""
        after, out, into = nodes + 1, self.out.indptr, self.into.indptr
        total: NDArray[np.int64] = out[after] - out[nodes] + into[after] - into[nodes]
        return total

    def edges_of(self, node: int) -> int:
        """The number of edges at a node, in and out."""
        out, into = self.out.indptr, self.into.indptr
        return int(out[node + 1] - out[node] + into[node + 1] - into[node])

    def relation_of(self, edges: NDArray[Any]) -> NDArray[Any]:
        """The relation number of each edge number."""
        found: NDArray[Any] = self.out.relation[edges]
        return found

    @classmethod
    def of(cls, nodes: int, triples: NDArray[np.int64]) -> "Adjacency":
        """Built in memory from rows (head, relation, tail); equal rows are kept once.

        >>> a = Adjacency.of(3, np.array([[0, 0, 1], [0, 1, 1], [1, 0, 2], [1, 0, 2]]))
        >>> a.edges, a.out.neighbour.tolist(), a.into.neighbour.tolist(), a.into.edge.tolist()
        (3, [1, 1, 2], [0, 0, 1], [0, 1, 2])
        """
        rows = np.unique(np.asarray(triples, np.int64).reshape(-1, 3)[:, [0, 2, 1]], axis=0)
        head, tail, relation = rows[:, 0], rows[:, 1], rows[:, 2]
        order = np.lexsort((relation, head, tail))
        out = Csr(indptr(head, nodes), tail.astype(np.int32), relation.astype(np.uint16))
        into = Csr(
            indptr(tail, nodes), head[order].astype(np.int32), relation[order].astype(np.uint16), order.astype(np.int32)
        )
        return cls(out, into)


def indptr(ends: NDArray[Any], nodes: int) -> NDArray[np.int64]:
    """Where the edges of each node begin (n + 1,), from the node of each edge."""
    return np.concatenate([[0], np.cumsum(np.bincount(ends, minlength=nodes))]).astype(np.int64)


class NodeName(NamedTuple):
    """A name of a graph and the number of its entity."""

    text: str
    node: int
    scope: int


class LocalGraph(KnowledgeGraph, Protocol):
    """A graph whose edges are at hand: it can also be searched by path and listed by name."""

    def __hash__(self) -> int:
        """By identity: what is computed once a graph is kept under it."""
        ...

    @property
    def adjacency(self) -> Adjacency:
        """The edges on node numbers 0..n-1."""
        ...

    @property
    def folder(self) -> str:
        """Where its files are, and where what is computed from them (vectors, automata) may be kept."""
        ...

    @property
    def relations(self) -> Sequence[Relation]:
        """The relations by relation number."""
        ...

    @property
    def weight(self) -> NDArray[np.float32] | None:
        """The weight of each edge (m,); None = all 1."""
        ...

    def of_kind(self, kind: str, /) -> NDArray[np.int64]:
        """The node numbers of a kind, ascending."""
        ...

    def number(self, entity_id: str, /) -> int:
        """The node number of an id; raises `UnknownName`."""
        ...

    def at(self, node: int, /) -> Entity:
        """The entity of a node number."""
        ...

    def triple(self, edge: int, /) -> Triple:
        """The triple of an edge number (its place in the outgoing order)."""
        ...

    def names(self, *, scopes: Sequence[int] = ()) -> Iterator[NodeName]:
        """Every name and alias, by node number; `scopes` narrows them (see `rows.Scope`)."""
        ...


# --- What is computed from a graph again and again.

_P = ParamSpec("_P")
_T = TypeVar("_T")
_G = TypeVar("_G", bound=KnowledgeGraph)
_Function = Callable[Concatenate[_G, _P], _T]


def kept_with_graph(most: int) -> Callable[[_Function[_G, _P, _T]], _Function[_G, _P, _T]]:
    """Keep the last `most` results of a function of a graph and of hashable positions, while the graph is in use.

    Only of graphs whose files are here: of an excerpt edges are fetched when they are needed. A result is shared, so
    it may not be changed, and may not hold the graph, which would never be let go.
    """

    def decorate(make: _Function[_G, _P, _T]) -> _Function[_G, _P, _T]:
        of_graphs: WeakKeyDictionary[_G, dict[Any, Any]] = WeakKeyDictionary()

        @wraps(make)
        def found(graph: _G, *key: Any) -> Any:
            kept = of_graphs.get(graph)
            if kept is None:
                if not getattr(graph, "folder", ""):
                    return make(graph, *key)  # type: ignore[call-arg]
                kept = of_graphs.setdefault(graph, {})
            result = kept.get(key, _NOTHING)
            if result is _NOTHING:
                result = make(graph, *key)  # type: ignore[call-arg]
                if len(kept) >= most:
                    for old in list(kept)[: most // 8 + 1]:  # copied in one step: another thread may put some there
                        kept.pop(old, None)
                kept[key] = result
            return result

        return cast(_Function[_G, _P, _T], found)

    return decorate


_NOTHING = object()


def triples_at(graph: LocalGraph, edges: NDArray[np.int64]) -> list[Triple]:
    """The triples of edge numbers; a stored graph makes many at once in less time than one by one."""
    many: Callable[[NDArray[np.int64]], list[Triple]] | None = getattr(graph, "triples", None)
    return many(edges) if many else list(map(graph.triple, edges.tolist()))


def names_of(graph: LocalGraph, node: int) -> Iterator[tuple[str, Scope]]:
    """The names of an entry: as the graph calls it in its language, as it is written there, the others."""
    aliases, own = getattr(graph, "aliases", None), getattr(graph, "name_row", None)
    yield graph.at(node).name, Scope.PREFERRED
    yield from ((own(node).text, Scope.PREFERRED),) if own else ()
    yield from aliases(node) if aliases else ()


# --- The edges of a graph by what they mean, whichever way round the graph writes them.

Nodes = NDArray[np.int64]


class Hops(NamedTuple):
    """One step from each of some nodes: from nodes[origin[i]] over edge[i] to node[i]."""

    origin: Nodes  # (h,) positions in the nodes asked for
    node: Nodes  # (h,)
    edge: Nodes  # (h,) edge numbers


_N = TypeVar("_N", bound=np.integer[Any])


def unique_numbers(values: NDArray[_N]) -> NDArray[_N]:
    """The values in order, each once: `np.unique`, which reads in numpy.ma and of 100,000 takes four times as long.

    >>> unique_numbers(np.array([3, 1, 3])).tolist(), unique_numbers(np.array([], np.int64)).tolist()
    ([1, 3], [])
    """
    found = np.sort(values)
    new = np.ones(len(found), bool)
    np.not_equal(found[1:], found[:-1], out=new[1:])
    return found[new]


Wanted = NDArray[np.bool_] | None  # relations by number; None = none of them
_NO_HOPS = Hops(*(np.empty(0, np.int64) for _ in range(3)))


class ByRole:
    """Steps over the edges of some roles, from subject to object or back.

    >>> from kgmed.graph.base import Adjacency
    >>> from kgmed.records import Relation
    >>> class G:
    ...     adjacency = Adjacency.of(3, np.array([[0, 0, 1], [2, 1, 0]]))
    ...     relations = (Relation("has", Role.FINDING), Relation("seen in", Role.FINDING, reverse=True))
    >>> ByRole(G(), Role.FINDING).objects(np.array([0])).node.tolist()
    [1, 2]
    """

    def __init__(self, graph: LocalGraph, *roles: Role) -> None:
        """The edges of `graph` whose relation has one of `roles`; an excerpt fetches them when they are needed."""
        self._graph, self._roles = graph, roles
        self._reach = getattr(graph, "reach", None)
        self._forward, self._backward = _of_roles(graph, roles)

    def objects(self, nodes: Sequence[int] | Nodes) -> Hops:
        """From each of `nodes` as subject to its objects, such as from a disease to its findings."""
        return self._both(nodes, self._forward, self._backward)

    def subjects(self, nodes: Sequence[int] | Nodes) -> Hops:
        """From each of `nodes` as object to its subjects, such as from a finding to the diseases that have it."""
        return self._both(nodes, self._backward, self._forward)

    def _both(self, nodes: Sequence[int] | Nodes, along: Wanted, against: Wanted) -> Hops:
        starts = np.asarray(nodes, np.int64)
        if self._reach is not None:
            self._reach(starts.tolist(), self._roles)
        out, into = self._graph.adjacency
        if against is None:
            return _steps(out, starts, along) if along is not None else _NO_HOPS
        if along is None:
            return _steps(into, starts, against)
        one, other = _steps(out, starts, along), _steps(into, starts, against)
        return Hops(*map(np.concatenate, zip(one, other, strict=True))) if len(other.node) else one

    def closure(self, node: int, *, up: bool) -> dict[int, int]:
        """Every node reached from `node` by repeated steps, with the number of steps; `up` = towards objects."""
        reached, frontier, depth = {node: 0}, np.array([node]), 0
        while len(frontier):
            depth += 1
            found = (self.objects if up else self.subjects)(frontier).node
            frontier = np.array([n for n in unique_numbers(found).tolist() if n not in reached], np.int64)
            reached.update(dict.fromkeys(frontier.tolist(), depth))
        return reached


@kept_with_graph(64)
def _of_roles(graph: LocalGraph, roles: tuple[Role, ...]) -> tuple[Wanted, Wanted]:
    """Which relations lead from subject to object in some roles, and which back; None = none does."""
    masks = [
        np.array([r.role in roles and r.reverse is turned for r in graph.relations], bool) for turned in (False, True)
    ]
    forward, backward = (mask if mask.any() else None for mask in masks)
    return forward, backward


def _steps(csr: Csr, nodes: Nodes, wanted: NDArray[np.bool_]) -> Hops:
    """The edges of one direction at some nodes whose relation is wanted."""
    if len(nodes) == 1:  # as most are asked for
        first, last = csr.indptr.item(nodes.item()), csr.indptr.item(nodes.item() + 1)
        at = wanted[csr.relation[first:last]].nonzero()[0] + first
        if not len(at):
            return _NO_HOPS
        edge = at if csr.edge is None else csr.edge[at].astype(np.int64)
        return Hops(np.zeros(len(at), np.int64), csr.neighbour[at].astype(np.int64), edge)
    begin = csr.indptr[nodes]
    counts = csr.indptr[nodes + 1] - begin
    at = np.arange(int(counts.sum())) + np.repeat(begin - (np.cumsum(counts) - counts), counts)
    keep = wanted[csr.relation[at]]
    at, origin = at[keep], np.repeat(np.arange(len(nodes)), counts)[keep]
    return Hops(origin, csr.neighbour[at].astype(np.int64), at if csr.edge is None else csr.edge[at].astype(np.int64))
