"""The network of W2NER: encoders of units, the grid network, a trained tagger at work and as a folder."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

from kgmed.disk import whole, write_whole
from kgmed.errors import BadInput, SourceError, Unavailable
from kgmed.models import w2ner
from kgmed.models.base import Encoder
from kgmed.models.encoders import UseEncoder
from kgmed.models.files import digest_of, load_transformer, short_error, to_device
from kgmed.models.w2ner import (
    NONE,
    THW,
    Architecture,
    FoundEntity,
    Unit,
    Window,
    from_plain,
    joined_parts,
    to_plain,
    units,
    windows,
)

# --- What turns the units of texts into numbers: embeddings learnt from nothing, or a transformer.


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
        forms = [lookup_form(unit) for unit in text]
        units.update(forms)
        pairs.update(_pairs(forms))
    return Vocabulary(_often(units), _often(pairs))


def _often(counted: Counter[str]) -> tuple[str, ...]:
    return tuple(sorted(key for key, n in counted.items() if n >= _RARE))


def lookup_form(unit: str) -> str:
    """A unit as it is looked up: in small letters, numbers by their length.

    >>> lookup_form("SARS"), lookup_form("38")
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
        return pad_sequence([self._text([lookup_form(unit) for unit in text]) for text in batch], batch_first=True)

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


# --- The network of W2NER: a grid of word pairs, refined by convolutions, classified by two predictors.
# Shapes: b texts, n words, d hidden, c channels, r relations. Equations are numbered as in the paper where named.


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
        refined = self.convolutions(self.grid(h), mask(lengths).to(h.device))
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


# --- A trained network at work: texts in, entities out.


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

    def __call__(self, texts: Sequence[str]) -> list[list[FoundEntity]]:
        """The entities of each text, by their place."""
        found = [units(text) for text in texts]
        pieces = [piece for i, words in enumerate(found) for piece in self._pieces(i, words)]
        made: list[set[FoundEntity]] = [set() for _ in texts]
        for some in _batches(pieces):
            for piece, entities in zip(some, self._entities([p.words for p in some]), strict=True):
                _, start, _, first, last = piece.text, *piece.window
                made[piece.text].update(
                    FoundEntity(kind, joined_parts(found[piece.text], [start + i for i in at]))
                    for kind, at in entities
                    if first <= start + at[0] < last
                )
        return [sorted(one, key=lambda f: (f.parts, f.kind)) for one in made]

    def _pieces(self, number: int, words: Sequence[Unit]) -> Iterator[_Piece]:
        for window in windows(len(words), self.architecture.window, self.architecture.overlap):
            yield _Piece(number, window, [u.text for u in words[window.start : window.end]])

    def _entities(self, batch: Sequence[Sequence[str]]) -> list[list[w2ner.GridEntity]]:
        """The entities of each of a few windows."""
        self.network.train(mode=False)
        with torch.inference_mode():
            best = self.network(batch).argmax(-1).cpu() * mask(torch.tensor([len(words) for words in batch]))
        made: list[w2ner.Cells] = [{} for _ in batch]
        for text, row, column in best.nonzero().tolist():
            made[text][row, column] = int(best[text, row, column])
        return [w2ner.entities(cells, self.kinds) for cells in made]


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


# --- A tagger as a folder: `tagger.json` (what it is) and `tagger.safetensors` (its weights); nothing is unpickled.
# A tagger on a transformer also has the folder `encoder` with that model's configuration and tokenizer, so that opening
# it needs neither a network nor the model it was made from.


PLAN, WEIGHTS, ENCODER = "tagger.json", "tagger.safetensors", "encoder"
_FORMAT = "kgmed tagger 1"


@dataclass(frozen=True, slots=True)
class TaggerPlan:
    """All of a tagger but its weights."""

    architecture: Architecture
    kinds: tuple[str, ...]
    vocabulary: Vocabulary


def new_network(plan: TaggerPlan, vectors: Encoder | None = None) -> W2NER:
    """A network with random weights, on a transformer as it was pretrained where the plan names one."""
    a = plan.architecture
    return _network(plan, _pretrained(a.encoder) if a.encoder else _embeddings(plan, vectors))


def open_labeller(folder: Path, vectors: Encoder | None = None, device: str = "cpu") -> Labeller:
    """The tagger of a folder; raises `SourceError` for a damaged file, `BadInput` for vectors or a device not fit."""
    plan = read_plan(folder)
    a = plan.architecture
    network = _network(plan, _configured(folder / ENCODER) if a.encoder else _embeddings(plan, vectors))
    load_weights(network, read_tensors(folder / WEIGHTS)[0], folder / WEIGHTS)
    return Labeller(to_device(network.train(mode=False), device), plan.kinds, a)


