"""The embedded graph: immutable files, mapped, shared by every process that opens them."""

import json
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgmed.errors import StoreError, UnknownName
from kgmed.kg.graph import Adjacency, Csr, Match, Named
from kgmed.kg.rows import Scope
from kgmed.kg.store.arena import Arena, load
from kgmed.kg.store.manifest import FULL_CHECK, Manifest, read_manifest, verify
from kgmed.kg.store.names import HashIndex
from kgmed.kg.store.publish import current
from kgmed.kg.text import fold, normalise
from kgmed.types import Entity, Role, Support, Triple

_HOW_SCORE = {"exact": 1.0, "normalised": 0.99, "folded": 0.93}
_SCOPE_COST = 0.005  # per step of `Scope` away from the preferred name


def open_store(folder: Path, *, contents: bool | None = None) -> "Store":
    """The current version of the graph in `folder`.

    Every file's size is checked, and its content too up to `FULL_CHECK` bytes in all (or as `contents` says).
    Raises `StoreError`.
    """
    try:
        version = current(folder)
        manifest = read_manifest(version)
        verify(manifest, version, contents=manifest.bytes <= FULL_CHECK if contents is None else contents)
        return Store(version, manifest)
    except (StoreError, OSError):
        if current(folder) == version:
            raise
        return open_store(folder, contents=contents)  # a rebuild took its place while it was being opened


