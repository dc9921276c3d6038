"""Questions with written answers: LiveQA, MedicationQA, ExpertQA, GenMedGPT-5k, CMCQA, and Mintaka's short ones."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kgmed.errors import SourceError, Unavailable
from kgmed.evaluate.datasets.files import FETCH, field, json_lines, sheets, texts_of, whole_json
from kgmed.evaluate.datasets.files import text as read_text
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
            names = tuple(n for n in parts if n)
            yield Consultation(line, asked["text"].strip(), said["text"].strip(), names)


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
    if isinstance(answer, bool):
        return "yes" if answer else "no"
    return "" if answer is None else str(answer)


def _label(value: Any) -> str:
    if isinstance(value, dict):
        label = value.get("label")
        return str((label.get("en") if isinstance(label, dict) else label) or value.get("name") or "")
    return _said(value)
