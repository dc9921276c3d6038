"""The plots of a study as SVG that stands in the page itself: drawn by matplotlib, coloured by the page's style.

Text stays text, every value has a tooltip, and the same study gives the same bytes: no date, fixed ids.
"""

import io
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from html import escape
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from kgmed.errors import Unavailable
from kgmed.evaluate.report.tables import Study, Sweep
from kgmed.evaluate.scores import mean
from kgmed.language.text import visible
from kgmed.records import Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INK, SOFT, RULE, PAGE = "#1c2126", "#5c6670", "#d9dee3", "#ffffff"
SERIES = ("#2a6fb0", "#d9822b", "#2f9e77", "#b8508f", "#7a68c4", "#a38a16", "#4aa3c9", "#8a8f96")
VARIABLES = {INK: "ink", SOFT: "soft", RULE: "rule", PAGE: "page", **{c: f"s{i}" for i, c in enumerate(SERIES)}}
STYLE = {
    "svg.fonttype": "none", "svg.hashsalt": "kgmed", "text.parse_math": False,
    "font.family": "sans-serif", "font.sans-serif": ["DejaVu Sans"], "font.size": 9,
    "text.color": INK, "axes.labelcolor": INK, "axes.edgecolor": RULE, "axes.facecolor": "none",
    "axes.grid": True, "axes.axisbelow": True, "axes.labelsize": 9, "grid.color": RULE,
    "axes.spines.top": False, "axes.spines.right": False, "axes.spines.left": False,
    "xtick.color": RULE, "ytick.color": RULE, "xtick.labelcolor": SOFT, "ytick.labelcolor": SOFT,
    "xtick.labelsize": 9, "ytick.labelsize": 9, "figure.facecolor": "none", "legend.frameon": False,
    "lines.solid_capstyle": "round", "legend.labelcolor": INK,
}  # fmt: skip
WIDTH, ROW = 7.9, 0.27  # inches of a plot and of one of its rows
RECALL = "evidence-recall@20"


class Point(NamedTuple):
    """A value with its interval, at `x` where that is a number of its own."""

    name: str
    y: float
    low: float
    high: float
    x: float = 0.0

    @property
    def tip(self) -> str:
        """What its tooltip says."""
        known = self.low == self.low  # one value has no interval
        return f"{self.name}: {self.y:.4f}" + (f" ({self.low:.4f} to {self.high:.4f})" if known else "")


# --- A plot, from the figure of matplotlib to what is put into the page.


class Canvas:
    """Axes to draw on, and the tooltips of what was drawn."""

    def __init__(self, figure: "Figure") -> None:
        """Of a new figure of matplotlib."""
        self.figure, self.axes = figure, figure.subplots()
        self.tips: list[str] = []

    def tip(self, text: str) -> str:
        """The id under which an artist has a tooltip."""
        self.tips.append(text)
        return f"tip-{len(self.tips) - 1}"

    def point(self, x: float, y: float, colour: str, tip: str) -> None:
        """A dot."""
        self.axes.plot(x, y, "o", color=colour, markeredgecolor=PAGE, markersize=6.5, zorder=3, gid=self.tip(tip))

    def between(self, xs: tuple[float, float], ys: tuple[float, float], colour: str, *, width: float = 1.5) -> None:
        """A straight line."""
        self.axes.plot(xs, ys, color=colour, linewidth=width, alpha=0.75)

    def rows(self, names: Sequence[str], label: str) -> None:
        """Names down the left, the first at the top, and what the axis below them measures."""
        self.axes.set_yticks(range(len(names)), [short(name) for name in names], color=INK)
        self.axes.set_ylim(len(names) - 0.5, -0.5)
        self.axes.grid(visible=False, axis="y")
        self.axes.set_xlabel(short(label))

    def legend(self, names: Sequence[str], place: Any, *, columns: int) -> None:
        """What each colour stands for, outside the axes."""
        from matplotlib.patches import Patch

        patches = [Patch(color=colour(i), label=short(name)) for i, name in enumerate(names)]
        self.figure.legend(handles=patches, loc=place, ncols=columns, handlelength=1)


def svg(draw: Callable[[Canvas], None], width: float, height: float, title: str) -> str:
    """What `draw` draws, in inches, as one element of a page of HTML; raises `Unavailable` without matplotlib."""
    try:
        from matplotlib import style
        from matplotlib.figure import Figure
    except ImportError:
        raise Unavailable('the plots of a report need matplotlib; pip install "kgmed[eval]"') from None
    out = io.StringIO()
    with style.context(["default", STYLE]), warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"Glyph \d+ .* missing", UserWarning)  # the browser has a font for it
        figure = Figure(figsize=(width, height), layout="constrained")
        canvas = Canvas(figure)
        for axis in (canvas.axes.xaxis, canvas.axes.yaxis):
            axis.set_major_formatter(lambda value, _: axis_number(value))
        draw(canvas)
        figure.savefig(out, format="svg", metadata=dict.fromkeys(("Creator", "Date", "Format", "Type")))
    return _inline(out.getvalue(), canvas.tips, width * 72, height * 72, title)


