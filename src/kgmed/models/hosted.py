"""Language models behind a server: any that speaks OpenAI's protocol, and Anthropic's; errors in the words of models.

Keys come from the environment and from nowhere else: KGMED_API_KEY for any server, OPENAI_API_KEY and ANTHROPIC_API_KEY
only where no base URL is given, so that they never go to another host. They are in no message and in no `repr`.
"""

import json
import re
import threading
import weakref
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any, ClassVar, TypeVar

from kgmed.errors import BadInput, Busy, ModelFailed, PromptTooLong, Unavailable
from kgmed.models.base import PENALTY, Message, Reply, Tool, call_line, call_of, offered, sampling
from kgmed.registry import models
from kgmed.servers import Attempt, Key, Limits, Problem, Server, host_of, seconds_to_wait, split_login
from kgmed.stop import check_stop

# --- What every model behind a server shares: its name, its key, our errors, and calls through an official SDK.


OWN_KEY = "KGMED_API_KEY"  # for any server
TIMEOUT = 300.0  # seconds for each try; a model that thinks takes minutes, and its reply may come in one piece
T = TypeVar("T")


def key_from(environment: Mapping[str, str] | None, official: str = "") -> Key | None:
    """The key for a server; `official` is a company's own variable, looked at for its own host only."""
    return Key.find(environment, *filter(None, (OWN_KEY, official)))


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelServer(Server):
    """The server of a model."""

    WORDS: ClassVar[Mapping[Problem, str]] = {
        "late": "{} did not answer in time; is the server busy, or the model too large for it?",
        "lost": "cannot reach {}; is the server running, and the base URL right?",
        "broken": "{} broke off in the middle of its reply; ask again",
    }
    kind: str  # openai, anthropic, ...
    model: str
    too_long: tuple[str, ...] = ()  # the marks of a refusal that is about the length of the prompt

    @property
    def name(self) -> str:
        """The kind, the model and the server's host."""
        return f"{self.kind}/{self.model} at {self.host}"

    def refused(self, outcome: Attempt) -> Unavailable:
        """An HTTP status that is none of success."""
        status, after, words = outcome.status, outcome.after, self.clean(outcome.text)
        if status in (400, 413) and any(mark in f"{outcome.marks} {outcome.text}" for mark in self.too_long):
            return PromptTooLong(f"{self.name} cannot read a prompt this long; ask with less evidence ({words})")
        if status in (401, 403):
            return Unavailable(f"{self.host} refuses the key; set the environment variable {OWN_KEY} ({words})")
        if status == 404:
            return Unavailable(f"{self.host} has no model {self.model!r}, or its base URL lacks /v1 ({words})")
        if status == 402:
            return Unavailable(f"{self.host} refuses more requests until the account is looked at ({words})")
        if status == 429:
            message = f"{self.host} refuses more requests for now; wait, or look at the account ({words})"
            return Busy(message, after=after)
        if status >= 500 or status in (408, 409) or "overloaded" in outcome.marks:
            return Busy(f"{self.host} is failing, after several tries ({words})", after=after)
        return self.unusable(words)

    def unusable(self, what: object) -> ModelFailed:
        """An answer that is none."""
        return ModelFailed(f"{self.name} sent something that cannot be used ({self.clean(what)})")


