"""A graph in PostgreSQL, asked by fixed queries with bound values in a session that cannot write, and written there.

Each graph has a schema of its own, `kgmed_NAME`: tables that anybody can query, and the graph's files beside them. An
address holds no password: libpq takes it from PGPASSWORD or ~/.pgpass, so that it stands in no message, label, log or
list of processes.
"""

import struct
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, unquote, urlsplit

import numpy as np
from numpy.typing import NDArray

from kgmed.disk import read_toml
from kgmed.errors import BadInput, Busy, KgmedError, Unavailable, UnknownName
from kgmed.graph import library
from kgmed.graph.names import Near
from kgmed.graph.remote.database import COLUMNS, GRAPH_NAME, LAYOUT, Progress, files_of, parts, said_of, within, written
from kgmed.graph.vectors import EXACT, Vectors

if TYPE_CHECKING:
    from psycopg import Connection, Cursor
    from psycopg.sql import Composable

    from kgmed.models.base import Encoder
LIKE = "postgresql://USER@HOST:5432/DATABASE#NAME"
WAIT, LATE = 10, 30_000  # seconds to connect, milliseconds of one query
_OPTIONS = ("host", "port", "sslmode", "sslrootcert", "sslcert", "service", "passfile")


@dataclass(frozen=True, slots=True)
class Address:
    """Where a graph is: what libpq is told, which is never a password, and the name of the graph."""

    options: tuple[tuple[str, str], ...]
    graph: str
    in_place: bool = False  # whether it is to be asked in place, however small it is
    map: str = ""  # the mapping file of tables that kgmed did not write

    @classmethod
    def of(cls, text: str, *, graph: str = "") -> "Address":
        """The address that a text names; `graph` is that of an address without #NAME.

        Raises `BadInput`, which never repeats the text.

        >>> Address.of("postgresql://me@db.example:5433/kg#cmekg").where
        'db.example:5433/kg#cmekg'
        """
        try:
            parts = urlsplit(text)
            host, port = parts.hostname or "", parts.port
        except ValueError:
            raise BadInput(f"the address of a graph in PostgreSQL must look like {LIKE}") from None
        more = dict(parse_qsl(parts.query))
        in_place, mapping = more.pop("asked", "") == "in-place", more.pop("map", "")
        if parts.password is not None or "password" in more or (parts.username or "").count("@"):
            raise BadInput("an address is seen by others: leave the password out of it, set PGPASSWORD or ~/.pgpass")
        name = parts.fragment or graph
        strange = "://" not in text or any(c in parts.path[1:] for c in "/:@")  # part of a login, where it is mistyped
        if (
            strange
            or parts.scheme not in ("postgresql", "postgres")
            or not GRAPH_NAME.fullmatch(name)
            or more.keys() - {*_OPTIONS}
        ):
            raise BadInput(f"the address of a graph in PostgreSQL must look like {LIKE}")
        given = {"host": host, "port": str(port or ""), "user": unquote(parts.username or ""),
                 "dbname": unquote(parts.path[1:])} | more  # fmt: skip
        return cls(tuple((k, v) for k, v in given.items() if v), name, in_place, mapping)

    @property
    def where(self) -> str:
        """The address as messages name it."""
        said = dict(self.options)
        port = f":{said['port']}" if "port" in said else ""
        return f"{said.get('host', 'localhost')}{port}/{said.get('dbname', '')}#{self.graph}"

    @property
    def schema(self) -> str:
        """The schema that holds the graph."""
        return f"kgmed_{self.graph}"

    def connect(self, *, write: bool = False) -> "Connection[Any]":
        """A connection whose tables are those of the graph; raises `Unavailable`, which names no user's words."""
        try:
            import psycopg
        except ImportError:
            raise Unavailable('PostgreSQL needs more packages: pip install "kgmed[postgres]"') from None
        tables = "" if self.map else f"-c search_path={_quoted(self.schema)},public "
        settings = f"{tables}-c client_encoding=UTF8"
        if not write:
            settings += f" -c default_transaction_read_only=on -c statement_timeout={LATE}"
        with said_plainly(self):
            told: dict[str, Any] = dict(self.options) | {"connect_timeout": WAIT, "options": settings}
            return psycopg.connect(**told, autocommit=True, application_name="kgmed")


def _quoted(name: str) -> str:
    """A schema's name, of which `Address` has checked the letters, as PostgreSQL writes it."""
    return f'"{name}"'


