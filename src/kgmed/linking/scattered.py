"""The names of a graph whose words stand apart in a clause: "I fractured my hand", "pain in the left side of my chest".

A name is found where all of its content words, by stem and wording (`spelling.tsv` of the vocabulary), stand in one
clause within `window` words, in any order. Words that many names end in (disease, disorder, ...)
may be missing where two others are there. English only. A name of one word is found here in the plural ("headaches"),
otherwise it is left to the lexicon.
"""

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from itertools import zip_longest

import numpy as np
import xxhash

from kgmed import vocabulary
from kgmed.derived import Arrays, cached_arrays
from kgmed.graph.base import LocalGraph, NodeName, Scope
from kgmed.graph.grown import by_name, owners
from kgmed.graph.joining import in_context, is_abbreviation
from kgmed.graph.names import TURNING, canonical_words
from kgmed.language import lay as lay
from kgmed.language.affixes import goes_on
from kgmed.language.negation import Spans, negated
from kgmed.language.text import FUNCTION_WORDS, Token, fold_word, has_cjk, lazily, pattern_of, tokens
from kgmed.linking.cascade import SUBSTANCES
from kgmed.records import Mention

# --- Short forms of the clinic that mean several things: what the other words of the text make of them.
#
# "CP" is chest pain beside "SOB" and cerebral palsy elsewhere; the table is `abbreviations.tsv` of the vocabulary.

_SHORT = lazily(r"(?<![A-Za-z0-9-])[A-Z][A-Za-z&/-]*[A-Z](?![A-Za-z0-9-])")


def in_short(text: str, has: Callable[[str], bool]) -> Iterator[Mention]:
    """The short forms of a text that its other words give a meaning, under the first name of it that a graph has.

    >>> [m.name for m in in_short("Sudden CP and dyspnea", bool)], list(in_short("A child with CP", bool))
    (['chest pain'], [])
    """
    found = [m for m in _SHORT.finditer(text) if m[0] in _meanings()]
    words = {word.text for word in tokens(text)} if found else set[str]()
    for m in found:
        others = words - {m[0].lower()}
        meant = (names for names, cues in _meanings()[m[0]] if not cues.isdisjoint(others))
        if name := next((name for names in meant for name in names if has(name)), ""):
            yield Mention(m[0], name, *m.span())


@vocabulary.kept()
def _meanings() -> dict[str, list[tuple[list[str], frozenset[str]]]]:
    """The meanings of each short form: the full names, and the words that tell it."""
    found: dict[str, list[tuple[list[str], frozenset[str]]]] = {}
    for names, cues in in_context():
        full = [name for name in names if not is_abbreviation(name)]
        for short in filter(is_abbreviation, names):
            found.setdefault(short, []).append((full, cues))
    return found


_VERSION = "scattered 6"
_SCOPES = (Scope.PREFERRED, Scope.EXACT, Scope.LAYPERSON, Scope.TRANSLATION, Scope.BRAND)
_ENDINGS = frozenset({"diseas", "disord", "syndrom", "condit", "problem", "find", "unspecif", "injur"})
_MOST = 6  # content words of a name
_ONE = "one word: "
_SHORTEST = 5  # letters of a stem that may lose its vowel, and of a name found in the plural
_OR = lazily(r"(\w+) or (\w+)")
_ALTERNATIVES = 8
_WHOSE = frozenset({"my", "his", "her", "their", "our", "your", "its"})
_PLACING = frozenset({"in", "of", "on", "at", "around", "with"})
_pattern = partial(pattern_of, __name__)
_NO_PART = frozenset({"kid", "kids", "use", "used", "uses"})  # "a kid with X syndrome" has no KID syndrome
_BREAKS = frozenset(".!?;:,\n")


