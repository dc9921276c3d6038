"""How results are put on the screen: tables for people, tab-separated lines for pipes, JSON for programs.

Text is wrapped as a screen of any width shows it: no word broken, Chinese by its characters, styles on terminals only.
Only here does the command line know on which system it runs.
"""

import errno
import io
import json
import os
import shutil
import sys
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO, TypeAlias

from kgmed.errors import KgmedError
from kgmed.language.text import lazily, visible
from kgmed.records import to_json

# What terminals and pipes do differently: the one place of the command line that knows on which system it runs.

_SYSTEM = lazily(r"\(os error (\d+)\)")
_FULL = tuple(number for name in ("ENOSPC", "EDQUOT", "EFBIG") if (number := getattr(errno, name, None)))
_OUTPUT = -11  # STD_OUTPUT_HANDLE of Windows
_STYLES = 0x0004  # ENABLE_VIRTUAL_TERMINAL_PROCESSING


def say_anything(*streams: TextIO) -> None:
    """From now on a character that an output's encoding does not have is printed as "?"."""
    for stream in streams or (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def hear_again() -> None:
    """From now on Ctrl-C that comes while an object is let go of, where Python loses it, comes again a moment later."""
    usual = sys.unraisablehook

    def lost(what: "sys.UnraisableHookArgs") -> None:
        if not issubclass(what.exc_type, KeyboardInterrupt):
            usual(what)
            return
        import signal
        import threading

        def again() -> None:
            if hasattr(signal, "pthread_kill"):
                signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
            else:
                signal.raise_signal(signal.SIGINT)

        threading.Timer(0.05, again).start()  # not from here, where it would be lost once more

    sys.unraisablehook = lost


def nobody_reads(error: OSError, *, system: str = sys.platform) -> bool:
    """Whether an output has no reader any more: a broken pipe, which Windows calls an invalid argument.

    >>> nobody_reads(BrokenPipeError(errno.EPIPE, "")), nobody_reads(OSError(errno.EINVAL, ""), system="win32")
    (True, True)
    """
    if error.filename is not None:  # a name that Windows cannot have is an invalid argument too
        return False
    return error.errno == errno.EPIPE or (system == "win32" and error.errno == errno.EINVAL)


_CANNOT = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENAMETOOLONG, errno.EINVAL,
           errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.ELOOP)  # fmt: skip


def may_not(error: OSError) -> bool:
    """Whether a file or folder that is named cannot be: by its name, by what stands there, or for want of the right."""
    return error.filename is not None and error.errno in _CANNOT


def no_room(error: OSError) -> bool:
    """Whether the disk, or one's share of it, is full."""
    return error.errno in _FULL


def of_the_system(error: Exception) -> OSError | None:
    """What the system said of a file, also where an extension in Rust repeats it (safetensors); None: it was not that.

    >>> of_the_system(ValueError("I/O error: No space left on device (os error 28)"))
    OSError(28, 'No space left on device')
    """
    if isinstance(error, OSError):
        return error
    found = None if isinstance(error, KgmedError) else _SYSTEM.search(str(error))
    return OSError(int(found[1]), os.strerror(int(found[1]))) if found else None


def knows_styles(
    stream: TextIO,
    *,
    system: str = sys.platform,
    environment: Mapping[str, str] = os.environ,
    switch_on: Callable[[], bool] | None = None,
) -> bool:
    """Whether a stream is a terminal that draws styles and links; a console of Windows is told to."""
    if not stream.isatty() or "NO_COLOR" in environment or environment.get("TERM") == "dumb":
        return False
    return (switch_on or _switch_on)() if system == "win32" else True


def _switch_on() -> bool:
    """Whether the console of Windows draws styles from now on."""
    import ctypes

    kernel: Any = getattr(ctypes, "windll").kernel32  # noqa: B009 - only Windows has it
    handle, mode = kernel.GetStdHandle(_OUTPUT), ctypes.c_uint32()
    if not kernel.GetConsoleMode(handle, ctypes.byref(mode)):
        return False
    return bool(kernel.SetConsoleMode(handle, mode.value | _STYLES))


# Text as a screen of any width shows it: no word broken, Chinese by its characters, styles and links on terminals.

# --- Where a line may end: at a space, and beside a character of a script without spaces.


