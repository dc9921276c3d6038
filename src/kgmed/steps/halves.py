"""Verdicts on questions of which one half alone is in the graph: what no graph names is told as it stands."""

import re
from collections.abc import Sequence
from dataclasses import replace

from kgmed.graph.base import LocalGraph, Scope
from kgmed.graph.joining import is_abbreviation
from kgmed.language.pair import PairType, is_yes_no, other_side, pairs_asked
from kgmed.language.particulars import is_of_an_animal
from kgmed.language.question import asking_part, texts_asked
from kgmed.language.text import has_cjk, lazily
from kgmed.language.types import QuestionType
from kgmed.records import Entity, Evidence, Link, Query, Relation, Role, Triple
from kgmed.steps.brief import YES_OR_NO
from kgmed.steps.family import Family, names_of
from kgmed.steps.pairs import VERDICT
from kgmed.steps.phrase import affirmed, joined, language_of, named, sentence, verdict, worded


def stated(links: Sequence[Link]) -> list[Entity]:
    """The entities that a question names and does not deny, each once; people only where it names nothing else."""
    told = list(dict.fromkeys(link.entity for link in links if not link.mention.negated))
    return [entity for entity in told if entity.kind != "population"] or told


def lacks(which: str, query: Query, name: str, row: QuestionType | None = None) -> Evidence:
    """The verdict that the graph does not have a name, or of a thing what is asked."""
    language = language_of(query.text)
    thing, what = name or ("this", "此项")[language], row.says[language] if row else ""
    what = what if language else what[:1].lower() + what[1:]
    return Evidence(verdict(which, language, (), thing, what), VERDICT, (), (), 1.0, which)


def at_once(graph: LocalGraph, query: Query, links: Sequence[Link]) -> list[Evidence]:
    """What is all that is said of some questions: nothing of animals, a code, that two names are of one thing."""
    return animals(query) or codes(graph, query, links) or one_thing(graph, query, links) or abroad(graph, query, links)


def animals(query: Query) -> list[Evidence]:
    """That nothing is said of animals, where one is asked about."""
    name = ("animals", "动物")[language_of(query.text)]
    return [lacks("lacking", query, name, _ILLNESS)] if is_of_an_animal(query.text) else []


def half_known(graph: LocalGraph, query: Query, links: Sequence[Link], pair: PairType | None) -> list[Evidence]:
    """That nothing ties what is named to the other thing of a yes or no question, which no graph names."""
    things = [link for link in links if not link.mention.negated]
    if not pair or pair.name not in _OF_EFFECTS or len(stated(links)) != 1 or not is_yes_no(query.text):
        return []
    if texts_asked(query.text):
        return []
    places = tuple((link.mention.start, link.mention.end) for link in things if link.mention.start >= 0)
    other = other_side(query.text, pair, places)
    if not other:
        return []
    if said := _among_its_own(graph, query, things[0], other, pair):
        return [said]
    language, thing = language_of(query.text), things[0]
    two = (named(thing.entity, language), other)
    two = two if query.text.find(other) > thing.mention.start else two[::-1]
    return [Evidence(verdict("none", language, (), *two), VERDICT, (), (thing.entity,), 1.0, "none")]


def _among_its_own(graph: LocalGraph, query: Query, thing: Link, other: str, pair: PairType) -> Evidence | None:
    """Yes to a thing of which no graph has a name but among what the other has: chocolate, a risk of migraine."""
    wanted, roles = {_stem(w) for w in other.split()}, {role for role, _ in pair.roles} or {Role.RISK, Role.CAUSE}
    roles |= {Role.RISK, Role.CAUSE} if Role.CAUSE in roles or Role.RISK in roles else set()
    language, found = language_of(query.text), []
    for entity in Family(graph).twins(thing):
        for t in graph.neighbours(entity.id, limit=_ALL, roles=tuple(roles)):
            end = t.tail if t.head == entity else t.head
            if wanted <= {_stem(w) for w in re.findall(r"[a-z]+", worded(end.name, language).casefold())}:
                found.append(t)
    if not found:
        return None
    said = affirmed(pair.yes[language], language, [sentence(t, language) for t in found[:2]])
    return Evidence(said, VERDICT, tuple(found[:2]), (thing.entity,), 1.0, "yes")


def _stem(word: str) -> str:
    return word.casefold().removesuffix("s")


