"""Questions of one's own, in a file or on the model hub."""

import csv
import hashlib
import io
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import chain, takewhile
from pathlib import Path
from typing import Any

from kgmed.errors import BadInput, SourceError, Unavailable
from kgmed.evaluate.datasets.files import LETTERS, answer_letters, field, json_lines, options, sheets
from kgmed.evaluate.datasets.files import text as read_text
from kgmed.evaluate.items import DataSet, Gold, Item, Task
from kgmed.records import Question

Row = Mapping[str, Any]

# --- What the columns of a table are understood as, by their names (case does not count, nor do blanks around them):
# - question: `question`, `query`, `prompt`, `input`, `stem`, `问题`, `题目`;
# - options, one a column: a common beginning and then a, b, c, ... or 0, 1, 2, ... or 1, 2, 3, ..., such as `option_a`,
#   `opa`, `A`, `choice1`, `选项A`;
# - the right one: `answer_idx`, `answerKey`, `answer_key`, `cop`, `label`, `answer`, `correct`, `答案`, `正确答案`;
# - reference texts where there are no options: `answer`, `answers`, `long_answer`, `reference`, `output`, `texts`;
# - `id`, `language`, `part` or `split`, `subject`, `entities`.


_QUESTION = ("question", "query", "prompt", "input", "stem", "问题", "题目")
_RIGHT = ("answer_idx", "answerkey", "answer_key", "cop", "label", "answer", "correct", "correct_answer", "答案",
          "正确答案")  # fmt: skip
_TEXTS = ("texts", "answer", "answers", "long_answer", "reference", "output", "参考答案")
_PLAIN = {
    "id": ("id", "sample_id"),
    "language": ("language", "lang"),
    "part": ("part", "split"),
    "subject": ("subject", "subject_name", "category", "科目"),
    "entities": ("entities",),
}
_BEGIN = re.compile(r"(?:options?|choices?|op|opt|ending|answer|ans|选项)?[_ -]?", re.IGNORECASE)
_SIDE = "_"  # a column whose name begins so is left out
MEND = 'write a question a line, such as {"question": "Which?", "options": {"A": "gout", "B": "flu"}, "answer": "A"}'
_RENAME = (
    "call it question, option_a, option_b, ..., answer, texts, entities, id, language, part or subject,"
    f" or begin its name with {_SIDE} to leave it out"
)


def option_columns(names: Sequence[str]) -> tuple[str, ...]:
    """The columns that hold an option each, in their order; () where there are no two that belong together.

    >>> option_columns(["question", "option_a", "option_b", "answer"]), option_columns(["Q", "choice2", "choice1"])
    (('option_a', 'option_b'), ('choice1', 'choice2'))
    """
    groups: dict[str, dict[str, str]] = defaultdict(dict)
    for name in names:
        begin, last = name.strip()[:-1], name.strip()[-1:]
        if last and _BEGIN.fullmatch(begin):
            groups[begin.casefold()][last.casefold()] = name
    for of in groups.values():
        for marks in (LETTERS.casefold(), "0123456789", "123456789"):
            found = tuple(of[m] for m in takewhile(of.__contains__, marks))
            if len(found) > 1:
                return found
    return ()


@dataclass(frozen=True, slots=True)
class Columns:
    """Which column holds what; "" and () = none does."""

    question: str
    options: tuple[str, ...] = ()
    right: str = ""
    texts: str = ""
    plain: tuple[tuple[str, str], ...] = ()  # (id, language, part, subject or entities; column)
    left_out: tuple[str, ...] = ()

    @classmethod
    def of(cls, header: Sequence[str]) -> "Columns":
        """What a header says; raises `ValueError` that names a column that is not understood."""
        named = [name for name in header if name.strip() and not name.strip().startswith(_SIDE)]
        if twice := [name for name, n in Counter(named).items() if n > 1]:
            raise ValueError(f"has the column {twice[0]!r} twice")
        choices = option_columns(named)
        found = {what: _called(named, names, choices) for what, names in {"question": _QUESTION, **_PLAIN}.items()}
        right = _called(named, _RIGHT, choices) if choices else ""
        texts = "" if choices else _called(named, _TEXTS, ())
        if not found["question"]:
            raise ValueError(f"has no column with the question among {', '.join(h[:_SHOWN] for h in header) or 'none'}")
        known = {*choices, right, texts, *found.values()}
        if strange := [name for name in named if name not in known]:
            raise ValueError(f"has the column {strange[0][:_SHOWN]!r}, which is not understood")
        plain = tuple((what, column) for what, column in found.items() if column and what != "question")
        out = tuple(name for name in header if name not in named)
        return cls(found["question"], choices, right, texts, plain, out)

    def __str__(self) -> str:
        """What is understood as what."""
        choices = f"{self.options[0]} to {self.options[-1]}" if self.options else ""
        rows = [("question", self.question), ("options", choices), ("answer", self.right), ("texts", self.texts)]
        said = [f"{what} = {column}" for what, column in (*rows, *self.plain) if column]
        return ", ".join([*said, *(f"{name or 'a column without a name'} left out" for name in self.left_out)])


