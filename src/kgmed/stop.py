"""A stop token: whoever asks can end a run from another thread, or after so many seconds.

The token is looked at between the stages of a run, in the searches of a graph, and with each word that a model streams,
and no server is awaited for longer than the run has left; a stage that is stopped raises `Stopped`, and nothing of it
is kept. It travels in a context variable, so that no stage and no search needs a parameter for it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from math import inf
from threading import Event
from time import monotonic

from kgmed.errors import BadInput, Stopped


class Stop:
    """A stop token; safe between threads.

    >>> stop = Stop()
    >>> stop.is_set, stop.set(), stop.is_set
    (False, None, True)
    """

    def __init__(self, seconds: float | None = None, also: "Stop | None" = None) -> None:
        """Set by `set()`, or by itself after so many seconds, or with `also`; raises `BadInput` for seconds below 0."""
        if seconds is not None and not seconds > 0:
            raise BadInput("a stop token needs more than 0 seconds")
        self._event, self._also = Event(), also
        self._until = None if seconds is None else monotonic() + seconds

    def set(self) -> None:
        """Stop what was given this token, at its next look."""
        self._event.set()

    @property
    def is_set(self) -> bool:
        """Whether to stop."""
        return self.left <= 0 or self._event.is_set() or (self._also is not None and self._also.is_set)

    @property
    def left(self) -> float:
        """The seconds until it is set by itself; without end where none were given."""
        own = inf if self._until is None else self._until - monotonic()
        return own if self._also is None else min(own, self._also.left)


_current: ContextVar[Stop | None] = ContextVar("stop", default=None)


@contextmanager
def stopping_by(stop: Stop | None) -> Iterator[None]:
    """While the block runs, `check_stop` looks at this token; None leaves the one that is looked at already."""
    if stop is None:
        yield
        return
    before = _current.set(stop)
    try:
        yield
    finally:
        _current.reset(before)


def seconds_left() -> float:
    """The seconds that the run that this is part of has left; without end where it has no deadline."""
    stop = _current.get()
    return inf if stop is None else stop.left


def check_stop() -> None:
    """Nothing, or `Stopped` where the run that this is part of is to end."""
    stop = _current.get()
    if stop is not None and stop.is_set:
        raise Stopped("the run was stopped before its answer was there")
