"""The arrays and texts that a stored graph is made of."""

import json
import os
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from struct import Struct
from typing import Any, BinaryIO, Generic, NamedTuple, TypeVar, cast

import numpy as np
import xxhash
from numpy.typing import NDArray

from kgmed.derived import open_array
from kgmed.graph.base import Adjacency, Csr, Match
from kgmed.graph.store.folder import Manifest
from kgmed.language.text import fold_all, normalise_all
from kgmed.records import Entity, Relation, Support, Triple

# --- Many texts in one mapped file: text i stands at start[i], length[i] bytes of UTF-8.

_SMALL = 1 << 16  # bytes
_BLOCK = 1 << 14  # texts written at a time


class Arena:
    """Texts by number; what is read is decoded, the rest stays on disk."""

    def __init__(self, blob: NDArray[np.uint8], start: NDArray[np.int64], length: NDArray[np.int32]) -> None:
        """The bytes (b,), and for each of n texts where it begins and how many bytes it has."""
        self._blob, self._start, self._length = memoryview(blob.data), start, length
        self._begins, self._sizes = start.data, length.data  # single ones are read twice as fast

    @classmethod
    def open(cls, folder: Path, name: str) -> "Arena":
        """The arena `name` of a folder, mapped."""
        start, length = load(folder, f"{name}_start"), load(folder, f"{name}_length")
        return cls(load(folder, f"{name}_bytes"), start, length)

    def __len__(self) -> int:
        """The number of texts."""
        return len(self._start)

    def __getitem__(self, i: int) -> str:
        """Text i."""
        begin = self._begins[i]
        return str(self._blob[begin : begin + self._sizes[i]], "utf-8")

    def many(self, numbers: NDArray[np.integer[Any]]) -> list[str]:
        """The texts of those numbers."""
        begin, blob = self._start[numbers], self._blob
        parts = [blob[a:b] for a, b in zip(begin.tolist(), (begin + self._length[numbers]).tolist(), strict=True)]
        texts = b"\0".join(parts).decode().split("\0")  # decoded at once, in half the time
        return texts if len(texts) == len(parts) else [str(part, "utf-8") for part in parts]

    def stretch(self, first: int, last: int) -> tuple[bytes, bytes]:
        """The sizes and the bytes of the texts from `first` to before `last`."""
        begin, size = self._start[first:last], self._length[first:last]
        if last > first and (begin[1:] == begin[:-1] + size[:-1]).all():
            return size.tobytes(), bytes(self._blob[begin[0] : begin[-1] + size[-1]])
        return size.tobytes(), "".join(self.many(np.arange(first, last))).encode()

    def __iter__(self) -> Iterator[str]:
        """All texts in order, read in blocks."""
        for first in range(0, len(self), 1 << 16):
            starts = self._start[first : first + (1 << 16)].tolist()
            for begin, size in zip(starts, self._length[first : first + (1 << 16)].tolist(), strict=True):
                yield str(self._blob[begin : begin + size], "utf-8")

    def inserted(self, places: NDArray[np.int64], texts: Sequence[str]) -> "Arena":
        """A copy with more texts, as `numpy.insert` has it: each stands before the text that now has its place."""
        return _Extended(self._blob, self._start, self._length, b"").inserted(places, texts)


class _Extended(Arena):
    """An arena with a second, short blob in memory; what starts at or after the end of the first stands there."""

    def __init__(self, blob: memoryview, start: NDArray[np.int64], length: NDArray[np.int32], tail: bytes) -> None:
        self._blob, self._start, self._length, self._tail = blob, start, length, tail

    def __getitem__(self, i: int) -> str:
        return self._at(self._start.item(i), self._length.item(i))

    def many(self, numbers: NDArray[np.integer[Any]]) -> list[str]:
        return [self[i] for i in numbers.tolist()]

    def __iter__(self) -> Iterator[str]:
        return map(self._at, self._start.tolist(), self._length.tolist())

    def _at(self, begin: int, size: int) -> str:
        if begin < len(self._blob) or not size:
            return str(self._blob[begin : begin + size], "utf-8")
        begin -= len(self._blob)
        return self._tail[begin : begin + size].decode()

    def inserted(self, places: NDArray[np.int64], texts: Sequence[str]) -> "Arena":
        """A copy with more texts."""
        data = [text.encode() for text in texts]
        length = np.array([len(d) for d in data], np.int32)
        start = np.cumsum(length) - length + len(self._blob) + len(self._tail)
        return _Extended(
            self._blob,
            np.insert(self._start, places, start),
            np.insert(self._length, places, length),
            self._tail + b"".join(data),
        )


