"""The files of data sets, read with an error that names file, line and mend; options and the letters that name them."""

import csv
import io
import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from kgmed.errors import SourceError, Unavailable
from kgmed.graph.formats.base import whole_text
from kgmed.graph.packed import DAMAGED_ZIP, check_zip

# --- Options and the letters that name them, as data sets write both.


LETTERS = "ABCDEFGHIJKL"  # as many as GMD has diseases


def options(texts: Sequence[str | None]) -> tuple[tuple[str, str], ...]:
    """The options by letter in their order; an empty one is left out and keeps its letter.

    A letter before the text is taken off: one with a mark behind it, or where every option has its own.

    >>> options(["A．肺", "B、 阑尾", " c. 膀胱", None])
    (('A', '肺'), ('B', '阑尾'), ('C', '膀胱'))
    >>> options(["A肺", "B肝"]), options(["A型", "乙型"])
    ((('A', '肺'), ('B', '肝')), (('A', 'A型'), ('B', '乙型')))
    """
    pairs = [(letter, (t or "").strip()) for letter, t in zip(LETTERS, texts, strict=False)]
    filled = [(letter, t) for letter, t in pairs if t]
    bare = all(_plain(t[:1]) == letter for letter, t in filled)
    return tuple((letter, _without(letter, t, bare=bare)) for letter, t in filled)


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text).upper()


def _without(letter: str, text: str, *, bare: bool) -> str:
    """The text without the letter that names it."""
    plain = text.lstrip("、.． ")
    if _plain(plain[:1]) != letter:
        return text
    rest = plain[1:]
    marked = rest[:1] and not unicodedata.category(rest[0]).startswith(("L", "N"))
    return rest.lstrip("、.．,，:：;；)）] \u3000\t·") or text if (marked or bare) else text


def answer_letters(text: str) -> tuple[str, ...]:
    """The letters of an answer key, sorted, each once: " ACBD" -> A, B, C, D; "(D)" -> D; anything else -> none.

    >>> answer_letters(" ACBD"), answer_letters("(D)"), answer_letters("Ａ、Ｃ"), answer_letters("none")
    (('A', 'B', 'C', 'D'), ('D',), ('A', 'C'), ())
    """
    plain = re.sub(r"[\s()\[\]、,;./]+", "", unicodedata.normalize("NFKC", text))
    return tuple(sorted(set(plain))) if plain and all(c in LETTERS for c in plain) else ()


# --- The files of data sets, read with an error that names file, line and mend; a file may also be packed as NAME.xz.


J = TypeVar("J", list[Any], dict[str, Any])
R = TypeVar("R")
_CELLS = 10_000_000  # of one sheet, the empty ones too
FETCH = "get the data set anew (kgmed eval datasets says from where)"


def text(path: Path, *, mend: str = FETCH) -> str:
    """The text of a file, or of the packed file beside it; raises `SourceError`."""
    packed = path.with_name(path.name + ".xz")
    try:
        return whole_text(path if path.exists() or not packed.exists() else packed)
    except SourceError as e:
        raise SourceError(path, 0, e.problem, mend) from None


def whole_json(path: Path, kind: type[J]) -> J:
    """What a JSON file holds, a list or an object as asked for."""
    try:
        found = json.loads(text(path))
    except (ValueError, RecursionError) as e:
        raise SourceError(path, getattr(e, "lineno", 0), "is not JSON", FETCH) from None
    if not isinstance(found, kind):
        raise SourceError(path, 0, f"is no JSON {'list' if kind is list else 'object'}", FETCH)
    return found


