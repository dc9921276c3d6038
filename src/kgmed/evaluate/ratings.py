"""People's ratings of answers (ACJ, answer credibility judged by experts): their means, and how far raters agree.

A CSV file with a header and the columns item, method, rater, rating; a rating is 1 (good), 0 (middling), -1 (bad), or
empty where a rater gave none. ACJ = the mean x 100 (Jiang et al. 2025, HyKGE, 4.1.3).
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kgmed.errors import SourceError
from kgmed.evaluate.agreement import alpha, kappa
from kgmed.evaluate.datasets.files import csv_rows
from kgmed.evaluate.statistics import Mean, mean

COLUMNS = ("item", "method", "rater", "rating")
_VALUES = {"1": 1, "+1": 1, "0": 0, "-1": -1, "−1": -1, "": None}


@dataclass(frozen=True, slots=True)
class Rating:
    """What one person says of one answer; None = nothing."""

    item: str
    method: str
    rater: str
    value: int | None


@dataclass(frozen=True, slots=True)
class Acj:
    """The ratings of one method: over items, of each the mean of its raters, x 100."""

    method: str
    mean: Mean  # of items that have a rating
    ratings: int
    missing: int  # of all items x raters of the file, those that are not there or empty


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far two sides agree: of n units the share that is the same, and that beyond chance; None = cannot be told."""

    name: str  # Cohen's kappa or Krippendorff's alpha
    n: int
    same: float
    value: float | None
    missing: int = 0  # units that only one side, or neither, has


def read(path: Path) -> list[Rating]:
    """The ratings of a file; raises `SourceError` with file, line and mend."""
    found: dict[tuple[str, str, str], int] = {}
    ratings = []
    for line, row in csv_rows(path, COLUMNS):
        item, method, rater, text = (row[name].strip() for name in COLUMNS)
        if not (item and method and rater):
            raise SourceError(path, line, "lacks the item, the method or the rater", "fill it in or remove the line")
        if text not in _VALUES:
            raise SourceError(path, line, f"has the rating {text!r}", "write 1, 0 or -1, or nothing")
        key = item, method, rater
        if key in found:
            raise SourceError(path, line, f"rates what line {found[key]} rates", "keep one of them")
        found[key] = line
        ratings.append(Rating(*key, _VALUES[text]))
    if not ratings:
        raise SourceError(path, 0, "holds no rating", "give one a line: item,method,rater,rating")
    return ratings


def acj(ratings: Sequence[Rating]) -> list[Acj]:
    """The mean of every method, in the order of the file; what is missing of all items by all raters is counted."""
    items, raters = {r.item for r in ratings}, {r.rater for r in ratings}
    return [_acj(m, ratings, len(items) * len(raters)) for m in dict.fromkeys(r.method for r in ratings)]


def _acj(method: str, ratings: Sequence[Rating], wanted: int) -> Acj:
    of = _values(r for r in ratings if r.method == method)
    count = sum(map(len, of.values()))
    return Acj(method, mean([100 * sum(v) / len(v) for v in of.values()]), count, wanted - count)


def _values(ratings: Iterable[Rating]) -> Mapping[tuple[str, str], list[int]]:
    """The ratings given to each item and method."""
    found: dict[tuple[str, str], list[int]] = defaultdict(list)
    for r in ratings:
        if r.value is not None:
            found[r.item, r.method].append(r.value)
    return found


def between_raters(ratings: Sequence[Rating]) -> Agreement | None:
    """Cohen's kappa of two raters, Krippendorff's alpha of more; None of one. `same` = pairs of raters that agree."""
    raters = sorted({r.rater for r in ratings})
    if len(raters) < 2:
        return None
    by = {(r.item, r.method, r.rater): r.value for r in ratings}
    answers = dict.fromkeys((r.item, r.method) for r in ratings)
    units = [[v for who in raters if (v := by.get((*a, who))) is not None] for a in answers]
    missing = sum(len(u) < len(raters) for u in units)
    if len(raters) == 2:
        both = [(u[0], u[1]) for u in units if len(u) == 2]
        value = kappa([a for a, _ in both], [b for _, b in both])
        return Agreement("Cohen's kappa", len(both), _same(both), value, missing)
    shared = [u for u in units if len(u) > 1]
    pairs = [(a, b) for u in shared for i, a in enumerate(u) for b in u[i + 1 :]]
    return Agreement("Krippendorff's alpha", len(shared), _same(pairs), alpha(shared), missing)


def _same(pairs: Sequence[tuple[object, object]]) -> float:
    return sum(a == b for a, b in pairs) / len(pairs) if pairs else float("nan")


def preferences(ratings: Sequence[Rating]) -> dict[tuple[str, str], float]:
    """The mean rating of each item and method."""
    return {key: sum(v) / len(v) for key, v in _values(ratings).items()}


def with_judge(ratings: Sequence[Rating], decisions: Mapping[tuple[str, str, str], int | None]) -> Agreement:
    """Cohen's kappa between a judge's winners (see `Verdicts.decisions`) and whose answer people rate higher.

    What the judge failed on, or people did not rate, is missing.
    """
    rated = preferences(ratings)
    both = [
        (said, _sign(rated[item, a] - rated[item, b]))
        for (item, a, b), said in decisions.items()
        if said is not None and (item, a) in rated and (item, b) in rated
    ]
    value = kappa([a for a, _ in both], [b for _, b in both])
    return Agreement("Cohen's kappa", len(both), _same(both), value, len(decisions) - len(both))


def _sign(x: float) -> int:
    return (x > 1e-12) - (x < -1e-12)
