"""A service under attack: keys, connections that say nothing, heavy clients, nowhere to write; indexes of strangers."""

import asyncio
import contextlib
import hashlib
import itertools
import json
import os
import resource
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import psutil
import serve
from _damage import BOUND, Tried, _prepared, _run, is_root

GRAPHS = ("hpo", "cmekg")  # what the four heavy clients ask in the long form, where they are installed
WAIT = 3.0  # seconds that a client may wait beside four heavy ones
ENDED = 30.0  # seconds after which a client that comes anew is answered, whoever says nothing
SIGNS = 34_000  # findings of one patient
HEAVY: dict[str, tuple[str, object]] = {
    "a word 660 times": ("/v1/ask", {"question": "gout? " * 660}),
    f"{SIGNS:,} findings": (
        "/v1/diagnose",
        {
            "phenopacket": {
                "id": "a",
                "phenotypicFeatures": [{"type": {"id": f"HP:{n % 300:07d}"}} for n in range(SIGNS)],
            }
        },
    ),
}


def attack(home: Path, *, seconds: float, every: bool) -> Iterator[Tried]:
    """What came of each attack; `home` = where graphs are installed, `every` = the long form."""
    with tempfile.TemporaryDirectory() as scratch, _home(Path(scratch)):
        yield _keys(Path(scratch), rounds=10 if every else 2)
    with tempfile.TemporaryDirectory() as scratch, _home(Path(scratch) / "home"):
        _prepared(Path(scratch))
        _run(("graph", "build", "flu", "flu.tsv"), Path(scratch), {})
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        tries = [(1_000, 1_024), (10_000, most)] + [(10_000, 1_024), (1_000, most)] * every
        for connections, limit in tries:
            yield _idle(connections, limit)
        yield from _unwritable(Path(scratch), every=every)
        yield _strangers(Path(scratch), every=every)
    with _home(home):
        yield from _heavy(seconds, every=every)


@contextlib.contextmanager
def _home(folder: Path) -> Iterator[None]:
    """A block with another data folder."""
    before = os.environ.get("KGMED_HOME")
    os.environ["KGMED_HOME"] = str(folder)
    try:
        yield
    finally:
        os.environ.pop("KGMED_HOME")
        if before is not None:
            os.environ["KGMED_HOME"] = before


# --- Keys.

_CHANGE = "import sys; from pathlib import Path; from kgmed.service.guard import Keys; k = Keys(Path(sys.argv[1])); "
_ADDING, _ADDED = 5, 5  # processes, and keys of each


def _keys(folder: Path, *, rounds: int) -> Tried:
    """Keys that several processes add while one is removed: the one is refused from then on, the others open."""
    from kgmed.service.app import ServiceSettings
    from kgmed.service.guard import Keys
    from served import HTTP, build, cases_of, running

    tried = Tried("keys added and removed beside a running service")
    build(folder)
    known = Keys(folder / "keys.json")
    made = {known.add("first"): "first"}
    with running(cases_of(keep=False), ServiceSettings(keys=str(known.path))) as service:

        def status(key: str) -> int:
            return HTTP.get(f"{service.url}/v1/about", headers={"x-api-key": key}).status_code

        for number in range(rounds):
            stolen = known.add(f"stolen {number}")
            names = [[f"{number} {who} {n}" for n in range(_ADDED)] for who in range(_ADDING)]
            adding = [_python(f"{_CHANGE}[print(k.add(name)) for name in {some}]", known.path) for some in names]
            removing = _python(f"{_CHANGE}k.remove('stolen {number}')", known.path)
            removing.communicate()
            at_once = status(stolen)
            for some, process in zip(names, adding, strict=True):
                made |= dict(zip(process.communicate()[0].split(), some, strict=True))
            tried.tried += 1 + sum(map(len, names))
            if (at_once, status(stolen)) != (401, 401):
                tried.lost.append(f"stolen {number} still opens")
        tried.lost += [
            f"{name} was told to be added, and is refused" for key, name in made.items() if status(key) != 200
        ]
    return tried


def _python(script: str, *words: object) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", script, *map(str, words)], stdout=subprocess.PIPE, text=True)


