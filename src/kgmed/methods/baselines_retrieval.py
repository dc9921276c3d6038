"""Baselines that differ in what they retrieve: BM25 and embedding retrievers, KG retriever, KGRAG, query expansion,
KG-GPT.
"""

import threading
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, partial
from math import log
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kgmed.derived import Arrays, cached_arrays
from kgmed.errors import ModelFailed
from kgmed.graph.base import KnowledgeGraph, LocalGraph
from kgmed.graph.search.paths import Direction
from kgmed.language.text import one_line, prompt_language
from kgmed.methods.baselines_closed import aided, both, model, reader
from kgmed.models.asking import Structured, Tally, strings_schema
from kgmed.models.base import LLM, Encoder
from kgmed.models.replies import known_strings
from kgmed.models.scorers import LexicalPairs, words
from kgmed.pipeline import Pipeline, note
from kgmed.prompts import ANSWER_TOKENS, prompt
from kgmed.records import Entity, Evidence, Link, Query, Triple
from kgmed.registry import About, Calls, methods
from kgmed.steps.expand import Guess, Lines
from kgmed.steps.phrase import NumberedChains, Rewritten
from kgmed.steps.rank import BM25, Rerank, best
from kgmed.steps.retrieve import Neighbours, PathRetriever, other_end, triple_evidence
from kgmed.toolkit import Toolkit

# --- Retriever: a document for each disease, found by words or by vectors (MindMap's BM25 and embedding baselines).
#
# MindMap's documents were written by a language model. Here each is made from the graph alone: the disease, its
# definition, and for each relation the names at the other end, heaviest first. In a graph without diseases every
# entity that is the head of an edge has a document.

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
            groups.setdefault(t.relation.name, {}).setdefault(other_end(t, entity).id, t)
        return {name: list(group.values())[: self.listed] for name, group in groups.items()}

    def _written(self, entity: Entity, rows: dict[str, list[Triple]]) -> str:
        about = self.graph.entity(entity.id).description
        parts = [
            f"{group[0].relation}: {', '.join(other_end(t, entity).name for t in group)}" for group in rows.values()
        ]
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
        return dict(zip(KEPT, (listed, self.bounds, self.places, self.often, self.lengths), strict=True))

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


# --- Retriever: the triples of the relations that a model chooses for each part of a question (KG-GPT, step 2).


KEY = "relations"


@dataclass(frozen=True, slots=True)
class ChosenRelations:
    """For each line of the guess the triples of at most `keep` relations around the entities that it names.

    A line that names no entity is asked about all linked ones. There is nothing to choose, and no call, where there are
    `keep` relations or fewer. Where no choice can be read, all relations are kept, and a note says so.
    """

    graph: KnowledgeGraph
    llm: LLM
    link: Callable[[str], Sequence[Link]]
    keep: int = 3
    limit: int = 200  # triples looked at around one entity
    max_tokens: int = 96
    prompts: Path | None = None
    tally: Tally = field(default_factory=Tally)

    def __call__(self, query: Query, links: Sequence[Link]) -> list[Evidence]:
        """The triples, those of the first line first, each once."""
        every = [link.entity for link in links if not link.mention.negated]
        found: dict[Triple, Entity] = {}
        for line in query.hypothesis.splitlines() or [query.text]:
            named = [link.entity for link in self.link(line) if not link.mention.negated and link.entity in every]
            around = {t: e for e in dict.fromkeys(named or every) for t in self._around(e)}
            wanted = self._chosen(query, line, around)
            found |= {t: e for t, e in around.items() if str(t.relation) in wanted and t not in found}
        return [triple_evidence(t, (entity,)) for t, entity in found.items()]

    def _around(self, entity: Entity) -> list[Triple]:
        return [*self.graph.neighbours(entity.id, limit=self.limit), *self.graph.attributes(entity.id)]

    def _chosen(self, query: Query, line: str, around: dict[Triple, Entity]) -> Sequence[str]:
        """The names of the relations chosen for a line."""
        names = list(dict.fromkeys(str(t.relation) for t in around))
        if len(names) <= self.keep:
            return names
        asked = prompt("kg_gpt/relations", language=prompt_language(query.question), folder=self.prompts)
        parse, shape = partial(known_strings, key=KEY, known=names), strings_schema(KEY, least=1, most=self.keep)
        ask = Structured(self.llm, parse, self.max_tokens, tally=self.tally, schema=shape)
        try:
            return ask(asked.messages(sentence=line, count=str(self.keep), relations="\n".join(names)))[: self.keep]
        except ModelFailed as problem:
            note(f"all {len(names)} relations kept for {line[:40]!r}: {problem}")
            return names


