"""Reader: a summary of the evidence for each candidate answer; the best supported is the answer (SuRe)."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import permutations
from pathlib import Path
from typing import ClassVar

from kgmed.models.replies import number, short_text, some, yes
from kgmed.models.structured import Tally, strings_schema
from kgmed.read.nothing import nothing
from kgmed.read.stepwise import Steps, answered
from kgmed.stages import LLM
from kgmed.types import Answer, Candidate, Context, Query, Question


@dataclass(frozen=True, slots=True)
class SummarisedReader:
    """`most` candidates; a summary for each, whether it bears its candidate out, and every two compared both ways.

    1 + 2k + k(k - 1) calls for k candidates. The score is 1 for a valid summary and 1 for each comparison won; of
    equals the first. Without evidence it abstains and the model is not asked.
    """

    chooses: ClassVar[str] = "after thinking"
    llm: LLM
    most: int = 2
    candidate_tokens: int = 96
    summary_tokens: int = 200
    check_tokens: int = 32
    prompts: Path | None = None
    tally: Tally = field(default_factory=Tally)

    def __call__(self, query: Query, context: Context, /) -> Answer:
        """The best candidate with its summary, whose marks are the citations."""
        question, reader = query.question, f"sure {self.llm.name}"
        if not context.cited:
            return nothing(question, context, reader)
        key, shape = partial(some, key="answers"), strings_schema("answers", least=1, most=self.most)
        propose = self._steps(self.candidate_tokens)
        shown, said = propose.read("candidates", question, context, key, shape, count=str(self.most))
        names = said[: self.most]
        summaries = [self._summary(question, context, name) for name in names]
        scores = self._scores(question, names, summaries)
        best = scores.index(max(scores))
        reasoning = "\n".join(f"{n} ({s:g}): {text}" for n, s, text in zip(names, scores, summaries, strict=True))
        answer = answered(_joined(names[best], summaries[best]), question, context, shown=shown, reader=reader,
                          reasoning=reasoning)  # fmt: skip
        return _with_candidates(answer, names, scores)

    def _steps(self, max_tokens: int) -> Steps:
        return Steps(self.llm, "sure", max_tokens, self.prompts, self.tally)

    def _summary(self, question: Question, context: Context, name: str) -> str:
        """What of the evidence speaks for a candidate."""
        return self._steps(self.summary_tokens).read("summarise", question, context, short_text, answer=name)[1]

    def _scores(self, question: Question, names: Sequence[str], summaries: Sequence[str]) -> list[float]:
        """One score a candidate."""
        ask = self._steps(self.check_tokens).ask
        rows = zip(names, summaries, strict=True)
        scores = [float(ask("valid", question, yes, answer=name, summary=text)) for name, text in rows]
        for i, j in permutations(range(len(names)), 2):
            won = ask("compare", question, partial(number, most=2), first=summaries[i], second=summaries[j])
            scores[i if won == 1 else j] += 1
        return scores


def _joined(name: str, summary: str) -> str:
    """The candidate before its summary, where the summary does not name it."""
    return summary if name.casefold() in summary.casefold() else f"{name}. {summary}"


def _with_candidates(answer: Answer, names: Sequence[str], scores: Sequence[float]) -> Answer:
    """The answer with all candidates, best first."""
    found = tuple(Candidate(name, score) for name, score in zip(names, scores, strict=True))
    return replace(answer, candidates=tuple(sorted(found, key=lambda c: -c.score)))
