"""CMeKG, the Chinese medical knowledge graph, from the pickle inside the package `PyCMeKG`.

It is read without importing the package and without letting the pickle name a class, see `cmekg_pickle`.

Every value becomes one thing: an edge, another name of its subject, a text about it, or a dropped row.
`cmekg_table` says which. The line of a `DroppedRow` is the number of the triple, from 1.
"""

import pickle
import re
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from io import BufferedReader, BytesIO
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np

from kgmed.disk import read_toml
from kgmed.errors import SourceError, Unavailable
from kgmed.graph.base import Alias, Batch, Batches, DroppedRow, NodeRow, Scope, Source, TextRow, Told
from kgmed.graph.formats.base import check_file, empty, open_bytes, published, reading
from kgmed.records import Relation, Role
from kgmed.registry import formats

# --- Reads pickles of plain data: dicts, lists, tuples, strings and numbers, and nothing that would need a class.

DAMAGE = (
    *(pickle.UnpicklingError, EOFError, ValueError, TypeError, LookupError, AttributeError, OverflowError),
    *(RecursionError, MemoryError),
)
# The opcodes of plain data: with so many bytes behind them, with a length of so many bytes before a text, with a line,
# and those that number what they remember. No tuple and no set: only they can be a key that takes for ever to hash.
_FIXED = {**dict.fromkeys(b".(0N\x88\x89]}ldaesu\x94", 0), **dict.fromkeys(b"\x80Kh", 1), **dict.fromkeys(b"Jj", 4)}
_FIXED |= {b"M"[0]: 2, b"G"[0]: 8}
_LENGTHS = {**dict.fromkeys(b"U\x8c\x8a", 1), **dict.fromkeys(b"XT", 4), b"\x8d"[0]: 8}
_IN_LINES = frozenset(b"VSILFg")
_MEMO = {b"q"[0]: 1, b"r"[0]: 4}
_MEMO_LINE, _FRAME = b"p\x95"


class Plain(pickle.Unpickler):  # noqa: S301 - it can name no class, so that nothing of the file is ever run
    """Builds plain data; a pickle that asks for a class or for an object outside itself is refused."""

    def find_class(self, module_name: str, global_name: str, /) -> NoReturn:
        """Never returns."""
        raise pickle.UnpicklingError(f"it names {module_name}.{global_name}")

    def persistent_load(self, pid: Any, /) -> NoReturn:
        """Never returns."""
        raise pickle.UnpicklingError("it points outside itself")


def plain_data(data: bytes) -> Any:
    """What a pickle of dicts, lists, texts and numbers holds; raises one of `DAMAGE`.

    The numbers that it declares are checked before they are believed: 32 bytes can ask for 64 GB.
    """
    at = 0
    while (code := data[at : at + 1]) != b"." and code:
        at = _after(data, code[0], at + 1)
    return Plain(BytesIO(data[: at + 1])).load()


def _after(data: bytes, code: int, at: int) -> int:
    """Where the opcode after this one stands; raises `UnpicklingError` for one that is none of plain data."""
    if code in _FIXED:
        return at + _FIXED[code]
    if code in _LENGTHS:
        start = at + _LENGTHS[code]
        return _within(data, start + int.from_bytes(data[at:start], "little"))
    if code in _MEMO:
        end = at + _MEMO[code]
        _within(data, int.from_bytes(data[at:end], "little"))
        return end
    if code in _IN_LINES or code == _MEMO_LINE:
        end = data.index(b"\n", at)
        if code == _MEMO_LINE:
            _within(data, int(data[at:end]))
        return end + 1
    if code == _FRAME:
        _within(data, at + 8 + int.from_bytes(data[at : at + 8], "little"))
        return at + 8
    raise pickle.UnpicklingError(f"it holds more than dicts, lists, texts and numbers at byte {at - 1}")


def _within(data: bytes, number: int) -> int:
    """A place or a number that a pickle declares, if it is not above the bytes that there are."""
    if number > len(data):
        raise pickle.UnpicklingError(f"it declares {number:,} of something and has {len(data):,} bytes")
    return number


# --- The pickle that CMeKG comes in: dict[subject, dict[relation, list[value]]] in pickle protocol 0, and nothing else.
# It is read without letting it name a class: its bytes must be text opcodes for dicts, lists and strings.

