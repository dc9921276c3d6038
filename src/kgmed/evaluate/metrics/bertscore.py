"""BERTScore (Zhang et al. 2020): how like the tokens of an answer and of a reference are in a model's eyes.

Each token of the answer is compared with the token of the reference whose state is nearest by cosine; precision is the
mean over the answer's tokens, recall over the reference's, F = 2PR / (P + R). The marks of beginning and end can be
nearest but weigh nothing. With `idf` tokens weigh by how rare they are in the references of the data set. Not rescaled
unless a file of baselines is given. Equal to the bert-score package 0.3.13 under transformers 5, asked pair by pair:
that package sets cosines below 0 to 0 where it pads a pair, and under transformers 4 put a space before a RoBERTa's
first word.
"""

import csv
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kgmed.errors import SourceError
from kgmed.evaluate.items import Item
from kgmed.evaluate.metric import Metric
from kgmed.evaluate.metrics.states import Compared, Rarity, Read, States, references, weighed

NONE = (0.0, 0.0, 0.0)
_MEND = "give a file with the columns LAYER,P,R,F as the bert-score package has them"


def prf(
    likeness: NDArray[np.float64], of_answer: NDArray[np.float64], of_reference: NDArray[np.float64]
) -> tuple[float, float, float]:
    """Precision, recall and F from cosines (n, m) and the weights of both sides, each summing to 1.

    >>> near = np.array([[1.0, 0.2], [0.4, 0.6]])
    >>> [round(x, 4) for x in prf(near, np.array([0.5, 0.5]), np.array([0.75, 0.25]))]  # (1 + .6) / 2; .75 + .25 x .6
    [0.8, 0.9, 0.8471]
    """
    p, r = float(likeness.max(1) @ of_answer), float(likeness.max(0) @ of_reference)
    return p, r, 2 * p * r / (p + r) if p + r else 0.0


def make(
    model: str | Path, items: Sequence[Item], *, layer: int = -1, idf: bool = False, baseline: Path | None = None
) -> tuple[Metric, ...]:
    """`bertscore-p`, `-r` and `-f` by a model; an answer without a word counts 0, and so does a failed run."""
    states = States(model, layer=layer)
    rarity = Rarity(states.ids(text) for text in references(items)) if idf else None
    floor = read_baseline(baseline, states.layer) if baseline else NONE

    def compare(answer: Read, reference: Read) -> tuple[float, ...]:
        said, wanted = (weighed(read, states.silent, rarity) for read in (answer, reference))
        there = said.any() and wanted.any()
        found = prf(answer.rows.astype(float) @ reference.rows.T.astype(float), said, wanted) if there else NONE
        return tuple((x - b) / (1 - b) for x, b in zip(found, floor, strict=True))

    compared = Compared(states, compare)
    weights = f"idf of {rarity.hash}" if rarity else "no idf"
    scale = f"rescaled by {baseline.name} {list(floor)}" if baseline else "not rescaled"
    source = f"Zhang et al. 2020, BERTScore; {states!r}, {weights}, {scale}"
    rows = (("p", "mean of the answer's tokens' best cosine"), ("r", "the same of the reference's"), ("f", "2PR/(P+R)"))
    return tuple(
        Metric(
            f"bertscore-{name}", formula, source, compared.number(i), ("text",), -floor[i] / (1 - floor[i]),
            ready=compared.ready,
        )
        for i, (name, formula) in enumerate(rows)
    )  # fmt: skip


def read_baseline(path: Path, layer: int) -> tuple[float, float, float]:
    """What random pairs of texts score at a layer, from a file of the bert-score package; raises `SourceError`."""
    try:
        rows = list(csv.DictReader(path.read_text(encoding="utf-8-sig").splitlines()))
    except (OSError, UnicodeDecodeError) as error:
        raise SourceError(path, 0, f"cannot be read ({type(error).__name__})", _MEND) from None
    for line, row in enumerate(rows, start=2):
        try:
            found = float(row["P"]), float(row["R"]), float(row["F"])
            here = int(row["LAYER"])
        except (KeyError, TypeError, ValueError):
            raise SourceError(path, line, "is no row of baselines", _MEND) from None
        if not all(-1 <= x < 1 for x in found):
            raise SourceError(path, line, "has a baseline that is not from -1 to below 1", _MEND)
        if here == layer:
            return found
    raise SourceError(path, 0, f"has no row of layer {layer}", "choose a layer that it has")
