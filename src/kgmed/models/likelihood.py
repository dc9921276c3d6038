"""How likely a language model finds a text: the protocol, and what is made of its numbers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from kgmed.errors import ModelFailed


@dataclass(frozen=True, slots=True)
class LogProbs:
    """Natural logarithms of the probability of each token of each text, given the prompt and the tokens before it.

    >>> found = LogProbs((np.log([0.5, 0.5]), np.log([0.25])))
    >>> found.totals.round(3).tolist(), found.means.round(3).tolist(), found.perplexities.round(3).tolist()
    ([-1.386, -1.386], [-0.693, -1.386], [2.0, 4.0])
    """

    tokens: tuple[NDArray[np.float64], ...]

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
