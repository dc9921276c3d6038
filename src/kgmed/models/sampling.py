"""How a model's next words are drawn: greedy, or by temperature and top-p with a seed."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from kgmed.errors import BadInput


@dataclass(frozen=True, slots=True)
class Sampling:
    """The numbers of a draw; raises `BadInput` for what no model takes.

    Attributes:
        temperature: 0 = the likeliest word each time; higher = bolder, 2 at most.
        top_p: Only the likeliest words that together have this probability, above 0 to 1.
        seed: Equal seeds draw equally, as far as the model or its server follows.

    >>> Sampling(0.6, seed=3).settings
    {'temperature': 0.6, 'seed': 3}
    """

    temperature: float = 0.0
    top_p: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        """Check the numbers."""
        if not 0 <= self.temperature <= 2:
            raise BadInput(f"a temperature is 0 to 2, not {self.temperature:g}")
        if not 0 < self.top_p <= 1:
            raise BadInput(f"top-p is above 0 and at most 1, not {self.top_p:g}")

    @property
    def settings(self) -> dict[str, object]:
        """What a server is asked, and what the key of a kept reply holds; top-p where it is not 1."""
        warm: dict[str, object] = {"temperature": self.temperature or 0, "seed": self.seed}
        return warm if self.top_p == 1 else {**warm, "top_p": self.top_p}


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
