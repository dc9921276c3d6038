"""Text as a screen of any width shows it: no word broken, Chinese by its characters, styles and links on terminals."""

import os
import re
import shutil
import sys
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import TextIO

from kgmed.cli.terminal import knows_styles
from kgmed.language.text import visible

# --- Where a line may end: at a space, and beside a character of a script without spaces.


_WIDE = "\u2e80-\u303e\u3041-\ua4cf\uf900-\ufaff\ufe30-\ufe4f\uff01-\uff60\uffe0-\uffe6\U00020000-\U0003fffd"
_CLOSING = "，。、；：？！）】》」』〉％,.;:?!)\\]%"  # never the first of a line
_OPENING = "（【《「『〈"  # never the last of one
_MARKS = r"(?: ?\[\d+\])*"  # the numbers of evidence stay with what they are about
_UNIT = re.compile(rf"(?P<space>[^\S\n]+)|[{_OPENING}]*(?:[{_WIDE}]|[^\s{_WIDE}]+)[{_CLOSING}]*{_MARKS}[{_CLOSING}]*")
_LEAD = re.compile(r"\s*(?:(?:[-•*]|\[\d+\]|\d{1,2}[.)])\s+)?")  # what the lines below are indented by
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


def wrap(text: str, width: int) -> str:
    """The text with line ends so that no line is wider than the screen.

    >>> print(wrap("秋水仙碱治疗痛风。", 8))
    秋水仙碱
    治疗痛
    风。
    """
    return "\n".join(" " * indent + text[start:end] for start, end, indent in lines_of(text, width))


# --- Styles, and the address of a text, as terminals know them.


@dataclass(frozen=True, slots=True)
class Look:
    """How a text looks: bold, dim, green or yellow, several with a space between; and the address that it leads to."""

    style: str = ""
    link: str = ""


Piece = str | tuple[str, str | Look]
_CODES = {"bold": "1", "dim": "2", "green": "32", "yellow": "33"}


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
        """A text in its look."""
        if not self.styles:
            return text
        codes = ";".join(_CODES[name] for name in look.style.split())
        drawn = f"\x1b[{codes}m{text}\x1b[0m" if codes else text
        return f"\x1b]8;;{look.link}\x1b\\{drawn}\x1b]8;;\x1b\\" if look.link else drawn


def _looked(piece: Piece) -> tuple[str, Look]:
    """The text of a piece and its look."""
    text, look = (piece, "") if isinstance(piece, str) else piece
    return text, Look(look) if isinstance(look, str) else look


def page() -> Page:
    """Standard output as a page: styled on a terminal, as wide as the screen; in a pipe as wide as COLUMNS, if set."""
    wide = shutil.get_terminal_size().columns if sys.stdout.isatty() or os.environ.get("COLUMNS") else 0
    return Page(sys.stdout, wide, knows_styles(sys.stdout))


Out = Callable[..., None]
