"""The service: doors over the use cases, the page, health, the guard in front of all; from its options to its end."""

import asyncio
import gc
import json
import os
import selectors
import signal
import socket
import time
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    ExitStack,
    asynccontextmanager,
    nullcontext,
    suppress,
)
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar, cast

import numpy as np
import uvicorn
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.routing import Match
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from kgmed import __version__
from kgmed.config import AUTO, Config, config_type
from kgmed.disk import copies_processes
from kgmed.errors import BadInput, KgmedError, Unavailable
from kgmed.graph import library
from kgmed.service.guard import LIVE, LOOPBACK, MEDIA, Guard, Keys, Rate, Rules, body_of, problem, problem_of
from kgmed.service.kept import LARGEST_UPLOAD, Fetches, KeepsRuns, runs_at
from kgmed.service.metrics import Measured, Telemetry, to_stderr
from kgmed.service.openai import openai_routes
from kgmed.service.rest import Doors, cannot, routes
from kgmed.service.uses import UseCases, open_cases, open_judge
from kgmed.service.work import Left, Work
from kgmed.session import Session
from kgmed.stop import Stop
from kgmed.toolkit import views

Beside = Callable[[Session], AbstractContextManager[None]]

# The application: doors over the use cases, the page, health, and the guard in front of all.

_TYPES = {
    "html": "text/html; charset=utf-8", "js": "text/javascript; charset=utf-8", "mjs": "text/javascript; charset=utf-8",
    "css": "text/css; charset=utf-8", "svg": "image/svg+xml", "txt": "text/plain; charset=utf-8",
}  # fmt: skip


@dataclass(frozen=True)
class ServiceSettings:
    """How a service is run; times in seconds."""

    host: str = "127.0.0.1"
    port: int = 8765
    allow_hosts: tuple[str, ...] = ()  # names by which it is called, besides those of loopback
    allow_origins: tuple[str, ...] = ()  # pages of other origins that may ask, exactly
    workers: int = 2  # questions at once
    waiting: int = 64  # questions that wait
    seconds: float = 60.0  # that a question may take
    look_seconds: float = 10.0  # that a look-up may take
    patience: float = 10.0  # that a request waits for graphs that are being opened
    rate: float = 0.0  # requests a minute and key (address, where there are no keys); 0 = any number
    keys: str = ""  # the file of the keys
    reports: str = ""  # a folder of reports of evaluations
    runs: str = ""  # an address of PostgreSQL where runs are kept; "" = a file of the data folder
    reward: str = ""  # labelled cases by which answers are rewarded, a file or a set of the folder `data`
    data: str = ""
    scorer: str = "best"
    models: tuple[str, ...] = ()  # that can be chosen beside that of the configuration
    fetches: bool = False  # whether it fetches graphs when it is asked to
    demo: bool = False
    proxy: bool = False  # behind a reverse proxy on this machine, which passes on what others ask
    log_questions: bool = False

    def rules(self, keys: Keys) -> Rules:
        """Who may ask; raises `BadInput` for a service that anybody could reach without a key."""
        keyed = bool(keys.all()) and not self.demo
        reached = [host for host in (self.host, *(self.allow_hosts if self.proxy else ())) if host not in _HERE]
        if reached and not (keyed or self.demo):
            why = "can be reached from other machines, and there is no key"
            raise BadInput(f"{reached[0]} {why}; make one: kgmed serve keys add NAME, or serve anybody: --demo")
        named = () if self.host in ("0.0.0.0", "::") else (self.host.lower(),)  # noqa: S104 - compared, not bound
        return Rules((*LOOPBACK, *named, *map(str.lower, self.allow_hosts)), self.allow_origins, keyed, self.demo)


_HERE = ("127.0.0.1", "localhost", "::1")


def page_files(folder: Traversable | None = None) -> dict[str, tuple[bytes, str]]:
    """The files of the page by path, read once: nothing of a request ever names a file."""
    root = folder if folder is not None else files("kgmed.service") / "page"
    found: dict[str, tuple[bytes, str]] = {}

    def add(place: Traversable, path: str) -> None:
        for item in place.iterdir():
            name = f"{path}/{item.name}"
            if item.is_dir():
                add(item, name)
            elif (kind := _TYPES.get(item.name.rpartition(".")[2])) is not None:
                found[name] = item.read_bytes(), kind

    if root.is_dir():
        add(root, "")
    return found


