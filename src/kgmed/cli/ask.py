"""`kgmed ask`, `chat` and `log`: a question in, an answer with what it stands on out; and what was asked before.

In a chat each question is understood in the light of those before it. The log is one file of the data folder and is
sent nowhere.
"""

import sys
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import replace
from enum import IntEnum
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from kgmed.cli import options
from kgmed.cli import show as screen
from kgmed.cli.show import Look, Page, Piece, cells, page
from kgmed.config import Config
from kgmed.disk import data_folder, write_whole
from kgmed.errors import BadInput, KgmedError, StoreError
from kgmed.frame import Ask
from kgmed.language.text import has_cjk, language_of, one_line, visible
from kgmed.question.emergency import helped
from kgmed.records import Evidence, Link, Mention, Particular, Question, Run, to_json
from kgmed.runs import FILE, RunStore
from kgmed.sentences import Catalogue, catalogue
from kgmed.session import Conversation, Session, open_session
from kgmed.show_run import address, translated_run

# --- A run as a person reads it: what went wrong, the answer, what was understood, one line of sources, its limits.
#
# `--evidence` adds the numbered evidence with its sources, `--explain` all that is known of the run.

Near = Callable[[Run], dict[str, list[str]]]
MOST = 6  # names said to be found, and not found: two lines or so
LONGEST = 60  # characters of a name among them
TRIPLES = 4  # of a piece of evidence
_TRIED = 6  # names that others are looked for that are spelled like them
_LEAST, _LEAST_CJK = 5, 4  # characters of a name that may be a slip of another
_ALIKE = 0.75  # ours: how much two names must be spelled alike, of 1
_WORD = 4  # letters of a word that tells by itself what is meant
SCREEN = 80  # columns of the line of sources where nobody says how wide the screen is


class Detail(IntEnum):
    """How much is shown of a run."""

    BRIEF = 0
    EVIDENCE = 1
    ALL = 2


def detail(*, evidence: bool, explain: bool) -> Detail:
    """What the two options ask for."""
    return Detail.ALL if explain else Detail.EVIDENCE if evidence else Detail.BRIEF


def show(run: Run, near: Near, shown: Detail = Detail.BRIEF) -> None:
    """Print a run; `near` gives the names that a person may have meant by what was not found."""
    run, out, words = translated_run(run), page(), catalogue(language_of(run.question))
    first = helped(run.question.text)
    if first and run.answer.text.startswith(first):  # a call for help before anything else
        out((first, "bold red"))
    told = {why.partition(": ")[2] or why: why for why in map(one_line, run.failures)}  # what failed of it, then why
    for why in (line for reason, line in told.items() if reason not in run.answer.text):
        out((words("page.failed"), "yellow"), why)  # of a model that did not answer the answer itself says it first
    if text := run.answer.text.removeprefix(first).lstrip("\n"):
        out((text, "bold" if run.answer.abstained else ""))
    if shown:
        _show_evidence(out, run, words, shown)
    out()
    _show_words(out, run, near, shown)
    for line in tree_lines(run):
        out((line, "yellow" if line.startswith("!") else ""))
    if not shown and text and any(e.triples for e in run.context.cited):
        out(*_sources(run, words, out.width or SCREEN))
    if shown:
        _show_rest(out, run, shown)
    if run.answer.limits:
        out((run.answer.limits, "dim"))
    for line in _made_with(run, shown) if shown else ():
        out((line, "dim"))


# --- What of the question was found in the graph, and what was not: each once.


