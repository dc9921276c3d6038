"""A real HTTP server on the loopback interface that says what a test tells it to."""

import json
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit


@dataclass(frozen=True)
class Asked:
    """One request: path, parameters of the query and of the form, headers, and when it came."""

    path: str
    query: dict[str, str]
    form: dict[str, str]
    headers: dict[str, str]
    when: float


@dataclass(frozen=True)
class Said:
    """What the server answers: anything but bytes and text is sent as JSON. `short` bytes are promised and not sent."""

    body: Any = field(default_factory=dict)
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    short: int = 0

    def bytes(self) -> bytes:
        if isinstance(self.body, bytes):
            return self.body
        return (self.body if isinstance(self.body, str) else json.dumps(self.body)).encode()


@dataclass
class Loopback:
    """The server: `says` answers each request; what was asked is kept."""

    says: Callable[[Asked], Said]
    url: str = ""
    asked: list[Asked] = field(default_factory=list)

    def in_turn(self, *answers: Said) -> None:
        """Say these, one after the other; the last again and again."""
        left = list(answers)
        self.says = lambda _: left.pop(0) if len(left) > 1 else left[0]


def _plain(text: str) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(text, keep_blank_values=True).items()}


class Quiet(BaseHTTPRequestHandler):
    """A handler that writes nothing to the screen, and lets a client go away in the middle."""

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""

    def handle(self) -> None:
        with suppress(ConnectionError):
            super().handle()


@contextmanager
def running(handler: type[BaseHTTPRequestHandler], secured: ssl.SSLContext | None = None) -> Iterator[str]:
    """The address of a server that runs until the block ends."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    if secured is not None:
        server.socket = secured.wrap_socket(server.socket, server_side=True)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield f"http{'s' if secured else ''}://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def loopback() -> Iterator[Loopback]:
    """A server that runs until the block ends."""
    state = Loopback(lambda _: Said())

    class Handler(Quiet):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
            request = Asked(parts.path, _plain(parts.query), _plain(body), dict(self.headers), time.monotonic())
            state.asked.append(request)
            said = state.says(request)
            time.sleep(said.seconds)
            self.send_response(said.status)
            for name, value in said.headers.items():
                self.send_header(name, value)
            data = said.bytes()
            self.send_header("Content-Length", str(len(data) + said.short))
            self.end_headers()
            self.wfile.write(data)

        do_POST = do_GET  # noqa: N815

    with running(Handler) as state.url:
        yield state
