"""The stretches of a question that name entities, where they are meant as the graph means them.

The lists are in word_lists.tsv of the vocabulary. A word that is ordinary elsewhere counts as a finding where the
question is a medical one: by another name that has no second sense, by a word of the clinic, by "have" before it, or
because it says nothing else.
"""

import re
import unicodedata
from array import array
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import xxhash
from numpy.typing import NDArray

from kgmed import vocabulary
from kgmed.derived import Arrays, cached_arrays
from kgmed.graph.base import LocalGraph, NodeName, Scope
from kgmed.graph.grown import by_name, owners
from kgmed.graph.joining import short_form
from kgmed.language.affixes import (
    beyond,
    ends_a_noun,
    ends_with_form,
    is_piece,
    may_stand_before_a_drug,
    may_stand_behind_a_drug,
)
from kgmed.language.negation import Spans, marked, negated
from kgmed.language.particulars import particulars, within
from kgmed.language.text import FUNCTION_WORDS, LETTER, Token, detected, fold_word, has_cjk, lazily, spelled, tokens
from kgmed.linking.cascade import SUBSTANCES
from kgmed.pipeline import Recognizer
from kgmed.question.model import asking_spans
from kgmed.records import Mention, Query

# Whether a name is meant as the graph means it: "I have a boil" and "boil an egg", the gene NHS and NHS nurses.

_REACH = 3  # words between "have" and the name
_HAVING = frozenset({"have", "has", "had", "having", "got", "getting", "my", "his", "her"})
_QUOTES = ("\"'“”‘’「」『』《》«»", "\"'“”‘’「」『』《》«»")


def meant(text: str, names: Sequence[Mention], *, more: bool) -> list[Mention]:
    """The names without those that are ordinary words here; `more` = the text has content words besides the names.

    >>> def of(text, *found):
    ...     return [Mention(f, f, text.index(f), text.index(f) + len(f)) for f in found]
    >>> [[m.name for m in meant(t, of(t, "boil"), more=True)] for t in ("I have a boil on my nose.", "I boil an egg")]
    [['boil'], []]
    >>> t = "How many NHS nurses are on strike?"
    >>> meant(t, of(t, "NHS"), more=True), [m.name for m in meant("What is a boil?", of("a boil?", "boil"), more=False)]
    ([], ['boil'])
    >>> [[m.name for m in meant(t, of(t, "stroke"), more=True)] for t in ("signs of a stroke", "a stroke of the brush")]
    [['stroke'], []]
    """
    doubtful = [
        m
        for m in names
        if (_is_symbol(m) or m.surface.lower() in _list("everyday senses")) and not is_quoted(text, m.start, m.end)
    ]
    if not doubtful or len(doubtful) < len(names) or _speaks_of_medicine(text, doubtful):
        return list(names)
    return [m for m in names if _is_had(text, m) or not (more or _is_symbol(m) or _is_done(text, m))]


def is_quoted(text: str, start: int, end: int) -> bool:
    """Whether the place stands in quotation marks: then it is meant as a name, whatever the word.

    >>> is_quoted("什么是“关系”？", 4, 6), is_quoted("有什么关系", 3, 5)
    (True, False)
    """
    return start > 0 and text[start - 1] in _QUOTES[0] and text[end : end + 1] != "" and text[end] in _QUOTES[1]


def is_everyday(words: Sequence[Token]) -> bool:
    """Whether all of some words are ordinary ones, or one is a part of the body: a likeness would find a wrong name."""
    listed = _list("everyday words") | (_list("everyday parts") if len(words) == 1 else frozenset())
    return all(w.text in listed or fold_word(w.text) in listed for w in words)


def _is_symbol(m: Mention) -> bool:
    return m.surface in _list("everyday symbols")


def _is_done(text: str, m: Mention) -> bool:
    """Whether the word is a verb there: "I boil", "to strike"."""
    return vocabulary.listed("before a verb").search(text[max(0, m.start - 12) : m.start]) is not None


def _is_had(text: str, m: Mention) -> bool:
    """Whether somebody has it: "have" or "my" within some words before it."""
    if has_cjk(m.surface) or _is_symbol(m) or _is_done(text, m):
        return False
    before = [w.text for w in tokens(text[max(0, m.start - 40) : m.start])][-_REACH:]
    return any(w in _HAVING for w in before)


