"""Stories that a phrase closes which asks nothing of its own ("What should I do?"), read by what they tell."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from kgmed.graph.base import LocalGraph
from kgmed.language.closing import closed
from kgmed.language.question import texts_asked
from kgmed.language.restate import ASKED
from kgmed.language.text import has_cjk
from kgmed.records import Evidence, Link, Query
from kgmed.steps.family import MEDICINES
from kgmed.steps.halves import stated
from kgmed.steps.naming import is_an_illness, with_its_findings
from kgmed.steps.restated import in_plain_words
from kgmed.steps.story import asks, asks_of

_OF_A_NAMED = {"do": "treatment", "danger": "complication", "expect": "symptom"}
_PROGNOSIS = "prognosis"  # "how serious is it" has its words


@dataclass(frozen=True)
class OfWhatIsTold:
    """A retriever that is asked a story without what closes it; of an illness that is named what that means."""

    graph: LocalGraph
    retrieve: Callable[[Query, Sequence[Link]], list[Evidence]]

    def __call__(self, query: Query, links: Sequence[Link]) -> list[Evidence]:
        """What is found for the story; for a question that nothing closes what is found for it."""
        told, kind = closed(query.text)
        mine = [x for x in links if told[max(x.mention.start, 0) : x.mention.end] == x.mention.surface]
        things = stated(mine)
        others = any(row.name != _PROGNOSIS for row in texts_asked(query.text))
        if not kind or not things or others:
            return self.retrieve(query, links)
        if taken := [x for x in mine if x.entity.kind in MEDICINES]:
            form = ASKED["side effect"][has_cjk(query.text)]
            alone = len(things) == 1 and kind == "expect"
            return self.retrieve(*(in_plain_words(form, taken[:1], query) if alone else (query, links)))
        ill = [x for x in with_its_findings(self.graph, mine) if x.entity in things]
        named = len({x.entity for x in ill}) == 1 and is_an_illness(self.graph, ill[0])
        if named and kind in _OF_A_NAMED and not asks(told) and not asks_of(told):
            form = ASKED[_OF_A_NAMED[kind]][has_cjk(query.text)]
            return self.retrieve(*in_plain_words(form, ill[:1], query))
        return self.retrieve(Query(replace(query.question, text=told), query.hypothesis), mine)
