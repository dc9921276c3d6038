"""One trained scorer decides which candidate of all ways to find one a mention stands for, or that none does.

Candidates are the entities of the names that the map finds near (`linking/align.py`), which sees slips of spelling as
well as other words, and those of a name of the same words. Boosted trees score each by how it was found, what is alike,
what either name says more, and how far the next one is. The scores at which a link is made and from which a person is
asked are chosen at a stated precision on names held out from training. The trees are arrays in a small file, applied in
numpy; figures: docs/linking.md.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray
from rapidfuzz import fuzz
from rapidfuzz.distance import OSA, JaroWinkler

from kgmed.disk import data_folder, packaged
from kgmed.errors import SourceError
from kgmed.graph.base import LocalGraph, Match
from kgmed.graph.names import Fuzzy, Rewordings, canonical_words, contradicts
from kgmed.graph.vectors import Vectors
from kgmed.language.text import fold_word, has_cjk, normalise
from kgmed.linking.cascade import SUBSTANCES, is_one_slip, is_same_substance, is_symbol, links, says_enough
from kgmed.records import Link, Mention
from kgmed.stop import check_stop

T = TypeVar("T")
Rows = NDArray[np.float32]

_NEAR, _WORDED, _SHARED = 32, 3, 2  # names found by the map, entities by words, entities of one name
_MOST, _NAMES = 12, 12  # candidates, and names of each that are looked at
_AT_ONCE = 256  # mentions
_TENTH, _CLOSE = 10, 0.05  # of the candidates by the map; how far from the first is close
_SHORT, _AKIN = 3, 0.9  # letters in which words are the same or not; likeness of two that may be one
_REMEMBERED = 10_000  # mentions

# --- What the scorer sees of a candidate.

FEATURES = (
    "map", "map gap", "map rank", "map tenth", "map close",
    "edits", "edits gap", "sorted letters", "shared letters", "start", "start gap",
    "mention covered", "mention covered gap", "name covered", "length",
    "own name letters", "mention covered by own name", "owners", "contradicts", "same words",
    "letters", "words", "unknown words", "capitals", "chinese", "other script", "substance",
)  # fmt: skip
# How many names an entity has is not seen: one that a name was held out of has fewer, and that would be learnt.


class Name(NamedTuple):
    """A name as it is compared."""

    text: str
    key: str
    words: tuple[tuple[str, float], ...]  # and how much each says


class LinkCandidate(NamedTuple):
    """An entity that a mention may stand for, which of its names is nearest, and what the scorer sees."""

    node: int
    name: str
    features: Rows  # (len(FEATURES),)


@dataclass(frozen=True)
class Finder:
    """The candidates of mentions in a graph, by map and by words."""

    graph: LocalGraph
    vectors: Vectors  # of all names through the map

    def __call__(self, mentions: Sequence[str]) -> list[list[LinkCandidate]]:
        """The candidates of each mention, in no order."""
        return list(self.without((mention, frozenset()) for mention in mentions))

    def without(self, mentions: Iterable[tuple[str, frozenset[int]]]) -> Iterator[list[LinkCandidate]]:
        """The candidates of each mention, as they were if the graph had not some nodes."""
        for part in _batched(mentions, _AT_ONCE):
            check_stop()
            queries = self.vectors.encoder([mention for mention, _ in part])
            near = self.vectors.nearest(queries, limit=_NEAR)
            for (mention, lost), query, found in zip(part, queries, near, strict=True):
                yield self._of(mention, query, [n.row for n in found], lost)

    def _of(self, mention: str, query: Rows, near: list[int], lost: frozenset[int]) -> list[LinkCandidate]:
        """The candidates of one mention: the entities of the same words, and those of the nearest names."""
        worded = [self.graph.number(m.entity.id) for m in self._wording.search(mention)[:_WORDED]]
        found = [node for row in near for node in self._names.nodes(row)[:_SHARED]]
        nodes = [node for node in dict.fromkeys([*worded, *found]) if node not in lost][:_MOST]
        rows = [self._names.rows(node)[:_NAMES] for node in nodes]
        if not nodes:
            return []
        said, flat = self._name(mention), [row for some in rows for row in some]
        names = [self._by_row(row) for row in flat]
        alike = np.array([_alike(said, name) for name in names], np.float32)
        by_map = self.vectors.matrix[flat].astype(np.float32) @ query
        best, seen = _of_entities(by_map, alike, [len(some) for some in rows])
        owners = [len(self._names.nodes(flat[b])) for b in best]
        about = self._about(said, nodes, [names[b] for b in best], set(worded))
        columns = np.column_stack([seen, np.array(owners, np.float32), about])
        return [LinkCandidate(*c) for c in zip(nodes, (names[b].text for b in best), columns, strict=True)]

    def _about(self, said: Name, nodes: list[int], names: list[Name], worded: set[int]) -> Rows:
        """What is seen of the mention alone, and of candidates by no likeness."""
        unknown = sum(weight >= self._unsaid for _, weight in said.words)
        mention = (len(said.key), len(said.words), unknown, said.text.isupper(), has_cjk(said.key))
        return np.array([
            (contradicts(said.text, name.text), node in worded, *mention, has_cjk(name.key) != mention[-1],
             self.graph.at(node).kind in SUBSTANCES)
            for node, name in zip(nodes, names, strict=True)
        ], np.float32)  # fmt: skip

    def _by_row(self, row: int) -> Name:
        """A name of the graph."""
        if row not in self._kept:
            self._kept[row] = self._name(self._names.name(row))
        return self._kept[row]

    def _name(self, text: str) -> Name:
        """A name with its words, of Chinese its characters, and what each says: log of names / names with it."""
        key = normalise(text)
        words = [w for part in key.split() for w in (part if has_cjk(part) else [part])]
        return Name(text, key, tuple((w, self._says(w)) for w in dict.fromkeys(words)))

    def _says(self, word: str) -> float:
        """What a word says: the less, the more names have it."""
        if word not in self._weights:
            self._weights[word] = self._unsaid - math.log1p(self._names.often(fold_word(word)))
        return self._weights[word]

    @cached_property
    def _weights(self) -> dict[str, float]:
        """What the words that were met so far say."""
        return {}

    @cached_property
    def _unsaid(self) -> float:
        """What a word says that no name has."""
        return math.log(len(self._names) + 2)

    @property
    def _names(self) -> Fuzzy:
        return self.vectors.names

    @cached_property
    def _kept(self) -> dict[int, Name]:
        """The names that were compared so far."""
        return {}

    @cached_property
    def _wording(self) -> Rewordings:
        return Rewordings(self.graph)


def _batched(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """The items, so many at a time (`itertools.batched` is of Python 3.12)."""
    rest = iter(items)
    while part := list(islice(rest, size)):
        yield part


def _alike(a: Name, b: Name) -> tuple[float, ...]:
    """How alike two names are in letters and words: 1 = the same."""
    return (
        OSA.normalized_similarity(a.key, b.key),
        fuzz.token_sort_ratio(a.key, b.key) / 100,
        fuzz.partial_ratio(a.key, b.key) / 100,
        JaroWinkler.similarity(a.key, b.key),
        covered(a.words, b.words),
        covered(b.words, a.words),
        len(a.key) / (len(a.key) + len(b.key) or 1),
    )


def covered(words: tuple[tuple[str, float], ...], others: tuple[tuple[str, float], ...]) -> float:
    """The share of what some words say that others say too, slips and endings forgiven.

    >>> covered((("muscle", 2.0), ("weak", 2.0)), (("muscles", 1.0), ("pain", 1.0)))
    0.5
    """
    whole = sum(weight for _, weight in words)
    there = {w for w, _ in others}
    said = sum(weight for w, weight in words if w in there or any(_akin(w, o) for o in there))
    return said / whole if whole else 0.0


@lru_cache(maxsize=1 << 18)
def _akin(a: str, b: str) -> bool:
    """Whether two words may be one: they start alike and differ little."""
    return a[:2] == b[:2] and len(a) > _SHORT < len(b) and JaroWinkler.similarity(a, b) >= _AKIN


def _of_entities(by_map: Rows, alike: Rows, counts: list[int]) -> tuple[list[int], Rows]:
    """The nearest name of each entity, and how alike it is by the map, by letters, and against the other entities.

    The last two columns are of the entity's own name, its first.
    """
    starts = np.cumsum([0, *counts[:-1]])
    best = [s + int(by_map[s : s + n].argmax()) for s, n in zip(starts.tolist(), counts, strict=True)]
    score = by_map[best]
    letters = np.maximum.reduceat(alike[:, :5], starts)
    rank = (-score).argsort(kind="stable").argsort()
    tenth, close = np.sort(score)[::-1][:_TENTH][-1], (score > score.max() - _CLOSE).sum()
    edits, ordered, shared, start, said = letters.T
    columns = (
        score, _gap(score), rank, np.full_like(score, tenth), np.full_like(score, close),
        edits, _gap(edits), ordered, shared, start, _gap(start),
        said, _gap(said), alike[best, 5], alike[best, 6], alike[starts, 1], alike[starts, 4],
    )  # fmt: skip
    return best, np.column_stack(columns).astype(np.float32)


def _gap(scores: Rows) -> Rows:
    """By how much each is more than the best of the others.

    >>> _gap(np.array([0.5, 0.9, 0.6])).round(1).tolist()
    [-0.4, 0.3, -0.3]
    """
    if len(scores) < 2:
        return np.ones_like(scores)
    second, first = np.sort(scores)[-2:]
    gaps: Rows = np.where(scores == first, scores - second, scores - first)
    return gaps


# --- The scorer.


@dataclass(frozen=True, eq=False)
class LinkScorer:
    """Boosted trees over `FEATURES` as arrays, and the scores from which a link is made, and a person asked."""

    arrays: Mapping[str, NDArray[Any]]  # feature, threshold, left, right, value: (trees, nodes); first, link, ask: ()

    def __call__(self, features: Rows) -> NDArray[np.float64]:
        """The chance of each row (n, len(FEATURES)) to be right."""
        feature, threshold, left, right, value = (self.arrays[name] for name in TREES)
        trees = np.arange(len(feature))
        at = np.zeros((len(features), len(feature)), np.intp)
        while (left[trees, at] != at).any():
            low = np.take_along_axis(features, feature[trees, at], axis=1) <= threshold[trees, at]
            at = np.where(low, left[trees, at], right[trees, at])
        raw = value[trees, at].sum(axis=1, dtype=np.float64) + float(self.arrays["first"])
        chance: NDArray[np.float64] = 1 / (1 + np.exp(-raw))
        return chance

    @property
    def link(self) -> float:
        """The chance from which links were right as often as stated."""
        return float(self.arrays["link"])

    @property
    def ask(self) -> float:
        """The chance from which asking was right as often as stated."""
        return float(self.arrays["ask"])


OWN = "linker.npz"  # a scorer that the user has trained, in the data folder
TREES = ("feature", "threshold", "left", "right", "value")  # a leaf is left and right of itself
PLAIN = ("first", "link", "ask")
_MEND = "train one: kgmed train linker"


def open_scorer(path: Path | None = None) -> LinkScorer:
    """The scorer of a file, else the user's own, else kgmed's; raises `SourceError` for a file that holds none."""
    place = path or data_folder() / OWN
    if path is None and not place.exists():
        place = packaged("kgmed.linking", "decide.npz")
    try:
        with np.load(place, allow_pickle=False) as file:
            arrays = {name: file[name] for name in (*TREES, *PLAIN, "features")}
    except (OSError, ValueError, KeyError, EOFError, BadZipFile) as error:
        raise SourceError(place, 0, f"no scorer of links can be read ({error})", _MEND) from error
    if arrays["features"].tolist() != list(FEATURES):
        raise SourceError(place, 0, "a scorer of another version of kgmed", _MEND)
    return LinkScorer(arrays)


# --- Deciding.


@dataclass(frozen=True)
class Decided:
    """The best candidate of each mention where the scorer is sure enough, and nothing else speaks against it."""

    find: Finder
    scorer: LinkScorer

    def topk(self, mentions: Sequence[Mention], k: int, /) -> list[list[Match]]:
        """The best of each if it is sure: what comes after it is no rival, but a worse guess."""
        ranked = self.ranked([m.name for m in mentions])
        return [
            [m for m in found[:1] if m.score >= self.scorer.link and may_link(mention.name, m)]
            for mention, found in zip(mentions, ranked, strict=True)
        ]

    def __call__(self, mentions: Sequence[Mention], /) -> list[Link]:
        """At most one link a mention."""
        return links([self], mentions)

    def ranked(self, names: Sequence[str]) -> list[list[Match]]:
        """All candidates of each name, the likeliest first; the score is the chance to be right."""
        known = {name: old for name in names if (old := self._found.get(name)) is not None}
        new = [name for name in dict.fromkeys(names) if name not in known]
        found = self.find(new)
        rows = [c.features for candidates in found for c in candidates]
        chances = iter(self.scorer(np.array(rows)).tolist() if rows else ())
        for name, candidates in zip(new, found, strict=True):
            scored = sorted((-chance, c.node, c.name) for c, chance in zip(candidates, chances, strict=False))
            known[name] = [Match(self.find.graph.at(node), by, "meaning", -less) for less, node, by in scored]
        if len(self._found) + len(new) > _REMEMBERED:
            self._found.clear()
        self._found.update({name: known[name] for name in new})
        return [known[name] for name in names]

    def asked(self, name: str, *, most: int = 3) -> list[str]:
        """The names of at most so many entities that are likely enough to ask a person about."""
        return [m.entity.name for m in self.ranked([name])[0][:most] if m.score >= self.scorer.ask]

    @cached_property
    def _found(self) -> dict[str, list[Match]]:
        """What was found of names of late: methods that are compared ask for the same ones."""
        return {}


@dataclass(frozen=True)
class Guessed:
    """All candidates of mentions, however unlikely: to be shown, never linked."""

    by: Decided

    def topk(self, mentions: Sequence[Mention], k: int, /) -> list[list[Match]]:
        """The best k of each."""
        return [found[:k] for found in self.by.ranked([m.name for m in mentions])]


def may_link(mention: str, match: Match) -> bool:
    """Whether no rule forbids to link a mention to a match that is likely: the score alone never decides.

    Opposites and other numbers are never linked, nor abbreviations, and a substance only by its words, whatever its
    salt, or one slip.
    """
    if not says_enough(mention) or contradicts(mention, match.name):
        return False
    if match.entity.kind not in SUBSTANCES:
        return True
    same = canonical_words(mention) == canonical_words(match.name) or is_same_substance(mention, match.name)
    return same or (not is_symbol(match.name) and is_one_slip(normalise(mention), normalise(match.name)))