@dataclass(frozen=True)
class Scattered:
    """The mentions of a finder of names, and the names whose words are scattered over a clause."""

    graph: LocalGraph
    find: Callable[[str], list[Mention]]
    window: int = 7  # words from the first to the last

    def __call__(self, text: str) -> list[Mention]:
        """All mentions in order; a scattered name takes the place of shorter ones that it holds."""
        whole = self.find(text)
        if has_cjk(text):
            return whole
        inside = {i for m in whole for i in range(m.start, m.end)}
        new = [
            s
            for clause in _clauses(text)
            for s in self._best(clause, inside)
            if _stands(text, clause, s[0]) and not _of_two(text, clause, s[0], whole) and not _over(clause, s[0], whole)
        ]
        owner = {i: n for n, (words, _) in enumerate(new) for w in words for i in range(w.start, w.end)}
        kept_whole = [
            m
            for m in whole
            if len(owners := {owner.get(i) for i in range(m.start, m.end)}) > 1 or None in owners
            if not _ends_in(m, owner)
        ]
        places = [(words[0].start, words[-1].end) for words, _ in new]
        denied = negated(text, [*places, *((m.start, m.end) for m in kept_whole)])
        found = [
            Mention(text[a:b], self.graph.at(node).name, a, b, no)
            for (a, b), (_, node), no in zip(places, new, denied, strict=False)
        ]
        return sorted([*kept_whole, *found], key=lambda m: (m.start, m.end))

    def _best(self, clause: list[Token], inside: set[int]) -> list[tuple[list[Token], int]]:
        """The names of a clause that share no word, those of most words first, then of the shortest stretch."""
        found = sorted(self._names(clause), key=lambda f: (-len(f[0]), f[0][-1].end - f[0][0].start, f[1]))
        used: set[int] = set()
        chosen = []
        for words, node in found:
            starts = {w.start for w in words}
            if used.isdisjoint(starts) and not starts <= inside:
                used |= starts
                chosen.append((words, node))
        return chosen

    def _names(self, clause: list[Token]) -> Iterator[tuple[list[Token], int]]:
        """Every name whose words are in the clause, near enough, with those words."""
        at: dict[int, list[int]] = {}
        for i, word in enumerate(clause):
            if word.text in _NO_PART:
                continue
            for stem in (*_stems(word.text), *_singular(word.text)):
                at.setdefault(_hash(stem), []).append(i)
        index = self._index
        rare, names, starts, all_words = index["rare"], index["name"], index["start"], index["words"]
        keys = np.array(list(at), np.uint64)
        firsts, lasts = rare.searchsorted(keys, "left").tolist(), rare.searchsorted(keys, "right").tolist()
        for first, last in zip(firsts, lasts, strict=True):
            for name in names[first:last].tolist():
                words = all_words[starts[name] : starts[name + 1]].tolist()
                if all(w in at for w in words):
                    places = _nearest([at[w] for w in words])
                    if places[-1] - places[0] < self.window:
                        yield [clause[i] for i in places], int(index["node"][name])

    @cached_property
    def _index(self) -> Arrays:
        """Names by their rarest word: `rare` (sorted hashes), `name`; `start` and `words` of each name, its `node`."""
        key = f"{_VERSION} {self.graph.label}{vocabulary.changed('spelling')}"
        parts = ("rare", "name", "start", "words", "node")
        return cached_arrays(self.graph.folder, "scattered", key, parts, lambda: _build(self.graph))


def _build(graph: LocalGraph) -> Arrays:
    """The index of all names of one word, or of two to six content words."""
    changed, columns = vocabulary.changed("spelling"), ("half", "word")
    rows = by_name(graph, "scattered-names", lambda label: f"{_VERSION} {label}{changed}", columns, _told)
    node = owners(graph)[0][rows["of"]]
    half, word = rows["half"], rows["word"]
    starts = np.flatnonzero(np.append(True, (np.diff(rows["of"]) != 0) | (np.diff(half) != 0)))[: len(word)]
    size = np.diff(np.append(starts, len(word)))
    substances = [graph.of_kind(kind) for kind in SUBSTANCES]  # Thyroid Tablets: no "tablets for ..."
    spoken = ~np.isin(node[starts], np.concatenate([np.empty(0, np.int64), *substances])) | (size == 1)
    told = np.flatnonzero(spoken)
    told = told[np.argsort(half[starts[told]] > 0, kind="stable")]  # whole names before halves
    names: dict[bytes, int] = {}
    for i, at, many in zip(told.tolist(), starts[told].tolist(), size[told].tolist(), strict=True):
        names.setdefault(word[at : at + many].tobytes(), i)
    kept = np.fromiter(names.values(), np.int64, len(names))
    starts, size = starts[kept], size[kept]
    ends = np.cumsum(size)
    words = word[np.repeat(starts - (ends - size), size) + np.arange(ends[-1] if len(ends) else 0)]
    _, place, count = np.unique(words, return_inverse=True, return_counts=True)
    rarest = np.lexsort((words, count[place], np.repeat(np.arange(len(kept)), size)))
    rare = words[rarest[ends - size]]
    order = np.argsort(rare, kind="stable")
    return {
        "rare": rare[order],
        "name": order.astype(np.int32),
        "start": np.append(0, ends),
        "words": words,
        "node": node[starts].astype(np.int32),
    }


