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

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from kgmed.errors import BadInput, UnknownName
from kgmed.kg.graph import LocalGraph
from kgmed.reward.pheno_patient import Patient
from kgmed.reward.pheno_table import Table, read
from kgmed.reward.pheno_why import Reason, reasons
from kgmed.reward.pheno_world import CERTAIN, FEATURES, World
from kgmed.types import Entity

Floats = NDArray[np.float64]

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
class Ranked:
    """A disease with its score and what it rests on, for and against. A score higher by 1 = e times as likely."""

    disease: Entity
    score: float
    reasons: tuple[Reason, ...]


@dataclass(frozen=True, slots=True)
class Differential:
    """The diseases that fit a patient, best first."""

    patient: Patient
    ranked: tuple[Ranked, ...]
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
        table: Table | None = None,
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
        ranked: tuple[Ranked, ...] = ()
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

    def _ranked(self, patient: Patient, disease: int, score: float) -> Ranked:
        present, absent = self._numbers(patient.present), self._numbers(patient.absent)
        why = reasons(self.world, disease, present, absent, patient)
        return Ranked(self.graph.at(int(self.world.diseases[disease])), round(score, 4), why)
