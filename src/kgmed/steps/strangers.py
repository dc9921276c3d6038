"""The names that a question asks about and no graph has: of these nothing is said, whatever else it names."""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from kgmed.graph.base import LocalGraph
from kgmed.graph.vocabulary import is_spoken
from kgmed.language.pair import is_yes_no
from kgmed.language.particulars import circumstances_of
from kgmed.language.question import asks_at, words_that_ask
from kgmed.language.text import has_cjk, lazily
from kgmed.pipeline import Recognizer
from kgmed.records import Link, Mention, Query
from kgmed.steps.family import MEDICINES

_BEFORE = lazily(  # what stands before the name of something that is taken, had or asked about
    r"(?:\b(?:take|taking|taken|use|using|uses|with|and|given|give|giving|plus|add|combine|combining|mix|mixing|on|of"
    r"|between|does|do|can|is|are|about|drink|drinking)\s+(?:(?:my|an?|the|some|any|both)\s+)?|[\"“‘'「])$"
    r"|(?:吃|服|服用|用|和|跟|与|同|加|喝|打|得了?|患|“|「|关于)$",
    re.IGNORECASE,
)
_AFTER = lazily(
    r"^(?:\s+(?:and|with|safe|interact|cause|causes|treat|treats|cure|cures|help|helps|side|lead|tablets?|capsules?|be"
    r"|dose|dosage|syndrome|disease|fever|sign)\b)"
    r"|^(?:和|跟|与|同|能|可以|会|是|治|的|有|对|一天|怎么|引起|导致|病|症|综合征|片|胶囊|颗粒)",
    re.IGNORECASE,
)
_STEMS = (  # ends of the Chinese names of substances
    "霉素|沙星|西林|他汀|洛尔|普利|沙坦|地平|拉唑|替尼|单抗|鲁肽|列汀|列净|洛韦|那韦|福韦|昔布|司琼|唑仑|西泮|沙班|曲坦|环素|硝唑|康唑|洛芬|西汀|替丁"
)
_LIKE_A_MEDICINE = lazily(rf"(?:片|胶囊|颗粒|丸|注射液|口服液|糖浆|{_STEMS})$")
_NEAR = 60  # characters before and behind a name that are looked at: more than the longest pattern above has
_QUOTES = "\"“‘'「"  # before a name; a mark behind it may open what comes next
_LIKE_A_NAME = lazily(
    r"(?:itis|osis|emia|aemia|oma|pathy|plasia|trophy|mab|nib|pril|sartan|statin|olol|azole|cillin|mycin|cycline|vir"
    r"|tide|gliptin|gliflozin|prazole|parin|caine|dipine|setron|triptan|lukast|zepam|zolam|oxetine|floxacin|profen)\b"
    r"|\b(?:syndrome|disease|disorder|fever)\b"
    rf"|(?:病|症|炎|综合征|片|胶囊|颗粒|丸|注射液|口服液|{_STEMS})$",
    re.IGNORECASE,
)
_PLAIN = frozenset(
    """
    genetic genetics early warning typical common usual register hospital hospitals chinese english british american
    nobody somebody everybody
    western mutated faulty defective responsible clinical key main principal classic classical cardinal
    link relation interaction doctor doctors people person patient patients day days week weeks month months year years
    night morning time times food meal water pain disease diseases condition medicine medication drug drugs pill pills
    tablet tablets treatment dose adult adults child children baby pregnant pregnancy breastfeeding woman women man men
    elderly alcohol someone somebody anyone anybody everyone toddler toddlers teenager teenagers wife husband
    scared afraid worried frightened terrified desperate confused embarrassed concerned normal dangerous serious funny
    safe safely together kids kid mother mom dad father son daughter body risk raise cause
    """.split()  # noqa: SIM905
)