def make_app(
    cases: UseCases,
    settings: ServiceSettings | None = None,
    *,
    page: Traversable | None = None,
    write: Callable[[str], object] = to_stderr,
    clock: Callable[[], float] = time.monotonic,
    beside: Beside | None = None,
) -> ASGIApp:
    """The application, guard and all; while it starts it prepares what it serves. Raises `BadInput`.

    `page` is the folder of the page's files, `write` takes the lines of the log, `clock` is that of the rates; `beside`
    serves the session in another way too, from when it is prepared to the end.
    """
    given = settings or ServiceSettings()
    keys = Keys.of(given.keys)
    rules = given.rules(keys)
    asking = Work("asking", workers=given.workers, waiting=given.waiting, seconds=given.seconds)
    looking = Work("looking", workers=2, waiting=4 * given.waiting, seconds=given.look_seconds)
    for work in (asking, looking):
        work.open.clear()
        work.patience = given.patience
    telemetry = Telemetry((asking, looking), write=write, questions=given.log_questions)
    cases.runs.on_problem = lambda why: telemetry.line("runs not kept", {"detail": why})
    alone = given.host in _HERE and not (given.demo or given.proxy or rules.keyed)  # nobody but who runs it
    fetches = (cases.fetches or Fetches()) if given.fetches and not given.demo and given.host in _HERE else None
    served = replace(
        cases, on_run=telemetry.run, demo=given.demo, keyed=rules.keyed, fetches=fetches, lists=cases.lists or alone
    )
    files_of_page = page_files(page)
    life = _life(served, {"asking": asking, "looking": looking}, telemetry, beside)
    app = FastAPI(
        title="kgmed", version=__version__, lifespan=life, docs_url=None, redoc_url=None,
        strict_content_type=False,  # a body without a type is JSON; pages of other origins are refused by the guard
        summary="Medical questions answered from a knowledge graph, with what each answer stands on.",
    )  # fmt: skip
    app.include_router(routes(Doors(served, asking, looking)))
    app.include_router(openai_routes(Doors(served, asking, looking)))
    _health(app, telemetry)
    _errors(app)
    _described(app)
    _mcp(app, served, asking)
    _static(app, files_of_page)
    rate = Rate(given.rate or (_DEMO_RATE if given.demo else 0.0), clock)
    for route in app.routes:  # makes what reads and writes each, which the first request would wait for
        route.matches({"type": "http", "method": "GET", "path": "/"})
    rules = replace(rules, upload=LARGEST_UPLOAD) if fetches else rules
    return Measured(Guard(app, rules, keys, rate, frozenset({"/", *files_of_page})), telemetry)


_DEMO_RATE = 60.0  # ours: requests a minute and address of a public service that sets none


def _life(
    cases: UseCases, works: Mapping[str, Work], telemetry: Telemetry, beside: Beside | None
) -> Callable[[FastAPI], AbstractAsyncContextManager[None]]:
    """What happens from start to end: what is served is opened beside the first requests; all work is let end."""

    stop = Stop()  # of what is opened

    async def prepare(app: FastAPI) -> None:
        begin, loop = time.perf_counter(), asyncio.get_running_loop()

        def ready(which: str) -> None:
            loop.call_soon_threadsafe(works[which].open.set)

        try:
            await asyncio.to_thread(cases.prepare, ready, stop)
        except KgmedError as error:
            app.state.ready = str(error)
            telemetry.line("not ready", {"detail": str(error)})
            return
        finally:
            for work in works.values():
                work.open.set()
        app.state.ready = ""
        if beside is not None:
            app.state.beside.enter_context(beside(cases.session))
        telemetry.line("ready", {"seconds": round(time.perf_counter() - begin, 2)})

    @asynccontextmanager
    async def life(app: FastAPI) -> AsyncIterator[None]:
        app.state.ready = "the graphs are being opened"
        app.state.beside = ExitStack()
        preparing = asyncio.ensure_future(prepare(app))
        try:
            async with app.state.mcp.run() if app.state.mcp is not None else nullcontext():
                yield
        finally:
            stop.set()
            await asyncio.gather(*(asyncio.to_thread(work.close) for work in works.values()), preparing)
            app.state.beside.close()
            cases.close()

    return life


