"""Training of the classifier of questions (`kgmed train questions`): rows of marked questions to heads.

Each row is seen with its names masked, and with the names that a graph finds in it. What the parts of the model are
fitted to, and what is told of them, is of rows left out: of folds by the wording, names and numbers apart.
"""

import re
import zlib
from collections import Counter
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kgmed.errors import BadInput
from kgmed.frame import Intent
from kgmed.language.text import has_cjk
from kgmed.question.emergency import NONE, pieces, weighed
from kgmed.question.model import (
    ASKS,
    BUCKETS,
    CLASSES,
    FORMS,
    NETWORK,
    NO_NAME,
    REFUSED,
    SLOT_BUCKETS,
    SLOTS,
    SMALL_BUCKETS,
    Features,
    Span,
    asked_of_encoder,
    beside,
    features,
    masked,
    of_network,
    packed,
    slot_features,
)
from kgmed.question.understand import SECOND
from kgmed.train.pooling import (
    Bags,
    Beside,
    MarkedQuestion,
    Weights,
    asking_words,
    bags,
    coupled,
    fit_beside,
    fit_factor,
    fit_pooled,
    matrix,
    parse,
    read,
    read_meqsum,
    rows_of,
)

# --- Training of the detector of emergencies (`kgmed train questions`): written frames of words to one linear head.
#
# A row of `question/data/emergencies` is KIND TAB FRAME. In a frame `{a|b}` stands for one of some words and `@list`
# for one of a list, which a row `@list TAB a|b|c` gives. Each frame is written out with words drawn by a fixed seed.

_ROWS = 80  # ours: rows that a frame is written out to, at most
_C_ALARM = 15.0  # ours, chosen on the uneven rows of bench/emergencies.tsv: the inverse of the penalty
_TOLD = 1.5  # ours: weight of a row that tells an emergency; one that is missed is worse than a false alarm
_CHOICE, _LIST = r"\{([^{}]*)\}", r"@(\w+)"
Row = tuple[str, str]  # kind, text


def frames_of(data: Path | None = None) -> list[Row]:
    """The kinds and frames of a folder, lists written into them; raises `BadInput` with file and line."""
    folder = data or Path(str(resources.files("kgmed.question").joinpath("data", "emergencies")))
    found = []
    for path in sorted(folder.glob("*.tsv")):
        lists: dict[str, str] = {}
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            kind, tab, text = line.partition("\t")
            if not tab:
                raise BadInput(f"{path}, line {number}: {line[:60]!r} is no row KIND TAB FRAME")
            if kind.startswith("@"):
                lists[kind[1:]] = _with_lists(text, lists)
            else:
                found.append((kind, _with_lists(text, lists)))
    return found


def _with_lists(text: str, lists: dict[str, str]) -> str:
    """A frame with the words of its lists; a list is known by the longest name that fits: @药过量 is @药."""

    def words(m: re.Match[str]) -> str:
        name = next((m[1][:n] for n in range(len(m[1]), 0, -1) if m[1][:n] in lists), "")
        return f"{{{lists[name]}}}{m[1][len(name) :]}" if name else m[0]

    return re.sub(_LIST, words, text)


def written_out(frames: Sequence[Row], rows: int = _ROWS) -> Iterator[Row]:
    """The rows of each frame, each once, always the same.

    >>> sorted(written_out([("poison", "ate {bleach|glue}")]))
    [('poison', 'ate bleach'), ('poison', 'ate glue')]
    """
    for kind, frame in frames:
        chance = np.random.default_rng(zlib.crc32(frame.encode()))
        yield from ((kind, text) for text in sorted({_drawn(frame, chance) for _ in range(2 * rows)})[:rows])


def _drawn(frame: str, chance: np.random.Generator) -> str:
    """A frame with one of the words of each choice, the inner ones first.

    >>> _drawn("{{ate|drank} it|it is {gone|gone}}", np.random.default_rng(1))
    'it is gone'
    """

    def word(m: re.Match[str]) -> str:
        words = m[1].split("|")
        return words[int(chance.integers(len(words)))]

    while re.search(_CHOICE, frame):
        frame = re.sub(_CHOICE, word, frame)
    return frame.strip(" ，,")


