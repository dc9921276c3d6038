"""Phrases that no name of the graph covers but that may mean one of its entities: what a linker tries by likeness.

They also tell the asker what was not understood. A phrase is a run of content words between the found names, cut at
punctuation, at function and question words (cuts.txt), and at verbs of having and asking.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources

from kgmed.kg.tokens import Token, tokens
from kgmed.recognize.negation import negated
from kgmed.types import Mention, Query

_LONGEST = 6  # words of a phrase in a script with spaces
_LONGEST_CJK = 10  # characters of a Chinese phrase
_COPULAS = frozenset({"is", "are", "was", "were", "feel", "feels", "look", "looks"})
_AGE = re.compile(r"^(?:\d.*|(?:year|month|week|day|hour)s?|old)$")
_LETTER = re.compile(r"[^\W\d_]")


@dataclass(frozen=True)
class WithPhrases:
    """The mentions of a finder of names and, between them, the phrases it left over, in the order of the text."""

    find: Callable[[str], list[Mention]]

    def __call__(self, query: Query, /) -> list[Mention]:
        """Names and phrases of the expanded query."""
        text = query.expanded
        names = self.find(text)
        return sorted([*names, *phrases(text, names)], key=lambda m: (m.start, m.end))


def phrases(text: str, names: list[Mention]) -> list[Mention]:
    """The phrases of a text that lie outside the found names; text[p.start:p.end] == p.surface.

    >>> [p.surface for p in phrases("The boy has a very high creatine kinase and enlarged calves. What is it?", [])]
    ['high creatine kinase', 'enlarged calves']
    >>> [p.surface for p in phrases("饭后胃反酸，应该吃什么药？", [])]
    ['胃反酸']
    """
    runs = [run for run in _runs(text, names) if _says_something(run)]
    places = [(run[0].start, run[-1].end) for run in runs]
    denied = negated(text, [*places, *((m.start, m.end) for m in names)])
    return [Mention(text[a:b], text[a:b], a, b, no) for (a, b), no in zip(places, denied, strict=False)]


def _runs(text: str, names: list[Mention]) -> Iterator[list[Token]]:
    """Runs of words that stand together, are in no found name and are no cut word."""
    taken = {i for m in names for i in range(m.start, m.end)}
    words = [w for w in tokens(text) if w.start not in taken]
    cut_at = _cjk_cuts(text)
    run: list[Token] = []
    link: list[Token] = []  # "are" in "muscles are weak", kept only between two words
    for word in words:
        gap = text[(link or run)[-1].end : word.start] if run else ""
        broken = bool(gap.strip(" -'’")) or "\n" in gap or (bool(run) and word.is_cjk != run[-1].is_cjk)
        is_cut = word.text in _cuts() or word.start in cut_at
        if is_cut and not broken and run and not link and word.text in _COPULAS:
            link = [word]
            continue
        if run and (broken or is_cut):
            yield run
            run = []
        if not is_cut:
            run = [*run, *link, word] if run else [word]
        link = []
    if run:
        yield run


def _says_something(run: list[Token]) -> bool:
    """Whether a run may name an entity: no single character, number or age, not only qualifiers, no whole sentence."""
    if run[0].is_cjk:
        return 2 <= len(run) <= _LONGEST_CJK
    content = [w.text for w in run if not _AGE.match(w.text) and w.text not in _qualifiers()]
    letters = sum(len(_LETTER.findall(w)) for w in content)
    return bool(content) and letters > 2 and len(run) <= _LONGEST


def _cjk_cuts(text: str) -> frozenset[int]:
    """The offsets of Chinese characters that belong to a cut word."""
    pattern = _cjk_cut_pattern()
    return frozenset(i for m in pattern.finditer(text) for i in range(m.start(), m.end()))


@lru_cache(maxsize=1)
def _lists() -> dict[str, frozenset[str]]:
    """The word lists of cuts.txt by their headings."""
    text = resources.files("kgmed.recognize").joinpath("cuts.txt").read_text(encoding="utf-8")
    parts = re.findall(r"^\[(\w+)\]\n(.*?)(?=^\[|\Z)", text, re.MULTILINE | re.DOTALL)
    return {name: frozenset(body.split()) for name, body in parts}


def _cuts() -> frozenset[str]:
    """English words that end a phrase."""
    return _lists()["english"]


def _qualifiers() -> frozenset[str]:
    """English words that alone make no phrase."""
    return _lists()["qualifiers"]


@lru_cache(maxsize=1)
def _cjk_cut_pattern() -> re.Pattern[str]:
    """Chinese words that end a phrase, the longest first; a finding that begins with 无 or 不 is kept whole."""
    keep = "|".join(sorted(_lists()["kept"], key=len, reverse=True))
    cut = "|".join(sorted(_lists()["chinese"], key=len, reverse=True))
    return re.compile(
        rf"(?<!无)(?!(?:{keep}))(?:{cut}|[一二两三四五六七八九十几半多]+(?:岁|天|年|个月|周|次|小时|个|点)半?)"
    )
