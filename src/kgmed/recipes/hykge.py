"""HyKGE (Jiang et al. 2025, arXiv 2312.15883): chains between the entities of question and hypothesis, reranked.

Two calls of the model: the hypothesis, which serves to search and to rank and is never shown to the reader, and the
answer. Temperatures are the model's own: the paper samples at 0.6.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from kgmed.expand.guess import Guess
from kgmed.kg.fuzzy import Fuzzy
from kgmed.kit import Kit
from kgmed.link.by_name import Spelled
from kgmed.link.cascade import Cascade
from kgmed.link.dense import AGREEMENT, Dense
from kgmed.models.pairs import LexicalPairs
from kgmed.phrase.arrows import Arrows
from kgmed.pipeline import Pipeline
from kgmed.rank.bm25 import BM25
from kgmed.rank.first import First
from kgmed.rank.pairs import Aggregate, Fragments, Unit
from kgmed.read.facts import facts
from kgmed.read.llm import LLMReader
from kgmed.recipes.about import About, Calls, described
from kgmed.retrieve.chains import Chains
from kgmed.retrieve.found import Found
from kgmed.retrieve.neighbours import Neighbours
from kgmed.stages import PairScorer, Ranker, Recognizer, Retriever
from kgmed.types import Link, Mention, Query

Preset = Literal["paper", "code"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The numbers of HyKGE. Those of the paper stand in 4.1.4 and A.2.3."""

    hypothesis: bool = True  # Table 2: without = "w/o HO"
    hypothesis_tokens: int = 500  # paper and code
    similar: float = 0.7  # paper, delta of linking; 0.6 in the code
    agreement: float = (
        AGREEMENT  # ours, of the words that differ (link/dense.py); 0 = the cosine alone, as in the paper
    )
    chains: bool = True  # Table 2: without = "w/o chains"; ours: the triples of each entity in their place
    hops: int = 3  # paper, k; the code reads 3 and goes 2
    per_pair: int = 50  # ours: the paper's reranker sees every chain of a pair
    alone: Literal["never", "alone", "always"] = "alone"  # ours: triples of an entity that no chain joins; code: always
    relations: int = 100  # ours: such triples of one entity at most
    rerank: bool = True  # Table 2: without = "w/o reranker", the first `keep` in the order found
    pool: int = 200  # ours: what BM25 leaves for the pair scorer; 0 = all, as in the paper
    fragments: bool = True  # Table 2: without = "w/o fragment", the question and the hypothesis as a whole
    window: int = 10  # paper, lc in words; 35 characters in the code
    overlap: int = 4  # paper, oc in words; 15 characters in the code
    window_cjk: int = 35  # code: characters, where words are not told apart
    overlap_cjk: int = 15  # code
    unit: Unit = "script"  # ours: the paper does not name its unit
    aggregate: Aggregate = "max"  # what the code means to do
    keep: int = 10  # paper, topK; 11 in the code
    descriptions: bool = True  # Table 2: without = "w/o description"
    described_from: float = 0.0  # paper: all; 0.2 in the code
    answer_tokens: int = 512  # ours


PAPER = Settings()
PRESETS: dict[Preset, Settings] = {
    "paper": PAPER,
    "code": replace(
        PAPER, similar=0.6, hops=2, alone="always", window=35, overlap=15, unit="char", keep=11, described_from=0.2
    ),
}


@dataclass(frozen=True, slots=True)
class WithOptions:
    """A recogniser over question, options and hypothesis, in this order, none of them cut."""

    recognize: Recognizer

    def __call__(self, query: Query, /) -> list[Mention]:
        """The mentions; those in the question keep their places."""
        asked = query.question
        text = "\n".join([asked.text, *(option for _, option in asked.options)])
        return self.recognize(Query(replace(asked, text=text), query.hypothesis))


