"""Delimited text, record by record: what the separator is, where the columns are, and quoted cells."""

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path

from kgmed.errors import SourceError
from kgmed.kg.sources.lines import lines

_SEPARATORS = ("\t", ",", ";", "|")
_LONGEST_CELL = 1 << 22  # characters in one quoted cell that spans lines; more is a forgotten quote


def separator(line: str, columns: int) -> str:
    """The separator that cuts a line into at least so many cells; "" if none does.

    >>> separator("a b\\tr\\tc, d", 3), separator("a,r,b", 3), separator("a b c", 3)
    ('\\t', ',', '')
    """
    return next((s for s in _SEPARATORS if len(line.split(s)) >= columns), "")


def records(path: Path, mark: str) -> Iterator[tuple[int, list[str]]]:
    """The cells of every record that is not blank, with the number of its first line.

    Quotes mean something in all but tab-separated files, in which they are ordinary characters. A quoted cell may
    span lines.
    """
    numbered = lines(path)
    quoting = mark != "\t"
    for number, line in numbered:
        if quoting and '"' in line:
            yield number, _quoted(path, number, line, numbered, mark)
        elif line and not line.isspace():
            yield number, line.split(mark)


def _quoted(path: Path, number: int, line: str, more: Iterator[tuple[int, str]], mark: str) -> list[str]:
    """The cells of a record with quotes, taking further lines while a quote is open."""
    parts, size, is_open = [line], len(line), line.count('"') % 2
    while is_open:
        _, line = next(more, (0, ""))
        if not _ or (size := size + len(line)) > _LONGEST_CELL:
            raise SourceError(path, number, "opens a quote that is never closed", 'close it or write "" for a quote')
        parts.append(line)
        is_open ^= line.count('"') % 2
    try:
        return next(csv.reader(["\n".join(parts)], delimiter=mark, strict=True))
    except (csv.Error, StopIteration) as error:
        raise SourceError(path, number, f"has quotes in the wrong place ({error})", 'write "" for a quote') from error


def column(header: Sequence[str], names: Sequence[str]) -> int:
    """The place of the first column whose name, in any case, is among `names`; -1 if there is none.

    >>> column(["Head", "Relation", "Tail"], ["relation", "rel"])
    1
    """
    return next((i for i, cell in enumerate(header) if cell.strip().casefold() in names), -1)
