"""The operator `between`: the verdicts on subject and object of an ask, and the warnings for the patient.

A verdict is evidence of kind "verdict"; its triples are what it stands on, `about` are its two things, its id says
what it is:

- "yes": a triple that is asked for; "no": one that denies or forbids it; "caution": a warning that does not forbid;
- "interacts": two medicines that do; "class": a warning of another medicine of the class; "harm": a medicine that can
  cause what it is to be taken with;
- "reverse": only the other way round; "other": a tie, but another; "none": no tie, which is no "no";
- "unknown": a name that the graph does not have.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import combinations, islice, product
from typing import Any, NamedTuple

from kgmed.diagnose.engine import engine
from kgmed.diagnose.findings import findings_of
from kgmed.diagnose.knowledge import CARE
from kgmed.diagnose.retrieve import Consult, candidate, first, tie
from kgmed.facts.plan import Asked, is_an_illness, links_of, mode_pattern, operator_named, rules
from kgmed.facts.ties import AskedThings, Thing, Tie, Ties, Way, Ways, by_cost, distinct, groups_of
from kgmed.frame import Ask, Form, Frame, Intent, Named
from kgmed.graph.base import ByRole, LocalGraph
from kgmed.language.particulars import DRINKS, People, worsened_by
from kgmed.records import VERDICT, Entity, Evidence, Link, Mention, Query, Role, Triple
from kgmed.sentences import Catalogue, catalogue
from kgmed.steps.facts import in_words, is_foreign, name_of, named, translated
from kgmed.steps.family import MEDICINES, Family, substance

# --- Operator `explain`: the diseases that explain what is told, and whether an illness that is suspected does.

_MOST = 2  # ours: suspected illnesses that are weighed
_KINDS = 60  # ours: narrower entries of an illness whose findings are looked at


@dataclass(frozen=True)
class Explain:
    """A verdict on each suspected illness, then a card for each disease that explains the findings.

    Before the diseases that the graph thinks of come those that a language model does, as the graph has them. `care` =
    what of a disease's tests and treatments is shown on its card, in this order.
    """

    graph: LocalGraph
    care: tuple[Role, ...]

    def __call__(self, query: Query) -> list[Evidence]:
        """[] where no finding that the graph knows is told."""
        told = [n for n in query.frame.findings if n.links]
        suspected = self._suspected(told) if Intent.RELATION in query.frame.intents else []
        findings = [n.links[0] for n in told if n not in suspected]
        if not findings:
            return []
        say = catalogue(query.frame.language)
        verdicts = [self._weighed(n.links[0], findings, say) for n in suspected[:_MOST]]
        cards = Consult(self.graph, care=self.care)(query, findings)
        likely = [card for n in query.frame.likely if (card := self._supposed(n, told))]
        found: dict[Entity, Evidence] = {}
        for piece in (*verdicts, *likely, *cards):
            found.setdefault(piece.about[0], piece)
        return list(found.values())

    def _supposed(self, ill: Named, told: Sequence[Named]) -> Evidence | None:
        """The card of a disease by the entry that has most findings, each under any of its names; None of none."""
        model = engine(self.graph)
        entries = dict.fromkeys(n for link in ill.links for n in Family(self.graph, kinds=_KINDS).of(link))
        nodes = [{link: [*findings_of(self.graph, [link])] for link in one.links} for one in told]

        def held(node: int) -> list[Link]:
            """The link of each finding by which the entry has it, else the first."""
            return [
                next((x for x, some in links.items() if any(tie(model, node, q) >= 0 for q in some)), next(iter(links)))
                for links in nodes
            ]

        cards = [candidate(model, n, 1.0, findings_of(self.graph, held(n))) for n in entries if n in model.world.place]
        best = max(cards, key=lambda card: len(card.about), default=None)
        return best if best and best.triples else None

    def _suspected(self, told: Sequence[Named]) -> list[Named]:
        """The illnesses that are named beside findings that are told."""
        named_ill = [n for n in told if n.kind == "disease" and is_an_illness(self.graph, n.links[0])]
        return named_ill if len(named_ill) < len(told) else []

    def suspects(self, query: Query) -> bool:
        """Whether an illness and several findings are told: what is asked is whether it explains them."""
        told = [n for n in query.frame.findings if n.links]
        return 0 < len(self._suspected(told)) < len(told) - 1

    def _weighed(self, ill: Link, findings: Sequence[Link], say: Catalogue) -> Evidence:
        """Which findings the entry of the illness that has most of them has, and which it lacks."""
        model = engine(self.graph)
        nodes = [q for q, link in findings_of(self.graph, findings).items() if not link.mention.negated]
        ties = {node: {q: tie(model, node, q) for q in nodes} for node in Family(self.graph, kinds=_KINDS).of(ill)}
        best = max(ties, key=lambda node: sum(edge >= 0 for edge in ties[node].values()))
        has: dict[str, Triple] = {}
        lacks: list[str] = []
        for q, edge in ties[best].items():
            if edge >= 0 and (triple := self.graph.triple(edge)).relation.role is not Role.EXCLUDES:
                has.setdefault(named(triple.object, han=say.han), triple)
            else:
                lacks.append(named(self.graph.at(q[0]), han=say.han))
        entity = self.graph.at(best) if has else ill.entity
        which = "fits" if has and len(has) >= len(lacks) else "fits_in_part" if has else "fits_not"
        said = say(f"verdict.{which}", one=named(entity, han=say.han), facts=say.join(list(has)))
        said += say("verdict.fits_lacks", facts=say.join(list(dict.fromkeys(lacks)))) if lacks else say("marks.stop")
        return Evidence(said, VERDICT, tuple(has.values()), (entity,), 1.0, "yes" if has else "other")


def explain(asked: Asked) -> list[Evidence]:
    """The operator: the diseases that explain the findings told, after a verdict on one that is suspected.

    Where a language model has read the question, it also knows whether tests and treatments are asked for.
    """
    frame, roles = asked.query.frame, asked.row.roles
    by_model = tuple(r for r in frame.roles if r in CARE)
    care = by_model if frame.source == "model" else first([r for r in roles if r in CARE])
    cards = Explain(asked.graph, care)(asked.query)
    if Role.TREATS not in roles or frame.source == "model":
        return cards
    has = {c: tuple(t for t in c.triples if t.relation.role is Role.FINDING) for c in cards}
    # nothing is done about one finding alone
    alone = {c for c in cards if c.kind == "candidate" and len({*has[c]}) < 2}
    return [replace(c, triples=has[c]) if c in alone else c for c in cards]


GRAVE = ("no", "interacts", "caution", "class", "harm")
_ORDER = (*GRAVE, "yes", "reverse", "other", "unknown", "none")
_SAID = 4  # ours: verdicts in an answer
_PAIRS = 40  # ours: pairs that are judged
_SEVERAL = 2  # ours: names in the ties of two medicines with others of their classes: one and one, and more


@dataclass(frozen=True)
class Rule:
    """What answers an intent: a row of `verdicts.toml`."""

    roles: tuple[tuple[Role, str], ...]
    against: frozenset[Role]
    either_way: bool = False
    taken: bool = False
    warns: bool = False
    affirms: bool = False
    two: bool = False
    beside: bool = False
    tells: bool = False

    def denies(self, tie: Tie) -> bool:
        """Whether a tie says no."""
        return (Role.CONTRAINDICATED in self.against and tie.grade == "no") or tie.role in self.against

    def says(self, tie: Tie, *, turned: bool = False) -> bool:
        """Whether a tie says yes."""
        ways = ("*", "+" if tie.along is not turned else "-")
        return any(tie.role is r and w in ways for r, w in self.roles)

    def place(self, tie: Tie) -> tuple[bool, int, float]:
        """The place of a tie among those that say yes: of the things themselves, of the most telling role, near."""
        order = [role for role, _ in self.roles]
        return tie.of_kinds, order.index(tie.role) if tie.role in order else len(order), tie.cost


@lru_cache(maxsize=64)
def rule_of(name: str) -> Rule | None:
    """The rule of an intent; None where no verdict answers it."""
    row = dict(rules()["intent"].get(name, {}))
    if not row:
        return None
    roles = tuple((Role(tie[:-1]), tie[-1]) for tie in row.pop("ties").split())
    return Rule(roles, frozenset(map(Role, row.pop("against", "").split())), **row)


class Judged(NamedTuple):
    """A verdict, whether it is on what was asked, and whether on a complaint: what is taken may be for it."""

    verdict: Evidence
    asked: bool = True
    complaint: bool = False


@dataclass(frozen=True)
class RelationVerdict:
    """The verdicts on the things of an ask, the gravest first; [] where it is of no two things."""

    graph: LocalGraph
    most: int = 3  # ties in one verdict

    def __call__(self, ask: Ask, frame: Frame) -> list[Evidence]:
        """One verdict for each two things, and for each medicine and what the patient has, is and takes."""
        rule = rule_of(ask.intent)
        return _Judge(Ties(self.graph), ask, frame, rule, self.most).verdicts() if rule else []


@dataclass(frozen=True)
class Pair:
    """What a graph has of two things, `a` the medicine where one is taken; a search is made once, and by its name.

    The searches are those that the rows of `judged` in `verdicts.toml` name; `group` is the people that `b` stands for.
    """

    ties: Ties
    a: Thing
    b: Thing
    rule: Rule
    group: People | None = None
    _found: dict[str, Sequence[Tie | Way]] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def both(self) -> bool:
        """Whether both are medicines."""
        return self.ties.is_medicine(self.a) and self.ties.is_medicine(self.b)

    def find(self, row: Mapping[str, Any]) -> Sequence[Tie | Way]:
        """What the search of a row finds, of ties those of its roles and grades; [] where a condition fails."""
        if row.get("two", self.both) is not self.both:
            return []
        if (name := row["find"]) not in self._found:
            self._found[name] = getattr(self, f"_{name}")()
        found, roles, grades = self._found[name], row.get("roles"), row.get("grades")
        if roles or grades:
            ties = (t for t in found if isinstance(t, Tie))
            found = [t for t in ties if t.role in (roles or (t.role,)) and t.grade in (grades or (t.grade,))]
        names = {substance(e.name) for t in found if isinstance(t, Tie) for e in (t.triple.subject, t.triple.object)}
        return found if len(names) >= row.get("names", 0) else []

    @cached_property
    def between(self) -> list[Tie]:
        """All that ties them, the nearest first."""
        return self.ties.between(self.a, self.b)

    def _between(self) -> list[Tie]:
        return self.between

    def _classes(self) -> list[Tie]:
        """What the class of one has with the other."""
        one, other = self.ties.own(self.a), self.ties.own(self.b)
        return [*self.ties.tied(self.ties.classes(self.a), other), *self.ties.tied(one, self.ties.classes(self.b))]

    def _same(self) -> list[Way]:
        """What leads from one medicine to the other where they are one substance."""
        return [why for node, why in self.ties.own(self.a).items() if self.ties.graph.at(node) == self.b.entity]

    def _effects(self) -> list[Tie]:
        """What a medicine does for or against the other, harm first."""
        done = (t for t in self.between if t.role in (Role.TREATS, Role.ADVERSE))
        return sorted(done, key=lambda t: t.role is Role.TREATS)

    def _harms(self) -> list[Tie]:
        """The same where all of it is harm."""
        done = self._effects()
        return done if all(t.role is Role.ADVERSE and not t.slip for t in done) else []

    def _given_with_care(self) -> list[Tie]:
        """What a medicine is given for, then what asks for care with just that; [] where anything forbids it."""
        given = [t for t in self.between if t.role is Role.TREATS and not (t.slip or t.of_kinds)]
        care = [t for t in self.between if t.grade]
        return [*given[:1], *care] if care and all(t.grade == "caution" for t in care) and given else []

    def _worsened(self) -> list[Tie]:
        """What makes an illness worse; [] where more is given for it."""
        worse = self.ties.worsened(self.a, self.b)
        return [] if _more_given(self.between, worse) else worse

    def _mates_of_harmful(self) -> list[Tie]:
        """What others of the class of a medicine that does harm have with the other."""
        return self.ties.said_of(self.ties.mates(self.a), self.b) if self._harms() or self._worsened() else []

    def _classed(self) -> list[Way]:
        """What leads from one to the other where that is asked for and is a class of it."""
        classes = self.ties.classes(self.a) if self.rule.tells and self.rule.roles[0][0] is Role.IS_A else {}
        return [why for node, why in classes.items() if node in self.ties.own(self.b)]

    def _siblings(self) -> list[Tie]:
        """What other medicines of a small class of one have with the other."""
        ways = ((self.a, self.b, True), (self.b, self.a, False))
        return by_cost(t for x, y, way in ways for t in self.ties.said_of(self.ties.siblings(x), y, along=way))

    def _mates(self) -> list[Tie]:
        """The edges between others of the class of one medicine and the other."""
        pairs = ((self.a, self.b), (self.b, self.a))
        return by_cost(t for x, y in pairs for t in self.ties.tied(self.ties.mates(x), self.ties.own(y)))

    # --- an allergy to the other, and a group of people

    @cached_property
    def _own(self) -> Ways:
        """The entries of the medicine and, of a class, of its members."""
        return self.ties.own(self.a) | self.ties.members(self.a)

    def _shared(self) -> list[Way]:
        """What leads to the entries that are of both."""
        other = self.ties.own(self.b)
        return [why for node, why in self._own.items() if node in other]

    def _shared_class(self) -> list[Way]:
        return [()] if self.ties.mates(self.b).keys() & self._own.keys() else []

    def _labels(self) -> list[Tie]:
        return by_cost(self.ties.naming(self._own, self.b))

    def _labels_of_mates(self) -> list[Tie]:
        return by_cost(self.ties.naming(self.ties.mates(self.a), self.b))

    def _people(self) -> list[Tie]:
        return self.ties.about_people(self._own, self.group) if self.group else []

    def _people_of_mates(self) -> list[Tie]:
        """What is forbidden to the people of others of its class: of most, or of one where it is about a drink."""
        spoken = self.ties.about_people(self.ties.mates(self.a), self.group) if self.group else []
        alike = [t for t in spoken if t.grade_for_people == "no"]
        forbidden, speaking = ({substance(t.triple.subject.name) for t in ties} for ties in (alike, spoken))
        most = len(forbidden) > _SEVERAL and 5 * len(forbidden) >= 4 * len(speaking)
        return alike if most or self.group in DRINKS else []

    # --- tied as the intent asks

    @cached_property
    def _near(self) -> list[Tie]:
        """Where nothing ties them, what one has whose name holds that of the other."""
        return [] if self.between else [t for t in self.ties.holding(self.a, self.b) if self.rule.says(t)]

    @cached_property
    def against(self) -> list[Tie]:
        """The ties that say no."""
        return [t for t in self.between if self.rule.denies(t) and not t.of_kinds]

    def _saying(self) -> list[Tie]:
        """The ties that say yes, the most telling first."""
        return sorted((t for t in self.between if self.rule.says(t)), key=self.rule.place)

    def _turned(self) -> list[Tie]:
        return [t for t in self.between if self.rule.says(t, turned=True)]

    @cached_property
    def good(self) -> list[Tie]:
        """What says yes: of the two, turned round where that is the same, or by a longer name."""
        return self._saying() or (self._turned() if self.rule.either_way else []) or self._near

    def _affirming(self) -> list[Tie]:
        """The same but slips; where ties of many roles answer, one of each first, warnings before all."""
        good = [t for t in self.good if not t.slip] or self.good
        firsts = {t.role: t for t in reversed(good)}.values()
        return sorted(good, key=lambda t: (t not in firsts, not t.grade)) if self.rule.beside else good

    def _contradicted(self) -> list[Tie]:
        """The first that says yes, and what speaks against it where nothing says no outright."""
        if self.against or not self.good:
            return []
        harm = any(t.role is Role.ADVERSE for t in self._near)
        beside = self.ties.holding(self.a, self.b, (Role.TREATS,)) if harm else []
        instead = _speaks_against(self.good, [*self.between, *self._near, *beside])
        return [*self.good[:1], *instead] if instead else []

    def _slips(self) -> list[Tie]:
        """What says yes where the graph itself speaks against most of it."""
        return [t for t in self.good if t.slip] if _are_slips(self.good) and not self.against else []


@dataclass(frozen=True)
class _Judge:
    """One ask under judgement."""

    ties: Ties
    ask: Ask
    frame: Frame
    rule: Rule
    most: int
    _pairs: dict[tuple[Thing, Thing], Pair] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def named(self) -> AskedThings:
        return AskedThings(self.ties, self.ask, self.frame, one=self.rule.taken or self.ask.form is not Form.YES_NO)

    @cached_property
    def words(self) -> Catalogue:
        return catalogue(self.frame.language)

    def verdicts(self) -> list[Evidence]:
        """What is said: all that warns, the gravest first, then what else is known of what is asked about."""
        found = sorted(islice(self._judged(), _PAIRS), key=self._place)
        grave = [
            j.verdict for j in found if j.verdict.id in GRAVE and (j.asked or not j.complaint or j.verdict.id != "harm")
        ]
        rest = [j for j in found if j.asked and j.verdict.id not in GRAVE]
        idle = ("none", "other") if grave or len(rest) > 1 else ()  # of a complaint: what is taken may be for it
        said = [j.verdict for j in rest if not (j.complaint and j.verdict.id in idle)]
        said = said if grave or said else [j.verdict for j in rest or found]
        once: dict[object, Evidence] = {}
        for e in [*grave, *said[: max(1, _SAID - len(grave))]]:
            once.setdefault((e.triples, frozenset(e.about)) if e.triples else e.text, e)
        return list(once.values())

    def _place(self, judged: Judged) -> tuple[int, bool, bool]:
        """The place of a verdict: a name that is not known first of what is nothing, unless two others are judged."""
        which, known = judged.verdict.id, len(self.named.things[0]) > 1
        place = len(_ORDER) if which == "unknown" and known else _ORDER.index(which)
        return place, not judged.asked, not judged.verdict.is_safety

    def _judged(self) -> Iterator[Judged]:
        things, unknown = self.named.things
        if not self._is_of_two():
            return
        if self.ask.intent is Intent.INHERITANCE and len(things) == 1:
            yield from map(Judged, self._inherited(things[0]))
            return
        medicines = [t for t in things if self.ties.is_medicine(t) and not groups_of(t.named)]
        rest = [t for t in things if t not in medicines and not (medicines and groups_of(t.named))]
        yield from (Judged(self._unknown(n)) for n in unknown if not (medicines and groups_of(n)))
        if self.rule.taken:
            pairs = [*combinations(medicines, 2), *product(medicines, rest)] or [
                pair for pair in combinations(rest, 2) if {t.entity.kind for t in pair} != {"disease"}
            ]  # of two illnesses neither is what is done with the other
            judge = self._taken if medicines else self._lifestyle
            yield from (Judged(judge(a, b), complaint=self._is_complaint(b)) for a, b in pairs)
        else:
            yield from self._on_ties(things, medicines)
        if self.rule.taken or self.rule.warns:
            yield from self._for_patient(medicines)

    def _on_ties(self, things: Sequence[Thing], medicines: Sequence[Thing]) -> Iterator[Judged]:
        """The verdicts on what ties both sides, and by some rules on what stands beside each other on one side."""
        sides = [t for t in things if t.subject], [t for t in things if not t.subject]
        of_medicines = bool(medicines) and all(role is Role.ADVERSE for role, _ in self.rule.roles)
        pairs = product(*sides) if all(sides) else combinations(things, 2)
        for a, b in ((a, b) for a, b in pairs if not of_medicines or {a, b} & {*medicines}):
            related = self._related(a, b)
            yield from map(Judged, related)
            if self.rule.warns and not any(e.id == "yes" for e in related) and {a, b} & {*medicines}:
                yield Judged(self._taken(*((a, b) if a in medicines else (b, a))), asked=False)
        if self.rule.beside:
            yield from (Judged(self._taken(a, b)) for a, b in combinations(medicines, 2))
            beside = ((a, b) for a, b in product(medicines, things) if a.subject is b.subject and b not in medicines)
            for a, b in beside:
                found = self._related(a, b) if self._is_complaint(b) else [self._taken(a, b)]
                yield from (Judged(e, asked=e.id == "yes") for e in found)

    def _is_of_two(self) -> bool:
        """Whether the ask is of two things, and not for a list of what one has."""
        listed = self.ask.form is Form.LIST and not self.ask.object and not self.rule.two
        return not listed or (self.rule.taken and bool(self.named.groups))

    def _for_patient(self, medicines: Sequence[Thing]) -> Iterator[Judged]:
        """What warns of each medicine for who is asked about, what they have, take and are allergic to."""
        for medicine, group in product(medicines, self.named.groups):
            yield Judged(self._people(medicine, group), asked=self.rule.taken)
        for medicine, told in product(medicines, self.named.told):
            yield Judged(self._taken(medicine, told), asked=False, complaint=self._is_complaint(told))

    def _is_complaint(self, thing: Thing) -> bool:
        """Whether a thing is what a medicine may be for, and no illness that medicines make worse."""
        return thing.entity.kind in rules()["kinds"]["complaint"] and not (thing.allergy or worsened_by(thing.words))

    # --- two things

    def _pair(self, a: Thing, b: Thing) -> Pair:
        """Two things, of which what is looked up is kept."""
        return self._pairs.setdefault((a, b), Pair(self.ties, a, b, self.rule))

    def _judge(self, table: str, pair: Pair) -> Evidence:
        """The verdict of the first row of a table that finds something; that nothing is known where none does."""
        for row in rules()["judged"][table]:
            if not (found := pair.find(row)):
                continue
            which, key = row["verdict"], row.get("key", "")
            if not isinstance(found[0], Tie):  # what leads from one to the other
                return self._evidence(which, key, (), found[0], pair.a, pair.b)
            ties = [t for t in found if isinstance(t, Tie)]
            if which == "worst":
                grades = [t.grade_for_people if pair.group else t.grade for t in ties]
                which = min(grades, key=_ORDER.index)
                ties = [t for t, grade in zip(ties, grades, strict=True) if grade == which]
            return self._verdict(which, ties, pair, key)
        return self._verdict("none", [], pair)

    def _taken(self, a: Thing, b: Thing) -> Evidence:
        """The verdict on taking one of two things, a medicine, with the other."""
        if a.allergy or b.allergy:
            return self._judge("allergic", self._pair(*((b, a) if a.allergy else (a, b))))
        return self._judge("taken", self._pair(a, b))

    def _people(self, medicine: Thing, group: People) -> Evidence:
        """What the graph warns of for a group of people."""
        key = f"people.{group.name[0]}"
        english, chinese = group.name
        name = chinese if self.words.code == "zh" else self.words(key) if key in self.words else english
        entity = Entity("", name, "drug" if group in DRINKS else "")
        person = Thing(Named((name,)), Link(Mention(name, name, -1, -1), entity, 1.0, "group"))
        return self._judge("people", Pair(self.ties, medicine, person, self.rule, group))

    def _lifestyle(self, a: Thing, b: Thing) -> Evidence:
        """The verdict on eating, drinking or doing something with an illness."""
        return self._judge("lifestyle", Pair(self.ties, a, b, rule_of("lifestyle") or self.rule))

    def _related(self, a: Thing, b: Thing) -> list[Evidence]:
        """The verdicts on whether two things are tied as the intent asks: what denies it, then what affirms it."""
        pair = self._pair(a, b)
        if self.rule.beside and pair.both:
            return []  # what one does to another is told as what is taken
        denied = [self._verdict("no", pair.against, pair)] if pair.against else []
        return denied if denied and not pair.good else [*denied, self._judge("related", pair)]

    # --- inheritance

    def _inherited(self, thing: Thing) -> list[Evidence]:
        """Whether a disease is inherited: by its modes, with causes from outside and what a recessive mode means."""
        words, own = rules()["inheritance"], list(self.ties.own(thing))
        modes = self._has(own, Role.INHERITANCE)
        forms = [self.ties.graph.number(e.id) for e in self.ties.family.forms(thing.link)]  # named after it
        each = [{t.object for t in self._has([form], Role.INHERITANCE)} for form in forms]
        whole = bool(modes) or bool(each and set.intersection(*each))  # of the illness, not of some of its forms
        modes = modes or self._has(forms, Role.INHERITANCE)
        good = [t for t in modes if not _says_any(t.object.name, words["not_inherited"])]
        if asked := [c.value for c in self.ask.constraints if c.kind == "mode"]:
            return [self._has_mode(asked, good, thing)]
        outside = [t for t in self._has(own, Role.CAUSE, Role.RISK) if _says_any(t.object.name, words["outside"])]
        recessive = all(_says_any(t.object.name, words["recessive"]) for t in good)
        which, key, more = "yes", "inherited_recessive" if recessive else "inherited", outside[: self.most]
        if not modes:
            which, key = "none", "lacking"
        elif not good:
            which, key = "other", "not_inherited"
        elif outside:
            key = "partly"
        elif not whole and len({t.object for t in good}) > 1:
            which, key = "other", "of_forms"  # what a rare form has is none of the illness
        elif recessive and (self.ask.constraints or self.named.things[1]):
            which = "other"  # a condition is no plain yes: whether one parent is enough
        causes = self.words.join(list(dict.fromkeys(name_of(t.object, self.words) for t in more)))
        said = {"one": causes} if key == "partly" else {"other": self.words("intent.inheritance")}
        ties = [Tie(t, (), along=True, cost=0.0) for t in good or modes]
        return [self._evidence(which, f"verdict.{key}", ties, tuple(more), thing, None, **said)]

    def _has_mode(self, asked: Sequence[str], modes: Sequence[Triple], thing: Thing) -> Evidence:
        """Whether the disease is inherited in the modes that are asked for; of several all."""
        either = [t for t in modes if any(mode_pattern(name).search(t.object.name) for name in asked)]
        mine = [t for t in either if all(mode_pattern(name).search(t.object.name) for name in asked)]
        mine = mine or (either if len(asked) > 1 else [])  # "dominant or recessive?"
        ties = [Tie(t, (), along=True, cost=0.0) for t in mine or modes]
        which, key = (
            ("yes", "yes.inheritance")
            if mine
            else ("no", "verdict.other_mode")
            if modes
            else ("none", "verdict.lacking")
        )
        return self._evidence(which, key, ties, (), thing, None, other=self.words("intent.inheritance"))

    def _has(self, entries: Sequence[int], *roles: Role) -> list[Triple]:
        """The triples of some entries in some roles."""
        graph = self.ties.graph
        return [graph.triple(int(e)) for role in roles for e in ByRole(graph, role).objects(list(entries)).edge]

    # --- in words

    def _unknown(self, named: Named) -> Evidence:
        return Evidence(self.words("verdict.unknown", one=named.names[0]), VERDICT, (), (), 1.0, "unknown")

    def _verdict(self, which: str, ties: Sequence[Tie], pair: Pair, key: str = "") -> Evidence:
        return self._evidence(which, key or self._key(which, ties, pair), ties, (), pair.a, pair.b)

    def _key(self, which: str, ties: Sequence[Tie], pair: Pair) -> str:
        """The key of the sentence of a verdict: that of the first row of `said` in `verdicts.toml` that holds."""
        holds = {
            "genes": all(t.role is Role.GENE for t in ties),
            "related": self.ask.intent is Intent.RELATION and self.ask.form is Form.YES_NO,
            "denied": any(t.role is Role.EXCLUDES for t in ties),
            "both": pair.both and not self.rule.tells,
            "taken": self.rule.taken,
            "warns": self.rule.taken or (pair.both and not self.rule.tells),
            "affirms": self.rule.affirms or self.ask.negative,
            "forbidden": not self.ties.is_medicine(pair.b) and all(t.grade == "no" for t in ties),
            "of_others": bool(ties),
            "eaten": pair.rule == rule_of("lifestyle"),
        }
        said = (row for row in rules()["said"] if row["verdict"] == which and all(holds[w] for w in row["when"]))
        return next((str(row["key"]).format(intent=self.ask.intent) for row in said), f"verdict.{which}")

    def _evidence(
        self,
        which: str,
        key: str,
        ties: Sequence[Tie],
        more: tuple[Triple, ...],
        a: Thing,
        b: Thing | None,
        **said: str,
    ) -> Evidence:
        """The verdict with its nearest ties in words."""
        shown = distinct(ties)[: self.most]
        about = (a.entity, b.entity) if b else (a.entity,)
        names = {"one": name_of(a.entity, self.words), "other": name_of(about[-1], self.words)} | said
        facts = self.words.list([self._fact(self._as_asked(t, a, b, which), a, b) for t in shown])
        triples = dict.fromkeys([*(t.triple for t in shown), *(w for t in shown for w in t.why), *more])
        return Evidence(self.words(key, facts=facts, **names), VERDICT, tuple(triples), about, 1.0, which)

    def _as_asked(self, tie: Tie, a: Thing, b: Thing | None, which: str) -> Tie:
        """The tie as it is told: of the substance that was asked about, and not of a product of it."""
        owner, subject = (a if tie.along or b is None else b).entity, tie.triple.subject
        if (
            which in ("class", "none")
            or not (owner.id and subject.id)
            or owner == subject
            or owner.kind not in MEDICINES
        ):
            return tie
        graph, family = self.ties.graph, self.ties.family
        called = {substance(name) for name in self.ties.names(a if tie.along or b is None else b)}
        named_so = family.is_called(graph.number(subject.id), called)
        if self.words.han or not (named_so or any(t.relation.role is Role.INGREDIENT for t in tie.why)):
            return tie
        t = tie.triple
        return replace(tie, triple=replace(t, tail=owner) if t.relation.reverse else replace(t, head=owner))

    def _fact(self, tie: Tie, a: Thing, b: Thing | None) -> str:
        """A tie in words; of a text in another script what it comes to."""
        other = b if tie.along and b else a
        if tie.triple.tail.id or not tie.said or not tie.grade or not is_foreign(tie.said, self.words):
            return in_words(tie.triple, self.words, tie.said)
        key = "not_with" if other.entity.kind in MEDICINES else "contraindicated"
        key = "not_in_allergy" if other.allergy else key if tie.grade == "no" else "precaution"
        return translated(tie.triple, other.entity, tie.said, f"triple.{key}", self.words)


def _are_slips(good: Sequence[Tie]) -> bool:
    """Whether most ties that say yes are slips."""
    return 2 * sum(t.slip for t in good) > len(good)


def _speaks_against(good: Sequence[Tie], ties: Sequence[Tie]) -> list[Tie]:
    """What speaks against ties that say yes: most are slips, or more is given for what little is said to cause."""
    if _are_slips(good):
        return [t for t in ties if t not in good]
    more = _more_given(ties, [t for t in ties if t.role is Role.ADVERSE and not t.slip])
    return more if all(t.slip or t.role is Role.ADVERSE for t in good) else []


def _more_given(ties: Sequence[Tie], causing: Sequence[Tie]) -> list[Tie]:
    """The ties of what is given, where these are of more medicines than cause it."""
    given = [t for t in ties if t.role is Role.TREATS and not t.slip]
    return given if len({t.triple.subject for t in given}) > len({t.triple.subject for t in causing}) else []


def _says_any(text: str, words: Sequence[str]) -> bool:
    return any(word in text.casefold() for word in words)


# --- the operators by name


def verdict(asked: Asked) -> list[Evidence]:
    """The verdicts on the things of an ask."""
    return RelationVerdict(asked.graph)(asked.ask, asked.query.frame)


def between(asked: Asked) -> list[Evidence]:
    """The verdicts; of an illness beside findings whether it explains them, of one thing what it has in the roles."""
    several = asked.ask.intent is Intent.RELATION and len(asked.query.frame.findings) > _SEVERAL
    if several and Explain(asked.graph, ()).suspects(asked.query):
        return explain(asked)
    found = verdict(asked)
    alone = not found and len(links_of(asked.ask.things)) == 1 and asked.row.roles
    return operator_named("objects")(asked) if alone else found
