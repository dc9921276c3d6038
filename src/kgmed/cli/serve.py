"""`kgmed serve`: a page, REST, the OpenAI interface and MCP from this machine, and the keys of who may ask."""

import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import copy_context
from functools import cache
from io import StringIO
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kgmed.__main__ import SOCKET, version
from kgmed.cli import options
from kgmed.cli import show as screen
from kgmed.config import AUTO, Config
from kgmed.disk import data_folder, put_in_place
from kgmed.errors import BadInput, Unavailable
from kgmed.graph import library

if TYPE_CHECKING:
    from kgmed.session import Session

app = typer.Typer(no_args_is_help=False)
keys_app = typer.Typer(no_args_is_help=True, help="The keys of who may ask: add, list, remove.")
app.add_typer(keys_app, name="keys")
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
_INSTALL = 'the service is not installed: pip install "kgmed[serve]"'


def _run(
    config: Config,
    context: typer.Context,
    host: Annotated[str, typer.Option(help="Where to listen; beyond this machine a key is needed.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port.")] = 8765,
    allow_host: Annotated[list[str] | None, typer.Option(help="A name by which it is called; repeatable.")] = None,
    allow_origin: Annotated[
        list[str] | None, typer.Option(help="Another page's exact origin that may ask; repeatable.")
    ] = None,
    workers: Annotated[int, typer.Option(min=1, help="Questions worked on at once, a process.")] = 2,
    waiting: Annotated[int, typer.Option(min=0, help="Questions that wait; more are refused (503).")] = 64,
    seconds: Annotated[float, typer.Option(min=0.1, help="The most that a question may take (504).")] = 60.0,
    requests: Annotated[
        float, typer.Option("--requests", min=0, help="A minute and key, or address; 0 = any number.")
    ] = 0.0,
    processes: Annotated[int, typer.Option(min=1, help="Processes; they share the graphs' files.")] = 1,
    proxy: Annotated[bool, typer.Option("--proxy", help="Behind a reverse proxy on this machine.")] = False,
    demo: Annotated[
        bool, typer.Option("--demo", help="Public: no key, a rate an address, nothing kept on disk.")
    ] = False,
    other_llm: Annotated[
        list[str] | None, typer.Option(help="A model that can be chosen besides --llm; repeatable; openai/NAME@URL.")
    ] = None,
    reports: Annotated[str, typer.Option(help="A folder of reports that kgmed eval report has written.")] = "",
    runs: Annotated[
        str, typer.Option(help="Keep runs in PostgreSQL: postgresql://USER@HOST/DATABASE, the password in PGPASSWORD.")
    ] = "",
    reward: Annotated[
        str, typer.Option(help="Reward answers by these labelled cases: DXY, MZ, ... (with --data), or a .jsonl file.")
    ] = "",
    data: Annotated[str, typer.Option(help="The folder that holds the data sets.", envvar="KGMED_DATA")] = "",
    reward_scorer: Annotated[str, typer.Option(help="What scores them: --scorer of kgmed reward.")] = "best",
    log_questions: Annotated[bool, typer.Option("--log-questions", help="Log the text of questions.")] = False,
    local: Annotated[
        bool, typer.Option("--local/--no-local", help="Also answer kgmed ask of this account, by a socket.")
    ] = True,
) -> None:
    """Serve a page (http://127.0.0.1:8765), REST, the OpenAI interface and MCP."""
    if context.invoked_subcommand is not None:
        return
    try:
        from kgmed.service.app import ServiceSettings, serve
    except ImportError as error:
        raise Unavailable(f"{_INSTALL} ({error.name} is missing)") from None
    settings = ServiceSettings(
        host=host, port=port, allow_hosts=tuple(allow_host or ()), allow_origins=tuple(allow_origin or ()),
        workers=workers, waiting=waiting, seconds=seconds, rate=requests, demo=demo, log_questions=log_questions,
        reports=reports, runs=runs, reward=reward, data=data, scorer=reward_scorer,
        models=tuple(other_llm or ()), fetches=not proxy, proxy=proxy,
    )  # fmt: skip
    beside = answering if local and not demo else None
    serve(config, settings, processes=processes, say=lambda line: screen.warn([line]), beside=beside)


app.callback(invoke_without_command=True)(options.with_options(*options.OPTIONS)(_run))


@options.with_options(*options.OPTIONS)
def mcp(config: Config) -> None:
    """Serve the Model Context Protocol over standard input and output, for desktop assistants."""
    try:
        from kgmed.service.mcp import run_stdio
    except ImportError as error:
        raise Unavailable(f'MCP is not installed: pip install "kgmed[mcp]" ({error.name} is missing)') from None
    from kgmed.service.uses import open_cases

    run_stdio(open_cases(config))


