"""Triples that anybody may write: TSV, CSV or JSON Lines.

- TSV without a header (MindMap's `train.txt`): head, relation, tail; quotes are ordinary characters.
- CSV, TSV, ... with a header (HyKGE's `head,relation,tail`); columns named weight, source and reference are read too.
- JSON Lines: objects with head, relation, tail and, where there are, weight, source, reference or references.

Underscores in names are spaces. What stands in brackets at the end of a name becomes another name of it, as in
"Alprazolam (Xanax)". Rows with an empty or NaN field are dropped and reported.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice, repeat
from pathlib import Path
from typing import Any

import numpy as np

from kgmed.errors import SourceError
from kgmed.graph.base import Alias, DroppedRow, EdgeRow, NodeRow, Row, Scope, Source
from kgmed.graph.formats.base import (
    COLUMNS,
    KINDS,
    POLARITY,
    RoleTable,
    blocks,
    column,
    denied,
    empty,
    fitted,
    infer,
    is_denied,
    json_object,
    kind_of,
    kinds_of,
    lines,
    name_of,
    need_file,
    records,
    roles_from_toml,
    said_by,
    separator,
    unnegated,
    weight_of,
)
from kgmed.records import Role, Support
from kgmed.registry import formats

MISSING = frozenset({"", "NaN", "nan", "NAN", "None", "none", "null", "NULL", "Null", "<NA>"})
_SUFFIXES = (".txt", ".tsv", ".csv")
_SURE = COLUMNS["relation"][:7]  # of three columns these tell a header where they stand in the middle
_MORE = ("weight", "source", "references", *POLARITY)
_FIELDS = ("head", "relation", "tail", *_MORE)
_NUMBERED = ("entity2id.txt", "relation2id.txt")
_SQL = re.compile(r"\s*(?:--|(?:create|insert|drop|set|begin|use|copy|lock|alter)\b.*[;(]\s*$)", re.IGNORECASE)
_MEND = "write head, relation and tail, separated by tabs, and nothing else, or add a header"


def _are_triples(first: Sequence[str]) -> int:
    """How sure the first lines are of triples: JSON with their fields, three columns, or a header that names one."""
    head = first[0]
    if _SQL.match(head):
        return 0
    mark = separator(head, 3)
    named = any(word in head.casefold() for word in ("relation", "predicate", "关系"))
    return int(bool(mark) and (named or len(head.split(mark)) == 3))


@formats.register("triples", holds=(*(f"train{s}" for s in _SUFFIXES), "entity2id.txt"), looks=_are_triples)
def read_triples(
    path: Path | None, *, name: str = "", release: str = "", roles: Path | None = None, underscores: bool = False
) -> Source:
    """The graph in a file of triples; its relations are inferred by name except for those in the TOML table `roles`.

    A folder may hold them in the parts that models of graphs are trained and tested on, also by number, as OpenKE has
    them. `underscores` keeps them in names. Raises `SourceError`, for a damaged row when its turn comes.
    """
    files = _parts(path) if path is not None and path.is_dir() else (need_file(path, "triples"),)
    name = name or name_of(path or files[0])
    table = roles_from_toml(roles) if roles else RoleTable({}, {})
    return Source(
        name=name,
        rows=lambda: (
            _Brackets(table.kinds).before(_numbered(files, keep=underscores))
            if files[0].name == _NUMBERED[0]
            else chain.from_iterable(_rows(file, table.kinds, keep=underscores) for file in files)
        ),
        release=release,
        prefix=name,
        relations=table.relations,
        kinds=table.kinds,
        inputs=(*files, roles) if roles else files,
    )


def _parts(folder: Path) -> tuple[Path, ...]:
    """The files of a folder that was cut into train, valid and test; raises `SourceError`."""
    parts = ("train", "valid", "dev", "test")
    found = (folder / f"{part}{suffix}" for part in parts for suffix in _SUFFIXES)
    if (folder / _NUMBERED[0]).is_file():  # entity2id.txt, relation2id.txt, train2id.txt, ...
        found = (folder / name for name in (*_NUMBERED, *(f"{part}2id.txt" for part in parts)))
    if not (files := tuple(file for file in found if file.is_file())):
        raise SourceError(
            folder, 0, "is a folder without train.txt, valid.txt or test.txt", "name the file of triples in it"
        )
    return files


def _numbered(files: Sequence[Path], *, keep: bool) -> Iterator[EdgeRow | DroppedRow]:
    """The triples of a folder of OpenKE: head, tail and relation by their numbers in its first two files."""
    called: list[dict[str, str]] = []
    for path in files[:2]:
        pairs = (line.rsplit(None, 1) for _, line in islice(lines(path), 1, None) if line.strip())
        called.append({pair[1]: pair[0].strip() for pair in pairs if len(pair) == 2})
    for path in files[2:]:
        for number, line in islice(lines(path), 1, None):
            ids = line.split()
            if ids and not (len(ids) == 3 and ids[0] in called[0] and ids[1] in called[0] and ids[2] in called[1]):
                yield DroppedRow("no numbers of two entities and a relation", number, path)
            elif ids:
                triple = [called[0][ids[0]], called[1][ids[2]], called[0][ids[1]], *[""] * len(_MORE)]
                yield _edge(path, number, triple, keep=keep)


def bracketed(name: str, *, drug: bool = False) -> tuple[Alias, ...]:
    """The names inside and before the brackets at the end of a name.

    Those of a drug are its own names (substance and brand); elsewhere brackets may narrow what they follow.

    >>> [a.text for a in bracketed("Complete blood count (Cbc)")], bracketed("Aspirin")
    (['Complete blood count', 'Cbc'], ())
    """
    before, found, inside = name.rstrip(")").rpartition(" (")
    if not (found and name.endswith(")") and before.strip() and inside.strip() and "(" not in before.split(")")[-1]):
        return ()
    outer, inner = (Scope.EXACT, Scope.BRAND) if drug else (Scope.RELATED, Scope.RELATED)
    return Alias(before.strip(), outer), Alias(inside.strip(), inner)


@dataclass
class _Brackets:
    """Emits each name in brackets once, as a node with its other names."""

    kinds: Mapping[str, tuple[str, str]]
    seen: set[str] = field(default_factory=set)

    def before(self, rows: Iterable[EdgeRow | DroppedRow]) -> Iterator[Row]:
        """The rows, each after the nodes that it is the first to name in brackets."""
        for row in rows:
            if type(row) is EdgeRow and (row.head[-1] == ")" or row.tail[-1] == ")"):
                yield from self(row)
            yield row

    def __call__(self, row: EdgeRow) -> Iterator[NodeRow]:
        """The nodes of the row that have not been met yet and whose names end in brackets."""
        ends = self.kinds.get(row.relation) or kinds_of(infer(row.relation))
        for key, kind in zip((row.head, row.tail), ends, strict=True):
            if key[-1] == ")" and key not in self.seen:
                self.seen.add(key)
                if aliases := bracketed(key, drug=kind == "drug"):
                    yield NodeRow(key, aliases=aliases)


def _rows(path: Path, kinds: Mapping[str, tuple[str, str]], *, keep: bool) -> Iterator[Row]:
    """All rows: the edges, what is dropped, and nodes for the names in brackets."""
    first = next((line for _, line in lines(path) if line.strip()), None)
    if first is None:
        raise empty(path)
    brackets = _Brackets(kinds)
    if first.lstrip().startswith("{"):
        return brackets.before(_json(path, keep=keep))
    return _delimited(path, first, brackets, keep=keep)


def _delimited(path: Path, first: str, brackets: _Brackets, *, keep: bool) -> Iterator[Row]:
    """The rows of a delimited file, with or without a header."""
    mark = separator(first, 3)
    if not mark:
        number = next((number for number, line in lines(path) if line == first), 0)
        raise SourceError(path, number, "is no triple", _MEND)
    header = next(records(path, mark))[1]
    places = _places(header)
    kinded = _with_kinds(path, mark, places)
    if places:
        headed = _headed(path, mark, header, places, keep=keep)
        return _kinded(headed) if kinded else brackets.before(headed)
    named = [what for what in _FIELDS[:3] if column(header, COLUMNS[what]) >= 0]
    if named and len(header) != 3:
        missing = next((what for what in _FIELDS[:3] if what not in named), "relation")
        problem = f"is a header without a column for the {missing}: {', '.join(header)[:60]}"
        raise SourceError(path, 1, problem, "call its columns head, relation and tail, or take the line out")
    _check_relations(path, mark)
    if kinded:
        return _kinded(_three(path, records(path, mark), keep=True))
    if mark == "\t":
        return _tabbed(path, brackets, keep=keep)
    return brackets.before(_three(path, records(path, mark), keep=keep))


def _places(header: Sequence[str]) -> dict[str, int]:
    """What the columns say -> their places; nothing where a header does not name head, relation and tail.

    Of three columns the middle one tells.
    """
    said = said_by(tuple(header))
    if {"head", "relation", "tail"} <= said.keys():
        return said
    return dict(zip(_FIELDS, range(3), strict=False)) if len(header) == 3 and column(header, _SURE) == 1 else {}


_KINDED = re.compile(r"(?P<name>[^@]+)@@?(?P<kind>[^\W\d@]{1,12})$")
_SPAN = re.compile(r" \d+ \d+$")
_RELATIONS = 20  # different names in so many rows say nothing (ours)
_LOOKED_AT = 200  # rows by which names with kinds behind them are told


def _with_kinds(path: Path, mark: str, places: Mapping[str, int]) -> bool:
    """Whether names have their kind behind an @, as CPubMed-KG writes them: 高血压@疾病."""
    head, tail = places.get("head", 0), places.get("tail", 2)
    rows = [cells for _, cells in islice(records(path, mark), int(bool(places)), _LOOKED_AT)]
    ends = [cells[at].strip() for cells in rows if len(cells) > max(head, tail) for at in (head, tail)]
    kinds = [said["kind"] for said in map(_KINDED.match, ends) if said]
    return bool(ends) and (len(kinds) == len(ends) or 2 * sum(kind in KINDS for kind in kinds) >= len(ends))


def _kinded(rows: Iterable[EdgeRow | DroppedRow]) -> Iterator[Row]:
    """The rows of a file whose names have their kind behind an @; one name of two kinds is two entities."""
    met: set[str] = set()
    for row in rows:
        for key in (row.head, row.tail) if isinstance(row, EdgeRow) else ():
            if key not in met and (said := _KINDED.match(key)):
                met.add(key)
                yield NodeRow(key, said["name"].replace("_", " "), kind_of(said["kind"]))
        yield row


def _check_relations(path: Path, mark: str) -> None:
    """Nothing, if the middle one of three columns can be that of relations: few for many rows, or known, no numbers.

    Nor are numbers at the end of most rows things that anything is tied to, but values, or ids without names.
    """
    first = [(number, cells) for number, cells in islice(records(path, mark), _LOOKED_AT) if len(cells) == 3]
    rows = [(number, cells[1].strip()) for number, cells in first]
    names = {name for _, name in rows}
    known = sum(infer(name).role is not Role.OTHER for name in names)
    numbers, values = _numbers(names), _numbers([cells[2].strip() for _, cells in first])
    odd = any(name.startswith("[:") or "@" in name or _SPAN.search(name) for name in names)  # of Cypher, e-mail, BRAT
    if odd or 2 * numbers > len(names) or (len(names) > max(_RELATIONS, len(rows) / 2) and 2 * known < len(names)):
        problem = f"has no relations in its second column: {', '.join(sorted(names)[:3])[:60]}"
        raise SourceError(path, rows[0][0], problem, _MEND)
    if 2 * sum(not any(map(str.isalpha, cells[0])) for _, cells in first) > len(first):
        raise SourceError(path, rows[0][0], f"has no names in its first column: {first[-1][1][0].strip()[:20]}", _MEND)
    if 2 * values > len(first):
        raise SourceError(path, rows[0][0], f"has numbers in its third column: {first[-1][1][2].strip()[:20]}", _MEND)


def _numbers(cells: Collection[str]) -> int:
    """How many cells are numbers."""
    return sum(cell.replace(".", "", 1).isdecimal() for cell in cells)


def _tabbed(path: Path, brackets: _Brackets, *, keep: bool) -> Iterator[Row]:
    """The rows of a file of three columns between tabs; the path that large files take, so a block at a time."""
    done = 0
    for text in blocks(path):
        rows: Iterator[EdgeRow | DroppedRow] | None = _block(text, keep=keep)
        if rows is None:
            cut = ((done + i, line.split("\t")) for i, line in enumerate(text.split("\n"), start=1))
            rows = _three(path, (row for row in cut if len(row[1]) > 1 or row[1][0].strip()), keep=keep)
        yield from brackets.before(rows) if ")" in text else rows
        done += text.count("\n") + 1


def _block(text: str, *, keep: bool) -> Iterator[EdgeRow] | None:
    """The edges of a block in which every line has three cells and none is missing; else None."""
    data = np.frombuffer(text.encode(), np.uint8)
    marks = data[(data == 9) | (data == 10)]  # tab and newline
    if len(marks) % 3 != 2 or (marks[2::3] != 10).any() or (marks[::3] != 9).any() or (marks[1::3] != 9).any():
        return None
    cells = list(map(str.strip, text.replace("\n", "\t").split("\t")))
    heads, relations, tails = cells[::3], cells[1::3], cells[2::3]
    if "_" in text and not keep:
        heads, tails = _spaced(heads), _spaced(tails)
    if not (MISSING.isdisjoint(heads) and MISSING.isdisjoint(tails) and MISSING.isdisjoint(relations)):
        return None
    return map(tuple.__new__, repeat(EdgeRow), zip(heads, relations, tails, repeat(1.0), repeat(())))


def _three(path: Path, rows: Iterable[tuple[int, list[str]]], *, keep: bool) -> Iterator[EdgeRow | DroppedRow]:
    """The rows of three cells, with their line numbers, one by one."""
    for number, cells, blemish in fitted(path, rows, 3, 3):
        if blemish:
            yield blemish
        if not cells:
            continue
        head, relation, tail = (cell.strip() for cell in cells)
        if not keep:
            head, tail = _spaced([head, tail])
        missing = head in MISSING or relation in MISSING or tail in MISSING
        yield DroppedRow("an empty field", number) if missing else EdgeRow(head, relation, tail)


def _spaced(names: list[str]) -> list[str]:
    """The names with spaces for underscores."""
    return [name.replace("_", " ").strip() if "_" in name else name for name in names]


def _headed(
    path: Path, mark: str, header: Sequence[str], places: Mapping[str, int], *, keep: bool
) -> Iterator[EdgeRow | DroppedRow]:
    """The rows of a file whose header names the columns."""
    wanted = [places.get(what, -1) for what in _FIELDS]
    need = 1 + max(places[what] for what in _FIELDS[:3])
    for number, cells, blemish in fitted(path, islice(records(path, mark), 1, None), len(header), need):
        if blemish:
            yield blemish
        if cells:
            yield _edge(path, number, [cells[i].strip() if i >= 0 else "" for i in wanted], keep=keep)


def _json(path: Path, *, keep: bool) -> Iterator[EdgeRow | DroppedRow]:
    for number, line in lines(path):
        if not line or line.isspace():
            continue
        entry = json_object(path, number, line)
        if isinstance(entry, DroppedRow):
            yield entry
            continue
        places, values = said_by(tuple(entry)), list(entry.values())
        cells = [_text(path, number, what, values[places[what]]) if what in places else "" for what in _FIELDS]
        yield _edge(path, number, cells, keep=keep)


def _text(path: Path, number: int, what: str, value: Any) -> str:
    """One field of a JSON object as the text a cell would hold."""
    if isinstance(value, list) and all(isinstance(v, str) for v in value):
        value = ";".join(value)
    if value is None or isinstance(value, str | int | float):
        return "" if value is None else str(value).replace("\0", " ").strip()
    raise SourceError(path, number, f"the field {what!r} is neither text nor a number", "write it as text")


def _edge(path: Path, number: int, cells: Sequence[str], *, keep: bool) -> EdgeRow | DroppedRow:
    """The edge in the cells of `_FIELDS`; references are separated by ';'."""
    tidy: Callable[[str], str] = str if keep else lambda s: s.replace("_", " ").strip()
    head, relation, tail, weight, source, references, *polarity = cells
    head, tail = tidy(head), tidy(tail)
    if head in MISSING or relation in MISSING or tail in MISSING:
        return DroppedRow("an empty field", number)
    qualifiers = (("source", source),) if source not in MISSING else ()
    named = [r.strip() for r in references.split(";") if r.strip() not in MISSING]
    support = tuple(Support(r, qualifiers) for r in named) or ((Support("", qualifiers),) if qualifiers else ())
    relation, negated = unnegated(relation)
    edge = EdgeRow(head, relation, tail, weight_of(weight), support)
    return (
        denied(edge, infer(relation), number)
        if negated or is_denied(dict(zip(POLARITY, polarity, strict=True)))
        else edge
    )
