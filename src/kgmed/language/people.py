"""Groups of people that a question about a medicine names, and how a text of a graph speaks of them."""

import re
from dataclasses import dataclass
from functools import cached_property


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
        r"pregnan|trimester|expecting a|mother.to.be|孕|怀了?孕|有喜",
        r"pregnan|f(?:o)?etus|f(?:o)?etal|teratogen|孕|妊娠|胎儿|致畸",
    ),
    People(
        ("breastfeeding", "哺乳期妇女"),
        r"breast.?feed|breastfed|nursing (?:mother|mom|mum)|lactat|哺乳|喂奶|母乳",
        r"breast.?(?:feed|milk)|lactat|nursing|哺乳|乳汁|乳母|泌乳",
    ),
    People(
        ("children", "儿童"),
        r"\b(?:child(?:ren)?|infants?|bab(?:y|ies)|newborns?|toddlers?|kids?|p(?:a)?ediatric)\b"
        r"|\b(?:my|our) (?:son|daughter)\b"
        r"|\b(?:1[0-7]|[1-9])[- ]?(?:year|yr|month|week)s?[- ]?old"
        r"|儿童|小儿|小孩|孩子|婴儿|宝宝|幼儿|新生儿|(?<!\d)(?:1[0-7]|[1-9])(?:个月|周?岁)",
        r"\bchild|p(?:a)?ediatr|infant|neonat|newborn|adolescent|under \d{1,3} years|(?<!\d)\d{1,3} years"
        r"|儿童|小儿|婴|幼儿|新生儿|早产儿|未成年|(?<!\d)\d{1,3}岁以下",
    ),
    People(
        ("older people", "老年人"),
        r"\belderly|older (?:people|adults?|patients?)|\bseniors?\b|\b(?:6[5-9]|[789]\d)[- ]?(?:year|yr)s?[- ]?old"
        r"|老人|老年|高龄|(?<!\d)(?:6[5-9]|[789]\d)岁",
        r"elderly|older (?:people|adults|patients)|geriatric|老年|高龄",
    ),
)
_FORBIDS = re.compile(
    r"禁|不宜|不得|不应|不可|不能|忌用|避免|不推荐|不建议|contraindicat|(?:must|should|do) not"
    r"|not (?:be |to be )?(?:used|taken|given|recommended)|\bavoid|\bnever\b|\bonly\b|仅",
    re.IGNORECASE,
)


def people_of(text: str) -> tuple[People, ...]:
    """The groups of people that a question names.

    >>> [group.name[0] for group in people_of("Is it OK to take warfarin while pregnant?")]
    ['pregnancy']
    """
    return tuple(group for group in PEOPLE if group.in_question.search(text))


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


# Where a medicine is kept, and who looks after a child that takes it, is no warning.
_STORED = re.compile(r"触及|不能接触|接触不到|触摸不到|取不到|监护|out of (?:the )?(?:reach|sight)", re.IGNORECASE)
