"""What the label of a medicine says of a group of people, an age, an illness or another medicine: whether it forbids.

The patterns are data, `labels.toml`. The predicate behind a name says what is said of it: 孕妇慎用，儿童禁用.
"""

import re
from collections.abc import Iterator
from enum import IntEnum
from functools import lru_cache, partial
from math import inf
from typing import NamedTuple

from kgmed.disk import packaged_toml
from kgmed.language.particulars import number_of
from kgmed.language.text import pattern_of

GROUPS = ("pregnancy", "breastfeeding", "children", "older people")
GROWN, OLD = 18.0, 65.0  # years


class Level(IntEnum):
    """What a label says of somebody."""

    SILENT = 0
    CARE = 1
    FORBIDS = 2


class Reading(NamedTuple):
    """What a label says of a group; `below` = of those below that age in years, infinity = of all."""

    group: str
    level: Level
    below: float = inf


_pattern = partial(pattern_of, __name__)


def says_unknown(text: str) -> bool:
    """Whether a whole text, or a name cut out of one, says no more than that nothing is known.

    >>> [says_unknown(t) for t in ("尚无可靠参考文献", "Not yet known.", "意识不清", "Unknown primary")]
    [True, True, False, False]
    """
    return _pattern("predicates", "unknown").search(text) is not None


@lru_cache(maxsize=1)
def _predicates() -> re.Pattern[str]:
    rows = packaged_toml(__name__)["predicates"]
    kinds = (f"(?P<{name}>{rows[name]})".replace("\n", "") for name in ("silent", "care", "forbids"))
    return re.compile("|".join(kinds), re.IGNORECASE)


def sentences(text: str) -> list[str]:
    """The sentences of a label.

    >>> sentences("孕妇慎用。儿童禁用；Not in pregnancy. Keep dry.")
    ['孕妇慎用', '儿童禁用', 'Not in pregnancy', ' Keep dry']
    """
    return [part for part in _pattern("sentence").split(text) if part.strip()]


def level_at(sentence: str, start: int, end: int, *, contraindication: bool) -> Level:
    """What a sentence of a label says of what stands from `start` to `end`.

    `contraindication` = whether the label has it under its contraindications: a bare name is forbidden there.

    >>> said = "孕妇慎用，对本品过敏者及儿童禁用"
    >>> [level_at(said, said.index(n), said.index(n) + 2, contraindication=False).name for n in ("孕妇", "儿童")]
    ['CARE', 'FORBIDS']
    >>> level_at("Not in pregnancy", 7, 16, contraindication=False), level_at("妊娠", 0, 2, contraindication=True)
    (<Level.FORBIDS: 2>, <Level.FORBIDS: 2>)
    """
    said = _predicates().search(sentence, end) or _last(sentence[:start])
    if said and said["silent"]:
        return Level.SILENT
    severe = _pattern("predicates", "severe").search(sentence, 0, start)  # only the severe cases of what follows
    mild = is_effect(sentence, start) or (said and (said["care"] or severe))
    return Level.CARE if mild or not (said or contraindication) else Level.FORBIDS


def is_effect(sentence: str, start: int) -> bool:
    """Whether what stands there is what a sentence says that a medicine may do, and not what people may have.

    >>> is_effect("可引起低血压，应避免", 3), is_effect("由低血压引起的休克者禁用", 1)
    (True, False)
    """
    return _pattern("predicates", "effect").search(sentence, 0, start) is not None


def permits(text: str) -> bool:
    """Whether a text says that a medicine may be taken together with something."""
    return bool(_pattern("predicates", "permits").search(text))


def _last(before: str) -> re.Match[str] | None:
    return next(iter(reversed(list(_predicates().finditer(before)))), None)


def level_of(text: str, named: re.Pattern[str], *, contraindication: bool, allergy: bool = False) -> Level:
    """The gravest that a label says of what a pattern finds; with `allergy` of an allergy to it.

    >>> level_of("严重肾功能不全者禁用", re.compile("肾功能不全"), contraindication=True).name
    'CARE'
    >>> said, both = "对阿司匹林过敏、哮喘患者禁用", (re.compile("阿司匹林"), re.compile("哮喘"))
    >>> [level_of(said, name, contraindication=True).name for name in both]
    ['SILENT', 'FORBIDS']
    """
    levels = [
        level_at(sentence, *m.span(), contraindication=contraindication)
        for sentence in (sentences(text) if named.search(text) else ())
        for m in named.finditer(sentence)
        if allergy == _is_allergy(sentence, *m.span())
    ]
    return max(levels, default=Level.SILENT)


def _is_allergy(sentence: str, start: int, end: int) -> bool:
    """Whether a sentence speaks of an allergy to what stands there."""
    behind = _pattern("predicates", "allergy_behind").match(sentence, end)
    return bool(behind or _pattern("predicates", "allergy_before").search(sentence[:start]))


