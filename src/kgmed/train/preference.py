"""A reward model learnt from a judge's preferences (Bradley and Terry 1952), used as the reward of the same PPO.

The score of an answer is linear in the words of its question, and pairs of neighbouring words, each crossed with the
answer: small enough to be learnt from some thousand pairs in seconds, and the same for all policies.
"""

import re
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise, zip_longest
from math import inf, sqrt
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from kgmed.errors import BadInput, SourceError
from kgmed.language.text import has_cjk, tokens
from kgmed.models.base import LLM
from kgmed.pipeline import Reward
from kgmed.prompts import prompt
from kgmed.records import Question
from kgmed.reward.cases import text_of
from kgmed.train import base
from kgmed.train.base import Policy, need
from kgmed.train.task import FLOOR, policy_answers

# --- Judges of RLAIF (Lee et al. 2023): which of two answers to a question is better, without a label or a graph.


_NUMBER = re.compile(r"(?<!\d)([12])(?!\d)")


class Pair(NamedTuple):
    """Two answers to a question."""

    question: str
    first: str
    second: str


class Judge(Protocol):
    """Says of pairs which answer is better."""

    @property
    def name(self) -> str:
        """Who judges."""
        ...

    def __call__(self, asked: Sequence[Pair], /) -> list[bool | None]:
        """Whether the first answer of each pair is better; None = undecided."""
        ...


def response_pairs(
    policy: Policy, questions: Sequence[str], named: Callable[[str], str | None], *, most: int, samples: int = 8,
    seed: int = 0,
) -> list[Pair]:  # fmt: skip
    """At most so many pairs of responses that name two diseases: a pair of each question, then a second, and so on.

    Of each question come its likeliest response and drawn ones, `samples` at most, until there are enough pairs. Where
    one of two names no disease, or both the same, nothing is to be learnt: what such an answer is worth is fixed, and a
    judge would be asked for nothing. Raises `BadInput` where there is no pair at all.
    """
    generator = need("torch").Generator().manual_seed(seed)
    asked = list(dict.fromkeys(questions))
    said: list[dict[str, str]] = [{} for _ in asked]  # the response that named a disease first
    found: list[list[Pair]] = [[] for _ in asked]
    for turn in range(samples + 1):
        texts = policy_answers(policy, asked, generator if turn else None).texts
        for question, text, before, pairs in zip(asked, texts, said, found, strict=True):
            name = named(text)
            if name and name not in before:
                pairs += [Pair(question, other, text) for other in before.values()]
                before[name] = text
        if sum(map(len, found)) >= most:
            break
    if not any(found):
        raise BadInput("no question has responses that name two diseases; warm the policy up: sft --labels random")
    return [p for turn in zip_longest(*found) for p in turn if p is not None][:most]


@dataclass(frozen=True, slots=True)
class ByLabels:
    """Prefers the diagnosis: what RLAIF would come to under a judge that is always right. It uses labels: no rival."""

    disease_of: Mapping[str, str]  # question -> diagnosis
    named: Callable[[str], str | None]
    name: str = "labels"

    def __call__(self, asked: Sequence[Pair], /) -> list[bool | None]:
        """The verdict on each pair; undecided where both are right or neither is."""
        right = [[self.named(text) == self.disease_of[p.question] for text in (p.first, p.second)] for p in asked]
        return [None if one is two else one for one, two in right]


@dataclass(frozen=True, slots=True)
class ModelJudge:
    """A language model that is shown both answers twice, in both orders; undecided where it contradicts itself."""

    llm: LLM
    at_once: int = 8

    @property
    def name(self) -> str:
        """The model."""
        return self.llm.name

    def __call__(self, asked: Sequence[Pair], /) -> list[bool | None]:
        """The verdict on each pair."""
        with ThreadPoolExecutor(self.at_once) as workers:
            return list(workers.map(self._verdict, asked))

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


