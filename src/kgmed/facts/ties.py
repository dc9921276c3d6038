"""What a graph says of two things at once: the edges and texts between all the entries under which it has each."""

import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from kgmed import vocabulary
from kgmed.facts.plan import rules
from kgmed.frame import Ask, Frame, Named
from kgmed.graph.base import LocalGraph, Scope, names_of, unique_numbers
from kgmed.graph.contradictions import contradictions
from kgmed.language import lay
from kgmed.language.labels import is_effect, permits
from kgmed.language.particulars import DRINKS, PEOPLE, People, circumstances_of, clauses_about, forbids, worsened_by
from kgmed.language.text import has_cjk, lazily
from kgmed.records import Entity, Link, Mention, Role, Status, Triple
from kgmed.steps.family import MEDICINES, Family, medicines_of, substance
from kgmed.vocabulary import Predicate

Way = tuple[Triple, ...]  # the triples that lead from a thing to an entry
Ways = Mapping[int, Way]  # entries that speak of a thing, and what leads to each
PRODUCTS = 120  # ours: products of a medicine whose warnings are looked at
_EDGES = 400  # ours: edges looked at between two things
_NEIGHBOURS = 2000  # ours: neighbours of an entry whose names are looked at
_BEFORE = 4  # ours: signs before a Chinese name with which it may be a longer name
_LEAST, _LEAST_CJK = 4, 2  # characters of a name that is looked for in texts
_LONGEST_ALLERGEN = 6
_CATEGORY = lazily(r"(?:category )?([ABCDX])\d?", re.IGNORECASE)


@dataclass(frozen=True)
class Thing:
    """One side of a verdict.

    Attributes:
        named: What the frame has of it.
        link: The entity that it stands for.
        allergy: Whether it is an allergy to that.
        subject: Whether it is asked of, and not the other side.
    """

    named: Named
    link: Link
    allergy: bool = False
    subject: bool = True

    @property
    def entity(self) -> Entity:
        """The entity that it stands for."""
        return self.link.entity

    @property
    def words(self) -> str:
        """As it is called in the question and in the graph."""
        return f"{self.link.mention.surface} {self.entity.name}"


@dataclass(frozen=True)
class Tie:
    """One triple that ties two things.

    Attributes:
        triple: The tie.
        why: The triples that lead from the two things to its ends (product and ingredient, class).
        along: Whether the thing named first is the subject of its role.
        cost: The smaller the nearer.
        said: Of a text about one, the part that names the other.
        of_kinds: Whether it is said of a kind of one of the two, and not of that itself.
        effect: Whether a text names the other only as what the medicine may do.
        slip: Whether the graph itself speaks against it (`kgmed.graph.contradictions`).
    """

    triple: Triple
    why: tuple[Triple, ...]
    along: bool
    cost: float
    said: str = ""
    of_kinds: bool = False
    slip: bool = False
    effect: bool = False

    @property
    def role(self) -> Role:
        """What the tie means."""
        return self.triple.relation.role

    @property
    def text(self) -> str:
        """What it says in words of the graph."""
        return self.said or ("" if self.triple.tail.id else self.triple.tail.name)

    @property
    def grade(self) -> str:
        """How grave a warning it is: no, interacts, caution; "" for what is none."""
        if self.effect and self.role in (Role.CONTRAINDICATED, Role.PRECAUTION):
            return "caution"
        if self.role in (Role.CONTRAINDICATED, Role.AVOID):
            careful = any(word in self.text for word in rules()["names"]["care"])
            return "caution" if careful and not forbids(self.text) else "no"
        if self.role is Role.PRECAUTION:
            return "no" if forbids(self.text) else "caution"
        return "interacts" if self.role is Role.INTERACTS else ""

    @property
    def grade_for_people(self) -> str:
        """How grave a text about a group of people is; a pregnancy category by its letter."""
        letter = _CATEGORY.fullmatch(self.text.strip())
        if letter:
            return str(rules()["category"][letter[1].upper()])
        if self.triple.relation.name in rules()["people"]["relations"]:
            return "other"
        return self.grade or ("no" if forbids(self.text) else "caution")


