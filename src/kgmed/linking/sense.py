"""Whether a name is meant as the graph means it: "I have a boil" and "boil an egg", the gene NHS and NHS nurses.

The lists are in everyday.txt. A word that is ordinary elsewhere counts as a finding where the question is a medical
one: by another name that has no second sense, by a word of the clinic, by "have" before it, or because it says
nothing else.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from importlib import resources

from kgmed.language.text import Token, fold_word, has_cjk, tokens
from kgmed.records import Mention

_ACTS = re.compile(r"\b(?:to|i|you|we|they|do|does|should|must|can|could|please|let|will)\s+\Z", re.IGNORECASE)
_REACH = 3  # words between "have" and the name
_HAVING = frozenset({"have", "has", "had", "having", "got", "getting", "my", "his", "her"})
_QUOTES = ("\"'“”‘’「」『』《》«»", "\"'“”‘’「」『』《》«»")


def meant(text: str, names: Sequence[Mention], *, more: bool) -> list[Mention]:
    """The names without those that are ordinary words here; `more` = the text has content words besides the names.

    >>> def of(text, *found):
    ...     return [Mention(f, f, text.index(f), text.index(f) + len(f)) for f in found]
    >>> [[m.name for m in meant(t, of(t, "boil"), more=True)] for t in ("I have a boil on my nose.", "I boil an egg")]
    [['boil'], []]
    >>> t = "How many NHS nurses are on strike?"
    >>> meant(t, of(t, "NHS"), more=True), [m.name for m in meant("What is a boil?", of("a boil?", "boil"), more=False)]
    ([], ['boil'])
    """
    doubtful = [m for m in names if _is_doubtful(m) and not is_quoted(text, m.start, m.end)]
    if not doubtful or len(doubtful) < len(names) or _speaks_of_medicine(text, doubtful):
        return list(names)
    return [m for m in names if _is_had(text, m) or not (more or _is_symbol(m) or _is_done(text, m))]


def is_quoted(text: str, start: int, end: int) -> bool:
    """Whether the place stands in quotation marks: then it is meant as a name, whatever the word.

    >>> is_quoted("什么是“关系”？", 4, 6), is_quoted("有什么关系", 3, 5)
    (True, False)
    """
    return start > 0 and text[start - 1] in _QUOTES[0] and text[end : end + 1] != "" and text[end] in _QUOTES[1]


def is_everyday(words: Sequence[Token]) -> bool:
    """Whether all of some words are ordinary ones, which name nothing that a likeness could find."""
    listed = _list("words")
    return all(w.text in listed or fold_word(w.text) in listed for w in words)


def _is_doubtful(m: Mention) -> bool:
    return _is_symbol(m) or m.surface.lower() in _list("senses")


def _is_symbol(m: Mention) -> bool:
    return m.surface in _list("symbols")


def _is_done(text: str, m: Mention) -> bool:
    """Whether the word is a verb there: "I boil", "to strike"."""
    return _ACTS.search(text[max(0, m.start - 12) : m.start]) is not None


def _is_had(text: str, m: Mention) -> bool:
    """Whether somebody has it: "have" or "my" within some words before it."""
    if has_cjk(m.surface) or _is_symbol(m) or _is_done(text, m):
        return False
    before = [w.text for w in tokens(text[max(0, m.start - 40) : m.start])][-_REACH:]
    return any(w in _HAVING for w in before)


def _speaks_of_medicine(text: str, doubtful: Sequence[Mention]) -> bool:
    """Whether a word of the clinic stands in the text outside the doubtful names."""
    taken = {i for m in doubtful for i in range(m.start, m.end)}
    cues = _list("medical")
    if any(w.text in cues and w.start not in taken for w in tokens(text)):
        return True
    return any((at := text.find(cue)) >= 0 and at not in taken for cue in cues if has_cjk(cue))


@lru_cache(maxsize=8)
def _list(heading: str) -> frozenset[str]:
    text = resources.files("kgmed.linking").joinpath("everyday.txt").read_text(encoding="utf-8")
    found = re.search(rf"^\[{heading}\]\n(.*?)(?=^\[|\Z)", text, re.MULTILINE | re.DOTALL)
    return frozenset(found[1].split() if found else ())
