"""The tie between two things that a question names: what a graph says of both comes before all else.

A verdict is a piece of evidence of kind "verdict" whose id says what it is:

- "yes": a triple that the question asks for; "no": one that denies it (a finding that the disease excludes, a medicine
  that must not be taken); "caution": a warning that does not forbid; "interacts": two medicines that do;
- "class": no warning of its own, but one of another medicine of its class;
- "harm": a medicine that can cause what it is to be taken with;
- "reverse": only the other way round; "other": a tie, but another than the one asked for; "none": no tie;
- "unknown": a name that the graph does not have; "lacking": what the question asks of a thing, and the graph lacks;
- "heads": what the lists behind it do not say: how serious it is, which of them are of a class.
"""

import re
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import NamedTuple

import numpy as np

from kgmed.graph.base import LocalGraph, Scope
from kgmed.language import lay
from kgmed.language.pair import ANY_TIE, PAIRS, WITH_A_DRINK, PairType, asks_what, is_yes_no
from kgmed.language.particulars import (
    DRINKS,
    People,
    circumstances_of,
    clauses_about,
    drinks_of,
    forbids,
    people_of,
    worsened_by,
)
from kgmed.language.question import asking_part, asks_at, types_asked
from kgmed.language.text import has_cjk, lazily
from kgmed.records import Entity, Evidence, Link, Mention, Query, Role, Triple
from kgmed.steps.family import MEDICINES, Family, class_named, names_of, substance
from kgmed.steps.naming import Tie, joining, naming
from kgmed.steps.phrase import Language, abroad, affirmed, language_of, named, sentence, verdict
from kgmed.steps.things import allergens, allergies, are_two, is_allergy, names_people, things_of

VERDICT = "verdict"
_WARNS = (Role.CONTRAINDICATED, Role.PRECAUTION, Role.AVOID)
_ORDER = (
    "no",
    "interacts",
    "caution",
    "class",
    "harm",
    "yes",
    "reverse",
    "other",
    "none",
)  # of several verdicts, what is said first
_PRODUCTS = 120  # ours: products of a medicine whose warnings are looked at; one that is not seen is not told
_GRAVE = ("no", "interacts", "caution", "class", "harm")


Ways = Mapping[int, tuple[Triple, ...]]  # entries that speak of a thing, and what leads to each


def is_verdict(evidence: Evidence, *which: str) -> bool:
    """Whether a piece of evidence is a verdict, or one of those named."""
    return evidence.kind == VERDICT and (not which or evidence.id in which)


class NamedPlace(NamedTuple):
    """What a verdict is about, and in which language it is said."""

    pair: PairType
    about: tuple[Entity, Entity]
    language: Language


