"""What scoring a patient needs of a graph, computed once: findings by column, rarity, kin, sex and onset."""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from kgmed.kg.by_role import ByRole
from kgmed.kg.graph import LocalGraph
from kgmed.reward.pheno_patient import ONSETS
from kgmed.reward.pheno_sparse import Columns, Floats, Groups, Ints, closure, columns, groups, total
from kgmed.reward.pheno_table import Pooled, Table
from kgmed.types import Role

Bools = NDArray[np.bool_]

CERTAIN = 0.95  # no finding is surer than this: annotations err
EXACT, NARROWER, TWIN, BROADER, NONE = range(5)  # how a disease comes to a finding
FEATURES = ("exact", "narrower", "twin", "broader", "denied", "excluded", "missing", "sex", "onset", "published")
_MALES = {"HP:0001419", "HP:0001450"}  # X-linked recessive, Y-linked
_COMMON_WORDS = frozenset("autosomal recessive dominant disease disorder syndrome type".split())  # noqa: SIM905


class World:
    """The diseases 0..size-1: `originals` of the graph, then the copies without a reference."""

    def __init__(self, graph: LocalGraph, table: Table, originals: int, copies: Sequence[tuple[int, str]]) -> None:
        """Compute it from a table that has the copies."""
        self.graph, self.originals, self.size = graph, originals, len(table.diseases)
        self.diseases = table.diseases
        self.database = np.array([graph.at(d).id.partition(":")[0] for d in table.diseases.tolist()], np.str_)
        is_a = ByRole(graph, Role.IS_A).objects(np.arange(graph.adjacency.nodes))
        self.above = closure(is_a.origin, is_a.node, graph.adjacency.nodes)
        self.below = groups(self.above.member, self.above.owners, graph.adjacency.nodes)
        findings, denied = table.pooled(Role.FINDING), table.pooled(Role.EXCLUDES)
        nobody = findings.frequency == 0
        findings, none = findings.at(np.flatnonzero(~nobody)), findings.at(np.flatnonzero(nobody))
        self.direct = self._columns(findings)
        origin, node = self.above.spread(findings.node)
        self.found = self._columns(findings.at(origin)._replace(node=node))
        self.no = self._columns(denied, none)
        self.rarity = (self.found.sums(originals) + 0.5) / (originals + 1)  # P(q) by node
        self.expected = total(findings.disease, findings.frequency, self.size)
        self.published = np.log1p(table.publications())
        self.male = _male(graph, self.diseases)
        self.begins, self.ends = _onsets(graph, table)
        self.annotated = np.bincount(findings.disease, minlength=self.size) > 0
        self.twins = _twins(graph, self.diseases[:originals], self.database.tolist(), copies)
        self._lenders = groups(self.twins.member, self.twins.owners, self.size)
        self.fit = lru_cache(maxsize=512)(self._fit)

    def _columns(self, *pooled: Pooled) -> Columns:
        disease, node = (np.concatenate([column[i] for column in pooled]) for i in (0, 1))
        frequency = np.concatenate([p.frequency for p in pooled])
        return columns(disease, node, frequency, rows=self.size, width=self.graph.adjacency.nodes)

    def _fit(self, q: int) -> tuple[NDArray[np.int8], Floats]:
        """How each disease comes to a finding (EXACT .. NONE), and log (1 + P(q | d) / P(q)), 0 for NONE."""
        value, kind = self.nearest(q)
        row, frequency = self.found[q]
        credit = np.log1p(np.minimum(frequency, CERTAIN) / self.rarity[q])
        origin, disease = self.twins.spread(row)
        value[disease] = 0
        np.maximum.at(value, disease, credit[origin])
        kind[disease] = TWIN
        value[row], kind[row] = credit, NARROWER
        kind[self.direct[q].row] = EXACT
        refused = self.denied(q) & (kind >= TWIN)
        value[refused], kind[refused] = 0, NONE
        return kind, value

    def nearest(self, q: int) -> tuple[Floats, NDArray[np.int8]]:
        """The credit by the rarest finding of each disease that q is a kind of, or q itself; BROADER or NONE."""
        value, kind = np.zeros(self.size), np.full(self.size, NONE, np.int8)
        above = self.above[q]
        for a in above[np.argsort(-self.rarity[above], kind="stable")].tolist():
            row, frequency = self.found[a]
            value[row] = np.log1p(np.minimum(frequency, CERTAIN) / self.rarity[a])
            kind[row] = BROADER
        return value, kind

    def lenders(self, disease: int) -> list[int]:
        """The twins that a disease borrows findings from."""
        found: list[int] = self._lenders[disease].tolist()
        return found

    def denied(self, q: int) -> Bools:
        """Which diseases do not have q or what it is a kind of."""
        found = np.zeros(self.size, bool)
        for a in self.above[q].tolist():
            found[self.no[a].row] = True
        return found

    def missing(self, present: Iterable[int]) -> Floats:
        """The sum of the frequencies of what each disease is annotated with and the patient was not said to have.

        Neither what comes above a finding of the patient nor a kind of it is missing.
        """
        near = [kin[q] for q in present for kin in (self.above, self.below)]
        row, frequency = self.direct.of(np.unique(np.concatenate([np.empty(0, np.int64), *near])))
        return (self.expected - total(row, frequency, self.size)).clip(0)

    def other_sex(self, sex: str) -> Bools:
        """Which diseases hardly occur in that sex."""
        return self.male if sex == "female" else np.zeros(self.size, bool)

    def other_age(self, age: float | None, onset: tuple[float, float] | None) -> Bools:
        """Which diseases begin later than the patient's age, or at no age at which the illness began."""
        late = self.begins > (np.inf if age is None else age)
        if onset is None:
            return np.asarray(late, bool)
        return np.asarray(late | (self.begins > onset[1]) | (self.ends < onset[0]))


