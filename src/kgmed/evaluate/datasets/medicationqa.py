"""MedicationQA (Ben Abacha et al. 2019): consumers' questions about drugs; KG-Rank's tables call it MedQA."""

from collections.abc import Iterator
from pathlib import Path

from kgmed.errors import SourceError
from kgmed.evaluate.datasets.files import FETCH, sheets
from kgmed.evaluate.items import DataSet, Gold, Item
from kgmed.types import Question

FILE = "medicationqa/MedInfo2019-QA-Medications.xlsx"


def read(data: Path) -> Iterator[Item]:
    """Row by row; the drug that is asked about is the gold entity. Id = row."""
    path = data / FILE
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


DATASET = DataSet(
    name="medicationqa",
    title="MedicationQA",
    task="text",
    languages=("en",),
    licence="none stated (NLM asks to be cited)",
    citation="Ben Abacha et al. 2019, Bridging the gap between consumers' medication questions and trusted answers",
    source="https://github.com/abachaa/Medication_QA_MedInfo2019",
    revision="8756adc",
    files=(FILE,),
    items=690,
    read=read,
)
