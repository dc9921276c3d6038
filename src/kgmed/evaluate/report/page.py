"""The report: one page of HTML that needs nothing but itself, Markdown, tables; each file written whole or not at all.

Every value in a template is text that nobody vouches for: it is escaped unless it is marked as written by us.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from html import escape
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from kgmed.disk import write_whole
from kgmed.errors import BadInput, Unavailable
from kgmed.evaluate.report import plots, tables
from kgmed.evaluate.report.tables import Study, sweeps
from kgmed.evaluate.report.text import Table, as_csv, as_markdown, formatted, markdown, slug
from kgmed.language.text import visible
from kgmed.models.files import MODELS
from kgmed.records import Evidence

if TYPE_CHECKING:
    from jinja2 import Environment

PAGE, TEXT = "report.html", "report.md"
QUESTIONS, PIECES, LETTERS = 20, 8, 700  # questions, pieces of evidence of each, characters of a text
LISTED = 10  # questions in Markdown
CAUTION = (
    "Differences are those of these methods, with these models, on this graph and these questions. Nothing here says "
    "that an answer may be used for a patient."
)


# --- Templates.


@cache
def environment(escaped: Callable[[str], str]) -> "Environment":
    """The templates, each value written by `escaped` (`html_text`, `markdown`); raises `Unavailable` without jinja2."""
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
        from markupsafe import Markup
    except ImportError:
        raise Unavailable('reports need jinja2; pip install "kgmed[eval]"') from None
    made = Environment(
        loader=PackageLoader("kgmed.evaluate.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: value if isinstance(value, Markup) else Markup(escaped(str(value))),  # noqa: S704
    )
    made.filters |= {"markdown": as_markdown, "shell": _shell, "formatted": formatted, "slug": slug}
    made.filters |= {"sources": _sources, "tables_of": _tables_of}
    made.globals |= {"tables": tables, "plots": plots, "sweeps": sweeps, "caution": CAUTION}
    return made


def html_text(text: str) -> str:
    """The text for HTML, between tags or in a quoted attribute.

    >>> html_text('<script>"&\\u202e')
    '&lt;script&gt;&quot;&amp;⟨U+202E⟩'
    """
    return escape(visible(text))


def _shell(command: str) -> str:
    """A command as a block of shell in Markdown; the fence is longer than any in it."""
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", command)), default=0))
    return f"{fence}sh\n{command}\n{fence}\n"


def _sources(piece: Evidence) -> list[str]:
    return list(dict.fromkeys(s for t in piece.triples for s in (t.source, *t.references) if s))


def _tables_of(study: Study, *, short: bool) -> list[Table]:
    """The tables of a study in Markdown; `short` = without those of every metric."""
    if short:
        scores = [tables.differences_of(study, study.main), tables.means(study)]
    else:
        scores = [t for m in study.metrics for t in (tables.scores_of(study, m), tables.differences_of(study, m))]
    runs = [tables.stages(study), tables.letters(study), tables.failures(study), tables.models(study)]
    disagreements = [] if short else [tables.disagreements(study, most=LISTED)]
    return [tables.headline(study), *scores, *runs, *disagreements, tables.provenance(study)]


# --- The texts of a report.


def html_page(studies: Sequence[Study]) -> str:
    """The page: no script, no font, no image from anywhere."""
    title = "Evaluation: " + ", ".join(dict.fromkeys(s.dataset.title for s in studies))
    most = {"questions": QUESTIONS, "pieces": PIECES, "letters": LETTERS}
    return environment(html_text).get_template("page.html").render(studies=studies, title=title, most=most)


def markdown_report(studies: Sequence[Study], *, command: str = "") -> str:
    """The same without plots and answers; `command` = what writes it, given at its top."""
    return _markdown(studies, {"title": "Evaluation", "command": command, "short": False})


def markdown_results(studies: Sequence[Study], *, command: str) -> str:
    """The project's page of results: at a glance, the main metric in full, and the commands that make them."""
    names = dict.fromkeys(s.models(m).get("llm", "") for s in studies for m in s.plan.methods)
    models = {name: _size(name) for name in names if name}
    return _markdown(studies, {"title": "Results", "command": command, "short": True, "models": models})


def _markdown(studies: Sequence[Study], values: Mapping[str, Any]) -> str:
    text = environment(markdown).get_template("report.md").render(studies=studies, **values)
    return text.rstrip("\n") + "\n"


def _size(name: str) -> int:
    """The bytes of an embedded model by the name it answers with, whatever runs it; 0 for others."""
    known = {PurePosixPath(model.member).stem: model.size for model in MODELS.values()}
    return next((size for stem, size in known.items() if name.partition("/")[2].startswith(stem)), 0)


# --- The files of a report.


def write_report(studies: Sequence[Study], folder: Path, *, command: str = "") -> list[Path]:
    """Write page, Markdown and tables (CSV) into a folder; the paths, the page first.

    Raises `BadInput` where they cannot be written, `Unavailable` without jinja2 or matplotlib.
    """
    texts = {PAGE: html_page(studies), TEXT: markdown_report(studies, command=command), **csv_files(studies)}
    return [write_file(folder / name, text) for name, text in texts.items()]


def csv_files(studies: Sequence[Study]) -> dict[str, str]:
    """The tables of all studies by file name; those whose columns depend on the study have a file each."""
    found: dict[str, list[tuple[str, Table]]] = {}
    for name, evaluation, table in _csv_tables(studies):
        found.setdefault(f"tables/{name}.csv", []).append((evaluation, table))
    return {name: as_csv(rows) for name, rows in found.items()}


def _csv_tables(studies: Sequence[Study]) -> Iterator[tuple[str, str, Table]]:
    """Each table with the name of its file and of its evaluation."""
    for study in studies:
        of_metrics = [make(study, m) for m in study.metrics for make in (tables.scores_of, tables.differences_of)]
        for table in (*of_metrics, tables.failures(study), tables.provenance(study)):
            yield table.name, study.name, table
    for number, table in enumerate(tables.overview(studies), start=1):
        yield f"{table.name}-{number}", "", table
    for number, study in enumerate(studies, start=1):
        for table in (tables.stages(study), tables.letters(study), tables.models(study), tables.disagreements(study)):
            if table.rows:
                yield f"{table.name}-{number}" if len(studies) > 1 else table.name, study.name, table


def write_file(path: Path, text: str) -> Path:
    """Write a file whole or not at all; raises `BadInput`."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return write_whole(path, text)
    except OSError as e:
        raise BadInput(f"{path}: cannot be written ({e.strerror}); name a folder that you may write to") from None
