"""How patients say their findings: "burning when I pee" is dysuria, 喘不上气 is 呼吸困难.

A way of saying stands for one finding, by the names that graphs may have for it. The words of a way stand in one
clause: English ones by their stem, in any order and with little between them; Chinese ones in their order.
"""

import re
import sys
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache, partial
from importlib import import_module
from importlib.util import find_spec
from itertools import pairwise, product, zip_longest
from threading import Lock
from types import ModuleType
from typing import Any, NamedTuple

from kgmed import vocabulary
from kgmed.language.text import Token, has_cjk, lazily, tokens
from kgmed.vocabulary import Predicate

# How patients say their findings: "burning when I pee" is dysuria, 喘不上气 is 呼吸困难. The table is lay_names.tsv.

LAY = "lay_names"
SIGNS = "urgent_signs"  # of emergencies: `kgmed.question.emergency`
_STATES = {LAY: Predicate.LAY_TERM_FOR, SIGNS: Predicate.SIGN_OF}  # of a way
_BETWEEN = 4  # English words that may stand between those of a way of saying
_KEPT = 2  # letters of a word that its stem keeps
_IRREGULAR = {"dying": "di", "lying": "li", "tying": "ti"}  # where it does not (Porter 2 has no others)
_LONGEST = 40  # words of a clause that are looked at together
_BETWEEN_CJK = 5  # characters between two pieces of a Chinese one
_CLAUSE = lazily(r"(?:(?!患者|病人)[^.!?;:,\n。！？；：，、])+")  # whom it is told of is a clause
_BUT = frozenset({"but", "although", "though"})
_TELLING = frozenset({"feel", "feels", "felt", "feeling", "notice", "noticed", "noticing", "am"})
Places = tuple[tuple[int, int], ...]


class Said(NamedTuple):
    """A finding as a patient says it: the names it may have in a graph, best first, and where its words stand."""

    names: tuple[str, ...]
    words: Places

    @property
    def span(self) -> tuple[int, int]:
        """The stretch from its first word to its last."""
        return self.words[0][0], self.words[-1][1]


Names = tuple[str, ...]
Way = tuple[str, Names]  # a way of saying as the table has it: its words, @x for any of a group; what it stands for


def said(text: str, known: Callable[[str], object] = str, table: str = LAY) -> list[Said]:
    """The findings that a text tells in a patient's words, in the order of the text, by the names that are `known`.

    What is told in some of the words of another is left out: "chest pain" in "chest pain when I walk".

    >>> [s.names[0] for s in said("It burns when I pee and I can't keep anything down.")]
    ['Dysuria', 'Vomiting']
    >>> [(s.names[-1], s.span) for s in said("昨晚开始拉肚子，喘不上气")]
    [('腹泻', (4, 7)), ('气促', (8, 12))]
    """
    found = [one for clause in _clauses(text) for one in _fullest(_ways(clause, table), known, spaced=True)]
    if has_cjk(text):
        clauses = (_ways_cjk(m.group(), m.start(), table) for m in _CLAUSE.finditer(text))
        found += [one for clause in clauses for one in _fullest(clause, known, spaced=False)]
    return sorted(found, key=lambda one: one.span)


def _fullest(found: Iterable[Said], known: Callable[[str], object], *, spaced: bool) -> list[Said]:
    """Of what a clause tells, each finding once, without what is told in some of the words of another.

    `spaced` = its words have spaces between them, so that it is seen which of them stand side by side.
    """
    named = [Said(names, one.words) for one in found if (names := tuple(filter(known, one.names)))]
    named.sort(key=partial(_fuller, spaced=spaced))
    kept: list[Said] = []
    for one in named:
        held = any(_holds(other.words, one.words) or other.names == one.names for other in kept)
        held |= not spaced and any(_is_part(one, other) for other in kept)
        if not held and not (spaced and _taken(one, kept)):
            kept.append(one)
    return kept


def _is_part(one: Said, other: Said) -> bool:
    """Whether what is told lies within what another is told by, and begins and ends in its signs.

    So 脚上起泡 of 手上脚上起泡; the eyes that are red are no part of the eyes that itch.
    """
    (a, b), (c, d) = one.span, other.span
    ends = (one.words[0], one.words[-1])
    return c <= a and b <= d and all(any(x < v and u < y for u, v in other.words) for x, y in ends)


def _fuller(one: Said, *, spaced: bool) -> tuple[int, bool, int, int, tuple[int, int]]:
    """What is told in more words first, side by side before apart, then in longer words and closer together."""
    start, end = one.span
    return -len(one.words), spaced and _apart_by(one) > _NEXT, -sum(b - a for a, b in one.words), end - start, one.span


_NEXT = 1  # characters between words that stand side by side


def _apart_by(one: Said) -> int:
    """The most characters between two words of what is told."""
    return max((b[0] - a[1] for a, b in pairwise(sorted(one.words))), default=0)


