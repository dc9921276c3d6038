"""Stories of which a graph knows too little to name a disease: that is said, and no list of what shares one finding."""

from collections.abc import Sequence
from dataclasses import dataclass

from kgmed.graph.base import LocalGraph
from kgmed.records import Evidence, Link, Mention, Query
from kgmed.steps.diagnosis import findings_of
from kgmed.steps.pairs import VERDICT
from kgmed.steps.phrase import joined, language_of, named
from kgmed.steps.posterior import posterior

_SEVERAL = 3  # findings told, or phrases that were not understood, of which one finding is too little
_LOOKED = 5  # diseases, best first
_MANY = 150  # ours: diseases that show a finding which alone says too little


@dataclass(frozen=True)
class Vague:
    """The verdict "lacking" for a story of which the best diseases explain one finding of several; None else."""

    graph: LocalGraph

    def __call__(
        self, query: Query, links: Sequence[Link], cards: Sequence[Evidence], missed: Sequence[Mention]
    ) -> Evidence | None:
        """The verdict; `cards` = the diseases that fit, best first; `missed` = what was not understood."""
        told = {n: x for n, x in findings_of(self.graph, links).items() if not x.mention.negated}
        best = max((len(c.about) - 1 for c in cards[:_LOOKED] if c.kind == "candidate"), default=0)
        apart = len(told) >= _SEVERAL and best * _SEVERAL <= len(told)
        model = posterior(self.graph)
        alone = len(told) == 1 and len(missed) >= _SEVERAL and max(map(model.own, told)) > _MANY
        if not (apart or alone):
            return None
        language = language_of(query.text)
        names = joined(list(dict.fromkeys(named(self.graph.at(n), language) for n in told)), language)
        others = joined([m.surface for m in missed][:_SEVERAL], language)
        said = _APART[language].format(names) if apart else _ALONE[language].format(names, others)
        return Evidence(said, VERDICT, (), tuple(self.graph.at(n) for n in told), 1.0, "lacking")


_APART = (
    "The graph has no disease that shows most of what is told: {}. Other words for it, or more findings, may help.",
    "图谱中没有能解释大部分所述表现的疾病：{}。换一种说法或补充其他表现，可能有帮助。",
)
_ALONE = (
    "Too little is understood to name a disease: {} alone, which many diseases show; not understood: {}. "
    "Other words for it may help.",
    "可识别的表现太少，无法判断疾病：只识别到{}，许多疾病都有；未识别：{}。换一种说法可能有帮助。",
)
