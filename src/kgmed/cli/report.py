"""`kgmed eval report`: finished evaluations as one page, Markdown and tables."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kgmed.cli import show as screen
from kgmed.errors import BadInput

if TYPE_CHECKING:
    from kgmed.evaluate.report.study import Study


def report(
    folders: Annotated[list[Path], typer.Argument(metavar="FOLDER...", help="Folders of evaluations.")],
    out: Annotated[Path | None, typer.Option("--out", "-o", help="A folder for page, Markdown and tables.")] = None,
    markdown: Annotated[Path | None, typer.Option("--markdown", help="One file, such as results.md.")] = None,
    data: Annotated[
        Path, typer.Option("--data", help="The folder that holds the data sets.", envvar="KGMED_DATA")
    ] = Path("data"),
    metric: Annotated[
        list[str] | None,
        typer.Option("--metric", help="A metric; the first is the one drawn. usual, all = those of the task."),
    ] = None,
    metric_model: Annotated[
        list[str] | None, typer.Option(help="A model's folder for the metrics that need one, or METRIC=FOLDER.")
    ] = None,
    baseline: Annotated[
        str, typer.Option("--against", help="Hold all against this method; else zero-shot, or the first control.")
    ] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Write the report of finished evaluations; it needs nothing but their folders and the data sets."""
    from kgmed.evaluate.report import markdown as plain
    from kgmed.evaluate.report import written

    if out is None and markdown is None:
        raise BadInput("say where to: --out FOLDER for the page and its tables, or --markdown FILE")
    names, made_of = _names(folders), metric_model or []
    with screen.progress("reading", "evaluations") as progress:
        studies = []
        for number, (folder, name) in enumerate(zip(folders, names, strict=True), start=1):
            studies.append(read(folder, data, name=name, metrics=metric or [], models=made_of, baseline=baseline))
            progress(number)
        given = [f"--metric={name}" for name in metric or []] + ([f"--against={baseline}"] if baseline else [])
        paths = written.write(studies, out, command=_command(names, given, out=out)) if out else []
        if markdown:
            paths.append(
                written.put(markdown, plain.results(studies, command=_command(names, given, markdown=markdown)))
            )
    if as_json:
        screen.data([str(path) for path in paths])
    else:
        screen.lines(f"wrote {path}" for path in paths)


def read(folder: Path, data: Path, *, name: str, metrics: list[str], models: list[str], baseline: str) -> "Study":
    """The evaluation in a folder; raises `BadInput` for a method or metric that it does not have."""
    from kgmed.evaluate.datasets import dataset, load
    from kgmed.evaluate.log import entries, read_manifest
    from kgmed.evaluate.metrics.made import MADE, Choices, make
    from kgmed.evaluate.metrics.made import models as by_metric
    from kgmed.evaluate.report.study import Study, shown_metrics
    from kgmed.evaluating import reopened

    trial = reopened(folder, data)
    plan, found = trial.plan(), dataset(trial.dataset)
    if baseline and baseline not in plan.methods:
        raise BadInput(f"{folder} has no method {baseline!r}; it has {', '.join(plan.methods)}")
    of = len(load(trial.dataset, data, part=trial.part)) if trial.limit else len(plan.items)
    chosen, whole = Choices(by_metric(models)), load(trial.dataset, data) if {*metrics} & {*MADE} else []
    made = {metric: make(metric, chosen, whole) for metric in dict.fromkeys(metrics) if metric in MADE}
    wanted = shown_metrics(found.task, metrics, made)
    return Study(name, found, read_manifest(folder), plan, entries(folder), of, wanted, baseline)


def _names(folders: list[Path]) -> list[str]:
    """The last names of the folders, told apart by a number where they are alike; raises `BadInput` for one twice."""
    if len({folder.resolve() for folder in folders}) != len(folders):
        raise BadInput("name each folder once")
    names = [folder.resolve().name or "evaluation" for folder in folders]
    return [name if names.count(name) == 1 else f"{name}-{i}" for i, name in enumerate(names, start=1)]


def _command(names: list[str], given: list[str], *, markdown: Path | None = None, out: Path | None = None) -> str:
    """The command as it can be typed again where the folders are; no folder that these lie in is named."""
    if markdown:
        where = ["--markdown", f"docs/{markdown.name}" if markdown.parent.name == "docs" else markdown.name]
    else:
        where = ["--out", (out.name if out else "") or "report"]
    return shlex.join(["kgmed", "eval", "report", *names, *given, *where])
