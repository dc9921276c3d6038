"""The retriever of the model-free answer: each ask of the frame is executed on the graph by its row of `plan.toml`.

No word of the question is read here: what is asked, of what and of whom stands in the frame. Readings are tried in the
order of their probability, and one that has facts beats one that has none.
"""

import re
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib import import_module
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from kgmed import vocabulary
from kgmed.disk import packaged_toml
from kgmed.frame import OTHER_THAN, Ask, Form, Frame, Intent, Named
from kgmed.graph.base import ByRole, LocalGraph
from kgmed.graph.store.store import Store
from kgmed.language import lay
from kgmed.language.text import has_cjk
from kgmed.pipeline import note
from kgmed.question.patient import is_of_people
from kgmed.records import VERDICT, Entity, Evidence, Link, Query, Role, Triple, is_verdict
from kgmed.sentences import catalogue
from kgmed.steps.facts import called, is_foreign, name_of
from kgmed.steps.family import MEDICINES, Family, class_pattern
from kgmed.vocabulary import Predicate

# --- What an operator is given, and the operators by name; a module of operators is read in when an ask first needs
# it.

# --- Whether a linked thing is an illness that has a name, or what is felt or seen of one.

_FINDINGS = 6  # ours: of its own from which something that is tested, caused or treated is an illness


def is_an_illness(graph: LocalGraph, link: Link) -> bool:
    """Whether a link is to an illness, by its name or by what the graph says of the thing itself.

    How many diseases show it says nothing: merged with rare diseases, every common illness is shown by hundreds.
    """
    family = Family(graph)
    if vocabulary.listed("illnesses as asked").search(link.mention.surface) or not family.is_symptom(link.entity):
        return True
    nodes = [graph.number(entity.id) for entity in family.twins(link)]
    own = len(ByRole(graph, Role.FINDING).objects(nodes).node)
    done = len(ByRole(graph, Role.TREATS).subjects(nodes).node) + len(ByRole(graph, Role.TESTS).subjects(nodes).node)
    caused = len(ByRole(graph, Role.CAUSE).objects(nodes).node)
    return own >= _FINDINGS and link.entity.kind == "disease" and bool(done or caused)


_CASE = 2  # ours: findings beside an illness that make a case of them: polyps, freckles and an intussusception
_VERDICTS = ("explain", "between", "verdict")  # the operators of kgmed.facts.verdicts; the others stand in operators.py


class Row(NamedTuple):
    """How an intent is answered: operator, roles of the subject, whether all of them, relations for texts.

    `negative` = (operator, roles) of a refusing ask; `also` = the operator that is tried where nothing is found;
    `two` = that of an ask that names two things; `instead` = the intent that is answered where nothing is found.
    """

    operator: str
    roles: tuple[Role, ...] = ()
    every: bool = False
    relations: str = ""
    amounts: str = ""
    negative: tuple[str, tuple[Role, ...]] = ("", ())
    also: str = ""
    two: str = ""
    instead: str = ""


class Asked(NamedTuple):
    """An ask to be executed on a graph by its row."""

    graph: LocalGraph
    query: Query
    ask: Ask
    row: Row


Operator = Callable[[Asked], list[Evidence]]


def operator_named(name: str) -> Operator:
    """The operator of that name in `plan.toml`."""
    found: Operator = getattr(import_module(f"kgmed.facts.{'verdicts' if name in _VERDICTS else 'operators'}"), name)
    return found


def links_of(named: Sequence[Named]) -> list[Link]:
    """The first link of each thing that is not denied, each entity once."""
    known = [n.links[0] for n in named if n.links and n.links[0].entity.id and not n.negated]  # a food has no entry
    return list({link.entity: link for link in reversed(known)}.values())[::-1]


def is_case(graph: LocalGraph, links: Sequence[Link]) -> bool:
    """Whether some links are to several findings and to no illness that has a name."""
    ill = sum(x.entity.kind == "disease" and is_an_illness(graph, x) for x in links)
    if ill and len(links) - ill < _CASE:
        return False
    from kgmed.diagnose.findings import findings_of  # read in where findings are told

    return len(findings_of(graph, links)) > 1


# --- Classes and forms of medicines that an ask is narrowed to (painkillers, an ointment), by rows of the vocabulary.


