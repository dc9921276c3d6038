"""Ranker: another ranker, asked with each line of the guess in turn."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain, zip_longest

from kgmed.stages import Ranker
from kgmed.types import Evidence, Query


@dataclass(frozen=True, slots=True)
class ByLine:
    """The best for each line, then the second best for each line, and so on; for the question where there is no guess.

    So every sentence of a rationale has evidence to be held against (Chain-of-Knowledge).
    """

    rank: Ranker

    def __call__(self, query: Query, evidence: Sequence[Evidence]) -> list[Evidence]:
        """The pieces kept for any line, each once."""
        lines = query.hypothesis.splitlines() or [query.text]
        asked = (replace(query, question=replace(query.question, text=line), hypothesis="") for line in lines)
        rounds = zip_longest(*(self.rank(one, evidence) for one in asked))
        found: dict[tuple[str, str], Evidence] = {}
        for piece in chain.from_iterable(rounds):
            if piece is not None:
                found.setdefault((piece.text, piece.id), piece)
        return list(found.values())
