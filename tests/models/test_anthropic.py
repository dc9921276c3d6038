"""Against a real HTTP server on the loopback interface."""

import inspect
import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from json_server import JsonServer, Said, serving
from kgmed.errors import BadInput, Busy, KgmedError, ModelFailed, PromptTooLong, Unavailable
from kgmed.models.asking import ask_with_schema, slots_schema, strings_schema
from kgmed.models.base import Message, Reply
from kgmed.models.hosted import Anthropic
from kgmed.models.named import CachedLLM, recorded_models

pytest.importorskip("anthropic", reason="needs the package anthropic (extra models)")

KEY = "sk-ant-secret-0123456789"
HELLO = [Message("system", "Be brief."), Message("user", "Hello")]


def message(*texts: str, **more: Any) -> dict[str, Any]:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [{"type": "text", "text": t} for t in texts],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 7, "output_tokens": 3},
    } | more


def refusal(text: str, kind: str = "invalid_request_error") -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": text}}


@pytest.fixture
def server() -> Iterator[JsonServer]:
    with serving() as state:
        state.says = [Said(message("Hi [1]."))]
        yield state


def model(server: JsonServer, *, retries: int = 0, timeout: float = 10.0) -> Anthropic:
    return Anthropic("m", server.url, retries=retries, timeout=timeout, environment={"KGMED_API_KEY": KEY})


def test_a_reply_comes_with_its_tokens_and_the_system_goes_apart(server: JsonServer) -> None:
    host = server.url.removeprefix("http://")
    assert model(server)(HELLO, max_tokens=5) == Reply("Hi [1].", 7, 3, f"anthropic/m at {host}")
    asked = server.asked[0]
    assert asked["messages"] == [{"role": "user", "content": "Hello"}]
    assert (asked["system"], asked["max_tokens"], asked["temperature"]) == ("Be brief.", 5, 0)
    assert server.paths == ["/v1/messages"]
    assert KEY in str(server.headers[0])  # by x-api-key or as a bearer, as the SDK has it


def test_thinking_is_no_part_of_the_reply(server: JsonServer) -> None:
    blocks = [{"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "text", "text": "Hi"}]
    server.says = [Said(message(content=blocks))]
    assert model(server)(HELLO).text == "Hi"


def test_a_model_that_takes_no_temperature_is_asked_without_it_from_then_on(server: JsonServer) -> None:
    server.says = [Said(refusal("temperature: is deprecated for this model"), 400), Said(message("Hi"))]
    llm = model(server)
    assert [llm(HELLO).text, llm(HELLO).text] == ["Hi", "Hi"]
    assert ["temperature" in a for a in server.asked] == [True, False, False]


@pytest.mark.parametrize("schema", [strings_schema("terms", least=1, most=3), slots_schema(2)])
def test_a_reply_is_held_to_a_schema_as_the_api_has_it(server: JsonServer, schema: dict[str, object]) -> None:
    assert ask_with_schema(model(server), HELLO, schema, max_tokens=5).text == "Hi [1]."
    [asked] = server.asked
    assert asked["output_config"]["format"]["type"] == "json_schema"
    sent = asked["output_config"]["format"]["schema"]
    assert sent["additionalProperties"] is False
    assert sent["required"] == schema["required"]
    [items] = sent["properties"].values()
    assert "maxItems" not in items  # the API knows no such word,
    assert "maxItems" in items["description"]  # so the model is told
    assert (asked["temperature"], asked["max_tokens"]) == (0, 5)


@pytest.mark.parametrize("told", ["output_config: this model does not support it", "Structured outputs: no such model"])
def test_a_model_that_takes_no_schema_is_asked_without_it_from_then_on(server: JsonServer, told: str) -> None:
    server.says = [Said(refusal(told), 400), Said(message("Hi"))]
    llm = model(server)
    assert [ask_with_schema(llm, HELLO, strings_schema("terms")).text for _ in range(2)] == ["Hi", "Hi"]
    assert ["output_config" in a for a in server.asked] == [True, False, False]


def test_a_model_that_refuses_it_even_without_is_not_asked_for_ever(server: JsonServer) -> None:
    server.says = [Said(refusal("temperature is wrong"), 400)]
    with pytest.raises(ModelFailed):
        model(server)(HELLO)
    assert len(server.asked) == 2


@pytest.mark.parametrize("status", [429, 500, 529])
def test_a_busy_server_is_tried_again(server: JsonServer, status: int) -> None:
    server.says = [Said(refusal("busy", "overloaded_error"), status, {"retry-after-ms": "1"}), Said(message("Hi"))]
    assert model(server, retries=1)(HELLO).text == "Hi"


@pytest.mark.parametrize(
    ("said", "kind", "words"),
    [
        (Said(refusal("bad key", "authentication_error"), 401), Unavailable, "refuses the key"),
        (Said(refusal("no rights", "permission_error"), 403), Unavailable, "refuses the key"),
        (Said(refusal("model: m", "not_found_error"), 404), Unavailable, "has no model 'm'"),
        (Said(refusal("slow down", "rate_limit_error"), 429), Busy, "refuses more requests"),
        (Said(refusal("overloaded", "overloaded_error"), 529), Busy, "is failing"),
        (Said(refusal("bad request"), 400), ModelFailed, "bad request"),
        (Said(refusal("prompt is too long: 9 tokens > 8 maximum"), 400), PromptTooLong, "less evidence"),
        (Said(refusal("x", "request_too_large"), 413), PromptTooLong, "less evidence"),
        (Said(message("H", stop_reason="model_context_window_exceeded")), PromptTooLong, "less evidence"),
        (Said(message(stop_reason="refusal")), ModelFailed, "no text: stop reason refusal"),
        (Said(b"{not json"), ModelFailed, "cannot be used"),
        (Said(b"<html>hello</html>", 200, {"Content-Type": "text/html"}), ModelFailed, "without a reply"),
        (Said(b"[]"), ModelFailed, "without a reply"),
        (Said(b"null"), ModelFailed, "without a reply"),
        (Said(message(content=None)), ModelFailed, "without a reply"),
        (Said(message(content=["x"])), ModelFailed, "no text"),
    ],
)
def test_each_failure_is_one_line_that_says_what_to_do(
    server: JsonServer, said: Said, kind: type[KgmedError], words: str
) -> None:
    server.says = [said]
    with pytest.raises(kind, match=words) as caught:
        model(server)(HELLO)
    assert type(caught.value) is kind
    assert "\n" not in str(caught.value)
    assert "127.0.0.1" in str(caught.value)


def test_a_server_that_is_late_or_not_there_is_unavailable(server: JsonServer) -> None:
    server.says = [Said(message("Hi"), seconds=0.5)]
    with pytest.raises(Unavailable, match="did not answer in time"):
        model(server, timeout=0.1)(HELLO)
    with pytest.raises(Unavailable, match=r"cannot reach 127\.0\.0\.1:9"):
        Anthropic("m", "http://127.0.0.1:9", retries=0, environment={})(HELLO)


def event(kind: str, **more: Any) -> str:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **more})}\n\n"


