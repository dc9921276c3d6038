"""Rich Release Format, the UMLS's own: fields that each end in '|', one record a line; read a block at a time.

Only the fields that are asked for become Python objects; a full MRREL has 78 million lines of sixteen fields.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgmed.errors import SourceError
from kgmed.kg.sources.lines import byte_blocks

_BAR, _NEWLINE = 124, 10
_SIZE = 1 << 19  # bytes of a block: what is made of it stays in the processor's second cache
MOST = 10_000_000  # concepts that seven digits can number
Mask = NDArray[np.bool_]
Ints = NDArray[Any]
_LETTERS = np.uint64(0x3030303030303043)  # C0000000 as little-endian bytes
_ABOVE_NINE, _NO_DIGIT = np.uint64(0x7676767676767600), np.uint64(0x80808080808080FF)
_PAIRS = ((8, 0x0F0F0F0F0F0F0F0F, 2561), (16, 0x00FF00FF00FF00FF, 6553601), (32, 0x0000FFFF0000FFFF, 42949672960001))


@dataclass(frozen=True, slots=True)
class Block:
    """Records of an RRF file: record i begins at `start[i]` of `raw`, its fields end at `bars[i]`."""

    path: Path
    raw: bytes
    data: NDArray[np.uint8]
    start: Ints  # (n,)
    bars: Ints  # (n, fields)
    line: Ints  # (n,) from 1

    def __len__(self) -> int:
        """The number of records n."""
        return len(self.line)

    def of(self, rows: Ints) -> "Block":
        """Only those records, by number or mask."""
        if rows.dtype == bool and rows.all():
            return self
        return Block(self.path, self.raw, self.data, self.start[rows], self.bars[rows], self.line[rows])

    def begin(self, field: int) -> Ints:
        """Where a field begins (n,)."""
        return self.bars[:, field - 1] + 1 if field else self.start

    def cells(self, field: int, instead: int | None = None) -> list[bytes]:
        """A field of every record, or the field `instead` where it is empty."""
        raw, begin, end = self.raw, self.begin(field), self.bars[:, field]
        if instead is not None and (empty := begin == end).any():
            begin, end = np.where(empty, self.begin(instead), begin), np.where(empty, self.bars[:, instead], end)
        return [raw[a:b] for a, b in zip(begin.tolist(), end.tolist(), strict=True)]

    def letters(self, field: int) -> NDArray[np.uint8]:
        """The byte of a field that has exactly one (n,); 0 for the others."""
        begin = self.begin(field)
        return np.where(self.bars[:, field] - begin == 1, self.data[begin], np.uint8(0))

    def equals(self, field: int, text: bytes) -> Mask:
        """Whether a field is that short text (n,)."""
        begin = self.begin(field)
        found: Mask = self.bars[:, field] - begin == len(text)
        for i, byte in enumerate(text):  # the file goes on after a shorter field: its '|' and newline at least
            found &= self.data[np.minimum(begin + i, len(self.data) - 1)] == byte
        return found

    def among(self, field: int, texts: Sequence[bytes]) -> Mask:
        """Whether a field is one of those texts (n,)."""
        known = frozenset(texts)
        return np.fromiter((cell in known for cell in self.cells(field)), bool, len(self))

    def concepts(self, field: int) -> NDArray[np.int32]:
        """The number in each CUI of a field (n,); raises `SourceError` for what is no CUI."""
        begin = self.begin(field)
        every = np.ndarray((max(1, len(self.raw) - 7),), "S8", self.raw.ljust(8), strides=(1,))  # from every byte on
        value = every[np.minimum(begin, len(every) - 1)].view("<u8") ^ _LETTERS
        wrong = ((value + _ABOVE_NINE) | value) & _NO_DIGIT != 0
        wrong |= self.bars[:, field] - begin != 8
        if wrong.any():
            i = int(wrong.argmax())
            cell = self.raw[begin[i] : self.bars[i, field]].decode()
            problem = f"{cell[:20]!r} in field {field + 1} is no CUI"
            raise SourceError(self.path, int(self.line[i]), problem, "write C and seven digits, as NLM does")
        for shift, mask, factor in _PAIRS:  # eight digits at once: pairs, then fours, then all
            value = ((value & np.uint64(mask)) * np.uint64(factor)) >> np.uint64(shift)
        return value.astype(np.int32)


def records(path: Path, fields: int) -> Iterator[Block]:
    """The records of an RRF file; raises `SourceError` for a line that has another number of fields."""
    done = 0
    for text in byte_blocks(path, _SIZE):
        block, count = _block(path, text + b"\n", fields, done)
        done += count
        if len(block):
            yield block


def _block(path: Path, raw: bytes, fields: int, done: int) -> tuple[Block, int]:
    """The records in whole lines, of which `done` stand before, and the number of lines; empty ones are no records."""
    data = np.frombuffer(raw, np.uint8)
    bars = np.flatnonzero(data == _BAR).astype(np.int32)
    count = raw.count(b"\n")
    stop = bars[fields - 1 :: fields] + 1
    if len(bars) == count * fields and (data[stop] == _NEWLINE).all():  # one newline after every so many bars
        full = np.ones(count, bool)
    else:
        stop = np.flatnonzero(data == _NEWLINE).astype(np.int32)
        full = _checked(path, data, bars, stop, fields, done)
    start = np.concatenate([[0], stop[:-1] + 1]).astype(np.int32)[full]
    return Block(path, raw, data, start, bars.reshape(-1, fields), np.flatnonzero(full) + done + 1), count


def _checked(path: Path, data: NDArray[np.uint8], bars: Ints, stop: Ints, fields: int, done: int) -> Mask:
    """Which lines are not empty, where every other holds its fields; raises `SourceError`."""
    full = stop > np.concatenate([[0], stop[:-1] + 1])
    wrong = full & ((np.diff(np.searchsorted(bars, stop), prepend=0) != fields) | (data[stop - 1] != _BAR))
    if wrong.any():
        problem = f"does not hold {fields} fields that each end in '|'"
        raise SourceError(path, done + int(wrong.argmax()) + 1, problem, "unpack the file again from the UMLS release")
    return full
