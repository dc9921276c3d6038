"""What the scorers of RLKGF are held against, and how two predictors are compared on the same cases."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import erfc, sqrt
from statistics import fmean, stdev
from typing import Any, Literal

import numpy as np

from kgmed.errors import BadInput, Unavailable, UnknownName
from kgmed.evaluate.scores import mcnemar
from kgmed.reward.cases import Case, CaseReport, Cases, CauseGraph, Fit, Floats, Scorer, Split, best_disease
from kgmed.reward.loglinear import DENIED, FIRST, THERE, UNSURE, nodes

# --- What a graph scorer must beat: naive Bayes, logistic regression, overlap and the most frequent disease.
# All use the labels of the fitted cases. The first three are scikit-learn's (extra "eval"), with its defaults or with a
# strength chosen by cross-validation within the fitted cases, on what
# `see` names of a case: the symptoms that are there ("there"), also those denied ("denied"), all that the "best" scorer
# is told ("all": those unsure and those told first too), or the very nodes of its graph ("nodes": those spoken of too).


See = Literal["there", "denied", "all", "nodes"]
Model = Literal["bernoulli", "multinomial", "logistic", "tuned"]  # "tuned" = logistic, C by cross-validation
_STRENGTHS = (0.03, 0.1, 0.3, 1.0, 3.0)
_MARKS = {"there": THERE, "denied": THERE + DENIED, "all": THERE + DENIED + UNSURE + FIRST, "nodes": ""}


@dataclass(frozen=True, eq=False)
class Classifier:
    """A fitted classifier of scikit-learn as a scorer."""

    model: Any
    diseases: tuple[str, ...]
    columns: tuple[str, ...]
    see: See

    def __call__(self, cases: Sequence[Case]) -> Floats:
        """The probabilities (b, m)."""
        if not cases:
            return np.zeros((0, len(self.diseases)))
        return np.asarray(self.model.predict_proba(_seen(self.columns, cases, self.see)), np.float64)


def classifying(name: Model, see: See = "there") -> Callable[[Cases, Cases], Classifier]:
    """The fit of a classifier on train and validation together; raises `Unavailable` without scikit-learn."""
    if see not in _MARKS:
        raise UnknownName("part of a case", see, _MARKS)

    def fit(training: Cases, validation: Cases) -> Classifier:
        cases = training + validation
        columns = tuple(sorted({f for c in cases for f in _kept(c, see)}))
        model = _model(name).fit(_seen(columns, cases, see), [c.disease for c in cases])
        return Classifier(model, tuple(str(d) for d in model.classes_), columns, see)

    return fit


def _model(name: Model) -> Any:
    """A new classifier with scikit-learn's defaults."""
    try:
        from sklearn.linear_model import LogisticRegression
        from sklearn.model_selection import GridSearchCV
        from sklearn.naive_bayes import BernoulliNB, MultinomialNB
    except ImportError as error:
        raise Unavailable('the baselines need scikit-learn: pip install "kgmed[eval]"') from error
    known: dict[str, Callable[[], Any]] = {
        "bernoulli": BernoulliNB,
        "multinomial": MultinomialNB,
        "logistic": lambda: LogisticRegression(max_iter=1000),
        "tuned": lambda: GridSearchCV(LogisticRegression(max_iter=1000), {"C": _STRENGTHS}),
    }
    if name not in known:
        raise UnknownName("classifier", name, known)
    return known[name]()


def _kept(case: Case, see: See) -> list[str]:
    marks = _MARKS[see]
    return [f for f in nodes(case) if not marks or f[0] in marks]


def _seen(columns: Sequence[str], cases: Sequence[Case], see: See) -> Any:
    """Which columns each case has, as a sparse matrix (b, f)."""
    from scipy.sparse import csr_matrix

    place = {c: i for i, c in enumerate(columns)}
    kept = [[place[f] for f in _kept(case, see) if f in place] for case in cases]
    ends, places = np.cumsum([0, *map(len, kept)]), np.concatenate([*kept, np.zeros(0)]).astype(np.int64)
    return csr_matrix((np.ones(len(places)), places, ends), shape=(len(cases), len(columns)))