def _show_words(out: Page, run: Run, near: Near, shown: Detail) -> None:
    """The lines of what was found and what was not."""
    words = catalogue(language_of(run.question))
    if shown is Detail.ALL:
        for i, link in enumerate(run.links):
            out((words("page.found") if not i else " " * len(words("page.found")), "green"), _explained(link))
    elif run.links:
        once = {(x.entity.id or x.entity.name, x.mention.negated, x.mention.status): x for x in reversed(run.links)}
        listed = [_link_text(x, words) for x in reversed(once.values())]
        out((words("page.found"), "green"), *_some(listed, words))
    if shown is Detail.ALL and run.query.frame.asks:
        out(("Read as: ", "green"), one_line("; ".join(map(_ask_text, run.query.frame.asks))))
        if run.query.frame.premise:
            out(("Taken for granted, and doubted by the model: ", "yellow"), one_line(run.query.frame.premise))
    if shown is Detail.ALL and run.particulars:
        out(("Told: ", "green"), one_line("; ".join(map(_particular_text, run.particulars))))
    missed = list({m.name: m for m in run.missed}.values())
    like = near(replace(run, missed=tuple(missed[:_TRIED]))) if missed else {}
    like = {name: close for name, others in like.items() if (close := [o for o in others if _is_slip(name, o)])}
    if shown is not Detail.ALL:
        missed = _worth_saying(run, missed, like)
    if missed:
        listed = [((_short(m.surface) + _meant(like.get(m.name, []), words)),) for m in missed]
        out((words("page.missed"), "yellow"), *_some(listed, words))


def _worth_saying(run: Run, missed: Sequence[Mention], like: Container[str]) -> list[Mention]:
    """Of what was not found what may be a name: what is asked about, short forms, slips; all where nothing was."""
    asked = [n.names[0] for ask in run.query.frame.asks for n in ask.things if not n.links]
    return [
        m
        for m in missed
        if not run.links or m.name in like or m.surface.isupper() or any(name in m.surface for name in asked)
    ]


def _is_slip(name: str, other: str) -> bool:
    """Whether a name is spelled so much like another that the other may be meant.

    >>> [_is_slip(*pair) for pair in (("clonazepam", "clotiazepam"), ("DDx", "DDX6"), ("临床表现", "临床表现不同"))]
    [True, False, False]
    """
    from difflib import SequenceMatcher

    own, said = name.casefold(), other.casefold()
    long = len(own) >= (_LEAST_CJK if has_cjk(own) else _LEAST)
    part = has_cjk(own) and (own in said or said in own)  # a longer name is another thing
    return long and not part and SequenceMatcher(None, own, said, autojunk=False).ratio() >= _ALIKE


def _ask_text(ask: Ask) -> str:
    """An ask as it was read: intent and form, the things asked about, how sure the reader is.

    >>> from kgmed.frame import Intent, Named
    >>> _ask_text(Ask(Intent.TREATMENT, (Named(("gout",), "disease"),), negative=True, probability=0.97))
    'not treatment (list) of gout, 0.97'
    """
    of, to = (" and ".join(n.names[0] for n in named) for named in (ask.subject, ask.object))
    things = f"{f' of {of}' if of else ''}{f' to {to}' if to else ''}"
    return f"{'not ' if ask.negative else ''}{ask.intent} ({ask.form}){things}, {ask.probability:.2f}"


def _particular_text(told: Particular) -> str:
    """A particular with its kind, and what was measured where it is a value.

    >>> _particular_text(Particular("value", "2.9 mmol/L", 0, 10, 2.9, "mmol/l", "low", "potassium"))
    'value 2.9 mmol/L (potassium, low)'
    """
    more = ", ".join(filter(None, (told.of, told.direction)))
    return f"{told.kind} {told.text}{f' ({more})' if more else ''}"


def _some(listed: Sequence[tuple[Piece, ...]], words: Catalogue) -> Iterator[Piece]:
    """The first of some texts with commas between, and how many more there are."""
    for i, pieces in enumerate(listed[:MOST]):
        yield from ((", ", *pieces) if i else pieces)
    if len(listed) > MOST:
        yield f", {words('page.more', count=len(listed) - MOST)}"


