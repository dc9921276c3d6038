"""Questions about two things ("can X cause Y", "is X safe in Y"): the table of what ties would answer them."""

import re
from dataclasses import dataclass
from functools import cached_property, lru_cache

from kgmed.language.question import asking_part
from kgmed.language.text import InTwoLanguages, has_cjk, lazily, spelled
from kgmed.records import Role


@dataclass(frozen=True)
class PairType:
    """A row of the table: what a question of the type looks like and which ties between two things say yes to it.

    Attributes:
        name: What it is called.
        looks: A pattern of its words, English and Chinese.
        ties: The roles that say yes, the first the most telling; "+" = the thing named first is the subject of the
            role, "-" = its object, "*" = either.
        yes: How a yes begins, in English and Chinese.
        safety: Whether it asks if something may be taken: a tie then says no, and no tie says nothing.
    """

    name: str
    looks: str
    ties: str
    yes: tuple[str, str]
    safety: bool = False

    @cached_property
    def pattern(self) -> InTwoLanguages:
        """`looks`, compiled when a text of the language is read."""
        return InTwoLanguages(self.looks)

    @cached_property
    def roles(self) -> tuple[tuple[Role, str], ...]:
        """The ties as (role, direction)."""
        return tuple((Role(tie[:-1]), tie[-1]) for tie in self.ties.split())


