"""Finds a graph's own names in a text.

The text is cut into words (characters where the script has no spaces); every run of words that is as long as a name
may be is hashed, and the hashes are looked up at once in the sorted hashes of all names. Two indexes are searched:
names word by word, and names as sets of folded words ("weakness of the muscles" = "Muscle weakness"). An Aho-Corasick
automaton finds the same exact matches, but takes 0.6 s to build at every start on 200,000 names or must be read from
a file of raw structures; sorted hashes are plain arrays, opened in a millisecond and shared between processes.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib import resources
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import xxhash
from numpy.typing import NDArray

from kgmed.kg.beside import Arrays, kept
from kgmed.kg.graph import LocalGraph
from kgmed.kg.rows import Scope
from kgmed.kg.text import FUNCTION_WORDS, fold_word
from kgmed.kg.tokens import Token, tokens
from kgmed.recognize.negation import negated
from kgmed.types import Mention, Query

_VERSION = "lexicon 3"
_LONGEST = 40  # words; longer names are sentences
_BAG = 8  # words in a name that may stand in any order
_ACRONYM, _SYMBOL = 6, 3  # letters at most
_PRIME = np.uint64(0x9E3779B97F4A7C15)
QUALIFIERS = frozenset({"clinical modifier", "course", "frequency", "root"})  # kinds of HPO that are no findings
_SCOPES = tuple(s for s in Scope if s is not Scope.XREF)
_HARD = frozenset(".!?;:\n\t|。！？；：")  # no name goes on beyond these
_PAUSES = frozenset(",，、()（）[]【】/")  # no name in free word order goes on beyond these, nor any in Chinese
_PRESENCE = re.compile("(?:常|可|不|没|无|并)?(?:伴有?|无|未见|有|出现|明显|或|和|并|及)+")
_JOINT = re.compile("[和或及与并伴]")
_JOINERS = frozenset({"and", "or", "with", "but"})


class Span(NamedTuple):
    """A run of words, by number: words[start:end]; `exact` = word by word."""

    start: int
    end: int
    exact: bool


@dataclass(frozen=True)
class Lexicon:
    """The recogniser over a graph's names and aliases (not its cross-references): longest first, never overlapping.

    Names that only entities of the kinds `without` have are not looked for.
    """

    graph: LocalGraph
    without: frozenset[str] = QUALIFIERS

    def __call__(self, query: Query, /) -> list[Mention]:
        """The names in the expanded query, in order; one that is denied there is marked negated."""
        return self.find(query.expanded)

    def find(self, text: str) -> list[Mention]:
        """The names in any text, in order; text[m.start:m.end] == m.surface."""
        words = tokens(text)
        spans = _disjoint(_simple([s for s in self._spans(text, words) if not _is_ordinary(words, s)], words))
        places = _apart([(words[s.start].start, words[s.end - 1].end) for s in spans])
        denied = negated(text, places)
        return [Mention(text[a:b], text[a:b], a, b, no) for (a, b), no in zip(places, denied, strict=True)]

    @cached_property
    def _index(self) -> Arrays:
        """The sorted hashes of all names, kept beside the graph."""
        key = f"{_VERSION} {self.graph.label} {sorted(self.without)}"
        arrays = ("exact", "shout", "bag", "longest")
        return kept(self.graph.folder, "lexicon", key, arrays, lambda: _index(self.graph, self.without))

    def _spans(self, text: str, words: list[Token]) -> Iterator[Span]:
        """Every run of words that is a name."""
        hard, pauses = _gaps(text, words)
        hashes = np.array([_hash(w.text) for w in words], np.uint64)
        inner = np.array(_inner(text, words), np.uint64)
        longest = int(self._index["longest"][0])
        for start, end in _known(hashes, inner, hard, self._index["exact"], longest):
            yield Span(start, end, exact=True)
        written = np.array([_hash(text[w.start : w.end]) for w in words], np.uint64)
        for start in np.flatnonzero(_among(written, self._index["shout"])).tolist():
            yield Span(start, start + 1, exact=True)
        yield from _bags(words, pauses, self._index["bag"])


def _index(graph: LocalGraph, without: frozenset[str]) -> Arrays:
    """The arrays: `exact` and `bag` (sorted uint64 hashes), `shout` (names as written and in capitals), `longest`."""
    exact: set[int] = set()
    shout: set[int] = set()
    bag: set[int] = set()
    longest = 1
    left_out = {int(node) for kind in without for node in graph.of_kind(kind)}
    for name in graph.names(scopes=_SCOPES):
        if name.node in left_out:
            continue
        words = tokens(name.text)
        if not words or len(words) > _LONGEST:
            continue
        if len(words) == 1 and _shouts(name.text):
            shout |= {_hash(name.text), _hash(name.text.upper())}
            continue
        longest = max(longest, len(words))
        exact.add(_sequence(_inner(name.text, words)))
        if not any(w.is_cjk for w in words):
            content = _content([w.text for w in words])
            if 2 <= len(content) <= _BAG:
                bag.add(sum(map(_hash, content)) & 0xFFFFFFFFFFFFFFFF)
    made = {"exact": exact, "shout": shout, "bag": bag}
    sets = {k: np.sort(np.fromiter(v, np.uint64, len(v))) for k, v in made.items()}
    return {**sets, "longest": np.array([longest], np.int64)}


def _shouts(name: str) -> bool:
    """Whether a one-word name is an acronym or symbol that in other letters would be another word ("mg" is no Mg).

    >>> [_shouts(n) for n in ("SET", "AIDS", "Mg", "KCl", "MECP2", "PSORIASIS", "Flu", "gut")]
    [True, True, True, True, False, False, False, False]
    """
    symbol = len(name) < _SYMBOL or (len(name) == _SYMBOL and not name.istitle())
    short = (name.isupper() and len(name) <= _ACRONYM) or (symbol and not name.islower())
    return name.isascii() and name.isalpha() and short


def _hash(word: str) -> int:
    """64 bits of a word."""
    return xxhash.xxh3_64_intdigest(word.encode())


def _inner(text: str, words: list[Token]) -> list[int]:
    """The hash of each word as one inside a name: a comma before it counts, as in "Muscle weakness, progressive"."""
    commas = [False] * bool(words)
    commas += ["," in text[a.end : b.start] and not (a.is_cjk or b.is_cjk) for a, b in pairwise(words)]
    return [_hash(f",{w.text}" if c else w.text) for w, c in zip(words, commas, strict=True)]


def _sequence(hashes: list[int]) -> int:
    """64 bits of a run of words, order counting."""
    value = 0
    for h in hashes:
        value = (value * int(_PRIME) + h) & 0xFFFFFFFFFFFFFFFF
    return value


def _content(words: list[str]) -> frozenset[str]:
    """The folded words of a name without function words."""
    return frozenset(fold_word(w) for w in words if w not in FUNCTION_WORDS)


def _gaps(text: str, words: list[Token]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """How many hard breaks, and how many pauses, lie before each word (running counts)."""
    hard = np.zeros(len(words), np.int64)
    pauses = np.zeros(len(words), np.int64)
    for i in range(1, len(words)):
        gap = text[words[i - 1].end : words[i].start]
        pause = not gap.isspace() and any(c in _PAUSES for c in gap)
        cjk = bool(gap.strip()) and (words[i - 1].is_cjk or words[i].is_cjk)
        hard[i] = cjk or any(c in _HARD for c in gap)
        pauses[i] = pause or hard[i]
    return np.cumsum(hard), np.cumsum(pauses)


def _known(
    hashes: NDArray[np.uint64],
    inner: NDArray[np.uint64],
    breaks: NDArray[np.int64],
    index: NDArray[np.uint64],
    longest: int,
) -> Iterator[tuple[int, int]]:
    """Every (start, end) whose words, in order, are in the index and cross no break."""
    run = hashes
    for n in range(1, min(longest, len(hashes)) + 1):
        if n > 1:
            run = run[:-1] * _PRIME + inner[n - 1 :]
        found = _among(run, index) & (breaks[n - 1 :] == breaks[: len(run)])
        yield from ((start, start + n) for start in np.flatnonzero(found).tolist())


def _among(values: NDArray[np.uint64], index: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Which values are in the sorted index."""
    if not len(index) or not len(values):
        return np.zeros(len(values), np.bool_)
    place = np.minimum(np.searchsorted(index, values), len(index) - 1)
    return np.asarray(index[place] == values)


