"""How results are put on the screen: tables for people, tab-separated lines for pipes, JSON for programs."""

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, TextIO, TypeAlias

from kgmed.language.text import visible
from kgmed.records import to_json

if TYPE_CHECKING:
    import rich.style
    from rich.text import Text

# --- Text of graphs, models, files and servers on a terminal: nothing in it is a command to the terminal or markup.


Piece: TypeAlias = "str | tuple[str, str | rich.style.Style]"  # rich is read in only where something is drawn


def folded(text: str) -> str:
    """The text on one line, fit for a terminal."""
    return visible(" ".join(text.splitlines()))


def styled(*pieces: "Piece") -> "Text":
    """Texts, some with a style, one after the other; none of them is read as markup."""
    from rich.text import Text

    found = Text()
    for piece in pieces:
        text, style = (piece, "") if isinstance(piece, str) else piece
        found.append(visible(text.replace("\r\n", "\n")), style)
    return found


def printer() -> Callable[..., None]:
    """A function that prints pieces of text as `styled`, on one line unless they hold line ends."""
    from rich.console import Console

    console = Console(highlight=False, soft_wrap=True)
    return lambda *pieces: console.print(styled(*pieces))


# --- Progress on standard error; silent where that is not a terminal.


@contextmanager
def steps(what: str) -> Iterator[Callable[[str], None]]:
    """A callback for the step being done, in words."""
    from rich.console import Console

    with Console(stderr=True).status(styled(what)) as status:
        yield lambda step: status.update(styled(step))


# --- How results are put on the screen: tables for people, tab-separated lines for pipes, JSON for programs.


def _write(text: str, stream: TextIO) -> None:
    """Print a line in the stream's own encoding (click would take UTF-8 for ASCII), and at once: an end shows here."""
    stream.write(f"{text}\n")
    stream.flush()


def lines(texts: Iterable[str]) -> None:
    """Print each text on a line of its own."""
    for text in texts:
        _write(folded(text), sys.stdout)


def data(value: Any, *, indent: int | None = 2) -> None:
    """Print a record, or several, as JSON; `indent` None = on one line. What the output cannot say is escaped."""
    plain = to_json(value)
    text = json.dumps(plain, ensure_ascii=False, indent=indent)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        text = json.dumps(plain, indent=indent)
    _write(text, sys.stdout)


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print rows as a table where a person looks, as tab-separated lines otherwise."""
    cells = [[" ".join(str(cell).split()) for cell in row] for row in rows]
    if not sys.stdout.isatty():
        lines("\t".join(row) for row in [header, *cells])
        return
    from rich.console import Console
    from rich.table import Column, Table

    shown = Table(*(Column(styled(name)) for name in header), box=None, header_style="bold", pad_edge=False)
    for row in cells:
        shown.add_row(*map(styled, row))
    Console().print(shown)


def warn(texts: Iterable[str]) -> None:
    """Print each text on standard error."""
    for text in texts:
        _write(f"kgmed: {folded(text)}", sys.stderr)


@contextmanager
def progress(what: str, unit: str, *, at_once: bool = True) -> Iterator[Callable[[int], None]]:
    """A function to call with the number done so far, shown on standard error where that is a terminal.

    Without `at_once` nothing is shown before it is called for the first time.
    """
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    with ExitStack() as shown:
        bars: list[Callable[[int], None]] = [shown.enter_context(_bar(what, unit))] if at_once else []

        def tell(done: int) -> None:
            if not bars:
                bars.append(shown.enter_context(_bar(what, unit)))
            bars[0](done)

        yield tell


@contextmanager
def _bar(what: str, unit: str) -> Iterator[Callable[[int], None]]:
    """A line with a spinner and the time, gone when the block ends."""
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    what = folded(what)
    columns = SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what)
        yield lambda done: bar.update(task, description=f"{what}: {done:,} {unit}")
