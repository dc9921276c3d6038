"""Under which other entries a graph may speak of a thing: its twins, products and ingredients, kinds and classes."""

import re
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from kgmed.graph.base import ByRole, Hops, LocalGraph, Match, Scope
from kgmed.graph.derived import Arrays, cached_arrays
from kgmed.graph.joining import is_abbreviation
from kgmed.graph.substances import substance as substance
from kgmed.language.particulars import befalls
from kgmed.language.text import fold, has_cjk, lazily, one_line
from kgmed.records import Entity, Link, Role, Triple
from kgmed.steps.telling import marking, specific, telling

MEDICINES = frozenset({"drug", "ingredient", "treatment", "medicine", "substance", "chemical"})
_SURE = 0.97  # of a link: its ties are other records of the same thing
_MUCH = 0.3  # ours: of what a medicine is for, the share that befalls some people only; painkillers have less
_WRITTEN = lazily(
    "临床症状|主要症状"
)  # what a text book's chapter says of an illness, and no list of all that was read
_TYPICAL = 0.7  # ours: how often such a finding is there, beside those that are counted
_ROUTINE = lazily("必检")  # before an operation, or on admission
_FOR_WOMEN = lazily(r"[妇女坤]|产后|调经|益母|乌鸡白凤")  # in the name of a medicine
_FEW = 4  # ours: a class that fewer than a fourth of a medicine's products stand in is a slip of the graph
_SMALL = 50  # ours: products in a class whose warnings are looked at for one of them
# Classes of medicines that are named by what their members' names have in common: how one is asked for, its stem.
CLASSES = (
    (r"cephalosporins?|头孢", "头孢|cef"),
    (r"statins?|他汀", "(?<!司)他汀|vastatin"),
    (r"(?:ACE inhibitor|pril|ACEI)s?|普利|血管紧张素转[换化]酶抑制剂?", "普利|pril"),
    (r"(?:angiotensin receptor blocker|sartan|ARB)s?|沙坦", "沙坦|sartan"),
    (r"beta.?blockers?|洛尔|β受体阻滞剂", "洛尔|olol"),
    (r"地平|dihydropyridines?", "地平|dipine"),
    (r"(?:fluoro)?quinolones?|沙星|(?:氟)?喹诺酮", "沙星|floxacin"),
    (r"(?:proton pump inhibitor|PPI)s?|拉唑|质子泵抑制剂", "拉唑|prazole"),
    (r"macrolides?|大环内酯", "红霉素|克拉霉素|阿奇霉素|罗红霉素|thromycin"),
    (r"列汀|gliptins?", "列汀|gliptin"),
    (r"列净|gliflozins?", "列净|gliflozin"),
    (r"硝唑|nitroimidazoles?", "硝唑|nidazole"),
    (
        r"digitalis(?: glycosides?)?|cardiac glycosides?|洋地黄(?:苷|甙)?|强心[苷甙]|[毛洋]地黄",
        "地高辛|洋地黄毒[苷甙]|毛花[苷甙]|digoxin|digitoxin",
    ),
    (
        r"(?:organic )?nitrates?|(?:有机)?硝酸(?:酯|盐|脂)",
        "硝酸甘油|硝酸异山梨|硝酸戊四|glyceryl trinitrate|isosorbide",
    ),
    (
        r"(?:non-?steroidal anti-?inflammatory (?:drug|medicine|agent)|NSAID)s?|非[甾类]体(?:类)?(?:抗|消)炎(?:镇痛)?",
        "洛芬(?!啶)|双氯芬酸|萘普生|吲哚美辛|昔康|昔布|尼美舒利|酮咯酸|阿司匹林|保泰松|profen|diclofenac|naproxen|indomet(?:h)?acin|oxicam",
    ),
    (
        r"potassium[- ](?:sparing|retaining) diuretics?|[保留潴]钾(?:性|类)?利尿",
        "螺内酯|氨苯蝶啶|阿米洛利|spironolactone|triamterene|amiloride|eplerenone",
    ),
    (r"thiazides?(?: diuretics?)?|噻嗪(?:类)?(?:利尿)?", "氢氯噻嗪|噻嗪片|吲达帕胺|chlorothiazide|indapamide"),
    (r"loop diuretics?|(?:袢|髓袢)利尿", "呋塞米|托拉塞米|布美他尼|furosemide|torasemide|bumetanide"),
    (
        r"(?:selective serotonin re-?uptake inhibitor|SSRI)s?|选择性5[—-]?(?:羟色胺|HT)再(?:摄取|吸收)抑制",
        "氟西汀|帕罗西汀|舍曲林|西酞普兰|氟伏沙明|(?<!dul)oxetine|sertraline|citalopram|fluvoxamine",
    ),
    (r"benzodiazepines?|苯(?:并)?二氮[卓䓬?]", "西泮|唑仑|zepam|zolam"),
    (r"barbiturates?|巴比妥", "巴比妥|barbital"),
    (
        r"opioids?|opiates?|阿片",
        "吗啡(?!啉)|可待因|芬太尼|曲马多|哌替啶|羟考酮|morphine|codeine|fentanyl|tramadol|oxycodone",
    ),
    (r"azole antifungals?|(?:唑|吡咯|咪唑)类抗真菌", "康唑|conazole"),
    (
        r"aminoglycosides?|氨基(?:糖|葡萄糖)[苷甙]",
        "庆大霉素|链霉素|阿米卡星|卡那霉素|妥布霉素|新霉素|gentamicin|amikacin|tobramycin",
    ),
    (
        r"(?:cortico|glucocortico)?steroids?|(?:糖皮质|肾上腺皮质|皮质)?激素",
        "泼尼松|可的松|地塞米松|倍他米松|曲安(?:奈德|西龙)|predniso|cortisone|dexamethasone|betamethasone|triamcinolone",
    ),
    (r"tetracyclines?|四环素类", "四环素|环素|cycline"),
    (r"penicillins?|青霉素类", "西林|青霉素|cillin"),
    (r"sulfonylureas?|磺(?:酰|脲)脲?", "格列(?![汀净酮])|甲苯磺丁脲|glipizide|gliclazide|glimepiride|glibenclamide"),
)
_CLASS_NAME = r"(?:第?[一二三四]代)?(?:{})(?:类|菌素)*(?:的?药物?|抗生素|降[压脂糖]药)?"
_HERBAL = {"功能主治": 1, "主治": 2}  # relations of patent medicines; of plants, minerals and old recipes
_ONE_LABEL = 2  # a label says it, of one graph
_UNSTATED = 0.5  # ours: what counts as the frequency of a finding that a graph lists without one
_VAGUE = lazily(
    r"^(?:(?:实验室|影像学?|辅助|一般|常规|特殊|其他|相关)?(?:检查|检验|化验)|体检|体格检查|实验室和其他检查|诊断"
    r"|(?:(?:一般|基础|药物|病因|对症|支持|手术|中医|西医|内科|外科|其他|综合|辅助|非手术|局部|全身)?治疗(?:原则|手段|方法|措施|目的|方案)?"
    r"|药物|随诊|预后)(?:治疗)?)$"
)
_SHORT = 4  # letters of a name that may stand within many: MODY, gout
_KINDS_BEFORE = ("β", "α", "遗传性", "家族性", "先天性")  # β地中海贫血 is a form of 地中海贫血
_SERIES = (
    "type 1",
    "type i",
    "1",
    "a",
    "b",
    "type a",
    "type 1a",
    "type ia",
    "type 2",
    "type ii",
    "2",
    "3",
    "4",
    "1a",
    "1型",
    "2型",
)


