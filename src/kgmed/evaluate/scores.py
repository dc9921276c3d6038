"""The scores of an evaluation and their statistics, computed from its log alone: a new metric costs no model call.

A job that failed is scored as a failure. What a method was not asked yet, of an evaluation that was stopped, is
neither wrong nor failed: it is left out, and `left` tells how much that is. `n` is how many items a mean is over,
`without` how many of those asked have no such number (no reference, no price, ...).
"""

import re
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import comb, sqrt
from pathlib import Path
from typing import Any

import numpy as np

from kgmed.config import configure
from kgmed.evaluate.controls import rival_of
from kgmed.evaluate.items import Item, Metric
from kgmed.evaluate.log import Entry, Job, entries
from kgmed.evaluate.run import Evaluation, Plan, evaluate, executor
from kgmed.records import Run

# --- Uncertainty: standard errors, the paired bootstrap, McNemar's test, Holm's correction.


DRAWS = 10_000


@dataclass(frozen=True, slots=True)
class Mean:
    """The mean of n values, its standard error, and an interval that covers the true mean in 95 of 100 samples.

    Of one value there is no error and no interval (`nan`).
    """

    n: int
    mean: float
    error: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Difference:
    """The mean of a - b over the same questions, its 95 % interval, and the chance of one as far from 0."""

    n: int
    mean: float
    low: float
    high: float
    p: float


def mean(values: Sequence[float], *, seed: int = 0, draws: int = DRAWS) -> Mean:
    """The mean with its standard error s / sqrt(n) and the percentile interval of the bootstrap (Efron 1979).

    >>> m = mean([0.0, 1.0, 1.0, 0.0])
    >>> m.n, m.mean, round(m.error, 4)
    (4, 0.5, 0.2887)
    """
    x = np.asarray(values, float)
    if not len(x):
        return Mean(0, float("nan"), float("nan"), float("nan"), float("nan"))
    if len(x) == 1:
        return Mean(1, float(x[0]), float("nan"), float("nan"), float("nan"))
    error = float(x.std(ddof=1) / sqrt(len(x)))
    low, high = np.quantile(_resampled(x, seed, draws), [0.025, 0.975])
    return Mean(len(x), float(x.mean()), error, float(low), float(high))


def interval(of: "Mean | Difference | PairedComparison", form: str = ".4f") -> str:
    """Its interval in words; "none" where there is none.

    >>> interval(Mean(9, 0.5, 0.1, 0.3, 0.7)), interval(mean([0.5]))
    ('0.3000 to 0.7000', 'none')
    """
    return "none" if of.low != of.low else f"{of.low:{form}} to {of.high:{form}}"


def paired_bootstrap(a: Sequence[float], b: Sequence[float], *, seed: int = 0, draws: int = DRAWS) -> Difference:
    """The difference of two methods on the same questions, by the paired bootstrap (Koehn 2004).

    p is two-sided: the share of resampled differences, shifted to a mean of zero, as far out as the one observed
    (Efron and Tibshirani 1993, 16.4), with one added above and below so that it is never 0.

    >>> paired_bootstrap([1, 1, 1, 1], [1, 1, 1, 1]).p
    1.0
    """
    if len(a) != len(b):
        raise ValueError(f"{len(a)} and {len(b)} values are not pairs")
    d = np.asarray(a, float) - np.asarray(b, float)
    if not len(d):
        return Difference(0, float("nan"), float("nan"), float("nan"), float("nan"))
    observed = float(d.mean())
    if len(d) == 1:  # drawn again it is always itself, which would be called certain
        return Difference(1, observed, float("nan"), float("nan"), 1.0)
    resampled = _resampled(d, seed, draws)
    low, high = np.quantile(resampled, [0.025, 0.975])
    extreme = int((np.abs(resampled - observed) >= abs(observed) - 1e-12).sum())
    return Difference(len(d), observed, float(low), float(high), (extreme + 1) / (draws + 1))


