"""A base model, a warm start, labels, RLAIF and RLKGF, with several seeds, and what each does on test cases.

Everything is kept in one folder, a folder a seed and stage, so that what was stopped goes on where it was. The test
cases are asked once a stage, when its training is over; nothing is chosen by them.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from math import sqrt
from pathlib import Path
from random import Random
from statistics import mean, median, stdev
from typing import Any

from kgmed.disk import write_whole
from kgmed.errors import BadInput, SourceError, UnknownName
from kgmed.pipeline import Reward
from kgmed.reward.cases import Case, Predict, Scorer, best_disease
from kgmed.reward.graph_reward import best_of, veto
from kgmed.train import base, ppo, stages
from kgmed.train.base import Policy, need, restore, snapshot
from kgmed.train.causal import Tuning
from kgmed.train.preference import Judge, JudgeReport, response_pairs
from kgmed.train.run import LOG, Row
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


# --- From a base model through a warm start to labels, to RLAIF and to RLKGF.


STAGES = {
    "base": "as it is",
    "warm": "supervised, random labels: the form of an answer",
    "sft": "supervised, true labels, from the warm start",
    "rlaif": "PPO against a reward model of a judge's preferences, from the warm start",
    "ppo": "RLKGF by PPO, from the warm start",
    "grpo": "RLKGF by GRPO, from the warm start",
    "rloo": "RLKGF by RLOO, from the warm start",
    "sft-ppo": "RLKGF by PPO, from sft",
    "sft-grpo": "RLKGF by GRPO, from sft",
}
USUAL = ("base", "warm", "sft", "rlaif", "ppo", "grpo", "sft-ppo", "sft-grpo")
CHECKS = ("best of 8", "veto")
Tell = Callable[[str, Row], None]


def quiet(what: str, row: Row) -> None:
    """Says nothing."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Comparison:
    """The numbers of a comparison; `make` gives an untrained policy for a seed."""

    task: Task
    fit: Callable[[Task], Scorer]  # the scorer that rewards, of the cases whose labels are known
    scored: str  # which scorer this is
    judge: Callable[[], Judge]  # opened where RLAIF is trained
    judged_by: str  # who this is
    make: Callable[[int], Policy]
    folder: Path
    warm: stages.SFTSettings = field(default_factory=lambda: stages.SFTSettings(steps=10))
    labels: stages.SFTSettings = field(default_factory=lambda: stages.SFTSettings(steps=40))
    reinforce: ppo.PPOSettings = field(default_factory=ppo.PPOSettings)
    labelled: int = 0  # train cases whose disease sft and the graph may know, other ones for each seed; 0 = all
    pairs: int = 400
    reward_model: str = stages.WORDS
    tuning: Tuning = field(default_factory=Tuning)  # of a language model as reward model
    watch_every: int = 10
    tell: Tell = quiet
    _made: dict[int, tuple[Policy, dict[str, Any]]] = field(default_factory=dict, init=False, repr=False)

    def seed(self, seed: int, wanted: Sequence[str] = USUAL) -> dict[str, dict[str, Any]]:
        """The test figures of one seed: stage -> accuracy, right (a list over cases), and those after verification."""
        for stage in wanted:
            if stage not in STAGES:
                raise UnknownName("stage", stage, STAGES)
        self._same_as_before()
        return {stage: self._tested(seed, stage) for stage in STAGES if stage in wanted}

    def ceiling(self, seed: int) -> dict[str, Any]:
        """The test figures of the scorer alone, by its first choice."""
        return self._told(self.task.words.back(best_disease(self._scorer(seed))))

    def _same_as_before(self) -> None:
        """Raise `BadInput` where the folder holds figures of other settings."""
        told = {"cases": self.task.split.name, "scorer": self.scored, "labelled": self.labelled, "pairs": self.pairs}
        told |= {"judge": self.judged_by, "reward_model": self.reward_model, "tuning": self.tuning.told}
        told |= {name: asdict(getattr(self, name)) for name in ("warm", "labels", "reinforce")}
        path, told = self.folder / "settings.json", json.loads(json.dumps(told))
        was = _read(path) if path.exists() else told
        if changed := [name for name in told if was.get(name) != told[name]]:
            raise BadInput(f"{self.folder} holds a comparison with another {changed[0]}; name another folder")
        self.folder.mkdir(parents=True, exist_ok=True)
        write_whole(path, json.dumps(told))

    def _known(self, seed: int) -> Task:
        """The task with those train cases alone whose disease may be known."""
        if not self.labelled:
            return self.task
        some = Random(seed).sample(self.task.train, min(self.labelled, len(self.task.train)))  # noqa: S311 - no secret
        name = f"{self.task.split.name}, {len(some)} labelled"
        return replace(self.task, train=tuple(some), split=replace(self.task.split, name=name))

    def _scorer(self, seed: int) -> Scorer:
        return self.fit(self._known(seed))

    def _after(self, stage: str, seed: int) -> Policy:
        """The policy after a stage, trained unless that is done."""
        policy = self._untrained(seed)
        if stage == "base":
            return policy
        stages.supervised(policy, self.task, self.warm, self._watch("warm", seed), labels="random")
        if stage.startswith("sft"):
            stages.supervised(policy, self._known(seed), self.labels, self._watch("sft", seed))
        if stage not in ("warm", "sft"):
            way: Any = "ppo" if stage == "rlaif" else stage.removeprefix("sft-")
            kind, scored = ("rlaif", "") if stage == "rlaif" else ("rlkgf", self.scored)
            reward = self._judged(policy, seed) if stage == "rlaif" else self._by_graph(seed)
            watch = self._watch(stage, seed)
            stages.reinforced(way, policy, self.task, reward, self.reinforce, watch, kind=kind, scored=scored)
        return policy

    def _by_graph(self, seed: int) -> Reward:
        return graph_reward(self.task, self._scorer(seed), self.task.train)

    def _judged(self, policy: Policy, seed: int) -> Reward:
        """The reward model of the judge's preferences among responses of the policy; how it did is kept."""
        place = self.place(seed, "rlaif")
        questions = self.task.questions(self.task.train)
        asked = response_pairs(policy, questions, self.task.named, most=self.pairs, seed=seed)
        reward, report = stages.reward_from_judge(
            self.judge(),
            self.task,
            asked,
            policy,
            stages.RewardModel(self.reward_model, place / "judge", seed, tuning=self.tuning),
        )
        write_whole(place / "judge.json", json.dumps(asdict(report)))
        return reward

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

        return stages.Watch(folder=self.place(seed, stage), seed=seed, every=self.watch_every, tell=tell)

    def place(self, seed: int, stage: str) -> Path:
        """The folder of a stage."""
        return self.folder / f"seed-{seed}" / stage

    def _tested(self, seed: int, stage: str) -> dict[str, Any]:
        """The test figures of a stage, asked once when its training is over, and kept."""
        path = self.place(seed, stage) / "test.json"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            checked = Verified(self.task, self._after(stage, seed), self._scorer(seed), seed=seed)
            found = self._told(checked.before())
            found["after"] = {name: self._told(predict) for name, predict in self._checks(checked)}
            write_whole(path, json.dumps(found))
        return _read(path)

    def _checks(self, checked: Verified) -> Iterator[tuple[str, Predict]]:
        """The ways to verify; a veto asks for what an equal share among the diseases would be."""
        yield from zip(CHECKS, (checked.best(), checked.vetoed(1 / len(self.task.diseases))), strict=True)

    def _told(self, predict: Predict) -> dict[str, Any]:
        report = self.task.split.test.report(predict)
        return {"accuracy": report.accuracy, "right": list(report.right), "unanswered": report.unjudged}

    def judged(self, seeds: Sequence[int]) -> list[JudgeReport]:
        """How the judge and its reward model did, a seed each that has been there."""
        paths = [self.place(seed, "rlaif") / "judge.json" for seed in seeds]
        return [JudgeReport(**_read(path)) for path in paths if path.exists()]

    def taken(self, seeds: Sequence[int], stage: str) -> dict[str, float]:
        """What the training of a stage took: minutes, tokens a second (the median round), and most memory in MB."""
        rows = [row for seed in seeds for row in base.read(self.place(seed, stage) / LOG) if "seconds" in row]
        if not rows:
            return {}
        return {
            "minutes": sum(row["seconds"] for row in rows) / 60,
            "processor": sum(row["processor"] for row in rows) / 60,
            "tokens_per_second": median(row["tokens_per_second"] for row in rows),
            "memory_mb": max(row["memory_mb"] for row in rows),
        }