def fit_emergencies(rows: Sequence[Row], others: Sequence[MarkedQuestion]) -> dict[str, NDArray[Any]]:
    """The arrays of the head, from rows that are written out and from questions, without those of overdoses."""
    from sklearn.linear_model import LogisticRegression

    said = [(kind, part, 1.0 if kind == NONE else _TOLD) for kind, text in rows for part in pieces(text)[:1]]
    said += [(NONE, part, 1.0) for row in others if Intent.OVERDOSE not in row.intents for part in pieces(row.text)]
    x = matrix([weighed(part) for _, part, _ in said], BUCKETS)
    model = LogisticRegression(C=_C_ALARM, max_iter=200)
    model.fit(x, [kind for kind, *_ in said], sample_weight=[weight for *_, weight in said])
    return packed("emergency", [str(c) for c in model.classes_], model.coef_, model.intercept_.astype(np.float32))


__all__ = ["Figures", "asking_words", "fit", "named_by", "parse", "read", "read_meqsum", "rows_of", "save", "table"]
_AS_MARKED, _AS_WRITTEN = 0.5, 0.35  # ours: weights of a question with its marks, and without, beside the one as in use
_FIRST = 0.6  # ours: share of the first of two intents; both are asked, and one has to be answered first
_COUPLED = 0.06  # ours: pairs that are made of rows, as a share of them
_C = 20.0  # ours, chosen on folds: the inverse of the penalty
FOLDS = 3
_FEWEST = 100  # rows

Encode = Callable[[Sequence[str]], NDArray[np.float32]]
Find = Callable[[str], Sequence[Span]]  # the names that a graph finds in a text


class Example(NamedTuple):
    """A question as it is seen once: of which row, with which names, how much it weighs, and whether as in use."""

    row: MarkedQuestion
    spans: tuple[Span, ...]
    weight: float
    in_use: bool  # as the understander sees questions; figures are of these
    part: int  # the fold, of one row the same


@dataclass(frozen=True)
class Figures:
    """How the classifier does on rows left out of its training, each with the names that a graph finds.

    Attributes:
        rows: How many.
        alone: Share with a first intent that the row has, by n-grams alone.
        joined: The same beside sentence vectors.
        error: Mean of the differences between probability and share right, in ten steps (expected calibration error).
        negative: Precision and recall of refusing questions.
        two: Precision and recall of questions that ask two things.
        form: Share of forms right.
        slots: Share of names with the right slot, the intent known.
        names: Share of names told apart from what is no name.
    """

    rows: int
    alone: float
    joined: float
    error: float
    negative: tuple[float, float]
    two: tuple[float, float]
    form: float
    slots: float
    names: float


def fit(
    rows: Sequence[MarkedQuestion],
    encode: Encode,
    encoder: str,
    find: Find | None = None,
    at: Callable[[str], None] = lambda step: None,
) -> tuple[dict[str, Any], Figures]:
    """The arrays of the model, and how it does. `find` gives the names of a graph in a text; `at` is told each step.

    Raises `BadInput` for too few rows.
    """
    if len(rows) < _FEWEST:
        raise BadInput(f"{len(rows)} questions are too few to train on; at least {_FEWEST} are needed")
    at("finding names")
    kept, names, slots = _fit_slots(rows, find)
    at("learning intents")
    examples = list(_examples(rows, names if find else None))
    seen = [features(e.row.text, e.spans) for e in examples]
    data = _Data(bags(seen), _targets(examples), *_weighed(examples))
    scores, whole = _fit_intents(data)
    places = whole.asking(data.bags)
    asked = [asked_of_encoder(e.row.text, e.spans, int(p)) for e, p in zip(examples, places, strict=True)]
    at("making vectors")
    vectors = _vectors(asked, encode)
    at("learning beside vectors")
    both, beside_ = _fit_vectors(data, scores, vectors)
    small = matrix([beside(s, int(p)) for s, p in zip(seen, places, strict=True)], SMALL_BUCKETS)
    heads, guessed = _fit_forms(examples, small, data)
    alone = fit_factor(scores, data.targets, data.weight)
    kept |= packed("sentence", (*CLASSES, ASKS), whole.sentence.T, np.zeros(len(CLASSES) + 1))
    kept |= packed("whole", CLASSES, whole.whole.T, whole.bias[0]) | heads
    kept |= {name: getattr(beside_, name).astype(np.float16) for name in NETWORK}
    kept |= {"encoder": np.array(encoder), "share": np.array([alone, beside_.factor[0]])}
    return kept, _figures(examples, data, scores, both, guessed, slots)


