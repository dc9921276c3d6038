"""A picture of training runs: reward, accuracy on validation, KL and invalid answers over steps."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kgmed.errors import BadInput
from kgmed.train import log
from kgmed.train.extra import need

SHOWN = {
    "reward": "mean reward",
    "accuracy": "accuracy on validation",
    "kl": "KL to the start (estimate, an answer)",
    "invalid": "share of invalid answers",
}
FORMS = (".png", ".svg")


def plot(logs: Mapping[str, Path], path: Path) -> None:
    """Draw the logs, each under its name, into a PNG or SVG file; raises `BadInput` where there is nothing to draw."""
    if path.suffix not in FORMS:
        raise BadInput(f"{path.name} must end in .png or .svg")
    runs = {name: rows for name, file in logs.items() if (rows := log.read(file))}
    if not runs:
        raise BadInput("there is no log to draw; train first")
    figure = need("matplotlib.figure").Figure(figsize=(10, 7), layout="constrained")
    panels = figure.subplots(2, 2).flat
    for axes, (key, title) in zip(panels, SHOWN.items(), strict=True):
        _panel(axes, runs, key, title)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    beside = path.with_name(f"{path.stem}.new{path.suffix}")
    figure.savefig(beside, metadata={"Date": None} if path.suffix == ".svg" else None)
    beside.replace(path)


def _panel(axes: Any, runs: Mapping[str, list[dict[str, Any]]], key: str, title: str) -> None:
    """One quantity over steps, a line a run; steps without it are passed over."""
    for name, rows in runs.items():
        told = [(row["step"], row[key]) for row in rows if row.get(key) is not None]
        axes.plot([step for step, _ in told], [value for _, value in told], marker=".", label=name)
    axes.set(title=title, xlabel="step")
