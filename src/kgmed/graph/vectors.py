"""The vectors of a graph's names, computed in blocks and kept beside it: (n, d) float16, one row a distinct name.

A killed run goes on after its last finished block: each block is written to a file of its own and renamed into place,
and the blocks become one memory-mapped matrix when all are there. Kept by encoder name and graph content, so that a
rebuilt graph or another encoder never meets old vectors.
"""

import os
import re
import tempfile
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgmed.errors import StoreError, Unavailable
from kgmed.graph.base import LocalGraph
from kgmed.graph.derived import derived_folder
from kgmed.graph.names import Fuzzy, Near
from kgmed.graph.store.arrays import open_array
from kgmed.models.base import Encoder

# --- Nearest rows of a large matrix by an index: HNSW (Malkov and Yashunin 2018, arXiv 1603.09320), package `usearch`.
# It finds candidates; their order is by the rows themselves, so that a score is the same with and without it. What it
# misses stands in bench/vectors.py.


FILE = "near.usearch"
_LINKS, _BUILD, _LOOK = 16, 128, 128  # edges a row, rows looked at when one is added, and when one is searched
_ROWS_AT_ONCE = 4096  # rows added at a time
_MORE = 4  # candidates for each row wanted


class NearRows:
    """An index over the rows of a matrix."""

    def __init__(self, index: Any) -> None:
        """Take an opened index."""
        self._index = index

    def candidates(self, queries: NDArray[np.float32], limit: int) -> NDArray[np.int64]:
        """Some rows near each query (n, k), k at least `limit` where there are as many; no order, no score."""
        count = min(len(self._index), max(_LOOK, _MORE * limit))
        found = self._index.search(np.atleast_2d(queries), count, threads=1)
        return np.asarray(found.keys, np.int64).reshape(len(queries), -1)


def build(folder: Path, matrix: NDArray[np.float16], progress: Callable[[int, int], None], *, threads: int = 0) -> None:
    """Make the index of the unit rows (n, d) and keep it in the folder; `threads` 0 = one a core.

    Raises `Unavailable` without the package. With several threads two builds may differ in what they miss.
    """
    index = _usearch().Index(
        ndim=matrix.shape[1],
        metric="ip",
        dtype="f16",
        connectivity=_LINKS,
        expansion_add=_BUILD,
        expansion_search=_LOOK,
    )
    for start in range(0, len(matrix), _ROWS_AT_ONCE):
        rows = np.asarray(matrix[start : start + _ROWS_AT_ONCE])
        index.add(np.arange(start, start + len(rows)), rows, threads=threads)
        progress(start + len(rows), len(matrix))
    handle, beside = tempfile.mkstemp(prefix=".new-", dir=folder)
    os.close(handle)
    try:
        index.save(beside)
        Path(beside).replace(folder / FILE)
    except BaseException:
        Path(beside).unlink(missing_ok=True)
        raise


def open_index(folder: Path, shape: tuple[int, ...]) -> NearRows | None:
    """The index kept in the folder for a matrix of that shape; None where there is none that can be used."""
    if not (folder / FILE).is_file():
        return None
    try:
        index = _usearch().Index.restore(folder / FILE, view=True)
    except (Unavailable, ValueError, RuntimeError, OSError):
        return None
    return NearRows(index) if index is not None and (len(index), index.ndim) == shape else None


def _usearch() -> Any:
    """The module."""
    try:
        from usearch import index
    except ImportError as error:
        raise Unavailable('an index of more than a million names needs usearch: pip install "kgmed[index]"') from error
    return index


# --- The vectors of a graph's names, computed in blocks and kept beside it: (n, d) float16, one row a distinct name.
# A killed run goes on after its last finished block: each block is written to a file of its own and renamed into place,
# and the blocks become one memory-mapped matrix when all are there. Kept by encoder name and graph content, so that a
# rebuilt graph or another encoder never meets old vectors.


EXACT = 1_000_000  # names; more are searched by an index
_BLOCK = 1024  # names; about half a second of work
_SCAN = 16_384  # rows compared at a time
_QUERIES = 256  # texts compared at a time
_OFTEN = 4  # searches after which a process keeps the rows as float32: most of a search is widening them
_KEPT = 1 << 27  # numbers that it keeps at most, half a gigabyte

Progress = Callable[[int, int], None]


def compute(
    graph: LocalGraph, encoder: Encoder, progress: Progress = lambda done, of: None, *, exact: int = EXACT
) -> "Vectors":
    """The finished vectors of all names of a graph; `progress(done, of)` is called after every block.

    More than `exact` names get an index as well, where its package is installed.
    """
    names = Fuzzy(graph)
    total = len(names)
    folder = _folder(graph, encoder)
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "all.npy").exists():
        for start in range(0, total, _BLOCK):
            block = folder / f"{start:09d}.npy"
            if not block.exists():
                rows = encoder([names.name(i) for i in range(start, min(start + _BLOCK, total))])
                _save(block, rows.astype(np.float16))
            progress(min(start + _BLOCK, total), total)
        _join(folder, total, encoder.dimensions)
    found = open_vectors(graph, encoder, exact=exact)
    if found is None:
        raise StoreError(f"the vectors in {folder} cannot be read; remove that folder and compute them again")
    if found.near is None and len(found) > exact and find_spec("usearch"):
        build(folder, found.matrix, progress)
        return open_vectors(graph, encoder, exact=exact) or found
    return found


