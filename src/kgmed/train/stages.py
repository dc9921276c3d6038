"""The three ways to train a policy for a task: supervised, by the graph (RLKGF), by a judge's preferences (RLAIF)."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, Literal

from kgmed.errors import BadInput
from kgmed.pipeline import Reward
from kgmed.train import ppo
from kgmed.train.base import Policy, need
from kgmed.train.causal import Tuning
from kgmed.train.policies import Free
from kgmed.train.preference import Judge, JudgeReport, Pair, judge_report, kept_verdicts, learn
from kgmed.train.run import Row, TrainingPlan, is_done, load_finished, processes, quiet, read_log, run
from kgmed.train.task import Task, policy_answers

# --- Supervised fine-tuning: the policy learns given answers by maximum likelihood, all of the model or adapters alone.


if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Generator, Tensor


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
        loss = sum(_backward(policy, questions, texts, part, len(rows)) for part in ppo.spans(rows, settings.at_once))
        torch.nn.utils.clip_grad_norm_(list(policy.parameters().values()), settings.norm)
        optimizer.step()
        yield {"step": step, "loss": loss}


def _backward(policy: Policy, questions: Sequence[str], texts: Sequence[str], rows: list[int], of: int) -> float:
    """The part of the loss that some answers have, with its gradient: their surprise, a mean over `of` answers."""
    answers = policy.encode([questions[i] for i in rows], [texts[i] for i in rows])
    loss = -(policy.scores(answers).logp.cpu() * answers.mask).sum() / of
    need("torch").autograd.backward(loss)
    return float(loss.detach())


Labels = Literal["true", "random"]
Way = Literal["ppo", "grpo", "rloo"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """How a run is watched: where it is kept, its seed, and who is told."""

    folder: Path
    seed: int = 0
    every: int = 10
    save_every: int = 5
    boards: tuple[str, ...] = ()
    tell: "Callable[[Row], None]" = quiet


def supervised(
    policy: Policy, task: Task, settings: SFTSettings, watch: Watch, *, labels: Labels = "true"
) -> list[Row]:
    """The log of supervised fine-tuning on the train cases: by TRL for a policy that writes, by our loop for a choice.

    With random labels the policy learns how an answer looks and nothing of medicine: a warm start without labels.
    """
    questions = task.questions(task.train)
    draw = Random(watch.seed)  # noqa: S311 - no secret
    texts = [c.disease if labels == "true" else draw.choice(task.diseases) for c in task.train]
    plan = _plan("sft", policy, task, asdict(settings) | {"labels": labels}, watch)
    if isinstance(policy, Free):
        from kgmed.train import with_trl

        return with_trl.supervised(policy, questions, texts, plan, batch=settings.batch, at_once=settings.at_once)

    def steps(optimizer: Any, generator: "Generator", start: int, reference: "dict[str, Tensor]") -> Iterator[Row]:
        return sft_steps(policy, questions, texts, settings, optimizer=optimizer, generator=generator, start=start)

    return _run(policy, steps, plan)


def reinforced(
    way: Way, policy: Policy, task: Task, reward: Reward, settings: ppo.PPOSettings, watch: Watch,
    *, kind: str = "rlkgf", scored: str = "",
) -> list[Row]:  # fmt: skip
    """The log of training against a reward on the train cases; their diseases are not shown to the policy.

    `ppo` is our loop, the paper's; `grpo` and `rloo` are TRL's for a policy that writes, and for a choice our loop
    with GRPO's advantages. `kind` and `scored` say what rewards: a run that is left goes on with the same alone.
    """
    if way != "ppo" and not isinstance(policy, Free):
        if way == "rloo":
            raise BadInput("rloo is for a policy that writes; give --policy free, or grpo")
        settings = replace(settings, baseline="group")
    told = asdict(settings) | {"way": way} | ({"scorer": scored} if scored else {})
    plan = _plan(kind, policy, task, told, watch)
    if way != "ppo" and isinstance(policy, Free):
        from kgmed.train import with_trl

        return with_trl.reinforced("GRPO" if way == "grpo" else "RLOO", policy, task, reward, settings, plan)
    _same_when_asked(policy)
    questions = task.questions(task.train)

    def steps(optimizer: Any, generator: "Generator", start: int, reference: "dict[str, Tensor]") -> Iterator[Row]:
        return ppo.steps(
            policy, questions, reward, settings, optimizer=optimizer, generator=generator, start=start,
            reference=reference, named=task.named,
        )  # fmt: skip

    return _run(policy, steps, plan)


# --- RLAIF (Lee et al. 2023): a judge's preferences among responses teach a reward model.


WORDS = "words"  # the reward model that is linear in words; any other is a language model


@dataclass(frozen=True, slots=True)
class RewardModel:
    """Which reward model is taught, and where verdicts and weights are kept."""

    name: str  # WORDS; "" = a tiny model like a tiny policy's; or the folder of a language model
    folder: Path
    seed: int = 0
    steps: int = 60  # ours, of 16 pairs
    rate: float = 3e-4  # ours
    tuning: Tuning = field(default_factory=Tuning)


def reward_from_judge(
    judge: Judge, task: Task, asked: Sequence[Pair], policy: Policy, model: RewardModel,
    tell: "Callable[[int], None]" = lambda left: None,
) -> tuple[Reward, JudgeReport]:  # fmt: skip
    """The reward model of a judge's verdicts on pairs of responses, and how both did; a fifth of the questions is held.

    Labels are used to tell how the judge did, and for nothing else.
    """
    verdicts = kept_verdicts(judge, asked, model.folder / "verdicts.jsonl", tell=tell)
    told = [(pair, first) for pair, first in zip(asked, verdicts, strict=True) if first is not None]
    held = set(sorted({pair.question for pair in asked})[::5])
    learnt = [(pair, first) for pair, first in told if pair.question not in held]
    if not learnt:
        raise BadInput("the judge decided on none of the pairs; ask another judge, or for more pairs")
    reward = learn(learnt, task.named) if model.name == WORDS else _by_model(policy, task, learnt, model)
    disease_of = {task.question(c): c.disease for c in task.train}
    return reward, judge_report(asked, verdicts, disease_of, task.named, reward, {p.question for p, _ in learnt})


def _by_model(policy: Policy, task: Task, learnt: "Sequence[tuple[Pair, bool]]", model: RewardModel) -> Reward:
    """A language model taught by TRL."""
    from kgmed.train import with_trl

    causal = getattr(policy, "causal", None)
    if causal is None:
        raise BadInput("a language model as reward model goes with a policy that is one")
    chosen = [(p.question, *((p.first, p.second) if first else (p.second, p.first))) for p, first in learnt]
    plan = TrainingPlan(
        folder=model.folder,
        settings={"kind": "reward", "model": model.name or "tiny", "pairs": len(chosen), "rate": model.rate,
                  "seed": model.seed},
        rate=model.rate, seed=model.seed, last=model.steps, device=model.tuning.device,
    )  # fmt: skip
    whole, tokens = with_trl.classifier(causal, model.name, model.tuning, seed=model.seed)
    return with_trl.taught(whole, tokens, model.tuning, chosen, plan, task.named)


def _same_when_asked(policy: Policy) -> None:
    """Raise `BadInput` for what our PPO cannot do: drop parts of a model at random, or train one in parts."""
    tuning = _tuning(policy)
    if tuning and tuning.dropout:
        raise BadInput("PPO compares an answer's likelihood with what it was; leave out --dropout, or train by grpo")
    if processes().sharded:
        raise BadInput("our PPO holds the whole model in each process; with FSDP or DeepSpeed train by grpo or rloo")


def _tuning(policy: Policy) -> Tuning | None:
    """How the model of a policy is trained, where it has one."""
    causal = getattr(policy, "causal", None)
    return causal.tuning if causal else None


def validation_accuracy(policy: Policy, task: Task) -> Row:
    """The accuracy of the policy's most likely answers on validation, and the share that names no single disease."""
    said = [task.named(text) for text in policy_answers(policy, task.questions(task.validation)).texts]
    right = sum(name == case.disease for name, case in zip(said, task.validation, strict=True))
    return {"accuracy": right / len(said), "invalid_validation": said.count(None) / len(said)}


def _plan(kind: str, policy: Policy, task: Task, settings: Row, watch: Watch) -> TrainingPlan:
    what = {"kind": kind, "policy": policy.name, "cases": task.split.name, "seed": watch.seed, **settings}
    tuning = _tuning(policy)
    what |= {"tuning": tuning.told} if tuning and tuning.told else {}
    causal = getattr(policy, "causal", None)
    return TrainingPlan(
        folder=watch.folder,
        settings=what,
        rate=settings["rate"],
        seed=watch.seed,
        last=settings["steps"],
        watch=lambda: validation_accuracy(policy, task),
        watch_every=watch.every,
        save_every=watch.save_every,
        boards=watch.boards,
        read=(lambda: causal.read[0]) if causal else int,
        device=tuning.device if tuning else "cpu",
        tell=watch.tell,
    )


def _run(policy: Policy, steps: Any, plan: TrainingPlan) -> list[Row]:
    """The log of a run; one that is finished is read, not done again."""
    if is_done(plan):
        load_finished(policy, plan)
        return read_log(plan)
    return run(policy, steps, plan)
