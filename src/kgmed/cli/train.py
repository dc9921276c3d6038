"""`kgmed train`: models that are trained here, on a graph's own names, on marked text or on cases."""

from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kgmed.cli import show
from kgmed.cli import show as bar
from kgmed.errors import BadInput, Unavailable, UnknownName
from kgmed.folders import data_folder
from kgmed.models.w2ner import PRESETS, TRAININGS, Architecture, Training

# --- `kgmed train ner`: a tagger from marked text.


def ner(
    data: Annotated[Path, typer.Argument(help="Texts with their entities, in the format of CMeEE; .json or .json.xz.")],
    out: Annotated[Path, typer.Option("--out", help="The folder of the tagger; a training left there goes on.")],
    preset: Annotated[
        str, typer.Option(help="paper or code (HyKGE's numbers), small (for one core without a GPU).")
    ] = "paper",
    encoder: Annotated[
        str, typer.Option(help="A transformer's folder or hub name; none = embeddings learnt from nothing.")
    ] = "",
    vectors: Annotated[
        bool, typer.Option("--vectors", help="Beside those, the frozen vectors of the embedded encoder.")
    ] = False,
    epochs: Annotated[
        int | None, typer.Option(help="At most so many epochs; the preset's number if not given.")
    ] = None,
    batch: Annotated[int | None, typer.Option(help="Texts a step.")] = None,
    rate: Annotated[float | None, typer.Option(help="Rate of learning, of all but a transformer.")] = None,
    seed: Annotated[int, typer.Option(help="Of the weights and the order; the parts of the data stay the same.")] = 0,
    device: Annotated[str, typer.Option(help="What computes, as torch calls it: cpu, cuda, mps.")] = "cpu",
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
) -> None:
    """Train a tagger (W2NER) that finds flat, nested and discontinuous entities; chosen on dev, told on test."""
    try:
        from kgmed.train.tagger import TrainingOutput as Tell  # torch
        from kgmed.train.tagger import train
    except ImportError as error:
        raise Unavailable('training needs torch: pip install "kgmed[train]"') from error
    from kgmed.evaluate.ner import read, split

    architecture, training = _numbers(preset, encoder, vectors=vectors)
    given: dict[str, Any] = {"epochs": epochs, "batch": batch, "rate": rate, "seed": seed}
    training = replace(training, **{name: value for name, value in given.items() if value is not None})
    parts = split(read(data), training.split_seed)
    with bar.steps("reading") as at:
        tell = Tell(line=lambda text: show.warn([text]), at=at)
        figures = train(
            parts,
            out,
            architecture=architecture,
            training=training,
            vectors=_vectors(vectors),
            device=device,
            tell=tell,
        )
    if as_json:
        show.data(figures)
    else:
        show.table(["part", "entities", "P", "R", "F1", "found", "gold"], _rows(figures))


def _numbers(preset: str, encoder: str, *, vectors: bool) -> tuple[Architecture, Training]:
    """The preset's numbers; raises `BadInput`."""
    for name, architecture in PRESETS.items():
        if name == preset:
            if encoder and vectors:
                raise BadInput(
                    "--vectors stand beside embeddings learnt from nothing; leave out --encoder or --vectors"
                )
            return replace(architecture, encoder=encoder), TRAININGS[name]
    raise UnknownName("preset", preset, PRESETS)


def _vectors(wanted: bool) -> Any:
    """The embedded encoder, if wanted; raises `Unavailable`."""
    from kgmed.models.encoders import UseEncoder

    return UseEncoder() if wanted else None


def _rows(figures: dict[str, Any]) -> list[list[object]]:
    """The lines of the table, dev first."""
    return [
        [part, name, *(f"{s[key]:.3f}" for key in ("precision", "recall", "f1")), s["found"], s["gold"]]
        for part in ("dev", "test")
        for name, s in figures[part].items()
    ]


# --- `kgmed train pairs`: a pair scorer from a graph's own names and relations.


