"""A model's answers held against the scorer: best of n, and a veto. Both work on test cases without their disease."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from kgmed.reward.cases import Case, Predict
from kgmed.reward.scoring import Scorer
from kgmed.reward.uses import best_of, veto
from kgmed.train.extra import need
from kgmed.train.policy import Policy
from kgmed.train.task import Task, answered, graph_reward


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
            first = answered(self.policy, new).texts
            drawn = answered(self.policy, [q for q in new for _ in range(self.n - 1)], generator).texts
            for i, question in enumerate(new):
                self._said[question] = [first[i], *drawn[i * (self.n - 1) : (i + 1) * (self.n - 1)]]
        return [self._said[q] for q in questions]