class SdkCalls:
    """Requests through the SDK of `openai` or `anthropic`: so many at once, and every failure one of ours.

    Too many requests, server errors and lost connections are tried again `retries` times by the SDK, with growing
    pauses; a server that says how long to wait is obeyed. What it sends with is the client of `kgmed.http`.
    """

    def __init__(
        self, server: ModelServer, base_url: str, *, timeout: float = TIMEOUT, retries: int = 3, at_once: int = 8
    ) -> None:
        """The client of the server's kind; `timeout` in seconds for each try."""
        self.server = server
        self.sdk = _sdk(server.kind)
        from kgmed.http import client_for

        make = getattr(self.sdk, {"openai": "OpenAI", "anthropic": "Anthropic"}[server.kind])
        http = client_for(base_url, Limits(timeout=timeout))
        key, url = server.key.value if server.key else "none", split_login(base_url)[0]
        self._client = make(api_key=key, base_url=url, timeout=timeout, max_retries=retries, http_client=http)
        self._slots = threading.BoundedSemaphore(at_once)
        weakref.finalize(self, http.close)

    @contextmanager
    def one(self) -> Iterator[Any]:
        """The client, for one call from its request to the last word of its reply; errors within become ours."""
        import httpx2

        base = self.sdk.OpenAIError if self.server.kind == "openai" else self.sdk.AnthropicError
        with self._slots:
            try:
                yield self._client
            except (base, httpx2.HTTPError, ValueError, RecursionError) as error:  # ValueError: what is no JSON
                ours = self._ours(error)
            else:
                return
        check_stop()  # where the run has no time left, that is why
        raise ours from None

    def mended(self, ask: Callable[[], dict[str, Any]], send: Callable[..., T], mends: Callable[..., bool]) -> T:
        """What `send(**ask())` gives, asked again as long as `mends(refusal, asked)` finds something to leave out."""
        while True:
            asked = ask()
            try:
                return send(**asked)
            except (self.sdk.BadRequestError, self.sdk.UnprocessableEntityError) as error:  # 400, 422
                if not mends(error, asked):
                    raise

    def _ours(self, error: Any) -> Unavailable:
        """Our error for one of the SDK or of what it sends with."""
        import httpx2

        from kgmed.http import problem_of

        if isinstance(error, self.sdk.APIConnectionError | httpx2.HTTPError):
            sent = error if isinstance(error, httpx2.HTTPError) else error.__cause__
            return self.server.error(Attempt(problem=problem_of(sent)))
        words = _words(error)
        if isinstance(error, self.sdk.APIStatusError):
            marks = f"{getattr(error, 'code', '')} {getattr(error, 'type', '')}"
            after = seconds_to_wait(error.response.headers)
            body = words.encode("utf-8", "replace")
            return self.server.error(Attempt(error.status_code, body, after=after, marks=marks))
        return self.server.unusable(words)


