"""Fitting of the head of intents: linear scores of sentences, pooled by how much each asks, beside those of the whole.

Maximum likelihood with an L2 penalty; the slope through the pooling is written out.
"""

import csv
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kgmed.errors import BadInput
from kgmed.frame import Intent
from kgmed.graph.joining import glossary
from kgmed.language import lay
from kgmed.language.text import has_cjk
from kgmed.question.model import BUCKETS, FORMS, MASKS, WHOLE_BUCKETS, Features, Seen, Span, ngrams

# --- Marked questions: what the reader of questions is trained on (`kgmed train questions`).
#
# A row is INTENT[+INTENT] [flags] TAB question, its names marked as [role.kind|words]; the datasheet beside the data
# defines the labels. Of MeQSum the labels alone are kept, by the number of the row.

_MEQSUM = "meqsum.tsv"
_MARK = re.compile(r"\[([SOFC])\.([dfmtgnpbo])\|([^\]]+)\]")
KINDS = {
    "d": "disease", "f": "finding", "m": "drug", "t": "test", "g": "gene", "n": "food", "p": "person", "b": "body part",
    "o": "",
}  # fmt: skip
_FLAGS = {"neg", *FORMS}
_REAL = 3.0  # ours: weight of a message that somebody sent beside one that was made up


@dataclass(frozen=True)
class MarkedQuestion:
    """A question with what it asks and the names in it, each with its slot (S, O, F or C) if marked."""

    text: str
    intents: tuple[str, ...]
    flags: frozenset[str]
    names: tuple[tuple[Span, str], ...] = ()
    weight: float = 1.0
    marked: bool = True


def parse(line: str, where: str = "") -> MarkedQuestion:
    """A row of the training data; raises `BadInput` that names `where`.

    >>> row = parse("TREATMENT neg\\twhat is bad for [S.d|gout]")
    >>> row.text, row.intents, sorted(row.flags), row.names
    ('what is bad for gout', ('treatment',), ['neg'], ((Span(start=16, end=20, kind='disease'), 'S'),))
    """
    label, tab, marked = line.rstrip("\n").partition("\t")
    asked, *flags = label.split() or [""]
    intents = tuple(part.casefold() for part in asked.split("+"))
    if not tab or not {*intents} <= {*Intent} or not {*flags} <= _FLAGS:
        raise BadInput(f"{where}: {line[:60]!r} is no row INTENT[+INTENT] [neg yn which amount] TAB question")
    text, names, at = "", [], 0
    for m in _MARK.finditer(marked):
        text += marked[at : m.start()]
        names.append((Span(len(text), len(text) + len(m[3]), KINDS[m[2]]), m[1]))
        text, at = text + m[3], m.end()
    return MarkedQuestion(text + marked[at:], intents, frozenset(flags), tuple(names))


def read(paths: Iterable[Path]) -> list[MarkedQuestion]:
    """The rows of some files, each question once; raises `BadInput` with file and line."""
    rows: dict[str, MarkedQuestion] = {}
    for path in paths:
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            if line.strip() and not line.startswith("#"):
                row = parse(line, f"{path}, line {number}")
                rows.setdefault(row.text, row)
    return list(rows.values())


def read_meqsum(labels: Path, texts: Path) -> list[MarkedQuestion]:
    """Rows of MeQSum, message and summary alike; `labels` = NUMBER TAB INTENTS [flags], `texts` = its file (CSV)."""
    with texts.open(encoding="utf-8", newline="") as file:
        told = list(csv.DictReader(file))
    rows: dict[str, MarkedQuestion] = {}
    for at, line in enumerate(labels.read_text(encoding="utf-8").splitlines(), start=1):
        if line.strip() and not line.startswith("#"):
            number, _, label = line.partition("\t")
            if not number.isdecimal() or not 0 < int(number) <= len(told):
                raise BadInput(f"{labels}, line {at}: {number!r} is no row of {texts}")
            for part in ("question", "summary"):
                row = parse(f"{label}\t", f"{labels}, line {at}")
                row = replace(row, text=told[int(number) - 1][part], weight=_REAL, marked=False)
                rows.setdefault(row.text, row)
    return list(rows.values())


def rows_of(data: Path | None = None, meqsum: Path | None = None) -> list[MarkedQuestion]:
    """The rows of a folder, kgmed's own without one, and of MeQSum where its file is given."""
    folder = data or Path(str(resources.files("kgmed.question").joinpath("data")))
    files = sorted(path for path in folder.glob("*.tsv") if path.name != _MEQSUM)
    if not files:
        raise BadInput(f"{folder}: no file of marked questions (.tsv) is there")
    rows = {row.text: row for row in read(files)}
    for row in read_meqsum(folder / _MEQSUM, meqsum) if meqsum else ():
        rows.setdefault(row.text, row)
    return list(rows.values())


