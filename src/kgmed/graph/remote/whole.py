"""All of a graph in a database as files of this machine, for what needs all of it: the ranking of its diseases.

It is read by the fixed queries once, page after page, and kept by its label. Nodes, edges and relations have the order
of the database, so that what is asked of it has the evidence of the graph that was loaded there.
"""

import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import xxhash

from kgmed.errors import StoreError, Unavailable
from kgmed.graph.base import Alias, Batch, Batches, NodeRow, Scope, Source, TextRow, Told, unpacked_support
from kgmed.graph.remote.database import COPIED, DatabaseGraph, copied, pages
from kgmed.graph.store.build import builder_of
from kgmed.graph.store.folder import beside, publish
from kgmed.graph.store.store import Store, open_store

MOST_ROWS = 20_000_000  # entities and triples of a graph that is fetched so (ours): a gigabyte of memory meanwhile
HOURS = 24.0  # that a copy of a graph counts whose label does not tell its content (ours)


class FetchedStore(Store):
    """A graph that was fetched; it bears the label of that in the database."""

    told = ""

    @classmethod
    def of(cls, store: Store, label: str) -> "FetchedStore":
        """A store under another label."""
        made = cls(store.manifest, store.tables, Path(store.folder), speaks=store.speaks)
        made.told = label
        return made

    @property
    def label(self) -> str:
        """The label of the graph in the database."""
        return self.told

    def _sources(self, edges: Iterable[int], relations: list[int]) -> Iterable[str]:
        """The graph and release of each edge: that of its relation."""
        return [self.origins[r] for r in relations]

    def speaking(self, language: str) -> Store:
        """The same graph whose entities and relations are called in a language; see `Store`."""
        found = super().speaking(language)
        return found if found is self else FetchedStore.of(found, self.told)


def whole(graph: DatabaseGraph, folder: Path, *, most: int = MOST_ROWS) -> Store:
    """All of a graph, from `folder` where it is there; its very files where the database keeps them.

    Raises `Unavailable` for a graph that is larger than `most` rows, `StoreError`.
    """
    if 0 < graph.bytes <= COPIED:
        return copied(graph, folder)
    place = folder / f"{graph.name[:40].replace('/', '-')}-rows-{xxhash.xxh3_64_hexdigest(graph.label.encode())}"
    if not _stands(place, told=graph.nodes > 0):
        try:
            _fetch(graph, place, most)
        except OSError as e:
            raise StoreError(f"{place}: cannot be written ({e.strerror or e}); check the disk") from e
    return FetchedStore.of(open_store(place), graph.label)


def _stands(place: Path, *, told: bool) -> bool:
    """Whether a copy is there that counts; `told` = the label it is kept by tells its content."""
    try:
        written = (place / "CURRENT").stat().st_mtime
        open_store(place)
    except (FileNotFoundError, StoreError):
        return False
    return told or abs(time.time() - written) < HOURS * 3600


def _fetch(graph: DatabaseGraph, place: Path, most: int) -> None:
    origins = {r.name: origin for r, origin in graph.origins}
    relations = {r.name: r for r in graph.relations}
    rows = _Rows(graph, most)
    source = Source(graph.name, lambda: rows.batches, language=graph.language, relations=relations, origins=origins)
    with beside(place) as work, builder_of(source, work) as builder:
        for relation in graph.relations:  # numbered as they are met
            builder.relations[relation.name]
        builder.read(None)
        publish(place, work, builder.finish(graph.name, "").content)


class _Rows:
    """The rows of a graph: first its nodes, in their order, then its edges."""

    def __init__(self, graph: DatabaseGraph, most: int) -> None:
        self.graph, self.most, self.count = graph, most, 0
        self.keys: list[str] = []
        self.number: dict[str, int] = {}
        self.supports: dict[str, int] = {"": 0}
        self.batches = Batches(self._batches(), self._keys, self._relations, self._supports)

    def _keys(self, codes: list[int]) -> list[str]:
        return [self.keys[code] for code in codes]

    def _relations(self, codes: list[int]) -> list[str]:
        return [self.graph.relations[code].name for code in codes]

    def _supports(self, codes: list[int]) -> list[str]:
        texts = list(self.supports)
        return [texts[code] for code in codes]

    def _batches(self) -> Iterator[Batch]:
        for told in self._nodes():
            yield Batch(told)
        for rows in pages(self.graph, "edges"):
            self._counted(len(rows))
            _, head, relation, tail, weight, support = zip(*rows, strict=True)
            said = [self.supports.setdefault(text or "", len(self.supports)) for text in support]
            ends = (np.array([self.number[one] for one in end], np.int64) for end in (head, tail))
            yield Batch(
                (), next(ends), np.array(relation, np.int64), next(ends),
                np.array(weight, np.float32), np.array(said, np.int64) if any(said) else None,
            )  # fmt: skip

    def _nodes(self) -> Iterator[list[Told]]:
        for rows in pages(self.graph, "nodes"):
            self._counted(len(rows))
            nodes = [row[0] for row in rows]
            keys, said = {node: key for node, key, *_ in rows}, dict[int, list[Alias]]()
            for node, text, scope in self.graph.ask("aliases", "nodes", nodes):
                said.setdefault(node, []).append(Alias(text, Scope(scope)))
            for key in keys.values():
                self.number[key] = len(self.keys)
                self.keys.append(key)
            told: list[Told] = [NodeRow(key, called, kind, about or "", tuple(said.get(node, ())))
                               for node, key, called, kind, about in rows]  # fmt: skip
            yield told
            relations = self.graph.relations
            texts: list[Told] = [TextRow(keys[node], relations[number].name, text, unpacked_support(support or ""))
                                for node, number, text, support in self.graph.ask("said", "nodes", nodes)]  # fmt: skip
            yield texts

    def _counted(self, rows: int) -> None:
        self.count += rows
        if self.count > self.most:
            raise Unavailable(
                f"{self.graph.name}: this needs all diseases of the graph, which is larger than {self.most:,} rows; "
                "build it here: kgmed graph build NAME --from ADDRESS"
            )