LONGEST_NAME, LONGEST_TEXT = 1 << 16, 1 << 24  # bytes; the work of a name grows faster than it does


class TextTooLong(ValueError):
    """A text that no arena takes; its beginning, its bytes and the most that are taken."""

    def __init__(self, text: bytes, most: int) -> None:
        """Say so."""
        super().__init__(f"{text[:40].decode(errors='ignore')!r}... of {len(text):,} bytes, above {most:,}")


class ArenaWriter:
    """Appends texts to a file of bytes; where each stands is kept, 12 bytes a text."""

    def __init__(self, folder: Path, name: str, *, longest: int = LONGEST_TEXT) -> None:
        """Begin the arena `name` in a folder; a text of more than `longest` bytes raises `TextTooLong`."""
        self._folder, self._name, self._longest = folder, name, longest
        self._file: BinaryIO = (folder / f"{name}_bytes.npy").open("w+b")
        self._file.write(_header(0))
        self._end = 0
        self.start, self.length = array("q"), array("i")

    def add(self, text: str) -> int:
        """Append a text; its number."""
        data = text.encode()
        if len(data) > self._longest:
            raise TextTooLong(data, self._longest)
        self._file.write(data)
        self.start.append(self._end)
        self.length.append(len(data))
        self._end += len(data)
        return len(self.start) - 1

    def extend(self, texts: Iterable[str]) -> None:
        """Append many texts, a block at a time."""
        rest = iter(texts)
        while data := [text.encode() for text in islice(rest, _BLOCK)]:
            sizes = np.fromiter(map(len, data), np.int32, len(data))
            if sizes.max() > self._longest:
                raise TextTooLong(data[sizes.argmax()], self._longest)
            self._file.write(b"".join(data))
            self.start.frombytes((self._end + np.cumsum(sizes, dtype=np.int64) - sizes).tobytes())
            self.length.frombytes(sizes.tobytes())
            self._end += int(sizes.sum(dtype=np.int64))

    def peek(self, i: int) -> str:
        """Text i, read back while the arena is being written."""
        self._file.seek(128 + self.start[i])
        data = self._file.read(self.length[i])
        self._file.seek(0, os.SEEK_END)
        return data.decode()

    def close(self, order: NDArray[np.int64] | None = None) -> None:
        """Finish the files; `order` lists the arrival numbers in the order in which texts are to be numbered."""
        self._file.seek(0)
        self._file.write(_header(self._end))
        self._file.close()
        start, length = np.frombuffer(self.start, np.int64), np.frombuffer(self.length, np.int32)
        save(self._folder, f"{self._name}_start", start if order is None else start[order])
        save(self._folder, f"{self._name}_length", length if order is None else length[order])

    def abandon(self) -> None:
        """Close the file of an unfinished arena."""
        self._file.close()


def write_arena(folder: Path, name: str, texts: Iterable[str]) -> None:
    """Write all texts of the arena `name`."""
    writer = ArenaWriter(folder, name)
    try:
        writer.extend(texts)
        writer.close()
    finally:
        writer.abandon()


def rename_arena(folder: Path, old: str, new: str) -> None:
    """Give a finished arena another name."""
    for part in ("bytes", "start", "length"):
        (folder / f"{old}_{part}.npy").rename(folder / f"{new}_{part}.npy")


def _header(size: int) -> bytes:
    """The 128 bytes before the data of a one-dimensional .npy file of bytes; the same length for every size."""
    text = f"{{'descr': '|u1', 'fortran_order': False, 'shape': ({size},), }}"
    return b"\x93NUMPY\x01\x00" + (118).to_bytes(2, "little") + text.ljust(117).encode() + b"\n"


def load(folder: Path, name: str) -> NDArray[Any]:
    """The array `name` of a folder, mapped read-only; a small one is read, as a map holds a file open."""
    path = folder / f"{name}.npy"
    return open_array(path, mapped=path.stat().st_size > _SMALL)


