"""A graph in a database that is asked in place: one logic over some fixed queries, which each kind of database has.

PostgreSQL answers them in SQL, Neo4j and its like in Cypher over Bolt, Oxigraph and Virtuoso in SPARQL. The values of a
query are bound or escaped; nothing that a model or a user wrote is ever a query.
"""

import json
import re
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
import xxhash

from kgmed import disk
from kgmed.disk import as_file_name, put_in_place
from kgmed.errors import BadInput, Busy, KgmedError, StoreError, Unavailable, UnknownName
from kgmed.graph import library
from kgmed.graph.base import Alias, EdgeRow, Match, NodeRow, Row, Scope, Source, TextRow, how_found, unpacked_support
from kgmed.graph.formats.base import infer
from kgmed.graph.search.batched import Excerpt
from kgmed.graph.search.paths import FoundPaths, paths_between
from kgmed.graph.store.arrays import pack_support
from kgmed.graph.store.folder import JOURNAL, beside, publish, read_manifest, verify
from kgmed.graph.store.store import Store
from kgmed.language.text import fold, normalise
from kgmed.records import Entity, Relation, Role, Support, Triple

# --- What the mapping files of graphs that kgmed did not write have in common, over Bolt and in PostgreSQL: small
# TOML.

ID, ALIAS, ABOUT = ("id", "identifier", "curie", "cui", "code"), ("alias", "synonym"), ("description", "definition")
CALLED = ("name", "preferred_label", "label", "title", "term")


def read_toml(path: Path, keys: Collection[str]) -> dict[str, Any]:
    """What a mapping file says; raises `BadInput` naming the file and a key that no mapping has."""
    told = disk.read_toml(path)
    known(path, told, keys, "a mapping")
    return told


def known(path: Path, told: Mapping[str, Any], keys: Collection[str], what: str) -> None:
    """Raise `BadInput` for a key that `what` has not."""
    if strange := sorted(told.keys() - {*keys}):
        raise BadInput(f"{path}: {what} has no {strange[0]!r}; it has {', '.join(sorted(keys))}")


def relation_of(path: Path, name: str, told: Any) -> Relation:
    """The relation of a type: a role, or a table of name, role, reverse; raises `BadInput`."""
    said = {"role": told} if isinstance(told, str) else told
    try:
        called = said.get("name", name.replace("_", " ").lower())
        if not isinstance(called, str):
            raise BadInput(f"{path}: name of {name} must be a text, not {called!r}")
        return Relation(called, Role(said["role"]), bool(said.get("reverse")))
    except (AttributeError, KeyError, ValueError):
        roles = ", ".join(role.value for role in Role)
        raise BadInput(f"{path}: {name} = {told!r} names no role; roles: {roles}") from None


def proposed(name: str) -> str:
    """The relation that a name suggests, as a mapping file has it.

    >>> proposed("HAS_SYMPTOM")
    'name = "has symptom", role = "finding"'
    """
    relation = infer(words(name))
    back = ", reverse = true" if relation.reverse else ""
    return f"name = {toml(relation.name)}, role = {toml(relation.role.value)}{back}"


def alike(found: Collection[str], wanted: Sequence[str]) -> str:
    """The first name that is wanted among those that there are, in capitals or not; "" = none."""
    return next((key for want in wanted for key in found if key.lower() == want), "")


