"""The doctor's report on the screen."""

from collections.abc import Iterator

from kgmed.cli import show as screen
from kgmed.kg.doctor import Finding, Report


def print_report(report: Report) -> None:
    """Print what was found, damage first."""
    screen.lines([report.graph, *(f"DAMAGED: {text}" for text in report.damage)])
    screen.lines(_content(report))
    screen.warn(report.notes)
    rows = ((r.name, r.role, "yes" if r.reverse else "", r.triples) for r in report.relations)
    screen.table(("relation", "role", "reverse", "triples"), rows)


def _content(report: Report) -> Iterator[str]:
    for reason, said in report.dropped.items():
        yield f"rows dropped ({reason}): {said['count']:,}, first in line {', '.join(map(str, said['lines']))}"
    yield f"rows that repeated a triple, merged: {report.merged:,}"
    yield from _finding("edges from an entity to itself", report.loops)
    yield from _finding("entities without a triple or text", report.isolated)
    yield from _finding("names that several entities share", report.ambiguous)
    yield f"edges with an edge back: {report.reversed_share:.1%}"
    for pair in report.inverses:
        yield f"{pair.relation} and {pair.inverse} look inverse; {pair.missing:,} of {pair.triples:,} have no edge back"
        yield from (f"  {text}" for text in pair.examples)


def _finding(what: str, finding: Finding) -> Iterator[str]:
    yield f"{what}: {finding.count:,}"
    yield from (f"  {text}" for text in finding.examples)
