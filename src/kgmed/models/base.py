"""The protocols of models: a language model, an encoder, a scorer of pairs; and how a model's next words are drawn."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from kgmed.errors import BadInput
from kgmed.records import Spent

# How a model's next words are drawn: greedy, or by temperature and top-p with a seed.


@dataclass(frozen=True, slots=True)
class Sampling:
    """The numbers of a draw; raises `BadInput` for what no model takes.

    Attributes:
        temperature: 0 = the likeliest word each time; higher = bolder, 2 at most.
        top_p: Only the likeliest words that together have this probability, above 0 to 1.
        seed: Equal seeds draw equally, as far as the model or its server follows.
        penalty: What a word's chance is divided by when it has been said before; 1 = nothing. KG-Rank's code has 1.1.

    >>> Sampling(0.6, seed=3).settings
    {'temperature': 0.6, 'seed': 3}
    """

    temperature: float = 0.0
    top_p: float = 1.0
    seed: int = 0
    penalty: float = 1.0

    def __post_init__(self) -> None:
        """Check the numbers."""
        if not 0 <= self.temperature <= 2:
            raise BadInput(f"a temperature is 0 to 2, not {self.temperature:g}")
        if not 0 < self.top_p <= 1:
            raise BadInput(f"top-p is above 0 and at most 1, not {self.top_p:g}")
        if not 0 < self.penalty <= 2:
            raise BadInput(f"a repetition penalty is above 0 and at most 2, not {self.penalty:g}")

    @property
    def settings(self) -> dict[str, object]:
        """What a server is asked, and what the key of a kept reply holds; top-p and penalty where they are not 1."""
        warm: dict[str, object] = {"temperature": self.temperature or 0, "seed": self.seed}
        more = {"top_p": self.top_p, PENALTY: self.penalty}
        return warm | {name: value for name, value in more.items() if value != 1}


PENALTY = "repetition_penalty"  # as transformers and vLLM call it
GREEDY = Sampling()
_SAMPLING: ContextVar[Sampling] = ContextVar("sampling", default=GREEDY)


def sampling() -> Sampling:
    """How a call that is made here and now is drawn; greedy unless a block of `sampled` says otherwise."""
    return _SAMPLING.get()


@contextmanager
def sampled(how: Sampling) -> Iterator[None]:
    """A block whose calls of models are drawn that way, in this thread and those with a copy of its context.

    >>> with sampled(Sampling(0.6)):
    ...     sampling().temperature
    0.6
    """
    token = _SAMPLING.set(how)
    try:
        yield
    finally:
        _SAMPLING.reset(token)


# Tools that a model may call. A call is one line of JSON in its reply, whichever way its server puts it: models that
# know function calling are offered the tools by their server's protocol, and any other model writes the line itself.


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool: its name, what it gives, and the JSON schema of each of its arguments.

    >>> Tool("find", "The entities of a name.", {"name": {"type": "string"}}).problem({"nam": "gout"})
    'it takes name, not nam'
    """

    name: str
    about: str
    arguments: Mapping[str, Mapping[str, object]]
    optional: tuple[str, ...] = ()

    @property
    def schema(self) -> dict[str, object]:
        """The JSON schema of a call's arguments."""
        needed = [name for name in self.arguments if name not in self.optional]
        return {"type": "object", "properties": dict(self.arguments), "required": needed, "additionalProperties": False}

    def problem(self, given: Mapping[str, object]) -> str:
        """Why arguments do not fit; "" = they do."""
        takes, types = ", ".join(self.arguments), {"string": str, "array": list}
        if unknown := [name for name in given if name not in self.arguments]:
            return f"it takes {takes}, not {unknown[0]}"
        if missing := [name for name in self.arguments if name not in given and name not in self.optional]:
            return f"it needs {missing[0]}"
        kinds = {name: str(self.arguments[name]["type"]) for name in given}
        wrong = next((name for name, value in given.items() if not isinstance(value, types[kinds[name]])), "")
        return f"{wrong} is to be a {kinds[wrong]}" if wrong else ""


_OFFERED: ContextVar[tuple[Tool, ...]] = ContextVar("tools", default=())


def offered() -> tuple[Tool, ...]:
    """The tools that a call made here and now may answer with."""
    return _OFFERED.get()


@contextmanager
def offering(tools: Iterable[Tool]) -> Iterator[None]:
    """A block whose calls of models may answer by calling a tool."""
    token = _OFFERED.set(tuple(tools))
    try:
        yield
    finally:
        _OFFERED.reset(token)


def call_line(tool: str, arguments: object) -> str:
    """A call of a tool as a reply holds it.

    >>> call_line("find", {"name": "gout"})
    '{"tool": "find", "arguments": {"name": "gout"}}'
    """
    return json.dumps({"tool": tool, "arguments": arguments}, ensure_ascii=False)


def call_of(text: str) -> tuple[str, dict[str, Any]] | None:
    """The call that a whole text is; None where it is none.

    >>> call_of('{"tool": "find", "arguments": {"name": "gout"}}'), call_of("find gout")
    (('find', {'name': 'gout'}), None)
    """
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return is_call(said)