class Wanted(NamedTuple):
    """Which treatments are asked for, as patterns of their names (`only`) and of the classes they stand in.

    `without` = of the names that others than are asked for.
    """

    only: str = ""
    sections: str = ""
    without: str = ""

    @property
    def narrows(self) -> bool:
        """Whether a class or a form is asked for."""
        return bool(self.only or self.sections)

    def holds(self, *names: str, classes: Sequence[str] = ()) -> bool:
        """Whether a treatment of some names, which stands in some classes, is asked for."""
        if self.without and any(re.search(self.without, n, re.IGNORECASE) for n in names):
            return False
        named = bool(self.only) and any(re.search(self.only, n, re.IGNORECASE) for n in names)
        within = bool(self.sections) and any(re.search(self.sections, c, re.IGNORECASE) for c in classes)
        return named or within or not self.narrows


def wanted(ask: Ask) -> Wanted:
    """The class or the form that the constraints of an ask name, a class before a form; without what others are than.

    >>> from kgmed.frame import Constraint, Intent
    >>> painkillers = wanted(Ask(Intent.TREATMENT, constraints=(Constraint("class", "painkillers"),)))
    >>> painkillers.holds("布洛芬"), painkillers.holds("卡托普利")
    (True, False)
    """
    keys = {kind: next((c.value for c in ask.constraints if c.kind == kind), "") for kind in ("class", "form")}
    others = (class_pattern(c.value, Predicate.BROAD_MATCH, none="") for c in ask.constraints if c.kind == OTHER_THAN)
    without = "|".join(filter(None, others))
    if key := keys["class"]:
        members, sections = (class_pattern(key, p, none="") for p in (Predicate.BROAD_MATCH, Predicate.SECTION_NAMED))
        return Wanted(members, sections, without)
    return Wanted(class_pattern(keys["form"], Predicate.BROAD_MATCH, none="") if keys["form"] else "", "", without)


def mode_pattern(mode: str) -> re.Pattern[str]:
    """How graphs name a mode of inheritance."""
    return vocabulary.compiled("classes", mode, Predicate.BROAD_MATCH)


def rules() -> dict[str, Any]:
    """The tables of `verdicts.toml`."""
    return packaged_toml("kgmed.facts.verdicts")


# --- Which entry of a graph a thing is answered by: a thin exact name yields to its twin, its longer name or its parts.
# Spelling alone would keep the exact name however little the graph says of it; here names compete by spelling and by
# their facts in the role that is asked for. That another name answers is said.

ILL = frozenset({"disease", "phenotype", "symptom"})
THIN, RICH = 3, 10  # ours: facts in a role up to which a name is thin, and from which another takes its place
_GENERAL = 1000  # ours: facts above which a name is of much, as pain is
_LOOKED = 20  # names that begin with the thin one
_SHORTEST, _SHORTEST_CJK = 5, 2  # characters of a name that longer ones are looked for


