"""Metrics that are made from a model, or from all references of a data set, before they can score."""

import csv
import hashlib
import string
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from math import log, sqrt
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kgmed.errors import BadInput, PromptTooLong, SourceError, Unavailable
from kgmed.evaluate.items import Choices, Item, MadeMetrics, Metric
from kgmed.evaluate.metrics import made_metrics
from kgmed.evaluate.metrics.text import words
from kgmed.graph.base import LocalGraph
from kgmed.language.text import normalise
from kgmed.linking.recognise import Lexicon
from kgmed.models.asking import Likelihood
from kgmed.models.files import load_transformer
from kgmed.records import Query, Question, Run
from kgmed.registry import metrics

# --- What a transformer makes of the tokens of a text, for BERTScore and MoverScore: unit rows, read in batches, kept.


_LONGEST = 512  # tokens, where the model names no limit
_KEPT = 100_000  # rows that stay in memory
AT_ONCE = 64  # pairs of texts


class Read(NamedTuple):
    """A text as a model reads it."""

    ids: tuple[int, ...]  # with the marks of beginning and end
    rows: NDArray[np.float32]  # (n, d), of length 1 where they are of one layer


class States:
    """The states of one layer of a model; 0 = what goes into the first layer, -1 = after the last one.

    With `last` those of so many last layers: of each brought to length 1 the least, mean and greatest, side by side.
    """

    def __init__(
        self, model: str | Path, *, layer: int = -1, last: int = 0, batch: int = 32, kept: int = _KEPT,
        device: str = "",
    ) -> None:  # fmt: skip
        """Load a model from a folder or by a name on the model hub; raises `Unavailable`, `ModelFailed`, `BadInput`."""
        self._device = device or "cpu"
        self._tokenizer, self._model = load_transformer("AutoModel", model, self._device)
        layers = int(self._model.config.num_hidden_layers)
        if not -1 <= layer <= layers:
            raise BadInput(f"{model} has the layers 0 to {layers}, and no layer {layer}")
        self.layer, self._last = layers if layer == -1 else layer, last
        self.longest = _limit(self._tokenizer, self._model)
        self.name = Path(model).name if Path(model).is_dir() else str(model)
        self.hash = weights_hash(self._tokenizer, self._model)
        self.silent = {self._tokenizer.cls_token_id, self._tokenizer.sep_token_id} - {None}
        self._kept: OrderedDict[str, Read] = OrderedDict()
        self._batch, self._most = batch, kept

    def __repr__(self) -> str:
        """The model, its hash, the layer and how much of a text it reads."""
        where = f"the last {self._last} layers" if self._last else f"layer {self.layer}"
        return f"{self.name}@{self.hash} {where}, {self.longest} tokens"

    def ids(self, text: str) -> tuple[int, ...]:
        """The tokens of a text, cut off at what the model can read."""
        whole = text.strip().encode("utf-8", "replace").decode("utf-8")
        return tuple(map(int, self._tokenizer(whole, truncation=True, max_length=self.longest)["input_ids"]))

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """The tokens of ids as the tokenizer writes them."""
        return [str(piece) for piece in self._tokenizer.convert_ids_to_tokens(list(ids))]

    def read(self, texts: Iterable[str]) -> dict[str, Read]:
        """Each text as the model reads it; texts of like length are read together."""
        wanted = list(dict.fromkeys(texts))
        found = {t: self._kept[t] for t in wanted if t in self._kept}
        left = sorted(((t, self.ids(t)) for t in wanted if t not in found), key=lambda row: len(row[1]))
        for i in range(0, len(left), self._batch):
            some = left[i : i + self._batch]
            for (text, ids), rows in zip(some, self._rows([ids for _, ids in some]), strict=True):
                found[text] = Read(ids, rows)
        self._keep(found)
        return found

    def _rows(self, ids: Sequence[Sequence[int]]) -> list[NDArray[np.float32]]:
        """The unit rows of each list of tokens; no padding reaches them."""
        import torch  # heavy

        longest = max(map(len, ids))
        if not longest:
            return [np.zeros((0, int(self._model.config.hidden_size)), np.float32) for _ in ids]
        padded = torch.full((len(ids), longest), self._tokenizer.pad_token_id or 0, dtype=torch.long)
        mask = torch.zeros_like(padded)
        for i, row in enumerate(ids):
            padded[i, : len(row)], mask[i, : len(row)] = torch.tensor(row, dtype=torch.long), 1
        with torch.inference_mode():
            here, told = padded.to(self._device), mask.to(self._device)
            found = self._model(here, attention_mask=told, output_hidden_states=True).hidden_states
            chosen = found[1:][-self._last :] if self._last else found[self.layer :][:1]
            layers = torch.nn.functional.normalize(torch.stack([layer.float() for layer in chosen]), dim=-1)
            parts = [layers.amin(0), layers.mean(0), layers.amax(0)] if self._last else [layers[0]]
            states = torch.cat(parts, -1).cpu().numpy()
        return [np.asarray(states[i, : len(row)], np.float32) for i, row in enumerate(ids)]

    def _keep(self, found: Mapping[str, Read]) -> None:
        """Keep what was read last, as far as it fits."""
        for text, read in found.items():
            self._kept[text] = read
            self._kept.move_to_end(text)
        rows = sum(len(read.ids) for read in self._kept.values())
        while rows > self._most:
            rows -= len(self._kept.popitem(last=False)[1].ids)