def _health(app: FastAPI, telemetry: Telemetry) -> None:
    """Whether it lives, whether it is ready, and its figures."""

    async def live() -> Response:
        """It lives; the only door that needs no key."""
        return Response("alive", media_type="text/plain")

    for path in LIVE:
        app.get(path, include_in_schema=False)(live)

    @app.get("/readyz", include_in_schema=False)
    @app.get("/health/ready", include_in_schema=False)
    async def ready(request: Request) -> Response:
        """Whether everything is open."""
        why, unkept = request.app.state.ready, request.app.state.unkept()
        said = why or (f"ready, but runs are not kept: {unkept}" if unkept else "ready")
        return Response(said, 503 if why else 200, media_type="text/plain")

    @app.get("/metrics", include_in_schema=False)
    async def metrics() -> Response:
        """The figures for Prometheus."""
        return Response(telemetry.figures(), media_type="text/plain; version=0.0.4; charset=utf-8")


def _mcp(app: FastAPI, cases: UseCases, work: Work) -> None:
    """The Model Context Protocol at /mcp, where its package is installed; the guard has looked at the host already."""
    app.state.mcp, app.state.unkept = None, lambda: cases.runs.problem
    if find_spec("mcp") is None:
        return
    from mcp.server.transport_security import TransportSecuritySettings

    from kgmed.service.mcp import in_pool, mcp_server

    server = mcp_server(cases, in_pool(work))
    checked = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    mounted = server.streamable_http_app(stateless_http=True, json_response=True, transport_security=checked)
    app.router.routes.extend(mounted.routes)
    app.state.mcp = server.session_manager


def _static(app: FastAPI, page: Mapping[str, tuple[bytes, str]]) -> None:

    @app.get("/{path:path}", include_in_schema=False)
    async def static(path: str) -> Response:
        """A file of the page; /docs is a view of it."""
        if path == "docs":
            return Response(status_code=307, headers={"location": "/#/docs"})
        found = page.get(f"/{path or 'index.html'}")
        if found is None:
            raise HTTPException(404, "there is nothing here")
        return Response(found[0], media_type=found[1], headers={"cache-control": "no-cache"})


def _described(app: FastAPI) -> None:
    """The description of the interface: problems by their media type, records without the examples of their Python."""
    made = app.openapi

    def described() -> dict[str, Any]:
        if app.openapi_schema is None:
            schema = made()
            for path, method, door in ((p, m, d) for p, doors in schema["paths"].items() for m, d in doors.items()):
                door["summary"] = door["description"].split("\n")[0]
                for status in cannot(path, method, asked="parameters" in door or "requestBody" in door):
                    door["responses"].pop(status, None)
                for content in (told.get("content", {}) for told in door["responses"].values()):
                    if MEDIA in content:
                        content[MEDIA] = content.pop("application/json", content[MEDIA])
            for record in schema["components"]["schemas"].values():
                record["description"] = record.get("description", "").partition(">>>")[0].strip()
        return app.openapi_schema or {}

    app.openapi = described  # type: ignore[method-assign]


def _errors(app: FastAPI) -> None:
    """Every error as a problem."""

    def said(request: Request, told: Any) -> Response:
        body, headers = body_of(told, request.url.path)
        return Response(body, told.status, headers)

    @app.exception_handler(KgmedError)
    async def ours(request: Request, error: KgmedError) -> Response:
        return Response(status_code=499) if isinstance(error, Left) else said(request, problem_of(error))

    @app.exception_handler(RequestValidationError)
    async def wrong(request: Request, error: RequestValidationError) -> Response:
        first: Mapping[str, Any] = error.errors()[0]
        if first["type"] == "json_invalid":
            text, at = str(error.body), int(first["loc"][1])
            line, column = text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
            return said(request, problem(400, f"line {line}, column {column}: no JSON ({first['ctx']['error']})"))
        where = ".".join(str(part) for part in first["loc"] if part != "body")
        return said(request, problem(422, f"{where}: {first['msg']}" if where else str(first["msg"])))

    @app.exception_handler(HTTPException)
    async def http(request: Request, error: HTTPException) -> Response:
        if error.status_code == 405 and not any(
            route.matches(request.scope)[0] is not Match.NONE for route in app.router.routes[:-1]
        ):  # the last route is that of the page's files, which takes any path
            return said(request, problem(404, "there is nothing here"))
        return said(request, problem(error.status_code, str(error.detail)))