@dataclass(frozen=True)
class RicherNames:
    """The links by which a thing is answered in a role; the link itself where it has enough or nothing has more.

    Where it is asked what is `done`, a thing that is done is named for what it is against.
    """

    graph: LocalGraph
    facts: Callable[[LocalGraph, Entity, Link, Role], int]  # that an entry has in a role
    done: bool = False

    def __call__(self, link: Link, role: Role) -> tuple[Link, ...]:
        """One link, or two where a Chinese name is made of two."""
        done = self.done and link.entity.kind == "treatment"
        own = 0 if done else self.facts(self.graph, link.entity, link, role)
        if own >= RICH or not (done or link.entity.kind in ILL):
            return (link,)
        names = self._names(link) if role is Role.TREATS else ()
        same = dict.fromkeys(e for name in names for e in self._called(name))
        best = next((e for e in same if self.facts(self.graph, e, link, role) > max(RICH * own, THIN)), None)
        others = dict.fromkeys((*self._twins(link), *self._longer(link)) if own <= THIN and not best else ())
        rich = {e: n for e in others if (n := self.facts(self.graph, e, link, role)) >= RICH}
        if best or rich:
            return (replace(link, entity=best or max(rich, key=lambda e: rich[e]), how="facts"),)
        wider = islice(self._wider(link, role) if role is Role.TREATS and not own else (), 1)
        return self._parts(link, role) or tuple(replace(link, entity=e, how="facts") for e in wider) or (link,)

    def _names(self, link: Link) -> Iterator[str]:
        """The names of a thing as it is looked up and in the graph, of a complaint also what else is said for it."""
        for name in dict.fromkeys((link.mention.name, link.entity.name)):
            said = [other for one in lay.said(name) if one.span == (0, len(name)) for other in one.names]
            others = () if self._is_ill(link) else (*lay.others(name), *said)
            yield from (name, *(n for n in others if link.entity.kind == "treatment" or not self._ending.search(n)))

    def _is_ill(self, link: Link) -> bool:
        """Whether a thing is an illness, whose other names in a patient's words may be those of a wider complaint."""
        return link.entity.kind == "disease" and not Family(self.graph).is_symptom(link.entity)

    def _called(self, name: str) -> Iterator[Entity]:
        """The entries of an illness that are called by a name, or by it and that more is not said."""
        before = vocabulary.members("word_lists", "before what is not specified") if has_cjk(name) else ()
        for said in (name, *(part + name for part in before)):
            found = (m.entity for m in self.graph.lookup(said) if m.entity.kind in ILL)
            yield from (e for e in found if has_cjk(name) or not self._ending.search(e.name))

    @property
    def _ending(self) -> re.Pattern[str]:
        """What the names of illnesses end in, of which a complaint may be one sign and is not the whole."""
        return vocabulary.listed("illnesses as asked")

    def _wider(self, link: Link, role: Role) -> Iterator[Entity]:
        """What is treated as the complaint in which the name of a complaint ends, behind where it is.

        Of an illness its kind, behind a type: what ends the names of illnesses otherwise is often another illness.
        """
        many, ill = vocabulary.listed("illnesses of many kinds"), self._is_ill(link)
        for name in dict.fromkeys(self._names(link)):
            for cut in range(1, len(name) - 1) if has_cjk(name) else ():
                where, what = name[:cut], name[cut:]
                sort = vocabulary.listed("sorts before an illness" if ill else "qualities before an illness")
                if bool(sort.search(where)) is ill and not is_of_people(where):
                    found = [m.entity for m in self.graph.lookup(what)[:1] if m.entity.kind in ILL]
                    yield from (
                        e
                        for e in found
                        if not many.fullmatch(what) and RICH <= self.facts(self.graph, e, link, role) <= _GENERAL
                    )

    def _twins(self, link: Link) -> Iterator[Entity]:
        """The entries of the name in another spelling: 胃疼 and 胃痛."""
        name = link.mention.surface
        pairs = [tuple(pair) for pair in rules()["names"]["written"]]
        for old, new in (*pairs, *((new, old) for old, new in pairs)):
            if old in name:
                yield from (m.entity for m in self.graph.lookup(name.replace(old, new))[:1])

    def _longer(self, link: Link) -> Iterator[Entity]:
        """The entries of its kind whose names go on from the name: 类风湿性关节炎 from 类风湿."""
        name = link.mention.surface  # of an illness alone: what is longer than a part of the body is an illness of it
        if (
            link.entity.kind != "disease"
            or not isinstance(self.graph, Store)
            or len(name) < (_SHORTEST_CJK if has_cjk(name) else _SHORTEST)
        ):
            return
        from kgmed.graph.complete import completions  # read in where a name is thin

        for found in completions(self.graph)(name, limit=_LOOKED):
            if found.how == "start" and found.entity.kind == link.entity.kind:
                yield found.entity

    def _parts(self, link: Link, role: Role) -> tuple[Link, ...]:
        """The two names that a Chinese name is made of, each with enough facts: 感冒 and 发烧."""
        name, start = link.mention.surface, link.mention.start
        for cut in range(_SHORTEST_CJK, len(name) - _SHORTEST_CJK + 1) if has_cjk(name) else ():
            ends = [next(iter(self.graph.lookup(part)), None) for part in (name[:cut], name[cut:])]
            if not is_of_people(name[:cut]) and all(
                m and self.facts(self.graph, m.entity, link, role) >= RICH for m in ends
            ):
                places = ((0, cut), (cut, len(name)))
                return tuple(
                    replace(
                        link,
                        entity=m.entity,
                        how="facts",
                        mention=replace(
                            link.mention, surface=name[a:b], name=name[a:b], start=start + a, end=start + b
                        ),
                    )
                    for m, (a, b) in zip(ends, places, strict=True)
                    if m
                )
        return ()


