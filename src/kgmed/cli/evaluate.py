"""`kgmed eval`: methods compared on data sets, with a log that outlives the process and scores computed from it."""

import shlex
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from kgmed.cli import options
from kgmed.cli import show as screen
from kgmed.cli.judge import check, judge, linking, ratings, sheets, show
from kgmed.config import Config
from kgmed.errors import BadInput

# --- `kgmed eval report`: finished evaluations as one page, Markdown and tables.


if TYPE_CHECKING:
    from kgmed.evaluate.cost import Estimate
    from kgmed.evaluate.report.tables import Study
    from kgmed.evaluate.report.text import Table
    from kgmed.evaluate.scores import PairedComparison, Score


def report(
    folders: Annotated[list[Path], typer.Argument(metavar="FOLDER...", help="Folders of evaluations.")],
    out: Annotated[Path | None, typer.Option("--out", "-o", help="A folder for page, Markdown and tables.")] = None,
    markdown: Annotated[Path | None, typer.Option("--markdown", help="One file, such as results.md.")] = None,
    data: Annotated[
        Path, typer.Option("--data", help="The folder that holds the data sets.", envvar="KGMED_DATA")
    ] = Path("data"),
    metric: Annotated[
        list[str] | None,
        typer.Option("--metric", help="A metric; the first is plotted. usual, all = those of the task."),
    ] = None,
    metric_model: Annotated[
        list[str] | None, typer.Option(help="A model's folder for the metrics that need one, or METRIC=FOLDER.")
    ] = None,
    baseline: Annotated[
        str, typer.Option("--against", help="Compare all with this method; default: zero-shot, or the first control.")
    ] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Write the report of finished evaluations; it needs nothing but their folders and the data sets."""
    from kgmed.evaluate.report import page

    if out is None and markdown is None:
        raise BadInput("say where to: --out FOLDER for the page and its tables, or --markdown FILE")
    names, made_of = _names(folders), metric_model or []
    with screen.progress("reading", "evaluations") as progress:
        studies = []
        for number, (folder, name) in enumerate(zip(folders, names, strict=True), start=1):
            studies.append(read(folder, data, name=name, metrics=metric or [], models=made_of, baseline=baseline))
            progress(number)
        given = [f"--metric={name}" for name in metric or []] + ([f"--against={baseline}"] if baseline else [])
        paths = page.write_report(studies, out, command=_command(names, given, out=out)) if out else []
        if markdown:
            text = page.markdown_results(studies, command=_command(names, given, markdown=markdown))
            paths.append(page.write_file(markdown, text))
    if as_json:
        screen.data([str(path) for path in paths])
    else:
        screen.lines(f"wrote {path}" for path in paths)


def read(folder: Path, data: Path, *, name: str, metrics: list[str], models: list[str], baseline: str) -> "Study":
    """The evaluation in a folder; raises `BadInput` for a method or metric that it does not have."""
    from kgmed.evaluate.controls import has_baseline
    from kgmed.evaluate.datasets import dataset, load
    from kgmed.evaluate.items import Choices
    from kgmed.evaluate.log import entries, read_manifest
    from kgmed.evaluate.metrics import make_all
    from kgmed.evaluate.metrics.by_model import models as by_metric
    from kgmed.evaluate.report.tables import Study, report_metrics
    from kgmed.evaluate.run import reopened

    trial = reopened(folder, data)
    plan, found = trial.plan(), dataset(trial.dataset)
    if baseline and not has_baseline(baseline, plan.methods):
        raise BadInput(f"{folder} has no method {baseline!r}; it has {', '.join(plan.methods)}")
    of = len(load(trial.dataset, data, part=trial.part)) if trial.limit else len(plan.items)
    made = make_all(metrics, Choices(by_metric(models)), lambda: load(trial.dataset, data))
    wanted = report_metrics(found.task, metrics, made)
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
        where = ["--markdown", f"results/{markdown.name}" if markdown.parent.name == "results" else markdown.name]
    else:
        where = ["--out", (out.name if out else "") or "report"]
    return shlex.join(["kgmed", "eval", "report", *names, *given, *where])


# --- `kgmed eval sweep`: one setting of a method at several values, in one evaluation, so that they are compared.


REST = {"ignore_unknown_options": True, "allow_extra_args": True}


def sweep(
    context: typer.Context,
    out: Annotated[str, typer.Argument(help="The folder of the evaluation.")],
    method: Annotated[list[str], typer.Option("--method", "-m", help="The method whose setting is varied.")],
    vary: Annotated[list[str], typer.Option("--vary", help="SETTING=VALUE,VALUE,...; repeatable, one at a time.")],
    beside: Annotated[list[str] | None, typer.Option("--beside", help="A method to compare with, unchanged.")] = None,
) -> None:
    """Ask with one setting at several values, as hykge[hops=1]; all other options are those of `kgmed eval run`."""
    wanted = [*(beside or []), *(name for m in method for text in vary for name in varied(m, text))]
    parent = context.parent
    group = parent.command if parent else None
    if not isinstance(group, TyperGroup):
        raise BadInput("kgmed eval sweep is a command of kgmed eval")
    run = group.commands["run"]
    words = [out, *(word for name in wanted for word in ("--method", name)), *context.args]
    with run.make_context("run", words, parent=parent) as inner:
        run.invoke(inner)


def varied(method: str, text: str) -> list[str]:
    """The method's names with the setting at each value; raises `BadInput`.

    >>> varied("hykge", "hops=1,2"), varied("hykge[keep=5]", "hops=3")
    (['hykge[hops=1]', 'hykge[hops=2]'], ['hykge[keep=5,hops=3]'])
    """
    name, _, values = text.partition("=")
    told = [value.strip() for value in values.split(",")]
    if not name.strip() or not all(told):
        raise BadInput(f"--vary {text!r} is not of the form SETTING=VALUE,VALUE,...")
    begin = f"{method[:-1]}," if method.endswith("]") else f"{method}["
    return [f"{begin}{name.strip()}={value}]" for value in told]


# --- `kgmed eval rescore`: the papers' recorded answers scored again, with every disagreement.


rescore_app = typer.Typer(no_args_is_help=True)
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
WORDS = 60  # so many characters of a reply are shown


@rescore_app.command()
def explaincpe(
    data: options.Data = Path("data"),
    disagreements: Annotated[bool, typer.Option("--disagreements", help="List every one.")] = False,
    as_json: Json = False,
) -> None:
    """MindMap's 400 questions of ExplainCPE: recorded grades, our parser's from the raw text, and their agreement."""
    from kgmed.evaluate import rescore as again

    replies = again.read(data)
    found, why = again.rescore_explaincpe(replies), again.reasons(replies)
    listed = [_disagreement(r) for r in replies if r.reason]
    if as_json:
        told = {"systems": [_system(f) for f in found], "reasons": why}
        screen.data(told | ({"disagreements": listed} if disagreements else {}))
        return
    header = ("system", "n", "recorded %", "ours %", "ours, strict %", "recorded right/wrong/failed",
              "ours right/wrong/failed", "agreement", f">= {again.WANTED}")  # fmt: skip
    screen.table(header, ((f.system, f.n, _percent(f.recorded), _percent(f.ours), f"{100 * f.strict / f.n:.2f}",
                           _three(f.recorded), _three(f.ours), f"{f.agreement:.4f}",
                           "yes" if f.agreement >= again.WANTED else "no") for f in found))  # fmt: skip
    screen.lines(["", "Of several options the first that a colon follows counts, as in the record; strict: a reply "
                  "that names several is wrong", "", "Disagreements by reason"])  # fmt: skip
    screen.table(("reason", *again.SYSTEMS, "all"), ((w, *n.values(), sum(n.values())) for w, n in why.items()))
    screen.lines(["", "Grades that no parser can agree with: the same option of the same question is right in one "
                  "system's reply and wrong in another's"])  # fmt: skip
    columns = (
        "system",
        "one option named, grade says otherwise",
        "option graded in two ways",
        "agreement of the others",
        f">= {again.WANTED}",
        "several options named, recorded right/wrong/failed",
    )
    screen.table(columns, ((f.system, f.contradicted, f.unequal, f"{f.agreement_equal:.4f}",
                           "yes" if f.agreement_equal >= again.WANTED else "no", _three(f.several))
                          for f in found))  # fmt: skip
    if disagreements:
        screen.lines([""])
        names = ("row", "system", "reply", "ours", "gold", "grade", "reason")
        screen.table(names, ([row[name] for name in names] for row in listed))


def _system(found: Any) -> dict[str, Any]:
    from dataclasses import asdict

    return asdict(found) | {"agreement": found.agreement, "agreement_equal": found.agreement_equal}


def _disagreement(reply: Any) -> dict[str, Any]:
    text = " ".join(reply.text.split())
    return {
        "row": reply.row,
        "system": reply.system,
        "reply": text[:WORDS] + ("…" if len(text) > WORDS else ""),
        "ours": "".join(reply.parsed.letters) or "-",
        "gold": reply.gold,
        "grade": reply.grade,
        "reason": reply.reason,
    }


def _percent(grades: dict[str, int]) -> str:
    return f"{100 * grades['right'] / sum(grades.values()):.2f}"


def _three(grades: dict[str, int]) -> str:
    return "/".join(str(n) for n in grades.values())


@rescore_app.command()
def liveqa(data: options.Data = Path("data"), as_json: Json = False) -> None:
    """GPT-4's answers to LiveQA with KG-Rank's rankings: the recorded ROUGE-L, computed again, and a proper one."""
    from kgmed.evaluate import rescore as again

    means, found, difference = again.recorded_means(data), again.rescore_liveqa(data), again.compare_rankings(data)
    trained = again.Splitter().trained
    if as_json:
        screen.data({"recorded": means, "answers": [_answered(a) for a in found], "medcpt - similarity": difference,
                     "trained splitter": trained, "not computed": again.NO_BERTSCORE})  # fmt: skip
        return
    screen.table(("ranking", "hops", "recorded ROUGE-L", "BERTScore", "BLEURT"),
                 ((m.ranking, m.hops, f"{m.rouge_l:.2f}", f"{m.bertscore:.2f}", f"{m.bleurt:.2f}")
                  for m in means))  # fmt: skip
    screen.lines(["", "Answers that are recorded, one hop"])
    header = ("ranking", "n", "recorded", "same formula", "comes out", "ROUGE-L", "s.e.", "ROUGE-L of stems", "s.e.")
    screen.table(header, ((a.ranking, a.n, f"{a.recorded:.4f}", f"{a.recomputed.mean:.4f}",
                           "yes" if a.reproduced else "no",
                           f"{a.rouge_l.mean:.2f}", f"{a.rouge_l.error:.2f}", f"{a.rouge_l_stem.mean:.2f}",
                           f"{a.rouge_l_stem.error:.2f}") for a in found))  # fmt: skip
    screen.lines(["", *_findings(means, found, difference, trained=trained), again.NO_BERTSCORE])


def _answered(found: Any) -> dict[str, Any]:
    from dataclasses import asdict

    return asdict(found) | {"reproduced": found.reproduced}


def _findings(means: Any, found: Any, difference: Any, *, trained: bool) -> list[str]:
    """What the numbers say, in sentences."""
    one = {m.ranking: m.rouge_l for m in means if m.hops == "one"}
    error = max(a.recomputed.error for a in found)
    gap = one["medcpt"] - one["random"]
    return [
        "The recorded ROUGE-L is 1.2PR/(0.1P+R), not 2PR/(P+R); sentences are split by NLTK's "
        f"{'trained' if trained else 'untrained'} splitter here",
        f"Random {one['random']:.2f} and MedCPT {one['medcpt']:.2f} differ by {gap:.2f} of 100 in the recorded means; "
        f"the standard error of one mean is {error:.2f}. The answers of random are not at hand, so there is no paired "
        "test of these two",
        f"MedCPT less similarity, paired, in ROUGE-L: {difference.mean:+.2f} ({difference.low:+.2f} to "
        f"{difference.high:+.2f}, p {difference.p:.2f}, n {difference.n})",
    ]


app = typer.Typer(no_args_is_help=True)
app.add_typer(rescore_app, name="rescore", help="Score the papers' recorded answers again.")
app.command()(report)
app.command()(judge)
app.command()(ratings)
app.command()(linking)
app.command()(check)
app.command()(sheets)
app.command()(show)
app.command(context_settings=REST)(sweep)

Out = Annotated[Path, typer.Argument(help="The folder of the evaluation.")]
Metric = Annotated[list[str] | None, typer.Option("--metric", help="A metric; without it those of the task.")]


@app.command()
def datasets(data: options.Data = Path("data"), as_json: Json = False) -> None:
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
    from kgmed.evaluate.metrics import made_metrics
    from kgmed.evaluate.metrics import metrics as known

    found = list(known().values())
    if as_json:
        plain = [{k: v for k, v in asdict(m).items() if k not in ("score", "ready")} for m in found]
        screen.data([*plain, *({"name": m.name, "made from": m.needs} for m in made_metrics().values())])
        return
    header = ("name", "formula", "source", "of a failed run")
    rows = [(m.name, m.formula, m.source, "-" if m.failed is None else m.failed) for m in found]
    made = made_metrics().values()
    screen.table(header, [*rows, *((m.name, f"made from {m.needs}", "docs/evaluate/metrics.md", "") for m in made)])


@app.command()
@options.with_options(*(name for name in options.OPTIONS if name not in ("graph", "method", "settings", "seed", "llm")))
def run(
    config: Config,
    out: Out,
    dataset: Annotated[
        str, typer.Option("--set", "-s", help="A data set's name, hub/OWNER/NAME, or a .jsonl file of your own.")
    ],
    method: Annotated[
        list[str], typer.Option("--method", "-m", help="A method; +random, +shuffled or +oracle for a control.")
    ],
    graph: Annotated[str, typer.Option("--graph", "-g", help="The graph that all are asked on.")],
    llm: Annotated[
        list[str] | None,
        typer.Option(help="A model; several are compared in one folder. openai/NAME@URL says where one is served."),
    ] = None,
    data: options.Data = Path("data"),
    part: Annotated[str, typer.Option(help="train, dev or test.")] = "test",
    number: Annotated[int, typer.Option("--number", "-n", help="Number of questions; 0 = all.")] = 0,
    sample: Annotated[int, typer.Option(help="Seed of the draw of --number questions.")] = 0,
    seed: Annotated[list[int] | None, typer.Option(help="A seed; give several for several runs of each.")] = None,
    threads: Annotated[int, typer.Option(help="Concurrent questions in this process.", min=1)] = 1,
    workers: Annotated[int, typer.Option(help="Processes, each with its own models.", min=0)] = 0,
    ray: Annotated[str, typer.Option(help="The address of a Ray cluster.")] = "",
    again: Annotated[bool, typer.Option("--again", help="Also ask again what failed.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only estimate calls, tokens and cost.")] = False,
    probe: Annotated[int, typer.Option(help="With --dry-run: number of questions asked to measure tokens.", min=0)] = 0,
    as_json: Json = False,
) -> None:
    """Ask every question of every method; a run that was stopped goes on where it was.

    Exit codes: 0 all answered, 3 some answers failed, 4 stopped early since a model or server is gone, 2 bad input,
    130 interrupted, 1 any other error.
    """
    from kgmed.evaluate.cost import estimate
    from kgmed.evaluate.run import Evaluation, evaluate, executor

    trial = Evaluation(
        methods=tuple(method), dataset=dataset, data=data, config=config.replace(graph=graph), part=part,
        limit=number, sample=sample, seeds=tuple(seed or [0]),
    ).with_models(llm or [])  # fmt: skip
    if dry_run:
        _estimated(estimate(trial, probe=probe), as_json=as_json)
        return
    with screen.counting("asking", "answers") as asked:
        evaluate(trial, out, executor(threads=threads, workers=workers, ray=ray), again=again, each=asked)
    if _tell(out, data, asked.count, as_json=as_json):
        raise typer.Exit(SOME_FAILED)


SOME_FAILED = 3  # exit code


def _estimated(told: Sequence["Estimate"], *, as_json: bool) -> None:
    """What each method would take."""
    if as_json:
        screen.data(told)
        return
    header = tuple(asdict(told[0]))
    screen.table(header, (["-" if v is None else v for v in asdict(row).values()] for row in told))


def _tell(out: Path, data: Path, asked: int, *, as_json: bool) -> int:
    """What is in the log now is shown; how many answers failed."""
    from kgmed.evaluate.log import digest, entries

    found = entries(out)
    failed = Counter(e.job.method for e in found.values() if e.run is None)
    told = {"asked now": asked, "in the log": len(found), "failed": dict(failed), "digest": digest(found)}
    if as_json:
        screen.data(told)
        return failed.total()
    screen.lines(f"{name}: {value}" for name, value in told.items() if value != {})
    screen.lines([f"Scores: kgmed eval score {out} --data {data}"])
    if failed:
        screen.lines(["Failed answers count as wrong; the same command with --again asks them again"])
    return failed.total()


@app.command()
def board(
    folders: Annotated[list[Path], typer.Argument(metavar="FOLDER...", help="Folders of evaluations.")],
    data: options.Data = Path("data"),
    metric: Annotated[str, typer.Option(help="The metric to sort by; default: the task's main one.")] = "",
    metric_model: Annotated[list[str] | None, typer.Option(help="A model's folder for that metric.")] = None,
    as_json: Json = False,
) -> None:
    """List methods and models, the best first, with what failed and what could not be read."""
    from kgmed.evaluate.report import tables

    studies = [
        read(folder, data, name=name, metrics=[metric] if metric else [], models=metric_model or [], baseline="")
        for folder, name in zip(folders, _names(folders), strict=True)
    ]
    if as_json:
        screen.data({s.name: [dict(zip(b.header, row, strict=True)) for row in b.rows] for s in studies
                     for b in [tables.board(s)]})  # fmt: skip
        return
    for study in studies:
        found, several = tables.board(study), tables.grid(study)
        screen.lines([found.title])
        if sys.stdout.isatty():
            header, rows = _narrow(found)
            screen.table(header, rows)
        else:
            screen.table(found.header, ([formatted_cell(cell) for cell in row] for row in found.rows))
        if len(several.header) > 2:
            screen.lines(["", several.title])
            screen.table(several.header, ([formatted_cell(cell) for cell in row] for row in several.rows))
        screen.lines([found.note])


def _narrow(found: "Table") -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """A board that fits 80 columns: what decides the order first, the names last; calls and tokens are left out."""
    alone = len({row[2] for row in found.rows}) < 2
    rows: list[tuple[str, ...]] = []
    for row in found.rows:
        place, method, model, mean, low, high, *counts = map(formatted_cell, row)
        named = method if alone else f"{method} @ {model}"
        rows.append((place, mean, "none" if low == "-" else f"{low}-{high}", *counts[:4], named))
    return ("", found.header[3], "95 %", *found.header[6:9], "abst.", "method"), rows


def formatted_cell(cell: Any) -> str:
    """A cell of a report as a person reads it."""
    from kgmed.evaluate.report.text import formatted

    return formatted(cell)


@app.command()
def score(
    out: Out,
    data: options.Data = Path("data"),
    metric: Metric = None,
    against: Annotated[str, typer.Option(help="Compare every method with this one.")] = "",
    metric_model: Annotated[
        list[str] | None, typer.Option(help="A model's folder for the metrics that need one, or METRIC=FOLDER.")
    ] = None,
    layer: Annotated[int, typer.Option(help="Which layer BERTScore and MoverScore read; -1 = the last.")] = -1,
    idf: Annotated[bool, typer.Option("--idf", help="BERTScore weighs words by their rarity.")] = False,
    baseline: Annotated[Path | None, typer.Option(help="Rescale BERTScore by this file.")] = None,
    keywords: Annotated[str, typer.Option(help="The graph whose names hallucination compares; else words.")] = "",
    device: Annotated[str, typer.Option(help="Where BERTScore and MoverScore run, as cuda; else here.")] = "",
    as_json: Json = False,
) -> None:
    """Score what the log holds; failures count as wrong, what was not asked yet is left out."""
    from kgmed.evaluate import scores
    from kgmed.evaluate.controls import has_baseline
    from kgmed.evaluate.datasets import dataset, load
    from kgmed.evaluate.items import Choices
    from kgmed.evaluate.log import entries
    from kgmed.evaluate.metrics import PLAIN, make_all
    from kgmed.evaluate.metrics import metric as named
    from kgmed.evaluate.metrics.by_model import models
    from kgmed.evaluate.run import reopened

    trial = reopened(out, data)
    plan, found = trial.plan(), entries(out)
    if against and not has_baseline(against, plan.methods):
        raise BadInput(f"{out} has no method {against!r}; it has {', '.join(plan.methods)}")
    names = metric or PLAIN[dataset(trial.dataset).task]
    chosen = Choices(models(metric_model or []), layer, idf, baseline, keywords, device)
    made = make_all(names, chosen, lambda: load(trial.dataset, data))
    told = scores.score(found, plan, [m for name in names for m in made.get(name) or (named(name),)])
    compared = scores.compare_to_baseline(told, against) if against else []
    sources = {m.name: m.source for some in made.values() for m in some}
    if as_json:
        screen.data({"scores": told, "against": compared, "made": sources})
        return
    _scored(told, compared, against=against, several=len(plan.seeds) > 1)
    screen.lines(filter(None, [scores.unfinished(plan, found)]))
    screen.lines(f"{name}: {source}" for name, source in sources.items())


def _scored(told: Sequence["Score"], compared: Sequence["PairedComparison"], *, against: str, several: bool) -> None:
    """The scores, with their spread over several seeds, and what was compared."""
    from kgmed.evaluate import scores

    seeds = ("seeds", "sd of seeds") if several else ()
    header = ("method", "metric", "mean", "s.e.", "95 % interval", "n", "without", *seeds)
    screen.table(header, ((s.method, s.metric, f"{s.mean.mean:.4f}" if s.mean.n else "none",
                           f"{s.mean.error:.4f}" if s.mean.n > 1 else "none", scores.interval(s.mean),
                           s.mean.n, s.without,
                           *((len(s.by_seed), formatted_cell(s.deviation)) if seeds else ()))
                          for s in told))  # fmt: skip
    if compared:
        screen.lines([""])
        titles = ("method", f"against {against} in", "difference", "95 % interval", "p", "p corrected", "test", "n")
        screen.table(titles, ((c.method, c.metric, f"{c.difference:+.4f}", scores.interval(c, "+.4f"),
                               f"{c.p:.4f}", f"{c.corrected:.4f}", c.test, c.n) for c in compared))  # fmt: skip
