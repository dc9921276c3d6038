"""The report as one page of HTML that needs nothing but itself: no script, no font, no image from anywhere."""

from collections.abc import Sequence
from importlib.resources import files

from kgmed.evaluate.report import manifest, plots, sides, sweeps, tables
from kgmed.evaluate.report.plots import Point
from kgmed.evaluate.report.study import Study
from kgmed.evaluate.report.table import Table, as_html
from kgmed.evaluate.report.text import html, slug

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
        _section("Where methods disagree", sides.divided(study)),
        _given("Models", tables.models(study)),
        _section(
            "What this depends on", as_html(manifest.facts(study)) + f"<pre>{html(manifest.command(study))}</pre>\n"
        ),
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
    found = sweeps.sweeps(list(study.plan.methods))
    drawn = (
        f"<h4>{html(s.setting)}</h4>\n<div class='plots'>\n{''.join(sweeps.drawn(study, s))}</div>\n" for s in found
    )
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
