"""Rankers by an encoder: similarity, and maximal marginal relevance (KG-Rank, section 2.3)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from kgmed.rank.first import best
from kgmed.rank.noted import Ranked
from kgmed.stages import Encoder
from kgmed.types import Evidence, Query


@dataclass(frozen=True)
class Similarity:
    """Cosine of question and evidence; over question and guess where `over_hypothesis` (answer expansion)."""

    encoder: Encoder
    keep: int = 20  # not in the paper; the authors' code keeps 20
    over_hypothesis: bool = False

    def __call__(self, query: Query, evidence: Sequence[Evidence]) -> list[Evidence]:
        """The `keep` most similar, best first; ties keep their order."""
        if not evidence:
            return []
        asked = query.expanded if self.over_hypothesis else query.text
        vectors = self.encoder([asked, *(e.text for e in evidence)])
        return best(evidence, vectors[1:] @ vectors[0], self.keep)


@dataclass(frozen=True)
class MMR:
    """Maximal marginal relevance: similarity less what has been said already."""

    encoder: Encoder
    keep: int = 20
    base: float = 0.1  # KG-Rank 2.3
    step: float = 0.01  # KG-Rank 2.3
    penalty: Literal["mean", "max"] = "mean"

    def __call__(self, query: Query, evidence: Sequence[Evidence]) -> list[Evidence]:
        """The `keep` pieces picked, in the order of picking, with a score that counts down from the first of them.

        `notes` say at how many places plain similarity would have picked another piece.
        """
        if not evidence:
            return []
        vectors = self.encoder([query.text, *(e.text for e in evidence)])
        order = mmr(vectors[0], vectors[1:], self.keep, base=self.base, step=self.step, penalty=self.penalty)
        places = np.full(len(evidence), -1.0)
        places[order] = np.arange(len(order), 0, -1)
        plain = np.argsort(-(vectors[1:] @ vectors[0]), kind="stable")[: len(order)]
        changed, new = int((plain != np.array(order, np.intp)).sum()), len(set(order) - set(plain.tolist()))
        note = f"MMR changed {changed} of the {len(order)} picks of plain similarity, {new} of them to new pieces"
        return Ranked(best(evidence, places, len(order)), notes=(note,))


def worth(
    relevance: NDArray[np.floating], said: NDArray[np.floating], chosen: int, *, base: float = 0.1, step: float = 0.01
) -> NDArray[np.float64]:
    """What each row is worth with so many `chosen` (n,): its relevance, less the weight of how much of it is `said`.

    >>> worth(np.array([0.97, 0.5]), np.array([1.0, 0.0]), 1).round(2).tolist()
    [0.86, 0.5]
    """
    return np.asarray(relevance - (base + step * chosen) * said * bool(chosen), np.float64)


def mmr(
    question: NDArray[np.floating],
    rows: NDArray[np.floating],
    keep: int,
    *,
    base: float = 0.1,
    step: float = 0.01,
    penalty: Literal["mean", "max"] = "mean",
) -> list[int]:
    """The rows in the order of maximal marginal relevance; ties go to the first.

    The next row maximises cos(q, r) - w * penalty of cos(r, s) over the selected s, with w = base + step * n for n
    selected (KG-Rank 2.3, mean penalty; the classic form takes the largest). Rows (n, d) and question (d,) are unit
    vectors. O(keep * n * d).

    >>> q, r = np.array([1.0, 0]), np.array([[1.0, 0], [0.8, 0.6], [0.8, -0.6]])
    >>> mmr(q, r, 2, base=1.0), mmr(q, r, 0)
    ([0, 1], [])
    """
    relevance = rows @ question
    overlap = np.zeros(len(rows))
    free = np.ones(len(rows), bool)
    chosen: list[int] = []
    while len(chosen) < min(keep, len(rows)):
        n = len(chosen)
        said = overlap / max(n, 1) if penalty == "mean" else overlap
        pick = int(np.where(free, worth(relevance, said, n, base=base, step=step), -np.inf).argmax())
        chosen.append(pick)
        free[pick] = False
        near = rows @ rows[pick]
        overlap = overlap + near if penalty == "mean" else (np.maximum(overlap, near) if n else near)
    return chosen
