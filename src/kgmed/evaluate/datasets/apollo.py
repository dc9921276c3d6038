"""Chinese exam questions as Apollo's benchmark XMedBench gathers them: CMB-Exam, MedQA-MCMLE, CMExam, CMMLU."""

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from kgmed.errors import SourceError
from kgmed.evaluate.datasets.files import FETCH, field, whole_json
from kgmed.evaluate.datasets.letters import chosen
from kgmed.evaluate.items import DataSet, Gold, Item
from kgmed.types import Question

FILE = "cmb_exam/apollo_xmedbench_zh.json"
_OPTION = re.compile(r"^\(([A-J])\)\s*(.*?)\s*\.?\s*$", re.S)


def read(data: Path, *, source: str) -> Iterator[Item]:
    """The questions of one source, in the order of the file. Id = place in the file."""
    path = data / FILE
    for number, row in enumerate(whole_json(path)):
        if row.get("source") != source:
            continue
        parts = [_OPTION.match(line) for line in re.split(r"\n(?=\([A-J]\))", str(row.get("options")).strip())]
        right = chosen(str(row.get("answer")))
        choices = tuple((m[1], m[2]) for m in parts if m and m[2])  # a few have an empty fifth option
        if not all(parts) or not right or not {*right} <= {letter for letter, _ in choices}:
            raise SourceError(path, 0, f"item {number} has no options of the form (A) text, or no answer", FETCH)
        yield Item(Question(field(path, 0, row, "question"), choices, "zh", str(number)), Gold(right))


def _set(name: str, title: str, source: str, items: int, citation: str) -> DataSet:
    return DataSet(
        name=name,
        title=title,
        task="choice",
        languages=("zh",),
        licence="Apache-2.0 (Apollo, CMB); the parts have terms of their own",
        citation=citation,
        source="https://github.com/FreedomIntelligence/Apollo",
        revision="505c48e",
        files=(FILE,),
        items=items,
        read=partial(read, source=source),
        hub="FreedomIntelligence/XMedbench",
    )


CMB = _set("cmb", "CMB-Exam, 2,000 with one answer", "cmb-single", 2000, "Wang et al. 2023, CMB")
MCMLE = _set("mcmle", "MedQA, mainland China", "medqa-mcmle", 3426, "Jin et al. 2021, arXiv 2009.13081")
CMEXAM = _set("cmexam", "CMExam, 2,000", "cmexam", 2000, "Liu et al. 2023, CMExam")
