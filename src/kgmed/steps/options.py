"""Which options of a question a reply chooses, however it says so: one parser for Chinese and English replies."""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Literal

from kgmed import vocabulary
from kgmed.language.text import pattern_of

# --- How a text names the options of a question: by letter, by letter and text, by text, several in a row.
# `B`, `(B)`, `选项B`, `B: gout`, `gout (B)`, `gout`, `ACD`; in a row with commas, "and", 和, or each on its own line. A
# letter that is part of a word or a name (维生素B, vitamin B12, B型, "A patient") names no option.


_CALLED = r"(?:选项|选择|(?i:options?|choices?) )"
_OPEN, _CLOSE = r"""[-(\[{"'“‘【「『<\s]{0,4}""", r"""[)\]}"'”’】」』>]{0,4}"""
_CJK = r"\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3"
_ALONE = (
    r"(?![A-Za-z0-9'’%+-])(?! (?!(?:and|or|is|are|because|since|as)\b)[a-z])"
    rf"(?=选?项|[^{_CJK}]|[和及与或都均是为因的也就不]|$)"
)
# What makes a Chinese name that it follows part of another: 肺炎 of 肺炎球菌感染, 糖尿病 of 糖尿病肾病. Not what says
# the same of it (高血压病, 肝硬化症), nor where grammar or a verb is between (肺炎所致的病, 糖尿病并发症, 青霉素抗菌).
_BETWEEN = (
    r"(?![是为的和及与或都均因也就不等由可能会应在对于用治疗抑制]|[引起导致发造成并合伴有所以其继患者类疾这该抗杀灭])"
)
_PART = (
    rf"(?!(?:{_BETWEEN}[\u3400-\u9fff]){{0,4}}?(?:[炎癌瘤菌]|病毒|[支衣]原体|螺旋体|疫苗)(?!症)"
    rf"|(?:{_BETWEEN}[\u3400-\u9fff]){{1,4}}?(?:病(?![人情史因例程床房理])|症(?!状)|综合征|感染))"
)
_JOIN = re.compile(
    r"\s?(?:(?P<or>\bor\b|或者?|还是)|[,、;]? ?(?:\band\b|和|及|与|以及)"
    r"|[,、;/&+]| (?=[A-H](?![A-Za-z0-9'’]))|(?P<line>\n))\s?"
)


@dataclass(frozen=True, slots=True)
class OptionRow:
    """Options named in a row and where it ends.

    `lettered`: one of them at least by its letter; `sure`: no "or" among them, and no letter with another's text.
    """

    letters: frozenset[str]
    lettered: bool
    sure: bool
    end: int


def plain(text: str) -> str:
    """The text in one width, without bold marks and needless blanks.

    >>> plain("**Ｂ**： gout   \\n\\n\\n so")
    'B: gout\\n\\nso'
    """
    text = re.sub(r"[^\S\n]+", " ", unicodedata.normalize("NFKC", text).replace("**", ""))
    return re.sub(r"\n{3,}", "\n\n", re.sub(r" ?\n ?", "\n", text)).strip()


class Mentions:
    """Finds the options of one question in texts that are `plain`."""

    __slots__ = ("_letters_by_text", "_one", "_text", "letters")

    def __init__(self, options: Sequence[tuple[str, str]]) -> None:
        """Prepare for options as (letter, text); a text that two options share names neither."""
        self.letters = tuple(letter.upper() for letter, _ in options)
        keys = [_key(text) for _, text in options]
        self._letters_by_text = {k: x for x, k in zip(self.letters, keys, strict=True) if k and keys.count(k) == 1}
        text = _any_of(list(self._letters_by_text))
        known = "".join(x for x in self.letters if len(x) == 1)
        letter = rf"(?:[{known}]{{2,}}|[A-Z])" if known else "[A-Z]"
        self._text = re.compile(text)
        self._one = re.compile(
            rf"{_OPEN}(?:{_CALLED}{_OPEN})?(?P<letter>{letter}){_ALONE}{_CLOSE}(?:选?项)?"
            rf"(?: ?[:.、,)]?\s?(?P<also>{text}))?"
            rf"|{_OPEN}(?P<text>{text}){_CLOSE}(?: ?[(\[]{_CALLED}?(?P<of>[A-Z](?:[、,和/][A-Z])*)(?:选?项)?[)\]])?"
        )

    def row(self, text: str, start: int) -> OptionRow | None:
        """The options named in a row from there on; None where none is."""
        match = self._one.match(text, start)
        if not match:
            return None
        found, lettered, sure = self._of(match)
        first = match.start("letter")
        listed = first >= 0 and text[max(0, first - 5) : first].rpartition("\n")[2].strip(" -([") == ""
        end = match.end()
        while (join := _JOIN.match(text, end)) and (more := self._one.match(text, join.end())):
            if join["line"] and not (listed and more["letter"]):
                break
            letters, by_letter, alike = self._of(more)
            found, lettered, sure = found | letters, lettered or by_letter, sure and alike and not join["or"]
            end = more.end()
        return OptionRow(frozenset(found), lettered, sure, end)

    def rows(self, text: str) -> Iterator[OptionRow]:
        """All rows in a text, from left to right."""
        at = 0
        while match := self._one.search(text, at):
            row = self.row(text, match.start())
            at = row.end if row else match.end()
            if row:
                yield row

    def named(self, text: str) -> set[str]:
        """The options whose text stands anywhere in it, not as a part of another option's."""
        return {self._letters_by_text[_key(match[0])] for match in self._text.finditer(text)}

    def _of(self, match: re.Match[str]) -> tuple[set[str], bool, bool]:
        """The letters of one mention, whether it has one, whether letter and text agree."""
        letters = {c for c in match["letter"] or match["of"] or "" if c.isascii() and c.isalpha()}
        texts = {self._letters_by_text[_key(text)] for text in (match["also"], match["text"]) if text}
        return letters | texts, bool(letters), not letters or texts <= letters


