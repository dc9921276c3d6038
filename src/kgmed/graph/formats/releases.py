"""Vocabularies and graphs as their publishers release them: MED-RT and Orphadata in XML, DrugCentral's dump,
PharmacotherapyDB's table, SNOMED CT in RF2, translations of ontologies as Babelon tables, and abstracts with
concepts marked in PubTator.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple
from xml.etree.ElementTree import Element

from kgmed.errors import BadInput, SourceError
from kgmed.graph.base import Alias, DroppedRow, EdgeRow, NodeRow, Row, Scope, Source
from kgmed.graph.formats.base import (
    check_file,
    elements,
    empty,
    kind_of,
    lines,
    name_of,
    need_file,
    published,
    reading,
    text_at,
    wanted_cells,
)
from kgmed.graph.formats.obo import UNSTATED
from kgmed.graph.formats.scripts import dumped
from kgmed.records import Relation, Role, Support
from kgmed.registry import formats

# --- MED-RT: concepts and associations between them and those of RxNorm, MeSH and SNOMED CT.


@formats.register("medrt", holds=("Core_MEDRT*.xml",), starts=("<terminology",))
def read_medrt(path: Path | None, *, name: str = "med-rt", release: str = "") -> Source:
    """MED-RT from its XML file, or the folder that holds it; raises `SourceError`, for damage when its turn comes."""
    if path is not None and path.is_dir():
        path = next(iter(sorted(path.glob("*MEDRT*.xml"))), path / "Core_MEDRT_XML.xml")
    file = need_file(path, "medrt")
    dated = next((part for part in file.stem.split("_") if part[:2] == "20"), "")  # Core_MEDRT_2026.07.06_XML.xml
    said, release = published("medrt"), release or dated
    return Source(name=name, rows=lambda: _medrt_rows(file), release=release, inputs=(file,), **said)


def _medrt_rows(path: Path) -> Iterator[Row]:
    """A node for each concept, an edge for each association; ends in other vocabularies bear the name given there."""
    told: set[str] = set()
    for line, element in elements(path, ("concept", "association")):
        name = text_at(element, "name")
        if element.tag == "concept":
            if code := text_at(element, "code"):
                key = f"{text_at(element, 'namespace') or 'MED-RT'}:{code}"
                told.add(key)
                yield NodeRow(key, name)
            continue
        ends = [[text_at(element, f"{end}_{what}") for what in ("namespace", "code", "name")] for end in ("from", "to")]
        if not (name and all(space and code for space, code, _ in ends)):
            yield DroppedRow("an association without both ends and a name", line)
            continue
        keys = [f"{space}:{code}" for space, code, _ in ends]
        for key, end in zip(keys, ends, strict=True):
            if key not in told:
                told.add(key)
                yield NodeRow(key, end[2])
        yield EdgeRow(keys[0], name, keys[1])


# --- Orphadata: what Orphanet says of rare diseases, one file a topic: names and codes (en_product1.xml), findings with
# their frequency (4), genes (6), inheritance and onset (9). A finding that is never there is excluded; a gene that
# Orphanet has not assessed is left out. Ids are those of HPO's annotations: ORPHA:58, HP:0000256, gene:GFAP.

_PMID = re.compile(r"(\d+)\[PMID\]")
_COURSES = {"TypeOfInheritance": "has_inheritance", "AverageAgeOfOnset": "has_onset"}
_NO_COURSE = frozenset({"", "Unknown", "No data available", "Not applicable", "Not yet documented"})


@formats.register("orphadata", holds=("*_product[1469]*.xml",), starts=("<JDBOR",))
def read_orphadata(path: Path | None, *, name: str = "orphadata", release: str = "") -> Source:
    """Orphadata from a file, or from all those of a folder; raises `SourceError`, for damage when its turn comes."""
    found = sorted(path.glob("*_product*.xml")) if path is not None and path.is_dir() else []
    files = tuple(found) or (need_file(path, "orphadata"),)
    said = published("orphadata")
    return Source(name=name, rows=lambda: _orphadata_rows(files), release=release, inputs=files, **said)


def _orphadata_rows(files: Sequence[Path]) -> Iterator[Row]:
    met: set[str] = set()
    edges = 0
    for file in files:
        for line, element in elements(file, ("HPODisorderSetStatus", "Disorder")):
            disorder = element if element.tag == "Disorder" else element.find("Disorder")
            code = "" if disorder is None else text_at(disorder, "OrphaCode") or text_at(disorder, "OrphaNumber")
            if disorder is None or not (code and text_at(disorder, "Name")):
                yield DroppedRow("a disorder without a code and a name", line, file)
                continue
            yield _called(f"ORPHA:{code}", "disease", disorder)
            for row in _said_of(f"ORPHA:{code}", disorder, text_at(element, "Source"), line):
                edges += isinstance(row, EdgeRow)
                if not (isinstance(row, NodeRow) and row.key in met):
                    yield row
                met |= {row.key} if isinstance(row, NodeRow) else set()
    if not edges:
        mend = "give en_product4.xml (findings), en_product6.xml (genes) or en_product9_ages.xml (inheritance, onset)"
        raise SourceError(files[-1], 0, "says of no disease what it has", mend)


def _called(key: str, kind: str, element: Element) -> NodeRow:
    """A disease or a gene with its names, and its codes elsewhere where they mean the same."""
    name = text_at(element, "Name")
    names = {text_at(one, ".") for one in element.iterfind("SynonymList/Synonym")}
    if kind == "gene":
        names, name = names | {name}, text_at(element, "Symbol")
    codes = [
        f"{text_at(one, 'Source')}:{text_at(one, 'Reference')}"
        for one in element.iterfind("ExternalReferenceList/ExternalReference")
        if text_at(one, "DisorderMappingRelation/Name")[:1] in ("", "E")  # exact
    ]
    aliases = [Alias(text, Scope.EXACT) for text in sorted(names - {"", name})]
    return NodeRow(key, name, kind, "", (*aliases, *(Alias(code, Scope.XREF) for code in codes)))


def _said_of(key: str, disorder: Element, source: str, line: int) -> Iterator[Row]:
    """The findings, genes, inheritance and onset of a disease, each after what it leads to."""
    for one in disorder.iterfind("HPODisorderAssociationList/HPODisorderAssociation"):
        term, often = text_at(one, "HPO/HPOId"), text_at(one, "HPOFrequency/Name")
        if not term:
            yield DroppedRow("a finding without an id", line)
            continue
        yield NodeRow(term, text_at(one, "HPO/HPOTerm"), "phenotype")
        bounds = [int(number) for number in re.findall(r"\d+", often.partition("(")[2])]  # Very frequent (99-80%)
        weight = sum(bounds) / len(bounds) / 100 if bounds else UNSTATED
        stated = {"frequency": often.lower(), "criterion": text_at(one, "DiagnosticCriteria/Name").lower()}
        yield EdgeRow(key, "has_phenotype" if weight else "excludes", term, weight or 1.0, _cited(source, **stated))
    for one in disorder.iterfind("DisorderGeneAssociationList/DisorderGeneAssociation"):
        gene, symbol = one.find("Gene"), text_at(one, "Gene/Symbol")
        if gene is None or not symbol or text_at(one, "DisorderGeneAssociationStatus/Name") == "Not yet assessed":
            yield DroppedRow("a gene without a symbol, or not yet assessed", line)
            continue
        yield _called(f"gene:{symbol}", "gene", gene)
        tie = text_at(one, "DisorderGeneAssociationType/Name") or "gene of"
        yield EdgeRow(f"gene:{symbol}", tie, key, 1.0, _cited(text_at(one, "SourceOfValidation")))
    for what, relation in _COURSES.items():
        for one in disorder.iterfind(f"{what}List/{what}"):
            if (said := text_at(one, "Name")) not in _NO_COURSE:
                yield NodeRow(f"orphadata:{said}", said)
                yield EdgeRow(key, relation, f"orphadata:{said}")


def _cited(source: str, **said: str) -> tuple[Support, ...]:
    """What is said, once for each publication that a source names: 22587682[PMID]_17033973[PMID]."""
    stated = tuple((what, text) for what, text in said.items() if text)
    found = tuple(Support(f"PMID:{number}", stated) for number in dict.fromkeys(_PMID.findall(source)))
    return found or ((Support("", stated),) if stated else ())


# --- DrugCentral: what its database says of indications, by drug and concept.

_TABLES = ("structures", "omop_relationship")


@formats.register("drugcentral", looks=lambda first: 3 * any("PostgreSQL database dump" in line for line in first))
def read_drugcentral(path: Path | None, *, name: str = "drugcentral", release: str = "") -> Source:
    """DrugCentral's drugs with their indications from a dump of its database, packed or not; raises `SourceError`."""
    file = need_file(path, "drugcentral")
    said = published("drugcentral")
    return Source(name=name, rows=lambda: _drugcentral_rows(file), release=release, inputs=(file,), **said)


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


