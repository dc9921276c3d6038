"""Triples added to a stored graph or withdrawn from it without building it again.

The edge arrays are copied with the changes in their sorted places (a tenth of a second for millions of edges); names
and texts stay mapped, those of new entities stand in short tails in memory.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import xxhash
from numpy.typing import NDArray

from kgmed.errors import BadInput, UnknownName
from kgmed.kg.rows import EdgeRow, NodeRow
from kgmed.kg.sources.roles import infer, kinds_of
from kgmed.kg.store.build import MOST
from kgmed.kg.store.names import HashIndex, index_names, key_hash
from kgmed.kg.store.splice import Splice
from kgmed.kg.store.store import Store
from kgmed.kg.store.tables import Tables
from kgmed.types import Relation

Ints = NDArray[np.int64]
Withdrawn = tuple[str, str, str]  # id of the head, name of the relation, id of the tail


def edit(store: Store, added: Iterable[EdgeRow | NodeRow] = (), withdrawn: Iterable[Withdrawn] = ()) -> Store:
    """The graph with those triples withdrawn, then those rows added; the graph given stays as it is.

    Keys may be ids. An end that is not in the graph becomes an entity of it. A triple that is there already gains the
    support and keeps its source; a new one has the source `edits`. A `NodeRow` tells of a new entity, or adds aliases
    to one that is there. Raises `BadInput` where a triple to withdraw is not there.
    """
    rows, gone = list(added), list(withdrawn)
    if not rows and not gone:
        return store
    draft = _Draft(store)
    for row in rows:
        if isinstance(row, NodeRow):
            draft.node(row)
        else:
            draft.edge(row)
    removed = np.array(sorted({_number(store, triple) for triple in gone}), np.int64)
    splice = Splice(store, draft.edges, removed, len(draft.new))
    try:
        tables, kinds = _with_names(store, draft)
        tables = splice.applied(tables)
    except UnicodeEncodeError as e:
        raise BadInput(f"half a character (a lone surrogate) in {e.object!r}; mend that text") from e
    manifest = replace(store.manifest, relations=tuple(draft.relations), kinds=kinds)
    manifest = replace(manifest, **splice.counts(manifest, tables))
    edited, label = splice.edited(), _label(store, rows, gone)
    return Store(manifest, tables, Path(store.folder), edited=edited, edits=label)


def _number(store: Store, triple: Withdrawn) -> int:
    """The number of an edge to withdraw."""
    number = store.edge(*triple)
    if number < 0:
        raise BadInput(f"{store.name} has no triple {' | '.join(triple)}; nothing to withdraw")
    return number


def _label(store: Store, rows: list[EdgeRow | NodeRow], gone: list[Withdrawn]) -> str:
    """The number of edits and their hash, after those that the graph has already."""
    digest = xxhash.xxh3_64_hexdigest(repr((store.edits, rows, gone)).encode("utf-8", "surrogatepass"))[:8]
    count = len(rows) + len(gone)
    return f"{store.edits} +{count} edit{'s' * (count != 1)} #{digest}"


@dataclass
class _Draft:
    """The rows to add, on node and relation numbers."""

    store: Store
    new: dict[str, int] = field(default_factory=dict)  # key -> node
    rows: dict[int, NodeRow] = field(default_factory=dict)  # of new nodes
    kind: dict[int, str] = field(default_factory=dict)
    aliases: list[tuple[int, str, int]] = field(default_factory=list)  # node, text, scope
    edges: dict[tuple[int, int, int], list[EdgeRow]] = field(default_factory=dict)  # by head, tail, relation
    relations: list[Relation] = field(default_factory=list)
    known: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.relations = list(self.store.relations)
        self.known = {relation.name: i for i, relation in enumerate(self.relations)}

    def _node(self, key: str, kind: str = "") -> int:
        """The number of a key, new or not; the kind is for a new one that has none yet."""
        try:
            return self.store.number(key)
        except UnknownName:
            node = self.new.setdefault(self.store.key(key), len(self.store) + len(self.new))
            if kind:
                self.kind.setdefault(node, kind)
            return node

    def node(self, row: NodeRow) -> None:
        """Take in an entity or more aliases of one."""
        node = self._node(row.key)
        if node >= len(self.store):
            said = self.rows.get(node, row)
            self.rows[node] = row._replace(name=row.name or said.name, description=row.description or said.description)
            if row.kind:
                self.kind[node] = row.kind
        elif row.name or row.kind or row.description:
            raise BadInput(f"{row.key} is in {self.store.name} already; edits may only give it more aliases")
        self.aliases += [(node, alias.text, alias.scope) for alias in row.aliases]

    def edge(self, row: EdgeRow) -> None:
        """Take in a triple."""
        if not 0 <= row.weight <= 1:
            raise BadInput(f"the weight {row.weight} of {row.head} {row.relation} {row.tail} is not between 0 and 1")
        relation = self.known.setdefault(row.relation, len(self.relations))
        if relation == len(self.relations):
            if relation > MOST:
                raise BadInput(f"{self.store.name} cannot have more than {MOST:,} relations")
            self.relations.append(infer(row.relation))
        head_kind, tail_kind = kinds_of(self.relations[relation])
        ends = self._node(row.head, head_kind), self._node(row.tail, tail_kind)
        self.edges.setdefault((*ends, relation), []).append(row)


def _with_names(store: Store, draft: _Draft) -> tuple[Tables, tuple[str, ...]]:
    """The tables with the names of the new entities and the new aliases, and the kinds."""
    t, kinds = store.tables, dict.fromkeys([*store.manifest.kinds, *draft.kind.values()])
    if not draft.new and not draft.aliases:
        return t, tuple(kinds)
    keys, nodes = list(draft.new), np.array(list(draft.new.values()), np.int32)
    rows = [draft.rows.get(node, NodeRow(key)) for key, node in draft.new.items()]
    names = [row.name or key for row, key in zip(rows, keys, strict=True)]
    numbers = {kind: i for i, kind in enumerate(kinds)}
    end = np.full(len(nodes), len(store))
    named = replace(
        t,
        key=t.key.inserted(end, keys),
        name=t.name.inserted(end, names),
        keys=t.keys.inserted(np.array([key_hash(k) for k in keys], np.uint64), nodes),
        kind=np.append(t.kind, np.array([numbers[draft.kind.get(n, "")] for n in nodes.tolist()], np.uint16)),
    )
    return _with_aliases(_with_descriptions(named, nodes, rows), draft.aliases, names), tuple(kinds)


def _with_descriptions(t: Tables, nodes: NDArray[np.int32], rows: list[NodeRow]) -> Tables:
    """The tables with the descriptions of the new entities."""
    told = np.array([bool(row.description) for row in rows], bool)
    texts = [row.description for row in rows if row.description]
    description = t.description.inserted(np.full(len(texts), len(t.described)), texts)
    return replace(t, described=np.append(t.described, nodes[told]), description=description)


def _with_aliases(t: Tables, added: list[tuple[int, str, int]], names: list[str]) -> Tables:
    """The tables with the new aliases, and both indexes of names; `names` are the new entities', the last in `t`."""
    aliases = sorted(added, key=lambda alias: alias[0])
    nodes, texts = np.array([node for node, _, _ in aliases], np.int32), [text for _, text, _ in aliases]
    scopes = np.array([scope for _, _, scope in aliases], np.uint8)
    places = t.alias_node.searchsorted(nodes, side="right")
    new = np.append(np.arange(len(t.name) - len(names), len(t.name)), places + np.arange(len(places)) + len(t.name))
    plain, folded, folded_of = index_names([*names, *texts])
    moved = _moved(t, places, len(names))
    return replace(
        t,
        alias=t.alias.inserted(places, texts),
        alias_node=np.insert(t.alias_node, places, nodes),
        alias_scope=np.insert(t.alias_scope, places, scopes),
        normalised=HashIndex(t.normalised.hashes, moved[t.normalised.numbers]).inserted(plain, new.astype(np.int32)),
        folded=HashIndex(t.folded.hashes, moved[t.folded.numbers]).inserted(folded, new[folded_of].astype(np.int32)),
    )


def _moved(t: Tables, places: Ints, names: int) -> NDArray[np.int32]:
    """The new number of each old name: aliases come after the new entities' names and the new aliases before them."""
    old = len(t.name) - names
    before = np.cumsum(np.bincount(places, minlength=len(t.alias_node) + 1))[: len(t.alias_node)]
    return np.append(np.arange(old), np.arange(len(t.alias_node)) + len(t.name) + before).astype(np.int32)
