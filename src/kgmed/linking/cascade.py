"""From mentions to entities: one stage of linking after the other, and the first that finds an entity decides."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

from rapidfuzz.distance import OSA

from kgmed.graph.base import KnowledgeGraph, LocalGraph, Match, Scope
from kgmed.graph.names import Fuzzy, Rewordings, contradicts
from kgmed.language.affixes import is_telling
from kgmed.language.negation import Spans
from kgmed.language.question import words_that_ask
from kgmed.language.text import fold_word, has_cjk, normalise
from kgmed.pipeline import Linker
from kgmed.records import Link, Mention

# --- Linker: what the question before was about, where a question names nothing of its own.


_REFERS = re.compile(
    r"\b(?:it|its|this|that|these|those|they|them|their|he|him|his|she|her)\b|[它他她其]|这|那|该病|该药|上述",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class CarriedOver:
    """The links of another linker; where it finds none, those given, marked as carried over (`how` "before, ...").

    They are carried over where `text`, the question, names nothing, found or not, or first refers back ("it", 它) and
    then names something that was not found. "What treats scurvy?" is about scurvy, though no graph may know it.
    """

    link: Linker
    before: tuple[Link, ...] = ()
    text: str = ""

    def __call__(self, mentions: Sequence[Mention], /) -> list[Link]:
        """The links; the mentions of those carried over stand in an earlier question, and so nowhere in this one."""
        found = self.link(mentions)
        return found if found or not refers_back(self.text, mentions) else [_carried(link) for link in self.before]


def refers_back(text: str, mentions: Sequence[Mention]) -> bool:
    """Whether a question is about what the one before it was, given what it names and no graph has.

    >>> scurvy = Mention("scurvy", "scurvy", 8, 14)
    >>> refers_back("How is it treated?", []), refers_back("What is scurvy and what treats it?", [scurvy])
    (True, False)
    """
    asking = Spans(words_that_ask(text))
    named = [m.start for m in mentions if not asking.hold(m.start, m.end)]
    back = _REFERS.search(text)
    return not named or (back is not None and back.start() < min(named))


def _carried(link: Link) -> Link:
    """A link of an earlier question."""
    how = link.how if link.how.startswith("before, ") else f"before, {link.how}"
    return replace(link, mention=replace(link.mention, start=-1, end=-1), how=how)


# --- One linking stage after the other: the first that finds an entity decides.


# Kinds whose names are spelled and never paraphrased: one letter more is another drug (methanol, ethanol), and a vector
# puts a drug that its encoder has not met near any other.
SUBSTANCES = frozenset({"drug", "ingredient", "gene", "protein", "chemical"})
_TIES = 5  # other entities named in a link at most


class Candidates(Protocol):
    """A way to find the entities that mentions may stand for."""

    def topk(self, mentions: Sequence[Mention], k: int, /) -> list[list[Match]]:
        """For each mention at most k entities, best first; each entity once."""
        ...


@dataclass(frozen=True)
class Cascade:
    """Ways to link from the surest to the boldest; `kinds` limits what is linked to (() = anything).

    `nearest` says what lies next to a mention, however far: it is shown to a person, and never linked.
    """

    stages: tuple[Candidates, ...]
    kinds: tuple[str, ...] = ()
    nearest: Candidates | None = None

    def __call__(self, mentions: Sequence[Mention], /) -> list[Link]:
        """At most one link a mention, in their order; a mention without one was not found."""
        return links(self.stages, mentions, self.kinds)

    def topk(self, mentions: Sequence[Mention], k: int, /) -> list[list[Match]]:
        """The best k of all stages, those of surer stages first; each entity once."""
        found: list[list[Match]] = [[] for _ in mentions]
        for stage in self.stages:
            short = [i for i, matches in enumerate(found) if len(matches) < k]
            more = stage.topk([mentions[i] for i in short], k)
            for i, matches in zip(short, more, strict=True):
                found[i] = distinct([*found[i], *_of_kinds(matches, self.kinds)])[:k]
        return found

    def suggestions(self, mentions: Sequence[Mention], k: int, /) -> list[list[Match]]:
        """The best k of all stages, then what lies nearest, whatever its score; each entity once."""
        found = self.topk(mentions, k)
        if self.nearest is None:
            return found
        short = [i for i, matches in enumerate(found) if len(matches) < k]
        more = self.nearest.topk([mentions[i] for i in short], k)
        for i, matches in zip(short, more, strict=True):
            found[i] = distinct([*found[i], *_of_kinds(matches, self.kinds)])[:k]
        return found


def links(stages: Sequence[Candidates], mentions: Sequence[Mention], kinds: tuple[str, ...] = ()) -> list[Link]:
    """The first stage's best match for each mention, with those of the same score as ties."""
    found: list[list[Match]] = [[] for _ in mentions]
    for stage in stages:
        left = [i for i, matches in enumerate(found) if not matches]
        more = stage.topk([mentions[i] for i in left], 4 * _TIES if kinds else _TIES + 1) if left else []
        for i, matches in zip(left, more, strict=True):
            found[i] = _of_kinds(matches, kinds)
    return [_link(m, matches) for m, matches in zip(mentions, found, strict=True) if matches]


