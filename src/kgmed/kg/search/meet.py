"""Joins half chains in the middle: counts every chain of every pair, and keeps the most specific of each."""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kgmed.kg.graph import Adjacency
from kgmed.kg.search.halves import Halves, Word
from kgmed.kg.search.scan import Ints, Nodes, blocks, crossing, direction, kth_least, rounded, spread


class Rows(NamedTuple):
    """Chains as columns. A chain of fewer than k steps is filled up with -1 (False in `forward`)."""

    pair: Ints  # (r,) number of the pair
    weight: NDArray[np.float64]  # (r,) product of the degrees of the inner nodes
    nodes: Nodes  # (r, k + 1)
    edges: Nodes  # (r, k)
    forward: NDArray[np.bool_]  # (r, k)

    def at(self, places: Ints) -> "Rows":
        """Some of the rows."""
        return Rows._make(column[places] for column in self)


def stack(parts: list[Rows], steps: int) -> Rows:
    """All rows, one part after the other."""
    none = np.empty(0, np.int32)
    empty = Rows(
        none.astype(np.int64),
        np.empty(0),
        none.reshape(0, steps + 1),
        none.reshape(0, steps),
        np.empty((0, steps), bool),
    )
    return Rows._make(np.concatenate(columns) for columns in zip(empty, *parts, strict=True))


class Middles(NamedTuple):
    """Where a left and a right half chain can meet: in one node, or over one edge."""

    left: Ints  # (e,) place among the left half chains' ends
    right: Ints  # (e,) place among the right ones'
    edge: Nodes | None  # (e,) number of the edge between them; None = they meet in one node
    weight: NDArray[np.float64]  # (e,) product of the degrees of the ends

    def at(self, places: Ints) -> "Middles":
        """Some of the middles."""
        return Middles._make(None if column is None else column[places] for column in self)


def over_node(adjacency: Adjacency, left: Halves, right: Halves) -> Middles:
    """The nodes in which both sides end."""
    _, at_left, at_right = np.intersect1d(left.ends, right.ends, assume_unique=True, return_indices=True)
    return Middles(at_left, at_right, None, left.end_degrees(adjacency)[at_left])


def over_edge(adjacency: Adjacency, left: Halves, right: Halves, *, forward: bool) -> Middles:
    """The edges from an end of the left side to an end of the right side, self loops left out."""
    there, back = direction(adjacency, forward=forward)
    at_left, at_right, edge = crossing(there, back, left.ends, right.ends)
    loop = left.ends[at_left] == right.ends[at_right]
    if loop.any():
        at_left, at_right, edge = at_left[~loop], at_right[~loop], edge[~loop]
    return Middles(
        at_left, at_right, edge, left.end_degrees(adjacency)[at_left] * right.end_degrees(adjacency)[at_right]
    )


def cheapest(
    middles: Middles, left: Halves, right: Halves, *, most: int, joined: int
) -> tuple[Middles, tuple[str, ...]]:
    """The most specific middles within both budgets, and the names of the budgets that left some out."""
    sizes = left.many[middles.left] * right.many[middles.right]
    cut = ("middles",) * (len(sizes) > most) + ("joined",) * (int(sizes.sum()) > joined)
    if not cut:
        return middles, ()
    edge = np.zeros(len(sizes)) if middles.edge is None else middles.edge
    order = np.lexsort((edge, right.ends[middles.right], left.ends[middles.left], middles.weight))[:most]
    kept = order[np.cumsum(sizes[order]) <= joined]
    return middles.at(kept), cut