Graph = dict[str, dict[str, list[str]]]

_LARGEST = 1 << 29  # bytes; the file has 46 MB
_MEND = "install PyCMeKG again, or save dict[str, dict[str, list[str]]] with pickle protocol 0"
# The only opcodes allowed, each with its line: mark, dict, list, string, memo, set item, append; then stop.
_OPCODES = re.compile(
    rb"(?:V[^\n\0]*+\np\d{1,7}\n[asu]*+|[(]?[dl]?p\d{1,7}\n|[asu]*+(?:V[^\n\0]*+\n|g\d{1,7}\n|[(]?[dl])|[asu]++)*+"
    rb"[asu]*+\.\s*"
)
_MEMO_NUMBER = re.compile(rb"p(\d{1,7})\n")
_SHORT = 10**7  # bytes; a longer file has more than the highest number that `_OPCODES` lets it remember
_MAY_BE_HALF = (rb"\ud", rb"\u0000")  # as pickle writes them; otherwise written ones are refused by the store
_HALF = re.compile(rb"\\(?:u|U0000)(?:[dD][89a-fA-F]|0000)")  # half a character, or NUL


def load(path: Path) -> Graph:
    """The pickled graph, checked in size, opcodes and structure; raises `SourceError`."""
    data = _bytes(path)
    allowed = _OPCODES.match(data)
    if not allowed or allowed.end() != len(data):
        raise SourceError(path, _bad_line(data), "holds more than dicts, lists and strings", _MEND)
    if len(data) < _SHORT and max((int(n) for n in _MEMO_NUMBER.findall(data)), default=0) > len(data):
        raise SourceError(path, 0, "remembers more things than it has bytes", _MEND)
    if any(mark in data for mark in _MAY_BE_HALF) and (half := _HALF.search(data)):
        line = data.count(b"\n", 0, half.start()) + 1
        raise SourceError(path, line, "holds a NUL or half a character (a lone surrogate)", _MEND)
    try:
        graph = Plain(BufferedReader(BytesIO(data), 1 << 17)).load()  # with a buffer, a third faster
    except DAMAGE as error:
        raise SourceError(path, 0, f"is a damaged pickle ({error})", _MEND) from error
    if not _is_graph(graph, len(data)):
        raise SourceError(path, 0, "is not dict[str, dict[str, list[str]]]", _MEND)
    return graph  # type: ignore[no-any-return]


def _bytes(path: Path) -> bytes:
    """All bytes of a file of a bearable size."""
    with reading(path), open_bytes(path) as file:
        data = file.read(_LARGEST + 1)
    if len(data) > _LARGEST:
        raise SourceError(path, 0, "is larger than 512 MB", _MEND)
    if not data:
        raise empty(path)
    return data


def _bad_line(data: bytes) -> int:
    """The first line that holds an opcode that is not allowed."""
    prefix = re.compile(_OPCODES.pattern.rpartition(rb"[asu]*+\.")[0]).match(data)
    return data.count(b"\n", 0, prefix.end() if prefix else 0) + 1


def _is_graph(graph: object, most: int) -> bool:
    """Whether the value is dict[str, dict[str, list[str]]], of at most so many values (shared lists can fake more)."""
    if type(graph) is not dict or not all(type(s) is str and type(r) is dict for s, r in graph.items()):
        return False
    only_text = {str}
    for relations in graph.values():
        most -= len(relations)
        for relation, values in relations.items():
            if type(relation) is not str or type(values) is not list or (most := most - len(values)) < 0:
                return False
            if not only_text.issuperset(map(type, values)):
                return False
    return True


# --- What the relations of CMeKG mean. A relation that is not declared here is a text about its subject, nothing more.
# CMeKG has 469 relations; most of the rare ones hold fragments of clinical guidelines. Declared are those whose values
# name things (edges), those whose values name the subject itself (aliases), and the texts that matter for safety or
# tell what kind of thing their subject is.

_TABLES = read_toml(Path(__file__).with_suffix(".toml"))
_EDGES, _TEXTS, _ALIASES = (_TABLES[name] for name in ("edges", "texts", "aliases"))
CODES: Mapping[str, str] = {"ICD10": "ICD10", "ATC编码": "ATC", "CAS号": "CAS"}  # relation -> vocabulary


