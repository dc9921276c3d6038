"""BLEURT (Sellam et al. 2020): the number that a model trained on people's ratings gives a reference and an answer.

Three kinds of folder are read, none with TensorFlow: BLEURT-20 and its smaller ones (D3, D6, D12) as their authors
publish them (`bleurt_config.json`, `variables/`, `sent_piece.model`); the same converted for torch (`config.json` of
the type bleurt, weights, the sentence pieces); and any that `transformers` reads as sequence classification with one
number. A figure says nothing without its checkpoint: another one is another scale.
"""

import hashlib
import json
import struct
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kgmed.errors import ModelFailed, SourceError, Unavailable
from kgmed.evaluate.items import Item, MadeMetrics, Metric
from kgmed.evaluate.metrics.by_model import AT_ONCE, references, weights_hash
from kgmed.models.base import PairScorer
from kgmed.models.encoders import TransformerCrossEncoder
from kgmed.models.files import load_transformer, to_device
from kgmed.records import Run
from kgmed.registry import metrics

# --- The metric.


def make_bleurt(model: str | Path, items: Sequence[Item], *, device: str = "") -> tuple[Metric, ...]:
    """`bleurt` by a checkpoint; a failed run counts as an empty answer does on average over the data set."""
    folder = Path(model).expanduser()
    if (folder / OWN).exists() or _is_converted(folder):
        scorer = Bleurt.open(folder, device or "cpu")
        return (_bleurt_of(scorer, items, scorer.name),)
    other = TransformerCrossEncoder(model, device=device or "cpu")
    mark = weights_hash(*load_transformer("AutoModelForSequenceClassification", model, "cpu"))
    return (_bleurt_of(other, items, f"{other.name}@{mark}"),)


def _bleurt_of(scorer: PairScorer, items: Sequence[Item], name: str) -> Metric:
    """The metric by a scorer of (reference, answer); of several references the best."""
    known: dict[tuple[str, str], float] = {}

    def ready(runs: Sequence[tuple[Run, Item]]) -> None:
        wanted = dict.fromkeys((text, run.answer.text) for run, item in runs for text in item.gold.texts)
        left = [pair for pair in wanted if pair not in known]
        known.update(zip(left, map(float, scorer(left)), strict=True))

    def score(run: Run, item: Item) -> float | None:
        ready([(run, item)])
        return max((known[text, run.answer.text] for text in item.gold.texts), default=None)

    each = [float(x) for x in scorer([(text, "") for text in references(items)])]
    empty = sum(each) / len(each) if each else None
    source = f"Sellam et al. 2020, BLEURT; {name}, an empty answer scores {empty if empty is None else round(empty, 4)}"
    return Metric("bleurt", "what the model gives (reference, answer)", source, score, ("text",), empty, ready=ready)


metrics.add(
    MadeMetrics(
        "bleurt", "a model", lambda chosen, items: make_bleurt(chosen.model("bleurt"), items, device=chosen.device)
    )
)


# --- BLEURT-20's network is RemBERT's with the first token pooled and one number; that of `transformers` is filled.
# Its pieces are those of its SentencePiece model; where a pair is too long, the longer of the two texts loses its last
# piece, again and again, as in the authors' encoding.py. GELU is by tanh, as in their modeling.py.


OWN, PIECES, WEIGHTS = "bleurt_config.json", "sent_piece.model", "variables/variables"
_MEND = "unpack the checkpoint's archive anew"
_TORCH = "model.safetensors"  # not pytorch_model.bin, which is a pickle


