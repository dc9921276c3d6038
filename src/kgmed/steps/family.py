"""Under which other entries a graph may speak of a thing: its twins, products and ingredients, kinds and classes."""

import re
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from itertools import chain, islice, zip_longest

import numpy as np
from numpy.typing import NDArray

from kgmed import vocabulary
from kgmed.derived import Arrays, cached_arrays
from kgmed.graph.base import (
    ByRole,
    Hops,
    LocalGraph,
    Match,
    Scope,
    kept_with_graph,
    names_of,
    triples_at,
    unique_numbers,
)
from kgmed.graph.contradictions import MEDICINES as MEDICINES
from kgmed.graph.contradictions import WARNS as WARNS
from kgmed.graph.contradictions import contradictions
from kgmed.graph.grown import owners, texts_of
from kgmed.graph.joining import is_abbreviation
from kgmed.graph.joining import substance as substance
from kgmed.language.particulars import befalls
from kgmed.language.text import fold, has_cjk, lazily, one_line
from kgmed.records import Entity, Link, Role, Triple
from kgmed.vocabulary import Predicate

# --- How much a finding tells of a disease, and a side effect of a medicine: what those like it have, and few others.

_LIKE = 50  # ours: diseases that are most like one
_SIFTED = 300  # ours: diseases that share most with it, of which those are chosen
_MARKS = 2  # ours: side effects that mark a medicine, to each that most of its labels share with all others
Floats = NDArray[np.float64]


@kept_with_graph(1 << 8)
def telling(graph: LocalGraph, disease: int) -> Mapping[int, float]:
    """A score for each of a disease's findings (node numbers): higher for what tells more of it.

    The diseases that share rare findings with it (cosine of findings weighted by the logarithm of how few diseases
    have them) vote for what they have too; votes are multiplied by the root of that logarithm. On 400 diseases of
    HPO the order agrees with the stated frequencies, which it does not see, at a mean rank correlation of .23; by the
    number of diseases that have a finding it is .08 (`python bench/telling.py`).
    """
    steps = ByRole(graph, Role.FINDING)
    findings = unique_numbers(steps.objects([disease]).node)
    votes, rarity = _voted(steps, [disease], findings)
    return dict(zip(findings.tolist(), (votes * np.sqrt(rarity)).tolist(), strict=True))


def marking(graph: LocalGraph, products: Sequence[int]) -> dict[int, int]:
    """The places of the side effects of a medicine, of which there are several products: what marks it and is usual.

    Most labels name nausea and a rash. The share of its products that name an effect and the votes of the products
    most like it (see `telling`) make what is usual with it; that times how few others have it, what marks it. Of
    these two orders the first two are taken of what marks it, then one of what is usual, and so on.
    """
    effects, usual, marks = _usual_and_marks(graph, products, Role.ADVERSE)
    by_turns = zip_longest(*(_best(effects, marks)[i::_MARKS] for i in range(_MARKS)), _best(effects, usual))
    order = dict.fromkeys(n for n in chain.from_iterable(by_turns) if n is not None)
    return {node: place for place, node in enumerate(order)}


def specific(graph: LocalGraph, diseases: Sequence[int]) -> dict[int, int]:
    """The places of the complications of a disease: those that mark it first, those that many diseases have last."""
    complications, _, marks = _usual_and_marks(graph, diseases, Role.COMPLICATION)
    return {node: place for place, node in enumerate(_best(complications, marks))}


def _best(ends: NDArray[np.int64], scores: Floats) -> list[int]:
    return list(map(int, ends[np.argsort(-scores, kind="stable")].tolist()))


