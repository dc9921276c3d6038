"""The same is asked through every door, and the answers are the same."""

import asyncio
import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import mcp
import openai
import pytest
from typer.testing import CliRunner

import served
from kgmed.cli import app
from kgmed.errors import Ambiguous, BadInput, Unavailable
from kgmed.evaluate.report.page import PAGE
from kgmed.records import Entity, Role, Run, to_json
from kgmed.service.client import ServiceClient
from kgmed.service.uses import open_judge
from served import HTTP, LENS, LONG, QUESTION, Running


def of_command(*words: str) -> Any:
    """What a command prints as JSON."""
    done = CliRunner().invoke(app, [*words, "--json"], env={"COLUMNS": "200"})
    assert done.exit_code == 0, (done.output, done.exception)
    return json.loads(done.stdout)


def of_tool(url: str, tool: str, /, **given: Any) -> Any:
    """What a tool gives over HTTP."""

    async def call() -> Any:
        async with mcp.Client(f"{url}/mcp") as client:
            return await client.call_tool(tool, given)

    done = asyncio.run(call())
    assert not done.is_error, done.content
    return done.structured_content


def without_times(data: Any) -> Any:
    """A run without what differs from one asking to the next, and without the encoder, which tests choose."""
    return {k: v for k, v in data.items() if k not in ("id", "stages", "models")}


def test_a_question_has_the_same_run_through_command_rest_stream_mcp_and_openai(
    service: Running, client: ServiceClient
) -> None:
    asked = of_command("ask", QUESTION, "--encoder", "ngrams", "--no-log")
    rest = client.ask(QUESTION)
    (*_, streamed) = client.stream(QUESTION)
    tool = of_tool(service.url, "ask", question=QUESTION)
    assert isinstance(streamed, Run)
    assert without_times(asked) == without_times(rest.to_json()) == without_times(streamed.to_json())
    assert rest.answer.text in tool["answer"]
    assert [f["text"] for f in tool["facts"]] == [e.text for e in rest.context.cited]
    assert rest.context.cited
    with openai.OpenAI(base_url=f"{service.url}/v1", api_key="none") as sdk:
        said = sdk.chat.completions.create(model="kgmed/auto/auto", messages=[{"role": "user", "content": QUESTION}])
    assert said.choices[0].message.content == rest.answer.text


def test_a_patient_has_the_same_diseases_through_command_rest_and_mcp(service: Running, client: ServiceClient) -> None:
    asked = of_command("diagnose", LONG, f"-{LENS}", "--sex", "female")
    rest = client.diagnose([LONG, f"-{LENS}"], sex="female")
    assert asked == to_json(rest)
    told = of_tool(service.url, "diagnose", findings=[LONG, f"-{LENS}"], sex="female")["facts"]
    ranked = [d.disease for d in rest.patients[0].ranked]
    assert [f["text"].partition(": ")[0] for f in told] == [f"{d.name} ({d.id})" for d in ranked[:5]]
    assert rest.patients[0].ranked[0].disease.id == "OMIM:154700"


def test_the_diseases_of_a_patient_are_called_in_the_language_that_is_asked_for(client: ServiceClient) -> None:
    (patient,) = client.diagnose([LONG, LENS], language="zh").patients
    (english,) = client.diagnose([LONG, LENS]).patients
    assert [d.disease.id for d in patient.ranked] == [d.disease.id for d in english.ranked]
    assert (english.ranked[0].disease.name, patient.ranked[0].disease.name) == ("Marfan syndrome", "马方综合征")
    called = {r.finding.id: r.finding.name for r in patient.ranked[0].reasons if r.finding}
    assert (called[LONG], called[LENS]) == ("蜘蛛指", "Ectopia lentis")  # which has no Chinese name here


def test_a_description_is_understood_alike_by_command_and_service(client: ServiceClient) -> None:
    text = "spider fingers but no lens dislocation"
    assert of_command("diagnose", text) == to_json(client.diagnose(text=text))


