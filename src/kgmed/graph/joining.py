"""Which records of one graph or several are one thing: candidates by id, code and name, and the guards between them.

Two records are candidates where they have the same id, the same code of a vocabulary, or a name in common that both
mean (not one that is merely near). They are joined only where nothing speaks against it: their kinds go together, no
vocabulary has a code for each of them, no name of the one contradicts one of the other, and the group stays small.
Candidates are taken in the order of trust, so that a weaker one cannot keep a stronger one out.
"""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import combinations, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kgmed import vocabulary
from kgmed.derived import Arrays, cached_arrays
from kgmed.graph.base import Scope
from kgmed.graph.grown import Earlier, among, distinct, owners
from kgmed.graph.names import NAME_WORDS, contradicts
from kgmed.graph.store.arrays import digests, key_hash
from kgmed.graph.store.store import Store
from kgmed.language.text import has_cjk, lazily, normalise, normalise_all, pattern_of
from kgmed.vocabulary import BRAND, Predicate

Ints = NDArray[np.int64]

# --- What a medicine is made of, by its name: without its form and its salt.


@lru_cache(maxsize=1 << 14)
def substance(name: str) -> str:
    """The name of a medicine without its form and its salt.

    >>> substance("盐酸二甲双胍缓释片"), substance("Metformin hydrochloride tablets"), substance("硝酸甘油片")
    ('二甲双胍', 'metformin', '硝酸甘油')
    """
    plain = pattern_of(__name__, "dose_forms").sub("", name.strip()).strip()
    bare = " ".join(vocabulary.listed("salts").sub("", plain).split())
    return (bare if len(bare) > 1 else plain or name).casefold()


MOST = 12  # ours: records in one thing; real twins are two to five, larger groups were chains of loose names
_SHARED = 6  # ours: a name that more records have than this says too little
_NAMES = (Scope.PREFERRED, Scope.EXACT, Scope.TRANSLATION, Scope.LAYPERSON)
CONDITION = frozenset({"disease", "symptom", "phenotype", "cause", "risk factor", "past medical history"})
_SUBSTANCE = frozenset({"drug", "ingredient"})
_CODE = lazily(r"([A-Za-z][\w.-]*):([A-Z]?\d[\d.]*)$")
_ICD = lazily(r"ICD-?10(?:-?CM)?:([A-Z]\d\d)(\.\w+)?")

# --- Names in one form, and names that everybody knows.

_NUMERALS = {"IV": "4", "III": "3", "II": "2", "I": "1", "四": "4", "三": "3", "二": "2", "一": "1"}
_COUNTED = lazily(r"(?<![A-Za-zIVX])(IV|I{1,3}|[一二三四])(?=[型期度级])")
_FORMS = (("综合症", "综合征"), ("梗塞", "梗死"), ("癥", "症"), ("炎症性", "炎性"), ("粘", "黏"))


def chinese_form(name: str) -> str:
    """A Chinese name with its types in Arabic numerals and the words that are written in two ways in one.

    >>> chinese_form("Ⅱ型糖尿病"), chinese_form("肾病综合症"), chinese_form("一度烧伤"), chinese_form("统一")
    ('2型糖尿病', '肾病综合征', '1度烧伤', '统一')
    """
    if not has_cjk(name):
        return name
    for roman, latin in (("Ⅳ", "IV"), ("Ⅲ", "III"), ("Ⅱ", "II"), ("Ⅰ", "I")):
        name = name.replace(roman, latin)
    name = _COUNTED.sub(lambda found: _NUMERALS[found[1]], name)
    for other, usual in _FORMS:
        name = name.replace(other, usual)
    return name


VERSION = 26  # goes up when the same parts make another store (`graph.union`)


