"""The network of W2NER: a grid of word pairs, refined by convolutions, classified by two predictors.

Shapes: b texts, n words, d hidden, c channels, r relations. Equations are numbered as in the paper where named.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from kgmed.models.w2ner.grid import NONE
from kgmed.models.w2ner.settings import Architecture

_MOSTLY_NONE = 5.0  # ours: nearly all cells have no relation, and the network begins with that
_FAR = 9  # distances are told apart as 0, 1, 2-3, 4-7, ... up to 2 ** 8 and more


class W2NER(nn.Module):
    """Scores for every relation of every pair of words."""

    def __init__(self, architecture: Architecture, encoder: nn.Module, width: int, relations: int) -> None:
        """`encoder` turns a batch of lists of units into (b, n, width); `relations` counts NONE and NNW."""
        super().__init__()
        a = architecture
        self.encoder = encoder
        self.lstm = nn.LSTM(width, a.hidden // 2, batch_first=True, bidirectional=True)
        self.grid = Grid(a)
        self.convolutions = Convolutions(a.channels, a.dilations, a.dropout)
        self.biaffine = Biaffine(a.hidden, a.biaffine, relations, a.dropout)
        self.perceptron = nn.Sequential(  # of each cell by itself
            nn.Conv2d(a.channels * len(a.dilations), a.perceptron, 1), nn.GELU(), nn.Conv2d(a.perceptron, relations, 1)
        )
        self.dropout = nn.Dropout(a.dropout)
        nn.init.zeros_(self.biaffine.of_subject.bias)
        self.biaffine.of_subject.bias.data[NONE] = _MOSTLY_NONE

    def forward(self, batch: Sequence[Sequence[str]]) -> Tensor:
        """Scores (b, n, n, r) before the softmax; rows and columns beyond a text's length mean nothing."""
        lengths = torch.tensor([len(words) for words in batch])
        h = self.dropout(self._words(self.dropout(self.encoder(batch)), lengths))
        inside = mask(lengths).to(h.device)
        refined = self.convolutions(self.grid(h), inside)
        scores: Tensor = self.biaffine(h) + self.perceptron(refined).permute(0, 2, 3, 1)
        return scores

    def _words(self, embedded: Tensor, lengths: Tensor) -> Tensor:
        """The words in their context (b, n, d)."""
        packed = pack_padded_sequence(embedded, lengths, batch_first=True, enforce_sorted=False)
        states: Tensor = pad_packed_sequence(self.lstm(packed)[0], batch_first=True)[0]
        return states


class Grid(nn.Module):
    """Pairs of words as c numbers: conditional layer norm, distance and region, mixed by a perceptron.

    The perceptron's layer is linear before its GELU, so the parts of its sum are worked out where they are cheap: the
    d numbers of a pair are never made, and what distance and region add is looked up. The result is that of the
    concatenation in the paper.
    """

    def __init__(self, a: Architecture) -> None:
        """Make the layers."""
        super().__init__()
        self.scale = nn.Linear(a.hidden, a.hidden)
        self.shift = nn.Linear(a.hidden, a.hidden)
        nn.init.ones_(self.scale.bias)
        nn.init.zeros_(self.shift.bias)
        self.distance = nn.Embedding(2 * _FAR + 1, a.distance)
        self.region = nn.Embedding(2, a.region)
        self.of_pair = nn.Linear(a.hidden, a.channels)
        self.of_distance = nn.Linear(a.distance, a.channels, bias=False)
        self.of_region = nn.Linear(a.region, a.channels, bias=False)
        self.dropout = nn.Dropout2d(a.dropout)

    def forward(self, h: Tensor) -> Tensor:
        """The grid (b, c, n, n) of words (b, n, d)."""
        places = torch.arange(h.shape[1], device=h.device)
        apart = places.unsqueeze(0) - places.unsqueeze(1)
        there = self.of_distance(self.distance.weight)[buckets(apart)]
        side = self.of_region(self.region.weight)[(apart >= 0).long()]
        mixed: Tensor = self.dropout(functional.gelu(self._pairs(h) + (there + side).permute(2, 0, 1)))
        return mixed

    def _pairs(self, h: Tensor) -> Tensor:
        """`of_pair` (b, c, n, n) of scale(h_i) x normal(h_j) + shift(h_i)."""
        b, n, d = h.shape
        normal = functional.layer_norm(h, (d,))
        rows = self.scale(h).unsqueeze(1) * self.of_pair.weight.unsqueeze(1)  # (b, c, n, d)
        products = (rows.flatten(1, 2) @ normal.transpose(1, 2)).view(b, -1, n, n)
        pairs: Tensor = products + self.of_pair(self.shift(h)).transpose(1, 2).unsqueeze(3)
        return pairs