# --- `kgmed ask` of the same account, answered here: a socket in the data folder that nobody else may open.
#
# A request is one line of JSON: the version, the words of the command, and the caller's screen. An empty line says that
# it is taken, a line of JSON what the command prints. A connection that is closed without them says: do it yourself.

_FREE = {"method", "preset", "settings", "evidence_tokens", "abstain_below", "deadline", "log"}  # what may differ
_AT_ONCE = 2  # ours: questions worked on; others wait


@contextmanager
def answering(session: "Session") -> Iterator[None]:
    """While the block runs, `kgmed ask` is answered by this session; of several services by the one begun last.

    Where a socket cannot be (no Unix, a data folder that cannot be written, too long a path) nothing listens.
    """
    try:
        from socketserver import StreamRequestHandler, ThreadingUnixStreamServer
    except ImportError:
        yield
        return
    _command()  # read in now, not by the first who asks
    graphs, room = library.fingerprint(), threading.Semaphore(_AT_ONCE)

    class Handler(StreamRequestHandler):
        timeout = 5.0  # seconds for a request to come

        def handle(self) -> None:
            with suppress(OSError, ValueError, KeyError, TypeError):
                asked = json.loads(self.rfile.readline())
                if asked["version"] != version() or library.fingerprint() != graphs:
                    return
                self.wfile.write(b"\n")
                with room:
                    reply = copy_context().run(_answer, session, asked)
                if reply is not None:
                    self.wfile.write(json.dumps(reply).encode() + b"\n")

    place = data_folder() / SOCKET
    own = place.with_name(f"{SOCKET}.{os.getpid()}")
    try:
        server = ThreadingUnixStreamServer(str(own), Handler, bind_and_activate=False)
        server.daemon_threads = True
        os.fchmod(server.fileno(), 0o600)  # before it has a name
        server.server_bind()
        own.chmod(0o600)  # where the line before does nothing
        server.server_activate()
        put_in_place(own, place)
        mark = place.stat().st_ino
    except OSError:
        own.unlink(missing_ok=True)
        yield
        return
    threading.Thread(target=server.serve_forever, name="kgmed ask", daemon=True).start()
    try:
        yield
    finally:
        with suppress(OSError):
            if place.stat().st_ino == mark:
                place.unlink()
        server.shutdown()
        server.server_close()


@cache
def _command() -> Any:
    """The command `kgmed ask`."""
    from kgmed.cli import CommandTable

    return CommandTable()["ask"]


def _answer(session: "Session", asked: dict[str, Any]) -> dict[str, str] | None:
    """What a command prints, run here; None where only the process that asks can run it as it is meant."""
    from kgmed.cli.ask import SERVED

    def served(config: Config) -> "Session":
        ours, theirs = session.config.given, config.given
        changed = {name: value for name, value in theirs.items() if value != ours[name]}
        if config.graph == AUTO and not {*library.languages()} <= {*",".join(session.graphs).split(",")}:
            raise BadInput("the service was begun before a graph was built")
        if config.llm or config.cache or ours.keys() != theirs.keys() or not changed.keys() <= _FREE:
            raise BadInput("the service has other options")
        return session.under(**changed)

    out, err = StringIO(), StringIO()
    screen.CALLER.set(screen.Screen(out, err, int(asked["width"]), bool(asked["styles"])))
    SERVED.set(served)
    words = [str(word) for word in asked["words"]]
    try:
        _command().main(words[words[0] == "ask" :], prog_name="kgmed ask", standalone_mode=False)
    except (Exception, SystemExit):  # noqa: BLE001 - whatever it is, the process that asks says it better
        return None
    return {"out": out.getvalue(), "err": err.getvalue()}


# --- The keys.


@keys_app.command()
def add(name: Annotated[str, typer.Argument(help="Whose it is.")], as_json: Json = False) -> None:
    """Make a key and show it, once: only its hash is kept."""
    from kgmed.service.guard import Keys

    key = Keys.of().add(name)
    screen.data({"name": name, "key": key}) if as_json else screen.lines([key])


@keys_app.command("list")
def list_(as_json: Json = False) -> None:
    """List the names of the keys."""
    from kgmed.service.guard import Keys

    found = Keys.of().all()
    if as_json:
        screen.data([{"name": key.name, "made": key.made} for key in found])
    elif found:
        screen.table(("name", "made"), ((key.name, key.made) for key in found))
    else:
        screen.warn(["there is no key; make one: kgmed serve keys add NAME"])


@keys_app.command()
def remove(name: Annotated[str, typer.Argument(help="Whose it is.")], as_json: Json = False) -> None:
    """Withdraw a key; a service that runs refuses it at once."""
    from kgmed.service.guard import Keys

    Keys.of().remove(name)
    screen.data({"removed": name}) if as_json else screen.lines([f"removed {name}"])
