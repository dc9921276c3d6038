"""Mentions put right: cut in two or run together, with a verb of the question, or typed by another character."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from kgmed import vocabulary
from kgmed.graph.base import Ahead, LocalGraph
from kgmed.language.text import has_cjk, lazily
from kgmed.pipeline import Recognizer
from kgmed.question.model import asking_spans
from kgmed.records import Mention, Query
from kgmed.stop import check_stop
from kgmed.vocabulary import Predicate

# --- Mentions without the verb of the question: 阿托品, and not 用阿托品, in 能不能用阿托品.

_ENDS_IN_VERB = lazily(
    r"^(\w[\w -]*?) (?:raises?|interacts?|causes?|leads?|treats?|helps?|works?|triggers?|lowers?|prevents?|affects?)$",
    re.IGNORECASE,
)
_BEGINS_WITH_VS = lazily(r"(?:vs\.?|versus) (?=\w)", re.IGNORECASE)


@dataclass(frozen=True)
class WithoutVerb:
    """The mentions of a recogniser; one that takes in a verb of the question is looked for again without it."""

    find: Recognizer
    graph: LocalGraph

    def __call__(self, query: Query, /) -> list[Mention]:
        """The mentions, in the order of the text."""
        spans = asking_spans(query.text)
        return [part for m in self.find(query) for part in self._behind(query, m, spans)]

    def _behind(self, query: Query, mention: Mention, spans: Sequence[tuple[int, int]]) -> list[Mention]:
        """The mention, or what is found of it behind the words that ask, or before the verb that ends it."""
        verb = _ENDS_IN_VERB.search(mention.surface)
        if verb and mention.start >= 0:
            return [replace(mention, surface=verb[1], name=verb[1], end=mention.start + len(verb[1]))]
        against = _BEGINS_WITH_VS.match(mention.surface)
        if against and mention.start >= 0:
            said = mention.surface[against.end() :]
            return [replace(mention, surface=said, name=said, start=mention.start + against.end())]
        cut = next((end for start, end in spans if start < mention.start < end < mention.end), 0)
        if not cut or not has_cjk(mention.surface):
            return [mention]
        if cut == mention.start + 1 and any(m.entity.kind == "disease" for m in self.graph.lookup(mention.surface)):
            return [mention]  # its first sign ends words that ask by chance
        rest = query.text[cut : mention.end]
        found = self.find(replace(query, question=replace(query.question, text=rest), hypothesis=""))
        return [replace(m, start=m.start + cut, end=m.end + cut) for m in found if m.start >= 0] or [mention]


_ILLNESS = ("", "病", "症")  # what may be left out at the end of an illness's name
_PEOPLE = frozenset({"大人", "小孩", "孕妇", "老人", "宝宝", "成人", "儿童", "孩子"})
_LEAST, _LONGEST = 2, 12  # characters of a part, and of what is cut


@dataclass(frozen=True)
class MentionMerger:
    """The mentions of a recogniser; two side by side that are one name are one, and one that is two names is two."""

    find: Recognizer
    graph: LocalGraph

    def __call__(self, query: Query, /) -> list[Mention]:
        """The mentions, in the order of the text."""
        found = self.find(query)
        if not has_cjk(query.text):
            return found
        found = [self._before_people(query.text, m) for m in found]
        return list(self._joined([part for m in found for part in self._cut(m)]))

    def _before_people(self, text: str, mention: Mention) -> Mention:
        """The medicine that runs into those who take it: 快克 of 快克大人一次几粒."""
        cut = mention.end - 1
        if (
            mention.start < 0
            or mention.surface != text[mention.start : mention.end]
            or text[cut : cut + 2] not in _PEOPLE
        ):
            return mention
        said = text[mention.start : cut]
        return replace(mention, surface=said, name=said, end=cut) if "drug" in self._kinds(said) else mention

    def _joined(self, found: list[Mention]) -> Iterator[Mention]:
        """The mentions, those side by side whose names together are an illness as one."""
        i = 0
        while i < len(found):
            both = self._as_one(found[i], found[i + 1]) if i + 1 < len(found) else None
            yield both or found[i]
            i += 2 if both else 1

    def _as_one(self, a: Mention, b: Mention) -> Mention | None:
        """The illness that two mentions side by side name together; None where they do not."""
        beside = 0 <= a.start < a.end == b.start and a.negated == b.negated
        if not beside or not has_cjk(a.surface) or not has_cjk(b.surface):
            return None
        said = a.surface + b.surface
        names = (said + end for end in _ILLNESS)
        name = next((n for n in names if any(m.entity.kind == "disease" for m in self.graph.lookup(n))), "")
        return replace(a, surface=said, name=name, end=b.end) if name else None

    def _cut(self, mention: Mention) -> list[Mention]:
        """The mention; of a name that no graph has, an illness and what is done about it, if it is made of two such."""
        said = mention.surface
        if mention.start >= 0 and has_cjk(said) and mention.surface == mention.name:
            mention = self._illness(mention)
            said = mention.surface
        if mention.start < 0 or not has_cjk(said) or not 2 * _LEAST <= len(said) <= _LONGEST:
            return [mention]
        if is_like_a_medicine(said) or self.graph.lookup(mention.name) or self.graph.lookup(said):
            return [mention]
        for cut in range(len(said) - _LEAST, _LEAST - 1, -1):
            ill, done = self._kinds(said[:cut]), self._kinds(said[cut:])
            if "disease" in ill and done and "disease" not in done:
                middle = mention.start + cut
                return [
                    replace(mention, surface=said[:cut], name=said[:cut], end=middle),
                    replace(mention, surface=said[cut:], name=said[cut:], start=middle),
                ]
        return [mention]

    def _illness(self, mention: Mention) -> Mention:
        """The illness that a longer name of it has, 产后抑郁症, or that is named behind what is done: 预防骨质疏松."""
        said = mention.surface
        if (
            len(said) > _LEAST and (kinds := self._kinds(said)) and "disease" not in kinds and "drug" not in kinds
        ) and (name := next((said + end for end in _ILLNESS[1:] if "disease" in self._kinds(said + end)), "")):
            return replace(mention, name=name)
        verb = vocabulary.listed("done about an illness").match(mention.surface)
        rest = mention.surface[verb.end() :] if verb else ""
        name = next((rest + end for end in _ILLNESS if verb and "disease" in self._kinds(rest + end)), "")
        return replace(mention, surface=rest, name=name, start=mention.start + verb.end()) if verb and name else mention

    def _kinds(self, name: str) -> set[str]:
        """The kinds of the entries of a name."""
        return {m.entity.kind for m in self.graph.lookup(name)}


def is_like_a_medicine(name: str) -> bool:
    """Whether a Chinese name ends as those of medicines do.

    >>> is_like_a_medicine("多司他韦胶囊"), is_like_a_medicine("胸口")
    (True, False)
    """
    return bool(vocabulary.listed("endings of medicines").search(name))


# --- Chinese names with one character typed for another that sounds or looks like it: 湿诊 for 湿疹.

_LONGEST_NAME = 8  # characters of a name
_KNOWN = {2: 150, 3: 60}  # ours: edges of what is taken to be meant, by the length of its name; of longer ones fewer
_KNOWN_LONG = 10
_KNOWN_BY = 20  # edges of what is known by its own spelling
_MUCH = 5  # ours: times as many edges as the entry of that spelling, where a graph has one (a slip of its own)
_KINDS = frozenset({"disease", "drug", "ingredient", "medicine", "symptom"})


@dataclass(frozen=True)
class SpellingCorrector:
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
        for length in range(_LONGEST_NAME, 1, -1):
            check_stop()
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
        found = (self.graph.number(m.entity.id) for m in self.graph.lookup(name) if m.entity.kind in _KINDS)
        return max(map(self.graph.adjacency.edges_of, found), default=0)


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
    every = (text[i : i + length] for length in range(_LONGEST_NAME, 1, -1) for i in range(len(text) - length + 1))
    return filter(_only_cjk, every)


def _others(said: str) -> Iterator[str]:
    """The names that differ in one character of the same sound."""
    return (said[:i] + other + said[i + 1 :] for i, c in enumerate(said) for other in _alike().get(c, ()))


def _only_cjk(text: str) -> bool:
    return all("一" <= c <= "鿿" for c in text)


@vocabulary.kept()
def _alike() -> dict[str, tuple[str, ...]]:
    """The characters of the table for which each is typed."""
    found: dict[str, dict[str, None]] = {}
    for group in vocabulary.entries("spelling", Predicate.TYPED_FOR):
        for c in group:
            found.setdefault(c, {}).update((other, None) for other in group if other != c)
    return {c: tuple(others) for c, others in found.items()}
