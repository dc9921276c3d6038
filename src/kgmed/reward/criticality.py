"""R_p, the link criticality of RLKGF: random walks with restart from the patient's symptoms in the patient's subgraph.

The walk is that of `kgmed.graph.search.walk`: w = c A w + (1 - c) e. The Gaussian kernel exp(-dis^2 / 2 h^2) of the
paper's text is read as the first w ("init": without effect, since the fixed point does not depend on it), as the
weight between any two nodes in place of the adjacency ("edge"), or as where the walk restarts ("restart").
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from kgmed.errors import BadInput, UnknownName
from kgmed.graph.base import Adjacency
from kgmed.graph.search.walk import Transition, closed_form, seeds, walk
from kgmed.records import Triple
from kgmed.reward.cases import Case, CauseGraph, Floats, Weights, softmax

Aggregate = Literal["mean", "sum", "max", "product"]
Gaussian = Literal["init", "edge", "restart"]
_LEAST = 1e-12  # so that a product over symptoms has a logarithm


@dataclass(frozen=True, slots=True)
class WalkReason:
    """What a symptom of the patient adds to a disease's score; the triple is missing where only paths join them."""

    symptom: str
    share: float  # of the score before the softmax; below 0 = speaks against
    triple: Triple | None
    denied: bool = False


