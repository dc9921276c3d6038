"""Ranker: BM25 (`kg/bm25.py`), with words of scripts that have spaces and pairs of characters of others."""

from collections.abc import Sequence
from dataclasses import dataclass

from kgmed.kg import bm25
from kgmed.rank.first import best
from kgmed.types import Evidence, Query


@dataclass(frozen=True, slots=True)
class BM25:
    """The `keep` pieces with the most telling words of the question."""

    keep: int = 20
    k1: float = 1.5  # the default of MKG-Rank's package
    b: float = 0.75  # the default of MKG-Rank's package
    over_hypothesis: bool = False

    def __call__(self, query: Query, evidence: Sequence[Evidence]) -> list[Evidence]:
        """Best first, each with its score; ties keep their order."""
        asked = query.expanded if self.over_hypothesis else query.text
        return best(evidence, bm25.BM25(self.k1, self.b).scores(asked, [e.text for e in evidence]), self.keep)
