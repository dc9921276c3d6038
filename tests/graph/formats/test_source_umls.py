"""The UMLS from RRF files written by hand: three concepts of asthma and aspirin, in two languages."""

import gzip
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kgmed.errors import BadInput, SourceError
from kgmed.graph import formats
from kgmed.graph.base import Alias, DroppedRow, EdgeRow, NodeRow, Row, Scope, TextRow
from kgmed.graph.store.build import build
from kgmed.graph.store.store import Store, open_store
from kgmed.records import Role

ASTHMA, LUNG, ASPIRIN, OLD = "C0004096", "C0024115", "C0004057", "C0000001"


def name(cui: str, text: str, **more: str) -> str:
    f = {"LAT": "ENG", "TS": "S", "STT": "VO", "ISPREF": "N", "SAB": "MSH", "TTY": "SY", "SUPPRESS": "N"} | more
    cells = [cui, f["LAT"], f["TS"], "L1", f["STT"], "S1", f["ISPREF"], "A1", "", "", "", f["SAB"], f["TTY"], "D1"]
    return "|".join([*cells, text, "0", f["SUPPRESS"], "256", ""])


def preferred(cui: str, text: str, **more: str) -> str:
    return name(cui, text, **({"TS": "P", "STT": "PF", "ISPREF": "Y", "TTY": "PT"} | more))


def relation(first: str, rel: str, second: str, rela: str = "", sab: str = "MSH", suppress: str = "N") -> str:
    cells = [first, "A1", "AUI", rel, second, "A2", "AUI", rela, "R1", "", sab, sab, "", "", suppress, "", ""]
    return "|".join(cells)


NAMES = [
    name(ASPIRIN, "Ecotrin", TTY="BN"),
    preferred(ASPIRIN, "Aspirin"),
    name(ASPIRIN, "ASA", TTY="AB"),
    name(ASTHMA, "Bronchial asthma"),
    name(ASTHMA, "wheezing illness", SAB="CHV"),
    preferred(ASTHMA, "Asthma"),
    preferred(ASTHMA, "Asma", LAT="SPA", SAB="MSHSPA"),
    name(ASTHMA, "Asthma, old", SUPPRESS="O"),
    preferred(LUNG, "Lung", SAB="SNOMEDCT_US"),
    preferred(OLD, "Withdrawn", SUPPRESS="E"),
]
RELATIONS = [
    relation(ASTHMA, "RO", ASPIRIN, "contraindicated_with_disease"),
    relation(LUNG, "RO", ASTHMA, "has_finding_site", sab="SNOMEDCT_US"),
    relation(LUNG, "PAR", ASTHMA),
    relation(ASTHMA, "SY", ASTHMA, "translation_of"),
    relation(ASTHMA, "RO", OLD, "due_to"),
    relation(ASTHMA, "RO", LUNG, "was_a", suppress="O"),
    relation(ASTHMA, "XR", LUNG),
    relation(LUNG, "", ASPIRIN),
]
DEFINITIONS = [
    f"{ASTHMA}|A1|AT1||NCI|A disease of the airways.|N||",
    f"{ASTHMA}|A1|AT2||MSH|A form of bronchial disorder.|N||",
    f"{ASTHMA}|A1|AT3||MSHSPA|Una enfermedad.|N||",
    f"{OLD}|A1|AT4||MSH|Gone.|N||",
]
TYPES = [
    f"{ASPIRIN}|T109|A1.4.1.2.1|Organic Chemical|AT1||",
    f"{ASPIRIN}|T121|A1.4.1.1.1|Pharmacologic Substance|AT2||",
    f"{ASTHMA}|T047|B2.2.1.2.1|Disease or Syndrome|AT3||",
    f"{OLD}|T047|B2.2.1.2.1|Disease or Syndrome|AT4||",
]
FILES = {"MRCONSO": NAMES, "MRREL": RELATIONS, "MRDEF": DEFINITIONS, "MRSTY": TYPES}


def write(folder: Path, **files: list[str]) -> Path:
    folder.mkdir(exist_ok=True)
    for file, rows in (FILES | files).items():
        (folder / f"{file}.RRF").write_text("".join(f"{row}\n" for row in rows), "utf-8")
    return folder


def rows(folder: Path, **options: Any) -> list[Row]:
    return list(formats.read("umls", folder, **options).rows())


def edges(folder: Path, **options: object) -> list[tuple[str, str, str]]:
    return [row[:3] for row in rows(folder, **options) if type(row) is EdgeRow]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write(tmp_path / "META")


@pytest.fixture
def store(folder: Path) -> Store:
    build(formats.read("umls", folder), folder.parent / "graph")
    return open_store(folder.parent / "graph")