@vocabulary.kept()
def glossary() -> tuple[tuple[str, ...], ...]:
    """The names of each thing of the vocabulary's names, with those that its medicines and abbreviations add to it.

    An abbreviation may stand for several things.
    """
    whole = [dict.fromkeys(names) for names in _names_in("names")]
    of: dict[str, dict[str, None]] = {}
    for names in whole:
        for name in names:
            of.setdefault(name.casefold(), names)
    for more in (*_names_in("medicines"), *_names_in("abbreviations")):
        if more[0].casefold() not in of:
            whole.append({})
        names = of.setdefault(more[0].casefold(), whole[-1])
        names.update(dict.fromkeys(more))
        for name in more:
            of.setdefault(name.casefold(), names)
    for row in vocabulary.rows("glossary"):
        if row.object.casefold() not in of:
            whole.append({row.object: None})
        of.setdefault(row.object.casefold(), whole[-1]).setdefault(row.subject)
    return tuple(map(tuple, whole))


@vocabulary.kept()
def languages() -> dict[str, str]:
    """The language of each name of the glossary that its script does not tell.

    >>> languages()["痛風"]
    'ja'
    """
    return {row.subject: row.language for row in vocabulary.rows("glossary")}


def _names_in(table: str) -> list[list[str]]:
    """The names of each entry of a table that hold whatever the text around them is."""
    return vocabulary.entries(table, Predicate.ALT_LABEL, Predicate.BRAND_OF, Predicate.ABBREVIATION_OF)


def in_context() -> Iterator[tuple[list[str], frozenset[str]]]:
    """Names whose short forms mean it where one of some words stands in the text too, and these words."""
    words = vocabulary.others("abbreviations", Predicate.CONTEXT_OF, of_object=True)
    for names in vocabulary.entries("abbreviations", Predicate.MEANS_IN_CONTEXT):
        yield names, frozenset(words.get(names[0], ()))


@vocabulary.kept()
def _short_forms() -> Counter[str]:
    """In how many lines of the glossary each short form stands."""
    return Counter(name for names in glossary() for name in names if is_abbreviation(name))


def short_form(name: str) -> tuple[str, ...]:
    """What a short form stands for by the glossary; () where it stands in no line, or in several.

    >>> short_form("CVA")[0], short_form("gout")
    ('stroke', ())
    """
    if not is_abbreviation(name) or _short_forms()[name] != 1:
        return ()
    return next(tuple(full for full in names if not is_abbreviation(full)) for names in glossary() if name in names)


def joins(name: str) -> bool:
    """Whether a name of the glossary is enough to join records: no short form of two letters or of two meanings.

    A brand is not: products of several substances are sold under one.

    >>> joins("COPD"), joins("PE"), joins("gout"), joins("Tylenol®")
    (True, False, True, False)
    """
    return False if name.endswith(BRAND) else not is_abbreviation(name) or (len(name) > 2 and _short_forms()[name] == 1)


def is_abbreviation(name: str) -> bool:
    """Whether a name is made of capitals, such as T2DM: it may stand for several things.

    >>> is_abbreviation("COPD"), is_abbreviation("Gout"), is_abbreviation("甲亢")
    (True, False, False)
    """
    return len(name) < 8 and name.isascii() and sum(c.isupper() for c in name) > 1 and " " not in name


# --- Candidates and guards.

_LIKE = 0.5  # ours: of the letter pairs of two names, where they share a code


def is_rest(title: str) -> bool:
    """Whether a title of a classification holds what no other does, so that it names nothing.

    >>> is_rest("Other specified diseases of pancreas"), is_rest("Tuberculosis of skin")
    (True, False)
    """
    return vocabulary.listed("rest of a class").search(title) is not None


def _pairs_of(name: str) -> frozenset[str]:
    """The pairs of neighbouring letters of a name."""
    return frozenset(a + b for a, b in pairwise(f" {name} "))


class PossibleJoin(NamedTuple):
    """Two records that may be one, why, and how much is to be said for it; less is more."""

    rank: int
    one: int
    other: int
    why: str


class Join(NamedTuple):
    """Records that became one thing, the first that the thing is named after, and why each came in."""

    records: tuple[int, ...]
    why: tuple[str, ...]


