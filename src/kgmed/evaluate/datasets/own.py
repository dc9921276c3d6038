"""Questions of one's own, in a file or on the model hub."""

import hashlib
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

from kgmed.errors import BadInput, SourceError, Unavailable
from kgmed.evaluate.datasets.files import LETTERS, answer_letters, field, json_lines, options
from kgmed.evaluate.items import DataSet, Gold, Item, Task
from kgmed.records import Question

# --- One's own questions: JSON Lines with `question` and, as far as one has them, the rest.
# {"id": "1", "question": "...", "language": "en", "options": {"A": "...", "B": "..."}, "answer": "A",
#  "texts": ["a reference answer"], "entities": ["a name"], "part": "test"}


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
    right = answer_letters(str(row.get("answer") or ""))
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


def own_dataset(file: Path) -> DataSet:
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


# --- Questions of the model hub by name, as `hub/OWNER/NAME`, `hub/OWNER/NAME:CONFIG` or `hub/OWNER/NAME@REVISION`.
# The library datasets fetches them, keeps them, and runs no code that is among them. The columns are told by name:
#
# - question: `question`, `query`, `prompt` or `input`;
# - options: `options` or `choices` (letter -> text, texts, key and value of each, or lists of `label` and `text`), else
#   one column each: `opa`, `opb`, ... or `A`, `B`, ...;
# - the right one: `answer_idx`, `answerKey`, `answer_key`, `cop`, `label` or `answer`, as letters, a place from 0, or
# the
#   text of the option; -1 and nothing mean that none is told;
# - reference texts, where there are no options: `answer`, `answers`, `long_answer`, `reference` or `output`;
# - `language`.
#
# A question's id is its split and its place in it.


PREFIX = "hub/"
_QUESTION = ("question", "Question", "query", "prompt", "input")
_OPTIONS = ("options", "choices")
_COLUMNS = (tuple(f"op{letter.lower()}" for letter in LETTERS), tuple(LETTERS))
_RIGHT = ("answer_idx", "answerKey", "answer_key", "cop", "label", "answer", "Answer")
_TEXTS = ("answer", "answers", "long_answer", "reference", "output")
_PARTS = {"val": "dev", "dev": "dev", "train": "train", "test": "test"}  # how a split's name begins
_NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
_MEND = "write its questions as JSON Lines of your own, see docs/evaluate/index.md"
Row = Mapping[str, Any]


@cache
def hub_dataset(name: str) -> DataSet:
    """The data set of that name; raises `Unavailable` where it cannot be had, `BadInput` for what is no question."""
    place, _, revision = name.removeprefix(PREFIX).partition("@")
    path, _, config = place.partition(":")
    if not _NAME.fullmatch(path):
        raise BadInput(f"{name!r} is not of the form hub/OWNER/NAME, with :CONFIG and @REVISION where they are needed")
    if Path(path).exists():
        raise BadInput(f"the folder {path} lies here and would be read in place of the hub; start elsewhere")
    items = [
        item(name, split, n, row) for split, rows in _fetched(path, config, revision) for n, row in enumerate(rows)
    ]
    told = hashlib.sha256("\n".join(map(repr, items)).encode("utf-8", "surrogatepass")).hexdigest()
    return DataSet(
        name=name,
        title=" ".join(filter(None, (path, config))),
        task=task_of([item.gold for item in items]),
        languages=tuple(dict.fromkeys(i.question.language for i in items)),
        licence="see its page",
        citation="see its page",
        source=f"https://huggingface.co/datasets/{path}",
        revision=told[:12],
        files=(),
        items=len(items),
        read=partial(_read, items=items),
        hub=path,
    )


def _read(_: Path, *, items: list[Item]) -> Iterator[Item]:
    return iter(items)


def _fetched(path: str, config: str, revision: str) -> Iterator[tuple[str, Sequence[Row]]]:
    """Name and rows of each split."""
    try:
        import datasets
    except ImportError:
        raise Unavailable('data sets of the hub need datasets: pip install "kgmed[hub]"') from None
    if not sys.stderr.isatty():
        datasets.disable_progress_bars()
    try:
        found = datasets.load_dataset(path, config or None, revision=revision or None)
    except (OSError, ValueError, RuntimeError, datasets.exceptions.DatasetsError) as error:
        raise Unavailable(f"cannot get the data set {path}: {' '.join(str(error).split())[:200]}") from error
    yield from found.items()


def item(name: str, split: str, number: int, row: Row) -> Item:
    """A row of a split as a question; raises `BadInput` that names it."""
    where = f"{name}, row {number} of {split}"
    text = _first(row, _QUESTION)
    if not isinstance(text, str) or not text.strip():
        raise BadInput(f"{where}: no question among the columns {', '.join(row)}; {_MEND}")
    choices = _choices(row)
    if choices is None:
        raise BadInput(f"{where}: its options are in no form that is known; {_MEND}")
    try:
        gold = Gold(_right(row, choices)) if choices else Gold(texts=_hub_texts(row))
    except ValueError as error:
        raise BadInput(f"{where}: {error}; {_MEND}") from None
    language = row.get("language")
    question = Question(text.strip(), choices, language if isinstance(language, str) else "", f"{split}:{number}")
    return Item(question, gold, next((part for begin, part in _PARTS.items() if split.startswith(begin)), split))


def _first(row: Row, names: Sequence[str]) -> Any:
    """The first of these columns that is there and holds something."""
    return next((row[n] for n in names if row.get(n) is not None), None)


def _choices(row: Row) -> tuple[tuple[str, str], ...] | None:
    """Letter and text of each option; () where there are none, None where they are not understood."""
    value = _first(row, _OPTIONS)
    if value is None:
        columns = next((c for c in _COLUMNS if row.get(c[0]) is not None and row.get(c[1]) is not None), ())
        value = [row.get(column) for column in columns]
    if isinstance(value, Mapping) and {*value} >= {"label", "text"}:
        value = value["text"]
    elif isinstance(value, Mapping):
        value = [value.get(letter) for letter in LETTERS] if {*value} <= {*LETTERS} else [object()]
    elif isinstance(value, Sequence) and value and all(isinstance(v, Mapping) for v in value):
        value = [v.get("value", v.get("text")) for v in value]
    if (
        isinstance(value, str)
        or not isinstance(value, Sequence)
        or not all(v is None or isinstance(v, str) for v in value)
        or len(value) > len(LETTERS)
    ):
        return None
    return options(value)


def _right(row: Row, choices: tuple[tuple[str, str], ...]) -> tuple[str, ...]:
    """The letters that are right; raises `ValueError`."""
    value = _first(row, _RIGHT)
    letters, texts = dict(choices), {text: letter for letter, text in choices}
    if isinstance(value, list) and value and all(isinstance(v, str) for v in value):
        value = "".join(value)
    if value is None or value in ("", -1, []):
        return ()
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < len(LETTERS):
        found: tuple[str, ...] = (LETTERS[value],)
    elif isinstance(value, str):
        found = (texts[value.strip()],) if value.strip() in texts else answer_letters(value)
    else:
        found = ()
    if not found or not {*found} <= {*letters}:
        raise ValueError(f"its answer {str(value)[:40]!r} is none of its options")
    return found


def _hub_texts(row: Row) -> tuple[str, ...]:
    """The reference answers; raises `ValueError` where what stands there is no text."""
    value = _first(row, _TEXTS)
    listed = [value] if isinstance(value, str) else [] if value is None else value
    if not isinstance(listed, list) or not all(isinstance(v, str) for v in listed):
        raise ValueError("its reference answer is no text")
    return tuple(v.strip() for v in listed if v.strip())
