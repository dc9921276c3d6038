"""`kgmed ask` as a person and a program meet it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from kgmed.cli import app

TRIPLES = "head\trelation\ttail\treferences\nflu\thas_symptom\tfever\tPMID:1\nflu\thas_symptom\tcough\t\n"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with the graph `flu`."""
    folder = tmp_path_factory.mktemp("ask")
    (folder / "flu.tsv").write_text(TRIPLES, encoding="utf-8")
    built = run(folder, "graph", "build", "flu", str(folder / "flu.tsv"))
    assert built.exit_code == 0, built.output
    return folder


def run(home: Path, *words: str, typed: str = "") -> Result:
    return CliRunner().invoke(app, list(words), env={"KGMED_HOME": str(home), "COLUMNS": "200"}, input=typed or None)


def real(home: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    """The command as a process of its own."""
    command = [sys.executable, "-c", "from kgmed.cli import main; main()", *words]
    return subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, "KGMED_HOME": str(home)}, check=False
    )


def test_an_answer_shows_its_evidence_with_source_and_references(home: Path) -> None:
    shown = run(home, "ask", "What are the symptoms of flu?", "--graph", "flu", "--evidence")
    assert shown.exit_code == 0
    assert "Findings of flu: fever, cough [1]" in shown.stdout
    assert "[1] flu — has_symptom" in shown.stdout
    assert "PMID:1" in shown.stdout
    assert "Found: flu\n" in shown.stdout
    assert "not medical advice" in shown.stdout
    assert "Seconds:" in shown.stdout


def test_json_is_the_whole_run(home: Path) -> None:
    shown = run(home, "ask", "What are the symptoms of flu?", "-g", "flu", "--json")
    told = json.loads(shown.stdout)
    assert told["links"][0]["entity"]["name"] == "flu"
    assert told["answer"]["citations"] == [1]
    assert told["context"]["cited"][0]["triples"][0]["relation"]["role"] == "finding"


def test_explain_tells_how_words_were_linked(home: Path) -> None:
    shown = run(home, "ask", "symptoms of flu", "-g", "flu", "--explain").stdout
    assert "exact 1.00" in shown
    assert "(neighbours, 1)" in shown


@pytest.mark.parametrize("talk", [False, True])
def test_a_drug_that_is_not_there_is_asked_about_and_not_taken_for_another(tmp_path: Path, *, talk: bool) -> None:
    (tmp_path / "drugs.tsv").write_text("clotiazepam\ttreats\tanxiety\naspirin\ttreats\tpain\n", "utf-8")
    assert run(tmp_path, "graph", "build", "drugs", str(tmp_path / "drugs.tsv")).exit_code == 0
    question = "Does clonazepam or tungsten treat anxiety?"
    words = ("chat", "-g", "drugs") if talk else ("ask", question, "-g", "drugs")
    shown = run(tmp_path, *words, typed=f"{question}\n" if talk else "").stdout
    assert "Not found in the graph: clonazepam (did you mean clotiazepam?), tungsten\n" in shown
    assert "Found: anxiety\n" in shown
    assert "clotiazepam =" not in shown


def test_a_question_comes_from_a_file_or_from_standard_input(home: Path, tmp_path: Path) -> None:
    (tmp_path / "q.txt").write_text("symptoms of flu", encoding="utf-8")
    assert "cough" in run(home, "ask", "-g", "flu", "--file", str(tmp_path / "q.txt")).stdout
    assert "cough" in run(home, "ask", "-", "-g", "flu", typed="symptoms of flu").stdout


def test_options_are_chosen_from(home: Path) -> None:
    told = run(home, "ask", "Which is a sign of flu?", "-g", "flu", "-o", "A=cough", "-o", "B=gold", "--json")
    assert json.loads(told.stdout)["answer"]["choices"] == ["A"]


def test_abstaining_is_no_failure(home: Path) -> None:
    done = real(home, "ask", "What is the boiling point of tungsten?", "-g", "flu")
    assert done.returncode == 0
    assert "This is no question that a medical graph answers." in done.stdout
    assert "Not found in the graph: " in done.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("ask", "flu?", "-g", "flv"), "no graph is called 'flv'; did you mean flu?"),
        (("ask", "", "-g", "flu"), "the question is empty"),
        (("ask", "  ", "-g", "flu"), "the question is empty"),
        (("ask", "-g", "flu", "-f", "no-such-file"), "no-such-file: cannot be read"),
        (("ask", "flu", "-g", "flu", "-f", "x"), "not both"),
        (("ask", "flu", "-g", "flu", "-o", "A"), "not of the form A=TEXT"),
        (("ask", "flu", "-g", "flu", "-o", "A=x", "-o", "A=y"), "the option A is given twice"),
        (("ask", "flu", "-g", "flu", "-m", "fcats"), "no method is called 'fcats'"),
        (("ask", "flu", "-g", "flu", "-m", "llm"), "needs a language model"),
        (("ask", "flu", "-g", "flu", "--llm", "gpt"), "no language model is called 'gpt'"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(home: Path, words: tuple[str, ...], said: str) -> None:
    done = real(home, *words)
    assert done.returncode == 2, done.stderr
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert done.stdout == ""


def test_a_file_that_is_not_text_is_refused(home: Path, tmp_path: Path) -> None:
    (tmp_path / "q").write_bytes(b"\xff\xfe\x00flu")
    done = real(home, "ask", "-g", "flu", "-f", str(tmp_path / "q"))
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert "is not UTF-8 text at byte 0" in done.stderr


def test_models_lists_what_can_be_fetched(home: Path) -> None:
    assert "not here; kgmed models get smollm2" in run(home, "models", "list").stdout
    assert json.loads(run(home, "models", "list", "--json").stdout)["smollm2"] == ""
    assert real(home, "models", "get", "smolm2").returncode == 2
