"""What a question tells of a patient besides names: age, sex, population, measured values, doses and durations.

Each is found where it stands, with its number and unit; none is a name of an entity. A value knows what was measured
and whether the text calls it high or low; what is normal is not known here, so nothing is concluded from the number.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

from kgmed import vocabulary
from kgmed.language.negation import Spans
from kgmed.language.text import lazily
from kgmed.records import Particular
from kgmed.vocabulary import Predicate

# Groups of people that a question about a medicine names, and how a text of a graph speaks of them.


@dataclass(frozen=True)
class People:
    """A group of people.

    Attributes:
        name: In English and Chinese, as an answer calls them.
        asked: A pattern by which a question names them.
        found: A pattern by which a text of a graph speaks of them.
    """

    name: tuple[str, str]
    asked: str
    found: str

    @cached_property
    def in_question(self) -> re.Pattern[str]:
        """`asked`, compiled."""
        return re.compile(self.asked, re.IGNORECASE)

    @cached_property
    def in_text(self) -> re.Pattern[str]:
        """`found`, compiled."""
        return re.compile(self.found, re.IGNORECASE)


PEOPLE = (
    People(
        ("pregnancy", "孕妇"),
        r"pregn\w*|pregan\w*|\bweeks (?:along|gone)\b|prego\b|trimester|expecting a|mother.to.be"
        r"|(?<![避不未])孕(?![酮激])|有喜",
        r"pregnan|f(?:o)?etus|f(?:o)?etal|teratogen|孕|妊娠|胎儿|致畸",
    ),
    People(
        ("breastfeeding", "哺乳期妇女"),
        r"br?east.?fe?ed|breastfed|nursing (?:mother|mom|mum)|lactat|哺乳|喂奶|母乳",
        r"breast.?(?:feed|milk)|lactat|nursing|哺乳|乳汁|乳母|泌乳",
    ),
    People(
        ("children", "儿童"),
        r"\b(?:child(?:ren)?|infants?|bab(?:y|ies)|newborns?|toddlers?|kids?|p(?:a)?ediatric)\b"
        r"|\b(?:my|our) (?:son|daughter)\b"
        r"|\b(?:1[0-7]|[1-9]|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)[- ]?"
        r"(?:year|yr|month|week)s?[- ]?old"
        r"|\bunder (?:the age of )?\d{1,2}\b|\bteen(?:ager)?s?\b"
        r"|儿童|小儿|小孩|孩子|婴儿|宝宝|娃|幼儿|新生儿|未成年|[一两二三四五六七八九十](?:个多?月大|周?岁)|(?<!\d)(?:1[0-7]|[1-9])(?:个月大|周?岁)|(?<!\d)18周?岁以下|未满18",
        r"\bchild|p(?:a)?ediatr|infant|neonat|newborn|adolescent|under \d{1,3} years|(?<!\d)\d{1,3} years"
        r"|儿童|小儿|患儿|婴|幼儿|新生儿|早产儿|未成年|(?<!\d)\d{1,3}岁以下",
    ),
    People(
        ("older people", "老年人"),
        r"\belderly|older (?:people|adults?|patients?)|\bseniors?\b|\b(?:6[5-9]|[789]\d)[- ]?(?:year|yr)s?[- ]?old"
        r"|\b(?:nan|gran|granny|grand(?:mother|father|ma|pa|mum|dad)|mother|father|mum|mom|dad) is (?:6[5-9]|[789]\d)\b"
        r"|老人|老年|高龄|(?<!\d)(?:6[5-9]|[789]\d)岁",
        r"elderly|older (?:people|adults|patients)|geriatric|老年|高龄|年老",
    ),
)


@dataclass(frozen=True)
class Circumstance(People):
    """Something besides a medicine that labels warn of in many words."""

    @property
    def names(self) -> tuple[str, ...]:
        """What a graph may call it."""
        return vocabulary.others("name_patterns", Predicate.ALT_LABEL).get(self.name[0], ())


ALCOHOL = Circumstance(
    ("alcohol", "饮酒"),
    r"\b(?:alcoh[oa]l|al[ck]h?oh?[oa]l|alchohol)(?:ic)?(?: drinks?)?\b"
    r"|\b(?:beer|wine|vodka|whisk(?:e)?y|booze|liquor|cocktail)s?\b"
    r"|\bdrinks? (?:on|with|while)\b"
    r"|[喝饮](?:[了点些过完杯瓶两口]|一[点些杯瓶口]){0,3}酒|[喝饮白啤红黄药米洋]酒|(?:(?<=[和跟与同加配])|^)酒(?!精|石|渣)|酒精",
    r"\balcohol|disulfiram|饮酒|酗酒|禁酒|戒酒|忌酒|喝酒|酒类|酒精(?!性)|酒后|含酒|乙醇|醇饮料|双硫仑",
)
SMOKE = People(
    ("smoking", "吸烟"),
    r"\bsmok(?:es|ed|er|ing)\b|\bcigarettes?\b|\bpack.?years?\b|[抽吸]烟|烟民|烟龄|烟瘾",
    r"smok|tobacco|[吸抽]烟|烟草",
)
_NO_SMOKE = lazily(
    r"(?:不|没|从不|未|戒)[抽吸]?烟|\b(?:never|no[nt]?)[ -](?:a )?smok|does(?:n['’]t| not) smoke", re.IGNORECASE
)


def smokes(text: str) -> bool:
    """Whether a story tells of someone who smokes.

    >>> smokes("抽烟四十年，咳嗽"), smokes("不抽烟，咳嗽"), smokes("A smoker with a cough")
    (True, False, True)
    """
    return bool(SMOKE.in_question.search(text)) and not _NO_SMOKE.search(text)


DRINKS = (ALCOHOL,)  # what is drunk beside a medicine: the texts of medicines speak of it as they do of people
CIRCUMSTANCES = (
    ALCOHOL,
    Circumstance(
        ("impaired kidneys", "肾功能不全"),
        r"\b(?:kidneys?|renal)\b(?! (?:stones?|cancers?|tumou?rs?|cell|infections?|cysts?|colic|artery))"
        r"|肾(?:功能)?(?:不全|衰竭?|损害|不好|障碍|减退)|肾病",
        r"\b(?:kidney|renal)|肾(?:脏)?(?:功能|损害|疾病|衰|病)|肝、?肾功能",
    ),
    Circumstance(
        ("impaired liver", "肝功能不全"),
        r"\b(?:liver|hepatic)\b(?! (?:cancers?|tumou?rs?|cysts?|abscess|h(?:a)?emangiomas?|flukes?))"
        r"|肝(?:功能)?(?:不全|衰竭?|损害|不好|障碍|减退|硬化)|肝病",
        r"\b(?:liver|hepatic)|肝(?:脏)?(?:、?肾)?(?:功能|损害|疾病|衰|病)",
    ),
    Circumstance(
        ("G6PD deficiency", "蚕豆病"),
        r"g-?6-?pd|蚕豆病|葡萄糖[-—–]?6[-—–]?磷酸|6[-—–]?磷酸葡萄糖",
        r"g-?6-?pd|蚕豆病|葡萄糖[-—–]?6[-—–]?磷酸|6[-—–]?磷酸葡萄糖",
    ),
    Circumstance(
        ("peptic ulcer", "消化性溃疡"),
        r"(?:消化(?:性|道)|胃|十二指肠)溃疡|\b(?:peptic|stomach|gastric|duodenal) ulcers?",
        r"消化(?:性|道)?溃疡|胃(?:肠道)?[、及和与或—]?(?:十二指肠)?溃疡|胃肠道出血|(?:peptic|gastr\w*|duodenal) ulcer",
    ),
    Circumstance(
        ("heart failure", "心力衰竭"),
        r"心(?:力衰竭|功能不全|衰)|\b(?:heart|cardiac) failure",
        r"心(?:力|功能|脏)?(?:衰竭|不全)|心衰|(?:heart|cardiac) failure",
    ),
)


@lru_cache(maxsize=1024)
def circumstances_of(text: str) -> tuple[Circumstance, ...]:
    """The circumstances that a text names.

    >>> [c.name[1] for t in ("头孢和酒能一起吃吗", "喝了点酒", "酒渣鼻能治吗") for c in circumstances_of(t)]
    ['饮酒', '饮酒']
    >>> [len(circumstances_of(t)) for t in ("liver disease", "liver cancer", "bad kidneys", "kidney stones")]
    [1, 0, 1, 0]
    """
    return tuple(c for c in CIRCUMSTANCES if c.in_question.search(text))


_FORBIDS = lazily(
    r"禁|不宜|不得|不应|不可|不能|忌用|避免|不推荐|不建议|contraindicat|(?:must|should|do) not"
    r"|not (?:be |to be )?(?:used|taken|given|recommended)|\bavoid|\bnever\b|\bonly\b"
    r"|仅(?!.{0,6}(?:明确|确有|必要|需要|大于))",
    re.IGNORECASE,
)


def people_of(text: str) -> tuple[People, ...]:
    """The groups of people that a question names.

    >>> [group.name[0] for group in people_of("Is it OK to take warfarin while pregnant?")]
    ['pregnancy']
    """
    return tuple(group for group in PEOPLE if group.in_question.search(text))


def populations(names: Iterable[str]) -> tuple[People, ...]:
    """The groups of those English names.

    >>> [group.name[1] for group in populations(["children"])]
    ['儿童']
    """
    return tuple(group for group in PEOPLE if group.name[0] in set(names))


@vocabulary.kept()
def _worsened() -> tuple[tuple[str, tuple[str, ...]], ...]:
    """What an illness is made worse by: side effects that are its own act, by the names of the illness."""
    acts = vocabulary.others("name_patterns", Predicate.WORSENS, of_object=True)
    ills = vocabulary.members("name_patterns", "illnesses made worse")
    return tuple((vocabulary.pattern("name_patterns", ill), acts.get(ill, ())) for ill in ills)


def worsened_by(illness: str) -> tuple[str, ...]:
    """The side effects that make an illness worse, by the names that graphs may have for them.

    >>> worsened_by("支气管哮喘")[0], worsened_by("麻疹")
    ('支气管痉挛', ())
    """
    return next((acts for looks, acts in _worsened() if re.search(looks, illness, re.IGNORECASE)), ())


def forbids(text: str) -> bool:
    """Whether a text about a medicine says not to use it, and not only to take care.

    >>> forbids("孕妇禁用"), forbids("孕妇慎用"), forbids("Do not use in pregnancy.")
    (True, False, True)
    """
    return bool(_FORBIDS.search(text))


def clauses_about(text: str, found: re.Pattern[str]) -> str:
    """The sentences of a text in which a pattern is found.

    >>> clauses_about("Take with food. Not in pregnancy; avoid the sun.", re.compile("pregnan"))
    'Not in pregnancy'
    """
    parts = re.split(r"[。；;\n]|(?<!\d)\.(?=\s|$)", text)
    return "; ".join(part.strip() for part in parts if found.search(part) and not _STORED.search(part))


# Where a medicine is kept, who looks after a child that takes it, and how it is sold is no warning.
_STORED = lazily(
    r"本品[是为系]|触及|不能接触|接触不到|触摸不到|取不到|监护|out of (?:the )?(?:reach|sight)"
    r"|\b(?:prescrib|dispens)ing\b|on the \w* ?market",
    re.IGNORECASE,
)


# What a question tells of a patient besides names: age, sex, population, measured values, doses and durations.

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
    (kind, lazily(pattern, re.IGNORECASE))
    for kind, pattern in (
        ("age", rf"(?P<n>{_NUMBER}|\b(?:{_SPELLED}))[- ](?P<u>year|month|week|day)s?[- ]old\b"
                rf"|\baged? (?P<n2>{_NUMBER})\b"
                rf"|(?P<n3>{_NUMBER}) ?(?P<u3>y/?o)\b"
                rf"|(?P<n4>{_NUMBER}|{_SPELLED_CJK}) ?(?P<u4>岁|周岁|个月(?=大|的?(?:[宝婴孩娃]|男|女)))半?"),
        ("value", rf"(?P<n>{_NUMBER})(?:/\d{{2,3}})? ?(?P<u>{_LAB})(?![a-z])"),
        ("dose", rf"(?P<n>{_NUMBER}|\b(?:{_SPELLED})|{_SPELLED_CJK}) ?(?P<u>{_DOSE})(?![a-z]){_OFTEN}"),
        ("duration", rf"(?P<n>{_NUMBER}|\b(?:{_SPELLED})) ?(?P<u>{_TIME})\b(?: ago)?"
                     rf"|(?P<n2>{_NUMBER}|{_SPELLED_CJK}多?) ?(?P<u2>{_TIME_CJK})(?!大|龄|轻|级|血)"),
        ("sex", r"\b(?:fe)?male\b|\b(?:wo)?man\b|\bboy\b|\bgirl\b|男性|女性|[男女][孩童婴]"
                r"|(?<![\w])[男女](?=[,，、 ])|(?<=[岁，,])[男女]"
                r"|(?:爷|奶){2}|外[公婆]|姥[姥爷]|妈妈|爸爸|母亲|父亲|妻子|丈夫|老[公婆]|[儿女](?:子|儿)"),
        ("population", r"\b(?:pregnan(?:t|cy)|breast-?feeding|lactating|nursing mothers?|newborns?|neonates?|infants?"
                       r"|toddlers?|child(?:ren)?|adolescents?|teenagers?|elderly|older adults?)\b"
                       r"|孕妇|孕期|怀孕|妊娠期?|哺乳期?|产妇|老年人?|老人|小儿|新生儿|婴幼?儿|幼儿|儿童|宝宝|青少年"),
    )
)  # fmt: skip
_HIGH = lazily(r"high|elevated|raised|increased|above|↑|偏高|升高|增高|过高", re.IGNORECASE)
_LOW = lazily(r"\blow|decreased|reduced|below|↓|偏低|降低|过低", re.IGNORECASE)
_NORMAL = lazily(r"\bnormal|正常", re.IGNORECASE)
_CLAUSE = lazily(r"[,.;!?，。；！？、\n]")
_OF = lazily(
    r"([^\W\d_][\w\u4e00-\u9fff -]{0,38}?)\s*(?:\b(?:level|count)s?)?\s*(?:\b(?:is|was|of|at)\b|[:：=]|为|是)?\s*\Z",
    re.IGNORECASE,
)
_VERBS = lazily(
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


# --- Whom and what a story is about, as far as the names of diseases speak of it: 小儿肺炎, postpartum depression.


_ABOUT = {
    "child": r"\b(?:child|kid|bab(?:y|ies)|infant|toddler|newborn|schoolboy|schoolgirl|boy|girl)s?\b"
    r"|\b(?:my|our) (?:son|daughter)\b|我?[儿女](?:子|儿)"
    r"|孩子|小孩|宝宝|娃|婴儿|幼儿|儿童|小儿|患儿|男孩|女孩|新生儿",
    "adult": r"\b(?:wo)?m[ae]n\b|\bgentleman\b|\blady\b|\b(?:wife|husband|girlfriend|boyfriend)\b|妻子|丈夫|老[公婆]",
    "newborn": r"\bnewborn|\bneonat|\b(?:days|weeks)[ -]old\b|新生儿|刚出生|出生\d",
    "infant": r"\binfants?\b|\bbab(?:y|ies)\b|婴儿|婴幼儿|乳儿",
    "pregnant": r"\bpregnan|\btrimester|gave birth|given birth|since (?:the )?(?:birth|delivery)|postpartum"
    r"|怀孕|孕妇|孕期|妊娠|产后|生完孩子|分娩|坐月子|哺乳",
    "old": r"\belderly|\bgrand(?:mother|father|ma|pa|mum|dad)\b|老人|老年|奶奶|爷爷|外公|外婆|姥姥|姥爷",
    "female": r"\b(?:fe|wo)m(?:an|en|ale)|\b(?:she|her|girl|wife|mother|daughter|sister|lady)\b"
    r"|\b(?:periods?|pregnan\w*|vagin\w*)\b"
    r"|女|妻子|老婆|妈妈|母亲|奶奶|外婆|姥姥|月经|例假|怀孕|白带|阴道",
    "male": r"(?<!fe)\bm(?:an|en|ale)\b|\b(?:he|his|him|boy|husband|father|son|brother)\b"
    r"|\b(?:penis|testic\w*|prostate)\b"
    r"|男|丈夫|老公|爸爸|父亲|爷爷|外公|阴茎|睾丸|前列腺",
    "exposed": r"poison|swallowed|pesticide|chemical|overdose|bite|bitten|burn(?:ed|t)|fell\b|hit\b|accident|injur"
    r"|snake|alcohol|drink(?:er|ing)|mushroom|fumes|drug"
    r"|中毒|误服|误食|农药|喝了|吃了|咬伤|被咬|烫|烧伤|摔|撞|外伤|受伤|喝酒|酒后|蘑菇|煤气|化学",
    "operated": r"\bsurgery|\boperation|\boperated|\btransplant|手术|术后|移植|开刀",
    "sudden": r"\bsudden|\bsince (?:yesterday|last night|this morning)|\bthis morning|\blast night"
    r"|突然|昨天|昨晚|今天|今早|刚才",
    "long": r"\bfor (?:many |several |some )?(?:months|years)|\balways\b|常年|多年|好几年|长期|老是|几个月",
}  # fmt: skip
_DAYS = {"hour": 0, "hr": 0, "day": 1, "week": 7, "wk": 7, "month": 30, "year": 365, "yr": 365}
_DAYS |= {"小时": 0, "个小时": 0, "天": 1, "日": 1, "星期": 7, "个星期": 7, "周": 7, "个月": 30, "年": 365}
_ACUTE, _CHRONIC = 14, 60  # days
_GROWN, _OLD = 16, 60  # years


def about(text: str) -> frozenset[str]:
    """What a story tells of its patient and of when it began: child, adult, old, female, male, pregnant, sudden, ...

    >>> sorted(about("My 4-year-old daughter has had a cough for 3 days")), sorted(about("父亲70岁，手抖两年"))
    (['child', 'female', 'sudden'], ['adult', 'long', 'male', 'old'])
    """
    found = {name for name, pattern in _compiled().items() if pattern.search(text)}
    found -= {"adult"} if "child" in found else set()
    for p in particulars(text):
        if p.kind == "age" and p.number is not None:
            years = p.number if "month" not in p.unit and "week" not in p.unit and "月" not in p.unit else p.number / 12
            found = (found - {"child", "adult"}) | of_age(years)
        if p.kind == "duration" and p.number is not None and p.unit in _DAYS:
            days = p.number * _DAYS[p.unit]
            found |= {"sudden"} if days <= _ACUTE else {"long"} if days >= _CHRONIC else set()
    return frozenset(found - {"female", "male"} if {"female", "male"} <= found else found)


OF_AGE = frozenset({"child", "adult", "old", "newborn", "infant"})  # traits that go by age


def of_age(years: float) -> set[str]:
    """The traits of somebody of an age.

    >>> sorted(of_age(4)), sorted(of_age(70))
    (['child'], ['adult', 'old'])
    """
    return ({"child"} if years < _GROWN else {"adult"}) | ({"old"} if years >= _OLD else set())


@lru_cache(maxsize=1)
def _compiled() -> dict[str, re.Pattern[str]]:
    return {name: re.compile(pattern, re.IGNORECASE) for name, pattern in _ABOUT.items()}


@dataclass(frozen=True)
class Condition:
    """What the name of a disease says of whom it befalls, and how likely it is for one of whom that is not told.

    Attributes:
        name: Under which the vocabulary has what such names hold.
        needs: What a story tells of its patient where nothing is taken off.
        against: What a story tells where it is all but ruled out.
        share: The share of patients whom it befalls, where a story tells neither.
    """

    name: str
    needs: str
    against: str = ""
    share: float = 0.1

    @property
    def looks(self) -> str:
        """A pattern of such names."""
        return vocabulary.pattern("name_patterns", self.name)


CONDITIONS = (
    Condition("diseases of children", "child", "adult", 0.2),
    Condition("diseases of the newborn", "newborn", "adult", 0.01),
    Condition("diseases of pregnancy", "pregnant", "male", 0.03),
    Condition("diseases of old age", "old", "child", 0.3),
    Condition("diseases of women", "female", "male", 0.5),
    Condition("diseases of men", "male", "female", 0.5),
    Condition("what exposure causes", "exposed"),
    Condition("what follows an operation", "operated"),
    Condition("diseases of adults", "adult", "child", 1.0),
    Condition("sexually transmitted diseases", "adult", "child", 1.0),
    Condition("acute diseases", "sudden", "long", 0.7),
    Condition("chronic diseases", "long", "sudden", 0.7),
    Condition("slow malignancies", "long", "sudden", 1.0),
)
_RULED_OUT = 0.02
_SLOW = 0.3  # of what is called acute where the story is long, and the other way round


def conditions(name: str) -> int:
    """Which rows of `CONDITIONS` the name of a disease has, as bits."""
    if _condition().search(name) is None:  # most names
        return 0
    return sum(1 << i for i, pattern in enumerate(_conditions()) if pattern.search(name))


@vocabulary.kept()
def _condition() -> re.Pattern[str]:
    """The patterns of all conditions in one."""
    return re.compile("|".join(f"(?:{row.looks})" for row in CONDITIONS), re.IGNORECASE)


@vocabulary.kept(1 << 14)
def befalls(name: str) -> bool:
    """Whether the name of a disease says that it befalls one sex, or those who are with child, alone.

    >>> befalls("痛经"), befalls("Prostatitis"), befalls("腹痛")
    (True, True, False)
    """
    bits = conditions(name)
    return any(bits >> i & 1 for i, row in enumerate(CONDITIONS) if row.needs in ("female", "male", "pregnant"))


@vocabulary.kept()
def _conditions() -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(row.looks, re.IGNORECASE) for row in CONDITIONS)


def odds(told: frozenset[str]) -> tuple[float, ...]:
    """For each row of `CONDITIONS`, what is left of the likelihood of a disease of that name, given what is told."""
    return tuple(_left(row, told) for row in CONDITIONS)


def _left(row: Condition, told: frozenset[str]) -> float:
    if row.needs in told:
        return 1.0
    ruled_out = _SLOW if row.needs in ("sudden", "long") else _RULED_OUT
    return ruled_out if row.against in told else row.share
