"""How often a linker finds the right entity: held-out names, mentions in other languages, and phrases to refuse.

A held-out name is taken out of the graph before the graph is built, so that no index has seen it. Thresholds are
chosen on the train split and told on the test split; which split a name is in follows from the hash of its entity.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from pathlib import Path
from typing import Protocol

import xxhash

from kgmed.kg.graph import LocalGraph, Match
from kgmed.kg.rows import Alias, EdgeRow, NodeRow, Row, Scope, Source
from kgmed.kg.text import normalise
from kgmed.link.cascade import Cascade
from kgmed.types import Link, Mention

_UMLS = "UMLS:"


class Linking(Protocol):
    """Anything that links mentions and ranks entities for them."""

    def __call__(self, mentions: Sequence[Mention], /) -> list[Link]:
        """At most one link a mention."""
        ...

    def topk(self, mentions: Sequence[Mention], k: int, /) -> list[list[Match]]:
        """For each mention at most k entities, best first."""
        ...


@dataclass(frozen=True, slots=True)
class Case:
    """A mention and the ids of the entities it may rightly be linked to; none = it should not be linked."""

    text: str
    right: frozenset[str]


@dataclass(frozen=True, slots=True)
class Recall:
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


def recall(linker: Linking, cases: Sequence[Case]) -> Recall:
    """Recall at 1 of the links made, and at 5 of the candidates, over the cases."""
    mentions = [mention(c.text) for c in cases]
    made = {link.mention: link.entity.id for link in linker(mentions)}
    ranked = linker.suggestions(mentions, 5) if isinstance(linker, Cascade) else linker.topk(mentions, 5)
    n = len(cases) or 1
    return Recall(
        n=len(cases),
        first=sum(made.get(m) in c.right for m, c in zip(mentions, cases, strict=True)) / n,
        five=sum(any(f.entity.id in c.right for f in found) for found, c in zip(ranked, cases, strict=True)) / n,
        linked=sum(m in made for m in mentions) / n,
    )


def mention(text: str) -> Mention:
    """A mention that stands in no text."""
    return Mention(text, text, -1, -1)


@dataclass(frozen=True, slots=True)
class Split:
    """A source without its held-out names, and those names."""

    source: Source
    train: tuple[Case, ...]
    test: tuple[Case, ...]


def hold_out(
    source: Source, *, scopes: Iterable[Scope], every: int = 6, seed: int = 0, keep: Callable[[str], bool] = bool
) -> Split:
    """One alias of every `every`-th entity is held out, half of them for training.

    Only an alias of one of `scopes` that `keep` lets pass and that no other name of its entity spells. One that also
    names another entity is held out and not asked for, because there is no telling which is meant.
    """
    wanted = frozenset(scopes)
    prefix = f"{source.prefix}:" if source.prefix else ""
    entities = list(_entities(source))
    held = {r.key: a for r in entities if (a := _chosen(r, wanted, every, seed, keep)) is not None}
    owners = Counter(key for r in entities for key in _keys(r))
    owners.update(normalise(key) for key in _ends(source) - {r.key for r in entities})
    cases = {k: Case(a, frozenset({prefix + k})) for k, a in held.items() if owners[normalise(a)] == 1}
    train = tuple(c for k, c in cases.items() if _draw(k, seed + 1) % 2 == 0)
    test = tuple(c for k, c in cases.items() if _draw(k, seed + 1) % 2 == 1)
    return Split(replace(source, rows=lambda: _without(source, held)), train, test)


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


def _without(source: Source, held: dict[str, str]) -> Iterator[Row]:
    """The rows of a source without the held-out names."""
    for row in source.rows():
        if isinstance(row, NodeRow) and row.key in held:
            yield row._replace(aliases=tuple(_others(row.aliases, held[row.key])))
        else:
            yield row


def _others(aliases: Iterable[Alias], held: str) -> Iterator[Alias]:
    """The aliases that are not the one held out."""
    return (a for a in aliases if a.text != held)


def _draw(key: str, seed: int) -> int:
    """A number that follows from a key and a seed alone."""
    return xxhash.xxh3_64_intdigest(key.encode("utf-8", "surrogatepass"), seed=seed)


def misspelled(graph: LocalGraph, n: int, *, shortest: int, seed: int = 0) -> tuple[list[Case], list[Case]]:
    """Names of a graph with one slip each (a letter lost, doubled, replaced or swapped): n to train, n to test."""
    names = [m.text for m in graph.names(scopes=(Scope.PREFERRED,)) if len(m.text) >= shortest]
    drawn = sorted(set(names), key=lambda text: _draw(text, seed))[: 2 * n]
    cases = [Case(_slip(t, _draw(t, seed + 1)), frozenset(m.entity.id for m in graph.lookup(t))) for t in drawn]
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


def cross_lingual(path: Path, graph: LocalGraph) -> list[Case]:
    """The cases of an XL-BEL file (lines "CUI||mention") whose concept the graph names in its cross-references."""
    by_concept: dict[str, set[str]] = {}
    for name in graph.names(scopes=(Scope.XREF,)):
        if name.text.startswith(_UMLS):
            by_concept.setdefault(name.text.removeprefix(_UMLS), set()).add(graph.at(name.node).id)
    pairs = (line.split("||", 1) for line in path.read_text(encoding="utf-8").splitlines() if "||" in line)
    return [Case(text, frozenset(by_concept[cui])) for cui, text in pairs if cui in by_concept]
