"""The evidence that a reader is shown: few pieces, each about what is asked, for a model and for the published methods.

A method that searches on its own terms brings links; the view brings what the graph has of them in the roles that the
frame asks for, under any of their entries (products, ingredients, classes), and what ties two of them.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, zip_longest

from kgmed.errors import Unavailable
from kgmed.facts.answer import fitting_warnings
from kgmed.facts.operators import Lists
from kgmed.facts.plan import FromFrame, plan
from kgmed.facts.safety import NotForThisPatient, Warned, WarnedOf, barred
from kgmed.frame import Ask, Frame, Intent, Named
from kgmed.graph.base import LocalGraph, names_of
from kgmed.graph.contradictions import WARNS
from kgmed.language.labels import says_unknown
from kgmed.language.particulars import people_of
from kgmed.language.text import has_cjk
from kgmed.models.base import is_small
from kgmed.pipeline import Ranker, Retriever, note
from kgmed.prompts import task
from kgmed.records import NOT_FOR, Entity, Evidence, Link, Query, Role, Triple, is_verdict
from kgmed.steps.facts import is_diagnosis
from kgmed.steps.family import MEDICINES, Family, is_heading, substance
from kgmed.steps.rank import Fact, Helpful, fact
from kgmed.steps.retrieve import Overview, triple_evidence
from kgmed.stop import check_stop
from kgmed.toolkit import RemoteToolkit, Toolkit

PIECES = 12  # ours: pieces that a reader is shown; 8 to 15 are read, of 50 most are not
_EACH = 24  # ours: triples of one thing that a method may choose from
_PRODUCTS = 16  # ours: products of a medicine that are looked at for what ties it to another thing
_LOOKED = 400  # ours: triples of one entry that are looked at
_AGAIN = 0.4  # ours: the share of a piece's facts that must be new for it to be shown
_LISTED = 30  # ours: facts of one substance that stand in one piece
_CASES = 5  # ours: diseases of the graph that a reader is shown beside those that it thinks of itself
_OVERVIEW = 2  # ours: triples of one role of a thing of which nothing in particular is asked
_NAME = (2, 5)  # ours: signs of a name that is looked for in texts, in Chinese and in other scripts

Tied = tuple[Triple, tuple[Entity, ...]]  # a triple and the one or two linked things that it is about


@dataclass(frozen=True)
class AskedTriples:
    """Retriever: a triple a piece, for methods that rank triples: what answers the frame, ties, what is asked of each.

    Evidence: kind "triple", score = weight, about = the linked entity that it is of, or the two that it ties. Where the
    graph has nothing of what is asked, the definitions of what is named (kind "text"); of a question that was not
    understood, what `otherwise` finds.
    """

    graph: LocalGraph
    link: Callable[[str], Sequence[Link]]
    otherwise: Retriever
    each: int = _EACH

    def __call__(self, query: Query, links: Sequence[Link]) -> list[Evidence]:
        """The triples, answers and ties first; one that several entities share stands once, for all."""
        stated = list(dict.fromkeys(link for link in links if not link.mention.negated))
        options = [x for _, text in query.question.options for x in self.link(text)]
        rows = chain(
            self._answers(query, links),
            of_the_subject(TiedThings(self.graph).of([*stated, *options]), query.frame if not options else Frame()),
            self._asked(query.frame, stated),
        )
        found: dict[Fact, Evidence] = {}
        for triple, about in rows:
            found.setdefault(said(self.graph, triple), triple_evidence(triple, about))
        found = {key: e for key, e in found.items() if not is_heading(self.graph, e.triples[0])} or found
        if not found and not query.frame.asks:
            return self.otherwise(query, links)
        whole, asked = Overview(self.graph), [x for x in stated if not query.hypothesis or _is_asked_of(query, x)]
        told = found.values() or [e for link in stated for e in whole.definition(link.entity)]
        if not query.question.options:
            told = [*NotForThisPatient(self.graph)(query, list(told)), *self._forbidden(query, asked)]
        return [*told, *self._warnings(asked, found)]

    def _answers(self, query: Query, links: Sequence[Link]) -> Iterator[Tied]:
        """What the model-free answer stands on; what ties an option through a third thing is none."""
        roles, counts = query.frame.roles, Counter[tuple[Entity, Role]]()
        for piece in [] if query.question.options else FromFrame(self.graph, self.link)(query, links):
            about = piece.about if is_verdict(piece) else piece.about[:1]
            for t in (t for t in piece.triples if t.relation.role not in _BRIDGES or t.relation.role in roles):
                counts[about[0], t.relation.role] += 1
                if roles or counts[about[0], t.relation.role] <= _OVERVIEW:
                    yield t, about

    def _asked(self, frame: Frame, links: Sequence[Link]) -> Iterator[Tied]:
        """What the graph has of each thing in the roles that are asked for, at most `each` triples of one."""
        roles = list(dict.fromkeys(r for ask in frame.asks if not _is_of_two(ask) for r in Frame((ask,)).roles))
        lists, family = Lists(self.graph), Family(self.graph)
        for link in links if roles else ():
            own = {self.graph.at(node) for node in family.of(link, narrower=False)}
            told = dict.fromkeys(t for e in lists.of(link, *roles) for t in e.triples if t.relation.role in roles)
            mine = [t for t in told if t.relation.role not in _BRIDGES or t.subject in own]
            yield from ((t, (link.entity,)) for t in mine[: self.each])

    def _warnings(self, links: Sequence[Link], found: Mapping[Fact, Evidence]) -> Iterator[Evidence]:
        """What must not be taken with a medicine that is named, a piece each: no ranking may lose it."""
        told = {*found}
        for link in links:
            pieces = Lists(self.graph).of(link, Role.CONTRAINDICATED) if link.entity.kind in MEDICINES else []
            facts = {e: {said(self.graph, t) for t in e.triples if _tells(t)} for e in pieces}
            new = [e for e, says in facts.items() if not says <= told]
            told.update(*(facts[e] for e in new))
            yield from (replace(e, about=(link.entity,)) for e in _joined(new))

    def _forbidden(self, query: Query, links: Sequence[Link]) -> Iterator[Evidence]:
        """What labels forbid in an illness that is named, or that the patient has, where medicines are asked for."""
        has = (x for n in query.frame.patient.has if not n.negated for x in n.links[:1])
        for link in dict.fromkeys([*links, *has]) if not _TAKEN.isdisjoint(query.frame.roles) else ():
            if link.entity.kind == "disease" and not people_of(link.mention.surface):
                yield from (replace(e, kind="warning", id=NOT_FOR) for e in WarnedOf(self.graph).of(query, [link]))


def _is_asked_of(query: Query, link: Link) -> bool:
    """Whether a question names what was linked, and not only the guess that it is searched with."""
    named = _named(query.frame)
    words = {name.casefold() for n in named for name in n.names}
    return link.mention.surface.casefold() in words or any(x.entity == link.entity for n in named for x in n.links)


def said(graph: LocalGraph, triple: Triple) -> Fact:
    """What a triple says, the products and brands of one substance being one."""
    subject, role, other = fact(triple)
    return (substance_of(graph, triple.subject) if triple.relation.role in _OF_PRODUCTS else subject), role, other


def substance_of(graph: LocalGraph, thing: Entity) -> str:
    """The name of what a medicine is made of; of anything else its id."""
    return Family(graph).substance(graph.number(thing.id)) if thing.kind in MEDICINES else thing.id


def _tells(triple: Triple) -> bool:
    """Whether a triple says something of its subject: it leads to no other entry, nor says that nothing is known."""
    return triple.relation.role not in _BRIDGES and not says_unknown(triple.object.name)


_TAKEN = frozenset({Role.TREATS, Role.DOSAGE, Role.CONTRAINDICATED})  # asked where something is to be taken
_BRIDGES = (Role.INGREDIENT, Role.SAME_AS, Role.IS_A)  # what leads from a thing to its other entries
_OF_PRODUCTS = (*WARNS, Role.ADVERSE, Role.INTERACTS, Role.TREATS, Role.DOSAGE)


def _is_of_two(ask: Ask) -> bool:
    """Whether an ask is for what ties two things: what else is said of each does not answer it."""
    return plan()[ask.intent].operator == "between" and sum(bool(n.links) for n in ask.things) > 1


@dataclass(frozen=True)
class TiedThings:
    """Retriever: the triples and texts that tie two named things under any of their entries: products, ingredients.

    Evidence: kind "triple", about = the two things.
    """

    graph: LocalGraph

    def __call__(self, query: Query, links: Sequence[Link]) -> list[Evidence]:
        """A piece for each tie; none where options are asked about, which have ties of their own."""
        stated = [] if query.question.options else [link for link in links if not link.mention.negated]
        explained = Intent.DIAGNOSIS in query.frame.intents  # what ties two findings to each other explains neither
        findings = {x.entity for n in query.frame.findings for x in n.links} if explained else set()
        tied = (row for row in of_the_subject(self.of(stated), query.frame) if not findings.issuperset(row[1]))
        return list(dict.fromkeys(triple_evidence(triple, about) for triple, about in tied))

    def of(self, links: Sequence[Link]) -> Iterator[Tied]:
        """Each tie with the two things that it ties, in the order of the links."""
        things = {link.entity: link for link in reversed(links)}
        family = Family(self.graph, products=_PRODUCTS)
        entries = {thing: family.of(things[thing], narrower=False) for thing in dict.fromkeys(x.entity for x in links)}
        owners: dict[str, list[Entity]] = {}
        for thing, nodes in entries.items():
            for node in nodes:
                owners.setdefault(self.graph.at(node).id, []).append(thing)
        names = {thing: self._names(things[thing], nodes) for thing, nodes in entries.items()}
        for thing, nodes in entries.items():
            others = [(o, called) for o, called in names.items() if o != thing]
            for entry in map(self.graph.at, nodes):
                check_stop()
                for triple in self.graph.neighbours(entry.id, limit=_LOOKED):
                    yield from self._tied(triple, entry, thing, owners)
                for text in (t for t in self.graph.attributes(entry.id) if t.relation.role in _NAMING):
                    told = text.tail.name.casefold()
                    yield from ((text, (thing, o)) for o, called in others if any(name in told for name in called))

    def _tied(
        self, triple: Triple, entry: Entity, thing: Entity, owners: Mapping[str, Sequence[Entity]]
    ) -> Iterator[Tied]:
        """A triple whose other end is an entry of another thing, and of no product of both."""
        ends = owners.get((triple.tail if triple.head == entry else triple.head).id, ())
        if ends and thing not in ends and not set(owners[entry.id]) & set(ends):
            yield triple, (thing, ends[0])

    def _names(self, link: Link, nodes: Mapping[int, object]) -> frozenset[str]:
        """What texts may call a thing."""
        own = (text for node in list(nodes)[:1] for text, _ in names_of(self.graph, node))
        called = {link.mention.surface, link.entity.name, *own}
        return frozenset(name.casefold() for name in called if len(name) >= _NAME[not has_cjk(name)])


def of_the_subject(ties: Iterable[Tied], frame: Frame) -> Iterator[Tied]:
    """The ties that have a subject of an ask at one end; all where none of them does: what is told beside is no ask."""
    rows, subjects = list(ties), {x.entity for ask in frame.asks for n in ask.subject for x in n.links}
    yield from [row for row in rows if subjects & {*row[1]}] or rows


_NAMING = (*WARNS, Role.INTERACTS)  # texts that warn of what they name


@dataclass(frozen=True)
class TiesFirst:
    """Ranker: ties as another ranker orders them, then the rest, in turn about each thing; `keep` pieces in all.

    So a thing of which the graph says much, or whose names are long, takes no more room than another.
    """

    rank: Ranker
    keep: int = PIECES

    def __call__(self, query: Query, evidence: Sequence[Evidence]) -> list[Evidence]:
        """The pieces kept, ties first, and every warning about what is named."""
        roles = query.frame.roles
        once = [*{_told(e): e for e in reversed(evidence)}.values()][::-1]
        warnings, once = [e for e in once if e.kind == "warning"], [e for e in once if e.kind != "warning"]
        ties = [e for e in once if len({*e.about}) > 1]
        rest = [e for e in once if len({*e.about}) < 2]
        tiers = [[e for e in ties if is_apt(e, query.frame)]]
        for asked in (True, False):
            tiers.append([e for e in rest if any(t.relation.role in roles for t in e.triples) is asked])
        first, *others = (self.rank(query, tier) if tier else [] for tier in tiers)
        ordered = dict.fromkeys([*first, *chain.from_iterable(map(in_turns, others))])
        stays = {e for e in ordered if e.is_safety and e in first}
        return [*(e for i, e in enumerate(ordered) if i < self.keep or e in stays), *warnings]


def _told(piece: Evidence) -> object:
    """What a piece tells, whatever it is told through: a path of one step is its triple, two products are one."""
    facts = [fact(t) for t in piece.triples if t.relation.role not in _BRIDGES]
    if piece.kind in ("warning", "text") or not facts:
        return piece.text
    subjects = [substance(t.subject.name) for t in piece.triples if t.relation.role not in _BRIDGES]
    return frozenset((name, role, other) for name, (_, role, other) in zip(subjects, facts, strict=True))


def in_turns(evidence: Sequence[Evidence]) -> list[Evidence]:
    """The first piece about each thing, then the second about each, and so on."""
    groups: dict[Entity | None, list[Evidence]] = {}
    for piece in evidence:
        groups.setdefault(piece.about[0] if piece.about else None, []).append(piece)
    return [e for row in zip_longest(*groups.values()) for e in row if e]


_STEPS = 2  # ours: of a chain that can be read as one fact


def is_apt(piece: Evidence, frame: Frame) -> bool:
    """Whether a tie is short and, one of more than one step, has a step that the frame asks for."""
    if len(piece.triples) < _STEPS:
        return True
    return len(piece.triples) == _STEPS and any(t.relation.role in frame.roles for t in piece.triples)


# --- The model that reads the pieces of the model-free answer.


@dataclass(frozen=True)
class ForReader:
    """Ranker: the pieces of the model-free answer that a model should read, `keep` at most, about each thing in turn.

    What labels say of a medicine that the question names stays, of those that a list names it is one piece. Another
    product's list of what is told already and ties of an option through a third thing are left out.
    """

    graph: LocalGraph
    keep: int = PIECES
    chooses: tuple[Ranker, ...] = ()  # by which some of the pieces are left out, and what only they are warned of

    def __call__(self, query: Query, evidence: Sequence[Evidence]) -> list[Evidence]:
        """The pieces, verdicts first, warnings last."""
        things = [x.entity for ask in query.frame.asks for n in ask.things for x in n.links]
        named = {substance_of(self.graph, thing) for thing in things}
        warnings = list(fitting_warnings(query.frame, evidence))
        own = [e for e in warnings if substance_of(self.graph, e.about[0]) in named]
        rest = list(self._by_substance([e for e in evidence if e.kind != "warning" and not is_verdict(e)]))
        blank = {  # a model that knows more has no use for what only says that the graph lacks something
            e
            for e in evidence
            if task().own_knowledge
            and (is_verdict(e, "lacking", "unknown", "absent") or (is_verdict(e, "none", "other") and not e.triples))
        }
        heads = [e for e in evidence if is_verdict(e) and e not in blank]
        cases = [e for e in rest if is_diagnosis(e)]
        others = in_turns([e for e in rest if e not in cases and (e.kind != "option" or is_apt(e, query.frame))])
        fitting = [*self._telling(cases, query.frame), *others]
        vague = len(things) > 1 and {*query.frame.intents} == {Intent.OVERVIEW}
        most = max((_OVERVIEW * 2 if vague else self.keep) - len(heads) - len(own), 1)
        found = [e for e in self._new([*heads, *fitting]) if not is_verdict(e)][: OFFERED if self.chooses else most]
        kept = InTurn(self.chooses)(query, found)[:most]
        told = {substance_of(self.graph, x) for e in kept for t in e.triples for x in (t.subject, t.object)}
        listed = [e for e in warnings if not self.chooses or substance_of(self.graph, e.about[0]) in told]
        return [*heads, *kept, *own, *_joined([e for e in listed if e not in own])]

    def _by_substance(self, lists: Sequence[Evidence]) -> Iterator[Evidence]:
        """The lists of the products of one substance in the same roles as one, each fact once."""
        groups: dict[object, list[Evidence]] = {}
        for e in lists:
            of_one = e.kind == "neighbours" and e.about and e.about[0].kind in MEDICINES
            roles = frozenset(t.relation.role for t in e.triples if t.relation.role not in _BRIDGES)
            groups.setdefault((substance_of(self.graph, e.about[0]), roles, e.id) if of_one else e, []).append(e)
        for same in groups.values():
            first, *others = same
            if not others:
                yield first
                continue
            facts = [t for e in same for t in e.triples if t.relation.role not in _BRIDGES]
            once = {said(self.graph, t): t for t in reversed(facts)}
            triples = tuple(once[fact] for fact in dict.fromkeys(said(self.graph, t) for t in facts))[:_LISTED]
            names: dict[str, list[str]] = {}
            for t in triples:
                names.setdefault(str(t.relation), []).append(t.object.name)
            text = "; ".join(f"{first.about[0].name} — {r} → {', '.join(dict.fromkeys(n))}" for r, n in names.items())
            more = f", … (+{len(once) - len(triples)})" if len(once) > len(triples) else ""
            yield replace(first, text=f"{text}{more}", triples=triples)

    def _telling(self, cases: Sequence[Evidence], frame: Frame) -> list[Evidence]:
        """The diseases that a model thinks of, and the first that explain more than half of what any explains."""
        ids = {x.entity for n in frame.likely for x in n.links}
        most = max((len(e.about) - 1 for e in cases), default=0)
        own = [e for e in cases if e.about[0] in ids]
        return [*own, *[e for e in cases if e not in own and 2 * (len(e.about) - 1) > most][:_CASES]]

    def _new(self, evidence: Sequence[Evidence]) -> Iterator[Evidence]:
        """The pieces of which more than a few facts are not told by those before."""
        told: set[Fact] = set()
        for piece in evidence:
            facts = {said(self.graph, t) for t in piece.triples if t.relation.role not in _BRIDGES}
            if not facts or len(facts - told) > _AGAIN * len(facts):
                yield piece
            told |= facts


def _joined(warnings: Sequence[Evidence]) -> Iterator[Evidence]:
    """Some warnings as one piece."""
    if warnings:
        triples = tuple(t for e in warnings for t in e.triples)
        text, about = "; ".join(e.text for e in warnings), tuple(x for e in warnings for x in e.about)
        yield Evidence(text, "warning", triples, about)


# --- The published methods under the preset `safe`.


def asked_or(toolkit: Toolkit | RemoteToolkit, retrieve: Retriever, asked: int) -> Retriever:
    """A method's own retriever; where `asked` pieces are shown and the graph is here, what is asked of it first."""
    if not asked or not isinstance(toolkit, Toolkit):
        return retrieve
    return AskedTriples(toolkit.graph, toolkit.linked, retrieve)


