"""Who is asked about: age, sex, populations, medicines taken, illnesses had and allergies that a question tells."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial, reduce

from kgmed.frame import Constraint, Named, Patient
from kgmed.language.particulars import ALCOHOL, OF_AGE, PEOPLE, about, ages_of, of_age, particulars, people_of, smokes
from kgmed.language.text import lazily, pattern_of
from kgmed.question.emergency import emergency, of_somebody
from kgmed.records import Query

_pattern = partial(pattern_of, __name__)
TAKEN = frozenset({"drug", "ingredient", "medicine"})  # kinds
_MEDICINES = TAKEN | {"substance", "chemical", "class"}
_ILL = frozenset({"disease", "phenotype", "symptom", "finding", "complication"})
# What stands right before a name (or before a list of names) when it is told and not asked of.
_NEAR = 40  # characters before a name


def patient_of(text: str, named: Sequence[Named] = ()) -> Patient:
    """The patient of a question, `named` = the things that it names.

    >>> patient_of("My 4-year-old daughter has a cough").age, patient_of("怀孕三个月咳嗽怎么办").groups
    (4.0, ('pregnancy',))
    >>> patient_of("been on it 6 yrs, should i stop").age, patient_of("my son, 6 yrs, coughs").age
    (None, 6.0)
    >>> patient_of("在吃避孕药").groups, patient_of("孕期能吃吗").groups
    ((), ('pregnancy',))
    >>> [patient_of(t).age for t in ("六十八岁老人", "十六岁", "A sixty-eight-year-old man")]
    [68.0, 16.0, 68.0]
    >>> patient_of("三个月婴儿发烧").age, patient_of("怀孕6个月女性").age
    (0.25, None)
    >>> patient_of("I am 35 years old and blind since I was 8 years old").age, patient_of("1岁3个月的宝宝拉肚子").age
    (35.0, 1.25)
    >>> told = patient_of("Girl of 7 who cannot climb stairs. Her brother is well.")
    >>> told.sex, told.age
    ('female', 7.0)
    >>> told = "I take warfarin and am allergic to penicillin"
    >>> named = [Named(("warfarin",), "drug", ((7, 15),)), Named(("penicillin",), "drug", ((35, 45),))]
    >>> patient = patient_of(told, named)
    >>> [n.names[0] for n in patient.takes], [n.names[0] for n in patient.allergic_to]
    (['warfarin'], ['penicillin'])
    """
    own = _pattern("fed").sub(lambda m: m[0].split()[0] + " " * 9 if m[0].isascii() else "", text)
    ages, unborn = ages_of(own)
    groups = tuple(g.name[0] for g in people_of(text) if g.name[0] != "children" or g in people_of(own))
    if unborn and not ages:
        groups = tuple(g for g in groups if g != "children")
    takes, has, allergic = told_of(text, named)
    urgent = emergency(text)
    traits = (
        *([f"urgent {urgent.kind}"] if urgent else []),
        *sorted(about(own)),
        *(["alcohol"] if ALCOHOL.in_question.search(text) else []),
        *(["smoking"] if smokes(text) else []),
        *(["abrupt"] if _pattern("abrupt").search(text) else []),
    )
    return Patient(min(ages, default=None), _sex(text), groups, takes, has, allergic, traits)


def as_read(told: Patient, said: Mapping[str, object]) -> Patient:
    """The patient as the words tell it, with the age, sex and groups that a language model says are this person's.

    What the model leaves out stays as told. An age makes the groups and traits that go by age; a group told stays.

    >>> told = patient_of("I'm 29 with a 4 yr old daughter and pregnant. Can I take ibuprofen?")
    >>> told.age, told.groups, as_read(told, {"age": 29, "sex": "female"}).groups
    (4.0, ('pregnancy', 'children'), ('pregnancy',))
    """
    age, sex, more = said.get("age"), said.get("sex"), said.get("groups")
    groups = (*told.groups, *(g for g in (more if isinstance(more, list) else ()) if g in _GROUPS))
    traits = told.traits
    if isinstance(age, int | float) and not isinstance(age, bool) and 0 <= age < _LIVED:
        groups = tuple(g for g in groups if g not in _BY_AGE)
        traits = (*(t for t in traits if t not in OF_AGE or (t == "newborn" and age < 1)), *sorted(of_age(age)))
        told = replace(told, age=float(age))
    sex = sex if sex in ("female", "male") else told.sex
    return replace(told, sex=str(sex), groups=tuple(dict.fromkeys(groups)), traits=traits)


_GROUPS = tuple(p.name[0] for p in PEOPLE)
_LIVED = 130  # years that nobody reaches
_BY_AGE = ("children", "older people")  # groups that `facts.circumstances.groups_of` makes of an age


def remembered(before: Patient, now: Patient) -> Patient:
    """The patient of a question with what was told of the same one before; of another age or sex it is another one.

    >>> told = Patient(groups=("pregnancy",), allergic_to=(Named(("penicillin",)),))
    >>> remembered(told, Patient(age=30.0)).groups, remembered(told, Patient(sex="male"))
    (('pregnancy',), Patient(age=None, sex='male', groups=(), takes=(), has=(), allergic_to=(), traits=()))
    """
    sex = "female" if "pregnancy" in before.groups else before.sex
    ages = {age for age in (before.age, now.age) if age is not None}
    young = ["children" in p.groups for p in (before, now)]
    if len({sex, now.sex} - {""}) > 1 or len(ages) > 1 or (young[0] != young[1] and (ages == {now.age} or now.groups)):
        return now
    return Patient(
        min(ages, default=None),
        now.sex or before.sex,
        tuple(dict.fromkeys((*before.groups, *now.groups))),
        tuple(dict.fromkeys((*before.takes, *now.takes))),
        tuple(dict.fromkeys((*before.has, *now.has))),
        tuple(dict.fromkeys((*before.allergic_to, *now.allergic_to))),
        now.traits,
    )


def patient_so_far(asked: Sequence[Query]) -> Patient:
    """The patient of the questions of a talk, by those that tell of somebody."""
    return reduce(remembered, (q.frame.patient for q in asked if of_somebody(q.question.text)), Patient())


def is_allergy(name: str) -> bool:
    """Whether a name says no more than that there is an allergy, to what stands before it."""
    return _pattern("allergy_behind").fullmatch(name) is not None


def allergen(text: str, start: int, end: int) -> tuple[int, int]:
    """Where what an allergy is to stands in a name of it; an empty place for other names.

    >>> allergen("对青霉素过敏", 1, 6), allergen("allergic to sulfa", 0, 17), allergen("asthma", 0, 6)
    ((1, 4), (12, 17), (0, 0))
    """
    found = _pattern("allergy_to").fullmatch(text, start, end)
    return max(found.span("what"), found.span("to")) if found else (0, 0)


def _sex(text: str) -> str:
    """The sex told; of several people that of the first."""
    sexes = about(text) & {"female", "male"}
    if len(sexes) == 1:
        return next(iter(sexes))
    first = [(m.start(), sex) for sex in ("female", "male") if (m := _pattern("sexes", sex).search(text))]
    first += [(p.start, s) for p in particulars(text) if p.kind == "sex" for s in about(p.text) & {"female", "male"}]
    return min(first, default=(0, ""))[1]


def told_of(text: str, named: Sequence[Named]) -> tuple[tuple[Named, ...], tuple[Named, ...], tuple[Named, ...]]:
    """Medicines taken, illnesses had and allergies, each told and neither asked nor denied."""
    takes, has, allergic = [], [], []
    for thing, before, behind in _placed(text, named):
        to = _pattern("allergic").search(before)
        if (to and to[0].isascii()) or (_pattern("allergy_behind").match(behind) and (to or not thing.negated)):
            if not _pattern("not").search(_pattern("allergic").sub("", before)):
                allergic.append(thing)
        elif thing.negated:
            continue
        elif (
            thing.kind in _MEDICINES
            and (m := _pattern("takes").search(before))
            and not _pattern("asks_to_take").search(before[: m.start()])
        ):
            takes.append(thing)
        elif thing.kind in _ILL and (
            ((m := _pattern("has").search(before)) and not _pattern("if").search(before[: m.start()]))
            or _pattern("has_behind").match(behind)
        ):
            has.append(thing)
    return tuple(takes), tuple(has), tuple(allergic)


def _placed(text: str, named: Sequence[Named]) -> Iterator[tuple[Named, str, str]]:
    """Each name with what stands before the list that it is in, and what stands behind that list."""
    there = sorted((n for n in named if n.spans), key=lambda n: n.spans[0])
    lists: list[list[Named]] = []
    for thing in there:
        gap = text[end_of(text, lists[-1][-1]) : thing.spans[0][0]] if lists else "."
        if _pattern("list").fullmatch(gap) and not is_allergy(thing.names[0]):
            lists[-1].append(thing)
        else:
            lists.append([thing])
    for mine in lists:
        start, end = mine[0].spans[0][0], end_of(text, mine[-1])
        yield from ((thing, text[max(0, start - _NEAR) : start], text[end : end + _NEAR // 2]) for thing in mine)


def in_brackets(text: str, before: int, start: int, end: int) -> bool:
    """Whether a name stands alone in brackets right behind another, that ends at `before`.

    >>> in_brackets("Imuran (azathioprine 50 mg)", 6, 8, 20), in_brackets("gout (and ibuprofen)", 4, 10, 19)
    (True, False)
    """
    return text[before:start].strip() in ("(", "（") and re.match(r"(?: ?\d[^()（）]*)?[)）]", text[end:]) is not None


def end_of(text: str, thing: Named) -> int:
    """Where the first name of a thing ends, or the other one that stands behind it in brackets."""
    (_, end), other = thing.spans[0], thing.spans[1] if len(thing.spans) > 1 else (0, 0)
    return other[1] + 1 if in_brackets(text, end, *other) else end


# --- What was measured.

_MEASURED = lazily(
    r"(?:\s*[:：为是有到达]|\s+(?:is|was|of|at|level))?\s*(?P<value>\d+(?:\.\d+)?(?:\s*/\s*\d+)?)(?![\d.]*[-\d])"
)
_MEASURES = frozenset({"symptom", "finding", "phenotype", "test", "disease", ""})


def values(text: str, named: Sequence[Named]) -> Iterator[Constraint]:
    """The number that stands behind a thing as what was measured of it; no age, dose or time.

    >>> [c.value for c in values("血压160/100要吃药吗", [Named(("血压",), "symptom", ((0, 2),))])]
    ['160/100']
    >>> list(values("咳嗽3天怎么办", [Named(("咳嗽",), "symptom", ((0, 2),))]))
    []
    """
    other = [p for p in particulars(text) if p.kind in ("age", "dose", "duration")]
    for one in (n for n in named if n.spans and n.kind in _MEASURES):
        m = _MEASURED.match(text, one.spans[0][1])
        if m and not any(p.start < m.end() and m.start("value") < p.end for p in other):
            yield Constraint("value", m["value"], m.span("value"))


def is_of_people(name: str) -> bool:
    """Whether a name tells whom a question is about, as "pregnant" does."""
    return bool(people_of(name))
