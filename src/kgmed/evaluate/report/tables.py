"""The tables of a study."""

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from kgmed.evaluate import scores
from kgmed.evaluate.items import Metric
from kgmed.evaluate.report.study import Cell, Signed, Study, Table, shown

# --- What the papers report for the same method, data set and metric; it stands beside our figures, never among them.


@dataclass(frozen=True, slots=True)
class Figure:
    """A number as a paper prints it, on our scale, with the model it was reached with."""

    paper: str
    cite: str
    method: str  # our name of it
    dataset: str
    metric: str
    value: float
    model: str
    table: str = ""  # its number in the paper; "" = not checked
    other: str = ""  # the paper's questions, where they are not those of our data set

    def __str__(self) -> str:
        """The number, the paper and the model on one line."""
        where = f"{self.paper}, Table {self.table}" if self.table else self.paper
        return f"{self.value:.4f} with {self.model} ({'; '.join(filter(None, (where, self.other)))})"


@cache
def figures() -> tuple[Figure, ...]:
    """All that is known."""
    data = tomllib.loads((files(__package__) / "papers.toml").read_text(encoding="utf-8"))
    return tuple(_figure(paper, row) for paper in data["paper"] for row in paper["figures"])


def _figure(paper: dict[str, Any], row: dict[str, Any]) -> Figure:
    value = round(row["value"] / paper["scale"], 6)
    other = paper.get("questions", {}).get(row["dataset"], "")
    return Figure(**{**row, "value": value}, paper=paper["name"], cite=paper["cite"], other=other)


def reported(method: str, dataset: str, metric: str) -> list[Figure]:
    """What papers report of a method, by our names.

    >>> [str(f) for f in reported("hykge", "mmcu", "accuracy")]
    ['0.4965 with GPT-3.5 (HyKGE)', '0.4933 with Baichuan-13B-Chat (HyKGE)']
    """
    return [f for f in figures() if (f.method, f.dataset, f.metric) == (method, dataset, metric)]


# --- The tables of a study.


_SURE = 0.05
PAPER = "paper, with its model"
BORROWED = (
    "The last column is what the papers print, with their models, graphs and prompts: not our figures, and not "
    "reproduced here."
)


def _papers(study: Study, method: str, metric: str) -> str:
    """What the papers report in that place."""
    return " · ".join(map(str, reported(method, study.dataset.name, metric)))


def _mean(study: Study, method: str, name: str) -> float | None:
    found = study.score(method, name)
    return found.mean.mean if found and found.mean.n else None


def headline(study: Study) -> Table:
    """Every method in one line: the main metric, how sure it is, what failed, what it took."""
    rows = []
    for method in study.plan.methods:
        score, against = study.score(method, study.main.name), study.difference(method, study.main.name)
        if score is None:
            continue
        took = [_mean(study, method, name) for name in ("seconds", "calls", "tokens-in", "tokens-out")]
        tokens = None if took[2] is None or took[3] is None else took[2] + took[3]
        rows.append((
            method, score.mean.mean, score.mean.low, score.mean.high, score.mean.n, sum(study.failed(method).values()),
            Signed(against.difference) if against else None, against.corrected if against else None,
            took[0], took[1], tokens, _papers(study, method, study.main.name),
        ))  # fmt: skip
    header = ("method", study.main.name, "95 % from", "to", "n", "failed", f"against {study.against}", "p corrected",
              "seconds", "calls", "tokens", PAPER)  # fmt: skip
    flat = any(low == high for _, _, low, high, *_ in rows)
    note = f"Failures count as failures. p is corrected for the number of methods (Holm). {_size(study)} {BORROWED}"
    note += " An interval without width comes of values that are all alike; it is no certainty." if flat else ""
    return Table("headline", "At a glance", header, _rows(rows), note)


def overview(studies: Sequence[Study]) -> list[Table]:
    """The main metric of every method on several sets, one table for those that compare the same methods.

    An arrow says that a method is better or worse than the baseline with p < .05, corrected within its set.
    """
    groups: dict[tuple[tuple[str, ...], str], list[Study]] = {}
    for study in studies:
        groups.setdefault((tuple(sorted(study.plan.methods)), study.against), []).append(study)
    return [_overview(group) for group in groups.values() if len(group) > 1]