def _bags(words: list[Token], pauses: NDArray[np.int64], index: NDArray[np.uint64]) -> Iterator[Span]:
    """Every run whose folded content words are those of a name in any order."""
    at = [i for i, w in enumerate(words) if w.text not in FUNCTION_WORDS and not w.is_cjk]
    folded = [fold_word(words[i].text) for i in at]
    hashes = [_hash(w) for w in folded]
    joins = np.cumsum([w.text in _JOINERS for w in words])
    for first in range(len(at)):
        total, seen = 0, set[str]()
        for last in range(first, min(first + _BAG, len(at))):
            if pauses[at[last]] != pauses[at[first]] or joins[at[last]] != joins[at[first]] or folded[last] in seen:
                break
            seen.add(folded[last])
            total = (total + hashes[last]) & 0xFFFFFFFFFFFFFFFF
            if last > first and _holds(index, total):
                yield Span(at[first], at[last] + 1, exact=False)


def _holds(index: NDArray[np.uint64], value: int) -> bool:
    """Whether a value is in the sorted index."""
    place = int(np.searchsorted(index, np.uint64(value)))
    return place < len(index) and int(index[place]) == value


def _disjoint(spans: list[Span]) -> list[Span]:
    """The longest spans (then exact, then leftmost ones) that do not overlap, in order.

    >>> [(s.start, s.end) for s in _disjoint([Span(0, 2, True), Span(1, 4, True), Span(3, 5, True), Span(4, 5, True)])]
    [(1, 4), (4, 5)]
    """
    taken: set[int] = set()
    chosen = []
    for span in sorted(spans, key=lambda s: (s.start - s.end, not s.exact, s.start)):
        if taken.isdisjoint(range(span.start, span.end)):
            taken.update(range(span.start, span.end))
            chosen.append(span)
    return sorted(chosen)


