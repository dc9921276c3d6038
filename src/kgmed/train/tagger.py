"""The training of a tagger: every epoch is told of, kept, and can be gone on from as if it had never stopped.

The folder holds the best tagger so far (by F1 on dev), `log.jsonl` (one line an epoch), `last.safetensors` (all that
going on needs) and in the end `figures.json`. Everything is chosen on dev; test is looked at once, when all is done.
"""

import json
import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from kgmed.errors import BadInput, SourceError
from kgmed.evaluate import linking as metrics
from kgmed.evaluate.linking import Parts, Sample, fingerprint
from kgmed.models import w2ner
from kgmed.models.base import Encoder
from kgmed.models.files import to_device
from kgmed.models.w2ner import Architecture, Training, covered_units, to_plain, units, windows
from kgmed.models.w2ner_network import (
    ENCODER,
    PLAN,
    W2NER,
    WEIGHTS,
    Labeller,
    TaggerPlan,
    Transformer,
    Vocabulary,
    load_weights,
    loss,
    mask,
    new_network,
    open_labeller,
    read_tensors,
    vocabulary,
    write_json,
    write_plan,
    write_tensors,
)
from kgmed.train import base

# --- What a network learns from: windows of texts, and the relations in them.


class Example(NamedTuple):
    """The units of a window, and the entities that lie in it."""

    words: list[str]
    entities: list[w2ner.GridEntity]


@dataclass
class Unlearnable:
    """Entities that cannot be learnt; in dev and test they count as any other."""

    within_a_unit: int = 0  # one end is not that of a unit
    of_two_types: int = 0  # the same words have another type, which is kept
    beyond_the_window: int = 0  # in no window as a whole

    def __str__(self) -> str:
        """The counts in words.

        >>> str(Unlearnable(within_a_unit=2))
        '2 within a unit, 0 of two types, 0 beyond the window'
        """
        return ", ".join(f"{n} {name.replace('_', ' ')}" for name, n in asdict(self).items())


def examples(samples: Sequence[Sample], a: Architecture, lost: Unlearnable) -> list[Example]:
    """The windows of all samples; what of them cannot be learnt is counted in `lost`."""
    return [example for sample in samples for example in _windows(sample, a, lost)]


def _windows(sample: Sample, a: Architecture, lost: Unlearnable) -> Iterator[Example]:
    found = units(sample.text)
    entities = _numbered(sample, lost)
    held: set[w2ner.GridEntity] = set()
    for start, end, _, _ in windows(len(found), a.window, a.overlap):
        inside = [e for e in entities if start <= e.at[0] and e.at[-1] < end]
        held.update(inside)
        moved = [w2ner.GridEntity(e.kind, tuple(i - start for i in e.at)) for e in inside]
        yield Example([u.text for u in found[start:end]], moved)
    lost.beyond_the_window += len(set(entities) - held)


def _numbered(sample: Sample, lost: Unlearnable) -> list[w2ner.GridEntity]:
    """The entities of a sample by the numbers of their units."""
    found = units(sample.text)
    by_place: dict[tuple[int, ...], str] = {}
    for kind, parts in sample.entities:
        at = covered_units(found, parts)
        if not at:
            lost.within_a_unit += 1
        elif by_place.setdefault(at, kind) != kind:
            lost.of_two_types += 1
    return [w2ner.GridEntity(kind, at) for at, kind in by_place.items()]


def relations(batch: Sequence[Example], kinds: Sequence[str]) -> Tensor:
    """The relation (b, n, n) of every pair of words."""
    n = max(len(e.words) for e in batch)
    made = torch.zeros(len(batch), n, n, dtype=torch.long)
    for of_text, example in zip(made, batch, strict=True):
        for (row, column), relation in w2ner.cells(example.entities, kinds).items():
            of_text[row, column] = relation
    return made


LAST, LOG, FIGURES = "last.safetensors", "log.jsonl", "figures.json"


def _silent(_: str) -> None:
    """Say nothing."""


@dataclass(frozen=True, slots=True)
class TrainingOutput:
    """Where a training says what it does: `line` what is worth keeping, `at` where it is just now."""

    line: Callable[[str], None] = _silent
    at: Callable[[str], None] = _silent


@dataclass
class _State:
    epoch: int = 0
    best: float = -1.0  # F1 on dev
    best_epoch: int = 0
    settings: dict[str, Any] = field(default_factory=dict)  # must be the same to go on