def _resampled(x: np.ndarray, seed: int, draws: int) -> np.ndarray:
    """The means of `draws` samples with replacement (draws,), in blocks of bounded memory."""
    generator = np.random.default_rng(seed)
    block = max(1, 2_000_000 // len(x))
    sizes = [min(block, draws - i) for i in range(0, draws, block)]
    return np.concatenate([x[generator.integers(0, len(x), (size, len(x)))].mean(axis=1) for size in sizes])


def mcnemar(a: Sequence[bool], b: Sequence[bool]) -> float:
    """How likely so uneven a split of the questions that only one of two methods has right is by chance (McNemar 1947).

    The exact two-sided binomial test on the discordant pairs, doubled and cut at 1.

    >>> mcnemar([True] * 5 + [False], [False] * 5 + [True])  # 5 against 1: 2 x (1 + 6) / 64
    0.21875
    """
    if len(a) != len(b):
        raise ValueError(f"{len(a)} and {len(b)} values are not pairs")
    only_a = sum(x and not y for x, y in zip(a, b, strict=True))
    only_b = sum(y and not x for x, y in zip(a, b, strict=True))
    n = only_a + only_b
    tail = sum(comb(n, k) for k in range(min(only_a, only_b) + 1))
    return float(min(1.0, 2 * tail / 2**n))


def holm(ps: Sequence[float]) -> list[float]:
    """The p values after correction for their number (Holm 1979): the chance that any of them is a false alarm is kept.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = sorted(range(len(ps)), key=lambda i: ps[i])
    corrected, highest = [0.0] * len(ps), 0.0
    for rank, i in enumerate(order):
        highest = max(highest, min(1.0, (len(ps) - rank) * ps[i]))
        corrected[i] = highest
    return corrected


# --- How far raters agree beyond chance: Cohen's kappa of two, Krippendorff's alpha of any number.


def kappa(first: Sequence[Hashable], second: Sequence[Hashable]) -> float | None:
    """Cohen's kappa (1960) of two raters on the same units: (p_o - p_e) / (1 - p_e); None where p_e is 1.

    >>> kappa("yyyynn", "yynnnn")  # p_o = 4/6, p_e = 4/6 x 2/6 + 2/6 x 4/6 = 4/9
    0.4
    """
    if len(first) != len(second):
        raise ValueError(f"{len(first)} and {len(second)} ratings are not pairs")
    n = len(first)
    if not n:
        return None
    one, two = Counter(first), Counter(second)
    expected = sum(one[v] * two[v] for v in one)  # times n²
    if expected == n * n:
        return None
    observed = sum(a == b for a, b in zip(first, second, strict=True)) * n
    return (observed - expected) / (n * n - expected)


def alpha(units: Iterable[Sequence[Hashable]]) -> float | None:
    """Krippendorff's alpha (2011) of nominal ratings, each unit with as many as it has: 1 - D_o / D_e.

    A unit with fewer than two ratings says nothing of agreement. None where all ratings are the same.

    >>> round(alpha(["yy", "yn", "nn"]), 4)  # D_o = 2 of 6 pairs, D_e = 2 x 3 x 3 of 6 x 5: 1 - (2/6) / (18/30)
    0.4444
    """
    pairable = [Counter(unit) for unit in units if len(unit) > 1]
    totals = sum(pairable, Counter[Hashable]())
    n = totals.total()
    expected = n * n - sum(c * c for c in totals.values())
    if not expected:
        return None
    observed = sum((u.total() ** 2 - sum(c * c for c in u.values())) / (u.total() - 1) for u in pairable)
    return 1 - (n - 1) * observed / expected


# --- Scores by method and metric, differences from the baseline, disagreements.


@dataclass(frozen=True, slots=True)
class Score:
    """One metric of one method, over the items and seeds that it was asked (`finished`)."""

    method: str
    metric: str
    mean: Mean
    without: int  # items that were asked and have no such number
    values: tuple[float | None, ...]  # one an item, the mean over the seeds; None = it has none
    by_seed: tuple[float, ...] = ()  # the mean of each seed over the items that have the number
    left: int = 0  # answers of the plan that are not there yet

    @property
    def deviation(self) -> float | None:
        """The standard deviation of the means of the seeds, with n - 1; None of a single seed.

        >>> Score("hykge", "accuracy", mean([0.5]), 0, (0.5,), (0.4, 0.5, 0.6)).deviation
        0.1
        """
        return round(float(np.std(self.by_seed, ddof=1)), 12) if len(self.by_seed) > 1 else None


@dataclass(frozen=True, slots=True)
class PairedComparison:
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


def finished(plan: Plan, method: str, log: Mapping[Job, Entry]) -> Plan:
    """What a method was asked of a plan: what was not come to is neither wrong nor failed.

    Of seeds those with every question, or the first, which jobs begin with.
    """
    asked = {s: [i for i in plan.items if Job(method, i.question.id, s) in log] for s in plan.seeds}
    whole = tuple(s for s, items in asked.items() if len(items) == len(plan.items))
    first = plan.seeds[0]
    return Plan((method,), plan.items if whole else asked[first], whole or (first,))


def unfinished(plan: Plan, log: Mapping[Job, Entry], *, of: str = "") -> str:
    """In a sentence how many answers of a plan are not there yet, `of` which data set; "" where all are."""
    jobs = plan.jobs()
    there = sum(job in log for job in jobs)
    if there == len(jobs):
        return ""
    whose = f" of {of}" if of else ""
    return (
        f"Not finished: {there} of {len(jobs)} answers{whose} are there; what was not asked yet counts neither as "
        "right nor as wrong (see n)."
    )


def runs(log: Mapping[Job, Entry], plan: Plan, method: str) -> list[list[Run | None]]:
    """The runs of a method that was asked all of a plan: for each seed one an item, None where it failed."""
    return [[log[Job(method, i.question.id, seed)].run for i in plan.items] for seed in plan.seeds]


def compare_methods(
    methods: Sequence[str],
    dataset: str,
    out: Path | str,
    *,
    data: Path | str = "data",
    metrics: Sequence[str] = (),
    limit: int = 0,
    threads: int = 1,
    models: Sequence[str] = (),
    **options: Any,
) -> list[Score]:
    """Ask every method the questions of a data set, and score the answers: one score a method and metric.

    `dataset` is a name of `kgmed eval datasets` (its files in the folder `data`), or a file of your own questions. The
    folder `out` keeps a log of all answers: a call that was interrupted continues there. `metrics` without any are
    those of the data set's task; `limit` draws so many questions; with several `models` each method is asked with each,
    as `hykge@openai/NAME`; `options` are those of `kgmed.load`, `graph` among them. A question that failed counts as
    wrong. Raises `BadInput` for what does not exist.
    """
    from kgmed.evaluate.datasets import dataset as named
    from kgmed.evaluate.metrics import PLAIN, metric

    trial = Evaluation(
        methods=tuple(methods), dataset=dataset, data=Path(data), config=configure(None, options), limit=limit
    ).with_models(models)  # fmt: skip
    evaluate(trial, Path(out), executor(threads=threads, workers=0, ray=""))
    wanted = [metric(name) for name in metrics or PLAIN[named(dataset).task]]
    return score(entries(Path(out)), trial.plan(), wanted)


def score(log: Mapping[Job, Entry], plan: Plan, metrics: Sequence[Metric]) -> list[Score]:
    """Every metric of every method, method by method."""
    return [_score(m, metric, log, plan) for m in plan.methods for metric in metrics]


def _score(method: str, metric: Metric, log: Mapping[Job, Entry], plan: Plan) -> Score:
    asked = finished(plan, method, log)
    each = [metric.over(runs, asked.items) for runs in runs(log, asked, method)]
    of_asked = [_mean([v for v in of_seeds if v is not None]) for of_seeds in zip(*each, strict=True)]
    known = [v for v in of_asked if v is not None]
    seeds = (_mean([v for v in of_items if v is not None]) for of_items in each)
    by = tuple(m for m in seeds if m is not None)
    by_id = {item.question.id: v for item, v in zip(asked.items, of_asked, strict=True)}
    values = tuple(by_id.get(item.question.id) for item in plan.items)
    left = len(plan.items) * len(plan.seeds) - len(asked.items) * len(asked.seeds)
    return Score(method, metric.name, mean(known), len(of_asked) - len(known), values, by, left)


def _mean(values: list[float]) -> float | None:
    return sum(values) / len(values) if values else None


def compare_to_baseline(scores: Sequence[Score], baseline: str) -> list[PairedComparison]:
    """Every method against the baseline with its own model, metric by metric; a pair needs a number of both."""
    comparisons: list[PairedComparison] = []
    for metric in dict.fromkeys(s.metric for s in scores):
        by_method = {s.method: s for s in scores if s.metric == metric}
        others = {name: rival_of(name, baseline, list(by_method)) for name in by_method}
        rows = [_compare(by_method[n], by_method[other]) for n, other in others.items() if other and other != n]
        corrected = holm([row.p for row in rows])
        comparisons += [replace(row, corrected=p) for row, p in zip(rows, corrected, strict=True)]
    return comparisons


def _compare(score: Score, base: Score) -> PairedComparison:
    pairs = [(a, b) for a, b in zip(score.values, base.values, strict=True) if a is not None and b is not None]
    a, b = [x for x, _ in pairs], [y for _, y in pairs]
    d = paired_bootstrap(a, b)
    binary = bool(pairs) and {*a, *b} <= {0.0, 1.0}
    p = mcnemar([x == 1 for x in a], [y == 1 for y in b]) if binary else d.p if pairs else 1.0
    test = "McNemar" if binary else "paired bootstrap"
    return PairedComparison(score.method, base.method, score.metric, len(pairs), d.mean, d.low, d.high, p, p, test)


_UNREAD = re.compile(r"no usable reply|its reply begins|it ends '|^(?:Malformed|ModelFailed):")


def unread(entry: Entry, item: Item) -> bool:
    """Whether a model replied and its reply could not be used, so that there is no answer, no choice, or another's.

    Of a question with options that is a reply without one, unless the method abstained.
    """
    if entry.run is None:
        return bool(_UNREAD.search(entry.error))
    answer = entry.run.answer
    chose = not item.question.options or bool(answer.choices) or answer.abstained
    return not chose or any(_UNREAD.search(line) for line in entry.run.failures)


def disagreements(log: Mapping[Job, Entry], plan: Plan, metric: Metric) -> list[tuple[str, dict[str, float]]]:
    """The items that not all methods score alike, the widest spread first, with the score of each method."""
    rows = []
    values = {m: _score(m, metric, log, plan).values for m in plan.methods}
    for place, item in enumerate(plan.items):
        by_method = {m: v for m, of_items in values.items() if (v := of_items[place]) is not None}
        if by_method and max(by_method.values()) > min(by_method.values()):
            middle = sum(by_method.values()) / len(by_method)
            variance = sum((v - middle) ** 2 for v in by_method.values()) / len(by_method)
            rows.append((-variance, place, item.question.id, by_method))
    return [(name, by_method) for _, _, name, by_method in sorted(rows, key=lambda row: row[:2])]


def option_bias(log: Mapping[Job, Entry], plan: Plan, method: str) -> float | None:
    """How far the letters a method chooses lie from those that are right: total variation, 0 = alike, 1 = apart.

    A model that picks letters by position has a large one however it is asked. None where nothing was chosen.
    """
    picked: dict[str, float] = {}
    right: dict[str, float] = {}
    asked = finished(plan, method, log)
    for of_seed in runs(log, asked, method):
        for run, item in zip(of_seed, asked.items, strict=True):
            chosen = run.answer.choices if run else ()
            if chosen:
                for letter in chosen:
                    picked[letter] = picked.get(letter, 0.0) + 1 / len(chosen)
                for letter in item.gold.choices:
                    right[letter] = right.get(letter, 0.0) + 1 / len(item.gold.choices)
    n = sum(picked.values())
    return None if not n else sum(abs(picked.get(x, 0.0) - right.get(x, 0.0)) for x in {*picked, *right}) / (2 * n)