def events(*parts: str) -> Said:
    return Said("".join(parts).encode(), 200, {"Content-Type": "text/event-stream"})


def delta(text: str) -> str:
    return event("content_block_delta", index=0, delta={"type": "text_delta", "text": text})


START = event("message_start", message=message(stop_reason=None, usage={"input_tokens": 7, "output_tokens": 1}))
BLOCK = event("content_block_start", index=0, content_block={"type": "text", "text": ""})
END = event(
    "message_delta", delta={"stop_reason": "end_turn", "stop_sequence": None}, usage={"output_tokens": 4}
) + event("message_stop")


def streamed(llm: Anthropic) -> tuple[list[str], Reply]:
    stream, pieces = llm.stream(HELLO, max_tokens=5), []
    while True:
        try:
            pieces.append(next(stream))
        except StopIteration as end:
            return pieces, end.value


def test_a_stream_gives_its_words_as_they_come_and_the_reply_at_the_end(server: JsonServer) -> None:
    server.says = [events(START, BLOCK, delta("Hi"), delta(" [1]."), END)]
    llm = model(server)
    assert streamed(llm) == (["Hi", " [1]."], Reply("Hi [1].", 7, 4, llm.name))
    assert server.asked[0]["stream"] is True


@pytest.mark.parametrize(
    ("said", "kind", "words"),
    [
        (events(START, BLOCK, delta("Hi")), Busy, "broke off"),
        (events(START, event("error", error={"type": "overloaded_error", "message": "busy"})), Busy, "failing"),
        (events(START, event("error", error={"type": "api_error", "message": "lost it"})), ModelFailed, "lost it"),
        (events(START, "event: message_delta\ndata: {no json\n\n"), ModelFailed, "cannot be used"),
        (events(START, END), ModelFailed, "no text"),
        (Said(refusal("slow", "rate_limit_error"), 429), Busy, "refuses more"),
    ],
)
def test_half_a_stream_is_a_typed_failure(server: JsonServer, said: Said, kind: type[KgmedError], words: str) -> None:
    server.says = [said]
    with pytest.raises(kind, match=words) as caught:
        streamed(model(server))
    assert type(caught.value) is kind


def test_the_key_is_in_no_message_no_repr_and_no_log(server: JsonServer, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    for said in (Said(refusal(f"wrong key {KEY}"), 401), Said(message()), Said(refusal(KEY), 400)):
        server.says = [said]
        with pytest.raises(KgmedError) as caught:
            model(server)(HELLO)
        assert not any(KEY in f"{e} {e!r}" for e in (caught.value, caught.value.__cause__))
    assert KEY not in repr(model(server)) + model(server).name + caplog.text
    assert inspect.signature(Anthropic).parameters["environment"].default is None


def test_a_key_for_the_company_is_not_sent_to_another_server(server: JsonServer) -> None:
    Anthropic("m", server.url, environment={"ANTHROPIC_API_KEY": KEY})(HELLO)
    assert KEY not in str(server.headers)


def test_without_a_url_a_key_is_needed_and_either_variable_will_do() -> None:
    with pytest.raises(Unavailable, match="set KGMED_API_KEY"):
        Anthropic("claude", environment={"OPENAI_API_KEY": KEY})
    assert Anthropic("claude", environment={"ANTHROPIC_API_KEY": KEY}).name == "anthropic/claude at api.anthropic.com"
    with pytest.raises(BadInput, match="ANTHROPIC_API_KEY"):
        Anthropic("claude", environment={"ANTHROPIC_API_KEY": f"{KEY} x"})


def test_the_key_is_not_in_the_cache_and_a_replay_needs_no_server_and_no_key(
    server: JsonServer, tmp_path: Path
) -> None:
    CachedLLM(model(server), tmp_path / "c.db")(HELLO)
    assert not any(KEY.encode() in p.read_bytes() for p in tmp_path.iterdir())
    asked = len(server.asked)
    replayed = CachedLLM(recorded_models(tmp_path / "c.db")[0], tmp_path / "c.db", mode="replay")
    assert (replayed(HELLO).text, len(server.asked)) == ("Hi [1].", asked)