def _inline(document: str, tips: Sequence[str], width: float, height: float, title: str) -> str:
    """The body of an SVG document without its style, under a header of our own, its colours taken from the page."""
    body = document.partition("</defs>")[2]  # the first holds a style that would reach the whole page
    body = re.sub(r'<g id="[^"]*_\d+">', "<g>", body)  # numbered alike in every plot
    body = re.sub(r"<[^>]+>", _coloured, body)
    for number, tip in enumerate(tips):
        body = body.replace(f'<g id="tip-{number}">', f"<g><title>{escape(visible(tip))}</title>")
    size = f'viewBox="0 0 {width:.0f} {height:.0f}" style="max-width:{width * 4 / 3:.0f}px"'
    return f'<svg {size} role="img" aria-label="{escape(visible(title))}">{body}'


def _coloured(tag: re.Match[str]) -> str:
    """A tag with the page's variables for our colours."""
    return re.sub(r"#[0-9a-f]{6}\b", lambda c: f"var(--{VARIABLES[c[0]]})" if c[0] in VARIABLES else c[0], tag[0])


def short(text: str, most: int = 40) -> str:
    """The text on one line, in at most so many characters, every one of them visible.

    >>> short("abc\\ndef", 5)
    'abc …'
    """
    line = visible(" ".join(text.split()))
    return line if len(line) <= most else f"{line[: most - 1]}…"


def axis_number(value: float) -> str:
    """A value on an axis.

    >>> axis_number(0.25), axis_number(1500.0), axis_number(2.0)
    ('0.25', '1,500', '2')
    """
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def colour(number: int) -> str:
    """The colour of a series."""
    return SERIES[number % len(SERIES)]


# --- Four kinds of plot, each from plain numbers: intervals, quality against a price, stacked bars, lines.


def intervals(points: Sequence[Point], label: str, *, baseline: str = "") -> str:
    """One row a method: its mean as a dot, its 95 % interval as a line; a dashed line through the baseline's mean."""

    def draw(canvas: Canvas) -> None:
        for p in points:
            if p.name == baseline:
                canvas.axes.axvline(p.y, color=SOFT, linestyle="--", linewidth=0.8)
        for row, p in enumerate(points):
            canvas.between((p.low, p.high), (row, row), colour(row), width=2.3)
            canvas.point(p.y, row, colour(row), p.tip)
        canvas.rows([p.name for p in points], label)

    return svg(draw, WIDTH, 0.6 + ROW * len(points), f"{label} with 95 % intervals")


def scatter(points: Sequence[Point], x_label: str, y_label: str) -> str:
    """Quality upwards, its price to the right; names stand at the right, joined to their dots."""
    height = max(3.8, 0.6 + 0.24 * len(points))

    def draw(canvas: Canvas) -> None:
        for number, p in enumerate(points):
            canvas.between((p.x, p.x), (p.low, p.high), colour(number))
            canvas.point(p.x, p.y, colour(number), f"{p.tip} at {axis_number(p.x)}")
        canvas.axes.set_xlim(left=0)
        canvas.axes.set(xlabel=short(x_label), ylabel=short(y_label))
        low, high = canvas.axes.get_ylim()
        places = spread([(p.y - low) / (high - low) for p in points], gap=0.24 / (height - 0.6))
        for number, (p, place) in enumerate(zip(points, places, strict=True)):
            canvas.axes.annotate(
                short(p.name, 24), (p.x, p.y), (1.03, place), textcoords="axes fraction", va="center",
                color=colour(number), arrowprops={"arrowstyle": "-", "color": RULE, "shrinkA": 0, "shrinkB": 4},
            )  # fmt: skip

    return svg(draw, WIDTH, height, f"{y_label} against {x_label}")


def spread(places: Sequence[float], *, gap: float) -> list[float]:
    """Places between 0 and 1 moved up until each is a gap above the one below it, then down where room ran out.

    >>> spread([0.5, 0.5], gap=0.25), spread([1.0, 1.0], gap=0.25)
    ([0.5, 0.75], [0.75, 1.0])
    """
    moved, order = list(places), sorted(range(len(places)), key=lambda i: places[i])
    for below, i in pairwise(order):
        moved[i] = max(moved[i], moved[below] + gap)
    highest = 1.0
    for i in reversed(order):
        moved[i] = min(moved[i], highest)
        highest = moved[i] - gap
    return moved


