"""Retriever: a document for each disease, found by words or by vectors (MindMap's BM25 and embedding baselines).

MindMap's documents were written by a language model. Here each is made from the graph alone: the disease, its
definition, and for each relation the names at the other end, heaviest first. In a graph without diseases every entity
that is the head of an edge has a document.
"""

import threading
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import log

import numpy as np
from numpy.typing import NDArray

from kgmed.graph.base import LocalGraph
from kgmed.graph.derived import Arrays, cached_arrays
from kgmed.language.text import one_line
from kgmed.models.base import Encoder
from kgmed.models.scorers import words
from kgmed.records import Entity, Evidence, Link, Query, Triple

_BLOCK = 256  # documents encoded at a time
VERSION = "1"  # of the texts, for what is kept beside the graph
KEPT = "words", "bounds", "places", "often", "lengths"


@dataclass(frozen=True)
class Documents:
    """The documents of a graph; `listed` names a relation."""

    graph: LocalGraph
    listed: int = 12
    limit: int = 128  # triples looked at around one disease
    longest: int = 300  # characters that an encoder reads

    @cached_property
    def nodes(self) -> NDArray[np.int64]:
        """The node numbers that have a document, ascending."""
        diseases = np.asarray(self.graph.of_kind("disease"), np.int64)
        return diseases if len(diseases) else np.flatnonzero(np.diff(self.graph.adjacency.out.indptr))

    def evidence(self, place: int, score: float) -> Evidence:
        """One document with the triples it is made of."""
        entity = self.graph.at(int(self.nodes[place]))
        rows = self._rows(entity)
        triples = tuple(t for group in rows.values() for t in group)
        return Evidence(self._written(entity, rows), "document", triples, (entity,), score)

    def text(self, place: int) -> str:
        """The text of one document."""
        entity = self.graph.at(int(self.nodes[place]))
        return self._written(entity, self._rows(entity))

    def _rows(self, entity: Entity) -> dict[str, list[Triple]]:
        """The heaviest triples of each relation; of those that lead to the same entity the first."""
        groups: dict[str, dict[str, Triple]] = {}
        for t in self.graph.neighbours(entity.id, limit=self.limit):
            groups.setdefault(t.relation.name, {}).setdefault(_other(t, entity).id, t)
        return {name: list(group.values())[: self.listed] for name, group in groups.items()}

    def _written(self, entity: Entity, rows: dict[str, list[Triple]]) -> str:
        about = self.graph.entity(entity.id).description
        parts = [f"{group[0].relation}: {', '.join(_other(t, entity).name for t in group)}" for group in rows.values()]
        return one_line("; ".join([entity.name, *([about] if about else []), *parts]))

    @property
    def _spoken(self) -> str:
        """What tells apart what is kept of a graph that is asked in another language than its own."""
        language = getattr(self.graph, "speaks", "")
        return f"-{language}" if language else ""

    @cached_property
    def postings(self) -> "Postings":
        """The words of all documents, computed once and kept beside the graph."""
        key = f"{VERSION} {self.graph.label} {self.listed} {self.limit}"
        file = f"document-words{self._spoken}"
        made = cached_arrays(self.graph.folder, file, key, KEPT, lambda: self._indexed().arrays())
        return Postings.from_arrays(made)

    def _indexed(self) -> "Postings":
        return Postings.of(words(self.text(i)) for i in range(len(self.nodes)))

    def vectors(self, encoder: Encoder) -> NDArray[np.float32]:
        """One unit row a document (n, d), computed once and kept beside the graph."""
        key = f"{VERSION} {self.graph.label} {encoder.name} {self.listed} {self.limit} {self.longest}"
        file = f"documents{self._spoken}"
        made = cached_arrays(self.graph.folder, file, key, ("rows",), lambda: {"rows": self._encoded(encoder)})
        return np.asarray(made["rows"], np.float32)

    def _encoded(self, encoder: Encoder) -> NDArray[np.float16]:
        count = len(self.nodes)
        rows = np.zeros((count, encoder.dimensions), np.float16)
        for start in range(0, count, _BLOCK):
            texts = [self.text(i)[: self.longest] for i in range(start, min(start + _BLOCK, count))]
            rows[start : start + len(texts)] = encoder(texts)
        return rows