_GENUS = lazily(
    r"^(?:皮肤|心脏|心血管|肝脏?|肾脏?|胃|肺|眼|口腔|血液|内分泌|神经|精神|妇科|传染|慢性|良性|恶性)?(?:疾?病|肿瘤|癌症?|炎症?|感染)$"
    r"|^(?:dermatosis|(?:skin|heart|liver|kidney|lung|eye|blood) diseases?|cancer|neoplasm|infection|inflammation)$",
    re.IGNORECASE,
)


def is_genus(name: str) -> bool:
    """Whether the name of a disease is but that of all of an organ or of a sort: nothing is known by it.

    >>> is_genus("皮肤病"), is_genus("dermatosis"), is_genus("白血病"), is_genus("Lung cancer")
    (True, True, False, False)
    """
    return bool(_GENUS.match(name))


_DONE = lazily(
    r"治|疗|术|药|[片丸膏散汤剂针液栓酊霜]$|胶囊|颗粒|疫苗|素|[食水]$"
    r"|\b(?:therapy|treatment|surgery|vaccine|drugs?|tablets?)\b",
    re.IGNORECASE,
)
_END = lazily(r"(?:感染|病|症)$")


def is_itself(name: str, diseases: Iterable[str]) -> bool:
    """Whether a treatment's name is but that of the disease, or of a kind of it: 神经梅毒 as a treatment of 梅毒感染.

    >>> [is_itself(name, ["梅毒感染"]) for name in ("神经梅毒", "饮食注意事项", "梅毒疫苗", "青霉素")]
    [True, True, False, False]
    """
    if _HEADING.search(name):
        return True
    cores = (_END.sub("", d).casefold() for d in diseases)
    return not _DONE.search(name) and any(len(core) > 1 and core in name.casefold() for core in cores)


