"""Recall of a doctor's answer entities in the evidence retrieved from the question alone (GenMedGPT-5k, EMCKG).

    KGMED_DATA=DIR python bench/evidence.py [--part dev|test|all] [--most N]

The first 1,000 rows are `dev`, where settings were chosen; the figures to quote are those of `test`.
Micro recall is over all gold entities, its error by the bootstrap over questions; macro recall is the mean over
questions, with the error of that mean.
"""

import argparse
import tempfile
from pathlib import Path

from _data import data

from kgmed.evaluate.datasets.answers import consultations
from kgmed.evaluate.recall import compare
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
    one = scores["one-hop, unranked"]
    print(f"{'micro recall':20} " + " ".join(f"{'@' + str(k):>15}" for k in first.ks))
    for name, s in scores.items():
        print(f"{name:20} " + " ".join(f"{s.micro(k):.3f} (±{s.micro_error(k):.3f})".rjust(15) for k in s.ks))
    ratios = " ".join(f"{first.micro(k) / max(one.micro(k), 1e-9):.2f}x".rjust(15) for k in first.ks)
    print(f"{'ratio to one-hop':20} {ratios}")
    print(f"{'macro recall':20} " + " ".join(f"{'@' + str(k):>15}" for k in first.ks))
    for name, s in scores.items():
        print(f"{name:20} " + " ".join(f"{s.macro(k):.3f} (±{s.macro_error(k):.3f})".rjust(15) for k in s.ks))


if __name__ == "__main__":
    main()
