"""Cases to diagnose, the graph of RLKGF that is counted from them, the names that a text holds, and what a scorer
does.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import sqrt
from typing import Any, Literal, NamedTuple, NoReturn, Protocol, TypeVar, get_args

import numpy as np
import xxhash
from numpy.typing import NDArray

from kgmed.errors import BadInput, UnknownName
from kgmed.graph.base import EdgeRow, LocalGraph, NodeRow, Row, Source
from kgmed.language.negation import negated
from kgmed.language.text import fold_word, tokens
from kgmed.prompts import prompt
from kgmed.records import Entity, Question, Relation, Role, Support, Triple

# --- Cases to diagnose, and a split of them whose test part nothing can be chosen on.
# A scorer is fitted on `train` and `validation`, which are plain tuples. The test cases lie in `Held`: it tells their
# number, and how often a finished predictor is right, and nothing else. The predictor sees them without their disease.


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Case:
    """A patient: the symptoms there, denied and unsure, and the disease diagnosed ("" = not told)."""

    id: str
    positive: tuple[str, ...]
    negative: tuple[str, ...] = ()
    unsure: tuple[str, ...] = ()
    disease: str = ""
    explicit: tuple[str, ...] = ()  # those of any sign that the patient named first, before being asked


Cases = tuple[Case, ...]
Predict = Callable[[Sequence[Case]], Sequence[str | None]]  # a disease a case; None = cannot judge
Fit = Callable[[Cases, Cases], T]  # (train, validation) -> a scorer, a model, ...


@dataclass(frozen=True, slots=True)
class CaseReport:
    """How a finished predictor did on the test cases, in their order."""

    predicted: tuple[str | None, ...]
    right: tuple[bool, ...]
    told: tuple[bool, ...] = ()  # which patients named a symptom that they have before being asked

    @property
    def explicit(self) -> "CaseReport":
        """The report on the cases with an explicit symptom alone: RLKGF's .8252 and .6846 are 85 / 103 and 89 / 130.

        >>> CaseReport(("flu", None), (True, False), (True, False)).explicit.n
        1
        """
        rows = [row for row in zip(self.predicted, self.right, self.told, strict=True) if row[2]]
        predicted, right, told = zip(*rows, strict=True) if rows else ((), (), ())
        return CaseReport(predicted, right, told)

    @property
    def n(self) -> int:
        """The number of cases; those that could not be judged count, as wrong."""
        return len(self.right)

    @property
    def accuracy(self) -> float:
        """The share of cases that are right; 0 without cases."""
        return sum(self.right) / self.n if self.n else 0.0

    @property
    def error(self) -> float:
        """The standard error of the accuracy over cases.

        >>> CaseReport(("flu",) * 4, (True, True, True, False)).error.__round__(3)
        0.217
        """
        return sqrt(self.accuracy * (1 - self.accuracy) / self.n) if self.n else 0.0

    @property
    def unjudged(self) -> int:
        """The number of cases without a prediction."""
        return sum(p is None for p in self.predicted)


class HeldOutCases:
    """Test cases, closed: only `report` opens them."""

    __slots__ = ("__cases",)

    def __init__(self, cases: Sequence[Case]) -> None:
        """Close the cases."""
        self.__cases = tuple(cases)

    def __len__(self) -> int:
        """The number of cases."""
        return len(self.__cases)

    def __repr__(self) -> str:
        """The number of cases, nothing of them."""
        return f"Held({len(self)} cases)"

    def __iter__(self) -> Iterator[Case]:
        """Never: raises `BadInput`."""
        self._refuse()

    def __getitem__(self, place: object) -> NoReturn:
        """Never: raises `BadInput`."""
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise BadInput("test cases are not for choosing; give a finished predictor to report()")

    def report(self, predict: Predict) -> CaseReport:
        """How a finished predictor does on the cases, which it sees without their disease."""
        predicted = tuple(predict([replace(c, disease="") for c in self.__cases]))
        if len(predicted) != len(self):
            raise BadInput(f"a predictor gave {len(predicted)} answers to {len(self)} cases; give one each")
        right = tuple(p == c.disease for p, c in zip(predicted, self.__cases, strict=True))
        return CaseReport(predicted, right, tuple(bool(set(c.explicit) & set(c.positive)) for c in self.__cases))


@dataclass(frozen=True, slots=True)
class Split:
    """The cases of one data set: to fit on, to choose on, and closed ones to report on."""

    name: str
    train: Cases
    validation: Cases
    test: HeldOutCases
    language: str = ""  # ISO 639-1
    dropped: tuple[str, ...] = ()  # rows of the files that could not be read, each in a sentence

    @property
    def diseases(self) -> tuple[str, ...]:
        """The diseases of train and validation, in order of their text."""
        return tuple(sorted({c.disease for c in self.train + self.validation}))

    @property
    def symptoms(self) -> tuple[str, ...]:
        """The symptoms of any sign of train and validation, in order of their text."""
        every = self.train + self.validation
        return tuple(sorted({s for c in every for s in (*c.positive, *c.negative, *c.unsure)}))

    def fitted(self, fit: Fit[T]) -> T:
        """What `fit` makes of train and validation."""
        return fit(self.train, self.validation)


def split(
    name: str,
    train: Sequence[Case],
    test: Sequence[Case],
    *,
    validation: Sequence[Case] = (),
    language: str = "",
    share: float = 0.2,  # ours
    seed: int = 0,
    dropped: Sequence[str] = (),
) -> Split:
    """The split of given parts; without a validation part, `share` of each disease's train cases become it.

    Which cases these are follows from their ids and the seed.
    """
    if not validation:
        (validation,) = (v for i, (_, v) in enumerate(folds(train, round(1 / share), seed=seed)) if i == 0)
        chosen = {id(c) for c in validation}
        train = [c for c in train if id(c) not in chosen]
    return Split(name, tuple(train), tuple(validation), HeldOutCases(test), language, tuple(dropped))


def folds(cases: Sequence[Case], k: int, *, seed: int = 0) -> Iterator[tuple[Cases, Cases]]:
    """The k pairs (train, validation) of a cross-validation, each disease spread evenly; each case validates once.

    >>> flu = [Case(str(i), ("fever",), disease="flu") for i in range(4)]
    >>> [(len(t), len(v)) for t, v in folds(flu, 2)]
    [(2, 2), (2, 2)]
    """
    order = sorted(range(len(cases)), key=lambda i: (cases[i].disease, draw(cases[i].id, seed), i))
    fold = {case: place % k for place, case in enumerate(order)}
    for f in range(k):
        train = tuple(c for i, c in enumerate(cases) if fold[i] != f)
        yield train, tuple(c for i, c in enumerate(cases) if fold[i] == f)


def draw(key: str, seed: int) -> int:
    """A number that follows from a key and a seed alone."""
    return xxhash.xxh3_64_intdigest(key.encode("utf-8", "surrogatepass"), seed=seed)


# --- Which of a closed list of names a text holds, in any language: whole words, the longest first, any width or case.


_NOT = re.compile(
    r"(?:\bnot|n['’]t|\bneither|\bnor|\brather than|\binstead of)(?: (?:be|a|an|the|likely|due to|caused by))*\s*$"
    r"|(?:不是|不像|不似|并非|不考虑|不符合|不支持|而非)\s*$",
    re.IGNORECASE,
)
_REACH = 40  # characters before a name in which it may be denied


class NameInText(NamedTuple):
    """A place in a text and what is meant there: one name, or several that are spelled the same."""

    names: frozenset[str]
    start: int
    end: int
    denied: bool


@dataclass(frozen=True, eq=False)
class NamesIn:
    """Finds names and their aliases. A Chinese name may stand in a longer word, an English one only as whole words."""

    aliases: Mapping[str, Sequence[str]]  # name -> its other names
    _index: dict[tuple[str, ...], set[str]] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        """Index the names by their words; raises `BadInput` for one without any."""
        for name, others in self.aliases.items():
            for text in (name, *others):
                key = tuple(fold_word(t.text) for t in tokens(text))
                if not key:
                    raise BadInput(f"the name {text!r} holds no word that could be found in a text")
                self._index.setdefault(key, set()).add(name)

    def __call__(self, text: str) -> list[NameInText]:
        """The names in the text, in order, none inside another.

        >>> both = NamesIn({"肺炎": ["pneumonia"], "支气管肺炎": ["bronchial pneumonia"]})
        >>> [sorted(f.names) for f in both("Bronchial Pneumonia，不是肺炎。")]
        [['支气管肺炎'], ['肺炎']]
        """
        words = tokens(text)
        keys = [fold_word(t.text) for t in words]
        longest = max(map(len, self._index), default=0)
        spans: list[tuple[int, int]] = []
        at = 0
        while at < len(words):
            ends = range(min(at + longest, len(words)), at, -1)
            end = next((e for e in ends if tuple(keys[at:e]) in self._index), at)
            spans += [(at, end)] if end > at else []
            at = max(end, at + 1)
        places = [(words[a].start, words[b - 1].end) for a, b in spans]
        denied = [no or _is_denied(text, a) for no, (a, _) in zip(negated(text, places), places, strict=True)]
        names = [frozenset(self._index[tuple(keys[a:b])]) for a, b in spans]
        return [NameInText(n, a, b, no) for n, (a, b), no in zip(names, places, denied, strict=True)]


def named_one(find: NamesIn, text: str) -> str | None:
    """The one name that a text gives; None where it gives none or several, denies it, or says a list again.

    Training and asking judge a reply by this.

    >>> find = NamesIn({"flu": (), "measles": ()})
    >>> [named_one(find, t) for t in ("Diagnosis: flu", "not flu", "flu; meas", "flu or measles")]
    ['flu', None, None, None]
    """
    there = find(text)
    found = {f.names for f in there if not f.denied}
    return None if len(found) != 1 or any(lists_on(text, f, find.aliases) for f in there) else min(found.pop())


def lists_on(text: str, found: NameInText, names: Iterable[str]) -> bool:
    """Whether another of the names, or the beginning of one, follows after a semicolon: a list is said again.

    >>> find = NamesIn({"flu": (), "measles": ()})
    >>> [lists_on(t, find(t)[0], find.aliases) for t in ("Diseases: flu; meas", "flu; it began with fever", "flu;")]
    [True, False, False]
    """
    mark, rest = text[found.end : found.end + 1], text[found.end + 1 :].strip().casefold()
    known = map(str.casefold, names)
    return mark in (";", "\uff1b") and bool(rest) and any(n.startswith(rest) or rest.startswith(n) for n in known)


def _is_denied(text: str, start: int) -> bool:
    """Whether the words right before a name say that it is not what is meant ("it is not flu").

    >>> [_is_denied(t, t.index("flu")) for t in ("not a flu", "not only a flu", "It isn't flu", "notable flu")]
    [True, False, True, False]
    """
    return _NOT.search(text, max(start - _REACH, 0), start) is not None


CaseOf = Callable[[str], Case | None]


def case_in(symptoms: NamesIn) -> CaseOf:
    """A function from a question to the case of the symptoms named and denied in it; None where there is none.

    A symptom both named and denied is unsure. Give prompts that also name other things (lists of diseases) to a
    function of your own, such as the `get` of a dict from prompt to case.
    """

    def case_of(text: str) -> Case | None:
        found = [(name, f.denied) for f in symptoms(text) for name in sorted(f.names)]
        there, denied = ({name for name, no in found if no is sign} for sign in (False, True))
        order = dict.fromkeys(name for name, _ in found)
        positive, negative = tuple(n for n in order if n not in denied), tuple(n for n in order if n not in there)
        unsure = tuple(n for n in order if n in there and n in denied)
        return Case("", positive, negative, unsure) if found else None

    return case_of


def text_of(question: Question | str) -> str:
    """The text of a question."""
    return question if isinstance(question, str) else question.text


# --- A patient in words: as a question of an evaluation, which can be read back, and as the bare line of training.


_TOLD = {
    "zh": (("患者有：", "没有：", "不确定有没有："), "、", "。", "最可能是下列哪种疾病？"),
    "en": (("The patient has: ", "Does not have: ", "Is not sure of: "), "; ", ". ",
           "Which of the following diseases is it most likely?"),
}  # fmt: skip
_BARE = {
    "en": ("Diseases: {}.\n", "Symptoms: {}.", " No {}.", "\nDiagnosis:", "; ", ", ", "none named"),
    "zh": ("疾病：{}。\n", "症状：{}。", "无{}。", "\n诊断：", "；", "、", "未提及"),
}


def patient_text(case: Case, language: str = "zh", words: Mapping[str, str] | None = None) -> str:
    """The question about a patient, in Chinese or English; `words` are those of its names that are put otherwise.

    >>> patient_text(Case("1", ("发热", "咳嗽"), ("腹泻",)))
    '患者有：发热、咳嗽。没有：腹泻。最可能是下列哪种疾病？'
    >>> patient_text(Case("1", ("发热",)), "en", {"发热": "fever"})
    'The patient has: fever. Which of the following diseases is it most likely?'
    """
    leads, comma, end, which = _TOLD[language]
    said = words or {}
    signs = ([said.get(s, s) for s in names] for names in (case.positive, case.negative, case.unsure))
    return "".join(f"{lead}{comma.join(names)}{end}" for lead, names in zip(leads, signs, strict=True) if names) + which


def told_patient(text: str) -> Case | None:
    """The findings of a question that `patient_text` has made; None for any other.

    >>> told_patient(patient_text(Case("", ("fever", "rash"), ("cough",)), "en"))
    Case(id='', positive=('fever', 'rash'), negative=('cough',), unsure=(), disease='', explicit=())
    """
    for leads, comma, end, which in _TOLD.values():
        rest = text.removesuffix(which)
        if rest == text:
            continue
        signs = []
        for lead in leads:
            names, found, after = rest.removeprefix(lead).partition(end) if rest.startswith(lead) else ("", "", rest)
            signs.append(tuple(names.split(comma)) if found else ())
            rest = after
        positive, negative, unsure = signs
        return None if rest else Case("", positive, negative, unsure)
    return None


@dataclass(frozen=True, slots=True)
class Wording:
    """Names as a data set has them -> names as a model reads them; a name without a row stays as it is."""

    language: str  # ISO 639-1 of the questions
    words: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Raise `BadInput` where two names become one: the way back would be lost."""
        if len(set(self.words.values())) < len(self.words):
            raise BadInput("two names of a wording table read alike; give each words of its own")

    def __call__(self, names: Iterable[str]) -> tuple[str, ...]:
        """The names as a model reads them."""
        return tuple(self.words.get(name, name) for name in names)

    def case(self, case: Case) -> Case:
        """A case as a model reads it.

        >>> Wording("en", {"发烧": "fever", "肺炎": "pneumonia"}).case(Case("1", ("发烧",), disease="肺炎")).positive
        ('fever',)
        """
        return replace(
            case,
            positive=self(case.positive),
            negative=self(case.negative),
            unsure=self(case.unsure),
            explicit=self(case.explicit),
            disease=self([case.disease])[0],
        )

    def cases(self, cases: Iterable[Case]) -> tuple[Case, ...]:
        """Cases as a model reads them."""
        return tuple(map(self.case, cases))

    def back(self, predict: Predict) -> Predict:
        """A predictor of the data set's own cases, from one of those that a model reads."""
        names = {word: name for name, word in self.words.items()}

        def predicted(cases: Sequence[Case]) -> list[str | None]:
            return [names.get(said, said) if said is not None else None for said in predict(self.cases(cases))]

        return predicted


