"""Rankers that several methods share, and how much a triple has to do with a question, told in five ways.

None of the rankers drops a warning, but for `Cut`.
"""

import logging
import re
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
import xxhash
from numpy.typing import NDArray

from kgmed.disk import data_folder
from kgmed.errors import BadInput, ModelFailed
from kgmed.frame import Ask as Ask
from kgmed.frame import Frame, Intent
from kgmed.language.text import FUNCTION_WORDS, has_cjk, one_line, prompt_language
from kgmed.models.asking import Structured, Tally
from kgmed.models.base import LLM, Encoder, PairScorer, encoded
from kgmed.models.replies import numbers_under
from kgmed.pipeline import Ranker, note
from kgmed.prompts import prompt, whole_question
from kgmed.records import Evidence, Query, Role, Triple
from kgmed.steps.read import FENCE, fence_for

# How much a triple has to do with a question: five ways to tell, one of which asks a model.

# --- What a triple says, whichever way its graph writes it: graphs such as EMCKG state each fact in both directions.


Fact = tuple[str, str, str]


def fact(triple: Triple) -> Fact:
    """Subject, role and object; the relation's own name where its role is not known.

    >>> from kgmed.records import Entity, Relation
    >>> flu, fever = Entity("1", "flu"), Entity("2", "fever")
    >>> there = Triple(flu, Relation("has_symptom", Role.FINDING), fever)
    >>> back = Triple(fever, Relation("possible_disease", Role.FINDING, reverse=True), flu)
    >>> fact(there) == fact(back)
    True
    """
    relation = triple.relation
    if relation.role is Role.OTHER:
        return triple.head.id, relation.name, triple.tail.id or triple.tail.name
    ends = (triple.subject, triple.object)
    return ends[0].id or ends[0].name, relation.role.value, ends[1].id or ends[1].name


# --- How much a triple has to do with a question: five ways to tell, one of which asks a model.


WANTED = (Role.TREATS, Role.TESTS, Role.FINDING, Role.CONTRAINDICATED)  # what MindMap's questions ask for


class Relevance(Protocol):
    """Scores triples for a question; what scores 0 or less is not relevant."""

    def __call__(self, query: Query, triples: Sequence[Triple], /) -> NDArray[np.float64]:
        """One score a triple (n,), higher = more relevant."""
        ...


_SAID = {  # UMLS's REL, where a source gives no relation of its own, in the order that triples are read
    "AQ": "is an allowed qualifier of", "CHD": "is a child of", "PAR": "is a parent of", "QB": "can be qualified by",
    "RB": "is broader than", "RL": "is like", "RN": "is narrower than", "RO": "is related to", "RU": "is related to",
    "RQ": "may mean the same as", "SIB": "is a sibling of", "SY": "means the same as",
}  # fmt: skip


def sentence_of(triple: Triple) -> str:
    """A triple as a short sentence, for encoders and models.

    >>> from kgmed.records import Entity, Relation
    >>> sentence_of(Triple(Entity("a", "flu"), Relation("has_symptom"), Entity("b", "fever")))
    'flu has symptom fever'
    """
    relation = triple.relation.name
    words = _SAID.get(relation) or relation.replace("_", " ")
    return one_line(f"{triple.head.name.replace('_', ' ')} {words} {triple.tail.name.replace('_', ' ')}")


@dataclass(frozen=True, slots=True)
class Every:
    """Every triple is relevant, as much as it weighs in its graph."""

    def __call__(self, query: Query, triples: Sequence[Triple], /) -> NDArray[np.float64]:
        """The weights; a weight of 0 still counts."""
        return np.array([max(t.weight, 1e-6) for t in triples], np.float64)


@dataclass(frozen=True, slots=True)
class OfTypes:
    """The relations of some roles, whatever the question (the authors' code goes by the relations' names)."""

    roles: tuple[Role, ...] = WANTED

    def __call__(self, query: Query, triples: Sequence[Triple], /) -> NDArray[np.float64]:
        """1 for a triple of the roles, else 0."""
        return np.array([float(t.relation.role in self.roles) for t in triples], np.float64)