class Joiner:
    """Puts records together, as long as nothing speaks against it.

    After an `earlier` union only what the other graphs have in common with it is looked at, and what that changes.
    """

    def __init__(
        self, parts: Sequence[Store], forbidden: Iterable[tuple[str, str]] = (), earlier: Earlier | None = None
    ) -> None:
        """Over all records of the graphs; two ids that are forbidden never come into one thing."""
        self.parts, self.earlier = parts, earlier
        self.first = np.cumsum([0, *(len(part) for part in parts)]).tolist()
        self.new = earlier.new if earlier else tuple(range(len(parts)))
        self._group: dict[int, list[int]] = {}  # record -> all of its thing, which share this list
        self._why: dict[int, list[str]] = {}
        self._forbidden = {frozenset(pair) for pair in forbidden}
        self.facts = lru_cache(maxsize=None)(self._facts_of)
        self.thing = earlier.thing if earlier else np.arange(self.first[-1])  # the record that its thing is named after
        self.changed = np.isin(np.arange(self.first[-1]), [r for i in self.new for r in self._records(i)])
        self._common: list[NDArray[np.uint64]] = []  # the numbers of what the new graphs may have in common
        self._owners: list[int] = []  # the records whose ids are codes that these have
        self._pairs_coded: list[tuple[int, int]] = []

    def _records(self, part: int) -> range:
        return range(self.first[part], self.first[part + 1])

    def joins(self) -> list[Join]:
        """The things of several records, after all candidates have been looked at; of those that may have changed."""
        keys, found = zip(*keyed, strict=True) if (keyed := list(self._candidates())) else ((), ())
        rows = np.array([c[:3] for c in found], np.int64).reshape(-1, 3)
        rows = np.column_stack([rows, np.array(keys, np.uint64).view(np.int64)])
        if self.earlier:
            before = self.earlier.kept["candidates"]
            gone = among(before[:, 3].view(np.uint64), np.unique(np.concatenate(self._common)))
            self.changed[np.concatenate([before[gone, 1:3], rows[:, 1:3]])] = True
            rows = np.concatenate([before[~gone], rows])
            found = tuple(PossibleJoin(rank, one, other, "") for rank, one, other, _ in rows[self._near(rows)].tolist())
            self.thing[self.changed] = np.flatnonzero(self.changed)
        self.candidates = distinct(rows)
        for candidate in sorted(set(found)):
            self._take(candidate)
        groups = {id(group): group for group in self._group.values()}
        joins = sorted((self.join(group) for group in groups.values()), key=lambda join: join.records)
        for join in joins:
            self.thing[list(join.records)] = join.records[0]
        return joins

    def _near(self, rows: Ints) -> NDArray[np.bool_]:
        """Which candidates are of records that may have changed, which all that are tied to one by others have."""
        while True:
            near = self.changed[rows[:, 1]] | self.changed[rows[:, 2]]
            if self.changed[rows[near, 1:3]].all():
                return near
            self.changed[rows[near, 1:3]] = True

    def join(self, group: list[int]) -> Join:
        """A group with the record that it is named after first: of the first graph, the one with most triples."""
        ordered = sorted(group, key=lambda r: (self.facts(r).part, of_some(self.facts(r).name), -self.degree(r), r))
        return Join(tuple(ordered), tuple(dict.fromkeys(w for r in ordered for w in self._why.get(r, ()))))

    def degree(self, record: int) -> int:
        """The number of triples at a record."""
        facts = self.facts(record)
        return self.parts[facts.part].degree(record - self.first[facts.part])

    # --- candidates

    def _candidates(self) -> Iterator[tuple[int, PossibleJoin]]:
        """The candidates, each with the number of what its records have in common."""
        yield from self._by_code()
        yield from self._by_name()
        yield from self._by_glossary()

    def _by_code(self) -> Iterator[tuple[int, PossibleJoin]]:
        """Records of the same id, and those that are the only ones of their graph with the code of another's id."""
        codes = {code for i in self.new for code in _codes(self.parts[i])} if self.earlier else None
        self._common.append(_hashes("code", codes or ()))
        for code, rows in _coded(self.parts, self.first) if codes is None else self._coded_as(codes):
            key, theirs = key_hash(f"code {code}"), sorted({record for record, is_id in rows if is_id})
            self._owners += theirs
            self._pairs_coded += [(record, theirs[0]) for record, is_id in rows if not is_id and theirs]
            for one, other in pairwise(theirs):
                yield key, PossibleJoin(-1, one, other, "id")
            for record in self._alone(rows) if theirs else ():
                if self._part(record) != self._part(theirs[0]) and self._alike(record, theirs[0]):
                    why = f"code {self.facts(theirs[0]).id}"
                    yield key, PossibleJoin(3, min(theirs[0], record), max(theirs[0], record), why)

    def _coded_as(self, codes: Iterable[str]) -> Iterator[tuple[str, list[tuple[int, bool]]]]:
        """What `_coded` gives of some codes, by the indexes of the graphs."""
        parts = list(zip(self.parts, self.first, strict=False))
        for code in codes:
            ids = [
                (begin + node, True)
                for part, begin in parts if not part.manifest.prefix
                for node in part.tables.keys.find(code) if part.tables.key[node] == code
            ]  # fmt: skip
            forms = {normalise(code), normalise(code.replace("ICD10:", "ICD-10:"))} if ids else ()
            others = [
                (begin + name.node, False)
                for part, begin in parts
                for number in sorted({n for form in forms for n in part.tables.normalised.find(form)})
                if (name := part.name_row(number)).scope == Scope.XREF and _code_of(name.text) == code
            ]
            if len(ids) + len(others) > 1 and ids:
                yield code, ids + others

    def _alone(self, rows: list[tuple[int, bool]]) -> list[int]:
        """The records that have a code which is no other's in their graph and is not their id."""
        count = Counter(self._part(record) for record in {record for record, _ in rows})
        return sorted({record for record, is_id in rows if not is_id and count[self._part(record)] == 1})

    def _alike(self, one: int, other: int) -> bool:
        """Whether a name of the one shares half of its letters with one of the other: a code alone may be broader."""
        theirs = [_pairs_of(name) for name in self._names_of(other)]
        own = map(_pairs_of, self._names_of(one))
        return any(2 * len(a & b) >= _LIKE * (len(a) + len(b)) for a in own for b in theirs)

    def _names_of(self, record: int) -> list[str]:
        """The names that mean a record, in one form."""
        part = self._part(record)
        store, node = self.parts[part], record - self.first[part]
        names = [store.name_row(node).text, *(text for text, scope in store.aliases(node) if scope in _NAMES)]
        return [normalise(chinese_form(vocabulary.listed("unspecified").sub("", name))) for name in names]

    @cached_property
    def coded(self) -> Ints:
        """Records with a code, and the record whose id it is, which may be broader (k, 2), in the order of these."""
        rows = np.array(self._pairs_coded, np.int64).reshape(-1, 2)
        if self.earlier:
            before = self.earlier.kept["coded"]
            gone = np.isin(before[:, 1], self._owners)
            self.changed[np.concatenate([before[gone, 0], rows[:, 0]])] = True
            rows = np.concatenate([before[~gone], rows])
            self.changed[rows[self.changed[rows[:, 1]], 0]] = True
        return rows[np.argsort(rows[:, 1], kind="stable")]

    def _by_name(self) -> Iterator[tuple[int, PossibleJoin]]:
        """Records that share a name, whichever way it is written, in whichever form, with or without its spaces."""
        spelled = [_spelled(part) for part in self.parts]
        for key, rows in self._sharing([_indexed(part) for part in self.parts], most=4 * _SHARED):
            yield from ((key, pair) for pair in self._pairs(rows))
        for key, rows in self._sharing([(s["form"], s["form_of"]) for s in spelled]):
            yield from ((key, pair) for pair in self._pairs(rows))
        runs = np.unique(np.concatenate([s["letters"][s["run"]] for s in spelled]))
        kept = [among(s["letters"], runs) for s in spelled]
        columns = [(s["letters"][at], s["letters_of"][at]) for s, at in zip(spelled, kept, strict=True)]
        for key, rows in self._sharing(columns):
            yield from ((key, pair) for pair in self._pairs(rows))

    def _sharing(
        self, columns: Sequence[tuple[NDArray[np.uint64], NDArray[np.int32]]], most: int = 1 << 30
    ) -> Iterator[tuple[int, list[tuple[int, int, str]]]]:
        """The bearers of each name that several records have, as (record, scope, as it is written), and its number.

        `columns`: of each graph hashes and numbers of names. Of names that more than `most` have none is given.
        """
        ours = np.unique(np.concatenate([columns[i][0] for i in self.new]))
        self._common.append(ours)
        kept = [among(hashes, ours) for hashes, _ in columns]
        hashes = np.concatenate([h[at] for (h, _), at in zip(columns, kept, strict=True)])
        number = np.concatenate([n[at] for (_, n), at in zip(columns, kept, strict=True)])
        part = np.repeat(np.arange(len(columns)), [int(at.sum()) for at in kept])
        owner = [owners(p)[0] + first for p, first in zip(self.parts, self.first, strict=False)]
        record = np.concatenate([o[n[at]] for o, (_, n), at in zip(owner, columns, kept, strict=True)])
        order = np.lexsort((record, hashes))
        hashes, part, number, record = hashes[order], part[order], number[order], record[order]
        begins = np.flatnonzero(np.append(True, hashes[1:] != hashes[:-1])[: len(hashes)])
        ends = np.append(begins[1:], len(hashes))[: len(begins)]
        several = (record[ends - 1] != record[begins]) & (ends - begins <= most)  # sorted by record within a hash
        for begin, end in zip(begins[several].tolist(), ends[several].tolist(), strict=True):
            named = [(self.parts[part[i]].name_row(int(number[i])), self.first[part[i]]) for i in range(begin, end)]
            yield int(hashes[begin]), [(n.node + start, n.scope, n.text) for n, start in named]

    def _pairs(self, rows: list[tuple[int, int, str]]) -> Iterator[PossibleJoin]:
        """The candidates of one name, from its bearers as (record, scope, as it is written)."""
        best: dict[int, tuple[int, str]] = {}
        for record, scope, text in rows:
            if not is_abbreviation(text) and len(text) > 1:
                best[record] = min(best.get(record, (scope, text)), (scope, text))
        if not 1 < len(best) <= _SHARED:
            return
        for one, other in combinations(sorted(best), 2):
            if self._part(one) == self._part(other) and best[one][0] + best[other][0] > Scope.EXACT:
                continue  # what one graph has twice is one only by the very name of a record
            yield PossibleJoin(best[one][0] + best[other][0], one, other, f"name {best[one][1]}")

    def _by_glossary(self) -> Iterator[tuple[int, PossibleJoin]]:
        """Records that bear names which the glossary has for one thing."""
        self._common.append(_hashes("line", map(str, self.entries)))
        for i in self.entries:
            names = glossary()[i]
            records = sorted({record for name in names if joins(name) for record in self.bearers(name)})
            for one, other in combinations(records, 2) if len(records) <= MOST else ():
                yield key_hash(f"line {i}"), PossibleJoin(0, one, other, f"glossary {names[0]}")

    @cached_property
    def entries(self) -> list[int]:
        """The entries of the glossary to look at: those that have a name of the new graphs, or of their substances."""
        if not self.earlier:
            return list(range(len(glossary())))
        keys = digests(normalise_all([name for names in glossary() for name in names]))[:, 0]
        entry = np.repeat(np.arange(len(glossary())), list(map(len, glossary())))
        ours = np.unique(np.concatenate([self.parts[i].tables.normalised.hashes for i in self.new]))
        made = {name for i in self.new for name, _ in _made_of(self.parts[i])}
        of = {i for i, names in enumerate(glossary()) if made and not made.isdisjoint(names)}
        return sorted(of | set(entry[among(keys, ours)].tolist()))

    def bearers(self, name: str) -> Iterator[int]:
        """The records of which that is the name, or another name that means the same."""
        key = normalise(name)
        for part, first in zip(self.parts, self.first, strict=False):
            for number in part.tables.normalised.find(key):
                found = part.name_row(number)
                if found.scope <= Scope.EXACT and normalise(found.text) == key:
                    yield first + found.node

    def made_of(self, names: Sequence[str]) -> list[int]:
        """The Chinese products that are made of what has one of some names: 盐酸坦索罗辛缓释胶囊 of tamsulosin."""
        return [record for name in names if has_cjk(name) for record in self._products.get(name, ())]

    @cached_property
    def _products(self) -> dict[str, list[int]]:
        """The medicines with a Chinese name, by their substance."""
        found: dict[str, list[int]] = {}
        for part, first in zip(self.parts, self.first, strict=False):
            for name, node in _made_of(part):
                found.setdefault(name, []).append(first + node)
        return found

    def _part(self, record: int) -> int:
        return bisect_right(self.first, record) - 1

    # --- guards

    def _take(self, candidate: PossibleJoin) -> None:
        """Join the things of two records if nothing speaks against it."""
        one, other = (self._group.get(r, [r]) for r in (candidate.one, candidate.other))
        if one is other or len(one) + len(other) > MOST or not all(self._go_together(a, b) for a in one for b in other):
            return
        self._why.setdefault(candidate.other, []).append(candidate.why)
        joined = [*one, *other]
        self._group.update(dict.fromkeys(joined, joined))

    def _go_together(self, a: int, b: int) -> bool:
        """Whether nothing speaks against two records being one."""
        one, other = self.facts(a), self.facts(b)
        if one.id == other.id:
            return True
        if frozenset((one.id, other.id)) in self._forbidden or not _kinds_fit(one, other):
            return False
        if one.vocabulary and one.vocabulary == other.vocabulary:  # a vocabulary has one code for a thing
            return False
        if one.icd and other.icd and one.icd.isdisjoint(other.icd):
            return False
        lines = _lines_of(one.name), _lines_of(other.name)
        if all(lines):  # the glossary has both, as one thing, however unlike the names are, or as two
            return not lines[0].isdisjoint(lines[1])
        return not contradicts(chinese_form(one.name), chinese_form(other.name)) and not _qualifies(one, other)

    def _facts_of(self, record: int) -> "RecordFacts":
        """What the guards need of a record."""
        part = self._part(record)
        store, node = self.parts[part], record - self.first[part]
        entity = store.at(node)
        code = _CODE.match(entity.id)
        codes = [entity.id, *(text for text, scope in store.aliases(node) if scope is Scope.XREF)]
        icd = [found[1] for text in codes if (found := _ICD.match(text))]
        return RecordFacts(part, entity.id, entity.name, entity.kind, code[1] if code else "", frozenset(icd))