_HEADING = lazily(r"注意事项$|治疗中的|治疗原则$|用药原则$|^(?:不要|要|用药要)")


def is_vague(name: str) -> bool:
    """Whether a name of a treatment or a test says nothing of what is done.

    >>> is_vague("治疗原则"), is_vague("温水坐浴")
    (True, False)
    """
    return bool(_VAGUE.search(name))


_BEGUN = ("行", "做", "进行")
_TEST_WORDS: tuple[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]], ...] = (
    # how one test is written in several ways: what is left of a name is the test
    (lazily(r"[（(][^（）()]*[）)]|[\s—-]"), ""),
    (lazily(r"cxr|胸片|chestxray", re.IGNORECASE), "胸X线"),
    (lazily(r"x光|x射线|xray|(?<=腹)平?片", re.IGNORECASE), "X线"),
    (lazily(r"核?磁共振|mri|magneticresonance", re.IGNORECASE), "MRI"),
    (lazily(r"b超|彩超|超声波|ultrasound", re.IGNORECASE), "超声"),
    (lazily(r"^(?:行|做|进行)|胸部|chest", re.IGNORECASE), lambda m: "" if m[0] in _BEGUN else "胸"),
    (lazily(r"检查法?|检测|检验|测定|测试|试验|扫描|成像|摄影|摄片|影像|平片|片|显像|诊断|诊$|水平"), ""),
    (lazily(r"(?:test|scan)s?$", re.IGNORECASE), ""),
)


def same_test(name: str) -> str:
    """What is tested, without the words in which it is written in one way or another.

    >>> {same_test(name) for name in ("胸片", "CXR 检查", "胸部 X 线检查（CXR）", "胸部X线片", "胸部x光")}
    {'胸x线'}
    """
    plain = name.strip()
    for pattern, one in _TEST_WORDS:
        plain = pattern.sub(one, plain)
    plain = plain.replace("X线X线", "X线").casefold()
    return plain or name


def class_named(text: str) -> list[re.Match[str]]:
    """Where a text names classes of medicines by what their members' names have in common, and says that it is a class.

    >>> [m[0] for m in class_named("沙坦类药物会引起咳嗽吗")], [m[0] for m in class_named("缬沙坦会引起咳嗽吗")]
    (['沙坦类药物'], [])
    """
    stems = "|".join(f"(?:{asked})" for asked, _ in CLASSES)
    return list(
        re.finditer(rf"(?<![\w])(?:{stems})(?:类(?:药物?|抗生素)?|药物)|\b(?:{stems})\b(?=.*[A-Za-z])", text, re.I)
    )


