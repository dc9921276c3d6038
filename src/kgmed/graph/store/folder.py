"""The folder of a stored graph: what it says of itself, and how a finished version takes the place of the old one,
whole or
not at all.
"""

import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import xxhash

from kgmed.disk import hash_file, hold, put_in_place, to_disk
from kgmed.errors import StoreError
from kgmed.records import Relation, Role

if TYPE_CHECKING:
    pass

# --- A lock between processes on a file; the system lets go of it when its holder ends, however it ends.

LOCK = ".lock"


def is_held(path: Path) -> bool:
    """Whether a process that runs holds the file."""
    from filelock import FileLock

    if not path.exists():
        return False
    try:
        with FileLock(path, blocking=False):
            return False
    except OSError:  # held, or not to be had
        return True


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """A block in which no other process changes the folder, which is made if need be.

    A folder in which nothing is left afterwards is removed.
    """
    lock = hold(folder / LOCK)
    try:
        yield
    finally:
        if {p.name for p in folder.iterdir()} <= {LOCK}:
            with suppress(OSError):
                (folder / LOCK).unlink()
                folder.rmdir()
        lock.release()


# --- What a stored graph says of itself, and the check that its files are the ones it was written with.

JOURNAL = "edits.jsonl"  # beside the versions of a graph: what was added to it and withdrawn by hand
FORMAT = 2
FULL_CHECK = 64 << 20  # bytes; a graph up to this size is hashed at each opening (10 GB/s), larger ones by `verify`


@dataclass(frozen=True)
class Manifest:
    """Where a graph comes from, what is in it, and the size and hash of each of its files.

    The hash (xxh3-128) finds damage, not forgery.
    """

    name: str
    source: str = ""
    release: str = ""
    licence: str = ""
    citation: str = ""
    language: str = ""
    prefix: str = ""
    inputs: str = ""  # hash of the files it was read from
    counts: Mapping[str, int] = field(default_factory=dict)
    relations: tuple[Relation, ...] = ()
    relation_counts: tuple[int, ...] = ()
    kinds: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()  # labels of the graphs that it is made of, where it is made of graphs
    describes: str = ""  # the name and release of those of them that describe entities
    origins: tuple[str, ...] = ()  # by relation: the graph and release of its triples; () = this one
    languages: tuple[str, ...] = ()  # of other names, by the number in `alias_language`; the first is ""
    dropped: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # reason -> {count, lines}
    files: Mapping[str, tuple[int, str]] = field(default_factory=dict)  # name -> bytes, hash
    content: str = ""  # hash over the hashes of the files
    shards: int = 0  # how many shards it is in (see `store.shards`), each in a folder of its own; 0 = in one piece
    format: int = FORMAT
    check: str = ""  # hash of all fields above

    @property
    def bytes(self) -> int:
        """The size of all files on disk."""
        return sum(size for size, _ in self.files.values())


def seal(manifest: Manifest, folder: Path) -> Manifest:
    """The manifest with the sizes and hashes of the folder's files, written as its `manifest.json`."""
    paths = sorted(folder.rglob("*.npy"))
    files = {p.relative_to(folder).as_posix(): (p.stat().st_size, hash_file(p)) for p in paths}
    content = xxhash.xxh3_128("".join(f"{n}{h}" for n, (_, h) in files.items()).encode()).hexdigest()
    sealed = replace(manifest, files=files, content=content, check="")
    sealed = replace(sealed, check=_check(asdict(sealed)))
    with (folder / "manifest.json").open("w", encoding="utf-8") as f:
        json.dump(asdict(sealed), f, ensure_ascii=False, indent=1)
    return sealed


def _check(data: Mapping[str, Any]) -> str:
    """The hash of a manifest's fields but for the hash itself."""
    text = json.dumps({k: v for k, v in data.items() if k != "check"}, sort_keys=True)
    return xxhash.xxh3_128_hexdigest(text.encode())


