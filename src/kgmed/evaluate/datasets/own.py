"""One's own questions: JSON Lines with `question` and, as far as one has them, the rest.

{"id": "1", "question": "...", "language": "en", "options": {"A": "...", "B": "..."}, "answer": "A",
 "texts": ["a reference answer"], "entities": ["a name"], "part": "test"}
"""

import hashlib
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from kgmed.errors import SourceError
from kgmed.evaluate.datasets.files import field, json_lines
from kgmed.evaluate.datasets.letters import chosen
from kgmed.evaluate.items import DataSet, Gold, Item, Task
from kgmed.types import Question

MEND = 'write a question a line, such as {"question": "Which?", "options": {"A": "gout", "B": "flu"}, "answer": "A"}'


def read(data: Path, *, file: Path) -> Iterator[Item]:
    """The questions of a file; `data` is not used. Without an id the line number is it."""
    seen: dict[str, int] = {}
    for line, row in json_lines(file, mend=MEND):
        item = _item(file, line, row)
        if item.question.id in seen:
            raise SourceError(file, line, f"has the id {item.question.id!r} of line {seen[item.question.id]}", MEND)
        seen[item.question.id] = line
        yield item


def _item(file: Path, line: int, row: dict[str, Any]) -> Item:
    choices = row.get("options") or {}
    if not isinstance(choices, dict) or not all(isinstance(t, str) for t in choices.values()):
        raise SourceError(file, line, "has options that are no object of letter and text", MEND)
    right = chosen(str(row.get("answer") or ""))
    if row.get("answer") and not (right and {*right} <= {*choices}):
        raise SourceError(file, line, f"has the answer {row['answer']!r}, which is no letter of its options", MEND)
    name, language = str(row.get("id") or line), str(row.get("language") or "")
    question = Question(field(file, line, row, "question", mend=MEND), tuple(choices.items()), language, name)
    gold = Gold(right, _texts(file, line, row, "texts"), _texts(file, line, row, "entities"))
    return Item(question, gold, str(row.get("part") or "test"))


def _texts(file: Path, line: int, row: dict[str, Any], name: str) -> tuple[str, ...]:
    value = row.get(name) or []
    if not isinstance(value, list) or not all(isinstance(t, str) for t in value):
        raise SourceError(file, line, f"has {name} that are no list of texts", MEND)
    return tuple(value)


def task_of(golds: list[Gold]) -> Task:
    """What is asked for, by what the gold has."""
    if any(g.choices for g in golds):
        return "choice"
    return "text" if any(g.texts for g in golds) else "entities"


def dataset(file: Path) -> DataSet:
    """A file of one's own as a data set; its revision is the hash of the file."""
    try:
        revision = hashlib.sha256(file.read_bytes()).hexdigest()[:12]
    except OSError as e:
        raise SourceError(file, 0, f"cannot be read ({e.strerror})", "name a JSON Lines file") from None
    items = list(read(Path(), file=file))
    return DataSet(
        name=file.stem,
        title=file.name,
        task=task_of([item.gold for item in items]),
        languages=tuple(dict.fromkeys(i.question.language for i in items)),
        licence="your own",
        citation="",
        source=str(file),
        revision=revision,
        files=(),
        items=len(items),
        read=partial(read, file=file),
    )
