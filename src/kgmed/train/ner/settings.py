"""The numbers of the training of a tagger, those of HyKGE as defaults."""

from dataclasses import dataclass, replace

from kgmed.errors import BadInput
from kgmed.models.w2ner.settings import Preset


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """How a tagger is trained; "paper" and "code" are those of HyKGE (arXiv 2312.15883)."""

    epochs: int = 10  # code
    batch: int = 8  # code
    rate: float = 1e-3  # paper and code: of everything but a transformer
    encoder_rate: float = 5e-6  # code: of the transformer
    decay: float = 1e-4  # paper; 0 in the code
    warmup: float = 0.1  # ours: share of the steps in which the rates rise; they fall to 0 in the others
    clip: float = 5.0  # ours: greatest norm of a step's gradient
    patience: int = 5  # ours: epochs without a better F1 on dev after which it stops
    seed: int = 0
    split_seed: int = 0  # which samples are train, dev and test

    def __post_init__(self) -> None:
        """Raise `BadInput` for numbers that nothing can be trained with."""
        for name in ("epochs", "batch", "patience"):
            if getattr(self, name) < 1:
                raise BadInput(f"{name} is {getattr(self, name)}; it must be at least 1")
        for name in ("rate", "clip"):
            if not getattr(self, name) > 0:
                raise BadInput(f"{name} is {getattr(self, name)}; it must be above 0")
        if not 0 <= self.warmup < 1:
            raise BadInput(f"warmup is {self.warmup}; it is a share, from 0 to below 1")


PAPER = Training()
TRAININGS: dict[Preset, Training] = {
    "paper": PAPER,
    "code": replace(PAPER, decay=0.0),
    "small": replace(PAPER, rate=2e-3),  # ours: with embeddings learnt from nothing
}
