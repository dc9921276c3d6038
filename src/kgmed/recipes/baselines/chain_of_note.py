"""Chain-of-Note: the model takes notes on each piece of evidence before it answers."""

from dataclasses import dataclass
from typing import Literal

from kgmed.kit import Kit
from kgmed.models.pairs import LexicalPairs
from kgmed.pipeline import Pipeline
from kgmed.rank.bm25 import BM25
from kgmed.rank.pairs import CrossEncoder
from kgmed.read.notes import NotesReader
from kgmed.recipes.about import About, Calls, described
from kgmed.recipes.baselines.parts import aided, model
from kgmed.retrieve.neighbours import Neighbours

Preset = Literal["paper"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The numbers of Chain-of-Note."""

    relations: int = 500  # ours: triples of one entity at most
    pool: int = 200  # ours: what BM25 leaves for the pair scorer
    keep: int = 10  # HyKGE, topK; 5 passages in the paper
    answer_tokens: int = 700  # ours, notes and answer together


PAPER = Settings()
PRESETS: dict[Preset, Settings] = {"paper": PAPER}


@described(
    About(
        paper="Chain-of-Note",
        by="Yu et al.",
        year=2023,
        where="arXiv 2311.09210",
        does="notes of each piece of evidence what it says and whether it bears on the question, then answers",
        calls=Calls.always(1, "notes and answer in one reply, as in the paper"),
        ours=("triples of one hop in place of Wikipedia passages; prompted, not fine-tuned",),
    )
)
def chain_of_note(kit: Kit, *, settings: Settings | None = None) -> Pipeline:
    """The method on a graph. Raises `BadInput` without a model."""
    s, name = settings or PAPER, "chain-of-note"
    return aided(
        kit,
        name,
        retrieve=(Neighbours(kit.graph, limit=s.relations),),
        rank=(BM25(s.pool), CrossEncoder(kit.pairs or LexicalPairs(kit.encoder), s.keep)),
        read=NotesReader(model(kit, name), s.answer_tokens, kit.prompts),
    )
