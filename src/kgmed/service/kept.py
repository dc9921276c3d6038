"""What a service holds between requests: the runs that links lead to, what is opened once, graphs that are fetched.

Runs are held in memory, the newest, and in a file of this machine or in PostgreSQL, all.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol
from uuid import UUID

from kgmed.disk import data_folder
from kgmed.errors import BadInput, Busy, KgmedError, SourceError, StoreError, UnknownName
from kgmed.graph import get, library
from kgmed.graph.doctor import Preview, preview
from kgmed.graph.formats import tables
from kgmed.graph.remote.postgres import Address, said_plainly
from kgmed.prepare import prepare
from kgmed.records import Run
from kgmed.runs import FILE, Kept, RunStore, packed, unpacked

if TYPE_CHECKING:
    from psycopg import Connection

RECENT = 512  # runs that are kept in memory
_SCHEMA = "runs"  # of an address without #NAME: the schema is kgmed_runs
_MARK = 0x4B52554E  # KRUN
_TABLE = (
    'CREATE SCHEMA IF NOT EXISTS "{0}"',
    'CREATE TABLE IF NOT EXISTS "{0}".run (id uuid PRIMARY KEY, at timestamptz NOT NULL DEFAULT now(), '
    "graph text NOT NULL, method text NOT NULL, run bytea NOT NULL)",
)
_PUT = b"INSERT INTO run (id, graph, method, run) VALUES (%s, %s, %s, %s) ON CONFLICT (id) DO NOTHING"
_GET = b"SELECT run FROM run WHERE id = %s"


class KeepsRuns(Protocol):
    """Where runs are kept."""

    def put(self, run: Run) -> None:
        """Keep a run."""

    def get(self, id: str) -> Run:
        """The run of that id; raises `BadInput`."""
        ...

    def close(self) -> None:
        """Close what is open."""


class PostgresRuns:
    """Runs in a table of PostgreSQL, shared by all services that name it; safe to share between threads.

    A run is kept as compressed JSON, as in `RunStore`. Old ones go by `DELETE FROM kgmed_runs.run WHERE at < ...`.
    """

    def __init__(self, address: str) -> None:
        """The table at an address, which is made where it is not there. Raises `BadInput`, `Unavailable`, `Busy`."""
        self.address = Address.of(address, graph=_SCHEMA)
        self._lock = threading.Lock()
        self._opened: Connection[Any] | None = None
        with self.address.connect(write=True) as connection, said_plainly(self.address), connection.transaction():
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (_MARK,))  # several processes begin at once
            for made in _TABLE:
                connection.execute(made.format(self.address.schema).encode())

    def put(self, run: Run) -> None:
        """Keep a run; that of its id, where there is one, is the same."""
        self._rows(_PUT, run.id, run.graph.replace("\0", ""), run.method, packed(run))

    def get(self, id: str) -> Run:
        """The run of that whole id; raises `BadInput`."""
        found = self._rows(_GET, id)
        if not found:
            raise BadInput(f"no run has the id {id!r}")
        return unpacked(found[0][0], self.address.where, "delete its row")

    def close(self) -> None:
        """Close the connection; it opens again by itself."""
        with self._lock:
            self._close()

    def _rows(self, sql: bytes, *values: object) -> list[Any]:
        """What a statement gives; a connection that has ended since is opened once more."""
        with self._lock:
            try:
                return self._done(sql, values)
            except Busy:
                self._close()
                return self._done(sql, values)

    def _done(self, sql: bytes, values: tuple[object, ...]) -> list[Any]:
        self._opened = self._opened or self.address.connect(write=True)
        with said_plainly(self.address):
            done = self._opened.execute(sql, values)
            return done.fetchall() if done.description else []

    def _close(self) -> None:
        if self._opened is not None:
            self._opened.close()
        self._opened = None


class RunsKept:
    """The runs of a service by their whole id: the newest in memory, all in a store where there is one."""

    def __init__(self, store: KeepsRuns | None = None, recent: int = RECENT) -> None:
        """With or without a store."""
        self._store, self._most = store, recent
        self.problem = ""  # why the last run is in memory alone
        self.on_problem: Callable[[str], object] = lambda _: None  # hears of it once, until it is over
        self._recent: OrderedDict[str, Run] = OrderedDict()
        self._lock = threading.Lock()

    def keep_in(self, store: KeepsRuns | None) -> None:
        """Keep runs in a store from now on."""
        self._store = store

    def put(self, run: Run) -> Run:
        """The same run, kept."""
        with self._lock:
            self._recent[run.id] = run
            while len(self._recent) > self._most:
                self._recent.popitem(last=False)
        if self._store is not None:
            self._keep(self._store, run)
        return run

    def _keep(self, store: KeepsRuns, run: Run) -> None:
        """Put a run into the store; an answer does not fail because it cannot be kept."""
        before = self.problem
        try:
            store.put(run)
            self.problem = ""
        except KgmedError as error:
            self.problem = str(error)
        if self.problem and not before:
            self.on_problem(self.problem)

    def get(self, id: str) -> Run:
        """The run of that id, which must be whole: nobody finds runs of others by a part. Raises `UnknownName`."""
        if run := self._recent.get(id):
            return run
        try:
            if self._store is not None and str(UUID(id)) == id:
                return self._store.get(id)
        except (BadInput, ValueError):
            pass
        raise UnknownName("run", id, ())

    def list(self, most: int, sought: str = "") -> list[Kept]:
        """The newest runs, newest first, that have every word that is sought; those in memory where no file has them.

        Raises `StoreError`.
        """
        if isinstance(self._store, RunStore):
            return self._store.list(most, sought)
        words = sought.lower().split()
        with self._lock:
            kept = [Kept.of(run) for run in reversed(self._recent.values())]
        return [k for k in kept if all(w in f"{k.question}\n{k.answer}".lower() for w in words)][:most]

    def remove(self, id: str) -> None:
        """Delete a run, where there is one of that whole id; one in PostgreSQL stays there."""
        with self._lock:
            self._recent.pop(id, None)
        if isinstance(self._store, RunStore):
            self._store.remove(id)

    def close(self) -> None:
        """Close the store."""
        if self._store is not None:
            self._store.close()


def runs_at(address: str = "") -> KeepsRuns:
    """The store of runs at an address of PostgreSQL; "" = that in the data folder."""
    return PostgresRuns(address) if address else RunStore(data_folder() / FILE)


# --- What is opened once.


class Opened:
    """Things by name, each made once however many threads ask first."""

    def __init__(self) -> None:
        """Nothing yet."""
        self._made: dict[Any, Any] = {}
        self._locks: dict[Any, threading.RLock] = {}

    def __call__(self, name: Any, make: Callable[[], Any]) -> Any:
        """The thing of that name."""
        if name not in self._made:
            with self._locks.setdefault(name, threading.RLock()):
                if name not in self._made:
                    self._made[name] = make()
        return self._made[name]


# --- Graphs that are fetched.


@dataclass(frozen=True, slots=True)
class FetchState:
    """How far the fetching of a graph is: bytes, then rows; `problem` says why it has failed."""

    doing: Literal["fetching", "building", "preparing", "done", "failed"]
    done: int = 0
    problem: str = ""


Told = Callable[[int], None]


def fetch_and_build(name: str, fetching: Told, building: Told) -> None:
    """Fetch a graph by name, or build one that a package holds; the bytes and the rows so far are told."""
    if name in library.PACKAGED:
        library.build_graph(name, progress=building)
    else:
        get.get(name, fetching=fetching, building=building)


LARGEST_UPLOAD = 64 << 20  # bytes of a file
_SUFFIXES = frozenset(
    (".csv", ".tsv", ".txt", ".json", ".jsonl", ".ttl", ".nt", ".obo", ".owl", ".rdf", ".xml", ".graphml")
)


@dataclass(frozen=True, slots=True)
class Uploaded:
    """A file of a graph that is to be built: what its columns seem to say ("" = it has none), and its beginning."""

    name: str
    columns: str  # TOML, as `kgmed graph map` writes it
    preview: Preview | None
    problem: str = ""  # why nothing can be read so far; other words for the columns may mend it


class Uploads:
    """Files that were handed in, one a graph's name, in the data folder until the graph is built."""

    def __init__(self) -> None:
        """In the data folder; nothing of a request but a checked name and suffix is a part of a path."""
        self.folder = data_folder() / "uploads"

    def put(self, name: str, file: str, data: bytes) -> Uploaded:
        """Keep a file and look at it; raises `BadInput`, `SourceError`."""
        suffix = Path(file).suffix.lower()
        if suffix not in _SUFFIXES:
            raise BadInput(f"{file[-40:]!r} cannot be read here; hand in one of {', '.join(sorted(_SUFFIXES))}")
        if (
            library.folder_of(name).exists()
            or name in library.PACKAGED
            or name in {row.name for row in library.published_graphs()}
        ):
            raise BadInput(f"there is a graph called {name!r} already; take another name")
        self.drop(name)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            (self.folder / f"{name}{suffix}").write_bytes(data)
        except OSError as error:
            raise StoreError(f"{self.folder}: cannot be written ({error.strerror}); check the disk") from None
        return self.look(name, "")

    def look(self, name: str, columns: str) -> Uploaded:
        """What the file says, with other words for its columns; "" = as they seem. Raises as `put`."""
        file, given = self.file(name), self._given(name, columns)
        with suppress(SourceError):
            columns = columns or (tables.first_map(file) if file.suffix in (".csv", ".tsv", ".txt") else "")
        try:
            return Uploaded(name, columns, preview(library.source_of(name, file, columns=given)))
        except SourceError as error:
            if not columns:
                raise
            return Uploaded(name, columns, None, str(error))

    def build(self, name: str, columns: str, told: "Told") -> None:
        """Build the graph, and drop the file; raises as `library.build_graph`."""
        library.build_graph(name, self.file(name), columns=self._given(name, columns), progress=told)
        self.drop(name)

    def file(self, name: str) -> Path:
        """The file that was handed in for a graph; raises `UnknownName`."""
        library.folder_of(name)
        found = [path for s in sorted(_SUFFIXES) if (path := self.folder / f"{name}{s}").is_file()]
        if not found:
            raise UnknownName("file that was handed in", name, ())
        return found[0]

    def drop(self, name: str) -> None:
        """Delete what was handed in for a graph."""
        library.folder_of(name)
        for suffix in (*_SUFFIXES, ".toml"):
            (self.folder / f"{name}{suffix}").unlink(missing_ok=True)

    def _given(self, name: str, columns: str) -> Path | None:
        """The file of what the columns say; None = none is given."""
        path = self.folder / f"{name}.toml"
        path.unlink(missing_ok=True)
        if columns.strip():
            path.write_text(columns, encoding="utf-8")
        return path if columns.strip() else None


