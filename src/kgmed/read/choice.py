"""Which options a reply chooses, where that is beyond doubt."""

from collections.abc import Sequence

from kgmed.read.said import said

_SURE = {"letters", "stated", "headline", "is"}


def chosen(reply: str, options: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """The letters of the options that the reply chooses, in the options' order; () where it is not beyond doubt.

    What `said` understands but for guesses from single verdicts or from an option's text somewhere in the reply.

    >>> abc = (("A", "asthma"), ("B", "gout"), ("C", "measles"))
    >>> chosen("答案：Ａ、Ｃ。", abc), chosen("B. gout, since the toe is red", abc), chosen("A. gout", abc)
    (('A', 'C'), ('B',), ())
    """
    found = said(reply, options)
    return found.letters if found.how in _SURE else ()
