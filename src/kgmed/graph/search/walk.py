"""Random walk with restart on the undirected view of a graph, in closed form and iterated.

RLKGF, Eq. 2: w <- c A w + (1 - c) e, A the column-normalised adjacency and e where the walk restarts, so 1 - c is the
probability of a restart (its Table 7 calls c = 0.7 that by mistake). For 0 <= c < 1 the fixed point does not depend on
the first w: the Gaussian kernel with which the paper starts cannot change a converged score.

Parallel edges and edges in both directions add up; a self loop counts once. A node without edges is reached only by a
restart, and the walk restarts from there: that is the fixed point without it, scaled to sum 1.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kgmed.errors import BadInput
from kgmed.graph.base import Adjacency
from kgmed.graph.search.scan import Ints, Nodes, spread
from kgmed.stop import check_stop

Floats = NDArray[np.float64]
DENSE = 5000  # nodes; a dense solve beyond this takes over 200 MB and many seconds


@dataclass(frozen=True)
class Transition:
    """The column-normalised adjacency A of n nodes by rows; `chance[k]` is A[row[k], source[k]]."""

    nodes: int
    row: Ints  # (k,) ascending
    source: Ints  # (k,) columns
    chance: Floats  # (k,)
    weight: Floats  # (n,) of all edges at each node: what its column was divided by

    @classmethod
    def of(cls, adjacency: Adjacency, weight: NDArray[np.floating[Any]] | None = None) -> "Transition":
        """The matrix of a graph, in which an edge weighs 1 or `weight[edge]` (not negative)."""
        value = np.ones(adjacency.edges) if weight is None else np.asarray(weight, np.float64)
        if value.shape != (adjacency.edges,) or not np.all(np.isfinite(value) & (value >= 0)):
            raise BadInput(f"a walk needs one finite weight of at least 0 for each of {adjacency.edges} edges")
        n = adjacency.nodes
        head = np.repeat(np.arange(n), np.diff(adjacency.out.indptr))
        tail = adjacency.out.neighbour.astype(np.int64)
        back = np.flatnonzero(head != tail)
        cells = np.concatenate([tail * n + head, head[back] * n + tail[back]])
        cell, place = np.unique(cells, return_inverse=True)
        value = np.bincount(place, np.concatenate([value, value[back]]), len(cell)).astype(np.float64)
        cell, value = cell[value > 0], value[value > 0]
        row, source = np.divmod(cell, max(n, 1))
        column = np.bincount(source, weights=value, minlength=n).astype(np.float64)
        return cls(n, row, source, value / column[source], column)

    @cached_property
    def symmetric(self) -> "_Symmetric":
        """The matrix D^-1/2 A D^1/2 (D = the weights), which is symmetric, laid out for many products."""
        return _Symmetric(self)


class Walk(NamedTuple):
    """Where walks end up, and how well that is known."""

    scores: Floats  # (b, n), each row sums to 1
    iterations: int
    residual: float  # largest absolute sum of c A w + (1 - c) e - w
    converged: bool  # whether the scores are within the tolerance of the fixed point


def seeds(nodes: int, chosen: Sequence[int] | Nodes) -> Floats:
    """One restart row per chosen node: all of it at that node (b, nodes).

    >>> seeds(3, [2]).tolist()
    [[0.0, 0.0, 1.0]]
    """
    restart = np.zeros((len(chosen), nodes))
    restart[np.arange(len(chosen)), np.asarray(chosen, np.int64)] = 1.0
    return restart


def walk(
    transition: Transition,
    restart: Floats,
    *,
    c: float = 0.7,  # RLKGF, Table 7
    start: Floats | None = None,
    tolerance: float = 1e-10,
    most: int = 1000,
) -> Walk:
    """The walks of each restart row (b, n) by iteration, from `start` (default: the restart rows).

    Stops when no row can be further than `tolerance` from the fixed point (sum of absolute differences): w is at most
    r / (1 - c) from it where r is the residual, and scaling to sum 1 makes of that at most twice as much. The steps
    are conjugate gradients on the symmetric form of I - c A (Hestenes and Stiefel 1952), from which nodes of few edges
    that have none between them are eliminated first: nine tenths of a graph of diseases and findings.

    >>> pair = Transition.of(Adjacency.of(2, np.array([[0, 0, 1]])))
    >>> walk(pair, seeds(2, [0])).scores.round(4).tolist()  # 1 / (1 + c) and c / (1 + c)
    [[0.5882, 0.4118]]
    """
    restart = _checked(transition, restart, c)
    begin = None if start is None else _checked(transition, start, c)
    system = transition.symmetric.system(c)
    w, iterations, worst, converged = np.empty_like(restart), 0, 0.0, True
    for i, row in enumerate(restart):
        kept = 1 - c * float(row[transition.weight == 0].sum())  # the sum of the fixed point
        solved = system.solve(row, None if begin is None else begin[i], tolerance * (1 - c) * kept / 2, most)
        w[i], worst = solved.w, max(worst, solved.residual)
        iterations, converged = max(iterations, solved.iterations), converged and solved.converged
    return Walk(w / w.sum(axis=1, keepdims=True), iterations, worst, converged)


_FEW = 12  # entries of a node that is eliminated, which makes its square of them (ours)
_LANES = (4, 8, 16)  # entries; a row with fewer is padded to one of these, so that many are summed at once


class _Symmetric:
    """S = D^-1/2 A D^1/2 in three parts: nodes apart from each other, nodes without any edge, and the core of the rest.

    Nodes apart have no edge between them, so they are eliminated exactly: what is left of S on the core is
    c C + c^2 B B', where C are its own entries and B those between it and the nodes apart. The rows of the core are
    ordered by their length and laid out side by side.
    """

    def __init__(self, transition: Transition) -> None:
        n, row, source = transition.nodes, transition.row, transition.source
        self.root = np.sqrt(np.where(transition.weight > 0, transition.weight, 1.0))
        value = transition.chance * self.root[source] / self.root[row]
        many = np.bincount(row, minlength=n)
        apart = _apart(row, source, many)
        inside = (many > 0) & ~apart
        core, k = np.flatnonzero(inside), int(inside.sum())
        number = np.cumsum(inside) - 1
        own, hangs = inside[row] & inside[source], apart[row]
        self.node, end, self.link = row[hangs], number[source[hangs]], value[hangs]
        size = many[self.node]
        left, right = np.repeat(np.arange(len(end)), size), spread(np.searchsorted(self.node, self.node), size)
        cells = np.concatenate([number[row[own]] * k + number[source[own]], end[left] * k + end[right]])
        cell, place = np.unique(cells, return_inverse=True)
        values: Floats = np.stack([  # of C and of B B'
            np.bincount(place[: own.sum()], value[own], len(cell)),
            np.bincount(place[own.sum() :], self.link[left] * self.link[right], len(cell)),
        ])  # fmt: skip
        at, to = np.divmod(cell, max(k, 1))
        self.itself = np.zeros((2, k))
        self.itself[:, at[at == to]] = values[:, at == to]
        at, to, values = at[at != to], to[at != to], values[:, at != to]
        count = np.bincount(at, minlength=k)
        width = 1 << np.ceil(np.log2(np.clip(count, _LANES[0], 2 * _LANES[-1]))).astype(np.int64)
        order = np.argsort(width, kind="stable")
        rank = np.empty(k, np.int64)
        rank[order] = np.arange(k)
        self.core: Ints = core[order]
        self.itself, self.end = self.itself[:, order], rank[end]
        self._lay_out(count[order], width[order], (np.cumsum(count) - count)[order], rank[to], values)

    def _lay_out(self, count: Ints, width: Ints, first: Ints, source: Ints, values: Floats) -> None:
        """The entries of all rows: those of short ones lane by lane, then those of long ones row by row."""
        self.bands: list[tuple[int, int, int, int]] = []  # rows from, to; entries from, to
        rows, entries, done = [], [], 0
        for lanes in _LANES:
            begin, end = np.searchsorted(width, [lanes, lanes + 1]).tolist()
            lane, row = np.arange(lanes)[:, None], np.arange(begin, end)
            at = np.where(lane < count[row], first[row] + lane, len(source))  # the last is an entry of 0
            entries.append(at.ravel())
            rows.append(np.broadcast_to(row, at.shape).ravel())
            self.bands += [(begin, end, done, done := done + at.size)] if end > begin else []
        begin = int(np.searchsorted(width, 2 * _LANES[-1]))
        at = spread(first[begin:], count[begin:])
        self.long, self.long_entries, self.starts = begin, done, np.cumsum(count[begin:]) - count[begin:]
        self.row = np.concatenate([*rows, np.repeat(np.arange(begin, len(count)), count[begin:])])
        laid = np.concatenate([*entries, at])
        self.source, self.values = np.append(source, 0)[laid], np.pad(values, ((0, 0), (0, 1)))[:, laid]
        self._systems: dict[float, _System] = {}

    def system(self, c: float) -> "_System":
        """The system for one c, made once."""
        if c not in self._systems:
            self._systems[c] = _System.of(self, c)
        return self._systems[c]

    def times(self, value: Floats, v: Floats) -> Floats:
        """The product of the core, with other values in place of its own, and a vector."""
        flow = v.take(self.source)
        flow *= value
        product = np.empty(len(v))
        for begin, end, first, last in self.bands:
            np.add.reduce(flow[first:last].reshape(-1, end - begin), axis=0, out=product[begin:end])
        if len(self.starts):
            np.add.reduceat(flow[self.long_entries :], self.starts, out=product[self.long :])
        return product


def _apart(row: Ints, source: Ints, many: Ints) -> NDArray[np.bool_]:
    """Nodes of few entries with none between them, those of the fewest first (n,).

    >>> _apart(np.array([0, 1, 1, 2]), np.array([1, 0, 2, 1]), np.array([1, 2, 1])).tolist()
    [True, False, True]
    """
    n = len(many)
    mixed = np.arange(n) * 2654435761 % (1 << 32)  # (Knuth) else a chain of nodes would be gone through one by one
    rank = many * (1 << 32) + mixed
    left = (many > 0) & (many <= _FEW)
    left[row[row == source]] = False
    found = np.zeros(n, bool)
    starts = np.flatnonzero(np.diff(row, prepend=-1))
    while left.any():
        least = np.full(n, np.iinfo(np.int64).max)
        least[row[starts]] = np.minimum.reduceat(np.where(left, rank, least)[source], starts)
        chosen = left & (rank < least)
        found |= chosen
        left &= ~chosen
        left[source[chosen[row]]] = False
    return found


class _Solved(NamedTuple):
    """A solution before it is scaled."""

    w: Floats  # (n,)
    iterations: int
    residual: float
    converged: bool


@dataclass(frozen=True, slots=True)
class _System:
    """(I - c C - c^2 B B') x = b on the core, scaled so that its diagonal is 1."""

    matrix: _Symmetric
    c: float
    scale: Floats  # one over the root of the diagonal that the nodes apart leave
    value: Floats  # c C + c^2 B B', scaled

    @classmethod
    def of(cls, matrix: _Symmetric, c: float) -> "_System":
        """The system for one c."""
        power = np.array([c, c * c])
        scale = 1 / np.sqrt(1 - power @ matrix.itself)
        return cls(matrix, c, scale, power @ matrix.values * scale[matrix.row] * scale[matrix.source])

    def solve(self, restart: Floats, start: Floats | None, limit: float, most: int) -> _Solved:
        """Its solution to a residual of `limit` at most, by at most so many steps."""
        matrix, c = self.matrix, self.c
        whole = (1 - c) * restart / matrix.root
        b = whole[matrix.core] + c * np.bincount(matrix.end, matrix.link * whole[matrix.node], len(matrix.core))
        b *= self.scale
        measure = matrix.root[matrix.core] / self.scale
        x = b.copy() if start is None else start[matrix.core] / matrix.root[matrix.core] / self.scale
        r = b - x + matrix.times(self.value, x)
        d, square, iterations = r.copy(), float(r @ r), 0
        while (residual := float(np.abs(r) @ measure)) > limit and iterations < most:
            check_stop()
            q = matrix.times(self.value, d)
            np.subtract(d, q, out=q)
            step = square / float(d @ q)
            x += step * d
            q *= step
            r -= q
            older, square = square, float(r @ r)
            d *= square / older
            d += r
            iterations += 1
        x *= self.scale
        whole[matrix.core] = x
        whole += c * np.bincount(matrix.node, matrix.link * x[matrix.end], len(whole))
        return _Solved(whole * matrix.root, iterations, residual, residual <= limit)


def closed_form(transition: Transition, restart: Floats, *, c: float = 0.7) -> Floats:
    """The same fixed points (b, n), solved: (1 - c) (I - c A)^-1 e, scaled to sum 1.

    Dense, so for at most `DENSE` nodes: the time grows with the cube of n, the memory with its square.

    >>> pair = Transition.of(Adjacency.of(2, np.array([[0, 0, 1]])))
    >>> closed_form(pair, seeds(2, [0])).round(4).tolist()
    [[0.5882, 0.4118]]
    """
    restart = _checked(transition, restart, c)
    n = transition.nodes
    if n > DENSE:
        raise BadInput(f"the closed form is for at most {DENSE} nodes, not {n}; use walk, or cut a subgraph first")
    matrix = np.eye(n)
    matrix[transition.row, transition.source] -= c * transition.chance
    w = np.linalg.solve(matrix, restart.T).T
    return np.asarray(w / w.sum(axis=1, keepdims=True), np.float64)


def _checked(transition: Transition, rows: Floats, c: float) -> Floats:
    """Rows of the right shape that sum to 1."""
    rows = np.asarray(rows, np.float64)
    if not 0 <= c < 1:
        raise BadInput(f"c must be at least 0 and below 1, not {c}")
    if rows.ndim != 2 or rows.shape[1] != transition.nodes:
        raise BadInput(f"a walk on {transition.nodes} nodes needs rows of that length, not an array {rows.shape}")
    if np.any(rows < 0) or not np.all(np.abs(rows.sum(axis=1) - 1) <= 1e-5):
        raise BadInput("each restart row must be at least 0 everywhere and sum to 1")
    return rows
