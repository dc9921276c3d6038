"""Tables of nodes and of edges, as graphs are published: delimited files or JSON Lines, alone, in a folder or a zip.

Read by what their columns are called: Hetionet (nodes.tsv and edges.sif), PrimeKG (one table with both ends), Neo4j's
import files (`:ID`, `:LABEL`, `:START_ID`, `:END_ID`, `:TYPE`), APOC's CSV and JSON, KGX (TSV and JSON Lines), and
folders of node files and edge files of one's own. What a column is called is a table here; what yours are called
instead says a TOML file (`kgmed graph build NAME PATH --map FILE`), one line each: `head = "my column"`.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from kgmed import toml
from kgmed.errors import SourceError
from kgmed.graph.base import Alias, DroppedRow, EdgeRow, NodeRow, Row, Scope, Source
from kgmed.graph.formats.base import (
    ENDS,
    KINDS,
    Kinds,
    RoleTable,
    check_file,
    first_lines,
    infer,
    kind_of,
    kinds_of,
    name_of,
    records,
    roles_from_toml,
    separator,
)
from kgmed.graph.formats.json_records import is_document, objects
from kgmed.graph.formats.triples import MISSING
from kgmed.records import Relation, Role, Support
from kgmed.registry import formats

# --- What a column says, by what it is called; of several that say the same, the first in this order counts.

COLUMNS: Mapping[str, tuple[str, ...]] = {
    "head": (
        *("head", "subject", "source_id", "start_id", "head_id", "x_id", "_start", "subject_id", "from_id", "source"),
        *("start", "from", "node1", "entity1", "头实体", "主语", "实体1", "x_index"),
    ),
    "tail": (
        *("tail", "object", "target_id", "end_id", "tail_id", "y_id", "_end", "object_id", "to_id", "target"),
        *("end", "to", "node2", "entity2", "尾实体", "宾语", "实体2", "y_index"),
    ),
    "relation": (
        *("relation", "predicate", "metaedge", "_type", "edge_type", "rel_type", "relationship", "rel", "type"),
        *("edge", "edge_label", "interaction", "label", "关系", "谓语"),
    ),
    "head_name": ("x_name", "head_name", "subject_name", "source_name", "head_label"),
    "tail_name": ("y_name", "tail_name", "object_name", "target_name", "tail_label"),
    "head_kind": ("x_type", "head_type", "subject_category", "source_type", "head_kind"),
    "tail_kind": ("y_type", "tail_type", "object_category", "target_type", "tail_kind"),
    "head_source": ("x_source",),
    "tail_source": ("y_source",),
    "weight": ("weight", "score", "confidence", "权重"),
    "references": ("references", "reference", "publications", "pmids", "pmid", "pubmed_ids", "参考文献"),
    "id": (
        *("_id", "id", "node_index", "node_id", "identifier", "curie", "entity_id", "concept_id", "cui", "code"),
        *("编号", "key"),
    ),
    "name": ("name", "node_name", "preferred_name", "preferred_label", "label", "title", "term", "名称", "entity"),
    "kind": ("kind", "category", "node_type", "_labels", "labels", "type", "semantic_type", "类型", "类别"),
    "description": ("description", "definition", "comment", "描述", "定义"),
    "synonyms": ("synonym", "synonyms", "aliases", "alias", "alternative_names", "同义词", "别名"),
    "xrefs": ("xref", "xrefs", "same_as", "equivalent_identifiers", "cross_references", "node_id"),
}
_OF_EDGES = tuple(COLUMNS)[: tuple(COLUMNS).index("id")]
_OF_NODES = tuple(COLUMNS)[len(_OF_EDGES) :]
_NEO4J = re.compile(r":(?P<what>START_ID|END_ID|ID|LABEL|TYPE)(?:\((?P<space>[^()]*)\))?$", re.IGNORECASE)
_TYPED = re.compile(r":[a-z]+(?:\[\])?$", re.IGNORECASE)  # "name:string", "synonyms:string[]"
_HEADER = re.compile(r"[-_.]headers?$", re.IGNORECASE)
_MANY = re.compile(r"[|;；]")
_SUFFIXES = (".tsv", ".csv", ".txt", ".sif", ".jsonl", ".json", ".tab")
_PACKED = (".gz", ".xz", ".bz2")
COLUMNS_MEND = 'name its columns in a TOML file, as in: head = "my column", and give it by --map'
_TRIPLES_MEND = (
    f"{COLUMNS_MEND}; if these are triples without a header, give each file of its own, or all joined: "
    "cat FOLDER/* | kgmed graph build NAME -"
)
_ENDS = (("head", "tail"), ("subject", "object"), ("source", "target"))  # by which a list of triples is told


class TableRecord(NamedTuple):
    """A node or an edge on its way in: its fields by what they say, and the line it comes from."""

    line: int
    fields: Mapping[str, str]
    is_edge: bool


@lru_cache(maxsize=64)
def said_by(header: tuple[str, ...], own: tuple[tuple[str, str], ...] = ()) -> dict[str, int]:
    """What the columns say -> their places; `own` = (what, column) as the user named them.

    >>> said_by(("uid:ID(Disease)", "name:string", ":LABEL"))
    {'name': 1, 'id': 0, 'kind': 2}
    >>> said_by(("source", "metaedge", "target"))
    {'head': 0, 'tail': 2, 'relation': 1}
    """
    called: dict[str, int] = {}
    places: dict[str, int] = {}
    for place, cell in enumerate(header):
        neo4j = _NEO4J.search(cell.strip())
        if neo4j:
            places[_NEO4J_SAYS[neo4j["what"].upper()]] = place
        called.setdefault(_TYPED.sub("", cell.strip()).casefold(), place)
    of_edge = {what: p for what in _OF_EDGES if (p := _first(called, COLUMNS[what])) >= 0}
    is_edge = {"head", "tail"} <= of_edge.keys() | places.keys()
    words = COLUMNS if "_labels" in called else _OF_EDGES if is_edge else _OF_NODES
    found = {what: p for what in words if (p := _first(called, COLUMNS[what])) >= 0} | places
    return _apart(found) | {what: called[name.casefold()] for what, name in own if name.casefold() in called}


_NEO4J_SAYS = {"START_ID": "head", "END_ID": "tail", "ID": "id", "LABEL": "kind", "TYPE": "relation"}


def _first(called: Mapping[str, int], names: Sequence[str]) -> int:
    return next((called[name] for name in names if name in called), -1)


def _apart(found: dict[str, int]) -> dict[str, int]:
    """The places without a second meaning of a column that has one."""
    by_place: dict[int, str] = {}
    for what, place in found.items():
        by_place.setdefault(place, what)
    return {what: place for place, what in by_place.items()}


def _spaces(header: Sequence[str]) -> dict[str, str]:
    """The id spaces that Neo4j's columns name, by what the column says."""
    found = [(m["what"].upper(), m["space"]) for cell in header if (m := _NEO4J.search(cell.strip())) and m["space"]]
    return {_NEO4J_SAYS[what]: space for what, space in found}


