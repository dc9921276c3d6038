"""`kgmed eval`: methods compared on data sets, with a log that outlives the process and scores computed from it."""

from collections import Counter
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from kgmed.cli import choices
from kgmed.cli import show as screen
from kgmed.cli.judge import judge, ratings
from kgmed.cli.linking import linking
from kgmed.cli.report import report
from kgmed.cli.sweep import REST, sweep
from kgmed.errors import BadInput
from kgmed.setup import Setup

app = typer.Typer(no_args_is_help=True)
app.command()(report)
app.command()(judge)
app.command()(ratings)
app.command()(linking)
app.command(context_settings=REST)(sweep)
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Out = Annotated[Path, typer.Argument(help="The folder of the evaluation.")]
Metric = Annotated[list[str] | None, typer.Option("--metric", help="A metric; without it those of the task.")]


@app.command()
def datasets(data: choices.Data = Path("data"), as_json: Json = False) -> None:
    """List the data sets: what is there, what is missing and where it comes from."""
    from kgmed.evaluate.datasets import checksum, missing, others
    from kgmed.evaluate.datasets import datasets as known

    rows: list[dict[str, Any]] = []
    for found in (*known().values(), *others().values()):
        lacking = missing(found, data)
        told = {k: v for k, v in asdict(found).items() if k != "read"}
        rows.append(told | {"missing": lacking, "sha256": "" if lacking else checksum(found, data)})
    if as_json:
        screen.data(rows)
        return
    header = ("name", "task", "languages", "items", "there", "licence", "title", "from", "for")
    screen.table(header, ((r["name"], r["task"], " ".join(r["languages"]), r["items"],
                           "no" if r["missing"] else r["sha256"][:12], r["licence"], r["title"], r["source"], r["use"])
                          for r in rows))  # fmt: skip


@app.command()
def metrics(as_json: Json = False) -> None:
    """List the metrics: formula, source, what a failed run counts as."""
    from kgmed.evaluate.metrics import metrics as known
    from kgmed.evaluate.metrics.made import NEEDS

    found = list(known().values())
    if as_json:
        plain = [{k: v for k, v in asdict(m).items() if k not in ("score", "ready")} for m in found]
        screen.data([*plain, *({"name": name, "made from": needs} for name, needs in NEEDS.items())])
        return
    header = ("name", "formula", "source", "of a failed run")
    rows = [(m.name, m.formula, m.source, "-" if m.failed is None else m.failed) for m in found]
    screen.table(
        header, [*rows, *((name, f"made from {needs}", "docs/metrics.md", "") for name, needs in NEEDS.items())]
    )


@app.command()
@choices.taking(*(name for name in choices.OPTIONS if name not in ("graph", "method", "assign")))
def run(
    setup: Setup,
    out: Out,
    dataset: Annotated[
        str, typer.Option("--set", "-s", help="A data set's name, hub/OWNER/NAME, or a .jsonl file of your own.")
    ],
    method: Annotated[
        list[str], typer.Option("--method", "-m", help="A method; +random, +shuffled or +oracle for a control.")
    ],
    graph: Annotated[str, typer.Option("--graph", "-g", help="The graph that all are asked on.")],
    data: choices.Data = Path("data"),
    part: Annotated[str, typer.Option(help="train, dev or test.")] = "test",
    number: Annotated[int, typer.Option("--number", "-n", help="So many questions, drawn by --sample; 0 = all.")] = 0,
    sample: Annotated[int, typer.Option(help="Which questions --number draws.")] = 0,
    seed: Annotated[list[int] | None, typer.Option(help="A seed; give several for several runs of each.")] = None,
    threads: Annotated[int, typer.Option(help="Questions at once in this process.", min=1)] = 1,
    workers: Annotated[int, typer.Option(help="Processes, each with its own models.", min=0)] = 0,
    ray: Annotated[str, typer.Option(help="The address of a Ray cluster.")] = "",
    again: Annotated[bool, typer.Option("--again", help="Also ask again what failed.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what it would take.")] = False,
    probe: Annotated[int, typer.Option(help="With --dry-run: ask so many questions to measure tokens.", min=0)] = 0,
    as_json: Json = False,
) -> None:
    """Ask every question of every method; a run that was stopped goes on where it was."""
    from kgmed.evaluate.crews import crew
    from kgmed.evaluating import Trial, estimate, evaluate

    trial = Trial(
        methods=tuple(method), dataset=dataset, data=data, setup=replace(setup, graph=graph), part=part,
        limit=number, sample=sample, seeds=tuple(seed or [0]),
    )  # fmt: skip
    if dry_run:
        told = estimate(trial, probe=probe)
        if as_json:
            screen.data(told)
        else:
            header = tuple(asdict(told[0]))
            screen.table(header, ([_cell(v) for v in asdict(row).values()] for row in told))
        return
    who = crew(threads=threads, workers=workers, ray=ray)
    with screen.progress("asking", "answers") as progress:
        asked = 0

        def each(_: object) -> None:
            nonlocal asked
            asked += 1
            progress(asked)

        evaluate(trial, out, who, again=again, each=each)
    _tell(out, data, asked, as_json=as_json)


