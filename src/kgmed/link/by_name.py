"""Links by how a name is written: exact, alias, normalised, folded, other wording, and small slips of spelling."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from rapidfuzz.distance import OSA

from kgmed.kg.fuzzy import Fuzzy
from kgmed.kg.graph import KnowledgeGraph, LocalGraph, Match
from kgmed.kg.text import fold_word, has_cjk, normalise
from kgmed.kg.wording import Wording, contradicts
from kgmed.link.cascade import SUBSTANCES, distinct, links
from kgmed.types import Link, Mention

AT_LEAST = 0.8  # edit similarity, Latin; chosen on train splits (bench/linking.py --tune)
AT_LEAST_CJK = 0.75  # the same on CMeKG's aliases: one character in four
_SHORTEST = 5  # letters: in shorter words one slip makes another word
_SHORTEST_CJK = 4
_LONG = 16  # letters: in shorter names two slips make another name (hypokalemia, hypocalcemia)
_SURE_START = 8  # letters: in shorter words the first letter is no slip (France, trance)


@dataclass(frozen=True)
class Spelled:
    """The entities of that very name, by the graph's own index."""

    graph: KnowledgeGraph

    def topk(self, mentions: Sequence[Mention], k: int, /) -> list[list[Match]]:
        """The best k of each."""
        return [self.graph.lookup(m.name)[:k] for m in mentions]

    def __call__(self, mentions: Sequence[Mention], /) -> list[Link]:
        """At most one link a mention."""
        return links([self], mentions)


@dataclass(frozen=True)
class Reworded:
    """The entities that have a name of the same words up to wording (`kg/wording.py`)."""

    graph: LocalGraph

    def topk(self, mentions: Sequence[Mention], k: int, /) -> list[list[Match]]:
        """The best k of each."""
        return [self._wording.search(m.name)[:k] for m in mentions]

    def __call__(self, mentions: Sequence[Mention], /) -> list[Link]:
        """At most one link a mention."""
        return links([self], mentions)

    @cached_property
    def _wording(self) -> Wording:
        """The index of the graph's names by their words."""
        return Wording(self.graph)


@dataclass(frozen=True)
class Misspelled:
    """The entities that have a name nearly spelled like it: what one slip of the pen makes of it, two if it is long.

    A word that other names know is no slip ("lysine" for "glycine"), nor is an opposite or another number, and no word
    is a slip of a symbol (France, FANCE). A drug may have one slip, not in its first letter and in no Chinese name,
    where every character counts (头孢克洛, 头孢克肟).
    """

    graph: LocalGraph
    names: Fuzzy
    at_least: float = AT_LEAST
    at_least_cjk: float = AT_LEAST_CJK

    def topk(self, mentions: Sequence[Mention], k: int, /) -> list[list[Match]]:
        """The best k of each."""
        return [self._search(m.name, k) for m in mentions]

    def _search(self, name: str, k: int) -> list[Match]:
        """The best k for one name."""
        key = normalise(name)
        cjk = has_cjk(key)
        if len(key) < (_SHORTEST_CJK if cjk else _SHORTEST):
            return []
        near = self.names.search(name, limit=4 * k, at_least=self.at_least_cjk if cjk else self.at_least)
        slips = [n for n in near if self._is_slip(key, normalise(n.name)) and (name.isupper() or not n.name.isupper())]
        found = [Match(m.entity, n.name, "fuzzy", n.score) for n in slips for m in self.graph.lookup(n.name)[:1]]
        return distinct([m for m in found if m.entity.kind not in SUBSTANCES or _is_safe(key, normalise(m.name))])[:k]

    def _is_slip(self, written: str, name: str) -> bool:
        """Whether one normalised name may be a misspelling of the other."""
        other = {fold_word(w) for w in name.split()}
        if len(written) < _SURE_START and written[:1] != name[:1]:
            return False
        if OSA.distance(written, name) > 1 + (len(written) >= _LONG):
            return False
        strange = [w for w in map(fold_word, written.split()) if w not in other]
        return not any(self.names.knows(w) for w in strange) and not contradicts(written, name)

    def __call__(self, mentions: Sequence[Mention], /) -> list[Link]:
        """At most one link a mention."""
        return links([self], mentions)


def _is_safe(written: str, name: str) -> bool:
    """Whether a name of a substance is misspelled beyond doubt: one slip, not in its first letter.

    >>> [_is_safe("asprin", "aspirin"), _is_safe("methanol", "ethanol"), _is_safe("clonazepam", "clotiazepam")]
    [True, False, False]
    """
    return not has_cjk(name) and written[:1] == name[:1] and OSA.distance(written, name) <= 1