@dataclass(frozen=True)
class Similar:
    """The cosine of question and triple, where it reaches `at_least`."""

    encoder: Encoder
    at_least: float = 0.3  # ours; the paper names no test

    def __call__(self, query: Query, triples: Sequence[Triple], /) -> NDArray[np.float64]:
        """The cosines, 0 below the threshold."""
        if not triples:
            return np.zeros(0)
        texts = list(dict.fromkeys(map(sentence_of, triples)))
        asked, rows = encoded(self.encoder, [query.text], texts)
        cosine = dict(zip(texts, (rows @ asked[0]).astype(np.float64).tolist(), strict=True))
        scores = np.array([cosine[sentence_of(t)] for t in triples])
        return np.where(scores >= self.at_least, scores, 0.0)


@dataclass(frozen=True)
class SimilarOrAsked:
    """As `Similar`, and 1 more for a triple of a role that the question asks for: it serves the answer by itself.

    A question that describes a patient asks for tests and treatments (`CARE`), as MindMap's does.
    """

    encoder: Encoder
    at_least: float = 0.3  # ours, as there

    def __call__(self, query: Query, triples: Sequence[Triple], /) -> NDArray[np.float64]:
        """The cosines, 0 below the threshold; 1 plus the cosine where the role is asked for."""
        cosines = Similar(self.encoder, -1.0)(query, triples)
        served = np.array([t.relation.role in served_roles(query.frame) for t in triples], bool)
        return np.where(served, 1 + cosines, np.where(cosines >= self.at_least, cosines, 0.0))


CARE = (Role.TESTS, Role.TREATS)


def served_roles(frame: Frame) -> tuple[Role, ...]:
    """The roles whose triples answer a question; of a patient's story those of care.

    >>> served_roles(Frame((Ask(Intent.DIAGNOSIS),)))
    (<Role.TESTS: 'tests'>, <Role.TREATS: 'treats'>)
    """
    asked = frame.roles
    return asked if asked and Intent.DIAGNOSIS not in frame.intents else tuple(dict.fromkeys((*asked, *CARE)))


@dataclass(frozen=True, slots=True)
class RelevanceByModel:
    """A model says which of the numbered triples matter, `batch` at a time."""

    llm: LLM
    batch: int = 50
    max_tokens: int = 200
    prompts: Path | None = None

    def __call__(self, query: Query, triples: Sequence[Triple], /) -> NDArray[np.float64]:
        """1 for those the model names, else 0; raises `ModelFailed` where it names no number and does not say none."""
        parts = [self._judged(query, triples[i : i + self.batch]) for i in range(0, len(triples), self.batch)]
        return np.concatenate(parts) if parts else np.zeros(0)

    def _judged(self, query: Query, triples: Sequence[Triple]) -> NDArray[np.float64]:
        """One batch."""
        asked = prompt("mindmap/relevant", language=prompt_language(query.question), folder=self.prompts)
        facts = "\n".join(f"{i}. {sentence_of(t)}" for i, t in enumerate(triples, start=1))
        reply = self.llm(asked.messages(question=query.text, facts=facts), max_tokens=self.max_tokens)
        named = numbers_named(reply.text)
        if named is None:
            raise ModelFailed(f"{self.llm.name} did not say which facts matter; its reply begins {reply.text[:60]!r}")
        return np.array([float(i in named) for i in range(1, len(triples) + 1)])


def numbers_named(reply: str) -> frozenset[int] | None:
    """The numbers in a reply, ranges included; empty where it says none; None where it says neither.

    >>> sorted(numbers_named("1, 3-5 and 【7】") or ()), numbers_named("都不相关"), numbers_named("Hi")
    ([1, 3, 4, 5, 7], frozenset(), None)
    """
    found: set[int] = set()
    for first, last in re.findall(r"(?<![A-Za-z\d.])(\d{1,4})(?:\s*[-–~]\s*(\d{1,4}))?(?![A-Za-z\d])", reply):
        found |= set(range(int(first), min(int(last or first), int(first) + 500) + 1))
    if found:
        return frozenset(found)
    return frozenset() if re.search(r"\bnone\b|\bno\b|\[\s*\]|无|没有|都不", reply, re.IGNORECASE) else None


# Rankers that several methods share; none of them drops a warning, but for `Cut`.

# --- Ranker: the first pieces of evidence, without losing a warning.