def _rows(table: str) -> list[tuple[list[str], list[str], list[str]]]:
    """The words of each cell of each line of a table."""
    lines = [line.split("|") for line in table.strip().splitlines()]
    return [(names.split(), what.split(), rest[0].split() if rest else []) for names, what, *rest in lines]


RELATIONS: Mapping[str, Relation] = {
    name: Relation(name, Role(what[0]), "<" in what) for names, what, _ in _rows(_EDGES + _TEXTS) for name in names
}
ENDS: Mapping[str, tuple[str, str]] = {  # of the edges: kind of head, kind of tail
    name: (ends[0].replace("_", " "), ends[1].replace("_", " ")) for names, _, ends in _rows(_EDGES) for name in names
}
KIND_OF_SUBJECT: Mapping[str, str] = {
    **{name: head for name, (head, _) in ENDS.items()},
    **{name: ends[0] for names, _, ends in _rows(_TEXTS) for name in names},
}
ALIASES: Mapping[str, Scope] = {name: Scope[what[0]] for names, what, _ in _rows(_ALIASES) for name in names}

# A relation that means something else where its subject is of another kind.
UNLESS: Mapping[tuple[str, str], str] = {
    ("相关疾病", "disease"): "相关疾病（疾病）",
    ("相关症状", "disease"): "相关症状（疾病）",
    ("分类", "disease"): "分类（疾病）",
}


_ETC = re.compile(r"(?<=[^中高同不相平均对一二三])等$")
_EDGE_MARKS = " \t\r\n\xa0\u3000，。、；：,;:"
_NOTHING = frozenset(["尚不明确", "不明确", "无", "不详", "未知", "尚无", "暂无", "本品为复方制剂"])  # no things
_KINDS = ("disease", "drug", "test", "treatment")
_NUMERAL = re.compile(r"[\dIVX.%％+-]+$")
_FOR = re.compile("(?:主要|也|亦|可|并|适)*(?:用于(?:治疗|防治)?|用以治疗|主治|治疗)(?=[一-鿿]{2})")
_BRACKETS = re.compile(r"(.+)(?:［([^［］]+)］|[（(](?![IVX]+[）)])([A-Za-z][\w .+-]+)[）)])$", re.ASCII)


