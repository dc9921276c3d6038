"""An encoder without a model: hashed character n-grams. The fallback without the starter extra, and for tests."""

import re
import unicodedata
from collections.abc import Sequence

import numpy as np
import xxhash
from numpy.typing import NDArray

_CJK = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")


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
        cjk = _CJK.search(word) is not None
        padded, sizes = (word, (1, 2)) if cjk else (f" {word} ", (2, 3, 4))
        found += [padded[i : i + n] for n in sizes for i in range(len(padded) - n + 1)]
    return found