def distinct(matches: Sequence[Match]) -> list[Match]:
    """The matches with each entity once, where it stands first."""
    seen: dict[str, Match] = {}
    for match in matches:
        seen.setdefault(match.entity.id, match)
    return list(seen.values())


def _of_kinds(matches: list[Match], kinds: tuple[str, ...]) -> list[Match]:
    """The matches whose entity is of one of the kinds; all where none is named."""
    return [m for m in matches if not kinds or m.entity.kind in kinds]


def _link(mention: Mention, matches: list[Match]) -> Link:
    """The link to the best match."""
    best, *rest = matches
    ties = tuple(m.entity for m in rest if m.score == best.score and m.how == best.how)[:_TIES]
    return Link(mention, best.entity, best.score, best.how, ties)


# --- Links by how a name is written: exact, alias, normalised, folded, other wording, and small slips of spelling.


AT_LEAST = 0.8  # edit similarity, Latin; chosen on train splits (bench/linking.py --tune)
AT_LEAST_CJK = 0.75  # the same on CMeKG's aliases: one character in four
_SHORTEST = 5  # letters: in shorter words one slip makes another word
_SHORTEST_CJK = 4
_LONG = 16  # letters: in shorter names two slips make another name (hypokalemia, hypocalcemia)
_SURE_START = 8  # letters: in shorter words the first letter is no slip (France, trance)


@dataclass(frozen=True)
class Spelled:
    """The entities of that very name, by the graph's own index."""

    graph: KnowledgeGraph

    def topk(self, mentions: Sequence[Mention], k: int, /) -> list[list[Match]]:
        """The best k of each."""
        return [self.graph.lookup(m.name)[:k] for m in mentions]

    def __call__(self, mentions: Sequence[Mention], /) -> list[Link]:
        """At most one link a mention."""
        return links([self], mentions)


@dataclass(frozen=True)
class Reworded:
    """The entities that have a name of the same words up to wording (`kg/wording.py`)."""

    graph: LocalGraph

    def topk(self, mentions: Sequence[Mention], k: int, /) -> list[list[Match]]:
        """The best k of each."""
        return [self._wording.search(m.name)[:k] for m in mentions]

    def __call__(self, mentions: Sequence[Mention], /) -> list[Link]:
        """At most one link a mention."""
        return links([self], mentions)

    @cached_property
    def _wording(self) -> Rewordings:
        """The index of the graph's names by their words."""
        return Rewordings(self.graph)


