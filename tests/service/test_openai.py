"""The `openai` client as it is, and the fields that Open WebUI reads."""

import json
from collections.abc import Iterator
from typing import Any

import openai
import pytest

import served
from kgmed.service.client import ServiceClient
from served import HTTP, QUESTION, Running, Slow

SAID = "Marfan syndrome has the findings ectopia lentis (6/10) and arachnodactyly (9/10) [1]."
WORDS = ("Marfan syndrome has the findings ", "ectopia lentis (6/10) and ", "arachnodactyly (9/10) [1].")


@pytest.fixture(scope="module")
def talking(home: object) -> Iterator[Running]:
    """A service with a model that says what the evidence says."""
    with served.running(served.cases_of(llm=Slow(words=WORDS))) as made:
        yield made


def sdk(service: Running, key: str = "none") -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{service.url}/v1", api_key=key, max_retries=0)


def user(*texts: str) -> list[Any]:
    """A conversation of these questions, each answered but the last."""
    found = [m for text in texts for m in ({"role": "user", "content": text}, {"role": "assistant", "content": "Yes."})]
    return [{"role": "system", "content": "Be brief."}, *found[:-1]]


def test_models_are_graphs_by_methods_and_the_clients_list_and_get_them(service: Running, talking: Running) -> None:
    with sdk(service) as plain, sdk(talking) as with_model:
        names = {m.id for m in plain.models.list()}
        assert {"kgmed/auto/auto", "kgmed/hpo/facts", "kgmed/cmekg/kg-rank"} <= names
        assert "kgmed/auto/llm" not in names
        assert "kgmed/auto/llm" in {m.id for m in with_model.models.list()}
        assert plain.models.retrieve("kgmed/hpo/facts").owned_by == "kgmed"
        with pytest.raises(openai.NotFoundError, match="no model is called"):
            plain.models.retrieve("gpt-4")


def test_an_answer_has_its_citations_in_all_three_forms(service: Running, client: ServiceClient) -> None:
    with sdk(service) as asking:
        said = asking.chat.completions.create(model="kgmed/auto/facts", messages=user(QUESTION), temperature=0.2)
    message = said.choices[0].message
    assert said.choices[0].finish_reason == "stop"
    assert "[1]" in (message.content or "")
    assert message.annotations
    cited = message.annotations[0].url_citation
    assert (message.content or "")[cited.start_index : cited.end_index] == "[1]"
    assert (cited.title, cited.url) == (
        "PMID:1",
        "https://pubmed.ncbi.nlm.nih.gov/1",
    )  # seen in 9 of 10, the other in 6
    extra = (said.model_extra or {})["kgmed"]
    assert extra["citations"][0]["mark"] == 1
    assert extra["citations"][0]["triples"][0]["head"]["name"] == "Marfan syndrome"
    assert client.run(extra["run"]).answer.text == message.content


def test_evidence_without_an_address_is_linked_to_the_page_of_the_service(service: Running) -> None:
    with sdk(service) as asking:
        said = asking.chat.completions.create(model="kgmed/cmekg/facts", messages=user("痛风吃什么药？"))
    annotations = said.choices[0].message.annotations or []
    run = (said.model_extra or {})["kgmed"]["run"]
    assert annotations[0].url_citation.url == f"{service.url}/#/run/{run}?evidence=1"


def test_a_model_is_asked_and_its_tokens_are_counted(talking: Running) -> None:
    with sdk(talking) as asking:
        said = asking.chat.completions.create(model="kgmed/auto/auto", messages=user(QUESTION))
    assert said.choices[0].message.content == SAID
    assert said.usage is not None
    assert (said.usage.prompt_tokens, said.usage.completion_tokens, said.usage.total_tokens) == (7, 3, 10)


@pytest.mark.parametrize("method", ["llm", "facts"])
def test_a_stream_says_the_same_as_the_whole(talking: Running, method: str) -> None:
    with sdk(talking) as asking:
        given: dict[str, Any] = {"model": f"kgmed/auto/{method}", "messages": user(QUESTION)}
        whole = asking.chat.completions.create(**given)
        pieces = list(asking.chat.completions.create(**given, stream=True, stream_options={"include_usage": True}))
    content = "".join(p.choices[0].delta.content or "" for p in pieces if p.choices)
    assert content == whole.choices[0].message.content
    assert pieces[0].choices[0].delta.role == "assistant"
    (last,) = [p for p in pieces if p.choices and p.choices[0].finish_reason == "stop"]
    cited = (last.choices[0].delta.model_extra or {})["annotations"]
    assert cited == [a.model_dump() for a in whole.choices[0].message.annotations or []]
    assert {p.id for p in pieces} == {pieces[0].id}
    assert pieces[-1].usage == whole.usage
    if method == "llm":
        assert [p.choices[0].delta.content for p in pieces[:3]] == list(WORDS)


