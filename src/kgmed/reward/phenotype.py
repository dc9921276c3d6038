"""Diagnosis from findings: which diseases of the Human Phenotype Ontology a patient may have, and why.

The score of a disease d is the sum of what `FEATURES` lists, each times its weight. A finding q of the patient counts
log (1 + P(q | d) / P(q)), under the first of these that holds:

- `exact`: d is annotated with q. P(q | d) is the frequency, pooled over the publications;
- `narrower`: d is annotated with a kind of q; the most frequent such finding counts;
- `twin`: another database's entry of the same disease (same name, or a gene in common) has q or a kind of it;
- `broader`: d has something that q is a kind of; the rarest such finding a counts, P(a | d) / P(a).

P(q) is the mean of P(q | d) over all diseases: rare findings count more. Against d speak findings that it `denied`
(HPO's NOT); findings of d that were looked for and are absent (`excluded`: -log (1 - P(q | d))); what is expected in d
and was not mentioned (`missing`: the sum of the frequencies); the `sex` (female, and d is inherited only X-linked
recessively or by the Y chromosome); and the `onset` (the patient fell ill, or is, at an age at which d does not begin).
`published` is log (1 + publications behind d's findings): of two that fit as well, the better known is likelier.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from kgmed.errors import BadInput, UnknownName
from kgmed.graph.base import ByRole, LocalGraph
from kgmed.language.text import one_line
from kgmed.records import Entity, Link, Role, Status, Triple
from kgmed.reward.phenotype_table import (
    BROADER,
    CERTAIN,
    EXACT,
    FEATURES,
    NARROWER,
    TWIN,
    DiseaseTable,
    Patient,
    World,
    read,
)
from kgmed.toolkit import Toolkit

# --- The weights of features, fitted to cases: a conditional logit, each weight held to the sign that it must have.
# The likelihood of a case is exp(s[true]) / sum over its candidates of exp(s), with s = features @ weights. Its log is
# concave, so that there is one best set of weights; a projected Newton method finds it.


Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ConditionalChoice:
    """The candidates of one case, and which of them is right."""

    features: Floats  # (candidates, features)
    right: int
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class _Pool:
    """All cases, one below the other."""

    features: Floats  # (rows, features)
    first: NDArray[np.int64]  # (cases,) where each case begins
    size: NDArray[np.int64]
    right: NDArray[np.int64]  # (cases,) row
    weight: Floats

    def loss(self, weights: Floats, shrink: Floats) -> tuple[float, Floats]:
        """The negative log likelihood with its ridge, and the probability of each row."""
        score = self.features @ weights
        top = np.maximum.reduceat(score, self.first)
        odds = np.exp(score - np.repeat(top, self.size))
        total = np.add.reduceat(odds, self.first)
        lost = self.weight @ (np.log(total) + top - score[self.right])
        return float(lost + shrink @ weights**2 / 2), odds / np.repeat(total, self.size)

    def slope(self, weights: Floats, chance: Floats, shrink: Floats) -> tuple[Floats, Floats]:
        """The gradient and the Hessian."""
        each = self.features * chance[:, None]
        mean = np.add.reduceat(each, self.first, axis=0)
        gradient = self.weight @ (mean - self.features[self.right]) + shrink * weights
        spread = (each * np.repeat(self.weight, self.size)[:, None]).T @ self.features
        spread -= (mean * self.weight[:, None]).T @ mean
        return gradient, spread + np.diag(shrink)


def fit(
    choices: Sequence[ConditionalChoice],
    *,
    signs: Sequence[int],
    fixed: Sequence[float | None] = (),
    ridge: float = 1.0,
    steps: int = 60,
) -> Floats:
    """The weights (features,): at least 0 where the sign is 1, at most 0 where it is -1; a fixed one stays.

    `ridge` is on the features scaled to unit spread.

    >>> one = ConditionalChoice(np.array([[1.0], [0.0]]), 0)
    >>> bool(fit([one], signs=[1])[0] > 0), float(fit([one], signs=[-1])[0])
    (True, 0.0)
    """
    pool = _pool(choices)
    scale = pool.features.std(0) + 1e-9
    shrink, sign = ridge * scale**2, np.array(signs, np.float64)
    given = np.array([np.nan if f is None else f for f in fixed or (None,) * len(sign)])
    free = np.isnan(given)
    weights = np.where(free, sign * 0.01 / scale, given)
    loss, chance = pool.loss(weights, shrink)
    for _ in range(steps):
        gradient, spread = pool.slope(weights, chance, shrink)
        move = free & ~((weights == 0) & (gradient * sign > 0))
        step = np.zeros(len(weights))
        step[move] = np.linalg.solve(spread[np.ix_(move, move)], gradient[move])
        weights, loss, chance, gained = _walk(pool, weights, step, (sign, shrink, free), (loss, chance))
        if gained < 1e-6 * abs(loss):
            break
    return weights


def _walk(
    pool: _Pool, weights: Floats, step: Floats, held: tuple[Floats, Floats, NDArray[np.bool_]], at: tuple[float, Floats]
) -> tuple[Floats, float, Floats, float]:
    """The weights after the longest step, halved at need, that lowers the loss; loss, chances and what was gained."""
    sign, shrink, free = held
    for halving in range(12):
        tried = weights - step * 0.5**halving
        tried = np.where(free & (sign * tried < 0), 0, tried)
        loss, chance = pool.loss(tried, shrink)
        if loss < at[0]:
            return tried, loss, chance, at[0] - loss
    return weights, *at, 0.0


def _pool(choices: Sequence[ConditionalChoice]) -> _Pool:
    size = np.array([len(c.features) for c in choices])
    first = np.cumsum(size) - size
    return _Pool(
        np.concatenate([c.features for c in choices]).astype(np.float64),
        first,
        size,
        first + np.array([c.right for c in choices]),
        np.array([c.weight for c in choices]),
    )


# --- From a patient's description in words to findings of a graph.


@dataclass(frozen=True, slots=True)
class DescribedPatient:
    """The findings that a text names; ids, each once. One that is named both ways is present."""

    present: tuple[str, ...]
    absent: tuple[str, ...]
    links: tuple[Link, ...]  # how each was understood
    other: tuple[Link, ...]  # what was understood and is no finding


def findings_in_text(toolkit: Toolkit, text: str) -> DescribedPatient:
    """The findings in a text: what is negated in it ("no seizures") is absent, what others have is left out."""
    links = tuple(link for link in toolkit.linked(text) if link.mention.status is not Status.OTHER)
    found = ByRole(toolkit.graph, Role.FINDING, Role.EXCLUDES)
    up = ByRole(toolkit.graph, Role.IS_A)
    annotated = {
        link.entity.id
        for link in links
        if len(found.subjects(list(up.closure(toolkit.graph.number(link.entity.id), up=False))).node)
    }
    findings = tuple(link for link in links if link.entity.id in annotated)
    present = dict.fromkeys(link.entity.id for link in findings if not link.mention.negated)
    absent = dict.fromkeys(link.entity.id for link in findings if link.mention.negated)
    others = tuple(link for link in links if link.entity.id not in annotated)
    return DescribedPatient(tuple(present), tuple(i for i in absent if i not in present), findings, others)


# --- Why a disease stands where it stands: each finding of the patient, what is missing, and what speaks against it.


EXPECTED = 5  # findings named that are expected and were not mentioned
_NAMES = {EXACT: "exact", NARROWER: "narrower", TWIN: "twin", BROADER: "broader"}


@dataclass(frozen=True, slots=True)
class FindingReason:
    """One thing for or against a disease.

    `kind`: exact, narrower, twin, broader (for it, see `phenotype`); agrees (absent in the patient, and the disease is
    said not to have it); unlisted, denied, excluded, missing, sex, onset (against it).
    """

    kind: str
    finding: Entity | None  # of the patient; None = about the disease as a whole
    triples: tuple[Triple, ...] = ()  # what it rests on, with frequencies and references
    through: Entity | None = None  # the broader finding that both come under, or the twin

    @property
    def frequencies(self) -> tuple[str, ...]:
        """The frequencies that the sources state, each once."""
        said = (v for t in self.triples for s in t.support for k, v in s.qualifiers if k == "frequency")
        return tuple(dict.fromkeys(said))

    @property
    def references(self) -> tuple[str, ...]:
        """The references behind it, each once."""
        return tuple(dict.fromkeys(r for t in self.triples for r in t.references))


def reasons(
    world: World, disease: int, present: Sequence[int], absent: Sequence[int], patient: Patient
) -> tuple[FindingReason, ...]:
    """What speaks for a disease, then what is missing, then what speaks against it."""
    told = _Told(world, disease)
    return (
        *(told.fit(q) for q in present),
        *told.denied(present),
        *(reason for q in absent for reason in told.absent(q)),
        *told.missing(present),
        *told.whole(patient),
    )


class _Told:
    """What the graph tells of one disease, by node."""

    def __init__(self, world: World, disease: int) -> None:
        self.world, self.disease = world, disease
        self.node = int(world.diseases[disease])
        self.found = self._edges(self.node, Role.FINDING)
        self.no = self._edges(self.node, Role.EXCLUDES)
        self.under = self._best(self.found)

    def _edges(self, node: int, role: Role) -> dict[int, int]:
        """The edges of a disease by the node at their other end, most frequent first."""
        weight = self.world.graph.weight
        hops = ByRole(self.world.graph, role).objects([node])
        often = np.ones(len(hops.edge)) if weight is None else weight[hops.edge]
        order = np.argsort(-often, kind="stable")
        return dict(zip(hops.node[order].tolist(), hops.edge[order].tolist(), strict=True))

    def _best(self, edges: dict[int, int]) -> dict[int, int]:
        """For each node that some edges lead to or below: its own edge, else that of the most frequent kind of it."""
        found: dict[int, int] = {}
        for node, edge in edges.items():
            for above in self.world.above[node].tolist():
                found.setdefault(above, edge)
        return found | edges

    def fit(self, q: int) -> FindingReason:
        """How the disease comes to a finding."""
        world, finding = self.world, self.world.graph.at(q)
        kind = int(world.fit(q)[0][self.disease])
        if kind in (EXACT, NARROWER):
            return FindingReason(_NAMES[kind], finding, self._triples(self.under[q]))
        if kind == TWIN:
            twin, edge = self._twin(q)
            return FindingReason("twin", finding, self._triples(edge), world.graph.at(int(world.diseases[twin])))
        if kind == BROADER:
            nearest = min((a for a in world.above[q].tolist() if a in self.under), key=lambda a: world.rarity[a])
            return FindingReason("broader", finding, self._triples(self.under[nearest]), world.graph.at(nearest))
        return FindingReason("unlisted", finding)

    def _twin(self, q: int) -> tuple[int, int]:
        """The first twin that has q or a kind of it, and the edge that says so."""
        twins = ((t, self._edges(int(self.world.diseases[t]), Role.FINDING)) for t in self.world.lenders(self.disease))
        return next((t, best[q]) for t, edges in twins if q in (best := self._best(edges)))

    def _triples(self, edge: int) -> tuple[Triple, ...]:
        return (self.world.graph.triple(edge),)

    def _refused(self, q: int) -> tuple[Triple, ...]:
        """The triples by which the disease does not have q, or anything that q is a kind of."""
        return tuple(self.world.graph.triple(self.no[a]) for a in self.world.above[q].tolist() if a in self.no)

    def denied(self, present: Sequence[int]) -> Iterator[FindingReason]:
        """Findings of the patient that the disease does not have."""
        for q in present:
            if triples := self._refused(q):
                yield FindingReason("denied", self.world.graph.at(q), triples)

    def absent(self, q: int) -> Iterator[FindingReason]:
        """What the absence of a finding says."""
        if q in self.under:
            yield FindingReason("excluded", self.world.graph.at(q), self._triples(self.under[q]))
        elif refused := self._refused(q):
            yield FindingReason("agrees", self.world.graph.at(q), refused)

    def missing(self, present: Sequence[int]) -> Iterator[FindingReason]:
        """The most frequent findings of the disease that were not mentioned."""
        seen = {a for q in present for near in (self.world.above, self.world.below) for a in near[q].tolist()}
        for edge in [edge for node, edge in self.found.items() if node not in seen][:EXPECTED]:
            yield FindingReason("missing", None, self._triples(edge))

    def whole(self, patient: Patient) -> Iterator[FindingReason]:
        """Sex and age, where they speak against the disease."""
        if self.world.other_sex(patient.sex)[self.disease]:
            yield FindingReason("sex", None, self._all(Role.INHERITANCE))
        if self.world.other_age(patient.age, patient.onset)[self.disease]:
            yield FindingReason("onset", None, self._all(Role.ONSET))

    def _all(self, role: Role) -> tuple[Triple, ...]:
        return tuple(self.world.graph.triple(edge) for edge in np.unique(list(self._edges(self.node, role).values())))


# --- Diagnosis from findings: which diseases of the Human Phenotype Ontology a patient may have, and why.
# The score of a disease d is the sum of what `FEATURES` lists, each times its weight. A finding q of the patient counts
# log (1 + P(q | d) / P(q)), under the first of these that holds:
#
# - `exact`: d is annotated with q. P(q | d) is the frequency, pooled over the publications;
# - `narrower`: d is annotated with a kind of q; the most frequent such finding counts;
# - `twin`: another database's entry of the same disease (same name, or a gene in common) has q or a kind of it;
# - `broader`: d has something that q is a kind of; the rarest such finding a counts, P(a | d) / P(a).
#
# P(q) is the mean of P(q | d) over all diseases: rare findings count more. Against d speak findings that it `denied`
# (HPO's NOT); findings of d that were looked for and are absent (`excluded`: -log (1 - P(q | d))); what is expected
# in d
# and was not mentioned (`missing`: the sum of the frequencies); the `sex` (female, and d is inherited only X-linked
# recessively or by the Y chromosome); and the `onset` (the patient fell ill, or is, at an age at which d does not
# begin).
# `published` is log (1 + publications behind d's findings): of two that fit as well, the better known is likelier.


WEIGHTS: Mapping[str, float] = {  # fitted to 1,342 published cases by `python bench/diagnose.py`
    "exact": 0.38,
    "narrower": 0.19,
    "twin": 0.18,
    "broader": 0.03,
    "missing": -0.047,
    "onset": -0.54,
    "published": 0.71,
    # set by hand, see docs/diagnose.md
    "sex": -3.0,
    "denied": -0.5,
    "excluded": -0.02,
}
DATABASE = "OMIM"
LIMITS = (
    "A list of diseases to think of, not a diagnosis: it ranks only what {graph} describes, from the findings given, "
    "and has been measured on published cases of rare genetic disease only; common diseases are not in it."
)


@dataclass(frozen=True, slots=True)
class RankedDisease:
    """A disease with its score and what it rests on, for and against. A score higher by 1 = e times as likely."""

    disease: Entity
    score: float
    reasons: tuple[FindingReason, ...]


@dataclass(frozen=True, slots=True)
class Differential:
    """The diseases that fit a patient, best first."""

    patient: Patient
    ranked: tuple[RankedDisease, ...]
    unknown: tuple[str, ...]  # findings that the graph does not have; they count for nothing
    graph: str  # name, release and content hash
    limits: str


class Phenotypes:
    """A graph's diseases, ready to be scored: made in seconds, then milliseconds a patient."""

    def __init__(
        self,
        graph: LocalGraph,
        *,
        copies: Sequence[tuple[int, str]] = (),
        table: DiseaseTable | None = None,
        weights: Mapping[str, float] = WEIGHTS,
    ) -> None:
        """Read `graph`; `copies` = (place of a disease, reference) adds it without what rests on the reference."""
        told = read(graph) if table is None else table
        self.graph, self.copies = graph, tuple(copies)
        self.weights = np.array([weights.get(name, 0.0) for name in FEATURES])
        self.world = World(graph, told.with_copies(copies), len(told.diseases), self.copies)

    def diagnose(self, patient: Patient, *, keep: int = 10, database: str = DATABASE) -> Differential:
        """The `keep` best diseases of a database ("" = of all) with their reasons; none where no finding is known.

        Raises `BadInput` for a database that the graph has no annotated disease of.
        """
        known, unknown = self.known(patient)
        allowed = self.of(database)
        if not allowed.any():
            raise BadInput(f"{self.graph.label} has no annotated disease of {database!r}; try OMIM, ORPHA or DECIPHER")
        ranked: tuple[RankedDisease, ...] = ()
        if known.present:
            score = np.where(allowed, self.features(known) @ self.weights, -np.inf)
            best = np.argsort(-score, kind="stable")[: min(keep, int(allowed.sum()))]
            ranked = tuple(self._ranked(known, int(d), float(score[d])) for d in best)
        return Differential(patient, ranked, unknown, self.graph.label, LIMITS.format(graph=self.graph.label))

    def of(self, database: str = DATABASE) -> NDArray[np.bool_]:
        """Which diseases (copies left out) stand in a database and have a finding."""
        world = self.world
        named = (world.database == database) | (not database)
        return np.asarray(named & world.annotated & (np.arange(world.size) < world.originals))

    def known(self, patient: Patient) -> tuple[Patient, tuple[str, ...]]:
        """The patient with the findings that the graph has, and the ids of the others."""
        present, absent = (tuple(i for i in ids if self._has(i)) for ids in (patient.present, patient.absent))
        both = (*patient.present, *patient.absent)
        return replace(patient, present=present, absent=absent), tuple(i for i in both if not self._has(i))

    def _has(self, identifier: str) -> bool:
        try:
            self.graph.number(identifier)
        except UnknownName:
            return False
        return True

    def features(self, patient: Patient) -> Floats:
        """What speaks for and against each disease (diseases, FEATURES); raises `UnknownName`."""
        world = self.world
        sums, everyone = np.zeros((len(FEATURES), world.size)), np.arange(world.size)
        present, absent = self._numbers(patient.present), self._numbers(patient.absent)
        for q in present:
            kind, value = world.fit(q)
            sums[kind, everyone] += value  # kinds are the first features; NONE has the value 0
            sums[FEATURES.index("denied")] += world.denied(q)
        for q in absent:
            row, frequency = world.found[q]
            sums[FEATURES.index("excluded"), row] -= np.log1p(-np.minimum(frequency, CERTAIN))
        sums[FEATURES.index("missing")] = world.missing(present)
        sums[FEATURES.index("sex")] = world.other_sex(patient.sex)
        sums[FEATURES.index("onset")] = world.other_age(patient.age, patient.onset)
        sums[FEATURES.index("published")] = world.published
        return sums.T

    def _numbers(self, identifiers: Sequence[str]) -> tuple[int, ...]:
        return tuple(dict.fromkeys(self.graph.number(i) for i in identifiers))

    def _ranked(self, patient: Patient, disease: int, score: float) -> RankedDisease:
        present, absent = self._numbers(patient.present), self._numbers(patient.absent)
        why = reasons(self.world, disease, present, absent, patient)
        return RankedDisease(self.graph.at(int(self.world.diseases[disease])), round(score, 4), why)


