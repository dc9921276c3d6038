"""ROUGE-1, ROUGE-2 and ROUGE-L (Lin 2004) of an answer against its references, the best reference counting.

ROUGE-N: n-grams in common, each as often as both have it; recall = of the reference's, precision = of the answer's.
ROUGE-L: the same of the longest common subsequence of words, over the whole text. F = 2PR / (P + R). No stemming
unless the name ends in `-stem`; words are those of `words.py`. Equal to rouge-score 0.1.2 on ASCII text.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

from rapidfuzz.distance import LCSseq

from kgmed.evaluate.items import Item
from kgmed.evaluate.metric import Metric
from kgmed.evaluate.metrics.words import words
from kgmed.types import Run


class PRF(NamedTuple):
    """Precision, recall and F."""

    precision: float
    recall: float
    f: float


def _prf(common: int, said: int, wanted: int) -> PRF:
    p, r = common / said if said else 0.0, common / wanted if wanted else 0.0
    return PRF(p, r, 2 * p * r / (p + r) if p + r else 0.0)


def rouge_n(said: Sequence[str], wanted: Sequence[str], n: int) -> PRF:
    """ROUGE-N of two lists of words.

    >>> rouge_n("the cat sat".split(), "the cat ran off".split(), 1)[:2]  # 2 of 3, 2 of 4
    (0.6666666666666666, 0.5)
    """
    a, b = _grams(said, n), _grams(wanted, n)
    return _prf((a & b).total(), a.total(), b.total())


def _grams(text: Sequence[str], n: int) -> Counter[tuple[str, ...]]:
    return Counter(zip(*(text[i:] for i in range(n)), strict=False))


def rouge_l(said: Sequence[str], wanted: Sequence[str]) -> PRF:
    """ROUGE-L of two lists of words.

    >>> rouge_l("a x b y c".split(), "a b c d".split())[:2]  # a b c: 3 of 5, 3 of 4
    (0.6, 0.75)
    """
    if not said or not wanted:
        return PRF(0.0, 0.0, 0.0)
    return _prf(int(LCSseq.similarity(said, wanted)), len(said), len(wanted))


KINDS: dict[str, Callable[[Sequence[str], Sequence[str]], PRF]] = {
    "rouge-1": lambda a, b: rouge_n(a, b, 1),
    "rouge-2": lambda a, b: rouge_n(a, b, 2),
    "rouge-l": rouge_l,
}


def _scorer(kind: str, *, stem: bool) -> Callable[[Run, Item], float | None]:
    def score(run: Run, item: Item) -> float | None:
        said = words(run.answer.text, stem=stem)
        return max((KINDS[kind](said, words(t, stem=stem)).f for t in item.gold.texts), default=None)

    return score


def against_reference(run: Run, item: Item) -> float | None:
    """ROUGE-R against the reference: the share of its words that the answer says, over all references the best."""
    said = words(run.answer.text)
    return max((rouge_n(said, words(t), 1).recall for t in item.gold.texts), default=None)


def against_knowledge(run: Run, item: Item) -> float | None:
    """ROUGE-R against the knowledge: the share of the shown evidence's words that the answer says."""
    shown = " ".join(e.text for e in run.context.cited)
    return rouge_n(words(run.answer.text), words(shown), 1).recall if shown else None


_LIN = "Lin 2004, ROUGE: A package for automatic evaluation of summaries"
_HYKGE = "HyKGE 4.1.3, which does not say against what nor n; unigrams here"
METRICS = (
    *(
        Metric(kind, "F of n-grams or of the longest common subsequence", _LIN, _scorer(kind, stem=False))
        for kind in KINDS
    ),
    *(Metric(f"{kind}-stem", "the same of Porter stems", _LIN, _scorer(kind, stem=True)) for kind in KINDS),
    Metric("rouge-r-reference", "recall of the reference's unigrams", _HYKGE, against_reference),
    Metric("rouge-r-knowledge", "recall of the shown evidence's unigrams", _HYKGE, against_knowledge),
)
