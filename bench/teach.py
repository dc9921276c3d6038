"""Let the shipped reader of questions learn some files of rows, and say of the others what it said before.

    python bench/teach.py FILE... --out questions.npz [--meqsum CSV]

A whole training (`kgmed train questions`) moves every head; this moves those of intents and of two asks, and nothing
that the new rows do not speak of: other rows have what the reader says of them as their target (Li and Hoiem 2016,
arXiv:1606.09282). Steps are taken on whole numbers of the kept scales (straight through, Bengio et al. 2013,
arXiv:1308.3432), so that what is learnt is not lost when the weights are kept. FILE is one of the packaged data.
Without a FILE the head of slots is fitted anew to all rows, and the others stay.
"""

import argparse
import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kgmed.question.model import (
    CLASSES,
    NO_NAME,
    SLOTS,
    SMALL_BUCKETS,
    Features,
    Model,
    Seen,
    Span,
    beside,
    features,
    opened,
    slot_features,
    stored,
)
from kgmed.question.understand import _NO_NAME_LINKED
from kgmed.train.pooling import Bags, MarkedQuestion, Weights, _pooled, _slopes, bags, matrix, read, rows_of
from kgmed.train.questions import _FIRST, _classes_of, _fit_slots, named_by, save

KEPT = Path(__file__).parents[1] / "src" / "kgmed" / "question" / "data" / "questions.npz"
SEARCHED, MARKED = 900, 3000  # other rows: with the names that graphs find, and more as marked
NEW, AS_MARKED = 2.0, 0.5  # weights
MIX = 0.1  # share of what was said before in the target of a new row
RATE, ROUNDS, BATCH, DAMP = 0.3, 8, 256, 3e-3  # of AdaGrad
OLD = 2.0  # weight of what was said before
Floats = NDArray[np.float32]


class Example(NamedTuple):
    """A row as it is seen once."""

    row: MarkedQuestion
    spans: tuple[Span, ...]
    weight: float
    new: bool


def examples(new: Sequence[MarkedQuestion], old: Sequence[MarkedQuestion], model: Model) -> Iterator[Example]:
    """New rows and some of the others, with the names that graphs find and as marked; more of the others as marked."""
    find, others = named_by(), list(old)
    random.Random(3).shuffle(others)
    for is_new, row in [*((True, row) for row in new), *((False, row) for row in others[:SEARCHED])]:
        found, weight = find(row.text), NEW if is_new else OLD
        none = [model.heads["slot"](f)[SLOTS.index(NO_NAME)] for f in slot_features(row.text, found)]
        seen = tuple(span for span, share in zip(found, none, strict=True) if share < _NO_NAME_LINKED)
        yield Example(row, seen, weight, is_new)
        if row.names:
            yield Example(row, tuple(s for s, _ in row.names), AS_MARKED * weight, is_new)
    for row in others[SEARCHED : SEARCHED + MARKED]:
        yield Example(row, tuple(s for s, _ in row.names), OLD, new=False)


def asked(row: MarkedQuestion) -> Floats:
    """What a row asks, as a distribution (k,)."""
    names = _classes_of(row)
    found = np.zeros(len(CLASSES), np.float32)
    for name, share in zip(names, (_FIRST, 1 - _FIRST) if len(names) > 1 else (1.0,), strict=True):
        found[CLASSES.index(name)] += share
    return found


def whole(weights: Floats, scale: NDArray[Any]) -> Floats:
    """Weights as whole numbers of a scale."""
    return np.asarray(np.clip(np.round(weights / scale), -127, 127), np.float32)


def stepped(
    start: Sequence[Floats], slopes: Callable[[Sequence[Floats], NDArray[np.int64]], Any], rows: int
) -> list[Floats]:
    """Parts after steps by AdaGrad; `slopes` gives of some rows for each part its columns and their slopes."""
    now = [part.copy() for part in start]
    squares, chance = [np.full_like(part, DAMP**2) for part in now], np.random.default_rng(7)
    for _ in range(ROUNDS):
        order = chance.permutation(rows)
        for at in range(0, rows, BATCH):
            batch = order[at : at + BATCH]
            for part, square, (where, slope) in zip(now, squares, slopes(now, batch), strict=True):
                square[where] += (slope / len(batch)) ** 2
                part[where] -= RATE * slope / len(batch) / np.sqrt(square[where])
    return now