@formats.register("cmekg", suffixes=(".pkl",), starts=("(dp",))
def read_cmekg(path: Path | None = None, *, name: str = "cmekg", release: str = "") -> Source:
    """CMeKG from a file, by default that of the installed `PyCMeKG`; raises `Unavailable` and `SourceError`."""
    file = packaged() if path is None else path
    check_file(file)
    if path is None and not release:
        release = _version()
    return Source(
        name=name,
        rows=lambda: _cmekg_rows(file),
        release=release,
        prefix=name,
        inputs=(file,),
        **{**published("cmekg"), "relations": RELATIONS, "kinds": ENDS},
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


# --- Slips of the graph, each of a kind: rows that say what is not so are dropped, and counted.

_BY_MOUTH = re.compile("(?:片|胶囊|颗粒|丸)$")
_NOT_BY_MOUTH = re.compile("酮症|酸中毒|昏迷|胰腺炎|^感染$|^I型糖尿病")
_KETOACIDOSIS = "酮症酸中毒"
_INDICATIONS = tuple(r for r, (head, _) in ENDS.items() if head == "drug" and RELATIONS[r].role is Role.TREATS)
_TREATED_BY = ("相关药物", "药物治疗")


class Slips(NamedTuple):
    """What is not so: what labels name because a medicine is not for it, and names that are no medicine's."""

    not_for: frozenset[tuple[str, str]]  # medicine and illness
    no_medicine: frozenset[str]
    at: frozenset[str]  # the subjects that have some of either

    def reason(self, subject: str, relation: str, value: str) -> str:
        """Why a row is dropped; "" where it is not."""
        if subject in self.no_medicine or (relation in _TREATED_BY and value in self.no_medicine):
            return "a medicine under a name that is none"
        pair = (value, subject) if relation in _TREATED_BY else (subject, value)
        indicates = relation in _TREATED_BY or relation in _INDICATIONS
        return "what the label says that the medicine is not for" if indicates and pair in self.not_for else ""


def slips(graph: Mapping[str, Mapping[str, Sequence[str]]]) -> Slips:
    """The slips of a graph.

    A tablet for diabetes is for no ketoacidosis, whatever else its label says in the same breath. A product is not
    called like an illness that others are for, nor by signs that are left of a damaged file.

    >>> label = {"适应症": ["糖尿病", "昏迷", "酮症酸中毒"]}
    >>> found = slips({"格列美脲片": label, "昏迷": {"相关药物": ["格列美脲片"]}})
    >>> found.reason("格列美脲片", "适应症", "糖尿病"), found.reason("昏迷", "相关药物", "格列美脲片")
    ('', 'what the label says that the medicine is not for')
    """
    told = {s: [v for r in _INDICATIONS for v in relations.get(r, ())] for s, relations in graph.items()}
    treated = {value for values in told.values() for value in values}
    not_for = {
        (name, value)
        for name, values in told.items()
        if _KETOACIDOSIS in values and _BY_MOUTH.search(name)
        for value in values
        if _NOT_BY_MOUTH.search(value)
    }
    misnamed = {s for s, relations in graph.items() if "通用名" in relations and s in treated}
    damaged = {s for s in graph if "\ufffd" in s or s.count("「") != s.count("」")}  # a bracket that never closes
    none = damaged | {s for s in misnamed if kind_of(graph[s]) == "drug"}
    names = none | {name for name, _ in not_for}
    at = {s for s, relations in graph.items() if any(not names.isdisjoint(relations.get(r, ())) for r in _TREATED_BY)}
    return Slips(frozenset(not_for), frozenset(none), frozenset(names | at))


_SCOPES = {**ALIASES, **dict.fromkeys(CODES, Scope.XREF)}  # of the names that a relation gives
_EMPTY = 0  # the code of the empty name
_EVERY = 1 << 13  # rows of a batch
_new = tuple.__new__  # of a row whose values are all given: a third of the time of calling its class


def _cmekg_rows(path: Path) -> Batches:
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
        self.known: frozenset[str] = frozenset()  # what is treated, by its bare names

    def batches(self, path: Path) -> Iterator[Batch]:
        """One node a subject with its other names, then one row a value."""
        graph = load(path)
        wrong = slips(graph)
        self.known = frozenset(v for relations in graph.values() for r in _INDICATIONS for v in relations.get(r, ()))
        for subject, relations in graph.items():
            kept = self._without_slips(wrong, subject, relations)
            if kept or not relations:
                self._subject(self.names[subject], kept)
            if self.out.ready:
                yield from self.out.take()
        self.out.close()
        yield from self.out.take()

    def _without_slips(self, wrong: "Slips", subject: str, relations: dict[str, list[str]]) -> dict[str, list[str]]:
        """The values of a subject that are no slips; the others are dropped."""
        if subject not in wrong.at:
            return relations
        reasons = [(r, v, wrong.reason(subject, r, v)) for r, values in relations.items() for v in values]
        self.out.tell([DroppedRow(why, i) for i, (_, _, why) in enumerate(reasons, start=self.count + 1) if why])
        kept: dict[str, list[str]] = {}
        for relation, value, why in reasons:
            if not why:
                kept.setdefault(relation, []).append(value)
        self.count += sum(bool(why) for _, _, why in reasons)
        return kept

    def _subject(self, key: int, relations: Mapping[str, list[str]]) -> None:
        texts, code_of, meanings, kind = self.names.texts, self.names.__getitem__, self.meanings, kind_of(relations)
        aliases: list[Alias] = []
        rows: list[tuple[_Meaning, list[int]]] = []
        for relation, values in relations.items():
            named = [self._treated(v) for v in values] if relation in _INDICATIONS else values
            codes, meaning = list(map(code_of, named)), meanings[relation, kind]
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

    def _treated(self, value: str) -> str:
        """What a label says that a medicine is for, by its bare name where there is one: 风寒感冒 of 用于风寒感冒."""
        said = _FOR.match(value)
        return value[said.end() :] if said and value[said.end() :] in self.known else value

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
