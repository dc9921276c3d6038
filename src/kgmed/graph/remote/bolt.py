"""A graph in Neo4j, Memgraph or ArcadeDB over Bolt: asked by fixed queries in sessions that read, and written there.

What kgmed writes has labels of its own, `kgmed_NAME_...`. A graph of the user's is read by a mapping file, see
`Mapping`. The user's name stands in the address or in NEO4J_USERNAME, the password in NEO4J_PASSWORD alone: no message,
label or log holds it. Nothing that a model wrote is ever a query.
"""

import logging
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, unquote, urlsplit

from kgmed import disk
from kgmed.errors import BadInput, Busy, KgmedError, Unavailable, UnknownName
from kgmed.graph import library
from kgmed.graph.remote.database import (
    ABOUT,
    ALIAS,
    CALLED,
    GRAPH_NAME,
    ID,
    LAYOUT,
    Progress,
    alike,
    filled,
    proposed,
    read_toml,
    relation_of,
    said_of,
    toml,
    within,
    words,
    written,
)
from kgmed.graph.store.store import Store
from kgmed.language.text import fold, normalise
from kgmed.records import Relation

if TYPE_CHECKING:
    from neo4j import Driver

LIKE = "bolt://USER@HOST:7687/DATABASE#NAME"
SCHEMES = ("bolt", "bolt+s", "bolt+ssc", "neo4j", "neo4j+s", "neo4j+ssc")
WAIT, LATE = 10.0, 60.0  # seconds to connect, and until a query is given up
_BATCH = 5_000  # rows that are written at once
_MOST = 10_000  # values of one call


@dataclass(frozen=True, slots=True)
class BoltAddress:
    """Where a graph is: what the driver is told, which is never a password, and the name of the graph."""

    uri: str
    user: str
    database: str
    graph: str
    map: str = ""  # the mapping file of a graph that kgmed did not write

    @classmethod
    def of(cls, text: str, *, graph: str = "") -> "BoltAddress":
        """The address that a text names; `graph` is that of an address without #NAME.

        Raises `BadInput`, which never repeats the text.

        >>> BoltAddress.of("bolt://me@db.example/kg#cmekg").where
        'bolt://db.example:7687/kg#cmekg'
        """
        try:
            parts = urlsplit(text)
            host, port = parts.hostname or "", parts.port or 7687
        except ValueError:
            raise BadInput(f"the address of a graph over Bolt must look like {LIKE}") from None
        more = dict(parse_qsl(parts.query))
        if parts.password is not None or "password" in more or (parts.username or "").count("@"):
            raise BadInput("an address is seen by others: leave the password out of it, set NEO4J_PASSWORD")
        name, database = parts.fragment or graph, unquote(parts.path[1:])
        strange = "://" not in text or any(c in database for c in "/:@") or more.keys() - {"map"}
        if strange or parts.scheme not in SCHEMES or not host or not GRAPH_NAME.fullmatch(name):
            raise BadInput(f"the address of a graph over Bolt must look like {LIKE}")
        host = f"[{host}]" if ":" in host else host
        return cls(
            f"{parts.scheme}://{host}:{port}", unquote(parts.username or ""), database, name, more.get("map", "")
        )

    @property
    def where(self) -> str:
        """The address as messages name it."""
        return f"{self.uri}/{self.database}#{self.graph}"


@contextmanager
def said_plainly(where: str, graph: str = "") -> Iterator[None]:
    """A block in which an error of the driver becomes one of ours, in our words."""
    from neo4j import exceptions

    try:
        yield
    except (exceptions.Neo4jError, exceptions.DriverError, OSError) as e:
        raise _plain(where, graph, e) from None


def _plain(where: str, graph: str, error: Any) -> KgmedError:
    """Our error for what the server, or the way to it, said."""
    from neo4j import exceptions

    code = str(getattr(error, "code", "") or "")
    if isinstance(error, exceptions.AuthError) or ".Security." in code:
        return Unavailable(f"{where} refuses the login; check the user and NEO4J_PASSWORD")
    if "DatabaseNotFound" in code or "database does not exist" in str(error).lower():
        return Unavailable(f"{where}: the server has no such database; check the address")
    if "TransactionTimedOut" in code:
        return Busy(f"{where} did not answer in {LATE:.0f} seconds; try again later")
    if isinstance(error, exceptions.DriverError | OSError) or ".TransientError." in code:
        return Busy(f"{where} cannot be reached, or closed the connection; check the address, try again later")
    last = code.rpartition(".")[2] if re.fullmatch(r"[\w.]{1,80}", code) else ""
    return Unavailable(f"{where} answers with the error {last or 'without a name'}; was its schema changed?")


