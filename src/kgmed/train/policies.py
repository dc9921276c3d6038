"""Policies by the names that a person types."""

from pathlib import Path
from typing import Any, Literal, get_args

from kgmed.errors import UnknownName
from kgmed.train.causal import Adapt, build, opened
from kgmed.train.choice import Choice
from kgmed.train.free import Free
from kgmed.train.policy import Policy
from kgmed.train.task import Task
from kgmed.train.tiny import tiny

Kind = Literal["choice", "free", "tiny"]
KINDS = get_args(Kind)


def policy(  # noqa: PLR0913 - what makes a policy
    kind: str,
    model: str,
    task: Task,
    folder: Path,
    *,
    seed: int = 0,
    adapt: Adapt = "lora",
    top: int = 0,
    half: bool = False,
    device: str = "cpu",
) -> Policy:
    """A policy for a task, untrained; `folder` is the data folder that smollm2 is in. Raises `UnknownName`.

    choice = a causal model that chooses from the listed diseases, free = one that writes, tiny = a model from nothing
    that writes one name.
    """
    if kind not in KINDS:
        raise UnknownName("policy", kind, KINDS)
    if kind == "tiny":
        return Free(tiny(task.names, seed=seed), longest=1)
    causal: Any = build(*opened(model, folder), adapt=adapt, top=top, half=half, seed=seed, device=device)
    return Choice(causal, task.diseases) if kind == "choice" else Free(causal)