def _overview(studies: Sequence[Study]) -> Table:
    """One such table: a row for each method, a column for each set."""
    methods, base = studies[0].plan.methods, studies[0].against
    rows: list[tuple[Cell, ...]] = [(m, *(_arrowed(s, m) for s in studies)) for m in methods]
    chance = [_chance(s) for s in studies]
    if any(c is not None for c in chance):
        rows.append(("one option drawn at random", *(None if c is None else shown(c) for c in chance)))
    header = ("method", *(f"{s.name}: {s.main.name}" for s in studies))
    note = f"↑ better, ↓ worse than {base}: p < .05, corrected for the number of methods (Holm) within the set."
    return Table(
        "overview",
        f"All sets at a glance: {len(methods)} methods",
        header,
        tuple(rows),
        f"{note} Failures count as failures.",
    )


def _arrowed(study: Study, method: str) -> str:
    """A mean, with an arrow where it differs from the baseline with some certainty."""
    difference = study.difference(method, study.main.name)
    told = shown(_mean(study, method, study.main.name))
    if difference is None or difference.corrected >= _SURE or not difference.difference:
        return told
    return f"{told} {'↑' if (difference.difference > 0) == study.main.higher else '↓'}"


def _chance(study: Study) -> float | None:
    """The accuracy of one option drawn at random; None where that is not what is told."""
    given = [(len(item.question.options), len(item.gold.choices)) for item in study.plan.items]
    if study.main.name != "accuracy" or not given:
        return None
    return sum(1 / options if options and right == 1 else 0.0 for options, right in given) / len(given)


def _size(study: Study) -> str:
    """Whether this is a sample, in a sentence."""
    n = len(study.plan.items)
    return f"A sample: {n} of {study.of} questions." if study.sampled else f"All {n} questions."


def _rows(rows: Iterable[Iterable[Cell]]) -> tuple[tuple[Cell, ...], ...]:
    return tuple(tuple(row) for row in rows)


def means(study: Study) -> Table:
    """The mean of every metric for every method."""
    names = tuple(metric.name for metric in study.metrics)
    rows = [(method, *(_mean(study, method, name) for name in names)) for method in study.plan.methods]
    note = "Means over the questions that have the number; what each metric is: docs/metrics.md."
    return Table("means", "Every metric", ("method", *names), _rows(rows), note)


def scores_of(study: Study, metric: Metric) -> Table:
    """One metric of every method."""
    rows = [
        (s.method, s.metric, s.mean.mean, s.mean.error, s.mean.low, s.mean.high, s.mean.n, s.without,
         sum(study.failed(s.method).values()), _papers(study, s.method, s.metric))
        for s in study.scores if s.metric == metric.name
    ]  # fmt: skip
    header = ("method", "metric", "mean", "s.e.", "95 % from", "to", "n", "without", "failed", PAPER)
    failed = "is not counted here" if metric.failed is None else f"counts as {metric.failed:g}"
    note = f"{metric.formula} ({metric.source}); {'higher' if metric.higher else 'lower'} is better. "
    return Table("scores", metric.name, header, _rows(rows), f"{note}A failed run {failed}. {_size(study)}")


def differences_of(study: Study, metric: Metric) -> Table:
    """One metric of every method against the baseline."""
    rows = [
        (d.method, d.baseline, d.metric, Signed(d.difference), Signed(d.low), Signed(d.high), d.n, d.p, d.corrected,
         d.test) for d in study.differences if d.metric == metric.name
    ]  # fmt: skip
    header = ("method", "against", "metric", "difference", "95 % from", "to", "n", "p", "p corrected", "test")
    note = "n = questions of which both have a number; p corrected for the number of methods compared (Holm)."
    return Table("differences", f"{metric.name} against {study.against}", header, _rows(rows), note if rows else "")