@dataclass(frozen=True)
class Between:
    """The verdicts on the things that a question names, for a row of the table of pairs."""

    graph: LocalGraph
    most: int = 3  # triples in one verdict

    @property
    def family(self) -> Family:
        """Under which other entries a thing is spoken of."""
        return Family(self.graph, products=_PRODUCTS)

    def __call__(self, query: Query, links: Sequence[Link], pair: PairType) -> list[Evidence]:
        """One verdict for each two things named, the gravest first; [] where fewer than two are named."""
        taken = pair.safety or pair.name == "interaction"
        groups, drinks = people_of(query.text) if pair.safety else (), drinks_of(query.text) if taken else ()
        if pair is WITH_A_DRINK:  # which is then looked for by all its names
            links = [link for link in links if not _is_a_drink(link)]
        if more := list(self._circumstances(query.text, links, but=drinks)):
            links = sorted([*links, *more], key=lambda link: link.mention.start)
        links = allergies(links)
        asked = {link.entity.id for link in links if asks_at(query.text, link.mention.start)}
        told = (*groups, *drinks)
        things = things_of([link for link in links if not (taken and names_people(link, told))], asked)
        found = [
            (len({a.entity.id, b.entity.id} & asked), self._two(query, a, b, pair))
            for a, b in combinations(things, 2)
            if are_two(a, b) and (not asked or {a.entity.id, b.entity.id} & asked)
            if not pair.safety or self.is_medicine(a) or self.is_medicine(b)
        ]
        of_groups = [
            self._people(query, link, group, pair)
            for link in (link for link in things if told and self.is_medicine(link))
            for group in told
            if not group.in_question.search(link.mention.surface)
        ]
        if len(of_groups) > 1 and _EITHER.search(query.text):  # which of them: each is told, and not one with another
            return of_groups[:4]
        found += [(2, e) for e in of_groups]
        found.sort(key=lambda row: (-row[0] if taken else 0, _ORDER.index(row[1].id)))
        verdicts = [e for _, e in found]
        said = _warning(found, of_groups) if pair.safety else [e for e in verdicts if e.id != "none"]
        return list({e.text: e for e in said}.values())[:3] or verdicts[:1]

    def why(self, query: Query, links: Sequence[Link]) -> list[Evidence]:
        """That a medicine can cause what is told, where it is asked what that is: 吃了氨氯地平脚肿怎么回事; else []."""
        return [e for e in self(query, links, _SIDE_EFFECT) if e.id == "yes"] if self._after(links) else []

    def _after(self, links: Sequence[Link]) -> bool:
        """Whether medicines are named and something else that may come of them."""
        things = things_of(links)
        taken = [link for link in things if self.is_medicine(link)]
        return 0 < len(taken) < len(things)

    def _shows(self, links: Sequence[Link]) -> bool:
        """Whether two things are named, an illness and what may be seen of it."""
        things = [link for link in things_of(links) if link.entity.kind != "body part"]
        return len(things) == 2 and sum(map(self.family.is_symptom, (link.entity for link in things))) == 1

    def _circumstances(self, text: str, links: Sequence[Link], but: Sequence[People] = ()) -> Iterator[Link]:
        """What is asked about besides medicines and was not linked, by a name that the graph has: 酒 in 头孢和酒."""
        for what in circumstances_of(text):
            if what in but or any(what.in_question.search(link.mention.surface) for link in links):
                continue
            at = what.in_question.search(text)
            entity = next((m.entity for name in what.names for m in self.graph.lookup(name)[:1]), None)
            if at and entity:
                yield Link(Mention(at[0], at[0], *at.span()), entity, 1.0, "circumstance")
        yield from self.classes(text, links)

    def classes(self, text: str, links: Sequence[Link]) -> list[Link]:
        """The classes of medicines that a text names by what their members' names have in common, not linked yet."""
        found = []
        for at in class_named(text):
            mention = Mention(at[0], at[0], *at.span())
            if not any(link.mention.start < at.end() and at.start() < link.mention.end for link in links):
                node = next(iter(self.family.members(Link(mention, Entity("", at[0], "drug"), 1.0, "class"))), None)
                if node is not None:
                    found.append(Link(mention, replace(self.graph.at(node), name=at[0]), 1.0, "class"))
        return found

    def fitting(self, query: Query, links: Sequence[Link], pairs: Sequence[PairType]) -> PairType | None:
        """The row that fits the things named: one about taking something only where a medicine is named."""
        links = [*links, *self._circumstances(query.text, links)]
        taken = any(self.is_medicine(link) for link in links if not link.mention.negated)
        rows = [row for row in pairs if taken or not row.safety]
        people = people_of(query.text)
        safety = [row for row in rows if row.safety and people]
        asked = types_asked(query.text)
        roles = {row.role for row in asked}
        if not rows and Role.CAUSE in roles <= {Role.CAUSE, Role.CONTRAINDICATED} and self._after(links):
            return _SIDE_EFFECT if len(roles) == 1 else _FOR_PEOPLE  # why one coughs of it, or must not take it
        if not rows and roles == {Role.ADVERSE} and is_yes_no(query.text) and self._after(links):
            return _SIDE_EFFECT  # "does it harm the liver?", where that is the name of what is asked about
        if not rows and roles == {Role.CAUSE} and self._shows(links):
            return ANY_TIE  # why one loses weight with an illness
        if not rows and _NEEDED.search(query.text):
            return None  # whether one needs a medicine is not whether one may take it
        if taken and not rows and all(row.role is Role.CONTRAINDICATED for row in asked):
            if people and not (asked and asks_what(query.text)):
                return _FOR_PEOPLE  # "metformin pregnancy"
            return self._bare(query, links, warned=bool(asked))
        row = next(iter([*safety, *rows]), None)
        if row and row.safety and not people and self._only_a_drink(links):
            return WITH_A_DRINK
        if not row and is_yes_no(query.text) and not types_asked(query.text) and len(things_of(links)) == 2:
            return ANY_TIE if asking_part(query.text).strip() == query.text.strip() else None
        if row and row.name in _ANY_TIE and len(things := things_of(links)) > 1 and all(map(self.is_medicine, things)):
            return _TAKEN_TOGETHER  # what one medicine does to another
        return row

    def _only_a_drink(self, links: Sequence[Link]) -> bool:
        """Whether all that is taken is something to drink, beside an illness: 痛风能喝酒吗."""
        rest = [link for link in links if not _is_a_drink(link)]
        return 0 < len(rest) < len(links) and not any(map(self.is_medicine, rest))

    def _bare(self, query: Query, links: Sequence[Link], *, warned: bool) -> PairType | None:
        """The row for two names without a verb: two medicines, or what one does for a condition, or warns of.

        `warned` = only what it warns of is asked: 二甲双胍 肾功能不全 禁忌.
        """
        things = things_of(links)
        whole = asking_part(query.text).strip() == query.text.strip()
        taken = [link for link in things if self.is_medicine(link)]
        if len(things) > 2 and len(taken) == 1 and whole and not warned and not asks_what(query.text):
            return _DOES  # 异烟肼 肝损害 周围神经炎 对吗
        if len(things) != 2 or not are_two(things[0], things[1]) or not whole or asks_what(query.text):
            return None
        if all(map(self.is_medicine, things)):
            return _TAKEN_TOGETHER
        ties = [] if warned else [*self.ties(*things), *self._texts(*things)]
        said = {t.triple.relation.role for t in ties}
        if Role.TREATS in said:
            known_way = self.is_medicine(things[0]) and (Role.ADVERSE not in said or any(map(_grade, ties)))
            return _TREATS if known_way else ANY_TIE
        if warned or any(map(_grade, ties)):
            return _FOR_PEOPLE
        other = next((link for link in things if not self.is_medicine(link)), things[0])
        finding = Role.ADVERSE in said or other.entity.kind in _FINDINGS
        return _SIDE_EFFECT if finding and not circumstances_of(other.mention.surface) else _FOR_PEOPLE

    def is_medicine(self, link: Link) -> bool:
        """Whether a link is to something that is taken."""
        return link.entity.kind not in _ILL and any(e.kind in MEDICINES for e in self.family.twins(link))

    # --- two things

    def _two(self, query: Query, a: Link, b: Link, pair: PairType) -> Evidence:
        """What the graph says of two things."""
        ties = sorted([*self.ties(a, b), *self._texts(a, b)], key=lambda tie: tie.cost)
        place = NamedPlace(pair, (a.entity, b.entity), language_of(query.text))
        if pair.safety or pair.name == "interaction":
            return self._taken(ties, a, b, place)
        if pair.name == "same":  # a product of one that is named after the other is neither
            own = {*self.family.twins(a), *self.family.twins(b)}
            ties = [t for t in ties if {t.triple.head, t.triple.tail} <= own]
        against = [t for t in ties if _denies(t, pair)]
        good = [t for t in ties if _says(t, pair)]
        if against and (not good or against[0].cost < good[0].cost):
            return self._verdict("no", against, place)
        if good:
            order = [role for role, _ in pair.roles]
            good.sort(key=lambda t: (t.of_kinds, _rank(order, t.triple.relation.role), t.cost))
            if pair is ANY_TIE:  # one of each kind first: what treats a finding may cause it, but warnings before all
                firsts = {t.triple.relation.role: t for t in reversed(good)}.values()
                warned = any(map(_grade, good))
                good.sort(
                    key=lambda t: (t not in firsts, not _grade(t), warned == (t.triple.relation.role is Role.TREATS))
                )
            return self._verdict("yes", good, place)
        if implied := [t for t in ties if _is_spread_so(t.triple, query.text)]:
            return self._verdict("yes", implied, place)
        if not ties and (near := self._near(a, b, pair)):
            return self._verdict("yes", near, place)
        turned = [t for t in ties if _says(replace(t, along=not t.along), pair)]
        if turned and pair.name in _EITHER_WAY:  # one treats gout with colchicine, and nothing with gout
            return self._verdict("yes", turned, place)
        if not ties and (role := next((role for role, _ in pair.roles if role in _OF_MATES), None)):
            return self._verdict("none", self._of_mates(a, b, role), place)
        return self._verdict("reverse" if turned else "other" if ties else "none", turned or ties, place)

    def _taken(self, ties: Sequence[Tie], a: Link, b: Link, place: NamedPlace) -> Evidence:
        """The verdict on taking one of two things with the other."""
        allergy = is_allergy(a) or is_allergy(b)  # whose medicine is not taken: what it interacts with is no matter
        ties = [t for t in ties if not (allergy and t.triple.relation.role is Role.INTERACTS)]
        ties += self._by_class(a, b) if not any(map(_grade, ties)) else []
        if not any(map(_grade, ties)):
            given = any(t.triple.relation.role in (Role.TREATS, Role.ADVERSE) for t in ties)
            if alike := self._forbidden_to_mates(a, b, ties):
                return self._verdict("class", alike, place)
            if not given and (worse := self._worsened(a, b)):
                return self._verdict("harm", worse, place)
            if not given and (alike := self._alike(a, b)):
                return self._verdict("class", alike, place)
        both = self.is_medicine(a) and self.is_medicine(b)
        if warned := self._warned(ties, place, medicines=both):
            return warned
        return self._verdict("none", [], place) if allergy else self._mates(a, b, place)

    def _near(self, a: Link, b: Link, pair: PairType) -> list[Tie]:
        """What says yes of two things that nothing ties, by what one is a kind of or by what is named after it."""
        wider = self._wider(a, b) if pair.name in _OF_EFFECTS else []
        return wider or [t for t in self._holding(a, b) if _says(t, pair)]

    def _wider(self, a: Link, b: Link) -> list[Tie]:
        """That a medicine can cause what a finding is a kind of: shaking hands are a tremor."""
        taken, finding = (a, b) if self.is_medicine(a) else (b, a)
        if not self.is_medicine(taken) or self.is_medicine(finding):
            return []
        plain = (m.entity for m in self.graph.lookup(_SORT.sub("", finding.entity.name))[:1])  # 干咳 of 刺激性干咳
        own = [*self.family.of(finding, narrower=False), *(self.graph.number(e.id) for e in plain)]
        nodes: dict[int, tuple[Triple, ...]] = dict.fromkeys(own, ())
        for _ in range(_STEPS_UP):
            nodes = self.family.classes(nodes)
            ties = self._tied(self.family.of(taken, narrower=False), nodes)
            if found := [t for t in ties if t.triple.relation.role is Role.ADVERSE]:
                return found
        return []

    def _holding(self, a: Link, b: Link) -> list[Tie]:
        """What one has whose name holds that of the other: 甲状腺 in 甲状腺功能减退症."""
        found = []
        for one, other, along in ((a, b, True), (b, a, False)):
            ways = self.family.of(one, narrower=False) | self.family.members(one)
            for t, why in naming(self.graph, ways, self._said_of(other)):
                own = self.graph.number(t.subject.id) in ways
                found.append(Tie(t, why, along is own, 10 * len(why)))
        return found

    def _said_of(self, link: Link) -> set[str]:
        """What a thing is called; nothing of a medicine, after which products are named."""
        taken = link.entity.kind in MEDICINES - {"treatment"} and not _CLASS_NAME.search(link.entity.name)
        return set() if taken else {link.mention.surface, *self._called(link.entity)}

    def _mates(self, a: Link, b: Link, place: NamedPlace) -> Evidence:
        """That nothing is known of two things; of two medicines, with what is known of others of a class of that name.

        One that interacts is no warning, since interactions differ within a class; several are.
        """
        found: list[Tie] = []
        for one, other in ((a, b), (b, a)) if self.is_medicine(a) and self.is_medicine(b) else ():
            found += self._tied(self.family.mates(one), self.family.of(other, narrower=False))
        alike = sorted((t for t in found if _grade(t) in ("no", "interacts")), key=lambda t: t.cost)
        if any(_grade(t) == "no" for t in alike):
            return self._verdict("class", [t for t in alike if _grade(t) == "no"], place)
        several = len({substance(e.name) for t in alike for e in (t.triple.subject, t.triple.object)}) > _SEVERAL
        return self._verdict("class" if several else "none", alike, place)

    def _of_mates(self, a: Link, b: Link, role: Role) -> list[Tie]:
        """What other medicines of a class of that name treat or cause, of a medicine and an illness without a tie."""
        medicine, illness = (a, b) if self.is_medicine(a) else (b, a)
        if not self.is_medicine(medicine) or self.is_medicine(illness):
            return []
        found = self._tied(self.family.mates(medicine), self.family.of(illness, narrower=False))
        return [t for t in found if t.triple.relation.role is role]

    def _warned(self, ties: Sequence[Tie], place: NamedPlace, *, medicines: bool) -> Evidence | None:
        """A verdict on taking something by what warns, or what it does for a disease; None where there is neither."""
        graded = [(grade, t) for t in ties if (grade := _grade(t))]
        if graded:
            worst = min((grade for grade, _ in graded), key=_GRAVE.index)
            return self._verdict(worst, [t for grade, t in graded if grade == worst], place)
        said = [t for t in ties if not medicines and t.triple.relation.role in (Role.TREATS, Role.ADVERSE)]
        harms = bool(said) and all(t.triple.relation.role is Role.ADVERSE for t in said)
        said.sort(key=lambda t: t.triple.relation.role is Role.TREATS)  # whether it is safe is told by what it does
        return self._verdict("harm" if harms else "other", said, place) if said else None

    def _verdict(self, which: str, ties: Sequence[Tie], place: NamedPlace) -> Evidence:
        """The verdict with its nearest ties, in words."""
        shown = _different(ties)[: self.most]
        triples = tuple(dict.fromkeys([*(t.triple for t in shown), *(w for t in shown for w in t.why)]))
        told = shown if which in ("class", "none") else [self._by_substance(t, place) for t in shown]
        return Evidence(_said(which, told, place), VERDICT, triples, place.about, 1.0, which)

    def _by_substance(self, tie: Tie, place: NamedPlace) -> Tie:
        """The tie as it is told: of the substance that was asked about, and not of a product of it and nothing else."""
        owner, product = place.about[0 if tie.along else 1], tie.triple.subject
        if not (owner.id and product.id):
            return tie
        node, other = self.graph.number(owner.id), self.graph.number(product.id)
        if place.language or owner.kind not in MEDICINES or owner.name != self.graph.at(node).name or node == other:
            return tie
        called = {substance(name) for name in self._called(owner)}
        if not self.family.is_called(other, called) and not any(t.relation.role is Role.INGREDIENT for t in tie.why):
            return tie
        t = tie.triple
        return replace(tie, triple=replace(t, tail=owner) if t.relation.reverse else replace(t, head=owner))

    def ties(self, a: Link, b: Link) -> list[Tie]:
        """The triples between the entries of two things, the nearest first."""
        left, right = self.family.of(a), self.family.of(b)
        for node in left.keys() & right.keys():  # what is both is neither's kind: "pain" and "back pain"
            near = left if self._own(a, node) else right
            (right if near is left else left).pop(node)
        kinds = {*left, *right} - {*self.family.of(a, narrower=False), *self.family.of(b, narrower=False)}
        return self._tied(left | self._besides(a, right), right | self._besides(b, left), kinds)

    def _besides(self, link: Link, others: Mapping[int, object]) -> dict[int, tuple[Triple, ...]]:
        """What else says of a thing: the medicines of a class, and what a circumstance or a finding is called too.

        So do the infection by a germ, and the people who have a disease: 幽门螺杆菌感染, 高血压病人.
        """
        names = [n for c in circumstances_of(f"{link.mention.surface} {link.entity.name}") for n in c.names]
        if not self.is_medicine(link):
            name = link.entity.name
            names += [
                name.replace("疼痛", "痛").replace("疼", "痛"),
                *(name + end for end in _HAVING),
                *lay.others(name),  # in a patient's words it is one thing
            ]
        nodes = (self.graph.number(m.entity.id) for name in names for m in self.graph.lookup(name)[:1])
        found = self.family.members(link) | dict.fromkeys(nodes, ())
        return {node: why for node, why in found.items() if node not in others}

    def _own(self, link: Link, node: int) -> bool:
        return self.graph.at(node) == link.entity

    def _tied(self, left: Ways, right: Ways, kinds: Container[int] = ()) -> list[Tie]:
        places = {node: i for i, node in enumerate(left)} | {node: i for i, node in enumerate(right)}
        found = []
        for edge, along in self._edges(list(left), list(right)):
            triple = self.graph.triple(edge)
            ends = [self.graph.number(e.id) for e in (triple.head, triple.tail)]
            why = (*left.get(ends[0], right.get(ends[0], ())), *right.get(ends[1], left.get(ends[1], ())))
            along_role = along != triple.relation.reverse
            far = sum(np.log1p(places.get(n, 0)) for n in ends)
            cost = 10 * len(why) + float(far) - triple.weight
            found.append(Tie(triple, why, along_role, cost, of_kinds=any(n in kinds for n in ends)))
        return sorted(found, key=lambda t: t.cost)

    def _edges(self, left: list[int], right: list[int]) -> Iterator[tuple[int, bool]]:
        """The edges from `left` to `right` (True) and back (False)."""
        out = self.graph.adjacency.out
        yield from ((edge, True) for edge in joining(out, left, right))
        yield from ((edge, False) for edge in joining(out, right, left))

    def _by_class(self, a: Link, b: Link) -> list[Tie]:
        """Warnings for the class of a medicine hold for it: one is looked up by its class where it has none itself."""
        one, other = self.family.of(a, narrower=False), self.family.of(b, narrower=False)
        ties = self._tied(self._classes(one) | self.family.named_classes(a), other)
        ties += self._tied(one, self._classes(other) | self.family.named_classes(b))
        return [t for t in ties if _grade(t)]

    def _classes(self, nodes: Mapping[int, object]) -> dict[int, tuple[Triple, ...]]:
        """The classes of some entries, also as others write them: 洋地黄甙类 is 洋地黄类药物."""
        found = self.family.classes(nodes)
        for node, why in list(found.items()):
            bare = _CLASS.sub("", self.graph.at(node).name)
            for match in (m for end in _CLASS_ENDS if len(bare) > 1 for m in self.graph.lookup(bare + end)[:1]):
                found.setdefault(self.graph.number(match.entity.id), why)
        return found

    def _alike(self, a: Link, b: Link) -> list[Tie]:
        """Warnings of other medicines of a small class of one: what holds of a nitrate may hold of another.

        Of two medicines only what must not be: interactions differ within a class.
        """
        found: list[Tie] = []
        grades = ("no",) if self.is_medicine(a) and self.is_medicine(b) else ("no", "caution")
        for one, other, along in ((a, b, True), (b, a, False)):
            if not self.is_medicine(one):
                continue
            own = self.family.of(one, narrower=False)
            members = {n: () for n in self.family.siblings(own) if n not in own}
            ties = self._tied(members, self.family.of(other, narrower=False))
            found += [t for t in (*ties, *self._told(members, other, along=along)) if _grade(t) in grades]
        return sorted(found, key=lambda t: t.cost)

    def _forbidden_to_mates(self, a: Link, b: Link, ties: Sequence[Tie]) -> list[Tie]:
        """What labels of others of a class of that name forbid in an illness, of a medicine that can cause it.

        Of a medicine that is given for it a warning of another is no reason.
        """
        medicine, illness = (a, b) if self.is_medicine(a) and not is_allergy(a) else (b, a)
        if not self.is_medicine(medicine) or (self.is_medicine(illness) and not is_allergy(illness)):
            return []
        harms = ties and all(t.triple.relation.role is Role.ADVERSE for t in ties)
        if not (harms or is_allergy(illness) or self._worsened(a, b)):
            return []
        mates = self.family.mates(medicine)
        found = [*self._tied(mates, self.family.of(illness, narrower=False)), *self._told(mates, illness, along=True)]
        return sorted((t for t in found if _grade(t) == "no"), key=lambda t: t.cost)

    def _worsened(self, a: Link, b: Link) -> list[Tie]:
        """What one, a medicine, can cause that makes the other, an illness, worse: bronchospasm and asthma."""
        medicine, illness = (a, b) if self.is_medicine(a) else (b, a)
        if not self.is_medicine(medicine) or self.is_medicine(illness):
            return []
        acts = worsened_by(f"{illness.mention.surface} {illness.entity.name}")
        nodes = {self.graph.number(m.entity.id): () for name in acts for m in self.graph.lookup(name)[:1]}
        ties = self._tied(self.family.of(medicine, narrower=False), nodes)
        return [t for t in ties if t.triple.relation.role is Role.ADVERSE and t.triple.object.kind not in MEDICINES]

    # --- texts: "禁用于青光眼" is a contraindication of its drug for glaucoma

    def _texts(self, a: Link, b: Link) -> list[Tie]:
        """The texts about one that name the other."""
        return [*self._naming(a, b, along=True), *self._naming(b, a, along=False)]

    def _naming(self, a: Link, b: Link, *, along: bool) -> Iterator[Tie]:
        return self._told(self.family.of(a, narrower=False) | self.family.members(a), b, along=along)

    def _told(self, nodes: Mapping[int, tuple[Triple, ...]], b: Link, *, along: bool) -> Iterator[Tie]:
        """The texts of some entries that name a thing."""
        names = {b.mention.surface, *(name for e in self.family.twins(b) for name in self._called(e))}
        if is_allergy(b):  # to amoxicillin: its labels say that it is one to penicillin
            own = (t.tail.name for node in self.family.of(b) for t in self.graph.attributes(self.graph.at(node).id))
            names |= {f"{name}过敏" for name in allergens(own)}
        wanted = [n for n in names if len(n) >= (2 if has_cjk(n) else 4)]
        if not wanted:
            return
        allergic = [f"{re.escape(n[:-2])}[^。；，]{{0,12}}过敏" for n in wanted if re.fullmatch(r".{2,}过敏", n)]
        parts = [re.escape(n) if has_cjk(n) else rf"\b{re.escape(n)}" for n in wanted]
        parts += [*allergic, *(c.found for c in circumstances_of(f"{b.mention.surface} {b.entity.name}"))]
        pattern = re.compile("|".join(parts), re.I)
        for place, (node, why) in enumerate(nodes.items()):
            for t in self.graph.attributes(self.graph.at(node).id):
                if said := clauses_about(t.tail.name, pattern):
                    yield Tie(t, why, along, 10 * len(why) + float(np.log1p(place)) + 1, said)

    def _called(self, entity: Entity) -> set[str]:
        """The names of an entity in the languages of the texts, as far as the graph tells."""
        told = names_of(self.graph, self.graph.number(entity.id))
        return {text for text, scope in told if scope <= Scope.TRANSLATION}

    # --- people: pregnancy, children, ...

    def _people(self, query: Query, link: Link, group: People, pair: PairType) -> Evidence:
        """What the graph warns of for a group of people."""
        language = language_of(query.text)
        kind = "drug" if group in DRINKS else ""
        place = NamedPlace(pair, (link.entity, Entity("", group.name[language], kind)), language)
        found = self._speaking_of(self.family.of(link, narrower=False) | self.family.members(link), group)
        graded = [(_for_people(t), t) for t in found]
        if not graded:
            alike = self._alike_for(link, group)
            return self._verdict("class" if alike else "none", alike, place)
        worst = min((grade for grade, _ in graded), key=("no", "interacts", "caution", "other").index)
        return self._verdict(worst, sorted((t for g, t in graded if g == worst), key=lambda t: t.cost), place)

    def _speaking_of(self, entries: Mapping[int, tuple[Triple, ...]], group: People) -> list[Tie]:
        """What the graph says of some entries and a group of people."""
        found = []
        roles = (*_WARNS, Role.INTERACTS)
        for far, (node, why) in enumerate(entries.items()):
            entity = self.graph.at(node)
            for t in (*self.graph.attributes(entity.id), *self.graph.neighbours(entity.id, roles=roles)):
                if t.subject == entity and (said := _of_people(t, group)):
                    found.append(Tie(t, why, along=True, cost=10 * len(why) + float(np.log1p(far)), said=said))
        return found

    def _alike_for(self, link: Link, group: People) -> list[Tie]:
        """What others of a class of that name must not be taken with, or by: then most that speak of such people."""
        spoken = self._speaking_of(self.family.mates(link), group)
        found = [t for t in spoken if _for_people(t) == "no"]
        forbidden, speaking = ({substance(t.triple.subject.name) for t in ties} for ties in (found, spoken))
        most = group in DRINKS or (len(forbidden) > _SEVERAL and 5 * len(forbidden) >= 4 * len(speaking))
        return sorted(found, key=lambda t: t.cost) if most else []


