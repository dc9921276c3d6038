"""A user's own tables in PostgreSQL as a graph, by a small mapping file; only read.

    language = "en"

    [kinds.disease]                       # a table (or a view) with a row an entity; "schema.table" in quotation marks
    id = "id"
    name = "title"
    aliases = ["synonyms"]                # columns of texts or of lists of texts
    description = "definition"
    kind = "disease"                      # or kind_column = "type"; the table's name where neither is said
    prefix = "disease:"                   # put before ids; that is the default where there are several tables
    texts = { dosage = "dosage" }         # column = role

    [[aliases]]                           # other names in a table of their own
    of = "disease"
    table = "disease_name"
    entity = "disease_id"
    name = "text"
    scope = "translation"                 # see `graph.base.Scope`; "exact" where it is not said

    [relations.disease_symptom]           # a table with a row a triple
    head = { disease = "disease_id" }     # table of [kinds] = column that holds its id
    tail = { symptom = "symptom_id" }
    name = "has symptom"
    role = "finding"
    weight = "share"
    references = ["pmid"]
    qualifiers = ["frequency"]

    [relations.fact]                      # triples of several relations, named in a column; others are left out
    head = { thing = "subject" }
    tail = { thing = "object" }
    column = "predicate"
    roles = { treats = "treats", causes = { name = "caused by", role = "cause", reverse = true } }

What the file names is quoted as an identifier and looked up in the catalogue first; a value is always bound; there is
no way to write a condition or an expression: for those make a view.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kgmed.errors import BadInput, Unavailable
from kgmed.graph.base import Scope
from kgmed.graph.remote.database import (
    ABOUT,
    ALIAS,
    CALLED,
    alike,
    known,
    proposed,
    read_toml,
    relation_of,
    toml,
    words,
)
from kgmed.graph.remote.postgres import Address, Postgres
from kgmed.language.text import fold
from kgmed.records import Relation


@dataclass(frozen=True)
class KindTable:
    """A table whose rows are entities."""

    table: str
    kind: str
    id: str = "id"
    name: str = "name"
    aliases: tuple[str, ...] = ()
    description: str = ""
    kind_column: str = ""
    prefix: str = ""
    texts: Mapping[str, int] = field(default_factory=dict)  # column -> relation number


@dataclass(frozen=True)
class NameTable:
    """A table whose rows are other names of the entities of a `KindTable`, given by its place."""

    of: int
    table: str
    entity: str
    name: str
    scope: int


@dataclass(frozen=True)
class Triples:
    """A table whose rows are triples; each end is the place of a `KindTable` and a column."""

    table: str
    head: tuple[int, str]
    tail: tuple[int, str]
    relations: Mapping[str, int]  # value of the column -> relation number; "" where there is no column
    column: str = ""
    weight: str = ""
    references: tuple[str, ...] = ()
    qualifiers: tuple[str, ...] = ()


@dataclass(frozen=True)
class TableMapping:
    """What a mapping file says."""

    file: str
    kinds: tuple[KindTable, ...]
    names: tuple[NameTable, ...]
    triples: tuple[Triples, ...]
    relations: tuple[Relation, ...]  # those of triples, then those of texts
    language: str = "en"

    def columns(self) -> Iterator[tuple[str, str]]:
        """Every table and column that the file names."""
        for k in self.kinds:
            yield from ((k.table, c) for c in (k.id, k.name, *k.aliases, k.description, k.kind_column, *k.texts) if c)
        for n in self.names:
            yield from ((n.table, n.entity), (n.table, n.name))
        for t in self.triples:
            said = t.head[1], t.tail[1], t.column, t.weight, *t.references, *t.qualifiers
            yield from ((t.table, column) for column in said if column)


# --- The mapping file.

_OF_KIND = {"id": str, "name": str, "kind": str, "kind_column": str, "prefix": str, "description": str,
            "aliases": list, "texts": dict}  # fmt: skip
_OF_NAMES = {"of": str, "table": str, "entity": str, "name": str, "scope": str}
_OF_TRIPLES = {"head": dict, "tail": dict, "name": str, "role": str, "reverse": bool, "column": str, "roles": dict,
               "weight": str, "references": list, "qualifiers": list}  # fmt: skip


def read_tables(path: Path) -> TableMapping:
    """The mapping in a TOML file; raises `BadInput` naming the file and what is wrong in it."""
    told = read_toml(path, ("language", "kinds", "aliases", "relations"))
    for key, kind in {"kinds": dict, "relations": dict, "aliases": list, "language": str}.items():
        if not isinstance(told.get(key, kind()), kind):
            raise BadInput(f"{path}: {key} must be {_WORD[kind]}")
    if not told.get("kinds"):
        raise BadInput(f'{path}: it names no table; write for example: [kinds.disease] then name = "title"')
    places = {table: i for i, table in enumerate(told["kinds"])}
    relations: list[Relation] = []
    triples = tuple(
        _triples(path, table, row, places, relations)
        for table, rows in told.get("relations", {}).items()
        for row in (rows if isinstance(rows, list) else [rows])
    )
    kinds = tuple(_kind(path, table, row, len(places), relations) for table, row in told["kinds"].items())
    names = tuple(_names(path, row, places) for row in told.get("aliases", ()))
    return TableMapping(str(path), kinds, names, triples, tuple(relations), told.get("language", "en"))


_WORD: dict[type, str] = {str: "a text", list: "a list of texts", dict: "a table", bool: "true or false"}


def _checked(path: Path, what: str, row: Any, keys: Mapping[str, type]) -> dict[str, Any]:
    """A table of the file whose values are of the right types."""
    if not isinstance(row, dict):
        raise BadInput(f"{path}: {what} must be a table")
    known(path, row, keys, what)
    for key, value in row.items():
        texts = not isinstance(value, list) or all(isinstance(one, str) and one for one in value)
        if not isinstance(value, keys[key]) or not texts:
            raise BadInput(f"{path}: {key} of {what} must be {_WORD[keys[key]]}")
    return row


def _kind(path: Path, table: str, told: Any, tables: int, relations: list[Relation]) -> KindTable:
    row = _checked(path, f"[kinds.{table}]", told, _OF_KIND)
    called = table.rpartition(".")[2]
    texts = {}
    for column, said in row.get("texts", {}).items():
        texts[str(column)] = len(relations)
        relations.append(relation_of(path, str(column), said))
    return KindTable(
        table, row.get("kind", "" if row.get("kind_column") else called), row.get("id", "id"), row.get("name", "name"),
        tuple(row.get("aliases", ())), row.get("description", ""), row.get("kind_column", ""),
        row.get("prefix", f"{called}:" if tables > 1 else ""), texts,
    )  # fmt: skip


def _names(path: Path, told: Any, places: Mapping[str, int]) -> NameTable:
    row = _checked(path, "[[aliases]]", told, _OF_NAMES)
    if missing := [key for key in ("of", "table", "entity", "name") if not row.get(key)]:
        raise BadInput(f"{path}: [[aliases]] needs {missing[0]}")
    try:
        scope = Scope[row.get("scope", "exact").upper()]
    except KeyError:
        raise BadInput(
            f"{path}: there is no scope {row['scope']!r}; scopes: {', '.join(s.name.lower() for s in Scope)}"
        ) from None
    return NameTable(_place(path, row["of"], places), row["table"], row["entity"], row["name"], int(scope))


def _triples(path: Path, table: str, told: Any, places: Mapping[str, int], relations: list[Relation]) -> Triples:
    what = f"[relations.{table}]"
    row = _checked(path, what, told, _OF_TRIPLES)
    ends = []
    for key in ("head", "tail"):
        if len(row.get(key, {})) != 1 or not isinstance(next(iter(row[key].values())), str):
            raise BadInput(f'{path}: {what} needs for example: {key} = {{ disease = "disease_id" }}')
        ((of, column),) = row[key].items()
        ends.append((_place(path, of, places), column))
    if bool(row.get("column")) != bool(row.get("roles")):
        raise BadInput(f"{path}: {what} needs both column and roles, or role alone")
    said = row["roles"] if row.get("column") else {"": {"name": table.rpartition(".")[2].replace("_", " ")} | row}
    numbers = {}
    for value, one in said.items():
        relation = relation_of(path, value or table, one)
        numbers[value] = relations.index(relation) if relation in relations else len(relations)
        relations.extend([relation] if relation not in relations else [])
    return Triples(
        table, ends[0], ends[1], numbers, row.get("column", ""), row.get("weight", ""),
        tuple(row.get("references", ())), tuple(row.get("qualifiers", ())),
    )  # fmt: skip


def _place(path: Path, table: str, places: Mapping[str, int]) -> int:
    if table not in places:
        raise BadInput(f"{path}: {table!r} is none of [kinds]: {', '.join(places)}")
    return places[table]


# --- A mapping that is proposed from the catalogue.

_COLUMNS = """
SELECT CASE n.nspname WHEN 'public' THEN '' ELSE n.nspname || '.' END || c.relname,
  array_agg(a.attname ORDER BY a.attnum)
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND a.attnum > 0 AND NOT a.attisdropped
  AND n.nspname NOT LIKE 'pg\\_%%' AND n.nspname <> 'information_schema' AND n.nspname NOT LIKE 'kgmed\\_%%'
  AND has_table_privilege(c.oid, 'SELECT')
