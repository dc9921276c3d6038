"""The report as Markdown: the same tables without the drawings and the answers."""

import re
from collections.abc import Sequence
from pathlib import PurePosixPath

from kgmed.evaluate.report import manifest, tables
from kgmed.evaluate.report.page import CAUTION
from kgmed.evaluate.report.study import Study
from kgmed.evaluate.report.table import Table, as_markdown
from kgmed.evaluate.report.text import markdown
from kgmed.models.get import MODELS

LISTED = 10  # divided questions


def report(studies: Sequence[Study], *, title: str = "Evaluation", command: str = "") -> str:
    """The whole report; `command` = what writes it, told at its top."""
    made = f"Written by one command, from the logs of the evaluations:\n\n{_shell(command)}\n" if command else ""
    parts = [f"# {markdown(title)}\n\n{markdown(CAUTION)}\n\n{made}", _overview(studies)]
    return "".join([*parts, *(_study(s, short=False) for s in studies)]).rstrip("\n") + "\n"


def results(studies: Sequence[Study], *, command: str) -> str:
    """The page of results of the project: at a glance, the main metric in full, and the commands that made them."""
    written = f"Written from the logs of finished evaluations by:\n\n{_shell(command)}\n"
    parts = [f"# Results\n\n{markdown(CAUTION)}\n\n{_models(studies)}\n\n{_overview(studies)}\n{written}\n"]
    return "".join([*parts, *(_study(s, short=True) for s in studies)]).rstrip("\n") + "\n"


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


def _study(study: Study, *, short: bool) -> str:
    """One evaluation; `short` = without the tables of every metric."""
    metrics = () if short else study.metrics
    every = [t for m in metrics for t in (tables.scores_of(study, m), tables.differences_of(study, m))]
    main = [tables.differences_of(study, study.main), tables.means(study)] if short else []
    rest = [tables.stages(study), tables.letters(study), tables.failures(study), tables.models(study)]
    divided = [] if short else [tables.divided(study, most=LISTED)]
    found = [tables.headline(study), *main, *every, *rest, *divided, manifest.facts(study)]
    return (
        f"## {markdown(f'{study.dataset.title}: {study.name}')}\n\n"
        + "".join(_titled(table) for table in found if table.rows)
        + f"Made by\n\n{_shell(manifest.command(study))}\n"
    )


def _titled(table: Table) -> str:
    return f"### {markdown(table.title)}\n\n{as_markdown(table)}\n"
