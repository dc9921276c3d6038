"""The embedded graph: immutable files, mapped, shared by every process that opens them."""

import json
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property, lru_cache
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgmed.errors import BadInput, StoreError, UnknownName
from kgmed.graph.base import Match, NodeName, Scope, how_found
from kgmed.graph.store.arrays import RecordCache, Tables, entity_of, match_of, triples_of
from kgmed.graph.store.folder import FULL_CHECK, Manifest, current, read_manifest, verify
from kgmed.language.relations import spoken as in_words
from kgmed.language.text import CJK_LANGUAGES, fold, has_cjk, normalise, script_language
from kgmed.records import Entity, Relation, Role, Support, Triple

_MOST_FOUND = 1 << 12  # names
EDITS = "edits"  # the source of triples that were added to a graph after it was built


def open_store(folder: Path, *, contents: bool | None = None) -> "Store":
    """The current version of the graph in `folder`.

    Every file's size is checked, and its content too up to `FULL_CHECK` bytes in all (or as `contents` says).
    Raises `StoreError`.
    """
    while True:
        version = current(folder)
        try:
            return open_version(version, contents)
        except StoreError:
            if current(folder) == version:  # otherwise a rebuild took its place while it was being opened
                raise


def open_version(version: Path, contents: bool | None) -> "Store":  # noqa: FBT001
    """The store in a version folder; raises `StoreError`, and `BadInput` where it is in shards."""
    manifest = read_manifest(version)
    if manifest.shards:
        more = "info, find, show, neighbours, paths, doctor, export and ask work on it"
        raise BadInput(f"{manifest.name} is in {manifest.shards} shards, and this needs it in one piece; {more}")
    try:
        verify(manifest, version, contents=manifest.bytes <= FULL_CHECK if contents is None else contents)
        return Store(manifest, Tables.open(version, manifest), version)
    except (OSError, ValueError) as e:
        raise StoreError(f"{version}: cannot be opened ({e}); build the graph again") from e


