"""From mentions to entities: stages by names and by vectors, and the first that finds an entity decides."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from kgmed import vocabulary
from kgmed.graph.base import KnowledgeGraph, LocalGraph, Match
from kgmed.graph.joining import short_form
from kgmed.graph.names import Fuzzy, Near, Rewordings, canonical_words, contradicts, is_spoken
from kgmed.graph.vectors import Names, nearest_by_ngrams, open_names
from kgmed.language.affixes import is_form, is_telling, is_turning
from kgmed.language.lay import porter2
from kgmed.language.negation import Spans
from kgmed.language.text import fold_word, has_cjk, normalise
from kgmed.models.base import Encoder
from kgmed.pipeline import Fact, Linker, note
from kgmed.question.model import asking_spans, asking_words
from kgmed.records import Entity, Link, Mention
from kgmed.triples import CHOSEN

# --- Linker: what the question before was about, where a question names nothing of its own.


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


@dataclass(frozen=True, slots=True)
class Chosen:
    """The links of another linker, but for the words whose entity is known: `how` = chosen by somebody, or a value."""

    link: Linker
    entities: Mapping[tuple[int, int], Entity]  # by the place of the words in the question
    how: str = CHOSEN

    def __call__(self, mentions: Sequence[Mention], /) -> list[Link]:
        """The links in the order of the other linker; those that it did not make stand last."""
        chosen = {m: Link(m, e, 1.0, self.how) for m in mentions if (e := self.entities.get((m.start, m.end)))}
        found = dict.fromkeys(chosen.get(link.mention, link) for link in self.link(mentions))
        return list(found | dict.fromkeys(chosen.values()))


def refers_back(text: str, mentions: Sequence[Mention]) -> bool:
    """Whether a question is about what the one before it was, given what it names and no graph has.

    >>> scurvy = Mention("scurvy", "scurvy", 8, 14)
    >>> refers_back("How is it treated?", []), refers_back("What is scurvy and what treats it?", [scurvy])
    (True, False)
    """
    asking = Spans(asking_spans(text))
    named = [m.start for m in mentions if not asking.hold(m.start, m.end)]
    back = vocabulary.listed("what refers back").search(text)
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
            for i, matches in zip(short, stage.topk([mentions[i] for i in short], k), strict=True):
                found[i] = distinct([*found[i], *_of_kinds(matches, self.kinds)])[:k]
        return found

    def suggestions(self, mentions: Sequence[Mention], k: int, /) -> list[list[Match]]:
        """The best k of all stages, then what lies nearest, whatever its score; each entity once."""
        found = self.topk(mentions, k)
        if self.nearest is None:
            return found
        short = [i for i, matches in enumerate(found) if len(matches) < k]
        for i, matches in zip(short, self.nearest.topk([mentions[i] for i in short], k), strict=True):
            found[i] = distinct([*found[i], *_of_kinds(matches, self.kinds)])[:k]
        return found


def links(stages: Sequence[Candidates], mentions: Sequence[Mention], kinds: tuple[str, ...] = ()) -> list[Link]:
    """The first stage's best match for each mention, with those of the same score as ties."""
    found: list[list[Match]] = [[] for _ in mentions]
    for stage in stages:
        left = [i for i, matches in enumerate(found) if not matches]
        more = stage.topk([mentions[i] for i in left], 4 * _TIES if kinds else _TIES + 1) if left else []
        for i, matches in zip(left, more, strict=True):
            found[i] = _of_kinds(_of_that_case(mentions[i].name, matches), kinds)
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
_OFTENER = 8  # ours: in so many times more names stands a word of which one in a name is a slip
_SURE_START = 8  # letters: in shorter words the first letter is no slip (France, trance)


@dataclass(frozen=True)
class Spelled:
    """The entities of that very name, by the graph's own index."""

    graph: KnowledgeGraph

    def topk(self, mentions: Sequence[Mention], k: int, /) -> list[list[Match]]:
        """The best k of each, what the name usually is first."""
        found = ((m.name, _same_letters(m.name, self.graph.lookup(m.name))) for m in mentions)
        return [_usual_first(name, matches, self.graph)[:k] for name, matches in found]

    def __call__(self, mentions: Sequence[Mention], /) -> list[Link]:
        """At most one link a mention."""
        return links([self], mentions)


def _of_that_case(name: str, matches: list[Match]) -> list[Match]:
    """The matches without genes of which only the letters are those: eGFR is no EGFR, and itch no ITCH."""
    mixed = name.isascii() and name not in (name.lower(), name.upper())
    return [m for m in matches if not (mixed and m.entity.kind == "gene" and m.name != name)]


def _same_letters(name: str, matches: list[Match]) -> list[Match]:
    """The matches without those by which a short form would be the plural of another: CAP is no CAPS."""
    short = is_symbol(name)
    return [m for m in matches if not (short and m.how == "folded" and is_symbol(m.name))]


