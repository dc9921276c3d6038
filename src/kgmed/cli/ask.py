"""`kgmed ask` and `kgmed chat`: a question in, an answer with its numbered evidence out."""

import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import quote

import typer
from rich.style import Style

from kgmed.cli import options
from kgmed.cli import show as screen
from kgmed.config import Config
from kgmed.errors import BadInput, KgmedError
from kgmed.language.text import one_line, visible
from kgmed.records import Evidence, Particular, Run, to_json

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


# --- MindMap's decision tree on the screen and as an image, with the steps that nothing bears out.


def tree_lines(run: Run) -> Iterator[str]:
    """The tree of a run's reasoning, and a line "! ..." for each step that is invented or unsupported."""
    if not run.answer.reasoning:
        return
    from kgmed.models.replies import outputs, tree
    from kgmed.steps.tree import draw_text as drawn

    parts = outputs(run.answer.reasoning)
    trees = tree(parts.tree)
    if trees:
        yield ""
        yield "Decision tree"
        yield from drawn(trees).split("\n")
    sentences = _sentences(run)
    for verdict in run.answer.verdicts if parts.tree or parts.inference else ():
        if not verdict.supported and verdict.sentence not in sentences:
            yield f"! {verdict.sentence}: {verdict.reason}"


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


def _sentences(run: Run) -> set[str]:
    """The sentences of the answer, whose verdicts are not about steps."""
    from kgmed.steps.sentences import sentences

    return set(sentences(run.answer.text))


