"""Ranker: pieces drawn by lot, the control that every ranking has to beat (KG-Rank's code has one)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import xxhash

from kgmed.rank.first import best
from kgmed.types import Evidence, Query


@dataclass(frozen=True, slots=True)
class Random:
    """`keep` pieces drawn without replacement, and every warning. The draw depends on seed and question alone."""

    keep: int = 20  # KG-Rank's code
    seed: int = 0

    def __call__(self, query: Query, evidence: Sequence[Evidence]) -> list[Evidence]:
        """The pieces in the order drawn, with the lot as their score."""
        draw = np.random.default_rng([self.seed, xxhash.xxh3_64_intdigest(query.text.encode("utf-8", "replace"))])
        return best(evidence, draw.permutation(len(evidence)) / max(len(evidence), 1), self.keep)
