"""Two ways from the same evidence to an answer: the facts themselves, or a language model that reads them."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from kgmed.errors import BadInput
from kgmed.graph.base import KnowledgeGraph, LocalGraph
from kgmed.language.pair import PairType, pairs_asked
from kgmed.language.question import (
    QuestionType,
    asking_part,
    asks_diagnosis,
    compares,
    roles_asked,
    texts_asked,
    types_asked,
)
from kgmed.linking.verbs import WithoutVerb
from kgmed.pipeline import Pipeline, Reader, Recognizer
from kgmed.records import Answer, Context, Entity, Evidence, Link, Mention, Query, Role, Triple
from kgmed.registry import About, Calls, methods
from kgmed.steps.asked import PATIENT, AskedFor
from kgmed.steps.brief import brief
from kgmed.steps.diagnosis import CARE, Consult, OnlyRare, findings_of, first
from kgmed.steps.family import Family
from kgmed.steps.pairs import VERDICT, Between, is_verdict, mode_asked
from kgmed.steps.phrase import Numbered
from kgmed.steps.rank import First
from kgmed.steps.retrieve import Overview
from kgmed.steps.saying import language_of, verdict
from kgmed.steps.unknown import strangers
from kgmed.toolkit import Toolkit

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
        listed = Role.TREATS in roles_asked(query.text)
        about = (t.subject for e in evidence for t in e.triples if _is_about(e, t, listed=listed))
        drugs = dict.fromkeys(drug for drug in about if drug.id)  # a treatment that is only a text has no warnings
        return [*evidence, *(w for drug in drugs for w in self._warning(drug, said))]

    def _warning(self, drug: Entity, said: set[Triple]) -> Iterator[Evidence]:
        """One piece with what is not said already."""
        mine = [t for t in self._of(drug, Role.CONTRAINDICATED) if t not in said]
        if not mine and not any(t.subject == drug and t.relation.role is Role.CONTRAINDICATED for t in said):
            mine = [t for t in self._of(drug, Role.PRECAUTION) if t not in said][: self.cautions]
        if mine:
            names = "; ".join(dict.fromkeys(t.object.name for t in mine))
            yield Evidence(f"{drug.name} — {mine[0].relation} → {names}", "warning", tuple(mine), (drug,))

    def _of(self, drug: Entity, role: Role) -> list[Triple]:
        around = self.graph.neighbours(drug.id, limit=_MANY, roles=(role,))
        said = [*around, *self.graph.attributes(drug.id)]
        return [t for t in said if t.relation.role is role and t.subject == drug]


def _is_about(evidence: Evidence, triple: Triple, *, listed: bool) -> bool:
    """Whether a piece of evidence speaks of the drug of a triple, or `listed` and it names it as a treatment."""
    role = triple.relation.role
    return (listed and role is Role.TREATS) or (role in _DRUG_ROLES and triple.subject in evidence.about)


# --- Retriever: for a question with options, the shortest ties between what it names and what each option names.


Links = Callable[[str], Sequence[Link]]  # the entities named in a text


@dataclass(frozen=True)
class OptionPaths:
    """Ties of one or two edges to each option. Evidence: kind "option", id = its letter, about = (entity, option).

    The score of a tie is 1 / log2(2 + degree) of what it passes through, and of the ends for a single edge: a tie
    through a hub says little. A tie of one edge counts double.
    """

    graph: LocalGraph
    link: Links
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
        middles = sorted((near.keys() & far.keys()) - {a, b}, key=lambda n: (self._degree(n), n))[: self.keep]
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

    def _degree(self, node: int) -> int:
        out, into = self.graph.adjacency
        return int(out.indptr[node + 1] - out.indptr[node] + into.indptr[node + 1] - into.indptr[node])

    def _worth(self, node: int) -> float:
        return float(1 / np.log2(2 + self._degree(node)))

    def _evidence(self, a: int, b: int, letter: str, edges: Sequence[int], worth: float) -> Evidence:
        triples: list[Triple] = [self.graph.triple(edge) for edge in edges]
        text = "; ".join(f"{t.head.name} — {t.relation} → {t.tail.name}" for t in triples)
        about = (self.graph.at(a), self.graph.at(b))
        return Evidence(f"{letter}: {text}", "option", tuple(triples), about, round(worth, 4), letter)


# --- The method without a language model: what the graph says, chosen by what the question asks, cited line by line.


@dataclass(frozen=True)
class Fitting:
    """The retriever that fits the question.

    A question with options gets the ties to each. Of two things that a question names, what ties them comes first; of a
    name that the graph does not have, nothing is said. A question that asks for drugs, tests, causes, ... gets those;
    one that describes a patient the diseases that fit; one that asks for what no role stands for (a price, a year) that
    text or the word that there is none; any other what the graph says of the things that it names.
    """

    graph: LocalGraph
    link: Links
    recognize: Recognizer | None = None  # as the pipeline's; None = names that were not linked are not looked at

    def __call__(self, query: Query, links: Sequence[Link]) -> list[Evidence]:
        """The evidence, verdicts first."""
        if query.question.options:
            return OptionPaths(self.graph, self.link)(query, links)
        patient = _describes_a_patient(query.text, links) and not _defines(query.text, links)
        if asks_diagnosis(query.text) and patient and (cards := self._cards(query, links)):
            return [*cards, *self._asked(query, links, patient=True)]
        between = Between(self.graph)
        pair = between.fitting(query, links, pairs_asked(query.text))
        verdicts = self._modes(query, links) or (between(query, links, pair) if pair else [])
        if verdicts and any(not is_verdict(e, "none") for e in verdicts):
            return [*verdicts, *self._asked(query, links, patient=False)]
        if names := self._strangers(query, links):
            return [_lacks("unknown", query, names[0])]
        if verdicts:
            return [*verdicts, *self._instead(links, pair)]
        if texts_asked(query.text):
            return self._texts(query, links)
        if compares(query.text) and len(set(stated(links))) == 2:
            return self._compared(query, links)
        found = self._asked(query, links, patient=patient) or (self._instead(links, pair) if pair else [])
        if patient and (not found or self._is_a_case(query, links)):
            found = [*self._cards(query, links), *found]
        if not found and roles_asked(query.text) and not patient:
            return self._nothing(query, links)
        return [*mode_asked(query.text, found), *found] or self._overview(query, links)

    def _modes(self, query: Query, links: Sequence[Link]) -> list[Evidence]:
        """Whether a thing has the mode of inheritance asked for; [] where none is asked for."""
        if Role.INHERITANCE not in roles_asked(query.text):
            return []
        return mode_asked(query.text, AskedFor(self.graph, through=False)(query, links))

    def _is_a_case(self, query: Query, links: Sequence[Link]) -> bool:
        """Whether several findings are told of, and what their disease is treated or tested with, if anything."""
        return len(findings_of(self.graph, links)) > 1 and all(role in CARE for role in roles_asked(query.text))

    def _asked(self, query: Query, links: Sequence[Link], *, patient: bool) -> list[Evidence]:
        """What answers the roles asked for; the cards of a patient's diseases tell of their tests and treatments."""
        asked = roles_asked(query.text)
        through = not patient or any(role in PATIENT and role not in CARE for role in asked)
        return AskedFor(self.graph, through=through)(query, links) if asked else []

    def _cards(self, query: Query, links: Sequence[Link]) -> list[Evidence]:
        """The diseases that fit, with what is done about them."""
        return Consult(self.graph, care=first(roles_asked(query.text)))(query, links)

    def _strangers(self, query: Query, links: Sequence[Link]) -> list[str]:
        """The names that are asked about and were not linked."""
        if self.recognize is None or _describes_a_patient(query.text, links):
            return []
        linked = {link.mention for link in links}
        missed = [m for m in self.recognize(query) if m not in linked]
        return strangers(query.text, missed, links)

    def _nothing(self, query: Query, links: Sequence[Link]) -> list[Evidence]:
        """That the graph has nothing of what is asked for, and what it says of the things named."""
        row = next(row for row in types_asked(query.text) if row.role and not row.of_what)
        things = stated(links)
        return [_lacks("lacking", query, things[0].name, row), *self._overview(query, links)] if things else []

    def _instead(self, links: Sequence[Link], pair: PairType | None) -> list[Evidence]:
        """Of what a pair was asked and has no tie, what the thing named first has in the first role that it has."""
        asked, roles = AskedFor(self.graph, pieces=1), pair.roles if pair else ()
        named = [link for link in links if not link.mention.negated]
        for link in named:
            for role, way in roles:
                own = way != "-"
                pieces = [
                    e for e in asked.of(link, role) if len(named) == 1 or (e.triples[0].subject in e.about) is own
                ]
                if pieces:
                    return pieces
        return []

    def _overview(self, query: Query, links: Sequence[Link]) -> list[Evidence]:
        """What the graph says of each thing under the name of which it says most."""
        family = Family(self.graph)
        fullest = [replace(link, entity=family.fullest(link)) for link in links]
        return Overview(self.graph)(query, fullest)

    def _texts(self, query: Query, links: Sequence[Link]) -> list[Evidence]:
        """The texts that answer a question no role stands for; the word that there is none."""
        row = texts_asked(query.text)[0]
        found = [
            Evidence(f"{t.head.name} — {t.relation} → {t.tail.name}", "text", (t,), (t.head,), 1.0)
            for link in links
            for entity in dict.fromkeys([link.entity, *Family(self.graph).twins(link)])
            for t in self.graph.attributes(entity.id)
            if row.named.search(t.relation.name)
        ]
        things = stated(links)
        return found or [_lacks("lacking", query, things[0].name if things else "", row)]

    def _compared(self, query: Query, links: Sequence[Link]) -> list[Evidence]:
        """Of each of two things what the other does not have, in the roles asked for or those that tell diseases."""
        roles = tuple(role for role in roles_asked(query.text) if role is not Role.DIFFERENTIAL) or _TELLING
        asked = AskedFor(self.graph, pieces=1)
        named = {link.entity: link for link in links if not link.mention.negated}
        return [piece for role in roles for link in named.values() for piece in asked.of(link, role)]