def _key(text: str) -> str:
    """An option's text as it is compared: in one width and case, without the mark at its end."""
    return " ".join(plain(text).split()).rstrip(".。;,， ").casefold()


def _any_of(texts: Sequence[str]) -> str:
    """A pattern for any of the texts, the longest first; one that matches nothing where there are none.

    Where one begins or ends with a Latin letter or digit, the word must too; where it ends with another character, no
    longer name may go on there. What tells the end stands behind all texts and in one case: it is dear to compile.
    """
    if not texts:
        return r"(?!)"
    found = (r"\s".join(map(re.escape, t.split())) for t in sorted(texts, key=len, reverse=True))
    begin, end = r"(?<![A-Za-z0-9])|(?![A-Za-z0-9])", rf"(?<=[A-Za-z0-9])(?![A-Za-z0-9])|(?<![A-Za-z0-9]){_PART}"
    return f"(?:{begin})(?i:{'|'.join(found)})(?:{end})"


@lru_cache(maxsize=256)
def mentions(options: tuple[tuple[str, str], ...]) -> Mentions:
    """What finds the options of a question, made once.

    >>> m = mentions((("A", "gout"), ("B", "flu"), ("C", "mumps")))
    >>> [sorted(row.letters) for row in m.rows("gout and C, not flu (B); A patient")]
    [['A', 'C'], ['B']]
    """
    return Mentions(options)


# --- Which options a reply settles on, however it says so: one parser for Chinese and English replies.
# A reply is read in this order, and the first that tells something counts: options and nothing else; a statement of the
# answer ("the answer is B", 正确选项是A和C; where they differ, the last that draws a conclusion); an option as headline
# that is not the first of a list of all; a weaker statement ("the drug is C: aspirin"); a diagnosis, where no other
# option is named ("the patient has gout"); the option called wrong; verdicts
# on single options; at last the only option whose text is in the first, the last or any sentence. Several letters are
# handed back as several: whether that is wrong is for who grades.


_pattern = partial(pattern_of, __name__)
How = Literal["letters", "stated", "headline", "is", "diagnosis", "wrong one", "verdicts", "named", "at odds", ""]

_IS = re.compile(r"(?<!不)(?<!不[应能可])(?<!非)(?:是|为|选择?|包括|\bis|\bare)\s?:?\s?")
_END = re.compile(r"(?<=[。!?])|(?<=[a-z)\]\"'][.])\s|\n+")
_HEAD = re.compile(r"^[-* (]*(?:选项)?([A-Z])(?:选项)?\)? ?[:.、,)](?! ?[A-Z][ ,、;:])", re.MULTILINE)
_GOOD = re.compile(r" ?[都均也就]?(?:应该|可能)?(?:是|\bis|\bare)? ?(?:最|the )?(?:正确|合适|可能|right|correct)(?!性)")
_BAD = re.compile(r" ?[都均也]?(?:\bis|\bare)? ?(?:不是|是?不?可?能?不正确|是?错误|不符合|不对|wrong|incorrect|not )")
_FAR = 300  # so many characters before a claim its "so" may stand
_LIST = 3  # so many options in their order, each at the head of a line, are a list of all


@dataclass(frozen=True, slots=True)
class ParsedChoice:
    """The letters that a reply settles on, in the options' order, and what told them ("" where nothing did).

    Letters are () with `how` "at odds" where the reply contradicts itself, leaves it open ("A or B") or names a letter
    that is no option's.
    """

    letters: tuple[str, ...]
    how: How


