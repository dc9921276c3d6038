"""Tree of thought: a search over thoughts that the model proposes and judges, without evidence."""

from dataclasses import dataclass
from typing import Literal

from kgmed.kit import Kit
from kgmed.pipeline import Pipeline
from kgmed.read.unaided import TreeOfThought
from kgmed.recipes.about import About, Calls, described
from kgmed.recipes.baselines.parts import model, unaided

Preset = Literal["paper"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The numbers of tree of thought."""

    depth: int = 2  # paper, of its open-ended task (creative writing): a plan, then the text
    width: int = 3  # ours: thoughts proposed at a time; 5 in the paper's open-ended task
    thought_tokens: int = 300  # ours, for all thoughts of a level
    answer_tokens: int = 256  # ours


PAPER = Settings()
PRESETS: dict[Preset, Settings] = {"paper": PAPER}


@described(
    About(
        paper="Tree of Thoughts: Deliberate Problem Solving with Large Language Models",
        by="Yao et al.",
        year=2023,
        where="arXiv 2305.10601",
        does="searches in breadth: thoughts are proposed and voted on level by level, then the question is answered",
        calls=Calls(5, 3, 5, "two levels of a proposal and a vote, and the answer; one vote is ours, the paper has 5"),
        ours=(
            "thoughts are proposed together, since a greedy model would repeat a sampled one",
            "one vote a level, one state kept (b = 1); MindMap gives no settings for its row",
        ),
    )
)
def tot(kit: Kit, *, settings: Settings | None = None) -> Pipeline:
    """The method; nothing of the graph is looked up. Raises `BadInput` without a model."""
    s, name = settings or PAPER, "tot"
    read = TreeOfThought(model(kit, name), s.depth, s.width, s.thought_tokens, s.answer_tokens, kit.prompts)
    return unaided(kit, name, read)