def strangers(text: str, missed: Sequence[Mention], links: Sequence[Link]) -> list[str]:
    """The names that a question asks about and nothing was linked to, as they stand in it.

    >>> strangers("Can I take Zolvenprax with ibuprofen?", [Mention("Zolvenprax", "Zolvenprax", 11, 21)], [])
    ['Zolvenprax']
    """
    linked = {link.mention.start for link in links}
    ends = {link.mention.end for link in links if link.entity.kind not in MEDICINES}
    rest = [m for m in missed if not (has_cjk(m.surface) and m.start in ends and len(m.surface) <= _MANNER)]
    found = [name for m in rest if 0 <= m.start < m.end for name in _named(text, m, linked)]
    return list(dict.fromkeys(found))


_A_CLAUSE = lazily(r"\b(?:is|are|was|were|be|has|have|had)\b", re.IGNORECASE)  # no name has a verb in it


def _is_new(text: str, mention: Mention, word: str) -> bool:
    """Whether a word of a mention is none of the words of the question: no name is "warning signs"."""
    at = text.find(word, mention.start)
    return not any(at < end and start < at + len(word) for start, end in words_that_ask(text))


_SAID = lazily(
    r"[说讲里家只都也就还被把让给谁哪么呢吧啊我你他她咱]|奶奶|爷爷|医生|英语|英文|天天|整天|最近|身上|大人|娃|起来|出来|下来|上来|下去|发作"
)  # in no name


def called_after(text: str) -> list[str]:
    """The Chinese names of illnesses and signs that are called after a person: 塞林格氏关节病.

    >>> called_after("我婆婆得了塞林格氏关节病，怎么治疗最好")
    ['塞林格氏关节病']
    """
    found = [m[1] for m in _AFTER_ONE.finditer(text)] if "氏" in text else []
    return [_BEFORE_ONE.sub("", name) for name in found]


def in_part(text: str, links: Sequence[Link]) -> list[str]:
    """The Chinese names of which a part alone was linked: 雷诺病 of 特雷诺病, 反流 of what 骨泽反流症 is.

    >>> from kgmed.records import Entity
    >>> link = Link(Mention("雷诺病", "雷诺病", 1, 4), Entity("1", "雷诺病", "disease"), 1.0, "exact")
    >>> in_part("特雷诺病怎么遗传", [link]), in_part("得雷诺病会遗传吗", [link])
    (['特雷诺病'], [])
    """
    found = []
    for m in (link.mention for link in links if link.mention.start > 0 and has_cjk(link.mention.surface)):
        begin = m.start
        while begin and text[begin - 1] in _SOUNDS:
            begin -= 1
        if begin < m.start and len(m.surface) > 2 and all(c in _SOUNDS for c in m.surface[:2]):
            found.append(text[begin : m.end])
    for m in (link.mention for link in links if link.mention.start > 0 and "-" in text):
        person = _PERSONS.search(text[: m.start])
        found += [person[1] + m.surface] if person and not any(_covers(x, person.start(1)) for x in links) else []
    for m in (link.mention for link in links if link.mention.start > 1 and _HEAD.fullmatch(link.mention.surface)):
        before = _BEFORE_HEAD.search(text[: m.start])
        if before and not _SAID.search(before[1]):
            found.append(before[1] + m.surface)
    if has_cjk(text) and (what := _WHAT_IS.match(text)):
        inside = [x.mention for x in links if what.start(1) <= x.mention.start and x.mention.end <= what.end(1)]
        longest = max((m.end - m.start for m in inside), default=len(what[1]))
        found += [what[1]] if _LIKE_A_NAME.search(what[1]) and longest < _MOST_OF * len(what[1]) else []
    return found


def _covers(link: Link, place: int) -> bool:
    return link.mention.start <= place < link.mention.end


