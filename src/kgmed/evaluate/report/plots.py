"""Four kinds of drawing, each from plain numbers: intervals, quality against a price, stacked bars, lines."""

from collections.abc import Sequence
from math import ceil, floor, log10
from typing import NamedTuple

from kgmed.evaluate.report.study import html

# --- The parts of a drawing: elements, scales, ticks. Colours come from the page (`--s0` to `--s7`, `currentColor`).


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


# --- Four kinds of drawing, each from plain numbers: intervals, quality against a price, stacked bars, lines.


WIDTH, ROW, RIGHT = 760.0, 26.0, 24.0


class Point(NamedTuple):
    """A value with its interval, at `x` where that is a number of its own."""

    name: str
    y: float
    low: float
    high: float
    x: float = 0.0


def _tip(p: Point) -> str:
    return f"{p.name}: {p.y:.4f} ({p.low:.4f} to {p.high:.4f})"


def _left(names: Sequence[str]) -> float:
    """Room for names at the left."""
    return 16 + max((width_of(cut(n)) for n in names), default=0)


def _below(across: Scale, marks: Sequence[float], top: float, bottom: float, label: str) -> list[str]:
    """An axis at the bottom with its grid."""
    parts = [line(across(m), top, across(m), bottom, kind="grid") for m in marks]
    parts += [text(across(m), bottom + 16, number(m), anchor="middle", kind="tick") for m in marks]
    return [*parts, text((across.start + across.end) / 2, bottom + 36, label, anchor="middle")]


def intervals(points: Sequence[Point], label: str, *, base: str = "") -> str:
    """One row a method: its mean as a dot, its 95 % interval as a line; a dashed line through the baseline's mean."""
    left, bottom = _left([p.name for p in points]), 10 + ROW * len(points)
    ends = [v for p in points for v in (p.y, p.low, p.high)]
    across, marks = scale(ends, left, WIDTH - RIGHT)
    parts = _below(across, marks, 6, bottom, label)
    parts += [line(across(p.y), 6, across(p.y), bottom, kind="base") for p in points if p.name == base]
    for i, p in enumerate(points):
        y = 10 + ROW * (i + 0.5)
        parts.append(text(left - 10, y + 4, cut(p.name), anchor="end"))
        parts.append(line(across(p.low), y, across(p.high), y, kind="range", colour=i))
        parts.append(dot(across(p.y), y, i, tip=_tip(p)))
    return drawing(parts, WIDTH, bottom + 46, f"{label} with 95 % intervals")


def scatter(points: Sequence[Point], x_label: str, y_label: str) -> str:
    """Quality upwards, what it takes to the right; names stand beside their dots, moved apart where they would meet."""
    left, bottom = 64.0, 320.0
    across, x_marks = scale([p.x for p in points], left, WIDTH - 190, zero=True)
    up, y_marks = scale([v for p in points for v in (p.low, p.high)], bottom, 24)
    parts = _below(across, x_marks, 24, bottom, x_label)
    parts += _beside(up, y_marks, left, WIDTH - 190)
    parts.append(text(left - 50, 14, y_label))
    places = _apart([up(p.y) for p in points], lowest=bottom)
    for i, (p, y) in enumerate(zip(points, places, strict=True)):
        x = across(p.x)
        parts.append(line(x, up(p.low), x, up(p.high), kind="range thin", colour=i))
        parts.append(line(x, up(p.y), WIDTH - 182, y, kind="leader"))
        parts.append(dot(x, up(p.y), i, tip=f"{_tip(p)} at {number(p.x)}"))
        parts.append(dot(WIDTH - 178, y, i, radius=4))
        parts.append(text(WIDTH - 168, y + 4, cut(p.name, 24)))
    return drawing(parts, WIDTH, bottom + 46, f"{y_label} against {x_label}")


