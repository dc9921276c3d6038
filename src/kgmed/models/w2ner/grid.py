"""Entities as relations in a grid of words, and back (W2NER, section "NER as word-word relation classification").

NNW at (i, j): word j follows word i in some entity. THW of a type at (j, i): an entity of that type has its tail at j
and its head at i. Flat, nested and discontinuous entities are all paths along NNW from a head to its tail. Two
entities of different types over the same words cannot both be held: a cell has one relation.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

NONE, NNW, THW = 0, 1, 2  # THW = the first type's; the others follow
_MOST = 32  # paths from one head to one tail; more are noise
Cells = dict[tuple[int, int], int]


class Entity(NamedTuple):
    """A type and the numbers of the words, in order."""

    kind: str
    at: tuple[int, ...]


def cells(entities: Iterable[Entity], kinds: Sequence[str]) -> Cells:
    """The relation of each cell (row, column) that has one.

    >>> cells([Entity("dis", (0, 1)), Entity("bod", (0,))], ["bod", "dis"])
    {(0, 1): 1, (1, 0): 3, (0, 0): 2}
    """
    made: Cells = {}
    for kind, at in entities:
        made.update(dict.fromkeys(pairwise(at), NNW))
        made[at[-1], at[0]] = THW + kinds.index(kind)
    return made


def entities(found: Mapping[tuple[int, int], int], kinds: Sequence[str]) -> list[Entity]:
    """The entities that the relations tell of, by their words; relations that no entity can have are passed over.

    >>> entities({(0, 1): 1, (1, 2): 1, (1, 4): 1, (2, 0): 2, (4, 0): 2, (3, 1): 2}, ["sym"])
    [Entity(kind='sym', at=(0, 1, 2)), Entity(kind='sym', at=(0, 1, 4))]
    """
    after: dict[int, list[int]] = {}
    for (i, j), relation in sorted(found.items()):
        if relation == NNW and i < j:
            after.setdefault(i, []).append(j)
    return sorted(
        (
            Entity(kinds[relation - THW], path)
            for (tail, head), relation in found.items()
            if relation >= THW and head <= tail
            for path in _paths(head, tail, after)
        ),
        key=lambda e: (e.at, e.kind),
    )


def _paths(head: int, tail: int, after: Mapping[int, Sequence[int]]) -> Iterator[tuple[int, ...]]:
    """The ways from head to tail, at most so many, those through near words first."""
    leads = _leading(head, tail, after)
    ways: list[tuple[int, ...]] = [(head,)] if head in leads else []
    done = 0
    while ways and done < _MOST:
        way = ways.pop()
        if way[-1] == tail:
            done += 1
            yield way
        else:
            ways.extend((*way, j) for j in reversed(after.get(way[-1], ())) if j in leads)


def _leading(head: int, tail: int, after: Mapping[int, Sequence[int]]) -> set[int]:
    """The words from which the tail can be reached."""
    leads = {tail}
    for i in range(tail - 1, head - 1, -1):
        if any(j in leads for j in after.get(i, ())):
            leads.add(i)
    return leads