def is_call(said: object) -> tuple[str, dict[str, Any]] | None:
    """The tool and the arguments of a call; None where it is none."""
    if not isinstance(said, dict) or not isinstance(said.get("tool"), str):
        return None
    arguments = said.get("arguments", {})
    return (said["tool"], arguments) if isinstance(arguments, dict) else None


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation with a language model."""

    role: str  # system, user or assistant
    text: str


class FilledPrompt(tuple[Message, ...]):
    """Messages that know the prompt they were made from.

    >>> FilledPrompt.of([Message("user", "Q: x")], "a/b.en 1f").prompt
    'a/b.en 1f'
    """

    prompt: str = ""  # name, language and hash

    @classmethod
    def of(cls, messages: Iterable[Message], prompt: str) -> "FilledPrompt":
        """Those messages, made from that prompt."""
        made = cls(messages)
        made.prompt = prompt
        return made


@dataclass(frozen=True, slots=True)
class Reply:
    """What a language model said and what it took."""

    text: str
    tokens_in: int = 0
    tokens_out: int = 0
    model: str = ""
    cut: bool | None = field(default=None, compare=False, repr=False)  # whether its tokens were used up
    thoughts: str = field(default="", compare=False, repr=False)  # what was taken out of the text as thought aloud


class LLM(Protocol):
    """A language model."""

    @property
    def name(self) -> str:
        """What the model is called, for the run's record."""
        ...

    def __call__(self, messages: Sequence[Message], /, *, max_tokens: int = 256) -> Reply:
        """The model's reply; raises `Unavailable` or `ModelFailed`."""
        ...


class Encoder(Protocol):
    """Turns texts into vectors."""

    @property
    def name(self) -> str:
        """Model and release; vectors of another name are not compared."""
        ...

    @property
    def dimensions(self) -> int:
        """The length d of a vector."""
        ...

    def __call__(self, texts: Sequence[str], /) -> NDArray[np.float32]:
        """Unit rows (n, d)."""
        ...


def encoded(
    encoder: Encoder, asked: Sequence[str], facts: Sequence[str]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """The unit rows of texts that are asked (n, d) and of a graph's own texts (m, d).

    An encoder with a method `facts` keeps the latter (`kgmed.graph.vectors.FactVectors`); what is asked is never kept.
    """
    kept = getattr(encoder, "facts", None)
    if kept is not None:
        return encoder(asked), kept(facts)
    rows = encoder([*asked, *facts])
    return rows[: len(asked)], rows[len(asked) :]


class PairScorer(Protocol):
    """Scores pairs of texts, as a cross-encoder does."""

    def __call__(self, pairs: Sequence[tuple[str, str]], /) -> NDArray[np.float32]:
        """One score a pair (n,), higher = more relevant."""
        ...


def is_model(name: str, wanted: str) -> bool:
    """Whether a model is the one that a paper names, wherever its files lie and whatever opens it.

    >>> is_model("local/BAAI/bge-reranker-large", "BAAI/bge-reranker-large"), is_model("use-3", "damo/gte")
    (True, False)
    """
    return wanted.rpartition("/")[2].casefold() in name.casefold()


def name_of(part: object) -> str:
    """What a part is called in a run's record: its own name, else its class."""
    name = getattr(part, "name", "")
    return name if isinstance(name, str) and name else type(part).__name__


_SMALL = 1_000_000_000  # ours: bytes of weights; below, models of some 10^8 parameters


def is_small(llm: LLM) -> bool:
    """Whether a model can be asked for no more than a short sentence: its weights are here, and below 1 GB.

    >>> from kgmed.models.fakes import Echo
    >>> is_small(Echo())
    False
    """
    inner: object = llm
    while (behind := getattr(inner, "llm", None)) is not None:
        inner = behind
    settings: Mapping[str, object] = getattr(inner, "settings", {})
    size = getattr(inner, "bytes", settings.get("bytes"))
    return isinstance(size, int) and size < _SMALL


# --- What a run asks of language models, written down call by call, in whatever thread the run has to itself.
# Outside `with ledger() as book:` nothing is written.


class Call(NamedTuple):
    """One call: the prompt it was asked with ("" = none of a file), whether it reached the model, and what came."""

    prompt: str
    reached: bool
    failed: bool = False
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float | None = None


@dataclass(slots=True)
class Ledger:
    """The calls of one run, in their order."""

    calls: list[Call] = field(default_factory=list)
    reached: int = 0

    @property
    def prompts(self) -> tuple[str, ...]:
        """The prompts that were asked with, each once."""
        return tuple(dict.fromkeys(call.prompt for call in self.calls if call.prompt))

    def spent(self) -> Spent:
        """The sum of the calls."""
        done = [call for call in self.calls if call.reached and not call.failed]
        costs = [call.cost for call in done if call.cost is not None]
        return Spent(
            calls=len(self.calls),
            cached=sum(not call.reached and not call.failed for call in self.calls),
            failed=sum(call.failed for call in self.calls),
            tokens_in=sum(call.tokens_in for call in done),
            tokens_out=sum(call.tokens_out for call in done),
            cost=round(sum(costs), 9) if len(costs) == len(done) and done else None,
        )


BOOK: ContextVar[Ledger | None] = ContextVar("ledger", default=None)


@contextmanager
def ledger() -> Iterator[Ledger]:
    """A new ledger that is written in as long as the block runs; one around it gets a copy at the end."""
    outer, mine = BOOK.get(), Ledger()
    token = BOOK.set(mine)
    try:
        yield mine
    finally:
        BOOK.reset(token)
        if outer is not None:
            outer.calls += mine.calls
            outer.reached += mine.reached
