"""Four kinds of drawing, each from plain numbers: intervals, quality against a price, stacked bars, lines."""

from collections.abc import Sequence
from typing import NamedTuple

from kgmed.evaluate.report import svg

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
    return 16 + max((svg.width_of(svg.cut(n)) for n in names), default=0)


def _below(across: svg.Scale, marks: Sequence[float], top: float, bottom: float, label: str) -> list[str]:
    """An axis at the bottom with its grid."""
    parts = [svg.line(across(m), top, across(m), bottom, kind="grid") for m in marks]
    parts += [svg.text(across(m), bottom + 16, svg.number(m), anchor="middle", kind="tick") for m in marks]
    return [*parts, svg.text((across.start + across.end) / 2, bottom + 36, label, anchor="middle")]


def intervals(points: Sequence[Point], label: str, *, base: str = "") -> str:
    """One row a method: its mean as a dot, its 95 % interval as a line; a dashed line through the baseline's mean."""
    left, bottom = _left([p.name for p in points]), 10 + ROW * len(points)
    ends = [v for p in points for v in (p.y, p.low, p.high)]
    across, marks = svg.scale(ends, left, WIDTH - RIGHT)
    parts = _below(across, marks, 6, bottom, label)
    parts += [svg.line(across(p.y), 6, across(p.y), bottom, kind="base") for p in points if p.name == base]
    for i, p in enumerate(points):
        y = 10 + ROW * (i + 0.5)
        parts.append(svg.text(left - 10, y + 4, svg.cut(p.name), anchor="end"))
        parts.append(svg.line(across(p.low), y, across(p.high), y, kind="range", colour=i))
        parts.append(svg.dot(across(p.y), y, i, tip=_tip(p)))
    return svg.drawing(parts, WIDTH, bottom + 46, f"{label} with 95 % intervals")


def scatter(points: Sequence[Point], x_label: str, y_label: str) -> str:
    """Quality upwards, what it takes to the right; names stand beside their dots, moved apart where they would meet."""
    left, bottom = 64.0, 320.0
    across, x_marks = svg.scale([p.x for p in points], left, WIDTH - 190, zero=True)
    up, y_marks = svg.scale([v for p in points for v in (p.low, p.high)], bottom, 24)
    parts = _below(across, x_marks, 24, bottom, x_label)
    parts += _beside(up, y_marks, left, WIDTH - 190)
    parts.append(svg.text(left - 50, 14, y_label))
    places = _apart([up(p.y) for p in points], lowest=bottom)
    for i, (p, y) in enumerate(zip(points, places, strict=True)):
        x = across(p.x)
        parts.append(svg.line(x, up(p.low), x, up(p.high), kind="range thin", colour=i))
        parts.append(svg.line(x, up(p.y), WIDTH - 182, y, kind="leader"))
        parts.append(svg.dot(x, up(p.y), i, tip=f"{_tip(p)} at {svg.number(p.x)}"))
        parts.append(svg.dot(WIDTH - 178, y, i, radius=4))
        parts.append(svg.text(WIDTH - 168, y + 4, svg.cut(p.name, 24)))
    return svg.drawing(parts, WIDTH, bottom + 46, f"{y_label} against {x_label}")


def _beside(up: svg.Scale, marks: Sequence[float], left: float, right: float) -> list[str]:
    """An axis at the left with its grid."""
    parts = [svg.line(left, up(m), right, up(m), kind="grid") for m in marks]
    return [*parts, *(svg.text(left - 8, up(m) + 4, svg.number(m), anchor="end", kind="tick") for m in marks)]


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
    across, marks = svg.scale([sum(told.values()) for _, told in rows], left, WIDTH - RIGHT, zero=True)
    parts = [*_legend(names, left), *_below(across, marks, top - 4, bottom, label)]
    for i, (row, told) in enumerate(rows):
        y, done = top + ROW * i + 5, 0.0
        parts.append(svg.text(left - 10, y + 12, svg.cut(row), anchor="end"))
        for name, value in told.items():
            tip = f"{row}, {name}: {value:.4f}"
            wide = across(done + value) - across(done)
            parts.append(svg.bar(across(done), y, wide, ROW - 10, names.index(name), tip=tip))
            done += value
    return svg.drawing(parts, WIDTH, bottom + 46, label)


def _legend(names: Sequence[str], left: float) -> list[str]:
    parts, x = [], left
    for i, name in enumerate(names):
        parts += [svg.bar(x, 8, 11, 11, i, tip=name), svg.text(x + 16, 18, name, kind="tick")]
        x += 30 + svg.width_of(name)
    return parts


def lines(series: Sequence[tuple[str, Sequence[Point]]], x_label: str, y_label: str, *, width: float = 370) -> str:
    """A line a series through its points, each with its interval where that is wider than nothing."""
    points = [p for _, told in series for p in told]
    left, bottom = 58.0, 230.0
    xs = sorted({p.x for p in points})
    across = svg.Scale(xs[0], xs[-1] if len(xs) > 1 else xs[0] + 1, left + 14, width - 20)
    up, marks = svg.scale([v for p in points for v in (p.low, p.high)], bottom, 30)
    parts = [*_beside(up, marks, left, width - 8), svg.text(4, 16, y_label)]
    parts += [svg.text(across(x), bottom + 18, svg.number(x), anchor="middle", kind="tick") for x in xs]
    parts.append(svg.text((left + width) / 2, bottom + 38, x_label, anchor="middle"))
    for i, (_, told) in enumerate(series):
        places = " ".join(f"{across(p.x):.1f},{up(p.y):.1f}" for p in told)
        parts.append(f'<polyline points="{places}" class="curve" style="stroke:var(--s{i % svg.COLOURS})"/>')
        for p in told:
            if p.high > p.low:
                parts.append(svg.line(across(p.x), up(p.low), across(p.x), up(p.high), kind="range thin", colour=i))
            parts.append(svg.dot(across(p.x), up(p.y), i, tip=_tip(p)))
    height = bottom + 50
    if len(series) > 1:
        for i, (name, _) in enumerate(series):
            parts += [svg.bar(left, height, 11, 11, i, tip=name), svg.text(left + 16, height + 10, svg.cut(name, 44))]
            height += 18
    return svg.drawing(parts, width, height, f"{y_label} by {x_label}")