# --- For a question with options: the shortest ties between what it names and what each option names.

Linked = Callable[[str], Sequence[Link]]  # the entities named in a text


@dataclass(frozen=True)
class OptionPaths:
    """Ties of one or two edges to each option. Evidence: kind "option", id = its letter, about = (entity, option).

    The score of a tie is 1 / log2(2 + degree) of what it passes through, and of the ends for a single edge: a tie
    through a hub says little. A tie of one edge counts double.
    """

    graph: LocalGraph
    link: Linked
    keep: int = 3  # ties an option

    def __call__(self, query: Query, links: Sequence[Link]) -> list[Evidence]:
        """The ties of each option, best first; an option without one has no evidence."""
        stem = [self.graph.number(link.entity.id) for link in links if not link.mention.negated]
        found: list[Evidence] = []
        for letter, text in query.question.options:
            nodes = [self.graph.number(link.entity.id) for link in self.link(text)]
            ties = [tie for a in stem for b in nodes if a != b for tie in self._ties(a, b, letter)]
            found += sorted(ties, key=lambda e: -e.score)[: self.keep]
        return sorted(found, key=lambda e: -e.score)

    def _ties(self, a: int, b: int, letter: str) -> list[Evidence]:
        near, far = self._around(a), self._around(b)
        ties: list[tuple[tuple[int, ...], float]] = [((edge,), 2 * self._worth(b)) for edge in near.get(b, [])]
        degree = self.graph.adjacency.edges_of
        middles = sorted((near.keys() & far.keys()) - {a, b}, key=lambda n: (degree(n), n))[: self.keep]
        ties += [((near[n][0], far[n][0]), self._worth(n)) for n in middles]
        return [self._evidence(a, b, letter, edges, worth) for edges, worth in ties[: self.keep]]

    def _around(self, node: int) -> dict[int, list[int]]:
        """The neighbours of a node with the edges to them."""
        out, into = self.graph.adjacency
        rows: dict[int, list[int]] = {}
        for csr in (out, into):
            span = slice(int(csr.indptr[node]), int(csr.indptr[node + 1]))
            edges = np.arange(span.start, span.stop) if csr.edge is None else csr.edge[span]
            for near, edge in zip(csr.neighbour[span].tolist(), edges.tolist(), strict=True):
                rows.setdefault(near, []).append(edge)
        return rows

    def _worth(self, node: int) -> float:
        return float(1 / np.log2(2 + self.graph.adjacency.edges_of(node)))

    def _evidence(self, a: int, b: int, letter: str, edges: Sequence[int], worth: float) -> Evidence:
        triples: list[Triple] = [self.graph.triple(edge) for edge in edges]
        text = "; ".join(map(str, triples))
        about = (self.graph.at(a), self.graph.at(b))
        return Evidence(f"{letter}: {text}", "option", tuple(triples), about, round(worth, 4), letter)


_UNSURE = 0.5  # ours: the probability below which findings told without an illness ask which one it is
_SURE = 0.6  # ours: from which on it is said that what was asked is not there where another reading is answered
_ANOTHER = 0.1  # ours: the least probability of another reading that is tried where the first has no facts
_LINKS = 3  # ours: of a thing that are tried
_TOLD, _LISTS = 2, 3  # ours: sentences from which more is told than asked; lists of what is known of an illness
_OWN_IDS = ("unknown", "unclear", "general")  # of verdicts that rest on nothing
_MAY_HARM = (Intent.SAFETY, Intent.INTERACTIONS, Intent.CONTRAINDICATIONS)  # what treats is no answer to these
_COMPARED = 2  # things of which a graph must have something
_MORE_THAN_TWO = 2  # things: of so many findings no intent of two things is asked
_OF_AN_ILLNESS = frozenset(  # asked of several findings, these ask which illness it is
    {Intent.GENES, Intent.INHERITANCE, Intent.OVERVIEW, Intent.NAMES, Intent.TYPES, Intent.SYMPTOMS}
)


@lru_cache(maxsize=1)
def plan() -> Mapping[Intent, Row]:
    """The rows of `plan.toml` by intent."""
    return {Intent(name): _row(Intent(name), row) for name, row in packaged_toml(__name__).items()}


