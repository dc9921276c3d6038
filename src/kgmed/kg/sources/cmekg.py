"""CMeKG, the Chinese medical knowledge graph, from the pickle inside the package `PyCMeKG`.

The file is dict[subject, dict[relation, list[value]]] in pickle protocol 0. It is read without importing the package
and without letting the pickle name a class: its bytes must be text opcodes for dicts, lists and strings, nothing else.

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
from typing import Any, NoReturn

from kgmed.errors import SourceError, Unavailable
from kgmed.kg.rows import Alias, DroppedRow, EdgeRow, NodeRow, Row, Scope, Source, TextRow
from kgmed.kg.sources.cmekg_table import ALIASES, CODES, ENDS, KIND_OF_SUBJECT, RELATIONS, UNLESS
from kgmed.kg.sources.lines import check_file, empty, open_bytes, reading

Graph = dict[str, dict[str, list[str]]]

_LARGEST = 1 << 29  # bytes; the file has 46 MB
_MEND = "install PyCMeKG again, or save dict[str, dict[str, list[str]]] with pickle protocol 0"
# The only opcodes allowed, each with its line: mark, dict, list, string, memo, set item, append; then stop.
_OPCODES = re.compile(
    rb"(?:V[^\n\0]*+\np\d{1,7}\n[asu]*+|[(]?[dl]?p\d{1,7}\n|[asu]*+(?:V[^\n\0]*+\n|g\d{1,7}\n|[(]?[dl])|[asu]++)*+"
    rb"[asu]*+\.\s*"
)
_ETC = re.compile(r"(?<=[^中高同不相平均对一二三])等$")
_EDGE_MARKS = " \t\r\n\xa0\u3000，。、；：,;:"
_NOTHING = frozenset(["尚不明确", "不明确", "无", "不详", "未知", "尚无", "暂无", "本品为复方制剂"])  # no things
_KINDS = ("disease", "drug", "test", "treatment")
_NUMERAL = re.compile(r"[\dIVX.%％+-]+$")
_BRACKETS = re.compile(r"(.+)(?:［([^［］]+)］|[（(](?![IVX]+[）)])([A-Za-z][\w .+-]+)[）)])$", re.ASCII)
_MAY_BE_HALF = (rb"\ud", rb"\u0000")  # as pickle writes them; otherwise written ones are refused by the store
_HALF = re.compile(rb"\\(?:u|U0000)(?:[dD][89a-fA-F]|0000)")  # half a character, or NUL


def read(path: Path | None = None, *, name: str = "cmekg", release: str = "") -> Source:
    """CMeKG from a file, by default that of the installed `PyCMeKG`; raises `Unavailable` and `SourceError`."""
    file = packaged() if path is None else path
    check_file(file)
    if path is None and not release:
        release = _version()
    return Source(
        name=name,
        rows=lambda: _rows(load(file)),
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


class _Plain(pickle.Unpickler):  # noqa: S301
    """Builds dicts, lists and strings; anything that would need a class or a foreign object is refused."""

    def find_class(self, module_name: str, global_name: str, /) -> NoReturn:
        """Never returns."""
        raise pickle.UnpicklingError(f"it names {module_name}.{global_name}")

    def persistent_load(self, pid: Any, /) -> NoReturn:
        """Never returns."""
        raise pickle.UnpicklingError("it points outside itself")


def load(path: Path) -> Graph:
    """The pickled graph, checked in size, opcodes and structure; raises `SourceError`."""
    data = _bytes(path)
    allowed = _OPCODES.match(data)
    if not allowed or allowed.end() != len(data):
        raise SourceError(path, _bad_line(data), "holds more than dicts, lists and strings", _MEND)
    if any(mark in data for mark in _MAY_BE_HALF) and (half := _HALF.search(data)):
        line = data.count(b"\n", 0, half.start()) + 1
        raise SourceError(path, line, "holds a NUL or half a character (a lone surrogate)", _MEND)
    try:
        graph = _Plain(BufferedReader(BytesIO(data), 1 << 17)).load()  # with a buffer, a third faster
    except (pickle.UnpicklingError, EOFError, ValueError, TypeError, LookupError, AttributeError) as error:
        raise SourceError(path, 0, f"is a damaged pickle ({error})", _MEND) from error
    if not _is_graph(graph):
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


def _is_graph(graph: object) -> bool:
    """Whether the value is dict[str, dict[str, list[str]]]."""
    if type(graph) is not dict or not all(type(s) is str and type(r) is dict for s, r in graph.items()):
        return False
    only_text = {str}
    for relations in graph.values():
        for relation, values in relations.items():
            if type(relation) is not str or type(values) is not list or not only_text.issuperset(map(type, values)):
                return False
    return True


_SCOPES = {**ALIASES, **dict.fromkeys(CODES, Scope.XREF)}  # of the names that a relation gives


_new = tuple.__new__  # of a row whose values are all given: a third of the time of calling its class


class _Names(dict[str, str]):
    """The tidied form of each value that has been met, and which of those forms need a second look."""

    def __init__(self) -> None:
        super().__init__()
        self.nothing: set[str] = set()  # they name no entity: "not known", a number
        self.bracketed: set[str] = set()  # they end in brackets
        self.special: set[str] = set()  # both

    def __missing__(self, value: str) -> str:
        name = self[value] = tidy(value)
        if name.endswith(("］", "）", ")")):
            self.bracketed.add(name)
            self.special.add(name)
        elif name in _NOTHING or ((not name[-1:].isalpha() or name[-1] in "IVX") and _NUMERAL.match(name)):
            self.nothing.add(name)
            self.special.add(name)
        return name


def _rows(graph: Graph) -> Iterator[Row]:
    """One node a subject with its other names, then one row a value."""
    seen: set[str] = set()
    names, count = _Names(), 0
    for subject, relations in graph.items():
        key, kind = names[subject], kind_of(relations)
        aliases: list[Alias] = []
        rows: list[Row] = []
        for relation, values in relations.items():
            texts = list(map(names.__getitem__, values))
            if not key or "" in texts:
                yield from (
                    DroppedRow("empty name", count + i) for i, t in enumerate(texts, start=1) if not (key and t)
                )
                texts = [text for text in texts if key and text]
            count += len(values)
            if (scope := _SCOPES.get(relation)) is None:
                rows += _statements(key, UNLESS.get((relation, kind), relation), texts, names, seen)
            else:
                aliases.extend(_alias(relation, text, scope) for text in texts)
        if key:
            yield NodeRow(key, kind=kind, aliases=(*aliases, *_other_names(key)))
            seen.add(key)
        yield from rows


def _statements(key: str, relation: str, texts: Sequence[str], names: _Names, seen: set[str]) -> list[Row]:
    """The edge or the text that each value is, and the other names of a tail that is first met in brackets."""
    if relation not in ENDS:
        return [TextRow(key, relation, text) for text in texts]
    if names.special.isdisjoint(texts):
        return [_new(EdgeRow, (key, relation, text, 1.0, ())) for text in texts]
    rows: list[Row] = []
    for text in texts:
        if text in names.nothing:
            rows.append(TextRow(key, relation, text))
            continue
        rows.append(EdgeRow(key, relation, text))
        if text in names.bracketed and text not in seen:
            seen.add(text)
            rows += [NodeRow(text, aliases=found) for found in [_other_names(text)] if found]
    return rows


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