@dataclass(frozen=True, slots=True)
class Cut:
    """What a ranker places first, `keep` pieces and no more: a limit, as the papers' numbers are."""

    rank: Ranker
    keep: int

    def __call__(self, query: Query, evidence: Sequence[Evidence]) -> list[Evidence]:
        """Those pieces, best first."""
        return list(self.rank(query, evidence))[: self.keep]


def generator(seed: int, query: Query) -> np.random.Generator:
    """Random numbers that depend on seed and question alone."""
    return np.random.default_rng([seed, xxhash.xxh3_64_intdigest(query.text.encode("utf-8", "replace"))])


def best(evidence: Sequence[Evidence], scores: NDArray[np.floating], keep: int) -> list[Evidence]:
    """The `keep` pieces of highest score with that score, best first, and every warning below them.

    Ties keep their order.

    >>> [e.text for e in best([Evidence("a", "triple"), Evidence("b", "triple")], np.array([0.1, 0.9]), 1)]
    ['b']
    """
    order = np.argsort(-scores, kind="stable").tolist()
    kept = [i for place, i in enumerate(order) if place < keep or evidence[i].is_safety]
    return [replace(evidence[i], score=float(scores[i])) for i in kept]


def words_of(e: Evidence) -> str:
    """A piece as models read it: a triple as words, without arrows and underscores; any other as it is written.

    >>> from kgmed.records import Entity, Relation, Triple
    >>> fact = Triple(Entity("a", "gout"), Relation("has_symptom"), Entity("b", "toe pain"))
    >>> words_of(Evidence("gout — has_symptom → toe pain", "triple", (fact,)))
    'gout has symptom toe pain'
    """
    return sentence_of(e.triples[0]) if e.kind == "triple" and len(e.triples) == 1 else e.text


def _asked(query: Query, *, over_hypothesis: bool) -> str:
    """What evidence is held against: the question, or with the guess behind it."""
    return query.expanded if over_hypothesis else query.text


# --- Rankers by an encoder: similarity, and maximal marginal relevance (KG-Rank, section 2.3).


@dataclass(frozen=True)
class Similarity:
    """Cosine of question and evidence; over question and guess where `over_hypothesis` (answer expansion)."""

    encoder: Encoder
    keep: int = 20  # not in the paper; the authors' code keeps 20
    over_hypothesis: bool = False

    def __call__(self, query: Query, evidence: Sequence[Evidence]) -> list[Evidence]:
        """The `keep` most similar, best first; ties keep their order."""
        if not evidence:
            return []
        text = _asked(query, over_hypothesis=self.over_hypothesis)
        asked, rows = encoded(self.encoder, [text], [*map(words_of, evidence)])
        return best(evidence, rows @ asked[0], self.keep)


@dataclass(frozen=True)
class MMR:
    """Maximal marginal relevance: similarity less what has been said already."""

    encoder: Encoder
    keep: int = 20
    base: float = 0.1  # KG-Rank 2.3
    step: float = 0.01  # KG-Rank 2.3
    penalty: Literal["mean", "max"] = "mean"

    def __call__(self, query: Query, evidence: Sequence[Evidence]) -> list[Evidence]:
        """The `keep` pieces picked, in the order of picking, with a score that counts down from the first of them.

        A note says at how many places plain similarity would have picked another piece.
        """
        if not evidence:
            return []
        asked, rows = encoded(self.encoder, [query.text], [*map(words_of, evidence)])
        order = mmr(asked[0], rows, self.keep, base=self.base, step=self.step, penalty=self.penalty)
        places = np.full(len(evidence), -1.0)
        places[order] = np.arange(len(order), 0, -1)
        plain = np.argsort(-(rows @ asked[0]), kind="stable")[: len(order)]
        changed, new = int((plain != np.array(order, np.intp)).sum()), len(set(order) - set(plain.tolist()))
        note(f"MMR changed {changed} of the {len(order)} picks of plain similarity, {new} of them to new pieces")
        return best(evidence, places, len(order))


def worth(
    relevance: NDArray[np.floating], said: NDArray[np.floating], chosen: int, *, base: float = 0.1, step: float = 0.01
) -> NDArray[np.float64]:
    """What each row is worth with so many `chosen` (n,): its relevance, less the weight of how much of it is `said`.

    >>> worth(np.array([0.97, 0.5]), np.array([1.0, 0.0]), 1).round(2).tolist()
    [0.86, 0.5]
    """
    return np.asarray(relevance - (base + step * chosen) * said * bool(chosen), np.float64)