def _is_a_drink(link: Link) -> bool:
    return any(drink.in_question.search(link.mention.surface) for drink in DRINKS)


_EITHER = lazily(r"\b(?:safer|better|or)\b|还是|哪[个种]更", re.IGNORECASE)
_ILL = ("disease", "phenotype")  # what one has is taken by nobody, whatever else a graph calls so
_NEEDED = lazily(
    r"(?:要|需要|该|必须)(?:不要|不该)?(?:吃|补|用|服)[^，。？?]*(?:吗|么|不)|\b(?:need|have) to take\b", re.IGNORECASE
)
_CLASS_NAME = lazily("(?:药|激素|类|抗生素)$")
_EITHER_WAY = ("has", "treats", "is treated", "cures", "prevents", "is prevented")  # whichever is named first
_HAVING = ("感染", "病人", "患者")
_CLASS_ENDS = ("类药物", "类药", "类", "药物", "甙类", "苷类", "类化合物")
_CLASS = lazily("(?<=[一-鿿])(?:[甙苷]?类)?(?:药物?|化合物)?$")


_FOR_PEOPLE = next(row for row in PAIRS if row.name == "safety")
_TAKEN_TOGETHER = next(row for row in PAIRS if row.name == "interaction")
_DOES = replace(ANY_TIE, ties="adverse* treats* contraindicated* precaution*", yes=("Yes", "是"))
_TREATS = next(row for row in PAIRS if row.name == "treats")
_SORT = re.compile("^[一-鿿]{1,3}性(?=[一-鿿]{2})")
_OF_EFFECTS = ("is a side effect", "causes", "has", "is caused")
_SIDE_EFFECT = next(row for row in PAIRS if row.name == "is a side effect")
_SEVERAL = 2  # ours: names in the ties of two medicines with others of their classes: one and one, and more
_OF_MATES = (Role.TREATS, Role.ADVERSE)  # what is told of others of the class where nothing is known of a medicine
_FINDINGS = ("phenotype", "symptom", "finding")
_STEPS_UP = 2  # ours: what a finding is a kind of, by a part of the body and by itself
_ANY_TIE = ("affects", "link", "causes", "has", "is a risk")  # rows that of two medicines mean that they interact


