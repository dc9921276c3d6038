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
from kgmed.errors import KgmedError
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


@pytest.mark.slow
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
    assert [(row["method"], row["calls"], row["tokens"]) for row in told] == [("facts", 0, None), ("hykge", 800, None)]
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
    (("--llm", "nope"), "no language model is called 'nope'"),
    (("--llm", "nope", "--dry-run"), "no language model is called 'nope'"),
    (("--preset", "paper"), "the method facts has no presets"),
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


# --- Several models in one folder, boards, servers that go away, exit codes.


def answer(text: str) -> Said:
    usage = {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12}
    message = {"role": "assistant", "content": text}
    return Said({"choices": [{"message": message, "finish_reason": "stop"}], "usage": usage})


def asked_with(home: Path, out: Path, *more: str, method: str = "zero-shot", number: int = 8) -> Result:
    """`kgmed eval run` of a method that asks a model, without a proxy of its own."""
    words = ("eval", "run", str(out), "-s", str(home / "q.jsonl"), "-m", method, "-g", "flu", "--part", "")
    environment = {"KGMED_HOME": str(home), "COLUMNS": "200", "KGMED_DATA": str(home), "KGMED_API_KEY": "k"}
    return CliRunner().invoke(app, [*words, "-n", str(number), *more], env=environment)


def test_several_models_are_compared_in_one_folder_each_with_its_own_baseline(home: Path, tmp_path: Path) -> None:
    with loopback() as good, loopback() as bad:
        good.says, bad.says = (lambda _: answer("A")), (lambda _: answer("B"))
        models = ("--llm", f"openai/good@{good.url}", "--llm", f"openai/bad@{bad.url}")
        told = asked_with(home, tmp_path, "-m", "cot", "-m", "facts", *models, "--json")
        assert json.loads(told.stdout)["in the log"] == 8 * 5, told.output
        assert (
            json.loads(asked_with(home, tmp_path, "-m", "cot", "-m", "facts", *models, "--json").stdout)["asked now"]
            == 0
        )
        assert len(good.asked) == len(bad.asked) >= 16
    assert good.url not in (tmp_path / "manifest.json").read_text(encoding="utf-8")
    scored = json.loads(
        kgmed(home, "eval", "score", str(tmp_path), "--metric", "accuracy", "--against", "zero-shot", "--json").stdout
    )
    by = {s["method"]: s["mean"]["mean"] for s in scored["scores"]}
    assert (by["zero-shot@openai/good"], by["zero-shot@openai/bad"], by["facts"]) == (1, 0, 1)
    assert {(c["method"], c["baseline"]) for c in scored["against"]} == {
        ("cot@openai/good", "zero-shot@openai/good"), ("cot@openai/bad", "zero-shot@openai/bad")
    }  # fmt: skip


def test_a_board_lists_the_best_first_and_counts_failures_and_replies_that_say_nothing(
    home: Path, tmp_path: Path
) -> None:
    with loopback() as good, loopback() as mute, loopback() as broken:
        good.says, mute.says = (lambda _: answer("A")), (lambda _: answer("It depends on many things."))
        broken.says = lambda _: answer("A") if len(broken.asked) % 2 else Said({"error": {"message": "no"}}, 413)
        models = [f"openai/{n}@{s.url}" for n, s in (("mute", mute), ("good", good), ("broken", broken))]
        told = asked_with(home, tmp_path, *(word for model in models for word in ("--llm", model)))
    assert told.exit_code == 3, told.output
    rows = json.loads(kgmed(home, "eval", "board", str(tmp_path), "--json").stdout)[tmp_path.name]
    assert [(r["model"], r["accuracy"], r["failed"], r["unread"]) for r in rows] == [
        ("openai/good", 1.0, 0, 0), ("openai/broken", 0.5, 4, 4), ("openai/mute", 0.0, 0, 8)
    ]  # fmt: skip
    shown = kgmed(home, "eval", "board", str(tmp_path)).stdout
    assert shown.index("openai/good") < shown.index("openai/mute")
    assert "accuracy: methods and models" in shown


