"""Questions with options: MIRAGE, MMCU, CMMLU, ExplainCPE, CMB-Exam and Apollo's collection."""

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from kgmed.errors import SourceError
from kgmed.evaluate.datasets.files import (
    FETCH,
    LETTERS,
    answer_letters,
    csv_rows,
    field,
    lettered,
    options,
    sheets,
    some,
    texts_of,
    whole_json,
)
from kgmed.evaluate.datasets.own import table_rows
from kgmed.evaluate.items import DataSet, Gold, Item
from kgmed.records import Question
from kgmed.registry import datasets

# --- What every exam has: a question, its options by letter, and the letters that are right.


def exam_item(path: Path, line: int, what: str, question: Question, right: str, *, most: int = 1, **more: Any) -> Item:
    """The question with its right letters; raises `SourceError` that says what it lacks, or has more than `most` of.

    `more` = part and subject of the item, and `texts`, the references of its gold.
    """
    letters, known = answer_letters(right), [letter for letter, _ in question.options]
    if not question.text or len(known) < 2:
        raise SourceError(path, line, f"{what} has no {'options' if question.text else 'question'}", FETCH)
    if not 0 < len(letters) <= most or not {*letters} <= {*known}:
        raise SourceError(path, line, f"{what} has the answer {right[:20]!r} and the options {''.join(known)}", FETCH)
    return Item(question, Gold(letters, more.pop("texts", ())), **more)


SEVERAL = len(LETTERS)  # letters may be right
CHOICE: dict[str, Any] = {"task": "choice", "languages": ("zh",)}


# --- Chinese exam questions as Apollo's benchmark XMedBench gathers them: CMB-Exam, MedQA-MCMLE, CMExam, CMMLU.


APOLLO_FILE = "cmb_exam/apollo_xmedbench_zh.json"
_OPTION = re.compile(r"^\(([A-J])\)\s*(.*?)\s*\.?\s*$", re.S)


def read_apollo(data: Path, *, source: str) -> Iterator[Item]:
    """The questions of one source, in the order of the file. Id = place in the file."""
    path = data / APOLLO_FILE
    for number, row in enumerate(whole_json(path, list)):
        what = f"item {number}"
        text, listed, right, origin = texts_of(path, what, row, "question", "options", "answer", "source")
        if origin == source:
            question = Question(text, _one_a_line(listed), "zh", str(number))
            yield exam_item(path, 0, what, question, right, most=SEVERAL)


def _one_a_line(listed: str) -> tuple[tuple[str, str], ...]:
    """The options of a text "(A) ...", one a line; none where a line is no option. A few have an empty fifth."""
    parts = [_OPTION.match(line) for line in re.split(r"\n(?=\([A-J]\))", listed)]
    return tuple((m[1], m[2]) for m in parts if m and m[2]) if all(parts) else ()


for _name, _title, _source, _items, _by in (
    ("cmb", "CMB-Exam, 2,000 with one answer", "cmb-single", 2000, "Wang et al. 2023, CMB"),
    ("mcmle", "MedQA, mainland China", "medqa-mcmle", 3426, "Jin et al. 2021, arXiv 2009.13081"),
    ("cmexam", "CMExam, 2,000", "cmexam", 2000, "Liu et al. 2023, CMExam"),
):
    datasets.add(
        DataSet(
            **CHOICE,
            name=_name,
            title=_title,
            licence="Apache-2.0 (Apollo, CMB); the parts have terms of their own",
            citation=_by,
            source="https://github.com/FreedomIntelligence/Apollo",
            revision="505c48e",
            files=(APOLLO_FILE,),
            items=_items,
            read=partial(read_apollo, source=_source),
            hub="FreedomIntelligence/XMedbench",
        )
    )


# --- CMB-Exam's test part (Wang et al. 2023): 11,200 questions, 1,190 of them with several right answers; its questions
# and its key are two files. HyKGE draws 4,000 of the whole: `--number 4000`. Scored as the benchmark does by `accuracy`
# (the set of letters is the right one) and, for HyKGE's partial correctness, `pcr`.


