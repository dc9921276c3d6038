"""Progress on standard error; silent where that is not a terminal."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn


@contextmanager
def building(what: str = "Building the graph (first use)") -> Iterator[Callable[[int], None]]:
    """A callback for the number of rows read so far; nothing shows before its first call."""
    columns = SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed:,} rows")
    bar = Progress(*columns, TimeElapsedColumn(), console=Console(stderr=True), transient=True)
    task = bar.add_task(what, total=None, visible=False)
    with bar:
        yield lambda rows: bar.update(task, completed=rows, visible=True)


@contextmanager
def steps(what: str) -> Iterator[Callable[[str], None]]:
    """A callback for the step being done, in words."""
    with Console(stderr=True).status(what) as status:
        yield status.update