def _told(names: Iterable[tuple[int, NodeName]]) -> Arrays:
    """The words that must stand in a clause for each name, in order, and for each half of a name of alternatives."""
    of, half, word = array("i"), array("i"), array("Q")
    for number, (text, _, scope) in names:
        if scope in _SCOPES and text.isascii() and not text.startswith("Other "):  # what is left over is no name
            for i, said in enumerate((text, *(_halves(text) if " or " in text else ()))):
                hashes = sorted(map(_hash, _keys(said)))
                of.extend([number] * len(hashes))
                half.extend([i] * len(hashes))
                word.extend(hashes)
    return {"of": np.array(of, np.int32), "half": np.array(half, np.int32), "word": np.array(word, np.uint64)}


def _keys(name: str) -> frozenset[str]:
    """What must stand in a clause for it to hold a name; () for a name that is not looked for here."""
    words = _content(name)
    if len(words) == 1:
        return frozenset({_ONE + fold_word(name.lower())}) if len(tokens(name)) == 1 else frozenset()
    return words if len(words) <= _MOST else frozenset()


def _halves(name: str) -> list[str]:
    """A name of alternatives with one of each two: what has one of them has the whole.

    >>> _halves("Hand or finger pain")
    ['hand pain', 'finger pain']
    """
    found = [name.lower()]
    for _ in range(min(name.count(" or "), 3)):
        found = [_OR.sub(keep, text, count=1) for text in found for keep in (r"\1", r"\2")]
    return found[:_ALTERNATIVES]


def _content(name: str) -> frozenset[str]:
    """The stems of a name's content words, without a general ending where two others are left that are no place.

    None are left of a name of which two words are worded as one: who has a small bowel has no hypoplasia of it.
    """
    stems = frozenset(_stem(w) for w in canonical_words(name))
    short = stems - _ENDINGS - {"due"}
    if len(stems) < len({w.text for w in tokens(name) if canonical_words(w.text)}):
        return frozenset()
    return short if len(short) > 1 and not short <= _places() else stems


@vocabulary.kept()
def _places() -> frozenset[str]:
    """The stems of the words by which a place in the body is named."""
    words = (vocabulary.members("word_lists", f"{where} parts") for where in ("everyday", "inner"))
    return frozenset(_stem(w) for names in words for name in names for w in canonical_words(name))


def _stands(text: str, clause: list[Token], words: list[Token]) -> bool:
    """Whether a scattered name is what the text says: none of its words is a piece, and none between turns it round."""
    if all(_pattern("any_medicine").fullmatch(w.text) for w in words):
        return False
    own = set(words)
    between = [w for w in clause if words[0].start < w.start < words[-1].start and w not in own]
    turned = any(_pattern("doing").fullmatch(w.text) or canonical_words(w.text) & TURNING for w in between)
    turned |= any(_counts(w.text) and not _beside(text, w, own) for w in words)  # "3 years now I'm"
    return not turned and not any(goes_on(text, w.start, w.end, substance=False) for w in words)


def _counts(word: str) -> bool:
    """Whether a word is a number or a single letter: by itself it names nothing."""
    return len(word) == 1 or not any(c.isalpha() for c in word)


def _beside(text: str, word: Token, own: set[Token]) -> bool:
    """Whether a number or letter of a name stands beside one of the name's words, or has "type" between."""
    gaps = (text[min(w.end, word.end) : max(w.start, word.start)] for w in own if not _counts(w.text))
    return any(canonical_words(gap) <= {"type"} and not set(gap) & _BREAKS for gap in gaps)


