"""Random walk with restart on the undirected view of a graph, in closed form and iterated.

RLKGF, Eq. 2: w <- c A w + (1 - c) e, A the column-normalised adjacency and e where the walk restarts, so 1 - c is the
probability of a restart (its Table 7 calls c = 0.7 that by mistake). For 0 <= c < 1 the fixed point does not depend on
the first w: the Gaussian kernel with which the paper starts cannot change a converged score.

Parallel edges and edges in both directions add up; a self loop counts once. A node without edges is reached only by a
restart, and the walk restarts from there: that is the fixed point without it, scaled to sum 1.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgmed.errors import BadInput
from kgmed.graph.base import Adjacency
from kgmed.graph.search.scan import Ints, Nodes
from kgmed.stop import check_stop

Floats = NDArray[np.float64]
DENSE = 5000  # nodes; a dense solve beyond this takes over 200 MB and many seconds


@dataclass(frozen=True, slots=True)
class Transition:
    """The column-normalised adjacency A of n nodes by rows; `chance[k]` is A[row[k], source[k]]."""

    nodes: int
    row: Ints  # (k,) ascending
    source: Ints  # (k,) columns
    chance: Floats  # (k,)

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
        column = np.bincount(source, weights=value, minlength=n)
        return cls(n, row, source, value / column[source])


@dataclass(frozen=True, slots=True)
class Walk:
    """Where walks end up, and how well that is known."""

    scores: Floats  # (b, n), each row sums to 1
    iterations: int
    residual: float  # largest absolute sum of c A w + (1 - c) e - w before the last step
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

    Stops when no row can be further than `tolerance` from the fixed point (sum of absolute differences): a step that
    changes w by r ends at most r c / (1 - c) from it, and scaling to sum 1 makes of that at most 2 / (1 - c) times as
    much. A is similar to a symmetric matrix, so the steps are accelerated after Chebyshev (Golub and Varga 1961): for
    c = 0.7 each leaves 0.41 instead of 0.7 of the error.

    >>> pair = Transition.of(Adjacency.of(2, np.array([[0, 0, 1]])))
    >>> walk(pair, seeds(2, [0])).scores.round(4).tolist()  # 1 / (1 + c) and c / (1 + c)
    [[0.5882, 0.4118]]
    """
    restart = _checked(transition, restart, c)
    w = restart.copy() if start is None else _checked(transition, start, c)
    many, n = w.shape
    cell = (np.arange(many)[:, None] * n + transition.row).ravel()
    chance, back = c * transition.chance, (1 - c) * restart
    older, omega = w, 1.0
    residual, iteration, converged = 0.0, 0, not restart.size
    while not converged and iteration < most:
        check_stop()
        flow = w.take(transition.source, axis=1) * chance
        new = np.bincount(cell, flow.ravel(), many * n).reshape(many, n) + back
        residual = float(np.abs(new - w).sum(axis=1).max())
        iteration, converged = iteration + 1, 2 * c * residual <= tolerance * (1 - c) ** 2
        if not converged:
            new, older = older + omega * (new - older), w
            omega = 1 / (1 - c * c * omega / (2 if iteration == 1 else 4))
        w = new
    return Walk(w / w.sum(axis=1, keepdims=True), iteration, residual, converged)


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
    if np.any(rows < 0) or not np.allclose(rows.sum(axis=1), 1.0):
        raise BadInput("each restart row must be at least 0 everywhere and sum to 1")
    return rows