# --- Connections.


@contextlib.contextmanager
def _serving(*options: str, limit: int = 0, **more: Any) -> Iterator[tuple[int, list[int]]]:
    """The port and the processes of `kgmed serve`, which may have so many files open."""
    bound = ("sh", "-c", f'ulimit -n {limit}; exec "$@"', "sh") if limit else ()
    more["before"] = (*more.get("before", ()), *bound)
    with contextlib.redirect_stdout(sys.stderr), serve.serving(options, **more) as found:
        yield found


def _idle(connections: int, limit: int) -> Tried:
    """Connections of which half say nothing and half a part of a head, and what a client is told beside them."""
    mine = resource.getrlimit(resource.RLIMIT_NOFILE)
    connections = min(connections, mine[1] - 200)
    tried = Tried(f"{connections:,} connections that say nothing, at `ulimit -n {limit}`")
    resource.setrlimit(resource.RLIMIT_NOFILE, (mine[1], mine[1]))
    try:
        with _serving("--graph", "flu", "--no-log", limit=limit) as (port, pids), contextlib.ExitStack() as held:
            said, anew = asyncio.run(_beside_idle(port, connections, held))
            tried.tried, slowest = connections, max(one.last for one in said)
            tried.lost += [f"a client that was there was told {one.status}" for one in said if one.status != 200]
            tried.lost += ["the process has ended"] * (not psutil.pid_exists(pids[0]))
            tried.lost += ["who came anew was not answered"] * (anew > ENDED)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, mine)
    tried.how = f"{len(said)} answers beside them, the slowest {slowest:.2f} s; who came anew waited {anew:.1f} s"
    return tried


async def _beside_idle(port: int, connections: int, held: contextlib.ExitStack) -> tuple[list[serve.Said], float]:
    """What a client that was there before was told meanwhile, and how long one that comes behind all has to try."""
    said: list[serve.Said] = []
    async with serve.talking(port) as talk:

        async def ask() -> None:
            said.append(await serve.exchange(talk, "POST", "/v1/ask", {"question": "What are the symptoms of flu?"}))

        for number in range(connections):
            one = held.enter_context(socket.socket())
            one.settimeout(5)
            with contextlib.suppress(OSError):  # it is ended already, or nobody takes it
                one.connect(("127.0.0.1", port))
                one.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nX-A: " if number % 2 else b"")
            if number % 100 == 0:
                await ask()
        begun = time.monotonic()
        while time.monotonic() - begun < ENDED:
            await ask()
            with contextlib.suppress(OSError, asyncio.IncompleteReadError):
                async with serve.talking(port) as other:
                    if (await serve.exchange(other, "GET", "/health/live")).status == 200:
                        return said, time.monotonic() - begun
            await asyncio.sleep(0.2)
    return said, float("inf")


# --- Nowhere to write.


def _unwritable(folder: Path, *, every: bool) -> Iterator[Tried]:
    """Services whose data folder or log cannot be written: each question is answered, and what is not kept is told."""
    home = folder / "home"
    runs = home / "runs.sqlite"
    runs.mkdir()
    if every:
        yield _answers("runs cannot be kept", told="runs are not kept")
    runs.rmdir()
    with Path("/dev/full").open("wb") as full:
        yield _answers("the log cannot be written", told="ready", log=full)
    for path in [home, *home.rglob("*")]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    folder.chmod(0o755)
    try:
        yield _answers("nothing can be written", told="runs are not kept", before=BOUND if is_root() else ())
    finally:
        for path in [home, *home.rglob("*")]:
            path.chmod(0o755)


def _answers(name: str, *, told: str, **more: Any) -> Tried:
    """What a service answers where that is so, and whether /health tells."""
    tried = Tried(f"questions where {name}")

    async def ask(port: int) -> str:
        async with serve.talking(port) as talk:
            for _ in range(10):
                tried.tried += 1
                said = await serve.exchange(talk, "POST", "/v1/ask", {"question": "What are the symptoms of flu?"})
                tried.lost += [f"a question was answered by status {said.status}"] * (said.status != 200)
            return (await serve.talked(talk, "GET", "/health/ready")).decode()

    with _serving("--graph", "flu", **more) as (port, _):
        said = asyncio.run(ask(port))
    tried.lost += [f"/health says {said!r}"] * (told not in said)
    tried.how = f"`/health/ready`: {said.partition(':')[0]}"
    return tried


