"""What is asked is kept here, can be shown, gone on from and cleared, and never stands in the way of an answer."""

import json
import os
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from kgmed.cli import app

COMMAND = [sys.executable, "-c", "from kgmed.cli import main; main()"]
ROWS = """gout	has_symptom	toe pain
colchicine	treats	gout
rickets	has_symptom	bowed legs
vitamin D	treats	rickets
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "toe.tsv").write_text(ROWS, encoding="utf-8")
    assert run(tmp_path, "graph", "build", "toe", str(tmp_path / "toe.tsv")).exit_code == 0
    return tmp_path


def run(home: Path, *words: str, typed: str | None = None) -> Result:
    return CliRunner().invoke(app, list(words), env={"KGMED_HOME": str(home), "COLUMNS": "200"}, input=typed)


def ask(home: Path, *words: str) -> Result:
    return run(home, "ask", "-g", "toe", *words)


def listed(home: Path) -> list[dict[str, str]]:
    rows: list[dict[str, str]] = json.loads(run(home, "log", "--json").stdout)
    return rows


def test_what_is_asked_is_listed_newest_first_and_shown_with_its_evidence(home: Path) -> None:
    ask(home, "What treats gout?")
    ask(home, "What are the signs of rickets?")
    assert [row["question"] for row in listed(home)] == ["What are the signs of rickets?", "What treats gout?"]
    shown = run(home, "log", "show", listed(home)[1]["id"]).stdout
    assert shown.startswith("> What treats gout?\n")
    assert "colchicine" in shown
    assert "\nEvidence\n" in shown
    assert "What treats gout?" in run(home, "log").stdout
    assert json.loads(run(home, "log", "show", "--json").stdout)["query"]["question"]["text"].endswith("rickets?")


def test_an_id_may_be_given_by_its_end_and_one_that_is_not_there_is_an_error(home: Path) -> None:
    ask(home, "What treats gout?")
    assert "colchicine" in run(home, "log", "show", listed(home)[0]["id"][-8:]).stdout
    assert "no run has the id 'zz'" in str(run(home, "log", "show", "zz").exception)


def test_a_question_is_asked_in_the_light_of_the_last_one(home: Path) -> None:
    ask(home, "What are the signs of gout?")
    assert "colchicine" in ask(home, "Which drug treats it?", "--continue").stdout
    assert "vitamin D" in ask(home, "what about rickets?", "--continue").stdout
    assert "no run has the id 'last'" in str(run(home / "other", "ask", "x", "--continue").exception)


def test_nothing_is_kept_where_the_log_is_switched_off(home: Path) -> None:
    ask(home, "What treats gout?", "--no-log")
    (home / "kgmed.toml").write_text("log = false\n", encoding="utf-8")
    ask(home, "What treats gout?", "--config", str(home / "kgmed.toml"))
    assert listed(home) == []
    assert not (home / "runs.sqlite").exists()


def test_what_is_cleared_is_in_no_file(home: Path) -> None:
    ask(home, "What treats gout, Mrs Featherstonehaugh?")
    assert run(home, "log", "clear").stdout == "1 deleted\n"
    assert listed(home) == []
    assert [p for p in home.glob("runs.sqlite*") if b"Featherstonehaugh" in p.read_bytes()] == []


def test_the_log_is_its_owners_alone(home: Path) -> None:
    ask(home, "What treats gout?")
    assert stat.S_IMODE((home / "runs.sqlite").stat().st_mode) == 0o600


@pytest.mark.parametrize("damage", ["text", "folder", "cut", "other"])
def test_a_log_that_cannot_be_used_is_one_line_and_the_answer_stands(home: Path, damage: str) -> None:
    file = home / "runs.sqlite"
    if damage == "text":
        file.write_bytes(b"no log at all" * 1_000)
    elif damage == "folder":
        file.mkdir()
    elif damage == "other":
        with sqlite3.connect(file) as connection:
            connection.execute("CREATE TABLE mine (x)")
    else:
        ask(home, "What treats gout?")
        file.write_bytes(file.read_bytes()[:5_000])
        for beside in home.glob("runs.sqlite-*"):
            beside.unlink()
    done = ask(home, "What treats gout?")
    assert done.exit_code == 0
    assert "colchicine" in done.stdout
    assert done.stderr.count("\n") == 1
    assert "kgmed: not kept in the log: " in done.stderr


def test_a_log_that_another_process_holds_is_waited_for_and_then_left(home: Path) -> None:
    ask(home, "What treats gout?")
    with sqlite3.connect(home / "runs.sqlite", isolation_level=None) as holder:
        holder.execute("BEGIN IMMEDIATE")
        done = ask(home, "What treats gout?")
        holder.execute("ROLLBACK")
    assert (done.exit_code, done.stderr.count("\n")) == (0, 1)
    assert "locked" in done.stderr


def test_processes_at_once_keep_all_that_they_are_asked(home: Path) -> None:
    env = {**os.environ, "KGMED_HOME": str(home)}
    command = [*COMMAND, "ask", "-g", "toe", "What treats gout?"]
    asked = [
        subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(4)
    ]
    said = [process.communicate() for process in asked]
    assert all("colchicine" in out and not err for out, err in said), said
    assert len(listed(home)) == 4


def test_a_talk_is_kept_too(home: Path) -> None:
    run(home, "chat", "-g", "toe", typed="What treats gout?\nwhat about rickets?\n")
    assert [row["question"] for row in listed(home)] == ["What treats rickets?", "What treats gout?"]