def distinct(ties: Iterable[Tie]) -> list[Tie]:
    """The ties that say different things: twenty products of one medicine interact with another alike."""
    once: dict[tuple[str, str, Role], Tie] = {}
    for t in ties:
        key = (substance(t.triple.subject.name), t.said or substance(t.triple.object.name), t.role)
        once.setdefault(key, t)
    return list(once.values())


def by_cost(ties: Iterable[Tie]) -> list[Tie]:
    """The ties, the nearest first."""
    return sorted(ties, key=lambda tie: tie.cost)


@dataclass(frozen=True)
class Ties:
    """The search of ties in one graph; what is found of a thing is kept as long as this is."""

    graph: LocalGraph
    _kept: dict[tuple[str, object], dict[int, tuple[Triple, ...]]] = field(
        default_factory=dict, repr=False, compare=False
    )

    @cached_property
    def family(self) -> Family:
        """Under which other entries a thing is spoken of."""
        return Family(self.graph, products=PRODUCTS)

    def _once(self, kind: str, link: Link, make: Callable[[], Ways]) -> dict[int, tuple[Triple, ...]]:
        key = (kind, link)
        if key not in self._kept:
            self._kept[key] = dict(make())
        return dict(self._kept[key])

    def own(self, thing: Thing) -> dict[int, tuple[Triple, ...]]:
        """The entries of a thing: itself, its twins, its products and ingredients."""
        return self._once("own", thing.link, lambda: self._own(thing))

    def _own(self, thing: Thing) -> Ways:
        found = self.family.of(thing.link, narrower=False) if thing.entity.id else {}
        for name in thing.named.names[1:]:
            found = found | {
                self.graph.number(m.entity.id): ()
                for m in self.graph.lookup(name)
                if self.graph.number(m.entity.id) not in found
            }
        return found

    def all(self, thing: Thing) -> dict[int, tuple[Triple, ...]]:
        """The entries of a thing and its kinds."""
        return self._once("all", thing.link, lambda: self.own(thing) | self.family.of(thing.link) | self.own(thing))

    def members(self, thing: Thing) -> dict[int, tuple[Triple, ...]]:
        """The medicines of a class that is named by what their names have in common, or by what they are for."""
        return self._once("members", thing.link, lambda: self.family.members(thing.link) or self._of_purpose(thing))

    def _of_purpose(self, thing: Thing) -> Ways:
        """The medicines of a class that is named by its purpose, as painkillers are."""
        keys = vocabulary.members("classes", "classes by purpose")
        named = (
            k for k in keys if vocabulary.compiled("classes", k, Predicate.NAMED_BY).fullmatch(thing.named.names[0])
        )
        names = [vocabulary.compiled("classes", key, Predicate.BROAD_MATCH) for key in named]
        found = medicines_of(self.graph).items() if names else ()
        return {n: () for name, nodes in found if any(p.search(name) for p in names) for n in nodes}

    def mates(self, thing: Thing) -> dict[int, tuple[Triple, ...]]:
        """The other medicines of the classes of which a medicine is one by its name."""
        return self._once("mates", thing.link, lambda: self.family.mates(thing.link) if self.is_medicine(thing) else {})

    def is_medicine(self, thing: Thing) -> bool:
        """Whether a thing is something that is taken against an illness."""
        if thing.allergy or thing.entity.kind in rules()["kinds"]["ill"] or not thing.entity.id:
            return False
        return any(e.kind in MEDICINES for e in self.family.twins(thing.link))

    # --- edges

    def between(self, a: Thing, b: Thing) -> list[Tie]:
        """All that the graph says of two things, the nearest first."""
        return by_cost([*self._edges(a, b), *self.texts(a, b)])

    def _edges(self, a: Thing, b: Thing) -> list[Tie]:
        left, right = self.all(a), self.all(b)
        for node in left.keys() & right.keys():  # what is both is neither's kind: "pain" and "back pain"
            near = left if self.graph.at(node) == a.entity else right
            (right if near is left else left).pop(node)
        kinds = {*left, *right} - {*self.own(a), *self.own(b)}
        return self.tied(left | self._besides(a, right), right | self._besides(b, left), kinds)

    def _besides(self, thing: Thing, others: Container[int]) -> dict[int, tuple[Triple, ...]]:
        """The medicines of a class, and what a circumstance or a finding is called too."""
        names = [n for c in circumstances_of(thing.words) for n in c.names]
        if not self.is_medicine(thing):
            name, words = thing.entity.name, rules()["names"]
            names += [*(name.replace(a, b) for a, b in words["written"]), *(name + end for end in words["having"])]
            names += [name.removesuffix(end) for end in words["having"] if name.endswith(end)]
            names += lay.others(name)
        called = (replace(thing.link, entity=self.graph.at(n)) for n in self.called(names))
        twins = (self.graph.number(e.id) for link in called for e in self.family.twins(link))
        found = self.members(thing) | dict.fromkeys(twins, ())
        return {node: why for node, why in found.items() if node not in others}

    def called(self, names: Iterable[str]) -> list[int]:
        """The first entry of each name that the graph has."""
        return [self.graph.number(m.entity.id) for name in names for m in self.graph.lookup(name)[:1]]

    def tied(self, left: Ways, right: Ways, kinds: Container[int] = ()) -> list[Tie]:
        """The edges between two sets of entries as ties."""
        places = {node: i for i, node in enumerate(left)} | {node: i for i, node in enumerate(right)}
        found, slips = [], contradictions(self.graph).edges
        for edge, along in self._joining(list(left), list(right)):
            triple = self.graph.triple(edge)
            ends = [self.graph.number(e.id) for e in (triple.head, triple.tail)]
            why = (*left.get(ends[0], right.get(ends[0], ())), *right.get(ends[1], left.get(ends[1], ())))
            far = sum(float(np.log1p(places.get(n, 0))) for n in ends)
            along_role = along != triple.relation.reverse
            cost, of_kinds = 10 * len(why) + far - triple.weight, any(n in kinds for n in ends)
            found.append(Tie(triple, why, along_role, cost, "", of_kinds, edge in slips))
        return by_cost(found)

    def _joining(self, left: list[int], right: list[int]) -> Iterator[tuple[int, bool]]:
        """The edges from `left` to `right` (True) and back (False)."""
        out = self.graph.adjacency.out
        for one, other, along in ((left, right, True), (right, left, False)):
            goal = unique_numbers(np.array(other, np.int64))
            spans = [np.arange(out.indptr[node], out.indptr[node + 1]) for node in one]
            places = np.concatenate(spans) if spans else np.empty(0, np.int64)
            places = places[np.isin(out.neighbour[places], goal)][:_EDGES]
            yield from ((int(edge), along) for edge in (places if out.edge is None else out.edge[places]).tolist())

    # --- texts

    def texts(self, a: Thing, b: Thing) -> list[Tie]:
        """The texts about one that name the other."""
        return [
            *self.naming(self.own(a) | self.members(a), b),
            *self.naming(self.own(b) | self.members(b), a, along=False),
        ]

    def naming(self, entries: Ways, other: Thing, *, along: bool = True) -> Iterator[Tie]:
        """The texts of some entries that name a thing, but those that say that it may be taken with it."""
        if not (pattern := self._pattern(other)):
            return
        of_allergy = any(word in other.words for word in rules()["allergy"]["words"])
        clause, own = re.compile(rules()["allergy"]["clause"], re.IGNORECASE), self.own(other)
        for place, (node, why) in enumerate(entries.items()):
            for t in self.graph.attributes(self.graph.at(node).id):
                text = t.tail.name if of_allergy or other.allergy else clause.sub("", t.tail.name)
                if clauses_about(text, pattern) and (said := clauses_about(t.tail.name, pattern)) and not permits(said):
                    places = list(pattern.finditer(said))
                    within = not any(self._is_itself(said, m, own) for m in places)
                    cost = 10 * len(why) + float(np.log1p(place)) + 1
                    yield Tie(t, why, along, cost, said, within, effect=all(is_effect(said, m.start()) for m in places))

    def _is_itself(self, text: str, match: re.Match[str], own: Container[int]) -> bool:
        """Whether a name in a text is not but the end of the longer name of another thing."""
        starts = range(max(0, match.start() - _BEFORE), match.start() if has_cjk(match[0]) else 0)
        longer = (m for i in starts for m in self.graph.lookup(text[i : match.end()])[:1])
        return all(self.graph.number(m.entity.id) in own for m in longer)

    def _pattern(self, thing: Thing) -> re.Pattern[str] | None:
        """A pattern of the names by which texts may speak of a thing; of an allergy, of being allergic to it."""
        names = {n for n in self.names(thing) if len(n) >= (_LEAST_CJK if has_cjk(n) else _LEAST)}
        words = "|".join(rules()["allergy"]["words"])
        if thing.allergy:
            parts = [
                rf"{re.escape(n)}[^。；，;.]{{0,24}}(?:{words})|(?:{words})[^。；;.]{{0,60}}{re.escape(n)}"
                for n in names
            ]
        else:
            parts = [re.escape(n) if has_cjk(n) else rf"\b{re.escape(n)}" for n in names]
            parts += [c.in_text.pattern for c in circumstances_of(thing.words)]
        return re.compile("|".join(sorted(parts)), re.IGNORECASE) if parts else None

    def names(self, thing: Thing) -> set[str]:
        """The names of a thing in the languages of texts; of an allergy, what its labels name."""
        names = {*thing.named.names, thing.link.mention.surface}
        for entity in self.family.twins(thing.link) if thing.entity.id else ():
            told = names_of(self.graph, self.graph.number(entity.id))
            names |= {text for text, scope in told if scope <= Scope.TRANSLATION}
        if thing.allergy:
            labels = (t.tail.name for node in self.own(thing) for t in self.graph.attributes(self.graph.at(node).id))
            names = {substance(n) for n in names} | allergens(labels)
        return names

    # --- by what a thing is a kind of, and by others of its class

    def classes(self, thing: Thing) -> dict[int, tuple[Triple, ...]]:
        """The classes of a thing; of a medicine also by its name ("cefalea", a headache, is no cephalosporin)."""
        named = self.family.named_classes(thing.link) if self.is_medicine(thing) else {}
        return self.family.classes(self.own(thing)) | named

    def siblings(self, thing: Thing) -> dict[int, tuple[Triple, ...]]:
        """The other medicines of a small class of a medicine."""
        own = self.own(thing)
        return {n: () for n in self.family.siblings(own) if n not in own} if self.is_medicine(thing) else {}

    def worsened(self, medicine: Thing, illness: Thing) -> list[Tie]:
        """What a medicine can cause that makes an illness worse: bronchospasm and asthma."""
        acts = worsened_by(illness.words)
        ties = self.tied(self.own(medicine), dict.fromkeys(self.called(acts), ()) | self.own(illness)) if acts else []
        return [t for t in ties if t.role is Role.ADVERSE and t.triple.object.kind not in MEDICINES]

    def said_of(self, entries: Ways, thing: Thing, *, along: bool = True) -> list[Tie]:
        """The edges between some entries and a thing, then the texts of the entries that name it."""
        return [*self.tied(entries, self.own(thing)), *self.naming(entries, thing, along=along)]

    def holding(self, a: Thing, b: Thing, roles: Sequence[Role] = ()) -> list[Tie]:
        """What one has that the other is a kind of, or whose name holds the other's Chinese name, in near roles."""
        found, roles = [], roles or tuple(map(Role, rules()["roles"]["near_names"]))
        for one, other, along in ((a, b, True), (b, a, False)):
            if self.is_medicine(other) and not other.entity.name.endswith(tuple(rules()["names"]["class_marks"])):
                continue  # products are named after medicines
            ways = self.own(one) | self.members(one)
            above = {} if self.is_medicine(other) else self.family.classes(self.own(other) | self._besides(other, ()))
            found += [replace(t, along=t.along is along) for t in self.tied(ways, above) if t.role in roles]
            for t, why in self._held(ways, self.names(other), roles):
                found.append(Tie(t, why, along is (self.graph.number(t.subject.id) in ways), 10 * len(why)))
        return found

    def _held(
        self, entries: Ways, names: Iterable[str], roles: Sequence[Role]
    ) -> Iterator[tuple[Triple, tuple[Triple, ...]]]:
        """The triples of some entries whose other end's name holds a Chinese name that is not denied in it."""
        told = [n for n in names if has_cjk(n)]
        wanted = [n for n in told if len(n) > 1] or [n for n in told if n in rules()["names"]["organs"]]
        for node, why in entries.items() if wanted else ():
            entity = self.graph.at(node)
            for t in self.graph.neighbours(entity.id, limit=_NEIGHBOURS, roles=roles):
                other = (t.tail if t.head == entity else t.head).name
                if any(n in other and n != other and not _denied(other, n) for n in wanted):
                    yield t, why

    # --- people, and what is drunk beside a medicine

    def about_people(self, entries: Ways, group: People) -> list[Tie]:
        """What the graph says of some entries and a group of people."""
        found = []
        for far, (node, why) in enumerate(entries.items()):
            entity = self.graph.at(node)
            roles = (*map(Role, rules()["roles"]["warning"]), Role.INTERACTS, Role.OTHER)
            for t in (*self.graph.attributes(entity.id), *self.graph.neighbours(entity.id, roles=roles)):
                if t.subject == entity and (said := _of_people(t, group)):
                    found.append(Tie(t, why, along=True, cost=10 * len(why) + float(np.log1p(far)), said=said))
        return by_cost(found)


