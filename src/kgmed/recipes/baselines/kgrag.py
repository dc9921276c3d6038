"""KGRAG: the triples around the question's entities that are most similar to it."""

from dataclasses import dataclass
from typing import Literal

from kgmed.kit import Kit
from kgmed.pipeline import Pipeline
from kgmed.rank.percentile import Percentile
from kgmed.recipes.about import About, Calls, described
from kgmed.recipes.baselines.parts import aided, model, reader
from kgmed.retrieve.neighbours import Neighbours

Preset = Literal["paper"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The numbers of KGRAG."""

    relations: int = 500  # ours: triples of one entity at most
    percentile: float = 75.0  # paper, of the similarities to the question
    at_least: float = 0.5  # paper, of the cosine of its own encoder
    keep: int = 20  # ours: a bound
    answer_tokens: int = 256  # ours


PAPER = Settings()
PRESETS: dict[Preset, Settings] = {"paper": PAPER}


@described(
    About(
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
    )
)
def kgrag(kit: Kit, *, settings: Settings | None = None) -> Pipeline:
    """The method on a graph. Raises `BadInput` without a model."""
    s, name = settings or PAPER, "kgrag"
    return aided(
        kit,
        name,
        retrieve=(Neighbours(kit.graph, limit=s.relations),),
        rank=(Percentile(kit.encoder, s.percentile, s.at_least, s.keep),),
        read=reader(kit, model(kit, name), s.answer_tokens),
    )