TRAINED_PROMPT = "rlkgf/trained"  # that of a question which `worded` makes


def worded(case: Case, diseases: Sequence[str], language: str, *, listed: bool, figure6: bool) -> str:
    """The question of a case as a policy is trained and asked: bare, or in the words of RLKGF's Figure 6."""
    if not figure6:
        return question(case, diseases if listed else (), language)
    asked = prompt("rlkgf/choose", language=language)
    between = _BARE[language][4]
    messages = asked.messages(diseases=between.join(diseases), question=patient_text(case, language))
    return "\n\n".join(message.text for message in messages)


def question(case: Case, diseases: Sequence[str], language: str) -> str:
    """The question of a case, with the diseases where they are given; what the patient is unsure of is left out.

    >>> print(question(Case("1", ("cough", "fever"), ("rash",)), ["flu", "measles"], "en"))
    Diseases: flu; measles.
    Symptoms: cough, fever. No rash.
    Diagnosis:
    """
    among, there, absent, ask, between, comma, none = _BARE["zh" if language == "zh" else "en"]
    parts = [
        among.format(between.join(diseases)) if diseases else "",
        there.format(comma.join(case.positive) or none),
        absent.format(comma.join(case.negative)) if case.negative else "",
    ]
    return "".join(parts) + ask