def _speaks_of_medicine(text: str, doubtful: Sequence[Mention]) -> bool:
    """Whether a word of the clinic stands in the text outside the doubtful names."""
    taken = {i for m in doubtful for i in range(m.start, m.end)}
    cues = _list("everyday medical")
    if any(w.text in cues and w.start not in taken for w in tokens(text)):
        return True
    return any((at := text.find(cue)) >= 0 and at not in taken for cue in cues if has_cjk(cue))


@vocabulary.kept(16)
def _list(heading: str) -> frozenset[str]:
    """The words of a list."""
    return frozenset(vocabulary.members("word_lists", heading))


# --- Leaves out the words by which a question asks: "side effects" in "What are the side effects of X?" names nothing.


@dataclass(frozen=True)
class WithoutAsking:
    """The mentions of a recogniser that do not lie within the words that ask; all, where each of them does."""

    find: Recognizer

    def __call__(self, query: Query, /) -> list[Mention]:
        """The mentions, in the order of the text."""
        asking, found = Spans(asking_spans(query.text)), list(self.find(query))
        named = [m for m in found if not asking.hold(m.start, m.end) or is_quoted(query.text, m.start, m.end)]
        return named or found


# --- Finds a graph's own names in a text.
# The text is cut into words (characters where the script has no spaces); every run of words that is as long as a name
# may be is hashed, and the hashes are looked up at once in the sorted hashes of all names. Two indexes are searched:
# names word by word, and as sets of folded words ("weakness of the muscles" = "Muscle weakness"). Sorted hashes are
# plain arrays that processes share; an Aho-Corasick automaton would be built at every start (.6 s for 200,000 names).


_VERSION = "lexicon 6"
_LONGEST = 40  # words; longer names are sentences
_BAG = 8  # words in a name that may stand in any order
_ACRONYM, _SYMBOL = 6, 3  # letters at most
_PRIME = np.uint64(0x9E3779B97F4A7C15)
QUALIFIERS = frozenset({"clinical modifier", "course", "frequency", "root"})  # kinds of HPO that are no findings
_SCOPES = tuple(s for s in Scope if s is not Scope.XREF)
# OMIM:154700, MESH:D006073: looked up whole
_CURIE = r"(?<![A-Za-z0-9_:])[A-Z][A-Za-z]*[A-Z][A-Za-z0-9]*:[A-Z]{0,4}\d[A-Za-z0-9_.]*(?<!\.)"
_HARD = frozenset(".!?;:\n\t|。！？；：")  # no name goes on beyond these
_PAUSES = frozenset(",，、()（）[]【】/")  # no name in free word order goes on beyond these, nor any in Chinese
_SIGNS = frozenset("()（）[]【】〔〕/、，,-－·:：~～ ")  # within a Chinese name, where it is written with them
_PRESENCE = lazily("(?:常|可|不|没|无|并)?(?:伴有?|无|未见|有|出现|明显|或|和|并|及)+")
_JOINT = lazily("[和或及与并伴]")
_JOINERS = frozenset({"and", "or", "with", "but"})


class Span(NamedTuple):
    """A run of words, by number: words[start:end]; `exact` = word by word."""

    start: int
    end: int
    exact: bool


