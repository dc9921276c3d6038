"""The tables and figures of the five papers: what of each can be had here, and one command that makes it.

`tables.toml` holds every table with its rows as our methods and its numbers as the paper prints them. A table is a set
of evaluations, one a data set, each in a folder of its own under the table's; so it goes on where it was stopped.
What comes out are our figures with intervals, the paper's beside them, and what differed. Nothing is reproduced by
having been run: another model, graph or encoder answers here unless all are named.
"""

import json
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from rapidfuzz.fuzz import partial_ratio

from kgmed.config import Config, settings_of
from kgmed.disk import write_whole
from kgmed.errors import BadInput, UnknownName
from kgmed.evaluate import cost
from kgmed.evaluate.controls import asks_model, controlled
from kgmed.evaluate.datasets import datasets, load, missing, others, patients
from kgmed.evaluate.datasets.diagnosis import counted_graph
from kgmed.evaluate.diagnosing import OF_SCORERS, on_test
from kgmed.evaluate.items import Choices, Metric
from kgmed.evaluate.judge import ORDERS, Judging, Verdicts, judge, kind_of
from kgmed.evaluate.log import Entry, Job, digest, entries, read_manifest
from kgmed.evaluate.metrics import made_metrics, make_all, metric, metrics
from kgmed.evaluate.metrics.by_model import models as models_by_metric
from kgmed.evaluate.report.text import Cell, Table, as_csv, as_markdown, slug
from kgmed.evaluate.run import Evaluation, Plan, ThreadExecutor, evaluate, reopened
from kgmed.evaluate.scores import Mean, Score, finished, interval, mean, score, unfinished, unread
from kgmed.graph import library
from kgmed.models.base import LLM
from kgmed.models.named import llm_of
from kgmed.prompts import ANSWER_TOKENS
from kgmed.registry import methods
from kgmed.reward.cases import Split
from kgmed.reward.rlkgf import ScorerChoice
from kgmed.session import STANDS_IN

# --- The tables, as the papers have them.


class Printed(NamedTuple):
    """A number as a paper prints it, on our scale: of which row, data set and metric, and with which model."""

    row: str
    dataset: str
    metric: str
    model: str
    value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperTable:
    """One table or figure of a paper; `rows` and `scorers` are what we run for its rows, by their names there."""

    id: str  # what a person types
    paper: str
    cite: str
    scale: float  # the paper prints numbers times this
    place: str  # in the paper
    shows: str
    theirs: Mapping[str, str] = field(default_factory=dict)  # graph, encoder, scorer
    models: tuple[str, ...] = ()  # the paper's
    graphs: tuple[str, ...] = ()  # ours, the nearest first
    datasets: Mapping[str, str] = field(default_factory=dict)  # name and part
    metrics: tuple[str, ...] = ()
    rows: Mapping[str, str] = field(default_factory=dict)  # label -> method
    scorers: Mapping[str, str] = field(default_factory=dict)  # label -> scorer of diseases; no model is asked
    trained: Mapping[str, str] = field(default_factory=dict)  # label -> method, asked of a model that one has trained
    recipes: Mapping[str, str] = field(default_factory=dict)  # label of a trained row -> words of kgmed train
    cases: Mapping[str, str] = field(default_factory=dict)  # data set -> patients whose train cases count its graph
    cannot: Mapping[str, str] = field(default_factory=dict)  # label -> why that row cannot be had
    lacks: str = ""  # why there is nothing to run
    judge: str = ""  # the kind of `kgmed eval judge` that it needs besides
    questions: Mapping[str, str] = field(default_factory=dict)  # what the paper asked, where it asked others
    notes: tuple[str, ...] = ()
    seeds: int = 1  # the paper's
    figures: tuple[Printed, ...] = ()
    said: tuple[tuple[str, str, str], ...] = ()  # what its judge found: criterion, row, wins/ties/losses or place


@cache
def tables() -> dict[str, PaperTable]:
    """Every table and figure by its id, paper by paper."""
    data = tomllib.loads((files("kgmed.evaluate") / "tables.toml").read_text(encoding="utf-8"))
    return {
        found.id: found for key, paper in data.items() for row in paper["tables"] if (found := _read(key, paper, row))
    }


def _read(key: str, paper: Mapping[str, Any], row: Mapping[str, Any]) -> PaperTable:
    """A table of the file."""
    scale = paper["scale"]
    lists = {n: tuple(v) for n, v in row.items() if isinstance(v, list) and n != "figures"}
    printed = (Printed(r, d, m, model, round(v / _scale(m, scale), 6)) for r, d, m, model, v in row.get("figures", ()))
    theirs = {n: paper[n] for n in ("graph", "encoder", "scorer")}
    given = {**row, **lists, "id": f"{key}/{row['id']}", "figures": tuple(printed), "theirs": theirs}
    return with_trained(PaperTable(**given, paper=paper["name"], cite=paper["cite"], scale=scale), {})