@formats.register(
    "pharmacotherapydb", looks=lambda first: 3 if set(_INDICATIONS) <= set(first[0].rstrip().split("\t")) else 0
)
def read_pharmacotherapydb(path: Path | None, *, name: str = "", release: str = "") -> Source:
    """The graph of a table of indications; raises `SourceError`, for a damaged row when its turn comes."""
    file = need_file(path, "pharmacotherapydb")
    said, name = published("pharmacotherapydb"), name or name_of(file)
    return Source(name=name, rows=lambda: _indication_rows(file), release=release, inputs=(file,), **said)


def _indication_rows(path: Path) -> Iterator[Row]:
    """The pairs, each after its ends where they are met for the first time."""
    met: set[str] = set()
    for number, row in wanted_cells(
        path, _INDICATIONS, "fetch the table again", optional=("n_curators", "n_resources")
    ):
        doid, drugbank, disease, drug, category, curators, resources = map(str.strip, row)
        if category not in _OF or not (doid and drugbank and disease and drug):
            problem = f"has the category {category[:9]!r}, or lacks a name or an id"
            raise SourceError(path, number, problem, f"write one of {', '.join(_OF)}, and both ids and names")
        ends = (NodeRow(f"DRUGBANK:{drugbank}", drug, "drug"), NodeRow(doid, disease, "disease"))
        yield from (node for node in ends if node.key not in met)
        met |= {node.key for node in ends}
        counted = tuple((said, n) for said, n in (("curators", curators), ("resources", resources)) if n)
        yield EdgeRow(ends[0].key, _OF[category], doid, 1.0, (Support("", counted),))


