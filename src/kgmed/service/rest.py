"""REST: routes that translate between HTTP and the use cases, and server-sent events."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from functools import cache, partial
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from pydantic import TypeAdapter
from starlette.types import Message, Receive, Scope, Send

from kgmed.diagnose.findings import Diagnosed
from kgmed.errors import Busy, KgmedError
from kgmed.graph.base import Match
from kgmed.graph.complete import Completion
from kgmed.graph.library import GraphSummary
from kgmed.graph.search.paths import FoundPaths
from kgmed.records import Role, Run
from kgmed.runs import Kept
from kgmed.service import uses
from kgmed.service.guard import MEDIA, Problem, plain, problem_of
from kgmed.service.kept import Uploaded
from kgmed.service.uses import MOST, Told, UseCases
from kgmed.service.work import Gone, Left, Work
from kgmed.show_run import translated_run
from kgmed.stop import Stop

REPORT = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox; frame-ancestors 'none'"
EVENTS = {
    uses.StageTold: "stage",
    uses.FoundTold: "found",
    uses.TokenTold: "token",
    uses.RestartTold: "restart",
    Run: "run",
}
_SAYS = {
    401: "No key, or one that is not known.",
    403: "A page of another origin asks.",
    404: "No such graph, method, entity or run.",
    409: "Several entities have the name; `candidates` are they.",
    413: "The body is too large.",
    421: "The host is not one of this service.",
    422: "The request does not fit, and the detail says how to mend it.",
    429: "Too many requests with this key; `Retry-After` says when.",
    502: "A model was reached, and its reply cannot be used.",
    503: "Too much is being worked on (`Retry-After` says when to ask again), or something needed is not there.",
    504: "There was no answer in time.",
}
PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {"model": Problem, "description": said, "content": {MEDIA: {}}} for status, said in _SAYS.items()
}


def cannot(path: str, method: str, *, asked: bool) -> set[str]:
    """The statuses of `PROBLEMS` that a route never has; `asked` = it takes parameters or a body."""
    never = {"413"} if method == "get" else set()
    never |= set() if asked else {"404", "409", "422"}
    never |= set() if "{graph}" in path or method == "post" else {"409"}
    return never | (set() if path in ("/v1/ask", "/v1/compare") else {"502"})


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    """What writes a type as JSON."""
    return TypeAdapter(kind)


def as_json(kind: Any, value: object) -> bytes:
    """The JSON text of a value of that type."""
    if isinstance(value, Run):
        return value.to_bytes()
    made: bytes = _adapter(kind).dump_json(value, warnings=False)
    return made


# --- Whether the one who asked has left.


def leaving(receive: Receive) -> Gone:
    """What returns when the client of a request, whose body has been read, has gone."""

    async def gone() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass

    return gone


@asynccontextmanager
async def ending() -> AsyncIterator[None]:
    """A block that the server cancels when it ends and has waited long enough; who asked is told so."""
    try:
        yield
    except asyncio.CancelledError:
        raise Busy("the service is ending; ask again in a moment", after=5.0) from None


# --- Server-sent events.


class EventStream(Response):
    """What happens, event by event; a problem before the first is answered by its status."""

    media_type = "text/event-stream"

    def __init__(
        self,
        events: Callable[[Gone], AsyncIterator[Any]],
        write: Callable[[Any], Iterator[bytes]],
        fail: Callable[[Problem], bytes],
    ) -> None:
        """`write` gives the bytes of an event, `fail` those of a problem after the first."""
        self.events, self.write, self.fail = events, write, fail
        self.background = None
        self.status_code = 200
        self.raw_headers = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the events."""
        begun = False
        try:
            async with ending():
                async for event in self.events(leaving(receive)):
                    if not begun:
                        await send(_begin())
                        begun = True
                    for piece in self.write(event) if event is not None else (b": alive\n\n",):
                        await send({"type": "http.response.body", "body": piece, "more_body": True})
        except Left:
            return
        except KgmedError as error:
            if not begun:
                raise
            await send({"type": "http.response.body", "body": self.fail(problem_of(error)), "more_body": True})
        await send({"type": "http.response.body", "body": b""})


def _begin() -> Message:
    """The head of a stream."""
    kind = (b"content-type", b"text/event-stream; charset=utf-8")
    rows = [kind, (b"cache-control", b"no-store"), (b"x-accel-buffering", b"no")]
    return {"type": "http.response.start", "status": 200, "headers": rows}


def event(name: str, data: bytes) -> bytes:
    """A server-sent event of one line of data."""
    return b"event: " + name.encode() + b"\ndata: " + data + b"\n\n"


def told(event_: Told) -> Iterator[bytes]:
    """An event of a question."""
    yield event(EVENTS[type(event_)], as_json(type(event_), event_))


def failed(problem: Problem) -> bytes:
    """The event of a problem."""
    return event("error", json.dumps(plain(problem), ensure_ascii=False).encode("utf-8", "replace"))


# --- The routes.


class AnswerResponse(Response):
    """JSON that is written already."""

    media_type = "application/json"


