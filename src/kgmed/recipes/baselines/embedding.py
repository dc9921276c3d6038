"""Embedding retriever: the document of a disease that is nearest to the question (MindMap's baseline)."""

from dataclasses import dataclass
from typing import Literal

from kgmed.kit import Kit
from kgmed.pipeline import Pipeline
from kgmed.recipes.about import About, Calls, described
from kgmed.recipes.baselines.parts import aided, model, reader
from kgmed.retrieve.documents import ByVector

Preset = Literal["paper"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The numbers of the embedding retriever."""

    keep: int = 1  # code of MindMap: one document
    at_least: float = 0.0  # ours, of the cosine
    answer_tokens: int = 256  # ours


PAPER = Settings()
PRESETS: dict[Preset, Settings] = {"paper": PAPER}


@described(
    About(
        paper="MindMap's embedding retriever",
        by="Wen et al.",
        year=2024,
        where="ACL 2024, arXiv 2308.09729",
        does="reads the document of the disease whose vector is nearest to that of the question",
        calls=Calls.always(1, "the answer; MindMap's row"),
        ours=(
            "the documents are made from the graph, without a model; MindMap's were written by one",
            "the kit's encoder over the first 300 characters; MindMap takes the mean of word2vec vectors",
        ),
    )
)
def embedding(kit: Kit, *, settings: Settings | None = None) -> Pipeline:
    """The method on a graph; its documents are encoded once and kept. Raises `BadInput` without a model."""
    s, name = settings or PAPER, "embedding"
    read = reader(kit, model(kit, name), s.answer_tokens)
    return aided(kit, name, retrieve=(ByVector(kit.graph, kit.encoder, s.keep, s.at_least),), read=read)
