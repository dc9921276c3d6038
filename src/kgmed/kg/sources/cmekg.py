"""CMeKG, the Chinese medical knowledge graph, from the pickle inside the package `PyCMeKG`.

It is read without importing the package and without letting the pickle name a class, see `cmekg_pickle`.

Every value becomes one thing: an edge, another name of its subject, a text about it, or a dropped row.
`cmekg_table` says which. The line of a `DroppedRow` is the number of the triple, from 1.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import numpy as np

from kgmed.errors import Unavailable
from kgmed.kg.rows import Alias, Batch, Batches, DroppedRow, NodeRow, Scope, Source, TextRow, Told
from kgmed.kg.sources.cmekg_pickle import load
from kgmed.kg.sources.cmekg_table import ALIASES, CODES, ENDS, KIND_OF_SUBJECT, RELATIONS, UNLESS
from kgmed.kg.sources.lines import check_file

_ETC = re.compile(r"(?<=[^中高同不相平均对一二三])等$")
_EDGE_MARKS = " \t\r\n\xa0\u3000，。、；：,;:"
_NOTHING = frozenset(["尚不明确", "不明确", "无", "不详", "未知", "尚无", "暂无", "本品为复方制剂"])  # no things
_KINDS = ("disease", "drug", "test", "treatment")
_NUMERAL = re.compile(r"[\dIVX.%％+-]+$")
_BRACKETS = re.compile(r"(.+)(?:［([^［］]+)］|[（(](?![IVX]+[）)])([A-Za-z][\w .+-]+)[）)])$", re.ASCII)


def read(path: Path | None = None, *, name: str = "cmekg", release: str = "") -> Source:
    """CMeKG from a file, by default that of the installed `PyCMeKG`; raises `Unavailable` and `SourceError`."""
    file = packaged() if path is None else path
    check_file(file)
    if path is None and not release:
        release = _version()
    return Source(
        name=name,
        rows=lambda: _rows(file),
        release=release,
        licence="MIT (PyCMeKG)",
        citation="Byambasuren O et al. Preliminary study on the construction of Chinese medical knowledge graph. "
        "Journal of Chinese Information Processing 2019;33(10):1-9; packaged by Yang Y as PyCMeKG",
        language="zh",
        prefix=name,
        relations=RELATIONS,
        kinds=ENDS,
        inputs=(file,),
    )


def packaged() -> Path:
    """The file inside the installed `PyCMeKG`, which is not imported; raises `Unavailable`."""
    spec = find_spec("pyCMeKG")
    for place in spec.submodule_search_locations or () if spec else ():
        file = Path(place) / "model" / "cmekg.pkl"
        if file.is_file():
            return file
    raise Unavailable('CMeKG is not installed; pip install "kgmed[starter]"')


def _version() -> str:
    try:
        return version("PyCMeKG")
    except PackageNotFoundError:
        return ""


_SCOPES = {**ALIASES, **dict.fromkeys(CODES, Scope.XREF)}  # of the names that a relation gives
_EMPTY = 0  # the code of the empty name
_EVERY = 1 << 13  # rows of a batch
_new = tuple.__new__  # of a row whose values are all given: a third of the time of calling its class


def _rows(path: Path) -> Batches:
    """All rows; the file is read when the first is asked for."""
    reading = _Reading()
    keys, relations = reading.names.texts.__getitem__, reading.meanings.names.__getitem__
    return Batches(reading.batches(path), lambda c: list(map(keys, c)), lambda c: list(map(relations, c)))


class _Names(dict[str, int]):
    """From each value that has been met to the code of its tidied form, and which of those need a second look."""

    def __init__(self) -> None:
        super().__init__()
        self.texts = [""]  # code -> tidied form
        self._codes = {"": _EMPTY}
        self.nothing: set[int] = set()  # they name no entity: "not known", a number
        self.special: set[int] = set()  # those and the ones that end in brackets

    def __missing__(self, value: str) -> int:
        name, new = tidy(value), len(self.texts)
        code = self[value] = self._codes.setdefault(name, new)
        if code == new:
            self.texts.append(name)
            last = name[-1]
            if last in "］）)":
                self.special.add(code)
            elif name in _NOTHING or ((last in "IVX" or not last.isalpha()) and _NUMERAL.match(name)):
                self.special.add(code)
                self.nothing.add(code)
        return code


class _Meaning(NamedTuple):
    """What the values of a relation are at a subject of some kind."""

    name: str
    code: int
    scope: Scope | None  # of other names of the subject
    joins: bool  # edges; otherwise texts


class _Meanings(dict[tuple[str, str], _Meaning]):
    """From relation and kind of subject to what that means; the codes of relations are given out here."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []  # code -> relation

    def __missing__(self, relation_kind: tuple[str, str]) -> _Meaning:
        name = UNLESS.get(relation_kind, relation_kind[0])
        if name not in self.names:
            self.names.append(name)
        code = self.names.index(name)
        meaning = self[relation_kind] = _Meaning(name, code, _SCOPES.get(relation_kind[0]), name in ENDS)
        return meaning


