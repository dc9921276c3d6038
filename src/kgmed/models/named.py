"""Language models, encoders and pair scorers by the names that a person types."""

import hashlib
import json
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path, PurePosixPath
from typing import Any, Protocol, runtime_checkable

import xxhash

from kgmed.cache import CacheFile, Hits, Layout
from kgmed.config import Config, Mode
from kgmed.disk import data_folder
from kgmed.errors import BadInput, StoreError, Unavailable, UnknownName
from kgmed.models.asking import LogProbs, as_messages, as_reply, ask_with_schema, from_reply, likelihood_model, streamed
from kgmed.models.base import LLM, PENALTY, Encoder, Message, PairScorer, Reply, sampling
from kgmed.models.files import MODELS
from kgmed.models.limits import Budget, CallLimit, CountedLLM, Metered, RecordedLLM, ReplyLimit, ThinkingRoom, prices
from kgmed.registry import Factories, encoders, models, scorers
from kgmed.servers import TokenBucket

# --- A cache of replies in one SQLite file: what a model was asked once it need not be asked again, by anyone.
#
# The key of a reply is the SHA-256 of the model's name, its settings, the messages and the length asked for. The file
# holds that key, the model's name and settings, and the reply; not the messages, which may be about a patient.

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
        row = [reply.text, reply.tokens_in, reply.tokens_out, reply.model, *([] if reply.cut is None else [reply.cut])]
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
        try:
            said, tokens_in, tokens_out, model, *check = row = json.loads(text)
            cut = check.pop(0) if check and isinstance(check[0], bool) else None
            row = [*row[:4], *([] if cut is None else [cut])]
            if check not in ([], [_check([key, *row])], [_check(row)]):  # rows of old have none, or one without the key
                raise ValueError
        except (ValueError, TypeError, RecursionError):
            raise StoreError(f"{self.path} is damaged at key {key[:12]}; refresh it, or delete the file") from None
        return Reply(said, tokens_in, tokens_out, model, cut)


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
        key = digest(self._model, f"{self._settings} {json.dumps(schema, sort_keys=True)}", messages, max_tokens)
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


# --- By name; each registers where it stands.


HERE = ("batch", "precision", "device", "bits", "adapter")  # choices for what runs in this process


def llm_from(spec: str, *, base_url: str = "", folder: Path, **here: Any) -> LLM:
    """The language model of that name; `folder` is the data folder that packaged models are kept in.

    `openai/NAME` is any model behind an OpenAI-compatible server (`base_url`), `anthropic/NAME` one of
    Anthropic's, `gguf/PATH` or a path that ends in .gguf a file, `hf/...` a folder, a name on the model hub or a GGUF
    file read through transformers, `smollm2` and `hf/smollm2` the one that `kgmed models get smollm2` fetches. `here`
    = those of `HERE` that are wanted, for `hf/...` only (see `TransformersLM`).
    """
    given = {"batch": 1, "precision": "", "device": "", "bits": 0, "adapter": ""} | here
    check_name(spec)
    name, takes = _form(spec)
    if wanted := {name for name in HERE if given[name] and (name, given[name]) != ("batch", 1)} - takes:
        what = "neither a batch nor a precision" if wanted & {"batch", "precision"} else f"no {sorted(wanted)[0]}"
        raise BadInput(f"{spec!r} takes {what}; name a model as hf/FOLDER_OR_NAME for them")
    if base_url and "base_url" not in takes:
        raise BadInput(f"{spec!r} runs here and takes no base URL; name a model behind it as openai/NAME")
    made: LLM = models.make(name, base_url=base_url, folder=folder, **given)
    return made


def check_name(spec: str) -> None:
    """Raises `UnknownName` for what is no name of a language model, before anything is read or counted for it."""
    try:
        models.find(_form(spec)[0])
    except UnknownName:
        _, at_server, rest = spec.rpartition("/")
        where = " --base-url URL" if at_server else ""
        hint = f"behind an OpenAI-compatible server: openai/{rest}{where}"
        raise UnknownName("language model", spec, [f.form for f in models.all()], hint) from None


def _form(spec: str) -> tuple[str, frozenset[str]]:
    """The name with its form, for a file that is named by its path alone, and which choices its maker takes."""
    try:
        return spec, frozenset(models.find(spec)[0].takes)
    except UnknownName:
        return (f"gguf/{spec}" if spec.lower().endswith(".gguf") else spec), frozenset()


def encoder_from(spec: str, *, device: str = "", precision: str = "", texts: int = 0) -> Encoder:
    """The encoder of that name; raises `UnknownName`, `BadInput`, `Unavailable`.

    `use` is the embedded one, `ngrams` needs nothing; `local/NAME` is a folder or a name on the model hub, read by the
    mean of its tokens (`local-cls/NAME`: by its first), `server/NAME@URL` a model behind `URL/embeddings`. Those of
    this process (`local...`) take a device, a precision, and how many `texts` are read at once (0 = 32).
    """
    made: Encoder = encoders.make(spec, device=device, precision=precision, texts=texts)
    return made


