"""TOML that somebody wrote: its table, or one error that names the file, the line and the mend."""

import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kgmed.errors import SourceError

MOST = 1 << 20  # bytes of a file; ours
PARTS = 50  # of a key with dots, a.b.c: the seconds of Python's parser grow with the square of their number
_KEY = re.compile(rf"(?<![\w-])(?:(?:[\w-]++|\"[^\"\n]*+\"|'[^'\n]*+')[ \t]*+\.[ \t]*+){{{PARTS}}}")


def read(path: Path, *, parse_float: Callable[[str], Any] = float) -> dict[str, Any]:
    """The table in a file; raises `SourceError`."""
    try:
        with path.open("rb") as file:
            data = file.read(MOST + 1)
    except OSError as error:
        raise SourceError(path, 0, f"cannot be read ({error.strerror})", "name a TOML file") from None
    if len(data) > MOST:
        raise SourceError(path, 0, f"is longer than {MOST >> 20} MB", "name a TOML file")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise SourceError(path, 0, "is not UTF-8 text", "save it as UTF-8") from None
    return parse(text, path, parse_float=parse_float)


def parse(text: str, path: Path, *, parse_float: Callable[[str], Any] = float) -> dict[str, Any]:
    """The table in a text; `path` is what errors name. Raises `SourceError`.

    >>> parse("keep = 5", Path("mine.toml"))
    {'keep': 5}
    """
    if long := _KEY.search(text):
        line = text.count("\n", 0, long.start()) + 1
        raise SourceError(path, line, f"has a key of more than {PARTS} parts", "write it shorter")
    try:
        return tomllib.loads(text, parse_float=parse_float)
    except (ValueError, ArithmeticError, RecursionError) as error:  # also a number too long, lists too deep
        said = (str(error) or type(error).__name__).splitlines()[0]
        place = re.search(r"line (\d+)", said)
        raise SourceError(path, int(place[1]) if place else 0, f"is no TOML: {said}", "mend that place") from None