def _taken(one: Said, kept: Iterable[Said]) -> bool:
    """Whether all words of what is told in words apart are those of others that are told side by side.

    The nose does not itch in "runny nose and itchy eyes", nor are the lips swollen in "cracked lips, swollen hands".
    """
    beside = {word for other in kept if len(other.words) > 1 and _apart_by(other) <= _NEXT for word in other.words}
    return _apart_by(one) > _NEXT and beside.issuperset(one.words)


def others(name: str) -> Iterator[str]:
    """The other names of a finding of the table: one thing, whatever a graph calls it.

    >>> "排尿疼痛" in others("dysuria")
    True
    """
    own = name.casefold()
    return iter(_alike(own[:_KEPT]).get(own, ()))


def _holds(words: Places, others: Places) -> bool:
    """Whether each of some stretches lies within one of others."""
    return all(any(a <= c and d <= b for a, b in words) for c, d in others)


def _ways(clause: Sequence[Token], table: str) -> Iterator[Said]:
    """The ways of saying that a clause has."""
    starts = {start for word in clause for start in (word.text[:_KEPT], _IRREGULAR.get(word.text, ""))}
    told = [
        (way, names)
        for start in starts
        for way, names, further in _of_start(start, table)
        if not any(map(starts.isdisjoint, further))
    ]
    at: dict[str, list[int]] = {}
    for place, word in enumerate(clause if told else ()):  # to stem takes long; few clauses have such words
        at.setdefault(porter2(word.text), []).append(place)
    for way, names in told:
        begun = [[word for word in group if word[:_KEPT] in starts] for group in way]  # no other can have such a stem
        places = _nearest([sorted({p for word in group for p in at.get(porter2(word), ())}) for group in begun])
        if places and not (table == LAY and _partly_denied(clause, places)):
            yield Said(names, tuple((clause[i].start, clause[i].end) for i in places))


_DENIES = frozenset({"no", "not", "without", "never", "t", "cannot"})
_REACH = 2  # words before one that is denied


def _partly_denied(clause: Sequence[Token], places: Sequence[int]) -> bool:
    """Whether a later word of a way is denied and its first is not: blood in urine without pain is no painful urine."""
    mine = {*places}
    denied = [
        any(clause[i].text in _DENIES and i not in mine for i in range(max(0, p - _REACH), p)) for p in sorted(places)
    ]
    return any(denied) and not denied[0]


def _nearest(choices: Sequence[Sequence[int]]) -> list[int]:
    """A place of each word so that they stand close together, each once; [] where they do not.

    >>> _nearest([[0, 9], [8], [7, 20]]), _nearest([[0], [9]]), _nearest([[3], [3]]), _nearest([[3, 5], [4], [3, 5]])
    ([7, 8, 9], [], [], [3, 4, 5])
    """
    stretches = [_around(at, choices[1:]) for at in choices[0]] if all(choices) else []
    whole = [s for s in stretches if s and s[-1] - s[0] < len(choices) + _BETWEEN]
    return min(whole, key=lambda s: s[-1] - s[0], default=[])


def _around(at: int, choices: Iterable[Sequence[int]]) -> list[int]:
    """The place of a first word and, for each further one, the nearest that is not taken; [] where none is left."""
    taken = [at]
    for more in choices:
        free = [place for place in more if place not in taken]
        if not free:
            return []
        taken.append(min(free, key=lambda place: abs(place - at)))
    return sorted(taken)


def _clauses(text: str) -> Iterator[list[Token]]:
    """The English words of each clause of a text: between signs, and where another begins; a long one in pieces."""
    words = [w for w in tokens(text) if not w.is_cjk]
    starts = [w.start for w in words]
    for m in _CLAUSE.finditer(text):
        clause: list[Token] = []
        held = words[bisect_left(starts, m.start()) : bisect_left(starts, m.end())]
        for word, following in zip_longest(held, held[1:]):
            if begins_clause(word, following) or len(clause) == _LONGEST:
                yield clause
                clause = []
            clause.append(word)
        yield clause


def begins_clause(word: Token, following: Token | None) -> bool:
    """Whether another thing is told from a word on: "but", and an "and" before a verb of feeling or noticing."""
    return word.text in _BUT or (word.text == "and" and following is not None and following.text in _TELLING)


def _ways_cjk(clause: str, start: int, table: str) -> Iterator[Said]:
    """The ways of saying that a clause has, each where it stands first."""
    compounds = bool(_compounds().search(clause))
    for groups, names in (entry for sign in set(clause) for entry in _of_sign(sign, table)):
        said = [[piece for piece in group if piece in clause] for group in groups]
        for pieces in product(*said) if all(said) else ():
            if places := _in_order(_apart(clause, pieces) if compounds else clause, pieces):
                yield Said(names, tuple((start + a, start + b) for a, b in places))


@vocabulary.kept()
def _compounds() -> re.Pattern[str]:
    """The words in which a sign is none of its own (石头, 突然, 糖尿病), the longest first."""
    words = [word for cell in _index(LAY)("@within") for word in cell]
    return re.compile("|".join(sorted(words, key=len, reverse=True)) or "(?!)")


