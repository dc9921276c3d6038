"""The graph as reward of an answer (RLKGF), and what a reward is good for besides training."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any, Literal, Protocol, get_args

import numpy as np

from kgmed.errors import BadInput, UnknownName
from kgmed.pipeline import Reward
from kgmed.records import Question
from kgmed.reward.cases import Case, CaseOf, Floats, NamesIn, Scorer, text_of
from kgmed.stop import check_stop

# --- The reward of RLKGF: the score of the disease that an answer names, in the subgraph of the patient asked about.


Shaping = Literal["flat", "rank", "z"]
Asked = Question | str | Case


class Outcome(StrEnum):
    """What an answer names."""

    ONE = "one"  # one disease of the patient's subgraph
    OUTSIDE = "outside"  # one disease that nothing links to the patient
    NONE = "none"  # no disease of the list, or "unknown"
    SEVERAL = "several"  # more than one, or a name that two diseases share
    UNJUDGED = "unjudged"  # the question names no symptom that the scorer knows


@dataclass(frozen=True, slots=True)
class JudgedAnswer:
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

    def __call__(self, questions: Sequence[Asked], answers: Sequence[str], /) -> list[float | None]:
        """The reward of each answer; None where the question names no symptom that the scorer knows."""
        return [j.reward for j in self.judge(questions, answers)]

    def judge(self, questions: Sequence[Asked], answers: Sequence[str]) -> list[JudgedAnswer]:
        """Each answer's reward and what it names; a patient whose findings are known may stand for a question."""
        if len(questions) != len(answers):
            raise BadInput(f"{len(questions)} questions do not go with {len(answers)} answers; give one each")
        texts = [q if isinstance(q, Case) else text_of(q) for q in questions]
        rows = self._rows(list(dict.fromkeys(texts)))
        named = {answer: self._named(answer) for answer in dict.fromkeys(answers)}
        known: dict[tuple[str | Case, Outcome, str], JudgedAnswer] = {}
        for text, answer in zip(texts, answers, strict=True):
            check_stop()
            key = (text, *named[answer])
            if key not in known:
                known[key] = self._judged(rows[text], *named[answer])
        return [known[(text, *named[answer])] for text, answer in zip(texts, answers, strict=True)]

    def _rows(self, texts: Sequence[str | Case]) -> dict[str | Case, Floats | None]:
        """The shaped scores (m,) of each question, one scoring for all of them."""
        told = ((t, t if isinstance(t, Case) else self.case_of(t)) for t in texts)
        cases = [(t, case) for t, case in told if case is not None]
        scores = self.scorer([case for _, case in cases])
        known = {t: shape_scores(row, self.shaping) for (t, _), row in zip(cases, scores, strict=True)}
        return {t: known.get(t) for t in texts}

    def _named(self, answer: str) -> tuple[Outcome, str]:
        """What an answer names, and the disease where it is one."""
        check_stop()
        named = {f.names for f in self.diseases(answer) if not f.denied}
        if len(named) != 1 or any(len(names) > 1 for names in named):
            return (Outcome.SEVERAL if named else Outcome.NONE), ""
        return Outcome.ONE, next(iter(next(iter(named))))

    def _judged(self, row: Floats | None, outcome: Outcome, disease: str) -> JudgedAnswer:
        if row is None or np.isnan(row).all():
            return JudgedAnswer(None, Outcome.UNJUDGED)
        if outcome is not Outcome.ONE:
            return JudgedAnswer(self.otherwise, outcome)
        score = row[self._columns[disease]] if disease in self._columns else np.nan
        if np.isnan(score):
            return JudgedAnswer(self.otherwise, Outcome.OUTSIDE, disease)
        return JudgedAnswer(float(score), Outcome.ONE, disease)

    @cached_property
    def _columns(self) -> dict[str, int]:
        return {disease: column for column, disease in enumerate(self.scorer.diseases)}


def tally(judged: Iterable[JudgedAnswer]) -> dict[str, int]:
    """How many answers had each outcome, all outcomes named.

    >>> tally([JudgedAnswer(0.0, Outcome.SEVERAL)])["several"]
    1
    """
    counts = Counter(j.outcome for j in judged)
    return {outcome.value: counts[outcome] for outcome in Outcome}