class Store:
    """A stored graph; implements `LocalGraph`. Entities are numbered 0..n-1, edges in the outgoing order 0..m-1.

    Every file is mapped from the start, so that an open graph is not harmed when a rebuild takes its place.
    """

    def __init__(
        self,
        manifest: Manifest,
        tables: Tables,
        folder: Path,
        *,
        edited: frozenset[int] = frozenset(),
        edits: str = "",
        speaks: str = "",
    ) -> None:
        """The graph of those tables; `edited` are the edges that `edits`, a part of the label, have added.

        `speaks` is the language of the names that its entities bear where it has some in it; "" = the first names.
        """
        self.manifest, self.tables, self.edited, self.edits = manifest, tables, edited, edits
        self.speaks = speaks
        self.adjacency, self.weight, self.relations = tables.adjacency, tables.weight, manifest.relations
        if speaks:
            self.relations = tuple(in_words(relation, speaks) for relation in manifest.relations)
        self._folder, self._kinds = folder, manifest.kinds
        self._key, self._name, self._kind = tables.key, tables.name, tables.kind
        self._colon = f"{manifest.prefix}:" if manifest.prefix else ""
        self._source = manifest.source if manifest.parts else f"{manifest.name} {manifest.release}".strip()
        self.origins = _origins(manifest, self._source)
        self._has_loops = bool(manifest.counts.get("loops"))
        out, into = self.adjacency
        self._out_at, self._in_at, self._in_edge = out.indptr.data, into.indptr.data, into.edge.data  # type: ignore[union-attr]
        self._entities = RecordCache[int, Entity]()
        self._supports = RecordCache[int, tuple[Support, ...]]()
        self._found: dict[str, list[Match]] = {}  # what names led to, the last ones kept
        self._numbers = RecordCache[str, int]()
        self._of_roles = _masks(manifest.relations)

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
        """Name, release and content hash, then the number of edits and their hash where there are some."""
        return f"{self._source} #{self.manifest.content[:12]}{self.edits}"

    @property
    def describes(self) -> str:
        """The graph and release that its descriptions are from, or those of them that describe."""
        return self.manifest.describes or self.label

    @property
    def language(self) -> str:
        """ISO 639-1 of its names."""
        return self.manifest.language

    @property
    def folder(self) -> str:
        """The folder of this version."""
        return str(self._folder)

    def speaking(self, language: str) -> "Store":
        """The same graph whose entities and relations are called in a language, where there are words; ids stay."""
        if not self.speaks_otherwise(language):
            return self
        return Store(self.manifest, self.tables, self._folder, edited=self.edited, edits=self.edits, speaks=language)

    def speaks_otherwise(self, language: str) -> bool:
        """Whether it may call its entities otherwise in a language than it does."""
        return language != self.speaks and (language != self.language or bool(self.manifest.parts))

    def verify(self) -> None:
        """Check the content of every file against its hash; raises `StoreError`."""
        verify(self.manifest, self._folder)

    # entities

    def key(self, entity_id: str) -> str:
        """An id without the graph's prefix."""
        return entity_id.removeprefix(self._colon)

    def number(self, entity_id: str, /) -> int:
        """The node number of an id; raises `UnknownName`."""
        return self._numbers.one(entity_id, self._number)

    def _number(self, entity_id: str) -> int:
        key = entity_id.removeprefix(self._colon)
        for node in self.tables.keys.find(key):
            if self._key[node] == key:
                return node
        if self.manifest.parts and (node := self._joined(entity_id)) >= 0:
            return node
        raise UnknownName(f"entity of {self.name}", entity_id, (), f"search with: kgmed graph find {self.name} NAME")

    def _joined(self, entity_id: str) -> int:
        """The node that an id was joined to when graphs became one; -1 = none, or several."""
        rows = [self.name_row(number) for number in self.tables.normalised.find(normalise(entity_id))]
        nodes = {row.node for row in rows if row.text == entity_id and row.scope == Scope.XREF}
        return nodes.pop() if len(nodes) == 1 else -1

    def at(self, node: int, /) -> Entity:
        """The entity of a node number, without its description (see `entity`)."""
        return self._entities.one(node, self._make_entity)

    def _make_entity(self, node: int) -> Entity:
        name = self._name[node]
        key = name if self._key is self._name else self._key[node]
        if self.speaks:
            name = self._spoken(int(self._in_language[node]), name)
        return entity_of(self._colon + key, name, self._kinds[self._kind.item(node)])

    def _make_entities(self, nodes: list[int]) -> list[Entity]:
        at = np.array(nodes)
        name = self._name.many(at)
        key = name if self._key is self._name else self._key.many(at)
        if self.speaks:
            name = [self._spoken(i, said) for i, said in zip(self._in_language[nodes].tolist(), name, strict=True)]
        kind = map(self._kinds.__getitem__, self._kind[at].tolist())
        return list(map(entity_of, [self._colon + k for k in key], name, kind))

    @cached_property
    def _in_language(self) -> NDArray[np.int32]:
        """The number of the other name that each entity bears in the language that is spoken (n,); -1 = its own."""
        from kgmed.derived import cached_arrays  # it is kept beside the graph as its indexes are

        key, made = f"spoken 1 {self.speaks} {self.label}", lambda: {"name": spoken(self, self.speaks)}
        return cached_arrays(self.folder, f"spoken-{self.speaks}", key, ("name",), made)["name"]

    def _spoken(self, alias: int, name: str) -> str:
        """The name of an entity in the language that is spoken, one that is broader with the entity's own behind it."""
        if alias < 0:
            return name
        text = self.tables.alias[alias]
        return f"{text} ({name})" if self.tables.alias_scope.item(alias) == Scope.BROAD else text

    def entity(self, entity_id: str, /) -> Entity:
        """The entity of that id with its description; raises `UnknownName`."""
        node = self.number(entity_id)
        found = self.at(node)
        return Entity(found.id, found.name, found.kind, self.description(node))

    def description(self, node: int) -> str:
        """The description of a node; "" if it has none."""
        described = self.tables.described
        i = int(described.searchsorted(np.int32(node), side="right")) - 1
        return self.tables.description[i] if i >= 0 and described[i] == node else ""

    def of_kind(self, kind: str, /) -> NDArray[np.int64]:
        """The node numbers of a kind, ascending."""
        return np.flatnonzero(self._kind == self._kinds.index(kind)) if kind in self._kinds else np.empty(0, np.int64)

    def degree(self, node: int) -> int:
        """The number of edges at a node, both directions."""
        return self.adjacency.edges_of(node)

    # names

    def aliases(self, node: int) -> list[tuple[str, Scope]]:
        """The other names of a node with their scope."""
        first, last = self.tables.alias_node.searchsorted(np.array([node, node + 1], np.int32)).tolist()
        alias, scope = self.tables.alias, self.tables.alias_scope
        return [(alias[i], Scope(scope.item(i))) for i in range(first, last)]

    def tags(self, node: int) -> dict[str, str]:
        """The language that each other name of a node is said to be of, the first of several; "" = its script tells."""
        first, last = self.tables.alias_node.searchsorted(np.array([node, node + 1], np.int32)).tolist()
        if (said := self.tables.alias_language) is None:
            return {}
        return {self.tables.alias[i]: self.manifest.languages[said.item(i)] for i in range(last - 1, first - 1, -1)}

    def names(self, *, scopes: Sequence[int] = ()) -> Iterator[NodeName]:
        """Every name and alias, by node number; `scopes` narrows them."""
        if not scopes or Scope.PREFERRED in scopes:
            yield from (NodeName(text, node, Scope.PREFERRED) for node, text in enumerate(self._name))
        wanted, t = set(scopes or Scope), self.tables
        rows = zip(t.alias, t.alias_node.tolist(), t.alias_scope.tolist(), strict=True)
        yield from (NodeName(text, node, scope) for text, node, scope in rows if scope in wanted)

    def lookup(self, name: str, /) -> list[Match]:
        """The entities of that name, best first: exact, alias, normalised, folded; ties by degree; else the id's."""
        found = self._found.get(name)
        if found is None:
            if len(self._found) > _MOST_FOUND:
                self._found.clear()
            found = self._found[name] = self._looked_up(name)
        return found.copy()

    def _looked_up(self, name: str) -> list[Match]:
        key = normalise(name)
        found = self._matches(name, self.tables.normalised.find(key), key, folded=False)
        if not found:
            loose = fold(name)
            numbers = self.tables.folded.find(loose) + self.tables.normalised.find(loose)
            found = self._matches(name, numbers, loose, folded=True)
        if not found and ":" in name:
            with suppress(UnknownName):
                found = [(match_of(self.at(node := self.number(name)), name, "exact", 1.0), node)]
        if len(found) < 2:
            return [match for match, _ in found]
        best: dict[int, Match] = {}
        for match, node in found:
            if node not in best or match.score > best[node].score:
                best[node] = match
        ordered = sorted(best, key=lambda node: (-best[node].score, -self.degree(node), node))
        return [best[node] for node in ordered]

    def _matches(self, name: str, numbers: list[int], key: str, *, folded: bool) -> list[tuple[Match, int]]:
        """The names of those numbers whose key is really `key`; another name may share the hash.

        Where nothing is left of a name, as of "?", only the very same name counts.
        """
        rows = []
        for number in numbers:
            text, node, scope = self.name_row(number)
            same = text == name and bool(key)  # then its key need not be worked out again
            if same or ((fold if folded else normalise)(text) == key if key else text == name):
                how, score = how_found(name, text, scope, folded=folded)
                rows.append((match_of(self.at(node), text, how, score), node))
        return rows

    def name_row(self, number: int) -> NodeName:
        """The name of a name number: those of the entities come first, then the other names."""
        i = number - len(self._name)
        if i < 0:
            return NodeName(self._name[number], number, Scope.PREFERRED)
        return NodeName(self.tables.alias[i], self.tables.alias_node.item(i), self.tables.alias_scope.item(i))

    # edges

    def edge(self, head_id: str, relation: str, tail_id: str) -> int:
        """The number of the edge with those ends and that name of relation; -1 if there is none."""
        try:
            head, tail = self.number(head_id), self.number(tail_id)
        except UnknownName:
            return -1
        out = self.adjacency.out
        begin, end = out.indptr[head : head + 2].tolist()
        first, last = (begin + out.neighbour[begin:end].searchsorted(np.array([tail, tail + 1], np.int32))).tolist()
        return next((i for i in range(first, last) if self.relations[out.relation.item(i)].name == relation), -1)

    def triple(self, edge: int, /) -> Triple:
        """The triple of an edge number, as `triples` makes them, in half the time for a single one."""
        out, support = self.adjacency.out, self.tables.edge_support
        return triples_of(
            [self.at(bisect_right(self._out_at, edge) - 1)],
            [self.relations[relation := out.relation.item(edge)]],
            [self.at(out.neighbour.item(edge))],
            [1.0 if self.weight is None else round(self.weight.item(edge), 6)],
            [EDITS if edge in self.edited else self.origins[relation]],
            [() if support is None else self.support(support.item(edge))],
        )[0]

    def support(self, number: int) -> tuple[Support, ...]:
        """The support of a support number."""
        return self._supports([number], self._make_supports)[0]

    def _make_supports(self, numbers: list[int]) -> list[tuple[Support, ...]]:
        rows = json.loads(f"[{','.join(text or '[]' for text in self.tables.support.many(np.array(numbers)))}]")
        return [tuple([Support(ref, tuple([(k, v) for k, v in said])) for ref, said in row]) for row in rows]

    def incident(self, node: int, *, limit: int = 64, roles: Sequence[Role] = ()) -> list[int]:
        """At most `limit` edge numbers at a node, heaviest first, then outgoing before incoming, then by number.

        An edge from the node to itself is there once.
        """
        begin, end = self._out_at[node], self._out_at[node + 1]
        first, last = self._in_at[node], self._in_at[node + 1]
        if self.weight is not None or roles or self._has_loops:
            found: list[int] = self._heaviest(node, range(begin, end), slice(first, last), limit, roles).tolist()
            return found
        if (room := limit - (end - begin)) <= 0:  # in their order: no more than are shown are looked at
            return [*range(begin, begin + max(limit, 0))]
        return [*range(begin, end), *self._in_edge[first : last if last - first < room else first + room]]

    def _heaviest(
        self, node: int, outgoing: range, into: slice, limit: int, roles: Sequence[Role]
    ) -> NDArray[np.int64]:
        """What `incident` gives where edges have weights, roles are asked for, or edges lead back to their node."""
        incoming: NDArray[np.int32] = self.adjacency.into.edge[into]  # type: ignore[index]
        if self._has_loops:
            incoming = incoming[self.adjacency.into.neighbour[into] != node]
        edges: NDArray[np.int64] = np.concatenate((np.arange(outgoing.start, outgoing.stop), incoming))
        if roles:
            edges = edges[self._of_roles(tuple(roles))[self.adjacency.out.relation[edges]]]
        if self.weight is None or len(edges) < 2 or limit < 1:
            return edges[: max(limit, 0)]
        weights = self.weight[edges]
        if len(edges) > 4 * limit:
            cut = np.partition(weights, len(edges) - limit)[len(edges) - limit]
            edges, weights = edges[weights >= cut], weights[weights >= cut]
        return edges[np.argsort(-weights, kind="stable")[:limit]]

    def neighbours(self, entity_id: str, /, *, limit: int = 64, roles: Sequence[Role] = ()) -> list[Triple]:
        """At most `limit` triples around an entity, heaviest first; `roles` narrows them."""
        return self.triples(self.incident(self.number(entity_id), limit=limit, roles=roles))

    def triples(self, edges: Sequence[int] | NDArray[np.integer[Any]]) -> list[Triple]:
        """The triples of edge numbers, in their order."""
        at, out, support = np.asarray(edges, np.int64), self.adjacency.out, self.tables.edge_support
        ends, relations = self._ends(at), out.relation[at].tolist()
        weights = repeat(1.0) if self.weight is None else [round(w, 6) for w in self.weight[at].tolist()]
        supports = repeat(()) if support is None else self._supports(support[at].tolist(), self._make_supports)
        names = map(self.relations.__getitem__, relations)
        return triples_of(ends[: len(at)], names, ends[len(at) :], weights, self._sources(edges, relations), supports)

    def _ends(self, edges: NDArray[np.int64]) -> list[Entity]:
        """Where edges begin, then where they end."""
        out = self.adjacency.out
        heads = (out.indptr.searchsorted(edges, side="right") - 1).tolist()
        return self._entities(heads + out.neighbour[edges].tolist(), self._make_entities)

    def _sources(self, edges: Iterable[int], relations: list[int]) -> Iterable[str]:
        """The graph and release of each edge."""
        if not self.edited and not self.manifest.parts:
            return repeat(self._source)
        return [EDITS if e in self.edited else self.origins[r] for e, r in zip(edges, relations, strict=True)]

    def attributes(self, entity_id: str, /) -> list[Triple]:
        """The texts about an entity; the tail of each is a literal without id."""
        node, t = self.number(entity_id), self.tables
        first, last = t.text_node.searchsorted(np.array([node, node + 1], np.int32)).tolist()
        return [self.text(i) for i in range(first, last)]

    def text(self, number: int) -> Triple:
        """The text of a text number, with the entity that it is about."""
        t = self.tables
        head, relation = self.at(t.text_node.item(number)), t.text_relation.item(number)
        tail, support = Entity("", t.text[number], "text"), self.support(t.text_support.item(number))
        return Triple(head, self.relations[relation], tail, source=self.origins[relation], support=support)


