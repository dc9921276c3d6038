"""Proximal policy optimisation (Schulman et al. 2017) of a policy against a reward: one loop, to be read from the top.

A step draws questions, lets the policy answer each, asks the reward, and climbs the clipped objective for a few epochs.
Token level with generalised advantage estimation (`kgmed.train.ppo`). What the reward cannot judge (None) is counted
and moves nothing.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import TYPE_CHECKING, Any, Literal, get_args

from kgmed.errors import BadInput, UnknownName
from kgmed.pipeline import Reward
from kgmed.train.base import Answers, Policy, need, restore, snapshot
from kgmed.train.run import Processes, processes

# --- The arithmetic of PPO (Schulman et al. 2017) on padded answers: returns, advantages and the two losses.
# Token level with generalised advantage estimation (Schulman et al. 2016): the reward of an answer arrives at its last
# action, a KL penalty at each action. With a closed list an answer is one action, and all of this comes down to the
# reward minus the value.


if TYPE_CHECKING:
    from torch import Generator, Tensor


def per_action(rewards: "Tensor", penalty: "Tensor", mask: "Tensor") -> "Tensor":
    """The rewards (n, T): minus the penalty (n, T) at each action, plus the answer's reward (n,) at its last."""
    last = mask & (mask.cumsum(1) == mask.sum(1, keepdim=True))
    return rewards[:, None] * last - penalty * mask


def advantages(
    rewards: "Tensor", values: "Tensor", mask: "Tensor", *, gamma: float, smoothing: float
) -> tuple["Tensor", "Tensor"]:
    """Advantages and returns, (n, T) each; `smoothing` = lambda of GAE, 1 = the whole return minus the value.

    A_t = d_t + gamma lambda A_(t+1) with d_t = r_t + gamma V_(t+1) - V_t; nothing comes after the last action.
    """
    torch = need("torch")
    found = torch.zeros_like(rewards)
    after = torch.zeros_like(rewards[:, 0])
    for t in reversed(range(rewards.shape[1])):
        goes_on = mask[:, t + 1].to(rewards.dtype) if t + 1 < rewards.shape[1] else torch.zeros_like(after)
        following = values[:, t + 1] if t + 1 < rewards.shape[1] else torch.zeros_like(after)
        delta = rewards[:, t] + gamma * following * goes_on - values[:, t]
        after = (delta + gamma * smoothing * after * goes_on) * mask[:, t]
        found[:, t] = after
    return found, (found + values) * mask


def mean(values: "Tensor", mask: "Tensor") -> "Tensor":
    """The mean over the actions taken; 0 where there are none."""
    return (values * mask).sum() / mask.sum().clamp(min=1)


def whiten(values: "Tensor", mask: "Tensor", among: Processes | None = None) -> "Tensor":
    """The values less their mean, over their standard deviation, both over the actions taken by all processes."""
    total = (among or Processes()).total
    count = max(total(float(mask.sum())), 1.0)
    centred = (values - total(float((values * mask).sum())) / count) * mask
    found: Tensor = centred / ((total(float((centred**2).sum())) / count) ** 0.5 + 1e-8)
    return found


def group_advantages(rewards: "Tensor", judged: "Tensor", samples: int) -> "Tensor":
    """The advantages (n,) of GRPO (Shao et al. 2024): each reward less its question's mean, over the deviation there.

    Answers to one question stand together, `samples` of them; what was not judged counts nowhere and has 0.
    """
    torch = need("torch")
    marks, seen = rewards.reshape(-1, samples), judged.reshape(-1, samples).to(rewards.dtype)
    count = seen.sum(1, keepdim=True).clamp(min=1)
    centred = (marks - (marks * seen).sum(1, keepdim=True) / count) * seen
    spread = torch.sqrt((centred**2).sum(1, keepdim=True) / count)
    found: Tensor = (centred / (spread + 1e-4)).reshape(-1)
    return found


