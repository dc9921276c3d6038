"""A map that a graph trains on its own names: names of one entity are pulled together, all others pushed apart.

The idea is SapBERT's (Liu et al. 2021, arXiv 2010.11784) on a map of a minute's size instead of a transformer. What
goes in is the encoder's vector of a name beside its hashed letters and, of a Chinese name, the letters of its sound;
what comes out is a vector whose cosine says whether two names mean the same. Trained and applied in numpy alone.

The map is kept beside the vectors, and the vectors of all names through it are kept as those of any encoder are
(`graph/vectors.py`): in blocks, so that a killed run goes on, and with an index where there are millions. Figures:
docs/linking.md.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple
from unicodedata import normalize

import numpy as np
import xxhash
from numpy.typing import NDArray

from kgmed.derived import Arrays, derived_folder, exclusive, open_arrays, publish
from kgmed.graph.base import LocalGraph
from kgmed.graph.names import Fuzzy
from kgmed.graph.vectors import Vectors, compute, open_vectors
from kgmed.language.text import has_cjk, normalise
from kgmed.models.base import Encoder
from kgmed.models.encoders import NgramEncoder

Floats = NDArray[np.float32]
Progress = Callable[[str, int, int], None]  # what is done, how much of it, of how much

_VERSION = "map 1"
_ARRAYS = ("first", "bias", "last", "sounds")
_LEARNT = "learnt"  # the label of the graph whose names were learnt
_LETTERS = 1024  # cells that letters are hashed into, and those of sounds
_STRAIGHT, _BENT = 384, 768  # numbers that come out, and rectified units of the branch
_FIRST_CJK, _LAST_CJK = 0x4E00, 0x9FFF

# --- Applying it.


@dataclass(frozen=True, eq=False)
class Aligned:
    """An encoder through a map: unit rows (n, 384), near each other where two names mean the same."""

    base: Encoder
    weights: Arrays  # first (d, 384 + 768), bias (768,), last (768, 384), sounds (characters, 6 letters)
    dimensions: int = _STRAIGHT

    @property
    def name(self) -> str:
        """The encoder's name and the hash of the map: another map has vectors of its own."""
        return f"{self.base.name}-map-{self._digest}"

    @cached_property
    def _digest(self) -> str:
        return xxhash.xxh3_64_hexdigest(np.ascontiguousarray(self.weights["last"]).data)

    def __call__(self, texts: Sequence[str], /) -> Floats:
        """Unit rows of texts."""
        return self.mapped(self.base(texts), texts)

    def mapped(self, rows: Floats, texts: Sequence[str]) -> Floats:
        """Unit rows of texts whose vectors by the encoder are known."""
        first, bias, last = self._wide
        return _unit(_forward(inputs(rows, texts, self.weights["sounds"]), first, bias, last)[0])

    @cached_property
    def _wide(self) -> tuple[Floats, Floats, Floats]:
        first, bias, last = (self.weights[name].astype(np.float32) for name in ("first", "bias", "last"))
        return first, bias, last


def inputs(rows: Floats, texts: Sequence[str], sounds: NDArray[Any]) -> Floats:
    """What the map reads: the encoder's rows, the letters, and the sounds where there is a table of them."""
    parts = [rows, _LETTERS_OF([normalise(t) for t in texts])]
    return np.concatenate([*parts, _LETTERS_OF([sounded(t, sounds) for t in texts])] if len(sounds) else parts, axis=1)


_LETTERS_OF = NgramEncoder(_LETTERS)


def sounded(text: str, sounds: NDArray[Any]) -> str:
    """A text with each Chinese character as it is read, in one word: names are often sounded out.

    >>> table = np.array([b"yi"] * 0x5200, "S6")
    >>> sounded("一 b-", table), sounded("Fever", table)
    ('yib', 'fever')
    """
    return "".join(_sound(c, sounds) for c in normalise(text) if c.isalnum())


def _sound(character: str, sounds: NDArray[Any]) -> str:
    """A character as it is read; itself where it is no Chinese one."""
    place = ord(character) - _FIRST_CJK
    return bytes(sounds[place]).decode() or character if 0 <= place < len(sounds) else character


def _forward(x: Floats, first: Floats, bias: Floats, last: Floats) -> tuple[Floats, Floats]:
    """What comes out (n, 384), and the branch's units (n, 768)."""
    both = x @ first
    bent = np.maximum(both[:, _STRAIGHT:] + bias, 0)
    return both[:, :_STRAIGHT] + bent @ last, bent


def _unit(rows: Floats) -> Floats:
    """The rows with length 1."""
    norms: Floats = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.maximum(norms, np.float32(1e-9)), np.float32)


# --- Keeping it.