class Connection:
    """A driver, opened when it is needed; a query that takes too long is given up with it."""

    def __init__(self, address: BoltAddress, environment: Mapping[str, str]) -> None:
        """Name the address; NEO4J_USERNAME and NEO4J_PASSWORD are looked for in `environment`."""
        self.address, self._environment = address, environment
        self._driver: Driver | None = None
        self._lock = threading.Lock()

    def run(self, query: str, values: Mapping[str, Any], *, write: bool = False) -> list[Any]:
        """The rows of a query; asked again once where the connection was closed meanwhile."""
        again = self._driver is not None and not write
        try:
            return self._once(query, values, write)
        except Busy:
            self.close()
            if not again:
                raise
        return self._once(query, values, write)

    def _once(self, query: str, values: Mapping[str, Any], write: bool) -> list[Any]:  # noqa: FBT001
        import neo4j
        from neo4j import exceptions

        errors = (exceptions.Neo4jError, exceptions.DriverError, OSError, KgmedError)

        def ask() -> list[Any]:
            mode = neo4j.WRITE_ACCESS if write else neo4j.READ_ACCESS
            with self._opened().session(database=self.address.database or None, default_access_mode=mode) as session:
                return [row.values() for row in session.run(neo4j.Query(query, timeout=LATE), dict(values))]

        with said_plainly(self.address.where, self.address.graph):
            return within(LATE, self.address.where, ask, errors)

    def _opened(self) -> "Driver":
        """The driver; raises `Unavailable` without the package."""
        with self._lock:
            if self._driver is None:
                import neo4j

                for name in ("neo4j", "neo4j.notifications"):  # they print queries and values
                    logging.getLogger(name).setLevel(logging.CRITICAL)
                user = self.address.user or self._environment.get("NEO4J_USERNAME", "")
                password = self._environment.get("NEO4J_PASSWORD", "")
                self._driver = neo4j.GraphDatabase.driver(
                    self.address.uri, auth=(user, password) if user or password else None, user_agent="kgmed",
                    connection_timeout=WAIT, connection_acquisition_timeout=WAIT, max_connection_pool_size=8,
                )  # fmt: skip
            return self._driver

    def close(self) -> None:
        """Close the connections; they open again by themselves."""
        driver, self._driver = self._driver, None
        if driver is not None:  # a server that hangs is not waited for
            closing = threading.Thread(target=driver.close, daemon=True)
            closing.start()
            closing.join(1)


def open_bolt(address: BoltAddress, environment: Mapping[str, str]) -> "Bolt":
    """The graph of an address, kgmed's own or by a mapping file; raises `Unavailable`, `BadInput`."""
    try:
        import neo4j  # noqa: F401
    except ImportError:
        raise Unavailable('Bolt needs one more package: pip install "kgmed[bolt]"') from None
    return Bolt(Connection(address, environment), read_mapping(Path(address.map)) if address.map else None)


