"""Scorers of pairs of texts without a transformer: words and cosines, plain or trained on a graph, and BM25."""

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import log, sqrt
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rapidfuzz import fuzz

from kgmed.disk import write_whole
from kgmed.errors import BadInput, SourceError
from kgmed.language.text import normalise
from kgmed.models.base import Encoder, encoded
from kgmed.models.encoders import NgramEncoder
from kgmed.registry import scorers

# BM25 over a handful of texts in any language: words where a script has spaces, pairs of characters where not.

_CJK_RUN = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+")


def words(text: str) -> list[str]:
    """The words of a text, normalised; of Chinese and Japanese every pair of neighbouring characters.

    Korean and Swahili are split at spaces, as English is.

    >>> words("Homa ya TUMBO, 胃食管 bệnh"), words("痛"), words("고혈압 환자")
    (['homa', 'ya', 'tumbo', '胃食', '食管', 'bệnh'], ['痛'], ['고혈압', '환자'])
    """
    found: list[str] = []
    for piece in _CJK_RUN.sub(lambda m: f" {m[0]} ", normalise(text)).split():
        pairs = [piece[i : i + 2] for i in range(max(1, len(piece) - 1))]  # a lone character stays
        found += pairs if _CJK_RUN.match(piece) else [piece]
    return found


@dataclass(frozen=True, slots=True)
class BM25Index:
    """Scores texts by the words they share with a query: `k1` bounds what repeating a word adds, `b` weighs length."""

    k1: float = 1.5
    b: float = 0.75

    def scores(self, query: str, texts: Sequence[str]) -> NDArray[np.float64]:
        """One score a text (n,), 0 = no word in common; a word asked for twice counts once.

        >>> BM25Index().scores("fever", ["no fever", "cough", "fever fever"]).round(3).tolist()
        [0.431, 0.0, 0.631]
        """
        counts = [Counter(words(text)) for text in texts]
        lengths = np.array([c.total() for c in counts], np.float64)
        norm = self.k1 * (1 - self.b + self.b * lengths / (lengths.mean() or 1.0)) if texts else lengths
        total = np.zeros(len(texts))
        for word in dict.fromkeys(words(query)):
            often = np.array([c[word] for c in counts], np.float64)
            there = np.count_nonzero(often)
            if there:
                total += log(1 + (len(texts) - there + 0.5) / (there + 0.5)) * often * (self.k1 + 1) / (often + norm)
        return total

    def best(self, query: str, texts: Sequence[str], keep: int) -> list[int]:
        """The places of at most `keep` texts that share a word with the query, best first; ties keep their order.

        >>> BM25Index().best("发热怎么办", ["多喝水", "发热要休息", "发热"], 5)
        [2, 1]
        """
        scores = self.scores(query, texts)
        return [i for i in np.argsort(-scores, kind="stable").tolist() if scores[i] > 0][:keep]


# --- A pair scorer without a model of its own: words in common and an encoder's cosine.
# No cross-encoder's weights come with kgmed. This stands in for one, and its name says so.


_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_RUN = re.compile(rf"[{_CJK}]+|(?:[^\W_{_CJK}]|(?<=\d)\.(?=\d))+")


@scorers.register("words", takes=("encoder",))
@dataclass(frozen=True, slots=True)
class LexicalPairs:
    """The mean of the cosine of the texts' words (Ochiai 1957: shared / sqrt(a * b)) and of their vectors.

    Without an encoder the words alone. Symmetric; 1 = the same words.
    """

    encoder: Encoder | None = None

    @property
    def name(self) -> str:
        """What it is made of, and what it is not."""
        return f"words{f' and {self.encoder.name}' if self.encoder else ''}, no cross-encoder"

    def __call__(self, pairs: Sequence[tuple[str, str]], /) -> NDArray[np.float32]:
        """One score a pair (n,); each distinct text is encoded once.

        >>> LexicalPairs()([("fever", "Fever"), ("fever", "gout"), ("fever", "fever, chills, cough, rash")]).tolist()
        [1.0, 0.0, 0.5]
        """
        words = np.array([_shared(units(a), units(b)) for a, b in pairs], np.float32)
        if self.encoder is None or not pairs:
            return words
        return np.asarray((words + cosines(self.encoder, pairs)) / 2, np.float32)


