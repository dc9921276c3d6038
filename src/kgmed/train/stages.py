"""The three ways to train a policy for a task: supervised, by the graph (RLKGF), by a judge's preferences (RLAIF)."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, Literal

from kgmed.errors import BadInput
from kgmed.pipeline import Reward
from kgmed.reward.cases import Scorer
from kgmed.train import ppo
from kgmed.train.base import Policy, need
from kgmed.train.preference import Judge, PreferenceReward, learn, pairs
from kgmed.train.run import Row, TrainingPlan, is_done, load_finished, quiet, run
from kgmed.train.task import Task, graph_reward, policy_answers

# --- Supervised fine-tuning: the policy learns given answers by maximum likelihood, all of the model or adapters alone.


if TYPE_CHECKING:
    from torch import Generator


@dataclass(frozen=True, slots=True, kw_only=True)
class SFTSettings:
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


def sft_steps(
    policy: Policy,
    questions: Sequence[str],
    texts: Sequence[str],
    settings: SFTSettings,
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


# --- The three ways to train a policy for a task: supervised, by the graph (RLKGF), by a judge's preferences (RLAIF).


if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Generator, Tensor

Labels = Literal["true", "random"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """How a run is watched: where it is kept, its seed, and who is told."""

    folder: Path
    seed: int = 0
    every: int = 10
    save_every: int = 5
    tell: "Callable[[Row], None]" = quiet


def supervised(
    policy: Policy, task: Task, settings: SFTSettings, watch: Watch, *, labels: Labels = "true"
) -> list[Row]:
    """The log of supervised fine-tuning on the train cases.

    With random labels the policy learns how an answer looks and nothing of medicine: a warm start without labels.
    """
    questions = task.questions(task.train)
    draw = Random(watch.seed)  # noqa: S311 - no secret
    texts = [c.disease if labels == "true" else draw.choice(task.diseases) for c in task.train]

    def steps(optimizer: Any, generator: "Generator", start: int, reference: "dict[str, Tensor]") -> Iterator[Row]:
        return sft_steps(policy, questions, texts, settings, optimizer=optimizer, generator=generator, start=start)

    plan = _plan("sft", policy, task, asdict(settings) | {"labels": labels}, watch)
    return _run(policy, steps, plan)


def rlkgf(policy: Policy, task: Task, scorer: Scorer, settings: ppo.PPOSettings, watch: Watch) -> list[Row]:
    """The log of PPO against the graph's reward on the train cases; their diseases are not shown to the policy."""
    return ppo_run("rlkgf", policy, task, graph_reward(task, scorer, task.train), settings, watch)


def rlaif(policy: Policy, task: Task, taught: PreferenceReward, settings: ppo.PPOSettings, watch: Watch) -> list[Row]:
    """The log of PPO against the reward model of a judge's preferences."""
    return ppo_run("rlaif", policy, task, taught, settings, watch)


def reward_from_judge(judge: Judge, task: Task) -> tuple[PreferenceReward, float]:
    """The reward model of a judge that compares all diseases for each train case, and how it agrees on validation."""
    model = learn(judge, pairs(task.questions(task.train), task.diseases), task.named)
    asked = pairs(task.questions(task.validation), task.diseases)
    return model, model.agreement(asked, judge(asked))


def ppo_run(
    kind: str, policy: Policy, task: Task, reward: Reward, settings: ppo.PPOSettings, watch: Watch
) -> list[Row]:
    """The log of PPO against a reward."""
    questions = task.questions(task.train)

    def steps(optimizer: Any, generator: "Generator", start: int, reference: "dict[str, Tensor]") -> Iterator[Row]:
        return ppo.steps(
            policy, questions, reward, settings, optimizer=optimizer, generator=generator, start=start,
            reference=reference, named=task.named,
        )  # fmt: skip

    return _run(policy, steps, _plan(kind, policy, task, asdict(settings), watch))


def validation_accuracy(policy: Policy, task: Task) -> Row:
    """The accuracy of the policy's most likely answers on validation, and the share that names no single disease."""
    said = [task.named(text) for text in policy_answers(policy, task.questions(task.validation)).texts]
    right = sum(name == case.disease for name, case in zip(said, task.validation, strict=True))
    return {"accuracy": right / len(said), "invalid_validation": said.count(None) / len(said)}


def _plan(kind: str, policy: Policy, task: Task, settings: Row, watch: Watch) -> TrainingPlan:
    what = {"kind": kind, "policy": policy.name, "cases": task.split.name, "seed": watch.seed, **settings}
    return TrainingPlan(
        folder=watch.folder,
        settings=what,
        rate=settings["rate"],
        seed=watch.seed,
        last=settings["steps"],
        watch=lambda: validation_accuracy(policy, task),
        watch_every=watch.every,
        save_every=watch.save_every,
        tell=watch.tell,
    )


def _run(policy: Policy, steps: Any, plan: TrainingPlan) -> list[Row]:
    """The log of a run; one that is finished is read, not done again."""
    from kgmed.train import base as log
    from kgmed.train.run import LOG

    if is_done(plan):
        load_finished(policy, plan)
        return log.read(plan.folder / LOG)
    return run(policy, steps, plan)
