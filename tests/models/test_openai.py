"""Against a real HTTP server on the loopback interface."""

import inspect
import json
import logging
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import pytest

from kgmed.errors import BadInput, Busy, KgmedError, ModelFailed, PromptTooLong, Unavailable
from kgmed.models.base import Message, Reply, Sampling, sampled
from kgmed.models.hosted import Anthropic, OpenAI
from loopback import Quiet, running

pytest.importorskip("openai")

KEY = "sk-secret-0123456789"
HELLO = [Message("system", "Be brief."), Message("user", "Hello")]


def completion(text: str | None = "Hi [1].", **more: Any) -> dict[str, Any]:
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    usage = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
    return {
        "id": "1",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [choice],
        "usage": usage,
    } | more


@dataclass
class Said:
    """What the server says next."""

    body: Any = field(default_factory=completion)
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0


@dataclass
class Server:
    """What it was asked, and what it will say; the last thing is said again and again."""

    url: str
    says: list[Said]
    asked: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    busy: int = 0
    busiest: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)


@pytest.fixture
def server() -> Iterator[Server]:
    state = Server("", [Said()])

    class Handler(Quiet):
        def do_POST(self) -> None:  # noqa: N802
            state.asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            state.keys.append(self.headers["Authorization"])
            said = state.says.pop(0) if len(state.says) > 1 else state.says[0]
            with state.lock:
                state.busy += 1
                state.busiest = max(state.busiest, state.busy)
            time.sleep(said.seconds)
            with state.lock:
                state.busy -= 1
            body = said.body if isinstance(said.body, bytes) else json.dumps(said.body).encode()
            self.send_response(said.status)
            for name, value in {"Content-Type": "application/json", **said.headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    with running(Handler) as url:
        state.url = f"{url}/v1"
        yield state


def model(server: Server, *, retries: int = 0, timeout: float = 10.0) -> OpenAI:
    return OpenAI("m", server.url, retries=retries, timeout=timeout, environment={"KGMED_API_KEY": KEY})


def ask(server: Server, said: Sequence[Said], *, retries: int = 0, timeout: float = 10.0) -> Reply:
    server.says = list(said)
    return model(server, retries=retries, timeout=timeout)(HELLO, max_tokens=5)


def refusal(message: str, **more: str | None) -> dict[str, Any]:
    return {"error": {"message": message, **more}}


def test_a_reply_comes_with_its_tokens_and_where_it_is_from(server: Server) -> None:
    reply = ask(server, [Said()])
    host = server.url.removeprefix("http://").removesuffix("/v1")
    assert reply == Reply("Hi [1].", 7, 3, f"openai/m at {host}")
    assert server.keys == [f"Bearer {KEY}"]
    asked = server.asked[0]
    assert asked["messages"] == [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello"}]
    assert (asked["temperature"], asked["max_tokens"], asked["model"]) == (0, 5, "m")


def test_a_repetition_penalty_is_sent_where_it_is_one(server: Server) -> None:
    ask(server, [Said()])
    with sampled(Sampling(penalty=1.1)):
        ask(server, [Said()])
        with pytest.raises(BadInput, match="take no repetition penalty"):
            _ = Anthropic("m", environment={"KGMED_API_KEY": "k"}).settings
    assert [asked.get("repetition_penalty") for asked in server.asked] == [None, 1.1]


def test_a_server_of_ones_own_needs_no_key(server: Server) -> None:
    assert OpenAI("m", server.url, environment={})(HELLO).text == "Hi [1]."


def test_a_reply_without_usage_has_no_tokens(server: Server) -> None:
    assert ask(server, [Said(completion(usage=None))]).tokens_in == 0


def test_too_many_requests_are_tried_again(server: Server) -> None:
    busy = Said(refusal("slow down"), 429, {"retry-after-ms": "1"})
    assert ask(server, [busy, busy, Said()], retries=2).text == "Hi [1]."
    assert len(server.asked) == 3


@pytest.mark.parametrize(("name", "value", "seconds"), [("retry-after", "7", 7.0), ("retry-after-ms", "1500", 1.5)])
def test_how_long_a_server_asks_to_wait_comes_with_the_error(
    server: Server, name: str, value: str, seconds: float
) -> None:
    with pytest.raises(Busy) as caught:
        ask(server, [Said(refusal("slow down"), 429, {name: value})])
    assert caught.value.after == seconds


def test_no_more_requests_run_at_once_than_may(server: Server) -> None:
    server.says = [Said(seconds=0.02)]
    llm = OpenAI("m", server.url, at_once=2, environment={})
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda _: llm(HELLO), range(6)))
    assert server.busiest == 2


def test_a_failing_server_is_tried_again_and_then_reported(server: Server) -> None:
    with pytest.raises(Unavailable, match=r"127\.0\.0\.1:\d+ is failing"):
        ask(server, [Said(refusal("oops"), 500, {"retry-after-ms": "1"})], retries=2)
    assert len(server.asked) == 3


