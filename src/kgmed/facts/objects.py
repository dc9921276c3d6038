"""Operators that list what a thing has in a role, what has a thing in a role, or all that is known of a thing."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from kgmed import vocabulary
from kgmed.facts.operators import Lists, Wanted, mode_pattern, wanted
from kgmed.facts.plan import Asked, is_an_illness, is_case, links_of, operator_named, rules
from kgmed.frame import Ask, Form, Frame, Intent
from kgmed.graph.base import LocalGraph, Scope, names_of
from kgmed.graph.store.store import Store
from kgmed.language.text import fold, has_cjk
from kgmed.question.patient import TAKEN
from kgmed.records import VERDICT, Entity, Evidence, Link, Query, Role
from kgmed.sentences import catalogue
from kgmed.steps.facts import name_of, named
from kgmed.steps.family import MEDICINES, Family
from kgmed.steps.retrieve import Overview, told

# --- Operators that tell of a thing as a whole: overview, kinds, other names, texts, and two things compared.

_FIRST = (Role.FINDING, Role.TREATS)  # of a disease, in the order of what is usual
_TELLING = (Role.FINDING, Role.CAUSE, Role.RISK, Role.TREATS, Role.INHERITANCE, Role.GENE)
_LISTED = 24  # ours: names in a list of one of two things that are compared
_BESIDE = 0.04  # ours: the least probability of a reading that says in what two things are compared
_SHOWN = 8  # ours: other names of a thing


def overview(graph: LocalGraph, query: Query, links: Sequence[Link]) -> list[Evidence]:
    """What the graph says of each thing, under the entry of it that says most."""
    family = Family(graph)
    fullest = [replace(link, entity=family.fullest(link)) for link in links]
    pieces = Overview(graph)(query, fullest)
    ill = [link for link in fullest if link.entity.kind == "disease"]
    for role in _FIRST:
        ordered = (e for link in ill for e in Lists(graph, listed=_LISTED, pieces=1).of(link, role))
        best = {e.about: e for e in reversed([e for e in ordered if _is_of(e, role)])}
        pieces = list(dict.fromkeys(best.get(p.about, p) if _is_of(p, role) else p for p in pieces))
    return pieces


def _is_of(e: Evidence, role: Role) -> bool:
    """Whether a piece lists what a disease has in a role."""
    own = role is Role.FINDING
    return bool(e.triples) and all(t.relation.role is role and (t.subject in e.about) is own for t in e.triples)


def kinds_of(graph: LocalGraph, query: Query, links: Sequence[Link]) -> list[Evidence]:
    """The kinds of each thing, by its narrower entries."""
    pieces = overview(graph, query, links)
    return [
        e for e in pieces
        if e.triples and all(t.relation.role is Role.IS_A and t.subject not in e.about for t in e.triples)
    ]  # fmt: skip


def other_names(graph: LocalGraph, frame: Frame, links: Sequence[Link]) -> list[Evidence]:
    """Other names and the codes of each thing, in a sentence."""
    say, found = catalogue(frame.language), []
    for link in links:
        names = [n for n, scope in names_of(graph, graph.number(link.entity.id)) if scope <= Scope.TRANSLATION]
        once = {fold(n): n for n in reversed(names) if fold(n) != fold(link.entity.name)}
        if codes_and_names := [link.entity.id, *reversed(once.values())][: _SHOWN + 1]:
            thing = named(link.entity, han=say.han)
            said = say("note.names", thing=thing, names=say.join(codes_and_names))
            found.append(Evidence(said, VERDICT, (), (link.entity,), 1.0, "yes"))
    return found


def texts(graph: LocalGraph, links: Sequence[Link], relations: re.Pattern[str]) -> list[Evidence]:
    """The texts and the edges of things whose relation has such a name."""
    return [
        Evidence(str(t), "text", (t,), (entity,), 1.0)
        for link in links
        for entity in dict.fromkeys([link.entity, *Family(graph).twins(link)])
        for t in (*graph.attributes(entity.id), *graph.neighbours(entity.id, roles=(Role.OTHER,)))
        if relations.search(t.relation.name)
    ]


def compared(graph: LocalGraph, query: Query, links: Sequence[Link], roles: Sequence[Role]) -> list[Evidence]:
    """Of each of two things what it has in some roles; where all that tell things apart are meant, its definition."""
    lists = Lists(graph, listed=_LISTED, pieces=1, forms=1)
    own = {link.entity: Family(graph).twins(link) for link in links}
    defined = [e for link in links for e in _definition(graph, query, link)] if roles == _TELLING else []
    return defined + [
        piece
        for role in roles
        for link in links
        for piece in lists.of(link, role)
        if link.entity.kind in MEDICINES or piece.about[0] in own[link.entity]
    ]


def _definition(graph: LocalGraph, query: Query, link: Link) -> Iterator[Evidence]:
    """What a thing is, in the language of the answer."""
    say = catalogue(query.frame.language)
    written = (e for twin in Family(graph).twins(link) for e in Overview(graph).definition(twin))
    return islice((e for e in written if has_cjk(e.triples[0].tail.name) == say.han), 1)


# --- the operators by name


def whole(asked: Asked) -> list[Evidence]:
    """What the graph says of each thing."""
    return overview(asked.graph, asked.query, links_of(asked.ask.things))


def kinds(asked: Asked) -> list[Evidence]:
    """The kinds of the subject."""
    return kinds_of(asked.graph, asked.query, links_of(asked.ask.subject))


def names(asked: Asked) -> list[Evidence]:
    """Other names and codes of the subject."""
    return other_names(asked.graph, asked.query.frame, links_of(asked.ask.subject))


def text(asked: Asked) -> list[Evidence]:
    """The texts and lists whose relation is called as the row says."""
    row = asked.row
    wanted = row.amounts if row.amounts and asked.ask.form is Form.AMOUNT else row.relations
    return texts(asked.graph, links_of(asked.ask.things), re.compile(wanted, re.IGNORECASE))


def compare(asked: Asked) -> list[Evidence]:
    """What each of two things has and the other has not, in the roles that another reading asks for, or all."""
    frame = asked.query.frame
    others = (a for a in (*frame.asks, *frame.alternatives) if a.intent is not Intent.COMPARISON)
    roles = next((a.intent.roles for a in others if a.intent.roles and a.probability >= _BESIDE), ())
    return compared(asked.graph, asked.query, links_of(asked.ask.things)[:2], roles or _TELLING)


# --- Which entry of a graph a thing is answered by: a thin exact name yields to its twin, its longer name or its parts.
#
# Spelling alone would keep the exact name however little the graph says of it; here names compete by spelling and by
# their facts in the role that is asked for. That another name answers is said.

THIN, RICH = 3, 10  # ours: facts in a role up to which a name is thin, and from which another takes its place
_LOOKED = 20  # names that begin with the thin one
_SHORTEST, _SHORTEST_CJK = 5, 2  # characters of a name that longer ones are looked for


@dataclass(frozen=True)
class RicherNames:
    """The links by which a thing is answered in a role; the link itself where it has enough or nothing has more."""

    graph: LocalGraph

    def __call__(self, link: Link, role: Role) -> tuple[Link, ...]:
        """One link, or two where a Chinese name is made of two."""
        if self._facts(link.entity, link, role) > THIN or link.entity.kind not in ("disease", "phenotype", "symptom"):
            return (link,)
        others = (*self._twins(link), *self._longer(link))
        rich = {e: n for e in others if (n := self._facts(e, link, role)) >= RICH}
        if rich:
            return (replace(link, entity=max(rich, key=lambda e: rich[e]), how="facts"),)
        return self._parts(link, role) or (link,)

    def _facts(self, entity: Entity, link: Link, role: Role) -> int:
        """The facts that an entry, or one that is the same, has in a role."""
        lists = Lists(self.graph)
        return max(lists.much(e, role) for e in Family(self.graph).twins(replace(link, entity=entity)))

    def _twins(self, link: Link) -> Iterator[Entity]:
        """The entries of the name in another spelling: 胃疼 and 胃痛."""
        name = link.mention.surface
        pairs = [tuple(pair) for pair in rules()["names"]["written"]]
        for old, new in (*pairs, *((new, old) for old, new in pairs)):
            if old in name:
                yield from (m.entity for m in self.graph.lookup(name.replace(old, new))[:1])

    def _longer(self, link: Link) -> Iterator[Entity]:
        """The entries of its kind whose names go on from the name: 类风湿性关节炎 from 类风湿."""
        name = link.mention.surface
        if not isinstance(self.graph, Store) or len(name) < (_SHORTEST_CJK if has_cjk(name) else _SHORTEST):
            return
        from kgmed.graph.complete import Completions  # read in where a name is thin

        for found in Completions(self.graph)(name, limit=_LOOKED):
            if found.how == "start" and found.entity.kind == link.entity.kind:
                yield found.entity

    def _parts(self, link: Link, role: Role) -> tuple[Link, ...]:
        """The two names that a Chinese name is made of, each with enough facts: 感冒 and 发烧."""
        name, start = link.mention.surface, link.mention.start
        for cut in range(_SHORTEST_CJK, len(name) - _SHORTEST_CJK + 1) if has_cjk(name) else ():
            ends = [next(iter(self.graph.lookup(part)), None) for part in (name[:cut], name[cut:])]
            if all(m and self._facts(m.entity, link, role) >= RICH for m in ends):
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


def read_as(before: Sequence[Link], after: Sequence[Link]) -> list[tuple[str, Entity]]:
    """The words that are answered by an entry of another name, with that entry."""
    own = {link.entity for link in before}
    return [(link.mention.surface, link.entity) for link in after if link.how == "facts" and link.entity not in own]


_FEW_CAUSES = 3  # ours: where a finding has fewer causes of its own, the diseases that show it are shown too
_ILLNESSES = 2  # ours: illnesses of which is told what labels warn of


def objects(asked: Asked) -> list[Evidence]:
    """Lists of what the subject has in the roles; of a constrained ask those of the class that is asked for."""
    graph, query, ask, row = asked
    named = _listed(ask)
    if ask.intent is Intent.INHERITANCE and (modes := list(_modes(asked, named))):
        return [piece for mode in modes for piece in Lists(graph).having(mode, Role.INHERITANCE)]
    links = [link for one in named for link in RicherNames(graph)(one, row.roles[0])] if row.roles else named
    treats = ask.intent is Intent.TREATMENT  # then neither of what is taken, nor what a thing is given for
    links = [link for link in links if not treats or link.entity.kind not in MEDICINES] or links
    which = wanted(ask)
    found = Lists(graph, medicines=which.narrows, wanted=which)(query, links, row.roles, every=row.every)
    if which.narrows and not any(e.triples for e in found):
        found = Lists(graph)(query, links, row.roles, every=row.every)
    if not found and row.relations:
        found = operator_named("text")(asked)
    found = [e for e in found if not treats or e.kind != "neighbours" or e.triples[0].subject not in e.about]
    found = [*_read_as(asked, named, links), *found] if found else []
    if found and treats and len(links) > 1 and is_case(graph, links):
        return _one_each(found, links)
    if ask.intent is Intent.CAUSES and len(links) == 1 and not is_an_illness(graph, links[0]):
        return [*found, *_seen_in(asked, found)]
    return found


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
    from kgmed.facts.warnings import WarnedOf  # read in where a question refuses

    found = [piece for link in links[:_ILLNESSES] for piece in WarnedOf(graph).of(query, [link])]
    return found or Lists(graph)(query, links, (Role.AVOID,), every=True)


def _listed(ask: Ask) -> list[Link]:
    """The links that a list is made for: the subject, and of the same kind what stands beside it."""
    subject, others = links_of(ask.subject), links_of(ask.object)
    kinds = {link.entity.kind for link in subject}
    return [*subject, *(link for link in others if link.entity.kind in kinds)] if subject else others


def _read_as(asked: Asked, named: Sequence[Link], links: Sequence[Link]) -> Iterator[Evidence]:
    """That a thing is answered by an entry of another name."""
    say = catalogue(asked.query.frame.language)
    for words, entity in read_as(named, links):
        if entity.name.casefold() != words.casefold():
            said = say("verdict.read_as", one=words, other=name_of(entity, say))
            yield Evidence(said, VERDICT, (), (entity,), 1.0, "heads")


def _one_each(found: Sequence[Evidence], links: Sequence[Link]) -> list[Evidence]:
    """The first piece about each thing."""
    pieces = {e.about[0]: e for e in reversed(found) if e.triples}
    return [pieces[x.entity] for x in links if x.entity in pieces]


def _seen_in(asked: Asked, found: Sequence[Evidence]) -> list[Evidence]:
    """The diseases that show a finding of which the graph names few causes."""
    own = {t.object for e in found for t in e.triples if t.relation.role is Role.CAUSE}
    return operator_named("explain")(asked) if len(own) < _FEW_CAUSES else []