@dataclass(frozen=True)
class Family:
    """The entries under which a graph may speak of a thing, each with the triples that lead to it."""

    graph: LocalGraph
    products: int = 40  # ours: a substance has up to 250 in CMeKG
    kinds: int = 4000  # ours: narrower entries looked at
    medicines: bool = False  # whether medicines come before all else that is done

    def of(self, link: Link, *, narrower: bool = True) -> dict[int, tuple[Triple, ...]]:
        """The entries by node number: itself and its twins first, then products and ingredients, then its kinds."""
        own = self._twins(link)
        found: dict[int, tuple[Triple, ...]] = dict(own)
        if any(self.graph.at(node).kind in MEDICINES for node in own):
            for node, why in islice(self._medicines(own), self.products):
                found.setdefault(node, why)
        if narrower:
            for node in islice(self._kinds(own), self.kinds):
                found.setdefault(node, ())
        return found

    def twins(self, link: Link) -> dict[Entity, tuple[Triple, ...]]:
        """The entity itself, those of the same name and those that are the same, with the triple that says so."""
        return {self.graph.at(node): why for node, why in self._twins(link).items()}

    def members(self, link: Link) -> dict[int, tuple[Triple, ...]]:
        """The medicines of a class that is named by what their names have in common: 头孢, statins."""
        names = (link.mention.surface, link.entity.name)
        stems = [
            s for asked, s in CLASSES if any(re.fullmatch(_CLASS_NAME.format(asked), n, re.IGNORECASE) for n in names)
        ]
        if not stems:
            return {}
        rows = (nodes for name, nodes in medicines_of(self.graph).items() if re.search(stems[0], name))
        return {node: () for nodes in rows for node in nodes}

    def named_classes(self, link: Link) -> dict[int, tuple[Triple, ...]]:
        """The entries of the classes of which a medicine is one by its name: 洋地黄类药物 of digoxin."""
        return {node: () for i in self._rows(link) for node in _classes_of(self.graph)[i]}

    def mates(self, link: Link) -> dict[int, tuple[Triple, ...]]:
        """The other medicines of those classes: indometacin of ibuprofen."""
        stems = [CLASSES[i][1] for i in self._rows(link)]
        own = self.of(link, narrower=False).keys()
        rows = [nodes for name, nodes in medicines_of(self.graph).items() if any(re.search(s, name) for s in stems)]
        return {node: () for nodes in rows for node in nodes if node not in own}

    def _rows(self, link: Link) -> list[int]:
        """The rows of `CLASSES` of which a medicine is one by its names."""
        names = {link.entity.name, *(name for node in self._twins(link) for name in self._said(node))}
        return [i for i, (_, stem) in enumerate(CLASSES) if any(re.search(stem, n, re.IGNORECASE) for n in names)]

    def substance(self, node: int) -> str:
        """The name of what a medicine is made of, by its own name or, a brand, by that of its generic or ingredient."""
        name = self.graph.at(node).name
        if self.graph.at(node).kind not in MEDICINES:  # written otherwise where it is no entry of its own
            name = next((m.entity.name for m in self.graph.lookup(name) if m.entity.kind in MEDICINES), name)
        own = substance(name)
        if own != name.casefold():  # a product that is named after what is in it
            return own
        made = self._ingredients.objects([node])
        held = {substance(self.graph.at(n).name) for n in made.node.tolist()}
        if own in held:
            return own
        same = self._same
        others = [self.graph.at(n).name for n in (*same.subjects([node]).node, *same.objects([node]).node)]
        generic = {made_of for other in others if (made_of := substance(other)) != other.casefold() or made_of in held}
        return min(generic & held or generic or (held if len(held) == 1 else {own}), key=lambda n: (len(n), n))

    @cached_property
    def _ingredients(self) -> ByRole:
        return ByRole(self.graph, Role.INGREDIENT)

    @cached_property
    def _same(self) -> ByRole:
        return ByRole(self.graph, Role.SAME_AS)

    def forms(self, link: Link) -> dict[Entity, tuple[Triple, ...]]:
        """The forms of a disease that are named after it (Gaucher disease, type I), and what leads to them.

        They are the first of a series, and the diseases that show it and bear its name: oculocutaneous albinism.
        """
        own = self._twins(link)
        found: dict[Entity, tuple[Triple, ...]] = {}
        names = dict.fromkeys(name for node in own for name in (self.graph.at(node).name, *self._said(node)))
        for name in names:
            series = (
                (f"{kind}{name}" for kind in _KINDS_BEFORE) if has_cjk(name) else (f"{name} {kind}" for kind in _SERIES)
            )
            for match in (m for one in series for m in self.graph.lookup(one)):
                if self.graph.number(match.entity.id) not in own:
                    found.setdefault(match.entity, ())
        shown = ByRole(self.graph, Role.FINDING).subjects(list(own))
        for node, edge in zip(shown.node.tolist(), shown.edge.tolist(), strict=True):
            if any(name.casefold() in self.graph.at(node).name.casefold() for name in names):
                found.setdefault(self.graph.at(node), (self.graph.triple(edge),))
        return found

    def _said(self, node: int) -> Iterator[str]:
        """The other names that mean an entry, in any language, but for short forms."""
        for text, scope in names_of(self.graph, node):
            if scope <= Scope.TRANSLATION and len(text) > (_SHORT if text.isascii() else 1):
                yield text

    def is_symptom(self, entity: Entity) -> bool:
        """Whether more diseases show a thing than it shows findings itself."""
        node, ties = [self.graph.number(entity.id)], ByRole(self.graph, Role.FINDING)
        return len(ties.subjects(node).node) > len(ties.objects(node).node)

    def fullest(self, link: Link) -> Entity:
        """The entity, or that of the same name and of no other kind of which the graph says most."""
        alike = [e for e in self.twins(link) if e.kind == link.entity.kind] or [link.entity]
        return max(alike, key=lambda e: (self._edges(e), e == link.entity))

    def _edges(self, entity: Entity) -> int:
        out, into = self.graph.adjacency
        node = self.graph.number(entity.id)
        return int(out.indptr[node + 1] - out.indptr[node] + into.indptr[node + 1] - into.indptr[node])

    def _twins(self, link: Link) -> dict[int, tuple[Triple, ...]]:
        """Those of the same name, and those that the graph says are the same, with the triple that says so."""
        names: tuple[str, ...] = (link.entity.name, link.mention.name)
        ties = link.ties
        if is_abbreviation(link.mention.name) and link.mention.name != link.entity.name:
            names, ties = names[:1], ()  # what else is shortened so is another thing: PE, of the lungs and of pregnancy
        named = [link.entity, *(t for t in ties if t.kind == link.entity.kind or link.score >= _SURE)]
        said = [m.entity for name in names for m in self.graph.lookup(name)]
        said += [m.entity for name in names for m in self._illness(name, link.entity.kind)]
        own = {self.graph.number(e.id): () for e in dict.fromkeys([*named, *said])}
        same = ByRole(self.graph, Role.SAME_AS)
        found: dict[int, tuple[Triple, ...]] = dict(own)
        for hops in (same.objects(list(own)), same.subjects(list(own))):
            for node, edge in zip(hops.node.tolist(), hops.edge.tolist(), strict=True):
                found.setdefault(node, (self.graph.triple(edge),))
        return found

    def _illness(self, name: str, kind: str) -> list[Match]:
        """The entries of the illness that a Chinese complaint or cause is named after: 失眠症 of 失眠, 梅毒感染."""
        if not has_cjk(name) or name.endswith(("症", "病", "感染")):
            return []
        caused = self.graph.lookup(f"{name}感染") if kind == "cause" else ()
        return [*self.graph.lookup(f"{name}症"), *(m for m in caused if m.entity.kind == "disease")]

    def _medicines(self, own: Iterable[int]) -> Iterator[tuple[int, tuple[Triple, ...]]]:
        """Products of a substance named after it or of it alone, those of its name, and the substance of a product."""
        nodes = list(own)
        contains = ByRole(self.graph, Role.INGREDIENT)
        made = contains.subjects(nodes)
        parts = contains.objects(made.node)
        alone = {int(n) for n, count in _counts(parts, made).items() if count == 1}
        own_names = {substance(self.graph.at(n).name) for n in nodes}
        names = own_names | {substance(name) for n in nodes for name in self._said(n)}
        called = [substance(self.graph.at(node).name) for node in made.node.tolist()]
        rows = sorted(  # brands after what is named after it
            (name not in own_names, name not in names, node, edge)
            for name, node, edge in zip(called, made.node.tolist(), made.edge.tolist(), strict=True)
        )
        for _, brand, node, edge in rows:
            if node in alone or not brand:
                yield node, (self.graph.triple(edge),)
        for name in sorted(names, key=lambda name: (name not in own_names, name)):
            yield from ((n, ()) for n in medicines_of(self.graph).get(name, ()) if self.is_called(n, names))
        held = contains.objects(nodes)
        for node, edge in zip(held.node.tolist(), held.edge.tolist(), strict=True):
            if substance(self.graph.at(node).name) in names:
                yield node, (self.graph.triple(edge),)

    def is_called(self, node: int, names: Container[str]) -> bool:
        """Whether a medicine that has one of some names is meant by them: one in one of many languages may be a slip.

        In Greek a list calls two medicines doxycycline.
        """
        if substance(self.graph.at(node).name) in names:
            return True
        row = getattr(self.graph, "name_row", None)
        if row and substance(row(node).text) in names:
            return True
        told = {substance(text) for text, scope in names_of(self.graph, node) if scope <= Scope.TRANSLATION}
        return len(told) <= _LANGUAGES or sum(name in names for name in told) > 1

    def _kinds(self, own: Iterable[int]) -> Iterator[int]:
        """The narrower entries."""
        is_a = ByRole(self.graph, Role.IS_A)
        for node in own:
            yield from (n for n, steps in is_a.closure(node, up=False).items() if steps)

    def ordered(self, entity: Entity, role: Role, *, own: bool) -> list[Triple]:
        """One triple for each other end: the heaviest, the often said, the telling, then the usual or the specific."""
        steps, node = ByRole(self.graph, role), [self.graph.number(entity.id)]
        hops = steps.objects(node) if own else steps.subjects(node)
        if not len(hops.node):
            return []
        ends = np.unique(hops.node, return_index=True)[0]  # the index is not used; without it numpy reads in numpy.ma
        back = (steps.subjects if own else steps.objects)(ends)
        breadth = dict(zip(ends.tolist(), np.bincount(back.origin, minlength=len(ends)).tolist(), strict=True))
        edges: dict[int, list[Triple]] = {}
        for end, edge in zip(hops.node.tolist(), hops.edge.tolist(), strict=True):
            edges.setdefault(end, []).append(self.graph.triple(edge))
        if own and role in (Role.ADVERSE, Role.COMPLICATION):
            products = (*node, *medicines_of(self.graph).get(self.substance(node[0]), ()))
            places = marking(self.graph, products) if role is Role.ADVERSE else specific(self.graph, node)
            return [max(edges[end], key=often) for end in sorted(edges, key=places.__getitem__)]
        if role is Role.TREATS and not own:
            return self._by_substance(edges, breadth, self._of_others(entity, ends, back))
        if role is Role.GENE and own:
            bound = self._bound(node[0], ends, back)
            best = sorted(edges, key=lambda end: (-max(t.weight for t in edges[end]), -bound[end], -breadth[end], end))
            return [max(edges[end], key=often) for end in best]
        usual = 1 if own or role is Role.TESTS else -1
        findings = own and role is Role.FINDING
        tells = telling(self.graph, node[0], ends) if findings else {}
        has = Counter(ends[steps.objects(ends).origin].tolist()) if findings else Counter[int]()
        if findings:
            edges = {end: said for end, said in edges.items() if _is_finding(entity, self.graph.at(end))} or edges

        def place(end: int) -> tuple[bool, bool, bool, float, bool, float, int, int, int]:
            said = edges[end]
            routine = all(_ROUTINE.search(t.relation.name) for t in said)  # of everybody who is taken in
            ways, vague = len({t.relation.name for t in said}), is_vague(self.graph.at(end).name)
            others = own is False and all(t.head != entity for t in said)  # not its own entry in the graph says it
            share = max(often(t) if role is Role.FINDING else t.weight for t in said)
            written = findings and share == _UNSTATED and any(_WRITTEN.search(t.relation.name) for t in said)
            share = _TYPICAL if written else share
            illness = has[end] > breadth[end] and not any(map(stated, said))  # what goes with it is no sign of it
            return routine, vague, illness, -share, others, -tells.get(end, 0.0), -ways, -usual * breadth[end], end

        return [max(edges[end], key=often) for end in sorted(edges, key=place)]

    def _bound(self, disease: int, genes: NDArray[np.int64], tied: Hops) -> dict[int, int]:
        """Of each gene how many of its diseases are named alike: LDLR has many kinds of hypercholesterolemia.

        A gene that but changes the course of a disease is tied to others.
        """
        row = getattr(self.graph, "name_row", None)

        def words(node: int) -> set[str]:
            return {w for w in fold(row(node).text if row else self.graph.at(node).name).split() if len(w) > _SHORT}

        own, found = words(disease), dict.fromkeys(genes.tolist(), 0)
        alike = {node: bool(own & words(node)) for node in set(tied.node.tolist())}
        for node, origin in zip(tied.node.tolist(), tied.origin.tolist(), strict=True):
            found[int(genes[origin])] += alike[node]
        return found

    def _of_others(self, entity: Entity, medicines: NDArray[np.int64], treated: Hops) -> set[int]:
        """The medicines that are much for what befalls some only (women), or named so, unless the entity does."""
        row = getattr(self.graph, "name_row", None)

        def written(node: int) -> str:
            return row(node).text if row else self.graph.at(node).name  # an entity takes ten times as long to make

        if befalls(entity.name):
            return set()
        nodes, at = np.unique(treated.node, return_inverse=True)
        some = np.array([befalls(written(n)) for n in nodes.tolist()], bool)[at]
        share = np.bincount(treated.origin, some, len(medicines)) / np.bincount(treated.origin, None, len(medicines))
        rest = medicines[share < _MUCH].tolist()
        return {*medicines[share >= _MUCH].tolist(), *(n for n in rest if _FOR_WOMEN.search(written(n)))}

    def _by_substance(
        self, edges: dict[int, list[Triple]], breadth: dict[int, int], of_others: Container[int]
    ) -> list[Triple]:
        """One triple for each medicine, first one of each substance, the best borne out and then the specific.

        What is for other people (`of_others`) is last: a remedy for painful periods is none for any stomach ache.

        A label names all that a product may be used for; what the entry of the disease names too, or a list of
        another graph, is what is used for it. Of what labels alone say, what there are many products of is usual.
        """
        groups: dict[str, list[int]] = {}
        for node in edges:
            groups.setdefault(self.substance(node), []).append(node)

        def place(name: str) -> tuple[bool, bool, int, float, int, float, str]:
            said = [t for node in groups[name] for t in edges[node]]
            worth = min(1 / (1 + np.log10(breadth[node])) for node in groups[name])
            label = {(t.source, t.relation.name) for t in said if t.subject == t.head}
            entry = {
                (t.source, t.relation.name) for t in said if t.subject != t.head
            }  # a graph may turn each label round
            own = any(all(t.subject != t.head for t in edges[node]) for node in groups[name])
            own |= any(sum(s == graph for s, _ in entry) > sum(s == graph for s, _ in label) for graph, _ in entry)
            borne_out = len({t.source for t in said}) + own + bool(label)
            usual = 1.0 if borne_out > _ONE_LABEL else 1 + float(np.log2(len(groups[name])))
            other = self.medicines and not any(self.graph.at(node).kind in MEDICINES for node in groups[name])
            others = 2 * sum(node in of_others for node in groups[name]) >= len(groups[name])
            herbal = min(_HERBAL.get(t.relation.name, 0) for t in said)
            return other, others, herbal, -max(t.weight for t in said), -borne_out, -float(worth) * usual, name

        def plain(name: str, node: int) -> tuple[bool, int, str]:
            entity = self.graph.at(node)
            return substance(entity.name) != name, len(entity.name), entity.name

        rows = [sorted(groups[name], key=partial(plain, name)) for name in sorted(groups, key=place)]
        order = [row[0] for row in rows] + [node for row in rows for node in row[1:]]
        return [max(edges[node], key=lambda t: t.weight) for node in order]

    def siblings(self, nodes: Iterable[int]) -> list[int]:
        """The other members of the classes of some entries, of classes with few members: large ones say little.

        A class that few of the products of a medicine stand in, in a graph that classes others elsewhere, is a slip.
        """
        is_a = ByRole(self.graph, Role.IS_A)
        up = is_a.objects(list(nodes))
        held: dict[tuple[str, int], set[int]] = {}
        classed: dict[str, set[int]] = {}
        for node, origin, edge in zip(up.node.tolist(), up.origin.tolist(), up.edge.tolist(), strict=True):
            source = self.graph.triple(edge).source
            held.setdefault((source, node), set()).add(origin)
            classed.setdefault(source, set()).add(origin)
        own = dict.fromkeys(n for (source, n), some in held.items() if _FEW * len(some) >= len(classed[source]))
        members = (is_a.subjects([n]).node for n in own)
        return list(dict.fromkeys(n for few in members if len(few) <= _SMALL for n in few.tolist()))

    def classes(self, nodes: Iterable[int]) -> dict[int, tuple[Triple, ...]]:
        """The classes that entries belong to, one step up, with the triple that says so."""
        up = ByRole(self.graph, Role.IS_A).objects(list(nodes))
        return {n: (self.graph.triple(e),) for n, e in zip(up.node.tolist(), up.edge.tolist(), strict=True)}


