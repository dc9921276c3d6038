"""Several processes on one graph: builds that are killed, builds at once, readers while it is replaced."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import numpy as np
import psutil
import pytest

from graph.store.oracle import source, triples
from kgmed.graph.base import EdgeRow, Row
from kgmed.graph.store.build import build
from kgmed.graph.store.store import open_store

OLD: list[Row] = [EdgeRow("a", "r", "b"), EdgeRow("b", "r", "c")]
CHILD = """
import sys, time
from pathlib import Path
from kgmed.graph.base import EdgeRow, Source
from kgmed.graph.store.build import build
folder, moment, size = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])

def here(name):
    if name == moment:
        print("here", flush=True)
        time.sleep(60)

def rows():
    for i in range(size):
        if i == size // 2:
            here("rows")
        yield EdgeRow(f"n{i}", "r", f"n{i * 7 % size}")
    here("sort")

class Slow(Source):
    @property
    def citation(self):
        here("manifest")
        return ""

    @citation.setter
    def citation(self, value):
        pass

source = Slow(name="g", rows=rows)
if moment == "publish":
    class Held(type(folder)):
        def rename(self, target):
            found = super().rename(target)
            here("publish")
            return found
    folder = Held(folder)
build(source, folder)
"""


def child(folder: Path, moment: str, size: int = 200_000) -> "subprocess.Popen[str]":
    """A build in another process that says `here` at a moment and then waits to be killed."""
    command = [sys.executable, "-c", textwrap.dedent(CHILD), str(folder), moment, str(size)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("moment", ["rows", "sort", "manifest", "publish"])
def test_a_build_that_is_killed_leaves_the_old_graph_and_the_next_build_no_litter(
    tmp_path: Path, moment: str, how: signal.Signals
) -> None:
    folder = tmp_path / "g"
    build(source(OLD), folder)
    before = triples(open_store(folder))
    with child(folder, moment) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "here\n"
        process.send_signal(how)
        assert process.wait() != 0
    assert triples(open_store(folder)) == before
    if how == signal.SIGINT and moment != "publish":
        assert {p.name[:2] for p in folder.iterdir()} == {"v-", "CU", ".l"}
    build(source(OLD), folder)
    assert len(list(folder.iterdir())) == 3  # one version, CURRENT, the lock
    assert triples(open_store(folder)) == before


def test_a_first_build_that_is_interrupted_leaves_no_folder(tmp_path: Path) -> None:
    with child(tmp_path / "g", "rows") as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        process.wait()
    assert list(tmp_path.iterdir()) == []


def test_a_build_that_still_runs_is_not_taken_for_litter(tmp_path: Path) -> None:
    folder = tmp_path / "g"
    with child(folder, "rows") as process:
        assert process.stdout is not None
        process.stdout.readline()
        build(source(OLD), folder)
        assert len(list(folder.glob(".building-*"))) == 1
        process.kill()
    build(source(OLD), folder)
    assert not list(folder.glob(".building-*"))


def test_builds_at_once_and_readers_meanwhile_only_ever_see_a_whole_graph(tmp_path: Path) -> None:
    folder = tmp_path / "g"
    build(source([EdgeRow("a", "r", "0")]), folder)
    stop, faults, seen = threading.Event(), [], set()

    def read() -> None:
        while not stop.is_set():
            try:
                store = open_store(folder, contents=True)
                seen.add(frozenset(triples(store)))
            except Exception as e:  # noqa: BLE001 - whatever it is, the test shows it
                faults.append(e)

    code = """
import sys
from pathlib import Path
from kgmed.graph.base import EdgeRow, Source
from kgmed.graph.store.build import build
for i in range(15):
    rows = [EdgeRow("a", "r", f"{sys.argv[2]}-{i}-{j}") for j in range(50)]
    build(Source("g", lambda: iter(rows)), Path(sys.argv[1]))
"""
    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    builders = [subprocess.Popen([sys.executable, "-c", code, str(folder), str(n)]) for n in range(3)]
    codes = [builder.wait() for builder in builders]
    stop.set()
    for reader in readers:
        reader.join()
    assert codes == [0, 0, 0]
    assert not faults
    assert all(len(graph) in (1, 50) for graph in seen)
    assert len(list(folder.iterdir())) == 3
    assert len(triples(open_store(folder, contents=True))) == 50


def test_a_graph_that_is_open_stays_whole_when_another_takes_its_place(tmp_path: Path) -> None:
    rows: list[Row] = [EdgeRow(f"n{i}", "r", f"n{i + 1}") for i in range(20_000)]
    build(source(rows), tmp_path / "g")
    store = open_store(tmp_path / "g")
    build(source(OLD), tmp_path / "g")
    assert len(open_store(tmp_path / "g")) == 3
    assert len(triples(store)) == 20_000
    assert store.entity("n7").description == ""
    assert store.attributes("n7") == []


@pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="needs Linux to see shared memory")
def test_four_processes_share_one_copy(tmp_path: Path) -> None:
    size = 400_000
    rng = np.random.default_rng(0)
    ends = rng.integers(0, size, (2 * size, 2)).tolist()
    manifest = build(source([EdgeRow(str(a), "r", str(b)) for a, b in ends]), tmp_path / "g")
    code = """
import sys
from pathlib import Path
from kgmed.graph.store.store import open_store
import psutil
me = psutil.Process()
before = me.memory_full_info()
store = open_store(Path(sys.argv[1]), contents=True)
assert int(store.adjacency.out.neighbour.sum()) >= 0 and store.lookup("7") and store.neighbours("7")
print("open", before.uss, flush=True)
sys.stdin.readline()
"""
    command = [sys.executable, "-c", code, str(tmp_path / "g")]
    started = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=os.environ)
        for _ in range(4)
    ]
    private = 0
    try:
        before = [int(p.stdout.readline().split()[1]) for p in started if p.stdout]
        private = sum(psutil.Process(p.pid).memory_full_info().uss for p in started) - sum(before)
    finally:
        for process in started:
            process.communicate("\n")
    assert private < 0.6 * manifest.bytes  # four private copies would be 4.0


def test_memory_while_building_grows_with_the_entities_not_with_the_edges(tmp_path: Path) -> None:
    code = """
import resource, sys
from pathlib import Path
from kgmed.graph.base import EdgeRow, Source
from kgmed.graph.store.build import build
edges = int(sys.argv[2])
rows = lambda: (EdgeRow(f"n{i * 7919 % 3001}", "r", f"n{i * 104729 % 2999}") for i in range(edges))
build(Source("g", rows), Path(sys.argv[1]))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
"""
    few, many = (
        int(subprocess.check_output([sys.executable, "-c", code, str(tmp_path / str(n)), str(n)]))
        for n in (10_000, 1_000_000)
    )
    assert (many - few) / 990_000 < 120  # bytes an edge; as a Python tuple of strings it would be above 200
