"""What a judge's replies mean, read from its log: who wins how often, how sure that is, and how far places decided.

A winner is who wins in both orders. Where the orders name different winners the verdict flipped: a tie, and counted.
A reply that cannot be read and a call that failed make a failed judgement: nobody wins it, and it stays in n.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

from kgmed.errors import BadInput, SourceError
from kgmed.evaluate.judge import BETWEEN, MODEL, ORDERS, kind_of
from kgmed.evaluate.log import MANIFEST, Entry, Job, entries, read_manifest
from kgmed.evaluate.statistics import Mean, mean
from kgmed.models.structured import Malformed, values
from kgmed.types import Run

TIE, FLIPPED, FAILED = "", "flipped", "failed"
_NEITHER = ("0", "tie", "equal", "neither", "none", "both", "平", "平手", "相同")


def numbers(reply: str, criteria: Sequence[str]) -> dict[str, int]:
    """The better answer by each criterion, 1 or 2, 0 = neither; a criterion that is not answered so is left out.

    Raises `Malformed` where none is.

    >>> numbers('{"Disease": "2", "drug": "tie", "total": 3}', ["disease", "drug", "total"])
    {'disease': 2, 'drug': 0}
    """
    for value in values(reply):
        if isinstance(value, dict):
            said = {str(k).strip().casefold(): _number(v) for k, v in value.items()}
            found = {c: n for c in criteria if (n := said.get(c)) is not None}
            if found:
                return found
    raise Malformed(f"it holds no object with 0, 1 or 2 under {', '.join(criteria)}")


def _number(value: object) -> int | None:
    """0, 1 or 2, however written; None for anything else."""
    text = str("" if value is None else value).strip().casefold().removeprefix("answer").removeprefix("回答").strip()
    return 0 if text in _NEITHER else int(text) if text in ("1", "2") else None


def order(reply: str, count: int) -> list[int]:
    """The numbers 1 to `count`, the best first; raises `Malformed` where one is missing or occurs twice.

    >>> order('Best first: {"order": [2, "3", 1]}', 3)
    [2, 3, 1]
    """
    for value in values(reply):
        said = value.get("order") if isinstance(value, dict) else value
        if isinstance(said, list):
            found = [int(str(v)) for v in said if str(v).strip().isdecimal()]
            if len(said) == count and sorted(found) == list(range(1, count + 1)):
                return found
    raise Malformed(f"it holds no list of the numbers 1 to {count}, each once")


@dataclass(frozen=True, slots=True)
class Duel:
    """One criterion of two methods over all items: how many the first wins, and the shares with their intervals."""

    criterion: str
    first: str
    second: str
    n: int
    wins: int
    ties: int  # without the flipped ones
    losses: int
    flipped: int  # different winners in the two orders; ties as well
    failed: int
    ruled: int  # of the verdicts, those without a call, since an answer was missing
    win: Mean  # share of n
    loss: Mean
    net: Mean  # wins - losses, share of n


@dataclass(frozen=True, slots=True)
class Place:
    """The mean place of a method, 1 = best; a failed judgement puts all on the middle place."""

    method: str
    place: Mean
    failed: int


@dataclass(frozen=True, slots=True)
class Bias:
    """How often the answer shown first wins, of the judgements that have a winner; the standard error is over items."""

    judgements: int
    first: Mean
    expected: float  # of a judge without bias


@dataclass(frozen=True)
class Verdicts:
    """A log of judgements, opened for reading."""

    manifest: Mapping[str, Any]
    found: Mapping[Job, Entry]

    @classmethod
    def open(cls, folder: Path) -> "Verdicts":
        """The verdicts in a folder; raises `BadInput`, `SourceError`."""
        manifest = read_manifest(folder)
        if not {"judging", "methods", "items"} <= manifest.keys():
            raise SourceError(folder / MANIFEST, 0, "is not one of kgmed eval judge", "name the folder of judgements")
        return cls(manifest, entries(folder))

    @property
    def criteria(self) -> tuple[str, ...]:
        """What is judged by; none for a ranking."""
        return kind_of(self.manifest["judging"]).criteria

    @property
    def contests(self) -> list[tuple[str, ...]]:
        """The methods of each contest."""
        methods = tuple(self.manifest["methods"])
        return list(combinations(methods, 2)) if self.criteria else [methods]

    def run(self, contest: Sequence[str], item: str, side: int) -> Run | None:
        """A judgement in one order; None where it failed or was not made."""
        entry = self.found.get(Job(BETWEEN.join(contest), item, side))
        return entry.run if entry else None

    def outcome(self, contest: Sequence[str], item: str, criterion: str) -> str:
        """The method that wins, or `TIE`, `FLIPPED`, `FAILED`."""
        there, back = (_winner(self.run(contest, item, side), criterion, self.criteria) for side in ORDERS)
        if there is None or back is None:
            return FAILED
        if there == back:
            return there
        return FLIPPED if there and back else TIE

    def duels(self) -> list[Duel]:
        """Every criterion of every two methods."""
        return [self._duel(criterion, contest) for contest in self.contests for criterion in self.criteria]

    def _duel(self, criterion: str, contest: tuple[str, ...]) -> Duel:
        first, second = contest
        items = self.manifest["items"]
        told = [self.outcome(contest, item, criterion) for item in items]
        ruled = sum(any((r := self.run(contest, i, s)) and r.method != MODEL for s in ORDERS) for i in items)
        wins, losses = ([float(x == who) for x in told] for who in contest)
        return Duel(
            criterion, first, second, len(told), told.count(first), told.count(TIE), told.count(second),
            told.count(FLIPPED), told.count(FAILED), ruled, mean(wins), mean(losses),
            mean([w - x for w, x in zip(wins, losses, strict=True)]),
        )  # fmt: skip

    def places(self) -> list[Place]:
        """The mean place of every method, the best first; [] where nothing was put in order."""
        if self.criteria:
            return []
        (contest,) = self.contests
        each = [self._places(contest, item) for item in self.manifest["items"]]
        failed, middle = each.count(None), (len(contest) + 1) / 2
        rows = [Place(m, mean([row[m] if row else middle for row in each]), failed) for m in contest]
        return sorted(rows, key=lambda row: row.place.mean)

    def _places(self, contest: Sequence[str], item: str) -> dict[str, float] | None:
        """The place of each method over both orders; those that said nothing share the last; None = failed."""
        orders = [found for side in ORDERS if (found := _ranked(self.run(contest, item, side))) is not None]
        if len(orders) < len(ORDERS):
            return None
        return {m: sum(_place(m, found, len(contest)) for found in orders) / len(orders) for m in contest}

    def bias(self) -> Bias:
        """How often the first place wins."""
        shares, decided, expected = [], 0, []
        for item in self.manifest["items"]:
            won = [first for contest in self.contests for first, _ in self._firsts(contest, item)]
            expected += [1 / n for contest in self.contests for _, n in self._firsts(contest, item)]
            decided += len(won)
            shares += [sum(won) / len(won)] if won else []
        return Bias(decided, mean(shares), sum(expected) / len(expected) if expected else float("nan"))

    def _firsts(self, contest: Sequence[str], item: str) -> Iterator[tuple[bool, int]]:
        """Of each judgement of the model that has a winner: whether it was shown first, and of how many."""
        for run in (self.run(contest, item, side) for side in ORDERS):
            if run is None or run.method != MODEL:
                continue
            shown = _shown(run)
            won: Sequence[str | None]
            if self.criteria:
                won = [_winner(run, criterion, self.criteria) for criterion in self.criteria]
            else:
                won = [*(_ranked(run) or ())][:1]
            yield from ((who == shown[0], len(shown)) for who in won if who)

    def decisions(self, criterion: str) -> dict[tuple[str, str, str], int | None]:
        """By item and two methods: 1 = the first wins, -1 the second, 0 neither, None = failed."""
        if criterion not in self.criteria:
            raise BadInput(f"nothing was judged by {criterion!r}; judged by: {', '.join(self.criteria) or 'order'}")
        signs = {TIE: 0, FLIPPED: 0, FAILED: None}
        return {
            (item, a, b): {**signs, a: 1, b: -1}[self.outcome((a, b), item, criterion)]
            for a, b in self.contests
            for item in self.manifest["items"]
        }


def _shown(run: Run) -> list[str]:
    """The methods in the order in which the judge saw them."""
    found: list[str] = list(dict(run.settings)["shown"])
    return found


def _place(method: str, ranked: Sequence[str], count: int) -> float:
    """The place of one of `count` methods, those that are not ranked sharing the last ones.

    >>> _place("b", ["a", "b"], 4), _place("c", ["a", "b"], 4)
    (2.0, 3.5)
    """
    return float(ranked.index(method) + 1) if method in ranked else (len(ranked) + 1 + count) / 2


def _winner(run: Run | None, criterion: str, criteria: Sequence[str]) -> str | None:
    """The method that a judgement names, `TIE`, or None where it cannot be read."""
    try:
        number = numbers(run.answer.text, criteria).get(criterion) if run else None
    except Malformed:
        return None
    return None if run is None or number is None else _shown(run)[number - 1] if number else TIE


def _ranked(run: Run | None) -> list[str] | None:
    """The methods that a judgement puts in order, the best first; None where it cannot be read."""
    if run is None:
        return None
    shown = _shown(run)
    try:
        return [shown[n - 1] for n in order(run.answer.text, len(shown))]
    except Malformed:
        return None