_LANGUAGES = 4  # names; what has more is named in many languages


def _is_finding(disease: Entity, other: Entity) -> bool:
    """Whether a thing can be a finding of a disease: no part of the body, nor the disease itself, acute or chronic.

    >>> named = [Entity("", name) for name in ("Acute appendicitis", "Fever", "阑尾炎")]
    >>> [_is_finding(Entity("", "Appendicitis"), other) for other in named]
    [False, True, True]
    """
    own, said = disease.name.casefold(), other.name.casefold()
    bare = _STAGE.sub("", said)
    same = said == own or (bare != said and len(bare) > 1 and own.endswith(bare))
    return other.kind != "body part" and not same


_STAGE = lazily(r"^(?:(?:(?:sub)?acute|chronic|recurrent|severe|mild|simple) |亚?[急慢]性|复发性|重症|轻症|单纯性)")


def names_of(graph: LocalGraph, node: int) -> Iterator[tuple[str, Scope]]:
    """The names of an entry: as the graph calls it in its language, as it is written there, the others."""
    aliases, own = getattr(graph, "aliases", None), getattr(graph, "name_row", None)
    yield graph.at(node).name, Scope.PREFERRED
    yield from ((own(node).text, Scope.PREFERRED),) if own else ()
    yield from aliases(node) if aliases else ()