Limit = Annotated[int, Query(ge=1, le=MOST)]
Typed = Annotated[str, Query(min_length=1, max_length=200, pattern=r"\S")]
Lang = Annotated[
    str, Query(pattern="^([a-z]{2,3})?$", description="The language in which entities are called, by its ISO 639 code.")
]


class Doors:
    """What routes call: the use cases, in two pools, so that a slow model never blocks completion."""

    def __init__(self, cases: UseCases, asking: Work, looking: Work) -> None:
        """`asking` = questions and diagnoses, `looking` = what is looked up in a graph."""
        self.cases, self.asking, self.looking = cases, asking, looking

    async def look(self, request: Request, kind: Any, job: Callable[[], object], *, early: bool = False) -> Response:
        """What a look-up gives, as JSON; `early` = it needs no graph."""
        async with ending():
            done = await self.looking(lambda _: as_json(kind, job()), leaving(request.receive), early=early)
            return AnswerResponse(done)

    async def work(self, request: Request, kind: Any, job: Callable[[Stop], object]) -> Response:
        """What a longer job gives, as JSON."""
        long = await is_long(request)
        async with ending():
            done = await self.asking(lambda stop: as_json(kind, job(stop)), leaving(request.receive), long=long)
            return AnswerResponse(done)


LONG = 2_000  # ours: bytes of a question that may take long to answer


async def is_long(request: Request) -> bool:
    """Whether answering a request may take long: the work grows with what is asked."""
    return len(await request.body()) > LONG


def routes(doors: Doors) -> APIRouter:
    """The routes of REST."""
    api = APIRouter(prefix="/v1", responses=PROBLEMS)
    for add in (_told_of, _of_runs, _of_a_graph, _of_a_question):
        add(api, doors)
    return api


