"""MoverScore (Zhao et al. 2019): how far the words of an answer must be moved to be those of a reference.

1 - the earth mover's distance between the n-grams of both, not below 0. An n-gram lies at the mean of its tokens'
states weighted by rarity, brought to length 1; what it weighs is the sum of the rarities; moving costs the Euclidean
distance. Here: the states of one layer of any model, one table of rarities frozen on the references of the data set,
every token but the marks of beginning and end. The moverscore package takes a model trained on MNLI, another table for
the answers, and leaves out punctuation and the later pieces of a word: figures of the two cannot be compared.
"""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgmed.errors import Unavailable
from kgmed.evaluate.items import Item
from kgmed.evaluate.metric import Metric
from kgmed.evaluate.metrics.states import Compared, Rarity, Read, States, references, weighed

Floats = NDArray[np.float64]


def mover_distance(a: Floats, b: Floats, cost: Floats) -> float:
    """The least cost of moving weights a (n,) to b (m,) at `cost` (n, m) for a weight of 1; both sum to 1. Exact."""
    linprog, identity, kron, stacked = _solver()
    n, m = cost.shape
    leave, arrive = kron(identity(n), np.ones((1, m))), kron(np.ones((1, n)), identity(m))
    limits = np.concatenate([a, b])[:-1]  # the last one follows from the others
    found = linprog(
        cost.ravel(), A_eq=stacked([leave, arrive]).tocsr()[:-1], b_eq=limits, bounds=(0, None), method="highs"
    )
    if not found.success:
        raise ArithmeticError(f"the distance could not be computed: {found.message}")
    return float(found.fun)


@lru_cache(maxsize=1)
def _solver() -> tuple[Any, Any, Any, Any]:
    """What is used of scipy; raises `Unavailable`."""
    try:
        from scipy.optimize import linprog  # heavy
        from scipy.sparse import identity, kron, vstack
    except ImportError:
        raise Unavailable('MoverScore needs scipy; pip install "kgmed[eval]"') from None
    return linprog, identity, kron, vstack


def grams(rows: Floats, weights: Floats, n: int) -> tuple[Floats, Floats]:
    """The unit rows and the weights (summing to 1) of the n-grams of tokens; a shorter text is one n-gram.

    >>> rows, weights = grams(np.array([[1.0, 0], [0, 1.0], [0, 1.0]]), np.array([0.2, 0.2, 0.6]), 2)
    >>> rows.round(4).tolist(), weights.round(4).tolist()
    ([[0.7071, 0.7071], [0.0, 1.0]], [0.3333, 0.6667])
    """
    n = min(n, len(rows))
    windows = [slice(i, i + n) for i in range(len(rows) - n + 1)]
    heavy = np.array([weights[w].sum() for w in windows])
    means = np.array([weights[w] @ rows[w] if h else rows[w].mean(0) for w, h in zip(windows, heavy, strict=True)])
    lengths = np.linalg.norm(means, axis=1, keepdims=True)
    return means / np.where(lengths > 0, lengths, 1), heavy / heavy.sum()


def mover_score(answer: tuple[Floats, Floats], reference: tuple[Floats, Floats]) -> float:
    """1 - the distance between two sets of unit rows with their weights, not below 0."""
    (a, of_a), (b, of_b) = answer, reference
    cost = np.sqrt(np.maximum(0, 2 - 2 * a @ b.T))
    return max(0.0, 1 - mover_distance(of_a, of_b, cost))


def make(model: str | Path, items: Sequence[Item], *, layer: int = -1, n: int = 1) -> tuple[Metric, ...]:
    """`moverscore-1` (words) or `-2` (pairs of words) by a model; without a word, and of a failed run, 0."""
    _solver()
    states = States(model, layer=layer)
    rarity = Rarity(states.ids(text) for text in references(items))

    def compare(answer: Read, reference: Read) -> tuple[float, ...]:
        (a, of_a), (b, of_b) = (_spoken(read, states.silent, rarity) for read in (answer, reference))
        return (mover_score(grams(a, of_a, n), grams(b, of_b, n)) if len(a) and len(b) else 0.0,)

    compared = Compared(states, compare)
    source = f"Zhao et al. 2019, MoverScore; {states!r}, idf of {rarity.hash}"
    formula = f"1 - earth mover's distance of {n}-grams, not below 0"
    return (Metric(f"moverscore-{n}", formula, source, compared.number(0), ("text",), ready=compared.ready),)


def _spoken(read: Read, silent: set[int], rarity: Rarity) -> tuple[Floats, Floats]:
    """Rows and weights of the tokens that are no marks of beginning and end."""
    kept = np.array([i not in silent for i in read.ids], bool)
    return read.rows[kept].astype(np.float64), weighed(read, silent, rarity)[kept]