EACH = "{set}"  # stands for the data set in the name of a model that is another one for each


def with_trained(found: PaperTable, models: Mapping[str, str]) -> PaperTable:
    """The table with rows of models that one has trained, by the rows' labels; raises `UnknownName`, `BadInput`."""
    for label in models:
        if not found.trained:
            raise BadInput(f"{found.id} has no row of a trained model; leave --trained out")
        if label not in found.trained:
            raise UnknownName("row of a trained model", label, found.trained)
    asked = {label: f"{found.trained[label]}@{model}" for label, model in models.items()}
    why = {label: f'name what you have trained: --trained "{label}=hf/FOLDER"' for label in found.trained}
    cannot = {label: text for label, text in {**found.cannot, **why}.items() if label not in models}
    return replace(found, rows={**found.rows, **asked}, cannot=cannot)


def check_trained(labels: Iterable[str]) -> None:
    """Raise `UnknownName` for a label that no table has as a row of a trained model."""
    known = {label for of in tables().values() for label in of.trained}
    for label in labels:
        if label not in known:
            raise UnknownName("row of a trained model", label, known)


def _scale(metric: str, scale: float) -> float:
    """What the paper multiplies that metric with; seconds, tokens and money are what they are."""
    return 1 if metric in _AS_THEY_ARE else scale


_AS_THEY_ARE = ("seconds", "calls", "perplexity", "tokens-in", "tokens-out", "cost", "retrieval-cached",
                "retrieval-uncached")  # fmt: skip


def table(name: str) -> PaperTable:
    """The table of an id; raises `UnknownName` with the nearest."""
    if name not in tables():
        raise UnknownName("table", name, tables(), "kgmed reproduce --list names them")
    return tables()[name]


# --- What of a table can be had.


@dataclass(frozen=True, slots=True)
class Doable:
    """What of a table can be run with what is here, and in sentences what cannot and why."""

    datasets: tuple[str, ...]
    rows: Mapping[str, str]
    metrics: tuple[str, ...]
    missing: tuple[str, ...]

    @property
    def any(self) -> bool:
        """Whether there is anything to run."""
        return bool(self.datasets and self.rows and self.metrics)


TO_JUDGE = "name a model that judges: --judge openai/NAME, or another"


def doable(
    found: PaperTable, data: Path, *, metric_models: Sequence[str] = (), preset: str = "paper", judge: str = ""
) -> Doable:
    """What of a table can be had with the data of a folder, the models of metrics and the judge that are named."""
    if found.lacks:
        return Doable((), {}, (), (found.lacks,))
    sets = {name: _no_data(name, data, scored=not found.rows) for name in found.datasets}
    rows = {label: _no_method(name, preset) for label, name in found.rows.items()}
    rows |= {label: _no_scorer(name) for label, name in found.scorers.items()}
    wanted = {name: _no_metric(name, metric_models) for name in found.metrics}
    lacking = [
        *(f"data set {name}: {why}" for name, why in sets.items() if why),
        *(f"row {label}: {why}" for label, why in {**rows, **found.cannot}.items() if why),
        *(f"metric {name}: {why}" for name, why in wanted.items() if why),
        *([f"the verdicts: {TO_JUDGE}"] if found.judge and not judge else []),
    ]
    named = {**found.rows, **found.scorers}
    return Doable(
        tuple(name for name, why in sets.items() if not why),
        {label: named[label] for label, why in rows.items() if not why},
        tuple(name for name, why in wanted.items() if not why),
        tuple(lacking),
    )


def _no_data(name: str, data: Path, *, scored: bool) -> str:
    """Why a data set is not to be had; "" where it is."""
    known = others() if scored else datasets()
    if name not in known:
        return "not to be had: kgmed has no data set of that name"
    return f"not in {data}; it comes from {known[name].source}" if missing(known[name], data) else ""


def _no_method(name: str, preset: str) -> str:
    """Why a method, with its settings, cannot be run under a preset; "" where it can."""
    try:
        parts = controlled(name)
        settings_of(methods.get(parts.method), preset=preset, given=dict(parts.settings))
    except BadInput as why:
        return f"{why}"
    return ""


