"""From a stream of rows to a stored graph, in one pass.

Memory grows with the names of the entities, not with the edges: edges go to column files as they come and are sorted
once at the end (16 bytes an edge while sorting). The graph is written beside the old one and takes its place by
renaming one small file, so that a build that is killed leaves the old graph whole.
"""

import gc
import json
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgmed.errors import SourceError
from kgmed.kg.rows import Alias, DroppedRow, EdgeRow, NodeRow, Row, Source, TextRow
from kgmed.kg.sources.roles import infer, kinds_of
from kgmed.kg.store.arena import Arena, ArenaWriter, rename_arena, save, write_arena
from kgmed.kg.store.columns import Columns, edge_order, write_adjacency
from kgmed.kg.store.intern import Interner
from kgmed.kg.store.manifest import Manifest, seal
from kgmed.kg.store.names import HashIndex, index_names
from kgmed.kg.store.publish import beside, publish
from kgmed.types import Relation, Support

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
        self.names: dict[int, str] = {}  # only names that differ from their key
        self.kind = array("H")
        self.kinds: dict[str, int] = {"": 0}
        self.relations = _Relations(self._relation)
        self.declared: list[Relation] = []
        self.ends: list[tuple[int, int]] = []  # relation -> kind of head, kind of tail
        self.columns = Columns(folder)
        self.description, self.described = ArenaWriter(folder, "description"), array("i")
        self.alias, self.alias_node, self.alias_scope = ArenaWriter(folder, "alias"), array("i"), array("B")
        self.text, self.text_node, self.text_relation = ArenaWriter(folder, "text"), array("i"), array("H")
        self.text_support = array("I")
        self.support = ArenaWriter(folder, "support")
        self.support.add("")
        self.dropped: dict[str, tuple[int, list[int]]] = {}

    def close(self) -> None:
        """Close every file that is still open."""
        self.columns.close()
        for arena in (self.description, self.alias, self.text, self.support, self.number.names):
            arena.abandon()

    def fault(self, problem: str, mend: str) -> SourceError:
        """An error about the source as a whole."""
        return SourceError(self.source.inputs[0] if self.source.inputs else self.source.name, 0, problem, mend)

    def read(self, progress: Progress | None) -> None:
        """Take in all rows, a block at a time."""
        rows, count = self.source.rows(), 0
        while block := list(islice(rows, _EVERY)):
            self._block(block)
            count += len(block)
            if progress:
                progress(count)

    def _block(self, block: list[Row]) -> None:
        edges: list[EdgeRow] = []
        texts: list[TextRow] = []
        nodes: list[NodeRow] = []
        take = {EdgeRow: edges.append, TextRow: texts.append, NodeRow: nodes.append, DroppedRow: self._drop}
        for row in block:
            take[type(row)](row)  # type: ignore[operator]
        columns = list(zip(*edges, strict=True)) or [()] * 5
        subjects = list(dict.fromkeys(columns[0])) if columns[0][:1] == columns[0][1:2] else columns[0]
        keys = [*subjects, *columns[2], *(row.key for row in texts), *(row.key for row in nodes)]
        numbers = self.number(keys)
        self.kind.extend([0] * (len(self.number) - len(self.kind)))
        heads, tails, about, named = np.split(numbers, np.cumsum([len(subjects), len(edges), len(texts)]))
        if len(subjects) < len(edges):  # a source that tells the edges of a subject one after the other
            number_of = dict(zip(subjects, heads.tolist(), strict=True))
            heads = np.fromiter(map(number_of.__getitem__, columns[0]), np.int32, len(edges))
        if edges:
            self._edges(heads, tails, columns)
        self._texts(about, texts)
        for node, named_row in zip(named.tolist(), nodes, strict=True):
            self._node(node, named_row)

    def _edges(self, heads: Ints, tails: Ints, columns: Sequence[tuple[Any, ...]]) -> None:
        """Take in a block of edges, column by column: every large graph runs through here."""
        relations = array("H", map(self.relations.__getitem__, columns[1]))
        supports = map(self._support, columns[4]) if any(columns[4]) else np.zeros(len(heads), np.uint32)
        self.columns.extend(heads, tails, relations, columns[3], supports)
        self._imply_kinds(heads, tails, relations)

    def _imply_kinds(self, heads: Ints, tails: Ints, relations: "array[int]") -> None:
        """Give nodes without a kind that of the first relation that implies one, as head before as tail."""
        implied = np.array(self.ends, np.uint16)[np.frombuffer(relations, np.uint16)]
        kind = np.frombuffer(self.kind, np.uint16)
        for nodes, kinds in ((heads, implied[:, 0]), (tails, implied[:, 1])):
            at = np.flatnonzero((kinds > 0) & (kind[nodes] == 0))[::-1]  # of equals the last to be written stays
            kind[nodes[at]] = kinds[at]

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

    def _support(self, support: tuple[Support, ...]) -> int:
        if not support:
            return 0
        return self.support.add(pack_support(support))

    def _node(self, node: int, row: NodeRow) -> None:
        if row.name:
            if row.name != row.key:
                self.names[node] = row.name
            else:
                self.names.pop(node, None)
        if row.kind:
            self.kind[node] = self._kind(row.kind)
        if row.description:
            self.description.add(row.description)
            self.described.append(node)
        for alias in row.aliases:
            self._alias(node, alias)

    def _alias(self, node: int, alias: Alias) -> None:
        self.alias.add(alias.text)
        self.alias_node.append(node)
        self.alias_scope.append(alias.scope)

    def _texts(self, nodes: Ints, rows: list[TextRow]) -> None:
        self.text_node.frombytes(nodes.tobytes())
        self.text_relation.extend(map(self.relations.__getitem__, (row.relation for row in rows)))
        self.text_support.extend(self._support(row.support) for row in rows)
        self.text.extend(row.text for row in rows)

    def _drop(self, row: DroppedRow) -> None:
        count, lines = self.dropped.get(row.reason, (0, []))
        self.dropped[row.reason] = count + 1, lines if len(lines) >= 5 else [*lines, row.line]

    def finish(self, name: str, inputs: str) -> Manifest:
        """Write all files and the manifest."""
        if not len(self.number):
            raise self.fault("holds no entity", "give a file with at least one triple")
        edges, merged = self._write_edges()
        self._write_names()
        self._write_texts()
        self.support.close()
        save(self.folder, "kind", np.frombuffer(self.kind, np.uint16))
        counts = {"entities": len(self.number), "relations": len(self.relations), "triples": edges}
        counts |= {"texts": len(self.text_node), "aliases": len(self.alias_node), "merged": merged, "loops": self.loops}
        return seal(self._manifest(name, counts, inputs), self.folder)

    def _manifest(self, name: str, counts: dict[str, int], inputs: str) -> Manifest:
        s = self.source
        return Manifest(
            name=name, source=s.name, release=s.release, licence=s.licence, citation=s.citation, language=s.language,
            prefix=s.prefix, inputs=inputs, counts=counts, relations=tuple(self.declared),
            relation_counts=tuple(self.relation_counts.tolist()), kinds=tuple(self.kinds),
            dropped={reason: {"count": n, "lines": lines} for reason, (n, lines) in self.dropped.items()},
        )  # fmt: skip

    def _write_names(self) -> None:
        """The keys are on disk already; they are the names too where no name differs from its key."""
        self.number.names.close()
        keys = Arena.open(self.folder, "key")
        HashIndex.write(self.folder, "key", self.number.hashes, np.arange(len(keys), dtype=np.int32))
        if self.names:
            write_arena(self.folder, "name", (self.names.get(node, key) for node, key in enumerate(keys)))
        else:
            rename_arena(self.folder, "key", "name")
        order = np.argsort(np.frombuffer(self.alias_node, np.int32), kind="stable")
        self._index_names(order)

    def _index_names(self, order: NDArray[np.int64]) -> None:
        self.alias.close(order)
        save(self.folder, "alias_node", np.frombuffer(self.alias_node, np.int32)[order])
        save(self.folder, "alias_scope", np.frombuffer(self.alias_scope, np.uint8)[order])
        for name, (hashes, numbers) in zip(("normalised", "folded"), index_names(self._all_names()), strict=True):
            HashIndex.write(self.folder, name, hashes, numbers)

    def _all_names(self) -> Iterator[str]:
        yield from Arena.open(self.folder, "name")
        yield from Arena.open(self.folder, "alias")

    def _write_texts(self) -> None:
        order = np.argsort(np.frombuffer(self.described, np.int32), kind="stable")
        self.description.close(order)
        save(self.folder, "described", np.frombuffer(self.described, np.int32)[order])
        order = np.argsort(np.frombuffer(self.text_node, np.int32), kind="stable")
        self.text.close(order)
        save(self.folder, "text_node", np.frombuffer(self.text_node, np.int32)[order])
        save(self.folder, "text_relation", np.frombuffer(self.text_relation, np.uint16)[order])
        save(self.folder, "text_support", np.frombuffer(self.text_support, np.uint32)[order])

    def _write_edges(self) -> tuple[int, int]:
        head, tail, relation, weight, support = self.columns.take()
        order = edge_order(head, tail, relation, len(self.number))
        head, tail, relation = head[order], tail[order], relation[order]
        first = np.ones(len(head), bool)
        first[1:] = (head[1:] != head[:-1]) | (tail[1:] != tail[:-1]) | (relation[1:] != relation[:-1])
        starts = np.flatnonzero(first)
        if len(weight):
            if not ((weight >= 0) & (weight <= 1)).all():
                raise self.fault("holds a weight that is not between 0 and 1", "scale the weights to 0..1")
            weight = np.maximum.reduceat(weight[order], starts)
        support = self._merge_support(support[order], starts, first)
        merged = len(head) - len(starts)
        write_adjacency(self.folder, head[first], tail[first], relation[first], len(self.number))
        self.relation_counts = np.bincount(relation[first], minlength=len(self.relations))
        self.loops = int((head[first] == tail[first]).sum())
        if len(weight) and not (weight == 1).all():
            save(self.folder, "weight", weight)
        if support.any():
            save(self.folder, "edge_support", support)
        return len(starts), merged

    def _merge_support(self, support: Ints, starts: Ints, first: NDArray[np.bool_]) -> Ints:
        """The support of each kept edge; that of merged edges is put together, each word once."""
        kept = support[first]
        sizes = np.diff(np.append(starts, len(support)))
        if not support.any() or (sizes == 1).all():
            return kept
        many = np.add.reduceat(support > 0, starts, dtype=np.int64)
        kept = np.maximum.reduceat(support, starts)
        for i in np.flatnonzero(many > 1):
            numbers = support[starts[i] : starts[i] + sizes[i]]
            kept[i] = self._joined([int(n) for n in numbers if n])
        return kept

    def _joined(self, numbers: list[int]) -> int:
        rows = [json.dumps(row, ensure_ascii=False) for n in numbers for row in json.loads(self.support.peek(n))]
        return self.support.add("[" + ",".join(dict.fromkeys(rows)) + "]")


def pack_support(support: Iterable[Support]) -> str:
    """The text that a support is stored as, each word once."""
    rows = [[s.reference, s.qualifiers] for s in dict.fromkeys(support)]
    return json.dumps(rows, ensure_ascii=False, separators=(",", ":"))
