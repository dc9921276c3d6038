"""The report: one page of HTML, Markdown and tables, each file written beside its place and then moved there."""

import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from importlib.resources import files
from pathlib import Path, PurePath, PurePosixPath
from typing import Any, NamedTuple

from kgmed.errors import BadInput
from kgmed.evaluate import scores
from kgmed.evaluate.controls import controlled
from kgmed.evaluate.items import Item
from kgmed.evaluate.log import Entry, Job, digest
from kgmed.evaluate.report import plots, tables
from kgmed.evaluate.report.plots import Point
from kgmed.evaluate.report.study import (
    Study,
    Table,
    as_csv,
    as_html,
    as_markdown,
    bidi,
    html,
    markdown,
    shown,
    slug,
    visible,
)
from kgmed.evaluate.scores import mean
from kgmed.models.files import MODELS
from kgmed.records import Evidence, Run

# --- A question with what each method answered, and the evidence it stood on, side by side.


MOST, PIECES, LETTERS = 20, 8, 700  # questions, pieces of evidence of each, characters of a text


def divided(study: Study, *, most: int = MOST) -> str:
    """The questions that methods disagree on most, each folded; of several seeds the first."""
    items = {item.question.id: item for item in study.plan.items}
    found = scores.disagreements(study.found, study.plan, study.main)
    if not found:
        return '<p class="note">All methods are scored alike on every question.</p>\n'
    n = len(study.plan.items)
    seeds = f" Of several seeds the answer of the first ({study.plan.seeds[0]})." if len(study.plan.seeds) > 1 else ""
    begin = f'<p class="note">{len(found)} of {n} questions are not scored alike by {html(study.main.name)}; '
    shown_here = f"the {min(most, len(found))} most divided are here, all in the tables.{seeds}</p>\n"
    return begin + shown_here + "".join(_question(study, items[name], told) for name, told in found[:most])


def _question(study: Study, item: Item, told: dict[str, float]) -> str:
    """One question, folded."""
    best = max(told.values()) if study.main.higher else min(told.values())
    good = sum(score == best for score in told.values())
    head = f"{_short(item.question.text, 110)} <span class='note'>{good} of {len(told)} best</span>"
    sides = "".join(_side(study, method, item, told.get(method), best) for method in study.plan.methods)
    return f"<details><summary>{head}</summary>\n{_asked(item)}<div class='sides'>\n{sides}</div></details>\n"


def _asked(item: Item) -> str:
    """The question in full, its options and what is right."""
    right = set(item.gold.choices)
    options = "".join(
        f'<li value="{i}" class="{"right" if letter in right else ""}">{html(letter)}: {bidi(text)}</li>'
        for i, (letter, text) in enumerate(item.question.options, start=1)
    )
    listed = f'<ul style="list-style:none;padding-left:1rem">{options}</ul>' if options else ""
    texts = [f"<p><strong>Reference:</strong> {_short(t, LETTERS)}</p>" for t in item.gold.texts[:1]]
    names = "; ".join(bidi(name) for name in item.gold.entities[:20])
    texts += [f"<p><strong>Names that are right:</strong> {names}</p>"] if names else []
    about = f'<p class="note">{bidi(item.question.id)}</p>'
    return f'{about}<p class="question">{_short(item.question.text, 3 * LETTERS)}</p>{listed}{"".join(texts)}\n'


def _side(study: Study, method: str, item: Item, score: float | None, best: float) -> str:
    """What one method made of it."""
    entry = study.found.get(Job(method, item.question.id, study.plan.seeds[0]), Entry(Job(method, ""), error="not run"))
    kind = "best" if score == best else "worst"
    head = f'<h4>{html(method)} <span class="{kind}">{html(shown(score))}</span></h4>'
    body = _run(entry.run) if entry.run else f'<p class="failed">failed: {_short(entry.error, LETTERS)}</p>'
    return f'<section class="side">{head}{body}</section>\n'


def _run(run: Run) -> str:
    """The answer, then the evidence."""
    chosen = f"<p><strong>{html(', '.join(run.answer.choices))}</strong></p>" if run.answer.choices else ""
    said = f"<p>{_short(run.answer.text, LETTERS) or '(nothing)'}</p>"
    pieces = run.context.cited
    listed = "".join(f"<li>{_piece(piece)}</li>" for piece in pieces[:PIECES])
    more = f'<p class="note">and {len(pieces) - PIECES} more</p>' if len(pieces) > PIECES else ""
    return f"{chosen}{said}<p class='note'>evidence: {len(pieces)}</p><ol>{listed}</ol>{more}"