def _usual_first(name: str, matches: list[Match], graph: KnowledgeGraph) -> list[Match]:
    """The matches of a short form, first the thing that everybody means by it: CVA is a stroke, DMD a dystrophy."""
    known = short_form(name.upper()) if len(matches) > 1 else ()
    usual = {m.entity.id for full in known for m in graph.lookup(full)}
    return sorted(matches, key=lambda m: m.entity.id not in usual)


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

    A word that other names know ("lysine" for "glycine"), or that the graph describes things in ("storing" for
    "snoring"), is no slip, nor is an opposite or another number, and nothing is a slip of a symbol (France, FANCE;
    SELENON, SELENOI). A drug may have one slip, not in its first letter and in no Chinese name, where every character
    counts (头孢克洛, 头孢克肟).
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
        near = [n for n in near if not is_symbol(n.name) and (name.isupper() or not n.name.isupper())]
        slips = [n for n in near if self._is_slip(key, normalise(n.name))]
        slips = [n for n in slips if not contradicts(name, n.name)]
        found = [Match(m.entity, n.name, "fuzzy", n.score) for n in slips for m in self.graph.lookup(n.name)[:1]]
        return distinct([m for m in found if m.entity.kind not in SUBSTANCES or is_one_slip(key, normalise(m.name))])[
            :k
        ]

    def _is_slip(self, written: str, name: str) -> bool:
        """Whether one normalised name may be a misspelling of the other."""
        from rapidfuzz.distance import OSA

        other = {fold_word(w) for w in name.split()}
        if len(written) < _SURE_START and written[:1] != name[:1]:
            return False
        odd = "".join({*name} ^ {*written})
        if has_cjk(name) and (is_turning(odd) or (len(name) != len(written) and is_telling(odd))):
            return False
        if OSA.distance(written, name) > 1 + (len(written) >= _LONG):
            return False
        strange = [w for w in map(fold_word, written.split()) if w not in other]
        usual = max((self.names.often(w) for w in other - set(written.split())), default=0)
        known = any(self.names.often(w) * _OFTENER > usual for w in strange if self.names.knows(w))
        same = written.rstrip("ea") == name.rstrip("ea")  # as languages write one substance: levothyroxin, mifepristona
        return (same or not known) and not self._is_word(written, name)

    def _is_word(self, written: str, name: str) -> bool:
        """Whether what is written is one English word that means another thing than the name: storing, hoping."""
        asks = written in asking_words() or is_spoken(self.graph, written)
        return asks and written.isalpha() and written.isascii() and porter2(written) != porter2(name)

    def __call__(self, mentions: Sequence[Mention], /) -> list[Link]:
        """At most one link a mention."""
        return links([self], mentions)


def is_symbol(name: str) -> bool:
    """Whether a name is a symbol: each of its letters counts.

    >>> is_symbol("SELENOI"), is_symbol("MARFAN SYNDROME"), is_symbol("aspirin")
    (True, False, False)
    """
    return name.isascii() and name.isupper() and " " not in name


def is_one_slip(written: str, name: str) -> bool:
    """Whether a name of a substance is misspelled beyond doubt: one slip, not in its first letter.

    >>> [is_one_slip("asprin", "aspirin"), is_one_slip("methanol", "ethanol"), is_one_slip("clonazepam", "clotiazepam")]
    [True, False, False]
    """
    from rapidfuzz.distance import OSA

    return not has_cjk(name) and written[:1] == name[:1] and OSA.distance(written, name) <= 1


_SHORT_NAME = re.compile(r"\s*\([A-Z][A-Za-z0-9-]{0,5}\)")  # "(ACE)" in a longer name
_ACID = re.compile(r"(?<=\w{5})(?:ic acid|ate)\b")
_SOUNDS = (("oe", "e"), ("ae", "e"), ("ph", "f"), ("th", "t"), ("y", "i"))


def is_same_substance(one: str, other: str) -> bool:
    """Whether two names of a substance are one but for its salt or form, hyphens, endings and spelling of sounds.

    >>> is_same_substance("oestrogens", "estrogen"), is_same_substance("bupropion HCl", "Bupropion")
    (True, True)
    >>> is_same_substance("sodium iodide", "potassium iodide"), is_same_substance("penicillin-G", "penicillin")
    (False, False)
    """
    if has_cjk(one) or has_cjk(other):
        return False
    (mine, salt), (yours, another) = _without_salt(one), _without_salt(other)
    return mine == yours and (salt == another or not salt or not another)


