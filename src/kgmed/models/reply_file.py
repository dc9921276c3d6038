"""The SQLite file that replies are kept in (write-ahead log: readers never wait, and a killed writer harms nothing)."""

import json
import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from kgmed.errors import StoreError
from kgmed.stages import Reply

VERSION = 1
MARK = 0x6B676D72  # "kgmr": that the file is one of ours
WAIT = 60.0  # seconds for other writers
TRIES = 100  # to open while others open it too
_TABLE = """CREATE TABLE IF NOT EXISTS replies (
    key TEXT PRIMARY KEY, model TEXT NOT NULL, settings TEXT NOT NULL, reply TEXT NOT NULL,
    at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP) WITHOUT ROWID"""
T = TypeVar("T")


class ReplyFile:
    """Replies by key. One connection a process, opened when it is needed, used by one thread at a time."""

    def __init__(self, path: Path, *, create: bool) -> None:
        """Name the file; without `create` it must be there."""
        self.path = path
        self._create = create
        self._lock = threading.Lock()
        self._connection: tuple[int, sqlite3.Connection] | None = None
        self._inherited: list[sqlite3.Connection] = []  # a parent's; to close it here could break the parent's locks
        with self._lock, self._errors():
            self._connected()

    def get(self, key: str) -> Reply | None:
        """The reply kept under a key; None if there is none."""
        rows = self._do(lambda c: c.execute("SELECT reply FROM replies WHERE key = ?", (key,)).fetchall())
        return self._reply(rows[0][0], key) if rows else None

    def put(self, key: str, model: str, settings: str, reply: Reply, *, replace: bool) -> Reply:
        """Keep a reply; what comes back is the one that is kept, of another writer if that one was first."""
        verb = "INSERT OR REPLACE" if replace else "INSERT OR IGNORE"
        sql = f"{verb} INTO replies (key, model, settings, reply) VALUES (?, ?, ?, ?)"
        text = json.dumps([reply.text, reply.tokens_in, reply.tokens_out, reply.model])
        self._do(lambda c: c.execute(sql, (key, model, settings, text)))
        return reply if replace else self.get(key) or reply

    def models(self) -> list[tuple[str, str]]:
        """Name and settings of each model that there are replies of, sorted."""
        sql = "SELECT DISTINCT model, settings FROM replies ORDER BY model, settings"
        return self._do(lambda c: c.execute(sql).fetchall())

    def __len__(self) -> int:
        """The number of replies."""
        number: int = self._do(lambda c: c.execute("SELECT count(*) FROM replies").fetchone())[0]
        return number

    def close(self) -> None:
        """Close this process's connection."""
        with self._lock:
            if self._connection is not None and self._connection[0] == os.getpid():
                self._connection[1].close()
            self._connection = None

    def _do(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """What the work on this process's connection gives."""
        with self._lock, self._errors():
            return work(self._connected())

    def _connected(self) -> sqlite3.Connection:
        """This process's connection; a forked child opens its own."""
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
        """A connection to the file, which is made if it may be and is not there."""
        if self._create:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.touch(mode=0o600)  # what was said about a patient is nobody else's
        elif not self.path.is_file():
            raise StoreError(f"there are no recorded replies at {self.path}; record them first")
        for left in reversed(range(TRIES)):
            connection = sqlite3.connect(self.path, timeout=WAIT, isolation_level=None, check_same_thread=False)
            try:
                self._set_up(connection)
            except (
                sqlite3.OperationalError
            ) as error:  # to change to the log takes the file for oneself, and does not wait
                connection.close()
                if "locked" not in str(error) or not left:
                    raise
                time.sleep(0.01)
            except BaseException:
                connection.close()
                raise
            else:
                return connection
        raise StoreError(f"{self.path} is locked by another process; try again")

    def _set_up(self, connection: sqlite3.Connection) -> None:
        """Make the table in a new file; refuse a file that is something else."""
        connection.execute("BEGIN")  # all at one time: another process may be making the file
        mark, version = (connection.execute(f"PRAGMA {p}").fetchone()[0] for p in ("application_id", "user_version"))
        others = connection.execute("SELECT count(*) FROM sqlite_master WHERE name <> 'replies'").fetchone()[0]
        connection.execute("COMMIT")
        if (mark, version) != (MARK, VERSION):
            if mark or version or others:
                raise StoreError(f"{self.path} holds no replies of this version; give another file")
            connection.execute("PRAGMA journal_mode = WAL")
            connection.executescript(
                f"BEGIN IMMEDIATE; {_TABLE}; PRAGMA application_id = {MARK}; PRAGMA user_version = {VERSION}; COMMIT"
            )
        connection.execute("PRAGMA synchronous = NORMAL")

    def _reply(self, text: str, key: str) -> Reply:
        """The reply in a row."""
        try:
            said, tokens_in, tokens_out, model = json.loads(text)
        except (ValueError, TypeError) as error:
            raise StoreError(f"{self.path} is damaged at key {key[:12]}; refresh it, or delete the file") from error
        return Reply(said, tokens_in, tokens_out, model)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Ours for those of SQLite and of the file system."""
        try:
            yield
        except sqlite3.Error as error:
            raise StoreError(f"{self.path} cannot be used as a file of replies ({error})") from error
        except OSError as error:
            raise StoreError(f"{self.path} cannot be used as a file of replies ({error.strerror})") from error


def _close(owner: int, connection: sqlite3.Connection) -> None:
    """Close a connection in the process that opened it."""
    if owner == os.getpid():
        connection.close()