def _is_medicine(entity: Entity) -> bool:
    return entity.kind in MEDICINES


def _said(which: str, ties: Sequence[Tie], place: NamedPlace) -> str:
    """The sentence of a verdict."""
    pair, (one, other), language = place
    facts = [_fact(t, place) for t in ties]
    if which == "yes" or (which == "interacts" and not pair.safety) or (which == "no" and pair.name == "danger"):
        return affirmed(pair.yes[language], language, facts)
    if which == "no" and any(t.triple.relation.role is Role.EXCLUDES for t in ties):
        which = "denied"
    if which == "class" and not all(map(_is_medicine, place.about)) and all(_grade(t) == "no" for t in ties):
        which = "class, forbidden"
    if which == "other" and pair.safety:
        which = "no warning, but"
    if which == "none" and (pair.safety or pair.name == "interaction" or pair is WITH_A_DRINK):
        which = "no warning, but of others" if ties else "no warning"
    elif which == "none" and ties:
        which = "none, but of others"
    return verdict(which, language, facts, named(one, language), named(other, language))


def _fact(tie: Tie, place: NamedPlace) -> str:
    """A tie in words; of a text in the other language what it comes to, and its beginning."""
    triple, language = tie.triple, place.language
    if triple.tail.id or not tie.said or has_cjk(tie.said) == bool(language) or not _grade(tie):
        return sentence(triple, language, tie.said)
    role = Role.CONTRAINDICATED if _grade(tie) == "no" else Role.PRECAUTION
    return abroad(triple.subject, role, place.about[int(tie.along)], tie.said, language)


