"""docs/evaluate/metrics.md says of every metric what the code says."""

from collections.abc import Iterator
from pathlib import Path

from kgmed.evaluate.items import Gold, Item, Metric
from kgmed.evaluate.metrics import bleurt, by_model, made_metrics, metrics
from kgmed.models.fakes import OverlapScorer, Wordwise
from kgmed.records import Question

PAGE = Path(__file__).resolve().parents[3] / "docs" / "evaluate" / "metrics.md"
ITEMS = [Item(Question("?", id="q"), Gold(texts=("gout",)))]


def rows(columns: int) -> Iterator[list[str]]:
    """The cells of the rows of the table with so many columns."""
    for line in PAGE.read_text("utf-8").splitlines():
        cells = [c.strip() for c in line.strip("|").split("|")]
        if line.startswith("|") and len(cells) == columns and "---" not in line:
            yield cells


def failed(metric: Metric) -> str:
    return "no number" if metric.failed is None else f"{metric.failed:g}"


def test_every_metric_of_the_log_is_on_the_page_with_what_the_code_says() -> None:
    told = [cells for cells in rows(5) if cells[0] != "name"]
    assert sorted((c[0], c[1], c[2], c[4]) for c in told) == sorted(
        (f"`{m.name}`", m.formula, m.source, failed(m)) for m in metrics().values()
    )
    assert all(c[3] for c in told)


def test_every_metric_that_is_made_is_on_the_page() -> None:
    told = [cells for cells in rows(6) if cells[0] != "asked for as"]
    assert [c[0].strip("`") for c in told if c[0]] == list(made_metrics())
    by = {c[1]: c for c in told}
    made = [
        by_model._perplexity_of(Wordwise()),
        *by_model.make_hallucination(ITEMS),
        bleurt._bleurt_of(OverlapScorer(), ITEMS, "toy"),
    ]
    for metric in made:
        assert by[f"`{metric.name}`"][2] == metric.formula
        assert metric.name == "bleurt" or by[f"`{metric.name}`"][5] == failed(metric)
