"""How often a disease shows a finding: what the tie between the two says of it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations

from kgmed.graph.base import ByRole, LocalGraph
from kgmed.language.text import lazily
from kgmed.records import Evidence, Link, Query, Role, Triple
from kgmed.steps.family import Family, often
from kgmed.steps.family import stated as frequency
from kgmed.steps.naming import CONDITIONS
from kgmed.steps.pairs import VERDICT
from kgmed.steps.phrase import affirmed, language_of, sentence
from kgmed.steps.posterior import posterior
from kgmed.steps.things import are_two, things_of

_HOW_OFTEN = lazily(
    r"\bhow (?:common|rare|frequent|often|usual|frequently|commonly)\b|\bpercent(?:age)?\b"
    r"|\bwhat (?:proportion|fraction|share)\b|\b(?:frequency|prevalence) of\b"
    r"|\bhow many\b.{0,30}\b(?:people|patients|children|adults|cases|men|women|those)\b|多大比例|百分之(?:几|多少)",
    re.IGNORECASE,
)
_KINDS = 60  # entries of a disease whose findings are looked at
_NOT_SAID = (" How often the graph does not say.", "图谱未载其频率。")
_SHARE = ("As the graph has it", "图谱记载")


@dataclass(frozen=True)
class Share:
    """The verdict on how often one of two things that are named shows the other."""

    graph: LocalGraph

    def __call__(self, query: Query, links: Sequence[Link]) -> list[Evidence]:
        """[] where that is not asked, or of no two things of which one shows the other."""
        if not _HOW_OFTEN.search(query.text):
            return []
        things = [x for x in things_of(links) if x.entity.kind in CONDITIONS]
        shown = {x.entity: self._showing(x) for x in things}
        pairs = [
            two for two in permutations(things, 2) if are_two(*two) and shown[two[0].entity] <= shown[two[1].entity]
        ]
        found = [t for t in (self._tie(ill, finding) for ill, finding in pairs) if t]
        if not found:
            return []
        best = max(found, key=lambda t: (bool(frequency(t)), often(t)))
        language = language_of(query.text)
        said = affirmed(_SHARE[language], language, [sentence(best, language)])
        said += "" if frequency(best) else _NOT_SAID[language]
        return [Evidence(said, VERDICT, (best,), (best.subject, best.object), 1.0, "yes")]

    def _showing(self, link: Link) -> int:
        """How many diseases show a thing: of two things that is the finding which more show."""
        nodes = [self.graph.number(e.id) for e in Family(self.graph).twins(link)]
        return len(ByRole(self.graph, Role.FINDING).subjects(nodes).node)

    def _tie(self, ill: Link, finding: Link) -> Triple | None:
        """The triple that says a disease shows a finding, the one that says how often first."""
        model, q = posterior(self.graph), self.graph.number(finding.entity.id)
        edges = [model.tie(node, q) for node in Family(self.graph, kinds=_KINDS).of(ill)]
        found = [self.graph.triple(e) for e in edges if e >= 0]
        shown = [t for t in found if t.relation.role is not Role.EXCLUDES]
        return max(shown, key=lambda t: (bool(frequency(t)), often(t)), default=None)
