"""A pair scorer without a model of its own: words in common and an encoder's cosine.

No cross-encoder's weights come with kgmed. This stands in for one, and its name says so.
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from kgmed.stages import Encoder

_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_RUN = re.compile(rf"[{_CJK}]+|(?:[^\W_{_CJK}]|(?<=\d)\.(?=\d))+")


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
    """The cosine of the vectors of each pair (n,); each distinct text is encoded once."""
    number: dict[str, int] = {}
    left, right = (np.array([number.setdefault(pair[side], len(number)) for pair in pairs], np.intp) for side in (0, 1))
    if not len(left):
        return np.zeros(0, np.float32)
    rows = encoder(list(number))
    blocks = (slice(i, i + 4096) for i in range(0, len(left), 4096))
    return np.concatenate([_cosines(rows, left[block], right[block]) for block in blocks])


def _cosines(rows: NDArray[np.float32], left: NDArray[np.intp], right: NDArray[np.intp]) -> NDArray[np.float32]:
    """The cosine of each pair of unit rows."""
    return np.asarray(np.einsum("ij,ij->i", rows[left], rows[right]), np.float32)


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
    if len(run) == 1 or not re.match(f"[{_CJK}]", run):
        return [run]
    return [run[i : i + 2] for i in range(len(run) - 1)]
