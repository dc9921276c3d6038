"""Links to the entity whose name lies nearest by embedding, above a threshold."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from kgmed.kg.fuzzy import Fuzzy, Near
from kgmed.kg.graph import LocalGraph, Match
from kgmed.kg.text import has_cjk
from kgmed.kg.vectors import Vectors, shortlisted, stored
from kgmed.kg.wording import canonical_words, contradicts
from kgmed.link.cascade import distinct, links
from kgmed.stages import Encoder
from kgmed.types import Link, Mention


@dataclass(frozen=True)
class Dense:
    """The nearest name by cosine, at least `at_least` (0.7: delta of HyKGE, A.2.3).

    A name that contradicts the mention (high and low, left and right, type 1 and 2) is passed over; so is one of
    the same script that holds too few of its words, because vectors put "enlarged calves" near "enlarged kidney".
    Where the graph's vectors are computed all names are compared; else those that share most n-grams with the
    mention, so that the first answer waits for no index.
    """

    graph: LocalGraph
    encoder: Encoder
    names: Fuzzy
    at_least: float = 0.7
    at_least_cjk: float = 0.7
    shared: float = 0.5  # the least overlap of words
    shared_cjk: float = 0.5  # the least overlap of characters

    def topk(self, mentions: Sequence[Mention], k: int, /) -> list[list[Match]]:
        """The best k of each above the threshold."""
        names = [m.name for m in mentions]
        return [self._entities(name, near)[:k] for name, near in zip(names, self._near(names, 4 * k), strict=True)]

    def _entities(self, mention: str, near: Sequence[Near]) -> list[Match]:
        """The entities of the near names that may mean the same as the mention."""
        at_least = self.at_least_cjk if has_cjk(mention) else self.at_least
        fit = [n for n in near if n.score >= at_least and self._fits(mention, n.name)]
        return distinct([Match(m.entity, n.name, "dense", n.score) for n in fit for m in self.graph.lookup(n.name)[:1]])

    def __call__(self, mentions: Sequence[Mention], /) -> list[Link]:
        """At most one link a mention."""
        return links([self], mentions)

    def _near(self, names: list[str], limit: int) -> list[list[Near]]:
        """The nearest names of each, whatever their cosine."""
        if self._index is not None:
            return self._index.search(names, limit=limit)
        return [shortlisted(self.names, self.encoder, name, limit=limit) for name in names]

    @cached_property
    def _index(self) -> Vectors | None:
        """The vectors of all names, where they are computed."""
        return stored(self.graph, self.encoder)

    def _fits(self, mention: str, name: str) -> bool:
        """Whether a name may mean the same as the mention."""
        least = self.shared_cjk if has_cjk(mention) else self.shared
        return overlap(mention, name) >= least and (least <= 0 or not contradicts(mention, name))


def overlap(a: str, b: str) -> float:
    """The share of the words (characters of Chinese names) of both that both have, wording apart; 1 across scripts.

    >>> overlap("enlarged calves", "Calf hypertrophy"), overlap("high fever", "Fever"), overlap("发热", "Fever")
    (1.0, 0.5, 1.0)
    """
    if has_cjk(a) != has_cjk(b):
        return 1.0
    one, other = (set(a), set(b)) if has_cjk(a) else (canonical_words(a), canonical_words(b))
    return len(one & other) / len(one | other) if one and other else 0.0
