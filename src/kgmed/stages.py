"""One protocol per stage; anything callable with the signature is a stage, there are no base classes.

Retrievers add up, rankers run in turn. A `Linker` returns at most one link a mention; a mention without a link
was not found. A `Reward` of None means that it cannot judge.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from kgmed.types import Answer, Context, Evidence, Link, Mention, Query, Question


class Expander(Protocol):
    """Adds to a question what helps to search, such as a first guess."""

    def __call__(self, question: Question, /) -> Query:
        """The query to search with."""
        ...


class Recognizer(Protocol):
    """Finds the stretches of text that name entities."""

    def __call__(self, query: Query, /) -> list[Mention]:
        """The mentions, in the order of the text."""
        ...


class Linker(Protocol):
    """Finds the entity that a mention stands for."""

    def __call__(self, mentions: Sequence[Mention], /) -> list[Link]:
        """At most one link a mention, in the order of the mentions."""
        ...


class Retriever(Protocol):
    """Finds evidence around the linked entities."""

    def __call__(self, query: Query, links: Sequence[Link], /) -> list[Evidence]:
        """The evidence, in a deterministic order."""
        ...


class Ranker(Protocol):
    """Orders and prunes evidence."""

    def __call__(self, query: Query, evidence: Sequence[Evidence], /) -> list[Evidence]:
        """The evidence kept, best first, with its score; safety evidence is never dropped."""
        ...


class Phraser(Protocol):
    """Writes the evidence as the text that a reader sees."""

    def __call__(self, query: Query, evidence: Sequence[Evidence], /) -> Context:
        """The text and the evidence that its markers point to."""
        ...


class Reader(Protocol):
    """Answers from the context."""

    def __call__(self, query: Query, context: Context, /) -> Answer:
        """The answer, with the numbers of the evidence it stands on."""
        ...


class Checker(Protocol):
    """Holds an answer against its evidence."""

    def __call__(self, query: Query, context: Context, answer: Answer, /) -> Answer:
        """The same answer with verdicts."""
        ...


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation with a language model."""

    role: str  # system, user or assistant
    text: str


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


class Reward(Protocol):
    """Judges answers to questions, as a reward for training or a check of what a model said."""

    def __call__(self, questions: Sequence[Question | str], answers: Sequence[str], /) -> list[float | None]:
        """One number an answer, higher = better; None where it cannot judge. Question i goes with answer i."""
        ...