def vaccines(graph: LocalGraph, query: Query, links: Sequence[Link]) -> list[Evidence]:
    """Whether there is a vaccine for what is named, if that is asked: among what treats and prevents it."""
    if not _IS_THERE.search(query.text) or not _VACCINE.search(asking_part(query.text)) or not is_yes_no(query.text):
        return []
    mine = [link for link in links if not link.mention.negated and not _VACCINE.search(link.mention.surface)]
    if len(stated(mine)) != 1:
        return []
    twins = [e for link in mine for e in Family(graph).twins(link)]
    near = (t for e in twins for t in graph.neighbours(e.id, limit=_ALL, roles=(Role.PREVENTION, Role.TREATS)))
    known = list(dict.fromkeys(t for t in near if _A_VACCINE.search(f"{t.head.name} {t.tail.name}")))[:2]
    language = language_of(query.text)
    if not known:
        return [lacks("lacking", query, stated(mine)[0].name, _NO_VACCINE)]
    said = affirmed(("Yes", "有")[language], language, [sentence(t, language) for t in known])
    return [Evidence(said, VERDICT, tuple(known), (twins[0],), 1.0, "yes")]


def codes(graph: LocalGraph, query: Query, links: Sequence[Link]) -> list[Evidence]:
    """The codes of what is named in the system that is asked for (ICD-10, OMIM, ...), from the names of its entries."""
    asked = _CODE.search(query.text)
    if not asked:
        return []
    system, language = _bare(asked["one"] or asked["other"]), language_of(query.text)
    system = {"ICD": "ICD10"}.get(system, system)
    things = [link for link in links if not link.mention.negated and _bare(link.mention.surface) not in _SYSTEMS]
    called = "ICD-10" if system == "ICD10" else system
    row = replace(_NO_CODE, says=(f"Code in {called}", f"{called}编码"))
    if not things:
        return [lacks("lacking", query, "", row)]
    entities = [m.entity for x in things for n in (x.mention.name, x.entity.name) for m in graph.lookup(n)]
    entities += [e for x in things for e in Family(graph).twins(x)]
    written = getattr(graph, "aliases", None)
    found: dict[str, Triple] = {}
    for e in dict.fromkeys(entities):
        for name in (e.id, *(text for text, _ in (written(graph.number(e.id)) if written else ()))):
            of, _, code = name.partition(":")
            if _bare(of) == system and not _RANGE.search(code):
                found.setdefault(code, Triple(e, Relation(f"{called} code"), Entity("", code)))
    if not found:
        return [lacks("lacking", query, named(things[0].entity, language), row)]
    told = list(found)[:_CODES]
    name = named(things[0].entity, language)
    head = (f"Code of {name} in {called}", f"{name}的{called}编码")[language]
    said = affirmed(head, language, [", ".join(told)])
    return [Evidence(said, VERDICT, tuple(found[code] for code in told), (things[0].entity,), 1.0, "yes")]


def _bare(name: str) -> str:
    """Letters and digits alone: ICD10 of icd-10."""
    return re.sub(r"\W|_", "", name).upper()


def abroad(graph: LocalGraph, query: Query, links: Sequence[Link]) -> list[Evidence]:
    """What a thing is called in the other language, where that is asked: 梅尼埃病用英语怎么说."""
    said = query.text.casefold()
    asked = _ABROAD.search(said) if any(word in said for word in _ABROAD_WORDS) else None
    things = stated(links)
    if not asked or len(things) != 1:
        return []
    language, node = language_of(query.text), graph.number(things[0].id)
    chinese = bool(asked["chinese"]) or bool(asked["full"] and language)
    names = [things[0].name, *(text for text, scope in names_of(graph, node) if scope <= Scope.ABBREVIATION)]
    found = [n for n in dict.fromkeys(names) if has_cjk(n) == chinese and (chinese or n.isascii())]
    if asked["short"]:
        found.sort(key=lambda n: not is_abbreviation(n))
    if asked["full"]:
        found = sorted((n for n in found if not is_abbreviation(n)), key=lambda n: n == things[0].name, reverse=True)
    found = found[:_NAMED]
    mine = next((link for link in links if link.entity == things[0]), links[0]).mention.surface
    if not found:
        return [lacks("lacking", query, mine, _NO_NAME)]
    triples = tuple(Triple(things[0], Relation("also called"), Entity("", n)) for n in found)
    head = (("Full name of {}", "{}的全称") if asked["full"] else _CALLED[chinese])[language].format(mine)
    return [Evidence(affirmed(head, language, [", ".join(found)]), VERDICT, triples, (things[0],), 1.0, "yes")]


