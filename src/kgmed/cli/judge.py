"""`kgmed eval judge`, `ratings`, `sheets`, `show`, `linking` and `check`: answers, links and sentences compared."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kgmed.cli import options
from kgmed.cli import show as screen
from kgmed.config import AUTO, Config
from kgmed.errors import BadInput, UnknownName

# `kgmed eval linking`: how many names, and what in texts, is linked to the right entity of a graph.

if TYPE_CHECKING:
    from kgmed.evaluate.checking import Checking, Share
    from kgmed.evaluate.linking import LinkingPlace
    from kgmed.evaluate.sheets import Filled
    from kgmed.graph.formats.releases import Document
    from kgmed.toolkit import Toolkit

# --- `kgmed eval linking` and `kgmed eval check`: how often names are linked, and sentences judged, as they should be.

ADVERSARIAL = "adversarial"  # made from the graph by rule, from no file
Names = list[tuple[str, tuple[str, ...]]]


@options.with_options("graph", "encoder", "config")
def linking(
    config: Config,
    dataset: Annotated[
        str, typer.Option("--set", "-s", help="bc5cdr, adversarial, or xlbel- and a language: xlbel-en, ...")
    ],
    data: options.Data = Path("data"),
    part: Annotated[str, typer.Option(help="train, dev or test, where the set has parts.")] = "test",
    number: Annotated[int, typer.Option("--number", "-n", help="Only the first so many; 0 = all.", min=0)] = 0,
    seeds: Annotated[int, typer.Option(help="Of adversarial: number of draws of names.", min=1)] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Link the names of a set, and what is recognised in its texts, and hold it against the concepts marked there."""
    from kgmed.evaluate.linking import Concepts, LinkingCase, recall, spot
    from kgmed.records import Question
    from kgmed.session import open_session
    from kgmed.toolkit import Toolkit

    documents, names = _read_texts(dataset, data, part, number) if dataset != ADVERSARIAL else ([], [])
    if config.graph == AUTO:
        raise BadInput("name the graph to link to: --graph NAME")
    toolkit = open_session(config).toolkit(config.graph)
    if not isinstance(toolkit, Toolkit):
        raise BadInput("linking is measured on a graph whose files are here")
    if dataset == ADVERSARIAL:
        _traps(toolkit, number or 40, seeds, as_json=as_json)
        return
    concepts = Concepts(toolkit.graph)
    cases = [LinkingCase(name, concepts(ids)) for name, ids in names]
    known, unknown = [c for c in cases if c.right], [c for c in cases if not c.right]
    found = asdict(r := recall(toolkit.link, known)) | {"s.e.": r.error, "precision": r.precision} if known else {}
    told: dict[str, Any] = {
        "set": dataset, "graph": toolkit.graph.label, "encoder": toolkit.encoder.name, "names": len(cases),
        "in the graph": len(known), "recall@1": found.get("first"), "s.e.": found.get("s.e."),
        "recall@5": found.get("five"), "linked": found.get("linked"), "precision": found.get("precision"),
        "linked though not in the graph": recall(toolkit.link, unknown).linked if unknown else None,
    }  # fmt: skip
    if misplaced := [mark for document in documents for mark in document.misplaced]:
        told["marks left out"] = len(misplaced)
        told["first left out"] = f"line {misplaced[0].line} {misplaced[0]}"
    if documents:
        with screen.progress("reading", "texts") as progress:
            seen = spot(lambda text: toolkit.understood(Question(text)), map(_text, documents), concepts, each=progress)
        told |= {"in texts": asdict(seen) | {"precision": seen.precision, "recall": seen.recall, "f1": seen.f1}}
    if as_json:
        screen.data(told)
        return
    screen.lines(f"{name}: {_shown(value)}" for name, value in told.items() if name != "in texts")
    if documents:
        screen.lines(["", "From the texts alone"])
        screen.lines(f"{name}: {_shown(value)}" for name, value in told["in texts"].items())


