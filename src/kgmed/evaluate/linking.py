"""How often a linker finds the right entity: held-out names, mentions in other languages, and phrases to refuse.

A held-out name is taken out of the graph before the graph is built, so that no index has seen it. Thresholds are
chosen on the train split and told on the test split; which split a name is in follows from the hash of its entity.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import xxhash

from kgmed.errors import SourceError, UnknownName
from kgmed.graph.base import LocalGraph, Match, Scope
from kgmed.graph.formats.base import whole_text
from kgmed.graph.formats.releases import Document
from kgmed.language.text import normalise
from kgmed.linking.cascade import Cascade
from kgmed.models.w2ner import FoundEntity, Part
from kgmed.records import Link, Mention

# --- Precision, recall and F1 of found entities: an entity is right where its type and all its parts are.
# Counts are summed over texts before they are divided (micro). Nested and discontinuous entities count as any other.

# --- Texts with their entities, in the format of CMeEE, and their parts for training, choosing and telling.
# A file is a JSON list, or one JSON object a line, of
# `{"text": ..., "entities": [{"start_idx": 3, "end_idx": 11, "type": "bod", "entity": ...}]}`; `end_idx` is the last
# character's. A discontinuous entity has lists there: `"start_idx": [0, 5], "end_idx": [1, 5]`. `entity` may be left
# out; where it is there it must be what the text has at these places. A file that ends in `.xz` is unpacked.
# ChineseBLUE's layout (cMedQANER, cEHRNER) is read too:
# `{"text": ..., "mention_data": [{"mention": ..., "offset": "11", "type": "body"}]}`, with `label` for `type`.


_MEND = "see the format at the top of kgmed.evaluate.linking"


class Sample(NamedTuple):
    """A text and its entities."""

    text: str
    entities: tuple[FoundEntity, ...]


@dataclass(frozen=True, slots=True)
class Parts:
    """The samples to learn from, to choose by, and to tell the result by."""

    train: list[Sample]
    dev: list[Sample]
    test: list[Sample]

    @property
    def counts(self) -> dict[str, int]:
        """The number of samples of each part."""
        return {"train": len(self.train), "dev": len(self.dev), "test": len(self.test)}


def read(path: Path) -> list[Sample]:
    """The samples of a file; raises `SourceError` that names line and record."""
    text = whole_text(path)
    if not text.strip():
        raise SourceError(path, 0, "is empty", _MEND)
    return [
        _sample(record, path, line, f"record {number}") for number, (record, line) in enumerate(_records(text, path), 1)
    ]


def _records(text: str, path: Path) -> Iterator[tuple[Any, int]]:
    """The objects of a list, or of lines, each with the line it begins on."""
    decode = json.JSONDecoder().raw_decode
    listed = text.lstrip()[0] == "["
    at = text.index("[") + 1 if listed else 0
    line = 1 + text.count("\n", 0, at)
    between = " \t\r\n" + ("," if listed else "")
    while True:
        start = at
        while at < len(text) and text[at] in between:
            at += 1
        line += text.count("\n", start, at)
        if at == len(text) or (listed and text[at] == "]"):
            break
        try:
            record, end = decode(text, at)
        except (ValueError, RecursionError) as e:
            raise SourceError(path, line, f"is not JSON from here on ({e})", _MEND) from None
        yield record, line
        line += text.count("\n", at, end)
        at = end
    if listed and text[at:].strip() != "]":
        raise SourceError(path, line, "the list does not end with one ]", "give the whole file")


def _sample(record: Any, path: Path, line: int, where: str) -> Sample:
    """A record checked; raises `SourceError`."""
    if not isinstance(record, dict) or not isinstance(record.get("text"), str):
        raise SourceError(path, line, f"{where} has no text", _MEND)
    if any("\ud800" <= char <= "\udfff" for char in record["text"]):
        raise SourceError(path, line, f"{where} holds half a character", "mend the text")
    mentions = record.get("mention_data")
    listed = [_as_entity(m) for m in mentions] if isinstance(mentions, list) else record.get("entities")
    if not isinstance(listed, list):
        raise SourceError(path, line, f"{where} has no list of entities", "train on a file with the entities marked")
    found = [_entity(e, record["text"], path, line, f"{where}, entity {n}") for n, e in enumerate(listed, 1)]
    return Sample(record["text"], tuple(dict.fromkeys(found)))


def _as_entity(mention: Any) -> Any:
    """A mention of ChineseBLUE as an entity of CMeEE; what is none stays as it is, and is refused as such."""
    if not isinstance(mention, dict) or not isinstance(name := mention.get("mention"), str):
        return mention
    offset = str(mention.get("offset"))
    start = int(offset) if re.fullmatch(r"[0-9]{1,9}", offset) else None
    end = None if start is None else start + len(name) - 1
    return {"start_idx": start, "end_idx": end, "type": mention.get("type", mention.get("label")), "entity": name}


def _entity(entity: Any, text: str, path: Path, line: int, where: str) -> FoundEntity:
    """An entity checked; raises `SourceError`."""
    if not isinstance(entity, dict) or not isinstance(entity.get("type"), str) or not entity["type"]:
        raise SourceError(path, line, f"{where} has no type", _MEND)
    starts, ends = (_numbers(entity.get(key)) for key in ("start_idx", "end_idx"))
    parts: list[Part] = [(start, end + 1) for start, end in zip(starts, ends, strict=False)]
    borders = [0, *(place for part in parts for place in part), len(text)]
    if not parts or len(starts) != len(ends) or borders != sorted(borders) or any(a == b for a, b in parts):
        problem = f"{where} has no places within the text in start_idx and end_idx"
        raise SourceError(path, line, problem, "end_idx is the last character's; see kgmed.evaluate.linking")
    said, there = entity.get("entity"), "".join(text[a:b] for a, b in parts)
    if said is not None and not (isinstance(said, str) and said.casefold() == there.casefold()):
        raise SourceError(path, line, f"{where} is called {said!r}, but the text has {there!r}", "mend the places")
    return FoundEntity(entity["type"], tuple(parts))


def _numbers(value: Any) -> list[int]:
    """One or several whole numbers; [] where it is anything else."""
    several = value if isinstance(value, list) else [value]
    return several if all(type(n) is int for n in several) else []


def split(samples: Sequence[Sample], seed: int = 0) -> Parts:
    """Eight, one and one tenth of the samples; equal texts stay together, and the order of the file does not matter."""
    tenths = [xxhash.xxh3_64_intdigest(f"{seed}\n{s.text}".encode("utf-8", "surrogatepass")) % 10 for s in samples]
    of = [[s for s, tenth in zip(samples, tenths, strict=True) if tenth in some] for some in (range(8), (8,), (9,))]
    return Parts(*of)


def fingerprint(samples: Sequence[Sample]) -> str:
    """A hash of all that the samples say."""
    return xxhash.xxh3_128_hexdigest(repr([tuple(s) for s in samples]).encode("utf-8", "surrogatepass"))


# --- Precision, recall and F1 of found entities: an entity is right where its type and all its parts are.
# Counts are summed over texts before they are divided (micro). Nested and discontinuous entities count as any other.


Texts = Sequence[Collection[FoundEntity]]


@dataclass(frozen=True, slots=True)
class NerScore:
    """How many entities were found, how many there are, and how many of them were found."""

    found: int
    gold: int
    right: int

    @property
    def precision(self) -> float:
        """The share of found entities that are right; 0 where none is found."""
        return self.right / self.found if self.found else 0.0

    @property
    def recall(self) -> float:
        """The share of entities that were found; 0 where there is none."""
        return self.right / self.gold if self.gold else 0.0

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall.

        >>> NerScore(found=4, gold=2, right=2).f1
        0.6666666666666666
        """
        return 2 * self.right / (self.found + self.gold) if self.right else 0.0