def one_thing(graph: LocalGraph, query: Query, links: Sequence[Link]) -> list[Evidence]:
    """That two names of a yes or no question are of one thing: Panadol and paracetamol."""
    mine = [link for link in links if not link.mention.negated and link.mention.start >= 0]
    names, language = list(dict.fromkeys(link.mention.surface for link in mine)), language_of(query.text)
    if len(names) != 2 or len(stated(mine)) != 1 or not any(p.name == "same" for p in pairs_asked(query.text)):
        return []
    thing = mine[0].entity
    written = [n for n in names if any(m.entity.id == thing.id for m in graph.lookup(n))]
    triples = tuple(Triple(thing, Relation("also called"), Entity("", n)) for n in written)
    told = (f"{names[0]} and {names[1]} are names of {named(thing, 0)}", f"{names[0]}与{names[1]}是同一物的名称")
    said = affirmed(("Yes", "是")[language], language, [told[language]])
    return [Evidence(said, VERDICT, triples, (thing,), 1.0, "yes")]


def by_the_way_named(found: Sequence[Evidence], query: Query) -> list[Evidence]:
    """What is said of infection where a question names a way of it: the ways that the graph names, and no plain yes.

    That a disease is contagious does not say that it spreads by eating together.
    """
    if not found or not _WAY.search(query.text) or not is_yes_no(query.text):
        return list(found)
    ways, language = [t for e in found for t in e.triples if t.object.name not in YES_OR_NO], language_of(query.text)
    if not ways:
        return [Evidence(_NO_WAY[language], VERDICT, found[0].triples, found[0].about, 1.0, "other")]
    told = joined(list(dict.fromkeys(worded(t.object.name, language) for t in ways)), language)
    said = affirmed(_WAYS[language], language, [told]) + _NOT_THIS_WAY[language]
    return [Evidence(said, VERDICT, tuple(ways), found[0].about, 1.0, "other")]


_WAY = lazily(
    r"吃饭|共餐|聚餐|接吻|亲嘴|握手|拥抱|同床|共用|毛巾|餐具|碗筷|唾液|口水|蚊|马桶|游泳|性生活|同房|说话|咳嗽|喷嚏|接触|喂奶|哺乳|空气"
    r"|\b(?:kiss\w*|shar(?:e|ing)|toilets?|touch\w*|hug\w*|shak(?:e|ing) hands|saliva|mosquito\w*|breast ?feed\w*|sex"
    r"|air|eating|swimming|cough\w*|sneez\w*|towels?|food|water|cups?|handshakes?)\b",
    re.IGNORECASE,
)
_WAYS = ("Ways of infection that the graph names", "图谱所载传播途径")
_NOT_THIS_WAY = (
    " Whether it also spreads in the way that is asked about it does not say.",
    "是否也经所问的途径传播，图谱未说明。",
)
_NO_WAY = (
    "The graph says that it is contagious, and not whether it spreads in the way that is asked about.",
    "图谱只记载有无传染性，未说明是否经所问的途径传播。",
)
_CALLED = (("{} in English", "{}的英文名称"), ("{} in Chinese", "{}的中文名称"))
_ABROAD_WORDS = (
    "english",
    "chinese",
    "abbrev",
    "full ",
    "stand",
    "英",
    "中文",
    "汉语",
    "缩写",
    "全称",
    "全名",
    "学名",
    "正经",
    "正式",
    "医学上",
)
_ABROAD = lazily(
    r"(?:英语|英文)(?:里|中)?(?:名称?|怎么|叫|是|如何|咋)(?!缩写)|\benglish (?:name|word|term|translation)\b"
    r"|\bin english\b"
    r"|(?P<short>英文缩写|(?<!的)缩写(?:是|叫|怎么)|\babbreviat(?:ed|ion)\b)"
    r"|(?P<full>全称|全名|学名|正经名字|正式名|医学上(?:叫|怎么)|\bfull (?:name|form)\b|\bstands? for\b)"
    r"|(?P<chinese>(?:中文|汉语)(?:里|中)?(?:名称?|怎么|叫|是|如何|咋)|\bchinese (?:name|word|term|translation)\b"
    r"|\bin chinese\b)",
    re.IGNORECASE,
)
_NO_NAME = QuestionType("name abroad", r"(?!)", says=("Name in that language", "该语言的名称"))
_SYSTEMS = frozenset({"ICD", "ICD10", "OMIM", "ORPHA", "UMLS", "SNOMEDCTUS", "SNOMED", "HP", "HPO", "MESH", "MONDO"})
_CODE = lazily(
    r"(?<![A-Za-z])(?P<one>ICD(?:[- ]?10)?|OMIM|ORPHA|UMLS|MESH|MONDO)(?![A-Za-z]).{0,20}"
    r"(?:\b(?:code|id|number)s?\b|编码|代码|编号)"
    r"|(?:\b(?:code|id|number)s?\b|编码|代码|编号).{0,60}"
    r"(?<![A-Za-z])(?P<other>ICD(?:[- ]?10)?|OMIM|ORPHA|UMLS|MESH|MONDO)(?![A-Za-z])",
    re.IGNORECASE,
)
_RANGE = re.compile(r"\w-\w")  # of a chapter: E10-E14
_CODES = 6  # ours: codes that are told
_ILLNESS = QuestionType("animal", r"(?!)", says=("Illnesses and their treatment", "疾病与用药"))
_NO_CODE = QuestionType("code", r"(?!)", says=("Code", "编码"))
_OF_EFFECTS = (  # rows of which the other thing may be anything: "caused by eating sugar"
    *("is treated", "is caused", "causes", "cures", "treats", "is prevented", "prevents", "link", "affects"),
    *("is a risk", "is a symptom", "is a side effect", "is a complication", "danger"),
)
_VACCINE = lazily(r"\bvaccin(?:e|es|ation)\b|\bjabs?\b|疫苗", re.IGNORECASE)
_IS_THERE = lazily(r"\b(?:is|are) there\b|\bexist|\bany\b|\bhave (?:they|we)\b|有", re.IGNORECASE)
_A_VACCINE = lazily(r"\bvaccine|\bBCG\b|疫苗|卡介苗|接种", re.IGNORECASE)
_NO_VACCINE = QuestionType("vaccine", r"(?!)", says=("Word of a vaccine", "疫苗记载"))
_ALL = 1 << 20


