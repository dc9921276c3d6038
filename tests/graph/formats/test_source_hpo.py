from pathlib import Path

import pytest

from kgmed.errors import SourceError
from kgmed.graph.base import Alias, DroppedRow, EdgeRow, NodeRow, Row, Scope
from kgmed.graph.formats import obo as obo
from kgmed.graph.formats.obo import UNSTATED, disease_node, read_hpo
from kgmed.records import Support

OBO = """format-version: 1.2
data-version: hp/releases/2030-02-01
ontology: hp.obo

[Term]
id: HP:0000001
name: All

[Term]
id: HP:0000118
name: Phenotypic abnormality
is_a: HP:0000001 ! All

[Term]
id: HP:0000005
name: Mode of inheritance
is_a: HP:0000001 ! All

[Term]
id: HP:0000010
name: Sore toe
alt_id: HP:0000011
def: "Pain in a \\"toe\\"." [PMID:9]
synonym: "Toe ache" EXACT layperson []
synonym: "ST" EXACT abbreviation [PMID:9]
synonym: "Sore toes" EXACT plural_form []
synonym: "Sore big toe" NARROW []
synonym: "Sore foot" BROAD layperson []
synonym: "Toe trouble" RELATED []
synonym: "Old toe" EXACT obsolete_synonym []
synonym: "Sore toe" EXACT layperson []
xref: UMLS:C1 "toe" {source="x"}
is_a: HP:0000118 {source="x"} ! Phenotypic abnormality

[Term]
id: HP:0000012
name: obsolete Toe
is_obsolete: true

[Term]
id: HP:0000006
name: Dominant
is_a: HP:0000005

[Term]
id: HP:0012823
name: Clinical modifier
is_a: HP:0000001

[Term]
id: HP:0003674
name: Onset
is_a: HP:0012823

[Term]
id: HP:0003577
name: Congenital onset
is_a: HP:0003674

[Typedef]
id: part_of
name: part of
"""
HEAD = "database_id disease_name qualifier hpo_id reference evidence onset frequency sex modifier aspect biocuration"
GENES = "ncbi_gene_id gene_symbol hpo_id hpo_name frequency disease_id"


def annotation(term: str, *, disease: str = "OMIM:1", title: str = "Toe disease", **more: str) -> str:
    cells = {"database_id": disease, "disease_name": title, "hpo_id": term, "reference": "PMID:1", "evidence": "PCS"}
    cells |= {"aspect": "P"} | more
    return "\t".join(cells.get(name, "") for name in HEAD.split())


def folder(at: Path, annotations: list[str], genes: list[str] | None = None, terms: str = OBO) -> Path:
    (at / "hp.obo").write_text(terms, "utf-8")
    rows = ["#description: x", "\t".join(HEAD.split()), *annotations]
    (at / "phenotype.hpoa").write_text("\n".join(rows) + "\n", "utf-8")
    rows = ["\t".join(GENES.split()), *(genes or [])]
    (at / "genes_to_phenotype.txt").write_text("\n".join(rows) + "\n", "utf-8")
    return at


def edges(at: Path, *annotations: str) -> list[EdgeRow]:
    rows = read_hpo(folder(at, list(annotations))).rows()
    return [row for row in rows if isinstance(row, EdgeRow) and row.relation != "is_a"]


def test_a_term_has_its_names_with_their_scope_its_kind_and_its_parents(tmp_path: Path) -> None:
    rows = list(read_hpo(folder(tmp_path, [])).rows())
    aliases = (
        Alias("Toe ache", Scope.LAYPERSON),
        Alias("ST", Scope.ABBREVIATION),
        Alias("Sore toes", Scope.EXACT),
        Alias("Sore big toe", Scope.NARROW),
        Alias("Sore foot", Scope.BROAD),
        Alias("Toe trouble", Scope.RELATED),
        Alias("Old toe", Scope.RELATED),
        Alias("UMLS:C1", Scope.XREF),
        Alias("HP:0000011", Scope.XREF),
    )
    assert NodeRow("HP:0000010", "Sore toe", "phenotype", 'Pain in a "toe".', aliases) in rows
    assert EdgeRow("HP:0000010", "is_a", "HP:0000118") in rows
    assert DroppedRow("obsolete", 35) in rows
    kinds = {row.key: row.kind for row in rows if isinstance(row, NodeRow)}
    assert (kinds["HP:0000006"], kinds["HP:0003577"], kinds["HP:0012823"]) == (
        "inheritance",
        "onset",
        "clinical modifier",
    )
    assert "HP:0000012" not in kinds


