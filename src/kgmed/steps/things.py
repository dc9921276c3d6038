"""The things that a question names, of all that was linked in it."""

import re
from collections.abc import Container, Iterable, Sequence
from dataclasses import replace
from itertools import pairwise

from kgmed.language.particulars import People
from kgmed.language.question import asks_at, asks_diagnosis, roles_asked
from kgmed.language.text import lazily
from kgmed.records import Link


def allergies(links: Sequence[Link]) -> list[Link]:
    """The links, a name and the allergy right behind it as one: of 磺胺过敏 it is asked, and not of any allergy."""
    ends = {link.mention.start for link in links if link.mention.surface == _ALLERGY}
    to = [link for link in links if link.mention.end in ends]
    whole = {link: replace(link.mention, surface=link.mention.surface + _ALLERGY) for link in to}
    rest = [link for link in links if not to or link.mention.surface != _ALLERGY]
    return [replace(link, mention=whole.get(link, link.mention)) for link in rest]


_ALLERGY = "过敏"
_ALLERGEN = re.compile(r"对([^，。；、（）()]{2,24}?)过敏")
_KIND = re.compile(r"^(?:任何|其[他它]|同类)|(?:类|抗生素|药物|药品|药|制剂)+$")


def is_allergy(link: Link) -> bool:
    """Whether a link is to an allergy to what it names."""
    return link.mention.surface.endswith(_ALLERGY)


def allergens(texts: Iterable[str]) -> set[str]:
    """What labels say that one must not be allergic to, but the product itself.

    >>> sorted(allergens(["对本品或其他头孢类抗生素过敏者禁用", "对青霉素过敏或皮试阳性者禁用"]))
    ['头孢', '青霉素']
    """
    said = [part for text in texts for m in _ALLERGEN.finditer(text) for part in re.split("[或和及与]", m[1])]
    names = {_KIND.sub("", _KIND.sub("", part)) for part in said}
    return {n for n in names if 2 <= len(n) <= 6 and not re.search("本品|本药|该药|成[分份]|辅料|赋形|磺胺基", n)}


def things_of(links: Sequence[Link], asked: Container[str] = ()) -> list[Link]:
    """The links of the things that are not denied, each once, in their order; of many those asked about."""
    once: dict[str, Link] = {}
    for link in links:
        if not link.mention.negated and link.entity.kind != "root":
            once.setdefault(link.entity.id, link)
    rows = list(once.values())
    kept = sorted(range(len(rows)), key=lambda i: rows[i].entity.id not in asked)[:4]
    return [rows[i] for i in sorted(kept)]


def names_people(link: Link, groups: Sequence[People]) -> bool:
    """Whether a link is to a group of people (孕妇), and not to what only some people have (小儿肺炎)."""
    found = (g.in_question.search(link.mention.surface) for g in groups)
    whole = any(m and 2 * len(m[0]) > len(link.mention.surface) for m in found)
    return whole or link.entity.kind == "population"


def are_two(a: Link, b: Link) -> bool:
    """Whether two links are two things: one mention that was linked twice is one."""
    return a.mention.end <= b.mention.start or b.mention.end <= a.mention.start or a.mention.start < 0


def defined(text: str, links: Sequence[Link]) -> list[Link]:
    """The one thing of which it is asked what it is, beside what else is told: 耳石症是啥病，翻身就晕."""
    rest = ((link, text[link.mention.end :]) for link in links if link.mention.start >= 0)
    named = ((link, behind) for link, behind in rest if A_DISEASE.search(link.mention.surface))
    return [link for link, behind in named if _IS_WHAT.match(behind)][:1]


def not_set_aside(text: str, links: Sequence[Link]) -> Sequence[Link]:
    """The links without those to what is set aside: what else, apart from X, is linked to Y."""
    if not any(word in text.casefold() for word in _ASIDE_WORDS):
        return links
    aside = [m.span("what" if m["what"] else "what2") for m in _ASIDE.finditer(text)]
    rest = [x for x in links if not any(a <= x.mention.start < b for a, b in aside)]
    return rest or links


