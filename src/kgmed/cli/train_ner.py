"""`kgmed train ner`: a tagger from marked text."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from kgmed.cli import bar, show
from kgmed.errors import BadInput, Unavailable, UnknownName
from kgmed.models.w2ner.settings import PRESETS, Architecture
from kgmed.train.ner.settings import TRAININGS, Training


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
        from kgmed.train.ner.loop import Tell, train  # torch
    except ImportError as error:
        raise Unavailable('training needs torch: pip install "kgmed[train]"') from error
    from kgmed.evaluate.ner_texts import read, split

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
    from kgmed.models.use import UseEncoder

    return UseEncoder() if wanted else None


def _rows(figures: dict[str, Any]) -> list[list[object]]:
    """The lines of the table, dev first."""
    return [
        [part, name, *(f"{s[key]:.3f}" for key in ("precision", "recall", "f1")), s["found"], s["gold"]]
        for part in ("dev", "test")
        for name, s in figures[part].items()
    ]