class _Out:
    """The rows on their way into batches of `_EVERY` rows each."""

    def __init__(self) -> None:
        self.ready: list[Batch] = []
        self._begin()

    def _begin(self) -> None:
        self._room = _EVERY
        self._told: list[Told] = []
        self._heads: list[int] = []  # of each run of edges with one head and one relation
        self._relations: list[int] = []
        self._sizes: list[int] = []
        self._tails: list[int] = []

    def tell(self, rows: list[Told]) -> None:
        """Take rows that are no edges."""
        while len(rows) > self._room:
            first, rows = rows[: self._room], rows[self._room :]
            self._told += first
            self.close()
        self._told += rows
        self._room -= len(rows)

    def join(self, head: int, relation: int, tails: list[int]) -> None:
        """Take the edges of one head and one relation."""
        while len(tails) > self._room:
            first, tails = tails[: self._room], tails[self._room :]
            self.join(head, relation, first)
            self.close()
        self._heads.append(head)
        self._relations.append(relation)
        self._sizes.append(len(tails))
        self._tails += tails
        self._room -= len(tails)

    def close(self) -> None:
        """End the batch."""
        if self._room < _EVERY:
            heads, relations = (np.repeat(np.array(v, np.int32), self._sizes) for v in (self._heads, self._relations))
            self.ready.append(Batch(self._told, heads, relations, np.array(self._tails, np.int32)))
            self._begin()

    def take(self) -> list[Batch]:
        """The batches that are full."""
        ready, self.ready = self.ready, []
        return ready


class _Reading:
    """One pass over the graph."""

    def __init__(self) -> None:
        self.names, self.meanings, self.out = _Names(), _Meanings(), _Out()
        self.seen: set[int] = set()  # whose other names are told
        self.count = 0  # values read

    def batches(self, path: Path) -> Iterator[Batch]:
        """One node a subject with its other names, then one row a value."""
        for subject, relations in load(path).items():
            self._subject(self.names[subject], relations)
            if self.out.ready:
                yield from self.out.take()
        self.out.close()
        yield from self.out.take()

    def _subject(self, key: int, relations: Mapping[str, list[str]]) -> None:
        texts, code_of, meanings, kind = self.names.texts, self.names.__getitem__, self.meanings, kind_of(relations)
        aliases: list[Alias] = []
        rows: list[tuple[_Meaning, list[int]]] = []
        for relation, values in relations.items():
            codes, meaning = list(map(code_of, values)), meanings[relation, kind]
            if key == _EMPTY or _EMPTY in codes:
                codes = self._without_empty(key, codes)
            self.count += len(values)
            if meaning.scope is None:
                rows.append((meaning, codes))
            else:
                aliases.extend(_alias(relation, texts[code], meaning.scope) for code in codes)
        if key == _EMPTY:
            return
        name, out = texts[key], self.out
        out.tell([NodeRow(name, kind=kind, aliases=(*aliases, *_other_names(name)))])
        self.seen.add(key)
        for meaning, codes in rows:
            if not meaning.joins:
                out.tell([_new(TextRow, (name, meaning.name, texts[code], ())) for code in codes])
            elif self.names.special.isdisjoint(codes):
                out.join(key, meaning.code, codes)
            else:
                self._second_look(key, meaning, codes)

    def _without_empty(self, key: int, codes: list[int]) -> list[int]:
        """The values that are not empty at a subject that is not; the others are dropped."""
        empty = [i for i, code in enumerate(codes, start=self.count + 1) if _EMPTY in (key, code)]
        self.out.tell([DroppedRow("empty name", i) for i in empty])
        return [code for code in codes if _EMPTY not in (key, code)]

    def _second_look(self, key: int, meaning: _Meaning, codes: list[int]) -> None:
        """A text for each value that names nothing, an edge for the others, other names of those met in brackets."""
        texts, nothing, out = self.names.texts, self.names.nothing, self.out
        for code in codes:
            if code in nothing:
                out.tell([TextRow(texts[key], meaning.name, texts[code])])
                continue
            out.join(key, meaning.code, [code])
            if code in self.names.special and code not in self.seen:
                self.seen.add(code)
                out.tell([NodeRow(texts[code], aliases=found) for found in [_other_names(texts[code])] if found])


def _alias(relation: str, text: str, scope: Scope) -> Alias:
    """Another name, or a code under the name of its vocabulary."""
    return Alias(f"{CODES[relation]}:{text.replace('—', '-')}" if relation in CODES else text, scope)


def _other_names(name: str) -> tuple[Alias, ...]:
    """What stands before and in the brackets at the end of a name, where the brackets mean "also called".

    >>> [a.text for a in _other_names("初发性或维持性睡眠障碍［失眠症］")], _other_names("B超（必要时）")
    (['初发性或维持性睡眠障碍', '失眠症'], ())
    """
    if name[-1] not in "］）)" or not (found := _BRACKETS.match(name)):
        return ()
    return tuple(Alias(part.strip(), Scope.RELATED) for part in found.groups() if part and part.strip())


def kind_of(relations: Mapping[str, Sequence[str]]) -> str:
    """The kind of a subject: that to which most of its relations belong; of equals the first in `_KINDS`, "" if none.

    >>> kind_of({"相关疾病": [], "所属分类": [], "就诊科室": []}), kind_of({"英文名": []})
    ('test', '')
    """
    votes = [KIND_OF_SUBJECT[r] for r in relations if r in KIND_OF_SUBJECT]
    if len(set(votes)) < 2:
        return votes[0] if votes else ""
    return max(_KINDS, key=votes.count)


def tidy(text: str) -> str:
    """A name without spaces and punctuation at its ends and without "等" (and so on).

    >>> tidy("\\xa0流感嗜血杆菌等"), tidy("中等"), tidy("咳嗽，")
    ('流感嗜血杆菌', '中等', '咳嗽')
    """
    text = text.strip(_EDGE_MARKS)
    return _ETC.sub("", text).rstrip(_EDGE_MARKS) if text.endswith("等") else text
