"""One training run in a folder: a log line a step, checkpoints, and going on where it stopped.

The folder holds `log.jsonl`, `checkpoint.safetensors` and `start.safetensors`, the weights that the run began with.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, process_time
from typing import TYPE_CHECKING, Any

from kgmed.train import checkpoint, log, ppo
from kgmed.train.extra import need
from kgmed.train.policy import Policy, snapshot

if TYPE_CHECKING:
    from torch import Generator, Tensor

CHECKPOINT, LOG, START = "checkpoint.safetensors", "log.jsonl", "start.safetensors"
Row = dict[str, Any]
Steps = Callable[[Any, "Generator", int, "dict[str, Tensor]"], Iterator[Row]]  # optimizer, generator, start, reference


def quiet(row: Row) -> None:
    """Says nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
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


def run(policy: Policy, steps: Steps, plan: Plan) -> list[Row]:
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
        log.append(plan.folder / LOG, row)
        plan.tell(row)
        if row["step"] % plan.save_every == 0 or row["step"] == plan.last:
            state = checkpoint.State(row["step"], plan.settings)
            checkpoint.save(plan.folder / CHECKPOINT, policy, optimizer, generator, state)
        clock, cpu = perf_counter(), process_time()
    return log.read(plan.folder / LOG)


def done(plan: Plan) -> bool:
    """Whether the run of a plan has reached its last step."""
    path = plan.folder / CHECKPOINT
    return path.exists() and checkpoint.state(path).step == plan.last


def _begin(policy: Policy, optimizer: Any, generator: "Generator", plan: Plan) -> int:
    """The step to go on from, with all state of it in place; a new run's log begins with what is measured before."""
    saved, rows = plan.folder / CHECKPOINT, plan.folder / LOG
    start = checkpoint.load(saved, policy, optimizer, generator, plan.settings) if saved.exists() else 0
    if start:
        log.keep_to(rows, start)
        return start
    rows.unlink(missing_ok=True)
    first: Row = {"step": 0, **plan.watch()}
    log.append(rows, first)
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
    beside.replace(path)
    return now


def finished(policy: Policy, plan: Plan) -> None:
    """Put the weights that a plan's run ended with into a policy; raises `BadInput` for a run of other settings."""
    generator = need("torch").Generator()
    checkpoint.load(plan.folder / CHECKPOINT, policy, ppo.adam(policy, plan.rate), generator, plan.settings)
