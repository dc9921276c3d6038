"""KG retriever: the first shortest path between the entities of a question, in sentences (MindMap's baseline)."""

from dataclasses import dataclass
from typing import Literal

from kgmed.kg.search.shortest import Direction
from kgmed.kit import Kit
from kgmed.phrase.evidence_chains import Chains
from kgmed.phrase.rewritten import Rewritten
from kgmed.pipeline import Pipeline
from kgmed.recipes.about import About, Calls, described
from kgmed.recipes.baselines.parts import aided, model, reader
from kgmed.retrieve.paths import Paths

Preset = Literal["paper"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The numbers of the KG retriever."""

    hops: int = 5  # code of MindMap
    keep: int = 1  # code of MindMap: the first path alone
    direction: Direction = "both"  # ours: a graph need not state inverse relations; code: "out"
    rewrite: bool = True  # paper and code: a model puts the path into sentences
    rewrite_tokens: int = 300  # ours
    answer_tokens: int = 256  # ours


PAPER = Settings()
PRESETS: dict[Preset, Settings] = {"paper": PAPER}


@described(
    About(
        paper="MindMap's KG retriever",
        by="Wen et al.",
        year=2024,
        where="ACL 2024, arXiv 2308.09729",
        does="reads the first shortest path between the question's entities, put into a sentence by the model",
        calls=Calls.always(2, "the sentence and the answer; code of MindMap, whose extraction was done beforehand"),
        ours=("entities are found by the graph's names, not by a model; with one entity there is no path",),
    )
)
def kg_retriever(kit: Kit, *, settings: Settings | None = None) -> Pipeline:
    """The method on a graph. Raises `BadInput` without a model."""
    s, name = settings or PAPER, "kg-retriever"
    llm = model(kit, name)
    return aided(
        kit,
        name,
        retrieve=(Paths(kit.graph, hops=s.hops, keep=s.keep, direction=s.direction),),
        phrase=Rewritten(llm, max_tokens=s.rewrite_tokens, prompts=kit.prompts) if s.rewrite else Chains(),
        read=reader(kit, llm, s.answer_tokens),
    )
