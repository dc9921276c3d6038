"""`kgmed serve`: a page, REST, the OpenAI interface and MCP from this machine, and the keys of who may ask."""

from typing import Annotated

import typer

from kgmed.cli import options
from kgmed.cli import show as screen
from kgmed.config import Config
from kgmed.errors import Unavailable

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
    serve(config, settings, processes=processes, say=lambda line: screen.warn([line]))


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
