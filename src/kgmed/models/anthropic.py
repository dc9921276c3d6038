"""Anthropic's models through its official SDK.

The key comes from the environment and from nowhere else: KGMED_API_KEY for any server, ANTHROPIC_API_KEY only where
no base URL is given, so that it never goes to another host. It is in no message of this module and in no `repr`.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from kgmed.errors import ModelFailed, PromptTooLong, Unavailable
from kgmed.models.border import Remote, host_of, key_from
from kgmed.stages import Message, Reply

OFFICIAL = "https://api.anthropic.com"
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
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Name the model and, where it is not Anthropic's own, its server; otherwise as `OpenAI`."""
        self.model = model
        self.host = host_of(base_url or OFFICIAL)
        key = _key(environment, own_server=bool(base_url))
        self._remote = Remote("anthropic", model, self.host, key, _TOO_LONG)
        self._settings = self.settings  # less what the model refuses
        self._client = _connect(key, base_url or OFFICIAL, timeout=timeout, retries=retries)

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
        import anthropic  # heavy

        asked = {"model": self.model, "max_tokens": max_tokens, **_conversation(messages)}
        while True:
            settings = self._settings
            try:
                return self._reply(self._client.messages.create(**asked, extra_body=settings))
            except anthropic.BadRequestError as error:
                if not self._adapts(error.message, settings):
                    raise self._remote.translated(anthropic, error) from None
            except (anthropic.AnthropicError, json.JSONDecodeError) as error:
                raise self._remote.translated(anthropic, error) from None

    def _adapts(self, said: str, settings: Mapping[str, object]) -> bool:
        """Whether the model refused the temperature, as newer ones do, and can be asked without."""
        if "temperature" not in said or "temperature" not in settings:
            return False
        self._settings = {}
        return True

    def _reply(self, message: Any) -> Reply:
        """The reply in a message, whatever the server took for one."""
        blocks = getattr(message, "content", None)
        if not isinstance(blocks, list):
            raise ModelFailed(f"{self.name} sent an answer without a reply in it; is it a server of Anthropic's kind?")
        texts = [t for t in (getattr(b, "text", None) for b in blocks) if isinstance(t, str)]
        why = getattr(message, "stop_reason", None)
        if why == "model_context_window_exceeded":
            raise PromptTooLong(f"{self.name} had no room left for its reply; ask with less evidence")
        if not texts:
            raise ModelFailed(f"{self.name} sent no text: stop reason {self._remote.clean(why)}")
        usage = getattr(message, "usage", None)
        return Reply("".join(texts), _count(usage, "input_tokens"), _count(usage, "output_tokens"), self.name)


def _conversation(messages: Sequence[Message]) -> dict[str, Any]:
    """The messages as the API has them: the system's apart, as one text.

    >>> _conversation([Message("system", "Be brief."), Message("user", "Hello")])
    {'messages': [{'role': 'user', 'content': 'Hello'}], 'system': 'Be brief.'}
    """
    system = "\n\n".join(m.text for m in messages if m.role == "system")
    turns = [{"role": m.role, "content": m.text} for m in messages if m.role != "system"]
    return {"messages": turns, "system": system} if system else {"messages": turns}


def _connect(key: str, base_url: str, *, timeout: float, retries: int) -> Any:
    """The SDK's client; with a key always given, it looks for none itself."""
    try:
        import anthropic  # heavy
    except ImportError as error:
        raise Unavailable('models of Anthropic need the package anthropic: pip install "kgmed[models]"') from error
    return anthropic.Anthropic(api_key=key or "none", base_url=base_url, timeout=timeout, max_retries=retries)


def _count(usage: object, field: str) -> int:
    """The tokens that a server says were used; 0 where it does not."""
    tokens = getattr(usage, field, 0)
    return tokens if isinstance(tokens, int) else 0


def _key(environment: Mapping[str, str] | None, *, own_server: bool) -> str:
    """The key for the server; "" for a server of one's own that needs none."""
    _, key = key_from(environment, "" if own_server else "ANTHROPIC_API_KEY")
    if not (key or own_server):
        raise Unavailable("no key for api.anthropic.com: set KGMED_API_KEY, or ANTHROPIC_API_KEY")
    return key