# --- SNOMED CT as it is released (RF2, the Snapshot folder): concepts, their descriptions and relationships.
#
# Field numbers and ids are those of the SNOMED CT Release File Specifications. What is inactive is left out.

_FSN = "900000000000003001"  # the fully specified name, as in "Gout (disorder)"
_IS_A = "116680003"
_TAG = re.compile(r"^(?P<name>.+) \((?P<tag>[^()]+)\)$")
_RELEASE = re.compile(r"_(\d{8})\.txt$")
_RF2_MEND = "name the folder of an RF2 release that holds its Snapshot files"


@formats.register("rf2", holds=("sct2_Concept_*.txt", "**/sct2_Concept_Snapshot*.txt"))
def read_rf2(path: Path | None, *, name: str = "", release: str = "", language: str = "en") -> Source:
    """The graph of a release folder, its names in a language; raises `BadInput` and `SourceError`."""
    if path is None or not path.is_dir():
        raise BadInput(f"a graph of the format rf2 needs a folder; {_RF2_MEND}")
    files = [_snapshot(path, what) for what in ("Concept", "Description", "Relationship")]
    dated = _RELEASE.search(files[0][0].name)
    return Source(
        name=name or name_of(path),
        rows=lambda: _rf2_rows(files, language),
        release=release or (dated[1] if dated else ""),
        language=language,
        relations={"is a": Relation("is a", Role.IS_A)},
        inputs=tuple(file for of in files for file in of),
    )


def _snapshot(path: Path, what: str) -> tuple[Path, ...]:
    """The snapshot files of one kind."""
    found = sorted(file for file in path.rglob(f"sct2_{what}_*.txt") if "Full" not in file.name)
    found = [file for file in found if "Delta" not in file.name]
    if not found:
        raise SourceError(path, 0, f"holds no snapshot of SNOMED's {what.lower()} file", _RF2_MEND)
    return tuple(found)


def _rf2_rows(files: Sequence[Sequence[Path]], language: str) -> Iterator[Row]:
    concepts, descriptions, relationships = files
    active = {concept for (concept,) in _active(concepts, ("id",))}
    named: dict[str, str] = {}
    for concept, spoken, kind, term in _active(descriptions, ("conceptId", "languageCode", "typeId", "term")):
        if concept in active and spoken.partition("-")[0] == language:
            yield from _described(concept, kind, term, named)
    for source, target, kind in _active(relationships, ("sourceId", "destinationId", "typeId")):
        if source in active and target in active:
            relation = "is a" if kind == _IS_A else named.get(kind, kind)
            yield EdgeRow(f"SNOMEDCT:{source}", relation, f"SNOMEDCT:{target}")


