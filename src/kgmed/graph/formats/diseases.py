"""Entries of diseases: encyclopaedias in JSON, wide tables with one row a disease, and OMIM's maps of phenotypes."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

from kgmed.errors import BadInput, SourceError
from kgmed.graph.base import MENDED, Alias, DroppedRow, EdgeRow, NodeRow, Row, Scope, Source, TextRow
from kgmed.graph.formats.base import (
    check_file,
    column,
    declared,
    empty,
    fitted,
    lines,
    name_of,
    need_file,
    published,
    reading,
    records,
    separator,
)
from kgmed.graph.formats.json_records import DISEASES, NAMES, RELATIONS, JsonStream, streamed
from kgmed.graph.formats.triples import MISSING, bracketed
from kgmed.language.text import has_cjk
from kgmed.registry import formats

# --- The fields of disease entries in JSON (see `disease_json`) and what they mean, under the names of Disease-KG.

_DECLARED = declared(DISEASES["relations"])
LISTS: Mapping[str, str] = DISEASES["lists"]
TEXTS: Mapping[str, str] = DISEASES["texts"]
SECTIONS = ("gaishu_info", "symptom_data", "food_info")
ENTRIES = frozenset({*LISTS, *TEXTS, *SECTIONS})  # the fields by which an entry of a disease is told
SKIPPED = frozenset({"_id", "id", "name", "desc", "category", "drug_detail"})


# --- Encyclopaedia entries of diseases in JSON: Disease-KG's `medical.json` and a later crawl of the same site.
# Two schemas: flat, one object a line (name, desc, symptom, check, common_drug, do_eat, not_eat, acompany, ...), and
# nested (gaishu_info, symptom_data, inspect_info, food_info, ...), many numbered objects in a file. Both give the
# relations of Disease-KG. A path may be one file or a folder of `.json` files.

_NUMBERED = re.compile(r'\{\s*"\d+"')
_DRUG_OF_MAKER = re.compile(r"(.+?)[(（](.+)[)）]$")
_MISSING = frozenset({"", "nan", "NaN", "None", "null", "无", "暂无"})


@formats.register("disease_json", holds=("*.json",))
def read_disease_json(path: Path | None, *, name: str = "", release: str = "") -> Source:
    """The graph of disease entries in a file or a folder; raises `SourceError`, for a damaged record in its turn."""
    if path is None:
        raise BadInput("a graph of the format disease_json needs a file or a folder; name one")
    files = _files(path)
    name = name or name_of(path)
    return Source(
        name=name, rows=lambda: _rows(files), release=release, language="zh", prefix=name, **_DECLARED, inputs=files
    )


def _files(path: Path) -> tuple[Path, ...]:
    if not path.is_dir():
        check_file(path)
        return (path,)
    with reading(path):
        files = tuple(sorted(path.glob("*.json")))
    if not files:
        raise SourceError(path, 0, "holds no .json file", "name the folder that does")
    return files


def _rows(files: Sequence[Path]) -> Iterator[Row]:
    found = False
    for file in files:
        with streamed(file) as document:
            for line, record in _entries(document):
                found = True
                yield from _disease(file, line, record)
    if not found:
        raise empty(files[0])


def _entries(document: JsonStream) -> Iterator[tuple[int, Any]]:
    """The records of JSON, each with its line: an object of them by number, a list, or one after another."""
    while document.peek():
        if _NUMBERED.match(document.ahead()):
            yield from ((document.line, document.value()) for _ in document.members())
        elif document.peek() == "[":
            yield from ((document.line, document.value()) for _ in document.items())
        else:
            yield document.line, document.value()


def _disease(path: Path, line: int, record: Any) -> Iterator[Row]:
    if not isinstance(record, dict):
        raise SourceError(path, line, "is no JSON object", "write one object a disease")
    fields: dict[str, Any] = {key: value for key, value in record.items() if key not in SECTIONS}
    for section in SECTIONS:
        part = record.get(section, {})
        if not isinstance(part, dict):
            raise SourceError(path, line, f"{section!r} is no JSON object", "write it as the other records do")
        fields |= part
    disease, described = _text(fields.get("name")), _text(fields.get("desc"))
    if disease is None or described is None:
        raise SourceError(path, line, "'name' or 'desc' is no text", "write it as text")
    if disease in _MISSING:
        yield DroppedRow("no disease", line)
        return
    yield NodeRow(disease, kind="disease", description=described)
    for key, value in fields.items():
        yield from _field(path, line, disease, key, value)


def _field(path: Path, line: int, disease: str, key: str, value: Any) -> Iterator[Row]:
    """The edges of a list, the text of another field."""
    if key in LISTS:
        names = _names(path, line, key, value)
        yield from _edges(disease, LISTS[key], names, line)
        if LISTS[key] == "belongs_to":
            yield from (EdgeRow(narrow, "part_of", broad) for broad, narrow in pairwise(filter(None, names)))
    elif key == "drug_detail":
        for text in _names(path, line, key, value):
            if pair := _DRUG_OF_MAKER.match(text):
                yield EdgeRow(pair[1].strip(), "drugs_of", pair[2].strip())
            else:
                yield DroppedRow("no drug in brackets", line)
    elif key not in SKIPPED:
        text = "\n".join(t for t in map(_text, value if isinstance(value, list) else [value]) if t)
        if text not in _MISSING:
            yield TextRow(disease, TEXTS.get(key) or key.replace("\0", " "), text)


def _edges(disease: str, relation: str, names: Sequence[str], line: int) -> Iterator[Row]:
    """One edge a name."""
    for name in names:
        yield DroppedRow("empty name", line) if name in _MISSING else EdgeRow(disease, relation, name)


def _names(path: Path, line: int, key: str, value: Any) -> list[str]:
    """The names in a field: a list, a list that holds lists, or one text."""
    items = value if isinstance(value, list) else [value]
    flat = [part for item in items for part in (item if isinstance(item, list) else [item])]
    names = [_text(item) for item in flat]
    if None in names:
        raise SourceError(path, line, f"{key!r} is no list of names", "write it as a list of texts")
    return [name for name in names if name is not None]


def _text(value: Any) -> str | None:
    """A text or a number without surplus space; "" for null, None for anything else."""
    if value is None:
        return ""
    return " ".join(str(value).replace("\0", " ").split()) if isinstance(value, str | int | float) else None


# --- A wide table of diseases: one row a disease, one column a relation, each cell a list in brackets.
# The layout of the table behind MindMap's English graph: `disease,Symptom,Medical Tests,Medications` with cells such as
# `['Cough', "Crohn's disease"]`. Cells are read by a grammar of flat lists of strings, never evaluated. A column of
# another name is a relation of that name where its cells are lists, else a text about the disease.

_TABLE = declared(DISEASES["relations"] | DISEASES["table"])
_KNOWN = 2  # columns of relations by which a table of diseases is told (ours)
_NUMBER = frozenset({"", "idx", "index", "id", "no", "unnamed: 0"})
_LARGEST_CELL = 1 << 20  # characters of one cell
_ITEM = r"""(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|nan|None)"""
_LIST = re.compile(rf"\[\s*(?:{_ITEM}\s*+(?:,\s*+{_ITEM}\s*+)*+,?)?\s*\]\s*$", re.DOTALL)
_ITEMS = re.compile(_ITEM, re.DOTALL)
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(.))", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}
_MEND = "write a flat list of quoted names, as in ['Cough', 'Fever']"


def _is_table(first: Sequence[str]) -> int:
    """How sure two lines are of a table with lists of names in its cells."""
    head, second = first[0], first[-1]
    mark = separator(head, 3)
    cells = [cell.strip().strip('"').casefold() for cell in head.split(mark or ",")]
    known = sum(_titled(cell) in RELATIONS for cell in cells) if column(cells, NAMES) >= 0 else 0
    return 2 * int(
        bool(mark) and len(first) == 2 and (known >= _KNOWN or ("[" in second and "disease" in head.casefold()))
    )


def _titled(title: str) -> str:
    """What a column is called, without the number of one of several: "Symptom_1"."""
    return title.casefold().rstrip("0123456789").rstrip("_ ")


@formats.register("disease_table", looks=_is_table)
def read_disease_table(path: Path | None, *, name: str = "", release: str = "") -> Source:
    """The graph of a wide disease table; raises `SourceError`, for a damaged row when its turn comes."""
    file = need_file(path, "disease_table")
    name = name or name_of(file)
    return Source(name=name, rows=lambda: _table_rows(file), release=release, prefix=name, **_TABLE, inputs=(file,))


def _table_rows(path: Path) -> Iterator[Row]:
    mark, header, at = _header(path)
    seen: set[str] = set()
    for number, cells, blemish in fitted(path, islice(records(path, mark), 1, None), len(header), at + 1):
        if blemish:
            yield blemish
        if not cells:
            continue
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
            at = column(header, NAMES)
            if at >= 0 and separator(mark.join(header), 2):
                return mark, header, at
            if mark == ";":
                raise SourceError(path, number, "has no column disease", "write a header with one")
    raise empty(path)


def _cell(path: Path, number: int, disease: str, title: str, cell: str, seen: set[str]) -> Iterator[Row]:
    """The edges of a list, or the text of another cell."""
    if cell.startswith("[") and not _LIST.match(cell):
        yield DroppedRow(f"{MENDED}a cell in brackets that is no list", number, path)
        cell = cell if _titled(title) in RELATIONS else cell.strip("[]").strip()
    if cell in MISSING:
        yield DroppedRow("an empty field", number)
    elif _titled(title) in RELATIONS or cell.startswith("["):
        yield from _table_edges(path, number, disease, RELATIONS.get(_titled(title), title), cell, seen)
    else:
        yield TextRow(disease, title, " ".join(cell.split()))


def _table_edges(path: Path, number: int, disease: str, relation: str, cell: str, seen: set[str]) -> Iterator[Row]:
    """One edge a name of the list; names in brackets are other names of their entity."""
    for item in parse_list(path, number, cell) if _LIST.match(cell) else _parted(cell):
        name = " ".join(item.split())
        if name in MISSING:
            yield DroppedRow("an empty field", number)
            continue
        if name.endswith(")") and name not in seen:
            seen.add(name)
            if aliases := bracketed(name, drug=relation == "need_medication"):
                yield NodeRow(name, aliases=aliases)
        yield EdgeRow(disease, relation, name)


def _parted(cell: str) -> list[str]:
    """The names of a cell that is no list: between marks, of Chinese between blanks too, without "[more]" at the end.

    >>> _parted("\u54b3\u55fd \u53d1\u70ed [more]"), _parted("chest pain; fever"), len(_parted("chest pain"))
    (['\u54b3\u55fd', '\u53d1\u70ed'], ['chest pain', 'fever'], 1)
    """
    cell = re.sub(r"\s*(?:\[[^\[\]]*\]|\.{3}|…)\s*$", "", cell)
    marks = r"[;；、，|\s]+" if has_cjk(cell) else r"[;|]+"
    return [" ".join(part.replace("_", " ").split()) for part in re.split(marks, cell) if part.strip("_ ")]


def parse_list(path: Path, number: int, cell: str) -> list[str]:
    r"""The strings of a flat list literal of Python or JSON; raises `SourceError` for anything else.

    >>> parse_list(Path("x"), 1, "['Cough', \"Crohn's disease\", nan]")
    ['Cough', "Crohn's disease", 'nan']
    """
    if len(cell) > _LARGEST_CELL:
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


# --- OMIM: the genes of phenotypes, from morbidmap.txt or genemap2.txt, whose columns OMIM describes in their heads.
#
# "{Breast cancer, susceptibility to}, 114480 (3)": braces mean susceptibility, "?" that the tie is provisional. The
# number in brackets is how it is known: 3 the molecular basis, 4 a deletion or duplication; 1 and 2 are places in the
# genome in which no mutation was found, and no genes of the phenotype.

_PHENOTYPE = re.compile(r"(?P<name>.*?)(?:, (?P<number>\d{6}))? ?\((?P<basis>[1-4])\)(?:, (?P<modes>.*))?$")
_CODES = (("OMIM", "mim"), ("NCBIGene", "entrez"))
_MORBIDMAP = ("phenotypes", "symbols", "mim", "place")
_GENEMAP = ("chromosome", "start", "end", "place", "computed", "mim", "symbols", "title", "approved", "entrez",
            "ensembl", "comments", "phenotypes")  # fmt: skip


def _mapped(line: str) -> dict[str, str]:
    """The cells of a row of one of the maps by what they say; {} for any other line."""
    cells = line.split("\t")
    names = _MORBIDMAP if len(cells) == 4 else _GENEMAP if len(cells) >= len(_GENEMAP) else ()
    said = dict(zip(names, map(str.strip, cells), strict=False))
    return said if re.fullmatch(r"\d{6}", said.get("mim", "")) else {}


def _is_omim(first: Sequence[str]) -> int:
    """How sure the first row is of one of OMIM's maps."""
    said = _mapped(first[0]).get("phenotypes")
    return 4 * bool(said is not None and (not said or _PHENOTYPE.match(said)))


