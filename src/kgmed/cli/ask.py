"""`kgmed ask`: a question in, an answer with what it stands on out."""

import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Annotated

import typer

from kgmed.cli import log, options
from kgmed.cli import show as screen
from kgmed.cli.answer import detail, show
from kgmed.config import Config
from kgmed.disk import put_in_place
from kgmed.errors import BadInput
from kgmed.language.text import visible
from kgmed.records import Run

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
    from kgmed.session import Conversation, open_session

    text, choices = _question(question, file), _choices(option or [])
    before = [log.store().get("last")] if go_on else []
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
        log.keep(run)


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
