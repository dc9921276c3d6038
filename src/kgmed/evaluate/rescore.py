"""Recorded answers of the papers scored again: do the recorded numbers come out, and what do ours say?"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rapidfuzz.distance import LCSseq

from kgmed.errors import SourceError, Unavailable
from kgmed.evaluate.datasets.files import FETCH, csv_rows, field
from kgmed.evaluate.datasets.questions import options_within
from kgmed.evaluate.metrics.text import rouge_l, words
from kgmed.evaluate.scores import Difference, Mean, mean, paired_bootstrap
from kgmed.steps.options import ParsedChoice, parse_choice

# --- MindMap's recorded replies to 400 questions of ExplainCPE: the recorded grades, and ours from the raw text.
# The file (wyl-willing/MindMap, output/explainpe) holds for each of six systems the reply and a grade: 1 right,
# 0 wrong, 2 failed. A reply that names several options is graded there, nearly always, by the first of them that a
# colon follows ("A: ..."), and so it is here; by the strict score, a reply that names two has not chosen.


SYSTEMS = {  # the column of replies, the column of grades
    "MindMap": ("MindMap_output1", "mindmap_acc"),
    "GPT-3.5": ("chatgpt", "chatgpt_acc"),
    "GPT-4": ("gpt4", "gpt4_acc"),
    "BM25": ("document+bm25", "bm25_acc"),
    "embedding": ("document+embedding", "embedding_acc"),
    "KG retriever": ("kg_retrival", "kg_acc"),
}
RECORDED = "explaincpe/mindmap_output_explainpe_acc_final.csv"  # in the data folder
GRADES = {"1": "right", "0": "wrong", "2": "failed"}
WANTED = 0.98  # the agreement asked for
_HEAD = re.compile(r"([A-Z])\s*[:：]")


@dataclass(frozen=True, slots=True)
class RecordedReply:
    """One system's recorded reply to the question of a row, its recorded grade, and what we read in it."""

    row: int
    system: str
    text: str
    gold: str
    grade: str
    parsed: ParsedChoice

    @property
    def ours(self) -> str:
        """Our grade: of the option named (of several the first that a colon follows), failed where none can be told."""
        if len(self.parsed.letters) < 2:
            return self.strict
        head = _HEAD.search(self.text)
        return "right" if head and head.group(1) == self.gold else "wrong"

    @property
    def strict(self) -> str:
        """Right where the right option is named and no other, failed where none can be told."""
        return "failed" if not self.parsed.letters else "right" if self.parsed.letters == (self.gold,) else "wrong"

    @property
    def reason(self) -> str:
        """Why both grades differ, by what is in the text: "" where they agree."""
        return "" if self.ours == self.grade else f"{self._names()}, graded {self.grade}"

    def _names(self) -> str:
        letters = self.parsed.letters
        if len(letters) > 1:
            return f"several options, the right one {'first' if self.ours == 'right' else 'not first'}"
        if letters:
            return "the right option alone" if letters == (self.gold,) else "another option alone"
        return "at odds with itself" if self.parsed.how else "no option can be told"


Grades = Mapping[tuple[int, tuple[str, ...]], set[str]]  # by row and letters named


@dataclass(frozen=True, slots=True)
class Rescored:
    """One system: grades recorded and ours in number, and in how many of the n replies both agree.

    `strict`: how many are right where a reply that names several options has not chosen. `several`: recorded grades of
    those replies. `contradicted`: replies that name one option alone whose recorded grade says otherwise. `unequal`:
    replies that name an option alone for which the same question has both grades on record, once for this system and
    once for another, so that no parser which grades by the option named can agree with both; `agreeing_equal` of the
    others agree. Percentages are of n.
    """

    system: str
    n: int
    recorded: dict[str, int]
    ours: dict[str, int]
    strict: int
    agreeing: int
    several: dict[str, int]
    contradicted: int
    unequal: int
    agreeing_equal: int

    @property
    def agreement(self) -> float:
        """The share of replies with the same grade."""
        return self.agreeing / self.n

    @property
    def agreement_equal(self) -> float:
        """The same, of the replies whose answer is not graded in two ways; `nan` where every one is."""
        return self.agreeing_equal / (self.n - self.unequal) if self.n > self.unequal else float("nan")


def read(data: Path) -> list[RecordedReply]:
    """All replies, system by system; raises `SourceError` for a row that is not as it should be."""
    path = data / RECORDED
    columns = ("Question", "label_choice", *(name for pair in SYSTEMS.values() for name in pair))
    rows = list(csv_rows(path, columns))
    if not rows:
        raise SourceError(path, 0, "holds no row", FETCH)
    found = [[_reply(path, line, i, system, row) for system in SYSTEMS] for i, (line, row) in enumerate(rows)]
    return [reply for replies in zip(*found, strict=True) for reply in replies]