def _row(intent: Intent, row: Mapping[str, Any]) -> Row:
    operator, _, roles = row.get("negative", "").partition(":")
    return Row(
        row["operator"],
        intent.roles,
        row.get("all", False),
        row.get("relations", ""),
        row.get("amounts", ""),
        (operator, tuple(map(Role, roles.split(","))) if roles else ()),
        row.get("also", ""),
        row.get("two", ""),
        row.get("instead", ""),
    )


@dataclass(frozen=True)
class FromFrame:
    """The evidence for each ask of the frame, verdicts first; `link` links the options of a question."""

    graph: LocalGraph
    link: Callable[[str], Sequence[Link]]
    clear: bool = False  # whether a message of which it is unclear what it asks is not answered

    def __call__(self, query: Query, links: Sequence[Link]) -> list[Evidence]:
        """The pieces in the order of the asks; a verdict says what the graph does not have."""
        if query.question.options:
            return OptionPaths(self.graph, self.link)(query, links)
        unclear = self.clear and query.frame.is_unclear
        said = [[_says_not("unclear", query.frame)]]
        answered = said if unclear else [self._best(query, ask) for ask in query.frame.asks]
        found = [_of_ask(n, piece) for n, pieces in enumerate(answered) for piece in pieces]
        if any(piece.triples for piece in found):  # of two asks one that has nothing is named by the reader
            found = [piece for piece in found if not is_verdict(piece, "lacking") or len(answered) == 1]
        if not any(piece.triples for piece in found):
            found += self._known(query, {entity for piece in found for entity in piece.about})
        return list(dict.fromkeys(found))

    def _known(self, query: Query, about: Container[Entity]) -> Iterator[Evidence]:
        """What is known of the illness that a message is about where nothing answers it, in a few lists.

        First what may be meant, then what is done about the illness and what it is; of what verdicts are about, if any.
        """
        frame, known = query.frame, rules()["known"]
        if frame.sentences < _TOLD or any(a.negative or a.intent in known["of_two_things"] for a in frame.asks):
            return
        things = [n for a in frame.asks for n in a.things if n.links and not n.negated] or [*frame.findings]
        ill = [n for n in things if n.kind in ILL and not n.negated and n.links[0].how != "dense"]
        ill = [n for n in ill if not _is_general(n)]
        ill = [n for n in ill if n.links[0].entity in about] or ([] if about else ill)
        illness = next((n for n in ill if is_an_illness(self.graph, n.links[0])), None)
        named = illness or next((n for n in ill if n in frame.asks[0].things), None)
        usual = known["illness"] if illness else ()
        if frame.asks[0].intent in known["of_a_medicine"]:
            medicine = frame.is_unclear and things and things[0].kind in MEDICINES
            named, usual = things[0] if medicine else None, known["medicine"]
        likely = [a for a in (*frame.asks, *frame.alternatives) if a.probability >= _ANOTHER]
        readings = [i for a in likely for i in (plan()[a.intent].instead, a.intent) if i]
        intents = [
            i for i in map(Intent, dict.fromkeys((*readings, *usual))) if plan()[i].operator in known["operators"]
        ]
        answers = (self._answer(query, Ask(i, (named,))) for i in intents if named)
        lists = ([e for e in found if e.triples and e.kind in ("neighbours", "text")] for found in answers)
        for pieces in islice(filter(None, lists), _LISTS):
            yield from (replace(e, id="known") for e in pieces)

    def _best(self, query: Query, ask: Ask) -> list[Evidence]:
        """What answers an ask; where that is nothing, what answers it by other links, or another likely reading."""
        found = self._answer(query, ask)
        if not _says(found):
            found = next(filter(_says, (self._answer(query, other) for other in _by_other_links(ask))), found)
        better = _affirms if found and all(is_verdict(e, "other") for e in found) else _says  # tied, but otherwise
        served = ask.intent.out_of_scope and not links_of(ask.things)
        alone = ask.intent is Intent.OVERDOSE or served  # what is given, and how much, is no answer
        if better(found) or ask is not query.frame.asks[0] or alone:
            return found
        likely = (o for o in query.frame.alternatives if o.probability >= _ANOTHER and o.negative == ask.negative)
        likely = (o for o in likely if not (ask.intent in _MAY_HARM and Role.TREATS in _roles_of(o)))
        two = ask.form is Form.YES_NO and len(ask.things) > 1  # what is told of one of them alone is no yes or no
        likely = (o for o in likely if not (two and plan()[o.intent].operator == "text"))
        others = (self._answer(query, other) for other in likely if not other.intent.out_of_scope)
        kept = (o for o in others if self._may_explain(ask) or not any(e.kind == "candidate" for e in o))
        if not (best := next(filter(better, kept), None)):
            return self._instead(query, ask, found)
        sure = two or (better is _says and ask.probability >= _SURE)
        unsaid = found if sure and not any(map(is_verdict, best)) else []
        return [*(replace(e, id="absent") for e in unsaid if is_verdict(e)), *best]  # before what else is told

    def _instead(self, query: Query, ask: Ask, found: list[Evidence]) -> list[Evidence]:
        """What answers the intent that may be meant in place of one that has nothing, below that it has nothing."""
        instead = plan()[ask.intent].instead
        links = links_of(ask.subject)
        taken = any(link.entity.kind in MEDICINES for link in links)
        if not instead or ask.negative or not links or taken or len(query.frame.asks) > 1:
            return found
        answered = self._answer(query, replace(ask, intent=Intent(instead)))
        answered = [e for e in answered if e.triples and e.kind != "candidate" and not is_verdict(e, "other")]
        return [*(replace(e, id="absent") for e in found if is_verdict(e)), *answered] if answered else found

    def _answer(self, query: Query, ask: Ask) -> list[Evidence]:
        """What answers an ask by its row."""
        row = plan()[ask.intent]
        if ask.intent.out_of_scope:
            return [_says_not("service", query.frame)]
        told = [n for n in ask.things if is_of_people(n.names[0])] if ask.intent is Intent.TREATMENT else []
        unknown = [n for n in ask.things if not n.links and n not in told and ask.intent is not Intent.DIAGNOSIS]
        compared = ask.intent is Intent.COMPARISON and len(ask.things) - len(unknown) < _COMPARED
        if unknown and (compared or len(unknown) == len(ask.things)):
            return [_says_not("unknown", query.frame, max((n.names[0] for n in unknown), key=len))]
        # an antibiotic alone
        given = ask.intent is Intent.TREATMENT and any(c.kind == "class" for c in ask.constraints)
        of_a_mode = any(c.kind == "mode" for c in ask.constraints)
        if not (ask.things or of_a_mode or given) and ask.intent is not Intent.DIAGNOSIS:
            return self._of_findings(query, ask)
        if ask.intent is Intent.TREATMENT and query.frame.sentences >= _TOLD and links_of(ask.subject):
            one = tuple(n for n in ask.subject if not (n.links and _is_general(n)))
            if not any(n.kind in ILL and n.links for n in one) and one != ask.subject:
                return [_says_not("general", query.frame, next(n.names[0] for n in ask.subject if n not in one))]
            ask = replace(ask, subject=one)
        asked = Asked(self.graph, query, ask, row)
        if ask.form is Form.YES_NO and row.operator != "between" and (said := operator_named("verdict")(asked)):
            return said
        of_a_medicine = any(n.kind in MEDICINES for n in (ask.things if row.operator == "between" else ask.subject))
        sure = query.frame.source == "model"  # what is asked is known: no diagnosis in place of it
        most = 1 if ask.intent in _OF_AN_ILLNESS else _MORE_THAN_TWO
        several = not (sure or of_a_medicine) and len(ask.things) > most
        case = several and is_case(self.graph, links_of(ask.things))
        unsure = ask.probability < _UNSURE and ask.intent is query.frame.asks[0].intent
        if several and row.operator == "objects" and not (case and unsure) and (named := self._illness(ask)):
            ask = replace(ask, subject=named, object=())
        elif case and (unsure or (_roles_of(ask) and self._may_explain(ask))):
            return self._of_findings(query, replace(ask, intent=Intent.DIAGNOSIS) if unsure else ask)
        refusing = ask.negative
        operator, roles = row.negative if refusing else (row.operator, row.roles)
        if refusing and not operator and row.operator in ("objects", "subjects"):
            return [self._missing(query, ask)]  # a list of what is so answers nothing
        operator = operator or row.operator
        asked = Asked(self.graph, query, ask, row._replace(roles=roles or row.roles))
        both = row.two if row.two and len(links_of(ask.things)) > 1 else ""
        found = operator_named(both or operator)(asked)
        explains = row.also == "explain"
        tried = row.also and (
            row.also == "foods" if refusing else not explains or (not sure and self._may_explain(ask))
        )
        found = found or (operator_named(row.also)(asked._replace(row=row)) if tried else [])
        decided = any(is_verdict(e) and e.id != "heads" for e in found)  # by which other name is told beside this
        broader = [] if decided else _said_broader(query.frame, ask)
        return [*broader, *found] if found else [self._missing(query, ask)]

    def _illness(self, ask: Ask) -> tuple[Named, ...]:
        """The one illness that an ask is of, where what else is told is found in the patient; () of none or several."""
        if ask.intent in _OF_AN_ILLNESS:
            return ()
        ill = tuple(n for n in ask.subject if n.kind == "disease" and is_an_illness(self.graph, n.links[0]))
        return ill if len(ill) == 1 else ()

    def _of_findings(self, query: Query, ask: Ask) -> list[Evidence]:
        """Of an ask without a subject: the diseases that fit what is told; that nothing is known of what is not."""
        asked = Asked(self.graph, query, ask, plan()[ask.intent])
        found = operator_named("explain")(asked) if query.frame.findings and self._may_explain(ask) else []
        return found or [_says_not("nothing", query.frame)]

    def _may_explain(self, ask: Ask) -> bool:
        """Whether diseases that fit may answer an ask: not where the graph holds nothing of what is asked at all.

        What causes a finding they tell in any graph, what causes an illness that has a name they do not; what helps
        against a thing that is named they do not tell.
        """
        if ask.intent in (Intent.TREATMENT, Intent.HELPS) and ask.things:
            return False
        links = links_of(ask.things)
        of_findings = ask.intent is Intent.CAUSES and not (links and is_an_illness(self.graph, links[0]))
        return of_findings or self._holds(*_roles_of(ask))

    def _holds(self, *roles: Role) -> bool:
        """Whether the graph has edges or texts of a role at all; of none that are given nothing can be said."""
        return not roles or any(relation.role in roles for relation in self.graph.relations)

    # --- what is not there

    def _missing(self, query: Query, ask: Ask) -> Evidence:
        """That the graph does not have what is asked of a thing, and what it has of it."""
        linked = [n for n in ask.things if n.links]
        thing = next((n for n in linked if n in query.frame.findings), linked[0] if linked else None)
        if thing is None:
            return _says_not("nothing", query.frame)
        say = catalogue(query.frame.language)
        entity = thing.links[0].entity
        known = "verdict.lacking" if not ask.negative or f"avoided.{ask.intent}" in say else "verdict.positive"
        if plan()[ask.intent].operator == "between" and len(links_of(ask.things)) == 1:
            known = "verdict.unsaid"  # what it is to be tied to is not named, or not found
        name = name_of(entity, say)
        name = thing.names[0] if is_foreign(name, say) else name
        said = say(known, one=name, other=called(say, ask))
        said += "" if self._holds(*_roles_of(ask)) else say("held.nowhere")
        if not ask.negative and (held := self._held(thing.links[0], say, _roles_of(ask))):
            said += say("held.has", names=say.join(held))
        elif not self._holds(*_roles_of(ask)):
            all_of_it = [say(f"held.{role}") for role in Role if f"held.{role}" in say and self._holds(role)]
            said += say("held.all", names=say.join(all_of_it)) if all_of_it else ""
        return Evidence(said, VERDICT, (), (entity,), 1.0, "lacking")

    def _held(self, link: Link, say: Any, without: Sequence[Role]) -> list[str]:
        """What the graph has of a thing, as it is called, `without` what is asked: of that it has headings at most."""
        nodes = list(Family(self.graph).of(link, narrower=False))
        medicine = any(self.graph.at(n).kind in MEDICINES for n in nodes)
        written = {t.relation.role for n in nodes for t in self.graph.attributes(self.graph.at(n).id)}
        found = []
        for role in (role for role in Role if role not in without):
            if f"held.{role}" in say and (role in written or self._has(nodes, role, medicine=medicine)):
                found.append(say("held.given_for" if medicine and role is Role.TREATS else f"held.{role}"))
        return found

    def _has(self, nodes: Sequence[int], role: Role, *, medicine: bool) -> bool:
        steps = ByRole(self.graph, role)
        behind = role in (Role.TREATS, Role.TESTS) and not medicine
        return bool(len((steps.subjects(nodes) if behind else steps.objects(nodes)).node))


