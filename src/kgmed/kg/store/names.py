"""The sorted index of names: from the hash of a normalised or folded name to the numbers of the names that have it."""

from array import array
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
import xxhash
from numpy.typing import NDArray

from kgmed.kg.store.arena import load, save
from kgmed.kg.text import fold_all, normalise_all

_BLOCK = 1 << 14  # names indexed at a time


def key_hash(key: str) -> int:
    """The 64 bits that stand for a key: the first eight bytes of its xxh3-128."""
    return int.from_bytes(xxhash.xxh3_128_digest(key.encode("utf-8", "surrogatepass"))[:8], "little")


def digests(keys: Iterable[str]) -> NDArray[np.uint64]:
    """The xxh3-128 of each key (k, 2); its first column is `key_hash`. Raises `UnicodeEncodeError`."""
    return np.frombuffer(b"".join(map(xxhash.xxh3_128_digest, map(str.encode, keys))), "<u8").reshape(-1, 2)


class HashIndex:
    """Sorted hashes and what each belongs to; equal hashes stand side by side."""

    def __init__(self, hashes: NDArray[np.uint64], numbers: NDArray[np.int32]) -> None:
        """Hashes (k,) in ascending order and a number for each."""
        self.hashes, self.numbers = hashes, numbers

    @classmethod
    def open(cls, folder: Path, name: str) -> "HashIndex":
        """The index `name` of a folder, mapped."""
        return cls(load(folder, f"{name}_hash"), load(folder, f"{name}_number"))

    @staticmethod
    def write(folder: Path, name: str, hashes: NDArray[np.uint64], numbers: NDArray[np.int32]) -> None:
        """Sort and store; the numbers come in ascending order."""
        order = np.argsort(hashes, kind="stable")
        save(folder, f"{name}_hash", hashes[order])
        save(folder, f"{name}_number", numbers[order])

    def inserted(self, hashes: NDArray[np.uint64], numbers: NDArray[np.int32]) -> "HashIndex":
        """A copy with more entries."""
        order = np.argsort(hashes, kind="stable")
        places = self.hashes.searchsorted(hashes[order], side="right")
        return HashIndex(np.insert(self.hashes, places, hashes[order]), np.insert(self.numbers, places, numbers[order]))

    def find(self, key: str) -> list[int]:
        """The numbers stored under a key, and seldom those of another key with the same hash."""
        wanted = np.uint64(key_hash(key))
        first = int(self.hashes.searchsorted(wanted))
        last = first
        while last < len(self.hashes) and self.hashes[last] == wanted:
            last += 1
        numbers: list[int] = self.numbers[first:last].tolist()
        return numbers


class Keys(NamedTuple):
    """The hashes of the normalised names, in their order, and of the folded ones that differ, with their numbers."""

    plain: NDArray[np.uint64]
    folded: NDArray[np.uint64]
    folded_of: NDArray[np.int32]


def index_names(names: Iterable[str], first: int = 0) -> Keys:
    """The keys of names that are numbered from `first`."""
    plain: list[NDArray[np.uint64]] = [np.empty(0, np.uint64)]
    folded: list[NDArray[np.uint64]] = [np.empty(0, np.uint64)]
    folded_of, rest = array("i"), iter(names)
    while block := list(islice(rest, _BLOCK)):
        keys = normalise_all(block)
        loose = fold_all(keys)
        other = [i for i, key in enumerate(keys) if loose[i] != key]
        plain.append(digests(keys)[:, 0].copy())
        folded.append(digests(loose[i] for i in other)[:, 0].copy())
        folded_of.extend(i + first for i in other)
        first += len(block)
    return Keys(np.concatenate(plain), np.concatenate(folded), np.array(folded_of, np.int32))
