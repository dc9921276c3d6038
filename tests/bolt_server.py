"""An ArcadeDB of one's own that speaks Bolt, for tests and measurements: a process on loopback."""

import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

PASSWORD = "s3cret-Pass"  # of the user `root` of a server that ends with the test
_STARTED = 60  # seconds


@dataclass(frozen=True)
class BoltServer:
    """A server that listens on the loopback interface."""

    port: int

    def address(self, graph: str, more: str = "") -> str:
        return f"bolt://root@127.0.0.1:{self.port}/kg{more}#{graph}"


def _free() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@contextmanager
def serving_bolt() -> Iterator[BoltServer | None]:
    """The server while the block runs; None where ArcadeDB is not installed."""
    spec = find_spec("arcadedb_embedded")
    if spec is None or spec.origin is None:
        yield None
        return
    place, folder, port = Path(spec.origin).parent, Path(tempfile.mkdtemp(prefix="kgmed-arcade-")), _free()
    java = place / "jre/bin/java"
    program = str(java) if java.is_file() else shutil.which("java")
    options = {
        "server.rootPassword": PASSWORD, "server.rootPath": folder, "server.databaseDirectory": folder / "databases",
        "server.httpIncomingHost": "127.0.0.1", "server.httpIncomingPort": _free(), "bolt.host": "127.0.0.1",
        "bolt.port": port, "server.defaultDatabases": "kg[root]",
        "server.plugins": "Bolt:com.arcadedb.bolt.BoltProtocolPlugin",
    }  # fmt: skip
    words = [program or "java", "-Xmx1500m", *(f"-Darcadedb.{k}={v}" for k, v in options.items())]
    words += ["-cp", f"{place}/jars/*", "com.arcadedb.server.ArcadeDBServer"]
    with (folder / "said").open("wb") as log:
        server = subprocess.Popen(words, cwd=folder, stdout=log, stderr=log)
    try:
        until = time.monotonic() + _STARTED
        while b"ArcadeDB Server started" not in (folder / "said").read_bytes():
            if server.poll() is not None or time.monotonic() > until:
                raise RuntimeError((folder / "said").read_text(errors="replace")[-2000:])
            time.sleep(0.2)
        yield BoltServer(port)
    finally:
        server.kill()
        server.wait()
        shutil.rmtree(folder, ignore_errors=True)