def _is_general(thing: Named) -> bool:
    """Whether a thing is called by a word for illnesses or complaints of many kinds, each treated otherwise."""
    called = {thing.names[-1].casefold(), thing.links[0].entity.name.casefold()}
    kinds = (vocabulary.listed(f"{which} of many kinds") for which in ("illnesses", "complaints"))
    return any(kind.fullmatch(name) for kind in kinds for name in called)


def _said_broader(frame: Frame, ask: Ask) -> Iterator[Evidence]:
    """That a thing is answered as what a part of its name means: facial eczema as eczema."""
    say = catalogue(frame.language)
    for thing in (n for n in ask.things if n.links and len(n.names) > 1):
        whole, part = thing.names[0], thing.links[0].mention.surface
        if part != whole and whole.endswith(part):
            text = say("verdict.read_as", one=whole, other=name_of(thing.links[0].entity, say))
            yield Evidence(text, VERDICT, (), (thing.links[0].entity,), 1.0, "absent")


def _roles_of(ask: Ask) -> tuple[Role, ...]:
    """The roles whose edges answer an ask; () where texts may."""
    row = plan()[ask.intent]
    return () if row.relations else row.negative[1] if ask.negative else row.roles


def _by_other_links(ask: Ask) -> Iterator[Ask]:
    """The ask, its things by the second link that they have, by the third, ...: an entry of another name or graph."""
    for at in range(1, min(max((len(n.links) for n in ask.things), default=0), _LINKS)):
        subject, objects = (
            tuple(replace(n, links=n.links[at:] or n.links) for n in part) for part in (ask.subject, ask.object)
        )
        yield replace(ask, subject=subject, object=objects)


