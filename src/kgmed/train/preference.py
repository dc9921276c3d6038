"""A reward model learnt from a judge's preferences (Bradley and Terry 1952), used as the reward of the same PPO.

The score of an answer is linear in the words of its question, and pairs of neighbouring words, each crossed with the
answer: small enough to be learnt from some thousand pairs in seconds, and the same for all policies.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kgmed.errors import BadInput
from kgmed.language.text import has_cjk, tokens
from kgmed.models.base import LLM
from kgmed.prompts import prompt
from kgmed.records import Question
from kgmed.reward.cases import text_of
from kgmed.train.base import Policy, need
from kgmed.train.task import FLOOR

# --- Judges of RLAIF (Lee et al. 2023): which of two answers to a question is better, without a label or a graph.


_NUMBER = re.compile(r"(?<!\d)([12])(?!\d)")


class Pair(NamedTuple):
    """Two answers to a question."""

    question: str
    first: str
    second: str


Judge = Callable[[Sequence[Pair]], list[bool | None]]  # whether the first is better; None = undecided


def pairs(questions: Sequence[str], answers: Sequence[str]) -> list[Pair]:
    """Every two of the answers to every question.

    >>> [p.second for p in pairs(["q"], ["a", "b", "c"])]
    ['b', 'c', 'c']
    """
    return [Pair(q, a, b) for q in questions for a, b in combinations(answers, 2)]


@dataclass(frozen=True, slots=True)
class ModelJudge:
    """A language model that is shown both answers twice, in both orders; undecided where it contradicts itself."""

    llm: LLM

    def __call__(self, asked: Sequence[Pair], /) -> list[bool | None]:
        """The verdict on each pair."""
        return [self._verdict(pair) for pair in asked]

    def _verdict(self, pair: Pair) -> bool | None:
        there = self._first(pair.question, pair.first, pair.second)
        back = self._first(pair.question, pair.second, pair.first)
        return there if there is not None and back is (not there) else None

    def _first(self, question: str, one: str, two: str) -> bool | None:
        """Whether the model names answer 1; None where it names none, or both."""
        text = prompt("rlkgf/judge", language="zh" if has_cjk(question) else "en")
        said = self.llm(text.messages(question=question, first=one, second=two), max_tokens=8).text
        found = set(_NUMBER.findall(said))
        return found == {"1"} if len(found) == 1 else None


@dataclass(frozen=True, slots=True)
class ByLikelihood:
    """A language model that prefers the answer that the question makes likelier: log p(a|q) - log p(a|blank).

    The blank question names no symptom; without it the commonest name would win everywhere (Holtzman et al. 2021).
    """

    policy: Policy  # untrained
    blank: str
    at_once: int = 64

    def __call__(self, asked: Sequence[Pair], /) -> list[bool | None]:
        """The verdict on each pair."""
        wanted = [(q, a) for pair in asked for q in (pair.question, self.blank) for a in (pair.first, pair.second)]
        known = list(dict.fromkeys(wanted))
        chance = {key: value for part in self._parts(known) for key, value in part}

        def gain(question: str, answer: str) -> float:
            return chance[question, answer] - chance[self.blank, answer]

        gains = [(gain(p.question, p.first), gain(p.question, p.second)) for p in asked]
        return [None if one == two else one > two for one, two in gains]

    def _parts(self, known: list[tuple[str, str]]) -> Iterator[Iterator[tuple[tuple[str, str], float]]]:
        """The log-probabilities of answers to questions, so many at once."""
        torch = need("torch")
        for i in range(0, len(known), self.at_once):
            part = known[i : i + self.at_once]
            answers = self.policy.encode([q for q, _ in part], [a for _, a in part])
            with torch.inference_mode():
                logp = (self.policy.scores(answers).logp.cpu() * answers.mask).sum(1).tolist()
            yield zip(part, logp, strict=True)


# --- A reward model learnt from a judge's preferences (Bradley and Terry 1952), used as the reward of the same PPO.
# The score of an answer is linear in the words of its question, and pairs of neighbouring words, each crossed with the
# answer: small enough to be learnt from some thousand pairs in seconds, and the same for all policies.


Floats = NDArray[np.float64]
_BIAS = ""


@dataclass(frozen=True, eq=False)
class PreferenceReward:
    """The reward (protocol `Reward`) that a judge's preferences teach: the answer's share among the listed answers.

    An answer that names none of them, or several, gets the floor, as from the graph.
    """

    answers: tuple[str, ...]
    words: dict[str, int]
    weights: Floats  # (words, answers)
    named: Callable[[str], str | None]  # the listed answer that a text names
    floor: float = FLOOR

    def __call__(self, questions: Sequence[Question | str], answers: Sequence[str], /) -> list[float | None]:
        """The reward of each answer."""
        texts = [text_of(q) for q in questions]
        shares = {text: self.shares(text) for text in dict.fromkeys(texts)}
        said = [self.named(answer) for answer in answers]
        place = {answer: i for i, answer in enumerate(self.answers)}
        return [
            float(shares[text][place[name]]) if name in place else self.floor
            for text, name in zip(texts, said, strict=True)
        ]

    def shares(self, question: str) -> Floats:
        """How the listed answers share what there is to prefer (m,); sums to 1."""
        scores = _features([question], self.words)[0] @ self.weights
        raised = np.exp(scores - scores.max())
        return np.asarray(raised / raised.sum())

    def agreement(self, asked: Sequence[Pair], verdicts: Sequence[bool | None]) -> float:
        """The share of decided pairs that it orders as the judge does; 0 where none is decided."""
        place = {answer: i for i, answer in enumerate(self.answers)}
        right = [
            bool(self.shares(pair.question)[[place[pair.first], place[pair.second]]].argmax()) is not first
            for pair, first in zip(asked, verdicts, strict=True)
            if first is not None
        ]
        return sum(right) / len(right) if right else 0.0


def learn(
    judge: Judge,
    asked: Sequence[Pair],
    named: Callable[[str], str | None],
    *,
    decay: float = 0.01,  # ours: weight of the squared weights, a pair
    rate: float = 0.05,  # ours
    rounds: int = 300,  # ours
) -> PreferenceReward:
    """The reward model of a judge's verdicts on pairs; raises `BadInput` where the judge decides none."""
    decided = [(p, first) for p, first in zip(asked, judge(asked), strict=True) if first is not None]
    if not decided:
        raise BadInput("the judge decided on none of the pairs; ask another judge")
    answers = tuple(dict.fromkeys(a for p, _ in decided for a in (p.first, p.second)))
    place = {answer: i for i, answer in enumerate(answers)}
    questions = list(dict.fromkeys(p.question for p, _ in decided))
    at = {question: i for i, question in enumerate(questions)}
    words = {word: i for i, word in enumerate(sorted({w for q in questions for w in _words(q)}))}
    rows = np.array([at[p.question] for p, _ in decided])
    won = np.array([place[p.first if first else p.second] for p, first in decided])
    lost = np.array([place[p.second if first else p.first] for p, first in decided])
    weights = _fitted(_features(questions, words), rows, won, lost, (len(answers), decay, rate, rounds))
    return PreferenceReward(answers, words, weights, named)


