"""Several graphs as one: a merged store, in which a thing that more than one of them has is one node.

The merged store is made of the parts, which stay as they are, and kept under the graphs' folder like anything derived:
made when it is first asked for, and again when a part, its edits, the pairs that may not be joined or this code have
changed. Each relation stands once for each graph that has it, so that every triple tells which graph it is of.
"""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, repeat
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kgmed.graph.base import Alias, Batch, Batches, NodeRow, Scope, Source, TextRow, Told
from kgmed.graph.joining import (
    CONDITION,
    Join,
    Joiner,
    glossary,
    is_abbreviation,
    is_rest,
    joins,
    languages,
    of_some,
)
from kgmed.graph.store.build import build
from kgmed.graph.store.store import EDITS, Store
from kgmed.language.text import has_cjk, lazily, normalise, script_language
from kgmed.records import Relation
from kgmed.vocabulary import BRAND

# --- English names that lost the spaces between their words: oralcandidiasis, AmoxicillinChewableTablets.

_RUN = lazily(r"[A-Za-z]{10,}$")
_WORD = lazily(r"[a-z]+")
_CASE = lazily(r"(?<=[a-z])(?=[A-Z])")
_SMALL = frozenset({"of", "in", "to", "by", "and", "for", "with", "the", "eye", "ear", "due", "or"})
_LEAST, _LONGEST = 4, 25  # letters of a word
_SEEN = 3  # ours: names that a word stands in, so that it is no part of words


def words_of(names: Iterable[str]) -> frozenset[str]:
    """The words that stand in several of some names with spaces."""
    seen = Counter(
        word for name in names if " " in name and name.isascii() for word in {*_WORD.findall(name.casefold())}
    )
    return frozenset(w for w, count in seen.items() if count >= _SEEN and len(w) >= _LEAST) | _SMALL


def spaced(name: str, words: frozenset[str]) -> str:
    """A name of letters alone with its spaces, in the fewest words; "" where it is one word, or not made of `words`.

    >>> known = frozenset({"oral", "candidiasis", "torsion", "testis", "chewable", "tablets", "of"})
    >>> spaced("oralcandidiasis", known), spaced("torsionoftestis", known), spaced("AmoxilChewableTablets", known)
    ('oral candidiasis', 'torsion of testis', 'Amoxil Chewable Tablets')
    >>> spaced("candidiasis", known), spaced("pneumothorax", known)
    ('', '')
    """
    if not _RUN.match(name) or name.casefold() in words:
        return ""
    parts = _CASE.split(name)
    if len(parts) > 1:
        return " ".join(" ".join(_cut(part, words)) or part for part in parts)
    found = _cut(name.casefold(), words)
    ends = {found[0], found[-1]} if found else set()
    whole = len(found) > 1 and ends.isdisjoint(_SMALL) and not (len(found) == 2 and re.search("[oi]$", found[0]))
    return " ".join(found) if whole else ""


def _cut(run: str, words: frozenset[str]) -> list[str]:
    """The fewest words that a run of letters is made of; [] where there are none."""
    said = run.casefold()
    best: list[list[str]] = [[] for _ in said]
    for begin in range(len(said) - 1, -1, -1):
        for end in range(begin + 2, min(len(said), begin + _LONGEST) + 1):
            rest = best[end] if end < len(said) else []
            fits = said[begin:end] in words and (end == len(said) or rest)
            if fits and (not best[begin] or len(rest) + 1 < len(best[begin])):
                best[begin] = [run[begin:end], *rest]
    return best[0]


_EVERY = 1 << 14  # rows of a batch
_WHOLE = 3  # signs of a Chinese name in brackets that means anything alone
_BETWEEN = "\x1f"  # between the graph and the name of a relation; the name alone is shown

Numbers = NDArray[np.int64]


def merge(
    parts: Sequence[Store],
    folder: Path,
    *,
    forbidden: Iterable[tuple[str, str]] = (),
    progress: Callable[[int], None] | None = None,
    inputs: str = "",
) -> None:
    """Make the store of some graphs as one in a folder."""
    build(union(parts, forbidden=forbidden), folder, progress=progress, inputs=inputs)


