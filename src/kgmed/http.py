"""The HTTP client of kgmed: JSON from one server, with a cap on replies, a deadline, retries, and a key kept at home.

One client for every server: of models (encoders, rerankers), of graphs (UMLS, SPARQL), and below the SDKs of `openai`
and `anthropic`. Loading this module loads `httpx2`; import it where a server is asked, not at the top of a module.

The key is put in below the client, so that no URL, exception or log line of the client holds it. A redirection to
another server loses its Location there: the client follows none, and the redirection is an answer like any other.
"""

import json
import os
import threading
import time
import weakref
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from typing import Any
from urllib.parse import urlencode
from urllib.request import getproxies, proxy_bypass

import httpx2

from kgmed.errors import Unavailable
from kgmed.servers import (
    AGAIN,
    Key,
    Limits,
    Outcome,
    Problem,
    Server,
    TokenBucket,
    pause_before,
    seconds_to_wait,
    split_login,
)

AGENT = "kgmed/0.1 (https://pypi.org/project/kgmed/)"
_EVENTS = "text/event-stream"
_WITHIN = 3600.0  # seconds for a stream of events, each of which may take the timeout


class TooLarge(httpx2.TransportError):
    """A reply that is larger than it may be."""


class OneServer(httpx2.BaseTransport):
    """Requests to one server, and to where it leads on the same host."""

    def __init__(self, base_url: str, limits: Limits, key: Key | None = None) -> None:
        """Name the server; `key` goes to it and to no other."""
        self._home, self._limits, self._key = httpx2.URL(base_url), limits, key
        try:
            self._inner = httpx2.HTTPTransport(proxy=_proxy(self._home))
        except ImportError as error:
            raise Unavailable("the proxy that the environment names is of SOCKS: pip install socksio") from error

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """The reply, decompressed, of at most so many bytes and seconds."""
        begun = time.monotonic()
        response = self._inner.handle_request(self._with_key(request))
        self._keep_home(request.url, response.headers)
        events = response.headers.get("content-type", "").startswith(_EVENTS)
        until = begun + (_WITHIN if events else self._limits.timeout)
        headers = [(k, v) for k, v in response.headers.raw if k.lower() not in (b"content-encoding", b"content-length")]
        body = _Bounded(response, self._limits.largest, until)
        return httpx2.Response(response.status_code, headers=headers, stream=body, extensions=response.extensions)

    def close(self) -> None:
        """Close the connections."""
        self._inner.close()

    def _with_key(self, request: httpx2.Request) -> httpx2.Request:
        """The request as it is sent; the one of the client stays without the key."""
        if self._key is None:
            return request
        url, headers, more = request.url, request.headers.copy(), request.extensions
        if self._key.parameter:
            url = url.copy_add_param(self._key.parameter, self._key.value)
        else:
            headers["Authorization"] = f"Bearer {self._key.value}"
        return httpx2.Request(request.method, url, headers=headers, stream=request.stream, extensions=more)

    def _keep_home(self, asked: httpx2.URL, headers: httpx2.Headers) -> None:
        """Take away a Location on another host or port, but for https in place of http; take the key out of others."""
        try:
            to = asked.join(headers.pop("location"))
        except (KeyError, httpx2.InvalidURL):
            return
        home = self._home
        safer = (home.scheme, to.scheme) == ("http", "https")
        if to.host == home.host and (safer or to.origin == home.origin):
            hidden = self._key.parameter if self._key else ""
            headers["location"] = str(to.copy_remove_param(hidden) if hidden in to.params else to)


class _Bounded(httpx2.SyncByteStream):
    """The body of a reply, decompressed; the clock is looked at between two reads, each of which has its timeout."""

    def __init__(self, response: httpx2.Response, largest: int, until: float) -> None:
        self._response, self._left, self._until = response, largest, until

    def __iter__(self) -> Iterator[bytes]:
        for part in self._response.iter_bytes():
            self._left -= len(part)
            if self._left < 0:
                raise TooLarge("the reply is too large")
            if time.monotonic() > self._until:
                raise httpx2.ReadTimeout("the reply takes too long")
            yield part

    def close(self) -> None:
        """Let go of the connection."""
        self._response.close()


def client_for(base_url: str, limits: Limits, key: Key | None = None) -> httpx2.Client:
    """A client for one server, also for the SDK of `openai` or `anthropic`; a login in the URL is sent as a header."""
    url, login = split_login(base_url)
    return httpx2.Client(
        transport=OneServer(url, limits, key),
        auth=login,
        headers={"User-Agent": AGENT},
        timeout=limits.timeout,
        follow_redirects=limits.redirects > 0,
        max_redirects=limits.redirects,
    )


