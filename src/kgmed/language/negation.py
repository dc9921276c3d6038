"""Which stretches of a text are denied there, by trigger words and their reach (after NegEx, Chapman et al. 2001).

A trigger before denies what follows it, one after denies what precedes it, to the end of the clause or to a word that
begins a new statement. A trigger inside a found name ("No tears", 无尿) is part of the name and denies nothing.
"""

import re
from collections.abc import Iterator, Sequence

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
    r"(?:\b|(?=n['’]t ))(?:no|without|w/o|den(?:y|ies|ied|ying)|neither|nor|never (?:had|has|have)|negative for"
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
    r"|(?:均|都|已|被|检查|检测|呈)*(?:阴性|排除)",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"[^.!?;。！？；\n]+(?:\.(?=\d)[^.!?;。！？；\n]+)*|.", re.DOTALL)
_NEW = re.compile(
    r"\b(?:but|however|although|though|yet|except|apart from|aside from|because|since|due to|secondary to|which|who"
    r"|has|have|had|presents?|presented|presenting|complain\w*|develop(?:s|ed)|shows?|reports?|reported|now|then|still)\b"
    r"|但|却|只有|仅有?|[，,]\s*(?:而|伴|有|出现|现|今|近|目前)|(?<![没不])伴|(?<![没])有",
    re.IGNORECASE,
)
_CJK_COMMA = re.compile("，")


def negated(text: str, places: Sequence[tuple[int, int]]) -> list[bool]:
    """For each place (start, end) of a found name whether the text denies it.

    >>> text = "No fever or cough, but a rash; pneumonia was ruled out."
    >>> [negated(text, [(text.index(w), text.index(w) + len(w))])[0] for w in ("fever", "cough", "rash", "pneumonia")]
    [True, True, False, True]
    """
    reaches = [(m.start() + a, m.start() + b) for m in _SENTENCE.finditer(text) for a, b in _reaches(m, places)]
    return [any(a <= start and end <= b for a, b in reaches) for start, end in places]


def _reaches(sentence: re.Match[str], places: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The denied stretches of a sentence, relative to it."""
    text, offset = sentence.group(), sentence.start()
    taken = [(a - offset, b - offset) for a, b in places]
    taken += [m.span() for m in _PSEUDO.finditer(text)]
    for m in _BEFORE.finditer(text):
        if not _inside(m.span(), taken):
            yield m.end(), _forward(text, m.end())
    for m in _AFTER.finditer(text):
        if not _inside(m.span(), taken):
            yield _backward(text, m), m.start()


def _inside(span: tuple[int, int], taken: Sequence[tuple[int, int]]) -> bool:
    """Whether a span overlaps one of those taken."""
    return any(span[0] < b and a < span[1] for a, b in taken)


def _forward(text: str, start: int) -> int:
    """Where a denial that begins at `start` ends: at a new statement, or a Chinese comma, or the sentence's end."""
    ends = [m.start() for p in (_NEW, _CJK_COMMA) if (m := p.search(text, start))]
    return min(ends, default=len(text))


def _backward(text: str, trigger: re.Match[str]) -> int:
    """Where a denial that stands after its object begins.

    Of one thing ("X was ruled out") it is what follows the last comma or "and"; of several ("X, Y and Z were
    absent") all since the last new statement.
    """
    before = text[: trigger.start()]
    starts = [m.end() for p in (_NEW, _CJK_COMMA) for m in p.finditer(before)]
    if trigger["many"] is None:
        starts += [m.end() for m in re.finditer(r",|，|\band\b", before)]
    return max(starts, default=0)
