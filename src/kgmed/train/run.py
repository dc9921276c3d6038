"""One training run in a folder: a log line a step, checkpoints, and going on where it stopped.

The folder holds `log.jsonl`, `checkpoint.safetensors` and `start.safetensors`, the weights that the run began with.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter, process_time
from typing import TYPE_CHECKING, Any

from kgmed.disk import most_memory, whole
from kgmed.errors import BadInput, SourceError, UnknownName
from kgmed.train import base
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
    with whole(path) as beside:
        figure.savefig(beside, metadata={"Date": None} if path.suffix == ".svg" else None)


def _panel(axes: Any, runs: Mapping[str, list[dict[str, Any]]], key: str, title: str) -> None:
    """One quantity over steps, a line a run; steps without it are passed over."""
    for name, rows in runs.items():
        told = [(row["step"], row[key]) for row in rows if row.get(key) is not None]
        axes.plot([step for step, _ in told], [value for _, value in told], marker=".", label=name)
    axes.set(title=title, xlabel="step")


# --- The processes that train one policy together, as `accelerate launch` or torchrun starts them.


if TYPE_CHECKING:
    from torch import Generator, Tensor

SHARDED = ("ACCELERATE_USE_FSDP", "ACCELERATE_USE_DEEPSPEED")  # set by accelerate where no process holds all weights


@dataclass(frozen=True, slots=True)
class Processes:
    """How many processes there are and which this is; one alone where nothing started more."""

    count: int = 1
    rank: int = 0

    @property
    def main(self) -> bool:
        """Whether this is the one that writes."""
        return self.rank == 0

    @property
    def sharded(self) -> bool:
        """Whether weights lie in parts, so that no process can ask the policy by itself."""
        return any(os.environ.get(name, "").lower() in ("1", "true") for name in SHARDED)

    def device(self, name: str) -> str:
        """The device of this process: of several GPUs its own."""
        return f"{name}:{os.environ.get('LOCAL_RANK', self.rank)}" if self.count > 1 and name == "cuda" else name

    def add_up(self, tensors: Sequence["Tensor"]) -> None:
        """Put into each tensor its sum over the processes."""
        if self.count == 1 or not tensors:
            return
        torch = need("torch")
        flat = torch.cat([t.reshape(-1) for t in tensors])
        torch.distributed.all_reduce(flat)
        for tensor, found in zip(tensors, flat.split([t.numel() for t in tensors]), strict=True):
            tensor.copy_(found.reshape(tensor.shape))

    def total(self, value: float) -> float:
        """The sum of a number over the processes."""
        if self.count == 1:
            return value
        held = need("torch").tensor([value], dtype=need("torch").float64)
        held = held.to(need("accelerate").PartialState().device)
        self.add_up([held])
        return float(held)

    def mean(self, row: "Row") -> "Row":
        """The row of all: numbers as a mean over those processes that have them."""
        if self.count == 1:
            return row
        rows: list[Row] = need("accelerate.utils").gather_object([row])
        found = {}
        for key in row:
            told = [r[key] for r in rows if r.get(key) is not None]
            found[key] = told[0] if key == "step" or not told else sum(told) / len(told)
        return found | {key: None for key in row if key not in found}

    def wait(self) -> None:
        """Wait until all are here."""
        if self.count > 1:
            need("accelerate").PartialState().wait_for_everyone()


def processes() -> Processes:
    """The processes of this training, joined; one alone unless `accelerate launch` (or torchrun) started several."""
    if int(os.environ.get("WORLD_SIZE") or 1) < 2:
        return Processes()
    cpu = os.environ.get("ACCELERATE_USE_CPU", "").lower() in ("1", "true") or not need("torch").cuda.is_available()
    state = need("accelerate").PartialState(cpu=cpu)
    return Processes(state.num_processes, state.process_index)


# --- What a run takes.


def peak_memory(device: str) -> int:
    """The most memory that this process has held, in MB: of the GPU where there is one."""
    if device.startswith("cuda"):
        return int(need("torch").cuda.max_memory_allocated(device) / 2**20)
    return most_memory() >> 20


CHECKPOINT, LOG, START = "checkpoint.safetensors", "log.jsonl", "start.safetensors"
BOARDS = ("tensorboard", "wandb")
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
    read: Callable[[], int] = int  # how many tokens the model has read so far
    device: str = "cpu"
    boards: tuple[str, ...] = ()  # of BOARDS
    _open: list[Any] = field(default_factory=list, repr=False)

    def __post_init__(self) -> None:
        """Raises `UnknownName`."""
        for name in self.boards:
            if name not in BOARDS:
                raise UnknownName("board", name, BOARDS)

    def note(self, row: Row) -> None:
        """Write a row into the log and onto the boards, and tell it; the main process alone does."""
        if not processes().main:
            return
        base.append(self.folder / LOG, row)
        if self.boards and not self._open:
            self._open.extend(_board(name, self) for name in self.boards)
        for board in self._open:
            board.log({k: v for k, v in row.items() if isinstance(v, int | float)}, step=row["step"])
        self.tell(row)

    def watched(self, step: int) -> Row:
        """What is measured after a step, where it is one to measure at; nothing where weights lie in parts."""
        due = step % self.watch_every == 0 or step == self.last
        there = processes()
        return self.watch() if due and there.main and not there.sharded else {}

    def close(self) -> None:
        """Finish the boards."""
        while self._open:
            self._open.pop().finish()


def _board(name: str, plan: TrainingPlan) -> Any:
    """A tracker of accelerate, begun; the package comes with the extra `boards`."""
    tracking = need("accelerate.tracking")
    need("accelerate").PartialState(cpu=plan.device == "cpu")
    need(name, "boards")
    if name == "wandb":
        board = tracking.WandBTracker("kgmed", name=plan.folder.name, dir=str(plan.folder))
    else:
        board = tracking.TensorBoardTracker(plan.folder.name, logging_dir=str(plan.folder / "board"))
    board.start()
    board.store_init_configuration(
        {k: v if isinstance(v, int | float | str | bool) else str(v) for k, v in plan.settings.items()}
    )
    return board


class Meter:
    """Seconds, processor time, tokens a second and memory from one row of a log to the next."""

    def __init__(self, device: str, read: int = 0) -> None:
        """Begin now, with so many tokens read."""
        self._device = device
        self.begin(read)

    def begin(self, read: int) -> None:
        """Begin anew: what was done since the last row is not counted."""
        self._at = perf_counter(), process_time(), read

    def row(self, read: int) -> Row:
        """What was taken since it began, when so many tokens are read in all."""
        clock, cpu, before = self._at
        seconds = perf_counter() - clock
        return {
            "seconds": round(seconds, 3),
            "processor": round(process_time() - cpu, 3),
            "tokens_per_second": round((read - before) / max(seconds, 1e-9), 1),
            "memory_mb": peak_memory(self._device),
        }


def run(policy: Policy, steps: Steps, plan: TrainingPlan) -> list[Row]:
    """The rows of the log, when the policy is trained; a run that stopped goes on from its last checkpoint."""
    plan.folder.mkdir(parents=True, exist_ok=True)
    optimizer = adam(policy, plan.rate)
    generator = need("torch").Generator().manual_seed(plan.seed)
    reference = _reference(policy, plan)
    start = _begin(policy, optimizer, generator, plan)
    there, meter = processes(), Meter(plan.device, plan.read())
    for told in steps(optimizer, generator, start, reference):
        row = there.mean(told | meter.row(plan.read()))
        plan.note(row | plan.watched(row["step"]))
        if there.main and (row["step"] % plan.save_every == 0 or row["step"] == plan.last):
            state = base.State(row["step"], plan.settings, base.log_hash(plan.folder / LOG))
            base.save(plan.folder / CHECKPOINT, policy, optimizer, generator, state)
        meter.begin(plan.read())
    plan.close()
    there.wait()
    return read_log(plan)


def adam(policy: Policy, rate: float) -> Any:
    """The optimiser of a policy's trained tensors (Kingma and Ba 2015, its usual numbers)."""
    return need("torch").optim.Adam(list(policy.parameters().values()), lr=rate)