def _piece(piece: Evidence) -> str:
    """A piece of evidence with its sources."""
    found = dict.fromkeys(s for t in piece.triples for s in (t.source, *t.references) if s)
    sources = f" <span class='note'>{bidi(', '.join(list(found)[:4]))}</span>" if found else ""
    return f"{_short(piece.text, 240)}{sources}"


def _short(text: str, most: int) -> str:
    """The text for the page, cut where it is long."""
    return bidi(text if len(text) <= most else f"{text[:most]}…")


# --- What an evaluation depends on, as a table, and the command that makes it again.


_OPTIONS = {
    "preset": "--preset", "llm": "--llm", "encoder": "--encoder", "scorer": "--scorer", "tagger": "--tagger",
    "prompts": "--prompts", "glossary": "--glossary", "evidence_tokens": "--evidence-tokens",
    "abstain_below": "--abstain-below", "reply_tokens": "--reply-tokens", "choose": "--choose", "batch": "--batch",
    "precision": "--precision",
}  # fmt: skip
_UNSET: tuple[object, ...] = (None, "", 0, {}, [])


def command(study: Study) -> str:
    """The command line that this evaluation is made with, in one line; paths of that machine are cut to their names.

    What a manifest does not hold, because no answer depends on it, is not in it: a server's address, limits, caches.
    """
    return " ".join(shlex.quote(visible(word)).replace("\n", " ") for word in _words(study))


def _words(study: Study) -> Iterator[str]:
    """The words of the command."""
    told, of = study.manifest, _of(study.manifest, "dataset")
    yield from ("kgmed", "eval", "run", study.name, "--set", _shortened(of.get("name", "")))
    for method in study.plan.methods:
        yield from ("--method", method)
    setup = _of(told, "setup")
    yield from ("--graph", _shortened(setup.get("graph", "")))
    yield from ("--part", str(of.get("part") or ""))
    if of.get("limit"):
        yield from ("--number", str(of["limit"]), "--sample", str(of.get("sample", 0)))
    for seed in study.plan.seeds if tuple(study.plan.seeds) != (0,) else ():
        yield from ("--seed", str(seed))
    for name, option in _OPTIONS.items():
        if setup.get(name) not in _UNSET:
            yield from (option, _shortened(setup[name]))