# --- Ranker: the pieces whose similarity to the question stands out among all that was found (as KG-RAG prunes).


@dataclass(frozen=True, slots=True)
class Percentile:
    """Pieces at or above a percentile of the cosines with the question, and of at least `at_least`; at most `keep`.

    The most similar piece is always kept, so that pruning alone never empties the context.
    """

    encoder: Encoder
    percentile: float = 75.0  # KG-RAG (Soman et al. 2024)
    at_least: float = 0.5  # KG-RAG
    keep: int = 20

    def __call__(self, query: Query, evidence: Sequence[Evidence]) -> list[Evidence]:
        """Best first, each with its cosine; ties keep their order."""
        once = list({(e.text, e.id): e for e in evidence}.values())
        if not once:
            return []
        vectors = self.encoder([query.text, *(e.text for e in once)])
        cosines = vectors[1:] @ vectors[0]
        floor = max(float(np.percentile(cosines, self.percentile)), self.at_least)
        return best(once, cosines, min(self.keep, max(1, int(np.count_nonzero(cosines >= floor)))))


# --- BM25 retriever: the document of a disease that shares most words with the question (MindMap's baseline).


@dataclass(frozen=True, slots=True, kw_only=True)
class BM25Settings:
    """The numbers of the BM25 retriever."""

    keep: int = 1  # code of MindMap: one document
    k1: float = 1.5  # ours, the usual value
    b: float = 0.75  # ours, the usual value
    answer_tokens: int = ANSWER_TOKENS  # ours


@methods.register(
    "bm25",
    about=About(
        paper="The Probabilistic Relevance Framework: BM25 and Beyond",
        by="Robertson and Zaragoza",
        year=2009,
        where="Foundations and Trends in Information Retrieval 3(4); a baseline of MindMap",
        does="reads the document of the disease that shares most words with the question",
        calls=Calls.always(1, "the answer; MindMap's row"),
        ours=(
            "the documents are made from the graph, without a model; MindMap's were written by one",
            "questions are matched with documents; the released code matches documents with documents",
        ),
        baseline=True,
    ),
    presets=both(BM25Settings()),
)
def bm25(toolkit: Toolkit, *, settings: BM25Settings | None = None) -> Pipeline:
    """The method on a graph. Raises `BadInput` without a model."""
    s, name = settings or BM25Settings(), "bm25"
    read = reader(toolkit, model(toolkit, name), s.answer_tokens)
    return aided(toolkit, name, retrieve=(ByWords(toolkit.graph, s.keep, s.k1, s.b),), read=read)


# --- Embedding retriever: the document of a disease that is nearest to the question (MindMap's baseline).


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingSettings:
    """The numbers of the embedding retriever."""

    keep: int = 1  # code of MindMap: one document
    at_least: float = 0.0  # ours, of the cosine
    answer_tokens: int = ANSWER_TOKENS  # ours