@dataclass(frozen=True, slots=True)
class RecordFacts:
    """What speaks for or against two records being one."""

    part: int
    id: str
    name: str
    kind: str
    vocabulary: str  # of its id, "" where the id is but its name
    icd: frozenset[str] = field(default_factory=frozenset)  # ICD-10 categories


def _kinds_fit(one: RecordFacts, other: RecordFacts) -> bool:
    """Whether two records can be one by their kinds; substances of one graph by the glossary alone."""
    kinds = {one.kind, other.kind}
    if kinds & _SUBSTANCE:
        return kinds <= _SUBSTANCE and (one.part != other.part or bool(_lines_of(one.name) & _lines_of(other.name)))
    if len(kinds) == 1 or "" in kinds:
        return True
    return False if one.part == other.part and one.vocabulary and other.vocabulary else kinds <= CONDITION


_OF_SOME: tuple[str, ...] = tuple(NAME_WORDS["of_some"])


def of_some(name: str) -> bool:
    """Whether a Chinese name is of an illness of some people only.

    >>> of_some("小儿过敏性鼻炎"), of_some("过敏性鼻炎")
    (True, False)
    """
    return any(word in name for word in _OF_SOME)


_QUALIFIED = tuple((tuple(words.split()), lazily(english)) for words, english in NAME_WORDS["qualifiers"])