# --- Files: which belong to the graph, and their records.


def _claims(first: Sequence[str]) -> int:
    """How sure the first lines are of a table of both: ends with ids, names and kinds, or nodes and edges in one."""
    head = first[0].strip()
    if head.startswith(("{", "[")):
        text = "".join(first).strip()
        apoc = '"type"' in text and ('"node"' in text or '"relationship"' in text)
        ends = is_document(text) and any(f'"{a}"' in text and f'"{b}"' in text for a, b in _ENDS)
        return 3 if apoc or ends or (head.startswith("{") and is_document(text)) else 0
    cells = {cell.strip().strip('"').casefold() for cell in head.split(separator(head, 3) or "\t")}
    both = {"x_id", "y_id", "x_name"} <= cells or {"_id", "_labels"} <= cells
    return 3 if both or any(_NEO4J.search(cell) for cell in cells) or {"metaedge"} <= cells else 0


@formats.register(
    "tables",
    holds=("*.csv*", "*.tsv*", "*.sif*", "*.jsonl*"),
    looks=_claims,
)
def read_tables(
    path: Path | None, *, name: str = "", release: str = "", roles: Path | None = None, columns: Path | None = None
) -> Source:
    """The graph of a table, or of a folder of tables, of nodes and edges; raises `SourceError`."""
    files = _files(path)
    name = name or name_of(files[0] if path is None else path)
    table = roles_from_toml(roles) if roles else RoleTable({}, {})
    own = own_columns(columns) if columns else ()
    kinds = dict(table.kinds)
    reader = RecordReader(name, dict(table.relations), kinds)
    return Source(
        name=name,
        rows=lambda: reader.again().rows(_records(files, own)),
        release=release,
        relations=reader.relations,
        kinds=kinds,
        inputs=(*files, *(extra for extra in (roles, columns) if extra)),
    )


