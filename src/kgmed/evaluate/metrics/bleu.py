"""BLEU-1 to BLEU-4 (Papineni et al. 2002): cumulative, with brevity penalty, against all references, not smoothed.

BLEU-n = BP x (p_1 ... p_n)^(1/n), p_k = the answer's k-grams that a reference has, clipped at the most that any one
has, over all its k-grams; BP = exp(1 - r/c) where the answer is shorter (c) than the reference nearest in length (r).
An answer that shares no n-gram scores 0, and BLEU-4 is never above BLEU-1. Of single answers here; `corpus` adds the
counts of all up, as the paper does: there one-word answers, which have no longer n-grams, can turn that order round.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from math import exp, log

from kgmed.evaluate.items import Item
from kgmed.evaluate.metric import Metric
from kgmed.evaluate.metrics.words import words
from kgmed.types import Run

MOST = 4


@dataclass(slots=True)
class Counts:
    """Matches and totals of k-grams for k = 1..4, and the lengths."""

    matched: list[int] = field(default_factory=lambda: [0] * MOST)
    total: list[int] = field(default_factory=lambda: [0] * MOST)
    said: int = 0
    wanted: int = 0

    def add(self, answer: Sequence[str], references: Sequence[Sequence[str]], upto: int = MOST) -> None:
        """Count one answer's k-grams for k = 1..`upto`."""
        self.said += len(answer)
        self.wanted += min((abs(len(r) - len(answer)), len(r)) for r in references)[1]
        for k in range(1, upto + 1):
            said = _grams(answer, k)
            most = [_grams(reference, k) for reference in references]
            self.matched[k - 1] += sum(min(n, max(one[gram] for one in most)) for gram, n in said.items())
            self.total[k - 1] += max(0, len(answer) - k + 1)

    def bleu(self, n: int) -> float:
        """BLEU-n of what was counted."""
        if not all(self.matched[:n]):
            return 0.0
        mean = sum(log(m / t) for m, t in zip(self.matched[:n], self.total[:n], strict=True)) / n
        return exp(mean) * (1.0 if self.said >= self.wanted else exp(1 - self.wanted / self.said))


def _grams(text: Sequence[str], n: int) -> Counter[tuple[str, ...]]:
    return Counter(zip(*(text[i:] for i in range(n)), strict=False))


def bleu(answer: Sequence[str], references: Sequence[Sequence[str]], n: int) -> float:
    """BLEU-n of one answer.

    >>> round(bleu("the cat sat".split(), ["the cat ran off".split()], 1), 4)  # 2/3 x exp(1 - 4/3)
    0.4777
    """
    counts = Counts()
    counts.add(answer, references, n)
    return counts.bleu(n)


def corpus(pairs: Iterable[tuple[Sequence[str], Sequence[Sequence[str]]]]) -> list[float]:
    """BLEU-1..4 over all answers with their references."""
    counts = Counts()
    for answer, references in pairs:
        counts.add(answer, references)
    return [counts.bleu(n) for n in range(1, MOST + 1)]


def _scorer(n: int) -> Callable[[Run, Item], float | None]:
    def score(run: Run, item: Item) -> float | None:
        if not item.gold.texts:
            return None
        return bleu(words(run.answer.text), [words(t) for t in item.gold.texts], n)

    return score


METRICS = tuple(
    Metric(f"bleu-{n}", f"brevity penalty x geometric mean of p_1..p_{n}", "Papineni et al. 2002, BLEU", _scorer(n))
    for n in range(1, MOST + 1)
)