class Guessed(NamedTuple):
    """Labels as they are, and as they were guessed on folds left out."""

    right: NDArray[Any]
    said: NDArray[Any]

    @property
    def share(self) -> float:
        """The share of them that is right."""
        return float((self.right == self.said).mean())

    def found(self, label: object) -> tuple[float, float]:
        """Precision and recall of a label."""
        both = float(((self.right == label) & (self.said == label)).sum())
        return both / max(float((self.said == label).sum()), 1), both / max(float((self.right == label).sum()), 1)

    def only(self, rows: NDArray[np.bool_]) -> "Guessed":
        """Some of them."""
        return Guessed(self.right[rows], self.said[rows])


def table(figures: Figures) -> list[tuple[str, str]]:
    """The figures in words."""

    def pair(both: tuple[float, float]) -> str:
        return f"precision {both[0]:.3f}, recall {both[1]:.3f}"

    return [
        ("questions", str(figures.rows)),
        ("first intent right, by n-grams", f"{figures.alone:.3f}"),
        ("first intent right, with vectors", f"{figures.joined:.3f}"),
        ("calibration error", f"{figures.error:.3f}"),
        ("what must not be taken or done", pair(figures.negative)),
        ("two things asked", pair(figures.two)),
        ("form right", f"{figures.form:.3f}"),
        ("slot of a name right", f"{figures.slots:.3f}"),
        ("names told from others", f"{figures.names:.3f}"),
    ]


