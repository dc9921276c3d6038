"""`kgmed eval check`: how often the check of an answer's sentences is right, on sentences made from a graph."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from kgmed.cli import options
from kgmed.cli import show as screen
from kgmed.config import AUTO, Config
from kgmed.errors import BadInput

if TYPE_CHECKING:
    from kgmed.evaluate.checking import CheckCase, Checking, Share

_BARS = {"true": 0.85, "number": 0.98, "unit": 0.98}  # the others: .95


@options.with_options("graph", "encoder", "config")
def check(
    config: Config,
    number: Annotated[int, typer.Option("--number", "-n", help="Triples that sentences are made of.", min=1)] = 300,
    part: Annotated[str, typer.Option(help="Of the forms of sentences: test, dev or dev2.")] = "test",
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
