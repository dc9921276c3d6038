"""Questions with written answers: LiveQA, MedicationQA, ExpertQA, GenMedGPT-5k, CMCQA, and Mintaka's short ones."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from kgmed.errors import SourceError, Unavailable
from kgmed.evaluate.datasets.files import FETCH, field, json_lines, sheets, texts_of, whole_json
from kgmed.evaluate.datasets.files import text as read_text
from kgmed.evaluate.items import DataSet, Gold, Item
from kgmed.records import Question
from kgmed.registry import datasets

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


GENMEDGPT_FILE = "genmedgpt5k/NER_chatgpt_first4000.json"
DEV = 1000  # lines of the file that settings may be chosen on


def read_genmedgpt(data: Path) -> Iterator[Item]:
    """The readable rows (29 of 4,000 lack a part); a language model wrote the answers. Id = line."""
    for row in consultations(data / GENMEDGPT_FILE):
        part = "dev" if row.line <= DEV else "test"
        gold = Gold(texts=(row.answer,), entities=row.answer_entities)
        yield Item(Question(row.question, (), "en", str(row.line)), gold, part)


datasets.add(
    DataSet(
        name="genmedgpt",
        title="GenMedGPT-5k with MindMap's entities, first 4,000",
        task="entities",
        languages=("en",),
        licence="Apache-2.0 (ChatDoctor), for academic research; none stated for MindMap's part",
        citation="Li et al. 2023, ChatDoctor, arXiv 2303.14070; Wen et al. 2024, MindMap",
        source="https://github.com/wyl-willing/MindMap",
        revision="0411a54",
        files=(GENMEDGPT_FILE,),
        items=3971,
        read=read_genmedgpt,
    )
)


# --- CMCQA, the 500 Chinese dialogues that MindMap took, with what the doctor said and the words of the question.


CMCQA_FILE = "cmcqa/Chinese_doctor_qa_ner.json"


def read_cmcqa(data: Path) -> Iterator[Item]:
    """One dialogue a line: the patient's part is the question, the doctor's the reference. Id = line of the file."""
    path = data / CMCQA_FILE
    for line, row in json_lines(path):
        asked, said = field(path, line, row, "question"), field(path, line, row, "answer")
        yield Item(Question(asked, (), "zh", str(line)), Gold(texts=(said,)))


datasets.add(
    DataSet(
        name="cmcqa",
        title="CMCQA, MindMap's sample",
        task="text",
        languages=("zh",),
        licence="none stated",
        citation="Xia et al. 2022, CMCQA; Wen et al. 2024, MindMap",
        source="https://github.com/wyl-willing/MindMap",
        revision="0411a54",
        files=(CMCQA_FILE,),
        items=500,
        read=read_cmcqa,
    )
)


# --- CMB-Clin (Wang et al. 2023): 208 questions about 74 patients, with what the textbook says; HyKGE's Table 3.


CMB_CLIN_FILE = "cmb_exam/CMB-Clin/CMB-Clin-qa.json"
_CASE = "{description}\n\n{question}"


def read_cmb_clin(data: Path) -> Iterator[Item]:
    """Patient by patient, each question behind the whole case; its turns are asked one by one. Id = case:question."""
    path = data / CMB_CLIN_FILE
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


datasets.add(
    DataSet(
        name="cmb-clin",
        title="CMB-Clin, 208 questions about 74 patients",
        task="text",
        languages=("zh",),
        licence="Apache-2.0",
        citation="Wang et al. 2023, CMB, arXiv 2308.08833",
        source="https://github.com/FreedomIntelligence/CMB (data/CMB.zip)",
        revision="6c8ece4",
        files=(CMB_CLIN_FILE,),
        items=208,
        read=read_cmb_clin,
        hub="FreedomIntelligence/CMB",
    )
)


# --- ExpertQA (Malaviya et al. 2024): experts' questions with answers that they revised; KG-Rank took two fields, and
# four more for its open domain (Table 5), each whole: `--part all`.


EXPERTQA_PARTS = {"train": "rand_lfqa_train.json", "dev": "rand_lfqa_val.json", "test": "rand_lfqa_test.json"}
FIELDS = "expertqa/r1_data_anon.jsonl"


def read_expertqa(data: Path, *, fields: tuple[str, ...]) -> Iterator[Item]:
    """The questions of some fields (() = all), part by part; the field is the subject. Id = part:line of the file."""
    known = {field(data / FIELDS, n, row, "question"): _field(row) for n, row in json_lines(data / FIELDS)}
    for part, name in EXPERTQA_PARTS.items():
        path = data / "expertqa" / name
        for line, row in json_lines(path):
            asked = field(path, line, row, "question")
            if not fields or known.get(asked) in fields:
                gold = Gold(texts=(field(path, line, row, "answer"),))
                yield Item(Question(asked, (), "en", f"{part}:{line}"), gold, part, known.get(asked, ""))


def _field(row: dict[str, object]) -> str:
    metadata = row.get("metadata")
    return str(metadata.get("field")) if isinstance(metadata, dict) else ""


for _name, _title, _fields, _items in (
    ("expertqa-med", "ExpertQA, medicine", ("Healthcare / Medicine", "Medicine"), 497),
    ("expertqa-bio", "ExpertQA, biology", ("Biology",), 93),
    ("expertqa-law", "ExpertQA, law", ("Law",), 100),
    ("expertqa-business", "ExpertQA, business", ("Business",), 96),
    ("expertqa-music", "ExpertQA, music", ("Music",), 52),
    ("expertqa-history", "ExpertQA, history", ("History",), 61),
    ("expertqa", "ExpertQA, all fields", (), 2169),
):
    datasets.add(
        DataSet(
            name=_name,
            title=_title,
            task="text",
            languages=("en",),
            licence="MIT",
            citation="Malaviya et al. 2024, ExpertQA, arXiv 2309.07852",
            source="https://github.com/chaitanyamalaviya/ExpertQA",
            revision="1aa7ba8",
            files=(*(f"expertqa/{file}" for file in EXPERTQA_PARTS.values()), FIELDS),
            items=_items,
            read=partial(read_expertqa, fields=_fields),
        )
    )


# --- LiveQA-Medical (TREC 2017): consumers' questions with reference answers of librarians, as KG-Rank took it.


LIVEQA_FILE = "liveqa_medical/TREC-2017-LiveQA-Medical-Test.xml"


def read_liveqa(data: Path) -> Iterator[Item]:
    """NIST's paraphrase, or the message where that is empty (one is); all its reference answers. Id = qid.

    Table 1 of KG-Rank fits the paraphrase and the first answer.
    """
    path = data / LIVEQA_FILE
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


datasets.add(
    DataSet(
        name="liveqa",
        title="TREC 2017 LiveQA, medical task, test questions",
        task="text",
        languages=("en",),
        licence="none stated (NLM asks to be cited)",
        citation="Ben Abacha et al. 2017, Overview of the medical question answering task at TREC 2017 LiveQA",
        source="https://github.com/abachaa/LiveQA_MedicalTask_TREC2017",
        revision="3f5a42c",
        files=(LIVEQA_FILE,),
        items=104,
        read=read_liveqa,
    )
)


# --- MedicationQA (Ben Abacha et al. 2019): consumers' questions about drugs; KG-Rank's tables call it MedQA.


MEDICATIONQA_FILE = "medicationqa/MedInfo2019-QA-Medications.xlsx"


def read_medicationqa(data: Path) -> Iterator[Item]:
    """Row by row; the drug that is asked about is the gold entity. Id = row."""
    path = data / MEDICATIONQA_FILE
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


datasets.add(
    DataSet(
        name="medicationqa",
        title="MedicationQA",
        task="text",
        languages=("en",),
        licence="none stated (NLM asks to be cited)",
        citation="Ben Abacha et al. 2019, Bridging the gap between consumers' medication questions and trusted answers",
        source="https://github.com/abachaa/Medication_QA_MedInfo2019",
        revision="8756adc",
        files=(MEDICATIONQA_FILE,),
        items=690,
        read=read_medicationqa,
    )
)


# --- Mintaka (Sen et al. 2022): general questions with short answers; KG-Rank's open domain.


FILES = {"dev": "mintaka/mintaka_dev.json", "test": "mintaka/mintaka_test_en_subset.json"}


def read_mintaka(data: Path) -> Iterator[Item]:
    """Dev, then test; the answer as a person would write it. Id = id of the file."""
    for part, file in FILES.items():
        path = data / file
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


datasets.add(
    DataSet(
        name="mintaka",
        title="Mintaka: dev, and 2,912 of the 4,000 test questions",
        task="text",
        languages=("en",),
        licence="CC BY 4.0",
        citation="Sen et al. 2022, Mintaka, COLING",
        source="https://github.com/amazon-science/mintaka",
        revision="e538daf (dev), b6146ff",
        files=tuple(FILES.values()),
        items=4912,
        read=read_mintaka,
        hub="AmazonScience/mintaka",
    )
)
