"""Questions made of a graph's own triples: is the right triple first, and is what the graph does not say denied?

A true question is made of a triple; a false one of its subject and an object that the same relation leads to from
elsewhere, but that nothing ties to the subject. Every form stands in English and Chinese; a question is made only where
the names are in its language.

A true question about two things is right where the verdict is yes (or warns, of what may not be taken together) and its
triples hold both things. A question for a list is right where the first piece of evidence speaks of the thing in the
role asked for. A false one is denied where the verdict says no, the reverse, another tie or none.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from kgmed.graph.base import ByRole, LocalGraph
from kgmed.language.text import has_cjk
from kgmed.records import Entity, Evidence, Role, Run, Triple
from kgmed.steps.family import medicines_of, substance
from kgmed.steps.pairs import is_verdict


@dataclass(frozen=True)
class Form:
    """A form of question: {a} = the subject of a triple of the role, {b} = its object, "" = not made in a language."""

    role: Role
    english: str
    chinese: str

    @property
    def is_pair(self) -> bool:
        """Whether it names two things."""
        return "{a}" in self.english and "{b}" in self.english


FORMS = (
    Form(Role.FINDING, "Does {a} cause {b}?", "{a}会引起{b}吗？"),
    Form(Role.FINDING, "Is {b} a symptom of {a}?", "{b}是{a}的症状吗？"),
    Form(Role.FINDING, "Can people with {a} have {b}?", "{a}会有{b}吗"),
    Form(Role.TREATS, "Can {a} treat {b}?", "{a}能治{b}吗？"),
    Form(Role.TREATS, "Can {b} be treated with {a}?", "{b}可以用{a}治疗吗？"),
    Form(Role.ADVERSE, "Can {a} cause {b}?", "{a}会引起{b}吗？"),
    Form(Role.ADVERSE, "Is {b} a side effect of {a}?", "{b}是{a}的不良反应吗？"),
    Form(Role.COMPLICATION, "Can {a} lead to {b}?", "{a}会导致{b}吗？"),
    Form(Role.INTERACTS, "Does {a} interact with {b}?", "{a}和{b}有相互作用吗？"),
    Form(Role.INTERACTS, "Can I take {a} with {b}?", "{a}能和{b}一起吃吗？"),
    Form(Role.RISK, "Does {b} raise the risk of {a}?", "{b}会增加{a}的风险吗？"),
    Form(Role.CAUSE, "Is {a} caused by {b}?", "{a}是由{b}引起的吗？"),
    Form(Role.TESTS, "Is {a} a test for {b}?", "{a}能检查{b}吗？"),
    Form(Role.GENE, "Is {b} a gene of {a}?", "{a}和{b}基因有关吗？"),
    Form(Role.INHERITANCE, "Is {a} inherited by {b}?", "{a}是{b}吗？"),
    Form(Role.FINDING, "What are the symptoms of {a}?", "{a}有什么症状？"),
    Form(Role.TREATS, "What drugs treat {b}?", "{b}吃什么药？"),
    Form(Role.ADVERSE, "What are the side effects of {a}?", "{a}有什么副作用？"),
    Form(Role.TESTS, "Which tests are done for {b}?", "{b}做什么检查？"),
    Form(Role.CARE, "Which department treats {a}?", "{a}挂什么科？"),
)


@dataclass(frozen=True)
class Made:
    """A question and the triple that it is made of; `true` = the graph says so."""

    form: Form
    text: str
    subject: Entity
    object: Entity
    true: bool


def made_of(graph: LocalGraph, language: str, each: int, seed: int = 0) -> Iterator[Made]:
    """`each` true questions of each form, and as many false ones of those about two things; fewer where there are none.

    The same seed gives the same questions. `graph` bears its names in the language, "en" or "zh".
    """
    for number, form in enumerate(FORMS):
        chance = random.Random(f"{seed} {language} {number}")  # noqa: S311 - a sample, not a secret
        triples = _triples(graph, form.role, chance, each * 40)
        named = [t for t in triples if _names(form, t, language)]
        for t in named[:each]:
            yield _made(form, language, t.subject, t.object, true=True)
        if form.is_pair and len(named) > 1:
            yield from _false(graph, form, language, named, each, chance)


def _triples(graph: LocalGraph, role: Role, chance: random.Random, most: int) -> list[Triple]:
    """Some triples of a role at random."""
    wanted = np.array([r.role is role for r in graph.relations], bool)
    edges = np.flatnonzero(wanted[graph.adjacency.out.relation]).tolist() if wanted.any() else []
    return [graph.triple(edge) for edge in chance.sample(edges, min(most, len(edges)))]


def _names(form: Form, triple: Triple, language: str) -> bool:
    """Whether the names that a form says can be said in a language: short, and no sentences."""
    said = [triple.subject] * ("{a}" in form.english) + [triple.object] * ("{b}" in form.english)
    if triple.subject.name.casefold() == triple.object.name.casefold():
        return False
    if language == "zh":
        gene = form.role is Role.GENE
        return all((has_cjk(e.name) or (gene and e.kind == "gene")) and 2 <= len(e.name) <= 12 for e in said)
    return all(e.name.isascii() and 3 <= len(e.name) <= 50 and e.name.count(" ") < 6 for e in said)


def _made(form: Form, language: str, subject: Entity, other: Entity, *, true: bool) -> Made:
    template = form.chinese if language == "zh" else form.english
    return Made(form, template.format(a=subject.name, b=other.name), subject, other, true)


def _false(
    graph: LocalGraph, form: Form, language: str, triples: Sequence[Triple], each: int, chance: random.Random
) -> Iterator[Made]:
    """Questions about subjects and objects that nothing ties."""
    found = 0
    for t in triples:
        other = chance.choice(triples).object
        if found < each and not _tied(graph, t.subject, other):
            found += 1
            yield _made(form, language, t.subject, other, true=False)


def _tied(graph: LocalGraph, one: Entity, other: Entity) -> bool:
    """Whether an edge joins two things, products of the same substance or any kind of them, or their names say so."""
    if one == other or one.name.casefold() in other.name.casefold() or other.name.casefold() in one.name.casefold():
        return True
    is_a, out, into = ByRole(graph, Role.IS_A), graph.adjacency.out, graph.adjacency.into
    same = medicines_of(graph)
    alike = [{graph.number(e.id), *same.get(substance(e.name), ())} for e in (one, other)]
    kinds = [list({n for node in nodes for n in is_a.closure(node, up=False)}) for nodes in alike]
    goal = np.array(kinds[1])
    near = [csr.neighbour[csr.indptr[node] : csr.indptr[node + 1]] for node in kinds[0] for csr in (out, into)]
    return bool(np.isin(np.concatenate(near), goal).any())


def is_right(made: Made, run: Run) -> bool:
    """Whether the first piece of evidence is what the question was made for; see the head of this file."""
    first = run.evidence[0] if run.evidence else None
    if first is None:
        return False
    if not made.true:
        return is_verdict(first, "no", "reverse", "other", "none")
    if made.form.is_pair:
        return is_verdict(first, "yes", "interacts", "no", "caution") and _holds(first, made)
    return any(t.relation.role is made.form.role for t in first.triples)


def _holds(evidence: Evidence, made: Made) -> bool:
    """Whether a verdict stands on triples and is about both things, under their ids or their names."""
    about = [*evidence.about, *(e for t in evidence.triples for e in (t.head, t.tail))]
    ids, names = {e.id for e in about}, {e.name.casefold() for e in about}
    return bool(evidence.triples) and all(
        e.id in ids or e.name.casefold() in names for e in (made.subject, made.object)
    )


@dataclass(frozen=True)
class FormTally:
    """How many questions of a form, a language and a premise there are, and how many of them are right."""

    form: Form
    language: str
    true: bool
    asked: int
    right: int
    wrong: tuple[str, ...]  # some that are not right


def tally(made: Sequence[Made], ask: Callable[[str], Run], language: str, *, shown: int = 3) -> list[FormTally]:
    """The counts by form and premise, in the order of the forms."""
    rows: dict[tuple[Form, bool], list[tuple[Made, bool]]] = {}
    for one in made:
        rows.setdefault((one.form, one.true), []).append((one, is_right(one, ask(one.text))))
    return [
        FormTally(
            form, language, true, len(row), sum(ok for _, ok in row), tuple(m.text for m, ok in row if not ok)[:shown]
        )
        for (form, true), row in rows.items()
    ]
