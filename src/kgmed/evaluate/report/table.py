"""A table of values, and how it is written: HTML, Markdown, CSV."""

import csv as lines
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass

from kgmed.evaluate.report import text

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


def shown(cell: Cell) -> str:
    """The cell as a person reads it: four decimals, "-" where there is no number.

    >>> [shown(c) for c in (0.5, Signed(0.25), 3, None, float("nan"), 12345.6, "a")]
    ['0.5000', '+0.2500', '3', '-', '-', '12346', 'a']
    """
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return "-"
    if isinstance(cell, float):
        return format(float(cell), ("+" if isinstance(cell, Signed) else "") + (".4f" if abs(cell) < 1000 else ".0f"))
    return str(cell)


def _is_number(cell: Cell) -> bool:
    return isinstance(cell, int | float)


def as_html(table: Table) -> str:
    """A table of HTML; numbers stand to the right."""
    kinds = [' class="number"' if _numeric(table.rows, i) else "" for i in range(len(table.header))]
    head = "".join(f'<th scope="col"{k}>{text.html(n)}</th>' for n, k in zip(table.header, kinds, strict=True))
    body = "".join(f"<tr>{''.join(_cell(c, first=not i) for i, c in enumerate(row))}</tr>\n" for row in table.rows)
    note = f'<p class="note">{text.html(table.note)}</p>\n' if table.note else ""
    return f'<div class="wide"><table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody></table></div>\n{note}'


def _cell(cell: Cell, *, first: bool) -> str:
    if first:
        return f'<th scope="row">{text.bidi(shown(cell))}</th>'
    if cell is None or _is_number(cell):
        return f'<td class="number">{text.html(shown(cell))}</td>'
    return f"<td>{text.bidi(shown(cell))}</td>"


def as_markdown(table: Table) -> str:
    """A table of Markdown with its note under it; "" where it has no rows."""
    if not table.rows:
        return ""
    sides = ["---:" if _numeric(table.rows, i) else "---" for i in range(len(table.header))]
    rows = [[text.markdown(shown(cell)) for cell in row] for row in table.rows]
    told = [[text.markdown(name) for name in table.header], sides, *rows]
    note = f"\n{text.markdown(table.note)}\n" if table.note else ""
    return "".join(f"| {' | '.join(row)} |\n" for row in told) + note


def _numeric(rows: Sequence[Sequence[Cell]], column: int) -> bool:
    return bool(rows) and all(row[column] is None or _is_number(row[column]) for row in rows)


def as_csv(tables: Sequence[tuple[str, Table]]) -> str:
    """Tables of one header below each other, each row led by what its table is of; numbers in full."""
    out = io.StringIO()
    writer = lines.writer(out, lineterminator="\n")
    writer.writerow(["evaluation", *map(text.csv, tables[0][1].header)])
    for of, table in tables:
        writer.writerows([text.csv(of), *map(_plain, row)] for row in table.rows)
    return out.getvalue()


def _plain(cell: Cell) -> str:
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return ""
    return repr(float(cell)) if isinstance(cell, float) else text.csv(str(cell))
