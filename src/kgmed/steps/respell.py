"""Chinese names with one character typed for another that sounds or looks like it: 湿诊 for 湿疹."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources

from kgmed.graph.base import Ahead, LocalGraph
from kgmed.language.text import has_cjk
from kgmed.pipeline import Recognizer
from kgmed.records import Entity, Mention, Query
from kgmed.steps.strangers import is_like_a_medicine

_LONGEST = 8  # characters of a name
_KNOWN = {2: 150, 3: 60}  # ours: edges of what is taken to be meant, by the length of its name; of longer ones fewer
_KNOWN_LONG = 10
_KNOWN_BY = 20  # edges of what is known by its own spelling
_MUCH = 5  # ours: times as many edges as the entry of that spelling, where a graph has one (a slip of its own)
_KINDS = frozenset({"disease", "drug", "ingredient", "medicine", "symptom"})


@dataclass(frozen=True)
class Respelled:
    """The mentions of a recogniser; a name that no graph has, or next to nothing of, is read by its sound."""

    find: Recognizer
    graph: LocalGraph
    ordinary: frozenset[str] = frozenset()  # words that are typed as they are meant

    def __call__(self, query: Query, /) -> list[Mention]:
        """The mentions, in the order of the text."""
        found = self.find(query)
        if not has_cjk(query.text):
            return found
        meant = list(self._meant(query.text, found))
        placed = _Placed((m.start, m.end) for m in meant)
        kept = [m for m in found if m.start < 0 or not placed.met(m.start, m.end)]
        return sorted([*kept, *meant], key=lambda m: m.start) if meant else found

    def _meant(self, text: str, found: list[Mention]) -> Iterator[Mention]:
        """The names that are meant, the longest first, none within another or in place of a name that is known."""
        if isinstance(self.graph, Ahead):
            self.graph.expect([name for said in _stretches(text) for name in (said, *_others(said))])
        known = [m for m in found if m.start >= 0 and self._edges(m.name) >= _KNOWN_BY and m.surface == m.name]
        taken = _Placed((m.start, m.end) for m in known)
        unknown = _Placed((m.start, m.end) for m in found if is_like_a_medicine(m.surface))
        for length in range(_LONGEST, 1, -1):
            for start in range(len(text) - length + 1):
                end, said = start + length, text[start : start + length]
                if not _only_cjk(said) or said in self.ordinary:
                    continue
                if any(b >= end and b - a > length for a, b in unknown.met(start, start + 1)):
                    continue  # of a longer name that no graph has nothing is guessed
                if not all(start <= a and b <= end and b - a < length for a, b in taken.met(start, end)):
                    continue  # it may hold all that is known of it and more: 糖尿并 holds 糖尿
                if name := self._by_sound(said):
                    taken.add(start, end)
                    yield Mention(said, name, start, end)

    def _by_sound(self, said: str) -> str:
        """The name that the graph says much of and that differs in one character; "" where it knows the name."""
        least = _KNOWN.get(len(said), _KNOWN_LONG)
        own = self._edges(said)
        if own >= _KNOWN_BY:
            return ""
        much = {name: edges for name in _others(said) if (edges := self._edges(name)) >= max(least, own * _MUCH)}
        return max(much, key=lambda name: much[name], default="")

    def _edges(self, name: str) -> int:
        """How much the graph says under a name; 0 where it has none."""
        return max((self._of(m.entity) for m in self.graph.lookup(name) if m.entity.kind in _KINDS), default=0)

    def _of(self, entity: Entity) -> int:
        out, into = self.graph.adjacency
        node = self.graph.number(entity.id)
        return int(out.indptr[node + 1] - out.indptr[node] + into.indptr[node + 1] - into.indptr[node])


class _Placed:
    """Stretches of a text, found by where they stand."""

    def __init__(self, stretches: Iterable[tuple[int, int]]) -> None:
        self._at: dict[int, list[tuple[int, int]]] = {}
        for start, end in stretches:
            self.add(start, end)

    def add(self, start: int, end: int) -> None:
        for place in range(start, end):
            self._at.setdefault(place, []).append((start, end))

    def met(self, start: int, end: int) -> set[tuple[int, int]]:
        """The stretches that share a character with one."""
        return {one for place in range(start, end) for one in self._at.get(place, ())}


def _stretches(text: str) -> Iterator[str]:
    """The stretches of a text that may be a name."""
    every = (text[i : i + length] for length in range(_LONGEST, 1, -1) for i in range(len(text) - length + 1))
    return filter(_only_cjk, every)


def _others(said: str) -> Iterator[str]:
    """The names that differ in one character of the same sound."""
    return (said[:i] + other + said[i + 1 :] for i, c in enumerate(said) for other in _alike().get(c, ()))


def _only_cjk(text: str) -> bool:
    return all("一" <= c <= "鿿" for c in text)


@lru_cache(maxsize=1)
def _alike() -> dict[str, tuple[str, ...]]:
    """The characters of the table for which each is typed."""
    lines = resources.files("kgmed.language").joinpath("sounds.txt").read_text(encoding="utf-8").splitlines()
    groups = [line.split() for line in lines if line and not line.startswith("#")]
    found: dict[str, dict[str, None]] = {}
    for group in groups:
        for c in group:
            found.setdefault(c, {}).update((other, None) for other in group if other != c)
    return {c: tuple(others) for c, others in found.items()}