def test_a_server_that_is_gone_ends_the_run_early_and_says_how_to_go_on(home: Path, tmp_path: Path) -> None:
    words = ["eval", "run", str(tmp_path), "-s", str(home / "q.jsonl"), "-g", "flu", "--part", "", "-n", "40"]
    with loopback() as server:
        server.says = lambda _: answer("A") if len(server.asked) <= 8 else Said({"error": {"message": "no key"}}, 401)
        words += ["-m", "zero-shot", "--llm", "openai/m", "--base-url", server.url]
        command = [sys.executable, "-c", "from kgmed.cli import main; main()", *words]
        environment = {**os.environ, "KGMED_HOME": str(home), "KGMED_DATA": str(home), "KGMED_API_KEY": "k"}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert (done.returncode, lines(tmp_path / LOG)) == (4, 8 + 5), done.stderr
        assert "32 of 40 answers are left; mend that and give the same command with --again" in done.stderr
        assert len(done.stderr.splitlines()) == 1
        server.says = lambda _: answer("A")
        done = subprocess.run([*command, "--again"], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert len(entries(tmp_path)) == 40
    assert all(entry.run for entry in entries(tmp_path).values())


def test_an_answer_of_the_facts_in_place_of_a_model_that_is_gone_does_not_count_as_answered(
    home: Path, tmp_path: Path
) -> None:
    with loopback() as server:
        server.says = lambda _: Said({"error": {"message": "no key"}}, 401)
        told = asked_with(home, tmp_path, "--llm", "openai/m", "--base-url", server.url, method="llm", number=20)
        assert isinstance(told.exception, KgmedError)
        assert told.exception.exit_code == 4
        before = len(entries(tmp_path))
        server.says = lambda _: answer("A [1]")
        told = asked_with(
            home, tmp_path, "--llm", "openai/m", "--base-url", server.url, "--again", method="llm", number=20
        )
    assert before == 5
    assert not any(e.run and e.run.spent.failed for e in entries(tmp_path).values()), told.output


def test_some_failures_are_exit_code_3_and_asking_again_mends_them(home: Path, tmp_path: Path) -> None:
    with loopback() as server:
        server.says = lambda _: answer("A") if len(server.asked) != 3 else Said({"error": {"message": "no"}}, 413)
        told = asked_with(home, tmp_path, "--llm", "openai/m", "--base-url", server.url)
        assert told.exit_code == 3
        assert "--again" in told.stdout
        assert asked_with(home, tmp_path, "--llm", "openai/m", "--base-url", server.url, "--again").exit_code == 0


def test_five_seeds_give_a_mean_and_the_deviation_of_the_five(home: Path, tmp_path: Path) -> None:
    with loopback() as server:
        server.says = lambda asked: answer("A" if len(server.asked) % 2 else "B")
        seeds = [word for seed in range(5) for word in ("--seed", str(seed))]
        told = asked_with(home, tmp_path, *seeds, "--llm", "openai/m", "--base-url", server.url, number=3)
        assert told.exit_code == 0, told.output
    scored = json.loads(kgmed(home, "eval", "score", str(tmp_path), "--metric", "accuracy", "--json").stdout)
    by = scored["scores"][0]["by_seed"]
    assert sorted(round(x, 3) for x in by) == [0.333, 0.333, 0.667, 0.667, 0.667]
    shown = kgmed(home, "eval", "score", str(tmp_path), "--metric", "accuracy").stdout.splitlines()
    assert shown[0].split("\t")[-2:] == ["seeds", "sd of seeds"]
    assert shown[1].split("\t")[-2:] == ["5", "0.1826"]


def test_a_judge_compares_the_answers_of_several_models(home: Path, tmp_path: Path) -> None:
    with loopback() as server:
        server.says = lambda _: answer("A")
        models = ("--llm", f"openai/a@{server.url}", "--llm", f"openai/b@{server.url}")
        assert asked_with(home, tmp_path, *models, number=2).exit_code == 0
        server.says = lambda _: answer('{"factuality": 1, "completeness": 1, "readability": 1, "relevance": 1}')
        environment = {"KGMED_HOME": str(home), "KGMED_DATA": str(home), "KGMED_API_KEY": "k"}
        words = ["eval", "judge", str(tmp_path), "--llm", "openai/j", "--base-url", server.url, "--json"]
        told = json.loads(CliRunner().invoke(app, words, env=environment).stdout)
    assert {(d["first"], d["second"]) for d in told["duels"]} == {("zero-shot@openai/a", "zero-shot@openai/b")}
    assert told["duels"][0]["flipped"] == 2