def _reply(path: Path, line: int, number: int, system: str, row: dict[str, str]) -> RecordedReply:
    text, graded = (row[name] for name in SYSTEMS[system])
    options = options_within(row["Question"])
    gold, grade = row["label_choice"].strip(), GRADES.get(graded.strip(), "")
    if gold not in {letter for letter, _ in options}:
        raise SourceError(path, line, f"the right option {gold!r} is not among those of the question", FETCH)
    if not grade:
        raise SourceError(path, line, f"{SYSTEMS[system][1]} is {graded!r}, not one of {', '.join(GRADES)}", FETCH)
    return RecordedReply(number, system, text, gold, grade, parse_choice(text, options))


def rescore_explaincpe(replies: Sequence[RecordedReply]) -> list[Rescored]:
    """Recorded and our own scores of every system."""
    grades: dict[tuple[int, tuple[str, ...]], set[str]] = {}
    for r in replies:
        grades.setdefault((r.row, r.parsed.letters), set()).add(r.grade)
    return [_rescored(system, [r for r in replies if r.system == system], grades) for system in SYSTEMS]


def _rescored(system: str, replies: Sequence[RecordedReply], grades: Grades) -> Rescored:
    single = [r for r in replies if len(r.parsed.letters) == 1]
    unequal = {r.row for r in single if len(grades[r.row, r.parsed.letters]) > 1}
    return Rescored(
        system,
        len(replies),
        _counted(r.grade for r in replies),
        _counted(r.ours for r in replies),
        sum(r.strict == "right" for r in replies),
        sum(not r.reason for r in replies),
        _counted(r.grade for r in replies if len(r.parsed.letters) > 1),
        sum(bool(r.reason) for r in single),
        len(unequal),
        sum(not r.reason for r in replies if r.row not in unequal),
    )


def _counted(grades: Iterator[str]) -> dict[str, int]:
    found = Counter(grades)
    return {grade: found[grade] for grade in GRADES.values()}


def reasons(replies: Sequence[RecordedReply]) -> dict[str, dict[str, int]]:
    """How many disagreements of each reason each system has, the most frequent reason first."""
    found = Counter((r.reason, r.system) for r in replies if r.reason)
    order = Counter(r.reason for r in replies if r.reason).most_common()
    return {reason: {system: found[reason, system] for system in SYSTEMS} for reason, _ in order}


# --- GPT-4's recorded answers to LiveQA with KG-Rank's rankings: what the recorded "ROUGE-L" is, and what ROUGE-L is.
# The recorded numbers (ahmedinhotahiru/kg-rank-plus, scores_*) are no F of ROUGE-L. They are 1.2 PR / (0.1 P + R) of
# the longest common subsequence, of lower-cased words and marks as NLTK splits them, sentence by sentence, all stemmed
# by Porter: a text against itself has 109.09. Precision P and recall R are of the whole text. NLTK 3.9.1 with its
# trained English sentence splitter reproduces the record to 3e-4; later releases, which split words otherwise, or the
# untrained splitter, to 0.02 (of 100).


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


def recorded_means(data: Path) -> list[Recorded]:
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


def weighted(answer: Sequence[str], reference: Sequence[str]) -> float:
    """The number that was recorded as ROUGE-L: above 1 where both are alike.

    >>> round(weighted("a b c d".split(), "a b c d".split()), 4)  # 1.2 / 1.1
    1.0909
    >>> round(weighted("a x".split(), "a b c d".split()), 4)  # P 1/2, R 1/4: 1.2 x 1/8 / (1/20 + 1/4)
    0.5
    """
    common = LCSseq.similarity(answer, reference)
    if not common:
        return 0.0
    p, r = common / len(answer), common / len(reference)
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


def rescore_liveqa(data: Path) -> list[Answered]:
    """Every ranking whose answers are recorded."""
    split, means = Splitter(), {r.ranking: r.rouge_l for r in recorded_means(data) if r.hops == "one"}
    found = []
    for ranking in ANSWERS:
        if ranking not in means:
            raise SourceError(data / SCORES, 0, f"holds no score of {ranking} with one hop", FETCH)
        rows = pairs(data, ranking)
        recomputed = [100 * weighted(split(answer), split(reference)) for _, answer, reference in rows]
        plain, stems = (mean(rouge(rows, stem=stem)) for stem in (False, True))
        found.append(Answered(ranking, len(rows), means[ranking], mean(recomputed), plain, stems))
    return found


def rouge(rows: Sequence[tuple[str, str, str]], *, stem: bool) -> list[float]:
    """ROUGE-L proper of each answer (F, of 100), as rouge-score has it."""
    return [100 * rouge_l(words(a, stem=stem), words(reference, stem=stem)).f for _, a, reference in rows]


def compare_rankings(data: Path) -> Difference:
    """ROUGE-L of MedCPT's answers less that of similarity's, question by question (paired bootstrap)."""
    first, second = (pairs(data, ranking) for ranking in ("medcpt", "similarity"))
    if [q for q, *_ in first] != [q for q, *_ in second]:
        raise SourceError(data / ANSWERS["similarity"], 0, "has other questions than medcpt's", FETCH)
    return paired_bootstrap(rouge(first, stem=False), rouge(second, stem=False))
