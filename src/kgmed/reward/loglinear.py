"""A log-linear scorer on a graph of typed edges, whose weights are learnt from fitted cases."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kgmed.errors import BadInput, Unavailable, UnknownName
from kgmed.graph.base import Adjacency
from kgmed.graph.search.walk import Transition, closed_form, seeds
from kgmed.records import Entity, Relation, Role, Triple
from kgmed.reward.cases import Case, Cases, CauseGraph, Floats
from kgmed.reward.criticality import WalkReason

# --- A log-linear scorer on a graph of typed edges, ours: the preset "best". It uses the labels of the fitted cases.
# A symptom has a node for each way in which it can come up: it is there, told first and there, denied, unsure,
# or spoken of at all. So what a patient denies speaks too, and that a symptom was asked after, whatever the reply. For
# the nodes F of a patient and disease d, whose edges are counted from the fitted cases:
#     log S(d) = b_d + sum_k l_k E_k(d) + sum_F (t G(F, d) + D(F, d)) + constant
# - E_k = the log frequencies, with Laplace's smoothing, of the patient's edges of kind k: there, told first, denied,
#   unsure; and of the symptoms that are there in others and not in the patient, log(1 - frequency). Each kind has its
#   own weight l_k. All weights 1 would be naive Bayes; they are learnt on counts without the case in hand, or a case
#   would speak for its own disease.
# - G = the log of the mass at F of a walk with restart from d over all edges, each `smooth` heavier, less its mean over
#   the diseases. With c = 0 nothing would arrive; the larger c, the more of F comes by way of others.
# - D, b = what the labels add to both: multinomial logistic regression with a ridge |D|^2 / 2C.
# Together they are linear in the nodes, so each symptom's part of a score is a sum. A node "spoken of" is half a node
# (`spoken`) in G and D. The defaults were chosen in trials of cross-validation within the train parts of DXY, MZ, MZ-4
# and MZ-10; `python bench/rlkgf.py --choose` prints what each does when it is changed.


THERE, FIRST, DENIED, UNSURE, SPOKEN = "+", "!", "-", "?", "~"
KINDS = (THERE, FIRST, DENIED, UNSURE)  # whose edges have a weight of their own; then comes what is missing
RELATIONS = {
    THERE: Relation("causes", Role.FINDING),
    DENIED: Relation("is diagnosed where denied is", Role.FINDING),
    UNSURE: Relation("is diagnosed where unsure is", Role.FINDING),
}


@dataclass(frozen=True, slots=True)
class LogLinearSettings:
    """The numbers of the scorer, chosen as the module says."""

    c: float = 0.3
    smooth: float = 1.0
    walk: float = 0.3  # t
    ridge: float = 0.1  # C
    spoken: float = 0.5
    weight: float = 0.3  # what the weights l_k are drawn to, with a penalty of |l - weight|^2 / 2


def findings(case: Case) -> list[str]:
    """The symptoms of a case, each marked with its sign; those told first and there once more.

    >>> findings(Case("1", ("fever", "rash"), ("cough",), explicit=("fever",)))
    ['+fever', '+rash', '-cough', '!fever']
    """
    signed = ((THERE, case.positive), (DENIED, case.negative), (UNSURE, case.unsure))
    told = [s for s in case.explicit if s in case.positive]
    return [mark + s for mark, symptoms in (*signed, (FIRST, told)) for s in symptoms]


def nodes(case: Case) -> list[str]:
    """The findings of a case, and each of its symptoms once more as spoken of.

    >>> nodes(Case("1", ("fever",), ("cough",), explicit=("fever",)))
    ['+fever', '-cough', '!fever', '~fever', '~cough']
    """
    return findings(case) + [SPOKEN + s for s in (*case.positive, *case.negative, *case.unsure)]


@dataclass(frozen=True, eq=False)
class LogLinear:
    """The fitted scorer over f nodes and m diseases."""

    graph: CauseGraph  # its symptoms are nodes, marked
    edge: Floats  # (f, m) what a node adds to a disease's log score, against its absence
    prior: Floats  # (m,) the log scores of a patient of whom nothing is known
    weights: Floats  # l, by KINDS and then of what is missing

    @property
    def diseases(self) -> tuple[str, ...]:
        """The diseases of the graph."""
        return self.graph.diseases

    def __call__(self, cases: Sequence[Case]) -> Floats:
        """S (b, m)."""
        placed = self.graph.placed(map(nodes, cases))
        return np.exp(_log_softmax(self.prior + placed.total(self.edge[placed.places])))

    def reasons(self, case: Case, disease: str) -> tuple[WalkReason, ...]:
        """What each known symptom adds to the disease's log score against the mean of all diseases, largest first."""
        if disease not in self.diseases:
            raise UnknownName("disease", disease, self.diseases)
        j = self.diseases.index(disease)
        share = (self.edge - self.edge.mean(axis=1, keepdims=True))[:, j]
        found: Counter[str] = Counter()
        facts: dict[str, Triple] = {}
        for i in self.graph.places(nodes(case)):
            mark, symptom = self.graph.symptoms[i][0], self.graph.symptoms[i][1:]
            found[symptom] += share[i]
            if mark in RELATIONS and self.graph.count[j, i]:
                tail = Entity("", symptom, "symptom")
                facts[symptom] = replace(self.graph.triple(j, i), relation=RELATIONS[mark], tail=tail)
        reasons = [WalkReason(s, float(v), facts.get(s), s in case.negative) for s, v in found.items()]
        return tuple(sorted(reasons, key=lambda r: -abs(r.share)))


