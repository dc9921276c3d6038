"""SuRe: a summary of the evidence for each possible answer; the best supported one is the answer."""

from dataclasses import dataclass
from typing import Literal

from kgmed.kit import Kit
from kgmed.models.pairs import LexicalPairs
from kgmed.pipeline import Pipeline
from kgmed.rank.bm25 import BM25
from kgmed.rank.pairs import CrossEncoder
from kgmed.read.summarised import SummarisedReader
from kgmed.recipes.about import About, Calls, described
from kgmed.recipes.baselines.parts import aided, model
from kgmed.retrieve.neighbours import Neighbours

Preset = Literal["paper"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The numbers of SuRe."""

    relations: int = 500  # ours: triples of one entity at most
    pool: int = 200  # ours: what BM25 leaves for the pair scorer
    keep: int = 10  # paper: ten passages
    candidates: int = 2  # paper, K
    candidate_tokens: int = 96  # ours
    summary_tokens: int = 200  # ours
    check_tokens: int = 32  # ours


PAPER = Settings()
PRESETS: dict[Preset, Settings] = {"paper": PAPER}


@described(
    About(
        paper="SuRe",
        by="Kim et al.",
        year=2024,
        where="ICLR 2024, arXiv 2404.13081",
        does="summarises the evidence for each candidate, judges and compares the summaries, and takes the best",
        calls=Calls(7, 3, 7, "candidates, 2 summaries, 2 judgements, 2 comparisons (both orders); the paper, K = 2"),
        ours=("triples of one hop in place of Wikipedia passages; the answer is the candidate with its summary",),
    )
)
def sure(kit: Kit, *, settings: Settings | None = None) -> Pipeline:
    """The method on a graph. Raises `BadInput` without a model."""
    s, name = settings or PAPER, "sure"
    tokens = (s.candidate_tokens, s.summary_tokens, s.check_tokens)
    return aided(
        kit,
        name,
        retrieve=(Neighbours(kit.graph, limit=s.relations),),
        rank=(BM25(s.pool), CrossEncoder(kit.pairs or LexicalPairs(kit.encoder), s.keep)),
        read=SummarisedReader(model(kit, name), s.candidates, *tokens, kit.prompts),
    )
