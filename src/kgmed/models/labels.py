"""The labels by which a model names evidence: P1, N2 where the retriever gave one, else E and its number."""

from collections.abc import Sequence

from kgmed.types import Evidence


def labels(cited: Sequence[Evidence]) -> list[str]:
    """One label a piece of evidence, all distinct: its own where it has one that no other has, else E1, E2, ...

    >>> labels([Evidence("a", "path", id="P1"), Evidence("b", "triple"), Evidence("c", "path", id="P1")])
    ['P1', 'E2', 'E3']
    """
    found: list[str] = []
    for i, evidence in enumerate(cited, start=1):
        own = evidence.id if evidence.id[:1] in ("P", "N") and evidence.id[1:].isdecimal() else ""
        found.append(own if own and own not in found else f"E{i}")
    return found