CMB_QUESTIONS, CMB_KEY = "cmb_exam/CMB-test/CMB-test-choice-question-merge.json", "cmb_exam/CMB-test-choice-answer.json"
CMB_SEVERAL = "多项选择题"


def read_cmb_exam(data: Path, *, kind: str = "") -> Iterator[Item]:
    """Question by question, of one type ("" = all); the class of exam is the subject. Id = id of the file."""
    path = data / CMB_QUESTIONS
    key: dict[str, str] = {}
    for number, row in enumerate(whole_json(data / CMB_KEY, list)):
        name, said = texts_of(data / CMB_KEY, f"item {number}", row, "id", "answer")
        key[name] = said
    for number, row in enumerate(whole_json(path, list)):
        what = f"item {number}"
        text, name, group, type_ = texts_of(path, what, row, "question", "id", "exam_class", "question_type")
        if name not in key:
            raise SourceError(path, 0, f"{what} has the id {name}, which {CMB_KEY} lacks", FETCH)
        if kind in ("", type_):
            question = Question(text, lettered(path, what, row, "option"), "zh", name)
            yield exam_item(path, 0, what, question, key[name], most=SEVERAL, subject=group)


for _name, _title, _kind, _items in (
    ("cmb-exam", "CMB-Exam, test part", "", 11200),
    ("cmb-several", "CMB-Exam, test part, several answers", CMB_SEVERAL, 1190),
):
    datasets.add(
        DataSet(
            **CHOICE,
            name=_name,
            title=_title,
            licence="Apache-2.0",
            citation="Wang et al. 2023, CMB, arXiv 2308.08833",
            source="https://github.com/FreedomIntelligence/CMB (data/CMB.zip)",
            revision="6c8ece4",
            files=(CMB_QUESTIONS, CMB_KEY),
            items=_items,
            read=partial(read_cmb_exam, kind=_kind),
            hub="FreedomIntelligence/CMB",
        )
    )


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
            for line, row in some(path, csv_rows(path, ("Question", *"ABCD", "Answer"))):
                choices = tuple((letter, field(path, line, row, letter)) for letter in "ABCD")
                question = Question(row["Question"].strip(), choices, "zh", f"{subject}:{part}:{line}")
                yield exam_item(path, line, "the row", question, row["Answer"], part=part, subject=subject)


for _name, _title, _subjects, _items in (
    ("cmmlu", "CMMLU: clinical knowledge, college and professional medicine", PAPER, 901),
    ("cmmlu-all", "CMMLU: nine subjects of medicine", (*PAPER, *OTHERS), 1860),
):
    datasets.add(
        DataSet(
            **CHOICE,
            name=_name,
            title=_title,
            licence="CC BY-NC-SA 4.0",
            citation="Li et al. 2023, CMMLU, arXiv 2306.09212",
            source="https://github.com/haonan-li/CMMLU",
            revision="d6e7b71",
            files=tuple(f"cmmlu_medical/{part}/{s}.csv" for s in _subjects for part in ("dev", "test")),
            items=_items,
            read=partial(read_cmmlu, subjects=_subjects),
            hub="haonan-li/cmmlu",
        )
    )


# --- MMLU's three medical subjects in other languages, MKG-Rank's sets: JMMLU as its repository has it (a file for each
# subject, without a header) and Global-MMLU in Swahili and Korean, its rows saved as CSV under the hub's own columns:
# datasets.load_dataset("CohereForAI/Global-MMLU", "sw")["test"].to_csv("DATA/global_mmlu/sw_test.csv"), and "dev".


def read_jmmlu(data: Path) -> Iterator[Item]:
    """Subject by subject. Id = subject:line."""
    for subject in PAPER:
        path = data / f"jmmlu/{subject}.csv"
        for line, cells in some(path, table_rows(path)):
            if len(cells) != len("QABCDX") or not all(cells):
                raise SourceError(path, line, "is not question, four options and a letter", FETCH)
            question = Question(cells[0], options(cells[1:5]), "ja", f"{subject}:{line}")
            yield exam_item(path, line, "the row", question, cells[5], part="test", subject=subject)