def save(folder: Path, name: str, values: NDArray[Any]) -> None:
    """Write the array `name` of a folder."""
    np.save(folder / f"{name}.npy", values, allow_pickle=False)


# --- The sorted index of names: from the hash of a normalised or folded name to the numbers of the names that have it.

_NAMES_AT_ONCE = 1 << 14  # names indexed at a time
_FIRST_EIGHT = Struct("<Q8x").unpack


def key_hash(key: str) -> int:
    """The 64 bits that stand for a key: the first eight bytes of its xxh3-128."""
    found: int = _FIRST_EIGHT(xxhash.xxh3_128_digest(key.encode("utf-8", "surrogatepass")))[0]
    return found


def digests(keys: Iterable[str]) -> NDArray[np.uint64]:
    """The xxh3-128 of each key (k, 2); its first column is `key_hash`. Raises `UnicodeEncodeError`."""
    return np.frombuffer(b"".join(map(xxhash.xxh3_128_digest, map(str.encode, keys))), "<u8").reshape(-1, 2)


class HashIndex:
    """Sorted hashes and what each belongs to; equal hashes stand side by side."""

    def __init__(self, hashes: NDArray[np.uint64], numbers: NDArray[np.int32]) -> None:
        """Hashes (k,) in ascending order and a number for each."""
        self.hashes, self.numbers = hashes, numbers
        self._sorted, self._of = hashes.data, numbers.data  # single ones are read three times as fast

    @classmethod
    def open(cls, folder: Path, name: str) -> "HashIndex":
        """The index `name` of a folder, mapped."""
        return cls(load(folder, f"{name}_hash"), load(folder, f"{name}_number"))

    @staticmethod
    def write(folder: Path, name: str, hashes: NDArray[np.uint64], numbers: NDArray[np.int32]) -> None:
        """Sort and store; the numbers come in ascending order."""
        order = np.argsort(hashes, kind="stable")
        save(folder, f"{name}_hash", hashes[order])
        save(folder, f"{name}_number", numbers[order])

    def inserted(self, hashes: NDArray[np.uint64], numbers: NDArray[np.int32]) -> "HashIndex":
        """A copy with more entries."""
        order = np.argsort(hashes, kind="stable")
        places = self.hashes.searchsorted(hashes[order], side="right")
        return HashIndex(np.insert(self.hashes, places, hashes[order]), np.insert(self.numbers, places, numbers[order]))

    def find(self, key: str) -> list[int]:
        """The numbers stored under a key, and seldom those of another key with the same hash."""
        wanted, hashes = key_hash(key), self._sorted
        first = last = bisect_left(hashes, wanted)
        while last < len(hashes) and hashes[last] == wanted:
            last += 1
        return self._of[first:last].tolist()


class NameHashes(NamedTuple):
    """The hashes of the normalised names, in their order, and of the folded ones that differ, with their numbers."""

    plain: NDArray[np.uint64]
    folded: NDArray[np.uint64]
    folded_of: NDArray[np.int32]


def index_names(names: Iterable[str], first: int = 0) -> NameHashes:
    """The keys of names that are numbered from `first`."""
    plain: list[NDArray[np.uint64]] = [np.empty(0, np.uint64)]
    folded: list[NDArray[np.uint64]] = [np.empty(0, np.uint64)]
    folded_of, rest = array("i"), iter(names)
    while block := list(islice(rest, _NAMES_AT_ONCE)):
        keys = normalise_all(block)
        loose = fold_all(keys)
        other = [i for i, key in enumerate(keys) if loose[i] != key]
        plain.append(digests(keys)[:, 0].copy())
        folded.append(digests(loose[i] for i in other)[:, 0].copy())
        folded_of.extend(i + first for i in other)
        first += len(block)
    return NameHashes(np.concatenate(plain), np.concatenate(folded), np.array(folded_of, np.int32))


# --- The supports of edges and texts while a graph is built: each is one JSON text, number 0 says nothing.