def test_what_the_check_changes_follows_what_was_said(home: object) -> None:
    with served.running(served.cases_of(llm=Slow(words=("Tungsten boils.",)), keep=False)) as odd, sdk(odd) as asking:
        given: dict[str, Any] = {"model": "kgmed/auto/llm", "messages": user(QUESTION)}
        whole = asking.chat.completions.create(**given).choices[0].message
        pieces = list(asking.chat.completions.create(**given, stream=True))
    content = "".join(p.choices[0].delta.content or "" for p in pieces)
    assert content == f"Tungsten boils.\n\n{whole.content}"
    place = (pieces[-1].choices[0].delta.model_extra or {})["annotations"][0]["url_citation"]
    assert content[place["start_index"] : place["end_index"]] == "[1]"


def test_what_open_webui_reads_stands_where_it_looks(talking: Running) -> None:
    body = {"model": "kgmed/auto/auto", "messages": user(QUESTION), "stream": True, "features": {}, "chat_id": "x"}
    answer = HTTP.post(f"{talking.url}/v1/chat/completions", json=body)
    assert answer.headers["content-type"].startswith("text/event-stream")
    data = [line.removeprefix("data: ") for line in answer.text.split("\n\n") if line]
    assert data[-1] == "[DONE]"
    pieces = [json.loads(piece) for piece in data[:-1]]
    assert {piece["object"] for piece in pieces} == {"chat.completion.chunk"}
    annotations = [a for p in pieces for c in p["choices"] for a in c["delta"].get("annotations", ())]
    assert {a["type"] for a in annotations} == {"url_citation"}
    assert all(a["url_citation"]["url"].startswith("http") and a["url_citation"]["title"] for a in annotations)


def test_content_may_be_parts(service: Running) -> None:
    parts: list[Any] = [{"type": "text", "text": QUESTION}, {"type": "image_url", "image_url": {"url": "http://x/"}}]
    with sdk(service) as asking:
        said = asking.chat.completions.create(
            model="kgmed/auto/auto", messages=[{"role": "user", "content": parts}]
        ).choices[0].message.content  # fmt: skip
    assert "Arachnodactyly" in (said or "")


def test_the_history_is_the_conversation(service: Running) -> None:
    with sdk(service) as asking:
        given: dict[str, Any] = {"model": "kgmed/auto/facts"}
        told = asking.chat.completions.create(**given, messages=user(QUESTION, "What about Weill syndrome?"))
        alone = asking.chat.completions.create(**given, messages=user("What about Weill syndrome?"))
    assert (told.choices[0].message.content or "").startswith("Findings of Weill syndrome")
    assert (told.model_extra or {})["kgmed"]["run"] != (alone.model_extra or {})["kgmed"]["run"]


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        ({"model": "gpt-4", "messages": [{"role": "user", "content": "Gout?"}]}, 404, "no model is called"),
        ({"model": "kgmed/nope/facts", "messages": [{"role": "user", "content": "Gout?"}]}, 404, "no graph is called"),
        ({"model": "kgmed/hpo/hykee", "messages": [{"role": "user", "content": "Gout?"}]}, 404, "no method that can"),
        ({"model": "kgmed/hpo/facts", "messages": [{"role": "system", "content": "x"}]}, 422, "none of a user"),
        ({"model": "kgmed/hpo/facts", "messages": [{"role": "user", "content": "a" * 4001}]}, 422, "4,000 characters"),
        ({"model": "kgmed/hpo/facts", "messages": []}, 422, "messages"),
        ({"messages": [{"role": "user", "content": "Gout?"}]}, 422, "model: Field required"),
        ({"model": "kgmed/hpo/facts", "messages": [{"role": "user", "content": "Gout\ud800?"}]}, 422, "unicode"),
    ],
)
def test_an_error_has_the_form_that_the_client_reads(service: Running, body: Any, status: int, said: str) -> None:
    for stream in (False, True):
        sent, headers = json.dumps({**body, "stream": stream}), {"content-type": "application/json"}
        answer = HTTP.post(f"{service.url}/v1/chat/completions", content=sent, headers=headers)
        assert answer.status_code == status
        error = answer.json()["error"]
        assert set(error) == {"message", "type", "param", "code"}
        assert said in error["message"]


def test_the_client_raises_its_own_errors(service: Running) -> None:
    with sdk(service) as asking, pytest.raises(openai.NotFoundError, match="no graph is called 'nope'"):
        asking.chat.completions.create(model="kgmed/nope/facts", messages=user(QUESTION))