def words(name: str) -> str:
    """A name of a schema as words, in small letters."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name).replace("_", " ").lower()


def toml(text: str) -> str:
    """A text as TOML writes it."""
    return json.dumps(text, ensure_ascii=False)


GRAPH_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,50}")
LAYOUT = 2  # goes up when what is written changes; a graph of another layout is loaded again
# bytes: a graph up to this size is asked on a copy, where files are kept, a larger one in place (ours)
COPIED = 2 << 30
PAGE = 5_000  # rows that are read at once of a whole graph (ours)
_PART = 1 << 20  # bytes of a file in one row
_EVERY = 1 << 14
Progress = Callable[[int], None]


class GraphAbout(NamedTuple):
    """What a database says of a graph."""

    layout: int
    name: str
    label: str
    language: str
    bytes: int = 0  # of the files that it keeps for a copy; 0 = it keeps none
    nodes: int = 0  # its nodes are numbered 0..nodes-1; 0 = by numbers of the database's own


class Database(Protocol):
    """One graph in a database. `rows` answers by what is asked, with the values of that name:

    about          -                          the fields of `GraphAbout`
    relations      -                          name, role, reverse, origin, by number
    entity         id                         id, name, kind, description
    names          keys, texts                id, name, kind, text, scope, normal, folded, degree, node
    folded         keys, texts                the same, by the folded form of names
    around         ids, limit, relations      asked, side (1 = it is the tail), edge, head (id, name, kind), relation,
                                              tail (three), weight, source, support; at least the first `limit` of each
    texts          id                         id, name, kind, relation, text, source, support
    numbers        ids                        id, node
    entities       nodes                      node, id, name, kind, degree
    level          nodes, limit, relations    edge, head, relation, tail, weight: of every edge that touches a node
    across         heads, nodes, limit        the same, of every edge from the heads to the nodes
    facts          edges, heads               edge, then as `around` from head on
    nodes          after, limit               node, id, name, kind, description: by number, those after one
    aliases        nodes                      node, text, scope
    said           nodes                      node, relation, text, support
    edges          after, limit               edge, id of head, relation, id of tail, weight, support
    files, part    -, name and part           name, part; data

    `relations` = numbers, None for all. A triple whose source is None comes from the origin of its relation.
    """

    where: str  # as messages name it
    most: int  # values that one call takes

    def rows(self, what: str, /, **values: Any) -> list[Any]:
        """The answer; raises `Busy`, `Unavailable`, `UnknownName` in our words."""
        ...

    def close(self) -> None:
        """Close the connection; it opens again by itself when it is needed."""
        ...


class DatabaseGraph:
    """A graph in a database; implements `KnowledgeGraph`, `Batched`, `ListsAliases` and `Paths`."""

    def __init__(self, database: Database) -> None:
        """Ask what it is; raises `Unavailable`, and `UnknownName` where there is no graph of that name."""
        self.database = database
        try:
            rows = database.rows("about")
        except KgmedError:
            database.close()
            raise
        if not rows or rows[0][0] != LAYOUT:
            database.close()
            raise Unavailable(
                f"{database.where} was written by another kgmed; write it again: kgmed graph load --force"
            )
        self.about = GraphAbout(*rows[0])
        self.name, self.label, self.language = self.about.name, self.about.label, self.about.language
        self.bytes, self.nodes = self.about.bytes, self.about.nodes

    def __repr__(self) -> str:
        """The graph and where it is."""
        return f"DatabaseGraph({self.database.where})"

    def close(self) -> None:
        """Close the connection; it opens again by itself when it is needed."""
        self.database.close()

    def ask(self, what: str, by: str, values: Iterable[Any], /, **more: Any) -> list[Any]:
        """The rows for many values, in as few calls as the database takes them."""
        asked = list(values)
        calls = (asked[i : i + self.database.most] for i in range(0, len(asked), self.database.most))
        return [row for some in calls for row in self.database.rows(what, **{by: some}, **more)]

    @cached_property
    def relations(self) -> tuple[Relation, ...]:
        """The relations by relation number."""
        return tuple(r for r, _ in self.origins)

    @cached_property
    def origins(self) -> list[tuple[Relation, str]]:
        """The relations with the source of their triples, by number."""
        rows = self.database.rows("relations")
        return [(Relation(name, Role(role), bool(reverse)), origin) for name, role, reverse, origin in rows]

    def _relation(self, number: int) -> tuple[Relation, str]:
        """The relation of a number and its origin; raises `Unavailable` for one that came after the graph was opened.

        The relations are asked for again the next time.
        """
        if not 0 <= number < len(self.origins):
            for kept in ("relations", "origins"):
                self.__dict__.pop(kept, None)
            raise Unavailable(f"{self.database.where} has changed while it was asked; ask again")
        return self.origins[number]

    # --- one and many

    def entity(self, entity_id: str, /) -> Entity:
        """The entity of that id with its description; raises `UnknownName`."""
        for row in self.database.rows("entity", id=entity_id):
            return Entity(*row)
        raise UnknownName(f"entity of {self.name}", entity_id, (), "search by name")

    def lookup(self, name: str, /) -> list[Match]:
        """The entities of that name, best first: exact, alias, normalised, folded; ties by degree, then number."""
        return self.lookup_many([name])[name]

    def lookup_many(self, names: Sequence[str], /) -> dict[str, list[Match]]:
        """The entities of each name, as `lookup` gives them, in one call, or two where a spelling is not found."""
        found: dict[str, list[Match]] = {name: [] for name in names} | self._found(names, folded=False)
        missing = [name for name, matches in found.items() if not matches]
        return found | (self._found(missing, folded=True) if missing else {})

    def _found(self, names: Sequence[str], *, folded: bool) -> dict[str, list[Match]]:
        """The entities of each name that has some, in the order of the local store."""
        form, at, what = (fold, 6, "folded") if folded else (normalise, 5, "names")
        keys = {name: form(name) for name in names}
        asked: dict[str, list[str]] = {}
        for name, key in keys.items():
            asked.setdefault(key, []).append(name)
        by_key: dict[str, list[Any]] = {}
        for some in _cut(sorted(asked), self.database.most):
            for row in self.database.rows(what, keys=some, texts=sorted({n for key in some for n in asked[key]})):
                by_key.setdefault(row[at], []).append(row)
        return {name: _ranked(name, by_key.get(key, ()), form) for name, key in keys.items()}

    def neighbours(self, entity_id: str, /, *, limit: int = 64, roles: Sequence[Role] = ()) -> list[Triple]:
        """At most `limit` triples around an entity, heaviest first; `roles` narrows them."""
        found = self._around([entity_id], limit, roles).get(entity_id)
        if found is None:
            self.entity(entity_id)
        return found or []

    def neighbours_of(self, ids: Sequence[str], /, *, limit: int = 64) -> dict[str, list[Triple]]:
        """At most `limit` triples around each id, in one call; an id without triples is left out."""
        return self._around(list(dict.fromkeys(ids)), limit, ())

    def _around(self, ids: list[str], limit: int, roles: Sequence[Role]) -> dict[str, list[Triple]]:
        numbers = [i for i, (r, _) in enumerate(self.origins) if r.role in roles] if roles else None
        if numbers == [] or limit < 1:
            return {}
        rows: dict[str, list[Any]] = {}
        for asked, *row in self.ask("around", "ids", ids, limit=limit, relations=numbers):
            rows.setdefault(asked, []).append(row)
        for found in rows.values():  # row: side, edge, head's three, relation, tail's three, weight, source, support
            found.sort(key=lambda row: (-row[9], row[0], row[1]))
        return {one: [self._triple(row[2:]) for row in rows[one][:limit]] for one in ids if one in rows}

    def aliases(self, entity_id: str, /) -> list[tuple[str, Scope]]:
        """The other names of an entity with their scope."""
        nodes = self.numbers([entity_id]).values()
        return [(text, Scope(scope)) for _, text, scope in self.ask("aliases", "nodes", nodes)]

    def attributes(self, entity_id: str, /) -> list[Triple]:
        """The texts about an entity; the tail of each is a literal without id."""
        found = []
        for *head, number, text, source, support in self.database.rows("texts", id=entity_id):
            relation, origin = self._relation(number)
            said = unpacked_support(support or "")
            found.append(Triple(Entity(*head), relation, Entity("", text, "text"), 1.0, source or origin, said))
        return found

    def _triple(self, row: Sequence[Any]) -> Triple:
        """The triple of a row: head, relation, tail, weight, source, support."""
        *ends, weight, source, support = row
        relation, origin = self._relation(ends[3])
        packed = unpacked_support(support or "")
        return Triple(Entity(*ends[:3]), relation, Entity(*ends[4:]), round(weight, 6), source or origin, packed)

    def vectors(self, encoder: Any) -> Any:
        """The names by their vectors, where the database has them; see `graph.vectors.Names`."""
        there = getattr(self.database, "vectors", None)
        return there(encoder) if there is not None else None

    # --- numbers, for searches on this side

    def numbers(self, ids: Iterable[str]) -> dict[str, int]:
        """The node number of each id; one that is not known is left out."""
        return dict(self.ask("numbers", "ids", dict.fromkeys(ids)))

    def described(self, nodes: Iterable[int]) -> dict[int, tuple[Entity, int]]:
        """The entity of each node number, and how many edges it has."""
        return {node: (Entity(*row), degree) for node, *row, degree in self.ask("entities", "nodes", nodes)}

    def facts(self, edges: Mapping[int, int]) -> dict[int, Triple]:
        """The triples of edge numbers, each given with the node of its head."""
        heads = sorted(set(edges.values()))
        return {number: self._triple(row) for number, *row in self.ask("facts", "edges", edges, heads=heads)}

    # --- paths

    def excerpt(self, text: str = "", *, hops: int = 3, shortest: bool = False) -> Excerpt:
        """What lies around the entities that a text names, searched as a local graph is; it grows as it is asked."""
        return Excerpt(self, text, hops=hops, shortest=shortest)

    def between(self, one: str, other: str, hops: int, limit: int, /) -> FoundPaths:
        """The shortest paths between two ids, at most `limit`, as on the local store."""
        return self._paths([one, other], hops, limit, shortest=True)

    def chains(self, anchors: Sequence[str], hops: int, limit: int, /) -> FoundPaths:
        """The chains between several ids, at most `limit` of each pair, as on the local store."""
        return self._paths(anchors, hops, limit, shortest=False)

    def _paths(self, ids: Sequence[str], hops: int, limit: int, *, shortest: bool) -> FoundPaths:
        around = self.excerpt(hops=hops)
        around.open(ids, shortest=shortest)
        found = paths_between(around, [around.at(around.number(one)) for one in ids], hops=hops, limit=limit)
        return FoundPaths(found.paths, found.total, (*around.cut, *found.cut))


def _cut(values: Sequence[Any], most: int) -> Iterator[Sequence[Any]]:
    yield from (values[i : i + most] for i in range(0, len(values), most))


def _ranked(name: str, rows: Iterable[Any], form: Callable[[str], str]) -> list[Match]:
    """The best match of each entity, best first; ties by degree, then number."""
    best: dict[int, tuple[tuple[float, int, int], Match]] = {}
    for entity_id, called, kind, text, scope, _, _, degree, node in rows:
        if not form(name) and text != name:
            continue
        how, score = how_found(name, text, scope, folded=form is fold)
        rank = -score, -degree, node
        if node not in best or rank < best[node][0]:
            best[node] = rank, Match(Entity(entity_id, called, kind), text, how, score)
    return [match for _, match in sorted(best.values(), key=lambda pair: pair[0])]


# --- A whole graph out of a database, row by row.


def source_of(graph: DatabaseGraph, name: str) -> Source:
    """A graph in a database as a source that a graph of this machine is built from."""
    relations = {r.name: r for r in graph.relations}
    return Source(name, lambda: _all_rows(graph), release=graph.label, language=graph.language, relations=relations)


def _all_rows(graph: DatabaseGraph) -> Iterator[Row]:
    for rows in pages(graph, "nodes"):
        nodes = [row[0] for row in rows]
        said: dict[int, list[Alias]] = {}
        for node, text, scope in graph.ask("aliases", "nodes", nodes):
            said.setdefault(node, []).append(Alias(text, Scope(scope)))
        keys = {node: key for node, key, *_ in rows}
        for node, key, called, kind, description in rows:
            yield NodeRow(key, called, kind, description or "", tuple(said.get(node, ())))
        for node, relation, text, support in graph.ask("said", "nodes", nodes):
            yield TextRow(keys[node], graph.relations[relation].name, text, unpacked_support(support or ""))
    for rows in pages(graph, "edges"):
        for _, head, relation, tail, weight, support in rows:
            yield EdgeRow(head, graph.relations[relation].name, tail, weight, unpacked_support(support or ""))


def pages(graph: DatabaseGraph, what: str) -> Iterator[list[Any]]:
    """All rows of a kind, page after page."""
    after = -1
    while rows := graph.database.rows(what, after=after, limit=PAGE):
        yield rows
        after = rows[-1][0]


# --- What is written of a graph of this machine, the same rows into every database.

COLUMNS = {
    "graph": ("layout", "name", "label", "language", "bytes", "source", "release", "licence", "citation", "nodes"),
    "relation": ("number", "name", "role", "reverse", "origin"),
    "entity": ("node", "id", "name", "kind", "description", "degree"),
    "name": ("number", "node", "text", "scope", "normal", "folded"),
    "edge": ("edge", "head", "relation", "tail", "weight", "source", "support"),
    "attribute": ("number", "node", "relation", "text", "source", "support"),
}


def written(
    store: Store, progress: Progress, done: Mapping[str, int] | None = None
) -> Iterator[tuple[str, Iterable[tuple[Any, ...]]]]:
    """The tables of a graph, each with its rows, whose fields are `COLUMNS`; `graph` comes last, when all is there.

    Rows of a graph always come in the same order: `done` says how many of each table stand there and are left out.
    """
    m, origins = store.manifest, [store.origins[i] for i in range(len(store.relations))]
    said, done = zip(store.relations, origins, strict=True), done or {}
    relations = ((i, r.name, r.role.value, r.reverse, o) for i, (r, o) in enumerate(said))
    yield "relation", islice(relations, done.get("relation", 0), None)
    yield "entity", _entities(store, done.get("entity", 0))
    yield "name", _names(store, done.get("name", 0))
    yield "edge", _edges(store, origins, progress, done.get("edge", 0))
    yield "attribute", _attributes(store, origins, done.get("attribute", 0))
    size = sum(path.stat().st_size for _, path in files_of(store))
    about = LAYOUT, store.name, store.label, store.language, size, m.source, m.release, m.licence, m.citation
    yield "graph", [(*about, len(store))]


def filled(store: Store, table: str, row: Sequence[Any]) -> dict[str, Any]:
    """A row by its fields; a name and a text also have those of their entity, for servers that are slow to join."""
    found = dict(zip(COLUMNS[table], row, strict=True))
    if table in ("name", "attribute"):
        node = found["node"]
        e = store.at(node)
        found |= {"id": e.id, "name": e.name, "kind": e.kind, "degree": store.degree(node)}
    return found


def said_of(store: Store) -> str:
    """What a load is of: one that was killed goes on only where this is the same."""
    return f"{LAYOUT} {store.label}"


def _entities(store: Store, first: int) -> Iterator[tuple[Any, ...]]:
    for node in range(first, len(store)):
        e = store.at(node)
        yield node, e.id, e.name, e.kind, store.description(node), store.degree(node)


def _names(store: Store, first: int) -> Iterator[tuple[Any, ...]]:
    for number, (text, node, scope) in islice(enumerate(store.names()), first, None):
        yield number, node, text, int(scope), normalise(text), fold(text)


def _edges(store: Store, origins: list[str], progress: Progress, begin: int) -> Iterator[tuple[Any, ...]]:
    out = store.adjacency.out
    for first in range(begin, store.adjacency.edges, _EVERY):
        edges = np.arange(first, min(first + _EVERY, store.adjacency.edges))
        heads = (out.indptr.searchsorted(edges, side="right") - 1).tolist()
        ends = zip(edges.tolist(), heads, out.relation[edges].tolist(), out.neighbour[edges].tolist(), strict=True)
        weights = [1.0] * len(edges) if store.weight is None else store.weight[edges].tolist()
        for end, weight, triple in zip(ends, weights, store.triples(edges), strict=True):
            source = None if triple.source == origins[end[2]] else triple.source
            yield *end, weight, source, _packed(triple.support)
        progress(first + len(edges))


def _attributes(store: Store, origins: list[str], first: int) -> Iterator[tuple[Any, ...]]:
    t = store.tables
    said = zip(t.text_node.tolist(), t.text_relation.tolist(), strict=True)
    for i, (node, relation) in islice(enumerate(said), first, None):
        triple = store.text(i)
        source = None if triple.source == origins[relation] else triple.source
        yield i, node, relation, triple.tail.name, source, _packed(triple.support)


def _packed(support: tuple[Support, ...]) -> str | None:
    return pack_support(support) if support else None


# --- The very files of a graph, where a database keeps them.


def files_of(store: Store) -> Iterator[tuple[str, Path]]:
    """The files of a graph with their names: those of its version, what is derived from it, and its edits."""
    version = Path(store.folder)
    for path in sorted(version.rglob("*")):
        if path.is_file() and not any(part.startswith(".") for part in path.relative_to(version).parts):
            yield path.relative_to(version).as_posix(), path
    if (journal := version.parent / JOURNAL).is_file():
        yield JOURNAL, journal


def parts(path: Path) -> Iterator[bytes]:
    """A file in pieces."""
    with path.open("rb") as f:
        while data := f.read(_PART):
            yield data


def copied(graph: DatabaseGraph, folder: Path) -> Store:
    """The same graph as files of this machine, fetched unless they are here; raises `StoreError` where they differ.

    A copy is kept by the hash of the graph's label, which holds that of its content and its edits.
    """
    place = folder / f"{as_file_name(graph.name)}-{xxhash.xxh3_64_hexdigest(graph.label.encode())}"
    if (place / "CURRENT").is_file():
        with suppress(StoreError):  # damaged meanwhile: fetched again
            return library.load(place)
    try:
        with beside(place) as work:
            for name, part in graph.database.rows("files"):
                _write(work, name, graph.database.rows("part", name=name, part=part)[0][0])
            if (journal := work / JOURNAL).is_file():
                put_in_place(journal, place / JOURNAL)
            verify(read_manifest(work), work)
            publish(place, work, read_manifest(work).content)
    except OSError as e:
        raise StoreError(f"{place}: cannot be written ({e.strerror or e}); check the disk") from e
    store = library.load(place)
    if store.label != graph.label:
        raise StoreError(f"{graph.database.where} holds other files than it says; load it again with --force")
    return store


def _write(work: Path, name: str, data: bytes) -> None:
    """Add a part of a file; raises `StoreError` for a name that leads out of the folder."""
    path = work / name
    if ".." in Path(name).parts or not path.is_relative_to(work):
        raise StoreError(f"the server names a file {name[:60]!r}, which is none of a graph; load the graph again")
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as f:
        f.write(data)


def within(seconds: float, where: str, call: Callable[[], list[Any]], errors: tuple[type[Exception], ...]) -> list[Any]:
    """What a call gives in that time, or the error of those that it raises.

    Raises `Busy` where it takes longer; the thread of the call is left alone then.
    """
    done, found, wrong = threading.Event(), list[list[Any]](), list[Exception]()

    def run() -> None:
        try:
            found.append(call())
        except errors as error:
            wrong.append(error)
        finally:
            done.set()

    threading.Thread(target=run, daemon=True).start()
    if not done.wait(seconds):
        raise Busy(f"{where} did not answer in {seconds:.0f} seconds; try again later")
    if wrong or not found:
        raise wrong[0] if wrong else Unavailable(f"{where} gave no answer")
    return found[0]
