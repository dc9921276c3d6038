"""Query expansion: the model's background knowledge helps to search, and no reader is shown it."""

from dataclasses import dataclass
from typing import Literal

from kgmed.expand.guess import Guess
from kgmed.kit import Kit
from kgmed.models.pairs import LexicalPairs
from kgmed.pipeline import Pipeline
from kgmed.rank.bm25 import BM25
from kgmed.rank.pairs import CrossEncoder
from kgmed.recipes.about import About, Calls, described
from kgmed.recipes.baselines.parts import aided, model, reader
from kgmed.retrieve.neighbours import Neighbours

Preset = Literal["paper"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The numbers of query expansion."""

    relations: int = 500  # ours: triples of one entity at most
    pool: int = 200  # ours: what BM25 leaves for the pair scorer
    keep: int = 10  # HyKGE, topK
    background_tokens: int = 300  # ours
    answer_tokens: int = 256  # ours


PAPER = Settings()
PRESETS: dict[Preset, Settings] = {"paper": PAPER}


@described(
    About(
        paper="Query Expansion by Prompting Large Language Models",
        by="Jagerman et al.",
        year=2023,
        where="arXiv 2305.03653",
        does="searches with the question and with background that the model writes without answering",
        calls=Calls.always(2, "the background and the answer; HyKGE's row"),
        ours=("triples of one hop in place of web passages; the pair scorer ranks them by question and background",),
    )
)
def qe(kit: Kit, *, settings: Settings | None = None) -> Pipeline:
    """The method on a graph. Raises `BadInput` without a model."""
    s, name = settings or PAPER, "qe"
    llm = model(kit, name)
    scorer = kit.pairs or LexicalPairs(kit.encoder)
    return aided(
        kit,
        name,
        expand=Guess(llm, name="qe/background", max_tokens=s.background_tokens, prompts=kit.prompts),
        retrieve=(Neighbours(kit.graph, limit=s.relations),),
        rank=(BM25(s.pool, over_hypothesis=True), CrossEncoder(scorer, s.keep, over_hypothesis=True)),
        read=reader(kit, llm, s.answer_tokens),
    )