def cosines(encoder: Encoder, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
    """The cosine of the vectors of each pair (n,), of what is asked and a fact; each distinct one is encoded once."""
    if not pairs:
        return np.zeros(0, np.float32)
    numbers: tuple[dict[str, int], ...] = {}, {}
    left, right = (
        np.array([number.setdefault(pair[side], len(number)) for pair in pairs], np.intp)
        for side, number in enumerate(numbers)
    )
    asked, facts = encoded(encoder, *map(list, numbers))
    blocks = (slice(i, i + 4096) for i in range(0, len(left), 4096))
    cosines = [np.einsum("ij,ij->i", asked[left[block]], facts[right[block]]) for block in blocks]  # of unit rows
    return np.concatenate(cosines).astype(np.float32, copy=False)


def _shared(a: frozenset[str], b: frozenset[str]) -> float:
    """The cosine of two sets; 0 where one is empty."""
    return len(a & b) / sqrt(len(a) * len(b)) if a and b else 0.0


@lru_cache(maxsize=1 << 14)
def units(text: str) -> frozenset[str]:
    """The words of a text; of Chinese and Japanese the pairs of characters.

    >>> sorted(units("维生素 B12 缺乏")), sorted(units("痛"))
    (['b12', '生素', '维生', '缺乏'], ['痛'])
    """
    runs = _RUN.findall(unicodedata.normalize("NFKC", text).casefold())
    return frozenset(unit for run in runs for unit in _of_run(run))


def _of_run(run: str) -> list[str]:
    """A word, or the pairs of a run of characters."""
    return [run] if len(run) == 1 or not re.match(f"[{_CJK}]", run) else [run[i : i + 2] for i in range(len(run) - 1)]


# --- A pair scorer trained on a graph's own names and relations: a logistic model of words, letters and meanings.
# `kgmed.train.pairs` trains it and says what it was worth on held-out entities. The file is JSON with numbers in it and
# nothing else.


FEATURES = (
    "words shared", "first in second", "second in first", "letters", "letters in order", "letters of a part",
    "length", "numbers differ", "opposed", "words without a pair", "meaning", "meaning and words",
)  # fmt: skip
_NUMBER = re.compile(r"\d+(?:\.\d+)?|\b(?:i{1,3}|iv|vi{0,3}|ix|x)\b")
_OPPOSED = (
    ("hyper", "hypo"), ("increase", "decrease"), ("elevat", "reduc"), ("left", "right"), ("acute", "chronic"),
    ("upper", "lower"), ("proximal", "distal"), ("large", "small"), ("maternal", "paternal"), ("benign", "malignant"),
    ("高", "低"), ("左", "右"), ("急性", "慢性"), ("良性", "恶性"), ("先天", "后天"),
)  # fmt: skip
_KIND, _VERSION = "kgmed pair scorer", 1


@dataclass(frozen=True, slots=True)
class TrainedPairs:
    """The probability that a text is what another asks for, by a logistic model over `FEATURES`."""

    weights: tuple[float, ...]  # one a feature, of the features as they are
    bias: float
    trained_on: str  # the graph's label
    encoder: Encoder | None = None

    @property
    def name(self) -> str:
        """What it is made of, what it was trained on, and what it is not."""
        meaning = f" and {self.encoder.name}" if self.encoder else ""
        return f"trained on {self.trained_on}: words{meaning}, no cross-encoder"

    def __call__(self, pairs: Sequence[tuple[str, str]], /) -> NDArray[np.float32]:
        """One score a pair (n,), between 0 and 1."""
        logits = features(pairs, self.encoder) @ np.array(self.weights) + self.bias
        return np.asarray(1 / (1 + np.exp(-np.clip(logits, -60, 60))), np.float32)


def features(pairs: Sequence[tuple[str, str]], encoder: Encoder | None) -> NDArray[np.float64]:
    """The features of each pair (n, 12); those of meaning are 0 without an encoder.

    >>> row = features([("type 1 diabetes", "type 2 diabetes")], None)[0]
    >>> dict(zip(FEATURES, row.round(2).tolist()))["numbers differ"]
    1.0
    """
    if not pairs:
        return np.zeros((0, len(FEATURES)))
    rows = np.array([_lexical(a, b) for a, b in pairs], np.float64)
    letters = cosines(NgramEncoder(512), pairs)
    meaning = cosines(encoder, pairs) if encoder else np.zeros(len(pairs), np.float32)
    return np.column_stack([rows[:, :3], letters, rows[:, 3:], meaning, meaning * rows[:, 0]])


def _lexical(a: str, b: str) -> list[float]:
    """The features of one pair that need no vectors."""
    one, two = _plain(a), _plain(b)
    left, right = units(a), units(b)
    shared = len(left & right)
    return [
        shared / max(1.0, (len(left) * len(right)) ** 0.5),
        shared / max(1, len(left)),
        shared / max(1, len(right)),
        fuzz.token_sort_ratio(one, two) / 100,
        fuzz.partial_ratio(one, two) / 100,
        min(len(one), len(two)) / max(1, len(one), len(two)),
        float(_numbers(one) != _numbers(two)),
        float(any((x in one and y in two) or (y in one and x in two) for x, y in _OPPOSED)),
        len(left ^ right) / max(1, len(left | right)),
    ]


@lru_cache(maxsize=1 << 14)
def _plain(text: str) -> str:
    """The text in one width and case."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


@lru_cache(maxsize=1 << 14)
def _numbers(text: str) -> frozenset[str]:
    """The numbers in a plain text, Roman ones too.

    >>> sorted(_numbers("glycogen storage disease ii, 2.5 mg"))
    ['2.5', 'ii']
    """
    return frozenset(_NUMBER.findall(text))


def save(scorer: TrainedPairs, path: Path, figures: object = None) -> None:
    """Write a scorer, with what it was worth; the file takes the place of an older one when it is whole."""
    data = {
        "kind": _KIND,
        "version": _VERSION,
        "features": list(FEATURES),
        "weights": list(scorer.weights),
        "bias": scorer.bias,
        "trained_on": scorer.trained_on,
        "encoder": scorer.encoder.name if scorer.encoder else "",
        "figures": figures,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, json.dumps(data, ensure_ascii=False, indent=1))


def load(path: Path, encoder: Encoder | None) -> TrainedPairs:
    """The scorer in a file, for the encoder that it was trained with; raises `SourceError` or `BadInput`."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise SourceError(path, 0, f"cannot be read ({error})", "train it anew: kgmed train pairs") from error
    if not _whole(data):
        raise SourceError(path, 0, "holds no pair scorer of this version", "train it anew: kgmed train pairs")
    wanted, given = data["encoder"], encoder.name if encoder else ""
    if wanted and wanted != given:
        raise BadInput(f"{path} was trained with the encoder {wanted}, not {given or 'none'}; take that one")
    weights = tuple(float(w) for w in data["weights"])
    return TrainedPairs(weights, float(data["bias"]), str(data["trained_on"]), encoder if wanted else None)


@scorers.register("trained/FILE", takes=("encoder",))
def _trained(file: str, *, encoder: Encoder) -> TrainedPairs:
    """What `kgmed train pairs` left, for the encoder that it was trained with."""
    return load(Path(file).expanduser(), encoder)


def _whole(data: Any) -> bool:
    """Whether a file's content is a scorer."""
    if not isinstance(data, dict) or (data.get("kind"), data.get("version")) != (_KIND, _VERSION):
        return False
    numbers = data.get("weights")
    values = [*numbers, data.get("bias")] if isinstance(numbers, list) else []
    return (
        data.get("features") == list(FEATURES)
        and len(values) == len(FEATURES) + 1
        and all(isinstance(v, int | float) and np.isfinite(v) for v in values)
        and isinstance(data.get("encoder"), str)
        and isinstance(data.get("trained_on"), str)
    )