def _limit(tokenizer: Any, model: Any) -> int:
    """The tokens that a model can read: the least that tokenizer and model name."""
    named = [int(tokenizer.model_max_length), int(getattr(model.config, "max_position_embeddings", 0) or 0)]
    if model.config.model_type in ("roberta", "xlm-roberta", "camembert", "mpnet"):
        named[1] -= int(model.config.pad_token_id or 0) + 1  # positions begin after that of the padding
    return min((n for n in named if 0 < n < 1 << 20), default=_LONGEST)


def weights_hash(tokenizer: Any, model: Any) -> str:
    """12 hexadecimal digits that tell apart models that differ in a weight or in a token."""
    import torch  # heavy

    whole = hashlib.sha256(repr(sorted(tokenizer.get_vocab().items())).encode("utf-8", "surrogatepass"))
    for name, weight in sorted(model.state_dict().items()):
        flat = weight.detach().cpu().contiguous().reshape(-1).view(torch.uint8)
        whole.update(name.encode() + flat.numpy().tobytes())
    return whole.hexdigest()[:12]


class Rarity:
    """Inverse document frequencies of tokens, frozen on a corpus: log((N + 1) / (n + 1)).

    >>> found = Rarity([(1, 2), (1, 3)])
    >>> [round(found.of(i), 4) for i in (1, 2, 9)]  # in both, in one, in none: log 1, log 3/2, log 3
    [0.0, 0.4055, 1.0986]
    """

    def __init__(self, corpus: Iterable[Iterable[int]]) -> None:
        """Count in how many texts each token is."""
        texts = [sorted({*ids}) for ids in corpus]
        counts = Counter(i for ids in texts for i in ids)
        self._size = len(texts)
        self._rarity = {i: log((self._size + 1) / (n + 1)) for i, n in counts.items()}
        self.hash = hashlib.sha256(repr(sorted(texts)).encode()).hexdigest()[:12]

    def of(self, token: int) -> float:
        """The rarity of a token; one of no text is the rarest."""
        return self._rarity.get(token, log(self._size + 1))


def token_weights(read: Read, silent: set[int], rarity: Rarity | None) -> NDArray[np.float64]:
    """The share of each token (n,), summing to 1: equal or by rarity, nothing for the marks of beginning and end.

    Where all that is left weighs nothing, as in a corpus of one text, tokens weigh the same; all 0 without a token.

    >>> token_weights(Read((8, 1, 2, 9), np.zeros((4, 1), np.float32)), {8, 9}, None).tolist()
    [0.0, 0.5, 0.5, 0.0]
    """
    plain = np.array([float(i not in silent) for i in read.ids], np.float64)
    rare = plain if rarity is None else plain * [rarity.of(i) for i in read.ids]
    found = rare if rare.sum() > 0 else plain
    return np.asarray(found / found.sum() if found.sum() > 0 else found, np.float64)