class Fetches:
    """Graphs that are fetched and built one after the other, beside what the service answers."""

    def __init__(
        self, fetch: Callable[[str, Told, Told], None] = fetch_and_build, prepare: Callable[[str], None] = prepare
    ) -> None:
        """None yet."""
        self.fetch, self.prepare = fetch, prepare
        self.states: dict[str, FetchState] = {}
        self._lock = threading.Lock()  # one at a time

    def begin(
        self,
        name: str,
        make: "Callable[[str, Told, Told], None] | None" = None,
        then: Callable[[str], object] = lambda _: None,
    ) -> None:
        """Fetch a graph, or make it otherwise, if that is not being done, then `then`; raises `UnknownName`."""
        if name not in library.PACKAGED and make is None:
            get.published(name)
        now = self.states.get(name)
        if now is None or now.doing in ("done", "failed"):
            self.states[name] = FetchState("fetching")
            threading.Thread(
                target=self._fetch, args=(name, make or self.fetch, then), name=f"kgmed-get-{name}", daemon=True
            ).start()

    def _fetch(self, name: str, fetch: "Callable[[str, Told, Told], None]", then: Callable[[str], object]) -> None:
        def fetched(done: int) -> None:
            self.states[name] = FetchState("fetching", done)

        def built(done: int) -> None:
            self.states[name] = FetchState("building", done)

        with self._lock:
            try:
                fetch(name, fetched, built)
                self.states[name] = FetchState("preparing")
                self.prepare(name)
                then(name)
                self.states[name] = FetchState("done")
            except KgmedError as error:
                self.states[name] = replace(self.states[name], doing="failed", problem=str(error))
            finally:  # whatever else ended it is in the log, as of any thread
                if self.states[name].doing != "done":
                    problem = self.states[name].problem or "ended by a fault of kgmed's own; the service's log has it"
                    self.states[name] = replace(self.states[name], doing="failed", problem=problem)
