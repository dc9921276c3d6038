"""Diagnosis as a task for a language model: a question a case, the answer one disease of a closed list."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from kgmed.errors import BadInput
from kgmed.reward.cases import Case, Predict, Split
from kgmed.reward.kg_reward import KGReward, Shaping
from kgmed.reward.names import NamesIn
from kgmed.reward.scoring import Scorer
from kgmed.train.policy import Answers, Policy
from kgmed.train.wording import Wording, wording

if TYPE_CHECKING:
    from torch import Generator

FLOOR = -0.5  # ours: the reward of an answer without one disease of the subgraph; scores of diseases lie in 0..1
_FORM = {
    "en": ("Diseases: {}.\n", "Symptoms: {}.", " No {}.", "\nDiagnosis:", "; ", ", ", "none named"),
    "zh": ("疾病：{}。\n", "症状：{}。", "无{}。", "\n诊断：", "；", "、", "未提及"),
}


@dataclass(frozen=True)
class Task:
    """The cases of a split as a model reads them; the test cases stay closed."""

    split: Split
    words: Wording
    train: tuple[Case, ...] = field(repr=False)
    validation: tuple[Case, ...] = field(repr=False)
    listed: bool = True  # whether a question lists the diseases, as the paper's prompt does

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
        return question(case, self.diseases if self.listed else (), self.words.language)

    def questions(self, cases: Sequence[Case]) -> list[str]:
        """The questions of such cases."""
        return [self.question(case) for case in cases]

    @cached_property
    def find(self) -> NamesIn:
        """Finds the diseases in a text."""
        return NamesIn(dict.fromkeys(self.diseases, ()))

    def named(self, answer: str) -> str | None:
        """The one disease that an answer names; None where it names none or several, or denies it."""
        found = {f.names for f in self.find(answer) if not f.denied}
        return next(iter(found.pop())) if len(found) == 1 else None

    def predict(self, policy: Policy) -> Predict:
        """The policy's most likely answers as a predictor of the split's own cases, as `Held.report` takes it."""

        def predicted(cases: Sequence[Case]) -> list[str | None]:
            return [self.named(text) for text in answered(policy, self.questions(cases)).texts]

        return self.words.back(predicted)


def task(split: Split, *, listed: bool = True) -> Task:
    """The task of a split, in English for DXY, else in its language.

    A policy over the closed list does without the list in its questions (`listed`): they are half as long.
    """
    words = wording(split.name, split.language)
    return Task(split, words, words.cases(split.train), words.cases(split.validation), listed)


def question(case: Case, diseases: Sequence[str], language: str) -> str:
    """The question of a case, with the diseases where they are given; what the patient is unsure of is left out.

    >>> print(question(Case("1", ("cough", "fever"), ("rash",)), ["flu", "measles"], "en"))
    Diseases: flu; measles.
    Symptoms: cough, fever. No rash.
    Diagnosis:
    """
    among, there, absent, ask, between, comma, none = _FORM["zh" if language == "zh" else "en"]
    parts = [
        among.format(between.join(diseases)) if diseases else "",
        there.format(comma.join(case.positive) or none),
        absent.format(comma.join(case.negative)) if case.negative else "",
    ]
    return "".join(parts) + ask


def answered(
    policy: Policy, questions: Sequence[str], generator: "Generator | None" = None, *, at_once: int = 64
) -> Answers:
    """The policy's answers, the most likely ones without a generator; of the actions nothing is kept."""
    parts = [policy.answer(questions[i : i + at_once], generator) for i in range(0, len(questions), at_once)]
    if not parts:
        raise BadInput("there are no questions to answer")
    texts = tuple(text for part in parts for text in part.texts)
    return Answers(tuple(questions), texts, parts[0].actions[:0], parts[0].mask[:0])


def graph_reward(task: Task, scorer: Scorer, cases: Sequence[Case], *, shaping: Shaping = "flat") -> KGReward:
    """The reward of the graph for the questions of given cases, which are worded as a model reads them."""
    known = dict(zip(task.questions(cases), cases, strict=True))
    return KGReward(scorer, task.find, known.get, shaping, FLOOR)