def problem_of(error: BaseException | None) -> Problem:
    """What an error of the client means."""
    if isinstance(error, TooLarge):
        return "large"
    if isinstance(error, httpx2.TimeoutException):
        return "late"
    if isinstance(error, httpx2.ConnectError | httpx2.ProxyError | httpx2.UnsupportedProtocol):
        return "lost"
    return "broken" if isinstance(error, httpx2.HTTPError) else "lost"


def _proxy(home: httpx2.URL) -> str | None:
    """The proxy that the environment names for a server (a client with a transport of its own does not look)."""
    if proxy_bypass(home.netloc.decode("ascii")):
        return None
    named = getproxies()
    url = named.get(home.scheme) or named.get("all")
    return url if not url or "://" in url else f"http://{url}"


class JsonClient:
    """Asks one server and reads JSON objects. Safe between threads, and in a forked process."""

    def __init__(
        self,
        base_url: str,
        server: Server,
        *,
        limits: Limits | None = None,
        pace: TokenBucket | None = None,
        missing: bool = False,
    ) -> None:
        """Name the server; `pace` None = that of the limits.

        `missing` = a 404 with a JSON object says that there is no such thing, which is None, and no failure.
        """
        self.server, self.limits = server, limits or Limits()
        self._url, self._missing = base_url, missing
        self._base = split_login(base_url)[0].rstrip("/")
        self._pace = pace or TokenBucket(self.limits.rate, sleep=self.limits.sleep)
        self._clients: dict[int, httpx2.Client] = {}  # by process: a connection may not be carried over a fork
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        """The host, never the key."""
        return f"JsonClient({self.server.host})"

    def get(self, path: str, query: Mapping[str, str]) -> Any:
        """The answer to a GET; raises `Unavailable`."""
        return self._ask("GET", f"{path}?{urlencode(query, errors='replace')}", b"", {"Accept": "application/json"})

    def post(self, path: str, body: object) -> Any:
        """The answer to JSON that is posted; raises `Unavailable`."""
        return self._ask("POST", path, json.dumps(body).encode(), {"Content-Type": "application/json"})

    def post_form(self, form: Mapping[str, str], *, accept: str) -> Any:
        """The answer to a form that is posted to the base URL; raises `Unavailable`."""
        headers = {"Content-Type": "application/x-www-form-urlencoded", "Accept": accept}
        return self._ask("POST", "", urlencode(form, errors="replace").encode(), headers)

    def _ask(self, method: str, path: str, data: bytes, headers: Mapping[str, str]) -> Any:
        """The answer, after as many tries as the limits allow."""
        outcome = self._try(method, path, data, headers)
        for attempt in range(self.limits.retries):
            if outcome.status not in AGAIN and outcome.problem in ("", "large"):
                break
            self.limits.sleep(pause_before(attempt, after=outcome.after, first=self.limits.pause))
            outcome = self._try(method, path, data, headers)
        missing = self._missing and outcome.status == 404
        if not (missing or 200 <= outcome.status < 300):
            raise self.server.error(outcome)
        value: Any = None
        with suppress(ValueError, RecursionError):
            value = json.loads(outcome.body)
        if not isinstance(value, dict):
            raise self.server.unusable("the error 404 and no reason" if missing else "no JSON object")
        return None if missing else value

    def _try(self, method: str, path: str, data: bytes, headers: Mapping[str, str]) -> Outcome:
        """One try. What goes wrong is kept as plain data, so that no exception of the client stands behind ours."""
        self._pace.wait()
        status, after = 0, 0.0
        try:
            client = self._client()
            request = client.build_request(method, self._base + path, content=data, headers=headers)
            with closing(client.send(request, stream=True)) as answer:
                status, after = answer.status_code, seconds_to_wait(answer.headers)
                return Outcome(status, answer.read(), after=after)
        except httpx2.TooManyRedirects:
            return Outcome(302)
        except httpx2.InvalidURL:  # longer than 64 KB
            return Outcome(414)
        except httpx2.HTTPError as error:
            return Outcome(status, after=after) if status >= 400 else Outcome(problem=problem_of(error))

    def _client(self) -> httpx2.Client:
        """The client of this process, made when it is first needed."""
        with self._lock:
            if os.getpid() not in self._clients:
                made = self._clients[os.getpid()] = client_for(self._url, self.limits, self.server.key)
                weakref.finalize(self, made.close)
            return self._clients[os.getpid()]
