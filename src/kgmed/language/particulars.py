"""What a question tells of a patient besides names: age, sex, population, measured values, doses and durations.

Each is found where it stands, with its number and unit; none is a name of an entity. A value knows what was measured
and whether the text calls it high or low; what is normal is not known here, so nothing is concluded from the number.
"""

import re
from collections.abc import Iterator

from kgmed.language.negation import Spans
from kgmed.records import Particular

_NUMBER = r"(?<![\d.])\d{1,7}(?:[.,]\d{1,4})?(?![\d])"
_WORDS = {
    "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
    "一": 1, "二": 2, "两": 2, "三": 3, "四": 4, "五": 5, "六": 6, "七": 7, "八": 8, "九": 9, "十": 10, "半": 0.5,
}  # fmt: skip
_SPELLED = r"one|two|three|four|five|six|seven|eight|nine|ten"
_SPELLED_CJK = "[一二两三四五六七八九十半]"
_TIME = r"hours?|hrs?|days?|weeks?|wks?|months?|years?|yrs?"
_TIME_CJK = "个?小时|天|日|个?星期|周|个月|年"
_LAB = (
    r"mmol/l|[uµμ]mol/l|nmol/l|pmol/l|mg/dl|g/dl|g/l|mg/l|[uµμ]g/l|ng/ml|ng/dl|pg/ml"
    r"|m?iu/m?l|u/l|meq/l|mm ?hg|bpm|°c|℃|°f|[x×] ?10\^?\d{1,2}/l|/[uµμ]l|cells/mm3|mm/h|kg/m2|%|次/分|度"
)
_DOSE = (
    r"mg/kg|mcg/kg|mg|mcg|[µμ]g|micrograms?|milligrams?|grams?|g|ml|iu|units?|tablets?|capsules?|pills?|puffs?|drops?"
    r"|毫克|微克|克|毫升|单位|片|粒|袋|滴|支"
)
_OFTEN = (
    r"(?: ?(?:a day|per day|/ ?d(?:ay)?|daily|(?:once|twice|three times) (?:a day|daily)|every \d{1,2} hours|at night"
    r"|[qb]id|tid|qd))?"
)
_PATTERNS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(pattern, re.IGNORECASE))
    for kind, pattern in (
        ("age", rf"(?P<n>{_NUMBER}|\b(?:{_SPELLED}))[- ](?P<u>year|month|week|day)s?[- ]old\b"
                rf"|\baged? (?P<n2>{_NUMBER})\b"
                rf"|(?P<n3>{_NUMBER}) ?(?P<u3>y/?o)\b|(?P<n4>{_NUMBER}|{_SPELLED_CJK}) ?(?P<u4>岁|周岁|个月大)半?"),
        ("value", rf"(?P<n>{_NUMBER})(?:/\d{{2,3}})? ?(?P<u>{_LAB})(?![a-z])"),
        ("dose", rf"(?P<n>{_NUMBER}|\b(?:{_SPELLED})|{_SPELLED_CJK}) ?(?P<u>{_DOSE})(?![a-z]){_OFTEN}"),
        ("duration", rf"(?P<n>{_NUMBER}|\b(?:{_SPELLED})) ?(?P<u>{_TIME})\b(?: ago)?"
                     rf"|(?P<n2>{_NUMBER}|{_SPELLED_CJK}多?) ?(?P<u2>{_TIME_CJK})(?!大|龄|轻|级|血)"),
        ("sex", r"\b(?:fe)?male\b|\b(?:wo)?man\b|\bboy\b|\bgirl\b|男性|女性|[男女][孩童婴]"
                r"|(?<![\w])[男女](?=[,，、 ])|(?<=[岁，,])[男女]"),
        ("population", r"\b(?:pregnan(?:t|cy)|breast-?feeding|lactating|nursing mothers?|newborns?|neonates?|infants?"
                       r"|toddlers?|child(?:ren)?|adolescents?|teenagers?|elderly|older adults?)\b"
                       r"|孕妇|孕期|怀孕|妊娠期?|哺乳期?|产妇|老年人?|老人|小儿|新生儿|婴幼?儿|幼儿|儿童|宝宝|青少年"),
    )
)  # fmt: skip
_HIGH = re.compile(r"high|elevated|raised|increased|above|↑|偏高|升高|增高|过高", re.IGNORECASE)
_LOW = re.compile(r"\blow|decreased|reduced|below|↓|偏低|降低|过低", re.IGNORECASE)
_NORMAL = re.compile(r"\bnormal|正常", re.IGNORECASE)
_CLAUSE = re.compile(r"[,.;!?，。；！？、\n]")
_OF = re.compile(
    r"([^\W\d_][\w\u4e00-\u9fff -]{0,38}?)\s*(?:\b(?:level|count)s?)?\s*(?:\b(?:is|was|of|at)\b|[:：=]|为|是)?\s*\Z",
    re.IGNORECASE,
)
_VERBS = re.compile(
    r"^(?:.*\b(?:has|have|had|with|and|my|his|her|their|the|a|an|is|was|high|low|elevated|raised|normal)\b)\s*",
    re.IGNORECASE,
)
_NEAR = 40
EXACT = frozenset({"age", "value", "dose", "duration", "sex"})  # kinds that no name of an entity lies within


