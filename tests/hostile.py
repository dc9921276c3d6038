"""Servers on the loopback interface that misbehave, each in its own way."""

import gzip
import json
import socket
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

KEY = "1234abcd-secret-5678"
OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
EVENTS = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
EVENT = b'data: {"id": "1", "choices": [{"index": 0, "delta": {"content": "a"}}]}\n\n'
PATIENCE = 120.0  # seconds; a client that still listens then has no deadline
NANS = ("choices", "content", "data", "results", "result", "head")
BOMB = zlib.compress(b'{"a": "' + b"x" * (300 << 20), 1)


@dataclass
class Hostile:
    """A server: what it does with a connection, and what came of it."""

    behave: Callable[[socket.socket, "Hostile"], object]
    url: str = ""
    elsewhere: str = ""  # another server, to which nothing may be sent
    requests: list[bytes] = field(default_factory=list)
    sent: int = 0
    outlasted: bool = False  # a client listened for longer than `PATIENCE`

    def send(self, there: socket.socket, data: bytes) -> None:
        there.sendall(data)
        self.sent += len(data)

    def serve(self, there: socket.socket) -> None:
        """One connection: whole requests are read, and answered once each."""
        with suppress(OSError), there:
            head = b""
            while b"\r\n\r\n" not in head:
                if not (part := there.recv(1 << 16)):
                    return
                head += part
            head, _, body = head.partition(b"\r\n\r\n")
            length = next((line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")), b":0")
            while len(body) < int(length.partition(b":")[2]):
                body += there.recv(1 << 16)
            self.requests.append(head + body)
            self.behave(there, self)


@contextmanager
def hostile(behave: Callable[[socket.socket, Hostile], object]) -> Iterator[Hostile]:
    """A server that runs until the block ends."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = Hostile(behave, f"http://127.0.0.1:{listener.getsockname()[1]}")

        def accept() -> None:
            with suppress(OSError):
                while True:
                    there, _ = listener.accept()
                    threading.Thread(target=server.serve, args=(there,), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        yield server
        listener.shutdown(socket.SHUT_RDWR)


Behaviour = Callable[[socket.socket, Hostile], object]


def whole(body: bytes, *headers: bytes, status: bytes = b"200 OK") -> Behaviour:
    """A reply of that body."""
    lines = [b"HTTP/1.1 " + status, b"Content-Type: application/json", b"Content-Length: %d" % len(body), *headers]
    return lambda there, server: server.send(there, b"\r\n".join([*lines, b"", body]))


def again(start: bytes, part: bytes, *, seconds: float = 0.0) -> Behaviour:
    """A start, and the same part again and again."""

    def behave(there: socket.socket, server: Hostile) -> None:
        server.send(there, start)
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            server.send(there, part)
            time.sleep(seconds)
        server.outlasted = True

    return behave


def leads(status: int, to: str) -> Behaviour:
    """A redirection; `{}` stands for another server."""

    def behave(there: socket.socket, server: Hostile) -> None:
        place = to.format(server.elsewhere).encode()
        server.send(there, b"HTTP/1.1 %d X\r\nLocation: %b\r\nContent-Length: 0\r\n\r\n" % (status, place))

    return behave


def just(data: bytes) -> Behaviour:
    """These bytes, and the end of the connection."""
    return lambda there, server: server.send(there, data)


def echo(there: socket.socket, server: Hostile) -> None:
    """An error that repeats the key, and all else that was sent."""
    body = json.dumps({"error": {"message": f"bad key {KEY}: {server.requests[-1].decode()}"}}).encode()
    whole(body, status=b"401 No")(there, server)


def coded(coding: bytes, body: bytes) -> Behaviour:
    """A reply that is packed."""
    return whole(body, b"Content-Encoding: " + coding)


DEEP = b'{"choices": ' + b"[" * 200_000
GROWING = {
    "an endless body": again(OK + b"\r\n", b" " * 65536),
    "endless chunks": again(OK + b"Transfer-Encoding: chunked\r\n\r\n", b"10000\r\n" + b" " * 65536 + b"\r\n"),
    "a bomb of deflate": coded(b"deflate", BOMB),
    "a bomb of gzip": coded(b"gzip", gzip.compress(b" " * (300 << 20), 1)),
    "a bomb in a bomb": coded(b"gzip, gzip", gzip.compress(gzip.compress(b" " * (300 << 20)))),
    "an endless stream of events": again(EVENTS, EVENT * 200),
    "an endless event": again(EVENTS, b"data: " + b"x" * 65536),
    "an endless header": again(b"HTTP/1.1 200 OK\r\nX: ", b"x" * 65536),
    "headers without end": again(b"HTTP/1.1 200 OK\r\n", b"X: y\r\n" * 9000),
}
SLOW = {
    "a drip of body": again(OK + b"\r\n", b" ", seconds=0.05),
    "a drip of a promised body": again(OK + b"Content-Length: 100000\r\n\r\n", b" ", seconds=0.05),
    "a drip of headers": again(b"HTTP/1.1 200 OK\r\nX: ", b"x", seconds=0.05),
    "a drip within a chunk's head": again(OK + b"Transfer-Encoding: chunked\r\n\r\n5;", b"x", seconds=0.05),
    "a drip of nothing, packed": again(
        OK + b"Content-Encoding: deflate\r\n\r\n\x78\x9c", b"\0\0\0\xff\xff", seconds=0.05
    ),
    "a drip of events": again(EVENTS, b"\n", seconds=0.05),
    "a drip of comments": again(EVENTS, b": wait\n\n", seconds=0.05),
    "a reply to come, for ever": again(b"", b"HTTP/1.1 100 Continue\r\n\r\n", seconds=0.05),
    "silence": again(b"", b"", seconds=0.05),
}
LEADING = {
    **{f"{status} to another host": leads(status, "{}/v1") for status in (301, 302, 303, 307, 308)},
    "307 to another host without a scheme": leads(307, "//{}/v1".replace("{}", "localhost:9")),
    "307 in a circle": leads(307, "/v1/again"),
    "302 to a file": leads(302, "file:///etc/passwd"),
    "302 to nowhere": leads(302, "http://[::"),
}
BROKEN = {
    "closes at once": just(b""),
    "half a reply": just(OK + b'Content-Length: 1000\r\n\r\n{"choices": ['),
    "more than it promised": just(OK + b"Content-Length: 5\r\n\r\n" + b'{"a": 1}' * 100),
    "a length below nothing": just(OK + b"Content-Length: -5\r\n\r\n{}"),
    "two lengths": just(OK + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\n{}    "),
    "half of what is packed": coded(b"gzip", gzip.compress(b'{"a": 1}' * 1000)[:-20]),
    "packed in no known way": coded(b"zstd", b"(\xb5/\xfd"),
    "HTML": whole(b"<!DOCTYPE html><html>Sign in</html>"),
    "invalid UTF-8": whole(b'{"choices": [{"message": {"content": "\xff\xfe"}}]}'),
    "no HTTP": just(b"220 mail.example.org ESMTP\r\n\r\n"),
    "a huge header": whole(b"{}", b"X: " + b"x" * 300_000),
    "deep JSON": whole(DEEP + b"]" * 200_000 + b"}"),
    "deep JSON cut": whole(DEEP),
    "a number of 10,000 digits": whole(b'{"choices": ' + b"9" * 10_000 + b"}"),
    "not a number": whole(json.dumps(dict.fromkeys(NANS, float("nan"))).encode()),
    "vectors that are not numbers": whole(
        b'{"result": NaN, "data": [{"index": 0, "embedding": [NaN, 1e999]}], '
        b'"results": [{"index": 0, "relevance_score": NaN}]}'
    ),
    "a chunk larger than any disk": just(OK + b"Transfer-Encoding: chunked\r\n\r\n" + b"f" * 40 + b"\r\nxx"),
    "a chunk of less than nothing": just(OK + b"Transfer-Encoding: chunked\r\n\r\n-5\r\nxx"),
    "a NUL in a header": just(OK + b"X: a\0b\r\nContent-Length: 2\r\n\r\n{}"),
    "a status of no meaning": just(b"HTTP/1.1 999 Hm\r\nContent-Length: 2\r\n\r\n{}"),
    "a header without a colon": just(OK + b"no colon\r\nContent-Length: 2\r\n\r\n{}"),
    "nothing": whole(b""),
    "a list": whole(b"[]"),
    "null": whole(b"null"),
    "the key in its error": echo,
}
