"""Stand-ins for models, for tests and examples: deterministic, instant, and without files."""

import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from kgmed.errors import ModelFailed
from kgmed.models.asking import LogProbs
from kgmed.models.base import Message, Reply

_BESIDE = ("question/frame", "check/sentences")  # prompts of a session, beside those of the method that is scripted


class Scripted:
    """A language model that says given replies in turn and keeps what it was asked; an exception in turn is raised.

    To what a session asks beside its method (what a question asks, the check of an answer) it has nothing to say, which
    takes no turn, unless `every` prompt is scripted.

    >>> llm = Scripted(["yes", "no"])
    >>> llm([Message("user", "Is it?")]).text, llm([Message("user", "Sure?")]).text, len(llm.asked)
    ('yes', 'no', 2)
    """

    name = "scripted"

    def __init__(self, replies: Iterable[str | Exception], *, every: bool = False) -> None:
        """Take the replies, to be given in this order."""
        self._replies, self._every = iter(replies), every
        self.asked: list[tuple[Message, ...]] = []

    def __call__(self, messages: Sequence[Message], /, *, max_tokens: int = 256) -> Reply:
        """The next reply; raises `ModelFailed` when there is none left."""
        if not self._every and getattr(messages, "prompt", "").startswith(_BESIDE):
            return _reply(messages, '{"asks": [], "verdicts": [], "sentences": []}', self.name)
        self.asked.append(tuple(messages))
        reply = next(self._replies, ModelFailed("the scripted model has no reply left; give it one more"))
        if isinstance(reply, Exception):
            raise reply
        return _reply(messages, reply, self.name)


@dataclass(frozen=True, slots=True)
class Echo:
    """A language model that repeats the last message.

    >>> Echo()([Message("system", "Be brief."), Message("user", "Hello")]).text
    'Hello'
    """

    name: str = field(default="echo", init=False)

    def __call__(self, messages: Sequence[Message], /, *, max_tokens: int = 256) -> Reply:
        """The last message's text; "" without one."""
        return _reply(messages, messages[-1].text if messages else "", self.name)


@dataclass(frozen=True, slots=True)
class Wordwise:
    """Likelihoods of words: those that the prompt holds have probability 1/2, others that of `rare`, else 1/8.

    >>> Wordwise()
    Wordwise(rare=(), name='wordwise')
    >>> Wordwise().logprobs("red toe", [" toe", " gout toe"]).perplexities.round(3).tolist()
    [2.0, 4.0]
    """

    rare: tuple[tuple[str, float], ...] = ()
    name: str = "wordwise"

    def logprobs(self, prompt: str, continuations: Sequence[str], /) -> LogProbs:
        """One log-probability a word."""
        known, rare = set(_words(prompt)), dict(self.rare)
        chances = ([0.5 if w in known else rare.get(w, 0.125) for w in _words(text)] for text in continuations)
        return LogProbs(tuple(np.log(np.array(some, np.float64)) for some in chances))


def _words(text: str) -> list[str]:
    """The words of a text, without full stops."""
    return text.casefold().replace(".", " ").split()


@dataclass(frozen=True, slots=True)
class TrigramEncoder:
    """An encoder that hashes the trigrams of characters: texts that share letters are near, in any script.

    >>> a, b, c = TrigramEncoder()(["muscle weakness", "muscular weakness", "发热"])
    >>> bool(a @ b > 0.5 > a @ c)
    True
    """

    dimensions: int = 256

    @property
    def name(self) -> str:
        """With the dimensions, since vectors of different lengths are not compared."""
        return f"trigrams-{self.dimensions}"

    def __call__(self, texts: Sequence[str], /) -> NDArray[np.float32]:
        """Unit rows (n, d); equal texts have equal rows."""
        rows = np.zeros((len(texts), self.dimensions), np.float32)
        for row, text in zip(rows, texts, strict=True):
            padded = f"\x02{text.casefold()}\x03"
            for i in range(len(padded) - 2 or 1):
                row[zlib.crc32(padded[i : i + 3].encode()) % self.dimensions] += 1
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        return rows


@dataclass(frozen=True, slots=True)
class OverlapScorer:
    """A pair scorer: the share of the first text's pairs of characters that the second holds, 0..1.

    >>> OverlapScorer()([("fever", "fever and cough"), ("fever", "gout")]).tolist()
    [1.0, 0.0]
    """

    def __call__(self, pairs: Sequence[tuple[str, str]], /) -> NDArray[np.float32]:
        """One score a pair (n,)."""
        both = ((_pairs(a), _pairs(b)) for a, b in pairs)
        return np.array([len(wanted & there) / len(wanted) for wanted, there in both], np.float32)


def _pairs(text: str) -> frozenset[str]:
    """The pairs of neighbouring characters of a text; the text itself if it has only one."""
    folded = text.casefold()
    return frozenset(folded[i : i + 2] for i in range(max(1, len(folded) - 1)))


def _reply(messages: Sequence[Message], text: str, name: str) -> Reply:
    """The reply, with words counted for tokens."""
    return Reply(text, sum(len(m.text.split()) for m in messages), len(text.split()), name)
