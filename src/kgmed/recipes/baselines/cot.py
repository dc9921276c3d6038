"""Chain of thought: the model reasons step by step before it answers, without evidence."""

from dataclasses import dataclass
from typing import Literal

from kgmed.kit import Kit
from kgmed.pipeline import Pipeline
from kgmed.read.unaided import ChainOfThought
from kgmed.recipes.about import About, Calls, described
from kgmed.recipes.baselines.parts import model, unaided

Preset = Literal["paper"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The numbers of chain of thought."""

    answer_tokens: int = 512  # ours, thoughts and answer together


PAPER = Settings()
PRESETS: dict[Preset, Settings] = {"paper": PAPER}


@described(
    About(
        paper="Chain-of-Thought Prompting Elicits Reasoning in Large Language Models",
        by="Wei et al.",
        year=2022,
        where="arXiv 2201.11903",
        does="asks the model to think step by step and then to answer",
        calls=Calls(1, 1, 2, "thoughts and answer in one reply, as in the paper; asked for the answer if it has none"),
        ours=(
            "an instruction in place of worked examples, as in Kojima et al. 2022 (arXiv 2205.11916)",
            "thoughts that come to no answer are followed by a question for it, as in Kojima et al.",
        ),
    )
)
def cot(kit: Kit, *, settings: Settings | None = None) -> Pipeline:
    """The method; nothing of the graph is looked up. Raises `BadInput` without a model."""
    s, name = settings or PAPER, "cot"
    return unaided(kit, name, ChainOfThought(model(kit, name), s.answer_tokens, kit.prompts))