def _without_salt(name: str) -> tuple[str, frozenset[str]]:
    """The letters of a substance's name, sounded out, and the words for its salt or form; all letters if only that."""
    plain = _ACID.sub("", normalise(_SHORT_NAME.sub("", name)))
    words = [fold_word(w) for w in plain.replace("hcl", "hydrochloride").split()]
    salt = frozenset(w for w in words if is_form(w))
    letters = "".join([w for w in words if w not in salt] or words)
    for written, sounded in _SOUNDS:
        letters = letters.replace(written, sounded)
    return letters, salt


# Chosen on the train split of HPO synonyms (bench/linking.py --tune): with .8 and .9, of the links that no surer stage
# makes, .9 are right (with 0.84 .6 are), where a cosine alone stays at .35. On Chinese aliases no threshold makes more
# than .31 right: there, and across scripts, the default links only what differs in nothing.
_REST = 0.8  # weight of the differing words against the whole names
_ONE_SIDED = 0.7  # how well they agree where only one name says more
AGREEMENT = 0.9
_ALL = 1.0  # how well words agree at most
_OTHER_SCRIPT = 0.6  # how well they agree across scripts, where words cannot be compared
_REMEMBERED = 10_000  # names
_WORD, _ACRONYM = 3, 6  # letters at most
_DISEASES = ("itis", "oma", "osis", "emia", "uria", "pathy")  # endings that make a disease of what they follow
_ADJECTIVES = ("ic", "ous", "ed")
_STEM, _SHARED = 5, 0.6  # letters, and share of the longer word, that make two words of one family


@dataclass(frozen=True)
class Dense:
    """The nearest name by cosine, at least `at_least` (0.7: delta of HyKGE, A.2.3), whose other words agree.

    A whole vector puts "enlarged calves" near "enlarged kidneys" and "high" near "low". So a name that contradicts the
    mention is passed over, and the words that only one of the two has are compared by themselves: the score is
    (cosine + 0.8 x cosine of the differing words) / 1.8 and must reach `agreement`, unless no word differs but in its
    ending. One word is never another, and to a drug or a gene (`SUBSTANCES`) a link is made only by the same words.
    With `agreement=0` the cosine alone counts, as in HyKGE. Where the graph's vectors are computed all names are
    compared; else those that share most n-grams with the mention, so that the first answer waits for no index.
    """

    graph: LocalGraph
    encoder: Encoder
    names: Fuzzy
    at_least: float = 0.7
    agreement: float = AGREEMENT
    agreement_cjk: float = 1.0
    indexed: bool = True  # whether the vectors of all names are used where they are computed
    why: str = ""  # told in each run: where the threshold comes from

    def topk(self, mentions: Sequence[Mention], k: int, /) -> list[list[Match]]:
        """The best k of each above the thresholds."""
        if self.why:
            note(Fact(self.why))
        names = [m.name for m in mentions]
        known = {name: old for name in names if (old := self._found.get((name, k))) is not None}
        new = [name for name in dict.fromkeys(names) if name not in known]
        most, index = max(8, 2 * k), self._index if new else None
        if index is not None:
            found = index.search(new, limit=most)
        else:
            found = nearest_by_ngrams(self.names, self.encoder, new, limit=most, fits=self._may_fit)
        for name, near in zip(new, found, strict=True):
            known[name] = self._entities(name, self._fit(name, near))[:k]
        if len(self._found) + len(new) > _REMEMBERED:
            self._found.clear()
        self._found.update({(name, k): known[name] for name in new})
        return [list(known[name]) for name in names]

    def __call__(self, mentions: Sequence[Mention], /) -> list[Link]:
        """At most one link a mention."""
        return links([self], mentions)

    def _may_fit(self, mention: str, name: str, cosine: float = 1.0) -> bool:
        """Whether a name of such a cosine can be linked, however its other words agree: no other needs a vector."""
        agreement = self.agreement_cjk if has_cjk(mention) else self.agreement
        if agreement <= 0:
            return True
        if not says_enough(mention):
            return False
        pair = differing(mention, name)
        best = _ALL if pair and all(pair) else _agreement(pair)
        several = _many(mention) or _many(name)
        may = pair == ("", "") or (several and agreement < 1 and (cosine + _REST * best) / (1 + _REST) >= agreement)
        return may and not contradicts(mention, name)

    @cached_property
    def _found(self) -> dict[tuple[str, int], list[Match]]:
        """What was found of names of late: methods that are compared ask for the same ones."""
        return {}

    @cached_property
    def _index(self) -> Names | None:
        """The vectors of all names, where they are computed."""
        return open_names(self.graph, self.encoder) if self.indexed else None

    def _fit(self, mention: str, near: Sequence[Near]) -> list[Near]:
        """The near names that may mean the same as the mention, best first."""
        near = [n for n in near if n.score >= self.at_least and self._may_fit(mention, n.name, n.score)]
        agreement = self.agreement_cjk if has_cjk(mention) else self.agreement
        if not (near and 0 < agreement < 1):  # 1: the vectors of two characters that the encoder never saw are equal
            return near
        rests = agreements(mention, [n.name for n in near], self.encoder)
        scored = [n._replace(score=(n.score + _REST * r) / (1 + _REST)) for n, r in zip(near, rests, strict=True)]
        kept = [n for n in scored if n.score >= agreement or differing(mention, n.name) == ("", "")]
        return sorted(kept, key=lambda n: -n.score)

    def _entities(self, mention: str, near: Sequence[Near]) -> list[Match]:
        """The entities of those names, each once."""
        pairs = [(n, m) for n in near for m in self.graph.lookup(n.name)[:1]]
        if self.agreement > 0:
            pairs = [
                p
                for p in pairs
                if p[1].entity.kind not in SUBSTANCES or canonical_words(mention) == canonical_words(p[0].name)
            ]
        return distinct([replace(m, name=n.name, how="dense", score=n.score) for n, m in pairs])


