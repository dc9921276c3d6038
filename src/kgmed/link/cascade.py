"""One linking stage after the other: the first that finds an entity decides."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from kgmed.kg.graph import Match
from kgmed.types import Link, Mention

# Kinds whose names are spelled and never paraphrased: one letter more is another drug (methanol, ethanol), and a vector
# puts a drug that its encoder has not met near any other.
SUBSTANCES = frozenset({"drug", "ingredient", "gene", "protein", "chemical"})
_TIES = 5  # other entities named in a link at most


class Candidates(Protocol):
    """A way to find the entities that mentions may stand for."""

    def topk(self, mentions: Sequence[Mention], k: int, /) -> list[list[Match]]:
        """For each mention at most k entities, best first; each entity once."""
        ...


@dataclass(frozen=True)
class Cascade:
    """Ways to link from the surest to the boldest; `kinds` limits what is linked to (() = anything).

    `nearest` says what lies next to a mention, however far: it is shown to a person, and never linked.
    """

    stages: tuple[Candidates, ...]
    kinds: tuple[str, ...] = ()
    nearest: Candidates | None = None

    def __call__(self, mentions: Sequence[Mention], /) -> list[Link]:
        """At most one link a mention, in their order; a mention without one was not found."""
        return links(self.stages, mentions, self.kinds)

    def topk(self, mentions: Sequence[Mention], k: int, /) -> list[list[Match]]:
        """The best k of all stages, those of surer stages first; each entity once."""
        found: list[list[Match]] = [[] for _ in mentions]
        for stage in self.stages:
            short = [i for i, matches in enumerate(found) if len(matches) < k]
            more = stage.topk([mentions[i] for i in short], k)
            for i, matches in zip(short, more, strict=True):
                found[i] = distinct([*found[i], *_of_kinds(matches, self.kinds)])[:k]
        return found

    def suggestions(self, mentions: Sequence[Mention], k: int, /) -> list[list[Match]]:
        """The best k of all stages, then what lies nearest, whatever its score; each entity once."""
        found = self.topk(mentions, k)
        if self.nearest is None:
            return found
        short = [i for i, matches in enumerate(found) if len(matches) < k]
        more = self.nearest.topk([mentions[i] for i in short], k)
        for i, matches in zip(short, more, strict=True):
            found[i] = distinct([*found[i], *_of_kinds(matches, self.kinds)])[:k]
        return found


def links(stages: Sequence[Candidates], mentions: Sequence[Mention], kinds: tuple[str, ...] = ()) -> list[Link]:
    """The first stage's best match for each mention, with those of the same score as ties."""
    found: list[list[Match]] = [[] for _ in mentions]
    for stage in stages:
        left = [i for i, matches in enumerate(found) if not matches]
        more = stage.topk([mentions[i] for i in left], 4 * _TIES if kinds else _TIES + 1) if left else []
        for i, matches in zip(left, more, strict=True):
            found[i] = _of_kinds(matches, kinds)
    return [_link(m, matches) for m, matches in zip(mentions, found, strict=True) if matches]


def distinct(matches: Sequence[Match]) -> list[Match]:
    """The matches with each entity once, where it stands first."""
    seen: dict[str, Match] = {}
    for match in matches:
        seen.setdefault(match.entity.id, match)
    return list(seen.values())


def _of_kinds(matches: list[Match], kinds: tuple[str, ...]) -> list[Match]:
    """The matches whose entity is of one of the kinds; all where none is named."""
    return [m for m in matches if not kinds or m.entity.kind in kinds]


def _link(mention: Mention, matches: list[Match]) -> Link:
    """The link to the best match."""
    best, *rest = matches
    ties = tuple(m.entity for m in rest if m.score == best.score and m.how == best.how)[:_TIES]
    return Link(mention, best.entity, best.score, best.how, ties)
