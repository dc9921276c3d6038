"""A log-linear scorer on walks over typed edges, ours: the preset "best". It uses the labels of the fitted cases.

A finding is a symptom with its sign (there, denied, unsure, told first), each a node of its own, so what a patient
denies speaks too. For findings F of a patient, disease d, and w, t, c, C as below:

    log S(d) = (1 - w) log softmax_d [ b_d + sum_F (t G(F, d) + D(F, d)) ] + w log N(d)

- G(F, d) = the log of the mass at F of a walk with restart from d over all counted edges, each `smooth` heavier, less
  its mean over the diseases. With c = 0 nothing would arrive; the larger c, the more of F comes by way of others.
- D, b = what the labels add to the walk: multinomial logistic regression with the walk as offset, ridge |D|^2 / 2C.
- N = the graph's own frequencies with Laplace's smoothing, where a finding that is missing speaks against d.

The defaults were chosen by cross-validation within the train parts of DXY, MZ, MZ-4 and MZ-10 together:
`python bench/rlkgf.py --choose`.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kgmed.errors import BadInput, Unavailable
from kgmed.kg.graph import Adjacency
from kgmed.kg.search.walk import Transition, closed_form, seeds
from kgmed.reward.cases import Case, Cases
from kgmed.reward.criticality import Reason
from kgmed.reward.graph import CauseGraph
from kgmed.reward.scoring import Floats
from kgmed.types import Triple

THERE, DENIED, UNSURE, FIRST = "+", "-", "?", "!"


@dataclass(frozen=True, slots=True)
class LogLinearSettings:
    """The numbers of the scorer, chosen as the module says."""

    c: float = 0.3
    smooth: float = 1.0
    walk: float = 0.3  # t
    ridge: float = 0.3  # C
    frequency: float = 0.3  # w


def findings(case: Case) -> list[str]:
    """The symptoms of a case, each marked with its sign; those told first and there once more.

    >>> findings(Case("1", ("fever", "rash"), ("cough",), explicit=("fever",)))
    ['+fever', '+rash', '-cough', '!fever']
    """
    signed = ((THERE, case.positive), (DENIED, case.negative), (UNSURE, case.unsure))
    told = [s for s in case.explicit if s in case.positive]
    return [mark + s for mark, symptoms in (*signed, (FIRST, told)) for s in symptoms]


@dataclass(frozen=True, eq=False)
class LogLinear:
    """The fitted scorer over f findings and m diseases."""

    graph: CauseGraph  # its symptoms are findings
    edge: Floats  # (f, m) what a finding adds to the walk's and the labels' part
    prior: Floats  # (m,)
    there: Floats  # (f, m) log of the frequency of a finding
    absent: Floats  # (f, m) log of 1 - the frequency; 0 where a missing finding says nothing
    share: Floats  # (m,) log of the share of the disease
    frequency: float

    @property
    def diseases(self) -> tuple[str, ...]:
        """The diseases of the graph."""
        return self.graph.diseases

    def __call__(self, cases: Sequence[Case]) -> Floats:
        """S (b, m); where no finding is known, what the diseases' shares and the missing findings say."""
        x = design(self.graph, cases)
        learnt = _log_softmax(self.prior + x @ self.edge)
        counted = _log_softmax(self.share + x @ self.there + (1 - x) @ self.absent)
        return np.exp(_log_softmax((1 - self.frequency) * learnt + self.frequency * counted))

    def reasons(self, case: Case, disease: str) -> tuple[Reason, ...]:
        """What each known finding adds to the disease's log score against the mean of all diseases, largest first."""
        j = self.graph.diseases.index(disease)
        places = self.graph.places(findings(case))
        both = (1 - self.frequency) * self.edge + self.frequency * (self.there - self.absent)
        share = (both - both.mean(axis=1, keepdims=True))[:, j]
        found: Counter[tuple[str, bool]] = Counter()
        facts: dict[str, Triple | None] = {}
        for i in places:
            sign, symptom = self.graph.symptoms[i][0], self.graph.symptoms[i][1:]
            found[symptom, sign == DENIED] += share[i]
            facts.setdefault(symptom, self.graph.triple(j, i) if self.graph.count[j, i] else None)
        reasons = [Reason(s, float(v), facts[s], denied) for (s, denied), v in found.items()]
        return tuple(sorted(reasons, key=lambda r: -abs(r.share)))


