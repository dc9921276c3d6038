"""The edges of a graph on their way in: spilled to one file a column, sorted once, written in both directions."""

from array import array
from collections.abc import Iterable
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from kgmed.kg.graph import indptr
from kgmed.kg.store.arena import save

Ints = NDArray[Any]


class Columns:
    """The edges as they come: one file a column, written in blocks."""

    CODES = (("head", "i"), ("tail", "i"), ("relation", "H"), ("weight", "f"), ("support", "I"))

    def __init__(self, folder: Path) -> None:
        """Begin the files in a folder."""
        self._folder = folder
        self._files: list[BinaryIO] = [(folder / f"{name}.column").open("wb") for name, _ in self.CODES]

    def extend(self, *columns: Iterable[float]) -> None:
        """Write a block of edges, given column by column in the order of `CODES`."""
        for file, (_, code), values in zip(self._files, self.CODES, columns, strict=True):
            file.write(values.tobytes() if isinstance(values, array | np.ndarray) else array(code, values).tobytes())

    def take(self) -> list[NDArray[Any]]:
        """The columns as arrays; their files are removed."""
        self.close()
        return [self._take(name, code) for name, code in self.CODES]

    def _take(self, name: str, code: str) -> NDArray[Any]:
        path = self._folder / f"{name}.column"
        values = np.fromfile(path, np.dtype(code))
        path.unlink()
        return values

    def close(self) -> None:
        """Close the files."""
        for file in self._files:
            file.close()


def edge_order(head: Ints, tail: Ints, relation: Ints, nodes: int) -> NDArray[np.int64]:
    """The order by (head, tail, relation), then of arrival; packed into one key where 64 bits are enough."""
    bits = max(int(nodes - 1).bit_length(), 1)
    if 2 * bits + 16 > 64:
        return np.lexsort((relation, tail, head))
    key = (head.astype(np.uint64) << np.uint64(bits + 16)) | (tail.astype(np.uint64) << np.uint64(16)) | relation
    return np.argsort(key, kind="stable")


def write_adjacency(folder: Path, head: Ints, tail: Ints, relation: Ints, nodes: int) -> None:
    """Both directions, from edges sorted by (head, tail, relation)."""
    save(folder, "out_indptr", indptr(head, nodes))
    save(folder, "out_neighbour", tail)
    save(folder, "out_relation", relation)
    order = np.argsort(tail, kind="stable")  # within a tail the order by (head, relation) stays
    save(folder, "in_indptr", indptr(tail, nodes))
    save(folder, "in_neighbour", head[order])
    save(folder, "in_relation", relation[order])
    save(folder, "in_edge", order.astype(np.int32))
