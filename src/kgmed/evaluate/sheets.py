"""ACJ as HyKGE has it: people judge how far the *retrieved knowledge* of a run has to do with its question.

Sheets are the rows of a table, one for each question and knowledge that differs, in an order that chance draws, without
the method's name: question, knowledge, and two empty cells for the rating and the rater. What is whose stands in a
second table, the key, which raters do not get. A method that retrieved nothing needs no rater: it counts -1 (ours; the
paper does not say). ACJ = mean x 100, over questions, of the mean of their raters (Jiang et al. 2025, HyKGE, 4.1.3).
"""

import csv
import hashlib
import io
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kgmed.errors import SourceError
from kgmed.evaluate.datasets.files import csv_rows
from kgmed.evaluate.datasets.own import table_rows
from kgmed.evaluate.items import Item
from kgmed.evaluate.judge import RATINGS, Acj, Agreement, Rating, acj, between_raters
from kgmed.evaluate.log import Entry, Job
from kgmed.evaluate.report.text import csv_cell
from kgmed.evaluate.run import Plan
from kgmed.records import Run

COLUMNS = ("sheet", "question", "knowledge", "rating", "rater")
KEY_COLUMNS = ("sheet", "item", "method")
ASKED = (
    "1 = the knowledge has to do with the question and helps to answer it; 0 = in part, or in doubt; -1 = it does not"
)
NOTHING = "nothing"  # the sheet of what retrieved nothing
KEY = ".key.csv"
_MEND = "give a table with the columns sheet, rating and rater, as kgmed eval sheets writes it"


@dataclass(frozen=True, slots=True)
class Sheet:
    """What a rater sees: a question and the knowledge retrieved for it; `of` = the methods that retrieved it."""

    name: str
    item: str
    question: str
    knowledge: str
    of: tuple[str, ...]


def knowledge(run: Run | None) -> str:
    """The evidence that the model was shown, a piece a line; "" where there is none."""
    return "\n".join(e.text for e in run.context.cited) if run else ""


def sheets(plan: Plan, found: Mapping[Job, Entry], methods: Sequence[str], *, sample: int = 0) -> list[Sheet]:
    """The sheets of the questions of a plan in an order that `sample` draws; equal knowledge is one sheet.

    Those of what retrieved nothing come last, with no knowledge: they are for the key alone.
    """
    made: dict[tuple[str, str], list[str]] = {}
    for item in plan.items:
        for method in methods:
            entry = found.get(Job(method, item.question.id, plan.seeds[0]))
            made.setdefault((item.question.id, knowledge(entry.run if entry else None)), []).append(method)
    asked = {item.question.id: item.question.with_options for item in plan.items}
    rows = [
        Sheet(_name(sample, item, text) if text else NOTHING, item, asked[item], text, tuple(of))
        for (item, text), of in made.items()
    ]
    return sorted(rows, key=lambda s: (s.name == NOTHING, s.name, s.item))


def drawn(items: Sequence[Item], number: int, sample: int) -> list[Item]:
    """So many of the questions, drawn by `sample`, in their order; 0 = all."""
    chosen = sorted(items, key=lambda i: _name(sample, i.question.id, ""))[: number or len(items)]
    names = {item.question.id for item in chosen}
    return [item for item in items if item.question.id in names]


def _name(sample: int, item: str, text: str) -> str:
    """What a sheet is called: nothing can be read from it, no table program takes it for a number."""
    return "s" + hashlib.sha256(f"{sample}\n{item}\n{text}".encode("utf-8", "surrogatepass")).hexdigest()[:10]


def table(of: Sequence[Sheet]) -> str:
    """The table for raters, as CSV."""
    real = [s for s in of if s.name != NOTHING]
    cells = ["\n".join(map(csv_cell, s.knowledge.split("\n"))) for s in real]
    shown = [(s.name, csv_cell(s.question), cell, "", "") for s, cell in zip(real, cells, strict=True)]
    return _csv(COLUMNS, shown)


def key(of: Sequence[Sheet]) -> str:
    """The table of what is whose, as CSV."""
    return _csv(KEY_COLUMNS, [(s.name, s.item, method) for s in of for method in s.of])


def _csv(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue()


def read_key(path: Path) -> dict[str, list[tuple[str, str]]]:
    """Item and method of each sheet; raises `SourceError`."""
    found: dict[str, list[tuple[str, str]]] = {}
    for _, row in csv_rows(path, KEY_COLUMNS):
        found.setdefault(row["sheet"], []).append((row["item"], row["method"]))
    if not found:
        raise SourceError(path, 0, "holds no sheet", "name the key that was written with the sheets: --key FILE")
    return found


@dataclass(frozen=True, slots=True)
class Filled:
    """What came back: the means of the methods, agreement over sheets, how many sheets nobody rated, and of nothing."""

    means: tuple[Acj, ...]
    agreement: Agreement | None
    sheets: int
    unrated: int
    nothing: Mapping[str, int]  # questions for which a method retrieved nothing


def filled(paths: Sequence[Path], whose: Mapping[str, Sequence[tuple[str, str]]]) -> Filled:
    """What the raters say; raises `SourceError`. A file without names of raters is one rater's."""
    rated = [rating for path in paths for rating in _ratings(path, whose)]
    raters = list(dict.fromkeys(r.rater for r in rated)) or [""]
    of_nothing = [Rating(item, method, who, -1) for item, method in whose.get(NOTHING, ()) for who in raters]
    by_method = [Rating(item, method, r.rater, r.value) for r in rated for item, method in whose[r.item]]
    seen = {r.item for r in rated if r.value is not None}
    lacking = Counter(method for _, method in whose.get(NOTHING, ()))
    wanted = whose.keys() - {NOTHING}
    means = tuple(acj([*by_method, *of_nothing]))
    return Filled(means, between_raters(rated), len(wanted), len(wanted - seen), lacking)


def _ratings(path: Path, whose: Mapping[str, Sequence[tuple[str, str]]]) -> Iterator[Rating]:
    """The ratings of a file, each under the name of its sheet."""
    rows = table_rows(path)
    header = [name.strip().casefold() for name in next(rows, (0, []))[1]]
    places = [
        next((i for i, name in enumerate(header) if name.startswith(wanted)), -1) for wanted in ("sheet", "rating")
    ]
    if min(places) < 0:
        raise SourceError(path, 1, f"has no column {'sheet' if places[0] < 0 else 'rating'}", _MEND)
    rater = header.index("rater") if "rater" in header else -1
    lines: dict[tuple[str, str], int] = {}
    for line, cells in rows:
        row = [*cells, *[""] * len(header)]
        name, value, who = row[places[0]], row[places[1]].removesuffix(".0"), row[rater] if rater >= 0 else ""
        if name not in whose:
            raise SourceError(
                path, line, f"has the sheet {name!r}, which the key does not", "name its own key: --key FILE"
            )
        if value not in RATINGS:
            raise SourceError(path, line, f"has the rating {value!r}", "write 1, 0 or -1, or nothing")
        who = who or path.stem
        if (name, who) in lines:
            raise SourceError(path, line, f"rates what line {lines[name, who]} rates", "keep one of them")
        lines[name, who] = line
        yield Rating(name, "", who, RATINGS[value])