def _of(told: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """A part of the manifest, empty where it has none."""
    found = told.get(name)
    return found if isinstance(found, Mapping) else {}


def _shortened(value: object) -> str:
    """A path of some machine cut to its last name; anything else as it is.

    >>> _shortened("/home/x/q.jsonl"), _shortened("hf//home/x/tiny"), _shortened("https://a.org/b"), _shortened(3)
    ('q.jsonl', 'hf/tiny', 'https://a.org/b', '3')
    """
    if "://" in str(value):
        return str(value)
    kind, _, place = str(value).partition("/")
    if PurePath(place).is_absolute():
        return f"{kind}/{PurePath(place).name}"
    path = PurePath(str(value))
    return path.name if path.is_absolute() else str(value)


def facts(study: Study) -> Table:
    """All that the manifest says, and the hash of what the log holds."""
    told, of, setup = study.manifest, _of(study.manifest, "dataset"), _of(study.manifest, "setup")
    n = len(study.plan.items)
    rows = {
        "data set": f"{study.dataset.title} ({study.dataset.name}), {study.dataset.citation or 'no citation'}",
        "from": _shortened(study.dataset.source),
        "licence": study.dataset.licence,
        "revision, sha256": f"{of.get('revision', '')}, {of.get('sha256', '')}",
        "questions": f"{n} of {study.of}{', a sample' if study.sampled else ''}, part {of.get('part') or 'all'}",
        "seeds": ", ".join(map(str, study.plan.seeds)),
        "graph": str(told.get("graph", "")),
        "prompts": str(told.get("prompts", "")),
        **{f"setup: {k}": _shortened(v) for k, v in setup.items() if v not in _UNSET},
        **{f"version: {k}": str(v) for k, v in _of(told, "versions").items()},
        "answers": f"{len(study.found)} in the log, sha256 without seconds {digest(dict(study.found))}",
        "made by": command(study),
    }
    return Table("manifest", "What this depends on", ("what", "value"), tuple(rows.items()))


# --- Sweeps in a study: methods that differ in one setting alone, as hykge[hops=1], hykge[hops=2].


HELD = "evidence-recall@20"


class Sweep(NamedTuple):
    """A setting and, for each of the methods that it was varied of, the methods by its value."""

    setting: str
    series: tuple[tuple[str, tuple[tuple[float, str], ...]], ...]


def sweeps_sweeps(methods: list[str]) -> list[Sweep]:
    """The sweeps among methods; a value that is no number makes none.

    >>> [(s.setting, s.series) for s in sweeps_sweeps(["hykge[hops=2]", "hykge[hops=1]", "facts", "hykge[keep=5]"])]
    [('hops', (('hykge', ((1.0, 'hykge[hops=1]'), (2.0, 'hykge[hops=2]'))),))]
    """
    found: dict[str, dict[str, dict[float, str]]] = {}
    for name in methods:
        parts = controlled(name)
        for setting, value in parts.settings:
            number = _number(value)
            if number is not None:
                rest = ",".join(f"{k}={v}" for k, v in parts.settings if k != setting)
                control = f"+{parts.control}" if parts.control else ""
                of = f"{parts.method}{f'[{rest}]' if rest else ''}{control}"
                found.setdefault(setting, {}).setdefault(of, {})[number] = name
    told = (
        (s, tuple((of, tuple(sorted(at.items()))) for of, at in by.items() if len(at) > 1)) for s, by in found.items()
    )
    return [Sweep(setting, series) for setting, series in told if series]


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if abs(value) < 1e12 else None


def pieces(run: Run) -> float:
    """How many pieces of evidence the reader was shown."""
    return float(len(run.context.cited))


def seconds(run: Run) -> float:
    """How long the run took."""
    return sum(stage.seconds for stage in run.stages)


def drawn(study: Study, sweep: Sweep) -> list[str]:
    """The main metric, what the evidence holds, its pieces and the seconds, each by the value of the setting."""
    shown = [m.name for m in study.metrics if m.name in (study.main.name, HELD)]
    ways: list[tuple[str, Callable[[str, float], Point | None]]] = [
        *((name, partial(_scored, study, name)) for name in shown),
        ("pieces of evidence shown", lambda method, x: _measured(study, method, x, pieces)),
        ("seconds", lambda method, x: _measured(study, method, x, seconds)),
    ]
    found = []
    for label, way in ways:
        told = [(of, [p for x, method in at if (p := way(method, x))]) for of, at in sweep.series]
        if any(points for _, points in told):
            found.append(plots.lines([(of, points) for of, points in told if points], sweep.setting, label))
    return found


def _scored(study: Study, metric: str, method: str, x: float) -> Point | None:
    score = study.score(method, metric)
    return Point(method, score.mean.mean, score.mean.low, score.mean.high, x) if score and score.mean.n else None


def _measured(study: Study, method: str, x: float, measure: Callable[[Run], float]) -> Point | None:
    told = mean([measure(run) for run in study.runs(method)])
    return Point(method, told.mean, told.low, told.high, x) if told.n else None


# --- The report as one page of HTML that needs nothing but itself: no script, no font, no image from anywhere.


POLICY = "default-src 'none'; style-src 'unsafe-inline'"
CAUTION = (
    "Differences are those of these methods, with these models, on this graph and these questions. Nothing here says "
    "that an answer may be used for a patient."
)


def page(studies: Sequence[Study]) -> str:
    """The page."""
    title = "Evaluation: " + ", ".join(dict.fromkeys(s.dataset.title for s in studies))
    style = (files(__package__) / "style.css").read_text(encoding="utf-8")
    listed = "".join(f'<li><a href="#{_anchor(s, i)}">{html(_title(s))}</a></li>' for i, s in enumerate(studies))
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html(title)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n<h1>{html(title)}</h1>\n"
        f'<p class="note">{html(CAUTION)}</p>\n<nav><ul>{listed}</ul></nav>\n'
        + "".join(f"<h2>{html(t.title)}</h2>\n{as_html(t)}" for t in tables.overview(studies))
        + "".join(_study(s, i) for i, s in enumerate(studies))
        + "</body>\n</html>\n"
    )


def _title(study: Study) -> str:
    return f"{study.dataset.title}: {study.name}"


def _anchor(study: Study, number: int) -> str:
    return f"{slug(study.name)}-{number}"


def _study(study: Study, number: int) -> str:
    """All of one evaluation."""
    graph = study.manifest.get("graph", "")
    n, of = len(study.plan.items), study.of
    sample = f"a sample of {n} of its {of} questions" if study.sampled else f"all {n} questions"
    told = f"{study.dataset.title}, {sample}; graph {graph}; {len(study.plan.methods)} methods"
    parts = [
        f'<h2 id="{_anchor(study, number)}">{html(_title(study))}</h2>\n<p>{html(told)}.</p>\n',
        as_html(tables.headline(study)),
        _section("How good, and how sure", _intervals(study)),
        _section("What it takes", _price(study)),
        _section("Seconds by stage", _stages(study)),
        _sweeps(study),
        _section("Every metric", _metrics(study)),
        _given("Which options are chosen", tables.letters(study)),
        _given("What went wrong", tables.failures(study)),
        _section("Where methods disagree", divided(study)),
        _given("Models", tables.models(study)),
        _section("What this depends on", as_html(facts(study)) + f"<pre>{html(command(study))}</pre>\n"),
    ]
    return "".join(parts)


