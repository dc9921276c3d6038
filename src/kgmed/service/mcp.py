"""The Model Context Protocol: tools and resources over the same use cases, for `kgmed mcp` (stdio) and /mcp (HTTP).

The SDK hides every error that is no `ToolError`; ours are translated, so that "did you mean" reaches the model that
called the tool.
"""

import io
import json
import logging
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any, Literal, TypeVar, cast

import anyio
from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError, ToolError
from mcp_types import CallToolResult, TextContent, ToolAnnotations
from pydantic import BaseModel, ConfigDict, Field, RootModel, ValidationError

from kgmed import __version__
from kgmed.config import AUTO
from kgmed.diagnose.engine import RankedDisease
from kgmed.diagnose.findings import Diagnosed
from kgmed.diagnose.patient import years
from kgmed.errors import Ambiguous, BadInput, KgmedError, UnknownName
from kgmed.facts.tools import INTENTS, LONGEST, Toolbox, fact_lines
from kgmed.frame import Patient
from kgmed.graph.library import GraphSummary
from kgmed.language.text import language_of
from kgmed.records import Answer, Evidence, Question, Run, to_json
from kgmed.sentences import catalogue
from kgmed.service import uses
from kgmed.service.guard import LARGEST
from kgmed.service.uses import UseCases
from kgmed.service.work import Work
from kgmed.steps.facts import clipped
from kgmed.stop import Stop

T = TypeVar("T")
Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]
Runner = Callable[[Callable[[Stop], Any]], Any]  # awaits a job in a pool
_READ_ONLY = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
_ABOUT = (
    "Answers medical questions from knowledge graphs that are installed beside this server, and shows the facts that "
    "each answer stands on. The marks [n] of an answer point at its evidence. Not medical advice."
)
Graph = Annotated[str, Field(description="A graph by name; auto = all of them as one.")]
Language = Annotated[str, Field(description="en, zh or ja: of names and sentences; empty = that of the words.")]
Named = Annotated[str, Field(description="An entity by id (HP:0001166) or name.", min_length=1, max_length=200)]


def mcp_server(cases: UseCases, run: Runner) -> MCPServer[Any]:
    """The server; `run` awaits what a use case gives."""
    root = logging.getLogger()
    before = root.handlers[:]
    server: MCPServer[Any] = MCPServer("kgmed", version=__version__, instructions=_ABOUT, log_level="WARNING")
    root.handlers[:] = before  # it puts one there that opens files of its own while it reports that none can be opened
    _tools(server, cases, run)
    _resources(server, cases, run)
    return server


def in_pool(work: Work) -> Runner:
    """What awaits a job in a bounded pool."""
    return lambda job: work(job)


async def in_thread(job: Callable[[Stop], T]) -> T:
    """What a job gives, in a thread; leaving stops it."""
    stop = Stop()
    try:
        return await anyio.to_thread.run_sync(job, stop, abandon_on_cancel=True)
    finally:
        stop.set()


@contextmanager
def _translated() -> Iterator[None]:
    """A block whose errors of ours are told to the model, candidates of an ambiguous name with them."""
    try:
        yield
    except Ambiguous as error:
        raise ToolError(f"{error} {json.dumps(to_json(error.candidates), ensure_ascii=False)}") from None
    except KgmedError as error:
        raise ToolError(str(error)) from None
    except ValidationError as error:
        first = error.errors()[0]
        raise ToolError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from None


class ToolFact(BaseModel):
    """A fact: its number, which the text and the answer point at, and where it comes from."""

    number: int
    text: str
    source: str


class ToolReply(BaseModel):
    """What a tool gives: facts, a line each in its text, and how many had no room."""

    facts: list[ToolFact]
    more: int = 0
    answer: str = ""
    id: str = ""  # of the run, which is the resource kgmed://runs/{id}


class SentenceVerdict(BaseModel):
    """What a check says of a sentence: supported, contradicted or unsupported, and the numbers of the facts."""

    sentence: str
    label: str
    facts: list[int]


class ToolCheck(BaseModel):
    """The verdict on each sentence, and the facts that they point at."""

    verdicts: list[SentenceVerdict]
    facts: list[ToolFact]


