"""The tables of a study, with what the papers report of the same methods and with the command that makes it again."""

import re
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import PurePath
from typing import Any, NamedTuple

from kgmed.config import config_type, options_of
from kgmed.evaluate import scores
from kgmed.evaluate.controls import controlled, has_baseline
from kgmed.evaluate.datasets import datasets
from kgmed.evaluate.items import DataSet, Item, Metric, Task
from kgmed.evaluate.log import Entry, Job, digest, in_order
from kgmed.evaluate.metrics import PLAIN, metric, metrics
from kgmed.evaluate.report.text import Cell, Signed, Table, formatted
from kgmed.evaluate.reproduce import PaperTable
from kgmed.evaluate.reproduce import tables as papers_tables
from kgmed.evaluate.run import Plan
from kgmed.evaluate.scores import PairedComparison, Score
from kgmed.language.text import visible
from kgmed.prompts import stated_task
from kgmed.records import Run

# --- One finished evaluation as a report reads it: its plan, its log, the scores computed from them, its sweeps.

MAIN: dict[Task, str] = {"choice": "accuracy", "text": "rouge-l", "entities": "evidence-recall@20"}
MORE = ("evidence-precision", "linked", "abstained", "faults", "tokens-in", "tokens-out", "cost", "cached")


def report_metrics(
    task: Task, wanted: Sequence[str], built: Mapping[str, tuple[Metric, ...]] | None = None
) -> tuple[Metric, ...]:
    """The metrics of a report: those `wanted` in their order, the first the main one; none = the usual ones.

    "usual" and "all" stand for those of the task; `built` = metrics that a model or the references were needed for.
    """
    of_task = [m.name for m in metrics().values() if task in m.tasks]
    groups = {"usual": (MAIN[task], *PLAIN[task], *MORE), "all": (MAIN[task], *of_task)}
    names = dict.fromkeys(name for word in wanted or ("usual",) for name in groups.get(word, (word,)))
    return tuple(m for name in names for m in (built or {}).get(name) or (metric(name),))


def default_baseline(methods: Sequence[str]) -> str:
    """What all are compared with unless one is named: zero-shot, else the first control, else the first method.

    >>> default_baseline(["hykge", "hykge+random", "zero-shot"]), default_baseline(["facts", "facts+random"])
    ('zero-shot', 'facts+random')
    """
    controls = [m for m in methods if controlled(m).control]
    return "zero-shot" if has_baseline("zero-shot", methods) else next(iter([*controls, *methods]), "")


@dataclass(frozen=True)
class Study:
    """An evaluation folder, read.

    `total` = the questions of the data set's part: where the plan has fewer, it is of a sample.
    """

    name: str
    dataset: DataSet
    manifest: Mapping[str, Any]
    plan: Plan
    log: Mapping[Job, Entry]
    total: int
    metrics: tuple[Metric, ...]
    chosen_baseline: str = ""

    @property
    def title(self) -> str:
        """The data set and the folder."""
        return f"{self.dataset.title}: {self.name}"

    @property
    def main(self) -> Metric:
        """The metric that is drawn and that disagreements are measured by."""
        return self.metrics[0]

    @property
    def sampled(self) -> bool:
        """Whether the questions are a part of those of the data set."""
        return len(self.plan.items) < self.total

    @property
    def baseline(self) -> str:
        """The name of the method that all are compared with."""
        return self.chosen_baseline or default_baseline(self.plan.methods)

    @cached_property
    def items(self) -> dict[str, Item]:
        """The items by the id of their question."""
        return {item.question.id: item for item in self.plan.items}

    @cached_property
    def scores(self) -> list[Score]:
        """Every metric of every method."""
        return scores.score(self.log, self.plan, self.metrics)

    @cached_property
    def differences(self) -> list[PairedComparison]:
        """Every method against the baseline."""
        return scores.compare_to_baseline(self.scores, self.baseline)

    @cached_property
    def disagreements(self) -> list[tuple[str, dict[str, float]]]:
        """The questions that methods are not scored alike on, with the score of each, the widest spread first."""
        return scores.disagreements(self.log, self.plan, self.main)

    @property
    def unfinished(self) -> str:
        """In a sentence how many answers are not there yet; "" where all are."""
        return scores.unfinished(self.plan, self.log)

    def score(self, method: str, name: str) -> Score | None:
        """One metric of one method; None where that metric is not shown."""
        return next((s for s in self.scores if (s.method, s.metric) == (method, name)), None)

    def mean(self, method: str, name: str) -> float | None:
        """The mean of a metric; None where no question has the number."""
        score = self.score(method, name)
        return score.mean.mean if score and score.mean.n else None

    def difference(self, method: str, name: str) -> PairedComparison | None:
        """One method against the baseline; None for the baseline itself."""
        return next((d for d in self.differences if (d.method, d.metric) == (method, name)), None)

    def entry(self, method: str, item: Item) -> Entry | None:
        """What a method made of a question, of several seeds with the first; None where it was not asked yet."""
        return self.log.get(Job(method, item.question.id, self.plan.seeds[0]))

    def entries(self, method: str) -> list[Entry]:
        """One a question and seed that it was asked and is scored on."""
        return in_order(dict(self.log), scores.finished(self.plan, method, self.log).jobs())

    def runs(self, method: str) -> Iterator[Run]:
        """The runs that did not fail."""
        return (e.run for e in self.entries(method) if e.run is not None)

    def errors(self, method: str) -> Counter[str]:
        """The messages of the runs that failed, and how often each came."""
        return Counter(e.error for e in self.entries(method) if e.run is None)

    def models(self, method: str) -> dict[str, str]:
        """The models that the method's runs used, by what they did."""
        names: dict[str, dict[str, None]] = {}
        for run in self.runs(method):
            for kind, name in run.models:
                names.setdefault(kind, {})[name] = None
        return {kind: ", ".join(some) for kind, some in names.items()}

    def stages(self, method: str) -> dict[str, float]:
        """The mean seconds of each stage, over the runs that did not fail."""
        runs = list(self.runs(method))
        total: dict[str, float] = {}
        for run in runs:
            for stage in run.stages:
                total[stage.name] = total.get(stage.name, 0.0) + stage.seconds
        return {name: seconds / len(runs) for name, seconds in total.items()}