def intents(kept: dict[str, Any], given: Bags, some: Sequence[Example]) -> Weights:
    """The heads of intents."""
    scales = (kept["sentence_scale"], kept["whole_scale"], np.float32(0))
    start = (kept["sentence_weights"] * scales[0], kept["whole_weights"] * scales[1], kept["whole_bias"][None])

    def kept_as(parts: Sequence[Floats]) -> Weights:
        return Weights(*(whole(p, s) * s if np.any(s) else p for p, s in zip(parts, scales, strict=True)))

    scores = _pooled(Weights(*start), given)[0]
    said = np.exp(scores - scores.max(1, keepdims=True))
    said /= said.sum(1, keepdims=True)
    new = np.array([e.new for e in some])[:, None]
    targets = np.where(new, (1 - MIX) * np.stack([asked(e.row) for e in some]) + MIX * said, said).astype(np.float32)
    weight = np.array([e.weight for e in some], np.float32)

    def slopes(now: Sequence[Floats], batch: NDArray[np.int64]) -> Any:
        return _slopes(kept_as(now), given.take(batch), targets[batch], weight[batch])

    return kept_as(stepped(start, slopes, len(some)))


def two(kept: dict[str, Any], seen: Sequence[Features], some: Sequence[Example]) -> Floats:
    """The head of two asks, in whole numbers of its scale."""
    x, scale, bias = matrix(seen, SMALL_BUCKETS), kept["two_scale"][0], kept["two_bias"][0]
    start = kept["two_weights"][:, 0] * scale

    def said(weights: Floats, rows: Any) -> Floats:
        return np.asarray(1 / (1 + np.exp(-(rows @ weights + bias))), np.float32)

    before = said(start, x)
    new, both = np.array([e.new for e in some]), np.array([len(e.row.intents) > 1 for e in some])
    targets = np.where(new, (1 - MIX) * both + MIX * before, before)
    weight = np.array([e.weight for e in some])

    def slopes(now: Sequence[Floats], batch: NDArray[np.int64]) -> Any:
        slope = x[batch].T @ ((said(whole(now[0], scale) * scale, x[batch]) - targets[batch]) * weight[batch])
        return [(np.flatnonzero(slope), slope[slope != 0])]

    return whole(stepped([start], slopes, len(some))[0], scale)


def main() -> None:
    """Teach."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("new", type=Path, nargs="*")
    options.add_argument("--start", type=Path, default=KEPT)
    options.add_argument("--out", type=Path, required=True)
    options.add_argument("--meqsum", type=Path)
    args = options.parse_args()
    kept = dict(stored(args.start))
    if not args.new:
        fitted, _, (right, names) = _fit_slots(rows_of(None, args.meqsum), named_by())
        print(f"slot of a name right {right.share:.3f}, names told from others {names.share:.3f}")
        save(args.out, kept | fitted)
        return
    new = read(args.new)
    said = {row.text for row in new}
    old = [row for row in rows_of(None, args.meqsum) if row.text not in said]
    some = list(examples(new, old, opened(kept)))
    seen: list[Seen] = [features(e.row.text, e.spans) for e in some]
    given = bags(seen)
    found = intents(kept, given, some)
    places = found.asking(given)
    parts = [beside(s, int(p)) for s, p in zip(seen, places, strict=True)]
    kept["two_weights"] = two(kept, parts, some)[:, None].astype(np.int8)
    kept["sentence_weights"] = whole(found.sentence, kept["sentence_scale"]).astype(np.int8)
    kept["whole_weights"] = whole(found.whole, kept["whole_scale"]).astype(np.int8)
    kept["whole_bias"] = found.bias[0]
    save(args.out, kept)


if __name__ == "__main__":
    main()
