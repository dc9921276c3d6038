"""What is told of each name of several graphs as one, taken over from an earlier union of some of the same graphs.

A graph that is built beside others joins them: the new union has nearly all names of the old one. What an index needs
of a name depends on that name and its entity's kind alone, so it is worked out for names that are new only, and the
index is put together from the rows of all names as it is where there was no union before.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kgmed.derived import Arrays, cached_arrays, derived_folder, open_arrays
from kgmed.errors import StoreError
from kgmed.graph.base import LocalGraph, NodeName
from kgmed.graph.store.arrays import digests
from kgmed.graph.store.folder import current, read_manifest
from kgmed.graph.store.store import Store, open_store

Ints = NDArray[Any]
Tell = Callable[[Iterable[tuple[int, NodeName]]], Arrays]  # of names by number; `of` of its arrays is their number


class Grown(NamedTuple):
    """An earlier union, the number here of each of its names (-1 = not here), and the numbers that it lacks."""

    earlier: Store
    names: Ints
    fresh: Ints


def by_name(graph: LocalGraph, what: str, key: Callable[[str], str], columns: tuple[str, ...], tell: Tell) -> Arrays:
    """Rows about the names of a graph: `of`, the number of the name, and other columns; in the order of the names.

    `key` says what they are made from, given the label of a graph. Kept beside a union of graphs alone.
    """
    if not isinstance(graph, Store) or not graph.manifest.parts:
        return tell(enumerate(graph.names()))
    store, wanted = graph, ("of", *columns)

    def made() -> Arrays:
        known = kept(store, what, key, wanted)
        if known is None:
            return tell(enumerate(store.names()))
        grown, old = known
        of = grown.names[old["of"]]
        new = tell((i, store.name_row(i)) for i in grown.fresh.tolist())
        at = np.flatnonzero(of >= 0)
        number = np.concatenate([of[at], new["of"]])
        order = np.argsort(number, kind="stable")
        rest = {column: np.concatenate([old[column][at], new[column]])[order] for column in columns}
        return {"of": number[order].astype(np.int32), **rest}

    return cached_arrays(graph.folder, what, key(graph.label), wanted, made)


def kept(
    graph: LocalGraph, what: str, key: Callable[[str], str], names: tuple[str, ...]
) -> tuple[Grown, Arrays] | None:
    """What is kept beside the earlier union that a graph has grown from, and how its names are numbered here."""
    grown = grown_from(graph) if isinstance(graph, Store) else None
    arrays = grown and open_arrays(derived_folder(grown.earlier.folder, what, key(grown.earlier.label)), names)
    return (grown, arrays) if grown and arrays else None


def owners(graph: LocalGraph) -> tuple[Ints, Ints]:
    """The node and the scope of each name, by its number."""
    if isinstance(graph, Store):
        t = graph.tables
        return np.append(np.arange(len(graph)), t.alias_node), np.append(np.zeros(len(graph), np.uint8), t.alias_scope)
    rows = np.array([(node, scope) for _, node, scope in graph.names()], np.int64).reshape(-1, 2)
    return rows[:, 0], rows[:, 1]


def texts_of(graph: LocalGraph, numbers: Ints) -> list[str]:
    """The texts of some names by their numbers, which ascend."""
    if isinstance(graph, Store):
        first = numbers.searchsorted(len(graph))
        return graph.tables.name.many(numbers[:first]) + graph.tables.alias.many(numbers[first:] - len(graph))
    texts = [name.text for name in graph.names()]
    return [texts[i] for i in numbers.tolist()]


# --- The union itself, from an earlier one.


class Earlier(NamedTuple):
    """An earlier union of some of the graphs, and what was found when they were joined, its records numbered as here.

    `kept` has what a joiner and its union have found: `candidates` (rank, two records, number of what they share);
    `coded` (a record, the one whose id is its code); `lines` (entry of the glossary, a record that it names), ...
    """

    store: Store
    node: Ints  # (records,) the node of each record that a thing is named after there; -1 = of none
    new: tuple[int, ...]  # the graphs that it lacks
    thing: Ints  # (records,) the record that the thing of each is named after; its own where it is lacked
    kept: Mapping[str, NDArray[Any]]


KEPT = ("thing", "candidates", "coded", "lines", "told")


def earlier_union(parts: Sequence[Store], folder: Path, key: Callable[[str], str]) -> Earlier | None:
    """The largest union of some of the graphs that stands beside the folder of theirs, with what it has kept."""
    for _, beside in sorted(_unions_of_some([part.label for part in parts], folder), key=lambda m: -m[0]):
        store = open_store(beside)
        kept = open_arrays(derived_folder(store.folder, "joins", key(store.label)), KEPT)
        if kept and (found := _earlier_of(store, kept, parts)):
            return found
    return None


def _earlier_of(store: Store, kept: Arrays, parts: Sequence[Store]) -> Earlier | None:
    """What a union has kept, for one of more graphs; None where it does not tell which node is which record."""
    if tuple(part.label for part in parts if part.label in store.manifest.parts) != store.manifest.parts:
        return None
    old = np.repeat([part.label in store.manifest.parts for part in parts], [len(part) for part in parts])
    moved, leads = np.flatnonzero(old), kept["thing"] == np.arange(len(kept["thing"]))
    if len(moved) != len(leads) or int(leads.sum()) != len(store):
        return None
    node, thing = np.full(len(old), -1), np.arange(len(old))
    node[moved[leads]] = np.arange(len(store))
    thing[moved] = moved[kept["thing"]]
    numbered = {"candidates": slice(1, 3), "coded": slice(0, 2), "lines": slice(1, 2), "told": slice(1, 2)}
    rows = {name: np.array(kept[name]) for name in numbered}
    for name, columns in numbered.items():
        rows[name][:, columns] = moved[rows[name][:, columns]]
    new = tuple(i for i, part in enumerate(parts) if part.label not in store.manifest.parts)
    return Earlier(store, node, new, thing, {**kept, **rows})


def among(values: NDArray[Any], some: NDArray[Any]) -> NDArray[np.bool_]:
    """Which values are among some, which ascend."""
    if not len(some):
        return np.zeros(len(values), bool)
    return np.asarray(some[np.minimum(some.searchsorted(values), len(some) - 1)] == values)


def distinct(rows: Ints) -> Ints:
    """The different rows, in order."""
    rows = rows[np.lexsort(rows.T[::-1])]
    found: Ints = rows[np.append(True, (rows[1:] != rows[:-1]).any(axis=1))[: len(rows)]]
    return found


# --- How the names of an earlier union are numbered.


def grown_from(graph: Store) -> Grown | None:
    """The largest union of some of the graphs that this one is of; None where there is none."""
    return _grown(graph.folder, graph.label) if graph.manifest.parts and not graph.edits else None


@lru_cache(maxsize=2)
def _grown(folder: str, label: str) -> Grown | None:
    graph = open_store(Path(folder).parent)
    if graph.label != label:
        return None
    found = sorted(_unions_of_some(graph.manifest.parts, Path(folder).parent), key=lambda m: -m[0])
    return _aligned(open_store(found[0][1]), graph) if found else None


def _unions_of_some(labels: Sequence[str], folder: Path) -> Iterator[tuple[int, Path]]:
    """The unions of some of the graphs of those labels beside a folder, each with the number of its entities."""
    for beside in sorted(folder.parent.iterdir()) if folder.parent.is_dir() else ():
        try:
            manifest = read_manifest(current(beside))
        except (StoreError, OSError):
            continue
        if manifest.parts and set(manifest.parts) < set(labels):
            yield manifest.counts["entities"], beside


def _aligned(old: Store, new: Store) -> Grown:
    """How the names of one union are numbered in another."""
    nodes = _nodes(old, new)
    begins = [np.searchsorted(s.tables.alias_node, np.arange(len(s) + 1, dtype=np.int32)) for s in (old, new)]
    texts = _Texts(old, begins[0]), _Texts(new, begins[1])
    names = np.full(len(old) + len(old.tables.alias), -1, np.int64)
    there = np.flatnonzero(nodes >= 0)
    breaks = np.flatnonzero((np.diff(there) != 1) | (np.diff(nodes[there]) != 1)) + 1
    runs = [(int(run[0]), int(run[-1]) + 1) for run in np.split(there, breaks) if len(run)]
    while runs:
        first, last = runs.pop()
        begin, many = int(nodes[first]), last - first
        if texts[0].of(first, last) == texts[1].of(begin, begin + many):
            names[first:last] = np.arange(begin, begin + many)
            a, b = begins[0][first], begins[0][last]
            names[len(old) + a : len(old) + b] = len(new) + begins[1][begin] + np.arange(b - a)
        elif many > 1:
            middle = (first + last) // 2
            runs += [(first, middle), (middle, last)]
        elif texts[0].kind(first) == texts[1].kind(begin):
            here = dict[tuple[str, int, int], list[int]]()
            for number, told in texts[1].names(begin):
                here.setdefault(told, []).append(number)
            for number, told in texts[0].names(first):
                names[number] = here[told].pop(0) if here.get(told) else -1  # a graph may give a name twice
    fresh = np.ones(len(new) + len(new.tables.alias), bool)
    fresh[names[names >= 0]] = False
    return Grown(old, names, np.flatnonzero(fresh))


def _nodes(old: Store, new: Store) -> Ints:
    """The node in another union of each node, told by its id; -1 = it is part of another there."""
    one, other = old.tables.keys, new.tables.keys
    at = np.minimum(other.hashes.searchsorted(one.hashes), len(other.hashes) - 1)
    nodes = np.full(len(old), -1, np.int64)
    nodes[one.numbers] = np.where(other.hashes[at] == one.hashes, other.numbers[at], -1)
    return nodes


class _Texts:
    """What a graph says of its nodes, by which two stretches of them are told to be the same."""

    def __init__(self, store: Store, begins: Ints) -> None:
        t, m = store.tables, store.manifest
        self._store, self._begins = store, begins
        self._kinds, self._languages = _hashes(m.kinds), _hashes(m.languages or ("",))
        self._spoken = np.zeros(len(t.alias), np.uint8) if t.alias_language is None else t.alias_language

    def of(self, first: int, last: int) -> tuple[bytes, ...]:
        """The kinds, names and other names of the nodes from `first` to before `last`."""
        t = self._store.tables
        a, b = int(self._begins[first]), int(self._begins[last])
        return (
            self._kinds[t.kind[first:last]].tobytes(),
            *t.name.stretch(first, last),
            (self._begins[first : last + 1] - a).tobytes(),
            *t.alias.stretch(a, b),
            t.alias_scope[a:b].tobytes(),
            self._languages[self._spoken[a:b]].tobytes(),
        )

    def kind(self, node: int) -> int:
        """The hash of the kind of a node."""
        return int(self._kinds[self._store.tables.kind[node]])

    def names(self, node: int) -> Iterator[tuple[int, tuple[str, int, int]]]:
        """The numbers of a node's names, each with its text, scope and language."""
        t = self._store.tables
        yield node, (t.name[node], -1, 0)
        for i in range(int(self._begins[node]), int(self._begins[node + 1])):
            yield len(self._store) + i, (t.alias[i], int(t.alias_scope[i]), int(self._languages[self._spoken[i]]))


def _hashes(names: Iterable[str]) -> Ints:
    """64 bits of each name."""
    return digests(names)[:, 0].copy()
