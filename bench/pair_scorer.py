"""The pair scorer that is trained on a graph, on entities held out, against words and an encoder's cosine.

    python bench/pair_scorer.py [GRAPH ...]        # hpo and cmekg, else those named; they must be built

MRR = mean reciprocal rank of the right text among its near misses (ties count against), AUC = share of right over
wrong. Groups, near misses and what is held out: `kgmed.train.pairs`. Nothing is chosen on what is held out.
"""

import sys
from time import perf_counter

import numpy as np
from _figures import keep
from numpy.typing import NDArray

from kgmed.graph import library
from kgmed.models.base import Encoder, PairScorer
from kgmed.models.scorers import FEATURES, LexicalPairs, cosines
from kgmed.toolkit import default_encoder
from kgmed.train.pairs import compare_scorers, groups, train


class Cosine:
    """An encoder's cosine alone."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder

    def __call__(self, pairs: list[tuple[str, str]], /) -> NDArray[np.float32]:
        return cosines(self._encoder, pairs)


def report(name: str) -> None:
    """Train on one graph and print the figures."""
    graph, encoder = library.load(name), default_encoder()
    found = groups(graph)
    held = sum(g.held_out for g in found)
    begin = perf_counter()
    words, both = train(graph, found, None), train(graph, found, encoder)
    spent = perf_counter() - begin
    scorers: dict[str, PairScorer] = {
        "words (LexicalPairs)": LexicalPairs(),
        "cosine": Cosine(encoder),  # type: ignore[dict-item]
        "words and cosine (LexicalPairs)": LexicalPairs(encoder),
        "trained, words": words,
        "trained, words and cosine": both,
    }
    table = compare_scorers(scorers, found)
    kinds = list(next(iter(table.values())))
    print(
        f"{graph.label}: {len(found) - held} groups learnt, {held} of other entities held out; {spent:.0f} s for both"
    )
    print(f"encoder: {encoder.name}")
    sizes = {kind: next(iter(table.values()))[kind].n for kind in kinds}
    print(f"{'':34}" + "".join(f"{f'{kind} ({sizes[kind]})':>22}" for kind in kinds))
    print(f"{'':34}" + f"{'MRR':>13}{'AUC':>9}" * len(kinds))
    for scorer, found_for in table.items():
        for kind, found_of in found_for.items():
            keep(
                "pair_scorer",
                {f"{name} {scorer} {kind} MRR": found_of.mrr, f"{name} {scorer} {kind} AUC": found_of.auc},
            )
        print(f"{scorer:34}" + "".join(f"{found_for[k].mrr:>13.3f}{found_for[k].auc:>9.3f}" for k in kinds))
    heaviest = sorted(zip(FEATURES, both.weights, strict=True), key=lambda row: -abs(row[1]))[:5]
    print("heaviest features: " + ", ".join(f"{what} {weight:+.1f}" for what, weight in heaviest) + "\n")


def main() -> None:
    """Every graph in turn."""
    for name in sys.argv[1:] or ["hpo", "cmekg"]:
        report(name)


if __name__ == "__main__":
    main()
