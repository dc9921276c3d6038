"""The names of a large graph by vector: exact search in blocks against the index, and what the index misses.

    python bench/vectors.py [NAMES]        # 200,000 made-up names, else so many

Names are made of syllables, their vectors of n-grams (256 numbers), so that near neighbours are many. Each query is a
name with a slip. Recall = the share of the exact ten that the index finds.
"""

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter

import numpy as np
from _figures import keep
from numpy.typing import NDArray

from kgmed.graph import vectors
from kgmed.graph.vectors import Vectors
from kgmed.models.encoders import NgramEncoder

QUERIES, LIMIT = 256, 10
SYLLABLES = "ar bo cal den em fi gas her itis ja ken lor my neph osis pul ren sar thy um vas xan yl zo".split()  # noqa: SIM905


class Names:
    """Made-up names, as `Fuzzy` gives them."""

    def __init__(self, many: int) -> None:
        random = np.random.default_rng(5)
        parts = random.integers(0, len(SYLLABLES), (many, 5)).tolist()
        self._names = [
            "".join(SYLLABLES[i] for i in row[:3]) + " " + "".join(SYLLABLES[i] for i in row[3:]) for row in parts
        ]

    def __len__(self) -> int:
        return len(self._names)

    def name(self, row: int) -> str:
        return self._names[row]


class Known(NgramEncoder):
    """The encoder, with the vectors of the queries at hand, so that only the search is timed."""

    def __init__(self, texts: list[str]) -> None:
        super().__init__(256)
        self._rows = dict(zip(texts, super().__call__(texts), strict=True))

    def __call__(self, texts: Sequence[str], /) -> NDArray[np.float32]:
        return np.stack([self._rows[t] for t in texts])


def timed(vectors: Vectors, texts: list[str]) -> tuple[list[list[int]], float]:
    """The rows found for each text, and the seconds a text."""
    vectors.search(texts[:8], limit=LIMIT)
    begin = perf_counter()
    found = vectors.search(texts, limit=LIMIT)
    return [[n.row for n in near] for near in found], (perf_counter() - begin) / len(texts)


def rows_of(names: Names, encoder: NgramEncoder) -> NDArray[np.float16]:
    """The vectors of all names (n, d)."""
    parts = (range(i, min(i + 4096, len(names))) for i in range(0, len(names), 4096))
    return np.concatenate([encoder([names.name(i) for i in part]).astype(np.float16) for part in parts])


def main() -> None:
    """Measure and print."""
    names, encoder = Names(int(sys.argv[1]) if len(sys.argv) > 1 else 200_000), NgramEncoder(256)
    matrix = rows_of(names, encoder)
    picked = np.random.default_rng(6).choice(len(names), QUERIES, replace=False).tolist()
    texts = [names.name(i)[:-1] for i in picked]
    known = Known(texts)
    with tempfile.TemporaryDirectory(prefix="kgmed-bench-") as folder:
        place, begin = Path(folder) / "index", perf_counter()
        vectors.build(place, matrix, lambda done, of: None, threads=1)
        built = perf_counter() - begin
        size = (place / vectors.FILE).stat().st_size
        near = vectors.open_index(place, matrix.shape)
        exact, slow = timed(Vectors(names, known, matrix), texts)  # type: ignore[arg-type]
        found, fast = timed(Vectors(names, known, matrix, near), texts)  # type: ignore[arg-type]
    recall = np.mean([len({*a} & {*b}) / LIMIT for a, b in zip(exact, found, strict=True)])
    first = np.mean([a[0] == b[0] for a, b in zip(exact, found, strict=True)])
    print(
        f"{len(names):,} names of 256 numbers; {QUERIES} queries at once, {LIMIT} rows each, 1 thread, without encoding"
    )
    print(f"index: {built:.0f} s to build, {size / 1e6:.0f} MB")
    print(f"{'':10}{'ms a query':>12}{'ratio':>8}{'recall@10':>11}{'same first':>12}")
    print(f"{'exact':10}{1000 * slow:>12.2f}{1:>8}{1:>11}{1:>12}")
    figures = {"ms": 1000 * fast, "exact ms": 1000 * slow, "recall": float(recall)}
    keep("vectors", {f"{len(names)} {what}": figure for what, figure in figures.items()})
    print(f"{'index':10}{1000 * fast:>12.2f}{slow / fast:>8.1f}{recall:>11.3f}{first:>12.3f}")


if __name__ == "__main__":
    main()