def _link_text(link: Link, words: Catalogue) -> tuple[Piece, ...]:
    """What was linked, and to what, where that is called otherwise: "heart attack = Myocardial infarction".

    Words that hold the name, or a word of it, are not said again: "man with tall" of Tall stature.
    """
    said, name = _short(link.mention.surface), _short(link.entity.name)
    own, other = said.casefold(), name.casefold()
    parts = [w for w in other.split() if len(w) >= _WORD]
    same = other in own or any(w in own.split() for w in parts)
    begin = words("page.not") if link.mention.negated else ""
    whose = f"page.{link.mention.status}"
    return (f"{begin}{name if same else f'{said} = {name}'}{words(whose) if whose in words else ''}",)


def _explained(link: Link) -> str:
    """All of a link: its words, its entity, how it was made, what is as good."""
    said = f"{'not ' if link.mention.negated else ''}{link.mention.surface}"
    said += f" ({link.mention.status})" if link.mention.status else ""  # another person's, past or uncertain
    text = f"{said} = {link.entity.name} ({link.entity.id})"
    ties = ", ".join(f"{e.name} ({e.id})" for e in link.ties)
    return one_line(f"{text}, {link.how} {link.score:.2f}{f'; as good: {ties}' if ties else ''}")


def _short(name: str) -> str:
    """The beginning of a name.

    >>> _short("gout"), len(_short("no " * 50))
    ('gout', 60)
    """
    plain = one_line(name)
    return plain if len(plain) <= LONGEST else f"{plain[: LONGEST - 1].rstrip()}…".ljust(LONGEST, "…")


def _meant(names: list[str], words: Catalogue) -> str:
    """The question whether one of the names was meant; nothing was linked to them.

    >>> _meant(["aspirin", "asparagine"], catalogue("en")), _meant([], catalogue("en"))
    (' (did you mean aspirin or asparagine?)', '')
    """
    names = list(map(_short, names))
    listed = words("page.or").join(filter(None, [", ".join(names[:-1]), *names[-1:]]))
    return words("page.meant", names=listed) if names else ""


# --- The sources: one line, or the evidence piece by piece.


class _Sources(NamedTuple):
    """The graphs behind an answer, and the references that they give."""

    graphs: tuple[str, ...]
    references: tuple[str, ...]


def _behind(pieces: Iterable[Evidence]) -> _Sources:
    """The sources of some evidence, each once, in their order."""
    triples = [t for e in pieces for t in e.triples]
    graphs = dict.fromkeys(one_line(t.source) for t in triples if t.source)
    return _Sources(tuple(graphs), tuple(dict.fromkeys(plain(r) for t in triples for r in t.references)))


def _sources(run: Run, words: Catalogue, width: int) -> Iterator[Piece]:
    """One line: graphs, as many references as fit, how many more there are."""
    cited = run.context.cited
    found = _behind([cited[n - 1] for n in run.answer.citations if 0 < n <= len(cited)] or list(cited))
    begin = f"{'; '.join(found.graphs) or run.graph}"
    room = width - cells(f"{words('page.sources')}{begin}, {words('page.more', count=9999)}; {words('page.shows')}")
    listed: list[str] = []
    for reference in found.references:
        room -= cells(reference) + 2
        if room < 0:
            break
        listed.append(reference)
    yield f"{words('page.sources')}{begin}", "dim"
    for i, reference in enumerate(listed):
        yield ", " if i else "; ", "dim"
        yield linked(reference)
    more = len(found.references) - len(listed)
    yield f"{', ' if listed else '; '}{words('page.more', count=more)}" if more else "", "dim"
    yield f"; {words('page.shows')}", "dim"