def _read(path: Path) -> dict[str, Any]:
    """Figures that were written; raises `SourceError`."""
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise SourceError(path, 0, "no JSON", "remove the file, and it is made again") from error
    return found


def spread(values: Sequence[float]) -> tuple[float, float]:
    """The mean and its standard error; the error of one value is 0.

    >>> spread([0.5, 0.7])
    (0.6, 0.1)
    """
    return round(mean(values), 9), round(stdev(values) / sqrt(len(values)) if len(values) > 1 else 0.0, 9)


def gap(ours: Sequence[Mapping[str, Any]], theirs: Sequence[Mapping[str, Any]]) -> tuple[float, float]:
    """How far two stages lie apart in accuracy, and the larger of two standard errors: over seeds, and over cases."""
    over_seeds = spread([a["accuracy"] - b["accuracy"] for a, b in zip(ours, theirs, strict=True)])
    by_case = [a - b for a, b in zip(_by_case(ours), _by_case(theirs), strict=True)]
    return over_seeds[0], max(over_seeds[1], spread(by_case)[1])


def _by_case(figures: Sequence[Mapping[str, Any]]) -> list[float]:
    """How often each case was right, a mean over seeds."""
    return [mean(map(float, right)) for right in zip(*(f["right"] for f in figures), strict=True)]


