"""How long it takes until a new process has answered: by itself, through a service, and to import what others import.

    python bench/start.py [--rounds 9] [--beside CHECKOUT]

Processor seconds of a process and its children, the least and the middle of the rounds, and how often the time of
`import numpy` that is, which is the figure to compare on a busy machine. The graphs are those of the data folder. Each
kind of process takes its turn in every round; the first round compiles and is not counted. `wall` is the middle by the
clock, the service's own work in it. `--beside` measures another checkout in the same rounds.
"""

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from _figures import keep
from answering import KNOWN, ROOT, UNKNOWN

from kgmed.__main__ import SOCKET
from kgmed.disk import data_folder

ASK = ("-m", "kgmed", "ask", "--no-log")
PEERS = ("numpy", "networkx", "rustworkx", "igraph", "spacy", "transformers")
TARGETS = {"known question": 0.20, "unknown name": 0.35, "through a service": 0.06}
_READY = 300.0  # seconds for a service to listen


def main() -> None:
    """Print the table."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rounds", type=int, default=9, help="processes of each kind")
    options.add_argument("--beside", type=Path, help="the folder of another checkout")
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as compiled:
        kinds = commands(chosen.beside, Path(compiled))
        with served(kinds["known question"][1]):
            took = measured(kinds, chosen.rounds)
    unit = statistics.median(cpu for cpu, _ in took["import numpy"])
    print(f"{'':28}{'least s':>9}{'median s':>9}{'x numpy':>9}{'wall s':>9}{'target s':>9}")
    for name, times in took.items():
        cpu = sorted(cpu for cpu, _ in times)
        middle, wall = statistics.median(cpu), statistics.median(wall for _, wall in times)
        target = f"{TARGETS[name]:.2f}" if name in TARGETS else ""
        print(f"{name:28}{cpu[0]:9.3f}{middle:9.3f}{middle / unit:9.1f}{wall:9.3f}{target:>9}")
        keep("start", {name: cpu[0], f"{name} times": middle / unit})
    keep("start", {"load": os.getloadavg()[0]})
    print("load average:", *(f"{load:.1f}" for load in os.getloadavg()))


def commands(beside: Path | None, compiled: Path) -> dict[str, tuple[tuple[str, ...], dict[str, str]]]:
    """The arguments of python and the environment of each kind of process, by name."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    ours = {**kept, "PYTHONPATH": str(ROOT / "src"), "PYTHONPYCACHEPREFIX": str(compiled)}
    found = {
        "python alone": (("-c", "pass"), ours),
        "through a service": ((*ASK, KNOWN), ours),
        "known question": ((*ASK, "--no-service", KNOWN), ours),
        "unknown name": ((*ASK, "--no-service", UNKNOWN), ours),
    }
    if beside:
        theirs = {**ours, "PYTHONPATH": str(beside / "src"), "PYTHONPYCACHEPREFIX": str(compiled / "beside")}
        theirs["KGMED_SERVICE"] = "0"
        found |= {f"{name}, beside": ((*ASK, text), theirs) for name, text in (("known", KNOWN), ("unknown", UNKNOWN))}
    here = (name for name in PEERS if not subprocess.run([sys.executable, "-c", f"import {name}"], check=False,
            capture_output=True).returncode)  # fmt: skip
    return found | {f"import {name}": (("-c", f"import {name}"), ours) for name in here}


@contextmanager
def served(environment: Mapping[str, str]) -> Iterator[None]:
    """A block while which a service of this code listens."""
    place = data_folder() / SOCKET
    place.unlink(missing_ok=True)
    command = [sys.executable, "-m", "kgmed", "serve", "--port", "0"]
    service = subprocess.Popen(command, env={**environment}, stderr=subprocess.DEVNULL)
    try:
        end = time.monotonic() + _READY
        while not place.exists() and service.poll() is None and time.monotonic() < end:
            time.sleep(0.1)
        if not place.exists():
            sys.exit("no service listens; try: kgmed serve")
        yield
    finally:
        service.terminate()
        service.wait()


def measured(
    kinds: Mapping[str, tuple[tuple[str, ...], dict[str, str]]], rounds: int
) -> dict[str, list[tuple[float, float]]]:
    """Processor and wall seconds of each process, by kind."""
    took: dict[str, list[tuple[float, float]]] = {name: [] for name in kinds}
    for turn in range(rounds + 1):
        for name, (words, environment) in kinds.items():
            before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
            subprocess.run([sys.executable, *words], env=environment, stdout=subprocess.DEVNULL, check=True)
            wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
            if turn:
                took[name].append((after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall))
    return took


if __name__ == "__main__":
    main()