def _no_scorer(name: str) -> str:
    """Why a scorer of diseases cannot be fitted; "" where it can."""
    from importlib.util import find_spec

    needs = {"best": ("scipy", "eval"), "walk": ("numpy", "")}.get(controlled(name).method, ("torch", "local"))
    return "" if find_spec(needs[0]) else f'needs {needs[0]}: pip install "kgmed[{needs[1]}]"'


def _no_metric(name: str, metric_models: Sequence[str]) -> str:
    """Why a metric cannot be computed; "" where it can."""
    made = made_metrics().get(name)
    if made is None:
        return "" if name in metrics() or name in OF_SCORERS else "kgmed does not have it"
    named = models_by_metric(list(metric_models))
    if made.needs == "a model" and not (named.get(name) or named.get("")):
        return f"needs a model: --metric-model {name}=FOLDER"
    return ""


CASES = "cases"


def graph_for(found: PaperTable) -> str:
    """The first of the table's graphs that is here, else the last, whose absence will be told when it is opened.

    `CASES` for a table whose graphs are counted from the train cases of its data sets.
    """
    if found.cases:
        return CASES
    here = library.languages()
    every = found.graphs or ("auto",)
    return next((g for g in every if all(name in here or library.is_remote(name) for name in g.split(","))), every[-1])


# --- What is run.


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """How a table is to be made: by which models, on how much of it, where to."""

    table: PaperTable
    data: Path
    out: Path
    config: Config
    models: tuple[str, ...] = ()
    number: int = 0  # questions of each data set; 0 = all
    sample: int = 0
    seeds: tuple[int, ...] = (0,)
    metric_models: tuple[str, ...] = ()
    judge: str = ""  # the model that judges, as `models` are named

    @property
    def can(self) -> Doable:
        """What of it can be had."""
        return doable(
            self.table, self.data, metric_models=self.metric_models, preset=self.config.preset, judge=self.judge
        )

    def trials(self) -> dict[str, Evaluation]:
        """The evaluation of each data set; raises `BadInput` without a model that is needed."""
        can = self.can
        asked = [name for label, name in can.rows.items() if label not in self.table.scorers]
        if not asked or not can.any:
            return {}
        if not (self.models or self.config.llm or self.config.cache) and any(map(asks_model, asked)):
            if self.table.scorers:
                return {}
            raise BadInput("name at least one model: --llm smollm2, gguf/PATH, hf/FOLDER or openai/NAME")
        each = tuple(dict.fromkeys(asked))
        return {name: self._trial(name, each) for name in can.datasets}

    def _trial(self, name: str, each: tuple[str, ...]) -> Evaluation:
        part = _part(name, self.table.datasets[name], self.data)
        plain = Evaluation(
            methods=tuple(one.replace(EACH, name) for one in each), dataset=name, data=self.data, part=part,
            config=self._on_graph(name), limit=self.number, sample=self.sample, seeds=self.seeds,
        )  # fmt: skip
        return plain.with_models(self.models)

    def _on_graph(self, name: str) -> Config:
        """The choices for a data set, with the graph of its own train cases where it is asked on that."""
        if self.config.graph != CASES:
            return self.config
        train = patients(self.table.cases[name], self.data)
        return self.config.replace(graph=counted_graph(train, english=name.endswith("-en")))


def _part(name: str, wanted: str, data: Path) -> str:
    """The part of a data set that is asked: the one wanted, where there is such, else the largest."""
    try:
        load(name, data, part=wanted)
    except BadInput:
        return max(Counter(item.part for item in load(name, data)).items(), key=lambda kept: kept[1])[0]
    return wanted


def costs(wanted: Wanted, *, probe: int = 3) -> list[tuple[str, cost.Estimate]]:
    """What each method and the judge would take on each data set, with bounds; no model is asked."""
    trials = wanted.trials()
    said = [(name, one) for name, trial in trials.items() for one in cost.bounds(trial, probe=probe)]
    return [*said, *((name, _judge_costs(wanted, trial)) for name, trial in trials.items() if _judges(wanted))]


def run(
    wanted: Wanted,
    said: Sequence[tuple[str, cost.Estimate]],
    *,
    threads: int = 1,
    again: bool = False,
    each: Callable[[Entry], None] | None = None,
) -> None:
    """Ask what is left, data set by data set, then let the judge judge, within what was said that both take.

    Raises `StoppedEarly`.
    """
    most = [one for _, one in said]
    held = cost.Held(sum(e.most for e in most), sum(e.tokens_most or 0 for e in most))

    def heard(entry: Entry) -> None:
        if each is not None:
            each(entry)
        held(entry)

    trials = wanted.trials()
    for name, trial in trials.items():
        evaluate(trial, wanted.out / slug(name), ThreadExecutor(threads), again=again, each=heard)
    llm = llm_of(_judge_config(wanted)) if trials and _judges(wanted) else None
    for name, trial in trials.items():
        if llm is not None:
            folder = wanted.out / slug(name)
            found = _judging(wanted, trial.plan(), llm, entries(folder))
            judge(found, _verdict_folder(wanted, folder), threads=threads, again=again, each=heard)