class TokenComparison:
    """Numbers of answers against their references, of each the best; every pair is compared once."""

    def __init__(self, states: States, compare: Callable[[Read, Read], tuple[float, ...]]) -> None:
        """`compare` gives the numbers of an answer and one reference, in this order."""
        self._states, self._compare = states, compare
        self._known: dict[tuple[str, str], tuple[float, ...]] = {}

    def ready(self, runs: Sequence[tuple[Run, Item]]) -> None:
        """Compare what will be asked for, the model reading many texts at a time."""
        wanted = dict.fromkeys((run.answer.text, text) for run, item in runs for text in item.gold.texts)
        left = [pair for pair in wanted if pair not in self._known]
        for i in range(0, len(left), AT_ONCE):
            read = self._states.read(text for pair in left[i : i + AT_ONCE] for text in pair)
            self._known |= {pair: self._compare(read[pair[0]], read[pair[1]]) for pair in left[i : i + AT_ONCE]}

    def best(self, run: Run, item: Item) -> tuple[float, ...] | None:
        """The best of each number over the references; None without one."""
        self.ready([(run, item)])
        found = [self._known[run.answer.text, text] for text in item.gold.texts]
        return tuple(map(max, zip(*found, strict=True))) if found else None

    def number(self, place: int) -> Callable[[Run, Item], float | None]:
        """The function that gives one of the numbers."""

        def score(run: Run, item: Item) -> float | None:
            best = self.best(run, item)
            return None if best is None else best[place]

        return score


def references(items: Iterable[Item]) -> list[str]:
    """Every reference answer of a data set, in its order."""
    return [text for item in items for text in item.gold.texts]


# --- BERTScore (Zhang et al. 2020): how like the tokens of an answer and of a reference are in a model's eyes.
# Each token of the answer is compared with the token of the reference whose state is nearest by cosine; precision is
# the
# mean over the answer's tokens, recall over the reference's, F = 2PR / (P + R). The marks of beginning and end can be
# nearest but weigh nothing. With `idf` tokens weigh by how rare they are in the references of the data set. Not
# rescaled
# unless a file of baselines is given. Equal to the bert-score package 0.3.13 under transformers 5, asked pair by pair:
# that package sets cosines below 0 to 0 where it pads a pair, and under transformers 4 put a space before a RoBERTa's
# first word.


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


def make_bertscore(
    model: str | Path, items: Sequence[Item], *, layer: int = -1, idf: bool = False, baseline: Path | None = None,
    device: str = "",
) -> tuple[Metric, ...]:  # fmt: skip
    """`bertscore-p`, `-r` and `-f` by a model; an answer without a word counts 0, and so does a failed run."""
    states = States(model, layer=layer, device=device)
    rarity = Rarity(states.ids(text) for text in references(items)) if idf else None
    floor = read_baseline(baseline, states.layer) if baseline else NONE

    def compare(answer: Read, reference: Read) -> tuple[float, ...]:
        said, wanted = (token_weights(read, states.silent, rarity) for read in (answer, reference))
        there = said.any() and wanted.any()
        found = prf(answer.rows.astype(float) @ reference.rows.T.astype(float), said, wanted) if there else NONE
        return tuple((x - b) / (1 - b) for x, b in zip(found, floor, strict=True))

    compared = TokenComparison(states, compare)
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


# --- MindMap's hallucination score: how like the keywords of an answer are to those of the reference, and its opposite.
# Keywords are weighed by tf x idf, idf = log((1 + N) / (1 + n)) + 1 over all references of the data set, whatever part
# of it is scored, so that figures of different runs can be compared; a keyword that no reference has is the rarest.
# The score is the cosine. The paper reports this likeness, higher = less made up; `hallucination` is 1 minus it. The
# paper's keywords come from a model trained for that; here from the words, or from a graph's own names.


