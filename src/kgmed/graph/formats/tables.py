"""Tables of nodes and of edges, as graphs are published: delimited files or JSON Lines, alone, in a folder or a zip.

Read by what their columns are called: Hetionet (nodes.tsv and edges.sif), PrimeKG (one table with both ends), Neo4j's
import files (`:ID`, `:LABEL`, `:START_ID`, `:END_ID`, `:TYPE`), APOC's CSV and JSON, KGX (TSV and JSON Lines), and
folders of node files and edge files of one's own. What a column is called is a table in `base`; what yours are called
instead says a TOML file (`kgmed graph build NAME PATH --map FILE`), one line each: `head = "my column"`.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, product
from pathlib import Path
from typing import Any, NamedTuple

from kgmed.disk import read_toml
from kgmed.errors import SourceError
from kgmed.graph.base import Alias, DroppedRow, EdgeRow, NodeRow, Row, Scope, Source
from kgmed.graph.formats.base import (
    COLUMNS,
    ENDS,
    KINDS,
    METAEDGES,
    NEO4J,
    NEO4J_SAYS,
    OF_EDGES,
    OF_NODES,
    POLARITY,
    Kinds,
    RoleTable,
    check_file,
    column,
    column_thing,
    columns_of,
    denied,
    first_lines,
    fitted,
    header_of,
    infer,
    is_denied,
    json_object,
    kind_of,
    kinds_of,
    name_of,
    records,
    roles_from_toml,
    said_in,
    separator,
    thing_of,
    told_by,
    unnegated,
    weight_of,
)
from kgmed.graph.formats.json_records import fields_of_document, is_document, is_yaml, objects, what_it_is
from kgmed.graph.formats.triples import MISSING
from kgmed.records import Relation, Role, Support
from kgmed.registry import formats

_HEADER = re.compile(r"[-_.]headers?$", re.IGNORECASE)
_MANY = re.compile(r"[|;；]")
_SUFFIXES = (".tsv", ".csv", ".txt", ".sif", ".jsonl", ".json", ".tab")
_PACKED = (".gz", ".xz", ".bz2")
_TOP = 100  # lines in which remarks may stand
TIED = "associated_with"  # what a row says that names a thing of each of two kinds and no relation
_MAP = "say what columns mean by --map (begin with: kgmed graph map FILE), or write head, relation and tail"
COLUMNS_MEND = 'name its columns in a TOML file, as in: head = "my column", and give it by --map'
_TRIPLES_MEND = (
    f"{COLUMNS_MEND}; if these are triples without a header, give each file of its own, or all joined: "
    "cat FOLDER/* | kgmed graph build NAME -"
)


class TableRecord(NamedTuple):
    """A node or an edge on its way in: its fields by what they say, and the line it comes from."""

    line: int
    fields: Mapping[str, str]
    is_edge: bool


def _spaces(header: Sequence[str]) -> dict[str, str]:
    """The id spaces that Neo4j's columns name, by what the column says."""
    found = [(m["what"].upper(), m["space"]) for cell in header if (m := NEO4J.search(cell.strip())) and m["space"]]
    return {NEO4J_SAYS[what]: space for what, space in found}


# --- Files: which belong to the graph, and their records.


def _claims(first: Sequence[str]) -> int:
    """How sure the first lines are of a table of both: ends with ids, names and kinds, or nodes and edges in one."""
    head = first[0].strip()
    cells = {cell.casefold() for cell in _cells(head)}
    both = {"x_id", "y_id", "x_name"} <= cells or {"_id", "_labels"} <= cells
    sure = 3 if both or any(NEO4J.search(cell) for cell in cells) or {"metaedge"} <= cells else 0
    said = columns_of(tuple(_cells(head)))
    if len(first) > 1 and crossing(_cells(head), _cells(first[1])) >= 0:
        return 3
    return sure or 2 * bool(said.fixed or (said.edges and {"head_name", "head_kind"} & said.places.keys()))