_EFFECTS = "finding+ adverse+ complication+ cause- risk-"
PAIRS: tuple[PairType, ...] = (
    PairType(
        "is treated",
        r"(?:treated|cured|managed|relieved|controlled) (?:with|by|using)|用.{0,30}(?:治|来治|治疗)(?:吗|么|\?|？|$)",
        "treats-",
        ("Yes", "可以"),
    ),
    PairType(
        "danger",
        r"\b(?:dangerous|dangers?|harmful|risky|unsafe|bad (?:for|in|to|with)|contraindicated|forbidden|prohibited)\b"
        r"|\bavoid(?:ed)?\b"
        r"|(?<!不)(?:危险|有害|冲突)|有没有(?:危险|害处)|(?<!有什么)(?:禁用|禁忌|忌用|慎用)",
        "contraindicated* interacts* precaution* avoid*",
        ("Yes", "是的"),
        safety=True,
    ),
    PairType(
        "safety",
        r"\b(?:safe|safer(?! than)|ok|okay|alright|all right|allowed|advisable|fine)\b"
        r"|\b(?:can|may|should|could|must) (?:i|we|you|he|she|they|it|one|people|patients|someone|somebody|an?|my|the"
        r"|pregnant|breast\S*|children|kids|elderly|nursing|\w+ women)\b.{0,200}"
        r"\b(?:take|takes|taking|use|used|have|give|given|get|drink|combine|mix|swallow|receive)\b"
        r"|\bbe (?:taken|used|given|combined|mixed|prescribed)\b(?! (?:for\b|to (?:treat|cure|help|manage|relieve)))"
        r"|(?:能不能|可不可以|可否|能否|可以|能|宜|适合)(?:\S{0,6}?)(?:吃|用|服|打|喝|加|擦|抹|涂|贴|敷|滴)|安全|行不行|行吗|成不成|没事[吧吗]|没问题[吧吗]|碍事",
        "contraindicated* interacts* precaution* avoid*",
        ("No", "不能"),
        safety=True,
    ),
    PairType(
        "interaction",
        r"interact|\btogether\b|\bcombin|\bmix|\bany (?:problems?|issues?|concerns?)\b|相互作用|一起(?!吃饭)|同时"
        r"|同服|同用|合用|联用|配伍|打架|相冲|犯冲|相克"
        r"|\bclash|\bconflict",
        "interacts* contraindicated* precaution*",
        ("Yes", "有"),
    ),
    PairType(
        "is a symptom",
        r"\b(?:a|an|the|any|common|typical) (?:\w+ )?(?:symptom|sign|feature|manifestation|finding)s? (?:of|in)"
        r"|(?:是|属于|算).{0,30}的?(?:症状|表现|体征)",
        "finding- complication- adverse-",
        ("Yes", "是"),
    ),
    PairType(
        "is a complication", r"complication of|是.{0,30}的?并发症", "complication- finding- adverse-", ("Yes", "是")
    ),
    PairType(
        "is a side effect",
        r"\bside.?[ae]f+ects?\b|正常(?:反应|现象)|正常[吗不么]|是.{0,30}的?(?:副作用|不良反应)|药.{0,6}(?:问题|原因|关系)|药.{0,2}(?:闹|惹|弄|引起|导致|造成)",
        "adverse*",
        ("Yes", "是"),
    ),
    PairType(
        "is a risk",
        r"\brisk|\bchances? of\b|more likely|predispos|高危|危险因素|风险|更?容易(?:得|患)",
        "risk- cause- complication+ adverse+ finding+",
        ("Yes", "会"),
    ),
    PairType(
        "is caused",
        r"(?:caused|triggered|produced|brought on) by|\b(?:be|is|are) (?:behind|the (?:cause|reason))\b|\b(?:get"
        r"|getting|catch) .{1,60} from\b"
        r"|due to|result of|consequence of|come from"
        r"|由.{0,30}(?:引起|导致|造成|诱发)|因为.{0,30}引起|的(?:主要)?(?:原因|病因|诱因)(?:是不是|是|包括|有)",
        "cause+ risk+ finding- adverse- complication-",
        ("Yes", "是"),
    ),
    PairType("is prevented", r"prevented by|prevented with|用.{0,30}预防", "prevention+", ("Yes", "可以")),
    PairType("prevents", r"\bprevents?\b|预防", "prevention- treats+", ("Yes", "可以")),
    PairType("gene", r"\bgenes?\b|mutat|variant|基因|突变", "gene*", ("Yes", "是")),
    PairType(
        "test",
        r"\b(?:test|scan|exam\w*) for|diagnos|detect|\bshow(?:s|n)?\b|reveal|screen|检查|检测|查出|查到|诊断|筛查",
        "tests* finding*",
        ("Yes", "可以"),
    ),
    PairType(
        "cures",
        r"\bcures?\b|治愈|根治|治好",
        "treats+",
        ("Given for it, which does not say that it cures", "图谱记有此用途，但未说能治愈"),
    ),
    PairType(
        "treats",
        r"\btreat|\bcures?\b|\bhelps?\b|reliev|effective|good for|useful|work (?:for|against|on)|used for|indicated"
        r"|治|管用|有效|有用|缓解|改善|减轻|能(?:减|降|防)|适应",
        "treats+ prevention-",
        ("Yes", "可以"),
    ),
    PairType(
        "inherits",
        r"inherit|heredit|autosomal|recessive|dominant|遗传|显性|隐性",
        "inheritance* gene*",
        ("Yes", "是"),
    ),
    PairType(
        "is a kind",
        r"\b(?:an?|the) (?:kind|type|form|sort|subtype|variant) of|是一种|是.{0,20}的一种|属于"
        r"|^\W*(?:is|are) (?!there\b|this\b|that\b|it\b)[\w -]{2,40}? an? [\w -]{3,30}\W*$"
        r"|^[^，。？?]{2,12}是[^，。？?的不吗]{1,8}吗\W*$",
        "is_a+",
        ("Yes", "是"),
    ),
    PairType(
        "same", r"same (?:thing|as)|another name|是不是一回事|一样吗|是同一|就是", "same_as* is_a*", ("Yes", "是")
    ),
    PairType("contains", r"\bcontains?\b|made (?:of|from)|ingredient|含有|含|成分|成份", "ingredient*", ("Yes", "是")),
    PairType(
        "affects",
        r"\baffects?\b|involves?\b|\b(?:damages?|harms?|hurts?|ruins?|wrecks?|destroys?|attacks?|spreads? to)\b"
        r"|located|长在|影响|损害|损伤|伤害|累及|侵犯",
        "location+ finding+ complication+ adverse+",
        ("Yes", "会"),
    ),
    PairType(
        "causes",
        r"\bcauses?\b|\b(?:lowers?|raises?|increases?|drops?) (?:\w+ )?\w+|\bend(?:s|ed)? (?:up )?(?:in|as"
        r"|with)\b|lead(?:s|ing)? to|result(?:s|ing)? in|\bgive (?:you|me|people)|bring on|trigger|produce"
        r"|\b(?:turn|develop|progress|evolve) (?:in)?to\b|\bbecome\b"
        r"|\bmake(?:s)? (?:me|you|people)|\bleaves? (?:me|you|people|an?|him|her|them|my|your|the)\b"
        r"|变成|变为|转成|转为|转变|发展[成为到]|演变|恶化[成为]|癌变|伤(?=[肝肾胃])"
        r"|[是算].{1,20}的(?:\S{0,4})?(?:原因|病因|诱因)|引起|导致|造成|引发|诱发|出现|会不会"
        r"|会.{1,40}(?:吗|么|？|\?)|能引",
        _EFFECTS,
        ("Yes", "会"),
    ),
    PairType(
        "has",
        r"\b(?:have|has|had|get|show|develop|experience|present|come with|suffer)\b"
        r"|有(?!关|联系).{1,30}(?:吗|么)|会有|有没有",
        _EFFECTS,
        ("Yes", "会"),
    ),
    PairType(
        "link",
        r"(?<!\b[xy][ -])\blink(?:ed|s)?\b|relat(?:ed|ion)|associat|connect|to do with|有关|关系|关联|联系",
        "",
        ("Yes", "有"),
    ),
)
WHICH_OF_TWO = PairType(  # which of two things has a third
    "which",
    r"\bwhich (?:of (?:them|these|those|the two)|one)\b|\bin which (?:of|one)\b|哪(?:一)?[个种](?:病)?(?:会|有|才|更)",
    _EFFECTS,
    ("So it is of this one", "有此情况的是"),
)
WITH_A_DRINK = PairType(  # whether one may drink with an illness, where no medicine is named
    "drink", r"(?!)", "avoid* contraindicated* precaution* cause* risk* complication*", ("Better not", "不宜")
)
ANY_TIE = PairType("any tie", r"(?!)", "", ("What the graph says of both", "图谱对两者的记载"))  # where no row fits
_YES_NO = lazily(
    r"^\W*(?:(?:and|but|so|then|please|doctor|hi|hello)\W+)*"
    r"(?:is|are|was|can|could|should|may|might|will|would|do|does|did|has|have|must|am)\b"
    r"|[,;.!]\s*(?:is|are|can|could|should|may|will|would|do|does|did|has|have|must|am) [a-z]"
    r"|\b(?:ok|okay|safe|allowed|alright)\s*\?*\s*$"
    r"|吗|么[?？]?\s*$|嘛|(?:没事|没问题|不要紧)吧|[吃用喝服打行好]不(?:[行好])?\W*$|(?:能|可以|会|有|是)[^，,。？?]{1,15}不\W*$|行不行|好不好|成不成|能不\W*$|可以不\W*$|能不能"
    r"|是不是|会不会|可不可以|能否|可否|是否|有没有|有无|要不要|该不该|算不算",
    re.IGNORECASE,
)
_WHAT = lazily(
    r"什么(?!时候)|哪些|哪种|哪个|多少|怎[么样]|咋|如何|几[次片粒种类型期级个]|(?<!be )\b(?:what|how|why)\b"
    r"|(?:^\W*|[,;.:]\s*|\b(?:in|on|of|for|to|with|by|from|and|or|but|know|say|sure|tell \w+)\s+)(?:which|who|when)\b",
    re.IGNORECASE,
)


