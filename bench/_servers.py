"""Every kind of hostile server against the clients: an error of kgmed's own, in one line, in time, nobody else told."""

import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import hostile
from hostile import KEY
from hostile import hostile as serving
from kgmed.errors import Unavailable

LONGEST = 12.5  # seconds: ten times a try's timeout, as a stream may take, and what a machine that is busy may add


@dataclass
class Served:
    """What came of the servers."""

    kinds: int
    tried: int = 0
    lost: list[str] = field(default_factory=list)
    slowest: float = 0.0
    memory: int = 0  # bytes, the most that this process has had beyond what it began with


def serve(*, every: bool, tell: bool = False) -> Served:
    """What came of each kind of server with each client, or with one client each, in turn."""
    from test_hostile_servers import CLIENTS, KINDS

    found, base = Served(len(KINDS)), _most(begin=True)
    for number, kind in enumerate(KINDS):
        clients = CLIENTS if every else [CLIENTS[number % len(CLIENTS)]]
        for client in clients:
            found.tried += 1
            if why := _one(client, kind, found):
                found.lost.append(f"{kind}, {client.__name__}: {why}")
        if tell:
            sys.stderr.write(f"{kind}: {len(clients)} clients, {len(found.lost)} lost so far\n")
    found.memory = max(0, _most() - base)
    return found


def _one(client: Callable[[str], object], kind: str, found: Served) -> str:
    """What is wrong with how a client ends at a server; "" = nothing."""
    from test_hostile_servers import KINDS

    with serving(hostile.just(b"")) as other, serving(KINDS[kind]) as server:
        server.elsewhere = other.url
        begun = time.monotonic()
        try:
            client(server.url)
            return "it took that for a reply"
        except Unavailable as error:
            said = str(error)
        except Exception as error:  # noqa: BLE001 - any other is what is looked for
            return f"{type(error).__name__}: {error}"
        seconds = time.monotonic() - begun
        found.slowest = max(found.slowest, seconds)
        if seconds > LONGEST:
            return f"took {seconds:.1f} s"
        if other.requests:
            return "another host was asked"
    return "its message is not one line without the key" if "\n" in said or len(said) > 1001 or KEY in said else ""


def _most(*, begin: bool = False) -> int:
    """The most memory that this process has had since it began to be measured, in bytes; 0 where nobody tells."""
    status, forget = Path("/proc/self/status"), Path("/proc/self/clear_refs")
    if not status.exists():
        return 0
    if begin:
        with suppress(OSError):
            forget.write_text("5", encoding="utf-8")
    (line,) = [row for row in status.read_text(encoding="utf-8").splitlines() if row.startswith("VmHWM")]
    return int(line.split()[1]) << 10