# --- questions that ask two things: most people ask one, and a classifier hardly learns what seldom happens

_SHORT = 70  # characters of a question that is coupled with another
_BETWEEN = (" ", ", ", "\n")  # in any language


def coupled(rows: Sequence[MarkedQuestion], number: int) -> Iterator[MarkedQuestion]:
    """Pairs of short questions of one thing each, of the same kind of thing, as one that asks both; always the same.

    >>> one, other = parse("CAUSES\\tcauses of [S.d|gout]"), parse("TREATMENT\\tcure for [S.d|mange]")
    >>> both = {row.text: row.intents for row in coupled([one, other], 20)}
    >>> both["causes of gout, cure for gout"]
    ('causes', 'treatment')
    """
    alike: dict[tuple[str, bool], list[MarkedQuestion]] = {}
    for row in rows:
        if len(row.text) < _SHORT and len(row.names) == len(row.intents) == 1 and "neg" not in row.flags:
            alike.setdefault((row.names[0][0].kind, has_cjk(row.text)), []).append(row)
    pairs = [key for key, mine in alike.items() if len({row.intents for row in mine}) > 1]
    chance = np.random.default_rng(7)
    made = 0
    while pairs and made < number:
        mine = alike[pairs[chance.integers(len(pairs))]]
        one, other = (mine[at] for at in chance.integers(len(mine), size=2))
        if one.intents != other.intents:
            yield _both(one, other, _BETWEEN[chance.integers(len(_BETWEEN))])
            made += 1


def _both(one: MarkedQuestion, other: MarkedQuestion, between: str) -> MarkedQuestion:
    """Two questions as one, the second of the thing of the first."""
    (mine, slot), (its, _) = one.names[0], other.names[0]
    before, name = f"{one.text}{between}", one.text[mine.start : mine.end]
    again = Span(len(before) + its.start, len(before) + its.start + len(name), mine.kind)
    text = before + other.text[: its.start] + name + other.text[its.end :]
    return MarkedQuestion(text, one.intents + other.intents, frozenset(), (*one.names, (again, slot)))


# --- the words that ask


_OFTEN, _INSIDE = 5, 0.03  # ours: questions in which an n-gram stands outside of names, and the share inside
_NAMED = 0.3  # ours: the share from which an n-gram is taken for an illness


def asking_words(rows: Sequence[MarkedQuestion]) -> list[str]:
    """The n-grams that stand in several questions outside of the names and hardly ever inside, sorted.

    None is a name of the vocabulary (stories tell of nausea outside of what they ask about), nor has one within
    it what often names an illness ("flu" of "flu now").
    """
    outside, inside, named = Counter[str](), Counter[str](), Counter[str]()
    for row in rows:
        at, apart = 0, []
        for span, _ in sorted(row.names):
            apart.append(row.text[at : span.start])
            at = span.end
            if span.kind not in ("person", ""):
                inside.update({gram for *_, gram in ngrams(row.text[span.start : span.end])})
            named.update([row.text[span.start : span.end].casefold()] if MASKS.get(span.kind) == "Ⓓ" else ())
        outside.update({gram for part in [*apart, row.text[at:]] for *_, gram in ngrams(part)})
    asks = (g for g, count in outside.items() if count >= _OFTEN and inside[g] <= _INSIDE * count)
    whole = (g for g in asks if all(part == g or named[part] <= _NAMED * outside[part] for *_, part in ngrams(g)))
    names = {name for names in glossary() for name in names if has_cjk(name)}
    return sorted(g for g in whole if g not in names and not [*lay.others(g)])


Floats = NDArray[np.float32]


def matrix(rows: Sequence[Features], buckets: int) -> Any:
    """Features as a sparse matrix (rows, buckets)."""
    from scipy.sparse import csr_matrix

    ends = np.cumsum([0, *(len(where) for where, _ in rows)])
    where = np.concatenate([w for w, _ in rows])
    return csr_matrix(
        (np.concatenate([v for _, v in rows]).astype(np.float32), where, ends), shape=(len(rows), buckets)
    )


@dataclass(frozen=True)
class Bags:
    """Messages as matrices: their sentences (m, buckets), those of message i from `starts[i]` on, and the wholes."""

    sentences: Any
    starts: NDArray[np.int64]
    whole: Any

    @property
    def owner(self) -> NDArray[np.int64]:
        """The message of each sentence."""
        return np.repeat(np.arange(len(self.starts)), np.diff(np.append(self.starts, self.sentences.shape[0])))

    def take(self, rows: NDArray[np.int64]) -> "Bags":
        """Some of the messages."""
        ends = np.append(self.starts[1:], self.sentences.shape[0])
        sizes = (ends - self.starts)[rows]
        which = np.concatenate([np.arange(self.starts[r], ends[r]) for r in rows])
        return Bags(self.sentences[which], np.cumsum(sizes) - sizes, self.whole[rows])