def _of_ask(number: int, piece: Evidence) -> Evidence:
    """A list with the number of the ask that it answers as its id."""
    return piece if piece.id or piece.kind not in ("neighbours", "text") else replace(piece, id=f"ask:{number}")


def _says(found: Sequence[Evidence]) -> bool:
    """Whether some evidence says more than that the graph has nothing."""
    return any(e.triples or not is_verdict(e, "lacking", "unknown", "none") for e in found)


def _affirms(found: Sequence[Evidence]) -> bool:
    """Whether a verdict says yes."""
    return any(is_verdict(e, "yes") for e in found)


def _says_not(which: str, frame: Frame, name: str = "") -> Evidence:
    """The verdict that a name is unknown or that no graph answers what is asked."""
    say = catalogue(frame.language)
    text = say("note.nothing") if which == "nothing" else say(f"verdict.{which}", one=name)
    return Evidence(text, VERDICT, (), (), 1.0, which if which in _OWN_IDS else "lacking")


# --- The rankers of the model-free answer; what they need is read in where the evidence names medicines or diseases.


_HELPS = (Role.TREATS, Role.FOOD, Role.DOSAGE)


@dataclass(frozen=True)
class PatientGate:
    """The evidence without what must not be given to this patient (`kgmed.facts.safety`), and what labels warn of."""

    graph: LocalGraph

    def __call__(self, query: Query, evidence: Sequence[Evidence]) -> list[Evidence]:
        """The pieces in their order, then warnings; as they are where they name no medicine and nothing is refused."""
        named = any(
            t.relation.role in _HELPS or t.subject.kind in MEDICINES or t.object.kind in MEDICINES
            for e in evidence
            for t in e.triples
        ) or any(n.kind in MEDICINES or not n.links for ask in query.frame.asks for n in ask.things)
        if not named and not any(ask.negative for ask in query.frame.asks):
            return list(evidence)
        from kgmed.facts.safety import NotForThisPatient, Warned

        return Warned(self.graph)(query, NotForThisPatient(self.graph)(query, evidence))


@dataclass(frozen=True)
class OnlyRare:
    """The evidence as it is, with a note where it proposes diseases and the graph treats none."""

    graph: LocalGraph

    def __call__(self, query: Query, evidence: Sequence[Evidence]) -> list[Evidence]:
        """All of the evidence."""
        if any(e.kind == "candidate" and e.about and e.about[0].kind == "disease" for e in evidence):
            from kgmed.diagnose.engine import engine

            if not engine(self.graph).world.knows_common:
                note(f"common diseases are not in {self.graph.name}; the rare ones that it describes are listed")
        return list(evidence)
