"""Putting a finished version of a graph in the place of the old one, whole or not at all."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def beside(folder: Path) -> Iterator[Path]:
    """A fresh folder for the work, removed on any way out on which it has not been renamed."""
    folder.mkdir(parents=True, exist_ok=True)
    for stale in folder.glob(".building-*"):
        if not _alive(stale.name.rpartition("-")[2]):
            shutil.rmtree(stale, ignore_errors=True)
    work = folder / f".building-{os.getpid()}"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    try:
        yield work
    finally:
        shutil.rmtree(work, ignore_errors=True)
        if not any(folder.iterdir()):
            folder.rmdir()


def _alive(pid: str) -> bool:
    """Whether a process of that number runs."""
    try:
        os.kill(int(pid), 0)
    except (ProcessLookupError, ValueError):
        return False
    except PermissionError:
        return True
    return True


def publish(folder: Path, work: Path, version: str) -> None:
    """Rename the finished version into place, point CURRENT at it, then remove older versions."""
    target = folder / version
    if not target.exists():
        work.rename(target)
    pointer = folder / f".CURRENT-{os.getpid()}"
    with pointer.open("w", encoding="utf-8") as f:
        f.write(version)
        f.flush()
        os.fsync(f.fileno())
    pointer.replace(folder / "CURRENT")
    for old in folder.glob("v-*"):
        if old.name != version:
            shutil.rmtree(old, ignore_errors=True)


def current(folder: Path) -> Path:
    """The folder of the current version of a graph: what CURRENT names, or the folder itself where it is a version."""
    pointer = folder / "CURRENT"
    return folder / pointer.read_text(encoding="utf-8").strip() if pointer.is_file() else folder
