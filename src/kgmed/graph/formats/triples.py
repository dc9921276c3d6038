"""Triples that anybody may write: TSV, CSV or JSON Lines.

- TSV without a header (MindMap's `train.txt`): head, relation, tail; quotes are ordinary characters.
- CSV, TSV, ... with a header (HyKGE's `head,relation,tail`); columns named weight, source and reference are read too.
- JSON Lines: objects with head, relation, tail and, where there are, weight, source, reference or references.

Underscores in names are spaces. What stands in brackets at the end of a name becomes another name of it, as in
"Alprazolam (Xanax)". Rows with an empty or NaN field are dropped and reported.
"""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, repeat
from pathlib import Path
from typing import Any

import numpy as np

from kgmed.errors import SourceError
from kgmed.graph.base import Alias, DroppedRow, EdgeRow, NodeRow, Row, Scope, Source
from kgmed.graph.formats.base import (
    RoleTable,
    blocks,
    column,
    empty,
    infer,
    kind_of,
    kinds_of,
    lines,
    name_of,
    need_file,
    parse_json,
    records,
    roles_from_toml,
    separator,
)
from kgmed.records import Support
from kgmed.registry import formats

MISSING = frozenset({"", "NaN", "nan", "NAN", "None", "none", "null", "NULL", "Null", "<NA>"})
_HEADS = ("head", "subject", "head_entity", "头实体", "主语", "实体1", "head_name", "start", ":start_id", "h", "x_name")
_RELATIONS = ("relation", "predicate", "rel", "relationship", "关系", "谓语", ":type", "r", "relation_name")
_TAILS = ("tail", "object", "tail_entity", "尾实体", "宾语", "实体2", "tail_name", "end", ":end_id", "t", "y_name")
_HEADS_TOO = ("source", "from", "node1", "entity1", "subject_name", "source_name")  # where no column is in `_HEADS`
_TAILS_TOO = ("target", "to", "node2", "entity2", "object_name", "target_name")
_RELATIONS_TOO = ("edge", "type", "label", "edge_type", "rel_type", "property", "metaedge")
_WEIGHTS, _SOURCES = ("weight", "score", "confidence", "权重"), ("source", "来源")
_REFERENCES = ("reference", "references", "pmid", "pmids", "参考文献")
_SQL = re.compile(r"\s*(?:--|(?:create|insert|drop|set|begin|use|copy|lock|alter)\b.*[;(]\s*$)", re.IGNORECASE)
_MEND = "write head, relation and tail, separated by tabs, and nothing else, or add a header"


def _are_triples(first: Sequence[str]) -> int:
    """How sure the first lines are of triples: JSON with their fields, three columns, or a header that names one."""
    head = first[0]
    if head.lstrip().startswith("{"):
        return 2 if '"head"' in head or '"subject"' in head else 0
    if _SQL.match(head):
        return 0
    mark = separator(head, 3)
    named = any(word in head.casefold() for word in ("relation", "predicate", "关系"))
    return int(bool(mark) and (named or len(head.split(mark)) == 3))


@formats.register("triples", looks=_are_triples)
def read_triples(
    path: Path | None, *, name: str = "", release: str = "", roles: Path | None = None, underscores: bool = False
) -> Source:
    """The graph in a file of triples; its relations are inferred by name except for those in the TOML table `roles`.

    `underscores` keeps them in names. Raises `SourceError`, for a damaged row when its turn comes.
    """
    file = need_file(path, "triples")
    name = name or name_of(file)
    table = roles_from_toml(roles) if roles else RoleTable({}, {})
    return Source(
        name=name,
        rows=lambda: _rows(file, table.kinds, keep=underscores),
        release=release,
        prefix=name,
        relations=table.relations,
        kinds=table.kinds,
        inputs=(file, roles) if roles else (file,),
    )


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
        raise SourceError(path, _number(path, first), "is no triple", _MEND)
    header = next(records(path, mark))[1]
    places = _places(header)
    if min(places) >= 0:
        return brackets.before(_headed(path, mark, header, places, keep=keep))
    if max(places) >= 0 and len(header) != 3:
        said = ("head", "relation", "tail")[next(i for i, place in enumerate(places) if place < 0)]
        problem = f"is a header without a column for the {said}: {', '.join(header)[:60]}"
        raise SourceError(path, 1, problem, "call its columns head, relation and tail, or take the line out")
    if _with_kinds(path, mark):
        return _kinded(path, mark)
    if mark == "\t":
        return _tabbed(path, brackets, keep=keep)
    return brackets.before(_three(path, records(path, mark), keep=keep))


def _places(header: Sequence[str]) -> list[int]:
    """The columns of head, relation and tail; -1 where a header does not name one.

    Words that may be names of things count only where they are all there; of three columns the middle one tells.

    >>> _places(["source", "type", "target"]), _places(["type", "is a", "label"]), _places(["a", "relation", "b"])
    ([0, 1, 2], [-1, -1, -1], [0, 1, 2])
    """
    plain = [column(header, names) for names in (_HEADS, _RELATIONS, _TAILS)]
    wider = zip(plain, (_HEADS_TOO, _RELATIONS_TOO, _TAILS_TOO), strict=True)
    full = [place if place >= 0 else column(header, more) for place, more in wider]
    said = len(header) == 3 and plain[1] == 1 and len(header[1].strip()) > 1
    return [0, 1, 2] if said else full if min(full) >= 0 else plain


