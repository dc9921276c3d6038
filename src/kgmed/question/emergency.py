"""Which questions tell an emergency, and what is answered first: that help is needed now.

Two readers beside each other, recall before precision: a table of signs (`urgent_signs.tsv`), and a linear classifier
over hashed n-grams of each piece of a question, for what no table holds: what was swallowed, injected or taken too much
of, a wish to die, no breath or pulse, a stroke, a throat that swells after a medicine. `kgmed train questions` makes
its weights from the frames in `data/emergencies`.

What the graphs say of a wish to die or of a child that drank bleach helps nobody who asks it.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np

from kgmed import vocabulary
from kgmed.disk import data_folder, packaged
from kgmed.language.lay import SIGNS, said
from kgmed.language.negation import negated
from kgmed.language.particulars import about, ages_of, particulars
from kgmed.language.text import has_cjk, pattern_of
from kgmed.question.model import BUCKETS, Features, Head, hashed, ngrams_of, sentences, shares_of, stored, unpacked
from kgmed.vocabulary import Predicate

WEIGHTS = "emergencies.npz"
NONE = "none"  # the class of what is no emergency
SELF_HARM = "self-harm"
VALUE = "value"  # a measured value that is critical
NO_MEDICINES = ("bite", "venom", "bowel", VALUE)  # where what is listed against a finding is not what helps
ALONE = (SELF_HARM, "poison", "arrest", "stroke", "limb", "allergy")  # where nothing else is answered
_LIKELY = 0.45  # ours, chosen on the uneven rows of bench/emergencies.tsv: the probability from which it is believed
_SURE = 0.9  # ours: from it on it is believed beside signs of something else
_FEW = 4  # ours: as much is taken of a medicine that is taken as it should be
_LONGEST = 400  # characters of a piece
_pattern = partial(pattern_of, __name__)
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_REACH = 20  # characters before a sign in which it may be denied


def of_somebody(text: str) -> bool:
    """Whether something is told of somebody."""
    return _pattern("someone").search(text) is not None


class Emergency(NamedTuple):
    """A kind of emergency: how many of its signs must be told, and what is answered, in English and Chinese."""

    kind: str
    signs: int
    help: tuple[str, str]


@lru_cache(maxsize=256)
def emergency(text: str) -> Emergency | None:
    """The first kind of emergency that a text tells of someone, the wish to die before any; None where there is none.

    What is denied does not count, nor a textbook's question, nor, but for a wish to die, what was long ago.

    >>> [e.kind if (e := emergency(t)) else "" for t in ("I want to die", "What are the risk factors of suicide?")]
    ['self-harm', '']
    >>> [e.kind if (e := emergency(t)) else "" for t in ("He swallowed bleach", "He swallowed bleach 30 years ago")]
    ['poison', '']
    >>> [e.kind if (e := emergency(t)) else "" for t in ("孩子喝了漂白水", "他没有自杀想法", "No chest pain, sweating")]
    ['poison', '', '']
    """
    now = without_past(text)
    found = _told(now) if now.strip() else None
    if now == text or found is not None:
        return found
    before = _told(text)
    return before if before is not None and before.kind == SELF_HARM else None


def _told(text: str) -> Emergency | None:
    """The first kind of emergency that a text tells, whenever it was."""
    told: dict[str, set[str]] = {}
    denied = set()
    for kind, sign, no in (*_signs(text), *((limits.kind, name, False) for limits, name in _critical(text))):
        if no:
            denied.add(kind)
        else:
            told.setdefault(kind, set()).add(sign)
    if told and _pattern("textbook").search(text) and not of_somebody(text):
        told = {}
    by_signs = next((e for e in _kinds() if len(told.get(e.kind, ())) >= e.signs), None)
    learned, share = likeliest(text)
    if learned in denied or (by_signs is not None and (by_signs.kind in ALONE or share < _SURE)):
        return by_signs
    return next((e for e in _kinds() if e.kind == learned), by_signs)


def helped(text: str) -> str:
    """What is answered first where a text tells an emergency, in its language; "" for any other text."""
    found = emergency(text)
    return found.help[has_cjk(text)] if found else ""


# --- diseases by their names


def is_emergency(name: str) -> bool:
    """Whether a disease or finding of that name may kill within hours, so that it is not to be missed.

    >>> is_emergency("Acute myocardial infarction"), is_emergency("肺栓塞"), is_emergency("Angina pectoris")
    (True, True, False)
    """
    return vocabulary.compiled("urgent_signs", "emergency").search(name) is not None


def meant_by(kind: str) -> str:
    """By which the names are known of what the signs of a kind of emergency mean; "" where they may mean anything.

    >>> meant_by("purple"), meant_by("poison")
    ('脑膜炎球菌|流行性脑|meningococc', '')
    """
    return vocabulary.pattern("urgent_signs", kind, Predicate.MEANS_DISEASE, none="")


def is_malignant(name: str) -> bool:
    """Whether a disease of that name may be malignant, so that a doctor should see it soon.

    >>> is_malignant("Breast cancer"), is_malignant("肺腺癌"), is_malignant("Breast cyst")
    (True, True, False)
    """
    return vocabulary.compiled("urgent_signs", "malignancy").search(name) is not None


# --- the table of signs


def _signs(text: str) -> Iterator[tuple[str, str, bool]]:
    """The kinds and the signs of all that a text tells, and whether it denies them; one may be of several kinds."""
    found = said(text, table=SIGNS)
    denied = negated(text, [one.span for one in found])
    harmless = {word for one in found if one.names[0] == NONE for word in one.words}
    for one, no in zip(found, denied, strict=True):
        before = text[max(one.span[0] - _REACH, 0) : one.span[0]]
        none = no or not harmless.isdisjoint(one.words) or _pattern("not").search(before) is not None
        none = none or _pattern("no_thing").search(text[slice(*one.span)]) is not None
        yield from ((*pair, none) for pair in zip(one.names[::2], one.names[1::2], strict=True))


@vocabulary.kept()
def _kinds() -> tuple[Emergency, ...]:
    """The kinds of the table, in its order."""
    helps = vocabulary.others(SIGNS, Predicate.FIRST_AID)
    rows = vocabulary.pairs(SIGNS, Predicate.SIGNS_NEEDED)
    return tuple(Emergency(kind, int(signs), _in_both(helps.get(kind, ("",)))) for kind, signs in rows)


def _in_both(texts: Sequence[str]) -> tuple[str, str]:
    """The English and the Chinese one of some texts, where there is one of each."""
    english = next((text for text in texts if not has_cjk(text)), texts[0])
    return english, next((text for text in texts if has_cjk(text)), english)


# --- what was long ago

_NO_MORE = 4  # characters of a clause that says no more than when it was


def without_past(text: str) -> str:
    """A text with blanks for the clauses that tell what was months or years ago.

    >>> without_past("35 years ago I was poisoned, what now?").split(), without_past("2年前中风过，今天又说不出话")
    (['what', 'now?'], '       今天又说不出话')
    >>> without_past("Since I fell 2 years ago my arm is weak")
    'Since I fell 2 years ago my arm is weak'
    """
    kept, begun = [], False
    for clause in _pattern("clauses").split(text):
        when = None if re.match(r"(?i)\W*since\b", clause) else _pattern("long_ago").search(clause)
        kept.append(" " * len(clause) if when is not None or begun else clause)
        begun = when is not None and len((clause[: when.start()] + clause[when.end() :]).strip()) < _NO_MORE
    return "".join(kept)


# --- measured values


class _Limits(NamedTuple):
    """What is critical of something measured: a pattern of it and its value, limits in one unit, what makes others it.

    `under` = of whom: those below an age in years; `kind` = of emergency.
    """

    pattern: re.Pattern[str]
    possible: tuple[float, float]
    critical: tuple[float, float]
    units: dict[str, tuple[float, float]]  # a factor, and what is taken off then
    under: float
    kind: str

    def is_critical(self, number: float, unit: str) -> bool:
        """Whether a number is; one without a unit where it is in every unit in which it is possible."""
        scales = [self.units[unit]] if unit in self.units else self.units.values()
        values = [v for f, less in scales if self.possible[0] <= (v := number * f - less) <= self.possible[1]]
        return bool(values) and not any(self.critical[0] <= v <= self.critical[1] for v in values)


@vocabulary.kept()
def _limits() -> tuple[_Limits, ...]:
    found = []
    for limits, names in vocabulary.others(SIGNS, Predicate.CRITICAL, of_object=True).items():
        least, low, high, most, *rest = limits.split()
        said_with = dict(item.rsplit("=", 1) for item in rest)
        under, kind = float(said_with.pop("under", "inf")), said_with.pop("kind", VALUE)
        scales = {name: scale.partition("-")[::2] for name, scale in said_with.items()}
        units = {name: (float(factor), float(less or 0)) for name, (factor, less) in scales.items()}
        called, written = ("|".join(map(re.escape, sorted(some, key=len, reverse=True))) for some in (names, units))
        said, value, counted = (_pattern(name).pattern for name in ("said_of_it", "number", "counted"))
        number = f"{said}{value}{counted} *(?P<unit>{written})?"
        pattern = re.compile(rf"(?i)(?<![a-z\d])(?P<name>{called})(?![a-z]){number}")
        found.append(_Limits(pattern, (float(least), float(most)), (float(low), float(high)), units, under, kind))
    return tuple(found)


def critical_values(text: str) -> list[str]:
    """What a text tells as measured that is critical, by published limits (`kgmed:criticalValue`).

    >>> critical_values("potassium 2.0 in my blood test"), critical_values("血钾2.0"), critical_values("血小板 2万")
    (['potassium'], ['血钾'], ['血小板'])
    >>> critical_values("my potassium is 4.1, calcium 9.8"), critical_values("blood sugar 110, potassium 20 mg daily")
    ([], [])
    >>> [critical_values(f"my {age} has a fever of 103.5") for age in ("9 month old", "9 year old", "wife")]
    [['fever'], [], []]
    """
    return [name for _, name in _critical(text)]


def _critical(text: str) -> Iterator[tuple[_Limits, str]]:
    """What is critical, with the limits that say so."""
    if not any(map(str.isdigit, text)):
        return
    found = [(limits, m) for limits in _limits() for m in limits.pattern.finditer(text)]
    if not found:
        return
    other = [p for p in particulars(text) if p.kind in ("age", "dose", "duration")]
    an_infant = "infant" in (of := about(text)) and "pregnant" not in of
    age = min(ages_of(text)[0], default=0.9 if an_infant else np.inf)
    names = {m.end(): m.start() for _, m in sorted(found, key=lambda row: -row[1].start())}  # the longest name
    for limits, m in found:
        if names[m.end()] != m.start() or any(p.start <= m.start("n") < p.end for p in other):
            continue
        is_one = limits.is_critical(float(m["n"].replace(",", "")), (m["unit"] or "").lower())
        if is_one and (limits.under == np.inf or age < limits.under):
            yield limits, m["name"]


# --- the classifier


def likeliest(text: str) -> tuple[str, float]:
    """The kind that a piece of a text is likeliest to tell, and its probability; ("none", ...) where none is likely.

    >>> likeliest("can I take aspirin with milk?")[0], likeliest("my son got hold of heart pills and ate six")[0]
    ('none', 'poison')
    """
    head = _head()
    shares = np.stack([shares_of(head.scores(weighed(piece))) for piece in pieces(text)])
    harmless = head.classes.index(NONE)
    worst = shares[int(shares[:, harmless].argmin())]
    told = np.where(np.arange(len(worst)) == harmless, 0, worst)
    if 1 - worst[harmless] < _LIKELY:
        return NONE, float(worst[harmless])
    return head.classes[int(told.argmax())], float(1 - worst[harmless])


def pieces(text: str) -> list[str]:
    """A text whole, and its sentences where it has several, each with the one before it.

    >>> pieces("I was asleep. He drank it! Help")
    ['I was asleep. He drank it! Help', 'I was asleep.', 'I was asleep. He drank it!', 'He drank it! Help']
    """
    parts = sentences(text)
    if len(parts) < 2:
        return [text[:_LONGEST]]
    pairs = ["".join(parts[max(0, n - 1) : n + 1]).strip()[:_LONGEST] for n in range(len(parts))]
    return list(dict.fromkeys([text[:_LONGEST], *pairs]))


def weighed(piece: str) -> Features:
    """The features of a piece: n-grams in which a small number is "#" and a greater one "##"."""
    number = _NUMBER.sub(lambda m: "#" if float(m[0].replace(",", ".").split(".")[0]) <= _FEW else "##", piece.lower())
    return hashed(list(ngrams_of(number)), BUCKETS)


@lru_cache(maxsize=1)
def _head() -> Head:
    """The user's own weights, else kgmed's; raises `SourceError` for a file that holds none."""
    own = data_folder() / WEIGHTS
    return unpacked(stored(own if own.exists() else packaged("kgmed.question", "data", WEIGHTS)), "emergency")