class Supports:
    """Numbers for supports as they come; their texts go to the arena `support`."""

    def __init__(self, folder: Path) -> None:
        """Begin with number 0."""
        self.texts = ArenaWriter(folder, "support")
        self.texts.add("")

    def number(self, support: tuple[Support, ...]) -> int:
        """The number of a support; 0 where there is none."""
        return self.texts.add(pack_support(support)) if support else 0

    def numbers(self, supports: Sequence[tuple[Support, ...]]) -> NDArray[np.uint32]:
        """The number of each support (n,)."""
        if not any(supports):
            return np.zeros(len(supports), np.uint32)
        return np.fromiter(map(self.number, supports), np.uint32, len(supports))

    def packed(self, texts: Iterable[str]) -> list[int]:
        """The number of each support that is packed already; 0 for ""."""
        many, first = list(texts), len(self.texts.start)
        self.texts.extend(text for text in many if text)
        said = np.array([bool(text) for text in many], bool)
        numbers: list[int] = np.where(said, first - 1 + np.cumsum(said), 0).tolist()
        return numbers

    def merged(self, numbers: NDArray[Any], starts: NDArray[np.int64]) -> NDArray[Any]:
        """Of each run of numbers, which begin at `starts`, the one that says all of it, each word once."""
        if len(starts) == len(numbers):
            return numbers
        sizes = np.diff(np.append(starts, len(numbers)))
        many = np.add.reduceat(numbers > 0, starts, dtype=np.int64)
        kept = np.maximum.reduceat(numbers, starts)
        for i in np.flatnonzero(many > 1):
            kept[i] = self._joined([int(n) for n in numbers[starts[i] : starts[i] + sizes[i]] if n])
        return kept

    def _joined(self, numbers: list[int]) -> int:
        rows = [json.dumps(row, ensure_ascii=False) for n in numbers for row in json.loads(self.texts.peek(n))]
        return self.texts.add("[" + ",".join(dict.fromkeys(rows)) + "]")


def pack_support(support: Iterable[Support]) -> str:
    """The text that a support is stored as, each word once."""
    rows = [[s.reference, s.qualifiers] for s in dict.fromkeys(support)]
    return json.dumps(rows, ensure_ascii=False, separators=(",", ":"))


class Tables(NamedTuple):
    """All of a graph's data: n entities, m edges in the outgoing order, a aliases, t texts.

    The names are numbered together: those of the entities 0..n-1, the aliases n..n+a-1.
    """

    adjacency: Adjacency
    key: Arena  # (n,) ids without the graph's prefix; the same object as `name` where they are the names
    name: Arena  # (n,)
    keys: HashIndex  # key -> node
    normalised: HashIndex  # normalised name -> name number
    folded: HashIndex  # folded name -> name number, where it is not the normalised one
    kind: NDArray[np.uint16]  # (n,) number in Manifest.kinds
    alias: Arena  # (a,) sorted by node
    alias_node: NDArray[np.int32]  # (a,)
    alias_scope: NDArray[np.uint8]  # (a,)
    alias_language: NDArray[np.uint8] | None  # (a,) number in Manifest.languages; None = all 0
    description: Arena  # (d,)
    described: NDArray[np.int32]  # (d,) node of each description, ascending; of equal ones the last counts
    text: Arena  # (t,) sorted by node
    text_node: NDArray[np.int32]  # (t,)
    text_relation: NDArray[np.uint16]  # (t,)
    text_support: NDArray[np.uint32]  # (t,) number in `support`
    support: Arena  # JSON: [[reference, [[key, value], ...]], ...]; number 0 = none
    weight: NDArray[np.float32] | None  # (m,); None = all 1
    edge_support: NDArray[np.uint32] | None  # (m,) number in `support`; None = all 0

    @classmethod
    def open(cls, folder: Path, manifest: Manifest) -> "Tables":
        """The tables of a version folder, mapped."""

        name = Arena.open(folder, "name")
        found: dict[str, Any] = {column: load(folder, column) for column in _COLUMNS}
        found |= {index: HashIndex.open(folder, file) for index, file in _INDEXES.items()}
        found |= {arena: Arena.open(folder, arena) for arena in ("alias", "description", "text", "support")}
        for column in ("weight", "edge_support", "alias_language"):
            found[column] = load(folder, column) if f"{column}.npy" in manifest.files else None
        key = Arena.open(folder, "key") if "key_start.npy" in manifest.files else name
        return cls(adjacency=_adjacency(folder), key=key, name=name, **found)


