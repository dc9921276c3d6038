"""Sweeps in a study: methods that differ in one setting alone, as hykge[hops=1], hykge[hops=2]."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from kgmed.evaluate.controls import controlled
from kgmed.evaluate.report import plots
from kgmed.evaluate.report.plots import Point
from kgmed.evaluate.report.study import Study
from kgmed.evaluate.statistics import mean
from kgmed.types import Run

HELD = "evidence-recall@20"


class Sweep(NamedTuple):
    """A setting and, for each of the methods that it was varied of, the methods by its value."""

    setting: str
    series: tuple[tuple[str, tuple[tuple[float, str], ...]], ...]


def sweeps(methods: list[str]) -> list[Sweep]:
    """The sweeps among methods; a value that is no number makes none.

    >>> [(s.setting, s.series) for s in sweeps(["hykge[hops=2]", "hykge[hops=1]", "facts", "hykge[keep=5]"])]
    [('hops', (('hykge', ((1.0, 'hykge[hops=1]'), (2.0, 'hykge[hops=2]'))),))]
    """
    found: dict[str, dict[str, dict[float, str]]] = {}
    for name in methods:
        parts = controlled(name)
        for setting, value in parts.settings:
            number = _number(value)
            if number is not None:
                rest = ",".join(f"{k}={v}" for k, v in parts.settings if k != setting)
                control = f"+{parts.control}" if parts.control else ""
                of = f"{parts.method}{f'[{rest}]' if rest else ''}{control}"
                found.setdefault(setting, {}).setdefault(of, {})[number] = name
    told = (
        (s, tuple((of, tuple(sorted(at.items()))) for of, at in by.items() if len(at) > 1)) for s, by in found.items()
    )
    return [Sweep(setting, series) for setting, series in told if series]


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if abs(value) < 1e12 else None


def pieces(run: Run) -> float:
    """How many pieces of evidence the reader was shown."""
    return float(len(run.context.cited))


def seconds(run: Run) -> float:
    """How long the run took."""
    return sum(stage.seconds for stage in run.stages)


def drawn(study: Study, sweep: Sweep) -> list[str]:
    """The main metric, what the evidence holds, its pieces and the seconds, each by the value of the setting."""
    shown = [m.name for m in study.metrics if m.name in (study.main.name, HELD)]
    ways: list[tuple[str, Callable[[str, float], Point | None]]] = [
        *((name, partial(_scored, study, name)) for name in shown),
        ("pieces of evidence shown", lambda method, x: _measured(study, method, x, pieces)),
        ("seconds", lambda method, x: _measured(study, method, x, seconds)),
    ]
    found = []
    for label, way in ways:
        told = [(of, [p for x, method in at if (p := way(method, x))]) for of, at in sweep.series]
        if any(points for _, points in told):
            found.append(plots.lines([(of, points) for of, points in told if points], sweep.setting, label))
    return found


def _scored(study: Study, metric: str, method: str, x: float) -> Point | None:
    score = study.score(method, metric)
    return Point(method, score.mean.mean, score.mean.low, score.mean.high, x) if score and score.mean.n else None


def _measured(study: Study, method: str, x: float, measure: Callable[[Run], float]) -> Point | None:
    told = mean([measure(run) for run in study.runs(method)])
    return Point(method, told.mean, told.low, told.high, x) if told.n else None