def pairs(
    graph: Annotated[str, typer.Argument(help="The graph whose synonyms and relations are learnt from.")],
    out: Annotated[
        Path | None, typer.Option("--out", help="The scorer's file; without it, beside the graph's files.")
    ] = None,
    encoder: Annotated[str, typer.Option(help="use, ngrams, local/NAME, ...; none = words and letters only.")] = "",
    most: Annotated[int, typer.Option(help="Groups of a right text and its near misses, at most.", min=20)] = 4000,
    seed: Annotated[int, typer.Option(help="Of the draw of synonyms.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
) -> None:
    """Train a pair scorer, and tell what it is worth on entities held out, beside words and vectors alone."""
    from kgmed.graph import library
    from kgmed.models.named import encoder_from
    from kgmed.models.scorers import LexicalPairs, save
    from kgmed.toolkit import default_encoder
    from kgmed.train.pairs import compare_scorers as compared
    from kgmed.train.pairs import groups, train

    store = library.load(graph)
    vectors = None if encoder == "none" else encoder_from(encoder) if encoder else default_encoder()
    path = out or Path(store.folder) / "derived" / "pairs.json"
    with bar.steps("finding near misses") as at:
        found = groups(store, most=most, seed=seed)
        at("learning")
        scorer = train(store, found, vectors)
        at("comparing")
        others = {"words": LexicalPairs()} | ({"words and vectors": LexicalPairs(vectors)} if vectors else {})
        table = compared({**others, "trained": scorer}, found)
    figures = {name: by_kind["all"] for name, by_kind in table.items()}
    save(scorer, path, {name: {"n": f.n, "mrr": f.mrr, "auc": f.auc} for name, f in figures.items()})
    if as_json:
        show.data({"graph": store.label, "scorer": scorer.name, "file": str(path), "held out": figures})
        return
    show.table(
        ("scorer", "groups", "MRR", "AUC"), [(n, f.n, f"{f.mrr:.3f}", f"{f.auc:.3f}") for n, f in figures.items()]
    )
    show.lines([f"kept in {path}; ask with it: --scorer trained/{path}"])


# --- `kgmed train sft | rlkgf | rlaif`: a language model that diagnoses, from labels, from the graph, or from a judge.


if TYPE_CHECKING:
    from collections.abc import Iterator

    from kgmed.reward.cases import Split
    from kgmed.train.base import Policy
    from kgmed.train.preference import Judge
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
class TrainingOptions:
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
    from kgmed.train.stages import SFTSettings as Settings

    if labels not in ("true", "random"):
        raise UnknownName("kind of labels", labels, ("true", "random"))
    chosen = TrainingOptions(cases, out, data, kind, model, begin, full, top, half, device, seed, as_json, plot)
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
    from kgmed.reward.cases import CauseGraph
    from kgmed.reward.criticality import Criticality
    from kgmed.train import stages

    chosen = TrainingOptions(cases, out, data, kind, model, begin, full, top, half, device, seed, as_json, plot)
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

    chosen = TrainingOptions(cases, out, data, kind, model, begin, full, top, half, device, seed, as_json, plot)
    numbers = _ppo(preset, steps=steps, rate=rate, kl=kl, prompts=prompts, samples=samples, epochs=epochs)

    def go(policy: "Policy", task: "Task", watch: "Watch") -> "list[Row]":
        taught, agreement = stages.reward_from_judge(_judge(chosen, task, judge, base_url), task)
        show.warn([f"the reward model agrees with its judge on {agreement:.3f} of the validation pairs"])
        return stages.rlaif(policy, task, taught, numbers, watch)

    _train(chosen, go)


def _train(chosen: TrainingOptions, go: "Callable[[Policy, Task, Watch], list[Row]]") -> None:
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
        from kgmed.train.run import plot

        plot({chosen.out.name: chosen.out / "log.jsonl"}, chosen.plot)
    figures = {"start": rows[0]["accuracy"], "end": rows[-1]["accuracy"], "cases": len(asked.validation)}
    tested = {"accuracy": report.accuracy, "error": report.error, "cases": report.n} if report else None
    _print(chosen, trained.name, figures, tested)


def _print(chosen: TrainingOptions, name: str, validation: dict[str, Any], test: dict[str, Any] | None) -> None:
    if chosen.as_json:
        show.data({"policy": name, "folder": str(chosen.out), "validation": validation, "test": test})
        return
    n, start, end = validation["cases"], validation["start"], validation["end"]
    show.lines([f"{name}: accuracy on {n} validation cases {start:.3f} at the start, {end:.3f} at the end"])
    if test:
        show.lines([f"on {test['cases']} test cases, asked once: {test['accuracy']:.3f} ± {test['error']:.3f}"])
    show.lines([f"log, checkpoint and model are in {chosen.out}"])


def _split(chosen: TrainingOptions) -> "Split":
    """The cases that are named."""
    from kgmed.evaluate.datasets import patients
    from kgmed.evaluate.datasets.cases import read_case_lines
    from kgmed.language.text import has_cjk

    if Path(chosen.cases).suffix == ".jsonl":
        found = read_case_lines(Path(chosen.cases))
        return replace(found, language="zh" if has_cjk("".join(found.diseases)) else "en")
    if chosen.data is None:
        raise BadInput("name the folder of data sets: --data DIR, or KGMED_DATA")
    return patients(chosen.cases, chosen.data)


def _policy(chosen: TrainingOptions, task: "Task") -> "Policy":
    """The policy to train, with the weights of the run to begin from."""
    from kgmed.train import base as checkpoint
    from kgmed.train.base import restore
    from kgmed.train.policies import policy
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


def _judge(chosen: TrainingOptions, task: "Task", judge: str, base_url: str) -> "Judge":
    """The judge that is named."""
    from kgmed.models.named import llm_from
    from kgmed.reward.cases import Case
    from kgmed.train.policies import policy
    from kgmed.train.preference import ByLikelihood
    from kgmed.train.preference import ModelJudge as ByModel

    if judge != "likelihood":
        return ByModel(llm_from(judge, base_url=base_url, folder=data_folder()))
    untrained = policy(chosen.kind, chosen.model, task, data_folder(), seed=chosen.seed, device=chosen.device)
    return ByLikelihood(untrained, task.question(Case("", ())))


def _ppo(preset: str, **given: float | None) -> Any:
    """The numbers of PPO: a preset's, but for those given."""
    from kgmed.train.ppo import PAPER
    from kgmed.train.ppo import PPOSettings as Settings

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


# --- `kgmed train`: models that are trained here, on a graph's own names, on marked text or on cases.


# --- `kgmed train linker`: what decides links, from marked text.


def linker(
    graph: Annotated[str, typer.Argument(help="The graph that the texts' concepts are in; its map must be trained.")],
    texts: Annotated[list[Path], typer.Argument(help="PubTator files with the ids of concepts.")],
    out: Annotated[
        Path | None, typer.Option("--out", help="The scorer's file; linker.npz in the data folder, which is then used.")
    ] = None,
    precision: Annotated[float, typer.Option(help="How often the links made are to be right.", min=0.5, max=1)] = 0.95,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
) -> None:
    """Train the scorer that decides what a name is linked to, on texts whose entities are marked."""
    from kgmed.evaluate.linking import Concepts, names_of
    from kgmed.graph.formats.pubtator import documents
    from kgmed.graph.library import load
    from kgmed.linking.decide import OWN
    from kgmed.toolkit import Toolkit
    from kgmed.train.linker import fit, judge, save

    toolkit = Toolkit(load(graph))
    if toolkit.decided is None:
        raise BadInput(f"no map of {graph} is trained; train it first: kgmed graph vectors {graph} --train")
    cases = names_of((d for path in texts for d in documents(path)), Concepts(toolkit.graph))
    arrays, figures = fit(list(judge(toolkit.decided.find, cases)), link=precision)
    place = out or data_folder() / OWN
    save(place, arrays)
    if as_json:
        show.data(asdict(figures) | {"file": str(place)})
    else:
        show.table(["what", "value"], [*asdict(figures).items(), ("file", place)])


app = typer.Typer(no_args_is_help=True)
app.command()(linker)
app.command()(ner)
app.command()(pairs)
app.command()(sft)
app.command()(rlkgf)
app.command()(rlaif)


@app.callback()
def train() -> None:
    """Train a model; nothing is sent anywhere."""
