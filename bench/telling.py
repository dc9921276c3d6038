"""Whether the order in which a disease's findings are told agrees with how often they are stated to occur.

    python bench/telling.py [--diseases 400]

HPO states frequencies for some diseases. Each order is made without them; printed are the mean rank correlation with
them, and how much more often than the disease's mean finding its first five occur.
"""

import argparse
import sys

import numpy as np
from _figures import keep

from kgmed.graph.base import ByRole
from kgmed.graph.library import load
from kgmed.records import Role
from kgmed.steps.family import often, stated, telling

ENOUGH, LEVELS, SHOWN = 12, 3, 5  # findings with a frequency; different ones; how many are looked at first


def places(values: np.ndarray) -> np.ndarray:
    """The ranks of values, equal ones at their mean."""
    _, at, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[at]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--diseases", type=int, default=400)
    wanted = parser.parse_args().diseases
    graph = load("hpo")
    steps = ByRole(graph, Role.FINDING)
    found: dict[str, list[tuple[float, float]]] = {"by how many diseases show it": [], "telling": []}
    for node in np.random.default_rng(1).permutation(len(graph)).tolist():
        hops = steps.objects([node])
        said = {n: graph.triple(e) for n, e in zip(hops.node.tolist(), hops.edge.tolist(), strict=True)}
        known = {n: often(t) for n, t in said.items() if stated(t)}
        if len(known) < ENOUGH or len(set(known.values())) < LEVELS:
            continue
        ends = np.unique(hops.node)
        breadth = np.bincount(steps.subjects(ends).origin, minlength=len(ends))
        shown = dict(zip(ends.tolist(), breadth.tolist(), strict=True))
        scores = dict(zip(found, (shown, telling(graph, node)), strict=True))
        truth = np.array(list(known.values()))
        for name, score in scores.items():
            guess = np.array([score[n] for n in known], float)
            alike = np.corrcoef(places(guess), places(truth))[0, 1] if len(set(guess.tolist())) > 1 else 0.0
            first = truth[np.argsort(-guess, kind="stable")[:SHOWN]].mean() - truth.mean()
            found[name].append((float(alike), float(first)))
        if len(found["telling"]) == wanted:
            break
    for name, rows in found.items():
        alike, first = np.mean(rows, axis=0)
        error = np.std([a for a, _ in rows]) / np.sqrt(len(rows))
        keep("telling", {name: float(alike), f"{name} error": float(error)})
        sys.stdout.write(
            f"{name:30} n = {len(rows)}: rank correlation {alike:.3f} ± {error:.3f}; first {SHOWN} {first:+.3f}\n"
        )


if __name__ == "__main__":
    main()
