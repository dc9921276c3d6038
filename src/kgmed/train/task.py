"""Diagnosis as a task for a language model: a question a case, the answer one disease of a closed list."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from kgmed.errors import BadInput, SourceError
from kgmed.reward.cases import (
    TRAINED_PROMPT,
    Case,
    Fit,
    Floats,
    NamesIn,
    Predict,
    Scorer,
    Split,
    T,
    Wording,
    folds,
    named_one,
    worded,
)
from kgmed.reward.graph_reward import KGReward, Shaping
from kgmed.train.base import Answers, Policy

# --- Names in other words: DXY's Chinese diseases and symptoms in plain English, for a model that reads no Chinese.


def wording(name: str, language: str, wanted: str = "") -> Wording:
    """The wording of a set of cases: DXY in English unless Chinese is wanted, every other set in its own language.

    Raises `BadInput` for a language that a set has no words of.
    """
    if wanted not in ("", language) and (name, wanted) != ("DXY", "en"):
        raise BadInput(f"{name} is not at hand in the language {wanted!r}; leave --language out")
    if name != "DXY" or wanted == language:
        return Wording(language)
    with resources.as_file(resources.files("kgmed.evaluate.datasets") / "dxy.en.tsv") as path:
        return Wording("en", read(path))


def read(path: Path) -> dict[str, str]:
    """The table of a file with two columns between tabs; raises `SourceError`."""
    rows = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]
    if wrong := [i for i, row in enumerate(rows, start=1) if len(row) != 2 or not all(cell.strip() for cell in row)]:
        raise SourceError(path, wrong[0], "not two cells between a tab", "write: name, tab, words")
    return {row[0]: row[1] for row in rows}


if TYPE_CHECKING:
    from torch import Generator

FLOOR = -0.5  # ours: the reward of an answer without one disease of the subgraph; scores of diseases lie in 0..1


@dataclass(frozen=True)
class Task:
    """The cases of a split as a model reads them; the test cases stay closed."""

    split: Split
    words: Wording
    train: tuple[Case, ...] = field(repr=False)
    validation: tuple[Case, ...] = field(repr=False)
    listed: bool = True  # whether a question lists the diseases, as the paper's prompt does
    figure6: bool = False  # whether a question is asked in the words of the paper's Figure 6 (ours)

    @cached_property
    def diseases(self) -> tuple[str, ...]:
        """The closed list, as a model reads it."""
        return self.words(self.split.diseases)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """All diseases and symptoms, as a model reads them."""
        return self.words((*self.split.diseases, *self.split.symptoms))

    def question(self, case: Case) -> str:
        """The question of a case that is worded as a model reads it."""
        return worded(case, self.diseases, self.words.language, listed=self.listed, figure6=self.figure6)

    def record(self, policy: str, *, chat: bool, longest: int) -> dict[str, object]:
        """How a policy is asked, for its folder, so that it is asked in the same way ever after."""
        return {
            "format": 1, "prompt": TRAINED_PROMPT, "policy": policy, "chat": chat, "longest": longest,
            "set": self.split.name, "language": self.words.language, "listed": self.listed, "figure6": self.figure6,
            "diseases": self.diseases, "words": dict(self.words.words),
        }  # fmt: skip

    def questions(self, cases: Sequence[Case]) -> list[str]:
        """The questions of such cases."""
        return [self.question(case) for case in cases]

    @cached_property
    def find(self) -> NamesIn:
        """Finds the diseases in a text."""
        return NamesIn(dict.fromkeys(self.diseases, ()))

    def named(self, answer: str) -> str | None:
        """The one disease that an answer names; None where it names none or several, denies it, or echoes the list."""
        return named_one(self.find, answer)

    def predict(self, policy: Policy) -> Predict:
        """The policy's most likely answers as a predictor of the split's own cases, as `Held.report` takes it."""

        def predicted(cases: Sequence[Case]) -> list[str | None]:
            return [self.named(text) for text in policy_answers(policy, self.questions(cases)).texts]

        return self.words.back(predicted)


def task(split: Split, *, listed: bool = True, language: str = "", figure6: bool = False) -> Task:
    """The task of a split, in its language or, unless `language` says so, DXY in English.

    A policy over the closed list does without the list in its questions (`listed`): they are half as long.
    """
    words = wording(split.name, split.language, language)
    return Task(split, words, words.cases(split.train), words.cases(split.validation), listed or figure6, figure6)


def policy_answers(
    policy: Policy, questions: Sequence[str], generator: "Generator | None" = None, *, at_once: int = 64
) -> Answers:
    """The policy's answers, the most likely ones without a generator; of the actions nothing is kept."""
    parts = [policy.answer(questions[i : i + at_once], generator) for i in range(0, len(questions), at_once)]
    if not parts:
        raise BadInput("there are no questions to answer")
    texts = tuple(text for part in parts for text in part.texts)
    return Answers(tuple(questions), texts, parts[0].actions[:0], parts[0].mask[:0])


def scorer_for(task: Task, fit: Fit[T]) -> T:
    """The scorer of the train cases that rewards a policy; what it learns beside counts, as mu, is learnt on a fifth.

    The validation cases measure the policy, so that no part of its reward may come from them.
    """
    return fit(*next(folds(task.train, 5)))


@dataclass(frozen=True, eq=False)
class _Once:
    """A scorer that scores each case once: training asks of the same cases in every round."""

    scorer: Scorer
    _known: dict[Case, Floats] = field(default_factory=dict, repr=False)

    @property
    def diseases(self) -> tuple[str, ...]:
        return self.scorer.diseases

    def __call__(self, cases: Sequence[Case]) -> Floats:
        new = [case for case in dict.fromkeys(cases) if case not in self._known]
        self._known.update(zip(new, self.scorer(new), strict=True) if new else ())
        return np.array([self._known[case] for case in cases]).reshape(len(cases), len(self.diseases))


def graph_reward(
    task: Task, scorer: Scorer, cases: Sequence[Case], *, shaping: Shaping = "flat", floor: float = FLOOR
) -> KGReward:
    """The reward of the graph for the questions of given cases, which are worded as a model reads them."""
    known = dict(zip(task.questions(cases), cases, strict=True))
    return KGReward(_Once(scorer), task.find, known.get, shaping, floor)
