"""What a service on this machine does: completion, questions a second, many clients at once, memory over time.

    python bench/serve.py [complete] [ask] [burst] [processes] [heavy] [model] [soak] [--seconds 5] [--questions 2000]
                          [--processes 1] [--graph auto] [--llm NAME] [--method auto] [--page FILE]

Nothing named = all. `processes` is that of one process and of two: questions a second, how long each takes, processor
time, and the memory that is a worker's alone; `heavy` is how long a client waits beside four that send what takes long:
a word 660 times, or 32,000 findings. `--page` writes the figures of both to a page. `model` asks with the embedded
language model (`kgmed models get smollm2`), streamed, by one client and by four. The service is `kgmed serve` in
processes of its own, asked over its sockets from this one on the same machine, so that the clients' work is in the
figures too. Questions are made of the names of the installed graphs in both languages, each asked once. `complete`
measures the index alone, then over HTTP: names cut after one to six characters, each five times. `burst` asks from
1,000 clients at one moment; whatever is neither answered nor refused by 503 with Retry-After is a failure, and ends
this with an error.
"""

import argparse
import asyncio
import itertools
import json
import os
import random
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import IO, NamedTuple
from urllib.parse import quote

import numpy as np
import psutil
from _figures import keep
from soak import FORMS, some_names

import kgmed
from kgmed.graph import library
from kgmed.graph.complete import Completions
from kgmed.graph.store.store import Store
from kgmed.language.text import has_cjk

CLIENTS = (1, 16, 64)
BURST = 1_000
PARTS = ("complete", "ask", "burst", "soak", "processes", "heavy", "model")
MODEL = "smollm2"
COUNTS = (1, 2)  # processes that are compared
HEAVY = {  # what four clients send, over and over: a path and a body
    "one word 660 times": ("/v1/ask", {"question": "gout? " * 660}),
    "32,000 findings": (
        "/v1/diagnose",
        {
            "phenopacket": {
                "id": "a",
                "phenotypicFeatures": [{"type": {"id": f"HP:{n % 300:07d}"}} for n in range(32_000)],
            }
        },
    ),
}


class Said(NamedTuple):
    """An answer: its status, the seconds to its first byte and to its last, whether it says when to ask again."""

    status: int
    first: float
    last: float
    again: bool


def main() -> None:
    """Print the parts that are named."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("parts", nargs="*", help=", ".join(PARTS))
    options.add_argument("--seconds", type=float, default=5.0, help="of each number of clients")
    options.add_argument("--questions", type=int, default=2_000, help="of the soak")
    options.add_argument("--processes", type=int, default=1)
    options.add_argument("--graph", default="auto")
    options.add_argument("--llm", default="")
    options.add_argument("--method", default="auto")
    options.add_argument("--page", type=Path, help="write the figures of processes and heavy to this file")
    args = options.parse_args()
    wanted = args.parts or PARTS
    asked = questions(args.graph)
    if "complete" in wanted:
        complete_alone()
    if "ask" in wanted:
        ask_alone(args.graph, asked, args.seconds)
    given = ["--graph", args.graph, "--method", args.method, "--processes", str(args.processes), "--no-log"]
    if {"complete", "ask", "burst", "soak"} & set(wanted):
        with serving([*given, *(["--llm", args.llm] if args.llm else [])]) as (port, pids):
            print(f"memory when ready: {memory(pids)}")
            if "complete" in wanted:
                asyncio.run(complete_served(port))
            if "ask" in wanted:
                asyncio.run(ask(port, asked, args.seconds))
            if "burst" in wanted:
                asyncio.run(burst(port, asked))
            if "soak" in wanted:
                asyncio.run(soak(port, asked, args.questions, pids))
    of_their_own(args, wanted, asked)


def of_their_own(args: argparse.Namespace, wanted: Sequence[str], asked: Sequence[str]) -> None:
    """The parts that begin services of their own."""
    if {"processes", "heavy"} & set(wanted):
        rows = [row for count in COUNTS for row in of_processes(args, wanted, count, asked)]
        print("\n".join(rows))
        if args.page:
            args.page.write_text(PAGE.format(rows="\n".join(rows), machine=machine()), encoding="utf-8")
    if "model" in wanted:
        with serving(["--graph", args.graph, "--llm", MODEL, "--seconds", "300", "--no-log"]) as (port, pids):
            asyncio.run(with_model(port, asked, args.seconds))
            print(f"  memory: {memory(pids)}")


# --- The service, and what is asked of it.


def free_port() -> int:
    """A port at which nobody listens."""
    with socket.socket() as place:
        place.bind(("127.0.0.1", 0))
        return int(place.getsockname()[1])


@contextmanager
def serving(
    options: Sequence[str], *, before: Sequence[str] = (), log: IO[bytes] | int = subprocess.DEVNULL
) -> Iterator[tuple[int, list[int]]]:
    """The port of a service that is ready, and its processes; `before` = words of a command that begins it."""
    port = free_port()
    code = "from kgmed.cli import main; main()"
    command = [*before, sys.executable, "-c", code, "serve", "--port", str(port), "--waiting", "64", *options]
    with subprocess.Popen(command, stderr=log, env={**os.environ}) as service:
        try:
            begin = time.monotonic()
            while not asyncio.run(is_ready(port)):
                if service.poll() is not None or time.monotonic() - begin > 600:
                    raise SystemExit("the service does not begin; see: kgmed serve")
                time.sleep(0.2)
            print(f"ready after {time.monotonic() - begin:.1f} s")
            time.sleep(1.0)  # several processes: each has its own beginning
            yield port, [p.pid for p in (psutil.Process(service.pid), *psutil.Process(service.pid).children(True))]
        finally:
            service.terminate()


async def is_ready(port: int) -> bool:
    """Whether all is open."""
    try:
        async with talking(port) as talk:
            return (await exchange(talk, "GET", "/health/ready")).status == 200
    except OSError:
        return False


def questions(graph: str) -> list[str]:
    """Questions of both languages in an order of their own."""
    names = [
        n
        for g in library.graphs()
        if graph == "auto" or g.name in graph.split(",")
        for n in some_names(library.load(g.name))
    ]
    rng = random.Random(0)
    rng.shuffle(names)
    forms = {cjk: [form for form in some if form.count("{}") == 1] for cjk, some in FORMS.items()}
    return [rng.choice(forms[has_cjk(name)]).format(name) for name in names]


Talk = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@asynccontextmanager
async def talking(port: int) -> AsyncIterator[Talk]:
    """A connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 22)
    try:
        yield reader, writer
    finally:
        writer.close()


