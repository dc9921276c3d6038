"""Links to the entity whose name lies nearest by embedding, above a threshold."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import Prefix

from kgmed.graph.base import LocalGraph, Match
from kgmed.graph.names import Fuzzy, Near, canonical_words, contradicts
from kgmed.graph.vectors import Vectors, nearest_by_ngrams, open_vectors
from kgmed.language.text import has_cjk
from kgmed.linking.cascade import SUBSTANCES, distinct, links
from kgmed.models.base import Encoder
from kgmed.records import Link, Mention

# Chosen on the train split of HPO synonyms (bench/linking.py --tune) and seen on BC5CDR's training and development
# abstracts: with 0.8 and 0.9, of the links that no surer stage makes, .9 are right on HPO (with 0.84 .6 are), where a
# cosine alone stays at .35 whatever its threshold up to .95. One word for another is seldom right there, and on BC5CDR
# it makes hypokalemia hyponatremia. On Chinese aliases no threshold makes more than .31 of the links right: there, and
# across scripts, the default links only what differs in nothing; `link/bridge.py` is the way from Chinese to English.
_REST = 0.8  # weight of the differing words against the whole names
_ONE_SIDED = 0.7  # how well they agree where only one name says more
AGREEMENT = 0.9
_ALL = 1.0  # how well words agree at most
_OTHER_SCRIPT = 0.6  # how well they agree across scripts, where words cannot be compared
_REMEMBERED = 10_000  # names
_WORD, _ACRONYM = 3, 6  # letters at most
_DISEASES = ("itis", "oma", "osis", "emia", "uria", "pathy")  # endings that make a disease of what they follow
_ADJECTIVES = ("ic", "ous", "ed")
_STEM, _SHARED = 5, 0.6  # letters, and share of the longer word, that make two words of one family


@dataclass(frozen=True)
class Dense:
    """The nearest name by cosine, at least `at_least` (0.7: delta of HyKGE, A.2.3), whose other words agree.

    A whole vector puts "enlarged calves" near "enlarged kidneys" and "high" near "low". So a name that contradicts the
    mention is passed over, and the words that only one of the two has are compared by themselves: the score is
    (cosine + 0.8 x cosine of the differing words) / 1.8 and must reach `agreement`, unless no word differs but in its
    ending. One word is never another, and to a drug or a gene (`SUBSTANCES`) a link is made only by the same words.
    With `agreement=0` the cosine alone counts, as in HyKGE. Where the graph's vectors are computed all names are
    compared; else those that share most n-grams with the mention, so that the first answer waits for no index.
    """

    graph: LocalGraph
    encoder: Encoder
    names: Fuzzy
    at_least: float = 0.7
    agreement: float = AGREEMENT
    agreement_cjk: float = 1.0
    indexed: bool = True  # whether the vectors of all names are used where they are computed

    def topk(self, mentions: Sequence[Mention], k: int, /) -> list[list[Match]]:
        """The best k of each above the thresholds."""
        names = [m.name for m in mentions]
        known = {name: old for name in names if (old := self._found.get((name, k))) is not None}
        new = [name for name in dict.fromkeys(names) if name not in known]
        for name, near in zip(new, self._near(new, max(8, 2 * k)) if new else (), strict=True):
            known[name] = self._entities(name, self._fit(name, near))[:k]
        if len(self._found) + len(new) > _REMEMBERED:
            self._found.clear()
        self._found.update({(name, k): known[name] for name in new})
        return [list(known[name]) for name in names]

    def __call__(self, mentions: Sequence[Mention], /) -> list[Link]:
        """At most one link a mention."""
        return links([self], mentions)

    def _near(self, names: list[str], limit: int) -> list[list[Near]]:
        """The nearest names of each, whatever their cosine."""
        if self._index is not None:
            return self._index.search(names, limit=limit)
        return [
            nearest_by_ngrams(self.names, self.encoder, name, limit=limit, fits=partial(self._may_fit, name))
            for name in names
        ]

    def _may_fit(self, mention: str, name: str) -> bool:
        """Whether a name can be linked, whatever its vector says: no other is worth computing one."""
        agreement = self.agreement_cjk if has_cjk(mention) else self.agreement
        if agreement <= 0:
            return True
        pair = differing(mention, name)
        best = _ALL if pair and all(pair) else _agreement(pair)
        several = _many(mention) or _many(name)
        may = pair == ("", "") or (several and agreement < 1 and (1 + _REST * best) / (1 + _REST) >= agreement)
        return may and says_enough(mention) and not contradicts(mention, name)

    @cached_property
    def _found(self) -> dict[tuple[str, int], list[Match]]:
        """What was found of names of late: methods that are compared ask for the same ones."""
        return {}

    @cached_property
    def _index(self) -> Vectors | None:
        """The vectors of all names, where they are computed."""
        return open_vectors(self.graph, self.encoder) if self.indexed else None

    def _fit(self, mention: str, near: Sequence[Near]) -> list[Near]:
        """The near names that may mean the same as the mention, best first."""
        near = [n for n in near if n.score >= self.at_least]
        agreement = self.agreement_cjk if has_cjk(mention) else self.agreement
        if agreement <= 0:
            return near
        near = [n for n in near if not contradicts(mention, n.name)] if says_enough(mention) else []
        same = [differing(mention, n.name) == ("", "") for n in near]
        if agreement >= 1:  # not by vectors: those of two characters that the encoder has never seen are equal
            return [n for n, alike in zip(near, same, strict=True) if alike]
        rests = agreements(mention, [n.name for n in near], self.encoder)
        scored = [n._replace(score=(n.score + _REST * r) / (1 + _REST)) for n, r in zip(near, rests, strict=True)]
        words = [_many(mention) or _many(n.name) for n in near]
        kept = [n for n, alike, many in zip(scored, same, words, strict=True)
                if alike or (many and n.score >= agreement)]  # fmt: skip
        return sorted(kept, key=lambda n: -n.score)

    def _entities(self, mention: str, near: Sequence[Near]) -> list[Match]:
        """The entities of those names, each once."""
        pairs = [(n, m) for n in near for m in self.graph.lookup(n.name)[:1]]
        if self.agreement > 0:
            pairs = [
                p
                for p in pairs
                if p[1].entity.kind not in SUBSTANCES or canonical_words(mention) == canonical_words(p[0].name)
            ]
        return distinct([replace(m, name=n.name, how="dense", score=n.score) for n, m in pairs])


def _many(name: str) -> bool:
    """Whether a name has several words."""
    return len(name.split()) > 1


def says_enough(name: str) -> bool:
    """Whether a vector can tell what a name means: of an abbreviation or a word of three letters it cannot.

    >>> [says_enough(n) for n in ("HLB", "yes", "gout", "痛风")]
    [False, False, True, True]
    """
    return has_cjk(name) or (len(name) > _WORD and not (name.isupper() and len(name) <= _ACRONYM))


def agreements(mention: str, names: Sequence[str], encoder: Encoder) -> list[float]:
    """For each name how well what only one of the two says agrees: 1 = nothing differs, 0.7 = one says more."""
    pairs = [differing(mention, name) for name in names]
    both = [pair for pair in pairs if pair is not None and all(pair)]
    rows: NDArray[np.float32] = encoder([part for pair in both for part in pair])
    cosines = iter(np.einsum("ij,ij->i", rows[::2], rows[1::2]).tolist() if both else [])
    return [next(cosines) if pair and all(pair) else _agreement(pair) for pair in pairs]


def _agreement(pair: tuple[str, str] | None) -> float:
    """The agreement of two names of which one says no more than the other."""
    if pair is None:
        return _OTHER_SCRIPT
    return _ONE_SIDED if any(pair) else 1.0


def differing(a: str, b: str) -> tuple[str, str] | None:
    """The words (characters of Chinese names) that only a has, and those that only b has; None across scripts.

    >>> differing("enlarged calves", "Enlarged kidneys"), differing("retinal detachment", "detached retina")
    (('calf', 'kidney'), ('', ''))
    >>> differing("胃反酸", "反酸"), differing("发热", "Fever")
    (('胃', ''), None)
    """
    if has_cjk(a) != has_cjk(b):
        return None
    if has_cjk(a):
        return "".join(c for c in a if c not in b), "".join(c for c in b if c not in a)
    one, other = canonical_words(a), canonical_words(b)
    return _only(one, other), _only(other, one)


def _only(words: frozenset[str], other: frozenset[str]) -> str:
    """The words that have no relative among the others, in alphabetical order."""
    return " ".join(sorted(w for w in words if w not in other and not any(_relatives(w, o) for o in other)))


def _relatives(a: str, b: str) -> bool:
    """Whether two words are forms of one: they begin alike, neither goes on for long, and none alone is a disease.

    >>> [_relatives(*pair) for pair in (("coughing", "cough"), ("fibromyalgia", "fibrosarcoma"), ("spine", "spinal"))]
    [True, False, False]
    >>> [_relatives("prolactin", "prolactinoma"), _relatives("tuberculous", "tuberculosis")]
    [False, True]
    """
    adjective = a.endswith(_ADJECTIVES) or b.endswith(_ADJECTIVES)
    if not adjective and any(a.endswith(end) != b.endswith(end) for end in _DISEASES):
        return False
    alike = Prefix.similarity(a, b)
    return alike >= _STEM and alike >= _SHARED * max(len(a), len(b))
