"""What is trained, and what outlives a stop: a policy, its log and its checkpoints."""

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from kgmed.disk import whole, write_whole
from kgmed.errors import BadInput, SourceError, Unavailable
from kgmed.models.files import digest_of

# --- The heavy packages of the extra `train`, imported when first needed.


def need(package: str, extra: str = "train") -> Any:
    """The package; raises `Unavailable` with the command that installs it.

    >>> need("json").dumps([1])
    '[1]'
    """
    try:
        return import_module(package)
    except ImportError as error:
        raise Unavailable(
            f'training needs the package {package.partition(".")[0]}: pip install "kgmed[{extra}]"'
        ) from error


# --- The log of a training run: one JSON object a line, a line a step.


def append(path: Path, row: Mapping[str, Any]) -> None:
    """Add a line, whole and on the disk before this returns."""
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(row, ensure_ascii=False) + "\n")
        file.flush()
        os.fsync(file.fileno())


def read(path: Path) -> list[dict[str, Any]]:
    """The rows of a log; a last line that was cut short by a stop is left out, any other raises `SourceError`."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    return list(_rows(path, text.split("\n")[:-1]))


def _rows(path: Path, lines: list[str]) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(lines, start=1):
        try:
            row = json.loads(line)
        except ValueError as error:
            raise SourceError(path, number, "no JSON object", "remove the line") from error
        if not isinstance(row, dict):
            raise SourceError(path, number, "no JSON object", "remove the line")
        yield row


def log_hash(path: Path) -> str:
    """The hash of a log as it is."""
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else ""


def keep_to(path: Path, step: int) -> None:
    """Drop the rows after a step: what was done after the last checkpoint is done again."""
    rows = [row for row in read(path) if row.get("step", 0) <= step]
    write_whole(path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))


# --- What is trained: a policy answers questions and says how likely its answers are; one loop trains any of them.


if TYPE_CHECKING:
    from torch import Generator, Tensor


@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """n answers as the actions that made them: tokens, or the number of a name in a closed list."""

    prompts: tuple[str, ...]  # n
    texts: tuple[str, ...]  # n
    actions: "Tensor"  # (n, T) int64; what it holds where the mask is False does not matter
    mask: "Tensor"  # (n, T) bool; each row begins with as many True as the answer has actions
    given: "Scores | None" = None  # what the policy said of them when it gave them, where it tells at no cost

    def __len__(self) -> int:
        """The number of answers."""
        return len(self.texts)

    def pick(self, places: Sequence[int]) -> "Answers":
        """The answers at those places."""
        rows = list(places)
        prompts, texts = tuple(self.prompts[i] for i in rows), tuple(self.texts[i] for i in rows)
        return Answers(prompts, texts, self.actions[rows], self.mask[rows])


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """What a policy says of answers, action by action, (n, T) each; gradients flow through both."""

    logp: "Tensor"  # the log-probability of the action after those before it
    values: "Tensor"  # the value head's guess of the return, before the action


class Policy(Protocol):
    """A model that is trained to answer."""

    @property
    def name(self) -> str:
        """Model and kind of policy, for logs and checkpoints."""
        ...

    def answer(self, prompts: Sequence[str], /, generator: "Generator | None" = None) -> Answers:
        """One answer a prompt, drawn with `generator`; the most likely one (action by action) without it."""
        ...

    def encode(self, prompts: Sequence[str], texts: Sequence[str], /) -> Answers:
        """Given answers as actions; raises `BadInput` for one that this policy could never give."""
        ...

    def scores(self, answers: Answers, /) -> Scores:
        """Log-probabilities and values of answers, as the policy is now."""
        ...

    def parameters(self) -> dict[str, "Tensor"]:
        """The trained tensors by name, the value head among them; changing them in place changes the policy."""
        ...

    def save(self, folder: Path, /) -> None:
        """Write the trained model in a form that other programs read."""
        ...


def restore(policy: Policy, tensors: dict[str, "Tensor"]) -> None:
    """Put trained tensors into a policy; raises `KeyError` unless they are those that it trains."""

    if other := policy.parameters().keys() ^ tensors.keys():
        raise KeyError(f"{min(other)} is not among both")
    with need("torch").no_grad():
        for name, parameter in policy.parameters().items():
            parameter.copy_(tensors[name])


def snapshot(policy: Policy) -> dict[str, "Tensor"]:
    """A copy of the trained tensors, which later training does not change."""
    return {name: p.detach().clone() for name, p in policy.parameters().items()}


# --- Checkpoints of a training run: one safetensors file, its state as JSON in the header. Nothing is unpickled.
# Weights, the moments of Adam and the state of the generator are all there, so that a run that goes on from a
# checkpoint
# is the same, bit by bit, as one that never stopped.


FORMAT = "kgmed training 2"
_AGAIN = "remove the folder to begin again"


@dataclass(frozen=True, slots=True)
class State:
    """How far a run has come, and what it was started with."""

    step: int
    settings: dict[str, Any]  # must be the same to go on
    log: str = ""  # the hash of the log beside it, as it was then


def save(path: Path, policy: Policy, optimizer: Any, generator: "Generator", state: State) -> None:
    """Write a checkpoint beside and rename it into place."""
    tensors = {f"weight/{name}": p for name, p in policy.parameters().items()}
    tensors |= {f"adam/{name}": t for name, t in _moments(policy, optimizer).items()}
    write(path, tensors | {"generator": generator.get_state()}, state)


def write(path: Path, tensors: Mapping[str, "Tensor"], state: State) -> None:
    """Write tensors and a state as a checkpoint, whole or not at all."""
    kept = {name: t.detach().contiguous().cpu() for name, t in tensors.items()}
    told = json.dumps({"step": state.step, "settings": state.settings, "log": state.log})
    header = {"format": FORMAT, "state": told, "hash": digest_of(kept, told)}
    with whole(path) as beside:
        need("safetensors.torch").save_file(kept, str(beside), metadata=header)


def load(path: Path, policy: Policy, optimizer: Any, generator: "Generator", settings: dict[str, Any]) -> State:
    """How far the run came, all state put in place; raises `BadInput` where the run was started with other settings."""
    tensors, state = _read(path)
    _same(path, state.settings, settings)
    try:
        restore(policy, {name.removeprefix("weight/"): t for name, t in tensors.items() if name.startswith("weight/")})
        for name, parameter in policy.parameters().items():
            start = f"adam/{name}/"
            kept = {key.removeprefix(start): t.clone() for key, t in tensors.items() if key.startswith(start)}
            if kept:
                optimizer.state[parameter] = kept
        if "generator" in tensors:  # a run of TRL keeps its own
            generator.set_state(tensors["generator"])
    except (KeyError, RuntimeError, ValueError) as error:
        problem = f"not a checkpoint of {policy.name}: {' '.join(str(error).split())[:100]}"
        raise SourceError(path, 0, problem, _AGAIN) from error
    return state


def put(path: Path, trained: Mapping[str, "Tensor"], settings: dict[str, Any]) -> None:
    """Put a file's weights into tensors of those names; raises `BadInput` where it is of other settings."""
    tensors, state = _read(path)
    _same(path, state.settings, settings)
    try:
        with need("torch").no_grad():
            for name, parameter in trained.items():
                parameter.copy_(tensors[f"weight/{name}"])
    except (KeyError, RuntimeError) as error:
        raise SourceError(path, 0, f"of another model: {' '.join(str(error).split())[:100]}", _AGAIN) from error


