"""`kgmed train pairs`: a pair scorer from a graph's own names and relations."""

from pathlib import Path
from typing import Annotated

import typer

from kgmed.cli import bar, show


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
    from kgmed.kg import library
    from kgmed.kit import default_encoder
    from kgmed.models.pairs import LexicalPairs
    from kgmed.models.parts import encoder_from
    from kgmed.models.trained_pairs import save
    from kgmed.train.pairs import compared, groups, train

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