GROUP BY c.oid, n.nspname, c.relname ORDER BY 1"""
_KEYS = """
SELECT CASE n.nspname WHEN 'public' THEN '' ELSE n.nspname || '.' END || c.relname, k.contype::text, a.attname,
  coalesce(CASE m.nspname WHEN 'public' THEN '' ELSE m.nspname || '.' END || f.relname, '')
FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.conkey[1]
LEFT JOIN pg_class f ON f.oid = k.confrelid LEFT JOIN pg_namespace m ON m.oid = f.relnamespace
WHERE k.contype IN ('p', 'f') AND cardinality(k.conkey) = 1 ORDER BY 1, a.attnum"""


def propose(address: Address) -> str:
    """A mapping file for the tables that the user may read: by their keys and what their columns are called.

    Raises `Unavailable` where no table looks like one of entities.
    """
    server = Postgres(address)
    try:
        columns = {str(table): list(map(str, names)) for table, names in server.run(_COLUMNS, {})}
        keys = [tuple(map(str, row)) for row in server.run(_KEYS, {})]
    finally:
        server.close()
    own = {table: column for table, what, column, _ in keys if what == "p"}
    lead = {table: [(c, to) for one, what, c, to in keys if what == "f" and one == table] for table in columns}
    others = {t for t in columns if len(lead[t]) == 1 and any(part in t for part in (*ALIAS, "name"))}
    entities = {t: own[t] for t in columns if t in own and t not in others and alike(columns[t], CALLED)}
    if not entities:
        raise Unavailable(f"{address.where} has no table with a key and a name that may be read; write the mapping")
    lines = [f"# the tables of {address.where}, as kgmed reads them; mend it and ask with ?map=FILE", 'language = "en"']
    lines += [line for table, key in entities.items() for line in _proposed_kind(table, key, columns[table])]
    for table in sorted(others):
        ((column, to),) = lead[table]
        if to in entities and (said := alike(columns[table], (*CALLED, *ALIAS, "text"))):
            lines += ["", "[[aliases]]", f"of = {toml(to)}", f"table = {toml(table)}", f"entity = {toml(column)}",
                      f"name = {toml(said)}"]  # fmt: skip
    for table, found in lead.items():
        ends = [(to, column) for column, to in found if to in entities]
        if table in entities:
            for end in ends:
                lines += _proposed_triples(table, (table, entities[table]), end, [])
        elif table not in others and len(ends) > 1:
            lines += _proposed_triples(table, ends[0], ends[1], columns[table])
    return "\n".join(lines) + "\n"


def _proposed_kind(table: str, key: str, columns: Sequence[str]) -> list[str]:
    called = words(table.rpartition(".")[2])
    aliases = [c for c in columns if any(part in c.lower() for part in ALIAS)]
    return ["", f"[kinds.{toml(table)}]", f"id = {toml(key)}", f"name = {toml(alike(columns, CALLED))}",
            f"kind = {toml(called if ' ' in called else fold(called) or called)}",
            *([f"aliases = [{', '.join(map(toml, aliases))}]"] if aliases else []),
            *([f"description = {toml(about)}"] if (about := alike(columns, ABOUT)) else [])]  # fmt: skip


def _proposed_triples(table: str, head: tuple[str, str], tail: tuple[str, str], columns: Sequence[str]) -> list[str]:
    called = table.rpartition(".")[2] if columns else tail[1].removesuffix("_id")
    ends = [f"{end} = {{ {toml(of)} = {toml(column)} }}" for end, (of, column) in (("head", head), ("tail", tail))]
    refs = [c for c in columns if c.lower() in ("pmid", "pmids", "reference", "references")]
    more = [f"references = [{', '.join(map(toml, refs))}]"] if refs else []
    return ["", f"[[relations.{toml(table)}]]", *ends, *proposed(called).split(", "), *more]