@pytest.mark.parametrize("name", ["Arachnodactyly", "arachnodactily"])
def test_a_name_is_found_alike_through_command_rest_and_mcp(service: Running, client: ServiceClient, name: str) -> None:
    found = of_command("graph", "find", "hpo", name)
    assert found == to_json(client.find("hpo", name))
    told = of_tool(service.url, "find", name=name, graph="hpo")["facts"]
    assert [f["text"].split(" | ")[0] for f in told] == [m["entity"]["id"] for m in found]
    assert found[0]["entity"]["id"] == LONG


def test_an_entity_and_its_neighbours_are_the_same_through_command_and_rest(client: ServiceClient) -> None:
    assert of_command("graph", "show", "hpo", LONG) == to_json(client.entity("hpo", LONG))
    there = to_json(client.neighbours("hpo", LENS))
    assert of_command("graph", "neighbours", "hpo", LENS) == there["triples"]


def test_what_is_typed_is_completed_with_the_definition_and_narrowed_by_kind(client: ServiceClient) -> None:
    (found,) = client.complete("hpo", "spi")
    assert (found.entity.name, found.entity.description) == ("Arachnodactyly", "Long slender fingers.")
    assert [c.name for c in client.complete("auto", "e", kinds=["disease"])] == []
    assert client.complete("auto", "胰腺")[0].name == "急性胰腺炎"


def test_a_name_of_two_entities_is_refused_with_both_and_one_that_is_misspelled_with_what_is_meant(
    client: ServiceClient,
) -> None:
    with pytest.raises(Ambiguous) as both:
        client.entity("hpo", "Twin disease")
    assert {entity.id for entity in both.value.candidates if isinstance(entity, Entity)} == {"OMIM:2", "ORPHA:2"}
    with pytest.raises(BadInput, match="did you mean Arachnodactyly"):
        client.neighbours("hpo", "arachnodactily")


def test_neighbours_come_in_pages_that_together_are_all_and_roles_are_counted(client: ServiceClient) -> None:
    whole = client.neighbours("hpo", "OMIM:154700")
    first = client.neighbours("hpo", "OMIM:154700", limit=1)
    rest = client.neighbours("hpo", "OMIM:154700", limit=1, after=first.next or 0)
    assert (*first.triples, *rest.triples) == whole.triples
    assert (first.next, rest.next, whole.total, whole.roles) == (1, None, 2, {Role.FINDING: 2})
    assert client.neighbours("hpo", "OMIM:154700", roles=[Role.TREATS]).triples == ()


def test_a_client_that_reaches_nothing_says_how_to_start_it() -> None:
    with ServiceClient("http://127.0.0.1:9") as nobody, pytest.raises(Unavailable, match="start it with: kgmed serve"):
        nobody.ask(QUESTION)


def test_paths_are_the_same_through_command_rest_and_mcp(service: Running, client: ServiceClient) -> None:
    found = of_command("graph", "paths", "hpo", LONG, "OMIM:1")
    assert found == to_json(client.paths("hpo", LONG, "OMIM:1"))
    told = of_tool(service.url, "paths", entity=LONG, other="OMIM:1", graph="hpo")["facts"]
    assert [f["text"].count("->") + f["text"].count("<-") for f in told] == [len(p["triples"]) for p in found["paths"]]
    assert len(found["paths"][0]["triples"]) == 3


def test_methods_are_listed_alike_by_command_and_service(client: ServiceClient) -> None:
    listed = {row["name"]: row["does"] for row in of_command("methods")}
    assert {m.name: m.does for m in client.methods()} == listed


def test_a_comparison_holds_what_each_method_says_when_asked_alone(client: ServiceClient) -> None:
    facts, rank = client.compare(QUESTION, ["facts", "kg-rank"])
    assert facts.run is not None
    assert without_times(facts.run.to_json()) == without_times(client.ask(QUESTION, method="facts").to_json())
    assert rank.method == "kg-rank"


def test_a_run_is_found_again_by_its_whole_id_and_by_no_part_of_it(client: ServiceClient) -> None:
    run = client.ask(QUESTION)
    assert client.run(run.id) == run
    for part in ("last", run.id[:8], run.id[-8:], run.id[:-1], run.id.upper(), "%"):
        with pytest.raises(Exception, match="no run is called"):
            client.run(part)


