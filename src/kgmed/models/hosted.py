"""Language models behind a server: any that speaks OpenAI's protocol, and Anthropic's; errors in the words of models.

Keys come from the environment and from nowhere else: KGMED_API_KEY for any server, OPENAI_API_KEY and ANTHROPIC_API_KEY
only where no base URL is given, so that they never go to another host. They are in no message and in no `repr`.
"""

import threading
import weakref
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any, ClassVar, TypeVar

from kgmed.errors import BadInput, Busy, ModelFailed, PromptTooLong, Unavailable
from kgmed.models.base import PENALTY, Message, Reply, sampling
from kgmed.registry import models
from kgmed.servers import Attempt, Key, Limits, Problem, Server, host_of, seconds_to_wait, split_login
from kgmed.stop import check_stop

# --- What every model behind a server shares: its name, its key, our errors, and calls through an official SDK.


OWN_KEY = "KGMED_API_KEY"  # for any server
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
        self, server: ModelServer, base_url: str, *, timeout: float = 120.0, retries: int = 3, at_once: int = 8
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
            except self.sdk.BadRequestError as error:
                if not mends(error, asked):
                    raise

    def _ours(self, error: Any) -> Unavailable:
        """Our error for one of the SDK or of what it sends with."""
        import httpx2

        from kgmed.http import problem_of

        if isinstance(error, self.sdk.APIConnectionError | httpx2.HTTPError):
            sent = error if isinstance(error, httpx2.HTTPError) else error.__cause__
            return self.server.error(Attempt(problem=problem_of(sent)))
        words = getattr(error, "message", "") or str(error)
        if isinstance(error, self.sdk.APIStatusError):
            marks = f"{getattr(error, 'code', '')} {getattr(error, 'type', '')}"
            after = seconds_to_wait(error.response.headers)
            body = words.encode("utf-8", "replace")
            return self.server.error(Attempt(error.status_code, body, after=after, marks=marks))
        return self.server.unusable(words)


def _sdk(kind: str) -> Any:
    """The module of that name."""
    try:
        return import_module(kind)  # heavy
    except ImportError as error:
        raise Unavailable(f'models of {kind} need the package {kind}: pip install "kgmed[models]"') from error


def count(usage: object, field: str) -> int:
    """The tokens that a server says were used; 0 where it does not."""
    tokens = getattr(usage, field, 0)
    return tokens if isinstance(tokens, int) else 0


# --- Language models behind any OpenAI-compatible server: OpenAI, vLLM, Ollama, llama.cpp, LM Studio and others.


OFFICIAL = "https://api.openai.com/v1"
_TOO_LONG = ("context_length_exceeded", "exceed_context_size_error", "maximum context length", "context size")
_EXTRAS = {"stream_options": "stream_options", "response_format": "response_format", "json_schema": "response_format"}