def _show_evidence(out: Page, run: Run, words: Catalogue, shown: Detail) -> None:
    """The numbered evidence, and below each piece its triples with source and references."""
    numbered = [(i, e) for i, e in enumerate(run.context.cited, start=1) if e.triples or e.kind != "verdict"]
    if numbered:
        out((f"\n{words('page.evidence')}", "bold"))
    for i, evidence in numbered:
        score = f" ({evidence.kind}, {evidence.score:g})" if shown is Detail.ALL else ""
        out((f"[{i}]", "bold"), f" {one_line(evidence.text)}", (score, "dim"))
        for t in evidence.triples if shown is Detail.ALL else evidence.triples[:TRIPLES]:
            fact = one_line(str(t))
            said = "; ".join(dict.fromkeys(v for s in t.support for k, v in s.qualifiers if k == "frequency"))
            ids = [piece for e in (t.head, t.tail) if e.id for piece in (" ", linked(one_line(e.id)))]
            references = [piece for r in t.references[:5] for piece in ((", ", "dim"), linked(plain(r)))]
            about = f"    - {fact}{f' (frequency {said})' if said else ''} ·"
            out((about, "dim"), *ids, (f" · {one_line(t.source)}", "dim"), *references)
        more = len(evidence.triples) - TRIPLES
        if more > 0 and shown is not Detail.ALL:
            out((f"    - and {more} more triples; --explain shows them", "dim"))


def plain(reference: str) -> str:
    """A reference on one line, its brackets as they are."""
    return " ".join(reference.split())


def linked(reference: str) -> tuple[str, Look]:
    """An id or a reference with its address, where it has one: PMID:1 is a link to PubMed."""
    return reference, Look("dim", address(reference))


# --- What was made on the way, and with what.


def _show_rest(out: Page, run: Run, shown: Detail) -> None:
    """Notes; with everything also the reasoning and the verdicts."""
    for note in run.notes:
        out((f"Note: {note}", "dim"))
    if shown is not Detail.ALL:
        return
    if run.answer.reasoning:
        out(("\nReasoning", "bold"), f"\n{run.answer.reasoning}\n")
    for verdict in run.answer.verdicts:
        out((f"{verdict.label}: {verdict.sentence} ({verdict.reason})", "dim"))


def _made_with(run: Run, shown: Detail) -> Iterator[str]:
    """Graph, method, models and what they took; with everything also the settings and the prompts."""
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
    if shown is Detail.ALL:
        yield from (f"{kind}: {name}" for kind, name in run.models)
        yield from (f"prompt: {name}" for name in run.prompts)
        yield " ".join(["settings:", *(f"{name}={to_json(value)}" for name, value in run.settings)])


# --- MindMap's decision tree, with the steps that nothing bears out.


def tree_lines(run: Run) -> Iterator[str]:
    """The tree of a run's reasoning, and a line "! ..." for each step that is invented or unsupported."""
    if not run.answer.reasoning:
        return
    from kgmed.models.replies import outputs, tree
    from kgmed.steps.citations import sentences
    from kgmed.steps.tree import draw_text as drawn

    parts = outputs(run.answer.reasoning)
    trees = tree(parts.tree)
    if trees:
        yield ""
        yield "Decision tree"
        yield from drawn(trees).split("\n")
    said = set(sentences(run.answer.text))  # their verdicts are not about steps
    for verdict in run.answer.verdicts if parts.tree or parts.inference else ():
        if not verdict.supported and verdict.sentence not in said:
            yield f"! {verdict.sentence}: {verdict.reason}"


# `kgmed log`: what was asked before. It is kept in one file of the data folder and sent nowhere.

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
    """Delete all that was asked; the file keeps nothing of it."""
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
    typer.Option("--stream/--no-stream", help="Stream the model's reply; default: only on a terminal.", hidden=True),
]


@contextmanager
def show_words(wanted: bool | None, *, as_json: bool, begin: Callable[[], object] = lambda: None) -> Iterator[None]:
    """While the block runs, what readers have a model say is shown; `begin` is called before the first word.

    `wanted` None = only where both outputs are terminals. Raises `BadInput` where words are wanted beside JSON.
    """
    if wanted and as_json:
        raise BadInput("--stream shows words and --json prints data; take one of them")
    if as_json or not (sys.stdout.isatty() and sys.stderr.isatty() if wanted is None else wanted):
        yield
        return
    from kgmed.models.asking import listening as telling

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
        write_whole(path, svg(trees, title=run.question.text))
    except OSError as error:
        raise BadInput(f"{path}: cannot be written ({error.strerror}); name another file") from None


# --- `kgmed ask`: a question in, an answer with what it stands on out.


