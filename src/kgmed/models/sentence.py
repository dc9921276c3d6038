"""Encoders and cross-encoders in this process, through `transformers`: by a local folder or a name on the model hub.

For CODER, UMLSBert, SapBERT, mpnet, MiniLM, GTE and their like; MedCPT's cross-encoder and bge-reranker. Nothing
of a model's own code is run: weights come as safetensors, or as a pickle that may hold nothing but tensors.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgmed.errors import BadInput
from kgmed.models.from_hub import loaded

POOLINGS = ("mean", "cls")
_LONGEST = 512  # tokens, where the model names no limit


class SentenceEncoder:
    """Texts as unit vectors of a transformer."""

    def __init__(
        self, model: str | Path, *, pooling: str = "mean", batch: int = 32, longest: int = 0, device: str = "cpu"
    ) -> None:
        """Load a model; `longest` = tokens of a text that are read, 0 = as many as the model can.

        `pooling`: mean = the mean over the tokens that are no padding (CODER, MiniLM, mpnet, GTE), cls = the first
        token (SapBERT, bge).
        """
        if pooling not in POOLINGS:
            raise BadInput(f"no pooling is called {pooling!r}; known: {', '.join(POOLINGS)}")
        self._pooling, self._batch, self._device = pooling, batch, device
        self._tokenizer, self._model = loaded("AutoModel", model, device)
        self._longest = longest or _limit(self._tokenizer, self._model)
        self.name = f"{Path(model).name if Path(model).is_dir() else model}-{pooling}-{self._longest}"
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


class CrossEncoder:
    """Pairs of texts scored by a transformer that reads both at once."""

    def __init__(self, model: str | Path, *, batch: int = 32, longest: int = 0, device: str = "cpu") -> None:
        """Load a model for sequence classification that gives one number."""
        self._batch, self._device = batch, device
        self._tokenizer, self._model = loaded("AutoModelForSequenceClassification", model, device)
        self._longest = longest or _limit(self._tokenizer, self._model)
        self.name = f"{Path(model).name if Path(model).is_dir() else model}-{self._longest}"
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
        """The scores of one batch."""
        import torch  # heavy

        tokens = _tokens(self._tokenizer, firsts, seconds, self._longest).to(self._device)
        with torch.inference_mode():
            logits = self._model(**tokens).logits
        return np.asarray(logits[:, 0].float().cpu().numpy(), np.float32)


def masked_mean(states: NDArray[np.float32], mask: NDArray[np.float32]) -> NDArray[np.float32]:
    """The means (n, d) of the states (n, tokens, d) where the mask (n, tokens) is 1.

    >>> masked_mean(np.array([[[2.0, 0], [4, 0], [9, 9]]], np.float32), np.array([[1, 1, 0]], np.float32)).tolist()
    [[3.0, 0.0]]
    """
    sums = np.einsum("ntd,nt->nd", states, mask)
    return np.asarray(sums / np.maximum(mask.sum(1, keepdims=True), 1), np.float32)


def _limit(tokenizer: Any, model: Any) -> int:
    """The tokens that a model can read: the least that tokenizer and model name."""
    named = (tokenizer.model_max_length, getattr(model.config, "max_position_embeddings", _LONGEST))
    return min(_LONGEST, *(int(n) for n in named if n))


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