@contextmanager
def said_plainly(address: Address) -> Iterator[None]:
    """A block in which an error of the server becomes one of ours, in our words."""
    import psycopg

    try:
        yield
    except psycopg.Error as e:
        raise _plain(address, e) from None


def _plain(address: Address, error: Any) -> KgmedError:
    """Our error for what the server, or the way to it, said."""
    state, said = error.sqlstate or "", str(error)
    if state.startswith("28") or "authentication failed" in said or "no password supplied" in said:
        return Unavailable(f"{address.where} refuses the login; check the user, PGPASSWORD or ~/.pgpass")
    if state == "3D000" or ("database" in said and "does not exist" in said):
        return Unavailable(f"{address.where}: the server has no such database; check the address")
    if state.startswith("42") and address.map:
        return Unavailable(f"{address.where}: a table is not as {address.map} has it ({state}); mend the mapping")
    if state in ("42P01", "3F000"):
        return UnknownName("graph in PostgreSQL", address.graph, (), f"write it with: kgmed graph load {address.graph}")
    if state == "57014":
        return Busy(f"{address.where} did not answer in {LATE // 1000} seconds; try again later")
    if state == "42501":
        return Unavailable(f"{address.where} does not allow it; ask for the right to use the schema {address.schema}")
    if not state or state.startswith(("08", "57", "53")):
        return Busy(f"{address.where} cannot be reached; check the address and the network, try again later")
    return Unavailable(f"{address.where} answers with the error {state}; load the graph again")


_SQL = read_toml(Path(__file__).with_suffix(".toml"))
_NAMED = _SQL["queries"].pop("names")
_QUERIES = {**_SQL["queries"], "names": _NAMED.format(form="normal"), "folded": _NAMED.format(form="folded")}