def allergens(texts: Iterable[str]) -> set[str]:
    """What labels say that one must not be allergic to, but the product itself.

    >>> sorted(allergens(["对本品或其他头孢类抗生素过敏者禁用", "对青霉素过敏或皮试阳性者禁用"]))
    ['头孢', '青霉素']
    """
    words = rules()["allergy"]
    parts = [p for text in texts for m in re.finditer(words["allergen"], text) for p in re.split(words["parts"], m[1])]
    names = {re.sub(words["of_kind"], "", re.sub(words["of_kind"], "", part)) for part in parts}
    return {n for n in names if 2 <= len(n) <= _LONGEST_ALLERGEN and not any(word in n for word in words["none"])}


def groups_named(names: Sequence[str]) -> list[People]:
    """The groups of people of some names, as `language.particulars` calls them, and what is done beside a medicine."""
    doing = [_activity(key) for key in vocabulary.members("classes", "what is done beside a medicine") if key in names]
    return [*(group for group in PEOPLE if group.name[0] in names), *doing]


@vocabulary.kept()
def _activity(key: str) -> People:
    """Something that is done beside a medicine, of which labels warn as they do of people: driving."""
    called = vocabulary.others("classes", Predicate.ALT_LABEL)[key][0]
    asked, found = (vocabulary.pattern("classes", key, p) for p in (Predicate.NAMED_BY, Predicate.IN_NAME))
    return People((key, called), asked, found)