_TELLING = (Role.FINDING, Role.CAUSE, Role.RISK, Role.TREATS, Role.INHERITANCE, Role.GENE)


def stated(links: Sequence[Link]) -> list[Entity]:
    """The entities that a question names and does not deny, each once; people only where it names nothing else."""
    named = list(dict.fromkeys(link.entity for link in links if not link.mention.negated))
    return [entity for entity in named if entity.kind != "population"] or named


def _lacks(which: str, query: Query, name: str, row: QuestionType | None = None) -> Evidence:
    """The verdict that the graph does not have a name, or of a thing what is asked."""
    language = language_of(query.text)
    thing, what = name or ("this", "此项")[language], row.says[language] if row else ""
    what = what if language else what[:1].lower() + what[1:]
    return Evidence(verdict(which, language, (), thing, what), VERDICT, (), (), 1.0, which)


def _describes_a_patient(text: str, links: Sequence[Link]) -> bool:
    """Whether a text tells of someone and does not only ask, or lists several things that are there.

    >>> _describes_a_patient("What is gout?", []), _describes_a_patient("My toe hurts. What helps?", [])
    (False, True)
    """
    several = len(stated(links)) > 1 and not pairs_asked(text) and not compares(text)
    return several or asking_part(text).strip() != text.strip()