def _replace(path: Path, text: str) -> None:
    """Write a file beside, then rename it into its place."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


# --- `kgmed ask`: a question in, an answer with its numbered evidence out.


LINKS = {
    "PMID": "https://pubmed.ncbi.nlm.nih.gov/{}",
    "OMIM": "https://www.omim.org/entry/{}",
    "ORPHA": "https://www.orpha.net/en/disease/detail/{}",
    "DOI": "https://doi.org/{}",
}
Near = Callable[[Run], dict[str, list[str]]]
Option = Annotated[list[str] | None, typer.Option("--option", "-o", help="A choice, as A=TEXT; give one for each.")]


@options.with_options(*options.OPTIONS)
def ask(
    config: Config,
    question: Annotated[str, typer.Argument(help="The question; - reads it from standard input.")] = "",
    option: Option = None,
    file: Annotated[Path | None, typer.Option("--file", "-f", help="Read the question from a text file.")] = None,
    svg: Annotated[Path | None, typer.Option(help="Write the decision tree of mindmap as an SVG image.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole run as JSON.")] = False,
    stream: Stream = None,
    explain: options.Explain = False,
) -> None:
    """Answer a question from a graph and show what the answer stands on."""
    from kgmed.session import open_session

    with ExitStack() as bar, show_words(stream, as_json=as_json, begin=bar.close):
        progress = bar.enter_context(screen.progress("building the graph (first use)", "rows"))
        asked = open_session(config, progress=progress)
        try:
            run = asked.ask(_question(question, file), options=_choices(option or []))
        finally:
            asked.close()
    _tell(run, asked.near, svg, as_json=as_json, explain=explain)


def _tell(run: Run, near: Near, svg: Path | None, *, as_json: bool, explain: bool) -> None:
    """Write the image, if one is asked for, and print the run."""
    if svg is not None:
        write_svg(run, svg)
    if as_json:
        screen.data(run, indent=1)
    else:
        show(run, near, explain=explain)


def _question(text: str, file: Path | None) -> str:
    """The question from the argument, standard input or a file; raises `BadInput`."""
    if file is None:
        return sys.stdin.read() if text == "-" else text
    if text:
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


def show(run: Run, near: Near, *, explain: bool = False) -> None:
    """Print a run for a person: answer, evidence, what was understood, seconds.

    `near` gives the names that a person may have meant by what was not found.
    """
    out = screen.printer()
    out((run.answer.text, "bold" if run.answer.abstained else ""))
    shown = [(i, e) for i, e in enumerate(run.context.cited, start=1) if e.triples or e.kind != "verdict"]
    if shown:
        out(("\nEvidence", "bold"))
    for i, evidence in shown:
        _show_evidence(out, i, evidence, explain=explain)
    out()
    _show_words(out, run, near, explain=explain)
    for line in tree_lines(run):
        out((line, "yellow" if line.startswith("!") else ""))
    for failure in run.failures:
        out(("Failed on the way:", "yellow"), f" {failure}")
    for note in run.notes:
        out((f"Note: {note}", "dim"))
    if explain and run.answer.reasoning:
        out(("\nReasoning", "bold"), f"\n{run.answer.reasoning}\n")
    for verdict in run.answer.verdicts if explain else ():
        out((f"{verdict.label}: {verdict.sentence} ({verdict.reason})", "dim"))
    out((run.answer.limits, "dim"))
    for line in _made_with(run, explain=explain):
        out((line, "dim"))


def _made_with(run: Run, *, explain: bool) -> Iterator[str]:
    """Graph, method, models and what they took; with `explain` also the settings and the prompts."""
    stages = "  ".join(f"{s.name} {s.seconds:.3f}" for s in run.stages)
    preset = f" ({run.preset})" if run.preset else ""
    yield f"Graph {run.graph}; method {run.method}{preset}, read by {run.answer.reader}. Seconds: {stages}"
    if run.spent.calls:
        s = run.spent
        cost = "" if s.cost is None else f", {s.cost:.6g} USD"
        yield (
            f"Model calls: {s.calls} ({s.cached} from the cache, {s.failed} failed), "
            f"tokens {s.tokens_in} in, {s.tokens_out} out{cost}"
        )
    if run.hits:
        yield f"Remote cache: {', '.join(f'{what} {hits} of {asked}' for what, hits, asked in run.hits)}"
    if explain:
        yield from (f"{kind}: {name}" for kind, name in run.models)
        yield from (f"prompt: {name}" for name in run.prompts)
        yield " ".join(["settings:", *(f"{name}={to_json(value)}" for name, value in run.settings)])


def _show_evidence(out: Callable[..., None], number: int, evidence: Evidence, *, explain: bool) -> None:
    """One piece of evidence and, below it, each of its triples with source and references."""
    score = f" ({evidence.kind}, {evidence.score:g})" if explain else ""
    out((f"[{number}]", "bold"), f" {one_line(evidence.text)}", (score, "dim"))
    for t in evidence.triples if explain else evidence.triples[:4]:
        fact = one_line(f"{t.head.name} — {t.relation} → {t.tail.name}")
        said = "; ".join(dict.fromkeys(f"{k} {v}" for s in t.support for k, v in s.qualifiers if k == "frequency"))
        ids = " ".join(i for i in (t.head.id, t.tail.id) if i)
        about = f"    {fact}{f' ({said})' if said else ''} · {ids} · {t.source}"
        references = [piece for r in t.references[:5] for piece in ((", ", "dim"), _linked(r))]
        out((about, "dim"), *references)
    more = len(evidence.triples) - 4
    if more > 0 and not explain:
        out((f"    and {more} more triples; --explain shows them", "dim"))


def _linked(reference: str) -> tuple[str, Style]:
    """A reference with its address, where it has one: PMID:1 -> PMID:1 as a link to PubMed."""
    kind, _, number = reference.partition(":")
    if kind not in LINKS or not number:
        return reference, Style(dim=True)
    address = LINKS[kind].format(quote(number, safe="/:;()", errors="replace"))
    return reference, Style(dim=True, link=address)


def _show_words(out: Callable[..., None], run: Run, near: Near, *, explain: bool) -> None:
    """What of the question was found in the graph, and what was not."""
    found = [_link_text(run, i, explain=explain) for i in range(len(run.links))]
    if found:
        out(("Found:", "green"), f" {_joined(found, explain=explain)}")
    if explain and run.particulars:
        out(("Told:", "green"), f" {one_line('; '.join(map(_particular_text, run.particulars)))}")
    if run.missed:
        names, like = {m.surface: m.name for m in run.missed}, near(run)
        told = (f"{surface}{_meant(like.get(name, []))}" for surface, name in names.items())
        out(("Not found in the graph:", "yellow"), f" {one_line(', '.join(told))}")


def _particular_text(told: Particular) -> str:
    """A particular with its kind, and what was measured where it is a value.

    >>> _particular_text(Particular("value", "2.9 mmol/L", 0, 10, 2.9, "mmol/l", "low", "potassium"))
    'value 2.9 mmol/L (potassium, low)'
    """
    more = ", ".join(filter(None, (told.of, told.direction)))
    return f"{told.kind} {told.text}{f' ({more})' if more else ''}"


def _meant(names: list[str]) -> str:
    """The question whether one of the names was meant; nothing was linked to them.

    >>> _meant(["aspirin", "asparagine"]), _meant([])
    (' (did you mean aspirin or asparagine?)', '')
    """
    listed = " or ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))
    return f" (did you mean {listed}?)" if names else ""


def _joined(rows: Iterable[str], *, explain: bool) -> str:
    return "\n       ".join(rows) if explain else "; ".join(rows)


def _link_text(run: Run, i: int, *, explain: bool) -> str:
    link = run.links[i]
    said = f" ({link.mention.status})" if link.mention.status else ""
    text = (
        f"{'not ' if link.mention.negated else ''}{link.mention.surface}{said} = {link.entity.name} ({link.entity.id})"
    )
    if explain:
        ties = ", ".join(f"{e.name} ({e.id})" for e in link.ties)
        text += f", {link.how} {link.score:.2f}{f'; as good: {ties}' if ties else ''}"
    return one_line(text)


# --- `kgmed chat`: questions one after the other, each understood in the light of those before it.


if TYPE_CHECKING:
    from kgmed.session import Conversation

PROMPT = "> "


@options.with_options(*options.OPTIONS)
def chat(
    config: Config,
    as_json: Annotated[bool, typer.Option("--json", help="Print each run as one line of JSON.")] = False,
    stream: Stream = None,
    explain: options.Explain = False,
) -> None:
    """Ask one question after the other, a line each; Ctrl-D ends."""
    from kgmed.session import Conversation, open_session

    with screen.progress("building the graph (first use)", "rows") as progress:
        asked = open_session(config, progress=progress)
    try:
        _talk(Conversation(asked), stream, as_json=as_json, explain=explain)
    finally:
        asked.close()


def _talk(talk: "Conversation", stream: bool | None, *, as_json: bool, explain: bool) -> None:
    """Answer each line; what goes wrong with one is told, and the next is asked for."""
    for line in _lines():
        try:
            with show_words(stream, as_json=as_json):
                run = talk.ask(line)
        except KgmedError as problem:
            _failed(problem, as_json=as_json)
            continue
        if as_json:
            screen.data(run, indent=None)
        else:
            show(run, talk.session.near, explain=explain)
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
        screen.data({"error": str(problem)}, indent=None)
        sys.stdout.flush()
    else:
        screen.warn([str(problem)])