# --- What a model judges, of the answers of the first seed; a pair holds the paper's own method against another.


def _judges(wanted: Wanted) -> bool:
    """Whether there is something to judge, and who judges it."""
    return bool(wanted.judge and wanted.table.judge)


def _judge_config(wanted: Wanted) -> Config:
    """How the judge is opened: as the models are, by its own name."""
    name, at, rest = wanted.judge.partition("@http")
    return wanted.config.replace(llm=name, base_url=f"http{rest}" if at else wanted.config.base_url)


def _judging(wanted: Wanted, plan: Plan, llm: LLM, found: Mapping[Job, Entry]) -> Judging:
    """The judging of one data set's answers."""
    own = tuple(m for m in plan.methods if controlled(m).method == wanted.table.id.partition("/")[0])
    return Judging(
        kind_of(wanted.table.judge), tuple(plan.methods), plan.items, found, llm, plan.seeds[0],
        prompts=wanted.config.prompts, against=own,
    )  # fmt: skip


def _verdict_folder(wanted: Wanted, folder: Path) -> Path:
    """Where the verdicts of a judge on the answers that a folder holds now are kept."""
    told = digest(entries(folder))[:8]
    return folder / f"judge-{wanted.table.judge}-{slug(wanted.judge.partition('@http')[0])}-{told}"


def _judge_costs(wanted: Wanted, trial: Evaluation) -> cost.Estimate:
    """What the judge would take at most: both orders of every contest, each answer as long as it may be."""
    plan = trial.plan()
    judging = _judging(wanted, plan, cost.StandIn(), {})
    contests = judging.contests.values()
    calls = len(plan.items) * len(contests) * len(ORDERS)
    longest = max(_longest(name, wanted.config) for name in plan.methods)
    read = sum(
        len(ORDERS) * (sum(map(cost.at_most, judging.messages(item, [""] * len(some)))) + len(some) * longest)
        for item in plan.items
        for some in contests
    )
    spent = round(cost.MARGIN * read), calls * judging.max_tokens
    price = cost.price_of(wanted.judge.partition("@http")[0], _judge_config(wanted))
    money = None if price is None else float(price.of(*spent))
    return cost.Estimate(
        f"judge {wanted.judge.partition('@http')[0]}", len(plan.items), calls, calls, calls, 0, sum(spent), money, 0,
        sum(spent), money,
    )  # fmt: skip


def _longest(name: str, config: Config) -> int:
    """The tokens of a method's longest answer."""
    parts = controlled(name)
    given = {**config.settings, **dict(parts.settings)}
    found = settings_of(methods.get(parts.method), preset=config.preset, given=given)
    return int(getattr(found, "answer_tokens", ANSWER_TOKENS))


def unjudged(wanted: Wanted) -> int:
    """How many verdicts of a data set the judge gave no reply for, or none that could be read."""
    folders = [_verdict_folder(wanted, wanted.out / slug(n)) for n in wanted.can.datasets] if _judges(wanted) else []
    told = [Verdicts.open(folder) for folder in folders if (folder / "manifest.json").exists()]
    return max((one.failed for every in told for one in every.duels() or every.places()), default=0)


def verdict_tables(wanted: Wanted) -> list[Table]:
    """What the judge said, a table a data set: wins, ties and losses by criterion, or mean places."""
    if not _judges(wanted):
        return []
    folders = {name: _verdict_folder(wanted, wanted.out / slug(name)) for name in wanted.can.datasets}
    return [
        _verdicts(wanted, name, Verdicts.open(folder))
        for name, folder in folders.items()
        if (folder / "manifest.json").exists()
    ]