def _traps(toolkit: "Toolkit", each: int, seeds: int, *, as_json: bool) -> None:
    """Show how often names that the graph lacks were linked, a row a draw and rule, and the links that were wrong."""
    from kgmed.evaluate.generated import gate, told

    drawn = [gate(toolkit, each=each, seed=seed) for seed in range(seeds)]
    rows: list[tuple[object, ...]] = [("draw", "rule", "cases", "other drug", "opposite", "other entity")]
    rows += [(seed, *row) for seed, (cases, wrong) in enumerate(drawn) for row in told(cases, wrong)]
    bad = [(seed, t) for seed, (_, wrong) in enumerate(drawn) for t in wrong]
    links = [(t.case.rule, t.case.text, t.link.mention.surface, t.link.entity.name, t.wrong) for _, t in bad]
    if as_json:
        screen.data({"graph": toolkit.graph.label, "rows": rows, "links": links})
        return
    screen.lines("\t".join(map(str, row)) for row in rows)
    screen.lines(f"{rule}: {text} [{said} = {name}] {what}" for rule, text, said, name, what in links)


def _read_texts(name: str, data: Path, part: str, number: int) -> "tuple[list[Document], Names]":
    """The texts of a set, if it has any, and its names with their concepts, each name of a concept once."""
    from kgmed.evaluate.datasets import known_other
    from kgmed.evaluate.datasets.described import BC5CDR, read_abstracts

    found = known_other(name, "linking", data)
    limit = number or None
    if found.name != "bc5cdr":
        pairs: Iterator[tuple[str, str]] = islice(found.read(data), limit)
        return [], [(mention, (concept,)) for mention, concept in pairs]
    if part not in BC5CDR:
        raise UnknownName("part", part, BC5CDR)
    documents = list(islice(read_abstracts(data / BC5CDR[part]), limit))
    marked = dict.fromkeys((m.surface, m.ids) for d in documents for m in d.marked if len(m.ids) == 1)
    return documents, list(marked)


def _text(document: "Document") -> "tuple[str, Sequence[LinkingPlace]]":
    from kgmed.evaluate.linking import LinkingPlace as Place

    return document.text, [Place(m.start, m.end, m.ids) for m in document.marked]


def _shown(value: object) -> object:
    return "-" if value is None else f"{value:.4f}" if isinstance(value, float) else value


# `kgmed eval check`: how often the check of an answer's sentences is right, on sentences made from a graph.


_BARS = {"true": 0.85, "number": 0.98, "unit": 0.98}  # the others: .95


