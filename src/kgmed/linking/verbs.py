"""Mentions without the verb of the question: 阿托品, and not 用阿托品, in 能不能用阿托品."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from kgmed.language.question import words_that_ask
from kgmed.language.text import has_cjk
from kgmed.pipeline import Recognizer
from kgmed.records import Mention, Query

_ENDS_IN_VERB = re.compile(r"^(\w[\w -]*?) (?:raises?|interacts?|causes?|leads?|treats?|helps?)$", re.IGNORECASE)


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
        cut = next((end for start, end in spans if start < mention.start < end < mention.end), 0)
        if not cut or not has_cjk(mention.surface):
            return [mention]
        rest = query.text[cut : mention.end]
        found = self.find(replace(query, question=replace(query.question, text=rest), hypothesis=""))
        return [replace(m, start=m.start + cut, end=m.end + cut) for m in found if m.start >= 0] or [mention]
