"""Encoders and pair scorers behind a server: `/embeddings` as OpenAI has it, `/rerank` as Cohere, Jina or vLLM have it.

The key comes from the environment variable KGMED_API_KEY; a server of one's own may need none.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgmed.errors import BadInput
from kgmed.models.border import Remote, host_of, key_from
from kgmed.models.post import post
from kgmed.models.rate import Rate

LAYOUTS: dict[str, dict[str, object]] = {  # what `/rerank` is sent beside model, query and documents
    "cohere": {},
    "jina": {"return_documents": False},
    "vllm": {},
}


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
        rate: Rate | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Name the model and its server (such as http://localhost:8000/v1); `batch` texts are sent at a time.

        `rate` None = as fast as the server answers, one request at a time.
        """
        self._remote = _remote("embeddings", model, base_url, environment)
        self._url = f"{base_url.rstrip('/')}/embeddings"
        self._batch, self._timeout, self._retries = batch, timeout, retries
        self._wait = rate.wait if rate else _at_once

    @property
    def name(self) -> str:
        """The model and the server's host."""
        return self._remote.name

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
        said = [i for i, text in enumerate(texts) if text.strip()]
        for some in _batches(said, self._batch):
            vectors = self._vectors([texts[i] for i in some])
            if vectors.shape[1] != self.dimensions:
                raise self._remote.unusable(f"vectors of length {vectors.shape[1]} after {self.dimensions}")
            rows[some] = vectors
        return rows

    def _vectors(self, texts: list[str]) -> NDArray[np.float32]:
        """Unit rows of one batch."""
        body = {"model": self._remote.model, "input": texts, "encoding_format": "float"}
        self._wait()
        answer = post(self._remote, self._url, body, timeout=self._timeout, retries=self._retries)
        rows = _by_index(self._remote, answer, "data", "embedding", len(texts))
        try:
            vectors = np.asarray(rows, np.float32)
        except (ValueError, TypeError, OverflowError):
            raise self._remote.unusable("vectors that are no lists of numbers of one length") from None
        if vectors.ndim != 2 or not vectors.shape[1] or not np.isfinite(vectors).all():
            raise self._remote.unusable("vectors that are no lists of finite numbers")
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
        rate: Rate | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Name the model and its server (https://api.cohere.com/v2, https://api.jina.ai/v1, http://localhost:8000/v1).

        `layout` is cohere, jina or vllm: how a request is written.
        """
        if layout not in LAYOUTS:
            raise BadInput(f"no layout of /rerank is called {layout!r}; known: {', '.join(LAYOUTS)}")
        self._remote = _remote("rerank", model, base_url, environment)
        self._url, self._more = f"{base_url.rstrip('/')}/rerank", LAYOUTS[layout]
        self._batch, self._timeout, self._retries = batch, timeout, retries
        self._wait = rate.wait if rate else _at_once

    @property
    def name(self) -> str:
        """The model and the server's host."""
        return self._remote.name

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
        body = {"model": self._remote.model, "query": question, "documents": texts, **self._more}
        self._wait()
        answer = post(self._remote, self._url, body, timeout=self._timeout, retries=self._retries)
        found = _by_index(self._remote, answer, "results", "relevance_score", len(texts))
        if not all(isinstance(v, int | float) and np.isfinite(v) for v in found):
            raise self._remote.unusable("scores that are no finite numbers")
        return np.asarray(found, np.float32)


def _at_once() -> None:
    """No wait."""


def _remote(kind: str, model: str, base_url: str, environment: Mapping[str, str] | None) -> Remote:
    """The model, its host and the key for it."""
    return Remote(kind, model, host_of(base_url), key_from(environment)[1])


def _batches(items: list[int], size: int) -> Iterator[list[int]]:
    """The items, so many at a time.

    >>> list(_batches([1, 2, 3], 2))
    [[1, 2], [3]]
    """
    return (items[i : i + size] for i in range(0, len(items), size))


def _by_index(remote: Remote, answer: Any, rows: str, value: str, count: int) -> list[Any]:
    """The values in an answer by their `index`; servers sort them as they like. Each must be there, once."""
    try:
        found = {row["index"]: row[value] for row in answer[rows]}
        if len(answer[rows]) == count:
            return [found[i] for i in range(count)]
    except (TypeError, KeyError, IndexError):
        pass
    raise remote.unusable(f"not one {value} for each of {count} texts")