class Bleurt:
    """Pairs of (reference, answer) scored by BLEURT-20 or one of its smaller ones."""

    def __init__(self, network: Any, pieces: Any, longest: int, name: str, device: str = "cpu") -> None:
        """Take a network of transformers on a device, sentence pieces, how many of them are read, and its name."""
        self._network, self._pieces, self._longest, self.name = network, pieces, longest, name
        self._device = device
        self._cls, self._sep = pieces.piece_to_id("[CLS]"), pieces.piece_to_id("[SEP]")

    @classmethod
    def open(cls, folder: Path, device: str = "cpu") -> "Bleurt":
        """The scorer in a folder; raises `Unavailable`, `ModelFailed`, `SourceError`, `BadInput`."""
        own = _object(folder / OWN) if (folder / OWN).exists() else {}
        config = _object(
            folder / str(own.get("bert_config_file") or "bert_config.json") if own else folder / "config.json"
        )
        weights = _renamed(read_bundle(folder / WEIGHTS)) if own else _torch_weights(folder)
        network = to_device(_network(folder, config, weights), device)
        pieces = _sentence_pieces(folder / (f"{own['sp_model']}.model" if own.get("sp_model") else PIECES))
        longest = int(own.get("max_seq_length") or config.get("max_position_embeddings") or 512)
        return cls(network, pieces, longest, f"{folder.name}@{_hash(weights)}, {longest} pieces", device)

    def __repr__(self) -> str:
        """Name, hash of the weights and how much it reads."""
        return f"Bleurt({self.name})"

    def __call__(self, pairs: Sequence[tuple[str, str]], /) -> NDArray[np.float32]:
        """One number a pair (n,), higher = better."""
        import torch  # heavy

        rows = [self._row(*pair) for pair in pairs]
        order = sorted(range(len(rows)), key=lambda i: len(rows[i][0]))
        scores = np.zeros(len(rows), np.float32)
        for begin in range(0, len(order), AT_ONCE):
            some = order[begin : begin + AT_ONCE]
            size = len(some), len(rows[some[-1]][0])
            ids, mask, sides = (torch.zeros(size, dtype=torch.long) for _ in range(3))
            for place, i in enumerate(some):
                found, answer_from = rows[i]
                ids[place, : len(found)], mask[place, : len(found)] = torch.tensor(found), 1
                sides[place, answer_from : len(found)] = 1
            with torch.inference_mode():
                ids, mask, sides = (x.to(self._device) for x in (ids, mask, sides))
                logits = self._network(ids, attention_mask=mask, token_type_ids=sides).logits
            scores[some] = logits[:, 0].float().cpu().numpy()
        return scores

    def _row(self, reference: str, answer: str) -> tuple[list[int], int]:
        """The pieces of a pair with its marks, and where the answer begins."""
        first, second = shortened(self._ids(reference), self._ids(answer), self._longest - 3)
        return [self._cls, *first, self._sep, *second, self._sep], len(first) + 2

    def _ids(self, text: str) -> list[int]:
        return [int(i) for i in self._pieces.encode(text.encode("utf-8", "replace").decode("utf-8"))]


def shortened(first: list[int], second: list[int], longest: int) -> tuple[list[int], list[int]]:
    """Both as long as they fit together: the longer loses its last, and where they are as long, the second.

    >>> shortened([1, 2, 3, 4], [5, 6], 4), shortened([1], [5, 6, 7], 2)
    (([1, 2], [5, 6]), ([1], [5]))
    """
    over = max(0, len(first) + len(second) - longest)
    left, right = len(first), len(second)
    for _ in range(over):
        left, right = (left - 1, right) if left > right else (left, right - 1)
    return first[:left], second[:right]


def _is_converted(folder: Path) -> bool:
    path = folder / "config.json"
    return path.exists() and _object(path).get("model_type") == "bleurt"


