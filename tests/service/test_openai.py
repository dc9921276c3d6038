"""The `openai` client as it is, and the fields that Open WebUI reads."""

import base64
import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import openai
import pytest

import served
from kgmed.errors import Unavailable
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
    assert said.usage is not None  # of the reading, the choice of evidence, asked twice, the answer and its check
    assert (said.usage.prompt_tokens, said.usage.completion_tokens, said.usage.total_tokens) == (35, 15, 50)


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
    with (
        served.running(served.cases_of(llm=Slow(words=("Tungsten boils. ", *WORDS)), keep=False)) as odd,
        sdk(odd) as asking,
    ):
        given: dict[str, Any] = {"model": "kgmed/auto/llm", "messages": user(QUESTION)}
        whole = asking.chat.completions.create(**given).choices[0].message
        pieces = list(asking.chat.completions.create(**given, stream=True))
    content = "".join(p.choices[0].delta.content or "" for p in pieces)
    assert content == f"Tungsten boils. {SAID}\n\n{whole.content}"
    assert (whole.content or "").startswith("Tungsten boils. [the model's own] ")
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
        (
            {"model": "kgmed/hpo/facts", "messages": [{"role": "user", "content": "a" * 50_001}]},
            422,
            "50,000 characters",
        ),
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


# --- What clients send beside the question.


def post(service: Running, **body: Any) -> Any:
    asked = {"model": "kgmed/hpo/facts", "messages": user(QUESTION), **body}
    return HTTP.post(f"{service.url}/v1/chat/completions", json=asked)


OPTIONAL = (
    "stream", "stream_options", "response_format", "n", "tools", "tool_choice", "functions", "function_call", "seed",
    "temperature", "top_p", "stop", "max_tokens", "max_completion_tokens", "logprobs", "top_logprobs", "logit_bias",
    "user", "store", "metadata", "modalities", "audio", "prediction", "parallel_tool_calls", "reasoning_effort",
    "service_tier", "presence_penalty", "frequency_penalty", "verbosity", "web_search_options", "safety_identifier",
)  # fmt: skip


def test_every_optional_parameter_may_be_null(service: Running) -> None:
    assert post(service, **dict.fromkeys(OPTIONAL)).status_code == 200
    told = {
        "role": "user",
        "content": [{"type": "text", "text": QUESTION}, {"type": "file", "text": None}],
        "name": None,
    }
    tools = [{"type": "function", "function": {"name": "f", "parameters": {}}}]
    used = [
        {"role": "assistant", "content": None, "tool_calls": [{"id": "1", "type": "function", "function": {}}]},
        {"role": "tool", "tool_call_id": "1", "content": "12"},
    ]
    said = post(service, messages=[told, *used, told], tools=tools, tool_choice="auto", n=1, stream_options={})
    assert "Arachnodactyly" in said.json()["choices"][0]["message"]["content"]


def test_json_is_the_answer_of_the_run(service: Running, client: ServiceClient) -> None:
    said = post(service, response_format={"type": "json_object"}).json()
    found = json.loads(said["choices"][0]["message"]["content"])
    run = client.run(found["run"])
    assert (found["answer"], found["abstained"]) == (run.answer.text, False)
    assert found["citations"][0]["triples"][0]["head"]["name"] == "Marfan syndrome"
    streamed = post(service, response_format={"type": "json_object"}, stream=True).text
    pieces = [json.loads(line.removeprefix("data: ")) for line in streamed.split("\n\n")[:-2]]
    text = "".join(c["delta"].get("content", "") for p in pieces for c in p["choices"])
    assert json.loads(text)["answer"] == found["answer"]
    assert pieces[-1]["choices"][0]["finish_reason"] == "stop"


SCHEMA = {"type": "object", "properties": {"signs": {"type": "array", "items": {"type": "string"}}}}


@pytest.mark.parametrize(
    ("param", "value"),
    [
        ("response_format", {"type": "json_schema", "json_schema": {"name": "x", "schema": SCHEMA}}),
        ("tool_choice", "required"),
        ("tool_choice", {"type": "function", "function": {"name": "f"}}),
        ("function_call", {"name": "f"}),
        ("n", 2),
    ],
)
def test_what_cannot_be_followed_is_refused_by_name(service: Running, param: str, value: Any) -> None:
    said = post(service, **{param: value})
    error = said.json()["error"]
    assert (said.status_code, error["code"], error["param"]) == (400, "unsupported_parameter", param)


def test_a_schema_of_the_caller_is_filled_by_the_model(home: object) -> None:
    llm = Slow(words=('```json\n{"signs": ["ectopia lentis"]}\n```',))
    shape = {"type": "json_schema", "json_schema": {"name": "x", "schema": SCHEMA, "strict": True}}
    with served.running(served.cases_of(llm=llm)) as made:
        for stream in (False, True):
            said = post(made, response_format=shape, stream=stream).text
            assert "ectopia lentis" in said
        whole = post(made, response_format=shape).json()
        assert json.loads(whole["choices"][0]["message"]["content"]) == {"signs": ["ectopia lentis"]}
        llm.words = ("no JSON",)
        assert post(made, response_format=shape).status_code == 502


