"""HyKGE's chains: all simple paths of at most k steps between two anchors that change direction at most once.

Jiang et al. 2025, section 3.3. A chain is a *path* when it never changes direction, a *co-ancestor* chain when it goes
forward and then back (-> x <-), a *co-occurrence* chain when it goes back and then forward (<- x ->). The paper draws
the three shapes for two steps; for more, "at most one change of direction" is the same set as the one that the
authors' code keeps. Parallel edges make distinct chains.

The search meets in the middle: half chains grow from all anchors at once and are joined over a common node (even
lengths) or a common edge (odd lengths), so that hubs are met and never expanded blindly.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kgmed.errors import BadInput
from kgmed.graph.base import Adjacency
from kgmed.graph.search.scan import (
    Ints,
    Nodes,
    blocks,
    crossing,
    degrees,
    direction,
    edge_numbers,
    follow,
    kth_least,
    rounded,
    spread,
)
from kgmed.stop import check_stop

# --- Half chains: the simple paths of one direction word that start at the anchors, grouped by the node they end in.

Word = tuple[bool, ...]  # one step each: True = along the edge, False = against it


def words(length: int) -> list[Word]:
    """The words of that many steps with at most one change of direction.

    HyKGE's three shapes are these: none = path, forward then back = co-ancestor, back then forward = co-occurrence.

    >>> ["".join("BF"[step] for step in word) for word in words(3)]
    ['FBB', 'FFB', 'FFF', 'BFF', 'BBF', 'BBB']
    """
    return [(first,) * n + (not first,) * (length - n) for first in (True, False) for n in range(1, length + 1)]


def shape(word: Word) -> str:
    """The name of a word's shape: `path`, `co_ancestor` or `co_occurrence`.

    >>> [shape(word) for word in ((True, True), (True, False), (False, True))]
    ['path', 'co_ancestor', 'co_occurrence']
    """
    return "path" if word[0] == word[-1] else "co_ancestor" if word[0] else "co_occurrence"


SHAPES = ("path", "co_ancestor", "co_occurrence")


def mirror(word: Word) -> Word:
    """The same chain's word read from its other end.

    >>> mirror((True, True, False))
    (True, False, False)
    """
    return tuple(not step for step in reversed(word))


class HalfChains(NamedTuple):
    """Half chains of d steps, sorted by their last node."""

    anchor: Nodes  # (p,) place of the first node among the anchors
    nodes: tuple[Nodes, ...]  # d + 1 columns of (p,), the anchor first
    edges: tuple[Nodes, ...]  # d columns of (p,)
    before: NDArray[np.float64] | None  # (p,) product of the degrees of the inner nodes; None = 1, for d < 2
    ends: Nodes  # (q,) the last nodes, ascending, each once
    starts: Ints  # (q + 1,) where the half chains of each last node begin

    @property
    def many(self) -> Ints:
        """The number of half chains that end in each last node (q,)."""
        return np.diff(self.starts)

    def end_degrees(self, adjacency: Adjacency) -> NDArray[np.float64]:
        """The degrees of the last nodes (q,); 1 where the last node is the anchor itself, which does not count."""
        return degrees(adjacency, self.ends).astype(np.float64) if self.edges else np.ones(len(self.ends))


def start(anchors: Nodes) -> HalfChains:
    """The half chains of no step: the anchors (ascending) themselves."""
    places = np.arange(len(anchors), dtype=np.int32)
    return HalfChains(places, (anchors,), (), None, anchors, np.arange(len(anchors) + 1))


def step(adjacency: Adjacency, halves: HalfChains, *, forward: bool, budget: int) -> tuple[HalfChains, bool]:
    """The half chains that are one step longer, and whether the budget kept some from growing.

    The first step is always whole. Later ones look at no more than `budget` edges: the half chains through nodes of
    low degree grow first.
    """
    there, _ = direction(adjacency, forward=forward)
    kept, cut = (_affordable(adjacency, halves, forward=forward, budget=budget)) if halves.edges else (None, False)
    nodes = halves.nodes if kept is None else tuple(column[kept] for column in halves.nodes)
    owner, position = follow(there, nodes[-1])
    end = there.neighbour[position]
    new = np.flatnonzero(np.logical_and.reduce([end != column[owner] for column in nodes]))
    new = new[_by_value(end[new])]
    parent = owner[new] if kept is None else kept[owner[new]]
    ends, starts = _runs(end[new])
    longer = HalfChains(
        halves.anchor[parent],
        (*(column[parent] for column in halves.nodes), end[new]),
        (*(column[parent] for column in halves.edges), edge_numbers(there, position[new])),
        _inner(adjacency, halves)[parent] if halves.edges else None,
        ends,
        starts,
    )
    return longer, cut


def _inner(adjacency: Adjacency, halves: HalfChains) -> NDArray[np.float64]:
    """The product of the degrees of all nodes after the anchor (p,)."""
    last = degrees(adjacency, halves.nodes[-1]).astype(np.float64)
    return last if halves.before is None else halves.before * last


def _affordable(adjacency: Adjacency, halves: HalfChains, *, forward: bool, budget: int) -> tuple[Ints | None, bool]:
    """Which half chains may grow (None = all): the most specific, while the edges to look at are within the budget."""
    indptr = direction(adjacency, forward=forward)[0].indptr
    last = halves.nodes[-1]
    effort = indptr[last + 1] - indptr[last]
    if int(effort.sum()) <= budget:
        return None, False
    keys: list[NDArray[Any]] = [*halves.edges[::-1], *halves.nodes[::-1], _inner(adjacency, halves)]
    order = np.lexsort(keys)
    return np.sort(order[np.cumsum(effort[order]) <= budget]), True


def _by_value(values: Nodes) -> Ints:
    """A stable order of non-negative values; one plain sort of (value, place) pairs, which is vectorised."""
    packed = values.astype(np.int64) << 32 | np.arange(len(values))
    packed.sort()
    return packed & 0xFFFFFFFF


def _runs(values: Nodes) -> tuple[Nodes, Ints]:
    """The distinct values of a sorted array and where each begins, with the end of the last."""
    first = np.flatnonzero(np.concatenate([np.ones(min(len(values), 1), bool), values[1:] != values[:-1]]))
    return values[first], np.concatenate([first, [len(values)]])


# --- Joins half chains in the middle: counts every chain of every pair, and keeps the most specific of each.


class ChainRows(NamedTuple):
    """Chains as columns. A chain of fewer than k steps is filled up with -1 (False in `forward`)."""

    pair: Ints  # (r,) number of the pair
    weight: NDArray[np.float64]  # (r,) product of the degrees of the inner nodes
    nodes: Nodes  # (r, k + 1)
    edges: Nodes  # (r, k)
    forward: NDArray[np.bool_]  # (r, k)

    def at(self, places: Ints) -> "ChainRows":
        """Some of the rows."""
        return ChainRows._make(column[places] for column in self)


def stack(parts: list[ChainRows], steps: int) -> ChainRows:
    """All rows, one part after the other."""
    none = np.empty(0, np.int32)
    empty = ChainRows(
        none.astype(np.int64),
        np.empty(0),
        none.reshape(0, steps + 1),
        none.reshape(0, steps),
        np.empty((0, steps), bool),
    )
    return ChainRows._make(np.concatenate(columns) for columns in zip(empty, *parts, strict=True))


class Middles(NamedTuple):
    """Where a left and a right half chain can meet: in one node, or over one edge."""

    left: Ints  # (e,) place among the left half chains' ends
    right: Ints  # (e,) place among the right ones'
    edge: Nodes | None  # (e,) number of the edge between them; None = they meet in one node
    weight: NDArray[np.float64]  # (e,) product of the degrees of the ends

    def at(self, places: Ints) -> "Middles":
        """Some of the middles."""
        return Middles._make(None if column is None else column[places] for column in self)


def over_node(adjacency: Adjacency, left: HalfChains, right: HalfChains) -> Middles:
    """The nodes in which both sides end."""
    _, at_left, at_right = np.intersect1d(left.ends, right.ends, assume_unique=True, return_indices=True)
    return Middles(at_left, at_right, None, left.end_degrees(adjacency)[at_left])


def over_edge(adjacency: Adjacency, left: HalfChains, right: HalfChains, *, forward: bool) -> Middles:
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
    middles: Middles, left: HalfChains, right: HalfChains, *, most: int, joined: int
) -> tuple[Middles, tuple[str, ...]]:
    """The most specific middles within both budgets, and the names of the budgets that left some out."""
    sizes = left.many[middles.left] * right.many[middles.right]
    cut = ("middles",) * (len(sizes) > most) + ("joined",) * (int(sizes.sum()) > joined)
    if not cut:
        return middles, ()
    edge = np.zeros(len(sizes)) if middles.edge is None else middles.edge
    order = np.lexsort((edge, right.ends[middles.right], left.ends[middles.left], middles.weight))[:most]
    return middles.at(order[np.cumsum(sizes[order]) <= joined]), cut


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
    parts: list[ChainRows] = field(init=False)  # those settled, then those waiting to be
    waiting: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        """Start with no row and no limit."""
        self.limit = np.full(len(self.total), np.iinfo(np.int32).max if self.keep else 0, np.int64)
        self.limit[0] = -1
        self.parts = [stack([], self.steps)]

    def join(self, word: Word, left: HalfChains, right: HalfChains, middles: Middles, *, ordered: bool) -> None:
        """Count all chains of a word that pass the middles; of a word that is its own mirror, each pair once."""
        table = self.pair_of if ordered else np.triu(self.pair_of, 1)
        table = np.append(table.ravel(), np.zeros(len(table), np.int64))  # the last row is no anchor's
        if middles.edge is not None:  # those over an anchor last, so that the others need no look at each chain
            over_anchor = np.isin(left.ends, self.anchors)[middles.left]
            if over_anchor.any():
                middles = middles.at(np.concatenate([np.flatnonzero(~over_anchor), np.flatnonzero(over_anchor)]))
        sizes = left.many[middles.left] * right.many[middles.right]
        for block in blocks(np.arange(len(sizes)), sizes):
            check_stop()
            self._join_block(word, left, right, middles.at(block), table)

    def _join_block(self, word: Word, left: HalfChains, right: HalfChains, middles: Middles, table: Ints) -> None:
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

    def _to_compare(self, left: HalfChains, right: HalfChains, middles: Middles) -> list[tuple[int, int]]:
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

    def _keep(self, new: ChainRows) -> None:
        """Add rows; tighten the limits once enough have come together."""
        self.parts.append(new)
        self.waiting += len(new.pair)
        if self.waiting > 1000 + len(self.parts[0].pair) // 2:
            self.settle()

    def settle(self) -> ChainRows:
        """Tighten the limits, drop what fell out, and return the rows that stay."""
        rows = stack(self.parts, self.steps)
        key = rounded(rows.weight)
        self.limit = np.minimum(self.limit, kth_least(rows.pair, key, self.keep, len(self.total)))
        rows = rows.at(np.flatnonzero(key <= self.limit[rows.pair]))
        self.parts, self.waiting = [rows], 0
        return rows


def _through_right_end(
    left: HalfChains, right: HalfChains, middles: Middles, at: Ints, first: Ints
) -> NDArray[np.bool_]:
    """Which left half chains pass the node in which the right one ends (known to differ from their last node)."""
    if middles.edge is None or not left.edges:
        return np.zeros(len(at), bool)
    end = right.ends[middles.right][at]
    passed: NDArray[np.bool_] = left.nodes[0][first] == end
    for column in left.nodes[1:-1]:
        passed |= column[first] == end
    return passed


def _rows(
    steps: int, word: Word, left: HalfChains, right: HalfChains, middles: Middles, chosen: tuple[Ints, Ints, Ints]
) -> ChainRows:
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
    return ChainRows(np.empty(many, np.int64), np.empty(many), nodes, edges, forward)


MOST_HOPS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchBudget:
    """How much work one search may be. Within it all is exact; beyond, the least specific is not seen."""

    halves: int = 1_000_000  # edges looked at when half chains grow beyond one step (k > 3 only)
    middles: int = 1_000_000  # nodes or edges in which half chains of one word meet
    joined: int = 4_000_000  # half chain pairs of one word


@dataclass(frozen=True, slots=True)
class Chains:
    """The chains found, grouped by pair, the most specific first.

    Within a pair they are ordered by the product of the degrees of their inner nodes, then length, nodes, relations
    and directions, read from the lower anchor to the higher: a total order that no order of the anchors changes.
    Rows shorter than k steps are filled up with -1.
    """

    pairs: Nodes  # (p, 2) the anchors of each pair, the lower node number first, in ascending order
    total: Ints  # (p,) how many chains there are; a lower bound where a budget cut the search
    shown: Ints  # (p,) how many of them are among the rows
    pair: Ints  # (r,) which pair a row belongs to
    nodes: Nodes  # (r, k + 1) from the lower anchor to the higher
    edges: Nodes  # (r, k) edge numbers
    forward: NDArray[np.bool_]  # (r, k) whether the step goes along its edge
    weight: NDArray[np.float64]  # (r,) product of the degrees of the inner nodes; 1 = a single edge
    cut: tuple[str, ...] = field(default=())  # the names of the budgets that ended the search early

    def __len__(self) -> int:
        """The number of rows."""
        return len(self.pair)

    @property
    def truncated(self) -> bool:
        """Whether a budget cut the search, so that there may be chains that are not counted."""
        return bool(self.cut)

    @property
    def length(self) -> Ints:
        """The number of steps of each row (r,)."""
        return np.asarray((self.edges >= 0).sum(axis=1), np.int64)

    def kind(self, row: int) -> str:
        """`path`, `co_ancestor` or `co_occurrence`."""
        return shape((bool(self.forward[row, 0]), bool(self.forward[row, (self.edges[row] >= 0).sum() - 1])))


def chains(
    adjacency: Adjacency,
    anchors: Sequence[int] | Nodes,
    *,
    hops: int = 3,
    per_pair: int = 20,  # not in the paper
    budget: SearchBudget | None = None,
    shapes: Sequence[str] = SHAPES,
) -> Chains:
    """All chains of 1 to `hops` steps between every two anchors, counted; the first `per_pair` of each pair as rows.

    `shapes` = those that are looked for; a single edge is a path.

    Equal anchors count once. For `hops` up to 3 the default budget is not reached on graphs of UMLS's size but for
    hubs; for 4 and 5 it often is, and then `cut` says so.

    >>> a = Adjacency.of(3, np.array([[0, 0, 2], [1, 0, 2], [0, 1, 1]]))
    >>> found = chains(a, [1, 0], hops=2)
    >>> found.total.tolist(), found.nodes.tolist(), [found.kind(i) for i in range(2)]
    ([2], [[0, 1, -1], [0, 2, 1]], ['path', 'co_ancestor'])
    """
    if not 1 <= hops <= MOST_HOPS:
        raise BadInput(f"chains have 1 to {MOST_HOPS} steps, not {hops}")
    if per_pair < 0:
        raise BadInput(f"a pair cannot keep {per_pair} chains; 0 counts them only")
    nodes = np.unique(np.asarray(anchors, np.int32))
    pairs = np.array(list(combinations(range(len(nodes)), 2)), np.int32).reshape(-1, 2)
    shortlist = Shortlist(per_pair, hops, nodes, _pair_numbers(len(nodes), pairs), np.zeros(len(pairs) + 1, np.int64))
    if strange := sorted({*shapes} - {*SHAPES}):
        raise BadInput(f"chains have no shape {strange[0]!r}; take {', '.join(SHAPES)}")
    cut = _search(adjacency, nodes, hops, budget or SearchBudget(), shortlist, frozenset(shapes))
    return _ordered(adjacency, nodes[pairs], shortlist, cut)


def _pair_numbers(anchors: int, pairs: Nodes) -> Ints:
    """For two places of anchors: the number of their pair from 1, 0 on the diagonal (anchors, anchors)."""
    table = np.zeros((anchors, anchors), np.int64)
    table[pairs[:, 0], pairs[:, 1]] = table[pairs[:, 1], pairs[:, 0]] = np.arange(1, len(pairs) + 1)
    return table


def _search(
    adjacency: Adjacency, anchors: Nodes, hops: int, budget: SearchBudget, shortlist: Shortlist, shapes: frozenset[str]
) -> tuple[str, ...]:
    """Join every word of those shapes up to `hops` steps, one of each two mirrored; the budgets reached."""
    halves: dict[Word, HalfChains] = {(): start(anchors)}
    cut: list[str] = []
    for length in range(1, hops + 1):
        depth = length // 2
        for word in (w for w in words(length) if w >= mirror(w) and shape(w) in shapes):
            check_stop()
            left, right = (_grown(adjacency, halves, w[:depth], budget, cut) for w in (word, mirror(word)))
            odd = length % 2
            found = over_edge(adjacency, left, right, forward=word[depth]) if odd else over_node(adjacency, left, right)
            middles, reached = cheapest(found, left, right, most=budget.middles, joined=budget.joined)
            cut += reached
            shortlist.join(word, left, right, middles, ordered=word != mirror(word))
    return tuple(dict.fromkeys(cut))


def _grown(
    adjacency: Adjacency, known: dict[Word, HalfChains], word: Word, budget: SearchBudget, cut: list[str]
) -> HalfChains:
    """The half chains of a word, from those of its beginning; each is grown once and kept in `known`."""
    if word not in known:
        shorter = _grown(adjacency, known, word[:-1], budget, cut)
        known[word], reached = step(adjacency, shorter, forward=word[-1], budget=budget.halves)
        cut += ["halves"] * reached
    return known[word]


def _ordered(adjacency: Adjacency, pairs: Nodes, shortlist: Shortlist, cut: tuple[str, ...]) -> Chains:
    """The rows in their total order, the first of each pair kept."""
    rows = shortlist.settle()
    rows = rows.at(_order(adjacency, rows))
    found = np.bincount(rows.pair, minlength=len(pairs) + 1)
    rank = np.arange(len(rows.pair)) - np.repeat(np.cumsum(found) - found, found)
    rows = rows.at(np.flatnonzero(rank < shortlist.keep))
    shown = np.minimum(found, shortlist.keep)[1:]
    return Chains(
        pairs, shortlist.total[1:], shown, rows.pair - 1, rows.nodes, rows.edges, rows.forward, rows.weight, cut
    )


def _order(adjacency: Adjacency, rows: ChainRows) -> Ints:
    """By pair, weight, length, nodes, relations, directions."""
    if not len(rows.pair):
        return np.empty(0, np.int64)
    there = rows.edges >= 0
    relation = np.where(there, adjacency.relation_of(np.where(there, rows.edges, 0)), 0)
    columns = (rows.pair, rows.weight, there.sum(axis=1), *rows.nodes.T, *relation.T, *rows.forward.T)
    return np.asarray(np.lexsort(columns[::-1]), np.int64)
