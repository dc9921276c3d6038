"""The diagnosis engine: the score of each disease, given the findings present, denied and not mentioned.

The score of a disease d is the sum of the features, each times its weight (`weights.toml`, fitted by `logit`). A
finding q of the patient counts log (1 + P(q | d) / P(q)), under the first of these that holds:

- `exact`: d is annotated with q. P(q | d) is the frequency, pooled over the publications;
- `narrower`: d is annotated with a kind of q; the most frequent such finding counts;
- `twin`: another database's entry of the same disease (same name, or a gene in common) has q or a kind of it;
- `broader`: d has something that q is a kind of; the rarest such finding a counts, P(a | d) / P(a).

P(q) is the mean of P(q | d) over all diseases: rare findings count more. A finding of several nodes (its names in
several graphs) counts once, by the node that fits best. Against d speak findings that it `denied` (HPO's NOT);
findings of d that were looked for and are absent (`excluded`: -log (1 - P(q | d))); what is expected in d and was not
mentioned (`missing`: the sum of the frequencies); the `sex` (female, and d is inherited only X-linked recessively or
by the Y chromosome); and the `onset` (the patient fell ill, or is, at an age at which d does not begin).

Before findings: `published` is log (1 + publications behind d's findings); `prevalence`, `listed`, `care` and `shown`
are the prior (`prior.Prior`), `befalling` what the patient's traits leave of d.

A patient may have two diseases (`DiagnosisEngine.with_second`): a finding counts by the one that explains it better,
all else for each.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from kgmed.diagnose.knowledge import CERTAIN, NONE, Nodes, open_knowledge, with_copies
from kgmed.diagnose.patient import Patient

if TYPE_CHECKING:
    import pandas
from collections.abc import Iterator
from typing import Any

from kgmed.diagnose.knowledge import BROADER, EXACT, NARROWER, TWIN, DiseaseKnowledge
from kgmed.diagnose.table import DiseaseTable, Floats, Ints, read
from kgmed.disk import packaged_toml
from kgmed.errors import BadInput, UnknownName
from kgmed.graph.base import ByRole, LocalGraph
from kgmed.records import Entity, Role, Triple
from kgmed.stop import check_stop

# --- Why a disease stands where it stands: each finding of the patient, what is missing, and what speaks against it.

EXPECTED = 5  # findings named that are expected and were not mentioned
_NAMES = {EXACT: "exact", NARROWER: "narrower", TWIN: "twin", BROADER: "broader"}


@dataclass(frozen=True, slots=True)
class FindingReason:
    """One thing for or against a disease.

    `kind`: exact, narrower, twin, broader (for it, see `engine`); agrees (absent in the patient, and the disease is
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
    world: DiseaseKnowledge, disease: int, present: Sequence[int], absent: Sequence[int], patient: Patient
) -> tuple[FindingReason, ...]:
    """What speaks for a disease, then what is missing, then what speaks against it."""
    told = _Stated(world, disease)
    return (
        *(told.fit(q) for q in present),
        *told.denied(present),
        *(reason for q in absent for reason in told.absent(q)),
        *told.missing(present),
        *told.whole(patient),
    )


class _Stated:
    """What the graph tells of one disease, by node."""

    def __init__(self, world: DiseaseKnowledge, disease: int) -> None:
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
        kind = int(world.fit((q,))[0][self.disease])
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
        return tuple(self.world.graph.triple(edge) for edge in sorted({*self._edges(self.node, role).values()}))


# --- The weights of the score, kept as data with their origin (`weights.toml`).

FEATURES = (
    *("exact", "narrower", "twin", "broader", "denied", "excluded", "missing", "sex", "onset", "published"),
    *("prevalence", "listed", "care", "shown", "befalling"),
)
FOR = frozenset(("exact", "narrower", "twin", "broader", "published", "prevalence", "listed", "care", "befalling"))
SIGNS = tuple(1 if name in FOR else -1 for name in FEATURES)  # of each weight


def tables() -> Mapping[str, Mapping[str, Any]]:
    """The tables of `weights.toml` by the kind of patient: "cases" and "patients"."""
    return packaged_toml("kgmed.diagnose.weights")


def weights(of: str) -> dict[str, float]:
    """The weight of each feature for a kind of patient; 0 where the table has none.

    >>> weights("cases")["exact"], weights("cases")["prevalence"]
    (0.38, 0.0)
    """
    return {name: float(tables()[of].get(name, 0.0)) for name in FEATURES}


