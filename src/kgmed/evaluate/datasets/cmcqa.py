"""CMCQA, the 500 Chinese dialogues that MindMap took, with what the doctor said and the words of the question."""

from collections.abc import Iterator
from pathlib import Path

from kgmed.evaluate.datasets.files import field, json_lines
from kgmed.evaluate.items import DataSet, Gold, Item
from kgmed.types import Question

FILE = "cmcqa/Chinese_doctor_qa_ner.json"


def read(data: Path) -> Iterator[Item]:
    """One dialogue a line: the patient's part is the question, the doctor's the reference. Id = line of the file."""
    path = data / FILE
    for line, row in json_lines(path):
        asked, said = field(path, line, row, "question"), field(path, line, row, "answer")
        yield Item(Question(asked, (), "zh", str(line)), Gold(texts=(said,)))


DATASET = DataSet(
    name="cmcqa",
    title="CMCQA, MindMap's sample",
    task="text",
    languages=("zh",),
    licence="none stated",
    citation="Xia et al. 2022, CMCQA; Wen et al. 2024, MindMap",
    source="https://github.com/wyl-willing/MindMap",
    revision="0411a54",
    files=(FILE,),
    items=500,
    read=read,
)
