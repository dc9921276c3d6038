"""Nearest rows of a large matrix by an index: HNSW (Malkov and Yashunin 2018, arXiv 1603.09320), package `usearch`.

It finds candidates; their order is by the rows themselves, so that a score is the same with and without it. What it
misses stands in bench/vectors.py.
"""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgmed.errors import Unavailable

FILE = "near.usearch"
_LINKS, _BUILD, _LOOK = 16, 128, 128  # edges a row, rows looked at when one is added, and when one is searched
_BLOCK = 4096  # rows added at a time
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
    for start in range(0, len(matrix), _BLOCK):
        rows = np.asarray(matrix[start : start + _BLOCK])
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


def opened(folder: Path, shape: tuple[int, ...]) -> NearRows | None:
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