def _counts(parts: Hops, made: Hops) -> dict[int, int]:
    """How many ingredients each product has."""
    counts: dict[int, int] = {}
    for origin in parts.origin.tolist():
        node = int(made.node[origin])
        counts[node] = counts.get(node, 0) + 1
    return counts


@lru_cache(maxsize=8)
def medicines_of(graph: LocalGraph) -> Mapping[str, tuple[int, ...]]:
    """The medicines of a graph by their substance, under their names in all languages; kept beside the graph."""
    kept = cached_arrays(graph.folder, "substances", f"{VERSION} {graph.label}", _COLUMNS, lambda: _substances(graph))
    found: dict[str, list[int]] = {}
    for name, node in zip(kept["name"].tolist(), kept["node"].tolist(), strict=True):
        found.setdefault(name, []).append(node)
    return {name: tuple(nodes) for name, nodes in found.items()}


@lru_cache(maxsize=8)
def _classes_of(graph: LocalGraph) -> tuple[tuple[int, ...], ...]:
    """The entries of a graph that are named as each of `CLASSES`."""
    names = medicines_of(graph)
    forms = [re.compile(_CLASS_NAME.format(asked), re.IGNORECASE) for asked, _ in CLASSES]
    return tuple(tuple(n for name, nodes in names.items() if form.fullmatch(name) for n in nodes) for form in forms)