def _beside(up: Scale, marks: Sequence[float], left: float, right: float) -> list[str]:
    """An axis at the left with its grid."""
    parts = [line(left, up(m), right, up(m), kind="grid") for m in marks]
    return [*parts, *(text(left - 8, up(m) + 4, number(m), anchor="end", kind="tick") for m in marks)]


def _apart(places: Sequence[float], *, lowest: float, gap: float = 17.0) -> list[float]:
    """The places moved down until each is a gap below the one above it, then up where they ran out of room.

    >>> _apart([100, 100, 300], lowest=300), _apart([300, 300], lowest=300)
    ([100, 117.0, 300], [283.0, 300.0])
    """
    moved, last = [0.0] * len(places), -1e9
    for i in sorted(range(len(places)), key=lambda i: places[i]):
        last = moved[i] = max(places[i], last + gap)
    last = lowest + gap
    for i in sorted(range(len(places)), key=lambda i: -moved[i]):
        last = moved[i] = min(moved[i], last - gap)
    return moved


def stacked(rows: Sequence[tuple[str, dict[str, float]]], label: str) -> str:
    """One bar a method, a piece a stage, with a legend above."""
    names = list(dict.fromkeys(name for _, told in rows for name in told))
    left, top = _left([name for name, _ in rows]), 34.0
    bottom = top + ROW * len(rows)
    across, marks = scale([sum(told.values()) for _, told in rows], left, WIDTH - RIGHT, zero=True)
    parts = [*_legend(names, left), *_below(across, marks, top - 4, bottom, label)]
    for i, (row, told) in enumerate(rows):
        y, done = top + ROW * i + 5, 0.0
        parts.append(text(left - 10, y + 12, cut(row), anchor="end"))
        for name, value in told.items():
            tip = f"{row}, {name}: {value:.4f}"
            wide = across(done + value) - across(done)
            parts.append(bar(across(done), y, wide, ROW - 10, names.index(name), tip=tip))
            done += value
    return drawing(parts, WIDTH, bottom + 46, label)


def _legend(names: Sequence[str], left: float) -> list[str]:
    parts, x = [], left
    for i, name in enumerate(names):
        parts += [bar(x, 8, 11, 11, i, tip=name), text(x + 16, 18, name, kind="tick")]
        x += 30 + width_of(name)
    return parts


def lines(series: Sequence[tuple[str, Sequence[Point]]], x_label: str, y_label: str, *, width: float = 370) -> str:
    """A line a series through its points, each with its interval where that is wider than nothing."""
    points = [p for _, told in series for p in told]
    left, bottom = 58.0, 230.0
    xs = sorted({p.x for p in points})
    across = Scale(xs[0], xs[-1] if len(xs) > 1 else xs[0] + 1, left + 14, width - 20)
    up, marks = scale([v for p in points for v in (p.low, p.high)], bottom, 30)
    parts = [*_beside(up, marks, left, width - 8), text(4, 16, y_label)]
    parts += [text(across(x), bottom + 18, number(x), anchor="middle", kind="tick") for x in xs]
    parts.append(text((left + width) / 2, bottom + 38, x_label, anchor="middle"))
    for i, (_, told) in enumerate(series):
        places = " ".join(f"{across(p.x):.1f},{up(p.y):.1f}" for p in told)
        parts.append(f'<polyline points="{places}" class="curve" style="stroke:var(--s{i % COLOURS})"/>')
        for p in told:
            if p.high > p.low:
                parts.append(line(across(p.x), up(p.low), across(p.x), up(p.high), kind="range thin", colour=i))
            parts.append(dot(across(p.x), up(p.y), i, tip=_tip(p)))
    height = bottom + 50
    if len(series) > 1:
        for i, (name, _) in enumerate(series):
            parts += [bar(left, height, 11, 11, i, tip=name), text(left + 16, height + 10, cut(name, 44))]
            height += 18
    return drawing(parts, width, height, f"{y_label} by {x_label}")
