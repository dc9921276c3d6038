"""Links by how a name is written: exact, alias, normalised, folded, other wording, and small slips of spelling."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from kgmed.kg.fuzzy import Fuzzy
from kgmed.kg.graph import LocalGraph, Match
from kgmed.kg.text import has_cjk, normalise
from kgmed.kg.wording import Wording, contradicts
from kgmed.link.cascade import links
from kgmed.types import Link, Mention

AT_LEAST = 0.85  # edit similarity, Latin; chosen on the train split of HPO synonyms (bench/linking.py --tune)
AT_LEAST_CJK = 0.75  # the same on CMeKG's aliases: one character in four
_SHORTEST = 5  # letters: in shorter words one slip makes another word
_SHORTEST_CJK = 4


@dataclass(frozen=True)
class Spelled:
    """The entities of that very name, by the graph's own index."""

    graph: LocalGraph

    def topk(self, mention: Mention, k: int) -> list[Match]:
        """The best k."""
        return self.graph.lookup(mention.name)[:k]

    def __call__(self, mentions: Sequence[Mention], /) -> list[Link]:
        """At most one link a mention."""
        return links([self], mentions)


@dataclass(frozen=True)
class Reworded:
    """The entities that have a name of the same words up to wording (`kg/wording.py`)."""

    graph: LocalGraph

    def topk(self, mention: Mention, k: int) -> list[Match]:
        """The best k."""
        return self._wording.search(mention.name)[:k]

    def __call__(self, mentions: Sequence[Mention], /) -> list[Link]:
        """At most one link a mention."""
        return links([self], mentions)

    @cached_property
    def _wording(self) -> Wording:
        """The index of the graph's names by their words."""
        return Wording(self.graph)


@dataclass(frozen=True)
class Misspelled:
    """The entities that have a name nearly spelled like it, never one that says the opposite."""

    graph: LocalGraph
    names: Fuzzy
    at_least: float = AT_LEAST
    at_least_cjk: float = AT_LEAST_CJK

    def topk(self, mention: Mention, k: int) -> list[Match]:
        """The best k."""
        key = normalise(mention.name)
        cjk = has_cjk(key)
        if len(key) < (_SHORTEST_CJK if cjk else _SHORTEST):
            return []
        near = self.names.search(mention.name, limit=4 * k, at_least=self.at_least_cjk if cjk else self.at_least)
        agreeing = [n for n in near if not contradicts(mention.name, n.name)]
        found = [Match(m.entity, n.name, "fuzzy", n.score) for n in agreeing for m in self.graph.lookup(n.name)[:1]]
        return distinct(found)[:k]

    def __call__(self, mentions: Sequence[Mention], /) -> list[Link]:
        """At most one link a mention."""
        return links([self], mentions)


def distinct(matches: Sequence[Match]) -> list[Match]:
    """The matches with each entity once, where it stands first."""
    seen: dict[str, Match] = {}
    for match in matches:
        seen.setdefault(match.entity.id, match)
    return list(seen.values())
