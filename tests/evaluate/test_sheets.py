"""Sheets of retrieved knowledge: blinded, equal knowledge once, read back with means and agreement, refused by line."""

import csv
from dataclasses import replace
from pathlib import Path

import pytest

from eval_makers import run
from kgmed.errors import SourceError
from kgmed.evaluate.items import Gold, Item
from kgmed.evaluate.log import Entry, Job
from kgmed.evaluate.run import Plan
from kgmed.evaluate.sheets import COLUMNS, NOTHING, drawn, filled, key, read_key, sheets, table
from kgmed.records import Context, Evidence, Question, Run

METHODS = ("hykge", "qe", "zero-shot")
ITEMS = [Item(Question(f"Which {i}?", (("A", "gout"), ("B", "flu")), id=f"q{i}"), Gold(("A",))) for i in range(3)]
PLAN = Plan(METHODS, ITEMS, (0,))


def answered(item: Item, *texts: str) -> Run:
    cited = tuple(Evidence(text, "triple") for text in texts)
    return replace(run(item.question, "A"), context=Context("", cited))


@pytest.fixture
def written(tmp_path: Path) -> tuple[Path, Path]:
    """The sheets of three methods, of which two found the same for the first question, and one nothing ever."""
    found = {}
    for i, item in enumerate(ITEMS):
        for method, texts in (("hykge", (f"toe {i}", "=1+1")), ("qe", ("toe 0", "=1+1") if i == 0 else (f"hand {i}",))):
            found[Job(method, item.question.id)] = Entry(Job(method, item.question.id), answered(item, *texts))
        found[Job("zero-shot", item.question.id)] = Entry(Job("zero-shot", item.question.id), answered(item))
    of = sheets(PLAN, found, METHODS)
    (tmp_path / "s.csv").write_text(table(of), encoding="utf-8")
    (tmp_path / "s.key.csv").write_text(key(of), encoding="utf-8")
    return tmp_path / "s.csv", tmp_path / "s.key.csv"


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def rate(path: Path, to: Path, ratings: dict[str, str], rater: str = "") -> Path:
    """The sheets with ratings by the first line of their knowledge."""
    with to.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        for row in rows(path):
            writer.writerow(row | {"rating": ratings.get(row["knowledge"].split("\n")[0], ""), "rater": rater})
    return to


def test_a_rater_sees_question_and_knowledge_and_no_method(written: tuple[Path, Path]) -> None:
    seen = rows(written[0])
    assert len(seen) == 5  # 3 questions x 2 methods, one of them twice the same
    assert not any(method in written[0].read_text("utf-8") for method in METHODS)
    assert seen[0]["question"].startswith("Which ")
    assert "A. gout" in seen[0]["question"]
    assert any(row["knowledge"] == "toe 0\n'=1+1" for row in seen)  # no formula for a table program
    assert [row["sheet"] for row in seen] == sorted(row["sheet"] for row in seen)
    assert sorted(len(v) for k, v in read_key(written[1]).items() if k != NOTHING) == [1, 1, 1, 1, 2]


def test_means_are_over_questions_and_nothing_retrieved_counts_as_unrelated(
    written: tuple[Path, Path], tmp_path: Path
) -> None:
    good = {"toe 0": "1", "toe 1": "1", "toe 2": "0", "hand 1": "-1", "hand 2": "0"}
    anna = rate(written[0], tmp_path / "anna.csv", good)
    ben = rate(written[0], tmp_path / "ben.csv", good | {"toe 2": "1"}, "Ben")
    told = filled([anna, ben], read_key(written[1]))
    by = {m.method: m.mean.mean for m in told.means}
    assert by == pytest.approx({"hykge": 100 * (1 + 1 + 0.5) / 3, "qe": 0.0, "zero-shot": -100.0})
    assert dict(told.nothing) == {"zero-shot": 3}
    assert told.agreement is not None
    assert (told.agreement.n, told.agreement.same) == (5, 0.8)  # the sheet of two methods is one
    assert (told.sheets, told.unrated) == (5, 0)
    half = filled([rate(written[0], tmp_path / "half.csv", {"toe 0": "1"})], read_key(written[1]))
    assert (half.unrated, half.agreement) == (4, None)
    assert {m.method: m.missing for m in half.means}["hykge"] == 2


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("sheet,rater\n", r"f.csv:1: has no column rating; give a table"),
        ("sheet,rating\nsnone,1\n", r"f.csv:2: has the sheet 'snone', which the key does not; name its own key"),
        ("sheet,rating\n{},good\n", r"f.csv:2: has the rating 'good'; write 1, 0 or -1"),
        ("sheet;rating\n{};1\n{};0\n", r"f.csv:3: rates what line 2 rates"),
    ],
)
def test_a_table_that_cannot_be_used_is_refused_by_line(
    written: tuple[Path, Path], tmp_path: Path, text: str, told: str
) -> None:
    name = rows(written[0])[0]["sheet"]
    (tmp_path / "f.csv").write_text(text.replace("{}", name), encoding="utf-8")
    with pytest.raises(SourceError, match=told):
        filled([tmp_path / "f.csv"], read_key(written[1]))


def test_questions_are_drawn_the_same_every_time(tmp_path: Path) -> None:
    many = [replace(ITEMS[0], question=replace(ITEMS[0].question, id=str(i))) for i in range(50)]
    assert drawn(many, 0, 1) == many
    assert drawn(many, 5, 1) == drawn(many, 5, 1) != drawn(many, 5, 2)
    assert len(drawn(many, 5, 1)) == 5
