"""Recall of a doctor's answer entities in the evidence retrieved from the question alone (GenMedGPT-5k, EMCKG).

    KGMED_DATA=DIR python bench/evidence.py [--part dev|test|all] [--most N]

The first 1,000 rows are `dev`, where settings were chosen; the figures to quote are those of `test`.
Micro recall is over all gold entities, its error by the bootstrap over questions; macro recall is the mean over
questions, with the error of that mean. Evidence is cut after a number of pieces, and after a number of tokens, since
pieces differ in size. The last table is paired: on the same questions, its error by the same bootstrap.
"""

import argparse
import tempfile
from pathlib import Path

from _data import data
from _recall import compare

from kgmed.evaluate.datasets.answers import consultations
from kgmed.graph import formats
from kgmed.graph.store.build import build
from kgmed.graph.store.store import open_store
from kgmed.graph.vectors import compute
from kgmed.toolkit import Toolkit

DEV = 1000


def main() -> None:
    """Build EMCKG in a temporary folder and print the table."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--part", choices=("dev", "test", "all"), default="test")
    options.add_argument("--most", type=int, default=0, help="rows at most; 0 = all")
    chosen = options.parse_args()
    folder = data() / "genmedgpt5k"
    rows = list(consultations(folder / "NER_chatgpt_first4000.json"))
    part = {"dev": rows[:DEV], "test": rows[DEV:], "all": rows}[chosen.part]
    part = part[: chosen.most or None]
    with tempfile.TemporaryDirectory() as place:
        build(formats.read("triples", folder / "emckg_train.txt", name="emckg"), Path(place) / "emckg")
        toolkit = Toolkit(open_store(Path(place) / "emckg"))
        compute(toolkit.graph, toolkit.encoder)
        scores, empty = compare(toolkit, part)
    first = next(iter(scores.values()))
    print(f"part {chosen.part}: {len(part)} rows, {empty} without gold; encoder {toolkit.encoder.name}")
    print(f"{first.questions} questions, {first.wanted} gold entities; nothing linked in {first.unlinked} of them")
    cuts = {k: f"@{k}" for k in first.ks} | {n: f"{n} tokens" for n in first.tokens}
    _table("micro recall", cuts, {name: [(s.micro(k), s.micro_error(k)) for k in cuts] for name, s in scores.items()})
    _table("macro recall", cuts, {name: [(s.macro(k), s.macro_error(k)) for k in cuts] for name, s in scores.items()})
    others = {name: [first.lead(s, k) for k in cuts] for name, s in scores.items() if s is not first}
    _table("kgmed facts less", cuts, others)


def _table(title: str, cuts: dict[int, str], rows: dict[str, list[tuple[float, float]]]) -> None:
    """Print figures with their standard errors, a row a method."""
    print(f"\n{title:20} " + " ".join(f"{cut:>15}" for cut in cuts.values()))
    for name, cells in rows.items():
        print(f"{name:20} " + " ".join(f"{value:.3f} (±{error:.3f})".rjust(15) for value, error in cells))


if __name__ == "__main__":
    main()
