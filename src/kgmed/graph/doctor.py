"""What may be wrong with a graph, before it is built and after: what a source was understood to be, damage to the
files of a graph, and traits of its content that lead to poor answers.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgmed import derived, vocabulary
from kgmed.errors import StoreError
from kgmed.graph.base import MENDED, Batches, DroppedRow, EdgeRow, NodeRow, Scope, Source
from kgmed.graph.contradictions import Edges, counts
from kgmed.graph.formats.base import infer, kinds_of
from kgmed.graph.joining import Joiner
from kgmed.graph.store.folder import Manifest
from kgmed.graph.store.shards import Shards
from kgmed.graph.store.store import Store
from kgmed.language.labels import says_unknown
from kgmed.records import Relation, Role
from kgmed.vocabulary import File, files

# What a source was understood to be, before a graph is built from it.

_ROWS, _EDGES, _SAMPLES = 200_000, 20_000, 5
_IDS = 0.5  # of the names in the samples that may look like ids before it is said
_ID = re.compile(
    r"[A-Za-z][\w .-]{0,40}::\S+|[A-Za-z][\w.-]{0,19}[:_][^\W\d]*\d\w*|[A-Z]{1,4}\d{3}\w*|\d+|[\da-f]{8}-[\da-f-]{27}"
)


@dataclass(frozen=True, slots=True)
class Preview:
    """The beginning of a graph: how many triples were read, its kinds and relations, some of them, what is unsure."""

    read: int  # triples, before equal ones are merged
    whole: bool
    kinds: tuple[tuple[str, int], ...]  # kind, entities; "" = none
    relations: tuple[tuple[Relation, int], ...]  # with its edges
    triples: tuple[tuple[str, str, str], ...]  # by name
    dropped: tuple[str, ...]  # why rows are left out or mended, how many, and in which line the first is
    unsure: tuple[str, ...]


def preview(source: Source) -> Preview | None:
    """What the first rows of a source say; None for a packaged graph, whose rows come as columns.

    Raises what reading them raises.
    """
    rows = source.rows()
    if isinstance(rows, Batches):
        return None
    seen = _Seen({}, {}, [], {})
    for row in islice(rows, _ROWS):
        seen.rows += 1
        if isinstance(row, NodeRow):
            seen.names[row.key] = row.name or seen.names.get(row.key, "")
            seen.kinds[row.key] = row.kind or seen.kinds.get(row.key, "")
        elif isinstance(row, EdgeRow):
            seen.edges.append(row)
        elif isinstance(row, DroppedRow):
            count, first = seen.dropped.get(row.reason, (0, row.line))
            seen.dropped[row.reason] = count + 1, first
        if len(seen.edges) >= _EDGES:
            break
    return seen.told(source)


def left_out(reason: str, count: int, lines: Iterable[int]) -> str:
    """Why some rows are left out or were mended, in which lines the first are.

    >>> left_out("an empty field", 1, (9,)), left_out(f"{MENDED}quotes", 2, (3, 5))
    ('rows dropped (an empty field): 1, first in line 9', 'rows mended: quotes: 2, first in line 3, 5')
    """
    what = f"rows {reason}" if reason.startswith(MENDED) else f"rows dropped ({reason})"
    return f"{what}: {count:,}, first in line {', '.join(map(str, lines))}"


@dataclass
class _Seen:
    """What the rows have said so far."""

    names: dict[str, str]  # key -> name
    kinds: dict[str, str]
    edges: list[EdgeRow]
    dropped: dict[str, tuple[int, int]]  # reason -> count, first line
    rows: int = 0

    def told(self, source: Source) -> Preview:
        """The preview."""
        count = Counter(row.relation for row in self.edges)
        relations = [(source.relations.get(name) or infer(name), n) for name, n in count.most_common()]
        for row in self.edges:
            ends = source.kinds.get(row.relation) or kinds_of(source.relations.get(row.relation) or infer(row.relation))
            for key, kind in zip((row.head, row.tail), ends, strict=True):
                self.kinds[key] = self.kinds.get(key) or kind
        samples = tuple((self._name(e.head), e.relation, self._name(e.tail)) for e in _spread(self.edges))
        whole = self.rows < _ROWS and len(self.edges) < _EDGES
        kinds = tuple(Counter(self.kinds.values()).most_common())
        unsure = tuple(self._unsure(relations, kinds))
        dropped = tuple(left_out(reason, n, (line,)) for reason, (n, line) in self.dropped.items())
        return Preview(len(self.edges), whole, kinds, tuple(relations), samples, dropped, unsure)

    def _name(self, key: str) -> str:
        return self.names.get(key) or key

    def _unsure(self, relations: Sequence[tuple[Relation, int]], kinds: Sequence[tuple[str, int]]) -> list[str]:
        """What a person should look at before the graph is trusted."""
        said = []
        if other := [r.name for r, _ in relations if r.role is Role.OTHER]:
            more = f" and {len(other) - 4} more" if len(other) > 4 else ""
            said.append(f"no role is known for {', '.join(other[:4])}{more}; give them one by --relations FILE")
        if not self.edges:
            said.append("there is no triple")
        said += self._misplaced(relations)
        ends = [self._name(key) for e in self.edges for key in (e.head, e.tail)]
        if ends and sum(_ID.fullmatch(name) is not None for name in ends) > _IDS * len(ends):
            said.append("names look like ids: questions will not find them; give a table of nodes with names too")
        if sum(n for kind, n in kinds if not kind) > _IDS * sum(n for _, n in kinds):
            said.append("most entities have no kind; a column of kinds, or roles of relations, would tell")
        return said

    def _misplaced(self, relations: Sequence[tuple[Relation, int]]) -> list[str]:
        """The end that seems to hold the relation: few texts with a role, beside many relations without one."""
        if any(relation.role is not Role.OTHER for relation, _ in relations):
            return []
        for end in ("head", "tail"):
            texts = {self._name(getattr(edge, end)) for edge in self.edges}
            known = [text for text in texts if infer(text).role is not Role.OTHER]
            if texts and 2 * len(known) > len(texts) < len(relations):
                found = ", ".join(sorted(known)[:4])
                mend = "put a line before the file that calls its columns head, relation and tail"
                return [f"the {end}s ({found}) seem to be the relations: {mend}"]
        return []


def _spread(edges: Sequence[EdgeRow]) -> list[EdgeRow]:
    """Some edges, of different relations where there are."""
    first: dict[str, EdgeRow] = {}
    for edge in edges:
        first.setdefault(edge.relation, edge)
    chosen = list(first.values())[:_SAMPLES]
    return chosen + [edge for edge in edges if edge not in chosen][: _SAMPLES - len(chosen)]


# What may be wrong with a graph: damage to its files, and traits of its content that lead to poor answers.

_SHOWN = 5  # examples of each finding
_INVERSE = 0.5  # from this share of edges with a reverse edge of one other relation on, the two look inverse

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Finding:
    """How often something was found, and the first examples."""

    count: int
    examples: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RelationCount:
    """How many triples a relation has, and what it means."""

    name: str
    role: str
    reverse: bool
    triples: int


@dataclass(frozen=True, slots=True)
class InversePair:
    """Two relations that look inverse: how many edges of the first lack their edge back."""

    relation: str
    inverse: str
    triples: int
    missing: int
    examples: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Joined:
    """Records of several graphs, or of one, that are one entity; the first gives it its id and name."""

    ids: tuple[str, ...]
    names: tuple[str, ...]
    why: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class GraphReport:
    """What was found; `damage` is empty for a sound graph."""

    graph: str
    damage: tuple[str, ...]
    notes: tuple[str, ...]  # edits that ask for what is not there, derived files that are not used
    counts: Mapping[str, int]
    dropped: Mapping[str, Mapping[str, Any]]  # reason -> {count, lines}
    merged: int  # rows that repeated a triple
    loops: Finding  # edges from an entity to itself
    isolated: Finding | None  # entities without a triple and without a text; None = not looked for, as below
    ambiguous: Finding | None  # names that several entities share
    reversed_share: float | None  # of the edges that have any edge back
    inverses: tuple[InversePair, ...]
    relations: tuple[RelationCount, ...]  # most triples first
    joins: tuple[Joined, ...] = ()  # of a graph made of several
    vocabulary: tuple[File, ...] = field(default_factory=files)  # by which questions are read
    contradictions: Mapping[str, Finding] = field(default_factory=dict)  # kind -> treatments the graph speaks against
    headings: Finding = Finding(0)  # treatments that are headings or fragments of sentences, left out of lists
    unknown: Finding = Finding(0)  # triples and texts that say that nothing is known: no warnings, left out of lists


def examine(store: Store, *, notes: tuple[str, ...] = (), parts: Sequence[Store] = ()) -> GraphReport:
    """The report on a graph; `notes` are those of its edits, `parts` the graphs it is made of.

    Takes about a second a million edges.
    """
    manifest = store.manifest
    damage = _damage(store)
    share, inverses = _inverses(store)
    return GraphReport(
        graph=store.label,
        damage=damage,
        notes=(*notes, *derived.unchecked(store.folder)),
        counts=manifest.counts,
        dropped=manifest.dropped,
        merged=manifest.counts.get("merged", 0),
        loops=_loops(store),
        isolated=_isolated(store),
        ambiguous=_ambiguous(store),
        reversed_share=share,
        inverses=inverses,
        relations=_relations(manifest),
        joins=tuple(_joins(store, parts)) if parts else (),
        contradictions={kind: _against(store, edges) for kind, edges in counts(store).items()},
        headings=_headings(store),
        unknown=_unknown(store),
    )


def examine_shards(graph: Shards) -> GraphReport:
    """The report on a graph in shards: damage to any file, and what was counted while it was built."""
    manifest, counts, damage = graph.manifest, graph.manifest.counts, list[str]()
    try:
        graph.verify()
    except StoreError as e:
        damage.append(str(e))
    return GraphReport(
        graph=graph.label,
        damage=tuple(damage),
        notes=("shared names, entities by themselves and inverse relations are looked for in graphs in one piece",),
        counts=counts,
        dropped=manifest.dropped,
        merged=counts.get("merged", 0),
        loops=Finding(counts.get("loops", 0)),
        isolated=None,
        ambiguous=None,
        reversed_share=None,
        inverses=(),
        relations=_relations(manifest),
    )


def _relations(manifest: Manifest) -> tuple[RelationCount, ...]:
    """The relations, most triples first."""
    rows = zip(manifest.relations, manifest.relation_counts, strict=True)
    counts = [RelationCount(r.name, r.role.value, r.reverse, n) for r, n in rows]
    return tuple(sorted(counts, key=lambda r: (-r.triples, r.name)))


def _joins(store: Store, parts: Sequence[Store]) -> Iterator[Joined]:
    """What was joined when the graphs became one: candidates that the graph itself holds under one number."""
    joiner = Joiner(parts)
    for join in joiner.joins():
        facts = [joiner.facts(record) for record in join.records]
        together = [f for f in facts if store.number(f.id) == store.number(facts[0].id)]
        if len(together) > 1:
            yield Joined(tuple(f.id for f in together), tuple(f.name for f in together), join.why)


def _damage(store: Store) -> tuple[str, ...]:
    """The first file of the graph, and of everything derived from it, whose content is not what was written."""
    of_derived = derived.damage(store.folder)
    try:
        store.verify()
    except StoreError as e:
        return (str(e), *of_derived)
    return tuple(of_derived)


def _heads(store: Store) -> Ints:
    """The head of each edge (m,)."""
    return np.repeat(np.arange(len(store)), np.diff(store.adjacency.out.indptr))


def _shown(store: Store, edges: Ints) -> tuple[str, ...]:
    """The first of some edges in words."""
    return tuple(f"{t.head.name} | {t.relation} | {t.tail.name}" for t in store.triples(edges[:_SHOWN]))


def _loops(store: Store) -> Finding:
    edges = np.flatnonzero(_heads(store) == store.adjacency.out.neighbour)
    return Finding(len(edges), _shown(store, edges))


def _against(store: Store, edges: Sequence[int]) -> Finding:
    return Finding(len(edges), _shown(store, np.array(edges, np.int64)))


def _headings(store: Store) -> Finding:
    """The edges of what is given for an illness under a name that names nothing."""
    treats, nothing = Edges.of(store, Role.TREATS), ("headings of treatment", "fragments of sentences")
    patterns = [vocabulary.listed(name) for name in nothing]
    given = [store.at(n) for n in np.unique(treats.subject).tolist()]
    loose = [e for e in given if e.kind not in ("drug", "ingredient") and any(p.search(e.name) for p in patterns)]
    none = [store.number(e.id) for e in loose]
    return _against(store, treats.number[np.isin(treats.subject, none)].tolist())


def _unknown(store: Store) -> Finding:
    """The edges whose tail, and the texts, that say that nothing is known."""
    nothing = [n for n in range(len(store)) if says_unknown(store.tables.name[n])]
    edges = np.flatnonzero(np.isin(store.adjacency.out.neighbour, nothing))
    texts = [n for n in range(len(store.tables.text)) if says_unknown(store.tables.text[n])]
    said = (store.text(n) for n in texts[: max(0, _SHOWN - len(edges))])
    shown = (*_shown(store, edges), *(f"{t.head.name} | {t.relation} | {t.tail.name}" for t in said))
    return Finding(len(edges) + len(texts), shown)


def _isolated(store: Store) -> Finding:
    out, into = store.adjacency
    alone = (np.diff(out.indptr) + np.diff(into.indptr)) == 0
    alone[store.tables.text_node] = False
    nodes = np.flatnonzero(alone)
    return Finding(len(nodes), tuple(store.at(n).id for n in nodes[:_SHOWN].tolist()))


def _ambiguous(store: Store) -> Finding:
    """Normalised names that several entities have, cross-references aside; the most shared first."""
    is_name = np.append(np.ones(len(store), bool), store.tables.alias_scope != Scope.XREF)
    kept = is_name[store.tables.normalised.numbers]
    hashes, numbers = store.tables.normalised.hashes[kept], store.tables.normalised.numbers[kept]
    owner = np.append(np.arange(len(store)), store.tables.alias_node)[numbers]
    order = np.lexsort((owner, hashes))
    hashes, owner, numbers = hashes[order], owner[order], numbers[order]
    first = np.ones(len(hashes), bool)
    first[1:] = (hashes[1:] != hashes[:-1]) | (owner[1:] != owner[:-1])
    hashes, owner, numbers = hashes[first], owner[first], numbers[first]  # one row a name and entity
    _, starts, sizes = np.unique(hashes, return_index=True, return_counts=True)
    shared = np.flatnonzero(sizes > 1)
    top = shared[np.argsort(-sizes[shared], kind="stable")[:_SHOWN]]
    groups = [(int(numbers[starts[i]]), owner[starts[i] : starts[i] + sizes[i]].tolist()) for i in top]
    return Finding(len(shared), tuple(f"{_text(store, name)}: {_ids(store, nodes)}" for name, nodes in groups))


def _ids(store: Store, nodes: list[int]) -> str:
    more = f" and {len(nodes) - _SHOWN} more" if len(nodes) > _SHOWN else ""
    return ", ".join(store.at(n).id for n in nodes[:_SHOWN]) + more


def _text(store: Store, number: int) -> str:
    """The name of a name number."""
    n = len(store)
    return store.tables.name[number] if number < n else store.tables.alias[number - n]


def _inverses(store: Store) -> tuple[float, tuple[InversePair, ...]]:
    """The share of edges with an edge back, and the pairs of relations that look inverse but are not throughout."""
    out, nodes = store.adjacency.out, len(store)
    heads, tails = _heads(store), out.neighbour.astype(np.int64)
    there, back = heads * nodes + tails, tails * nodes + heads  # `there` is ascending
    low, high = np.searchsorted(there, back, "left"), np.searchsorted(there, back, "right")
    proper = heads != tails
    many = np.where(proper, high - low, 0)
    share = float((many > 0).sum() / max(int(proper.sum()), 1))
    edge = np.repeat(np.arange(len(many)), many)
    within = np.arange(len(edge)) - np.repeat(np.cumsum(many) - many, many)
    partner = out.relation[low[edge] + within]
    return share, tuple(_pairs(store, edge, partner, proper))


def _pairs(store: Store, edge: Ints, partner: NDArray[np.uint16], proper: NDArray[np.bool_]) -> list[InversePair]:
    """The pairs that look inverse, from each edge and the relation of an edge back."""
    relation, kinds = store.adjacency.out.relation, len(store.relations)
    total = np.bincount(relation[proper], minlength=kinds)
    codes = relation[edge].astype(np.int64) * kinds + partner
    found: list[InversePair] = []
    for code, count in zip(*np.unique(codes, return_counts=True), strict=True):
        one, other = divmod(int(code), kinds)
        if total[one] * _INVERSE <= count < total[one]:
            has = np.zeros(len(relation), bool)
            has[edge[codes == code]] = True
            lacking = np.flatnonzero(proper & (relation == one) & ~has)
            names = store.relations[one].name, store.relations[other].name
            found.append(InversePair(*names, int(total[one]), len(lacking), _shown(store, lacking)))
    return sorted(found, key=lambda pair: (-pair.missing, pair.relation))
