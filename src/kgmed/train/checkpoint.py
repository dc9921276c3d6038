"""Checkpoints of a training run: one safetensors file, its state as JSON in the header. Nothing is unpickled.

Weights, the moments of Adam and the state of the generator are all there, so that a run that goes on from a checkpoint
is the same, bit by bit, as one that never stopped.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kgmed.errors import BadInput, SourceError
from kgmed.train.extra import need
from kgmed.train.policy import Policy, restore

if TYPE_CHECKING:
    from torch import Generator, Tensor

FORMAT = "kgmed training 1"
_AGAIN = "remove the folder to begin again"


@dataclass(frozen=True, slots=True)
class State:
    """How far a run has come, and what it was started with."""

    step: int
    settings: dict[str, Any]  # must be the same to go on


def save(path: Path, policy: Policy, optimizer: Any, generator: "Generator", state: State) -> None:
    """Write a checkpoint beside and rename it into place."""
    tensors = {f"weight/{name}": p.detach().contiguous() for name, p in policy.parameters().items()}
    tensors |= {f"adam/{name}": t.contiguous() for name, t in _moments(policy, optimizer).items()}
    tensors["generator"] = generator.get_state()
    header = {"format": FORMAT, "state": json.dumps({"step": state.step, "settings": state.settings})}
    beside = path.with_suffix(".new")
    need("safetensors.torch").save_file(tensors, str(beside), metadata=header)
    beside.replace(path)


def load(path: Path, policy: Policy, optimizer: Any, generator: "Generator", settings: dict[str, Any]) -> int:
    """The step reached, all state put in place; raises `BadInput` where the run was started with other settings."""
    tensors, state = _read(path)
    if changed := [k for k in {**state.settings, **settings} if state.settings.get(k) != settings.get(k)]:
        was, now = state.settings.get(changed[0]), settings.get(changed[0])
        raise BadInput(f"{path} is of a run with {changed[0]} = {was}, not {now}; name another folder, or {_AGAIN}")
    try:
        restore(policy, {name.removeprefix("weight/"): t for name, t in tensors.items() if name.startswith("weight/")})
        _restore_moments(policy, optimizer, tensors)
        generator.set_state(tensors["generator"])
    except (KeyError, RuntimeError, ValueError) as error:
        problem = f"not a checkpoint of {policy.name}: {' '.join(str(error).split())[:100]}"
        raise SourceError(path, 0, problem, _AGAIN) from error
    return state.step


def weights(path: Path) -> dict[str, "Tensor"]:
    """The trained tensors of a checkpoint, by name."""
    tensors, _ = _read(path)
    return {name.removeprefix("weight/"): t for name, t in tensors.items() if name.startswith("weight/")}


def state(path: Path) -> State:
    """How far the run of a checkpoint has come, and what it was started with."""
    return _read(path)[1]


def _read(path: Path) -> tuple[dict[str, "Tensor"], State]:
    """All tensors and the state of a checkpoint."""
    safetensors = need("safetensors")
    try:
        with safetensors.safe_open(str(path), framework="pt") as file:
            header = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - no mapping
        state = json.loads(header["state"]) if header.get("format") == FORMAT else {}
        return tensors, State(int(state["step"]), dict(state["settings"]))
    except (OSError, KeyError, ValueError, TypeError, safetensors.SafetensorError) as error:
        problem = f"no checkpoint of {FORMAT!r}: {' '.join(str(error).split())[:100]}"
        raise SourceError(path, 0, problem, _AGAIN) from error


def _moments(policy: Policy, optimizer: Any) -> dict[str, "Tensor"]:
    """The tensors of Adam's state, as name of the parameter/name in the state."""
    states = {name: optimizer.state.get(p, {}) for name, p in policy.parameters().items()}
    return {f"{name}/{key}": t for name, kept in states.items() for key, t in kept.items()}


def _restore_moments(policy: Policy, optimizer: Any, tensors: dict[str, "Tensor"]) -> None:
    for name, parameter in policy.parameters().items():
        start = f"adam/{name}/"
        kept = {key.removeprefix(start): t.clone() for key, t in tensors.items() if key.startswith(start)}
        if kept:
            optimizer.state[parameter] = kept