@options.with_options("graph", "encoder", "config")
def check(
    config: Config,
    number: Annotated[int, typer.Option("--number", "-n", help="Number of triples to make sentences of.", min=1)] = 300,
    part: Annotated[str, typer.Option(help="Sentence forms: test, held, third, fourth, dev or dev2.")] = "test",
    seed: Annotated[int, typer.Option(help="Seed of the draw.")] = 0,
    wrong: Annotated[int, typer.Option(help="Number of wrongly judged sentences to list.", min=0)] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Check sentences that are true in a graph, and false variants of them, against their evidence."""
    from kgmed.evaluate.checking import Maker, checked
    from kgmed.session import open_session
    from kgmed.toolkit import Toolkit

    if config.graph == AUTO:
        raise BadInput("name the graph whose triples are said: --graph NAME")
    toolkit = open_session(config).toolkit(config.graph)
    if not isinstance(toolkit, Toolkit):
        raise BadInput("sentences are made of a graph whose files are here")
    cases = list(Maker(toolkit.graph, part, seed=seed).cases(number))
    with screen.progress("checking", "sentences") as progress:
        found = checked(toolkit.check, cases, each=progress)
    mistakes = [
        {"kind": case.kind, "sentence": case.sentence, "right": case.want, "said": label, "because": why}
        for case, label, why in found.rows if label != case.want
    ][:wrong]  # fmt: skip
    if as_json:
        told: dict[str, Any] = {"graph": toolkit.graph.label, "part": part, "seed": seed, **found.to_json()}
        screen.data(told | ({"wrong": mistakes} if wrong else {}))
        return
    screen.lines([f"{len(cases):,} sentences of {toolkit.graph.label}, forms of part {part}, seed {seed}", ""])
    _show(found)
    if mistakes:
        screen.lines([""])
        screen.table(tuple(mistakes[0]), (list(row.values()) for row in mistakes))


def _show(found: "Checking") -> None:
    from kgmed.evaluate.checking import KINDS, LABELS

    kinds = [(kind, found.right(kind)) for kind in KINDS]
    rows = [_row(kind, share) for kind, share in kinds if share.n]
    screen.table(("sentences", "n", "true supported, false flagged", "95 % (Wilson)", "wanted"), rows)
    screen.lines(["", "What was right (rows) and what was said (columns)"])
    table = found.confusion
    screen.table(("", *LABELS), ([want, *(table[want][label] for label in LABELS)] for want in LABELS))


def _row(kind: str, share: "Share") -> tuple[object, ...]:
    low, high = share.interval
    return kind, share.n, f"{share.share:.3f}", f"{low:.3f}-{high:.3f}", f">= {_BARS.get(kind, 0.95)}"


# `kgmed eval judge` and `kgmed eval ratings`: answers compared by a model and by people, and whether the two agree.

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Out = Annotated[Path, typer.Argument(help="The folder of the evaluation.")]
Kind = Annotated[str, typer.Option(help="pair = four criteria, mindmap = its four criteria, rank = all in order.")]
Judged = Annotated[Path | None, typer.Option(help="A folder of kgmed eval judge, to compare with the ratings.")]


@options.with_options(*options.MODEL)
def judge(
    config: Config,
    out: Out,
    kind: Annotated[
        str, typer.Option(help="pair = four criteria, mindmap = its four criteria, rank = all in order.")
    ] = "pair",
    method: Annotated[list[str] | None, typer.Option("--method", "-m", help="A method; without it all.")] = None,
    to: Annotated[Path | None, typer.Option(help="The folder of the judgements; without it OUT/judge-KIND.")] = None,
    data: options.Data = Path("data"),
    number: Annotated[int, typer.Option("--number", "-n", help="Only so many questions, the first.", min=0)] = 0,
    seed: Annotated[int | None, typer.Option(help="Which runs are judged, where there are several seeds.")] = None,
    positions: Annotated[int, typer.Option(help="Seed of the order of the answers.")] = 0,
    threads: Annotated[int, typer.Option(help="Concurrent calls.", min=1)] = 1,
    max_tokens: Annotated[int, typer.Option(help="The longest reply of the judge.", min=1)] = 128,
    again: Annotated[bool, typer.Option("--again", help="Also ask again where the model failed.")] = False,
    as_json: Json = False,
) -> None:
    """Let a model judge the answers of an evaluation, in both orders; goes on where it was stopped."""
    from kgmed.evaluate import judge as judging
    from kgmed.evaluate.log import entries
    from kgmed.evaluate.run import reopened
    from kgmed.models.named import llm_of

    told = judging.kind_of(kind)
    opened = llm_of(config)
    if opened is None:
        raise BadInput("a judge is needed: --llm NAME, or --cache FILE --cache-mode replay")
    plan = reopened(out, data).plan()
    if unknown := sorted({*(method or [])} - {*plan.methods}):
        raise BadInput(f"{out} has no method {unknown[0]!r}; it has {', '.join(plan.methods)}")
    if seed is not None and seed not in plan.seeds:
        raise BadInput(f"{out} has no runs with the seed {seed}; it has {', '.join(map(str, plan.seeds))}")
    items = list(plan.items)[:number] if number else plan.items
    bench = judging.Judging(
        told, tuple(method or plan.methods), items, entries(out), opened, plan.seeds[0] if seed is None else seed,
        positions, max_tokens, config.prompts,
    )  # fmt: skip
    folder = to or out / f"judge-{kind}"
    with screen.counting("judging", "judgements") as done:
        judging.judge(bench, folder, threads=threads, again=again, each=done)
    _tell(folder, done.count, as_json=as_json)


def _tell(folder: Path, done: int, *, as_json: bool) -> None:
    """What the judgements in a folder come to."""
    from kgmed.evaluate.judge import Verdicts
    from kgmed.evaluate.scores import interval

    told = Verdicts.open(folder)
    duels, places, bias = told.duels(), told.places(), told.bias()
    if as_json:
        screen.data({"asked now": done, "folder": str(folder), "judge": told.manifest["judge"],
                     "duels": duels, "places": places, "bias": bias})  # fmt: skip
        return
    if duels:
        header = ("criterion", "first", "second", "n", "wins", "ties", "losses", "flipped", "failed", "no answer",
                  "wins - losses", "95 % interval")  # fmt: skip
        screen.table(header, ((d.criterion, d.first, d.second, d.n, d.wins, d.ties, d.losses, d.flipped, d.failed,
                               d.ruled, f"{d.net.mean:+.4f}", interval(d.net, "+.4f")) for d in duels))  # fmt: skip
    if places:
        titles = ("method", "mean place", "95 % interval", "n", "failed")
        screen.table(titles, ((p.method, f"{p.place.mean:.4f}", interval(p.place, "+.4f"), p.place.n, p.failed)
                              for p in places))  # fmt: skip
    first = f"{bias.first.mean:.4f} (s.e. {bias.first.error:.4f}) of {bias.judgements} judgements with a winner"
    screen.lines([
        f"The answer shown first wins {first}; without bias {bias.expected:.4f}."
        if bias.judgements
        else "No judgement has a winner, so that nothing can be said of the places.",
        f"Judge: {told.manifest['judge']}; asked now: {done}; in {folder}",
    ])  # fmt: skip


def ratings(
    file: Annotated[Path, typer.Argument(help="A CSV file with the columns item, method, rater, rating (1, 0, -1).")],
    judged: Judged = None,
    as_json: Json = False,
) -> None:
    """The means of people's ratings x 100 (ACJ), how far raters agree, and how far a judge agrees with them."""
    from kgmed.evaluate import judge as rated
    from kgmed.evaluate.judge import Verdicts
    from kgmed.evaluate.scores import interval

    found = rated.read(file)
    means, between = rated.acj(found), rated.between_raters(found)
    verdicts = Verdicts.open(judged) if judged else None
    by = {c: rated.with_judge(found, verdicts.decisions(c)) for c in verdicts.criteria} if verdicts else {}
    if as_json:
        screen.data({"acj": means, "raters": between, "judge": by})
        return
    screen.table(("method", "ACJ", "s.e.", "95 % interval", "items", "ratings", "missing"),
                 ((m.method, f"{m.mean.mean:.2f}", f"{m.mean.error:.2f}", interval(m.mean, ".2f"),
                   m.mean.n, m.ratings, m.missing) for m in means))  # fmt: skip
    agreements = {"between raters": between} | {f"judge, {c}": a for c, a in by.items()}
    screen.table(("agreement", "", "value", "the same", "n", "missing"),
                 ((name, a.name, "-" if a.value is None else f"{a.value:.4f}", f"{a.same:.4f}", a.n, a.missing)
                  for name, a in agreements.items() if a))  # fmt: skip


# `kgmed eval sheets` and `show`: sheets of retrieved knowledge for raters, and a data set before it is asked.


SheetsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
_SHOWN = 200  # characters of a question


def sheets(
    out: Annotated[Path | None, typer.Argument(metavar="[OUT]", help="The folder of the evaluation.")] = None,
    to: Annotated[Path | None, typer.Option("--out", "-o", help="Write the sheets to this .csv file.")] = None,
    read: Annotated[list[Path] | None, typer.Option("--read", help="A filled table; several, one a rater.")] = None,
    key: Annotated[Path | None, typer.Option(help="The key of methods; default: FILE.key.csv.")] = None,
    method: Annotated[list[str] | None, typer.Option("--method", "-m", help="A method; without it all.")] = None,
    number: Annotated[int, typer.Option("--number", "-n", help="So many questions; 0 = all.", min=0)] = 0,
    sample: Annotated[int, typer.Option(help="Seed of the questions that --number draws, and of the order.")] = 0,
    data: options.Data = Path("data"),
    as_json: SheetsJson = False,
) -> None:
    """Write blinded sheets of retrieved knowledge for raters (ACJ of HyKGE), or read them back with --read."""
    if read:
        _read(read, key or _key_of(read[0]), as_json=as_json)
    elif out and to:
        _write(out, to, key or _key_of(to), method or [], number, sample, data)
    else:
        raise BadInput("say what to do: kgmed eval sheets OUT --out FILE.csv, or kgmed eval sheets --read FILE.csv")


def _key_of(path: Path) -> Path:
    from kgmed.evaluate.sheets import KEY

    return path.with_name(path.stem + KEY)


def _write(out: Path, to: Path, key: Path, methods: list[str], number: int, sample: int, data: Path) -> None:
    """Write the sheets and their key."""
    from dataclasses import replace

    from kgmed.evaluate import sheets as made
    from kgmed.evaluate.log import entries
    from kgmed.evaluate.report.page import write_file
    from kgmed.evaluate.run import reopened

    plan = reopened(out, data).plan()
    if unknown := sorted({*methods} - {*plan.methods}):
        raise BadInput(f"{out} has no method {unknown[0]!r}; it has {', '.join(plan.methods)}")
    if taken := [path for path in (to, key) if path.exists()]:
        raise BadInput(f"{taken[0]} is there already, perhaps filled in; name another file")
    drawn = made.drawn(plan.items, number, sample)
    of = made.sheets(replace(plan, items=drawn), entries(out), methods or plan.methods, sample=sample)
    write_file(to, made.table(of))
    write_file(key, made.key(of))
    empty = sum(len(s.of) for s in of if s.name == made.NOTHING)
    screen.lines([
        f"{to}: {sum(s.name != made.NOTHING for s in of)} sheets of {len(drawn)} questions, for raters: write your name"
        " under rater and a number under rating",
        made.ASKED,
        f"{key}: what is whose; raters must not see it",
        *([f"{empty} times nothing was retrieved: counted as -1, without a sheet"] if empty else []),
        f"Then: kgmed eval sheets --read {to}",
    ])  # fmt: skip


def _read(paths: list[Path], key: Path, *, as_json: bool) -> None:
    from kgmed.evaluate.scores import interval
    from kgmed.evaluate.sheets import filled, read_key

    told = filled(paths, read_key(key))
    if as_json:
        screen.data(told)
        return
    screen.table(("method", "ACJ", "s.e.", "95 % interval", "questions", "ratings", "missing", "nothing retrieved"),
                 ((m.method, f"{m.mean.mean:.2f}", f"{m.mean.error:.2f}", interval(m.mean, ".2f"),
                   m.mean.n, m.ratings, m.missing, told.nothing.get(m.method, 0)) for m in told.means))  # fmt: skip
    screen.lines(["", _agreement(told), f"{told.sheets} sheets, {told.unrated} of them without a rating"])


def _agreement(told: "Filled") -> str:
    found = told.agreement
    if found is None:
        return "Agreement cannot be told of one rater"
    value = "cannot be told (all ratings are the same)" if found.value is None else f"{found.value:.4f}"
    return f"Agreement ({found.name}): {value}; the same in {found.same:.4f} of the pairs, n {found.n}"


def show(
    name: Annotated[str, typer.Argument(help="A data set's name, NAME[SUBJECT], hub/OWNER/NAME, or a file.")],
    data: options.Data = Path("data"),
    as_json: SheetsJson = False,
) -> None:
    """Say how a data set is understood before it is asked: columns, parts, subjects, its first question."""
    from kgmed.evaluate.datasets import dataset, load

    found, items = dataset(name), load(name, data)
    parts, subjects = Counter(i.part for i in items), Counter(i.subject for i in items if i.subject)
    told = {"name": name, "title": found.title, "task": found.task, "items": len(items), "columns": found.columns,
            "parts": dict(parts), "subjects": dict(subjects), "question": _lengths([i.question.text for i in items]),
            "reference": _lengths([i.gold.texts[0] for i in items if i.gold.texts]),
            "with several right": sum(len(i.gold.choices) > 1 for i in items)}  # fmt: skip
    if as_json:
        screen.data(told | {"first": items[0] if items else None})
        return
    listed = {k: ", ".join(f"{n} {c}" for n, c in v.items()) if isinstance(v, dict) else v for k, v in told.items()}
    screen.lines(f"{k}: {v}" for k, v in listed.items() if v not in ("", 0))
    for item in items[:1]:
        question = item.question
        screen.lines(["", f"{question.id}: {_cut(question.text)}"])
        screen.lines(
            f"  {'*' if letter in item.gold.choices else ' '} {letter} {_cut(t)}" for letter, t in question.options
        )
        screen.lines(f"  reference: {_cut(text)}" for text in item.gold.texts[:1])


def _lengths(texts: list[str]) -> dict[str, float]:
    """Mean sentences and words of texts, of Chinese characters; {} without one."""
    from statistics import fmean

    from kgmed.evaluate.metrics.text import words
    from kgmed.steps.citations import sentences

    if not texts:
        return {}
    means = {"sentences": fmean(len(sentences(t)) for t in texts), "words": fmean(len(words(t)) for t in texts)}
    return {what: round(mean, 2) for what, mean in means.items()}


def _cut(text: str) -> str:
    plain = " ".join(text.split())
    return plain if len(plain) <= _SHOWN else f"{plain[:_SHOWN]}…"
