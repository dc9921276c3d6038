"""Judges of RLAIF (Lee et al. 2023): which of two answers to a question is better, without a label or a graph."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

from kgmed.kg.text import has_cjk
from kgmed.prompts import prompt
from kgmed.stages import LLM
from kgmed.train.extra import need
from kgmed.train.policy import Policy

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
class ByModel:
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