@dataclass(frozen=True)
class Misspelled:
    """The entities that have a name nearly spelled like it: what one slip of the pen makes of it, two if it is long.

    A word that other names know is no slip ("lysine" for "glycine"), nor is an opposite or another number, and no word
    is a slip of a symbol (France, FANCE). A drug may have one slip, not in its first letter and in no Chinese name,
    where every character counts (头孢克洛, 头孢克肟).
    """

    graph: LocalGraph
    names: Fuzzy
    at_least: float = AT_LEAST
    at_least_cjk: float = AT_LEAST_CJK

    def topk(self, mentions: Sequence[Mention], k: int, /) -> list[list[Match]]:
        """The best k of each."""
        return [self._search(m.name, k) for m in mentions]

    def _search(self, name: str, k: int) -> list[Match]:
        """The best k for one name."""
        key = normalise(name)
        cjk = has_cjk(key)
        if len(key) < (_SHORTEST_CJK if cjk else _SHORTEST):
            return []
        near = self.names.search(name, limit=4 * k, at_least=self.at_least_cjk if cjk else self.at_least)
        slips = [n for n in near if self._is_slip(key, normalise(n.name)) and (name.isupper() or not n.name.isupper())]
        slips = [n for n in slips if not contradicts(name, n.name)]
        found = [Match(m.entity, n.name, "fuzzy", n.score) for n in slips for m in self.graph.lookup(n.name)[:1]]
        return distinct([m for m in found if m.entity.kind not in SUBSTANCES or is_one_slip(key, normalise(m.name))])[
            :k
        ]

    def _is_slip(self, written: str, name: str) -> bool:
        """Whether one normalised name may be a misspelling of the other."""
        other = {fold_word(w) for w in name.split()}
        if len(written) < _SURE_START and written[:1] != name[:1]:
            return False
        if has_cjk(name) and len(name) != len(written) and is_telling("".join({*name} ^ {*written})):
            return False
        if OSA.distance(written, name) > 1 + (len(written) >= _LONG):
            return False
        strange = [w for w in map(fold_word, written.split()) if w not in other]
        return not any(self.names.knows(w) for w in strange)

    def __call__(self, mentions: Sequence[Mention], /) -> list[Link]:
        """At most one link a mention."""
        return links([self], mentions)


def is_one_slip(written: str, name: str) -> bool:
    """Whether a name of a substance is misspelled beyond doubt: one slip, not in its first letter.

    >>> [is_one_slip("asprin", "aspirin"), is_one_slip("methanol", "ethanol"), is_one_slip("clonazepam", "clotiazepam")]
    [True, False, False]
    """
    return not has_cjk(name) and written[:1] == name[:1] and OSA.distance(written, name) <= 1


# --- Links across languages by a bilingual graph: mention -> its entity there -> that entity's name in the other
# language.
# "腹胀" has no name in HPO, but CMeKG knows it and its English name, which HPO may have.


@dataclass(frozen=True)
class Bridge:
    """What `onward` finds in its own graph for the translations that `dictionary` has of a mention."""

    dictionary: LocalGraph
    onward: Candidates

    def topk(self, mentions: Sequence[Mention], k: int, /) -> list[list[Match]]:
        """The best k of each; the score is that of the second step, the way is "bridge"."""
        return [self._across(m, k) for m in mentions]

    def _across(self, mention: Mention, k: int) -> list[Match]:
        """The best k of one."""
        matches = self.dictionary.lookup(mention.name)[:k]
        names = [n for m in matches for n in self._translations.get(self.dictionary.number(m.entity.id), ())]
        steps = self.onward.topk([replace(mention, name=n) for n in dict.fromkeys(names)], k)
        ranked = sorted((f for found in steps for f in found), key=lambda f: -f.score)
        return [Match(f.entity, f.name, "bridge", f.score) for f in distinct(ranked)[:k]]

    def __call__(self, mentions: Sequence[Mention], /) -> list[Link]:
        """At most one link a mention."""
        return links([self], mentions)

    @cached_property
    def _translations(self) -> dict[int, tuple[str, ...]]:
        """The translations of each entity of the dictionary, by node number."""
        found: dict[int, list[str]] = {}
        for name in self.dictionary.names(scopes=(Scope.TRANSLATION,)):
            found.setdefault(name.node, []).append(name.text)
        return {node: tuple(names) for node, names in found.items()}
