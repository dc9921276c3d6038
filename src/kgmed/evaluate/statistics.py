"""How sure a difference is: standard errors, the paired bootstrap, McNemar's test, Holm's correction."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb, sqrt

import numpy as np

DRAWS = 10_000


@dataclass(frozen=True, slots=True)
class Mean:
    """The mean of n values, its standard error, and an interval that covers the true mean in 95 of 100 samples."""

    n: int
    mean: float
    error: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Difference:
    """The mean of a - b over the same questions, its 95 % interval, and the chance of one as far from 0."""

    n: int
    mean: float
    low: float
    high: float
    p: float


def mean(values: Sequence[float], *, seed: int = 0, draws: int = DRAWS) -> Mean:
    """The mean with its standard error s / sqrt(n) and the percentile interval of the bootstrap (Efron 1979).

    >>> m = mean([0.0, 1.0, 1.0, 0.0])
    >>> m.n, m.mean, round(m.error, 4)
    (4, 0.5, 0.2887)
    """
    x = np.asarray(values, float)
    if not len(x):
        return Mean(0, float("nan"), float("nan"), float("nan"), float("nan"))
    error = float(x.std(ddof=1) / sqrt(len(x))) if len(x) > 1 else float("nan")
    low, high = np.quantile(_resampled(x, seed, draws), [0.025, 0.975])
    return Mean(len(x), float(x.mean()), error, float(low), float(high))


def paired(a: Sequence[float], b: Sequence[float], *, seed: int = 0, draws: int = DRAWS) -> Difference:
    """The difference of two methods on the same questions, by the paired bootstrap (Koehn 2004).

    p is two-sided: the share of resampled differences, shifted to a mean of zero, that lie as far out as the one seen
    (Efron and Tibshirani 1993, 16.4), with one added above and below so that it is never 0.

    >>> paired([1, 1, 1, 1], [1, 1, 1, 1]).p
    1.0
    """
    if len(a) != len(b):
        raise ValueError(f"{len(a)} and {len(b)} values are not pairs")
    d = np.asarray(a, float) - np.asarray(b, float)
    if not len(d):
        return Difference(0, float("nan"), float("nan"), float("nan"), float("nan"))
    seen = float(d.mean())
    drawn = _resampled(d, seed, draws)
    low, high = np.quantile(drawn, [0.025, 0.975])
    far = int((np.abs(drawn - seen) >= abs(seen) - 1e-12).sum())
    return Difference(len(d), seen, float(low), float(high), (far + 1) / (draws + 1))


def _resampled(x: np.ndarray, seed: int, draws: int) -> np.ndarray:
    """The means of `draws` samples with replacement (draws,), in blocks of bounded memory."""
    generator = np.random.default_rng(seed)
    block = max(1, 2_000_000 // len(x))
    sizes = [min(block, draws - i) for i in range(0, draws, block)]
    return np.concatenate([x[generator.integers(0, len(x), (size, len(x)))].mean(axis=1) for size in sizes])


def mcnemar(a: Sequence[bool], b: Sequence[bool]) -> float:
    """How likely so uneven a split of the questions that only one of two methods has right is by chance (McNemar 1947).

    The exact two-sided binomial test on the discordant pairs, doubled and cut at 1.

    >>> mcnemar([True] * 5 + [False], [False] * 5 + [True])  # 5 against 1: 2 x (1 + 6) / 64
    0.21875
    """
    if len(a) != len(b):
        raise ValueError(f"{len(a)} and {len(b)} values are not pairs")
    only_a = sum(x and not y for x, y in zip(a, b, strict=True))
    only_b = sum(y and not x for x, y in zip(a, b, strict=True))
    n = only_a + only_b
    tail = sum(comb(n, k) for k in range(min(only_a, only_b) + 1))
    return float(min(1.0, 2 * tail / 2**n))


def holm(ps: Sequence[float]) -> list[float]:
    """The p values after correction for their number (Holm 1979): the chance that any is a false alarm stays as said.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = sorted(range(len(ps)), key=lambda i: ps[i])
    corrected, highest = [0.0] * len(ps), 0.0
    for rank, i in enumerate(order):
        highest = max(highest, min(1.0, (len(ps) - rank) * ps[i]))
        corrected[i] = highest
    return corrected
