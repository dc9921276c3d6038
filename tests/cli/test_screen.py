"""An answer on a screen of 80 columns: short, no word broken, styled and linked on terminals only."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

from kgmed import __version__
from kgmed.cli import INSTEAD, PARTS, app
from kgmed.cli.options import OPTIONS, PANELS
from kgmed.cli.show import cells, lines_of
from kgmed.config import Config, options_of
from kgmed.errors import BadInput

COMMAND = [sys.executable, "-c", "from kgmed.cli import main; main()"]
ROWS = (
    "head\trelation\ttail\treferences\n"
    "gout\thas_symptom\tsevere pain of the first joint of the great toe\tPMID:1\n"
    "gout\thas_symptom\tfever\tOMIM:300\n"
    "colchicine\ttreats\tgout\tHP:0000001\n"
    "痛风\t症状\t关节红肿热痛\t\n"
)
SHORT_AND_LONG = st.text(alphabet="ab 药，。（）é-[1]", max_size=200)


def wrap(text: str, width: int) -> str:
    """A text as the command line puts it on a screen of a width."""
    return "\n".join(" " * indent + text[start:end] for start, end, indent in lines_of(text, width))


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with the graph `toe`."""
    folder = tmp_path_factory.mktemp("screen")
    (folder / "toe.tsv").write_text(ROWS, encoding="utf-8")
    assert run(folder, "graph", "build", "toe", str(folder / "toe.tsv")).exit_code == 0
    return folder


def run(home: Path, *words: str, typed: str | None = None, columns: int = 80) -> Result:
    env = {"KGMED_HOME": str(home), "COLUMNS": str(columns)}
    return CliRunner().invoke(app, list(words), env=env, input=typed)


def on_a_terminal(home: Path, *words: str, **environment: str) -> str:
    """All that a command sends to a terminal of 80 columns."""
    pty = pytest.importorskip("pty", reason="this system has no pseudo-terminals")
    ours, theirs = pty.openpty()
    env = {**os.environ, "KGMED_HOME": str(home), "TERM": "xterm-256color", "COLUMNS": "80", "PYTHONUTF8": "1"}
    env = {k: v for k, v in (env | environment).items() if k != "NO_COLOR" or k in environment}
    with subprocess.Popen([*COMMAND, *words], stdin=theirs, stdout=theirs, stderr=theirs, env=env):
        os.close(theirs)
        read = b""
        try:
            while part := os.read(ours, 65_536):
                read += part
        except OSError:  # the other end is closed
            pass
    os.close(ours)
    return read.decode().replace("\r\n", "\n")


@given(SHORT_AND_LONG, st.integers(8, 40))
def test_wrapping_loses_nothing_but_spaces_and_breaks_no_word(text: str, width: int) -> None:
    lines = wrap(text, width).split("\n")
    assert "".join("".join(lines).split()) == "".join(text.split())
    words = {w for line in lines for w in re.findall(r"[ab]+", line)}
    assert words <= set(re.findall(r"[ab]+", text))


@given(st.text(alphabet="ab 药痛", max_size=200).filter(lambda t: not re.search("[ab]{9}", t)))
def test_no_line_is_wider_than_the_screen(text: str) -> None:
    assert all(cells(line) <= 12 for line in wrap(text, 12).split("\n"))


def test_a_chinese_sign_that_closes_is_never_the_first_of_a_line() -> None:
    lines = wrap("关节红肿，关节疼痛，夜间加重。" * 5, 11).split("\n")
    assert all(line[0] not in "，。" for line in lines)
    assert max(map(cells, lines)) <= 12


@pytest.mark.parametrize("text", ["a " * 20_000, "药" * 20_000, "（" * 20_000, " [1]" * 20_000])
def test_a_long_text_is_broken_in_linear_time(text: str) -> None:
    assert len(list(lines_of(text, 80))) <= len(text)


def test_an_answer_comes_with_one_line_of_sources_and_without_its_evidence(home: Path) -> None:
    shown = run(home, "ask", "What are the symptoms of gout?", "-g", "toe").stdout
    assert [line for line in shown.splitlines() if line.startswith("Sources: toe; ")]
    assert "Evidence" not in shown
    assert "Seconds" not in shown
    assert len(shown.splitlines()) <= 12
    assert max(map(cells, shown.splitlines())) <= 80


def test_the_numbered_evidence_is_shown_where_it_is_asked_for(home: Path) -> None:
    shown = run(home, "ask", "What are the symptoms of gout?", "-g", "toe", "--evidence", columns=200).stdout
    assert "\nEvidence\n[1] gout — has_symptom" in shown
    assert "PMID:1" in shown
    assert "Seconds:" in shown