def mmr(
    question: NDArray[np.floating],
    rows: NDArray[np.floating],
    keep: int,
    *,
    base: float = 0.1,
    step: float = 0.01,
    penalty: Literal["mean", "max"] = "mean",
) -> list[int]:
    """The rows in the order of maximal marginal relevance; ties go to the first.

    The next row maximises cos(q, r) - w * penalty of cos(r, s) over the selected s, with w = base + step * n for n
    selected (KG-Rank 2.3, mean penalty; the classic form takes the largest). Rows (n, d) and question (d,) are unit
    vectors. O(keep * n * d).

    >>> q, r = np.array([1.0, 0]), np.array([[1.0, 0], [0.8, 0.6], [0.8, -0.6]])
    >>> mmr(q, r, 2, base=1.0), mmr(q, r, 0)
    ([0, 1], [])
    """
    relevance = rows @ question
    overlap = np.zeros(len(rows))
    free = np.ones(len(rows), bool)
    chosen: list[int] = []
    while len(chosen) < min(keep, len(rows)):
        n = len(chosen)
        said = overlap / max(n, 1) if penalty == "mean" else overlap
        pick = int(np.where(free, worth(relevance, said, n, base=base, step=step), -np.inf).argmax())
        chosen.append(pick)
        free[pick] = False
        near = rows @ rows[pick]
        overlap = overlap + near if penalty == "mean" else (np.maximum(overlap, near) if n else near)
    return chosen


# --- Ranker: BM25 (`kg/bm25.py`), with words of scripts that have spaces and pairs of characters of others.


@dataclass(frozen=True, slots=True)
class BM25:
    """The `keep` pieces with the most telling words of the question."""

    keep: int = 20
    k1: float = 1.5  # the default of MKG-Rank's package
    b: float = 0.75  # the default of MKG-Rank's package
    over_hypothesis: bool = False

    def __call__(self, query: Query, evidence: Sequence[Evidence]) -> list[Evidence]:
        """Best first, each with its score; ties keep their order."""
        asked = _asked(query, over_hypothesis=self.over_hypothesis)
        from kgmed.models.scorers import BM25Index

        return best(evidence, BM25Index(self.k1, self.b).scores(asked, [e.text for e in evidence]), self.keep)


# --- Rankers by a pair scorer: whole questions (KG-Rank, "RR"), and fragments of question and hypothesis (HyKGE 3.4).


Aggregate = Literal["max", "mean", "sum", "rrf", "quota"]
Unit = Literal["segmented", "script", "word", "char"]
RRF = 60  # Cormack et al. 2009
STOP = frozenset(FUNCTION_WORDS - {"nos"}) | frozenset("的了吗呢吧啊嘛")  # no digit, dose or Latin name among them


@dataclass(frozen=True, slots=True)
class Rerank:
    """The `keep` pieces that a pair scorer finds most relevant to the question."""

    scorer: PairScorer
    keep: int = 20  # KG-Rank's code
    over_hypothesis: bool = False

    def __call__(self, query: Query, evidence: Sequence[Evidence]) -> list[Evidence]:
        """Best first, each with its score; equal texts are scored once, equal pieces kept once."""
        return _ranked(self.scorer, [_asked(query, over_hypothesis=self.over_hypothesis)], evidence, self.keep, "max")