# --- Indexes and manifests of strangers.


def _strangers(folder: Path, *, every: bool) -> Tried:
    """Commands on hostile indexes and malformed manifests: a line and exit code 2, or 1 of a damaged graph."""
    from damaged import HOSTILE_INDEXES
    from kgmed.graph.store.folder import current
    from loopback import Said, loopback

    tried = Tried("hostile `graph.json` and malformed manifests, a command each")
    with loopback() as server:
        for data in HOSTILE_INDEXES if every else HOSTILE_INDEXES[::5]:
            server.says = lambda _, data=data: Said(data.encode())  # type: ignore[misc]
            digest = hashlib.sha256(data.encode()).hexdigest()
            tried.tried += 1
            tried.lost += _refused(folder, ("graph", "get", f"{server.url}/g/graph.json#sha256={digest}"), {2})
    manifest = current(folder / "home" / "graphs" / "flu") / "manifest.json"
    there = manifest.read_text(encoding="utf-8")
    values: list[Any] = [None, -1, [], {"a": None}, 1e308, "\x1b[31m"]
    bad = [json.dumps(json.loads(there) | {name: value}) for name in json.loads(there) for value in values]
    try:
        for data in bad if every else bad[::23]:
            manifest.write_text(data, encoding="utf-8")
            tried.tried += 1
            tried.lost += _refused(folder, ("graph", "info", "flu"), {0, 1})
    finally:
        manifest.write_text(there, encoding="utf-8")
    return tried


def _refused(folder: Path, words: Sequence[str], codes: set[int]) -> list[str]:
    """What is wrong with how a command ends; [] = nothing."""
    done = _run(words, folder, {})
    broken = "Traceback" in done.stderr or "\x1b" in done.stdout + done.stderr
    if done.returncode in codes and not broken and (not done.returncode or done.stderr.count("\n") == 1):
        return []
    return [f"{' '.join(words)[:80]}: {done.returncode}, {done.stderr[-200:]!r}"]


# --- Heavy clients.


def _heavy(seconds: float, *, every: bool) -> Iterator[Tried]:
    """A client beside four that send what takes long: none of its questions fails, 99 of 100 take less than `WAIT`."""
    from kgmed.graph import library

    if every and {m.name for m in library.graphs()}.issuperset(GRAPHS):
        name = ",".join(GRAPHS)
        yield from _beside(seconds, name, itertools.cycle(serve.questions(name)), "--graph", name)
        return
    import served

    with tempfile.TemporaryDirectory() as scratch, _home(Path(scratch) / "home"):
        served.build(Path(scratch) / "home")
        _prepared(Path(scratch))
        _run(("graph", "build", "flu", "flu.tsv"), Path(scratch), {})
        yield from _beside(seconds, "three small graphs", itertools.cycle(serve.questions("auto")))


def _beside(seconds: float, name: str, rest: Iterator[str], *options: str) -> Iterator[Tried]:
    with _serving(*options, "--no-log") as (port, pids):
        for what, (path, body) in HEAVY.items():
            tried = Tried(f"a client beside four that send {what}")
            said, done = asyncio.run(serve.beside(port, path, body, rest, seconds))
            times = sorted(one.last for one in said)
            tried.tried, slow = len(said), times[int(0.99 * (len(times) - 1))]
            tried.lost += [f"an answer had status {one.status}" for one in said if one.status != 200]
            tried.lost += [f"99 of 100 took less than {slow:.1f} s, not {WAIT}"] * (slow >= WAIT)
            tried.lost += ["the process has ended"] * (not psutil.pid_exists(pids[0]))
            tried.how = f"{name}: half of its answers within {times[len(times) // 2]:.2f} s, 99 of 100 {slow:.2f} s"
            tried.how += f"; {done} answers to the four"
            yield tried
