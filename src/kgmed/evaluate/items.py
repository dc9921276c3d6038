"""What is asked in an evaluation: questions with what is right, and the data sets that hold them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from kgmed.types import Question

Task = Literal["choice", "text", "entities"]


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
class DataSet:
    """A data set and where it comes from; `read` gives its items from the folder that holds its files.

    `read` raises `SourceError` (file, line, mend) for what it cannot read and skips nothing in silence.
    """

    name: str  # what a person types
    title: str
    task: Task
    languages: tuple[str, ...]
    licence: str
    citation: str
    source: str  # where the files come from
    revision: str
    files: tuple[str, ...]  # relative to the data folder, e.g. "mmcu_medical/data.csv"
    items: int  # how many a whole copy has
    read: Callable[[Path], Iterator[Item]]  # of the data folder
    hub: str = ""  # name on the model hub, where it can be fetched from there
