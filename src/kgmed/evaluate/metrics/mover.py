"""MoverScore (Zhao et al. 2019): how far the words of an answer must be moved to be those of a reference.

1 - the earth mover's distance between the n-grams of both. An n-gram lies at the mean of its tokens' states weighted by
rarity, brought to length 1; what it weighs is the sum of the rarities. Two kinds:

- `moverscore-1` and `-2`, ours: the states of one layer of any model, one table of rarities frozen on the references of
  the data set, every token but the marks of beginning and end, the Euclidean distance, not below 0.
- `moverscore-v1`, `-v1-2` and `-v2`, as moverscore.py and moverscore_v2.py of the authors' package 1.0.3 compute them
  on the same model: a table of rarities of the answers beside that of the references, no punctuation, no later pieces
  of a word (those with ##). v1 takes the last five layers, each brought to length 1, their least, mean and greatest
  values side by side, and the squared distance; v2 the last layer and the distance itself. v1 is meant for a BERT
  trained on MNLI, v2 for distilbert-base-uncased. What an answer scores depends on the other answers of its method,
  for their rarities are counted.

Equal to the package within 1e-4, since it adds 1e-5 (v1) to what it divides by. Not equal where an item has several
references (it takes one; here the best counts, and all are in the table), where a text has no word that weighs anything
(here 0; the package divides 0 by almost 0), or where the model's pieces are not marked by ##.
"""

import string
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgmed.errors import Unavailable
from kgmed.evaluate.items import Choices, Item, MadeMetrics, Metric
from kgmed.evaluate.metrics.by_model import AT_ONCE, Rarity, Read, States, TokenComparison, references, token_weights
from kgmed.records import Run
from kgmed.registry import metrics

Floats = NDArray[np.float64]


def mover_distance(a: Floats, b: Floats, cost: Floats) -> float:
    """The least cost of moving weights a (n,) to b (m,) at `cost` (n, m) for a weight of 1; both sum to 1. Exact."""
    linprog, identity, kron, stacked = _solver()
    n, m = cost.shape
    leave, arrive = kron(identity(n), np.ones((1, m))), kron(np.ones((1, n)), identity(m))
    limits = np.concatenate([a, b])[:-1]  # the last one follows from the others
    found = linprog(
        cost.ravel(), A_eq=stacked([leave, arrive]).tocsr()[:-1], b_eq=limits, bounds=(0, None), method="highs"
    )
    if not found.success:
        raise ArithmeticError(f"the distance could not be computed: {found.message}")
    return float(found.fun)


@lru_cache(maxsize=1)
def _solver() -> tuple[Any, Any, Any, Any]:
    """What is used of scipy; raises `Unavailable`."""
    try:
        from scipy.optimize import linprog  # heavy
        from scipy.sparse import identity, kron, vstack
    except ImportError:
        raise Unavailable('MoverScore needs scipy; pip install "kgmed[eval]"') from None
    return linprog, identity, kron, vstack


def grams(rows: Floats, weights: Floats, n: int) -> tuple[Floats, Floats]:
    """The unit rows and the weights (summing to 1) of the n-grams of tokens; a shorter text is one n-gram.

    >>> rows, weights = grams(np.array([[1.0, 0], [0, 1.0], [0, 1.0]]), np.array([0.2, 0.2, 0.6]), 2)
    >>> rows.round(4).tolist(), weights.round(4).tolist()
    ([[0.7071, 0.7071], [0.0, 1.0]], [0.3333, 0.6667])
    """
    n = min(n, len(rows))
    windows = [slice(i, i + n) for i in range(len(rows) - n + 1)]
    heavy = np.array([weights[w].sum() for w in windows])
    means = np.array([weights[w] @ rows[w] if h else rows[w].mean(0) for w, h in zip(windows, heavy, strict=True)])
    lengths = np.linalg.norm(means, axis=1, keepdims=True)
    return means / np.where(lengths > 0, lengths, 1), heavy / heavy.sum()


def mover_score(answer: tuple[Floats, Floats], reference: tuple[Floats, Floats]) -> float:
    """1 - the distance between two sets of unit rows with their weights, not below 0."""
    (a, of_a), (b, of_b) = answer, reference
    cost = np.sqrt(np.maximum(0, 2 - 2 * a @ b.T))
    return max(0.0, 1 - mover_distance(of_a, of_b, cost))


def make_moverscore(
    model: str | Path, items: Sequence[Item], *, layer: int = -1, n: int = 1, device: str = ""
) -> tuple[Metric, ...]:
    """`moverscore-1` (words) or `-2` (pairs of words) by a model; without a word, and of a failed run, 0."""
    _solver()
    states = States(model, layer=layer, device=device)
    rarity = Rarity(states.ids(text) for text in references(items))

    def compare(answer: Read, reference: Read) -> tuple[float, ...]:
        (a, of_a), (b, of_b) = (_spoken(read, states.silent, rarity) for read in (answer, reference))
        return (mover_score(grams(a, of_a, n), grams(b, of_b, n)) if len(a) and len(b) else 0.0,)

    compared = TokenComparison(states, compare)
    source = f"Zhao et al. 2019, MoverScore; {states!r}, idf of {rarity.hash}"
    formula = f"1 - earth mover's distance of {n}-grams, not below 0"
    return (Metric(f"moverscore-{n}", formula, source, compared.number(0), ("text",), ready=compared.ready),)


