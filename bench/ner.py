"""How well entities are found in CMeEE-V2: the trained tagger against the graph's own names. Prints one table.

    KGMED_DATA=... python bench/ner.py --folder DIR [--part dev] [--threads 1]

The folder is that of `kgmed train ner CMeEE-V2_dev.json.xz --preset small --out DIR`; where it holds no finished
training, one with these settings is begun or gone on with. One tenth of the texts is held out to choose by (dev) and
another for the figures (test).
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import torch
from _data import data
from _figures import keep

from kgmed.evaluate.linking import NerScore, Parts, Sample, by_kind, read, score, split
from kgmed.graph import formats
from kgmed.graph.store.build import build
from kgmed.graph.store.store import open_store
from kgmed.models.encoders import NgramEncoder
from kgmed.models.w2ner import PRESETS, TRAININGS, FoundEntity
from kgmed.models.w2ner_network import open_labeller
from kgmed.records import Mention, Query, Question
from kgmed.toolkit import Toolkit
from kgmed.train.tagger import TrainingOutput, train

Find = Callable[[str], list[Mention]]


def by_names(find: Find, samples: Sequence[Sample]) -> list[list[FoundEntity]]:
    """What a recogniser of names finds; it tells no types."""
    return [[FoundEntity("", ((m.start, m.end),)) for m in find(s.text)] for s in samples]


def row(name: str, s: NerScore, seconds: float | None = None) -> None:
    """One line of the table."""
    took = f"  {seconds:6.1f} s" if seconds is not None else ""
    keep("ner", {f"{name} P": s.precision, f"{name} R": s.recall, f"{name} F1": s.f1})
    print(f"  {name:44} {s.precision:.3f}  {s.recall:.3f}  {s.f1:.3f}  {s.found:6} {s.gold:6}{took}")


def names(samples: Sequence[Sample], gold: Sequence[Sequence[FoundEntity]]) -> None:
    """The recognisers that need no training, over CMeKG."""
    folder = Path(tempfile.mkdtemp()) / "cmekg"
    build(formats.read("cmekg", None, name="cmekg"), folder)
    toolkit = Toolkit(open_store(folder), encoder=NgramEncoder())
    finders: dict[str, Find] = {
        "names of CMeKG (lexicon)": toolkit.lexicon,
        "names of CMeKG and phrases (toolkit.recognize)": lambda text: toolkit.recognize(Query(Question(text))),
    }
    for name, find in finders.items():
        find("肺炎")  # makes the index
        started = time.perf_counter()
        found = by_names(find, samples)
        row(name, score(found, gold, typed=False), time.perf_counter() - started)


def nested(gold: Sequence[Sequence[FoundEntity]]) -> list[list[FoundEntity]]:
    """Of each text the entities that share a character with another: one in the other, or across it."""

    def touch(one: FoundEntity, other: FoundEntity) -> bool:
        return any(a < d and c < b for a, b in one.parts for c, d in other.parts)

    return [[f for f in text if any(g != f and touch(f, g) for g in text)] for text in gold]


def tagger(parts: Parts, samples: Sequence[Sample], gold: Sequence[Sequence[FoundEntity]], folder: Path) -> None:
    """The trained tagger: all entities, those that overlap others, each type."""
    tell = TrainingOutput(line=lambda line: print(f"  {line}", file=sys.stderr, flush=True))
    train(parts, folder, architecture=PRESETS["small"], training=TRAININGS["small"], tell=tell)
    label = open_labeller(folder)
    started = time.perf_counter()
    found = label([s.text for s in samples])
    seconds = time.perf_counter() - started
    row("tagger, type not counted", score(found, gold, typed=False), seconds)
    row("tagger", score(found, gold), seconds)
    inner = nested(gold)
    right = score(found, inner).right
    print(f"  of the {sum(map(len, inner))} entities that overlap another it finds {right / sum(map(len, inner)):.3f}")
    for kind, of_kind in by_kind(found, gold).items():
        row(f"tagger, {kind}", of_kind)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--folder", type=Path, required=True, help="the tagger's")
    parser.add_argument("--part", choices=["dev", "test"], default="test")
    parser.add_argument("--threads", type=int, default=1, help="of the network; the last digits depend on it")
    options = parser.parse_args()
    file = data() / "cmeee" / "CMeEE-V2_dev.json.xz"
    torch.set_num_threads(options.threads)
    parts = split(read(file))
    samples: list[Sample] = getattr(parts, options.part)
    gold = [list(s.entities) for s in samples]
    print(f"CMeEE-V2, {parts.counts}; figures on {options.part}, {sum(map(len, gold))} entities")
    print(f"  {'':44} P      R      F1      found   gold")
    names(samples, gold)
    tagger(parts, samples, gold, options.folder)


if __name__ == "__main__":
    main()
