"""An HTTP server on the loopback interface that says what a test tells it to."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from loopback import Quiet, running


@dataclass
class Said:
    """What the server says next: JSON, or bytes as they are."""

    body: Any
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0


@dataclass
class JsonServer:
    """What it was asked, and what it will say: `says` in turn, its last again and again, or what `answers` makes."""

    url: str = ""
    says: list[Said] = field(default_factory=list)
    answers: Callable[[Any], Any] | None = None
    asked: list[Any] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)

    def next(self, asked: Any) -> Said:
        if self.answers is not None:
            made = self.answers(asked)
            return made if isinstance(made, Said) else Said(made)
        return self.says.pop(0) if len(self.says) > 1 else self.says[0]


@contextmanager
def serving() -> Iterator[JsonServer]:
    """A server that runs as long as the block."""
    state = JsonServer()

    class Handler(Quiet):
        def do_POST(self) -> None:  # noqa: N802
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            state.asked.append(asked)
            state.paths.append(self.path)
            state.headers.append({k.lower(): v for k, v in self.headers.items()})
            said = state.next(asked)
            time.sleep(said.seconds)
            body = said.body if isinstance(said.body, bytes) else json.dumps(said.body).encode()
            self.send_response(said.status)
            for name, value in {"Content-Type": "application/json", "Content-Length": str(len(body))}.items():
                self.send_header(name, said.headers.get(name, value))
            for name in said.headers.keys() - {"Content-Type", "Content-Length"}:
                self.send_header(name, said.headers[name])
            self.end_headers()
            self.wfile.write(body)

        def do_GET(self) -> None:  # noqa: N802
            self.send_error(404)
            state.paths.append(f"GET {self.path}")
            state.headers.append({k.lower(): v for k, v in self.headers.items()})

    with running(Handler) as state.url:
        yield state
