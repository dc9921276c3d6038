"""`kgmed train sft | rlkgf | rlaif`: a language model that diagnoses, from labels, from the graph, or from a judge."""

from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kgmed.cli import bar, show
from kgmed.errors import BadInput, UnknownName
from kgmed.folders import data_folder

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kgmed.reward.cases import Split
    from kgmed.train.judge import Judge
    from kgmed.train.policy import Policy
    from kgmed.train.run import Row
    from kgmed.train.stages import Watch
    from kgmed.train.task import Task

CasesName = Annotated[str, typer.Argument(help="DXY, MZ, MZ-4, MZ-10 or DDXPlus (with --data), or a .jsonl file.")]
Out = Annotated[Path, typer.Option("--out", help="The folder of the run; a run left there goes on.")]
Data = Annotated[Path | None, typer.Option("--data", help="The folder that holds the data sets.", envvar="KGMED_DATA")]
Kind = Annotated[
    str, typer.Option("--policy", help="choice (of a listed disease), free (writes), tiny (from nothing).")
]
Model = Annotated[str, typer.Option("--model", help="smollm2, a folder of a causal model, or a name on the model hub.")]
Begin = Annotated[
    Path | None, typer.Option("--begin", help="The folder of a run to begin from, as after a warm start.")
]
Full = Annotated[bool, typer.Option("--full", help="Train the whole model, not adapters (LoRA).")]
Top = Annotated[int, typer.Option(help="Adapters in so many upper layers alone; 0 = in all.", min=0)]
Half = Annotated[
    bool, typer.Option("--half", help="Hold what is not trained in bfloat16: faster where that is built in.")
]
Device = Annotated[str, typer.Option(help="cpu, cuda, ...")]
Steps = Annotated[int | None, typer.Option(help="Optimiser steps (sft), or rounds of answering and learning.")]
Rate = Annotated[float | None, typer.Option(help="Rate of learning.")]
Seed = Annotated[int, typer.Option(help="Of the adapters, the order and what is drawn.")]
Json = Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")]
Preset = Annotated[str, typer.Option(help="ours, or paper (RLKGF's Table 7).")]
Kl = Annotated[float | None, typer.Option(help="Weight of the penalty for leaving the start.", min=0)]
Prompts = Annotated[int | None, typer.Option(help="Questions a round.", min=1)]
Samples = Annotated[int | None, typer.Option(help="Answers a question.", min=1)]
Epochs = Annotated[int | None, typer.Option(help="Passes over a round's answers.", min=1)]
Plot = Annotated[Path | None, typer.Option(help="Draw the log into this .png or .svg file.")]


@dataclass(frozen=True, slots=True)
class Chosen:
    """What the three commands have in common."""

    cases: str
    out: Path
    data: Path | None
    kind: str
    model: str
    begin: Path | None
    full: bool
    top: int
    half: bool
    device: str
    seed: int
    as_json: bool
    plot: Path | None


def sft(
    cases: CasesName, out: Out, data: Data = None, kind: Kind = "choice", model: Model = "smollm2", begin: Begin = None,
    full: Full = False, top: Top = 0, half: Half = False, device: Device = "cpu", steps: Steps = None,
    rate: Rate = None, seed: Seed = 0,
    labels: Annotated[str, typer.Option(help="true, or random: how an answer looks, and nothing else.")] = "true",
    plot: Plot = None, as_json: Json = False,
) -> None:  # fmt: skip
    """Train on the diagnoses of the train cases."""
    from kgmed.train import stages
    from kgmed.train.sft import Settings

    if labels not in ("true", "random"):
        raise UnknownName("kind of labels", labels, ("true", "random"))
    chosen = Chosen(cases, out, data, kind, model, begin, full, top, half, device, seed, as_json, plot)
    settings = _with(Settings(), steps=steps, rate=rate)
    _train(chosen, lambda p, t, w: stages.supervised(p, t, settings, w, labels=labels))  # type: ignore[arg-type]


def rlkgf(
    cases: CasesName, out: Out, data: Data = None, kind: Kind = "choice", model: Model = "smollm2", begin: Begin = None,
    full: Full = False, top: Top = 0, half: Half = False, device: Device = "cpu", preset: Preset = "ours",
    steps: Steps = None, rate: Rate = None, kl: Kl = None, prompts: Prompts = None, samples: Samples = None,
    epochs: Epochs = None, seed: Seed = 0,
    temperature: Annotated[float, typer.Option(help="Of the graph's softmax; 1 in the authors' code.")] = 0.05,
    plot: Plot = None, as_json: Json = False,
) -> None:  # fmt: skip
    """Train by PPO against the graph: the reward of an answer is the score of the disease that it names."""
    from kgmed.reward.criticality import Criticality
    from kgmed.reward.graph import CauseGraph
    from kgmed.train import stages

    chosen = Chosen(cases, out, data, kind, model, begin, full, top, half, device, seed, as_json, plot)
    numbers = _ppo(preset, steps=steps, rate=rate, kl=kl, prompts=prompts, samples=samples, epochs=epochs)

    def go(policy: "Policy", task: "Task", watch: "Watch") -> "list[Row]":
        scorer = Criticality(CauseGraph.counted(task.train), temperature=temperature)
        return stages.rlkgf(policy, task, scorer, numbers, watch)

    _train(chosen, go)


