"""MIRAGE (Xiong et al. 2024): English questions of MedQA, MedMCQA, PubMedQA, BioASQ and MMLU's medical subjects."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from kgmed.errors import SourceError
from kgmed.evaluate.datasets.files import FETCH, whole_json
from kgmed.evaluate.items import DataSet, Gold, Item
from kgmed.types import Question

FILE = "mirage/benchmark.json"
PARTS = ("medqa", "medmcqa", "pubmedqa", "bioasq", "mmlu")


def read(data: Path, *, parts: tuple[str, ...]) -> Iterator[Item]:
    """Part by part in the order of the file. Id = part:id of the file."""
    path = data / FILE
    whole = whole_json(path)
    for part in parts:
        for name, row in whole.get(part, {}).items():
            try:
                choices = tuple((str(letter), str(text)) for letter, text in row["options"].items())
                question, right = str(row["question"]).strip(), str(row["answer"])
            except (KeyError, TypeError, AttributeError):
                raise SourceError(path, 0, f"{part} {name} is no question with options and answer", FETCH) from None
            if right not in dict(choices):
                raise SourceError(path, 0, f"{part} {name} has the answer {right!r}, which is no option", FETCH)
            yield Item(Question(question, choices, "en", f"{part}:{name}"), Gold((right,)))


def _set(name: str, title: str, parts: tuple[str, ...], items: int) -> DataSet:
    return DataSet(
        name=name,
        title=title,
        task="choice",
        languages=("en",),
        licence="public domain (MIRAGE); parts MIT, BioASQ CC BY 2.5",
        citation="Xiong et al. 2024, Benchmarking retrieval-augmented generation for medicine, arXiv 2402.13178",
        source="https://github.com/Teddy-XiongGZ/MIRAGE",
        revision="0316f5e",
        files=(FILE,),
        items=items,
        read=partial(read, parts=parts),
    )


MIRAGE = _set("mirage", "MIRAGE, all five parts", PARTS, 7663)
MEDQA = _set("medqa", "MedQA (USMLE), as in MIRAGE", ("medqa",), 1273)
MEDMCQA = _set("medmcqa", "MedMCQA, as in MIRAGE", ("medmcqa",), 4183)
PUBMEDQA = _set("pubmedqa", "PubMedQA, as in MIRAGE", ("pubmedqa",), 500)
BIOASQ = _set("bioasq", "BioASQ yes/no, as in MIRAGE", ("bioasq",), 618)
