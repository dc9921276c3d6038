"""`kgmed eval linking` and `kgmed eval check`: how often names are linked, and sentences judged, as they should be."""

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
    from kgmed.evaluate.linking import Concepts, LinkingCase, LinkingPlace
    from kgmed.graph.formats.pubtator import Document
    from kgmed.toolkit import Toolkit

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
    seeds: Annotated[int, typer.Option(help="Of adversarial: so many draws of names, one after the other.", min=1)] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Link the names of a set, and what is recognised in its texts, and hold it against the concepts marked there."""
    from kgmed.evaluate.linking import Concepts, recall, spot
    from kgmed.records import Question
    from kgmed.session import open_session
    from kgmed.toolkit import Toolkit

    documents, names = _read(dataset, data, part, number) if dataset != ADVERSARIAL else ([], [])
    if config.graph == AUTO:
        raise BadInput("name the graph to link to: --graph NAME")
    toolkit = open_session(config).toolkit(config.graph)
    if not isinstance(toolkit, Toolkit):
        raise BadInput("linking is measured on a graph whose files are here")
    if dataset == ADVERSARIAL:
        _traps(toolkit, number or 40, seeds, as_json=as_json)
        return
    concepts = Concepts(toolkit.graph)
    cases = _cases(names, concepts)
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


def _read(name: str, data: Path, part: str, number: int) -> "tuple[list[Document], Names]":
    """The texts of a set, if it has any, and its names with their concepts, each name of a concept once."""
    from kgmed.evaluate.datasets import annotated, known_other

    found = known_other(name, "linking", data)
    limit = number or None
    if found is not annotated.BC5CDR:
        pairs: Iterator[tuple[str, str]] = islice(found.read(data), limit)
        return [], [(mention, (concept,)) for mention, concept in pairs]
    if part not in annotated.FILES:
        raise UnknownName("part", part, annotated.FILES)
    documents = list(islice(annotated.read_bc5cdr(data, part=part), limit))
    marked = dict.fromkeys((m.surface, m.ids) for d in documents for m in d.marked if len(m.ids) == 1)
    return documents, list(marked)


def _cases(names: Names, concepts: "Concepts") -> "list[LinkingCase]":
    from kgmed.evaluate.linking import LinkingCase as Case

    return [Case(name, concepts(ids)) for name, ids in names]


def _text(document: "Document") -> "tuple[str, Sequence[LinkingPlace]]":
    from kgmed.evaluate.linking import LinkingPlace as Place

    return document.text, [Place(m.start, m.end, m.ids) for m in document.marked]


def _shown(value: object) -> object:
    return "-" if value is None else f"{value:.4f}" if isinstance(value, float) else value


# `kgmed eval check`: how often the check of an answer's sentences is right, on sentences made from a graph.

if TYPE_CHECKING:
    from kgmed.evaluate.checking import CheckCase, Checking, Share

_BARS = {"true": 0.85, "number": 0.98, "unit": 0.98}  # the others: .95


@options.with_options("graph", "encoder", "config")
def check(
    config: Config,
    number: Annotated[int, typer.Option("--number", "-n", help="Triples that sentences are made of.", min=1)] = 300,
    part: Annotated[str, typer.Option(help="Of the forms: test, held, third, fourth, dev or dev2.")] = "test",
    seed: Annotated[int, typer.Option(help="Of what is drawn.")] = 0,
    wrong: Annotated[int, typer.Option(help="List so many sentences that were judged wrongly.", min=0)] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Check sentences that are true in a graph, and the same made false in known ways, beside their evidence."""
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
    mistakes = [_mistake(case, label, why) for case, label, why in found.rows if label != case.want][:wrong]
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
    """The figures as two tables."""
    from kgmed.evaluate.checking import KINDS, LABELS

    kinds = [(kind, found.right(kind)) for kind in KINDS]
    rows = [_row(kind, share) for kind, share in kinds if share.n]
    screen.table(("sentences", "n", "true borne out, false flagged", "95 % (Wilson)", "wanted"), rows)
    screen.lines(["", "What was right (rows) and what was said (columns)"])
    table = found.confusion
    screen.table(("", *LABELS), ([want, *(table[want][label] for label in LABELS)] for want in LABELS))


def _row(kind: str, share: "Share") -> tuple[object, ...]:
    low, high = share.interval
    wanted = _BARS.get(kind, 0.95)
    return kind, share.n, f"{share.share:.3f}", f"{low:.3f}-{high:.3f}", f">= {wanted}"


def _mistake(case: "CheckCase", label: str, why: str) -> dict[str, str]:
    return {"kind": case.kind, "sentence": case.sentence, "right": case.want, "said": label, "because": why}
