"""Made-up patients of three diseases, and a policy that is a table: for tests of training."""

from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

from kgmed.reward.cases import Case, Split, split
from kgmed.train.base import Answers, Scores

DISEASES = ("flu", "gout", "scurvy")
FINDINGS = {
    "flu": ("fever", "cough", "headache"),
    "gout": ("toe pain", "swollen joint", "hot joint"),
    "scurvy": ("bleeding gums", "bruises", "loose teeth"),
}


def patients(n: int, seed: int) -> list[Case]:
    """n patients; each has two findings of its disease, sometimes one of another, and denies one."""
    draw = Random(seed)
    cases = []
    for i in range(n):
        disease = DISEASES[i % 3]
        other = FINDINGS[DISEASES[(i + 1) % 3]]
        there = [*draw.sample(FINDINGS[disease], 2), *([draw.choice(other)] if draw.random() < 0.2 else [])]
        cases.append(
            Case(f"{seed}-{i}", tuple(there), (other[i % 2],) if other[i % 2] not in there else (), (), disease)
        )
    return cases


def made_split() -> Split:
    """90 patients to train on (a fifth of them for validation), 60 to test on."""
    return split("made", patients(90, 1), patients(60, 2), language="en")


class Table:
    """A policy that is a table: a logit a prompt and answer, a value a prompt; one action an answer."""

    name = "table"

    def __init__(
        self, prompts: Sequence[str], texts: Sequence[str], start: Sequence[Sequence[float]] | None = None
    ) -> None:
        import torch

        self.prompts, self.texts = list(prompts), list(texts)
        zeros = [[0.0] * len(texts)] * len(prompts)
        self.logits: Any = torch.tensor(start or zeros, dtype=torch.float32, requires_grad=True)
        self.worth: Any = torch.zeros(len(prompts), requires_grad=True)

    def answer(self, prompts: Sequence[str], /, generator: Any = None) -> Answers:
        import torch

        shares = self.logits[self._rows(prompts)].detach().softmax(-1)
        best = shares.argmax(-1, keepdim=True)
        return self._answers(prompts, best if generator is None else torch.multinomial(shares, 1, generator=generator))

    def encode(self, prompts: Sequence[str], texts: Sequence[str], /) -> Answers:
        import torch

        return self._answers(prompts, torch.tensor([[self.texts.index(t)] for t in texts]))

    def scores(self, answers: Answers, /) -> Scores:
        rows = self._rows(answers.prompts)
        return Scores(self.logits[rows].log_softmax(-1).gather(1, answers.actions), self.worth[rows][:, None])

    def parameters(self) -> dict[str, Any]:
        return {"logits": self.logits, "worth": self.worth}

    def save(self, folder: Path, /) -> None:
        raise NotImplementedError

    def _rows(self, prompts: Sequence[str]) -> list[int]:
        return [self.prompts.index(p) for p in prompts]

    def _answers(self, prompts: Sequence[str], actions: Any) -> Answers:
        import torch

        texts = tuple(self.texts[i] for i in actions[:, 0].tolist())
        return Answers(tuple(prompts), texts, actions, torch.ones_like(actions, dtype=torch.bool))
