"""`kgmed eval check`: sentences made of a graph, and how many of them are judged rightly."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from kgmed.cli import app

DISEASES, SIGNS = [f"disease{i}" for i in range(8)], [f"sign{i}" for i in range(8)]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with a small graph."""
    folder = tmp_path_factory.mktemp("checking")
    rows = [f"{d}\thas_symptom\t{s}" for i, d in enumerate(DISEASES) for j, s in enumerate(SIGNS) if (i + j) % 3 == 0]
    (folder / "rows.tsv").write_text("\n".join(rows), "utf-8")
    assert kgmed(folder, "graph", "build", "small", str(folder / "rows.tsv")).exit_code == 0
    return folder


def kgmed(home: Path, *words: str) -> Result:
    return CliRunner().invoke(app, list(words), env={"KGMED_HOME": str(home), "COLUMNS": "200"})


def check(home: Path, *words: str) -> Result:
    return kgmed(home, "eval", "check", "--encoder", "ngrams", "--number", "6", *words)


def test_the_figures_of_each_kind_are_told_with_their_intervals(home: Path) -> None:
    told = check(home, "--graph", "small", "--json", "--wrong", "3", "--seed", "4")
    assert told.exit_code == 0, told.output
    found = json.loads(told.stdout)
    assert found["kinds"]["true"]["n"] == 6
    assert 0 <= found["false"]["low"] <= found["false"]["share"] <= found["false"]["high"] <= 1
    assert sum(sum(row.values()) for row in found["confusion"].values()) == found["sentences"]
    assert len(found["wrong"]) <= 3
    assert json.loads(check(home, "--graph", "small", "--json", "--seed", "4").stdout)["kinds"] == found["kinds"]


def test_people_see_a_table_and_the_confusion(home: Path) -> None:
    told = check(home, "--graph", "small")
    assert told.exit_code == 0, told.output
    assert "true supported, false flagged" in told.stdout
    assert "What was right (rows) and what was said (columns)" in told.stdout


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((), "name the graph whose triples are said"),
        (("--graph", "small", "--part", "x"), "no part is called 'x'"),
        (("--graph", "wikidata"), "whose files are here"),
    ],
)
def test_what_cannot_be_checked_is_refused(home: Path, words: tuple[str, ...], says: str) -> None:
    told = check(home, *words)
    assert told.exit_code != 0
    assert says in str(told.exception)
