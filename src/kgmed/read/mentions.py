"""How a text names the options of a question: by letter, by letter and text, by text, several in a row.

`B`, `(B)`, `选项B`, `B: gout`, `gout (B)`, `gout`, `ACD`; in a row with commas, "and", 和, or each on its own line. A
letter that is part of a word or a name (维生素B, vitamin B12, B型, "A patient") names no option.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

_CALLED = r"(?:选项|选择|(?i:options?|choices?) )"
_OPEN, _CLOSE = r"""[-(\[{"'“‘【「『<\s]{0,4}""", r"""[)\]}"'”’】」』>]{0,4}"""
_CJK = r"\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3"
_ALONE = (
    r"(?![A-Za-z0-9'’%+-])(?! (?!(?:and|or|is|are|because|since|as)\b)[a-z])"
    rf"(?=选?项|[^{_CJK}]|[和及与或都均是为因的也就不]|$)"
)
_JOIN = re.compile(
    r"\s?(?:(?P<or>\bor\b|或者?|还是)|[,、;]? ?(?:\band\b|和|及|与|以及)"
    r"|[,、;/&+]| (?=[A-H](?![A-Za-z0-9'’]))|(?P<line>\n))\s?"
)


@dataclass(frozen=True, slots=True)
class Row:
    """Options named in a row and where it ends.

    `lettered`: one of them at least by its letter; `sure`: no "or" among them, and no letter with another's text.
    """

    letters: frozenset[str]
    lettered: bool
    sure: bool
    end: int


def plain(text: str) -> str:
    """The text in one width, without bold marks and needless blanks.

    >>> plain("**Ｂ**： gout   \\n\\n\\n so")
    'B: gout\\n\\nso'
    """
    text = re.sub(r"[^\S\n]+", " ", unicodedata.normalize("NFKC", text).replace("**", ""))
    return re.sub(r"\n{3,}", "\n\n", re.sub(r" ?\n ?", "\n", text)).strip()


class Mentions:
    """Finds the options of one question in texts that are `plain`."""

    __slots__ = ("_letters_by_text", "_one", "_text", "letters")

    def __init__(self, options: Sequence[tuple[str, str]]) -> None:
        """Prepare for options as (letter, text); a text that two options share names neither."""
        self.letters = tuple(letter.upper() for letter, _ in options)
        keys = [_key(text) for _, text in options]
        self._letters_by_text = {k: x for x, k in zip(self.letters, keys, strict=True) if k and keys.count(k) == 1}
        text = _any_of(list(self._letters_by_text))
        known = "".join(x for x in self.letters if len(x) == 1)
        letter = rf"(?:[{known}]{{2,}}|[A-Z])" if known else "[A-Z]"
        self._text = re.compile(text)
        self._one = re.compile(
            rf"{_OPEN}(?:{_CALLED}{_OPEN})?(?P<letter>{letter}){_ALONE}{_CLOSE}(?:选?项)?"
            rf"(?: ?[:.、,)]?\s?(?P<also>{text}))?"
            rf"|{_OPEN}(?P<text>{text}){_CLOSE}(?: ?[(\[]{_CALLED}?(?P<of>[A-Z](?:[、,和/][A-Z])*)(?:选?项)?[)\]])?"
        )

    def row(self, text: str, start: int) -> Row | None:
        """The options named in a row from there on; None where none is."""
        match = self._one.match(text, start)
        if not match:
            return None
        found, lettered, sure = self._of(match)
        first = match.start("letter")
        listed = first >= 0 and text[max(0, first - 5) : first].rpartition("\n")[2].strip(" -([") == ""
        end = match.end()
        while (join := _JOIN.match(text, end)) and (more := self._one.match(text, join.end())):
            if join["line"] and not (listed and more["letter"]):
                break
            letters, by_letter, alike = self._of(more)
            found, lettered, sure = found | letters, lettered or by_letter, sure and alike and not join["or"]
            end = more.end()
        return Row(frozenset(found), lettered, sure, end)

    def rows(self, text: str) -> Iterator[Row]:
        """All rows in a text, from left to right."""
        at = 0
        while match := self._one.search(text, at):
            row = self.row(text, match.start())
            at = row.end if row else match.end()
            if row:
                yield row

    def named(self, text: str) -> set[str]:
        """The options whose text stands anywhere in it, not as a part of another option's."""
        return {self._letters_by_text[_key(match[0])] for match in self._text.finditer(text)}

    def _of(self, match: re.Match[str]) -> tuple[set[str], bool, bool]:
        """The letters of one mention, whether it has one, whether letter and text agree."""
        letters = {c for c in match["letter"] or match["of"] or "" if c.isascii() and c.isalpha()}
        texts = {self._letters_by_text[_key(text)] for text in (match["also"], match["text"]) if text}
        return letters | texts, bool(letters), not letters or texts <= letters


def _key(text: str) -> str:
    """An option's text as it is compared: in one width and case, without the mark at its end."""
    return " ".join(plain(text).split()).rstrip(".。;,， ").casefold()


def _any_of(texts: Sequence[str]) -> str:
    """A pattern for any of the texts, the longest first; one that matches nothing where there are none."""
    if not texts:
        return r"(?!)"
    return f"(?i:{'|'.join(map(_whole, sorted(texts, key=len, reverse=True)))})"


def _whole(text: str) -> str:
    """A pattern for a text; where it begins or ends with a Latin letter or digit, the word must too."""
    before, after = (f"(?{side}[A-Za-z0-9])" for side in ("<!", "!"))
    inner = r"\s".join(map(re.escape, text.split()))
    return (before if _latin(text[0]) else "") + inner + (after if _latin(text[-1]) else "")


def _latin(character: str) -> bool:
    return character.isascii() and character.isalnum()


@lru_cache(maxsize=256)
def mentions(options: tuple[tuple[str, str], ...]) -> Mentions:
    """What finds the options of a question, made once.

    >>> m = mentions((("A", "gout"), ("B", "flu"), ("C", "mumps")))
    >>> [sorted(row.letters) for row in m.rows("gout and C, not flu (B); A patient")]
    [['A', 'C'], ['B']]
    """
    return Mentions(options)