# --- Weights fitted to cases: a conditional logit, each weight held to the sign that it must have.
# The likelihood of a case is exp(s[true]) / sum over its candidates of exp(s), with s = features @ weights (McFadden
# 1974, "Conditional logit analysis of qualitative choice behavior"). Its log is concave, so that there is one best set
# of weights; a projected Newton method finds it.


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


DATABASE = "OMIM"
FIRST, CANDIDATES = 30, 300  # of two diseases one is among the first, the other among these (ours, for time)
SECOND = 0.02  # the odds of two diseases against one; chosen on development cases, `bench/diagnose.py --pairs`
LIMITS = (
    "A list of diseases to think of, not a diagnosis: it ranks only what {graph} describes, from the findings given, "
    "and has been measured on published cases of rare genetic disease only; common diseases are not in it."
)


@dataclass(frozen=True, slots=True)
class RankedDisease:
    """A disease, alone or with a second one: its score, and what speaks for and against. 1 more = e times as likely."""

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
    both: tuple[Entity, ...] = ()  # two that together are likelier than any alone, the likelier one first

    def table(self) -> "pandas.DataFrame":
        """The diseases, a row each, best first, with how many reasons of each kind there are.

        Raises `Unavailable` without pandas: pip install "kgmed[graphs]".
        """
        from kgmed.show_run import table  # nothing else here is shown

        rows = [
            {"rank": i, "id": d.disease.id, "name": d.disease.name, "score": d.score}
            | Counter(reason.kind for reason in d.reasons)
            for i, d in enumerate(self.ranked, start=1)
        ]
        return table(rows).fillna(0) if rows else table(rows)


@dataclass(frozen=True, slots=True)
class Presentation:
    """What is told of a patient, by node.

    Attributes:
        present: The findings that are there, each with all its nodes.
        absent: Those that were looked for and are not there.
        sex: female, male or "".
        age: In years, None = not known.
        onset: The illness began at an age from .. to.
        traits: What else is told: child, adult, pregnant, sudden, ... (`frame.Patient.traits`); None = nothing.
    """

    present: tuple[Nodes, ...]
    absent: tuple[Nodes, ...] = ()
    sex: str = ""
    age: float | None = None
    onset: tuple[float, float] | None = None
    traits: frozenset[str] | None = None


