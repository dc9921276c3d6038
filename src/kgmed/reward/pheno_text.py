"""From a patient's description in words to findings of a graph."""

from dataclasses import dataclass

from kgmed.kg.by_role import ByRole
from kgmed.kit import Kit
from kgmed.types import Link, Role


@dataclass(frozen=True, slots=True)
class Described:
    """The findings that a text names; ids, each once. One that is named both ways is present."""

    present: tuple[str, ...]
    absent: tuple[str, ...]
    links: tuple[Link, ...]  # how each was understood
    other: tuple[Link, ...]  # what was understood and is no finding


def described(kit: Kit, text: str) -> Described:
    """The findings in a text: what is negated in it ("no seizures") is absent."""
    links = tuple(kit.linked(text))
    found = ByRole(kit.graph, Role.FINDING, Role.EXCLUDES)
    up = ByRole(kit.graph, Role.IS_A)
    annotated = {
        link.entity.id
        for link in links
        if len(found.subjects(list(up.closure(kit.graph.number(link.entity.id), up=False))).node)
    }
    findings = tuple(link for link in links if link.entity.id in annotated)
    present = dict.fromkeys(link.entity.id for link in findings if not link.mention.negated)
    absent = dict.fromkeys(link.entity.id for link in findings if link.mention.negated)
    others = tuple(link for link in links if link.entity.id not in annotated)
    return Described(tuple(present), tuple(i for i in absent if i not in present), findings, others)