@dataclass(frozen=True, eq=False)
class Overlap:
    """The share of a disease's cases that have the symptom, summed over the patient's: no walk, no network."""

    graph: CauseGraph

    @property
    def diseases(self) -> tuple[str, ...]:
        """The diseases of the graph."""
        return self.graph.diseases

    def __call__(self, cases: Sequence[Case]) -> Floats:
        """The sums (b, m), scaled to sum 1; NaN outside the patient's subgraph."""
        weight = self.graph.weight("symptom given disease")
        values = np.array([weight[:, self.graph.places(c.positive)].sum(axis=1) for c in cases])
        values = values.reshape(len(cases), len(self.diseases))
        total = values.sum(axis=1, keepdims=True)
        scaled = np.divide(values, total, out=np.full_like(values, np.nan), where=values > 0)
        return np.asarray(scaled, np.float64)


def overlap(training: Cases, validation: Cases) -> Overlap:
    """The overlap scorer on the counts of train and validation."""
    return Overlap(CauseGraph.counted(training + validation))


@dataclass(frozen=True, slots=True)
class Majority:
    """The shares of the diseases, whatever the patient has."""

    diseases: tuple[str, ...]
    shares: tuple[float, ...]

    def __call__(self, cases: Sequence[Case]) -> Floats:
        """The shares, a row a case (b, m)."""
        return np.ones((len(cases), 1)) * np.array([self.shares], np.float64)


def majority(training: Cases, validation: Cases) -> Majority:
    """The shares of the diseases in train and validation."""
    counts = Counter(c.disease for c in training + validation)
    names = tuple(sorted(counts))
    return Majority(names, tuple(counts[d] / counts.total() for d in names))


# --- Two predictors on the same cases.


def report_on_test(split: Split, fit: Fit[Scorer]) -> CaseReport:
    """The report on the test cases of a scorer fitted on train and validation."""
    return split.test.report(best_disease(split.fitted(fit)))


@dataclass(frozen=True, slots=True)
class McNemar:
    """Two predictors on the same cases: where only one of them is right, and how likely that much is by chance."""

    only_first: int
    only_second: int
    p: float


def compare_predictors(one: Sequence[bool], other: Sequence[bool]) -> McNemar:
    """McNemar's exact test, two-sided, of which cases two predictors get right.

    >>> compare_predictors([True] * 5 + [False], [False] * 5 + [False])
    McNemar(only_first=5, only_second=0, p=0.0625)
    """
    if len(one) != len(other):
        raise BadInput("two predictors can be compared on the same cases only")
    a = sum(x and not y for x, y in zip(one, other, strict=True))
    b = sum(y and not x for x, y in zip(one, other, strict=True))
    return McNemar(a, b, mcnemar(one, other))


@dataclass(frozen=True, slots=True)
class Paired:
    """How much more often one predictor is right than another on the same cases, and its standard error.

    p is how likely so much is by chance, two-sided, by the normal distribution.
    """

    difference: float
    error: float
    p: float


def compare_over_folds(one: Sequence[Sequence[bool]], other: Sequence[Sequence[bool]]) -> Paired:
    """Two predictors over several divisions into folds (divisions, cases), compared case by case.

    A case's share of divisions in which it is right is one measurement, so the error is that over cases; that the
    scorers of two folds learnt from many of the same cases is not in it.

    >>> compare_over_folds([[True, True, True, False]], [[True, False, False, False]])
    Paired(difference=0.5, error=0.2887, p=0.0833)
    """
    shares = [[fmean(rights) for rights in zip(*each, strict=True)] for each in (one, other)]
    if len(shares[0]) != len(shares[1]) or len(shares[0]) < 2:
        raise BadInput("two predictors can be compared on the same cases only, at least two")
    differences = [a - b for a, b in zip(*shares, strict=True)]
    difference, error = fmean(differences), stdev(differences) / sqrt(len(differences))
    p = erfc(abs(difference) / error / sqrt(2)) if error else float(not difference)
    return Paired(round(difference, 4), round(error, 4), round(p, 4))
