"""`kgmed chat` reads lines and answers each."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from kgmed.cli import app
from kgmed.records import Run
from kgmed.session import Conversation

ROWS = "gout\thas_symptom\ttoe pain\ncolchicine\ttreats\tgout\n"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("chat")
    (folder / "toe.tsv").write_text(ROWS, encoding="utf-8")
    result = CliRunner().invoke(
        app, ["graph", "build", "toe", str(folder / "toe.tsv")], env={"KGMED_HOME": str(folder)}
    )
    assert result.exit_code == 0, result.output
    return folder


def chat(home: Path, typed: str, *words: str) -> Result:
    env = {"KGMED_HOME": str(home), "COLUMNS": "200"}
    return CliRunner().invoke(app, ["chat", "-g", "toe", "--encoder", "ngrams", *words], env=env, input=typed)


def test_each_line_is_answered_in_the_light_of_those_before(home: Path) -> None:
    result = chat(home, "What are the symptoms of gout?\n\nWhich drug treats it?\n", "--json")
    assert result.exit_code == 0, result.output
    first, second = map(json.loads, result.stdout.splitlines())
    assert "toe pain" in first["answer"]["text"]
    assert second["links"][0]["entity"]["name"] == "gout"
    assert second["links"][0]["how"] == "before, exact"
    assert "colchicine" in second["answer"]["text"]
    assert len(second["query"]["question"]["history"]) == 2


def test_a_person_sees_what_kgmed_ask_shows(home: Path) -> None:
    shown = chat(home, "What are the symptoms of gout?\n").stdout
    assert "toe pain [1]" in shown
    assert "Found: gout\n" in shown


def test_the_end_of_the_input_ends_it(home: Path) -> None:
    result = chat(home, "")
    assert (result.exit_code, result.stdout) == (0, "")


def test_a_line_that_cannot_be_asked_does_not_end_the_talk(home: Path) -> None:
    words = ("--json", "-m", "kg-rank", "--set", "ranking=expansion")
    told = [json.loads(line) for line in chat(home, "gout?\ngout?\n", *words).stdout.splitlines()]
    assert len(told) == 2
    assert all("needs a language model" in row["error"] for row in told)


def test_what_about_another_thing_asks_the_same_of_it(home: Path) -> None:
    rows = "gout\thas_symptom\ttoe pain\nrickets\thas_symptom\tbowed legs\ncolchicine\ttreats\tgout\n"
    (home / "two.tsv").write_text(f"{rows}vitamin D\ttreats\trickets\n", encoding="utf-8")
    CliRunner().invoke(app, ["graph", "build", "two", str(home / "two.tsv")], env={"KGMED_HOME": str(home)})
    shown = chat(home, "What treats gout?\nAnd what about rickets?\nwhat about gout\n", "-g", "two").stdout
    assert "Asked: What treats rickets?" in shown
    assert "vitamin D" in shown
    assert shown.count("colchicine") == 2 * chat(home, "What treats gout?\n", "-g", "two").stdout.count("colchicine")


def test_a_word_of_the_talk_itself_is_no_question(home: Path) -> None:
    shown = chat(home, "help\nWhat treats gout?\nhistory\nevidence\nquit\nWhat are the symptoms of gout?\n").stdout
    assert "exit      end" in shown
    assert "1 What treats gout?" in shown
    assert "\nEvidence\n[1] " in shown
    assert "toe pain" not in shown


def test_ctrl_c_clears_a_line_or_stops_an_answer_and_the_chat_goes_on(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    typed = iter(["", "stop me", "What are the symptoms of gout?", "exit"])
    ask = Conversation.ask

    def line(_: str) -> str:
        return next(typed) or raise_interrupt()

    def raise_interrupt() -> str:
        raise KeyboardInterrupt

    def asked(talk: Conversation, question: str) -> Run:
        return ask(talk, question if question != "stop me" else raise_interrupt())

    monkeypatch.setenv("KGMED_HOME", str(home))
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("builtins.input", line)
    monkeypatch.setattr(Conversation, "ask", asked)
    app(["chat", "-g", "toe", "--encoder", "ngrams"], standalone_mode=False)
    shown = capsys.readouterr()
    assert "toe pain [1]" in shown.out
    assert "stopped" in shown.err