def _called(header: Sequence[str], names: Sequence[str], taken: Sequence[str]) -> str:
    """The column that bears the first of these names that any bears; "" where none does."""
    by = {name.strip().casefold(): name for name in header if name not in taken}
    return next((by[name] for name in names if name in by), "")


# --- One's own questions: a table (.csv, .tsv, the first sheet of .xlsx) whose columns are called as above, or JSON
# Lines with `question` and, as far as one has them, the rest.
# {"id": "1", "question": "...", "language": "en", "options": {"A": "...", "B": "..."}, "answer": "A",
#  "texts": ["a reference answer"], "entities": ["a name"], "part": "test", "subject": "rheumatology"}


_FIELDS = ("id", "question", "language", "options", "answer", "texts", "entities", "part", "subject")
_MMLU = ("question", *"ABCD", "answer")
_SHEET = "save the table as .xlsx or .csv anew"
_SHOWN = 40  # characters of a column's name that is not understood


def read(data: Path, *, file: Path) -> Iterator[Item]:
    """The questions of a file; `data` is not used. Without an id the line number is it."""
    seen: dict[str, int] = {}
    for line, item in _lines(file) if file.suffix == ".jsonl" else _table(file):
        if item.question.id in seen:
            raise SourceError(file, line, f"has the id {item.question.id!r} of line {seen[item.question.id]}", MEND)
        seen[item.question.id] = line
        yield item


def _lines(file: Path) -> Iterator[tuple[int, Item]]:
    """The questions of a file of JSON Lines."""
    for line, row in json_lines(file, mend=MEND):
        if strange := [key for key in row if key not in _FIELDS and not key.startswith(_SIDE)]:
            raise SourceError(file, line, f"has the field {strange[0]!r}, which is not understood", _FIELDS_MEND)
        yield line, _item(file, line, row)


_FIELDS_MEND = f"the fields are {', '.join(_FIELDS)}; begin its name with {_SIDE} to leave it out"


def _item(file: Path, line: int, row: dict[str, Any]) -> Item:
    choices = row.get("options") or {}
    if not isinstance(choices, dict) or not all(isinstance(t, str) for t in choices.values()):
        raise SourceError(file, line, "has options that are no object of letter and text", MEND)
    if not choices and not row.get("texts"):  # as in a table
        row = {**row, "answer": "", "texts": [row["answer"]] if row.get("answer") else []}
    right = answer_letters(str(row.get("answer") or ""))
    if row.get("answer") and not (right and {*right} <= {*choices}):
        raise SourceError(file, line, f"has the answer {row['answer']!r}, which is no letter of its options", MEND)
    name, language = str(row.get("id") or line), str(row.get("language") or "")
    question = Question(field(file, line, row, "question", mend=MEND), tuple(choices.items()), language, name)
    gold = Gold(right, _texts(file, line, row, "texts"), _texts(file, line, row, "entities"))
    return Item(question, gold, str(row.get("part") or "test"), str(row.get("subject") or ""))


def _texts(file: Path, line: int, row: dict[str, Any], name: str) -> tuple[str, ...]:
    value = row.get(name) or []
    if not isinstance(value, list) or not all(isinstance(t, str) for t in value):
        raise SourceError(file, line, f"has {name} that are no list of texts", MEND)
    return tuple(value)


def _table(file: Path) -> Iterator[tuple[int, Item]]:
    """The questions of a table, each with the line it ends on."""
    header, rows = _header(file)
    columns = columns_of(file, header)
    for line, cells in rows:
        if len(cells) > len(header) and any(cells[len(header) :]):
            mend = "put a cell that holds a comma or a tab in double quotes"
            raise SourceError(file, line, f"has {len(cells)} cells under {len(header)} columns", mend)
        row = dict(zip(header, [*cells, *[""] * len(header)], strict=False))
        yield line, _table_item(file, line, row, columns)


def _header(file: Path) -> tuple[Sequence[str], Iterator[tuple[int, list[str]]]]:
    """The columns of a table and its rows; MMLU's files, as JMMLU's, have no header: question, four options, letter."""
    rows = table_rows(file)
    first = next(rows, (0, []))
    if not first[1]:
        raise SourceError(file, 0, "is empty", MEND)
    if len(first[1]) == len(_MMLU) and re.fullmatch("[A-D]", first[1][-1]):
        return _MMLU, chain([first], rows)
    return first[1], rows


def columns_of(file: Path, header: Sequence[str]) -> Columns:
    """What a header says; raises `SourceError` with file, line and mend."""
    try:
        return Columns.of(header)
    except ValueError as error:
        raise SourceError(file, 1, str(error), _RENAME) from None


