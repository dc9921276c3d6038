"""HippoRAG 2 (Gutiérrez et al. 2025, arXiv 2502.14802) on a graph that is there: triples like the question, those that
a model recognises as relevant, and a personalised PageRank from their entities.

The paper, step by step, and the field of the pipeline (`hippo_rag`) that does it:

- `recognize`, `link`: entities of the question; the paper has none, it compares with the triples of the whole graph.
- `retrieve` (`PageRanked`): the triples most similar to the question; of them those that a model finds relevant
  (recognition memory); a personalised PageRank from their entities, each by the mean similarity of its triples, and
  a little from passages by their own; where the model leaves no triple, the most similar passages.
- `read`: the answer from the passages that are reached most.

A medical graph has no passages: here each triple is its own. The walk passes along a triple with the probability
w(h) / d(h) + w(t) / d(t), w being the PageRank of its ends and d their edges, as a passage between them would get it.
Silent are the paper and its code on passages of equal rank (here the first of the graph). A reply of the recognition
that cannot be read leaves no triple, as in the code; by preset safe all of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kgmed.errors import ModelFailed
from kgmed.graph.base import LocalGraph
from kgmed.graph.search.scan import subgraph
from kgmed.graph.search.walk import Transition, walk
from kgmed.methods.baselines_closed import aided, both, model, reader
from kgmed.models.base import Encoder
from kgmed.pipeline import Pipeline, note
from kgmed.prompts import ANSWER_TOKENS, task
from kgmed.records import Evidence, Link, Query
from kgmed.registry import About, Calls, methods
from kgmed.steps.rank import Helpful, Similarity
from kgmed.steps.retrieve import Neighbours, triple_evidence
from kgmed.toolkit import Toolkit

# --- Retriever: the triples along which a personalised PageRank passes most.


@dataclass(frozen=True, slots=True)
class PageRanked:
    """The `keep` triples that the walk from the recognised ones passes along most; all warnings, unless as published.

    Evidence: kind "triple", score = the probability that a step of the walk goes along it.
    """

    graph: LocalGraph
    encoder: Encoder
    helpful: Helpful
    keep: int = 20
    triples: int = 5
    damping: float = 0.5
    passage: float = 0.05
    relations: int = 500
    size: int = 2000

    def __call__(self, query: Query, links: Sequence[Link]) -> list[Evidence]:
        """The triples, best first."""
        near = Neighbours(self.graph, limit=self.relations, attributes=False)(query, links)
        if not near:
            return []
        alike = Similarity(self.encoder, len(near))(query, near)
        nearest = alike[: self.triples]
        try:
            kept = self.helpful(query, nearest)
        except ModelFailed as problem:
            kept = [] if task().published else nearest
            note(f"{f'all {len(kept)} triples' if kept else 'no triple'} kept: {problem}")
        if not kept:
            note("no triple was recognised as relevant: the most similar ones are read")
            return self._with_warnings(alike[: self.keep], alike)
        return self._with_warnings(self._walked(alike, kept), alike)

    def _with_warnings(self, found: list[Evidence], near: Sequence[Evidence]) -> list[Evidence]:
        """What was found and, unless as published, what the graph warns of at the entities of the question."""
        said = {e.text for e in found}
        return [*found, *(e for e in near if e.is_safety and e.text not in said and not task().published)]

    def _walked(self, near: Sequence[Evidence], kept: Sequence[Evidence]) -> list[Evidence]:
        """The triples around, by the walk; `near` have their similarity as score."""
        seeds: dict[int, list[float]] = {}
        for piece in kept:
            for node in self._ends(piece):
                seeds.setdefault(node, []).append(max(piece.score, 1e-6))
        weight = {node: sum(own) / len(own) for node, own in seeds.items()}
        for piece in near:  # each triple is a passage between its ends
            for node in self._ends(piece):
                weight[node] = weight.get(node, 0.0) + self.passage * max(piece.score, 0.0) / 2
        cut = subgraph(self.graph.adjacency, list(weight), size=self.size)
        restart = np.zeros((1, cut.adjacency.nodes))
        restart[0, cut.local(list(weight))] = list(weight.values())
        transition = Transition.of(cut.adjacency)
        rank = walk(transition, restart / restart.sum(), c=self.damping).scores[0]
        share = rank / np.maximum(transition.weight, 1)
        head = np.repeat(np.arange(cut.adjacency.nodes), np.diff(cut.adjacency.out.indptr))
        passed = share[head] + share[cut.adjacency.out.neighbour]
        found: dict[str, Evidence] = {}  # by their words: databases may say the same
        for i in np.argsort(-passed, kind="stable").tolist():
            if len(found) == self.keep:
                break
            triple = self.graph.triple(int(cut.edges[i]))
            piece = triple_evidence(triple, (triple.head,), float(passed[i]))
            found.setdefault(piece.text, piece)
        return list(found.values())

    def _ends(self, piece: Evidence) -> list[int]:
        return [self.graph.number(e.id) for t in piece.triples for e in (t.head, t.tail)]


# --- The method.


@dataclass(frozen=True, slots=True, kw_only=True)
class HippoRAGSettings:
    """The numbers of HippoRAG 2."""

    triples: int = 5  # paper: triples that are linked to a question
    damping: float = 0.5  # paper and code, of PageRank
    passage: float = 0.05  # paper: how much less a passage's own similarity weighs
    keep: int = 20  # ours: triples read; the paper reads 5 passages
    relations: int = 500  # ours: triples of one entity that are compared
    size: int = 2000  # ours: nodes around the seeds that are walked on
    recognise_tokens: int = 96  # ours
    answer_tokens: int = ANSWER_TOKENS  # ours


@methods.register(
    "hippo-rag",
    about=About(
        paper="From RAG to Memory: Non-Parametric Continual Learning for Large Language Models (HippoRAG 2)",
        by="Gutiérrez et al.",
        year=2025,
        where="ICML 2025, arXiv 2502.14802",
        does="walks from the triples that a model recognises as relevant, by personalised PageRank",
        calls=Calls(2, 1, 2, "which triples help, and the answer; the paper's steps"),
        ours=(
            "the graph is the one that is asked, not extracted from passages; each triple stands for a passage",
            "triples around the question's entities are compared with it, not all of the graph",
            "edges of synonyms by vectors are not added: names that mean the same are one entity here",
        ),
        needs=frozenset({"model", "local_graph"}),
        baseline=True,
    ),
    presets=both(HippoRAGSettings()),
)
def hippo_rag(toolkit: Toolkit, *, settings: HippoRAGSettings | None = None) -> Pipeline:
    """The method on a graph. Raises `BadInput` without a model."""
    s, name = settings or HippoRAGSettings(), "hippo-rag"
    llm = model(toolkit, name)
    helpful = Helpful(llm, s.triples, s.recognise_tokens, toolkit.prompts)
    ranked = PageRanked(
        toolkit.graph, toolkit.encoder, helpful, s.keep, s.triples, s.damping, s.passage, s.relations, s.size
    )
    return aided(toolkit, name, retrieve=(ranked,), read=reader(toolkit, llm, s.answer_tokens))
