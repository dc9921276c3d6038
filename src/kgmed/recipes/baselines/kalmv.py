"""KALMV: an answer is checked, and asked for again with other evidence or in other words."""

from dataclasses import dataclass
from typing import Literal

from kgmed.kit import Kit
from kgmed.models.pairs import LexicalPairs
from kgmed.pipeline import Pipeline
from kgmed.rank.bm25 import BM25
from kgmed.rank.pairs import CrossEncoder
from kgmed.read.verified import VerifiedReader
from kgmed.recipes.about import About, Calls, described
from kgmed.recipes.baselines.parts import aided, model
from kgmed.retrieve.neighbours import Neighbours

Preset = Literal["paper"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The numbers of KALMV."""

    relations: int = 500  # ours: triples of one entity at most
    pool: int = 200  # ours: what BM25 leaves for the pair scorer
    rounds: int = 3  # ours: answers tried at most
    batch: int = 10  # HyKGE, topK: triples shown at a time
    answer_tokens: int = 256  # ours
    check_tokens: int = 32  # ours


PAPER = Settings()
PRESETS: dict[Preset, Settings] = {"paper": PAPER}


@described(
    About(
        paper="Knowledge-Augmented Language Model Verification",
        by="Baek et al.",
        year=2023,
        where="EMNLP 2023, arXiv 2310.12836",
        does="checks whether evidence and answer fit, and takes other evidence or another answer where they do not",
        calls=Calls(2, 2, 6, "an answer and its check, at most three times; the bound is ours"),
        ours=(
            "the model itself checks; the paper trains a small verifier and asks it with several instructions",
            "abstains where no answer passes; other evidence = the next in the ranking",
        ),
    )
)
def kalmv(kit: Kit, *, settings: Settings | None = None) -> Pipeline:
    """The method on a graph. Raises `BadInput` without a model."""
    s, name = settings or PAPER, "kalmv"
    llm = model(kit, name)
    best = CrossEncoder(kit.pairs or LexicalPairs(kit.encoder), s.rounds * s.batch)
    return aided(
        kit,
        name,
        retrieve=(Neighbours(kit.graph, limit=s.relations),),
        rank=(BM25(s.pool), best),
        read=VerifiedReader(llm, s.rounds, s.batch, s.answer_tokens, s.check_tokens, kit.prompts),
    )
