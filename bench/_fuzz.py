"""Damaged input by the hundred thousand: only kgmed's own errors in one line, within a time and a memory each.

Every input is made from its number and the seed alone, so that a failure is repeated with `--only NUMBER --seed SEED`.
"""

import json
import multiprocessing
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from _targets import Target, prepare, targets

from damaged import KINDS, PIECES, Damage, hurt

SECONDS = 5.0  # of the processor, that one input may take
MEMORY = 1 << 30  # bytes that a process may take beyond what it has when it begins
STILL = 120.0  # seconds without a new input after which a process is taken to hang for good
LONGEST = 2000  # characters of a message
MARKS = ("<think>", "</think>", "[1]", "```json", "答案：", "\u202e", "\x1b[31m", "no ", "饭", " ", "\n", "--")
TEXTS = [p.encode() for p in (*MARKS, "no " * 2000, "饭" * 3000, "<think>" * 2000, " " * 9000, "[1]" * 2000)]


class TooLong(BaseException):
    """An input took more of the processor than it may."""


@dataclass
class Found:
    """What came of the inputs: how many of each area were read, or refused in a line, and those that were lost."""

    read: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    lost: list[dict[str, Any]] = field(default_factory=list)
    slowest: float = 0.0
    slowest_input: str = ""
    memory: int = 0  # bytes, the most that a process has taken beyond what it began with

    def add(self, other: "Found") -> None:
        self.read.update(other.read)
        self.refused.update(other.refused)
        self.lost += other.lost
        if other.slowest > self.slowest:
            self.slowest, self.slowest_input = other.slowest, other.slowest_input
        self.memory = max(self.memory, other.memory)

    @property
    def tried(self) -> int:
        return sum(self.read.values()) + sum(self.refused.values()) + len(self.lost)


def damaged(target: Target, draw: random.Random) -> bytes:
    """A whole input with up to four damages."""
    pieces = [*PIECES, *TEXTS] if target.is_text else PIECES
    hurts: list[Damage] = []
    for _ in range(draw.randint(1, 4)):
        piece = draw.choice(pieces) if draw.random() < 0.8 else draw.randbytes(draw.randint(0, 12))
        hurts.append((draw.choice(KINDS), draw.random(), draw.random(), piece))
    return hurt(draw.choice(target.seeds), hurts)


def chosen(every: list[Target], seed: int, number: int) -> tuple[Target, bytes]:
    """The target and the input of a number."""
    draw = random.Random(f"{seed}/{number}")
    (target,) = draw.choices(every, [t.weight for t in every])
    return target, damaged(target, draw)


def one(target: Target, data: bytes, folder: Path) -> tuple[str, str]:
    """How an input ended: read, refused or lost, and with what words."""
    from kgmed.errors import KgmedError

    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        target.read(data, folder)
    except KgmedError as error:
        said = str(error)
        broken = "\n" in said or len(said) > LONGEST or "\x1b" in said
        return ("lost", f"a message of {len(said)} characters: {said[:80]!r}") if broken else ("refused", said)
    except TooLong:
        return "lost", f"took more than {SECONDS} s of the processor"
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever else comes is what is looked for
        return "lost", f"{type(error).__name__}: {_where(error)}: {str(error)[:120]}"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return "read", ""


def _where(error: BaseException) -> str:
    """The last place in kgmed that an error came through."""
    at, place = error.__traceback__, ""
    while at is not None:
        name = at.tb_frame.f_code.co_filename
        if f"{os.sep}kgmed{os.sep}" in name:
            place = f"{name.rpartition(f'{os.sep}kgmed{os.sep}')[2]}:{at.tb_lineno}"
        at = at.tb_next
    return place


def stop(*_: object) -> None:
    raise TooLong


def work(numbers: range, seed: int, home: Path, out: Path, at: Any) -> None:
    """Try the inputs of some numbers and write what was found."""
    signal.signal(signal.SIGPROF, stop)
    every, found = targets(home), Found()
    with tempfile.TemporaryDirectory(dir=home.parent) as scratch:
        folder = Path(scratch) / "x"
        base = _most()
        for number in numbers:
            at.value = number
            target, data = chosen(every, seed, number)
            folder.mkdir()
            before = time.process_time()
            if number % 512 == 0:
                _limit(MEMORY)
            how, words = one(target, data, folder)
            seconds = time.process_time() - before
            if seconds > found.slowest:
                found.slowest, found.slowest_input = seconds, f"{number} ({target.area}: {target.name})"
            if how == "lost":
                found.lost.append({"input": number, "area": target.area, "target": target.name, "why": words})
            else:
                getattr(found, how)[target.area] += 1
            shutil.rmtree(folder, ignore_errors=True)
            if number % 4096 < numbers.step:
                found.memory = _most() - base
                _write(found, out)
    found.memory = _most() - base
    _write(found, out)


