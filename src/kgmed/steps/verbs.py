"""Mentions without the verb of the question: 阿托品, and not 用阿托品, in 能不能用阿托品."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from kgmed.language.question import words_that_ask
from kgmed.language.text import has_cjk, lazily
from kgmed.pipeline import Recognizer
from kgmed.records import Mention, Query

_BEGINS_WITH_VERB = lazily("^[用吃服喝打治](?=[一-鿿]{2})")  # a graph may have an entry 用阿托品
_MAY = lazily("(?:能|可以|该|要|想|宜|应|不|在|正|我|人)$")
_ENDS_IN_VERB = lazily(
    r"^(\w[\w -]*?) (?:raises?|interacts?|causes?|leads?|treats?|helps?|works?|triggers?|lowers?|prevents?|affects?)$",
    re.IGNORECASE,
)
_VERB_WITHIN = lazily(r"\b ?(?:gets?|makes?|has|have|takes?|taking|causes?) ", re.IGNORECASE)  # no name has one in it
_BEGINS_WITH_VS = lazily(r"(?:vs\.?|versus) (?=\w)", re.IGNORECASE)


@dataclass(frozen=True)
class WithoutVerb:
    """The mentions of a recogniser; one that takes in a verb of the question is looked for again without it."""

    find: Recognizer

    def __call__(self, query: Query, /) -> list[Mention]:
        """The mentions, in the order of the text."""
        spans = words_that_ask(query.text)
        return [part for m in self.find(query) for part in self._behind(query, m, spans)]

    def _behind(self, query: Query, mention: Mention, spans: Sequence[tuple[int, int]]) -> list[Mention]:
        """The mention, or what is found of it behind the words that ask, or before the verb that ends it."""
        verb = _ENDS_IN_VERB.search(mention.surface)
        if verb and mention.start >= 0:
            return [replace(mention, surface=verb[1], name=verb[1], end=mention.start + len(verb[1]))]
        inner = _VERB_WITHIN.search(mention.surface)
        if inner and mention.start >= 0 and (mention.name == mention.surface or mention.name.isupper()):
            ends = ((0, inner.start()), (inner.end(), len(mention.surface)))
            return [
                replace(mention, surface=said, name=said, start=mention.start + a, end=mention.start + b)
                for a, b in ends
                if (said := mention.surface[a:b])
            ]
        against = _BEGINS_WITH_VS.match(mention.surface)
        if against and mention.start >= 0:
            said = mention.surface[against.end() :]
            return [replace(mention, surface=said, name=said, start=mention.start + against.end())]
        cut = next((end for start, end in spans if start < mention.start < end < mention.end), 0)
        if mention.start > 0 and _BEGINS_WITH_VERB.search(mention.surface):
            may = _MAY.search(query.text[max(0, mention.start - 2) : mention.start])
            cut = cut or (mention.start + 1 if may else 0)
        if not cut or not has_cjk(mention.surface):
            return [mention]
        rest = query.text[cut : mention.end]
        found = self.find(replace(query, question=replace(query.question, text=rest), hypothesis=""))
        return [replace(m, start=m.start + cut, end=m.end + cut) for m in found if m.start >= 0] or [mention]
