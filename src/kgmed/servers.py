"""Servers as far as they can be spoken of without asking one: pace, keys, hosts, and our error for each failure.

Every failure is an error of `kgmed.errors` in one line that names the host and what to do. It holds no key, and has no
error of a client behind it, since that would hold the URL. What asks is `kgmed.http`, loaded when it is needed.
"""

import os
import re
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal, NamedTuple
from urllib.parse import unquote, urlsplit

from kgmed.errors import BadInput, Busy, Unavailable

AGAIN = frozenset({408, 409, 429, 500, 502, 503, 504, 529})  # statuses that may go away by themselves
NO_USE: frozenset[str] = frozenset({"certificate", "proxy"})  # problems that no further try mends
LONGEST_PAUSE = 60.0  # seconds between two tries, whatever a server asks for
LONGEST_WORDS = 200  # characters of what a server says that a message repeats
_BAD_KEY = re.compile(r"[^\x21-\x7e]")
# lost = no connection; certificate = none that can be trusted; proxy = none past the proxy; broken = no whole reply
Problem = Literal["", "late", "lost", "certificate", "proxy", "broken", "large"]
_CERTIFICATE = (
    "the certificate of {} cannot be trusted (self-signed, out of date, or of another name); "
    "name the file of its authority in SSL_CERT_FILE, or mend the URL"
)
_PROXY = (
    "the proxy that HTTPS_PROXY, HTTP_PROXY or ALL_PROXY names does not lead to {}; mend it, or name the host "
    "in NO_PROXY"
)


