"""What a stored graph says of itself, and the check that its files are the ones it was written with."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any

import xxhash

from kgmed.errors import StoreError
from kgmed.types import Relation, Role

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
    dropped: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # reason -> {count, lines}
    files: Mapping[str, tuple[int, str]] = field(default_factory=dict)  # name -> bytes, hash
    content: str = ""  # hash over the hashes of the files
    format: int = FORMAT
    check: str = ""  # hash of all fields above

    @property
    def bytes(self) -> int:
        """The size of all files on disk."""
        return sum(size for size, _ in self.files.values())


def hash_file(path: Path) -> str:
    """The xxh3-128 of a file's bytes, in hex."""
    if not path.stat().st_size:
        return xxhash.xxh3_128_hexdigest(b"")
    with path.open("rb") as f, mmap(f.fileno(), 0, access=ACCESS_READ) as data:  # needs no memory of its own
        return xxhash.xxh3_128_hexdigest(data)


def seal(manifest: Manifest, folder: Path) -> Manifest:
    """The manifest with the sizes and hashes of the folder's files, written as its `manifest.json`."""
    files = {p.name: (p.stat().st_size, hash_file(p)) for p in sorted(folder.glob("*.npy"))}
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


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a folder; raises `StoreError` when it is missing, unreadable or of another format."""
    path = folder / "manifest.json"
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        if data["format"] != FORMAT:
            raise StoreError(f"{path}: format {data['format']}, this kgmed reads {FORMAT}; build the graph again")
        if data["check"] != _check(data):
            raise StoreError(f"{path}: damaged, its content is not what was written; build the graph again")
        data["relations"] = tuple(Relation(r["name"], Role(r["role"]), r["reverse"]) for r in data["relations"])
        data["relation_counts"], data["kinds"] = tuple(data["relation_counts"]), tuple(data["kinds"])
        data["files"] = {name: (size, digest) for name, (size, digest) in data["files"].items()}
        return Manifest(**data)
    except (FileNotFoundError, NotADirectoryError):
        raise StoreError(f"{folder}: no graph is stored here; build one with: kgmed graph build") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as e:
        raise StoreError(f"{path}: not a manifest of kgmed ({type(e).__name__}); build the graph again") from None


def verify(manifest: Manifest, folder: Path, *, contents: bool = True) -> None:
    """Check every file's size and, with `contents`, its hash; raises `StoreError` naming the first that is wrong."""
    for name, (size, digest) in manifest.files.items():
        path = folder / name
        found = path.stat().st_size if path.is_file() else -1
        if found != size:
            raise StoreError(f"{path}: {'missing' if found < 0 else f'{found} bytes'}, expected {size}; build it again")
        if contents and hash_file(path) != digest:
            raise StoreError(f"{path}: damaged, its content is not what was written; build the graph again")
