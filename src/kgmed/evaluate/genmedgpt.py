"""GenMedGPT-5k as MindMap prepared it: patients' questions, and the entities in the doctor's answers.

The file holds one JSON object a line with `qustion_output` (sic) and `answer_output`, each
`<CLS>text<SEP>The extracted entities are a, b<EOS>`; some rows lack a part of that and are counted as unreadable.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from kgmed.errors import SourceError

_PARTS = re.compile(r"<CLS>(?P<text>.*?)<SEP>\s*(?:The extracted entities are)?(?P<entities>.*?)(?:<EOS>|$)", re.DOTALL)
_BETWEEN = re.compile(r"\s*(?:,|;|<EntityMarker>|<SEP>)\s*")


@dataclass(frozen=True)
class Consultation:
    """A patient's question, and the names that were extracted from the doctor's answer."""

    line: int
    question: str
    answer: str
    answer_entities: tuple[str, ...]


def consultations(path: Path) -> Iterator[Consultation]:
    """The readable rows of the file; raises `SourceError` for a line that is not JSON or lacks a key."""
    with path.open(encoding="utf-8") as f:
        for line, text in enumerate(f, start=1):
            question, answer = _row(path, line, text)
            asked, said = _PARTS.search(question), _PARTS.search(answer)
            if asked and said:
                names = tuple(n.strip(" .") for n in _BETWEEN.split(said["entities"]) if n.strip(" ."))
                yield Consultation(line, asked["text"].strip(), said["text"].strip(), names)


def _row(path: Path, line: int, text: str) -> tuple[str, str]:
    try:
        row = json.loads(text)
        return str(row["qustion_output"]), str(row["answer_output"])
    except (ValueError, KeyError, TypeError):
        mend = "give the file with the keys qustion_output and answer_output"
        raise SourceError(path, line, "is not a row of GenMedGPT's extraction", mend) from None