_ASIDE_WORDS = ("apart", "aside", "other than", "besides", "except", "in addition", "除")
_ASIDE = lazily(
    r"\b(?:apart from|other than|besides|aside from|except(?: for)?|in addition to) (?P<what>[^,.;?]{2,60}?)"
    r"(?=[,.;?]| (?:what|which|is|are|does|do|can)\b|$)"
    r"|除了?(?P<what2>[^，。？?]{2,20}?)(?:以外|之外|外)?(?=[，。？?]|还)",
    re.IGNORECASE,
)


def named_twice(text: str, links: Sequence[Link]) -> Sequence[Link]:
    """The links without those to what stands in brackets behind another name of a thing: 上感（急性上呼吸道感染）."""
    found = list(links)
    for first, second in pairwise(sorted(links, key=lambda link: link.mention.start)):
        a, b = first.mention, second.mention
        inside = 0 <= a.start < a.end < b.start and text[a.end : b.start].strip() in ("(", "（")
        if inside and text[b.end : b.end + 1] in (")", "）") and first.entity.kind == second.entity.kind:
            found.remove(first if len(a.surface) < len(b.surface) else second)
    return found


def blames(text: str) -> bool:
    """Whether it is asked if what is told comes of what was taken.

    >>> blames("My ankles swell, is it from the amlodipine?"), blames("ACE inhibitor cough: does enalapril do that?")
    (True, True)
    """
    return bool(_BLAMES.search(text))


_IS_WHAT = lazily(r"[”’\"'」』]?(?:到底|究竟)?是(?:一?[个种]|指)?(?:什么|啥)(?:病|疾病|东西|意思)")
_BLAMES = lazily(
    r"\b(?:does|do|can|could|would) .{1,40} do (?:that|this)\b|\bto blame\b"
    r"|\b(?:is|was|could|can) (?:it|that|this) (?:be )?(?:from|due to|down to|because of|caused by) (?:the|my|h\w+)\b"
    r"|\bis it the (?:\w+ )?(?:tablets?|pills?|medicines?|medications?|drugs?)\b"
    r"|是(?:不是)?(?:这个?|那个?|因为)?(?:吃|用)?药.{0,3}(?:闹|惹|弄|引起|导致|造成|副作用|不良反应|问题|原因)",
    re.IGNORECASE,
)


def named_only(text: str, links: Sequence[Link]) -> Sequence[Link]:
    """The links; of a disease that is asked about by name without the findings that are told beside it."""
    if not asks_of_a_named(text, links):
        return links
    return [link for link in links if link.entity.kind not in ("phenotype", "symptom")]


def asks_of_a_named(text: str, links: Sequence[Link]) -> bool:
    """Whether what is asked is asked of a disease that is named there: tests to confirm Fabry disease in a man."""
    if not roles_asked(text) or asks_diagnosis(text):
        return False
    here = [link for link in links if not link.mention.negated and asks_at(text, link.mention.start)]
    return any(link.entity.kind == "disease" and A_DISEASE.search(link.mention.surface) for link in here)


def is_called_ill(link: Link) -> bool:
    """Whether a link is to an illness by its name, as it is said or as it is called, and not to what is felt."""
    return bool(A_DISEASE.search(link.mention.surface) or A_DISEASE.search(link.entity.name))


A_DISEASE = lazily(
    r"(?:[病症炎癌瘤痔癣疝]|(?<![皮红丘斑药])疹|感染|中毒|综合征|痛风|溃疡|结石|哮喘|梗[死塞]|青光眼|白内障|[流重]感|感冒)$"
    r"|(?:itis|osis|oma|disease|syndrome|infection|cancer)s?$",
    re.IGNORECASE,
)
