"""Cases to diagnose, and a split of them whose test part nothing can be chosen on.

A scorer is fitted on `train` and `validation`, which are plain tuples. The test cases lie in `Held`: it tells their
number, and how often a finished predictor is right, and nothing else. The predictor sees them without their disease.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from typing import NoReturn, TypeVar

import xxhash

from kgmed.errors import BadInput

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Case:
    """A patient: the symptoms there, denied and unsure, and the disease diagnosed ("" = not told)."""

    id: str
    positive: tuple[str, ...]
    negative: tuple[str, ...] = ()
    unsure: tuple[str, ...] = ()
    disease: str = ""
    explicit: tuple[str, ...] = ()  # those of any sign that the patient named first, before being asked


Cases = tuple[Case, ...]
Predict = Callable[[Sequence[Case]], Sequence[str | None]]  # a disease a case; None = cannot judge
Fit = Callable[[Cases, Cases], T]  # (train, validation) -> a scorer, a model, ...


@dataclass(frozen=True, slots=True)
class Report:
    """How a finished predictor did on the test cases, in their order."""

    predicted: tuple[str | None, ...]
    right: tuple[bool, ...]

    @property
    def n(self) -> int:
        """The number of cases; those that could not be judged count, as wrong."""
        return len(self.right)

    @property
    def accuracy(self) -> float:
        """The share of cases that are right; 0 without cases."""
        return sum(self.right) / self.n if self.n else 0.0

    @property
    def error(self) -> float:
        """The standard error of the accuracy over cases.

        >>> Report(("flu",) * 4, (True, True, True, False)).error.__round__(3)
        0.217
        """
        return sqrt(self.accuracy * (1 - self.accuracy) / self.n) if self.n else 0.0

    @property
    def unjudged(self) -> int:
        """The number of cases without a prediction."""
        return sum(p is None for p in self.predicted)


class Held:
    """Test cases, closed: only `report` opens them."""

    __slots__ = ("__cases",)

    def __init__(self, cases: Sequence[Case]) -> None:
        """Close the cases."""
        self.__cases = tuple(cases)

    def __len__(self) -> int:
        """The number of cases."""
        return len(self.__cases)

    def __repr__(self) -> str:
        """The number of cases, nothing of them."""
        return f"Held({len(self)} cases)"

    def __iter__(self) -> Iterator[Case]:
        """Never: raises `BadInput`."""
        self._refuse()

    def __getitem__(self, place: object) -> NoReturn:
        """Never: raises `BadInput`."""
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise BadInput("test cases are not for choosing; give a finished predictor to report()")

    def report(self, predict: Predict) -> Report:
        """How a finished predictor does on the cases, which it sees without their disease."""
        predicted = tuple(predict([replace(c, disease="") for c in self.__cases]))
        if len(predicted) != len(self):
            raise BadInput(f"a predictor gave {len(predicted)} answers to {len(self)} cases; give one each")
        return Report(predicted, tuple(p == c.disease for p, c in zip(predicted, self.__cases, strict=True)))


@dataclass(frozen=True, slots=True)
class Split:
    """The cases of one data set: to fit on, to choose on, and closed ones to report on."""

    name: str
    train: Cases
    validation: Cases
    test: Held
    language: str = ""  # ISO 639-1

    @property
    def diseases(self) -> tuple[str, ...]:
        """The diseases of train and validation, in order of their text."""
        return tuple(sorted({c.disease for c in self.train + self.validation}))

    @property
    def symptoms(self) -> tuple[str, ...]:
        """The symptoms of any sign of train and validation, in order of their text."""
        every = self.train + self.validation
        return tuple(sorted({s for c in every for s in (*c.positive, *c.negative, *c.unsure)}))

    def choose_on(self, part: str) -> Cases:
        """The cases of "train" or "validation"; raises `BadInput` for "test"."""
        if part not in ("train", "validation"):
            raise BadInput(f"nothing may be chosen on {part!r}; choose on train or validation, then report() on test")
        return self.train if part == "train" else self.validation

    def fitted(self, fit: Fit[T]) -> T:
        """What `fit` makes of train and validation."""
        return fit(self.train, self.validation)


def split(
    name: str,
    train: Sequence[Case],
    test: Sequence[Case],
    *,
    validation: Sequence[Case] = (),
    language: str = "",
    share: float = 0.2,  # ours
    seed: int = 0,
) -> Split:
    """The split of given parts; without a validation part, `share` of each disease's train cases become it.

    Which cases these are follows from their ids and the seed.
    """
    if not validation:
        (validation,) = (v for i, (_, v) in enumerate(folds(train, round(1 / share), seed=seed)) if i == 0)
        chosen = {id(c) for c in validation}
        train = [c for c in train if id(c) not in chosen]
    return Split(name, tuple(train), tuple(validation), Held(test), language)


def folds(cases: Sequence[Case], k: int, *, seed: int = 0) -> Iterator[tuple[Cases, Cases]]:
    """The k pairs (train, validation) of a cross-validation, each disease spread evenly; each case validates once.

    >>> flu = [Case(str(i), ("fever",), disease="flu") for i in range(4)]
    >>> [(len(t), len(v)) for t, v in folds(flu, 2)]
    [(2, 2), (2, 2)]
    """
    order = sorted(range(len(cases)), key=lambda i: (cases[i].disease, _draw(cases[i].id, seed), i))
    fold = {case: place % k for place, case in enumerate(order)}
    for f in range(k):
        train = tuple(c for i, c in enumerate(cases) if fold[i] != f)
        yield train, tuple(c for i, c in enumerate(cases) if fold[i] == f)


def _draw(key: str, seed: int) -> int:
    """A number that follows from a key and a seed alone."""
    return xxhash.xxh3_64_intdigest(key.encode("utf-8", "surrogatepass"), seed=seed)