# --- Sweeps in a study: methods that differ in one setting alone, as hykge[hops=1], hykge[hops=2].


class Sweep(NamedTuple):
    """A setting and, for each method that it was varied of, pairs of the setting's value and the method's name."""

    setting: str
    series: tuple[tuple[str, tuple[tuple[float, str], ...]], ...]


def sweeps(methods: Sequence[str]) -> list[Sweep]:
    """The sweeps among methods; a value that is no number makes none.

    >>> [(s.setting, s.series) for s in sweeps(["hykge[hops=2]", "hykge[hops=1]", "facts", "hykge[keep=5]"])]
    [('hops', (('hykge', ((1.0, 'hykge[hops=1]'), (2.0, 'hykge[hops=2]'))),))]
    """
    found: dict[str, dict[str, dict[float, str]]] = {}
    for name in methods:
        parts = controlled(name)
        for setting, text in parts.settings:
            if (value := _figure(text)) is not None:
                rest = ",".join(f"{k}={v}" for k, v in parts.settings if k != setting)
                control = f"+{parts.control}" if parts.control else ""
                model = f"@{parts.model}" if parts.model else ""
                base = f"{parts.method}{f'[{rest}]' if rest else ''}{control}{model}"
                found.setdefault(setting, {}).setdefault(base, {})[value] = name
    series = {s: tuple((b, tuple(sorted(v.items()))) for b, v in by.items() if len(v) > 1) for s, by in found.items()}
    return [Sweep(setting, lines) for setting, lines in series.items() if lines]