def test_an_isa_row_is_read_from_the_second_concept_to_the_first(tmp_path: Path) -> None:
    cats, felis = "C0007450", "C0325089"
    names = [preferred(cats, "Cats"), preferred(felis, "Felis")]
    isa = [relation(felis, "CHD", cats, "isa"), relation(felis, "CHD", cats), relation(cats, "PAR", felis)]
    folder = write(tmp_path / "META", MRCONSO=names, MRREL=isa, MRDEF=[], MRSTY=[])
    assert edges(folder) == [(cats, "isa", felis), (cats, "CHD", felis), (felis, "PAR", cats)]
    build(formats.read("umls", folder), tmp_path / "graph")
    found = open_store(tmp_path / "graph").neighbours(f"umls:{cats}")
    assert {(t.relation.role, t.subject.name, t.object.name) for t in found} == {(Role.IS_A, "Cats", "Felis")}


def test_rel_stands_in_where_there_is_no_rela_and_what_says_nothing_is_left_out(folder: Path) -> None:
    assert edges(folder) == [
        (ASPIRIN, "contraindicated_with_disease", ASTHMA),
        (ASTHMA, "has_finding_site", LUNG),
        (ASTHMA, "PAR", LUNG),
    ]
    assert [row for row in rows(folder) if type(row) is DroppedRow] == [
        DroppedRow("not related", 7),
        DroppedRow("no relation", 8),
    ]


def test_names_keep_their_scope_and_the_preferred_one_comes_first(folder: Path) -> None:
    nodes = {row.key: row for row in rows(folder) if type(row) is NodeRow and (row.name or row.aliases)}
    assert set(nodes) == {ASPIRIN, ASTHMA, LUNG}
    assert nodes[ASPIRIN].name == "Aspirin"
    assert nodes[ASPIRIN].aliases == (Alias("Ecotrin", Scope.BRAND), Alias("ASA", Scope.ABBREVIATION))
    assert nodes[ASTHMA].name == "Asthma"
    assert nodes[ASTHMA].aliases == (Alias("Bronchial asthma"), Alias("wheezing illness", Scope.LAYPERSON))


def test_a_second_language_adds_translations_and_its_definitions(folder: Path) -> None:
    found = rows(folder, languages=["ENG", "SPA"])
    assert Alias("Asma", Scope.TRANSLATION) in [a for row in found if type(row) is NodeRow for a in row.aliases]
    assert TextRow(ASTHMA, "definition", "Una enfermedad.") in found
    spanish = formats.read("umls", folder, languages="SPA")
    assert spanish.language == "es"
    assert [row.name for row in spanish.rows() if type(row) is NodeRow and row.name] == ["Asma"]


def test_sources_narrow_names_relations_and_definitions(folder: Path) -> None:
    found = rows(folder, sources="snomedct_us,NCI")
    assert [row.name for row in found if type(row) is NodeRow and row.name] == ["Lung"]
    assert edges(folder, sources=["SNOMEDCT_US"]) == []
    assert (ASTHMA, "has_finding_site", LUNG) not in edges(folder, sources=["MSH"])


def test_suppressed_rows_come_only_when_asked_for(folder: Path) -> None:
    assert (OLD, "due_to", ASTHMA) in edges(folder, suppressed=True)
    assert (LUNG, "was_a", ASTHMA) in edges(folder, suppressed=True)


def test_a_built_graph_knows_kinds_definitions_types_and_names(store: Store) -> None:
    asthma = store.lookup("bronchial ASTHMA")[0].entity
    assert (asthma.id, asthma.name, asthma.kind) == (f"umls:{ASTHMA}", "Asthma", "disease")
    assert store.entity(asthma.id).description == "A form of bronchial disorder."
    assert {(t.relation.name, t.tail.name) for t in store.attributes(asthma.id)} == {
        ("semantic_type", "Disease or Syndrome"),
        ("definition", "A disease of the airways."),
    }
    assert {t.relation.role for t in store.attributes(asthma.id)} == {Role.OTHER}
    assert store.entity(f"umls:{ASPIRIN}").kind == "drug"
    assert (store.name, store.language) == ("graph", "en")
    warning = [t for t in store.neighbours(asthma.id) if t.relation.role is Role.CONTRAINDICATED]
    assert [(t.subject.name, t.object.name) for t in warning] == [("Aspirin", "Asthma")]


def test_names_of_a_concept_that_stand_apart_are_put_together(tmp_path: Path) -> None:
    apart = [preferred(ASTHMA, "Asthma"), preferred(LUNG, "Lung"), name(ASTHMA, "Late name")]
    folder = write(tmp_path / "META", MRCONSO=apart)
    build(formats.read("umls", folder), tmp_path / "graph")
    store = open_store(tmp_path / "graph")
    assert store.lookup("late name")[0].entity.name == "Asthma"


