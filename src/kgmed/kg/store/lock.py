"""A lock between processes on a file; the system lets go of it when its holder ends, however it ends."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

if sys.platform == "win32":
    import msvcrt

    def _lock(file: BinaryIO, *, wait: bool) -> None:
        msvcrt.locking(file.fileno(), msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _lock(file: BinaryIO, *, wait: bool) -> None:
        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))


LOCK = ".lock"


def hold(path: Path) -> BinaryIO:
    """The file `path`, made if need be and locked until it is closed; waits while another process holds it."""
    while True:
        file = path.open("ab")
        _lock(file, wait=True)
        with suppress(OSError):
            if os.path.samestat(os.fstat(file.fileno()), path.stat()):
                return file
        file.close()  # its last holder has removed it


def is_held(path: Path) -> bool:
    """Whether a process that runs holds the file."""
    try:
        with path.open("rb") as file:
            _lock(file, wait=False)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return False


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """A block in which no other process changes the folder, which is made if need be.

    A folder in which nothing is left afterwards is removed.
    """
    with _entered(folder) as file:
        try:
            yield
        finally:
            if {p.name for p in folder.iterdir()} <= {LOCK}:
                with suppress(OSError):
                    (folder / LOCK).unlink()
                    folder.rmdir()
            file.close()


def _entered(folder: Path) -> BinaryIO:
    """The lock of a folder, held."""
    while True:
        folder.mkdir(parents=True, exist_ok=True)
        with suppress(FileNotFoundError):  # removed by the last holder between the two
            return hold(folder / LOCK)
