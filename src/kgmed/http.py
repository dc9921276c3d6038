"""The HTTP client of kgmed: JSON from one server, with a cap on replies, a deadline, retries, and a key kept at home.

One client for every server: of models (encoders, rerankers), of graphs (UMLS, SPARQL), and below the SDKs of `openai`
and `anthropic`. Loading this module loads `httpx2`; import it where a server is asked, not at the top of a module.

The key is put in below the client, so that no URL, exception or log line of the client holds it. A redirection to
another server loses its Location there: the client follows none, and the redirection is an answer like any other.
"""

import json
import os
import ssl
import threading
import time
import weakref
import zlib
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from typing import Any
from urllib.parse import urlencode
from urllib.request import getproxies, proxy_bypass

import httpcore2
import httpx2

from kgmed.errors import Unavailable
from kgmed.servers import (
    AGAIN,
    NO_USE,
    Attempt,
    Key,
    Limits,
    Problem,
    Server,
    TokenBucket,
    pause_before,
    seconds_to_wait,
    split_login,
)
from kgmed.stop import check_stop, seconds_left

AGENT = "kgmed/0.1 (https://pypi.org/project/kgmed/)"
_EVENTS = "text/event-stream"
_STREAMS = 10  # times the timeout that a stream of events may take in all
_PIECE = 1 << 20  # bytes that are decompressed at a time


class TooLarge(httpx2.TransportError):
    """A reply that is larger than it may be."""


class _Deadline(float):
    """The timeout of one step on the network, which also knows when the whole exchange must be over.

    The client hands it down as it is, so that `_Clocked` finds it at every step.
    """

    until: float

    def left(self) -> float:
        """The seconds that the next step may take; raises where there are none."""
        seconds = self.until - time.monotonic()
        if seconds <= 0:
            raise httpcore2.ReadTimeout("the reply takes too long")
        return min(self, seconds)


def _left(timeout: float | None) -> float | None:
    return timeout.left() if isinstance(timeout, _Deadline) else timeout