def kept_verdicts(
    judge: Judge, asked: Sequence[Pair], path: Path, *, each: int = 8, tell: Callable[[int], None] = lambda n: None
) -> list[bool | None]:
    """The verdicts on all pairs: those that a file holds, and the judge's on the rest, which the file gets then.

    So a judging that was stopped, by its budget or by hand, goes on where it was. Raises `SourceError`.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = base.read(path)
    if not rows:
        base.append(path, {"judge": judge.name})
    elif rows[0].get("judge") != judge.name:
        raise BadInput(f"{path} holds verdicts of {rows[0].get('judge')}, not {judge.name}; name another folder")
    known = _known(path, rows[1:])
    left = [pair for pair in dict.fromkeys(asked) if pair not in known]
    for i in range(0, len(left), each):
        part = left[i : i + each]
        for pair, first in zip(part, judge(part), strict=True):
            base.append(path, {"pair": list(pair), "first": first})
            known[pair] = first
        tell(len(left) - i - len(part))
    return [known[pair] for pair in asked]


def _known(path: Path, rows: Sequence[Mapping[str, Any]]) -> dict[Pair, bool | None]:
    try:
        return {Pair(*row["pair"]): row["first"] for row in rows}
    except (KeyError, TypeError) as error:
        raise SourceError(path, 0, "a line that is no verdict", "remove the line, or the file to judge anew") from error


@dataclass(frozen=True, slots=True)
class JudgeReport:
    """How a judge did: on how many pairs it decided, and how often as the labels do; and its reward model's agreement.

    Labels tell only of pairs of which one answer, and not the other, names the disease that was diagnosed.
    """

    pairs: int
    decided: int
    labelled: int
    as_labels: int
    held: int  # decided pairs of questions that the reward model was not taught on
    as_judge: int

    def lines(self) -> list[str]:
        """What it says, in two lines."""
        return [
            f"the judge decided on {self.decided} of {self.pairs} pairs, "
            f"as the labels do in {_share(self.as_labels, self.labelled)} of those that labels tell",
            f"its reward model agrees with it on {_share(self.as_judge, self.held)} of the pairs held out",
        ]


def _share(right: int, n: int) -> str:
    """A share with its standard error and what it is of.

    >>> _share(3, 4)
    '.750 ± .217 (n = 4)'
    """
    if not n:
        return "none"
    p = right / n
    return f"{p:.3f} ± {sqrt(p * (1 - p) / n):.3f} (n = {n})".replace("0.", ".")


def judge_report(
    asked: Sequence[Pair], verdicts: Sequence[bool | None], disease_of: Mapping[str, str],
    named: Callable[[str], str | None], reward: Reward, taught: Container[str],
) -> JudgeReport:  # fmt: skip
    """The report on a judge and the reward model of its verdicts; `taught` = the questions that this learnt from."""
    decided = [(p, first) for p, first in zip(asked, verdicts, strict=True) if first is not None]
    told = []
    for pair, first in decided:
        disease = disease_of.get(pair.question)
        right = [named(pair.first) == disease, named(pair.second) == disease]
        told += [right[0] is first] if disease and right[0] is not right[1] else []
    held = [(p, first) for p, first in decided if p.question not in taught]
    return JudgeReport(len(asked), len(decided), len(told), sum(told), len(held), agreeing(reward, held))


def agreeing(reward: Reward, decided: Sequence[tuple[Pair, bool]]) -> int:
    """How many decided pairs a reward orders as the judge does."""
    one = reward([p.question for p, _ in decided], [p.first for p, _ in decided])
    two = reward([p.question for p, _ in decided], [p.second for p, _ in decided])
    rows = zip(decided, one, two, strict=True)
    return sum((a or 0.0) > (b or 0.0) if first else (a or 0.0) < (b or 0.0) for (_, first), a, b in rows)


@dataclass(frozen=True, slots=True)
class ByLikelihood:
    """A language model that prefers the answer that the question makes likelier: log p(a|q) - log p(a|blank).

    The blank question names no symptom; without it the commonest name would win everywhere (Holtzman et al. 2021). Of
    answers the names count alone; one that names none is worse than one that does.
    """

    policy: Policy  # untrained
    blank: str
    named: Callable[[str], str | None]
    at_once: int = 64

    @property
    def name(self) -> str:
        """The model."""
        return f"likelihood of {self.policy.name}"

    def __call__(self, asked: Sequence[Pair], /) -> list[bool | None]:
        """The verdict on each pair."""
        said = [(p.question, self.named(p.first), self.named(p.second)) for p in asked]
        names = [(q, name) for q, *both in said for name in both if name]
        known = list(dict.fromkeys([*names, *((self.blank, name) for _, name in names)]))
        chance = {key: value for part in self._parts(known) for key, value in part}

        def gain(question: str, answer: str | None) -> float:
            return chance[question, answer] - chance[self.blank, answer] if answer else -inf

        gains = [(gain(q, one), gain(q, two)) for q, one, two in said]
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


def learn(
    decided: Sequence[tuple[Pair, bool]],
    named: Callable[[str], str | None],
    *,
    decay: float = 0.01,  # ours: weight of the squared weights, a pair
    rate: float = 0.05,  # ours
    rounds: int = 300,  # ours
) -> PreferenceReward:
    """The reward model of verdicts on pairs, by the names in their answers; raises `BadInput` where none can teach."""
    by_name = [(Pair(p.question, named(p.first) or "", named(p.second) or ""), first) for p, first in decided]
    decided = [(p, first) for p, first in by_name if p.first and p.second and p.first != p.second]
    if not decided:
        raise BadInput(
            "the judge decided on no pair of answers that name diseases; ask another judge, or for more pairs"
        )
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
