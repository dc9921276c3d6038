"""A graph in shards: each entity, with all its triples, is in the shard that the hash of its id names.

A shard is a store of its own (`store.Store`), so that it can be built, opened and served apart. It holds the entities
that are its own and, by name and kind only, those at the other ends of their triples. A triple between two shards
stands in both. Entities have one number in all shards: (how many came before it) * shards + its shard, 64 bits, so
that the order is that of one store, and ties are broken alike. Names and other texts are those of the own entities.

Searches exchange frontiers: the shards are asked what lies around their own nodes, level by level; the small graph that
is put together from their answers is searched as any other, with the degrees that its nodes have in the whole graph.
What is found is what one store finds.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from kgmed.errors import BadInput, StoreError
from kgmed.graph.base import Adjacency, KnowledgeGraph, Match, Source
from kgmed.graph.search.batched import lookup_many, nearby, neighbours_of
from kgmed.graph.search.chains import SearchBudget
from kgmed.graph.search.paths import FoundPaths, paths_between
from kgmed.graph.search.scan import Ints, KnownDegrees, crossing, degrees, follow, spread
from kgmed.graph.store.arrays import Arena, HashIndex, Supports, index_names, key_hash, load, save, write_arena
from kgmed.graph.store.build import EdgeColumns, Numbers, Progress, builder_of
from kgmed.graph.store.folder import Manifest, beside, current, publish, read_manifest, seal, verify
from kgmed.graph.store.store import Store, open_version
from kgmed.records import Entity, Role, Triple

# --- Building: the rows are read once, then one shard is written after the other.

MOST = 1 << 8  # shards
_EDGES = 1 << 22  # read at a time
_TEXTS = 1 << 16  # read at a time
_AT_ONCE = 32  # calls to servers
T = TypeVar("T")


def build_shards(
    source: Source, folder: Path, shards: int, *, progress: Progress | None = None, inputs: str = "", first: int = 0
) -> Manifest:
    """Read a source into a graph of so many shards in `folder`; as `build.build`, whose errors it raises.

    Memory is about 50 bytes an entity while rows are read, and what one store of a shard's size takes while one is
    written. `first` is the number of the first entity.
    """
    if not 2 <= shards <= MOST:
        raise BadInput(f"a graph has 2 to {MOST} shards, not {shards}")
    with beside(folder) as work, builder_of(source, work, wide=True) as builder:
        builder.read(progress)
        builder.write_texts()
        builder.columns.close()
        builder.supports.texts.close()
        owner = (builder.number.hashes % np.uint64(shards)).astype(np.uint8)
        splitter = _Splitter(work, owner, builder.kind, first)
        for i in range(shards):
            counts, of_relation = splitter.write(i, shards, builder.columns, len(builder.relations))
            seal(builder.manifest(folder.name, counts, of_relation, ""), work / f"shard-{i}")
        counts, of_relation = splitter.counts, tuple(splitter.of_relation.tolist())
        counts["merged"] = len(builder.columns) - counts["triples"]
        del splitter
        builder.columns.remove()
        for file in work.glob("*.npy"):
            file.unlink()
        manifest = replace(builder.manifest(folder.name, counts, of_relation, inputs), shards=shards)
        manifest = seal(manifest, work)
        publish(folder, work, manifest.content)
    return manifest


class _Splitter:
    """Writes shards from the columns and texts of the whole graph, which lie in a folder."""

    def __init__(self, folder: Path, owner: NDArray[np.uint8], kind: Any, first: int) -> None:
        self.folder, self.owner, self.first = folder, owner, first
        self.kind = np.frombuffer(kind, np.uint16)
        self.key = Arena.open(folder, "key") if (folder / "key_start.npy").exists() else None
        self.name = Arena.open(folder, "name")
        self.support = Arena.open(folder, "support")
        self.counts = dict.fromkeys(("entities", "relations", "triples", "texts", "aliases", "merged", "loops"), 0)
        self.of_relation: Ints = np.zeros(0, np.int64)

    def write(
        self, shard: int, shards: int, columns: EdgeColumns, relations: int
    ) -> tuple[dict[str, int], tuple[int, ...]]:
        """Write one shard; the counts of what is in its files, and the triples of each relation."""
        folder = self.folder / f"shard-{shard}"
        folder.mkdir()
        here = self.owner == shard
        for head, tail, _ in self._edges(columns, shard):
            here[head] = here[tail] = True
        nodes = np.flatnonzero(here)
        place = np.cumsum(here, dtype=np.int32) - np.int32(1)
        del here
        supports, spilled = Supports(folder), EdgeColumns(folder)
        try:
            said = Numbers(lambda codes: supports.packed([self.support[i] for i in codes]), np.int64)
            for head, tail, rest in self._edges(columns, shard):
                told = rest.pop("support", None)
                rest["support"] = None if told is None else said(told)
                spilled.extend(place[head], place[tail], **rest)
            written = spilled.finish(len(nodes), relations, supports)
            self._write_texts(folder, shard, nodes, place, said)
            supports.texts.close()
        finally:
            spilled.close()
            supports.texts.abandon()
        save(folder, "global", (nodes + self.first) * shards + self.owner[nodes])
        save(folder, "kind", self.kind[nodes])
        texts = {"texts": len(load(folder, "text_node")), "aliases": len(load(folder, "alias_node"))}
        self._count(folder, np.flatnonzero(self.owner[nodes] == shard), relations, texts)
        counts = {"entities": len(nodes), "relations": relations, "triples": written.edges, "merged": 0}
        return counts | {"loops": written.loops} | texts, written.of_relation

    def _edges(self, columns: EdgeColumns, shard: int) -> Iterator[tuple[Ints, Ints, dict[str, Any]]]:
        """Head, tail and the other columns of the edges at the entities of a shard, a block at a time."""
        for part in columns.parts(_EDGES):
            head, tail = part.pop("head"), part.pop("tail")
            at = np.flatnonzero((self.owner[head] == shard) | (self.owner[tail] == shard))
            yield head[at], tail[at], {name: values[at] for name, values in part.items()}

    def _count(self, folder: Path, own: Ints, relations: int, texts: dict[str, int]) -> None:
        """Add to the counts of the whole graph what belongs to a shard: the triples that begin at its own entities."""
        out, relation, neighbour = (load(folder, f"out_{name}") for name in ("indptr", "relation", "neighbour"))
        starts, many = out[own], out[own + 1] - out[own]
        counts, loops = np.zeros(relations, np.int64), 0
        for first in range(0, len(own), _TEXTS):
            part = slice(first, first + _TEXTS)
            at = spread(starts[part], many[part])
            counts += np.bincount(relation[at], minlength=relations)
            loops += int((neighbour[at] == np.repeat(own[part], many[part])).sum())
        self.of_relation = counts + (self.of_relation if len(self.of_relation) else 0)
        more = {"entities": len(own), "triples": int(counts.sum()), "loops": loops} | texts
        self.counts |= {what: self.counts[what] + number for what, number in more.items()} | {"relations": relations}

    def _write_texts(self, folder: Path, shard: int, nodes: Ints, place: Ints, said: Numbers) -> None:
        """The names of all nodes of a shard, the other texts of its own, and the index of its own names."""
        names = [*(("key",) if self.key is not None else ()), "name"]
        for name in names:
            write_arena(folder, name, _texts(Arena.open(self.folder, name), nodes))
        of = {"alias": ("alias_node", "alias_scope", "alias_language"), "description": ("described",)}
        of["text"] = ("text_node", "text_relation", "text_support")
        for arena, columns in of.items():
            node = load(self.folder, columns[0])
            at = np.flatnonzero(self.owner[node] == shard)
            write_arena(folder, arena, _texts(Arena.open(self.folder, arena), at))
            save(folder, columns[0], place[node[at]])
            for column in columns[1:]:
                if (self.folder / f"{column}.npy").exists():
                    values = load(self.folder, column)[at]
                    save(folder, column, said(values).astype(np.uint32) if column == "text_support" else values)
        self._write_index(folder, np.flatnonzero(self.owner[nodes] == shard), len(nodes))

    def _write_index(self, folder: Path, own: Ints, nodes: int) -> None:
        """The index of the ids, names and other names of a shard's own entities."""
        name, alias = Arena.open(folder, "name"), Arena.open(folder, "alias")
        key = name if self.key is None else Arena.open(folder, "key")
        hashes = np.fromiter(map(key_hash, _texts(key, own)), np.uint64, len(own))
        HashIndex.write(folder, "key", hashes, own.astype(np.int32))
        one, other = index_names(_texts(name, own)), index_names(alias)
        others = np.arange(len(alias), dtype=np.int32) + np.int32(nodes)
        numbers = np.concatenate([own.astype(np.int32), others])
        HashIndex.write(folder, "normalised", np.concatenate([one.plain, other.plain]), numbers)
        loose = np.concatenate([own[one.folded_of], others[other.folded_of]]).astype(np.int32)
        HashIndex.write(folder, "folded", np.concatenate([one.folded, other.folded]), loose)


