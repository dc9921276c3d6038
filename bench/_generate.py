"""A generated graph of the size of HyKGE's: 1.29 M entities, 3.57 M triples, 60 relations, hubs of about 50,000 edges.

Zipf on both ends; every entity is the tail of at least one triple; parallel edges, as in the graphs it was fused from.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from kgmed.graph.base import EdgeRow, Row, Source

HEAD_EXPONENT, TAIL_EXPONENT = 0.62, 0.86  # give hubs of about 5,000 out and 50,000 in
_FIRST, _CHARACTERS = 0x4E00, 2000  # the CJK block; so many of its characters are used


def hykge_size(*, entities: int = 1_290_000, triples: int = 3_570_000, relations: int = 60, seed: int = 7) -> Source:
    """The source of such a graph; its rows are the same at every call."""
    return Source(
        name="hykge-size",
        rows=lambda: _rows(entities, triples, relations, seed),
        release=f"seed {seed}",
        licence="generated",
        language="zh",
        prefix="gen",
        size=triples,
    )


def _rows(entities: int, triples: int, relations: int, seed: int) -> Iterator[Row]:
    random = np.random.default_rng(seed)
    head, relation, tail = edges(entities, triples, relations, random)
    name, kind = names(entities, random), [f"关系{i}" for i in range(relations)]
    for first in range(0, triples, 1 << 16):
        part = slice(first, first + (1 << 16))
        columns = (head[part].tolist(), relation[part].tolist(), tail[part].tolist())
        yield from (EdgeRow(name[h], kind[r], name[t]) for h, r, t in zip(*columns, strict=True))


def edges(
    entities: int, triples: int, relations: int, random: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Head, relation and tail of exactly so many distinct triples, in random order."""
    many = triples + triples // 20
    place = random.permutation(entities)  # what is named often stands on both sides often
    head = place[_zipf(entities, many, HEAD_EXPONENT, random)]
    tail = place[_zipf(entities, many, TAIL_EXPONENT, random)]
    tail[:entities] = random.permutation(entities)
    relation = np.minimum(random.zipf(1.3, many) - 1, relations - 1)
    packed = (head * entities + tail) * relations + relation
    _, first = np.unique(packed, return_index=True)
    kept = random.permutation(np.sort(first)[:triples])
    return head[kept], relation[kept], tail[kept]


def _zipf(n: int, many: int, exponent: float, random: np.random.Generator) -> NDArray[np.int64]:
    """Ranks 0..n-1, rank r with a probability in proportion to (r + 1) ** -exponent."""
    cumulative = np.cumsum(np.arange(1, n + 1) ** -exponent)
    return np.asarray(np.searchsorted(cumulative, random.random(many) * cumulative[-1]), np.int64)


def names(many: int, random: np.random.Generator) -> list[str]:
    """Distinct names of 3 to 12 Chinese characters."""
    letters = [chr(_FIRST + i) for i in range(_CHARACTERS)]
    endings = ["".join(letters[i] for i in random.integers(0, 500, random.integers(1, 11))) for _ in range(997)]
    return [letters[i % _CHARACTERS] + letters[i // _CHARACTERS] + endings[i % 997] for i in range(many)]
