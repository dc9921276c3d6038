"""The things that a question names, of all that was linked in it."""

import re
from collections.abc import Container, Iterable, Sequence
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
_ALLERGEN = re.compile(r"对([^，。；、（）()]{2,24}?)过敏")
_KIND = re.compile(r"^(?:任何|其[他它]|同类)|(?:类|抗生素|药物|药品|药|制剂)+$")


def is_allergy(link: Link) -> bool:
    """Whether a link is to an allergy to what it names."""
    return link.mention.surface.endswith(_ALLERGY)


def allergens(texts: Iterable[str]) -> set[str]:
    """What labels say that one must not be allergic to, but the product itself.

    >>> sorted(allergens(["对本品或其他头孢类抗生素过敏者禁用", "对青霉素过敏或皮试阳性者禁用"]))
    ['头孢', '青霉素']
    """
    said = [part for text in texts for m in _ALLERGEN.finditer(text) for part in re.split("[或和及与]", m[1])]
    names = {_KIND.sub("", _KIND.sub("", part)) for part in said}
    return {n for n in names if 2 <= len(n) <= 6 and not re.search("本品|本药|该药|成[分份]|辅料|赋形|磺胺基", n)}


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
