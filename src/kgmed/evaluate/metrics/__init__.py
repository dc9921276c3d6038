"""The metrics that runs are scored with; those of an evaluation, by name."""

from kgmed.errors import UnknownName
from kgmed.evaluate.items import Metric, Task
from kgmed.evaluate.metrics import evidence, text

PLAIN: dict[Task, tuple[str, ...]] = {  # what a report shows unless it is asked for more
    "choice": ("accuracy", "pcr", "no-choice", "several", "evidence-recall@20", "seconds", "calls", "failed"),
    "text": ("rouge-1", "rouge-2", "rouge-l", "bleu-1", "bleu-4", "rouge-r-knowledge", "seconds", "calls", "failed"),
    "entities": (*(f"evidence-recall@{k}" for k in (5, 10, 20)), "rouge-l", "seconds", "calls", "failed"),
}


def metrics() -> dict[str, Metric]:
    """Every metric by its name."""
    return {
        m.name: m for m in (*evidence.CHOICES, *text.EXACT, *text.ROUGE, *text.BLEU, *evidence.FOUND, *evidence.SPENT)
    }


def metric(name: str) -> Metric:
    """The metric of a name that needs nothing made (see `made`); raises `UnknownName`."""
    from kgmed.evaluate.metrics.by_model import MADE

    known = metrics()
    if name not in known:
        raise UnknownName("metric", name, [*known, *MADE])
    return known[name]