def _qualifies(one: RecordFacts, other: RecordFacts) -> bool:
    """Whether the one has a Chinese name that says more than the name of the other.

    >>> _qualifies(RecordFacts(0, "a", "小儿肺炎", "", ""), RecordFacts(0, "b", "Pneumonia", "", ""))
    True
    """
    if has_cjk(one.name) and has_cjk(other.name):
        return _adds(chinese_form(one.name), chinese_form(other.name))
    if not has_cjk(one.name) and not has_cjk(other.name):
        return False
    chinese, english = (one.name, other.name) if has_cjk(one.name) else (other.name, one.name)
    if is_abbreviation(english):
        return False
    text = english.casefold()
    if (letter := _LETTER.search(english)) and not any(c in chinese for c in (letter[1], _LETTERS[letter[1]])):
        return True
    if text.startswith("recurrent ") and not ("反复" in chinese or "复发" in chinese):
        return True
    return any(any(w in chinese for w in words) and not said.search(text) for words, said in _QUALIFIED)


_LETTER = lazily(r"(?<=[ ,])([A-E])$")
_LETTERS = dict(zip("ABCDE", "甲乙丙丁戊", strict=True))


def _adds(one: str, other: str) -> bool:
    """Whether one of two Chinese names is the other with more said in it; short names may be short forms.

    >>> _adds("静脉炎", "血栓性静脉炎"), _adds("慢性咽炎", "慢性肥厚性咽炎"), _adds("甲亢", "甲状腺功能亢进症")
    (True, True, False)
    """
    if any((word in one) != (word in other) for word in _OF_SOME):
        return True
    short, long = sorted((one, other), key=len)
    if len(short) < 3 or len(long) - len(short) < 2 or _lines_of(short) & _lines_of(long):
        return False
    begin = next((i for i, (a, b) in enumerate(zip(short, long, strict=False)) if a != b), len(short))
    return short in long or short[begin:] == long[len(long) - len(short) + begin :]


