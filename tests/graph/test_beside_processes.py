"""What is derived from a graph when files are damaged, processes are killed, or several make it at once."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from kgmed import derived
from kgmed.derived import Arrays, cached_arrays, derived_folder
from kgmed.graph import vectors
from kgmed.graph.doctor import examine
from kgmed.graph.names import Fuzzy
from kgmed.graph.store.store import open_store
from kgmed.linking.recognise import Lexicon
from kgmed.models.encoders import NgramEncoder
from named_graph import small
from slow_vectors import NAMES, many

TEXT = "calf hypertrophy and muscle weakness with increased creatine kinase"
SCRIPT = Path(__file__).parent.parent / "slow_vectors.py"


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-1] ^= 0x55
    path.write_bytes(data)


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def lengthen(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"\0")


def reshape(path: Path) -> None:
    """Another shape in a file of the same size."""
    if path.suffix == ".npy":
        np.save(path, np.load(path)[:-1].reshape(-1, 1), allow_pickle=False)
    else:
        path.write_text("{}", encoding="utf-8")


DAMAGES: list[Callable[[Path], None]] = [flip, truncate, lengthen, reshape, Path.unlink]


def answers(folder: Path) -> list[object]:
    """What the derived indexes of a graph say, opened afresh."""
    graph = open_store(folder)
    fuzzy, found = Fuzzy(graph), Lexicon(graph).find(TEXT)
    return [fuzzy.search("muscle weaknes"), fuzzy.knows("calf"), [(m.start, m.end) for m in found]]


@pytest.mark.parametrize("damage", DAMAGES)
def test_no_damage_to_a_derived_file_changes_an_answer(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    graph = small(tmp_path)
    before = answers(tmp_path / "small")
    files = [p for p in Path(graph.folder, "derived").rglob("*") if p.suffix in (".npy", ".json")]
    assert len(files) == 19
    for path in files:
        whole = path.read_bytes()
        damage(path)
        assert answers(tmp_path / "small") == before, path
        assert path.stat().st_size == len(whole), path
        assert examine(open_store(tmp_path / "small")).damage == (), path


@pytest.mark.parametrize("damage", DAMAGES)
def test_the_doctor_names_a_damaged_derived_file(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    graph = small(tmp_path)
    Fuzzy(graph).search("calf")
    (path,) = Path(graph.folder, "derived").rglob("gram.npy")
    assert examine(graph).damage == ()
    damage(path)
    (found,) = examine(graph).damage
    assert str(path) in found
    assert "\n" not in found


def test_what_has_no_manifest_is_made_anew_and_the_doctor_says_so(tmp_path: Path) -> None:
    place = derived_folder(str(tmp_path), "numbers", "1")
    place.mkdir(parents=True)
    np.save(place / "a.npy", np.array([7]))
    assert len(derived.unchecked(str(tmp_path))) == 1
    assert cached_arrays(str(tmp_path), "numbers", "1", ("a",), lambda: {"a": np.arange(3)})["a"].tolist() == [0, 1, 2]
    assert derived.unchecked(str(tmp_path)) == derived.damage(str(tmp_path)) == []


def test_a_large_file_is_read_whole_when_it_was_written_to_and_by_the_doctor(tmp_path: Path) -> None:
    rows = np.arange(derived.CHECKED // 4, dtype=np.int64)
    cached_arrays(str(tmp_path), "rows", "1", ("a",), lambda: {"a": rows})
    (path,) = tmp_path.rglob("a.npy")
    times = path.stat()
    os.utime(path, ns=(0, 0))  # as in a copy
    assert derived.open_arrays(path.parent, ("a",)) is not None
    flip(path)
    assert derived.open_arrays(path.parent, ("a",)) is None
    os.utime(path, ns=(times.st_atime_ns, 0))  # as if the disk had lost a bit
    assert len(derived.damage(str(tmp_path))) == 1
    assert np.array_equal(cached_arrays(str(tmp_path), "rows", "2", ("a",), lambda: {"a": rows})["a"], rows)


def test_threads_that_need_the_same_arrays_make_them_once(tmp_path: Path) -> None:
    made: list[int] = []
    gate = threading.Barrier(8)

    def make() -> Arrays:
        made.append(1)
        return {"a": np.arange(1000)}

    def run(found: list[int]) -> None:
        gate.wait()
        found.append(int(cached_arrays(str(tmp_path), "numbers", "1", ("a",), make)["a"].sum()))

    found: list[int] = []
    threads = [threading.Thread(target=run, args=(found,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [499500] * 8
    assert made == [1]


# --- Vectors by several processes.


def start(graph: Path) -> "subprocess.Popen[str]":
    """A process that computes the vectors of a graph and prints a line at each block."""
    return subprocess.Popen([sys.executable, str(SCRIPT), str(graph)], stdout=subprocess.PIPE, text=True)


def expected() -> NDArray[np.float16]:
    """The rows that one undisturbed process computes."""
    return NgramEncoder(64)([f"finding number {i}" for i in range(NAMES)]).astype(np.float16)


def test_processes_that_compute_vectors_at_once_leave_every_row_right(tmp_path: Path) -> None:
    graph = many(tmp_path)
    running = [start(tmp_path / "small") for _ in range(3)]
    printed = [p.communicate()[0] for p in running]
    assert [p.returncode for p in running] == [0, 0, 0]
    found = vectors.open_vectors(graph, NgramEncoder(64))
    assert found is not None
    assert np.array_equal(found.matrix, expected())
    assert sum(text.count("block") for text in printed) == -(-NAMES // 1024)  # no block twice
    assert examine(graph).damage == ()


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs kill -9")
@pytest.mark.parametrize("blocks", [1, 2, 4])
def test_a_killed_process_leaves_its_blocks_to_the_next(tmp_path: Path, blocks: int) -> None:
    graph = many(tmp_path)
    killed, waiting = start(tmp_path / "small"), None
    assert killed.stdout
    for _ in range(blocks):
        assert "block" in killed.stdout.readline()
        waiting = waiting or start(tmp_path / "small")
    killed.kill()
    killed.communicate()
    assert waiting is not None
    text = waiting.communicate()[0]
    assert waiting.returncode == 0
    assert text.count("block") <= -(-NAMES // 1024) - blocks + 1
    found = vectors.open_vectors(graph, NgramEncoder(64))
    assert found is not None
    assert np.array_equal(found.matrix, expected())
    assert not [p for p in Path(graph.folder, "derived", "vectors").iterdir() if p.name.startswith((".new", ".blocks"))]


@pytest.mark.parametrize("damage", [flip, truncate, reshape])
def test_a_damaged_block_of_an_unfinished_run_is_computed_again(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    graph, encoder = many(tmp_path), NgramEncoder(64)

    class Stopped(Exception):
        pass

    def stop(done: int, of: int) -> None:
        if done > 2048:
            raise Stopped

    with pytest.raises(Stopped):
        vectors.compute(graph, encoder, stop)
    damage(min(Path(graph.folder, "derived", "vectors").rglob("0*.npy")))
    assert np.array_equal(vectors.compute(graph, encoder).matrix, expected())


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_vectors_are_not_used_and_computed_anew_on_request(
    tmp_path: Path, damage: Callable[[Path], None], caplog: pytest.LogCaptureFixture
) -> None:
    graph, encoder = small(tmp_path), NgramEncoder(64)
    right = np.array(vectors.compute(graph, encoder).matrix)
    (path,) = Path(graph.folder, "derived", "vectors").rglob("all.npy")
    damage(path)
    assert vectors.open_vectors(graph, encoder) is None
    assert "kgmed graph vectors" in caplog.text
    assert np.array_equal(vectors.compute(graph, encoder).matrix, right)
    assert vectors.open_vectors(graph, encoder) is not None