def union(parts: Sequence[Store], *, forbidden: Iterable[tuple[str, str]] = ()) -> Source:
    """The graphs as one source; records of one thing are one entity."""
    joiner = Joiner(parts, forbidden)
    whole = _Union(parts, joiner.joins(), joiner)
    languages = dict.fromkeys(part.language for part in parts)
    names = {part: f"{part.manifest.name} {part.manifest.release}".strip() for part in parts}
    return Source(
        name=" + ".join(names.values()),
        rows=whole.rows,
        release=" + ".join(p.manifest.release for p in parts),
        licence="; ".join(f"{p.name}: {p.manifest.licence}" for p in parts if p.manifest.licence),
        citation="; ".join(p.manifest.citation for p in parts if p.manifest.citation),
        language=next(iter(languages)) if len(languages) == 1 else "",
        relations={key: relation for part in whole.parts for key, relation in part.relations.items()},
        kinds={key: ("", "") for part in whole.parts for key in part.relations},
        parts=tuple(part.label for part in parts),
        describes=" + ".join(name for part, name in names.items() if len(part.tables.described)),
        origins={key: origin for part in whole.parts for key, origin in part.origins.items()},
        size=sum(len(p) + p.adjacency.edges + len(p.tables.text_node) for p in parts),
    )


@dataclass(frozen=True)
class _Part:
    """One of the graphs, and how its relations are called in the whole."""

    store: Store
    first: int  # number of its first record

    @property
    def keys(self) -> list[str]:
        """The key of each relation in the whole, by its number; then those of relations by which edits were made."""
        names = [relation.name for relation in self.store.relations]
        name = self.store.name
        return [f"{where}{_BETWEEN}{n}" for where in (name, f"{name}{_BETWEEN}{EDITS}") for n in names]

    @property
    def relations(self) -> dict[str, Relation]:
        """The relations by their key."""
        return dict(zip(self.keys, [*self.store.relations] * 2, strict=True))

    @property
    def origins(self) -> dict[str, str]:
        """The graph and release of each relation's triples."""
        m, count = self.store.manifest, len(self.store.relations)
        sources = [f"{m.name} {m.release}".strip()] * count + [f"{EDITS} of {m.name}"] * count
        return dict(zip(self.keys, sources, strict=True))


