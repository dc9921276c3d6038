"""Linker: what the question before was about, where a question names nothing of its own."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from kgmed.asks import words_that_ask
from kgmed.stages import Linker
from kgmed.types import Link, Mention

_REFERS = re.compile(
    r"\b(?:it|its|this|that|these|those|they|them|their|he|him|his|she|her)\b|[它他她其]|这|那|该病|该药|上述",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Carried:
    """The links of another linker; where it finds none, those given, marked as carried over (`how` "before, ...").

    They are carried over where `text`, the question, names nothing, found or not, or first refers back ("it", 它) and
    then names something that was not found. "What treats scurvy?" is about scurvy, though no graph may know it.
    """

    link: Linker
    before: tuple[Link, ...] = ()
    text: str = ""

    def __call__(self, mentions: Sequence[Mention], /) -> list[Link]:
        """The links; the mentions of those carried over stand in an earlier question, and so nowhere in this one."""
        found = self.link(mentions)
        return found if found or not refers(self.text, mentions) else [_carried(link) for link in self.before]


def refers(text: str, mentions: Sequence[Mention]) -> bool:
    """Whether a question is about what the one before it was, given what it names and no graph has.

    >>> scurvy = Mention("scurvy", "scurvy", 8, 14)
    >>> refers("How is it treated?", []), refers("What is scurvy and what treats it?", [scurvy])
    (True, False)
    """
    asking = words_that_ask(text)
    named = [m.start for m in mentions if not any(a <= m.start and m.end <= b for a, b in asking)]
    back = _REFERS.search(text)
    return not named or (back is not None and back.start() < min(named))


def _carried(link: Link) -> Link:
    """A link of an earlier question."""
    how = link.how if link.how.startswith("before, ") else f"before, {link.how}"
    return replace(link, mention=replace(link.mention, start=-1, end=-1), how=how)