def json_lines(path: Path, *, mend: str = FETCH) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a file with one a line, each with its line number; blank lines are passed over."""
    for number, line in enumerate(text(path, mend=mend).split("\n"), start=1):
        if line.strip():
            try:
                row = json.loads(line)
            except (ValueError, RecursionError):
                raise SourceError(path, number, "is not JSON", mend) from None
            if not isinstance(row, dict):
                raise SourceError(path, number, "is no JSON object", mend)
            yield number, row


def csv_rows(path: Path, needed: Sequence[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """The rows of a CSV file by its header, each with the line it ends on; raises for a column that is not there."""
    reader = csv.DictReader(io.StringIO(text(path), newline=""))
    missing = [name for name in needed if name not in (reader.fieldnames or ())]
    if missing:
        raise SourceError(path, 1, f"has no column {', '.join(missing)}", FETCH)
    try:
        for row in reader:
            if any(row[name] is None for name in needed):
                raise SourceError(path, reader.line_num, "has too few fields", FETCH)
            yield reader.line_num, row
    except csv.Error as e:
        raise SourceError(path, reader.line_num, f"is not CSV ({e})", FETCH) from None


def some(path: Path, rows: Iterable[R]) -> Iterator[R]:
    """The rows of a file that must have one; raises `SourceError`, lest a part or subject be missed without a word."""
    found = iter(rows)
    try:
        yield next(found)
    except StopIteration:
        raise SourceError(path, 0, "holds no row", FETCH) from None
    yield from found


def sheets(path: Path, *, mend: str = FETCH) -> Iterator[tuple[str, list[tuple[Any, ...]]]]:
    """The sheets of an Excel file by name, with the values of their rows; needs openpyxl."""
    try:
        from openpyxl import load_workbook
        from openpyxl.utils.exceptions import InvalidFileException
    except ImportError:
        raise Unavailable('Excel files need openpyxl; pip install "kgmed[eval]"') from None
    try:
        check_zip(path)
        book = load_workbook(path, read_only=True, data_only=True)
        for sheet in book:
            yield sheet.title, list(_rows(path, sheet, mend))
        book.close()
    except OSError as e:
        raise SourceError(path, 0, f"cannot be read ({e.strerror})", mend) from None
    except (InvalidFileException, *DAMAGED_ZIP) as e:
        raise SourceError(path, 0, f"is no Excel file ({str(e) or 'it ends in the middle'})", mend) from None


def _rows(path: Path, sheet: Any, mend: str) -> Iterator[tuple[Any, ...]]:
    """The rows of a sheet; a few bytes can say that there are 16,384 columns and a million rows."""
    cells = 0
    for row in sheet.iter_rows(values_only=True):
        cells += len(row) + 1
        if cells > _CELLS:
            raise SourceError(path, 0, f"has more than {_CELLS:,} cells in a sheet", mend)
        yield row


def field(path: Path, line: int, row: Mapping[str, Any], name: str, *, mend: str = FETCH) -> str:
    """A text field of a row, without the blanks around it; raises `SourceError` where it is missing or empty."""
    value = row.get(name)
    if not isinstance(value, str) or not value.strip():
        raise SourceError(path, line, f"has no {name}", mend)
    return value.strip()


def texts_of(path: Path, what: str, row: Any, *names: str) -> tuple[str, ...]:
    """Fields of a row of JSON as text, without the blanks around it; raises `SourceError` that names what it lacks.

    >>> texts_of(Path("a.json"), "item 0", {"id": 7, "question": " Which? "}, "id", "question")
    ('7', 'Which?')
    """
    lacking = [n for n in names if not isinstance(row, dict) or not isinstance(row.get(n), str | int)]
    if lacking:
        raise SourceError(path, 0, f"{what} lacks {', '.join(lacking)}", FETCH)
    return tuple(str(row[n]).strip() for n in names)


def lettered(path: Path, what: str, row: Any, name: str) -> tuple[tuple[str, str], ...]:
    """The options of a row of JSON that has them by letter, without the empty ones; raises `SourceError`."""
    found = row.get(name) if isinstance(row, dict) else None
    if not isinstance(found, dict):
        raise SourceError(path, 0, f"{what} lacks {name}", FETCH)
    return tuple((str(letter), str(said).strip()) for letter, said in found.items() if said)