# A service from its options to its end: what is opened, the server, and several processes of it.

_GIVEN = "KGMED_SERVE"  # in the environment of each process: what it serves, as JSON
_GRACE = 10  # seconds for what is being answered when the service ends


def serve(
    config: Config,
    settings: ServiceSettings,
    *,
    processes: int,
    say: Callable[[str], object],
    beside: Beside | None = None,
) -> None:
    """Serve until it is ended; raises `BadInput` before it listens where that is not allowed.

    `beside` as `make_app` takes it; processes that are started, not copied, do without it.
    """
    settings.rules(Keys.of(settings.keys))
    check_free(settings)
    build_missing(config, say)
    given: dict[str, Any] = {
        "host": settings.host, "port": settings.port, "log_level": "warning", "access_log": False,
        "timeout_graceful_shutdown": _GRACE, "proxy_headers": settings.proxy, "server_header": False,
        "http": HeldConnection,
    }  # fmt: skip
    if processes == 1:
        app = _made(config, settings, beside)
        say(f"serving at {address(settings)} (Ctrl-C ends it)")
        uvicorn.run(app, **given)
        return
    if copies_processes() and not config.llm:  # a model may have threads, which a copy of a process does not have
        _serve_forked(config, settings, processes, given, say, beside)
        return
    say(f"serving at {address(settings)} (Ctrl-C ends it)")
    os.environ[_GIVEN] = json.dumps({"config": _plain(config), "settings": asdict(settings)})
    uvicorn.run("kgmed.service.app:from_environment", factory=True, workers=processes, **given)


class HeldConnection(H11Protocol):
    """A connection to a client that is ended where its request does not begin in time, or where there are too many.

    The server's own limit counts requests alone, so that connections that send nothing would use up all that a process
    may have open.
    """

    seconds: ClassVar[float] = 15.0  # ours: in which the head of a request is there
    most: ClassVar[int] = 0  # connections at once; 0 = what the process may have open, but for what it needs itself
    _late: asyncio.TimerHandle | None = None
    on_end: Callable[[], object] | None = None  # called when it has ended

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take it, or end it at once."""
        super().connection_made(transport)
        if len(self.connections) > (self.most or _most_connections()):
            transport.abort()
        else:
            self._wait()

    def data_received(self, data: bytes) -> None:
        """Go on; the time for the head of a request runs as long as none is whole."""
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._begun()
        elif self._late is None:
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """It has ended."""
        self._begun()
        super().connection_lost(exc)
        if self.on_end is not None:
            self.on_end()

    def _wait(self) -> None:
        self._late = self.loop.call_later(self.seconds, self.transport.abort)

    def _begun(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None


_OWN_FILES = 256  # ours: descriptors that a process keeps for graphs, models and logs
_FEW, _MANY = 64, 8_192  # connections at least, and at most


@cache
def _most_connections() -> int:
    """The connections that a process may hold; the limit of what it may have open is raised as far as it may be."""
    try:
        import resource
    except ImportError:  # not Unix
        return _FEW * 8
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MANY + _OWN_FILES if hard == resource.RLIM_INFINITY else min(hard, _MANY + _OWN_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            soft = wanted
    return _MANY if soft == resource.RLIM_INFINITY else max(_FEW, min(_MANY, soft - _OWN_FILES))


def _serve_forked(
    config: Config,
    settings: ServiceSettings,
    processes: int,
    given: dict[str, Any],
    say: Callable[[str], object],
    beside: Beside | None,
) -> None:
    """Serve by copies of this process, made once all is open: they share its memory but for what they write.

    This process takes the connections and hands each to the copy that has the fewest: where copies took them from one
    socket, the first to wake took all that came at once. A copy that ends is replaced, unless it ends at once. Ends
    when all have ended, after SIGTERM or SIGINT.
    """
    cases = _opened(config, settings)
    cases.prepare()
    _warm(cases)
    if runs := _runs(config, settings):
        runs.close()  # it can be opened, or this has raised; each copy opens its own
    made = uvicorn.Config(make_app(cases, settings, beside=beside), **given)
    gc.collect()
    gc.freeze()  # the collector would write to every object, and so copy it
    copies: dict[socket.socket, _Copy] = {}

    def copy() -> _Copy:
        here, there = socket.socketpair()
        if child := os.fork():
            there.close()
            here.settimeout(0)
            return _Copy(child, here)
        try:
            for mine in (here, place, *copies):
                mine.close()
            for number in _ENDING:
                signal.signal(number, signal.SIG_DFL)
            cases.runs.keep_in(_runs(config, settings))
            HandedServer(made, there).run()
        finally:
            os._exit(0)

    with made.bind_socket() as place:
        say(f"serving at {address(settings)} (Ctrl-C ends it)")
        place.listen(made.backlog)
        place.settimeout(0)
        _Supervisor(copy, place, copies, say).run(processes)


class HandedServer(uvicorn.Server):
    """A server in one of several processes, which is handed its connections over a socket and tells of their ends."""

    def __init__(self, config: uvicorn.Config, hands: socket.socket) -> None:
        """`hands` is one end of a pair; the other is that of the process that takes connections."""
        super().__init__(config)
        self._hands = hands

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin, and listen to nobody but the process that hands over connections."""
        await super().startup([])
        self._hands.settimeout(0)
        asyncio.get_running_loop().add_reader(self._hands, self._take)

    def _take(self) -> None:
        """Take the connection that is handed over; end where nobody hands over any more."""
        told, descriptors, _, _ = socket.recv_fds(self._hands, 1, 1)
        loop = asyncio.get_running_loop()
        if not told:
            loop.remove_reader(self._hands)
            self.should_exit = True
        for descriptor in descriptors:
            taken = loop.create_task(self._begin(socket.socket(fileno=descriptor)))
            self.server_state.tasks.add(taken)
            taken.add_done_callback(self.server_state.tasks.discard)

    async def _begin(self, connection: socket.socket) -> None:
        await asyncio.get_running_loop().connect_accepted_socket(self._protocol, connection)

    def _protocol(self) -> asyncio.Protocol:
        """What reads a connection and tells of its end."""
        state, lifespan = self.server_state, self.lifespan.state
        made = HeldConnection(config=self.config, server_state=state, app_state=lifespan)
        made.on_end = self._tell
        return made

    def _tell(self) -> None:
        with suppress(OSError):
            self._hands.send(b"-")


