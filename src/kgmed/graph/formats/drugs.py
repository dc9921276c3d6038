"""Graphs of drugs as their publishers give them: MED-RT in XML, DrugCentral's dump, PharmacotherapyDB's table."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from xml.parsers import expat

from kgmed.errors import SourceError
from kgmed.graph.base import Alias, DroppedRow, EdgeRow, NodeRow, Row, Scope, Source
from kgmed.graph.formats.base import name_of, need_file, open_bytes, reading, records
from kgmed.graph.formats.scripts import dumped
from kgmed.records import Relation, Role, Support
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
    for number, table, row in dumped(path, _TABLES):
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


# --- PharmacotherapyDB: pairs of drug and disease that physicians judged, from its table `indications.tsv`.
# Each pair is disease modifying (`modifies`), symptomatic (`relieves`) or no indication (`not_indicated_for`, which is
# no contraindication). How many curators and resources stand behind it is kept with the triple.

_INDICATIONS = ("doid_id", "drugbank_id", "disease", "drug", "category")
_OF = {"DM": "modifies", "SYM": "relieves", "NOT": "not_indicated_for"}
_OF_PAIRS = (
    Relation("modifies", Role.TREATS),
    Relation("relieves", Role.TREATS),
    Relation("not_indicated_for"),
)
_COUNTS = {"n_curators": "curators", "n_resources": "resources"}
_PAIRS_MEND = "fetch the table again"


@formats.register(
    "pharmacotherapydb", looks=lambda first: 3 if set(_INDICATIONS) <= set(first[0].rstrip().split("\t")) else 0
)
def read_pharmacotherapydb(path: Path | None, *, name: str = "", release: str = "") -> Source:
    """The graph of a table of indications; raises `SourceError`, for a damaged row when its turn comes."""
    file = need_file(path, "pharmacotherapydb")
    return Source(
        name=name or name_of(file),
        rows=lambda: _indication_rows(file),
        release=release,
        language="en",
        relations={relation.name: relation for relation in _OF_PAIRS},
        kinds={relation.name: ("drug", "disease") for relation in _OF_PAIRS},
        inputs=(file,),
    )


def _indication_rows(path: Path) -> Iterator[Row]:
    table = records(path, "\t")
    number, head = next(table, (0, []))
    head = [cell.strip() for cell in head]
    if missing := [column for column in _INDICATIONS if column not in head]:
        raise SourceError(path, number, f"has no column {', '.join(missing)}", _PAIRS_MEND)
    met: set[str] = set()
    for number, cells in table:
        if len(cells) != len(head):
            raise SourceError(path, number, f"has {len(cells)} columns, not the {len(head)} of the header", _PAIRS_MEND)
        yield from _pair(path, number, dict(zip(head, map(str.strip, cells), strict=True)), met)


def _pair(path: Path, number: int, row: dict[str, str], met: set[str]) -> Iterator[Row]:
    """A pair, after its ends where they are met for the first time."""
    relation = _OF.get(row["category"])
    ends: Sequence[tuple[str, str, str]] = (
        (f"DRUGBANK:{row['drugbank_id']}", row["drug"], "drug"),
        (row["doid_id"], row["disease"], "disease"),
    )
    if relation is None or not all(key.rpartition(":")[2] and name for key, name, _ in ends):
        problem = f"has the category {row['category'][:9]!r}, or lacks a name or an id"
        raise SourceError(path, number, problem, f"write one of {', '.join(_OF)}, and both ids and names")
    for key, name, kind in ends:
        if key not in met:
            met.add(key)
            yield NodeRow(key, name, kind)
    counted = tuple((said, row[column]) for column, said in _COUNTS.items() if row.get(column))
    yield EdgeRow(ends[0][0], relation, ends[1][0], 1.0, (Support("", counted),))
