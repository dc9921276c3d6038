"""An Oxigraph and a Virtuoso of one's own, for tests and measurements: processes on loopback."""

import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from sysconfig import get_path

_STARTED = 60  # seconds
_INI = """[Database]
DatabaseFile = {folder}/v.db
ErrorLogFile = {folder}/v.log
LockFile = {folder}/v.lck
TransactionFile = {folder}/v.trx
xa_persistent_file = {folder}/v.pxa
[TempDatabase]
DatabaseFile = {folder}/t.db
TransactionFile = {folder}/t.trx
[Parameters]
ServerPort = 127.0.0.1:{sql}
NumberOfBuffers = 20000
DirsAllowed = {folder}
[HTTPServer]
ServerPort = 127.0.0.1:{port}
ServerThreads = 5
[SPARQL]
ResultSetMaxRows = 5000000
MaxQueryCostEstimationTime = 100000
MaxQueryExecutionTime = 60
"""


@dataclass(frozen=True)
class SparqlServer:
    """A server that listens on the loopback interface."""

    url: str
    process: subprocess.Popen[bytes]

    def address(self, graph: str) -> str:
        return f"sparql+{self.url}#{graph}"


def _free() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@contextmanager
def _process(words: list[str], folder: Path, port: int) -> Iterator[subprocess.Popen[bytes]]:
    """A process while the block runs, entered when it listens."""
    with (folder / "said").open("wb") as said:
        process = subprocess.Popen(words, cwd=folder, stdout=said, stderr=said)
    try:
        until = time.monotonic() + _STARTED
        while True:
            with suppress(OSError):
                socket.create_connection(("127.0.0.1", port), timeout=5).close()
                break
            if process.poll() is not None or time.monotonic() > until:
                raise RuntimeError((folder / "said").read_text(errors="replace")[-2000:])
            time.sleep(0.2)
        yield process
    finally:
        process.kill()
        process.wait()
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def serving_oxigraph(data: Path | None = None, port: int = 0) -> Iterator[SparqlServer | None]:
    """Oxigraph's server while the block runs, on a folder and a port if given; None where it is not installed."""
    program = shutil.which("oxigraph") or shutil.which("oxigraph", path=get_path("scripts"))
    if program is None:
        yield None
        return
    folder, port = Path(tempfile.mkdtemp(prefix="kgmed-oxigraph-")), port or _free()
    words = [program, "serve", "--location", str(data or folder / "data"), "--bind", f"127.0.0.1:{port}"]
    with _process(words, folder, port) as process:
        yield SparqlServer(f"http://127.0.0.1:{port}/query", process)


@contextmanager
def serving_virtuoso() -> Iterator[SparqlServer | None]:
    """Virtuoso while the block runs, which lets anybody write; None where it is not installed."""
    program, sql = shutil.which("virtuoso-t"), shutil.which("isql-vt")
    if program is None or sql is None:
        yield None
        return
    folder, port, commands = Path(tempfile.mkdtemp(prefix="kgmed-virtuoso-")), _free(), _free()
    (folder / "v.ini").write_text(_INI.format(folder=folder, sql=commands, port=port), encoding="utf-8")
    with _process([program, "+foreground", "+configfile", str(folder / "v.ini")], folder, commands) as process:
        grant = "exec=GRANT SPARQL_UPDATE TO \"SPARQL\"; DB.DBA.RDF_DEFAULT_USER_PERMS_SET ('nobody', 7);"
        subprocess.run([sql, f"127.0.0.1:{commands}", "dba", "dba", grant], check=True, capture_output=True)
        yield SparqlServer(f"http://127.0.0.1:{port}/sparql", process)