_DEFINES = re.compile(
    r"what(?:'s| is| are|s) (?:this|that|it)\W*$|what does (?:this|that|it) mean"
    r"|是(?:什么|啥)(?:病|疾病|意思|东西|药)?\W*$",
    re.IGNORECASE,
)


def _defines(text: str, links: Sequence[Link]) -> bool:
    """Whether a question names one thing and asks what it is.

    >>> link = Link(Mention("ptosis", "ptosis", 0, 6), Entity("1", "Ptosis"), 1.0, "exact")
    >>> _defines("My report says ptosis. What is that?", [link]), _defines("I have ptosis. What could it be?", [link])
    (True, False)
    """
    return len(stated(links)) == 1 and bool(_DEFINES.search(text))


class Once:
    """A recogniser that remembers its last question: what is recognised is needed by the linker and the retriever."""

    def __init__(self, recognize: Recognizer) -> None:
        """`recognize` finds the mentions."""
        self._recognize = recognize
        self._last: tuple[Query, list[Mention]] | None = None

    def __call__(self, query: Query, /) -> list[Mention]:
        """The mentions of the question."""
        last = self._last
        if last is None or last[0] != query:
            last = self._last = (query, self._recognize(query))
        return last[1]


# --- Two ways from the same evidence to an answer: the facts themselves, or a language model that reads them.


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """The numbers of `facts`."""

    keep: int = 12  # ours: pieces of evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class Grounded:
    """The numbers of `grounded`."""

    keep: int = 8  # ours: pieces of evidence
    answer_tokens: int = 256  # ours; a small model here is asked for 64


