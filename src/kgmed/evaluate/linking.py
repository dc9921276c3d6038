"""How often a linker finds the right entity: held-out names, mentions in other languages, and phrases to refuse.

A held-out name is taken out of the graph before the graph is built, so that no index has seen it. Thresholds are
chosen on the train split and told on the test split; which split a name is in follows from the hash of its entity.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from typing import NamedTuple, Protocol

import xxhash

from kgmed.errors import UnknownName
from kgmed.graph.base import EdgeRow, LocalGraph, Match, NodeRow, Row, Scope, Source
from kgmed.graph.formats.pubtator import Document
from kgmed.language.text import normalise
from kgmed.linking.cascade import Cascade
from kgmed.records import Link, Mention

Understand = Callable[[str], tuple[Sequence[Mention], Sequence[Link]]]


class Linking(Protocol):
    """Anything that links mentions and ranks entities for them."""

    def __call__(self, mentions: Sequence[Mention], /) -> list[Link]:
        """At most one link a mention."""
        ...

    def topk(self, mentions: Sequence[Mention], k: int, /) -> list[list[Match]]:
        """For each mention at most k entities, best first."""
        ...


@dataclass(frozen=True, slots=True)
class LinkingCase:
    """A mention and the ids of the entities it may rightly be linked to; none = it should not be linked."""

    text: str
    right: frozenset[str]


@dataclass(frozen=True, slots=True)
class LinkingRecall:
    """How a linker did on n cases; shares, not percent."""

    n: int
    first: float  # a link is made, to the right entity
    five: float  # the right entity is among the first five candidates, suggestions that are not linked included
    linked: float  # a link is made

    @property
    def precision(self) -> float:
        """The share of links made that are right; 1 where none is made."""
        return self.first / self.linked if self.linked else 1.0

    @property
    def error(self) -> float:
        """The standard error of `first`."""
        return sqrt(self.first * (1 - self.first) / self.n) if self.n else 0.0


def recall(linker: Linking, cases: Sequence[LinkingCase]) -> LinkingRecall:
    """Recall at 1 of the links made, and at 5 of the candidates, over the cases."""
    mentions = [mention(c.text) for c in cases]
    made = {link.mention: link.entity.id for link in linker(mentions)}
    ranked = linker.suggestions(mentions, 5) if isinstance(linker, Cascade) else linker.topk(mentions, 5)
    n = len(cases) or 1
    return LinkingRecall(
        n=len(cases),
        first=sum(made.get(m) in c.right for m, c in zip(mentions, cases, strict=True)) / n,
        five=sum(any(f.entity.id in c.right for f in found) for found, c in zip(ranked, cases, strict=True)) / n,
        linked=sum(m in made for m in mentions) / n,
    )


def mention(text: str) -> Mention:
    """A mention that stands in no text."""
    return Mention(text, text, -1, -1)


@dataclass(frozen=True, slots=True)
class NameSplit:
    """A source without its held-out names, and those names."""

    source: Source
    train: tuple[LinkingCase, ...]
    test: tuple[LinkingCase, ...]


def hold_out(
    source: Source,
    *,
    scopes: Iterable[Scope],
    every: int = 6,
    seed: int = 0,
    keep: Callable[[str], bool] = bool,
    whole: bool = False,
) -> NameSplit:
    """One alias of every `every`-th entity is held out, half of them for training.

    With `whole` all that are like it are taken out with it, so that nothing is left to learn the entity from.

    Only an alias of one of `scopes` that `keep` lets pass and that no other name of its entity spells. One that also
    names another entity is held out and not asked for, because there is no telling which is meant.
    """
    wanted = frozenset(scopes)
    prefix = f"{source.prefix}:" if source.prefix else ""
    entities = list(_entities(source))
    held = {r.key: a for r in entities if (a := _chosen(r, wanted, every, seed, keep)) is not None}
    owners = Counter(key for r in entities for key in _keys(r))
    owners.update(normalise(key) for key in _ends(source) - {r.key for r in entities})
    cases = {k: LinkingCase(a, frozenset({prefix + k})) for k, a in held.items() if owners[normalise(a)] == 1}
    train = tuple(c for k, c in cases.items() if _draw(k, seed + 1) % 2 == 0)
    test = tuple(c for k, c in cases.items() if _draw(k, seed + 1) % 2 == 1)
    out = keep if whole else _nothing
    return NameSplit(replace(source, rows=lambda: _without(source, held, wanted, out)), train, test)


def _nothing(_: str) -> bool:
    """Never."""
    return False


def _entities(source: Source) -> Iterator[NodeRow]:
    """The entities with all their aliases, whatever rows these came in."""
    whole: dict[str, NodeRow] = {}
    for row in source.rows():
        if isinstance(row, NodeRow):
            old = whole.get(row.key, NodeRow(row.key))
            whole[row.key] = NodeRow(row.key, row.name or old.name, aliases=old.aliases + row.aliases)
    yield from whole.values()


def _ends(source: Source) -> set[str]:
    """The keys of all entities that edges join; some have no row of their own."""
    return {key for row in source.rows() if isinstance(row, EdgeRow) for key in (row.head, row.tail)}


def _keys(row: NodeRow) -> set[str]:
    """The normalised names of an entity."""
    return {normalise(row.name or row.key), *(normalise(a.text) for a in row.aliases)}


def _chosen(row: NodeRow, scopes: frozenset[Scope], every: int, seed: int, keep: Callable[[str], bool]) -> str | None:
    """The alias of an entity to hold out; None where the entity is not drawn or has none."""
    if _draw(row.key, seed) % every:
        return None
    keys = [normalise(row.name or row.key), *(normalise(a.text) for a in row.aliases)]
    free = [a.text for a in row.aliases if a.scope in scopes and keep(a.text) and keys.count(normalise(a.text)) == 1]
    return min(free, key=lambda text: _draw(text, seed), default=None)


def _without(
    source: Source, held: dict[str, str], scopes: frozenset[Scope], out: Callable[[str], bool]
) -> Iterator[Row]:
    """The rows of a source without the held-out names, and without what else is `out` of the same entities."""
    for row in source.rows():
        if isinstance(row, NodeRow) and row.key in held:
            left = (a for a in row.aliases if a.text != held[row.key] and not (a.scope in scopes and out(a.text)))
            yield row._replace(aliases=tuple(left))
        else:
            yield row


def _draw(key: str, seed: int) -> int:
    """A number that follows from a key and a seed alone."""
    return xxhash.xxh3_64_intdigest(key.encode("utf-8", "surrogatepass"), seed=seed)


def misspelled(
    graph: LocalGraph, n: int, *, shortest: int, seed: int = 0
) -> tuple[list[LinkingCase], list[LinkingCase]]:
    """Names of a graph with one slip each (a letter lost, doubled, replaced or swapped): n to train, n to test."""
    names = [m.text for m in graph.names(scopes=(Scope.PREFERRED,)) if len(m.text) >= shortest]
    drawn = sorted(set(names), key=lambda text: _draw(text, seed))[: 2 * n]
    cases = [LinkingCase(_slip(t, _draw(t, seed + 1)), frozenset(m.entity.id for m in graph.lookup(t))) for t in drawn]
    return cases[::2], cases[1::2]


def _slip(text: str, draw: int) -> str:
    """The text with one slip, all of it drawn from one number.

    >>> [_slip("fever", d) for d in range(4)]
    ['ever', 'ffever', 'rever', 'efver']
    """
    i = (draw >> 2) % (len(text) - 1)
    other = text[(draw >> 20) % len(text)]
    edits = (text[i + 1], text[i] * 2 + text[i + 1], (other if other != text[i] else text[-1]) + text[i + 1])
    middle = (*edits, text[i + 1] + text[i])[draw % 4]
    return text[:i] + middle + text[i + 2 :]


class Concepts:
    """The entities of a graph by concept: those with that id, and those that name it as a cross-reference."""

    def __init__(self, graph: LocalGraph) -> None:
        """Read the graph's cross-references."""
        self.graph = graph
        self._named: dict[str, set[str]] = {}
        for name in graph.names(scopes=(Scope.XREF,)):
            self._named.setdefault(name.text, set()).add(graph.at(name.node).id)

    def __call__(self, concepts: Iterable[str]) -> frozenset[str]:
        """The ids of the entities that are one of the concepts; none where the graph knows none of them."""
        return frozenset(entity for concept in concepts for entity in self._of(concept))

    def _of(self, concept: str) -> set[str]:
        named = self._named.get(concept, set())
        try:
            return named | {self.graph.entity(concept).id}
        except UnknownName:
            return named