def _verdicts(wanted: Wanted, name: str, told: Verdicts) -> Table:
    """The verdicts of one data set, by the rows' names, with the paper's beside them where it has the same."""
    theirs = {(criterion, row): text for criterion, row, text in wanted.table.said}
    labels = {base: label for label, base in wanted.can.rows.items()}

    def label(method: str) -> str:
        base, at, model = method.partition("@")
        return f"{labels.get(base, base)}{f' @ {model}' if at else ''}"

    def paper(criterion: str, *methods: str) -> str | None:
        return next(filter(None, (theirs.get((criterion, labels.get(m.partition("@")[0], ""))) for m in methods)), None)

    bias = told.bias()
    shown = f"the answer shown first wins {bias.first.mean:.2f} of {bias.judgements} judgements, {bias.expected:.2f} "
    shown = f"{shown}expected" if bias.judgements else "no judgement has a winner"
    title = f"{name}: verdicts of {told.manifest['judge']}; {shown}"
    if duels := told.duels():
        told_of = "criterion,row,against,n,wins,ties,losses,flipped,failed,wins - losses,95 %,paper"
        rows = tuple(
            (d.criterion, label(d.first), label(d.second), d.n, d.wins, d.ties, d.losses, d.flipped, d.failed,
             f"{d.net.mean:+.3f}", interval(d.net, "+.3f"), paper(d.criterion, d.second, d.first))
            for d in duels
        )  # fmt: skip
        return Table(slug(f"{name}-verdicts"), title, tuple(told_of.split(",")), rows)
    places = tuple(
        (label(p.method), f"{p.place.mean:.2f}", interval(p.place, ".2f"), p.place.n, p.failed, paper("", p.method))
        for p in told.places()
    )
    return Table(slug(f"{name}-verdicts"), title, ("row", "mean place", "95 %", "n", "failed", "paper"), places)


# --- What came out, with the paper's figures beside it.


@dataclass(frozen=True, slots=True)
class Reproduced:
    """One of our figures and the paper's of the same row, data set and metric; all on our scale."""

    dataset: str
    metric: str
    row: str
    model: str  # ours
    ours: Mean
    deviation: float | None  # over seeds
    failed: int
    unread: int
    theirs: tuple[tuple[str, float], ...]  # the paper's models and numbers, the one named most like ours first
    stand_ins: tuple[str, ...] = ()  # models in place of the paper's
    gain: float | None = None  # over the row without a graph, with the same model; None where there is none
    their_gains: tuple[tuple[str, float], ...] = ()  # the same of the paper's numbers


def results(wanted: Wanted) -> list[Reproduced]:
    """What the folders of a table hold, data set by data set, metric by metric, in the order of the paper's rows."""
    found = _told_by_scorers(wanted)
    for name in wanted.can.datasets:
        folder = wanted.out / slug(name)
        if (folder / "manifest.json").exists():
            found += _of_folder(wanted, name, folder)
    return _with_gains(wanted.table, found)


ALONE = ("rlkgf-prompt[triples=0]", "zero-shot")  # a model without a graph; the first as RLKGF asks it


def alone(of: PaperTable) -> str:
    """The row of a table that asks the model without a graph; "" where the table has none.

    >>> alone(table("hykge/table2")), alone(table("rlkgf/table6")), alone(table("hykge/table4"))
    ('Base', 'Base', '')
    """
    return next((label for method in ALONE for label, name in of.rows.items() if name == method), "")


def _with_gains(of: PaperTable, found: Sequence[Reproduced]) -> list[Reproduced]:
    """The figures, each with how far it is above the row without a graph, ours and the paper's."""
    base = {(r.dataset, r.metric, r.model): r for r in found if r.row == alone(of)}
    only = {(r.dataset, r.metric): r for r in base.values()} if len({r.model for r in base.values()}) == 1 else {}

    def gained(r: Reproduced) -> Reproduced:
        of_base = base.get((r.dataset, r.metric, r.model)) or only.get((r.dataset, r.metric))
        printed_of = dict(printed(of, alone(of), r.dataset, r.metric))
        theirs = tuple((model, value - printed_of[model]) for model, value in r.theirs if model in printed_of)
        return r if r.row == alone(of) else replace(
            r, gain=r.ours.mean - of_base.ours.mean if of_base and r.ours.n and of_base.ours.n else None,
            their_gains=theirs,
        )  # fmt: skip

    return [gained(r) for r in found]


def _of_folder(wanted: Wanted, name: str, folder: Path) -> list[Reproduced]:
    plan, log = reopened(folder, wanted.data).plan(), entries(folder)
    scored = {(s.method, s.metric): s for s in score(log, plan, _metrics(wanted, name))}
    alone = str(read_manifest(folder).get("setup", {}).get("llm", ""))
    every = dict.fromkeys(metric for _, metric in scored)
    rows = {label: base.replace(EACH, name) for label, base in wanted.can.rows.items()}
    own = {base for label, base in rows.items() if label in wanted.table.trained}
    return [
        _figure(wanted.table, name, label, scored[method, metric], finished(plan, method, log), log, alone)
        for metric in every
        for label, base in rows.items()
        for method in plan.methods
        if method == base or (method not in own and method.partition("@")[0] == base)
    ]