@dataclass(frozen=True, slots=True)
class Fragments:
    """The `keep` pieces that fit a fragment of question or hypothesis best (HyKGE, fragment-granularity re-ranking).

    Rows of the matrix are the fragments and, where `whole`, the whole question and the whole hypothesis; columns the
    evidence. Fragments are `window` words with `overlap` shared ones. With `unit` = "segmented" those of Chinese are
    found by jieba; with "script", or where that is not installed (a note says so), Chinese and Japanese are cut into
    `window_cjk` characters. "word" (between spaces) and "char" hold for every script.
    """

    scorer: PairScorer
    keep: int = 10  # HyKGE 4.1.4; 11 in its code
    window: int = 10  # HyKGE 4.1.4 (lc); 35 characters in its code
    overlap: int = 4  # HyKGE 4.1.4 (oc); 15 characters in its code
    window_cjk: int = 35  # HyKGE's code
    overlap_cjk: int = 15  # HyKGE's code
    unit: Unit = "script"
    whole: bool = True  # HyKGE's code; the paper does not say
    aggregate: Aggregate = "max"
    stop: frozenset[str] = STOP

    def __call__(self, query: Query, evidence: Sequence[Evidence]) -> list[Evidence]:
        """Best first, each with its score; equal texts are scored once, equal pieces kept once."""
        return _ranked(self.scorer, self.rows(query), evidence, self.keep, self.aggregate)

    def rows(self, query: Query) -> list[str]:
        """The distinct texts that the evidence is held against."""
        cut = self._cut(f"{query.question.words}\n{query.hypothesis}")
        whole = [text for text in (query.text, query.hypothesis) if text.strip()] if self.whole else []
        return list(dict.fromkeys([*cut, *whole])) or [query.text]

    def _cut(self, text: str) -> list[str]:
        """The fragments of a text without its stop words."""
        if self.unit == "segmented":
            words = segmented(text)
            if words is None:
                note('fragments of characters, not of words: pip install "kgmed[chinese]"')
                return replace(self, unit="script")._cut(text)
            words = [word for word in words if word not in self.stop and any(map(str.isalnum, word))]
            return [_written(words[part]) for part in fragments(len(words), self.window, self.overlap)]
        if self.unit == "char" or (self.unit == "script" and has_cjk(text)):
            cjk = self.unit == "script"
            window, overlap = (self.window_cjk, self.overlap_cjk) if cjk else (self.window, self.overlap)
            letters = "".join(c for c in " ".join(text.split()) if c not in self.stop or c.isascii())
            return [letters[part] for part in fragments(len(letters), window, overlap)]
        words = [word for word in text.split() if word not in self.stop]
        return [" ".join(words[part]) for part in fragments(len(words), self.window, self.overlap)]


def segmented(text: str) -> list[str] | None:
    """The words of a text, those of Chinese by jieba; None of Chinese where that is not installed.

    >>> segmented("gout and 2 mg")
    ['gout', 'and', '2', 'mg']
    """
    if not has_cjk(text):
        return text.split()
    cutter = _jieba()
    return None if cutter is None else [word for word in cutter.cut(text) if word.strip()]