def test_a_run_outlives_the_service_where_runs_are_kept_and_not_where_they_are_not() -> None:
    with served.running(served.cases_of()) as first, ServiceClient(first.url) as client:
        run = client.ask(QUESTION)
    with served.running(served.cases_of(keep=False)) as second, ServiceClient(second.url) as client:
        forgotten = client.ask(QUESTION)
        with pytest.raises(Exception, match="no run is called"):
            client.run(run.id)
    with served.running(served.cases_of()) as third, ServiceClient(third.url) as client:
        assert client.run(run.id) == run
        with pytest.raises(Exception, match="no run is called"):
            client.run(forgotten.id)


def test_a_conversation_goes_on_from_the_run_before(client: ServiceClient) -> None:
    first = client.ask(QUESTION)
    second = client.ask("What about Weill syndrome?", after=[first.id])
    assert second.question.text == "What are the signs of Weill syndrome?"
    assert "Ectopia lentis" in second.answer.text


def test_a_phenopacket_that_was_given_out_is_read_back_as_the_same_patient(
    service: Running, client: ServiceClient
) -> None:
    patient: dict[str, Any] = {"findings": [LONG, f"-{LENS}"], "sex": "male", "age": "P4Y6M", "onset": "3y"}
    packet = HTTP.post(f"{service.url}/v1/phenopacket", json=patient).json()
    given, read = client.diagnose(**patient), client.diagnose(phenopacket=packet)
    assert to_json(given.patients[0].ranked) == to_json(read.patients[0].ranked)
    again = read.patients[0].patient
    assert (again.present, again.absent, again.sex, again.age, again.onset) == ((LONG,), (LENS,), "male", 4.5, (3, 3))


def test_the_python_that_serves_mcp_over_standard_input_answers_the_same(client: ServiceClient) -> None:
    async def call() -> Any:
        code = "from kgmed.cli import main; main()"
        command = mcp.StdioServerParameters(
            command=sys.executable, args=["-c", code, "mcp", "--encoder", "ngrams"], env=dict(os.environ)
        )
        async with mcp.Client(command) as talking:
            return await talking.call_tool("ask", {"question": QUESTION})

    assert client.ask(QUESTION).answer.text in asyncio.run(call()).structured_content["answer"]


def test_reports_of_evaluations_are_listed_and_shown_without_scripts_and_no_other_file_is(tmp_path: Path) -> None:
    (tmp_path / "reports" / "may").mkdir(parents=True)
    (tmp_path / "reports" / "may" / PAGE).write_text("<h1>May</h1>", encoding="utf-8")
    (tmp_path / PAGE).write_text("not a report of the folder", encoding="utf-8")
    cases = replace(served.cases_of(keep=False), reports=tmp_path / "reports")
    with served.running(cases) as service:
        assert [r["id"] for r in HTTP.get(f"{service.url}/v1/reports").json()] == ["may"]
        page = HTTP.get(f"{service.url}/v1/reports/may")
        others = [HTTP.get(f"{service.url}/v1/reports/{n}").status_code for n in ("..", "%2e%2e", "x", "..%2f..", "")]
    assert page.text == "<h1>May</h1>"
    assert "sandbox" in page.headers["content-security-policy"]
    assert "script" not in page.headers["content-security-policy"]
    assert not [status for status in others[1:4] if status == 200]


@pytest.fixture
def cases(tmp_path: Path) -> Path:
    flu = {"disease": "flu", "positive": ["fever", "cough"], "negative": ["rash"]}
    measles = {"disease": "measles", "positive": ["fever", "rash"], "negative": ["cough"]}
    path = tmp_path / "cases.jsonl"
    path.write_text("\n".join(map(json.dumps, [flu] * 6 + [measles] * 4)), encoding="utf-8")
    return path


ASKED = ["fever and cough, no rash", "fever and rash", "tungsten"]
ANSWERS = ["It is the flu.", "flu or measles", "flu"]


