"""Baselines that differ in what they retrieve: BM25 and embedding retrievers, KG retriever, KGRAG, query expansion,
KG-GPT.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np

from kgmed.errors import ModelFailed
from kgmed.graph.base import KnowledgeGraph
from kgmed.graph.search.paths import Direction
from kgmed.language.text import prompt_language
from kgmed.methods.baselines_closed import aided, both, model, reader
from kgmed.models.asking import Structured, Tally, strings_schema
from kgmed.models.base import LLM, Encoder
from kgmed.models.replies import known_strings
from kgmed.models.scorers import LexicalPairs
from kgmed.pipeline import Pipeline, note
from kgmed.prompts import ANSWER_TOKENS, prompt
from kgmed.records import Entity, Evidence, Link, Query, Triple
from kgmed.registry import About, Calls, methods
from kgmed.steps.documents import ByVector, ByWords
from kgmed.steps.expand import Guess, Lines
from kgmed.steps.phrase import NumberedChains, Rewritten
from kgmed.steps.rank import BM25, Rerank, best
from kgmed.steps.retrieve import Neighbours, PathRetriever
from kgmed.toolkit import Toolkit

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
        return [_evidence(t, entity) for t, entity in found.items()]

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


def _evidence(triple: Triple, entity: Entity) -> Evidence:
    text = f"{triple.head.name} — {triple.relation} → {triple.tail.name}"
    return Evidence(text, "triple", (triple,), (entity,), triple.weight)


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
        fitting = int(np.count_nonzero(cosines >= floor))
        return best(once, cosines, min(self.keep, max(1, fitting)))


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