class Store:
    """A stored graph; implements `LocalGraph`. Entities are numbered 0..n-1, edges in the outgoing order 0..m-1."""

    def __init__(self, version: Path, manifest: Manifest) -> None:
        """Map the files of a version folder whose manifest has been checked."""
        self.manifest, self._folder = manifest, version
        self.adjacency = _adjacency(version)
        self._name, self._alias = Arena.open(version, "name"), Arena.open(version, "alias")
        self._key = Arena.open(version, "key") if "key_start.npy" in manifest.files else self._name
        self._keys = HashIndex.open(version, "key")
        self._normalised, self._folded = HashIndex.open(version, "normalised"), HashIndex.open(version, "folded")
        self._kind, self._kinds = load(version, "kind"), manifest.kinds
        self._alias_node, self._alias_scope = load(version, "alias_node"), load(version, "alias_scope")
        self.relations = manifest.relations
        self._colon = f"{manifest.prefix}:" if manifest.prefix else ""
        self._source = f"{manifest.name} {manifest.release}".strip()
        self.weight: NDArray[np.float32] | None = load(version, "weight") if "weight.npy" in manifest.files else None
        self._edge_support = load(version, "edge_support") if "edge_support.npy" in manifest.files else None
        self._entity = lru_cache(maxsize=1 << 16)(self._make_entity)

    def __len__(self) -> int:
        """The number of entities."""
        return len(self._name)

    def __repr__(self) -> str:
        """Name, release and counts."""
        counts = self.manifest.counts
        return f"<graph {self._source}: {counts['entities']:,} entities, {counts['triples']:,} triples>"

    @property
    def name(self) -> str:
        """The name a person types."""
        return self.manifest.name

    @property
    def label(self) -> str:
        """Name, release and content hash."""
        return f"{self._source} #{self.manifest.content[:12]}"

    @property
    def language(self) -> str:
        """ISO 639-1 of its names."""
        return self.manifest.language

    @property
    def folder(self) -> str:
        """The folder of this version."""
        return str(self._folder)

    def verify(self) -> None:
        """Check the content of every file against its hash; raises `StoreError`."""
        verify(self.manifest, self._folder)

    # entities

    def number(self, entity_id: str, /) -> int:
        """The node number of an id; raises `UnknownName`."""
        key = entity_id.removeprefix(self._colon)
        for node in self._keys.find(key):
            if self._key[node] == key:
                return node
        raise UnknownName(f"entity of {self.name}", entity_id, (), f"search with: kgmed graph find {self.name} NAME")

    def at(self, node: int, /) -> Entity:
        """The entity of a node number, without its description (see `entity`)."""
        return self._entity(node)

    def _make_entity(self, node: int) -> Entity:
        return Entity(self._colon + self._key[node], self._name[node], self._kinds[self._kind.item(node)])

    def entity(self, entity_id: str, /) -> Entity:
        """The entity of that id with its description; raises `UnknownName`."""
        node = self.number(entity_id)
        found = self._entity(node)
        return Entity(found.id, found.name, found.kind, self._description(node))

    def _description(self, node: int) -> str:
        described, texts = self._descriptions
        i = int(described.searchsorted(np.int32(node)))
        return texts[i] if i < len(described) and described[i] == node else ""

    @cached_property
    def _descriptions(self) -> tuple[NDArray[Any], Arena]:
        return load(self._folder, "described"), Arena.open(self._folder, "description")

    def kind(self, node: int) -> str:
        """The kind of a node."""
        return self._kinds[int(self._kind[node])]

    def of_kind(self, kind: str) -> NDArray[np.int64]:
        """The node numbers of a kind, ascending."""
        return np.flatnonzero(self._kind == self._kinds.index(kind)) if kind in self._kinds else np.empty(0, np.int64)

    def degree(self, node: int) -> int:
        """The number of edges at a node, both directions."""
        out, into = self.adjacency.out.indptr, self.adjacency.into.indptr
        return int(out[node + 1] - out[node] + into[node + 1] - into[node])

    # names

    def aliases(self, node: int) -> list[tuple[str, Scope]]:
        """The other names of a node with their scope."""
        first, last = self._alias_node.searchsorted(np.array([node, node + 1], np.int32))
        return [(self._alias[i], Scope(self._alias_scope.item(i))) for i in range(first, last)]

    def names(self, *, scopes: Sequence[int] = ()) -> Iterator[Named]:
        """Every name and alias, by node number; `scopes` narrows them."""
        if not scopes or Scope.PREFERRED in scopes:
            for node, text in enumerate(self._name):
                yield Named(text, node, Scope.PREFERRED)
        wanted = set(scopes or Scope)
        rows = zip(self._alias, self._alias_node.tolist(), self._alias_scope.tolist(), strict=True)
        yield from (Named(text, node, scope) for text, node, scope in rows if scope in wanted)

    def lookup(self, name: str, /) -> list[Match]:
        """The entities of that name, best first: exact, alias, normalised, folded; ties by degree, then number."""
        key = normalise(name)
        found = self._matches(name, self._normalised.find(key), key, folded=False)
        if not found:
            loose = fold(name)
            numbers = self._folded.find(loose) + self._normalised.find(loose)
            found = self._matches(name, numbers, loose, folded=True)
        best: dict[int, tuple[Match, int]] = {}
        for match, node in found:
            if node not in best or match.score > best[node][0].score:
                best[node] = match, node
        ordered = sorted(best.values(), key=lambda m: (-m[0].score, -self.degree(m[1]), m[1]))
        return [match for match, _ in ordered]

    def _matches(self, name: str, numbers: list[int], key: str, *, folded: bool) -> list[tuple[Match, int]]:
        """The names of those numbers whose key is really `key`; another name may share the hash."""
        rows = []
        for number in numbers:
            text, node, scope = self._named(number)
            if (fold if folded else normalise)(text) == key:
                how = "folded" if folded else "exact" if text == name else "normalised"
                score = _HOW_SCORE[how] - _SCOPE_COST * scope
                how = "alias" if scope and not folded else how
                rows.append((Match(self._entity(node), text, how, score), node))
        return rows

    def _named(self, number: int) -> Named:
        n = len(self._name)
        if number < n:
            return Named(self._name[number], number, Scope.PREFERRED)
        i = number - n
        return Named(self._alias[i], self._alias_node.item(i), self._alias_scope.item(i))

    # edges

    def triple(self, edge: int, /) -> Triple:
        """The triple of an edge number."""
        return self.triples(np.array([edge]))[0]

    def _triple(self, edge: int, head: int, tail: int) -> Triple:
        relation = self.relations[self.adjacency.out.relation.item(edge)]
        weight = 1.0 if self.weight is None else round(self.weight.item(edge), 6)
        support = () if self._edge_support is None else self._support(self._edge_support.item(edge))
        return Triple(self._entity(head), relation, self._entity(tail), weight, self._source, support)

    def _support(self, number: int) -> tuple[Support, ...]:
        if not number:
            return ()
        return tuple(Support(ref, tuple(said.items())) for ref, said in json.loads(self._supports[number]))

    @cached_property
    def _supports(self) -> Arena:
        return Arena.open(self._folder, "support")

    def incident(self, node: int, *, limit: int = 64, roles: Sequence[Role] = ()) -> NDArray[np.int64]:
        """At most `limit` edge numbers at a node, heaviest first, then outgoing before incoming, then by number."""
        out, into = self.adjacency
        begin, end = out.indptr[node], out.indptr[node + 1]
        first, last = into.indptr[node], into.indptr[node + 1]
        edges = np.concatenate([np.arange(begin, end), into.edge[first:last]])  # type: ignore[index]
        if roles:
            wanted = [relation.role in roles for relation in self.relations]
            edges = edges[np.array(wanted)[out.relation[edges]]]
        if self.weight is None or len(edges) < 2:
            return edges[:limit]
        weights = self.weight[edges]
        if len(edges) > 4 * limit:
            cut = np.partition(weights, len(edges) - limit)[len(edges) - limit]
            edges, weights = edges[weights >= cut], weights[weights >= cut]
        return edges[np.argsort(-weights, kind="stable")[:limit]]

    def neighbours(self, entity_id: str, /, *, limit: int = 64, roles: Sequence[Role] = ()) -> list[Triple]:
        """At most `limit` triples around an entity, heaviest first; `roles` narrows them."""
        return self.triples(self.incident(self.number(entity_id), limit=limit, roles=roles))

    def triples(self, edges: NDArray[np.integer[Any]]) -> list[Triple]:
        """The triples of edge numbers, in their order."""
        out = self.adjacency.out
        heads = out.indptr.searchsorted(edges, side="right") - 1
        return list(map(self._triple, edges.tolist(), heads.tolist(), out.neighbour[edges].tolist()))

    def attributes(self, entity_id: str, /) -> list[Triple]:
        """The texts about an entity; the tail of each is a literal without id."""
        nodes, relations, supports, texts = self._texts
        node = self.number(entity_id)
        first, last = nodes.searchsorted(np.array([node, node + 1], np.int32))
        return [
            Triple(
                self._entity(node), self.relations[relations.item(i)], Entity("", texts[i], "text"),
                source=self._source, support=self._support(supports.item(i)),
            )
            for i in range(first, last)
        ]  # fmt: skip

    @cached_property
    def _texts(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], Arena]:
        columns = [load(self._folder, f"text_{name}") for name in ("node", "relation", "support")]
        return columns[0], columns[1], columns[2], Arena.open(self._folder, "text")


def _adjacency(folder: Path) -> Adjacency:
    """Both directions of a version's edges, mapped."""
    out = Csr(load(folder, "out_indptr"), load(folder, "out_neighbour"), load(folder, "out_relation"))
    into = Csr(*(load(folder, f"in_{name}") for name in ("indptr", "neighbour", "relation", "edge")))
    return Adjacency(out, into)
