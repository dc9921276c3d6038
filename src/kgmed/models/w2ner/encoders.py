"""What turns the units of texts into numbers: embeddings learnt from nothing, or a transformer."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from kgmed.stages import Encoder

_RARE = 2  # units and pairs seen less often in training are the unknown one
_END = "\n"  # no unit: what stands before the first and after the last


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The units, and the pairs of neighbours, that have an embedding; 0 = any other."""

    units: tuple[str, ...] = ()
    pairs: tuple[str, ...] = ()


def vocabulary(texts: Iterable[Sequence[str]]) -> Vocabulary:
    """The units and pairs that stand in the texts often enough, sorted."""
    units: Counter[str] = Counter()
    pairs: Counter[str] = Counter()
    for text in texts:
        forms = [form(unit) for unit in text]
        units.update(forms)
        pairs.update(_pairs(forms))
    return Vocabulary(_often(units), _often(pairs))


def _often(counted: Counter[str]) -> tuple[str, ...]:
    return tuple(sorted(key for key, n in counted.items() if n >= _RARE))


def form(unit: str) -> str:
    """A unit as it is looked up: in small letters, numbers by their length.

    >>> form("SARS"), form("38")
    ('sars', '00')
    """
    return "0" * len(unit) if unit.isdigit() else unit.lower()


def _pairs(forms: Sequence[str]) -> Iterator[str]:
    """Each unit with the one before it, and one more at the end.

    >>> list(_pairs(["a", "b"]))
    ['\\n a', 'a b', 'b \\n']
    """
    return (f"{a} {b}" for a, b in pairwise([_END, *forms, _END]))


class Embeddings(nn.Module):
    """A unit as its own embedding beside those of the pairs it stands in, and the frozen vector of another encoder."""

    def __init__(self, known: Vocabulary, size: int, vectors: Encoder | None = None) -> None:
        """`size` of each embedding; where `vectors` are given they come from that encoder, for unknown units too."""
        super().__init__()
        self._units = {unit: i for i, unit in enumerate(known.units, start=1)}
        self._pairs = {pair: i for i, pair in enumerate(known.pairs, start=1)}
        self.unit = nn.Embedding(len(known.units) + 1, size)
        self.pair = nn.Embedding(len(known.pairs) + 1, size)
        self._vectors = vectors
        self._kept: dict[str, Tensor] = {}
        self.width = 3 * size + (vectors.dimensions if vectors else 0)

    def forward(self, batch: Sequence[Sequence[str]]) -> Tensor:
        """(b, n, width); beyond a text's length 0."""
        return pad_sequence([self._text([form(unit) for unit in text]) for text in batch], batch_first=True)

    def _text(self, forms: list[str]) -> Tensor:
        """(n, width) of one text."""
        device = self.unit.weight.device
        units = torch.tensor([self._units.get(f, 0) for f in forms], device=device)
        pairs = self.pair(torch.tensor([self._pairs.get(p, 0) for p in _pairs(forms)], device=device))
        found = [self.unit(units), pairs[:-1], pairs[1:]]
        if self._vectors:
            found.append(self._frozen(forms, self._vectors).to(device))
        return torch.cat(found, 1)

    def _frozen(self, forms: list[str], encode: Encoder) -> Tensor:
        """The vectors (n, dimensions) of the encoder, each computed once."""
        new = [f for f in dict.fromkeys(forms) if f not in self._kept]
        self._kept.update(zip(new, torch.from_numpy(encode(new)), strict=True))
        return torch.stack([self._kept[f] for f in forms])


class Transformer(nn.Module):
    """A unit as the largest of each number over its word pieces (W2NER, max pooling)."""

    def __init__(self, model: Any, tokenizer: Any) -> None:
        """A model and a tokenizer of `transformers`."""
        super().__init__()
        self.model = model
        self._tokenizer = tokenizer
        self._first, self._last = _around(tokenizer)
        named = (tokenizer.model_max_length, getattr(model.config, "max_position_embeddings", 512))
        self._longest = min(512, *(int(n) for n in named if n)) - len(self._first) - len(self._last)
        self.width = int(model.config.hidden_size)

    def forward(self, batch: Sequence[Sequence[str]]) -> Tensor:
        """(b, n, width); beyond a text's length 0."""
        pieces = [self._pieces(text) for text in batch]
        whole = [[*self._first, *(i for unit in text for i in unit), *self._last] for text in pieces]
        tokens = self._tokenizer.pad({"input_ids": whole}, return_tensors="pt").to(self.model.device)
        states = self.model(input_ids=tokens["input_ids"], attention_mask=tokens["attention_mask"]).last_hidden_state
        begin = len(self._first)
        return pad_sequence(
            [_pooled(row[begin:], text) for row, text in zip(states, pieces, strict=True)], batch_first=True
        )

    def write(self, folder: Path) -> None:
        """Put down the configuration and the tokenizer, not the weights."""
        self.model.config.save_pretrained(folder)
        self._tokenizer.save_pretrained(folder)

    def _pieces(self, text: Sequence[str]) -> list[list[int]]:
        """The word pieces of each unit; where all are too many, the last ones of the longest units are left out."""
        encoded = self._tokenizer(list(text), add_special_tokens=False)["input_ids"]
        pieces = [ids or [self._tokenizer.unk_token_id] for ids in encoded]
        most = max(map(len, pieces))
        while most > 1 and sum(min(most, len(ids)) for ids in pieces) > self._longest:
            most -= 1
        return [ids[:most] for ids in pieces]


def _around(tokenizer: Any) -> tuple[list[int], list[int]]:
    """The special tokens that a tokenizer puts before and behind a text."""
    whole, bare = tokenizer("a")["input_ids"], tokenizer("a", add_special_tokens=False)["input_ids"]
    at = next(i for i in range(len(whole)) if whole[i : i + len(bare)] == bare)
    return whole[:at], whole[at + len(bare) :]


def _pooled(states: Tensor, units: list[list[int]]) -> Tensor:
    """(n, width): the largest over the pieces of each unit."""
    ends = torch.tensor([len(ids) for ids in units]).cumsum(0).tolist()
    return torch.stack([states[end - len(ids) : end].amax(0) for ids, end in zip(units, ends, strict=True)])
