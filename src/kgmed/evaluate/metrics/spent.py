"""What a run took: seconds, calls of a model, tokens, money, answers of a cache."""

from kgmed.evaluate.items import Item
from kgmed.evaluate.metric import Metric
from kgmed.types import Run


def _hits(run: Run, item: Item) -> float | None:
    return run.spent.cached / run.spent.calls if run.spent.calls else None


def _failures(run: Run, item: Item) -> float:
    return float(len(run.failures))


METRICS = (
    Metric("failed", "the run ended with an error", "ours", lambda r, i: 0.0, failed=1.0, higher=False),
    Metric("faults", "things that went wrong without ending the run", "ours", _failures, failed=None, higher=False),
    Metric(
        "seconds", "of all stages", "ours", lambda r, i: sum(s.seconds for s in r.stages), failed=None, higher=False
    ),
    Metric("calls", "of a language model", "ours", lambda r, i: float(r.spent.calls), failed=None, higher=False),
    Metric("tokens-in", "read by the model", "ours", lambda r, i: float(r.spent.tokens_in), failed=None, higher=False),
    Metric("tokens-out", "written by it", "ours", lambda r, i: float(r.spent.tokens_out), failed=None, higher=False),
    Metric("cost", "US dollars, where a price is known", "ours", lambda r, i: r.spent.cost, failed=None, higher=False),
    Metric("cached", "calls answered by a cache / calls", "ours", _hits, failed=None),
)