def open_aligned(graph: LocalGraph, encoder: Encoder) -> Vectors | None:
    """The vectors of a graph's names through its map; None where none is trained, or is damaged."""
    aligned = open_map(graph, encoder)
    return open_vectors(graph, aligned) if aligned else None


def open_map(graph: LocalGraph, encoder: Encoder) -> Aligned | None:
    """The map of a graph for an encoder; None where none is trained."""
    found = open_arrays(derived_folder(*_place(graph, encoder)), _ARRAYS) if graph.folder else None
    return Aligned(encoder, found) if found else None


def _place(graph: LocalGraph, encoder: Encoder) -> tuple[str, str, str]:
    """Where a map is kept."""
    return graph.folder, "maps/" + re.sub(r"[^\w.-]+", "_", encoder.name), f"{_VERSION} {graph.label} {encoder.name}"


def align(
    graph: LocalGraph,
    encoder: Encoder,
    progress: Progress = lambda what, done, of: None,
    *,
    others: Sequence[LocalGraph] = (),
    known: Sequence[LocalGraph] = (),
    again: bool = False,
) -> Vectors | None:
    """The vectors of a graph's names through a map trained on them and on the names of other graphs.

    Entities of one id are one entity in all graphs. None where there are too few names to learn from. What stands
    there already is taken, unless `again`, and so are vectors of names that `known` graphs have.
    """
    encoder = _Looked.up(encoder, known)
    place = derived_folder(*_place(graph, encoder))
    with exclusive(place) as writable:
        aligned = None if again else open_map(graph, encoder)
        if aligned is None:
            names = gather([graph, *others], encoder, progress)
            if len(names.texts) < _FEWEST:
                return None
            weights = train(names, lambda done, of: progress("training", done, of))
            if writable:
                publish(place, lambda new: _write(new, {**weights, _LEARNT: np.array(graph.label)}))
            aligned = Aligned(encoder, weights)
    said = compute(graph, encoder)  # what the encoder says of each name is there by now
    looked = Aligned(_Looked(encoder, [said]), aligned.weights)
    made = compute(graph, looked, lambda done, of: progress("mapping", done, of))
    return Vectors(made.names, aligned, made.matrix, made.near)


def lend(
    lender: LocalGraph,
    graph: LocalGraph,
    encoder: Encoder,
    progress: Progress = lambda what, done, of: None,
    *,
    known: Sequence[LocalGraph] = (),
) -> Vectors | None:
    """The vectors of a graph's names through the map of another one that shares names with it; None where it has none.

    The map is kept as if it were the graph's own. Vectors of names that the lender or `known` graphs have are taken.
    """
    aligned, place = open_map(lender, encoder), derived_folder(*_place(graph, encoder))
    if aligned is None:
        return None
    weights = {name: np.array(array) for name, array in aligned.weights.items()}
    learnt = np.array(learnt_by(lender, encoder))
    with exclusive(place) as writable:
        if writable:
            publish(place, lambda new: _write(new, {**weights, _LEARNT: learnt}))
    aligned = Aligned(encoder, weights)
    mapped = open_vectors(lender, aligned)
    looked = _Looked(Aligned(_Looked.up(encoder, [lender, *known]), weights), [mapped] if mapped else [])
    made = compute(graph, looked, lambda done, of: progress("mapping", done, of))
    return Vectors(made.names, aligned, made.matrix, made.near)


def serve(
    whole: LocalGraph, parts: Sequence[LocalGraph], encoder: Encoder, progress: Progress = lambda what, done, of: None
) -> int:
    """How many names of several graphs as one have vectors now through the map of the part that learnt most names.

    0 where no part has a map, or it is the one that they have already.
    """
    lender = max((g for g in parts if open_map(g, encoder)), key=lambda g: (len(Fuzzy(g)), g.label), default=None)
    if lender is None or (open_map(whole, encoder) and learnt_by(whole, encoder) == learnt_by(lender, encoder)):
        return 0
    made = lend(lender, whole, encoder, progress, known=parts)
    return len(made) if made else 0


def learnt_by(graph: LocalGraph, encoder: Encoder) -> str:
    """The label of the graph whose names the map of a graph has learnt: its own, or that of a lender."""
    found = open_arrays(derived_folder(*_place(graph, encoder)), (_LEARNT,)) if graph.folder else None
    return str(found[_LEARNT]) if found else graph.label


def _write(folder: Any, weights: Arrays) -> None:
    """Write a map's arrays."""
    for name, array in weights.items():
        np.save(folder / f"{name}.npy", array, allow_pickle=False)


