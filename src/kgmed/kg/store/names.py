"""The sorted index of names: from the hash of a normalised or folded name to the numbers of the names that have it."""

from array import array
from collections.abc import Iterable
from itertools import islice
from pathlib import Path

import numpy as np
import xxhash
from numpy.typing import NDArray

from kgmed.kg.store.arena import load, save
from kgmed.kg.text import fold_normalised, normalise

_BLOCK = 1 << 14  # names indexed at a time


def key_hash(key: str) -> int:
    """The 64 bits that stand for a key."""
    return xxhash.xxh3_64_intdigest(key.encode("utf-8", "surrogatepass"))


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
    def write(folder: Path, name: str, hashes: "array[int]", numbers: "array[int]") -> None:
        """Sort and store."""
        keys, values = np.frombuffer(hashes, np.uint64), np.frombuffer(numbers, np.int32)
        order = np.lexsort((values, keys))
        save(folder, f"{name}_hash", keys[order])
        save(folder, f"{name}_number", values[order])

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


def key_hashes(keys: Iterable[str]) -> "array[int]":
    """`key_hash` of each key."""
    return array("Q", map(xxhash.xxh3_64_intdigest, map(str.encode, keys)))


def index_names(names: Iterable[str]) -> "tuple[array[int], ...]":
    """Hashes and numbers of the normalised names, then of the folded names that differ from them."""
    plain, folded, folded_of = array("Q"), array("Q"), array("i")
    rest = iter(names)
    while block := list(islice(rest, _BLOCK)):
        keys = list(map(normalise, block))
        loose = list(map(fold_normalised, keys))
        other = [i for i, key in enumerate(keys) if loose[i] != key]
        folded.extend(key_hashes(loose[i] for i in other))
        folded_of.extend(i + len(plain) for i in other)
        plain.extend(key_hashes(keys))
    return plain, array("i", range(len(plain))), folded, folded_of