VERSION = 2  # goes up when the columns kept beside a graph change
_COLUMNS = ("name", "node")
_LONGEST = 40  # characters of a substance's name; longer ones are formulas


def _substances(graph: LocalGraph) -> Arrays:
    """The substance of each name of a medicine, and its node."""
    nodes = {node for kind in MEDICINES for node in graph.of_kind(kind).tolist()}
    names = graph.names(scopes=(Scope.PREFERRED, Scope.TRANSLATION))
    rows = sorted({(substance(n.text), n.node) for n in names if n.node in nodes})
    kept = [row for row in rows if 1 < len(row[0]) <= _LONGEST]
    return {
        "name": np.array([name for name, _ in kept], f"<U{_LONGEST}"),
        "node": np.array([node for _, node in kept], np.int64),
    }


def often(triple: Triple) -> float:
    """How often it is so, as far as the graph says: half the time where it does not.

    Where graphs that are asked as one differ, it is what is shown that counts.
    """
    said = stated(triple)
    first, *last = [float(n) for n in _NUMBER.findall(said)] or [100 * triple.weight]
    if "/" in said:
        return (first + 1) / (last[0] + 4)  # as the reader of HPO counts
    if said:
        return (first + last[-1] if last else 2 * first) / 200
    return triple.weight if triple.weight < 1 else _UNSTATED


_NUMBER = lazily(r"\d+(?:\.\d+)?")


def stated(triple: Triple) -> str:
    """The frequency that rests on most patients, as the graph says it; a class where fewer than five were counted.

    >>> from kgmed.records import Relation, Support
    >>> said = [Support(ref, (("frequency", text),)) for ref, text in (("", "1/1"), ("ORPHA:558", "(80-99%)"))]
    >>> stated(Triple(Entity("a", "A"), Relation("has"), Entity("b", "B"), support=tuple(said)))
    '(80-99%)'
    """
    said = list(dict.fromkeys(one_line(v) for s in triple.support for k, v in s.qualifiers if k == "frequency"))
    if len(said) < 2:
        return "".join(said)
    patients = {text: int(found[1]) if (found := _COUNTED.search(text)) else _ENOUGH for text in said}
    return max(said, key=patients.__getitem__)


_ENOUGH = 5  # ours: as many patients as must have been counted to say more than a class of HPO or Orphanet
_COUNTED = lazily(r"^\d+/(\d{1,9})$")
