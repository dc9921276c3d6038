"""Names held out of a graph, and names with a slip, for linkers to be tried on."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

import xxhash

from kgmed.evaluate.linking import LinkingCase
from kgmed.graph.base import EdgeRow, LocalGraph, NodeRow, Row, Scope, Source
from kgmed.language.text import normalise


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