class Bolt:
    """A graph over Bolt; implements `Database`."""

    most = _MOST

    def __init__(self, connection: Connection, mapping: "Schema | None" = None) -> None:
        """The graph of that name that `load` wrote, or one that a mapping describes."""
        self.connection, self.where, self.mapping = connection, connection.address.where, mapping
        self._queries = _own(connection.address.graph) if mapping is None else _mapped(mapping)

    def rows(self, what: str, /, **values: Any) -> list[Any]:
        """The rows of what is asked; raises `UnknownName` where the graph was never written."""
        if self.mapping is not None:
            return self._by_mapping(self.mapping, what, values)
        if what == "edges":
            return self._edges(values["after"], values["limit"])
        found = [row for query in self._queries[what] for row in self.connection.run(query, values)]
        if what == "about" and not found:
            graph = self.connection.address.graph
            raise UnknownName("graph over Bolt", graph, (), f"write it with: kgmed graph load {graph}")
        return [[asked, *row] for asked, row in found] if what == "around" else found

    def _edges(self, after: int, limit: int) -> list[Any]:
        """The edges of the next nodes that have some."""
        for first in range(after, self.rows("about")[0][5], limit):
            if found := self.connection.run(self._queries["edges"][0], {"after": first, "limit": limit}):
                return found
        return []

    def _by_mapping(self, schema: "Schema", what: str, values: dict[str, Any]) -> list[Any]:
        if what == "about":
            (nodes,) = self.connection.run(self._queries["count"][0], {})[0]
            label = f"{self.connection.address.graph} over Bolt, {nodes} nodes"
            return [(LAYOUT, self.connection.address.graph, label, schema.language, 0, 0)]
        if what == "relations":
            origin = self.connection.address.graph
            return [
                (r.name, r.role.value, r.reverse, origin) for r in (*schema.relations.values(), *schema.texts.values())
            ]
        types, numbers = list(schema.relations), values.pop("relations", None)
        values["labels"] = list(schema.kinds)
        values["types"] = types if numbers is None else [types[i] for i in numbers if i < len(types)]
        if what in ("names", "folded"):
            ways = (str, str.lower, str.upper, str.capitalize, str.title)  # how a database may write a name
            values["forms"] = sorted({write(text) for text in values["texts"] for write in ways})
        if what == "around":
            nodes = {node: key for key, node in self.rows("numbers", ids=values["ids"])}
            values["nodes"] = list(nodes)
        rows = [row for query in self._queries[what] for row in self.connection.run(query, values)]
        found = schema.filled(what, rows)
        return [[nodes[row[0]], *row[1:]] for row in found] if what == "around" else found

    def close(self) -> None:
        """Close the connections."""
        self.connection.close()


def _own(graph: str) -> dict[str, tuple[str, ...]]:
    """The queries of a graph that `load` wrote."""
    mine = f"kgmed_{graph.replace('-', '__')}"
    queries = disk.read_toml(Path(__file__).with_suffix(".toml"))
    return {what: tuple(query.replace("GRAPH", mine) for query in of) for what, of in queries.items()}


# --- A graph of this machine written over Bolt.

_INDEXED = {"Entity": ("id", "node"), "Name": ("normal", "folded", "node"), "Text": ("id", "node")}
_LABELS = {"graph": "Graph", "relation": "Relation", "entity": "Entity", "name": "Name", "attribute": "Text"}
_LOADING = "Loading"  # of the node that says what is being written


def load(
    name: str,
    address: BoltAddress,
    environment: Mapping[str, str],
    *,
    force: bool = False,
    progress: Progress = lambda rows: None,
) -> tuple[str, bool]:
    """The label of a graph that stands on the server now, and whether it was written now; a graph of it is replaced.

    The graph can be asked when all of it is there: the next load goes on where one was killed.
    """
    store, bolt = library.load(name), open_bolt(address, environment)
    try:
        return store.label, _write(bolt.connection, store, force, progress)
    finally:
        bolt.close()


def _write(connection: Connection, store: Store, force: bool, progress: Progress) -> bool:  # noqa: FBT001
    """Whether the graph was written now."""
    p = f"kgmed_{connection.address.graph.replace('-', '__')}"

    def run(query: str, **values: Any) -> list[Any]:
        return connection.run(query, values, write=True)

    if run(f"MATCH (g:{p}_Graph) RETURN g.label, g.layout") == [[store.label, LAYOUT]] and not force:
        return False
    done = _begun(run, p, store, force=force)
    for label, fields in _INDEXED.items():
        for one in fields:
            run(f"CREATE INDEX IF NOT EXISTS FOR (n:{p}_{label}) ON (n.{one})")
    for table, rows in written(store, progress, done):
        for batch in _batches(filled(store, table, row) for row in rows):
            if table == "edge":
                said = _set(("edge", "relation", "weight", "source", "support"))
                ends = f"MATCH (h:{p}_Entity {{node: row.head}}), (t:{p}_Entity {{node: row.tail}})"
                run(f"UNWIND $rows AS row {ends} CREATE (h)-[:{p}_EDGE {said}]->(t)", rows=batch)
            else:
                run(f"UNWIND $rows AS row CREATE (:{p}_{_LABELS[table]} {_set(batch[0])})", rows=batch)
    run(f"MATCH (n:{p}_{_LOADING}) DELETE n")
    return True


