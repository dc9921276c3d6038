"""The metrics that runs are scored with; those of an evaluation, by name.

A new metric is one file here, or in another package, with `metrics.add(Metric(...))` of `kgmed.registry`.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from kgmed import registry
from kgmed.errors import BadInput, UnknownName
from kgmed.evaluate.items import Item, MadeMetrics, Metric, Task

if TYPE_CHECKING:
    from kgmed.evaluate.items import Choices

PLAIN: dict[Task, tuple[str, ...]] = {  # what a report shows unless it is asked for more
    "choice": ("accuracy", "pcr", "no-choice", "several", "evidence-recall@20", "seconds", "calls", "failed"),
    "text": ("rouge-1", "rouge-2", "rouge-l", "bleu-1", "bleu-4", "rouge-r-knowledge", "seconds", "calls", "failed"),
    "entities": (*(f"evidence-recall@{k}" for k in (5, 10, 20)), "rouge-l", "seconds", "calls", "failed"),
}


def metrics() -> dict[str, Metric]:
    """Every metric that needs nothing made, by its name."""
    return {m.name: m for m in registry.metrics.all() if isinstance(m, Metric)}


def made_metrics() -> dict[str, MadeMetrics]:
    """Every name under which metrics are made."""
    return {m.name: m for m in registry.metrics.all() if isinstance(m, MadeMetrics)}


def metric(name: str) -> Metric:
    """The metric of a name that needs nothing made; raises `UnknownName`, `BadInput`."""
    found: Metric | MadeMetrics = registry.metrics.get(name)
    if isinstance(found, MadeMetrics):
        raise BadInput(f"the metric {name} is made from {found.needs} before it can score")
    return found


def make(name: str, chosen: "Choices", items: Sequence[Item]) -> tuple[Metric, ...]:
    """The metrics of that name, made on all items of a data set; raises `UnknownName`, `BadInput`, `Unavailable`."""
    known = made_metrics()
    if name not in known:
        raise UnknownName("metric that is made", name, known)
    return known[name].make(chosen, items)


def make_all(
    names: Sequence[str], chosen: "Choices", items: Callable[[], Sequence[Item]]
) -> dict[str, tuple[Metric, ...]]:
    """Those of the names that are made, made; `items` gives all items of the data set where any is."""
    wanted = [name for name in dict.fromkeys(names) if name in made_metrics()]
    whole = items() if wanted else ()
    return {name: make(name, chosen, whole) for name in wanted}