# --- What every scorer of diseases does, and the predictor it makes.


Floats = NDArray[np.float64]


class Scorer(Protocol):
    """Scores the diseases of a closed list for patients."""

    @property
    def diseases(self) -> tuple[str, ...]:
        """The m diseases, by column."""
        ...

    def __call__(self, cases: Sequence[Case], /) -> Floats:
        """Rows (b, m) that sum to 1 over the diseases of the patient's subgraph; NaN = not in it.

        A row of NaN alone means that the scorer cannot judge the patient.
        """
        ...


def best_disease(scorer: Scorer) -> Predict:
    """The predictor that names the best disease; None where the scorer cannot judge; ties go to the first column."""

    def predict(cases: Sequence[Case]) -> list[str | None]:
        rows = np.nan_to_num(scorer(cases), nan=-np.inf)
        best = rows.argmax(axis=1) if len(rows) else []
        return [scorer.diseases[j] if np.isfinite(row[j]) else None for row, j in zip(rows, best, strict=True)]

    return predict


def rank_diseases(scorer: Scorer, cases: Sequence[Case], *, keep: int) -> list[list[tuple[str, float]]]:
    """The `keep` best diseases of each case with their scores; those outside the patient's subgraph are left out."""
    found = []
    for row in scorer(cases):
        order = [j for j in np.argsort(-row, kind="stable") if np.isfinite(row[j])]
        found.append([(scorer.diseases[j], float(row[j])) for j in order[:keep]])
    return found


