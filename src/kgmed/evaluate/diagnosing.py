"""How often a scorer of diseases is right: by cross-validation to choose, on closed test cases to report."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import comb, sqrt
from statistics import fmean, stdev

from kgmed.errors import BadInput
from kgmed.reward.cases import Case, Cases, Fit, Report, Split, folds
from kgmed.reward.scoring import Scorer, first


def on_test(split: Split, fit: Fit[Scorer]) -> Report:
    """The report on the test cases of a scorer fitted on train and validation."""
    return split.test.report(first(split.fitted(fit)))


def crossed(
    cases: Sequence[Case], fit: Fit[Scorer], *, k: int = 5, seed: int = 0, done: Callable[[], None] = lambda: None
) -> float:
    """The accuracy over all k folds, each judged by a scorer fitted on the others; `done` is called after each fold.

    What the fit wants to choose it must choose on a part of the folds it is given: they come as train, with no
    validation part.
    """
    if not cases:
        raise BadInput("there are no cases to cross-validate on")
    right = 0
    for train, held_out in folds(cases, k, seed=seed):
        right += _right(fit(train, ()), held_out)
        done()
    return right / len(cases)


def _right(scorer: Scorer, cases: Cases) -> int:
    return sum(p == c.disease for p, c in zip(first(scorer)(cases), cases, strict=True))


@dataclass(frozen=True, slots=True)
class Mean:
    """The mean of n measurements and its standard error; 0 for a single one."""

    mean: float
    error: float
    n: int


def mean(values: Sequence[float]) -> Mean:
    """The mean and its standard error.

    >>> mean([0.5, 0.7])
    Mean(mean=0.6, error=0.1, n=2)
    """
    if not values:
        raise BadInput("there is nothing to take the mean of")
    n = len(values)
    error = stdev(values) / sqrt(n) if n > 1 else 0.0
    return Mean(round(fmean(values), 12), round(error, 12), n)


@dataclass(frozen=True, slots=True)
class Compared:
    """Two predictors on the same cases: where only one of them is right, and how likely that much is by chance."""

    only_first: int
    only_second: int
    p: float


def compared(one: Sequence[bool], other: Sequence[bool]) -> Compared:
    """McNemar's exact test, two-sided, of two predictors' rights on the same cases.

    >>> compared([True] * 5 + [False], [False] * 5 + [False])
    Compared(only_first=5, only_second=0, p=0.0625)
    """
    if len(one) != len(other):
        raise BadInput("two predictors can be compared on the same cases only")
    a = sum(x and not y for x, y in zip(one, other, strict=True))
    b = sum(y and not x for x, y in zip(one, other, strict=True))
    tail = sum(comb(a + b, i) for i in range(min(a, b) + 1)) / 2 ** (a + b)
    return Compared(a, b, min(1.0, 2 * tail))