class Hosted:
    """A model behind a server of one protocol; what is sent and how a reply is read is that protocol's."""

    kind: ClassVar[str]
    official: ClassVar[str]  # the URL of the company's own server
    variable: ClassVar[str]  # of the environment, with the company's own key
    keyless: ClassVar[str]  # what to do where the company's own server is asked without one
    too_long: ClassVar[tuple[str, ...]]  # the marks of a refusal that is about the length of the prompt

    def __init__(
        self,
        model: str,
        base_url: str = "",
        *,
        timeout: float = TIMEOUT,
        retries: int = 3,
        at_once: int = 8,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Name the model and its server; `timeout` in seconds for each try, `retries` with growing pauses.

        Too many requests (429), server errors and lost connections are tried again; a server that says how long to
        wait is obeyed. At most `at_once` calls run at the same time. No environment = that of the process.
        """
        self.model, url, self._is_official = model, base_url or self.official, not base_url
        self.host = host_of(url)
        key = key_from(environment, "" if base_url else self.variable)
        if not (key or base_url):
            raise Unavailable(f"no key for {self.host}: set {OWN_KEY}, or {self.keyless}")
        self._server = ModelServer(self.host, key, kind=self.kind, model=model, too_long=self.too_long)
        self._refused: frozenset[str] = frozenset()  # what the server does not take
        self._calls = SdkCalls(self._server, url, timeout=timeout, retries=retries, at_once=at_once)

    @property
    def name(self) -> str:
        """The model and the server's host."""
        return self._server.name

    def __repr__(self) -> str:
        """The model and the host, never the key."""
        return f"{type(self).__name__}({self.model!r} at {self.host})"


def _sdk(kind: str) -> Any:
    try:
        return import_module(kind)  # heavy
    except ImportError as error:
        raise Unavailable(f'models of {kind} need the package {kind}: pip install "kgmed[models]"') from error


def _words(error: Any) -> str:
    """What a refusal says: the SDK's message, with the body where that is not in it."""
    said, body = getattr(error, "message", "") or str(error), getattr(error, "body", None)
    return said if not body or not said.startswith("Error code") or " - " in said else f"{said} - {body}"


def count(usage: object, field: str) -> int:
    """The tokens that a server says were used; 0 where it does not."""
    tokens = getattr(usage, field, 0)
    return tokens if isinstance(tokens, int) else 0


# --- Language models behind any OpenAI-compatible server: OpenAI, vLLM, Ollama, llama.cpp, LM Studio and others.


OFFICIAL = "https://api.openai.com/v1"
_TOO_LONG = ("context_length_exceeded", "exceed_context_size_error", "maximum context length", "context size")
_CUT = ("length", "max_tokens")  # what a reply that used up its tokens has for its end
_OPTIONAL = {  # what a request can do without -> what refusals of it name
    "stream_options": r"\b(?:stream_options|include_usage)\b",
    "response_format": r"\bresponse_format\b|json_schema|\bschema\b|\bgrammar\b",
    **{name: rf"\b{name}\b" for name in ("seed", "temperature", "top_p", PENALTY)},
    "tools": r"\btools?\b|\btool_choice\b|\bfunctions?\b",
}
_NO_SYSTEM = r"(?i)\bsystem\b.*\brole\b|\brole\b.*\bsystem\b|\broles must alternate\b"


@models.register("openai/NAME", takes=("base_url",))
class OpenAI(Hosted):
    """A model behind a server; drawn as `sampled` says (greedy without), as far as the server follows."""

    kind, official, variable = "openai", OFFICIAL, "OPENAI_API_KEY"
    keyless = "give --base-url for a server of your own"
    too_long = _TOO_LONG
    _told = True  # whether the server takes messages of the system

    @property
    def _limits(self) -> list[str]:
        """What the server may call the most tokens, the name to be tried first."""
        names = ["max_completion_tokens", "max_tokens"]
        return [name for name in (names if self._is_official else names[::-1]) if name not in self._refused]

    @property
    def settings(self) -> dict[str, object]:
        """What is asked of the server beside the messages, for the key of a cache."""
        return sampling().settings | _tools_key()

    def __call__(self, messages: Sequence[Message], /, *, max_tokens: int = 256) -> Reply:
        """The model's reply."""
        with self._calls.one() as client:
            return self._reply(self._completion(client, messages, max_tokens))

    def as_json(self, messages: Sequence[Message], schema: Mapping[str, object], /, *, max_tokens: int = 256) -> Reply:
        """The reply, held to the JSON schema where the server can; one that cannot is asked without from then on."""
        shape = {"type": "json_schema", "json_schema": {"name": "reply", "strict": True, "schema": dict(schema)}}
        with self._calls.one() as client:
            return self._reply(self._completion(client, messages, max_tokens, response_format=shape))

    def stream(self, messages: Sequence[Message], /, *, max_tokens: int = 256) -> Generator[str, None, Reply]:
        """The reply piece by piece, whole at the end; one that breaks off raises `Busy`."""
        with self._calls.one() as client:
            more = {"stream": True, "stream_options": {"include_usage": True}}
            usage, done, parts = None, "", list[str]()
            for chunk in self._completion(client, messages, max_tokens, **more):
                usage = getattr(chunk, "usage", None) or usage
                choice = next(iter(getattr(chunk, "choices", None) or ()), None)
                done = getattr(choice, "finish_reason", None) or done
                if text := _content(getattr(choice, "delta", None)):
                    parts.append(text)
                    yield text
        if not done:
            raise self._server.error(Attempt(problem="broken"))
        return self._whole("".join(parts) if parts else None, done, usage)

    def _completion(self, client: Any, messages: Sequence[Message], max_tokens: int, **more: object) -> Any:
        """What the server sends for a conversation, without the settings that it refuses."""
        more |= {"tools": [_function(t) for t in offered()]} if offered() else {}

        def asked() -> dict[str, Any]:
            calls = bool(offered()) and "tools" not in self._refused
            turns = list(_turns(messages if self._told else _untold(messages), calls=calls))
            wanted = {name: value for name, value in {**self.settings, **more}.items() if name not in self._refused}
            if PENALTY in wanted:  # no argument of the library: OpenAI's own models have none, vLLM and others do
                wanted["extra_body"] = {PENALTY: wanted.pop(PENALTY)}
            return {"messages": turns, "model": self.model, **dict.fromkeys(self._limits[:1], max_tokens), **wanted}

        return self._calls.mended(asked, client.chat.completions.create, self._adapts)

    def _adapts(self, error: Any, asked: Mapping[str, Any]) -> bool:
        """Whether something that the server refuses could be left out, renamed or moved: remembered from then on.

        Servers name it as a parameter, in their words, or in a list of faults. Another thread may have left it out
        meanwhile; what counts is what this request held.
        """
        told = f"{error.param} {_words(error)}"
        if any(mark in told for mark in _TOO_LONG):
            return False
        sent = {**asked, **asked.get("extra_body", {})}
        named = [name for name, words in _OPTIONAL.items() if name in sent and re.search(words, told)]
        exact = [name for name in (error.param,) if name in sent]
        limit = next((name for name in self._limits if name in asked and re.search(rf"\b{name}\b", told)), "")
        if found := [name for name in (*exact, *named) if name in _OPTIONAL]:
            self._refused |= {found[0]}
        elif limit:
            self._refused |= {limit}
        elif self._told and re.search(_NO_SYSTEM, told) and any(turn["role"] == "system" for turn in asked["messages"]):
            self._told = False
        else:
            return False
        return True

    def _reply(self, completion: Any) -> Reply:
        """The reply in a completion, whatever the server took for one."""
        choices = getattr(completion, "choices", None)
        if not choices or not isinstance(choices, list):
            why = self._server.clean(getattr(completion, "error", None) or "is it an OpenAI-compatible server?")
            raise ModelFailed(f"{self.name} sent an answer without a reply in it; {why}")
        message = getattr(choices[0], "message", None)
        done = getattr(choices[0], "finish_reason", None)
        usage, refusal = getattr(completion, "usage", None), getattr(message, "refusal", None)
        return self._whole(_with_calls(_content(message), _openai_calls(message)), done, usage, refusal)

    def _whole(self, text: str | None, done: object, used: object, refusal: object = None) -> Reply:
        """The reply of that text; one whose tokens were used up before it may be empty."""
        if text is None and done not in _CUT:
            raise ModelFailed(f"{self.name} sent no text: {self._server.clean(refusal or f'finish reason {done}')}")
        tokens = count(used, "prompt_tokens"), count(used, "completion_tokens")
        return Reply(text or "", *tokens, self.name, done in _CUT)


def _content(message: object) -> str | None:
    """The text of a message or a piece of one; some servers send it in parts, thinking apart."""
    content = getattr(message, "content", None)
    if isinstance(content, list):
        parts = [part for part in content if isinstance(part, dict) and isinstance(part.get("text"), str)]
        return "".join(part["text"] for part in parts) if parts else None
    return content if isinstance(content, str) else None


def _untold(messages: Sequence[Message]) -> list[Message]:
    """The messages with those of the system at the head of the first one of the user.

    >>> [message.text for message in _untold([Message("system", "Be brief."), Message("user", "Hello")])]
    ['Be brief.\\n\\nHello']
    """
    told = [m.text for m in messages if m.role == "system"]
    first, *rest = [m for m in messages if m.role != "system"] or [Message("user", "")]
    return [Message(first.role, "\n\n".join((*told, first.text))), *rest]


# --- Calls of tools, as the protocols have them and as `call_line` does.


def _tools_key() -> dict[str, object]:
    """The names of the tools on offer, which replies depend on."""
    return {"tools": [tool.name for tool in offered()]} if offered() else {}


def _function(tool: Tool) -> dict[str, object]:
    function = {"name": tool.name, "description": tool.about, "parameters": tool.schema}
    return {"type": "function", "function": function}


def _turns(messages: Sequence[Message], *, calls: bool, openai: bool = True) -> Iterator[dict[str, object]]:
    """The messages as an API has them; a call of a tool and the message after it, which is its result, as such."""
    call = ""
    for number, m in enumerate(messages):
        made = call_of(m.text) if calls and m.role == "assistant" else None
        if made and openai:
            call = f"call_{number}"
            function = {"name": made[0], "arguments": json.dumps(made[1], ensure_ascii=False)}
            yield {"role": m.role, "tool_calls": [{"id": call, "type": "function", "function": function}]}
        elif made:
            call = f"call_{number}"
            yield {"role": m.role, "content": [{"type": "tool_use", "id": call, "name": made[0], "input": made[1]}]}
        elif call:
            result = {"type": "tool_result", "tool_use_id": call, "content": m.text}
            as_tool: dict[str, object] = {"role": "tool", "tool_call_id": call, "content": m.text}
            yield as_tool if openai else {"role": m.role, "content": [result]}
            call = ""
        else:
            yield {"role": m.role, "content": m.text}


def _openai_calls(message: object) -> Iterator[str]:
    """The calls of tools in a message of OpenAI's, whatever the server took for one; those that are no JSON: none."""
    made = getattr(message, "tool_calls", None)
    for function in (getattr(call, "function", None) for call in (made if isinstance(made, list) else ())):
        try:
            arguments = json.loads(getattr(function, "arguments", None) or "{}")
        except (TypeError, ValueError, RecursionError):
            arguments = {}
        if isinstance(name := getattr(function, "name", None), str):
            yield call_line(name, arguments)


def _with_calls(text: str | None, calls: Iterator[str]) -> str | None:
    """The text of a message with its calls of tools below it, a line each; as it is where there is none."""
    made = list(calls)
    return "\n".join([*([text] if text else []), *made]) if made else text


# --- Anthropic's models through its official SDK.


ANTHROPIC = "https://api.anthropic.com"
_SHAPE = ("output_config", "output_format", "output format", "structured output", "schema")  # in a refusal of a schema
_ANTHROPIC_TOO_LONG = ("prompt is too long", "exceed context limit", "request_too_large")


@models.register("anthropic/NAME", takes=("base_url",))
class Anthropic(Hosted):
    """A model of Anthropic's; drawn as `sampled` says where the model takes a temperature (there is no seed)."""

    kind, official, variable = "anthropic", ANTHROPIC, "ANTHROPIC_API_KEY"
    keyless = "ANTHROPIC_API_KEY"
    too_long = _ANTHROPIC_TOO_LONG

    @property
    def settings(self) -> dict[str, object]:
        """What is asked of the server beside the messages, for the key of a cache; raises `BadInput`."""
        if sampling().penalty != 1:
            raise BadInput("models of Anthropic take no repetition penalty; leave --penalty out")
        return {name: value for name, value in sampling().settings.items() if name != "seed"} | _tools_key()

    def __call__(self, messages: Sequence[Message], /, *, max_tokens: int = 256) -> Reply:
        """The model's reply; system messages are taken out of their place and put in front, as the API has it."""
        with self._calls.one() as client:
            return self._reply(self._message(client, messages, max_tokens))

    def as_json(self, messages: Sequence[Message], schema: Mapping[str, object], /, *, max_tokens: int = 256) -> Reply:
        """The reply, held to the JSON schema where the model can; one that cannot is asked without from then on.

        What of a schema the API does not know, such as the most items of a list, is told to the model in words.
        """
        shape = {"format": {"type": "json_schema", "schema": self._calls.sdk.transform_schema(dict(schema))}}
        with self._calls.one() as client:
            return self._reply(self._message(client, messages, max_tokens, shape))

    def stream(self, messages: Sequence[Message], /, *, max_tokens: int = 256) -> Generator[str, None, Reply]:
        """The reply piece by piece, whole at the end; one that breaks off raises `Busy`."""
        took = {"input_tokens": 0, "output_tokens": 0}
        why, parts = "", list[str]()
        with self._calls.one() as client:
            for event in self._message(client, messages, max_tokens, stream=True):
                usage = getattr(event, "usage", None) or getattr(getattr(event, "message", None), "usage", None)
                took = {field: count(usage, field) or known for field, known in took.items()}
                delta = getattr(event, "delta", None)
                why = getattr(delta, "stop_reason", None) or why
                text = getattr(delta, "text", None)
                if isinstance(text, str) and text:
                    parts.append(text)
                    yield text
        if not why:
            raise self._server.error(Attempt(problem="broken"))
        return self._whole(parts, why, took["input_tokens"], took["output_tokens"])

    def _message(
        self, client: Any, messages: Sequence[Message], max_tokens: int, shape: object = None, *, stream: bool = False
    ) -> Any:
        """What the server sends for a conversation, without the settings that it refuses."""
        most = {"model": self.model, "max_tokens": max_tokens, "stream": stream}
        more = {"output_config": shape} if shape else {}
        if offered():
            more["tools"] = [{"name": t.name, "description": t.about, "input_schema": t.schema} for t in offered()]

        def asked() -> dict[str, Any]:
            wanted = {n: v for n, v in {**self.settings, **more}.items() if n not in self._refused}
            return {**most, **_conversation(messages, calls="tools" in wanted), "extra_body": wanted}

        return self._calls.mended(asked, client.messages.create, self._adapts)

    def _adapts(self, error: Any, asked: Mapping[str, Any]) -> bool:
        """Whether the model refused a setting, as newer ones do the temperature, or a schema: left out from then on."""
        sent, told = asked["extra_body"], _words(error).lower()
        named = [name for name in sent if re.search(rf"\b{name}\b", told)]
        if "output_config" in sent and any(word in told for word in _SHAPE):
            named.append("output_config")
        self._refused |= set(named[:1])
        return bool(named)

    def _reply(self, message: Any) -> Reply:
        """The reply in a message, whatever the server took for one."""
        blocks = getattr(message, "content", None)
        if not isinstance(blocks, list):
            raise ModelFailed(f"{self.name} sent an answer without a reply in it; is it a server of Anthropic's kind?")
        texts = [t for t in (getattr(b, "text", None) for b in blocks) if isinstance(t, str)]
        texts += [f"\n{call_line(b.name, b.input)}" for b in blocks if getattr(b, "type", None) == "tool_use"]
        usage = getattr(message, "usage", None)
        why = getattr(message, "stop_reason", None)
        return self._whole(texts, why, count(usage, "input_tokens"), count(usage, "output_tokens"))

    def _whole(self, texts: Sequence[str], why: object, tokens_in: int, tokens_out: int) -> Reply:
        """The reply of those texts, if it is one."""
        if why == "model_context_window_exceeded":
            raise PromptTooLong(f"{self.name} had no room left for its reply; ask with less evidence")
        if not texts and why not in _CUT:
            raise ModelFailed(f"{self.name} sent no text: stop reason {self._server.clean(why)}")
        return Reply("".join(texts), tokens_in, tokens_out, self.name, why in _CUT)


def _conversation(messages: Sequence[Message], *, calls: bool = False) -> dict[str, Any]:
    """The messages as the API has them: the system's apart, as one text; `calls` of tools and their results as such.

    >>> _conversation([Message("system", "Be brief."), Message("user", "Hello")])
    {'messages': [{'role': 'user', 'content': 'Hello'}], 'system': 'Be brief.'}
    """
    system = "\n\n".join(m.text for m in messages if m.role == "system")
    turns = list(_turns([m for m in messages if m.role != "system"], calls=calls, openai=False))
    return {"messages": turns, "system": system} if system else {"messages": turns}