def scorer_from(spec: str, encoder: Encoder, *, device: str = "", precision: str = "", texts: int = 0) -> PairScorer:
    """The pair scorer of that name; `words` is `LexicalPairs` over the encoder.

    `trained/FILE` is what `kgmed train pairs` left, for the encoder that it was trained with.
    `local/NAME` is a cross-encoder in a folder or on the model hub, with the choices of a local encoder;
    `vllm/NAME@URL`, `cohere/...` and `jina/...` are models behind `URL/rerank`. Raises `UnknownName`, `BadInput`,
    `Unavailable`.
    """
    made: PairScorer = scorers.make(spec, encoder=encoder, device=device, precision=precision, texts=texts)
    return made


def check_choices(chosen: Config) -> None:
    """Raises `BadInput` where a device, precision or number of texts is chosen and nothing that is named takes it."""
    parts = [(models, chosen.llm), (encoders, chosen.encoder), (scorers, chosen.scorer)]
    takes = {choice for kind, spec in parts if spec for choice in _takes(kind, spec)}
    takes |= {"device"} if chosen.tagger else set()
    for name in ("device", "precision", "texts"):
        if getattr(chosen, name) and name not in takes:
            raise BadInput(
                f"no model that is named takes --{name}; name one that runs here: --llm hf/NAME, --encoder local/NAME "
                "or --scorer local/NAME"
            )


def _takes(kind: Factories[Any], spec: str) -> tuple[str, ...]:
    """The choices that a part of that name takes."""
    try:
        return kind.find(spec)[0].takes
    except UnknownName:
        return ()


# --- The language model that a configuration names, within its limits and behind its cache.


def llm_of(chosen: Config) -> LLM | None:
    """The language model, within its limits, behind its cache, its calls written down; None where none is named."""
    replayed = chosen.cache is not None and chosen.cache_mode is Mode.REPLAY
    if not chosen.llm and not replayed:
        if chosen.cache:
            raise BadInput("a cache of replies needs a model to record: --llm NAME, or --cache-mode replay")
        return None
    llm = _recorded(chosen, chosen.cache) if replayed and chosen.cache else _model(chosen)
    table = prices(chosen.prices)
    behind: LLM = CountedLLM(llm)
    if not replayed:
        behind = _limited(behind, chosen)
        behind = ThinkingRoom(behind, ()) if chosen.reply_tokens else ThinkingRoom(behind)
    if chosen.cache:
        behind = CachedLLM(behind, chosen.cache, mode=chosen.cache_mode)
    if chosen.reply_tokens:
        behind = ReplyLimit(behind, chosen.reply_tokens)
    return RecordedLLM(behind, price=table.get(llm.name), behind=True)


def _model(chosen: Config) -> LLM:
    here = {name: getattr(chosen, name) for name in HERE}
    others = (chosen.encoder, chosen.scorer)
    if any(other.startswith("local") for other in others) and not {"device"} & _form(chosen.llm)[1]:
        here |= {"device": "", "precision": ""}  # those are for the encoder or the scorer
    return llm_from(chosen.llm, base_url=chosen.base_url, folder=data_folder(), **here)


def _limited(llm: LLM, chosen: Config) -> LLM:
    """The model within its budget, rate and number of calls."""
    if chosen.budget is not None or chosen.rate:
        money = None if chosen.budget is None else Decimal(str(chosen.budget))
        rate = TokenBucket(chosen.rate / 60) if chosen.rate else None
        at_once = max(8, chosen.batch)
        llm = Metered(llm, budget=Budget(money), price=prices(chosen.prices), rate=rate, at_once=at_once)
    return CallLimit(llm, chosen.max_calls) if chosen.max_calls else llm


def _recorded(chosen: Config, path: Path) -> LLM:
    """The model whose replies are replayed: by name and settings where it is behind a server, else from the file."""
    if chosen.llm.startswith(("openai/", "anthropic/")):
        return _model(chosen)
    known = recorded_models(path)
    wanted = _file_name(chosen.llm)
    found = [m for m in known if (not wanted or m.name == wanted) and _set_so(m.settings, chosen)]
    if len(found) != 1:
        names = sorted({m.name for m in known})
        if wanted and not found:
            raise UnknownName(f"recorded model in {path}", wanted, names)
        raise BadInput(f"{path} has replies of {len(found)} models ({', '.join(names)}); name one by --llm")
    return Absent(found[0].name, found[0].settings)


def _set_so(settings: Mapping[str, object], chosen: Config) -> bool:
    """Whether a recorded model was asked with the batch, the precision and the bits that are given, if any are."""
    given = {"batch": chosen.batch if chosen.batch > 1 else 0, "dtype": chosen.precision, "bits": chosen.bits}
    return all(not value or settings.get(name) == value for name, value in given.items())


def _file_name(spec: str) -> str:
    """What a model in a file is called in the cache."""
    if spec.startswith("hf/"):
        path = Path(spec.removeprefix("hf/")).expanduser()
        return f"hf/{path.name}" if path.exists() else spec
    return f"gguf/{PurePosixPath(MODELS[spec].member if spec in MODELS else spec).name}" if spec else ""
