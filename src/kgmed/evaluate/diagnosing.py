"""How often a scorer of diseases is right: by cross-validation to choose, on closed test cases to report."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import erfc, sqrt
from statistics import fmean, stdev

from kgmed.errors import BadInput
from kgmed.evaluate.statistics import mcnemar
from kgmed.reward.cases import Case, Fit, Report, Split, folds
from kgmed.reward.scoring import Scorer, first


def on_test(split: Split, fit: Fit[Scorer]) -> Report:
    """The report on the test cases of a scorer fitted on train and validation."""
    return split.test.report(first(split.fitted(fit)))


def crossed(
    cases: Sequence[Case], fit: Fit[Scorer], *, k: int = 5, seed: int = 0, done: Callable[[], None] = lambda: None
) -> tuple[bool, ...]:
    """Which cases are right, in their order, each judged by a scorer fitted on the folds without it.

    What the fit wants to choose it must choose on a part of the folds it is given: they come as train, with no
    validation part. `done` is called after each fold.
    """
    if not cases:
        raise BadInput("there are no cases to cross-validate on")
    place = {id(c): i for i, c in enumerate(cases)}
    right = [False] * len(cases)
    for train, held_out in folds(cases, k, seed=seed):
        for case, said in zip(held_out, first(fit(train, ()))(held_out), strict=True):
            right[place[id(case)]] = said == case.disease
        done()
    return tuple(right)


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
    return Compared(a, b, mcnemar(one, other))


@dataclass(frozen=True, slots=True)
class Paired:
    """How much more often one predictor is right than another on the same cases, and its standard error.

    p is how likely so much is by chance, two-sided, by the normal distribution.
    """

    difference: float
    error: float
    p: float


def paired(one: Sequence[Sequence[bool]], other: Sequence[Sequence[bool]]) -> Paired:
    """Two predictors over several divisions into folds (divisions, cases), compared case by case.

    A case's share of divisions in which it is right is one measurement, so the error is that over cases; that the
    scorers of two folds learnt from many of the same cases is not in it.

    >>> paired([[True, True, True, False]], [[True, False, False, False]])
    Paired(difference=0.5, error=0.2887, p=0.0833)
    """
    shares = [[fmean(rights) for rights in zip(*each, strict=True)] for each in (one, other)]
    if len(shares[0]) != len(shares[1]) or len(shares[0]) < 2:
        raise BadInput("two predictors can be compared on the same cases only, at least two")
    differences = [a - b for a, b in zip(*shares, strict=True)]
    difference, error = fmean(differences), stdev(differences) / sqrt(len(differences))
    p = erfc(abs(difference) / error / sqrt(2)) if error else float(not difference)
    return Paired(round(difference, 4), round(error, 4), round(p, 4))