@dataclass(frozen=True)
class Lexicon:
    """The recogniser over a graph's names and aliases, and of ids such as OMIM:1: longest first, never overlapping.

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
        named = _simple([s for s in self._spans(text, words) if not _is_ordinary(text, words, s)], words)
        spans = _disjoint(named, last=not has_cjk(text))
        places = self._whole(text, _apart([(words[s.start].start, words[s.end - 1].end) for s in spans]))
        codes = [m.span() for m in re.finditer(_CURIE, text)]
        inside = Spans(codes)
        places = sorted([*codes, *(place for place in places if not inside.meet(*place))])
        denied = negated(text, places)
        return [Mention(text[a:b], text[a:b], a, b, no) for (a, b), no in zip(places, denied, strict=True)]

    def _whole(self, text: str, places: list[tuple[int, int]]) -> list[tuple[int, int]]:
        """The places, each grown to the longer name that it is a piece of: 氯喹 in 左旋氯喹, gout in pseudo-gout.

        So the longer name is what is linked, asked about or not found, and never the piece.
        """
        substances = [any(m.entity.kind in SUBSTANCES for m in self.graph.lookup(text[a:b])[:1]) for a, b in places]
        stops = frozenset[int]()  # Chinese characters that go on with no name: of cut words, and that ask (禁忌, 功效)
        if any(substances) and has_cjk(text):
            stops = _cjk_cuts(text).union(*(range(start, end) for start, end in asking_spans(text)))
        ends, lengths = {b for _, b in places}, {a: b - a for a, b in places}
        grown = []
        others = {a for (a, _), s in zip(places, substances, strict=True) if not s}
        bare = {a for (a, b), s in zip(places, substances, strict=True) if s and not has_cjk(text[a:b])}
        for (a, b), substance in zip(places, substances, strict=True):
            left, right = beyond(text, a, b, substance=substance)
            strict = substance and has_cjk(text[a:b])
            piece = strict and is_piece(text[a:b])
            begins = _begins(text, a, stops, () if piece else ends, piece=piece) if strict else a
            if strict and not right and not ends_with_form(text[a:b]):
                right = _goes_on_to(text, b, stops, others) - b
            left_to_another = lengths.get(b, 0) > right  # what belongs to the next name stays there
            left_to_another |= b + 1 in bare and text[b] == " " and b + 1 < b + right  # "lithium ibuprofen" names two
            kept = a in ends and not piece and lengths.get(a - left) != left  # 固体 of 固体石蜡 is a name too
            grown.append((a if kept else min(a - left, begins), b if left_to_another else b + right))
        return _merged([*grown, *_joined_substances(text, places, substances)])

    @cached_property
    def _index(self) -> Arrays:
        """The sorted hashes of all names, kept beside the graph."""
        key = f"{_VERSION} {self.graph.label} {sorted(self.without)}"
        arrays = ("exact", "shout", "bag", "longest")
        return cached_arrays(self.graph.folder, "lexicon", key, arrays, lambda: _index(self.graph, self.without))

    def _spans(self, text: str, words: list[Token]) -> Iterator[Span]:
        """Every run of words that is a name."""
        hard, pauses = _gaps(text, words)
        hashes = np.array([_hash(w.text) for w in words], np.uint64)
        inner = np.array(_inner(text, words), np.uint64)
        for start, end in _known(hashes, inner, hard, self._index["exact"], int(self._index["longest"][0])):
            yield Span(start, end, exact=True)
        most = _ACRONYM + 1  # letters: no longer word is one, and ½½½... is many words that all stand in one stretch
        written = np.array([_hash(text[w.start : min(w.end, w.start + most)]) for w in words], np.uint64)
        for start in np.flatnonzero(_among(written, self._index["shout"])).tolist():
            yield Span(start, start + 1, exact=True)
        yield from _bags(words, pauses, self._index["bag"])


def _index(graph: LocalGraph, without: frozenset[str]) -> Arrays:
    """The arrays: `exact` and `bag` (sorted uint64 hashes), `shout` (names as written and in capitals), `longest`."""
    rows = by_name(graph, "lexicon-names", lambda label: f"{_VERSION} {label}", ("sort", "value"), _told)
    node, scope = (column[rows["of"]] for column in owners(graph))
    left_out = np.concatenate([np.empty(0, np.int64), *(graph.of_kind(kind) for kind in sorted(without))])
    kept = np.isin(scope, [int(s) for s in _SCOPES]) & ~np.isin(node, left_out)
    value, sort = rows["value"][kept], rows["sort"][kept]
    sets = {name: np.unique(value[sort == i]) for i, name in enumerate(("exact", "shout", "bag"))}
    return {**sets, "longest": np.array([max(value[sort == _WORDS].tolist(), default=1)], np.int64)}


_WORDS = 3  # the sort of the rows that tell how many words a name has


def _told(names: Iterable[tuple[int, NodeName]]) -> Arrays:
    """What is known of each name: its number, which array it goes into, and the value."""
    of, sort, value = array("i"), array("B"), array("Q")
    for number, name in names:
        for which, said in _entries(name.text) if name.scope in _SCOPES else ():
            of.append(number)
            sort.append(which)
            value.append(said)
    return {"of": np.array(of, np.int32), "sort": np.array(sort, np.uint8), "value": np.array(value, np.uint64)}


def _entries(name: str) -> Iterator[tuple[int, int]]:
    """What goes into the arrays for a name, and into which."""
    words = tokens(name)
    if not words or len(words) > _LONGEST:
        return
    if len(words) == 1 and _shouts(name):
        small = [name.lower()] if _is_said_small(name) else []
        yield from ((1, _hash(text)) for text in (name, name.upper(), *small))
        return
    yield _WORDS, len(words)
    yield 0, _sequence(_inner(name, words))
    if any(w.is_cjk for w in words):
        if any(c in _SIGNS for c in name):
            yield 0, _sequence([_hash(w.text) for w in words])  # written without its brackets
    elif 2 <= len(content := {fold_word(w.text) for w in words if w.text not in FUNCTION_WORDS}) <= _BAG:
        yield 2, sum(map(_hash, content)) & 0xFFFFFFFFFFFFFFFF


def _shouts(name: str) -> bool:
    """Whether a one-word name is an acronym or symbol that in other letters would be another word ("mg" is no Mg).

    >>> [_shouts(n) for n in ("SET", "AIDS", "Mg", "KCl", "MECP2", "PSORIASIS", "Flu", "gut")]
    [True, True, True, True, False, False, False, False]
    """
    symbol = len(name) < _SYMBOL or (len(name) == _SYMBOL and not name.istitle())
    short = (name.isupper() and len(name) <= _ACRONYM) or (symbol and not name.islower())
    return name.isascii() and name.isalpha() and short


def _is_said_small(name: str) -> bool:
    """Whether a short form that everybody knows may be written in small letters: copd, uti; no other word is it.

    >>> _is_said_small("COPD"), _is_said_small("CAP"), _is_said_small("ITCH")
    (True, False, False)
    """
    small = name.lower()
    ordinary = small in _list("everyday words") or small in FUNCTION_WORDS or small in ordinary_words()
    return len(name) >= _SYMBOL and bool(short_form(name)) and not ordinary


def _hash(word: str) -> int:
    """64 bits of a word."""
    return xxhash.xxh3_64_intdigest(word.encode("utf-8", "surrogatepass"))


def _inner(text: str, words: list[Token]) -> list[int]:
    """The hash of each word as one inside a name: a comma before it counts ("Muscle weakness, progressive").

    So does every sign before it in a Chinese name, as the brackets in 羟乙基淀粉（200/0.5）氯化钠注射液.
    """
    return [_hash(_sign(text, a, b) + b.text) for a, b in pairwise([None, *words]) if b is not None]


def _sign(text: str, before: Token | None, word: Token) -> str:
    """The sign between two words that a name must be written with, in one width."""
    gap = text[before.end : word.start] if before else ""
    if not gap or gap.isspace():
        return ""
    if before and (before.is_cjk or word.is_cjk):
        return unicodedata.normalize("NFKC", "".join(gap.split()))
    return "," if "," in gap else ""


def _sequence(hashes: list[int]) -> int:
    """64 bits of a run of words, order counting."""
    value = 0
    for h in hashes:
        value = (value * int(_PRIME) + h) & 0xFFFFFFFFFFFFFFFF
    return value


def _gaps(text: str, words: list[Token]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """How many hard breaks, and how many pauses, lie before each word (running counts)."""
    hard = np.zeros(len(words), np.int64)
    pauses = np.zeros(len(words), np.int64)
    for i in range(1, len(words)):
        gap = text[words[i - 1].end : words[i].start]
        pause = not gap.isspace() and any(c in _PAUSES for c in gap)
        cjk = bool(gap.strip()) and (words[i - 1].is_cjk or words[i].is_cjk)
        hard[i] = any(c not in _SIGNS if cjk else c in _HARD for c in gap)
        pauses[i] = pause or cjk or hard[i]
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
    return np.asarray(index[np.minimum(np.searchsorted(index, values), len(index) - 1)] == values)


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


def _disjoint(spans: list[Span], *, last: bool = False) -> list[Span]:
    """The longest spans that do not overlap, in order; of equal ones the exact, then the leftmost or the `last`.

    The last has the head of a phrase: hepatitis B of "chronic hepatitis B", back pain of "lower back pain".
    """
    taken: set[int] = set()
    chosen = []
    for span in sorted(spans, key=lambda s: (s.start - s.end, not s.exact, -s.start if last else s.start)):
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


def _begins(text: str, start: int, stops: Container[int], ends: Container[int], *, piece: bool = False) -> int:
    """Where the name of a Chinese drug begins: at a word that ends another (服用, 的), another name's end or a sign.

    What ends a noun must have its beginning too, and of the name of a `piece` (胃安胶囊) it must be a word's.
    """

    def may_begin(at: int) -> bool:
        if at <= 0 or not has_cjk(text[at - 1]) or at in ends:
            return True
        before = text[max(0, at - 4) : at]
        if at - 1 not in stops and not may_stand_before_a_drug(before):
            return False
        return not ends_a_noun(before) or (at > 1 and has_cjk(text[at - 2]) and (not piece or may_begin(at - 1)))

    first = start
    while first > max(0, start - _LONGEST_CJK) and not may_begin(first):
        first -= 1
    return first


def _goes_on_to(text: str, end: int, stops: Container[int], others: Container[int]) -> int:
    """Where the name of a Chinese drug ends: before a word of another kind, another name or a sign.

    >>> _goes_on_to("泼尼松龙的用量", 3, {4}, ()), _goes_on_to("泼尼松的用量", 3, {3}, ())
    (4, 3)
    """
    last = end
    while (
        last < min(len(text), end + _LONGEST_CJK) and has_cjk(text[last]) and last not in stops and last not in others
        and not may_stand_behind_a_drug(text[last : last + 4])
    ):  # fmt: skip
        last += 1
    return last


def _joined_substances(text: str, places: list[tuple[int, int]], substances: list[bool]) -> Iterator[tuple[int, int]]:
    """The places of two Chinese drugs with nothing between them: together they name one drug (头孢哌酮舒巴坦)."""
    for i, (one, other) in enumerate(pairwise(places)):
        general = text[: one[1]].endswith(("类", "药", "药物", "剂")) or ends_with_form(text[slice(*one)])
        if one[1] == other[0] and substances[i] and substances[i + 1] and has_cjk(text[slice(*one)]) and not general:
            yield one[0], other[1]


def _merged(places: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The places in order, those that overlap as one.

    >>> _merged([(0, 2), (2, 5), (4, 6)])
    [(0, 2), (2, 6)]
    """
    merged: list[tuple[int, int]] = []
    for start, end in sorted(places):
        if merged and start < merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return merged


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


