"""Language models behind any OpenAI-compatible server: OpenAI, vLLM, Ollama, llama.cpp, LM Studio and others.

The key comes from the environment and from nowhere else: KGMED_API_KEY for any server, OPENAI_API_KEY only where no
base URL is given, so that it never goes to another host. It is in no message of this module and in no `repr`.
"""

from collections.abc import Generator, Mapping, Sequence
from typing import Any

from kgmed.errors import ModelFailed, Unavailable
from kgmed.models.border import Calls, Remote, count, host_of, key_from
from kgmed.stages import Message, Reply

OFFICIAL = "https://api.openai.com/v1"
_TOO_LONG = ("context_length_exceeded", "exceed_context_size_error", "maximum context length", "context size")
_EXTRAS = {"stream_options": "stream_options", "response_format": "response_format", "json_schema": "response_format"}


class OpenAI:
    """A model behind a server; greedy and seeded, as far as the server follows."""

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
        key = _key(environment, own_server=bool(base_url))
        self._remote = Remote("openai", model, self.host, key, _TOO_LONG)
        self._settings = self.settings  # less what the server refuses
        self._limit = "max_tokens" if base_url else "max_completion_tokens"
        self._refused: frozenset[str] = frozenset()  # extras that the server does not know
        self._calls = Calls(self._remote, base_url or OFFICIAL, timeout=timeout, retries=retries, at_once=at_once)

    @property
    def settings(self) -> dict[str, object]:
        """What is asked of the server beside the messages, for the key of a cache."""
        return {"temperature": 0, "seed": 0}

    @property
    def name(self) -> str:
        """The model and the server's host."""
        return self._remote.name

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
            raise self._remote.broken()
        if not parts:
            raise ModelFailed(f"{self.name} sent no text: finish reason {self._remote.clean(done)}")
        return Reply("".join(parts), count(usage, "prompt_tokens"), count(usage, "completion_tokens"), self.name)

    def _completion(self, client: Any, messages: Sequence[Message], max_tokens: int, **more: object) -> Any:
        """What the server sends for a conversation, without the settings that it refuses."""
        conversation = [{"role": m.role, "content": m.text} for m in messages]

        def asked() -> dict[str, Any]:
            wanted = {name: value for name, value in more.items() if name not in self._refused}
            settings = {"model": self.model, self._limit: max_tokens, **self._settings, **wanted}
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
            self._settings = {k: v for k, v in self._settings.items() if k != refused}
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
            raise ModelFailed(f"{self.name} sent no text: {self._remote.clean(why)}")
        usage = getattr(completion, "usage", None)
        return Reply(text, count(usage, "prompt_tokens"), count(usage, "completion_tokens"), self.name)


def _key(environment: Mapping[str, str] | None, *, own_server: bool) -> str:
    """The key for the server; "" for a server of one's own that needs none."""
    _, key = key_from(environment, "" if own_server else "OPENAI_API_KEY")
    if not (key or own_server):
        raise Unavailable("no key for api.openai.com: set KGMED_API_KEY, or give --base-url for a server of your own")
    return key
