"""Language models behind any OpenAI-compatible server: OpenAI, vLLM, Ollama, llama.cpp, LM Studio and others.

The key comes from the environment and from nowhere else: KGMED_API_KEY for any server, OPENAI_API_KEY only where no
base URL is given, so that it never goes to another host. It is in no message of this module and in no `repr`.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from kgmed.errors import ModelFailed, Unavailable
from kgmed.models.border import Remote, host_of, key_from
from kgmed.stages import Message, Reply

OFFICIAL = "https://api.openai.com/v1"
_TOO_LONG = ("context_length_exceeded", "exceed_context_size_error", "maximum context length", "context size")


class OpenAI:
    """A model behind a server; greedy and seeded, as far as the server follows."""

    def __init__(
        self,
        model: str,
        base_url: str = "",
        *,
        timeout: float = 120.0,
        retries: int = 3,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Name the model and its server; `timeout` in seconds for each try, `retries` with growing pauses.

        Too many requests (429), server errors and lost connections are tried again; a server that says how long to
        wait is obeyed. No environment = that of the process.
        """
        self.model = model
        self.host = host_of(base_url or OFFICIAL)
        key = _key(environment, own_server=bool(base_url))
        self._remote = Remote("openai", model, self.host, key, _TOO_LONG)
        self._settings = self.settings  # less what the server refuses
        self._limit = "max_tokens" if base_url else "max_completion_tokens"
        self._client = _connect(key, base_url or OFFICIAL, timeout=timeout, retries=retries)

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
        import openai  # heavy

        conversation = [{"role": m.role, "content": m.text} for m in messages]
        while True:
            asked = self._asked(max_tokens)
            try:
                return self._reply(self._client.chat.completions.create(messages=conversation, **asked))
            except openai.BadRequestError as error:
                if not self._adapts(error.param, asked):
                    raise self._remote.translated(openai, error) from None
            except (openai.OpenAIError, json.JSONDecodeError) as error:
                raise self._remote.translated(openai, error) from None

    def _asked(self, max_tokens: int) -> dict[str, Any]:
        """What a request holds beside the messages."""
        return {"model": self.model, self._limit: max_tokens, **self._settings}

    def _adapts(self, refused: str | None, asked: Mapping[str, Any]) -> bool:
        """Whether a setting that the server refuses could be left out or renamed; some models take no temperature.

        Another thread may have done so meanwhile; what counts is what this request held.
        """
        if refused == "max_tokens" and refused in asked:
            self._limit = "max_completion_tokens"
            return True
        if refused in asked and refused in self.settings:
            self._settings = {k: v for k, v in self._settings.items() if k != refused}
            return True
        return False

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
        return Reply(text, _count(usage, "prompt_tokens"), _count(usage, "completion_tokens"), self.name)


def _connect(key: str, base_url: str, *, timeout: float, retries: int) -> Any:
    """The SDK's client."""
    try:
        import openai  # heavy
    except ImportError as error:
        raise Unavailable('models behind a server need the package openai: pip install "kgmed[models]"') from error
    return openai.OpenAI(api_key=key or "none", base_url=base_url, timeout=timeout, max_retries=retries)


def _count(usage: object, field: str) -> int:
    """The tokens that a server says were used; 0 where it does not."""
    tokens = getattr(usage, field, 0)
    return tokens if isinstance(tokens, int) else 0


def _key(environment: Mapping[str, str] | None, *, own_server: bool) -> str:
    """The key for the server; "" for a server of one's own that needs none."""
    _, key = key_from(environment, "" if own_server else "OPENAI_API_KEY")
    if not (key or own_server):
        raise Unavailable("no key for api.openai.com: set KGMED_API_KEY, or give --base-url for a server of your own")
    return key
