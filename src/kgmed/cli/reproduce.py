"""`kgmed reproduce`: the tables and figures of the five papers, listed, costed and made."""

import shlex
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kgmed.cli import options
from kgmed.cli import show as screen
from kgmed.cli.evaluate import SOME_FAILED, formatted_cell
from kgmed.config import Config, assignments
from kgmed.errors import BadInput

if TYPE_CHECKING:
    from kgmed.evaluate.cost import Estimate
    from kgmed.evaluate.reproduce import PaperTable, Wanted

Trained = Annotated[list[str] | None, typer.Option(help="A model that you have trained for a row, as RLKGF=hf/FOLDER.")]
Train = Annotated[
    str, typer.Option(help='Train such rows, a model a data set: "smollm2", or as "smollm2 --policy free --steps 50".')
]
_Preset = Annotated[
    str,
    typer.Option(
        "--preset",
        help="paper = as the paper has it (the default here); code = as the authors' code; safe = as kgmed ask.",
        rich_help_panel=options.panel_of("preset"),
    ),
]
_OURS = ("graph", "method", "preset", "settings", "seed", "llm", "log")


@options.with_options(*(name for name in options.OPTIONS if name not in _OURS))
def reproduce(
    config: Config,
    table: Annotated[str, typer.Argument(help="A table, such as kg-rank/table2; --list names them.")] = "",
    every: Annotated[
        bool, typer.Option("--all", help="Every table that can be made, one after the other, each in OUT/TABLE.")
    ] = False,
    listed: Annotated[bool, typer.Option("--list", help="List every table and figure, and its status.")] = False,
    llm: Annotated[
        list[str] | None, typer.Option(help="A model; several are compared. openai/NAME@URL says where one is served.")
    ] = None,
    graph: Annotated[str, typer.Option("--graph", "-g", help="The graph; default: the closest one installed.")] = "",
    out: Annotated[Path | None, typer.Option(help="A folder; without it out/TABLE. It is resumed.")] = None,
    data: options.Data = Path("data"),
    number: Annotated[int, typer.Option("--number", "-n", help="Number of questions of each data set; 0 = all.")] = 0,
    sample: Annotated[int, typer.Option(help="Seed of the draw of --number questions.")] = 0,
    seed: Annotated[list[int] | None, typer.Option(help="A seed; repeat for mean and deviation.")] = None,
    metric_model: Annotated[
        list[str] | None, typer.Option(help="A model's folder for the metrics that need one, or METRIC=FOLDER.")
    ] = None,
    judge: Annotated[str, typer.Option(help="The model that judges, for tables of preferences.")] = "",
    trained: Trained = None,
    train: Train = "",
    preset: _Preset = "",
    threads: Annotated[int, typer.Option(help="Questions at once.", min=1)] = 1,
    again: Annotated[bool, typer.Option("--again", help="Also ask again what failed.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only list what is missing, with its cost.")] = False,
    probe: Annotated[int, typer.Option(help="Number of questions asked for that estimate.", min=1)] = 3,
    speed: Annotated[float, typer.Option(help="Tokens a second of your model, to estimate hours.", min=0)] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Make a table of one of the five papers with your models: our figures with intervals next to the paper's.

    Says first what is missing and what it will take at most. Exit codes are those of kgmed eval run; a table that
    lacks a data set, a row, a metric or an answer is incomplete: its first line says so, and the exit code is 3.
    """
    from kgmed.evaluate import reproduce as making

    if listed or not (table or every):
        _list(data, as_json=as_json)
        return
    if table and every:
        raise BadInput("name a table or give --all, not both")
    _check_names([*(llm or []), judge])
    named = assignments(trained or [])
    if every:
        making.check_trained(named)

    def wanted(found: "PaperTable") -> "Wanted":
        has = {label: model for label, model in named.items() if not every or label in found.trained}
        folder = Path("out") / found.id.replace("/", "-")
        folder = (out / folder.name if out and every else out) or folder
        has |= _trained(found, train * (not dry_run), data, folder)
        return making.Wanted(
            table=making.with_trained(found, has), data=data, out=folder,
            config=config.replace(
                graph=graph or making.graph_for(found), preset=preset or config.preset or "paper", log=False
            ),
            models=tuple(llm or ()), number=number, sample=sample, seeds=tuple(seed or [0]),
            metric_models=tuple(metric_model or ()), judge=judge if found.judge or not every else "",
        )  # fmt: skip

    def made(one: "Wanted") -> dict[str, Any]:
        _check(one)
        said = _said_before(one, probe, speed, as_json=as_json, dry=dry_run)
        return {} if dry_run else _make(one, said, threads=threads, again=again, as_json=as_json)

    if not every:
        told = [made(wanted(making.table(table)))]
    else:
        asked = [wanted(found) for found in making.tables().values() if found.datasets]
        told = list(_each(asked, made, write=not dry_run))
    if as_json and not dry_run:
        screen.data({"tables": told} if every else told[0])
    elif every and not dry_run:
        rows = ((one["table"], len(one["figures"]), one["incomplete"]) for one in told)
        screen.table(("table", "figures", "it lacks"), rows)
    if any(one.get("incomplete") for one in told):
        raise typer.Exit(SOME_FAILED)


def _trained(found: "PaperTable", how: str, data: Path, out: Path) -> dict[str, str]:
    """The rows that have a recipe, trained for each data set in a folder of the table's; label -> model."""
    from kgmed.cli.train import app
    from kgmed.evaluate.report.text import slug
    from kgmed.evaluate.reproduce import EACH, doable

    if not how or not found.recipes:
        return {}
    train, (model, *more) = typer.main.get_command(app), shlex.split(how)
    for label, name in product(found.recipes, doable(found, data).datasets):
        at, recipe = out / "trained" / slug(label) / name, shlex.split(found.recipes[label])
        given = [found.cases[name], "--data", str(data), "--model", model, *more]
        with redirect_stdout(sys.stderr):
            if recipe[0] != "sft":  # from a model that knows how an answer looks
                warm = ["--labels", "random", "--steps", "10", "--out", str(at / "warm")]
                train.main(["sft", *given, *warm], standalone_mode=False)
                recipe += ["--begin", str(at / "warm")]
            train.main([*recipe, *given, "--out", str(at)], standalone_mode=False)
    return {label: f"hf/{out / 'trained' / slug(label) / EACH / 'model'}" for label in found.recipes}


def _each(
    asked: "Sequence[Wanted]", made: "Callable[[Wanted], dict[str, Any]]", *, write: bool
) -> "Iterator[dict[str, Any]]":
    """What each of all tables holds; one that cannot be made here is told, written as the paper has it, and passed."""
    from kgmed.evaluate import reproduce as making

    none = sum(not one.can.any for one in asked)
    whole = sum(not one.can.missing for one in asked)
    screen.warn(
        [f"{len(asked)} tables: {whole} can be made whole here, {len(asked) - whole - none} in part, {none} not"]
    )
    for one in asked:
        try:
            yield made(one)
        except BadInput as why:
            screen.warn([f"{one.table.id}: {why}"])
            found = making.results(one)
            if write:
                making.write(one, found, f"kgmed {shlex.join(sys.argv[1:])}", f"{why}")
            yield {"table": one.table.id, "incomplete": f"{why}", "figures": found}


def _check_names(names: "Sequence[str]") -> None:
    """Refuse a model that there is not, before anything is counted."""
    from kgmed.models.named import check_name

    for name in filter(None, names):
        check_name(name)


def _check(wanted: "Wanted") -> None:
    """Refuse what cannot be made: a table without what it needs, or a judge that it does not ask."""
    if wanted.judge and not wanted.table.judge:
        raise BadInput(f"no judge is asked for {wanted.table.id}; leave --judge out")
    if not wanted.can.any:
        raise BadInput(f"{wanted.table.id} cannot be made here: {'; '.join(wanted.can.missing)}")


def _list(data: Path, *, as_json: bool) -> None:
    """Every table, and what of it can be had."""
    from kgmed.evaluate import reproduce as making

    rows = []
    for found in making.tables().values():
        can = making.doable(found, data)
        here = "no" if not can.any else "in part" if can.missing else "yes"
        rows.append({"id": found.id, "place": found.place, "shows": found.shows, "here": here, "missing": can.missing})
    if as_json:
        screen.data(rows)
    elif sys.stdout.isatty():
        screen.table(("table", "here", "what it shows"), ((r["id"], r["here"], r["shows"]) for r in rows))
        screen.lines(["", "here = whether it can be made with the data in this folder; why not: kgmed reproduce TABLE "
                      "--dry-run, or --list --json"])  # fmt: skip
    else:
        header = ("table", "place", "here", "what it shows", "missing")
        screen.table(header, ((r["id"], r["place"], r["here"], r["shows"], "; ".join(r["missing"])) for r in rows))


def _said_before(
    wanted: "Wanted", probe: int, speed: float, *, as_json: bool, dry: bool
) -> "list[tuple[str, Estimate]]":
    """What is missing and what it takes, said on standard error, or with --dry-run on standard output."""
    from kgmed.evaluate import reproduce as making

    with screen.progress("measuring", "methods"):
        said = making.costs(wanted, probe=probe)
    total = _total(said, speed)
    if dry and as_json:
        screen.data({"table": wanted.table.id, "missing": wanted.can.missing, "total": total,
                     "methods": [{"dataset": name, "estimate": one} for name, one in said]})  # fmt: skip
        return said
    lines = [
        f"{wanted.table.id}: {wanted.table.shows}",
        *(f"missing: {why}" for why in wanted.can.missing),
        f"{f'graph {wanted.config.graph}, preset {wanted.config.preset}, ' * bool(said)}folder {wanted.out}",
        total,
    ]
    if not dry:
        screen.warn(lines)
        return said
    screen.lines(lines)
    header = ("data set", "method", "answers", "calls", "at most", "tokens", "at most", "USD at most")
    screen.table(header, ((name, e.method, e.questions, e.calls, e.most, e.tokens, e.tokens_most,
                           formatted_cell(e.cost_most)) for name, e in said))  # fmt: skip
    return said


def _total(said: "Sequence[tuple[str, Estimate]]", speed: float) -> str:
    every = [one for _, one in said]
    if not every:
        return "no model is asked"
    tokens, money = sum(e.tokens_most or 0 for e in every), [e.cost_most for e in every]
    known = f"{sum(m or 0 for m in money):.2f} USD"
    usd = "USD unknown (put the price into prices.toml)" if any(m is None for m in money) else known
    hours = f", {tokens / speed / 3600:.1f} hours at {speed:g} tokens a second" if speed else ""
    return (
        f"it takes at most {sum(e.most for e in every):,} calls, {tokens:,} tokens, {usd}{hours}, and stops where it "
        f"would take more; about {sum(e.calls for e in every):,} calls and {sum(e.tokens or 0 for e in every):,} "
        "tokens with replies as long as they may be"
    )


@contextmanager
def _terminated_as_interrupted() -> Iterator[None]:
    """A block that SIGTERM ends as Ctrl-C does, so that the table of what is finished is still written."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _make(
    wanted: "Wanted", said: "Sequence[tuple[str, Estimate]]", *, threads: int, again: bool, as_json: bool
) -> dict[str, Any]:
    """The table, made and written, whatever ends it early, and told unless as JSON; what it holds."""
    from kgmed.evaluate import reproduce as making

    command = f"kgmed {shlex.join(sys.argv[1:])}"
    try:
        with _terminated_as_interrupted(), screen.counting("asking", "answers and verdicts") as asked:
            making.run(wanted, said, threads=threads, again=again, each=asked)
    finally:
        found = making.results(wanted)
        paths = making.write(wanted, found, command)
    lacks = making.incomplete(wanted, found)
    if not as_json:
        screen.lines([f"incomplete: {lacks}"] if lacks else [f"{wanted.table.id}: complete"])
        for one in [*making.as_tables(wanted, found), *making.verdict_tables(wanted)]:
            screen.lines([one.title])
            screen.table(one.header, ([formatted_cell(cell) for cell in row] for row in one.rows))
            screen.lines([""])
        screen.lines([*making.differed(wanted, found), f"Written: {', '.join(map(str, paths))}"])
    return {
        "table": wanted.table.id, "incomplete": lacks, "asked now": asked.count, "figures": found,
        "verdicts": making.verdict_tables(wanted), "differed": making.differed(wanted, found),
        "files": [str(p) for p in paths],
    }  # fmt: skip
