"""The units that a text is tagged by, and the windows over them.

A unit is a character of Chinese or Japanese, a run of other letters, a run of digits, or a single mark; spaces are
none. So "SARS病" has two units. An entity that ends within one cannot be found; `kgmed train ner` says how many do.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_UNIT = re.compile(rf"[{_CJK}]|[^\W\d_{_CJK}]+|\d+|[^\w\s]|_")
Part = tuple[int, int]  # text[start:end]


class Found(NamedTuple):
    """An entity in a text: its type and its parts; one part, or several where it is discontinuous."""

    kind: str
    parts: tuple[Part, ...]


class Unit(NamedTuple):
    """A unit and where it stands: text[start:end]."""

    text: str
    start: int
    end: int


class Window(NamedTuple):
    """The units [start:end], of which the entities that begin in [first:last] are this window's."""

    start: int
    end: int
    first: int
    last: int


def units(text: str) -> list[Unit]:
    """The units of a text, in order.

    >>> [u.text for u in units("SARS病 38.5%")]
    ['SARS', '病', '38', '.', '5', '%']
    """
    return [Unit(m.group(), m.start(), m.end()) for m in _UNIT.finditer(text)]


def windows(count: int, longest: int, overlap: int) -> Iterator[Window]:
    """Windows that cover `count` units; every unit is in [first:last] of exactly one.

    >>> list(windows(10, 6, 2))
    [Window(start=0, end=6, first=0, last=5), Window(start=4, end=10, first=5, last=10)]
    >>> list(windows(6, 6, 2)), list(windows(0, 6, 2))
    ([Window(start=0, end=6, first=0, last=6)], [])
    """
    start = first = 0
    while first < count:
        end = min(start + longest, count)
        last = count if end == count else end - (overlap + 1) // 2
        yield Window(start, end, first, last)
        start, first = end - overlap, last


def covered(found: Sequence[Unit], parts: Sequence[Part]) -> tuple[int, ...] | None:
    """The numbers of the units that the parts cover; None where a part begins or ends within a unit.

    >>> covered(units("胃SARS病"), [(0, 1), (5, 6)]), covered(units("胃SARS病"), [(0, 2)])
    ((0, 2), None)
    """
    starts = {u.start: i for i, u in enumerate(found)}
    ends = {u.end: i for i, u in enumerate(found)}
    at: list[int] = []
    for start, end in parts:
        if start not in starts or end not in ends:
            return None
        at.extend(range(starts[start], ends[end] + 1))
    return tuple(at)


def parts(found: Sequence[Unit], at: Sequence[int]) -> tuple[Part, ...]:
    """The stretches of text of some units, neighbours joined.

    >>> parts(units("手指和脚趾痛"), (0, 1, 5))
    ((0, 2), (5, 6))
    """
    made: list[Part] = []
    for before, i in zip((None, *at), at, strict=False):
        if made and before == i - 1:
            made[-1] = (made[-1][0], found[i].end)
        else:
            made.append((found[i].start, found[i].end))
    return tuple(made)
