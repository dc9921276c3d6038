"""CMMLU's medical subjects (Li et al. 2023); MKG-Rank's 886 questions are three of them."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from kgmed.errors import SourceError
from kgmed.evaluate.datasets.files import FETCH, csv_rows, field
from kgmed.evaluate.datasets.letters import chosen
from kgmed.evaluate.items import DataSet, Gold, Item
from kgmed.types import Question

PAPER = ("clinical_knowledge", "college_medicine", "professional_medicine")
OTHERS = (
    "anatomy",
    "college_medical_statistics",
    "genetics",
    "nutrition",
    "traditional_chinese_medicine",
    "virology",
)


def read(data: Path, *, subjects: tuple[str, ...]) -> Iterator[Item]:
    """Subject by subject, its dev part before its test part. Id = subject:part:line."""
    for subject in subjects:
        for part in ("dev", "test"):
            path = data / f"cmmlu_medical/{part}/{subject}.csv"
            for line, row in csv_rows(path, ("Question", *"ABCD", "Answer")):
                right = chosen(row["Answer"])
                if len(right) != 1:
                    raise SourceError(path, line, f"has the answer {row['Answer']!r}", FETCH)
                choices = tuple((letter, field(path, line, row, letter)) for letter in "ABCD")
                text = field(path, line, row, "Question")
                yield Item(Question(text, choices, "zh", f"{subject}:{part}:{line}"), Gold(right), part)


def _set(name: str, title: str, subjects: tuple[str, ...], items: int) -> DataSet:
    return DataSet(
        name=name,
        title=title,
        task="choice",
        languages=("zh",),
        licence="CC BY-NC-SA 4.0",
        citation="Li et al. 2023, CMMLU, arXiv 2306.09212",
        source="https://github.com/haonan-li/CMMLU",
        revision="d6e7b71",
        files=tuple(f"cmmlu_medical/{part}/{s}.csv" for s in subjects for part in ("dev", "test")),
        items=items,
        read=partial(read, subjects=subjects),
        hub="haonan-li/cmmlu",
    )


CMMLU = _set("cmmlu", "CMMLU: clinical knowledge, college and professional medicine", PAPER, 901)
ALL = _set("cmmlu-all", "CMMLU: nine subjects of medicine", (*PAPER, *OTHERS), 1860)
