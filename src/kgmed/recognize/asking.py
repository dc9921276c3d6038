"""Leaves out the words by which a question asks: "side effects" in "What are the side effects of X?" names nothing."""

from dataclasses import dataclass

from kgmed.asks import words_that_ask
from kgmed.stages import Recognizer
from kgmed.types import Mention, Query


@dataclass(frozen=True)
class WithoutAsking:
    """The mentions of a recogniser that do not lie within the words that ask."""

    find: Recognizer

    def __call__(self, query: Query, /) -> list[Mention]:
        """The mentions, in the order of the text."""
        asking = words_that_ask(query.text)
        return [m for m in self.find(query) if not any(a <= m.start and m.end <= b for a, b in asking)]
