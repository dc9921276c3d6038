"""What a question tells of a patient besides names: age, sex, population, measured values, doses and durations.

Each is found where it stands, with its number and unit; none is a name of an entity. A value knows what was measured
and whether the text calls it high or low; what is normal is not known here, so nothing is concluded from the number.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from typing import NamedTuple

from kgmed import vocabulary
from kgmed.disk import packaged_toml
from kgmed.language.negation import Spans
from kgmed.language.text import pattern_of
from kgmed.records import Particular
from kgmed.vocabulary import Predicate

_pattern = partial(pattern_of, __name__)

# Groups of people that a question about a medicine names, and how a text of a graph speaks of them.


@dataclass(frozen=True)
class People:
    """A group of people.

    Attributes:
        name: In English and Chinese, as an answer calls them.
        asked: A pattern by which a question names them; "" = that of `particulars.toml`.
        found: A pattern by which a text of a graph speaks of them; "" = that of `particulars.toml`.
    """

    name: tuple[str, str]
    asked: str = ""
    found: str = ""

    @cached_property
    def in_question(self) -> re.Pattern[str]:
        """`asked`, compiled."""
        return re.compile(self.asked, re.IGNORECASE) if self.asked else _pattern("people", self.name[0], "asked")

    @cached_property
    def in_text(self) -> re.Pattern[str]:
        """`found`, compiled."""
        return re.compile(self.found, re.IGNORECASE) if self.found else _pattern("people", self.name[0], "found")


PEOPLE = (
    *(People(("pregnancy", "孕妇")), People(("breastfeeding", "哺乳期妇女")), People(("children", "儿童"))),
    People(("older people", "老年人")),
)


@dataclass(frozen=True)
class Circumstance(People):
    """Something besides a medicine that labels warn of in many words."""

    @property
    def names(self) -> tuple[str, ...]:
        """What a graph may call it."""
        return vocabulary.others("name_patterns", Predicate.ALT_LABEL).get(self.name[0], ())


ALCOHOL = Circumstance(("alcohol", "饮酒"))
SMOKE = People(("smoking", "吸烟"))


def smokes(text: str) -> bool:
    """Whether a story tells of someone who smokes.

    >>> smokes("抽烟四十年，咳嗽"), smokes("不抽烟，咳嗽"), smokes("A smoker with a cough")
    (True, False, True)
    """
    return bool(SMOKE.in_question.search(text)) and not _pattern("no_smoke").search(text)


DRINKS = (ALCOHOL,)  # what is drunk beside a medicine: the texts of medicines speak of it as they do of people
CIRCUMSTANCES = (
    ALCOHOL,
    *(Circumstance(("impaired kidneys", "肾功能不全")), Circumstance(("impaired liver", "肝功能不全"))),
    *(Circumstance(("G6PD deficiency", "蚕豆病")), Circumstance(("peptic ulcer", "消化性溃疡"))),
    Circumstance(("heart failure", "心力衰竭")),
)


@lru_cache(maxsize=1024)
def circumstances_of(text: str) -> tuple[Circumstance, ...]:
    """The circumstances that a text names.

    >>> [c.name[1] for t in ("头孢和酒能一起吃吗", "喝了点酒", "酒渣鼻能治吗") for c in circumstances_of(t)]
    ['饮酒', '饮酒']
    >>> [len(circumstances_of(t)) for t in ("liver disease", "liver cancer", "bad kidneys", "kidney stones")]
    [1, 0, 1, 0]
    """
    return tuple(c for c in CIRCUMSTANCES if c.in_question.search(text))


def people_of(text: str) -> tuple[People, ...]:
    """The groups of people that a question names.

    >>> [group.name[0] for group in people_of("Is it OK to take warfarin while pregnant?")]
    ['pregnancy']
    """
    return tuple(group for group in PEOPLE if group.in_question.search(text))


def populations(names: Iterable[str]) -> tuple[People, ...]:
    """The groups of those English names.

    >>> [group.name[1] for group in populations(["children"])]
    ['儿童']
    """
    return tuple(group for group in PEOPLE if group.name[0] in set(names))


@vocabulary.kept()
def _worsened() -> tuple[tuple[str, tuple[str, ...]], ...]:
    """What an illness is made worse by: side effects that are its own act, by the names of the illness."""
    acts = vocabulary.others("name_patterns", Predicate.WORSENS, of_object=True)
    ills = vocabulary.members("name_patterns", "illnesses made worse")
    return tuple((vocabulary.pattern("name_patterns", ill), acts.get(ill, ())) for ill in ills)


def worsened_by(illness: str) -> tuple[str, ...]:
    """The side effects that make an illness worse, by the names that graphs may have for them.

    >>> worsened_by("支气管哮喘")[0], worsened_by("麻疹")
    ('支气管痉挛', ())
    """
    return next((acts for looks, acts in _worsened() if re.search(looks, illness, re.IGNORECASE)), ())


def forbids(text: str) -> bool:
    """Whether a text about a medicine says not to use it, and not only to take care.

    >>> forbids("孕妇禁用"), forbids("孕妇慎用"), forbids("Do not use in pregnancy.")
    (True, False, True)
    """
    return bool(_pattern("forbids").search(text))


def clauses_about(text: str, found: re.Pattern[str]) -> str:
    """The sentences of a text in which a pattern is found.

    >>> clauses_about("Take with food. Not in pregnancy; avoid the sun.", re.compile("pregnan"))
    'Not in pregnancy'
    """
    parts = re.split(r"[。；;\n]|(?<!\d)\.(?=\s|$)", text)
    return "; ".join(part.strip() for part in parts if found.search(part) and not _pattern("stored").search(part))


# What a question tells of a patient besides names: age, sex, population, measured values, doses and durations.

_WORDS = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
_WORDS += "eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety"
NUMBERS = {"half": 0.5, "once": 1.0, "twice": 2.0, "thrice": 3.0, "两": 2.0, "半": 0.5}
NUMBERS |= {word: float(n if n < 20 else 10 * (n - 18)) for n, word in enumerate(_WORDS.split(), start=1)}
NUMBERS |= {sign: float(n) for n, sign in enumerate("零一二三四五六七八九")}
_KINDS = ("age", "value", "dose", "duration", "sex", "population")  # but for the last two with a number
_DIRECTIONS = ("high", "low", "normal")
_NEAR = 40
EXACT = frozenset(_KINDS[:-1])  # kinds that no name of an entity lies within


def particulars(text: str) -> tuple[Particular, ...]:
    """The particulars in a text, in order, none within another.

    >>> said = "A 65-year-old woman takes 500 mg daily for 3 weeks; potassium 2.9 mmol/L (low)."
    >>> [(p.kind, p.number, p.unit, p.direction) for p in particulars(said)]
    [('age', 65.0, 'year', ''), ('sex', None, '', ''), ('dose', 500.0, 'mg', ''), ('duration', 3.0, 'week', ''), \
('value', 2.9, 'mmol/l', 'low')]
    >>> [(p.kind, p.text) for p in particulars("小儿3岁，体温39℃，咳嗽三天")]
    [('population', '小儿'), ('age', '3岁'), ('value', '39℃'), ('duration', '三天')]
    """
    found: list[Particular] = []
    for kind in _KINDS if _pattern("numerals").search(text) else _KINDS[-2:]:
        taken = Spans([(p.start, p.end) for p in found])
        found += [_particular(text, kind, m) for m in _pattern(kind).finditer(text) if not taken.meet(*m.span())]
    return tuple(sorted(found, key=lambda p: p.start))


def within(found: tuple[Particular, ...]) -> Spans:
    """Where no name can be: in an age, a sex, a value, a dose or a duration."""
    return Spans([(p.start, p.end) for p in found if p.kind in EXACT])


def _particular(text: str, kind: str, m: re.Match[str]) -> Particular:
    groups = {name.rstrip("2345"): value for name, value in m.groupdict().items() if value}
    unit = groups.get("u", "").lower()
    if kind in ("age", "duration") and unit.endswith("s"):
        unit = unit[:-1]
    direction, of = _told(text, m) if kind == "value" else ("", "")
    number = number_of(said) if (said := groups.get("n", "").rstrip("多")) else None
    return Particular(kind, m.group(), m.start(), m.end(), number, unit, direction, of)


def number_of(said: str) -> float:
    """The number that digits, a Chinese numeral below a hundred or an English word says; 每 is one.

    >>> [number_of(said) for said in ("1,5", "1,500", "六十八", "两", "二十", "ten", "sixty-eight")]
    [1.5, 1500.0, 68.0, 2.0, 20.0, 10.0, 68.0]
    """
    if said[0].isdecimal():
        return float(said.replace(",", "") if re.fullmatch(r"\d{1,3},\d{3}", said) else said.replace(",", "."))
    if said.isascii():
        return sum(NUMBERS[word] for word in re.split("[- ]", said.lower()))
    tens, ten, ones = said.rpartition("十")
    return (NUMBERS.get(tens, 1) if ten else 0) * 10 + NUMBERS.get(ones, 0 if ten else 1)


def _told(text: str, m: re.Match[str]) -> tuple[str, str]:
    """Whether the clause around a value calls it high, low or normal, and what was measured."""
    before = _pattern("clause").split(text[max(0, m.start() - _NEAR) : m.start()])[-1]
    behind = _pattern("clause").split(text[m.end() : m.end() + _NEAR // 2])[0]
    said = next((d for d in _DIRECTIONS if _pattern(d).search(behind) or _pattern(d).search(before)), "")
    of = _pattern("measured").search(before)
    return said, _pattern("before_measured").sub("", of[1]).strip() if of else ""


def ages_of(text: str) -> tuple[list[float], bool]:
    """The ages told, in years, and whether months of pregnancy look like one.

    The age at which something was is left out where an age of today is told; years and months that follow are one age.
    """
    found: list[tuple[int, int, float]] = []
    unborn = False
    for p in particulars(text):
        if p.kind == "age" and p.number is not None:
            years = _years(p.number, p.unit)
            if years < 1 and found and _pattern("and").fullmatch(text, found[-1][1], p.start):
                found[-1] = (found[-1][0], p.end, found[-1][2] + years)
            elif years < 1 and (
                _pattern("before_months_carried").search(text[: p.start]) or _pattern("carried").match(text, p.end)
            ):
                unborn = True
            else:
                found.append((p.start, p.end, years))
    if found:
        today = [
            age
            for a, b, age in found
            if not (_pattern("since").search(text[:a]) or _pattern("at_the_time").match(text, b))
        ]
        return today or [age for _, _, age in found], unborn
    months = [
        int(m["n"] or m["k"]) / 12
        for m in _pattern("months").finditer(text)
        if not _pattern("carried").match(text, m.end())
    ]
    return months[:1] or [
        float(m["n"]) for key in packaged_toml(__name__)["ages"] for m in _pattern("ages", key).finditer(text)
    ][:1], unborn


def _years(number: float, unit: str) -> float:
    """An age in years."""
    return number / {1: 365, 7: 52, 30: 12}.get(_DAYS.get(unit, 0), 1)


# --- Whom and what a story is about, as far as the names of diseases speak of it: 小儿肺炎, postpartum depression.


_DAYS = {"hour": 0, "hr": 0, "day": 1, "week": 7, "wk": 7, "month": 30, "year": 365, "yr": 365}
_DAYS |= {"小时": 0, "个小时": 0, "天": 1, "日": 1, "星期": 7, "个星期": 7, "周": 7, "个月": 30, "年": 365}
_ACUTE, _CHRONIC = 14, 60  # days
_GROWN, _OLD = 16, 60  # years


def about(text: str) -> frozenset[str]:
    """What a story tells of its patient and of when it began: child, adult, old, female, male, pregnant, sudden, ...

    >>> sorted(about("My 4-year-old daughter has had a cough for 3 days")), sorted(about("父亲70岁，手抖两年"))
    (['child', 'female', 'sudden'], ['adult', 'long', 'male', 'old'])
    """
    found = {name for name in packaged_toml(__name__)["about"] if _pattern("about", name).search(text)}
    found -= {"adult"} if "child" in found else set()
    for p in particulars(text):
        if p.kind == "age" and p.number is not None:
            found = (found - {"child", "adult"}) | of_age(_years(p.number, p.unit))
        if p.kind == "duration" and p.number is not None and p.unit in _DAYS:
            days = p.number * _DAYS[p.unit]
            found |= {"sudden"} if days <= _ACUTE else {"long"} if days >= _CHRONIC else set()
    return frozenset(found - {"female", "male"} if {"female", "male"} <= found else found)


OF_AGE = frozenset({"child", "adult", "old", "newborn", "infant"})  # traits that go by age


def of_age(years: float) -> set[str]:
    """The traits of somebody of an age.

    >>> sorted(of_age(4)), sorted(of_age(70))
    (['child'], ['adult', 'old'])
    """
    return ({"child"} if years < _GROWN else {"adult"}) | ({"old"} if years >= _OLD else set())


class Condition(NamedTuple):
    """What the name of a disease says of whom it befalls, and how likely it is for one of whom that is not told.

    Attributes:
        name: Under which the vocabulary has what such names hold.
        needs: What a story tells of its patient where nothing is taken off.
        against: What a story tells where it is all but ruled out.
        share: The share of patients whom it befalls, where a story tells neither.
    """

    name: str
    needs: str
    against: str = ""
    share: float = 0.1

    @property
    def looks(self) -> str:
        """A pattern of such names."""
        return vocabulary.pattern("name_patterns", self.name)


CONDITIONS = (
    Condition("diseases of children", "child", "adult", 0.2),
    Condition("diseases of the newborn", "newborn", "adult", 0.01),
    Condition("diseases of pregnancy", "pregnant", "male", 0.03),
    Condition("diseases of old age", "old", "child", 0.3),
    Condition("diseases of women", "female", "male", 0.5),
    Condition("diseases of men", "male", "female", 0.5),
    Condition("what exposure causes", "exposed"),
    Condition("what follows an operation", "operated"),
    Condition("diseases of adults", "adult", "child", 1.0),
    Condition("sexually transmitted diseases", "adult", "child", 1.0),
    Condition("acute diseases", "sudden", "long", 0.7),
    Condition("chronic diseases", "long", "sudden", 0.7),
    Condition("slow malignancies", "long", "sudden", 1.0),
)
_RULED_OUT = 0.02
_SLOW = 0.3  # of what is called acute where the story is long, and the other way round


def conditions(name: str) -> int:
    """Which rows of `CONDITIONS` the name of a disease has, as bits."""
    if _condition().search(name) is None:  # most names
        return 0
    return sum(1 << i for i, pattern in enumerate(_conditions()) if pattern.search(name))


@vocabulary.kept()
def _condition() -> re.Pattern[str]:
    """The patterns of all conditions in one."""
    return re.compile("|".join(f"(?:{row.looks})" for row in CONDITIONS), re.IGNORECASE)


@vocabulary.kept(1 << 14)
def befalls(name: str) -> bool:
    """Whether the name of a disease says that it befalls one sex, or those who are with child, alone.

    >>> befalls("痛经"), befalls("Prostatitis"), befalls("腹痛")
    (True, True, False)
    """
    bits = conditions(name)
    return any(bits >> i & 1 for i, row in enumerate(CONDITIONS) if row.needs in ("female", "male", "pregnant"))


@vocabulary.kept()
def _conditions() -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(row.looks, re.IGNORECASE) for row in CONDITIONS)


def odds(told: frozenset[str]) -> tuple[float, ...]:
    """For each row of `CONDITIONS`, what is left of the likelihood of a disease of that name, given what is told."""
    return tuple(_left(row, told) for row in CONDITIONS)


def _left(row: Condition, told: frozenset[str]) -> float:
    if row.needs in told:
        return 1.0
    ruled_out = _SLOW if row.needs in ("sudden", "long") else _RULED_OUT
    return ruled_out if row.against in told else row.share