def _spoken(read: Read, silent: set[int], rarity: Rarity) -> tuple[Floats, Floats]:
    """Rows and weights of the tokens that are no marks of beginning and end."""
    kept = np.array([i not in silent for i in read.ids], bool)
    return read.rows[kept].astype(np.float64), token_weights(read, silent, rarity)[kept]


# --- As the authors' code has it.


_PUNCTUATION = frozenset(string.punctuation)
_LAYERS = 5  # of v1


class AuthorsMover:
    """Answers against references as the authors' code compares them; rarities of answers are those of one method."""

    def __init__(self, states: States, wanted: Sequence[str], *, n: int, squared: bool) -> None:
        """Take the model, the references, the length of the n-grams, and whether distances are squared (v1)."""
        self._states, self._n, self._squared = states, n, squared
        self._of_references = Rarity(states.ids(text) for text in wanted)
        self.hash = self._of_references.hash
        self._known: dict[tuple[str, str, str], float] = {}
        self._of_answers: Rarity | None = None

    def ready(self, runs: Sequence[tuple[Run, Item]]) -> None:
        """Count the rarities of these answers, those of one method, and compare what will be asked for."""
        self._of_answers = Rarity(self._states.ids(run.answer.text) for run, _ in runs)
        self._compare_all(self._of_answers, [(run.answer.text, text) for run, i in runs for text in i.gold.texts])

    def score(self, run: Run, item: Item) -> float | None:
        """The best over the references, by the rarities of the answers that were heard of last."""
        rarity = self._of_answers or Rarity([self._states.ids(run.answer.text)])
        pairs = [(run.answer.text, text) for text in item.gold.texts]
        self._compare_all(rarity, pairs)
        return max((self._known[*pair, rarity.hash] for pair in pairs), default=None)

    def _compare_all(self, rarity: Rarity, pairs: Sequence[tuple[str, str]]) -> None:
        """Compare each pair that was not compared under these rarities."""
        left = [pair for pair in dict.fromkeys(pairs) if (*pair, rarity.hash) not in self._known]
        for i in range(0, len(left), AT_ONCE):
            read = self._states.read(text for pair in left[i : i + AT_ONCE] for text in pair)
            for pair in left[i : i + AT_ONCE]:
                self._known[*pair, rarity.hash] = self._compare(read[pair[0]], read[pair[1]], rarity)

    def _compare(self, answer: Read, reference: Read, rarity: Rarity) -> float:
        a, of_a = self._weighed(answer, rarity)
        b, of_b = self._weighed(reference, self._of_references)
        if not of_a.sum() or not of_b.sum():
            return 0.0
        (a, of_a), (b, of_b) = grams(a, of_a, self._n), grams(b, of_b, self._n)
        cost = np.maximum(0, 2 - 2 * a @ b.T)
        return 1 - mover_distance(of_a, of_b, cost if self._squared else np.sqrt(cost))

    def _weighed(self, read: Read, rarity: Rarity) -> tuple[Floats, Floats]:
        """Rows and rarities of the tokens that count: no punctuation, no later piece of a word."""
        pieces = self._states.pieces(read.ids)
        kept = np.array(["##" not in p and p not in _PUNCTUATION for p in pieces], bool)
        weights = np.array([rarity.of(i) for i in read.ids], np.float64)
        return read.rows[kept].astype(np.float64), weights[kept]


def make_authors_moverscore(
    model: str | Path, items: Sequence[Item], *, version: int, n: int = 1, device: str = ""
) -> tuple[Metric, ...]:
    """`moverscore-v1` (of pairs of words `-v1-2`) or `moverscore-v2` by a model; of a failed run 0."""
    _solver()
    states = States(model, last=_LAYERS if version == 1 else 0, device=device)
    mover = AuthorsMover(states, references(items), n=n, squared=version == 1)
    distance = "squared distances" if version == 1 else "distances"
    formula = f"1 - earth mover's distance of {n}-grams, {distance}"
    source = f"Zhao et al. 2019, MoverScore; package 1.0.3, v{version}; {states!r}, idf of {mover.hash} and the answers"
    name = f"moverscore-v{version}" + (f"-{n}" if n > 1 else "")
    return (Metric(name, formula, source, mover.score, ("text",), ready=mover.ready),)


def _moverscore(chosen: Choices, items: Sequence[Item]) -> tuple[Metric, ...]:
    return make_moverscore(chosen.model("moverscore"), items, layer=chosen.layer, device=chosen.device)


def _moverscore_2(chosen: Choices, items: Sequence[Item]) -> tuple[Metric, ...]:
    return make_moverscore(chosen.model("moverscore-2"), items, layer=chosen.layer, n=2, device=chosen.device)


def _authors(name: str, version: int, n: int = 1) -> Callable[[Choices, Sequence[Item]], tuple[Metric, ...]]:
    return lambda chosen, items: make_authors_moverscore(
        chosen.model(name), items, version=version, n=n, device=chosen.device
    )


metrics.add(MadeMetrics("moverscore", "a model", _moverscore))
metrics.add(MadeMetrics("moverscore-2", "a model", _moverscore_2))
metrics.add(MadeMetrics("moverscore-v1", "a model", _authors("moverscore-v1", 1)))
metrics.add(MadeMetrics("moverscore-v1-2", "a model", _authors("moverscore-v1-2", 1, 2)))
metrics.add(MadeMetrics("moverscore-v2", "a model", _authors("moverscore-v2", 2)))
