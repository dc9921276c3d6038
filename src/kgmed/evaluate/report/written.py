"""The files of a report, each written beside its place and then moved there."""

from collections.abc import Callable, Sequence
from pathlib import Path

from kgmed.errors import BadInput
from kgmed.evaluate.report import manifest, markdown, tables
from kgmed.evaluate.report.page import page
from kgmed.evaluate.report.study import Study
from kgmed.evaluate.report.table import Table, as_csv

PAGE, TEXT = "report.html", "report.md"


def write(studies: Sequence[Study], folder: Path, *, command: str = "") -> list[Path]:
    """Write page, Markdown and tables (CSV) into a folder; the paths, the page first. Raises `BadInput`."""
    texts = {PAGE: page(studies), TEXT: markdown.report(studies, command=command), **csvs(studies)}
    return [put(folder / name, text) for name, text in texts.items()]


def csvs(studies: Sequence[Study]) -> dict[str, str]:
    """The tables of all studies by file name; those whose columns depend on the study stand in one file each."""
    every = [
        (s, table)
        for s in studies
        for m in s.metrics
        for table in (tables.scores_of(s, m), tables.differences_of(s, m))
    ]
    alike: list[Callable[[Study], Table]] = [tables.failures, manifest.facts]
    every += [(s, make(s)) for make in alike for s in studies]
    found: dict[str, list[tuple[str, Table]]] = {}
    for study, table in every:
        found.setdefault(f"tables/{table.name}.csv", []).append((study.name, table))
    for number, table in enumerate(tables.overview(studies), start=1):
        found[f"tables/{table.name}-{number}.csv"] = [("", table)]
    own: list[Callable[[Study], Table]] = [tables.stages, tables.letters, tables.models, tables.divided]
    for number, study in enumerate(studies, start=1):
        for make in own:
            table = make(study)
            if table.rows:
                mark = f"-{number}" if len(studies) > 1 else ""
                found[f"tables/{table.name}{mark}.csv"] = [(study.name, table)]
    return {name: as_csv(rows) for name, rows in found.items()}


def put(path: Path, text: str) -> Path:
    """Write a file whole or not at all; raises `BadInput`."""
    beside = path.with_name(f".{path.name}.new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside.write_text(text, encoding="utf-8", newline="\n")
        beside.replace(path)
    except OSError as e:
        raise BadInput(f"{path}: cannot be written ({e.strerror}); name a folder that you may write to") from None
    return path