def read_log(plan: TrainingPlan) -> list[Row]:
    """The rows of a run's log."""
    return base.read(plan.folder / LOG)


def keep_to(plan: TrainingPlan, step: int) -> None:
    """Drop the rows of a log after a step."""
    base.keep_to(plan.folder / LOG, step)


def is_done(plan: TrainingPlan) -> bool:
    """Whether the run of a plan has reached its last step."""
    path = plan.folder / CHECKPOINT
    return path.exists() and base.state(path).step == plan.last


def open_run(policy: Policy, plan: TrainingPlan) -> None:
    """Begin the folder of a run whose trainer keeps its own checkpoints, or check that it was begun with this plan."""
    path = plan.folder / CHECKPOINT
    plan.folder.mkdir(parents=True, exist_ok=True)
    if path.exists():
        load_finished(policy, plan)
        return
    processes().wait()
    if processes().main:
        base.write(path, {f"weight/{k}": p for k, p in policy.parameters().items()}, base.State(0, plan.settings))
        (plan.folder / LOG).unlink(missing_ok=True)
        plan.note({"step": 0, **plan.watched(0)})
    processes().wait()


def end_run(policy: Policy, plan: TrainingPlan, found: "Mapping[str, Tensor]") -> None:
    """Keep the weights of such a run, among tensors that hold them, when it is over."""
    if processes().main:
        kept = {f"weight/{name}": found.get(name, p) for name, p in policy.parameters().items()}
        base.write(plan.folder / CHECKPOINT, kept, base.State(plan.last, plan.settings))
    plan.close()
    processes().wait()


def _begin(policy: Policy, optimizer: Any, generator: "Generator", plan: TrainingPlan) -> int:
    """The step to go on from, with all state of it in place; a new run's log begins with what is measured before."""
    saved, there = plan.folder / CHECKPOINT, processes()
    was = base.load(saved, policy, optimizer, generator, plan.settings) if saved.exists() else base.State(0, {})
    start = was.step
    there.wait()
    if there.main and start:
        base.keep_to(plan.folder / LOG, start)
        if base.log_hash(plan.folder / LOG) != was.log:
            problem = f"not what stood beside {CHECKPOINT} when that was written"
            raise SourceError(plan.folder / LOG, 0, problem, "remove the folder to begin again")
    elif there.main:
        (plan.folder / LOG).unlink(missing_ok=True)
        plan.note({"step": 0, **plan.watched(0)})
    there.wait()
    return start


def _reference(policy: Policy, plan: TrainingPlan) -> "dict[str, Tensor]":
    """The trained tensors as they were when the run began, kept in its folder."""
    path, now = plan.folder / START, snapshot(policy)
    if path.exists() and (plan.folder / CHECKPOINT).exists():
        base.put(path, now, plan.settings)
    elif processes().main:
        base.write(path, {f"weight/{name}": t for name, t in now.items()}, base.State(0, plan.settings))
    return now


def load_finished(policy: Policy, plan: TrainingPlan) -> None:
    """Put the weights that a plan's run ended with into a policy; raises `BadInput` for a run of other settings."""
    generator = need("torch").Generator()
    base.load(plan.folder / CHECKPOINT, policy, adam(policy, plan.rate), generator, plan.settings)