def _fitted(
    features: Floats, rows: NDArray[np.int_], won: NDArray[np.int_], lost: NDArray[np.int_],
    numbers: tuple[int, float, float, int],
) -> Floats:  # fmt: skip
    """The weights (words, answers) under which the better answers win most likely, by Adam over all pairs."""
    m, decay, rate, rounds = numbers
    weights, first, second = (np.zeros((features.shape[1], m)) for _ in range(3))
    for t in range(1, rounds + 1):
        scores = features @ weights
        doubt = 1 / (1 + np.exp(scores[rows, won] - scores[rows, lost])) / len(rows)
        pull = np.zeros_like(scores)
        np.add.at(pull, (rows, won), -doubt)
        np.add.at(pull, (rows, lost), doubt)
        slope = features.T @ pull + decay * weights
        first, second = 0.9 * first + 0.1 * slope, 0.999 * second + 0.001 * slope**2
        weights -= rate * (first / (1 - 0.9**t)) / (np.sqrt(second / (1 - 0.999**t)) + 1e-8)
    return weights


def _features(questions: Sequence[str], words: dict[str, int]) -> Floats:
    """Which of the known words each question holds (n, words)."""
    found = np.zeros((len(questions), len(words)))
    for row, question in zip(found, questions, strict=True):
        row[[words[w] for w in _words(question) if w in words]] = 1
    return found


def _words(question: str) -> set[str]:
    """The words of a question, pairs of neighbours among them, and one that every question has."""
    single = [t.text for t in tokens(question)]
    return {_BIAS, *single, *(f"{a} {b}" for a, b in pairwise(single))}
