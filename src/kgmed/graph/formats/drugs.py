"""Graphs of drugs as their publishers give them: MED-RT in XML, and DrugCentral as a dump of its database."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from xml.parsers import expat

from kgmed.errors import SourceError
from kgmed.graph.base import Alias, DroppedRow, EdgeRow, NodeRow, Row, Scope, Source
from kgmed.graph.formats.base import lines, need_file, open_bytes, reading
from kgmed.records import Relation, Role
from kgmed.registry import formats

# --- MED-RT: concepts and associations between them and those of RxNorm, MeSH and SNOMED CT.

_BLOCK = 1 << 17
_MEDRT = {
    relation.name: relation
    for relation in (
        Relation("may_treat", Role.TREATS),
        Relation("may_prevent", Role.PREVENTION, reverse=True),
        Relation("may_diagnose", Role.TESTS),
        Relation("CI_with", Role.CONTRAINDICATED),
        Relation("induces", Role.ADVERSE),
        Relation("has_active_ingredient", Role.INGREDIENT),
        Relation("Parent Of", Role.IS_A, reverse=True),
        *(Relation(name) for name in ("has_MoA", "has_PE", "has_EPC", "has_PK", "has_SC", "site_of_metabolism")),
    )
}
_MEDRT_KINDS = {
    "may_treat": ("drug", "disease"),
    "may_prevent": ("drug", "disease"),
    "may_diagnose": ("drug", "disease"),
    "CI_with": ("drug", ""),
    "induces": ("drug", ""),
    "has_active_ingredient": ("drug", "ingredient"),
}

_ENDS = tuple(f"{end}_{what}" for end in ("from", "to") for what in ("namespace", "code", "name"))
_NAMED = frozenset({"name", "code", "namespace", *_ENDS})


@formats.register("medrt", holds=("Core_MEDRT*.xml",), starts=("<terminology",))
def read_medrt(path: Path | None, *, name: str = "med-rt", release: str = "") -> Source:
    """MED-RT from its XML file, or the folder that holds it; raises `SourceError`, for damage when its turn comes."""
    if path is not None and path.is_dir():
        path = next(iter(sorted(path.glob("*MEDRT*.xml"))), path / "Core_MEDRT_XML.xml")
    file = need_file(path, "medrt")
    return Source(
        name=name,
        rows=lambda: _medrt_rows(file),
        release=release or _release_in(file),
        licence="MED-RT is of the US government; SNOMED CT and other names in it need a UMLS licence",
        language="en",
        relations=_MEDRT,
        kinds=_MEDRT_KINDS,
        inputs=(file,),
    )


def _release_in(path: Path) -> str:
    """The date in a file's name, as in Core_MEDRT_2026.07.06_XML.xml; "" if there is none."""
    return next((part for part in path.stem.split("_") if part[:2] == "20"), "")


def _medrt_rows(path: Path) -> Iterator[Row]:
    """A node for each concept, an edge for each association; ends in other vocabularies bear the name given there."""
    told: set[str] = set()
    for line, element, said in _elements(path, ("concept", "association")):
        if element == "concept":
            if code := said.get("code", ""):
                key = f"{said.get('namespace') or 'MED-RT'}:{code}"
                told.add(key)
                yield NodeRow(key, said.get("name", ""))
            continue
        ends = [(f"{said.get(f'{end}_namespace')}:{said.get(f'{end}_code', '')}", end) for end in ("from", "to")]
        if not all(said.get(f"{end}_code") and said.get(f"{end}_namespace") for _, end in ends) or "name" not in said:
            yield DroppedRow("an association without both ends and a name", line)
            continue
        for key, end in ends:
            if key not in told:
                told.add(key)
                yield NodeRow(key, said.get(f"{end}_name", ""))
        yield EdgeRow(ends[0][0], said["name"], ends[1][0])


def _elements(path: Path, wanted: tuple[str, ...]) -> Iterator[tuple[int, str, dict[str, str]]]:
    """The elements of some names as they end: line, name, and the texts of the fields right below them."""
    parser, found = expat.ParserCreate(), list[tuple[int, str, dict[str, str]]]()
    open_: list[str] = []
    said: dict[str, str] = {}
    text: list[str] = []

    def start(tag: str, _: dict[str, str]) -> None:
        open_.append(tag)
        text.clear()
        if tag in wanted:
            said.clear()

    def end(tag: str) -> None:
        open_.pop()
        if tag in wanted:
            found.append((parser.CurrentLineNumber, tag, dict(said)))
        elif open_ and open_[-1] in wanted and tag in _NAMED:
            said.setdefault(tag, " ".join("".join(text).split()))
        text.clear()

    def refuse(*_: object) -> None:
        raise SourceError(path, parser.CurrentLineNumber, "declares a document type", "fetch it again")

    parser.buffer_text = True
    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler, parser.StartDoctypeDeclHandler = text.append, refuse
    with reading(path), open_bytes(path) as file:
        while True:
            block = file.read(_BLOCK)
            try:
                parser.Parse(block, not block)
            except expat.ExpatError as error:
                problem = f"is no XML ({expat.ErrorString(error.code)})"
                raise SourceError(path, error.lineno, problem, "fetch it again") from error
            yield from found
            found.clear()
            if not block:
                return


