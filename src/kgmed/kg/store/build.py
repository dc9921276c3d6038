"""From a stream of rows to a stored graph, in one pass.

Memory grows with the names of the entities, not with the edges: edges go to column files as they come and are sorted
once at the end (24 bytes an edge while sorting). The graph is written beside the old one and takes its place by
renaming one small file, so that a build that is killed leaves the old graph whole.
"""

import gc
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgmed.errors import SourceError
from kgmed.kg.rows import Batches, DroppedRow, EdgeRow, NodeRow, Row, Source, TextRow, Told
from kgmed.kg.sources.roles import infer, kinds_of
from kgmed.kg.store.about import About
from kgmed.kg.store.arena import Arena, rename_arena, save, write_arena
from kgmed.kg.store.columns import Columns
from kgmed.kg.store.index import NameIndex
from kgmed.kg.store.intern import Interner, Numbers
from kgmed.kg.store.manifest import Manifest, seal
from kgmed.kg.store.names import HashIndex
from kgmed.kg.store.publish import beside, publish
from kgmed.kg.store.supports import Supports
from kgmed.types import Relation

Progress = Callable[[int], None]  # called with the number of rows read so far
Ints = NDArray[Any]
_EVERY = 1 << 13
MOST = 65_535  # what two bytes can number


def build(source: Source, folder: Path, *, progress: Progress | None = None, inputs: str = "") -> Manifest:
    """Read a source into the graph folder `folder` and make it the current version; what was there stays until then.

    Raises what the source raises, usually `SourceError`; nothing is left behind then.
    """
    with beside(folder) as work, _no_collection():
        builder = _Builder(source, work)
        try:
            builder.read(progress)
            manifest = builder.finish(folder.name, inputs)
        except UnicodeEncodeError as e:
            raise builder.fault(f"holds half a character (a lone surrogate) in {e.object!r}", "mend that name") from e
        finally:
            builder.close()
        publish(folder, work, manifest.content)
    return manifest


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


class _Relations(dict[str, int]):
    """Numbers by name, in the order in which names are met; `meet` takes in a new one and gives its number."""

    def __init__(self, meet: Callable[[str], int]) -> None:
        super().__init__()
        self._meet = meet

    def __missing__(self, name: str) -> int:
        number = self[name] = self._meet(name)
        return number


class _Builder:
    """What is known while the rows come in."""

    def __init__(self, source: Source, folder: Path) -> None:
        self.source, self.folder = source, folder
        self.number = Interner(folder)
        self.kind = array("H")
        self.kinds: dict[str, int] = {"": 0}
        self.relations = _Relations(self._relation)
        self.declared: list[Relation] = []
        self.ends: list[tuple[int, int]] = []  # relation -> kind of head, kind of tail
        self.columns, self.supports = Columns(folder), Supports(folder)
        self.given = About(folder, "given", "given_node")  # names that are not the key
        self.description = About(folder, "description", "described")
        self.alias = About(folder, "alias", "alias_node", alias_scope="B")
        self.text = About(folder, "text", "text_node", text_relation="H", text_support="I")
        self.dropped: dict[str, tuple[int, list[int]]] = {}

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

    def _batches(self, rows: Batches) -> Iterator[int]:
        """Take in rows that come as columns."""
        entities = Numbers(lambda codes: self.number(rows.keys(codes)))
        relations = Numbers(lambda codes: list(map(self.relations.__getitem__, rows.relations(codes))))
        for batch in rows.batches:
            if len(batch.head):
                head, tail = np.split(entities(np.concatenate([batch.head, batch.tail])), 2)
                self._edges(head, tail, relations(batch.relation))
            if batch.told:
                self._tell(batch.told)
            yield len(batch.head) + len(batch.told)

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
            head = np.fromiter(map(number_of.__getitem__, heads), np.int32, len(heads))
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
        implied = np.array(self.ends, np.uint16)[relation]
        kind = np.frombuffer(self.kind, np.uint16)
        for nodes, kinds in ((head, implied[:, 0]), (tail, implied[:, 1])):  # what a node is by its first relation
            at = np.flatnonzero((kinds > 0) & (kind[nodes] == 0))[::-1]  # of equals the last to be written stays
            kind[nodes[at]] = kinds[at]

    def _grow(self) -> None:
        """Room for the kinds of nodes that are new."""
        self.kind.frombytes(bytes(self.kind.itemsize * (len(self.number) - len(self.kind))))

    def _kind(self, name: str) -> int:
        number = self.kinds.setdefault(name, len(self.kinds))
        if number > MOST:
            raise self.fault(f"has more than {MOST:,} kinds of entity", "check which column holds the kind")
        return number

    def _relation(self, name: str) -> int:
        """The number of a relation that is met for the first time."""
        number = len(self.relations)
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
                count, lines = self.dropped.get(row.reason, (0, []))
                self.dropped[row.reason] = count + 1, lines if len(lines) >= 5 else [*lines, row.line]

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
        self.alias.extend((text for text, _ in aliases), of, (scope for _, scope in aliases))

    def finish(self, name: str, inputs: str) -> Manifest:
        """Write all files and the manifest."""
        if not len(self.number):
            raise self.fault("holds no entity", "give a file with at least one triple")
        self._grow()
        self._write_names()
        for texts in (self.description, self.alias, self.text):
            texts.close()
        with NameIndex(self.folder).helped() as index:
            edges = self.columns.finish(len(self.number), len(self.relations), self.supports)
            self.supports.texts.close()
            index.write()
        save(self.folder, "kind", np.frombuffer(self.kind, np.uint16))
        counts = {"entities": len(self.number), "relations": len(self.relations), "triples": edges.edges}
        counts |= {"texts": len(self.text), "aliases": len(self.alias), "merged": edges.merged, "loops": edges.loops}
        return seal(self._manifest(name, counts, edges.of_relation, inputs), self.folder)

    def _manifest(self, name: str, counts: dict[str, int], of_relation: tuple[int, ...], inputs: str) -> Manifest:
        s = self.source
        return Manifest(
            name=name, source=s.name, release=s.release, licence=s.licence, citation=s.citation, language=s.language,
            prefix=s.prefix, inputs=inputs, counts=counts, relations=tuple(self.declared),
            relation_counts=of_relation, kinds=tuple(self.kinds),
            dropped={reason: {"count": n, "lines": lines} for reason, (n, lines) in self.dropped.items()},
        )  # fmt: skip

    def _write_names(self) -> None:
        """The keys are on disk already; they are the names too where no name differs from its key."""
        self.number.names.close()
        keys = Arena.open(self.folder, "key")
        HashIndex.write(self.folder, "key", self.number.hashes, np.arange(len(keys), dtype=np.int32))
        given = np.full(len(keys), -1, np.int32)
        given[self.given.nodes] = np.arange(len(self.given), dtype=np.int32)  # of several the last one stays
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
