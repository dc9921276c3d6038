"""Exam questions with options: MIRAGE, MMCU, CMMLU, ExplainCPE, and Apollo's collection."""

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from kgmed.errors import SourceError
from kgmed.evaluate.datasets.files import FETCH, answer_letters, csv_rows, field, options, sheets, whole_json
from kgmed.evaluate.items import DataSet, Gold, Item
from kgmed.records import Question
from kgmed.registry import datasets

# --- Chinese exam questions as Apollo's benchmark XMedBench gathers them: CMB-Exam, MedQA-MCMLE, CMExam, CMMLU.


APOLLO_FILE = "cmb_exam/apollo_xmedbench_zh.json"
_OPTION = re.compile(r"^\(([A-J])\)\s*(.*?)\s*\.?\s*$", re.S)


def read_apollo(data: Path, *, source: str) -> Iterator[Item]:
    """The questions of one source, in the order of the file. Id = place in the file."""
    path = data / APOLLO_FILE
    for number, row in enumerate(whole_json(path, list)):
        if not isinstance(row, dict):
            raise SourceError(path, 0, f"item {number} is no object", FETCH)
        if row.get("source") != source:
            continue
        parts = [_OPTION.match(line) for line in re.split(r"\n(?=\([A-J]\))", str(row.get("options")).strip())]
        right = answer_letters(str(row.get("answer")))
        choices = tuple((m[1], m[2]) for m in parts if m and m[2])  # a few have an empty fifth option
        if not all(parts) or not right or not {*right} <= {letter for letter, _ in choices}:
            raise SourceError(path, 0, f"item {number} has no options of the form (A) text, or no answer", FETCH)
        yield Item(Question(field(path, 0, row, "question"), choices, "zh", str(number)), Gold(right))


def _apollo_set(name: str, title: str, source: str, items: int, citation: str) -> DataSet:
    return DataSet(
        name=name,
        title=title,
        task="choice",
        languages=("zh",),
        licence="Apache-2.0 (Apollo, CMB); the parts have terms of their own",
        citation=citation,
        source="https://github.com/FreedomIntelligence/Apollo",
        revision="505c48e",
        files=(APOLLO_FILE,),
        items=items,
        read=partial(read_apollo, source=source),
        hub="FreedomIntelligence/XMedbench",
    )


datasets.add(_apollo_set("cmb", "CMB-Exam, 2,000 with one answer", "cmb-single", 2000, "Wang et al. 2023, CMB"))
datasets.add(_apollo_set("mcmle", "MedQA, mainland China", "medqa-mcmle", 3426, "Jin et al. 2021, arXiv 2009.13081"))
datasets.add(_apollo_set("cmexam", "CMExam, 2,000", "cmexam", 2000, "Liu et al. 2023, CMExam"))


# --- CMMLU's medical subjects (Li et al. 2023); MKG-Rank's 886 questions are three of them.


PAPER = ("clinical_knowledge", "college_medicine", "professional_medicine")
OTHERS = (
    "anatomy",
    "college_medical_statistics",
    "genetics",
    "nutrition",
    "traditional_chinese_medicine",
    "virology",
)


def read_cmmlu(data: Path, *, subjects: tuple[str, ...]) -> Iterator[Item]:
    """Subject by subject, its dev part before its test part. Id = subject:part:line."""
    for subject in subjects:
        for part in ("dev", "test"):
            path = data / f"cmmlu_medical/{part}/{subject}.csv"
            for line, row in csv_rows(path, ("Question", *"ABCD", "Answer")):
                right = answer_letters(row["Answer"])
                if len(right) != 1:
                    raise SourceError(path, line, f"has the answer {row['Answer']!r}", FETCH)
                choices = tuple((letter, field(path, line, row, letter)) for letter in "ABCD")
                text = field(path, line, row, "Question")
                yield Item(Question(text, choices, "zh", f"{subject}:{part}:{line}"), Gold(right), part)


def _cmmlu_set(name: str, title: str, subjects: tuple[str, ...], items: int) -> DataSet:
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
        read=partial(read_cmmlu, subjects=subjects),
        hub="haonan-li/cmmlu",
    )


datasets.add(_cmmlu_set("cmmlu", "CMMLU: clinical knowledge, college and professional medicine", PAPER, 901))
datasets.add(_cmmlu_set("cmmlu-all", "CMMLU: nine subjects of medicine", (*PAPER, *OTHERS), 1860))


# --- ExplainCPE (Li et al. 2023): questions of the Chinese pharmacist exam, five options, with explanations.


EXPLAINCPE_PARTS = ("train", "dev", "test")


def read_explaincpe(data: Path) -> Iterator[Item]:
    """Train, dev and test in turn; the explanation is the reference text. Id = part:id of the file."""
    for part in EXPLAINCPE_PARTS:
        path = data / f"explaincpe/{part}.json"
        for number, row in enumerate(whole_json(path, list)):
            try:
                choices, right = options(row["options"]), answer_letters(str(row["answer"]))
                text, why = str(row["question"]).strip(), str(row.get("explanation") or "")
                name = f"{part}:{row['id']}"
            except (KeyError, TypeError, AttributeError):
                raise SourceError(path, 0, f"item {number} lacks a field", FETCH) from None
            if not text or not right or not {*right} <= {letter for letter, _ in choices}:
                raise SourceError(path, 0, f"item {number} has no question, options or answer", FETCH)
            yield Item(Question(text, choices, "zh", name), Gold(right, (why,) if why else ()), part)


