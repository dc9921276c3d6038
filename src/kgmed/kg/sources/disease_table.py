"""A wide table of diseases: one row a disease, one column a relation, each cell a list in brackets.

The layout of the table behind MindMap's English graph: `disease,Symptom,Medical Tests,Medications` with cells such as
`['Cough', "Crohn's disease"]`. Cells are read by a grammar of flat lists of strings, never evaluated. A column of
another name is a relation of that name where its cells are lists, else a text about the disease.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

from kgmed.errors import SourceError
from kgmed.kg.rows import DroppedRow, EdgeRow, NodeRow, Row, Source, TextRow
from kgmed.kg.sources.lines import empty, name_of, need_file
from kgmed.kg.sources.records import column, records, separator
from kgmed.kg.sources.triples import MISSING, bracketed
from kgmed.types import Relation, Role

RELATIONS = (
    Relation("has_symptom", Role.FINDING),
    Relation("need_medical_test", Role.TESTS, reverse=True),
    Relation("need_medication", Role.TREATS, reverse=True),
)
KINDS = {
    "has_symptom": ("disease", "symptom"),
    "need_medical_test": ("disease", "test"),
    "need_medication": ("disease", "drug"),
}
_COLUMNS = {
    **dict.fromkeys(("symptom", "symptoms", "症状"), "has_symptom"),
    **dict.fromkeys(("medical tests", "medical test", "tests", "检查"), "need_medical_test"),
    **dict.fromkeys(("medications", "medication", "drugs", "药物"), "need_medication"),
}
_DISEASE = ("disease", "disease name", "disease_name", "name", "疾病", "疾病名称")
_NUMBER = frozenset({"", "idx", "index", "id", "no", "unnamed: 0"})
_LARGEST = 1 << 20  # characters of one cell
_ITEM = r"""(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|nan|None)"""
_LIST = re.compile(rf"\[\s*(?:{_ITEM}\s*+(?:,\s*+{_ITEM}\s*+)*+,?)?\s*\]\s*$", re.DOTALL)
_ITEMS = re.compile(_ITEM, re.DOTALL)
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(.))", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}
_MEND = "write a flat list of quoted names, as in ['Cough', 'Fever']"


def read(path: Path | None, *, name: str = "", release: str = "") -> Source:
    """The graph of a wide disease table; raises `SourceError`, for a damaged row when its turn comes."""
    file = need_file(path, "disease_table")
    name = name or name_of(file)
    return Source(
        name=name,
        rows=lambda: _rows(file),
        release=release,
        prefix=name,
        relations={relation.name: relation for relation in RELATIONS},
        kinds=KINDS,
        inputs=(file,),
    )


def _rows(path: Path) -> Iterator[Row]:
    mark, header, at = _header(path)
    seen: set[str] = set()
    for number, cells in islice(records(path, mark), 1, None):
        if len(cells) != len(header):
            problem = f"has {len(cells)} columns, not the {len(header)} of the header"
            raise SourceError(path, number, problem, "quote cells that hold commas")
        disease = " ".join(cells[at].split())
        if disease in MISSING:
            yield DroppedRow("no disease", number)
            continue
        yield NodeRow(disease, kind="disease", aliases=bracketed(disease))
        for i, (title, cell) in enumerate(zip(header, cells, strict=True)):
            if i != at and title.casefold() not in _NUMBER:
                yield from _cell(path, number, disease, title, cell.strip(), seen)


def _header(path: Path) -> tuple[str, Sequence[str], int]:
    """Separator, titles and the place of the disease's name."""
    for mark in (",", "\t", ";"):
        for number, cells in islice(records(path, mark), 1):
            header = [cell.strip() for cell in cells]
            at = column(header, _DISEASE)
            if at >= 0 and separator(mark.join(header), 2):
                return mark, header, at
            if mark == ";":
                raise SourceError(path, number, "has no column disease", "write a header with one")
    raise empty(path)


def _cell(path: Path, number: int, disease: str, title: str, cell: str, seen: set[str]) -> Iterator[Row]:
    """The edges of a list, or the text of another cell."""
    if cell in MISSING:
        yield DroppedRow("NaN", number)
    elif title.casefold() in _COLUMNS or cell.startswith("["):
        yield from _edges(path, number, disease, _COLUMNS.get(title.casefold(), title), cell, seen)
    else:
        yield TextRow(disease, title, " ".join(cell.split()))


def _edges(path: Path, number: int, disease: str, relation: str, cell: str, seen: set[str]) -> Iterator[Row]:
    """One edge a name of the list; names in brackets are other names of their entity."""
    for item in parse_list(path, number, cell) if cell.startswith("[") else [cell]:
        name = " ".join(item.split())
        if name in MISSING:
            yield DroppedRow("NaN", number)
            continue
        if name.endswith(")") and name not in seen:
            seen.add(name)
            if aliases := bracketed(name, drug=relation == "need_medication"):
                yield NodeRow(name, aliases=aliases)
        yield EdgeRow(disease, relation, name)


def parse_list(path: Path, number: int, cell: str) -> list[str]:
    r"""The strings of a flat list literal of Python or JSON; raises `SourceError` for anything else.

    >>> parse_list(Path("x"), 1, "['Cough', \"Crohn's disease\", nan]")
    ['Cough', "Crohn's disease", 'nan']
    """
    if len(cell) > _LARGEST:
        raise SourceError(path, number, "has a cell of more than a million characters", _MEND)
    if not _LIST.match(cell):
        raise SourceError(path, number, f"the cell {cell[:30]!r} is no list of names", _MEND)
    items = [_unescaped(item) for item in _ITEMS.findall(cell)]
    if any("\ud800" <= c <= "\udfff" or c == "\0" for item in items for c in item):
        raise SourceError(path, number, "holds a NUL or half a character (a lone surrogate)", _MEND)
    return items


def _unescaped(item: str) -> str:
    """The text of a quoted item; nan and None as they are."""
    if item[0] not in "'\"":
        return item
    return _ESCAPE.sub(_escape, item[1:-1]) if "\\" in item else item[1:-1]


def _escape(found: re.Match[str]) -> str:
    code: Mapping[str, str] = _ESCAPES
    hexadecimal = found[1] or found[2]
    return chr(int(hexadecimal, 16)) if hexadecimal else code.get(found[3], found[3])