@methods.register(
    "embedding",
    about=About(
        paper="MindMap's embedding retriever",
        by="Wen et al.",
        year=2024,
        where="ACL 2024, arXiv 2308.09729",
        does="reads the document of the disease whose vector is nearest to that of the question",
        calls=Calls.always(1, "the answer; MindMap's row"),
        ours=(
            "the documents are made from the graph, without a model; MindMap's were written by one",
            "the toolkit's encoder over the first 300 characters; MindMap takes the mean of word2vec vectors",
        ),
        baseline=True,
        encoder="word2vec",
    ),
    presets=both(EmbeddingSettings()),
)
def embedding(toolkit: Toolkit, *, settings: EmbeddingSettings | None = None) -> Pipeline:
    """The method on a graph; its documents are encoded once and kept. Raises `BadInput` without a model."""
    s, name = settings or EmbeddingSettings(), "embedding"
    read = reader(toolkit, model(toolkit, name), s.answer_tokens)
    return aided(toolkit, name, retrieve=(ByVector(toolkit.graph, toolkit.encoder, s.keep, s.at_least),), read=read)


# --- KG retriever: the first shortest path between the entities of a question, in sentences (MindMap's baseline).


@dataclass(frozen=True, slots=True, kw_only=True)
class KGRetrieverSettings:
    """The numbers of the KG retriever."""

    hops: int = 5  # code of MindMap
    keep: int = 1  # code of MindMap: the first path alone
    direction: Direction = "both"  # ours: a graph need not state inverse relations; code: "out"
    rewrite: bool = True  # paper and code: a model puts the path into sentences
    rewrite_tokens: int = 300  # ours
    answer_tokens: int = ANSWER_TOKENS  # ours


@methods.register(
    "kg-retriever",
    about=About(
        paper="MindMap's KG retriever",
        by="Wen et al.",
        year=2024,
        where="ACL 2024, arXiv 2308.09729",
        does="reads the first shortest path between the question's entities, put into a sentence by the model",
        calls=Calls.always(2, "the sentence and the answer; code of MindMap, whose extraction was done beforehand"),
        ours=("entities are found by the graph's names, not by a model; with one entity there is no path",),
        baseline=True,
    ),
    presets=both(KGRetrieverSettings()),
)
def kg_retriever(toolkit: Toolkit, *, settings: KGRetrieverSettings | None = None) -> Pipeline:
    """The method on a graph. Raises `BadInput` without a model."""
    s, name = settings or KGRetrieverSettings(), "kg-retriever"
    llm = model(toolkit, name)
    return aided(
        toolkit,
        name,
        retrieve=(PathRetriever(toolkit.graph, hops=s.hops, keep=s.keep, direction=s.direction),),
        phrase=Rewritten(llm, max_tokens=s.rewrite_tokens, prompts=toolkit.prompts) if s.rewrite else NumberedChains(),
        read=reader(toolkit, llm, s.answer_tokens),
    )


# --- KGRAG: the triples around the question's entities that are most similar to it.


@dataclass(frozen=True, slots=True, kw_only=True)
class KGRAGSettings:
    """The numbers of KGRAG."""

    relations: int = 500  # ours: triples of one entity at most
    percentile: float = 75.0  # paper, of the similarities to the question
    at_least: float = 0.5  # paper, of the cosine of its own encoder
    keep: int = 20  # ours: a bound
    answer_tokens: int = ANSWER_TOKENS  # ours


@methods.register(
    "kgrag",
    about=About(
        paper="KG-RAG",
        by="Soman et al.",
        year=2024,
        where="Bioinformatics 40(9), arXiv 2311.17330",
        does="reads the triples around the question's entities whose similarity to it stands out",
        calls=Calls.always(1, "the answer; the paper asks once more for the diseases, HyKGE's row recognises them"),
        ours=(
            "entities are found by the graph's names, as in HyKGE's row, not by a model",
            "the most similar triple is read even where it is below the threshold",
        ),
        baseline=True,
    ),
    presets=both(KGRAGSettings()),
)
def kgrag(toolkit: Toolkit, *, settings: KGRAGSettings | None = None) -> Pipeline:
    """The method on a graph. Raises `BadInput` without a model."""
    s, name = settings or KGRAGSettings(), "kgrag"
    return aided(
        toolkit,
        name,
        retrieve=(Neighbours(toolkit.graph, limit=s.relations),),
        rank=(Percentile(toolkit.encoder, s.percentile, s.at_least, s.keep),),
        read=reader(toolkit, model(toolkit, name), s.answer_tokens),
    )