def open_vectors(graph: LocalGraph, encoder: Encoder, *, exact: int = EXACT) -> "Vectors | None":
    """The finished vectors of a graph by this encoder; None where they were never computed or cannot be read.

    Without an index, more than `exact` names are searched in blocks as well, which takes longer.
    """
    if not graph.folder:
        return None
    folder = _folder(graph, encoder)
    try:
        matrix = open_array(folder / "all.npy")
    except (OSError, ValueError):
        return None
    names = Fuzzy(graph)
    if matrix.shape != (len(names), encoder.dimensions) or matrix.dtype != np.float16:
        return None
    near = open_index(folder, matrix.shape) if len(names) > exact else None
    return Vectors(names, encoder, matrix, near)


class Vectors:
    """All names of a graph as vectors, searched exactly, or, where there is an index, among what that finds."""

    def __init__(
        self, names: Fuzzy, encoder: Encoder, matrix: NDArray[np.float16], near: NearRows | None = None
    ) -> None:
        """The names, their rows (n, d), and an index of the rows."""
        self.names, self.encoder, self.matrix, self.near = names, encoder, matrix, near
        self._searches = 0
        self._wide: NDArray[np.float32] | None = None

    def __len__(self) -> int:
        """The number of names n."""
        return len(self.matrix)

    def search(self, texts: list[str], *, limit: int = 10) -> list[list[Near]]:
        """For each text the `limit` names of highest cosine, best first, ties by row."""
        parts = [texts[i : i + _QUERIES] for i in range(0, len(texts), _QUERIES)]
        return [near for part in parts for near in self._search(part, limit)]

    def _search(self, texts: list[str], limit: int) -> list[list[Near]]:
        """The nearest names of a few texts at once."""
        queries = self.encoder(texts)
        best = self._best(queries, limit) if self.near is None else self._among(self.near, queries, limit)
        return [[Near(self.names.name(int(r)), float(s), int(r)) for r, s in zip(*b, strict=True)] for b in best]

    def _best(self, queries: NDArray[np.float32], limit: int) -> "list[Best]":
        """The best rows for each query of all there are."""
        best = [(np.zeros(0, np.int64), np.zeros(0, np.float32))] * len(queries)
        matrix = self._rows()
        for start in range(0, len(matrix), _SCAN):
            scores = queries @ matrix[start : start + _SCAN].astype(np.float32, copy=False).T
            best = [_best(old, start, row, limit) for old, row in zip(best, scores, strict=True)]
        return best

    def _rows(self) -> "NDArray[np.float16] | NDArray[np.float32]":
        """The rows, as float32 in a process that searches often."""
        self._searches += 1
        if self._wide is None and self._searches > _OFTEN and self.matrix.size <= _KEPT:
            self._wide = self.matrix.astype(np.float32)
        return self.matrix if self._wide is None else self._wide

    def _among(self, near: NearRows, queries: NDArray[np.float32], limit: int) -> "list[Best]":
        """The best rows for each query of those that the index finds."""
        best = []
        for query, found in zip(queries, near.candidates(queries, limit), strict=True):
            rows = np.sort(found)
            scores = self.matrix[rows].astype(np.float32) @ query
            order = np.lexsort((rows, -scores))[:limit]
            best.append((rows[order], scores[order]))
        return best


Best = tuple[NDArray[np.int64], NDArray[np.float32]]


def _best(old: Best, start: int, scores: NDArray[np.float32], limit: int) -> Best:
    """The best rows of those so far and of a block of scores that begins at row `start`."""
    top = (
        np.argpartition(-scores, min(limit, len(scores) - 1))[:limit] if len(scores) > limit else np.arange(len(scores))
    )
    rows = np.concatenate([old[0], top + start])
    values = np.concatenate([old[1], scores[top]])
    order = np.lexsort((rows, -values))[:limit]
    return rows[order], values[order]


def nearest_by_ngrams(names: Fuzzy, encoder: Encoder, text: str, *, limit: int = 10, among: int = 128) -> list[Near]:
    """The names of highest cosine among those that share most n-grams with the text: needs no index of vectors."""
    rows = names.shortlist(text, limit=among)
    if not len(rows):
        return []
    vectors = encoder([text, *(names.name(int(r)) for r in rows)])
    scores = vectors[1:] @ vectors[0]
    order = np.lexsort((rows, -scores))[:limit]
    return [Near(names.name(int(rows[i])), float(scores[i]), int(rows[i])) for i in order]


def _folder(graph: LocalGraph, encoder: Encoder) -> Path:
    """Where the vectors of a graph by an encoder are kept."""
    safe = re.sub(r"[^\w.-]+", "_", encoder.name)
    return derived_folder(graph.folder, f"vectors/{safe}", f"vectors 1 {graph.label} {encoder.name}")


def _save(path: Path, rows: NDArray[np.float16]) -> None:
    """Write an array beside its place and rename it there."""
    handle, beside = tempfile.mkstemp(prefix=".new-", suffix=".npy", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as out:
            np.save(out, rows, allow_pickle=False)
        Path(beside).replace(path)
    except BaseException:
        Path(beside).unlink(missing_ok=True)
        raise


def _join(folder: Path, rows: int, dimensions: int) -> None:
    """Make one file of all blocks, row by row, and remove them."""
    beside = folder / ".all.npy"
    whole = np.lib.format.open_memmap(beside, mode="w+", dtype=np.float16, shape=(rows, dimensions))
    done = 0
    for block in _blocks(folder):
        part = open_array(block, mapped=False)
        whole[done : done + len(part)] = part
        done += len(part)
    whole.flush()
    del whole
    beside.replace(folder / "all.npy")
    for block in list(_blocks(folder)):
        block.unlink()


def _blocks(folder: Path) -> Iterator[Path]:
    """The finished blocks in order."""
    return iter(sorted(folder.glob("[0-9]*.npy")))
