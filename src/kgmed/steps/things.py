"""The things that a question names, of all that was linked in it."""

from collections.abc import Container, Sequence
from dataclasses import replace

from kgmed.language.particulars import People
from kgmed.records import Link


def allergies(links: Sequence[Link]) -> list[Link]:
    """The links, a name and the allergy right behind it as one: of 磺胺过敏 it is asked, and not of any allergy."""
    ends = {link.mention.start for link in links if link.mention.surface == _ALLERGY}
    to = [link for link in links if link.mention.end in ends]
    whole = {link: replace(link.mention, surface=link.mention.surface + _ALLERGY) for link in to}
    rest = [link for link in links if not to or link.mention.surface != _ALLERGY]
    return [replace(link, mention=whole.get(link, link.mention)) for link in rest]


_ALLERGY = "过敏"


def things_of(links: Sequence[Link], asked: Container[str] = ()) -> list[Link]:
    """The links of the things that are not denied, each once, in their order; of many those asked about."""
    once: dict[str, Link] = {}
    for link in links:
        if not link.mention.negated and link.entity.kind != "root":
            once.setdefault(link.entity.id, link)
    rows = list(once.values())
    kept = sorted(range(len(rows)), key=lambda i: rows[i].entity.id not in asked)[:4]
    return [rows[i] for i in sorted(kept)]


def names_people(link: Link, groups: Sequence[People]) -> bool:
    """Whether a link is to a group of people (孕妇), and not to what only some people have (小儿肺炎)."""
    found = (g.in_question.search(link.mention.surface) for g in groups)
    whole = any(m and 2 * len(m[0]) > len(link.mention.surface) for m in found)
    return whole or link.entity.kind == "population"


def are_two(a: Link, b: Link) -> bool:
    """Whether two links are two things: one mention that was linked twice is one."""
    return a.mention.end <= b.mention.start or b.mention.end <= a.mention.start or a.mention.start < 0
