"""Rankers by a pair scorer: whole questions (KG-Rank, "RR"), and fragments of question and hypothesis (HyKGE 3.4)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from kgmed.errors import BadInput
from kgmed.kg.text import FUNCTION_WORDS, has_cjk
from kgmed.rank.first import best
from kgmed.stages import PairScorer
from kgmed.types import Evidence, Query

Aggregate = Literal["max", "mean", "sum", "rrf", "quota"]
Unit = Literal["script", "word", "char"]
RRF = 60  # Cormack et al. 2009
STOP = frozenset(FUNCTION_WORDS - {"nos"}) | frozenset("的了吗呢吧啊嘛")  # no digit, dose or Latin name among them


@dataclass(frozen=True, slots=True)
class CrossEncoder:
    """The `keep` pieces that a pair scorer finds most relevant to the question."""

    scorer: PairScorer
    keep: int = 20  # KG-Rank's code
    over_hypothesis: bool = False

    def __call__(self, query: Query, evidence: Sequence[Evidence]) -> list[Evidence]:
        """Best first, each with its score; equal texts are scored once, equal pieces kept once."""
        asked = query.expanded if self.over_hypothesis else query.text
        return _ranked(self.scorer, [asked], evidence, self.keep, "max")


@dataclass(frozen=True, slots=True)
class Fragments:
    """The `keep` pieces that fit a fragment of question or hypothesis best (HyKGE, fragment-granularity re-ranking).

    Rows of the matrix are the fragments and, where `whole`, the whole question and the whole hypothesis; columns the
    evidence. Fragments are `window` words with `overlap` shared ones; where the text is Chinese or Japanese, of
    which words are not told apart here, `window_cjk` characters. `unit` = "word" or "char" holds for every script.
    """

    scorer: PairScorer
    keep: int = 10  # HyKGE 4.1.4; 11 in its code
    window: int = 10  # HyKGE 4.1.4 (lc); 35 characters in its code
    overlap: int = 4  # HyKGE 4.1.4 (oc); 15 characters in its code
    window_cjk: int = 35  # HyKGE's code
    overlap_cjk: int = 15  # HyKGE's code
    unit: Unit = "script"
    whole: bool = True  # HyKGE's code; the paper does not say
    aggregate: Aggregate = "max"
    stop: frozenset[str] = STOP

    def __call__(self, query: Query, evidence: Sequence[Evidence]) -> list[Evidence]:
        """Best first, each with its score; equal texts are scored once, equal pieces kept once."""
        return _ranked(self.scorer, self.rows(query), evidence, self.keep, self.aggregate)

    def rows(self, query: Query) -> list[str]:
        """The distinct texts that the evidence is held against."""
        asked = "\n".join([query.text, *(text for _, text in query.question.options)])
        cut = self._cut(f"{asked}\n{query.hypothesis}")
        whole = [text for text in (query.text, query.hypothesis) if text.strip()] if self.whole else []
        return list(dict.fromkeys([*cut, *whole])) or [query.text]

    def _cut(self, text: str) -> list[str]:
        """The fragments of a text without its stop words."""
        if self.unit == "char" or (self.unit == "script" and has_cjk(text)):
            cjk = self.unit == "script"
            window, overlap = (self.window_cjk, self.overlap_cjk) if cjk else (self.window, self.overlap)
            letters = "".join(c for c in " ".join(text.split()) if c not in self.stop or c.isascii())
            return [letters[part] for part in fragments(len(letters), window, overlap)]
        words = [word for word in text.split() if word not in self.stop]
        return [" ".join(words[part]) for part in fragments(len(words), self.window, self.overlap)]


def fragments(length: int, window: int, overlap: int) -> list[slice]:
    """Slices of `window` places with `overlap` shared ones that cover 0..length; only the last may be shorter.

    >>> [(s.start, s.stop) for s in fragments(40, 35, 15)], [(s.start, s.stop) for s in fragments(10, 35, 15)]
    ([(0, 35), (20, 40)], [(0, 10)])
    """
    if not 0 <= overlap < window:
        raise BadInput(f"fragments need 0 <= overlap < window, not overlap {overlap} and window {window}")
    starts = range(0, max(length - overlap, min(length, 1)), window - overlap)
    return [slice(start, min(start + window, length)) for start in starts]


def matrix(scorer: PairScorer, rows: Sequence[str], columns: Sequence[str]) -> NDArray[np.float32]:
    """The score of every row with every column (rows, columns)."""
    pairs = [(row, column) for row in rows for column in columns]
    return np.asarray(scorer(pairs), np.float32).reshape(len(rows), len(columns))


def aggregated(scores: NDArray[np.floating], how: Aggregate) -> NDArray[np.float64]:
    """One score a column (m,) of a matrix (k, m).

    "rrf" = sum over the rows of 1 / (60 + rank); "quota" = 1 / place, where the rows in turn pick their best column
    that is left, so that each row gets its share.

    >>> table = np.array([[0.9, 0.1, 0.2], [0.3, 0.8, 0.25]])
    >>> aggregated(table, "max").tolist(), aggregated(table, "quota").round(2).tolist()
    ([0.9, 0.8, 0.25], [1.0, 0.5, 0.33])
    """
    if how == "max":
        return np.asarray(scores.max(axis=0), np.float64)
    if how in ("mean", "sum"):
        return np.asarray(scores.mean(axis=0) if how == "mean" else scores.sum(axis=0), np.float64)
    order = np.argsort(-scores, axis=1, kind="stable")
    if how == "quota":
        return 1.0 / (1 + _places(order.tolist(), scores.shape[1]))
    if how == "rrf":
        return np.asarray((1.0 / (RRF + 1 + np.argsort(order, axis=1, kind="stable"))).sum(axis=0), np.float64)
    raise BadInput(f"there is no aggregation {how!r}; take max, mean, sum, rrf or quota")


def _places(orders: Sequence[Sequence[int]], count: int) -> NDArray[np.int64]:
    """The place at which each of `count` columns is picked by the rows in turn."""
    places = np.full(count, -1, np.int64)
    left = [iter(order) for order in orders]
    for place in range(count):
        places[next(c for c in left[place % len(left)] if places[c] < 0)] = place
    return places


def _ranked(
    scorer: PairScorer, rows: Sequence[str], evidence: Sequence[Evidence], keep: int, how: Aggregate
) -> list[Evidence]:
    """The distinct pieces by their aggregated score."""
    once: dict[tuple[str, str], Evidence] = {}
    for piece in evidence:
        once.setdefault((piece.text, piece.id), piece)
    if not once:
        return []
    distinct = list(once.values())
    number = {text: i for i, text in enumerate(dict.fromkeys(e.text for e in distinct))}
    scores = aggregated(matrix(scorer, rows, list(number)), how)
    return best(distinct, scores[[number[e.text] for e in distinct]], keep)