class _Union:
    """The rows of several graphs as those of one."""

    def __init__(self, parts: Sequence[Store], joins: Sequence[Join], joiner: Joiner) -> None:
        first = np.cumsum([0, *(len(part) for part in parts)]).tolist()
        self.parts = [_Part(part, begin) for part, begin in zip(parts, first, strict=False)]
        self.joins = {join.records[0]: join for join in joins}
        self.thing = np.arange(first[-1])  # record -> the record that its thing is named after
        for join in joins:
            self.thing[list(join.records)] = join.records[0]
        self._first = first
        self._said = self._known(joiner)
        self._broader = self._coded(joiner)

    def rows(self) -> Batches:
        """All rows: entities first, so that they are numbered in the order of the graphs."""
        relations = [key for part in self.parts for key in part.keys]
        supports = [part.store.tables.support for part in self.parts]
        starts = np.cumsum([0, *(len(s) for s in supports)])

        def said(codes: list[int]) -> list[str]:
            of = np.searchsorted(starts, codes, "right") - 1
            return [supports[p][code - int(starts[p])] for p, code in zip(of.tolist(), codes, strict=True)]

        ids = self._ids
        return Batches(self._batches(), lambda c: [ids[i] for i in c], lambda c: [relations[i] for i in c], said)

    def _batches(self) -> Iterator[Batch]:
        rows = self._told()
        while told := list(islice(rows, _EVERY)):
            yield Batch(told)
        relations = supports = 0
        for part in self.parts:
            yield from self._edges(part, relations, supports)
            relations, supports = relations + len(part.keys), supports + len(part.store.tables.support)

    @cached_property
    def _ids(self) -> list[str]:
        """The id of each record."""
        return [key for shared in self._shared for key in shared.ids]

    @cached_property
    def _shared(self) -> "list[_Shared]":
        """The entities of each graph."""
        return [_Shared(part.store) for part in self.parts]

    # --- edges

    def _edges(self, part: _Part, relations: int, supports: int) -> Iterator[Batch]:
        """The edges of a graph between things; those that a join has made loops are left out."""
        store, out = part.store, part.store.adjacency.out
        heads = np.repeat(np.arange(len(store)), np.diff(out.indptr)) + part.first
        tails = out.neighbour.astype(np.int64) + part.first
        relation = out.relation.astype(np.int32) + relations
        relation[list(store.edited)] += len(store.relations)
        head, tail = self.thing[heads], self.thing[tails]
        kept = np.flatnonzero((head != tail) | (heads == tails))
        support = store.tables.edge_support
        for begin in range(0, len(kept), _EVERY):
            at = kept[begin : begin + _EVERY]
            yield Batch(
                (), head[at], relation[at], tail[at],
                None if store.weight is None else store.weight[at],
                None if support is None else np.where(support[at] > 0, support[at].astype(np.int64) + supports, 0),
            )  # fmt: skip

    # --- entities and texts

    def _told(self) -> Iterator[Told]:
        """Each thing with all names of its records, then the texts about it."""
        shared = self._shared
        for number, part in enumerate(self.parts):
            for node in range(len(part.store)):
                record = node + part.first
                if self.thing[record] == record:
                    join = self.joins.get(record)
                    row = self._joined(join, shared) if join else shared[number].row(node)
                    row = self._spaced(row._replace(aliases=(*row.aliases, *self._broader.get(record, ()))))
                    yield self._with_known(row, record) if record in self._said else row
        for part in self.parts:
            yield from self._texts(part)

    @cached_property
    def _words(self) -> frozenset[str]:
        """The English words of the names of all graphs."""
        return words_of(name.text for part in self.parts for name in part.store.names())

    def _spaced(self, row: NodeRow) -> NodeRow:
        """An entity whose English names have their spaces, without names that say less or more than it is."""
        said = {a.text: whole for a in row.aliases if a.text.isascii() and (whole := spaced(a.text, self._words))}
        kept = [a for a in row.aliases if not (a.scope is Scope.RELATED and len(a.text) < _WHOLE and has_cjk(a.text))]
        some = of_some(row.name)
        if not said and not some and len(kept) == len(row.aliases):
            return row
        aliases = [a._replace(text=said.get(a.text, a.text)) for a in kept]
        wide = [a for a in aliases if some and has_cjk(a.text) and not of_some(a.text)]  # 过敏性鼻炎 of 小儿过敏性鼻炎
        aliases = [a._replace(scope=Scope.NARROW) if a in wide and a.scope < Scope.NARROW else a for a in aliases]
        run = [Alias(text, Scope.RELATED, "en") for text in said]
        return row._replace(aliases=_once((*aliases, *run), row.name))

    def _joined(self, join: Join, shared: "Sequence[_Shared]") -> NodeRow:
        """The entity that several records are: named after the first, with the names and ids of all."""
        rows = [shared[part].row(node) for part, node in map(self._place, join.records)]
        parts = [self.parts[part].store for part, _ in map(self._place, join.records)]
        first, language = rows[0], parts[0].language
        names = [
            Alias(r.name, _scope(p.language, language), p.language) for r, p in zip(rows[1:], parts[1:], strict=True)
        ]
        ids = [Alias(r.key, Scope.XREF) for r in rows[1:]]
        aliases = [
            a if a.scope is not Scope.EXACT else a._replace(scope=_scope(p.language, language), language=p.language)
            for r, p in zip(rows, parts, strict=True) for a in r.aliases
        ]  # fmt: skip
        kinds = [r.kind for r in rows if r.kind]
        kind = "disease" if "disease" in kinds else next(iter(kinds), "")
        described = next((r.description for r in rows if r.description), "")
        return NodeRow(first.key, first.name, kind, described, _once((*names, *aliases, *ids), first.name))

    def _known(self, joiner: Joiner) -> dict[int, list[str]]:
        """The names that the glossary has for a thing, by record; of several that bear one, the one told most of."""
        known: dict[int, list[str]] = {}
        for names in glossary():
            full = [r for name in names if joins(name) and not is_abbreviation(name) for r in joiner.bearers(name)]
            short = (r for name in names if joins(name) and is_abbreviation(name) for r in joiner.bearers(name))
            things = {int(self.thing[r]) for r in full or joiner.made_of(names) or short}  # a graph may err: IBD of IBS
            if things:
                known.setdefault(max(things, key=self._degree(joiner)), []).extend(names)
        return known

    def _coded(self, joiner: Joiner) -> dict[int, list[Alias]]:
        """The titles of codes that a thing has and is not joined to, which may be broader, by record."""
        found: dict[int, list[Alias]] = {}
        for record, owner in joiner.coded():
            if self.thing[record] != self.thing[owner] and not is_rest(joiner.facts(owner).name):
                part, node = self._place(owner)
                store = self.parts[part].store
                title = Alias(store.name_row(node).text, Scope.BROAD, store.language)
                found.setdefault(int(self.thing[record]), []).append(title)
        return found

    def _degree(self, joiner: Joiner) -> Callable[[int], int]:
        """The number of triples at a thing."""
        return lambda thing: sum(map(joiner.degree, self.joins[thing].records if thing in self.joins else (thing,)))

    def _with_known(self, row: NodeRow, record: int) -> NodeRow:
        """An entity that answers to the names of the glossary too, and is called by it where it has none of them."""
        row = self._called(row, self._said[record])
        own, known = script_language(row.name), []
        for name in (said.removesuffix(BRAND) for said in self._said[record]):
            language = languages().get(name) or script_language(name)
            foreign = language != own
            scope = Scope.ABBREVIATION if is_abbreviation(name) else Scope.TRANSLATION if foreign else Scope.LAYPERSON
            known.append(Alias(name, scope, language))
        return row._replace(aliases=_once((*known, *row.aliases), row.name))

    def _called(self, row: NodeRow, known: Sequence[str]) -> NodeRow:
        """An illness under the name that everybody uses: "Psoriasis", not "Psoriasiform dermatitis"."""
        usual = next((name for name in known if not has_cjk(name)), "")
        same = {normalise(name).removesuffix("s") for name in known}
        if has_cjk(row.name) or not usual or row.kind not in CONDITION or normalise(row.name).removesuffix("s") in same:
            return row
        return row._replace(name=usual[0].upper() + usual[1:], aliases=(Alias(row.name), *row.aliases))

    def _place(self, record: int) -> tuple[int, int]:
        """The graph of a record and its number there."""
        part = bisect_right(self._first, record) - 1
        return part, record - self._first[part]

    def _texts(self, part: _Part) -> Iterator[TextRow]:
        """The texts of a graph about things."""
        store, t, keys = part.store, part.store.tables, part.keys
        of = self.thing[t.text_node.astype(np.int64) + part.first].tolist()
        rows = zip(of, t.text_relation.tolist(), t.text, t.text_support.tolist(), strict=True)
        for record, relation, text, support in rows:
            yield TextRow(self._ids[record], keys[relation], text, store.support(support) if support else ())


