"""The gate that every answer which names a medicine passes: what is forbidden for this patient leaves it.

A medicine is held against all that the frame tells: the groups of people that the patient is of and the age, illnesses,
medicines taken, allergies. What a label or the graph forbids leaves the list of treatments and is named in one piece of
evidence, kind "warning", id "not for this patient"; what is only to be taken with care stays, and its warning too. A
list of what helps is never the answer to what must not be taken, and a dosage is that of what was asked about.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from kgmed.facts.circumstances import (
    CHILDREN,
    Circumstances,
    Told,
    against_classes,
    circumstances,
    feared,
    forbidden_groups,
    group_texts,
    groups_of,
    not_for,
    reaches,
    triples_of,
)
from kgmed.frame import Ask, Frame, Intent
from kgmed.graph.base import ByRole, KnowledgeGraph, LocalGraph, Scope, kept_with_graph
from kgmed.graph.contradictions import WARNS, contradictions, warnings_of
from kgmed.graph.store.store import Store
from kgmed.language.labels import GROUPS, Level, for_children, is_swallowed, level_of, route, says_unknown
from kgmed.language.particulars import People, circumstances_of, clauses_about, forbids, populations, worsened_by
from kgmed.language.text import has_cjk, lazily
from kgmed.records import (
    CARE,
    NOT_FOR,
    VERDICT,
    WITH_CARE,
    Entity,
    Evidence,
    Link,
    Query,
    Question,
    Relation,
    Role,
    Triple,
    is_verdict,
)
from kgmed.sentences import Catalogue, catalogue
from kgmed.steps.facts import name_of, named
from kgmed.steps.family import MEDICINES, Family, classes_by_name, medicines_of, substance
from kgmed.steps.retrieve import told
from kgmed.stop import check_stop

# --- Dosages of what was asked about: of no mixture, of no other way of giving it, and of a child no dosage of adults.


def doses(graph: LocalGraph, frame: Frame, evidence: Sequence[Evidence], say: Catalogue) -> list[Evidence]:
    """The evidence without the dosages that do not fit the question, and what is to be known of those that stay."""
    ask = next((a for a in frame.asks if a.intent is Intent.DOSAGE), None)
    given = [e for e in evidence if e.triples and e.triples[0].relation.role is Role.DOSAGE]
    if ask is None or not given:
        return list(evidence)
    fitting = _of_the_route(ask, [e for e in given if _is_alone(graph, ask, e)])
    child = CHILDREN in groups_of(frame.patient)
    kept = _of_children(fitting) if child else fitting
    thing = next((n.links[0].entity for n in ask.things if n.links), given[0].about[0] if given[0].about else None)
    return [*_heads(thing, kept, say, child=child), *(e for e in evidence if e in kept or e not in given)]


def _is_alone(graph: LocalGraph, ask: Ask, e: Evidence) -> bool:
    """Whether a dosage is that of what was asked about: the thing itself, or a product with nothing else in it."""
    product, links = e.triples[0].subject, [x for n in ask.things for x in n.links[:1]]
    asked = {t for x in links for t in Family(graph).twins(x)}
    if product in asked or not product.id or product.kind not in MEDICINES:
        return True
    if substance(product.name) in {substance(x.name) for x in asked}:
        return True
    parts = {
        substance(graph.at(n).name) for n in ByRole(graph, Role.INGREDIENT).objects([graph.number(product.id)]).node
    }
    return len(parts) < 2


def _of_the_route(ask: Ask, given: Sequence[Evidence]) -> list[Evidence]:
    """The dosages of the way of giving it that is asked for; where none is, of what is swallowed, else all."""
    said = " ".join((*(c.value for c in ask.constraints), *(name for n in ask.things for name in n.names[:1])))
    wanted = route(said)
    fitting = [e for e in given if _route(e) == wanted]
    return fitting if fitting or wanted or is_swallowed(said) else list(given)


def _route(e: Evidence) -> str:
    """How a medicine is given, by its name and else by what its dosage says."""
    said = e.triples[0]
    by_text = route(said.object.name)
    return route(said.subject.name) or (by_text if by_text == "injected" else "")


def _of_children(given: Sequence[Evidence]) -> list[Evidence]:
    """Those that speak of children, by their text or product, else those that name no amount: that is of adults."""
    spoken = [e for e in given if any(map(for_children, (e.triples[0].object.name, e.triples[0].subject.name)))]
    return spoken or [e for e in given if not any(map(str.isdigit, e.triples[0].object.name))]


def _heads(thing: Entity | None, kept: Sequence[Evidence], say: Catalogue, *, child: bool) -> list[Evidence]:
    """That the graph has no dosage that fits, or that what it has is not said to be for children."""
    if thing is None:
        return []
    name, about = named(thing, han=say.han), (thing,)
    if not kept:
        key = "safety.adults_only" if child else "safety.no_dosage"
        return [Evidence(say(key, one=name), VERDICT, (), about, 1.0, "lacking")]
    if child and not any(for_children(e.triples[0].object.name) for e in kept):
        return [Evidence(say("safety.unsaid_for_children", one=name), VERDICT, (), about, 1.0, "heads")]
    return []


_HELPS = (Role.TREATS, Role.FOOD)
_NOT = Relation("contraindicated", Role.CONTRAINDICATED)
_OPEN = ("none", "yes", "caution", "other", "unknown", "lacking")  # verdicts by which a medicine may be taken
_SHOWN = 6  # ours: medicines that are named for one reason
_PRODUCTS = 12  # ours: labels of a substance that are read for what it has no label of its own
_SHARE = 4  # ours: a substance is forbidden by its products where at least a fourth of those read say so
_CITED = 2  # ours: labels of others that are named for one caution
_LEFT = re.compile(r", … \(\+(\d{1,9})\)")


@dataclass(frozen=True)
class Reason:
    """Why a medicine is not for a patient: as the answer says it, and the triples that say so."""

    text: str
    triples: tuple[Triple, ...] = ()


@dataclass
class _Found:
    """What was taken out of the evidence, by medicine, and what asks for care."""

    reasons: dict[Entity, tuple[Reason, ...]] = field(default_factory=dict)
    care: dict[Entity, tuple[Triple, ...]] = field(default_factory=dict)
    risks: dict[Entity, tuple[Reason, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class NotForThisPatient:
    """The ranker: the evidence without what must not be given to this patient, which is named in a piece of its own."""

    graph: LocalGraph

    def __call__(self, query: Query, evidence: Sequence[Evidence]) -> list[Evidence]:
        """The pieces in their order; what forbids behind them."""
        frame, say = query.frame, catalogue(query.frame.language)
        evidence = doses(self.graph, frame, against_polarity(frame, evidence, say), say)
        things = [n for ask in frame.asks for n in ask.things if not n.links or n.kind in MEDICINES]
        asked = [n.links[0].entity if n.links else Entity("", n.names[0]) for n in things]
        judge, found = _Gate(self.graph, circumstances(self.graph, frame), say, evidence, asked), _Found()
        for drug in judge.given:
            check_stop()
            judge(drug, found)
        kept = [piece for e in evidence for piece in _passed(e, found)]
        kept = list(_asked({drug: judge.of_asked(drug, frame) for drug in asked}, kept, found, say))
        kept += list(self._nothing_left(evidence, kept, found, say))
        pieces = _once([*kept, *_warnings(found, say), *_care(found)])
        barring = " ".join(e.text for e in pieces if is_verdict(e, "no") or e.id == NOT_FOR)
        known = [name for name in judge.told.called.values() if name in barring]  # by the vocabulary: a food
        return [e for e in pieces if not (is_verdict(e, "unknown") and any(name in e.text for name in known))]

    def _nothing_left(
        self, before: Sequence[Evidence], kept: Sequence[Evidence], found: _Found, say: Catalogue
    ) -> Iterator[Evidence]:
        """That all that the graph has is forbidden, where nothing else is left to say."""
        gone = [e for e in before if e not in kept]
        if found.reasons and gone and not any(e.kind != "warning" for e in kept):
            thing = gone[0].about[0] if gone[0].about else gone[0].triples[0].object
            triples = tuple(t for reasons in found.reasons.values() for r in reasons for t in r.triples)
            yield Evidence(say("safety.all", one=named(thing, han=say.han)), VERDICT, triples, (thing,), 1.0, "no")


def _once(pieces: Iterable[Evidence]) -> list[Evidence]:
    """The pieces, verdicts and warnings in the same words as one: entities of one substance are named alike."""
    made: dict[object, Evidence] = {}
    for e in pieces:
        key = (e.kind, e.text) if e.kind in (VERDICT, "warning") else id(e)
        if first := made.get(key):
            triples, about = dict.fromkeys((*first.triples, *e.triples)), dict.fromkeys((*first.about, *e.about))
            e = replace(first, triples=tuple(triples), about=tuple(about))
        made[key] = e
    return list(made.values())


def _asked(
    known: Mapping[Entity, tuple[Reason, ...]], kept: Sequence[Evidence], found: _Found, say: Catalogue
) -> Iterator[Evidence]:
    """The pieces; in place of verdicts that leave open a medicine that is `known` not to be for the patient, that.

    What a verdict says already is not said again; beside a no, or where none was asked, the rest is named behind all.
    """
    barred = set()
    for drug, own in known.items():
        about = [e for e in kept if drug in e.about or not (e.about or drug.id)]
        said = {t for e in about if e.kind == VERDICT and not is_verdict(e, *_OPEN) for t in e.triples}
        every = dict.fromkeys((*found.reasons.pop(drug, ()), *own))
        reasons = [r for r in every if not r.triples or not said.issuperset(r.triples)]
        verdicts = [e for e in about if e.kind == VERDICT] if not any(map(_tells_harm, about)) else []
        if reasons and (verdicts or not about) and not any(is_verdict(e, "no") for e in verdicts):
            barred.add(drug)
            facts = say.list([_fact(r.text, [drug], say) for r in reasons])
            triples = tuple(t for r in reasons for t in r.triples)
            yield Evidence(say("safety.not_for", facts=facts), VERDICT, triples, (drug,), 1.0, "no")
        elif reasons:
            found.reasons[drug] = tuple(reasons)
    unlinked = any(not drug.id for drug in barred)
    yield from (e for e in kept if not (is_verdict(e, *_OPEN) and (barred & {*e.about} or (unlinked and not e.about))))


def _tells_harm(e: Evidence) -> bool:
    """Whether a piece is a verdict on what a medicine does to somebody, and so not on whether it may be taken."""
    roles = {t.relation.role for t in e.triples}
    return is_verdict(e, "yes") and not roles.isdisjoint((Role.ADVERSE, Role.CAUSE)) and Role.TREATS not in roles


def _passed(e: Evidence, found: _Found) -> Iterator[Evidence]:
    """A piece without what it may not name; nothing where that was all."""
    lists = [t for t in _of_medicines(e) if t.subject in found.reasons]
    out = {t for t in lists if _is_listed(t, e) or t.relation.role is Role.DOSAGE}
    left = [t for t in e.triples if t not in out]
    role = e.triples[0].relation.role if e.triples else None
    if not out:
        yield e
    elif e.about[:1] != (lists[0].subject,) and any(t.relation.role is role for t in left):
        yield replace(e, triples=tuple(left), text=_text(e, left, out))


def _of_medicines(e: Evidence) -> list[Triple]:
    """What a piece says that medicines are given for, and how."""
    return [t for t in e.triples if t.relation.role in (Role.TREATS, Role.DOSAGE) and _is_medicine(t.subject)]


def _is_medicine(entity: Entity) -> bool:
    return bool(entity.id) and entity.kind in MEDICINES


def _is_listed(triple: Triple, e: Evidence) -> bool:
    """Whether a triple stands in a list of treatments, and not in one of what a medicine is given for."""
    return (
        triple.relation.role is Role.TREATS
        and e.kind != VERDICT
        and (e.kind == "candidate" or triple.subject not in e.about)
    )


def _text(e: Evidence, left: Sequence[Triple], out: Iterable[Triple]) -> str:
    """The text of a piece without what was taken out; the number of those that it leaves out stays."""
    if e.kind != "neighbours" or not e.about:
        return _without(e.text, [t.subject.name for t in out])
    main = [t for t in left if t.relation.role is e.triples[0].relation.role]
    why = "".join(f"; {t}" for t in left if t not in main)
    more = _LEFT.search(e.text)
    return f"{e.about[0].name} {told(e.about[0], main)}{more[0] if more else ''}{why}"


def _without(text: str, names: Iterable[str]) -> str:
    """A text without some names of its lists."""
    for name in names:
        text = re.sub(rf", {re.escape(name)}(?=[,;]|$)|(?<=[→—] ){re.escape(name)}(?:, |(?=;|$))", "", text)
    return text


# --- Polarity.


def against_polarity(frame: Frame, evidence: Sequence[Evidence], say: Catalogue) -> list[Evidence]:
    """The evidence without lists of what helps where only what must not be taken is asked for."""
    refused = [ask for ask in frame.asks if ask.negative]
    if not refused or any(set(_HELPS) & set(ask.intent.roles) for ask in frame.asks if not ask.negative):
        return list(evidence)
    helps = [e for e in evidence if e.triples and e.triples[0].relation.role in _HELPS]
    kept = [e for e in evidence if e not in helps or (is_verdict(e) and not is_verdict(e, "yes"))]
    if kept or not evidence:
        return kept
    about = tuple(n.links[0].entity for n in refused[0].things if n.links)[:1]
    name = "".join(named(thing, han=say.han) for thing in about)
    return [Evidence(say("safety.no_list", one=name), VERDICT, (), about, 1.0, "lacking")]


# --- The judgement on one medicine.


class _Gate:
    """Holds each medicine of an answer once against what is told of the patient."""

    def __init__(
        self,
        graph: LocalGraph,
        told: Circumstances,
        say: Catalogue,
        evidence: Sequence[Evidence],
        asked: Sequence[Entity],
    ) -> None:
        self.graph, self.told, self.say = graph, told, say
        self.given: dict[Entity, dict[str, None]] = {}  # what each medicine of the answer is given for
        for e in evidence:
            for t in _of_medicines(e):
                self.given.setdefault(t.subject, {}).update({x.id: None for x in (t.object, *e.about[:1]) if x.id})
        nodes = list({graph.number(drug.id) for drug in [*self.given, *asked] if drug.id})
        self._parts = _ties(graph, Role.INGREDIENT, nodes, both=False) if told.allergens or told.groups else {}
        self._ties = _ties(graph, Role.INTERACTS, nodes, both=True) if told.taken else {}
        self._taken = frozenset(n for thing in told.taken for n in thing.nodes)
        self._seen: dict[tuple[int, frozenset[int]], tuple[Reason, ...]] = {}
        self._groups = forbidden_groups(graph) if told.groups else {}
        self._ids = {t: frozenset(graph.at(n).id for n in t.nodes) for t in (*told.illnesses, *told.taken)}
        self._by_taken = [(t, self._forbidding(t)) for t in told.taken]
        self._of_classes = [(t, *row) for t in told.allergens for row in against_classes(graph, t).items()]
        acts = {t: [m.entity.id for name in worsened_by(t.name) for m in graph.lookup(name)] for t in told.had}
        self._harms = [(t, t.nodes | {*map(graph.number, ids)}) for t, ids in acts.items()]

    def __call__(self, drug: Entity, found: _Found) -> None:
        """Note why a medicine of the answer is not for this patient, and what asks for care."""
        ends = list(self.given[drug])
        if reasons := self._why(drug, ends):
            found.reasons[drug] = tuple(dict.fromkeys(reasons))
            return
        key = self.graph.number(drug.id), frozenset(map(self.graph.number, ends))
        if cautions := self._cautions(*key):
            found.care[drug] = cautions
        if risks := tuple(self._risks(*key)):
            found.risks[drug] = risks

    def of_asked(self, drug: Entity, frame: Frame) -> tuple[Reason, ...]:
        """Why a medicine that is asked about is not for the patient, whatever the graph gives it for."""
        if not drug.id or not self.told:
            return (*self.known(drug), *self._by_name(drug.name))
        given = _given_for(self.graph, drug, frame)
        return self._why(drug, [given.id] if given else [])

    def _why(self, drug: Entity, ends: Sequence[str]) -> tuple[Reason, ...]:
        """Why a medicine is not for the patient, given for what has some ids."""
        key = (self.graph.number(drug.id), frozenset(map(self.graph.number, ends)))
        if key not in self._seen:
            self._seen[key] = (*self._of_own(drug, ends), *(self._reasons(*key) if self.told else ()))
        return self._seen[key]

    def _of_own(self, drug: Entity, ends: Sequence[str]) -> Iterator[Reason]:
        """That the label of a medicine forbids it in the very illness."""
        pairs = contradictions(self.graph).pairs
        for end in (end for end in dict.fromkeys(ends) if (drug.id, end) in pairs):
            illness = self.graph.at(self.graph.number(end))
            named_in = [w.text for w in warnings_of(self.graph).of(self.graph.number(drug.id)) if w.contraindication]
            triples = triples_of(self.graph, self.graph.number(drug.id), set(named_in))
            yield Reason(named(illness, han=self.say.han), tuple(triples))

    def _reasons(self, node: int, treated: frozenset[int]) -> Iterator[Reason]:
        for group, below, witness in self._groups.get(node, ()):
            if reaches(group, below, self.told.groups):
                triples = triples_of(self.graph, witness, group_texts(self.graph, witness, group))
                yield Reason(_of_group(group, self.say), tuple(triples))
        yield from self.known(self.graph.at(node))
        for thing in self.told.illnesses:
            if not thing.nodes & treated:
                yield from self._of_thing(node, thing, thing.name)
        for thing in self.told.taken:
            yield from self._of_thing(node, thing, self.say("safety.with", one=thing.name))
        for thing, said in self._by_taken:
            yield from self._by_the_other(node, thing, said)
        for thing in self.told.allergens:
            yield from self._of_allergy(node, thing)

    def known(self, drug: Entity) -> Iterator[Reason]:
        """Whom of those told the vocabulary says that a medicine is not for."""
        parts = self._parts.get(self.graph.number(drug.id), ()) if drug.id and self.told.groups else ()
        names = [drug.name, *(self.graph.at(node).name for node, _ in parts)] if self.told.groups else []
        for group, below in dict.fromkeys(row for name in names for row in not_for(name, drug.name)):
            if reaches(group, below, self.told.groups):
                why = self.told.called.get(group) or _of_group(group, self.say)
                said = Entity("", self.say("safety.known", one=why))
                yield Reason(why, (Triple(drug, _NOT, said, source="vocabulary"),))

    def _of_thing(self, node: int, thing: Told, why: str, *, allergy: bool = False) -> Iterator[Reason]:
        """That a label of the medicine forbids it with something, or enough labels of its substance."""
        ids = self._ids.get(thing, frozenset())
        if said := self._forbidding_texts(node, thing, ids, allergy=allergy):
            yield Reason(why, tuple(triples_of(self.graph, node, said)))
            return
        labels = self._products(node)
        against = {n: said for n in labels if (said := self._forbidding_texts(n, thing, ids, allergy=allergy))}
        if against and _SHARE * len(against) >= len(labels):
            yield Reason(why, tuple(t for n, said in against.items() for t in triples_of(self.graph, n, said))[:3])

    def _forbidding_texts(self, node: int, thing: Told, ids: frozenset[str], *, allergy: bool) -> set[str]:
        said = warnings_of(self.graph).of(node)
        return {w.text for w in said if thing.level(w, ids, allergy=allergy) is Level.FORBIDS}

    def _products(self, node: int) -> list[int]:
        """The labels that stand for a substance without one."""
        name = self.graph.at(node).name
        nodes = medicines_of(self.graph).get(name.casefold(), ()) if substance(name) == name.casefold() else ()
        table = warnings_of(self.graph)
        return [n for n in nodes if n != node and any(w.contraindication for w in table.of(n))][:_PRODUCTS]

    def _forbidding(self, thing: Told) -> list[tuple[int, str]]:
        """What the labels of a medicine that is taken forbid, text by text."""
        nodes = [*thing.nodes, *(n for name in thing.substances for n in medicines_of(self.graph).get(name, ()))]
        table = warnings_of(self.graph)
        return [(n, w.text) for n in dict.fromkeys(nodes[:_PRODUCTS]) for w in table.of(n) if not w.id]

    def _by_the_other(self, node: int, thing: Told, said: Sequence[tuple[int, str]]) -> Iterator[Reason]:
        """That the label of what is taken forbids the medicine beside it."""
        own = substance(self.graph.at(node).name)
        pattern = re.compile(re.escape(own), re.IGNORECASE)
        for other, text in said:
            if (
                len(own) > 1
                and own in text.casefold()
                and level_of(text, pattern, contraindication=False) is Level.FORBIDS
            ):
                yield Reason(self.say("safety.with", one=thing.name), tuple(triples_of(self.graph, other, {text})))

    def _of_allergy(self, node: int, thing: Told) -> Iterator[Reason]:
        """That a medicine is what the patient is allergic to, contains it, is of its class, or that a label says so."""
        why = self.say("safety.allergy", one=thing.name)
        name = substance(self.graph.at(node).name)
        held = {substance(self.graph.at(n).name): edge for n, edge in self._parts.get(node, ())}
        mates = {part for part in {name, *held} if any(stem.search(part) for stem in thing.stems)}
        if node in thing.nodes or name in thing.substances or mates or held.keys() & thing.substances:
            edges = [edge for part, edge in held.items() if part in mates or part in thing.substances]
            yield Reason(why, tuple(map(self.graph.triple, edges)))
            return
        yield from self._of_thing(node, thing, why, allergy=True)

    def _by_name(self, name: str) -> Iterator[Reason]:
        """That a medicine that is not in the graph is by its name what the patient is allergic to, or of its class."""
        for thing in self.told.allergens:
            if substance(name) in thing.substances or any(stem.search(name) for stem in thing.stems):
                yield Reason(self.say("safety.allergy", one=thing.name))

    def _cautions(self, node: int, treated: frozenset[int]) -> tuple[Triple, ...]:
        """The interactions of a medicine with what is taken, and where its label asks for care in an illness had."""
        edges = (edge for other, edge in self._ties.get(node, ()) if other in self._taken)
        told = [(t, self._ids[t], False) for t in self.told.had if not t.nodes & treated]
        told += [(t, frozenset[str](), True) for t in self.told.allergens]
        labels = warnings_of(self.graph).of(node) if told else ()
        said = {w.text for w in labels if any(t.level(w, ids, allergy=a) is Level.CARE for t, ids, a in told)}
        return (*map(self.graph.triple, dict.fromkeys(edges)), *(triples_of(self.graph, node, said) if said else []))

    def _risks(self, node: int, treated: frozenset[int]) -> Iterator[Reason]:
        """What a medicine can cause that the patient has, and an allergy with which labels forbid its class."""
        for thing, acts in self._harms:
            if not thing.nodes & treated and (edges := self._caused(node, acts)):
                yield Reason(self.say("safety.worse", one=thing.name), tuple(map(self.graph.triple, edges)))
        rows = classes_by_name(self.graph.at(node).name) if self._of_classes else ()
        for thing, row, said in self._of_classes:
            if row in rows:
                triples = [t for n, text in said[:_CITED] for t in triples_of(self.graph, n, {text})]
                yield Reason(self.say("safety.class_allergy", one=thing.name), tuple(triples))

    def _caused(self, node: int, acts: Collection[int]) -> list[int]:
        """The edges by which a medicine can cause one of some things, where enough labels of its substance say so."""
        name = self.graph.at(node).name
        bare = substance(name) == name.casefold()
        labels = medicines_of(self.graph).get(name.casefold(), (node,)) if bare else (node,)
        hops = ByRole(self.graph, Role.ADVERSE).objects(labels)
        rows = [row for row in zip(*(column.tolist() for column in hops), strict=True) if row[1] in acts]
        found = {origin: edge for origin, _, edge in rows if edge not in contradictions(self.graph).edges}
        return list(found.values())[:_CITED] if _SHARE * len(found) >= len({*hops.origin.tolist()}) else []


def _ties(graph: LocalGraph, role: Role, nodes: Sequence[int], *, both: bool) -> dict[int, list[tuple[int, int]]]:
    """The objects of some nodes in a role, with `both` also the subjects, each with its edge, by node."""
    steps, found = ByRole(graph, role), dict[int, list[tuple[int, int]]]()
    for hops in (steps.objects(nodes), steps.subjects(nodes))[: 1 + both] if nodes else ():
        for origin, node, edge in zip(*(column.tolist() for column in hops), strict=True):
            found.setdefault(nodes[origin], []).append((node, edge))
    return found


# --- What is said of it.


def _of_group(group: int, say: Catalogue) -> str:
    return say(f"reason.{GROUPS[group].replace(' ', '_')}")


@dataclass(frozen=True)
class NamedAgainst:
    """Which medicines a text names that are not for the patient of a frame, as a sentence; "" = none.

    `link` finds the names of `graph` in a text; without a graph the vocabulary alone is asked.

    >>> from kgmed.frame import Patient
    >>> NamedAgainst()(Frame(patient=Patient(groups=("pregnancy",))), "Take lisinopril.")
    "Not suitable for this patient according to a label, the graph or kgmed's own list: pregnancy: lisinopril."
    """

    graph: LocalGraph | None = None
    link: Callable[[str], Sequence[Link]] = lambda text: ()

    def __call__(self, frame: Frame, text: str, *held: Entity) -> str:
        """The sentence; `held` = what else the text may be looked through for, by its name."""
        there = [e for e in held if e.name and e.name.casefold() in text.casefold()]
        named = [e for e in there if has_cjk(e.name) or re.search(rf"\b{re.escape(e.name)}\b", text, re.IGNORECASE)]
        known, said = self._by_graph(self.graph, frame, text, named) if self.graph else ((), [])
        others = {name for name in (*(e.name for e in named), *re.findall(_WORD, text)) if name.casefold() not in known}
        return "\n".join(filter(None, [*said, _by_vocabulary(sorted(others), frame)]))

    def _by_graph(
        self, graph: LocalGraph, frame: Frame, text: str, named: Sequence[Entity]
    ) -> tuple[Collection[str], list[str]]:
        """The words of the names that the graph has, and what it says of them."""
        links = [link for link in self.link(text) if link.entity.kind in MEDICINES]
        medicines = dict.fromkeys([*(link.entity for link in links), *filter(_is_medicine, named)])
        called = [name for link in links for name in (link.mention.surface, link.entity.name)]
        words = {word.casefold() for name in called for word in (name, *re.findall(_WORD, name))}
        return words, [e.text for e in barred(graph, frame, list(medicines))]


def barred(graph: LocalGraph, frame: Frame, medicines: Sequence[Entity]) -> list[Evidence]:
    """The piece that says which of some medicines are not for the patient of a frame, whatever is asked; [] = none."""
    asked = [n.links[0].entity for ask in frame.asks for n in ask.things if n.links and n.kind not in MEDICINES]
    against = asked[0] if asked else Entity("", "")
    rows = [Triple(drug, _GIVEN, _given_for(graph, drug, frame) or against) for drug in medicines]
    pieces = [Evidence(t.subject.name, "triple", (t,), tuple(asked[:1])) for t in rows]
    told = tuple(n for n in frame.findings if n not in feared(frame))  # whatever is asked, what is named may be taken
    positive = replace(frame, asks=(), findings=told)
    found = NotForThisPatient(graph)(Query(Question("", language=frame.language), frame=positive), pieces)
    return [e for e in found if e.id == NOT_FOR]


def _given_for(graph: LocalGraph, drug: Entity, frame: Frame) -> Entity | None:
    """An illness of the patient that the graph gives a medicine for: what labels say of its severe forms is no bar."""
    given = {*ByRole(graph, Role.TREATS).objects([graph.number(drug.id)]).node.tolist()}
    ill = (x.entity for n in frame.patient.has for x in n.links)
    return next((entity for entity in ill if graph.number(entity.id) in given), None)


_WORD = r"\b[A-Za-z]{6,}\b"  # long enough for the name of a medicine
_GIVEN = Relation("given for", Role.TREATS)


def _by_vocabulary(names: Iterable[str], frame: Frame) -> str:
    """Which of some names are medicines that the vocabulary says are not for the patient, as a sentence; "" = none."""
    say, told = catalogue(frame.language), groups_of(frame.patient)
    found: dict[int, list[Entity]] = {}
    for name in names:
        for group, below in not_for(name):
            if reaches(group, below, told):
                found.setdefault(group, []).append(Entity("", name))
    facts = [_fact(_of_group(g, say), drugs, say) for g, drugs in found.items()]
    return say("safety.not_for", facts=say.list(facts)) if facts else ""


def _warnings(found: _Found, say: Catalogue) -> Iterator[Evidence]:
    """One piece that names what is not for this patient, and one what is with care alone, by reason."""
    for by_drug, key, name in (
        (found.reasons, "safety.not_for", NOT_FOR),
        (found.risks, "safety.with_care", WITH_CARE),
    ):
        by_reason: dict[str, list[Entity]] = {}
        for drug, reasons in by_drug.items():
            for reason in reasons:
                by_reason.setdefault(reason.text, []).append(drug)
        facts = [_fact(text, list(dict.fromkeys(drugs)), say) for text, drugs in by_reason.items()]
        triples = dict.fromkeys(t for reasons in by_drug.values() for r in reasons for t in r.triples)
        if facts:
            yield Evidence(say(key, facts=say.list(facts)), "warning", tuple(triples), tuple(by_drug), 1.0, name)


def _fact(reason: str, drugs: Sequence[Entity], say: Catalogue) -> str:
    names = say.join([named(drug, han=say.han) for drug in drugs[:_SHOWN]])
    more = say("list.more", count=len(drugs) - _SHOWN) if len(drugs) > _SHOWN else ""
    return say("safety.fact", reason=reason, names=f"{names}{more}")


def _care(found: _Found) -> Iterator[Evidence]:
    """What of the medicines that stay asks for care in this patient."""
    for drug, ties in found.care.items():
        names = "; ".join(dict.fromkeys((t.tail if t.head == drug else t.head).name for t in ties))
        yield Evidence(f"{drug.name} — {ties[0].relation} → {names}", "warning", ties, (drug,), id=CARE)


# --- Which medicines must not be taken by people with a condition, and the warnings of those that are named.


_LISTED = 10  # ours: medicines that are named
_NOT_OF_IT = lazily(r"诱发|引起|导致|可(?:能)?(?:发生|出现)|检查|监测|testing|monitor", re.IGNORECASE)


@dataclass(frozen=True)
class WarnedOf:
    """The verdict "no" with the medicines that are warned of for one condition; [] where no such thing is asked."""

    graph: LocalGraph

    def of(self, query: Query, links: Sequence[Link]) -> list[Evidence]:
        """One piece: those that must not be taken first, then those to be taken with care."""
        things = [link for link in links if not link.mention.negated]
        family = Family(self.graph)
        if len(things) != 1 or any(e.kind in MEDICINES for e in family.twins(things[0])):
            return []
        found: dict[str, tuple[bool, Entity, Triple]] = {}
        for forbidden, triple in self._warnings(things[0], family):
            drug = triple.subject
            key = family.substance(self.graph.number(drug.id))
            if key not in found or (forbidden and not found[key][0]):
                found[key] = (forbidden, drug, triple)
        usual = medicines_of(self.graph)  # of what there are many products of people have heard
        order = sorted(found, key=lambda name: (not found[name][0], -len(usual.get(name, ()))))
        rows = [found[name] for name in order]
        if not rows:
            return []
        say, thing = catalogue(query.frame.language), things[0].entity
        names = [name_of(drug, say) for _, drug, _ in rows[:_LISTED]]
        more = say("list.more", count=len(rows) - _LISTED) if len(rows) > _LISTED else ""
        said = say("verdict.labels", facts=say.join(names) + more, one=name_of(thing, say))
        return [Evidence(said, VERDICT, tuple(t for *_, t in rows[:_LISTED]), (thing,), 1.0, "no")]

    def _warnings(self, link: Link, family: Family) -> Iterator[tuple[bool, Triple]]:
        """The triples that warn of a medicine for a thing or in a text that names it, and whether they forbid it."""
        twins = [self.graph.number(e.id) for e in family.twins(link)]
        for role in WARNS:
            for edge in ByRole(self.graph, role).subjects(twins).edge.tolist():
                yield role is Role.CONTRAINDICATED, self.graph.triple(edge)
        if (tables := getattr(self.graph, "tables", None)) is None:
            return
        names, about = self._names(link, twins), circumstances_of(link.mention.surface)
        parts = [re.escape(n) if has_cjk(n) else rf"\b{re.escape(n)}" for n in names]
        pattern = re.compile("|".join([*parts, *(c.in_text.pattern for c in about)]), re.IGNORECASE)
        warnings = warnings_of(self.graph)
        for number in (warnings.numbers if about else warnings.naming(names)).tolist():
            if pattern.search(tables.text[number]) and (triple := self._of_it(number, pattern)):
                yield forbids(clauses_about(triple.object.name, pattern)), triple

    def _of_it(self, number: int, pattern: re.Pattern[str]) -> Triple | None:
        """The triple of a text that warns of a thing, and not of what the medicine does to it."""
        triple: Triple = self.graph.text(number)  # type: ignore[attr-defined]
        said = clauses_about(triple.object.name, pattern)
        about = triple.subject.kind in MEDICINES and said and not _NOT_OF_IT.search(said)
        return (
            triple
            if about and (triple.relation.role is Role.CONTRAINDICATED or forbids(said) or "慎" in said)
            else None
        )

    def _names(self, link: Link, twins: list[int]) -> list[str]:
        """What a text may call the thing."""
        aliases = getattr(self.graph, "aliases", None)
        names = {link.mention.surface, link.entity.name, *(self.graph.at(node).name for node in twins)}
        names |= {
            text for node in twins for text, scope in (aliases(node) if aliases else ()) if scope <= Scope.TRANSLATION
        }
        return [n for n in names if len(n) >= (2 if has_cjk(n) else 5)]


# --- Ranker: adds what the graph warns of to the drugs that the evidence speaks of.


_DRUG_ROLES = (Role.TREATS, Role.DOSAGE, Role.ADVERSE, Role.INTERACTS)
_MANY = 1 << 20  # all of them: a contraindication is never left out


@dataclass(frozen=True)
class Warned:
    """The evidence, then a warning for each drug that a piece of it is about: all its contraindications.

    Where the question asks what to take, so does each drug in a list.
    A drug without contraindications brings its first `cautions` precautions.
    """

    graph: KnowledgeGraph
    cautions: int = 2

    def __call__(self, query: Query, evidence: Sequence[Evidence]) -> list[Evidence]:
        """All of the evidence and, kind "warning", what it must not be read without."""
        said = {t for e in evidence for t in e.triples}
        listed = any(i in (Intent.TREATMENT, Intent.DIAGNOSIS) for i in query.frame.intents)
        about = (t.subject for e in evidence for t in e.triples if _is_about(e, t, listed=listed))
        drugs = dict.fromkeys(drug for drug in about if drug.id)  # a treatment that is only a text has no warnings
        groups = populations(query.frame.patient.groups)
        named = {t.subject for t in said if t.relation.role is Role.CONTRAINDICATED}
        return [*evidence, *(w for drug in drugs for w in self._warning(drug, said, named, groups))]

    def _warning(
        self, drug: Entity, said: set[Triple], named: set[Entity], groups: Sequence[People]
    ) -> Iterator[Evidence]:
        """One piece with what is not said already, and what is said of the people whom the question names.

        `named` = the drugs of which a contraindication is said already.
        """
        mine = [t for t in _warnings_on(self.graph, drug, Role.CONTRAINDICATED) if t not in said]
        forbidden = bool(mine) or drug in named
        if groups or not forbidden:
            cautions = [t for t in _warnings_on(self.graph, drug, Role.PRECAUTION) if t not in said]
            mine += [t for t in cautions if any(clauses_about(t.object.name, g.in_text) for g in groups)]
            mine += [t for t in cautions if t not in mine][: 0 if forbidden else self.cautions]
        if mine:
            names = "; ".join(dict.fromkeys(t.object.name for t in mine))
            yield Evidence(f"{drug.name} — {mine[0].relation} → {names}", "warning", tuple(mine), (drug,))


@kept_with_graph(1 << 10)
def _warnings_on(graph: KnowledgeGraph, drug: Entity, role: Role) -> list[Triple]:
    """All that a graph has of a role about a drug, but that nothing is known."""
    if isinstance(graph, Store) and not any(
        w.contraindication is (role is Role.CONTRAINDICATED) for w in warnings_of(graph).of(graph.number(drug.id))
    ):
        return []  # as of most; its other texts need not be read
    around = graph.neighbours(drug.id, limit=_MANY, roles=(role,))
    own = [t for t in (*around, *graph.attributes(drug.id)) if t.relation.role is role and t.subject == drug]
    return [t for t in own if not says_unknown(t.object.name)]


def _is_about(evidence: Evidence, triple: Triple, *, listed: bool) -> bool:
    """Whether a piece of evidence speaks of the drug of a triple, or `listed` and it names it as a treatment."""
    role = triple.relation.role
    return (listed and role is Role.TREATS) or (role in _DRUG_ROLES and triple.subject in evidence.about)
