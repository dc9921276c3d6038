"""A cache in one SQLite file, shared by threads and processes: replies of models, answers of remote graphs.

It has a write-ahead log: readers never wait, and a writer that is killed harms nothing that it had written. One
connection a process, opened when it is needed and used by one thread at a time; a forked child opens its own.
"""

import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from errno import ENOSPC
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from kgmed.errors import StoreError

_AGAIN = 0.01  # seconds between two tries to open it while others do
_LOOK = 256  # writes between two looks at the size
T = TypeVar("T")


class Hits(NamedTuple):
    """How often an answer was there (`negative`: and said that there is nothing), and how often it was not."""

    hits: int = 0
    misses: int = 0
    negative: int = 0

    @property
    def rate(self) -> float:
        """The share of questions that the file answered; 0 before the first."""
        return self.hits / max(1, self.hits + self.misses)


class Layout(NamedTuple):
    """What a kind of cache file holds: `kind` as messages say it, its tables, and the marks by which it is known.

    `oldest` = what deletes some rows where the file has grown to `largest` bytes; 0 = it may grow.
    """

    kind: str
    tables: Mapping[str, str]  # name -> columns
    mark: int  # SQLite's application_id
    version: int = 1
    largest: int = 0
    oldest: str = ""
    wait: float = 60.0  # seconds for other writers


class CacheFile:
    """The file, and how often this object found an answer in it."""

    def __init__(self, path: Path, layout: Layout, *, create: bool = True) -> None:
        """Open the file, which is made if need be; without `create` it must be there. Raises `StoreError`."""
        self.path, self._layout, self._create = path, layout, create
        self._lock = threading.Lock()
        self._connection: tuple[int, sqlite3.Connection] | None = None
        self._inherited: list[sqlite3.Connection] = []  # a parent's; to close it here could break the parent's locks
        self._writes = 0
        self._counts: dict[str, Hits] = {}
        self._do(lambda _: None)

    @property
    def hits(self) -> dict[str, Hits]:
        """What was counted so far, by kind of question."""
        with self._lock:
            return dict(self._counts)

    def count(self, what: str, *, hit: bool, negative: bool = False) -> None:
        """Count a question."""
        with self._lock:
            old = self._counts.get(what, Hits())
            self._counts[what] = Hits(old.hits + hit, old.misses + (not hit), old.negative + (hit and negative))

    def take_counts(self) -> dict[str, Hits]:
        """What was counted so far; counting begins anew."""
        with self._lock:
            counts, self._counts = self._counts, {}
            return counts

    def rows(self, sql: str, values: Sequence[object] = ()) -> list[Any]:
        """The rows that a SELECT finds. Raises `StoreError`, as all that follow."""
        return self._do(lambda connection: connection.execute(sql, values).fetchall())

    def write(self, sql: str, *rows: Sequence[object]) -> None:
        """Write rows, in one transaction each."""

        def work(connection: sqlite3.Connection) -> None:
            connection.executemany(sql, rows)
            if self._layout.largest and not self._writes % _LOOK:
                self._shrink(connection)
            self._writes += 1

        self._do(work)

    def close(self) -> None:
        """Close this process's connection; it opens again by itself when it is needed."""
        with self._lock:
            if self._connection is not None and self._connection[0] == os.getpid():
                self._connection[1].close()
                self._connection = None

    def _do(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """What the work on this process's connection gives."""
        with self._lock, self._errors():
            return work(self._connected())

    def _connected(self) -> sqlite3.Connection:
        """This process's connection."""
        if self._connection is not None:
            owner, connection = self._connection
            if owner == os.getpid():
                return connection
            self._inherited.append(connection)
        connection = self._open()
        self._connection = os.getpid(), connection
        weakref.finalize(self, _close, os.getpid(), connection)
        return connection

    def _open(self) -> sqlite3.Connection:
        """A connection to the file; each statement is a transaction of its own."""
        if self._create:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.touch(mode=0o600)  # what was asked about a patient is nobody else's
        elif not self.path.is_file():
            raise StoreError(f"there are no recorded {self._layout.kind} at {self.path}; record them first")
        until = time.monotonic() + self._layout.wait
        while True:
            wait = max(until - time.monotonic(), _AGAIN)
            connection = sqlite3.connect(self.path, timeout=wait, isolation_level=None, check_same_thread=False)
            try:
                self._set_up(connection)
                connection.execute(f"PRAGMA busy_timeout = {int(1000 * self._layout.wait)}")
                return connection
            except sqlite3.OperationalError as error:  # to begin the log takes the file for oneself, and does not wait
                connection.close()
                if "locked" not in str(error) or time.monotonic() > until:
                    raise
                time.sleep(_AGAIN)
            except BaseException:
                connection.close()
                raise

    def _set_up(self, connection: sqlite3.Connection) -> None:
        """Make the tables in a new file; refuse a file that is something else."""
        layout = self._layout
        connection.execute("BEGIN")  # all at one time: another process may be making the file
        marks = _pragma(connection, "application_id"), _pragma(connection, "user_version")
        names = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
        connection.execute("COMMIT")
        if marks != (layout.mark, layout.version):
            if any(marks) or names - layout.tables.keys():
                raise StoreError(f"{self.path} holds no {layout.kind} of this version; give another file")
            connection.execute("PRAGMA journal_mode = WAL")
            tables = "".join(f"CREATE TABLE IF NOT EXISTS {name} ({sql}; " for name, sql in layout.tables.items())
            known = f"PRAGMA application_id = {layout.mark}; PRAGMA user_version = {layout.version}"
            connection.executescript(f"BEGIN IMMEDIATE; {tables}{known}; COMMIT")
        connection.execute("PRAGMA synchronous = NORMAL")

    def _shrink(self, connection: sqlite3.Connection) -> None:
        """Delete what is oldest where the file is too large; the room is used again."""
        pages = _pragma(connection, "page_count") - _pragma(connection, "freelist_count")
        if pages * _pragma(connection, "page_size") > self._layout.largest:
            connection.execute(self._layout.oldest)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Ours for those of SQLite and of the file system."""
        try:
            yield
        except (sqlite3.Error, OSError, UnicodeDecodeError) as error:  # the last: of what a damaged file calls a table
            why = getattr(error, "strerror", None) or error
            full = getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_FULL or getattr(error, "errno", 0) == ENOSPC
            mend = "make room on the disk" if full else "delete it or name another"
            words = f"the cache cannot be used as a file of {self._layout.kind} ({why}); {mend}"
            raise StoreError(f"{self.path}: {words}") from error


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    """A number that SQLite knows of the file."""
    number: int = connection.execute(f"PRAGMA {name}").fetchone()[0]
    return number


def _close(owner: int, connection: sqlite3.Connection) -> None:
    """Close a connection in the process that opened it."""
    if owner == os.getpid():
        connection.close()
