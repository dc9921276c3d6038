"""Names that begin as a person has typed so far: the whole name first, then one of its words.

Every word of every name (every character of a Chinese one) begins an entry: the first bytes of the rest of the name
from there on. The entries stand sorted beside the graph, so that those that begin with what was typed are one stretch,
found by bisection; of a stretch the best are taken by a small number kept with each entry, one for those who ask in
English and one for Chinese: at the start of the name before inside it, names of the asker's language before those of
others, then the shorter, then the more trusted name. The whole name comes first in whichever language.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from kgmed.derived import Arrays, cached_arrays
from kgmed.errors import UnknownName
from kgmed.graph.base import Scope
from kgmed.graph.grown import kept
from kgmed.graph.store.store import Store, written_in
from kgmed.language.text import has_cjk, normalise, normalise_all
from kgmed.records import Entity

How = Literal["id", "exact", "start", "word"]

_VERSION = "complete 2"
_KEY = 24  # bytes of an entry that are kept; the few that go on alike are looked at one by one
_LONGEST = 250  # characters of a name that count in its order
_WORDS = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]|[^\s\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+")
_FOREIGN = 1024  # what a name of another language costs more than any of one's own
_INSIDE = 2048  # what an entry inside a name costs more than any at its start
_LANGUAGES = ("en", "zh")
_TRUST = 4  # classes of scopes: preferred, exact, others
_ASIDE = 64  # candidates of a look, at least: several names of one entity count once


@dataclass(frozen=True, slots=True)
class Completion:
    """An entity with a name that goes on from what was typed."""

    entity: Entity
    name: str  # the one that was found
    how: How  # id, exact = the whole name, start = how it begins, word = how one of its words begins
    same: tuple[str, ...] = ()  # ids of other records of the thing: of its name and kind, in other catalogues


class Completions:
    """The names of a graph by how they begin; made at the first look and kept beside the graph."""

    def __init__(self, graph: Store) -> None:
        """Over all names but cross-references."""
        self.graph = graph
        names = ("key", "row", *(f"cost_{language}" for language in _LANGUAGES))
        label = f"{_VERSION} {graph.label}"
        made = cached_arrays(graph.folder, "complete", label, names, lambda: _grown(graph, names) or _build(graph))
        self._key, self._row = np.asarray(made["key"]), np.asarray(made["row"])
        self._costs = {language: np.asarray(made[f"cost_{language}"]) for language in _LANGUAGES}

    def __len__(self) -> int:
        """The number of entries."""
        return len(self._row)

    def __call__(
        self, typed: str, *, limit: int = 8, kinds: tuple[str, ...] = (), language: str = ""
    ) -> list[Completion]:
        """At most `limit` entities, each once: exact, then start of name, then start of word, each by length.

        An entity whose id was typed comes first. `kinds` narrows them. Of each sort names of the language come first,
        which the script of what was typed tells where it is not given. Records of one thing, which several catalogues
        have under one name, are one: the one that most is known of.
        """
        found = {c.entity.id: c for c in self._by_id(typed) if not kinds or c.entity.kind in kinds}
        key = normalise(typed)
        costs = self._costs[language if language in _LANGUAGES else "zh" if has_cjk(key) else "en"]
        wanted, there = _ASIDE, len(found)
        things: list[Completion] = list(found.values())
        while key and len(things) < limit:
            entries, more = self._entries(key, wanted, kinds, costs)
            for completion in self._completions(entries, key):
                found.setdefault(completion.entity.id, completion)
            things = self._things(list(found.values()))
            if not more or len(found) == there:
                break
            wanted, there = wanted * 8, len(found)
        return things[:limit]

    def _things(self, found: list[Completion]) -> list[Completion]:
        """Records of one thing as one, in the place of the first."""
        groups: dict[tuple[str, str], list[Completion]] = {}
        for c in found:
            groups.setdefault((normalise(c.entity.name), c.entity.kind), []).append(c)
        made = []
        for group in groups.values():
            by_catalogue = {c.entity.id.partition(":")[0] for c in group}
            if len(group) == 1 or len(by_catalogue) < len(group):  # two of one catalogue are two things
                made += group
                continue
            best = max(group, key=lambda c: self.graph.degree(self.graph.number(c.entity.id)))
            others = tuple(c.entity.id for c in group if c is not best)
            made.append(replace(best, name=group[0].name, how=group[0].how, same=others))
        return made

    def _by_id(self, typed: str) -> Iterator[Completion]:
        """The entity of that id."""
        if ":" in typed:
            try:
                entity = self.graph.at(self.graph.number(typed.strip()))
            except UnknownName:
                return
            yield Completion(entity, entity.name, "id")

    def _entries(
        self, key: str, wanted: int, kinds: tuple[str, ...], costs: NDArray[Any]
    ) -> tuple[NDArray[np.int64], bool]:
        """The entries of the stretch that cost least, of one cost in their order; and whether there are more."""
        begin = key.encode("utf-8", "replace")[:_KEY]
        first = int(self._key.searchsorted(np.bytes_(begin)))
        last = first + int(self._key[first:].searchsorted(np.bytes_(_after(begin)))) if _after(begin) else len(self)
        at, cost = np.arange(first, last), costs[first:last].copy()
        whole = cost[: int(self._key[first:last].searchsorted(np.bytes_(begin), "right"))]  # nothing follows the key
        whole[(whole >= _FOREIGN) & (whole < _INSIDE)] -= _FOREIGN
        kept = np.ones(len(at), bool)
        if kinds:
            kept = np.isin(self._nodes(self._row[first:last]), np.concatenate([self.graph.of_kind(k) for k in kinds]))
        if len(key.encode("utf-8", "replace")) > _KEY:
            kept &= np.array([self._goes_on(i, key) for i in at.tolist()], bool)
        if not kept.all():
            at, cost = at[kept], cost[kept]
        if len(at) <= wanted:
            return at[np.argsort(cost, kind="stable")], False
        limit = np.partition(cost, wanted)[wanted]
        cheap = np.concatenate([np.flatnonzero(cost < limit), np.flatnonzero(cost == limit)[:wanted]])
        return at[cheap[np.argsort(cost[cheap], kind="stable")]], True

    def _nodes(self, rows: NDArray[Any]) -> NDArray[np.int64]:
        """The entity of each name number."""
        entities = len(self.graph)
        alias = self.graph.tables.alias_node
        inside = np.where(rows < entities, rows, 0)
        return np.where(rows < entities, inside, alias[np.maximum(rows - entities, 0)] if len(alias) else 0)

    def _goes_on(self, entry: int, key: str) -> bool:
        """Whether an entry, which is longer than what is kept of it, begins with the key."""
        name = normalise(self.graph.name_row(int(self._row[entry])).text)
        return any(name.startswith(key, at) for at in _starts(name)) if self._inside(entry) else name.startswith(key)

    def _inside(self, entry: int) -> bool:
        """Whether an entry begins inside its name."""
        return int(self._costs["en"][entry]) >= _INSIDE

    def _completions(self, entries: NDArray[np.int64], key: str) -> list[Completion]:
        """What the entries stand for."""
        found = []
        for entry in entries.tolist():
            name = self.graph.name_row(int(self._row[entry]))
            how: How = "word" if self._inside(entry) else "exact" if normalise(name.text) == key else "start"
            found.append(Completion(self.graph.at(name.node), name.text, how))
        return found


completions = lru_cache(maxsize=8)(Completions)  # those of a graph, opened once: its files are checked then


def _starts(name: str) -> list[int]:
    """Where the words of a normalised name begin.

    >>> _starts("acute pain"), _starts("急性胰腺炎")
    ([0, 6], [0, 1, 2, 3, 4])
    """
    return [word.start() for word in _WORDS.finditer(name)]


def _after(begin: bytes) -> bytes:
    """The first bytes that come after all that begin so; b"" = none do."""
    cut = begin.rstrip(b"\xff")
    return cut[:-1] + bytes([cut[-1] + 1]) if cut else b""


def _grown(graph: Store, columns: tuple[str, ...]) -> Arrays | None:
    """The arrays, from those of an earlier union where there are some: its entries, and those of names it lacks."""
    known = kept(graph, "complete", lambda label: f"{_VERSION} {label}", columns)
    if known is None:
        return None
    grown, old = known
    new, row = _build(graph, grown.fresh.tolist()), grown.names[old["row"]]
    same = np.cumsum(np.append(0, old["key"][1:] != old["key"][:-1]))  # entries of one key stand in the order of names
    order = np.argsort(same.astype(np.uint64) << np.uint64(32) | (row & 0xFFFFFFFF).astype(np.uint64), kind="stable")
    order = order[row[order] >= 0]
    key, row = old["key"][order], row[order]
    ends = zip(key.searchsorted(new["key"]).tolist(), key.searchsorted(new["key"], "right").tolist(), strict=True)
    at = [a + int(row[a:b].searchsorted(of)) for (a, b), of in zip(ends, new["row"], strict=True)]
    rest = {column: np.insert(old[column][order], at, new[column]) for column in columns[2:]}
    return {"key": np.insert(key, at, new["key"]), "row": np.insert(row, at, new["row"]).astype(np.int32), **rest}


def _build(graph: Store, numbers: Sequence[int] | None = None) -> Arrays:
    """The arrays: `key`, sorted; the name number, and the cost of each to those who ask in a language.

    Of all names, or of those of some numbers.
    """
    names = list(graph.names()) if numbers is None else list(map(graph.name_row, numbers))
    numbers = range(len(names)) if numbers is None else numbers
    texts, tags = normalise_all([name.text for name in names]), _tags(graph)[numbers].tolist()
    keys: list[bytes] = []
    rows: list[int] = []
    costs: dict[str, list[int]] = {language: [] for language in _LANGUAGES}
    for row, text, name, tag in zip(
        numbers, texts, names, map((graph.manifest.languages or ("",)).__getitem__, tags), strict=True
    ):
        if name.scope == Scope.XREF:
            continue
        cost = min(len(text), _LONGEST) * _TRUST + min(name.scope, _TRUST - 1)
        foreign = {lang: 0 if written_in(name.text, tag, lang) else _FOREIGN for lang in _LANGUAGES}
        for at in _starts(text):
            keys.append(text[at : at + _KEY].encode("utf-8", "replace")[:_KEY])
            rows.append(row)
            for lang, more in foreign.items():
                costs[lang].append(cost + more + (_INSIDE if at else 0))
    key, row_of = np.array(keys, f"S{_KEY}"), np.array(rows, np.int32)
    order = np.lexsort((row_of, key)) if len(keys) else np.empty(0, np.int64)
    return {
        "key": key[order],
        "row": row_of[order],
        **{f"cost_{lang}": np.array(costs[lang], np.uint16)[order] for lang in _LANGUAGES},
    }


def _tags(graph: Store) -> NDArray[np.uint8]:
    """The number of the language that each name is said to be of, in the order of the names; 0 = its script tells."""
    spoken = graph.tables.alias_language
    return np.append(
        np.zeros(len(graph), np.uint8), np.zeros(len(graph.tables.alias), np.uint8) if spoken is None else spoken
    )
