"""MMCU-Medical (Zeng 2023): Chinese exam questions of 15 subjects, four options, 194 with several right."""

from collections.abc import Iterator
from pathlib import Path

from kgmed.errors import SourceError
from kgmed.evaluate.datasets.files import FETCH, sheets
from kgmed.evaluate.datasets.letters import chosen, options
from kgmed.evaluate.items import DataSet, Gold, Item
from kgmed.types import Question

FILE = "mmcu_medical/MMCU-Medical.xlsx"


def read(data: Path) -> Iterator[Item]:
    """Sheet by sheet; rows that are blank as a whole are passed over. Id = sheet:row."""
    path = data / FILE
    for subject, rows in sheets(path):
        for number, row in enumerate(rows[1:], start=2):
            cells = [str(cell).strip() if cell is not None else "" for cell in (*row, *[None] * 6)[:6]]
            if not any(cells):
                continue
            right, choices = chosen(cells[5]), options(cells[1:5])
            if not cells[0] or not right or not choices:
                raise SourceError(path, number, f"of sheet {subject} is no question with options and answer", FETCH)
            yield Item(Question(cells[0], choices, "zh", f"{subject}:{number}"), Gold(right))


DATASET = DataSet(
    name="mmcu",
    title="MMCU-Medical",
    task="choice",
    languages=("zh",),
    licence="not stated; free for research as its page on the hub says",
    citation="Zeng 2023, Measuring Massive Multitask Chinese Understanding",
    source="https://github.com/Felixgithub2017/MMCU",
    revision="bd5b2a1",
    files=(FILE,),
    items=2819,
    read=read,
    hub="Besteasy/MMCU",
)
