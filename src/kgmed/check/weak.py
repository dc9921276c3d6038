"""A reader that says nothing where the best evidence is weak.

The rule: the strength of the evidence is the highest score that the method's last ranker gave to any piece that the
reader would be shown; warnings and descriptions, which no ranker chose, do not count. Below `at_least` the answer is
that the evidence is too weak, with both numbers. Scores are those of the method (a cosine, a share of a chain's
words, a frequency): a threshold fits one method, and is chosen on questions of one's own.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from kgmed.kg.language import prompt_language
from kgmed.stages import Reader
from kgmed.types import Answer, Context, Evidence, Query

UNRANKED = frozenset({"warning", "description"})
_SAID = {
    "en": "The evidence is too weak to answer from: its best score is {best:.3g}, and {at_least:.3g} is asked for.",
    "zh": "证据太弱，无法据此回答：最高得分为 {best:.3g}，要求至少 {at_least:.3g}。",
}


@dataclass(frozen=True, slots=True)
class UnlessWeak:
    """Abstains below `at_least`; else the answer of another reader. Without evidence it leaves that to the other."""

    read: Reader
    at_least: float

    def __call__(self, query: Query, context: Context, /) -> Answer:
        """The answer; one that abstains names the rule in `limits`."""
        best = strength(context.cited)
        if best is None or best >= self.at_least:
            return self.read(query, context)
        said = _SAID[prompt_language(query.question)].format(best=best, at_least=self.at_least)
        rule = f"abstained: best score of the evidence {best:.3g} is below {self.at_least:.3g}"
        return Answer(said, abstained=True, limits=rule, reader="none")


def strength(cited: Sequence[Evidence]) -> float | None:
    """The best score of the evidence that a ranker chose; None where there is none.

    >>> strength([Evidence("a", "triple", score=0.2), Evidence("b", "warning", score=9.0)])
    0.2
    """
    return max((e.score for e in cited if e.kind not in UNRANKED), default=None)
