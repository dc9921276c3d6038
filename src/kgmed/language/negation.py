"""What a text denies and whose a finding is: denied, another person's, past or supposed, by trigger words.

A trigger before denies what follows it, one after denies what precedes it, to the end of the clause or to a word that
begins a new statement. A trigger inside a found name ("No tears", 无尿) is part of the name and denies nothing.

The triggers of whose it is reach to the end of their clause too. Another person's finding is no
evidence about the patient ("her mother had breast cancer"), but where a question names nothing else it is about that.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate

from kgmed.language.text import lazily
from kgmed.records import Link, Mention, Status
from kgmed.stop import check_stop

# Which stretches of a text are denied there, by trigger words and their reach (after NegEx, Chapman et al. 2001).

_PSEUDO = lazily(
    r"\b(?:no (?:increase|decrease|change|improvement|doubt|cure|relief|longer|matter|significant change)"
    r"|not (?:only|just|necessarily|certain|sure|drain|improv\w+|respond\w*|resolv\w+|been ruled out)"
    r"|(?:cannot|can not|could not|can't|not) (?:be )?(?:rule|ruled|exclude|excluded)(?: out)?"
    r"|(?:should|must|can|may|ought)(?:n['’]t| ?not) (?:to )?(?:have|be|take|use|get)"
    r"|without (?:difficulty|doubt|change|improvement|relief|treatment|success)|gram[- ]negative|rh[- ]negative)\b"
    r"|没(?=[劲力精知]|拉(?!肚)|大便|排便|胃口|原因|理由|来由)|无故|有没有|有无|无法|无论|无关|无意|无奈|无不|不无|无非|无缘无故|无明显(?:改善|好转|诱因|缓解)|无(?:改善|好转|缓解|诱因)"
    r"|没有(?:改善|好转|缓解|效果)|未(?:必|来|知|成年|婚|育|愈|缓解|改善|好转)|无效|不(?:仅|但|只|光)",
    re.IGNORECASE,
)
_BEFORE = lazily(
    r"(?<=, )not(?! (?:only|just|sure|certain)\b)\b"
    r"|(?:\b|(?=n['’]t ))(?:no|without|w/o|den(?:y|ies|ied|ying)|neither|nor|never (?:had|has|have)|negative for"
    r"|free of|absence of"
    r"|(?:lack|lacks|lacking)(?: of)?|ruled? out|no (?:evidence|signs?|history|complaints?) of"
    r"|(?:not|n['’]t) (?:have|had|having|experienc\w+|show\w*|report\w*|complain\w*|suffer\w*|develop\w*|demonstrat\w+"
    r"|associated with|accompanied by|present with|any)(?: any| of| from)?)\b"
    r"|(?:从|并|也|均|都|暂|尚)?(?:没有|没|无|未见|未出现|未发现|未闻及|未触及|未及|未|否认|不伴有?|排除|并非)",
    re.IGNORECASE,
)
_AFTER = lazily(
    r"\b(?:(?P<one>is|was|has been)|(?P<many>are|were|have been)) (?:also |both |all )?"
    r"(?:ruled out|absent|negative|denied|excluded|not (?:seen|present|detected|found|noted|observed))\b"
    r"| ?[:：=] ?(?:negative|absent|none|阴性|无|\(-\)|（-）)"
    r"|(?:均|都|已|被|检查|检测|呈)*+(?:阴性|排除)|(?P<idle>(?:均|都|已|被|检查|检测|呈)++)",
    re.IGNORECASE,
)
_SENTENCE = lazily(r"[^.!?;。！？；\n]+(?:\.(?=\d)[^.!?;。！？；\n]+)*|.", re.DOTALL)
_NEW = lazily(
    r"\b(?:but|however|although|though|yet|except|apart from|aside from|because|since|due to|secondary to|which|who"
    r"|has|have|had|presents?|presented|presenting|complain\w*|develop(?:s|ed)|shows?|reports?|reported|now|then|still)\b"
    r"|但|却|只有|仅有?|[，,]\s*(?:而|伴|有|出现|现|今|近|目前)|(?<![没不])伴|(?<![没])有",
    re.IGNORECASE,
)
_NEW_FROM = lazily(f"(?={_NEW.pattern}|，)", re.IGNORECASE)  # every place where one begins, within another too
_ENDED = lazily(f"{_NEW.pattern}|，", re.IGNORECASE)
_PARTED = lazily(r",|，|\band\b")


def negated(text: str, places: Sequence[tuple[int, int]]) -> list[bool]:
    """For each place (start, end) of a found name whether the text denies it.

    >>> text = "No fever or cough, but a rash; pneumonia was ruled out."
    >>> [negated(text, [(text.index(w), text.index(w) + len(w))])[0] for w in ("fever", "cough", "rash", "pneumonia")]
    [True, True, False, True]
    """
    taken = Spans(places)
    denied = Spans([reach for m in _SENTENCE.finditer(text) for reach in _reaches(m, taken)])
    return [denied.hold(start, end) or _is_not(text, start) for start, end in places]


def _is_not(text: str, start: int) -> bool:
    """Whether what begins at a place is denied right before it, and not asked for as "fever or not"."""
    return text[max(start - 1, 0) : start] == "不" and text[max(start - 2, 0) : start - 1] != text[start : start + 1]


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


# Whose a finding is and when it was: the patient's, another person's, past, or only supposed, by trigger words.

_KIN = (
    r"(?:(?:grand)?(?:mother|father|parents?|son|daughter|child(?:ren)?)|mum|mom|dad|sisters?|brothers?|siblings?"
    r"|aunts?|uncles?|cousins?|nieces?|nephews?|twin|relatives?|wife|husband|partner)"
)
_KIN_CJK = (
    "(?:父母|父亲|母亲|爸爸?|妈妈?|哥哥?|弟弟?|姐姐?|妹妹?|兄弟|姐妹|兄妹|祖父母?|祖母|外祖[父母]|爷爷|奶奶|外公|外婆"
    "|姑姑|舅舅|丈夫|妻子|老公|老婆|家人|亲属)"
)
_SELF = lazily(
    r"\b(?:I (?:have|had|am|feel|got|was|take)|I'(?:m|ve)|myself)\b|我(?:有|最近|今|自己|是|也|现在|一直|患|得)"
)
_OTHER = lazily(
    rf"\b(?:family history(?: of)?|(?:his|her|their|the|patient's|maternal|paternal) {_KIN}"
    r"|family members? (?:with|had|has|have))\b"
    rf"|(?:其|患者的?|病人的?|孩子的?|他的?|她的?){_KIN_CJK}|{_KIN_CJK}(?:都|均|曾)?(?:有|患).{{1,12}}?(?=病史|史)"
    "|家族(?:中|里)|家族史[:：]?",
    re.IGNORECASE,
)
_OTHER_BESIDE_ME = lazily(rf"\bmy {_KIN}\b|我的?{_KIN_CJK}|{_KIN_CJK}(?:有|患|得)", re.IGNORECASE)
_OTHER_BEFORE = lazily(r"家族史|\b(?:runs|run) in (?:the|my|her|his|their) family\b", re.IGNORECASE)
_PAST = lazily(
    r"(?<!family )\bhistory of\b"
    r"|\b(?:previous(?:ly)?|prior|formerly|former|used to have|status post|s/p|recovered from)\b"
    r"|既往|曾经?(?:有|患|得)?|以前|过去",
    re.IGNORECASE,
)
_PAST_BEFORE = lazily(
    r"(?<!家族)(?<!家)病?史|\b(?:years?|months|weeks) ago\b|\bin (?:childhood|the past)\b", re.IGNORECASE
)
_UNCERTAIN = lazily(
    r"\b(?:possible|possibly|probable|probably|suspected|suspicion of|suspect|maybe|perhaps|do i have|is it"
    r"|(?:may|might) (?:have|be)|could (?:have|be|it be)|worried about|afraid of)\b"
    r"|疑似|可能|怀疑|是不是|会不会|担心|考虑|待排",
    re.IGNORECASE,
)
_ENDS = lazily(
    r"[.!?;。！？；\n]|[,，](?=\s*(?:but|he|she|i|the patient|now|患者|我|他|她|现|自己))|\bbut\b|但", re.IGNORECASE
)
_PARTS = lazily(r"[,.!?;，。！？；、\n]|\band\b", re.IGNORECASE)


def marked(text: str, mentions: Sequence[Mention]) -> list[Mention]:
    """The mentions with what the text says of each: another person's, uncertain or past, in this order.

    >>> from kgmed.records import Mention
    >>> text = "Her mother had gout. She has a history of asthma and possible flu."
    >>> found = [Mention(w, w, text.index(w), text.index(w) + len(w)) for w in ("gout", "asthma", "flu")]
    >>> [m.status.value for m in marked(text, found)]
    ['other person', 'past', 'uncertain']
    """
    if not mentions:
        return []
    ends, parts = [m.start() for m in _ENDS.finditer(text)], [0, *(m.end() for m in _PARTS.finditer(text))]
    other = [_OTHER, _OTHER_BESIDE_ME] if _SELF.search(text) else [_OTHER]
    reaches = {
        Status.OTHER: [*_behind(text, other, ends), *_before(text, _OTHER_BEFORE, parts)],
        Status.UNCERTAIN: [*_behind(text, [_UNCERTAIN], ends)],
        Status.PAST: [*_behind(text, [_PAST], ends), *_before(text, _PAST_BEFORE, parts)],
    }
    said = {status: Spans(spans) for status, spans in reaches.items()}
    return [
        replace(m, status=next((s for s, at in said.items() if at.hold(m.start, m.end)), m.status)) for m in mentions
    ]


def of_patient(links: Sequence[Link]) -> list[Link]:
    """The links without other people's findings; all of them where nothing else is named: then they are asked about."""
    own = [link for link in links if link.mention.status is not Status.OTHER]
    return own or list(links)


def _behind(text: str, triggers: Sequence[re.Pattern[str]], ends: Sequence[int]) -> Iterator[tuple[int, int]]:
    """From each trigger to the end of its clause."""
    for m in (m for trigger in triggers for m in trigger.finditer(text)):
        place = bisect_left(ends, m.end())
        yield m.end(), ends[place] if place < len(ends) else len(text)


def _before(text: str, trigger: re.Pattern[str], parts: Sequence[int]) -> Iterator[tuple[int, int]]:
    """From the comma or "and" before each trigger up to it."""
    for m in trigger.finditer(text):
        yield parts[bisect_right(parts, m.start()) - 1], m.start()
