"""What is asked in an evaluation: questions with what is right, and the data sets that hold them, or other things."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, Literal, TypeVar

from kgmed.errors import BadInput
from kgmed.records import Question, Run

T = TypeVar("T")
Task = Literal["choice", "text", "entities"]
Other = Literal["diagnosis", "linking", "recognition", "graph"]  # what holds no questions


@dataclass(frozen=True, slots=True)
class Gold:
    """What is right for a question; a data set gives what it has.

    A `choice` is a letter of the question's options, several where several are right. `texts` are reference answers,
    the first the main one. `entities` are names that a right answer holds and that its evidence should hold.
    """

    choices: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Item:
    """A question with its gold; `question.id` is unique within its data set and never changes."""

    question: Question
    gold: Gold
    part: str = "test"  # train, dev or test, as the data set itself splits
    subject: str = ""  # the subject, field or other group that the data set puts it in


@dataclass(frozen=True, slots=True)
class DataSetInfo(Generic[T]):
    """Something to evaluate on or with, and where it comes from; `read` gives it from the folder that holds its files.

    `read` raises `SourceError` (file, line, mend) for what it cannot read and skips nothing in silence.
    """

    name: str  # what a person types
    title: str
    task: Task | Other
    languages: tuple[str, ...]
    licence: str
    citation: str
    source: str  # where the files come from
    revision: str
    files: tuple[str, ...]  # relative to the data folder, e.g. "mmcu_medical/data.csv"
    items: int  # how many a whole copy has; of a graph its triples
    read: Callable[[Path], T]  # of the data folder
    hub: str = ""  # name on the model hub, where it can be fetched from there
    use: str = "kgmed eval run"  # the command that takes it
    columns: str = ""  # of a table of one's own: what was understood as what


@dataclass(frozen=True, slots=True)
class DataSet(DataSetInfo[Iterator[Item]]):
    """A data set of questions."""

    task: Task


# --- What a metric is: a number for one run, made from the run and the item's gold alone, never from a model's call.
# A failed run is scored, not dropped: `failed` is what it counts as. None = the metric does not apply to this item (it
# has no reference, say); the number of those is told with every mean.


@dataclass(frozen=True, slots=True)
class Metric:
    """A named number with its formula and where that comes from."""

    name: str
    formula: str
    source: str
    score: Callable[[Run, Item], float | None]
    tasks: tuple[Task, ...] = ("choice", "text", "entities")
    failed: float | None = 0.0  # what a run that failed counts as; None = it has no such number
    higher: bool = True  # whether higher is better
    ready: Callable[[Sequence[tuple[Run, Item]]], None] | None = None  # hears what will be scored, to do it at once

    def of(self, run: Run | None, item: Item) -> float | None:
        """The number for a run, or for the lack of one."""
        return self.failed if run is None else self.score(run, item)

    def over(self, runs: Sequence[Run | None], items: Sequence[Item]) -> list[float | None]:
        """The numbers of runs, one an item."""
        if self.ready is not None:
            self.ready([(run, item) for run, item in zip(runs, items, strict=True) if run is not None])
        return [self.of(run, item) for run, item in zip(runs, items, strict=True)]


@dataclass(frozen=True, slots=True)
class Choices:
    """What metrics are made from; a model by the name of its metric, or under "" for all."""

    models: Mapping[str, str] = field(default_factory=dict)
    layer: int = -1  # of BERTScore and MoverScore; -1 = the last
    idf: bool = False  # BERTScore weighs tokens by their rarity
    baseline: Path | None = None  # BERTScore is rescaled by this file
    graph: str = ""  # whose names are the keywords of `hallucination`; "" = words
    device: str = ""  # of the models; "" = the processor

    def model(self, name: str) -> str:
        """The model of a metric; raises `BadInput`."""
        found = self.models.get(name) or self.models.get("")
        if not found:
            raise BadInput(f"{name} needs a model; name its folder: --metric-model DIR or --metric-model {name}=DIR")
        return found


@dataclass(frozen=True, slots=True)
class MadeMetrics:
    """A name under which metrics are made from a model, or from all references of a data set, before they can score."""

    name: str
    needs: str  # what they are made from, as a list shows it
    make: "Callable[[Choices, Sequence[Item]], tuple[Metric, ...]]"  # from what is chosen and all items
