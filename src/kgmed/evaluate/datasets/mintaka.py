"""Mintaka (Sen et al. 2022): general questions with short answers; KG-Rank's open domain."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kgmed.errors import SourceError
from kgmed.evaluate.datasets.files import FETCH, whole_json
from kgmed.evaluate.items import DataSet, Gold, Item
from kgmed.types import Question

FILES = {"dev": "mintaka/mintaka_dev.json", "test": "mintaka/mintaka_test_en_subset.json"}


def read(data: Path) -> Iterator[Item]:
    """Dev, then test; the answer as a person would write it. Id = id of the file."""
    for part, file in FILES.items():
        path = data / file
        for number, row in enumerate(whole_json(path)):
            try:
                asked, name, said = str(row["question"]).strip(), str(row["id"]), _said(row["answer"])
            except (KeyError, TypeError, AttributeError):
                raise SourceError(path, 0, f"item {number} lacks a field", FETCH) from None
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


DATASET = DataSet(
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
    read=read,
    hub="AmazonScience/mintaka",
)
