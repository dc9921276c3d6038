"""HTTP to the servers of models."""

import http.client
import json
import os
import re
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from importlib import import_module
from typing import Any, TypeVar
from urllib.parse import urlsplit

from kgmed.errors import BadInput, Busy, ModelFailed, PromptTooLong, Unavailable

# --- What every model behind a server shares: its host, its key, and our errors for what goes wrong on the way.
# Keys come from the environment and from nowhere else. They are in no message that these functions make.


OWN_KEY = "KGMED_API_KEY"  # for any server
LONGEST = 200  # characters of what a server said
_BROKEN = ("RemoteProtocolError", "ReadError")  # of the module that an SDK sends with: it was reached, then lost
T = TypeVar("T")


def host_of(base_url: str) -> str:
    """Host and port of a URL, without any user name or password in it.

    >>> host_of("http://me:secret@localhost:8000/v1")
    'localhost:8000'
    """
    parts = urlsplit(base_url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise BadInput("the base URL must look like http://localhost:8000/v1")
    return f"{parts.hostname}:{parts.port}" if parts.port else parts.hostname


def key_from(environment: Mapping[str, str] | None, official: str = "") -> tuple[str, str]:
    """The variable that holds the key for a server, and the key; two empty texts where there is none.

    `official` is a company's own variable, looked at for its own host only. No environment = that of the process.
    """
    variables = os.environ if environment is None else environment
    for name in filter(None, (OWN_KEY, official)):
        if key := variables.get(name, "").strip():
            if not (key.isascii() and key.isprintable() and " " not in key):
                raise BadInput(f"the key in {name} holds spaces or other characters that no key has; set it again")
            return name, key
    return "", ""


@dataclass(frozen=True, slots=True)
class Remote:
    """A model behind a server, as far as messages name it; the key only so that it can be taken out of them."""

    kind: str  # openai, anthropic, ...
    model: str
    host: str
    key: str = field(default="", repr=False)
    too_long: tuple[str, ...] = ()  # the marks of a refusal that is about the length of the prompt

    @property
    def name(self) -> str:
        """The kind, the model and the server's host."""
        return f"{self.kind}/{self.model} at {self.host}"

    def clean(self, text: object) -> str:
        """The first 200 characters of what a server said, on one line, without the key."""
        line = " ".join(str(text).split())
        return (line.replace(self.key, "***") if self.key else line)[:LONGEST]

    def translated(self, sdk: Any, error: Exception) -> Unavailable:
        """Our error for one of an SDK (`openai`, `anthropic`: the same classes): host, what it said, what to do."""
        said = getattr(error, "message", "") or error
        if isinstance(error, sdk.APITimeoutError):
            return self.late()
        if isinstance(error, sdk.APIConnectionError):
            return self.broken() if type(error.__cause__).__name__ in _BROKEN else self.lost()
        if isinstance(error, sdk.APIStatusError):
            marks = f"{getattr(error, 'code', '')} {getattr(error, 'type', '')}"
            return self.refused(error.status_code, said, marks, after=seconds_to_wait(error.response.headers))
        return self.unusable(said)

    def refused(self, status: int, said: object, marks: str = "", *, after: float = 0.0) -> Unavailable:
        """Our error for an HTTP status that is none of success; `marks` = codes beside what the server said."""
        words = self.clean(said)
        if status in (400, 413) and any(mark in f"{marks} {said}" for mark in self.too_long):
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
        if status >= 500 or status in (408, 409) or "overloaded" in marks:
            return Busy(f"{self.host} is failing, after several tries ({words})", after=after)
        return self.unusable(words)

    def late(self) -> Busy:
        """Our error for no answer in time."""
        return Busy(f"{self.host} did not answer in time; is the server busy, or the model too large for it?")

    def lost(self) -> Busy:
        """Our error for no connection."""
        return Busy(f"cannot reach {self.host}; is the server running, and the base URL right?")

    def broken(self) -> Busy:
        """Our error for a reply that ended before it was whole."""
        return Busy(f"{self.host} broke off in the middle of its reply; ask again")

    def unusable(self, said: object) -> ModelFailed:
        """Our error for an answer that is none."""
        return ModelFailed(f"{self.name} sent something that cannot be used ({self.clean(said)})")


class RemoteCalls:
    """Requests through the SDK of `openai` or `anthropic`: so many at once, and every failure one of ours.

    Too many requests, server errors and lost connections are tried again `retries` times by the SDK, with growing
    pauses; a server that says how long to wait is obeyed.
    """

    def __init__(
        self, remote: Remote, base_url: str, *, timeout: float = 120.0, retries: int = 3, at_once: int = 8
    ) -> None:
        """The client of the remote's kind; `timeout` in seconds for each try."""
        self.remote = remote
        self.sdk = _sdk(remote.kind)
        make = getattr(self.sdk, {"openai": "OpenAI", "anthropic": "Anthropic"}[remote.kind])
        self._client = make(api_key=remote.key or "none", base_url=base_url, timeout=timeout, max_retries=retries)
        self._slots = threading.BoundedSemaphore(at_once)
        self._transport = _transport(self.sdk)
        base = self.sdk.OpenAIError if remote.kind == "openai" else self.sdk.AnthropicError
        self._errors = (base, json.JSONDecodeError, UnicodeDecodeError)

    @contextmanager
    def one(self) -> Iterator[Any]:
        """The client, for one call from its request to the last word of its reply; errors within become ours."""
        with self._slots:
            try:
                yield self._client
            except self._errors as error:
                raise self.remote.translated(self.sdk, error) from None
            except self._transport.TimeoutException:
                raise self.remote.late() from None
            except self._transport.TransportError:
                raise self.remote.broken() from None

    def mended(self, ask: Callable[[], dict[str, Any]], send: Callable[..., T], mends: Callable[..., bool]) -> T:
        """What `send(**ask())` gives, asked again as long as `mends(refusal, asked)` finds something to leave out."""
        while True:
            asked = ask()
            try:
                return send(**asked)
            except self.sdk.BadRequestError as error:
                if not mends(error, asked):
                    raise


def _sdk(kind: str) -> Any:
    """The module of that name."""
    try:
        return import_module(kind)  # heavy
    except ImportError as error:
        raise Unavailable(f'models of {kind} need the package {kind}: pip install "kgmed[models]"') from error


def _transport(sdk: Any) -> Any:
    """The module that an SDK sends with: its errors come through where a reply breaks off in the middle."""
    return sys.modules[sdk.DefaultHttpxClient.__mro__[1].__module__.partition(".")[0]]


def count(usage: object, field: str) -> int:
    """The tokens that a server says were used; 0 where it does not."""
    tokens = getattr(usage, field, 0)
    return tokens if isinstance(tokens, int) else 0


def seconds_to_wait(headers: Mapping[str, str]) -> float:
    """How long a server asks to wait, by `Retry-After` (seconds or a date) or `retry-after-ms`; 0 = it does not say.

    >>> seconds_to_wait({"retry-after": "7"}), seconds_to_wait({"retry-after-ms": "250"}), seconds_to_wait({})
    (7.0, 0.25, 0.0)
    """
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        said = headers.get(name) or ""
        if re.fullmatch(r"\d{1,9}(\.\d{1,9})?", said.strip()):
            return float(said) * unit
    try:
        return max(0.0, parsedate_to_datetime(headers.get("retry-after") or "").timestamp() - time.time())
    except (ValueError, TypeError):
        return 0.0


# --- JSON sent to a model's server and JSON back, with nothing but the standard library.


MOST = 1 << 28  # bytes of an answer
AGAIN = (408, 409, 429, 500, 502, 503, 504, 529)  # statuses that may go away by themselves
POST_LONGEST = 60.0  # seconds between two tries, whatever a server asks for


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Follows nowhere, so that a key goes to no other host."""

    def redirect_request(self, *args: object, **kwargs: object) -> None:
        """None: the redirection is an answer like any other."""


_OPENER = urllib.request.build_opener(_NoRedirect)


def post(remote: Remote, url: str, body: object, *, timeout: float, retries: int, pause: float = 0.5) -> Any:
    """The answer to a body, as plain data; raises `Unavailable`, or `ModelFailed` where the answer is none.

    `timeout` in seconds for each try; a try that may succeed later is made again after `pause`, then twice that, ...,
    or when the server says.
    """
    headers = {"Content-Type": "application/json", "User-Agent": "kgmed"}
    if remote.key:
        headers["Authorization"] = f"Bearer {remote.key}"
    request = urllib.request.Request(url, json.dumps(body).encode(), headers, method="POST")  # noqa: S310
    for left in reversed(range(retries + 1)):
        after = 0.0
        try:
            return _read(remote, request, timeout)
        except urllib.error.HTTPError as error:
            with error:
                after = seconds_to_wait({k.lower(): v for k, v in error.headers.items()})
                if error.code not in AGAIN or not left:
                    raise remote.refused(error.code, _said(error), after=after) from None
        except TimeoutError:
            if not left:
                raise remote.late() from None
        except (OSError, http.client.HTTPException) as error:
            if not left:
                raise _lost(remote, error) from None
        time.sleep(min(POST_LONGEST, max(after, pause * 2 ** (retries - left))))
    raise remote.lost()


def _lost(remote: Remote, error: Exception) -> Busy:
    """Our error for a connection that was not made, or not kept."""
    if isinstance(error, http.client.IncompleteRead):
        return remote.broken()
    return remote.late() if isinstance(getattr(error, "reason", None), TimeoutError) else remote.lost()


def _read(remote: Remote, request: urllib.request.Request, timeout: float) -> Any:
    """The answer to one try."""
    with _OPENER.open(request, timeout=timeout) as answer:
        text = answer.read(MOST + 1)
        promised = answer.headers.get("Content-Length") or ""
    if len(text) > MOST:
        raise remote.unusable(f"more than {MOST} bytes")
    if promised.isdecimal() and len(text) < int(promised):
        raise http.client.IncompleteRead(text, int(promised) - len(text))
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise remote.unusable("no JSON; is the base URL right?") from None


def _said(error: urllib.error.HTTPError) -> str:
    """What a refusal says, as far as it can be read."""
    try:
        return error.read(2000).decode("utf-8", "replace")
    except (OSError, http.client.HTTPException):
        return str(error.code)