@dataclass(frozen=True, eq=False)
class Criticality:
    """The scorer R_p. Uses labels only through the counts of its graph."""

    graph: CauseGraph
    c: float = 0.7  # RLKGF, Table 7; the restart has 1 - c
    weights: Weights = "count"  # the authors' files hold counts
    aggregate: Aggregate = "mean"  # not in the paper
    temperature: float = 1.0  # the authors' code; 0.1 where it learns mu
    gaussian: Gaussian = "init"
    h: float = 1.0  # ours; the paper gives none
    denied: float = 0.0  # what a denied symptom counts against one that is there; the paper does not use them
    iterate: bool = False  # instead of the closed form
    _known: dict[tuple[int, ...], Floats] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        """Check the settings."""
        if self.aggregate not in ("mean", "sum", "max", "product"):
            raise UnknownName("way to add up symptoms", self.aggregate, ("mean", "sum", "max", "product"))
        if self.gaussian not in ("init", "edge", "restart"):
            raise UnknownName("use of the Gaussian kernel", self.gaussian, ("init", "edge", "restart"))
        if not (self.temperature > 0 and self.h > 0 and 0 <= self.c < 1):
            raise BadInput("a walk needs a temperature and an h above 0, and a c of at least 0 and below 1")

    @property
    def diseases(self) -> tuple[str, ...]:
        """The diseases of the graph."""
        return self.graph.diseases

    def __call__(self, cases: Sequence[Case]) -> Floats:
        """R_p (b, m); NaN outside the patient's subgraph, everywhere where no symptom is known."""
        values = [self.values(case) for case in cases]
        return softmax(np.array(values).reshape(len(values), len(self.diseases)), self.temperature)

    def values(self, case: Case) -> Floats:
        """The added-up masses of the diseases (m,) before the softmax."""
        rows = list(self.graph.around(case.positive))
        values = np.full(len(self.diseases), np.nan)
        if rows:
            there = self._added(self.masses(rows)[self.graph.places(case.positive)])
            absent = self.masses(rows)[self.graph.places(case.negative)]
            against = self._added(absent) if self.denied and len(absent) else 0.0
            values[rows] = there - self.denied * against
        return values

    def masses(self, rows: Sequence[int]) -> Floats:
        """The mass at the diseases `rows` of a walk from each symptom (n, len(rows)); 0 outside their subgraph."""
        key = tuple(rows)
        if key not in self._known:
            self._known[key] = self._walked(np.array(rows))
        return self._known[key]

    def reasons(self, case: Case, disease: str) -> tuple[WalkReason, ...]:
        """What carried the disease, the heaviest symptom first; the shares add up to its score before the softmax.

        Under "max" only the heaviest symptom counts, under "product" the shares are logarithms. A symptom that the
        graph does not know, or a disease outside the subgraph, has none.
        """
        if disease not in self.diseases:
            raise UnknownName("disease", disease, self.diseases)
        rows, row = list(self.graph.around(case.positive)), self.diseases.index(disease)
        if row not in rows:
            return ()
        column = self.masses(rows)[:, rows.index(row)]
        found = self._shares(column, row, self.graph.places(case.positive), 1.0, denied=False)
        if self.denied:
            found += self._shares(column, row, self.graph.places(case.negative), -self.denied, denied=True)
        return tuple(sorted(found, key=lambda r: -abs(r.share)))

    def _shares(self, column: Floats, row: int, places: list[int], sign: float, *, denied: bool) -> list[WalkReason]:
        mass = column[places]
        if self.aggregate == "product":
            mass = np.log(np.maximum(mass, _LEAST))
        elif self.aggregate == "mean":
            mass = mass / max(len(places), 1)
        elif self.aggregate == "max":
            mass = np.where(np.arange(len(mass)) == np.argsort(-mass, kind="stable")[:1], mass, 0.0)
        facts = [self.graph.triple(row, s) if self.graph.count[row, s] else None for s in places]
        names = [self.graph.symptoms[s] for s in places]
        shares = (sign * mass).tolist()
        return [WalkReason(n, share, fact, denied) for n, share, fact in zip(names, shares, facts, strict=True)]

    def _added(self, masses: Floats) -> Floats:
        """One number a disease from the rows of the symptoms (k, m) -> (m,)."""
        if self.aggregate == "product":
            return np.asarray(np.log(np.maximum(masses, _LEAST)).sum(axis=0), np.float64)
        if self.aggregate == "max":
            return np.asarray(masses.max(axis=0), np.float64)
        many = len(masses) if self.aggregate == "mean" else 1
        return np.asarray(masses.sum(axis=0) / many, np.float64)

    def _walked(self, rows: NDArray[np.int64]) -> Floats:
        """The walks from every symptom of the subgraph of these diseases."""
        weight = self.graph.weight(self.weights)[rows]
        columns = np.flatnonzero(weight.any(axis=0))
        weight, m = weight[:, columns], len(rows)
        transition, kernel = self._transition(weight), _kernel(weight, self.h)
        restart = seeds(transition.nodes, range(m, transition.nodes))
        near = kernel[m:] / kernel[m:].sum(axis=1, keepdims=True)
        restart = near if self.gaussian == "restart" else restart
        if self.iterate:
            start = near if self.gaussian == "init" else None
            scores = walk(transition, restart, c=self.c, start=start, tolerance=1e-12).scores
        else:
            scores = closed_form(transition, restart, c=self.c)
        masses = np.zeros((len(self.graph.symptoms), m))
        masses[columns] = scores[:, :m]
        return masses

    def _transition(self, weight: Floats) -> Transition:
        """The walk's matrix on the m + n nodes of a subgraph, diseases first."""
        m, n = weight.shape
        if self.gaussian != "edge":
            d, s = np.nonzero(weight)
            return _joined(m + n, d, m + s, weight[d, s])
        a, b = np.triu_indices(m + n, 1)
        kernel = _kernel(weight, self.h)[a, b]
        return _joined(m + n, a, b, kernel)


def _joined(nodes: int, head: NDArray[np.int64], tail: NDArray[np.int64], weight: Floats) -> Transition:
    """The matrix of edges head < tail, given in ascending order."""
    triples = np.column_stack([head, np.zeros_like(head), tail])
    return Transition.of(Adjacency.of(nodes, triples), weight)


def _kernel(weight: Floats, h: float) -> Floats:
    """exp(-dis^2 / 2 h^2) between all nodes of a subgraph (m + n, m + n); 0 where nothing joins them.

    >>> _kernel(np.array([[1.0, 1.0]]), 1.0).round(4)[1].tolist()  # distances 1, 0, 2
    [0.6065, 1.0, 0.1353]
    """
    m, n = weight.shape
    joined = np.zeros((m + n, m + n))
    joined[:m, m:] = weight > 0
    joined += joined.T
    distance = np.where(np.eye(m + n) > 0, 0.0, np.inf)
    reached, steps = np.eye(m + n), 0
    while True:
        steps += 1
        wider = ((reached + reached @ joined) > 0).astype(np.float64)
        if np.array_equal(wider, reached):
            return np.asarray(np.exp(-(distance**2) / (2 * h * h)), np.float64)
        distance[(wider > 0) & np.isinf(distance)] = steps
        reached = wider
