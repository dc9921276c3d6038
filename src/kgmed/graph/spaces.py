"""English names that lost the spaces between their words: oralcandidiasis, AmoxicillinChewableTablets."""

import re
from collections import Counter
from collections.abc import Iterable

from kgmed.language.text import lazily

_RUN = lazily(r"[A-Za-z]{10,}$")
_WORD = lazily(r"[a-z]+")
_CASE = lazily(r"(?<=[a-z])(?=[A-Z])")
_SMALL = frozenset({"of", "in", "to", "by", "and", "for", "with", "the", "eye", "ear", "due", "or"})
_LEAST, _LONGEST = 4, 25  # letters of a word
_SEEN = 3  # ours: names that a word stands in, so that it is no part of words


def words_of(names: Iterable[str]) -> frozenset[str]:
    """The words that stand in several of some names with spaces."""
    seen = Counter(
        word for name in names if " " in name and name.isascii() for word in {*_WORD.findall(name.casefold())}
    )
    return frozenset(w for w, count in seen.items() if count >= _SEEN and len(w) >= _LEAST) | _SMALL


def spaced(name: str, words: frozenset[str]) -> str:
    """A name of letters alone with its spaces, in the fewest words; "" where it is one word, or not made of `words`.

    >>> known = frozenset({"oral", "candidiasis", "torsion", "testis", "chewable", "tablets", "of"})
    >>> spaced("oralcandidiasis", known), spaced("torsionoftestis", known), spaced("AmoxilChewableTablets", known)
    ('oral candidiasis', 'torsion of testis', 'Amoxil Chewable Tablets')
    >>> spaced("candidiasis", known), spaced("pneumothorax", known)
    ('', '')
    """
    if not _RUN.match(name) or name.casefold() in words:
        return ""
    parts = _CASE.split(name)
    if len(parts) > 1:
        return " ".join(" ".join(_cut(part, words)) or part for part in parts)
    found = _cut(name.casefold(), words)
    ends = {found[0], found[-1]} if found else set()
    whole = len(found) > 1 and ends.isdisjoint(_SMALL) and not (len(found) == 2 and re.search("[oi]$", found[0]))
    return " ".join(found) if whole else ""


def _cut(run: str, words: frozenset[str]) -> list[str]:
    """The fewest words that a run of letters is made of; [] where there are none."""
    said = run.casefold()
    best: list[list[str]] = [[] for _ in said]
    for begin in range(len(said) - 1, -1, -1):
        for end in range(begin + 2, min(len(said), begin + _LONGEST) + 1):
            rest = best[end] if end < len(said) else []
            fits = said[begin:end] in words and (end == len(said) or rest)
            if fits and (not best[begin] or len(rest) + 1 < len(best[begin])):
                best[begin] = [run[begin:end], *rest]
    return best[0]