def test_release_licence_and_files_are_known(tmp_path: Path) -> None:
    source = read_hpo(folder(tmp_path, []))
    assert (source.name, source.release, source.language, source.prefix) == ("hpo", "2030-02-01", "en", "")
    assert len(source.inputs) == 3
    assert "hpo.jax.org" in source.licence


def test_counts_of_a_finding_are_pooled_over_its_rows_and_each_row_is_a_support(tmp_path: Path) -> None:
    [edge] = edges(
        tmp_path,
        annotation("HP:0000010", frequency="1/4", sex="MALE", onset="HP:0003577"),
        annotation("HP:0000010", frequency="HP:0040280"),
        annotation("HP:0000011", frequency="5/8", reference="PMID:2;PMID:3"),
    )
    assert edge[:4] == ("OMIM:1", "has_phenotype", "HP:0000010", 7 / 16)
    assert edge.support == (
        Support("PMID:1", (("frequency", "1/4"), ("onset", "Congenital onset"), ("sex", "male"), ("evidence", "PCS"))),
        Support("PMID:1", (("frequency", "obligate (100%)"), ("evidence", "PCS"))),
        Support("PMID:2", (("frequency", "5/8"), ("evidence", "PCS"))),
        Support("PMID:3", (("frequency", "5/8"), ("evidence", "PCS"))),
    )


@pytest.mark.parametrize(
    ("frequencies", "weight"),
    [
        (("",), UNSTATED),
        (("HP:0040281",), 0.895),
        (("HP:0040282",), 0.545),
        (("HP:0040283",), 0.17),
        (("HP:0040284",), 0.025),
        (("25%",), 0.25),
        (("12.5%", "HP:0040280"), 0.5625),
        (("", "25%"), 0.25),
        (("0/3", "3/3"), 0.4),
        (("1/1",), 0.4),
        (("240/533",), 241 / 537),
        (("0/0",), UNSTATED),
    ],
)
def test_the_weight_is_the_frequency_and_few_patients_say_little(
    tmp_path: Path, frequencies: tuple[str, ...], weight: float
) -> None:
    [edge] = edges(tmp_path, *(annotation("HP:0000010", frequency=f) for f in frequencies))
    assert edge.relation == "has_phenotype"
    assert edge.weight == pytest.approx(weight)


@pytest.mark.parametrize("said", [{"qualifier": "NOT"}, {"frequency": "0/7"}, {"frequency": "HP:0040285"}])
def test_what_is_denied_or_found_in_nobody_is_excluded(tmp_path: Path, said: dict[str, str]) -> None:
    [edge] = edges(tmp_path, annotation("HP:0000010", **said))
    assert edge[:4] == ("OMIM:1", "excludes", "HP:0000010", 1.0)


def test_a_finding_denied_once_and_seen_once_keeps_both_edges(tmp_path: Path) -> None:
    found = edges(tmp_path, annotation("HP:0000010", qualifier="NOT"), annotation("HP:0000010", frequency="1/2"))
    assert {(e.relation, e.weight) for e in found} == {("excludes", 1.0), ("has_phenotype", 2 / 6)}


def test_the_aspect_decides_the_relation(tmp_path: Path) -> None:
    found = edges(tmp_path, annotation("HP:0000006", aspect="I"), annotation("HP:0003577", aspect="C"))
    assert [e[:4] for e in found] == [
        ("OMIM:1", "has_inheritance", "HP:0000006", 1.0),
        ("OMIM:1", "has_onset", "HP:0003577", 1.0),
    ]


def test_rows_of_a_disease_are_pooled_wherever_they_stand(tmp_path: Path) -> None:
    one, other = annotation("HP:0000010", frequency="1/1"), annotation("HP:0000010", disease="OMIM:2")
    found = edges(tmp_path, one, other, annotation("HP:0000010", frequency="0/1"))
    assert [(e.head, e.weight) for e in found] == [("OMIM:1", 2 / 6), ("OMIM:2", UNSTATED)]


def test_an_annotation_with_an_unknown_term_is_dropped(tmp_path: Path) -> None:
    rows: list[Row] = list(read_hpo(folder(tmp_path, [annotation("HP:7"), annotation("HP:0000012")])).rows())
    assert [r for r in rows if isinstance(r, DroppedRow)][1:] == [
        DroppedRow("term not in hp.obo", 3),
        DroppedRow("term not in hp.obo", 4),
    ]


