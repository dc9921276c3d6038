"""Numbers for names while a graph is read: 20 bytes a name in memory, the names themselves on disk.

A name is known by its 128-bit hash (xxh3), so that a million names make no million Python strings: looking them up
in a dict misses the processor's caches at every step. Two of 10 million names share a
hash with a probability of 1e-25. The table is open addressing with linear probing, probed for many names at once.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgmed.kg.store.arena import ArenaWriter
from kgmed.kg.store.names import digests

_FULL = 0.5  # of the table in use before it is doubled
_FIRST = 1 << 12


class Interner:
    """Numbers 0, 1, ... in the order in which names are first met; the names go to the arena `key`."""

    def __init__(self, folder: Path) -> None:
        """Begin with no name."""
        self.names = ArenaWriter(folder, "key")
        self._table = np.full(_FIRST, -1, np.int32)  # slot -> number
        self._hashes = np.empty((_FIRST, 2), np.uint64)  # number -> hash; only the first `len(self)` rows count
        self._count = 0

    def __len__(self) -> int:
        """How many names are known."""
        return self._count

    @property
    def hashes(self) -> NDArray[np.uint64]:
        """The `key_hash` of every name, in the order of their numbers."""
        return self._hashes[: self._count, 0]

    def __call__(self, names: Sequence[str]) -> NDArray[np.int32]:
        """The number of each name (k,), old or new. Raises `UnicodeEncodeError` for half a character."""
        hashes = digests(names)
        numbers = self._find(hashes)
        missing = np.flatnonzero(numbers < 0)
        if len(missing):
            numbers[missing] = self._add(hashes[missing], [names[i] for i in missing.tolist()])
        return numbers

    def _find(self, hashes: NDArray[np.uint64]) -> NDArray[np.int32]:
        """The number of each hash; -1 = not known."""
        found = np.full(len(hashes), -1, np.int32)
        slots, todo = self._slots(hashes), np.arange(len(hashes))
        while len(todo):
            number = self._table[slots[todo]]
            taken = number >= 0
            same = taken & _equal(self._hashes[number], hashes[todo])
            found[todo[same]] = number[same]
            todo = todo[taken & ~same]
            slots[todo] = (slots[todo] + 1) & (len(self._table) - 1)
        return found

    def _add(self, hashes: NDArray[np.uint64], names: Sequence[str]) -> NDArray[np.int32]:
        """The numbers of new names, in which one may stand several times; numbered as they are met."""
        order = np.lexsort((hashes[:, 1], hashes[:, 0]))
        differs = np.ones(len(order), bool)
        differs[1:] = ~_equal(hashes[order[1:]], hashes[order[:-1]])
        group = np.empty(len(order), np.int64)
        group[order] = np.cumsum(differs) - 1
        first = order[differs]  # lexsort is stable: of equals the one met first
        place = np.argsort(first)
        number = np.empty(len(first), np.int32)
        number[place] = np.arange(self._count, self._count + len(first))
        self.names.extend(names[i] for i in first[place].tolist())
        self._enter(hashes[first[place]])
        return number[group]

    def _enter(self, hashes: NDArray[np.uint64]) -> None:
        """Give the next numbers to hashes that are new and distinct."""
        begin, self._count = self._count, self._count + len(hashes)
        if self._count > len(self._hashes):
            larger = np.empty((max(2 * len(self._hashes), self._count), 2), np.uint64)
            larger[:begin] = self._hashes[:begin]
            self._hashes = larger
        self._hashes[begin : self._count] = hashes
        if self._count > _FULL * len(self._table):
            size = 1 << int(self._count / _FULL).bit_length()
            self._table = np.full(size, -1, np.int32)
            begin = 0
        self._place(np.arange(begin, self._count, dtype=np.int32))

    def _place(self, numbers: NDArray[np.int32]) -> None:
        """Put numbers into the table at the first free slot from that of their hash."""
        slots = self._slots(self._hashes[numbers])
        todo = np.arange(len(numbers))
        while len(todo):
            free = todo[self._table[slots[todo]] < 0]
            self._table[slots[free]] = numbers[free]  # of several for one slot the last stays
            todo = todo[self._table[slots[todo]] != numbers[todo]]
            slots[todo] = (slots[todo] + 1) & (len(self._table) - 1)

    def _slots(self, hashes: NDArray[np.uint64]) -> NDArray[np.int64]:
        return (hashes[:, 0] & np.uint64(len(self._table) - 1)).astype(np.int64)


class Numbers:
    """The numbers of a reader's codes (see `rows.Batches`); what a code stands for is asked once."""

    def __init__(self, meet: Callable[[list[int]], Sequence[int] | NDArray[np.int32]]) -> None:
        """`meet` gives the numbers of codes that are new."""
        self._meet = meet
        self._number = np.full(_FIRST, -1, np.int32)

    def __call__(self, codes: NDArray[np.integer[Any]]) -> NDArray[np.int32]:
        """The number of each code (k,); new ones are numbered as they are met."""
        if len(codes) and codes.max() >= len(self._number):
            more = np.full(max(len(self._number), int(codes.max()) + 1 - len(self._number)), -1, np.int32)
            self._number = np.append(self._number, more)
        numbers: NDArray[np.int32] = self._number[codes]
        if (missing := numbers < 0).any():
            new = codes[missing]
            new = new[np.sort(np.unique(new, return_index=True)[1])]
            self._number[new] = self._meet(new.tolist())
            numbers = self._number[codes]
        return numbers


def _equal(a: NDArray[np.uint64], b: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Whether the hashes of two lists (k, 2) are the same, pair by pair."""
    return np.asarray((a[:, 0] == b[:, 0]) & (a[:, 1] == b[:, 1]))