_LATIN = "en"  # of names in Latin letters that bear no language
_SPOKEN = {Scope.EXACT: 0, Scope.TRANSLATION: 0, Scope.LAYPERSON: 1}  # names a thing may be called by; less is better


def written_in(name: str, tag: str, language: str) -> bool:
    """Whether a name may be of a language: by its tag, else by its script; a name in Han may be Chinese or Japanese.

    >>> written_in("发热", "", "zh"), written_in("Fieber", "de", "en"), written_in("fever", "", "en")
    (True, False, True)
    """
    if tag or not has_cjk(name):
        return (tag or _LATIN) == language
    return language in (CJK_LANGUAGES if script_language(name) == CJK_LANGUAGES[0] else (script_language(name),))


def spoken(store: Store, language: str) -> NDArray[np.int32]:
    """The number of the other name by which each entity is best called in a language (n,); -1 = by its own, or none.

    Of names of one sort the first that the graph gives; where none means the entity, a broader one of that language.
    """
    t, languages = store.tables, store.manifest.languages
    tags = repeat("") if t.alias_language is None else map(languages.__getitem__, t.alias_language.tolist())
    wanting = [not written_in(name, "", language) for name in t.name]
    best: dict[int, tuple[int, int]] = {}
    rows = zip(t.alias, t.alias_node.tolist(), t.alias_scope.tolist(), tags, strict=False)
    for i, (text, node, scope, tag) in enumerate(rows):
        rank = _SPOKEN.get(Scope(scope), 2 if scope == Scope.BROAD and tag else 9)
        if rank < 9 and wanting[node] and (rank, i) < best.get(node, (9, 0)) and written_in(text, tag, language):
            best[node] = rank, i
    made = np.full(len(store), -1, np.int32)
    made[list(best)] = [i for _, i in best.values()]
    return made


def _origins(manifest: Manifest, source: str) -> list[str]:
    """The graph and release of each relation's triples; edits may have added relations."""
    origins = [origin or source for origin in manifest.origins]
    return [*origins, *repeat(source, len(manifest.relations) - len(origins))]


def _masks(relations: Sequence[Relation]) -> Callable[[tuple[Role, ...]], NDArray[np.bool_]]:
    """From roles to which relations have one of them (r,), the last ones kept."""

    @lru_cache(maxsize=64)
    def mask(roles: tuple[Role, ...]) -> NDArray[np.bool_]:
        return np.array([relation.role in roles for relation in relations], bool)

    return mask