@formats.register("tables", holds=("*.csv*", "*.tsv*", "*.sif*", "*.jsonl*"), looks=_claims)
def read_tables(
    path: Path | None, *, name: str = "", release: str = "", roles: Path | None = None, columns: Path | None = None
) -> Source:
    """The graph of a table, or of a folder of tables, of nodes and edges; raises `SourceError`."""
    files = _files(path)
    name = name or name_of(files[0] if path is None else path)
    return source_of(lambda own: _records(files, own), files, name, release, roles, columns)


Own = tuple[tuple[str, str], ...]  # (what, column) as the user named them
Files = Iterator[tuple[Path, Iterable["TableRecord | DroppedRow"]]]


def source_of(
    records: Callable[[Own], Files], files: tuple[Path, ...], name: str, release: str, roles: Path | None,
    columns: Path | None,
) -> Source:  # fmt: skip
    """The graph of the records of files, with what the user says of its relations and columns."""
    table, own = roles_from_toml(roles) if roles else RoleTable({}, {}), own_columns(columns) if columns else ()
    kinds = dict(table.kinds)
    reader = RecordReader(name, dict(table.relations), kinds)
    rows, inputs = lambda: reader.again().rows(records(own)), (*files, *filter(None, (roles, columns)))
    return Source(name=name, rows=rows, release=release, relations=reader.relations, kinds=kinds, inputs=inputs)


def own_columns(path: Path) -> Own:
    """(what, column) of a user's TOML file; raises `SourceError`."""
    check_file(path)
    said = read_toml(path)
    for what, name in said.items():
        if what not in COLUMNS or not isinstance(name, str):
            raise SourceError(
                path, 0, f"{what!r} is nothing that a column can say", f"choose from {', '.join(COLUMNS)}"
            )
    return tuple(said.items())


_WANTED = {  # what a format needs of columns or fields
    "triples": ("head", "relation", "tail"),
    "tables, of edges": ("head", "tail"),
    "tables, of nodes": ("id", "name"),
}
_PUT = "write head, relation and tail as a table"


def nearest(path: Path) -> str:
    """The three formats that a file or folder comes closest to, with what it lacks for each, and what to do."""
    if path.is_dir():
        asked = sorted((min(map(len, f.holds)), f.name, f.holds) for f in formats.all() if f.holds)
        near, mend = [(name, f"it holds no {' or '.join(held)}") for _, name, held in asked[:3]], "name a file in it"
    elif "".join(first_lines(path, 1)).lstrip().startswith("<"):
        begun = [(f.name, [s for s in f.starts if s[:1] == "<" and s[-1:] != "p"]) for f in formats.all()]
        near = [(name, f"it does not begin with {' or '.join(starts)}") for name, starts in begun if starts][:3]
        mend = _PUT
    else:
        header, word, mend = _columns(path), "column", _MAP
        if is_yaml(path) or header[0][:1] in ("{", "["):
            header, word, mend = fields_of_document(path), "field", _PUT
        mend = mend if len(header) > 1 else _PUT
        lacks = {name: [w for w in wanted if column(header, COLUMNS[w]) < 0] for name, wanted in _WANTED.items()}
        best = sorted(lacks.items(), key=lambda one: len(one[1]))
        near = [(name, f"it has no {word} for the {' and the '.join(found)}" if found else "") for name, found in best]
    return f"nearest are {'; '.join(f'{name} ({what})' for name, what in near)}: {mend}"


def first_map(path: Path) -> str:
    """A TOML table of what the columns of a file seem to say, to be mended and given by --map; raises `SourceError`."""
    header = _columns(path)
    if len(header) < 2:
        raise SourceError(path, 1, "has no columns with names", "separate columns by tabs or commas")
    said = {what: header[at] for what in COLUMNS if (at := column(header, COLUMNS[what])) >= 0}
    free = ", ".join(name for name in header if name not in said.values())
    lines = [f"# Columns that are not used yet: {free or 'none'}", "# Take the # off where a column says that."]
    lines += [f"{what} = {json.dumps(said[what], ensure_ascii=False)}" for what in COLUMNS if what in said]
    return "\n".join([*lines, *(f'# {what} = ""' for what in COLUMNS if what not in said)])