class _Shared:
    """The entities of a graph as rows, read in bulk."""

    def __init__(self, store: Store) -> None:
        t = store.tables
        self.store = store
        self._first = t.alias_node.searchsorted(np.arange(len(store) + 1, dtype=np.int32)).tolist()
        languages = store.manifest.languages
        spoken = repeat("") if t.alias_language is None else map(languages.__getitem__, t.alias_language.tolist())
        self._aliases = list(map(Alias, t.alias, map(Scope, t.alias_scope.tolist()), spoken))
        self._described = {int(node): text for node, text in zip(t.described, t.description, strict=True)}
        self._names = list(t.name)
        colon = f"{store.manifest.prefix}:" if store.manifest.prefix else ""
        self.ids = [colon + key for key in (self._names if t.key is t.name else t.key)]
        self._kinds = list(map(store.manifest.kinds.__getitem__, t.kind.tolist()))

    def row(self, node: int) -> NodeRow:
        """An entity with its other names."""
        aliases = tuple(self._aliases[self._first[node] : self._first[node + 1]])
        return NodeRow(self.ids[node], self._names[node], self._kinds[node], self._described.get(node, ""), aliases)


def _scope(language: str, of: str) -> Scope:
    """What the name of a record is to an entity whose name is in the language `of`."""
    return Scope.EXACT if language == of else Scope.TRANSLATION


def _once(aliases: Iterable[Alias], name: str) -> tuple[Alias, ...]:
    """The aliases, each text of a language once with the surest of its scopes, without the name itself."""
    best: dict[tuple[str, str], Alias] = {}
    for alias in aliases:
        known = best.get(key := (alias.text, alias.language))
        if alias.text != name and (known is None or alias.scope < known.scope):
            best[key] = alias
    return tuple(best.values())