_KINDED = re.compile(r"(?P<name>[^@]+)@(?P<kind>[^\W\d@]{1,12})$")
_LOOKED_AT = 200  # rows by which names with kinds behind them are told


def _with_kinds(path: Path, mark: str) -> bool:
    """Whether names have their kind behind an @, as CPubMed-KG writes them: 高血压@疾病."""
    rows = [cells for _, cells in islice(records(path, mark), _LOOKED_AT) if len(cells) == 3]
    return bool(rows) and all(_KINDED.match(cell.strip()) for cells in rows for cell in (cells[0], cells[2]))


def _kinded(path: Path, mark: str) -> Iterator[Row]:
    """The rows of a file whose names have their kind behind an @; one name of two kinds is two entities."""
    met: set[str] = set()
    for number, cells in records(path, mark):
        if len(cells) != 3:
            raise SourceError(path, number, f"has {len(cells)} columns, not 3", _MEND)
        head, relation, tail = (cell.strip() for cell in cells)
        for key in (head, tail):
            if key not in met and (said := _KINDED.match(key)):
                met.add(key)
                yield NodeRow(key, said["name"], kind_of(said["kind"]))
        missing = head in MISSING or relation in MISSING or tail in MISSING
        yield DroppedRow("NaN", number) if missing else EdgeRow(head, relation, tail)


def _number(path: Path, text: str) -> int:
    return next((number for number, line in lines(path) if line == text), 0)


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


def _three(path: Path, rows: Iterable[tuple[int, Sequence[str]]], *, keep: bool) -> Iterator[EdgeRow | DroppedRow]:
    """The rows of three cells, with their line numbers, one by one."""
    for number, cells in rows:
        if len(cells) != 3:
            raise SourceError(path, number, f"has {len(cells)} columns, not 3", _MEND)
        head, relation, tail = (cell.strip() for cell in cells)
        if not keep:
            head, tail = _spaced([head, tail])
        missing = head in MISSING or relation in MISSING or tail in MISSING
        yield DroppedRow("NaN", number) if missing else EdgeRow(head, relation, tail)


def _spaced(names: list[str]) -> list[str]:
    """The names with spaces for underscores."""
    return [name.replace("_", " ").strip() if "_" in name else name for name in names]


def _headed(
    path: Path, mark: str, header: Sequence[str], places: Sequence[int], *, keep: bool
) -> Iterator[EdgeRow | DroppedRow]:
    """The rows of a file whose header names the columns."""
    more = (column(header, names) for names in (_WEIGHTS, _SOURCES, _REFERENCES))
    wanted = (*places, *(-1 if place in places else place for place in more))
    for number, cells in islice(records(path, mark), 1, None):
        if len(cells) != len(header):
            mend = f"write the {len(header)} columns that the header names"
            raise SourceError(path, number, f"has {len(cells)} columns, not {len(header)}", mend)
        yield _edge(path, number, [cells[i].strip() if i >= 0 else "" for i in wanted], keep=keep)


def _json(path: Path, *, keep: bool) -> Iterator[EdgeRow | DroppedRow]:
    """The rows of a JSON Lines file."""
    for number, line in lines(path):
        if not line or line.isspace():
            continue
        entry = parse_json(path, number, line)
        if not isinstance(entry, dict):
            raise SourceError(path, number, "is no JSON object", 'write {"head": ..., "relation": ..., "tail": ...}')
        fields = {key.casefold(): value for key, value in entry.items()}
        yield _edge(path, number, [_text(path, number, fields, names) for names in _JSON_FIELDS], keep=keep)


_JSON_FIELDS = (_HEADS, _RELATIONS, _TAILS, _WEIGHTS, _SOURCES, _REFERENCES)


def _text(path: Path, number: int, fields: Mapping[str, Any], names: Sequence[str]) -> str:
    """One field of a JSON object as the text a cell would hold."""
    value = next((fields[n] for n in names if n in fields), None)
    if isinstance(value, list) and all(isinstance(v, str) for v in value):
        value = ";".join(value)
    if value is None or isinstance(value, str | int | float):
        return "" if value is None else str(value).replace("\0", " ").strip()
    raise SourceError(path, number, f"the field {names[0]!r} is neither text nor a number", "write it as text")


def _edge(path: Path, number: int, cells: Sequence[str], *, keep: bool) -> EdgeRow | DroppedRow:
    """The edge in six cells: head, relation, tail, weight, source, references separated by ';'."""
    tidy: Callable[[str], str] = str if keep else lambda s: s.replace("_", " ").strip()
    head, relation, tail, weight, source, references = cells
    head, tail = tidy(head), tidy(tail)
    if head in MISSING or relation in MISSING or tail in MISSING:
        return DroppedRow("NaN", number)
    qualifiers = (("source", source),) if source not in MISSING else ()
    named = [r.strip() for r in references.split(";") if r.strip() not in MISSING]
    support = tuple(Support(r, qualifiers) for r in named) or ((Support("", qualifiers),) if qualifiers else ())
    return EdgeRow(head, relation, tail, _weight(path, number, weight), support)


def _weight(path: Path, number: int, text: str) -> float:
    """A weight between 0 and 1; 1 where there is none."""
    if text in MISSING:
        return 1.0
    try:
        weight = float(text)
    except ValueError:
        weight = math.nan
    if not 0 <= weight <= 1:
        raise SourceError(path, number, f"the weight {text[:20]!r} is not between 0 and 1", "scale the column to 0..1")
    return weight