# Whether a disease is inherited, and how.

_MODES = (  # what tells a mode of inheritance from the others, in a question and in the name of the mode
    r"recessive|隐性",
    r"(?<!co)dominant|显性",
    r"x[- ]?linked|x连锁|伴x",
    r"mitochondrial|线粒体|母系",
)
_INHERITED = r"recessive|dominant|linked|mitochondrial|maternal|polygenic|digenic|oligogenic|隐性|显性|连锁|母系|多基因"
_EITHER = lazily(r"\bor\b|还是|或", re.IGNORECASE)
_NAMED = 3  # ours: beside inheritance
_FROM_OUTSIDE = lazily(
    r"infect|virus|environment|drug|medicine|smok|alcohol|trauma|obes|stress|hormon|endocrin|sunlight|ultraviolet|diet"
    r"|感染|病毒|环境|药物|吸烟|饮酒|酗酒|外伤|创伤|肥胖|精神|内分泌|日光|紫外|饮食",
    re.IGNORECASE,
)


def from_outside(triple: Triple) -> bool:
    """Whether a triple names a cause or a risk that is no gene: what has some is not inherited by one gene alone."""
    return triple.relation.role in (Role.CAUSE, Role.RISK) and bool(_FROM_OUTSIDE.search(triple.object.name))


def mode_asked(text: str, pieces: Sequence[Evidence], others: Sequence[Triple] = ()) -> list[Evidence]:
    """Yes or no to "is it recessive?" or "is it inherited?", where the evidence has the modes of inheritance.

    `others` are causes of the same thing from outside: a record of an inherited form is not all there is to it.
    """
    asked = [mode for mode in _MODES if re.search(mode, text, re.IGNORECASE)]
    triples = [t for e in pieces for t in e.triples if t.relation.role is Role.INHERITANCE]
    others = list(filter(from_outside, others))
    if not triples or not is_yes_no(text):
        return []
    if len(asked) > 1 and _EITHER.search(text):  # "dominant or recessive?"
        return []
    wanted = asked or [_INHERITED]
    named = [t for t in triples if all(re.search(mode, t.object.name, re.IGNORECASE) for mode in wanted)]
    which, shown, language = "yes" if named else "no", (named or triples)[:2], language_of(text)
    facts = [sentence(t, language) for t in shown]
    if named and not asked and others:
        causes = joined(list(dict.fromkeys(worded(t.object.name, language) for t in others))[:_NAMED], language)
        said = verdict("partly", language, facts, causes)
        return [Evidence(said, VERDICT, (*shown, *others[:_NAMED]), (shown[0].subject, shown[0].object), 1.0, which)]
    words = (("Yes", "是") if named else ("No", "不是")) if asked else (("Yes", "会") if named else ("No", "不会"))
    said = affirmed(words[language], language, facts)
    return [Evidence(said, VERDICT, tuple(shown), (shown[0].subject, shown[0].object), 1.0, which)]