_SMALL = 64  # tokens of an answer by a model in this process


@methods.register(
    "facts",
    about=About(
        does="the evidence that fits the question, grouped and cited; no model is asked",
        calls=Calls.always(0, "no step asks a model"),
        needs=frozenset({"local_graph"}),
    ),
    presets={"": Facts()},
)
def facts(toolkit: Toolkit, *, settings: Facts | None = None) -> Pipeline:
    """The evidence is the answer; no model is asked."""
    s, recognize = settings or Facts(), Once(WithoutVerb(toolkit.recognize))
    return Pipeline(
        recognize=recognize,
        link=toolkit.link,
        retrieve=(Fitting(toolkit.graph, toolkit.linked, recognize),),
        rank=(First(s.keep), Warned(toolkit.graph), OnlyRare(toolkit.graph)),
        phrase=Numbered(),
        read=brief,
        name="facts",
        graph=toolkit.graph.label,
    )


@dataclass(frozen=True)
class UnlessDeclined:
    """The reader; where the evidence only says that the graph does not have what is asked for, that is the answer."""

    read: Reader

    def __call__(self, query: Query, context: Context) -> Answer:
        """The answer of the reader, or the one sentence that declines."""
        declined = context.cited and is_verdict(context.cited[0], "unknown", "lacking")
        return brief(query, context) if declined else self.read(query, context)


@methods.register(
    "llm",
    about=About(
        does="a model answers from the evidence of `facts`; what the evidence does not bear out is marked as its own",
        calls=Calls.always(1, "the answer"),
    ),
    presets={"": Grounded()},
)
def grounded(toolkit: Toolkit, *, settings: Grounded | None = None) -> Pipeline:
    """A language model answers from the evidence; sentences that the evidence does not bear out are marked as its own.

    Where the model cannot be reached, or nothing that it writes stands, the facts are read instead, and the run says
    so. Raises `BadInput` without a model in the toolkit.
    """
    if toolkit.llm is None:
        raise BadInput("the method llm needs a language model: --llm smollm2, gguf/PATH or openai/NAME")
    s = settings or Grounded()
    small = not toolkit.llm.name.startswith(("openai/", "anthropic/"))
    name, most = ("ask/reader", min(_SMALL, s.answer_tokens)) if small else ("ask/detailed", s.answer_tokens)
    from kgmed.steps.check import Checked  # not read in where no model is asked
    from kgmed.steps.read import LLMReader

    reader = LLMReader(toolkit.llm, name=name, max_tokens=most, prompts=toolkit.prompts)
    base = facts(toolkit, settings=Facts(keep=s.keep))
    return replace(base, read=UnlessDeclined(Checked(reader, toolkit.check)), otherwise=brief, name="llm")
