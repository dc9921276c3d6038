"""Triples added to a stored graph or withdrawn from it without building it again, and the journal of those edits."""

import json
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import xxhash
from numpy.typing import NDArray

from kgmed.errors import BadInput, StoreError, UnknownName
from kgmed.graph.base import Adjacency, Csr, EdgeRow, NodeRow
from kgmed.graph.formats.base import infer, kinds_of
from kgmed.graph.store.arrays import HashIndex, Tables, index_names, key_hash, pack_support
from kgmed.graph.store.build import MOST
from kgmed.graph.store.folder import JOURNAL, Manifest, locked
from kgmed.graph.store.store import Store
from kgmed.records import Relation, Support

# --- Edges put into and taken out of the arrays of a graph, in their sorted places, both directions and all columns.

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
        return tables._replace(
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
        among += np.cumsum(np.bincount(self.places, minlength=edges + 1))[among]
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


# --- Triples added to a stored graph or withdrawn from it without building it again.
# The edge arrays are copied with the changes in their sorted places (a tenth of a second for millions of edges); names
# and texts stay mapped, those of new entities stand in short tails in memory.

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
    named = t._replace(
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
    return t._replace(described=np.append(t.described, nodes[told]), description=description)


def _with_aliases(t: Tables, added: list[tuple[int, str, int]], names: list[str]) -> Tables:
    """The tables with the new aliases, and both indexes of names; `names` are the new entities', the last in `t`."""
    aliases = sorted(added, key=lambda alias: alias[0])
    nodes, texts = np.array([node for node, _, _ in aliases], np.int32), [text for _, text, _ in aliases]
    scopes = np.array([scope for _, _, scope in aliases], np.uint8)
    places = t.alias_node.searchsorted(nodes, side="right")
    new = np.append(np.arange(len(t.name) - len(names), len(t.name)), places + np.arange(len(places)) + len(t.name))
    plain, folded, folded_of = index_names([*names, *texts])
    moved = _moved(t, places, len(names))
    return t._replace(
        alias=t.alias.inserted(places, texts),
        alias_node=np.insert(t.alias_node, places, nodes),
        alias_scope=np.insert(t.alias_scope, places, scopes),
        alias_language=None if t.alias_language is None else np.insert(t.alias_language, places, 0),
        normalised=HashIndex(t.normalised.hashes, moved[t.normalised.numbers]).inserted(plain, new.astype(np.int32)),
        folded=HashIndex(t.folded.hashes, moved[t.folded.numbers]).inserted(folded, new[folded_of].astype(np.int32)),
    )


def _moved(t: Tables, places: Ints, names: int) -> NDArray[np.int32]:
    """The new number of each old name: aliases come after the new entities' names and the new aliases before them."""
    old = len(t.name) - names
    before = np.cumsum(np.bincount(places, minlength=len(t.alias_node) + 1))[: len(t.alias_node)]
    return np.append(np.arange(old), np.arange(len(t.alias_node)) + len(t.name) + before).astype(np.int32)


# --- The edits of a graph as a person made them: one JSON object a line, only ever appended to.
# The file stands in the graph's folder beside CURRENT, so that it outlives a rebuild. A last line without its end was
# being written when the process was killed; it is left out, reported, and removed by the next edit.

ADD, WITHDRAW = "add", "withdraw"


@dataclass(frozen=True, slots=True)
class Edit:
    """One triple added or withdrawn; head and tail are ids."""

    what: str  # add or withdraw
    head: str
    relation: str
    tail: str
    reference: str = ""
    note: str = ""
    weight: float = 1.0

    @property
    def triple(self) -> Withdrawn:
        """Head, relation and tail."""
        return self.head, self.relation, self.tail

    @property
    def row(self) -> EdgeRow:
        """The triple to add."""
        said = (("note", self.note),) if self.note else ()
        support = (Support(self.reference, said),) if self.reference or said else ()
        return EdgeRow(*self.triple, self.weight, support)


@dataclass(frozen=True, slots=True)
class Journal:
    """The edits of a graph, oldest first, and a report of each that cannot be made."""

    edits: tuple[Edit, ...] = ()
    notes: tuple[str, ...] = ()


def read_journal(folder: Path) -> Journal:
    """The journal of a graph's folder; raises `StoreError` naming a line that is no edit."""
    path = folder / JOURNAL
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return Journal()
    except OSError as e:
        raise StoreError(f"{path}: cannot be read ({e.strerror})") from e
    *lines, torn = data.split(b"\n")
    edits = tuple(_parsed(path, number, line) for number, line in enumerate(lines, start=1) if line.strip())
    notes = (f"{path}:{len(lines) + 1}: the last edit was not written to its end and is left out",) if torn else ()
    return Journal(edits, notes)


def _parsed(path: Path, number: int, line: bytes) -> Edit:
    """The edit in a line."""
    try:
        data = json.loads(line)
        edit = Edit(**data)
        if edit.what in (ADD, WITHDRAW) and _sound(data, edit):
            return edit
    except (ValueError, TypeError, RecursionError):
        pass
    raise StoreError(f"{path}:{number}: is no edit; mend or remove that line")


def _sound(data: dict[str, Any], edit: Edit) -> bool:
    texts = (value for key, value in data.items() if key != "weight")
    weight = edit.weight
    return all(isinstance(v, str) for v in texts) and isinstance(weight, int | float) and 0 <= weight <= 1


def append(folder: Path, edit: Edit) -> None:
    """Write an edit to the end of the journal, and to the disk."""
    line = json.dumps({k: v for k, v in asdict(edit).items() if v not in ("", 1.0)}, ensure_ascii=False)
    with locked(folder), (folder / JOURNAL).open("ab+") as f:
        f.seek(0)
        f.truncate(f.read().rfind(b"\n") + 1)
        f.write(line.encode("utf-8", "backslashreplace") + b"\n")  # a lone surrogate as JSON has it
        f.flush()
        os.fsync(f.fileno())


def replay(store: Store, edits: Iterable[Edit]) -> tuple[Store, tuple[str, ...]]:
    """The graph after those edits, and a note for each that asks for what is not there (any more)."""
    added: dict[Withdrawn, list[EdgeRow]] = {}
    gone: dict[Withdrawn, None] = {}
    notes = []
    for number, one in enumerate(edits, start=1):
        if one.what == ADD:
            added.setdefault(one.triple, []).append(one.row)
            continue
        is_there = one.triple not in gone and store.edge(*one.triple) >= 0
        if added.pop(one.triple, None) is None and not is_there:
            notes.append(f"edit {number} withdraws {' | '.join(one.triple)}, which {store.name} does not have")
        if is_there:
            gone[one.triple] = None
    return edit(store, [row for rows in added.values() for row in rows], gone), tuple(notes)