def _different(ties: Sequence[Tie]) -> list[Tie]:
    """The ties that say different things: twenty products of one medicine interact with another alike."""
    once: dict[tuple[str, str, Role], Tie] = {}
    for t in ties:
        key = (substance(t.triple.subject.name), t.said or substance(t.triple.object.name), t.triple.relation.role)
        once.setdefault(key, t)
    return list(once.values())


def _warning(found: Sequence[tuple[int, Evidence]], of_groups: Sequence[Evidence]) -> list[Evidence]:
    """Of verdicts on taking something, each with how many of its two things are asked about, those that are said.

    These are what is said of the things and the people that are asked about, and what else warns: of another medicine
    of the class only where nothing else does, and no harm of what is only told on the way. That nothing warns of the
    complaint for which it may be taken comes after what warns of an illness that is told: 有胃溃疡，腰疼能吃扶他林吗.
    """
    asked = max((count for count, _ in found), default=0)
    warns = [e for count, e in found if e.id in _GRAVE and e.id != "class" and (e.id != "harm" or count == asked)]
    about = [e for count, e in found if count == asked]
    if not any(e.id in _GRAVE for e in about[:1]):  # of what nothing is known comes first: it may be what is meant
        about = [*[e for e in about if e.id == "none"][:2], *[e for e in about if e.id != "none"][:1]]
    else:
        about = about[:1]
    alike = [] if warns else [e for _, e in found if e.id == "class"]
    first = [e for e in of_groups or about if e in of_groups or not (warns or alike) or not _is_a_reason(e)]
    return [*(e for e in warns if e in about), *first, *warns, *alike, *(e for e in about if e not in first)]


