"""Questions with written answers (LiveQA, MedicationQA, ExpertQA, GenMedGPT-5k, CMCQA, CMB-Clin, Mintaka), and with
options (MIRAGE, MMCU, CMMLU, ExplainCPE, CMB-Exam and Apollo's collection).
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kgmed.errors import SourceError, Unavailable
from kgmed.evaluate.datasets.files import (
    FETCH,
    LETTERS,
    answer_letters,
    csv_rows,
    field,
    json_lines,
    lettered,
    options,
    sheets,
    some,
    texts_of,
    whole_json,
)
from kgmed.evaluate.datasets.files import text as read_text
from kgmed.evaluate.datasets.own import table_rows
from kgmed.evaluate.items import Gold, Item
from kgmed.records import Question

# --- GenMedGPT-5k as MindMap prepared it: patients' questions, and the entities in the doctor's answers.
# The file holds one JSON object a line with `qustion_output` (sic) and `answer_output`, each
# `<CLS>text<SEP>The extracted entities are a, b<EOS>`; some rows lack a part of that and are counted as unreadable.


_PARTS = re.compile(r"<CLS>(?P<text>.*?)<SEP>\s*(?:The extracted entities are)?(?P<entities>.*?)(?:<EOS>|$)", re.DOTALL)
_BETWEEN = re.compile(r"[,;]|<EntityMarker>|<SEP>")


@dataclass(frozen=True)
class Consultation:
    """A patient's question, and the names that were extracted from the doctor's answer."""

    line: int
    question: str
    answer: str
    answer_entities: tuple[str, ...]


def consultations(path: Path) -> Iterator[Consultation]:
    """The readable rows of the file; raises `SourceError` for a line that is not JSON or lacks a key."""
    for line, text in enumerate(read_text(path).rstrip("\n").split("\n"), start=1):
        question, answer = _row(path, line, text)
        asked, said = _PARTS.search(question), _PARTS.search(answer)
        if asked and said:
            parts = (n.strip().strip(" .") for n in _BETWEEN.split(said["entities"]))
            yield Consultation(line, asked["text"].strip(), said["text"].strip(), tuple(n for n in parts if n))


def _row(path: Path, line: int, text: str) -> tuple[str, str]:
    try:
        row = json.loads(text)
        return str(row["qustion_output"]), str(row["answer_output"])
    except (ValueError, KeyError, TypeError, RecursionError):
        mend = "give the file with the keys qustion_output and answer_output"
        raise SourceError(path, line, "is not a row of GenMedGPT's extraction", mend) from None


# --- GenMedGPT-5k (ChatDoctor), as MindMap prepared it: patients' questions and a model's answers, with entities.


DEV = 1000  # lines of the file that settings may be chosen on


def read_genmedgpt(path: Path) -> Iterator[Item]:
    """The readable rows (29 of 4,000 lack a part); a language model wrote the answers. Id = line."""
    for row in consultations(path):
        part = "dev" if row.line <= DEV else "test"
        gold = Gold(texts=(row.answer,), entities=row.answer_entities)
        yield Item(Question(row.question, (), "en", str(row.line)), gold, part)


# --- CMCQA, the 500 Chinese dialogues that MindMap took, with what the doctor said and the words of the question.


def read_cmcqa(path: Path) -> Iterator[Item]:
    """One dialogue a line: the patient's part is the question, the doctor's the reference. Id = line of the file."""
    for line, row in json_lines(path):
        asked, said = field(path, line, row, "question"), field(path, line, row, "answer")
        yield Item(Question(asked, (), "zh", str(line)), Gold(texts=(said,)))


# --- CMB-Clin (Wang et al. 2023): 208 questions about 74 patients, with what the textbook says; HyKGE's Table 3.


_CASE = "{description}\n\n{question}"


def read_cmb_clin(path: Path) -> Iterator[Item]:
    """Patient by patient, each question behind the whole case; its turns are asked one by one. Id = case:question."""
    for number, row in enumerate(whole_json(path, list)):
        try:
            case, pairs = str(row["description"]).strip(), list(row["QA_pairs"])
            asked = [(str(p["question"]).strip(), str(p.get("solution") or p["answer"]).strip()) for p in pairs]
            name, title = str(row.get("id", number)), str(row.get("title") or "")
        except (KeyError, TypeError, AttributeError):
            raise SourceError(path, 0, f"item {number} is no case with description and QA_pairs", FETCH) from None
        if not case or not asked or not all(question and said for question, said in asked):
            raise SourceError(path, 0, f"item {number} has no description, or a question or solution is empty", FETCH)
        for place, (question, said) in enumerate(asked):
            text = _CASE.format(description=case, question=question)
            yield Item(Question(text, (), "zh", f"{name}:{place}"), Gold(texts=(said,)), subject=title)


# --- ExpertQA (Malaviya et al. 2024): experts' questions with answers that they revised; KG-Rank took two fields, and
# four more for its open domain (Table 5), each whole: `--part all`.


def read_expertqa(train: Path, dev: Path, test: Path, whole: Path, *, fields: Sequence[str]) -> Iterator[Item]:
    """The questions of some fields (() = all), part by part; the field is the subject. Id = part:line of the file."""
    known = {field(whole, n, row, "question"): _field(row) for n, row in json_lines(whole)}
    for part, path in {"train": train, "dev": dev, "test": test}.items():
        for line, row in json_lines(path):
            asked = field(path, line, row, "question")
            if not fields or known.get(asked) in fields:
                gold = Gold(texts=(field(path, line, row, "answer"),))
                yield Item(Question(asked, (), "en", f"{part}:{line}"), gold, part, known.get(asked, ""))


def _field(row: dict[str, object]) -> str:
    metadata = row.get("metadata")
    return str(metadata.get("field")) if isinstance(metadata, dict) else ""


# --- LiveQA-Medical (TREC 2017): consumers' questions with reference answers of librarians, as KG-Rank took it.


def read_liveqa(path: Path) -> Iterator[Item]:
    """NIST's paraphrase, or the message where that is empty (one is); all its reference answers. Id = qid.

    Table 1 of KG-Rank fits the paraphrase and the first answer.
    """
    for node in _tree(path).iter("NLM-QUESTION"):
        asked = _line(node.findtext("NIST-PARAPHRASE")) or _line(node.findtext(".//MESSAGE"))
        answers = [_line("".join(a.itertext())) for a in node.iter("ANSWER")]
        name = node.get("qid") or ""
        if not asked or not name or not any(answers):
            raise SourceError(path, 0, f"question {name or '?'} has no text, id or answer", FETCH)
        yield Item(Question(asked, (), "en", name), Gold(texts=tuple(a for a in answers if a)))


def _line(text: str | None) -> str:
    return " ".join((text or "").split())


def _tree(path: Path) -> Any:
    """The document, read without entities or references to other files."""
    try:
        from defusedxml import DefusedXmlException
        from defusedxml.ElementTree import ParseError, fromstring
    except ImportError:
        raise Unavailable('XML files need defusedxml; pip install "kgmed[eval]"') from None
    try:
        return fromstring(read_text(path).encode())
    except ParseError as e:
        raise SourceError(path, e.position[0], "is not XML", FETCH) from None
    except DefusedXmlException:
        raise SourceError(path, 0, "declares entities, which are not read", FETCH) from None


# --- MedicationQA (Ben Abacha et al. 2019): consumers' questions about drugs; KG-Rank's tables call it MedQA.


def read_medicationqa(path: Path) -> Iterator[Item]:
    """Row by row; the drug that is asked about is the gold entity. Id = row."""
    for _, rows in sheets(path):
        for number, row in enumerate(rows[1:], start=2):
            asked, drug, _, answer = (" ".join(str(cell or "").split()) for cell in (*row, *[None] * 4)[:4])
            if not any((asked, drug, answer)):
                continue
            if not asked:
                raise SourceError(path, number, "has no question", FETCH)
            yield Item(
                Question(asked, (), "en", str(number)),
                Gold(texts=(answer,) if answer else (), entities=(drug,) if drug else ()),
            )


# --- Mintaka (Sen et al. 2022): general questions with short answers; KG-Rank's open domain.


def read_mintaka(dev: Path, test: Path) -> Iterator[Item]:
    """Dev, then test; the answer as a person would write it. Id = id of the file."""
    for part, path in {"dev": dev, "test": test}.items():
        for number, row in enumerate(whole_json(path, list)):
            asked, name = texts_of(path, f"item {number}", row, "question", "id")
            said = _said(row.get("answer"))
            yield Item(Question(asked, (), "en", f"{part}:{name}"), Gold(texts=(said,) if said else ()), part)


def _said(answer: Any) -> str:
    """The answer in words; dev has a record, the recovered test part the value itself.

    >>> _said({"answer": [{"label": {"en": "New Moon"}}], "mention": "x"}), _said(False), _said(["a", "b"])
    ('New Moon', 'no', 'a, b')
    """
    if isinstance(answer, dict):
        value = answer.get("answer")
        return _said(value) if value is not None else str(answer.get("mention") or "")
    if isinstance(answer, list):
        return ", ".join(part for part in map(_label, answer) if part)
    return ("yes" if answer else "no") if isinstance(answer, bool) else "" if answer is None else str(answer)


def _label(value: Any) -> str:
    if isinstance(value, dict):
        label = value.get("label")
        return str((label.get("en") if isinstance(label, dict) else label) or value.get("name") or "")
    return _said(value)


# --- Questions with options: MIRAGE, MMCU, CMMLU, ExplainCPE, CMB-Exam and Apollo's collection.

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


# --- Chinese exam questions as Apollo's benchmark XMedBench gathers them: CMB-Exam, MedQA-MCMLE, CMExam, CMMLU.


_OPTION = re.compile(r"^\(([A-J])\)\s*(.*?)\s*\.?\s*$", re.S)


def read_apollo(path: Path, *, source: str) -> Iterator[Item]:
    """The questions of one source, in the order of the file. Id = place in the file."""
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


# --- CMB-Exam's test part (Wang et al. 2023): 11,200 questions, 1,190 of them with several right answers; its questions
# and its key are two files. HyKGE draws 4,000 of the whole: `--number 4000`. Scored as the benchmark does by `accuracy`
# (the set of letters is the right one) and, for HyKGE's partial correctness, `pcr`.


def read_cmb_exam(path: Path, answers: Path, *, kind: str = "") -> Iterator[Item]:
    """Question by question, of one type ("" = all); the class of exam is the subject. Id = id of the file."""
    key: dict[str, str] = {}
    for number, row in enumerate(whole_json(answers, list)):
        name, said = texts_of(answers, f"item {number}", row, "id", "answer")
        key[name] = said
    for number, row in enumerate(whole_json(path, list)):
        what = f"item {number}"
        text, name, group, type_ = texts_of(path, what, row, "question", "id", "exam_class", "question_type")
        if name not in key:
            raise SourceError(path, 0, f"{what} has the id {name}, which {answers.name} lacks", FETCH)
        if kind in ("", type_):
            question = Question(text, lettered(path, what, row, "option"), "zh", name)
            yield exam_item(path, 0, what, question, key[name], most=SEVERAL, subject=group)


# --- CMMLU's medical subjects (Li et al. 2023); MKG-Rank's 886 questions are three of them.


PAPER = ("clinical_knowledge", "college_medicine", "professional_medicine")


def read_cmmlu(*paths: Path) -> Iterator[Item]:
    """File by file, PART/SUBJECT.csv. Id = subject:part:line."""
    for path in paths:
        part, subject = path.parent.name, path.stem
        for line, row in some(path, csv_rows(path, ("Question", *"ABCD", "Answer"))):
            choices = tuple((letter, field(path, line, row, letter)) for letter in "ABCD")
            question = Question(row["Question"].strip(), choices, "zh", f"{subject}:{part}:{line}")
            yield exam_item(path, line, "the row", question, row["Answer"], part=part, subject=subject)


# --- MMLU's three medical subjects in other languages, MKG-Rank's sets: JMMLU as its repository has it (a file for each
# subject, without a header) and Global-MMLU in Swahili and Korean, its rows saved as CSV under the hub's own columns:
# datasets.load_dataset("CohereForAI/Global-MMLU", "sw")["test"].to_csv("DATA/global_mmlu/sw_test.csv"), and "dev".


def read_jmmlu(*paths: Path) -> Iterator[Item]:
    """Subject by subject, a file each. Id = subject:line."""
    for path in paths:
        subject = path.stem
        for line, cells in some(path, table_rows(path)):
            if len(cells) != len("QABCDX") or not all(cells):
                raise SourceError(path, line, "is not question, four options and a letter", FETCH)
            question = Question(cells[0], options(cells[1:5]), "ja", f"{subject}:{line}")
            yield exam_item(path, line, "the row", question, cells[5], part="test", subject=subject)


def read_global_mmlu(*paths: Path) -> Iterator[Item]:
    """File by file, LANGUAGE_PART.csv. Id = part:line of the file."""
    letters = tuple(f"option_{x}" for x in "abcd")
    for path in paths:
        language, _, part = path.stem.partition("_")
        for line, row in some(path, csv_rows(path, ("subject", "question", *letters, "answer"))):
            if row["subject"] in PAPER:
                choices = options([row[name] for name in letters])
                question = Question(row["question"].strip(), choices, language, f"{part}:{line}")
                yield exam_item(path, line, "the row", question, row["answer"], part=part, subject=row["subject"])


# --- ExplainCPE (Li et al. 2023): questions of the Chinese pharmacist exam, five options, with explanations.


def read_explaincpe(*paths: Path) -> Iterator[Item]:
    """Part by part, a file each; the explanation is the reference text. Id = part:id of the file."""
    for path in paths:
        part = path.stem
        for number, row in enumerate(whole_json(path, list)):
            what = f"item {number}"
            text, right, name = texts_of(path, what, row, "question", "answer", "id")
            given, why = row.get("options"), str(row.get("explanation") or "")
            texts = given if isinstance(given, list) and all(t is None or isinstance(t, str) for t in given) else []
            question = Question(text, options(texts), "zh", f"{part}:{name}")
            yield exam_item(path, 0, what, question, right, most=SEVERAL, part=part, texts=(why,) if why else ())


# --- The 400 questions of ExplainCPE that MindMap asked: those of its recorded replies, options in the question.


_WRITTEN = re.compile(r"\n(?=[A-Z][:：])")


def options_within(question: str) -> tuple[tuple[str, str], ...]:
    """The options written into a question, each on lines of its own behind its letter.

    >>> options_within("Which?\\nA: gout\\nB: flu\\n")
    (('A', 'gout'), ('B', 'flu'))
    """
    return tuple((part[0], part[2:].strip()) for part in _WRITTEN.split(question)[1:])


def read_explaincpe_400(path: Path) -> Iterator[Item]:
    """The questions in the order of the file; the explanation is the reference text. Id = place in the file."""
    for number, (line, row) in enumerate(some(path, csv_rows(path, ("Question", "label", "label_choice"))), start=1):
        asked, (_, _, why) = row["Question"], row["label"].partition("\n")
        question = Question(_WRITTEN.split(asked)[0].strip(), options_within(asked), "zh", f"{number}")
        yield exam_item(path, line, f"row {number}", question, row["label_choice"], texts=(why,) if why else ())


# --- MIRAGE (Xiong et al. 2024): English questions of MedQA, MedMCQA, PubMedQA, BioASQ and MMLU's medical subjects.


def read_mirage(path: Path, *, parts: Sequence[str]) -> Iterator[Item]:
    """Part by part in the order of the file. Id = part:id of the file."""
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


# --- MMCU-Medical (Zeng 2023): Chinese exam questions of 15 subjects, four options, 194 with several right.


_MARKED = re.compile(r"(?:^|\s)([A-E])[,，.．、]\s*")


def read_mmcu(path: Path) -> Iterator[Item]:
    """Sheet by sheet; rows that are blank as a whole are passed over. Id = sheet:row."""
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