def particulars(text: str) -> tuple[Particular, ...]:
    """The particulars in a text, in order, none within another.

    >>> said = "A 65-year-old woman takes 500 mg daily for 3 weeks; potassium 2.9 mmol/L (low)."
    >>> [(p.kind, p.number, p.unit, p.direction) for p in particulars(said)]
    [('age', 65.0, 'year', ''), ('sex', None, '', ''), ('dose', 500.0, 'mg', ''), ('duration', 3.0, 'week', ''), \
('value', 2.9, 'mmol/l', 'low')]
    >>> [(p.kind, p.text) for p in particulars("小儿3岁，体温39℃，咳嗽三天")]
    [('population', '小儿'), ('age', '3岁'), ('value', '39℃'), ('duration', '三天')]
    """
    found: list[Particular] = []
    for kind, pattern in _PATTERNS:
        taken = Spans([(p.start, p.end) for p in found])
        found += [_particular(text, kind, m) for m in pattern.finditer(text) if not taken.meet(*m.span())]
    return tuple(sorted(found, key=lambda p: p.start))


def within(found: tuple[Particular, ...]) -> Spans:
    """Where no name can be: in an age, a sex, a value, a dose or a duration."""
    return Spans([(p.start, p.end) for p in found if p.kind in EXACT])


def _particular(text: str, kind: str, m: re.Match[str]) -> Particular:
    groups = {name.rstrip("234"): value for name, value in m.groupdict().items() if value}
    unit = groups.get("u", "").lower()
    if kind in ("age", "duration") and unit.endswith("s"):
        unit = unit[:-1]
    direction, of = _told(text, m) if kind == "value" else ("", "")
    return Particular(kind, m.group(), m.start(), m.end(), _number(groups.get("n", "")), unit, direction, of)


def _number(said: str) -> float | None:
    """The number of digits or of a word; None for nothing.

    >>> _number("1,5"), _number("三"), _number("")
    (1.5, 3, None)
    """
    if not said:
        return None
    if said.lower().rstrip("多") in _WORDS:
        return _WORDS[said.lower().rstrip("多")]
    whole = said.replace(",", "") if re.fullmatch(r"\d{1,3},\d{3}", said) else said.replace(",", ".")
    return float(whole)


def _told(text: str, m: re.Match[str]) -> tuple[str, str]:
    """Whether the clause around a value calls it high, low or normal, and what was measured."""
    before = _CLAUSE.split(text[max(0, m.start() - _NEAR) : m.start()])[-1]
    behind = _CLAUSE.split(text[m.end() : m.end() + _NEAR // 2])[0]
    said = next((d for d, words in _directions() if words.search(behind) or words.search(before)), "")
    of = _OF.search(before)
    return said, _VERBS.sub("", of[1]).strip() if of else ""


def _directions() -> Iterator[tuple[str, re.Pattern[str]]]:
    return iter((("high", _HIGH), ("low", _LOW), ("normal", _NORMAL)))
