"""Many texts in one mapped file: text i stands at start[i], length[i] bytes of UTF-8."""

import os
import threading
from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

_SMALL = 1 << 16  # bytes
_BLOCK = 1 << 14  # texts written at a time
_ONE_AT_A_TIME = threading.Lock()


class Arena:
    """Texts by number; what is read is decoded, the rest stays on disk."""

    def __init__(self, blob: NDArray[np.uint8], start: NDArray[np.int64], length: NDArray[np.int32]) -> None:
        """The bytes (b,), and for each of n texts where it begins and how many bytes it has."""
        self._blob, self._start, self._length = memoryview(blob.data), start, length

    @classmethod
    def open(cls, folder: Path, name: str) -> "Arena":
        """The arena `name` of a folder, mapped."""
        start, length = load(folder, f"{name}_start"), load(folder, f"{name}_length")
        return cls(load(folder, f"{name}_bytes"), start, length)

    def __len__(self) -> int:
        """The number of texts."""
        return len(self._start)

    def __getitem__(self, i: int) -> str:
        """Text i."""
        begin = self._start.item(i)
        return str(self._blob[begin : begin + self._length.item(i)], "utf-8")

    def many(self, numbers: NDArray[np.integer[Any]]) -> list[str]:
        """The texts of those numbers."""
        begin, blob = self._start[numbers], self._blob
        ends = (begin + self._length[numbers]).tolist()
        return [str(blob[a:b], "utf-8") for a, b in zip(begin.tolist(), ends, strict=True)]

    def __iter__(self) -> Iterator[str]:
        """All texts in order, read in blocks."""
        for first in range(0, len(self), 1 << 16):
            starts = self._start[first : first + (1 << 16)].tolist()
            lengths = self._length[first : first + (1 << 16)].tolist()
            for begin, size in zip(starts, lengths, strict=True):
                yield str(self._blob[begin : begin + size], "utf-8")

    def inserted(self, places: NDArray[np.int64], texts: Sequence[str]) -> "Arena":
        """A copy with more texts, as `numpy.insert` has it: each stands before the text that now has its place."""
        return _Extended(self._blob, self._start, self._length, b"").inserted(places, texts)


class _Extended(Arena):
    """An arena with a second, short blob in memory; what starts at or after the end of the first stands there."""

    def __init__(self, blob: memoryview, start: NDArray[np.int64], length: NDArray[np.int32], tail: bytes) -> None:
        self._blob, self._start, self._length, self._tail = blob, start, length, tail

    def __getitem__(self, i: int) -> str:
        return self._at(self._start.item(i), self._length.item(i))

    def many(self, numbers: NDArray[np.integer[Any]]) -> list[str]:
        return [self[i] for i in numbers.tolist()]

    def __iter__(self) -> Iterator[str]:
        return map(self._at, self._start.tolist(), self._length.tolist())

    def _at(self, begin: int, size: int) -> str:
        if begin < len(self._blob) or not size:
            return str(self._blob[begin : begin + size], "utf-8")
        begin -= len(self._blob)
        return self._tail[begin : begin + size].decode()

    def inserted(self, places: NDArray[np.int64], texts: Sequence[str]) -> "Arena":
        """A copy with more texts."""
        data = [text.encode() for text in texts]
        length = np.array([len(d) for d in data], np.int32)
        start = np.cumsum(length) - length + len(self._blob) + len(self._tail)
        return _Extended(
            self._blob,
            np.insert(self._start, places, start),
            np.insert(self._length, places, length),
            self._tail + b"".join(data),
        )


class ArenaWriter:
    """Appends texts to a file of bytes; where each stands is kept, 12 bytes a text."""

    def __init__(self, folder: Path, name: str) -> None:
        """Begin the arena `name` in a folder."""
        self._folder, self._name = folder, name
        self._file: BinaryIO = (folder / f"{name}_bytes.npy").open("w+b")
        self._file.write(_header(0))
        self._end = 0
        self.start, self.length = array("q"), array("i")

    def add(self, text: str) -> int:
        """Append a text; its number."""
        data = text.encode()
        self._file.write(data)
        self.start.append(self._end)
        self.length.append(len(data))
        self._end += len(data)
        return len(self.start) - 1

    def extend(self, texts: Iterable[str]) -> None:
        """Append many texts, a block at a time."""
        rest = iter(texts)
        while data := [text.encode() for text in islice(rest, _BLOCK)]:
            sizes = np.fromiter(map(len, data), np.int32, len(data))
            self._file.write(b"".join(data))
            self.start.frombytes((self._end + np.cumsum(sizes, dtype=np.int64) - sizes).tobytes())
            self.length.frombytes(sizes.tobytes())
            self._end += int(sizes.sum(dtype=np.int64))

    def peek(self, i: int) -> str:
        """Text i, read back while the arena is being written."""
        self._file.seek(128 + self.start[i])
        data = self._file.read(self.length[i])
        self._file.seek(0, os.SEEK_END)
        return data.decode()

    def close(self, order: NDArray[np.int64] | None = None) -> None:
        """Finish the files; `order` lists the arrival numbers in the order in which texts are to be numbered."""
        self._file.seek(0)
        self._file.write(_header(self._end))
        self._file.close()
        start, length = np.frombuffer(self.start, np.int64), np.frombuffer(self.length, np.int32)
        save(self._folder, f"{self._name}_start", start if order is None else start[order])
        save(self._folder, f"{self._name}_length", length if order is None else length[order])

    def abandon(self) -> None:
        """Close the file of an unfinished arena."""
        self._file.close()


def write_arena(folder: Path, name: str, texts: Iterable[str]) -> None:
    """Write all texts of the arena `name`."""
    writer = ArenaWriter(folder, name)
    try:
        writer.extend(texts)
        writer.close()
    finally:
        writer.abandon()


def rename_arena(folder: Path, old: str, new: str) -> None:
    """Give a finished arena another name."""
    for part in ("bytes", "start", "length"):
        (folder / f"{old}_{part}.npy").rename(folder / f"{new}_{part}.npy")


def _header(size: int) -> bytes:
    """The 128 bytes before the data of a one-dimensional .npy file of bytes; the same length for every size."""
    text = f"{{'descr': '|u1', 'fortran_order': False, 'shape': ({size},), }}"
    return b"\x93NUMPY\x01\x00" + (118).to_bytes(2, "little") + text.ljust(117).encode() + b"\n"


def load(folder: Path, name: str) -> NDArray[Any]:
    """The array `name` of a folder, mapped read-only; a small one is read, as a map holds a file open."""
    path = folder / f"{name}.npy"
    return opened(path, mapped=path.stat().st_size > _SMALL).view(np.ndarray)


def opened(path: Path, *, mapped: bool = True) -> NDArray[Any]:
    """The array in a file, one thread at a time; raises `OSError` or `ValueError`.

    numpy reads the head of a file by `ast`, which in several threads at once can fail in Python 3.11 ("recursion depth
    mismatch", https://github.com/python/cpython/issues/106905).
    """
    with _ONE_AT_A_TIME:
        values: NDArray[Any] = np.load(path, mmap_mode="r" if mapped else None, allow_pickle=False)
        return values


def save(folder: Path, name: str, values: NDArray[Any]) -> None:
    """Write the array `name` of a folder."""
    np.save(folder / f"{name}.npy", values, allow_pickle=False)