def readings(text: str, *, contraindication: bool) -> list[Reading]:
    """What a label says of each group of people.

    >>> [(r.group, r.level.name, r.below) for r in readings("孕妇慎用，6岁以下儿童禁用", contraindication=True)]
    [('pregnancy', 'CARE', inf), ('children', 'FORBIDS', 6.0)]
    >>> readings("糖尿病患儿禁服", contraindication=True)[0].level.name, readings("避孕失败", contraindication=True)
    ('CARE', [])
    """
    return [r for sentence in sentences(text) for r in _of_sentence(sentence, contraindication=contraindication)]


def _of_sentence(sentence: str, *, contraindication: bool) -> Iterator[Reading]:
    for group in GROUPS:
        levels = [
            _qualified(sentence, start, level_at(sentence, start, end, contraindication=contraindication))
            for start, end in _mentions(sentence, group)
        ]
        if (level := max(levels, default=Level.SILENT)) > Level.SILENT:
            yield Reading(group, level, age_limit(sentence) if group == "children" else inf)


def _mentions(sentence: str, group: str) -> Iterator[tuple[int, int]]:
    """Where a sentence names a group, children and older people also by an age."""
    yield from (m.span() for m in _pattern("groups", group).finditer(sentence))
    by_age = {"children": ("below", "only_above"), "older people": ("above",)}.get(group, ())
    yield from (m.span() for name in by_age for m in _pattern("age", name).finditer(sentence))


def _qualified(sentence: str, start: int, level: Level) -> Level:
    """At most care where only some of a group are meant: 糖尿病患儿."""
    return min(level, Level.CARE) if _pattern("predicates", "qualified").search(sentence[:start]) else level


def age_limit(sentence: str) -> float:
    """Up to which age a sentence speaks of children, in years; infinity where it does not speak of them.

    >>> age_limit("12岁以下儿童禁用"), age_limit("新生儿、早产儿禁用"), age_limit("Not in children less than 3 months")
    (12.0, 0.083, 0.2499)
    """
    found = [m for name in ("below", "only_above") for m in _pattern("age", name).finditer(sentence)]
    ages = [_years(m) for m in found] or [
        r["years"] for r in packaged_toml(__name__)["ages"] if _word(r["said"]).search(sentence)
    ]
    return max(ages, default=inf)


@lru_cache(maxsize=16)
def _word(said: str) -> re.Pattern[str]:
    return re.compile(said, re.IGNORECASE)


def _years(m: re.Match[str]) -> float:
    """An age in years."""
    said = {name[0]: value for name, value in m.groupdict().items() if value}
    unit: float = next(
        worth for name, worth in packaged_toml(__name__)["age"]["units"].items() if name in said["u"].casefold()
    )
    return round(number_of(said["n"]) * unit, 4)


def for_children(dosage: str) -> bool:
    """Whether a dosage says something of children."""
    return any(True for sentence in sentences(dosage) for _ in _mentions(sentence, "children"))


def route(name: str) -> str:
    """How a medicine is given, by its name: injected, outside (on the skin, in the eye, ...) or "" (swallowed).

    >>> route("注射用头孢唑林钠"), route("红霉素软膏"), route("Ibuprofen Tablets")
    ('injected', 'outside', '')
    """
    return next((way for way in ("injected", "outside") if _pattern("dosage", way).search(name)), "")


def is_swallowed(name: str) -> bool:
    """Whether a name says that a medicine is swallowed: tablets, drops to be taken by mouth."""
    return _pattern("dosage", "swallowed").search(name) is not None


def is_local(name: str) -> bool:
    """Whether a medicine acts where it is put alone, by its name: an ointment, and no suppository.

    >>> is_local("Hydrocortisone Cream"), is_local("Indometacin Suppository"), is_local("Ibuprofen Tablets")
    (True, False, False)
    """
    return route(name) == "outside" and not _pattern("dosage", "absorbed").search(name)


def is_whole(text: str, start: int, end: int) -> bool:
    """Whether what stands there in a list of contraindications is the whole name of one.

    >>> said = "麻痹性肠梗阻、青光眼患者禁用"
    >>> [is_whole(said, said.index(n), said.index(n) + len(n)) for n in ("麻痹", "青光眼")]
    [False, True]
    """
    return bool(_pattern("indications", "before").search(text[:start])) and bool(
        _pattern("indications", "after").search(text[end:])
    )


def is_bacterium(name: str) -> bool:
    """Whether what a medicine is given for is a bacterium."""
    return _pattern("indications", "bacterium").search(name) is not None


def is_virus(name: str) -> bool:
    """Whether a cause of an illness is a virus."""
    return _pattern("indications", "virus").search(name) is not None


def cuts(name: str, longer: str) -> bool:
    """Whether a name is the mere beginning of a longer one that is another thing.

    >>> cuts("流感", "流感嗜血杆菌"), cuts("高血压", "高血压危象"), cuts("肺炎", "肺炎")
    (True, False, False)
    """
    return longer.startswith(name) and bool(_pattern("indications", "cut").search(longer[len(name) :]))
