"""A cache of replies in one SQLite file: what a model was asked once it need not be asked again, by anyone.

The key of a reply is the SHA-256 of the model's name, its settings, the messages and the length asked for. The file
holds that key, the model's name and settings, and the reply; not the messages, which may be about a patient.
"""

import hashlib
import json
import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, TypeVar, runtime_checkable

from kgmed.config import Mode
from kgmed.errors import StoreError, Unavailable
from kgmed.models.asking import LogProbs, as_messages, as_reply, ask_with_schema, from_reply, likelihood_model, streamed
from kgmed.models.base import LLM, Message, Reply

# --- The SQLite file that replies are kept in (write-ahead log: readers never wait, and a killed writer harms nothing).


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


# --- A cache of replies in one SQLite file: what a model was asked once it need not be asked again, by anyone.
# The key of a reply is the SHA-256 of the model's name, its settings, the messages and the length asked for. The file
# holds that key, the model's name and settings, and the reply; not the messages, which may be about a patient.


FIRST = 60  # characters of a prompt that a message shows


class NotRecorded(StoreError):
    """A reply was to be replayed that was never recorded."""


@runtime_checkable
class HasSettings(Protocol):
    """A model that is asked with settings, which its replies depend on."""

    @property
    def settings(self) -> Mapping[str, object]:
        """The settings, as plain data."""
        ...


@dataclass(frozen=True, slots=True)
class Absent:
    """A model that is not here, only what it was called and set to: enough to replay what it said."""

    name: str
    settings: Mapping[str, object] = field(default_factory=dict)

    def __call__(self, messages: Sequence[Message], /, *, max_tokens: int = 256) -> Reply:
        """Raises `Unavailable`."""
        raise self._absent()

    def logprobs(self, prompt: str, continuations: Sequence[str], /) -> LogProbs:
        """Raises `Unavailable`."""
        raise self._absent()

    def _absent(self) -> Unavailable:
        """That it is not here."""
        return Unavailable(f"the model {self.name} is not here; only what it said before can be replayed")


@dataclass(frozen=True, slots=True)
class ReplyHits:
    """How often a reply was there, and how often the model was asked."""

    hits: int = 0
    misses: int = 0

    @property
    def rate(self) -> float:
        """The share of calls that were answered from the file; 0 before the first."""
        return self.hits / max(1, self.hits + self.misses)


