"""Putting a finished version of a graph in the place of the old one, whole or not at all.

A graph's folder holds one folder a version, and the file CURRENT that names the one to open. A build writes a version
of its own beside the current one; it takes effect when CURRENT is renamed into place. Before that its files are on the
disk, so that a power cut leaves either graph whole.
"""

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path

from kgmed.errors import StoreError
from kgmed.kg.store.lock import LOCK, hold, is_held, locked

_VERSION = re.compile(r"v-[0-9a-f]{12}(-\d+)?")


@contextmanager
def beside(folder: Path) -> Iterator[Path]:
    """A fresh folder for the work, removed on any way out on which it has not been published.

    What builds that were killed have left behind is removed first; those that still run are let be.
    """
    with locked(folder):
        for stale in folder.glob(".building-*"):
            if not is_held(stale / LOCK):
                shutil.rmtree(stale, ignore_errors=True)
        work = folder / f".building-{os.getpid()}-{os.urandom(4).hex()}"
        work.mkdir()
        running = hold(work / LOCK)
    try:
        yield work
    finally:
        running.close()
        shutil.rmtree(work, ignore_errors=True)
        with locked(folder):  # removes the folder when nothing is in it
            pass


def publish(folder: Path, work: Path, content: str) -> Path:
    """The folder of the finished version after it was renamed into place and CURRENT points at it; others are removed.

    What was derived from a version of the same content (vectors, automata) is taken over.
    """
    from concurrent.futures import ThreadPoolExecutor  # only here: opening a graph must not load it

    name = f"v-{content[:12]}"
    with ThreadPoolExecutor(8) as pool:  # files that wait for the disk together wait once
        list(pool.map(_to_disk, [*work.glob("*.npy"), *work.glob("*.json")]))
    _to_disk(work)
    with locked(folder):
        (work / LOCK).unlink()
        target = next(t for n in count(1) if not (t := folder / (name if n == 1 else f"{name}-{n}")).exists())
        work.rename(target)
        old = [v for v in folder.glob("v-*") if v != target]
        for version in old:
            if version.name.startswith(name):
                with suppress(OSError):
                    (version / "derived").rename(target / "derived")
        _point(folder, target.name)
        for version in old:
            shutil.rmtree(version, ignore_errors=True)
    return target


def _point(folder: Path, version: str) -> None:
    """Make CURRENT name a version; when this returns, it does so on the disk too."""
    pointer = folder / ".CURRENT"
    pointer.write_text(version, encoding="utf-8")
    _to_disk(pointer)
    _to_disk(folder)  # the version's folder has its name
    pointer.replace(folder / "CURRENT")
    _to_disk(folder)


def _to_disk(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk; a system that cannot do that of folders may not."""
    if path.is_dir() and os.name == "nt":
        return
    descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def current(folder: Path) -> Path:
    """The folder of the current version: what CURRENT names, or the folder itself where it is a version.

    Raises `StoreError` where CURRENT names none.
    """
    pointer = folder / "CURRENT"
    try:
        name = pointer.read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        return folder
    except (OSError, ValueError):
        name = ""
    if not _VERSION.fullmatch(name):
        raise StoreError(f"{pointer}: names no version; build the graph again")
    return folder / name