@lru_cache(maxsize=1024)
def is_yes_no(text: str) -> bool:
    """Whether a question can be answered with yes or no.

    >>> is_yes_no("Can measles lead to pneumonia?"), is_yes_no("Which genes cause gout?"), is_yes_no("痛风会遗传吗")
    (True, False, True)
    """
    said = _POLITE.sub("", spelled(asking_part(text)).strip())
    return bool(_YES_NO.search(said)) and not _WHAT.search(said.split("?")[0].split("？")[0])


_POLITE = lazily(
    r"^\W*(?:could|can|would|will) you (?:\w+ ){0,2}(?:tell|explain|list|name|say|describe|give|let|help)\b",
    re.IGNORECASE,
)


def asks_what(text: str) -> bool:
    """Whether a question asks for a name or a reason, which no yes answers.

    >>> asks_what("Which drugs lower it?"), asks_what("高血压都有哪些降压药"), asks_what("aspirin and warfarin")
    (True, True, False)
    """
    return bool(_WHAT.search(text))


_ASKS_OF_TWO = lazily(
    r"\blink|relation|interact|association|\btogether\b|\bcombin(?:e|ing|ation)\b|有关|关系|相互作用"
    r"|\bany (?:problems?|issues?|concerns?|risks?|dangers?|worries)\b"
    r"|对[^，。？?]{1,12}的?(?:影响|损害|伤害)|(?:一起|同时|一块儿?)(?:吃(?!饭)|服|用|喝|会|能|可)|同服|合用|联用"
    r"|\bwhat (?:happens|will happen|would happen) (?:if|when)\b|\bclash|\bconflict|打架|相冲|犯冲|相克",
    re.IGNORECASE,
)


