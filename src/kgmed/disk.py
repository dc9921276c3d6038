"""Where files are kept, and what file systems do differently: the one place that knows on which system this runs.

On Windows a name cannot take the place of a file that another process has open at that moment (a virus scanner, a
reader), a folder cannot be waited for, and some names belong to devices; on macOS `fsync` leaves the data in the
drive's own memory. Each function takes the system as an argument, so that what it does elsewhere is tested here.
"""

import json
import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import xxhash

from kgmed.errors import BadInput, SourceError, StoreError

if TYPE_CHECKING:
    from filelock import BaseFileLock

# Where graphs and model files are kept: one data folder, the platform's own unless KGMED_HOME names another.


def data_folder() -> Path:
    """The folder of everything that kgmed keeps; it need not exist yet. Raises `BadInput` for what is none."""
    chosen = os.environ.get("KGMED_HOME")
    if not chosen:
        import platformdirs

        return Path(platformdirs.user_data_dir("kgmed", appauthor=False))
    folder = Path(chosen).expanduser()
    if not folder.is_dir() and os.path.lexists(folder):
        what = "a link that leads nowhere" if folder.is_symlink() else "no folder"
        raise BadInput(f"KGMED_HOME={folder} is {what}; set it to a folder, or to where one may be made")
    return folder


def graphs_folder() -> Path:
    """The folder with one folder a graph."""
    return data_folder() / "graphs"