def test_answers_are_rewarded_alike_by_command_rest_client_and_mcp(cases: Path, tmp_path: Path) -> None:
    rows = [{"question": q, "answer": a} for q, a in zip(ASKED, ANSWERS, strict=True)]
    (tmp_path / "answers.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    told = of_command("reward", "score", str(cases), "--answers", str(tmp_path / "answers.jsonl"))
    wanted = [row["reward"] for row in told["answers"]]
    use_cases = replace(served.cases_of(keep=False), judge=open_judge(str(cases), None, "best"))
    with served.running(use_cases) as service, ServiceClient(service.url) as client:
        assert client.about().rewards
        assert client.reward(ASKED, ANSWERS) == wanted
        said = of_tool(service.url, "reward", questions=ASKED, answers=ANSWERS)
        with pytest.raises(BadInput, match="give one each"):
            client.reward(ASKED, ANSWERS[:1])
    assert said["rewards"] == wanted
    assert [j["outcome"] for j in said["judged"]] == ["one", "several", "unjudged"]
    assert wanted[0] > 0 == wanted[1]
    assert wanted[2] is None


def test_answers_are_rewarded_in_the_forms_of_openrlhf_and_verl(cases: Path) -> None:
    use_cases = replace(served.cases_of(keep=False), judge=open_judge(str(cases), None, "best"))
    prompts = [f"<|im_start|>user\n{q}<|im_end|>\n<|im_start|>assistant\n" for q in ASKED]
    query = [f"{p}<think>measles?</think>{a}<|im_end|>" for p, a in zip(prompts, ANSWERS, strict=True)]
    of_batch = {"data_sources": ["dxy"] * 3, "ground_truths": ["flu", None, ""], "solution_strs": ANSWERS,
                "extra_infos": [{"question": q, "index": n} for n, q in enumerate(ASKED)]}  # fmt: skip
    with served.running(use_cases) as service:

        def told(body: dict[str, Any]) -> Any:
            return HTTP.post(f"{service.url}/v1/reward", json=body).json()

        plain = told({"questions": ASKED, "answers": ANSWERS})
        rlhf, verl = told({"query": query, "prompts": prompts, "labels": ["flu", "", None]}), told(of_batch)
        refused = (
            told({"query": ["a"], "prompts": ["b"]}),
            told({"query": query, "prompts": prompts[:1]}),
            told({**of_batch, "extra_infos": [{}] * 3}),
            told({**of_batch, "solution_strs": ["a"]}),
        )
    assert plain["scores"] == [plain["rewards"][0], 0, 0]
    assert plain["rewards"][2] is None
    assert rlhf["rewards"] == rlhf["scores"] == verl["scores"] == plain["scores"]
    assert [r["detail"].split(";")[0] for r in refused] == [
        "query 0 does not begin with its prompt", "3 queries for 1 prompts", "extra_infos[0] has no question",
        refused[3]["detail"].split(";")[0],
    ]  # fmt: skip
    assert "give one each" in refused[3]["detail"]


def test_a_phenopacket_of_more_findings_than_a_patient_has_is_refused(service: Running) -> None:
    findings = [{"type": {"id": f"HP:{n:07d}"}} for n in range(201)]
    packet = {"id": "p", "subject": {"id": "s"}, "phenotypicFeatures": findings, "metaData": {}}
    said = HTTP.post(f"{service.url}/v1/diagnose", json={"phenopacket": packet})
    assert (said.status_code, said.json()["detail"]) == (422, "phenopacket: 200 findings are the most")


def test_a_question_is_understood_as_its_reading_says(client: ServiceClient) -> None:
    as_read = client.ask(QUESTION)
    start = QUESTION.index("Marfan syndrome")
    place = {"start": start, "end": start + len("Marfan syndrome")}
    other = client.ask(QUESTION, reading={"entities": [{**place, "id": "OMIM:1"}]})
    assert [(x.entity.name, x.how) for x in other.links] == [("Weill syndrome", "chosen")]
    assert "Arachnodactyly" in as_read.answer.text
    assert "Arachnodactyly" not in other.answer.text
    assert other.answer.text.startswith("Findings of Weill syndrome")
    genes = client.ask(QUESTION, reading={"intents": ["genes"]})
    assert [(a.intent, a.subject[0].names[0]) for a in genes.query.frame.asks] == [("genes", "Marfan syndrome")]
    assert genes.query.frame.source == "given"
    assert genes.answer.abstained
    with pytest.raises(BadInput, match="no entity"):
        client.ask(QUESTION, reading={"entities": [{**place, "id": "OMIM:404"}]})
