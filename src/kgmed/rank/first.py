"""Ranker: the first pieces of evidence, without losing a warning."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kgmed.types import Evidence, Query


@dataclass(frozen=True)
class First:
    """The first `keep` pieces in the order they come, each once, and every warning after them."""

    keep: int = 12

    def __call__(self, query: Query, evidence: Sequence[Evidence]) -> list[Evidence]:
        """The pieces kept, in their order."""
        distinct = list({(e.text, e.id): e for e in evidence}.values())
        return [*distinct[: self.keep], *(e for e in distinct[self.keep :] if e.is_safety)]


def best(evidence: Sequence[Evidence], scores: NDArray[np.floating], keep: int) -> list[Evidence]:
    """The `keep` pieces of highest score with that score, best first, and every warning below them.

    Ties keep their order.

    >>> [e.text for e in best([Evidence("a", "triple"), Evidence("b", "triple")], np.array([0.1, 0.9]), 1)]
    ['b']
    """
    order = np.argsort(-scores, kind="stable").tolist()
    kept = [i for place, i in enumerate(order) if place < keep or evidence[i].is_safety]
    return [_scored(evidence[i], float(scores[i])) for i in kept]


def _scored(e: Evidence, score: float) -> Evidence:
    return Evidence(e.text, e.kind, e.triples, e.about, score, e.id)
