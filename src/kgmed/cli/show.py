"""How results are put on the screen: tables for people, tab-separated lines for pipes, JSON for programs."""

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import typer
from rich.console import Console

from kgmed.records import to_json

# --- Progress on standard error; silent where that is not a terminal.


@contextmanager
def steps(what: str) -> Iterator[Callable[[str], None]]:
    """A callback for the step being done, in words."""
    with Console(stderr=True).status(what) as status:
        yield status.update


# --- How results are put on the screen: tables for people, tab-separated lines for pipes, JSON for programs.


def lines(texts: Iterable[str]) -> None:
    """Print each text on a line of its own."""
    for text in texts:
        typer.echo(" ".join(text.splitlines()))


def data(value: Any, *, indent: int | None = 2) -> None:
    """Print a record, or several, as JSON; `indent` None = on one line."""
    typer.echo(json.dumps(to_json(value), ensure_ascii=False, indent=indent))


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print rows as a table where a person looks, as tab-separated lines otherwise."""
    cells = [[" ".join(str(cell).split()) for cell in row] for row in rows]
    if not sys.stdout.isatty():
        lines("\t".join(row) for row in [header, *cells])
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    shown = Table(*header, box=None, header_style="bold", pad_edge=False)
    for row in cells:
        shown.add_row(*map(escape, row))
    Console().print(shown)


def warn(texts: Iterable[str]) -> None:
    """Print each text on standard error."""
    for text in texts:
        typer.echo(f"kgmed: {text}", err=True)


@contextmanager
def progress(what: str, unit: str) -> Iterator[Callable[[int], None]]:
    """A function to call with the number done so far, shown on standard error where that is a terminal."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what)
        yield lambda done: bar.update(task, description=f"{what}: {done:,} {unit}")