def _of_two(text: str, clause: list[Token], words: list[Token], whole: list[Mention]) -> bool:
    """Whether a scattered name takes its words from two findings: Spotted fever of "fever and itchy red spots".

    So it is where all of its words before an "and", or all behind it, are a name that stands at the "and", and the
    others belong to a finding told in more words, none of them behind a preposition ("swelling and pain of the knee").
    """
    for joint in (w for w in clause if w.text == "and" and words[0].start < w.start < words[-1].start):
        before = [w for w in clause if w.end <= joint.start]
        after = [w for w in clause if w.start >= joint.end]
        for near, far, at in ((before, after, -1), (after, before, 0)):
            mine, others = [w for w in words if w in near], [w for w in words if w in far]
            alone = any((m.start, m.end) == (mine[0].start, mine[-1].end) for m in whole) and near[at] in mine
            told = lay.said(text[far[0].start : far[-1].end])
            places = {(w.start - far[0].start, w.end - far[0].start) for w in others}
            more = any(places <= {*one.words} and len(one.words) > len(places) for one in told)
            if alone and more and not any(w.text in _PLACING for w in far if w.start < others[-1].start):
                return True
    return False


def _over(clause: list[Token], words: list[Token], whole: list[Mention]) -> bool:
    """Whether a scattered name begins before a "with" and goes on behind another thing that somebody has.

    "a newborn with hypotonia and seizures" tells of seizures and not of Convulsions of newborn. Nor does a name take
    some of the words of another that stands there in one piece: "a cousin has Bloom syndrome" is no Cousin syndrome,
    "a drug for hepatitis C" no drug hepatitis.
    """
    mine = {w.start for w in words}
    for m in whole:
        its = {m.start + w.start for w in tokens(m.surface) if w.text not in FUNCTION_WORDS}
        if mine & its and its - mine:
            return True
    joint = next((w for w in clause if w.text == "with" and words[0].start < w.start < words[-1].start), None)
    return joint is not None and any(joint.end <= m.start and m.end <= words[-1].start for m in whole)


def _ends_in(mention: Mention, owner: dict[int, int]) -> bool:
    """Whether all of a name but an ending is in another: "eye disease" in "dry eye disease"."""
    rest = [w for w in tokens(mention.surface) if owner.get(mention.start + w.start) is None]
    return 0 < len(rest) < len(tokens(mention.surface)) and all(set(_stems(w.text)) & _ENDINGS for w in rest)


@lru_cache(maxsize=1 << 14)
def _stems(word: str) -> tuple[str, ...]:
    """The stems that a word of the text may stand for."""
    return () if word in FUNCTION_WORDS else tuple(_stem(w) for w in canonical_words(word))


def _singular(word: str) -> tuple[str, ...]:
    """The key of a plural as a name of one word.

    >>> _singular("headaches"), _singular("headache")
    (('one word: headache',), ())
    """
    folded = fold_word(word)
    return (_ONE + folded,) if folded != word and len(folded) >= _SHORTEST else ()


@lru_cache(maxsize=1 << 14)
def _stem(word: str) -> str:
    """The stem of an English word (Porter 2) without a last vowel: injury and injured have one.

    >>> _stem("injury"), _stem("injured")
    ('injur', 'injur')
    """
    stem = lay.porter2(word)
    return stem if len(stem) < _SHORTEST else stem.rstrip("aei")


def _hash(stem: str) -> int:
    return xxhash.xxh3_64_intdigest(stem.encode("utf-8", "surrogatepass"))


def _nearest(places: list[list[int]]) -> list[int]:
    """One place of each word so that the stretch is short: the best around each place of the rarest.

    >>> _nearest([[0, 9], [8], [7, 20]])
    [7, 8, 9]
    """
    stretches = [sorted({_nearest_to(at, p) for p in places}) for at in min(places, key=len)]
    return min(stretches, key=lambda s: s[-1] - s[0])


def _nearest_to(at: int, places: list[int]) -> int:
    """The place nearest to another, the earlier of two; they are in order."""
    after = bisect_left(places, at)
    return min(places[max(after - 1, 0) : after + 1], key=lambda i: abs(i - at))


def _clauses(text: str) -> Iterator[list[Token]]:
    """The words of each clause: between punctuation marks, and where another thing is told ("but", "and noticed")."""
    clause: list[Token] = []
    words = tokens(text)
    for word, following in zip_longest(words, words[1:]):
        gap = text[clause[-1].end : word.start] if clause else ""
        if any(c in _BREAKS for c in gap) or lay.begins_clause(word, following):
            yield clause
            clause = []
        clause.append(word)
    if clause:
        yield clause


# --- What a patient says in words that are no name: by `lay_names.tsv` of the vocabulary.


