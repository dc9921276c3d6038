"""GenMedGPT-5k (ChatDoctor), as MindMap prepared it: patients' questions and a model's answers, with entities."""

from collections.abc import Iterator
from pathlib import Path

from kgmed.evaluate.genmedgpt import consultations
from kgmed.evaluate.items import DataSet, Gold, Item
from kgmed.types import Question

FILE = "genmedgpt5k/NER_chatgpt_first4000.json"
DEV = 1000  # lines of the file that settings may be chosen on


def read(data: Path) -> Iterator[Item]:
    """The readable rows (29 of 4,000 lack a part); a language model wrote the answers. Id = line."""
    for row in consultations(data / FILE):
        part = "dev" if row.line <= DEV else "test"
        gold = Gold(texts=(row.answer,), entities=row.answer_entities)
        yield Item(Question(row.question, (), "en", str(row.line)), gold, part)


DATASET = DataSet(
    name="genmedgpt",
    title="GenMedGPT-5k with MindMap's entities, first 4,000",
    task="entities",
    languages=("en",),
    licence="Apache-2.0 (ChatDoctor), for academic research; none stated for MindMap's part",
    citation="Li et al. 2023, ChatDoctor, arXiv 2303.14070; Wen et al. 2024, MindMap",
    source="https://github.com/wyl-willing/MindMap",
    revision="0411a54",
    files=(FILE,),
    items=3971,
    read=read,
)