def score(found: Texts, gold: Texts, *, typed: bool = True) -> NerScore:
    """The score over texts, each entity counted once; not `typed` = the type need not be right.

    >>> right = [[FoundEntity("sym", ((0, 2),)), FoundEntity("sym", ((1, 2),))]]
    >>> score([[FoundEntity("dis", ((0, 2),))]], right, typed=False)
    NerScore(found=1, gold=2, right=1)
    """
    pairs = [(_set(f, typed=typed), _set(g, typed=typed)) for f, g in zip(found, gold, strict=True)]
    return NerScore(sum(len(f) for f, _ in pairs), sum(len(g) for _, g in pairs), sum(len(f & g) for f, g in pairs))


def _set(entities: Collection[FoundEntity], *, typed: bool) -> set[FoundEntity]:
    return {f if typed else FoundEntity("", f.parts) for f in entities}


def by_kind(found: Texts, gold: Texts) -> dict[str, NerScore]:
    """The score of each type that is found or should be, by its name."""
    kinds = sorted({f.kind for text in (*found, *gold) for f in text})
    return {kind: score(_of_kind(found, kind), _of_kind(gold, kind)) for kind in kinds}


def _of_kind(texts: Texts, kind: str) -> list[list[FoundEntity]]:
    return [[f for f in text if f.kind == kind] for text in texts]


Understand = Callable[[str], tuple[Sequence[Mention], Sequence[Link]]]


class Linking(Protocol):
    """Anything that links mentions and ranks entities for them."""

    def __call__(self, mentions: Sequence[Mention], /) -> list[Link]:
        """At most one link a mention."""
        ...

    def topk(self, mentions: Sequence[Mention], k: int, /) -> list[list[Match]]:
        """For each mention at most k entities, best first."""
        ...


class LinkingCase(NamedTuple):
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