_INDEXES = {"keys": "key", "normalised": "normalised", "folded": "folded"}
_COLUMNS = ("kind", "alias_node", "alias_scope", "described", "text_node", "text_relation", "text_support")


def _adjacency(folder: Path) -> Adjacency:
    """Both directions of a version's edges, mapped."""
    out = Csr(load(folder, "out_indptr"), load(folder, "out_neighbour"), load(folder, "out_relation"))
    into = Csr(*(load(folder, f"in_{name}") for name in ("indptr", "neighbour", "relation", "edge")))
    return Adjacency(out, into)


# --- Frozen records made many at a time, and the last ones kept.

K = TypeVar("K")
R = TypeVar("R")
_MOST, _AT_ONCE = 1 << 13, 1 << 6


def _unfrozen(record: type) -> Any:
    """A class whose objects have the same fields in the same places, and may still be changed."""
    return type(record.__name__, (), {"__slots__": record.__slots__})  # type: ignore[attr-defined]


_ENTITY, _MATCH, _TRIPLE = map(_unfrozen, (Entity, Match, Triple))


def entity_of(key: str, name: str, kind: str) -> Entity:
    """An entity without a description; as the next two, made in a third of the time of calling the frozen class.

    >>> entity_of("HP:0001945", "Fever", "symptom")
    Entity(id='HP:0001945', name='Fever', kind='symptom', description='')
    """
    made = _ENTITY()
    made.id, made.name, made.kind, made.description = key, name, kind, ""
    made.__class__ = Entity
    return cast(Entity, made)


def match_of(entity: Entity, name: str, how: str, score: float) -> Match:
    """What a name led to."""
    made = _MATCH()
    made.entity, made.name, made.how, made.score = entity, name, how, score
    made.__class__ = Match
    return cast(Match, made)


def triples_of(
    heads: Iterable[Entity],
    relations: Iterable[Relation],
    tails: Iterable[Entity],
    weights: Iterable[float],
    sources: Iterable[str],
    supports: Iterable[tuple[Support, ...]],
) -> list[Triple]:
    """Triples, as many as there are heads; in one loop, in two thirds of the time of a call for each."""
    found: list[Triple] = []
    new, keep = _TRIPLE, found.append
    columns = zip(heads, relations, tails, weights, sources, supports, strict=False)  # some repeat for ever
    for head, relation, tail, weight, source, support in columns:
        made = new()
        made.head, made.relation, made.tail = head, relation, tail
        made.weight, made.source, made.support = weight, source, support
        made.__class__ = Triple
        keep(made)
    return found


class RecordCache(Generic[K, R]):
    """Records by number or id; one that was made is not made again until there are too many, when the oldest go.

    They go as others come: to let go of all at once took ten times as long as making those of an entity.
    """

    def __init__(self) -> None:
        """Begin with none."""
        self._kept: dict[K, R] = {}

    def one(self, number: K, make: Callable[[K], R]) -> R:
        """The record of a number; `make` makes it if it is not kept."""
        found = self._kept.get(number)
        if found is None:
            found = self._kept[number] = make(number)
            if len(self._kept) > _MOST:
                self._let_go()
        return found

    def _let_go(self) -> None:
        """Let go of the oldest records where there are too many; another thread may do so too, or put some there."""
        for number in list(self._kept)[: max(0, len(self._kept) - _MOST) + _AT_ONCE]:
            self._kept.pop(number, None)

    def __call__(self, numbers: list[K], make: Callable[[list[K]], list[R]]) -> list[R]:
        """The records of those numbers; `make` makes those that are not kept."""
        kept = self._kept
        try:
            return list(map(kept.__getitem__, numbers))
        except KeyError:  # another thread may let go of some at any moment
            known = dict(zip(numbers, map(kept.get, numbers), strict=True))
        new = [number for number, record in known.items() if record is None]
        made = make(new) if new else []  # another thread may have made them since
        kept.update(zip(new, made, strict=True))
        if len(kept) > _MOST:
            self._let_go()
        if len(made) == len(numbers):
            return made
        known.update(zip(new, made, strict=True))
        return list(map(known.__getitem__, numbers))  # type: ignore[arg-type]
