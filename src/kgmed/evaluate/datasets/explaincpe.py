"""ExplainCPE (Li et al. 2023): questions of the Chinese pharmacist exam, five options, with explanations."""

from collections.abc import Iterator
from pathlib import Path

from kgmed.errors import SourceError
from kgmed.evaluate.datasets.files import FETCH, whole_json
from kgmed.evaluate.datasets.letters import chosen, options
from kgmed.evaluate.items import DataSet, Gold, Item
from kgmed.types import Question

PARTS = ("train", "dev", "test")


def read(data: Path) -> Iterator[Item]:
    """Train, dev and test in turn; the explanation is the reference text. Id = part:id of the file."""
    for part in PARTS:
        path = data / f"explaincpe/{part}.json"
        for number, row in enumerate(whole_json(path)):
            try:
                choices, right = options(row["options"]), chosen(str(row["answer"]))
                text, why = str(row["question"]).strip(), str(row.get("explanation") or "")
                name = f"{part}:{row['id']}"
            except (KeyError, TypeError, AttributeError):
                raise SourceError(path, 0, f"item {number} lacks a field", FETCH) from None
            if not text or not right or not {*right} <= {letter for letter, _ in choices}:
                raise SourceError(path, 0, f"item {number} has no question, options or answer", FETCH)
            yield Item(Question(text, choices, "zh", name), Gold(right, (why,) if why else ()), part)


DATASET = DataSet(
    name="explaincpe",
    title="ExplainCPE",
    task="choice",
    languages=("zh",),
    licence="CC BY-SA, as its README has it in a comment",
    citation="Li et al. 2023, ExplainCPE, Findings of EMNLP",
    source="https://github.com/HITsz-TMG/ExplainCPE",
    revision="4d1d4e8",
    files=tuple(f"explaincpe/{part}.json" for part in PARTS),
    items=6857,
    read=read,
)