def _left_out(wanted: Wanted) -> list[str]:
    """What each data set that was not asked to its end lacks."""
    told = []
    for name in wanted.trials():
        folder = wanted.out / slug(name)
        if (folder / "manifest.json").exists():
            told.append(unfinished(reopened(folder, wanted.data).plan(), entries(folder), of=name))
        else:
            told.append(f"Not finished: {name} was not begun.")
    return list(filter(None, told))


def _metrics(wanted: Wanted, name: str) -> list[Metric]:
    """The metrics of a table that can be had on a data set, made where they must be."""
    chosen = Choices(models_by_metric(list(wanted.metric_models)), device=wanted.config.device)
    names = [one for one in wanted.can.metrics if one in metrics() or one in made_metrics()]
    made = make_all(names, chosen, lambda: load(name, wanted.data))
    return [m for one in names for m in made.get(one) or (metric(one),)]


def _figure(
    found: PaperTable, name: str, label: str, scored: Score, plan: Plan, log: Mapping[Any, Entry], alone: str
) -> Reproduced:
    mine = [log[job] for job in plan.jobs()]
    items = {item.question.id: item for item in plan.items}
    runs = [e.run for e in mine if e.run is not None]
    stand_ins = tuple(line for run in runs[:1] for line in run.notes if STANDS_IN in line)
    return Reproduced(
        name, scored.metric, label, controlled(scored.method).model or alone, scored.mean, scored.deviation,
        sum(e.run is None for e in mine), sum(unread(e, items[e.job.item]) for e in mine),
        printed(found, label, name, scored.metric, like=controlled(scored.method).model or alone), stand_ins,
    )  # fmt: skip


def printed(found: PaperTable, label: str, name: str, metric: str, *, like: str = "") -> tuple[tuple[str, float], ...]:
    """The paper's models and numbers for a row, data set and metric; the models named most `like` ours first.

    >>> printed(table("kg-rank/table2"), "Zero-shot", "liveqa", "rouge-l", like="hf/llama-2-7b")
    (('Llama-2-13b-chat', 0.1773), ('GPT-4', 0.1889))
    """
    theirs = ((p.model, p.value) for p in found.figures if (p.row, p.dataset, p.metric) == (label, name, metric))
    return tuple(sorted(theirs, key=lambda one: -partial_ratio(one[0].casefold(), like.casefold()) if like else 0))


def _told_by_scorers(wanted: Wanted) -> list[Reproduced]:
    """The accuracy of scorers of diseases on closed test cases, each fitted on the others; no model is asked."""
    found: list[Reproduced] = []
    told = [metric for metric in wanted.can.metrics if metric in OF_SCORERS]
    for name in wanted.can.datasets if wanted.table.scorers else ():
        split = _patients(name, wanted.data)
        for label, scorer in wanted.table.scorers.items():
            if label not in wanted.can.rows:
                continue
            by_seed = [on_test(split, scorer_of(scorer, seed).fit) for seed in wanted.seeds]
            found += [_by_scorer(wanted.table, name, label, metric, [of[metric] for of in by_seed]) for metric in told]
    return sorted(found, key=lambda r: (wanted.can.datasets.index(r.dataset), told.index(r.metric)))


def _by_scorer(of: PaperTable, name: str, label: str, metric: str, by_seed: Sequence[Sequence[float]]) -> Reproduced:
    """One figure of a scorer, of the values of its cases seed by seed."""
    values = [sum(seeds) / len(seeds) for seeds in zip(*by_seed, strict=True)]
    by = tuple(sum(some) / len(some) for some in by_seed if some)
    whole = Score(label, metric, mean(values), 0, (), by)
    theirs = printed(of, label, name, metric)
    return Reproduced(name, metric, label, "none", whole.mean, whole.deviation, 0, 0, theirs)


def scorer_of(text: str, seed: int = 0) -> ScorerChoice:
    """A scorer of diseases by its name in a table, with what is given of its numbers.

    >>> scorer_of("walk[restart=0.9]").settings.c
    0.1
    """
    parts = controlled(text)
    return ScorerChoice(name=parts.method, seed=seed, **{name: float(value) for name, value in parts.settings})  # type: ignore[arg-type]