@formats.register("omim", holds=("morbidmap.txt", "genemap2.txt"), looks=_is_omim)
def read_omim(path: Path | None, *, name: str = "omim", release: str = "") -> Source:
    """OMIM's map from one of the files, of a folder the larger; raises `SourceError`."""
    if path is not None and path.is_dir():
        path = next((path / file for file in ("genemap2.txt", "morbidmap.txt") if (path / file).is_file()), path)
    file = need_file(path, "omim")
    return Source(name=name, rows=lambda: _omim_rows(file), release=release, inputs=(file,), **published("omim"))


def _omim_rows(path: Path) -> Iterator[Row]:
    for number, line in lines(path):
        if line.startswith("#") or not line.strip():
            continue
        said = _mapped(line)
        symbols = [text.strip() for text in f"{said.get('approved', '')},{said.get('symbols', '')}".split(",")]
        symbols = list(dict.fromkeys(filter(None, symbols)))
        if not symbols:
            yield DroppedRow("a row without the symbol and the number of a gene", number, path)
            continue
        names = [Alias(text, Scope.EXACT) for text in (*symbols[1:], said.get("title", "")) if text]
        names += [Alias(f"{of}:{said[code]}", Scope.XREF) for of, code in _CODES if said.get(code)]
        gene = NodeRow(f"gene:{symbols[0]}", symbols[0], "gene", "", tuple(names))
        many = said["phenotypes"].split(";") if "title" in said else [said["phenotypes"]]
        for text in filter(None, map(str.strip, many)):
            yield from _phenotype(text, gene, DroppedRow("a phenotype without its number in brackets", number, path))


def _phenotype(text: str, gene: NodeRow, unread: DroppedRow) -> Iterator[Row]:
    """A phenotype of a gene, how it is inherited, and what ties both."""
    found = _PHENOTYPE.match(text)
    name = found["name"].strip("{}[]? ") if found else ""
    if found is None or not name:
        yield unread
        return
    key, mark = f"OMIM:{found['number'] or name}", found["name"][:2]
    known = "associated_gene" if "{" not in mark else "susceptibility_gene"
    relation = "provisional_gene" if "?" in mark else known if found["basis"] in "34" else "mapped_locus"
    yield gene
    yield NodeRow(key, name, "disease")
    yield EdgeRow(key, relation, gene.key)
    for mode in filter(None, map(str.strip, (found["modes"] or "").split(","))):
        if not mode.startswith("?"):
            yield NodeRow(f"omim:{mode}", mode, "inheritance")
            yield EdgeRow(key, "has_inheritance", f"omim:{mode}")
