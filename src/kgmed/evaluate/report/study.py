"""One finished evaluation as a report reads it, and the tables and texts it is shown in."""

import csv as lines
import io
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import Any

from kgmed.evaluate.controls import controlled
from kgmed.evaluate.items import DataSet, Metric, Task
from kgmed.evaluate.log import Entry, Job, in_order
from kgmed.evaluate.metrics import PLAIN, metric, metrics
from kgmed.evaluate.run import Plan
from kgmed.evaluate.scores import PairedComparison, Score, compare_to_baseline, score
from kgmed.records import Run

# --- Text of questions, graphs and models made fit to be shown: in HTML, in Markdown, in a cell of CSV.
# None of it is trusted. What a reader cannot see (control characters, marks that turn the direction of the text, halves
# of characters) is shown by its number, and nothing is left that a browser or a table program would carry out.


_CONTROL = {*range(0x20), *range(0x7F, 0xA0)} - {9, 10}
_TURNING = {0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)}
_HIDDEN = {0xAD, 0x200B, 0x2060, 0x2028, 0x2029, 0xFEFF, *range(0xE0000, 0xE0080)}
_SHOWN = {code: f"⟨U+{code:04X}⟩" for code in (*_CONTROL, *_TURNING, *_HIDDEN, *range(0xD800, 0xE000))}
_MARKS = re.compile(r"([\\`*_{}\[\]()<>#|!~&$])")
_FORMULA = tuple("=+-@\t\r＝＋－＠")
_NUMBER = re.compile(r"[+-]?\d+(?:\.\d*)?(?:e[+-]?\d+)?", re.ASCII)


def visible(text: str) -> str:
    """The text with every character that cannot be seen shown by its number; line ends and tabs stay.

    >>> visible("a\\u202eb\\r")
    'a⟨U+202E⟩b⟨U+000D⟩'
    """
    return text.translate(_SHOWN)


def html(text: str) -> str:
    """The text for HTML and SVG, between tags or in a quoted attribute.

    >>> html('<script>"&')
    '&lt;script&gt;&quot;&amp;'
    """
    return escape(visible(text), quote=True)


def bidi(text: str) -> str:
    """The text for HTML, kept apart so that what is written from right to left does not turn what stands around it."""
    return f'<bdi dir="auto">{html(text)}</bdi>'


def markdown(text: str) -> str:
    """The text on one line of Markdown, or in one cell of its tables, without any mark in force.

    >>> markdown("a|b <i> http://x")
    'a\\\\|b \\\\<i\\\\> http:\\u2060//x'
    """
    marked = _MARKS.sub(r"\\\1", visible(" ".join(text.split())))
    return marked.replace("://", ":\u2060//").replace("www.", "www\u2060.")  # else it becomes a link


def csv(text: str) -> str:
    """The text as a cell of CSV that no table program takes for a formula; a number stays one.

    >>> csv("=cmd|' /C calc'!A0"), csv("-0.5"), csv("-1+1")
    ("'=cmd|' /C calc'!A0", '-0.5', "'-1+1")
    """
    shown = visible(text)
    told = text.lstrip().startswith(_FORMULA) or text.startswith(_FORMULA)
    return f"'{shown}" if told and not _NUMBER.fullmatch(text) else shown


def slug(text: str) -> str:
    """The text as a part of a file name or an anchor.

    >>> slug("../hykge[hops=3] é"), slug("中文")
    ('hykge-hops-3', 'x')
    """
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "x"


# --- A table of values, and how it is written: HTML, Markdown, CSV.


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
    head = "".join(f'<th scope="col"{k}>{html(n)}</th>' for n, k in zip(table.header, kinds, strict=True))
    body = "".join(f"<tr>{''.join(_cell(c, first=not i) for i, c in enumerate(row))}</tr>\n" for row in table.rows)
    note = f'<p class="note">{html(table.note)}</p>\n' if table.note else ""
    return f'<div class="wide"><table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody></table></div>\n{note}'


def _cell(cell: Cell, *, first: bool) -> str:
    if first:
        return f'<th scope="row">{bidi(shown(cell))}</th>'
    if cell is None or _is_number(cell):
        return f'<td class="number">{html(shown(cell))}</td>'
    return f"<td>{bidi(shown(cell))}</td>"


def as_markdown(table: Table) -> str:
    """A table of Markdown with its note under it; "" where it has no rows."""
    if not table.rows:
        return ""
    sides = ["---:" if _numeric(table.rows, i) else "---" for i in range(len(table.header))]
    rows = [[markdown(shown(cell)) for cell in row] for row in table.rows]
    told = [[markdown(name) for name in table.header], sides, *rows]
    note = f"\n{markdown(table.note)}\n" if table.note else ""
    return "".join(f"| {' | '.join(row)} |\n" for row in told) + note


def _numeric(rows: Sequence[Sequence[Cell]], column: int) -> bool:
    return bool(rows) and all(row[column] is None or _is_number(row[column]) for row in rows)


