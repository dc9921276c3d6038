"""`kgmed eval sweep`: a setting at several values is one evaluation of several methods."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from kgmed.cli import app
from kgmed.errors import BadInput
from kgmed.evaluate.log import LOG, entries

TRIPLES = "".join(f"flu\thas_symptom\tsign{i}\nsign{i}\tseen_in\tcold\ndrug{i}\ttreats\tflu\n" for i in range(30))


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with the graph `flu` and a file of questions on it."""
    folder = tmp_path_factory.mktemp("sweep")
    (folder / "flu.tsv").write_text(TRIPLES, encoding="utf-8")
    rows = ({"id": f"q{i}", "question": "What have flu and cold in common?", "texts": ["sign1"], "language": "en"}
            for i in range(3))  # fmt: skip
    (folder / "q.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    assert kgmed(folder, "graph", "build", "flu", str(folder / "flu.tsv")).exit_code == 0
    return folder


def kgmed(home: Path, *words: str) -> Result:
    environment = {"KGMED_HOME": str(home), "COLUMNS": "200", "KGMED_DATA": str(home)}
    return CliRunner().invoke(app, list(words), env=environment)


def swept(home: Path, out: Path, *more: str) -> Result:
    return kgmed(home, "eval", "sweep", str(out), "-s", str(home / "q.jsonl"), "-g", "flu", "--part", "", *more)


def test_each_value_is_a_method_that_was_run_with_it(home: Path, tmp_path: Path) -> None:
    told = swept(home, tmp_path, "-m", "hykge", "--vary", "hops=1,2", "--vary", "keep=2", "--beside", "facts", "--json")
    assert told.exit_code == 0, told.output
    assert json.loads(told.stdout)["asked now"] == 12
    found = {job: entry.run for job, entry in entries(tmp_path).items()}
    used = {job.method: dict(run.settings) for job, run in found.items() if run}
    assert list(used) == ["facts", "hykge[hops=1]", "hykge[hops=2]", "hykge[keep=2]"]
    assert [used[f"hykge[hops={n}]"]["hops"] for n in (1, 2)] == [1, 2]
    assert {len(run.evidence) for job, run in found.items() if run and job.method == "hykge[keep=2]"} == {2}
    assert max(len(run.evidence) for job, run in found.items() if run and job.method == "hykge[hops=2]") >= 2
    again = swept(home, tmp_path, "-m", "hykge", "--vary", "hops=1,2", "--vary", "keep=2", "--beside", "facts")
    assert "asked now: 0" in again.stdout


BAD = [
    (("-m", "hykge", "--vary", "hops"), "is not of the form"),
    (("-m", "hykge", "--vary", "hops=1,,2"), "is not of the form"),
    (("-m", "hykge", "--vary", "hopps=1,2"), "hopps"),
    (("-m", "hykge", "--vary", "hops=much"), "the setting hops is 'much'"),
    (("-m", "zero-shot", "--vary", "hops=1"), "zero-shot"),
]


@pytest.mark.parametrize(("more", "told"), BAD)
def test_a_setting_that_a_method_does_not_have_ends_it_before_anything_is_asked(
    home: Path, tmp_path: Path, more: tuple[str, ...], told: str
) -> None:
    done = swept(home, tmp_path / "out", *more)
    assert isinstance(done.exception, BadInput)
    assert told in str(done.exception)
    assert not (tmp_path / "out" / LOG).exists()


def test_an_option_that_run_does_not_have_is_refused(home: Path, tmp_path: Path) -> None:
    done = swept(home, tmp_path, "-m", "hykge", "--vary", "hops=1", "--nonsense")
    assert done.exit_code == 2
    assert "--nonsense" in done.output
