"""The index of all names of a graph; where there are very many, a second process works out half of their keys."""

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from kgmed.graph.store.arrays import Arena, HashIndex, NameHashes, index_names, load, save

if TYPE_CHECKING:
    from kgmed.graph.store.store import Store

_BLOCK = 1 << 14  # names read at a time
MANY = 1 << 20  # names; below, a second process would cost more than it saves
_PARTS = ("helper_plain", "helper_folded", "helper_folded_of")


class NameIndex:
    """The index of a folder whose arenas `name` and `alias` are written; with a helper while the block lasts."""

    def __init__(self, folder: Path, *, many: int = MANY, taken: Sequence[tuple["Store", int, int, int]] = ()) -> None:
        """Begin; with `many` names or more the second half is left to a helper.

        `taken` are entities whose names stand in another graph too: from one number there to before another, and the
        number of the first here.
        """
        self._folder, self._taken = folder, taken
        self._count = len(Arena.open(folder, "name")) + len(Arena.open(folder, "alias"))
        self._half = self._count if self._count < many else self._count // 2
        self._helper: subprocess.Popen[bytes] | None = None

    @contextmanager
    def helped(self) -> Iterator["NameIndex"]:
        """A block during which the helper works; it is stopped if the block ends early."""
        if self._half < self._count:
            command = [sys.executable, "-m", __name__, str(self._folder), str(self._half), str(self._count)]
            environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path or os.curdir for path in sys.path)}
            self._helper = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)  # noqa: S603
        try:
            yield self
        finally:
            if self._helper is not None:
                self._helper.kill()
                self._helper.wait()

    def write(self) -> None:
        """Write both indexes."""
        if self._taken and self._helper is None:
            self._write_taken()
            return
        first = _keys(self._folder, 0, self._half)
        second = self._helped() if self._half < self._count else None
        if second is not None:
            first = NameHashes(*(np.concatenate([first[i], second[i]]) for i in range(len(_PARTS))))
        HashIndex.write(self._folder, "normalised", first.plain, np.arange(len(first.plain), dtype=np.int32))
        HashIndex.write(self._folder, "folded", first.folded, first.folded_of)

    def _write_taken(self) -> None:
        """Write both indexes, with the keys of another graph where it has the name."""
        entities, alias_node = len(Arena.open(self._folder, "name")), load(self._folder, "alias_node")
        plain, loose = np.zeros((2, self._count), np.uint64)  # 0 = not known; no loose key
        known = np.zeros(self._count, bool)
        for store in {id(store): store for store, *_ in self._taken}.values():
            t, n = store.tables, len(store)
            keys, folded = np.zeros((2, n + len(t.alias)), np.uint64)
            keys[t.normalised.numbers], folded[t.folded.numbers] = t.normalised.hashes, t.folded.hashes
            for first, last, here in (row[1:] for row in self._taken if row[0] is store):
                there, begin = (n + t.alias_node.searchsorted([first, last])).tolist(), here + last - first
                mine = (entities + alias_node.searchsorted([here, begin])).tolist()
                if there[1] - there[0] == mine[1] - mine[0]:
                    for to, of in ((slice(here, begin), slice(first, last)), (slice(*mine), slice(*there))):
                        plain[to], loose[to], known[to] = keys[of], folded[of], True
        rest = np.flatnonzero(~known)
        names, aliases = Arena.open(self._folder, "name"), Arena.open(self._folder, "alias")
        found = index_names([names[i] if i < entities else aliases[i - entities] for i in rest.tolist()])
        plain[rest], loose[rest[found.folded_of]] = found.plain, found.folded
        other = np.flatnonzero(loose)
        HashIndex.write(self._folder, "normalised", plain, np.arange(self._count, dtype=np.int32))
        HashIndex.write(self._folder, "folded", loose[other], other.astype(np.int32))

    def _helped(self) -> NameHashes:
        """What the helper has worked out; where it could not, it is worked out here."""
        if self._helper is None or self._helper.wait() != 0:
            return _keys(self._folder, self._half, self._count)
        found = NameHashes(*(np.array(load(self._folder, part)) for part in _PARTS))
        for part in _PARTS:
            (self._folder / f"{part}.npy").unlink()
        return found


def _keys(folder: Path, first: int, last: int) -> NameHashes:
    """The keys of the names of those numbers."""
    return index_names(_texts(folder, first, last), first)


def _texts(folder: Path, first: int, last: int) -> Iterator[str]:
    """The names of those numbers: first those of the entities, then the aliases."""
    begin = 0
    for arena in (Arena.open(folder, "name"), Arena.open(folder, "alias")):
        end = min(last - begin, len(arena))
        for i in range(max(first - begin, 0), end, _BLOCK):
            yield from arena.many(np.arange(i, min(i + _BLOCK, end)))
        begin += len(arena)


def main() -> None:
    """The helper: work out the keys and leave them in files."""
    folder, first, last = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    found = _keys(folder, first, last)
    for i, part in enumerate(_PARTS):
        save(folder, part, found[i])


if __name__ == "__main__":
    main()