def parse_choice(reply: str, options: Sequence[tuple[str, str]]) -> ParsedChoice:
    """What a reply settles on.

    >>> abc = (("A", "gout"), ("B", "flu"), ("C", "mumps"))
    >>> replies = ("正确选项：A、C。", "A: no. So the answer is flu.", "B or C", "It is gout.")
    >>> [parse_choice(t, abc).letters for t in replies]
    [('A', 'C'), ('B',), (), ('A',)]
    """
    text = plain(reply)
    text = text[match.end() :] if (match := _pattern("numbered").match(text)) else text
    by = mentions(tuple(options))
    for how, found in _readings(text, by):
        if found is not None:
            known = tuple(x for x in by.letters if x in found)
            return ParsedChoice(known, how) if known and len(known) == len(found) else ParsedChoice((), "at odds")
    return ParsedChoice((), "")


def _readings(text: str, by: Mentions) -> Iterator[tuple[How, frozenset[str] | None]]:
    """Each way of reading the reply, the surest first: None where it tells nothing, no letter where it is at odds."""
    yield "letters", _nothing_else(text, by)
    yield "stated", _stated(text, by)
    yield "headline", _headline(text, by)
    yield "is", _agreed(_weak(text, by))
    yield "diagnosis", _diagnosed(text, by)
    yield "wrong one", _agreed([c for c in _claims(_pattern("wrong"), text, by) if c.row.lettered])
    good, bad = _judged(text, by)
    yield "verdicts", _odd_one(set(by.letters), good, bad)
    yield "wrong one", _opening(text, by) if not good else None
    yield "named", _named(text, by, bad)


def _stated(text: str, by: Mentions) -> frozenset[str] | None:
    """The options stated to be the answer: behind a cue, called right in a closing sentence, or all of them."""
    if _pattern("all").search(text):
        return frozenset(by.letters)
    closing = _pattern("closing").split(text)[1:]
    last = [row for part in closing for row in by.rows(part) if row.lettered and _GOOD.match(part, row.end)]
    return _agreed([*_claims(_pattern("states"), text, by), *(_Claim(row, concludes=True) for row in last)])


@dataclass(frozen=True, slots=True)
class _Claim:
    """Options claimed in a sentence, and whether that draws a conclusion."""

    row: OptionRow
    concludes: bool


def _nothing_else(text: str, by: Mentions) -> frozenset[str] | None:
    row = by.row(text, 0)
    return _sure(row) if row and not text[row.end :].strip(" .。)]:;") else None


def _sure(row: OptionRow) -> frozenset[str]:
    return row.letters if row.sure else frozenset()


def _claims(cue: re.Pattern[str], text: str, by: Mentions) -> list[_Claim]:
    """The options that stand right behind a cue, but for those that are called wrong there."""
    wrong = set() if cue is _pattern("wrong") else {match.end() for match in _pattern("wrong").finditer(text)}
    begins = [0, *(m.end() for m in _END.finditer(text))]
    found = []
    for match in cue.finditer(text):
        if match.end() not in wrong and (row := by.row(text, match.end())):
            begin = max(begins[bisect_right(begins, match.start()) - 1], match.start() - _FAR)
            found.append(
                _Claim(row, vocabulary.listed("conclusions in a reply").search(text, begin, match.end()) is not None)
            )
    return found


def _weak(text: str, by: Mentions) -> list[_Claim]:
    """Options behind a mere "is": named by letter, or by text where that closes the reply."""
    closing = _pattern("closing").split(text)[1:]
    last = [_Claim(c.row, concludes=True) for part in closing for c in _claims(_IS, part, by)]
    return [*(c for c in _claims(_IS, text, by) if c.row.lettered), *last]


def _agreed(claims: Sequence[_Claim]) -> frozenset[str] | None:
    """The options of the last conclusion; without one those of all claims, none where they differ."""
    if not claims:
        return None
    if last := [c for c in claims if c.concludes]:
        return _sure(last[-1].row)
    return _sure(claims[0].row) if len({c.row.letters for c in claims}) == 1 else frozenset()


def _diagnosed(text: str, by: Mentions) -> frozenset[str] | None:
    """The option that the reply says the patient has, by its text; none where another is named anywhere."""
    claims = [
        c
        for piece in _END.split(text)
        if not vocabulary.listed("doubts in a reply").search(piece)
        for c in _claims(_pattern("diagnosed"), piece, by)
    ]
    rows = {row.letters for row in by.rows(text)} if claims else set()
    return _agreed(claims) if len(rows) == 1 else None


def _lists(text: str, by: Mentions) -> bool:
    """Whether lines go through the options in order, from the first line that one is at the head of."""
    heads = [match[1] for match in _HEAD.finditer(text)]
    return len(by.letters) >= _LIST and heads[:_LIST] == list(by.letters[:_LIST])