@dataclass(slots=True)
class Shortlist:
    """Counts the chains of each pair and keeps the rows that can still be among its first; grows as words are joined.

    A row is judged first by its weight rounded to single precision: rounding keeps the order, so nothing that belongs
    to the first `keep` is lost, and what ties is decided by the exact order in the end.
    """

    keep: int
    steps: int
    anchors: Nodes  # (a,) ascending
    pair_of: Ints  # (a, a) number of the pair of two anchor places, from 1; 0 = none
    total: Ints  # (pairs + 1,)
    limit: Ints = field(init=False)  # (pairs + 1,) the largest rounded weight that can still matter
    parts: list[Rows] = field(init=False)  # those settled, then those waiting to be
    waiting: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        """Start with no row and no limit."""
        self.limit = np.full(len(self.total), np.iinfo(np.int32).max if self.keep else 0, np.int64)
        self.limit[0] = -1
        self.parts = [stack([], self.steps)]

    def join(self, word: Word, left: Halves, right: Halves, middles: Middles, *, ordered: bool) -> None:
        """Count all chains of a word that pass the middles; of a word that is its own mirror, each pair once."""
        table = self.pair_of if ordered else np.triu(self.pair_of, 1)
        table = np.append(table.ravel(), np.zeros(len(table), np.int64))  # the last row is no anchor's
        if middles.edge is not None:  # those over an anchor last, so that the others need no look at each chain
            over_anchor = np.isin(left.ends, self.anchors)[middles.left]
            if over_anchor.any():
                middles = middles.at(np.concatenate([np.flatnonzero(~over_anchor), np.flatnonzero(over_anchor)]))
        sizes = left.many[middles.left] * right.many[middles.right]
        for block in blocks(np.arange(len(sizes)), sizes):
            self._join_block(word, left, right, middles.at(block), table)

    def _join_block(self, word: Word, left: Halves, right: Halves, middles: Middles, table: Ints) -> None:
        """One block of `join`: expand to the left halves, then to the right ones."""
        anchors = len(self.pair_of)
        many = left.many[middles.left]
        at = np.repeat(np.arange(len(many)), many)
        first = spread(left.starts[middles.left], many)
        base = left.anchor[first].astype(np.int64) * anchors
        base[_through_right_end(left, right, middles, at, first)] = anchors * anchors
        many = right.many[middles.right][at]
        row = np.repeat(np.arange(len(at)), many)
        second = spread(right.starts[middles.right][at], many)
        pair = table[base[row] + right.anchor[second]]
        for a, b in self._to_compare(left, right, middles):
            pair *= left.nodes[a][first][row] != right.nodes[b][second]
        self.total += np.bincount(pair, minlength=len(self.total))
        weight = middles.weight[at] if left.before is None else middles.weight[at] * left.before[first]
        key = rounded(weight)[row] if right.before is None else rounded(weight[row] * right.before[second])
        kept = np.flatnonzero(key <= self.limit[pair])
        if not len(kept):
            return
        row, second = row[kept], second[kept]
        weight = weight[row] if right.before is None else weight[row] * right.before[second]
        rows = _rows(self.steps, word, left, right, middles, (first[row], at[row], second))
        self._keep(rows._replace(pair=pair[kept], weight=weight))

    def _to_compare(self, left: Halves, right: Halves, middles: Middles) -> list[tuple[int, int]]:
        """The columns of a left and a right half chain whose nodes must be told apart chain by chain.

        Anchors differ by the pair, ends by how they meet, and inner nodes from the right end by `_through_right_end` or
        because both sides end there. A left end that is no anchor needs no comparison with the right anchor.
        """
        last = len(left.edges)
        pairs = [(a, b) for a in range(last + 1) for b in range(last) if (a, b) != (0, 0)]
        if middles.edge is None:
            return [(a, b) for a, b in pairs if a < last]
        over_anchor = left.ends[middles.left[-1]] in self.anchors
        return pairs if over_anchor else [c for c in pairs if c != (last, 0)]

    def _keep(self, new: Rows) -> None:
        """Add rows; tighten the limits once enough have come together."""
        self.parts.append(new)
        self.waiting += len(new.pair)
        if self.waiting > 1000 + len(self.parts[0].pair) // 2:
            self.settle()

    def settle(self) -> Rows:
        """Tighten the limits, drop what fell out, and return the rows that stay."""
        rows = stack(self.parts, self.steps)
        key = rounded(rows.weight)
        self.limit = np.minimum(self.limit, kth_least(rows.pair, key, self.keep, len(self.total)))
        rows = rows.at(np.flatnonzero(key <= self.limit[rows.pair]))
        self.parts, self.waiting = [rows], 0
        return rows


def _through_right_end(left: Halves, right: Halves, middles: Middles, at: Ints, first: Ints) -> NDArray[np.bool_]:
    """Which left half chains pass the node in which the right one ends (known to differ from their last node)."""
    if middles.edge is None or not left.edges:
        return np.zeros(len(at), bool)
    end = right.ends[middles.right][at]
    passed: NDArray[np.bool_] = left.nodes[0][first] == end
    for column in left.nodes[1:-1]:
        passed |= column[first] == end
    return passed


def _rows(
    steps: int, word: Word, left: Halves, right: Halves, middles: Middles, chosen: tuple[Ints, Ints, Ints]
) -> Rows:
    """The chosen chains written out, each from its lower anchor to its higher one."""
    first, middle, second = chosen
    many, length = len(first), len(word)
    nodes = np.full((many, steps + 1), -1, np.int32)
    edges = np.full((many, steps), -1, np.int32)
    forward = np.zeros((many, steps), bool)
    there = [column[first] for column in left.nodes]
    back = [column[second] for column in right.nodes[::-1]]
    between = [] if middles.edge is None else [middles.edge[middle]]
    path = [*there, *(back if between else back[1:])]
    links = [*(c[first] for c in left.edges), *between, *(c[second] for c in right.edges[::-1])]
    turned = path[0] > path[-1]
    for i in range(length + 1):
        nodes[:, i] = np.where(turned, path[length - i], path[i])
    for i in range(length):
        edges[:, i] = np.where(turned, links[length - 1 - i], links[i])
        forward[:, i] = np.where(turned, not word[length - 1 - i], word[i])
    return Rows(np.empty(many, np.int64), np.empty(many), nodes, edges, forward)
