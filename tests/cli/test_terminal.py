"""What graphs, files and errors hold is text on a terminal: it commands nothing, and breaks no output."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = [sys.executable, "-c", "from kgmed.cli import main; main()"]
HOSTILE = "\x1b]0;owned\x07 \x1b[2J \x9b31m \u202ecba [/link][/dim]"
RAW = ("\x1b]0", "\x07", "\x1b[2J", "\x9b", "\u202e")
SHOWN = "⟨U+001B⟩]0;owned⟨U+0007⟩"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with the graph `odd`, in whose names, relations and references anything stands."""
    place = tmp_path_factory.mktemp("terminal")
    rows = [
        ("podagra", "treated by", f"allopurinol {HOSTILE}"),
        ("podagra", f"seen in {HOSTILE}", "the café"),
        (f"allopurinol {HOSTILE}", "treats", "podagra"),
    ]
    references = [f"PMID:2[/link][/dim]{HOSTILE}", f"x{HOSTILE}"]
    lines = [json.dumps({"head": h, "relation": r, "tail": t, "references": references}) for h, r, t in rows]
    (place / "odd.jsonl").write_text("\n".join(lines), encoding="utf-8")
    done = real(place, "graph", "build", "odd", place / "odd.jsonl")
    assert done.returncode == 0, done.stderr
    return place


def real(home: Path, *words: object, **environment: str) -> "subprocess.CompletedProcess[str]":
    """The command as a process of its own, whose outputs are pipes."""
    env = {**os.environ, "KGMED_HOME": str(home), "PYTHONUTF8": "1", **environment}
    return subprocess.run(
        [*COMMAND, *map(str, words)], capture_output=True, text=True, encoding="utf-8", env=env, check=False
    )


def seen(home: Path, *words: object) -> tuple[int, str]:
    """The exit code of a command on a terminal, and all that it sends there."""
    pty = pytest.importorskip("pty", reason="this system has no pseudo-terminals")
    ours, theirs = pty.openpty()
    env = {**os.environ, "KGMED_HOME": str(home), "TERM": "xterm-256color", "COLUMNS": "4000", "PYTHONUTF8": "1"}
    with subprocess.Popen([*COMMAND, *map(str, words)], stdin=theirs, stdout=theirs, stderr=theirs, env=env) as process:
        os.close(theirs)
        read = b""
        try:
            while part := os.read(ours, 65_536):
                read += part
        except OSError:  # the other end is closed
            pass
    os.close(ours)
    return process.returncode, read.decode("utf-8", "surrogateescape")


@pytest.mark.parametrize(
    "words",
    [
        ("graph", "find", "odd", f"allopurinol {HOSTILE}"),
        ("graph", "show", "odd", "podagra"),
        ("graph", "neighbours", "odd", "podagra"),
        ("graph", "paths", "odd", "podagra", f"allopurinol {HOSTILE}"),
        ("graph", "doctor", "odd"),
        ("graph", "find", "odd", HOSTILE),
        ("graph", "show", f"{HOSTILE}", "podagra"),
        ("ask", "--graph", "odd", "--explain", "How is podagra treated?"),
    ],
)
def test_nothing_of_a_graph_commands_the_terminal(home: Path, words: tuple[str, ...]) -> None:
    _, text = seen(home, *words)
    assert "Traceback" not in text
    assert [mark for mark in RAW if mark in text] == []


def test_what_cannot_be_seen_is_shown_by_its_number_and_brackets_stay(home: Path) -> None:
    code, text = seen(home, "graph", "neighbours", "odd", "podagra")
    assert code == 0
    assert SHOWN in text
    assert "PMID:2[/link][/dim]" in text
    assert SHOWN in real(home, "graph", "neighbours", "odd", "podagra").stdout


def test_a_reference_that_looks_like_markup_is_shown_as_it_stands_in_an_answer(home: Path) -> None:
    done = real(home, "ask", "--graph", "odd", "How is podagra treated?")
    assert done.returncode == 0, done.stderr
    assert "PMID:2[/link][/dim]" in done.stdout


def test_the_address_of_a_reference_holds_nothing_but_an_address(home: Path) -> None:
    _, text = seen(home, "ask", "--graph", "odd", "How is podagra treated?")
    assert "https://pubmed.ncbi.nlm.nih.gov/2%5B/link%5D%5B/dim%5D%1B%5D0\x1b\\" in text


def test_the_name_of_a_model_that_looks_like_markup_is_a_name(home: Path) -> None:
    done = real(home, "models", "get", "x[/y]")
    assert done.returncode == 2
    assert "no packaged model is called 'x[/y]'" in done.stderr
    assert "Traceback" not in done.stderr


def test_an_error_is_one_line_in_which_nothing_is_a_command(home: Path) -> None:
    done = real(home, "graph", "build", "new", home / "a\x1b[31mb\n\u202ec.tsv")
    assert done.returncode == 2
    assert r"a\x1b[31mb \u202ec.tsv" in done.stderr
    assert done.stderr.count("\n") == 1


def test_json_holds_the_names_exactly(home: Path) -> None:
    done = real(home, "graph", "neighbours", "odd", "podagra", "--json")
    names = {row["tail"]["name"] for row in json.loads(done.stdout)}
    plain = real(home, "graph", "neighbours", "odd", "podagra", "--json", PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert "the café" in names
    assert json.loads(plain.stdout) == json.loads(done.stdout)
    assert plain.stdout.isascii()


@pytest.mark.parametrize(
    "words",
    [("graph", "neighbours", "odd", "podagra"), ("ask", "--graph", "odd", "How is podagra treated?"), ("methods",)],
)
def test_an_output_that_lacks_a_character_shows_another(home: Path, words: tuple[str, ...]) -> None:
    done = real(home, *words, PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.isascii()


def test_a_stop_that_python_loses_while_it_lets_go_of_an_object_comes_again() -> None:
    code = """
import os, signal, threading
from kgmed import cli

class Held:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)  # is handled before this returns

def work():
    Held()
    threading.Event().wait(300)
    print("went on")

cli.app = work
cli.main()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False, encoding="utf-8")
    assert done.returncode != 0
    assert "went on" not in done.stdout