def differed(wanted: Wanted, found: Sequence[Reproduced]) -> list[str]:
    """What is not as in the paper: model, graph, encoder, data, number, and all that is missing; in sentences."""
    of, ours = wanted.table, list(dict.fromkeys(r.model for r in found if r.model != "none"))
    manifests = [read_manifest(p.parent) for p in sorted(wanted.out.glob("*/manifest.json"))]
    graphs = dict.fromkeys(str(m.get("graph", "")) for m in manifests)
    preset = wanted.config.preset
    return [
        *_left_out(wanted),
        *([f"Model: {', '.join(ours)}; the paper's: {', '.join(of.models)}."] if of.models and ours else []),
        *([f"Graph: {', '.join(graphs)}; the paper's: {of.theirs['graph']}."] if graphs else []),
        *_parts(of, wanted.config) * bool(manifests),
        *dict.fromkeys(filter(None, map(_decoded, manifests))),
        *(_asked(of, m) for m in manifests),
        *(f"Left out of {name}: {row}." for name in wanted.can.datasets for row in _dropped(name, wanted.data)),
        *(["No model was named (--llm), so only the scorers are told."] if of.scorers and of.rows and not ours else []),
        *([f"Seeds: {len(wanted.seeds)}; the paper has {of.seeds}."] if len(wanted.seeds) != of.seeds else []),
        *([f"Preset: {preset}, not paper."] if preset != "paper" else []),
        *(f"Not here: {why}." for why in wanted.can.missing),
        *(f"Note: {note}." for note in of.notes),
    ]


def _parts(of: PaperTable, config: Config) -> list[str]:
    """The encoder and the scorer of pairs."""
    ours = {"encoder": config.encoder or "the embedded one", "scorer": config.scorer or "words and vectors"}
    return [f"{kind.capitalize()}: {ours[kind]}; the paper's: {of.theirs[kind]}." for kind in ours if of.theirs[kind]]


def _decoded(manifest: Mapping[str, Any]) -> str:
    """How the answers of every row were drawn, where all are drawn alike."""
    alike = manifest.get("decoding", {})
    told = {"temperature": alike.get("temperature"), "tokens of an answer at most": alike.get("answer_tokens")}
    said = [f"{name} {value}" for name, value in told.items() if value is not None]
    return f"Every row: {', '.join(said)}, as the paper's own method." if said else ""


def incomplete(wanted: Wanted, found: Sequence[Reproduced]) -> str:
    """What of a table there is not, counted: data sets, rows, metrics, answers, verdicts; "" of one that is whole."""
    of, can = wanted.table, wanted.can
    rows = len({*of.rows, *of.scorers, *of.cannot})
    parts = {
        "data sets": (len(can.datasets), len(of.datasets)),
        "rows": (len(can.rows), rows),
        "metrics": (len(can.metrics), len(of.metrics)),
    }
    told = [f"{have} of {wants} {what}" for what, (have, wants) in parts.items() if have < wants]
    failed = max((r.failed for r in found), default=0)
    told += [f"{failed} answers of a row failed"] * bool(failed)
    none = dict.fromkeys(r.metric for r in found if not r.ours.n and not r.failed)
    told += [f"no figure of {', '.join(none)}"] * bool(none)
    told += ["not asked to its end"] * bool(_left_out(wanted))
    told += [f"{lost} verdicts failed"] if (lost := unjudged(wanted)) else []
    told += ["no verdicts"] * bool(of.judge and not wanted.judge)
    return "; ".join(told)


def _asked(of: PaperTable, manifest: Mapping[str, Any]) -> str:
    """How many questions of a data set were asked, and of which part."""
    told = manifest["dataset"]
    some = f"{told['limit']} drawn" if told["limit"] else "all"
    theirs = f"; the paper: {of.questions[told['name']]}" if told["name"] in of.questions else ""
    return f"Questions of {told['name']}: {some}, part {told['part'] or 'test'}{theirs}."


def _patients(name: str, data: Path) -> Split:
    """The patients whom a data set asks about, or is."""
    return patients(name.removesuffix("-en").removesuffix("-questions"), data)


def _dropped(name: str, data: Path) -> tuple[str, ...]:
    """The rows of a set of patients that could not be read; of others every row is read, or refused."""
    return _patients(name, data).dropped if name in others() or "-questions" in name else ()


HEADER = ("row", "model", "ours", "95 %", "sd of seeds", "n", "failed", "unread", "gain", "paper", "paper's gain")


def _with_printed(of: PaperTable, found: Sequence[Reproduced]) -> list[Reproduced]:
    """The figures, and behind them those of the paper that were not run here, with nothing of ours."""
    there = {(r.row, r.dataset, r.metric) for r in found}
    left = dict.fromkeys(p[:3] for p in of.figures if p[:3] not in there)
    empty = [Reproduced(d, m, row, "not run", mean([]), None, 0, 0, printed(of, row, d, m)) for row, d, m in left]
    return [*found, *_with_gains(of, empty)]