class DiagnosisEngine:
    """A graph's diseases, ready to be scored: made in seconds and kept, then milliseconds a patient."""

    def __init__(
        self,
        graph: LocalGraph,
        *,
        copies: Sequence[tuple[int, str]] = (),
        table: DiseaseTable | None = None,
        changed: Mapping[str, float] | None = None,
    ) -> None:
        """Read `graph`; `copies` = (place of a disease, reference) adds it without what rests on the reference.

        Weights are those of the kind of patient that the graph is for, but for those `changed`.
        """
        known = with_copies(graph, table or read(graph), copies) if copies else open_knowledge(graph)
        given = {**weights("cases" if known.is_of_cases else "patients"), **(changed or {})}
        self.graph, self.world = graph, known
        self.weights = np.array([given.get(name, 0.0) for name in FEATURES])
        self._weight = dict(zip(FEATURES, self.weights.tolist(), strict=True))
        self._before = {**known.prior.features(), "published": np.asarray(known.published)}
        self._score_before: Floats = sum((self._weight[n] * v for n, v in self._before.items()), np.zeros(known.size))

    def scores(self, told: Presentation) -> Floats:
        """The score of each disease (diseases,): the weighted sum of its features."""
        total = self._score_before.copy()
        for name, value in self._findings(told).items():
            if weight := self._weight[name]:
                total += weight * value
        return total

    def features(self, patient: Patient) -> Floats:
        """What speaks for and against each disease (diseases, FEATURES); raises `UnknownName`."""
        return self.features_of(self.presentation(patient))

    def presentation(self, patient: Patient) -> Presentation:
        """A patient by ids as one by nodes; raises `UnknownName`."""
        present, absent = (tuple((n,) for n in self._numbers(ids)) for ids in (patient.present, patient.absent))
        return Presentation(present, absent, patient.sex, patient.age, patient.onset)

    def features_of(self, told: Presentation) -> Floats:
        """What speaks for and against each disease (diseases, FEATURES)."""
        columns = self._before | self._findings(told)
        return np.stack([columns[name] for name in FEATURES], axis=1)

    def _findings(self, told: Presentation) -> dict[str, Floats]:
        """The features that depend on the patient, each (diseases,)."""
        world = self.world
        sums = np.zeros((NONE + 1, world.size))
        denied, excluded = np.zeros(world.size), np.zeros(world.size)
        for finding in told.present:
            check_stop()
            row, kind, value = world.fit_of_some(finding)
            sums[kind, row] += value
            denied += world.denied(finding)
        for finding in told.absent:
            check_stop()
            row, frequency = world.having(finding)
            excluded[row] -= np.log1p(-np.minimum(frequency, CERTAIN))
        return {
            **dict(zip(FEATURES[:NONE], sums, strict=False)),
            "denied": denied,
            "excluded": excluded,
            "missing": world.missing(told.present),
            "sex": world.other_sex(told.sex).astype(np.float64),
            "onset": world.other_age(told.age, told.onset).astype(np.float64),
            "befalling": np.zeros(world.size) if told.traits is None else world.prior.befalling(told.traits),
        }

    def diagnose(self, patient: Patient, *, keep: int = 10, database: str = DATABASE) -> Differential:
        """The `keep` best diseases of a database ("" = of all) with their reasons; none where no finding is known.

        Raises `BadInput` for a database that the graph has no annotated disease of.
        """
        known, unknown = self.known(patient)
        allowed = self.of(database)
        if not allowed.any():
            raise BadInput(f"{self.graph.label} has no annotated disease of {database!r}; try OMIM, ORPHA or DECIPHER")
        ranked: tuple[RankedDisease, ...] = ()
        both: tuple[Entity, ...] = ()
        if known.present:
            told = self.presentation(known)
            score, two = self.with_second(told, np.where(allowed, self.scores(told), -np.inf))
            best = np.argsort(-score, kind="stable")[: min(keep, int(allowed.sum()))]
            ranked = tuple(self._ranked(known, int(d), float(score[d])) for d in best)
            both = tuple(self.graph.at(int(self.world.diseases[d])) for d in two)
        return Differential(patient, ranked, unknown, self.graph.label, LIMITS.format(graph=self.graph.label), both)

    def with_second(self, told: Presentation, score: Floats) -> tuple[Floats, tuple[int, ...]]:
        """The score of each disease to be the only one or one of two, and the two that are likelier than any alone.

        `score` (diseases,) is that of each alone, -inf where it does not stand for choice; that of all but the first
        `CANDIDATES` stays. The score of two is that of both without findings and what the better explains each by.
        """
        rows = np.argsort(-score, kind="stable")[:CANDIDATES]
        rows = rows[np.isfinite(score[rows])]
        alone, each = score[rows], self._explained(told, rows)
        before = alone - each.sum(0)
        two = np.full((min(FIRST, len(rows)), len(rows)), -np.inf)
        for i in range(len(two)):  # with each that stands behind it
            more = np.maximum(each[:, i + 1 :] - each[:, i : i + 1], 0).sum(0)
            two[i, i + 1 :] = alone[i] + before[i + 1 :] + more
        two += np.log(SECOND) - np.logaddexp.reduce(before)
        one = np.logaddexp(alone, np.logaddexp.reduce(two, 0))
        one[: len(two)] = np.logaddexp(one[: len(two)], np.logaddexp.reduce(two, 1))
        found = score.copy()
        found[rows] = one
        pair = rows[list(np.unravel_index(two.argmax(), two.shape))] if two.max() > alone[0] else rows[:0]
        return found, tuple(pair[np.argsort(-found[pair], kind="stable")].tolist())

    def _explained(self, told: Presentation, rows: Ints) -> Floats:
        """What each finding adds to the score of some diseases (findings, rows)."""
        weight, fits = np.append(self.weights[:NONE], 0), map(self.world.fit, told.present)
        denied = [self._weight["denied"] * self.world.denied(finding)[rows] for finding in told.present]
        fit = [weight[kind[rows]] * value[rows] for kind, value in fits]
        return np.add(fit, denied).reshape(len(fit), len(rows))

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

    def _numbers(self, identifiers: Sequence[str]) -> tuple[int, ...]:
        return tuple(dict.fromkeys(self.graph.number(i) for i in identifiers))

    def _ranked(self, patient: Patient, disease: int, score: float) -> RankedDisease:
        present, absent = self._numbers(patient.present), self._numbers(patient.absent)
        why = reasons(self.world, disease, present, absent, patient)
        return RankedDisease(self.graph.at(int(self.world.diseases[disease])), round(score, 4), why)


@lru_cache(maxsize=8)
def engine(graph: LocalGraph) -> DiagnosisEngine:
    """The engine of a graph, made once."""
    return DiagnosisEngine(graph)
