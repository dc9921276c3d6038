"""Asks every question of every method and logs what comes back; goes on where it was stopped.

Only here is an error of kgmed's own turned into a result: a failed entry, which is counted and scored as a failure.
Any other error is a defect and ends the evaluation; what was finished is in the log.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Protocol

from kgmed.errors import KgmedError
from kgmed.evaluate.items import Item
from kgmed.evaluate.log import Entry, Job, Log
from kgmed.types import Question, Run

Ask = Callable[[Question], Run]


class Make(Protocol):
    """Makes a method ready to be asked; a plain function or partial, so that it can be sent to another process."""

    def __call__(self, method: str, seed: int, item: Item, /) -> Ask:
        """The method with that seed; `item` for a control that needs the gold (oracle evidence)."""
        ...


class Crew(Protocol):
    """Something that carries out jobs: threads, processes, a cluster."""

    def __call__(self, make: Make, jobs: Iterable[tuple[Job, Item]], /) -> Iterator[Entry]:
        """The entry of each job, as they are finished."""
        ...


@dataclass(frozen=True)
class Plan:
    """What is asked of what: every item of every method, with every seed."""

    methods: Sequence[str]
    items: Sequence[Item]
    seeds: Sequence[int] = (0,)

    def jobs(self) -> list[Job]:
        """All jobs, question by question, so that an evaluation stopped early has compared the methods on the same."""
        return [Job(m, i.question.id, s) for s in self.seeds for i in self.items for m in self.methods]


def compare(
    plan: Plan, make: Make, log: Log, crew: Crew, *, again: bool = False, each: Callable[[Entry], None] | None = None
) -> None:
    """Carry out what of the plan the log does not have yet; `again` = also what failed. `each` hears of every entry."""
    items: Mapping[str, Item] = {item.question.id: item for item in plan.items}
    left = [j for j in plan.jobs() if j not in log.done or (again and log.done[j].run is None)]
    for entry in crew(make, ((job, items[job.item]) for job in left)):
        log.write(entry)
        if each is not None:
            each(entry)


def done(make: Make, job: Job, item: Item) -> Entry:
    """The entry of one job."""
    try:
        return Entry(job, make(job.method, job.seed, item)(item.question))
    except KgmedError as e:
        return Entry(job, error=f"{type(e).__name__}: {' '.join(str(e).split())}")


class Once:
    """Keeps what `make` made for each method and seed, so that it is made once a process; safe between threads."""

    def __init__(self, make: Callable[[str, int], Ask]) -> None:
        """Of a function of method and seed."""
        self._make, self._made, self._lock = make, dict[tuple[str, int], Ask](), Lock()

    def __call__(self, method: str, seed: int, item: Item, /) -> Ask:
        """The method with that seed."""
        with self._lock:
            if (method, seed) not in self._made:
                self._made[method, seed] = self._make(method, seed)
            return self._made[method, seed]

    def __reduce__(self) -> "tuple[type[Once], tuple[Callable[[str, int], Ask]]]":
        """Sent to another process without what was made here."""
        return Once, (self._make,)