@pytest.mark.parametrize(
    ("said", "kind", "words"),
    [
        (Said(refusal("bad key"), 401), Unavailable, "refuses the key; set the environment variable KGMED_API_KEY"),
        (Said(refusal("no rights"), 403), Unavailable, "refuses the key"),
        (Said(refusal("no such model"), 404), Unavailable, "has no model 'm'"),
        (Said(refusal("quota"), 429), Busy, "refuses more requests"),
        (Said(refusal("bad request"), 400), ModelFailed, "bad request"),
        (Said(refusal("x", code="context_length_exceeded"), 400), PromptTooLong, "less evidence"),
        (Said(refusal("x", type="exceed_context_size_error"), 400), PromptTooLong, "less evidence"),
        (Said(b"{not json"), ModelFailed, "cannot be used"),
        (Said(b"\xff\xfe{not json"), ModelFailed, "cannot be used"),
        (Said(b"<html>hello</html>", 200, {"Content-Type": "text/html"}), ModelFailed, "without a reply"),
        (Said(b"[]"), ModelFailed, "without a reply"),
        (Said(b"null"), ModelFailed, "without a reply"),
        (Said(completion(choices=[])), ModelFailed, "without a reply"),
        (Said(completion(choices=None)), ModelFailed, "without a reply"),
        (Said(completion(choices={"a": 1})), ModelFailed, "without a reply"),
        (Said(completion(choices=["x"])), ModelFailed, "no text"),
        (Said(completion(None)), ModelFailed, "no text: finish reason stop"),
    ],
)
def test_each_failure_is_one_line_that_says_what_to_do(
    server: Server, said: Said, kind: type[KgmedError], words: str
) -> None:
    with pytest.raises(kind, match=words) as caught:
        ask(server, [said])
    assert type(caught.value) is kind
    assert "\n" not in str(caught.value)
    assert "127.0.0.1" in str(caught.value)


def test_a_server_that_does_not_answer_in_time_is_unavailable(server: Server) -> None:
    with pytest.raises(Unavailable, match="did not answer in time"):
        ask(server, [Said(seconds=0.5)], timeout=0.1)


def test_a_server_that_is_not_there_is_unavailable() -> None:
    llm = OpenAI("m", "http://127.0.0.1:9/v1", retries=0, environment={})
    with pytest.raises(Unavailable, match=r"cannot reach 127\.0\.0\.1:9"):
        llm(HELLO)


def test_a_setting_that_a_model_refuses_is_left_out_and_stays_out(server: Server) -> None:
    refused = Said(refusal("no temperature", param="temperature"), 400)
    renamed = Said(refusal("use max_completion_tokens", param="max_tokens"), 400)
    server.says = [refused, renamed, Said()]
    llm = model(server)
    assert [llm(HELLO, max_tokens=5).text, llm(HELLO, max_tokens=6).text] == ["Hi [1].", "Hi [1]."]
    assert [("temperature" in a, a.get("max_tokens"), a.get("max_completion_tokens")) for a in server.asked] == [
        (True, 5, None),
        (False, 5, None),
        (False, None, 5),
        (False, None, 6),
    ]


def test_a_refusal_that_nothing_can_mend_is_not_asked_for_ever(server: Server) -> None:
    with pytest.raises(ModelFailed):
        ask(server, [Said(refusal("no", param="temperature"), 400), Said(refusal("no", param="temperature"), 400)])
    assert len(server.asked) == 2


