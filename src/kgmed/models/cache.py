"""A cache of replies in one SQLite file: what a model was asked once it need not be asked again, by anyone.

The key of a reply is the SHA-256 of the model's name, its settings, the messages and the length asked for. The file
holds that key, the model's name and settings, and the reply; not the messages, which may be about a patient.
"""

import hashlib
import json
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, runtime_checkable

import xxhash

from kgmed.cache import CacheFile, Hits, Layout
from kgmed.config import Mode
from kgmed.errors import StoreError, Unavailable
from kgmed.models.asking import LogProbs, as_messages, as_reply, ask_with_schema, from_reply, likelihood_model, streamed
from kgmed.models.base import LLM, PENALTY, Message, Reply, sampling

# --- The file that replies are kept in.


REPLIES = Layout(
    "replies",
    {
        "replies": "key TEXT PRIMARY KEY, model TEXT NOT NULL, settings TEXT NOT NULL, reply TEXT NOT NULL, "
        "at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP) WITHOUT ROWID"
    },
    mark=0x6B676D72,  # "kgmr"
)


class ReplyFile(CacheFile):
    """Replies by key."""

    def __init__(self, path: Path, *, create: bool) -> None:
        """Open the file; without `create` it must be there."""
        super().__init__(path, REPLIES, create=create)

    def get(self, key: str) -> Reply | None:
        """The reply kept under a key; None if there is none."""
        rows = self.rows("SELECT reply FROM replies WHERE key = ?", (key,))
        return self._reply(rows[0][0], key) if rows else None

    def put(self, key: str, model: str, settings: str, reply: Reply, *, replace: bool) -> Reply:
        """Keep a reply; what comes back is the one that is kept, of another writer if that one was first."""
        verb = "INSERT OR REPLACE" if replace else "INSERT OR IGNORE"
        row = [reply.text, reply.tokens_in, reply.tokens_out, reply.model]
        text = json.dumps([*row, _check([key, *row])])
        sql = f"{verb} INTO replies (key, model, settings, reply) VALUES (?, ?, ?, ?)"
        self.write(sql, (key, model, settings, text))
        return reply if replace else self.get(key) or reply

    def models(self) -> list[tuple[str, str]]:
        """Name and settings of each model that there are replies of, sorted."""
        return self.rows("SELECT DISTINCT model, settings FROM replies ORDER BY model, settings")

    def __len__(self) -> int:
        """The number of replies."""
        number: int = self.rows("SELECT count(*) FROM replies")[0][0]
        return number

    def _reply(self, text: str, key: str) -> Reply:
        """The reply in a row."""
        try:
            said, tokens_in, tokens_out, model, *check = json.loads(text)
            row = [said, tokens_in, tokens_out, model]
            if check not in ([], [_check([key, *row])], [_check(row)]):  # rows of old have none, or one without the key
                raise ValueError
        except (ValueError, TypeError, RecursionError):
            raise StoreError(f"{self.path} is damaged at key {key[:12]}; refresh it, or delete the file") from None
        return Reply(said, tokens_in, tokens_out, model)


def _check(row: Sequence[object]) -> str:
    """A hash of a reply and of what it is kept under; it finds damage, not forgery."""
    return xxhash.xxh3_64_hexdigest(json.dumps(row).encode())


# --- A cache of replies in one SQLite file: what a model was asked once it need not be asked again, by anyone.
# The key of a reply is the SHA-256 of the model's name, its settings, the messages and the length asked for. The file
# holds that key, the model's name and settings, and the reply; not the messages, which may be about a patient.


FIRST = 60  # characters of a prompt that a message shows
_WHAT = "reply"  # is counted
_DRAW = frozenset({"temperature", "top_p", "seed", PENALTY})


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
    asked: Mapping[str, object] = field(default_factory=dict)

    @property
    def settings(self) -> Mapping[str, object]:
        """What it was set to, drawn as a call that is made now: that is no part of a model."""
        if "temperature" not in self.asked:
            return self.asked
        drawn = sampling().settings
        seeded = "seed" in self.asked  # a model of some makers takes none
        return {**_without_draw(self.asked), **{n: v for n, v in drawn.items() if n != "seed" or seeded}}

    def __call__(self, messages: Sequence[Message], /, *, max_tokens: int = 256) -> Reply:
        """Raises `Unavailable`."""
        raise self._absent()

    def logprobs(self, prompt: str, continuations: Sequence[str], /) -> LogProbs:
        """Raises `Unavailable`."""
        raise self._absent()

    def _absent(self) -> Unavailable:
        """That it is not here."""
        return Unavailable(f"the model {self.name} is not here; only what it said before can be replayed")


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
        self._model = llm.name
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
    def _settings(self) -> str:
        """The settings of a call that is made now, as one text."""
        return _settings(self.llm)

    @property
    def hits(self) -> Hits:
        """How often this object found a reply, and how often the model was asked."""
        return self.file.hits.get(_WHAT, Hits())

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
        self.file.count(_WHAT, hit=kept is not None)
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


def recorded_models(path: Path | str) -> list[Absent]:
    """The models that a file holds replies of, to be replayed without them: `Cached(recorded(path)[0], path, ...)`."""
    file = ReplyFile(Path(path), create=False)
    try:
        known = [(model, json.loads(settings)) for model, settings in file.models()]
        alike = {
            (model, json.dumps(_without_draw(asked), sort_keys=True)): Absent(model, asked) for model, asked in known
        }
        return list(alike.values())
    finally:
        file.close()


def _without_draw(settings: Mapping[str, object]) -> dict[str, object]:
    """The settings less those of how a reply was drawn."""
    return {name: value for name, value in settings.items() if name not in _DRAW}


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
