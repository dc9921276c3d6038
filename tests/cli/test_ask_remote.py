"""`kgmed ask` on graphs behind a server: UMLS over REST and DBpedia over SPARQL, each once and then from the cache."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from json_server import JsonServer, serving
from kgmed.cli import app
from kgmed.errors import BadInput, KgmedError, ModelFailed, Unavailable
from kgmed.graph.remote.sparql import RESULTS
from loopback import Asked, Loopback, Said, loopback

pytest.importorskip("openai")

KEY = "1234abcd-secret-5678"
RESOURCE = "http://dbpedia.org/resource/"


@pytest.fixture
def graph() -> Iterator[Loopback]:
    with loopback() as running:
        yield running


def completion(text: str) -> dict[str, Any]:
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
    return {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}


@pytest.fixture
def llm() -> Iterator[JsonServer]:
    """A model that names one term, leaves translations and evidence as they are, and answers."""
    with serving() as running:
        running.answers = lambda asked: completion(said(json.dumps(asked["messages"], ensure_ascii=False)))
        yield running


def said(prompt: str) -> str:
    if "medical entities" in prompt:
        return '{"medical entities": ["fracture of carpal bone"]}'
    if "JSON" in prompt:
        return '{"terms": ["fracture of carpal bone"]}' if "fracture" in prompt else '{"terms": ["gout"]}'
    if "colchicine" in prompt.lower():
        return "Colchicine is a medication of gout [1]."
    return "Closed fracture of left wrist is a closed fracture of carpal bone [1]."


def recorded(folder: Path, name: str) -> Any:
    """A recorded answer; where the documentation broke off with "..." that is left out."""
    path = next((folder / "uts_api_samples" / "json").glob(f"{name}.*"))
    return json.loads(re.sub(r",?\s*\.\.\.", "", path.read_text("utf-8")))


def uts(data: Path) -> Any:
    """UTS as recorded."""

    def says(asked: Asked) -> Said:
        if asked.query.get("apiKey") != KEY:
            return Said({"error": "no key"}, 401)
        if asked.path.startswith("/search"):
            return Said(recorded(data, "search_0"))
        if asked.path.endswith("/relations"):
            return Said(recorded(data, "relations_0") | {"pageCount": 1})
        if asked.path.endswith("/definitions"):
            return Said(recorded(data, "definitions_0"))
        concept = recorded(data, "concept_0")
        concept["result"]["definitions"] = "there are some"
        return Said(concept)

    return says


def run(home: Path, llm: JsonServer, graph: str, question: str, *words: str, key: str = KEY) -> Result:
    env = {"KGMED_HOME": str(home), "COLUMNS": "200", "KGMED_API_KEY": "k", "UMLS_API_KEY": key}
    asked = ["ask", question, "--graph", graph, "--encoder", "ngrams", *words]
    model = ["--llm", "openai/m", "--base-url", f"{llm.url}/v1"]
    return CliRunner().invoke(app, [*asked, *model], env=env)


def told(result: Result) -> Any:
    assert result.exit_code == 0, (result.output, result.exception)
    return json.loads(result.stdout)


QUESTION = "What is a fracture of carpal bone?"


@pytest.mark.data
@pytest.mark.parametrize("method", ["auto", "mkg-rank"])
def test_umls_answers_over_rest_and_a_second_time_from_the_cache(
    graph: Loopback, llm: JsonServer, data: Path, tmp_path: Path, method: str
) -> None:
    graph.says = uts(data)
    name = f"umls-rest+{graph.url}"
    words = ("-m", method, "--json", "--set", "relations=10") + (
        ("--set", "declarative=no") if method != "auto" else ()
    )
    first = told(run(tmp_path, llm, name, QUESTION, *words))
    assert first["method"].startswith("kg-rank" if method == "auto" else "mkg-rank")
    assert [link["entity"]["id"] for link in first["links"]] == ["umls:C0016644"]
    triples = [t for e in first["context"]["cited"] for t in e["triples"]]
    assert {t["tail"]["name"] for t in triples} >= {"Closed fracture of left wrist", "Closed fracture of right wrist"}
    assert all(t["source"].startswith("umls current") for t in triples)
    assert first["answer"]["text"].startswith("Closed fracture of left wrist")
    requests = len(graph.asked)
    assert requests > 0
    assert all(found < asked for what, found, asked in first["hits"] if what == "neighbours")
    again = told(run(tmp_path, llm, name, QUESTION, *words))
    assert len(graph.asked) == requests
    assert {what for what, _, _ in again["hits"]} >= {"lookup", "neighbours"}
    assert all(found == asked for _, found, asked in again["hits"])
    assert again["context"]["cited"] == first["context"]["cited"]


@pytest.mark.data
def test_hits_are_shown_and_the_key_is_in_no_file_and_no_output(
    graph: Loopback, llm: JsonServer, data: Path, tmp_path: Path
) -> None:
    graph.says = uts(data)
    shown = run(tmp_path, llm, f"umls-rest+{graph.url}", QUESTION, "--cache", str(tmp_path / "replies.sqlite"), "-e")
    assert shown.exit_code == 0, shown.output
    assert "Remote cache: " in shown.stdout
    assert KEY not in shown.output
    files = [p for p in tmp_path.rglob("*") if p.is_file()]
    assert {"remote.sqlite", "replies.sqlite"} <= {p.name for p in files}
    assert [p for p in files if KEY.encode() in p.read_bytes()] == []


@pytest.mark.data
def test_a_definition_is_shown_once_where_the_setting_asks_for_it(
    graph: Loopback, llm: JsonServer, data: Path, tmp_path: Path
) -> None:
    graph.says = uts(data)
    name = f"umls-rest+{graph.url}"
    silent = told(run(tmp_path, llm, name, QUESTION, "--json"))
    assert "VERTIGO" not in silent["context"]["text"]
    loud = told(run(tmp_path, llm, name, QUESTION, "--set", "definitions=yes", "--json"))
    assert loud["context"]["text"].count("VERTIGO") == 1


def test_without_a_key_umls_is_not_asked(graph: Loopback, llm: JsonServer, tmp_path: Path) -> None:
    result = run(tmp_path, llm, f"umls-rest+{graph.url}", QUESTION, key="")
    assert isinstance(result.exception, Unavailable)
    assert "UMLS_API_KEY" in str(result.exception)
    assert graph.asked == []


def test_a_wrong_key_ends_the_run_and_is_not_repeated(graph: Loopback, llm: JsonServer, tmp_path: Path) -> None:
    graph.says = lambda _: Said({"error": "bad key"}, 401)
    result = run(tmp_path, llm, f"umls-rest+{graph.url}", QUESTION)
    assert isinstance(result.exception, Unavailable)
    assert KEY not in str(result.exception)


@pytest.mark.parametrize("method", ["hykge", "mindmap", "facts", "llm"])
def test_a_method_that_searches_the_whole_graph_says_what_it_needs(
    graph: Loopback, llm: JsonServer, tmp_path: Path, method: str
) -> None:
    result = run(tmp_path, llm, f"umls-rest+{graph.url}", QUESTION, "-m", method)
    assert isinstance(result.exception, BadInput)
    assert "behind a server: kg-rank, mkg-rank, zero-shot, cot, tot" in str(result.exception)


def test_a_method_that_looks_nothing_up_is_asked_beside_a_graph_behind_a_server(
    graph: Loopback, llm: JsonServer, tmp_path: Path
) -> None:
    result = run(tmp_path, llm, f"umls-rest+{graph.url}", QUESTION, "-m", "zero-shot")
    assert result.exit_code == 0, result.exception
    assert graph.asked == []


def bindings(*rows: dict[str, str]) -> Said:
    cells = [
        {k: {"type": "uri" if v.startswith("http") else "literal", "value": v} for k, v in row.items()} for row in rows
    ]
    body = {"head": {"vars": sorted({k for row in rows for k in row})}, "results": {"bindings": cells}}
    return Said(body, headers={"Content-Type": RESULTS})


def dbpedia(asked: Asked) -> Said:
    """The endpoint on gout, as DBpedia answers."""
    query = asked.form["query"]
    gout = f"{RESOURCE}Gout"
    if "VALUES ?name" in query:
        return bindings(*([{"item": gout, "label": "Gout", "name": "gout"}] if '"gout"' in query else []))
    if "?headLabel" in query:
        relation = {"relation": "http://dbpedia.org/ontology/medication", "relationLabel": "medication"}
        tail = {"tail": f"{RESOURCE}Colchicine", "tailLabel": "Colchicine"}
        return bindings({"head": gout, "headLabel": "Gout"} | relation | tail)
    if "ISLITERAL" in query:
        return bindings()
    return bindings({"label": "Gout", "description": "An arthritis.", "type": "http://dbpedia.org/ontology/Disease"})


def test_dbpedia_answers_over_sparql_and_a_second_time_from_the_cache(
    graph: Loopback, llm: JsonServer, tmp_path: Path
) -> None:
    graph.says = dbpedia
    name = f"sparql+{graph.url}/sparql"
    first = told(run(tmp_path, llm, name, "Which medication is for gout?", "--json"))
    assert [link["entity"]["name"] for link in first["links"]] == ["Gout"]
    assert first["answer"]["text"] == "Colchicine is a medication of gout [1]."
    assert [v["label"] for v in first["answer"]["verdicts"]] == ["supported"]
    requests = len(graph.asked)
    again = told(run(tmp_path, llm, name, "Which medication is for gout?", "--json"))
    assert len(graph.asked) == requests
    assert all(found == asked for _, found, asked in again["hits"])


def berlin(data: Path) -> Any:
    """An endpoint that gives the recorded rows of people born in Berlin to our own queries."""
    path = data / "sparql_samples" / "dbpedia_vcr" / "dbpedia_select_via_defaults.json"
    rows = json.loads(json.loads(path.read_text("utf-8"))[0]["response"]["body"])["results"]["bindings"]
    place = {"type": "uri", "value": f"{RESOURCE}Berlin"}
    label = {"type": "literal", "xml:lang": "en", "value": "Berlin"}
    born = {"type": "uri", "value": "http://dbpedia.org/ontology/birthPlace"}
    named = {"type": "literal", "xml:lang": "en", "value": "birth place"}
    around = {"relation": born, "relationLabel": named, "tail": place, "tailLabel": label}

    def says(asked: Asked) -> Said:
        query = asked.form["query"]
        if "VALUES ?name" in query:
            found = [{"item": place, "label": label, "name": label}] if '"Berlin"' in query else []
        elif "?headLabel" in query:
            found = [{"head": row["person"], "headLabel": row["name"], **around} for row in rows]
        else:
            found = []
        return Said({"head": {"vars": []}, "results": {"bindings": found}}, headers={"Content-Type": RESULTS})

    return says


@pytest.mark.data
def test_recorded_rows_of_dbpedia_reach_the_answer(
    graph: Loopback, llm: JsonServer, data: Path, tmp_path: Path
) -> None:
    """None of the recorded exchanges is one of our queries, so their rows are given to ours, by shape.

    The rows (person, name) of "born in Berlin before 1900" are kept cell by cell, and stand where `neighbours` asks
    for ?head and ?headLabel; the relation is that of the recorded query.
    """
    said = {True: '{"terms": ["Berlin"]}', False: '"Annot" (Annot Jacobi) has the birth place Berlin [1].'}
    llm.answers = lambda asked: completion(said["JSON" in json.dumps(asked["messages"])])
    graph.says = berlin(data)
    name = f"sparql+{graph.url}/sparql"
    run_ = told(run(tmp_path, llm, name, "Who has the birth place Berlin?", "--json"))
    assert [link["entity"]["id"] for link in run_["links"]] == ["dbpedia:Berlin"]
    triples = [t for e in run_["context"]["cited"] for t in e["triples"]]
    assert {"dbpedia:Annot_(artist)"} <= {t["head"]["id"] for t in triples}
    assert {(t["relation"]["name"], t["tail"]["id"]) for t in triples} == {("birth place", "dbpedia:Berlin")}
    assert run_["answer"]["text"].startswith('"Annot" (Annot Jacobi) has the birth place Berlin')
    of_kgmed = ("the question was read without the model", "check")  # two calls that this server does not understand
    assert [said for said in run_["failures"] if not said.startswith(of_kgmed)] == []


@pytest.mark.parametrize("method", ["kg-rank", "mkg-rank"])
def test_terms_that_cannot_be_read_end_the_run_and_are_no_abstention(
    graph: Loopback, llm: JsonServer, tmp_path: Path, method: str
) -> None:
    """Behind a server there are no names to stand in; an abstention would say that the graph knows nothing."""
    llm.answers = lambda _: completion("I would rather talk about the weather.")
    graph.says = dbpedia
    result = run(tmp_path, llm, f"sparql+{graph.url}/sparql", "Which medication is for gout?", "-m", method)
    assert isinstance(result.exception, ModelFailed)
    assert "gave no usable reply twice" in str(result.exception)
    assert "\n" not in str(result.exception)
    assert (graph.asked, len(llm.asked)) == ([], 2)


def test_an_endpoint_that_fails_ends_the_run(graph: Loopback, llm: JsonServer, tmp_path: Path) -> None:
    graph.says = lambda _: Said("nonsense", 400)
    result = run(tmp_path, llm, f"sparql+{graph.url}/sparql", "Which medication is for gout?")
    assert isinstance(result.exception, KgmedError)
    assert "\n" not in str(result.exception)


def test_a_model_is_needed_where_the_names_of_the_graph_are_not_here(graph: Loopback, tmp_path: Path) -> None:
    env = {"KGMED_HOME": str(tmp_path), "UMLS_API_KEY": KEY}
    result = CliRunner().invoke(app, ["ask", QUESTION, "-g", f"umls-rest+{graph.url}"], env=env)
    assert isinstance(result.exception, BadInput)
    assert "needs a language model" in str(result.exception)
