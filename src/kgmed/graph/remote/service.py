"""A JSON service over HTTP: at its own pace, with a deadline, tried again where that may help; its key is never told.

The key travels in the query of the URL (UMLS has it so). So no URL and no exception of `urllib`, which carries one,
gets out of this module: every failure is an `Unavailable` that names the host and what to do, and has no other error
behind it.
"""

import json
import re
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http.client import HTTPException
from typing import IO, Any, NamedTuple
from urllib.parse import urlencode, urlsplit

from kgmed.errors import BadInput, Unavailable

AGENT = "kgmed/0.1 (https://pypi.org/project/kgmed/)"
REDIRECTS = 3
LARGEST = 1 << 25  # bytes of an answer
_AGAIN = frozenset({429, 500, 502, 503, 504})
_LONGEST_PAUSE = 60.0
_CHUNK = 1 << 16
_BAD_KEY = re.compile(r"[^\x21-\x7e]")


class Bucket:
    """A token bucket: on average `rate` requests a second, never more than `burst` at once. Safe between threads."""

    def __init__(
        self,
        rate: float,
        burst: int = 1,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Begin full."""
        if not rate > 0 or burst < 1:
            raise BadInput("a rate must be above 0 requests a second, and its burst at least 1")
        self.rate, self.burst = rate, burst
        self._clock, self._sleep, self._lock = clock, sleep, threading.Lock()
        self._tokens, self._then = float(burst), clock()

    def take(self) -> None:
        """Wait for a token; those who wait are served one after the other."""
        with self._lock:
            now = self._clock()
            self._tokens = min(self.burst, self._tokens + (now - self._then) * self.rate) - 1
            self._then = now
            wait = max(0.0, -self._tokens / self.rate)
        if wait:
            self._sleep(wait)


@dataclass(frozen=True, slots=True)
class Limits:
    """How a service is treated: seconds for each try, tries after the first, requests a second, first pause."""

    timeout: float = 10.0
    retries: int = 3
    rate: float = 20.0
    pause: float = 0.5  # seconds before the second try; doubled before each further one
    sleep: Callable[[float], None] = field(default=time.sleep, repr=False)


@dataclass(frozen=True, slots=True)
class Key:
    """The key of a service, the parameter that carries it, and where it came from. Its `repr` does not tell it."""

    parameter: str
    value: str = field(repr=False)
    variable: str = ""

    @classmethod
    def of(cls, environment: Mapping[str, str], variable: str, parameter: str) -> "Key":
        """The key in a variable; raises `Unavailable` where there is none, `BadInput` for what cannot be one."""
        value = environment.get(variable, "").strip()
        if not value:
            raise Unavailable(f"no key: set the environment variable {variable}")
        if _BAD_KEY.search(value):
            raise BadInput(f"the key in {variable} holds spaces or other characters that no key has; set it again")
        return cls(parameter, value, variable)


class _Outcome(NamedTuple):
    """What came of one try."""

    status: int  # 0 = no answer
    body: bytes = b""
    failure: str = ""
    wait: float = 0.0  # seconds that the server asks to wait


class Service:
    """One server. Its answers are plain data; None = it says that there is no such thing (404 with a reason)."""

    def __init__(self, base_url: str, *, key: Key | None = None, limits: Limits | None = None) -> None:
        """Name the server, and its key if it needs one. Raises `BadInput`."""
        self.base = base_url.rstrip("/")
        self.host = service_host_of(base_url)
        self.limits = limits or Limits()
        self._key = key
        self._bucket = Bucket(self.limits.rate, sleep=self.limits.sleep)
        self._open = _opener(self.host).open

    def __repr__(self) -> str:
        """The host, never the key."""
        return f"Service({self.host})"

    def get(self, path: str, parameters: Mapping[str, str]) -> Any:
        """The answer to a GET; raises `Unavailable`."""
        named = dict(parameters) | ({self._key.parameter: self._key.value} if self._key else {})
        return self._ask(f"{self.base}{path}?{urlencode(named, errors='replace')}", None, "application/json")

    def post(self, form: Mapping[str, str], *, accept: str) -> Any:
        """The answer to a form that is posted; raises `Unavailable`."""
        return self._ask(self.base, urlencode(form, errors="replace").encode(), accept)

    def _ask(self, url: str, data: bytes | None, accept: str) -> Any:
        """The answer, after as many tries as the limits allow."""
        headers = {"User-Agent": AGENT, "Accept": accept}
        pause, outcome = self.limits.pause, _Outcome(0)
        for left in range(self.limits.retries, -1, -1):
            self._bucket.take()
            request = urllib.request.Request(url, data, headers)  # noqa: S310 - the opener knows http(s) only
            outcome = self._try(request)
            if not left or (outcome.status not in _AGAIN and outcome.status):
                break
            self.limits.sleep(min(_LONGEST_PAUSE, max(pause, outcome.wait)))
            pause *= 2
        if outcome.status not in (200, 404):
            raise self._failed(outcome)
        value = self._parsed(outcome)
        return None if outcome.status == 404 else value

    def _try(self, request: urllib.request.Request) -> _Outcome:
        """One try. What goes wrong is kept as text: the exceptions hold the URL."""
        deadline = time.monotonic() + self.limits.timeout
        try:
            with self._open(request, timeout=self.limits.timeout) as answer:
                return _Outcome(answer.status, _read(answer, deadline))
        except urllib.error.HTTPError as error:
            with error:
                return _Outcome(error.code, _reason(error), wait=_seconds(error.headers.get("Retry-After", "")))
        except TimeoutError:
            return _Outcome(0, failure="did not answer in time")
        except urllib.error.URLError as error:
            late = isinstance(error.reason, TimeoutError)
            return _Outcome(0, failure="did not answer in time" if late else "cannot be reached")
        except (HTTPException, OSError):
            return _Outcome(0, failure="broke off in the middle of its answer")
        except ValueError:
            return _Outcome(-1, failure="sent an answer that is too long, or leads elsewhere")

    def _failed(self, outcome: _Outcome) -> Unavailable:
        """The error for what came of the last try."""
        if outcome.status in (401, 403):
            mend = f"check the key in {self._key.variable}" if self._key else "it may want another client"
            return Unavailable(f"{self.host} refuses the request ({outcome.status}); {mend}")
        if outcome.status == 429:
            return Unavailable(f"{self.host} refuses more requests for now (429); wait, or ask less often")
        if 300 <= outcome.status < 400:
            return Unavailable(f"{self.host} leads to another place ({outcome.status}); check the base URL")
        if outcome.status >= 400:
            return Unavailable(f"{self.host} answers with the error {outcome.status}; try again later")
        return Unavailable(f"{self.host} {outcome.failure or 'sent no answer'}; check the network, try again later")

    def _parsed(self, outcome: _Outcome) -> Any:
        """The JSON in an answer; a 404 without any comes from a place where the service is not."""
        value: Any = None
        with suppress(ValueError, RecursionError):
            value = json.loads(outcome.body)
        if not isinstance(value, dict):
            raise self.unusable("the error 404 and no reason" if outcome.status == 404 else "no JSON object")
        return value

    def unusable(self, what: str) -> Unavailable:
        """The error for an answer that is not what the service promises."""
        return Unavailable(f"{self.host} sent {what}; check the base URL, try again later")


class _SameHost(urllib.request.HTTPRedirectHandler):
    """Follows few redirects, to the same host only, and never from https to http: the URL holds the key."""

    max_redirections = REDIRECTS

    def __init__(self, host: str) -> None:
        self._host = host.partition(":")[0]

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        """The next request; None = the redirect is the answer."""
        to = urlsplit(newurl)
        safe = to.scheme == "https" or (to.scheme == "http" and req.type == "http")
        if not safe or to.hostname != self._host:
            return None
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _opener(host: str) -> urllib.request.OpenerDirector:
    """What opens http and https, and nothing else: no files, no ftp."""
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler(),
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(),
        urllib.request.HTTPDefaultErrorHandler(),
        _SameHost(host),
        urllib.request.HTTPErrorProcessor(),
    ):
        opener.add_handler(handler)
    return opener


def service_host_of(url: str) -> str:
    """Host and port of a URL; raises `BadInput` where it is no http(s) one or carries a user name."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.query or parts.fragment:
        raise BadInput("the address of a service must look like https://uts-ws.nlm.nih.gov/rest")
    return f"{parts.hostname}:{port}" if port else parts.hostname


def _read(answer: IO[bytes], deadline: float) -> bytes:
    """The body; raises `TimeoutError` for one that drips, `ValueError` for one without end, and where it is cut off."""
    parts, size = [], 0
    while part := answer.read(_CHUNK):
        parts.append(part)
        size += len(part)
        if size > LARGEST:
            raise ValueError(size)
        if time.monotonic() > deadline:
            raise TimeoutError
    if getattr(answer, "length", None):  # bytes that were promised and did not come
        raise HTTPException
    return b"".join(parts)


def _reason(error: urllib.error.HTTPError) -> bytes:
    """The beginning of what a refusal says."""
    try:
        return error.read(_CHUNK)
    except (HTTPException, OSError):
        return b""


def _seconds(text: str) -> float:
    """The seconds in a Retry-After; 0 where it is a date or nothing."""
    return float(text) if text.isdecimal() and text.isascii() and len(text) < 6 else 0.0