@vocabulary.kept()
def _lines() -> dict[str, frozenset[int]]:
    found: dict[str, frozenset[int]] = {}
    for i, names in enumerate(glossary()):
        for name in names:
            key = name.removesuffix(BRAND).casefold()
            found[key] = found.get(key, frozenset()) | {i}
    return found


def _lines_of(name: str) -> frozenset[int]:
    return _lines().get(name.casefold(), frozenset())


_SIGNS = lazily(r"[\W_]+")
_LEAST = 9  # ours: letters of a name that are compared without its spaces


def _letters(name: str) -> str:
    """The letters and digits of a name.

    >>> _letters("Ehlers—Danlos syndrome"), _run("rheumaticfever"), _run("Gout")
    ('ehlersdanlossyndrome', 'rheumaticfever', '')
    """
    return _SIGNS.sub("", name.casefold())


def _run(name: str) -> str:
    """The letters of a name that may have lost its spaces, or has a dash between its words; "" of any other."""
    said = _letters(name) if " " not in name or "—" in name or "’" in name else ""
    return said if len(said) >= _LEAST else ""


_VARIES = lazily("[症癥征梗粘黏型期度级]|炎性")  # all that `chinese_form` changes and `_may_vary` looks for hold one


def _may_vary(form: str) -> bool:
    """Whether a Chinese name in one form may be written otherwise elsewhere."""
    return any(usual in form for _, usual in _FORMS) or re.search(r"[1-4][型期度级]", form) is not None


