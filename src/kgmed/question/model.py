"""The trained classifier of questions: linear heads over hashed n-grams, kept as bytes with a scale a class.

The head of intents scores each sentence for each intent (and for some, for what must *not* be taken or done: a class
of its own) and for how much it asks; a message has the mean of its
sentences weighted by how much they ask (attention pooling, Ilse et al. 2018, arXiv:1802.04712), and the score of the
whole. `kgmed train questions` makes the weights from the questions in `data/`; see `data/DATASHEET.md`.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray
from xxhash import xxh32_intdigest

from kgmed import vocabulary
from kgmed.disk import data_folder, packaged
from kgmed.errors import SourceError
from kgmed.frame import Form, Intent
from kgmed.language.text import detected, has_cjk, lazily

# --- The words by which people ask, learned from the training questions: they name no entity of a graph.
#
# `data/asking_words.txt` holds the n-grams that stand in several questions outside of the marked names and hardly ever
# inside; `kgmed train questions` makes it.

_LONGEST_GRAM = 3  # words of an English n-gram
_LONGEST_GRAM_CJK = 6  # signs of a Chinese one
_SHORTEST_GRAM_CJK = 2
_ACRONYM = 3  # letters of a word in capitals from which it is a name, and no word that is stressed
_TOKEN = lazily(r"[a-z]+(?:['’-][a-z]+)*", re.IGNORECASE)
_CHINESE = lazily("[一-鿿]{2,}")
FILE = "asking_words.txt"


@vocabulary.kept(8)
def asking_words(language: str = "") -> frozenset[str]:
    """The n-grams that ask, in small letters: the learned ones, and those that the vocabulary has for a language."""
    text = packaged("kgmed.question", "data", FILE).read_text(encoding="utf-8")
    return frozenset((*text.splitlines(), *vocabulary.members("word_lists", f"asking words {language}")))


@lru_cache(maxsize=1024)
def asking_spans(text: str) -> tuple[tuple[int, int], ...]:
    """Where the words stand (start, end) by which a text asks.

    >>> said = "Which gene causes gout?"
    >>> "gene" in [said[a:b] for a, b in asking_spans(said)], "gout" in [said[a:b] for a, b in asking_spans(said)]
    (True, False)
    >>> said = "Which variants of NHS are known?"
    >>> "NHS" in [said[a:b] for a, b in asking_spans(said)]
    False
    """
    asking, shouted = asking_words(detected(text)), text.isupper()
    found = {(a, b) for a, b, gram in ngrams(text) if gram in asking}
    return tuple(sorted((a, b) for a, b in found if shouted or not _is_acronym(text[a:b])))


def _is_acronym(word: str) -> bool:
    """Whether a word is written in capitals, as names of genes and short forms of the clinic are."""
    return len(word) >= _ACRONYM and word.isalpha() and word.isascii() and word.isupper()


def ngrams(text: str) -> Iterator[tuple[int, int, str]]:
    """The n-grams of a text with their places: runs of Chinese signs, runs of other words."""
    for run in () if text.isascii() else _CHINESE.finditer(text):
        for size in range(_SHORTEST_GRAM_CJK, min(_LONGEST_GRAM_CJK, len(run[0])) + 1):
            yield from ((at, at + size, text[at : at + size]) for at in range(run.start(), run.end() - size + 1))
    words = list(_TOKEN.finditer(text))
    for size in range(1, _LONGEST_GRAM + 1):
        for first, last in zip(words, words[size - 1 :], strict=False):
            whole = text[first.start() : last.end()]
            if whole.count(" ") == size - 1:
                yield first.start(), last.end(), whole.casefold()


# --- Features of a question for the classifier: hashed n-grams of its text, the names in it masked by their kind.
#
# Masking keeps the words inside a name from steering the intent ("infantile-onset ataxia" is no question about onset).
# The features are those of Joulin et al. 2017 (arXiv:1607.01759), n-grams hashed into a fixed number of buckets, of
# each sentence and of the whole: long messages tell more than they ask, and the model learns which sentences ask.

BUCKETS = 1 << 15  # ours: of the n-grams of a sentence
WHOLE_BUCKETS = 1 << 14  # ours: of the n-grams of a whole question
MASKS = {  # of each kind of thing one sign that stands for its name
    **dict.fromkeys(("disease", "finding", "phenotype", "symptom", "complication"), "Ⓓ"),
    **dict.fromkeys(("drug", "ingredient", "medicine", "substance", "chemical"), "Ⓜ"),
    **dict.fromkeys(("test", "procedure", "operation"), "Ⓣ"),
    "gene": "Ⓖ",
    "food": "Ⓝ",
}
_DIGITS = lazily(r"\d+(?:[.,]\d+)*")
_SENTENCE = lazily(  # a form that people fill in has its headings inside the text
    r".+?(?:[.!?]+(?=\s|$)|[。！？\n;；]+|\s(?=message:)|(?<=message:)|(?<=subject:)|$)", re.DOTALL | re.IGNORECASE
)
_EMPTY = lazily(r"(?:[^\wⒹⓂⓉⒼⓃ]|subject:|message:)*", re.IGNORECASE)
_WORD = lazily(r"[ⒹⓂⓉⒼⓃ]|[a-z]+(?:['’][a-z]+)?|#|[?!]")
_WORD_CJK = lazily(r"[ⒹⓂⓉⒼⓃ]|[a-z]+(?:['’][a-z]+)?|#|[?!]|[一-鿿]")
_LATIN = lazily(r"[a-z#]+")
_LONGEST = 4  # characters of a Chinese n-gram
_INNER = (3, 4, 5)  # letters of an n-gram inside an English word
_ENOUGH = 240  # ours: characters of a sentence that an encoder reads; it takes time for each
_FIRST, _LAST = 8, 17  # sentences that are read of a very long message, at its beginning and its end

Features = tuple[NDArray[np.int64], NDArray[np.float32]]  # buckets (n,) and weights (n,)


class Seen(NamedTuple):
    """The features of a question: of each sentence, and of the whole."""

    sentences: tuple[Features, ...]
    whole: Features


class Span(NamedTuple):
    """A name in a text: (start, end) and the kind of thing."""

    start: int
    end: int
    kind: str


def masked(text: str, names: Sequence[Span]) -> str:
    """A text in small letters with each name that has a mask replaced by it, and each number by "#".

    >>> masked("Does Warfarin 5 mg cause hair loss?", [Span(5, 13, "drug"), Span(25, 34, "symptom")])
    'does Ⓜ # mg cause Ⓓ?'
    """
    text = "".join(c.lower() if len(c.lower()) == 1 else c for c in text)  # places stay
    for name in sorted(names, reverse=True):
        if mask := MASKS.get(name.kind):
            text = f"{text[: name.start]}{mask}{text[name.end :]}"
    return without_numbers(text)


def without_numbers(text: str) -> str:
    """A text with "#" for each number."""
    return _DIGITS.sub("#", text)


def sentences(text: str) -> list[str]:
    """The sentences of a text that say something; of a very long one the first and the last.

    >>> sentences("My son, 2.5 y, has gout. What helps?? thanks")
    ['My son, 2.5 y, has gout.', ' What helps??', ' thanks']
    """
    return [text[a:b] for a, b in _places(text)]


def _places(text: str) -> list[tuple[int, int]]:
    found = [m.span() for m in _SENTENCE.finditer(text) if not _EMPTY.fullmatch(m[0])] or [(0, len(text))]
    return found if len(found) <= _FIRST + _LAST else found[:_FIRST] + found[-_LAST:]


def asking(text: str, names: Sequence[Span], each: NDArray[np.float32], intent: Intent) -> Iterator[tuple[int, int]]:
    """Where the sentences stand that ask for an intent, of `each` the scores (n, k + 1); the others tell.

    Those are the one that asks most, those that end in a question mark, and those of which it is the likeliest intent.
    """
    for name in names:
        if name.kind in MASKS:  # a stop inside of a masked name ends no sentence
            text = f"{text[: name.start]}{'_' * (name.end - name.start)}{text[name.end :]}"
    for at, (place, scores) in enumerate(zip(_places(text), each, strict=False)):
        asks = at == each[:, -1].argmax() or text[slice(*place)].rstrip().endswith(("?", "？"))
        if asks or CLASSES[scores[:-1].argmax()].removeprefix("not ") == intent:
            yield place


_JOINS_ASCII = lazily(r"\s+(?:and|&|or)\s+(?:also\s+)?|[,;]\s*(?:and\s+)?|\s*/\s*")
# what may stand between two things that are asked
_JOINS = lazily(
    r"\s+(?:and|&|or)\s+(?:also\s+)?|[,;，；]\s*(?:and\s+)?|\s*(?:以及|[和与及、/])\s*|(?<=[一-鿿])\s+(?=[一-鿿])"
)


def parts(text: str, names: Sequence[Span], places: Iterable[tuple[int, int]]) -> Iterator[tuple[str, list[Span]]]:
    """The parts of some sentences that conjunctions and commas join, each with its names; one without has the first.

    >>> [part for part, _ in parts("causes and treatment of gout?", [Span(24, 28, "disease")], [(0, 29)])]
    ['causes gout', 'treatment of gout']
    >>> [part for part, _ in parts("痛风的病因和治疗", [Span(0, 2, "disease")], [(0, 8)])]
    ['痛风的病因', '痛风治疗']
    """
    for start, end in places:
        sentence = text[start:end]
        joins = [j.span() for j in (_JOINS_ASCII if sentence.isascii() else _JOINS).finditer(sentence)]
        cuts = [(a + start, b + start) for a, b in joins]
        cuts = [c for c in cuts if not any(s.start < c[1] and c[0] < s.end for s in names)]
        for a, b in zip((start, *(b for _, b in cuts)), (*(a for a, _ in cuts), end), strict=True):
            part = text[a:b].rstrip(" ?？.。!！")
            within = [Span(s.start - a, s.end - a, s.kind) for s in names if a <= s.start and s.end <= b]
            if part.strip() and not within and names:
                name, at = text[names[0].start : names[0].end], 0 if has_cjk(part) else len(part) + 1
                part = f"{part} {name}" if at else f"{name}{part}"
                within = [Span(at, at + len(name), names[0].kind)]
            if part.strip():
                yield part, within


def ngrams_of(text: str) -> Iterator[str]:
    """The n-grams of a masked text: one to four Chinese signs, one to three words, pieces of words."""
    cjk = has_cjk(text)
    tokens = (_WORD_CJK if cjk else _WORD).findall(text)
    if cjk:
        joined = "".join(tokens)
        for size in range(1, _LONGEST + 1):
            yield from (joined[at : at + size] for at in range(len(joined) - size + 1))
    else:
        for size in (1, 2, 3):
            yield from (" ".join(tokens[at : at + size]) for at in range(len(tokens) - size + 1))
        for token in tokens:
            if len(token) > _INNER[0] and _LATIN.fullmatch(token):
                whole = f"<{token}>"
                for size in _INNER:
                    yield from (whole[at : at + size] for at in range(len(whole) - size + 1))
    yield "^ " + " ".join(tokens[:2])
    yield "$ " + " ".join(tokens[-2:])


def hashed(grams: Sequence[str], buckets: int) -> Features:
    """Buckets and weights of n-grams, the weights of length 1; the logarithm of a count is its weight.

    >>> [part.tolist() for part in hashed(["a", "a"], 1)]
    [[0], [1.0]]
    """
    counts: dict[int, int] = {}
    for gram in grams:
        at = xxh32_intdigest(gram.encode("utf-8", "replace")) % buckets
        counts[at] = counts.get(at, 0) + 1
    where = np.fromiter(counts, np.int64, len(counts))
    weight = 1 + np.log(np.fromiter(counts.values(), np.float32, len(counts)))
    return where, (weight / max(float(np.sqrt(weight @ weight)), 1e-9)).astype(np.float32)


def features(text: str, names: Sequence[Span] = ()) -> Seen:
    """The features of a question; a sentence knows whether it is the first or the last of several."""
    said = masked(text, names)
    parts = sentences(said)
    places = [""] if len(parts) == 1 else ["@first", *["@mid"] * (len(parts) - 2), "@last"]
    each = tuple(hashed([*ngrams_of(s), *([at] if at else [])], BUCKETS) for s, at in zip(parts, places, strict=True))
    return Seen(each, hashed(list(ngrams_of(said)), WHOLE_BUCKETS))


_STAND_INS = {  # names of each mask, English and Chinese, for an encoder that knows what they are
    "Ⓓ": (("gout", "asthma", "anemia"), ("痛风", "哮喘", "贫血")),
    "Ⓜ": (("aspirin", "warfarin", "metformin"), ("阿司匹林", "华法林", "二甲双胍")),
    "Ⓖ": (("FBN1", "FBN2", "FBN3"), ("FBN1", "FBN2", "FBN3")),
    "Ⓣ": (("a blood test", "an MRI scan", "an X-ray"), ("血常规", "核磁共振", "胃镜")),
    "Ⓝ": (("honey", "milk", "eggs"), ("蜂蜜", "牛奶", "鸡蛋")),
}


def with_stand_ins(text: str, names: Sequence[Span]) -> str:
    """A text with well-known names in place of its own, so that an encoder reads what is asked and not of what.

    >>> with_stand_ins("what gets rid of kala-azar", [Span(17, 26, "disease")])
    'what gets rid of gout'
    """
    used: dict[str, int] = {}
    placed = []
    for name in sorted(names):
        if mask := MASKS.get(name.kind):
            others = _STAND_INS[mask][has_cjk(text)]
            placed.append((name, others[min(used.get(mask, 0), len(others) - 1)]))
            used[mask] = used.get(mask, 0) + 1
    for name, other in reversed(placed):
        text = f"{text[: name.start]}{other}{text[name.end :]}"
    return text


def asked_of_encoder(text: str, names: Sequence[Span], at: int) -> str:
    """The words that an encoder reads of a question: sentence `at`, with stand-ins.

    >>> asked_of_encoder("My son has kala-azar. What helps? Thanks", [Span(11, 20, "disease")], 1)
    'What helps?'
    """
    parts = sentences(with_stand_ins(text, names))
    return parts[min(at, len(parts) - 1)].strip()[:_ENOUGH]


# --- Which part a name plays in a question: subject, object, a finding told, a constraint, or none at all.
#
# A name is seen with the words beside it, the kind of thing, its place among the names, and the likeliest intent where
# that is known. What a graph finds in a text and no question is about ("treatment", "患者") is no name; it is taken out
# before the intent is read, lest it hide the words that ask.

SLOTS = ("S", "O", "F", "C", "-")  # subject, object, finding, constraint, no name
NO_NAME = "-"
SLOT_BUCKETS = 1 << 13
_NEAR_CJK, _NEAR = 6, 5  # signs, words beside a name


def slot_features(text: str, names: Sequence[Span], intent: str = "") -> list[Features]:
    """The features of each name of a text; `intent` = the likeliest, "" where it is not known.

    >>> len(slot_features("does aspirin help gout", [Span(5, 12, "drug"), Span(18, 22, "disease")]))
    2
    """
    units, places = _units(text, names)
    near = _NEAR_CJK if has_cjk(text) else _NEAR
    orders = list(_orders(names))
    found = []
    for at, place in enumerate(places):
        left, right = units[max(0, place - near) : place], units[place + 1 : place + 1 + near]
        found.append(hashed(list(_said(text, names, at, orders[at], left, right, intent)), SLOT_BUCKETS))
    return found


class _Order(NamedTuple):
    """How many names begin before a name, how many of those have its mask, and how many have it in all."""

    place: int
    among: int
    alike: int


def _orders(names: Sequence[Span]) -> Iterator[_Order]:
    starts: dict[str | None, list[int]] = {}
    for name in names:
        starts.setdefault(MASKS.get(name.kind), []).append(name.start)
    for mine in starts.values():
        mine.sort()
    every = sorted(name.start for name in names)
    for name in names:
        mine = starts[MASKS.get(name.kind)]
        yield _Order(bisect_left(every, name.start), bisect_left(mine, name.start), len(mine))


def _units(text: str, names: Sequence[Span]) -> tuple[list[str], list[int]]:
    """The words, or of Chinese the signs, of a text with each name as one of them, and where each name is."""
    split = list if has_cjk(text) else str.split
    units: list[str] = []
    places, behind = {}, 0
    for name in sorted(names):
        units += split(without_numbers(text[behind : name.start].lower()))
        places[name] = len(units)
        units.append(MASKS.get(name.kind) or text[name.start : name.end].lower())
        behind = name.end
    units += split(without_numbers(text[behind:].lower()))
    return units, [places[name] for name in names]


def _said(
    text: str, names: Sequence[Span], at: int, order: _Order, left: Sequence[str], right: Sequence[str], intent: str
) -> Iterator[str]:
    name = names[at]
    kind = MASKS.get(name.kind) or name.kind or "?"
    surface = text[name.start : name.end].casefold()
    place, among, alike = order
    yield from (
        f"k {kind}",
        f"kk {name.kind}",
        f"n {min(len(names), 4)} {kind}",
        f"s {surface}",
        f"sl {len(surface) // 2}",
    )
    for said in dict.fromkeys(("", intent)):
        yield from (f"i {said}", f"ik {said} {kind}", f"p {min(place, 4)} {kind} {said}")
        yield f"a {min(alike, 3)} {among} {kind} {said}"
        yield f"last {at == len(names) - 1} {kind} {said}"
    yield from (f"w {word}" for word in (surface.split() if not has_cjk(surface) else (surface[-2:], surface[:2])))
    for size in range(1, len(left) + 1):
        yield f"l {' '.join(left[-size:])}"
        yield f"l{size} {left[-size]}"
    for size in range(1, len(right) + 1):
        yield f"r {' '.join(right[:size])}"
        yield f"r{size} {right[size - 1]}"
    yield f"lr {left[-1:]} {right[:1]}"
    yield f"lrk {left[-1:]} {right[:1]} {kind}"


WEIGHTS = "questions.npz"
LANGUAGES = ("zh", "en")  # of the training questions, in the order of their places in a vector
HEADS = ("sentence", "whole", "form", "two", "slot")
# have a class of their own too
REFUSED = ("treatment", "diet", "self_care", "interactions", "safety", "test_preparation")
CLASSES = (*(i.value for i in Intent), *(f"not {name}" for name in REFUSED))
ASKS = "asks"  # the class of a sentence that is no intent: how much it asks
NETWORK = ("inward", "inward_bias", "outward", "outward_bias")
_MEND = "train it again: kgmed train questions, or remove it"
_CLEAR = 3.0  # ours: times as likely that what is refused in one intent needs no other to tell
_STEPS = 40  # ours: fewer make the file smaller, and change no fold
_LENGTH = 20.0  # ours, of a vector before the network: of 512 numbers each is about 1
SMALL_BUCKETS = 1 << 15  # ours: of the heads that read the whole beside the sentence that asks


@dataclass(frozen=True)
class Head:
    """A linear classifier: classes (k,), weights (buckets, k) as bytes, scale and bias (k,)."""

    classes: tuple[str, ...]
    weights: NDArray[np.int8]
    scale: NDArray[np.float32]
    bias: NDArray[np.float32]

    def scores(self, features: Features) -> NDArray[np.float32]:
        """The score of each class (k,)."""
        where, weight = features
        found: NDArray[np.float32] = (weight @ self.weights[where].astype(np.float32)) * self.scale + self.bias
        return found

    def __call__(self, features: Features) -> NDArray[np.float32]:
        """The probability of each class (k,): softmax of the scores, of one class alone the logistic of its score."""
        scores = self.scores(features)
        return np.asarray(1 / (1 + np.exp(-scores)), np.float32) if len(self.classes) == 1 else shares_of(scores)


def shares_of(scores: NDArray[np.float32]) -> NDArray[np.float32]:
    """The softmax of scores."""
    shares = np.exp(scores - scores.max())
    return np.asarray(shares / shares.sum(), np.float32)


def packed(
    name: str, classes: Sequence[str], weights: NDArray[np.floating], bias: NDArray[np.floating]
) -> dict[str, NDArray[np.generic]]:
    """The arrays of a head as they are kept: weights (k, buckets) as small whole numbers, at most `_STEPS` from 0."""
    scale = np.maximum(np.abs(weights).max(axis=1), 1e-9) / _STEPS
    small = np.round(weights / scale[:, None]).astype(np.int8).T
    return {
        f"{name}_classes": np.array(classes),
        f"{name}_weights": np.ascontiguousarray(small),
        f"{name}_scale": scale.astype(np.float32),
        f"{name}_bias": bias.astype(np.float32),
    }


def unpacked(kept: dict[str, NDArray[np.generic]], name: str) -> Head:
    """The head of that name."""
    classes = tuple(str(c) for c in kept[f"{name}_classes"])
    parts = (kept[f"{name}_{part}"] for part in ("weights", "scale", "bias"))
    return Head(classes, *parts)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Model:
    """The heads by name, and of the intent a small network over a sentence vector, added to the n-grams.

    Attributes:
        heads: The linear heads; "sentence" has one class more than "whole", how much a sentence asks.
        network: Of one hidden layer over the vector: the arrays that `NETWORK` names.
        share: Factors of the scores of n-grams: alone, and beside a vector. They make scores probabilities.
        encoder: The name of the encoder that the vectors come from.
    """

    heads: dict[str, Head]
    network: tuple[NDArray[np.float32], ...]
    share: tuple[float, float]
    encoder: str

    def read(self, seen: Seen) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """The score of each class (k,), and of each sentence of each class and of how much it asks (n, k + 1)."""
        sentence = self.heads["sentence"]
        each = np.stack([sentence.scores(f) for f in seen.sentences])
        return shares_of(each[:, -1]) @ each[:, :-1] + self.heads["whole"].scores(seen.whole), each

    def alone(self, scores: NDArray[np.float32]) -> NDArray[np.float32]:
        """The probability of each class (k,) from the scores of n-grams alone."""
        return shares_of(self.share[0] * scores)

    def with_vector(
        self, scores: NDArray[np.float32], vector: NDArray[np.float32], language: str
    ) -> NDArray[np.float32]:
        """The probability of each class (k,) from n-grams and the vector (dims,) of what asks.

        In a language of which there were no training questions the vector decides alone.
        """
        inward, inward_bias, outward, outward_bias = self.network
        hidden = np.maximum(of_network(vector, language) @ inward + inward_bias, 0)
        return shares_of(self.share[1] * scores * (language in LANGUAGES) + hidden @ outward + outward_bias)


def beside(seen: Seen, at: int) -> Features:
    """The features of the whole and of sentence `at`, each in its own half of `SMALL_BUCKETS`."""
    half = SMALL_BUCKETS // 2
    (whole, heavy), (part, light) = seen.whole, seen.sentences[at]
    return np.concatenate([whole % half, part % half + half]), np.concatenate([heavy, light])


def by_intent(shares: NDArray[np.float32]) -> tuple[NDArray[np.float32], dict[str, bool]]:
    """The probability of each intent, refusing or not, and of those that have both which is likelier refusing.

    Where the two are close, those of all such intents decide together: whether something is refused is often plainer
    than what it is.

    >>> shares = np.zeros(len(CLASSES), np.float32)
    >>> shares[CLASSES.index("diet")], shares[CLASSES.index("not diet")] = 0.25, 0.5
    >>> both, refusing = by_intent(shares)
    >>> float(both[CLASSES.index("diet")]), [name for name in refusing if refusing[name]]
    (0.75, ['diet'])
    """
    both, asked = shares[: len(Intent)].copy(), [CLASSES.index(name) for name in REFUSED]
    wanted, refused = shares[asked], shares[len(Intent) :]
    close = np.maximum(wanted, refused) < _CLEAR * np.minimum(wanted, refused)
    both[asked] += refused
    likelier = np.where(close, refused.sum() > wanted.sum(), refused > wanted)
    return both, dict(zip(REFUSED, likelier.tolist(), strict=True))


def of_network(vector: NDArray[np.float32], language: str) -> NDArray[np.float32]:
    """What the network reads of a vector (dims,): its direction, and 1 for English, -1 for Chinese, 0 else (dims + 1,).

    >>> of_network(np.array([2.0]), "zh").tolist(), of_network(np.array([2.0]), "ja").tolist()
    ([20.0, -1.0], [20.0, 0.0])
    """
    plain = vector * (_LENGTH / max(float(np.linalg.norm(vector)), 1e-9))
    return np.append(plain, {"en": 1, "zh": -1}.get(language, 0)).astype(np.float32)


def open_model(path: Path | None = None) -> Model:
    """The model of a file, else the user's own, else kgmed's; raises `SourceError` for a file that holds none."""
    own = data_folder() / WEIGHTS
    if path is None and not own.exists():
        return _read(packaged("kgmed.question", "data", WEIGHTS))
    return _read(path or own)


@lru_cache(maxsize=2)
def _read(place: Path) -> Model:
    try:
        model = opened(stored(place))
    except (ValueError, KeyError) as error:
        raise SourceError(place, 0, f"no reader of questions can be read ({error})", _MEND) from error
    if model.heads["whole"].classes != CLASSES:
        raise SourceError(place, 0, "a reader of questions of another version of kgmed", _MEND)
    return model


def stored(place: Path) -> dict[str, NDArray[np.generic]]:
    """The arrays of a file of weights by name; raises `SourceError` for a file that holds none."""
    try:
        with np.load(place, allow_pickle=False) as kept:
            return {name: kept[name] for name in kept.files}
    except (OSError, ValueError, EOFError, BadZipFile) as error:
        raise SourceError(place, 0, f"no reader of questions can be read ({error})", _MEND) from error


def opened(kept: dict[str, NDArray[np.generic]]) -> Model:
    """The model of some arrays, as `kgmed train questions` makes them."""
    heads = {name: unpacked(kept, name) for name in HEADS}
    share: Any = kept["share"]
    network = tuple(kept[name].astype(np.float32) for name in NETWORK)
    return Model(heads, network, (float(share[0]), float(share[1])), str(kept["encoder"]))


FORMS = {"yn": Form.YES_NO, "which": Form.CHOICE, "amount": Form.AMOUNT}
