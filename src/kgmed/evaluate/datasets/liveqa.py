"""LiveQA-Medical (TREC 2017): consumers' questions with reference answers of librarians, as KG-Rank took it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kgmed.errors import SourceError, Unavailable
from kgmed.evaluate.datasets.files import FETCH
from kgmed.evaluate.datasets.files import text as read_text
from kgmed.evaluate.items import DataSet, Gold, Item
from kgmed.types import Question

FILE = "liveqa_medical/TREC-2017-LiveQA-Medical-Test.xml"


def read(data: Path) -> Iterator[Item]:
    """NIST's paraphrase, or the message where that is empty (one is); all its reference answers. Id = qid.

    Table 1 of KG-Rank fits the paraphrase and the first answer.
    """
    path = data / FILE
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


DATASET = DataSet(
    name="liveqa",
    title="TREC 2017 LiveQA, medical task, test questions",
    task="text",
    languages=("en",),
    licence="none stated (NLM asks to be cited)",
    citation="Ben Abacha et al. 2017, Overview of the medical question answering task at TREC 2017 LiveQA",
    source="https://github.com/abachaa/LiveQA_MedicalTask_TREC2017",
    revision="3f5a42c",
    files=(FILE,),
    items=104,
    read=read,
)