def own_columns(path: Path) -> tuple[tuple[str, str], ...]:
    """(what, column) of a user's TOML file; raises `SourceError`."""
    check_file(path)
    said = toml.read(path)
    for what, column in said.items():
        if what not in COLUMNS or not isinstance(column, str):
            raise SourceError(
                path, 0, f"{what!r} is nothing that a column can say", f"choose from {', '.join(COLUMNS)}"
            )
    return tuple(said.items())


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


def _records(files: Sequence[Path], own: tuple[tuple[str, str], ...]) -> Iterator[tuple[Path, Iterable[TableRecord]]]:
    """The records of every file, files of nodes first, so that the kinds of their ends are known when edges come."""
    headers = _headers(files)
    files = [file for file in files if file not in headers.values()]
    first = {file: _opening(headers.get(file, file)) for file in files}
    holders = sorted(files, key=lambda file: _is_edges(first[file], own))
    for file in holders:
        line = first[file]
        if line.startswith(("{", "[")):
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


def _opening(path: Path) -> str:
    return next((line for line in map(str.lstrip, first_lines(path, 100)) if line), "")


def _is_edges(line: str, own: tuple[tuple[str, str], ...]) -> bool:
    if line.startswith("{"):
        return any(word in line for word in ('"relationship"', '"predicate"', '"start"', '"object"'))
    cells = line.replace('"', "").split(separator(line, 2) or "\t")
    return {"head", "tail"} <= said_by(tuple(cells), own).keys()


def _delimited(path: Path, apart: Path | None, line: str, own: tuple[tuple[str, str], ...]) -> Iterator[TableRecord]:
    """The records of a delimited file, whose header begins it or is in a file `apart`."""
    mark = separator(line, 2)
    if not mark:
        raise SourceError(path, 1, f"is no table: {line[:40]!r} has one column", "separate columns by tabs or commas")
    rows = records(path, mark)
    number, header = next(records(apart, mark) if apart else rows)
    header = [cell.strip().strip('"') for cell in header]
    places = said_by(tuple(header), own)
    edges, nodes = {"head", "tail"} <= places.keys(), bool({"id", "name"} & places.keys())
    if not (edges or nodes):
        mend = _TRIPLES_MEND if len(header) == 3 else COLUMNS_MEND
        raise SourceError(path, number, f"has columns that say nothing: {', '.join(header)[:80]}", mend)
    spaces = _spaces(header)
    plain = relation_of(path) if edges and "relation" not in places else ""
    for number, cells in rows:
        if len(cells) != len(header):
            problem = f"has {len(cells)} columns, not the {len(header)} of the header"
            raise SourceError(path, number, problem, "mend that line")
        said = {what: text for what, p in places.items() if (text := cells[p].strip().strip('"'))}
        if spaces:
            said |= {what: f"{space}:{said[what]}" for what, space in spaces.items() if what in said}
        is_edge = edges and "head" in said and "tail" in said
        yield TableRecord(
            number, {"relation": plain} | said if is_edge and plain else said, is_edge or (edges and not nodes)
        )


def relation_of(path: Path) -> str:
    """What a file of edges without a column for it says by its name.

    >>> relation_of(Path("edges_disease_has_symptom.csv.gz"))
    'disease_has_symptom'
    """
    return re.sub(r"^(?:edges?|rels?|relations?|relationships?)[_-]", "", name_of(path), flags=re.IGNORECASE)


def _of_json(path: Path) -> Iterator[TableRecord]:
    """The records of JSON: APOC's nodes and relationships, or fields by name as KGX has them."""
    for number, entry in objects(path):
        yield _apoc(number, entry) if entry.get("type") in ("node", "relationship") else _kgx(number, entry)


def _apoc(number: int, entry: Mapping[str, Any]) -> TableRecord:
    """A node or a relationship as APOC writes it: labels and properties apart from the id."""
    properties = {str(k).casefold(): flat(v) for k, v in _table(entry.get("properties")).items()}
    if entry["type"] == "relationship":
        start, end = _table(entry.get("start")), _table(entry.get("end"))
        said = {"head": flat(start.get("id")), "relation": flat(entry.get("label")), "tail": flat(end.get("id"))}
        said |= {"head_kind": flat(start.get("labels")), "tail_kind": flat(end.get("labels"))}
        said |= _named(properties, ("weight", "references"))
        return TableRecord(number, {k: v for k, v in said.items() if v}, is_edge=True)
    said = _named(properties, ("name", "description", "synonyms", "xrefs"))
    return TableRecord(number, said | {"id": flat(entry.get("id")), "kind": flat(entry.get("labels"))}, is_edge=False)


