"""What a metric is: a number for one run, made from the run and the item's gold alone, never from a model's call.

A failed run is scored, not dropped: `failed` is what it counts as. None = the metric does not apply to this item (it
has no reference, say); the number of those is told with every mean.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kgmed.evaluate.items import Item, Task
from kgmed.types import Run


@dataclass(frozen=True, slots=True)
class Metric:
    """A named number with its formula and where that comes from."""

    name: str
    formula: str
    source: str
    score: Callable[[Run, Item], float | None]
    tasks: tuple[Task, ...] = ("choice", "text", "entities")
    failed: float | None = 0.0  # what a run that failed counts as; None = it has no such number
    higher: bool = True  # whether higher is better
    ready: Callable[[Sequence[tuple[Run, Item]]], None] | None = None  # hears what will be scored, to do it at once

    def of(self, run: Run | None, item: Item) -> float | None:
        """The number for a run, or for the lack of one."""
        return self.failed if run is None else self.score(run, item)

    def over(self, runs: Sequence[Run | None], items: Sequence[Item]) -> list[float | None]:
        """The numbers of runs, one an item."""
        if self.ready is not None:
            self.ready([(run, item) for run, item in zip(runs, items, strict=True) if run is not None])
        return [self.of(run, item) for run, item in zip(runs, items, strict=True)]