_WAIT = 2.0  # seconds for another process to close a file; ours
_AGAIN = 0.02
_FULL = 51  # F_FULLFSYNC of macOS (sys/fcntl.h), which Python has there only
_DEVICES = {"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))}


def put_in_place(new: Path, place: Path, *, system: str = sys.platform, move: Callable[..., Any] = os.replace) -> None:
    """Give a finished file or folder its name; a file of that name is replaced, whole.

    On Windows it is tried again for a while where another process has the old one open. Raises `OSError`.
    """
    until = time.monotonic() + (_WAIT if system == "win32" else 0)
    while True:
        try:
            move(new, place)
            return
        except PermissionError:
            if time.monotonic() >= until:
                raise
            time.sleep(_AGAIN)


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """Where to write a file that takes the place of `path` at the block's end; one writer at a time."""
    beside = path.with_name(f".{path.stem}.new{path.suffix}")
    try:
        yield beside
        put_in_place(beside, path)
    finally:
        beside.unlink(missing_ok=True)


def write_whole(path: Path, text: str) -> Path:
    """The path, after the text was written there as `whole` does."""
    with whole(path) as beside:
        beside.write_text(text, encoding="utf-8", newline="\n")
    return path


def link_or_copy(file: Path, to: Path, *, link: Callable[[Path, Path], Any] = os.symlink) -> None:
    """Make a file known by another name; a copy where links are not allowed, as to most users of Windows."""
    try:
        link(file.absolute(), to)
    except (OSError, NotImplementedError):
        import shutil  # only here: most commands do without

        shutil.copyfile(file, to)


def to_disk(path: Path, *, system: str = sys.platform, sync: Callable[[int, bool], Any] | None = None) -> None:
    """Wait until a file, or the names in a folder, are on the disk; Windows cannot do that of folders."""
    if system == "win32" and path.is_dir():
        return
    descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        (sync or _sync)(descriptor, system == "darwin")
    finally:
        os.close(descriptor)


def _sync(descriptor: int, fully: bool) -> None:  # noqa: FBT001 - called by position
    """Wait for the disk; `fully` = also for the drive's own memory, where the drive can say so."""
    if fully:
        import fcntl

        try:
            fcntl.fcntl(descriptor, _FULL)
            return
        except OSError:  # a drive in the network, say
            pass
    os.fsync(descriptor)


def names_a_device(name: str) -> bool:
    """Whether Windows takes a name for a device, on whatever system we are: graphs are carried from one to another.

    >>> names_a_device("nul"), names_a_device("COM1.txt"), names_a_device("hpo")
    (True, True, False)
    """
    return name.partition(".")[0].strip().casefold() in _DEVICES


def as_file_name(text: str) -> str:
    """The beginning of a text as a part of a name that every system can give a file."""
    return "".join(c if c.isalnum() or c in "._-" else "-" for c in text[:40])


def copies_processes(system: str = sys.platform) -> bool:
    """Whether a process may be copied once its graphs are loaded, so that copies share their memory.

    >>> copies_processes("linux"), copies_processes("win32")
    (True, False)
    """
    return system == "linux"


def most_memory(system: str = sys.platform) -> int:
    """The most memory that this process has held, in bytes; on Windows by psutil, which accelerate brings."""
    if system == "win32":  # it has no getrusage
        import psutil

        return int(psutil.Process().memory_info().peak_wset)
    import resource

    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if system == "darwin" else most * 1024


# What every folder of arrays needs: a lock, and the hash of a file.


_TRIES = 1000  # ours: a folder that is removed as often by others is one that cannot be made


def hold(path: Path) -> "BaseFileLock":
    """The lock on the file `path`, made with its folder if need be, until `release`; waits for another process."""
    from filelock import FileLock  # only here: opening a graph must not load it

    lock = FileLock(path, thread_local=False)  # what one thread took, another may release
    for left in reversed(range(_TRIES)):
        try:
            lock.acquire(poll_interval=0.01)
        except (FileNotFoundError, FileExistsError):  # its last holder removes the folder just now
            if not left or (os.path.lexists(path.parent) and not path.parent.is_dir()):
                raise
            continue
        except RuntimeError as error:  # to wait for oneself would take for ever
            raise StoreError(f"{path}: this process works on it already; let that end first") from error
        return lock
    raise StoreError(f"{path}: its folder cannot be made")


def hash_file(path: Path) -> str:
    """The xxh3-128 of a file's bytes, in hex."""
    if not path.stat().st_size:
        return xxhash.xxh3_128_hexdigest(b"")
    with path.open("rb") as f, mmap(f.fileno(), 0, access=ACCESS_READ) as data:  # needs no memory of its own
        return xxhash.xxh3_128_hexdigest(data)


# TOML that somebody wrote: its table, or one error that names the file, the line and the mend.


_MOST = 1 << 20  # bytes of a file; ours
_PARTS = 50  # of a key with dots, a.b.c: the seconds of Python's parser grow with the square of their number
_KEY = re.compile(rf"(?<![\w-])(?:(?:[\w-]++|\"[^\"\n]*+\"|'[^'\n]*+')[ \t]*+\.[ \t]*+){{{_PARTS}}}")


def read_toml(path: Path, *, parse_float: Callable[[str], Any] = float) -> dict[str, Any]:
    """The table in a file; raises `SourceError`."""
    try:
        with path.open("rb") as file:
            data = file.read(_MOST + 1)
    except OSError as error:
        raise SourceError(path, 0, f"cannot be read ({error.strerror})", "name a TOML file") from None
    if len(data) > _MOST:
        raise SourceError(path, 0, f"is longer than {_MOST >> 20} MB", "name a TOML file")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise SourceError(path, 0, "is not UTF-8 text", "save it as UTF-8") from None
    return parse_toml(text, path, parse_float=parse_float)


def parse_toml(text: str, path: Path, *, parse_float: Callable[[str], Any] = float) -> dict[str, Any]:
    """The table in a text; `path` is what errors name. Raises `SourceError`.

    >>> parse_toml("keep = 5", Path("mine.toml"))
    {'keep': 5}
    """
    import tomllib  # takes longer than to read what is kept of the package's own files

    if long := _KEY.search(text):
        line = text.count("\n", 0, long.start()) + 1
        raise SourceError(path, line, f"has a key of more than {_PARTS} parts", "write it shorter")
    try:
        return tomllib.loads(text, parse_float=parse_float)
    except (ValueError, ArithmeticError, RecursionError) as error:  # also a number too long, lists too deep
        said = (str(error) or type(error).__name__).splitlines()[0]
        place = re.search(r"line (\d+)", said)
        raise SourceError(path, int(place[1]) if place else 0, f"is no TOML: {said}", "mend that place") from None


def packaged(package: str, *parts: str) -> Path:
    """A file beside the modules of a package of ours: `importlib.resources` takes longer to import than to read it."""
    return Path(__file__).parent.joinpath(*package.split(".")[1:], *parts)


@lru_cache(maxsize=64)
def packaged_toml(module: str) -> dict[str, Any]:
    """The tables of a TOML file of the package by its dotted name, which is that of the module that it belongs to."""
    folder, _, name = module.rpartition(".")
    path = packaged(folder, f"{name}.toml")
    content = path.read_bytes()
    try:
        place = data_folder() / "tables" / f"{module}-{xxhash.xxh3_64_hexdigest(content)}.json"
    except BadInput:  # who opens a graph is told so
        return parse_toml(content.decode(), path)
    kept = kept_bytes(place, "")
    if kept is None:
        kept = json.dumps(parse_toml(content.decode(), path)).encode()
        keep_bytes(place, "", kept)
    return dict(json.loads(kept))


# --- What is made once and kept, and may be made again: damage to it is noticed, and where it cannot be kept it is not.


def kept_bytes(place: Path, form: str) -> bytes | None:
    """What `keep_bytes` has written in a form; None where it is missing or damaged."""
    with suppress(OSError):
        content = place.read_bytes()
        return content[8:] if content[:8] == xxhash.xxh3_64_digest(form.encode() + content[8:]) else None
    return None


def keep_bytes(place: Path, form: str, body: bytes) -> None:
    """Keep what was made, where there are graphs beside which to keep it, and no older file of NAME-VERSION.SUFFIX."""
    with suppress(OSError, BadInput):
        if graphs_folder().is_dir():
            place.parent.mkdir(exist_ok=True)
            with whole(place) as beside:
                beside.write_bytes(xxhash.xxh3_64_digest(form.encode() + body) + body)
            for old in place.parent.glob(f"{place.stem.rpartition('-')[0]}-*{place.suffix}"):
                if old != place:
                    old.unlink()