class Extractor(NamedTuple):
    """What the keywords of a text are, and what that is called."""

    name: str
    find: Callable[[str], Sequence[str]]


WORDS = Extractor("words", words)


def graph_keywords(graph: LocalGraph) -> Extractor:
    """A graph's own names in a text, as often as they occur, as their normalised forms."""
    lexicon = Lexicon(graph)
    return Extractor(
        f"names of {graph.label}", lambda text: [normalise(m.name) for m in lexicon(Query(Question(text)))]
    )


class Likeness:
    """The cosine of two lists of keywords under frozen rarities.

    >>> like = Likeness([["gout", "toe"], ["gout", "flu"]])  # idf: gout 1, toe and flu 1 + log 3/2, others 1 + log 3
    >>> round(like(["gout"], ["gout", "toe"]), 4)  # 1 / sqrt(1 + 1.4055²)
    0.5797
    >>> round(like(["gout", "made-up"], ["gout", "toe"]), 4)  # / sqrt(1 + 2.0986²)
    0.2494
    """

    def __init__(self, corpus: Iterable[Iterable[str]]) -> None:
        """Count in how many texts each keyword is."""
        texts = [sorted({*text}) for text in corpus]
        counts = Counter(word for text in texts for word in text)
        self._size = len(texts)
        self._rarity = {word: log((1 + self._size) / (1 + n)) + 1 for word, n in counts.items()}
        self.hash = hashlib.sha256(repr(sorted(texts)).encode("utf-8", "surrogatepass")).hexdigest()[:12]

    def __call__(self, said: Iterable[str], wanted: Iterable[str], /) -> float:
        """0 to 1; 0 where either has no keyword."""
        a, b = self._weights(said), self._weights(wanted)
        norm = sqrt(sum(x * x for x in a.values())) * sqrt(sum(x * x for x in b.values()))
        return min(1.0, sum(a[w] * b[w] for w in a.keys() & b.keys()) / norm) if norm else 0.0

    def _weights(self, keywords: Iterable[str]) -> dict[str, float]:
        rarest = log(1 + self._size) + 1
        return {word: n * self._rarity.get(word, rarest) for word, n in Counter(keywords).items()}


def make_hallucination(items: Sequence[Item], extractor: Extractor = WORDS) -> tuple[Metric, ...]:
    """`hallucination-similarity` and `hallucination` over a whole data set; a failed run has likeness 0.

    A reference without a keyword has no number; of several references the likest counts.
    """
    like = Likeness(extractor.find(text) for text in references(items))

    def similarity(run: Run, item: Item) -> float | None:
        said = extractor.find(run.answer.text)
        wanted = [found for text in item.gold.texts if (found := extractor.find(text))]
        return max((like(said, keywords) for keywords in wanted), default=None)

    def opposite(run: Run, item: Item) -> float | None:
        found = similarity(run, item)
        return None if found is None else 1 - found

    source = f"Wen et al. 2024, MindMap; keywords: {extractor.name}, idf of {like.hash}"
    return (
        Metric("hallucination-similarity", "cosine of tf x idf of keywords", source, similarity, ("text",)),
        Metric("hallucination", "1 - that cosine", source, opposite, ("text",), failed=1.0, higher=False),
    )


# --- How surprised a named model is by an answer, given its question: 2 ^ (-mean of log2 p) over the answer's tokens.
# The papers do not say whose surprise they report. Figures of two models cannot be compared, since their tokens differ.


BETWEEN = "\n"  # stands between question and answer, and belongs to the question


def make_perplexity(model: str | Path, *, device: str = "") -> tuple[Metric, ...]:
    """`perplexity` by a causal model from a folder, a name on the model hub or a GGUF file."""
    from kgmed.models.transformers_lm import TransformersLM  # heavy where it is made

    llm = TransformersLM(model, device=device or "cpu")
    return (_perplexity_of(llm, f"weights {llm.settings['weights']}"),)