class GivenPatient(BaseModel):
    """Who is asked about: what must not be given to this patient leaves the lists, and is named with its reason."""

    model_config = ConfigDict(extra="forbid")
    age: uses.Age = Field(default="", description="4, 18m, P4Y6M.")
    sex: Literal["", "female", "male"] = ""
    groups: list[Literal["pregnancy", "breastfeeding", "children", "older people"]] = Field(default_factory=list)
    takes: list[uses.Name] = Field(default_factory=list, max_length=40, description="Medicines that are taken.")
    allergies: list[uses.Name] = Field(default_factory=list, max_length=40)
    illnesses: list[uses.Name] = Field(default_factory=list, max_length=40)

    def given(self, box: Toolbox) -> Toolbox:
        """Tools for this patient."""
        told = Patient(years(self.age) if self.age else None, self.sex, tuple(self.groups))
        return box.of(told, takes=self.takes, has=self.illnesses, allergic_to=self.allergies)


def _of(box: Toolbox, patient: GivenPatient | None) -> Toolbox:
    return patient.given(box) if patient else box


Who = Annotated[GivenPatient | None, Field(description="Who is asked about.")]


class GivenFrame(BaseModel):
    """A question that was understood already: what is asked, of which things, beside which others."""

    model_config = ConfigDict(extra="forbid")
    intent: str = Field(description=f"One of {', '.join(INTENTS)}.")
    subject: list[uses.Name] = Field(default_factory=list, max_length=4)
    object: list[uses.Name] = Field(default_factory=list, max_length=4)
    findings: list[uses.Name] = Field(default_factory=list, max_length=40)
    negative: bool = Field(default=False, description="Whether what to avoid is asked for.")
    patient: Who = None

    def answered(self, box: Toolbox) -> tuple[Answer, list[Evidence]]:
        """The answer of some tools to it."""
        box = _of(box, self.patient)
        return box.answered(box.frame(self.intent, self.subject, self.object, self.findings, negative=self.negative))