# --- Codes and names that several records have, by the indexes of the graphs.


def _hashes(sort: str, names: Iterable[str]) -> NDArray[np.uint64]:
    """The number of each name, of one sort."""
    return digests(f"{sort} {name}" for name in names)[:, 0].copy()


def _code_of(text: str) -> str:
    """A code as all graphs write it."""
    return text.replace("ICD-10:", "ICD10:")


def _codes(part: Store) -> Iterator[str]:
    """The codes that a graph has, as ids or beside them."""
    yield from () if part.manifest.prefix else part.tables.key
    yield from (_code_of(name.text) for name in part.names(scopes=(Scope.XREF,)))


def _coded(parts: Sequence[Store], first: Sequence[int]) -> Iterator[tuple[str, list[tuple[int, bool]]]]:
    """The records of each code that is an id somewhere and stands elsewhere too, and whether it is theirs."""
    found: dict[str, list[tuple[int, bool]]] = {}
    for part, begin in zip(parts, first, strict=False):
        if part.manifest.prefix:  # ids that are but names
            continue
        for node, key in enumerate(part.tables.key):
            found.setdefault(key, []).append((begin + node, True))
    for part, begin in zip(parts, first, strict=False):
        for name in part.names(scopes=(Scope.XREF,)):
            if (code := _code_of(name.text)) in found:
                found[code].append((begin + name.node, False))
    return ((code, rows) for code, rows in found.items() if len(rows) > 1)