def bags(seen: Sequence[Seen]) -> Bags:
    """The matrices of some questions."""
    sizes = np.array([len(s.sentences) for s in seen])
    return Bags(
        matrix([f for s in seen for f in s.sentences], BUCKETS),
        np.cumsum(sizes) - sizes,
        matrix([s.whole for s in seen], WHOLE_BUCKETS),
    )


class Weights(NamedTuple):
    """What is fitted: of sentences (buckets, k + 1), last how much one asks; of wholes (buckets, k); bias (1, k)."""

    sentence: Floats
    whole: Floats
    bias: Floats

    def scores(self, given: Bags) -> Floats:
        """The score of each intent of each message (n, k)."""
        return _pooled(self, given)[0]

    def asking(self, given: Bags) -> NDArray[np.int64]:
        """Which sentence of each message asks most, counted from its first."""
        shares = _pooled(self, given)[1]
        ends = np.append(given.starts[1:], len(shares))
        return np.array([int(shares[a:b].argmax()) for a, b in zip(given.starts, ends, strict=True)])


def _pooled(weights: Weights, given: Bags) -> tuple[Floats, Floats, Floats]:
    """Scores of messages (n, k), shares of sentences (m,), scores of sentences (m, k)."""
    each = given.sentences @ weights.sentence
    owner, asks = given.owner, each[:, -1]
    shares = np.exp(asks - np.maximum.reduceat(asks, given.starts)[owner])
    shares /= np.add.reduceat(shares, given.starts)[owner]
    pooled = np.add.reduceat(each[:, :-1] * shares[:, None], given.starts, axis=0)
    return pooled + given.whole @ weights.whole + weights.bias, shares, each[:, :-1]


class Learning(NamedTuple):
    """How weights are learnt: rate, L2 penalty a row, rounds over all rows, rows a step. Ours, chosen on folds."""

    rate: float = 0.5
    penalty: float = 1e-6
    rounds: int = 12
    batch: int = 512
    seed: int = 7


_LEARNING = Learning()


def fit_pooled(given: Bags, targets: Floats, weight: Floats, how: Learning = _LEARNING) -> Weights:
    """The weights that make the targets (n, k), each a distribution, likely, by AdaGrad (Duchi et al. 2011)."""
    k = targets.shape[1]
    now = Weights(*(np.zeros(shape, np.float32) for shape in ((BUCKETS, k + 1), (WHOLE_BUCKETS, k), (1, k))))
    squares = [np.full_like(part, 1e-6) for part in now]
    order = np.random.default_rng(how.seed)
    for _ in range(how.rounds):
        rows = order.permutation(len(targets))
        for at in range(0, len(rows), how.batch):
            batch = rows[at : at + how.batch]
            slopes = _slopes(now, given.take(batch), targets[batch], weight[batch])
            for part, square, (columns, slope) in zip(now, squares, slopes, strict=True):
                slope = slope / len(batch) + how.penalty * part[columns]
                square[columns] += slope * slope
                part[columns] -= how.rate * slope / np.sqrt(square[columns])
    return now


Slope = tuple[NDArray[np.int64], Floats]  # the rows of a matrix of weights that a batch touches, and its slopes there


def _slopes(now: Weights, given: Bags, targets: Floats, weight: Floats) -> tuple[Slope, Slope, Slope]:
    """The slopes of the loss of a batch in the weights of sentences, of wholes, and in the bias."""
    scores, shares, each = _pooled(now, given)
    _, slope = _likelihood(scores, targets, weight)
    owner = given.owner
    down = slope[owner]
    pooled = np.add.reduceat(each * shares[:, None], given.starts, axis=0)
    sentence = np.column_stack([shares[:, None] * down, shares * ((each - pooled[owner]) * down).sum(axis=1)])
    everywhere = np.zeros(1, np.int64)
    return _touched(given.sentences, sentence), _touched(given.whole, slope), (everywhere, slope.sum(axis=0)[None])


def _touched(x: Any, slope: Floats) -> Slope:
    """The columns of `x` that hold something, and the slopes of their weights."""
    columns = x.tocsc()
    there = np.flatnonzero(np.diff(columns.indptr))
    return there, np.asarray(columns[:, there].T @ slope, np.float32)


class Beside(NamedTuple):
    """A factor of given scores, and a network of one hidden layer over vectors."""

    factor: Floats  # (1,)
    inward: Floats  # (d, h)
    inward_bias: Floats  # (h,)
    outward: Floats  # (h, k)
    outward_bias: Floats  # (k,)

    def scores(self, vectors: Floats, scores: Floats) -> Floats:
        """The scores of both together (n, k)."""
        hidden = np.maximum(vectors @ self.inward + self.inward_bias, 0)
        return np.asarray(self.factor * scores + hidden @ self.outward + self.outward_bias, np.float32)


