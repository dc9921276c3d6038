"""From a base model through a warm start to RLKGF and to RLAIF, with several seeds, and what each does on test cases.

Everything is kept in one folder, a folder a seed and stage, so that what was stopped goes on where it was. The test
cases are asked once a stage, when its training is over; nothing is chosen by them.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import sqrt
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from kgmed.reward.cases import Case, Predict, Scorer
from kgmed.reward.graph_reward import best_of, veto
from kgmed.train import ppo, stages
from kgmed.train import stages as sft
from kgmed.train.base import Policy, need, restore, snapshot
from kgmed.train.preference import Judge, PreferenceReward
from kgmed.train.run import Row
from kgmed.train.task import Task, graph_reward, policy_answers

# --- A model's answers held against the scorer: best of n, and a veto. Both work on test cases without their disease.


@dataclass(frozen=True, eq=False)
class Verified:
    """A policy whose answers a scorer verifies: its most likely answer and n - 1 drawn ones, each case asked once."""

    task: Task
    policy: Policy
    scorer: Scorer
    n: int = 8  # 2 or more
    seed: int = 0
    _said: dict[str, list[str]] = field(default_factory=dict, repr=False)

    def before(self) -> Predict:
        """The most likely answers, as they are."""
        return self._predict(lambda case, answers: answers[0])

    def best(self) -> Predict:
        """The answer of the n that the scorer likes best."""
        return self._predict(
            lambda case, answers: best_of(self._reward([case]), self.task.question(case), answers).answer
        )

    def vetoed(self, at_least: float) -> Predict:
        """The first of the n answers whose reward is `at_least`; none where all are vetoed."""

        def passed(case: Case, answers: list[str]) -> str:
            found = veto(self._reward([case]), self.task.question(case), answers, at_least=at_least)
            return found.answer if found else ""

        return self._predict(passed)

    def _reward(self, cases: Sequence[Case]) -> Callable[..., list[float | None]]:
        return graph_reward(self.task, self.scorer, cases)

    def _predict(self, choose: Callable[[Case, list[str]], str]) -> Predict:
        """The predictor of the split's own cases that chooses one of the n answers to each."""

        def predicted(cases: Sequence[Case]) -> list[str | None]:
            return [self.task.named(choose(c, a)) for c, a in zip(cases, self._answers(cases), strict=True)]

        return self.task.words.back(predicted)

    def _answers(self, cases: Sequence[Case]) -> list[list[str]]:
        """n answers to each case, the most likely first."""
        questions = self.task.questions(cases)
        new = [q for q in dict.fromkeys(questions) if q not in self._said]
        if new:
            generator = need("torch").Generator().manual_seed(self.seed)
            first = policy_answers(self.policy, new).texts
            drawn = policy_answers(self.policy, [q for q in new for _ in range(self.n - 1)], generator).texts
            for i, question in enumerate(new):
                self._said[question] = [first[i], *drawn[i * (self.n - 1) : (i + 1) * (self.n - 1)]]
        return [self._said[q] for q in questions]


# --- From a base model through a warm start to RLKGF and to RLAIF, with several seeds, and what each does on test
# cases.
# Everything is kept in one folder, a folder a seed and stage, so that what was stopped goes on where it was. The test
# cases are asked once a stage, when its training is over; nothing is chosen by them.


STAGES = ("base", "sft", "rlkgf", "rlaif")
CHECKS = ("best of 8", "veto")
Tell = Callable[[str, Row], None]