@dataclass
class _Copy:
    """A copy of the process that serves, and how many connections it has."""

    process: int
    hands: socket.socket
    connections: int = 0
    begun: float = field(default_factory=time.monotonic)

    def waited(self) -> int:
        """Its exit code, when it has ended."""
        self.hands.close()
        return os.waitstatus_to_exitcode(os.waitpid(self.process, 0)[1])


@dataclass
class _Supervisor:
    """Keeps so many processes alive that `copy` makes, and hands them connections, until it is told to end."""

    copy: Callable[[], _Copy]
    place: socket.socket
    copies: dict[socket.socket, _Copy]
    say: Callable[[str], object]
    ending: bool = False
    waits: selectors.BaseSelector = field(default_factory=selectors.DefaultSelector)

    def run(self, processes: int) -> None:
        """Until all have ended."""
        self.waits.register(self.place, selectors.EVENT_READ)
        for _ in range(processes):
            self._begin()
        for number in _ENDING:
            signal.signal(number, self._end)
        while self.copies:
            for key, _ in self.waits.select():
                if key.fileobj is self.place:
                    _hand_over(self.place, self.copies.values())
                else:
                    self._heard(self.copies[cast(socket.socket, key.fileobj)])

    def _begin(self) -> None:
        made = self.copy()
        self.copies[made.hands] = made
        self.waits.register(made.hands, selectors.EVENT_READ)

    def _end(self, *_: object) -> None:
        if not self.ending:
            self.ending = True
            self.waits.unregister(self.place)
            self.place.close()
        for one in self.copies.values():
            os.kill(one.process, signal.SIGTERM)

    def _heard(self, one: _Copy) -> None:
        """Count the connections of a copy that have ended, or replace it where it has ended itself."""
        if ended := _ended(one):
            one.connections -= ended
            return
        self.waits.unregister(one.hands)
        code = self.copies.pop(one.hands).waited()
        if self.ending:
            return
        if time.monotonic() - one.begun < _SOON:
            self.say(f"a process of the service ended at once, with code {code}")
            self._end()
        else:
            self._begin()