def fit(training: Cases, validation: Cases = (), settings: LogLinearSettings | None = None) -> LogLinear:
    """The scorer of train and validation; nothing is chosen. Raises `Unavailable` without scipy."""
    settings = settings or LogLinearSettings()
    cases = training + validation
    graph = _counted(cases)
    x = design(graph, cases)
    y = np.array([graph.diseases.index(c.disease) for c in cases])
    walk = settings.walk * walked(graph, settings.c, settings.smooth)
    correction, prior = corrected(x, y, x @ walk, settings.ridge)
    p = ((graph.count + 1) / (graph.cases[:, None] + 2)).T
    mute = np.array([s[0] == FIRST for s in graph.symptoms])[:, None]
    return LogLinear(
        graph=graph,
        edge=walk + correction,
        prior=prior,
        there=np.where(mute, 0.0, np.log(p)),
        absent=np.where(mute, 0.0, np.log(1 - p)),
        share=np.log(graph.cases / graph.cases.sum()),
        frequency=settings.frequency,
    )


def _counted(cases: Sequence[Case]) -> CauseGraph:
    """The graph of diseases and findings."""
    if not cases:
        raise BadInput("a scorer cannot be fitted on no cases")
    return CauseGraph.counted([Case(c.id, tuple(findings(c)), disease=c.disease) for c in cases])


def design(graph: CauseGraph, cases: Sequence[Case]) -> Floats:
    """Which findings of the graph each case has (b, f), 1 or 0."""
    x = np.zeros((len(cases), len(graph.symptoms)))
    for row, case in zip(x, cases, strict=True):
        row[graph.places(findings(case))] = 1.0
    return x


def walked(graph: CauseGraph, c: float, smooth: float) -> Floats:
    """G (f, m): the log of the mass at each finding of a walk from each disease, less its mean over the diseases."""
    weight = graph.count + smooth
    m, f = weight.shape
    head, tail = np.divmod(np.arange(m * f), max(f, 1))
    triples = np.column_stack([head, np.zeros_like(head), m + tail])
    scores = closed_form(Transition.of(Adjacency.of(m + f, triples), weight.ravel()), seeds(m + f, range(m)), c=c)
    mass = scores[:, m:] / scores[:, m:].sum(axis=1, keepdims=True)
    g = np.log(mass).T
    return np.asarray(g - g.mean(axis=1, keepdims=True), np.float64)


def corrected(x: Floats, y: NDArray[np.int64], offset: Floats, ridge: float) -> tuple[Floats, Floats]:
    """D (f, m) and b (m,) that make the labels y (b,) likeliest given the offset (b, m), less |D|^2 / 2 ridge."""
    try:
        from scipy.optimize import minimize
    except ImportError as error:
        raise Unavailable('fitting this scorer needs scipy: pip install "kgmed[eval]"') from error
    (_, f), m = x.shape, offset.shape[1]
    wanted = np.eye(m)[y]

    def loss(v: Floats) -> tuple[float, Floats]:
        d, b = v[: f * m].reshape(f, m), v[f * m :]
        log_p = _log_softmax(offset + x @ d + b)
        wrong = np.exp(log_p) - wanted
        slope = np.concatenate([(x.T @ wrong + d / ridge).ravel(), wrong.sum(axis=0)])
        return float((d * d).sum() / (2 * ridge) - (log_p * wanted).sum()), slope

    v = minimize(loss, np.zeros(f * m + m), jac=True, method="L-BFGS-B", options={"maxiter": 300}).x
    return v[: f * m].reshape(f, m), v[f * m :]


def _log_softmax(values: Floats) -> Floats:
    """The logarithm of the softmax of each row."""
    values = values - values.max(axis=1, keepdims=True)
    return np.asarray(values - np.log(np.exp(values).sum(axis=1, keepdims=True)), np.float64)
