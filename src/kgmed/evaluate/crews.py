"""Who carries out the jobs of an evaluation: threads of this process, processes of this machine, a Ray cluster.

All give the same entries; the log puts them in order. A worker that dies loses nothing that was finished: its jobs
are given to another, and a job that has killed its worker `TRIES` times becomes a failed entry.
"""

import os
import socket
import threading
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from multiprocessing import get_context
from typing import Any

from kgmed.errors import BadInput, Unavailable
from kgmed.evaluate.compare import Make, done
from kgmed.evaluate.items import Item
from kgmed.evaluate.log import Entry, Job

TRIES = 3  # deaths of a worker that one job may cause
_ASKS = "kgmed-asks"
_ONE_THREAD = {"OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE"}
_AHEAD = 4  # jobs handed out per worker before the first is back
Work = tuple[Job, Item]


@dataclass(frozen=True, slots=True)
class Threads:
    """Threads of this process; 1 = one after the other."""

    count: int = 1

    def __call__(self, make: Make, jobs: Iterable[Work], /) -> Iterator[Entry]:
        """The entries as they are finished."""
        if self.count < 2:
            yield from (done(make, job, item) for job, item in jobs)
            return
        with threads(self.count) as pool:
            for _, future in _finished(pool, make, deque(jobs), self.count * _AHEAD):
                yield future.result()


@dataclass(frozen=True, slots=True)
class Processes:
    """Processes of this machine, each with its own models."""

    count: int = 2

    def __call__(self, make: Make, jobs: Iterable[Work], /) -> Iterator[Entry]:
        """The entries as they are finished."""
        left, deaths = deque(jobs), Counter[Job]()
        while left:
            suspects = deque(work for work in left if deaths[work[0]])
            if suspects:  # one at a time, so that it is known which one kills
                left = deque(work for work in left if not deaths[work[0]])
                yield from self._until_a_death(make, suspects, deaths, 1)
                left.extendleft(suspects)
            else:
                yield from self._until_a_death(make, left, deaths, self.count)

    def _until_a_death(self, make: Make, left: "deque[Work]", deaths: "Counter[Job]", count: int) -> Iterator[Entry]:
        """Entries until a worker dies; the jobs that it took down are put back, or given up after `TRIES`."""
        back: list[Work] = []
        spawn = get_context("spawn")
        with _one_thread_each(), ProcessPoolExecutor(count, mp_context=spawn) as pool, _left_at_once(pool):
            for work, future in _finished(pool, make, left, count * _AHEAD if count > 1 else 1):
                try:
                    yield future.result()
                except BrokenProcessPool:
                    back.append(work)
        for job, item in back:
            deaths[job] += 1
            if deaths[job] < TRIES:
                left.appendleft((job, item))
            else:
                yield Entry(job, error=f"WorkerDied: the process that did it ended {TRIES} times")


@contextmanager
def threads(count: int) -> Iterator[ThreadPoolExecutor]:
    """So many threads that ask questions; where this is left by an error or an interrupt, they are not waited for."""
    pool = ThreadPoolExecutor(count, _ASKS)
    with _left_at_once(pool):
        yield pool
    pool.shutdown()


def still_asking() -> bool:
    """Whether threads that were left still ask: an interpreter that ends would wait for them, which may take long."""
    return any(thread.name.startswith(_ASKS) for thread in threading.enumerate())


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """Processes begun within take one thread each for numerical libraries, unless the environment says otherwise.

    Several that each take all processors, and wait by spinning, are ten times slower.
    """
    added = {name: value for name, value in _ONE_THREAD.items() if name not in os.environ}
    os.environ.update(added)
    try:
        yield
    finally:
        for name in added:
            os.environ.pop(name, None)


@contextmanager
def _left_at_once(pool: Executor) -> Iterator[None]:
    """Where this is left by an error or an interrupt, what was handed out and not begun is not waited for."""
    try:
        yield
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        raise


def _finished(pool: Executor, make: Make, left: "deque[Work]", ahead: int) -> Iterator[tuple[Work, "Future[Entry]"]]:
    """Jobs and their futures as they are finished; no more than `ahead` are handed out, none after a break."""
    running: dict[Future[Entry], Work] = {}
    broken = False
    while running or (left and not broken):
        while left and len(running) < ahead and not broken:
            try:
                running[pool.submit(done, make, *left[0])] = left[0]
                left.popleft()
            except BrokenProcessPool:
                broken = True
        for future in wait(running, return_when=FIRST_COMPLETED).done:
            broken = broken or isinstance(future.exception(), BrokenProcessPool)
            yield running.pop(future), future


@dataclass(frozen=True, slots=True)
class Ray:
    """The workers of a Ray cluster, at `address` ("auto" = the one that runs here, "local" = one begun for this)."""

    address: str

    def __call__(self, make: Make, jobs: Iterable[Work], /) -> Iterator[Entry]:
        """The entries as they are finished; a job whose worker or node died is done again by another."""
        ray = _ray()
        begun = not ray.is_initialized()
        if begun:
            _reach(self.address)
            ray.init(None if self.address == "local" else self.address, log_to_driver=False, configure_logging=False)
        try:
            yield from _on_ray(ray, make, deque(jobs))
        finally:
            if begun:
                ray.shutdown()


def _on_ray(ray: Any, make: Make, left: "deque[Work]") -> Iterator[Entry]:
    """Hand out jobs to the cluster, as many at once as it has processors."""
    task = ray.remote(max_retries=TRIES - 1)(done)
    shared, running = ray.put(make), dict[Any, Work]()
    ahead = max(1, int(ray.cluster_resources().get("CPU", 1))) * _AHEAD
    while left or running:
        while left and len(running) < ahead:
            work = left.popleft()
            running[task.remote(shared, *work)] = work
        ready, _ = ray.wait(list(running), num_returns=1)
        for reference in ready:
            job, _ = running.pop(reference)
            try:
                yield ray.get(reference)
            except (ray.exceptions.WorkerCrashedError, ray.exceptions.NodeDiedError, ray.exceptions.OutOfMemoryError):
                yield Entry(job, error=f"WorkerDied: the worker that did it ended {TRIES} times")


def _ray() -> Any:
    """The ray library; raises `Unavailable`."""
    try:
        return import_module("ray")
    except ImportError:
        raise Unavailable('Ray is not installed; pip install "kgmed[ray]"') from None


def _reach(address: str) -> None:
    """Nothing, where something listens at HOST:PORT; raises `Unavailable`, for which Ray itself takes minutes."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if not colon:
        return
    try:
        socket.create_connection((host, int(port)), timeout=10).close()
    except (OSError, ValueError, OverflowError) as e:
        raise Unavailable(f"no Ray cluster at {address} ({e}); start one with: ray start --head") from None


def crew(*, threads: int = 1, workers: int = 0, ray: str = "") -> Threads | Processes | Ray:
    """The crew that a person asked for; raises `BadInput` where they ask for two."""
    if sum((threads > 1, workers > 0, bool(ray))) > 1:
        raise BadInput("give one of --threads, --workers and --ray")
    if ray:
        return Ray(ray)
    return Processes(workers) if workers else Threads(max(1, threads))