_DRAWN, _ALIKE = 300, 0.95  # ours: names drawn, and the share of them that are not to reach another entity's


def unlike(graph: LocalGraph, encoder: Encoder, names: Fuzzy) -> float:
    """The cosine that 19 in 20 names of a graph do not reach with a name of any other entity; 0 of an empty graph.

    A threshold of linking belongs to the encoder that it was found for: at this one a thing that the graph does not
    have is linked to another one time in 20. It depends on graph and encoder alone.
    """
    count = len(graph.adjacency[0].indptr) - 1
    drawn = map(graph.at, np.random.default_rng(0).permutation(count)[:_DRAWN].tolist())
    ids = {entity.name: entity.id for entity in drawn}
    near = Dense(graph, encoder, names, at_least=-1.0, agreement=0.0, agreement_cjk=0.0)
    found = near.topk([Mention(name, name, 0, len(name)) for name in ids], 8)
    others = [
        max((m.score for m in matches if m.entity.id != one), default=0.0)
        for one, matches in zip(ids.values(), found, strict=True)
    ]
    return float(np.quantile(others, _ALIKE)) if others else 0.0


def _many(name: str) -> bool:
    """Whether a name has several words."""
    return len(name.split()) > 1


def says_enough(name: str) -> bool:
    """Whether a vector can tell what a name means: of an abbreviation or a word of three letters it cannot.

    >>> [says_enough(n) for n in ("HLB", "yes", "gout", "痛风")]
    [False, False, True, True]
    """
    return has_cjk(name) or (len(name) > _WORD and not (name.isupper() and len(name) <= _ACRONYM))


def agreements(mention: str, names: Sequence[str], encoder: Encoder) -> list[float]:
    """For each name how well what only one of the two says agrees: 1 = nothing differs, 0.7 = one says more."""
    pairs = [differing(mention, name) for name in names]
    both = [pair for pair in pairs if pair is not None and all(pair)]
    rows: NDArray[np.float32] = encoder([part for pair in both for part in pair])
    cosines = iter(np.einsum("ij,ij->i", rows[::2], rows[1::2]).tolist() if both else [])
    return [next(cosines) if pair and all(pair) else _agreement(pair) for pair in pairs]


def _agreement(pair: tuple[str, str] | None) -> float:
    """The agreement of two names of which one says no more than the other."""
    return _OTHER_SCRIPT if pair is None else _ONE_SIDED if any(pair) else 1.0


def differing(a: str, b: str) -> tuple[str, str] | None:
    """The words (characters of Chinese names) that only a has, and those that only b has; None across scripts.

    >>> differing("enlarged calves", "Enlarged kidneys"), differing("retinal detachment", "detached retina")
    (('calf', 'kidney'), ('', ''))
    >>> differing("胃反酸", "反酸"), differing("发热", "Fever")
    (('胃', ''), None)
    """
    if has_cjk(a) != has_cjk(b):
        return None
    if has_cjk(a):
        return "".join(c for c in a if c not in b), "".join(c for c in b if c not in a)
    one, other = canonical_words(a), canonical_words(b)
    return _only(one, other), _only(other, one)


def _only(words: frozenset[str], other: frozenset[str]) -> str:
    """The words that have no relative among the others, in alphabetical order."""
    return " ".join(sorted(w for w in words if w not in other and not any(_relatives(w, o) for o in other)))


def _relatives(a: str, b: str) -> bool:
    """Whether two words are forms of one: they begin alike, neither goes on for long, and none alone is a disease."""
    if a[:_STEM] != b[:_STEM]:
        return False
    from rapidfuzz.distance import Prefix

    adjective = a.endswith(_ADJECTIVES) or b.endswith(_ADJECTIVES)
    if not adjective and any(a.endswith(end) != b.endswith(end) for end in _DISEASES):
        return False
    alike = Prefix.similarity(a, b)
    return alike >= _STEM and alike >= _SHARED * max(len(a), len(b))