def _columns(path: Path) -> list[str]:
    check_file(path)
    return _cells(header_of(path)[1])


def _cells(line: str) -> list[str]:
    """The cells of a line, without quotes around them."""
    return [cell.strip().strip('"') for cell in line.split(separator(line, 2) or "\t")]


def _files(path: Path | None) -> tuple[Path, ...]:
    """The files of a graph, those of a folder in order of name; raises `SourceError`."""
    if path is None:
        raise SourceError(Path("tables"), 0, "needs a file or a folder", "name it")
    if not path.is_dir():
        check_file(path)
        return (path,)
    found = tuple(sorted(file for file in path.rglob("*") if file.is_file() and _is_table(file)))
    if not found:
        raise SourceError(path, 0, "holds no table", f"its files end in {', '.join(_SUFFIXES)}, packed or not")
    return found


def _is_table(file: Path) -> bool:
    """Whether a file's name is that of a table; "metaedges.tsv" and the like only tell about others."""
    name = file.name.casefold()
    for packed in _PACKED:
        name = name.removesuffix(packed)
    return name.endswith(_SUFFIXES) and not name.startswith((".", "meta", "readme", "license"))


def _records(files: Sequence[Path], own: Own) -> Files:
    """The records of every file, files of nodes first, so that the kinds of their ends are known when edges come."""
    headers = _headers(files)
    files = [file for file in files if file not in headers.values()]
    first = {file: header_of(headers.get(file, file))[1] for file in files}
    for file in sorted(files, key=lambda file: _is_edges(first[file], own)):
        line = first[file]
        if line.startswith(("{", "[")) or is_yaml(file):
            yield file, _of_json(file)
        else:
            yield file, _delimited(file, headers.get(file), line, own)


def _headers(files: Sequence[Path]) -> dict[Path, Path]:
    """The file that holds the header of each file that has none, as `neo4j-admin` lets one write them.

    >>> names = ("drug-header.csv", "drug-part1.csv.gz", "treats_header.csv", "treats.csv", "other.csv")
    >>> {file.name: header.name for file, header in _headers([Path(name) for name in names]).items()}
    {'drug-part1.csv.gz': 'drug-header.csv', 'treats.csv': 'treats_header.csv'}
    """
    begun = [(_HEADER.sub("", name_of(file)), file) for file in files if _HEADER.search(name_of(file))]
    apart = {header for _, header in begun}
    found: dict[Path, Path] = {}
    for start, header in sorted(begun, key=lambda one: len(one[0])):  # the longest beginning has the last word
        same = re.compile(rf"{re.escape(start)}(?:[-_.].*)?$")
        found |= {f: header for f in files if f not in apart and f.parent == header.parent and same.match(name_of(f))}
    return found


def _is_edges(line: str, own: Own) -> bool:
    if line.startswith("{"):
        entry = json_object(Path(), 1, line)
        return isinstance(entry, dict) and what_it_is(entry) == "edge"
    return columns_of(tuple(_cells(line)), own).edges