def _is_ordinary(text: str, words: list[Token], span: Span) -> bool:
    """Whether a name is, in running text, more likely an ordinary word than the entity of that name."""
    if is_quoted(text, words[span.start].start, words[span.end - 1].end):
        return False
    run = [w.text for w in words[span.start : span.end]]
    if all(w.is_cjk for w in words[span.start : span.end]):
        name = "".join(run)
        done = vocabulary.listed("done about an illness").match(name)  # 治疗胃 of 治疗胃溃疡
        rest = name[done.end() :] if done else ""
        return (
            len(run) == 1
            or name in ordinary_words()
            or rest in ordinary_words()
            or len(rest) == 1
            or bool(vocabulary.listed("asked of a name").search(name))
        )
    if all(w in FUNCTION_WORDS or w in ordinary_words() or _is_number(w) for w in run):
        return True
    return len(run) == 1 and len(run[0]) == 1


def _is_number(word: str) -> bool:
    """Whether a word is only digits and signs, or a Roman numeral.

    >>> _is_number("<3.5%"), _is_number("viii"), _is_number("b12")
    (True, True, False)
    """
    return not word.strip("ivx") or not any(c.isalpha() for c in word)


def ordinary_words() -> frozenset[str]:
    """The words that are names in some graph but mean nothing on their own in a question."""
    return _list("ordinary")


