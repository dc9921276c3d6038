"""The scores of an evaluation, computed from its log alone: a new metric costs no call of a model.

Every item counts for every method: a job that failed or was never done is scored as a failure. `n` is how many items a
mean is over, `without` how many have no such number (no reference, no price, ...).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from kgmed.evaluate.compare import Plan
from kgmed.evaluate.log import Entry, Job, in_order
from kgmed.evaluate.metric import Metric
from kgmed.evaluate.statistics import Mean, holm, mcnemar, mean, paired
from kgmed.types import Run


@dataclass(frozen=True, slots=True)
class Score:
    """One metric of one method, over all items and seeds."""

    method: str
    metric: str
    mean: Mean
    without: int  # items that have no such number
    values: tuple[float | None, ...]  # one an item, the mean over the seeds


@dataclass(frozen=True, slots=True)
class Against:
    """A method against the baseline on the same items; p is corrected for the number of methods compared (Holm)."""

    method: str
    baseline: str
    metric: str
    n: int
    difference: float
    low: float
    high: float
    p: float
    corrected: float
    test: str  # McNemar where every value is 0 or 1, else the paired bootstrap


def runs(found: Mapping[Job, Entry], plan: Plan, method: str) -> list[list[Run | None]]:
    """The runs of a method: for each seed one an item, None where there is none."""
    return [
        [e.run for e in in_order(dict(found), [Job(method, i.question.id, seed) for i in plan.items])]
        for seed in plan.seeds
    ]


def score(found: Mapping[Job, Entry], plan: Plan, metrics: Sequence[Metric]) -> list[Score]:
    """Every metric of every method, method by method."""
    return [_score(m, metric, runs(found, plan, m), plan) for m in plan.methods for metric in metrics]


def _score(method: str, metric: Metric, by_seed: list[list[Run | None]], plan: Plan) -> Score:
    values = [metric.over(of, plan.items) for of in by_seed]
    each = tuple(_mean([v for v in column if v is not None]) for column in zip(*values, strict=True))
    there = [v for v in each if v is not None]
    return Score(method, metric.name, mean(there), len(each) - len(there), each)


def _mean(values: list[float]) -> float | None:
    return sum(values) / len(values) if values else None


def against(scores: Sequence[Score], baseline: str) -> list[Against]:
    """Every method against the baseline, metric by metric; a pair needs a number of both."""
    found: list[Against] = []
    for metric in dict.fromkeys(s.metric for s in scores):
        of = {s.method: s for s in scores if s.metric == metric}
        if baseline in of:
            rows = [_against(s, of[baseline]) for s in of.values() if s.method != baseline]
            corrected = holm([row.p for row in rows])
            found += [_with(row, p) for row, p in zip(rows, corrected, strict=True)]
    return found


def _against(score: Score, base: Score) -> Against:
    pairs = [(a, b) for a, b in zip(score.values, base.values, strict=True) if a is not None and b is not None]
    a, b = [x for x, _ in pairs], [y for _, y in pairs]
    told = paired(a, b)
    binary = bool(pairs) and {*a, *b} <= {0.0, 1.0}
    p = mcnemar([x == 1 for x in a], [y == 1 for y in b]) if binary else told.p if pairs else 1.0
    test = "McNemar" if binary else "paired bootstrap"
    return Against(score.method, base.method, score.metric, len(pairs), told.mean, told.low, told.high, p, p, test)


def _with(row: Against, corrected: float) -> Against:
    return replace(row, corrected=corrected)


def disagreements(found: Mapping[Job, Entry], plan: Plan, metric: Metric) -> list[tuple[str, dict[str, float]]]:
    """The items that not all methods score alike, the most divided first, with the score of each method."""
    rows = []
    of = {m: _score(m, metric, runs(found, plan, m), plan).values for m in plan.methods}
    for place, item in enumerate(plan.items):
        told = {m: v for m, values in of.items() if (v := values[place]) is not None}
        if told and max(told.values()) > min(told.values()):
            middle = sum(told.values()) / len(told)
            rows.append((-sum((v - middle) ** 2 for v in told.values()) / len(told), place, item.question.id, told))
    return [(name, told) for _, _, name, told in sorted(rows, key=lambda row: row[:2])]


def option_bias(found: Mapping[Job, Entry], plan: Plan, method: str) -> float | None:
    """How far the letters a method chooses lie from those that are right: total variation, 0 = alike, 1 = apart.

    A model that picks letters by position has a large one however it is asked. None where nothing was chosen.
    """
    said: dict[str, float] = {}
    right: dict[str, float] = {}
    for of in runs(found, plan, method):
        for run, item in zip(of, plan.items, strict=True):
            chosen = run.answer.choices if run else ()
            if chosen:
                for letter in chosen:
                    said[letter] = said.get(letter, 0.0) + 1 / len(chosen)
                for letter in item.gold.choices:
                    right[letter] = right.get(letter, 0.0) + 1 / len(item.gold.choices)
    n = sum(said.values())
    if not n:
        return None
    return sum(abs(said.get(x, 0.0) - right.get(x, 0.0)) for x in {*said, *right}) / (2 * n)
