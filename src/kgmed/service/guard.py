"""What stands in front of every door, in one place: host, origin, size, key, rate, and the headers of every answer.

A pure ASGI application around all others, so that nothing that is mounted (as MCP is) goes around it.
Errors are said as problem+json (RFC 9457), or in the OpenAI form under its paths.
"""

import asyncio
import hashlib
import hmac
import json
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kgmed.disk import data_folder, whole
from kgmed.errors import (
    Ambiguous,
    BadInput,
    Busy,
    KgmedError,
    ModelFailed,
    Stopped,
    StoreError,
    Unavailable,
    UnknownName,
)
from kgmed.records import Entity, to_json

# --- Errors as doors say them.


OPENAI = ("/v1/chat/", "/v1/models", "/v1/embeddings", "/v1/completions", "/v1/responses")
MEDIA = "application/problem+json"
REQUEST: ContextVar[str] = ContextVar("request", default="")  # the id of the request that is being answered
CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
SECURE = {
    "content-security-policy": CSP,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}


@dataclass(frozen=True, slots=True)
class Problem:
    """What went wrong with a request; `candidates` = the entities that a name may mean (409)."""

    status: int
    title: str
    detail: str
    type: str = "about:blank"
    candidates: tuple[Entity, ...] = ()
    after: float = 0.0  # seconds to wait before asking again; 0 = it does not help
    param: str = ""  # the parameter that cannot be followed
    request: str = ""  # the id of the request, as in `X-Request-ID` and the log


class Unsupported(BadInput):
    """A parameter that is understood, and cannot be followed here."""

    def __init__(self, param: str, why: str) -> None:
        """Name the parameter, and what to do without it."""
        super().__init__(f"{param}: {why}")
        self.param = param


_STATUS: tuple[tuple[type[KgmedError], int], ...] = (  # the first that fits
    (UnknownName, 404),
    (Ambiguous, 409),
    (Unsupported, 400),
    (BadInput, 422),
    (Busy, 503),
    (ModelFailed, 502),
    (Stopped, 504),
    (Unavailable, 503),
    (StoreError, 500),
    (KgmedError, 500),
)


def problem(status: int, detail: str, *, after: float = 0.0) -> Problem:
    """The problem of a status."""
    return Problem(status, HTTPStatus(status).phrase, detail, after=after)


def problem_of(error: KgmedError) -> Problem:
    """The problem that an error of ours is.

    >>> problem_of(UnknownName("graph", "hpoo", ["hpo"])).status
    404
    """
    status = next(status for kind, status in _STATUS if isinstance(error, kind))
    detail = "a file of the service cannot be used; its log says which" if status == 500 else str(error)
    candidates = tuple(error.candidates) if isinstance(error, Ambiguous) else ()
    after = (error.after or 1.0) if isinstance(error, Busy) else 0.0
    param = getattr(error, "param", "")
    return Problem(status, HTTPStatus(status).phrase, detail, candidates=candidates, after=after, param=param)  # type: ignore[arg-type]


def body_of(told: Problem, path: str) -> tuple[bytes, dict[str, str]]:
    """The body and the headers in which a path says a problem."""
    headers = {"content-type": MEDIA, "cache-control": "no-store"}
    if told.after:
        headers["retry-after"] = str(max(1, round(told.after)))
    if told.status == 401:
        headers["www-authenticate"] = "Bearer"
    if path.startswith(OPENAI):
        headers["content-type"] = "application/json"
        return json.dumps({"error": _as_openai(told)}, ensure_ascii=False).encode("utf-8", "replace"), headers
    return json.dumps(plain(told), ensure_ascii=False).encode("utf-8", "replace"), headers


def plain(told: Problem) -> dict[str, Any]:
    """A problem as plain data, without what it does not say."""
    said = {"type": told.type, "title": told.title, "status": told.status, "detail": told.detail}
    said["request"] = REQUEST.get()
    return said | ({"candidates": to_json(told.candidates)} if told.candidates else {})


_KINDS = {401: ("authentication_error", "invalid_api_key"), 404: ("invalid_request_error", "model_not_found"),
          429: ("rate_limit_error", "rate_limit_exceeded")}  # fmt: skip


