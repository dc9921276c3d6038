"""Supervised fine-tuning: the policy learns given answers by maximum likelihood, all of the model or adapters alone."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kgmed.errors import BadInput
from kgmed.train.extra import need
from kgmed.train.policy import Policy

if TYPE_CHECKING:
    from torch import Generator


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The numbers of supervised fine-tuning; the paper names none, all are ours."""

    batch: int = 16  # answers an optimiser step
    at_once: int = 16  # answers that go through the model together
    rate: float = 3e-4
    decay: bool = True
    norm: float = 1.0
    steps: int = 15

    def __post_init__(self) -> None:
        """Raise `BadInput` for numbers that mean nothing."""
        if min(self.batch, self.at_once, self.steps) < 1 or self.rate <= 0:
            raise BadInput("batch, at_once and steps must be 1 or more, rate above 0")


def steps(
    policy: Policy,
    questions: Sequence[str],
    texts: Sequence[str],
    settings: Settings,
    *,
    optimizer: Any,
    generator: "Generator",
    start: int = 0,
) -> Iterator[dict[str, Any]]:
    """What happened in each step from `start` on; raises `BadInput` for an answer that the policy could never give."""
    torch = need("torch")
    policy.encode(questions, texts)
    for step in range(start + 1, settings.steps + 1):
        for group in optimizer.param_groups:
            group["lr"] = settings.rate * (1 - (step - 1) / settings.steps if settings.decay else 1)
        rows = torch.randperm(len(questions), generator=generator)[: settings.batch].tolist()
        optimizer.zero_grad()
        loss = sum(_backward(policy, questions, texts, part, len(rows)) for part in _parts(rows, settings.at_once))
        torch.nn.utils.clip_grad_norm_(list(policy.parameters().values()), settings.norm)
        optimizer.step()
        yield {"step": step, "loss": loss}


def _backward(policy: Policy, questions: Sequence[str], texts: Sequence[str], rows: list[int], of: int) -> float:
    """The part of the loss that some answers have, with its gradient: their surprise, a mean over `of` answers."""
    answers = policy.encode([questions[i] for i in rows], [texts[i] for i in rows])
    loss = -(policy.scores(answers).logp.cpu() * answers.mask).sum() / of
    need("torch").autograd.backward(loss)
    return float(loss.detach())


def _parts(rows: list[int], size: int) -> Iterator[list[int]]:
    return (rows[i : i + size] for i in range(0, len(rows), size))