_WIDE = "\u2e80-\u303e\u3041-\ua4cf\uf900-\ufaff\ufe30-\ufe4f\uff01-\uff60\uffe0-\uffe6\U00020000-\U0003fffd"
_CLOSING = "，。、；：？！）】》」』〉％,.;:?!)\\]%"  # never the first of a line
_OPENING = "（【《「『〈"  # never the last of one
_MARKS = r"(?: ?\[\d+\])*"  # the numbers of evidence stay with what they are about
_UNIT = lazily(rf"(?P<space>[^\S\n]+)|[{_OPENING}]*(?:[{_WIDE}]|[^\s{_WIDE}]+)[{_CLOSING}]*{_MARKS}[{_CLOSING}]*")
_LEAD = lazily(r"\s*(?:(?:[-•*]|\[\d+\]|\d{1,2}[.)])\s+)?")  # what the lines below are indented by
_WIDEST_LEAD = 8


@lru_cache(maxsize=4096)
def _cell(char: str) -> int:
    """How many columns a character takes.

    >>> [_cell(c) for c in "a药\\u0301"]
    [1, 2, 0]
    """
    if unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def cells(text: str) -> int:
    """How many columns a text takes on a screen.

    >>> cells("gout"), cells("痛风。")
    (4, 6)
    """
    return len(text) if text.isascii() else sum(map(_cell, text))


def lines_of(text: str, width: int) -> Iterator[tuple[int, int, int]]:
    """The lines of a text for a screen: (start, end, columns of indent); width 0 = as wide as each is.

    A word longer than the screen has a line of its own; it is not broken.

    >>> text = "- for gout, colchicine"
    >>> [" " * indent + text[start:end] for start, end, indent in lines_of(text, 13)]
    ['- for gout,', '  colchicine']
    """
    at = 0
    for line in text.split("\n"):
        yield from _broken(line, at, width) if width else ((at, at + len(line), 0),)
        at += len(line) + 1