def _delimited(path: Path, apart: Path | None, line: str, own: Own) -> Iterator[TableRecord | DroppedRow]:
    """The records of a delimited file, whose header begins it or is in a file `apart`."""
    mark = separator(line, 2)
    if not mark:
        raise SourceError(path, 1, f"is no table: {line[:40]!r} has one column", "separate columns by tabs or commas")
    header = _cells(line)
    number = 0 if apart else header_of(path)[0]
    rows = (row for row in records(path, mark) if row[0] > _TOP or (row[0] > number and said_in(row[1])))
    known = columns_of(tuple(header), own)
    places, edges, nodes = known.places, known.edges, known.nodes
    if not (edges or nodes):
        yield from _crossed(path, rows, header, number)
        return
    spaces, of = _spaces(header), thing_of(name_of(path))
    plain = "" if "relation" in places else TIED if known.fixed else relation_of(path)
    need = 1 + max(places[what] for what in (("head", "tail") if edges else ("id", "name")) if what in places)
    for number, cells, blemish in fitted(path, rows, len(header), 1 if edges and nodes else need):
        if blemish:
            yield blemish
        if not cells:
            continue
        said = {what: text for what, p in places.items() if (text := _unquoted(cells[p].strip()))}
        said |= known.fixed
        for end in ("head", "tail") if "head_kind" in known.fixed else ():
            said[end] = numbered(said.get(end, ""), known.fixed[f"{end}_kind"])
        if nodes and of and not spaces and "id" in said:
            said |= {"id": numbered(said["id"], of), "kind": said.get("kind", of)}
        if spaces:
            said |= {what: f"{space}:{said[what]}" for what, space in spaces.items() if said.get(what)}
        is_edge = edges and "head" in said and "tail" in said
        for one in _each(said) if is_edge else (said,):
            yield TableRecord(number, {"relation": plain} | one if is_edge else one, is_edge or (edges and not nodes))


_ONES, _ZEROS = frozenset({"1", "1.0"}), frozenset({"0", "0.0"})


def crossing(header: Sequence[str], row: Sequence[str]) -> int:
    """The place of the names in a table of ones and zeros: of diseases by finding, of drugs by disease; -1 in others.

    Their column is called by a kind, or by nothing: then the reader asks for it, since they may be those of patients.

    >>> crossing(["drug", "gout", "flu"], ["A", "1", "0"]), crossing(["itch", "pain", "disease"], ["1", "0", "x"])
    (0, 2)
    >>> crossing(["patient", "gout", "flu"], ["A", "1", "0"]), crossing(["", "gout", "flu"], ["7", "1", "0"])
    (-1, -1)
    """
    names = [i for i, cell in enumerate(row) if cell.strip() not in _ONES | _ZEROS]
    if len(names) != 1 or len(header) != len(row) or len(row) < 3 or not any(map(str.isalpha, row[names[0]])):
        return -1
    title = header[names[0]]
    return names[0] if not title or column_thing(title)[0] else -1


def _crossed(
    path: Path, rows: Iterator[tuple[int, list[str]]], header: Sequence[str], number: int
) -> Iterator[TableRecord | DroppedRow]:
    """An edge for each one in a table of ones and zeros; raises `SourceError` for others and of unknown things."""
    first = next(rows, (0, []))
    if (at := crossing(header, first[1])) < 0:
        mend = _TRIPLES_MEND if len(header) == 3 else COLUMNS_MEND
        raise SourceError(path, number, f"has columns that say nothing: {', '.join(header)[:80]}", mend)
    if not (kind := column_thing(header[at])[0]):
        mend = "call the column of names by what they are, such as drug or disease; findings of patients are no graph"
        raise SourceError(path, number, "does not say of what its ones and zeros are", mend)
    titles = [title.replace("_", " ") for title in header]
    for number, cells, blemish in fitted(path, chain([first], rows), len(header), len(header)):
        if blemish:
            yield blemish
        values = {title: cell.strip() for i, (title, cell) in enumerate(zip(titles, cells, strict=False)) if i != at}
        if not set(values.values()) <= _ONES | _ZEROS:
            yield DroppedRow("a cell that is neither one nor zero", number, path)
            continue
        for title in (title for title, value in values.items() if value in _ONES):
            ends = {"head": cells[at].strip(), "head_kind": kind, "tail": title}
            yield TableRecord(number, {"relation": TIED, **ends}, is_edge=True)


_LIST = re.compile(r"""\[(?:\s*+(?:'[^']*+'|"[^"]*+")\s*+,?)++\s*\]""")
_TEXT = re.compile(r"""'([^']*)'|"([^"]*)\"""")


