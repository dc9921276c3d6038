"""GPT-4's recorded answers to LiveQA with KG-Rank's rankings: what the recorded "ROUGE-L" is, and what ROUGE-L is.

The recorded numbers (ahmedinhotahiru/kg-rank-plus, scores_*) are no F of ROUGE-L. They are 1.2 PR / (0.1 P + R) of the
longest common subsequence, of lower-cased words and marks as NLTK splits them, sentence by sentence, all stemmed by
Porter: a text against itself has 109.09. Precision P and recall R are of the whole text. With NLTK 3.9.1 and its
trained English sentence splitter that is recorded to 3e-4; with later releases, which split words otherwise, or with
the splitter untrained, to 0.02 (of 100).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rapidfuzz.distance import LCSseq

from kgmed.errors import SourceError, Unavailable
from kgmed.evaluate.datasets.files import FETCH, csv_rows, field
from kgmed.evaluate.metrics.rouge import rouge_l
from kgmed.evaluate.metrics.words import words
from kgmed.evaluate.statistics import Difference, Mean, mean, paired

SCORES = "liveqa_medical/kgrank_plus_scores"
ANSWERS = {  # the ranking, and the file of its single-hop answers
    "medcpt": "liveqa_medical/kgrank_plus_results/LiveQA_gpt4_medcpt_results_20250411_102835_single.csv",
    "similarity": "liveqa_medical/kgrank_plus_results/LiveQA_gpt4_similarity_results_20250402_170058.csv",
}
CLOSE = 0.02  # of 100: how near the recorded number must come out
NO_BERTSCORE = "BERTScore and BLEURT are not computed: roberta-large and BLEURT-20, which they need, are not at hand"
_COLUMNS = ("ROUGE-L", "BERTScore", "BLEURT", "ranking_method")


@dataclass(frozen=True, slots=True)
class Recorded:
    """The recorded means of one ranking, of 100, with one hop or several."""

    ranking: str
    hops: str
    rouge_l: float
    bertscore: float
    bleurt: float


@dataclass(frozen=True, slots=True)
class Answered:
    """One ranking whose answers are recorded: the recorded number, the same computed, and ROUGE-L proper; of 100."""

    ranking: str
    n: int
    recorded: float
    recomputed: Mean
    rouge_l: Mean
    rouge_l_stem: Mean

    @property
    def reproduced(self) -> bool:
        """Whether the recorded number comes out."""
        return abs(self.recomputed.mean - self.recorded) < CLOSE


def recorded(data: Path) -> list[Recorded]:
    """The recorded means of every ranking; raises `SourceError`."""
    folder = data / SCORES
    files = sorted(folder.glob("*.csv"))
    if not files:
        raise SourceError(folder, 0, "holds no scores", FETCH)
    found = []
    for path in files:
        for line, row in csv_rows(path, _COLUMNS):
            rouge, bert, bleurt = (_number(path, line, row, name) for name in _COLUMNS[:3])
            name = field(path, line, row, "ranking_method").removeprefix("rerank_")
            found.append(Recorded(name, "several" if "multihop" in path.name else "one", rouge, bert, bleurt))
    return found


def _number(path: Path, line: int, row: dict[str, str], name: str) -> float:
    try:
        return float(row[name])
    except ValueError:
        raise SourceError(path, line, f"{name} is no number", FETCH) from None


def pairs(data: Path, ranking: str) -> list[tuple[str, str, str]]:
    """Question, answer and reference of every row; raises `SourceError`."""
    path = data / ANSWERS[ranking]
    names = ("Question", "Generated_Answer", "Reference_Answer")
    rows = [(row["Question"], *(field(path, line, row, n) for n in names[1:])) for line, row in csv_rows(path, names)]
    if not rows:
        raise SourceError(path, 0, "holds no answer", FETCH)
    return [(question, answer, reference) for question, answer, reference in rows]


def weighted(said: Sequence[str], wanted: Sequence[str]) -> float:
    """The number that was recorded as ROUGE-L: above 1 where both are alike.

    >>> round(weighted("a b c d".split(), "a b c d".split()), 4)  # 1.2 / 1.1
    1.0909
    >>> round(weighted("a x".split(), "a b c d".split()), 4)  # P 1/2, R 1/4: 1.2 x 1/8 / (1/20 + 1/4)
    0.5
    """
    common = LCSseq.similarity(said, wanted)
    if not common:
        return 0.0
    p, r = common / len(said), common / len(wanted)
    return 1.2 * p * r / (0.1 * p + r)


class Splitter:
    """Splits texts as the recorded number was computed; needs NLTK, and its `punkt_tab` for the trained splitter."""

    def __init__(self) -> None:
        """Load the tools; raises `Unavailable`."""
        try:
            from nltk.stem.porter import PorterStemmer
            from nltk.tokenize import NLTKWordTokenizer
        except ImportError:
            raise Unavailable('the recorded ROUGE-L needs nltk; pip install "kgmed[eval]"') from None
        self._stem = PorterStemmer().stem
        self._words = NLTKWordTokenizer().tokenize
        self.trained, self._sentences = _sentences()

    def __call__(self, text: str) -> list[str]:
        """The stems of a text."""
        return [self._stem(word) for part in self._sentences(text.lower()) for word in self._words(part)]


def _sentences() -> tuple[bool, Any]:
    """Whether the sentence splitter is a trained one, and what splits."""
    from nltk.tokenize.punkt import PunktSentenceTokenizer, PunktTokenizer

    try:
        return True, PunktTokenizer("english").tokenize
    except LookupError:
        return False, PunktSentenceTokenizer().tokenize


def rescore(data: Path) -> list[Answered]:
    """Every ranking whose answers are recorded."""
    split, means = Splitter(), {r.ranking: r.rouge_l for r in recorded(data) if r.hops == "one"}
    found = []
    for ranking in ANSWERS:
        if ranking not in means:
            raise SourceError(data / SCORES, 0, f"holds no score of {ranking} with one hop", FETCH)
        rows = pairs(data, ranking)
        again = [100 * weighted(split(said), split(wanted)) for _, said, wanted in rows]
        plain, stems = (mean(rouge(rows, stem=stem)) for stem in (False, True))
        found.append(Answered(ranking, len(rows), means[ranking], mean(again), plain, stems))
    return found


def rouge(rows: Sequence[tuple[str, str, str]], *, stem: bool) -> list[float]:
    """ROUGE-L proper of each answer (F, of 100), as rouge-score has it."""
    return [100 * rouge_l(words(said, stem=stem), words(wanted, stem=stem)).f for _, said, wanted in rows]


def between(data: Path) -> Difference:
    """ROUGE-L of MedCPT's answers less that of similarity's, question by question (paired bootstrap)."""
    first, second = (pairs(data, ranking) for ranking in ("medcpt", "similarity"))
    if [q for q, *_ in first] != [q for q, *_ in second]:
        raise SourceError(data / ANSWERS["similarity"], 0, "has other questions than medcpt's", FETCH)
    return paired(rouge(first, stem=False), rouge(second, stem=False))