@cache
def _jieba() -> Any:
    """What cuts Chinese into words, read in once (about a second, later a third of it); None without the package."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of its old spellings
        try:
            import jieba
        except ImportError:
            return None
        jieba.setLogLevel(logging.WARNING)
        cutter = jieba.Tokenizer()
        kept = data_folder() / "jieba"  # not in a folder that others write to
        try:
            kept.mkdir(parents=True, exist_ok=True)
        except OSError:
            return cutter
        cutter.tmp_dir = str(kept)
        return cutter


def _written(words: Sequence[str]) -> str:
    """Words as a text: a space between two of letters or digits, none beside Chinese.

    >>> _written(["H2", "mg", "受体", "痛"])
    'H2 mg受体痛'
    """
    text = ""
    for word in words:
        text += f" {word}" if text and text[-1].isascii() and word[0].isascii() else word
    return text


def fragments(length: int, window: int, overlap: int) -> list[slice]:
    """Slices of `window` places with `overlap` shared ones that cover 0..length; only the last may be shorter.

    >>> [(s.start, s.stop) for s in fragments(40, 35, 15)], [(s.start, s.stop) for s in fragments(10, 35, 15)]
    ([(0, 35), (20, 40)], [(0, 10)])
    """
    if not 0 <= overlap < window:
        raise BadInput(f"fragments need 0 <= overlap < window, not overlap {overlap} and window {window}")
    starts = range(0, max(length - overlap, min(length, 1)), window - overlap)
    return [slice(start, min(start + window, length)) for start in starts]


def matrix(scorer: PairScorer, rows: Sequence[str], columns: Sequence[str]) -> NDArray[np.float32]:
    """The score of every row with every column (rows, columns)."""
    pairs = [(row, column) for row in rows for column in columns]
    return np.asarray(scorer(pairs), np.float32).reshape(len(rows), len(columns))


def aggregated(scores: NDArray[np.floating], how: Aggregate) -> NDArray[np.float64]:
    """One score a column (m,) of a matrix (k, m).

    "rrf" = sum over the rows of 1 / (60 + rank); "quota" = 1 / place, where the rows in turn pick their best column
    that is left, so that each row gets its share.

    >>> table = np.array([[0.9, 0.1, 0.2], [0.3, 0.8, 0.25]])
    >>> aggregated(table, "max").tolist(), aggregated(table, "quota").round(2).tolist()
    ([0.9, 0.8, 0.25], [1.0, 0.5, 0.33])
    """
    if how == "max":
        return np.asarray(scores.max(axis=0), np.float64)
    if how in ("mean", "sum"):
        return np.asarray(scores.mean(axis=0) if how == "mean" else scores.sum(axis=0), np.float64)
    order = np.argsort(-scores, axis=1, kind="stable")
    if how == "quota":
        return 1.0 / (1 + _places(order.tolist(), scores.shape[1]))
    if how == "rrf":
        return np.asarray((1.0 / (RRF + 1 + np.argsort(order, axis=1, kind="stable"))).sum(axis=0), np.float64)
    raise BadInput(f"there is no aggregation {how!r}; take max, mean, sum, rrf or quota")


def _places(orders: Sequence[Sequence[int]], count: int) -> NDArray[np.int64]:
    """The place at which each of `count` columns is picked by the rows in turn."""
    places = np.full(count, -1, np.int64)
    left = [iter(order) for order in orders]
    for place in range(count):
        places[next(c for c in left[place % len(left)] if places[c] < 0)] = place
    return places


def _ranked(
    scorer: PairScorer, rows: Sequence[str], evidence: Sequence[Evidence], keep: int, how: Aggregate
) -> list[Evidence]:
    """The distinct pieces by their aggregated score."""
    once: dict[tuple[str, str], Evidence] = {}
    for piece in evidence:
        once.setdefault((piece.text, piece.id), piece)
    if not once:
        return []
    distinct = list(once.values())
    number = {text: i for i, text in enumerate(dict.fromkeys(map(words_of, distinct)))}
    scores = aggregated(matrix(scorer, rows, list(number)), how)
    return best(distinct, scores[[number[words_of(e)] for e in distinct]], keep)


# --- Ranker: another ranker, asked with each line of the guess in turn.


@dataclass(frozen=True, slots=True)
class ByLine:
    """The best for each line, then the second best for each line, and so on; for the question where there is no guess.

    So every sentence of a rationale has evidence to be held against (Chain-of-Knowledge).
    """

    rank: Ranker

    def __call__(self, query: Query, evidence: Sequence[Evidence]) -> list[Evidence]:
        """The pieces kept for any line, each once."""
        lines = query.hypothesis.splitlines() or [query.text]
        asked = (replace(query, question=replace(query.question, text=line), hypothesis="") for line in lines)
        return alternating(self.rank(one, evidence) for one in asked)


def alternating(lists: Iterable[Sequence[Evidence]]) -> list[Evidence]:
    """The first piece of each list, then the second of each, and so on, each once."""
    found: dict[tuple[str, str], Evidence] = {}
    for piece in filter(None, chain.from_iterable(zip_longest(*lists))):
        found.setdefault((piece.text, piece.id), piece)
    return list(found.values())


# --- Which facts help with a question, by a model.


@dataclass(frozen=True, slots=True)
class Helpful:
    """Those of some pieces that a model says help with the question, at most `keep`, the most helpful first.

    None where it says that none helps; raises `ModelFailed` where its reply cannot be read twice.
    """

    llm: LLM
    keep: int
    max_tokens: int = 96
    prompts: Path | None = None
    tally: Tally = field(default_factory=Tally)

    def __call__(self, query: Query, pieces: Sequence[Evidence]) -> list[Evidence]:
        """The pieces."""
        if not pieces:
            return []
        facts = "\n".join(f"{i}. {one_line(e.text)}" for i, e in enumerate(pieces, start=1))
        whole = whole_question(query.question)
        asked = prompt("baselines/facts", language=prompt_language(query.question), folder=self.prompts)
        ask = Structured(
            self.llm, lambda reply: numbers_under(reply, "facts", len(pieces)), self.max_tokens, tally=self.tally
        )
        fence = FENCE + fence_for(f"{facts}\n{whole}")
        chosen = ask(asked.messages(question=whole, count=str(self.keep), fence=fence, facts=facts))
        return [pieces[n - 1] for n in chosen[: self.keep]]