def failures(study: Study) -> Table:
    """What failed, by method and kind of message, the most frequent first; then what went wrong without ending a run.

    Messages that differ in numbers, or in what they quote of a reply, are of one kind.
    """
    rows: list[tuple[Cell, ...]] = []
    for method in study.plan.methods:
        rows += [(method, "failed", n, error) for error, n in _kinds(study.failed(method))]
        kinds = _kinds(Counter(fault for run in study.runs(method) for fault in run.failures))
        rows += [(method, "went on", n, fault) for fault, n in kinds[:10]]
        if len(kinds) > 10:
            rows.append((method, "went on", sum(n for _, n in kinds[10:]), f"{len(kinds) - 10} other kinds of message"))
    header = ("method", "what", "times", "message, the commonest of its kind")
    note = (
        "failed = the run has no answer and is scored so; went on = answered all the same, for instance without a "
        "step. Messages that differ only in numbers, or in what they quote of a reply, are counted together."
    )
    return Table("failures", "What went wrong", header, tuple(rows), note if rows else "")


def _kinds(told: Counter[str]) -> list[tuple[str, int]]:
    """The commonest message of each kind and how many are of it, the most frequent first.

    >>> _kinds(Counter(["it begins 'a'", "it begins 'b'", "it begins 'b'", "only 5%", "only 33.5%", "no key"]))
    [("it begins 'b'", 3), ('only 5%', 2), ('no key', 1)]
    """
    shown: dict[str, str] = {}
    times = Counter[str]()
    for message, n in told.most_common():
        kind = re.sub(r"\d+(?:\.\d+)?", "0", re.sub(r"\b(begins|ends) .*", r"\1", message, flags=re.DOTALL))
        shown.setdefault(kind, message)
        times[kind] += n
    return [(shown[kind], n) for kind, n in times.most_common()]


def letters(study: Study) -> Table:
    """How often each option was chosen, beside how often it is right; empty where there are no options."""
    known = sorted({letter for item in study.plan.items for letter, _ in item.question.options})
    if study.dataset.task != "choice" or not known:
        return Table("letters", "Which options are chosen", (), ())
    right = _share([item.gold.choices for item in study.plan.items], known)
    rows: list[tuple[Cell, ...]] = [("right answers", None, *right)]
    for method in study.plan.methods:
        chosen = _share([run.answer.choices for run in study.runs(method)], known)
        rows.append((method, scores.option_bias(study.found, study.plan, method), *chosen))
    note = (
        "Shares of the options. distance = total variation between what is chosen and what is right, over the "
        "questions where something is chosen: 0 = alike, 1 = apart."
    )
    return Table("letters", "Which options are chosen", ("method", "distance", *known), tuple(rows), note)


def _share(chosen: list[tuple[str, ...]], known: list[str]) -> list[float | None]:
    """The share of each letter; a question with several counts for each in part."""
    told = [c for c in chosen if c]
    if not told:
        return [None] * len(known)
    return [sum((letter in c) / len(c) for c in told) / len(told) for letter in known]


def stages(study: Study) -> Table:
    """The mean seconds of each stage."""
    of = {method: study.stages(method) for method in study.plan.methods}
    names = list(dict.fromkeys(name for told in of.values() for name in told))
    rows = [(m, *(told.get(name) for name in names), sum(told.values()) if told else None) for m, told in of.items()]
    note = (
        "Mean seconds, over the runs that did not fail, on the machine and under the load of that day; "
        "the first question pays for what is opened once, the first method for what is remembered for the others."
    )
    return Table("stages", "Seconds by stage", ("method", *names, "sum"), _rows(rows), note)


def models(study: Study) -> Table:
    """What each method was made with."""
    of = {method: study.models(method) for method in study.plan.methods}
    kinds = list(dict.fromkeys(kind for told in of.values() for kind in told))
    rows = [(m, *(told.get(kind, "none") for kind in kinds)) for m, told in of.items()]
    return Table("models", "Models", ("method", *kinds), _rows(rows))


def divided(study: Study, *, most: int = 0) -> Table:
    """The questions that methods disagree on, with the score of each; `most` = so many, 0 = all."""
    found = scores.disagreements(study.found, study.plan, study.main)
    rows = [(name, *(told.get(m) for m in study.plan.methods)) for name, told in (found[:most] if most else found)]
    note = f"{len(found)} of {len(study.plan.items)} questions are not scored alike by {study.main.name}; the most "
    return Table("disagreements", "Where methods disagree", ("question", *study.plan.methods), _rows(rows),
                 f"{note}divided first.")  # fmt: skip