datasets.add(
    DataSet(
        name="explaincpe",
        title="ExplainCPE",
        task="choice",
        languages=("zh",),
        licence="CC BY-SA, as its README has it in a comment",
        citation="Li et al. 2023, ExplainCPE, Findings of EMNLP",
        source="https://github.com/HITsz-TMG/ExplainCPE",
        revision="4d1d4e8",
        files=tuple(f"explaincpe/{part}.json" for part in EXPLAINCPE_PARTS),
        items=6857,
        read=read_explaincpe,
    )
)


# --- MIRAGE (Xiong et al. 2024): English questions of MedQA, MedMCQA, PubMedQA, BioASQ and MMLU's medical subjects.


MIRAGE_FILE = "mirage/benchmark.json"
MIRAGE_PARTS = ("medqa", "medmcqa", "pubmedqa", "bioasq", "mmlu")


def read_mirage(data: Path, *, parts: tuple[str, ...]) -> Iterator[Item]:
    """Part by part in the order of the file. Id = part:id of the file."""
    path = data / MIRAGE_FILE
    whole = whole_json(path, dict)
    for part in parts:
        for name, row in _part(path, whole, part).items():
            try:
                choices = tuple((str(letter), str(text)) for letter, text in row["options"].items())
                question, right = str(row["question"]).strip(), str(row["answer"])
            except (KeyError, TypeError, AttributeError):
                raise SourceError(path, 0, f"{part} {name} is no question with options and answer", FETCH) from None
            if right not in dict(choices):
                raise SourceError(path, 0, f"{part} {name} has the answer {right!r}, which is no option", FETCH)
            yield Item(Question(question, choices, "en", f"{part}:{name}"), Gold((right,)))


def _part(path: Path, whole: dict[str, Any], part: str) -> dict[str, Any]:
    """The questions of a part by their ids."""
    found = whole.get(part, {})
    if not isinstance(found, dict):
        raise SourceError(path, 0, f"{part} is no object of questions", FETCH)
    return found


def _mirage_set(name: str, title: str, parts: tuple[str, ...], items: int) -> DataSet:
    return DataSet(
        name=name,
        title=title,
        task="choice",
        languages=("en",),
        licence="public domain (MIRAGE); parts MIT, BioASQ CC BY 2.5",
        citation="Xiong et al. 2024, Benchmarking retrieval-augmented generation for medicine, arXiv 2402.13178",
        source="https://github.com/Teddy-XiongGZ/MIRAGE",
        revision="0316f5e",
        files=(MIRAGE_FILE,),
        items=items,
        read=partial(read_mirage, parts=parts),
    )


datasets.add(_mirage_set("mirage", "MIRAGE, all five parts", MIRAGE_PARTS, 7663))
datasets.add(_mirage_set("medqa", "MedQA (USMLE), as in MIRAGE", ("medqa",), 1273))
datasets.add(_mirage_set("medmcqa", "MedMCQA, as in MIRAGE", ("medmcqa",), 4183))
datasets.add(_mirage_set("pubmedqa", "PubMedQA, as in MIRAGE", ("pubmedqa",), 500))
datasets.add(_mirage_set("bioasq", "BioASQ yes/no, as in MIRAGE", ("bioasq",), 618))


# --- MMCU-Medical (Zeng 2023): Chinese exam questions of 15 subjects, four options, 194 with several right.


MMCU_FILE = "mmcu_medical/MMCU-Medical.xlsx"


def read_mmcu(data: Path) -> Iterator[Item]:
    """Sheet by sheet; rows that are blank as a whole are passed over. Id = sheet:row."""
    path = data / MMCU_FILE
    for subject, rows in sheets(path):
        for number, row in enumerate(rows[1:], start=2):
            cells = [str(cell).strip() if cell is not None else "" for cell in (*row, *[None] * 6)[:6]]
            if not any(cells):
                continue
            right, choices = answer_letters(cells[5]), options(cells[1:5])
            if not cells[0] or not right or not choices:
                raise SourceError(path, number, f"of sheet {subject} is no question with options and answer", FETCH)
            yield Item(Question(cells[0], choices, "zh", f"{subject}:{number}"), Gold(right))


datasets.add(
    DataSet(
        name="mmcu",
        title="MMCU-Medical",
        task="choice",
        languages=("zh",),
        licence="not stated; free for research as its page on the hub says",
        citation="Zeng 2023, Measuring Massive Multitask Chinese Understanding",
        source="https://github.com/Felixgithub2017/MMCU",
        revision="bd5b2a1",
        files=(MMCU_FILE,),
        items=2819,
        read=read_mmcu,
        hub="Besteasy/MMCU",
    )
)
