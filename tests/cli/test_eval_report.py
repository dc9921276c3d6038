"""`kgmed eval report` from folders to files; bad input is one line and nothing is written."""

import csv
import json
import re
from importlib.util import find_spec
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from kgmed.cli import app
from kgmed.errors import BadInput, KgmedError

pytestmark = pytest.mark.skipif(
    not (find_spec("jinja2") and find_spec("matplotlib")), reason="reports need jinja2 and matplotlib"
)
TRIPLES = "".join(f"flu\thas_symptom\tsign{i}\ndrug{i}\ttreats\tflu\n" for i in range(20))


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with the graph `flu`, questions on it, and two evaluations of them, one of a sample."""
    folder = tmp_path_factory.mktemp("report")
    (folder / "flu.tsv").write_text(TRIPLES, encoding="utf-8")
    rows = ({"id": f"q{i}", "question": f"Which drug of <b>case</b> {i} treats flu?", "language": "en", "answer": "A",
             "options": {"A": f"drug{i}", "B": "=cmd"}} for i in range(6))  # fmt: skip
    (folder / "q.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    assert kgmed(folder, "graph", "build", "flu", str(folder / "flu.tsv")).exit_code == 0
    words = ("-s", str(folder / "q.jsonl"), "-g", "flu", "--part", "", "-m", "facts", "-m", "facts+random")
    for name, more in (("whole", ()), ("sample", ("-n", "3"))):
        done = kgmed(folder, "eval", "run", str(folder / name), *words, *more)
        assert done.exit_code == 0, done.output
    return folder


def kgmed(home: Path, *words: str) -> Result:
    environment = {"KGMED_HOME": str(home), "COLUMNS": "200", "KGMED_DATA": str(home)}
    return CliRunner().invoke(app, list(words), env=environment)


def test_folders_become_a_page_markdown_and_tables_that_agree_with_the_scores(home: Path, tmp_path: Path) -> None:
    folders = (str(home / "whole"), str(home / "sample"))
    done = kgmed(home, "eval", "report", *folders, "--out", str(tmp_path), "--json")
    assert done.exit_code == 0, done.output
    paths = [Path(path) for path in json.loads(done.stdout)]
    assert all(path.is_file() for path in paths)
    told = json.loads(kgmed(home, "eval", "score", folders[0], "--metric", "accuracy", "--json").stdout)["scores"]
    with (tmp_path / "tables" / "scores.csv").open(encoding="utf-8", newline="") as file:
        rows = [r for r in csv.DictReader(file) if (r["evaluation"], r["metric"]) == ("whole", "accuracy")]
    assert [(r["method"], float(r["mean"]), float(r["to"])) for r in rows] == [
        (s["method"], s["mean"]["mean"], s["mean"]["high"]) for s in told
    ]
    written = (tmp_path / "report.md").read_text("utf-8")
    assert f"kgmed eval report whole sample --out {tmp_path.name}\n" in written
    assert str(tmp_path.parent) not in written
    page = (tmp_path / "report.html").read_text("utf-8")
    assert "a sample of 3 of its 6 questions" in page
    assert "all 6 questions" in page
    assert "<b>" not in page
    assert str(home) not in page + (tmp_path / "report.md").read_text("utf-8")


def test_the_commands_in_the_results_are_ones_that_the_program_knows(home: Path, tmp_path: Path) -> None:
    results = tmp_path / "results" / "results.md"
    chosen = ("--metric", "usual", "--metric", "linked")
    done = kgmed(home, "eval", "report", str(home / "sample"), "--markdown", str(results), *chosen)
    assert done.exit_code == 0, done.output
    text = results.read_text("utf-8")
    commands = re.findall(r"```sh\nkgmed ([^\n]+)\n```", text)
    assert commands[0] == "eval report sample --metric=usual --metric=linked --markdown results/results.md"
    every = text.partition("### Every metric")[2].splitlines()
    assert every[2].startswith("| method |")
    assert "| linked |" in every[2]
    assert every[4].startswith("| facts | ")
    assert commands[1].startswith("eval run sample --set q.jsonl --method facts --method facts+random --graph flu")
    for command in commands:
        assert CliRunner().invoke(app, [*command.split(), "--help"]).exit_code == 0
    assert [path.name for path in results.parent.iterdir()] == ["results.md"]


def test_a_metric_that_is_made_from_the_references_stands_beside_the_usual_ones(home: Path, tmp_path: Path) -> None:
    words = ("--metric", "usual", "--metric", "hallucination", "--out", str(tmp_path))
    done = kgmed(home, "eval", "report", str(home / "sample"), *words)
    assert done.exit_code == 0, done.output
    page = (tmp_path / "report.html").read_text("utf-8")
    summaries = re.findall(r"<summary>([^<]*)</summary>", page)
    assert summaries[0] == "accuracy"
    assert any("hallucination" in name for name in summaries)


BAD = [
    (("sample",), "say where to"),
    (("sample", "--out", "o", "--against", "nope"), "has no method 'nope'"),
    (("sample", "--out", "o", "--metric", "nope"), "no metric is called 'nope'"),
    (("sample", "--out", "o", "--metric", "bertscore"), "needs a model"),
    (("sample", "sample", "--out", "o"), "name each folder once"),
    (("nowhere", "--out", "o"), "holds no evaluation"),
    (("sample", "--out", "q.jsonl"), "cannot be written"),
]


@pytest.mark.parametrize(("words", "told"), BAD)
def test_bad_input_is_told_and_nothing_is_written(home: Path, words: tuple[str, ...], told: str) -> None:
    before = sorted(home.rglob("*"))
    placed = [str(home / w) if w in ("sample", "nowhere", "o", "q.jsonl") else w for w in words]
    done = kgmed(home, "eval", "report", *placed)
    assert isinstance(done.exception, KgmedError)
    assert isinstance(done.exception, BadInput)
    assert told in str(done.exception)
    assert sorted(home.rglob("*")) == before