def test_a_narrow_screen_breaks_no_word(home: Path) -> None:
    wide = run(home, "ask", "What are the symptoms of gout?", "-g", "toe", "--explain", columns=300).stdout
    narrow = run(home, "ask", "What are the symptoms of gout?", "-g", "toe", "--explain", columns=24).stdout
    words = set(re.findall(r"[a-z]{3,}", narrow))
    assert words <= set(re.findall(r"[a-z]{3,}", wide))


def test_a_terminal_gets_styles_and_links_and_a_pipe_gets_none(home: Path) -> None:
    words = ("ask", "--graph", "toe", "What are the symptoms of gout?", "--evidence")
    there = on_a_terminal(home, *words) + on_a_terminal(
        home, "ask", "--graph", "toe", "What treats gout?", "--evidence"
    )
    assert "\x1b]8;;https://pubmed.ncbi.nlm.nih.gov/1\x1b\\" in there
    assert "\x1b]8;;https://www.omim.org/entry/300\x1b\\" in there
    assert "\x1b[1m" in there
    assert "\x1b" not in run(home, *words).stdout
    assert "\x1b" not in on_a_terminal(home, *words, NO_COLOR="1")
    assert "\x1b" not in on_a_terminal(home, *words, TERM="dumb")


def test_nothing_is_said_of_building_a_graph_that_stands(home: Path) -> None:
    assert "building" not in on_a_terminal(home, "ask", "-g", "toe", "What treats gout?")


def test_a_thing_that_is_named_often_is_found_once_and_a_long_question_prints_little(home: Path) -> None:
    shown = run(home, "ask", "gout and gout or gout, symptoms?", "-g", "toe").stdout
    assert shown.count("Found: gout\n") == 1
    story = "My gout hurts and I saw xyzzy" + " and then qwertish plugh, gout again" * 1_000 + ". What treats gout?"
    assert len(run(home, "ask", story, "-g", "toe").stdout) < 2_000


def test_a_name_is_found_without_its_code_and_without_the_words_around_it(tmp_path: Path) -> None:
    (tmp_path / "f.tsv").write_text("marfan\thas_symptom\ttall stature\nmarfan\thas_symptom\tfever\n", "utf-8")
    assert run(tmp_path, "graph", "build", "f", str(tmp_path / "f.tsv")).exit_code == 0
    shown = run(tmp_path, "ask", "Tall stature and fever: is it marfan?", "-g", "f").stdout
    found = next(line for line in shown.splitlines() if line.startswith("Found: "))
    assert "(" not in found


def test_words_that_are_no_name_are_not_said_to_be_missing_beside_what_was_found(home: Path) -> None:
    shown = run(home, "ask", "I am scared and it feels funny: what treats gout?", "-g", "toe").stdout
    assert "Found: gout\n" in shown
    assert "Not found" not in shown


def test_a_short_form_that_was_not_found_is_said(home: Path) -> None:
    assert "Not found in the graph: MDR" in run(home, "ask", "What treats gout with MDR?", "-g", "toe").stdout


def test_labels_are_in_the_language_of_the_question(home: Path) -> None:
    shown = run(home, "ask", "痛风有什么症状？", "-g", "toe").stdout
    assert "识别到：痛风" in shown
    assert "来源：" in shown


def test_a_question_needs_no_quotation_marks(home: Path) -> None:
    assert "colchicine" in run(home, "ask", "-g", "toe", "what", "treats", "gout").stdout


def test_a_question_may_come_through_a_pipe_without_a_dash(home: Path) -> None:
    assert "colchicine" in run(home, "ask", "-g", "toe", typed="what treats gout\n").stdout
    done = subprocess.run(
        [*COMMAND, "ask", "-g", "toe"], input="what treats gout", capture_output=True, text=True, check=False,
        env={**os.environ, "KGMED_HOME": str(home)},
    )  # fmt: skip
    assert "colchicine" in done.stdout


def test_the_version_is_printed(home: Path) -> None:
    assert run(home, "--version").stdout == f"kgmed {__version__}\n"


def test_a_command_that_is_misspelled_is_asked_about(home: Path) -> None:
    assert "Did you mean 'graph'" in run(home, "grahp").output


def test_every_command_has_a_help_and_ask_shows_its_options_in_groups(home: Path) -> None:
    for name in PARTS:
        assert run(home, name, "--help").exit_code == 0, name
    short = run(home, "ask", "--help", columns=80).stdout
    assert len(short.splitlines()) <= 2 * 24
    assert "--help-all" in short
    assert "--rate" not in short
    shown = run(home, "ask", "--help-all", columns=100).stdout
    assert all(panel in shown for panel in PANELS)
    assert "--rate" in shown


