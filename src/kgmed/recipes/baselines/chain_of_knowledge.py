"""Chain-of-Knowledge: a rationale whose sentences are corrected by facts, one after the other."""

from dataclasses import dataclass
from typing import Literal

from kgmed.expand.lines import Lines
from kgmed.kit import Kit
from kgmed.models.pairs import LexicalPairs
from kgmed.pipeline import Pipeline
from kgmed.rank.bm25 import BM25
from kgmed.rank.by_line import ByLine
from kgmed.rank.pairs import CrossEncoder
from kgmed.read.corrected import CorrectedReader
from kgmed.recipes.about import About, Calls, described
from kgmed.recipes.baselines.parts import aided, model
from kgmed.retrieve.neighbours import Neighbours

Preset = Literal["paper"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The numbers of Chain-of-Knowledge."""

    relations: int = 500  # ours: triples of one entity at most
    pool: int = 200  # ours: what BM25 leaves for the pair scorer
    steps: int = 2  # code of HyKGE: reasoning in two steps
    keep: int = 5  # ours: triples for each sentence
    rationale_tokens: int = 256  # ours
    correct_tokens: int = 128  # ours
    answer_tokens: int = 256  # ours


PAPER = Settings()
PRESETS: dict[Preset, Settings] = {"paper": PAPER}


@described(
    About(
        paper="Chain-of-Knowledge",
        by="Li et al.",
        year=2023,
        where="ICLR 2024, arXiv 2305.13269",
        does="writes a rationale, corrects each sentence by facts and by those corrected before it, then answers",
        calls=Calls(4, 3, 4, "the rationale, two corrections, the answer; two steps as in HyKGE's code"),
        ours=(
            "always corrects: the paper skips it where sampled answers agree, and models here are greedy",
            "facts are found by linking a sentence and ranking by it; the paper has the model write queries",
        ),
    )
)
def chain_of_knowledge(kit: Kit, *, settings: Settings | None = None) -> Pipeline:
    """The method on a graph. Raises `BadInput` without a model."""
    s, name = settings or PAPER, "chain-of-knowledge"
    llm = model(kit, name)
    best = CrossEncoder(kit.pairs or LexicalPairs(kit.encoder), s.keep)
    return aided(
        kit,
        name,
        expand=Lines(llm, "cok/prepare", s.steps, s.rationale_tokens, kit.prompts),
        retrieve=(Neighbours(kit.graph, limit=s.relations),),
        rank=(BM25(s.pool, over_hypothesis=True), ByLine(best)),
        read=CorrectedReader(llm, s.correct_tokens, s.answer_tokens, kit.prompts),
    )