def _section(title: str, body: str) -> str:
    """A heading with what stands under it; nothing where that is nothing."""
    return f"<h3>{html(title)}</h3>\n{body}" if body else ""


def _given(title: str, table: Table) -> str:
    return _section(title, as_html(table)) if table.rows else ""


def points(study: Study) -> list[Point]:
    """The main metric of every method that has it."""
    found = [study.score(method, study.main.name) for method in study.plan.methods]
    return [Point(s.method, s.mean.mean, s.mean.low, s.mean.high) for s in found if s and s.mean.n]


def _intervals(study: Study) -> str:
    """The main metric with its intervals."""
    found = points(study)
    if not found:
        return ""
    note = f'<p class="note">The dashed line is {html(study.against)}. Each line is a 95 % interval.</p>\n'
    return plots.intervals(found, study.main.name, base=study.against) + note


def _price(study: Study) -> str:
    """The main metric against money where prices are known, else tokens, else seconds."""
    answered = [p for p in points(study) if any(True for _ in study.runs(p.name))]
    silent = [m for m in study.plan.methods if m not in {p.name for p in answered}]
    note = f'<p class="note">Without an answer and so not drawn: {html(", ".join(silent))}.</p>\n' if silent else ""
    for label, names in (("US dollars a question", ("cost",)), ("tokens a question", ("tokens-in", "tokens-out")),
                         ("seconds a question", ("seconds",))):  # fmt: skip
        took = {p.name: _sum(study, p.name, names) for p in answered}
        found = [p._replace(x=x) for p in answered if (x := took[p.name]) is not None]
        if found and len(found) == len(answered) and any(p.x for p in found):
            return plots.scatter(found, label, study.main.name) + note
    return ""


def _sum(study: Study, method: str, names: Sequence[str]) -> float | None:
    """The sum of the means of some metrics; None where one is not known for every run."""
    found = [study.score(method, name) for name in names]
    failed = sum(study.failed(method).values())
    known = [s.mean.mean for s in found if s and s.mean.n and s.without <= failed]
    return sum(known) if len(known) == len(names) else None


def _stages(study: Study) -> str:
    """Seconds by stage, drawn and told."""
    rows = [(method, told) for method in study.plan.methods if (told := study.stages(method))]
    return plots.stacked(rows, "mean seconds a question") + as_html(tables.stages(study)) if rows else ""


def _sweeps(study: Study) -> str:
    """What a setting does, one row of drawings a setting."""
    found = sweeps_sweeps(list(study.plan.methods))
    drawn = (f"<h4>{html(s.setting)}</h4>\n<div class='plots'>\n{''.join(drawn(study, s))}</div>\n" for s in found)
    return _section("What a setting does", "".join(drawn))


def _metrics(study: Study) -> str:
    """Every metric, folded but for the main one."""
    return "".join(
        f"<details{' open' if m is study.main else ''}><summary>{html(m.name)}</summary>\n"
        f"{as_html(tables.scores_of(study, m))}{_against(study, tables.differences_of(study, m))}</details>\n"
        for m in study.metrics
    )


def _against(study: Study, table: Table) -> str:
    return f"<h4>Against {html(study.against)}</h4>\n{as_html(table)}" if table.rows else ""


# --- The report as Markdown: the same tables without the drawings and the answers.


LISTED = 10  # divided questions


def report(studies: Sequence[Study], *, title: str = "Evaluation", command: str = "") -> str:
    """The whole report; `command` = what writes it, told at its top."""
    made = f"Written by one command, from the logs of the evaluations:\n\n{_shell(command)}\n" if command else ""
    parts = [f"# {markdown(title)}\n\n{markdown(CAUTION)}\n\n{made}", _overview(studies)]
    return "".join([*parts, *(_markdown_study(s, short=False) for s in studies)]).rstrip("\n") + "\n"


def results(studies: Sequence[Study], *, command: str) -> str:
    """The page of results of the project: at a glance, the main metric in full, and the commands that made them."""
    written = f"Written from the logs of finished evaluations by:\n\n{_shell(command)}\n"
    parts = [f"# Results\n\n{markdown(CAUTION)}\n\n{_models(studies)}\n\n{_overview(studies)}\n{written}\n"]
    return "".join([*parts, *(_markdown_study(s, short=True) for s in studies)]).rstrip("\n") + "\n"


