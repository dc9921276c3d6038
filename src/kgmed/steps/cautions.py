"""The line of warnings below an answer: of all that labels warn of, what forbids and what fits the question."""

import re
from collections.abc import Iterator, Sequence

from kgmed.language.particulars import PEOPLE, People, clauses_about, people_of
from kgmed.language.text import has_cjk, lazily
from kgmed.records import Evidence, Role, Triple
from kgmed.steps.family import substance
from kgmed.steps.phrase import Language, cited, clauses_in, clipped, colon, joined, language_of, named
from kgmed.steps.proposed import Numbered

IN = {Role.CONTRAINDICATED: ("not in {}", "{}禁用"), Role.PRECAUTION: ("with care in {}", "{}慎用")}
_SAYS_NOTHING = lazily(r"^(?:尚?[不未]明确?|尚不清楚|不详|无|无毒|暂无|未知|none|unknown)\W*$", re.IGNORECASE)
_ON_EVERY_LABEL = lazily(  # what every label of a country says tells nothing of a medicine
    r"正在使用其他药品|监护下使用|接触的地方|触及|性状发生改变|咨询医师|按照用法用量|触摸|吞服|症状无缓解|应去医院就诊|立即就医"
)
_OF_ITSELF = lazily(  # an allergy to what is taken, that every label forbids
    r"^[^。；;，,]*对(?:本[品药]|该药|其|药物|任何|此药|活性)[^。；;，,]{0,24}(?:过敏|超敏)[^。；;，,]*。?$"
    r"|\b(?:hypersensitiv\w+|allerg\w+) to (?:it|this|the (?:drug|medicine|product)|any)\b",
    re.IGNORECASE,
)
_ALLERGY = lazily(r"allerg|过敏", re.IGNORECASE)
_SHOWN = 2  # warnings
_MORE = ("; {} more", "；另有{}条")
_ELSEWHERE = ("Their labels warn too, in Chinese", "其说明书另有英文警示")


def warning_lines(rows: Sequence[Numbered], text: str, people: Sequence[People]) -> Iterator[str]:
    """The first warnings that fit the question, and how many more there are; all stay in the evidence.

    Where labels warn in the other language alone, that is said. `people` = those of whom warnings come first.
    """
    language = language_of(text)
    head, room = ("Warnings", "注意")[language], (150, 70)[language]
    told = [(i, e, mine) for i, e in rows if (mine := _fitting(e, text))]
    readable = [(i, e, said) for i, e, mine in told if (said := _warned(mine, language))]
    readable.sort(key=lambda row: has_cjk(named(row[1].about[0], language)) != bool(language))
    readable.sort(key=lambda row: not of_people(row[1], people))
    parts = [
        cited(f"{named(e.about[0], language)}{colon(language)}{clipped(said, room)}", [i])
        for i, e, said in readable[:_SHOWN]
    ]
    if parts:
        more = _MORE[language].format(len(told) - _SHOWN) if len(told) > _SHOWN else ""
        yield f"{head}{colon(language)}{('；' if language else '; ').join(parts)}{more}"
    elif forbidden := [i for i, _, mine in told if any(t.relation.role is Role.CONTRAINDICATED for t in mine)]:
        yield cited(_ELSEWHERE[language], forbidden[:3])


def of_people(e: Evidence, groups: Sequence[People]) -> bool:
    """Whether a warning speaks of the people whom the question names."""
    return any(clauses_about(t.object.name, g.in_text) for t in e.triples for g in groups)


def says_nothing(triple: Triple) -> bool:
    """Whether the text of a warning says that nothing is known."""
    return not triple.tail.id and bool(_SAYS_NOTHING.match(triple.tail.name.strip()))


def _fitting(e: Evidence, text: str) -> list[Triple]:
    """What of a warning fits a question: what forbids, and care with those of whom the question speaks."""
    said = [t for t in e.triples if not _SAYS_NOTHING.match(t.object.name.strip())]
    if not any(t.relation.role is Role.CONTRAINDICATED for t in said):
        said = [t for t in said if not _ON_EVERY_LABEL.search(t.object.name)]
    spoken = people_of(text)
    if not _ALLERGY.search(text):
        said = [t for t in said if not _of_itself(t)]
    return [t for t in said if _forbids(t) or not _of_others(t, spoken)]


def _of_itself(triple: Triple) -> bool:
    """Whether a warning says no more than that who is allergic to a medicine must not take it."""
    said = triple.object.name
    own = substance(triple.subject.name)
    names = (said, *((clauses_in(said, 0),) if has_cjk(said) else ()))
    return bool(_OF_ITSELF.search(said)) or any(own in n.casefold() and _ONLY_ALLERGY.search(n) for n in names)


_ONLY_ALLERGY = lazily(
    r"^(?:not for people )?allergic to [^;,]*$|^对[^，,；;]*过敏(?:者|的患者|患者)?(?:禁用|忌用)?。?$"
)


def _forbids(triple: Triple) -> bool:
    return triple.relation.role is Role.CONTRAINDICATED and bool(triple.tail.id)


def _of_others(triple: Triple, spoken: Sequence[People]) -> bool:
    """Whether a text or a caution is about people, all others than those of whom the question speaks."""
    about = [group for group in PEOPLE if group.in_text.search(triple.object.name)]
    only = triple.relation.role is Role.PRECAUTION or not has_cjk(triple.object.name)
    return bool(about) and only and not any(group in spoken for group in about)


def _warned(said: Sequence[Triple], language: Language) -> str:
    """What some warnings say, as far as it can be read."""
    told = []
    for t in said:
        name = named(t.object, language) if t.tail.id else clauses_in(t.object.name, language)
        if language or not has_cjk(name):
            form = IN.get(t.relation.role, ("{}", "{}"))[language] if t.tail.id else "{}"
            told.append((has_cjk(name) != bool(language), form.format(name)))
    best = [name for foreign, name in told if not foreign] or [name for _, name in told]
    return joined(best, language)