def _broken(line: str, at: int, width: int) -> Iterator[tuple[int, int, int]]:
    """The lines that one line of a text makes."""
    lead = _LEAD.match(line)
    hang = min(cells(lead[0]), _WIDEST_LEAD, width // 2) if lead else 0
    begin, end, used, indent = 0, 0, 0, 0
    for unit in _UNIT.finditer(line):
        size = cells(unit[0])
        if unit["space"] is None:
            if used + size > width and end > begin:
                yield at + begin, at + end, indent
                begin, used, indent = unit.start(), hang, hang
            end = unit.end()
        used += size
    yield at + begin, at + max(end, begin), indent


# --- Styles, and the address of a text, as terminals know them.


class Look(NamedTuple):
    """How a text looks: bold, dim, green, yellow or red, with spaces between; and the address that it leads to."""

    style: str = ""
    link: str = ""


Piece = str | tuple[str, str | Look]
_CODES = {"bold": "1", "dim": "2", "green": "32", "yellow": "33", "red": "31"}


@dataclass(frozen=True, slots=True)
class Page:
    """Prints texts on a stream; width 0 = lines are not broken; `styles` = the terminal knows them."""

    stream: TextIO
    width: int = 0
    styles: bool = False

    def __call__(self, *pieces: Piece) -> None:
        """Print the pieces as one text; nothing in them commands the terminal."""
        parts = [(visible(text.replace("\r\n", "\n")), look) for text, look in map(_looked, pieces)]
        text = "".join(text for text, _ in parts)
        for start, end, indent in lines_of(text, self.width):
            self.stream.write(" " * indent + self._styled(parts, start, end) + "\n")
        self.stream.flush()

    def _styled(self, parts: list[tuple[str, Look]], start: int, end: int) -> str:
        """A stretch of the text, each piece with its look."""
        ends = [0]
        for text, _ in parts:
            ends.append(ends[-1] + len(text))
        cut = zip(pairwise(ends), parts, strict=True)
        pieces = ((text[max(start - a, 0) : max(end - a, 0)], look) for (a, _), (text, look) in cut)
        return "".join(self._drawn(text, look) for text, look in pieces if text)

    def _drawn(self, text: str, look: Look) -> str:
        if not self.styles:
            return text
        codes = ";".join(_CODES[name] for name in look.style.split())
        drawn = f"\x1b[{codes}m{text}\x1b[0m" if codes else text
        return f"\x1b]8;;{look.link}\x1b\\{drawn}\x1b]8;;\x1b\\" if look.link else drawn


def _looked(piece: Piece) -> tuple[str, Look]:
    text, look = (piece, "") if isinstance(piece, str) else piece
    return text, Look(look) if isinstance(look, str) else look


class Screen(NamedTuple):
    """The screen of a command that runs in another process: its outputs, columns, and whether it has styles."""

    out: TextIO
    err: TextIO
    width: int = 0
    styles: bool = False


CALLER: ContextVar[Screen | None] = ContextVar("caller", default=None)  # None = this process prints on its own outputs


def page() -> Page:
    """Standard output as a page: styled on a terminal, as wide as the screen; in a pipe as wide as COLUMNS, if set."""
    if caller := CALLER.get():
        return Page(caller.out, caller.width, caller.styles)
    wide = shutil.get_terminal_size().columns if sys.stdout.isatty() or os.environ.get("COLUMNS") else 0
    return Page(sys.stdout, wide, knows_styles(sys.stdout))


Out = Callable[..., None]


if TYPE_CHECKING:
    import rich.style
    from rich.text import Text

# --- Text of graphs, models, files and servers on a terminal: nothing in it is a command to the terminal or markup.


Words: TypeAlias = "str | tuple[str, str | rich.style.Style]"  # rich is read in only where something is drawn


def folded(text: str) -> str:
    """The text on one line, fit for a terminal."""
    return visible(" ".join(text.splitlines()))


def styled(*pieces: "Words") -> "Text":
    """Texts, some with a style, one after the other; none of them is read as markup."""
    from rich.text import Text

    found = Text()
    for piece in pieces:
        text, style = (piece, "") if isinstance(piece, str) else piece
        found.append(visible(text.replace("\r\n", "\n")), style)
    return found


# --- Progress on standard error; silent where that is not a terminal.


@contextmanager
def steps(what: str) -> Iterator[Callable[[str], None]]:
    """A callback for the step being done, in words."""
    from rich.console import Console

    with Console(stderr=True).status(styled(what)) as status:
        yield lambda step: status.update(styled(step))


def _write(text: str, *, problem: bool = False) -> None:
    """Print a line in the output's own encoding (click would take UTF-8 for ASCII), and at once: an end shows here."""
    caller = CALLER.get()
    out, err = (caller.out, caller.err) if caller else (sys.stdout, sys.stderr)
    stream = err if problem else out
    stream.write(f"{text}\n")
    stream.flush()


def lines(texts: Iterable[str]) -> None:
    """Print each text on a line of its own."""
    for text in texts:
        _write(folded(text))


def data(value: Any, *, indent: int | None = 2) -> None:
    """Print a record, or several, as JSON; `indent` None = on one line. What the output cannot say is escaped."""
    plain = to_json(value)
    text = json.dumps(plain, ensure_ascii=False, indent=indent)
    try:
        text.encode((None if CALLER.get() else sys.stdout.encoding) or "utf-8")
    except UnicodeEncodeError:
        text = json.dumps(plain, indent=indent)
    _write(text)


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
    """Print each text on standard error; where that is full or closed, nobody is told."""
    with suppress(OSError):
        for text in texts:
            _write(f"kgmed: {folded(text)}", problem=True)


@contextmanager
def progress(what: str, unit: str, *, at_once: bool = True) -> Iterator[Callable[[int], None]]:
    """A function to call with the number done so far, shown on standard error where that is a terminal.

    Without `at_once` nothing is shown before it is called for the first time.
    """
    if CALLER.get() or not sys.stderr.isatty():
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
def counting(what: str, unit: str) -> Iterator["Counting"]:
    """What counts its own calls, whatever it is called with, and shows the number as `progress` does."""
    with progress(what, unit) as tell:
        yield Counting(tell)


@dataclass(slots=True)
class Counting:
    """A function that counts how often it has been called."""

    tell: Callable[[int], None]
    count: int = 0

    def __call__(self, _: object, /) -> None:
        """Count one more."""
        self.count += 1
        self.tell(self.count)


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
