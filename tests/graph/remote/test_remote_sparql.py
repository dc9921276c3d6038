"""The SPARQL graphs against recorded answers, and against a real SPARQL engine over a small graph."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgmed.errors import BadInput, Unavailable, UnknownName
from kgmed.graph.remote.sparql import DBPEDIA, RESULTS, WIKIDATA, Iri, Literal, Sparql, bind, dbpedia, wikidata
from kgmed.records import Role
from kgmed.servers import Limits
from loopback import Asked, Loopback, Said, loopback

QUICK = Limits(timeout=5.0, rate=1000.0, sleep=lambda _: None)
TURTLE = """
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix dbo: <http://dbpedia.org/ontology/> . @prefix dbr: <http://dbpedia.org/resource/> .
@prefix wd: <http://www.wikidata.org/entity/> . @prefix wdt: <http://www.wikidata.org/prop/direct/> .
@prefix wikibase: <http://wikiba.se/ontology#> . @prefix schema: <http://schema.org/> .
dbr:Asthma a dbo:Disease ; rdfs:label "Asthma"@en , "Asma"@es ; rdfs:comment "A disease of the airways."@en ;
  dbo:symptom dbr:Cough ; dbo:icd10 "J45" ; dbo:abstract "Langer Text"@de ; dbo:wikiPageWikiLink dbr:Lung .
dbr:Cough rdfs:label "Cough"@en . dbr:Lung rdfs:label "Lung"@en .
dbr:Salbutamol rdfs:label "Salbutamol"@en ; dbo:treats dbr:Asthma .
dbr:Bronchial_asthma rdfs:label "Bronchial asthma"@en ; dbo:wikiPageRedirects dbr:Asthma .
<http://dbpedia.org/resource/Category:Asthma> rdfs:label "Asthma"@en .
dbo:symptom rdfs:label "symptom"@en . dbo:treats rdfs:label "treats"@en . dbo:icd10 rdfs:label "ICD10"@en .
dbo:wikiPageWikiLink rdfs:label "Link"@en . dbo:abstract rdfs:label "abstract"@en .
wd:Q35869 rdfs:label "asthma"@en , "哮喘"@zh ; skos:altLabel "bronchial asthma"@en ; wdt:P31 wd:Q12136 ;
  schema:description "long-term disease"@en ; wdt:P780 wd:Q35805 ; wdt:P2176 wd:Q1 ; wdt:P494 "J45" ;
  wdt:P1692 "A fact" .
