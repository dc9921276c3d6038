"""Metrics of the words of an answer against references: ROUGE, BLEU, exact match."""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from math import exp, log
from typing import NamedTuple, Protocol

from rapidfuzz.distance import LCSseq

from kgmed.evaluate.items import Item, Metric
from kgmed.records import Run
from kgmed.registry import metrics

# --- The words that text metrics compare, by language.
# English and other scripts with spaces: lower-cased runs of letters and digits, as in the rouge-score package for ASCII
# text, but with letters of every script. Chinese and Japanese: characters, as the papers score them; Latin words and
# numbers among them stay whole. Korean: syllables, since its particles are written onto the words.


_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_HANGUL = "\uac00-\ud7a3"
_WORD = re.compile(rf"[{_CJK}{_HANGUL}]|[^\W_{_CJK}{_HANGUL}]+")
_ASCII = re.compile(r"[a-z0-9]+")


def words(text: str, *, stem: bool = False) -> list[str]:
    """The words of a text; `stem` = English words of more than three letters by Porter's algorithm.

    >>> words("Take 2 tablets daily!"), words("服用阿司匹林 100mg"), words("Ugonjwa wa kisukari"), words("두통약")
    (['take', '2', 'tablets', 'daily'], ['服', '用', '阿', '司', '匹', '林', '100mg'], \
['ugonjwa', 'wa', 'kisukari'], ['두', '통', '약'])
    """
    lower = text.lower()
    found = _ASCII.findall(lower) if lower.isascii() else _WORD.findall(unicodedata.normalize("NFKC", lower))
    return [_stem(w) if len(w) > 3 and w.isascii() else w for w in found] if stem else found


@lru_cache(maxsize=1 << 16)
def _stem(word: str) -> str:
    return _porter().stem(word)


@lru_cache(maxsize=1)
def _porter() -> "_Stemmer":
    """NLTK's Porter stemmer, which the rouge-score package uses; raises `Unavailable`."""
    from kgmed.errors import Unavailable

    try:
        from nltk.stem.porter import PorterStemmer
    except ImportError:
        raise Unavailable('stemming needs nltk; pip install "kgmed[eval]"') from None
    stemmer: _Stemmer = PorterStemmer()
    return stemmer


class _Stemmer(Protocol):
    def stem(self, word: str, /) -> str: ...


# --- BLEU-1 to BLEU-4 (Papineni et al. 2002): cumulative, with brevity penalty, against all references, not smoothed.
# BLEU-n = BP x (p_1 ... p_n)^(1/n), p_k = the answer's k-grams that a reference has, clipped at the most that any one
# has, over all its k-grams; BP = exp(1 - r/c) where the answer is shorter (c) than the reference nearest in length (r).
# An answer that shares no n-gram scores 0, and BLEU-4 is never above BLEU-1. Of single answers here; `corpus` adds the
# counts of all up, as the paper does: there one-word answers, which have no longer n-grams, can turn that order round.


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
        return None if not item.gold.texts else bleu(words(run.answer.text), [words(t) for t in item.gold.texts], n)

    return score


for n in range(1, MOST + 1):
    metrics.add(
        Metric(f"bleu-{n}", f"brevity penalty x geometric mean of p_1..p_{n}", "Papineni et al. 2002, BLEU", _scorer(n))
    )


# --- ROUGE-1, ROUGE-2 and ROUGE-L (Lin 2004) of an answer against its references, the best reference counting.
# ROUGE-N: n-grams in common, each as often as both have it; recall = of the reference's, precision = of the answer's.
# ROUGE-L: the same of the longest common subsequence of words, over the whole text. F = 2PR / (P + R). No stemming
# unless the name ends in `-stem`; words are those of `words.py`. Equal to rouge-score 0.1.2 on ASCII text.


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


def _rouge_scorer(kind: str, *, stem: bool) -> Callable[[Run, Item], float | None]:
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


_LIN = "Lin 2004, ROUGE"
_HYKGE = "HyKGE 4.1.3, which does not say against what nor n; unigrams here"
for kind in KINDS:
    metrics.add(
        Metric(kind, "F of n-grams or of the longest common subsequence", _LIN, _rouge_scorer(kind, stem=False))
    )
for kind in KINDS:
    metrics.add(Metric(f"{kind}-stem", "the same of Porter stems", _LIN, _rouge_scorer(kind, stem=True)))
metrics.add(Metric("rouge-r-reference", "recall of the reference's unigrams", _HYKGE, against_reference))
metrics.add(Metric("rouge-r-knowledge", "recall of the shown evidence's unigrams", _HYKGE, against_knowledge))


# --- Short answers: whether the answer is a reference word for word, or holds one.
# Words are those of `words.py`, English articles left out, as SQuAD leaves out articles and punctuation.


_ARTICLES = frozenset({"a", "an", "the"})


def plain(text: str) -> list[str]:
    """The words that count.

    >>> plain("The Marfan syndrome."), plain("痛风。")
    (['marfan', 'syndrome'], ['痛', '风'])
    """
    return [word for word in words(text) if word not in _ARTICLES]


def holds(said: Sequence[str], wanted: Sequence[str]) -> bool:
    """Whether the words that are wanted stand in what is said, together and in their order; never where none is wanted.

    >>> holds(["it", "is", "gout", "attack"], ["gout"]), holds(["gout", "of", "foot"], ["gout", "foot"])
    (True, False)
    """
    n = len(wanted)
    return n > 0 and any(list(said[i : i + n]) == list(wanted) for i in range(len(said) - n + 1))


def exact(run: Run, item: Item) -> float | None:
    """1 where the answer is one of the reference texts; None where there is none."""
    said = plain(run.answer.text)
    return max((float(said == plain(text)) for text in item.gold.texts), default=None)


def contains_reference(run: Run, item: Item) -> float | None:
    """1 where the answer holds one of the reference texts; None where there is none."""
    said = plain(run.answer.text)
    return max((float(holds(said, plain(text))) for text in item.gold.texts), default=None)


metrics.add(
    Metric("exact", "the words of the answer = those of a reference", "Rajpurkar et al. 2016, SQuAD (EM)", exact)
)
metrics.add(
    Metric(
        "held",
        "a reference stands in the answer",
        "Mallen et al. 2023, When Not to Trust Language Models",
        contains_reference,
    )
)