def read_global_mmlu(data: Path, *, language: str) -> Iterator[Item]:
    """The dev part before the test part. Id = part:line of the file."""
    letters = tuple(f"option_{x}" for x in "abcd")
    for part in ("dev", "test"):
        path = data / f"global_mmlu/{language}_{part}.csv"
        for line, row in some(path, csv_rows(path, ("subject", "question", *letters, "answer"))):
            if row["subject"] in PAPER:
                choices = options([row[name] for name in letters])
                question = Question(row["question"].strip(), choices, language, f"{part}:{line}")
                yield exam_item(path, line, "the row", question, row["answer"], part=part, subject=row["subject"])


datasets.add(
    DataSet(
        name="jmmlu",
        title="JMMLU: clinical knowledge, college and professional medicine",
        task="choice",
        languages=("ja",),
        licence="CC BY-SA 4.0, parts CC BY-NC-ND 4.0",
        citation="Yin et al. 2024, JMMLU",
        source="https://github.com/nlp-waseda/JMMLU",
        revision="not at hand",
        files=tuple(f"jmmlu/{subject}.csv" for subject in PAPER),
        items=450,
        read=read_jmmlu,
        hub="nlp-waseda/JMMLU",
    )
)
for _name, _title in (("sw", "Swahili"), ("ko", "Korean")):
    datasets.add(
        DataSet(
            name=f"mmlu-{_name}",
            title=f"Global-MMLU in {_title}: three subjects of medicine, test and dev",
            task="choice",
            languages=(_name,),
            licence="Apache-2.0",
            citation="Singh et al. 2024, Global MMLU, arXiv 2412.03304",
            source="https://huggingface.co/datasets/CohereForAI/Global-MMLU",
            revision="not at hand",
            files=tuple(f"global_mmlu/{_name}_{part}.csv" for part in ("dev", "test")),
            items=725,
            read=partial(read_global_mmlu, language=_name),
            hub="CohereForAI/Global-MMLU",
        )
    )


# --- ExplainCPE (Li et al. 2023): questions of the Chinese pharmacist exam, five options, with explanations.


EXPLAINCPE_PARTS = ("train", "dev", "test")


def read_explaincpe(data: Path) -> Iterator[Item]:
    """Train, dev and test in turn; the explanation is the reference text. Id = part:id of the file."""
    for part in EXPLAINCPE_PARTS:
        path = data / f"explaincpe/{part}.json"
        for number, row in enumerate(whole_json(path, list)):
            what = f"item {number}"
            text, right, name = texts_of(path, what, row, "question", "answer", "id")
            given, why = row.get("options"), str(row.get("explanation") or "")
            texts = given if isinstance(given, list) and all(t is None or isinstance(t, str) for t in given) else []
            question = Question(text, options(texts), "zh", f"{part}:{name}")
            yield exam_item(path, 0, what, question, right, most=SEVERAL, part=part, texts=(why,) if why else ())


datasets.add(
    DataSet(
        **CHOICE,
        name="explaincpe",
        title="ExplainCPE",
        licence="CC BY-SA, as its README has it in a comment",
        citation="Li et al. 2023, ExplainCPE, Findings of EMNLP",
        source="https://github.com/HITsz-TMG/ExplainCPE",
        revision="4d1d4e8",
        files=tuple(f"explaincpe/{part}.json" for part in EXPLAINCPE_PARTS),
        items=6857,
        read=read_explaincpe,
    )
)


# --- The 400 questions of ExplainCPE that MindMap asked: those of its recorded replies, options in the question.


RECORDED = "explaincpe/mindmap_output_explainpe_acc_final.csv"
_WRITTEN = re.compile(r"\n(?=[A-Z][:：])")


def options_within(question: str) -> tuple[tuple[str, str], ...]:
    """The options written into a question, each on lines of its own behind its letter.

    >>> options_within("Which?\\nA: gout\\nB: flu\\n")
    (('A', 'gout'), ('B', 'flu'))
    """
    return tuple((part[0], part[2:].strip()) for part in _WRITTEN.split(question)[1:])


