"""The lock of a folder: one process at a time, let go of however its holder ends."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from kgmed.disk import hold
from kgmed.errors import StoreError
from kgmed.graph.store.folder import LOCK, is_held, locked

HOLDER = """
import sys, time
from pathlib import Path
from kgmed.disk import hold
lock = hold(Path(sys.argv[1]))
print("held", flush=True)
time.sleep(60)
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "folder" / LOCK


def test_a_lock_is_let_go_of_when_its_holder_is_killed(path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", HOLDER, path], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        assert is_held(path)
        process.kill()
    assert not is_held(path)
    hold(path).release()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_child_does_not_go_on_holding_what_its_parent_held(path: Path) -> None:
    lock, (reader, writer) = hold(path), os.pipe()
    if not (child := os.fork()):
        os.close(writer)
        os.read(reader, 1)
        os._exit(0)
    os.close(reader)
    lock.release()
    assert not is_held(path)
    os.close(writer)
    os.waitpid(child, 0)


def test_what_nobody_made_is_not_held_and_not_made(path: Path) -> None:
    assert not is_held(path)
    assert not path.parent.exists()


def test_one_thread_waits_for_the_other_and_an_empty_folder_goes(path: Path) -> None:
    inside: list[int] = []

    def work() -> None:
        for _ in range(5):
            with locked(path.parent):
                inside.append(1)
                assert len(inside) == 1
                inside.pop()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not path.parent.exists()


def test_a_thread_that_would_wait_for_itself_is_told_so(path: Path) -> None:
    lock = hold(path)
    with pytest.raises(StoreError, match="works on it already"):
        hold(path)
    lock.release()


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="no /proc, in which no folder can be made")
def test_a_folder_that_cannot_be_made_is_an_error_and_no_wait_for_ever() -> None:
    with pytest.raises(OSError, match="nowhere"):
        hold(Path("/proc/nowhere/graphs/lock"))