def softmax(values: NDArray[np.floating[Any]], temperature: float) -> Floats:
    """The softmax of each row / temperature over what is not NaN (b, m).

    >>> softmax(np.array([[0.0, np.log(3), np.nan]]), 1.0).round(2).tolist()
    [[0.25, 0.75, nan]]
    """
    seen = ~np.isnan(values)
    top = np.where(seen, values, -np.inf).max(axis=1, keepdims=True, initial=-np.inf)
    raised = np.where(seen, np.exp((values - np.where(np.isfinite(top), top, 0.0)) / temperature), 0.0)
    total = raised.sum(axis=1, keepdims=True)
    return np.where(seen, raised / np.where(total > 0, total, 1.0), np.nan)


# --- The graph of RLKGF: diseases, symptoms, and how often the one was seen with the other.
# Its only relation is (disease, causes, symptom). The edges weigh what the labelled cases say that they are counted
# from: a scorer on such a graph uses labels, whatever it does with them later.


Weights = Literal["count", "symptom given disease", "disease given symptom", "none"]
_CAUSES = Relation("causes", Role.FINDING)


class PlacedSymptoms(NamedTuple):
    """The symptoms of b patients as a sparse matrix: those of patient i are places[ends[i]:ends[i + 1]]."""

    places: NDArray[np.int64]
    ends: NDArray[np.int64]

    @property
    def many(self) -> NDArray[np.int64]:
        """How many symptoms each patient has (b,)."""
        return np.diff(self.ends)

    def total(self, rows: NDArray[Any], add: np.ufunc = np.add) -> Floats:
        """The rows of each patient's symptoms, one a place (k, m), added up or joined by another ufunc (b, m).

        This is a product with a sparse matrix of ones. A patient without symptoms has 0.

        >>> PlacedSymptoms(np.array([0, 2, 2]), np.array([0, 2, 2, 3])).total(np.eye(3)[[0, 2, 2]]).tolist()
        [[1.0, 0.0, 1.0], [0.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
        """
        found = np.zeros((len(self.many), rows.shape[1]))
        full = self.many > 0
        if full.any():
            found[full] = add.reduceat(rows, self.ends[:-1][full])
        return found