class _Clocked(httpcore2.NetworkStream):
    """A connection whose every step ends at the deadline: a timeout for each alone lets a slow drip go on for ever."""

    def __init__(self, inner: httpcore2.NetworkStream) -> None:
        self._inner = inner

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._inner.read(max_bytes, _left(timeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._inner.write(buffer, _left(timeout))

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self, ssl_context: Any, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.NetworkStream:
        return _Clocked(self._inner.start_tls(ssl_context, server_hostname, _left(timeout)))

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)


class _Connections(httpcore2.SyncBackend):
    """Opens connections that are clocked."""

    def connect_tcp(self, *args: Any, **more: Any) -> httpcore2.NetworkStream:
        return _Clocked(super().connect_tcp(*args, **more))


class OneServer(httpx2.BaseTransport):
    """Requests to one server, and to where it leads on the same host."""

    def __init__(self, base_url: str, limits: Limits, key: Key | None = None) -> None:
        """Name the server; `key` goes to it and to no other."""
        self._home, self._limits, self._key = httpx2.URL(base_url), limits, key
        self._proxy = _proxy(self._home)
        try:
            self._inner = httpx2.HTTPTransport(proxy=self._proxy)
        except ImportError as error:
            raise Unavailable("the proxy that the environment names is of SOCKS: pip install socksio") from error
        self._inner._pool._network_backend = _Connections()

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """The reply, decompressed, of at most so many bytes and seconds."""
        deadline = _Deadline(self._limits.timeout)
        deadline.until = time.monotonic() + min(self._limits.timeout, seconds_left())
        try:
            response = self._inner.handle_request(self._as_sent(request, deadline))
        except httpx2.ConnectError as error:
            if self._proxy and not _distrusted(error):
                raise httpx2.ProxyError(str(error)) from error
            raise
        self._keep_home(request.url, response.headers)
        if response.headers.get("content-type", "").startswith(_EVENTS):
            more = (_STREAMS - 1) * self._limits.timeout
            deadline.until = min(deadline.until + more, time.monotonic() + seconds_left())
        headers = [(k, v) for k, v in response.headers.raw if k.lower() not in (b"content-encoding", b"content-length")]
        body = _Bounded(response, self._limits.largest, deadline)
        return httpx2.Response(response.status_code, headers=headers, stream=body, extensions=response.extensions)

    def close(self) -> None:
        """Close the connections."""
        self._inner.close()

    def _as_sent(self, request: httpx2.Request, deadline: _Deadline) -> httpx2.Request:
        """The request with its deadline and the key; the one of the client stays without."""
        url, headers = request.url, request.headers.copy()
        more = {**request.extensions, "timeout": dict.fromkeys(("connect", "read", "write", "pool"), deadline)}
        if self._key and self._key.parameter:
            url = url.copy_add_param(self._key.parameter, self._key.value)
        elif self._key:
            headers["Authorization"] = f"Bearer {self._key.value}"
        return httpx2.Request(request.method, url, headers=headers, stream=request.stream, extensions=more)

    def _keep_home(self, asked: httpx2.URL, headers: httpx2.Headers) -> None:
        """Take away a Location on another host or port, but for https in place of http; take the key out of others."""
        try:
            to = asked.join(headers.pop("location"))
        except (KeyError, httpx2.InvalidURL):
            return
        home = self._home
        if to.host == home.host and ((home.scheme, to.scheme) == ("http", "https") or to.origin == home.origin):
            hidden = self._key.parameter if self._key else ""
            headers["location"] = str(to.copy_remove_param(hidden) if hidden in to.params else to)


class _Bounded(httpx2.SyncByteStream):
    """The body of a reply, decompressed in pieces, of at most so many bytes."""

    def __init__(self, response: httpx2.Response, largest: int, deadline: _Deadline) -> None:
        self._response, self._left, self._deadline = response, largest, deadline
        self._coding = response.headers.get("content-encoding", "identity").strip().lower()

    def __iter__(self) -> Iterator[bytes]:
        raw = self._response.iter_raw()
        for part in raw if self._coding in ("identity", "") else self._decompressed(raw):
            self._left -= len(part)
            if self._left < 0:
                raise TooLarge("the reply is too large")
            if time.monotonic() > self._deadline.until:
                raise httpx2.ReadTimeout("the reply takes too long")
            yield part

    def _decompressed(self, raw: Iterator[bytes]) -> Iterator[bytes]:
        """The body without its gzip or deflate; no other coding was asked for, and one in another is refused."""
        if self._coding not in ("gzip", "x-gzip", "deflate"):
            raise httpx2.DecodingError("the reply is packed in a way that was not asked for")
        unpack, begun = zlib.decompressobj(47), False
        for packed in raw:
            try:
                if packed and not begun and self._coding == "deflate" and packed[0] & 15 != zlib.DEFLATED:
                    unpack = zlib.decompressobj(-15)  # without the head that it should have
                begun = begun or bool(packed)
                while packed and not unpack.eof:
                    part, packed = unpack.decompress(packed, _PIECE), unpack.unconsumed_tail
                    yield part
            except zlib.error as error:
                raise httpx2.DecodingError(f"the reply is damaged ({error})") from error
        if begun and not unpack.eof:
            raise httpx2.DecodingError("the reply ends in the middle")

    def close(self) -> None:
        """Let go of the connection."""
        self._response.close()


def client_for(base_url: str, limits: Limits, key: Key | None = None) -> httpx2.Client:
    """A client for one server, also for the SDK of `openai` or `anthropic`; a login in the URL is sent as a header."""
    url, login = split_login(base_url)
    return httpx2.Client(
        transport=OneServer(url, limits, key),
        auth=login,
        headers={"User-Agent": AGENT, "Accept-Encoding": "gzip, deflate"},
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
    if isinstance(error, httpx2.ProxyError):
        return "proxy"
    if isinstance(error, httpx2.ConnectError | httpx2.UnsupportedProtocol):
        return "certificate" if _distrusted(error) else "lost"
    return "broken" if isinstance(error, httpx2.HTTPError) else "lost"


def _distrusted(error: BaseException | None) -> bool:
    """Whether a certificate that is not trusted is what an error comes from."""
    while error is not None and not isinstance(error, ssl.SSLCertVerificationError):
        error = error.__cause__ or error.__context__
    return error is not None


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

    def tell(self, form: Mapping[str, str]) -> None:
        """Post a form to the base URL, whose answer does not matter; raises `Unavailable`."""
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        outcome = self._tried("POST", "", urlencode(form, errors="replace").encode(), headers)
        if not 200 <= outcome.status < 300:
            raise self.server.error(outcome)

    def _tried(self, method: str, path: str, data: bytes, headers: Mapping[str, str]) -> Attempt:
        """What came of it, after as many tries as the limits allow."""
        outcome = self._try(method, path, data, headers)
        for attempt in range(self.limits.retries):
            if outcome.status not in AGAIN and outcome.problem in ("", "large", *NO_USE):
                break
            check_stop()
            pause = pause_before(attempt, after=outcome.after, first=self.limits.pause)
            self.limits.sleep(max(0.0, min(pause, seconds_left())))
            outcome = self._try(method, path, data, headers)
        if outcome.problem == "late":
            check_stop()
        return outcome

    def _ask(self, method: str, path: str, data: bytes, headers: Mapping[str, str]) -> Any:
        """The answer, as JSON."""
        outcome = self._tried(method, path, data, headers)
        missing = self._missing and outcome.status == 404
        if not (missing or 200 <= outcome.status < 300):
            raise self.server.error(outcome)
        value: Any = None
        with suppress(ValueError, RecursionError):
            value = json.loads(outcome.body)
        if not isinstance(value, dict):
            raise self.server.unusable("the error 404 and no reason" if missing else "no JSON object")
        return None if missing else value

    def _try(self, method: str, path: str, data: bytes, headers: Mapping[str, str]) -> Attempt:
        """One try. What goes wrong is kept as plain data, so that no exception of the client stands behind ours."""
        self._pace.wait()
        status, after = 0, 0.0
        try:
            client = self._client()
            request = client.build_request(method, self._base + path, content=data, headers=headers)
            with closing(client.send(request, stream=True)) as answer:
                status, after = answer.status_code, seconds_to_wait(answer.headers)
                return Attempt(status, answer.read(), after=after)
        except httpx2.TooManyRedirects:
            return Attempt(302)
        except httpx2.InvalidURL:  # longer than 64 KB
            return Attempt(414)
        except httpx2.HTTPError as error:
            return Attempt(status, after=after) if status >= 400 else Attempt(problem=problem_of(error))

    def _client(self) -> httpx2.Client:
        """The client of this process, made when it is first needed."""
        with self._lock:
            if os.getpid() not in self._clients:
                made = self._clients[os.getpid()] = client_for(self._url, self.limits, self.server.key)
                weakref.finalize(self, made.close)
            return self._clients[os.getpid()]