# --- Query expansion: the model's background knowledge helps to search, and no reader is shown it.


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryExpansionSettings:
    """The numbers of query expansion."""

    relations: int = 500  # ours: triples of one entity at most
    pool: int = 200  # ours: what BM25 leaves for the pair scorer
    keep: int = 10  # HyKGE, topK
    background_tokens: int = 300  # ours
    answer_tokens: int = ANSWER_TOKENS  # ours


@methods.register(
    "qe",
    about=About(
        paper="Query Expansion by Prompting Large Language Models",
        by="Jagerman et al.",
        year=2023,
        where="arXiv 2305.03653",
        does="searches with the question and with background that the model writes without answering",
        calls=Calls.always(2, "the background and the answer; HyKGE's row"),
        ours=("triples of one hop in place of web passages; the pair scorer ranks them by question and background",),
        baseline=True,
    ),
    presets=both(QueryExpansionSettings()),
)
def qe(toolkit: Toolkit, *, settings: QueryExpansionSettings | None = None) -> Pipeline:
    """The method on a graph. Raises `BadInput` without a model."""
    s, name = settings or QueryExpansionSettings(), "qe"
    llm = model(toolkit, name)
    scorer = toolkit.pairs or LexicalPairs(toolkit.encoder)
    return aided(
        toolkit,
        name,
        expand=Guess(llm, name="qe/background", max_tokens=s.background_tokens, prompts=toolkit.prompts),
        retrieve=(Neighbours(toolkit.graph, limit=s.relations),),
        rank=(BM25(s.pool, over_hypothesis=True), Rerank(scorer, s.keep, over_hypothesis=True)),
        read=reader(toolkit, llm, s.answer_tokens),
    )


# --- KG-GPT: the question in parts, the relations that each needs, and an answer from their triples.


@dataclass(frozen=True, slots=True, kw_only=True)
class KGGPTSettings:
    """The numbers of KG-GPT."""

    parts: int = 3  # ours: a bound; the paper cuts as often as there are triples in a question
    keep_relations: int = 3  # ours, for a part; the paper tries several numbers
    relations: int = 200  # ours: triples looked at around one entity
    keep: int = 20  # ours: triples read; the paper reads all
    segment_tokens: int = 200  # ours
    choose_tokens: int = 96  # ours
    answer_tokens: int = ANSWER_TOKENS  # ours


@methods.register(
    "kg-gpt",
    about=About(
        paper="KG-GPT",
        by="Kim et al.",
        year=2023,
        where="Findings of EMNLP 2023, arXiv 2310.11220",
        does="cuts the question into parts, has relations chosen for each, and answers from their triples",
        calls=Calls(5, 2, 5, "the parts, a choice for each of at most three, the answer; the bound is ours"),
        ours=(
            "no choice is asked for where there are no more relations than would be kept",
            "without worked examples; the triples read are the best of BM25",
        ),
        baseline=True,
    ),
    presets=both(KGGPTSettings()),
)
def kg_gpt(toolkit: Toolkit, *, settings: KGGPTSettings | None = None) -> Pipeline:
    """The method on a graph. Raises `BadInput` without a model."""
    s, name = settings or KGGPTSettings(), "kg-gpt"
    llm = model(toolkit, name)
    choose = ChosenRelations(
        toolkit.graph, llm, toolkit.linked, s.keep_relations, s.relations, s.choose_tokens, toolkit.prompts
    )
    return aided(
        toolkit,
        name,
        expand=Lines(llm, "kg_gpt/segment", s.parts, s.segment_tokens, toolkit.prompts),
        retrieve=(choose,),
        rank=(BM25(s.keep),),
        read=reader(toolkit, llm, s.answer_tokens),
    )
