"""Files computed from a graph and kept beside it: made once, opened memory-mapped in a millisecond afterwards.

What is made from one key is a folder of files with a manifest: the size and hash of each, the dtype and shape of an
array. It is written under a name of its own while a lock is held and then renamed, so that it is there whole or not
at all, and two processes that need it make it once. Opening checks sizes, shapes, and the content of every file that is
small or has been written to since; whatever is wrong is made anew. `damage` reads everything.

Only plain .npy arrays are written and read, never pickles, so that opening a damaged or foreign file runs no code.
"""

import json
import os
import re
import shutil
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from math import prod
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any

import numpy as np
import xxhash
from numpy.typing import NDArray

from kgmed.disk import hash_file, hold, put_in_place, to_disk
from kgmed.errors import StoreError

Arrays = Mapping[str, NDArray[Any]]

MANIFEST = "manifest.json"
CHECKED = 4 << 20  # bytes; up to this size a file is hashed at each opening (0.3 ms), a larger one when it changed
_HEAD = re.compile(  # of an array
    rb"\x93NUMPY\x01\x00..\{'descr': '(\|b1|[<|][iu][1248]|<f[248]|[<|][SU]\d{1,6})', 'fortran_order': (True|False), "
    rb"'shape': \(([\d, ]*)\), \} *\n",
    re.DOTALL,
)
_HEAD_LONGEST = 512
_IN_PROCESS: dict[str, threading.RLock] = {}  # by place; the lock of a file is one for all threads of a process


def cached_arrays(folder: str, what: str, key: str, names: tuple[str, ...], make: Callable[[], Arrays]) -> Arrays:
    """The arrays of those `names`, opened where they were kept for the same `key`, else made and kept.

    `key` says what they were made from (the graph's label, a version of the code). A damaged set is made anew; where
    the folder cannot be written (or is "") the arrays stay in memory.
    """
    if not folder:
        return make()
    place = derived_folder(folder, what, key)
    found = open_arrays(place, names)
    if found is not None:
        return found
    with exclusive(place) as writable:
        found = open_arrays(place, names)  # another process made it meanwhile
        if found is not None:
            return found
        made = make()
        return (writable and _written(place, made) and open_arrays(place, names)) or made


def open_array(path: Path, *, mapped: bool = True) -> NDArray[Any]:
    """The array in a file as `np.save` writes it; raises `OSError` or `ValueError`.

    `np.load` takes ten times as long, and fails in several threads of Python 3.11: it reads the head by `ast`
    ("recursion depth mismatch", https://github.com/python/cpython/issues/106905).
    """
    with path.open("rb") as file:
        head = _HEAD.match(file.read(_HEAD_LONGEST))
        if head is None:
            raise ValueError(f"{path.name} has another form than is written here")
        kind, shape = np.dtype(head[1].decode()), tuple(int(n) for n in head[3].split(b",") if n.strip())
        size = head.end() + prod(shape) * kind.itemsize
        if size > os.fstat(file.fileno()).st_size or max(shape, default=0) >> 62:
            raise ValueError(f"{path.name} declares more than it holds")
        data = mmap(file.fileno(), 0, access=ACCESS_READ) if mapped else bytearray(path.read_bytes())
    return np.ndarray(shape, kind, data, head.end(), order="F" if head[2] == b"True" else "C")


def derived_folder(folder: str, what: str, key: str) -> Path:
    """The place for things of one sort made from one key."""
    return Path(folder) / "derived" / f"{what}-{xxhash.xxh3_64_hexdigest(key.encode())}"


def open_arrays(place: Path, names: tuple[str, ...]) -> Arrays | None:
    """The arrays, memory-mapped; None where one is missing or is not what was written."""
    try:
        files = check(place)
        arrays = {n: open_array(place / f"{n}.npy") for n in names}
    except (OSError, ValueError, EOFError, StoreError):
        return None
    forms = {n: (f.dtype, f.shape) for n in names if (f := files.get(f"{n}.npy"))}
    return arrays if forms == {n: (a.dtype.str, a.shape) for n, a in arrays.items()} else None


def _written(place: Path, arrays: Arrays) -> bool:
    """Whether the arrays now stand in their place; not so where the disk is full or closed to us."""

    def write(folder: Path) -> None:
        for name, array in arrays.items():
            np.save(folder / f"{name}.npy", array, allow_pickle=False)

    try:
        publish(place, write)
    except OSError:
        return False
    return True


# --- Publishing: a lock, a folder of its own name, a manifest, a rename.


@contextmanager
def exclusive(place: Path) -> Iterator[bool]:
    """A block in which no other process or thread makes what belongs there; whether the place can be written at all."""
    with _IN_PROCESS.setdefault(str(place), threading.RLock()):
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            lock = hold(place.with_name(f".{place.name}.lock"))
        except (OSError, NotImplementedError):  # a disk that is read-only, or without locks
            yield False
            return
        try:
            yield True
        finally:
            lock.release()


