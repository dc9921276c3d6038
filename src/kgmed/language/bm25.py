"""BM25 over a handful of texts in any language: words where a script has spaces, pairs of characters where not.

Robertson and Zaragoza 2009, with the inverse document frequency of Lucene, log(1 + (N - n + 0.5) / (n + 0.5)): it is
never negative, so that a word of every text does not count against the texts that hold it, as in BM25Okapi.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import log

import numpy as np
from numpy.typing import NDArray

from kgmed.language.text import normalise

_CJK_RUN = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+")


def words(text: str) -> list[str]:
    """The words of a text, normalised; of Chinese and Japanese every pair of neighbouring characters.

    Korean and Swahili are split at spaces, as English is.

    >>> words("Homa ya TUMBO, 胃食管 bệnh"), words("痛"), words("고혈압 환자")
    (['homa', 'ya', 'tumbo', '胃食', '食管', 'bệnh'], ['痛'], ['고혈압', '환자'])
    """
    found: list[str] = []
    for piece in _CJK_RUN.sub(lambda m: f" {m[0]} ", normalise(text)).split():
        found += _pairs(piece) if _CJK_RUN.match(piece) else [piece]
    return found


def _pairs(run: str) -> list[str]:
    """The pairs of neighbouring characters; a lone character stays."""
    return [run[i : i + 2] for i in range(max(1, len(run) - 1))]


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
