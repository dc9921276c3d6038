"""A persistent cache in front of a remote graph: MKG-Rank's local base, term -> concept -> triples, in one SQLite file.

What a server answered is kept, by graph and question; that it has nothing is kept for a time (`negative`, in hours),
and an answer that failed is never kept. Safe between threads and processes: each has a connection of its own, SQLite
orders the writers. No URL and no key comes near it.
"""

import json
import math
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any, TypeVar

from kgmed.errors import BadInput, StoreError, UnknownName
from kgmed.graph.base import KnowledgeGraph, Match
from kgmed.records import Entity, Relation, Role, Support, Triple

T = TypeVar("T")
_SCHEMA = """
CREATE TABLE IF NOT EXISTS answer (
    graph TEXT NOT NULL, what TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, empty INTEGER NOT NULL,
    asked INTEGER NOT NULL, written REAL NOT NULL, PRIMARY KEY (graph, what, key)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS tally (
    graph TEXT NOT NULL, what TEXT NOT NULL, hits INTEGER NOT NULL, misses INTEGER NOT NULL,
    PRIMARY KEY (graph, what)) WITHOUT ROWID;
"""
_PATIENCE = 30.0  # seconds to wait for other writers
_FETCHED = 500  # triples of an entity that are fetched at once, so that a smaller limit finds them


@dataclass(frozen=True, slots=True)
class Hits:
    """How often an answer was there (`negative`: and said that there is nothing), and how often it was not."""

    hits: int = 0
    misses: int = 0
    negative: int = 0

    @property
    def rate(self) -> float:
        """The share of questions that the file answered; 0 before the first."""
        return self.hits / max(1, self.hits + self.misses)


