"""Anthropic's models through its official SDK.

The key comes from the environment and from nowhere else: KGMED_API_KEY for any server, ANTHROPIC_API_KEY only where
no base URL is given, so that it never goes to another host. It is in no message of this module and in no `repr`.
"""

from collections.abc import Generator, Mapping, Sequence
from typing import Any

from kgmed.errors import ModelFailed, PromptTooLong, Unavailable
from kgmed.models.border import Calls, Remote, count, host_of, key_from
from kgmed.stages import Message, Reply

OFFICIAL = "https://api.anthropic.com"
_SHAPE = ("output_config", "output_format", "output format", "structured output", "schema")  # in a refusal of a schema
_TOO_LONG = ("prompt is too long", "exceed context limit", "request_too_large")


class Anthropic:
    """A model of Anthropic's; greedy where the model takes a temperature (there is no seed)."""

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
        self.host = host_of(base_url or OFFICIAL)
        key = _key(environment, own_server=bool(base_url))
        self._remote = Remote("anthropic", model, self.host, key, _TOO_LONG)
        self._settings = self.settings  # less what the model refuses
        self._shapes = True  # until the model refuses a schema
        self._calls = Calls(self._remote, base_url or OFFICIAL, timeout=timeout, retries=retries, at_once=at_once)

    @property
    def settings(self) -> dict[str, object]:
        """What is asked of the server beside the messages, for the key of a cache."""
        return {"temperature": 0}

    @property
    def name(self) -> str:
        """The model and the server's host."""
        return self._remote.name

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
            raise self._remote.broken()
        return self._whole(parts, why, took["input_tokens"], took["output_tokens"])

    def _message(
        self, client: Any, messages: Sequence[Message], max_tokens: int, shape: object = None, *, stream: bool = False
    ) -> Any:
        """What the server sends for a conversation, without the settings that it refuses."""
        conversation = {"model": self.model, "max_tokens": max_tokens, "stream": stream, **_conversation(messages)}

        def asked() -> dict[str, Any]:
            held = {"output_config": shape} if shape and self._shapes else {}
            return {**conversation, "extra_body": {**self._settings, **held}}

        return self._calls.mended(asked, client.messages.create, self._adapts)

    def _adapts(self, error: Any, asked: Mapping[str, Any]) -> bool:
        """Whether the model refused the temperature, as newer ones do, or a schema, and can be asked without."""
        sent, told = asked["extra_body"], error.message.lower()
        if "temperature" in told and "temperature" in sent:
            self._settings = {}
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
            raise ModelFailed(f"{self.name} sent no text: stop reason {self._remote.clean(why)}")
        return Reply("".join(texts), tokens_in, tokens_out, self.name)


def _conversation(messages: Sequence[Message]) -> dict[str, Any]:
    """The messages as the API has them: the system's apart, as one text.

    >>> _conversation([Message("system", "Be brief."), Message("user", "Hello")])
    {'messages': [{'role': 'user', 'content': 'Hello'}], 'system': 'Be brief.'}
    """
    system = "\n\n".join(m.text for m in messages if m.role == "system")
    turns = [{"role": m.role, "content": m.text} for m in messages if m.role != "system"]
    return {"messages": turns, "system": system} if system else {"messages": turns}


def _key(environment: Mapping[str, str] | None, *, own_server: bool) -> str:
    """The key for the server; "" for a server of one's own that needs none."""
    _, key = key_from(environment, "" if own_server else "ANTHROPIC_API_KEY")
    if not (key or own_server):
        raise Unavailable("no key for api.anthropic.com: set KGMED_API_KEY, or ANTHROPIC_API_KEY")
    return key