class Postgres:
    """A graph that `load` wrote to PostgreSQL; implements `Database`."""

    most = 100_000

    def __init__(self, address: Address) -> None:
        """Name the address; it is connected to when it is first asked."""
        self.address, self.where = address, address.where
        self._connection: Connection[Any] | None = None
        self._vectors: dict[str, NamesInPostgres | None] = {}
        self._lock = threading.Lock()

    def rows(self, what: str, /, **values: Any) -> list[Any]:
        """The rows of what is asked."""
        return self.run(_QUERIES[what], values)

    def run(self, query: "str | Composable", values: dict[str, Any]) -> list[Any]:
        """The rows of a query; where the server has closed the connection meanwhile, it is asked again once."""
        with self._lock:
            again = self._connection is not None
            while True:
                connection = self._connection = self._connection or self.address.connect()
                try:
                    return self._asked(connection, query, values)
                except Busy:
                    if not connection.broken:
                        raise
                    self._connection = None
                    if not again:
                        raise
                    again = False

    def _asked(self, connection: "Connection[Any]", query: "str | Composable", values: dict[str, Any]) -> list[Any]:
        """The rows of a query; a server that says nothing is waited for a little longer than it may take."""
        import psycopg

        def ask() -> list[Any]:
            return connection.execute(query, values).fetchall()  # type: ignore[arg-type]

        with said_plainly(self.address):
            return within(LATE / 1000 + WAIT, self.where, ask, (psycopg.Error, OSError))

    def vectors(self, encoder: "Encoder") -> "NamesInPostgres | None":
        """The names of the graph by their vectors, where `pgvector.write` wrote them by this encoder."""
        if encoder.name not in self._vectors:
            self._vectors[encoder.name] = open_names(self, encoder)
        return self._vectors[encoder.name]

    def close(self) -> None:
        """Close the connection; it opens again by itself when it is needed."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None


# --- The names of a graph by their vectors, which `pgvector.write` writes beside it.

_TEXTS = 64  # texts compared in one call
_CANDIDATES = 4  # candidates for each name wanted


class NamesInPostgres:
    """All names of a graph as vectors in its schema; implements `Names`."""

    def __init__(self, server: Postgres, encoder: "Encoder", count: int) -> None:
        """The names of the graph of a server, `count` of them, by the encoder that `pgvector.write` had."""
        self.server, self.encoder, self._count = server, encoder, count

    def __len__(self) -> int:
        """The number of names n."""
        return self._count

    def search(self, texts: list[str], *, limit: int = 10) -> list[list[Near]]:
        """For each text the `limit` names of highest cosine, best first, ties by row."""
        parts = [texts[i : i + _TEXTS] for i in range(0, len(texts), _TEXTS)]
        return [near for part in parts for near in self.nearest(self.encoder(part), limit=limit)]

    def nearest(self, queries: NDArray[np.float32], *, limit: int = 10) -> list[list[Near]]:
        """The nearest names of a few texts at once, by their unit rows."""
        said = [f"[{','.join(map(repr, row))}]" for row in np.asarray(queries, np.float32).astype(float).tolist()]
        found: list[list[Near]] = [[] for _ in said]
        for at, row, name, score in self.server.run(_SQL["nearest"], {"texts": said, "limit": _CANDIDATES * limit}):
            found[at - 1].append(Near(name, float(score), row))
        return [sorted(near, key=lambda n: (-n.score, n.row))[:limit] for near in found]


def open_names(server: Postgres, encoder: "Encoder") -> NamesInPostgres | None:
    """The names of a graph in PostgreSQL by this encoder; None where none of it as it stands were written there."""
    query = """
    SELECT v.count FROM name_vectors v JOIN graph g ON g.label = v.label
    WHERE v.encoder = %(encoder)s AND v.dimensions = %(dimensions)s"""
    try:
        rows = server.run(query, {"encoder": encoder.name, "dimensions": encoder.dimensions})
    except UnknownName:  # no such table
        return None
    return NamesInPostgres(server, encoder, rows[0][0]) if rows else None


# --- A graph of this machine written to PostgreSQL, block by block beside what stands there, which it then replaces.

COMMENT = "a graph of kgmed"  # on its schema, so that no other schema is ever replaced
NEW = "+new"  # behind the name of a schema that is being written; no graph's name has it
_ROWS, _PARTS = 200_000, 16  # of a transaction: rows of a table, parts of files


def load(
    name: str, address: Address, *, force: bool = False, progress: Progress = lambda rows: None
) -> tuple[str, bool]:
    """The label of a graph that stands on the server now, and whether it was written now; a graph of it is replaced.

    It is written in blocks into a schema of its own, which takes the place of the old one when all of it is there:
    killed in the middle, it leaves what was there, and the next load of the same graph goes on where it stopped.
    Raises `BadInput` where a schema of that name is not of kgmed, and as `library.load`.
    """
    if address.map:
        raise BadInput(f"{address.where}: tables that a mapping describes are only read; leave ?map= out")
    store = library.load(name)
    with address.connect(write=True) as connection, said_plainly(address):
        cursor = connection.cursor()
        cursor.execute("SELECT pg_advisory_lock(hashtext(%s))", [address.schema])
        if _standing(cursor, address) == store.label and not force:
            return store.label, False
        done = _begun(cursor, address, said_of(store), force=force)
        for table, rows in written(store, progress, done):
            _copy(connection, table, rows, _ROWS)
        files = ((n, i, data) for n, path in files_of(store) for i, data in enumerate(parts(path)))
        _copy(connection, "file", islice(files, done.get("file", 0), None), _PARTS)
        with connection.transaction():
            cursor.execute(_SQL["indexes"])
            # whether pg_trgm is where its operators are seen; it is never installed from here
            if cursor.execute("SELECT to_regproc('gin_extract_value_trgm')").fetchone() != (None,):
                cursor.execute(_SQL["trigrams"])
            cursor.execute("ANALYZE graph, relation, entity, name, edge, attribute")
            cursor.execute("DROP TABLE loading")
            cursor.execute(f"DROP SCHEMA IF EXISTS {_quoted(address.schema)} CASCADE".encode())
            new, schema = _quoted(address.schema + NEW), _quoted(address.schema)
            cursor.execute(f"ALTER SCHEMA {new} RENAME TO {schema}".encode())
    return store.label, True


def _standing(cursor: "Cursor[Any]", address: Address) -> str:
    """The label of the graph in the schema; "" = none. Raises `BadInput` where the schema is somebody else's."""
    if not _ours(cursor, address, address.schema):
        return ""
    row = cursor.execute("SELECT label FROM graph WHERE layout = %s", [LAYOUT]).fetchone()
    return str(row[0]) if row else ""


def _ours(cursor: "Cursor[Any]", address: Address, schema: str) -> bool:
    """Whether there is a schema of that name, which kgmed made; raises `BadInput` where somebody else did."""
    query = "SELECT obj_description(oid, 'pg_namespace') FROM pg_namespace WHERE nspname = %s"
    row = cursor.execute(query, [schema]).fetchone()
    if row is not None and row[0] != COMMENT:
        raise BadInput(f"{address.where}: the schema {schema} is not of kgmed; choose another #NAME")
    return row is not None


