"""Ranker: the pieces whose similarity to the question stands out among all that was found (as KG-RAG prunes)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kgmed.rank.first import best
from kgmed.stages import Encoder
from kgmed.types import Evidence, Query


@dataclass(frozen=True, slots=True)
class Percentile:
    """Pieces at or above a percentile of the cosines with the question, and of at least `at_least`; at most `keep`.

    The most similar piece is always kept, so that pruning alone never empties the context.
    """

    encoder: Encoder
    percentile: float = 75.0  # KG-RAG (Soman et al. 2024)
    at_least: float = 0.5  # KG-RAG
    keep: int = 20

    def __call__(self, query: Query, evidence: Sequence[Evidence]) -> list[Evidence]:
        """Best first, each with its cosine; ties keep their order."""
        once = list({(e.text, e.id): e for e in evidence}.values())
        if not once:
            return []
        vectors = self.encoder([query.text, *(e.text for e in once)])
        cosines = vectors[1:] @ vectors[0]
        floor = max(float(np.percentile(cosines, self.percentile)), self.at_least)
        fitting = int(np.count_nonzero(cosines >= floor))
        return best(once, cosines, min(self.keep, max(1, fitting)))
