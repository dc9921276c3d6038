"""The method without a language model: what the graph says, chosen by what the question asks, cited line by line."""

from collections.abc import Sequence
from dataclasses import dataclass

from kgmed.asks import asking, asks, asks_diagnosis
from kgmed.kg.graph import LocalGraph
from kgmed.retrieve.asked import PATIENT, Asked
from kgmed.retrieve.consult import CARE, Consult
from kgmed.retrieve.options import Links, Options
from kgmed.retrieve.overview import Overview
from kgmed.types import Evidence, Link, Query


@dataclass(frozen=True)
class Fitting:
    """The retriever that fits the question.

    A question with options gets the ties to each; one that asks for drugs, tests, causes, ... those; one that
    describes a patient the diseases that fit; any other, or one for which these find nothing, what the graph says of
    the entities it names.
    """

    graph: LocalGraph
    link: Links

    def __call__(self, query: Query, links: Sequence[Link]) -> list[Evidence]:
        """The evidence of the first that has any; of two where a question asks for a diagnosis and for more."""
        if query.question.options:
            return Options(self.graph, self.link)(query, links)
        asked = asks(query.text)
        patient = _describes_a_patient(query.text, links) and (not asked or any(role in PATIENT for role in asked))
        found = Asked(self.graph, through=not patient)(query, links) if asked else []
        if asks_diagnosis(query.text) or (not found and patient):
            found = [*Consult(self.graph, care=tuple(r for r in CARE if r in asked) or CARE)(query, links), *found]
        return found or Overview(self.graph)(query, links)


def _describes_a_patient(text: str, links: Sequence[Link]) -> bool:
    """Whether a text tells of someone and does not only ask, or names several things that are there.

    >>> _describes_a_patient("What is gout?", []), _describes_a_patient("My toe hurts. What helps?", [])
    (False, True)
    """
    stated = {link.entity for link in links if not link.mention.negated}
    return len(stated) > 1 or asking(text).strip() != text.strip()
