"""The protocols of models: a language model, an encoder, a scorer of pairs."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray


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


class PairScorer(Protocol):
    """Scores pairs of texts, as a cross-encoder does."""

    def __call__(self, pairs: Sequence[tuple[str, str]], /) -> NDArray[np.float32]:
        """One score a pair (n,), higher = more relevant."""
        ...


def name_of(part: object) -> str:
    """What a part is called in a run's record: its own name, else its class."""
    name = getattr(part, "name", "")
    return name if isinstance(name, str) and name else type(part).__name__
