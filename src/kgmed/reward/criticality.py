"""R_p, the link criticality of RLKGF: random walks with restart from the patient's symptoms in the patient's subgraph.

The walk is that of `kgmed.graph.search.walk`: w = c A w + (1 - c) e. The Gaussian kernel exp(-dis^2 / 2 h^2) of the
paper's text is read as the first w ("init": without effect, since the fixed point does not depend on it), as the
weight between any two nodes in place of the adjacency ("edge"), or as where the walk restarts ("restart").

A is the adjacency, normalised by columns as the text has it, by rows (D^-1 A), or as in the paper's GCN (symmetric,
D^-1/2 A D^-1/2). With P = A D^-1 the others are D^-p P D^p for p = 1 and p = 1/2, so their walks are that of the
columns, weighted before and after by degrees.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from kgmed.errors import BadInput, UnknownName
from kgmed.graph.base import Adjacency, ByRole, Hops, LocalGraph
from kgmed.graph.search.walk import Transition, closed_form, seeds, walk
from kgmed.records import Role, Triple
from kgmed.reward.cases import Case, CauseGraph, Floats, PlacedSymptoms, Weights, softmax

Aggregate = Literal["mean", "sum", "max", "product"]
Gaussian = Literal["init", "edge", "restart"]
Normalization = Literal["column", "symmetric", "row"]
_POWER: dict[str, float] = {"column": 0.0, "symmetric": 0.5, "row": 1.0}
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
    normalization: Normalization = "column"  # RLKGF, Eq. 2
    temperature: float = 1.0  # the authors' code; 0.1 where it learns mu
    gaussian: Gaussian = "init"
    h: float = 1.0  # ours; the paper gives none
    denied: float = 0.0  # what a denied symptom counts against one that is there; the paper does not use them
    iterate: bool = False  # instead of the closed form
    _known: dict[tuple[int, ...], Floats] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        """Check the settings."""
        words: dict[str, tuple[str, Any]] = {"way to add up symptoms": (self.aggregate, Aggregate)}
        words["use of the Gaussian kernel"] = (self.gaussian, Gaussian)
        words["normalisation of a walk"] = (self.normalization, Normalization)
        for what, (word, known) in words.items():
            if word not in get_args(known):
                raise UnknownName(what, word, get_args(known))
        if not (self.temperature > 0 and self.h > 0 and 0 <= self.c < 1):
            raise BadInput(
                "a walk needs a temperature and an h above 0, and a chance to restart (1 - c) above 0 and at most 1"
            )

    @property
    def diseases(self) -> tuple[str, ...]:
        """The diseases of the graph."""
        return self.graph.diseases

    def __call__(self, cases: Sequence[Case]) -> Floats:
        """R_p (b, m); NaN outside the patient's subgraph, everywhere where no symptom is known."""
        return softmax(self.totals(cases), self.temperature)

    def values(self, case: Case) -> Floats:
        """The added-up masses of the diseases (m,) before the softmax."""
        return np.asarray(self.totals([case])[0], np.float64)

    def totals(self, cases: Sequence[Case]) -> Floats:
        """The same of each case (b, m): the walks of each subgraph once, then one sparse product."""
        there = self.graph.placed(c.positive for c in cases)
        inside = self.graph.inside(there)
        values = self._added(inside, there)
        if self.denied:
            values -= self.denied * self._added(inside, self.graph.placed(c.negative for c in cases))
        return np.where(inside, values, np.nan)

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

    def _added(self, inside: NDArray[np.bool_], placed: PlacedSymptoms) -> Floats:
        """One number a disease (b, m) from the masses of each case's symptoms in its subgraph."""
        masses = self._masses_at(inside, placed)
        if self.aggregate == "max":
            return placed.total(masses, np.maximum)
        total = placed.total(np.log(np.maximum(masses, _LEAST)) if self.aggregate == "product" else masses)
        return total / np.maximum(placed.many, 1)[:, None] if self.aggregate == "mean" else total

    def _masses_at(self, inside: NDArray[np.bool_], placed: PlacedSymptoms) -> Floats:
        """The masses that go out from each of the symptoms, in its patient's subgraph (k, m)."""
        kinds, kind = np.unique(inside, axis=0, return_inverse=True)
        kind = np.repeat(kind.ravel(), placed.many)
        order = np.argsort(kind, kind="stable")
        found = np.zeros((len(kind), len(self.diseases)))
        for at in np.split(order, np.flatnonzero(np.diff(kind[order])) + 1):
            rows = np.flatnonzero(kinds[kind[at[0]]]) if len(at) else at
            if len(rows):
                found[np.ix_(at, rows)] = self.masses(rows.tolist())[placed.places[at]]
        return found

    def _walked(self, rows: NDArray[np.int64]) -> Floats:
        """The walks from every symptom of the subgraph of these diseases."""
        weight = self.graph.weight(self.weights)[rows]
        columns = np.flatnonzero(weight.any(axis=0))
        weight, m = weight[:, columns], len(rows)
        kernel = _kernel(weight, self.h)
        links = _square(weight) if self.gaussian != "edge" else kernel * (1 - np.eye(len(kernel)))
        near = kernel[m:] / kernel[m:].sum(axis=1, keepdims=True)
        restart = near if self.gaussian == "restart" else seeds(len(links), range(m, len(links)))
        start = near if self.gaussian == "init" and self.iterate else None
        masses = np.zeros((len(self.graph.symptoms), m))
        masses[columns] = self._fixed(links, restart, start)[:, :m]
        return masses

    def _fixed(self, links: Floats, restart: Floats, start: Floats | None) -> Floats:
        """The fixed points (n, N) of walks on a symmetric matrix of weights, from each row of the restart."""
        degree = np.maximum(links.sum(axis=0), _LEAST) ** _POWER[self.normalization]
        out = restart * degree
        many = out.sum(axis=1, keepdims=True)
        head, tail = np.nonzero(np.triu(links))
        triples = np.column_stack([head, np.zeros_like(head), tail])
        transition = Transition.of(Adjacency.of(len(links), triples), links[head, tail])
        if self.iterate:
            scores = walk(transition, out / many, c=self.c, start=start, tolerance=1e-12).scores
        else:
            scores = closed_form(transition, out / many, c=self.c)
        return np.asarray(scores * many / degree, np.float64)