def _apart(places: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The places without those that reach into one before: words that stand in the text as one piece have one place.

    >>> _apart([(0, 12), (0, 21), (22, 30)])
    [(0, 12), (22, 30)]
    """
    kept: list[tuple[int, int]] = []
    for start, end in places:
        if not kept or start >= kept[-1][1]:
            kept.append((start, end))
    return kept


def _simple(spans: list[Span], words: list[Token]) -> list[Span]:
    """The spans without Chinese names that only say that another name is there or not (伴头痛, 无发热, 恶心或呕吐)."""
    known = {(s.start, s.end) for s in spans}
    return [s for s in spans if not _is_compound(s, "".join(w.text for w in words[s.start : s.end]), known)]


def _is_compound(span: Span, name: str, known: set[tuple[int, int]]) -> bool:
    """Whether a Chinese name is a word of presence before a known name, or two known names with "and" or "or"."""
    if len(name) != span.end - span.start:  # a word longer than a character: not all Chinese
        return False
    presence = _PRESENCE.match(name)
    if presence and (span.start + presence.end(), span.end) in known:
        return True
    joints = [span.start + m.start() for m in _JOINT.finditer(name)]
    return any((span.start, j) in known and (j + 1, span.end) in known for j in joints)


def _is_ordinary(words: list[Token], span: Span) -> bool:
    """Whether a name is, in running text, more likely an ordinary word than the entity of that name."""
    run = [w.text for w in words[span.start : span.end]]
    if all(w.is_cjk for w in words[span.start : span.end]):
        return len(run) == 1 or "".join(run) in ordinary_words()
    if all(w in FUNCTION_WORDS or w in ordinary_words() or _is_number(w) for w in run):
        return True
    return len(run) == 1 and len(run[0]) == 1


def _is_number(word: str) -> bool:
    """Whether a word is only digits and signs, or a Roman numeral.

    >>> _is_number("<3.5%"), _is_number("viii"), _is_number("b12")
    (True, True, False)
    """
    return not word.strip("ivx") or not any(c.isalpha() for c in word)


@lru_cache(maxsize=1)
def ordinary_words() -> frozenset[str]:
    """The words that are names in some graph but mean nothing on their own in a question (ordinary.txt)."""
    text = resources.files("kgmed.recognize").joinpath("ordinary.txt").read_text(encoding="utf-8")
    return frozenset(w for line in text.splitlines() if not line.startswith("#") for w in line.split())