def _described(concept: str, kind: str, term: str, named: dict[str, str]) -> Iterator[NodeRow]:
    """The concept with one of its names; its kind is the tag at the end of its fully specified name."""
    key = f"SNOMEDCT:{concept}"
    tagged = _TAG.match(term) if kind == _FSN else None
    if kind == _FSN:
        name = tagged["name"] if tagged else term
        named[concept] = name.removesuffix(" (attribute)")
        yield NodeRow(key, name, kind_of(tagged["tag"]) if tagged else "")
    else:
        yield NodeRow(key, aliases=(Alias(term, Scope.EXACT),))


def _active(files: Sequence[Path], wanted: Sequence[str]) -> Iterator[Sequence[str]]:
    """The wanted cells of every active row; raises `SourceError`."""
    rows = (row for file in files for _, row in wanted_cells(file, (*wanted, "active"), _RF2_MEND))
    return (cells for *cells, active in rows if active == "1")


# --- Names of ontology terms in other languages: Babelon tables, as HPO publishes its translations.
#
# One row a name: the term's id, its English name, the name in another language, and how far the translation is. Only
# official names are taken; the others are counted (`graph doctor`). Beside a Babelon table may stand a ROBOT template
# of synonyms (`hp-de.synonyms.tsv`), whose language is in its file's name. The graph has no edges: it lays names over
# the graph whose ids it shares, and is a glossary by itself.

OFFICIAL = "OFFICIAL"  # of Babelon's NOT_TRANSLATED, CANDIDATE, UNDER_REVIEW, OFFICIAL
_NAMES = ("rdfs:label", "oboInOwl:hasExactSynonym", "")  # of the properties that are translated; others are no names
_LABEL = "rdfs:label"
_LANGUAGE = re.compile(r"-([a-z]{2,3})[.-]")
_ID = re.compile(r"[A-Za-z]\w*:\S+")
_BABELON_MEND = "fetch it again from where the translations are published"


def _is_babelon(first: Sequence[str]) -> int:
    """How sure the first lines are of Babelon: its header is like no other."""
    return 3 if {"subject_id", "translation_value"} <= set(first[0].split("\t")) else 0


@formats.register("babelon", holds=("*.babelon.tsv",), looks=_is_babelon)
def read_babelon(path: Path | None, *, name: str = "", release: str = "") -> Source:
    """The names in a Babelon file, or in all those of a folder with their synonyms; raises `SourceError`."""
    if path is None:
        raise BadInput("a graph of the format babelon needs a file or a folder; name one")
    with reading(path):
        found = sorted([*path.glob("*.babelon.tsv"), *path.glob("*.synonyms.tsv")]) if path.is_dir() else [path]
    if not found:
        raise SourceError(path, 0, "holds no .babelon.tsv file", "name the folder that does")
    for file in found:
        check_file(file)
    return Source(
        name=name or name_of(path),
        rows=lambda: (row for file in found for row in _babelon_rows(file)),
        release=release,
        licence="that of the ontology",
        language="en",
        inputs=tuple(found),
    )


def _babelon_rows(path: Path) -> Iterator[Row]:
    numbered = ((number, line.split("\t")) for number, line in lines(path) if line)
    head = next(numbered, (0, [""]))[1]
    if not _is_babelon(["\t".join(head)]):
        raise SourceError(path, 1, "has no columns subject_id and translation_value", _BABELON_MEND)
    for number, cells in numbered:
        if len(cells) < len(head):
            raise SourceError(
                path, number, f"has {len(cells)} columns, not the {len(head)} of the header", _BABELON_MEND
            )
        yield from _translation(path, number, dict(zip(head, map(str.strip, cells), strict=False)))