def few(
    rank: Sequence[Ranker], asked: int, toolkit: Toolkit | RemoteToolkit, *, helpful: bool = False
) -> Sequence[Ranker]:
    """A method's own rankers; as one that shows `asked` pieces, ties first, behind the gate, unless that is 0.

    With `helpful` the toolkit's model, where there is one, leaves out those that do not help.
    """
    if not asked:
        return rank
    chooses = only_helpful(toolkit, asked) if helpful else ()
    some = TiesFirst(InTurn(tuple(rank)), OFFERED if chooses else asked)
    return (some, *chooses, *([ForPatient(toolkit.graph)] if isinstance(toolkit, Toolkit) else []))


OFFERED = 24  # ours: pieces that a model chooses from
_CHOICE = 128  # tokens of a list of numbers


def only_helpful(toolkit: Toolkit | RemoteToolkit, keep: int) -> tuple[Ranker, ...]:
    """The choice by the toolkit's model, where there is one that can be trusted with it."""
    if toolkit.llm is None or is_small(toolkit.llm):
        return ()
    graph = toolkit.graph if isinstance(toolkit, Toolkit) else None
    return (OnlyHelpful(graph, Helpful(toolkit.llm, keep, _CHOICE, toolkit.prompts)),)


@dataclass(frozen=True)
class OnlyHelpful:
    """Ranker: the pieces that a model says help with the question, in their order.

    Verdicts stay, and what warns of a medicine that the question names or of two things that it names; what warns of
    another medicine only where a piece that stays names it, and which medicines labels forbid in an illness where the
    model says that it helps. All warnings stay where the question was not understood or asks what must not be taken.
    Where an answer may stand on the evidence alone nothing is left out: what the graph knows beside what is asked is
    better than nothing. Where the reply cannot be used, the first pieces stay, and a note says so.
    """

    graph: LocalGraph | None
    helpful: Helpful

    def __call__(self, query: Query, evidence: Sequence[Evidence]) -> list[Evidence]:
        """The pieces kept."""
        frame = query.frame
        every = not frame.asks or any(map(_lists_against, frame.asks))
        asked = {self._key(x.entity) for n in _named(frame) for x in n.links}
        stays = {e for e in evidence if is_verdict(e) or (e.is_safety and (every or self._warns_of(e, asked)))}
        offered = [e for e in evidence if e not in stays and (e.kind != "warning" or not self._medicines(e))]
        if not task().own_knowledge:
            return [e for e in evidence if e not in offered[self.helpful.keep :]]
        try:
            chosen = self.helpful(query, offered)
        except Unavailable as problem:
            note(f"the first {self.helpful.keep} pieces kept: {problem}")
            chosen = offered[: self.helpful.keep]
        if len(chosen) < len(offered):
            note(f"evidence: {len(chosen)} of {len(offered)} pieces help, by {self.helpful.llm.name}")
        kept = {*stays, *chosen}
        told = (t for e in kept if e.id != NOT_FOR or not self._medicines(e) for t in e.triples)
        named = asked | {self._key(x) for t in told for x in (t.head, t.tail)}
        left = [e for e in evidence if e in kept or (e.kind == "warning" and self._warns_of(e, named))]
        return [piece for e in left for piece in ([e] if every else self._narrowed(e, frame, named))]

    def _warns_of(self, piece: Evidence, keys: Collection[str]) -> bool:
        """Whether a piece warns of a medicine of some keys, or is about two things of them."""
        medicines = self._medicines(piece) or {x for t in piece.triples for x in (t.subject,) if x.kind in MEDICINES}
        about = {self._key(x) for x in piece.about}
        return any(self._key(x) in keys for x in medicines) or (len(about) > 1 and about <= {*keys})

    def _medicines(self, piece: Evidence) -> list[Entity]:
        return [x for x in piece.about if x.kind in MEDICINES]

    def _narrowed(self, piece: Evidence, frame: Frame, keys: Collection[str]) -> list[Evidence]:
        """A piece, one that says what is not for the patient of the medicines of some keys alone."""
        mine = [x for x in piece.about if self._key(x) in keys]
        if piece.id != NOT_FOR or self.graph is None or len(mine) == len(piece.about) or not self._medicines(piece):
            return [piece]
        return barred(self.graph, frame, mine) or [piece]

    def _key(self, thing: Entity) -> str:
        return substance_of(self.graph, thing) if self.graph is not None and thing.id else thing.id or thing.name


