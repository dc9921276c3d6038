"""What a transformer makes of the tokens of a text, for BERTScore and MoverScore: unit rows, read in batches, kept."""

import hashlib
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import log
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kgmed.errors import BadInput
from kgmed.evaluate.items import Item
from kgmed.models.from_hub import loaded
from kgmed.types import Run

_LONGEST = 512  # tokens, where the model names no limit
_KEPT = 100_000  # rows that stay in memory
AT_ONCE = 64  # pairs of texts


class Read(NamedTuple):
    """A text as a model reads it."""

    ids: tuple[int, ...]  # with the marks of beginning and end
    rows: NDArray[np.float32]  # (n, d), of length 1


class States:
    """The states of one layer of a model; 0 = what goes into the first layer, -1 = after the last one."""

    def __init__(self, model: str | Path, *, layer: int = -1, batch: int = 32, kept: int = _KEPT) -> None:
        """Load a model from a folder or by a name on the model hub; raises `Unavailable`, `ModelFailed`, `BadInput`."""
        self._tokenizer, self._model = loaded("AutoModel", model, "cpu")
        layers = int(self._model.config.num_hidden_layers)
        if not -1 <= layer <= layers:
            raise BadInput(f"{model} has the layers 0 to {layers}, and no layer {layer}")
        self.layer = layers if layer == -1 else layer
        self.longest = _limit(self._tokenizer, self._model)
        self.name = Path(model).name if Path(model).is_dir() else str(model)
        self.hash = weights_hash(self._tokenizer, self._model)
        self.silent = {self._tokenizer.cls_token_id, self._tokenizer.sep_token_id} - {None}
        self._kept: OrderedDict[str, Read] = OrderedDict()
        self._batch, self._most = batch, kept

    def __repr__(self) -> str:
        """The model, its hash, the layer and how much of a text it reads."""
        return f"{self.name}@{self.hash} layer {self.layer}, {self.longest} tokens"

    def ids(self, text: str) -> tuple[int, ...]:
        """The tokens of a text, cut off at what the model can read."""
        whole = text.strip().encode("utf-8", "replace").decode("utf-8")
        found = self._tokenizer(whole, truncation=True, max_length=self.longest)
        return tuple(map(int, found["input_ids"]))

    def read(self, texts: Iterable[str]) -> dict[str, Read]:
        """Each text as the model reads it; texts of like length are read together."""
        wanted = list(dict.fromkeys(texts))
        found = {t: self._kept[t] for t in wanted if t in self._kept}
        left = sorted(((t, self.ids(t)) for t in wanted if t not in found), key=lambda row: len(row[1]))
        for i in range(0, len(left), self._batch):
            some = left[i : i + self._batch]
            for (text, ids), rows in zip(some, self._rows([ids for _, ids in some]), strict=True):
                found[text] = Read(ids, rows)
        self._keep(found)
        return found

    def _rows(self, ids: Sequence[Sequence[int]]) -> list[NDArray[np.float32]]:
        """The unit rows of each list of tokens; no padding reaches them."""
        import torch  # heavy

        longest = max(map(len, ids))
        if not longest:
            return [np.zeros((0, int(self._model.config.hidden_size)), np.float32) for _ in ids]
        padded = torch.full((len(ids), longest), self._tokenizer.pad_token_id or 0, dtype=torch.long)
        mask = torch.zeros_like(padded)
        for i, row in enumerate(ids):
            padded[i, : len(row)], mask[i, : len(row)] = torch.tensor(row, dtype=torch.long), 1
        with torch.inference_mode():
            states = self._model(padded, attention_mask=mask, output_hidden_states=True).hidden_states[self.layer]
            states = torch.nn.functional.normalize(states.float(), dim=-1).numpy()
        return [np.asarray(states[i, : len(row)], np.float32) for i, row in enumerate(ids)]

    def _keep(self, found: Mapping[str, Read]) -> None:
        """Keep what was read last, as far as it fits."""
        for text, read in found.items():
            self._kept[text] = read
            self._kept.move_to_end(text)
        rows = sum(len(read.ids) for read in self._kept.values())
        while rows > self._most:
            rows -= len(self._kept.popitem(last=False)[1].ids)


