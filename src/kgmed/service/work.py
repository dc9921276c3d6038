"""Bounded work: so many jobs at once, so many waiting, so many seconds; more is refused, later is stopped.

Jobs run in threads (an answer without a model is some milliseconds of one). A place is free again when the thread of a
job has ended, not when the one who asked has left: leaving, or being late, sets the job's stop token, which it looks at
between its stages, in its searches and with each word of a model. Long jobs wait for one another in threads of their
own, so that short ones wait for none of them.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from kgmed.errors import Busy, Stopped
from kgmed.stop import Stop

T = TypeVar("T")
Gone = Callable[[], Awaitable[object]]  # returns when the one who asked has left
HEARTBEAT = 15.0  # seconds between two signs of life of a stream
_END = object()


class TooLate(Stopped):
    """The time of a job was over."""


class Left(Stopped):
    """The one who asked has left."""


@dataclass
class JobCounts:
    """What became of the jobs of a pool."""

    inside: int = 0
    done: int = 0
    refused: int = 0
    late: int = 0
    stopped: int = 0


class Work:
    """A pool: `workers` jobs at once, `waiting` more, each at most `seconds`."""

    def __init__(self, name: str, *, workers: int, waiting: int, seconds: float) -> None:
        """Empty."""
        self.name, self.most, self.seconds = name, workers + waiting, seconds
        self.counts = JobCounts()
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix=f"kgmed-{name}")
        self._long = ThreadPoolExecutor((workers + 1) // 2, thread_name_prefix=f"kgmed-{name}-long")
        self._stops: set[Stop] = set()
        self.open, self.patience = asyncio.Event(), 0.0  # jobs begin when it is set, or are refused after some seconds
        self.open.set()

    async def __call__(
        self, job: Callable[[Stop], T], gone: Gone | None = None, *, early: bool = False, long: bool = False
    ) -> T:
        """What the job gives; one that needs no graph may run `early`, before they are open; `long` = it may take long.

        Raises `Busy` where there is no place, `TooLate`, `Left`, and what the job raises.
        """
        if not early:
            await self._opened()
        stop = self._enter()
        done = self._submit(lambda: job(stop), stop, long=long)
        await self._first(done, stop, gone)
        return await done

    async def stream(
        self, job: Callable[[Stop], Iterator[T]], gone: Gone | None = None, *, long: bool = False
    ) -> AsyncIterator[T | None]:
        """What the job yields, as it comes; None where nothing has come for `HEARTBEAT` seconds."""
        await self._opened()
        stop = self._enter()
        loop, queue = asyncio.get_running_loop(), asyncio.Queue[Any]()

        def work() -> None:
            for item in job(stop):
                _soon(loop, partial(queue.put_nowait, item))

        done = self._submit(work, stop, long=long)
        watch = asyncio.ensure_future(self._first(done, stop, gone))
        watch.add_done_callback(lambda _: queue.put_nowait(_END))
        try:
            while (item := await _next(queue)) is not _END:
                yield item
            await watch
            await done
        finally:
            stop.set()
            watch.cancel()

    def close(self) -> None:
        """Stop what runs, and let it end."""
        for stop in list(self._stops):
            stop.set()
        for pool in (self._pool, self._long):
            pool.shutdown(wait=True, cancel_futures=True)

    async def _opened(self) -> None:
        """Wait until jobs may begin; raises `Busy` where that takes too long."""
        if self.open.is_set():
            return
        try:
            await asyncio.wait_for(self.open.wait(), self.patience)
        except TimeoutError:
            raise Busy("the graphs are being opened; ask again in a moment", after=5.0) from None

    def _enter(self) -> Stop:
        """A place, with the token by which its job is stopped."""
        if self.counts.inside >= self.most:
            self.counts.refused += 1
            raise Busy(f"{self.most} questions are being worked on; ask again in a moment", after=1.0)
        self.counts.inside += 1
        stop = Stop()
        self._stops.add(stop)
        return stop

    def _submit(self, work: Callable[[], T], stop: Stop, *, long: bool) -> "asyncio.Future[T]":
        """The job in a thread; its place is free when that has ended."""
        loop = asyncio.get_running_loop()
        try:
            done = (self._long if long else self._pool).submit(copy_context().run, work)
        except RuntimeError:
            self._leave(stop)
            raise Busy("the service is ending; ask again in a moment", after=5.0) from None
        done.add_done_callback(lambda _: _soon(loop, lambda: self._leave(stop)))
        made = asyncio.wrap_future(done)
        made.add_done_callback(lambda f: f.cancelled() or f.exception())  # nobody may be left to hear of it
        return made

    def _leave(self, stop: Stop) -> None:
        self.counts.inside -= 1
        self.counts.done += 1
        self._stops.discard(stop)

    async def _first(self, done: "asyncio.Future[Any]", stop: Stop, gone: Gone | None) -> None:
        """Wait for the job, its time or its asker to end, whichever is first; the job is stopped unless it ended."""
        left = asyncio.ensure_future(gone()) if gone is not None else None
        try:
            waited = {done, left} if left is not None else {done}
            await asyncio.wait(waited, timeout=self.seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            if not done.done():
                stop.set()
            if left is not None and not left.done():
                left.cancel()
        if done.done():
            return
        if left is not None and left.done():
            self.counts.stopped += 1
            raise Left("the one who asked has left")
        self.counts.late += 1
        raise TooLate(f"there was no answer within {self.seconds:g} seconds; ask for less, or ask again")


def _soon(loop: asyncio.AbstractEventLoop, call: Callable[[], object]) -> None:
    """Call it in the loop, unless that has ended."""
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(call)


async def _next(queue: "asyncio.Queue[Any]") -> Any:
    """The next that comes; None after `HEARTBEAT` seconds without."""
    try:
        return await asyncio.wait_for(queue.get(), HEARTBEAT)
    except TimeoutError:
        return None
