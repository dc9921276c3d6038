"""MindMap's recorded replies to 400 questions of ExplainCPE: the recorded grades, and ours from the raw text.

The file (wyl-willing/MindMap, output/explainpe) holds for each of six systems the reply and a grade: 1 right, 0 wrong,
2 failed. A reply that names several options is graded there, nearly always, by the first of them that a colon follows
("A: ..."), and so it is here; beside it stands the strict score, for which a reply that names two has not chosen.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kgmed.errors import SourceError
from kgmed.evaluate.datasets.files import FETCH, csv_rows
from kgmed.read.said import Said, said

FILE = "explaincpe/mindmap_output_explainpe_acc_final.csv"
SYSTEMS = {  # the column of replies, the column of grades
    "MindMap": ("MindMap_output1", "mindmap_acc"),
    "GPT-3.5": ("chatgpt", "chatgpt_acc"),
    "GPT-4": ("gpt4", "gpt4_acc"),
    "BM25": ("document+bm25", "bm25_acc"),
    "embedding": ("document+embedding", "embedding_acc"),
    "KG retriever": ("kg_retrival", "kg_acc"),
}
GRADES = {"1": "right", "0": "wrong", "2": "failed"}
WANTED = 0.98  # the agreement asked for
_HEAD = re.compile(r"([A-Z])\s*[:：]")
_OPTION = re.compile(r"\n(?=[A-Z][:：])")


@dataclass(frozen=True, slots=True)
class Reply:
    """One system's recorded reply to the question of a row, its recorded grade, and what we read in it."""

    row: int
    system: str
    text: str
    gold: str
    grade: str
    said: Said

    @property
    def ours(self) -> str:
        """Our grade: of the option named (of several the first that a colon follows), failed where none can be told."""
        if len(self.said.letters) < 2:
            return self.strict
        head = _HEAD.search(self.text)
        return "right" if head and head.group(1) == self.gold else "wrong"

    @property
    def strict(self) -> str:
        """Right where the right option is named and no other, failed where none can be told."""
        return "failed" if not self.said.letters else "right" if self.said.letters == (self.gold,) else "wrong"

    @property
    def reason(self) -> str:
        """Why both grades differ, by what is in the text: "" where they agree."""
        if self.ours == self.grade:
            return ""
        return f"{self._names()}, graded {self.grade}"

    def _names(self) -> str:
        letters = self.said.letters
        if len(letters) > 1:
            return f"several options, the right one {'first' if self.ours == 'right' else 'not first'}"
        if letters:
            return "the right option alone" if letters == (self.gold,) else "another option alone"
        return "at odds with itself" if self.said.how else "no option can be told"


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


def read(data: Path) -> list[Reply]:
    """All replies, system by system; raises `SourceError` for a row that is not as it should be."""
    path = data / FILE
    columns = ("Question", "label_choice", *(name for pair in SYSTEMS.values() for name in pair))
    rows = list(csv_rows(path, columns))
    if not rows:
        raise SourceError(path, 0, "holds no row", FETCH)
    return [
        _reply(path, line, number, system, row)
        for system in SYSTEMS
        for number, (line, row) in enumerate(rows)
    ]  # fmt: skip


def _reply(path: Path, line: int, number: int, system: str, row: dict[str, str]) -> Reply:
    text, graded = (row[name] for name in SYSTEMS[system])
    options = options_within(row["Question"])
    gold, grade = row["label_choice"].strip(), GRADES.get(graded.strip(), "")
    if gold not in {letter for letter, _ in options}:
        raise SourceError(path, line, f"the right option {gold!r} is not among those of the question", FETCH)
    if not grade:
        raise SourceError(path, line, f"{SYSTEMS[system][1]} is {graded!r}, not one of {', '.join(GRADES)}", FETCH)
    return Reply(number, system, text, gold, grade, said(text, options))


def options_within(question: str) -> tuple[tuple[str, str], ...]:
    """The options written into a question, each on lines of its own behind its letter.

    >>> options_within("Which?\\nA: gout\\nB: flu\\n")
    (('A', 'gout'), ('B', 'flu'))
    """
    return tuple((part[0], part[2:].strip()) for part in _OPTION.split(question)[1:])


def rescore(replies: Sequence[Reply]) -> list[Rescored]:
    """Recorded and our own scores of every system."""
    told: dict[tuple[int, tuple[str, ...]], set[str]] = {}
    for r in replies:
        told.setdefault((r.row, r.said.letters), set()).add(r.grade)
    return [_rescored(system, [r for r in replies if r.system == system], told) for system in SYSTEMS]


def _rescored(system: str, replies: Sequence[Reply], told: Grades) -> Rescored:
    single = [r for r in replies if len(r.said.letters) == 1]
    unequal = {r.row for r in single if len(told[r.row, r.said.letters]) > 1}
    return Rescored(
        system,
        len(replies),
        _counted(r.grade for r in replies),
        _counted(r.ours for r in replies),
        sum(r.strict == "right" for r in replies),
        sum(not r.reason for r in replies),
        _counted(r.grade for r in replies if len(r.said.letters) > 1),
        sum(bool(r.reason) for r in single),
        len(unequal),
        sum(not r.reason for r in replies if r.row not in unequal),
    )


def _counted(grades: Iterator[str]) -> dict[str, int]:
    found = Counter(grades)
    return {grade: found[grade] for grade in GRADES.values()}


def reasons(replies: Sequence[Reply]) -> dict[str, dict[str, int]]:
    """How many disagreements of each reason each system has, the most frequent reason first."""
    found = Counter((r.reason, r.system) for r in replies if r.reason)
    order = Counter(r.reason for r in replies if r.reason).most_common()
    return {reason: {system: found[reason, system] for system in SYSTEMS} for reason, _ in order}
