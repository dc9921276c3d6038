"""Diagnosis scored: how often a scorer of diseases is right."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import fmean, stdev

import numpy as np
from numpy.typing import NDArray

from kgmed.errors import BadInput
from kgmed.reward.cases import Case, Fit, Scorer, Split, best_disease, folds

# By cross-validation to choose, on closed test cases to report.

Scores = NDArray[np.floating]


OF_SCORERS = {  # what is told of a scorer of diseases on closed test cases, and what that is
    "accuracy": "cases whose best disease is right / cases",
    "accuracy-explicit": "the same of the cases that name a symptom themselves",
    "lead": "what the best disease scores above the second; 1 - 0 = sure, 0 = alike",
}


def on_test(split: Split, fit: Fit[Scorer]) -> dict[str, tuple[float, ...]]:
    """The values of `OF_SCORERS`, one a test case that has them, of a scorer fitted on train and validation."""
    scorer = split.fitted(fit)
    ahead: list[float] = []

    def predict(cases: Sequence[Case]) -> Sequence[str | None]:
        ahead.extend(leads(scorer(cases)))
        return best_disease(scorer)(cases)

    told = split.test.report(predict)
    every, stated = (tuple(map(float, of.right)) for of in (told, told.explicit))
    return {"accuracy": every, "accuracy-explicit": stated, "lead": tuple(ahead)}


def leads(scores: Scores) -> list[float]:
    """How far the best of each row (b, m) is above the second; NaN is 0: outside the patient's subgraph.

    >>> [round(x, 3) for x in leads(np.array([[0.5, 0.2, np.nan], [np.nan, np.nan, np.nan], [0.3, 0.3, 0.1]]))]
    [0.3, 0.0, 0.0]
    """
    known = np.nan_to_num(np.column_stack([scores, np.zeros(len(scores))]), nan=0.0)  # a disease alone is above none
    ordered = np.sort(known, axis=1)
    return [float(x) for x in ordered[:, -1] - ordered[:, -2]]


def cross_validated(
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
        for case, said in zip(held_out, best_disease(fit(train, ()))(held_out), strict=True):
            right[place[id(case)]] = said == case.disease
        done()
    return tuple(right)


@dataclass(frozen=True, slots=True)
class MeanScores:
    """The mean of n measurements and its standard error; 0 for a single one."""

    mean: float
    error: float
    n: int


def mean(values: Sequence[float]) -> MeanScores:
    """The mean and its standard error.

    >>> mean([0.5, 0.7])
    MeanScores(mean=0.6, error=0.1, n=2)
    """
    if not values:
        raise BadInput("there is nothing to take the mean of")
    n = len(values)
    return MeanScores(round(fmean(values), 12), round(stdev(values) / sqrt(n) if n > 1 else 0.0, 12), n)


@dataclass(frozen=True, slots=True)
class GrowthOfDiseases:
    """What a scorer gives among so many diseases, means over cases: to the right one, and to the strongest other."""

    diseases: int
    cases: int  # that it could judge
    right: float
    other: float
    gap: MeanScores  # right less other


def shares_by_diseases(cases: Sequence[Case], fit: Fit[Scorer], *, k: int = 5, seed: int = 0) -> list[GrowthOfDiseases]:
    """The shares among two diseases, three, and so on to all, the commonest first, by cross-validation (RLKGF, Fig. 8).

    The scorer is fitted on cases of those diseases alone. A disease outside the patient's subgraph has none.
    """
    common = [disease for disease, _ in Counter(c.disease for c in cases).most_common()]
    if len(common) < 2:
        raise BadInput("shares are told among two diseases or more; give cases of several")
    return [_growth([c for c in cases if c.disease in common[:n]], n, fit, k, seed) for n in range(2, len(common) + 1)]


def _growth(cases: Sequence[Case], diseases: int, fit: Fit[Scorer], k: int, seed: int) -> GrowthOfDiseases:
    """The shares among the diseases of these cases."""
    right, other = [], []
    for train, held_out in folds(cases, k, seed=seed):
        scorer = fit(train, ())
        place = {disease: i for i, disease in enumerate(scorer.diseases)}
        for case, row in zip(held_out, np.asarray(scorer(held_out)), strict=True):
            if np.isnan(row).all():
                continue
            given, own = np.nan_to_num(row), place.get(case.disease, -1)
            right.append(float(given[own]) if own >= 0 else 0.0)
            other.append(float(np.delete(given, own).max(initial=0.0)) if own >= 0 else float(given.max()))
    gap = mean([a - b for a, b in zip(right, other, strict=True)])
    return GrowthOfDiseases(diseases, len(right), fmean(right), fmean(other), gap)