@dataclass(frozen=True)
class Postings:
    """For each word the documents that hold it and how often; those of word `i` are at `bounds[i]:bounds[i + 1]`."""

    number: Mapping[str, int]  # of a word
    bounds: NDArray[np.int64]  # (words + 1,)
    places: NDArray[np.int32]  # of the documents, ascending within a word
    often: NDArray[np.int32]
    lengths: NDArray[np.int32]  # of each document, in words

    @classmethod
    def of(cls, texts: Iterable[Sequence[str]]) -> "Postings":
        """Of texts cut into words."""
        number: dict[str, int] = {}
        ids, places, often, lengths = (array("i") for _ in range(4))
        for place, text in enumerate(texts):
            counts = Counter(text)
            ids.extend(number.setdefault(word, len(number)) for word in counts)
            places.extend([place] * len(counts))
            often.extend(counts.values())
            lengths.append(len(text))
        of_word, size = np.array(ids, np.int32), len(number)
        order = np.argsort(of_word, kind="stable")
        bounds = np.concatenate([[0], np.cumsum(np.bincount(of_word, minlength=size))]).astype(np.int64)
        there, times = np.array(places, np.int32)[order], np.array(often, np.int32)[order]
        return cls(number, bounds, there, times, np.array(lengths, np.int32))

    def arrays(self) -> Arrays:
        """All of it as arrays, to be kept in files; no word has a line break in it."""
        listed = np.frombuffer("\n".join(self.number).encode(), np.uint8)
        made = (listed, self.bounds, self.places, self.often, self.lengths)
        return dict(zip(KEPT, made, strict=True))

    @classmethod
    def from_arrays(cls, made: Arrays) -> "Postings":
        """What `arrays` were made from."""
        listed, bounds, places, often, lengths = (made[name] for name in KEPT)
        named = listed.tobytes().decode().split("\n") if len(listed) else []
        return cls({word: i for i, word in enumerate(named)}, bounds, places, often, lengths)

    def scores(self, query: str, *, k1: float, b: float) -> NDArray[np.float64]:
        """The BM25 score of every document (n,), as `kg.bm25` gives it.

        >>> Postings.of([["no", "fever"], ["cough"], ["fever"] * 2]).scores("fever", k1=1.5, b=0.75).round(3).tolist()
        [0.431, 0.0, 0.631]
        """
        n = len(self.lengths)
        total = np.zeros(n)
        norm = k1 * (1 - b + b * self.lengths / (self.lengths.mean() or 1.0)) if n else self.lengths
        for word in dict.fromkeys(words(query)):
            i = self.number.get(word)
            if i is not None:
                here = slice(int(self.bounds[i]), int(self.bounds[i + 1]))
                places, often = self.places[here], self.often[here]
                rarity = log(1 + (n - len(places) + 0.5) / (len(places) + 0.5))
                total[places] += rarity * often * (k1 + 1) / (often + norm[places])
        return total


_LOCK = threading.Lock()


@lru_cache(maxsize=4)
def _of(graph: LocalGraph) -> Documents:
    return Documents(graph)


def documents(graph: LocalGraph) -> Documents:
    """The documents of a graph, made once."""
    with _LOCK:
        return _of(graph)


@dataclass(frozen=True)
class ByWords:
    """The `keep` documents with the most telling words of the question and its guess (BM25)."""

    graph: LocalGraph
    keep: int = 1
    k1: float = 1.5
    b: float = 0.75

    def __call__(self, query: Query, links: Sequence[Link]) -> list[Evidence]:
        """The documents that share a word with the question, best first."""
        every = documents(self.graph)
        with _LOCK:
            postings = every.postings
        scores = postings.scores(_asked(query), k1=self.k1, b=self.b)
        return [every.evidence(i, float(scores[i])) for i in _best(scores, self.keep) if scores[i] > 0]


@dataclass(frozen=True)
class ByVector:
    """The `keep` documents nearest to the question."""

    graph: LocalGraph
    encoder: Encoder
    keep: int = 1
    at_least: float = 0.0  # a cosine must be above it

    def __call__(self, query: Query, links: Sequence[Link]) -> list[Evidence]:
        """The documents, nearest first."""
        every = documents(self.graph)
        with _LOCK:
            rows = every.vectors(self.encoder)
        if not len(rows):
            return []
        cosines = rows @ self.encoder([_asked(query)])[0]
        return [every.evidence(i, float(cosines[i])) for i in _best(cosines, self.keep) if cosines[i] > self.at_least]


def _best(scores: NDArray[np.floating], keep: int) -> list[int]:
    """The places of the `keep` highest scores, ties in their order."""
    found: list[int] = np.argsort(-scores, kind="stable")[:keep].tolist()
    return found


def _asked(query: Query) -> str:
    """The question with its options and its guess."""
    return "\n".join([query.expanded, *(text for _, text in query.question.options)])


def _other(triple: Triple, entity: Entity) -> Entity:
    return triple.tail if triple.head == entity else triple.head
