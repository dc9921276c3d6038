"""The command line: every command calls one library function; only here is anything printed."""

# ruff: noqa: E402
import atexit
import gc

# Before all else is read in: a tenth of a short command is looking for garbage that is not there yet. (50,000 is ours.)
gc.set_threshold(50_000, 20, 20)
atexit.register(gc.freeze)

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from kgmed.cli.show import hear_again, may_not, no_room, nobody_reads, of_the_system, say_anything, warn
from kgmed.errors import BadInput, KgmedError, StoreError

PARTS: Mapping[str, tuple[str, str]] = {  # a function, or a group of them with its help
    "ask": ("ask:ask", ""),
    "chat": ("ask:chat", ""),
    "log": ("ask:log", "What was asked before, kept here and sent nowhere: list it, show it, clear it."),
    "diagnose": ("diagnose:app", ""),
    "serve": ("serve:app", "Serve a page, REST, the OpenAI interface and MCP from this machine."),
    "mcp": ("serve:mcp", ""),
    "graph": ("graph:app", "Build, list, search and check graphs."),
    "models": ("methods:models_app", "List and fetch language models."),
    "methods": ("methods:app", "List the methods and the baselines; try them all on the same questions."),
    "eval": ("evaluate:app", "Compare methods on data sets, with a log, scores and statistics."),
    "reproduce": ("reproduce:reproduce", ""),
    "reward": ("reward:app", "Rank diagnoses and reward answers by labelled cases."),
    "train": ("train:app", "Train models on your own files, here."),
}


INSTEAD = {  # what is typed first for a command of another name
    "version": "kgmed --version",
    "help": "kgmed --help",
    "install": "kgmed graph get NAME",
    "search": "kgmed graph find GRAPH NAME",
    "list": "kgmed graph list",
    "config": "kgmed ask --help-all",
    "graph search": "kgmed graph find GRAPH NAME",
    "graph install": "kgmed graph get NAME",
}


class CommandTable(Mapping[str, Any]):
    """The commands by name; the module of one is read in when that command is called for, since all take a while."""

    def __getitem__(self, name: str) -> Any:
        """The command of a name."""
        where, about = PARTS[name]
        module, _, attribute = where.partition(":")
        found = getattr(import_module(f"kgmed.cli.{module}"), attribute)
        if about:
            found.info.help = about
            group = typer.main.get_group(found)
            group.name = name
            return group
        if not isinstance(found, typer.Typer):
            alone = typer.Typer(add_completion=False)
            alone.command(name)(found)
            return _if_given(typer.main.get_command(alone))
        return typer.main.get_command(found)

    def __iter__(self) -> Iterator[str]:
        """The names, in the order in which help shows them."""
        return iter(PARTS)

    def __len__(self) -> int:
        """How many there are."""
        return len(PARTS)


def _if_given(command: Any) -> Any:
    """The command; only values that are given and no texts are looked at: typer makes a validator for each option."""

    def taken(option: Any, context: typer.Context, value: Any) -> Any:
        texts = option.type_descriptor.annotation in (str, list[str])
        if option.required or not (texts or value is None or value in ((), [])):
            return type(option).process_value(option, context, value)
        return option.callback(context, option, value) if option.callback else value

    def options(context: typer.Context, every: Callable[[typer.Context], list[Any]] = command.get_params) -> list[Any]:
        found = every(context)
        for option in found:
            option.process_value = partial(taken, option)
        return found

    command.get_params = options
    return command


class Commands(TyperGroup):
    """All the commands; an interrupt, a closed pipe, a full disk end each alike (typer would not say why)."""

    def __init__(self, **given: Any) -> None:
        """The commands of `PARTS`."""
        super().__init__(**given)
        self.commands = CommandTable()  # type: ignore[assignment]
        _if_given(self)

    def resolve_command(self, ctx: typer.Context, args: list[str]) -> Any:  # type: ignore[override]
        """The command of the arguments; a question without one is asked."""
        first = args[0] if args else ""
        asks = len(first.split()) > 1 or first.endswith(("?", "？"))
        if first not in PARTS and asks and first.replace("\n", " ").isprintable():  # else no person typed it
            args = ["ask", *args]
        for said in (" ".join(args[:1]), " ".join(args[:2])):
            if instead := INSTEAD.get(said):
                raise BadInput(f"no command is called {said!r}; write: {instead}")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: typer.Context) -> object:  # type: ignore[override]
        """Run the command; Ctrl-C is exit code 130."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            from kgmed.evaluate.run import still_asking  # heavy; no start-up pays for it

            sys.stderr.write("kgmed: stopped; what was finished is kept\n")
            if still_asking():
                sys.stdout.flush()
                os._exit(130)  # what a killed run leaves is whole, so nobody waits for the questions that were begun
            sys.exit(130)
        except Exception as e:
            if (told := of_the_system(e)) is not None:
                _ended(told)
            raise


def _ended(e: OSError) -> None:
    """End the command for what the system says of a file, where a person can mend it."""
    if may_not(e):
        raise StoreError(f"{e.filename}: {e.strerror}; check the name and whose it is, or set KGMED_HOME") from e
    if not (nobody_reads(e) or no_room(e)):
        return
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else the end would complain once more
    if nobody_reads(e):
        sys.exit(0)
    sys.stderr.write(f"kgmed: {e.strerror}; make room and run the command again\n")
    sys.exit(1)


app = typer.Typer(
    cls=Commands,
    help="Answers medical questions from a knowledge graph and shows the evidence for each answer.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        from kgmed import __version__

        typer.echo(f"kgmed {__version__}")
        raise typer.Exit


@app.callback()
def start(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """What every command has in common."""


def main() -> None:
    """Run the command; a known error is one line on standard error and its exit code, 2 for bad input, mostly 1."""
    say_anything()
    hear_again()
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "1")  # to look for plug-ins takes longer than to read a question
    try:
        app()
    except KgmedError as e:
        warn([str(e)])
        sys.exit(e.exit_code)
