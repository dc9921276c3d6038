"""A trained network at work: texts in, entities out."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import nn

from kgmed.models.w2ner import grid
from kgmed.models.w2ner.network import mask
from kgmed.models.w2ner.settings import Architecture
from kgmed.models.w2ner.units import Found, Unit, Window, parts, units, windows

_CELLS = 1 << 17  # of the grids that are made at once


class _Piece(NamedTuple):
    """A window of the text number `text`."""

    text: int
    window: Window
    words: list[str]


@dataclass(frozen=True)
class Labeller:
    """Finds entities in texts of any length: in windows that overlap, each entity in the one where its head is."""

    network: nn.Module  # as `W2NER`
    kinds: Sequence[str]
    architecture: Architecture

    def __call__(self, texts: Sequence[str]) -> list[list[Found]]:
        """The entities of each text, by their place."""
        found = [units(text) for text in texts]
        pieces = [piece for i, words in enumerate(found) for piece in self._pieces(i, words)]
        made: list[set[Found]] = [set() for _ in texts]
        for some in _batches(pieces):
            for piece, entities in zip(some, self._entities([p.words for p in some]), strict=True):
                _, start, _, first, last = piece.text, *piece.window
                made[piece.text].update(
                    Found(kind, parts(found[piece.text], [start + i for i in at]))
                    for kind, at in entities
                    if first <= start + at[0] < last
                )
        return [sorted(one, key=lambda f: (f.parts, f.kind)) for one in made]

    def _pieces(self, number: int, words: Sequence[Unit]) -> Iterator[_Piece]:
        """The windows of a text."""
        for window in windows(len(words), self.architecture.window, self.architecture.overlap):
            yield _Piece(number, window, [u.text for u in words[window.start : window.end]])

    def _entities(self, batch: Sequence[Sequence[str]]) -> list[list[grid.Entity]]:
        """The entities of each of a few windows."""
        self.network.train(mode=False)
        with torch.inference_mode():
            best = self.network(batch).argmax(-1).cpu() * mask(torch.tensor([len(words) for words in batch]))
        made: list[grid.Cells] = [{} for _ in batch]
        for text, row, column in best.nonzero().tolist():
            made[text][row, column] = int(best[text, row, column])
        return [grid.entities(cells, self.kinds) for cells in made]


def _batches(pieces: Sequence[_Piece]) -> Iterator[list[_Piece]]:
    """The windows, those of like length together, so many at a time that their grids stay small."""
    batch: list[_Piece] = []
    for piece in sorted(pieces, key=lambda p: (len(p.words), p.text, p.window)):
        if batch and (len(batch) + 1) * len(piece.words) ** 2 > _CELLS:
            yield batch
            batch = []
        batch.append(piece)
    if batch:
        yield batch
