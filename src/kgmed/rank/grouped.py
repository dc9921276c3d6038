"""Ranker: another ranker, entity by entity (KG-Rank's code keeps the best of each entity, not of all)."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest

from kgmed.rank.noted import Ranked
from kgmed.stages import Ranker
from kgmed.types import Evidence, Query


@dataclass(frozen=True, slots=True)
class PerEntity:
    """A ranker applied to the evidence about each entity in turn."""

    rank: Ranker

    def __call__(self, query: Query, evidence: Sequence[Evidence]) -> list[Evidence]:
        """The best of every entity, then the second best of every entity, and so on; each piece once.

        What the ranker notes stands behind the entity's name.
        """
        names = {entity.id: entity.name for piece in evidence for entity in piece.about}
        groups: dict[str, list[Evidence]] = {}
        for piece in evidence:
            for entity_id in dict.fromkeys(entity.id for entity in piece.about) or ("",):
                groups.setdefault(entity_id, []).append(piece)
        ranked = {entity_id: self.rank(query, group) for entity_id, group in groups.items()}
        rounds = zip_longest(*ranked.values())
        found: dict[tuple[str, str], Evidence] = {}
        for piece in chain.from_iterable(rounds):
            if piece is not None:
                found.setdefault((piece.text, piece.id), piece)
        told = {names.get(i, "of no entity"): kept.notes for i, kept in ranked.items() if isinstance(kept, Ranked)}
        return Ranked(found.values(), notes=tuple(f"{name}: {note}" for name, notes in told.items() for note in notes))