def _lists_against(ask: Ask) -> bool:
    """Whether an ask is for what must not be taken in something, and not for who must not take a medicine."""
    against = ask.negative or ask.intent is Intent.CONTRAINDICATIONS
    return against and not any(n.kind in MEDICINES for n in ask.things)


def _named(frame: Frame) -> list[Named]:
    """What is asked about, and what is told of the patient."""
    patient = frame.patient
    return [*(n for ask in frame.asks for n in ask.things), *patient.takes, *patient.has, *patient.allergic_to]


@dataclass(frozen=True)
class ForPatient:
    """Ranker: the evidence without what is not for the patient, which is named in a piece of its own, kind "warning".

    What labels say of the medicines that are listed is one piece more. Where options are asked about all is shown.
    """

    graph: LocalGraph

    def __call__(self, query: Query, evidence: Sequence[Evidence]) -> list[Evidence]:
        """The pieces in their order, then the warnings."""
        if query.question.options:
            return list(evidence)
        passed = NotForThisPatient(self.graph)(query, evidence)
        labels = Warned(self.graph)(query, passed)[len(passed) :]
        return [*passed, *_joined(list(fitting_warnings(query.frame, labels)))]


@dataclass(frozen=True)
class InTurn:
    """Rankers in turn as one."""

    rank: tuple[Ranker, ...] = ()

    def __call__(self, query: Query, evidence: Sequence[Evidence]) -> list[Evidence]:
        """What the last of them keeps."""
        for one in self.rank:
            evidence = one(query, evidence)
        return list(evidence)