def _male(graph: LocalGraph, diseases: Ints) -> Bools:
    """Which diseases are inherited only in a way that spares women."""
    ways = ByRole(graph, Role.INHERITANCE).objects(diseases)
    males = {node for node in np.unique(ways.node).tolist() if graph.at(node).id in _MALES}
    is_male = np.isin(ways.node, list(males))
    male, other = (np.bincount(ways.origin, which, len(diseases)) for which in (is_male, ~is_male))
    spared: Bools = (male > 0) & (other == 0)
    return spared


def _onsets(graph: LocalGraph, table: Table) -> tuple[Floats, Floats]:
    """The earliest and the latest age at which each disease begins; NaN where nothing is said."""
    first, last = np.full(len(table.diseases), np.nan), np.full(len(table.diseases), np.nan)
    at = np.flatnonzero(table.of_role(Role.ONSET))
    for node in np.unique(table.node[at]).tolist():
        ages = ONSETS.get(graph.at(node).id)
        disease = table.disease[at[table.node[at] == node]]
        if ages:
            first[disease] = np.fmin(first[disease], ages[0])
            last[disease] = np.fmax(last[disease], ages[1])
    return first, last


def _twins(graph: LocalGraph, diseases: Ints, database: Sequence[str], copies: Sequence[tuple[int, str]]) -> Groups:
    """For each disease those that it lends its findings to: entries of the same disease in other databases.

    Where the copy of a disease borrows from one that has a copy without the same reference, it borrows from that.
    """
    keys: dict[str, list[int]] = defaultdict(list)
    genes = ByRole(graph, Role.GENE).objects(diseases)
    for disease, gene in zip(genes.origin.tolist(), genes.node.tolist(), strict=True):
        keys[f"gene {gene}"].append(disease)
    for disease, node in enumerate(diseases.tolist()):
        keys[_wording(graph.at(node).name)].append(disease)
    near = ((a, b) for members in keys.values() for a in members for b in members)
    pairs = {(a, b) for a, b in near if database[a] != database[b]}
    copy = {pair: len(diseases) + i for i, pair in enumerate(copies)}
    of: dict[int, list[int]] = defaultdict(list)
    for a, b in pairs:
        of[b].append(a)
    lent = [(copy.get((a, r), a), place) for (b, r), place in copy.items() for a in of[b]]
    every = np.array([*sorted(pairs), *lent], np.int64).reshape(-1, 2)
    return groups(every[:, 0], every[:, 1], len(diseases) + len(copies))


def _wording(name: str) -> str:
    """What is left of a disease's name when the words of every second name are gone."""
    words = set(re.findall(r"\w+", name.partition(";")[0].casefold()))
    return " ".join(sorted(words - _COMMON_WORDS or words))
