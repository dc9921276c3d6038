"""The Model Context Protocol: tools and resources over the same use cases, for `kgmed mcp` (stdio) and /mcp (HTTP).

The SDK hides every error that is no `ToolError`; ours are translated, so that "did you mean" reaches the model that
called the tool.
"""

import io
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any, TypeVar, cast

import anyio
from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError, ToolError
from mcp_types import CallToolResult, TextContent, ToolAnnotations
from pydantic import BaseModel, Field, RootModel, ValidationError

from kgmed import __version__
from kgmed.config import AUTO
from kgmed.errors import Ambiguous, BadInput, KgmedError, UnknownName
from kgmed.graph.base import Match
from kgmed.graph.library import GraphSummary
from kgmed.graph.search.paths import FoundPaths
from kgmed.records import Role, Run, to_json
from kgmed.reward.phenotype import Diagnosed
from kgmed.service import uses
from kgmed.service.guard import LARGEST
from kgmed.service.uses import UseCases
from kgmed.service.work import Work
from kgmed.show_run import to_markdown
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
Named = Annotated[str, Field(description="An entity by id (HP:0001166) or name.", min_length=1, max_length=200)]


def mcp_server(cases: UseCases, run: Runner) -> MCPServer[Any]:
    """The server; `run` awaits what a use case gives."""
    server: MCPServer[Any] = MCPServer("kgmed", version=__version__, instructions=_ABOUT, log_level="WARNING")
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


class FoundEntities(BaseModel):
    """The entities of a name, best first."""

    matches: list[Match]


def _result(data: Any, text: str = "") -> CallToolResult:
    """What a tool gives: its data, and for the model the same as text, or a shorter text that says it."""
    return CallToolResult(
        content=[TextContent(text=text or json.dumps(data, ensure_ascii=False))], structured_content=data
    )


def _tools(server: MCPServer[Any], cases: UseCases, run: Runner) -> None:
    """The tools, all of them read only."""
    tool = server.tool(annotations=_READ_ONLY)
    _looks(tool, cases, run)
    if cases.judge is not None:
        _rewards(tool, cases, run)

    @tool
    async def ask(
        question: Annotated[str, Field(description="A medical question, in English or Chinese.")],
        graph: Graph = AUTO,
        method: Annotated[str, Field(description="auto, or a method by name.")] = AUTO,
        options: Annotated[dict[str, str] | None, Field(description="Letter to text, of a choice.")] = None,
    ) -> Annotated[CallToolResult, RootModel[Run]]:
        """Answer a question from the graphs: the answer, its cited evidence, and how it was found."""
        with _translated():
            asked = uses.AskRequest(question=question, graph=graph, method=method, options=options or {})
            found: Run = await run(lambda stop: cases.ask(asked, stop))
            return _result(found.to_json(), to_markdown(found))

    @tool
    async def diagnose(
        findings: Annotated[list[str] | None, Field(description="HPO ids; -HP:0001250 = absent.")] = None,
        text: Annotated[str, Field(description="A description of the patient.")] = "",
        sex: Annotated[str, Field(description="female or male.")] = "",
        age: Annotated[str, Field(description="4, 18m, P4Y6M.")] = "",
        keep: Annotated[int, Field(ge=1, le=100)] = 10,
    ) -> Annotated[CallToolResult, RootModel[Diagnosed]]:
        """The diseases of HPO that fit a patient, with what speaks for and against each."""
        with _translated():
            given = {"findings": findings or [], "text": text, "sex": sex, "age": age, "keep": keep}
            asked = uses.DiagnoseRequest.model_validate(given)
            return _result(to_json(await run(lambda stop: cases.diagnose(asked, stop))))


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
    """The tools that look things up in a graph."""

    @tool
    async def find_entity(
        name: Named, graph: Graph = AUTO, limit: Annotated[int, Field(ge=1, le=50)] = 10
    ) -> Annotated[CallToolResult, FoundEntities]:
        """The entities of a name, else those with the most similar names."""
        with _translated():
            return _result({"matches": to_json(await run(lambda _: cases.find(graph, name, limit=limit)))})

    @tool
    async def neighbours(
        entity: Named,
        graph: Graph = AUTO,
        roles: Annotated[list[Role] | None, Field(description="Only these roles.")] = None,
        limit: Annotated[int, Field(ge=1, le=uses.MOST)] = 32,
        after: Annotated[int, Field(ge=0)] = 0,
    ) -> Annotated[CallToolResult, RootModel[uses.Neighbourhood]]:
        """The facts around an entity, heaviest first, with their sources; `next` is the `after` of the next."""
        with _translated():

            def job(_: Stop) -> uses.Neighbourhood:
                return cases.neighbours(graph, entity, roles=roles or (), limit=limit, after=after)

            return _result(to_json(await run(job)))

    @tool
    async def paths(
        entities: Annotated[list[str], Field(description="Two or more, by id or name.", min_length=2, max_length=6)],
        graph: Graph = AUTO,
        hops: Annotated[int, Field(ge=0, le=5, description="Longest path; 0 = usual.")] = 0,
        limit: Annotated[int, Field(ge=1, le=50)] = 10,
    ) -> Annotated[CallToolResult, RootModel[FoundPaths]]:
        """The shortest paths between two entities, or the chains between more."""
        with _translated():
            asked = uses.PathsRequest(entities=entities, hops=hops, limit=limit)
            return _result(to_json(await run(lambda stop: cases.paths(graph, asked, stop=stop))))


def _resources(server: MCPServer[Any], cases: UseCases, run: Runner) -> None:
    """The graphs, their entities, and runs, as JSON."""

    async def read(job: Callable[[], object]) -> str:
        try:
            return _text(await run(lambda _: job()))
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


def _text(value: object) -> str:
    """A record as JSON."""
    return json.dumps(to_json(value), ensure_ascii=False)


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