def _translation(path: Path, number: int, row: dict[str, str]) -> Iterator[Row]:
    """The names of one row, or why they are left out."""
    subject, value = row["subject_id"], row["translation_value"]
    if not _ID.fullmatch(subject):  # the second header of a ROBOT template
        return
    status, what = row.get("translation_status", OFFICIAL), row.get("predicate_id", "")
    if status != OFFICIAL or what not in _NAMES or not value:
        yield DroppedRow(f"{what or 'name'}, {status.lower().replace('_', ' ')}", number)
        return
    language = row.get("translation_language") or _of_file(path)
    texts = [value] if what == _LABEL else value.split("|")
    aliases = tuple(Alias(t.strip(), Scope.TRANSLATION, language) for t in texts if t.strip())
    yield NodeRow(subject, row.get("source_value", "") if what == _LABEL else "", aliases=aliases)


def _of_file(path: Path) -> str:
    """The language in the name of a file.

    >>> _of_file(Path("hp-de.synonyms.tsv"))
    'de'
    """
    found = _LANGUAGE.search(path.name)
    if not found:
        raise SourceError(path, 0, "does not say of which language it is", "name it like hp-de.synonyms.tsv")
    return found[1]


# --- PubTator: abstracts with their entities and relations marked, as PubTator Central and BC5CDR are published.
# 8701013|t|Famotidine-associated delirium.
# 8701013|a|Six cases are reported.
# 8701013<tab>0<tab>10<tab>Famotidine<tab>Chemical<tab>D015738
# 8701013<tab>CID<tab>D015738<tab>D003693
#
# Offsets count characters of title, blank and abstract. A mark whose words are not where it says is left out and named;
# a file most of whose marks are such counts otherwise, and is refused. The graph has the marked concepts, by the names
# that stand in the texts, and the relations, each with the publication it is from. Texts themselves are not part of it.

CID = Relation("chemical_induced_disease", Role.ADVERSE)
_TEXT = re.compile(r"([^|\t]+)\|([ta])\|(.*)")
_TITLE = re.compile(r"[^|\t]+\|t\|")
_MESH = re.compile(r"[CD]\d{6,}")
_VOCABULARIES = {"Gene": "NCBIGene", "Species": "NCBITaxon"}
_OF_CONCEPTS = {"Chemical": "drug"}
_CALLED = {"CID": CID.name}
_SHORT = 6  # capitals of at most this length are an abbreviation
_LEAST, _MOST = 5, 7  # columns of an entity; the ids and the parts of a name may be left out
_RELATES = 4  # columns of a relation; a fifth, in some releases, says whether it is new and is not read
_WORD, _NUMBER = re.compile(r"[A-Za-z_]\w*"), re.compile(r"[0-9]{1,9}")
_PUBTATOR_MEND = "give PubTator: PMID|t|title, PMID|a|abstract, then a line for each entity and relation, between tabs"


class Marked(NamedTuple):
    """A place in a text and the concepts that it names; none where the annotators knew none."""

    start: int
    end: int
    surface: str
    kind: str  # as the file has it, e.g. Chemical
    ids: tuple[str, ...] = ()  # MESH:D015738


class Misplaced(NamedTuple):
    """A mark that was left out: the text has other words where it says."""

    line: int
    said: str
    there: str

    def __str__(self) -> str:
        """What is wrong with it, in words."""
        return f"marks {self.said[:30]!r}, but the text has {self.there[:30]!r} there"


@dataclass(slots=True)
class Document:
    """A title and an abstract, what is marked in them, and the relations (name, id, id, line) that they tell."""

    id: str
    line: int
    text: str = ""
    marked: list[Marked] = field(default_factory=list)
    relations: list[tuple[str, str, str, int]] = field(default_factory=list)
    misplaced: list[Misplaced] = field(default_factory=list)


@formats.register("pubtator", suffixes=(".pubtator",), looks=lambda first: 3 if _TITLE.match(first[0]) else 0)
def read_pubtator(path: Path | None, *, name: str = "", release: str = "") -> Source:
    """The graph of a PubTator file, also gzip-packed; raises `SourceError`, for a damaged line when its turn comes."""
    file = need_file(path, "pubtator")
    return Source(
        name=name or name_of(file),
        rows=lambda: _abstract_rows(file),
        release=release,
        language="en",
        relations={CID.name: CID},
        kinds={CID.name: ("drug", "disease")},
        inputs=(file,),
    )