def _object(path: Path) -> dict[str, Any]:
    """What a JSON file holds; raises `SourceError`."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise SourceError(path, 0, f"cannot be read ({type(error).__name__})", _MEND) from None
    if not isinstance(found, dict):
        raise SourceError(path, 0, "is no JSON object", _MEND)
    return found


def _network(folder: Path, config: Mapping[str, Any], weights: Mapping[str, NDArray[Any]]) -> Any:
    """The network of `transformers` with those weights; raises `Unavailable`, `ModelFailed`."""
    try:
        import torch
        from transformers import RemBertConfig, RemBertForSequenceClassification  # heavy
    except ImportError:
        raise Unavailable('BLEURT needs torch and transformers: pip install "kgmed[local]"') from None
    same = ("vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size",
            "max_position_embeddings", "type_vocab_size")  # fmt: skip
    embedding = config.get("embedding_size") or config.get("input_embedding_size")
    if not embedding or not all(isinstance(config.get(name), int) for name in same):
        raise ModelFailed(f"{folder} is no BLEURT-20: its configuration lacks one of embedding_size, {', '.join(same)}")
    act = {"gelu": "gelu_new"}.get(str(config.get("hidden_act", "gelu")), str(config.get("hidden_act")))
    more: dict[str, Any] = {"num_labels": 1, "bos_token_id": None, "eos_token_id": None, "pad_token_id": 0}
    more |= {"input_embedding_size": embedding, "hidden_act": act, "layer_norm_eps": 1e-12}
    shape = RemBertConfig(**{name: config[name] for name in same}, **more)
    with torch.device("meta"):
        network: Any = RemBertForSequenceClassification(shape)
    state = {name: torch.from_numpy(np.array(values, np.float32)) for name, values in weights.items()}
    try:
        network.load_state_dict(state, strict=True, assign=True)
    except RuntimeError as error:
        raise ModelFailed(f"{folder} is no BLEURT-20: {' '.join(str(error).split())[:200]}") from None
    positions = torch.arange(int(config["max_position_embeddings"])).expand((1, -1))
    network.rembert.embeddings.position_ids = positions  # kept in no checkpoint
    return network.train(mode=False)


def _renamed(weights: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """TensorFlow's variables under the names of `transformers`; a kernel is turned.

    >>> [*_renamed({"bert/encoder/layer_3/output/dense/kernel": np.zeros((2, 1)), "dense/bias": np.zeros(1)})]
    ['rembert.encoder.layer.3.output.dense.weight', 'classifier.bias']
    """
    found = {}
    for name, values in weights.items():
        if not name.startswith(("bert/", "dense/")):
            continue  # the count of steps
        new = name.replace("/layer_", "/layer/").replace("/", ".").replace(".kernel", ".weight")
        new = new.replace("LayerNorm.gamma", "LayerNorm.weight").replace("LayerNorm.beta", "LayerNorm.bias")
        if new.endswith("_embeddings"):
            new += ".weight"
        new = f"classifier{new.removeprefix('dense')}" if new.startswith("dense.") else f"rem{new}"
        found[new] = values.T if name.endswith("/kernel") else values
    return found


def _torch_weights(folder: Path) -> dict[str, NDArray[Any]]:
    """The weights of a converted checkpoint under the names of `transformers`; raises `Unavailable`, `ModelFailed`."""
    path = folder / _TORCH
    if not path.exists():
        mend = "; save its pytorch_model.bin as safetensors" if (folder / "pytorch_model.bin").exists() else ""
        raise Unavailable(f"{folder} has no {_TORCH}{mend}")
    try:
        from safetensors import SafetensorError
        from safetensors.torch import load_file  # heavy
    except ImportError:
        raise Unavailable('BLEURT needs torch and transformers: pip install "kgmed[local]"') from None
    try:
        state = load_file(path)
    except (OSError, ValueError, SafetensorError) as error:
        raise ModelFailed(f"{path} holds no weights: {' '.join(str(error).split())[:200]}") from None
    named = {
        name.replace("bleurt.", "rembert.", 1).replace("embedding_projection", "embedding_hidden_mapping_in"): weight
        for name, weight in state.items()
        if not name.endswith("position_ids")
    }
    return {name: weight.float().numpy() for name, weight in named.items()}


def _sentence_pieces(path: Path) -> Any:
    """The sentence pieces of a file; raises `Unavailable`, `SourceError`."""
    try:
        from sentencepiece import SentencePieceProcessor
    except ImportError:
        raise Unavailable('BLEURT-20 needs sentencepiece; pip install "kgmed[eval]"') from None
    try:
        return SentencePieceProcessor(model_file=str(path))
    except (OSError, RuntimeError) as error:
        raise SourceError(path, 0, f"holds no sentence pieces ({type(error).__name__})", _MEND) from None


def _hash(weights: Mapping[str, NDArray[Any]]) -> str:
    """12 hexadecimal digits that tell apart checkpoints that differ in a weight."""
    whole = hashlib.sha256()
    for name in sorted(weights):
        whole.update(name.encode() + np.ascontiguousarray(weights[name]).tobytes())
    return whole.hexdigest()[:12]


# --- TensorFlow's variables from their files, without TensorFlow: `NAME.index`, a table of LevelDB with a small
# protocol buffer for each variable (type, shape, file, place, size), and `NAME.data-00000-of-00001`, the numbers.


_MAGIC, _FLOAT = 0xDB4775248B80FB57, 1
_TYPES = {1: "<f4", 2: "<f8", 3: "<i4", 9: "<i8"}


class StoredVariable(NamedTuple):
    """Where the numbers of a variable are."""

    kind: int = 0
    shape: tuple[int, ...] = ()
    shard: int = 0
    offset: int = 0
    size: int = 0


def read_bundle(prefix: Path) -> dict[str, NDArray[Any]]:
    """The variables of a checkpoint by name, mapped from their files; raises `SourceError`."""
    index = prefix.with_name(prefix.name + ".index")
    try:
        rows = dict(_table(index.read_bytes()))
        shards = _number(rows.pop(b"", b"\x08\x01"), 1)
        entries = {name.decode(): _entry(value) for name, value in rows.items()}
        files = [prefix.with_name(f"{prefix.name}.data-{i:05}-of-{shards:05}") for i in range(shards)]
        maps = [np.memmap(file, np.uint8, "r") for file in files]
        return {name: _values(maps[e.shard], e) for name, e in entries.items() if e.kind in _TYPES}
    except OSError as error:
        raise SourceError(index, 0, f"cannot be read ({error.strerror})", _MEND) from None
    except (ValueError, IndexError, KeyError, struct.error, UnicodeDecodeError) as error:
        raise SourceError(index, 0, f"holds no variables of TensorFlow ({error})", _MEND) from None


def _values(data: NDArray[np.uint8], entry: StoredVariable) -> NDArray[Any]:
    found = data[entry.offset : entry.offset + entry.size]
    return np.frombuffer(found, _TYPES[entry.kind]).reshape(entry.shape)


def _table(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Key and value of each row of a LevelDB table; raises `ValueError`."""
    if len(data) < 48 or struct.unpack("<Q", data[-8:])[0] != _MAGIC:
        raise ValueError("no table")
    at = 0
    numbers = []
    for _ in range(4):  # place and size of the meta index and of the index
        number, at = _varint(data[-48:], at)
        numbers.append(number)
    for _, handle in _block(data, *numbers[2:]):
        offset, at = _varint(handle, 0)
        size, _ = _varint(handle, at)
        yield from _block(data, offset, size)


