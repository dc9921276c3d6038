"""Ranker: another ranker, entity by entity (KG-Rank's code keeps the best of each entity, not of all)."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest

from kgmed.stages import Ranker
from kgmed.types import Evidence, Query


@dataclass(frozen=True, slots=True)
class PerEntity:
    """A ranker applied to the evidence about each entity in turn."""

    rank: Ranker

    def __call__(self, query: Query, evidence: Sequence[Evidence]) -> list[Evidence]:
        """The best of every entity, then the second best of every entity, and so on; each piece once."""
        groups: dict[str, list[Evidence]] = {}
        for piece in evidence:
            for entity_id in dict.fromkeys(entity.id for entity in piece.about) or ("",):
                groups.setdefault(entity_id, []).append(piece)
        rounds = zip_longest(*(self.rank(query, group) for group in groups.values()))
        found: dict[tuple[str, str], Evidence] = {}
        for piece in chain.from_iterable(rounds):
            if piece is not None:
                found.setdefault((piece.text, piece.id), piece)
        return list(found.values())
