"""One finished evaluation as a report reads it: its plan, its log, and the scores computed from them."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from kgmed.evaluate.compare import Plan
from kgmed.evaluate.controls import controlled
from kgmed.evaluate.items import DataSet, Task
from kgmed.evaluate.log import Entry, Job, in_order
from kgmed.evaluate.metric import Metric
from kgmed.evaluate.metrics import PLAIN, metric, metrics
from kgmed.evaluate.scores import Against, Score, against, score
from kgmed.types import Run

MAIN: dict[Task, str] = {"choice": "accuracy", "text": "rouge-l", "entities": "evidence-recall@20"}
Made = tuple[Metric, ...]
NO_MADE: Mapping[str, Made] = {}
MORE = ("evidence-precision", "linked", "abstained", "faults", "tokens-in", "tokens-out", "cost", "cached")


def shown_metrics(task: Task, wanted: Sequence[str], made: Mapping[str, Made] = NO_MADE) -> tuple[Metric, ...]:
    """The metrics of a report: those `wanted` in their order, the first the main one; none = the usual ones.

    "usual" and "all" stand for those of the task; `made` = metrics that a model or the references were needed for.
    """
    of_task = [m.name for m in metrics().values() if task in m.tasks]
    groups = {"usual": (MAIN[task], *PLAIN[task], *MORE), "all": (MAIN[task], *of_task)}
    names = dict.fromkeys(name for word in wanted or ("usual",) for name in groups.get(word, (word,)))
    return tuple(m for name in names for m in made.get(name) or (metric(name),))


def default_baseline(methods: Sequence[str]) -> str:
    """What all are held against unless one is named: zero-shot, else the first control, else the first method.

    >>> default_baseline(["hykge", "hykge+random", "zero-shot"]), default_baseline(["facts", "facts+random"])
    ('zero-shot', 'facts+random')
    """
    controls = [m for m in methods if controlled(m).control]
    return "zero-shot" if "zero-shot" in methods else next(iter([*controls, *methods]), "")


@dataclass(frozen=True)
class Study:
    """An evaluation folder, read. `of` = the questions of the data set's part; fewer in the plan make it a sample."""

    name: str
    dataset: DataSet
    manifest: Mapping[str, Any]
    plan: Plan
    found: Mapping[Job, Entry]
    of: int
    metrics: tuple[Metric, ...]
    baseline: str = ""

    @property
    def main(self) -> Metric:
        """The metric that is drawn and that disagreements are told by."""
        return self.metrics[0]

    @property
    def sampled(self) -> bool:
        """Whether the questions are a part of those of the data set."""
        return len(self.plan.items) < self.of

    @property
    def against(self) -> str:
        """The name of the method that all are held against."""
        return self.baseline or default_baseline(self.plan.methods)

    @cached_property
    def scores(self) -> list[Score]:
        """Every metric of every method."""
        return score(self.found, self.plan, self.metrics)

    @cached_property
    def differences(self) -> list[Against]:
        """Every method against the baseline."""
        return against(self.scores, self.against)

    def score(self, method: str, name: str) -> Score | None:
        """One number of one method; None where that metric is not shown."""
        return next((s for s in self.scores if (s.method, s.metric) == (method, name)), None)

    def difference(self, method: str, name: str) -> Against | None:
        """One method against the baseline; None for the baseline itself."""
        return next((d for d in self.differences if (d.method, d.metric) == (method, name)), None)

    def entries(self, method: str) -> list[Entry]:
        """One a question and seed; what was never done is a failure."""
        jobs = [Job(method, item.question.id, seed) for seed in self.plan.seeds for item in self.plan.items]
        return in_order(dict(self.found), jobs)

    def runs(self, method: str) -> Iterator[Run]:
        """The runs that there are."""
        return (e.run for e in self.entries(method) if e.run is not None)

    def failed(self, method: str) -> Counter[str]:
        """What went wrong, and how often."""
        return Counter(e.error for e in self.entries(method) if e.run is None)

    def models(self, method: str) -> dict[str, str]:
        """What models the method's runs were made with, by what they did."""
        told: dict[str, dict[str, None]] = {}
        for run in self.runs(method):
            for kind, name in run.models:
                told.setdefault(kind, {})[name] = None
        return {kind: ", ".join(names) for kind, names in told.items()}

    def stages(self, method: str) -> dict[str, float]:
        """The mean seconds of each stage, over the runs that there are."""
        total: dict[str, float] = {}
        n = 0
        for run in self.runs(method):
            n += 1
            for stage in run.stages:
                total[stage.name] = total.get(stage.name, 0.0) + stage.seconds
        return {name: seconds / n for name, seconds in total.items()}
