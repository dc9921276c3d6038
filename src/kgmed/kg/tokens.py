"""Words of a text with their places in it: a word in scripts with spaces, a character in Chinese and Japanese.

The words are those of `text.normalise`, so that a name and its mention in a text give the same words.
"""

import re
import unicodedata
from functools import lru_cache
from typing import NamedTuple

from kgmed.kg.text import normalise

_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_PIECE = re.compile(rf"[{_CJK}]|(?:[^\W_{_CJK}]|[+%<>=≥≤]|(?<=\d)\.(?=\d))+")
_ASCII_PIECE = re.compile(r"(?:[a-zA-Z0-9+%<>=]|(?<=\d)\.(?=\d))+")
_POSSESSIVE = re.compile(r"['’`]s?(?=\s|$|[^\w])", re.IGNORECASE)


class Token(NamedTuple):
    """A normalised word and where it stands: text[start:end]."""

    text: str
    start: int
    end: int

    @property
    def is_cjk(self) -> bool:
        """Whether it is a Chinese or Japanese character."""
        return (
            not self.text.isascii() and "\u3040" <= self.text[0] <= "\ufaff" and not "\ua000" <= self.text[0] < "\uf900"
        )


def tokens(text: str) -> list[Token]:
    """The words of a text, in order.

    >>> [t.text for t in tokens("Crohn's disease: 38.5% of II型 cases")]
    ['crohn', 'disease', '38.5%', 'of', 'ii', '型', 'cases']
    >>> [text for text, _, _ in tokens("胃　ＡＢＣ")], tokens("胃　ＡＢＣ")[1][1:]
    (['胃', 'abc'], (2, 5))
    """
    if text and min(text) >= "\u4e00" and max(text) <= "\u9fff":  # all Chinese, as most names of a Chinese graph
        return [Token(char, i, i + 1) for i, char in enumerate(text)]
    shadow = text if text.isascii() else "".join(map(_shadow, text))
    if "'" in shadow or "`" in shadow:
        shadow = _POSSESSIVE.sub(lambda m: " " * len(m.group()), shadow)
    if text.isascii():
        return [Token(m.group().lower(), m.start(), m.end()) for m in _ASCII_PIECE.finditer(shadow)]
    return [t for m in _PIECE.finditer(shadow) for t in _pieces(text, m.start(), m.end())]


def _pieces(text: str, start: int, end: int) -> list[Token]:
    """The words of one unbroken piece of text; nearly always one."""
    piece = text[start:end]
    if piece.isascii():
        return [Token(piece.lower(), start, end)]
    return [Token(word, start, end) for word in _words(piece)]


@lru_cache(maxsize=1 << 16)
def _words(piece: str) -> tuple[str, ...]:
    """The normalised words of a piece that is not plain ASCII."""
    return tuple(_PIECE.findall(normalise(piece)))


@lru_cache(maxsize=1 << 16)
def _shadow(char: str) -> str:
    """One character of the same class that the pattern knows: what NFKC would make of it."""
    if char.isascii() or re.match(f"[{_CJK}]", char):
        return char
    if char in "’´":
        return "'"
    form = unicodedata.normalize("NFKC", char)
    if len(form) == 1 and (form.isascii() or re.match(f"[{_CJK}]", form)):
        return form
    if unicodedata.category(char).startswith("M"):
        return "x"
    if any(c.isalnum() for c in form):
        return "0" if form[-1].isdigit() else "x"
    return char if char in "≥≤" else " "