# --- DrugCentral: what its database says of indications, by drug and concept.

_DRUGCENTRAL = {
    relation.name: relation
    for relation in (
        Relation("indication", Role.TREATS),
        Relation("off-label use", Role.TREATS),
        Relation("symptomatic treatment", Role.TREATS),
        Relation("contraindication", Role.CONTRAINDICATED),
        Relation("reduce risk", Role.PREVENTION, reverse=True),
        Relation("diagnosis", Role.TESTS),
    )
}
_TABLES = ("structures", "omop_relationship")
_ESCAPED = re.compile(r"\\(.)")


def _is_dump(first: Sequence[str]) -> int:
    """Whether the first lines are those of a dump."""
    return 3 * any("PostgreSQL database dump" in line for line in first)


@formats.register("drugcentral", looks=_is_dump)
def read_drugcentral(path: Path | None, *, name: str = "drugcentral", release: str = "") -> Source:
    """DrugCentral's drugs with their indications from a dump of its database, packed or not; raises `SourceError`."""
    file = need_file(path, "drugcentral")
    return Source(
        name=name,
        rows=lambda: _drugcentral_rows(file),
        release=release,
        licence="CC BY-SA 4.0",
        language="en",
        relations=_DRUGCENTRAL,
        kinds=dict.fromkeys(_DRUGCENTRAL, ("drug", "disease")),
        inputs=(file,),
    )


def _drugcentral_rows(path: Path) -> Iterator[Row]:
    """The drugs, and what is said of them: concepts by their UMLS or SNOMED CT id."""
    edges = 0
    for number, table, row in _copied(path):
        if table == "structures":
            drug, called = row.get("id", ""), row.get("name", "")
            if drug and called:
                aliases = (Alias(f"CAS:{row['cas_reg_no']}", Scope.XREF),) if row.get("cas_reg_no") else ()
                yield NodeRow(f"DrugCentral:{drug}", called, "drug", aliases=aliases)
            continue
        concept = next((f"{p}:{row[c]}" for c, p in _CONCEPTS if row.get(c)), "")
        if not (row.get("struct_id") and concept and row.get("relationship_name")):
            yield DroppedRow("an indication without drug, concept or relation", number)
            continue
        edges += 1
        snomed = row.get("snomed_conceptid") if not concept.startswith("SNOMEDCT") else ""
        aliases = (Alias(f"SNOMEDCT:{snomed}", Scope.XREF),) if snomed else ()
        yield NodeRow(concept, row.get("concept_name", ""), aliases=aliases)
        yield EdgeRow(f"DrugCentral:{row['struct_id']}", row["relationship_name"], concept)
    if not edges:
        raise SourceError(path, 0, "holds no table omop_relationship", "give the whole dump of DrugCentral")


_CONCEPTS = (("umls_cui", "umls"), ("snomed_conceptid", "SNOMEDCT"), ("concept_id", "OMOP"))


def _copied(path: Path) -> Iterator[tuple[int, str, dict[str, str]]]:
    """The rows of the tables that are read: line, table, cells by column, without those that are NULL."""
    table, columns = "", list[str]()
    for number, line in lines(path):
        if table and line == "\\.":
            table = ""
        elif table:
            cells = line.split("\t")
            if len(cells) != len(columns):
                raise SourceError(path, number, f"has {len(cells)} columns, not {len(columns)}", "fetch it again")
            yield number, table, {c: _plain(v) for c, v in zip(columns, cells, strict=True) if v != "\\N"}
        elif line.startswith("COPY "):
            named, _, rest = line.removeprefix("COPY ").removeprefix("public.").partition(" (")
            if named in _TABLES and (end := rest.find(")")) >= 0:
                table, columns = named, [column.strip().strip('"') for column in rest[:end].split(",")]


def _plain(cell: str) -> str:
    """A cell without PostgreSQL's escapes.

    >>> _plain(chr(92).join(("a", "tb", "", "c")))
    'a b\\\\c'
    """
    return _ESCAPED.sub(lambda found: "\\" if found[1] == "\\" else " ", cell) if "\\" in cell else cell