def _denied(text: str, name: str) -> bool:
    """Whether a name is denied in the longer name that holds it."""
    return text[: text.find(name)].endswith(tuple(rules()["names"]["denied"]))


def _of_people(triple: Triple, group: People) -> str:
    """The part of a triple that speaks of a group: of a text its sentences, of a category all of it; "" for none."""
    name, relation = triple.object.name, triple.relation
    warns = relation.role.value in rules()["roles"]["warning"]
    if triple.tail.id:
        known = warns or relation.name in rules()["people"]["relations"]
        known = (known and triple.object.kind not in MEDICINES) or (relation.role is Role.INTERACTS and group in DRINKS)
        return name if known and group.in_text.search(name) else ""
    if warns or relation.role is Role.OTHER:
        said = clauses_about(name, group.in_text)
        if said and (warns or forbids(said)):
            return said
        if group.in_text.search(relation.name.replace("_", " ")):
            return name
    return ""


# --- The things that an ask names: each once, those that are one name as one, with who is asked about and what is
# told.

_TO = 4  # signs between an allergy and what it is to


@dataclass(frozen=True)
class AskedThings:
    """The things of an ask in one graph; `one` = whether what is told beside a single thing is not its other side."""

    ties: Ties
    ask: Ask
    frame: Frame
    one: bool = False

    @cached_property
    def things(self) -> tuple[list[Thing], list[Named]]:
        """What is asked about, each once, and the names of it that the graph does not have."""
        named = [(n, True) for n in self.ask.subject] + [(n, False) for n in self._objects()]
        named = [row for row in named if not (row[0].negated or set(groups_of(row[0])) & set(PEOPLE))]
        found: list[Thing] = []
        unknown: list[Named] = []
        for one, subject in _whole(self.ties.graph, sorted(named, key=lambda row: row[0].spans[:1])):
            thing = self._thing(one, subject=subject)
            if thing is None:
                unknown.append(one)
            elif found and (whole := self._joined(found[-1], thing)):
                found[-1] = whole
            elif all(t.entity != thing.entity or t.named.names != thing.named.names for t in found):
                found.append(thing)
        return found, unknown

    def _objects(self) -> list[Named]:
        """The other side of the ask; what is told beside it where it names but one thing of two."""
        asked, known = self.ask.things, [n for n in self.ask.things if n.links]
        if self.one or len(known) > 1:
            return list(self.ask.object)
        return [
            *self.ask.object,
            *(replace(n, negated=False) for n in self.frame.findings if not any(n.spans == m.spans for m in asked)),
        ]

    def _thing(self, named: Named, *, subject: bool = False) -> Thing | None:
        """A name with its entity; of an allergy with that of what it is to."""
        surface = named.names[0]
        word = next((w for w in rules()["allergy"]["words"] if surface.casefold().endswith(w)), "")
        bare = surface[: len(surface) - len(word)].strip() if word else ""
        names = [*([bare] if bare else []), *named.names, *(n for c in circumstances_of(surface) for n in c.names)]
        known = named.links if not bare else ()
        matches = (m for n in names for m in self.ties.graph.lookup(n)[:1])
        links = (*known, *(Link(Mention(surface, m.name, *_span(named)), m.entity, m.score, m.how) for m in matches))
        link = next(iter((*links, *named.links)), None) or self._class(named)
        return Thing(named, link, bool(bare), subject) if link else None

    def _class(self, named: Named) -> Link | None:
        """A class of medicines that is named by what its members' names have in common, as its first member."""
        mention = Mention(named.names[0], named.names[0], *_span(named))
        members = self.ties.members(Thing(named, Link(mention, Entity("", named.names[0], "drug"), 1.0, "class")))
        entity = next((self.ties.graph.at(node) for node in members), None)
        return Link(mention, replace(entity, name=named.names[0]), 1.0, "class") if entity else None

    def _joined(self, a: Thing, b: Thing) -> Thing | None:
        """Two names that overlap, or that touch and are one (a class and its genus, an allergy), as one; else None."""
        if not 0 <= (gap := _gap(a.named, b.named)) <= 1:
            return max(a, b, key=lambda t: len(t.named.names[0])) if gap < 0 else None
        if b.named.names[0].casefold() in rules()["allergy"]["words"]:
            return replace(a, allergy=True)
        # a brand, and in brackets what it is
        if any(self.ties.graph.at(node) == b.entity for node in self.ties.own(a)):
            return a
        whole = a.named.names[0] + " " * gap + b.named.names[0]
        if self.ties.family.members(replace(a.link, mention=replace(a.link.mention, surface=whole))):
            return a
        return a if self.ties.family.classes(self.ties.own(a)).keys() & self.ties.own(b).keys() else None

    @cached_property
    def groups(self) -> list[People]:
        """The groups of people that are asked about, and what is drunk beside a medicine."""
        words, age = rules()["people"], self.frame.patient.age
        names = [*self.frame.patient.groups, *(c.value for c in self.ask.constraints)]
        names += [words["child"]] if age is not None and age < words["child_below"] else []
        names += [words["old"]] if age is not None and age >= words["old_from"] else []
        return list(dict.fromkeys([*groups_named(names), *(g for n in self.ask.things for g in groups_of(n))]))

    @cached_property
    def told(self) -> list[Thing]:
        """What the patient has, takes and is allergic to, besides what is asked about."""
        patient, asked = self.frame.patient, {t.entity.id for t in self.things[0]}
        told = [self._thing(n) for n in (*self.frame.findings, *patient.has, *patient.takes) if not _is_denied(n)]
        allergies = [replace(t, allergy=True) for n in patient.allergic_to if (t := self._thing(n) or _nameless(n))]
        return [*{t.entity.id: t for t in told if t and t.entity.id not in asked}.values(), *allergies]


