"""How far raters agree beyond chance: Cohen's kappa of two, Krippendorff's alpha of any number."""

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence


def kappa(first: Sequence[Hashable], second: Sequence[Hashable]) -> float | None:
    """Cohen's kappa (1960) of two raters on the same units: (p_o - p_e) / (1 - p_e); None where p_e is 1.

    >>> kappa("yyyynn", "yynnnn")  # p_o = 4/6, p_e = 4/6 x 2/6 + 2/6 x 4/6 = 4/9
    0.4
    """
    if len(first) != len(second):
        raise ValueError(f"{len(first)} and {len(second)} ratings are not pairs")
    n = len(first)
    if not n:
        return None
    one, two = Counter(first), Counter(second)
    expected = sum(one[v] * two[v] for v in one)  # times n²
    if expected == n * n:
        return None
    seen = sum(a == b for a, b in zip(first, second, strict=True)) * n
    return (seen - expected) / (n * n - expected)


def alpha(units: Iterable[Sequence[Hashable]]) -> float | None:
    """Krippendorff's alpha (2011) of nominal ratings, each unit with as many as it has: 1 - D_o / D_e.

    A unit with fewer than two ratings says nothing of agreement. None where all ratings are the same.

    >>> round(alpha(["yy", "yn", "nn"]), 4)  # D_o = 2 of 6 pairs, D_e = 2 x 3 x 3 of 6 x 5: 1 - (2/6) / (18/30)
    0.4444
    """
    pairable = [Counter(unit) for unit in units if len(unit) > 1]
    totals = sum(pairable, Counter[Hashable]())
    n = totals.total()
    expected = n * n - sum(c * c for c in totals.values())
    if not expected:
        return None
    seen = sum((u.total() ** 2 - sum(c * c for c in u.values())) / (u.total() - 1) for u in pairable)
    return 1 - (n - 1) * seen / expected