# --- Phrases that no name of the graph covers but that may mean one of its entities: what a linker tries by likeness.
# They also tell the asker what was not understood. A phrase is a run of content words between the found names, cut at
# punctuation, at function and question words (word_lists.tsv), and at verbs of having and asking.


_LONGEST_PHRASE = 6  # words of a phrase in a script with spaces
_LONGEST_CJK = 10  # characters of a Chinese phrase
_COPULAS = frozenset({"is", "are", "was", "were", "feel", "feels", "look", "looks"})
_HEADS = frozenset({"disease", "diseases", "syndrome"})  # misspelt they end a name ("angelman syndome")
_AGE = lazily(r"^(?:\d.*|(?:year|month|week|day|hour)s?|old)$")


@dataclass(frozen=True)
class WithPhrases:
    """The mentions of a finder of names and, between them, the phrases it left over, in the order of the text."""

    find: Callable[[str], list[Mention]]

    def __call__(self, query: Query, /) -> list[Mention]:
        """Names and phrases of the expanded query."""
        text = query.expanded
        found = self.find(text)
        names = meant(text, found, more=bool(phrases(text, found)))
        left = [p for p in phrases(text, found) if not _is_everyday(text, p)]
        told = within(particulars(text))
        kept = [m for m in (*names, *left) if not told.hold(m.start, m.end)]
        return marked(text, sorted(kept, key=lambda m: (m.start, m.end)))