def write_plan(folder: Path, plan: TaggerPlan, network: W2NER) -> None:
    """Put down all but the weights."""
    folder.mkdir(parents=True, exist_ok=True)
    if isinstance(network.encoder, Transformer):
        network.encoder.write(folder / ENCODER)
    known = plan.vocabulary
    write_json(folder / PLAN, {"format": _FORMAT, "architecture": to_plain(plan.architecture), "kinds": plan.kinds,
                               "units": known.units, "pairs": known.pairs})  # fmt: skip


def read_plan(folder: Path) -> TaggerPlan:
    """What `write_plan` put down; raises `SourceError`."""
    path = folder / PLAN
    try:
        read = json.loads(path.read_text(encoding="utf-8"))
        if read["format"] != _FORMAT:
            raise BadInput(f"its format is not {_FORMAT!r}")
        words = [tuple(map(_text, read[key])) for key in ("kinds", "units", "pairs")]
        return TaggerPlan(from_plain(read["architecture"]), words[0], Vocabulary(words[1], words[2]))
    except FileNotFoundError:
        raise SourceError(path, 0, "is not there", "name a folder that kgmed train ner has written") from None
    except (OSError, ValueError, KeyError, TypeError, BadInput) as e:
        raise SourceError(path, 0, f"is no tagger's description ({e})", "train it again") from None


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value


def write_json(path: Path, value: object) -> None:
    """Put plain data into a file, whole or not at all."""
    write_whole(path, json.dumps(value, ensure_ascii=False, indent=1) + "\n")


def write_tensors(path: Path, tensors: Mapping[str, Tensor], state: Mapping[str, Any] | None = None) -> None:
    """Put tensors, and plain data beside them, into one file, whole or not at all."""
    own = {name: t.detach().cpu().contiguous().clone() for name, t in tensors.items()}
    said = json.dumps(state or {}, ensure_ascii=False)
    state = {"state": json.dumps({"hash": digest_of(own, said), "said": said}, ensure_ascii=False)}
    with whole(path) as beside:
        save_file(own, beside, state)  # one entry: of several the order is by chance


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The tensors of a file and the plain data beside them; raises `SourceError`."""
    try:
        with safe_open(path, framework="pt") as file:
            told = json.loads((file.metadata() or {}).get("state", "{}"))
            found = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        if told.keys() != {"hash", "said"}:  # of before there was a hash
            return found, told
        if told["hash"] != digest_of(found, told["said"]):
            raise ValueError("its content is not what was written")
        return found, dict(json.loads(told["said"]))
    except FileNotFoundError:
        raise SourceError(path, 0, "is not there", "let kgmed train ner finish its first epoch") from None
    except (OSError, ValueError, AttributeError, TypeError, SafetensorError) as e:
        raise SourceError(path, 0, f"cannot be read ({e})", "train it again") from None


def load_weights(network: nn.Module, weights: Mapping[str, Tensor], path: Path) -> None:
    """Give a network its weights; raises `SourceError` where they are not its own."""
    try:
        network.load_state_dict(dict(weights))
    except RuntimeError as e:
        raise SourceError(
            path, 0, f"holds other weights than {PLAN} tells of ({short_error(e)})", "train it again"
        ) from None


def _network(plan: TaggerPlan, encoder: Embeddings | Transformer) -> W2NER:
    return W2NER(plan.architecture, encoder, encoder.width, THW + len(plan.kinds))


def _embeddings(plan: TaggerPlan, vectors: Encoder | None) -> Embeddings:
    """Embeddings, with the vectors that the plan names, if none are given the embedded ones; raises `BadInput`."""
    wanted = plan.architecture.vectors
    vectors = vectors or (UseEncoder() if wanted else None)
    given = vectors.name if vectors else ""
    if wanted != given:
        raise BadInput(f"this tagger was made on the vectors of {wanted or 'no encoder'}, not of {given or 'none'}")
    return Embeddings(plan.vocabulary, plan.architecture.embedding, vectors)


def _pretrained(model: str) -> Transformer:
    """A transformer with its weights, by folder or by name on the hub; raises `Unavailable` or `ModelFailed`."""
    tokenizer, model_itself = load_transformer("AutoModel", model)
    return Transformer(model_itself, tokenizer)


def _configured(folder: Path) -> Transformer:
    """A transformer with random weights, as the folder describes it; raises `SourceError`."""
    transformers = _transformers()
    here = {"pretrained_model_name_or_path": folder, "local_files_only": True}
    try:
        config = transformers.AutoConfig.from_pretrained(**here, trust_remote_code=False)
        tokenizer = transformers.AutoTokenizer.from_pretrained(**here, trust_remote_code=False)
        return Transformer(transformers.AutoModel.from_config(config, trust_remote_code=False), tokenizer)
    except (OSError, ValueError, KeyError, RuntimeError) as e:
        raise SourceError(folder, 0, f"is no encoder ({short_error(e)})", "train it again") from None


def _transformers() -> Any:
    """The package; raises `Unavailable`."""
    try:
        return import_module("transformers")  # heavy
    except ImportError as e:
        raise Unavailable('a tagger on a transformer needs transformers: pip install "kgmed[train]"') from e