def _told_of(api: APIRouter, doors: Doors) -> None:
    """What there is to ask, and what was made."""
    cases, look = doors.cases, doors.look

    @api.get("/about", response_model=uses.ServiceAbout)
    async def about(request: Request) -> Response:
        """Version, graphs, model and limits of the service."""
        return await look(request, uses.ServiceAbout, cases.about, early=True)

    @api.get("/graphs", response_model=list[uses.ServedGraph])
    async def graphs(request: Request) -> Response:
        """The graphs that can be asked; "auto" is all of them as one."""
        return await look(request, list[uses.ServedGraph], cases.list_graphs)

    @api.get("/methods", response_model=list[uses.ServedMethod])
    async def methods(request: Request) -> Response:
        """The methods by which a question can be answered."""
        return await look(request, list[uses.ServedMethod], cases.list_methods, early=True)

    @api.get("/reports", response_model=list[uses.ReportFile])
    async def reports(request: Request) -> Response:
        """The reports of evaluations, the newest first."""
        return await look(request, list[uses.ReportFile], cases.list_reports, early=True)

    @api.get("/reports/{name}", response_class=Response, responses={200: {"content": {"text/html": {}}}})
    async def report(request: Request, name: str) -> Response:
        """A report as a page of its own: it runs no script and fetches nothing."""
        page = await doors.looking(lambda _: cases.report(name), leaving(request.receive))
        return Response(page, media_type="text/html; charset=utf-8", headers={"content-security-policy": REPORT})

    @api.get("/available", response_model=list[uses.AvailableGraph])
    async def available(request: Request) -> Response:
        """The graphs that can be had, with the command that gets each, and how far those are that are being fetched."""
        return await look(request, list[uses.AvailableGraph], cases.list_available, early=True)

    @api.post("/upload/{name}", response_model=Uploaded, openapi_extra={"requestBody": {
        "required": True, "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }})  # fmt: skip
    async def upload(request: Request, name: str, file: Annotated[str, Query(max_length=200)]) -> Response:
        """Hand in the file of a graph and see what it says; only where no other machine reaches the service."""
        data = await request.body()
        return await look(request, Uploaded, lambda: cases.upload(name, file, data), early=True)

    @api.post("/upload/{name}/build", response_model=Uploaded)
    async def build(request: Request, name: str, asked: uses.BuildRequest) -> Response:
        """See what a file says when its columns mean something else, and build it; `/available` tells how far."""
        return await look(request, Uploaded, lambda: cases.build_upload(name, asked), early=True)

    @api.post("/available/{name}", response_model=list[uses.AvailableGraph])
    async def fetch(request: Request, name: str) -> Response:
        """Fetch a graph and build it, where the service may: only where no other machine reaches it."""
        return await look(request, list[uses.AvailableGraph], lambda: cases.fetch(name), early=True)


def _of_runs(api: APIRouter, doors: Doors) -> None:
    """What was asked."""
    cases, look = doors.cases, doors.look

    @api.get("/runs", response_model=list[Kept])
    async def runs(request: Request, q: Annotated[str, Query(max_length=200)] = "", limit: Limit = 64) -> Response:
        """What was asked, the newest first, with all words of `q`; only where no other machine reaches the service."""
        return await look(request, list[Kept], lambda: cases.list_runs(q, limit), early=True)

    @api.delete("/runs/{id}", response_model=list[Kept])
    async def forget(request: Request, id: str) -> Response:
        """Delete a run, where what was asked is listed; the newest that are left."""
        return await look(request, list[Kept], lambda: cases.forget(id), early=True)

    @api.get("/runs/{id}", response_model=Run)
    async def run(request: Request, id: str, translated: Annotated[bool, Query()] = False) -> Response:  # noqa: FBT002
        """A run by its whole id; `translated` = named in the language of its question, as far as words are known."""
        shown = translated_run if translated else lambda run: run
        return await look(request, Run, lambda: shown(cases.run(id)), early=True)


def _of_a_graph(api: APIRouter, doors: Doors) -> None:
    """What a graph says."""
    cases, look, work = doors.cases, doors.look, doors.work

    @api.get("/graphs/{graph}/complete", response_model=list[Completion])
    async def complete(
        request: Request, graph: str, q: Typed, limit: Annotated[int, Query(ge=1, le=50)] = 8,
        kind: Annotated[list[str], Query(max_length=10)] = [], language: Lang = "",  # noqa: B006 - FastAPI copies it
    ) -> Response:  # fmt: skip
        """Entities with a name that begins as typed, or one of whose words does."""
        return await look(request, list[Completion],
            lambda: cases.complete(graph, q, limit=limit, kinds=kind, language=language))  # fmt: skip

    @api.get("/graphs/{graph}/entities", response_model=list[Match])
    async def find(request: Request, graph: str, q: Typed, limit: Annotated[int, Query(ge=1, le=50)] = 10,
                   language: Lang = "") -> Response:  # fmt: skip
        """The entities of a name, else those with the most similar names."""
        return await look(request, list[Match], lambda: cases.find(graph, q, limit=limit, language=language))

    @api.get("/graphs/{graph}/entities/{id:path}/neighbours", response_model=uses.Neighbourhood)
    async def neighbours(
        request: Request, graph: str, id: str, role: Annotated[list[Role], Query(max_length=30)] = [],  # noqa: B006
        limit: Limit = 64, after: Annotated[int, Query(ge=0, le=10_000_000)] = 0, language: Lang = "",
    ) -> Response:  # fmt: skip
        """The triples around an entity, by id or name, as answers list them."""
        return await look(request, uses.Neighbourhood,
            lambda: cases.neighbours(graph, id, roles=role, limit=limit, after=after, language=language))  # fmt: skip

    @api.get("/graphs/{graph}/entities/{id:path}", response_model=GraphSummary)
    async def entity(request: Request, graph: str, id: str, limit: Limit = 20, language: Lang = "") -> Response:
        """All that a graph says of an entity, by id or name."""
        return await look(request, GraphSummary, lambda: cases.entity(graph, id, limit=limit, language=language))

    @api.post("/graphs/{graph}/paths", response_model=FoundPaths)
    async def paths(request: Request, graph: str, asked: uses.PathsRequest, language: Lang = "") -> Response:
        """The shortest paths between two entities, or the chains between more."""
        return await work(request, FoundPaths, lambda stop: cases.paths(graph, asked, language=language, stop=stop))


def _of_a_question(api: APIRouter, doors: Doors) -> None:
    """Questions and patients."""
    cases, work = doors.cases, doors.work

    @api.post("/ask", response_model=Run, responses={200: {"content": {"text/event-stream": {}}}})
    async def ask(request: Request, asked: uses.AskRequest) -> Response:
        """The run of a question; with `stream`, what happens on the way as server-sent events, the run last."""
        if not asked.stream:
            return await work(request, Run, lambda stop: cases.ask(asked, stop))
        events = partial(doors.asking.stream, lambda stop: cases.stream(asked, stop), long=await is_long(request))
        return EventStream(events, told, failed)

    @api.post("/compare", response_model=list[uses.Compared])
    async def compare(request: Request, asked: uses.CompareRequest) -> Response:
        """What each of some methods makes of a question."""
        return await work(request, list[uses.Compared], lambda stop: cases.compare(asked, stop))

    @api.post("/reward", response_model=uses.RewardedAnswers)
    async def reward(request: Request, asked: uses.RewardRequest | uses.OpenRLHFRewards | uses.VerlRewards) -> Response:
        """The reward of answers, question i with answer i, for training elsewhere or a check of what a model said.

        OpenRLHF's and veRL's own forms are taken as they are.
        """
        return await work(request, uses.RewardedAnswers, lambda _: cases.reward(asked))

    @api.post("/diagnose", response_model=Diagnosed)
    async def diagnose(request: Request, asked: uses.DiagnoseRequest) -> Response:
        """The diseases that fit a patient, with what speaks for and against each."""
        return await work(request, Diagnosed, lambda stop: cases.diagnose(asked, stop))

    @api.post("/phenopacket", response_model=dict[str, Any])
    async def phenopacket(request: Request, asked: uses.DiagnoseRequest) -> Response:
        """The patient as a GA4GH phenopacket."""
        return await work(request, dict[str, Any], lambda _: cases.phenopacket(asked))
