"""What a sentence says: its words, and its claims, each of two entities, by which words, denied or not.

A sentence is read from left to right. Entities that only commas, "and" or 、 part are a group, so that "A, B and C are
signs of D" makes three claims. The first group of a clause is what it is about; each later group makes claims with it,
by the words between them ("treats"), else by those before the clause's first group ("the side effects of A include B")
or behind the group ("B is treated with A", "A是B的症状"). After a comma or an "and", words that claim something go on
about the same thing ("A treats B and causes C"); a group without such words before it and with them behind it begins a
new clause ("A treats B, and C causes D").
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from importlib import resources

from kgmed import vocabulary
from kgmed.records import Entity, Role
from kgmed.stop import check_stop

# --- Words that claim something, by what they claim.


WARNED = frozenset({Role.CONTRAINDICATED, Role.PRECAUTION, Role.AVOID})
HAD = frozenset({Role.FINDING, Role.COMPLICATION, Role.ADVERSE, Role.INHERITANCE, Role.ONSET, Role.RISK, Role.LOCATION})
_CAUSED = frozenset({Role.CAUSE, Role.RISK, Role.GENE})
_AFTER = frozenset({Role.ADVERSE, Role.COMPLICATION, Role.FINDING})
_MUST_NOT = (
    r"(?:should|must|may|can|could)(?: ?n[o'’]t| not| never)\b(?! ?(?:\w+ )?(?:treat|cure|cause|lead|result|present"
    r"|show|have|help|work|include|reliev|develop|induce|interact|contain|prevent|affect|manifest|mean|feature|belong|occur))"
    r"(?: be)? ?(?:us\w+|giv\w+|tak\w+|recommend\w*|prescrib\w*|administ\w+|eat\w*"
    r"|drink\w*|receiv\w+|suit\w*|consum\w+)?"
)


@dataclass(frozen=True, slots=True)
class Cue:
    """Words that claim something: of which roles, and whether who acts stands before them or behind."""

    roles: frozenset[Role]
    words: re.Pattern[str]
    agent: str = ""  # first, last, whole (has or holds the other, and stands first); "" = they do not tell
    loose: bool = False  # such as "used": what other words claim beside them counts


def _cue(words: str, *roles: Role, agent: str = "", loose: bool = False) -> Cue:
    return Cue(frozenset(roles), re.compile(words, re.IGNORECASE), agent, loose)


_CUES = (
    _cue(
        rf"\bcontra-?indicat\w*|\b{_MUST_NOT}|\bcannot(?: be)? (?:us|giv|tak|eat|drink|receiv)\w+|\bunsafe\b"
        r"|\bnot (?:be )?(?:us\w+|giv\w+|tak\w+|recommend\w*|safe|suitable|advis\w+)(?! (?:for|to) treat)|\bavoid\w*"
        r"|\bdo(?: not|n['’]t) (?:use|give|take|eat|drink|prescribe|recommend)\b"
        r"|\bunless\b|\bwith caution\b|\bcautio(?:n|us)\w*"
        r"|禁用于?|禁忌[症证]?|禁止|忌用|忌|慎用|避免|不宜|不得|不要|不应(?!该?[挂去])|不可(?!以?治)(?:以?用于?)?"
        r"|不能(?:再|长期|随意)?(?:使用|服|吃|喝|饮|给|接种|注射|同用|合用|用(?!于?来?[治诊判检查测确明发]))|勿"
        r"|不[能可应得要]以?(?=[与和跟同])",
        *WARNED,
    ),
    _cue(r"有?(?:一定|较好|良好|明显)?的?疗效|没有?(?:效果|用(?=[，。；]|$))|\bworks? against\b"
         r"|\bdo(?:es)? nothing (?:for|against)\b", Role.TREATS),
    _cue(r"\bside[- ]?effects?|\badverse(?: (?:drug )?(?:effects?|reactions?|events?))?|\btoxicit\w+"
         r"|不良反应|副作用|副反应|[与和跟同](?:服用|使用|应用|吃)",
         Role.ADVERSE),
    _cue(
        r"\b(?:caus(?:e|es|ing)|leads? to|leading to|results? in|resulting in|induc(?:e|es|ing)|triggers?|provokes?)\b"
        r"|引起|导致|引发|造成|诱发",
        *_CAUSED, *_AFTER, agent="first",
    ),
    _cue(r"\b(?:(?:caused|induced|triggered|provoked) by|due to|because of)\b|由于", *_CAUSED, *_AFTER, agent="last"),
    _cue(r"\b(?:causes? of|a?etiolog\w+|pathogenesis|brings? about)\b|病因|原因|致病|所致|之所以|因为",
         Role.CAUSE, Role.RISK),
    _cue(r"\bunderl(?:ies?|ying)\b|\bcom(?:es?|ing) from\b", Role.CAUSE, Role.GENE, Role.RISK),
    _cue(r"\bcomplicat\w+|\bsequela\w*|\b(?:develops?|turns?|progress(?:es)?) into\b|并发症?|合并症?|后遗症"
         r"|(?:发展|演变|恶化|进展|转变)[成为]+", Role.COMPLICATION),
    _cue(r"\bat (?:high |higher |increased )?risk of\b|警惕|当心|小心|提防",
         Role.COMPLICATION, Role.FINDING, Role.RISK),
    _cue(r"\brisk(?: factors?| groups?)?\b|\bpredispos\w+|\bsusceptib\w+|\bpast (?:medical )?history\b"
         r"|危险因素|高危(?:因素|人群)?|易感|易患|(?:多发|好发)(?:群体|人群)|发病人群|(?:容易|易)得|风险", Role.RISK),
    _cue(r"(?:多发|好发|多见)于?|更常见", Role.RISK, Role.LOCATION),
    _cue(
        r"\b(?:symptom\w*|signs?|features?|featur(?:ed|ing)|findings?|phenotyp\w+|manifest\w*|clinical picture"
        r"|present(?:s|ed|ing|ation)?(?: with| as)?|characteri\w+(?: by)?|exhibit\w*|abnormalit(?:y|ies)"
        r"|complain\w*|hallmarks?|known for)\b"
        r"|症状|体征|表现|特征|特点",
        Role.FINDING,
    ),
    _cue(r"\b(?:develops?|developed|experienc\w+|suffers? from)\b|出现|伴有?|伴随|可见|感到|感觉|觉得",
         Role.FINDING, Role.ADVERSE,
         Role.COMPLICATION),
    _cue(r"\b(?:tests?|testing|examin\w+|investigat\w+|diagnos(?!ed (?:with|as|to have))\w+|detect\w*|screen\w*"
         r"|imaging|work-?up)\b"
         r"|检查|化验|诊断(?!为)|检测|筛查|检验|确诊(?!为)"
         r"|怀疑|(?:查|发现|测)出?|判断|(?<!不)明确|\bcheck(?:s|ed|ing)? for\b|\bfind(?:ing)? out\b", Role.TESTS),
    _cue(r"\bprevent\w*|\bprophyla\w+|\bvaccin\w+|预防", Role.PREVENTION),
    _cue(r"\b(?:locat\w+|sites?|body parts?|organs?|affected part)\b"
         r"|部位|位于|累及|侵犯|发生[于在]|好发部位|转移|[长生]在|病灶", Role.LOCATION),
    _cue("影响", Role.LOCATION, Role.ADVERSE, Role.COMPLICATION, Role.INTERACTS, loose=True),
    _cue(r"\b(?:genes?|mutat\w+|variants?|genetic test\w*)\b|基因|突变", Role.GENE),
    _cue(r"\b(?:inherit\w*|heredit\w+|runs? in (?:the )?famil\w+|passed (?:on|down))\b|遗传(?!因素)", Role.INHERITANCE),
    _cue(r"\bfirst (?:signs?|symptoms?)\b|\bappears? (?:at|with|during)\b|\bshows? up at\b", Role.ONSET, Role.FINDING),
    _cue(r"\b(?:onset|begins?|starts?|first appears?|age at)\b|起病|发病年龄|病程", Role.ONSET),
    _cue(r"\b(?:departments?|special(?:ist|ty|ties)\w*|clinic|referr\w+)\b"
         r"|科室|就诊|挂号|就医|看的?病|挂|(?:建议|应该?|要|可)去|去医院|归(?![类入为于脾])|(?<=科)管", Role.CARE),
    _cue("(?<![查观难])看(?![到见来上似作起法护])", Role.CARE, loose=True),
    _cue(r"\b(?:foods?|diet\w*|nutrition)\b|宜吃|宜食|饮食|食物|多吃", Role.FOOD),
    _cue(r"\binteract\w*|\btogether\b|\bcombin\w+"
         r"|相互作用|合用|同用|联用|配伍|同服|(?:同时|一起|一同)(?:服用|使用|服|用|吃)", Role.INTERACTS),
    _cue(r"\b(?:ingredients?|contain\w*|compos\w+|components?|made (?:of|from)|active substance)\b"
         r"|成[份分]|组成|制成|含有|含(?![服片漱化])|配方|原料|做[的成]|里面?有",
         Role.INGREDIENT),
    _cue(r"\b(?:dos(?:e[sd]?|ages?|ing)|posology)\b|用法(?:用量)?|用量|剂量|怎么吃|[吃服]法|常用量", Role.DOSAGE),
    _cue(r"\b(?:also (?:known|called|named)|brand(?: names?)?|trade names?|generic(?: names?)?|synonym\w*|same as)\b"
         r"|商品名|通用名|又称|又名|别名|也叫|俗称", Role.SAME_AS),
    _cue(r"\b(?:(?:an?|the|one|no) (?:type|kind|form|subtype|class|example|case) of|sub-?class\w*|subtype\w*|belongs?"
         r"|classif\w+|falls? under"
         r"|categor\w+|counts? among|considered|regarded as|ranks? among|grouped|(?:doctors|we|experts) group)\b"
         r"|分类|是一[种类个]|的一[种类]|上位|下位|类型|分型|归类|[归列]入|[归列视]为|算(?:是|作|得上)?", Role.IS_A),
    _cue(r"\b(?:differential(?: diagnos\w+)?|distinguish\w*|differentiat\w+|confused|mimic\w*|apart from)\b"
         r"|鉴别(?:诊断)?|区别|混淆|区分", Role.DIFFERENTIAL),
    _cue(r"属于", Role.IS_A, loose=True),
    _cue(
        r"\b(?:associat\w+|related|linked|goes with|go with|accompan\w+|connected"
        r"|(?:nothing|something) to do with)\b|相关(?!药|检)|[有无]关|关联",
        Role.ASSOCIATED, Role.FINDING, Role.GENE, Role.RISK, Role.COMPLICATION, Role.TESTS, Role.INHERITANCE,
        Role.CAUSE,
        Role.LOCATION, loose=True,
    ),
    _cue(r"\b(?:treats|treating|cures|curing|relieves|relieving|alleviates|alleviating|eases|helps(?: with)?)\b",
         Role.TREATS, agent="first"),
    _cue(r"\b(?:treated|managed|cured|relieved|alleviated) (?:with|by|using)\b", Role.TREATS, agent="last"),
    _cue(
        r"\b(?:treat(?:ed|ment|ments|able)?|therap\w*|cured?|curative|remed\w+|indicat(?:ed|ions?)|reliev\w+|alleviat\w+"
        r"|(?:in)?effective\w*)\b|治疗|治|有效|无效|缓解|药物|用药|疗法|适应[症证]|主治",
        Role.TREATS,
    ),
    _cue(
        r"\b(?:drugs?|medic(?:ations?|ines?|inal)|uses?|used|using|giv(?:en?|es|ing)|tak(?:e[ns]?|ing)|recommend\w*"
        r"|prescrib\w*|safe\w*|suitable|help|benefi\w+|choice|works?|options?|manag\w+)\b"
        r"|可?用于|可用|使用|服用|适用于?|适合|适宜|安全|首选|用|吃|给予",
        Role.TREATS, Role.DOSAGE, loose=True,
    ),
)  # fmt: skip
_NOT_REALLY = re.compile(
    r"\bnot (?:only|just|merely|necessarily|limited to)\b|\bno (?:doubt|later|longer than)\b|\bif not\b"
    r"|不(?:仅|但|只|光|止)|各不相同|不尽相同|不一(?=[，。而])|([是会能要])不\1|是否|有没有",
    re.IGNORECASE,
)
_REST = re.compile(  # "..., but not in asthma": says nothing of what stands before it
    r"(?:[,;]\s*+|\b(?:but|and|though)\s++){1,8}not\s+(?:in|for|with|during|when|if|against|to|by)\b"
    r"|[，；,;]\s*(?:但是?|而|却)?(?:不|勿|禁|忌)(?:可|能|宜|应|得|要)?(?:用于|用在|适用于|适合|治疗)"
    r"|[,;]\s*(?:but|while|whereas)\s+(?!(?:it|this|that|they|is|are|not|never|should|must|may|can|only|avoid)\b)"
    r"|[，；]\s*(?:但是?|而)(?=[^不勿禁忌慎其它这应须需要可能只仅有会])",
    re.IGNORECASE,
)
_BARE = re.compile(r"\b(?:is|are|was|were|the|an?|yes|and)\b|[是为\W_]|的", re.IGNORECASE)


@lru_cache(maxsize=1)
def words_around() -> dict[str, list[str]]:
    """The lines of claims.txt by their headings."""
    text = resources.files("kgmed.steps").joinpath("claims.txt").read_text(encoding="utf-8")
    parts = re.findall(r"^\[([^\]]+)\]\n(.*?)(?=^\[[a-z_ ]+\]$|\Z)", text, re.MULTILINE | re.DOTALL)
    return {heading: [x for x in body.splitlines() if x and not x.startswith("# ")] for heading, body in parts}


@lru_cache(maxsize=1)
def _all_cues() -> tuple[Cue, ...]:
    """The cues, and those of the thesaurus, whose headings name roles (and "had": any of `HAD`)."""
    found = []
    for heading, lines in words_around().items():
        names = heading.split()
        if names[-1] not in ("english", "chinese"):
            roles = [role for n in names if n not in ("loose", "warned", "had", "whole") for role in (Role(n),)]
            roles += [*(HAD if "had" in names else ()), *(WARNED if "warned" in names else ())]
            agent = "whole" if "whole" in names else ""
            found.append(_cue("|".join(lines), *roles, agent=agent, loose="loose" in names))
    return (*_CUES, *found)


def is_bare(words: str) -> bool:
    """Whether words between two things say no more than that they go together: "A: B", "A is B", A是B.

    >>> is_bare(" … : … "), is_bare("the … is … "), is_bare(" … tends to … ")
    (True, True, False)
    """
    return not _BARE.sub("", words)


def cues(text: str) -> list[tuple[int, int, Cue]]:
    """The words of a text that claim something, with their places; of those that overlap the longest."""
    found = [(m.start(), m.end(), cue) for cue in _all_cues() for m in cue.words.finditer(text)]
    kept: list[tuple[int, int, Cue]] = []
    for start, end, cue in sorted(found, key=lambda row: (row[0], -row[1])):
        if kept and start < kept[-1][1]:
            if end - start > kept[-1][1] - kept[-1][0]:
                kept[-1] = (start, end, cue)
            continue
        kept.append((start, end, cue))
    return kept


# --- Claims.


@dataclass(frozen=True, slots=True)
class Spot:
    """A place of a sentence, and the entities or texts that it may name."""

    start: int
    end: int
    entities: tuple[Entity, ...]

    @property
    def name(self) -> str:
        """The name of the first."""
        return self.entities[0].name


@dataclass(frozen=True, slots=True)
class ClaimedPair:
    """What a sentence claims of two places in it."""

    left: Spot
    right: Spot
    roles: frozenset[Role] = frozenset()  # any of them; none = its words do not tell
    words: str = ""  # those that claim it
    agent: str = ""  # first, last, whole
    denied: bool = False
    warns: bool = False  # that something must not be used, or with care


@dataclass(frozen=True, slots=True)
class Reading:
    """What a sentence says: its claims, the items of its lists that name no entity known, and its other words."""

    claims: tuple[ClaimedPair, ...]
    unknown: tuple[str, ...] = ()
    rest: str = ""


@dataclass(slots=True)
class _SideBySide:
    spots: list[Spot]
    before: list[str] = field(default_factory=list)  # what parts each from the one before

    @property
    def start(self) -> int:
        return self.spots[0].start

    @property
    def end(self) -> int:
        return self.spots[-1].end


_AND = (
    r"(?:\band/or\b|\band\b|\bor\b|\bas well as\b|\bplus\b|\balso\b|\bboth\b"
    r"|以及|还有|或者|或(?!许)|(?<![饱温缓])和(?!缓)|(?<![参给])与|(?<![累波涉普以])及(?!时)|跟(?!骨)|并(?![非发未不]))"
)
_JOINT = re.compile(rf"\s*(?:[,，、/&+;；]|{_AND}|\b(?:the|an?|its|of)\b|\s)*\s*", re.IGNORECASE)
_PART = re.compile(
    r"[,，;；、]|\b(?:and/or|and|or|as well as|plus|also|both)\b|以及|还有|并(?![非发未不])"
    r"|\b(?:but|while|whereas|although|though|however|yet)\b|但是?|而且?|却|同时(?![服使用吃])|另外|此外|[()（）]",
    re.IGNORECASE,
)
_WITH = re.compile(r"\b(?:with|by)\b", re.IGNORECASE)
_THERE = re.compile(
    r"\s*(?:there|it|what|how|when|which|why|where)\b.{0,12}? (?:is|are|was|were|do|does|can)\b", re.IGNORECASE
)
_THEN = re.compile(
    r"^\s*(?:(?:之后|以后|后)(?:(?:有|也|就)?可能|容易|[^，,；;]{0,3}出现)|(?:之后|以后|后)?(?:可能|往往|有时|容易|就|也|不|并)*会)"
)
_VERB = re.compile(
    r"\b(?:is|are|was|were|be|ha(?:s|ve|d)|do|does|did|can|could|may|might|should|must|will|shows?|includes?|presents?"
    r"|causes?|treats?|leads?|results?|belongs?|interacts?|contains?|develops?|relieves?|cures?|induces?|manifests?"
    r"|occurs?|needs?|requires?|prevents?|excludes?|lacks?|features?|comprises?)\b",
    re.IGNORECASE,
)
_ITEM = re.compile(rf"[,，、;；/]|{_AND}", re.IGNORECASE)


def read(text: str, spots: Sequence[Spot]) -> Reading:
    """What a sentence says of the places in it, in their order and without overlap."""
    groups, unknown = _grouped(text, spots)
    groups = _parted(text, groups)
    mutual = {i: said for i, group in enumerate(groups) if (said := _mutual(text, groups, i)) and len(group.spots) > 1}
    claims = [
        replace(said, left=groups[i].spots[0], right=s) for i, said in mutual.items() for s in groups[i].spots[1:]
    ]
    claims += _claims(text, groups, frozenset(mutual)) if len(groups) > 1 else ()
    if groups:
        tail = [_last_words(item) for item in _ITEM.split(text[groups[-1].end :])]
        unknown += tail[1:] if len(groups) > 1 else tail
    return Reading(tuple(claims), tuple(unknown), _between(text, spots))


def _parted(text: str, groups: list[_SideBySide]) -> list[_SideBySide]:
    """The groups, one of them two where its end is a clause of its own: "A has B, C and D interact"."""
    found: list[_SideBySide] = []
    for i, group in enumerate(groups):
        commas = [k for k, gap in enumerate(group.before) if k and gap.strip() in (",", "，", ", and")]
        if commas and commas[-1] < len(group.spots) - 1 and _said("", "", _tail(text, groups, i)).roles & _MUTUAL:
            at = commas[-1]
            found.append(_SideBySide(group.spots[:at], group.before[:at]))
            group = _SideBySide(group.spots[at:], group.before[at:])
        found.append(group)
    return found


def _between(text: str, spots: Sequence[Spot]) -> str:
    """The text without the places."""
    edges = [0, *(edge for s in spots for edge in (s.start, s.end)), len(text)]
    return " ".join(text[a:b] for a, b in zip(edges[::2], edges[1::2], strict=True))


def _grouped(text: str, spots: Sequence[Spot]) -> tuple[list[_SideBySide], list[str]]:
    """The places in groups, and the items of their lists that are no place."""
    groups: list[_SideBySide] = []
    unknown: list[str] = []
    for spot in spots:
        gap = text[groups[-1].end : spot.start] if groups else ""
        items = _items(gap)
        if groups and gap and _JOINT.fullmatch(gap) and not _introduced(text, groups[-1], gap):
            groups[-1].spots.append(spot)
            groups[-1].before.append(gap)
        elif groups and len(items) > 2 and not items[0].strip() and not items[-1].strip() and not _claims_any(gap):
            unknown += [item for item in items[1:-1] if item.strip()]
            groups[-1].spots.append(spot)
            groups[-1].before.append(gap)
        else:
            groups.append(_SideBySide([spot], [gap]))
            unknown += _listed(gap)
    return groups, unknown


def _last_words(item: str) -> str:
    """What stands behind the last words that claim something, if nothing is denied."""
    ends = [end for _, end, _ in cues(item)] + [m.end() for m in vocabulary.listed("links of a claim").finditer(item)]
    return "" if vocabulary.listed("denials in a claim").search(item) else item[max(ends, default=0) :]


def _listed(gap: str) -> list[str]:
    """The items of a list that begins before a place: "starts with X, " before Y."""
    if not (parts := list(_ITEM.finditer(gap))) or gap[parts[-1].end() :].strip():
        return []
    ends = [end for _, end, _ in cues(gap)] + [m.end() for m in vocabulary.listed("links of a claim").finditer(gap)]
    return [item for item in _items(gap[max(ends, default=len(gap)) :]) if item.strip()]


_INTRO = re.compile(
    r"(?:^|[,;，；.。]|\band\b)\s*(?:in|for|among|with|regarding|about|对于?|在)\b"
    r"(?:\s*[\d.]+ ?(?:%|percent|out of (?:every )?\d+))?"
    r"(?: (?:of|patients?|people|individuals|cases|the|those|children|adults|with))*\s*$"
    r"|(?:^|[,;，；.。])\s*(?:对于?|在)\s*$",
    re.IGNORECASE,
)


def _introduced(text: str, group: _SideBySide, gap: str) -> bool:
    """Whether a comma ends an introduction: "In gout, fever ..."."""
    return len(group.spots) == 1 and gap.strip() in (",", "，") and bool(_INTRO.search(text[: group.start]))


def _items(gap: str) -> list[str]:
    """The pieces of a list; what claims something is no item."""
    return [
        item
        if not any(c.words.search(item) for c in _all_cues())
        and not vocabulary.listed("denials in a claim").search(item)
        else ""
        for item in _ITEM.split(gap)
    ]


def _claims_any(text: str) -> bool:
    """Whether words of a text claim something."""
    return vocabulary.listed("links of a claim").search(text) is not None or any(
        cue.words.search(text) for cue in _all_cues()
    )


def says_something(text: str) -> bool:
    """Whether words claim anything: they have a verb, a number, or words that claim a relation.

    >>> says_something("For pain"), says_something("Paracetamol is listed for pain"), says_something("对于疼痛")
    (False, True, False)
    """
    return bool(_VERB.search(text) or cues(text) or re.search(r"\d", text))


def _claims_much(text: str) -> bool:
    """Whether words of a text claim one relation and no other."""
    return any(not cue.loose for _, _, cue in cues(text))


_MUTUAL = frozenset({Role.INTERACTS, Role.DIFFERENTIAL, Role.ASSOCIATED})


def _mutual(text: str, groups: Sequence[_SideBySide], i: int) -> ClaimedPair | None:
    """What is claimed within a group: "A and B interact"; None = nothing."""
    parts = re.split("[,，;；。]", text[groups[i - 1].end if i else 0 : groups[i].start])
    if i and len(parts) == 1:
        return None  # the objects of a verb
    lead = parts[-1]
    said = _said(lead, "", _tail(text, groups, i))
    return said if said.roles & _MUTUAL else None


def _claims(text: str, groups: list[_SideBySide], mutual: frozenset[int]) -> Iterator[ClaimedPair]:
    """The claims of the groups, clause by clause."""
    topic, lead, said = groups[0], text[: groups[0].start], ClaimedPair(groups[0].spots[0], groups[0].spots[0])
    about = [*topic.spots]
    previous: list[ClaimedPair] = []
    for i, group in enumerate(groups[1:], start=1):
        check_stop()
        gap = text[groups[i - 1].end : group.start]
        tail = _tail(text, groups, i)
        parts = list(_PART.finditer(gap))
        before, after = (gap[: parts[0].start()], gap[parts[-1].end() :]) if parts else (gap, "")
        cut = gap[parts[-1].start() :] if parts else ""
        if not parts and i > 1 and len(groups[i - 1].spots) > 1 and previous and _claims_any(gap) and about:
            about = [groups[i - 1].spots[-1]]  # "A treats B and C has D"
            previous = [p for p in previous if p.right is not about[0]]
            lead = ""
        elif i == 1 and _introduced(text, topic, gap):
            said = _said("", "", tail)
            previous = [replace(said, left=a, right=b) for a in about for b in group.spots]
            continue
        elif i in mutual or (parts and _begins(text, groups, i, after)):
            yield from previous
            if i not in mutual and len(group.spots) > 1 and _claims_any(after):  # "and causes B, C has D"
                made = _said(lead, after, "")
                yield from (replace(made, left=a, right=b) for a in about for b in group.spots[:-1])
                previous, about, lead = [], [group.spots[-1]], ""
            else:
                previous, about, lead = [], [*group.spots], after
            continue
        made = _said(lead, gap if not parts else after, tail)
        if parts and not _claims_any(_WITH.sub(" ", after)):  # goes on with the list: "..., not in B"
            base = made if not previous and i == 1 else said
            if i == 1 or not previous:
                base = _said(lead, before, tail)
            denied = (
                _denied(cut) if vocabulary.listed("turns of a sentence").search(cut) or _denied(cut) else base.denied
            )
            made = replace(base, denied=denied)
        said = made
        yield from previous
        previous = [replace(made, left=a, right=b) for a in about for b in group.spots]
    yield from previous


_NOWHERE = Spot(0, 0, (Entity("", ""),))


def _tail(text: str, groups: Sequence[_SideBySide], i: int) -> str:
    """What stands behind a group, up to the next group's clause."""
    if i + 1 < len(groups):
        gap = text[groups[i].end : groups[i + 1].start]
        part = _PART.search(gap)
        return gap[: part.start()] if part else ""
    tail = text[groups[i].end :]
    rest = _REST.search(tail)
    return tail[: rest.start()] if rest else tail