@models.register("openai/NAME", takes=("base_url",))
class OpenAI:
    """A model behind a server; drawn as `sampled` says (greedy without), as far as the server follows."""

    def __init__(
        self,
        model: str,
        base_url: str = "",
        *,
        timeout: float = 120.0,
        retries: int = 3,
        at_once: int = 8,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Name the model and its server; `timeout` in seconds for each try, `retries` with growing pauses.

        Too many requests (429), server errors and lost connections are tried again; a server that says how long to
        wait is obeyed. At most `at_once` calls run at the same time. No environment = that of the process.
        """
        self.model = model
        self.host = host_of(base_url or OFFICIAL)
        key = key_from(environment, "" if base_url else "OPENAI_API_KEY")
        if not (key or base_url):
            mend = "set KGMED_API_KEY, or give --base-url for a server of your own"
            raise Unavailable(f"no key for api.openai.com: {mend}")
        self._server = ModelServer(self.host, key, kind="openai", model=model, too_long=_TOO_LONG)
        self._unknown: frozenset[str] = frozenset()  # settings that the server refuses
        self._limit = "max_tokens" if base_url else "max_completion_tokens"
        self._refused: frozenset[str] = frozenset()  # extras that the server does not know
        self._calls = SdkCalls(self._server, base_url or OFFICIAL, timeout=timeout, retries=retries, at_once=at_once)

    @property
    def settings(self) -> dict[str, object]:
        """What is asked of the server beside the messages, for the key of a cache."""
        return sampling().settings

    @property
    def name(self) -> str:
        """The model and the server's host."""
        return self._server.name

    def __repr__(self) -> str:
        """The model and the host, never the key."""
        return f"OpenAI({self.model!r} at {self.host})"

    def __call__(self, messages: Sequence[Message], /, *, max_tokens: int = 256) -> Reply:
        """The model's reply."""
        with self._calls.one() as client:
            return self._reply(self._completion(client, messages, max_tokens))

    def as_json(self, messages: Sequence[Message], schema: Mapping[str, object], /, *, max_tokens: int = 256) -> Reply:
        """The reply, held to the JSON schema where the server can; one that cannot is asked without from then on."""
        named = {"name": "reply", "strict": True, "schema": dict(schema)}
        shape = {"type": "json_schema", "json_schema": named}
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
                text = getattr(getattr(choice, "delta", None), "content", None)
                if isinstance(text, str) and text:
                    parts.append(text)
                    yield text
        if not done:
            raise self._server.error(Attempt(problem="broken"))
        if not parts:
            raise ModelFailed(f"{self.name} sent no text: finish reason {self._server.clean(done)}")
        return Reply("".join(parts), count(usage, "prompt_tokens"), count(usage, "completion_tokens"), self.name)

    def _completion(self, client: Any, messages: Sequence[Message], max_tokens: int, **more: object) -> Any:
        """What the server sends for a conversation, without the settings that it refuses."""
        conversation = [{"role": m.role, "content": m.text} for m in messages]

        def asked() -> dict[str, Any]:
            wanted = {name: value for name, value in more.items() if name not in self._refused}
            drawn = {name: value for name, value in self.settings.items() if name not in self._unknown}
            if PENALTY in drawn:  # no argument of the library: OpenAI's own models have none, vLLM and others do
                wanted["extra_body"] = {PENALTY: drawn.pop(PENALTY)}
            settings = {"model": self.model, self._limit: max_tokens, **drawn, **wanted}
            return {"messages": conversation, **settings}

        return self._calls.mended(asked, client.chat.completions.create, self._adapts)

    def _adapts(self, error: Any, asked: Mapping[str, Any]) -> bool:
        """Whether a setting that the server refuses could be left out or renamed; some models take no temperature.

        Another thread may have done so meanwhile; what counts is what this request held.
        """
        refused = error.param
        if refused == "max_tokens" and refused in asked:
            self._limit = "max_completion_tokens"
            return True
        if refused in asked and refused in self.settings:
            self._unknown |= {refused}
            return True
        extra = next((e for word, e in _EXTRAS.items() if word in f"{refused} {error.message}" and e in asked), "")
        self._refused |= {extra} if extra else set()
        return bool(extra)

    def _reply(self, completion: Any) -> Reply:
        """The reply in a completion, whatever the server took for one."""
        choices = getattr(completion, "choices", None)
        if not choices or not isinstance(choices, list):
            raise ModelFailed(f"{self.name} sent an answer without a reply in it; is it an OpenAI-compatible server?")
        message = getattr(choices[0], "message", None)
        text = getattr(message, "content", None)
        if not isinstance(text, str):
            why = getattr(message, "refusal", None) or f"finish reason {getattr(choices[0], 'finish_reason', None)}"
            raise ModelFailed(f"{self.name} sent no text: {self._server.clean(why)}")
        usage = getattr(completion, "usage", None)
        return Reply(text, count(usage, "prompt_tokens"), count(usage, "completion_tokens"), self.name)


# --- Anthropic's models through its official SDK.


ANTHROPIC = "https://api.anthropic.com"
_SHAPE = ("output_config", "output_format", "output format", "structured output", "schema")  # in a refusal of a schema
_ANTHROPIC_TOO_LONG = ("prompt is too long", "exceed context limit", "request_too_large")


@models.register("anthropic/NAME", takes=("base_url",))
class Anthropic:
    """A model of Anthropic's; drawn as `sampled` says where the model takes a temperature (there is no seed)."""

    def __init__(
        self,
        model: str,
        base_url: str = "",
        *,
        timeout: float = 120.0,
        retries: int = 3,
        at_once: int = 8,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Name the model and, where it is not Anthropic's own, its server; otherwise as `OpenAI`."""
        self.model = model
        self.host = host_of(base_url or ANTHROPIC)
        key = key_from(environment, "" if base_url else "ANTHROPIC_API_KEY")
        if not (key or base_url):
            raise Unavailable("no key for api.anthropic.com: set KGMED_API_KEY, or ANTHROPIC_API_KEY")
        self._server = ModelServer(self.host, key, kind="anthropic", model=model, too_long=_ANTHROPIC_TOO_LONG)
        self._cold = False  # whether the model refuses a temperature
        self._shapes = True  # until the model refuses a schema
        self._calls = SdkCalls(self._server, base_url or ANTHROPIC, timeout=timeout, retries=retries, at_once=at_once)

    @property
    def settings(self) -> dict[str, object]:
        """What is asked of the server beside the messages, for the key of a cache; raises `BadInput`."""
        if sampling().penalty != 1:
            raise BadInput("models of Anthropic take no repetition penalty; leave --penalty out")
        return {name: value for name, value in sampling().settings.items() if name != "seed"}

    @property
    def name(self) -> str:
        """The model and the server's host."""
        return self._server.name

    def __repr__(self) -> str:
        """The model and the host, never the key."""
        return f"Anthropic({self.model!r} at {self.host})"

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
        conversation = {"model": self.model, "max_tokens": max_tokens, "stream": stream, **_conversation(messages)}

        def asked() -> dict[str, Any]:
            held = {"output_config": shape} if shape and self._shapes else {}
            return {**conversation, "extra_body": {**({} if self._cold else self.settings), **held}}

        return self._calls.mended(asked, client.messages.create, self._adapts)

    def _adapts(self, error: Any, asked: Mapping[str, Any]) -> bool:
        """Whether the model refused the temperature, as newer ones do, or a schema, and can be asked without."""
        sent, told = asked["extra_body"], error.message.lower()
        if "temperature" in told and "temperature" in sent:
            self._cold = True
            return True
        if "output_config" in sent and any(word in told for word in _SHAPE):
            self._shapes = False
            return True
        return False

    def _reply(self, message: Any) -> Reply:
        """The reply in a message, whatever the server took for one."""
        blocks = getattr(message, "content", None)
        if not isinstance(blocks, list):
            raise ModelFailed(f"{self.name} sent an answer without a reply in it; is it a server of Anthropic's kind?")
        texts = [t for t in (getattr(b, "text", None) for b in blocks) if isinstance(t, str)]
        usage = getattr(message, "usage", None)
        why = getattr(message, "stop_reason", None)
        return self._whole(texts, why, count(usage, "input_tokens"), count(usage, "output_tokens"))

    def _whole(self, texts: Sequence[str], why: object, tokens_in: int, tokens_out: int) -> Reply:
        """The reply of those texts, if it is one."""
        if why == "model_context_window_exceeded":
            raise PromptTooLong(f"{self.name} had no room left for its reply; ask with less evidence")
        if not texts:
            raise ModelFailed(f"{self.name} sent no text: stop reason {self._server.clean(why)}")
        return Reply("".join(texts), tokens_in, tokens_out, self.name)


def _conversation(messages: Sequence[Message]) -> dict[str, Any]:
    """The messages as the API has them: the system's apart, as one text.

    >>> _conversation([Message("system", "Be brief."), Message("user", "Hello")])
    {'messages': [{'role': 'user', 'content': 'Hello'}], 'system': 'Be brief.'}
    """
    system = "\n\n".join(m.text for m in messages if m.role == "system")
    turns = [{"role": m.role, "content": m.text} for m in messages if m.role != "system"]
    return {"messages": turns, "system": system} if system else {"messages": turns}
