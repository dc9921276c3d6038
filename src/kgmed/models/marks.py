"""Citation marks in what a model wrote: [1], [1, 2], [2-4], also in full width: 【1】, ［１、３］."""

import re
from collections.abc import Iterator

WIDEST = 50  # numbers in one range; [1-9999] is no citation
_MARK = re.compile(
    r"[\[【［〔]\s*(?:evidence|证据)?\s*(\d{1,4}(?:\s*[-–—~～,，、;；]\s*(?:evidence|证据)?\s*\d{1,4})*)\s*[\]】］〕]",
    re.IGNORECASE,
)
_RANGE = re.compile(r"(\d+)\s*[-–—~～]\s*(\d+)|(\d+)")


def marks(text: str) -> tuple[int, ...]:
    """The distinct numbers cited, in the order of the text.

    >>> marks("Rest [2]. Fluids【1、3】, and more [3–5] since 1998 [ref]."), marks("［１］")
    ((2, 1, 3, 4, 5), (1,))
    """
    return tuple(dict.fromkeys(n for mark in _MARK.finditer(text) for n in _numbers(mark[1])))


def without_marks(text: str) -> str:
    """The text without its marks and without the space before them.

    >>> without_marks("Rest [2]. 多喝水【1】。")
    'Rest. 多喝水。'
    """
    return re.sub(r"\s*" + _MARK.pattern, "", text, flags=re.IGNORECASE)


def _numbers(inside: str) -> Iterator[int]:
    """The numbers in one mark; a range that runs backwards or too far stands for its two ends."""
    for first, last, single in _RANGE.findall(inside):
        if single:
            yield int(single)
        elif int(first) <= int(last) < int(first) + WIDEST:
            yield from range(int(first), int(last) + 1)
        else:
            yield from (int(first), int(last))
