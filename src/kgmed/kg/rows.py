"""What a reader of a graph file yields, row by row, before there is a graph.

A reader is a function `(path, ...) -> Source`. Its `rows()` may be called again and starts from the first row.
Rows may come in any order: an edge may name an entity whose `NodeRow` comes later or never.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from typing import NamedTuple

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


@dataclass(frozen=True)
class Source:
    """A graph on its way in: where it comes from, what its relations mean, and its rows."""

    name: str
    rows: Callable[[], Iterator[Row]]
    release: str = ""
    licence: str = ""
    citation: str = ""
    language: str = ""  # ISO 639-1 of its names
    prefix: str = ""  # put before every key, as in cmekg:肺炎; "" = keys are CURIEs already
    relations: Mapping[str, Relation] = field(default_factory=dict)  # those not named here are inferred by name
    kinds: Mapping[str, tuple[str, str]] = field(default_factory=dict)  # relation -> kind of head, kind of tail
    inputs: tuple[Path, ...] = ()  # the files it is read from; their hash tells whether a build is needed
    size: int = 0  # bytes or rows to come, for the progress bar; 0 = not known
