"""W2NER (Li et al., AAAI 2022, arXiv 2112.10070) without its network: units of a text, windows, and entities as a grid
of word
relations.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from itertools import pairwise
from typing import Any, Literal, NamedTuple

from kgmed.errors import BadInput

# --- The units that a text is tagged by, and the windows over them.
# A unit is a character of Chinese or Japanese, a run of other letters, a run of digits, or a single mark; spaces are
# none. So "SARS病" has two units. An entity that ends within one cannot be found; `kgmed train ner` says how many do.


_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_UNIT = re.compile(rf"[{_CJK}]|[^\W\d_{_CJK}]+|\d+|[^\w\s]|_")
Part = tuple[int, int]  # text[start:end]


class FoundEntity(NamedTuple):
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


def covered_units(found: Sequence[Unit], parts: Sequence[Part]) -> tuple[int, ...] | None:
    """The numbers of the units that the parts cover; None where a part begins or ends within a unit.

    >>> covered_units(units("胃SARS病"), [(0, 1), (5, 6)]), covered_units(units("胃SARS病"), [(0, 2)])
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


def joined_parts(found: Sequence[Unit], at: Sequence[int]) -> tuple[Part, ...]:
    """The stretches of text of some units, neighbours joined.

    >>> joined_parts(units("手指和脚趾痛"), (0, 1, 5))
    ((0, 2), (5, 6))
    """
    made: list[Part] = []
    for before, i in zip((None, *at), at, strict=False):
        if made and before == i - 1:
            made[-1] = (made[-1][0], found[i].end)
        else:
            made.append((found[i].start, found[i].end))
    return tuple(made)


# --- The numbers of the network, those of HyKGE as defaults.


