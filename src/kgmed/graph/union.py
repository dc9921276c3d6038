"""Several graphs as one: a merged store, in which a thing that more than one of them has is one node.

The merged store is made of the parts, which stay as they are, and kept under the graphs' folder like anything derived:
made when it is first asked for, and again when a part, its edits, the pairs that may not be joined or this code have
changed. Each relation stands once for each graph that has it, so that every triple tells which graph it is of.
Where some of the graphs are one already, what another adds is worked out alone: the rest is taken over from there.
"""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kgmed import vocabulary
from kgmed.derived import Arrays, cached_arrays
from kgmed.graph.base import Alias, Batch, Batches, NodeRow, Scope, Source, TextRow
from kgmed.graph.grown import distinct, earlier_union
from kgmed.graph.joining import (
    CONDITION,
    VERSION,
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
from kgmed.graph.store.store import EDITS, Store, open_store
from kgmed.language import lay
from kgmed.language.particulars import people_of
from kgmed.language.relations import in_english
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


def _worded(part: Store) -> Arrays:
    """The English words of a graph's names with spaces, in how many each is, and the names of letters alone."""
    columns = ("word", "names", "run", "run_of")
    return cached_arrays(part.folder, "worded", f"{VERSION} {part.label}", columns, lambda: _words(part))


def _words(part: Store) -> Arrays:
    seen, runs, of = Counter[str](), list[str](), list[int]()
    for name in part.names():
        if " " in name.text and name.text.isascii():
            seen.update({w for w in _WORD.findall(name.text.casefold()) if len(w) >= _LEAST})
        elif _RUN.match(name.text):
            runs.append(name.text.casefold())
            of.append(name.node)
    return {
        "word": np.frombuffer("\n".join(seen).encode(), np.uint8), "names": np.array([*seen.values()], np.int32),
        "run": np.frombuffer("\n".join(runs).encode(), np.uint8), "run_of": np.array(of, np.int32),
    }  # fmt: skip


def _lines(text: NDArray[np.uint8]) -> list[str]:
    return text.tobytes().decode().split("\n") if len(text) else []


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


_IN_ENGLISH, _JOINTS = (
    frozenset({"disease", "test", "drug"}),
    frozenset({"in", "of", "with", "from", "by", "and", "or"}),
)
_TOLD, _LONGEST_CJK, _WORDS = 3, 14, 5  # ours: facts, and the length of names in Chinese and in English
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
    """Make the store of some graphs as one in a folder, from one of fewer of them where such stands beside it."""
    forbidden = sorted(forbidden)
    known = vocabulary.digest("names", "medicines", "abbreviations", "glossary", "translations")

    def key(label: str) -> str:
        return f"{VERSION} {known} {forbidden} {label}"

    whole = _Union(parts, Joiner(parts, forbidden, earlier_union(parts, folder, key)))
    build(whole.source, folder, progress=progress, inputs=inputs)
    made = open_store(folder)
    cached_arrays(made.folder, "joins", key(made.label), (*whole.found,), lambda: whole.found)


def union(parts: Sequence[Store], *, forbidden: Iterable[tuple[str, str]] = ()) -> Source:
    """The graphs as one source; records of one thing are one entity."""
    return _Union(parts, Joiner(parts, forbidden)).source


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

    def __init__(self, parts: Sequence[Store], joiner: Joiner) -> None:
        self.parts = [_Part(part, begin) for part, begin in zip(parts, joiner.first, strict=False)]
        self.joins = {join.records[0]: join for join in joiner.joins()}
        self.thing, self._first, self._earlier = joiner.thing, joiner.first, joiner.earlier
        self._said = self._known(joiner)
        self._words = self._all_words(joiner)
        self._overtaken(joiner)
        coded = joiner.coded
        self._anew = np.isin(np.arange(len(self.thing)), self.thing[joiner.changed])  # by the record of each thing
        groups = dict[int, list[int]]()
        for record in np.flatnonzero(self._anew[self.thing]).tolist() if self._earlier else ():
            groups.setdefault(int(self.thing[record]), []).append(record)
        joined = (joiner.join(group) for group in groups.values() if len(group) > 1)  # of an earlier union too
        self.joins |= {join.records[0]: join for join in joined if join.records[0] not in self.joins}
        self._broader = self._coded(joiner)
        self.found = {
            "thing": self.thing, "candidates": joiner.candidates, "coded": coded, "lines": self._named,
            "told": self._told_of,
        }  # fmt: skip

    @property
    def source(self) -> Source:
        """All of it."""
        stores = [part.store for part in self.parts]
        languages = dict.fromkeys(part.language for part in stores)
        names = {part: f"{part.manifest.name} {part.manifest.release}".strip() for part in stores}
        return Source(
            name=" + ".join(names.values()),
            rows=self.rows,
            release=" + ".join(p.manifest.release for p in stores),
            licence="; ".join(f"{p.name}: {p.manifest.licence}" for p in stores if p.manifest.licence),
            citation="; ".join(p.manifest.citation for p in stores if p.manifest.citation),
            language=next(iter(languages)) if len(languages) == 1 else "",
            relations={key: relation for part in self.parts for key, relation in part.relations.items()},
            kinds={key: ("", "") for part in self.parts for key in part.relations},
            parts=tuple(part.label for part in stores),
            describes=" + ".join(name for part, name in names.items() if len(part.tables.described)),
            origins={key: origin for part in self.parts for key, origin in part.origins.items()},
            size=sum(len(p) + p.adjacency.edges + len(p.tables.text_node) for p in stores),
        )

    def rows(self) -> Batches:
        """All rows: entities first, so that they are numbered in the order of the graphs."""
        relations = [key for part in self.parts for key in part.keys]
        supports = [part.store.tables.support for part in self.parts]
        starts = np.cumsum([0, *(len(s) for s in supports)])

        def said(codes: list[int]) -> list[str]:
            return _by_part(codes, starts, lambda part, at: supports[part].many(at))

        return Batches(self._batches(), self._ids, lambda c: [relations[i] for i in c], said)

    def _batches(self) -> Iterator[Batch]:
        yield from self._entities()
        for part in self.parts:
            yield from self._texts(part)
        relations = supports = 0
        for part in self.parts:
            yield from self._edges(part, relations, supports)
            relations, supports = relations + len(part.keys), supports + len(part.store.tables.support)

    def _ids(self, records: list[int]) -> list[str]:
        return _by_part(records, np.array(self._first), lambda part, at: self._shared[part].ids(at))

    @cached_property
    def _shared(self) -> "list[_Shared]":
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

    def _entities(self) -> Iterator[Batch]:
        """Each thing with all names of its records; those that the earlier union has just so are taken over."""
        things = np.flatnonzero(self.thing == np.arange(len(self.thing)))
        nodes = np.full(len(things), -2)
        if self._earlier:
            nodes = np.where(self._anew[things] | (self._earlier.node[things] < 0), -2, self._earlier.node[things])
        ends = np.flatnonzero(np.where(nodes[1:] < 0, nodes[:-1] >= 0, np.diff(nodes) != 1)) + 1
        for run in np.split(np.arange(len(things)), ends):
            for at in range(0, len(run), _EVERY):
                some, first = run[at : at + _EVERY], int(nodes[run[at]])
                if self._earlier and first >= 0:
                    yield Batch((), taken=(self._earlier.store, first, first + len(some)))
                else:
                    yield Batch([self._row(record) for record in things[some].tolist()])

    def _row(self, record: int) -> NodeRow:
        """The thing that is named after a record."""
        join, (part, node) = self.joins.get(record), self._place(record)
        row = self._joined(join, self._shared) if join else self._shared[part].row(node)
        row = self._spaced(row._replace(aliases=(*row.aliases, *self._broader.get(record, ()))))
        row = self._with_known(row, record) if record in self._said else row
        return row if self.parts[part].store.degree(node) < _TOLD else self._translated(row)

    def _translated(self, row: NodeRow) -> NodeRow:
        """An entity with its Chinese name in English, where no graph has that name."""
        name = self._english(row.kind, row.name)
        had = (
            not name or any(part.store.lookup(name) for part in self.parts) or any(a.text == name for a in row.aliases)
        )
        return row if had else row._replace(aliases=(*row.aliases, Alias(name, Scope.RELATED, "en")))

    @staticmethod
    def _english(kind: str, name: str) -> str:
        """What a Chinese name is in English; "" of people, and of what is said in other orders or among lay words."""
        if kind not in _IN_ENGLISH or not has_cjk(name) or len(name) > _LONGEST_CJK:
            return ""
        name = "" if vocabulary.listed("asked of a name").search(name) else in_english(name)
        words = name.split()
        unsaid = len(words) > _WORDS or not _JOINTS.isdisjoint(words) or people_of(name) or [*lay.others(name)]
        return "" if unsaid else name

    def _overtaken(self, joiner: Joiner) -> None:
        """Make things anew whose Chinese name is in English one that a new graph has."""
        new = [self.parts[i].store for i in joiner.new] if self._earlier else []
        for part in (p for i, p in enumerate(self.parts) if new and i not in joiner.new):
            for node in range(len(part.store)):
                entity = part.store.at(node)  # of a thing of several records the kind may be another's
                name = self._english("disease" if entity.kind in CONDITION else entity.kind, entity.name)
                if name and any(store.lookup(name) for store in new):
                    joiner.changed[part.first + node] = True

    def _all_words(self, joiner: Joiner) -> frozenset[str]:
        """The English words of the names of all graphs; things that new ones tell are made anew."""
        worded, before, seen = [_worded(part.store) for part in self.parts], Counter[str](), Counter[str]()
        for i, found in enumerate(worded):
            for counts in (seen,) if i in joiner.new else (seen, before):
                for word, names in zip(_lines(found["word"]), found["names"].tolist(), strict=True):
                    counts[word] += names
        words = frozenset(w for w, names in seen.items() if names >= _SEEN) | _SMALL
        if self._earlier and (new := [w for w in words - _SMALL if before[w] < _SEEN]):
            for part, found in zip(self.parts, worded, strict=True):
                rows = zip(found["run_of"].tolist(), _lines(found["run"]), strict=True)
                joiner.changed[[part.first + node for node, run in rows if any(w in run for w in new)]] = True
        return words

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
        rows = np.array([(i, r) for i in joiner.entries for r in self._named_by(i, joiner)], np.int64).reshape(-1, 2)
        told, again = dict[int, int](), set(joiner.entries)
        if self._earlier:
            before = self._earlier.kept["lines"]
            rows = np.concatenate([before[~np.isin(before[:, 0], joiner.entries)], rows])
            told = dict(self._earlier.kept["told"].tolist())
            again |= set(rows[joiner.changed[rows[:, 1]], 0].tolist())
        self._named, records = distinct(rows), dict[int, set[int]]()
        for entry, record in self._named.tolist():
            records.setdefault(entry, set()).add(int(self.thing[record]))
        for entry in sorted(again):
            was, things = told.pop(entry, None), sorted(records.get(entry, ()))
            if things:
                told[entry] = max(things, key=self._degree(joiner))
            if told.get(entry) != was:
                joiner.changed[[thing for thing in (was, told.get(entry)) if thing is not None]] = True
        self._told_of, known = np.array(sorted(told.items()), np.int64).reshape(-1, 2), dict[int, list[str]]()
        for entry, thing in self._told_of.tolist():
            known.setdefault(thing, []).extend(glossary()[entry])
        return known

    def _named_by(self, entry: int, joiner: Joiner) -> Iterable[int]:
        """The records that an entry of the glossary names."""
        names = glossary()[entry]
        full = [r for name in names if joins(name) and not is_abbreviation(name) for r in joiner.bearers(name)]
        short = (r for name in names if joins(name) and is_abbreviation(name) for r in joiner.bearers(name))
        return full or joiner.made_of(names) or short  # a graph may err: IBD of IBS

    def _coded(self, joiner: Joiner) -> dict[int, list[Alias]]:
        """The titles of codes that a thing has and is not joined to, which may be broader, by record."""
        found: dict[int, list[Alias]] = {}
        for record, owner in joiner.coded[self._anew[self.thing[joiner.coded[:, 0]]]].tolist():
            if self.thing[record] != self.thing[owner] and not is_rest(joiner.facts(owner).name):
                part, node = self._place(owner)
                store = self.parts[part].store
                title = Alias(store.name_row(node).text, Scope.BROAD, store.language)
                found.setdefault(int(self.thing[record]), []).append(title)
        return found

    def _degree(self, joiner: Joiner) -> Callable[[int], int]:
        return lambda thing: sum(map(joiner.degree, np.flatnonzero(self.thing == thing).tolist()))

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

    def _texts(self, part: _Part) -> Iterator[Batch]:
        """The texts of a graph about things."""
        store, t, keys = part.store, part.store.tables, part.keys
        for begin in range(0, len(t.text), _EVERY):
            at = np.arange(begin, min(begin + _EVERY, len(t.text)))
            ids = self._ids(self.thing[t.text_node[at].astype(np.int64) + part.first].tolist())
            columns = ids, t.text_relation[at].tolist(), t.text.many(at), t.text_support[at].tolist()
            yield Batch(
                [
                    TextRow(key, keys[relation], text, store.support(support) if support else ())
                    for key, relation, text, support in zip(*columns, strict=True)
                ]
            )


def _by_part(numbers: list[int], first: Numbers, texts: Callable[[int, Numbers], list[str]]) -> list[str]:
    """The text of each number, where those of part i begin at `first[i]` and `texts` gives some of it."""
    at, found = np.array(numbers, np.int64), np.empty(len(numbers), object)
    part = first.searchsorted(at, "right") - 1
    for i in np.unique(part).tolist():
        mine = np.flatnonzero(part == i)
        found[mine] = texts(i, at[mine] - first[i])
    return found.tolist()


class _Shared:
    """The entities of a graph as rows."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._first = store.tables.alias_node.searchsorted(np.arange(len(store) + 1, dtype=np.int32))
        self._colon = f"{store.manifest.prefix}:" if store.manifest.prefix else ""

    def ids(self, nodes: Numbers) -> list[str]:
        """The ids of nodes."""
        return [self._colon + key for key in self.store.tables.key.many(nodes)]

    def row(self, node: int) -> NodeRow:
        """An entity with its other names."""
        t, m = self.store.tables, self.store.manifest
        at = range(self._first.item(node), self._first.item(node + 1))
        spoken = [m.languages[t.alias_language.item(i)] if t.alias_language is not None else "" for i in at]
        aliases = [Alias(t.alias[i], Scope(t.alias_scope.item(i)), said) for i, said in zip(at, spoken, strict=True)]
        key, kind = self._colon + t.key[node], m.kinds[t.kind.item(node)]
        return NodeRow(key, t.name[node], kind, self.store.description(node), tuple(aliases))


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