wd:Q12136 rdfs:label "disease"@en . wd:Q35805 rdfs:label "cough"@en , "咳嗽"@zh . wd:Q1 rdfs:label "salbutamol"@en .
wd:P780 wikibase:directClaim wdt:P780 ; rdfs:label "symptoms and signs"@en , "症状和体征"@zh .
wd:P2176 wikibase:directClaim wdt:P2176 ; rdfs:label "drug or therapy used for treatment"@en .
wd:P31 wikibase:directClaim wdt:P31 ; rdfs:label "instance of"@en .
wd:P494 wikibase:directClaim wdt:P494 ; wikibase:propertyType wikibase:ExternalId ; rdfs:label "ICD-10 ID"@en .
wd:P1692 wikibase:directClaim wdt:P1692 ; wikibase:propertyType wikibase:String ; rdfs:label "remark"@en .
"""


@pytest.fixture
def server() -> Iterator[Loopback]:
    with loopback() as running:
        yield running


@pytest.fixture
def engine(server: Loopback) -> Loopback:
    """The server, answering every query from the small graph."""
    pyoxigraph = pytest.importorskip("pyoxigraph")
    store = pyoxigraph.Store()
    store.load(TURTLE.encode(), format=pyoxigraph.RdfFormat.TURTLE)

    def says(asked: Asked) -> Said:
        answer = store.query(asked.form["query"]).serialize(format=pyoxigraph.QueryResultsFormat.JSON)
        return Said(answer, headers={"Content-Type": RESULTS})

    server.says = says
    return server


def exchange(folder: Path, name: str) -> tuple[str, dict[str, Any]]:
    """The query and the answer of a recorded exchange."""
    recorded = json.loads((folder / "sparql_samples" / "dbpedia_vcr" / f"{name}.json").read_text("utf-8"))[0]
    request = recorded["request"]
    query = parse_qs(request["body"] or urlsplit(request["url"]).query)["query"][0]
    return query, recorded["response"]


@pytest.mark.data
@pytest.mark.parametrize(
    "name",
    ["dbpedia_select_as_json_via_get", "dbpedia_select_as_json_via_post_url_encoded", "dbpedia_select_via_defaults"],
)
def test_recorded_answers_of_dbpedia_become_rows(server: Loopback, data: Path, name: str) -> None:
    query, response = exchange(data, name)
    server.in_turn(Said(response["body"], headers={"Content-Type": RESULTS}))
    rows = dbpedia(f"{server.url}/sparql", limits=QUICK).select(query)
    assert server.asked[0].form["query"] == query
    assert server.asked[0].headers["Accept"] == RESULTS
    assert len(rows) == 3
    assert rows[0] == {
        "name": '"Annot" (Annot Jacobi)',
        "birth": "1894-12-27",
        "death": "1981-10-20",
        "person": "http://dbpedia.org/resource/Annot_(artist)",
    }


@pytest.mark.data
@pytest.mark.parametrize(
    "name",
    ["dbpedia_ask_as_json", "dbpedia_select_as_xml_via_get", "dbpedia_select_as_csv_via_get", "dbpedia_describe"],
)
def test_recorded_answers_of_another_form_are_refused(server: Loopback, data: Path, name: str) -> None:
    query, response = exchange(data, name)
    server.in_turn(Said(response["body"]))
    with pytest.raises(Unavailable, match=r"sent no (SPARQL results|JSON object)"):
        dbpedia(server.url, limits=QUICK).select(query)


def test_dbpedia_is_looked_up_by_label_and_redirect(engine: Loopback) -> None:
    graph = dbpedia(engine.url, limits=QUICK)
    assert [(m.entity.id, m.entity.name, m.how) for m in graph.lookup("Asthma")] == [
        ("dbpedia:Asthma", "Asthma", "exact")
    ]
    assert [(m.entity.id, m.how) for m in graph.lookup("asthma")] == [("dbpedia:Asthma", "normalised")]
    found = graph.lookup("bronchial asthma")
    assert [(m.entity.id, m.name, m.how) for m in found] == [("dbpedia:Asthma", "Bronchial asthma", "alias")]
    assert graph.lookup("no such thing") == []
    assert graph.lookup(" ") == []


def test_dbpedia_tells_an_entity_its_triples_and_its_texts(engine: Loopback) -> None:
    graph = dbpedia(engine.url, limits=QUICK)
    entity = graph.entity("dbpedia:Asthma")
    assert (entity.name, entity.kind, entity.description) == ("Asthma", "disease", "A disease of the airways.")
    found = {(t.head.name, t.relation.name, t.tail.id, t.relation.role) for t in graph.neighbours("dbpedia:Asthma")}
    assert found == {
        ("Asthma", "symptom", "dbpedia:Cough", Role.FINDING),
        ("Salbutamol", "treats", "dbpedia:Asthma", Role.TREATS),
    }
    assert [t.head.name for t in graph.neighbours("dbpedia:Asthma", roles=[Role.TREATS])] == ["Salbutamol"]
    assert len(graph.neighbours("dbpedia:Asthma", limit=1)) == 1
    assert [(t.relation.name, t.tail.name, t.tail.id) for t in graph.attributes("dbpedia:Asthma")] == [
        ("ICD10", "J45", "")
    ]
    with pytest.raises(UnknownName):
        graph.entity("dbpedia:Nothing")


def test_wikidata_is_asked_in_the_same_way(engine: Loopback) -> None:
    graph = wikidata(engine.url, limits=QUICK)
    assert [(m.entity.id, m.how) for m in graph.lookup("Asthma")] == [("wikidata:Q35869", "normalised")]
    assert [(m.entity.id, m.how) for m in graph.lookup("Bronchial asthma")] == [("wikidata:Q35869", "alias")]
    entity = graph.entity("wikidata:Q35869")
    assert (entity.kind, entity.description) == ("disease", "long-term disease")
    found = {(t.subject.name, t.relation.role, t.object.name) for t in graph.neighbours("wikidata:Q35869")}
    assert found == {
        ("asthma", Role.FINDING, "cough"),
        ("salbutamol", Role.TREATS, "asthma"),
        ("asthma", Role.IS_A, "disease"),
    }
    assert [(t.relation.name, t.tail.name) for t in graph.attributes("wikidata:Q35869")] == [("remark", "A fact")]


def test_another_language_gives_its_names_and_leaves_out_what_has_none(engine: Loopback) -> None:
    graph = wikidata(engine.url, language="zh", limits=QUICK)
    assert graph.language == "zh"
    assert graph.lookup("哮喘")[0].entity.name == "哮喘"
    assert [(t.relation.name, t.tail.name) for t in graph.neighbours("wikidata:Q35869")] == [("症状和体征", "咳嗽")]


@given(text=st.text(max_size=40))
def test_a_bound_text_is_the_same_text_to_a_sparql_engine(text: str) -> None:
    pyoxigraph = pytest.importorskip("pyoxigraph")
    text = text.replace("\0", "").encode("utf-8", "ignore").decode()
    rows = pyoxigraph.Store().query(bind("SELECT (%x% AS ?x) (%y% AS ?y) {}", x=Literal(text, "en"), y=Literal("%x%")))
    found = next(iter(rows))
    assert (found["x"].value, found["y"].value) == (text, "%x%")


@pytest.mark.parametrize(
    "name",
    ['" } DROP ALL #', "\\", 'a"@en . ?s ?p ?o', "line\nbreak", "%limit% %item%", "${x}", "\ud800", "'''", '"""'],
)
def test_a_name_cannot_become_part_of_a_query(engine: Loopback, name: str) -> None:
    for graph in (dbpedia(engine.url, limits=QUICK), wikidata(engine.url, limits=QUICK)):
        assert graph.lookup(name) == []