def _told(evidence: Sequence[Evidence], language: str, *, said: str = "", id: str = "") -> CallToolResult:
    """The reply of a tool: an answer where there is one, then a line a fact."""
    answer = said[: LONGEST // 2]
    rows = fact_lines(evidence, longest=LONGEST - len(answer) - 2 * len(id) - _AROUND)
    facts = [ToolFact(**row._asdict()) for row in rows]
    reply = ToolReply(facts=facts, more=len(evidence) - len(rows), answer=answer, id=id)
    text = "\n".join([*filter(None, [answer]), *map(str, rows)])
    more = catalogue(language)("list.more", count=reply.more).strip() if reply.more else ""
    return _result(reply.model_dump(), "\n".join(filter(None, [text, more])) or catalogue(language)("note.nothing"))


_AROUND = 120  # characters of a reply that are no fact


def _result(data: Any, text: str = "") -> CallToolResult:
    """What a tool gives: its data, and for the model the same as text, or a shorter text that says it."""
    return CallToolResult(
        content=[TextContent(text=text or json.dumps(data, ensure_ascii=False))], structured_content=data
    )


def _spoken(language: str, *words: str) -> str:
    """The language of a reply: the one that is asked for, else that of the words."""
    return language or language_of(Question(" ".join(words) or "-"))


def _tools(server: MCPServer[Any], cases: UseCases, run: Runner) -> None:
    """The tools, all of them read only."""
    tool = server.tool(annotations=_READ_ONLY)
    _looks(tool, cases, run)
    if cases.judge is not None:
        _rewards(tool, cases, run)

    @tool
    async def ask(
        question: Annotated[str, Field(description="One short question on one thing or two.")] = "",
        frame: Annotated[GivenFrame | None, Field(description="In place of a question.")] = None,
        graph: Graph = AUTO,
        method: Annotated[str, Field(description="auto, or a method by name.")] = AUTO,
        options: Annotated[dict[str, str] | None, Field(description="Letter to text, of a choice.")] = None,
        language: Language = "",
    ) -> Annotated[CallToolResult, ToolReply]:
        """Answer a short question, or a frame, from the graphs: the answer, and the facts that its marks point at."""
        with _translated():
            if frame is not None:
                box = cases.tools(graph, _spoken(language, *frame.subject, *frame.findings))
                said, pieces = await run(lambda _: frame.answered(box))
                return _told(pieces, box.language, said=said.text)
            given = {"question": question, "graph": graph, "method": method, "options": options or {}}
            asked = uses.AskRequest.model_validate({**given, "language": language})
            found: Run = await run(lambda stop: cases.ask(asked, stop))
            said, spoken = found.answer.text.replace("<", "&lt;"), _spoken(language, question)  # no beginning of HTML
            return _told(found.context.cited, spoken, said=f"{said}\n{found.answer.limits}".strip(), id=found.id)

    @tool
    async def diagnose(
        findings: Annotated[
            list[str] | None, Field(description="Findings by HPO id or name; -HP:0001250 = absent.")
        ] = None,
        text: Annotated[str, Field(description="A description of the patient.")] = "",
        sex: Annotated[str, Field(description="female or male.")] = "",
        age: Annotated[str, Field(description="4, 18m, P4Y6M.")] = "",
        keep: Annotated[int, Field(ge=1, le=100)] = 5,
        language: Language = "",
    ) -> Annotated[CallToolResult, ToolReply]:
        """The diseases of HPO that fit a patient, with what speaks for and against each."""
        with _translated():
            ids = [name for name in findings or [] if "HP:" in name]
            told = ", ".join([*(name for name in findings or [] if name not in ids), *filter(None, [text])])
            given = {"findings": ids, "text": told, "sex": sex, "age": age, "keep": keep, "language": language}
            asked = uses.DiagnoseRequest.model_validate(given)
            found: Diagnosed = await run(lambda stop: cases.diagnose(asked, stop))
            return _told([_fitting(d) for p in found.patients for d in p.ranked], _spoken(language, told))

    @tool
    async def check(
        text: Annotated[str, Field(description="An answer of your own.", min_length=1, max_length=uses.LONGEST)],
        question: Annotated[str, Field(max_length=uses.LONGEST)] = "",
        graph: Graph = AUTO,
        language: Language = "",
        patient: Who = None,
    ) -> Annotated[CallToolResult, ToolCheck]:
        """Hold each sentence of a text against the graphs: supported, contradicted or not there; and the patient."""
        with _translated():
            box = cases.tools(graph, _spoken(language, text))
            verdicts, pieces = await run(lambda _: _of(box, patient).check(text, question))
            facts = [ToolFact(**row._asdict()) for row in fact_lines(pieces, longest=LONGEST // 2)]
            shown = [
                SentenceVerdict(sentence=clipped(v.sentence, _SENTENCE), label=v.label, facts=list(v.citations))
                for v in verdicts[:_SENTENCES]
            ]
            said = [f"{v.label}: {v.sentence} {''.join(f'[{n}]' for n in v.facts)}".strip() for v in shown]
            rows = [f"[{f.number}] {f.text} ({f.source})" for f in facts]
            return _result(ToolCheck(verdicts=shown, facts=facts).model_dump(), "\n".join([*said, *rows]))


_SENTENCES, _SENTENCE = 16, 80  # of a check: sentences that are told, and characters of each


def _fitting(given: RankedDisease) -> Evidence:
    """A disease that fits and why, as a piece of evidence."""
    reasons = "; ".join(
        f"{r.kind}: {r.finding.name}" + (f" ({', '.join(r.frequencies[:1])})" if r.frequencies else "")
        for r in given.reasons
        if r.finding
    )
    triples = tuple(t for r in given.reasons for t in r.triples)
    return Evidence(f"{given.disease.name} ({given.disease.id}): {reasons}", "candidate", triples, (given.disease,))


def _rewards(tool: Decorator, cases: UseCases, run: Runner) -> None:
    """The tool that judges answers, where the service has a scorer."""

    @tool
    async def reward(
        questions: Annotated[list[str], Field(description="Descriptions of patients.", min_length=1)],
        answers: Annotated[list[str], Field(description="An answer to each, that names a disease.")],
    ) -> Annotated[CallToolResult, RootModel[uses.RewardedAnswers]]:
        """The reward of diagnoses by a graph that is counted from labelled cases; null where it cannot judge."""
        with _translated():
            asked = uses.RewardRequest(questions=questions, answers=answers)
            return _result(to_json(await run(lambda _: cases.reward(asked))))


def _looks(tool: Decorator, cases: UseCases, run: Runner) -> None:
    """The tools that look things up in a graph: those of the agent's own loop."""

    async def looked(which: str, graph: str, language: str, patient: Who = None, /, **given: str) -> CallToolResult:
        with _translated():
            said = {name: value for name, value in given.items() if value}
            box = cases.tools(graph, _spoken(language, *said.values()))
            return _told(await run(lambda _: _of(box, patient)(which, said)), box.language)

    @tool
    async def find(name: Named, graph: Graph = AUTO, language: Language = "") -> Annotated[CallToolResult, ToolReply]:
        """The entities of a name, else those with the most similar names: id, name, kind."""
        return await looked("find", graph, language, name=name)

    @tool
    async def facts(
        entity: Named,
        relation: Annotated[str, Field(description=f"One of {', '.join(INTENTS)}.")] = "overview",
        other: Annotated[str, Field(description="Another entity, to ask what ties the two.", max_length=200)] = "",
        graph: Graph = AUTO,
        language: Language = "",
        patient: Who = None,
    ) -> Annotated[CallToolResult, ToolReply]:
        """What the graphs have of an entity in a relation, its products, ingredients and classes included.

        With `other`, what ties the two: whether one treats, causes, interacts with or must not be taken in the other.
        """
        return await looked("facts", graph, language, patient, entity=entity, relation=relation, other=other)

    @tool
    async def text(entity: Named, graph: Graph = AUTO, language: Language = "") -> Annotated[CallToolResult, ToolReply]:
        """The definition of an entity and the texts about it, such as doses and cautions."""
        return await looked("text", graph, language, entity=entity)

    @tool
    async def paths(
        entity: Named, other: Named, graph: Graph = AUTO, language: Language = ""
    ) -> Annotated[CallToolResult, ToolReply]:
        """The shortest paths between two entities."""
        return await looked("paths", graph, language, entity=entity, other=other)


def _resources(server: MCPServer[Any], cases: UseCases, run: Runner) -> None:
    """The graphs, their entities, and runs, as JSON."""

    async def read(job: Callable[[], object]) -> str:
        try:
            return json.dumps(to_json(await run(lambda _: job())), ensure_ascii=False)
        except UnknownName as error:
            raise ResourceNotFoundError(str(error)) from None
        except KgmedError as error:
            raise ResourceError(str(error)) from None

    @server.resource("kgmed://graphs", mime_type="application/json")
    async def graphs() -> str:
        """The graphs that can be asked."""
        return await read(cases.list_graphs)

    @server.resource("kgmed://graphs/{graph}/entities/{id}", mime_type="application/json")
    async def entity(graph: str, id: str) -> str:
        """All that a graph says of an entity."""

        def job() -> GraphSummary:
            return cases.entity(graph, id)

        return await read(job)

    @server.resource("kgmed://runs/{id}", mime_type="application/json")
    async def kept(id: str) -> str:
        """A run by its whole id."""
        return await read(lambda: cases.run(id))


class ShortLines(io.RawIOBase):
    """Bytes without what a line has beyond so many: it is no message then, and no one waits for memory."""

    def __init__(self, source: io.BufferedIOBase, most: int) -> None:
        """Of `source`, whose lines give at most `most` bytes."""
        self._source, self._most, self._line = source, most, 0

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, into: Any) -> int:
        """As `io.RawIOBase` has it; what is cut is not given, so that 0 stays the end."""
        while data := self._source.read1(len(into)):
            kept = b"".join(map(self._cut, data.splitlines(keepends=True)))
            if kept:
                into[: len(kept)] = kept
                return len(kept)
        return 0

    def _cut(self, part: bytes) -> bytes:
        """As much of a part of a line as the line may have, and its end."""
        ends = part.endswith(b"\n")
        left = max(0, self._most - self._line)
        self._line = 0 if ends else self._line + len(part)
        return part if len(part) <= left else part[:left] + b"\n" * ends


def run_stdio(cases: UseCases) -> None:
    """Serve over standard input and output until that is closed; raises `BadInput` where they are from the start."""
    if sys.stdin is None or sys.stdout is None:
        raise BadInput("the Model Context Protocol needs standard input and output, and one is closed; open both")
    buffer = cast("io.BufferedIOBase", sys.stdin.buffer)
    sys.stdin = io.TextIOWrapper(io.BufferedReader(ShortLines(buffer, LARGEST)), encoding="utf-8")
    try:
        mcp_server(cases, in_thread).run("stdio")
    except* BrokenPipeError:  # who asked is gone
        pass