class TokenBucket:
    """A pace: `rate` calls a second on average, `burst` of them at once. Safe between threads."""

    def __init__(
        self,
        rate: float,
        *,
        burst: int = 1,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        """Begin full. Raises `BadInput` for a rate of nothing."""
        if not (rate > 0 and burst >= 1):
            raise BadInput("a rate must be above 0 calls, and its burst at least 1")
        self._seconds, self._burst = 1 / rate, burst
        self._clock, self._sleep = clock, sleep
        self._free = clock() - burst * self._seconds  # when the bucket was last empty, as if it had always filled
        self._lock = threading.Lock()

    def wait(self) -> None:
        """Take a turn, and come back when it has come; those who wait are served one after the other."""
        with self._lock:
            now = self._clock()
            self._free = max(self._free, now - self._burst * self._seconds) + self._seconds
            delay = self._free - now
        if delay > 0:
            self._sleep(delay)


def pause_before(attempt: int, *, after: float = 0.0, first: float = 0.5, jitter: float = 1.0) -> float:
    """Seconds before the next try: `first`, then twice that, ..., or `after`, what the server asks for; at most 60.

    >>> [pause_before(n) for n in range(3)], pause_before(0, after=7.0), pause_before(0, after=9999.0)
    ([0.5, 1.0, 2.0], 7.0, 60.0)
    """
    return min(LONGEST_PAUSE, max(after, first * 2.0 ** min(attempt, 16) * jitter))


def seconds_to_wait(headers: Mapping[str, str]) -> float:
    """How long a server asks to wait, by `Retry-After` (seconds or a date) or `retry-after-ms`; 0 = it does not say.

    >>> seconds_to_wait({"retry-after": "7"}), seconds_to_wait({"retry-after-ms": "250"}), seconds_to_wait({})
    (7.0, 0.25, 0.0)
    """
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        value = (headers.get(name) or "").strip()
        if re.fullmatch(r"\d{1,9}(\.\d{1,9})?", value):
            return float(value) * unit
    from email.utils import parsedate_to_datetime  # read in where a server says when to come again

    try:
        return max(0.0, parsedate_to_datetime(headers.get("retry-after") or "").timestamp() - time.time())
    except (ValueError, TypeError):
        return 0.0


@dataclass(frozen=True, slots=True)
class Limits:
    """How a server is treated: seconds for each try, tries after the first, calls a second, seconds before a retry."""

    timeout: float = 10.0
    retries: int = 3
    rate: float = 20.0  # inf = as fast as the server answers
    pause: float = 0.5  # before the second try; doubled before each further one
    largest: int = 1 << 25  # bytes of a reply, decompressed
    redirects: int = 3  # on the same host
    sleep: Callable[[float], object] = field(default=time.sleep, repr=False)


@dataclass(frozen=True, slots=True)
class Key:
    """A key from the environment; its `repr` does not show it."""

    value: str = field(repr=False)
    variable: str = ""
    parameter: str = ""  # of the URL's query that carries it; "" = it goes as a bearer token into the header

    @classmethod
    def find(cls, environment: Mapping[str, str] | None, *variables: str, parameter: str = "") -> "Key | None":
        """The key in the first variable that holds one; raises `BadInput` for what cannot be one, and does not show it.

        No environment = that of the process.
        """
        for name in variables:
            if value := (os.environ if environment is None else environment).get(name, "").strip():
                if _BAD_KEY.search(value):
                    raise BadInput(f"the key in {name} holds spaces or other characters that no key has; set it again")
                return cls(value, name, parameter)
        return None


def host_of(url: str, *, like: str = "http://localhost:8000/v1", bare: bool = False) -> str:
    """Host and port of a URL, without any login in it; `bare` refuses a login, a query and a fragment.

    Raises `BadInput`, which shows a URL that is `like` the one wanted.

    >>> host_of("http://me:secret@localhost:8000/v1")
    'localhost:8000'
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    more = parts.username or parts.query or parts.fragment
    if parts.scheme not in ("http", "https") or not parts.hostname or (bare and more):
        raise BadInput(f"the base URL must look like {like}")
    return f"{parts.hostname}:{port}" if port else parts.hostname


def split_login(url: str) -> tuple[str, tuple[str, str] | None]:
    """A URL without the login in it, and the login.

    >>> split_login("http://me:secret@localhost:8000/v1")
    ('http://localhost:8000/v1', ('me', 'secret'))
    """
    parts = urlsplit(url)
    login = (unquote(parts.username or ""), unquote(parts.password or "")) if "@" in parts.netloc else None
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl(), login


class Attempt(NamedTuple):
    """What came of one try: a status with a body, or a problem on the way."""

    status: int = 0  # 0 = no answer
    body: bytes = b""
    problem: Problem = ""
    after: float = 0.0  # seconds that the server asks to wait
    marks: str = ""  # codes that stand beside the words of a refusal

    @property
    def text(self) -> str:
        """The beginning of the body."""
        return self.body[:2000].decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class Server:
    """A server as far as messages name it, and our error for each thing that can go wrong with it.

    The key is here only so that it can be taken out of what the server says.
    """

    WORDS: ClassVar[Mapping[Problem, str]] = {
        "certificate": _CERTIFICATE,
        "proxy": _PROXY,
        "late": "{} did not answer in time; check the network, try again later",
        "lost": "{} cannot be reached; check the network, try again later",
        "broken": "{} broke off in the middle of its answer; check the network, try again later",
    }
    host: str
    key: Key | None = field(default=None, repr=False)

    def clean(self, text: object) -> str:
        """The first 200 characters of what a server says, on one line, without the key."""
        line = " ".join(str(text).split())
        return (line.replace(self.key.value, "***") if self.key else line)[:LONGEST_WORDS]

    def error(self, outcome: Attempt) -> Unavailable:
        """The one place where what went wrong becomes an error of ours."""
        if outcome.problem == "large":
            return self.unusable("a reply that is too large")
        if outcome.problem:
            words = {**Server.WORDS, **self.WORDS}[outcome.problem].format(self.host)
            return Unavailable(words) if outcome.problem in NO_USE else Busy(words)
        return self.refused(outcome)

    def refused(self, outcome: Attempt) -> Unavailable:
        """An HTTP status that is none of success."""
        status = outcome.status
        if status in (401, 403):
            mend = f"check the key in {self.key.variable}" if self.key else "it may want another client"
            return Unavailable(f"{self.host} refuses the request ({status}); {mend}")
        if status == 429:
            words = f"{self.host} refuses more requests for now (429); wait, or ask less often"
            return Busy(words, after=outcome.after)
        if 300 <= status < 400:
            return Unavailable(f"{self.host} leads to another place ({status}); check the base URL")
        words = f"{self.host} answers with the error {status}; try again later"
        return Busy(words, after=outcome.after) if status in AGAIN else Unavailable(words)

    def unusable(self, what: object) -> Unavailable:
        """An answer that is not what the server promises."""
        return Unavailable(f"{self.host} sent {what}; check the base URL, try again later")
