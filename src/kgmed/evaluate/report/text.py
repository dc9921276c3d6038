"""Text of questions, graphs and models made fit to be shown: in HTML, in Markdown, in a cell of CSV.

None of it is trusted. What a reader cannot see (control characters, marks that turn the direction of the text, halves
of characters) is shown by its number, and nothing is left that a browser or a table program would carry out.
"""

import re
from html import escape

_CONTROL = {*range(0x20), *range(0x7F, 0xA0)} - {9, 10}
_TURNING = {0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)}
_HIDDEN = {0xAD, 0x200B, 0x2060, 0x2028, 0x2029, 0xFEFF, *range(0xE0000, 0xE0080)}
_SHOWN = {code: f"⟨U+{code:04X}⟩" for code in (*_CONTROL, *_TURNING, *_HIDDEN, *range(0xD800, 0xE000))}
_MARKS = re.compile(r"([\\`*_{}\[\]()<>#|!~&$])")
_FORMULA = tuple("=+-@\t\r＝＋－＠")
_NUMBER = re.compile(r"[+-]?\d+(?:\.\d*)?(?:e[+-]?\d+)?", re.ASCII)


def visible(text: str) -> str:
    """The text with every character that cannot be seen shown by its number; line ends and tabs stay.

    >>> visible("a\\u202eb\\r")
    'a⟨U+202E⟩b⟨U+000D⟩'
    """
    return text.translate(_SHOWN)


def html(text: str) -> str:
    """The text for HTML and SVG, between tags or in a quoted attribute.

    >>> html('<script>"&')
    '&lt;script&gt;&quot;&amp;'
    """
    return escape(visible(text), quote=True)


def bidi(text: str) -> str:
    """The text for HTML, kept apart so that what is written from right to left does not turn what stands around it."""
    return f'<bdi dir="auto">{html(text)}</bdi>'


def markdown(text: str) -> str:
    """The text on one line of Markdown, or in one cell of its tables, without any mark in force.

    >>> markdown("a|b <i> http://x")
    'a\\\\|b \\\\<i\\\\> http:\\u2060//x'
    """
    marked = _MARKS.sub(r"\\\1", visible(" ".join(text.split())))
    return marked.replace("://", ":\u2060//").replace("www.", "www\u2060.")  # else it becomes a link


def csv(text: str) -> str:
    """The text as a cell of CSV that no table program takes for a formula; a number stays one.

    >>> csv("=cmd|' /C calc'!A0"), csv("-0.5"), csv("-1+1")
    ("'=cmd|' /C calc'!A0", '-0.5', "'-1+1")
    """
    shown = visible(text)
    told = text.lstrip().startswith(_FORMULA) or text.startswith(_FORMULA)
    return f"'{shown}" if told and not _NUMBER.fullmatch(text) else shown


def slug(text: str) -> str:
    """The text as a part of a file name or an anchor.

    >>> slug("../hykge[hops=3] é"), slug("中文")
    ('hykge-hops-3', 'x')
    """
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "x"