Preset = Literal["paper", "code", "small"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Architecture:
    """The shape of a network; "paper" and "code" are those of HyKGE (arXiv 2312.15883)."""

    encoder: str = ""  # folder or hub name of a transformer; "" = embeddings of units, learnt from nothing
    vectors: str = ""  # name of a kgmed encoder whose frozen vectors of the units stand beside the learnt ones
    embedding: int = 128  # ours: of a unit, and of two neighbours; not used with a transformer
    hidden: int = 1024  # paper, both directions of the LSTM together; 512 in the code
    distance: int = 20  # W2NER
    region: int = 20  # W2NER
    channels: int = 128  # code; not in HyKGE's paper
    dilations: tuple[int, ...] = (1, 2, 3)  # W2NER; 1 to 4 in HyKGE's code
    biaffine: int = 512  # code
    perceptron: int = 128  # ours: hidden width of the perceptron over the convolutions
    dropout: float = 0.5  # W2NER
    window: int = 128  # ours: units that are looked at together
    overlap: int = 48  # ours: units that two windows share; an entity up to half as long is never cut

    def __post_init__(self) -> None:
        """Raise `BadInput` for numbers that make no network."""
        least = {"embedding": 1, "hidden": 2, "distance": 1, "region": 1, "channels": 1, "biaffine": 1, "perceptron": 1}
        for name, number in least.items():
            if getattr(self, name) < number:
                raise BadInput(f"{name} is {getattr(self, name)}; it must be at least {number}")
        if self.hidden % 2:
            raise BadInput(f"hidden is {self.hidden}; it is of two directions and must be even")
        if not self.dilations or min(self.dilations) < 1:
            raise BadInput(f"dilations are {self.dilations}; give at least one, each at least 1")
        if not 0 <= self.dropout < 1:
            raise BadInput(f"dropout is {self.dropout}; it must be from 0 to below 1")
        if not 0 <= self.overlap < self.window:
            raise BadInput(f"a window of {self.window} units cannot share {self.overlap} with the next; share fewer")


PAPER = Architecture()
PRESETS: dict[Preset, Architecture] = {
    "paper": PAPER,
    "code": replace(PAPER, hidden=512, dilations=(1, 2, 3, 4)),
    "small": replace(  # ours: for one core without a GPU
        PAPER, embedding=96, hidden=256, channels=32, biaffine=64, perceptron=32, dropout=0.3, window=64, overlap=32
    ),
}


def to_plain(architecture: Architecture) -> dict[str, Any]:
    """The numbers as plain data.

    >>> from_plain(to_plain(PAPER)) == PAPER
    True
    """
    return {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(architecture).items()}


def from_plain(plain: object) -> Architecture:
    """The numbers from plain data; raises `BadInput` for a name, a kind or a number that cannot be."""
    known = {f.name: getattr(PAPER, f.name) for f in fields(Architecture)}
    if not isinstance(plain, Mapping) or set(plain) != set(known):
        raise BadInput(f"the network needs exactly the settings {', '.join(known)}")
    for name, value in plain.items():
        items = value if name == "dilations" and isinstance(value, list) else [value]
        kind = int if name == "dilations" else type(known[name])
        if not all(type(item) in ((int, float) if kind is float else (kind,)) for item in items):
            raise BadInput(f"the setting {name} is {value!r}, which is no {kind.__name__}")
    return Architecture(**{**plain, "dilations": tuple(plain["dilations"])})


# --- The numbers of the training of a tagger, those of HyKGE as defaults.


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """How a tagger is trained; "paper" and "code" are those of HyKGE (arXiv 2312.15883)."""

    epochs: int = 10  # code
    batch: int = 8  # code
    rate: float = 1e-3  # paper and code: of everything but a transformer
    encoder_rate: float = 5e-6  # code: of the transformer
    decay: float = 1e-4  # paper; 0 in the code
    warmup: float = 0.1  # ours: share of the steps in which the rates rise; they fall to 0 in the others
    clip: float = 5.0  # ours: greatest norm of a step's gradient
    patience: int = 5  # ours: epochs without a better F1 on dev after which it stops
    seed: int = 0
    split_seed: int = 0  # which samples are train, dev and test

    def __post_init__(self) -> None:
        """Raise `BadInput` for numbers that nothing can be trained with."""
        for name in ("epochs", "batch", "patience"):
            if getattr(self, name) < 1:
                raise BadInput(f"{name} is {getattr(self, name)}; it must be at least 1")
        for name in ("rate", "clip"):
            if not getattr(self, name) > 0:
                raise BadInput(f"{name} is {getattr(self, name)}; it must be above 0")
        if not 0 <= self.warmup < 1:
            raise BadInput(f"warmup is {self.warmup}; it is a share, from 0 to below 1")


# ours: with embeddings learnt from nothing
TRAININGS: dict[Preset, Training] = {"paper": Training(), "code": Training(decay=0.0), "small": Training(rate=2e-3)}


# --- Entities as relations in a grid of words, and back (W2NER, section "NER as word-word relation classification").
# NNW at (i, j): word j follows word i in some entity. THW of a type at (j, i): an entity of that type has its tail at j
# and its head at i. Flat, nested and discontinuous entities are all paths along NNW from a head to its tail. Two
# entities of different types over the same words cannot both be held: a cell has one relation.


NONE, NNW, THW = 0, 1, 2  # THW = the first type's; the others follow
_MOST = 32  # paths from one head to one tail; more are noise
Cells = dict[tuple[int, int], int]


class GridEntity(NamedTuple):
    """A type and the numbers of the words, in order."""

    kind: str
    at: tuple[int, ...]


def cells(entities: Iterable[GridEntity], kinds: Sequence[str]) -> Cells:
    """The relation of each cell (row, column) that has one.

    >>> cells([GridEntity("dis", (0, 1)), GridEntity("bod", (0,))], ["bod", "dis"])
    {(0, 1): 1, (1, 0): 3, (0, 0): 2}
    """
    made: Cells = {}
    for kind, at in entities:
        made.update(dict.fromkeys(pairwise(at), NNW))
        made[at[-1], at[0]] = THW + kinds.index(kind)
    return made


def entities(found: Mapping[tuple[int, int], int], kinds: Sequence[str]) -> list[GridEntity]:
    """The entities that the relations tell of, by their words; relations that no entity can have are passed over.

    >>> entities({(0, 1): 1, (1, 2): 1, (1, 4): 1, (2, 0): 2, (4, 0): 2, (3, 1): 2}, ["sym"])
    [GridEntity(kind='sym', at=(0, 1, 2)), GridEntity(kind='sym', at=(0, 1, 4))]
    """
    after: dict[int, list[int]] = {}
    for (i, j), relation in sorted(found.items()):
        if relation == NNW and i < j:
            after.setdefault(i, []).append(j)
    return sorted(
        (
            GridEntity(kinds[relation - THW], path)
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
