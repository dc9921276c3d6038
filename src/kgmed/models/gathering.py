"""Calls of several threads gathered and answered together: where many cost a model less than each alone.

No thread is started. Of the callers that wait one leads: it waits a moment for more, answers a group for all, and lets
the next one lead. One that is interrupted gives up its own call only; what it had begun for others is begun anew.
"""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

NEW = 0.01  # seconds that a leader waits for one call more,
MISSED = 0.1  # and where fewer wait than last time, so that those who were just answered can come back
A = TypeVar("A")
R = TypeVar("R")


@dataclass(slots=True, eq=False)
class _Call(Generic[A, R]):
    """What one thread asks, and what came of it."""

    asked: A
    reply: R | None = None
    error: Exception | None = None
    done: bool = False


class Gathering(Generic[A, R]):
    """Answers calls, those that come at once together; one group at a time, so that `work` needs no lock.

    >>> Gathering(lambda asked: [2 * a for a in asked], lambda asked: [0], most=1)(21)
    42
    """

    def __init__(
        self, work: Callable[[Sequence[A]], Sequence[R]], group: Callable[[Sequence[A]], Sequence[int]], *, most: int
    ) -> None:
        """`work` answers what `group` chooses of those that wait, as places, with 0 (who waits longest) among them.

        `most` = calls that are worth waiting for; with 1 nobody waits for others.
        """
        self._work, self._group, self._most = work, group, most
        self._waiting: list[_Call[A, R]] = []
        self._leader: _Call[A, R] | None = None
        self._before = 1  # calls that waited when the last group was chosen
        self._changed = threading.Condition()

    def __call__(self, asked: A, /) -> R:
        """The reply to that call; raises what `work` raises where it is given this call alone."""
        call: _Call[A, R] = _Call(asked)
        try:
            with self._changed:
                self._waiting.append(call)
                self._changed.notify_all()
            while not call.done:
                self._turn(call)
        finally:
            with self._changed:
                self._waiting = [c for c in self._waiting if c is not call]
        if call.error is not None:
            raise call.error
        return call.reply  # type: ignore[return-value]

    def _turn(self, call: _Call[A, R]) -> None:
        """Wait until that call is answered; or lead, and answer one group, which it may be in."""
        group: list[_Call[A, R]] = []
        try:
            with self._changed:
                self._changed.wait_for(lambda: call.done or self._leader is None)
                if call.done:
                    return
                self._leader = call
                self._gather()
                group = self._taken()
            self._answer(group)
        finally:
            with self._changed:
                if self._leader is call:
                    self._leader = None
                    self._waiting[:0] = [c for c in group if not c.done]  # where this thread was interrupted
                    self._changed.notify_all()

    def _gather(self) -> None:
        """Wait for more calls, as long as they keep coming."""
        while (here := len(self._waiting)) < self._most:
            seconds = MISSED if here < self._before else NEW
            if not self._changed.wait_for(lambda n=here: len(self._waiting) > n, seconds):  # type: ignore[misc]
                break
        self._before = min(len(self._waiting), self._most)

    def _taken(self) -> list[_Call[A, R]]:
        """The calls to be answered now, which wait no more."""
        places = set(self._group([c.asked for c in self._waiting]))
        taken = [c for i, c in enumerate(self._waiting) if i in places]
        self._waiting = [c for i, c in enumerate(self._waiting) if i not in places]
        return taken

    def _answer(self, group: Sequence[_Call[A, R]]) -> None:
        """Give each its reply; where they fail together each is asked alone, so that an error is its own."""
        try:
            replies = self._work([c.asked for c in group])
        except Exception as error:  # noqa: BLE001 - whatever it is, it is raised in the thread whose call it was
            if len(group) > 1:
                for call in group:
                    self._answer([call])
            else:
                group[0].error, group[0].done = error, True
            return
        for call, reply in zip(group, replies, strict=True):
            call.reply, call.done = reply, True
