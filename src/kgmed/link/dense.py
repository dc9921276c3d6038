"""Links to the entity whose name lies nearest by embedding, above a threshold."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from kgmed.kg.fuzzy import Fuzzy, Near
from kgmed.kg.graph import LocalGraph, Match
from kgmed.kg.vectors import Vectors, shortlisted, stored
from kgmed.kg.wording import canonical_words, contradicts
from kgmed.link.by_name import distinct
from kgmed.link.cascade import links
from kgmed.stages import Encoder
from kgmed.types import Link, Mention


@dataclass(frozen=True)
class Dense:
    """The nearest name by cosine, at least `at_least` (0.7: delta of HyKGE, A.2.3).

    With `guarded`, a name that contradicts the mention (high and low, left and right, type 1 and 2) is passed over.
    Where the graph's vectors are computed all names are compared; else those that share most n-grams with the
    mention, so that the first answer waits for no index.
    """

    graph: LocalGraph
    encoder: Encoder
    names: Fuzzy
    at_least: float = 0.7
    guarded: bool = False
    shared: float = 0.0  # the least share of the mention's words that a name of its script must hold

    def topk(self, mention: Mention, k: int) -> list[Match]:
        """The best k above the threshold."""
        near = [n for n in self._near(mention.name, 4 * k) if n.score >= self.at_least]
        fit = [n for n in near if self._fits(mention.name, n.name)]
        found = [Match(m.entity, n.name, "dense", n.score) for n in fit for m in self.graph.lookup(n.name)[:1]]
        return distinct(found)[:k]

    def __call__(self, mentions: Sequence[Mention], /) -> list[Link]:
        """At most one link a mention."""
        return links([self], mentions)

    def _near(self, name: str, limit: int) -> list[Near]:
        """The nearest names, whatever their cosine."""
        if self._index is not None:
            return self._index.search([name], limit=limit)[0]
        return shortlisted(self.names, self.encoder, name, limit=limit)

    @cached_property
    def _index(self) -> Vectors | None:
        """The vectors of all names, where they are computed."""
        return stored(self.graph, self.encoder)

    def _fits(self, mention: str, name: str) -> bool:
        """Whether a name may mean the same as the mention."""
        if not self.guarded:
            return True
        return not contradicts(mention, name) and overlap(mention, name) >= self.shared


def overlap(a: str, b: str) -> float:
    """The share of a's words (characters of a Chinese name) that b has, wording apart; 1 where scripts differ.

    >>> overlap("enlarged calves", "Calf hypertrophy"), overlap("high fever", "Fever"), overlap("发热", "Fever")
    (1.0, 0.5, 1.0)
    """
    if a.isascii() != b.isascii():
        return 1.0
    if not a.isascii():
        return len(set(a) & set(b)) / len(set(a)) if a else 0.0
    words = canonical_words(a)
    return len(words & canonical_words(b)) / len(words) if words else 0.0
