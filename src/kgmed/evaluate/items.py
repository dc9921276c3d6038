"""What is asked in an evaluation: questions with what is right, and the data sets that hold them, or other things."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, Literal, TypeVar

from kgmed.types import Question

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


@dataclass(frozen=True, slots=True)
class Described(Generic[T]):
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


@dataclass(frozen=True, slots=True)
class DataSet(Described[Iterator[Item]]):
    """A data set of questions."""

    task: Task