def test_blocks_larger_than_the_buffer_lose_no_row(tmp_path: Path) -> None:
    many = [f"C{i:07d}" for i in range(1, 4001)]
    names = [row for cui in many for row in (preferred(cui, f"Größe {cui}"), name(cui, f"other {cui}"))]
    chain = [relation(a, "RO", b, f"r{i % 7}") for i, (a, b) in enumerate(pairwise(many))]
    folder = write(tmp_path / "META", MRCONSO=names, MRREL=chain, MRDEF=[], MRSTY=[])
    found = rows(folder)
    nodes = [row for row in found if type(row) is NodeRow]
    assert [(n.key, n.name, n.aliases) for n in nodes] == [(c, f"Größe {c}", (Alias(f"other {c}"),)) for c in many]
    wanted = [(b, f"r{i % 7}", a) for i, (a, b) in enumerate(pairwise(many))]
    assert [row[:3] for row in found if type(row) is EdgeRow] == wanted


def test_packed_files_and_windows_line_ends_give_the_same_rows(folder: Path) -> None:
    plain = rows(folder)
    for file in FILES:
        path = folder / f"{file}.RRF"
        path.with_suffix(".RRF.gz").write_bytes(gzip.compress(path.read_bytes().replace(b"\n", b"\r\n")))
        path.unlink()
    assert rows(folder) == plain


def test_definitions_and_types_may_be_missing_names_and_relations_not(folder: Path) -> None:
    (folder / "MRDEF.RRF").unlink()
    (folder / "MRSTY.RRF").unlink()
    assert len(edges(folder)) == 3
    (folder / "MRREL.RRF").unlink()
    with pytest.raises(SourceError, match=r"MRREL\.RRF: there is no such file; name a folder into which"):
        rows(folder)


def test_the_release_is_read_from_the_folder(folder: Path) -> None:
    assert formats.read("umls", folder).release == ""
    (folder / "release.dat").write_text("umls.release.name=2026AA\numls.release.date=20260501\n", "ascii")
    assert formats.read("umls", folder).release == "2026AA"
    assert formats.read("umls", folder, release="mine").release == "mine"


def test_the_folder_is_told_by_its_files(folder: Path) -> None:
    assert formats.detect(folder) == "umls"
    assert formats.detect(folder / "MRREL.RRF") == "umls"


@pytest.mark.parametrize(
    ("file", "line", "says"),
    [
        ("MRREL", f"{ASTHMA}|A1|AUI|RO|{LUNG}|", r"MRREL.RRF:3: does not hold 16 fields"),
        ("MRREL", relation(ASTHMA, "RO", "0024115"), r"MRREL.RRF:3: '0024115' in field 5 is no CUI"),
        ("MRREL", relation("C00040x6", "RO", LUNG), r"MRREL.RRF:3: 'C00040x6' in field 1 is no CUI"),
        ("MRCONSO", preferred("D0004096", "x"), r"MRCONSO.RRF:3: 'D0004096' in field 1 is no CUI"),
        ("MRSTY", f"{ASTHMA}|T047|", r"MRSTY.RRF:3: does not hold 6 fields"),
        ("MRDEF", f"{ASTHMA}|A1|AT1||NCI|A|cut||N||", r"MRDEF.RRF:3: does not hold 8 fields"),
    ],
)
def test_a_damaged_line_is_named(tmp_path: Path, file: str, line: str, says: str) -> None:
    folder = write(tmp_path / "META", **{file: [FILES[file][0], "", line]})
    with pytest.raises(SourceError, match=says):
        rows(folder)


def test_unknown_languages_and_a_filter_that_keeps_nothing_are_errors(folder: Path) -> None:
    with pytest.raises(BadInput, match="UMLS has no language 'EN'; it has ENG"):
        rows(folder, languages=["en"])
    with pytest.raises(BadInput, match="no language ''"):
        rows(folder, languages=[])
    with pytest.raises(SourceError, match="holds no name that is wanted"):
        rows(folder, sources=["NOSUCH"])
    with pytest.raises(BadInput, match="needs a folder"):
        formats.read("umls")


def outcome(folder: Path) -> tuple[list[Row], str]:
    """The rows, or what is said against the files."""
    try:
        return rows(folder), ""
    except BadInput as error:
        return [], str(error)


PIECE = st.one_of(
    st.sampled_from([b"|", b"\n", b"\0", b"\xff", b"C", b"|\n", b"\r", b"9" * 5000]), st.binary(max_size=9)
)


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(file=st.sampled_from(sorted(FILES)), at=st.floats(0, 1), cut=st.integers(0, 40), piece=PIECE)
def test_a_damaged_file_gives_rows_or_one_line_of_error(
    tmp_path: Path, file: str, at: float, cut: int, piece: bytes
) -> None:
    folder = write(tmp_path / "META")
    path = folder / f"{file}.RRF"
    raw = path.read_bytes()
    place = int(at * len(raw))
    path.write_bytes(raw[:place] + piece + raw[place + cut :])
    found, said = outcome(folder)
    assert all(isinstance(row, NodeRow | EdgeRow | TextRow | DroppedRow) for row in found)
    assert all(row.head and row.relation and row.tail for row in found if isinstance(row, EdgeRow))
    assert "\n" not in said
    assert len(said) < 500
