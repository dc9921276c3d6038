"""The weights of features, fitted to cases: a conditional logit, each weight held to the sign that it must have.

The likelihood of a case is exp(s[true]) / sum over its candidates of exp(s), with s = features @ weights. Its log is
concave, so that there is one best set of weights; a projected Newton method finds it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Choice:
    """The candidates of one case, and which of them is right."""

    features: Floats  # (candidates, features)
    right: int
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class _Pool:
    """All cases, one below the other."""

    features: Floats  # (rows, features)
    first: NDArray[np.int64]  # (cases,) where each case begins
    size: NDArray[np.int64]
    right: NDArray[np.int64]  # (cases,) row
    weight: Floats

    def loss(self, weights: Floats, shrink: Floats) -> tuple[float, Floats]:
        """The negative log likelihood with its ridge, and the probability of each row."""
        score = self.features @ weights
        top = np.maximum.reduceat(score, self.first)
        odds = np.exp(score - np.repeat(top, self.size))
        total = np.add.reduceat(odds, self.first)
        lost = self.weight @ (np.log(total) + top - score[self.right])
        return float(lost + shrink @ weights**2 / 2), odds / np.repeat(total, self.size)

    def slope(self, weights: Floats, chance: Floats, shrink: Floats) -> tuple[Floats, Floats]:
        """The gradient and the Hessian."""
        each = self.features * chance[:, None]
        mean = np.add.reduceat(each, self.first, axis=0)
        gradient = self.weight @ (mean - self.features[self.right]) + shrink * weights
        spread = (each * np.repeat(self.weight, self.size)[:, None]).T @ self.features
        spread -= (mean * self.weight[:, None]).T @ mean
        return gradient, spread + np.diag(shrink)


def fit(
    choices: Sequence[Choice],
    *,
    signs: Sequence[int],
    fixed: Sequence[float | None] = (),
    ridge: float = 1.0,
    steps: int = 60,
) -> Floats:
    """The weights (features,): at least 0 where the sign is 1, at most 0 where it is -1; a fixed one stays.

    `ridge` is on the features scaled to unit spread.

    >>> one = Choice(np.array([[1.0], [0.0]]), 0)
    >>> bool(fit([one], signs=[1])[0] > 0), float(fit([one], signs=[-1])[0])
    (True, 0.0)
    """
    pool = _pool(choices)
    scale = pool.features.std(0) + 1e-9
    shrink, sign = ridge * scale**2, np.array(signs, np.float64)
    given = np.array([np.nan if f is None else f for f in fixed or (None,) * len(sign)])
    free = np.isnan(given)
    weights = np.where(free, sign * 0.01 / scale, given)
    loss, chance = pool.loss(weights, shrink)
    for _ in range(steps):
        gradient, spread = pool.slope(weights, chance, shrink)
        move = free & ~((weights == 0) & (gradient * sign > 0))
        step = np.zeros(len(weights))
        step[move] = np.linalg.solve(spread[np.ix_(move, move)], gradient[move])
        weights, loss, chance, gained = _walk(pool, weights, step, (sign, shrink, free), (loss, chance))
        if gained < 1e-6 * abs(loss):
            break
    return weights


def _walk(
    pool: _Pool, weights: Floats, step: Floats, held: tuple[Floats, Floats, NDArray[np.bool_]], at: tuple[float, Floats]
) -> tuple[Floats, float, Floats, float]:
    """The weights after the longest step, halved at need, that lowers the loss; loss, chances and what was gained."""
    sign, shrink, free = held
    for halving in range(12):
        tried = weights - step * 0.5**halving
        tried = np.where(free & (sign * tried < 0), 0, tried)
        loss, chance = pool.loss(tried, shrink)
        if loss < at[0]:
            return tried, loss, chance, at[0] - loss
    return weights, *at, 0.0


def _pool(choices: Sequence[Choice]) -> _Pool:
    size = np.array([len(c.features) for c in choices])
    first = np.cumsum(size) - size
    return _Pool(
        np.concatenate([c.features for c in choices]).astype(np.float64),
        first,
        size,
        first + np.array([c.right for c in choices]),
        np.array([c.weight for c in choices]),
    )