class Convolutions(nn.Module):
    """The grid at several dilations, side by side; each channel is convolved by itself."""

    def __init__(self, channels: int, dilations: Sequence[int], dropout: float) -> None:
        """Make one layer for each dilation."""
        super().__init__()
        self.layers = nn.ModuleList(
            nn.Conv2d(channels, channels, 3, padding=rate, dilation=rate, groups=channels) for rate in dilations
        )
        self.dropout = nn.Dropout2d(dropout)

    def forward(self, grid: Tensor, inside: Tensor) -> Tensor:
        """(b, c x dilations, n, n) of a grid (b, c, n, n); cells that are not `inside` (b, n, n) count as 0."""
        planes = grid * inside.unsqueeze(1)
        refined: Tensor = self.dropout(functional.gelu(torch.cat([layer(planes) for layer in self.layers], 1)))
        return refined


class Biaffine(nn.Module):
    """Scores of pairs from the words alone: s U o + W[s; o] + b."""

    def __init__(self, hidden: int, width: int, relations: int, dropout: float) -> None:
        """Make the two perceptrons and the tensor between them."""
        super().__init__()
        self.subject = nn.Sequential(nn.Linear(hidden, width), nn.GELU(), nn.Dropout(dropout))
        self.object = nn.Sequential(nn.Linear(hidden, width), nn.GELU(), nn.Dropout(dropout))
        self.both = nn.Parameter(torch.empty(relations, width, width))
        self.of_subject = nn.Linear(width, relations)
        self.of_object = nn.Linear(width, relations, bias=False)
        nn.init.xavier_uniform_(self.both)

    def forward(self, h: Tensor) -> Tensor:
        """Scores (b, n, n, r) of words (b, n, d)."""
        s, o = self.subject(h), self.object(h)
        bilinear = torch.einsum("bxi,rij,byj->bxyr", s, self.both, o)
        scores: Tensor = bilinear + self.of_subject(s).unsqueeze(2) + self.of_object(o).unsqueeze(1)
        return scores


def buckets(apart: Tensor) -> Tensor:
    """The number of the bucket of each signed distance: its sign and its order of magnitude.

    >>> buckets(torch.tensor([-300, -2, -1, 0, 1, 2, 3, 4])).tolist()
    [0, 7, 8, 9, 10, 11, 11, 12]
    """
    size = torch.log2(apart.abs().clamp(min=1).double()).floor().long() + 1
    return _FAR + apart.sign() * size.clamp(max=_FAR)


def mask(lengths: Tensor) -> Tensor:
    """Which cells (b, n, n) are pairs of words of a text.

    >>> mask(torch.tensor([1, 2])).int().tolist()
    [[[1, 0], [0, 0]], [[1, 1], [1, 1]]]
    """
    inside = torch.arange(int(lengths.max())).unsqueeze(0) < lengths.unsqueeze(1)
    return inside.unsqueeze(2) & inside.unsqueeze(1)


def loss(scores: Tensor, relations: Tensor, inside: Tensor) -> Tensor:
    """The mean over texts of the mean cross-entropy of their cells (b, n, n), as in the paper."""
    each = functional.cross_entropy(scores.flatten(0, 2), relations.flatten(), reduction="none").view_as(relations)
    return ((each * inside).sum((1, 2)) / inside.sum((1, 2))).mean()
