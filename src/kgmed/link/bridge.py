"""Links across languages by a bilingual graph: mention -> its entity there -> that entity's name in the other language.

"腹胀" has no name in HPO, but CMeKG knows it and its English name, which HPO may have.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from kgmed.kg.graph import LocalGraph, Match
from kgmed.kg.rows import Scope
from kgmed.link.cascade import Candidates, distinct, links
from kgmed.types import Link, Mention


@dataclass(frozen=True)
class Bridge:
    """What `onward` finds in its own graph for the translations that `dictionary` has of a mention."""

    dictionary: LocalGraph
    onward: Candidates

    def topk(self, mentions: Sequence[Mention], k: int, /) -> list[list[Match]]:
        """The best k of each; the score is that of the second step, the way is "bridge"."""
        return [self._across(m, k) for m in mentions]

    def _across(self, mention: Mention, k: int) -> list[Match]:
        """The best k of one."""
        matches = self.dictionary.lookup(mention.name)[:k]
        names = [n for m in matches for n in self._translations.get(self.dictionary.number(m.entity.id), ())]
        steps = self.onward.topk([replace(mention, name=n) for n in dict.fromkeys(names)], k)
        ranked = sorted((f for found in steps for f in found), key=lambda f: -f.score)
        return [Match(f.entity, f.name, "bridge", f.score) for f in distinct(ranked)[:k]]

    def __call__(self, mentions: Sequence[Mention], /) -> list[Link]:
        """At most one link a mention."""
        return links([self], mentions)

    @cached_property
    def _translations(self) -> dict[int, tuple[str, ...]]:
        """The translations of each entity of the dictionary, by node number."""
        found: dict[int, list[str]] = {}
        for name in self.dictionary.names(scopes=(Scope.TRANSLATION,)):
            found.setdefault(name.node, []).append(name.text)
        return {node: tuple(names) for node, names in found.items()}
