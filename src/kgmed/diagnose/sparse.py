"""Sparse columns over diseases, and the broader terms of each term, in plain numpy."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kgmed.graph.base import indptr, unique_numbers

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
