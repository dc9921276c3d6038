"""Tools that look things up for a model: a name in, facts out; the same in the agent's own loop and over MCP.

A tool executes a frame on the graph as the model-free answer does: products, ingredients and classes of what is named
are looked at, and what it gives is evidence. `lines` writes it as a reply that a model can read.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from kgmed.errors import BadInput, UnknownName
from kgmed.facts.answer import answer
from kgmed.facts.plan import FromFrame, PatientGate
from kgmed.facts.view import PIECES, ForReader, TiedThings
from kgmed.frame import EMPTY_FRAME, Ask, Form, Frame, Intent, Named, Patient
from kgmed.graph.search.paths import paths_between
from kgmed.language.labels import GROUPS
from kgmed.language.text import one_line
from kgmed.models.base import Tool
from kgmed.records import Answer, Context, Evidence, Link, Mention, Query, Question, Verdict
from kgmed.sentences import catalogue
from kgmed.steps.facts import clipped
from kgmed.steps.family import MEDICINES
from kgmed.steps.retrieve import Overview
from kgmed.toolkit import Toolkit

LONGEST = 4_000  # characters of a reply
_FACT = 600  # ours: characters of one fact
_NAMES = 8  # ours: names that a find gives
_PATHS = 6  # ours
_NAMED = 200  # characters of a source
INTENTS = [i.value for i in Intent if not i.out_of_scope]
_ENTITY = {"type": "string", "description": "A disease, finding, medicine, test or gene, by name or id."}

TOOLS = (
    Tool("find", "The entities of a name: id, name, kind.", {"name": _ENTITY}),
    Tool(
        "facts",
        "What the graph has of an entity in a relation, its products, ingredients and classes included; with `other` "
        "what ties the two: whether one treats, causes, interacts with or must not be taken in the other.",
        {"entity": _ENTITY, "relation": {"type": "string", "enum": INTENTS}, "other": _ENTITY},
        optional=("relation", "other"),
    ),
    Tool("paths", "The shortest paths between two entities.", {"entity": _ENTITY, "other": _ENTITY}),
    Tool(
        "diagnose",
        "The diseases that explain findings, best first, with what speaks for and against each.",
        {"findings": {"type": "array", "items": {"type": "string"}, "description": "Findings by name or id."}},
    ),
    Tool("text", "The definition of an entity and the texts about it: doses, cautions.", {"entity": _ENTITY}),
)


@dataclass(frozen=True)
class Toolbox:
    """The tools on one graph, for a patient; names and sentences are in `language`, as far as the graph has them."""

    toolkit: Toolkit
    language: str = "en"
    keep: int = PIECES
    patient: Patient = EMPTY_FRAME.patient

    def __call__(self, name: str, arguments: Mapping[str, Any]) -> list[Evidence]:
        """What a tool gives; raises `BadInput` for arguments that do not fit, `UnknownName` for what is not there."""
        tools: dict[str, Callable[..., list[Evidence]]] = {tool.name: getattr(self, tool.name) for tool in TOOLS}
        if name not in tools:
            raise UnknownName("tool", name, list(tools))
        tool = next(t for t in TOOLS if t.name == name)
        if problem := tool.problem(arguments):
            raise BadInput(f"{name}: {problem}")
        return tools[name](**arguments)

    def find(self, name: str) -> list[Evidence]:
        """The entities of a name, else those of similar names, a piece each without a triple."""
        from kgmed.graph.library import find  # the searches of names are read in where one is asked for

        matches = find(self.toolkit.graph, name, limit=_NAMES)  # type: ignore[arg-type]
        if not matches:
            raise UnknownName("entity of the graph", name, self.toolkit.near(name))
        return [Evidence(f"{m.entity.id} | {m.name} | {m.entity.kind}", "text", (), (m.entity,)) for m in matches]

    def facts(self, entity: str, relation: str = "", other: str = "") -> list[Evidence]:
        """What answers the intent of that name of an entity, or of it and another; without one, what there is."""
        intent = relation or (Intent.RELATION if other else Intent.OVERVIEW).value
        return self.framed(self.frame(intent, [entity], [other] if other else []))

    def paths(self, entity: str, other: str) -> list[Evidence]:
        """The shortest paths between two entities."""
        graph = self.toolkit.graph
        ends = [self.named(name).links[0].entity for name in (entity, other)]
        found = paths_between(graph, ends, limit=_PATHS).paths
        return [Evidence(str(p), "path", p.triples, tuple(ends), 1 / max(len(p.triples), 1)) for p in found]

    def diagnose(self, findings: Sequence[str]) -> list[Evidence]:
        """The diseases that explain the findings."""
        return self.framed(self.frame(Intent.DIAGNOSIS.value, findings=findings))

    def text(self, entity: str) -> list[Evidence]:
        """The definition and the texts of an entity."""
        thing = self.named(entity).links[0].entity
        texts = self.toolkit.graph.attributes(thing.id)
        pieces = [Evidence(f"{thing.name} — {t.relation} → {t.tail.name}", "text", (t,), (thing,)) for t in texts]
        return [*Overview(self.toolkit.graph).definition(thing), *pieces][: self.keep]

    def frame(
        self,
        intent: str,
        subject: Sequence[str] = (),
        other: Sequence[str] = (),
        findings: Sequence[str] = (),
        *,
        negative: bool = False,
    ) -> Frame:
        """A frame that asks for an intent by its name of things by theirs; raises `UnknownName` for one it lacks."""
        if intent not in INTENTS:
            raise UnknownName("relation", intent, INTENTS)
        form = Form.YES_NO if other and not negative else Form.LIST
        about, beside, told = (tuple(map(self.named, names)) for names in (subject, other, findings))
        asked = Ask(Intent(intent), about, beside, negative=negative, form=form)
        return Frame((asked,), (), told, (), self.patient, self.language, "given", 1.0)

    def of(self, patient: Patient, **told: Sequence[str]) -> "Toolbox":
        """The tools for a patient; `told` = names of `takes`, `has` and `allergic_to`, also such as no graph has."""
        from kgmed.facts.circumstances import groups_of

        named: dict[str, Any] = {field: tuple(map(self._told, names)) for field, names in told.items()}
        return replace(self, patient=replace(patient, groups=tuple(GROUPS[n] for n in groups_of(patient)), **named))

    def _told(self, name: str) -> Named:
        """The thing of a name; without a link where the graph has none."""
        try:
            return self.named(name)
        except UnknownName:
            return Named((name,))

    def framed(self, frame: Frame) -> list[Evidence]:
        """What answers a frame that was given, then what ties its things, as a model should read it."""
        named = [*(n for ask in frame.asks for n in ask.things), *frame.findings]
        links = [link for n in named for link in n.links[:1]]
        query = Query(Question(", ".join(n.names[0] for n in named), language=frame.language), frame=frame)
        graph = self.toolkit.graph
        found = [*FromFrame(graph, self.toolkit.linked)(query, links), *TiedThings(graph)(query, links)]
        return ForReader(graph, self.keep)(query, PatientGate(graph)(query, found))

    def named(self, name: str) -> Named:
        """The thing of a name or an id; raises `UnknownName` with names that are spelled alike."""
        graph = self.toolkit.graph
        try:
            entity = graph.at(graph.number(name))
            link = Link(Mention(name, entity.name, -1, -1), entity, 1.0, "id")
        except UnknownName:
            found = self.toolkit.link([Mention(name, name, -1, -1)])
            if not found:
                raise UnknownName("entity of the graph", name, self.toolkit.near(name)) from None
            link = found[0]
        return Named((link.entity.name if link.how == "id" else name,), link.entity.kind, links=(link,))

    def answered(self, frame: Frame) -> tuple[Answer, list[Evidence]]:
        """The answer of the model-free reader to a frame that was given, and the pieces that its marks point at."""
        pieces = self.framed(frame)
        return answer(Query(Question("-", language=frame.language), frame=frame), Context("", tuple(pieces))), pieces

    def check(self, text: str, question: str = "") -> tuple[list[Verdict], list[Evidence]]:
        """A verdict on each sentence of a text, held against what ties the things that it names and the whole graph.

        The citations of a verdict are the numbers of the pieces, behind which stand medicines not for the patient.
        """
        from kgmed.facts.safety import barred

        asked, links = Query(Question(question or text, language=self.language)), self.toolkit.linked(text)
        pieces = TiedThings(self.toolkit.graph)(asked, links)
        verdicts = self.toolkit.check(asked, Context("", tuple(pieces)), Answer(text)).verdicts
        order = dict.fromkeys(n for v in verdicts for n in v.citations if 1 <= n <= len(pieces))
        new = {n: i for i, n in enumerate(order, start=1)}
        said = [replace(v, citations=tuple(new[n] for n in v.citations if n in new)) for v in verdicts]
        patient = self.patient
        if question and patient == EMPTY_FRAME.patient:
            patient = self.toolkit.understand(asked, *self.toolkit.understood(asked.question)).patient
        named = dict.fromkeys(link.entity for link in links if link.entity.kind in MEDICINES)
        against = barred(self.toolkit.graph, Frame(patient=patient, language=self.language), list(named))
        return said, [*(pieces[n - 1] for n in order), *against]


class FactLine(NamedTuple):
    """A fact as a model is told it."""

    number: int
    text: str
    source: str

    def __str__(self) -> str:
        """On one line."""
        return f"[{self.number}] {self.text}" + (f" ({self.source})" if self.source else "")


_FRAME = 48  # characters that a fact takes beside its own, in JSON


def fact_lines(evidence: Sequence[Evidence], *, first: int = 1, longest: int = LONGEST) -> list[FactLine]:
    """The first of some facts that have room together, as lines and as JSON; numbers begin at `first`."""
    said: list[FactLine] = []
    left = longest
    for number, e in enumerate(evidence, start=first):
        row = FactLine(number, clipped(one_line(e.text), _FACT), one_line("; ".join(e.sources[:2]))[:_NAMED])
        left -= len(row.text) + len(row.source) + _FRAME
        if left < 0:
            break
        said.append(row)
    return said


def lines(evidence: Sequence[Evidence], *, first: int = 1, language: str = "en") -> list[str]:
    """A line a fact: its number, the fact and its source; as many as have room together, and how many have none.

    >>> lines([Evidence("Gout is seen by a doctor.", "text")], first=3)
    ['[3] Gout is seen by a doctor.']
    """
    said = fact_lines(evidence, first=first, longest=LONGEST - _FRAME)
    more = len(evidence) - len(said)
    return [*map(str, said), *([catalogue(language)("list.more", count=more).strip()] if more else [])]