_EPONYM = lazily(r"\b([A-Z][a-z]{2,}(?:-[A-Z][a-z]+)?)(?:['’]s|(?<=s)['’])(?!\w)")
_ONE_PERSON = lazily(r"\b[A-Z][a-z]{4,}\b(?=\s*(?:[,.:;?!]|$|vs\b))")  # Gitelman, not Bartter: which gene
_CALLED = ("ataxia", "granulomatosis", "disease", "syndrome", "muscular dystrophy", "thyroiditis", "lymphoma")


@dataclass(frozen=True)
class AsPatientsSay:
    """The mentions of a finder of names, and the findings that the text tells in a patient's words.

    Such a mention has the name under which the graph has the finding. It takes the place of names that lie within its
    words ("pee" in "burns when I pee"), and gives way to a name that holds them all ("barking cough"),
    but for one of fewer words that stand apart (back pain, of "pain going through to the back").
    """

    graph: LocalGraph
    find: Callable[[str], list[Mention]]

    def __call__(self, text: str) -> list[Mention]:
        """All mentions in order."""
        whole = self.find(text)
        short = list(in_short(text, self._has))
        whole = [m for m in whole if not any(n.start < m.end and m.start < n.end for n in short)] + short
        whole += [m for m in self._eponyms(text) if not any(n.start <= m.start < n.end for n in whole)]
        sayings = [one for one in lay.said(text, self._has) if not any(_cuts(one, m) for m in whole)]
        whole = [m for m in whole if not any(_says_more(one, m) for one in sayings)]
        names = Spans([(m.start, m.end) for m in whole])
        told = [one for one in sayings if not names.hold(*one.span)]
        spans = Spans([one.span for one in told])
        said = {i for one in told for a, b in one.words for i in range(a, b)}
        kept = [m for m in whole if not (spans.hold(m.start, m.end) and _is_said(m, said))]
        places = [one.span for one in told]
        denied = negated(text, [*places, *((m.start, m.end) for m in kept)])
        found = [
            Mention(text[a:b], one.names[0], a, b, no) for (a, b), one, no in zip(places, told, denied, strict=False)
        ]
        return sorted([*kept, *found], key=lambda m: (m.start, m.end))

    def _eponyms(self, text: str) -> Iterator[Mention]:
        """The illnesses that are called by a person alone: Cushing's, Graves', Becker, addisons."""
        for m in _pattern("person").finditer(text):
            if not _pattern("noun").match(text, m.end()):
                forms = (f"{m[1] or m[0]} {what}" for what in _CALLED)
                if name := next(filter(self._has, forms), ""):
                    yield Mention(m[0], name, *m.span())
        for m in _ONE_PERSON.finditer(text):
            forms = (f"{m[0]} {what}" for what in _CALLED[2:4])
            if not self._has(m[0]) and (name := next(filter(self._has, forms), "")):
                yield Mention(m[0], name, *m.span())
        for m in (m for m in _EPONYM.finditer(text) if not _pattern("person").match(text, m.start())):
            if (m.start() or _pattern("alone").match(text, m.end())) and not _pattern("noun").match(text, m.end()):
                forms = (f"{person} {what}" for person in (m[1], m[0]) for what in ("disease", "syndrome"))
                if name := next(filter(self._has, forms), ""):
                    yield Mention(m[0], name, *m.span())

    def _has(self, name: str) -> bool:
        """Whether the graph has something of that name."""
        return bool(self.graph.lookup(name))


def _says_more(one: lay.Said, name: Mention) -> bool:
    """Whether a saying has the stretch of a scattered name and more words: pain through to the back, back pain."""
    (a, b), scattered = one.span, name.name.casefold() != name.surface.casefold()
    return scattered and a <= name.start and name.end <= b and len(tokens(name.name)) < len(one.words)


def _cuts(one: lay.Said, name: Mention) -> bool:
    """Whether a saying takes a piece of the Chinese name of an illness and goes on beyond it."""
    if not has_cjk(name.surface) or not vocabulary.listed("illnesses as asked").search(name.surface):
        return False
    inside = [name.start < b and a < name.end and (a, b) != (name.start, name.end) for a, b in one.words]
    return any(inside) and not all(inside)


def _is_said(name: Mention, said: set[int]) -> bool:
    """Whether all words of a name stand at places that are said already; of a Chinese name, whether one does."""
    if has_cjk(name.surface):
        return not said.isdisjoint(range(name.start, name.end))
    words = [w for w in tokens(name.surface) if w.text not in FUNCTION_WORDS | _WHOSE]
    return all(name.start + w.start in said for w in words)