def _headline(text: str, by: Mentions) -> frozenset[str] | None:
    """The options that the reply begins with, each by its letter."""
    row = by.row(text, 0)
    return None if not row or not row.lettered or _BAD.match(text, row.end) or _lists(text, by) else _sure(row)


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
        if _pattern("refused").search(block):
            bad.add(letter)
        elif _pattern("accepted").search(block):
            good.add(letter)
    return good - bad, bad - good


def _blocks(text: str, by: Mentions) -> Iterator[tuple[str, str]]:
    """The options that a list goes through, each with what is said of it before the next or a blank line and a "so"."""
    heads = list(_HEAD.finditer(text)) if _lists(text, by) else []
    for head, end in zip(heads, [*(head.start() for head in heads[1:]), len(text)], strict=False):
        yield head[1], _pattern("closing").split(text[head.end() : end])[0]


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


# --- Which options a reply chooses, where that is beyond doubt.


_SURE = {"letters", "stated", "headline", "is", "diagnosis"}


def chosen_letters(reply: str, options: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """The letters of the options that the reply chooses, in the options' order; () where it is not beyond doubt.

    What `said` understands but for guesses from single verdicts or from an option's text somewhere in the reply.

    >>> abc = (("A", "asthma"), ("B", "gout"), ("C", "measles"))
    >>> [chosen_letters(t, abc) for t in ("答案：Ａ、Ｃ。", "B. gout, since the toe is red", "A. gout")]
    [('A', 'C'), ('B',), ()]
    """
    found = parse_choice(reply, options)
    return found.letters if found.how in _SURE else ()


# --- The one option that a reply in any of five languages chooses; hedging and several letters choose nothing.
# MKG-Rank (arXiv 2503.16131) counts an uncertain answer and one with several candidates as wrong. A model may think
# step by step first, so what is said last decides: a final line that is a letter, then the statements ("the answer is
# B", 答案：B, 答えはB, 정답은 B, jibu ni B), which must agree, then an option's own text.


_AFTER = re.compile(
    r"(?<![A-Za-z])(?:option\s+)?[(\[]?(?P<letter>[A-Z])[)\]]?\s*"
    r"(?:is (?:the )?(?:correct|right)\b|が正解|が正しい|[가이] 정답|是?正确|(?:ni|ndiyo) sahihi)"
)
_LAST = re.compile(r"[(\[{<「『【\"'*\s]*([A-Z])[)\]}>」』】\"'*.。\s]*")
_SENTENCES = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n+")


def letter(reply: str, options: Sequence[tuple[str, str]]) -> str:
    """The letter that the reply settles on, "" where it hedges, names several, or names none of the options.

    >>> abcd = (("A", "gout"), ("B", "flu"), ("C", "measles"), ("D", "mumps"))
    >>> [letter(t, abcd) for t in ("A is wrong. So:\\n[B]", "答案：Ｃ", "答えはDです。", "정답은 A입니다")]
    ['B', 'C', 'D', 'A']
    >>> [letter(t, abcd) for t in ("The answer is A or B.", "Maybe the answer is A.", "答案：A、B", "[E]", "")]
    ['', '', '', '', '']
    """
    text = unicodedata.normalize("NFKC", reply).replace("**", "").strip()
    pieces = [p.strip() for p in _SENTENCES.split(text) if p.strip()]
    if not pieces:
        return ""
    known = {mark.upper() for mark, _ in options}
    found = _last_letter(pieces) or _letters_stated(pieces)
    if found is None:
        hedged = _pattern("hedges").search(pieces[-1]) is not None
        written = chosen_letters(text, options)
        found = {written[0]} if len(written) == 1 and not hedged else set()
    return next(iter(found)) if len(found) == 1 and found <= known else ""


def _last_letter(pieces: Sequence[str]) -> set[str] | None:
    """The letter that is all of the last sentence; None where it says more. The one before it must not hedge."""
    match = _LAST.fullmatch(pieces[-1])
    if not match:
        return None
    return set() if len(pieces) > 1 and _pattern("hedges").search(pieces[-2]) is not None else {match[1]}


def _letters_stated(pieces: Sequence[str]) -> set[str] | None:
    """The letters of all statements of the answer, else of all verdicts on one option ("A is correct").

    Two where one of them names several or hedges; None where there is none.
    """
    for pattern in (_pattern("stated"), _AFTER):
        found: set[str] = set()
        for piece in pieces:
            said = [m for m in pattern.finditer(piece) if m["letter"].isupper()]
            found |= {m["letter"] for m in said}
            if said and (
                _pattern("hedges").search(piece) or any(_pattern("joined").match(piece, m.end("letter")) for m in said)
            ):
                found.add("?")
        if found:
            return found
    return None