def _as_openai(told: Problem) -> dict[str, Any]:
    """The error object of the OpenAI interface."""
    usual = ("server_error", "overloaded") if told.status >= 500 else ("invalid_request_error", "invalid_value")
    kind, code = ("invalid_request_error", "unsupported_parameter") if told.param else _KINDS.get(told.status, usual)
    return {"message": told.detail, "type": kind, "param": told.param or None, "code": code}


# Keys of who may ask: named, shown once, kept as hashes, compared in constant time.


@dataclass(frozen=True, slots=True)
class ServiceKey:
    """A key as it is kept: its name, the hash of the key, and when it was made."""

    name: str
    hash: str
    made: str


class Keys:
    """The keys in a file, read again when it changes, so that one that is withdrawn is refused at once."""

    def __init__(self, path: Path) -> None:
        """The file need not exist: no key is known then."""
        self.path = path
        self._read: tuple[tuple[int, int, int], tuple[ServiceKey, ...]] = ((0, 0, 0), ())

    @classmethod
    def of(cls, path: str = "") -> "Keys":
        """Those of a file; "" = those of the data folder."""
        return cls(Path(path) if path else data_folder() / "serve" / "keys.json")

    def all(self) -> tuple[ServiceKey, ...]:
        """The keys; raises `StoreError` where the file cannot be read."""
        try:
            found = self.path.stat()
        except (FileNotFoundError, NotADirectoryError):
            return ()
        mark = found.st_mtime_ns, found.st_ino, found.st_size
        if mark != self._read[0]:
            try:
                rows = json.loads(self.path.read_text(encoding="utf-8"))
                self._read = mark, tuple(ServiceKey(**row) for row in rows)
            except (OSError, ValueError, TypeError) as error:
                raise StoreError(f"{self.path}: holds no keys ({error}); remove it and make new keys") from None
        return self._read[1]

    def add(self, name: str) -> str:
        """A new key, which is nowhere kept as it is; raises `BadInput` for a name that is taken or empty."""
        if not name.strip() or len(name) > 100 or not name.isprintable():
            raise BadInput("a key needs a name, such as that of who is to use it")
        made = f"kgmed-{secrets.token_urlsafe(32)}"
        new = ServiceKey(name, _hashed(made), datetime.now(UTC).isoformat(timespec="seconds"))
        with self._changing() as known:
            if any(key.name == name for key in known):
                raise BadInput(f"there is a key {name!r} already; remove it first, or take another name")
            self._write((*known, new))
        return made

    def remove(self, name: str) -> None:
        """Withdraw a key; raises `UnknownName`."""
        with self._changing() as known:
            kept = tuple(key for key in known if key.name != name)
            if len(kept) == len(known):
                raise UnknownName("key", name, [key.name for key in kept])
            self._write(kept)

    def whose(self, given: str) -> str:
        """The name of a key; "" = it is none. Every key is compared, each in constant time."""
        digest, found = _hashed(given), ""
        for key in self.all():
            if hmac.compare_digest(key.hash, digest):
                found = key.name
        return found

    @contextmanager
    def _changing(self) -> Iterator[tuple[ServiceKey, ...]]:
        """The keys, while no other process or thread changes them: what it reads is what it writes over."""
        from kgmed.disk import hold

        try:
            lock = hold(self.path.with_name(f".{self.path.name}.lock"))
        except OSError as error:
            raise StoreError(f"{self.path}: cannot be written ({error.strerror}); check whose it is") from None
        try:
            yield self.all()
        finally:
            lock.release()

    def _write(self, keys: Sequence[ServiceKey]) -> None:
        """Put the keys in their file, which is its owner's alone."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with whole(self.path) as beside:
                beside.touch(0o600)
                beside.write_text(json.dumps([asdict(key) for key in keys], indent=1), encoding="utf-8")
        except OSError as error:
            raise StoreError(f"{self.path}: cannot be written ({error.strerror}); check whose it is") from None


def _hashed(key: str) -> str:
    """The hash of a key; it is 256 bits of chance, so that none has to be guessed slowly."""
    return hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()


# What stands in front of every door, in one place: host, origin, size, key, rate, and the headers of every answer.

LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
LARGEST = 1 << 20  # bytes of a body
WITHIN = 30.0  # seconds in which a body is there, so that nobody holds a place by sending slowly
BUCKETS = 10_000  # clients whose rate is remembered
LIVE = ("/health/live", "/health", "/healthz", "/livez")
_PATIENCE, _AWAY = 1.0, 16  # seconds, and bodies of the largest size, that are read of one that is refused

# --- Rates: a token bucket a key, or an address where there are no keys.


class Rate:
    """At most so many requests a minute each, a burst of as many as ten seconds allow (ten at least)."""

    def __init__(self, a_minute: float, clock: Callable[[], float] = time.monotonic) -> None:
        """0 = any number."""
        self.a_second, self.burst, self._clock = a_minute / 60, max(10.0, a_minute / 6), clock
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, who: str) -> float:
        """The seconds to wait; 0 = go on, and one request is counted."""
        if not self.a_second:
            return 0.0
        now = self._clock()
        left, at = self._left.pop(who, (self.burst, now))
        left = min(self.burst, left + (now - at) * self.a_second)
        self._left[who] = (left - 1 if left >= 1 else left), now
        while len(self._left) > BUCKETS:
            self._left.popitem(last=False)
        return 0.0 if left >= 1 else (1 - left) / self.a_second


# --- The guard.


@dataclass(frozen=True)
class Rules:
    """Who may ask: the hosts by which it is called, exact origins of other pages, and whether a key is needed.

    `keyed` = from the start on; else from the first key on that is made, unless anybody may ask.
    """

    hosts: tuple[str, ...] = LOOPBACK
    origins: tuple[str, ...] = ()
    keyed: bool = False
    anybody: bool = False
    largest: int = LARGEST
    within: float = WITHIN
    upload: int = LARGEST  # bytes of a file that is handed in

    def most(self, path: str) -> int:
        """The bytes that a body may have."""
        return self.upload if path.startswith("/v1/upload/") else self.largest


class Guard:
    """The application behind all checks; `open_paths` (the page's own files) need no key."""

    def __init__(
        self, app: ASGIApp, rules: Rules, keys: Keys, rate: Rate, open_paths: frozenset[str] = frozenset()
    ) -> None:
        """Everything that is asked of `app` comes through here."""
        self.app, self.rules, self.keys, self.rate = app, rules, keys, rate
        self.open_paths = open_paths | {*LIVE}
        self._keyed = rules.keyed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check, then hand on."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        more = self._cors(headers)
        if (refused := self._refused(scope, headers)) is not None:
            if refused.status == 413:
                await _read_away(receive, self.rules.largest)
            await _answer(send, refused, scope["path"], more)
        elif scope["method"] == "OPTIONS" and more:
            await _send(send, 204, b"", {**more, "access-control-allow-methods": "GET, POST",
                "access-control-allow-headers": "authorization, content-type, x-api-key"})  # fmt: skip
        else:
            await self._handed_on(scope, receive, send, more)

    def _refused(self, scope: Scope, headers: Mapping[str, str]) -> Problem | None:
        """Why the request is not answered; None = it is."""
        host = _host(headers.get("host", ""))
        if host not in self.rules.hosts:
            return problem(421, f"this service is not called {host[:80]!r}; allow it with --allow-host")
        origin = headers.get("origin", "")
        if origin and origin not in self.rules.origins and not _same(origin, headers.get("host", "")):
            return problem(403, "a page of another origin asks; allow it with --allow-origin")
        length = headers.get("content-length", "0")
        if not length.isdigit() or int(length) > (most := self.rules.most(scope["path"])):
            return problem(413, f"the body is larger than {most:,} bytes")
        return None if scope["method"] == "OPTIONS" and origin in self.rules.origins else self._unknown(scope, headers)

    def _unknown(self, scope: Scope, headers: Mapping[str, str]) -> Problem | None:
        """Whether who asks is not known, or asks too often."""
        who = str((scope.get("client") or ("", 0))[0])
        self._keyed = self._keyed or not (self.rules.anybody or not self.keys.all())
        if self._keyed and not (scope["path"] in self.open_paths and scope["method"] in ("GET", "HEAD")):
            who = self.keys.whose(_key(headers))
            if not who:
                return problem(401, "a key is needed: Authorization: Bearer KEY, or X-API-Key: KEY")
            scope.setdefault("state", {})["who"] = who
        if scope["path"] not in LIVE and (seconds := self.rate.wait(who)):
            return problem(429, f"too many requests; ask again in {seconds:.0f} s", after=seconds)
        return None

    def _cors(self, headers: Mapping[str, str]) -> dict[str, str]:
        """What a page of an allowed origin is told; no cookie is ever sent."""
        origin = headers.get("origin", "")
        return {"access-control-allow-origin": origin, "vary": "origin"} if origin in self.rules.origins else {}

    async def _handed_on(self, scope: Scope, receive: Receive, send: Send, more: Mapping[str, str]) -> None:
        """The request, its body counted as it comes, and the answer with the headers of all.

        A body that grows too large or comes too slowly is answered here; to the application the client has gone.
        """
        begun, body = False, _Body(receive, replace(self.rules, largest=self.rules.most(scope["path"])))

        async def counted() -> Message:
            message = await body.more()
            if body.refused is None or body.told:
                return message
            body.told = True
            if not begun:
                await _answer(send, body.refused, scope["path"], {**more, "connection": "close"})
            return message

        async def sent(message: Message) -> None:
            nonlocal begun
            if body.refused is not None:
                return
            if message["type"] == "http.response.start":
                begun = True
                there = {name.lower() for name, _ in message["headers"]}
                extra = [(k.encode(), v.encode()) for k, v in {**SECURE, **more}.items() if k.encode() not in there]
                message = {**message, "headers": [*message["headers"], *extra]}
            await send(message)

        try:
            await self.app(scope, counted, sent)
        except ClientDisconnect:
            if body.refused is None:
                raise


class _Body:
    """A body as it comes: counted, and awaited so long and no longer; for one that is refused the client has gone."""

    def __init__(self, receive: Receive, rules: Rules) -> None:
        self._receive, self._rules = receive, rules
        self._read, self._whole, self._until = 0, False, asyncio.get_running_loop().time() + rules.within
        self.refused: Problem | None = None
        self.told = False  # that it is refused

    async def more(self) -> Message:
        """The next part of it; when it is whole, what is heard of the client, whenever that may be."""
        if self.refused is not None:
            return {"type": "http.disconnect"}
        try:
            async with asyncio.timeout_at(None if self._whole else self._until):
                message = await self._receive()
        except TimeoutError:
            self.refused = problem(408, f"the body did not come within {self._rules.within:.0f} seconds")
            return {"type": "http.disconnect"}
        self._read += len(message.get("body", b""))
        self._whole = not message.get("more_body")
        if self._read > self._rules.largest:
            self.refused = problem(413, f"the body is larger than {self._rules.largest:,} bytes")
            await _read_away(self._receive, self._rules.largest)
            return {"type": "http.disconnect"}
        return message


async def _read_away(receive: Receive, largest: int) -> None:
    """Read what a client is sending still, for a second at most: one that is cut off while it sends sees no answer."""
    read = 0
    with suppress(TimeoutError):
        async with asyncio.timeout(_PATIENCE):
            while read < _AWAY * largest:
                message = await receive()
                read += len(message.get("body", b""))
                if message["type"] == "http.disconnect" or not message.get("more_body"):
                    return


def _key(headers: Mapping[str, str]) -> str:
    """The key of a request; "" = none."""
    kind, _, given = headers.get("authorization", "").partition(" ")
    return given.strip() if kind.lower() == "bearer" else headers.get("x-api-key", "").strip()


def _host(header: str) -> str:
    """The name in a Host header, without the port.

    >>> _host("localhost:8765"), _host("[::1]:8765"), _host("Evil.example")
    ('localhost', '[::1]', 'evil.example')
    """
    name, colon, port = header.rpartition(":")
    return (name if colon and port.isdigit() else header).lower().rstrip(".")


def _same(origin: str, host: str) -> bool:
    """Whether a page of the same host and port asks."""
    try:
        return urlsplit(origin).netloc.lower() == host.lower()
    except ValueError:
        return False


async def _answer(send: Send, told: Problem, path: str, more: Mapping[str, str]) -> None:
    body, headers = body_of(told, path)
    await _send(send, told.status, body, {**headers, **more})


async def _send(send: Send, status: int, body: bytes, headers: Mapping[str, str]) -> None:
    said = {**SECURE, **headers, "content-length": str(len(body))}
    if status == 204:
        said.pop("content-length")
    rows = [(name.encode(), value.encode("latin-1")) for name, value in said.items()]
    await send({"type": "http.response.start", "status": status, "headers": rows})
    await send({"type": "http.response.body", "body": body})