def names_of(texts: Iterable[Document], concepts: Concepts) -> list[LinkingCase]:
    """The names of marked texts, each once, with the entities of their concept; none where the graph has none."""
    marked = ((m.surface, m.ids) for d in texts for m in d.marked if len(m.ids) == 1)
    return list({normalise(name): LinkingCase(name, concepts(ids)) for name, ids in marked}.values())


class LinkingPlace(NamedTuple):
    """A place of a text, and the ids of the concepts that it names."""

    start: int
    end: int
    concepts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Spotted:
    """What was found in texts from the text alone; shares, not percent.

    Places are counted one by one. Concepts are counted once a text, as BioCreative V counts them; those that the graph
    does not know are in `unknown` and nowhere else, but an entity that was found in their stead counts as found.
    """

    texts: int
    places: int
    exact: float  # a mention was recognised at just this place
    touched: float  # one that overlaps it was recognised
    concepts: int  # of the graph
    unknown: int  # concepts that the graph does not know
    found: int  # entities that were linked, once a text
    right: int  # of them those that are marked
    missed: int  # concepts that were not linked

    @property
    def precision(self) -> float:
        """The share of the entities found that are right; 0 where none is found."""
        return self.right / self.found if self.found else 0.0

    @property
    def recall(self) -> float:
        """The share of the graph's concepts that were found; 0 where there is none."""
        return 1 - self.missed / self.concepts if self.concepts else 0.0

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        both = self.precision + self.recall
        return 2 * self.precision * self.recall / both if both else 0.0


def spot(
    understand: Understand,
    texts: Iterable[tuple[str, Sequence[LinkingPlace]]],
    concepts: Concepts,
    *,
    each: Callable[[int], object] = int,
) -> Spotted:
    """How recognition and linking do on texts and their places; `understand` gives a text's mentions and links."""
    counted: Counter[str] = Counter(texts=0, places=0, concepts=0, unknown=0, found=0, right=0, missed=0)
    exact = touched = 0
    for number, (text, places) in enumerate(texts, start=1):
        mentions, links = understand(text)
        spans = {(m.start, m.end) for m in mentions}
        made = {link.entity.id for link in links}
        rights = [concepts([concept]) for concept in {c for place in places for c in place.concepts}]
        wanted = {right for right in rights if right}
        exact += sum((p.start, p.end) in spans for p in places)
        touched += sum(any(start < p.end and p.start < end for start, end in spans) for p in places)
        counted.update(
            texts=1,
            places=len(places),
            concepts=len(wanted),
            unknown=sum(not right for right in rights),
            found=len(made),
            right=sum(any(one in right for right in wanted) for one in made),
            missed=sum(not right & made for right in wanted),
        )
        each(number)
    n = counted["places"] or 1
    return Spotted(exact=exact / n, touched=touched / n, **counted)