@lru_cache(maxsize=16)
def _parsed(path: Path, text: str) -> Manifest:
    """The manifest that a text says; that of the same text is not made again (5 ms; an answer asks ten times)."""
    data = json.loads(text)
    if data["format"] != FORMAT:
        raise StoreError(f"{path}: format {data['format']}, this kgmed reads {FORMAT}; build the graph again")
    if data["check"] != _check(data):
        raise StoreError(f"{path}: damaged, its content is not what was written; build the graph again")
    data["relations"] = tuple(Relation(r["name"], Role(r["role"]), r["reverse"]) for r in data["relations"])
    for row in ("relation_counts", "kinds", "parts", "origins", "languages"):
        data[row] = tuple(data.get(row, ()))
    data["files"] = {name: (size, digest) for name, (size, digest) in data["files"].items()}
    return Manifest(**data)


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a folder; raises `StoreError` when it is missing, unreadable or of another format."""
    path = folder / "manifest.json"
    try:
        return _parsed(path, path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        raise StoreError(f"{folder}: no graph is stored here; build one with: kgmed graph build") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as e:
        raise StoreError(f"{path}: not a manifest of kgmed ({type(e).__name__}); build the graph again") from None


def verify(manifest: Manifest, folder: Path, *, contents: bool = True) -> None:
    """Check every file's size and, with `contents`, its hash; raises `StoreError` naming the first that is wrong.

    Without `contents` a file is hashed where it was written to after the manifest was.
    """
    sealed = (folder / "manifest.json").stat().st_mtime_ns
    newest = sealed
    for name, (size, digest) in manifest.files.items():
        path = folder / name
        found = path.stat() if path.is_file() else None
        if found is None or found.st_size != size:
            raise StoreError(
                f"{path}: {f'{found.st_size} bytes' if found else 'missing'}, expected {size}; build it again"
            )
        if (contents or found.st_mtime_ns > sealed) and hash_file(path) != digest:
            raise StoreError(f"{path}: damaged, its content is not what was written; build the graph again")
        newest = max(newest, found.st_mtime_ns)
    if newest > sealed:  # a copy, or a clock that went back: the next opening need not hash what is right
        with suppress(OSError):
            os.utime(folder / "manifest.json", ns=(newest, newest))


# --- Putting a finished version of a graph in the place of the old one, whole or not at all.
# A graph's folder holds one folder a version, and the file CURRENT that names the one to open. A build writes a version
# of its own beside the current one; it takes effect when CURRENT is renamed into place. Before that its files are on
# the disk, so that a power cut leaves either graph whole.

_VERSION = re.compile(r"v-[0-9a-f]{12}(-\d+)?")


def clear(folder: Path) -> None:
    """Remove what builds that were killed have left behind; those that still run are let be."""
    for name in {path.name.removeprefix(LOCK) for path in folder.glob("*.building-*")}:
        if not is_held(folder / f"{LOCK}{name}"):
            shutil.rmtree(folder / name, ignore_errors=True)
            (folder / f"{LOCK}{name}").unlink(missing_ok=True)


@contextmanager
def beside(folder: Path) -> Iterator[Path]:
    """A fresh folder for the work, removed on any way out on which it has not been published."""
    with locked(folder):
        clear(folder)
        work = folder / f".building-{os.getpid()}-{os.urandom(4).hex()}"
        work.mkdir()
        lock = folder / f"{LOCK}{work.name}"  # not in it: Windows moves no folder in which a file is open
        running = hold(lock)
    try:
        yield work
    finally:
        running.release()
        shutil.rmtree(work, ignore_errors=True)
        with locked(folder):  # removes the folder when nothing is in it
            lock.unlink(missing_ok=True)


def publish(folder: Path, work: Path, content: str) -> Path:
    """The folder of the finished version after it was renamed into place and CURRENT points at it; others are removed.

    What was derived from a version of the same content (vectors, automata) is taken over.
    """
    from concurrent.futures import ThreadPoolExecutor  # only here: opening a graph must not load it

    name = f"v-{content[:12]}"
    with ThreadPoolExecutor(8) as pool:  # files that wait for the disk together wait once
        list(pool.map(to_disk, [*work.rglob("*.npy"), *work.rglob("*.json")]))
    to_disk(work)
    with locked(folder):
        target = next(t for n in count(1) if not (t := folder / (name if n == 1 else f"{name}-{n}")).exists())
        put_in_place(work, target)
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
    to_disk(pointer)
    to_disk(folder)  # the version's folder has its name
    put_in_place(pointer, folder / "CURRENT")
    to_disk(folder)


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