def _hand_over(place: socket.socket, copies: Collection[_Copy]) -> None:
    """Take a connection and hand it to the copy that has the fewest."""
    with suppress(OSError):  # who connected has left, or the copy has just ended
        connection, _ = place.accept()
        with connection:
            to = min(copies, key=lambda one: one.connections)
            socket.send_fds(to.hands, [b"+"], [connection.fileno()])
            to.connections += 1


def _ended(one: _Copy) -> int:
    """How many connections of a copy have ended, as it tells; 0 = it has ended itself."""
    try:
        return len(one.hands.recv(1 << 12))
    except OSError:
        return 0


_ENDING = (signal.SIGTERM, signal.SIGINT)


def _warm(cases: UseCases) -> None:
    """Ask of what the graph says most of, so that tables and patterns are read before the process is copied."""
    store = cases.store(AUTO)
    most = np.argsort(-store.adjacency.degrees(np.arange(len(store))), kind="stable")[:_ASKED].tolist()
    for view in views(store):
        names = [view.at(node).name for node in most]
        for text in (*names, *(", ".join(names[i : i + 3]) for i in range(0, len(names), 3))):
            cases.session.ask(text)


_ASKED = 60  # ours: names of a graph that are asked of before a process is copied, in a second
_SOON = 5.0  # seconds in which a process that ends would only end again


def check_free(settings: ServiceSettings) -> None:
    """Nothing, or `BadInput` where nobody can listen at that host and port."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    with socket.socket(family) as place:
        place.setsockopt(socket.SOL_SOCKET, getattr(socket, "SO_EXCLUSIVEADDRUSE", socket.SO_REUSEADDR), 1)  # Windows
        try:
            place.bind((settings.host, settings.port))
        except OSError as error:
            why = f"cannot listen at {address(settings)} ({error.strerror or error})"
            raise BadInput(f"{why}; choose another by --port or --host") from None


def build_missing(config: Config, say: Callable[[str], object]) -> None:
    """Build the packaged graphs that are to be served and are not there yet."""
    there = {manifest.name for manifest in library.graphs()}
    wanted = library.languages() if config.graph == AUTO else library.named(config.graph)
    for name in library.PACKAGED:
        if name in wanted and name not in there:
            say(f"building {name} (first use)")
            library.build_graph(name)


def address(settings: ServiceSettings) -> str:
    """Where the page is.

    >>> address(ServiceSettings(host="::1"))
    'http://[::1]:8765'
    """
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"http://{host}:{settings.port}"


def from_environment() -> ASGIApp:
    """The application of one of several processes."""
    if _GIVEN not in os.environ:
        raise Unavailable("this is a part of: kgmed serve --processes N")
    given = json.loads(os.environ[_GIVEN])
    lists = {name: tuple(given["settings"][name]) for name in ("allow_hosts", "allow_origins", "models")}
    return _made(config_type()(**given["config"]), ServiceSettings(**{**given["settings"], **lists}))


def _made(config: Config, settings: ServiceSettings, beside: Beside | None = None) -> ASGIApp:
    """The application on what the configuration names."""
    cases = _opened(config, settings)
    cases.runs.keep_in(_runs(config, settings))
    return make_app(cases, settings, beside=beside)


def _opened(config: Config, settings: ServiceSettings) -> UseCases:
    """What the configuration names; no run is kept on disk yet."""
    data = Path(settings.data) if settings.data else None
    judge = open_judge(settings.reward, data, settings.scorer) if settings.reward else None
    return open_cases(config, keep=False, reports=settings.reports, judge=judge, models=settings.models)


def _runs(config: Config, settings: ServiceSettings) -> KeepsRuns | None:
    """The store of the runs, open; None where none are kept."""
    return None if settings.demo or not config.log else runs_at(settings.runs)


def _plain(config: Config) -> dict[str, Any]:
    """The options that are set, as JSON has them."""
    default = type(config)().given
    changed = {name: value for name, value in config.given.items() if value != default[name]}
    return {name: str(value) if isinstance(value, Path) else value for name, value in changed.items()}
