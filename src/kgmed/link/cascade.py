"""One linking stage after the other: the first that finds an entity decides."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from kgmed.kg.graph import Match
from kgmed.types import Link, Mention

_TIES = 5  # other entities named in a link at most


class Candidates(Protocol):
    """A way to find the entities that a mention may stand for."""

    def topk(self, mention: Mention, k: int) -> list[Match]:
        """At most k entities, best first; each entity once."""
        ...


@dataclass(frozen=True)
class Cascade:
    """Ways to link from the surest to the boldest; `kinds` limits what is linked to (() = anything)."""

    stages: tuple[Candidates, ...]
    kinds: tuple[str, ...] = ()

    def __call__(self, mentions: Sequence[Mention], /) -> list[Link]:
        """At most one link a mention, in their order; a mention without one was not found."""
        return links(self.stages, mentions, self.kinds)

    def topk(self, mention: Mention, k: int) -> list[Match]:
        """The best k of all stages, those of surer stages first; each entity once."""
        found: dict[str, Match] = {}
        for stage in self.stages:
            for match in _of_kinds(stage.topk(mention, k), self.kinds):
                found.setdefault(match.entity.id, match)
            if len(found) >= k:
                break
        return list(found.values())[:k]


def links(stages: Sequence[Candidates], mentions: Sequence[Mention], kinds: tuple[str, ...] = ()) -> list[Link]:
    """The first stage's best match for each mention, with those of the same score as ties."""
    found = ((m, _first(stages, m, kinds)) for m in mentions)
    return [_link(m, matches) for m, matches in found if matches]


def _first(stages: Sequence[Candidates], mention: Mention, kinds: tuple[str, ...]) -> list[Match]:
    """What the first stage that finds anything finds."""
    for stage in stages:
        matches = _of_kinds(stage.topk(mention, 4 * _TIES if kinds else _TIES + 1), kinds)
        if matches:
            return matches
    return []


def _of_kinds(matches: list[Match], kinds: tuple[str, ...]) -> list[Match]:
    """The matches whose entity is of one of the kinds; all where none is named."""
    return [m for m in matches if not kinds or m.entity.kind in kinds]


def _link(mention: Mention, matches: list[Match]) -> Link:
    """The link to the best match."""
    best, *rest = matches
    ties = tuple(m.entity for m in rest if m.score == best.score and m.how == best.how)[:_TIES]
    return Link(mention, best.entity, best.score, best.how, ties)