def read_explaincpe_400(data: Path) -> Iterator[Item]:
    """The questions in the order of the file; the explanation is the reference text. Id = place in the file."""
    path = data / RECORDED
    for number, (line, row) in enumerate(some(path, csv_rows(path, ("Question", "label", "label_choice"))), start=1):
        asked, (_, _, why) = row["Question"], row["label"].partition("\n")
        question = Question(_WRITTEN.split(asked)[0].strip(), options_within(asked), "zh", f"{number}")
        yield exam_item(path, line, f"row {number}", question, row["label_choice"], texts=(why,) if why else ())


datasets.add(
    DataSet(
        **CHOICE,
        name="explaincpe-400",
        title="ExplainCPE, the 400 questions that MindMap asked",
        licence="none stated (MindMap)",
        citation="Wen et al. 2024, MindMap, ACL",
        source="https://github.com/wyl-willing/MindMap",
        revision="0411a54",
        files=(RECORDED,),
        items=400,
        read=read_explaincpe_400,
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
        found = whole.get(part, {})
        if not isinstance(found, dict):
            raise SourceError(path, 0, f"{part} is no object of questions", FETCH)
        for name, row in found.items():
            what = f"{part} {name}"
            text, right = texts_of(path, what, row, "question", "answer")
            question = Question(text, lettered(path, what, row, "options"), "en", f"{part}:{name}")
            yield exam_item(path, 0, what, question, right, subject=part)


for _name, _title, _mirage_parts, _items in (
    ("mirage", "MIRAGE, all five parts", MIRAGE_PARTS, 7663),
    ("medqa", "MedQA (USMLE), as in MIRAGE", ("medqa",), 1273),
    ("medmcqa", "MedMCQA, as in MIRAGE", ("medmcqa",), 4183),
    ("pubmedqa", "PubMedQA, as in MIRAGE", ("pubmedqa",), 500),
    ("bioasq", "BioASQ yes/no, as in MIRAGE", ("bioasq",), 618),
):
    datasets.add(
        DataSet(
            name=_name,
            title=_title,
            task="choice",
            languages=("en",),
            licence="public domain (MIRAGE); parts MIT, BioASQ CC BY 2.5",
            citation="Xiong et al. 2024, Benchmarking retrieval-augmented generation for medicine, arXiv 2402.13178",
            source="https://github.com/Teddy-XiongGZ/MIRAGE",
            revision="0316f5e",
            files=(MIRAGE_FILE,),
            items=_items,
            read=partial(read_mirage, parts=_mirage_parts),
        )
    )


# --- MMCU-Medical (Zeng 2023): Chinese exam questions of 15 subjects, four options, 194 with several right.


MMCU_FILE = "mmcu_medical/MMCU-Medical.xlsx"
_MARKED = re.compile(r"(?:^|\s)([A-E])[,，.．、]\s*")


def read_mmcu(data: Path) -> Iterator[Item]:
    """Sheet by sheet; rows that are blank as a whole are passed over. Id = sheet:row."""
    path = data / MMCU_FILE
    for subject, rows in sheets(path):
        for number, row in enumerate(rows[1:], start=2):
            cells = [str(cell).strip() if cell is not None else "" for cell in (*row, *[None] * 6)[:6]]
            if any(cells):
                question = Question(cells[0], options(slipped(cells[1:5])), "zh", f"{subject}:{number}")
                what = f"the row of sheet {subject}"
                yield exam_item(path, number, what, question, cells[5], most=SEVERAL, subject=subject)


def slipped(cells: list[str]) -> list[str]:
    """The cells of four options, put right where two of them stand in one and the rest a place before theirs.

    >>> slipped(["A,vein B,artery", "C,nerve", "D,skin", ""])
    ['vein', 'artery', 'nerve', 'skin']
    >>> slipped(["A.vein", "B.artery", "C.nerve", "D.skin E.none"])
    ['A.vein', 'B.artery', 'C.nerve', 'D.skin E.none']
    """
    parts = _MARKED.split(" ".join(cells))
    return [text.strip() for text in parts[2::2]] if not cells[-1] and parts[1::2] == list("ABCD") else cells


datasets.add(
    DataSet(
        **CHOICE,
        name="mmcu",
        title="MMCU-Medical",
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
