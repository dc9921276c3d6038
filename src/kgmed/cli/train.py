"""`kgmed train`: models that are trained here, on a graph's own names, on marked text or on cases."""

from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from kgmed.cli import show
from kgmed.cli.reward import Data, Labelled
from kgmed.cli.train_policy import (
    JudgeOptions,
    LoopOptions,
    RunOptions,
    ScorerOptions,
    TuningOptions,
    as_options,
    grpo,
    rlaif,
    rlkgf,
    rloo,
    sft,
    telling,
)
from kgmed.disk import data_folder
from kgmed.errors import BadInput, Unavailable, UnknownName
from kgmed.models.w2ner import PRESETS, TRAININGS, Architecture, Training

# --- `kgmed train ner`: a tagger from marked text.


def ner(
    data: Annotated[Path, typer.Argument(help="Texts with their entities, in the format of CMeEE; .json or .json.xz.")],
    out: Annotated[Path, typer.Option("--out", help="The folder of the tagger; an unfinished training is resumed.")],
    preset: Annotated[
        str, typer.Option(help="paper or code (HyKGE's numbers), small (for one core without a GPU).")
    ] = "paper",
    encoder: Annotated[
        str, typer.Option(help="A transformer's folder or hub name; none = embeddings learnt from nothing.")
    ] = "",
    vectors: Annotated[
        bool, typer.Option("--vectors", help="Also use the frozen vectors of the embedded encoder.")
    ] = False,
    epochs: Annotated[int | None, typer.Option(help="Most epochs; default: the preset's.")] = None,
    batch: Annotated[int | None, typer.Option(help="Batch size.")] = None,
    rate: Annotated[float | None, typer.Option(help="Learning rate, of all but a transformer.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of weights and order; the split of the data is fixed.")] = 0,
    device: Annotated[str, typer.Option(help="The device, as torch names it: cpu, cuda, mps.")] = "cpu",
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
) -> None:
    """Train a tagger (W2NER) that finds flat, nested and discontinuous entities; selected on dev, measured on test."""
    try:
        from kgmed.train.tagger import TrainingOutput as Tell  # torch
        from kgmed.train.tagger import train
    except ImportError as error:
        raise Unavailable('training needs torch: pip install "kgmed[train]"') from error
    from kgmed.evaluate.linking import read, split

    architecture, training = _numbers(preset, encoder, vectors=vectors)
    given: dict[str, Any] = {"epochs": epochs, "batch": batch, "rate": rate, "seed": seed}
    training = replace(training, **{name: value for name, value in given.items() if value is not None})
    parts = split(read(data), training.split_seed)
    with show.steps("reading") as at:
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
        Path | None, typer.Option("--out", help="The scorer's file; default: among the graph's files.")
    ] = None,
    encoder: Annotated[str, typer.Option(help="use, ngrams, local/NAME, ...; none = words and letters only.")] = "",
    most: Annotated[int, typer.Option(help="Groups of a right text and its near misses, at most.", min=20)] = 4000,
    seed: Annotated[int, typer.Option(help="Seed of the draw of synonyms.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
) -> None:
    """Train a pair scorer, and compare it on held-out entities with words and vectors alone."""
    from kgmed.graph import library
    from kgmed.models.named import encoder_from
    from kgmed.models.scorers import LexicalPairs, save
    from kgmed.toolkit import default_encoder
    from kgmed.train.pairs import compare_scorers as compared
    from kgmed.train.pairs import groups, train

    store = library.load(graph)
    vectors = None if encoder == "none" else encoder_from(encoder) if encoder else default_encoder()
    path = out or Path(store.folder) / "derived" / "pairs.json"
    with show.steps("finding near misses") as at:
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


# --- `kgmed train linker`: what decides links, from marked text.


def linker(
    graph: Annotated[str, typer.Argument(help="The graph that the texts' concepts are in; its map must be trained.")],
    texts: Annotated[list[Path], typer.Argument(help="PubTator files with the ids of concepts.")],
    out: Annotated[
        Path | None, typer.Option("--out", help="The scorer's file; linker.npz in the data folder, which is then used.")
    ] = None,
    precision: Annotated[float, typer.Option(help="The precision that links should have.", min=0.5, max=1)] = 0.95,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
) -> None:
    """Train the scorer that decides what a name is linked to, on texts whose entities are marked."""
    from kgmed.evaluate.linking import Concepts, names_of
    from kgmed.graph.formats.releases import documents
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


# --- `kgmed train questions`: what a question asks, from marked questions.


def questions(
    data: Annotated[
        Path | None, typer.Option("--data", help="A folder of marked questions (.tsv); kgmed's own without it.")
    ] = None,
    meqsum: Annotated[
        Path | None, typer.Option("--meqsum", help="The file of MeQSum (.csv), whose first rows have labels.")
    ] = None,
    graph: Annotated[
        str, typer.Option("--graph", help="Graphs whose names are looked for in the questions; none = the marks alone.")
    ] = "",
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", help="The file of weights, with emergencies.npz next to it; in the data folder, then used."
        ),
    ] = None,
    words: Annotated[
        Path | None, typer.Option("--words", help="Write the words that ask to this file, one a line.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
) -> None:
    """Train the reader of what a question asks, and measure it on held-out questions."""
    from kgmed.question import emergency
    from kgmed.question.model import WEIGHTS
    from kgmed.toolkit import default_encoder
    from kgmed.train.questions import (
        asking_words,
        fit,
        fit_emergencies,
        frames_of,
        named_by,
        rows_of,
        save,
        written_out,
    )
    from kgmed.train.questions import table as told

    rows = rows_of(data, meqsum)
    encoder = default_encoder()
    with show.steps("learning") as at:
        arrays, figures = fit(rows, encoder, encoder.name, named_by(graph) if graph != "none" else None, at)
    place = out or data_folder() / WEIGHTS
    save(place, arrays)
    frames = data / "emergencies" if data else None
    if frames is None or frames.is_dir():
        save(place.with_name(emergency.WEIGHTS), fit_emergencies(list(written_out(frames_of(frames))), rows))
    if words is not None:
        words.write_text("\n".join([*asking_words(rows), ""]), encoding="utf-8")
    if as_json:
        show.data(asdict(figures) | {"file": str(place)})
    else:
        show.table(["what", "value"], [*told(figures), ("file", place)])


# --- `kgmed train compare`: all ways to train a policy, from one start, with several seeds.


@as_options
def compare(
    cases: Labelled, tuning: TuningOptions, loop: LoopOptions, reward: ScorerOptions, judge: JudgeOptions,
    out: Annotated[Path, typer.Option("--out", help="The folder of all runs; unfinished runs are resumed.")],
    data: Data = None,
    policy: Annotated[str, typer.Option("--policy", help="Some of choice,free,tiny.")] = "tiny,choice",
    model: Annotated[str, typer.Option("--model", help="smollm2, a folder, or a name on the model hub.")] = "smollm2",
    longest: Annotated[int, typer.Option("--longest", help="Tokens of an answer, with free.", min=1)] = 16,
    seeds: Annotated[str, typer.Option(help="Numbers with commas.")] = "0,1,2",
    stages: Annotated[str, typer.Option(help="Some of base,warm,sft,rlaif,ppo,grpo,rloo,sft-ppo,sft-grpo.")] = "",
    labelled: Annotated[int, typer.Option(help="Train cases whose disease may be known; 0 = all.", min=0)] = 0,
    sft_steps: Annotated[int | None, typer.Option("--sft-steps", help="Steps on true labels.", min=1)] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
) -> None:  # fmt: skip
    """Train base, warm start, labels, RLAIF and RLKGF by PPO and GRPO, and test each, with standard errors."""
    from kgmed.cli.train_policy import comparison
    from kgmed.train.compare import USUAL, side_by_side, table

    kinds, wanted = _listed(policy), _listed(stages) or list(USUAL)
    numbers, tables = _numbers_of(seeds), {}
    with telling() as tell:
        for kind in kinds:
            run = RunOptions(out=out / kind, data=data, policy=kind, model=model, longest=longest)

            def told(what: str, row: Any, kind: str = kind) -> None:
                tell({"run": f"{kind} {what}", **row})

            made = comparison(cases, run, tuning, loop, reward, judge, labelled, sft_steps, told)
            tables[kind] = table(made, [made.seed(seed, wanted) for seed in numbers], numbers)
    found = side_by_side(tables)
    if as_json:
        show.data(found.data)
        return
    show.table(found.head, found.rows)
    show.lines(found.notes)


def _listed(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _numbers_of(text: str) -> list[int]:
    """The numbers in a text with commas; raises `BadInput`."""
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise BadInput(f"seeds are whole numbers with commas, as 0,1,2, not {text!r}") from None


app = typer.Typer(no_args_is_help=True)
app.command()(linker)
app.command()(ner)
app.command()(pairs)
app.command()(questions)
for command in (sft, rlkgf, grpo, rloo, rlaif, compare):
    app.command()(command)


@app.callback()
def train() -> None:
    """Train a model; nothing is sent anywhere."""