def stacked(rows: Sequence[tuple[str, Mapping[str, float]]], label: str) -> str:
    """One bar a method, a part of it for each stage, with a legend above."""
    names = list(dict.fromkeys(name for _, parts in rows for name in parts))

    def draw(canvas: Canvas) -> None:
        for row, (method, parts) in enumerate(rows):
            left = 0.0
            for name, value in parts.items():
                tip = canvas.tip(f"{method}, {name}: {value:.4f}")
                canvas.axes.barh(row, value, 0.62, left, color=colour(names.index(name)), gid=tip)
                left += value
        canvas.rows([method for method, _ in rows], label)
        canvas.legend(names, "outside upper left", columns=6)

    return svg(draw, WIDTH, 0.9 + ROW * len(rows) + 0.2 * (len(names) // 6), label)


def lines(series: Sequence[tuple[str, Sequence[Point]]], x_label: str, y_label: str) -> str:
    """A line a series through its points, each with its interval where that is wider than nothing."""

    def draw(canvas: Canvas) -> None:
        for number, (_, points) in enumerate(series):
            canvas.axes.plot([p.x for p in points], [p.y for p in points], color=colour(number))
            for p in points:
                canvas.between((p.x, p.x), (p.low, p.high), colour(number))
                canvas.point(p.x, p.y, colour(number), p.tip)
        canvas.axes.set_xticks(sorted({p.x for _, points in series for p in points}))
        canvas.axes.grid(visible=False, axis="x")
        canvas.axes.set(xlabel=short(x_label), ylabel=short(y_label))
        if len(series) > 1:
            canvas.legend([name for name, _ in series], "outside lower left", columns=1)

    return svg(draw, WIDTH / 2, 2.9 + 0.2 * len(series), f"{y_label} by {x_label}")


# --- The plots of a study; "" where it has nothing to draw.


def main_metric(study: Study) -> str:
    """The main metric of every method with its interval."""
    points = _points(study)
    return intervals(points, study.main.name, baseline=study.baseline) if points else ""


def _points(study: Study) -> list[Point]:
    """The main metric of every method that has it."""
    scores = [study.score(method, study.main.name) for method in study.plan.methods]
    return [Point(s.method, s.mean.mean, s.mean.low, s.mean.high) for s in scores if s and s.mean.n]


def unpriced(study: Study) -> list[str]:
    """The methods that `price` does not draw: no run of theirs has an answer."""
    drawn = {p.name for p in _answered(study)}
    return [method for method in study.plan.methods if method not in drawn]


def _answered(study: Study) -> list[Point]:
    return [p for p in _points(study) if any(True for _ in study.runs(p.name))]


def price(study: Study) -> str:
    """The main metric against money where prices are known, else tokens, else seconds."""
    answered = _answered(study)
    for label, names in (("US dollars a question", ("cost",)), ("tokens a question", ("tokens-in", "tokens-out")),
                         ("seconds a question", ("seconds",))):  # fmt: skip
        prices = [_sum(study, p.name, names) for p in answered]
        points = [p._replace(x=x) for p, x in zip(answered, prices, strict=True) if x is not None]
        if len(points) == len(answered) and any(prices):
            return scatter(points, label, study.main.name)
    return ""


def _sum(study: Study, method: str, names: Sequence[str]) -> float | None:
    """The sum of the means of some metrics; None where one is not known for every run."""
    scores = [study.score(method, name) for name in names]
    failed = study.errors(method).total()
    known = [s.mean.mean for s in scores if s and s.mean.n and s.without <= failed]
    return sum(known) if len(known) == len(names) else None


def stage_seconds(study: Study) -> str:
    """The mean seconds of each stage."""
    rows = [(method, seconds) for method in study.plan.methods if (seconds := study.stages(method))]
    return stacked(rows, "mean seconds a question") if rows else ""


def sweep(study: Study, varied: Sweep) -> list[str]:
    """The main metric, the recall of the evidence, its pieces and the seconds, each by the value of the setting."""
    names = [m.name for m in study.metrics if m.name in (study.main.name, RECALL)]
    measures: list[tuple[str, Callable[[str, float], Point | None]]] = [
        *((name, partial(_scored, study, name)) for name in names),
        ("pieces of evidence shown", partial(_measured, study, lambda run: float(len(run.context.cited)))),
        ("seconds", partial(_measured, study, lambda run: sum(stage.seconds for stage in run.stages))),
    ]
    plots = []
    for label, measure in measures:
        series = [(base, [p for x, m in values if (p := measure(m, x))]) for base, values in varied.series]
        if drawn := [(base, points) for base, points in series if points]:
            plots.append(lines(drawn, varied.setting, label))
    return plots


def _scored(study: Study, metric: str, method: str, x: float) -> Point | None:
    score = study.score(method, metric)
    return Point(method, score.mean.mean, score.mean.low, score.mean.high, x) if score and score.mean.n else None


def _measured(study: Study, measure: Callable[[Run], float], method: str, x: float) -> Point | None:
    values = mean([measure(run) for run in study.runs(method)])
    return Point(method, values.mean, values.low, values.high, x) if values.n else None
