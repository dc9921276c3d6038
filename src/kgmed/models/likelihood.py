"""How likely a language model finds a text: the protocol, what is made of its numbers, and how they are passed on.

What stands before a model (meter, cache, ledger) counts and keeps a question for likelihoods as a call like any other:
`as_messages` is what was asked, `as_reply` what came, and `from_reply` gives the numbers back bit by bit.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from kgmed.errors import BadInput, ModelFailed
from kgmed.prompts import Conversation
from kgmed.stages import Message, Reply


@dataclass(frozen=True, slots=True)
class LogProbs:
    """Natural logarithms of the probability of each token of each text, given the prompt and the tokens before it.

    >>> found = LogProbs((np.log([0.5, 0.5]), np.log([0.25])))
    >>> found.totals.round(3).tolist(), found.means.round(3).tolist(), found.perplexities.round(3).tolist()
    ([-1.386, -1.386], [-0.693, -1.386], [2.0, 4.0])
    """

    tokens: tuple[NDArray[np.float64], ...]
    read: int = 0  # tokens that the model read for it, prompt and texts; 0 = not told

    @property
    def totals(self) -> NDArray[np.float64]:
        """The log-probability of each text (n,); 0 for one without tokens."""
        return np.array([t.sum() for t in self.tokens], np.float64)

    @property
    def means(self) -> NDArray[np.float64]:
        """The mean a token (n,); 0 for a text without tokens."""
        return self.totals / np.array([max(1, len(t)) for t in self.tokens], np.float64)

    @property
    def perplexities(self) -> NDArray[np.float64]:
        """exp(-mean) of each text (n,), which is 2 ** (-mean of log2 p), whatever the base."""
        return np.asarray(np.exp(-self.means), np.float64)


class Likelihood(Protocol):
    """A language model that says how likely it finds a text."""

    @property
    def name(self) -> str:
        """What the model is called, for the run's record."""
        ...

    def logprobs(self, prompt: str, continuations: Sequence[str], /) -> LogProbs:
        """How likely each text is right after the prompt, which must not be empty; no chat template is put around it.

        A space between prompt and continuation belongs to the continuation. Raises `Unavailable` or `ModelFailed`.
        """
        ...


class Start(str):
    """The beginning of a text that knows the prompt it was made from."""

    prompt: str = ""  # name, language and hash

    @classmethod
    def of(cls, text: str, prompt: str) -> "Start":
        """That text, made from that prompt."""
        made = cls(text)
        made.prompt = prompt
        return made


def gives_likelihoods(llm: object) -> bool:
    """Whether the model at the end of what stands before it says how likely it finds a text."""
    while (inner := getattr(llm, "llm", None)) is not None:
        llm = inner
    return callable(getattr(llm, "logprobs", None))


def asked(llm: object, start: str, continuations: Sequence[str]) -> LogProbs:
    """What a model says, or what stands before it; raises `BadInput` for one that gives no likelihoods."""
    ask = getattr(llm, "logprobs", None)
    if not callable(ask):
        name = getattr(llm, "name", type(llm).__name__)
        raise BadInput(f"{name} gives no likelihoods of texts; take --llm smollm2, gguf/PATH or hf/FOLDER")
    found: LogProbs = ask(start, continuations)
    return found


def as_messages(start: str, continuations: Sequence[str]) -> Conversation:
    """The question for likelihoods as messages, of roles that no conversation has."""
    messages = [Message("start", str(start)), *(Message("continuation", text) for text in continuations)]
    return Conversation.of(messages, start.prompt if isinstance(start, Start) else "")


def as_reply(found: LogProbs, name: str) -> Reply:
    """The numbers as a reply: JSON, in which a float comes back as it was.

    >>> as_reply(LogProbs((np.array([-0.5, -1.0]),), 7), "tiny")
    Reply(text='[[-0.5, -1.0]]', tokens_in=7, tokens_out=0, model='tiny')
    """
    return Reply(json.dumps([t.tolist() for t in found.tokens]), found.read, 0, name)


def from_reply(reply: Reply) -> LogProbs:
    """The numbers in a reply; raises `ModelFailed` where it holds none."""
    try:
        rows = json.loads(reply.text)
        return LogProbs(tuple(np.array(row, np.float64) for row in rows), reply.tokens_in)
    except (ValueError, TypeError) as error:
        raise ModelFailed("what was kept of likelihoods holds none; refresh it, or delete the file") from error


def shared_start(start: Sequence[int], whole: Sequence[int]) -> int:
    """How many tokens at their beginning two texts share: less than all of `start` where a token spans the border.

    Raises `ModelFailed` where they share none.

    >>> shared_start([1, 2, 3], [1, 2, 9, 4]), shared_start([1, 2], [1, 2])
    (2, 2)
    """
    same = next((i for i, (a, b) in enumerate(zip(start, whole, strict=False)) if a != b), min(len(start), len(whole)))
    if not same:
        raise ModelFailed("no text can be given a probability without a word before it; give a longer prompt")
    return same