def fit(training: Cases, validation: Cases = (), settings: LogLinearSettings | None = None) -> LogLinear:
    """The scorer of train and validation; nothing is chosen. Raises `Unavailable` without scipy."""
    settings = settings or LogLinearSettings()
    cases = training + validation
    if not cases:
        raise BadInput("a scorer cannot be fitted on no cases")
    graph = CauseGraph.counted([Case(c.id, tuple(nodes(c)), disease=c.disease) for c in cases])
    x, y = design(graph, cases), np.array([graph.diseases.index(c.disease) for c in cases])
    scale = np.where(_marked(graph, SPOKEN), settings.spoken, 1.0)[:, None]
    walk = settings.walk * scale * walk_logs(graph, settings.c, settings.smooth)
    learnt = likeliest(x * scale.T, y, x @ walk, evidence(graph, x, y), settings)
    there, missing = logs(graph)
    masks = np.array([_marked(graph, kind) for kind in KINDS], np.float64)
    counted = (learnt.weights[:-1] @ masks)[:, None] * there
    absent = learnt.weights[-1] * masks[:1].T * missing
    edge = walk + scale * learnt.correction + counted - absent
    return LogLinear(graph, edge, learnt.prior + absent.sum(axis=0), learnt.weights)


def design(graph: CauseGraph, cases: Sequence[Case]) -> Floats:
    """Which nodes of the graph each case has (b, f), 1 or 0."""
    x = np.zeros((len(cases), len(graph.symptoms)))
    for row, case in zip(x, cases, strict=True):
        row[graph.places(nodes(case))] = 1.0
    return x


def _marked(graph: CauseGraph, mark: str) -> NDArray[np.bool_]:
    """Which nodes have the mark (f,)."""
    return np.array([s[0] == mark for s in graph.symptoms], np.bool_)


def walk_logs(graph: CauseGraph, c: float, smooth: float) -> Floats:
    """G (f, m): the log of the mass at each node of a walk from each disease, less its mean over the diseases."""
    weight = graph.count + smooth
    m, f = weight.shape
    head, tail = np.divmod(np.arange(m * f), max(f, 1))
    triples = np.column_stack([head, np.zeros_like(head), m + tail])
    scores = closed_form(Transition.of(Adjacency.of(m + f, triples), weight.ravel()), seeds(m + f, range(m)), c=c)
    g = np.log(scores[:, m:] / scores[:, m:].sum(axis=1, keepdims=True)).T
    return np.asarray(g - g.mean(axis=1, keepdims=True), np.float64)


def logs(graph: CauseGraph, *, less: int = 0) -> tuple[Floats, Floats]:
    """The logs of the frequency of each node among a disease's cases, and of 1 - the frequency, both (f, m).

    Under `less` = 1 as a case of the disease sees them: without itself, whether it has the node or not.
    """
    many = graph.cases + 2 - less
    there, missing = graph.count + 1 - less, graph.cases[:, None] - graph.count + 1 - less
    least = 1e-9  # what no case can ask for
    return tuple(np.log(np.maximum(each, least) / many[:, None]).T for each in (there, missing))  # type: ignore[return-value]


def evidence(graph: CauseGraph, x: Floats, y: NDArray[np.int64]) -> Floats:
    """E (b, m, k) of the fitted cases, each on counts without itself: by KINDS, then what is missing."""
    masks = [_marked(graph, kind) for kind in KINDS]
    own = (np.arange(len(y)), y)
    (there, missing), (own_there, own_missing) = logs(graph), logs(graph, less=1)
    found = []
    for mask in masks:
        part = x[:, mask] @ there[mask]
        part[own] = (x[:, mask] @ own_there[mask])[own]
        found.append(part)
    absent = 1 - x[:, masks[0]]
    part = absent @ missing[masks[0]]
    part[own] = (absent @ own_missing[masks[0]])[own]
    return np.stack([*found, part], axis=2)


class LearntWeights(NamedTuple):
    """What the labels teach."""

    weights: Floats  # l (k,)
    prior: Floats  # b (m,)
    correction: Floats  # D (f, m)


def likeliest(
    x: Floats, y: NDArray[np.int64], offset: Floats, counted: Floats, settings: LogLinearSettings
) -> LearntWeights:
    """The l, b and D that make the labels y (b,) likeliest, less their penalties; the loss is convex.

    Given are x (b, f), the walk's part (b, m) and E (b, m, k).
    """
    try:
        from scipy.optimize import minimize
        from scipy.sparse import csr_array
    except ImportError as error:
        raise Unavailable('fitting this scorer needs scipy: pip install "kgmed[eval]"') from error
    (_, f), (_, m, k), wanted = x.shape, counted.shape, np.eye(counted.shape[1])[y]
    rows: Any = csr_array(x)  # a patient has few of the nodes
    columns: Any = csr_array(x.T)

    def parts(v: Floats) -> LearntWeights:
        return LearntWeights(v[:k], v[k : k + m], v[k + m :].reshape(f, m))

    def loss(v: Floats) -> tuple[float, Floats]:
        l, b, d = parts(v)  # noqa: E741
        log_p = _log_softmax(offset + counted @ l + b + rows @ d)
        wrong, away = np.exp(log_p) - wanted, l - settings.weight
        slope = [np.einsum("nmk,nm->k", counted, wrong) + away, wrong.sum(axis=0)]
        slope.append((columns @ wrong + d / settings.ridge).ravel())
        penalty = (away @ away + (d * d).sum() / settings.ridge) / 2
        return float(penalty - (log_p * wanted).sum()), np.concatenate(slope)

    start = np.concatenate([np.full(k, settings.weight), np.zeros(m + f * m)])
    return parts(minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 500}).x)


def _log_softmax(values: Floats) -> Floats:
    values = values - values.max(axis=1, keepdims=True)
    return np.asarray(values - np.log(np.exp(values).sum(axis=1, keepdims=True)), np.float64)
