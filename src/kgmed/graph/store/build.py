"""From a stream of rows to a stored graph, in one pass.

Memory grows with the names of the entities, not with the edges: edges go to column files as they come and are sorted
once at the end (24 bytes an edge while sorting). The graph is written beside the old one and takes its place by
renaming one small file, so that a build that is killed leaves the old graph whole.
"""

import gc
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kgmed.errors import SourceError
from kgmed.graph.base import MENDED, Batches, DroppedRow, EdgeRow, NodeRow, Row, Source, TextRow, Told, indptr
from kgmed.graph.formats.base import infer, kinds_of
from kgmed.graph.store.arrays import (
    LONGEST_NAME,
    LONGEST_TEXT,
    Arena,
    ArenaWriter,
    HashIndex,
    Supports,
    TextTooLong,
    digests,
    rename_arena,
    save,
    write_arena,
)
from kgmed.graph.store.folder import Manifest, beside, publish, seal
from kgmed.graph.store.index import NameIndex
from kgmed.records import Relation

if TYPE_CHECKING:
    from kgmed.graph.store.store import Store

# --- Numbers for names while a graph is read: 20 bytes a name in memory, the names themselves on disk.
# A name is known by its 128-bit hash (xxh3), so that a million names make no million Python strings: looking them up
# in a dict misses the processor's caches at every step. Two of 10 million names share a
# hash with a probability of 1e-25. The table is open addressing with linear probing, probed for many names at once.

_FULL = 0.5  # of the table in use before it is doubled
_FIRST = 1 << 12


Ints = NDArray[Any]


class Interner:
    """Numbers 0, 1, ... in the order in which names are first met; the names go to the arena `key`."""

    def __init__(self, folder: Path, kind: type[np.signedinteger[Any]] = np.int32) -> None:
        """Begin with no name; `kind` is that of the numbers."""
        self.names, self.kind = ArenaWriter(folder, "key", longest=LONGEST_NAME), kind
        self._table = np.full(_FIRST, -1, kind)  # slot -> number
        self._hashes = np.empty((_FIRST, 2), np.uint64)  # number -> hash; only the first `len(self)` rows count
        self._count = 0

    def __len__(self) -> int:
        """How many names are known."""
        return self._count

    @property
    def hashes(self) -> NDArray[np.uint64]:
        """The `key_hash` of every name, in the order of their numbers."""
        return self._hashes[: self._count, 0]

    def __call__(self, names: Sequence[str]) -> Ints:
        """The number of each name (k,), old or new. Raises `UnicodeEncodeError` for half a character."""
        hashes = digests(names)
        numbers = self._find(hashes)
        missing = np.flatnonzero(numbers < 0)
        if len(missing):
            numbers[missing] = self._add(hashes[missing], [names[i] for i in missing.tolist()])
        return numbers

    def _find(self, hashes: NDArray[np.uint64]) -> Ints:
        """The number of each hash; -1 = not known."""
        found = np.full(len(hashes), -1, self.kind)
        slots, todo = self._slots(hashes), np.arange(len(hashes))
        while len(todo):
            number = self._table[slots[todo]]
            taken = number >= 0
            same = taken & _equal(self._hashes[number], hashes[todo])
            found[todo[same]] = number[same]
            todo = todo[taken & ~same]
            slots[todo] = (slots[todo] + 1) & (len(self._table) - 1)
        return found

    def _add(self, hashes: NDArray[np.uint64], names: Sequence[str]) -> Ints:
        """The numbers of new names, in which one may stand several times; numbered as they are met."""
        order = np.lexsort((hashes[:, 1], hashes[:, 0]))
        differs = np.ones(len(order), bool)
        differs[1:] = ~_equal(hashes[order[1:]], hashes[order[:-1]])
        group = np.empty(len(order), np.int64)
        group[order] = np.cumsum(differs) - 1
        first = order[differs]  # lexsort is stable: of equals the one met first
        place = np.argsort(first)
        number = np.empty(len(first), self.kind)
        number[place] = np.arange(self._count, self._count + len(first))
        self.names.extend(names[i] for i in first[place].tolist())
        self._enter(hashes[first[place]])
        return number[group]

    def _enter(self, hashes: NDArray[np.uint64]) -> None:
        """Give the next numbers to hashes that are new and distinct."""
        begin, self._count = self._count, self._count + len(hashes)
        if self._count > len(self._hashes):
            larger = np.empty((max(2 * len(self._hashes), self._count), 2), np.uint64)
            larger[:begin] = self._hashes[:begin]
            self._hashes = larger
        self._hashes[begin : self._count] = hashes
        if self._count > _FULL * len(self._table):
            self._table = np.full(1 << int(self._count / _FULL).bit_length(), -1, self.kind)
            begin = 0
        self._place(np.arange(begin, self._count, dtype=self.kind))

    def _place(self, numbers: Ints) -> None:
        """Put numbers into the table at the first free slot from that of their hash."""
        slots = self._slots(self._hashes[numbers])
        todo = np.arange(len(numbers))
        while len(todo):
            free = todo[self._table[slots[todo]] < 0]
            self._table[slots[free]] = numbers[free]  # of several for one slot the last stays
            todo = todo[self._table[slots[todo]] != numbers[todo]]
            slots[todo] = (slots[todo] + 1) & (len(self._table) - 1)

    def _slots(self, hashes: NDArray[np.uint64]) -> NDArray[np.int64]:
        return (hashes[:, 0] & np.uint64(len(self._table) - 1)).astype(np.int64)


