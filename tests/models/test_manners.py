"""Servers with the manners of vLLM, Ollama, DeepSeek, Mistral, Azure and others: what they refuse, think, and break."""

import json
import ssl
import subprocess
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from json_server import JsonServer, Said, serving
from kgmed.errors import Busy, ModelFailed, PromptTooLong, Unavailable
from kgmed.models.asking import listening, spoken, streamed, streamed_reply, strings_schema
from kgmed.models.base import LLM, Message, Reply, Tool, offering
from kgmed.models.hosted import Anthropic, OpenAI
from kgmed.models.limits import RecordedLLM, ReplyLimit, ThinkingRoom
from loopback import Quiet, running

pytest.importorskip("openai")

HELLO = [Message("system", "Be brief."), Message("user", "Hello")]
SCHEMA = strings_schema("terms")


@pytest.fixture
def server() -> Iterator[JsonServer]:
    with serving() as state:
        yield state


def completion(text: Any, finish: str = "stop", **more: Any) -> dict[str, Any]:
    message = {"role": "assistant", "content": text, **more}
    return {"choices": [{"index": 0, "finish_reason": finish, "message": message}], "usage": {"completion_tokens": 9}}


def events(*deltas: Mapping[str, Any], finish: str | None = "stop") -> Said:
    chunks: list[Any] = [{"choices": [{"index": 0, "delta": dict(d), "finish_reason": None}]} for d in deltas]
    chunks += [{"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]}] if finish else []
    text = ": comment\r\n\r\n" + "".join(f"data: {json.dumps(c)}\n\n" for c in [{"choices": []}, *chunks])
    return Said((text + ("data: [DONE]\n\n" if finish else "")).encode(), headers={"Content-Type": "text/event-stream"})


def model(server: JsonServer) -> OpenAI:
    return OpenAI("m", f"{server.url}/v1", retries=0, environment={})


# --- What a server refuses: each refusal in the words of one that is used.


class Refusing:
    """Answers when none of some parameters is in the request; else refuses the first of them in its own words."""

    def __init__(self, say: Callable[[str], Said], *refused: str) -> None:
        self.say, self.refused = say, refused

    def __call__(self, asked: Any) -> Said:
        bad = next((name for name in self.refused if name in asked), "")
        return self.say(bad) if bad else Said(completion("Hi."))


def mistral(name: str) -> Said:
    fault = {"type": "extra_forbidden", "loc": ["body", name], "msg": "Extra inputs are not permitted", "input": 0}
    return Said({"object": "error", "message": {"detail": [fault]}, "type": "invalid_request_error"}, 422)


def fastapi(name: str) -> Said:
    return Said({"detail": [{"type": "extra_forbidden", "loc": ["body", name], "msg": "not permitted"}]}, 422)


def azure(name: str) -> Said:
    return Said({"error": {"message": f"Unrecognized request argument supplied: {name}", "code": None}}, 400)


def openai(name: str) -> Said:
    message = (
        f"Unsupported value: '{name}' does not support 0 with this model. Only the default (1) value is supported."
    )
    return Said({"error": {"message": message, "param": name, "code": "unsupported_value"}}, 400)


def vllm(name: str) -> Said:
    return Said({"object": "error", "message": f"[{{'type': 'extra_forbidden', 'loc': ('body', '{name}')}}]"}, 400)


def deepseek(name: str) -> Said:
    return Said({"error": {"message": f"This {name} type is unavailable now", "code": "invalid_request_error"}}, 400)


SAYS = [mistral, fastapi, azure, openai, vllm, deepseek]


@pytest.mark.parametrize("say", SAYS)
@pytest.mark.parametrize(
    "refused", [("seed",), ("temperature",), ("seed", "temperature"), ("max_tokens",)], ids="-".join
)
def test_what_a_server_refuses_is_left_out_once_and_remembered(
    server: JsonServer, say: Callable[[str], Said], refused: tuple[str, ...]
) -> None:
    refuse = Refusing(say, *refused)
    server.answers = refuse
    llm = model(server)
    assert [llm(HELLO, max_tokens=7).text for _ in range(3)] == ["Hi."] * 3
    assert len(server.asked) == 3 + len(refused)
    assert not set(server.asked[-1]) & set(refused)
    assert server.asked[-1].get("max_completion_tokens") == (7 if "max_tokens" in refused else None)


@pytest.mark.parametrize("say", SAYS)
def test_a_server_without_json_schema_or_usage_is_asked_without(server: JsonServer, say: Callable[[str], Said]) -> None:
    server.answers = Refusing(say, "response_format", "stream_options", "seed")
    llm = model(server)
    assert llm.as_json(HELLO, SCHEMA).text == "Hi."
    server.answers = lambda asked: say("stream_options") if "stream_options" in asked else events({"content": "Hi."})
    assert list(streamed(llm, HELLO)) == ["Hi."]


def test_a_chat_template_without_system_messages_gets_them_in_those_of_the_user(server: JsonServer) -> None:
    def says(asked: Any) -> Said:
        roles = [turn["role"] for turn in asked["messages"]]
        return (
            Said({"error": {"message": "System role not supported"}}, 400)
            if "system" in roles
            else Said(completion("Hi."))
        )

    server.answers = says
    llm = model(server)
    assert [llm(HELLO).text, llm(HELLO).text] == ["Hi.", "Hi."]
    assert [turn["content"] for turn in server.asked[-1]["messages"]] == ["Be brief.\n\nHello"]
    assert len(server.asked) == 3


def test_a_refusal_of_what_cannot_be_left_out_is_told(server: JsonServer) -> None:
    server.says = [Said({"error": {"message": "The response was filtered by the content management policy"}}, 400)]
    with pytest.raises(ModelFailed, match="content management policy"):
        model(server)(HELLO)
    assert len(server.asked) == 1


def test_anthropics_models_are_asked_without_what_they_refuse(server: JsonServer) -> None:
    pytest.importorskip("anthropic")

    def says(asked: Any) -> Said:
        fault = {"type": "error", "error": {"type": "invalid_request_error", "message": "temperature: Extra inputs"}}
        whole = {"content": [{"type": "text", "text": "Hi."}], "stop_reason": "end_turn", "usage": {}}
        return Said(fault, 422) if "temperature" in asked else Said(whole)

    server.answers = says
    assert Anthropic("m", server.url, retries=0, environment={"KGMED_API_KEY": "k"})(HELLO).text == "Hi."


# --- Models that think before they speak.


def thinker(needs: int, form: str, context: int = 1 << 20) -> Callable[[Any], Said]:
    """A server whose model thinks so many tokens first, in a form, and has a context of so many tokens."""

    def says(asked: Any) -> Said:
        most = asked["max_tokens"]
        if most > context:
            text = f"'max_tokens' is too large: {most}. This model's maximum context length is {context} tokens"
            return Said({"error": {"message": text, "code": 400}}, 400)
        done = most > needs
        thought, answer = "It may be gout.", "Gout." if done else None
        found = {
            "field": completion(answer, "stop" if done else "length", reasoning_content=thought),  # DeepSeek, vLLM
            "tags": completion(
                f"<think>{thought}</think>Gout." if done else f"<think>{thought}", "stop" if done else "length"
            ),
            "late": completion(f"{thought}</think>Gout." if done else "", "stop" if done else "length"),  # Qwen
            "parts": completion(  # Mistral
                [{"type": "thinking", "thinking": [{"type": "text", "text": thought}]}]
                + ([{"type": "text", "text": "Gout."}] if done else []),
                "stop" if done else "length",
            ),
        }[form]
        if not asked.get("stream"):
            return Said(found)
        message = found["choices"][0]["message"]
        pieces = [{"content": c} for c in message["content"]] if isinstance(message["content"], str) else [message]
        return events(
            {"role": "assistant"}, {"reasoning_content": thought}, *pieces, finish="stop" if done else "length"
        )

    return says


@pytest.mark.parametrize("form", ["field", "tags", "late", "parts"])
@pytest.mark.parametrize("way", ["call", "json", "stream"])
def test_a_model_that_thinks_first_gets_room_for_it(server: JsonServer, form: str, way: str) -> None:
    server.answers = thinker(700, form)
    llm = RecordedLLM(ThinkingRoom(model(server)))
    heard: list[str] = []
    with listening(heard.append, heard.clear):
        for _ in range(2):
            heard.clear()
            ask = {"call": lambda: llm(HELLO, max_tokens=32), "json": lambda: llm.as_json(HELLO, SCHEMA, max_tokens=32)}
            assert ask.get(way, lambda: streamed_reply(llm, HELLO, max_tokens=32))().text == "Gout."
    assert [asked["max_tokens"] for asked in server.asked] == [32, 8_224, 8_224]
    assert way != "stream" or "".join(heard) == "Gout."  # nobody is told of thoughts


def test_a_model_without_thoughts_is_asked_for_as_little_as_a_method_wants(server: JsonServer) -> None:
    server.says = [Said(completion("Gout hurts and", "length"))]
    reply = ThinkingRoom(model(server))(HELLO, max_tokens=32)
    assert (reply.text, reply.cut, len(server.asked)) == ("Gout hurts and", True, 1)


def test_room_that_does_not_fit_the_model_is_halved(server: JsonServer) -> None:
    server.answers = thinker(700, "field", context=4_000)
    assert ThinkingRoom(model(server))(HELLO, max_tokens=32).text == "Gout."
    assert [asked["max_tokens"] for asked in server.asked] == [32, 8_224, 4_128, 2_080]


def test_a_prompt_that_is_too_long_stays_so(server: JsonServer) -> None:
    server.answers = thinker(700, "field", context=20)
    with pytest.raises(PromptTooLong):
        ThinkingRoom(model(server))(HELLO, max_tokens=32)


@pytest.mark.parametrize(
    ("llm", "tokens"),
    [(lambda m: ThinkingRoom(m), "32,800 tokens"), (lambda m: ReplyLimit(ThinkingRoom(m, ()), 300), "300 tokens")],
    ids=["any", "limited"],
)
def test_one_that_never_speaks_is_told_by_its_tokens(
    server: JsonServer, llm: Callable[[LLM], LLM], tokens: str
) -> None:
    server.answers = thinker(1 << 30, "field")
    with pytest.raises(ModelFailed, match=f"was cut off at {tokens} before it said anything.*--reply-tokens"):
        llm(model(server))(HELLO, max_tokens=32)


def test_replies_may_be_made_longer_than_methods_ask_for(server: JsonServer) -> None:
    server.answers = thinker(700, "field")
    assert ReplyLimit(ThinkingRoom(model(server), ()), 4_000)(HELLO, max_tokens=32).text == "Gout."
    assert len(server.asked) == 1


RESIDUE = {
    "<think>Is it?</think>\nGout.": "Is it?",
    "Is it?\n</think>\n\nGout.": "Is it?",
    "<thinking>Is it?</thinking>Gout.<|im_end|>": "Is it?",
    "<thought>Is it?</thought>Gout.<end_of_turn>\n<start_of_turn>user\nMore?": "Is it?",
    "[THINK]Is it?[/THINK]Gout.</s>": "Is it?",
    "◁think▷Is it?◁/think▷Gout.": "Is it?",
    "<|channel|>analysis<|message|>Is it?<|end|><|start|>assistant<|channel|>final<|message|>Gout.<|return|>": "Is it?",
    '<details type="reasoning" done="true" duration="3">\n<summary>Thought</summary>Is it?</details>\nGout.': "",
    "<|im_start|>assistant\nGout.<|im_end|>\n<|im_start|>user\nWhat else?": "",
    "<｜Assistant｜>Gout.<｜end▁of▁sentence｜>": "",
    "<|start_header_id|>assistant<|end_header_id|>\n\nGout.<|eot_id|>": "",
    "<s> Gout.</s>": "",
    "Gout.": "",
}


@pytest.mark.parametrize("text", RESIDUE)
@pytest.mark.parametrize("size", [1, 3, 1_000])
def test_what_templates_and_gateways_leave_in_a_reply_is_taken_out(text: str, size: int) -> None:
    found = spoken(Reply(text))
    assert found.text.strip() == "Gout."
    assert RESIDUE[text] in found.thoughts

    class Pieces:
        """A model that says the text in pieces."""

        name = "pieces"

        def __call__(self, messages: Any, /, *, max_tokens: int = 256) -> Reply:
            raise NotImplementedError

        def stream(self, messages: Any, /, *, max_tokens: int = 256) -> Any:
            yield from (text[i : i + size] for i in range(0, len(text), size))
            return Reply(text)

    heard: list[str] = []
    with listening(heard.append, heard.clear):
        streamed_reply(Pieces(), HELLO)
    assert "Is it?" not in "".join(heard)
    assert "Gout." in "".join(heard)


@pytest.mark.parametrize(
    "text", ["p < 0.05 [1], x > 2", "Take <5 mg [2].", "A [T] cell", "a <b>bold</b> word", "1 </ 2"]
)
def test_what_only_looks_like_a_mark_stays(text: str) -> None:
    assert spoken(Reply(text)).text == text


# --- Ollama: every chunk says its role, thinking is in `reasoning` beside an empty content, unknown fields are passed
# over, a refusal has neither param nor code, and a model that stops while it speaks leaves an empty chunk and no end
# (middleware/openai.go and openai/openai.go of Ollama).


class Ollama:
    """One model, which thinks so many tokens first if it can; `broken` = its runner stops after the first word."""

    def __init__(self, *, thinks: int = 0, tools: bool = True, broken: bool = False) -> None:
        self.thinks, self.tools, self.broken = thinks, tools, broken

    def __call__(self, asked: Any) -> Said:
        if asked["model"] != "m":
            return self.refused(f'model "{asked["model"]}" not found, try pulling it first', 404, "not_found_error")
        if asked.get("tools") and not self.tools:
            return self.refused('"registry.ollama.ai/library/m:latest" does not support tools', 400)
        done = asked["max_tokens"] > self.thinks
        pieces = [("", "Maybe "), ("", "gout.")] if self.thinks else []
        pieces += [("Go", ""), ("ut.", "")] if done else []
        finish = "stop" if done else "length"
        if not asked.get("stream"):
            content, thought = ("".join(part) for part in zip(*pieces, strict=True))
            return Said({"id": "chatcmpl-1", "system_fingerprint": "fp_ollama", **completion(content, finish, **(
                {"reasoning": thought} if thought else {}))})  # fmt: skip
        chunks = [self.chunk(content, thought) for content, thought in pieces]
        if self.broken:
            chunks = [chunks[0], self.chunk("", "")]
        else:
            chunks.append(self.chunk("", "", finish))
            if asked.get("stream_options", {}).get("include_usage"):
                usage = {"prompt_tokens": 5, "completion_tokens": 9, "total_tokens": 14}
                chunks.append({**chunks[-1], "choices": [], "usage": usage})
        lines = [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks] + ([] if self.broken else ["data: [DONE]\n\n"])
        return Said("".join(lines).encode(), headers={"Content-Type": "text/event-stream"})

    @staticmethod
    def refused(message: str, status: int, kind: str = "invalid_request_error") -> Said:
        return Said({"error": {"message": message, "type": kind, "param": None, "code": None}}, status)

    @staticmethod
    def chunk(content: str, thought: str, finish: str | None = None) -> dict[str, Any]:
        delta = {"role": "assistant", "content": content, **({"reasoning": thought} if thought else {})}
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": "m", "system_fingerprint": "fp_ollama"}
        return {**head, "choices": [choice]}


@pytest.mark.parametrize("thinks", [0, 700])
@pytest.mark.parametrize("way", ["call", "json", "stream"])
def test_ollama_is_asked_and_its_thinking_is_told_to_nobody(server: JsonServer, thinks: int, way: str) -> None:
    server.answers = Ollama(thinks=thinks)
    llm = ThinkingRoom(model(server))
    heard: list[str] = []
    with listening(heard.append, heard.clear):
        ask = {"call": lambda: llm(HELLO, max_tokens=32), "json": lambda: llm.as_json(HELLO, SCHEMA, max_tokens=32)}
        reply = ask.get(way, lambda: streamed_reply(llm, HELLO, max_tokens=32))()
    assert (reply.text, reply.tokens_out) == ("Gout.", 9)
    assert [asked["max_tokens"] for asked in server.asked] == ([32, 8_224] if thinks else [32])
    assert "".join(heard) in ("", "Gout.")


def test_ollamas_refusals_are_told_or_kept_to(server: JsonServer) -> None:
    server.answers = Ollama(tools=False)
    with pytest.raises(Unavailable, match=r"no model 'n'.*try pulling it first"):
        OpenAI("n", f"{server.url}/v1", retries=0, environment={})(HELLO)
    llm = model(server)
    with offering([Tool("find", "Finds.", {})]):
        assert [llm(HELLO).text, llm(HELLO).text] == ["Gout.", "Gout."]
    assert [bool(asked.get("tools")) for asked in server.asked[1:]] == [True, False, False]


def test_a_model_of_ollama_that_stops_while_it_speaks_is_no_reply(server: JsonServer) -> None:
    server.answers = Ollama(broken=True)
    with pytest.raises(Busy, match="broke off"):
        list(streamed(model(server), HELLO))
    server.answers = lambda asked: Ollama.refused(
        "llama runner process has terminated: exit status 2", 500, "api_error"
    )
    with pytest.raises(Busy, match="llama runner process has terminated"):
        model(server)(HELLO)


# --- What breaks on the way.


@pytest.mark.parametrize(
    ("said", "error", "words"),
    [
        (Said({"choices": []}), ModelFailed, "without a reply in it"),
        (Said({"error": {"message": "no such model loaded"}}), ModelFailed, "no such model loaded"),
        (Said({}), ModelFailed, "without a reply in it"),
        (Said(b"", headers={"Content-Type": "text/html"}), ModelFailed, "."),
        (Said(b"<html>Sign in</html>", headers={"Content-Type": "text/html"}), ModelFailed, "."),
        (Said(completion(None, "content_filter")), ModelFailed, "content_filter"),
        (Said(completion(None, "stop", refusal="I cannot help.")), ModelFailed, "I cannot help"),
        (Said(completion(None, "tool_calls")), ModelFailed, "tool_calls"),
        (Said({"error": {"message": "loading"}}, 503), Busy, "is failing"),
    ],
)
def test_a_reply_that_is_none_is_told_in_one_line(
    server: JsonServer, said: Said, error: type[Exception], words: str
) -> None:
    server.says = [said]
    with pytest.raises(error, match=words) as caught:
        model(server)(HELLO)
    assert "\n" not in str(caught.value)


def test_a_stream_that_is_cut_is_no_reply(server: JsonServer) -> None:
    server.says = [events({"content": "Take"}, finish=None)]
    with pytest.raises(Busy, match="broke off"):
        list(streamed(model(server), HELLO))


def test_what_keeps_from_a_server_is_told_apart(
    server: JsonServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    server.says = [Said(completion("Hi."), seconds=0.5)]
    with pytest.raises(Busy, match="did not answer in time"):
        OpenAI("m", f"{server.url}/v1", retries=0, timeout=0.1, environment={})(HELLO)
    with pytest.raises(Busy, match="is the server running"):
        OpenAI("m", "http://127.0.0.1:9/v1", retries=0, environment={})(HELLO)
    with (
        secured(tmp_path) as url,
        pytest.raises(Unavailable, match=r"certificate of .* cannot be trusted.*SSL_CERT_FILE"),
    ):
        OpenAI("m", f"{url}/v1", retries=0, environment={})(HELLO)
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    with pytest.raises(Unavailable, match=r"proxy that .* names does not lead to"):
        OpenAI("m", f"{server.url}/v1", retries=0, environment={})(HELLO)


def secured(folder: Path) -> Any:
    """A server with a certificate that nobody has signed."""
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost"]
    subprocess.run([*made, "-keyout", folder / "k", "-out", folder / "c"], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "c", folder / "k")
    return running(Quiet, context)
