"""Text that nobody vouches for made fit to show, and tables of values written as Markdown and CSV.

Questions, graphs and models may hold anything. What a reader cannot see (control characters, marks that turn the
direction of the text, halves of characters) is shown by its number, and nothing is left that a browser or a table
program would carry out.
"""

import csv
import io
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from kgmed.language.text import visible

_MARKS = re.compile(r"([\\`*_{}\[\]()<>#|!~&$])")
_FORMULA = tuple("=+-@\t\r＝＋－＠")
_NUMBER = re.compile(r"[+-]?\d+(?:\.\d*)?(?:e[+-]?\d+)?", re.ASCII)


def markdown(text: str) -> str:
    """The text on one line of Markdown, or in one cell of its tables, without any mark in force.

    >>> markdown("a|b <i> http://x")
    'a\\\\|b \\\\<i\\\\> http:\\u2060//x'
    """
    marked = _MARKS.sub(r"\\\1", visible(" ".join(text.split())))
    return marked.replace("://", ":\u2060//").replace("www.", "www\u2060.")  # else it becomes a link


def csv_cell(text: str) -> str:
    """The text as a cell of CSV that no table program takes for a formula; a number stays one.

    >>> csv_cell("=cmd|' /C calc'!A0"), csv_cell("-0.5"), csv_cell("-1+1")
    ("'=cmd|' /C calc'!A0", '-0.5', "'-1+1")
    """
    formula = text.lstrip().startswith(_FORMULA) or text.startswith(_FORMULA)
    return f"'{visible(text)}" if formula and not _NUMBER.fullmatch(text) else visible(text)


def slug(text: str) -> str:
    """The text as a part of a file name or an anchor.

    >>> slug("../hykge[hops=3] é"), slug("中文")
    ('hykge-hops-3', 'x')
    """
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "x"


# --- A table of values, and how it is written.


Cell = str | float | int | None


class Signed(float):
    """A number that is shown with its sign, such as a difference."""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under a header; `name` is what its file is called, `note` what must be known to read it."""

    name: str
    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""

    def numeric(self, column: int) -> bool:
        """Whether a column, counted from 0, holds nothing but numbers."""
        cells = [row[column] for row in self.rows]
        return bool(cells) and all(cell is None or isinstance(cell, int | float) for cell in cells)


def formatted(cell: Cell) -> str:
    """The cell as a person reads it: four decimals, "-" where there is no number.

    >>> [formatted(c) for c in (0.5, Signed(0.25), 3, None, float("nan"), 12345.6, "a")]
    ['0.5000', '+0.2500', '3', '-', '-', '12346', 'a']
    """
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return "-"
    if isinstance(cell, float):
        return format(float(cell), ("+" if isinstance(cell, Signed) else "") + (".4f" if abs(cell) < 1000 else ".0f"))
    return str(cell)


def as_markdown(table: Table) -> str:
    """A table of Markdown with its note under it; "" where it has no rows."""
    if not table.rows:
        return ""
    alignment = ["---:" if table.numeric(i) else "---" for i in range(len(table.header))]
    cells = [[markdown(formatted(cell)) for cell in row] for row in table.rows]
    note = f"\n{markdown(table.note)}\n" if table.note else ""
    return "".join(f"| {' | '.join(row)} |\n" for row in ([*map(markdown, table.header)], alignment, *cells)) + note


def as_csv(tables: Sequence[tuple[str, Table]]) -> str:
    """Tables of one header below each other, each row led by its evaluation's name; numbers in full."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["evaluation", *map(csv_cell, tables[0][1].header)])
    for evaluation, table in tables:
        writer.writerows([csv_cell(evaluation), *map(_unrounded, row)] for row in table.rows)
    return out.getvalue()


def _unrounded(cell: Cell) -> str:
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return ""
    return repr(float(cell)) if isinstance(cell, float) else csv_cell(str(cell))