async def exchange(talk: Talk, method: str, path: str, body: object = None) -> Said:
    """One request and its answer, over a connection that stays."""
    begin = time.perf_counter()
    head, first, _ = await _talked(talk, method, path, body)
    return Said(int(head.split()[1]), first - begin, time.perf_counter() - begin, "retry-after" in head)


async def talked(talk: Talk, method: str, path: str, body: object = None) -> bytes:
    """The content of the answer to a request."""
    head, _, data = await _talked(talk, method, path, body)
    if head.split()[1] != "200":
        raise SystemExit(f"{path}: {head.splitlines()[0]} {data[:300]!r}")
    return data


async def _talked(talk: Talk, method: str, path: str, body: object) -> tuple[str, float, bytes]:
    """The head of an answer, when its first byte came, and its content."""
    reader, writer = talk
    data = b"" if body is None else json.dumps(body, separators=(",", ":")).encode()
    head = (
        f"{method} {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {len(data)}"
    )
    writer.write(f"{head}\r\n\r\n".encode() + data)
    said = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
    first, content = time.perf_counter(), b""
    if "transfer-encoding: chunked" in said:
        while size := int(await reader.readline(), 16):
            content += (await reader.readexactly(size + 2))[:-2]
        await reader.readline()
    else:
        content = await reader.readexactly(int(said.partition("content-length: ")[2].partition("\r\n")[0]))
    return said, first, content


# --- The parts.


def complete_alone() -> None:
    """The index alone, in the processor time of this thread."""
    print("completion, the index alone (8 names; ms of processor time)")
    for name in [*(g.name for g in library.graphs()), ",".join(library.languages())]:
        store = library.open_graph(name)
        look = Completions(store)
        look("a")
        for letters in (1, 3, 6):
            typed = prefixes(store, letters) * 5
            took = []
            for text in typed:
                begin = time.thread_time()
                look(text)
                took.append(1e3 * (time.thread_time() - begin))
            print(f"  {'all as one' if ',' in name else name:18} {letters} typed: {spread(took)}")


def ask_alone(graph: str, asked: Sequence[str], seconds: float) -> None:
    """The same questions without a service and without a model, one after the other."""
    session = kgmed.load(graph=graph).prepare()
    took: list[float] = []
    for question in asked:
        begin = time.perf_counter()
        session.ask(question)
        took.append(1e3 * (time.perf_counter() - begin))
        if sum(took) > 1e3 * seconds:
            break
    keep("serve", {"without a service a second": 1e3 * len(took) / sum(took)})
    print(f"questions without a service: {1e3 * len(took) / sum(took):6.1f} a second, ms {spread(took)}")