def train(
    parts: Parts,
    folder: Path,
    *,
    architecture: Architecture,
    training: Training,
    vectors: Encoder | None = None,
    device: str = "cpu",
    tell: TrainingOutput = TrainingOutput(),
) -> dict[str, Any]:
    """Train a tagger into a folder, from where it stopped if it was begun; what `figures.json` holds.

    `device` is torch's name of what computes. Raises `BadInput` where the folder holds a run of other data or
    settings, a part has no sample, or there is no such device.
    """
    if empty := [name for name, n in parts.counts.items() if not n]:
        raise BadInput(f"no text falls into the part {empty[0]}: {parts.counts}; give more texts")
    kinds = tuple(sorted({f.kind for sample in parts.train for f in sample.entities}))
    if not kinds:
        raise BadInput("no text of the train part has an entity; there is nothing to learn")
    torch.manual_seed(training.seed)
    words = [[u.text for u in units(s.text)] for s in parts.train]
    known = Vocabulary() if architecture.encoder else vocabulary(words)
    architecture = replace(architecture, vectors=vectors.name if vectors else "")
    plan = TaggerPlan(architecture, kinds, known)
    run = _Run(parts, folder, plan, training, to_device(new_network(plan, vectors), device), tell)
    try:
        run.begin_or_go_on()
        while run.state.epoch < training.epochs and run.state.epoch - run.state.best_epoch < training.patience:
            run.one_epoch()
        return run.finish(vectors)
    except OSError as e:
        raise BadInput(f"{folder}: cannot be written ({e.strerror or e}); name another folder, or make room") from e


