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

import numpy as np
from numpy.typing import NDArray

from kgmed.errors import BadInput
from kgmed.kg.graph import Adjacency
from kgmed.kg.search.halves import Halves, Word, mirror, start, step, words
from kgmed.kg.search.meet import Rows, Shortlist, cheapest, over_edge, over_node
from kgmed.kg.search.scan import Ints, Nodes

MOST_HOPS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
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
        first, last = self.forward[row, 0], self.forward[row, self.length[row] - 1]
        if first == last:
            return "path"
        return "co_ancestor" if first else "co_occurrence"


def chains(
    adjacency: Adjacency,
    anchors: Sequence[int] | Nodes,
    *,
    hops: int = 3,
    per_pair: int = 20,  # not in the paper
    budget: Budget | None = None,
) -> Chains:
    """All chains of 1 to `hops` steps between every two anchors, counted; the first `per_pair` of each pair as rows.

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
    cut = _search(adjacency, nodes, hops, budget or Budget(), shortlist)
    return _ordered(adjacency, nodes[pairs], shortlist, cut)


def _pair_numbers(anchors: int, pairs: Nodes) -> Ints:
    """For two places of anchors: the number of their pair from 1, 0 on the diagonal (anchors, anchors)."""
    table = np.zeros((anchors, anchors), np.int64)
    table[pairs[:, 0], pairs[:, 1]] = table[pairs[:, 1], pairs[:, 0]] = np.arange(1, len(pairs) + 1)
    return table


def _search(adjacency: Adjacency, anchors: Nodes, hops: int, budget: Budget, shortlist: Shortlist) -> tuple[str, ...]:
    """Join every word of up to `hops` steps, one of each two mirrored ones; the names of the budgets reached."""
    halves: dict[Word, Halves] = {(): start(anchors)}
    cut: list[str] = []
    for length in range(1, hops + 1):
        depth = length // 2
        for word in (w for w in words(length) if w >= mirror(w)):
            left, right = (_grown(adjacency, halves, w[:depth], budget, cut) for w in (word, mirror(word)))
            odd = length % 2
            found = over_edge(adjacency, left, right, forward=word[depth]) if odd else over_node(adjacency, left, right)
            middles, reached = cheapest(found, left, right, most=budget.middles, joined=budget.joined)
            cut += reached
            shortlist.join(word, left, right, middles, ordered=word != mirror(word))
    return tuple(dict.fromkeys(cut))


def _grown(adjacency: Adjacency, known: dict[Word, Halves], word: Word, budget: Budget, cut: list[str]) -> Halves:
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


def _order(adjacency: Adjacency, rows: Rows) -> Ints:
    """By pair, weight, length, nodes, relations, directions."""
    if not len(rows.pair):
        return np.empty(0, np.int64)
    there = rows.edges >= 0
    relation = np.where(there, adjacency.out.relation[np.where(there, rows.edges, 0)], 0)
    columns = (rows.pair, rows.weight, there.sum(axis=1), *rows.nodes.T, *relation.T, *rows.forward.T)
    return np.asarray(np.lexsort(columns[::-1]), np.int64)