def shape_scores(row: Floats, shaping: Shaping) -> Floats:
    """The scores (m,) of a subgraph as rewards of at least 0; NaN stays.

    - flat: the score itself, which RLKGF uses. Over many diseases at temperature 1 all scores are nearly the same.
    - rank: the share of the other diseases that score lower, ties half.
    - z: (score - least score) / standard deviation. Less its least value, so that naming the worst disease of the
      subgraph never pays less than naming none.

    >>> shape_scores(np.array([0.2, 0.5, 0.3, np.nan]), "rank").tolist()
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


# --- What a reward is good for besides training by it: best of n, a veto, preference pairs, TRL and PyTorch.


@dataclass(frozen=True, slots=True)
class Best:
    """The answer chosen of several, its place among them and its reward; None = no answer could be judged."""

    answer: str
    place: int
    reward: float | None


def best_of(reward: Reward, question: Question | str, answers: Sequence[str]) -> Best:
    """The answer of the highest reward; ties and answers that cannot be judged go to the first.

    Raises `BadInput` where there is no answer to choose from.
    """
    if not answers:
        raise BadInput("there is no answer to choose from; give at least one")
    scores = reward([question] * len(answers), answers)
    judged = [(score, -i) for i, score in enumerate(scores) if score is not None]
    score, place = max(judged, default=(None, 0))
    return Best(answers[-place], -place, score)


def veto(reward: Reward, question: Question | str, answers: Sequence[str], *, at_least: float) -> Best | None:
    """The first answer, in the order of the model's own preference, whose reward is at least `at_least`; None if none.

    An answer that cannot be judged passes: a veto needs a reason.
    """
    scores = reward([question] * len(answers), answers)
    place = next((i for i, score in enumerate(scores) if score is None or score >= at_least), None)
    return None if place is None else Best(answers[place], place, scores[place])


@dataclass(frozen=True, slots=True)
class Preference:
    """Of two answers to a question, which is better and by how much."""

    question: str
    chosen: str
    rejected: str
    margin: float


def preferences(
    reward: Reward, questions: Sequence[Question | str], answers: Sequence[Sequence[str]], *, margin: float = 0.0
) -> list[Preference]:
    """For each question its best and its worst answer, where they differ by more than `margin`.

    Answers that cannot be judged are left out. All answers are judged in one call.
    """
    if len(questions) != len(answers):
        raise BadInput(f"{len(questions)} questions do not go with {len(answers)} lists of answers; give one each")
    asked = [q for q, several in zip(questions, answers, strict=True) for _ in several]
    scores = iter(reward(asked, [a for several in answers for a in several]))
    pairs = []
    for question, several in zip(questions, answers, strict=True):
        judged = [(score, a) for a in several if (score := next(scores)) is not None]
        if judged:
            best, worst = max(judged, key=lambda j: j[0]), min(judged, key=lambda j: j[0])
            if best[0] - worst[0] > margin:
                pairs.append(Preference(text_of(question), best[1], worst[1], best[0] - worst[0]))
    return pairs


class RewardFunction(Protocol):
    """A reward as trainers elsewhere call it: TRL's `reward_funcs`, and with a line around it OpenRLHF's and verl's."""

    def __call__(self, prompts: Sequence[Any], completions: Sequence[Any], **columns: Any) -> list[float]:
        """One number a completion."""
        ...


def for_trl(reward: Reward, *, unjudged: float = 0.0) -> RewardFunction:
    """The reward in the form of TRL's `reward_funcs`: (prompts, completions, **columns) -> list[float].

    A prompt or completion that is a conversation stands for the text of its last message. Of the columns of the data
    set, `positive`, `negative` and `unsure` (lists of findings, one a prompt) tell a `KGReward` the patient, and no
    prompt is read; the others are ignored. `unjudged` is what an answer is worth that cannot be judged.
    """

    def graph_reward(prompts: Sequence[Any], completions: Sequence[Any], **columns: Any) -> list[float]:
        answers = [_last(c) for c in completions]
        if "positive" in columns and isinstance(reward, KGReward):
            scores = reward(_patients(columns), answers)
        else:
            scores = reward([_last(p) for p in prompts], answers)
        return [unjudged if score is None else float(score) for score in scores]

    return graph_reward


def reward_function(
    graph: str, *, diseases: Sequence[str] = (), temperature: float = 0.05, most: int = 50
) -> RewardFunction:
    """What TRL's GRPO takes as `reward_funcs`, of any graph and without a labelled case.

    The score of a completion is R_p of RLKGF: a walk from the findings that the prompt names to the disease that the
    completion names, among `diseases`, which are names in the graph; without them among the `most` of all diseases
    that the findings lead to most. `graph` is a name or folder, as of `--graph`; `temperature` is that of the scores'
    softmax (1 in the paper, where rewards are nearly alike). Raises `BadInput`.

    >>> import kgmed
    >>> reward = kgmed.reward_function("hpo")  # doctest: +SKIP
    """
    from kgmed.graph.base import Scope
    from kgmed.graph.library import open_graph
    from kgmed.reward.cases import CauseGraph, case_in
    from kgmed.reward.criticality import Criticality, NearestCriticality

    store = open_graph(graph)
    scorer: Criticality | NearestCriticality
    if diseases:
        scorer = Criticality(CauseGraph.of_graph(store, diseases), temperature=temperature)
        findings: Sequence[str] = scorer.graph.symptoms
    else:
        scorer = NearestCriticality(store, most, temperature)
        findings = scorer.findings

    def named(names: Sequence[str]) -> NamesIn:
        found = ((name, store.number(store.lookup(name)[0].entity.id)) for name in names)
        return NamesIn({name: [a for a, scope in store.aliases(n) if scope is not Scope.XREF] for name, n in found})

    return for_trl(KGReward(scorer, named(scorer.diseases), case_in(named(findings))))


def _patients(columns: Mapping[str, Sequence[Sequence[str]]]) -> list[Case]:
    """The patients that a data set tells in columns."""
    none: list[Sequence[str]] = [()] * len(columns["positive"])
    rows = zip(columns["positive"], columns.get("negative", none), columns.get("unsure", none), strict=True)
    return [Case("", tuple(there or ()), tuple(denied or ()), tuple(unsure or ())) for there, denied, unsure in rows]


def _last(turn: Any) -> str:
    """The text of a turn, or of the last message of a conversation."""
    return turn if isinstance(turn, str) else str(turn[-1]["content"])