def table_rows(file: Path) -> Iterator[tuple[int, list[str]]]:
    """The cells of each row that is not empty, and its line."""
    if file.suffix == ".xlsx":
        rows = enumerate(next(sheets(file, mend=_SHEET), ("", []))[1], start=1)
        yield from ((n, found) for n, row in rows if any(found := ["" if c is None else str(c).strip() for c in row]))
        return
    text = read_text(file, mend="save the table as UTF-8")
    first = text.partition("\n")[0]
    between = "\t" if file.suffix == ".tsv" else ";" if ";" in first and "," not in first else ","
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=between, strict=True)
    try:
        yield from ((reader.line_num, found) for row in reader if any(found := [c.strip() for c in row]))
    except csv.Error as error:
        raise SourceError(file, reader.line_num, f"is no row of a table ({error})", "close its double quotes") from None


def _table_item(file: Path, line: int, row: Row, columns: Columns) -> Item:
    """A row of a table as a question; raises `SourceError`."""
    of = dict(columns.plain)
    text = field(file, line, row, columns.question, mend="give it a question or remove the line")
    choices = options([row[name] for name in columns.options])
    try:
        right = right_of(row[columns.right], choices) if columns.right and choices else ()
        texts = _reference(row[columns.texts], row) if columns.texts else ()
    except ValueError as error:
        raise SourceError(file, line, f"is not understood: {error}", "write its letter, such as B, or A;C") from None
    plain = {what: row[of[what]] if what in of else "" for what in _PLAIN}
    entities = tuple(name for part in plain["entities"].split(";") if (name := part.strip()))
    question = Question(text, choices, plain["language"], plain["id"] or str(line))
    return Item(question, Gold(right, texts, entities), plain["part"] or "test", plain["subject"])


def _reference(value: str, row: Row) -> tuple[str, ...]:
    """A reference text; raises `ValueError` for a letter or a number whose options are nowhere."""
    if _is_key(value):
        raise ValueError(f"its answer is {value!r}, and none of the columns {', '.join(row)} holds an option")
    return (value,) if value else ()


def _is_key(value: object) -> bool:
    """Whether a value names an option rather than says something."""
    return isinstance(value, int) or (isinstance(value, str) and bool(re.fullmatch(r"[A-La-l]|\d{1,2}", value.strip())))


def task_of(golds: list[Gold]) -> Task:
    """What is asked for, by what the gold has."""
    return "choice" if any(g.choices for g in golds) else "text" if any(g.texts for g in golds) else "entities"


def own_dataset(file: Path) -> DataSet:
    """A file of one's own as a data set; its revision is the hash of the file."""
    try:
        revision = hashlib.sha256(file.read_bytes()).hexdigest()[:12]
    except OSError as e:
        raise SourceError(
            file, 0, f"cannot be read ({e.strerror})", "name a .csv, .tsv, .xlsx or .jsonl file"
        ) from None
    items = list(read(Path(), file=file))
    if not items:
        raise SourceError(file, 0, "holds no question", MEND)
    table = file.suffix != ".jsonl"
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
        columns=str(columns_of(file, _header(file)[0])) if table else "",
    )


# --- Questions of the model hub by name, as `hub/OWNER/NAME`, `hub/OWNER/NAME:CONFIG` or `hub/OWNER/NAME@REVISION`.
# The library datasets fetches them, keeps them, and runs no code that is among them. Columns are understood as above;
# others are passed over. Options may also stand in one column, `options`, `option` or `choices` (letter -> text, texts,
# key and value of each, or lists of `label` and `text`), and the right one be a place from 0, or the text of the
# option; -1 and nothing mean that none is told. A row is refused whose answer is a letter or a number while no column
# holds an option. A question's id is its split and its place in it.


PREFIX = "hub/"
_OPTIONS = ("options", "choices", "option")
_PARTS = {"val": "dev", "dev": "dev", "train": "train", "test": "test"}  # how a split's name begins
_NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
_MEND = "write its questions as JSON Lines of your own, see docs/evaluate/index.md"


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
    part = next((part for begin, part in _PARTS.items() if split.startswith(begin)), split)
    subject = _first(row, _PLAIN["subject"])
    return Item(question, gold, part, subject if isinstance(subject, str) else "")


def _first(row: Row, names: Sequence[str]) -> Any:
    """The first of these columns, however their names are cased, that is there and holds something."""
    by = {column.strip().casefold(): value for column, value in row.items() if value is not None}
    return next((by[n] for n in names if n in by), None)


def _choices(row: Row) -> tuple[tuple[str, str], ...] | None:
    """Letter and text of each option; () where there are none, None where they are not understood."""
    value = _first(row, _OPTIONS)
    if value is None:
        value = [row.get(column) for column in option_columns([*row])]
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
    return right_of(_first({k: v for k, v in row.items() if k not in option_columns([*row])}, _RIGHT), choices)


def right_of(value: Any, choices: tuple[tuple[str, str], ...]) -> tuple[str, ...]:
    """The letters that a value names: letters, a place from 0, or the text of an option; raises `ValueError`."""
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
    if _is_key(value) and not isinstance(value, bool):
        raise ValueError(f"its answer is {value!r}, and none of the columns {', '.join(row)} holds an option")
    listed = [value] if isinstance(value, str) else [] if value is None else value
    if not isinstance(listed, list) or not all(isinstance(v, str) for v in listed):
        raise ValueError("its reference answer is no text")
    return tuple(v.strip() for v in listed if v.strip())
