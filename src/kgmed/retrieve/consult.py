"""Retriever: the diseases that explain a patient's findings, and for each what the graph says to do about it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kgmed.kg.graph import LocalGraph
from kgmed.retrieve.diagnosis import Diagnosis
from kgmed.retrieve.overview import Overview
from kgmed.types import Evidence, Link, Query, Role

CARE = (Role.TESTS, Role.TREATS)


@dataclass(frozen=True)
class Consult:
    """`Diagnosis`, and after each disease its tests and treatments; a disease named in the question comes first,
    unless it is one of the findings (constipation).

    The score of a piece is the belief in its disease: the softmax of the diagnostic scores, 1 for one that is named.
    """

    graph: LocalGraph
    keep: int = 10
    listed: int = 12
    care: tuple[Role, ...] = CARE

    def __call__(self, query: Query, links: Sequence[Link]) -> list[Evidence]:
        """Pieces of kind "candidate" and "neighbours", by belief; those of one disease stand together."""
        around = Overview(self.graph, listed=self.listed, roles=self.care)
        cases = Diagnosis(self.graph, keep=self.keep)(query, links)
        findings = {entity for case in cases for entity in case.about[1:]}
        stated = [link.entity for link in links if link.entity.kind == "disease" and not link.mention.negated]
        named = [disease for disease in dict.fromkeys(stated) if disease not in findings]
        found = [piece for disease in named for piece in around.of(disease)]
        if not cases:
            return found
        odds = np.exp(np.array([e.score for e in cases]) - cases[0].score)
        for case, belief in zip(cases, (odds / odds.sum()).tolist(), strict=True):
            if case.about[0] not in named:
                found += [case, *around.of(case.about[0], score=belief)]
        return found