def _kgx(number: int, entry: Mapping[str, Any]) -> TableRecord:
    """A node or an edge as KGX writes it: fields by name."""
    fields = {str(k).casefold(): flat(v) for k, v in entry.items()}
    is_edge = bool(_named(fields, ("head",))) and bool(_named(fields, ("tail",)))
    return TableRecord(number, _named(fields, _OF_EDGES if is_edge else _OF_NODES), is_edge)


def _table(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def flat(value: Any) -> str:
    """A value as a cell would hold it; many between bars."""
    if isinstance(value, list):
        return "|".join(map(flat, value))
    return "" if value is None or isinstance(value, dict) else str(value).replace("\0", " ").strip()


def _named(fields: Mapping[str, str], whats: Sequence[str]) -> dict[str, str]:
    """The fields by what they say."""
    found = ((what, next((fields[n] for n in COLUMNS[what] if fields.get(n)), "")) for what in whats)
    return {what: text for what, text in found if text}


# --- From records to rows: ids become keys, kinds and relations what kgmed calls them, edges run one way.

_PADDED = {"HPO": "HP", "MONDO": "MONDO", "UBERON": "UBERON", "GO": "GO"}  # whose ids PrimeKG gives as numbers
_KNOWN = frozenset(KINDS.values())
_HETIONET: Mapping[str, str] = {
    metaedge: verb
    for verb, metaedges in {
        "downregulates": "AdG CdG DdG",
        "upregulates": "AuG CuG DuG",
        "expresses": "AeG",
        "binds": "CbG",
        "causes side effect": "CcSE",
        "palliates": "CpD",
        "resembles": "CrC DrD",
        "treats": "CtD",
        "associates": "DaG",
        "localizes": "DlA",
        "presents symptom": "DpS",
        "covaries": "GcG",
        "interacts": "GiG",
        "participates": "GpBP GpCC GpMF GpPW",
        "regulates": "Gr>G",
        "includes": "PCiC",
    }.items()
    for metaedge in metaedges.split()
}


def _spoken(relation: str) -> str:
    """The name of a relation without the prefix of its vocabulary, and Hetionet's letters as the verb."""
    return _HETIONET.get(relation) or relation.removeprefix("biolink:")


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

    def rows(self, files: Iterable[tuple[Path, Iterable[TableRecord]]]) -> Iterator[Row]:
        """The rows of all records; raises `SourceError` where no file has an edge."""
        last = Path(self.name)
        for path, found in files:
            last = path
            for record in found:
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
        other = (
            *_aliases(said.get("synonyms", ""), name, Scope.EXACT),
            *_aliases(said.get("xrefs", ""), key, Scope.XREF),
        )
        yield NodeRow(key, name, kind, said.get("description", ""), other)

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
        head, relation, tail = self._directed(head, _spoken(said["relation"]), tail)
        yield EdgeRow(head, relation, tail, _weight(said.get("weight", "")), _support(said.get("references", "")))

    def _called(self, key: str, identifier: str) -> str:
        """The name of an entity to which no table gives one: its id where that got the graph's prefix, as a name does.

        >>> reader = RecordReader("mine", {}, {})
        >>> [reader._called(reader.key(text), text) for text in ("gout", "DOID:1", "17")]
        ['gout', '', '']
        """
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

    >>> role_between("presents", "disease", "symptom").role.value, role_between("binds", "drug", "gene").role.value
    ('finding', 'other')
    >>> role_between("indication", "disease", "drug").reverse
    True
    """
    for words in (name, f"{name} {tail}", f"{head} {name} {tail}"):
        guess = infer(words)
        if guess.role is not Role.OTHER:
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


def _weight(text: str) -> float:
    """A weight between 0 and 1; what is no such number is a score of the table's own, and counts 1."""
    try:
        weight = float(text or 1)
    except ValueError:
        return 1.0
    return weight if 0 <= weight <= 1 else 1.0


def _support(text: str) -> tuple[Support, ...]:
    return tuple(Support(part) for part in dict.fromkeys(_parts(text)) if part not in MISSING)
