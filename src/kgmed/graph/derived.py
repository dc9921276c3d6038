"""Arrays computed from a graph and kept beside it, memory-mapped: made once, opened in a millisecond afterwards.

Only plain .npy arrays are written and read, never pickles, so that opening a damaged or foreign file runs no code.
"""

import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import xxhash
from numpy.typing import NDArray

from kgmed.graph.store.arrays import open_array

Arrays = Mapping[str, NDArray[Any]]


def cached_arrays(folder: str, what: str, key: str, names: tuple[str, ...], make: Callable[[], Arrays]) -> Arrays:
    """The arrays of those `names`, opened where they were kept for the same `key`, else made and kept.

    `key` says what they were made from (the graph's label, a version of the code). A set that cannot be read is made
    anew; where the folder cannot be written (or is "") the arrays stay in memory.
    """
    if not folder:
        return make()
    place = derived_folder(folder, what, key)
    found = _opened(place, names)
    if found is not None:
        return found
    made = make()
    return (_written(place, made) and _opened(place, names)) or made


def derived_folder(folder: str, what: str, key: str) -> Path:
    """The place for things of one sort made from one key."""
    return Path(folder) / "derived" / f"{what}-{xxhash.xxh3_64_hexdigest(key.encode())}"


def _opened(place: Path, names: tuple[str, ...]) -> Arrays | None:
    """The arrays, memory-mapped; None where one is missing or damaged."""
    try:
        return {n: open_array(place / f"{n}.npy") for n in names}
    except (OSError, ValueError):
        return None


def _written(place: Path, arrays: Arrays) -> bool:
    """Whether the arrays now stand in their place: written beside it and renamed, so that none is ever half there."""
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        beside = Path(tempfile.mkdtemp(prefix=".new-", dir=place.parent))
    except OSError:
        return False
    try:
        for name, array in arrays.items():
            np.save(beside / f"{name}.npy", array, allow_pickle=False)
        shutil.rmtree(place, ignore_errors=True)
        os.replace(beside, place)  # noqa: PTH105
    except OSError:  # a full disk, or another process that was faster
        shutil.rmtree(beside, ignore_errors=True)
        return place.is_dir()
    return True
