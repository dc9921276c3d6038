"""The parts of a drawing: elements, scales, ticks. Colours come from the page (`--s0` to `--s7`, `currentColor`)."""

from collections.abc import Sequence
from math import ceil, floor, log10
from typing import NamedTuple

from kgmed.evaluate.report.text import html

COLOURS = 8
LETTER = 7.4  # the width of a letter of 12 pixels, about; a Chinese one is twice as wide


class Scale(NamedTuple):
    """From values to pixels."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """The place of a value.

        >>> Scale(0, 10, 100, 200)(5)
        150.0
        """
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)


def ticks(low: float, high: float, *, about: int = 5) -> list[float]:
    """Round values that cover an interval.

    >>> ticks(0, 1), ticks(0.31, 0.52), ticks(2, 2)
    ([0.0, 0.2, 0.4, 0.6, 0.8, 1.0], [0.3, 0.35, 0.4, 0.45, 0.5, 0.55], [1.0, 2.0, 3.0])
    """
    if high <= low:
        return [low - 1.0, float(low), high + 1.0] if low else [0.0, 1.0]
    rough = (high - low) / about
    power = 10.0 ** floor(log10(rough))
    step = next(power * n for n in (1, 2, 5, 10) if power * n >= rough * 0.999)
    first, last = floor(low / step + 1e-9), ceil(high / step - 1e-9)
    return [round(i * step, 12) for i in range(first, last + 1)]


def scale(values: Sequence[float], start: float, end: float, *, zero: bool = False) -> tuple[Scale, list[float]]:
    """A scale that holds all values, and its ticks; `zero` = it begins there."""
    low, high = min(values, default=0.0), max(values, default=1.0)
    marks = ticks(min(0.0, low) if zero else low, high)
    return Scale(marks[0], marks[-1], start, end), marks


def number(value: float) -> str:
    """A value on an axis.

    >>> number(0.25), number(1500.0), number(2.0)
    ('0.25', '1,500', '2')
    """
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def text(x: float, y: float, what: str, *, anchor: str = "start", kind: str = "") -> str:
    """A line of text."""
    marked = f' class="{kind}"' if kind else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{marked}>{html(what)}</text>'


def line(x1: float, y1: float, x2: float, y2: float, *, kind: str = "axis", colour: int | None = None) -> str:
    """A straight line."""
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{kind}"{_in("stroke", colour)}/>'


def dot(x: float, y: float, colour: int, *, tip: str = "", radius: float = 4.5) -> str:
    """A point, with what is said when one stands on it."""
    said = f"<title>{html(tip)}</title>" if tip else ""
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" class="dot"{_in("fill", colour)}>{said}</circle>'


def bar(x: float, y: float, width: float, height: float, colour: int, *, tip: str = "") -> str:
    """A filled rectangle."""
    size = f'x="{x:.1f}" y="{y:.1f}" width="{max(0.0, width):.1f}" height="{height:.1f}"'
    return f"<rect {size}{_in('fill', colour)}><title>{html(tip)}</title></rect>"


def _in(what: str, colour: int | None) -> str:
    return "" if colour is None else f' style="{what}:var(--s{colour % COLOURS})"'


def width_of(what: str) -> float:
    """How wide a text is, about."""
    return sum(LETTER * (2 if ord(c) > 0x2E80 else 1) for c in what)


def cut(what: str, most: int = 40) -> str:
    """The text in at most so many characters.

    >>> cut("abcdef", 4)
    'abc…'
    """
    return what if len(what) <= most else f"{what[: most - 1]}…"


def drawing(parts: Sequence[str], width: float, height: float, title: str) -> str:
    """The whole, as wide as the page allows and no wider than drawn."""
    size = f'viewBox="0 0 {width:.0f} {height:.0f}" style="max-width:{width:.0f}px"'
    return f'<svg {size} role="img" aria-label="{html(title)}">\n' + "\n".join(parts) + "\n</svg>\n"
