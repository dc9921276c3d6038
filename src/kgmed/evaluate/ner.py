"""Precision, recall and F1 of found entities: an entity is right where its type and all its parts are.

Counts are summed over texts before they are divided (micro). Nested and discontinuous entities count as any other.
"""

import json
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import xxhash

from kgmed.errors import SourceError
from kgmed.graph.formats.base import whole_text
from kgmed.models.w2ner import FoundEntity, Part

# --- Texts with their entities, in the format of CMeEE, and their parts for training, choosing and telling.
# A file is a JSON list, or one JSON object a line, of
# `{"text": ..., "entities": [{"start_idx": 3, "end_idx": 11, "type": "bod", "entity": ...}]}`; `end_idx` is the last
# character's. A discontinuous entity has lists there: `"start_idx": [0, 5], "end_idx": [1, 5]`. `entity` may be left
# out; where it is there it must be what the text has at these places. A file that ends in `.xz` is unpacked.
#
# ChineseBLUE's layout (cMedQANER, cEHRNER) is read too:
# `{"text": ..., "mention_data": [{"mention": ..., "offset": "11", "type": "body"}]}`, with `label` for `type`.


_MEND = "see the format at the top of kgmed.evaluate.ner"


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
        raise SourceError(path, line, problem, "end_idx is the last character's; see kgmed.evaluate.ner")
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


def nested(gold: Texts) -> list[list[FoundEntity]]:
    """Of each text the entities that share a character with another: one in the other, or across it.

    >>> nested([[FoundEntity("sym", ((0, 4),)), FoundEntity("bod", ((0, 2),)), FoundEntity("dis", ((5, 7),))]])
    [[FoundEntity(kind='sym', parts=((0, 4),)), FoundEntity(kind='bod', parts=((0, 2),))]]
    """
    return [[f for f in text if any(g != f and _touch(f, g) for g in text)] for text in gold]


def _touch(one: FoundEntity, other: FoundEntity) -> bool:
    return any(a < d and c < b for a, b in one.parts for c, d in other.parts)