def _begins(text: str, groups: Sequence[_SideBySide], i: int, before: str) -> bool:
    """Whether a clause begins with a group: a verb stands behind it, before any comma, and none before it."""
    if _THERE.match(before):
        return True
    strict = not before.isascii() and _claims_much(before)
    if i + 1 >= len(groups) or _VERB.search(before) or (strict and len(groups[i].spots) == 1):
        return False
    gap = text[groups[i].end : groups[i + 1].start]
    if gap.lstrip()[:1] in (",", "，") and _INTRO.search(text[: groups[i].start]):
        return True
    part = _PART.search(gap)
    gap = gap[: part.start()] if part else gap
    return _VERB.search(gap) is not None or (_claims_any(gap) if not gap.isascii() else _claims_much(gap))


def _said(lead: str, gap: str, tail: str) -> ClaimedPair:
    """What words before, between and behind two places claim of them: those between them, where they claim anything."""
    whole, around = f"{lead} … {gap} … {tail}", f"{lead} … {tail}"
    between, beside = [cue for _, _, cue in cues(gap)], [cue for _, _, cue in cues(around)]
    denied = _denied(whole)
    if any(cue.roles == WARNED for cue in (*between, *beside)):
        both = any(Role.INTERACTS in cue.roles for cue in (*between, *beside))  # not to be taken together
        return ClaimedPair(
            _NOWHERE, _NOWHERE, WARNED | {Role.INTERACTS} if both else WARNED, whole, "", denied, warns=True
        )
    strict = [cue for cue in between if not cue.loose] or [cue for cue in beside if not cue.loose]
    if narrow := {
        role for cue in beside if not cue.loose for role in cue.roles
    }:  # "a faulty copy of B gives rise to A"
        strict = [replace(cue, roles=cue.roles & narrow) for cue in strict if cue.roles & narrow] or strict
    found = strict or between or beside
    if found and found is beside and _THEN.search(gap):  # 吃了A会B
        return ClaimedPair(_NOWHERE, _NOWHERE, _AFTER, whole, "", denied)
    if not found:
        return ClaimedPair(
            _NOWHERE,
            _NOWHERE,
            HAD if vocabulary.listed("words of having").search(gap) else frozenset(),
            whole,
            "",
            denied,
        )
    bare = not strict and not vocabulary.listed("what has a finding").search(lead + gap)
    agents = {cue.agent for cue in between if cue.agent and (cue.agent != "whole" or bare)}
    return ClaimedPair(_NOWHERE, _NOWHERE, _common([cue.roles for cue in found]), whole, "".join(agents)
                if len(agents) == 1 else "", denied)  # fmt: skip


def _common(roles: Sequence[frozenset[Role]]) -> frozenset[Role]:
    """The roles that all of several cues claim, else those that any does."""
    both = roles[0].intersection(*roles[1:])
    return both or roles[0].union(*roles[1:])


def _denied(words: str) -> bool:
    """Whether words deny what they claim; what only warns denies nothing."""
    plain = _NOT_REALLY.sub(" ", words)
    for start, end, cue in cues(plain):
        if cue.roles == WARNED or cue.roles == {Role.ADVERSE}:
            plain = plain[:start] + "x" * (end - start) + plain[end:]
    return vocabulary.listed("denials in a claim").search(plain) is not None