@pytest.mark.parametrize("entity", ["dbpedia:A> } #", "dbpedia:", "Asthma", "dbpedia:a b", 'dbpedia:"', "wikidata:Q1"])
def test_an_id_cannot_become_part_of_a_query(engine: Loopback, entity: str) -> None:
    with pytest.raises(UnknownName):
        dbpedia(engine.url, limits=QUICK).neighbours(entity)
    assert engine.asked == []


@pytest.mark.parametrize("iri", ["a>b:c", "no colon", "x:y z", "x:\n", "x:{", "x:`", "x:\\"])
def test_what_is_no_iri_is_refused(iri: str) -> None:
    with pytest.raises(BadInput, match="is no IRI"):
        Iri(iri)


@pytest.mark.parametrize(
    ("said", "says"),
    [
        (Said({}), "sent no SPARQL results"),
        (Said({"results": []}), "sent no SPARQL results"),
        (Said({"results": {"bindings": 3}}), "sent no SPARQL results"),
        (Said({"results": {"bindings": [7]}}), "a row that is no SPARQL result"),
        (Said({"results": {"bindings": [{"x": {"value": 7}}]}}), "a row that is no SPARQL result"),
        (Said("", 404), "the error 404"),
        (Said("", 400), "the error 400"),
        (Said("", 429), "refuses more requests"),
        (Said('{"results": {"bin', short=99), "broke off"),
    ],
)
def test_failures_are_typed_and_never_an_empty_answer(server: Loopback, said: Said, says: str) -> None:
    server.in_turn(said)
    for graph in (dbpedia(server.url, limits=QUICK), wikidata(server.url, limits=QUICK)):
        with pytest.raises(Unavailable, match=says):
            graph.lookup("asthma")


def test_things_outside_the_knowledge_base_are_left_out(server: Loopback) -> None:
    cells = {"head": "http://dbpedia.org/resource/A", "headLabel": "A", "tail": "http://evil.org/x", "tailLabel": "x"}
    row = {k: {"type": "uri", "value": v} for k, v in (cells | {"relation": "http://dbpedia.org/ontology/r"}).items()}
    server.in_turn(Said({"results": {"bindings": [row]}}))
    assert dbpedia(server.url, limits=QUICK).neighbours("dbpedia:A") == []


def test_graphs_say_what_they_are() -> None:
    graph = Sparql(DBPEDIA)
    assert (graph.name, graph.label, graph.language) == ("dbpedia", "dbpedia at dbpedia.org en", "en")
    assert repr(wikidata()) == "Sparql(wikidata at query.wikidata.org)"
    with pytest.raises(BadInput, match="is no language"):
        Sparql(WIKIDATA, language='en" }')