def rlaif(
    cases: CasesName, out: Out, data: Data = None, kind: Kind = "choice", model: Model = "smollm2", begin: Begin = None,
    full: Full = False, top: Top = 0, half: Half = False, device: Device = "cpu", preset: Preset = "ours",
    steps: Steps = None, rate: Rate = None, kl: Kl = None, prompts: Prompts = None, samples: Samples = None,
    epochs: Epochs = None, seed: Seed = 0,
    judge: Annotated[str, typer.Option(help="likelihood (of the model itself), or any language model.")] = "likelihood",
    base_url: Annotated[str, typer.Option("--base-url", help="Of the judge's server.")] = "",
    plot: Plot = None, as_json: Json = False,
) -> None:  # fmt: skip
    """Train by the same PPO against a reward model that a judge's preferences teach."""
    from kgmed.train import stages

    chosen = Chosen(cases, out, data, kind, model, begin, full, top, half, device, seed, as_json, plot)
    numbers = _ppo(preset, steps=steps, rate=rate, kl=kl, prompts=prompts, samples=samples, epochs=epochs)

    def go(policy: "Policy", task: "Task", watch: "Watch") -> "list[Row]":
        taught, agreement = stages.taught_by(_judge(chosen, task, judge, base_url), task)
        show.warn([f"the reward model agrees with its judge on {agreement:.3f} of the validation pairs"])
        return stages.rlaif(policy, task, taught, numbers, watch)

    _train(chosen, go)


def _train(chosen: Chosen, go: "Callable[[Policy, Task, Watch], list[Row]]") -> None:
    """Train, ask the test cases once, and print what came of it."""
    from kgmed.train.stages import Watch
    from kgmed.train.task import task

    asked = task(_split(chosen), listed=chosen.kind == "free")
    trained = _policy(chosen, asked)
    with _telling() as tell:
        rows = go(trained, asked, Watch(folder=chosen.out, seed=chosen.seed, tell=tell))
    trained.save(chosen.out / "model")
    report = asked.split.test.report(asked.predict(trained)) if len(asked.split.test) else None
    if chosen.plot:
        from kgmed.train.plot import plot

        plot({chosen.out.name: chosen.out / "log.jsonl"}, chosen.plot)
    figures = {"start": rows[0]["accuracy"], "end": rows[-1]["accuracy"], "cases": len(asked.validation)}
    tested = {"accuracy": report.accuracy, "error": report.error, "cases": report.n} if report else None
    _print(chosen, trained.name, figures, tested)


def _print(chosen: Chosen, name: str, validation: dict[str, Any], test: dict[str, Any] | None) -> None:
    if chosen.as_json:
        show.data({"policy": name, "folder": str(chosen.out), "validation": validation, "test": test})
        return
    n, start, end = validation["cases"], validation["start"], validation["end"]
    show.lines([f"{name}: accuracy on {n} validation cases {start:.3f} at the start, {end:.3f} at the end"])
    if test:
        show.lines([f"on {test['cases']} test cases, asked once: {test['accuracy']:.3f} ± {test['error']:.3f}"])
    show.lines([f"log, checkpoint and model are in {chosen.out}"])


def _split(chosen: Chosen) -> "Split":
    """The cases that are named."""
    from kgmed.evaluate.cases import lines
    from kgmed.evaluate.datasets import patients
    from kgmed.kg.text import has_cjk

    if Path(chosen.cases).suffix == ".jsonl":
        found = lines.read(Path(chosen.cases))
        return replace(found, language="zh" if has_cjk("".join(found.diseases)) else "en")
    if chosen.data is None:
        raise BadInput("name the folder of data sets: --data DIR, or KGMED_DATA")
    return patients(chosen.cases, chosen.data)


def _policy(chosen: Chosen, task: "Task") -> "Policy":
    """The policy to train, with the weights of the run to begin from."""
    from kgmed.train import checkpoint
    from kgmed.train.policies import policy
    from kgmed.train.policy import restore
    from kgmed.train.run import CHECKPOINT

    adapt: Any = "full" if chosen.full else "lora"
    made = policy(
        chosen.kind, chosen.model, task, data_folder(), seed=chosen.seed, adapt=adapt, top=chosen.top,
        half=chosen.half, device=chosen.device,
    )  # fmt: skip
    if chosen.begin:
        path = chosen.begin / CHECKPOINT
        try:
            restore(made, checkpoint.weights(path))
        except (KeyError, RuntimeError) as error:
            raise BadInput(
                f"{path} is of another model or other layers than {made.name}; begin from another"
            ) from error
    return made


def _judge(chosen: Chosen, task: "Task", judge: str, base_url: str) -> "Judge":
    """The judge that is named."""
    from kgmed.models.choose import llm_from
    from kgmed.reward.cases import Case
    from kgmed.train.judge import ByLikelihood, ByModel
    from kgmed.train.policies import policy

    if judge != "likelihood":
        return ByModel(llm_from(judge, base_url=base_url, folder=data_folder()))
    untrained = policy(chosen.kind, chosen.model, task, data_folder(), seed=chosen.seed, device=chosen.device)
    return ByLikelihood(untrained, task.question(Case("", ())))


def _ppo(preset: str, **given: float | None) -> Any:
    """The numbers of PPO: a preset's, but for those given."""
    from kgmed.train.ppo import PAPER, Settings

    presets = {"ours": Settings(), "paper": PAPER}
    if preset not in presets:
        raise UnknownName("preset of PPO", preset, presets)
    return _with(presets[preset], **given)


def _with(settings: Any, **given: float | None) -> Any:
    """The settings with what is given in place of their own."""
    return replace(settings, **{name: value for name, value in given.items() if value is not None})


@contextmanager
def _telling() -> "Iterator[Callable[[Row], None]]":
    """A function that shows a row of the log: a moving line, and one that stays where the accuracy was measured."""
    with bar.steps("training") as at:

        def tell(row: "Row") -> None:
            shown = ", ".join(f"{k} {v:.3f}" if isinstance(v, float) else f"{k} {v}" for k, v in row.items())
            at(shown)
            if "accuracy" in row:
                show.warn([shown])

        yield tell
