"""The service: doors over the use cases, the page, health, the guard in front of all; from its options to its end."""

import asyncio
import json
import os
import socket
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import asdict, dataclass, replace
from importlib.resources import files
from importlib.resources.abc import Traversable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp

from kgmed import __version__
from kgmed.config import AUTO, Config, config_type
from kgmed.errors import BadInput, KgmedError, Unavailable
from kgmed.graph import library
from kgmed.service.guard import LOOPBACK, Guard, Keys, Rate, Rules
from kgmed.service.kept import Fetches
from kgmed.service.metrics import Measured, Telemetry, to_stderr
from kgmed.service.openai import openai_routes
from kgmed.service.problems import MEDIA, body_of, problem, problem_of
from kgmed.service.rest import Doors, routes
from kgmed.service.uses import UseCases, open_cases, open_judge
from kgmed.service.work import Left, Work
from kgmed.stop import Stop

# The application: doors over the use cases, the page, health, and the guard in front of all.

_TYPES = {
    "html": "text/html; charset=utf-8", "js": "text/javascript; charset=utf-8", "mjs": "text/javascript; charset=utf-8",
    "css": "text/css; charset=utf-8", "svg": "image/svg+xml", "png": "image/png", "ico": "image/x-icon",
    "json": "application/json", "woff2": "font/woff2", "webmanifest": "application/manifest+json",
    "txt": "text/plain; charset=utf-8", "md": "text/plain; charset=utf-8",
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
    fetches: bool = False  # whether it fetches graphs when it is asked to
    demo: bool = False
    log_questions: bool = False

    def rules(self, keys: Keys) -> Rules:
        """Who may ask; raises `BadInput` for a service that anybody could reach without a key."""
        keyed = bool(keys.all()) and not self.demo
        if not (keyed or self.demo or self.host in _HERE):
            why = "can be reached from other machines, and there is no key"
            raise BadInput(f"{self.host} {why}; make one: kgmed serve keys add NAME")
        named = () if self.host in ("0.0.0.0", "::") else (self.host.lower(),)  # noqa: S104 - compared, not bound
        return Rules((*LOOPBACK, *named, *map(str.lower, self.allow_hosts)), self.allow_origins, keyed)


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
) -> ASGIApp:
    """The application, guard and all; while it starts it prepares what it serves. Raises `BadInput`.

    `page` is the folder of the page's files, `write` takes the lines of the log, `clock` is that of the rates.
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
    fetches = (cases.fetches or Fetches()) if given.fetches and not given.demo and given.host in _HERE else None
    served = replace(cases, on_run=telemetry.run, demo=given.demo, keyed=rules.keyed, fetches=fetches)
    files_of_page = page_files(page)
    life = _life(served, {"asking": asking, "looking": looking}, telemetry)
    app = FastAPI(
        title="kgmed", version=__version__, lifespan=life, docs_url=None, redoc_url=None,
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
    return Measured(Guard(app, rules, keys, rate, frozenset({"/", *files_of_page})), telemetry)


_DEMO_RATE = 60.0  # ours: requests a minute and address of a public service that sets none


def _life(
    cases: UseCases, works: Mapping[str, Work], telemetry: Telemetry
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
        telemetry.line("ready", {"seconds": round(time.perf_counter() - begin, 2)})

    @asynccontextmanager
    async def life(app: FastAPI) -> AsyncIterator[None]:
        app.state.ready = "the graphs are being opened"
        preparing = asyncio.ensure_future(prepare(app))
        try:
            async with app.state.mcp.run() if app.state.mcp is not None else nullcontext():
                yield
        finally:
            stop.set()
            await asyncio.gather(*(asyncio.to_thread(work.close) for work in works.values()), preparing)
            cases.close()

    return life


def _health(app: FastAPI, telemetry: Telemetry) -> None:
    """Whether it lives, whether it is ready, and its figures."""

    @app.get("/health/live", include_in_schema=False)
    async def live() -> Response:
        """It lives; the only door that needs no key."""
        return Response("alive", media_type="text/plain")

    @app.get("/health/ready", include_in_schema=False)
    async def ready(request: Request) -> Response:
        """Whether everything is open."""
        why = request.app.state.ready
        return Response(why or "ready", 503 if why else 200, media_type="text/plain")

    @app.get("/metrics", include_in_schema=False)
    async def metrics() -> Response:
        """The figures for Prometheus."""
        return Response(telemetry.figures(), media_type="text/plain; version=0.0.4; charset=utf-8")


def _mcp(app: FastAPI, cases: UseCases, work: Work) -> None:
    """The Model Context Protocol at /mcp, where its package is installed; the guard has looked at the host already."""
    app.state.mcp = None
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
    """The files of the page."""

    @app.get("/{path:path}", include_in_schema=False)
    async def static(path: str) -> Response:
        """A file of the page."""
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
            for door in (door for doors in schema["paths"].values() for door in doors.values()):
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
        if isinstance(error, Left):
            return Response(status_code=499)
        return said(request, problem_of(error))

    @app.exception_handler(RequestValidationError)
    async def wrong(request: Request, error: RequestValidationError) -> Response:
        first: Mapping[str, Any] = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"] if part != "body")
        return said(request, problem(422, f"{where}: {first['msg']}" if where else str(first["msg"])))

    @app.exception_handler(HTTPException)
    async def http(request: Request, error: HTTPException) -> Response:
        return said(request, problem(error.status_code, str(error.detail)))


# A service from its options to its end: what is opened, the server, and several processes of it.

_GIVEN = "KGMED_SERVE"  # in the environment of each process: what it serves, as JSON
_GRACE = 10  # seconds for what is being answered when the service ends


def serve(
    config: Config, settings: ServiceSettings, *, processes: int, proxy: bool, say: Callable[[str], object]
) -> None:
    """Serve until it is ended; raises `BadInput` before it listens where that is not allowed."""
    settings.rules(Keys.of(settings.keys))
    check_free(settings)
    build_missing(config, say)
    given: dict[str, Any] = {
        "host": settings.host, "port": settings.port, "log_level": "warning", "access_log": False,
        "timeout_graceful_shutdown": _GRACE, "proxy_headers": proxy, "server_header": False,
    }  # fmt: skip
    app = _made(config, settings) if processes == 1 else None
    say(f"kgmed at {address(settings)} (Ctrl-C ends it)")
    if app is not None:
        uvicorn.run(app, **given)
        return
    os.environ[_GIVEN] = json.dumps({"config": _plain(config), "settings": asdict(settings)})
    uvicorn.run("kgmed.service.app:from_environment", factory=True, workers=processes, **given)


def check_free(settings: ServiceSettings) -> None:
    """Nothing, or `BadInput` where nobody can listen at that host and port."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    with socket.socket(family) as place:
        place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
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
    lists = {name: tuple(given["settings"][name]) for name in ("allow_hosts", "allow_origins")}
    return _made(config_type()(**given["config"]), ServiceSettings(**{**given["settings"], **lists}))


def _made(config: Config, settings: ServiceSettings) -> ASGIApp:
    """The application on what the configuration names."""
    data = Path(settings.data) if settings.data else None
    judge = open_judge(settings.reward, data, settings.scorer) if settings.reward else None
    cases = open_cases(
        config, keep=not settings.demo, runs=settings.runs, reports=settings.reports, judge=judge
    )  # fmt: skip
    return make_app(cases, settings)


def _plain(config: Config) -> dict[str, Any]:
    """The options that are set, as JSON has them."""
    default = type(config)().given
    changed = {name: value for name, value in config.given.items() if value != default[name]}
    return {name: str(value) if isinstance(value, Path) else value for name, value in changed.items()}