# --- All that a diagnosis tells: how a description was understood, and the diseases of each patient.


@dataclass(frozen=True, slots=True)
class Diagnosed:
    """How a description was understood, and the diseases of each patient."""

    understood: tuple[Link, ...]
    patients: tuple[Differential, ...]
    skipped: tuple[str, ...] = ()  # patients of whom a file gives no findings, and where

    def called(self, name: Callable[[Entity], Entity]) -> "Diagnosed":
        """The same with its entities called otherwise."""

        def reason(given: FindingReason) -> FindingReason:
            triples = tuple(replace(t, head=name(t.head), tail=name(t.tail)) for t in given.triples)
            finding, through = (entity and name(entity) for entity in (given.finding, given.through))
            return replace(given, finding=finding, triples=triples, through=through)

        def ranked(given: RankedDisease) -> RankedDisease:
            return replace(given, disease=name(given.disease), reasons=tuple(map(reason, given.reasons)))

        return replace(
            self,
            understood=tuple(replace(link, entity=name(link.entity)) for link in self.understood),
            patients=tuple(replace(p, ranked=tuple(map(ranked, p.ranked))) for p in self.patients),
        )


def described(model: Phenotypes, toolkit: Toolkit, patient: Patient, text: str) -> tuple[Patient, tuple[Link, ...]]:
    """The patient with the findings of a description too, and how they were understood.

    Raises `BadInput` where it names none that is present.
    """
    said = findings_in_text(toolkit, text)
    present = tuple(dict.fromkeys((*patient.present, *said.present)))
    absent = tuple(i for i in dict.fromkeys((*patient.absent, *said.absent)) if i not in present)
    if not present:
        raise BadInput(f"no finding of {model.graph.label} is named in {one_line(text)[:60]!r}; give HPO ids")
    return replace(patient, present=present, absent=absent), said.links