def prefixes(store: Store, letters: int) -> list[str]:
    """The beginnings of some names, each once."""
    return sorted({name[:letters] for name in some_names(store)})[:400]


async def complete_served(port: int) -> None:
    """Completion over HTTP, one client."""
    took = []
    async with talking(port) as talk:
        for text in prefixes(library.open_graph(library.graphs()[0].name), 3):
            said = await exchange(talk, "GET", f"/v1/graphs/auto/complete?q={quote(text)}")
            took.append(1e3 * said.last)
    print(f"completion over HTTP, 1 client (ms on the clock): {spread(took)}")


async def ask(port: int, asked: Sequence[str], seconds: float) -> None:
    """Questions a second and how long each takes, whole and streamed."""
    rest = itertools.cycle(asked)
    for stream in (False, True):
        for clients in CLIENTS:
            said, took = await clients_for(port, clients, rest, seconds, stream=stream)
            counts = Counter(s.status for s in said)
            times = [1e3 * s.last for s in said if s.status == 200]
            firsts = [1e3 * s.first for s in said if s.status == 200]
            what = f"{'streamed' if stream else 'whole':8} {clients:3} clients: {counts[200] / took:6.1f} a second"
            keep("serve", {f"{'streamed' if stream else 'whole'} {clients} a second": counts[200] / took})
            more = f"; first byte {spread(firsts)}" if stream else ""
            print(f"  {what}, ms {spread(times)}{more}; refused {counts[503]}, failed {failures(said)}")


async def clients_for(
    port: int, clients: int, rest: Iterator[str], seconds: float, *, stream: bool
) -> tuple[list[Said], float]:
    """What so many clients were told in so many seconds, each asking when it has its answer."""
    said: list[Said] = []
    begin = time.perf_counter()

    async def client() -> None:
        async with talking(port) as talk:
            while time.perf_counter() - begin < seconds:
                body = {"question": next(rest), "stream": stream}
                said.append(await exchange(talk, "POST", "/v1/ask", body))

    await asyncio.gather(*(client() for _ in range(clients)))
    return said, time.perf_counter() - begin


async def burst(port: int, asked: Sequence[str]) -> None:
    """Many clients at one moment."""

    async def client(question: str) -> Said:
        async with talking(port) as talk:
            return await exchange(talk, "POST", "/v1/ask", {"question": question})

    found = await asyncio.gather(*(client(q) for q in asked[:BURST]), return_exceptions=True)
    said = [s for s in found if isinstance(s, Said)]
    counts = Counter(s.status for s in said)
    broken = [s for s in found if not isinstance(s, Said)]
    print(f"{BURST} clients at once: {dict(counts)}, connections that failed {len(broken)} {broken[:1]}")
    if broken or failures(said):
        raise SystemExit("a client was neither answered nor refused by 503 with Retry-After")


def of_processes(args: argparse.Namespace, wanted: Sequence[str], count: int, asked: Sequence[str]) -> Iterator[str]:
    """Rows of a table: a service of so many processes, what is measured, its figure."""
    given = ["--graph", args.graph, "--processes", str(count), "--no-log"]
    rest = itertools.cycle(asked)
    with serving(given) as (port, pids):
        head, workers = f"| {count} |", pids[1:] or pids
        yield f"{head} processor time until it is ready, s | {processor(pids):.1f} |"
        yield f"{head} memory of a worker alone when ready, MB | {private(workers)} |"
        for clients in CLIENTS[:2] if "processes" in wanted else ():
            own, begin = time.process_time(), processor(pids)
            said, took = asyncio.run(clients_for(port, clients, rest, args.seconds, stream=False))
            spent, own = processor(pids) - begin, time.process_time() - own
            times = [1e3 * s.last for s in said if s.status == 200]
            yield f"{head} {clients} clients: questions a second; failed | {len(times) / took:.1f}; {failures(said)} |"
            yield f"{head} {clients} clients: ms on the clock | {spread(times)} |"
            yield f"{head} {clients} clients: cores that service and clients had | {(spent + own) / took:.2f} |"
            most = 2 * len(times) / (spent + own)
            yield f"{head} {clients} clients: questions in a second of two cores | {most:.0f} |"
        yield f"{head} memory of a worker alone after these, MB | {private(workers)} |"
        for name, (path, body) in HEAVY.items() if "heavy" in wanted else ():
            light, done = asyncio.run(beside(port, path, body, rest, args.seconds))
            times = [1e3 * s.last for s in light if s.status == 200]
            told = f"{spread(times)}; {len(times)} answers, {failures(light)} failed"
            yield f"{head} one client beside four that send {name}: ms on the clock | {told}; {done} of the four |"
        if "heavy" in wanted:
            yield f"{head} memory of a worker alone after these, MB | {private(workers)} |"


