"""`kgmed eval judge`, `kgmed eval ratings` and metrics that are made, as a person meets them."""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from kgmed.cli import app
from kgmed.evaluate.judge import KINDS, Judging, judge
from kgmed.evaluate.log import LOG, entries
from kgmed.evaluate.run import reopened
from kgmed.models.base import Message, Reply
from kgmed.models.named import CachedLLM

TRIPLES = "".join(f"flu\thas_symptom\tsign{i}\ndrug{i}\ttreats\tflu\n" for i in range(20))
N = 6


class First:
    """A judge that always takes the first place."""

    name = "first"

    def __call__(self, messages: Sequence[Message], /, *, max_tokens: int = 256) -> Reply:
        return Reply(json.dumps(dict.fromkeys(KINDS["pair"].criteria, 1)), 5, 5, self.name)


def kgmed(home: Path, *words: str) -> Result:
    environment = {"KGMED_HOME": str(home), "COLUMNS": "200", "KGMED_DATA": str(home)}
    return CliRunner().invoke(app, list(words), env=environment)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with a graph, an evaluation `out` on it, and the recorded replies of a judge."""
    folder = tmp_path_factory.mktemp("judge")
    (folder / "flu.tsv").write_text(TRIPLES, encoding="utf-8")
    rows = (
        {"id": f"q{i}", "question": f"What treats flu with sign{i}?", "texts": [f"drug{i} treats flu"]}
        for i in range(N)
    )
    (folder / "q.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    assert kgmed(folder, "graph", "build", "flu", str(folder / "flu.tsv")).exit_code == 0
    words = ("eval", "run", str(folder / "out"), "-s", str(folder / "q.jsonl"), "-g", "flu", "--part", "")
    done = kgmed(folder, *words, "-m", "facts", "-m", "facts+random")
    assert done.exit_code == 0, done.output
    plan = reopened(folder / "out", folder).plan()
    llm = CachedLLM(First(), folder / "replies.sqlite")
    judge(Judging(KINDS["pair"], tuple(plan.methods), plan.items, entries(folder / "out"), llm), folder / "recorded")
    return folder


def judged(home: Path, *more: str) -> Result:
    replay = ("--cache", str(home / "replies.sqlite"), "--cache-mode", "replay")
    return kgmed(home, "eval", "judge", str(home / "out"), *replay, *more)


def test_a_judge_is_replayed_and_its_bias_is_told(home: Path, tmp_path: Path) -> None:
    told = judged(home, "--to", str(tmp_path), "--threads", "2", "--json")
    assert told.exit_code == 0, told.output
    found = json.loads(told.stdout)
    assert found["asked now"] == 2 * N
    assert len(found["duels"]) == 4
    duel = found["duels"][0]
    assert duel["n"] == N == duel["flipped"] + duel["ruled"]
    assert duel["failed"] == 0
    assert found["bias"]["first"]["mean"] == 1
    again = judged(home, "--to", str(tmp_path))
    assert "The answer shown first wins 1.0000" in again.stdout
    assert "asked now: 0" in again.stdout


def test_a_reply_that_was_never_recorded_is_a_failed_judgement(home: Path, tmp_path: Path) -> None:
    found = json.loads(judged(home, "--to", str(tmp_path), "--kind", "mindmap", "--json").stdout)
    assert found["duels"][2]["failed"] == N - found["duels"][2]["ruled"]


def test_people_and_a_judge_are_held_against_each_other(home: Path, tmp_path: Path) -> None:
    assert judged(home, "--to", str(tmp_path / "j")).exit_code == 0
    rows = [
        f"q{i},{m},{who},{1 if m == 'facts' else 0}"
        for i in range(N)
        for m in ("facts", "facts+random")
        for who in "xy"
    ]
    (tmp_path / "acj.csv").write_text("\n".join(["item,method,rater,rating", *rows]), encoding="utf-8")
    found = json.loads(
        kgmed(home, "eval", "ratings", str(tmp_path / "acj.csv"), "--judged", str(tmp_path / "j"), "--json").stdout
    )
    assert [(a["method"], a["mean"]["mean"]) for a in found["acj"]] == [("facts", 100), ("facts+random", 0)]
    assert (found["raters"]["name"], found["raters"]["value"]) == ("Cohen's kappa", 1)
    assert {*found["judge"]} == {*KINDS["pair"].criteria}
    assert found["judge"]["factuality"]["n"] == N
    table = kgmed(home, "eval", "ratings", str(tmp_path / "acj.csv"))
    assert "facts\t100.00" in table.stdout
    assert "between raters\tCohen's kappa\t1.0000" in table.stdout


def test_metrics_that_are_made_are_scored_and_say_what_they_stand_on(home: Path) -> None:
    names = ("--metric", "hallucination", "--metric", "rouge-l")
    found = json.loads(kgmed(home, "eval", "score", str(home / "out"), *names, "--json").stdout)
    assert [s["metric"] for s in found["scores"]][:3] == ["hallucination-similarity", "hallucination", "rouge-l"]
    like, unlike = found["scores"][:2]
    assert like["mean"]["n"] == N
    assert like["mean"]["mean"] == pytest.approx(1 - unlike["mean"]["mean"])
    assert "keywords: words" in found["made"]["hallucination"]
    named = kgmed(home, "eval", "score", str(home / "out"), "--metric", "hallucination", "--keywords", "flu")
    assert "names of flu" in named.stdout
    assert "bertscore" in kgmed(home, "eval", "metrics").stdout


BAD = [
    (("judge", "OUT"), "a judge is needed: --llm NAME"),
    (("judge", "OUT", "--llm", "smollm2", "--kind", "pairs"), "did you mean pair"),
    (("judge", "OUT", "--cache", "C", "--cache-mode", "replay", "-m", "nope", "-m", "facts"), "has no method 'nope'"),
    (("judge", "OUT", "--cache", "C", "--cache-mode", "replay", "-m", "facts"), "at least two methods"),
    (("judge", "OUT", "--cache", "C", "--cache-mode", "replay", "--seed", "7"), "no runs with the seed 7"),
    (("ratings", "OUT/log.jsonl"), "log.jsonl:1: has no column item, method, rater, rating"),
    (("score", "OUT", "--metric", "bertscore"), "--metric-model DIR"),
    (("score", "OUT", "--metric", "bertscor"), "did you mean bertscore"),
]


@pytest.mark.parametrize(("words", "told"), BAD)
def test_bad_input_is_one_line_and_leaves_nothing(home: Path, words: tuple[str, ...], told: str) -> None:
    places = {"OUT": str(home / "out"), "C": str(home / "replies.sqlite"), "OUT/log.jsonl": str(home / "out" / LOG)}
    command = [sys.executable, "-c", "from kgmed.cli import main; main()", "eval", *(places.get(w, w) for w in words)]
    environment = {"KGMED_HOME": str(home), "KGMED_DATA": str(home), "PATH": "", "HOME": str(home)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 2, done.stderr
    assert told in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (home / "out" / "judge-pair").exists()


def test_sheets_are_written_once_filled_and_read_back(home: Path, tmp_path: Path) -> None:
    table = tmp_path / "acj.csv"
    done = kgmed(home, "eval", "sheets", str(home / "out"), "--out", str(table), "--number", "4")
    assert done.exit_code == 0, done.output
    assert "raters must not see it" in done.output
    table.write_text(table.read_text("utf-8").replace(",,\n", ",1,anna\n"), encoding="utf-8")
    told = kgmed(home, "eval", "sheets", "--read", str(table), "--json")
    found = json.loads(told.stdout)
    assert {m["method"] for m in found["means"]} == {"facts", "facts+random"}
    assert found["unrated"] == 0
    assert "Agreement cannot be told of one rater" in kgmed(home, "eval", "sheets", "--read", str(table)).output
    again = kgmed(home, "eval", "sheets", str(home / "out"), "--out", str(table))
    assert "is there already, perhaps filled in" in str(again.exception)
    assert "say what to do" in str(kgmed(home, "eval", "sheets").exception)


def test_a_data_set_shows_how_it_is_understood(home: Path, tmp_path: Path) -> None:
    table = tmp_path / "mine.csv"
    table.write_text("stem,option_a,option_b,answer\nWhich?,gout,flu,B\n", encoding="utf-8")
    told = kgmed(home, "eval", "show", str(table)).output
    assert "columns: question = stem, options = option_a to option_b, answer = answer" in told
    assert "  * B flu" in told
    assert "question: sentences 1.0, words 1.0" in told