def test_the_key_is_in_no_message_no_repr_and_no_log(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    for said in (Said(refusal(f"wrong key {KEY}"), 401), Said(completion(None)), Said(refusal(KEY, code=KEY), 400)):
        with pytest.raises(KgmedError) as caught:
            ask(server, [said])
        chain = [caught.value, caught.value.__cause__]
        assert not any(KEY in f"{e} {e!r}" for e in chain)
    assert KEY not in repr(model(server)) + model(server).name + caplog.text


def test_a_key_for_one_company_is_not_sent_to_another_server(server: Server) -> None:
    OpenAI("m", server.url, environment={"OPENAI_API_KEY": KEY})(HELLO)
    assert KEY not in server.keys[0]


def test_without_a_url_a_key_is_needed_and_either_variable_will_do() -> None:
    with pytest.raises(Unavailable, match="set KGMED_API_KEY"):
        OpenAI("gpt", environment={})
    assert OpenAI("gpt", environment={"OPENAI_API_KEY": KEY}).name == "openai/gpt at api.openai.com"


def test_a_key_with_a_line_break_in_it_is_refused_without_being_shown() -> None:
    with pytest.raises(BadInput, match="KGMED_API_KEY") as caught:
        OpenAI("m", "http://localhost/v1", environment={"KGMED_API_KEY": f"{KEY}\nx"})
    assert KEY not in str(caught.value)


def test_a_password_in_the_url_is_not_shown() -> None:
    assert "pw" not in OpenAI("m", "http://me:pw@localhost:8000/v1", environment={}).name


@pytest.mark.parametrize("url", ["localhost:8000", "ftp://x/v1", "http://", "/v1"])
def test_a_url_that_is_none_is_bad_input(url: str) -> None:
    with pytest.raises(BadInput, match="must look like"):
        OpenAI("m", url, environment={})


def test_the_signature_shows_no_environment() -> None:
    assert "PATH" not in repr(inspect.signature(OpenAI))
    assert inspect.signature(OpenAI).parameters["environment"].default is None


def chunk(text: str | None = None, *, done: str | None = None, **more: Any) -> str:
    delta = {"content": text} if text is not None else {}
    choices = [{"index": 0, "delta": delta, "finish_reason": done}]
    data = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": choices} | more
    return f"data: {json.dumps(data)}\n\n"


def events(*parts: str) -> Said:
    return Said("".join(parts).encode(), 200, {"Content-Type": "text/event-stream"})


USAGE = chunk(choices=[], usage={"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9})


def streamed(llm: OpenAI) -> tuple[list[str], Reply]:
    stream, pieces = llm.stream(HELLO, max_tokens=5), []
    while True:
        try:
            pieces.append(next(stream))
        except StopIteration as end:
            return pieces, end.value


def test_a_stream_gives_its_words_as_they_come_and_the_reply_at_the_end(server: Server) -> None:
    server.says = [events(chunk(""), chunk("Hi"), chunk(" [1]."), chunk(done="stop"), USAGE, "data: [DONE]\n\n")]
    llm = model(server)
    assert streamed(llm) == (["Hi", " [1]."], Reply("Hi [1].", 7, 2, llm.name))
    assert (server.asked[0]["stream"], server.asked[0]["stream_options"]) == (True, {"include_usage": True})


@pytest.mark.parametrize(
    ("said", "kind", "words"),
    [
        (events(chunk("Hi")), Busy, "broke off"),
        (
            Said(chunk("Hi").encode(), 200, {"Content-Type": "text/event-stream", "Content-Length": "900"}),
            Busy,
            "broke off",
        ),
        (events(chunk("Hi"), "data: {not json\n\n"), ModelFailed, "cannot be used"),
        (events(chunk("Hi"), 'data: {"error": {"message": "lost it"}}\n\n'), ModelFailed, "lost it"),
        (events(chunk(done="content_filter")), ModelFailed, "content_filter"),
        (events("data: [DONE]\n\n"), Busy, "broke off"),
        (Said(refusal("slow"), 429), Busy, "refuses more"),
        (Said(refusal("x", code="context_length_exceeded"), 400), PromptTooLong, "less evidence"),
    ],
)
def test_half_a_stream_is_a_typed_failure(server: Server, said: Said, kind: type[KgmedError], words: str) -> None:
    server.says = [said]
    with pytest.raises(kind, match=words) as caught:
        streamed(model(server, timeout=0.5))
    assert type(caught.value) is kind


def test_a_server_that_knows_no_usage_in_streams_is_asked_without(server: Server) -> None:
    whole = events(chunk("Hi"), chunk(done="stop"))
    server.says = [Said(refusal("unknown", param="stream_options"), 400), whole]
    assert streamed(model(server))[1].text == "Hi"
    assert ["stream_options" in a for a in server.asked] == [True, False]


def test_a_stream_left_early_frees_its_place(server: Server) -> None:
    server.says = [events(chunk("Hi"), chunk(" there"), chunk(done="stop"))]
    llm = OpenAI("m", server.url, at_once=1, environment={})
    assert next(llm.stream(HELLO)) == "Hi"
    assert streamed(llm)[1].text == "Hi there"


SCHEMA = {"type": "object", "properties": {"terms": {"type": "array"}}, "required": ["terms"]}


def test_a_reply_is_held_to_a_schema_where_the_server_can(server: Server) -> None:
    assert model(server).as_json(HELLO, SCHEMA, max_tokens=5).text == "Hi [1]."
    shape = server.asked[0]["response_format"]
    assert (shape["type"], shape["json_schema"]["schema"]) == ("json_schema", SCHEMA)
    assert shape["json_schema"]["strict"] is True  # else OpenAI takes the schema for advice


@pytest.mark.parametrize("said", [refusal("no", param="response_format"), refusal("json_schema is not supported")])
def test_a_server_that_refuses_schemas_is_asked_without_from_then_on(server: Server, said: dict[str, Any]) -> None:
    server.says = [Said(said, 400), Said()]
    llm = model(server)
    assert [llm.as_json(HELLO, SCHEMA).text, llm.as_json(HELLO, SCHEMA).text] == ["Hi [1]."] * 2
    assert ["response_format" in a for a in server.asked] == [True, False, False]


def test_threads_that_are_refused_a_setting_at_once_all_go_on_without_it(server: Server) -> None:
    refused = Said(refusal("no temperature", param="temperature"), 400, seconds=0.05)
    server.says = [refused, refused, refused, Said()]
    llm = model(server)
    with ThreadPoolExecutor(3) as pool:
        assert [r.text for r in pool.map(lambda _: llm(HELLO), range(3))] == ["Hi [1]."] * 3


def test_a_body_that_is_nested_too_deeply_is_a_model_that_failed(server: Server) -> None:
    with pytest.raises(ModelFailed, match="cannot be used"):
        ask(server, [Said(b'{"choices": ' + b"[" * 100_000 + b"]" * 100_000 + b"}")])
