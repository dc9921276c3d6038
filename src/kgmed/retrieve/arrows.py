"""Paths written as arrow chains. Both ends are shown for every shape, and each arrow points as its graph states it."""

from collections.abc import Sequence

from kgmed.kg.graph import LocalGraph
from kgmed.types import Link, Triple

Walk = Sequence[tuple[int, bool]]  # (edge number, along the edge?) in walking order


def arrows(triples: Sequence[Triple], forward: Sequence[bool]) -> str:
    """The chain from the start of the first triple, as walked, to the end of the last.

    >>> from kgmed.types import Entity, Relation
    >>> a, x, b = (Entity(n, n) for n in "AXB")
    >>> arrows([Triple(a, Relation("r"), x), Triple(b, Relation("s"), x)], [True, False])
    'A -[r]-> X <-[s]- B'
    """
    if not triples:
        return ""
    text = (triples[0].head if forward[0] else triples[0].tail).name
    for t, along in zip(triples, forward, strict=True):
        text += f" -[{t.relation}]-> {t.tail.name}" if along else f" <-[{t.relation}]- {t.head.name}"
    return text


def anchors(graph: LocalGraph, links: Sequence[Link]) -> list[int]:
    """The node numbers of the linked entities, each once, in the order of the links; negated mentions left out.

    "No fever" is no reason to look for what fever has to do with the rest.
    """
    return list(dict.fromkeys(graph.number(link.entity.id) for link in links if not link.mention.negated))