def save(path: Path, kept: dict[str, Any]) -> None:
    """Write the arrays of a model to a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        np.savez(file, allow_pickle=False, **kept)


def named_by(graph: str = "") -> Find:
    """What finds names in a text as the understander does, by some graphs; "" = those that questions are put to."""
    import kgmed
    from kgmed.language.text import prompt_language
    from kgmed.records import Query, Question

    session = kgmed.load(graph=graph) if graph else kgmed.load()

    def find(text: str) -> list[Span]:
        question = Question(text)
        toolkit = session.toolkit(session.order(question, None)[0], prompt_language(question))
        pipeline = session.pipeline(toolkit)
        mentions = pipeline.recognize(Query(question))
        return toolkit.understand.names(text, mentions, pipeline.link(mentions))

    return find


class _Data(NamedTuple):
    """What the heads of intents are fitted to: messages, targets (n, k), weights and folds (n,)."""

    bags: Bags
    targets: NDArray[np.float32]
    weight: NDArray[np.float32]
    part: NDArray[np.int64]


def _weighed(examples: Sequence[Example]) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    return np.array([e.weight * e.row.weight for e in examples], np.float32), np.array([e.part for e in examples])


def _part(row: MarkedQuestion) -> int:
    """The fold of a row: of all that differ in their names and numbers alone the same."""
    return zlib.crc32(masked(row.text, [span for span, _ in row.names]).encode()) % FOLDS


def _examples(rows: Sequence[MarkedQuestion], names: Sequence[tuple[Span, ...]] | None) -> Iterator[Example]:
    """Each row with its marks, and with the names that a graph finds, or as written where there is no graph.

    Of each fold also pairs of its rows as one question.
    """
    for at, (row, part) in enumerate(zip(rows, [_part(row) for row in rows], strict=True)):
        spans = _marks(row)
        if spans:
            yield Example(row, spans, 1.0 if names is None else _AS_MARKED, names is None, part)
        if names is not None:
            yield Example(row, names[at], 1.0, in_use=True, part=part)
        else:
            yield Example(row, (), _AS_WRITTEN if spans else 1.0, not spans, part)
    yield from (Example(row, _marks(row), _AS_MARKED, in_use=False, part=fold) for row, fold in _pairs(rows))


def _pairs(rows: Sequence[MarkedQuestion]) -> Iterator[tuple[MarkedQuestion, int]]:
    """Of each fold pairs of its rows as one question."""
    for fold in range(FOLDS):
        mine = [row for row in rows if _part(row) == fold]
        yield from ((row, fold) for row in coupled(mine, int(_COUPLED * len(mine))))


def _marks(row: MarkedQuestion) -> tuple[Span, ...]:
    return tuple(span for span, _ in row.names)


def _targets(examples: Sequence[Example]) -> NDArray[np.float32]:
    """What is asked by each (n, k); of two intents the one that is named first has the larger share."""
    found = np.zeros((len(examples), len(CLASSES)), np.float32)
    for at, example in enumerate(examples):
        names = _classes_of(example.row)
        for name, share in zip(names, (_FIRST, 1 - _FIRST) if len(names) > 1 else (1.0,), strict=True):
            found[at, CLASSES.index(name)] += share
    return found


def _classes_of(row: MarkedQuestion) -> list[str]:
    """The classes of a row; of two intents that may be refused the last is."""
    refuses = "neg" in row.flags and "yn" not in row.flags  # "is it forbidden?" asks the same as "is it safe?"
    may = [intent for intent in row.intents if intent in REFUSED and refuses]
    return [f"not {intent}" if intent in may[-1:] else intent for intent in row.intents]


# --- heads


def _fit_intents(data: _Data) -> tuple[NDArray[np.float32], Weights]:
    """The scores of n-grams on folds left out (n, k), and the weights of all."""
    scores = np.zeros_like(data.targets)
    for fold in range(FOLDS):
        inside, outside = np.flatnonzero(data.part != fold), np.flatnonzero(data.part == fold)
        fitted = fit_pooled(data.bags.take(inside), data.targets[inside], data.weight[inside])
        scores[outside] = fitted.scores(data.bags.take(outside))
    return scores, fit_pooled(data.bags, data.targets, data.weight)


def _fit_vectors(
    data: _Data, scores: NDArray[np.float32], vectors: NDArray[np.float32]
) -> tuple[NDArray[np.float32], Beside]:
    """The scores beside vectors on folds left out (n, k), and the weights of all."""
    joined = np.zeros_like(scores)
    for fold in range(FOLDS):
        inside, outside = data.part != fold, data.part == fold
        fitted = fit_beside(vectors[inside], scores[inside], data.targets[inside], data.weight[inside])
        joined[outside] = fitted.scores(vectors[outside], scores[outside])
    return joined, fit_beside(vectors, scores, data.targets, data.weight)


_FORM_HEADS: tuple[tuple[str, tuple[str, ...], Callable[[MarkedQuestion], str]], ...] = (
    ("form", ("list", *FORMS), lambda row: next((flag for flag in FORMS if flag in row.flags), "list")),
    ("two", ("two",), lambda row: str(len(row.intents) > 1)),
)


def _fit_forms(examples: Sequence[Example], x: Any, data: _Data) -> tuple[dict[str, Any], dict[str, Guessed]]:
    """The heads of form, and what they say of folds left out beside what is right."""
    kept: dict[str, Any] = {}
    guessed: dict[str, Guessed] = {}
    for name, classes, label in _FORM_HEADS:
        y = np.array([label(e.row) for e in examples])
        guessed[name] = Guessed(y, _left_out(x, y, data.weight, data.part))
        kept |= _fitted(x, y, data.weight, classes, name)
    return kept, guessed


def _fit_slots(
    rows: Sequence[MarkedQuestion], find: Find | None
) -> tuple[dict[str, Any], list[tuple[Span, ...]], tuple[Guessed, Guessed]]:
    """The head of slots; of each row what a graph finds that is a name, said by the head of the other folds.

    Also the slots on folds left out: of what a graph finds with the intent known, and of that without.
    """
    marked = Counter(row.text[a:b].casefold() for row in rows for (a, b, _), _ in row.names)
    usual = {name for name, times in marked.items() if times > 1}
    pairs = list(_pairs(rows))
    parts = [*map(_part, rows), *(fold for _, fold in pairs)]
    slots = [slot for at, row in enumerate(rows) for slot in _slots(at, row, find, usual)]
    slots += [slot for at, (row, _) in enumerate(pairs, len(rows)) for slot in _slots(at, row, None, usual)]
    x, y = matrix([s.features for s in slots], SLOT_BUCKETS), np.array([s.label or NO_NAME for s in slots])
    weight, part = np.array([bool(s.label) for s in slots], np.float32), np.array([parts[s.row] for s in slots])
    said = _left_out(x, y, weight, part)
    names: list[list[Span]] = [[] for _ in rows]
    for slot, label in zip(slots, said, strict=True):
        if slot.found and not slot.known and label != NO_NAME:
            names[slot.row].append(slot.span)
    seen = np.array([bool(s.label) and (s.found or find is None) for s in slots])
    known = np.array([s.known for s in slots])
    all_, is_name = Guessed(y, said), Guessed(y != NO_NAME, said != NO_NAME)
    figures = all_.only(seen & known & (y != NO_NAME)), is_name.only(seen & ~known)
    return _fitted(x, y, weight, SLOTS, "slot"), [tuple(n) for n in names], figures


class _Slot(NamedTuple):
    """A name of a row as the head of slots sees it once; `label` "" = not known."""

    row: int
    span: Span
    label: str
    features: Features
    found: bool  # as a graph finds it, not as marked
    known: bool  # with the intent


def _slots(at: int, row: MarkedQuestion, find: Find | None, usual: Container[str]) -> Iterator[_Slot]:
    """The names of a row with their slots, as marked and as a graph finds them, the intent known and not."""
    for spans, labels, found in _labelled(row, find, usual):
        for intent in ("", row.intents[0]):
            for span, label, seen in zip(spans, labels, slot_features(row.text, spans, intent), strict=True):
                if not label and row.marked:
                    continue
                yield _Slot(at, span, label, seen, found, bool(intent))


def _labelled(
    row: MarkedQuestion, find: Find | None, usual: Container[str]
) -> Iterator[tuple[list[Span], list[str], bool]]:
    """The names of a row with their slots: the marks, and what a graph finds.

    What a graph finds outside the marks is no name; "" where nothing is known of it: one that is usually marked
    (`usual`), and all of a row that nobody marked.
    """
    if row.names:
        yield [span for span, _ in row.names], [slot for _, slot in row.names], False
    if find and (found := list(find(row.text))):
        inside = [[slot for m, slot in row.names if f.start < m.end and m.start < f.end] for f in found]
        without = [NO_NAME if row.marked and row.text[f.start : f.end].casefold() not in usual else "" for f in found]
        yield found, [slots[0] if slots else none for slots, none in zip(inside, without, strict=True)], True


# --- fitting and figures


def _figures(
    examples: Sequence[Example], data: _Data, scores: NDArray[np.float32], joined: NDArray[np.float32],
    guessed: dict[str, Guessed], slots: tuple[Guessed, Guessed],
) -> Figures:  # fmt: skip
    """The figures of the examples as in use."""
    used = np.array([e.in_use for e in examples])
    alone, both = _right(scores, data.targets)[used], _right(joined, data.targets)[used]
    refusing = Guessed(_refuse(data.targets), _refuse(joined)).only(used)
    shares = np.exp(joined - joined.max(1, keepdims=True))
    likely = np.sort(shares / shares.sum(1, keepdims=True))[:, -2] >= SECOND
    two = guessed["two"]._replace(said=np.where(likely, guessed["two"].said, "False"))
    return Figures(
        int(used.sum()), float(alone.mean()), float(both.mean()), _calibration(joined[used], both),
        refusing.found(label=True), two.only(used).found("True"),
        guessed["form"].only(used).share, slots[0].share, slots[1].share,
    )  # fmt: skip


def _refuse(scores: NDArray[np.float32]) -> NDArray[np.bool_]:
    """Whether what must not be taken or done is likelier asked for."""
    return np.asarray(scores.argmax(1) >= len(Intent))


def _right(scores: NDArray[np.float32], targets: NDArray[np.float32]) -> NDArray[np.bool_]:
    """Whether the likeliest intent is one of those asked, refusing or not."""
    plain = [*range(len(Intent)), *(CLASSES.index(name) for name in REFUSED)]
    asked = np.zeros((len(targets), len(Intent)), bool)
    for at, column in enumerate(plain):
        asked[:, column] |= targets[:, at] > 0
    return np.asarray(asked[np.arange(len(targets)), np.array(plain)[scores.argmax(1)]])


def _calibration(scores: NDArray[np.float32], right: NDArray[np.bool_]) -> float:
    """The expected calibration error in ten steps."""
    shares = np.exp(scores - scores.max(1, keepdims=True))
    sure = shares.max(1) / shares.sum(1)
    step = np.minimum((sure * 10).astype(int), 9)
    return float(
        sum(abs(sure[step == s].mean() - right[step == s].mean()) * (step == s).mean() for s in set(step.tolist()))
    )


def _left_out(x: Any, y: NDArray[Any], weight: NDArray[np.float32], part: NDArray[np.int64]) -> NDArray[Any]:
    """The label of each row by a head that was fitted to the other folds."""
    said = np.empty_like(y)
    for fold in range(FOLDS):
        inside, outside = part != fold, part == fold
        if outside.any():
            labels, weights, bias = _regression(x[inside], y[inside], weight[inside])
            said[outside] = labels[(x[outside] @ weights.T + bias).argmax(axis=1)]
    return said


def _regression(x: Any, y: NDArray[Any], weight: NDArray[np.float32]) -> tuple[NDArray[Any], Any, Any]:
    """The labels of some rows, and of a logistic regression the weights (k, columns) and the bias (k,) of each."""
    from sklearn.linear_model import LogisticRegression

    labels = np.unique(y)
    if len(labels) == 1:  # nothing to learn: it is always that
        return labels, np.zeros((1, x.shape[1])), np.zeros(1)
    model = LogisticRegression(C=_C, max_iter=100, tol=1e-3).fit(x, y, sample_weight=weight)
    weights, bias = model.coef_, model.intercept_
    if len(labels) == 2:
        weights, bias = np.vstack([np.zeros_like(weights), weights]), np.append(0.0, bias)
    return labels, weights, bias


def _fitted(x: Any, y: NDArray[Any], weight: NDArray[np.float32], classes: Sequence[str], name: str) -> dict[str, Any]:
    """The packed head of a logistic regression; classes that no row has keep zero weights and a low bias.

    A head of one class tells "True" from the rest.
    """
    labels, found, offset = _regression(x, y, weight)
    if len(classes) == 1:
        yes, no = (found[labels == label].sum(axis=0) for label in ("True", "False"))
        bias = offset[labels == "True"].sum() - offset[labels == "False"].sum()
        return packed(name, classes, (yes - no)[None], np.array([bias if len(labels) > 1 else -20.0]))
    weights, biases = np.zeros((len(classes), x.shape[1])), np.full(len(classes), -20.0)
    for own, intercept, label in zip(found, offset, labels, strict=True):
        weights[classes.index(label)], biases[classes.index(label)] = own, intercept
    return packed(name, classes, weights, biases)


def _vectors(texts: Sequence[str], encode: Encode) -> NDArray[np.float32]:
    """The vectors of texts as the network reads them; each text is encoded once."""
    once = {text: at for at, text in enumerate(dict.fromkeys(texts))}
    rows = np.vstack([encode([text]) for text in once])
    return np.vstack([of_network(rows[once[text]], "zh" if has_cjk(text) else "en") for text in texts])