Option = Annotated[list[str] | None, typer.Option("--option", "-o", help="An answer option, as A=TEXT; repeatable.")]


# Set while a service runs the command for another process (`cli.serve.answering`): gives the session of a `Config`.
SERVED: ContextVar[Callable[[Config], Session] | None] = ContextVar("served", default=None)


@options.with_options(*options.OPTIONS)
def ask(
    config: Config,
    question: Annotated[
        list[str] | None, typer.Argument(help="The question; without it, or with -, standard input is read.")
    ] = None,
    option: Option = None,
    file: Annotated[Path | None, typer.Option("--file", "-f", help="Read the question from a text file.")] = None,
    go_on: Annotated[bool, typer.Option("--continue", "-c", help="Continue from the log's last question.")] = False,
    evidence: options.Evidence = False,
    explain: options.Explain = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole run as JSON.")] = False,
    language: Annotated[
        str, typer.Option(help="The language of the answer, as en, zh or ja; default: the question's.")
    ] = "",
    stream: Stream = None,
    svg: Annotated[
        Path | None, typer.Option(help="Write the decision tree of mindmap as an SVG image.", hidden=True)
    ] = None,
    service: Annotated[
        bool,
        typer.Option(help="Answer through this account's running kgmed serve; KGMED_SERVICE=0 = never.", hidden=True),
    ] = True,
) -> None:
    """Answer a question from a graph and show its evidence."""
    served = SERVED.get()
    if served and (stream or file or svg or not service or not question or question == ["-"]):
        raise BadInput("only the process that asks can do that")
    text, choices = _question(question, file), _choices(option or [])
    before = [store().get("last")] if go_on else []
    with ExitStack() as bar, show_words(stream, as_json=as_json, begin=bar.close):
        progress = bar.enter_context(screen.progress("building the graph (first use)", "rows", at_once=False))
        asked = served(config) if served else open_session(config, progress=progress)
        try:
            run = Conversation(asked, runs=before).ask(Question(text, language=language), options=choices)
        finally:
            if not served:
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
    found: dict[str, str] = {}
    for letter, meaning in map(_choice, texts):
        if letter in found:
            raise BadInput(f"the option {letter} is given twice")
        found[letter] = meaning
    return found


def _choice(text: str) -> tuple[str, str]:
    letter, equals, meaning = text.partition("=")
    if not (equals and letter.strip() and meaning.strip()):
        raise BadInput(f"the option {text!r} is not of the form A=TEXT")
    return letter.strip(), meaning.strip()


# `kgmed chat`: questions one after the other, each understood in the light of those before it.

PROMPT = "> "
HELP = (
    "Type a question; the next may refer to it: what treats it? what about gout?",
    "evidence  what the last answer stands on",
    "history   the questions so far",
    "help      this",
    "exit      end, as do quit and Ctrl-D; Ctrl-C stops an answer or clears a line",
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
    with closing(asked):
        _talk(Conversation(asked), stream, as_json=as_json, shown=detail(evidence=evidence, explain=explain))


def _talk(talk: Conversation, stream: bool | None, *, as_json: bool, shown: Detail) -> None:
    """Answer each line; what goes wrong with one is told, and the next is asked for."""
    for line in filter(None, _lines()):
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
        except KeyboardInterrupt:
            if not sys.stdin.isatty():
                raise
            screen.warn(["stopped"])
            continue
        if as_json:
            screen.data(run, indent=None)
        else:
            if (asked := run.question.text) != line:
                screen.lines([catalogue(language_of(run.question))("page.asked") + asked])
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
                try:
                    yield input(PROMPT).strip()
                except KeyboardInterrupt:
                    sys.stdout.write("\n")
        sys.stdout.write("\n")
        return
    yield from map(str.strip, sys.stdin)


def _failed(problem: KgmedError, *, as_json: bool) -> None:
    """Tell of a question that could not be asked."""
    if as_json:
        screen.data({"error": str(problem)}, indent=None)
        sys.stdout.flush()
    else:
        screen.warn([str(problem)])
