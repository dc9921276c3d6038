"""BM25 retriever: the document of a disease that shares most words with the question (MindMap's baseline)."""

from dataclasses import dataclass
from typing import Literal

from kgmed.kit import Kit
from kgmed.pipeline import Pipeline
from kgmed.recipes.about import About, Calls, described
from kgmed.recipes.baselines.parts import aided, model, reader
from kgmed.retrieve.documents import ByWords

Preset = Literal["paper"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The numbers of the BM25 retriever."""

    keep: int = 1  # code of MindMap: one document
    k1: float = 1.5  # ours, the usual value
    b: float = 0.75  # ours, the usual value
    answer_tokens: int = 256  # ours


PAPER = Settings()
PRESETS: dict[Preset, Settings] = {"paper": PAPER}


@described(
    About(
        paper="The Probabilistic Relevance Framework: BM25 and Beyond",
        by="Robertson and Zaragoza",
        year=2009,
        where="Foundations and Trends in Information Retrieval 3(4); a baseline of MindMap",
        does="reads the document of the disease that shares most words with the question",
        calls=Calls.always(1, "the answer; MindMap's row"),
        ours=(
            "the documents are made from the graph, without a model; MindMap's were written by one",
            "questions are matched with documents; the released code matches documents with documents",
        ),
    )
)
def bm25(kit: Kit, *, settings: Settings | None = None) -> Pipeline:
    """The method on a graph. Raises `BadInput` without a model."""
    s, name = settings or PAPER, "bm25"
    read = reader(kit, model(kit, name), s.answer_tokens)
    return aided(kit, name, retrieve=(ByWords(kit.graph, s.keep, s.k1, s.b),), read=read)