def _perplexity_of(model: Likelihood, mark: str = "") -> Metric:
    """The metric under a model; None for a failed run, an empty answer and one longer than the model can read."""

    def score(run: Run, item: Item) -> float | None:
        if not run.answer.text.strip():
            return None
        try:
            found = model.logprobs(item.question.text + BETWEEN, [run.answer.text])
        except PromptTooLong:
            return None
        return float(found.perplexities[0]) if len(found.tokens[0]) else None

    source = f"Jiang et al. 2025, HyKGE, 4.1.3; {', '.join(filter(None, (model.name, mark)))}"
    formula = "2 ^ (-mean log2 p) of the answer's tokens after the question"
    return Metric("perplexity", formula, source, score, failed=None, higher=False)


# --- Metrics that are made before they can score: from a model, or from all references of the data set.
# What a figure depends on (model and its hash, layer, idf, rescaling, corpus) stands in the metric's `source`.


def _hallucination(chosen: Choices, items: Sequence[Item]) -> tuple[Metric, ...]:
    from kgmed.graph import library

    if not chosen.graph:
        return make_hallucination(items)
    return make_hallucination(items, graph_keywords(library.load(chosen.graph)))


def _bertscore(chosen: Choices, items: Sequence[Item]) -> tuple[Metric, ...]:
    model = chosen.model("bertscore")
    return make_bertscore(
        model, items, layer=chosen.layer, idf=chosen.idf, baseline=chosen.baseline, device=chosen.device
    )


def _perplexity(chosen: Choices, _: Sequence[Item]) -> tuple[Metric, ...]:
    return make_perplexity(chosen.model("perplexity"), device=chosen.device)


metrics.add(MadeMetrics("bertscore", "a model", _bertscore))
metrics.add(MadeMetrics("perplexity", "a model", _perplexity))
metrics.add(MadeMetrics("hallucination", "the references of the data set", _hallucination))


def models(given: Sequence[str]) -> dict[str, str]:
    """The models by the metrics that they are for, "" = for all; raises `BadInput`.

    >>> models(["models/minilm", "perplexity=models/lm"])
    {'': 'models/minilm', 'perplexity': 'models/lm'}
    """
    found: dict[str, str] = {}
    known = made_metrics() if given else {}
    for text in given:
        name, _, rest = text.partition("=")
        key, model = (name, rest) if name in known else ("", text)
        if key in found:
            raise BadInput(f"--metric-model names two models{f' for {key}' if key else ''}; name one")
        found[key] = model
    return found


# --- MoverScore (Zhao et al. 2019): how far the words of an answer must be moved to be those of a reference.
# 1 - the earth mover's distance between the n-grams of both. An n-gram lies at the mean of its tokens' states weighted
# by rarity, brought to length 1; what it weighs is the sum of the rarities. Two kinds:
# - `moverscore-1` and `-2`, ours: the states of one layer of any model, one table of rarities frozen on the references
#   of the data set, every token but the marks of beginning and end, the Euclidean distance, not below 0.
# - `moverscore-v1`, `-v1-2` and `-v2`, as moverscore.py and moverscore_v2.py of the authors' package 1.0.3 compute them
#   on the same model: a table of rarities of the answers beside that of the references, no punctuation, no later pieces
#   of a word (those with ##). v1 takes the last five layers, each brought to length 1, their least, mean and greatest
#   values side by side, and the squared distance; v2 the last layer and the distance itself. v1 is meant for a BERT
#   trained on MNLI, v2 for distilbert-base-uncased. What an answer scores depends on the other answers of its method,
#   for their rarities are counted.
# Equal to the package within 1e-4, since it adds 1e-5 (v1) to what it divides by. Not equal where an item has several
# references (it takes one; here the best counts, and all are in the table), where a text has no word that weighs
# anything (here 0; the package divides 0 by almost 0), or where the model's pieces are not marked by ##.

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
    return max(0.0, 1 - mover_distance(of_a, of_b, np.sqrt(np.maximum(0, 2 - 2 * a @ b.T))))


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