def test_a_gene_is_linked_once_to_each_disease(tmp_path: Path) -> None:
    genes = [
        "7\tTOE1\tHP:1\tx\t-\tOMIM:1",
        "7\tTOE1\tHP:2\tx\t-\tOMIM:1",
        "7\tTOE1\tHP:2\tx\t-\tORPHA:1",
        "8\t-\ta\tb\tc\td",
    ]
    rows = list(read_hpo(folder(tmp_path, [], genes)).rows())[-4:]
    assert rows == [
        NodeRow("gene:TOE1", "TOE1", "gene", "", (Alias("NCBIGene:7", Scope.XREF),)),
        EdgeRow("OMIM:1", "associated_gene", "gene:TOE1"),
        EdgeRow("ORPHA:1", "associated_gene", "gene:TOE1"),
        DroppedRow("no gene symbol", 5),
    ]


def test_the_names_of_a_disease_are_its_titles_their_parts_and_the_usual_word_order() -> None:
    node = disease_node("OMIM:1", ("Toe disease, Basel type; TD", "Toe disorder, juvenile"))
    assert (node.name, node.kind) == ("Toe disease, Basel type; TD", "disease")
    assert [a.text for a in node.aliases] == [
        "Toe disease, Basel type",
        "TD",
        "Toe disorder, juvenile",
        "Basel Toe disease",
        "juvenile Toe disorder",
    ]


@pytest.mark.parametrize(
    "title", ["Toe disease, type IV", "Toe, leg, and arm", "46,XX toe", "Toe disease, with gout", "Toe"]
)
def test_a_comma_that_inverts_nothing_gives_no_name(title: str) -> None:
    assert disease_node("OMIM:1", (title,)).aliases == ()


@pytest.mark.parametrize(
    ("name", "old", "new", "said"),
    [
        ("phenotype.hpoa", "hpo_id", "term", ":2: has no column hpo_id"),
        ("phenotype.hpoa", "\tP\t", "\t", ":3: has 11 columns, not the 12"),
        ("phenotype.hpoa", "\tP\t", "\tQ\t", ":3: has no disease or the unknown aspect 'Q'"),
        ("phenotype.hpoa", "1/2", "3/2", ":3: the frequency '3/2' cannot be read"),
        ("phenotype.hpoa", "1/2", "often", ":3: the frequency 'often' cannot be read"),
        ("genes_to_phenotype.txt", "disease_id", "x", ":1: has no column disease_id"),
        ("hp.obo", "is_a: HP:0000118", "is_a HP 0000118", ":33: "),
        ("hp.obo", "id: HP:0000118\n", "", ":9: is a [Term] without an id"),
        ("hp.obo", '"Toe ache"', "Toe ache", ":24: has no text in quotes"),
        ("hp.obo", "EXACT layperson", "EXAKT layperson", ":24: has the unknown scope 'EXAKT'"),
    ],
)
def test_damage_names_the_file_and_the_line(tmp_path: Path, name: str, old: str, new: str, said: str) -> None:
    path = folder(tmp_path, [annotation("HP:0000010", frequency="1/2")]) / name
    path.write_text(path.read_text("utf-8").replace(old, new), "utf-8")
    with pytest.raises(SourceError) as caught:
        list(read_hpo(tmp_path).rows())
    assert str(caught.value).startswith(f"{path}{said}")


def test_a_folder_without_the_files_says_where_they_are_to_be_had(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"hp\.obo: there is no such file; download"):
        read_hpo(tmp_path)


def test_any_obo_file_gives_terms_and_relationships(tmp_path: Path) -> None:
    path = tmp_path / "toes.obo"
    path.write_text(
        "format-version: 1.4\nontology: toes\ndefault-namespace: toe\n\n[Term]\nid: T:1\nname: Toe\n"
        'synonym: "Digit" []\nis_a: T:2 ! Limb\nrelationship: part_of T:3 ! Foot\n',
        "utf-8",
    )
    source = obo.read_obo(path)
    assert source.name == "toes"
    assert list(source.rows()) == [
        NodeRow("T:1", "Toe", "toe", "", (Alias("Digit", Scope.RELATED),)),
        EdgeRow("T:1", "is_a", "T:2"),
        EdgeRow("T:1", "part_of", "T:3"),
    ]


def test_a_file_without_terms_is_no_obo_file(tmp_path: Path) -> None:
    path = tmp_path / "x.obo"
    path.write_text("a: b\n", "utf-8")
    with pytest.raises(SourceError, match=r"holds no \[Term\]"):
        list(obo.read_obo(path).rows())
