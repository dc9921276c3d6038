"""`kgmed ask`: a question in, an answer with its numbered evidence out."""

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from kgmed.cli import choices, tree
from kgmed.cli import show as screen
from kgmed.cli.spoken import Stream, spoken
from kgmed.errors import BadInput
from kgmed.kg.text import one_line
from kgmed.setup import Setup
from kgmed.types import Evidence, Run, to_json

LINKS = {
    "PMID": "https://pubmed.ncbi.nlm.nih.gov/{}",
    "OMIM": "https://www.omim.org/entry/{}",
    "ORPHA": "https://www.orpha.net/en/disease/detail/{}",
    "DOI": "https://doi.org/{}",
}
Near = Callable[[Run], dict[str, list[str]]]
Option = Annotated[list[str] | None, typer.Option("--option", "-o", help="A choice, as A=TEXT; give one for each.")]


@choices.taking(*choices.OPTIONS)
def ask(
    setup: Setup,
    question: Annotated[str, typer.Argument(help="The question; - reads it from standard input.")] = "",
    option: Option = None,
    file: Annotated[Path | None, typer.Option("--file", "-f", help="Read the question from a text file.")] = None,
    svg: Annotated[Path | None, typer.Option(help="Write the decision tree of mindmap as an SVG image.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole run as JSON.")] = False,
    stream: Stream = None,
    explain: choices.Explain = False,
) -> None:
    """Answer a question from a graph and show what the answer stands on."""
    from kgmed.opening import asker

    with ExitStack() as bar, spoken(stream, as_json=as_json, begin=bar.close):
        progress = bar.enter_context(screen.progress("building the graph (first use)", "rows"))
        asked = asker(setup, progress=progress)
        try:
            run = asked.ask(_question(question, file), options=_choices(option or []))
        finally:
            asked.close()
    _tell(run, asked.near, svg, as_json=as_json, explain=explain)


def _tell(run: Run, near: Near, svg: Path | None, *, as_json: bool, explain: bool) -> None:
    """Write the image, if one is asked for, and print the run."""
    if svg is not None:
        tree.write_svg(run, svg)
    if as_json:
        sys.stdout.write(json.dumps(to_json(run), ensure_ascii=False, indent=1) + "\n")
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
    out = Console(highlight=False, soft_wrap=True)
    out.print(escape(run.answer.text), style="bold" if run.answer.abstained else None)
    if run.context.cited:
        out.print("\n[bold]Evidence[/bold]")
    for i, evidence in enumerate(run.context.cited, start=1):
        _show_evidence(out.print, i, evidence, explain=explain)
    out.print()
    _show_words(out.print, run, near, explain=explain)
    for line in tree.told(run):
        out.print(escape(line), style="yellow" if line.startswith("!") else None)
    for failure in run.failures:
        out.print(f"[yellow]Failed on the way:[/yellow] {escape(failure)}")
    for note in run.notes:
        out.print(f"[dim]Note: {escape(note)}[/dim]")
    if explain and run.answer.reasoning:
        out.print(f"\n[bold]Reasoning[/bold]\n{escape(run.answer.reasoning)}\n")
    for verdict in run.answer.verdicts if explain else ():
        out.print(f"[dim]{verdict.label}: {escape(verdict.sentence)} ({escape(verdict.reason)})[/dim]")
    out.print(f"[dim]{escape(run.answer.limits)}[/dim]")
    for line in _made_with(run, explain=explain):
        out.print(f"[dim]{escape(line)}[/dim]")


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


def _show_evidence(out: Callable[[str], None], number: int, evidence: Evidence, *, explain: bool) -> None:
    """One piece of evidence and, below it, each of its triples with source and references."""
    score = f" [dim]({evidence.kind}, {evidence.score:g})[/dim]" if explain else ""
    out(f"[bold]\\[{number}][/bold] {escape(one_line(evidence.text))}{score}")
    for t in evidence.triples if explain else evidence.triples[:4]:
        fact = one_line(f"{t.head.name} — {t.relation} → {t.tail.name}")
        said = "; ".join(dict.fromkeys(f"{k} {v}" for s in t.support for k, v in s.qualifiers if k == "frequency"))
        where = ", ".join([t.source, *(_linked(r) for r in t.references[:5])])
        ids = " ".join(i for i in (t.head.id, t.tail.id) if i)
        out(f"    [dim]{escape(fact)}{f' ({escape(said)})' if said else ''} · {escape(ids)} · {where}[/dim]")
    more = len(evidence.triples) - 4
    if more > 0 and not explain:
        out(f"    [dim]and {more} more triples; --explain shows them[/dim]")


def _linked(reference: str) -> str:
    """A reference with its address, where it has one: PMID:1 -> PMID:1 as a link to PubMed."""
    kind, _, number = reference.partition(":")
    if kind not in LINKS or not number:
        return escape(reference)
    return f"[link={LINKS[kind].format(number)}]{escape(reference)}[/link]"


def _show_words(out: Callable[[str], None], run: Run, near: Near, *, explain: bool) -> None:
    """What of the question was found in the graph, and what was not."""
    found = [_link_text(run, i, explain=explain) for i in range(len(run.links))]
    if found:
        out(f"[green]Found:[/green] {_joined(found, explain=explain)}")
    if run.missed:
        names, like = {m.surface: m.name for m in run.missed}, near(run)
        told = (f"{surface}{_meant(like.get(name, []))}" for surface, name in names.items())
        out(f"[yellow]Not found in the graph:[/yellow] {escape(one_line(', '.join(told)))}")


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
    text = f"{'not ' if link.mention.negated else ''}{link.mention.surface} = {link.entity.name} ({link.entity.id})"
    if explain:
        ties = ", ".join(f"{e.name} ({e.id})" for e in link.ties)
        text += f", {link.how} {link.score:.2f}{f'; as good: {ties}' if ties else ''}"
    return escape(one_line(text))