def groups_of(named: Named) -> list[People]:
    """The group of people, or what is drunk, that is all a name says."""
    found = [(g, g.in_question.search(named.names[0])) for g in (*PEOPLE, *DRINKS)]
    of_people = named.kind in rules()["kinds"]["people"]
    return [g for g, m in found if m and (of_people or not named.links or 2 * len(m[0]) > len(named.names[0]))]


def _nameless(named: Named) -> Thing:
    """A thing that the graph does not have, which texts may name."""
    mention = Mention(named.names[0], named.names[0], *_span(named))
    return Thing(named, Link(mention, Entity("", named.names[0]), 0.0, "name"))


def _span(named: Named) -> tuple[int, int]:
    return named.spans[0] if named.spans else (-1, -1)


def _gap(a: Named, b: Named) -> int:
    """The signs between two names in the order of the text; many where one has no place."""
    return b.spans[0][0] - a.spans[0][1] if a.spans and b.spans else 1 << 20


def _whole(graph: LocalGraph, named: Sequence[tuple[Named, bool]]) -> list[tuple[Named, bool]]:
    """The names, those that touch and are one name of the graph as one."""
    found: list[tuple[Named, bool]] = []
    for one, subject in named:
        gap = _gap(found[-1][0], one) if found else -1
        name = found[-1][0].names[0] + " " * gap + one.names[0] if 0 <= gap <= 1 else ""
        if found and 0 <= gap <= _TO and found[-1][0].names[0].casefold() in rules()["allergy"]["words"]:  # allergic to
            found[-1] = replace(one, names=(f"{one.names[0]} {found[-1][0].names[0]}", *one.names)), subject
        elif match := graph.lookup(name)[:1] if name else []:
            last, span = found[-1][0], (found[-1][0].spans[0][0], one.spans[0][1])
            link = Link(Mention(name, name, *span), match[0].entity, match[0].score, match[0].how)
            found[-1] = (
                replace(last, names=(name,), kind=match[0].entity.kind, spans=(span,), links=(link,)),
                found[-1][1],
            )
        else:
            found.append((one, subject))
    return found


def _is_denied(named: Named) -> bool:
    """Whether a thing is denied or another person's; a past illness is none: medicines are forbidden to who had it."""
    past = any(link.mention.status is Status.PAST and not link.mention.negated for link in named.links)
    return named.negated and not past
