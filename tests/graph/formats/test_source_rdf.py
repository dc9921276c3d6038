from pathlib import Path

import pytest

from kgmed.errors import SourceError
from kgmed.graph.base import Alias, DroppedRow, EdgeRow, NodeRow, Scope, TextRow
from kgmed.graph.formats import rdf
from kgmed.graph.formats.base import DENIED
from kgmed.records import Role

pytest.importorskip("pyoxigraph")

TURTLE = """@prefix ex: <http://ex.org/drug/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
ex:A a ex:SmallMolecule, owl:Class ;
  rdfs:label "Aspirin"@en , "阿司匹林"@zh ;
  skos:altLabel "ASA" ;
  rdfs:comment "A  drug." ;
  rdfs:subClassOf ex:Salicylate_acid ;
  ex:mayTreat <http://purl.obolibrary.org/obo/HP_0001945> ;
  ex:dose "100 mg" ;
  ex:made _:lab .
"""


def rows_of(path: Path, text: str, **options: str) -> list[object]:
    path.write_text(text, "utf-8")
    return list(rdf.read_rdf(path, **options).rows())


def test_turtle_gives_names_kinds_edges_and_texts(tmp_path: Path) -> None:
    assert rows_of(tmp_path / "g.ttl", TURTLE) == [
        NodeRow("ex.org.drug:A", kind="small molecule"),
        NodeRow("ex.org.drug:A"),
        NodeRow("ex.org.drug:A", "Aspirin"),
        NodeRow("ex.org.drug:A", aliases=(Alias("阿司匹林", Scope.TRANSLATION),)),
        NodeRow("ex.org.drug:A", aliases=(Alias("ASA", Scope.EXACT),)),
        NodeRow("ex.org.drug:A", description="A drug."),
        EdgeRow("ex.org.drug:A", "subClassOf", "ex.org.drug:Salicylate_acid"),
        EdgeRow("ex.org.drug:A", "mayTreat", "HP:0001945"),
        TextRow("ex.org.drug:A", "dose", "100 mg"),
        EdgeRow("ex.org.drug:A", "made", "_:lab"),
        NodeRow("ex.org.drug:Salicylate_acid", "Salicylate acid"),
    ]


def test_the_name_is_in_the_language_asked_for(tmp_path: Path) -> None:
    rows = rows_of(tmp_path / "g.ttl", TURTLE, language="zh")
    assert NodeRow("ex.org.drug:A", "阿司匹林") in rows
    assert NodeRow("ex.org.drug:A", aliases=(Alias("Aspirin", Scope.TRANSLATION),)) in rows


def test_narrower_and_same_are_declared() -> None:
    assert rdf.RELATIONS["subClassOf"].role is Role.IS_A
    assert rdf.RELATIONS["sameAs"].role is Role.SAME_AS


def test_blank_nodes_without_a_label_have_the_same_key_each_time(tmp_path: Path) -> None:
    path = tmp_path / "g.ttl"
    rows = rows_of(path, '<http://e.org/a> <http://e.org/r> [ <http://e.org/s> "x" ] .')
    assert rows == list(rdf.read_rdf(path).rows())
    assert any(isinstance(row, TextRow) and row.key.startswith("_:anonymous") for row in rows)


def test_an_empty_literal_is_dropped(tmp_path: Path) -> None:
    assert DroppedRow("empty literal", 1) in rows_of(tmp_path / "g.nt", '<http://e.org/a> <http://e.org/r> " " .\n')


@pytest.mark.parametrize(
    ("iri", "key"),
    [
        ("http://purl.obolibrary.org/obo/MONDO_0005015", "MONDO:0005015"),
        ("http://www.orpha.net/ORDO/Orphanet_98896", "ORPHA:98896"),
        ("http://id.nlm.nih.gov/mesh/D001241", "MESH:D001241"),
        ("https://identifiers.org/omim:310200", "OMIM:310200"),
        ("http://www.ex.org/a/b#c", "ex.org.a.b:c"),
        ("http://ex.org/drug/1", "ex.org.drug:1"),
        ("http://ex.org/disease/1", "ex.org.disease:1"),
        ("http://ex.org/", "http://ex.org/"),
        ("urn:x", "urn:x"),
    ],
)
def test_an_iri_becomes_a_short_key(iri: str, key: str) -> None:
    assert rdf.curie(iri) == key


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("g.nt", "<http://e.org/a> <http://e.org/r> <http://e.org/b> .\n<http://e.org/a> oops\n", ":2: is no RDF"),
        ("g.ttl", "@prefix ex: <http://e.org/> .\nex:a ex:r ex:b .\nex:a ex:r [\n", "is no RDF"),
        ("g.ttl", "ex:a ex:r ex:b .\n", ":1: is no RDF"),
        ("g.ttl", "<a> <b> <c> .\n", ":1: is no RDF"),
        ("g.ttl", "", "holds no triple"),
    ],
)
def test_damage_names_the_line(tmp_path: Path, name: str, text: str, said: str) -> None:
    with pytest.raises(SourceError) as caught:
        rows_of(tmp_path / name, text)
    assert said in str(caught.value)


def test_an_error_does_not_quote_a_whole_file(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"is no RDF: .*…; mend that line") as caught:
        rows_of(tmp_path / "a.ttl", "9" * 5000)
    assert len(str(caught.value)) < 500 + len(str(tmp_path))


@pytest.mark.parametrize(
    "predicate", ["a", "owl:deprecated", "rdfs:label", "e:by", "owl:onProperty", "rdfs:subClassOf"]
)
def test_a_triple_that_is_told_of_is_left_out_and_the_rest_is_read(tmp_path: Path, predicate: str) -> None:
    said = f"e:flu e:symptom e:cough . _:told {predicate} <<( e:flu e:symptom e:cough )>> ."
    prefixes = "@prefix e: <http://e/> . @prefix owl: <http://www.w3.org/2002/07/owl#> . "
    prefixes += "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . "
    rows = rows_of(tmp_path / "g.ttl", prefixes + said)
    assert [row.relation for row in rows if isinstance(row, EdgeRow)] == ["symptom"]
    assert any(isinstance(row, DroppedRow) for row in rows)


def test_an_assertion_of_what_is_not_so_gives_no_edge_and_is_counted(tmp_path: Path) -> None:
    said = """@prefix owl: <http://www.w3.org/2002/07/owl#> .\n@prefix e: <http://e.org/> .
    e:gout e:has_symptom e:pain .
    [] a owl:NegativePropertyAssertion ; owl:sourceIndividual e:gout ; owl:assertionProperty e:has_symptom ;
       owl:targetIndividual e:seizure ."""
    rows = rows_of(tmp_path / "g.ttl", said)
    assert [row for row in rows if isinstance(row, EdgeRow)] == [EdgeRow("e.org:gout", "has_symptom", "e.org:pain")]
    assert [row.reason for row in rows if isinstance(row, DroppedRow)] == [DENIED]