def _usual_and_marks(graph: LocalGraph, own: Sequence[int], role: Role) -> tuple[NDArray[np.int64], Floats, Floats]:
    """What some entries of one thing have in a role, how usual each is with it, and how much it marks it."""
    steps = ByRole(graph, role)
    hops = steps.objects(sorted({*own}))
    ends = unique_numbers(hops.node)
    if not len(ends):
        return ends, np.empty(0), np.empty(0)
    pairs = unique_numbers(hops.origin * len(ends) + ends.searchsorted(hops.node))  # each once
    said = np.bincount(pairs % len(ends))
    votes, rarity = _voted(steps, sorted({*own}), ends)
    usual = said / len(unique_numbers(pairs // len(ends))) + votes / max(float(votes.max()), 1e-9)
    return ends, usual, usual * np.sqrt(rarity)


def _voted(steps: ByRole, own: Sequence[int], findings: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """For each of the findings of some entries the votes of the entries most like them, and how few have it."""
    shared = steps.subjects(findings)
    others = np.flatnonzero(np.bincount(shared.node))
    place = np.zeros(others[-1] + 1 if len(others) else 0, np.int64)
    place[others] = np.arange(len(others))
    pairs = unique_numbers(shared.origin * len(others) + place[shared.node])  # each once, however often it is said
    finding, other = np.divmod(pairs, max(len(others), 1))
    rarity = np.log((len(others) + 1) / np.maximum(np.bincount(finding, minlength=len(findings)), 1))
    common = np.bincount(other, rarity[finding] ** 2, minlength=len(others))
    common[np.isin(others, own)] = 0.0
    sifted = np.argsort(-common, kind="stable")[:_SIFTED]
    many = np.bincount(steps.objects(others[sifted]).origin, minlength=len(sifted))
    alike = np.zeros(len(others))
    alike[sifted] = common[sifted] / np.sqrt(np.maximum(many, 1))
    alike[np.argsort(-alike, kind="stable")[_LIKE:]] = 0.0
    return np.bincount(finding, alike[other], minlength=len(findings)).astype(np.float64), rarity.astype(np.float64)


_SURE = 0.97  # of a link: its ties are other records of the same thing
_MUCH = 0.3  # ours: of what a medicine is for, the share that befalls some people only; painkillers have less
_TYPICAL = 0.7  # ours: how often such a finding is there, beside those that are counted
_FEW = 4  # ours: a class that fewer than a fourth of a medicine's products stand in is a slip of the graph
_SMALL = 50  # ours: products in a class whose warnings are looked at for one of them
_CLASS_NAME = r"(?:第?[一二三四]代)?(?:{})(?:类|菌素)*(?:的?药物?|抗生素|降[压脂糖]药)?"
_HERBAL = {"功能主治": 1, "主治": 2}  # relations of patent medicines; of plants, minerals and old recipes
_ONE_LABEL = 2  # a label says it, of one graph
_UNSTATED = 0.5  # ours: what counts as the frequency of a finding that a graph lists without one
_VAGUE = lazily(
    r"^(?:(?:实验室|影像学?|辅助|一般|常规|特殊|其他|相关)?(?:检查|检验|化验)|体检|体格检查|实验室和其他检查|诊断"
    r"|(?:(?:一般|基础|药物|病因|对症|支持|中医|西医|内科|外科|其他|综合|辅助|非手术|局部|全身)?治疗(?:原则|手段|方法|措施|目的|方案)?"
    r"|药物|随诊|预后)(?:治疗)?)$"
)
_SHORT = 4  # letters of a name that may stand within many: MODY, gout
_KINDS_BEFORE = ("β", "α", "遗传性", "家族性", "先天性")  # β地中海贫血 is a form of 地中海贫血
_SERIES = (
    "type 1", "type i", "1", "a", "b", "type a", "type 1a", "type ia", "type 2", "type ii", "2", "3", "4", "1a",
    "1型", "2型",
)  # fmt: skip


def is_itself(name: str, diseases: Iterable[str]) -> bool:
    """Whether a treatment's name is but that of a disease, or of a kind of this: 神经梅毒 as a treatment of 梅毒感染.

    >>> [is_itself(name, ["梅毒感染"]) for name in ("神经梅毒", "良性肿瘤", "梅毒疫苗", "青霉素")]
    [True, True, False, False]
    """
    if vocabulary.listed("headings of treatment").search(name):
        return True
    cores = (vocabulary.listed("endings of illnesses").sub("", d).casefold() for d in diseases)
    ill = vocabulary.listed("illnesses by ending").search(name) is not None
    return not vocabulary.listed("treatments by name").search(name) and (
        ill or any(len(core) > 1 and core in name.casefold() for core in cores)
    )


def is_heading(graph: LocalGraph, t: Triple) -> bool:
    """Whether a treatment is but a heading of the source, or named as the illness is."""
    if t.relation.role is not Role.TREATS or t.subject.kind in ("drug", "ingredient") or not t.object.id:
        return False
    called = [name for name, _ in names_of(graph, graph.number(t.object.id))]
    return is_vague(t.subject.name) or is_itself(t.subject.name, called)


def is_vague(name: str) -> bool:
    """Whether a name of a treatment or a test says nothing of what is done.

    >>> is_vague("治疗原则"), is_vague("温水坐浴")
    (True, False)
    """
    return bool(_VAGUE.search(name))


def is_raw(triple: Triple) -> bool:
    """Whether a treatment is a plant, a mineral or an old recipe, and no product."""
    return _HERBAL.get(triple.relation.name, 0) > 1


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


@vocabulary.kept()
def stem_classes() -> tuple[tuple[str, str], ...]:
    """The classes of medicines whose members' names have a stem in common: how each is called, and the stem."""
    found = vocabulary.members("classes", "classes by substance")
    return tuple((class_pattern(key, Predicate.NAMED_BY), class_pattern(key, Predicate.BROAD_MATCH)) for key in found)


def class_pattern(key: str, predicate: Predicate, *, none: str = "(?!)") -> str:
    """The regular expression that the vocabulary has for a class of medicines."""
    return vocabulary.pattern("classes", key, predicate, none=none)


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
        row = next((i for i, form in enumerate(class_patterns()) if any(map(form[1].fullmatch, names))), None)
        if row is None:
            return {}
        medicines = medicines_of(self.graph)
        return {node: () for name in _names_of_class(self.graph, row) for node in medicines[name]}

    def named_classes(self, link: Link) -> dict[int, tuple[Triple, ...]]:
        """The entries of the classes of which a medicine is one by its name: 洋地黄类药物 of digoxin."""
        return {node: () for i in self._rows(link) for node in classes_of(self.graph)[i]}

    def mates(self, link: Link) -> dict[int, tuple[Triple, ...]]:
        """The other medicines of those classes: indometacin of ibuprofen."""
        own, medicines = self.of(link, narrower=False).keys(), medicines_of(self.graph)
        names = {name for i in self._rows(link) for name in _names_of_class(self.graph, i)}
        place = _places(self.graph)
        return {n: () for name in sorted(names, key=place.__getitem__) for n in medicines[name] if n not in own}

    def _rows(self, link: Link) -> list[int]:
        """The rows of `stem_classes` of which a medicine is one by its names."""
        names = {link.entity.name, *(name for node in self._twins(link) for name in self._said(node))}
        return sorted({i for name in names for i in classes_by_name(name)})

    def substance(self, node: int) -> str:
        """The name of what a medicine is made of, by its own name or, a brand, by that of its generic or ingredient."""
        return _substance_of(self.graph, node)

    def _substance(self, node: int) -> str:
        name = self.graph.at(node).name
        if self.graph.at(node).kind not in MEDICINES:  # written otherwise where it is no entry of its own
            name = next((m.entity.name for m in self.graph.lookup(name) if m.entity.kind in MEDICINES), name)
        own = substance(name)
        if own != name.casefold():  # a product that is named after what is in it
            return own
        held = {substance(self.graph.at(n).name) for n in self._ingredients.objects([node]).node.tolist()}
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
        shown, folded = ByRole(self.graph, Role.FINDING).subjects(list(own)), {name.casefold() for name in names}
        for node, edge in zip(shown.node.tolist(), shown.edge.tolist(), strict=True):
            entity = self.graph.at(node)
            if any(map(entity.name.casefold().__contains__, folded)):
                found.setdefault(entity, (self.graph.triple(edge),))
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
        return max(alike, key=lambda e: (self.graph.adjacency.edges_of(self.graph.number(e.id)), e == link.entity))

    def _twins(self, link: Link) -> dict[int, tuple[Triple, ...]]:
        """Those of the same name, and those that the graph says are the same, with the triple that says so."""
        names: tuple[str, ...] = (link.entity.name, link.mention.name)
        ties = link.ties
        if is_abbreviation(link.mention.name) and link.mention.name != link.entity.name:
            names, ties = names[:1], ()  # what else is shortened so is another thing: PE, of the lungs and of pregnancy
        named = [link.entity, *(t for t in ties if t.kind == link.entity.kind or link.score >= _SURE)]
        said = [m.entity for name in names for m in self.graph.lookup(name)]
        said += [m.entity for name in names for m in self._illness(name, link.entity.kind)]
        own = {self.graph.number(e.id): () for e in dict.fromkeys([*named, *said]) if e.id}
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
        alone = {n for n, count in Counter(made.node[parts.origin].tolist()).items() if count == 1}
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
        is_a = ByRole(self.graph, Role.IS_A)
        for node in own:
            yield from (n for n, steps in is_a.closure(node, up=False).items() if steps)

    def ordered(self, entity: Entity, role: Role, *, own: bool) -> list[Triple]:
        """One triple for each other end: the heaviest, the often said, the telling, then the usual or the specific."""
        return list(_ordered(self.graph, entity, role, own, self.medicines))

    def _ordered(self, entity: Entity, role: Role, own: bool) -> list[Triple]:  # noqa: FBT001 - called by position
        steps, node = ByRole(self.graph, role), [self.graph.number(entity.id)]
        hops = steps.objects(node) if own else steps.subjects(node)
        if not len(hops.node):
            return []
        ends = unique_numbers(hops.node)
        back = (steps.subjects if own else steps.objects)(ends)
        breadth = dict(zip(ends.tolist(), np.bincount(back.origin, minlength=len(ends)).tolist(), strict=True))
        edges: dict[int, list[Triple]] = {}
        for end, triple in zip(hops.node.tolist(), triples_at(self.graph, hops.edge), strict=True):
            edges.setdefault(end, []).append(triple)
        slips = self._contradicted(hops) if role in (Role.TREATS, Role.ADVERSE, Role.FINDING) else frozenset()
        if own and role in (Role.ADVERSE, Role.COMPLICATION):
            products = (*node, *medicines_of(self.graph).get(self.substance(node[0]), ()))
            places = marking(self.graph, products) if role is Role.ADVERSE else specific(self.graph, node)
            return _last([max(edges[end], key=often) for end in sorted(edges, key=places.__getitem__)], slips, own=own)
        if role is Role.TREATS and not own:
            return _last(self._by_substance(edges, breadth, self._of_others(entity, ends, back)), slips, own=own)
        if role is Role.GENE and own:
            bound = self._bound(node[0], ends, back)
            best = sorted(edges, key=lambda end: (-max(t.weight for t in edges[end]), -bound[end], -breadth[end], end))
            return [max(edges[end], key=often) for end in best]
        usual = 1 if own or role is Role.TESTS else -1
        findings = own and role is Role.FINDING
        tells = telling(self.graph, node[0]) if findings else {}
        has = Counter(ends[steps.objects(ends).origin].tolist()) if findings else Counter[int]()
        if findings:
            edges = {end: said for end, said in edges.items() if _is_finding(entity, self.graph.at(end))} or edges

        def place(end: int) -> tuple[bool, bool, bool, float, bool, float, int, int, int]:
            said = edges[end]
            # of everybody who is taken in
            routine = all(vocabulary.listed("routine tests").search(t.relation.name) for t in said)
            ways, vague = len({t.relation.name for t in said}), is_vague(self.graph.at(end).name)
            others = own is False and all(t.head != entity for t in said)  # not its own entry in the graph says it
            share = max(often(t) if role is Role.FINDING else t.weight for t in said)
            written = (
                findings
                and share == _UNSTATED
                and any(vocabulary.listed("chapters of a text book").search(t.relation.name) for t in said)
            )
            share = _TYPICAL if written else share
            illness = has[end] > breadth[end] and not any(map(stated, said))  # what goes with it is no sign of it
            return routine, vague, illness, -share, others, -tells.get(end, 0.0), -ways, -usual * breadth[end], end

        return _last([max(edges[end], key=often) for end in sorted(edges, key=place)], slips, own=own)

    def causing(self, entity: Entity) -> list[Triple]:
        """One triple for each medicine that has a side effect and is not given for it."""
        slips = self._contradicted(ByRole(self.graph, Role.ADVERSE).subjects([self.graph.number(entity.id)]))
        return [t for t in self.ordered(entity, Role.ADVERSE, own=False) if t.subject.id not in slips]

    def _contradicted(self, hops: Hops) -> frozenset[str]:
        """The ids of the other ends of which all edges are such as the graph itself speaks against."""
        if not any(r.role is Role.TREATS for r in self.graph.relations):
            return frozenset()
        against = contradictions(self.graph).edges
        rows = list(zip(hops.node.tolist(), hops.edge.tolist(), strict=True))
        sound = {node for node, edge in rows if edge not in against}
        return frozenset(self.graph.at(node).id for node, _ in rows if node not in sound)

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
        nodes = unique_numbers(treated.node)
        some = np.array([befalls(written(n)) for n in nodes.tolist()], bool)[nodes.searchsorted(treated.node)]
        share = np.bincount(treated.origin, some, len(medicines)) / np.bincount(treated.origin, None, len(medicines))
        rest = medicines[share < _MUCH].tolist()
        return {
            *medicines[share >= _MUCH].tolist(),
            *(n for n in rest if vocabulary.listed("medicines for women").search(written(n))),
        }

    def _by_substance(
        self, edges: dict[int, list[Triple]], breadth: dict[int, int], of_others: Container[int]
    ) -> list[Triple]:
        """One triple for each medicine, first one of each substance, the best supported and then the specific.

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
            # a graph may turn each label round
            entry = {(t.source, t.relation.name) for t in said if t.subject != t.head}
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


def _last(rows: list[Triple], slips: Container[str], *, own: bool) -> list[Triple]:
    """The triples, behind all others those to what the graph itself speaks against."""
    return sorted(rows, key=lambda t: (t.object if own else t.subject).id in slips) if slips else rows


_LANGUAGES = 4  # names; what has more is named in many languages


def _is_finding(disease: Entity, other: Entity) -> bool:
    """Whether a thing can be a finding of a disease: no part of the body, nor the disease itself, acute or chronic."""
    own, said = disease.name.casefold(), other.name.casefold()
    bare = vocabulary.listed("stages before an illness").sub("", said)
    same = said == own or (bare != said and len(bare) > 1 and own.endswith(bare))
    return other.kind != "body part" and not same


@kept_with_graph(1 << 8)
def _ordered(graph: LocalGraph, entity: Entity, role: Role, own: bool, medicines: bool) -> list[Triple]:  # noqa: FBT001
    """`Family.ordered`, worked out once for the entities asked about of late."""
    return Family(graph, medicines=medicines)._ordered(entity, role, own)


@kept_with_graph(1 << 16)
def _substance_of(graph: LocalGraph, node: int) -> str:
    """`Family.substance`, worked out once for each medicine."""
    return Family(graph)._substance(node)


@lru_cache(maxsize=8)
def medicines_of(graph: LocalGraph) -> Mapping[str, tuple[int, ...]]:
    """The medicines of a graph by their substance, under their names in all languages; kept beside the graph."""
    kept = cached_arrays(graph.folder, "substances", f"{VERSION} {graph.label}", _COLUMNS, lambda: _substances(graph))
    names, begin = kept["text"].tobytes().decode().split("\n"), kept["begin"].tolist()
    return dict(zip(names, map(tuple(kept["node"].tolist()).__getitem__, map(slice, begin, begin[1:])), strict=False))


@vocabulary.kept(8)
def classes_of(graph: LocalGraph) -> tuple[tuple[int, ...], ...]:
    """The entries of a graph that are named as each of `stem_classes`; kept beside the graph."""
    key = f"{VERSION} {graph.label} {vocabulary.digest('classes')}"
    kept = cached_arrays(graph.folder, "classes", key, ("row", "node"), lambda: _class_entries(graph))
    row, node = kept["row"], kept["node"]
    return tuple(tuple(node[row == i].tolist()) for i in range(len(class_patterns())))


def _class_entries(graph: LocalGraph) -> Arrays:
    """The rows of `stem_classes`, and the entries that are named so."""
    names, forms = medicines_of(graph).items(), enumerate(form for _, form, _ in class_patterns())
    found = [(i, n) for i, form in forms for name, nodes in names if form.fullmatch(name) for n in nodes]
    columns = np.array(found, np.int64).reshape(-1, 2)
    return {"row": columns[:, 0], "node": columns[:, 1]}


@vocabulary.kept()
def class_patterns() -> tuple[tuple[re.Pattern[str], ...], ...]:
    """Of each of `stem_classes`: how it is asked for, how entries of it are called, what its members are."""
    rows = ((asked, _CLASS_NAME.format(asked), stem) for asked, stem in stem_classes())
    return tuple(tuple(lazily(text, re.IGNORECASE) for text in row) for row in rows)


@vocabulary.kept(1 << 14)
def classes_by_name(name: str) -> tuple[int, ...]:
    """The numbers of `stem_classes` of which a medicine of that name is one."""
    return tuple(i for i, (_, _, stem) in enumerate(class_patterns()) if stem.search(name))


@vocabulary.kept(1 << 10)
def _names_of_class(graph: LocalGraph, row: int) -> tuple[str, ...]:
    """The names of the medicines of one of `stem_classes`, in the order of `medicines_of`."""
    return tuple(filter(re.compile(stem_classes()[row][1]).search, medicines_of(graph)))


@lru_cache(maxsize=8)
def _places(graph: LocalGraph) -> Mapping[str, int]:
    """The place of each name in `medicines_of`."""
    return {name: place for place, name in enumerate(medicines_of(graph))}


VERSION = 4  # goes up when the columns kept beside a graph change
_COLUMNS = ("text", "begin", "node")
_LONGEST = 40  # characters of a substance's name; longer ones are formulas


def _substances(graph: LocalGraph) -> Arrays:
    """The substance of each name of a medicine, and its node."""
    node, scope = owners(graph)
    medicines = np.isin(node, np.concatenate([graph.of_kind(kind) for kind in MEDICINES]))
    named = np.flatnonzero(medicines & np.isin(scope, (Scope.PREFERRED, Scope.TRANSLATION)))
    rows = sorted(set(zip(map(substance, texts_of(graph, named)), node[named].tolist(), strict=True)))
    kept = [row for row in rows if 1 < len(row[0]) <= _LONGEST]
    counts = Counter(name for name, _ in kept)
    return {
        "text": np.frombuffer("\n".join(counts).encode(), np.uint8),
        "begin": np.cumsum([0, *counts.values()]),
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