async def beside(port: int, path: str, body: object, rest: Iterator[str], seconds: float) -> tuple[list[Said], int]:
    """What a client was told beside four that send what takes long, and how many answers those had in that time."""
    done = 0

    async def heavy() -> None:
        nonlocal done
        async with talking(port) as talk:
            while True:
                await exchange(talk, "POST", path, body)
                done += 1

    four = [asyncio.ensure_future(heavy()) for _ in range(4)]
    await asyncio.sleep(1.0)
    said, _ = await clients_for(port, 1, rest, seconds, stream=False)
    for one in four:
        one.cancel()
    await asyncio.gather(*four, return_exceptions=True)
    return said, done


def processor(pids: Sequence[int]) -> float:
    """The seconds of processor time that processes have had."""
    return sum(sum(psutil.Process(pid).cpu_times()[:2]) for pid in pids)


def private(pids: Sequence[int]) -> str:
    """The MB that are each process's alone: its clean and its dirty private pages."""
    found = []
    for pid in pids:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text("ascii").splitlines()
        sizes = [int(line.split()[1]) for line in lines if line.startswith(("Private_Clean", "Private_Dirty"))]
        found.append(sum(sizes) // 1024)
    return ", ".join(map(str, found))


def machine() -> str:
    """What the figures were measured on."""
    version = ".".join(map(str, sys.version_info[:3]))
    return f"{os.cpu_count()} cores, Python {version}, load average {os.getloadavg()[0]:.1f} at the end"


PAGE = """# Load on a service

Written by `python bench/serve.py processes heavy --page docs/evaluate/service.md`; the page is renewed by it and not by
hand. Measured on {machine}. The clients run on the same cores as the service. Every question is new and made of names
of the graphs `hpo` and `cmekg` in both languages, without a language model. The memory of a worker alone is what
`smaps_rollup` counts as private, clean and dirty: where there is one process, the pages of the graph's files are among
them. Where other work runs on the machine, times on the clock are longer, and so is processor time, by half or more;
"questions in a second of two cores" is what the processor time of service and clients together comes to.

| processes | what | measured |
|---|---|---|
{rows}
"""


async def with_model(port: int, asked: Sequence[str], seconds: float) -> None:
    """Questions a second of the embedded model, streamed."""
    rest = itertools.cycle(asked)
    for clients in (1, 4):
        said, took = await clients_for(port, clients, rest, seconds, stream=True)
        times, firsts = [1e3 * s.last for s in said], [1e3 * s.first for s in said]
        rate = f"{len(said) / took:.2f} a second, ms {spread(times)}; first byte {spread(firsts)}"
        print(f"  {MODEL}, streamed, {clients} clients: {rate}; failed {failures(said)}")


async def soak(port: int, asked: Sequence[str], count: int, pids: Sequence[int]) -> None:
    """Memory over many questions."""
    print(f"soak of {count:,} questions by 4 clients; MB of the processes that are no file's")
    rest = itertools.cycle(asked)
    statuses: Counter[int] = Counter()
    for part in range(1, 11):

        async def client() -> None:
            async with talking(port) as talk:
                for _ in range(count // 40):
                    statuses[(await exchange(talk, "POST", "/v1/ask", {"question": next(rest)})).status] += 1

        await asyncio.gather(*(client() for _ in range(4)))
        print(f"  {part * count // 10:7,}: {memory(pids)} {dict(statuses)}")


def failures(said: Sequence[Said]) -> int:
    """How many are neither answered nor refused with when to ask again."""
    return sum(not (s.status == 200 or (s.status == 503 and s.again)) for s in said)


def spread(times: Sequence[float]) -> str:
    """Median, 95th and 99th percentile."""
    if not times:
        return "none"
    p50, p95, p99 = np.percentile(times, [50, 95, 99])
    return f"p50 {p50:.1f} p95 {p95:.1f} p99 {p99:.1f}"


def memory(pids: Sequence[int]) -> str:
    """The memory of each process: its own, and shared pages by their part."""
    found = [psutil.Process(pid).memory_full_info() for pid in pids if psutil.pid_exists(pid)]
    return ", ".join(f"{m.uss / 1e6:.0f} MB own, {m.pss / 1e6:.0f} MB with its part of what is shared" for m in found)


if __name__ == "__main__":
    main()