def _begun(cursor: "Cursor[Any]", address: Address, what: str, *, force: bool) -> dict[str, int]:
    """How many rows of each table a load of the same stands at that was killed; otherwise one is begun, with none.

    From here on tables are those of the schema that is being written.
    """
    schema = address.schema + NEW
    there = _ours(cursor, address, schema)
    cursor.execute(f"SET search_path = {_quoted(schema)}, public".encode())
    if there and not force:
        rows = cursor.execute("SELECT name, rows FROM loading WHERE what = %s", [what]).fetchall()
        if rows:
            return dict(rows)
    with cursor.connection.transaction():
        cursor.execute(f"DROP SCHEMA IF EXISTS {_quoted(schema)} CASCADE".encode())
        cursor.execute(f"CREATE SCHEMA {_quoted(schema)}".encode())
        cursor.execute(f"COMMENT ON SCHEMA {_quoted(schema)} IS '{COMMENT}'".encode())
        cursor.execute(_SQL["tables"])
        tables = [[what, table] for table in (*COLUMNS, "file")]
        cursor.executemany("INSERT INTO loading VALUES (%s, %s, 0)", tables)
    return {}


def _copy(connection: "Connection[Any]", table: str, rows: Iterable[tuple[Any, ...]], most: int) -> None:
    """Write the rows of one table, at most so many in a transaction, which also notes how many stand there.

    A NUL, which PostgreSQL does not take in a text, becomes U+FFFD.
    """
    rest, cursor = iter(rows), connection.cursor()
    while (first := next(rest, None)) is not None:
        with connection.transaction():
            with cursor.copy(f"COPY {table} FROM STDIN".encode()) as copy:
                for row in chain([first], islice(rest, most - 1)):
                    copy.write_row([v.replace("\0", "\ufffd") if type(v) is str else v for v in row])
            cursor.execute("UPDATE loading SET rows = rows + %s WHERE name = %s", [cursor.rowcount, table])


# --- Writing the vectors of a graph's names to PostgreSQL, beside the graph, by the extension pgvector.
#
# `postgres.NamesInPostgres` searches them: exactly up to `EXACT` names, above that by the extension's HNSW index,
# whose candidates are ordered by their cosines. kgmed installs no extension.


def write(
    vectors: Vectors, label: str, address: Address, progress: Callable[[int, int], None] = lambda done, of: None,
    *, exact: int = EXACT,
) -> int:  # fmt: skip
    """How many names now stand beside the graph of an address, in place of those that did; more than `exact` by index.

    One transaction. Raises `Unavailable` without the extension, or where the graph there is not that of the label.
    """
    count, dimensions = len(vectors), vectors.encoder.dimensions
    with address.connect(write=True) as connection, said_plainly(address), connection.transaction():
        cursor = connection.cursor()
        row = cursor.execute("SELECT label FROM graph").fetchone()
        if row is None or row[0] != label:
            raise Unavailable(f"{address.where} holds another graph than {label}; load it first: kgmed graph load")
        if cursor.execute("SELECT to_regtype('vector')").fetchone() == (None,):
            raise Unavailable(
                f"{address.where}: the database has no pgvector; let its owner run CREATE EXTENSION vector"
            )
        cursor.execute("DROP TABLE IF EXISTS name_vector, name_vectors")
        cursor.execute("CREATE TABLE name_vectors (encoder text, dimensions int, count int, label text)")
        cursor.execute(f"CREATE TABLE name_vector (row int, name text, vector vector({dimensions:d}))".encode())
        with cursor.copy("COPY name_vector FROM STDIN (FORMAT binary)") as copy:
            copy.set_types(["int4", "text", "bytea"])
            for number, (name, packed) in enumerate(_packed(vectors), start=1):
                copy.write_row((number - 1, name.replace("\0", "\ufffd"), packed))
                if number % 10_000 == 0 or number == count:
                    progress(number, count)
        cursor.execute("ALTER TABLE name_vector ADD PRIMARY KEY (row)")
        if count > exact:
            cursor.execute("CREATE INDEX ON name_vector USING hnsw (vector vector_ip_ops)")
        about = vectors.encoder.name, dimensions, count, label
        cursor.execute("INSERT INTO name_vectors VALUES (%s, %s, %s, %s)", about)
        cursor.execute("ANALYZE name_vector")
    return count


def _packed(vectors: Vectors) -> Iterator[tuple[str, bytes]]:
    """Each name with its row as pgvector receives it: dimensions, a zero, numbers of 4 bytes."""
    head = struct.pack(">HH", vectors.encoder.dimensions, 0)
    for number in range(len(vectors)):
        yield vectors.names.name(number), head + np.asarray(vectors.matrix[number]).astype(">f4").tobytes()
