"""Whose a finding is and when it was: the patient's, another person's, past, or only supposed, by trigger words.

A trigger reaches to the end of its clause, as those of `kgmed.language.negation` do. Another person's finding is no
evidence about the patient ("her mother had breast cancer"), but where a question names nothing else it is about that.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace

from kgmed.language.negation import Spans
from kgmed.records import Link, Mention, Status

_KIN = (
    r"(?:(?:grand)?(?:mother|father|parents?|son|daughter|child(?:ren)?)|mum|mom|dad|sisters?|brothers?|siblings?"
    r"|aunts?|uncles?|cousins?|nieces?|nephews?|twin|relatives?|wife|husband|partner)"
)
_KIN_CJK = (
    "(?:父母|父亲|母亲|爸爸?|妈妈?|哥哥?|弟弟?|姐姐?|妹妹?|兄弟|姐妹|兄妹|祖父母?|祖母|外祖[父母]|爷爷|奶奶|外公|外婆"
    "|姑姑|舅舅|丈夫|妻子|老公|老婆|家人|亲属)"
)
_SELF = re.compile(
    r"\b(?:I (?:have|had|am|feel|got|was|take)|I'(?:m|ve)|myself)\b|我(?:有|最近|今|自己|是|也|现在|一直|患|得)"
)
_OTHER = re.compile(
    rf"\b(?:family history(?: of)?|(?:his|her|their|the|patient's|maternal|paternal) {_KIN}"
    r"|family members? (?:with|had|has|have))\b"
    rf"|(?:其|患者的?|病人的?|孩子的?|他的?|她的?){_KIN_CJK}|{_KIN_CJK}(?:都|均|曾)?(?:有|患).{{1,12}}?(?=病史|史)"
    "|家族(?:中|里)|家族史[:：]?",
    re.IGNORECASE,
)
_OTHER_BESIDE_ME = re.compile(rf"\bmy {_KIN}\b|我的?{_KIN_CJK}|{_KIN_CJK}(?:有|患|得)", re.IGNORECASE)
_OTHER_BEFORE = re.compile(r"家族史|\b(?:runs|run) in (?:the|my|her|his|their) family\b", re.IGNORECASE)
_PAST = re.compile(
    r"(?<!family )\bhistory of\b"
    r"|\b(?:previous(?:ly)?|prior|formerly|former|used to have|status post|s/p|recovered from)\b"
    r"|既往|曾经?(?:有|患|得)?|以前|过去",
    re.IGNORECASE,
)
_PAST_BEFORE = re.compile(
    r"(?<!家族)(?<!家)病?史|\b(?:years?|months|weeks) ago\b|\bin (?:childhood|the past)\b", re.IGNORECASE
)
_UNCERTAIN = re.compile(
    r"\b(?:possible|possibly|probable|probably|suspected|suspicion of|suspect|maybe|perhaps|do i have|is it"
    r"|(?:may|might) (?:have|be)|could (?:have|be|it be)|worried about|afraid of)\b"
    r"|疑似|可能|怀疑|是不是|会不会|担心|考虑|待排",
    re.IGNORECASE,
)
_ENDS = re.compile(
    r"[.!?;。！？；\n]|[,，](?=\s*(?:but|he|she|i|the patient|now|患者|我|他|她|现|自己))|\bbut\b|但", re.IGNORECASE
)
_PARTS = re.compile(r"[,.!?;，。！？；、\n]|\band\b", re.IGNORECASE)


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