def publish(place: Path, write: Callable[[Path], None]) -> None:
    """Put what `write` writes into an empty folder in its place, with a manifest; for use within `exclusive`.

    What was there is replaced; what killed processes left unfinished is removed. Raises `OSError`.
    """
    for sort in ("new", "old"):
        for stale in place.parent.glob(f".{sort}-{place.name}-*"):
            shutil.rmtree(stale, ignore_errors=True)
    own = f"{place.name}-{os.urandom(4).hex()}"
    new, old = place.with_name(f".new-{own}"), place.with_name(f".old-{own}")
    new.mkdir()
    try:
        write(new)
        _write_manifest(new, {p.name: _described(p) for p in sorted(new.iterdir())})
        with suppress(FileNotFoundError):
            put_in_place(place, old)
        put_in_place(new, place)
    finally:
        for folder in (new, old):
            shutil.rmtree(folder, ignore_errors=True)


# --- The manifest, and whether the files are what it says.


@dataclass(frozen=True, slots=True)
class DerivedFile:
    """What a file was when it was written; the hash (xxh3-128) finds damage, not forgery."""

    size: int
    digest: str
    modified: int  # nanoseconds; a large file is hashed again when it differs
    dtype: str = ""  # of an array; "" = the file holds none
    shape: tuple[int, ...] = ()


def check(place: Path, *, contents: bool = False) -> Mapping[str, DerivedFile]:
    """The files of a place by name, after a check of their sizes and of what each holds as far as that is quick.

    With `contents` every file is hashed. Raises `StoreError` naming the first that is wrong.
    """
    files = _read_manifest(place)
    touched = [name for name, file in files.items() if _check_file(place / name, file, contents=contents)]
    if touched:  # a copy of the folder, say: the next opening need not hash it again
        renewed = {n: replace(files[n], modified=(place / n).stat().st_mtime_ns) for n in touched}
        with suppress(OSError):
            _write_manifest(place, {**files, **renewed})
    return files


def _check_file(path: Path, file: DerivedFile, *, contents: bool) -> bool:
    """Whether a large file has another time though its content is right; raises `StoreError` where that is wrong."""
    try:
        found = path.stat()
        touched = file.size > CHECKED and found.st_mtime_ns != file.modified
        hashed = contents or touched or file.size <= CHECKED
        right = found.st_size == file.size and (not hashed or hash_file(path) == file.digest)
    except OSError as error:
        raise _damaged(path, error.strerror or type(error).__name__) from None
    if not right:
        raise _damaged(path, "its content is not what was written")
    return touched


def _damaged(path: Path, problem: str) -> StoreError:
    """The error of a file that cannot be used."""
    return StoreError(f"{path}: damaged, {problem}; the next use makes it again (vectors: kgmed graph vectors)")


def _described(path: Path) -> DerivedFile:
    """A file that was just written."""
    found = path.stat()
    if found.st_size > CHECKED:  # not read at each opening, so a power cut must not lose it
        to_disk(path)
    file = DerivedFile(found.st_size, hash_file(path), found.st_mtime_ns)
    if path.suffix != ".npy":
        return file
    array = open_array(path)
    return replace(file, dtype=array.dtype.str, shape=array.shape)


def _write_manifest(folder: Path, files: Mapping[str, DerivedFile]) -> None:
    """Write the manifest, whole or not at all."""
    text = json.dumps({name: asdict(file) for name, file in files.items()})
    own = folder / f".{MANIFEST}-{os.urandom(4).hex()}"
    try:
        own.write_text(f"{xxhash.xxh3_128_hexdigest(text.encode())}\n{text}", encoding="utf-8")
        put_in_place(own, folder / MANIFEST)
    finally:
        own.unlink(missing_ok=True)


def _read_manifest(place: Path) -> dict[str, DerivedFile]:
    """The files of a place by name; raises `StoreError` where the manifest is missing or damaged."""
    path = place / MANIFEST
    try:
        digest, _, text = path.read_text(encoding="utf-8").partition("\n")
        if digest != xxhash.xxh3_128_hexdigest(text.encode()):
            raise _damaged(path, "its content is not what was written")
        rows = json.loads(text)
        return {name: DerivedFile(**{**row, "shape": tuple(row["shape"])}) for name, row in rows.items()}
    except OSError as error:
        raise _damaged(path, error.strerror or type(error).__name__) from None
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise _damaged(path, "no manifest of kgmed") from None


# --- The whole check of everything that is kept beside a graph.


def damage(folder: str) -> list[str]:
    """The first wrong file of everything derived whose files are not what was written; reads all of them."""
    return [found for place in places(folder) if (place / MANIFEST).exists() and (found := _damage(place))]


def unchecked(folder: str) -> list[str]:
    """What was derived without a manifest, by an older version or a hand: not used, and made again when needed."""
    bare = [place for place in places(folder) if not (place / MANIFEST).exists()]
    return [f"{place}: derived without a manifest, so it is not used; it can be removed" for place in bare]


def places(folder: str) -> list[Path]:
    """The folders of files that are derived from a graph, without those that are being written."""
    root = Path(folder) / "derived"
    holders = {path.parent for path in root.rglob("*") if path.name == MANIFEST or path.suffix in (".npy", ".usearch")}
    return sorted(p for p in holders if not any(part.startswith(".") for part in p.relative_to(root).parts))


def _damage(place: Path) -> str:
    """What is wrong with the files of a place; "" = nothing."""
    try:
        check(place, contents=True)
    except StoreError as error:
        return str(error) if place.exists() else ""  # another process replaces it just now
    return ""