def _limit(tokenizer: Any, model: Any) -> int:
    """The tokens that a model can read: the least that tokenizer and model name."""
    named = [int(tokenizer.model_max_length), int(getattr(model.config, "max_position_embeddings", 0) or 0)]
    if model.config.model_type in ("roberta", "xlm-roberta", "camembert", "mpnet"):
        named[1] -= int(model.config.pad_token_id or 0) + 1  # positions begin after that of the padding
    return min((n for n in named if 0 < n < 1 << 20), default=_LONGEST)


def weights_hash(tokenizer: Any, model: Any) -> str:
    """12 hexadecimal digits that tell apart models that differ in a weight or in a token."""
    import torch  # heavy

    whole = hashlib.sha256(repr(sorted(tokenizer.get_vocab().items())).encode("utf-8", "surrogatepass"))
    for name, weight in sorted(model.state_dict().items()):
        flat = weight.detach().cpu().contiguous().reshape(-1).view(torch.uint8)
        whole.update(name.encode() + flat.numpy().tobytes())
    return whole.hexdigest()[:12]


class Rarity:
    """Inverse document frequencies of tokens, frozen on a corpus: log((N + 1) / (n + 1)).

    >>> found = Rarity([(1, 2), (1, 3)])
    >>> [round(found.of(i), 4) for i in (1, 2, 9)]  # in both, in one, in none: log 1, log 3/2, log 3
    [0.0, 0.4055, 1.0986]
    """

    def __init__(self, corpus: Iterable[Iterable[int]]) -> None:
        """Count in how many texts each token is."""
        texts = [sorted({*ids}) for ids in corpus]
        counts = Counter(i for ids in texts for i in ids)
        self._size = len(texts)
        self._rarity = {i: log((self._size + 1) / (n + 1)) for i, n in counts.items()}
        self.hash = hashlib.sha256(repr(sorted(texts)).encode()).hexdigest()[:12]

    def of(self, token: int) -> float:
        """The rarity of a token; one of no text is the rarest."""
        return self._rarity.get(token, log(self._size + 1))


def weighed(read: Read, silent: set[int], rarity: Rarity | None) -> NDArray[np.float64]:
    """The share of each token (n,), summing to 1: equal or by rarity, nothing for the marks of beginning and end.

    Where all that is left weighs nothing, as in a corpus of one text, tokens weigh the same; all 0 without a token.

    >>> weighed(Read((8, 1, 2, 9), np.zeros((4, 1), np.float32)), {8, 9}, None).tolist()
    [0.0, 0.5, 0.5, 0.0]
    """
    plain = np.array([float(i not in silent) for i in read.ids], np.float64)
    rare = plain if rarity is None else plain * [rarity.of(i) for i in read.ids]
    found = rare if rare.sum() > 0 else plain
    return np.asarray(found / found.sum() if found.sum() > 0 else found, np.float64)


class Compared:
    """Numbers of answers against their references, of each the best; every pair is compared once."""

    def __init__(self, states: States, compare: Callable[[Read, Read], tuple[float, ...]]) -> None:
        """`compare` gives the numbers of an answer and one reference, in this order."""
        self._states, self._compare = states, compare
        self._known: dict[tuple[str, str], tuple[float, ...]] = {}

    def ready(self, runs: Sequence[tuple[Run, Item]]) -> None:
        """Compare what will be asked for, the model reading many texts at a time."""
        wanted = dict.fromkeys((run.answer.text, text) for run, item in runs for text in item.gold.texts)
        left = [pair for pair in wanted if pair not in self._known]
        for i in range(0, len(left), AT_ONCE):
            read = self._states.read(text for pair in left[i : i + AT_ONCE] for text in pair)
            self._known |= {pair: self._compare(read[pair[0]], read[pair[1]]) for pair in left[i : i + AT_ONCE]}

    def best(self, run: Run, item: Item) -> tuple[float, ...] | None:
        """The best of each number over the references; None without one."""
        self.ready([(run, item)])
        found = [self._known[run.answer.text, text] for text in item.gold.texts]
        return tuple(map(max, zip(*found, strict=True))) if found else None

    def number(self, place: int) -> Callable[[Run, Item], float | None]:
        """The function that gives one of the numbers."""

        def score(run: Run, item: Item) -> float | None:
            best = self.best(run, item)
            return None if best is None else best[place]

        return score


def references(items: Iterable[Item]) -> list[str]:
    """Every reference answer of a data set, in its order."""
    return [text for item in items for text in item.gold.texts]