def test_a_question_without_a_command_is_asked_and_a_wrong_command_is_told_the_right_one(home: Path) -> None:
    asked = run(home, "What treats gout?", "-g", "toe", "--no-log")
    assert "colchicine" in asked.stdout, asked.output
    for word, instead in INSTEAD.items():
        assert instead in _refusal(home, *word.split())
    table = home / "My Own.csv"
    table.write_text("a,b", encoding="utf-8")
    assert f"kgmed graph build my-own {table}" in _refusal(home, "graph", "build", str(table))
    assert "openai/gpt-4o" in _refusal(home, "ask", "What treats gout?", "--llm", "gpt-4o")
    assert "openai/llama3 --base-url URL" in _refusal(home, "ask", "What treats gout?", "--llm", "ollama/llama3")


def _refusal(home: Path, *given: str) -> str:
    """Why a command is refused."""
    wrong = run(home, *given)
    assert isinstance(wrong.exception, BadInput), wrong.output
    return str(wrong.exception)


def test_values_are_completed(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KGMED_HOME", str(home))

    def completed(words: str) -> list[str]:
        given = {"_KGMED_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(len(words.split(" ")) - 1)}
        return CliRunner().invoke(app, [], prog_name="kgmed", env=given).stdout.split("\n")

    assert "toe" in completed("kgmed ask --graph t")
    assert "hpo,toe" in completed("kgmed ask --graph hpo,t")
    assert "kg-rank" in completed("kgmed ask --method kg")
    assert "openai/" in completed("kgmed ask --llm op")
    assert "toe" in completed("kgmed graph show t")
    assert "gout" in completed("kgmed graph show toe gou")
    assert "GOut" in completed("kgmed graph show toe GO")  # shells compare by case


def test_every_option_stands_in_one_group_of_help() -> None:
    placed = [name for names in PANELS.values() for name in names]
    assert sorted(placed) == sorted([*options_of(Config), "config"])
    assert set(placed) <= set(OPTIONS)


def test_a_model_that_cannot_be_reached_is_said_first(home: Path) -> None:
    pytest.importorskip("openai")
    words = ("--llm", "openai/m", "--base-url", "http://127.0.0.1:9/v1")
    done = CliRunner().invoke(
        app, ["ask", "What treats gout?", "-g", "toe", *words],
        env={"KGMED_HOME": str(home), "COLUMNS": "80", "KGMED_API_KEY": "x"},
    )  # fmt: skip
    assert done.stdout.startswith("The language model could not answer (cannot reach 127.0.0.1:9;")
    assert "colchicine" in done.stdout


def test_an_answer_without_a_model_waits_for_nothing_that_it_does_not_need(home: Path) -> None:
    code = (
        "import sys\nfrom kgmed.cli import app\n"
        "try:\n    app(['ask', '-g', 'toe', 'what', 'treats', 'gout'])\nexcept SystemExit:\n    pass\n"
        "heavy = ['rich', 'asyncio', 'torch', 'scipy', 'sklearn', 'kgmed.evaluate', 'kgmed.train', 'kgmed.cli.graph',\n"
        "         'kgmed.steps.check', 'kgmed.steps.rank', 'kgmed.linking.decide', 'kgmed.models.hosted',\n"
        "         'rapidfuzz', 'snowballstemmer', 'pandas', 'networkx', 'openai']\n"
        "print([name for name in heavy if name in sys.modules])"
    )
    env = {**os.environ, "KGMED_HOME": str(home)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env)
    assert done.stdout.splitlines()[-1] == "[]", done.stdout + done.stderr


def test_a_pattern_is_compiled_when_it_is_first_used_and_is_then_a_pattern(tmp_path: Path) -> None:
    code = (
        "import re\nfrom kgmed.language.text import lazily\n"
        "made = []\nbefore = re._compiler._code\n"
        "re._compiler._code = lambda *given: made.append(given) or before(*given)\n"
        "goat = lazily('goat (?P<n>[0-9]+)', re.IGNORECASE)\nprint(len(made))\n"
        "print(goat.search('a GOAT 12')['n'], goat.sub('x', 'goat 3'), goat.groups, len(made))"
    )
    own = {**os.environ, "KGMED_HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=own)
    assert done.stdout.splitlines() == ["0", "12 x 1 1"]


def test_an_option_that_is_not_given_keeps_its_default_and_one_that_is_wrong_is_refused(home: Path) -> None:
    env = {**os.environ, "KGMED_HOME": str(home)}
    command = [sys.executable, "-c", "from kgmed.cli import main; main()", "ask", "-g", "toe", "what treats gout"]
    plain = subprocess.run(command, capture_output=True, text=True, env=env)
    assert plain.returncode == 0, plain.stderr
    wrong = subprocess.run([*command, "--evidence-tokens", "many"], capture_output=True, text=True, env=env)
    assert wrong.returncode == 2
    assert "--evidence-tokens" in wrong.stderr
