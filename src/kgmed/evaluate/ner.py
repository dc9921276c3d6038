"""Precision, recall and F1 of found entities: an entity is right where its type and all its parts are.

Counts are summed over texts before they are divided (micro). Nested and discontinuous entities count as any other.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from kgmed.models.w2ner.units import Found

Texts = Sequence[Collection[Found]]


@dataclass(frozen=True, slots=True)
class Score:
    """How many entities were found, how many there are, and how many of them were found."""

    found: int
    gold: int
    right: int

    @property
    def precision(self) -> float:
        """The share of found entities that are right; 0 where none is found."""
        return self.right / self.found if self.found else 0.0

    @property
    def recall(self) -> float:
        """The share of entities that were found; 0 where there is none."""
        return self.right / self.gold if self.gold else 0.0

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall.

        >>> Score(found=4, gold=2, right=2).f1
        0.6666666666666666
        """
        return 2 * self.right / (self.found + self.gold) if self.right else 0.0


def score(found: Texts, gold: Texts, *, typed: bool = True) -> Score:
    """The score over texts, each entity counted once; not `typed` = the type need not be right.

    >>> score([[Found("dis", ((0, 2),))]], [[Found("sym", ((0, 2),)), Found("sym", ((1, 2),))]], typed=False)
    Score(found=1, gold=2, right=1)
    """
    pairs = [(_set(f, typed=typed), _set(g, typed=typed)) for f, g in zip(found, gold, strict=True)]
    return Score(sum(len(f) for f, _ in pairs), sum(len(g) for _, g in pairs), sum(len(f & g) for f, g in pairs))


def _set(entities: Collection[Found], *, typed: bool) -> set[Found]:
    return {f if typed else Found("", f.parts) for f in entities}


def by_kind(found: Texts, gold: Texts) -> dict[str, Score]:
    """The score of each type that is found or should be, by its name."""
    kinds = sorted({f.kind for text in (*found, *gold) for f in text})
    return {kind: score(_of_kind(found, kind), _of_kind(gold, kind)) for kind in kinds}


def _of_kind(texts: Texts, kind: str) -> list[list[Found]]:
    return [[f for f in text if f.kind == kind] for text in texts]


def nested(gold: Texts) -> list[list[Found]]:
    """Of each text the entities that share a character with another: one in the other, or across it.

    >>> nested([[Found("sym", ((0, 4),)), Found("bod", ((0, 2),)), Found("dis", ((5, 7),))]])
    [[Found(kind='sym', parts=((0, 4),)), Found(kind='bod', parts=((0, 2),))]]
    """
    return [[f for f in text if any(g != f and _touch(f, g) for g in text)] for text in gold]


def _touch(one: Found, other: Found) -> bool:
    return any(a < d and c < b for a, b in one.parts for c, d in other.parts)
