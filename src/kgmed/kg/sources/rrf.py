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
from kgmed.kg.sources.lines import blocks

_BAR, _NEWLINE = 124, 10
MOST = 10_000_000  # concepts that seven digits can number
_POWERS = 10 ** np.arange(6, -1, -1, dtype=np.int32)
Mask = NDArray[np.bool_]
Ints = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Block:
    """Records of an RRF file: `begin` and `end` (n, fields) say where each field stands in `raw`."""

    path: Path
    raw: bytes
    data: NDArray[np.uint8]
    begin: Ints
    end: Ints
    line: Ints  # (n,) from 1

    def __len__(self) -> int:
        """The number of records n."""
        return len(self.line)

    def of(self, rows: Ints) -> "Block":
        """Only those records, by number or mask."""
        return Block(self.path, self.raw, self.data, self.begin[rows], self.end[rows], self.line[rows])

    def cells(self, field: int) -> list[bytes]:
        """A field of every record."""
        raw = self.raw
        return [raw[a:b] for a, b in zip(self.begin[:, field].tolist(), self.end[:, field].tolist(), strict=True)]

    def equals(self, field: int, text: bytes) -> Mask:
        """Whether a field is that short text (n,)."""
        begin = self.begin[:, field]
        found: Mask = self.end[:, field] - begin == len(text)
        for i, byte in enumerate(text):  # the file goes on after a shorter field: its '|' and newline at least
            found &= self.data[np.minimum(begin + i, len(self.data) - 1)] == byte
        return found

    def among(self, field: int, texts: Sequence[bytes]) -> Mask:
        """Whether a field is one of those texts (n,)."""
        known = frozenset(texts)
        return np.fromiter((cell in known for cell in self.cells(field)), bool, len(self))

    def concepts(self, field: int) -> tuple[Ints, NDArray[np.str_]]:
        """The numbers and the CUIs in a field (n,); raises `SourceError` for what is no CUI."""
        begin = self.begin[:, field]
        wrong = self.end[:, field] - begin != 8
        every = np.ndarray((max(1, len(self.raw) - 7),), "S8", self.raw.ljust(8), strides=(1,))  # from every byte on
        cells = every[np.minimum(begin, len(every) - 1)]
        letters = cells.view(np.uint8).reshape(-1, 8)
        digits = letters[:, 1:].astype(np.int32) - 48
        wrong |= (letters[:, 0] != ord("C")) | ((digits < 0) | (digits > 9)).any(axis=1)
        if wrong.any():
            i = int(wrong.argmax())
            cell = self.raw[self.begin[i, field] : self.end[i, field]].decode()
            problem = f"{cell[:20]!r} in field {field + 1} is no CUI"
            raise SourceError(self.path, int(self.line[i]), problem, "write C and seven digits, as NLM does")
        return digits @ _POWERS, cells.astype("U8")


def records(path: Path, fields: int) -> Iterator[Block]:
    """The records of an RRF file; raises `SourceError` for a line that has another number of fields."""
    done = 0
    for text in blocks(path):
        raw = text.encode() + b"\n"
        block = _block(path, raw, fields, done)
        done += text.count("\n") + 1
        if len(block):
            yield block


def _block(path: Path, raw: bytes, fields: int, done: int) -> Block:
    """The records in whole lines, of which `done` stand before; empty lines are no records."""
    data = np.frombuffer(raw, np.uint8)
    bars = np.flatnonzero(data == _BAR).astype(np.int32)
    stop = np.flatnonzero(data == _NEWLINE).astype(np.int32)
    start = np.concatenate([[0], stop[:-1] + 1]).astype(np.int32)
    count = np.diff(np.searchsorted(bars, stop), prepend=0)
    full = stop > start
    wrong = full & ((count != fields) | (data[stop - 1] != _BAR))
    if wrong.any():
        i = int(wrong.argmax())
        problem = f"does not hold {fields} fields that each end in '|'"
        raise SourceError(path, done + i + 1, problem, "unpack the file again from the UMLS release")
    end = bars.reshape(-1, fields)
    begin = np.empty_like(end)
    begin[:, 0], begin[:, 1:] = start[full], end[:, :-1] + 1
    return Block(path, raw, data, begin, end, np.flatnonzero(full) + done + 1)
