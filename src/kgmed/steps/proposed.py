"""How diseases that fit what is told are said: a line each, what speaks for it, an emergency first."""

import re
from collections.abc import Iterator, Sequence

from kgmed.language.lay import emergency
from kgmed.language.particulars import about
from kgmed.language.text import has_cjk, lazily
from kgmed.records import Evidence, Role, Triple
from kgmed.steps.diagnosis import EMERGENCY, is_denied, told_of
from kgmed.steps.phrase import Language, cited, clipped, colon, frequency, joined, language_of, named, worded
from kgmed.steps.urgent import is_emergency, is_malignant

Numbered = tuple[int, Evidence]


def told_diseases(rows: Sequence[Numbered], text: str, *, others: bool, care: bool = False) -> Iterator[str]:
    """A line for each of the best five, and how many more the evidence has; `others` = one was told of already.

    Where `care` (tests, treatments) is asked too, there are three, which leaves room for it.

    An emergency that is the first or the second stands above the list, a later one below it. What may be malignant and
    whatever a newborn has is to be seen by a doctor.
    """
    language = language_of(text)
    rows = readable(rows, language)
    helped = emergency(text) is not None  # who asks is told already
    above = [] if helped else list(urgent_line(rows[:2], text))
    yield from above
    yield (_OTHERS if others else _FITTING)[language]
    most = 3 if care else 5
    for i, e in rows[:most]:
        yield cited(f"- {named(e.about[0], language)}{colon(language)}{_why(e, language)}", [i])
    if len(rows) > most:
        yield (f"and {len(rows) - most} more", f"另有{len(rows) - most}种")[language]
    below = [] if above or helped else list(urgent_line(rows[:5], text, among=True))
    soon = any(is_malignant(e.about[0].name) for _, e in rows[:3]) or "newborn" in about(text)
    yield from below or ([_SOON[language]] if soon and not above and not helped else [])
    if asked := [(e, told.split(", ")) for _, e in rows[: 0 if care else 2] if (told := told_of(e, "ask"))]:
        form = ("{} ({})", "{}（{}）")[language]
        parts = [form.format(joined(told, language), named(e.about[0], language)) for e, told in asked]
        yield f"{_APART[language]}{colon(language)}{('; ', '；')[language].join(parts)}"


def readable(rows: Sequence[Numbered], language: Language) -> list[Numbered]:
    """The diseases in the order in which they are told: those that have a name in the language first."""
    return sorted(rows, key=lambda row: has_cjk(named(row[1].about[0], language)) != bool(language))


def urgent_line(rows: Sequence[Numbered], text: str, *, among: bool = False) -> Iterator[str]:
    """A line where an emergency is among some diseases: to call for help now where it is told that it is sudden."""
    language = language_of(text)
    sudden = _SUDDEN.search(text) is not None
    urgent = [e.about[0] for _, e in rows if e.id == EMERGENCY]
    if not urgent and sudden and not among:  # a tearing pain is named as what tears
        urgent = [thing for _, e in rows[:1] for thing in e.about[1:] if is_emergency(thing.name)]
    if names := [named(thing, language) for thing in urgent[:2]]:
        form = _AMONG if among else _NOW if sudden else _MAY_BE
        yield form[language].format(joined(names, language))


_SUDDEN = lazily(
    r"\bsudden|\bright now\b|\bjust (?:now|started|began)\b|\b(?:minutes?|hours?) ago\b|\bthe worst\b|\bunbearabl"
    r"|突然|忽然|突发|刚才|刚刚|现在正|正在|剧烈|难以忍受|受不了",
    re.IGNORECASE,
)
_APART = ("To tell them apart, ask about", "可再询问，以便区分")
_FITTING = ("Diseases that fit the findings, best first:", "与所述表现相符的疾病，最相符的在前：")
_OTHERS = ("Other diseases that fit, best first:", "其他相符的疾病，最相符的在前：")
_NOW = (
    "It may be an emergency ({}): call your local emergency number now, do not wait.",
    "可能是急症（{}）：请立即拨打当地急救电话，不要等待。",
)
_MAY_BE = (
    "It may be an emergency ({}): have it seen by a doctor at once; if it came suddenly or is severe, call your local "
    "emergency number.",
    "可能是急症（{}）：请尽快就医；如突然发生或症状严重，请立即拨打当地急救电话。",
)
_AMONG = (
    "An emergency is among them ({}): if sudden or severe, call for help at once.",
    "其中有急症（{}）：如突然发生或症状严重，请立即求救。",
)
_SOON = ("Have it seen by a doctor soon.", "请尽早就医检查。")


def _why(e: Evidence, language: Language) -> str:
    """What speaks for a disease, and what of what is told does not."""
    mine = [t for t in e.triples if t.relation.role in _SHOWS and t.subject == e.about[0]]
    why = [_finding(t, language) for t in mine if not is_denied(e, t)]
    against = [_finding(t, language) for t in mine if is_denied(e, t)]
    told = clipped(joined(list(dict.fromkeys(why)), language), (90, 40)[language])
    missing = ", ".join(worded(name, language) for name in told_of(e, "lacks").split(", "))
    lacks = (f"; not known for: {missing}", f"；未提到：{missing}")[language]
    told += clipped(lacks, (50, 24)[language]) if told_of(e, "lacks") else ""
    denied = clipped(joined(list(dict.fromkeys(against)), language), (40, 20)[language])
    return told + ((f"; against: {denied}", f"；不符：{denied}")[language] if denied else "")


_SHOWS = (Role.FINDING, Role.EXCLUDES)


def _finding(triple: Triple, language: Language) -> str:
    """A finding that speaks for a disease or against it, with how often it is seen."""
    often, name = frequency(triple), named(triple.object, language)
    if triple.relation.role is Role.EXCLUDES:
        return f"{('not ', '无')[language]}{name}"
    return name + ((f" ({often})", f"（{often}）")[language] if often else "")
