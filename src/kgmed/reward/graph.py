"""The graph of RLKGF: diseases, symptoms, and how often the one was seen with the other.

Its only relation is (disease, causes, symptom). The edges weigh what the labelled cases say that they are counted
from: a scorer on such a graph uses labels, whatever it does with them later.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

import numpy as np

from kgmed.errors import BadInput, UnknownName
from kgmed.reward.cases import Case
from kgmed.reward.scoring import Floats
from kgmed.types import Entity, Relation, Role, Support, Triple

Weights = Literal["count", "symptom given disease", "disease given symptom", "none"]
_CAUSES = Relation("causes", Role.FINDING)


@dataclass(frozen=True, eq=False)
class CauseGraph:
    """m diseases, n symptoms, their counts (m, n), and of how many cases of each disease (m,) these are."""

    diseases: tuple[str, ...]
    symptoms: tuple[str, ...]
    count: Floats
    cases: Floats

    @classmethod
    def of(cls, counts: Mapping[str, Mapping[str, float]], cases: Mapping[str, int] | None = None) -> "CauseGraph":
        """The graph of disease -> {symptom: count}; without `cases`, a disease has as many as its largest count.

        >>> CauseGraph.of({"d1": {"s1": 1, "s2": 1}, "d2": {"s2": 1, "s3": 5}}).count.tolist()
        [[1.0, 1.0, 0.0], [0.0, 1.0, 5.0]]
        """
        diseases, symptoms = tuple(counts), tuple(dict.fromkeys(s for row in counts.values() for s in row))
        table = np.array([[counts[d].get(s, 0.0) for s in symptoms] for d in diseases], np.float64)
        table = table.reshape(len(diseases), len(symptoms))
        if not np.all(np.isfinite(table) & (table >= 0)):
            raise BadInput("a graph of causes has a count that is negative or no number; give counts of at least 0")
        many = [cases[d] if cases else max(counts[d].values(), default=1.0) for d in diseases]
        return cls(diseases, symptoms, table, np.array(many, np.float64))

    @classmethod
    def counted(cls, cases: Sequence[Case], *, at_least: int = 1) -> "CauseGraph":
        """The graph of labelled cases and their positive symptoms; pairs seen less than `at_least` times are left out.

        The authors' code has a file of GMD with the pairs seen three times and more.
        """
        counts: dict[str, Counter[str]] = {d: Counter() for d in sorted({c.disease for c in cases})}
        for case in cases:
            counts[case.disease].update(case.positive)
        kept = {d: {s: float(k) for s, k in sorted(row.items()) if k >= at_least} for d, row in counts.items()}
        return cls.of(kept, Counter(c.disease for c in cases))

    def weight(self, kind: Weights) -> Floats:
        """The weights (m, n) of the edges; 0 = no edge."""
        if kind not in get_args(Weights):
            raise UnknownName("edge weight", kind, get_args(Weights))
        if kind == "count":
            return self.count
        if kind == "none":
            return (self.count > 0).astype(np.float64)
        by = self.cases[:, None] if kind == "symptom given disease" else self.count.sum(axis=0)
        return np.divide(self.count, by, out=np.zeros_like(self.count), where=self.count > 0)

    def places(self, symptoms: Sequence[str]) -> list[int]:
        """The columns of those of the symptoms that the graph has an edge to, each once."""
        known = dict.fromkeys(self._place[s] for s in symptoms if s in self._place)
        return [i for i in known if self.count[:, i].any()]

    def around(self, symptoms: Sequence[str]) -> tuple[int, ...]:
        """The rows of the diseases in the patient's subgraph: those linked to any of the symptoms."""
        linked = self.count[:, self.places(symptoms)].any(axis=1)
        return tuple(np.flatnonzero(linked).tolist())

    def closure(self, symptoms: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The diseases and the symptoms of the patient's subgraph: all symptoms of all diseases linked to the patient's.

        >>> CauseGraph.of({"d1": {"s1": 1, "s2": 1}, "d2": {"s2": 1, "s3": 5}}).closure(["s1"])
        (('d1',), ('s1', 's2'))
        """  # noqa: E501
        rows = list(self.around(symptoms))
        columns = np.flatnonzero(self.count[rows].any(axis=0)).tolist()
        return tuple(self.diseases[d] for d in rows), tuple(self.symptoms[s] for s in columns)

    def triple(self, disease: int, symptom: int) -> Triple:
        """The fact of an edge; its weight is the share of the disease's cases, at most 1."""
        count = self.count[disease, symptom]
        share = float(min(count / max(self.cases[disease], 1.0), 1.0))
        head, tail = Entity("", self.diseases[disease], "disease"), Entity("", self.symptoms[symptom], "symptom")
        return Triple(head, _CAUSES, tail, share, "cases", (Support(qualifiers=(("count", f"{count:g}"),)),))

    @cached_property
    def _place(self) -> dict[str, int]:
        return {s: i for i, s in enumerate(self.symptoms)}
