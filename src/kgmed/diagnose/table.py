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
from kgmed.graph.base import ByRole, LocalGraph, indptr, triples_at, unique_numbers
from kgmed.graph.store.store import Store
from kgmed.records import Role

# --- Sparse columns over diseases, and the broader terms of each term.


Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class Column(NamedTuple):
    """The entries of one column."""

    row: Ints
    value: Floats


@dataclass(frozen=True, slots=True)
class SparseColumns:
    """A sparse matrix by columns."""

    indptr: Ints  # (columns + 1,)
    row: Ints
    value: Floats

    def __getitem__(self, column: int) -> Column:
        """The entries of a column, by row."""
        at = slice(int(self.indptr[column]), int(self.indptr[column + 1]))
        return Column(self.row[at], self.value[at])

    def of(self, columns: Ints) -> Column:
        """The entries of several columns, one after the other."""
        begin = self.indptr[columns]
        counts = self.indptr[columns + 1] - begin
        at = np.arange(int(counts.sum())) + np.repeat(begin - np.cumsum(counts) + counts, counts)
        return Column(self.row[at], self.value[at])

    def of_rows(self, size: int) -> Floats:
        """The sum of each row (size,)."""
        return total(self.row, self.value, size)

    def sums(self, rows: int) -> Floats:
        """The sum of each column over the first `rows` rows."""
        column = np.repeat(np.arange(len(self.indptr) - 1), np.diff(self.indptr))
        return total(column, np.where(self.row < rows, self.value, 0.0), len(self.indptr) - 1)


def columns(row: Ints, column: Ints, value: Floats, *, rows: int, width: int) -> SparseColumns:
    """The matrix of some entries; of several for one place the largest stays.

    >>> m = columns(np.array([0, 1, 0]), np.array([1, 0, 1]), np.array([0.2, 0.5, 0.7]), rows=2, width=2)
    >>> m[1].row.tolist(), m[1].value.tolist()
    ([0], [0.7])
    """
    key = column * rows + row
    order = np.argsort(key, kind="stable")
    key, value = key[order], value[order]
    first = np.flatnonzero(np.diff(key, prepend=-1))
    value = np.maximum.reduceat(value, first) if len(first) else value
    column, row = np.divmod(key[first], rows)
    return SparseColumns(indptr(column, width), row, value.astype(np.float64))


def total(group: Ints, value: NDArray[Any], size: int) -> Floats:
    """The sum of the values of each of `size` groups (size,)."""
    return np.bincount(group, value, size).astype(np.float64)


@dataclass(frozen=True, slots=True)
class Groups:
    """For each of some numbers, other numbers."""

    indptr: Ints
    member: Ints

    def __getitem__(self, number: int) -> Ints:
        """The members of a group."""
        return self.member[self.indptr[number] : self.indptr[number + 1]]

    @property
    def owners(self) -> Ints:
        """For each member, the number whose group it is in."""
        return np.repeat(np.arange(len(self.indptr) - 1), np.diff(self.indptr))

    def spread(self, numbers: Ints) -> tuple[Ints, Ints]:
        """For each member of the groups of `numbers`: the place in `numbers` it comes from, and the member.

        >>> Groups(np.array([0, 2, 3]), np.array([5, 6, 7])).spread(np.array([1, 0]))[1].tolist()
        [7, 5, 6]
        """
        begin = self.indptr[numbers]
        counts = self.indptr[numbers + 1] - begin
        origin = np.repeat(np.arange(len(numbers)), counts)
        before = np.cumsum(counts) - counts
        return origin, self.member[np.arange(int(counts.sum())) + np.repeat(begin - before, counts)]


def groups(number: Ints, member: Ints, size: int) -> Groups:
    """The groups of some pairs; equal pairs are kept once, a group's members ascend."""
    width = int(member.max(initial=0)) + 1
    number, member = np.divmod(unique_numbers(number * width + member), width)
    return Groups(indptr(number, size), member)


def closure(child: Ints, parent: Ints, size: int) -> Groups:
    """For each of `size` nodes itself and all that is reached from it by steps from child to parent; cycles are fine.

    >>> closure(np.array([0, 1]), np.array([1, 2]), 3)[0].tolist()
    [0, 1, 2]
    """
    up, found = groups(child, parent, size), np.arange(size, dtype=np.int64) * (size + 1)  # child * size + parent
    new = found
    while len(new):
        origin, above = up.spread(new % size)
        new = unique_numbers((new - new % size)[origin] + above)
        new = new[found[np.minimum(found.searchsorted(new), len(found) - 1)] != new]
        found = np.sort(np.concatenate([found, new]), kind="stable")
    return Groups(indptr(found // max(size, 1), size), found % max(size, 1))


VERSION = 2  # goes up when the columns kept beside a graph change
ROLES = (Role.FINDING, Role.EXCLUDES, Role.ONSET)
PSEUDO = 1.0  # patients added to every count, half of them with the finding: 1/1 is not "always"
_COLUMNS = ("disease", "node", "role", "reference", "counted", "patients", "stated", "references")
_AT_ONCE = 1 << 12  # triples read at a time


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
        from kgmed.graph.formats.obo import UNSTATED  # where the table is made

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
    return np.bincount(graph.adjacency.out.relation[np.asarray(graph.weight) != 1], minlength=len(graph.relations)) > 0


@lru_cache(maxsize=1 << 12)
def frequency(text: str) -> tuple[float, float, float]:
    """The count and the share that a frequency states: (n, m, NaN) or (0, 0, share), NaN where it states none.

    >>> frequency("3/7"), frequency("very frequent (80-99%)")
    ((3.0, 7.0, nan), (0.0, 0.0, 0.895))
    """
    from kgmed.graph.formats.obo import COUNT, FREQUENCIES, PERCENT  # where the table is made

    if found := COUNT.match(text):
        return float(found[1]), float(found[2]), float("nan")
    if found := PERCENT.match(text):
        return 0.0, 0.0, min(float(found[1]) / 100, 1.0)
    return 0.0, 0.0, dict(FREQUENCIES.values()).get(text, float("nan"))