def quiet(what: str, row: Row) -> None:
    """Says nothing."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Demo:
    """The numbers of a demonstration; `make` gives an untrained policy for a seed."""

    task: Task
    scorer: Scorer
    judge: Judge
    make: Callable[[int], Policy]
    folder: Path
    warm: sft.SFTSettings = field(default_factory=lambda: sft.SFTSettings(steps=10))
    reinforce: ppo.PPOSettings = field(default_factory=ppo.PPOSettings)
    watch_every: int = 10
    tell: Tell = quiet
    _made: dict[int, tuple[Policy, dict[str, Any]]] = field(default_factory=dict, init=False, repr=False)

    @cached_property
    def taught(self) -> tuple[PreferenceReward, float]:
        """The judge's reward model, and how often it agrees with the judge on validation; the same for all seeds."""
        return stages.reward_from_judge(self.judge, self.task)

    def seed(self, seed: int, wanted: Sequence[str] = STAGES) -> dict[str, dict[str, Any]]:
        """The test figures of one seed: stage -> accuracy, right (a list over cases), and those after verification."""
        return {stage: self._tested(seed, stage) for stage in STAGES if stage in wanted}

    def _after(self, stage: str, seed: int) -> Policy:
        """The policy after a stage, trained unless that is done; both kinds of PPO begin at the warm start."""
        policy = self._untrained(seed)
        if stage == "base":
            return policy
        stages.supervised(policy, self.task, self.warm, self._watch("sft", seed), labels="random")
        if stage == "rlkgf":
            stages.rlkgf(policy, self.task, self.scorer, self.reinforce, self._watch(stage, seed))
        elif stage == "rlaif":
            stages.rlaif(policy, self.task, self.taught[0], self.reinforce, self._watch(stage, seed))
        return policy

    def _untrained(self, seed: int) -> Policy:
        """The policy of a seed as it was made; the same object for all stages, so that what it has read is kept."""
        if seed not in self._made:
            self._made.clear()  # one at a time: models are large
            policy = self.make(seed)
            self._made[seed] = (policy, snapshot(policy))
        policy, start = self._made[seed]
        restore(policy, start)
        return policy

    def _watch(self, stage: str, seed: int) -> stages.Watch:
        def tell(row: Row) -> None:
            self.tell(f"seed {seed} {stage}", row)

        return stages.Watch(folder=self._place(seed, stage), seed=seed, every=self.watch_every, tell=tell)

    def _place(self, seed: int, stage: str) -> Path:
        return self.folder / f"seed-{seed}" / stage

    def _tested(self, seed: int, stage: str) -> dict[str, Any]:
        """The test figures of a stage, asked once when its training is over, and kept."""
        path = self._place(seed, stage) / "test.json"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            checked = Verified(self.task, self._after(stage, seed), self.scorer, seed=seed)
            found = self._told(checked.before())
            found["after"] = {name: self._told(predict) for name, predict in self._checks(checked)}
            beside = path.with_suffix(".new")
            beside.write_text(json.dumps(found), encoding="utf-8")
            beside.replace(path)
        kept: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return kept

    def _checks(self, checked: Verified) -> Iterator[tuple[str, Predict]]:
        """The ways to verify; a veto asks for what an equal share among the diseases would be."""
        yield from zip(CHECKS, (checked.best(), checked.vetoed(1 / len(self.task.diseases))), strict=True)

    def _told(self, predict: Predict) -> dict[str, Any]:
        report = self.task.split.test.report(predict)
        return {"accuracy": report.accuracy, "right": list(report.right), "unanswered": report.unjudged}


def spread(values: Sequence[float]) -> tuple[float, float]:
    """The mean and its standard error; the error of one value is 0.

    >>> spread([0.5, 0.7])
    (0.6, 0.1)
    """
    error = stdev(values) / sqrt(len(values)) if len(values) > 1 else 0.0
    return round(mean(values), 9), round(error, 9)


def gap(ours: Sequence[Mapping[str, Any]], theirs: Sequence[Mapping[str, Any]]) -> tuple[float, float]:
    """How far two stages lie apart in accuracy, and the larger of two standard errors: over seeds, and over cases."""
    over_seeds = spread([a["accuracy"] - b["accuracy"] for a, b in zip(ours, theirs, strict=True)])
    by_case = [a - b for a, b in zip(_by_case(ours), _by_case(theirs), strict=True)]
    return over_seeds[0], max(over_seeds[1], spread(by_case)[1])


def _by_case(figures: Sequence[Mapping[str, Any]]) -> list[float]:
    """How often each case was right, a mean over seeds."""
    return [mean(map(float, right)) for right in zip(*(f["right"] for f in figures), strict=True)]


def verdict(figures: Sequence[Mapping[str, Mapping[str, Any]]], *, ceiling: float, judge: float) -> str:
    """A plain sentence: whether RLKGF ends above its start and above RLAIF by more than the standard error, and why."""
    found = {stage: [f[stage] for f in figures] for stage in STAGES}
    parts = []
    for name, other in (("its start", "sft"), ("RLAIF", "rlaif")):
        by, error = gap(found["rlkgf"], found[other])
        word = "above" if by > error else "below" if by < -error else "not apart from"
        parts.append(f"{word} {name} (by {by:+.3f}, standard error {error:.3f})")
    return (
        f"RLKGF ends {' and '.join(parts)}. It learns from the graph's scores, whose own first choice is right in "
        f"{ceiling:.3f} of the validation cases; RLAIF learns from a judge whose first choice is right in {judge:.3f}."
    )
