"""Half chains: the simple paths of one direction word that start at the anchors, grouped by the node they end in."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kgmed.kg.graph import Adjacency
from kgmed.kg.search.scan import Ints, Nodes, degrees, direction, follow, numbers

Word = tuple[bool, ...]  # one step each: True = along the edge, False = against it


def words(length: int) -> list[Word]:
    """The words of that many steps with at most one change of direction.

    HyKGE's three shapes are these: none = path, forward then back = co-ancestor, back then forward = co-occurrence.

    >>> ["".join("BF"[step] for step in word) for word in words(3)]
    ['FBB', 'FFB', 'FFF', 'BFF', 'BBF', 'BBB']
    """
    return [(first,) * n + (not first,) * (length - n) for first in (True, False) for n in range(1, length + 1)]


def mirror(word: Word) -> Word:
    """The same chain's word read from its other end.

    >>> mirror((True, True, False))
    (True, False, False)
    """
    return tuple(not step for step in reversed(word))


class Halves(NamedTuple):
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


def start(anchors: Nodes) -> Halves:
    """The half chains of no step: the anchors (ascending) themselves."""
    places = np.arange(len(anchors), dtype=np.int32)
    return Halves(places, (anchors,), (), None, anchors, np.arange(len(anchors) + 1))


def step(adjacency: Adjacency, halves: Halves, *, forward: bool, budget: int) -> tuple[Halves, bool]:
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
    longer = Halves(
        halves.anchor[parent],
        (*(column[parent] for column in halves.nodes), end[new]),
        (*(column[parent] for column in halves.edges), numbers(there, position[new])),
        _inner(adjacency, halves)[parent] if halves.edges else None,
        ends,
        starts,
    )
    return longer, cut


def _inner(adjacency: Adjacency, halves: Halves) -> NDArray[np.float64]:
    """The product of the degrees of all nodes after the anchor (p,)."""
    last = degrees(adjacency, halves.nodes[-1]).astype(np.float64)
    return last if halves.before is None else halves.before * last


def _affordable(adjacency: Adjacency, halves: Halves, *, forward: bool, budget: int) -> tuple[Ints | None, bool]:
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