def _texts(arena: Arena, numbers: Ints) -> Iterator[str]:
    """The texts of those numbers, read in blocks."""
    for first in range(0, len(numbers), _TEXTS):
        yield from arena.many(numbers[first : first + _TEXTS])


# --- Asking.


def open_shards(folder: Path) -> "Shards":
    """The graph in shards in `folder`; every file's size is checked. Raises `StoreError`."""
    version = current(folder)
    manifest = read_manifest(version)
    if not manifest.shards:
        raise StoreError(f"{folder}: is in one piece; open it as any other graph")
    verify(manifest, version, contents=False)
    stores = [open_version(version / f"shard-{i}", contents=False) for i in range(manifest.shards)]
    return Shards(manifest.name, stores, manifest=manifest)


class _Local(NamedTuple):
    """A shard whose files are here."""

    store: Store
    numbers: NDArray[np.int64]  # (n,) the number in all shards of each of its nodes, ascending

    def places(self, numbers: Ints) -> tuple[Ints, NDArray[np.bool_]]:
        """The nodes of those numbers, and which of them there are."""
        at = self.numbers.searchsorted(numbers)
        there = at < len(self.numbers)
        there[there] = self.numbers[at[there]] == numbers[there]
        return at, there


@dataclass(frozen=True, eq=False)
class _Excerpt:
    """A small graph cut out of all shards, with what belongs to its numbers."""

    graph: "Shards"
    adjacency: Adjacency
    nodes: Ints  # (n,) their numbers in all shards, ascending
    shard: Ints  # (m,) where each edge is
    edge: Ints  # (m,) and its number there

    def number(self, entity_id: str, /) -> int:
        """The node of an id."""
        return int(self.nodes.searchsorted(self.graph.number(entity_id)))

    def at(self, node: int, /) -> Entity:
        """The entity of a node."""
        return self.graph.at(int(self.nodes[node]))

    def triple(self, edge: int, /) -> Triple:
        """The triple of an edge."""
        return self.graph.locals[int(self.shard[edge])].store.triple(int(self.edge[edge]))


