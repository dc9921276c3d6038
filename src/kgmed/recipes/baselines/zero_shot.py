"""Zero-shot: the question alone, the control that every retrieval has to beat."""

from dataclasses import dataclass
from typing import Literal

from kgmed.kit import Kit
from kgmed.pipeline import Pipeline
from kgmed.read.unaided import ZeroShot
from kgmed.recipes.about import About, Calls, described
from kgmed.recipes.baselines.parts import model, unaided

Preset = Literal["paper"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The numbers of zero-shot."""

    answer_tokens: int = 256  # ours


PAPER = Settings()
PRESETS: dict[Preset, Settings] = {"paper": PAPER}


@described(
    About(
        paper="Language Models are Few-Shot Learners",
        by="Brown et al.",
        year=2020,
        where="arXiv 2005.14165",
        does="asks the model the question alone",
        calls=Calls.always(1, "the answer; HyKGE's and KG-Rank's base row"),
        ours=("the prompt is ours: the papers do not print theirs",),
    )
)
def zero_shot(kit: Kit, *, settings: Settings | None = None) -> Pipeline:
    """The method; nothing of the graph is looked up. Raises `BadInput` without a model."""
    s, name = settings or PAPER, "zero-shot"
    return unaided(kit, name, ZeroShot(model(kit, name), s.answer_tokens, kit.prompts))