def _is_a_reason(e: Evidence) -> bool:
    """Whether nothing warns of a medicine and a complaint: it may well be what the medicine is to be taken for."""
    return e.id in ("none", "other") and not all(entity.kind in MEDICINES for entity in e.about)


def _says(tie: Tie, pair: PairType) -> bool:
    """Whether a tie says yes; a question about any link ("related") is answered by any."""
    role = tie.triple.relation.role
    if role is Role.EXCLUDES:
        return False
    if not pair.roles:
        return True
    return any(role is wanted and way in ("*", "+" if tie.along else "-") for wanted, way in pair.roles)


_SPREADS = lazily("传播|传染")


def _is_spread_so(triple: Triple, text: str) -> bool:
    """Whether it is asked how an illness spreads, and a triple says it: 传播途径, 母婴传播."""
    return bool(_SPREADS.search(triple.relation.name) and _SPREADS.search(text))


def _denies(tie: Tie, pair: PairType) -> bool:
    """Whether a tie says the opposite of what is asked."""
    role, wanted = tie.triple.relation.role, {role for role, _ in pair.roles}
    if role is Role.EXCLUDES:
        return not wanted or Role.FINDING in wanted
    return role is Role.CONTRAINDICATED and Role.TREATS in wanted


def _grade(tie: Tie) -> str:
    """How grave a warning is; "" for what is none."""
    role = tie.triple.relation.role
    if role in (Role.CONTRAINDICATED, Role.AVOID):
        return "caution" if "慎" in tie.text and not forbids(tie.text) else "no"
    if role is Role.INTERACTS:
        return "interacts"
    if role is Role.PRECAUTION:
        return "no" if forbids(tie.text) else "caution"
    return ""


_RISKY = {"X": "no", "D": "no", "C": "caution", "B": "other", "A": "other"}  # the categories of the FDA


def _for_people(tie: Tie) -> str:
    """How grave a text about a group of people is; a pregnancy category by its letter."""
    letter = re.fullmatch(r"(?:category )?([ABCDX])\d?", tie.text.strip(), re.IGNORECASE)
    if letter:
        return _RISKY[letter[1].upper()]
    return _grade(tie) or ("no" if forbids(tie.text) else "caution")


def _of_people(triple: Triple, group: People) -> str:
    """The part of a triple that speaks of a group: of a text its sentences, of a category all of it; "" for none."""
    name, role = triple.object.name, triple.relation.role
    if triple.tail.id:
        return name if group.in_text.search(name) else ""
    if role in _WARNS or role is Role.OTHER:
        said = clauses_about(name, group.in_text)
        if said and (role in _WARNS or forbids(said)):
            return said
        if group.in_text.search(triple.relation.name.replace("_", " ")):
            return name
    return ""


def _rank(order: Sequence[Role], role: Role) -> int:
    return order.index(role) if role in order else len(order)
