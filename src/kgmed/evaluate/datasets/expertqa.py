"""ExpertQA (Malaviya et al. 2024): experts' questions with answers that they revised; KG-Rank took two fields."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from kgmed.evaluate.datasets.files import field, json_lines
from kgmed.evaluate.items import DataSet, Gold, Item
from kgmed.types import Question

PARTS = {"train": "rand_lfqa_train.json", "dev": "rand_lfqa_val.json", "test": "rand_lfqa_test.json"}
FIELDS = "expertqa/r1_data_anon.jsonl"


def read(data: Path, *, fields: tuple[str, ...]) -> Iterator[Item]:
    """The questions of some fields (() = all), part by part. Id = part:line of the file."""
    known = {field(data / FIELDS, n, row, "question"): _field(row) for n, row in json_lines(data / FIELDS)}
    for part, name in PARTS.items():
        path = data / "expertqa" / name
        for line, row in json_lines(path):
            asked = field(path, line, row, "question")
            if not fields or known.get(asked) in fields:
                gold = Gold(texts=(field(path, line, row, "answer"),))
                yield Item(Question(asked, (), "en", f"{part}:{line}"), gold, part)


def _field(row: dict[str, object]) -> str:
    metadata = row.get("metadata")
    return str(metadata.get("field")) if isinstance(metadata, dict) else ""


def _set(name: str, title: str, fields: tuple[str, ...], items: int) -> DataSet:
    return DataSet(
        name=name,
        title=title,
        task="text",
        languages=("en",),
        licence="MIT",
        citation="Malaviya et al. 2024, ExpertQA, arXiv 2309.07852",
        source="https://github.com/chaitanyamalaviya/ExpertQA",
        revision="1aa7ba8",
        files=(*(f"expertqa/{file}" for file in PARTS.values()), FIELDS),
        items=items,
        read=partial(read, fields=fields),
    )


MEDICINE = _set("expertqa-med", "ExpertQA, medicine", ("Healthcare / Medicine", "Medicine"), 497)
BIOLOGY = _set("expertqa-bio", "ExpertQA, biology", ("Biology",), 93)
ALL = _set("expertqa", "ExpertQA, all fields", (), 2169)
