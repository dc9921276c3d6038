"""Edges of a graph that the graph itself speaks against: they are never listed first, and decide nothing.

Five kinds, each found from the graph alone and kept beside it. Three are of what a medicine is given for:

- "own label": a contraindication of the medicine, a text or an edge, names what it is said to treat;
- "side effect": what it is given for is an adverse effect of the same substance, on more labels than its use, or on
  half as many where the illness is more often caused than treated (lincomycin and pseudomembranous colitis);
- "prefix": what it is given for is the mere beginning of a longer indication of the same medicine: 流感, 流感嗜血杆菌;

one of what a medicine can cause, and one of what a disease shows:

- "indication": the side effect is what at least as many medicines of the substance are given for (insulin, diabetes);
- "medicine": the finding has the name of a medicine, and nothing is given for it (methylene blue, of favism).

What several graphs or many labels say a medicine is given for is no slip: a headache can come of a medicine for it.
"""

import re
from bisect import bisect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kgmed.derived import Arrays, cached_arrays
from kgmed.graph.base import LocalGraph, Scope
from kgmed.graph.joining import substance
from kgmed.language.labels import Level, cuts, is_bacterium, is_virus, is_whole, level_at, says_unknown, sentences
from kgmed.triples import Role

# --- What a graph warns of a medicine: the texts and the other ends of its contraindications and precautions, by node.

TAKEN = frozenset({"drug", "ingredient"})
MEDICINES = frozenset({"drug", "ingredient", "treatment", "medicine", "substance", "chemical"})
_KEPT = 20_000  # ours: nodes whose warnings are kept in memory
WARNS = (Role.CONTRAINDICATED, Role.PRECAUTION)


class Warning(NamedTuple):
    """A warning on a medicine: its text, or the name and id of what it is about; whether it is a contraindication."""

    text: str
    contraindication: bool
    id: str = ""