@dataclass(frozen=True, slots=True)
class WithSingles:
    """The chains and, for linked entities that none joins to another, what `around` finds.

    The paper leaves these without evidence, and so every question with one entity.
    """

    chains: Chains
    around: Retriever

    def __call__(self, query: Query, links: Sequence[Link]) -> Found:
        """The chains first, with their notes."""
        chains = self.chains(query, links)
        joined = {entity for e in chains for entity in e.about}
        single = [link for link in links if link.entity not in joined]
        return Found([*chains, *self.around(query, single)], notes=chains.notes)


@described(
    About(
        paper="HyKGE",
        by="Jiang et al.",
        year=2025,
        where="ACL 2025, arXiv 2312.15883",
        does="chains between the entities of question and hypothesis, reranked by fragments, read by a model",
        calls=Calls.always(2, "the hypothesis and the answer; the paper's"),
        ours=(
            "without a trained tagger names and phrases of the graph stand in, without a reranker words and vectors",
            "an entity that no chain joins brings its triples; a link by vector must agree in the words that differ",
        ),
        needs_model=False,
    )
)
def hykge(
    kit: Kit, *, preset: Preset = "paper", settings: Settings | None = None, pairs: PairScorer | None = None
) -> Pipeline:
    """The method on a graph; `settings` in place of the preset's, `pairs` = the reranker.

    Without one, `LexicalPairs` stands in. Without a language model there is no hypothesis, and the ranked chains are
    the answer.
    """
    s = settings or PRESETS[preset]
    base = Pipeline(
        recognize=WithOptions(kit.tagger or kit.recognize),
        link=_linker(kit, s),
        retrieve=_retrievers(kit, s),
        rank=_rankers(s, pairs or kit.pairs or LexicalPairs(kit.encoder)),
        phrase=Arrows(kit.graph, s.descriptions, kit.encoder if s.described_from > 0 else None, s.described_from),
        read=facts,
        name="hykge" if kit.llm and s.hypothesis else "hykge without hypothesis",
        graph=kit.graph.label,
    )
    if kit.llm is None:
        return base
    asked = replace(
        base,
        read=LLMReader(kit.llm, name="hykge/reader", max_tokens=s.answer_tokens, prompts=kit.prompts),
        check=kit.check,
        otherwise=facts,
    )
    guess = Guess(kit.llm, name="hykge/hypothesis", max_tokens=s.hypothesis_tokens, prompts=kit.prompts)
    return replace(asked, expand=guess) if s.hypothesis else asked


def _linker(kit: Kit, s: Settings) -> Cascade:
    """By name, else by the nearest vector."""
    near = Dense(kit.graph, kit.encoder, Fuzzy(kit.graph), at_least=s.similar, agreement=s.agreement)
    return Cascade((Spelled(kit.graph), near))


def _retrievers(kit: Kit, s: Settings) -> tuple[Retriever, ...]:
    """Chains and, as the settings say, triples of single entities."""
    chains = Chains(kit.graph, hops=s.hops, per_pair=s.per_pair)
    around = Neighbours(kit.graph, limit=s.relations)
    ways: dict[str, tuple[Retriever, ...]] = {
        "never": (chains,),
        "alone": (WithSingles(chains, around),),
        "always": (chains, around),
    }
    return ways[s.alone] if s.chains else (around,)


def _rankers(s: Settings, pairs: PairScorer) -> tuple[Ranker, ...]:
    """A first choice by words, where there are many chains, then the fragment matrix."""
    if not s.rerank:
        return (First(s.keep),)
    first: tuple[Ranker, ...] = (BM25(s.pool, over_hypothesis=True),) if s.pool else ()
    numbers = (s.window, s.overlap, s.window_cjk, s.overlap_cjk) if s.fragments else (_ALL, 0, _ALL, 0)
    return (*first, Fragments(pairs, s.keep, *numbers, unit=s.unit, aggregate=s.aggregate))


_ALL = 1 << 30  # a window that holds any text