def _most() -> int:
    """The most memory that this process has had, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _limit(more: int) -> None:
    """Let this process take so much more address space than it has, and no more."""
    statm = Path("/proc/self/statm")
    if statm.exists():
        now = int(statm.read_text(encoding="utf-8").split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (now + more, resource.getrlimit(resource.RLIMIT_AS)[1]))


def _write(found: Found, out: Path) -> None:
    beside = out.with_suffix(".new")
    beside.write_text(json.dumps(found.__dict__), encoding="utf-8")
    beside.replace(out)


def _read(out: Path) -> Found:
    if not out.exists():
        return Found()
    told = json.loads(out.read_text(encoding="utf-8"))
    return Found(**{**told, "read": Counter(told["read"]), "refused": Counter(told["refused"])})


def fuzz(inputs: int, *, seed: int, workers: int, tell: bool = False) -> Found:
    """What came of so many inputs, in so many processes; one that dies or hangs is a lost input."""
    shared = "/dev/shm" if Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(dir=shared) as scratch:
        home = Path(scratch) / "home"
        prepare(home)
        crew = [_Worker(range(k, inputs, workers), seed, home, Path(scratch), k) for k in range(workers)]
        said = time.monotonic()
        while any(w.watch() for w in crew):
            time.sleep(0.2)
            if tell and time.monotonic() - said > 30:
                said = time.monotonic()
                sys.stderr.write(f"fuzz: {sum(w.done for w in crew):,} of {inputs:,}\n")
        found = Found()
        for worker in crew:
            found.add(worker.found())
        return found


class _Worker:
    """A process that tries inputs, begun again after an input that ended it."""

    def __init__(self, numbers: range, seed: int, home: Path, folder: Path, name: int) -> None:
        self.numbers, self.seed, self.home, self.folder, self.name = numbers, seed, home, folder, name
        self.at = multiprocessing.RawValue("q", numbers.start)
        self.turn, self.lost = 0, list[dict[str, Any]]()
        self.seen, self.since = -1, time.monotonic()
        self._begin(numbers)

    def _begin(self, numbers: range) -> None:
        self.left, self.at.value = numbers, numbers.start if numbers else 0
        self.process = multiprocessing.get_context("fork").Process(
            target=work, args=(numbers, self.seed, self.home, self._out(), self.at)
        )
        self.process.start()

    def _out(self) -> Path:
        return self.folder / f"found-{self.name}-{self.turn}.json"

    @property
    def done(self) -> int:
        return int((self.at.value - self.numbers.start) // self.numbers.step)

    def watch(self) -> bool:
        """Whether it still runs."""
        if self.process.is_alive():
            if self.at.value != self.seen:
                self.seen, self.since = self.at.value, time.monotonic()
            elif time.monotonic() - self.since > STILL:
                self.process.kill()
            return True
        if self.process.exitcode == 0:
            return False
        number = int(self.at.value)
        self.lost.append({"input": number, "area": "", "target": "", "why": f"ended with {self.process.exitcode}"})
        self.turn += 1
        self.since = time.monotonic()
        self._begin(range(number + self.numbers.step, self.numbers.stop, self.numbers.step))
        return True

    def found(self) -> Found:
        whole = Found(lost=self.lost)
        for turn in range(self.turn + 1):
            whole.add(_read(self.folder / f"found-{self.name}-{turn}.json"))
        return whole


def repeat(number: int, seed: int) -> Iterator[str]:
    """What is told of one input, tried again in this process."""
    signal.signal(signal.SIGPROF, stop)
    with tempfile.TemporaryDirectory() as scratch:
        home = Path(scratch) / "home"
        prepare(home)
        target, data = chosen(targets(home), seed, number)
        yield f"{target.area}: {target.name}"
        yield repr(data[:4000])
        folder = Path(scratch) / "x"
        folder.mkdir()
        yield ": ".join(one(target, data, folder))
        import traceback

        with tempfile.TemporaryDirectory() as again:
            try:
                target.read(data, Path(again))
            except BaseException:  # noqa: BLE001 - to be shown
                yield traceback.format_exc()