def _tell(out: Path, data: Path, asked: int, *, as_json: bool) -> None:
    """What is in the log now."""
    from kgmed.evaluate.log import digest, entries

    found = entries(out)
    failed = Counter(e.job.method for e in found.values() if e.run is None)
    told = {"asked now": asked, "in the log": len(found), "failed": dict(failed), "digest": digest(found)}
    if as_json:
        screen.data(told)
        return
    screen.lines(f"{name}: {value}" for name, value in told.items() if value != {})
    screen.lines([f"Scores: kgmed eval score {out} --data {data}"])


@app.command()
def score(
    out: Out,
    data: choices.Data = Path("data"),
    metric: Metric = None,
    against: Annotated[str, typer.Option(help="Compare every method with this one.")] = "",
    metric_model: Annotated[
        list[str] | None, typer.Option(help="A model's folder for the metrics that need one, or METRIC=FOLDER.")
    ] = None,
    layer: Annotated[int, typer.Option(help="Which layer BERTScore and MoverScore read; -1 = the last.")] = -1,
    idf: Annotated[bool, typer.Option("--idf", help="BERTScore weighs words by their rarity.")] = False,
    baseline: Annotated[Path | None, typer.Option(help="Rescale BERTScore by this file.")] = None,
    keywords: Annotated[str, typer.Option(help="The graph whose names hallucination compares; else words.")] = "",
    as_json: Json = False,
) -> None:
    """Score what the log holds; failures count as failures."""
    from kgmed.evaluate import scores
    from kgmed.evaluate.datasets import dataset, load
    from kgmed.evaluate.log import entries
    from kgmed.evaluate.metrics import PLAIN
    from kgmed.evaluate.metrics import metric as named
    from kgmed.evaluate.metrics.made import MADE, Choices, make, models
    from kgmed.evaluating import reopened

    trial = reopened(out, data)
    plan, found = trial.plan(), entries(out)
    if against and against not in plan.methods:
        raise BadInput(f"{out} has no method {against!r}; it has {', '.join(plan.methods)}")
    names = metric or PLAIN[dataset(trial.dataset).task]
    whole = load(trial.dataset, data) if {*names} & {*MADE} else []
    chosen = Choices(models(metric_model or []), layer, idf, baseline, keywords)
    made = {name: make(name, chosen, whole) for name in dict.fromkeys(names) if name in MADE}
    wanted = [m for name in names for m in made.get(name) or (named(name),)]
    told = scores.score(found, plan, wanted)
    compared = scores.against(told, against) if against else []
    sources = {m.name: m.source for some in made.values() for m in some}
    if as_json:
        screen.data({"scores": told, "against": compared, "made": sources})
        return
    header = ("method", "metric", "mean", "s.e.", "95 % interval", "n", "without")
    screen.table(header, ((s.method, s.metric, f"{s.mean.mean:.4f}", f"{s.mean.error:.4f}",
                           f"{s.mean.low:.4f} to {s.mean.high:.4f}", s.mean.n, s.without) for s in told))  # fmt: skip
    screen.lines(f"{name}: {source}" for name, source in sources.items())
    if compared:
        screen.lines([""])
        titles = ("method", f"against {against} in", "difference", "95 % interval", "p", "p corrected", "test", "n")
        screen.table(titles, ((c.method, c.metric, f"{c.difference:+.4f}", f"{c.low:+.4f} to {c.high:+.4f}",
                               f"{c.p:.4f}", f"{c.corrected:.4f}", c.test, c.n) for c in compared))  # fmt: skip


def _cell(value: object) -> object:
    return "-" if value is None else value