class CachedGraph:
    """A graph whose answers are kept in a file; it is asked only for what is not there or has gone stale."""

    def __init__(
        self,
        graph: KnowledgeGraph,
        path: Path | str,
        *,
        positive: float = math.inf,
        negative: float = 24.0,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Wrap a graph; answers count for `positive` hours, those that there is nothing for `negative` hours.

        Raises `StoreError` where the file cannot be used.
        """
        if not (positive > 0 and negative >= 0):
            raise BadInput("the hours that an answer counts must be above 0")
        self.graph, self.path = graph, Path(path)
        self._hours, self._clock = (positive, negative), clock
        self._label = graph.label
        self._local, self._lock = threading.local(), threading.Lock()
        self._open: list[tuple[int, sqlite3.Connection]] = []
        self._counts: dict[str, Hits] = {}
        with self._connection():
            pass

    def __repr__(self) -> str:
        """The graph and the file."""
        return f"Cached({self._label}, {str(self.path)!r})"

    def __enter__(self) -> "CachedGraph":
        """Itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        self.close()

    @property
    def name(self) -> str:
        """The name of the graph."""
        return self.graph.name

    @property
    def label(self) -> str:
        """The label of the graph."""
        return self._label

    @property
    def language(self) -> str:
        """The language of the graph."""
        return self.graph.language

    @property
    def hits(self) -> dict[str, Hits]:
        """By kind of question (lookup, entity, ...): how often this object found an answer."""
        with self._lock:
            return dict(self._counts)

    def totals(self) -> dict[str, Hits]:
        """By kind of question: how often all who have closed this file, in any process, found an answer."""
        with self._connection() as connection:
            rows = connection.execute("SELECT what, hits, misses FROM tally WHERE graph = ?", (self._label,))
            return {what: Hits(hits, misses) for what, hits, misses in rows}

    def entity(self, entity_id: str, /) -> Entity:
        """The entity of that id with its description; raises `UnknownName`, also when it is kept that there is none."""
        entity = self._answer("entity", entity_id, self._entity_or_none, _read_entity)
        if entity is None:
            raise UnknownName(f"entity of {self.name}", entity_id, (), "search by name")
        return entity

    def lookup(self, name: str, /) -> list[Match]:
        """The entities of that name, best first."""
        key = " ".join(name.split())
        return self._answer("lookup", key, self.graph.lookup, lambda rows: [_read_match(row) for row in rows])

    def neighbours(self, entity_id: str, /, *, limit: int = 64, roles: Sequence[Role] = ()) -> list[Triple]:
        """At most `limit` triples around an entity; `roles` narrows them."""
        wanted, named = max(limit, _FETCHED), sorted({str(role.value) for role in roles})

        def fetch(key: str) -> list[Triple]:
            return self.graph.neighbours(entity_id, limit=wanted, roles=roles)

        key = "\n".join([entity_id, *named])
        return self._answer("neighbours", key, fetch, _read_triples, asked=wanted)[:limit]

    def attributes(self, entity_id: str, /) -> list[Triple]:
        """The texts about an entity."""
        return self._answer("attributes", entity_id, self.graph.attributes, _read_triples)

    def close(self) -> None:
        """Add the counts to the file and close it; it opens again by itself when it is needed."""
        with self._lock:
            counts, self._counts = self._counts, {}
        rows = [(self._label, what, hits.hits, hits.misses) for what, hits in counts.items()]
        with self._connection() as connection:
            connection.executemany(
                "INSERT INTO tally VALUES (?, ?, ?, ?) ON CONFLICT (graph, what) DO UPDATE "
                "SET hits = hits + excluded.hits, misses = misses + excluded.misses",
                rows,
            )
        with self._lock:
            connections, self._open, self._local = self._open, [], threading.local()
        for process, connection in connections:
            if process == os.getpid():
                connection.close()

    def _entity_or_none(self, entity_id: str) -> Entity | None:
        """The entity, None where the graph says that it has none of that id."""
        try:
            return self.graph.entity(entity_id)
        except UnknownName:
            return None

    def _answer(self, what: str, key: str, fetch: Callable[[str], T], read: Callable[[Any], T], *, asked: int = 0) -> T:
        """What is kept, or what the graph says, which is then kept."""
        kept = self._kept(what, key, asked)
        if kept is not None:
            with suppress(ValueError, TypeError, KeyError):  # written by another version: asked for again
                value = read(json.loads(kept))
                self._count(what, hit=True, empty=not value)
                return value
        self._count(what, hit=False, empty=False)
        value = fetch(key)
        text = json.dumps(_packed(value), ensure_ascii=False, separators=(",", ":"))
        row = self._label, what, key, text, int(not value), asked, self._clock()
        with self._connection() as connection:
            connection.execute("INSERT OR REPLACE INTO answer VALUES (?, ?, ?, ?, ?, ?, ?)", row)
        return value

    def _kept(self, what: str, key: str, asked: int) -> str | None:
        """The text of an answer that still counts, and that was asked for as many triples at least."""
        with self._connection() as connection:
            row = connection.execute(
                "SELECT value, empty, asked, written FROM answer WHERE graph = ? AND what = ? AND key = ?",
                (self._label, what, key),
            ).fetchone()
        if row is None or row[2] < asked:
            return None
        age = (self._clock() - row[3]) / 3600
        return str(row[0]) if age < self._hours[row[1]] else None

    def _count(self, what: str, *, hit: bool, empty: bool) -> None:
        """Count a question."""
        with self._lock:
            old = self._counts.get(what, Hits())
            self._counts[what] = Hits(old.hits + hit, old.misses + (not hit), old.negative + (hit and empty))

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        """The connection of this thread and process, in a transaction; raises `StoreError`."""
        try:
            if getattr(self._local, "process", 0) != os.getpid():  # a connection may not be carried over a fork
                self._local.connection, self._local.process = self._connect(), os.getpid()
            connection: sqlite3.Connection = self._local.connection
            yield connection
        except (sqlite3.Error, OSError) as error:
            raise StoreError(f"{self.path}: the cache cannot be used ({error}); delete it or name another") from error

    def _connect(self) -> sqlite3.Connection:
        """A connection to the file, which is made where it is not there; each statement is its own transaction."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(self.path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.executescript(_SCHEMA)
        with self._lock:
            self._open.append((os.getpid(), connection))
        return connection


def _packed(value: object) -> Any:
    """Plain data for records: the values of their fields in order, a third of the size of `to_json`'s."""
    if is_dataclass(value):
        return [_packed(getattr(value, f.name)) for f in fields(value)]
    return [_packed(v) for v in value] if isinstance(value, list | tuple) else value


def _read_entity(row: Any) -> Entity | None:
    return None if row is None else Entity(*row)


def _read_match(row: Any) -> Match:
    entity, name, how, score = row
    return Match(Entity(*entity), name, how, score)


def _read_triples(rows: Any) -> list[Triple]:
    return [_read_triple(*row) for row in rows]


def _read_triple(head: Any, relation: Any, tail: Any, weight: float, source: str, support: Any) -> Triple:
    name, role, reverse = relation
    said = tuple(Support(reference, tuple((k, v) for k, v in qualifiers)) for reference, qualifiers in support)
    return Triple(Entity(*head), Relation(name, Role(role), reverse), Entity(*tail), weight, source, said)