def _apart(clause: str, pieces: Sequence[str]) -> str:
    """The clause without names that pieces of one character would be found in: 糖尿病, 血糖 are not 尿, 血."""
    if all(len(piece) > 1 for piece in pieces) or any(piece not in clause for piece in pieces):
        return clause
    long = [piece for piece in pieces if len(piece) > 1]
    return _compounds().sub(lambda m: m[0] if any(p in m[0] for p in long) else "\0" * len(m[0]), clause)


_DENIED_CJK = lazily("(?:[不没无未非]|没有)(?:有|带|是|太|怎么|觉得|会)?$")  # 小便带血但不疼 is no 小便疼


def _in_order(clause: str, pieces: Sequence[str]) -> Places:
    """Where the pieces stand in a clause, one behind the other and near; () where they do not.

    >>> _in_order("肚子从昨天起疼", ("肚子", "疼")), _in_order("疼肚子", ("肚子", "疼"))
    (((0, 2), (6, 7)), ())
    """
    start = clause.find(pieces[0])
    while start >= 0:
        places = [(start, start + len(pieces[0]))]
        for piece in pieces[1:]:
            end = places[-1][1]
            at = clause.find(piece, end, end + _BETWEEN_CJK + len(piece))
            if at < 0 or _DENIED_CJK.search(clause[end:at]):
                break
            places.append((at, at + len(piece)))
        if len(places) == len(pieces):
            return tuple(places)
        start = clause.find(pieces[0], start + 1)
    return ()


@vocabulary.kept(2)
def _index(table: str) -> Callable[[str], vocabulary.Cells]:
    """What is kept of a table: `_made`."""
    return vocabulary.index(f"ways_{table}", table, lambda: _made(table))


def _made(table: str) -> dict[str, vocabulary.Cells]:
    """The ways with their names, by the first letters of an English one, which its stem keeps, or - and a first sign.

    Behind @ stand the words of a group, and behind = and its first letters each name with the others of one finding.
    """
    groups, more = (vocabulary.others(table, p) for p in (Predicate.MEMBER, Predicate.ALT_LABEL))
    found: dict[str, vocabulary.Cells] = {name: [[*words]] for name, words in groups.items()}
    alike: dict[str, dict[Names, None]] = {}
    for words, stated in vocabulary.pairs(table, _STATES[table]):
        names = (stated, *more.get(stated, ())) if table == LAY else tuple(stated.replace("/", "; ").split("; "))
        first = groups.get(words.partition(" ")[0], (words.partition(" ")[0],))
        for start in {word[:_KEPT] if first[0].isascii() else f"-{word[0]}" for word in first}:
            found.setdefault(start, []).append([words, *names])
        for name in names:
            alike.setdefault(name.casefold(), {}).setdefault(names)
    for own, all_names in alike.items():
        others = (other for names in all_names for other in names if other.casefold() != own)
        found.setdefault(f"={own[:_KEPT]}", []).append([own, *others])
    return found


@vocabulary.kept(1 << 12)
def _of_start(start: str, table: str) -> list[tuple[tuple[tuple[str, ...], ...], Names, tuple[frozenset[str], ...]]]:
    """The English ways whose first word begins so: their words, their names, how each further one may begin."""
    ways = ((_groups(words, table), tuple(names)) for words, *names in _index(table)(start))
    return [(way, names, tuple(frozenset(w[:_KEPT] for w in group) for group in way[1:])) for way, names in ways]


@vocabulary.kept(1 << 12)
def _of_sign(sign: str, table: str) -> list[tuple[tuple[tuple[str, ...], ...], Names]]:
    """The Chinese ways that may begin with a sign: their pieces, and their names; of a group those of that sign."""
    return [
        ((tuple(w for w in first if w[0] == sign), *rest), tuple(names))
        for words, *names in _index(table)(f"-{sign}")
        for first, *rest in [_groups(words, table)]
    ]


@vocabulary.kept(1 << 13)
def _groups(words: str, table: str) -> tuple[tuple[str, ...], ...]:
    """The words of a way, each one or one of a group."""
    cells = _index(table)
    return tuple(tuple(cells(word)[0]) if word.startswith("@") else (word,) for word in words.split())


@vocabulary.kept(1 << 12)
def _alike(start: str) -> dict[str, list[str]]:
    """The names that begin so of findings, each with the others of what it is one of."""
    return {name: others for name, *others in _index(LAY)(f"={start}")}


@lru_cache(maxsize=1 << 14)
def porter2(word: str) -> str:
    """The stem of an English word (Porter 2).

    >>> porter2("swollen"), porter2("injuries")
    ('swollen', 'injuri')
    """
    with _ONE_AT_A_TIME:
        stem: str = _stemmer().stemWord(word)
    return stem


_ONE_AT_A_TIME = Lock()  # a stemmer writes the word that it is at into itself


@lru_cache(maxsize=1)
def _stemmer() -> Any:
    """The English stemmer of snowballstemmer, read in without those of its thirty other languages, which take 10 ms."""
    found = find_spec("snowballstemmer")
    package = ModuleType(f"{__name__}.snowball")
    package.__path__ = list((found and found.submodule_search_locations) or ())
    sys.modules[package.__name__] = package
    return import_module(".english_stemmer", package.__name__).EnglishStemmer()