def as_csv(tables: Sequence[tuple[str, Table]]) -> str:
    """Tables of one header below each other, each row led by what its table is of; numbers in full."""
    out = io.StringIO()
    writer = lines.writer(out, lineterminator="\n")
    writer.writerow(["evaluation", *map(csv, tables[0][1].header)])
    for of, table in tables:
        writer.writerows([csv(of), *map(_plain, row)] for row in table.rows)
    return out.getvalue()


def _plain(cell: Cell) -> str:
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return ""
    return repr(float(cell)) if isinstance(cell, float) else csv(str(cell))


# --- One finished evaluation as a report reads it: its plan, its log, and the scores computed from them.


MAIN: dict[Task, str] = {"choice": "accuracy", "text": "rouge-l", "entities": "evidence-recall@20"}
Made = tuple[Metric, ...]
NO_MADE: Mapping[str, Made] = {}
MORE = ("evidence-precision", "linked", "abstained", "faults", "tokens-in", "tokens-out", "cost", "cached")


def shown_metrics(task: Task, wanted: Sequence[str], made: Mapping[str, Made] = NO_MADE) -> tuple[Metric, ...]:
    """The metrics of a report: those `wanted` in their order, the first the main one; none = the usual ones.

    "usual" and "all" stand for those of the task; `made` = metrics that a model or the references were needed for.
    """
    of_task = [m.name for m in metrics().values() if task in m.tasks]
    groups = {"usual": (MAIN[task], *PLAIN[task], *MORE), "all": (MAIN[task], *of_task)}
    names = dict.fromkeys(name for word in wanted or ("usual",) for name in groups.get(word, (word,)))
    return tuple(m for name in names for m in made.get(name) or (metric(name),))


def default_baseline(methods: Sequence[str]) -> str:
    """What all are held against unless one is named: zero-shot, else the first control, else the first method.

    >>> default_baseline(["hykge", "hykge+random", "zero-shot"]), default_baseline(["facts", "facts+random"])
    ('zero-shot', 'facts+random')
    """
    controls = [m for m in methods if controlled(m).control]
    return "zero-shot" if "zero-shot" in methods else next(iter([*controls, *methods]), "")


@dataclass(frozen=True)
class Study:
    """An evaluation folder, read. `of` = the questions of the data set's part; fewer in the plan make it a sample."""

    name: str
    dataset: DataSet
    manifest: Mapping[str, Any]
    plan: Plan
    found: Mapping[Job, Entry]
    of: int
    metrics: tuple[Metric, ...]
    baseline: str = ""

    @property
    def main(self) -> Metric:
        """The metric that is drawn and that disagreements are told by."""
        return self.metrics[0]

    @property
    def sampled(self) -> bool:
        """Whether the questions are a part of those of the data set."""
        return len(self.plan.items) < self.of

    @property
    def against(self) -> str:
        """The name of the method that all are held against."""
        return self.baseline or default_baseline(self.plan.methods)

    @cached_property
    def scores(self) -> list[Score]:
        """Every metric of every method."""
        return score(self.found, self.plan, self.metrics)

    @cached_property
    def differences(self) -> list[PairedComparison]:
        """Every method against the baseline."""
        return compare_to_baseline(self.scores, self.against)

    def score(self, method: str, name: str) -> Score | None:
        """One number of one method; None where that metric is not shown."""
        return next((s for s in self.scores if (s.method, s.metric) == (method, name)), None)

    def difference(self, method: str, name: str) -> PairedComparison | None:
        """One method against the baseline; None for the baseline itself."""
        return next((d for d in self.differences if (d.method, d.metric) == (method, name)), None)

    def entries(self, method: str) -> list[Entry]:
        """One a question and seed; what was never done is a failure."""
        jobs = [Job(method, item.question.id, seed) for seed in self.plan.seeds for item in self.plan.items]
        return in_order(dict(self.found), jobs)

    def runs(self, method: str) -> Iterator[Run]:
        """The runs that there are."""
        return (e.run for e in self.entries(method) if e.run is not None)

    def failed(self, method: str) -> Counter[str]:
        """What went wrong, and how often."""
        return Counter(e.error for e in self.entries(method) if e.run is None)

    def models(self, method: str) -> dict[str, str]:
        """What models the method's runs were made with, by what they did."""
        told: dict[str, dict[str, None]] = {}
        for run in self.runs(method):
            for kind, name in run.models:
                told.setdefault(kind, {})[name] = None
        return {kind: ", ".join(names) for kind, names in told.items()}

    def stages(self, method: str) -> dict[str, float]:
        """The mean seconds of each stage, over the runs that there are."""
        total: dict[str, float] = {}
        n = 0
        for run in self.runs(method):
            n += 1
            for stage in run.stages:
                total[stage.name] = total.get(stage.name, 0.0) + stage.seconds
        return {name: seconds / n for name, seconds in total.items()}
