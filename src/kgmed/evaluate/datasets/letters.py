"""Options and the letters that name them, as data sets write both."""

import re
import unicodedata
from collections.abc import Sequence

LETTERS = "ABCDEFGHIJ"


def options(texts: Sequence[str | None]) -> tuple[tuple[str, str], ...]:
    """The options by letter in their order; an empty one is left out and keeps its letter.

    A letter before the text is taken off: one with a mark behind it, or where every option has its own.

    >>> options(["A．肺", "B、 阑尾", " c. 膀胱", None])
    (('A', '肺'), ('B', '阑尾'), ('C', '膀胱'))
    >>> options(["A肺", "B肝"]), options(["A型", "乙型"])
    ((('A', '肺'), ('B', '肝')), (('A', 'A型'), ('B', '乙型')))
    """
    pairs = [(letter, (t or "").strip()) for letter, t in zip(LETTERS, texts, strict=False)]
    filled = [(letter, t) for letter, t in pairs if t]
    bare = all(_plain(t[:1]) == letter for letter, t in filled)
    return tuple((letter, _without(letter, t, bare=bare)) for letter, t in filled)


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text).upper()


def _without(letter: str, text: str, *, bare: bool) -> str:
    """The text without the letter that names it."""
    plain = text.lstrip("、.． ")
    if _plain(plain[:1]) != letter:
        return text
    rest = plain[1:]
    marked = rest[:1] and not unicodedata.category(rest[0]).startswith(("L", "N"))
    return rest.lstrip("、.．,，:：;；)）] \u3000\t·") or text if (marked or bare) else text


def chosen(text: str) -> tuple[str, ...]:
    """The letters of an answer key, sorted, each once: " ACBD" -> A, B, C, D; "(D)" -> D; anything else -> none.

    >>> chosen(" ACBD"), chosen("(D)"), chosen("Ａ、Ｃ"), chosen("none")
    (('A', 'B', 'C', 'D'), ('D',), ('A', 'C'), ())
    """
    plain = re.sub(r"[\s()\[\]、,;./]+", "", unicodedata.normalize("NFKC", text))
    return tuple(sorted(set(plain))) if plain and all(c in LETTERS for c in plain) else ()