class Schooling(NamedTuple):
    """How the network over vectors is learnt. Ours, chosen on folds."""

    hidden: int = 256
    dropped: float = 0.5  # share of the hidden values left out at each step (Srivastava et al. 2014)
    rate: float = 2e-3
    decay: float = 1e-4
    alone: float = 0.15  # share of the rows of a step without their scores and language: a vector must do of others
    rounds: int = 5
    batch: int = 256
    seed: int = 7


_SCHOOLING = Schooling()


def fit_beside(vectors: Floats, scores: Floats, targets: Floats, weight: Floats, how: Schooling = _SCHOOLING) -> Beside:
    """What makes the targets likely from given scores (n, k) and vectors (n, d) together, by Adam with decay."""
    chance = np.random.default_rng(how.seed)
    d, h, k = vectors.shape[1], how.hidden, targets.shape[1]

    def drawn(inside: int, outside: int) -> Floats:
        return chance.uniform(-1, 1, (inside, outside)).astype(np.float32) / np.float32(inside) ** 0.5

    now = Beside(np.ones(1, np.float32), drawn(d, h), np.zeros(h, np.float32), drawn(h, k), np.zeros(k, np.float32))
    first, second = [np.zeros_like(part) for part in now], [np.zeros_like(part) for part in now]
    step = 0
    for _ in range(how.rounds):
        rows = chance.permutation(len(targets))
        for at in range(0, len(rows), how.batch):
            batch, step = rows[at : at + how.batch], step + 1
            keep = (chance.random((len(batch), h)) >= how.dropped).astype(np.float32) / (1 - how.dropped)
            there = (chance.random((len(batch), 1)) >= how.alone).astype(np.float32)
            seen = np.hstack([vectors[batch, :-1], vectors[batch, -1:] * there])
            slopes = _network_slopes(now, seen, scores[batch] * there, targets[batch], weight[batch], keep)
            for part, mean, square, slope in zip(now, first, second, slopes, strict=True):
                mean += 0.1 * (slope - mean)
                square += 0.001 * (slope * slope - square)
                part *= 1 - how.rate * how.decay
                part -= how.rate * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.999**step)) + 1e-8)
    return now


def _network_slopes(
    now: Beside, vectors: Floats, scores: Floats, targets: Floats, weight: Floats, keep: Floats
) -> tuple[Floats, ...]:
    """The slopes of the mean loss of a batch, in the order of the parts of the network."""
    before = vectors @ now.inward + now.inward_bias
    hidden = np.maximum(before, 0) * keep
    _, slope = _likelihood(now.factor * scores + hidden @ now.outward + now.outward_bias, targets, weight)
    slope /= len(targets)
    inside = (slope @ now.outward.T) * keep * (before > 0)
    return (
        np.array([(scores * slope).sum()], np.float32), vectors.T @ inside, inside.sum(axis=0), hidden.T @ slope,
        slope.sum(axis=0),
    )  # fmt: skip


def fit_factor(scores: Floats, targets: Floats, weight: Floats) -> float:
    """The factor of scores (inverse temperature, Guo et al. 2017, arXiv:1706.04599) likeliest to give the targets."""

    def loss(flat: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        lost, slope = _likelihood(np.float32(flat[0]) * scores, targets, weight)
        return lost, np.array([(scores * slope).sum()], np.float64)

    return float(_minimum(loss, np.ones(1), 50, len(targets))[0])


def _likelihood(scores: Floats, targets: Floats, weight: Floats) -> tuple[float, Floats]:
    """The weighted negative log-likelihood of targets, and its slope (n, k) in the scores."""
    scores = scores - scores.max(axis=1, keepdims=True)
    shares = np.exp(scores)
    total = shares.sum(axis=1, keepdims=True)
    lost = float((weight * (np.log(total[:, 0]) - (targets * scores).sum(axis=1))).sum())
    return lost, ((shares / total - targets) * weight[:, None]).astype(np.float32)


def _minimum(
    loss: Callable[[NDArray[np.float64]], tuple[float, NDArray[np.float64]]],
    start: NDArray[np.float64] | int,
    steps: int,
    rows: int,
) -> Floats:
    """Where a loss is least; `start` = a place, or how many zeros."""
    from scipy.optimize import minimize

    def each(flat: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        lost, slope = loss(flat)
        return lost / rows, slope / rows

    begin = np.zeros(start) if isinstance(start, int) else start
    found = minimize(each, begin, jac=True, method="L-BFGS-B", options={"maxiter": steps, "maxcor": 6})
    return np.asarray(found.x, np.float32)