def _made_of(part: Store) -> Iterator[tuple[str, int]]:
    """The medicines of a graph that have a Chinese name: their substance, and the node."""
    for node in (int(n) for kind in _SUBSTANCE for n in part.of_kind(kind)):
        name = part.name_row(node).text
        if has_cjk(name):
            yield substance(name), node


def _indexed(part: Store) -> tuple[NDArray[np.uint64], NDArray[np.int32]]:
    """The hash of the key and the number of each name of a graph that means its record."""
    t, (_, scope) = part.tables, owners(part)
    hashes = np.concatenate([t.normalised.hashes, t.folded.hashes])
    number = np.concatenate([t.normalised.numbers, t.folded.numbers])
    kept = np.isin(scope[number], [int(s) for s in _NAMES])
    return hashes[kept], number[kept]


def _spelled(part: Store) -> Arrays:
    """How the names of a graph are spelled, by their numbers; kept beside it.

    `form` = the hash of a Chinese name in one form, where it may vary; `letters` = that of the letters of another name,
    and `run` = whether it may have lost its spaces.
    """
    columns = ("form", "form_of", "letters", "letters_of", "run")
    return cached_arrays(part.folder, "spelled", f"{VERSION} {part.label}", columns, lambda: _spellings(part))


def _spellings(part: Store) -> Arrays:
    form, form_of, letters, letters_of, run = list[str](), list[int](), list[str](), list[int](), list[bool]()
    for number, (text, _, scope) in enumerate(part.names()):
        if scope not in (Scope.PREFERRED, Scope.EXACT, Scope.TRANSLATION):
            continue
        if _VARIES.search(text) is not None:
            plain = normalise(text)
            if (one := chinese_form(plain)) != plain or _may_vary(one):
                form.append(one)
                form_of.append(number)
        if (text.isascii() or not has_cjk(text)) and len(said := _letters(text)) >= _LEAST:
            letters.append(said)
            letters_of.append(number)
            run.append(bool(_run(text)))
    return {
        "form": _hashes("form", form), "form_of": np.array(form_of, np.int32),
        "letters": _hashes("letters", letters), "letters_of": np.array(letters_of, np.int32),
        "run": np.array(run, bool),
    }  # fmt: skip