_PERSONS = lazily(r"\b([A-Z][a-z]+(?:-[A-Z][a-z]+)+(?:['’]s)? )$")  # Kessler-Bluhm fever is no fever
_AFTER_ONE = lazily(r"([一-鿿]{2,12}氏[一-鿿]{0,5}?(?:病|征|症|综合征|炎|瘤|热|体|试验))")
_BEFORE_ONE = lazily("^.*(?:得了?|患有?|是|叫做?|诊断为?|怀疑|有|的|什么|关于|查出)(?=.{2,}氏)")
_WHAT_IS = lazily(
    r"\W*(?:请问)?(?:什么是|什么叫|啥是|啥叫|何谓)[“‘'\"「]?([一-鿿—\-·]{3,16}?)[”’'\"」]?(?:呢|呀|啊|吗)?\W*$"
)
_HEAD = lazily(
    "病毒感染|细菌感染|杆菌感染|真菌感染|综合征|综合症|关节病|血管病|血液病|神经病|肌病|肾病|肝病|肺病|眼病|皮肤病"
)
_BEFORE_HEAD = lazily("(?:^|[得患是查染上有了和与、，。的为成])([一-鿿]{2,5})$")
_MOST_OF = 0.6  # ours: of a name that is asked about, the share that a part of it must have to be it
_SOUNDS = frozenset(  # the signs by which names of other languages are written
    "阿埃艾奥巴贝比伯布查达戴丹德迪蒂杜厄恩尔法菲费弗福盖戈格哈海赫亨霍基吉加杰卡凯科克拉莱兰朗劳勒雷里利林卢鲁罗洛马迈麦曼梅蒙米莫穆纳内尼诺"
    "欧帕佩皮普奇乔琼萨塞桑沙舍史斯苏索塔泰汤特提廷托瓦万威韦维温沃乌西希谢休雅扬耶叶伊因尤约泽扎詹兹"
)


def is_like_a_medicine(name: str) -> bool:
    """Whether a Chinese name ends as those of medicines do.

    >>> is_like_a_medicine("多司他韦胶囊"), is_like_a_medicine("胸口")
    (True, False)
    """
    return bool(_LIKE_A_MEDICINE.search(name))


def is_a_place(text: str, name: str) -> bool:
    """Whether a name says where something is, and is not what is asked about: of malaria in Kenya it is malaria.

    >>> asked = "How is malaria prevented in Kenya?", "Is quinine used in Kenya syndrome?", "quinine with Kenya"
    >>> [is_a_place(text, "Kenya") for text in asked]
    [True, False, False]
    """
    at = text.find(name)
    proper = bool(name) and name.isascii() and all(w[0].isupper() for w in re.findall(r"\w+", name))
    if at < 0 or not proper or _LIKE_A_NAME.search(name) or is_yes_no(text):
        return False
    return bool(_WHERE.search(text[max(0, at - _NEAR) : at]) and _THERE.match(text[at + len(name) :]))


_WHERE = lazily(
    r"\b(?:in|to|from|at|near|around|across|throughout|visiting|leaving)\s+(?:the\s+)?(?:\w+ (?:of|and)\s+)?$",
    re.IGNORECASE,
)
_THERE = lazily(
    r"\W*$|\s*[,.;:?!]|\s+(?:and|or|for|this|next|last|when|while|if|with|in|on|before|after|during|now|today|soon)\b",
    re.IGNORECASE,
)


