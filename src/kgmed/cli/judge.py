"""`kgmed eval judge` and `kgmed eval ratings`: answers compared by a model and by people, and whether the two agree."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kgmed.cli import options
from kgmed.cli import show as screen
from kgmed.config import Config
from kgmed.errors import BadInput

if TYPE_CHECKING:
    from kgmed.evaluate.scores import Mean

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Out = Annotated[Path, typer.Argument(help="The folder of the evaluation.")]
Kind = Annotated[str, typer.Option(help="pair = four criteria, mindmap = three questions, rank = all in order.")]
Judged = Annotated[Path | None, typer.Option(help="A folder of kgmed eval judge, to hold against the ratings.")]


@options.with_options(*options.MODEL)
def judge(
    config: Config,
    out: Out,
    kind: Annotated[
        str, typer.Option(help="pair = four criteria, mindmap = three questions, rank = all in order.")
    ] = "pair",
    method: Annotated[list[str] | None, typer.Option("--method", "-m", help="A method; without it all.")] = None,
    to: Annotated[Path | None, typer.Option(help="The folder of the judgements; without it OUT/judge-KIND.")] = None,
    data: options.Data = Path("data"),
    number: Annotated[int, typer.Option("--number", "-n", help="Only so many questions, the first.", min=0)] = 0,
    seed: Annotated[int | None, typer.Option(help="Which runs are judged, where there are several seeds.")] = None,
    positions: Annotated[int, typer.Option(help="Draws which answer comes first.")] = 0,
    threads: Annotated[int, typer.Option(help="Calls at once.", min=1)] = 1,
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
    with screen.progress("judging", "judgements") as progress:
        done = 0

        def each(_: object) -> None:
            nonlocal done
            done += 1
            progress(done)

        judging.judge(bench, folder, threads=threads, again=again, each=each)
    _tell(folder, done, as_json=as_json)


def _tell(folder: Path, done: int, *, as_json: bool) -> None:
    """What the judgements in a folder come to."""
    from kgmed.evaluate.judge import Verdicts

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
                               d.ruled, f"{d.net.mean:+.4f}", _interval(d.net)) for d in duels))  # fmt: skip
    if places:
        titles = ("method", "mean place", "95 % interval", "n", "failed")
        screen.table(titles, ((p.method, f"{p.place.mean:.4f}", _interval(p.place), p.place.n, p.failed)
                              for p in places))  # fmt: skip
    first = f"{bias.first.mean:.4f} (s.e. {bias.first.error:.4f}) of {bias.judgements} judgements with a winner"
    screen.lines([
        f"The answer shown first wins {first}; without bias {bias.expected:.4f}."
        if bias.judgements
        else "No judgement has a winner, so that nothing can be said of the places.",
        f"Judge: {told.manifest['judge']}; asked now: {done}; in {folder}",
    ])  # fmt: skip


def _interval(mean: "Mean") -> str:
    return f"{mean.low:+.4f} to {mean.high:+.4f}"


def ratings(
    file: Annotated[Path, typer.Argument(help="A CSV file with the columns item, method, rater, rating (1, 0, -1).")],
    judged: Judged = None,
    as_json: Json = False,
) -> None:
    """The means of people's ratings x 100 (ACJ), how far raters agree, and how far a judge agrees with them."""
    from kgmed.evaluate import judge as rated
    from kgmed.evaluate.judge import Verdicts

    found = rated.read(file)
    means, between = rated.acj(found), rated.between_raters(found)
    verdicts = Verdicts.open(judged) if judged else None
    by = {c: rated.with_judge(found, verdicts.decisions(c)) for c in verdicts.criteria} if verdicts else {}
    if as_json:
        screen.data({"acj": means, "raters": between, "judge": by})
        return
    screen.table(("method", "ACJ", "s.e.", "95 % interval", "items", "ratings", "missing"),
                 ((m.method, f"{m.mean.mean:.2f}", f"{m.mean.error:.2f}", f"{m.mean.low:.2f} to {m.mean.high:.2f}",
                   m.mean.n, m.ratings, m.missing) for m in means))  # fmt: skip
    agreements = {"between raters": between} | {f"judge, {c}": a for c, a in by.items()}
    screen.table(("agreement", "", "value", "the same", "n", "missing"),
                 ((name, a.name, "-" if a.value is None else f"{a.value:.4f}", f"{a.same:.4f}", a.n, a.missing)
                  for name, a in agreements.items() if a))  # fmt: skip