_AROUND = 500  # ours: findings of a disease that are looked at


@dataclass(frozen=True, eq=False)
class CauseGraph:
    """m diseases, n symptoms, their counts (m, n), and of how many cases of each disease (m,) these are."""

    diseases: tuple[str, ...]
    symptoms: tuple[str, ...]
    count: Floats
    cases: Floats

    @classmethod
    def of(cls, counts: Mapping[str, Mapping[str, float]], cases: Mapping[str, int] | None = None) -> "CauseGraph":
        """The graph of disease -> {symptom: count}; without `cases`, a disease has as many as its largest count.

        >>> CauseGraph.of({"d1": {"s1": 1, "s2": 1}, "d2": {"s2": 1, "s3": 5}}).count.tolist()
        [[1.0, 1.0, 0.0], [0.0, 1.0, 5.0]]
        """
        diseases, symptoms = tuple(counts), tuple(dict.fromkeys(s for row in counts.values() for s in row))
        table = np.array([[counts[d].get(s, 0.0) for s in symptoms] for d in diseases], np.float64)
        table = table.reshape(len(diseases), len(symptoms))
        if not np.all(np.isfinite(table) & (table >= 0)):
            raise BadInput("a graph of causes has a count that is negative or no number; give counts of at least 0")
        many = [cases[d] if cases else max(counts[d].values(), default=1.0) for d in diseases]
        return cls(diseases, symptoms, table, np.array(many, np.float64))

    @classmethod
    def counted(cls, cases: Sequence[Case], *, at_least: int = 1) -> "CauseGraph":
        """The graph of labelled cases and their positive symptoms; pairs seen less than `at_least` times are left out.

        The authors' code has a file of GMD with the pairs seen three times and more.
        """
        counts: dict[str, Counter[str]] = {d: Counter() for d in sorted({c.disease for c in cases})}
        for case in cases:
            counts[case.disease].update(case.positive)
        kept = {d: {s: float(k) for s, k in sorted(row.items()) if k >= at_least} for d, row in counts.items()}
        return cls.of(kept, Counter(c.disease for c in cases))

    @classmethod
    def of_graph(cls, graph: LocalGraph, diseases: Sequence[str]) -> "CauseGraph":
        """The graph of the findings that a medical graph ties to some of its diseases, by the weights of the edges.

        No labelled case is looked at: the paper's promise. Diseases and findings have the graph's names. Raises
        `BadInput` for a disease that the graph does not have, or of which it knows no finding.
        """
        counts: dict[str, dict[str, float]] = {}
        for name in diseases:
            found = next((m.entity for m in graph.lookup(name) if m.entity.kind == "disease"), None)
            edges = graph.neighbours(found.id, limit=_AROUND, roles=(Role.FINDING,)) if found else []
            if found is None or not edges:
                raise BadInput(f"{graph.name} knows no findings of the disease {name!r}; name others")
            others = [(t.tail if t.head.id == found.id else t.head, t.weight) for t in edges]
            counts[found.name] = {other.name: max(weight, 1e-6) for other, weight in others}
        return cls.of(counts)

    def weight(self, kind: Weights) -> Floats:
        """The weights (m, n) of the edges; 0 = no edge."""
        if kind not in get_args(Weights):
            raise UnknownName("edge weight", kind, get_args(Weights))
        if kind == "count":
            return self.count
        if kind == "none":
            return (self.count > 0).astype(np.float64)
        by = self.cases[:, None] if kind == "symptom given disease" else self.count.sum(axis=0)
        return np.divide(self.count, by, out=np.zeros_like(self.count), where=self.count > 0)

    def places(self, symptoms: Sequence[str]) -> list[int]:
        """The columns of those of the symptoms that the graph has an edge to, each once."""
        return list(dict.fromkeys(self._place[s] for s in symptoms if s in self._place))

    def placed(self, several: Iterable[Sequence[str]]) -> PlacedSymptoms:
        """The same of several patients."""
        found = [self.places(symptoms) for symptoms in several]
        every = np.fromiter((i for places in found for i in places), np.int64)
        return PlacedSymptoms(every, np.cumsum([0, *map(len, found)]))

    def inside(self, placed: PlacedSymptoms) -> NDArray[np.bool_]:
        """Which diseases are in the subgraph of each patient (b, m): those linked to any of the symptoms."""
        return placed.total((self.count > 0).T[placed.places], np.maximum) > 0

    def around(self, symptoms: Sequence[str]) -> tuple[int, ...]:
        """The rows of the diseases in the patient's subgraph: those linked to any of the symptoms."""
        return tuple(np.flatnonzero(self.count[:, self.places(symptoms)].any(axis=1)).tolist())

    def closure(self, symptoms: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The diseases and the symptoms of the patient's subgraph: all symptoms of all diseases linked to the patient's.

        >>> CauseGraph.of({"d1": {"s1": 1, "s2": 1}, "d2": {"s2": 1, "s3": 5}}).closure(["s1"])
        (('d1',), ('s1', 's2'))
        """  # noqa: E501
        rows = list(self.around(symptoms))
        columns = np.flatnonzero(self.count[rows].any(axis=0)).tolist()
        return tuple(self.diseases[d] for d in rows), tuple(self.symptoms[s] for s in columns)

    def triple(self, disease: int, symptom: int) -> Triple:
        """The fact of an edge; its weight is the share of the disease's cases, at most 1."""
        count = self.count[disease, symptom]
        share = float(min(count / max(self.cases[disease], 1.0), 1.0))
        head, tail = Entity("", self.diseases[disease], "disease"), Entity("", self.symptoms[symptom], "symptom")
        return Triple(head, _CAUSES, tail, share, "cases", (Support(qualifiers=(("count", f"{count:g}"),)),))

    def source(self, name: str, *, language: str = "", words: Mapping[str, str] | None = None) -> Source:
        """The graph as the source of one to ask on, `name`: its triples, in other `words` where there are any."""
        said, edges = words or {}, [(int(d), int(s)) for d, s in np.argwhere(self.count > 0)]

        def rows() -> Iterator[Row]:
            for kind, names in (("disease", self.diseases), ("symptom", self.symptoms)):
                yield from (NodeRow(f"{kind}/{n}", said.get(n, n), kind) for n in names)
            for d, s in edges:
                fact = self.triple(d, s)
                ends = f"disease/{self.diseases[d]}", f"symptom/{self.symptoms[s]}"
                yield EdgeRow(ends[0], _CAUSES.name, ends[1], fact.weight, fact.support)

        content = repr((self.diseases, self.symptoms, self.count.tolist(), self.cases.tolist(), sorted(said.items())))
        release = xxhash.xxh3_64_hexdigest(content.encode("utf-8", "surrogatepass"))
        relations = {_CAUSES.name: _CAUSES}
        return Source(name, rows, release=release, language=language, prefix="cases", relations=relations)

    @cached_property
    def _place(self) -> dict[str, int]:
        return {self.symptoms[i]: i for i in np.unique(self.count.nonzero()[1]).tolist()}
