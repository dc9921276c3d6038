"""`kgmed ask`, `chat` and `log`: a question in, an answer with what it stands on out; and what was asked before.

In a chat each question is understood in the light of those before it. The log is one file of the data folder and is
sent nowhere.
"""

import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Annotated

import typer

from kgmed.cli import options
from kgmed.cli import show as screen
from kgmed.cli.answer import Detail, detail, show
from kgmed.config import Config
from kgmed.disk import data_folder, put_in_place
from kgmed.errors import BadInput, KgmedError, StoreError
from kgmed.language.text import one_line, visible
from kgmed.records import Run
from kgmed.runs import RunStore
from kgmed.session import Conversation, open_session

# `kgmed log`: what was asked before. It is kept in one file of the data folder and sent nowhere.

FILE = "runs.sqlite"
TAIL = 8  # characters of an id by which a list names a run: those that chance has made
log = typer.Typer()
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


@log.callback(invoke_without_command=True)
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


@log.command("show")
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


@log.command()
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


# `kgmed ask`: a question in, an answer with what it stands on out.

# --- The words of a model as they come, on standard error; the answer that was made of them follows on standard output.


Stream = Annotated[
    bool | None,
    typer.Option(
        "--stream/--no-stream", help="Show the model's words as they come; without it only where a terminal looks."
    ),
]


@contextmanager
def show_words(wanted: bool | None, *, as_json: bool, begin: Callable[[], object] = lambda: None) -> Iterator[None]:
    """While the block runs, what readers have a model say is shown; `begin` is called before the first word.

    `wanted` None = only where both outputs are terminals. Raises `BadInput` where words are wanted beside JSON.
    """
    from kgmed.models.asking import listening as telling

    if wanted and as_json:
        raise BadInput("--stream shows words and --json prints data; take one of them")
    if as_json or not (sys.stdout.isatty() and sys.stderr.isatty() if wanted is None else wanted):
        yield
        return
    said: list[str] = []

    def show(piece: str) -> None:
        if not said:
            begin()
        said.append(piece)
        sys.stderr.write(visible(piece.replace("\r", "")))
        sys.stderr.flush()

    try:
        with telling(show):
            yield
    finally:
        if said:
            sys.stderr.write("\n\n")


# --- MindMap's decision tree as an image.


def write_svg(run: Run, path: Path) -> None:
    """Write the tree of a run; raises `BadInput` where it has none, or the file cannot be written."""
    from kgmed.models.replies import outputs, tree
    from kgmed.steps.tree import draw_svg as svg

    trees = tree(outputs(run.answer.reasoning).tree)
    if not trees:
        raise BadInput(f"the answer has no decision tree to write to {path}; --method mindmap makes one")
    try:
        _replace(path, svg(trees, title=run.question.text))
    except OSError as error:
        raise BadInput(f"{path}: cannot be written ({error.strerror}); name another file") from None


def _replace(path: Path, text: str) -> None:
    """Write a file beside, then rename it into its place."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        Path(name).chmod(0o644)
        put_in_place(Path(name), path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


# --- `kgmed ask`: a question in, an answer with what it stands on out.


Option = Annotated[list[str] | None, typer.Option("--option", "-o", help="A choice, as A=TEXT; give one for each.")]


@options.with_options(*options.OPTIONS)
def ask(
    config: Config,
    question: Annotated[
        list[str] | None, typer.Argument(help="The question; without it, or with -, standard input is read.")
    ] = None,
    option: Option = None,
    file: Annotated[Path | None, typer.Option("--file", "-f", help="Read the question from a text file.")] = None,
    go_on: Annotated[bool, typer.Option("--continue", "-c", help="Go on from the last question in the log.")] = False,
    evidence: options.Evidence = False,
    explain: options.Explain = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole run as JSON.")] = False,
    stream: Stream = None,
    svg: Annotated[Path | None, typer.Option(help="Write the decision tree of mindmap as an SVG image.")] = None,
) -> None:
    """Answer a question from a graph and show what the answer stands on."""
    text, choices = _question(question, file), _choices(option or [])
    before = [store().get("last")] if go_on else []
    with ExitStack() as bar, show_words(stream, as_json=as_json, begin=bar.close):
        progress = bar.enter_context(screen.progress("building the graph (first use)", "rows", at_once=False))
        asked = open_session(config, progress=progress)
        try:
            run = Conversation(asked, runs=before).ask(text, options=choices)
        finally:
            asked.close()
    if svg is not None:
        write_svg(run, svg)
    if as_json:
        screen.data(run, indent=1)
    else:
        show(run, asked.near, detail(evidence=evidence, explain=explain))
    if config.log:
        keep(run)


def _question(words: list[str] | None, file: Path | None) -> str:
    """The question from the arguments, a file or standard input; raises `BadInput`."""
    if file is None:
        piped = words == ["-"] or not (words or sys.stdin.isatty())
        return sys.stdin.read() if piped else " ".join(words or ())
    if words:
        raise BadInput("give the question as an argument or by --file, not both")
    try:
        return file.read_text(encoding="utf-8")
    except OSError as e:
        raise BadInput(f"{file}: cannot be read ({e.strerror}); give a text file") from None
    except UnicodeDecodeError as e:
        raise BadInput(f"{file}: is not UTF-8 text at byte {e.start}; save it as UTF-8") from None


def _choices(texts: list[str]) -> dict[str, str]:
    """The options by letter."""
    found: dict[str, str] = {}
    for letter, meaning in map(_choice, texts):
        if letter in found:
            raise BadInput(f"the option {letter} is given twice")
        found[letter] = meaning
    return found


def _choice(text: str) -> tuple[str, str]:
    """The letter and the text of an option."""
    letter, equals, meaning = text.partition("=")
    if not (equals and letter.strip() and meaning.strip()):
        raise BadInput(f"the option {text!r} is not of the form A=TEXT")
    return letter.strip(), meaning.strip()


# `kgmed chat`: questions one after the other, each understood in the light of those before it.

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
            keep(run)


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
