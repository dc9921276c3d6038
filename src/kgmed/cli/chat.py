"""`kgmed chat`: questions one after the other, each understood in the light of those before it."""

import json
import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated

import typer

from kgmed.cli import choices
from kgmed.cli import show as screen
from kgmed.cli.ask import show
from kgmed.cli.spoken import Stream, spoken
from kgmed.errors import KgmedError
from kgmed.setup import Setup
from kgmed.types import to_json

if TYPE_CHECKING:
    from kgmed.conversation import Conversation

PROMPT = "> "


@choices.taking(*choices.OPTIONS)
def chat(
    setup: Setup,
    as_json: Annotated[bool, typer.Option("--json", help="Print each run as one line of JSON.")] = False,
    stream: Stream = None,
    explain: choices.Explain = False,
) -> None:
    """Ask one question after the other, a line each; Ctrl-D ends."""
    from kgmed.conversation import Conversation
    from kgmed.opening import asker

    with screen.progress("building the graph (first use)", "rows") as progress:
        asked = asker(setup, progress=progress)
    try:
        _talk(Conversation(asked), stream, as_json=as_json, explain=explain)
    finally:
        asked.close()


def _talk(talk: "Conversation", stream: bool | None, *, as_json: bool, explain: bool) -> None:
    """Answer each line; what goes wrong with one is told, and the next is asked for."""
    for line in _lines():
        try:
            with spoken(stream, as_json=as_json):
                run = talk.ask(line)
        except KgmedError as problem:
            _failed(problem, as_json=as_json)
            continue
        if as_json:
            sys.stdout.write(json.dumps(to_json(run), ensure_ascii=False) + "\n")
        else:
            show(run, talk.asker.near, explain=explain)
        sys.stdout.flush()


def _lines() -> Iterator[str]:
    """The lines typed that hold anything, until the input ends; a person is shown where to type."""
    if sys.stdin.isatty():
        with suppress(ImportError):
            import readline  # noqa: F401 - lines can be edited where there is readline
        with suppress(EOFError):
            while True:
                if line := input(PROMPT).strip():
                    yield line
        sys.stdout.write("\n")
        return
    yield from (line.strip() for line in sys.stdin if line.strip())


def _failed(problem: KgmedError, *, as_json: bool) -> None:
    """Tell of a question that could not be asked."""
    if as_json:
        sys.stdout.write(json.dumps({"error": str(problem)}, ensure_ascii=False) + "\n")
        sys.stdout.flush()
    else:
        sys.stderr.write(f"kgmed: {problem}\n")
