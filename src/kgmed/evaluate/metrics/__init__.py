"""The metrics that runs are scored with; another is one file here with `METRICS`, and one row in `_FILES`."""

from importlib import import_module

from kgmed.errors import UnknownName
from kgmed.evaluate.items import Task
from kgmed.evaluate.metric import Metric

_FILES = ("choices", "exact", "rouge", "bleu", "found", "spent")
PLAIN: dict[Task, tuple[str, ...]] = {  # what a report shows unless it is asked for more
    "choice": ("accuracy", "pcr", "no-choice", "several", "evidence-recall@20", "seconds", "calls", "failed"),
    "text": ("rouge-1", "rouge-2", "rouge-l", "bleu-1", "bleu-4", "rouge-r-knowledge", "seconds", "calls", "failed"),
    "entities": (*(f"evidence-recall@{k}" for k in (5, 10, 20)), "rouge-l", "seconds", "calls", "failed"),
}


def metrics() -> dict[str, Metric]:
    """Every metric by its name."""
    found: list[Metric] = [m for file in _FILES for m in import_module(f"{__name__}.{file}").METRICS]
    return {m.name: m for m in found}


def metric(name: str) -> Metric:
    """The metric of a name that needs nothing made (see `made`); raises `UnknownName`."""
    from kgmed.evaluate.metrics.made import MADE

    known = metrics()
    if name not in known:
        raise UnknownName("metric", name, [*known, *MADE])
    return known[name]