def test_json_without_a_content_type_is_read_and_damaged_json_told_by_its_place(service: Running) -> None:
    url, body = f"{service.url}/v1/chat/completions", {"model": "kgmed/hpo/facts", "messages": user(QUESTION)}
    plain = HTTP.build_request("POST", url, content=json.dumps(body))
    assert "content-type" not in plain.headers
    assert HTTP.send(plain).status_code == 200
    for path, where in (("/v1/chat/completions", "error"), ("/v1/ask", "detail")):
        said = HTTP.post(
            f"{service.url}{path}",
            content='{"model": "x",\n "messages": [}',
            headers={"content-type": "application/json"},
        )
        told = said.json()[where]
        assert said.status_code == 400
        assert (told["message"] if where == "error" else told).startswith("line 2, column 15: no JSON")


def test_what_does_not_exist_is_not_found_and_what_does_has_its_methods(service: Running) -> None:
    for method, path in (
        ("POST", "/v1/responses"),
        ("POST", "/v1/completions"),
        ("PUT", "/nowhere"),
        ("DELETE", "/v1/x"),
    ):
        assert HTTP.request(method, f"{service.url}{path}").status_code == 404, path
    assert "message" in HTTP.post(f"{service.url}/v1/responses").json()["error"]
    for method, path in (("DELETE", "/v1/models"), ("PUT", "/v1/chat/completions")):
        assert HTTP.request(method, f"{service.url}{path}").status_code == 405, path
    assert HTTP.get(f"{service.url}/v1/models/").json() == HTTP.get(f"{service.url}/v1/models").json()


@pytest.mark.parametrize("form", ["float", "base64"])
def test_embeddings_are_the_encoders_vectors(service: Running, form: Any) -> None:
    texts = ["gout", "Marfan syndrome"]
    with sdk(service) as asking:
        said = asking.embeddings.create(model="kgmed/encoder", input=texts, encoding_format=form)
        assert asking.embeddings.create(model=said.model, input="gout").data[0].index == 0
    wanted = served.cases_of(keep=False).session.encoder(texts)
    rows: list[Any] = [one.embedding for one in said.data]
    if form == "base64":
        rows = [np.frombuffer(base64.b64decode(row), "<f4") for row in rows]
    assert np.allclose(rows, wanted, atol=1e-6)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"model": "gpt"}, 404),
        ({"input": [1, 2]}, 400),
        ({"dimensions": 3}, 400),
        ({"input": " "}, 422),
        ({"input": []}, 422),
    ],
)
def test_embeddings_that_cannot_be_had_are_refused(service: Running, body: Any, status: int) -> None:
    said = HTTP.post(f"{service.url}/v1/embeddings", json={"model": "kgmed/encoder", "input": "gout", **body})
    assert (said.status_code, set(said.json()["error"])) == (status, {"message", "type", "param", "code"})


TASK = """### Task:
Generate a concise, 3-5 word title with an emoji summarizing the chat history.
### Output:
JSON format: {{ "{key}": "..." }}
### Examples:
- {{ "{key}": "📉 Stock Market Trends" }}
### Chat History:
<chat_history>
USER: What are the signs of Marfan syndrome?
ASSISTANT: Long fingers.
</chat_history>"""


@pytest.mark.parametrize("key", ["title", "tags", "follow_ups", "queries"])
@pytest.mark.parametrize("stream", [False, True])
def test_chores_of_a_chat_program_are_done_briefly(service: Running, key: str, stream: bool) -> None:
    said = post(service, messages=[{"role": "user", "content": TASK.format(key=key)}], stream=stream)
    text = said.text
    if not stream:
        text = said.json()["choices"][0]["message"]["content"]
        assert json.loads(text) == {key: QUESTION if key == "title" else []}
    assert "Arachnodactyly" not in text


def test_a_question_with_documents_is_no_chore(service: Running) -> None:
    asked = f"### Task:\nRespond to the user query using the provided context.\n<user_query>{QUESTION}</user_query>"
    assert "Arachnodactyly" in post(service, messages=[{"role": "user", "content": asked}]).text


class Down:
    """A model whose server is not there."""

    name = "down"

    def __call__(self, messages: Any, /, *, max_tokens: int = 256) -> Any:
        raise Unavailable("cannot reach localhost:1")


def test_what_failed_is_said_before_what_could_be_done_without_it(home: object) -> None:
    with served.running(served.cases_of(llm=Down())) as made, sdk(made) as asking:
        given: dict[str, Any] = {"model": "kgmed/hpo/mindmap", "messages": user(QUESTION)}
        whole = asking.chat.completions.create(**given).choices[0].message
        pieces = list(asking.chat.completions.create(**given, stream=True))
    text = whole.content or ""
    assert text.startswith("[cannot reach localhost:1]\n\n")
    assert "Arachnodactyly" in text
    assert "".join(p.choices[0].delta.content or "" for p in pieces).strip() == text
    place = (whole.annotations or [])[0].url_citation
    assert text[place.start_index : place.end_index] == "[1]"
