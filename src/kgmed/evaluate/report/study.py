"""One finished evaluation as a report reads it: its plan, its log, the scores computed from them, its sweeps."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from kgmed.evaluate import scores
from kgmed.evaluate.controls import controlled, has_baseline
from kgmed.evaluate.items import DataSet, Item, Metric, Task
from kgmed.evaluate.log import Entry, Job, in_order
from kgmed.evaluate.metrics import PLAIN, metric, metrics
from kgmed.evaluate.run import Plan
from kgmed.evaluate.scores import PairedComparison, Score
from kgmed.records import Run

MAIN: dict[Task, str] = {"choice": "accuracy", "text": "rouge-l", "entities": "evidence-recall@20"}
MORE = ("evidence-precision", "linked", "abstained", "faults", "tokens-in", "tokens-out", "cost", "cached")


def report_metrics(
    task: Task, wanted: Sequence[str], built: Mapping[str, tuple[Metric, ...]] | None = None
) -> tuple[Metric, ...]:
    """The metrics of a report: those `wanted` in their order, the first the main one; none = the usual ones.

    "usual" and "all" stand for those of the task; `built` = metrics that a model or the references were needed for.
    """
    of_task = [m.name for m in metrics().values() if task in m.tasks]
    groups = {"usual": (MAIN[task], *PLAIN[task], *MORE), "all": (MAIN[task], *of_task)}
    names = dict.fromkeys(name for word in wanted or ("usual",) for name in groups.get(word, (word,)))
    return tuple(m for name in names for m in (built or {}).get(name) or (metric(name),))


def default_baseline(methods: Sequence[str]) -> str:
    """What all are compared with unless one is named: zero-shot, else the first control, else the first method.

    >>> default_baseline(["hykge", "hykge+random", "zero-shot"]), default_baseline(["facts", "facts+random"])
    ('zero-shot', 'facts+random')
    """
    controls = [m for m in methods if controlled(m).control]
    return "zero-shot" if has_baseline("zero-shot", methods) else next(iter([*controls, *methods]), "")


@dataclass(frozen=True)
class Study:
    """An evaluation folder, read.

    `total` = the questions of the data set's part: where the plan has fewer, it is of a sample.
    """

    name: str
    dataset: DataSet
    manifest: Mapping[str, Any]
    plan: Plan
    log: Mapping[Job, Entry]
    total: int
    metrics: tuple[Metric, ...]
    chosen_baseline: str = ""

    @property
    def title(self) -> str:
        """The data set and the folder."""
        return f"{self.dataset.title}: {self.name}"

    @property
    def main(self) -> Metric:
        """The metric that is drawn and that disagreements are measured by."""
        return self.metrics[0]

    @property
    def sampled(self) -> bool:
        """Whether the questions are a part of those of the data set."""
        return len(self.plan.items) < self.total

    @property
    def baseline(self) -> str:
        """The name of the method that all are compared with."""
        return self.chosen_baseline or default_baseline(self.plan.methods)

    @cached_property
    def items(self) -> dict[str, Item]:
        """The items by the id of their question."""
        return {item.question.id: item for item in self.plan.items}

    @cached_property
    def scores(self) -> list[Score]:
        """Every metric of every method."""
        return scores.score(self.log, self.plan, self.metrics)

    @cached_property
    def differences(self) -> list[PairedComparison]:
        """Every method against the baseline."""
        return scores.compare_to_baseline(self.scores, self.baseline)

    @cached_property
    def disagreements(self) -> list[tuple[str, dict[str, float]]]:
        """The questions that methods are not scored alike on, with the score of each, the widest spread first."""
        return scores.disagreements(self.log, self.plan, self.main)

    @property
    def unfinished(self) -> str:
        """In a sentence how many answers are not there yet; "" where all are."""
        return scores.unfinished(self.plan, self.log)

    def score(self, method: str, name: str) -> Score | None:
        """One metric of one method; None where that metric is not shown."""
        return next((s for s in self.scores if (s.method, s.metric) == (method, name)), None)

    def mean(self, method: str, name: str) -> float | None:
        """The mean of a metric; None where no question has the number."""
        score = self.score(method, name)
        return score.mean.mean if score and score.mean.n else None

    def difference(self, method: str, name: str) -> PairedComparison | None:
        """One method against the baseline; None for the baseline itself."""
        return next((d for d in self.differences if (d.method, d.metric) == (method, name)), None)

    def entry(self, method: str, item: Item) -> Entry | None:
        """What a method made of a question, of several seeds with the first; None where it was not asked yet."""
        return self.log.get(Job(method, item.question.id, self.plan.seeds[0]))

    def entries(self, method: str) -> list[Entry]:
        """One a question and seed that it was asked and is scored on."""
        return in_order(dict(self.log), scores.finished(self.plan, method, self.log).jobs())

    def runs(self, method: str) -> Iterator[Run]:
        """The runs that did not fail."""
        return (e.run for e in self.entries(method) if e.run is not None)

    def errors(self, method: str) -> Counter[str]:
        """The messages of the runs that failed, and how often each came."""
        return Counter(e.error for e in self.entries(method) if e.run is None)

    def models(self, method: str) -> dict[str, str]:
        """The models that the method's runs used, by what they did."""
        names: dict[str, dict[str, None]] = {}
        for run in self.runs(method):
            for kind, name in run.models:
                names.setdefault(kind, {})[name] = None
        return {kind: ", ".join(some) for kind, some in names.items()}

    def stages(self, method: str) -> dict[str, float]:
        """The mean seconds of each stage, over the runs that did not fail."""
        runs = list(self.runs(method))
        total: dict[str, float] = {}
        for run in runs:
            for stage in run.stages:
                total[stage.name] = total.get(stage.name, 0.0) + stage.seconds
        return {name: seconds / len(runs) for name, seconds in total.items()}


# --- Sweeps in a study: methods that differ in one setting alone, as hykge[hops=1], hykge[hops=2].


class Sweep(NamedTuple):
    """A setting and, for each method that it was varied of, pairs of the setting's value and the method's name."""

    setting: str
    series: tuple[tuple[str, tuple[tuple[float, str], ...]], ...]


def sweeps(methods: Sequence[str]) -> list[Sweep]:
    """The sweeps among methods; a value that is no number makes none.

    >>> [(s.setting, s.series) for s in sweeps(["hykge[hops=2]", "hykge[hops=1]", "facts", "hykge[keep=5]"])]
    [('hops', (('hykge', ((1.0, 'hykge[hops=1]'), (2.0, 'hykge[hops=2]'))),))]
    """
    found: dict[str, dict[str, dict[float, str]]] = {}
    for name in methods:
        parts = controlled(name)
        for setting, text in parts.settings:
            if (value := _number(text)) is not None:
                rest = ",".join(f"{k}={v}" for k, v in parts.settings if k != setting)
                control = f"+{parts.control}" if parts.control else ""
                model = f"@{parts.model}" if parts.model else ""
                base = f"{parts.method}{f'[{rest}]' if rest else ''}{control}{model}"
                found.setdefault(setting, {}).setdefault(base, {})[value] = name
    series = {s: tuple((b, tuple(sorted(v.items()))) for b, v in by.items() if len(v) > 1) for s, by in found.items()}
    return [Sweep(setting, lines) for setting, lines in series.items() if lines]


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if abs(value) < 1e12 else None