def _named(text: str, mention: Mention, linked: Collection[int]) -> Iterator[str]:
    """The mention, if it is a name that is asked about; `linked` = where those begin that the graph has."""
    surface = text[mention.start : mention.end]
    said = text[max(0, mention.start - _NEAR) : mention.start]
    before, after = _BEFORE.search(said), _AFTER.match(text[mention.end : mention.end + _NEAR])
    if has_cjk(surface):
        beside = mention.end in linked
        quoted = text[mention.start - 1 : mention.start] in _QUOTES if mention.start else False
        between = bool((before or after) if len(surface) > 2 or quoted else (before and after))
        between = between and not any(a < mention.end and mention.start < b for a, b in words_that_ask(text))
        if (len(surface) > 2 and _LIKE_A_NAME.search(surface)) or (
            between and not beside and not _SAID.search(surface)
        ):
            yield surface
        return
    words = [w for w in re.findall(r"[A-Za-z][\w'’-]*", surface) if w.casefold() not in _PLAIN]
    if not words or _A_CLAUSE.search(surface) or not any(_is_new(text, mention, w) for w in words):
        return
    inner = mention.start > 0 and not said.rstrip().endswith((".", "!", "?"))
    proper = any(w[0].isupper() and len(w) > 2 for w in (words if inner else words[1:]))
    long = max(map(len, words)) >= 6
    if proper or (long and (before or after)) or (len(words) == 1 and _LIKE_A_NAME.search(surface)):
        yield surface


@dataclass(frozen=True)
class Strangers:
    """What was recognised in a question and is in no graph."""

    graph: LocalGraph
    recognize: Recognizer | None = None  # as the pipeline's; None = nothing is looked for

    def missed(self, query: Query, links: Sequence[Link]) -> list[Mention]:
        """What was recognised and not linked."""
        linked = {(link.mention.start, link.mention.surface) for link in links}
        found = self.recognize(query) if self.recognize else []
        return [m for m in found if (m.start, m.surface) not in linked]

    def asked(self, query: Query, links: Sequence[Link], *, patient: bool, silent: bool) -> list[str]:
        """The names that are asked about; of what a `patient` tells, and where nothing is asked, only medicines are."""
        if self.recognize is None:
            return []
        missed = [m for m in self.missed(query, links) if not NO_THING.match(m.name)]
        other = [m.surface for m in missed if m.start >= 0 and self._holds_a_medicine(m.surface)]
        if patient or silent:
            asked = [m.surface for m in missed if m.start >= 0 and asks_at(query.text, m.start)]
            return [name for name in asked if name in other or is_like_a_medicine(name)]
        names = [name for name in strangers(query.text, missed, links) if not self._is_told(name)]
        names = [name for name in names if not (links and is_a_place(query.text, name))]
        return [name for name in [*other, *names] if not circumstances_of(name)]

    def longer(self, text: str, links: Sequence[Link]) -> list[str]:
        """The names that go on beyond what was linked."""
        persons = (n for n in called_after(text) if not any(n in x.mention.surface for x in links))
        return [n for n in (*persons, *in_part(text, links)) if not self.graph.lookup(n)]

    def _is_told(self, name: str) -> bool:
        """Whether a name is made of words in which the graph describes things: "register", "both healthy"."""
        words = [w for w in re.findall(r"[A-Za-z]+", name) if len(w) > _SHORTEST]
        return bool(words) and name == name.casefold() and all(is_spoken(self.graph, w) for w in words)

    def _holds_a_medicine(self, name: str) -> bool:
        """Whether a Chinese name that no graph has holds that of a medicine: it is another (甲基地高辛胺)."""
        cuts = range(len(name) + 1) if has_cjk(name) and len(name) <= _LONGEST else ()
        pieces = (name[a:b] for a in cuts for b in cuts if b - a >= _SHORTEST)
        return any(m.entity.kind in MEDICINES for piece in pieces for m in self.graph.lookup(piece)[:1])


_MANNER = 3  # characters of what is said of an illness right behind its name: 小三阳 of 乙肝小三阳
_SHORTEST, _LONGEST = 3, 16  # characters of a medicine's name in a longer one, and of that
NO_THING = lazily(  # adjectives and stages that a graph has as entries: 细菌性 of 细菌性感冒, 急性发作 of 痛风急性发作
    r"(?:(?![男女两阴阳])[一-鿿]{1,2}性|(?:急性|慢性|反复)?(?:发作|加重)期?|急性|慢性|[早中晚]期|恢复期|稳定期|缓解期|不利)$"
)
