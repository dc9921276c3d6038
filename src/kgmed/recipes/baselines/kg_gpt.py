"""KG-GPT: the question in parts, the relations that each needs, and an answer from their triples."""

from dataclasses import dataclass
from typing import Literal

from kgmed.expand.lines import Lines
from kgmed.kit import Kit
from kgmed.pipeline import Pipeline
from kgmed.rank.bm25 import BM25
from kgmed.recipes.about import About, Calls, described
from kgmed.recipes.baselines.parts import aided, model, reader
from kgmed.retrieve.chosen_relations import ChosenRelations

Preset = Literal["paper"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The numbers of KG-GPT."""

    parts: int = 3  # ours: a bound; the paper cuts as often as there are triples in a question
    keep_relations: int = 3  # ours, for a part; the paper tries several numbers
    relations: int = 200  # ours: triples looked at around one entity
    keep: int = 20  # ours: triples read; the paper reads all
    segment_tokens: int = 200  # ours
    choose_tokens: int = 96  # ours
    answer_tokens: int = 256  # ours


PAPER = Settings()
PRESETS: dict[Preset, Settings] = {"paper": PAPER}


@described(
    About(
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
    )
)
def kg_gpt(kit: Kit, *, settings: Settings | None = None) -> Pipeline:
    """The method on a graph. Raises `BadInput` without a model."""
    s, name = settings or PAPER, "kg-gpt"
    llm = model(kit, name)
    choose = ChosenRelations(kit.graph, llm, kit.linked, s.keep_relations, s.relations, s.choose_tokens, kit.prompts)
    return aided(
        kit,
        name,
        expand=Lines(llm, "kg_gpt/segment", s.parts, s.segment_tokens, kit.prompts),
        retrieve=(choose,),
        rank=(BM25(s.keep),),
        read=reader(kit, llm, s.answer_tokens),
    )