def _begun(run: Callable[..., list[Any]], p: str, store: Store, *, force: bool) -> dict[str, int]:
    """How many rows of each table a load of the same stands at that was killed; otherwise one is begun, with none."""
    if run(f"MATCH (n:{p}_{_LOADING}) RETURN n.what") == [[said_of(store)]] and not force:
        done = {table: run(f"MATCH (n:{p}_{label}) RETURN count(n)")[0][0] for table, label in _LABELS.items()}
        return done | {"edge": run(f"MATCH ()-[r:{p}_EDGE]->() RETURN count(r)")[0][0]}
    for label in (*_LABELS.values(), _LOADING):
        while run(f"MATCH (n:{p}_{label}) WITH n LIMIT {_BATCH} DETACH DELETE n RETURN count(*)")[0][0]:
            pass
    run(f"CREATE (:{p}_{_LOADING} {{what: $what}})", what=said_of(store))
    return {}


def _set(fields: Iterable[str]) -> str:
    """Properties taken from a row; eight times as fast in ArcadeDB as setting them afterwards."""
    return "{" + ", ".join(f"{one}: row.{one}" for one in fields) + "}"


def _batches(rows: Iterator[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    from itertools import islice

    while batch := list(islice(rows, _BATCH)):
        yield batch


# --- A graph that kgmed did not write: what its labels, types and properties mean.


@dataclass(frozen=True)
class Schema:
    """What a mapping file says: labels as kinds, relationship types as relations, properties as names and texts."""

    kinds: Mapping[str, str]  # label -> kind
    relations: Mapping[str, Relation]  # relationship type -> relation
    id: str = ""  # the property that is the id; "" = the database's own number
    name: str = "name"
    aliases: tuple[str, ...] = ()
    description: str = ""
    texts: Mapping[str, Relation] = field(default_factory=dict)  # property -> relation
    references: tuple[str, ...] = ()  # properties of relationships, such as pmids
    weight: str = ""
    language: str = "en"

    def filled(self, what: str, rows: Sequence[Sequence[Any]]) -> list[Any]:
        """Rows of the queries as `Database` has them: types as numbers, labels as kinds, forms of names."""
        make = {"names": self._name, "folded": self._name, "around": self._around, "facts": self._fact}.get(what)
        if make is not None:
            return [made for row in rows if (made := make(list(row))) is not None]
        if what in ("level", "across"):
            return [(e, h, self.number(r), t, 1.0 if w is None else float(w)) for e, h, r, t, w in rows]
        if what in ("texts", "said"):
            return self._texts(rows, len(self.relations), described=what == "texts")
        if what == "edges":
            return [(e, str(h), self.number(r), str(t), 1.0 if w is None else float(w), self.support(s))
                    for e, h, r, t, w, s in rows]  # fmt: skip
        at = {"entity": 0, "entities": 1, "nodes": 1}.get(what)
        return [[*row[:at], *self._entity(row[at : at + 3]), *row[at + 3 :]] for row in rows] if at is not None else [
            (str(row[0]), row[1]) if what == "numbers" else tuple(row) for row in rows
        ]  # fmt: skip

    def _entity(self, row: Sequence[Any]) -> list[str]:
        """Id, name and kind from id, name and labels."""
        key, name, labels = row
        return [str(key), str(key if name is None else name), self.kind(labels)]

    def _name(self, row: list[Any]) -> list[Any]:
        *entity, text, scope, node = row
        return [*self._entity(entity), text, scope, normalise(text), fold(text), 0, node]

    def _around(self, row: list[Any]) -> list[Any]:
        return [*row[:2], *self._fact(row[2:])]

    def _fact(self, row: list[Any]) -> list[Any]:
        edge, *head, kind, i, n, labels, weight, said = row
        ends = *self._entity(head), self.number(kind), *self._entity((i, n, labels))
        return [edge, *ends, 1.0 if weight is None else float(weight), None, self.support(said)]

    def _texts(self, rows: Sequence[Sequence[Any]], first: int, *, described: bool) -> list[Any]:
        found = []
        for row in rows:
            *entity, values = row
            for i, value in enumerate(values, first):
                said = value if isinstance(value, list) else [] if value is None else [value]
                head = self._entity(entity) if described else entity
                more = (None, None) if described else (None,)
                found += [[*head, i, str(one), *more] for one in said]
        return found

    def kind(self, labels: Sequence[str]) -> str:
        """The kind of an entity's labels."""
        return next((self.kinds[label] for label in labels if label in self.kinds), "")

    def number(self, kind: str) -> int:
        """The relation number of a type; -1 for one that the mapping does not name."""
        return list(self.relations).index(kind) if kind in self.relations else -1

    def support(self, values: Sequence[Any]) -> str | None:
        """The references of a relationship as `pack_support` has them."""
        from kgmed.graph.store.arrays import pack_support
        from kgmed.records import Support

        said = [str(v) for value in values for v in (value if isinstance(value, list) else [value]) if v is not None]
        return pack_support(tuple(Support(one) for one in said)) if said else None


def _mapped(schema: Schema) -> dict[str, tuple[str, ...]]:
    """The queries of a graph that a mapping describes; what the file names is quoted, and only names."""
    texts = f"[{', '.join(f'n.{_quoted(t)}' for t in schema.texts)}]"
    return _mapped_names(schema) | _mapped_nodes(schema, texts) | _mapped_edges(schema)


def _key(schema: Schema, c: str) -> str:
    """The id of the node that a query calls `c`."""
    return f"{c}.{_quoted(schema.id)}" if schema.id else f"id({c})"


def _columns(schema: Schema, c: str) -> str:
    """Id, name and labels of the node that a query calls `c`."""
    return f"{_key(schema, c)}, {c}.{_quoted(schema.name)}, labels({c})"


def _mapped_names(schema: Schema) -> dict[str, tuple[str, ...]]:
    """Those that find nodes by what they are called."""
    labels, aliases = [_quoted(label) for label in schema.kinds], [f"n.{_quoted(a)}" for a in schema.aliases]
    entity, called = _columns(schema, "n"), f"n.{_quoted(schema.name)}"
    names = [f"MATCH (n:{x}) WHERE {called} IN $forms RETURN {entity}, {called} AS said, 0, id(n)" for x in labels] + [
        f"MATCH (n:{x}) WHERE {a} IS NOT NULL UNWIND {a} AS said WITH n, said "
        f"WHERE said IN $forms RETURN {entity}, said, 1, id(n)"
        for x in labels
        for a in aliases
    ]
    others = (
        f"MATCH (n) WHERE id(n) IN $nodes AND {a} IS NOT NULL UNWIND {a} AS said RETURN id(n), said, 1" for a in aliases
    )
    return {"names": tuple(names), "folded": tuple(names), "aliases": tuple(others)}


def _mapped_nodes(schema: Schema, texts: str) -> dict[str, tuple[str, ...]]:
    """Those that tell of nodes."""
    labels, key, entity = [_quoted(label) for label in schema.kinds], _key(schema, "n"), _columns(schema, "n")
    described = f"n.{_quoted(schema.description)}" if schema.description else "''"
    found = "$ids" if schema.id else "[x IN $ids | toInteger(x)]"
    one = "$id" if schema.id else "toInteger($id)"
    return {
        "count": ("MATCH (n) RETURN count(n)",),
        "entity": tuple(f"MATCH (n:{x}) WHERE {key} = {one} RETURN {entity}, {described}" for x in labels),
        "texts": tuple(f"MATCH (n:{x}) WHERE {key} = {one} RETURN {entity}, {texts}" for x in labels),
        "numbers": tuple(f"MATCH (n:{x}) WHERE {key} IN {found} RETURN {key}, id(n)" for x in labels),
        "entities": (
            "MATCH (n) WHERE id(n) IN $nodes OPTIONAL MATCH (n)-[r]-() WHERE type(r) IN $types "
            f"WITH n, count(r) AS degree RETURN id(n), {entity}, degree",
        ),
        "nodes": (
            f"MATCH (n) WITH n, id(n) AS number WHERE number > $after AND any(l IN labels(n) WHERE l IN $labels) "
            f"RETURN number, {entity}, {described} ORDER BY number LIMIT $limit",
        ),
        "said": (f"MATCH (n) WHERE id(n) IN $nodes RETURN id(n), {texts}",),
    }


def _mapped_edges(schema: Schema) -> dict[str, tuple[str, ...]]:
    """Those that tell of relationships."""
    weight = f"r.{_quoted(schema.weight)}" if schema.weight else "1.0"
    said = f"[{', '.join(f'r.{_quoted(one)}' for one in schema.references)}]"
    ends = f"{_columns(schema, 'h')}, type(r), {_columns(schema, 't')}, {weight}, {said}"
    steps = "MATCH (h)-[r]->(t) WHERE type(r) IN $types AND"
    row = f"RETURN id(r), id(h), type(r), id(t), {weight} LIMIT $limit"
    return {
        "around": (
            f"{steps} id(h) IN $nodes RETURN id(h), 0, id(r), {ends}",
            f"{steps} id(t) IN $nodes AND id(h) <> id(t) RETURN id(t), 1, id(r), {ends}",
        ),
        "level": (f"{steps} id(h) IN $nodes {row}", f"{steps} id(t) IN $nodes {row}"),
        "across": (f"{steps} id(h) IN $heads AND id(t) IN $nodes {row}",),
        "facts": (f"{steps} id(h) IN $heads AND id(r) IN $edges RETURN id(r), {ends}",),
        "edges": (
            "MATCH (h)-[r]->(t) WITH h, r, t, id(r) AS number WHERE number > $after AND type(r) IN $types "
            f"RETURN number, {_key(schema, 'h')}, type(r), {_key(schema, 't')}, {weight}, {said} "
            "ORDER BY number LIMIT $limit",
        ),
    }


def _quoted(name: str) -> str:
    """A name of the mapping as Cypher writes it, whatever it holds."""
    return "`" + name.replace("`", "``") + "`"


_KEYS = {"language", "id", "name", "aliases", "description", "texts", "references", "weight", "kinds", "relations"}


def read_mapping(path: Path) -> Schema:
    """The mapping in a TOML file; raises `BadInput` naming the file and the key."""
    told = read_toml(path, _KEYS)
    forms: dict[str, type] = dict.fromkeys(("language", "id", "name", "description", "weight"), str) | {
        "aliases": list,
        "references": list,
    }
    for key, kind in (forms | dict.fromkeys(("kinds", "relations", "texts"), dict)).items():
        if not isinstance(told.get(key, kind()), kind):
            raise BadInput(
                f"{path}: {key} must be {'a text' if kind is str else 'a list' if kind is list else 'a table'}"
            )
    if not told.get("kinds"):
        raise BadInput(f'{path}: it names no label; write for example: [kinds] then Disease = "disease"')
    return Schema(
        kinds={str(label): str(kind) for label, kind in told["kinds"].items()},
        relations={k: relation_of(path, k, v) for k, v in told.get("relations", {}).items()},
        texts={k: relation_of(path, k, v) for k, v in told.get("texts", {}).items()},
        id=told.get("id", ""),
        name=told.get("name", "name"),
        aliases=tuple(map(str, told.get("aliases", ()))),
        description=told.get("description", ""),
        references=tuple(map(str, told.get("references", ()))),
        weight=told.get("weight", ""),
        language=told.get("language", "en"),
    )


def propose(address: BoltAddress, environment: Mapping[str, str]) -> str:
    """A mapping file for what the database holds now: every label, type and property that looks like one of ours."""
    bolt = open_bolt(BoltAddress(address.uri, address.user, address.database, address.graph), environment)
    try:
        labels, found, types = _seen(bolt.connection)
    finally:
        bolt.close()
    name = alike(found, CALLED) or "name"
    aliases = [key for key in found if any(part in key.lower() for part in ALIAS)]
    lines = [f"# what {address.where} holds, as kgmed reads it; mend it and ask with ?map=FILE",
             f"id = {toml(alike(found, ID))}", f"name = {toml(name)}",
             f"aliases = [{', '.join(map(toml, aliases))}]", f"description = {toml(alike(found, ABOUT))}",
             "references = []", 'language = "en"', "", "[kinds]"]  # fmt: skip
    lines += [f"{toml(label)} = {toml(words(label))}" for label in labels] + ["", "[relations]"]
    for kind, count in types:
        if not str(kind).startswith("kgmed_"):
            lines.append(f"{toml(str(kind))} = {{ {proposed(str(kind))} }}  # {count:,} of them")
    return "\n".join(lines) + "\n"


def _seen(connection: Connection) -> tuple[list[str], dict[str, int], list[Any]]:
    """The labels, how often each property is there in a sample, and the types with their numbers."""
    labels = [str(row[0]) for row in connection.run("CALL db.labels()", {})]
    labels = [label for label in labels if not label.startswith("kgmed_")]
    found: dict[str, int] = {}
    for label in labels:
        sample = f"MATCH (n:{_quoted(label)}) WITH n LIMIT 200 UNWIND keys(n) AS k RETURN k, count(*)"
        for key, count in connection.run(sample, {}):
            found[str(key)] = found.get(str(key), 0) + count
    return labels, found, connection.run("MATCH ()-[r]->() RETURN type(r), count(*) ORDER BY type(r)", {})
