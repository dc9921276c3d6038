"""`kgmed eval` as a person meets it: runs, goes on, scores; bad input is one line and exit code 2."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from threading import Event

import pytest
from typer.testing import CliRunner, Result

from kgmed.cli import app
from kgmed.evaluate.log import LOG, digest, entries
from loopback import Asked, Said, loopback

TRIPLES = "".join(f"flu\thas_symptom\tsign{i}\ndrug{i}\ttreats\tflu\n" for i in range(60))
QUESTIONS = 200


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with the graph `flu` and a file of questions on it."""
    folder = tmp_path_factory.mktemp("eval")
    (folder / "flu.tsv").write_text(TRIPLES, encoding="utf-8")
    rows = (
        {"id": f"q{i}", "question": f"Which drug of case {i} treats flu?", "options": {"A": f"drug{i % 60}", "B": "x"},
         "answer": "A", "language": "en"} for i in range(QUESTIONS)
    )  # fmt: skip
    (folder / "q.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    built = kgmed(folder, "graph", "build", "flu", str(folder / "flu.tsv"))
    assert built.exit_code == 0, built.output
    return folder


def kgmed(home: Path, *words: str) -> Result:
    environment = {"KGMED_HOME": str(home), "COLUMNS": "200", "KGMED_DATA": str(home)}
    return CliRunner().invoke(app, list(words), env=environment)


def run(home: Path, out: Path, *more: str) -> Result:
    words = ("eval", "run", str(out), "-s", str(home / "q.jsonl"), "-m", "facts", "-g", "flu", "--part", "", *more)
    return kgmed(home, *words)


def test_methods_and_controls_are_asked_and_scored(home: Path, tmp_path: Path) -> None:
    told = run(home, tmp_path, "-m", "facts+oracle", "-m", "facts+random", "-n", "20", "--json")
    assert json.loads(told.stdout)["asked now"] == 60, told.output
    assert (
        json.loads(run(home, tmp_path, "-m", "facts+oracle", "-m", "facts+random", "-n", "20", "--json").stdout)[
            "asked now"
        ]
        == 0
    )
    table = kgmed(home, "eval", "score", str(tmp_path), "--against", "facts+random", "--json")
    told_scores = json.loads(table.stdout)
    by = {(s["method"], s["metric"]): s for s in told_scores["scores"]}
    assert by["facts", "accuracy"]["mean"]["n"] == 20
    assert by["facts", "accuracy"]["mean"]["mean"] == 1
    assert by["facts+random", "accuracy"]["mean"]["mean"] == 0
    assert {c["method"] for c in told_scores["against"]} == {"facts", "facts+oracle"}


def test_an_evaluation_killed_three_times_ends_like_one_that_was_not(home: Path, tmp_path: Path) -> None:
    words = ["eval", "run", str(tmp_path / "killed"), "-s", str(home / "q.jsonl"), "-m", "facts", "-g", "flu"]
    command = [sys.executable, "-c", "from kgmed.cli import main; main()", *words, "--part", ""]
    environment = {**os.environ, "KGMED_HOME": str(home), "KGMED_DATA": str(home)}
    log = tmp_path / "killed" / LOG
    for part in (1, 2, 3):
        process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
        while process.poll() is None and lines(log) < part * 40:
            time.sleep(0.002)
        assert process.poll() is None, "it ended before it was killed"
        process.send_signal(signal.SIGKILL)
        process.wait()
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
    assert run(home, tmp_path / "calm").exit_code == 0
    assert lines(log) == QUESTIONS
    assert digest(entries(tmp_path / "killed")) == digest(entries(tmp_path / "calm"))
    scores = [
        kgmed(home, "eval", "score", str(tmp_path / n), "--metric", "accuracy", "--json") for n in ("killed", "calm")
    ]
    assert scores[0].stdout == scores[1].stdout


def test_an_interrupted_evaluation_does_not_wait_for_the_questions_it_began(home: Path, tmp_path: Path) -> None:
    words = ["eval", "run", str(tmp_path), "-s", str(home / "q.jsonl"), "-m", "zero-shot", "-g", "flu", "--part", ""]
    told, go = Said({"choices": [{"message": {"role": "assistant", "content": "A"}, "finish_reason": "stop"}]}), Event()

    def first_three(_: Asked) -> Said:
        if len(server.asked) > 3:
            go.wait(100)
        return told

    with loopback() as server:
        server.says = first_three
        words += ["-n", "8", "--threads", "8", "--llm", "openai/m", "--base-url", server.url]
        command = [sys.executable, "-c", "from kgmed.cli import main; main()", *words]
        environment = {**os.environ, "KGMED_HOME": str(home), "KGMED_DATA": str(home), "KGMED_API_KEY": "k"}
        process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        while process.poll() is None and not (lines(tmp_path / LOG) == 3 and len(server.asked) == 8):
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        assert b"what was finished is kept" in process.communicate(timeout=60)[1]
        assert process.returncode == 130
        go.set()
        subprocess.run(command, env=environment, check=True, capture_output=True)
    assert (lines(tmp_path / LOG), len(server.asked)) == (8, 13)


def lines(log: Path) -> int:
    return log.read_bytes().count(b"\n") if log.exists() else 0


def test_several_processes_give_what_one_gives(home: Path, tmp_path: Path) -> None:
    assert run(home, tmp_path / "one", "-n", "12").exit_code == 0
    told = run(home, tmp_path / "two", "-n", "12", "--workers", "2")
    assert told.exit_code == 0, told.output
    assert digest(entries(tmp_path / "one")) == digest(entries(tmp_path / "two"))


def test_a_dry_run_asks_nothing_and_says_what_it_would_take(home: Path, tmp_path: Path) -> None:
    told = json.loads(run(home, tmp_path / "dry", "-m", "hykge", "--dry-run", "--json").stdout)
    assert [(row["method"], row["calls"], row["tokens"]) for row in told] == [("facts", 0, None), ("hykge", 400, None)]
    assert not (tmp_path / "dry").exists()
    probed = json.loads(run(home, tmp_path / "dry", "--dry-run", "--probe", "2", "--json").stdout)
    assert probed[0]["tokens"] == 0
    assert probed[0]["probed"] == 2


BAD = [
    (("-m", "nope"), "no method is called 'nope'"),
    (("-m", "facts+nope"), "no control is called 'nope'"),
    (("-m", "facts"), "each once"),
    (("-s", "nope"), "no data set is called 'nope'"),
    (("-g", "nope"), "nope"),
    (("--threads", "2", "--workers", "2"), "give one of"),
]


@pytest.mark.parametrize(("more", "told"), BAD)
def test_bad_input_is_one_line_and_leaves_nothing(home: Path, tmp_path: Path, more: tuple[str, ...], told: str) -> None:
    words = ["eval", "run", str(tmp_path / "out"), "-s", str(home / "q.jsonl"), "-m", "facts", "-g", "flu", *more]
    command = [sys.executable, "-c", "from kgmed.cli import main; main()", *words, "--part", ""]
    environment = {**os.environ, "KGMED_HOME": str(home), "KGMED_DATA": str(home)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 2, done.stderr
    assert told in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "out" / LOG).exists()


def test_data_sets_and_metrics_are_listed(home: Path) -> None:
    sets = json.loads(kgmed(home, "eval", "datasets", "--json").stdout)
    assert {"mmcu", "liveqa", "genmedgpt"} <= {s["name"] for s in sets}
    assert all(s["missing"] for s in sets)
    assert "accuracy" in kgmed(home, "eval", "metrics").stdout


def test_scores_of_other_questions_are_refused(home: Path, tmp_path: Path) -> None:
    assert run(home, tmp_path, "-n", "3").exit_code == 0
    other = tmp_path / "manifest.json"
    other.write_text(other.read_text().replace('"sha256": "', '"sha256": "0'), encoding="utf-8")
    told = kgmed(home, "eval", "score", str(tmp_path))
    assert told.exit_code != 0
    assert "is not the release" in str(told.exception)
