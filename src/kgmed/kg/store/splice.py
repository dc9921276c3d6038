"""Edges put into and taken out of the arrays of a graph, in their sorted places, both directions and all columns."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgmed.kg.graph import Adjacency, Csr
from kgmed.kg.rows import EdgeRow
from kgmed.kg.store.manifest import Manifest
from kgmed.kg.store.store import Store
from kgmed.kg.store.supports import pack_support
from kgmed.kg.store.tables import Tables
from kgmed.types import Support

Ints = NDArray[np.int64]
Column = NDArray[Any]
Added = dict[tuple[int, int, int], list[EdgeRow]]  # by head, tail and relation number


class Splice:
    """The edges with some taken out and others put in, both directions and all columns."""

    def __init__(self, store: Store, added: Added, removed: Ints, entities: int) -> None:
        """What `added` (by head, tail, relation) and `removed` (ascending) change; `entities` are new."""
        self.store, self.added, self.removed, self.entities = store, added, removed, entities
        self.stays: list[tuple[int, list[EdgeRow]]] = []  # edge that is there already, rows that add to it
        fresh: list[tuple[int, int, int, int]] = []
        for head, tail, relation in sorted(added):
            place, there = _place(store.adjacency.out, head, tail, relation)
            if there and place not in removed:
                self.stays.append((place, added[head, tail, relation]))
            else:
                fresh.append((head, tail, relation, place))
        self.new = np.array(fresh, np.int64).reshape(-1, 4)
        self.places = self.new[:, 3] - np.searchsorted(removed, self.new[:, 3])  # among the edges that stay
        self.numbers = self.places + np.arange(len(self.new))  # of the new edges
        self.heads = store.adjacency.out.indptr.searchsorted(removed, side="right") - 1  # of the removed edges
        self.tails = store.adjacency.out.neighbour[removed].astype(np.int64)
        self.renumbered = self._renumbered()

    def applied(self, tables: Tables) -> Tables:
        """The tables with the edges changed; they have the new entities already."""
        edge_support, texts = self._support(tables)
        end = np.full(len(texts), len(tables.support))
        return replace(
            tables,
            adjacency=Adjacency(self._out(), self._into()),
            weight=self._weight(),
            edge_support=edge_support,
            support=tables.support.inserted(end, texts) if texts else tables.support,
        )

    def edited(self) -> frozenset[int]:
        """The numbers of all edges that edits have added."""
        kept = self.store.edited.difference(self.removed.tolist())
        return frozenset([*(self.renumbered.item(i) for i in kept), *self.numbers.tolist()])

    def counts(self, manifest: Manifest, tables: Tables) -> dict[str, Any]:
        """What the manifest says now of the numbers of things."""
        loops = manifest.counts.get("loops", 0) + int((self.new[:, 0] == self.new[:, 1]).sum())
        counts = {
            **manifest.counts,
            "entities": len(tables.kind),
            "relations": len(manifest.relations),
            "triples": tables.adjacency.edges,
            "aliases": len(tables.alias_node),
            "loops": loops - int((self.heads == self.tails).sum()),
        }
        each = np.bincount(tables.adjacency.out.relation, minlength=len(manifest.relations))
        return {"counts": counts, "relation_counts": tuple(each.tolist())}

    def _renumbered(self) -> Ints:
        """The new number of each old edge (m,); that of a removed one means nothing."""
        edges = self.store.adjacency.edges
        stay = np.ones(edges, np.int64)
        stay[self.removed] = 0
        among = np.cumsum(stay) - stay
        come = np.cumsum(np.bincount(self.places, minlength=edges + 1))
        among += come[among]
        return among

    def _out(self) -> Csr:
        head, tail, relation, _ = self.new.T
        old = self.store.adjacency.out
        return Csr(
            self._indptr(old, head, self.heads),
            self._column(old.neighbour, tail.astype(np.int32)),
            self._column(old.relation, relation.astype(np.uint16)),
        )

    def _column(self, values: Column, new: Column) -> Column:
        """A column in the outgoing order with the values of the new edges."""
        return _spliced(values, self.removed, self.places, new)

    def _into(self) -> Csr:
        head, tail, relation, _ = self.new.T
        out, old = self.store.adjacency
        order = np.lexsort((relation, head, tail))
        new = self.new[order]
        places = np.array([_place(old, t, h, r)[0] for h, t, r, _ in new.tolist()], np.int64)
        rows = zip(self.tails.tolist(), self.heads.tolist(), out.relation[self.removed].tolist(), strict=True)
        removed = np.array(sorted(_place(old, *row)[0] for row in rows), np.int64)
        places -= np.searchsorted(removed, places)
        edges = self.renumbered.astype(np.int32)[old.edge]
        return Csr(
            self._indptr(old, tail, self.tails),
            _spliced(old.neighbour, removed, places, new[:, 0].astype(np.int32)),
            _spliced(old.relation, removed, places, new[:, 2].astype(np.uint16)),
            _spliced(edges, removed, places, self.numbers[order].astype(np.int32)),
        )

    def _indptr(self, old: Csr, come: Ints, gone: Ints) -> Ints:
        """Where the edges of each node begin now, new nodes included."""
        nodes = len(self.store) + self.entities
        grown = np.append(old.indptr, np.full(self.entities, old.indptr[-1]))
        grown[1:] += np.cumsum(np.bincount(come, minlength=nodes) - np.bincount(gone, minlength=nodes))
        return grown

    def _rows(self) -> list[list[EdgeRow]]:
        """The rows of each new edge."""
        return [self.added[head, tail, relation] for head, tail, relation, _ in self.new.tolist()]

    def _weight(self) -> NDArray[np.float32] | None:
        """The weight of each edge, the largest that was given."""
        new = np.array([max(row.weight for row in rows) for rows in self._rows()], np.float32)
        old = self.store.weight
        if old is None and (new == 1).all():
            return None
        before = np.ones(self.store.adjacency.edges, np.float32) if old is None else old
        weight = self._column(before, new)
        for edge, rows in self.stays:
            weight[self.renumbered[edge]] = max(before.item(edge), *(row.weight for row in rows))
        return weight

    def _support(self, tables: Tables) -> tuple[NDArray[np.uint32] | None, list[str]]:
        """The support number of each edge, and the texts of the new supports."""
        texts: list[str] = []

        def number(rows: list[EdgeRow], said: tuple[Support, ...] = ()) -> int:
            support = (*said, *(s for row in rows for s in row.support))
            if not support:
                return 0
            texts.append(pack_support(support))
            return len(tables.support) + len(texts) - 1

        old = tables.edge_support
        before = np.zeros(self.store.adjacency.edges, np.uint32) if old is None else old
        column = self._column(before, np.array([number(rows) for rows in self._rows()], np.uint32))
        for edge, rows in self.stays:
            column[self.renumbered[edge]] = number(rows, self.store.support(before.item(edge)))
        return (column if texts or old is not None else None), texts


def _place(csr: Csr, node: int, neighbour: int, relation: int) -> tuple[int, bool]:
    """Where an edge stands or would stand among those of one direction, and whether it is there."""
    if node >= len(csr.indptr) - 1:
        return len(csr.neighbour), False
    begin, end = csr.indptr[node : node + 2].tolist()
    row = csr.neighbour[begin:end]
    first = begin + int(row.searchsorted(np.int32(neighbour), side="left"))
    last = begin + int(row.searchsorted(np.int32(neighbour), side="right"))
    place = first + int(csr.relation[first:last].searchsorted(np.uint16(relation)))
    return place, place < last and csr.relation.item(place) == relation


def _spliced(values: Column, removed: Ints, places: Ints, new: Column) -> Column:
    """The values without those at `removed`, then with the new ones inserted at places among the rest."""
    return np.insert(np.delete(values, removed) if len(removed) else values, places, new)