class CachedLLM:
    """A model whose replies are kept. Safe between threads and processes that share the file.

    Of several that ask the same at once in one process, one asks the model; between processes each may ask, the first
    reply kept counts for all.
    """

    def __init__(self, llm: LLM, path: Path | str, *, mode: Mode | str = Mode.RECORD) -> None:
        """Wrap a model; the file is made where it is not there yet, but for replaying."""
        self.llm = llm
        self.mode = Mode(mode)
        self.file = ReplyFile(Path(path), create=self.mode is not Mode.REPLAY)
        self._model, self._settings = llm.name, _settings(llm)
        self._hits = ReplyHits()
        self._lock = threading.Lock()
        self._turns: dict[str, threading.Lock] = {}

    @property
    def name(self) -> str:
        """The name of the model."""
        return self._model

    @property
    def settings(self) -> Mapping[str, object]:
        """The settings of the model."""
        return self.llm.settings if isinstance(self.llm, HasSettings) else {}

    @property
    def hits(self) -> ReplyHits:
        """How often this object found a reply."""
        return self._hits

    def __repr__(self) -> str:
        """The model, the file and the mode."""
        return f"Cached({self._model}, {str(self.file.path)!r}, mode={self.mode.value!r})"

    def __call__(self, messages: Sequence[Message], /, *, max_tokens: int = 256) -> Reply:
        """The reply kept, or the model's; raises `NotRecorded` where there is none to replay."""
        key = digest(self._model, self._settings, messages, max_tokens)
        return self._kept_or(key, messages, lambda: self.llm(messages, max_tokens=max_tokens))

    def as_json(self, messages: Sequence[Message], schema: Mapping[str, object], /, *, max_tokens: int = 256) -> Reply:
        """The reply kept, or the model's, held to a JSON schema where it can; kept apart from that without."""
        settings = f"{self._settings} {json.dumps(schema, sort_keys=True)}"
        key = digest(self._model, settings, messages, max_tokens)
        return self._kept_or(key, messages, lambda: ask_with_schema(self.llm, messages, schema, max_tokens=max_tokens))

    def stream(self, messages: Sequence[Message], /, *, max_tokens: int = 256) -> Generator[str, None, Reply]:
        """The reply kept, in one piece, or the model's as it comes; only a whole one is kept."""
        key = digest(self._model, self._settings, messages, max_tokens)
        with self._turn(key):
            kept = self._found(key, messages)
            if kept is not None:
                if kept.text:
                    yield kept.text
                return kept
            reply = yield from streamed(self.llm, messages, max_tokens=max_tokens)
            return self._keep(key, reply)

    def logprobs(self, prompt: str, continuations: Sequence[str], /) -> LogProbs:
        """How likely the model finds each text after the prompt: kept, or asked for and kept."""
        messages = as_messages(prompt, continuations)
        key = digest(self._model, self._settings, messages, 0)
        ask = lambda: as_reply(likelihood_model(self.llm, prompt, continuations), self._model)  # noqa: E731
        return from_reply(self._kept_or(key, messages, ask))

    def _kept_or(self, key: str, messages: Sequence[Message], call: Callable[[], Reply]) -> Reply:
        """The reply of that key, or what the call gives, kept."""
        with self._turn(key):
            kept = self._found(key, messages)
            return kept if kept is not None else self._keep(key, call())

    def _found(self, key: str, messages: Sequence[Message]) -> Reply | None:
        """The reply kept; None where the model is to be asked."""
        kept = None if self.mode is Mode.REFRESH else self.file.get(key)
        self._count(found=kept is not None)
        if kept is None and self.mode is Mode.REPLAY:
            raise NotRecorded(f"{self.file.path} has no reply of {self._model} to {describe_prompt(messages, key)}")
        return kept

    def _keep(self, key: str, reply: Reply) -> Reply:
        """The reply that is kept under the key now."""
        return self.file.put(key, self._model, self._settings, reply, replace=self.mode is Mode.REFRESH)

    def close(self) -> None:
        """Close the file; it opens again by itself when it is needed."""
        self.file.close()

    def _turn(self, key: str) -> threading.Lock:
        """The lock that those who ask the same wait at."""
        with self._lock:
            return self._turns.setdefault(key, threading.Lock())

    def _count(self, *, found: bool) -> None:
        """Count a hit or a miss."""
        with self._lock:
            self._hits = ReplyHits(self._hits.hits + found, self._hits.misses + (not found))


def recorded_models(path: Path | str) -> list[Absent]:
    """The models that a file holds replies of, to be replayed without them: `Cached(recorded(path)[0], path, ...)`."""
    file = ReplyFile(Path(path), create=False)
    try:
        return [Absent(model, json.loads(settings)) for model, settings in file.models()]
    finally:
        file.close()


def digest(model: str, settings: str, messages: Sequence[Message], max_tokens: int) -> str:
    """The key of a reply, 64 hexadecimal digits: equal for equal messages to an equally set model, else different."""
    asked = [model, settings, [[m.role, m.text] for m in messages], max_tokens]
    return hashlib.sha256(json.dumps(asked).encode()).hexdigest()


def describe_prompt(messages: Sequence[Message], key: str) -> str:
    """The prompt for a person: the first words of what was asked last, and the beginning of its key.

    >>> describe_prompt([Message("system", "Be brief."), Message("user", "What is   gout?")], "0123456789abcdef")
    "'What is gout?' (key 0123456789ab)"
    """
    text = " ".join(messages[-1].text.split()) if messages else ""
    return f"{text if len(text) <= FIRST else text[:FIRST] + '…'!r} (key {key[:12]})"


def _settings(llm: LLM) -> str:
    """The settings of a model as one text, the same for the same settings."""
    return json.dumps(dict(llm.settings) if isinstance(llm, HasSettings) else {}, sort_keys=True)
