"""Which options a reply settles on, however it says so: one parser for Chinese and English replies.

A reply is read in this order, and the first that tells something counts: options and nothing else; a statement of the
answer ("the answer is B", 正确选项是A和C; where they differ, the last that draws a conclusion); an option as headline
that is not the first of a list of all; a weaker statement ("the drug is C: aspirin"); the option called wrong; verdicts
on single options; at last the only option whose text is in the first, the last or any sentence. Several letters are
handed back as several: whether that is wrong is for who grades.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from kgmed.read.mentions import Mentions, Row, mentions, plain

How = Literal["letters", "stated", "headline", "is", "wrong one", "verdicts", "named", "at odds", ""]

_LINK = r"(?:\s?(?:应该?|可能|只有?|就|会|will|would|should|must|be|is|are))*\s?(?:是|为|即|包括|有|选)?\s?:?\s?\s?"
_OTHER = "(?<!其他)(?<!其余)(?<!其它)(?<!不)"
_STATES = re.compile(
    rf"{_OTHER}(?:(?:正确|最佳|合适|适合|恰当|适当|可能|题意|题干|要求|对)的?(?:选项|答案|选择|说法|叙述|描述)|答案)[中里]?{_LINK}"
    rf"|(?<![A-Za-z])(?:answers?|(?:correct|right|best)(?: (?:answers?|options?|choices?|one))|boxed){_LINK}"
    rf"|{_OTHER}(?:应该?|故|因此|所以|应当)选择?{_LINK}",
    re.IGNORECASE,
)
_IS = re.compile(r"(?<!不)(?<!不[应能可])(?<!非)(?:是|为|选择?|包括|\bis|\bare)\s?:?\s?")
_WRONG = re.compile(
    rf"(?:错误|不正确|不对|有误|不恰当|不属于)的?(?:选项|答案|说法|叙述|描述)?{_LINK}"
    rf"|\b(?:wrong|incorrect|false)(?: (?:answers?|options?|choices?|one|statement))?{_LINK}",
    re.IGNORECASE,
)
_ALL = re.compile(
    r"^(?:以上)?(?:所有|全部)的?选项[都均]?是?正确|^all (?:of )?(?:the )?options are (?:correct|right)", re.IGNORECASE
)
_SO = re.compile(
    r"因此|所以|综上|综合|总之|总结|最终|由此|故|\b(?:therefore|thus|hence|so|in conclusion|overall)\b", re.IGNORECASE
)
_END = re.compile(r"(?<=[。!?])|(?<=[a-z)\]\"'][.])\s|\n+")
_NUMBERED = re.compile(r"(?:output ?)?\d ?[:.] ?", re.IGNORECASE)
_HEAD = re.compile(r"^[-* (]*(?:选项)?([A-Z])(?:选项)?\)? ?[:.、,)](?! ?[A-Z][ ,、;:])", re.MULTILINE)
_GOOD = re.compile(r" ?[都均也就]?(?:应该|可能)?(?:是|\bis|\bare)? ?(?:最|the )?(?:正确|合适|可能|right|correct)(?!性)")
_BAD = re.compile(r" ?[都均也]?(?:\bis|\bare)? ?(?:不是|是?不?可?能?不正确|是?错误|不符合|不对|wrong|incorrect|not )")
_ITSELF = r"(?:这|这个|该|此|本)(?:一|个)?(?:选项|答案|说法|叙述|描述)?|this (?:option |choice |one )?"
_ACCEPTED = re.compile(rf"(?:{_ITSELF}) ?(?:是|is )?(?:正确|对的|right|correct)", re.IGNORECASE)
_REFUSED = re.compile(
    rf"(?:{_ITSELF}) ?(?:是|is )?(?:不正确|错误|不对|not |wrong|incorrect)"
    r"|(?:所以|因此|可能|,|并|也)不(?:是|属于|适用|符合|正确)",
    re.IGNORECASE,
)
_CLOSING = re.compile(r"\n+(?=综上|因此|总之|所以|综合|therefore|in conclusion|overall|thus)", re.IGNORECASE)
_FAR = 300  # so many characters before a claim its "so" may stand
_LIST = 3  # so many options in their order, each at the head of a line, are a list of all


@dataclass(frozen=True, slots=True)
class Said:
    """The letters that a reply settles on, in the options' order, and what told them ("" where nothing did).

    Letters are () with `how` "at odds" where the reply contradicts itself, leaves it open ("A or B") or names a letter
    that is no option's.
    """

    letters: tuple[str, ...]
    how: How


def said(reply: str, options: Sequence[tuple[str, str]]) -> Said:
    """What a reply settles on.

    >>> abc = (("A", "gout"), ("B", "flu"), ("C", "mumps"))
    >>> [said(t, abc).letters for t in ("正确选项：A、C。", "A: no. So the answer is flu.", "B or C", "It is gout.")]
    [('A', 'C'), ('B',), (), ('A',)]
    """
    text = plain(reply)
    text = text[match.end() :] if (match := _NUMBERED.match(text)) else text
    by = mentions(tuple(options))
    for how, found in _readings(text, by):
        if found is not None:
            known = tuple(x for x in by.letters if x in found)
            return Said(known, how) if known and len(known) == len(found) else Said((), "at odds")
    return Said((), "")


def _readings(text: str, by: Mentions) -> Iterator[tuple[How, frozenset[str] | None]]:
    """Each way of reading the reply, the surest first: None where it tells nothing, no letter where it is at odds."""
    yield "letters", _nothing_else(text, by)
    yield "stated", _stated(text, by)
    yield "headline", _headline(text, by)
    yield "is", _agreed(_weak(text, by))
    yield "wrong one", _agreed([c for c in _claims(_WRONG, text, by) if c.row.lettered])
    good, bad = _judged(text, by)
    yield "verdicts", _odd_one(set(by.letters), good, bad)
    yield "wrong one", _opening(text, by) if not good else None
    yield "named", _named(text, by, bad)


def _stated(text: str, by: Mentions) -> frozenset[str] | None:
    """The options stated to be the answer: behind a cue, called right in a closing sentence, or all of them."""
    if _ALL.search(text):
        return frozenset(by.letters)
    closing = _CLOSING.split(text)[1:]
    last = [row for part in closing for row in by.rows(part) if row.lettered and _GOOD.match(part, row.end)]
    return _agreed([*_claims(_STATES, text, by), *(_Claim(row, concludes=True) for row in last)])


@dataclass(frozen=True, slots=True)
class _Claim:
    """Options claimed in a sentence, and whether that draws a conclusion."""

    row: Row
    concludes: bool


def _nothing_else(text: str, by: Mentions) -> frozenset[str] | None:
    row = by.row(text, 0)
    return _sure(row) if row and not text[row.end :].strip(" .。)]:;") else None


def _sure(row: Row) -> frozenset[str]:
    return row.letters if row.sure else frozenset()


def _claims(cue: re.Pattern[str], text: str, by: Mentions) -> list[_Claim]:
    """The options that stand right behind a cue, but for those that are called wrong there."""
    wrong = set() if cue is _WRONG else {match.end() for match in _WRONG.finditer(text)}
    begins = [0, *(m.end() for m in _END.finditer(text))]
    found = []
    for match in cue.finditer(text):
        if match.end() not in wrong and (row := by.row(text, match.end())):
            begin = max(begins[bisect_right(begins, match.start()) - 1], match.start() - _FAR)
            found.append(_Claim(row, _SO.search(text, begin, match.end()) is not None))
    return found


def _weak(text: str, by: Mentions) -> list[_Claim]:
    """Options behind a mere "is": named by letter, or by text where that closes the reply."""
    closing = _CLOSING.split(text)[1:]
    last = [_Claim(c.row, concludes=True) for part in closing for c in _claims(_IS, part, by)]
    return [*(c for c in _claims(_IS, text, by) if c.row.lettered), *last]


def _agreed(claims: Sequence[_Claim]) -> frozenset[str] | None:
    """The options of the last conclusion; without one those of all claims, none where they differ."""
    if not claims:
        return None
    if last := [c for c in claims if c.concludes]:
        return _sure(last[-1].row)
    return _sure(claims[0].row) if len({c.row.letters for c in claims}) == 1 else frozenset()


def _lists(text: str, by: Mentions) -> bool:
    """Whether lines go through the options in order, from the first line that one is at the head of."""
    heads = [match[1] for match in _HEAD.finditer(text)]
    return len(by.letters) >= _LIST and heads[:_LIST] == list(by.letters[:_LIST])


def _headline(text: str, by: Mentions) -> frozenset[str] | None:
    """The options that the reply begins with, each by its letter."""
    row = by.row(text, 0)
    if not row or not row.lettered or _BAD.match(text, row.end) or _lists(text, by):
        return None
    return _sure(row)


def _judged(text: str, by: Mentions) -> tuple[set[str], set[str]]:
    """The options called right and those called wrong; those called both are neither."""
    good: set[str] = set()
    bad: set[str] = set()
    for row in by.rows(text):
        if row.lettered and _BAD.match(text, row.end):
            bad |= row.letters
        elif row.lettered and _GOOD.match(text, row.end):
            good |= row.letters
    for letter, block in _blocks(text, by):
        if _REFUSED.search(block):
            bad.add(letter)
        elif _ACCEPTED.search(block):
            good.add(letter)
    return good - bad, bad - good


def _blocks(text: str, by: Mentions) -> Iterator[tuple[str, str]]:
    """The options that a list goes through, each with what is said of it before the next or a blank line and a "so"."""
    heads = list(_HEAD.finditer(text)) if _lists(text, by) else []
    ends = [*(head.start() for head in heads[1:]), len(text)]
    for head, end in zip(heads, ends, strict=False):
        yield head[1], _CLOSING.split(text[head.end() : end])[0]


def _opening(text: str, by: Mentions) -> frozenset[str] | None:
    """The options that the reply begins by calling wrong."""
    row = by.row(text, 0)
    return _sure(row) if row and row.lettered and _BAD.match(text, row.end) else None


def _odd_one(letters: set[str], good: set[str], bad: set[str]) -> frozenset[str] | None:
    """The one option judged otherwise than the rest; those judged right where there is none."""
    if len(left := letters - bad) == 1 < len(bad):
        return frozenset(left)
    odd = bad if len(bad) == 1 < len(good) else good
    return frozenset(odd) if odd and (bad or len(good) == 1) else None


def _named(text: str, by: Mentions, wrong: set[str]) -> frozenset[str] | None:
    """The only option whose text is in the first sentence, else in the last, ..., else anywhere."""
    rows = _lists(text, by)
    pieces = [p for p in _END.split(text) if p and not (rows and _HEAD.match(p))]
    for piece in (*pieces[:1], *reversed(pieces[1:]), "" if rows else text):
        if len(found := by.named(piece) - wrong) == 1:
            return frozenset(found)
    return None