def clipped_loss(new: "Tensor", old: "Tensor", advantage: "Tensor", clip: float) -> tuple["Tensor", "Tensor"]:
    """Loss of each action, and whether its ratio was clipped: -min(q A, clip(q) A), q = exp(new - old)."""
    ratio = (new - old).exp()
    limited = ratio.clamp(1 - clip, 1 + clip)
    return -(ratio * advantage).minimum(limited * advantage), (ratio - 1).abs() > clip


def value_loss(values: "Tensor", returns: "Tensor") -> "Tensor":
    """Half the squared error of each action's value."""
    return 0.5 * (values - returns) ** 2


Baseline = Literal["value", "group"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PPOSettings:
    """The numbers of PPO."""

    clip: float = 0.2  # RLKGF, Table 7
    gamma: float = 1.0  # ours: an answer is judged as a whole; 0.99 a token (Table 7) pays for short names
    smoothing: float = 1.0  # ours: lambda of GAE; the paper names none
    kl: float = 0.0  # weight of the KL penalty; the paper has none
    kl_every: int = 5  # ours: without a penalty the KL is measured every so many steps
    value: float = 0.5  # weight of the value loss; the paper names none
    baseline: Baseline = "value"  # what a reward is held against: the value head, or the question's other answers
    epochs: int = 2  # ours; 5 in Table 7
    prompts: int = 16  # questions a step: Table 7, batch
    samples: int = 8  # ours: answers a question
    batch: int = 128  # ours: answers an optimiser step
    at_once: int = 128  # ours: answers that go through the model together; only memory depends on it
    rate: float = 3e-4  # ours, for adapters; 1e-5 in Table 7
    decay: bool = True  # ours: the rate falls to 0 over the run
    whiten: bool = True  # ours: advantages of a batch have mean 0 and deviation 1
    norm: float = 1.0  # ours: gradients are cut to this norm
    steps: int = 20

    def __post_init__(self) -> None:
        """Raise `BadInput` for numbers that mean nothing."""
        counts = {
            k: getattr(self, k) for k in ("epochs", "prompts", "samples", "batch", "at_once", "steps", "kl_every")
        }
        if wrong := [name for name, count in counts.items() if count < 1]:
            raise BadInput(f"{wrong[0]} must be 1 or more, not {counts[wrong[0]]}")
        if not (0 < self.clip < 1 and 0 <= self.gamma <= 1 and 0 <= self.smoothing <= 1 and self.rate > 0):
            raise BadInput("clip must lie between 0 and 1, gamma and lambda from 0 to 1, rate above 0")
        if self.baseline not in get_args(Baseline):
            raise UnknownName("baseline", self.baseline, get_args(Baseline))
        if self.baseline == "group" and self.samples < 2:
            raise BadInput("answers are held against others to the same question: give --samples of 2 or more")


PAPER = PPOSettings(gamma=0.99, smoothing=0.95, epochs=5, prompts=50, samples=1, batch=16, rate=1e-5, decay=False)
"""Table 7; its "update frequency 50" is read as 50 answers gathered before each update."""


@dataclass(frozen=True, slots=True, eq=False)
class Rollout:
    """Answers as they were judged when they were given; (n, T) but for the rewards (n,)."""

    answers: Answers
    rewards: "Tensor"  # 0 where there was none
    judged: "Tensor"  # the answers' mask, False for those without a reward
    old: "Tensor"  # log-probabilities
    penalty: "Tensor"  # KL estimate to the start of training, action by action
    advantages: "Tensor"
    returns: "Tensor"


def steps(  # noqa: PLR0913 - what training needs
    policy: Policy,
    questions: Sequence[str],
    reward: Reward,
    settings: PPOSettings,
    *,
    optimizer: Any,
    generator: "Generator",
    start: int = 0,
    reference: dict[str, "Tensor"] | None = None,
    named: Callable[[str], object] = bool,
) -> Iterator[dict[str, Any]]:
    """What happened in each step from `start` on; the policy is changed in place before a step is told.

    `reference` = the trained tensors that the KL penalty holds on to, needed where `settings.kl` is not 0; `named`
    gives None or "" for an answer that is invalid, which is counted.
    """
    if settings.kl and reference is None:
        raise BadInput("a KL penalty needs the reference to stay near")
    there = processes()
    mine = _share(settings, there, len(questions))
    for step in range(start + 1, settings.steps + 1):
        for group in optimizer.param_groups:
            group["lr"] = rate(settings, step)
        asked = draw_questions(questions, settings, generator)[there.rank * mine.prompts * mine.samples :]
        own = _drawn_from(generator, there.rank)
        near = reference if settings.kl or step % settings.kl_every == 0 else None
        rollout = collect_rollout(policy, asked[: mine.prompts * mine.samples], reward, mine, own, near)
        losses = [row for _ in range(mine.epochs) for row in _epoch(policy, rollout, mine, optimizer, own)]
        row = {"step": step, **rollout_row(rollout, named), **{k: fmean(row[k] for row in losses) for k in losses[0]}}
        yield row if near is not None else {k: v for k, v in row.items() if k != "kl"}


def _share(settings: PPOSettings, there: Processes, questions: int) -> PPOSettings:
    """The settings of one process: its share of the questions of a round and of a step's answers."""
    many = there.count
    prompts = min(settings.prompts, questions)
    if prompts % many or settings.batch % many:
        raise BadInput(
            f"{prompts} questions a round in steps of {settings.batch} answers do not divide among {many} processes; "
            "change --prompts or --batch"
        )
    return replace(settings, prompts=prompts // many, batch=settings.batch // many)


def _drawn_from(generator: "Generator", rank: int) -> "Generator":
    """A generator of a step and process, drawn from one that all processes have alike."""
    torch = need("torch")
    seed = int(torch.randint(2**62, (1,), generator=generator)) + rank
    own: Generator = torch.Generator().manual_seed(seed)
    return own


def rate(settings: PPOSettings, step: int) -> float:
    """The learning rate of a step, from 1: the whole at first, falling in a line where it decays."""
    return settings.rate * (1 - (step - 1) / settings.steps) if settings.decay else settings.rate


def draw_questions(questions: Sequence[str], settings: PPOSettings, generator: "Generator") -> list[str]:
    """Questions at random without repetition, each as often as it is to be answered."""
    order = need("torch").randperm(len(questions), generator=generator)[: settings.prompts].tolist()
    return [questions[i] for i in order for _ in range(settings.samples)]


def collect_rollout(
    policy: Policy,
    asked: Sequence[str],
    reward: Reward,
    settings: PPOSettings,
    generator: "Generator",
    reference: dict[str, "Tensor"] | None = None,
) -> Rollout:
    """The policy's answers with rewards, advantages and returns."""
    torch = need("torch")
    answers = policy.answer(asked, generator)
    marks = reward(asked, answers.texts)
    rewards = torch.tensor([0.0 if mark is None else mark for mark in marks])
    judged = answers.mask & torch.tensor([mark is not None for mark in marks])[:, None]
    with torch.no_grad():
        given = answers.given
        old, values = (given.logp, given.values) if given else score_answers(policy, answers, settings.at_once)
        penalty = torch.zeros_like(old) if reference is None else old - _by(policy, reference, answers, settings)
    grouped = settings.baseline == "group"
    marked = group_advantages(rewards, judged.any(1), settings.samples) if grouped else rewards
    gains, returns = advantages(
        per_action(marked, settings.kl * penalty, judged),
        values * 0 if grouped else values,
        judged,
        gamma=1.0 if grouped else settings.gamma,
        smoothing=1.0 if grouped else settings.smoothing,
    )
    gains = whiten(gains, judged, processes()) if settings.whiten and not grouped else gains
    return Rollout(answers, rewards, judged, old, penalty, gains, returns)


def score_answers(policy: Policy, answers: Answers, at_once: int) -> tuple["Tensor", "Tensor"]:
    """Log-probabilities and values of answers (n, T), so many at once, without gradients."""
    torch = need("torch")
    with torch.no_grad():
        parts = [policy.scores(answers.pick(rows)) for rows in spans(range(len(answers)), at_once)]
    return torch.cat([p.logp.cpu() for p in parts]), torch.cat([p.values.cpu() for p in parts])


def loss(
    policy: Policy, rollout: Rollout, rows: Sequence[int], settings: PPOSettings
) -> tuple["Tensor", dict[str, Any]]:
    """The loss of some answers, summed over their actions, and its parts."""
    said = policy.scores(rollout.answers.pick(rows))
    seen, place = rollout.judged[rows], list(rows)
    climbs, cut = clipped_loss(said.logp.cpu(), rollout.old[place], rollout.advantages[place], settings.clip)
    errors = value_loss(said.values.cpu(), rollout.returns[place])
    parts = {"loss": (climbs * seen).sum(), "value_loss": (errors * seen).sum(), "clipped": (cut & seen).sum().float()}
    weight = 0.0 if settings.baseline == "group" else settings.value
    return parts["loss"] + weight * parts["value_loss"], {k: float(v.detach()) for k, v in parts.items()}


def rollout_row(rollout: Rollout, named: Callable[[str], object] = bool) -> dict[str, Any]:
    """What a log says of a rollout: mean reward, KL and length, shares of invalid answers and of those not judged."""
    judged = rollout.judged.any(1)
    return {
        "reward": float(rollout.rewards[judged].mean()) if bool(judged.any()) else None,
        "kl": float(rollout.penalty[rollout.answers.mask].sum()) / len(rollout.answers),
        "length": float(rollout.answers.mask.sum(1).float().mean()),
        "invalid": sum(not named(text) for text in rollout.answers.texts) / len(rollout.answers),
        "unjudged": float((~judged).float().mean()),
    }


def _epoch(
    policy: Policy, rollout: Rollout, settings: PPOSettings, optimizer: Any, generator: "Generator"
) -> Iterator[dict[str, float]]:
    """One pass over the answers, an optimiser step a batch; the mean loss over actions of each."""
    torch, there, trained = need("torch"), processes(), list(policy.parameters().values())
    for batch in spans(_order(rollout, settings, generator), settings.batch):
        count = max(1.0, there.total(float(rollout.judged[batch].sum())))
        optimizer.zero_grad()
        parts = []
        for rows in spans(sorted(batch), settings.at_once):
            total, part = loss(policy, rollout, rows, settings)
            torch.autograd.backward(total / count)
            parts.append(part)
        there.add_up([p.grad for p in trained if p.grad is not None])
        torch.nn.utils.clip_grad_norm_(trained, settings.norm)
        optimizer.step()
        yield {name: there.count * sum(part[name] for part in parts) / count for name in parts[0]}


def _order(rollout: Rollout, settings: PPOSettings, generator: "Generator") -> list[int]:
    """The answers as they are gone through: as they are where one batch takes all, else at random."""
    n = len(rollout.answers)
    return list(range(n)) if settings.batch >= n else need("torch").randperm(n, generator=generator).tolist()


def _by(policy: Policy, reference: dict[str, "Tensor"], answers: Answers, settings: PPOSettings) -> "Tensor":
    """The log-probabilities (n, T) that the reference gives to answers."""
    now = snapshot(policy)
    restore(policy, reference)
    try:
        return score_answers(policy, answers, settings.at_once)[0]
    finally:
        restore(policy, now)


def spans(rows: Sequence[int], size: int) -> Iterator[list[int]]:
    """The rows, so many at a time."""
    return (list(rows[i : i + size]) for i in range(0, len(rows), size))