def _each(said: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """The edges of a row, of which an end may be a list as Python and JSON write it.

    >>> [one["tail"] for one in _each({"head": "gout", "tail": "['swelling', 'pain']"})]
    ['swelling', 'pain']
    """
    lists = {
        end: [a or b for a, b in _TEXT.findall(said[end])] for end in ("head", "tail") if _LIST.fullmatch(said[end])
    }
    for chosen in product(*lists.values()):
        ends = dict(zip(lists, chosen, strict=True))
        yield {**said, **ends, **{f"{end}_name": name for end, name in ends.items()}}


def _unquoted(text: str) -> str:
    """A cell without the quotes around it, which `neo4j-admin` may be told to take, single or double.

    >>> _unquoted("'Crohn's colitis'"), _unquoted("5'")
    ("Crohn's colitis", "5'")
    """
    return text[1:-1].strip() if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"" else text


def relation_of(path: Path) -> str:
    """What a file of edges without a column for it says by its name.

    >>> relation_of(Path("edges_disease_has_symptom.csv.gz"))
    'disease_has_symptom'
    """
    return re.sub(r"^(?:edges?|rels?|relations?|relationships?)[_-]", "", name_of(path), flags=re.IGNORECASE)


def _of_json(path: Path) -> Iterator[TableRecord | DroppedRow]:
    """The records of JSON: APOC's nodes and relationships, or fields by name as KGX has them."""
    plain, of = TIED if is_document(path) else relation_of(path), thing_of(name_of(path))
    for number, entry in objects(path):
        if isinstance(entry, DroppedRow):
            yield entry
            continue
        yield _apoc(number, entry) if entry.get("type") in ("node", "relationship") else _kgx(number, entry, plain, of)


def _apoc(number: int, entry: Mapping[str, Any]) -> TableRecord:
    """A node or a relationship as APOC writes it: labels and properties apart from the id."""
    properties = {str(k).casefold(): flat(v) for k, v in _table(entry.get("properties")).items()}
    if entry["type"] == "relationship":
        start, end = _table(entry.get("start")), _table(entry.get("end"))
        said = {"head": flat(start.get("id")), "relation": flat(entry.get("label")), "tail": flat(end.get("id"))}
        said |= {"head_kind": flat(start.get("labels")), "tail_kind": flat(end.get("labels"))}
        said |= told_by(properties, ("weight", "references", *POLARITY))
        return TableRecord(number, {k: v for k, v in said.items() if v}, is_edge=True)
    said = told_by(properties, ("name", "description", "synonyms", "xrefs"))
    return TableRecord(number, said | {"id": flat(entry.get("id")), "kind": flat(entry.get("labels"))}, is_edge=False)


def _kgx(number: int, entry: Mapping[str, Any], plain: str, of: str) -> TableRecord:
    """A node or an edge as KGX writes it: fields by name; `plain` is the relation, `of` the kind, if none is told."""
    fields = {str(k).casefold(): flat(v) for k, v in entry.items()}
    if (known := columns_of(tuple(map(str, entry)))).fixed:
        cells = list(fields.values())
        tied = {"relation": TIED, **{what: cells[place] for what, place in known.places.items() if cells[place]}}
        return TableRecord(number, tied | dict(known.fixed), is_edge=True)
    is_edge = bool(told_by(fields, ("head",))) and bool(told_by(fields, ("tail",)))
    said = told_by(fields, OF_EDGES if is_edge else OF_NODES)
    if is_edge:
        return TableRecord(number, {"relation": plain} | said | _paired(entry), is_edge)
    return TableRecord(number, {"kind": of} | said, is_edge)


def _paired(entry: Mapping[str, Any]) -> dict[str, str]:
    """The ends that an edge names by their kind and id, as Hetionet does: ["Disease", "DOID:1"]."""
    found: dict[str, str] = {}
    for end in ("head", "tail"):
        ends = (value for key, value in entry.items() if str(key).casefold() in COLUMNS[end])
        if pair := next((value for value in ends if isinstance(value, list) and len(value) == 2), None):
            found |= {f"{end}_kind": flat(pair[0]), end: flat(pair[1])}
    return found


def _table(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def flat(value: Any) -> str:
    """A value as a cell would hold it; many between bars.

    >>> flat(["a", 1]), flat({"@value": "b"}), flat({"value": "c"}), flat({"d": "e"})
    ('a|1', 'b', 'c', '')
    """
    if isinstance(value, list):
        return "|".join(map(flat, value))
    if isinstance(value, dict):
        return flat(value.get("@value", value.get("value")))
    return "" if value is None else str(value).replace("\0", " ").strip()


def numbered(identifier: str, kind: str) -> str:
    """An id; a number, which things of several kinds may have, behind the kind.

    >>> numbered("7", "drug"), numbered("DB7", "drug")
    ('drug:7', 'DB7')
    """
    return f"{kind}:{identifier}" if kind and identifier.isdecimal() else identifier


def fields_of(properties: Mapping[str, Any], whats: tuple[str, ...]) -> dict[str, str]:
    """Properties by what they say."""
    return told_by({str(k).casefold(): flat(v) for k, v in properties.items()}, whats)


# --- From records to rows: ids become keys, kinds and relations what kgmed calls them, edges run one way.

_PADDED = {"HPO": "HP", "MONDO": "MONDO", "UBERON": "UBERON", "GO": "GO"}  # whose ids PrimeKG gives as numbers
_KNOWN = frozenset(KINDS.values())


@dataclass
class RecordReader:
    """Turns records into rows."""

    name: str
    relations: dict[str, Relation]  # filled as relations are met, before the edge that brings one is given
    kinds: dict[str, Kinds]
    _kind: dict[str, str] = field(default_factory=dict)  # key -> kind
    _edges: int = 0

    def again(self) -> "RecordReader":
        """The reader, at the beginning."""
        self._kind.clear()
        self._edges = 0
        return self

    def rows(self, files: Iterable[tuple[Path, Iterable[TableRecord | DroppedRow]]]) -> Iterator[Row]:
        """The rows of all records; raises `SourceError` where no file has an edge."""
        last = Path(self.name)
        for path, found in files:
            last = path
            for record in found:
                if isinstance(record, DroppedRow):
                    yield record
                else:
                    yield from self._edge(record) if record.is_edge else self._node(record)
        if not self._edges:
            raise SourceError(
                last, 0, "holds nodes and no edges", "name the folder that holds both, or " + COLUMNS_MEND
            )

    def key(self, identifier: str, source: str = "") -> str:
        """The key of an id: a CURIE stays one, what has no prefix gets that of its source or of the graph.

        >>> reader = RecordReader("mine", {}, {})
        >>> reader.key("DOID:1"), reader.key("Gene::9021"), reader.key("5090", "HPO"), reader.key("17")
        ('DOID:1', 'Gene:9021', 'HP:0005090', 'mine:17')
        """
        if identifier.isdecimal() and source in _PADDED:
            return f"{_PADDED[source]}:{identifier:0>7}"
        kind, twice, rest = identifier.partition("::")
        if twice:
            identifier = rest if ":" in rest else f"{kind}:{rest}"
        return identifier if ":" in identifier.strip(":") else f"{source or self.name}:{identifier}"

    def _node(self, record: TableRecord) -> Iterator[Row]:
        said = record.fields
        identifier = said.get("id") or said.get("name", "")
        if identifier in MISSING:
            yield DroppedRow("a node without id and name", record.line)
            return
        key, kind, name = self.key(identifier), kind_of(said.get("kind", "")), said.get("name", "")
        name = self._called(key, identifier) if name in MISSING else name
        self._kind[key] = kind
        other = [*_aliases(said["synonyms"], name, Scope.EXACT)] if "synonyms" in said else []
        other += _aliases(said["xrefs"], key, Scope.XREF) if "xrefs" in said else ()
        yield NodeRow(key, name, kind, said.get("description", ""), tuple(other))

    def _edge(self, record: TableRecord) -> Iterator[Row]:
        said = record.fields
        if any(said.get(end, "") in MISSING for end in ("head", "tail", "relation")):
            yield DroppedRow("an edge without both ends and a relation", record.line)
            return
        head, tail = (self.key(said[end], said.get(f"{end}_source", "")) for end in ("head", "tail"))
        for key, end in ((head, "head"), (tail, "tail")):
            name = said.get(f"{end}_name", "") or self._called(key, said[end])
            yield from self._end(key, name, said.get(f"{end}_kind", ""))
        self._edges += 1
        spoken, negated = unnegated(said["relation"])
        name = METAEDGES.get(spoken) or spoken.removeprefix("biolink:")  # Hetionet's letters as the verb
        head, relation, tail = self._directed(head, name, tail)
        edge = EdgeRow(head, relation, tail, weight_of(said.get("weight", "")), _support(said.get("references", "")))
        yield denied(edge, self.relations[relation], record.line) if negated or is_denied(said) else edge

    def _called(self, key: str, identifier: str) -> str:
        """The name of an entity that no table names: its id where that got the graph's prefix, as a name does."""
        return identifier if key == f"{self.name}:{identifier}" and not identifier.isdecimal() else ""

    def _end(self, key: str, name: str, kind: str) -> Iterator[NodeRow]:
        """The node at an end of an edge that says its name or kind, once."""
        if (name or kind) and key not in self._kind:
            self._kind[key] = kind_of(kind)
            yield NodeRow(key, name, self._kind[key])

    def _directed(self, head: str, relation: str, tail: str) -> tuple[str, str, str]:
        """The edge as its relation runs: tables that list each edge both ways under one name give it twice the same."""
        ends = self._kind.get(head, ""), self._kind.get(tail, "")
        known = self.relations.get(relation)
        if known is None:
            known = self.relations[relation] = role_between(relation, *ends)
        expected = self.kinds.get(relation) or kinds_of(known)
        against = known.role is not Role.OTHER and not _fits(expected, ends) and _fits(expected, ends[::-1])
        return (tail, relation, head) if against else (head, relation, tail)


def role_between(name: str, head: str, tail: str) -> Relation:
    """The relation of that name between two kinds: what the name suggests as far as the kinds allow it.

    That a drug treats a disease must be in the name: that both are tied does not say so.

    >>> [role_between(*of).role.value for of in (("presents", "disease", "symptom"), ("worsens", "drug", "disease"))]
    ['finding', 'other']
    >>> role_between("indication", "disease", "drug").reverse
    True
    """
    for words in (name, f"{name} {tail}", f"{head} {name} {tail}") if head and tail else (name,):
        guess = infer(words)
        if guess.role is not Role.OTHER and (words == name or guess.role is not Role.TREATS):
            if _fits(kinds_of(guess), (head, tail)):
                return Relation(name, guess.role, guess.reverse)
            if _fits(ENDS[guess.role] if guess.reverse else ENDS[guess.role][::-1], (head, tail)):
                return Relation(name, guess.role, not guess.reverse)
    return Relation(name)


def _fits(expected: Kinds, ends: Kinds) -> bool:
    """Whether two ends may be of these kinds; what nobody says fits, and kinds that kgmed has no word for."""
    return all(want in ("", have) or not have or want not in _KNOWN for want, have in zip(expected, ends, strict=True))


def _parts(text: str) -> Iterator[str]:
    """The parts of a cell of many; blanks around them are not searched for, which grows with the square of them."""
    return (part.strip() for part in _MANY.split(text))


def _aliases(text: str, name: str, scope: Scope) -> Iterator[Alias]:
    return (Alias(part, scope) for part in dict.fromkeys(_parts(text)) if part not in MISSING and part != name)


def _support(text: str) -> tuple[Support, ...]:
    return tuple(Support(part) for part in dict.fromkeys(_parts(text)) if part not in MISSING)
