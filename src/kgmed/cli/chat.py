"""`kgmed chat`: questions one after the other, each understood in the light of those before it."""

import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import Annotated

import typer

from kgmed.cli import log, options
from kgmed.cli import show as screen
from kgmed.cli.answer import Detail, detail, show
from kgmed.cli.ask import Stream, show_words
from kgmed.config import Config
from kgmed.errors import KgmedError
from kgmed.session import Conversation, open_session

PROMPT = "> "
HELP = (
    "Type a question; the next may refer to it: which drug treats it? what about gout?",
    "evidence  what the last answer stands on",
    "history   the questions so far",
    "help      this",
    "exit      end, as do quit and Ctrl-D",
)


@options.with_options(*options.OPTIONS)
def chat(
    config: Config,
    evidence: options.Evidence = False,
    explain: options.Explain = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print each run as one line of JSON.")] = False,
    stream: Stream = None,
) -> None:
    """Ask one question after the other, a line each; help says what else can be typed, exit ends."""
    with screen.progress("building the graph (first use)", "rows", at_once=False) as progress:
        asked = open_session(config, progress=progress)
    if sys.stdin.isatty() and not as_json:
        screen.lines(HELP)
    try:
        _talk(Conversation(asked), stream, as_json=as_json, shown=detail(evidence=evidence, explain=explain))
    finally:
        asked.close()


def _talk(talk: Conversation, stream: bool | None, *, as_json: bool, shown: Detail) -> None:
    """Answer each line; what goes wrong with one is told, and the next is asked for."""
    for line in _lines():
        if line.casefold() in ("exit", "quit"):
            return
        if _told(line.casefold(), talk):
            continue
        try:
            with show_words(stream, as_json=as_json):
                run = talk.ask(line)
        except KgmedError as problem:
            _failed(problem, as_json=as_json)
            continue
        if as_json:
            screen.data(run, indent=None)
        else:
            if run.question.text != line:
                screen.lines([f"Asked: {run.question.text}"])
            show(run, talk.session.near, shown)
        sys.stdout.flush()
        if talk.session.config.log:
            log.keep(run)


def _told(word: str, talk: Conversation) -> bool:
    """Whether a line was a word of ours and no question; it is done."""
    if word == "help":
        screen.lines(HELP)
    elif word == "history":
        screen.lines(f"{i} {run.question.text}" for i, run in enumerate(talk.runs, start=1))
    elif word == "evidence" and talk.runs:
        show(talk.runs[-1], lambda _: {}, Detail.EVIDENCE)
    return word in ("help", "history", "evidence")


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
        screen.data({"error": str(problem)}, indent=None)
        sys.stdout.flush()
    else:
        screen.warn([str(problem)])