def as_tables(wanted: Wanted, found: Sequence[Reproduced]) -> list[Table]:
    """One table a data set and metric, our numbers on the paper's scale; columns that say nothing are left out."""
    one_model = len({r.model for r in found}) < 2
    found = _with_printed(wanted.table, found)
    keys = dict.fromkeys((r.dataset, r.metric) for r in found)
    once = all(r.deviation is None for r in found)
    gains = any(r.gain is not None or r.their_gains for r in found)
    empty = (("model", one_model), ("sd of seeds", once), ("gain", not gains), ("paper's gain", not gains))
    without = {title for title, out in empty if out}
    return [_table(wanted.table, name, metric, found, without) for name, metric in keys]


def _table(of: PaperTable, name: str, metric: str, found: Sequence[Reproduced], without: set[str]) -> Table:
    by = _scale(metric, of.scale)
    kept = [i for i, title in enumerate(HEADER) if title not in without]
    rows = (_row(r, by) for r in found if (r.dataset, r.metric) == (name, metric))
    times = f" x {by:g}" if by != 1 else ""
    header = tuple(HEADER[i] for i in kept)
    cells = tuple(tuple(row[i] for i in kept) for row in rows)
    return Table(slug(f"{name}-{metric}"), f"{name}: {metric}{times}", header, cells)


def _row(r: Reproduced, by: float) -> tuple[Cell, ...]:
    places = 2 if by == 100 else 4  # as the papers print them

    def shown(x: float | None) -> str | None:
        return None if x is None or x != x else f"{x * by:.{places}f}"

    theirs = ", ".join(f"{value * by:.{places}f} {model}" for model, value in r.theirs) or None
    gain = None if r.gain is None else f"{r.gain * by:+.{places}f}"
    their_gains = ", ".join(f"{value * by:+.{places}f} {model}" for model, value in r.their_gains) or None
    ours = r.ours
    within = f"{shown(ours.low)}-{shown(ours.high)}" if ours.n > 1 else None  # of one value nothing is known
    row = f"{r.row} [{'; '.join(r.stand_ins)}]" if r.stand_ins else r.row
    return (row, r.model, shown(ours.mean), within, shown(r.deviation), ours.n, r.failed, r.unread, gain, theirs,
            their_gains)  # fmt: skip


def write(wanted: Wanted, found: Sequence[Reproduced], command: str, lacks: str = "") -> list[Path]:
    """The files of a table, written: Markdown, CSV and JSON; `lacks` = why nothing of it could be made."""
    of, made, told = wanted.table, as_tables(wanted, found), differed(wanted, found)
    verdicts = verdict_tables(wanted)
    lacks = lacks or incomplete(wanted, found)
    lines = [
        f"# {of.id}: {of.shows}",
        "",
        *([f"Incomplete: {lacks}.", ""] if lacks else []),
        f"{of.cite}, {of.place}. Ours, and the paper's beside them; gain = over the row of the model alone.",
        "",
    ]
    for one in [*made, *verdicts]:
        lines += [f"## {one.title}", "", as_markdown(one)]
    lines += ["## What differed", "", *(f"- {line}" for line in told), "", "## Command", "", f"    {command}", ""]
    plain = {
        "table": of.id, "command": command, "incomplete": lacks, "differed": told,
        "figures": [asdict(r) | {key: [{"model": m, "value": v} for m, v in given] for key, given in
                                  (("theirs", r.theirs), ("their_gains", r.their_gains))} for r in found],
        "verdicts": [asdict(one) for one in verdicts],
    }  # fmt: skip
    texts = {
        "table.md": "\n".join(lines),
        "table.csv": as_csv([(of.id, _long(_with_printed(of, found)))]),
        **({"verdicts.csv": as_csv([(of.id, one) for one in verdicts])} if verdicts else {}),
        "table.json": json.dumps(plain, ensure_ascii=False, indent=1) + "\n",
    }
    wanted.out.mkdir(parents=True, exist_ok=True)
    return [write_whole(wanted.out / name, text) for name, text in texts.items()]


def _long(found: Sequence[Reproduced]) -> Table:
    """Every figure in a line of its own, the paper's figures of several models in several lines; on our scale."""
    header = ("data set", "metric", "row", "model", "mean", "low", "high", "sd of seeds", "n", "failed", "unread",
              "gain", "paper's model", "paper", "paper's gain", "stand-ins")  # fmt: skip
    rows = tuple(
        (r.dataset, r.metric, r.row, r.model, r.ours.mean, r.ours.low, r.ours.high, r.deviation, r.ours.n, r.failed,
         r.unread, r.gain, model, value, dict(r.their_gains).get(model), "; ".join(r.stand_ins))
        for r in found for model, value in r.theirs or (("", None),)
    )  # fmt: skip
    return Table("figures", "figures", header, rows)
