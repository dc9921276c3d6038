"""Calls of several threads answered together, step by step: each joins when it comes and leaves when it is done.

One thread works for all, a step at a time; what else it is given runs between two steps. A call that is interrupted
leaves alone; where a step fails every call in it is begun anew and asked alone, so that an error is its own. One that
belongs to nobody, such as too little memory for all of them, is a warning.
"""

import threading
import warnings
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import Generic, Protocol, TypeVar

A = TypeVar("A")
R = TypeVar("R")
Asked = TypeVar("Asked", contravariant=True)
Said = TypeVar("Said", covariant=True)


class Work(Protocol[Asked, Said]):
    """What goes on with several calls at once; each has a number that its caller chose."""

    def step(self, new: Mapping[int, Asked], /) -> Mapping[int, Said]:
        """Take these in, go one step on with all, and give the replies of those that are done, which leave."""

    def leave(self, number: int, /) -> None:
        """Go on without that call."""

    def clear(self) -> None:
        """Forget every call, whatever state a failure left."""


class Joining(Generic[A, R]):
    """Answers calls, up to `most` of them at once, in the one thread of `pool`; safe between threads."""

    def __init__(self, work: Work[A, R], *, most: int, pool: ThreadPoolExecutor) -> None:
        """`pool` must have one thread only, so that `work` needs no lock."""
        self._work, self._most, self._pool = work, most, pool
        self._lock = threading.Lock()
        self._count = 0
        self._waiting: dict[int, tuple[A, Future[R]]] = {}
        self._going: dict[int, tuple[A, Future[R]]] = {}
        self._runs = False

    def __call__(self, asked: A, /) -> R:
        """The reply to that call; raises what the work raises where it is given this call alone."""
        reply: Future[R] = Future()
        with self._lock:
            self._count += 1
            self._waiting[self._count] = (asked, reply)
            if not self._runs:
                self._pool.submit(self._on)
                self._runs = True
        try:
            return reply.result()
        except BaseException:
            reply.cancel()  # where this thread was interrupted: the work leaves it out from its next step on
            raise

    def _on(self) -> None:
        """One step; the next one waits behind whatever else the thread was given."""
        with self._lock:
            for number in [n for n, (_, reply) in self._going.items() if reply.cancelled()]:
                del self._going[number]
                self._work.leave(number)
            self._waiting = {n: call for n, call in self._waiting.items() if not call[1].cancelled()}
            new = dict(islice(self._waiting.items(), self._most - len(self._going)))
            for number in new:
                self._going[number] = self._waiting.pop(number)
            self._runs = bool(self._going)
        if self._runs:
            self._step({n: asked for n, (asked, _) in new.items()})
            self._again()

    def _step(self, new: Mapping[int, A]) -> None:
        """Go on, and hand over the replies that are done."""
        try:
            done = self._work.step(new)
        except Exception as error:  # noqa: BLE001 - whose error it is, is found by asking each alone
            answered = [self._alone(number, asked, reply) for number, (asked, reply) in self._going.items()]
            self._going.clear()
            if all(answered):
                told = f"{len(answered)} calls failed together and were answered one by one: {error!r}"
                warnings.warn(told, RuntimeWarning, stacklevel=2)
            return
        for number, said in done.items():
            _end(self._going.pop(number)[1], said)

    def _alone(self, number: int, asked: A, reply: Future[R]) -> bool:
        """Answer one call while no other is there; whether that went well."""
        self._work.clear()
        try:
            done = self._work.step({number: asked})
            while number not in done:
                done = self._work.step({})
        except Exception as error:  # noqa: BLE001 - it is raised in the thread whose call it was
            self._work.clear()
            _end(reply, error=error)
            return False
        _end(reply, done[number])
        return True

    def _again(self) -> None:
        """See to the next step; an interpreter that ends takes no more work, and nobody may wait for it."""
        try:
            self._pool.submit(self._on)
        except RuntimeError as error:
            with self._lock:
                for _, reply in [*self._going.values(), *self._waiting.values()]:
                    _end(reply, error=error)


def _end(reply: Future[R], said: R | None = None, *, error: Exception | None = None) -> None:
    """Hand a reply over, or what was raised in its place, unless nobody waits for it."""
    if reply.set_running_or_notify_cancel():
        if error is None:
            reply.set_result(said)  # type: ignore[arg-type]
        else:
            reply.set_exception(error)