def _models(studies: Sequence[Study]) -> str:
    """Which language models answered, and how small they are where that is known."""
    told = dict.fromkeys(s.models(m).get("llm", "") for s in studies for m in s.plan.methods)
    names = [name for name in told if name]
    if not names:
        return "No language model was asked: the evidence that ranks first is the answer."
    sizes = {name: _size(name) for name in names}
    listed = [f"{markdown(n)}{f' (a file of {size / 1e6:.0f} MB)' if size else ''}" for n, size in sizes.items()]
    small = (
        " That is far smaller than the models of the papers: the figures say what the methods do with so small a model."
        if all(sizes.values())
        else ""
    )
    return f"The language model: {'; '.join(listed)}.{small}"


def _size(name: str) -> int:
    """The bytes of an embedded model by the name it answers with, whatever runs it; 0 for others."""
    known = {PurePosixPath(model.member).stem: model.size for model in MODELS.values()}
    return next((size for stem, size in known.items() if name.partition("/")[2].startswith(stem)), 0)


def _shell(command: str) -> str:
    """A command as a block of shell; the fence is longer than any in it."""
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", command)), default=0))
    return f"{fence}sh\n{command}\n{fence}\n"


def _overview(studies: Sequence[Study]) -> str:
    """All sets in one table, where several compare the same methods."""
    return "".join(f"## {markdown(t.title)}\n\n{as_markdown(t)}\n" for t in tables.overview(studies))


def _markdown_study(study: Study, *, short: bool) -> str:
    """One evaluation; `short` = without the tables of every metric."""
    metrics = () if short else study.metrics
    every = [t for m in metrics for t in (tables.scores_of(study, m), tables.differences_of(study, m))]
    main = [tables.differences_of(study, study.main), tables.means(study)] if short else []
    rest = [tables.stages(study), tables.letters(study), tables.failures(study), tables.models(study)]
    divided = [] if short else [tables.divided(study, most=LISTED)]
    found = [tables.headline(study), *main, *every, *rest, *divided, facts(study)]
    return (
        f"## {markdown(f'{study.dataset.title}: {study.name}')}\n\n"
        + "".join(_titled(table) for table in found if table.rows)
        + f"Made by\n\n{_shell(command(study))}\n"
    )


def _titled(table: Table) -> str:
    return f"### {markdown(table.title)}\n\n{as_markdown(table)}\n"


# --- The files of a report, each written beside its place and then moved there.


PAGE, TEXT = "report.html", "report.md"


def write(studies: Sequence[Study], folder: Path, *, command: str = "") -> list[Path]:
    """Write page, Markdown and tables (CSV) into a folder; the paths, the page first. Raises `BadInput`."""
    texts = {PAGE: page(studies), TEXT: report(studies, command=command), **csvs(studies)}
    return [put(folder / name, text) for name, text in texts.items()]


def csvs(studies: Sequence[Study]) -> dict[str, str]:
    """The tables of all studies by file name; those whose columns depend on the study stand in one file each."""
    every = [
        (s, table)
        for s in studies
        for m in s.metrics
        for table in (tables.scores_of(s, m), tables.differences_of(s, m))
    ]
    alike: list[Callable[[Study], Table]] = [tables.failures, facts]
    every += [(s, make(s)) for make in alike for s in studies]
    found: dict[str, list[tuple[str, Table]]] = {}
    for study, table in every:
        found.setdefault(f"tables/{table.name}.csv", []).append((study.name, table))
    for number, table in enumerate(tables.overview(studies), start=1):
        found[f"tables/{table.name}-{number}.csv"] = [("", table)]
    own: list[Callable[[Study], Table]] = [tables.stages, tables.letters, tables.models, tables.divided]
    for number, study in enumerate(studies, start=1):
        for make in own:
            table = make(study)
            if table.rows:
                mark = f"-{number}" if len(studies) > 1 else ""
                found[f"tables/{table.name}{mark}.csv"] = [(study.name, table)]
    return {name: as_csv(rows) for name, rows in found.items()}


def put(path: Path, text: str) -> Path:
    """Write a file whole or not at all; raises `BadInput`."""
    beside = path.with_name(f".{path.name}.new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside.write_text(text, encoding="utf-8", newline="\n")
        beside.replace(path)
    except OSError as e:
        raise BadInput(f"{path}: cannot be written ({e.strerror}); name a folder that you may write to") from None
    return path