class _Looked:
    """An encoder that looks names up among vectors that are computed, and encodes those that are not there."""

    def __init__(self, encoder: Encoder, vectors: Sequence[Vectors]) -> None:
        """The encoder, and vectors of names by it."""
        self._encoder, self._vectors = encoder, vectors
        self.name, self.dimensions = encoder.name, encoder.dimensions

    @classmethod
    def up(cls, encoder: Encoder, graphs: Sequence[LocalGraph]) -> Encoder:
        """The encoder that looks up what is computed of some graphs; itself where nothing is."""
        found = [vectors for graph in graphs if (vectors := open_vectors(graph, encoder))]
        return cls(encoder, found) if found else encoder

    def __call__(self, texts: Sequence[str], /) -> Floats:
        """The rows of texts."""
        rows = np.zeros((len(texts), self.dimensions), np.float32)
        places = [self._rows.get(text) for text in texts]
        for i, place in enumerate(places):
            if place:
                rows[i] = self._vectors[place[0]].matrix[place[1]]
        left = [i for i, place in enumerate(places) if place is None]
        if left:
            rows[left] = self._encoder([texts[i] for i in left])
        return rows

    @cached_property
    def _rows(self) -> dict[str, tuple[int, int]]:
        """Where each name stands: the number of its vectors, and its row there."""
        return {v.names.name(i): (n, i) for n, v in enumerate(self._vectors) for i in range(len(v))}


# --- Training it.


_MOST = 60_000  # names: of larger graphs a sample
_FEWEST = 400  # names of entities that have several
_BATCH, _EPOCHS, _PLAIN, _CLUSTER = 512, 6, 2, 64  # pairs; epochs, those before batches of near names, names near
_STEPS = 150  # at least
_RATE, _DECAY, _WARM, _HEAT = 1.5e-3, 0.01, 30, 0.05  # of AdamW; steps until it is full; temperature


class NamesOfEntities(NamedTuple):
    """Names of entities that have several: texts, their vectors by the encoder, and a number for each entity."""

    texts: list[str]
    rows: Floats  # (n, d)
    entity: NDArray[np.int64]  # (n,) ascending


def gather(
    graphs: Sequence[LocalGraph], encoder: Encoder, progress: Progress = lambda what, done, of: None
) -> NamesOfEntities:
    """The names to learn from; of large graphs those of some entities, drawn once and for all."""
    owners: dict[str, dict[str, tuple[int, int]]] = {}
    known = []
    for number, graph in enumerate(graphs):
        known.append(compute(graph, encoder, lambda done, of: progress("encoding", done, of)))
        names = known[-1].names
        for node in range(graph.adjacency.nodes):
            for row in names.rows(node):
                owners.setdefault(graph.at(node).id, {}).setdefault(normalise(names.name(row)), (number, row))
    drawn = _sample([list(named.values()) for named in owners.values() if len(named) > 1])
    places = [place for entity in drawn for place in entity]
    rows = np.zeros((len(places), encoder.dimensions), np.float32)
    for i, (number, row) in enumerate(places):
        rows[i] = known[number].matrix[row]
    texts = [known[number].names.name(row) for number, row in places]
    return NamesOfEntities(texts, rows, np.repeat(np.arange(len(drawn)), [len(e) for e in drawn]))


def _sample(entities: list[list[tuple[int, int]]]) -> list[list[tuple[int, int]]]:
    """As many entities as have the most names that are learnt from."""
    if sum(map(len, entities)) <= _MOST:
        return entities
    order = np.random.default_rng(0).permutation(len(entities))
    room = np.cumsum([len(entities[i]) for i in order]) <= _MOST
    return [entities[i] for i in sorted(order[room].tolist())]