class Warnings:
    """The warnings of a graph by node number; opened in milliseconds, each looked up in microseconds."""

    def __init__(self, graph: LocalGraph) -> None:
        """The edges are read at once, the texts where they are asked for."""
        self._graph = graph
        self._tables: Any = getattr(graph, "tables", None)
        self._edges = dict[int, list[int]]()
        found = [Edges.of(graph, role) for role in WARNS]
        rows = (row for edges in found for row in zip(edges.number.tolist(), edges.subject.tolist(), strict=True))
        for edge, subject in sorted(rows):
            self._edges.setdefault(subject, []).append(edge)
        self.numbers, self._nodes = self._of_tables()
        self._seen = dict[int, tuple[Warning, ...]]()

    def _of_tables(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The numbers of the texts that warn, and their nodes, ascending; none of a graph without tables."""
        if self._tables is None:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        relations = [i for i, r in enumerate(self._graph.relations) if r.role in WARNS]
        numbers = np.flatnonzero(np.isin(self._tables.text_relation, relations))
        return numbers, np.asarray(self._tables.text_node)[numbers].astype(np.int64)

    @property
    def nodes(self) -> Sequence[int]:
        """The nodes that have a warning."""
        if self._tables is None:
            kinds = (node for kind in MEDICINES for node in self._graph.of_kind(kind).tolist())
            return sorted(node for node in kinds if self.of(node))
        return sorted({*self._edges, *self._nodes.tolist()})

    def of(self, node: int) -> tuple[Warning, ...]:
        """The warnings on a node; that none is known is none."""
        found = self._seen.get(node)
        if found is None:
            if len(self._seen) >= _KEPT:
                self._seen.clear()
            said = (*map(self._edge, self._edges.get(node, ())), *self._texts(node))
            found = self._seen[node] = tuple(w for w in said if not says_unknown(w.text))
        return found

    def naming(self, names: Iterable[str]) -> NDArray[np.int64]:
        """The numbers of the texts that warn and hold one of some names, in any case."""
        said, begins = self._folded
        folded = {folded for name in names if (folded := name.casefold()) in said}
        at = {bisect(begins, m.start()) - 1 for name in folded for m in re.finditer(re.escape(name), said)}
        return self.numbers[sorted(at)]

    @cached_property
    def _folded(self) -> tuple[str, list[int]]:
        """The texts that warn without their case, one behind the other, and where each begins."""
        texts = [text.casefold() for text in self._tables.text.many(self.numbers)]
        return "\0".join(texts), [0, *accumulate(len(text) + 1 for text in texts)]

    def _edge(self, edge: int) -> Warning:
        triple = self._graph.triple(edge)
        return Warning(triple.object.name, triple.relation.role is Role.CONTRAINDICATED, triple.object.id)

    def _texts(self, node: int) -> Iterator[Warning]:
        if self._tables is None:
            warns = (t for t in self._graph.attributes(self._graph.at(node).id) if t.relation.role in WARNS)
            yield from (Warning(t.object.name, t.relation.role is Role.CONTRAINDICATED) for t in warns)
            return
        first, last = self._nodes.searchsorted([node, node + 1]).tolist()
        for number in self.numbers[first:last].tolist():
            role = self._graph.relations[self._tables.text_relation.item(number)].role
            yield Warning(self._tables.text[number], role is Role.CONTRAINDICATED)


@lru_cache(maxsize=8)
def warnings_of(graph: LocalGraph) -> Warnings:
    """The warnings of a graph, made once a process."""
    return Warnings(graph)


TREATMENTS = ("own label", "side effect", "prefix")  # kinds of edges of role TREATS
KINDS = (*TREATMENTS, "indication", "medicine")
VERSION = 11  # goes up when what is kept beside a graph changes
_COLUMNS = ("edge", "kind")
_FEW = 3  # ours: what more medicines of a substance are given for is no slip
_RATHER = 2  # ours: how much more often an illness must be caused than treated for half as many labels to count
_SHORTEST = 2  # characters of the name of an illness that a text is searched for
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Contradictions:
    """The edges that a graph speaks against, ascending, and the number of the kind of each."""

    graph: LocalGraph
    edge: Ints
    kind: Ints

    @cached_property
    def edges(self) -> frozenset[int]:
        """All of them."""
        return frozenset(self.edge.tolist())

    @cached_property
    def pairs(self) -> frozenset[tuple[str, str]]:
        """The ids of medicine and illness of those that a label of the medicine forbids."""
        triples = map(self.graph.triple, self.edge[self.kind == 0].tolist())
        return frozenset((t.subject.id, t.object.id) for t in triples)

    def of_kind(self, kind: str) -> list[int]:
        """The edges of a kind."""
        found: list[int] = self.edge[self.kind == KINDS.index(kind)].tolist()
        return found


@lru_cache(maxsize=8)
def contradictions(graph: LocalGraph) -> Contradictions:
    """Those of a graph, found once and kept beside it."""
    key = f"{VERSION} {graph.label}"
    kept = cached_arrays(graph.folder, "contradictions", key, _COLUMNS, lambda: _found(graph))
    return Contradictions(graph, np.asarray(kept["edge"]), np.asarray(kept["kind"]))


@dataclass(frozen=True)
class Edges:
    """The edges of one role: number, subject, object, relation; and the name of each node that is an end."""

    number: Ints
    subject: Ints
    object: Ints
    relation: Ints

    @cached_property
    def pairs(self) -> list[tuple[int, int]]:
        """Subject and object of each edge."""
        return list(zip(self.subject.tolist(), self.object.tolist(), strict=True))

    @classmethod
    def of(cls, graph: LocalGraph, role: Role) -> "Edges":
        """The edges of a role, subject first."""
        out = graph.adjacency.out
        wanted = np.array([r.role is role for r in graph.relations], bool)
        turned = np.array([r.reverse for r in graph.relations], bool)
        number = np.flatnonzero(wanted[out.relation]) if len(wanted) else np.empty(0, np.int64)
        head = np.searchsorted(out.indptr, number, "right") - 1
        tail, relation = out.neighbour[number].astype(np.int64), out.relation[number].astype(np.int64)
        back = turned[relation]
        return cls(number, np.where(back, tail, head), np.where(back, head, tail), relation)


def _found(graph: LocalGraph) -> Arrays:
    """The edges and their kinds; the gravest of several."""
    treats, names = Edges.of(graph, Role.TREATS), _Names(graph)
    causes, shown = Edges.of(graph, Role.ADVERSE), Edges.of(graph, Role.FINDING)
    adverse, indicated = _either(treats, causes, names)
    marks = (_own_label(treats, names), adverse, _prefix(treats, names))
    kind = np.select(marks, range(len(TREATMENTS)), default=-1)
    other = causes.number[indicated], shown.number[_medicine(shown, treats, names)]
    edge = np.concatenate([treats.number[kind >= 0], *other])
    kinds = np.repeat([KINDS.index("indication"), KINDS.index("medicine")], list(map(len, other)))
    order = np.argsort(edge)
    return {"edge": edge[order].astype(np.int64), "kind": np.append(kind[kind >= 0], kinds)[order].astype(np.int64)}


class _Names:
    """The name and the substance of a node, as the graph writes it, each worked out once."""

    def __init__(self, graph: LocalGraph) -> None:
        self.graph = graph
        self._row: Any = getattr(graph, "name_row", None)
        self._name: dict[int, str] = {}
        self._aliases: Any = getattr(graph, "aliases", None)
        self._substance: dict[int, str] = {}
        self._all: dict[int, tuple[str, ...]] = {}

    def __call__(self, node: int) -> str:
        if node not in self._name:
            self._name[node] = self._row(node).text if self._row else self.graph.at(node).name
        return self._name[node]

    def all(self, node: int) -> tuple[str, ...]:
        """All names of an illness that are long enough to be looked for in a text."""
        if node not in self._all:
            other = (text for text, scope in self._aliases(node) if scope <= Scope.TRANSLATION) if self._aliases else ()
            said = dict.fromkeys((self(node), self.graph.at(node).name, *other))
            self._all[node] = tuple(name for name in said if len(name) >= _SHORTEST)
        return self._all[node]

    def substance(self, node: int) -> str:
        """The substance of a medicine."""
        if node not in self._substance:
            self._substance[node] = substance(self(node))
        return self._substance[node]


def _own_label(treats: Edges, names: _Names) -> NDArray[np.bool_]:
    """Whether a contraindication of the medicine names the illness."""
    warnings, found = warnings_of(names.graph), np.zeros(len(treats.number), bool)
    for at in np.flatnonzero(np.isin(treats.subject, list(warnings.nodes))).tolist():
        found[at] = _forbidden(warnings, int(treats.subject[at]), int(treats.object[at]), names)
    return found


def _forbidden(warnings: Warnings, medicine: int, illness: int, names: _Names) -> bool:
    """Whether a contraindication is that illness, or a text that forbids it by one of its whole names."""
    called, own = names.all(illness), names.graph.at(illness).id
    told = [said for said in warnings.of(medicine) if said.contraindication]
    return any(said.id == own if said.id else any(_names_it(said.text, name) for name in called) for said in told)


def _names_it(text: str, name: str) -> bool:
    """Whether a contraindication forbids an illness of that name."""
    return name in text and any(
        is_whole(said, m.start(), m.end()) and level_at(said, *m.span(), contraindication=True) is Level.FORBIDS
        for said in sentences(text)
        for m in re.finditer(re.escape(name), said)
    )


def _either(treats: Edges, causes: Edges, names: _Names) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Of what a substance is both given for and said to cause: which treatments are slips, and which side effects."""
    nodes = names.graph.adjacency.nodes
    numbers, number = dict[str, int](), np.zeros(nodes, np.int64)  # of substances, of each medicine's
    for subject in np.union1d(treats.subject, causes.subject).tolist():
        number[subject] = numbers.setdefault(names.substance(subject), len(numbers))
    treating, causing = (number[edges.subject] * nodes + edges.object for edges in (treats, causes))
    (given, said), (caused, against) = _medicines(treating, treats.subject), _medicines(causing, causes.subject)
    often, seldom = (np.bincount(rows % nodes, minlength=nodes) for rows in (caused, given))
    both, at, of = np.intersect1d(given, caused, assume_unique=True, return_indices=True)
    said, against, illness = said[at], against[of], both % nodes
    usual = (2 * against >= said) & (often[illness] > _RATHER * seldom[illness])
    slips = (said <= _FEW) & ((against > said) | usual)
    wrong = np.isin(treating, both[slips])
    several = _of_several_graphs(treats, names.graph, np.isin(treats.object, illness[slips]))
    for i in np.flatnonzero(wrong).tolist():
        wrong[i] = (int(treats.subject[i]), int(treats.object[i])) not in several
    return wrong, np.isin(causing, both[~slips & (said >= against)])


def _medicines(rows: Ints, medicine: Ints) -> tuple[Ints, Ints]:
    """The different rows, ascending, each with the number of medicines that it stands for."""
    order = np.lexsort((medicine, rows))
    rows, medicine = rows[order], medicine[order]
    new = np.append(True, (rows[1:] != rows[:-1]) | (medicine[1:] != medicine[:-1]))[: len(rows)]
    return np.unique(rows[new], return_counts=True)


def _medicine(shown: Edges, treats: Edges, names: _Names) -> NDArray[np.bool_]:
    """Whether a finding is a medicine: rather given than shown, or named as one, and nothing is given for it."""
    graph, nodes = names.graph, names.graph.adjacency.nodes
    given, found = (np.bincount(ends, minlength=nodes) for ends in (treats.subject, shown.object))
    may_be = found > 0
    for no in (treats.object, shown.subject, graph.of_kind("disease"), graph.of_kind("test")):
        may_be[no] = False
    taken = np.concatenate([graph.of_kind(kind) for kind in TAKEN])
    called = {names.substance(node) for node in taken[given[taken] > 0].tolist()}
    is_one = may_be & (given > _RATHER * found)
    for node in np.flatnonzero(may_be & ~is_one).tolist():
        bare = names.substance(node)
        is_one[node] = bare in called and bare == names(node).casefold()
    return np.asarray(is_one[shown.object])


def _of_several_graphs(treats: Edges, graph: LocalGraph, some: NDArray[np.bool_]) -> set[tuple[int, int]]:
    """The pairs of a medicine and an illness of some edges that more than one graph has."""
    source, sources = dict[int, str](), dict[tuple[int, int], set[str]]()
    columns = (c[some].tolist() for c in (treats.number, treats.subject, treats.object, treats.relation))
    for edge, subject, end, relation in zip(*columns, strict=True):
        said = source.get(relation) or source.setdefault(relation, graph.triple(edge).source)
        sources.setdefault((subject, end), set()).add(said)
    return {pair for pair, said in sources.items() if len(said) > 1}


def _prefix(treats: Edges, names: _Names) -> NDArray[np.bool_]:
    """Whether the name of the illness begins that of another indication of the same medicine, another thing.

    Of what a virus and no bacterium causes, that other thing is meant by all that are given for other bacteria.
    """
    given: dict[int, list[tuple[str, int]]] = {}
    for at, (subject, end) in enumerate(treats.pairs):
        given.setdefault(subject, []).append((names(end), at))
    found, begins = np.zeros(len(treats.number), bool), set[str]()
    for rows in given.values():
        cut = {name for name, after in pairwise(sorted({name for name, _ in rows})) if cuts(name, after)}
        begins |= cut
        for name, at in rows:
            found[at] |= name in cut
    causes: dict[str, list[str]] = {}
    for subject, end in Edges.of(names.graph, Role.CAUSE).pairs:
        for name in begins.intersection((names(subject), *names.all(subject))):
            causes.setdefault(name, []).append(names(end))
    viral = {name for name, of in causes.items() if any(map(is_virus, of)) and not any(map(is_bacterium, of))}
    for rows in given.values() if viral else ():
        germs = any(is_bacterium(name) and not name.startswith(tuple(viral)) for name, _ in rows)
        for at in (at for name, at in rows if germs and name in viral):
            found[at] = True
    return found


def counts(graph: LocalGraph) -> Mapping[str, list[int]]:
    """The edges of each kind."""
    found = contradictions(graph)
    return {kind: found.of_kind(kind) for kind in KINDS}
