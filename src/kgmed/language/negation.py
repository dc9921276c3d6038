"""Which stretches of a text are denied there, by trigger words and their reach (after NegEx, Chapman et al. 2001).

A trigger before denies what follows it, one after denies what precedes it, to the end of the clause or to a word that
begins a new statement. A trigger inside a found name ("No tears", 无尿) is part of the name and denies nothing.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate

from kgmed.stop import check_stop

_PSEUDO = re.compile(
    r"\b(?:no (?:increase|decrease|change|improvement|doubt|cure|relief|longer|matter|significant change)"
    r"|not (?:only|just|necessarily|certain|sure|drain|improv\w+|respond\w*|resolv\w+|been ruled out)"
    r"|(?:cannot|can not|could not|can't|not) (?:be )?(?:rule|ruled|exclude|excluded)(?: out)?"
    r"|without (?:difficulty|doubt|change|improvement|relief|treatment|success)|gram[- ]negative|rh[- ]negative)\b"
    r"|有没有|有无|无法|无论|无关|无意|无奈|无不|不无|无非|无缘无故|无明显(?:改善|好转|诱因|缓解)|无(?:改善|好转|缓解|诱因)"
    r"|没有(?:改善|好转|缓解|效果)|未(?:必|来|知|成年|婚|育|愈|缓解|改善|好转)|无效|不(?:仅|但|只|光)",
    re.IGNORECASE,
)
_BEFORE = re.compile(
    r"(?<=, )not(?! (?:only|just|sure|certain)\b)\b"
    r"|(?:\b|(?=n['’]t ))(?:no|without|w/o|den(?:y|ies|ied|ying)|neither|nor|never (?:had|has|have)|negative for"
    r"|free of|absence of"
    r"|(?:lack|lacks|lacking)(?: of)?|ruled? out|no (?:evidence|signs?|history|complaints?) of"
    r"|(?:not|n['’]t) (?:have|had|having|experienc\w+|show\w*|report\w*|complain\w*|suffer\w*|develop\w*|demonstrat\w+"
    r"|associated with|accompanied by|present with|any)(?: any| of| from)?)\b"
    r"|(?:从|并|也|均|都|暂|尚)?(?:没有|没|无|未见|未出现|未发现|未闻及|未触及|未及|未|否认|不伴有?|排除|并非)",
    re.IGNORECASE,
)
_AFTER = re.compile(
    r"\b(?:(?P<one>is|was|has been)|(?P<many>are|were|have been)) (?:also |both |all )?"
    r"(?:ruled out|absent|negative|denied|excluded|not (?:seen|present|detected|found|noted|observed))\b"
    r"| ?[:：=] ?(?:negative|absent|none|阴性|无|\(-\)|（-）)"
    r"|(?:均|都|已|被|检查|检测|呈)*+(?:阴性|排除)|(?P<idle>(?:均|都|已|被|检查|检测|呈)++)",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"[^.!?;。！？；\n]+(?:\.(?=\d)[^.!?;。！？；\n]+)*|.", re.DOTALL)
_NEW = re.compile(
    r"\b(?:but|however|although|though|yet|except|apart from|aside from|because|since|due to|secondary to|which|who"
    r"|has|have|had|presents?|presented|presenting|complain\w*|develop(?:s|ed)|shows?|reports?|reported|now|then|still)\b"
    r"|但|却|只有|仅有?|[，,]\s*(?:而|伴|有|出现|现|今|近|目前)|(?<![没不])伴|(?<![没])有",
    re.IGNORECASE,
)
_NEW_FROM = re.compile(f"(?={_NEW.pattern}|，)", re.IGNORECASE)  # every place where one begins, within another too
_ENDED = re.compile(f"{_NEW.pattern}|，", re.IGNORECASE)
_PARTED = re.compile(r",|，|\band\b")


def negated(text: str, places: Sequence[tuple[int, int]]) -> list[bool]:
    """For each place (start, end) of a found name whether the text denies it.

    >>> text = "No fever or cough, but a rash; pneumonia was ruled out."
    >>> [negated(text, [(text.index(w), text.index(w) + len(w))])[0] for w in ("fever", "cough", "rash", "pneumonia")]
    [True, True, False, True]
    """
    taken = Spans(places)
    denied = Spans([reach for m in _SENTENCE.finditer(text) for reach in _reaches(m, taken)])
    return [denied.hold(start, end) for start, end in places]


class Spans:
    """Stretches (start, end) of a text, asked of others whether they meet or lie within one of them."""

    def __init__(self, spans: Sequence[tuple[int, int]]) -> None:
        """Sort them, with the furthest end so far of each."""
        ordered = sorted(spans)
        self._starts = [a for a, _ in ordered]
        self._furthest = list(accumulate((b for _, b in ordered), max))

    def meet(self, start: int, end: int) -> bool:
        """Whether one overlaps the stretch.

        >>> Spans([(2, 4)]).meet(3, 9), Spans([(2, 4)]).meet(4, 9)
        (True, False)
        """
        before = bisect_left(self._starts, end)
        return before > 0 and self._furthest[before - 1] > start

    def hold(self, start: int, end: int) -> bool:
        """Whether one holds the whole stretch.

        >>> Spans([(2, 9), (3, 4)]).hold(4, 9), Spans([(2, 4)]).hold(3, 5)
        (True, False)
        """
        before = bisect_right(self._starts, start)
        return before > 0 and self._furthest[before - 1] >= end


def _reaches(sentence: re.Match[str], taken: Spans) -> Iterator[tuple[int, int]]:
    """The denied stretches of a sentence, as places in the whole text."""
    check_stop()
    text, offset = sentence.group(), sentence.start()
    pseudo = Spans([m.span() for m in _PSEUDO.finditer(text)])

    def acts(m: re.Match[str]) -> bool:
        return not (pseudo.meet(*m.span()) or taken.meet(m.start() + offset, m.end() + offset))

    yield from ((a + offset, b + offset) for a, b in _forward(text, [m for m in _BEFORE.finditer(text) if acts(m)]))
    after = [m for m in _AFTER.finditer(text) if not m["idle"] and acts(m)]
    yield from ((a + offset, b + offset) for a, b in _backward(text, after))


def _forward(text: str, triggers: Sequence[re.Match[str]]) -> Iterator[tuple[int, int]]:
    """What each trigger denies behind it: all up to a new statement, or a Chinese comma, or the sentence's end."""
    ends = [m.start() for m in _NEW_FROM.finditer(text)] if triggers else []
    for m in triggers:
        place = bisect_left(ends, m.end())
        yield m.end(), ends[place] if place < len(ends) else len(text)


def _backward(text: str, triggers: Sequence[re.Match[str]]) -> Iterator[tuple[int, int]]:
    """What each trigger denies before it.

    Of one thing ("X was ruled out") it is what follows the last comma or "and"; of several ("X, Y and Z were
    absent") all since the last new statement.
    """
    new = [0, *(m.end() for m in _ENDED.finditer(text))] if triggers else []
    parted = [0, *(m.end() for m in _PARTED.finditer(text))] if triggers else []
    for m in triggers:
        starts = new[bisect_right(new, m.start()) - 1], parted[bisect_right(parted, m.start()) - 1]
        yield starts[0] if m["many"] else max(starts), m.start()