class Numbers:
    """The numbers of a reader's codes (see `rows.Batches`); what a code stands for is asked once."""

    def __init__(self, meet: Callable[[list[int]], Sequence[int] | Ints], kind: Any = np.int32) -> None:
        """`meet` gives the numbers of codes that are new; `kind` is that of the numbers."""
        self._meet = meet
        self._number = np.full(_FIRST, -1, kind)

    def __call__(self, codes: NDArray[np.integer[Any]]) -> Ints:
        """The number of each code (k,); new ones are numbered as they are met."""
        if len(codes) and codes.max() >= len(self._number):
            more = max(len(self._number), int(codes.max()) + 1 - len(self._number))
            self._number = np.append(self._number, np.full(more, -1, self._number.dtype))
        numbers: Ints = self._number[codes]
        if (missing := numbers < 0).any():
            new = codes[missing]
            new = new[np.sort(np.unique(new, return_index=True)[1])]
            self._number[new] = self._meet(new.tolist())
            numbers = self._number[codes]
        return numbers


def _mapped(numbers: dict[int, int], values: Ints) -> Ints:
    """The number of each value."""
    table = np.zeros(max(numbers, default=0) + 1, values.dtype)
    table[list(numbers)] = list(numbers.values())
    return table[values]


def _equal(a: NDArray[np.uint64], b: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Whether the hashes of two lists (k, 2) are the same, pair by pair."""
    return np.asarray((a[:, 0] == b[:, 0]) & (a[:, 1] == b[:, 1]))


# --- The edges of a graph on their way in: spilled to one file a column, sorted once, written in both directions.

_CODES = {"head": "i", "tail": "i", "relation": "H", "weight": "f", "support": "I"}
_USUAL = {"weight": 1, "support": 0}  # a column that holds nothing else has no file
_EDGE = np.uint64(32)  # bits of an edge's number in a key
MOST_OF_ONE = (1 << 31) - 1  # entities or edges that one store can number; a graph in shards has no such bound


class Written(NamedTuple):
    """What was written: how many edges, how many were merged into others, how many join a node to itself."""

    edges: int
    merged: int
    loops: int
    of_relation: tuple[int, ...]


class EdgeColumns:
    """The edges as they come: one file a column, written in blocks."""

    def __init__(self, folder: Path, *, wide: bool = False) -> None:
        """Begin the files in a folder; `wide`: for numbers of nodes beyond 2^31."""
        self._folder, self._count = folder, 0
        self._codes = _CODES | ({"head": "q", "tail": "q"} if wide else {})
        self._files: dict[str, BinaryIO] = {}
        for name in _CODES.keys() - _USUAL.keys():
            self._begin(name)

    def __len__(self) -> int:
        """How many edges have come."""
        return self._count

    def extend(self, head: Ints, tail: Ints, relation: Ints, **unusual: Ints | None) -> None:
        """Write a block of edges; `weight` = None where all are 1, `support` = None where there is none."""
        for name, values in {"head": head, "tail": tail, "relation": relation, **unusual}.items():
            if values is not None and name not in self._files:
                self._begin(name).write(np.full(self._count, _USUAL[name], self._codes[name]).tobytes())
            if name in self._files:
                usual = np.full(len(head), _USUAL.get(name, 0), self._codes[name])
                self._files[name].write(np.asarray(usual if values is None else values, self._codes[name]).tobytes())
        self._count += len(head)

    def finish(self, nodes: int, relations: int, supports: Supports) -> Written:
        """Sort the edges, merge equal ones and write both directions."""
        self.close()
        if self._files.keys() & _USUAL.keys():
            head, tail, relation, merged = self._merged(nodes, relations, supports)
        else:
            taken = self._take  # each column is held by `_sorted` alone, which lets go of it
            head, tail, relation = _sorted(taken("head"), taken("tail"), taken("relation"), nodes, relations)
            merged = self._count - len(head)
        write_adjacency(self._folder, head, tail, relation, nodes)
        counts = np.bincount(relation, minlength=relations)
        return Written(len(head), merged, int((head == tail).sum()), tuple(counts.tolist()))

    def _merged(self, nodes: int, relations: int, supports: Supports) -> tuple[Ints, Ints, Ints, int]:
        """The edges in order, each once with its largest weight and the support of all; those columns are written."""
        head, tail, relation = (self._take(name) for name in ("head", "tail", "relation"))
        order = _order(head, tail, relation, nodes, relations)
        head, tail, relation = head[order], tail[order], relation[order]
        first = np.ones(len(head), bool)
        first[1:] = (head[1:] != head[:-1]) | (tail[1:] != tail[:-1]) | (relation[1:] != relation[:-1])
        starts = np.flatnonzero(first)
        if "weight" in self._files:
            save(self._folder, "weight", np.maximum.reduceat(self._take("weight")[order], starts))
        if "support" in self._files:
            save(self._folder, "edge_support", supports.merged(self._take("support")[order], starts))
        return head[first], tail[first], relation[first], len(head) - len(starts)

    def _begin(self, name: str) -> BinaryIO:
        file = self._files[name] = (self._folder / f"{name}.column").open("wb")
        return file

    def _take(self, name: str) -> Ints:
        """A column as an array; its file is removed."""
        path = self._folder / f"{name}.column"
        values = np.fromfile(path, np.dtype(self._codes[name]))
        path.unlink()
        return values

    def parts(self, size: int) -> Iterator[dict[str, Ints]]:
        """The columns by name, so many edges at a time, after `close`."""
        for first in range(0, self._count, size):
            many = min(size, self._count - first)
            yield {name: self._read(name, first, many) for name in self._files}

    def _read(self, name: str, first: int, many: int) -> Ints:
        kind = np.dtype(self._codes[name])
        return np.fromfile(self._folder / f"{name}.column", kind, many, offset=first * kind.itemsize)

    def remove(self) -> None:
        """Remove the files."""
        for name in self._files:
            (self._folder / f"{name}.column").unlink()

    def close(self) -> None:
        """Close the files."""
        for file in self._files.values():
            file.close()


def _bits(many: int) -> np.uint64:
    """The bits of the numbers below `many`."""
    return np.uint64(max(int(many - 1).bit_length(), 1))


def _key(head: Ints, tail: Ints, relation: Ints, node: np.uint64, kind: np.uint64) -> NDArray[np.uint64]:
    """Numbers in the order of (head, tail, relation), where so many bits are enough for a node and a relation."""
    key = head.astype(np.uint64)
    key <<= node
    key |= tail.view(np.uint32)
    key <<= kind
    key |= relation
    return key


def _order(head: Ints, tail: Ints, relation: Ints, nodes: int, relations: int) -> NDArray[np.int64]:
    """The order by (head, tail, relation), then of arrival."""
    node, kind = _bits(nodes), _bits(relations)
    if 2 * node + kind > 64:
        return np.lexsort((relation, tail, head))
    return np.argsort(_key(head, tail, relation, node, kind), kind="stable")


def _sorted(head: Ints, tail: Ints, relation: Ints, nodes: int, relations: int) -> tuple[Ints, Ints, Ints]:
    """The distinct edges by (head, tail, relation)."""
    node, kind = _bits(nodes), _bits(relations)
    if 2 * node + kind > 64:
        order = np.lexsort((relation, tail, head))
        head, tail, relation = head[order], tail[order], relation[order]
        new = np.ones(len(head), bool)
        new[1:] = (head[1:] != head[:-1]) | (tail[1:] != tail[:-1]) | (relation[1:] != relation[:-1])
        return head[new], tail[new], relation[new]
    key = _key(head, tail, relation, node, kind)
    del head, tail, relation
    key.sort()  # in place: several times as fast as finding the order
    differs = key[1:] != key[:-1]
    if not differs.all():
        key = key[np.append(True, differs)]
    del differs
    relation = (key & _low(kind)).astype(np.uint16)
    key >>= kind
    tail = (key & _low(node)).astype(np.int32)
    key >>= node
    return key.astype(np.int32), tail, relation


def _low(bits: np.uint64) -> np.uint64:
    """The number whose lowest bits are set."""
    return (np.uint64(1) << bits) - np.uint64(1)


def write_adjacency(folder: Path, head: Ints, tail: Ints, relation: Ints, nodes: int) -> None:
    """Both directions, from edges sorted by (head, tail, relation)."""
    save(folder, "out_indptr", indptr(head, nodes))
    save(folder, "out_neighbour", tail)
    save(folder, "out_relation", relation)
    save(folder, "in_indptr", indptr(tail, nodes))
    key = tail.astype(np.uint64)
    key <<= _EDGE
    key |= np.arange(len(key), dtype=np.uint32)
    key.sort()  # within a tail the order by (head, relation) stays
    order = key.astype(np.uint32).view(np.int32)
    del key
    save(folder, "in_neighbour", head[order])
    save(folder, "in_relation", relation[order])
    save(folder, "in_edge", order)


# --- Texts about entities on their way in: names, aliases, descriptions, attributes.


class EntityTexts:
    """Texts with the number of their entity and further columns, as they come; sorted by entity at the end."""

    def __init__(
        self, folder: Path, name: str, nodes: str, *, wide: bool = False, longest: int = LONGEST_TEXT, **columns: str
    ) -> None:
        """Begin the arena `name`; `nodes` is the file of the entities, `columns` the files and types of the others."""
        self.texts = ArenaWriter(folder, name, longest=longest)
        self._folder, self._files = folder, (nodes, *columns)
        self._columns = [array(code) for code in ("q" if wide else "i", *columns.values())]

    def __len__(self) -> int:
        """The number of texts."""
        return len(self._columns[0])

    @property
    def nodes(self) -> Ints:
        """The entity of each text, in the order in which they came."""
        return np.frombuffer(self._columns[0], self._columns[0].typecode)

    def extend(self, texts: Iterable[str], *columns: Iterable[int]) -> None:
        """Append texts, with their entities and the other columns."""
        self.texts.extend(texts)
        for column, values in zip(self._columns, columns, strict=True):
            if isinstance(values, np.ndarray):
                column.frombytes(values.astype(column.typecode, copy=False).tobytes())
            else:
                column.extend(values)

    def close(self) -> None:
        """Write the files."""
        order = np.argsort(self.nodes, kind="stable")
        self.texts.close(order)
        for file, column in zip(self._files, self._columns, strict=True):
            save(self._folder, file, np.frombuffer(column, column.typecode)[order])


Progress = Callable[[int], None]  # called with the number of rows read so far

_EVERY = 1 << 13
_LISTED = 10  # lines that are told of each reason for which rows are dropped or mended
MOST, MOST_LANGUAGES = 65_535, 255  # what two bytes and one can number


def build(source: Source, folder: Path, *, progress: Progress | None = None, inputs: str = "") -> Manifest:
    """Read a source into the graph folder `folder` and make it the current version; what was there stays until then.

    Raises what the source raises, usually `SourceError`; nothing is left behind then.
    """
    with beside(folder) as work, builder_of(source, work) as builder:
        builder.read(progress)
        manifest = builder.finish(folder.name, inputs)
        publish(folder, work, manifest.content)
    return manifest


@contextmanager
def builder_of(source: Source, folder: Path, *, wide: bool = False) -> Iterator["_Builder"]:
    """What takes in the rows of a source in a block that closes its files; `wide`: for numbers beyond 2^31."""
    with _no_collection():
        builder = _Builder(source, folder, wide=wide)
        try:
            yield builder
        except UnicodeEncodeError as e:
            raise builder.fault(f"holds half a character (a lone surrogate) in {e.object!r}", "mend that name") from e
        except TextTooLong as e:
            raise builder.fault(f"holds a name or text that is too long ({e})", "shorten it or leave it out") from e
        finally:
            builder.close()


@contextmanager
def _no_collection() -> Iterator[None]:
    """Rows hold no cycles; looking for some among millions of them would take a third of the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


class _RelationNumbers(dict[str, int]):
    """Numbers by name, in the order in which names are met; `meet` takes in a new one and gives its number."""

    def __init__(self, meet: Callable[[str], int]) -> None:
        super().__init__()
        self._meet = meet

    def __missing__(self, name: str) -> int:
        number = self[name] = self._meet(name)
        return number


class _Builder:
    """What is known while the rows come in."""

    def __init__(self, source: Source, folder: Path, *, wide: bool = False) -> None:
        self.source, self.folder = source, folder
        self.number = Interner(folder, np.int64 if wide else np.int32)
        self.kind = array("H")
        self.kinds: dict[str, int] = {"": 0}
        self.relations = _RelationNumbers(self._relation)
        self.declared: list[Relation] = []
        self.ends: list[tuple[int, int]] = []  # relation -> kind of head, kind of tail
        self.columns, self.supports = EdgeColumns(folder, wide=wide), Supports(folder)
        # names that are not the key
        self.given = EntityTexts(folder, "given", "given_node", wide=wide, longest=LONGEST_NAME)
        self.description = EntityTexts(folder, "description", "described", wide=wide)
        self.alias = EntityTexts(
            folder, "alias", "alias_node", wide=wide, longest=LONGEST_NAME, alias_scope="B", alias_language="B"
        )
        self.languages: dict[str, int] = {"": 0}
        self.text = EntityTexts(folder, "text", "text_node", wide=wide, text_relation="H", text_support="I")
        self.taken: list[tuple[Store, int, int, int]] = []  # of a graph the first and after the last, the first here
        self.dropped: dict[str, tuple[int, list[int]]] = {}
        self.blemishes: list[DroppedRow] = []

    def close(self) -> None:
        """Close every file that is still open."""
        self.columns.close()
        for texts in (self.given, self.description, self.alias, self.text, self.supports):
            texts.texts.abandon()
        self.number.names.abandon()

    def fault(self, problem: str, mend: str) -> SourceError:
        """An error about the source as a whole."""
        return SourceError(self.source.inputs[0] if self.source.inputs else self.source.name, 0, problem, mend)

    def read(self, progress: Progress | None) -> None:
        """Take in all rows, a block at a time."""
        rows, count = self.source.rows(), 0
        for size in self._batches(rows) if isinstance(rows, Batches) else self._blocks(iter(rows)):
            count += size
            if progress:
                progress(count)
        if 2 * len(self.blemishes) > count and (first := self.blemishes[0]).file:
            problem = f"{first.reason}, as {len(self.blemishes):,} of {count:,} rows"
            raise SourceError(first.file, first.line, problem, "check its format: kgmed graph build --look")

    def _batches(self, rows: Batches) -> Iterator[int]:
        """Take in rows that come as columns."""
        entities = Numbers(lambda codes: self.number(rows.keys(codes)), self.number.kind)
        relations = Numbers(lambda codes: list(map(self.relations.__getitem__, rows.relations(codes))))
        supports = Numbers(lambda codes: self.supports.packed(rows.supports(codes)))
        for batch in rows.batches:
            if len(batch.head):
                head, tail = np.split(entities(np.concatenate([batch.head, batch.tail])), 2)
                support = None if batch.support is None else supports(batch.support)
                self._edges(head, tail, relations(batch.relation), weight=batch.weight, support=support)
            if batch.told:
                self._tell(batch.told)
            taken = self._take(*batch.taken) if batch.taken else 0
            yield len(batch.head) + len(batch.told) + taken

    def _blocks(self, rows: Iterator[Row]) -> Iterator[int]:
        """Take in rows that come one by one."""
        while block := list(islice(rows, _EVERY)):
            if edges := [row for row in block if type(row) is EdgeRow]:
                self._rows(*zip(*edges, strict=True))
            if len(edges) < len(block):
                self._tell([row for row in block if not isinstance(row, EdgeRow)])
            yield len(block)

    def _rows(self, heads: Sequence[str], relations: Sequence[str], tails: Sequence[str], *more: Sequence[Any]) -> None:
        """Take in edges that came one by one, column by column."""
        subjects = list(dict.fromkeys(heads)) if heads[:1] == heads[1:2] else heads
        numbers = self.number([*subjects, *tails])
        head, tail = numbers[: len(subjects)], numbers[len(subjects) :]
        if len(subjects) < len(heads):  # a source that tells the edges of a subject one after the other
            number_of = dict(zip(subjects, head.tolist(), strict=True))
            head = np.fromiter(map(number_of.__getitem__, heads), self.number.kind, len(heads))
        relation = np.fromiter(map(self.relations.__getitem__, relations), np.uint16, len(heads))
        weights, supports = more
        weight = None if weights.count(1.0) == len(heads) else np.array(weights, np.float32)
        if weight is not None and not ((weight >= 0) & (weight <= 1)).all():
            raise self.fault("holds a weight that is not between 0 and 1", "scale the weights to 0..1")
        support = self.supports.numbers(supports) if any(supports) else None
        self._edges(head, tail, relation, weight=weight, support=support)

    def _edges(self, head: Ints, tail: Ints, relation: Ints, **unusual: Ints | None) -> None:
        """Take in a block of edges by number: every large graph runs through here."""
        self.columns.extend(head, tail, relation, **unusual)
        self._grow()
        if self.number.kind is np.int32 and max(len(self.number), len(self.columns)) > MOST_OF_ONE:
            raise self.fault("has more entities or triples than one store can number", "build it with --shards 4")
        implied = np.array(self.ends, np.uint16)[relation]
        kind = np.frombuffer(self.kind, np.uint16)
        for nodes, kinds in ((head, implied[:, 0]), (tail, implied[:, 1])):  # what a node is by its first relation
            at = np.flatnonzero((kinds > 0) & (kind[nodes] == 0))[::-1]  # of equals the last to be written stays
            kind[nodes[at]] = kinds[at]

    def _grow(self) -> None:
        """Room for the kinds of nodes that are new."""
        self.kind.frombytes(bytes(self.kind.itemsize * (len(self.number) - len(self.kind))))

    def _kind(self, name: str) -> int:
        if len(name) > LONGEST_NAME:
            raise TextTooLong(name.encode(), LONGEST_NAME)
        number = self.kinds.setdefault(name, len(self.kinds))
        if number > MOST:
            raise self.fault(f"has more than {MOST:,} kinds of entity", "check which column holds the kind")
        return number

    def _language(self, name: str) -> int:
        number = self.languages.setdefault(name, len(self.languages))
        if number > MOST_LANGUAGES:
            raise self.fault(f"has names in more than {MOST_LANGUAGES} languages", "check the languages of its names")
        return number

    def _relation(self, name: str) -> int:
        """The number of a relation that is met for the first time."""
        number = len(self.relations)
        if len(data := name.encode()) > LONGEST_NAME:
            raise TextTooLong(data, LONGEST_NAME)
        if number > MOST:
            raise self.fault(f"has more than {MOST:,} relations", "check that the relation is the second column")
        relation = self.source.relations.get(name) or infer(name)
        head, tail = self.source.kinds.get(name) or kinds_of(relation)
        self.declared.append(relation)
        self.ends.append((self._kind(head), self._kind(tail)))
        return number

    def _tell(self, rows: Sequence[Told]) -> None:
        """Take in rows that are no edges."""
        texts = [row for row in rows if type(row) is TextRow]
        nodes = [row for row in rows if type(row) is NodeRow]
        numbers = self.number([*(row.key for row in texts), *(row.key for row in nodes)])
        self._grow()
        self._texts(numbers[: len(texts)], texts)
        self._nodes(numbers[len(texts) :], nodes)
        for row in rows:
            if type(row) is DroppedRow:
                self._drop(row)

    def _drop(self, row: DroppedRow) -> None:
        """Count what is left out or mended; a file most of whose rows have a blemish is refused at the end."""
        if row.file and self.source.strict:
            raise SourceError(row.file, row.line, row.reason.removeprefix(MENDED), "mend it, or build without --strict")
        if row.file and not row.reason.startswith(MENDED):
            self.blemishes.append(row)
        count, lines = self.dropped.get(row.reason, (0, []))
        self.dropped[row.reason] = count + 1, lines if len(lines) >= _LISTED else [*lines, row.line]

    def _texts(self, numbers: Ints, rows: list[TextRow]) -> None:
        _, relations, texts, supports = zip(*rows, strict=True) if rows else ((),) * 4
        relation = map(self.relations.__getitem__, relations)
        self.text.extend(texts, numbers, relation, self.supports.numbers(supports))

    def _nodes(self, numbers: Ints, rows: list[NodeRow]) -> None:
        number = list(zip(numbers.tolist(), rows, strict=True))
        named = [(node, row.name) for node, row in number if row.name and (row.name != row.key or len(self.given))]
        self.given.extend((name for _, name in named), (node for node, _ in named))
        for node, row in number:
            if row.kind:
                self.kind[node] = self._kind(row.kind)
        told = [(node, row.description) for node, row in number if row.description]
        self.description.extend((text for _, text in told), (node for node, _ in told))
        aliases = [alias for row in rows for alias in row.aliases]
        of = np.repeat(numbers, [len(row.aliases) for row in rows])
        spoken = (self._language(language) for _, _, language in aliases)
        self.alias.extend((text for text, _, _ in aliases), of, (scope for _, scope, _ in aliases), spoken)

    def _take(self, store: "Store", first: int, last: int) -> int:
        """Take in the entities of a stored graph from one number to before another, all as they stand there."""
        t, m, at = store.tables, store.manifest, np.arange(first, last)
        numbers = self.number(t.key.many(at))
        self._grow()
        if t.key is not t.name:
            self.given.extend(t.name.many(at), numbers)
        kinds = {kind: self._kind(m.kinds[kind]) for kind in dict.fromkeys(t.kind[first:last].tolist())}
        np.frombuffer(self.kind, np.uint16)[numbers] = _mapped(kinds, t.kind[first:last])
        begin, end = t.described.searchsorted([first, last]).tolist()
        self.description.extend(t.description.many(np.arange(begin, end)), numbers[t.described[begin:end] - first])
        begin, end = t.alias_node.searchsorted([first, last]).tolist()
        spoken = np.zeros(end - begin, np.uint8) if t.alias_language is None else t.alias_language[begin:end]
        languages = {i: self._language((m.languages or ("",))[i]) for i in dict.fromkeys(spoken.tolist())}
        of = numbers[t.alias_node[begin:end] - first]
        self.alias.extend(t.alias.many(np.arange(begin, end)), of, t.alias_scope[begin:end], _mapped(languages, spoken))
        self.taken.append((store, first, last, int(numbers[0])))
        return last - first

    def finish(self, name: str, inputs: str) -> Manifest:
        """Write all files and the manifest."""
        self.write_texts()
        with NameIndex(self.folder, taken=self.taken).helped() as index:
            edges = self.columns.finish(len(self.number), len(self.relations), self.supports)
            self.supports.texts.close()
            index.write()
        save(self.folder, "kind", np.frombuffer(self.kind, np.uint16))
        counts = {"entities": len(self.number), "relations": len(self.relations), "triples": edges.edges}
        counts |= {"texts": len(self.text), "aliases": len(self.alias), "merged": edges.merged, "loops": edges.loops}
        return seal(self.manifest(name, counts, edges.of_relation, inputs), self.folder)

    def write_texts(self) -> None:
        """Write the names and all other texts."""
        if not len(self.number):
            raise self.fault("holds no entity", "give a file with at least one triple")
        self._grow()
        self._write_names()
        for texts in (self.description, self.alias, self.text):
            texts.close()
        if len(self.languages) == 1:
            (self.folder / "alias_language.npy").unlink()

    def manifest(self, name: str, counts: dict[str, int], of_relation: tuple[int, ...], inputs: str) -> Manifest:
        s = self.source
        origins = tuple(s.origins.get(name, "") for name in self.relations) if s.origins else ()
        return Manifest(
            name=name, source=s.name, release=s.release, licence=s.licence, citation=s.citation, language=s.language,
            prefix=s.prefix, inputs=inputs, counts=counts, relations=tuple(self.declared),
            relation_counts=of_relation, kinds=tuple(self.kinds), parts=s.parts, describes=s.describes, origins=origins,
            languages=tuple(self.languages) if len(self.languages) > 1 else (),
            dropped={reason: {"count": n, "lines": lines} for reason, (n, lines) in self.dropped.items()},
        )  # fmt: skip

    def _write_names(self) -> None:
        """The keys are on disk already; they are the names too where no name differs from its key."""
        self.number.names.close()
        keys = Arena.open(self.folder, "key")
        if self.number.kind is np.int32:
            HashIndex.write(self.folder, "key", self.number.hashes, np.arange(len(keys), dtype=np.int32))
        given = np.full(len(keys), -1, self.number.kind)
        given[self.given.nodes] = np.arange(len(self.given), dtype=self.number.kind)  # of several the last one stays
        named = bool(len(self.given))
        self.given.texts.close()
        if named:
            names = Arena.open(self.folder, "given")
            texts = (names[i] if i >= 0 else keys[node] for node, i in enumerate(given.tolist()))
            write_arena(self.folder, "name", texts)
        else:
            rename_arena(self.folder, "key", "name")
        for file in self.folder.glob("given_*.npy"):
            file.unlink()
