"""What is trained: a policy answers questions and says how likely its answers are; one loop trains any of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from torch import Generator, Tensor


@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """n answers as the actions that made them: tokens, or the number of a name in a closed list."""

    prompts: tuple[str, ...]  # n
    texts: tuple[str, ...]  # n
    actions: "Tensor"  # (n, T) int64; what it holds where the mask is False does not matter
    mask: "Tensor"  # (n, T) bool; each row begins with as many True as the answer has actions
    given: "Scores | None" = None  # what the policy said of them when it gave them, where it tells at no cost

    def __len__(self) -> int:
        """The number of answers."""
        return len(self.texts)

    def pick(self, places: Sequence[int]) -> "Answers":
        """The answers at those places."""
        rows = list(places)
        prompts, texts = tuple(self.prompts[i] for i in rows), tuple(self.texts[i] for i in rows)
        return Answers(prompts, texts, self.actions[rows], self.mask[rows])


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """What a policy says of answers, action by action, (n, T) each; gradients flow through both."""

    logp: "Tensor"  # the log-probability of the action after those before it
    values: "Tensor"  # the value head's guess of the return, before the action


class Policy(Protocol):
    """A model that is trained to answer."""

    @property
    def name(self) -> str:
        """Model and kind of policy, for logs and checkpoints."""
        ...

    def answer(self, prompts: Sequence[str], /, generator: "Generator | None" = None) -> Answers:
        """One answer a prompt, drawn with `generator`; the most likely one (action by action) without it."""
        ...

    def encode(self, prompts: Sequence[str], texts: Sequence[str], /) -> Answers:
        """Given answers as actions; raises `BadInput` for one that this policy could never give."""
        ...

    def scores(self, answers: Answers, /) -> Scores:
        """Log-probabilities and values of answers, as the policy is now."""
        ...

    def parameters(self) -> dict[str, "Tensor"]:
        """The trained tensors by name, the value head among them; changing them in place changes the policy."""
        ...

    def save(self, folder: Path, /) -> None:
        """Write the trained model in a form that other programs read."""
        ...


def restore(policy: Policy, tensors: dict[str, "Tensor"]) -> None:
    """Put trained tensors into a policy; raises `KeyError` unless they are those that it trains."""
    from kgmed.train.extra import need

    if other := policy.parameters().keys() ^ tensors.keys():
        raise KeyError(f"{min(other)} is not among both")
    with need("torch").no_grad():
        for name, parameter in policy.parameters().items():
            parameter.copy_(tensors[name])


def snapshot(policy: Policy) -> dict[str, "Tensor"]:
    """A copy of the trained tensors, which later training does not change."""
    return {name: p.detach().clone() for name, p in policy.parameters().items()}
