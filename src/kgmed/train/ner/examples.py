"""What a network learns from: windows of texts, and the relations in them."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from kgmed.evaluate.ner_texts import Sample
from kgmed.models.w2ner import grid
from kgmed.models.w2ner.settings import Architecture
from kgmed.models.w2ner.units import covered, units, windows


class Example(NamedTuple):
    """The units of a window, and the entities that lie in it."""

    words: list[str]
    entities: list[grid.Entity]


@dataclass
class Lost:
    """Entities that cannot be learnt; in dev and test they count as any other."""

    within_a_unit: int = 0  # one end is not that of a unit
    of_two_types: int = 0  # the same words have another type, which is kept
    beyond_the_window: int = 0  # in no window as a whole

    def __str__(self) -> str:
        """The counts in words.

        >>> str(Lost(within_a_unit=2))
        '2 within a unit, 0 of two types, 0 beyond the window'
        """
        return ", ".join(f"{n} {name.replace('_', ' ')}" for name, n in asdict(self).items())


def examples(samples: Sequence[Sample], a: Architecture, lost: Lost) -> list[Example]:
    """The windows of all samples; what of them cannot be learnt is counted in `lost`."""
    return [example for sample in samples for example in _windows(sample, a, lost)]


def _windows(sample: Sample, a: Architecture, lost: Lost) -> Iterator[Example]:
    """The windows of one sample."""
    found = units(sample.text)
    entities = _numbered(sample, lost)
    held: set[grid.Entity] = set()
    for start, end, _, _ in windows(len(found), a.window, a.overlap):
        inside = [e for e in entities if start <= e.at[0] and e.at[-1] < end]
        held.update(inside)
        moved = [grid.Entity(e.kind, tuple(i - start for i in e.at)) for e in inside]
        yield Example([u.text for u in found[start:end]], moved)
    lost.beyond_the_window += len(set(entities) - held)


def _numbered(sample: Sample, lost: Lost) -> list[grid.Entity]:
    """The entities of a sample by the numbers of their units."""
    found = units(sample.text)
    by_place: dict[tuple[int, ...], str] = {}
    for kind, parts in sample.entities:
        at = covered(found, parts)
        if not at:
            lost.within_a_unit += 1
        elif by_place.setdefault(at, kind) != kind:
            lost.of_two_types += 1
    return [grid.Entity(kind, at) for at, kind in by_place.items()]


def relations(batch: Sequence[Example], kinds: Sequence[str]) -> Tensor:
    """The relation (b, n, n) of every pair of words."""
    n = max(len(e.words) for e in batch)
    made = torch.zeros(len(batch), n, n, dtype=torch.long)
    for of_text, example in zip(made, batch, strict=True):
        for (row, column), relation in grid.cells(example.entities, kinds).items():
            of_text[row, column] = relation
    return made
