"""What the papers report for the same method, data set and metric; it stands beside our figures, never among them."""

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any


@dataclass(frozen=True, slots=True)
class Figure:
    """A number as a paper prints it, on our scale, with the model it was reached with."""

    paper: str
    cite: str
    method: str  # our name of it
    dataset: str
    metric: str
    value: float
    model: str
    table: str = ""  # its number in the paper; "" = not checked
    other: str = ""  # the paper's questions, where they are not those of our data set

    def __str__(self) -> str:
        """The number, the paper and the model on one line."""
        where = f"{self.paper}, Table {self.table}" if self.table else self.paper
        return f"{self.value:.4f} with {self.model} ({'; '.join(filter(None, (where, self.other)))})"


@cache
def figures() -> tuple[Figure, ...]:
    """All that is known."""
    data = tomllib.loads((files(__package__) / "papers.toml").read_text(encoding="utf-8"))
    return tuple(_figure(paper, row) for paper in data["paper"] for row in paper["figures"])


def _figure(paper: dict[str, Any], row: dict[str, Any]) -> Figure:
    value = round(row["value"] / paper["scale"], 6)
    other = paper.get("questions", {}).get(row["dataset"], "")
    return Figure(**{**row, "value": value}, paper=paper["name"], cite=paper["cite"], other=other)


def reported(method: str, dataset: str, metric: str) -> list[Figure]:
    """What papers report of a method, by our names.

    >>> [str(f) for f in reported("hykge", "mmcu", "accuracy")]
    ['0.4965 with GPT-3.5 (HyKGE)', '0.4933 with Baichuan-13B-Chat (HyKGE)']
    """
    return [f for f in figures() if (f.method, f.dataset, f.metric) == (method, dataset, metric)]
