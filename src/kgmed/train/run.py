"""One training run in a folder: a log line a step, checkpoints, and going on where it stopped.

The folder holds `log.jsonl`, `checkpoint.safetensors` and `start.safetensors`, the weights that the run began with.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, process_time
from typing import TYPE_CHECKING, Any

from kgmed.disk import put_in_place
from kgmed.errors import BadInput
from kgmed.train import base, ppo
from kgmed.train.base import Policy, need, snapshot

# --- A picture of training runs: reward, accuracy on validation, KL and invalid answers over steps.


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
    runs = {name: rows for name, file in logs.items() if (rows := base.read(file))}
    if not runs:
        raise BadInput("there is no log to draw; train first")
    figure = need("matplotlib.figure").Figure(figsize=(10, 7), layout="constrained")
    panels = figure.subplots(2, 2).flat
    for axes, (key, title) in zip(panels, SHOWN.items(), strict=True):
        _panel(axes, runs, key, title)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    beside = path.with_name(f"{path.stem}.new{path.suffix}")
    figure.savefig(beside, metadata={"Date": None} if path.suffix == ".svg" else None)
    put_in_place(beside, path)


def _panel(axes: Any, runs: Mapping[str, list[dict[str, Any]]], key: str, title: str) -> None:
    """One quantity over steps, a line a run; steps without it are passed over."""
    for name, rows in runs.items():
        told = [(row["step"], row[key]) for row in rows if row.get(key) is not None]
        axes.plot([step for step, _ in told], [value for _, value in told], marker=".", label=name)
    axes.set(title=title, xlabel="step")


# --- One training run in a folder: a log line a step, checkpoints, and going on where it stopped.
# The folder holds `log.jsonl`, `checkpoint.safetensors` and `start.safetensors`, the weights that the run began with.


if TYPE_CHECKING:
    from torch import Generator, Tensor

CHECKPOINT, LOG, START = "checkpoint.safetensors", "log.jsonl", "start.safetensors"
Row = dict[str, Any]
Steps = Callable[[Any, "Generator", int, "dict[str, Tensor]"], Iterator[Row]]  # optimizer, generator, start, reference


def quiet(row: Row) -> None:
    """Says nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingPlan:
    """How a run is watched and kept."""

    folder: Path
    settings: Row  # what the run depends on, as plain data; another plan of the same folder must have the same
    rate: float
    seed: int = 0
    last: int  # the last step
    watch: Callable[[], Row] = dict  # what is measured now and then, such as the accuracy on validation
    watch_every: int = 10
    save_every: int = 5
    tell: Callable[[Row], None] = quiet  # told each row of the log


def run(policy: Policy, steps: Steps, plan: TrainingPlan) -> list[Row]:
    """The rows of the log, when the policy is trained; a run that stopped goes on from its last checkpoint."""
    plan.folder.mkdir(parents=True, exist_ok=True)
    optimizer = ppo.adam(policy, plan.rate)
    generator = need("torch").Generator().manual_seed(plan.seed)
    reference = _reference(policy, plan.folder)
    start = _begin(policy, optimizer, generator, plan)
    clock, cpu = perf_counter(), process_time()
    for row in steps(optimizer, generator, start, reference):
        row |= {"seconds": round(perf_counter() - clock, 3), "processor": round(process_time() - cpu, 3)}
        if row["step"] % plan.watch_every == 0 or row["step"] == plan.last:
            row |= plan.watch()
        base.append(plan.folder / LOG, row)
        plan.tell(row)
        if row["step"] % plan.save_every == 0 or row["step"] == plan.last:
            state = base.State(row["step"], plan.settings)
            base.save(plan.folder / CHECKPOINT, policy, optimizer, generator, state)
        clock, cpu = perf_counter(), process_time()
    return base.read(plan.folder / LOG)


def is_done(plan: TrainingPlan) -> bool:
    """Whether the run of a plan has reached its last step."""
    path = plan.folder / CHECKPOINT
    return path.exists() and base.state(path).step == plan.last


def _begin(policy: Policy, optimizer: Any, generator: "Generator", plan: TrainingPlan) -> int:
    """The step to go on from, with all state of it in place; a new run's log begins with what is measured before."""
    saved, rows = plan.folder / CHECKPOINT, plan.folder / LOG
    start = base.load(saved, policy, optimizer, generator, plan.settings) if saved.exists() else 0
    if start:
        base.keep_to(rows, start)
        return start
    rows.unlink(missing_ok=True)
    first: Row = {"step": 0, **plan.watch()}
    base.append(rows, first)
    plan.tell(first)
    return 0


def _reference(policy: Policy, folder: Path) -> "dict[str, Tensor]":
    """The trained tensors as they were when the run began, kept in its folder."""
    path, torch = folder / START, need("safetensors.torch")
    if path.exists() and (folder / CHECKPOINT).exists():
        kept: dict[str, Tensor] = torch.load_file(str(path))
        return kept
    now = snapshot(policy)
    beside = path.with_suffix(".new")
    torch.save_file({name: t.contiguous() for name, t in now.items()}, str(beside))
    put_in_place(beside, path)
    return now


def load_finished(policy: Policy, plan: TrainingPlan) -> None:
    """Put the weights that a plan's run ended with into a policy; raises `BadInput` for a run of other settings."""
    generator = need("torch").Generator()
    base.load(plan.folder / CHECKPOINT, policy, ppo.adam(policy, plan.rate), generator, plan.settings)
