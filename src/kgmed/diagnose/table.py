"""What a graph says of its diseases as columns: one row for each disease, finding and reference.

The rows are those of the graph's support, so that whatever rests on one publication can be left out and the rest pooled
again. A row that names several references stands here once for each of them, and its count with it.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kgmed.derived import Arrays, cached_arrays
from kgmed.diagnose.sparse import Floats, Groups, Ints, total
from kgmed.graph.base import ByRole, LocalGraph, triples_at
from kgmed.graph.formats.obo import COUNT, FREQUENCIES, PERCENT, UNSTATED
from kgmed.graph.store.store import Store
from kgmed.records import Role

VERSION = 2  # goes up when the columns kept beside a graph change
ROLES = (Role.FINDING, Role.EXCLUDES, Role.ONSET)
PSEUDO = 1.0  # patients added to every count, half of them with the finding: 1/1 is not "always"
_COLUMNS = ("disease", "node", "role", "reference", "counted", "patients", "stated", "references")
_AT_ONCE = 1 << 12  # triples read at a time
_CLASSES = dict(FREQUENCIES.values())


class Pooled(NamedTuple):
    """What the rows of each disease and finding say together, by disease, then finding."""

    disease: Ints
    node: Ints
    frequency: Floats  # 0 = found in nobody, or denied
    patients: Floats  # those counted

    def at(self, rows: Ints) -> "Pooled":
        """Some of them, in that order."""
        return Pooled(self.disease[rows], self.node[rows], self.frequency[rows], self.patients[rows])


@dataclass(frozen=True, slots=True)
class DiseaseTable:
    """The rows. `disease` is a place in `diseases`, `role` one in `ROLES`, `reference` one in `references`."""

    diseases: Ints  # (d,) node numbers, ascending
    disease: Ints  # (r,)
    node: Ints  # (r,) the finding, or the onset
    role: Ints  # (r,)
    reference: Ints  # (r,)
    counted: Floats  # (r,) n of n/m, else 0
    patients: Floats  # (r,) m of n/m, else 0
    stated: Floats  # (r,) a share without a count, else NaN
    references: NDArray[np.str_]  # (n,) "" = none

    def of_role(self, role: Role) -> NDArray[np.bool_]:
        """Which rows have that role (r,)."""
        return np.equal(self.role, ROLES.index(role))

    def with_copies(self, copies: Sequence[tuple[int, str]]) -> "DiseaseTable":
        """The table with one more disease for each (disease, reference): a copy without what rests on the reference.

        A row that rests on another reference stays. It loses its count, though, where the reference left out gives
        the same count for the same finding: the graph does not tell whether the two are one count.
        """
        rows, disease, counted = [np.arange(len(self.disease))], [self.disease], [self.patients > 0]
        order = np.argsort(self.disease, kind="stable")
        starts = np.searchsorted(self.disease[order], np.arange(len(self.diseases) + 1))
        for i, (d, reference) in enumerate(copies):
            mine = order[starts[d] : starts[d + 1]]
            own = self.references[self.reference[mine]] == reference
            key = np.stack([self.node[mine], self.counted[mine], self.patients[mine]])
            same = (key[:, :, None] == key[:, None, own]).all(0).any(1)
            rows.append(mine[~own])
            disease.append(np.full(len(rows[-1]), len(self.diseases) + i))
            counted.append((self.patients[mine] > 0)[~own] & ~same[~own])
        at, keep = np.concatenate(rows), np.concatenate(counted)
        return DiseaseTable(
            diseases=np.concatenate([self.diseases, self.diseases[[d for d, _ in copies]]]).astype(np.int64),
            disease=np.concatenate(disease),
            node=self.node[at],
            role=self.role[at],
            reference=self.reference[at],
            counted=np.where(keep, self.counted[at], 0),
            patients=np.where(keep, self.patients[at], 0),
            stated=self.stated[at],
            references=self.references,
        )

    def pooled(self, role: Role) -> Pooled:
        """The findings of each disease under a role (`FINDING` or `EXCLUDES`), their rows taken together.

        A count n/m over all rows gives (n + 0.5) / (m + 1), or 0 where n is 0; without a count the mean of the
        stated shares; without either `UNSTATED`.
        """
        at = np.flatnonzero(self.of_role(role))
        key = self.disease[at] * (int(self.node.max(initial=0)) + 1) + self.node[at]
        _, first, group = np.unique(key, return_index=True, return_inverse=True)
        size = len(first)
        n, m = (total(group, column[at], size) for column in (self.counted, self.patients))
        told = np.isfinite(self.stated[at])
        shares, times = total(group, np.where(told, self.stated[at], 0), size), total(group, told, size)
        stated = np.where(times > 0, shares / np.maximum(times, 1), UNSTATED)
        counted = np.where(n > 0, (n + PSEUDO / 2) / (m + PSEUDO), 0)
        return Pooled(self.disease[at][first], self.node[at][first], np.where(m > 0, counted, stated), m)

    def publications(self) -> Ints:
        """How many publications (PMID) the findings of each disease rest on (d,)."""
        at = np.flatnonzero(self.of_role(Role.FINDING) & np.char.startswith(self.references, "PMID:")[self.reference])
        pairs = np.unique(np.stack([self.disease[at], self.reference[at]]), axis=1)
        return np.bincount(pairs[0], minlength=len(self.diseases)).astype(np.int64)


def read(graph: LocalGraph) -> DiseaseTable:
    """The table of a graph, kept beside it once it has been made."""
    key = f"{VERSION} {graph.label}"
    columns = cached_arrays(graph.folder, "phenotypes", key, _COLUMNS, lambda: _columns(graph))
    diseases = np.sort(graph.of_kind("disease")).astype(np.int64)
    return DiseaseTable(diseases, **{name: np.asarray(columns[name]) for name in _COLUMNS})


def _columns(graph: LocalGraph) -> Arrays:
    diseases = np.sort(graph.of_kind("disease"))
    every = [ByRole(graph, role).objects(diseases) for role in ROLES]
    disease, node, edge = (np.concatenate([hops[i] for hops in every]).astype(np.int64) for i in range(3))
    kinds, kind = dict[Any, int](), np.empty(len(edge), np.int64)  # of what supports an edge, each read once
    for at in range(0, len(edge), _AT_ONCE):
        said = _said(graph, edge[at : at + _AT_ONCE])
        kind[at : at + _AT_ONCE] = [kinds.setdefault(one, len(kinds)) for one in said]
    references, rows, begins = {"": 0}, list[tuple[float, float, float, float]](), [0]
    for one in kinds:
        for reference, what in _read(one):
            number = references.setdefault(reference, len(references))
            rows.append((number, *frequency(dict(what).get("frequency", ""))))
        begins.append(len(rows))
    of, row = Groups(np.array(begins), np.arange(len(rows))).spread(kind)
    reference, *parts = np.array(rows, np.float64).reshape(-1, 4)[row].T.copy()
    role = np.repeat(np.arange(len(ROLES)), [len(hops.edge) for hops in every])[of]
    told = (disease[of], node[of], role, reference.astype(np.int64), *parts, np.array(list(references), np.str_))
    return dict(zip(_COLUMNS, told, strict=True))


def _said(graph: LocalGraph, edges: Ints) -> Sequence[Any]:
    """What supports each edge: a text, or supports; where there is none its weight, where that tells, else ""."""
    if isinstance(graph, Store):
        numbers = graph.tables.edge_support
        said: Sequence[Any] = [""] * len(edges) if numbers is None else graph.tables.support.many(numbers[edges])
    else:
        said = [triple.support or "" for triple in triples_at(graph, edges)]
    tells = _weighted(graph)[graph.adjacency.out.relation[edges]]
    if graph.weight is None or not tells.any():
        return said
    weights = np.round(graph.weight[edges].astype(float), 6).tolist()
    return [one or (weight if told else "") for one, weight, told in zip(said, weights, tells.tolist(), strict=True)]


def _read(said: Any) -> Iterable[tuple[str, Iterable[tuple[str, str]]]]:
    """The references that something said names, each with what it says."""
    if isinstance(said, tuple):
        return [(support.reference, support.qualifiers) for support in said]
    if isinstance(said, float):
        return [("", [("frequency", f"{100 * said:.6f}%")])]
    return json.loads(said) if said else [("", ())]


@lru_cache(maxsize=8)
def _weighted(graph: LocalGraph) -> NDArray[np.bool_]:
    """Which relations tell how often (r,): those with a weight that is not 1; one of several graphs may not."""
    if graph.weight is None:
        return np.zeros(len(graph.relations), bool)
    relation = graph.adjacency.out.relation[np.asarray(graph.weight) != 1]
    return np.bincount(relation, minlength=len(graph.relations)) > 0


@lru_cache(maxsize=1 << 12)
def frequency(text: str) -> tuple[float, float, float]:
    """The count and the share that a frequency states: (n, m, NaN) or (0, 0, share), NaN where it states none.

    >>> frequency("3/7"), frequency("very frequent (80-99%)")
    ((3.0, 7.0, nan), (0.0, 0.0, 0.895))
    """
    if found := COUNT.match(text):
        return float(found[1]), float(found[2]), float("nan")
    if found := PERCENT.match(text):
        return 0.0, 0.0, min(float(found[1]) / 100, 1.0)
    return 0.0, 0.0, _CLASSES.get(text, float("nan"))
