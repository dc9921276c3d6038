"""The reward of RLKGF: the score of the disease that an answer names, in the subgraph of the patient asked about."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, get_args

import numpy as np

from kgmed.errors import BadInput, UnknownName
from kgmed.reward.cases import Case
from kgmed.reward.names import CaseOf, NamesIn, text_of
from kgmed.reward.scoring import Floats, Scorer
from kgmed.types import Question

Shaping = Literal["flat", "rank", "z"]


class Outcome(StrEnum):
    """What an answer names."""

    ONE = "one"  # one disease of the patient's subgraph
    OUTSIDE = "outside"  # one disease that nothing links to the patient
    NONE = "none"  # no disease of the list, or "unknown"
    SEVERAL = "several"  # more than one, or a name that two diseases share
    UNJUDGED = "unjudged"  # the question names no symptom that the scorer knows


@dataclass(frozen=True, slots=True)
class Judged:
    """An answer's reward and why."""

    reward: float | None  # None = cannot judge
    outcome: Outcome
    disease: str = ""


@dataclass(frozen=True, eq=False)
class KGReward:
    """The reward (protocol `Reward`). An answer without one single disease is worth `otherwise`, never more.

    Repeating a name, or writing around it, changes nothing; a name that the answer denies does not count.
    """

    scorer: Scorer
    diseases: NamesIn  # the scorer's diseases with their aliases
    case_of: CaseOf
    shaping: Shaping = "flat"
    otherwise: float = 0.0  # not in the paper

    def __post_init__(self) -> None:
        """Check the settings."""
        if self.shaping not in get_args(Shaping):
            raise UnknownName("shaping of rewards", self.shaping, get_args(Shaping))
        if self.otherwise > 0:
            raise BadInput("an answer that names no disease must not be paid; give an `otherwise` of at most 0")

    def __call__(self, questions: Sequence[Question | str], answers: Sequence[str], /) -> list[float | None]:
        """The reward of each answer; None where the question names no symptom that the scorer knows."""
        return [j.reward for j in self.judge(questions, answers)]

    def judge(self, questions: Sequence[Question | str], answers: Sequence[str]) -> list[Judged]:
        """Each answer's reward and what it names."""
        if len(questions) != len(answers):
            raise BadInput(f"{len(questions)} questions do not go with {len(answers)} answers; give one each")
        texts = [text_of(q) for q in questions]
        rows = self._rows(list(dict.fromkeys(texts)))
        return [self._judged(rows[text], answer) for text, answer in zip(texts, answers, strict=True)]

    def _rows(self, texts: Sequence[str]) -> dict[str, Floats | None]:
        """The shaped scores (m,) of each question, one scoring for all of them."""
        cases: list[tuple[str, Case]] = [(t, case) for t in texts if (case := self.case_of(t)) is not None]
        scores = self.scorer([case for _, case in cases])
        known = {t: shaped(row, self.shaping) for (t, _), row in zip(cases, scores, strict=True)}
        return {t: known.get(t) for t in texts}

    def _judged(self, row: Floats | None, answer: str) -> Judged:
        if row is None or np.isnan(row).all():
            return Judged(None, Outcome.UNJUDGED)
        named = {f.names for f in self.diseases(answer) if not f.denied}
        if len(named) != 1 or any(len(names) > 1 for names in named):
            return Judged(self.otherwise, Outcome.SEVERAL if named else Outcome.NONE)
        (disease,) = next(iter(named))
        score = row[self.scorer.diseases.index(disease)] if disease in self.scorer.diseases else np.nan
        if np.isnan(score):
            return Judged(self.otherwise, Outcome.OUTSIDE, disease)
        return Judged(float(score), Outcome.ONE, disease)


def tally(judged: Iterable[Judged]) -> dict[str, int]:
    """How many answers had each outcome, all outcomes named.

    >>> tally([Judged(0.0, Outcome.SEVERAL)])["several"]
    1
    """
    counts = Counter(j.outcome for j in judged)
    return {outcome.value: counts[outcome] for outcome in Outcome}


def shaped(row: Floats, shaping: Shaping) -> Floats:
    """The scores (m,) of a subgraph as rewards of at least 0; NaN stays.

    - flat: the score itself, which RLKGF uses. Over many diseases at temperature 1 all scores are nearly the same.
    - rank: the share of the other diseases that score lower, ties half.
    - z: (score - least score) / standard deviation. Less its least value, so that naming the worst disease of the
      subgraph never pays less than naming none.

    >>> shaped(np.array([0.2, 0.5, 0.3, np.nan]), "rank").tolist()
    [0.0, 1.0, 0.5, nan]
    """
    seen = row[~np.isnan(row)]
    if shaping == "flat" or not len(seen):
        return row
    if shaping == "z":
        spread = seen.std()
        return np.asarray((row - seen.min()) / spread if spread > 1e-12 else row * 0.0, np.float64)
    lower = (seen[None, :] < row[:, None]).sum(axis=1) + ((seen[None, :] == row[:, None]).sum(axis=1) - 1) / 2
    rank = lower / (len(seen) - 1) if len(seen) > 1 else np.ones(len(row))
    return np.where(np.isnan(row), np.nan, rank)
