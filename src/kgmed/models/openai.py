"""Language models behind any OpenAI-compatible server: OpenAI, vLLM, Ollama, llama.cpp, LM Studio and others.

The key comes from the environment and from nowhere else: KGMED_API_KEY for any server, OPENAI_API_KEY only where no
base URL is given, so that it never goes to another host. It is in no message of this module and in no `repr`.
"""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from kgmed.errors import BadInput, ModelFailed, PromptTooLong, Unavailable
from kgmed.stages import Message, Reply

if TYPE_CHECKING:
    import openai

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
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        """Name the model and its server; `timeout` in seconds for each try, `retries` with growing pauses.

        Too many requests (429), server errors and lost connections are tried again; a server that says how long to
        wait is obeyed.
        """
        self.model = model
        self.host = _host(base_url or OFFICIAL)
        self._key = _key(environment, own_server=bool(base_url))
        self._settings: dict[str, Any] = {"temperature": 0, "seed": 0}
        self._limit = "max_tokens" if base_url else "max_completion_tokens"
        self._client = self._connect(base_url or OFFICIAL, timeout=timeout, retries=retries)

    @property
    def name(self) -> str:
        """The model and the server's host."""
        return f"openai/{self.model} at {self.host}"

    def __repr__(self) -> str:
        """The model and the host, never the key."""
        return f"OpenAI({self.model!r} at {self.host})"

    def __call__(self, messages: Sequence[Message], /, *, max_tokens: int = 256) -> Reply:
        """The model's reply."""
        import openai  # heavy

        conversation = [{"role": m.role, "content": m.text} for m in messages]
        while True:
            try:
                return self._reply(
                    self._client.chat.completions.create(
                        model=self.model, messages=conversation, **self._settings, **{self._limit: max_tokens}
                    )
                )
            except openai.BadRequestError as error:
                if not self._adapts(error.param):
                    raise self._translated(error) from None
            except (openai.OpenAIError, json.JSONDecodeError) as error:
                raise self._translated(error) from None

    def _adapts(self, refused: str | None) -> bool:
        """Whether a setting that the server refuses could be left out or renamed; some models take no temperature."""
        if refused == "max_tokens" == self._limit:
            self._limit = "max_completion_tokens"
            return True
        return self._settings.pop(refused or "", None) is not None

    def _connect(self, base_url: str, *, timeout: float, retries: int) -> Any:
        """The SDK's client."""
        try:
            import openai  # heavy
        except ImportError as error:
            raise Unavailable('models behind a server need the package openai: pip install "kgmed[models]"') from error
        return openai.OpenAI(api_key=self._key or "none", base_url=base_url, timeout=timeout, max_retries=retries)

    def _reply(self, completion: Any) -> Reply:
        """The reply in a completion, whatever the server took for one."""
        choices = getattr(completion, "choices", None)
        if not choices or not isinstance(choices, list):
            raise ModelFailed(f"{self.name} sent an answer without a reply in it; is it an OpenAI-compatible server?")
        message = getattr(choices[0], "message", None)
        text = getattr(message, "content", None)
        if not isinstance(text, str):
            why = getattr(message, "refusal", None) or f"finish reason {getattr(choices[0], 'finish_reason', None)}"
            raise ModelFailed(f"{self.name} sent no text: {self._clean(why)}")
        usage = getattr(completion, "usage", None)
        return Reply(text, _count(usage, "prompt_tokens"), _count(usage, "completion_tokens"), self.name)

    def _translated(self, error: Exception) -> Unavailable:
        """Our error for one of the SDK: the host, what it said, and what to do."""
        import openai  # heavy

        said = self._clean(getattr(error, "message", "") or error)
        if isinstance(error, openai.APITimeoutError):
            return Unavailable(
                f"{self.host} did not answer in time; is the server busy, or the model too large for it?"
            )
        if isinstance(error, openai.APIConnectionError):
            return Unavailable(f"cannot reach {self.host}; is the server running, and the base URL right?")
        if isinstance(error, openai.AuthenticationError | openai.PermissionDeniedError):
            return Unavailable(f"{self.host} refuses the key; set the environment variable KGMED_API_KEY ({said})")
        if isinstance(error, openai.NotFoundError):
            return Unavailable(f"{self.host} has no model {self.model!r}, or its base URL lacks /v1 ({said})")
        if isinstance(error, openai.RateLimitError):
            return Unavailable(f"{self.host} refuses more requests for now; wait, or look at the account ({said})")
        if isinstance(error, openai.BadRequestError) and any(t in _kind_and_text(error) for t in _TOO_LONG):
            return PromptTooLong(f"{self.name} cannot read a prompt this long; ask with less evidence ({said})")
        if isinstance(error, openai.InternalServerError):
            return Unavailable(f"{self.host} is failing, after several tries ({said})")
        return ModelFailed(f"{self.name} sent something that cannot be used ({said})")

    def _clean(self, text: object) -> str:
        """The first 200 characters of what a server said, on one line, without the key."""
        line = " ".join(str(text).split())
        return (line.replace(self._key, "***") if self._key else line)[:200]


def _kind_and_text(error: "openai.BadRequestError") -> str:
    """Code, type and message of a refusal."""
    return f"{error.code} {error.type} {error.message}"


def _count(usage: object, field: str) -> int:
    """The tokens that a server says were used; 0 where it does not."""
    tokens = getattr(usage, field, 0)
    return tokens if isinstance(tokens, int) else 0


def _host(base_url: str) -> str:
    """Host and port of a URL, without any user name or password in it."""
    parts = urlsplit(base_url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise BadInput("the base URL must look like http://localhost:8000/v1")
    return f"{parts.hostname}:{parts.port}" if parts.port else parts.hostname


def _key(environment: Mapping[str, str], *, own_server: bool) -> str:
    """The key for the server; "" for a server of one's own that needs none."""
    keys = [(name, key) for name, key in _keys(environment, own_server=own_server) if key]
    if not keys and not own_server:
        raise Unavailable("no key for api.openai.com: set KGMED_API_KEY, or give --base-url for a server of your own")
    name, key = keys[0] if keys else ("", "")
    if not (key.isascii() and key.isprintable() and " " not in key):
        raise BadInput(f"the key in {name} holds spaces or other characters that no key has; set it again")
    return key


def _keys(environment: Mapping[str, str], *, own_server: bool) -> Iterator[tuple[str, str]]:
    """The variables that may hold the key, best first."""
    for name in ("KGMED_API_KEY",) if own_server else ("KGMED_API_KEY", "OPENAI_API_KEY"):
        yield name, environment.get(name, "").strip()