def _figure(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if abs(value) < 1e12 else None


# --- What the papers report for the same method, data set and metric: in a column of its own, never mixed with ours.


@dataclass(frozen=True, slots=True)
class Figure:
    """A number as a paper prints it, on our scale, with the model that the paper used."""

    paper: str
    cite: str
    method: str  # our name of it
    dataset: str
    metric: str
    value: float
    model: str
    table: str = ""  # its number in the paper; "" = not checked
    questions: str = ""  # the paper's questions, where they are not those of our data set

    def __str__(self) -> str:
        """The number, the paper and the model on one line."""
        place = f"{self.paper}, Table {self.table}" if self.table else self.paper
        return f"{self.value:.4f} with {self.model} ({'; '.join(filter(None, (place, self.questions)))})"


_THEIR_OWN = ("seconds", "tokens-in")  # of their server, their tokenizer


@cache
def figures() -> tuple[Figure, ...]:
    """The figures of all papers that are of methods and data sets of ours; one that a paper prints twice, once."""
    found: dict[tuple[str, ...], Figure] = {}
    for of in papers_tables().values():
        for p in of.figures:
            if p.row in of.rows and p.dataset in datasets() and p.metric not in _THEIR_OWN:
                rest = (of.rows[p.row], p.dataset, p.metric)
                made = Figure(of.paper, of.cite, *rest, p.value, p.model, _number(of), of.questions.get(p.dataset, ""))
                found.setdefault((of.paper, *rest, p.model), made)
    return tuple(found.values())


def _number(of: PaperTable) -> str:
    """The number of a table that is known to hold all its rows; "" where that was not checked."""
    sure = re.fullmatch(r"Table (\d+)", of.place)
    return sure[1] if sure and not any(note.startswith("the place") for note in of.notes) else ""


def reported(method: str, dataset: str, metric: str) -> list[Figure]:
    """What papers report of a method, by our names.

    >>> [str(f) for f in reported("hykge", "mmcu", "accuracy")]
    ['0.4965 with GPT-3.5 (HyKGE, Table 2)', '0.4933 with Baichuan-13B-Chat (HyKGE, Table 2)']
    """
    plain = method.partition("@")[0]
    return [f for f in figures() if (f.method, f.dataset, f.metric) == (plain, dataset, metric)]


def _papers(study: Study, method: str, metric: str) -> str:
    return " · ".join(map(str, reported(method, study.dataset.name, metric)))


# --- Scores: at a glance, over several sets, by metric, against the baseline.


SIGNIFICANT = 0.05
PAPER = "paper, with its model"
PAPER_NOTE = (
    "The last column is what the papers print, with their models, graphs and prompts: not our figures, and not "
    "reproduced here."
)


def headline(study: Study) -> Table:
    """Every method in one line: the main metric, its interval, how many failed, what it took."""
    rows = [_headline(study, method) for method in study.plan.methods if study.score(method, study.main.name)]
    header = ("method", study.main.name, "95 % from", "to", "n", "failed", f"against {study.baseline}", "p corrected",
              "seconds", "calls", "tokens", PAPER)  # fmt: skip
    note = f"Failures count as failures. p is corrected for the number of methods (Holm). {_size(study)} {PAPER_NOTE}"
    if any(low == high for _, _, low, high, *_ in rows):
        note += " An interval without width comes of values that are all alike; it is no certainty."
    return Table("headline", "At a glance", header, tuple(rows), note)


def _headline(study: Study, method: str) -> tuple[Cell, ...]:
    score, difference = study.score(method, study.main.name), study.difference(method, study.main.name)
    mean = score.mean if score else scores.mean([])
    seconds, calls, read, written = (study.mean(method, n) for n in ("seconds", "calls", "tokens-in", "tokens-out"))
    return (
        method, mean.mean, mean.low, mean.high, mean.n, study.errors(method).total(),
        Signed(difference.difference) if difference else None, difference.corrected if difference else None,
        seconds, calls, None if read is None or written is None else read + written,
        _papers(study, method, study.main.name),
    )  # fmt: skip


def _size(study: Study) -> str:
    """Whether this is a sample, in a sentence."""
    n = len(study.plan.items)
    size = f"A sample: {n} of {study.total} questions." if study.sampled else f"All {n} questions."
    return f"{size} {study.unfinished}".rstrip()


def board(study: Study) -> Table:
    """Methods and models in one list, the best first, with what failed and what could not be read."""
    scored = [s for s in study.scores if s.metric == study.main.name]
    best_first = sorted(scored, key=lambda s: _place(s.mean.mean, study.main))
    rows = tuple((place, *_on_board(study, s)) for place, s in enumerate(best_first, start=1))
    header = ("", "method", "model", study.main.name, "95 % from", "to", "n", "failed", "unread", "abstained", "calls",
              "tokens")  # fmt: skip
    note = (
        "failed = no answer; unread = the model replied and its reply could not be used. Both are scored as wrong. "
        f"calls and tokens are all that were taken. {_size(study)}"
    )
    return Table("board", f"Board: {study.title}", header, rows, note)


def _place(mean: float, main: Metric) -> tuple[bool, float]:
    """The best first, what has no number last."""
    return mean != mean, -mean if main.higher else mean


def _on_board(study: Study, score: scores.Score) -> tuple[Cell, ...]:
    entries, runs = study.entries(score.method), list(study.runs(score.method))
    mean, model = score.mean, controlled(score.method).model or study.models(score.method).get("llm", "none")
    return (
        score.method.partition("@")[0], model, mean.mean, mean.low, mean.high, mean.n,
        sum(e.run is None for e in entries),
        sum(scores.unread(e, study.items[e.job.item]) for e in entries), sum(r.answer.abstained for r in runs),
        sum(r.spent.calls for r in runs), sum(r.spent.tokens_in + r.spent.tokens_out for r in runs),
    )  # fmt: skip


def grid(study: Study) -> Table:
    """The main metric of each method (a row, the best on the mean first) with each model (a column)."""
    cells = {(str(b[1]), str(b[2])): b[3] for b in board(study).rows}
    models = list(dict.fromkeys(model for _, model in cells))
    names = dict.fromkeys(method for method, _ in cells)
    by = {m: tuple(cells.get((m, model)) for model in models) for m in names}
    ordered = sorted(by, key=lambda m: _place(_middle(by[m]), study.main))
    rows: tuple[tuple[Cell, ...], ...] = tuple((m, *by[m]) for m in ordered)
    return Table("grid", f"{study.main.name}: methods and models", ("method", *models), rows)


def _middle(values: Sequence[Cell]) -> float:
    known = [float(v) for v in values if isinstance(v, float) and v == v]
    return sum(known) / len(known) if known else float("nan")


def overview(studies: Sequence[Study]) -> list[Table]:
    """The main metric of every method on several sets, one table for those that compare the same methods.

    An arrow says that a method is better or worse than the baseline with p < .05, corrected within its set.
    """
    groups: dict[tuple[tuple[str, ...], str], list[Study]] = {}
    for study in studies:
        groups.setdefault((tuple(sorted(study.plan.methods)), study.baseline), []).append(study)
    return [_overview(group) for group in groups.values() if len(group) > 1]


def _overview(studies: Sequence[Study]) -> Table:
    """One such table: a row for each method, a column for each set."""
    methods, chance = studies[0].plan.methods, [_chance(s) for s in studies]
    rows: list[tuple[Cell, ...]] = [(m, *(_with_arrow(s, m) for s in studies)) for m in methods]
    if any(c is not None for c in chance):
        rows.append(("one option drawn at random", *(None if c is None else formatted(c) for c in chance)))
    note = (
        f"↑ better, ↓ worse than {studies[0].baseline}: p < .05, corrected for the number of methods (Holm) within "
        "the set. Failures count as failures."
    )
    header = ("method", *(f"{s.name}: {s.main.name}" for s in studies))
    return Table("overview", f"All sets at a glance: {len(methods)} methods", header, tuple(rows), note)


def _with_arrow(study: Study, method: str) -> str:
    """A mean, with an arrow where its difference from the baseline is significant."""
    difference = study.difference(method, study.main.name)
    mean = formatted(study.mean(method, study.main.name))
    if difference is None or difference.corrected >= SIGNIFICANT or not difference.difference:
        return mean
    return f"{mean} {'↑' if (difference.difference > 0) == study.main.higher else '↓'}"


def _chance(study: Study) -> float | None:
    """The accuracy of one option drawn at random; None where accuracy is not the main metric."""
    counts = [(len(item.question.options), len(item.gold.choices)) for item in study.plan.items]
    if study.main.name != "accuracy" or not counts:
        return None
    return sum(1 / options if options and right == 1 else 0.0 for options, right in counts) / len(counts)


def means(study: Study) -> Table:
    """The mean of every metric for every method."""
    names = tuple(metric.name for metric in study.metrics)
    rows = [(method, *(study.mean(method, name) for name in names)) for method in study.plan.methods]
    note = "Means over the questions that have the number; what each metric is: docs/evaluate/metrics.md."
    return Table("means", "Every metric", ("method", *names), tuple(rows), note)


def scores_of(study: Study, metric: Metric) -> Table:
    """One metric of every method."""
    rows = tuple(
        (s.method, s.metric, s.mean.mean, s.mean.error, s.mean.low, s.mean.high, s.mean.n, s.without,
         study.errors(s.method).total(), _papers(study, s.method, s.metric))
        for s in study.scores if s.metric == metric.name
    )  # fmt: skip
    header = ("method", "metric", "mean", "s.e.", "95 % from", "to", "n", "without", "failed", PAPER)
    failed = "is not counted here" if metric.failed is None else f"counts as {metric.failed:g}"
    note = f"{metric.formula} ({metric.source}); {'higher' if metric.higher else 'lower'} is better. "
    return Table("scores", metric.name, header, rows, f"{note}A failed run {failed}. {_size(study)}")


def differences_of(study: Study, metric: Metric) -> Table:
    """One metric of every method against the baseline."""
    rows = tuple(
        (d.method, d.baseline, d.metric, Signed(d.difference), Signed(d.low), Signed(d.high), d.n, d.p, d.corrected,
         d.test) for d in study.differences if d.metric == metric.name
    )  # fmt: skip
    header = ("method", "against", "metric", "difference", "95 % from", "to", "n", "p", "p corrected", "test")
    note = "n = questions of which both have a number; p corrected for the number of methods compared (Holm)."
    return Table("differences", f"{metric.name} against {study.baseline}", header, rows, note if rows else "")


def disagreements(study: Study, *, most: int = 0) -> Table:
    """The questions that methods disagree on, with the score of each; `most` = so many, 0 = all."""
    found, methods = study.disagreements, study.plan.methods
    rows = tuple((name, *(by.get(m) for m in methods)) for name, by in (found[:most] if most else found))
    note = (
        f"{len(found)} of {len(study.plan.items)} questions are not scored alike by {study.main.name}; the most "
        "divided first."
    )
    return Table("disagreements", "Where methods disagree", ("question", *methods), rows, note)


# --- What happened in the runs: failures, options chosen, seconds, models.


def failures(study: Study) -> Table:
    """What failed, by method and kind of message, the most frequent first; then what went wrong without ending a run.

    Messages that differ in numbers, or in what they quote of a reply, are of one kind.
    """
    rows: list[tuple[Cell, ...]] = []
    for method in study.plan.methods:
        rows += [(method, "failed", n, error) for error, n in _kinds(study.errors(method))]
        kinds = _kinds(Counter(failure for run in study.runs(method) for failure in run.failures))
        rows += [(method, "went on", n, failure) for failure, n in kinds[:10]]
        if len(kinds) > 10:
            rows.append((method, "went on", sum(n for _, n in kinds[10:]), f"{len(kinds) - 10} other kinds of message"))
    header = ("method", "what", "times", "message, the commonest of its kind")
    note = (
        "failed = the run has no answer and is scored so; went on = answered all the same, for instance without a "
        "step. Messages that differ only in numbers, or in what they quote of a reply, are counted together."
    )
    return Table("failures", "What went wrong", header, tuple(rows), note if rows else "")


def _kinds(messages: Counter[str]) -> list[tuple[str, int]]:
    """The commonest message of each kind and how many are of it, the most frequent first.

    >>> _kinds(Counter(["it begins 'a'", "it begins 'b'", "it begins 'b'", "only 5%", "only 33.5%", "no key"]))
    [("it begins 'b'", 3), ('only 5%', 2), ('no key', 1)]
    """
    commonest: dict[str, str] = {}
    times = Counter[str]()
    for message, n in messages.most_common():
        kind = re.sub(r"\d+(?:\.\d+)?", "0", re.sub(r"\b(begins|ends) .*", r"\1", message, flags=re.DOTALL))
        commonest.setdefault(kind, message)
        times[kind] += n
    return [(commonest[kind], n) for kind, n in times.most_common()]


def letters(study: Study) -> Table:
    """How often each option was chosen and how often it is right; empty where there are no options."""
    known = sorted({letter for item in study.plan.items for letter, _ in item.question.options})
    if study.dataset.task != "choice" or not known:
        return Table("letters", "Which options are chosen", (), ())
    right = _shares([item.gold.choices for item in study.plan.items], known)
    rows: list[tuple[Cell, ...]] = [("right answers", None, *right)]
    for method in study.plan.methods:
        chosen = _shares([run.answer.choices for run in study.runs(method)], known)
        rows.append((method, scores.option_bias(study.log, study.plan, method), *chosen))
    note = (
        "Shares of the options. distance = total variation between what is chosen and what is right, over the "
        "questions where something is chosen: 0 = alike, 1 = apart."
    )
    return Table("letters", "Which options are chosen", ("method", "distance", *known), tuple(rows), note)


def _shares(choices: Iterable[tuple[str, ...]], known: Sequence[str]) -> list[float | None]:
    """The share of each letter; a question with several counts for each in part."""
    some = [c for c in choices if c]
    return [sum((letter in c) / len(c) for c in some) / len(some) if some else None for letter in known]


def stages(study: Study) -> Table:
    """The mean seconds of each stage."""
    seconds = {method: study.stages(method) for method in study.plan.methods}
    names = list(dict.fromkeys(name for by in seconds.values() for name in by))
    rows = tuple((m, *(by.get(n) for n in names), sum(by.values()) if by else None) for m, by in seconds.items())
    note = (
        "Mean seconds, over the runs that did not fail, on the machine and under the load of that day; "
        "the first question pays for what is opened once, the first method for what is remembered for the others."
    )
    return Table("stages", "Seconds by stage", ("method", *names, "sum"), rows, note)


def models(study: Study) -> Table:
    """The models that each method used."""
    used = {method: study.models(method) for method in study.plan.methods}
    kinds = list(dict.fromkeys(kind for by in used.values() for kind in by))
    rows = tuple((m, *(by.get(kind, "none") for kind in kinds)) for m, by in used.items())
    return Table("models", "Models", ("method", *kinds), rows)


# --- What an evaluation depends on, as a table, and the command that makes it again.


_UNSET: tuple[object, ...] = (None, "", 0, {}, [])


def command(study: Study) -> str:
    """The command line that makes this evaluation, on one line; paths of that machine are cut to their names.

    What a manifest does not hold, because no answer depends on it, is not in it: a server's address, limits, caches.
    """
    return " ".join(shlex.quote(visible(word)).replace("\n", " ") for word in _words(study))


def _words(study: Study) -> Iterator[str]:
    dataset, setup = _part(study.manifest, "dataset"), _part(study.manifest, "setup")
    yield from ("kgmed", "eval", "run", study.name, "--set", _without_folder(dataset.get("name", "")))
    for method in study.plan.methods:
        yield from ("--method", method)
    yield from ("--graph", _without_folder(setup.get("graph", "")), "--part", str(dataset.get("part") or ""))
    if dataset.get("limit"):
        yield from ("--number", str(dataset["limit"]), "--sample", str(dataset.get("sample", 0)))
    for seed in study.plan.seeds if tuple(study.plan.seeds) != (0,) else ():
        yield from ("--seed", str(seed))
    options = options_of(config_type()).keys() - {"graph", "method", "settings"}
    for name, value in setup.items():
        if name in options and value not in _UNSET:
            yield from (f"--{name.replace('_', '-')}", _without_folder(value))


def _part(manifest: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """A part of the manifest, empty where it has none."""
    part = manifest.get(name)
    return part if isinstance(part, Mapping) else {}


def _without_folder(value: object) -> str:
    """A path of some machine cut to its last name; anything else as it is.

    >>> _without_folder("/home/x/q.jsonl"), _without_folder("hf//home/x/tiny"), _without_folder("https://a.org/b")
    ('q.jsonl', 'hf/tiny', 'https://a.org/b')
    """
    text = str(value)
    kind, _, place = text.partition("/")
    if "://" in text:
        return text
    if PurePath(place).is_absolute():
        return f"{kind}/{PurePath(place).name}"
    return PurePath(text).name if PurePath(text).is_absolute() else text


def _asked_for(study: Study, preset: str, answer_from: str) -> dict[str, str]:
    """What methods with a model are asked for, of the first question; nothing where none was asked."""
    if not study.plan.items or not any("llm" in study.models(method) for method in study.plan.methods):
        return {}
    return {"the answer that is asked for": stated_task(study.plan.items[0].question, preset or "safe", answer_from)}


def provenance(study: Study) -> Table:
    """All that the manifest holds, and the hash of the log."""
    manifest, n = study.manifest, len(study.plan.items)
    dataset, setup = _part(manifest, "dataset"), _part(manifest, "setup")
    sample = ", a sample" if study.sampled else ""
    rows = {
        "data set": f"{study.dataset.title} ({study.dataset.name}), {study.dataset.citation or 'no citation'}",
        "from": _without_folder(study.dataset.source),
        "licence": study.dataset.licence,
        "revision, sha256": f"{dataset.get('revision', '')}, {dataset.get('sha256', '')}",
        "questions": f"{n} of {study.total}{sample}, part {dataset.get('part') or 'all'}",
        "seeds": ", ".join(map(str, study.plan.seeds)),
        "graph": str(manifest.get("graph", "")),
        "prompts": str(manifest.get("prompts", "")),
        **_asked_for(study, str(setup.get("preset", "")), str(setup.get("answer_from", "assisted"))),
        **{f"setup: {k}": _without_folder(v) for k, v in setup.items() if v not in _UNSET},
        **{f"version: {k}": str(v) for k, v in _part(manifest, "versions").items()},
        "answers": f"{len(study.log)} in the log, sha256 without seconds {digest(dict(study.log))}",
        "made by": command(study),
    }
    return Table("manifest", "What this depends on", ("what", "value"), tuple(rows.items()))