def _is_everyday(text: str, phrase: Mention) -> bool:
    """Whether a phrase is made of ordinary words alone, and not quoted."""
    words = tokens(phrase.surface)
    ordinary = phrase.surface in ordinary_words() or all(w.text in ordinary_words() for w in words)
    return (ordinary or is_everyday(words)) and not is_quoted(text, phrase.start, phrase.end)


def phrases(text: str, names: list[Mention]) -> list[Mention]:
    """The phrases of a text that lie outside the found names; text[p.start:p.end] == p.surface.

    >>> [p.surface for p in phrases("The boy has a very high creatine kinase and enlarged calves. What is it?", [])]
    ['high creatine kinase', 'enlarged calves']
    >>> [p.surface for p in phrases("饭后胃反酸，应该吃什么药？", [])]
    ['胃反酸']
    """
    runs = [run for run in _runs(text, names) if _says_something(run)]
    places = [(run[0].start, run[-1].end) for run in runs]
    denied = negated(text, [*places, *((m.start, m.end) for m in names)])
    return [Mention(text[a:b], text[a:b], a, b, no) for (a, b), no in zip(places, denied, strict=False)]


def _runs(text: str, names: list[Mention]) -> Iterator[list[Token]]:
    """Runs of words that stand together, are in no found name and are no cut word."""
    taken = {i for m in names for i in range(m.start, m.end)}
    words = [w for w in tokens(text) if w.start not in taken]
    cut_at = _cjk_cuts(text)
    asking = Spans([span for span in asking_spans(text) if " " in text[slice(*span)]])  # "side effects"
    run: list[Token] = []
    link: list[Token] = []  # "are" in "muscles are weak", kept only between two words
    for word in words:
        gap = text[(link or run)[-1].end : word.start] if run else ""
        broken = bool(gap.strip(" -'’")) or "\n" in gap or (bool(run) and word.is_cjk != run[-1].is_cjk)
        meant = spelled(word.text)
        asks = asking.hold(word.start, word.end) or (meant != word.text and not (run and meant in _HEADS))
        is_cut = word.text in _list("cuts en") or word.start in cut_at or asks
        if is_cut and not broken and run and not link and word.text in _COPULAS:
            link = [word]
            continue
        if run and (broken or is_cut):
            yield run
            run = []
        if not is_cut:
            run += [*link, word]
        link = []
    if run:
        yield run


def _says_something(run: list[Token]) -> bool:
    """Whether a run may name an entity: no single character, number or age, not only qualifiers, no whole sentence."""
    if run[0].is_cjk:
        return 2 <= len(run) <= _LONGEST_CJK
    content = [w.text for w in run if not _AGE.match(w.text) and w.text not in _list("cuts qualifiers")]
    letters = sum(len(LETTER.findall(w)) for w in content)
    return bool(content) and letters > 2 and len(run) <= _LONGEST_PHRASE


def _cjk_cuts(text: str) -> frozenset[int]:
    """The offsets of Chinese characters that belong to a cut word."""
    if not has_cjk(text):  # to compile the pattern takes longer than to read the question
        return frozenset()
    pattern = _cjk_cut_pattern(detected(text))
    return frozenset(i for m in pattern.finditer(text) for i in range(m.start(), m.end()))


@vocabulary.kept(8)
def _cjk_cut_pattern(language: str) -> re.Pattern[str]:
    """Words of a language that end a phrase, the longest first; a finding that begins with 无 or 不 is kept whole."""
    keep = "|".join(sorted(_list("cuts kept"), key=len, reverse=True))
    cut = "|".join(sorted(_list(f"cuts {language}"), key=len, reverse=True))
    return re.compile(
        rf"(?<!无)(?!(?:{keep}))(?:{cut}|(?<![一二两三四五六七八九十几半多])[一二两三四五六七八九十几半多]{{1,6}}(?:岁|天|年|个月|周|次|小时|个|点)半?)"
    )