def _same(path: Path, was: dict[str, Any], now: dict[str, Any]) -> None:
    """Raise `BadInput` where a run was started with other settings."""
    if changed := [k for k in {**was, **now} if was.get(k) != now.get(k)]:
        before, after = was.get(changed[0]), now.get(changed[0])
        raise BadInput(
            f"{path} is of a run with {changed[0]} = {before}, not {after}; name another folder, or {_AGAIN}"
        )


def weights(path: Path) -> dict[str, "Tensor"]:
    """The trained tensors of a checkpoint, by name."""
    tensors, _ = _read(path, "name the folder of another run to begin from")
    return {name.removeprefix("weight/"): t for name, t in tensors.items() if name.startswith("weight/")}


def state(path: Path) -> State:
    """How far the run of a checkpoint has come, and what it was started with."""
    return _read(path)[1]


def _read(path: Path, mend: str = _AGAIN) -> tuple[dict[str, "Tensor"], State]:
    """All tensors and the state of a checkpoint."""
    safetensors = need("safetensors")
    try:
        with safetensors.safe_open(str(path), framework="pt") as file:
            header = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - no mapping
        state = json.loads(header["state"]) if header.get("format") == FORMAT else {}
        if header["hash"] != digest_of(tensors, header["state"]):
            raise ValueError("its content is not what was written")
        return tensors, State(int(state["step"]), dict(state["settings"]), str(state["log"]))
    except (OSError, KeyError, ValueError, TypeError, safetensors.SafetensorError) as error:
        problem = f"no checkpoint of {FORMAT!r}: {' '.join(str(error).split())[:100]}"
        raise SourceError(path, 0, problem, mend) from error


def _moments(policy: Policy, optimizer: Any) -> dict[str, "Tensor"]:
    """The tensors of Adam's state, as name of the parameter/name in the state."""
    states = {name: optimizer.state.get(p, {}) for name, p in policy.parameters().items()}
    return {f"{name}/{key}": t for name, kept in states.items() for key, t in kept.items()}
