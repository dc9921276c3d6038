"""What a reader of a graph file yields, row by row, before there is a graph.

A reader is a function `(path, ...) -> Source`. Its `rows()` may be called again and starts from the first row.
Rows may come in any order: an edge may name an entity whose `NodeRow` comes later or never.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from itertools import repeat
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kgmed.types import Relation, Support


class Scope(IntEnum):
    """How close another name is to the entity; the order is the order of trust."""

    PREFERRED = 0
    EXACT = 1
    LAYPERSON = 2
    TRANSLATION = 3  # the name in another language
    ABBREVIATION = 4
    BRAND = 5
    NARROW = 6
    RELATED = 7
    BROAD = 8
    XREF = 9  # an identifier in another vocabulary


class Alias(NamedTuple):
    """Another name of an entity."""

    text: str
    scope: Scope = Scope.EXACT


class NodeRow(NamedTuple):
    """An entity. `key` is its id, without the source's prefix where it has one. A later row adds to an earlier one."""

    key: str
    name: str = ""  # "" = the key is the name
    kind: str = ""
    description: str = ""
    aliases: tuple[Alias, ...] = ()


class EdgeRow(NamedTuple):
    """A triple between two entities, by key. Equal ones are merged: their support adds up, the largest weight stays."""

    head: str
    relation: str
    tail: str
    weight: float = 1.0
    support: tuple[Support, ...] = ()


class TextRow(NamedTuple):
    """An attribute: a text about an entity (a dosage, a caution) that is no entity itself."""

    key: str
    relation: str
    text: str
    support: tuple[Support, ...] = ()


class DroppedRow(NamedTuple):
    """A row left out for a reason that does not damage the rest, such as NaN; counted and shown by `doctor`."""

    reason: str
    line: int


Row = NodeRow | EdgeRow | TextRow | DroppedRow
Told = NodeRow | TextRow | DroppedRow
Codes = NDArray[np.integer[Any]]
_NO_CODES = np.empty(0, np.int32)


class Batch(NamedTuple):
    """Many rows at once: edges of weight 1 without support as columns of codes (k,), the other rows one by one."""

    told: Sequence[Told]
    head: Codes = _NO_CODES
    relation: Codes = _NO_CODES
    tail: Codes = _NO_CODES


@dataclass(frozen=True, eq=False)
class Batches:
    """Rows that a reader has as columns: iterated they come one by one, `batches` gives them as they are.

    Codes are small numbers from 0 that the reader gives to keys and relations as it likes; `keys` and `relations`
    turn them into texts.
    """

    batches: Iterable[Batch]
    keys: Callable[[list[int]], list[str]]
    relations: Callable[[list[int]], list[str]]

    def __iter__(self) -> Iterator[Row]:
        """The rows one by one: of each batch first the edges."""
        for told, *columns in self.batches:
            head, relation, tail = (codes.tolist() for codes in columns)
            edges = zip(self.keys(head), self.relations(relation), self.keys(tail), repeat(1.0), repeat(()))
            yield from map(tuple.__new__, repeat(EdgeRow), edges)  # three times as fast as EdgeRow(*edge)
            yield from told


@dataclass(frozen=True)
class Source:
    """A graph on its way in: where it comes from, what its relations mean, and its rows."""

    name: str
    rows: Callable[[], Iterable[Row]]  # may be `Batches`
    release: str = ""
    licence: str = ""
    citation: str = ""
    language: str = ""  # ISO 639-1 of its names
    prefix: str = ""  # put before every key, as in cmekg:肺炎; "" = keys are CURIEs already
    relations: Mapping[str, Relation] = field(default_factory=dict)  # those not named here are inferred by name
    kinds: Mapping[str, tuple[str, str]] = field(default_factory=dict)  # relation -> kind of head, kind of tail
    inputs: tuple[Path, ...] = ()  # the files it is read from; their hash tells whether a build is needed
    size: int = 0  # bytes or rows to come, for the progress bar; 0 = not known
