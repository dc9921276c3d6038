"""How diseases that fit what is told are said: a line each, what speaks for it, an emergency first."""

from collections.abc import Iterator, Sequence

from kgmed.language.text import has_cjk
from kgmed.records import Evidence, Role, Triple
from kgmed.steps.diagnosis import EMERGENCY, is_denied, told_of
from kgmed.steps.phrase import Language, cited, clipped, colon, frequency, joined, named, worded

Numbered = tuple[int, Evidence]


def told_diseases(rows: Sequence[Numbered], language: Language, *, others: bool) -> Iterator[str]:
    """A line for each of the best five, and how many more the evidence has; `others` = one was told of already."""
    yield (_OTHERS if others else _FITTING)[language]
    if language:  # a name that is not translated says little to whoever asks in Chinese
        rows = sorted(rows, key=lambda row: not has_cjk(named(row[1].about[0], language)))
    for i, e in rows[:5]:
        yield cited(f"- {named(e.about[0], language)}{colon(language)}{_why(e, language)}", [i])
    if len(rows) > 5:
        yield (f"and {len(rows) - 5} more", f"另有{len(rows) - 5}种")[language]
    yield from urgent_line(rows, language, _URGENT)
    if asked := [(e, told.split(", ")) for _, e in rows[:2] if (told := told_of(e, "ask"))]:
        form = ("{} ({})", "{}（{}）")[language]
        parts = [form.format(joined(told, language), named(e.about[0], language)) for e, told in asked]
        yield f"{('To tell them apart, ask about', '可再询问，以便区分')[language]}{colon(language)}{('; ', '；')[language].join(parts)}"


def urgent_line(rows: Sequence[Numbered], language: Language, said: tuple[str, str]) -> Iterator[str]:
    """A line where an emergency is among the best five."""
    if urgent := [named(e.about[0], language) for _, e in rows[:5] if e.id == EMERGENCY][:2]:
        yield said[language].format(joined(urgent, language))


_FITTING = ("Diseases that fit the findings, best first:", "与所述表现相符的疾病（依次）：")
_OTHERS = ("Other diseases that fit, best first:", "其他相符的疾病（依次）：")
MAY_BE = (
    "It may be an emergency ({}): if sudden or severe, call for help at once.",
    "可能是急症（{}）：如突然发生或症状严重，请立即求救。",
)
_URGENT = (
    "An emergency is among them ({}): if sudden or severe, call for help at once.",
    "其中有急症（{}）：如突然发生或症状严重，请立即求救。",
)


def _why(e: Evidence, language: Language) -> str:
    """What speaks for a disease, and what of what is told does not."""
    mine = [t for t in e.triples if t.relation.role in _SHOWS and t.subject == e.about[0]]
    why = [_finding(t, language) for t in mine if not is_denied(e, t)]
    against = [_finding(t, language) for t in mine if is_denied(e, t)]
    told = clipped(joined(list(dict.fromkeys(why)), language), (90, 40)[language])
    missing = ", ".join(worded(name, language) for name in told_of(e, "lacks").split(", "))
    lacks = (f"; not listed: {missing}", f"；未载：{missing}")[language]
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