class Shards:
    """One graph of several, each of which holds the entities whose ids hash to it; answers batches and paths itself.

    Shards are local stores or graphs behind servers; where all are local, searches run on their arrays.
    """

    def __init__(self, name: str, graphs: Sequence[KnowledgeGraph], *, manifest: Manifest | None = None) -> None:
        """The graph of those shards, in their order."""
        self.name, self.graphs, self.manifest = name, tuple(graphs), manifest or Manifest(name)
        self.prefix = f"{self.manifest.prefix}:" if self.manifest.prefix else ""

    def __repr__(self) -> str:
        """Name and shards."""
        return f"<graph {self.label}: {len(self.graphs)} shards>"

    @property
    def label(self) -> str:
        """Name, release and content hash."""
        if not self.manifest.content:
            return " + ".join(graph.label for graph in self.graphs)
        return f"{self.manifest.name} {self.manifest.release}".strip() + f" #{self.manifest.content[:12]}"

    @property
    def language(self) -> str:
        """ISO 639-1 of its names."""
        return self.graphs[0].language

    @cached_property
    def locals(self) -> list[_Local]:
        """The shards that are here with their numbers; none where one is behind a server."""
        stores = [graph for graph in self.graphs if isinstance(graph, Store)]
        if len(stores) < len(self.graphs):
            return []
        return [_Local(store, load(Path(store.folder), "global")) for store in stores]

    def verify(self) -> None:
        """Check the content of every file of shards that are here against its hash; raises `StoreError`."""
        for shard in self.locals:
            shard.store.verify()

    def key(self, entity_id: str) -> str:
        """An id without the graph's prefix."""
        return entity_id.removeprefix(self.prefix)

    def owner(self, entity_id: str) -> KnowledgeGraph:
        """The shard that has an entity, all its texts and all its triples."""
        return self.graphs[key_hash(self.key(entity_id)) % len(self.graphs)]

    def entity(self, entity_id: str, /) -> Entity:
        """The entity of that id with its description; raises `UnknownName`."""
        return self.owner(entity_id).entity(entity_id)

    def attributes(self, entity_id: str, /) -> list[Triple]:
        """The texts about an entity."""
        return self.owner(entity_id).attributes(entity_id)

    def neighbours(self, entity_id: str, /, *, limit: int = 64, roles: Sequence[Role] = ()) -> list[Triple]:
        """At most `limit` triples around an entity, heaviest first; `roles` narrows them."""
        return self.owner(entity_id).neighbours(entity_id, limit=limit, roles=roles)

    def lookup(self, name: str, /) -> list[Match]:
        """The entities of that name, best first, as one store has them."""
        return self._best(self._each([partial(graph.lookup, name) for graph in self.graphs]))

    def _each(self, asks: "Sequence[Callable[[], T]]") -> "list[T]":
        """What each call gives, in their order; shards behind servers are asked all at once."""
        if self.locals or len(asks) < 2:
            return [ask() for ask in asks]
        with ThreadPoolExecutor(min(len(asks), _AT_ONCE)) as pool:
            return [call.result() for call in [pool.submit(copy_context().run, ask) for ask in asks]]

    def _best(self, told: Sequence[Sequence[Match]]) -> list[Match]:
        """The matches of all shards, best first, as one store has them."""
        found = [match for matches in told for match in matches]
        if any(match.how != "folded" for match in found):
            found = [match for match in found if match.how != "folded"]
        return sorted(found, key=self._rank)

    def _rank(self, match: Match) -> tuple[float, int, int]:
        if not self.locals:
            return -match.score, 0, 0
        number = self.number(match.entity.id)
        return -match.score, -int(self._degrees(np.array([number]))[0]), number

    def lookup_many(self, names: Sequence[str], /) -> dict[str, list[Match]]:
        """The entities of each name; one call a shard where that takes many at once."""
        told = self._each([partial(lookup_many, graph, names) for graph in self.graphs])
        return {name: self._best([found[name] for found in told]) for name in dict.fromkeys(names)}

    def neighbours_of(self, ids: Sequence[str], /, *, limit: int = 64) -> dict[str, list[Triple]]:
        """At most `limit` triples around each id; one call a shard where that takes many at once."""
        of: dict[int, list[str]] = {}
        for one in dict.fromkeys(ids):
            of.setdefault(self.graphs.index(self.owner(one)), []).append(one)
        asks = [partial(neighbours_of, self.graphs[shard], some, limit=limit) for shard, some in of.items()]
        return {one: triples for told in self._each(asks) for one, triples in told.items()}

    # numbers

    def number(self, entity_id: str, /) -> int:
        """The number of an id in all shards; raises `UnknownName`."""
        shard = self.locals[key_hash(self.key(entity_id)) % len(self.graphs)]
        return int(shard.numbers[shard.store.number(entity_id)])

    def at(self, number: int, /) -> Entity:
        """The entity of a number."""
        shard = self.locals[number % len(self.graphs)]
        return shard.store.at(int(shard.numbers.searchsorted(number)))

    def triples(self) -> Iterator[Triple]:
        """All triples of shards that are here, shard after shard, each in that of its head."""
        for i, shard in enumerate(self.locals):
            own = np.repeat(shard.numbers % len(self.graphs) == i, np.diff(shard.store.adjacency.out.indptr))
            edges = np.flatnonzero(own)
            for first in range(0, len(edges), _TEXTS):
                yield from shard.store.triples(edges[first : first + _TEXTS])

    def _degrees(self, numbers: Ints) -> Ints:
        """The number of edges at each node in the whole graph."""
        found = np.zeros(len(numbers), np.int64)
        for i, shard in enumerate(self.locals):
            at = np.flatnonzero(numbers % len(self.graphs) == i)
            found[at] = degrees(shard.store.adjacency, shard.places(numbers[at])[0].astype(np.int32))
        return found

    def _around(self, numbers: Ints) -> Ints:
        """The numbers of all neighbours of some nodes, each once, ascending: one exchange between the shards."""
        parts = [np.empty(0, np.int64)]
        for i, shard in enumerate(self.locals):
            own = shard.places(numbers[numbers % len(self.graphs) == i])[0].astype(np.int32)
            for csr in shard.store.adjacency:
                parts.append(shard.numbers[np.unique(csr.neighbour[follow(csr, own)[1]])])
        return np.unique(np.concatenate(parts))

    def _part(self, nodes: Ints) -> _Excerpt:
        """Some nodes (ascending) with all edges between them and their degrees in the whole graph."""
        rows: list[tuple[Ints, Ints, Ints, Ints, Ints]] = []
        for i, shard in enumerate(self.locals):
            own = shard.places(nodes[nodes % len(self.graphs) == i])[0].astype(np.int32)
            at, there = shard.places(nodes)
            targets = at[there].astype(np.int32)
            out, into = shard.store.adjacency
            cross = crossing(out, into, own, targets)
            ends = (shard.numbers[own[cross.left]], shard.numbers[targets[cross.right]])
            head, tail = (nodes.searchsorted(end) for end in ends)
            edge = cross.edge.astype(np.int64)
            rows.append((head, tail, out.relation[edge].astype(np.int64), np.full(len(edge), i), edge))
        head, tail, relation, where, edge = (np.concatenate(column) for column in zip(*rows, strict=True))
        order = np.lexsort((relation, tail, head))
        adjacency = Adjacency.of(len(nodes), np.column_stack([head, relation, tail]))
        return _Excerpt(self, KnownDegrees.of_whole(adjacency, self._degrees(nodes)), nodes, where[order], edge[order])

    # searches

    def between(self, one: str, other: str, hops: int, limit: int, /) -> FoundPaths:
        """The shortest paths between two ids."""
        ends = self._each([partial(self.entity, end) for end in (one, other)])
        if not self.locals:
            return self._by_names(ends, hops, limit)
        part = self._part(self._on_the_way(self.number(one), self.number(other), hops))
        return paths_between(part, ends, hops=hops, limit=limit)  # type: ignore[arg-type]

    def chains(self, anchors: Sequence[str], hops: int, limit: int, /) -> FoundPaths:
        """The chains between several ids."""
        entities = self._each([partial(self.entity, anchor) for anchor in dict.fromkeys(anchors)])
        if not self.locals:
            return self._by_names(entities, hops, limit)
        nodes, cut = self.ball(anchors, hops)
        found = paths_between(self._part(nodes), entities, hops=hops, limit=limit)  # type: ignore[arg-type]
        return FoundPaths(found.paths, found.total, tuple(dict.fromkeys((*cut, *found.cut))))

    def part(self, anchors: Sequence[str], hops: int) -> _Excerpt:
        """What chains of so many steps between some ids run through, as a graph of its own."""
        return self._part(self.ball(anchors, hops)[0])

    def ball(self, anchors: Sequence[str], hops: int) -> tuple[Ints, tuple[str, ...]]:
        """The numbers of all nodes within hops / 2 steps of an anchor, and the budget that left some out."""
        nodes = front = np.unique(np.array([self.number(anchor) for anchor in anchors], np.int64))
        cut: tuple[str, ...] = ()
        for level in range(hops // 2):
            if level:  # the first step is always whole, as in a search of one store
                degree = self._degrees(front)
                order = np.argsort(degree, kind="stable")
                kept = order[np.cumsum(degree[order]) <= SearchBudget().halves]
                cut = ("halves",) if len(kept) < len(front) else cut
                front = front[np.sort(kept)]
            front = np.setdiff1d(self._around(front), nodes, assume_unique=True)
            nodes = np.union1d(nodes, front)
        return nodes, cut

    def _on_the_way(self, one: int, other: int, hops: int) -> Ints:
        """The numbers of all nodes on shortest paths between two; the two alone where there is none."""
        levels = ([np.array([one])], [np.array([other])])
        seen = [levels[0][0], levels[1][0]]
        ends = np.unique(np.array([one, other]))
        for _ in range(hops if one != other else 0):
            effort = [int(self._degrees(level[-1]).sum()) for level in levels]
            side = int(effort[1] < effort[0])
            new = np.setdiff1d(self._around(levels[side][-1]), seen[side], assume_unique=True)
            if not len(new):
                return ends
            met = np.intersect1d(new, seen[1 - side], assume_unique=True)
            if len(met):
                levels[1 - side].pop()  # some of which have been met
                return np.unique(np.concatenate([*self._leading(levels[0], met), *self._leading(levels[1], met)]))
            levels[side].append(new)
            seen[side] = np.union1d(seen[side], new)
        return ends

    def _leading(self, levels: list[Ints], met: Ints) -> list[Ints]:
        """Of each level the nodes that lead to those that were met."""
        kept = [met]
        for level in levels[::-1]:
            kept.append(np.intersect1d(level, self._around(kept[-1]), assume_unique=True))
        return kept

    def _by_names(self, entities: Sequence[Entity], hops: int, limit: int) -> FoundPaths:
        """Paths over shards behind servers: what lies around the ends is fetched, one call a shard and level."""
        around = nearby(self, [entity.id for entity in entities], hops // 2 + 1)
        found = paths_between(around, entities, hops=hops, limit=limit)  # type: ignore[arg-type]
        return FoundPaths(found.paths, found.total, (*around.cut, *found.cut))
