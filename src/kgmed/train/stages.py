"""The three ways to train a policy for a task: supervised, by the graph (RLKGF), by a judge's preferences (RLAIF)."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, Literal

from kgmed.reward.scoring import Scorer
from kgmed.stages import Reward
from kgmed.train import ppo, sft
from kgmed.train.judge import Judge, pairs
from kgmed.train.policy import Policy
from kgmed.train.preference import PreferenceReward, learn
from kgmed.train.run import Plan, Row, done, finished, quiet, run
from kgmed.train.task import Task, answered, graph_reward

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
    policy: Policy, task: Task, settings: sft.Settings, watch: Watch, *, labels: Labels = "true"
) -> list[Row]:
    """The log of supervised fine-tuning on the train cases.

    With random labels the policy learns how an answer looks and nothing of medicine: a warm start without labels.
    """
    questions = task.questions(task.train)
    draw = Random(watch.seed)  # noqa: S311 - no secret
    texts = [c.disease if labels == "true" else draw.choice(task.diseases) for c in task.train]

    def steps(optimizer: Any, generator: "Generator", start: int, reference: "dict[str, Tensor]") -> Iterator[Row]:
        return sft.steps(policy, questions, texts, settings, optimizer=optimizer, generator=generator, start=start)

    plan = _plan("sft", policy, task, asdict(settings) | {"labels": labels}, watch)
    return _run(policy, steps, plan)


def rlkgf(policy: Policy, task: Task, scorer: Scorer, settings: ppo.Settings, watch: Watch) -> list[Row]:
    """The log of PPO against the graph's reward on the train cases; their diseases are not shown to the policy."""
    return reinforced("rlkgf", policy, task, graph_reward(task, scorer, task.train), settings, watch)


def rlaif(policy: Policy, task: Task, taught: PreferenceReward, settings: ppo.Settings, watch: Watch) -> list[Row]:
    """The log of PPO against the reward model of a judge's preferences."""
    return reinforced("rlaif", policy, task, taught, settings, watch)


def taught_by(judge: Judge, task: Task) -> tuple[PreferenceReward, float]:
    """The reward model of a judge that compares all diseases for each train case, and how it agrees on validation."""
    model = learn(judge, pairs(task.questions(task.train), task.diseases), task.named)
    asked = pairs(task.questions(task.validation), task.diseases)
    return model, model.agreement(asked, judge(asked))


def reinforced(
    kind: str, policy: Policy, task: Task, reward: Reward, settings: ppo.Settings, watch: Watch
) -> list[Row]:
    """The log of PPO against a reward."""
    questions = task.questions(task.train)

    def steps(optimizer: Any, generator: "Generator", start: int, reference: "dict[str, Tensor]") -> Iterator[Row]:
        return ppo.steps(
            policy, questions, reward, settings, optimizer=optimizer, generator=generator, start=start,
            reference=reference, named=task.named,
        )  # fmt: skip

    return _run(policy, steps, _plan(kind, policy, task, asdict(settings), watch))


def measured(policy: Policy, task: Task) -> Row:
    """The accuracy of the policy's most likely answers on validation, and the share that names no single disease."""
    said = [task.named(text) for text in answered(policy, task.questions(task.validation)).texts]
    right = sum(name == case.disease for name, case in zip(said, task.validation, strict=True))
    return {"accuracy": right / len(said), "invalid_validation": said.count(None) / len(said)}


def _plan(kind: str, policy: Policy, task: Task, settings: Row, watch: Watch) -> Plan:
    what = {"kind": kind, "policy": policy.name, "cases": task.split.name, "seed": watch.seed, **settings}
    return Plan(
        folder=watch.folder,
        settings=what,
        rate=settings["rate"],
        seed=watch.seed,
        last=settings["steps"],
        watch=lambda: measured(policy, task),
        watch_every=watch.every,
        save_every=watch.save_every,
        tell=watch.tell,
    )


def _run(policy: Policy, steps: Any, plan: Plan) -> list[Row]:
    """The log of a run; one that is finished is read, not done again."""
    from kgmed.train import log
    from kgmed.train.run import LOG

    if done(plan):
        finished(policy, plan)
        return log.read(plan.folder / LOG)
    return run(policy, steps, plan)