def documents(path: Path) -> Iterator[Document]:
    """The documents of a file, one at a time; raises `SourceError` that names the line."""
    marked, misplaced = 0, list[Misplaced]()
    for document in _documents(path):
        marked += len(document.marked)
        misplaced += document.misplaced
        yield document
    if len(misplaced) > marked:
        first = misplaced[0]
        raise SourceError(path, first.line, str(first), "offsets count characters of title, blank and abstract")


def _documents(path: Path) -> Iterator[Document]:
    now: Document | None = None
    for number, line in lines(path):
        if not line.strip():
            continue
        told = _TEXT.fullmatch(line)
        if told and (now is None or told[1] != now.id):
            if now is not None:
                yield now
            now = Document(told[1], number)
        if now is None or (not told and line.split("\t", 1)[0] != now.id):
            raise SourceError(path, number, "belongs to no title before it", _PUBTATOR_MEND)
        if told:
            now.text += told[3] if told[2] == "t" else f" {told[3]}"
        else:
            _annotate(path, number, now, line.split("\t"))
    if now is None:
        raise empty(path)
    yield now


def _annotate(path: Path, number: int, document: Document, cells: list[str]) -> None:
    """One line of an entity or a relation, added to its document."""
    if len(cells) in (_RELATES, _RELATES + 1) and _WORD.fullmatch(cells[1]):
        keys = {raw: key for m in document.marked for key in m.ids for raw in (key, key.split(":", 1)[-1])}
        head, tail = (keys.get(raw.strip()) or _concept_key(raw.strip(), "") for raw in cells[2:_RELATES])
        document.relations.append((_CALLED.get(cells[1], cells[1]), head, tail, number))
        return
    if not _LEAST <= len(cells) <= _MOST or not all(map(_NUMBER.fullmatch, cells[1:3])):
        raise SourceError(path, number, "is neither an entity nor a relation", _PUBTATOR_MEND)
    start, end, surface, kind = int(cells[1]), int(cells[2]), cells[3], cells[4]
    if not surface or document.text[start:end] != surface:
        document.misplaced.append(Misplaced(number, surface, document.text[start:end]))
        return
    raw = cells[5] if len(cells) > _LEAST else ""
    ids = tuple(dict.fromkeys(key for part in re.split(r"[|;]", raw) if (key := _concept_key(part.strip(), kind))))
    document.marked.append(Marked(start, end, surface, kind, ids))


def _concept_key(raw: str, kind: str) -> str:
    """An id as a CURIE; "" where it says that none is known.

    >>> _concept_key("D015738", "Chemical"), _concept_key("672", "Gene"), _concept_key("-1", "Disease")
    ('MESH:D015738', 'NCBIGene:672', '')
    """
    if raw in ("", "-", "-1"):
        return ""
    if ":" in raw:
        return raw
    return f"MESH:{raw}" if _MESH.fullmatch(raw) else f"{_VOCABULARIES.get(kind, kind or 'id')}:{raw}"


def _abstract_rows(path: Path) -> Iterator[Row]:
    """The edges as they come, then the concepts by all their names."""
    names: dict[str, Counter[str]] = {}
    kinds: dict[str, str] = {}
    for document in documents(path):
        for marked in document.marked:
            for key in marked.ids:
                kinds.setdefault(key, _OF_CONCEPTS.get(marked.kind, marked.kind.casefold()))
                counted = names.setdefault(key, Counter())
                if len(marked.ids) == 1:  # a place that names several concepts is the name of none of them
                    counted[" ".join(marked.surface.split())] += 1
        yield from (DroppedRow("a mark that is not in the text where it says", m.line) for m in document.misplaced)
        support = (Support(f"PMID:{document.id}" if document.id.isdecimal() else document.id),)
        for relation, head, tail, number in document.relations:
            yield EdgeRow(head, relation, tail, 1.0, support) if head and tail else DroppedRow("no id", number)
    yield from (_concept_node(key, counted, kinds[key]) for key, counted in names.items())


def _concept_node(key: str, names: Mapping[str, int], kind: str) -> NodeRow:
    """A concept by the name that its texts use most; abbreviations are names of second choice."""
    ranked = sorted(names, key=lambda n: (_short(n), -names[n], n))
    aliases = tuple(Alias(n, Scope.ABBREVIATION if _short(n) else Scope.EXACT) for n in ranked[1:])
    return NodeRow(key, ranked[0] if ranked else "", kind, aliases=aliases)


def _short(name: str) -> bool:
    return name.isupper() and len(name) <= _SHORT
