"""`kgmed log`: what was asked before. It is kept in one file of the data folder and sent nowhere."""

from typing import Annotated

import typer

from kgmed.cli import show as screen
from kgmed.cli.answer import Detail, show
from kgmed.errors import StoreError
from kgmed.folders import data_folder
from kgmed.language.text import one_line
from kgmed.records import Run
from kgmed.runs import RunStore

FILE = "runs.sqlite"
TAIL = 8  # characters of an id by which a list names a run: those that chance has made
app = typer.Typer()
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def store() -> RunStore:
    """The log of the data folder."""
    return RunStore(data_folder() / FILE)


def keep(run: Run) -> None:
    """Keep a run; where that cannot be done a line says so, and nothing else changes."""
    kept = store()
    try:
        kept.put(run)
        kept.close()
    except StoreError as problem:
        screen.warn([f"not kept in the log: {problem}; --no-log keeps none"])


@app.callback(invoke_without_command=True)
def listed(
    context: typer.Context,
    most: Annotated[int, typer.Option("--most", "-n", min=1, help="How many, the newest first.")] = 20,
    as_json: Json = False,
) -> None:
    """List what was asked, the newest first."""
    if context.invoked_subcommand is not None:
        return
    rows = store().list(most)
    if as_json:
        screen.data([{"id": r.id, "at": r.at.isoformat(), "question": r.question, "answer": r.answer,
                      "graph": r.graph, "method": r.method, "abstained": r.abstained} for r in rows])  # fmt: skip
        return
    cells = [(r.id[-TAIL:], f"{r.at.astimezone():%Y-%m-%d %H:%M}", _begin(r.question), _begin(r.answer)) for r in rows]
    screen.table(("id", "asked", "question", "answer"), cells)


@app.command("show")
def shown(
    id: Annotated[str, typer.Argument(help="The id of a run, its beginning or its end; last = the newest.")] = "last",
    explain: Annotated[bool, typer.Option("--explain", help="Also the scores, the links and the settings.")] = False,
    as_json: Json = False,
) -> None:
    """Show what was asked and answered, with its evidence."""
    run = store().get(id)
    if as_json:
        screen.data(run, indent=1)
        return
    screen.lines([f"> {run.question.text}"])
    show(run, lambda _: {}, Detail.ALL if explain else Detail.EVIDENCE)


@app.command()
def clear(as_json: Json = False) -> None:
    """Delete all that was asked; nothing of it stays in the file."""
    there = store().clear()
    if as_json:
        screen.data({"deleted": there})
    else:
        screen.lines([f"{there} deleted"])


def _begin(text: str) -> str:
    """The beginning of a text, as a list has room for it."""
    plain = one_line(text)
    return plain if len(plain) <= 60 else f"{plain[:59]}…"