def _block(data: bytes, offset: int, size: int) -> Iterator[tuple[bytes, bytes]]:
    """Key and value of each row of a block; a key begins as the one before it, so many bytes."""
    if data[offset + size]:
        raise ValueError("its table is compressed")
    block = data[offset : offset + size]
    end = size - 4 - 4 * struct.unpack("<I", block[-4:])[0]
    at, key = 0, b""
    while at < end:
        shared, at = _varint(block, at)
        more, at = _varint(block, at)
        length, at = _varint(block, at)
        key = key[:shared] + block[at : at + more]
        yield key, block[at + more : at + more + length]
        at += more + length


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A number of variable length, and where it ends."""
    value = shift = 0
    while True:
        byte = data[at]
        value, at, shift = value | (byte & 127) << shift, at + 1, shift + 7
        if byte < 128:
            return value, at


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Number and value of each field of a protocol buffer."""
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        kind = tag & 7
        if kind == 0:
            value, at = _varint(data, at)
            yield tag >> 3, value
        elif kind == 2:
            length, at = _varint(data, at)
            yield tag >> 3, data[at : at + length]
            at += length
        elif kind in (1, 5):
            at += 8 if kind == 1 else 4
        else:
            raise ValueError("no protocol buffer")


def _number(data: bytes, field: int) -> int:
    """A number of a protocol buffer; 0 where it is not told."""
    return next((v for f, v in _fields(data) if f == field and isinstance(v, int)), 0)


def _entry(data: bytes) -> StoredVariable:
    """Type, shape, file, place and size of a variable."""
    shape = next((v for f, v in _fields(data) if f == 2 and isinstance(v, bytes)), b"")
    sizes = tuple(_number(v, 1) for f, v in _fields(shape) if f == 2 and isinstance(v, bytes))
    return StoredVariable(_number(data, 1), sizes, *(_number(data, field) for field in (3, 4, 5)))