def train(
    names: NamesOfEntities, progress: Callable[[int, int], None] = lambda done, of: None, *, seed: int = 0
) -> Arrays:
    """The arrays of a map: symmetric cross-entropy over the batch, other names of the same entity masked out."""
    sounds = _readings() if any(map(has_cjk, names.texts)) else np.zeros(0, "S6")
    x = inputs(names.rows, names.texts, sounds)
    draw = np.random.default_rng(seed)
    scale = np.float32(x.shape[1] ** -0.5)
    parts = [
        draw.standard_normal((x.shape[1], _STRAIGHT + _BENT), np.float32) * scale,
        np.zeros(_BENT, np.float32),
        np.zeros((_BENT, _STRAIGHT), np.float32),
    ]
    size = min(_BATCH, len(x) // 4)
    epochs = max(_EPOCHS, -(-_STEPS * size // len(x)))
    moments, total, step = [(np.zeros_like(p), np.zeros_like(p)) for p in parts], epochs * (len(x) // size), 0
    for epoch in range(epochs):
        others = _partners(names.entity, draw)
        for batch in _batches(x, parts, size, draw, near=epoch >= _PLAIN):
            slopes = _slopes(x[np.concatenate([batch, others[batch]])], names.entity[batch], *parts)
            step += 1
            _adamw(parts, slopes, moments, step, _RATE * min(1, step / _WARM) * (1 - step / (total + 1)))
            progress(step, total)
    return {name: p.astype(np.float16) for name, p in zip(_ARRAYS, parts, strict=False)} | {"sounds": sounds}


def _partners(entity: NDArray[np.int64], draw: "np.random.Generator") -> NDArray[np.int64]:
    """For each name another one of its entity, drawn at random.

    >>> _partners(np.array([0, 0, 1, 1]), np.random.default_rng(0)).tolist()
    [1, 0, 3, 2]
    """
    start = np.searchsorted(entity, entity)
    count = np.searchsorted(entity, entity, "right") - start
    place = np.arange(len(entity)) - start
    return start + (place + 1 + draw.integers(0, count - 1)) % count


def _batches(
    x: Floats, parts: list[Floats], size: int, draw: "np.random.Generator", *, near: bool
) -> Iterator[NDArray[np.int64]]:
    """The names in batches, in an order of chance; with `near` in clusters of such as the map now finds alike."""
    order = draw.permutation(len(x))
    if near:
        rows = np.concatenate([_unit(_forward(x[i : i + 4096], *parts)[0]) for i in range(0, len(x), 4096)])
        centres = rows[order[: len(x) // _CLUSTER]]
        cluster = np.concatenate([(rows[i : i + 4096] @ centres.T).argmax(1) for i in range(0, len(x), 4096)])
        sorted_by = np.lexsort((order, draw.permutation(len(centres))[cluster]))
        some = min(_CLUSTER, size)
        whole = sorted_by[: len(x) // some * some].reshape(-1, some)
        order = whole[draw.permutation(len(whole))].reshape(-1)
    yield from (order[start : start + size] for start in range(0, len(order) - size + 1, size))


def _slopes(x: Floats, entity: NDArray[np.int64], first: Floats, bias: Floats, last: Floats) -> list[Floats]:
    """The gradient of the loss by each part; the first half of x are names, the second their partners."""
    out, bent = _forward(x, first, bias, last)
    length = np.maximum(np.linalg.norm(out, axis=1, keepdims=True), np.float32(1e-9))
    unit, n = out / length, len(entity)
    by_score = loss_slope(unit[:n] @ unit[n:].T / _HEAT, entity) / _HEAT
    by_unit = np.concatenate([by_score @ unit[n:], by_score.T @ unit[:n]])
    by_out = (by_unit - unit * (by_unit * unit).sum(1, keepdims=True)) / length
    by_bent = (by_out @ last.T) * (bent > 0)
    return [x.T @ np.concatenate([by_out, by_bent], axis=1), by_bent.sum(0), bent.T @ by_out]


def loss_slope(scores: Floats, entity: NDArray[np.int64]) -> Floats:
    """The gradient of the mean cross-entropy of rows and of columns, where the diagonal is right, by each score."""
    n = len(scores)
    same = (entity[:, None] == entity[None, :]) & ~np.eye(n, dtype=bool)
    scores = np.where(same, np.float32(-1e4), scores)
    across = np.exp(scores - scores.max(1, keepdims=True))
    down = np.exp(scores - scores.max(0))
    slope = across / across.sum(1, keepdims=True) + down / down.sum(0)
    return np.asarray((slope - 2 * np.eye(n)) / (2 * n), np.float32)


def _adamw(
    parts: list[Floats], slopes: list[Floats], moments: list[tuple[Floats, Floats]], step: int, rate: float
) -> None:
    """One step of AdamW (Loshchilov and Hutter 2019), in place: the parts are those of this training alone."""
    for part, slope, (mean, square) in zip(parts, slopes, moments, strict=True):
        mean += np.float32(0.1) * (slope - mean)
        square += np.float32(0.02) * (slope * slope - square)
        part *= np.float32(1 - rate * _DECAY)
        part -= (
            np.float32(rate / (1 - 0.9**step))
            * mean
            / (np.sqrt(square / np.float32(1 - 0.98**step)) + np.float32(1e-8))
        )


def _readings() -> NDArray[Any]:
    """How each Chinese character is read, without tones; empty where the package is not installed."""
    try:
        from pypinyin.pinyin_dict import pinyin_dict
    except ImportError:
        return np.zeros(0, "S6")
    read = (pinyin_dict.get(c, "").split(",")[0] for c in range(_FIRST_CJK, _LAST_CJK + 1))
    return np.array([normalize("NFD", r).encode("ascii", "ignore") for r in read], "S6")
