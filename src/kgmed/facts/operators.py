"""Operators that list what a thing has in a role, what has a thing in a role, or all that is known of a thing."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice

import numpy as np

from kgmed import vocabulary
from kgmed.facts.plan import (
    ILL,
    Asked,
    RicherNames,
    Wanted,
    is_an_illness,
    is_case,
    links_of,
    mode_pattern,
    operator_named,
    wanted,
)
from kgmed.frame import OTHER_THAN, Ask, Form, Intent, Named
from kgmed.graph.base import ByRole, Hops, LocalGraph, Scope, names_of
from kgmed.graph.contradictions import WARNS
from kgmed.graph.store.store import Store, written_in
from kgmed.language import lay
from kgmed.language.text import fold, has_cjk
from kgmed.question.patient import TAKEN, is_of_people
from kgmed.records import VERDICT, Entity, Evidence, Link, Mention, Query, Role, Triple
from kgmed.sentences import catalogue
from kgmed.steps.facts import called, name_of, named
from kgmed.steps.family import MEDICINES, Family, is_heading, is_raw, medicines_of, substance
from kgmed.steps.retrieve import Overview, told
from kgmed.triples import OF_THE_SUBJECT
from kgmed.vocabulary import Predicate

# --- Retriever: what a question asks for (drugs, tests, side effects, ...), from the entities it names.
# An asked role leads from an entity to its other end. One of which the graph says nothing in that role is replaced by
# one of the same name or, a substance, by its brands and the products of it alone. Lists are given heaviest first, then
# what is said in more relations, then the usual; treatments a substance at a time, before its brands. Of findings alone
# the diseases that explain them stand between: the best is believed by `via`, others by their odds.
# The score of a candidate is the sum over those entities of (belief in the entity) * (weight of the edge), divided by
# 1 + log10 of the number of things that it is said to treat (test, ...): a drug for everything is evidence for nothing.


PATIENT = (Role.TREATS, Role.TESTS, Role.CARE, Role.FOOD, Role.AVOID)  # asked of a patient
_DONE = (Role.TREATS, Role.TESTS)
_OF_CLASSES = (*WARNS, Role.ADVERSE)  # of a class they are told of its members
OF_A_DRUG = (
    *(Role.ADVERSE, Role.CONTRAINDICATED, Role.INTERACTS, Role.PRECAUTION, Role.DOSAGE, Role.TREATS, Role.IS_A),
)
_KINDS = 400  # ours: kinds of a thing that are looked at where it has nothing of its own
_LONGEST = 12  # characters of an illness and its finding
_OFTEN = 20  # ours: diseases that show what a graph calls a disease where it is a complaint for all that: a rash
_SCANT_RISKS = 4  # ours: facts below which risks are few
_VOTES = 3  # ours: products that must stand in a class before others are passed over
# see patients by age, haste or stage, whatever they complain of
_FOR_ALL = frozenset({"急诊科", "儿科", "肿瘤科", "其他"})
_DEPARTMENTS = 3  # that are told of a symptom
_OF_A_GENE = dict.fromkeys((Role.CAUSE, Role.RISK, Role.COMPLICATION, Role.FINDING), Role.GENE)
_OF_A_MEDICINE = {Role.FINDING: Role.ADVERSE, Role.COMPLICATION: Role.ADVERSE, Role.CAUSE: Role.TREATS}
Believed = dict[int, tuple[float, Evidence]]  # a disease that explains the findings -> belief in it, and why


def meant(role: Role, stated: Sequence[Link]) -> Role:
    """The role that one means of genes or of medicines alone: what a gene causes are diseases tied to it.

    What is felt on a medicine and what comes of it are its side effects, and why it is taken is what it is given for.
    """
    kinds = {link.entity.kind for link in stated}
    if kinds == {"gene"}:
        return _OF_A_GENE.get(role, role)
    return _OF_A_MEDICINE.get(role, role) if kinds and kinds <= MEDICINES else role


@dataclass(frozen=True)
class Lists:
    """The answers to each role asked for: kind "neighbours" for a list, "text" for a text, "candidate" for one of many.

    A candidate is about (answer, entities it is tied to). `through` = whether diseases that explain the findings may
    answer where nothing that is named has an answer of its own.
    """

    graph: LocalGraph
    keep: int = 10
    via: float = 0.5
    diseases: int = 10
    listed: int = 12
    pieces: int = 3
    products: int = 3
    kinds: int = 2
    forms: int = 4
    medicines: bool = False  # whether medicines come before all else that is done
    through: bool = True
    wanted: Wanted = field(default_factory=Wanted)  # which treatments, of all that there are

    def __call__(self, query: Query, links: Sequence[Link], roles: Sequence[Role], *, every: bool) -> list[Evidence]:
        """What the graph says of the things in the first role of which it speaks, or in `every` role."""
        stated = [link for link in links if not link.mention.negated]
        found: dict[Role, list[Evidence]] = {}
        for asked in roles:
            role = meant(asked, stated)
            found[role] = found.get(role) or self._about(query, links, stated, role)
            few = role is Role.RISK and len({t for e in found[role] for t in e.triples}) < _SCANT_RISKS
            if found[role] and not every and not few:  # what is known as a cause is a risk too
                break
        return [piece for pieces in found.values() for piece in pieces]

    def is_complaint(self, entity: Entity) -> bool:
        """Whether an entity is a complaint, and no illness by its name or, where a graph calls it one, shown by few."""
        shown = len(ByRole(self.graph, Role.FINDING).subjects([self.graph.number(entity.id)]).node)
        enough = entity.kind != "disease" or shown >= _OFTEN
        return (
            enough
            and Family(self.graph).is_symptom(entity)
            and not vocabulary.listed("illnesses by ending").search(entity.name)
        )

    def classes(self, link: Link) -> list[Evidence]:
        """The classes of a medicine in which a third as many of its products stand as in the first, or more."""
        nodes = list(Family(self.graph).of(link, narrower=False)) if link.entity.kind in MEDICINES else []
        up = ByRole(self.graph, Role.IS_A).objects(nodes)
        found: dict[int, dict[int, int]] = {}
        for above, origin, edge in zip(up.node.tolist(), up.origin.tolist(), up.edge.tolist(), strict=True):
            found.setdefault(above, {})[origin] = edge
        most = max(map(len, found.values()), default=0)
        if most < _VOTES:
            return []
        order = sorted((n for n in found if 3 * len(found[n]) >= most), key=lambda n: (-len(found[n]), n))
        triples = tuple(self.graph.triple(edge) for n in order for edge in list(found[n].values())[:2])
        return [Evidence(_joined((t,)), "neighbours", (t,), (t.subject,), 1.0) for t in triples]

    def _of_several(self, links: Sequence[Link]) -> bool:
        """Whether one name is made of several findings."""
        from kgmed.diagnose.findings import several_findings  # read in where findings are told

        return several_findings(self.graph, links)

    def _of_complaint(self, query: Query, link: Link) -> list[Evidence]:
        """Who sees a complaint of which the graph does not say it; [] of an illness, and where the graph says it."""
        if not self.is_complaint(link.entity) or any(
            self._speaks(e, Role.CARE) for e in Family(self.graph).twins(link)
        ):
            return []
        return self._departments(query, link.entity)

    def _departments(self, query: Query, symptom: Entity) -> list[Evidence]:
        """The departments that see most of the diseases which show a symptom, less those that see everything."""
        from kgmed.diagnose.engine import engine  # read in where findings are told

        kinds = engine(self.graph).world.kinds(self.graph.number(symptom.id)).tolist()
        care = ByRole(self.graph, Role.CARE)
        shown = ByRole(self.graph, Role.FINDING).subjects(kinds)
        why = dict(zip(shown.node.tolist(), shown.edge.tolist(), strict=True))
        ill = list(why)
        hops = care.objects(ill)
        found: dict[int, dict[int, int]] = {}
        for department, origin, edge in zip(hops.node.tolist(), hops.origin.tolist(), hops.edge.tolist(), strict=True):
            found.setdefault(department, {})[ill[origin]] = edge
        seen = {n: len(mine) / np.sqrt(len(care.subjects([n]).node)) for n, mine in found.items()}
        best = [n for n in sorted(seen, key=lambda n: (-seen[n], n)) if self.graph.at(n).name not in _FOR_ALL]
        rows = [min(found[n].items()) for n in best[:_DEPARTMENTS]]
        if not rows:
            return []
        triples = tuple(self.graph.triple(e) for d, edge in rows for e in (edge, why[d]))
        say = catalogue(query.frame.language)
        names = [named(self.graph.at(n), han=say.han) for n in best[:_DEPARTMENTS]]
        said = say("verdict.departments", facts=say.join(names), one=named(symptom, han=say.han))
        return [Evidence(said, "verdict", triples, (symptom,), 1.0, "other")]

    def of(self, link: Link, *roles: Role) -> list[Evidence]:
        """What the graph says of one thing in some roles."""
        return [
            piece
            for role in roles
            for entity, why in self._speaking(link, role).items()
            for piece in self._listed(entity, role, why)
        ]

    def uses(self, link: Link) -> Iterator[Evidence]:
        """What the labels of a medicine give it for, what most of them say first; [] of few labels."""
        family, own = Family(self.graph), self.graph.number(link.entity.id)
        whole = link.entity.kind in MEDICINES and substance(link.entity.name) == link.entity.name.casefold()
        ways = family.of(link, narrower=False) if whole else {}
        made_of = family.substance(own)
        same = [n for n in ways if n != own and made_of in (family.substance(n), substance(self.graph.at(n).name))]
        same = [n for n in same if substance(self.graph.at(n).name) in (made_of, self.graph.at(n).name.casefold())]
        hops = ByRole(self.graph, Role.TREATS).objects(same)
        said: dict[int, dict[int, int]] = {}
        passing = vocabulary.listed("named in passing by labels")
        for origin, node, edge in zip(*(column.tolist() for column in hops), strict=True):
            if not passing.search(self.graph.at(node).id.partition(":")[2]):
                said.setdefault(same[origin], {})[node] = edge
        left = Counter(node for mine in said.values() for node in mine)
        while len(said) >= _VOTES and left:
            product = max(said, key=lambda n: sum(left[x] for x in said[n]))
            rows = [self.graph.triple(said[product][x]) for x, _ in left.most_common() if x in said[product]]
            about = (self.graph.at(product), link.entity)
            yield Evidence(f"{about[0].name} {told(about[0], rows)}", "neighbours", tuple(rows), about, 1.0)
            left = Counter({x: votes for x, votes in left.items() if x not in said[product] and votes > 1})

    def culprits(self, link: Link, which: Wanted) -> Iterator[Evidence]:
        """The medicines of which a thing is a side effect, a triple a substance: first what most labels say it of."""
        family = Family(self.graph)
        things = [
            *family.twins(link),
            *(m.entity for n in lay.others(link.entity.name) for m in self.graph.lookup(n)[:1]),
        ]
        groups: dict[str, list[Triple]] = {}
        for entity in dict.fromkeys(things):
            for t in (t for t in family.causing(entity) if t.subject.id):  # no text
                if which.holds(name := family.substance(self.graph.number(t.subject.id)), t.subject.name):
                    groups.setdefault(name, []).append(t)
        labels = medicines_of(self.graph)

        def place(name: str) -> tuple[float, str]:
            said, all_of_it = len(groups[name]), len(labels.get(name, ()))
            return -float(np.log2(1 + said)) * said / (1 + max(said, all_of_it)), name

        def plain(name: str, t: Triple) -> tuple[bool, int]:
            return substance(t.subject.name) != name, len(t.subject.name)

        rows = [min(groups[name], key=partial(plain, name)) for name in sorted(groups, key=place)]
        return self._in_pieces(link.entity, rows, (), "")

    def _about(self, query: Query, links: Sequence[Link], stated: Sequence[Link], role: Role) -> list[Evidence]:
        """The evidence for one role."""
        if role is Role.CARE and len(stated) == 1 and (seen_by := self._of_complaint(query, stated[0])):
            return seen_by
        speaking: dict[Entity, tuple[Triple, ...]] = {}
        for link in stated:
            speaking |= self._speaking(link, role)
        pieces = [piece for entity, why in speaking.items() for piece in self._listed(entity, role, why)]
        if role is Role.IS_A and len(stated) == 1 and (classes := self.classes(stated[0])):
            return classes
        if role is Role.INTERACTS:  # what its own label says comes before the labels of others
            pieces.sort(key=lambda piece: piece.triples[0].subject not in piece.about)
        if role not in PATIENT or any(entity.kind == "disease" for entity in speaking):
            return pieces
        if role is Role.TREATS:  # no disease is guessed and treated
            return pieces
        ill, shown = [x.entity for x in stated], Family(self.graph).is_symptom
        # who sees an illness is not told by what shows it
        illness = bool(ill) and all(e.kind == "disease" and (role is Role.CARE or not shown(e)) for e in ill)
        several = len(stated) > 1 or self._of_several(links)
        implied = self._implied(query, links) if speaking or (self.through and several and not illness) else {}
        if not implied:
            return pieces
        texts = [piece for piece in pieces if piece.kind == "text"]
        named = {self.graph.number(entity.id): 1.0 for entity in speaking}
        believed = {n: belief for n, (belief, _) in implied.items()} | named
        return texts + self._candidates(believed, role, {n: i for n, i in implied.items() if n not in named})

    def _speaking(self, link: Link, role: Role) -> dict[Entity, tuple[Triple, ...]]:
        """What the graph speaks of in a role, the linked entity or others in its place, and what leads there."""
        family = Family(self.graph)
        own = {e: why for e, why in family.twins(link).items() if self._speaks(e, role)}
        if own and role not in (*WARNS, Role.INTERACTS):  # what warns stands at the substance and at its products
            best = max(own, key=lambda e: _much(self.graph, e, role))
            return {best: own[best]}
        if not own and role in (Role.INHERITANCE, Role.GENE):
            forms = ((e, why) for e, why in family.forms(link).items() if self._speaks(e, role))
            own = dict(islice(forms, self.forms))
            if own:
                return own
        if role not in OF_A_DRUG:
            return self._broader(link, role)
        if role in _OF_CLASSES and (members := self._members(link, role)):
            return members
        rows = ((self.graph.at(node), why) for node, why in family.of(link, narrower=False).items())
        products = dict(islice(((e, why) for e, why in rows if self._speaks(e, role)), self.products))
        return own | products or self._broader(link, role)

    def _members(self, link: Link, role: Role) -> dict[Entity, tuple[Triple, ...]]:
        """Of a class of medicines the usual members of which the graph speaks in a role, one of each substance."""
        family, is_a = Family(self.graph), ByRole(self.graph, Role.IS_A)
        twins = [self.graph.number(e.id) for e in family.twins(link)]
        named = family.members(link) or (is_a.subjects(twins).node.tolist() if link.entity.kind == "class" else ())
        groups: dict[str, list[Entity]] = {}
        for entity in map(self.graph.at, named):
            if self._speaks(entity, role):
                groups.setdefault(family.substance(self.graph.number(entity.id)), []).append(entity)
        usual = sorted(groups, key=lambda name: (-len(groups[name]), name))[: self.products]
        return {max(groups[name], key=lambda e: _much(self.graph, e, role)): () for name in usual}

    def _broader(self, link: Link, role: Role) -> dict[Entity, tuple[Triple, ...]]:
        """The nearest broader entry, at most two steps up, of which the graph speaks, and the steps to it."""
        ways: dict[int, tuple[Triple, ...]] = {self.graph.number(link.entity.id): ()}
        of_its_own = role in (Role.CAUSE, Role.RISK, Role.TREATS) and Family(self.graph).is_symptom(link.entity)
        for _ in range(0 if of_its_own else 2):  # what causes diarrhoea need not make the stool black
            before = {self.graph.at(n): why for n, why in ways.items()}
            ways = {n: (*before.get(up.subject, ()), up) for n, (up,) in Family(self.graph).classes(ways).items()}
            spoken = {self.graph.at(n): why for n, why in ways.items() if self._speaks(self.graph.at(n), role)}
            if spoken:
                return dict(islice(spoken.items(), 1))
        narrower = (role in OF_THE_SUBJECT and not of_its_own) or link.entity.kind == "class"
        return self._at_other_times(link, role) or (self._narrower(link, role) if narrower else {})

    def _at_other_times(self, link: Link, role: Role) -> dict[Entity, tuple[Triple, ...]]:
        """The disease of which a stage, a course or a finding was named: COPD of COPD急性加重, 中风 of 中风后遗症.

        So 细菌性痢疾 of 急性细菌性痢疾, and 痔疮 of 痔疮便血.
        """
        name = link.entity.name
        bare = (
            vocabulary.listed("stages behind a name").sub("", name).strip(),
            vocabulary.listed("courses before a name").sub("", name),
            *self._with_a_finding(name),
        )
        named = [m for b in dict.fromkeys(bare) if b != name and len(b) > 1 for m in self.graph.lookup(b)[:1]]
        twins = [e for m in named for e in Family(self.graph).twins(replace(link, entity=m.entity))]
        return {e: () for e in sorted(twins, key=lambda e: -_much(self.graph, e, role))[:1] if self._speaks(e, role)}

    def _with_a_finding(self, name: str) -> Iterator[str]:
        """The illness that a Chinese name puts before a finding of its own: 痔疮 of 痔疮便血."""
        family, said = Family(self.graph), name if has_cjk(name) and len(name) <= _LONGEST else ""
        for cut in range(len(said) - 2, 1, -1):
            ends = [m.entity for part in (said[:cut], said[cut:]) for m in self.graph.lookup(part)[:1]]
            ill = len(ends) > 1 and (
                bool(vocabulary.listed("illnesses by ending").search(ends[0].name)) or not family.is_symptom(ends[0])
            )
            if (
                ill
                and ends[0].kind == "disease"
                and family.is_symptom(ends[1])
                and not vocabulary.listed("illnesses by ending").search(ends[1].name)
            ):
                yield said[:cut]

    def _narrower(self, link: Link, role: Role) -> dict[Entity, tuple[Triple, ...]]:
        """Of the kinds of a thing those of which the graph says most in a role, and the step to each."""
        is_a = ByRole(self.graph, Role.IS_A).subjects([self.graph.number(e.id) for e in Family(self.graph).twins(link)])
        steps = dict(zip(is_a.node.tolist(), is_a.edge.tolist(), strict=True))
        much = {node: len(ByRole(self.graph, role).objects([node]).node) for node in islice(steps, _KINDS)}
        given = ByRole(self.graph, Role.TREATS) if role is Role.FINDING else None  # a usual kind, and no rare syndrome
        usual = {node: len(given.subjects([node]).node) if given else 0 for node in much if much[node]}
        best = sorted(usual, key=lambda n: (-usual[n], -much[n], n))[: self.kinds]
        return {self.graph.at(node): (self.graph.triple(steps[node]),) for node in best}

    def _speaks(self, entity: Entity, role: Role) -> bool:
        """Whether the graph has a triple or a text of a role for an entity, as its subject where that matters."""
        steps, node = ByRole(self.graph, role), [self.graph.number(entity.id)]
        if not (role in _DONE and _is_ill(entity)) and len(steps.objects(node).node):
            return True
        if role not in OF_THE_SUBJECT and len(steps.subjects(node).node):
            return True
        return any(t.relation.role is role for t in self.graph.attributes(entity.id))

    def _listed(self, entity: Entity, role: Role, why: tuple[Triple, ...]) -> Iterator[Evidence]:
        """What an entity has in a role, a dozen to a piece, the last with the number left out; a text a piece."""
        reason, family = "".join(f"; {t}" for t in why), Family(self.graph, medicines=self.medicines)
        for own in (True, False):
            rows = family.ordered(entity, role, own=own) if own or role not in OF_THE_SUBJECT else []
            if own and role in _DONE and _is_ill(entity):
                continue  # what a disease is given for is a slip of the graph
            if role is Role.TREATS and not own:
                rows = [t for t in rows if self._is_wanted(t.subject)] if self.wanted != Wanted() else rows
                rows = [t for t in rows if not vocabulary.listed("withdrawn medicines").search(t.subject.name)]
                rows = [t for t in rows if not is_raw(t)] or rows
                rows = [t for t in rows if not is_heading(self.graph, t)]
            yield from self._in_pieces(entity, rows, why, reason)
        for t in self.graph.attributes(entity.id):
            if t.relation.role is role:
                yield Evidence(str(t) + reason, "text", (t, *why), (entity,), 1.0)

    def having(self, entity: Entity, role: Role) -> Iterator[Evidence]:
        """What has an entity in a role that is listed of its subjects alone: the diseases of a mode of inheritance."""
        return self._in_pieces(entity, Family(self.graph).ordered(entity, role, own=False), (), "")

    def _in_pieces(
        self, entity: Entity, rows: Sequence[Triple], why: tuple[Triple, ...], reason: str
    ) -> Iterator[Evidence]:
        """The triples of an entity, a dozen to a piece, the last with the number left out."""
        most = self.listed * self.pieces
        for begin in range(0, min(len(rows), most), self.listed):
            shown = rows[begin : begin + self.listed]
            more = len(rows) - most if begin + self.listed >= most else 0
            text = f"{entity.name} {told(entity, shown)}" + (f", … (+{more})" if more > 0 else "")
            yield Evidence(text + reason, "neighbours", (*shown, *why), (entity,), 1.0)

    def _is_wanted(self, given: Entity) -> bool:
        """Whether something that is given is of the class, the form or without the substance that is asked for."""
        if not given.id:
            return self.wanted.holds(given.name)
        node = self.graph.number(given.id)
        classes = [self.graph.at(n).name for n in Family(self.graph).classes([node])] if self.wanted.sections else []
        return self.wanted.holds(given.name, Family(self.graph).substance(node), classes=classes)

    def _implied(self, query: Query, links: Sequence[Link]) -> Believed:
        """The diseases that explain the findings, with a belief (`via` for the best, less by odds) and why."""
        from kgmed.diagnose.retrieve import Diagnosis  # read in where findings are told

        cases = Diagnosis(self.graph, keep=self.diseases)(query, links)
        if not cases:
            return {}
        belief = self.via * np.exp(np.array([e.score for e in cases]) - cases[0].score)
        return {self.graph.number(e.about[0].id): (float(b), e) for e, b in zip(cases, belief, strict=True)}

    def _candidates(self, belief: dict[int, float], role: Role, implied: Believed) -> list[Evidence]:
        """The best of all that are tied to those entities by a role."""
        steps, nodes = ByRole(self.graph, role), list(belief)
        ties: dict[int, dict[int, tuple[float, int]]] = {}  # candidate -> entity -> worth and edge of its best tie
        for hops, back in ((steps.objects(nodes), steps.subjects), (steps.subjects(nodes), steps.objects)):
            candidates, at = np.unique(hops.node, return_inverse=True)
            breadth = np.bincount(back(candidates).origin, minlength=len(candidates))
            worth = np.array(list(belief.values()))[hops.origin] * self._weights(hops) / (1 + np.log10(breadth[at]))
            for node, origin, value, edge in zip(*(c.tolist() for c in (*hops[1::-1], worth, hops.edge)), strict=True):
                mine = ties.setdefault(node, {})
                mine[nodes[origin]] = max(mine.get(nodes[origin], (0.0, edge)), (value, edge))
        score = {node: sum(value for value, _ in mine.values()) for node, mine in ties.items()}
        best = sorted(score, key=lambda n: (-score[n], n))[: self.keep]
        return [self._evidence(node, score[node], ties[node], implied) for node in best]

    def _weights(self, hops: Hops) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        weight = self.graph.weight
        return np.ones(len(hops.edge)) if weight is None else weight[hops.edge].astype(np.float64)

    def _evidence(self, node: int, score: float, ties: dict[int, tuple[float, int]], implied: Believed) -> Evidence:
        """The candidate with its strongest triples; a disease that no word of the question names brings its reason."""
        strongest = sorted(ties, key=lambda origin: (-ties[origin][0], origin))[:3]
        facts = [self.graph.triple(ties[origin][1]) for origin in strongest]
        reasons = [t for origin in strongest if origin in implied for t in implied[origin][1].triples[:1]]
        shown = tuple(dict.fromkeys([*facts, *reasons]))
        about = (self.graph.at(node), *(self.graph.at(origin) for origin in strongest))
        return Evidence(_joined(shown), "candidate", shown, about, round(score, 4))


def _much(graph: LocalGraph, entity: Entity, role: Role) -> int:
    """How much a graph says of an entity in a role."""
    steps, node = ByRole(graph, role), [graph.number(entity.id)]
    others = 0 if role in OF_THE_SUBJECT else len(steps.subjects(node).node)
    return len(steps.objects(node).node) + others + sum(t.relation.role is role for t in graph.attributes(entity.id))


def _facts(graph: LocalGraph, entity: Entity, link: Link, role: Role) -> int:
    """The facts that an entry, or one that is the same, has in a role."""
    return max(_much(graph, e, role) for e in Family(graph).twins(replace(link, entity=entity)))


def _is_ill(entity: Entity) -> bool:
    """Whether an entity is a disease, by its kind or, where a graph mistook it for what is done, by its name."""
    return entity.kind == "disease" or (
        entity.kind == "treatment" and bool(vocabulary.listed("illnesses by ending").search(entity.name))
    )


def _joined(triples: Sequence[Triple]) -> str:
    """The triples in words, those of one head and relation together."""
    rows: dict[tuple[str, str], list[str]] = {}
    for t in triples:
        rows.setdefault((t.head.name, t.relation.name), []).append(t.tail.name)
    return "; ".join(f"{head} — {relation} → {', '.join(tails)}" for (head, relation), tails in rows.items())


# --- Operators that tell of a thing as a whole: overview, kinds, other names, texts, and two things compared.

_FIRST = (Role.FINDING, Role.TREATS)  # of a disease, in the order of what is usual
_TELLING = (Role.FINDING, Role.CAUSE, Role.RISK, Role.TREATS, Role.INHERITANCE, Role.GENE)
_LISTED = 24  # ours: names in a list of one of two things that are compared
_BESIDE = 0.04  # ours: the least probability of a reading that says in what two things are compared
_SHOWN = 12  # ours: other names of a thing


def overview(asked: Asked) -> list[Evidence]:
    """What the graph says of each thing, under the entry of it that says most."""
    return _overview(asked, links_of(asked.ask.things))


def _overview(asked: Asked, links: Sequence[Link]) -> list[Evidence]:
    graph = asked.graph
    things = [link for link in links if link.entity.kind != "condition"]  # lists of medicines do not say what it is
    fullest = [replace(link, entity=Family(graph).fullest(link)) for link in things]
    pieces = Overview(graph)(asked.query, fullest)
    ill = [link for link in fullest if link.entity.kind == "disease"]
    if given := [e for link in fullest for e in Lists(graph).uses(link)][:1]:
        pieces = [*given, *(p for p in pieces if not (p.triples and p.triples[0].relation.role is Role.TREATS))]
    for role in _FIRST:
        ordered = (e for link in ill for e in Lists(graph, listed=_LISTED, pieces=1).of(link, role))
        best = {e.about: e for e in reversed([e for e in ordered if _is_of(e, role)])}
        pieces = list(dict.fromkeys(best.get(p.about, p) if _is_of(p, role) else p for p in pieces))
    return pieces


def _is_of(e: Evidence, role: Role) -> bool:
    """Whether a piece lists what a disease has in a role."""
    own = role is Role.FINDING
    return bool(e.triples) and all(t.relation.role is role and (t.subject in e.about) is own for t in e.triples)


def kinds(asked: Asked) -> list[Evidence]:
    """The kinds of the subject, by its narrower entries."""
    pieces = (e for e in _overview(asked, links_of(asked.ask.subject)) if e.triples)
    return [e for e in pieces if all(t.relation.role is Role.IS_A and t.subject not in e.about for t in e.triples)]


def names(asked: Asked) -> list[Evidence]:
    """Other names of the subject in the language of the answer, its codes, and its names in other languages."""
    graph, language, found = asked.graph, asked.query.frame.language, []
    say = catalogue(language)
    for link in links_of(asked.ask.subject):
        node = graph.number(link.entity.id)
        tags = graph.tags(node) if isinstance(graph, Store) else {}
        called = sorted(names_of(graph, node), key=lambda one: one[1])
        once = {fold(n): (n, scope) for n, scope in reversed(called) if scope <= Scope.TRANSLATION}
        codes = [link.entity.id, *(n for n, scope in called if scope is Scope.XREF)]
        parts: dict[str, list[str]] = {"names": [], "codes": [], "translations": []}
        parts["codes"] = [c for c in codes if fold(c.partition(":")[2]) not in once]  # no name with a prefix
        once.pop(fold(link.entity.name), None)
        for n, _ in reversed(once.values()):
            parts["names" if written_in(n, tags.get(n, ""), language) else "translations"].append(n)
        thing = named(link.entity, han=say.han)
        said = [say(f"note.{key}", thing=thing, names=say.join(one[:_SHOWN])) for key, one in parts.items() if one]
        found += [Evidence(" ".join(said), VERDICT, (), (link.entity,), 1.0, "yes")] if said else []
    return found


def text(asked: Asked) -> list[Evidence]:
    """The texts and the edges of things whose relation is called as the row says, of a substance those of products."""
    graph, row, family = asked.graph, asked.row, Family(asked.graph)
    named = row.amounts if row.amounts and asked.ask.form is Form.AMOUNT else row.relations
    relations = re.compile(named, re.IGNORECASE)
    found: list[Evidence] = []
    for link in links_of(asked.ask.things):
        own = (_called(graph, entity, relations) for entity in dict.fromkeys([link.entity, *family.twins(link)]))
        pieces = [piece for some in own for piece in some]
        if not pieces and link.entity.kind in MEDICINES:
            products = (
                _called(graph, graph.at(n), relations, *why) for n, why in family.of(link, narrower=False).items()
            )
            pieces = [piece for some in islice(filter(None, products), Lists.products) for piece in some]
        found += pieces
    return found


def _called(graph: LocalGraph, entity: Entity, relations: re.Pattern[str], *why: Triple) -> list[Evidence]:
    """The texts and the edges of an entity whose relation is called so, and what leads to the entity."""
    rows = (*graph.attributes(entity.id), *graph.neighbours(entity.id, roles=(Role.OTHER,)))
    return [Evidence(str(t), "text", (t, *why), (entity,), 1.0) for t in rows if relations.search(t.relation.name)]


def compare(asked: Asked) -> list[Evidence]:
    """Of each of two things what it has in the roles that another reading asks for; else all, with its definition."""
    graph, frame, links = asked.graph, asked.query.frame, links_of(asked.ask.things)[:2]
    others = (a for a in (*frame.asks, *frame.alternatives) if a.intent is not Intent.COMPARISON)
    roles = next((a.intent.roles for a in others if a.intent.roles and a.probability >= _BESIDE), _TELLING)
    lists = Lists(graph, listed=_LISTED, pieces=1, forms=1)
    own = {link.entity: Family(graph).twins(link) for link in links}
    defined = [e for link in links for e in _definition(asked, link)] if roles == _TELLING else []
    return defined + [
        piece
        for role in roles
        for link in links
        for piece in lists.of(link, role)
        if link.entity.kind in MEDICINES or piece.about[0] in own[link.entity]
    ]


def _definition(asked: Asked, link: Link) -> Iterator[Evidence]:
    """What a thing is, in the language of the answer."""
    say = catalogue(asked.query.frame.language)
    written = (e for twin in Family(asked.graph).twins(link) for e in Overview(asked.graph).definition(twin))
    return islice((e for e in written if has_cjk(e.triples[0].tail.name) == say.han), 1)


_FEW_OF_CLASS = 2  # ours: treatments up to which a class is asked of who has an illness, and not for the illness
_FEW_CAUSES = 3  # ours: where a finding has fewer causes of its own, the diseases that show it are shown too
_OF_AN_ILLNESS = (Role.TREATS, Role.FINDING, Role.CAUSE)  # what the graph has of whatever it knows as an illness
_ILLNESSES = 2  # ours: illnesses of which is told what labels warn of


def objects(asked: Asked) -> list[Evidence]:
    """Lists of what the subject has in the roles; of a constrained ask those of the class that is asked for."""
    graph, query, ask, row = asked
    named = _listed(ask)
    if ask.intent is Intent.INHERITANCE and (modes := list(_modes(asked, named))):
        return [piece for mode in modes for piece in Lists(graph).having(mode, Role.INHERITANCE)]
    treats = ask.intent is Intent.TREATMENT  # then neither of what is taken, nor what a thing is given for
    own = _given_for(graph, ask) if treats else []  # painkillers that one may take with an ulcer
    richer = RicherNames(graph, _facts, done=treats)
    links = [link for one in named for link in richer(one, row.roles[0])] if row.roles else named
    well = vocabulary.members("word_lists", "states of no illness") if treats else ()  # pregnancy is not treated
    ill = [link for link in links if not treats or link.entity.kind not in MEDICINES]
    links = [link for link in (ill if own else ill or links) if link.entity.name not in well]
    which = _spared(graph, ask, wanted(ask))
    found = Lists(graph, medicines=which.narrows, wanted=which)(query, links, row.roles, every=row.every)
    if ask.intent is Intent.USES and (by_labels := [e for link in links for e in Lists(graph).uses(link)]):
        found = by_labels
    spared = Wanted(without=which.without)
    itself = {x.entity for x in own} & {e for x in links for e in Family(graph).twins(x)}
    own = [] if itself else own
    few = len({t for e in found for t in e.triples}) <= _FEW_OF_CLASS
    if (which.narrows and few) or (own and not which.narrows):
        wide = [(own, which), (own, spared), *([] if found else [(links, spared)])]
        lists = (Lists(graph, medicines=True, wanted=w)(query, x, row.roles, every=row.every) for x, w in wide if x)
        found = next(filter(None, lists), found)
    if row.relations and not any(t.subject in e.about for e in found for t in e.triples):  # what has it says little
        found = [*operator_named("text")(asked), *(found if ask.form is not Form.YES_NO else ())]
    found = [e for e in found if not treats or e.kind != "neighbours" or e.triples[0].subject not in e.about]
    found = (
        [*_read_as(asked, named, links), *_lacking(asked, links), *_raw_alone(asked, found), *found] if found else []
    )
    if found and treats and len(links) > 1 and is_case(graph, links):
        begun = [e.about[:1] for e in found]
        return [e for n, e in enumerate(found) if e.about[:1] not in begun[:n]]  # the first of each thing
    if ask.intent is Intent.CAUSES and len(links) == 1 and not is_an_illness(graph, links[0]):
        causes = {t.object for e in found for t in e.triples if t.relation.role is Role.CAUSE}
        return found if len(causes) >= _FEW_CAUSES else [*found, *operator_named("explain")(asked)]
    return found


def _spared(graph: LocalGraph, ask: Ask, which: Wanted) -> Wanted:
    """What is wanted without the medicines that others than are asked for, by all their names."""
    names = [c.value for c in ask.constraints if c.kind == OTHER_THAN]
    if not names:
        return which
    from kgmed.facts.circumstances import things_of  # read in where a medicine is left out

    told = things_of(graph, [Named((name,)) for name in names])
    spared = [which.without, *(re.escape(substance) for thing in told for substance in thing.substances)]
    return which._replace(without="|".join(filter(None, spared)))


def _given_for(graph: LocalGraph, ask: Ask) -> list[Link]:
    """What the class of medicines that is asked for is given for by itself: pain, of painkillers."""
    usual = vocabulary.others("classes", Predicate.USED_FOR)
    names = (name for c in ask.constraints if c.kind == "class" for name in usual.get(c.value, ()))
    found = next(filter(None, (graph.lookup(name)[:1] for name in names)), [])
    return [Link(Mention(m.name, m.name, -1, -1), m.entity, m.score, m.how) for m in found]


def _modes(asked: Asked, named: Sequence[Link]) -> Iterator[Entity]:
    """The modes of inheritance that are asked about, linked or as constraints, where no disease is."""
    if named:
        yield from (link.entity for link in named if link.entity.kind == "inheritance")
        return
    if wanted_modes := [c.value for c in asked.ask.constraints if c.kind == "mode"]:
        for entity in map(asked.graph.at, asked.graph.of_kind("inheritance").tolist()):
            if all(mode_pattern(mode).search(entity.name) for mode in wanted_modes):
                yield entity


def foods(asked: Asked) -> list[Evidence]:
    """What is eaten or drunk among what the subject comes from, what prevents it and, unless refused, what helps.

    Of self-care all that prevents it is told.
    """
    pattern = vocabulary.listed("what is eaten")
    lists = Lists(asked.graph, wanted=Wanted(only=pattern.pattern))
    found = []
    for role in (Role.RISK, Role.CAUSE, Role.PREVENTION) if asked.ask.negative else (Role.PREVENTION, Role.TREATS):
        every = role is Role.PREVENTION and asked.ask.intent is Intent.SELF_CARE
        for piece in (p for link in links_of(asked.ask.subject) for p in lists.of(link, role)):
            of_it = (e for t in piece.triples for e in (t.subject, t.object) if e not in piece.about)
            kept = {e for e in of_it if every or (e.kind not in TAKEN and pattern.search(e.name))}
            if triples := tuple(t for t in piece.triples if kept & {t.subject, t.object}):
                found.append(
                    replace(piece, text=f"{piece.about[0].name} {told(piece.about[0], triples)}", triples=triples)
                )
    return found


def subjects(asked: Asked) -> list[Evidence]:
    """The medicines of which the subject is a side effect."""
    lists, which = Lists(asked.graph), wanted(asked.ask)
    return [piece for link in links_of(asked.ask.subject)[:1] for piece in lists.culprits(link, which)]


def warned(asked: Asked) -> list[Evidence]:
    """What must not be taken, or with care, in an illness; of a medicine, who must not take it."""
    graph, query, links = asked.graph, asked.query, links_of(asked.ask.subject)
    if any(link.entity.kind in MEDICINES for link in links):
        return Lists(graph)(query, links, (Role.CONTRAINDICATED, Role.PRECAUTION), every=True)
    from kgmed.facts.safety import WarnedOf  # read in where a question refuses

    found = [piece for link in links[:_ILLNESSES] for piece in WarnedOf(graph).of(query, [link])]
    return found or Lists(graph)(query, links, (Role.AVOID,), every=True)


def _listed(ask: Ask) -> list[Link]:
    """The links that a list is made for: the subject, and of the same kind what stands beside it."""
    subject, others = links_of(ask.subject), links_of(ask.object)
    kinds = {link.entity.kind for link in subject}
    return [*subject, *(link for link in others if link.entity.kind in kinds)] if subject else others


def _lacking(asked: Asked, links: Sequence[Link]) -> Iterator[Evidence]:
    """That the graph does not have what is asked of one of several illnesses, of treatments also of a first finding."""
    say, roles, lists = catalogue(asked.query.frame.language), asked.row.roles, Lists(asked.graph)
    treats = asked.ask.intent is Intent.TREATMENT
    ill = [x for x in links if x.entity.kind == "disease" or (treats and x is links[0] and x.entity.kind in ILL)]
    if len(links) < 2 or not (treats or all(x in ill and is_an_illness(asked.graph, x) for x in links)):
        return
    lacking = [x for x in ill if not any(lists.of(x, *roles)) and (treats or any(lists.of(x, *_OF_AN_ILLNESS)))]
    if names := [name for name in dict.fromkeys(x.mention.surface for x in lacking) if not is_of_people(name)]:
        text = say("verdict.lacking", one=say.join(names), other=called(say, asked.ask))
        yield Evidence(text, VERDICT, (), (), 1.0, "absent")


def _raw_alone(asked: Asked, found: Sequence[Evidence]) -> Iterator[Evidence]:
    """That no product or procedure is among the treatments, but herbs and old recipes alone."""
    if asked.ask.intent is Intent.TREATMENT and all(is_raw(t) for e in found for t in e.triples):
        yield Evidence(catalogue(asked.query.frame.language)("verdict.raw_alone"), VERDICT, (), (), 1.0, "absent")


def _read_as(asked: Asked, named: Sequence[Link], links: Sequence[Link]) -> Iterator[Evidence]:
    """That a thing is answered by an entry of another name."""
    say, own = catalogue(asked.query.frame.language), {link.entity for link in named}
    for link in (x for x in links if x.how == "facts" and x.entity not in own):
        words, entity = link.mention.surface, link.entity
        if entity.name.casefold() != words.casefold():
            said = say("verdict.read_as", one=words, other=name_of(entity, say))
            yield Evidence(said, VERDICT, (), (entity,), 1.0, "heads")