def verdict(figures: Sequence[Mapping[str, Mapping[str, Any]]], ours: str, others: Sequence[str]) -> str:
    """A plain sentence: whether a stage ends above others by more than two standard errors."""
    parts = []
    for other in others:
        by, error = gap([f[ours] for f in figures], [f[other] for f in figures])
        word = "above" if by > 2 * error else "below" if by < -2 * error else "not apart from"
        parts.append(f"{word} {other} ({by:+.3f} ± {error:.3f})")
    return f"{ours} ends {', '.join(parts)}; apart means by more than two standard errors"


# --- The table that a comparison comes to.


@dataclass(frozen=True, slots=True)
class ComparedRuns:
    """A comparison as a table, as sentences beside it, and as plain data."""

    head: tuple[str, ...]
    rows: Sequence[Sequence[str]]
    notes: list[str]
    data: dict[str, Any]


_TOOK = {"minutes": 1, "processor": 1, "tokens_per_second": 0, "memory_mb": 0}  # decimals shown


def table(made: Comparison, figures: Sequence[Mapping[str, Mapping[str, Any]]], seeds: Sequence[int]) -> ComparedRuns:
    """The test accuracy of each stage, mean and standard error over seeds, with what its training took."""
    rows, data = [], dict[str, Any]()
    for stage in figures[0]:
        found, took = [f[stage] for f in figures], made.taken(seeds, stage)
        each = [f["accuracy"] for f in found]
        best = [f["after"][CHECKS[0]]["accuracy"] for f in found]
        told = [f"{took[k]:,.{n}f}" for k, n in _TOOK.items()] if took else [""] * len(_TOOK)
        rows.append((stage, shown(each), " ".join(f"{v:.3f}" for v in each), shown(best), *told))
        data[stage] = {"accuracy": spread(each), "each": each, "best_of_8": spread(best), "took": took}
    alone = [made.ceiling(seed) for seed in seeds]
    graph = [f["accuracy"] for f in alone]
    notes = [f"n = {len(alone[0]['right'])} test cases; the graph's score alone: {shown(graph)}"]
    for ours in ("ppo", "grpo", "sft-ppo", "sft-grpo"):
        if ours in figures[0] and (others := [s for s in ("warm", "sft", "rlaif") if s in figures[0]]):
            notes.append(verdict(figures, ours, others))
    for seed, report in zip(seeds, made.judged(seeds), strict=False):
        notes += [f"seed {seed}: {line}" for line in report.lines()]
    head = ("stage", "test accuracy", "each seed", "best of 8", "minutes", "of processor", "tokens/s", "MB")
    return ComparedRuns(head, rows, notes, {"stages": data, "graph": spread(graph), "notes": notes})


def side_by_side(tables: Mapping[str, ComparedRuns]) -> ComparedRuns:
    """Tables of several policies as one, with the policy before each row and note."""
    rows = [(name, *row) for name, found in tables.items() for row in found.rows]
    notes = [f"{name}: {note}" for name, found in tables.items() for note in found.notes]
    head = next(iter(tables.values())).head
    return ComparedRuns(("policy", *head), rows, notes, {name: found.data for name, found in tables.items()})


def shown(values: Sequence[float]) -> str:
    """Mean and standard error in words."""
    value, error = spread(values)
    return f"{value:.3f} ± {error:.3f}" if len(values) > 1 else f"{value:.3f}"


def chosen_numbers(policy: str) -> tuple[stages.SFTSettings, stages.SFTSettings, dict[str, Any]]:
    """The numbers of the warm start, of labels and of reinforcement for a kind of policy, chosen on validation."""
    if policy == "tiny":
        warm = stages.SFTSettings(steps=40, rate=1e-3)
        labels = stages.SFTSettings(steps=50, rate=1e-3, batch=64, at_once=64)
        return warm, labels, {"steps": 30, "rate": 1e-3, "kl": 0.1, "prompts": 64, "samples": 8, "batch": 128}
    if policy == "free":
        return (
            stages.SFTSettings(steps=15, rate=1e-3),
            stages.SFTSettings(steps=60, rate=3e-4),
            {"steps": 40, "kl": 0.02},
        )
    return (
        stages.SFTSettings(steps=10, rate=3e-4),
        stages.SFTSettings(steps=40, rate=1e-3),
        {"steps": 16, "rate": 1e-3, "batch": 64},
    )
