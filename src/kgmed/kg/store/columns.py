"""The edges of a graph on their way in: spilled to one file a column, sorted once, written in both directions."""

from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kgmed.kg.graph import indptr
from kgmed.kg.store.arena import save
from kgmed.kg.store.supports import Supports

Ints = NDArray[Any]
_CODES = {"head": "i", "tail": "i", "relation": "H", "weight": "f", "support": "I"}
_USUAL = {"weight": 1, "support": 0}  # a column that holds nothing else has no file
_RELATION, _EDGE = np.uint64(16), np.uint64(32)  # bits of a relation's and of an edge's number in a key


class Written(NamedTuple):
    """What was written: how many edges, how many were merged into others, how many join a node to itself."""

    edges: int
    merged: int
    loops: int
    of_relation: tuple[int, ...]


class Columns:
    """The edges as they come: one file a column, written in blocks."""

    def __init__(self, folder: Path) -> None:
        """Begin the files in a folder."""
        self._folder, self._count = folder, 0
        self._files: dict[str, BinaryIO] = {}
        for name in _CODES.keys() - _USUAL.keys():
            self._begin(name)

    def extend(self, head: Ints, tail: Ints, relation: Ints, **unusual: Ints | None) -> None:
        """Write a block of edges; `weight` = None where all are 1, `support` = None where there is none."""
        for name, values in {"head": head, "tail": tail, "relation": relation, **unusual}.items():
            if values is not None and name not in self._files:
                self._begin(name).write(np.full(self._count, _USUAL[name], _CODES[name]).tobytes())
            if name in self._files:
                usual = np.full(len(head), _USUAL.get(name, 0), _CODES[name])
                self._files[name].write(np.asarray(usual if values is None else values, _CODES[name]).tobytes())
        self._count += len(head)

    def finish(self, nodes: int, relations: int, supports: Supports) -> Written:
        """Sort the edges, merge equal ones and write both directions."""
        self.close()
        if self._files.keys() & _USUAL.keys():
            head, tail, relation, merged = self._merged(nodes, supports)
        else:
            head, tail, relation = _sorted(self._take("head"), self._take("tail"), self._take("relation"), nodes)
            merged = self._count - len(head)
        write_adjacency(self._folder, head, tail, relation, nodes)
        counts = np.bincount(relation, minlength=relations)
        return Written(len(head), merged, int((head == tail).sum()), tuple(counts.tolist()))

    def _merged(self, nodes: int, supports: Supports) -> tuple[Ints, Ints, Ints, int]:
        """The edges in order, each once with its largest weight and the support of all; those columns are written."""
        head, tail, relation = (self._take(name) for name in ("head", "tail", "relation"))
        order = _order(head, tail, relation, nodes)
        head, tail, relation = head[order], tail[order], relation[order]
        first = np.ones(len(head), bool)
        first[1:] = (head[1:] != head[:-1]) | (tail[1:] != tail[:-1]) | (relation[1:] != relation[:-1])
        starts = np.flatnonzero(first)
        if "weight" in self._files:
            save(self._folder, "weight", np.maximum.reduceat(self._take("weight")[order], starts))
        if "support" in self._files:
            save(self._folder, "edge_support", supports.merged(self._take("support")[order], starts))
        return head[first], tail[first], relation[first], len(head) - len(starts)

    def _begin(self, name: str) -> BinaryIO:
        file = self._files[name] = (self._folder / f"{name}.column").open("wb")
        return file

    def _take(self, name: str) -> Ints:
        """A column as an array; its file is removed."""
        path = self._folder / f"{name}.column"
        values = np.fromfile(path, np.dtype(_CODES[name]))
        path.unlink()
        return values

    def close(self) -> None:
        """Close the files."""
        for file in self._files.values():
            file.close()


def _bits(nodes: int) -> np.uint64:
    """The bits of a node's number."""
    return np.uint64(max(int(nodes - 1).bit_length(), 1))


def _key(head: Ints, tail: Ints, relation: Ints, bits: np.uint64) -> NDArray[np.uint64]:
    """Numbers in the order of (head, tail, relation), for up to 2^24 nodes."""
    key = head.astype(np.uint64)
    key <<= bits
    key |= tail.view(np.uint32)
    key <<= _RELATION
    key |= relation
    return key


def _order(head: Ints, tail: Ints, relation: Ints, nodes: int) -> NDArray[np.int64]:
    """The order by (head, tail, relation), then of arrival."""
    bits = _bits(nodes)
    if 2 * bits + _RELATION > 64:
        return np.lexsort((relation, tail, head))
    return np.argsort(_key(head, tail, relation, bits), kind="stable")


def _sorted(head: Ints, tail: Ints, relation: Ints, nodes: int) -> tuple[Ints, Ints, Ints]:
    """The distinct edges by (head, tail, relation)."""
    bits = _bits(nodes)
    if 2 * bits + _RELATION > 64:
        rows = np.unique(np.column_stack([head, tail, relation]), axis=0)
        return rows[:, 0], rows[:, 1], rows[:, 2].astype(np.uint16)
    key = _key(head, tail, relation, bits)
    del head, tail, relation
    key.sort()  # in place: several times as fast as finding the order
    differs = key[1:] != key[:-1]
    if not differs.all():
        key = key[np.append(True, differs)]
    del differs
    low = (np.uint64(1) << bits) - np.uint64(1)
    relation = key.astype(np.uint16)
    key >>= _RELATION
    tail = (key & low).astype(np.int32)
    key >>= bits
    return key.astype(np.int32), tail, relation


def write_adjacency(folder: Path, head: Ints, tail: Ints, relation: Ints, nodes: int) -> None:
    """Both directions, from edges sorted by (head, tail, relation)."""
    save(folder, "out_indptr", indptr(head, nodes))
    save(folder, "out_neighbour", tail)
    save(folder, "out_relation", relation)
    save(folder, "in_indptr", indptr(tail, nodes))
    key = tail.astype(np.uint64)
    key <<= _EDGE
    key |= np.arange(len(key), dtype=np.uint32)
    key.sort()  # within a tail the order by (head, relation) stays
    order = key.astype(np.uint32).view(np.int32)
    del key
    save(folder, "in_neighbour", head[order])
    save(folder, "in_relation", relation[order])
    save(folder, "in_edge", order)