class _Run:
    def __init__(
        self, parts: Parts, folder: Path, plan: TaggerPlan, training: Training, network: W2NER, tell: TrainingOutput
    ) -> None:
        self.parts, self.folder, self.plan, self.training, self.tell = parts, folder, plan, training, tell
        self.network = network
        self.lost = Unlearnable()
        self.examples = examples(parts.train, plan.architecture, self.lost)
        self.optimizer = torch.optim.AdamW(_groups(network, training), weight_decay=training.decay)
        self.rates = [group["lr"] for group in self.optimizer.param_groups]
        data = {name: fingerprint(getattr(parts, name)) for name in parts.counts}
        settings = {"architecture": to_plain(plan.architecture), "training": asdict(training), "data": data}
        self.state = _State(settings=settings)

    @property
    def steps(self) -> int:
        """The optimizer's steps of an epoch."""
        return -(-len(self.examples) // self.training.batch)

    def _set_rates(self, step: int) -> None:
        """The rates at a step: up in a line from nearly nothing, then down to nearly nothing."""
        whole = self.steps * self.training.epochs
        up = max(1, int(whole * self.training.warmup))
        share = min((step + 1) / up, (whole - step) / max(1, whole - up))
        for group, rate in zip(self.optimizer.param_groups, self.rates, strict=True):
            group["lr"] = rate * share

    def begin_or_go_on(self) -> None:
        """Take up a run where it was left, or begin; raises `BadInput` for a folder of another run."""
        path = self.folder / LAST
        if path.exists():
            tensors, state = read_tensors(path)
            if state.get("settings") != self.state.settings:
                raise BadInput(f"{self.folder} holds a training with other data or settings; name another folder")
            self._restore(tensors, state, path)
            base.keep_to(self.folder / LOG, self.state.epoch)
            self.tell.line(f"going on after epoch {self.state.epoch}")
        elif self.folder.exists() and not _is_unused(self.folder):
            raise BadInput(f"{self.folder} is not empty and holds no training; name another folder")
        else:
            write_plan(self.folder, self.plan, self.network)
        texts = ", ".join(f"{name} {n:,}" for name, n in self.parts.counts.items())
        self.tell.line(f"texts: {texts}; {len(self.examples):,} windows; entities that cannot be learnt: {self.lost}")

    def one_epoch(self) -> None:
        """Learn from every window once, look at dev, keep everything."""
        started, epoch = time.perf_counter(), self.state.epoch + 1
        torch.manual_seed(self.training.seed * 1_000_003 + epoch)
        mean = self._learn(_batches(self.examples, self.training.batch, self.training.seed * 1_000_003 + epoch), epoch)
        dev = _scores(self.labeller(), self.parts.dev)["all"]
        if dev["f1"] > self.state.best:
            self.state.best, self.state.best_epoch = dev["f1"], epoch
            write_tensors(self.folder / WEIGHTS, self.network.state_dict())
        self.state.epoch = epoch
        row = {"step": epoch, "loss": mean, "dev": dev, "seconds": round(time.perf_counter() - started, 1)}
        base.append(self.folder / LOG, row)
        write_tensors(self.folder / LAST, self._tensors(), asdict(self.state))
        scores = "P {precision:.3f} R {recall:.3f} F1 {f1:.3f}".format(**dev)
        self.tell.line(f"epoch {epoch}/{self.training.epochs}: loss {mean:.5f}, dev {scores}, {row['seconds']} s")

    def _learn(self, batches: Sequence[Sequence[Example]], epoch: int) -> float:
        """One step a batch; the mean loss."""
        self.network.train()
        total = 0.0
        for i, batch in enumerate(batches, start=1):
            scores = self.network([e.words for e in batch])
            inside = mask(torch.tensor([len(e.words) for e in batch])).to(scores.device)
            value = loss(scores, relations(batch, self.plan.kinds).to(scores.device), inside)
            self.optimizer.zero_grad()
            torch.autograd.backward(value)
            torch.nn.utils.clip_grad_norm_(self.network.parameters(), self.training.clip)
            self._set_rates((epoch - 1) * self.steps + i - 1)
            self.optimizer.step()
            total += value.item()
            self.tell.at(f"epoch {epoch}/{self.training.epochs}: step {i}/{len(batches)}, loss {total / i:.5f}")
        return total / len(batches)

    def labeller(self) -> Labeller:
        return Labeller(self.network, self.plan.kinds, self.plan.architecture)

    def _tensors(self) -> dict[str, Tensor]:
        """Weights, and the moments of Adam by the number of the parameter."""
        moments = self.optimizer.state_dict()["state"]
        found = {f"adam/{i}/{name}": t for i, kept in moments.items() for name, t in kept.items()}
        return found | {f"weight/{name}": t for name, t in self.network.state_dict().items()}

    def _restore(self, tensors: dict[str, Tensor], state: dict[str, Any], path: Path) -> None:
        """Put everything back as it was after the last epoch; raises `SourceError`."""
        weights = {n.removeprefix("weight/"): t for n, t in tensors.items() if n.startswith("weight/")}
        load_weights(self.network, weights, path)
        moments: dict[int, dict[str, Tensor]] = {}
        try:
            self.state = _State(**state)
            for name in tensors.keys() - {f"weight/{name}" for name in weights}:
                _, i, key = name.split("/")
                moments.setdefault(int(i), {})[key] = tensors[name]
            self.optimizer.load_state_dict({**self.optimizer.state_dict(), "state": moments})
        except (TypeError, ValueError) as e:
            raise SourceError(path, 0, f"is no checkpoint ({e})", "name another folder to begin again") from None

    def finish(self, vectors: Encoder | None) -> dict[str, Any]:
        """The figures of the best tagger on dev and, once, on test; they are also written down."""
        path = self.folder / FIGURES
        if path.exists():
            return _read(path)
        best = open_labeller(self.folder, vectors, str(next(self.network.parameters()).device))
        figures = {
            "samples": self.parts.counts,
            "best_epoch": self.state.best_epoch,
            "epochs": self.state.epoch,
            "not_learnable": asdict(self.lost),
            "dev": _scores(best, self.parts.dev),
            "test": _scores(best, self.parts.test),
            **self.state.settings,
        }
        write_json(path, figures)
        return figures


def _read(path: Path) -> dict[str, Any]:
    """The figures of a finished training; raises `SourceError`."""
    try:
        known: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as e:
        raise SourceError(path, 0, f"is not JSON ({e})", "remove it; the same command makes it again") from None
    return known


def _is_unused(folder: Path) -> bool:
    """Whether a folder holds nothing, or what a training leaves that was stopped before its first epoch was done."""
    return folder.is_dir() and all(p.name in (PLAN, ENCODER) or p.suffix == ".new" for p in folder.iterdir())


def _groups(network: W2NER, training: Training) -> list[dict[str, Any]]:
    """The parameters with their rates: a transformer learns more slowly."""
    slow = list(network.encoder.parameters()) if isinstance(network.encoder, Transformer) else []
    ids = {id(p) for p in slow}
    rest = [p for p in network.parameters() if id(p) not in ids]
    groups: list[dict[str, Any]] = [{"params": rest, "lr": training.rate}]
    return [*groups, {"params": slow, "lr": training.encoder_rate}] if slow else groups


def _batches(some: Sequence[Example], size: int, seed: int) -> list[list[Example]]:
    """All windows in batches of like length, in an order that the seed decides."""
    draw = random.Random(seed)  # noqa: S311
    order = sorted(range(len(some)), key=lambda i: (len(some[i].words), draw.random()))
    batches = [[some[i] for i in order[at : at + size]] for at in range(0, len(order), size)]
    draw.shuffle(batches)
    return batches


def _scores(label: Labeller, samples: Sequence[Sample]) -> dict[str, dict[str, float]]:
    """The figures of all entities, of all whatever their type, and of each type."""
    found = label([s.text for s in samples])
    gold = [list(s.entities) for s in samples]
    named = {"all": metrics.score(found, gold), "all, type not counted": metrics.score(found, gold, typed=False)}
    named |= {f"type {kind}": score for kind, score in metrics.by_kind(found, gold).items()}
    return {name: {**asdict(s), "precision": s.precision, "recall": s.recall, "f1": s.f1} for name, s in named.items()}