_CLAIM = lazily(  # what is taken for granted before something else is asked: 既然胰岛素会上瘾，怎么戒掉它
    r"(?:^|[，,。；])\s*(?:既然|听说|据说|都说|有人说)(?P<told>[^，,。；？?]{3,40})[，,。；]"
    r"|^\W*(?P<sure>[^，,。；？?]{3,40}?)(?:是吧|对吧|是不是|对不对|没错吧|对吗|是吗)(?:\W|$)"
)


def claim_of(text: str) -> str:
    """What a Chinese question takes for granted, as a question; "" where it does not.

    >>> claim_of("既然胰岛素会上瘾，怎么戒掉它"), claim_of("青霉素能治感冒是吧，吃几天"), claim_of("痛风怎么治")
    ('胰岛素会上瘾吗', '青霉素能治感冒吗', '')
    """
    found = _CLAIM.search(text)
    return f"{found['told'] or found['sure']}吗" if found else ""


@lru_cache(maxsize=1024)
def pairs_asked(text: str) -> tuple[PairType, ...]:
    """The rows of `PAIRS` whose words a question has; () where it asks for no tie of two things.

    >>> [row.name for row in pairs_asked("Can I take ibuprofen with warfarin?")]
    ['safety']
    """
    claim = claim_of(text)
    said = spelled(claim or asking_part(text))
    asks = claim or is_yes_no(text) or _ASKS_OF_TWO.search(said)
    return tuple(row for row in PAIRS if row.pattern.search(said)) if asks else ()


_FRAME = lazily(  # words around the two things of a question
    r"^(?:and|but|so|is|are|was|were|can|could|should|may|might|will|would|do|does|did|has|have|there|it|true|that|which"
    r"|who|any|an?|the|some|my|your|his|her|be|being|been|really|actually|to|for|of|in|with|people|me|you|help|helps|get"
    r"|getting|having|by|from|just|only|ever|also|too|much|many|more|drugs?|medic(?:ine|ation)s?|pills?|tablets?"
    r"|treatments?|cures?|remed(?:y|ies)|something|anything|things?|ways?|this|these|those|it|they|them|he|she|i|we|one"
    r"|doctors?|permanent(?:ly)?|complete(?:ly)?|not|no|what|how|why|when|if|or|known|possible|definitive)$",
    re.IGNORECASE,
)


def other_side(text: str, pair: PairType, linked: tuple[tuple[int, int], ...]) -> str:
    """Of a question about two things of which all that is linked is one side, the words of the other; "" for none.

    >>> caused = next(row for row in PAIRS if row.name == "is caused")
    >>> other_side("is gout caused by eating too much sugar", caused, ((3, 7),))
    'eating too much sugar'
    >>> other_side("is gout caused by something", caused, ((3, 7),))
    ''
    """
    found = pair.pattern.search(text)
    if not found or has_cjk(text):
        return ""
    sides = ((0, found.start()), (found.end(), len(text)))
    empty = [side for side in sides if not any(a < side[1] and side[0] < b for a, b in linked)]
    if len(empty) != 1 or not linked:
        return ""
    words = re.split(r"[?.!,;]", text[slice(*empty[0])])[-1 if empty[0][0] == 0 else 0].split()
    while words and _FRAME.match(words[0]):
        words.pop(0)
    while words and _FRAME.match(words[-1]):
        words.pop()
    return " ".join(words) if words and len(words) <= _FEW and any(len(w) > _SHORT for w in words) else ""


_FEW, _SHORT = 6, 2  # words of a name, letters of a word that is none