def _square(weight: Floats) -> Floats:
    """The weights (m, n) between diseases and symptoms as a symmetric matrix over all nodes, diseases first."""
    m, n = weight.shape
    links = np.zeros((m + n, m + n))
    links[:m, m:], links[m:, :m] = weight, weight.T
    return links


def _kernel(weight: Floats, h: float) -> Floats:
    """exp(-dis^2 / 2 h^2) between all nodes of a subgraph (m + n, m + n); 0 where nothing joins them.

    >>> _kernel(np.array([[1.0, 1.0]]), 1.0).round(4)[1].tolist()  # distances 1, 0, 2
    [0.6065, 1.0, 0.1353]
    """
    m, n = weight.shape
    joined = _square((weight > 0).astype(np.float64))
    distance = np.where(np.eye(m + n) > 0, 0.0, np.inf)
    reached, steps = np.eye(m + n), 0
    while True:
        steps += 1
        wider = ((reached + reached @ joined) > 0).astype(np.float64)
        if np.array_equal(wider, reached):
            return np.asarray(np.exp(-(distance**2) / (2 * h * h)), np.float64)
        distance[(wider > 0) & np.isinf(distance)] = steps
        reached = wider


@dataclass(frozen=True, eq=False)
class NearestCriticality:
    """R_p on a whole medical graph without a labelled case: of each patient among the `most` nearest diseases.

    These are the ones that a first step from the findings reaches most, which leads from a finding to each of its
    diseases alike; of equal ones those with fewer findings. The walk then goes over them and all their findings.
    """

    store: LocalGraph
    most: int = 50  # ours; of all, thousands may share a finding
    temperature: float = 0.05  # ours; 1 in the authors' code

    @cached_property
    def _edges(self) -> Hops:
        """The edges from every disease to its findings; origin and node are numbers of the graph."""
        every = self.store.of_kind("disease")
        hops = ByRole(self.store, Role.FINDING).objects(every)
        return Hops(every[hops.origin], hops.node, hops.edge)

    @cached_property
    def diseases(self) -> tuple[str, ...]:
        """The diseases that have a finding, by name."""
        return self._names(self._edges.origin)

    @cached_property
    def findings(self) -> tuple[str, ...]:
        """The findings of diseases, by name."""
        return self._names(self._edges.node)

    def __call__(self, cases: Sequence[Case]) -> Floats:
        """R_p (b, m); NaN for diseases that are not near."""
        scores, place = np.full((len(cases), len(self.diseases)), np.nan), {d: i for i, d in enumerate(self.diseases)}
        for row, case in zip(scores, cases, strict=True):
            if near := self._near(case.positive):
                local = Criticality(CauseGraph.of_graph(self.store, near), temperature=self.temperature)
                row[[place[d] for d in local.diseases]] = local([case])[0]
        return scores

    def _near(self, findings: Sequence[str]) -> list[str]:
        nodes = [self.store.number(m.entity.id) for name in findings for m in self.store.lookup(name)[:1]]
        disease, finding, _ = self._edges
        there = np.isin(finding, nodes)
        if not there.any():
            return []
        reached = np.bincount(disease[there], 1 / np.bincount(finding)[finding[there]], minlength=len(self._size))
        order = np.lexsort((self._size, -reached))[: self.most]
        return list(dict.fromkeys(self.store.at(int(n)).name for n in order if reached[n] > 0))

    @cached_property
    def _size(self) -> NDArray[np.int64]:
        """How many findings each node has."""
        return np.bincount(self._edges.origin)

    def _names(self, nodes: NDArray[np.int64]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self.store.at(int(n)).name for n in np.unique(nodes)))
