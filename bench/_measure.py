"""How the graph benchmark measures: time, memory, the machine's own limits, and what to ask of a graph."""

import json
import os
import subprocess
import sys
from array import array
from collections.abc import Callable, Iterable
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kgmed.graph.base import Adjacency
from kgmed.graph.search.scan import degrees
from kgmed.graph.store.store import Store

Measured = dict[str, Any]
_clock = [perf_counter]


def use_clock(name: str) -> None:
    """Measure by the clock on the wall, or by the processor time of this process."""
    _clock[0] = {"wall": perf_counter, "cpu": process_time}[name]


def now() -> float:
    """The clock in use, in seconds."""
    return _clock[0]()


def seconds(work: Callable[[], Any]) -> float:
    """The time of one call."""
    begin = now()
    work()
    return now() - begin


def each(work: Callable[[Any], Any], items: Iterable[Any], unit: float) -> Measured:
    """Median, 99th percentile and largest time of a call per item, in `unit` seconds."""
    times = np.array([seconds(lambda item=item: work(item)) for item in items]) / unit  # type: ignore[misc]
    return {"median": float(np.median(times)), "p99": float(np.percentile(times, 99)), "max": float(times.max())}


def peak() -> int:
    """The largest resident memory of this process so far, in bytes (since its start, not its parent's)."""
    return _status("VmHWM")


def resident() -> int:
    """The memory of this process that is no file's, in bytes."""
    return _status("RssAnon")


def _status(field: str) -> int:
    lines = Path("/proc/self/status").read_text("ascii").splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(field))


def proportional(pid: int, folder: str = "", *, heap: bool = False) -> int:
    """The memory of a process in bytes, shared pages divided among those that share them.

    `folder`: only of its files; `heap`: only what is no file's.
    """
    wanted, total, counts = "Anonymous:" if heap else "Pss:", 0, not folder
    for line in Path(f"/proc/{pid}/smaps").read_text("utf-8").splitlines():
        first, *rest = line.split()
        if not first.endswith(":"):
            counts = not folder or folder in line
        elif first == wanted and counts:
            total += 1024 * int(rest[0])
    return total


def child(task: str, *flags: str, **arguments: object) -> Measured:
    """What another process, which does one task only, measured."""
    script = Path(__file__).with_name("graph.py")
    command = [sys.executable, str(script), "--task", task, *flags, *(f"--{k}={v}" for k, v in arguments.items())]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, env=os.environ, encoding="utf-8")
    result: Measured = json.loads(done.stdout.splitlines()[-1])
    return result


class Queries(NamedTuple):
    """What every engine is asked, by node number."""

    named: list[int]  # look up by name
    around: list[int]  # one-hop: uniform, in proportion to degree, and the largest hubs
    sets: list[list[int]]  # 25 anchors each, in proportion to degree
    pairs: list[tuple[int, int]]  # shortest path
    seed: int  # walk


def queries(adjacency: Adjacency, *, quick: bool) -> Queries:
    """The same questions at every call: 1,000 names, 1,020 nodes (20 hubs), 5 anchor sets, 100 pairs."""
    random = np.random.default_rng(11)
    many, sets = (100, 2) if quick else (500, 5)
    n = adjacency.nodes
    degree = degrees(adjacency, np.arange(n, dtype=np.int32))
    chance = degree / degree.sum()
    hubs = np.argsort(-degree, kind="stable")[:20]
    around = np.concatenate([random.integers(0, n, many), random.choice(n, many, p=chance), hubs])
    anchors = [random.choice(n, 25, replace=False, p=chance).tolist() for _ in range(sets)]
    pairs = random.choice(n, (many // 5, 2), p=chance).tolist()
    named = random.integers(0, n, 2 * many).tolist()
    return Queries(named, around.tolist(), anchors, [(a, b) for a, b in pairs], int(random.choice(n, p=chance)))


def triples(store: Store) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.uint16]]:
    """Head, tail and relation of every edge."""
    out = store.adjacency.out
    return np.repeat(np.arange(store.adjacency.nodes), np.diff(out.indptr)), out.neighbour, out.relation


def machine(working_set: int) -> Measured:
    """The limits of this machine now: sequential read in bytes/s; independent and dependent random reads in s."""
    block = np.ones(32 << 20)
    read = min(seconds(lambda: block.sum()) for _ in range(3))
    table = np.zeros(max(working_set // 4, 1024), np.int32)
    table[:] = 1
    places = np.random.default_rng(0).integers(0, len(table), 1 << 22)
    gather = min(seconds(lambda: table.take(places)) for _ in range(3)) / len(places)
    dependent = max(_chase(working_set) - _chase(1 << 14), 0.0) + 5e-9
    return {"read": block.nbytes / read, "gather": gather, "dependent": dependent}


def _chase(working_set: int) -> float:
    """Seconds per step along a random cycle through memory of that size, with the interpreter's own time."""
    n = max(working_set // 8, 1024)
    order = np.random.default_rng(1).permutation(n)
    follow = np.empty(n, np.int64)
    follow[order] = np.roll(order, -1)
    cycle, steps, at = array("q", follow.tobytes()), 300_000, 0
    begin = now()
    for _ in range(steps):
        at = cycle[at]
    return (now() - begin) / steps
