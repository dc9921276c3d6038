"""Short forms of the clinic that mean several things: what the other words of the text make of them.

"CP" is chest pain beside "SOB" and cerebral palsy elsewhere; the table is `graph/short.txt`.
"""

import re
from collections.abc import Callable, Iterator
from functools import lru_cache

from kgmed.graph.joining import in_context, is_abbreviation
from kgmed.language.text import tokens
from kgmed.records import Mention

_SHORT = re.compile(r"(?<![A-Za-z0-9-])[A-Z][A-Za-z&/-]*[A-Z](?![A-Za-z0-9-])")


def in_short(text: str, has: Callable[[str], bool]) -> Iterator[Mention]:
    """The short forms of a text that its other words give a meaning, under the first name of it that a graph has.

    >>> [m.name for m in in_short("Sudden CP and dyspnea", bool)], list(in_short("A child with CP", bool))
    (['chest pain'], [])
    """
    found = [m for m in _SHORT.finditer(text) if m[0] in _meanings()]
    words = {word.text for word in tokens(text)} if found else set[str]()
    for m in found:
        others = words - {m[0].lower()}
        meant = (names for names, cues in _meanings()[m[0]] if not cues.isdisjoint(others))
        if name := next((name for names in meant for name in names if has(name)), ""):
            yield Mention(m[0], name, *m.span())


@lru_cache(maxsize=1)
def _meanings() -> dict[str, list[tuple[list[str], frozenset[str]]]]:
    """The meanings of each short form: the full names, and the words that tell it."""
    found: dict[str, list[tuple[list[str], frozenset[str]]]] = {}
    for names, cues in in_context():
        full = [name for name in names if not is_abbreviation(name)]
        for short in filter(is_abbreviation, names):
            found.setdefault(short, []).append((full, cues))
    return found
