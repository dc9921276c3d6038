"""An evaluation asks everything once, counts failures, loses nothing and says the same whoever does the work."""

import json
import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Generator
from pathlib import Path

import pytest

from eval_makers import Echo, Environment, items, run
from kgmed.errors import BadInput, SourceError
from kgmed.evaluate.items import Item
from kgmed.evaluate.log import LOG, Entry, Job, Log, digest, entries, in_order, read_manifest, to_line
from kgmed.evaluate.metrics import metric
from kgmed.evaluate.run import Ask, Plan, ProcessExecutor, RayExecutor, ThreadExecutor, compare, executor
from kgmed.evaluate.scores import compare_to_baseline, score, unfinished
from kgmed.records import Question, Run, to_json

PLAN = Plan(("one", "two"), items(6), seeds=(0, 1))
WHAT = {"data": "toy"}


def finished(
    folder: Path, make: Echo | Environment, workers: ThreadExecutor | ProcessExecutor | RayExecutor, plan: Plan = PLAN
) -> dict[Job, Entry]:
    with Log(folder, WHAT) as log:
        compare(plan, make, log, workers)
    return entries(folder)


def test_a_run_read_back_from_its_json_is_the_same_run() -> None:
    made = run(items(1)[0].question, "said")
    assert Run.from_json(json.loads(json.dumps(to_json(made)))) == made


def test_every_question_is_asked_of_every_method_with_every_seed(tmp_path: Path) -> None:
    found = finished(tmp_path, Echo(), ThreadExecutor())
    assert list(found) == PLAN.jobs()
    assert len(found) == 24
    assert found[Job("two", "q3", 1)].run is not None


def test_a_failure_is_one_line_in_the_log_and_the_rest_goes_on(tmp_path: Path) -> None:
    found = finished(tmp_path, Echo(broken="q2"), ThreadExecutor())
    failed = [e for e in found.values() if e.run is None]
    assert {e.error for e in failed} == {"Unavailable: the server is away"}
    assert len(failed) == 4
    assert len(found) == 24


def test_failures_are_asked_again_only_where_that_is_wanted(tmp_path: Path) -> None:
    finished(tmp_path, Echo(broken="q2"), ThreadExecutor())
    assert sum(e.run is None for e in finished(tmp_path, Echo(), ThreadExecutor()).values()) == 4
    with Log(tmp_path, WHAT) as log:
        compare(PLAN, Echo(), log, ThreadExecutor(), again=True)
    assert all(e.run is not None for e in entries(tmp_path).values())


def test_an_evaluation_that_is_left_does_not_ask_what_was_handed_out_in_advance() -> None:
    begun, go = list[str](), threading.Event()

    def make(method: str, seed: int, item: Item, /) -> Ask:
        def ask(question: Question) -> Run:
            begun.append(question.id)
            if question.id != "q0":
                go.wait(20)
            return run(question, "said")

        return ask

    work = ThreadExecutor(2)(make, ((Job("one", i.question.id, 0), i) for i in items(12)))
    assert isinstance(work, Generator)
    next(work)
    threading.Timer(0.5, go.set).start()
    work.close()
    assert len(begun) <= 3  # the one that is finished, and those on which the threads are


def test_threads_and_processes_give_what_one_thread_gives(tmp_path: Path) -> None:
    one = finished(tmp_path / "1", Echo(broken="q2"), ThreadExecutor())
    several = finished(tmp_path / "2", Echo(broken="q2"), ThreadExecutor(4))
    apart = finished(tmp_path / "3", Echo(broken="q2"), ProcessExecutor(2))
    assert digest(one) == digest(several) == digest(apart)
    assert [e.untimed for e in in_order(apart, PLAN.jobs())] == [e.untimed for e in in_order(one, PLAN.jobs())]


@pytest.mark.parametrize(("chosen", "told"), [("", "1"), ("3", "3")])
def test_each_process_takes_one_thread_unless_the_environment_says_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chosen: str, told: str
) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    if chosen:
        monkeypatch.setenv("OMP_NUM_THREADS", chosen)
    found = finished(tmp_path, Environment(), ProcessExecutor(2), Plan(("one",), items(3)))
    assert {entry.run.answer.text for entry in found.values() if entry.run} == {told}
    assert os.environ.get("OMP_NUM_THREADS", "") == chosen


def test_a_question_that_always_kills_its_worker_fails_and_the_rest_is_done(tmp_path: Path) -> None:
    found = finished(tmp_path, Echo(deadly="q1"), ProcessExecutor(2), Plan(("one",), items(5)))
    assert {j.item for j, e in found.items() if e.run is None} == {"q1"}
    assert "ended 3 times" in found[Job("one", "q1")].error
    assert len(found) == 5


def test_a_worker_that_was_killed_once_costs_nothing(tmp_path: Path) -> None:
    found = finished(
        tmp_path, Echo(deadly="q1", mark=str(tmp_path / "mark")), ProcessExecutor(2), Plan(("one",), items(5))
    )
    assert all(e.run is not None for e in found.values())
    assert digest(found) == digest(finished(tmp_path / "calm", Echo(), ThreadExecutor(), Plan(("one",), items(5))))


@pytest.mark.slow
def test_an_evaluation_killed_three_times_ends_like_one_that_was_not(tmp_path: Path) -> None:
    code = f"""
import sys; sys.path.insert(0, {str(Path(__file__).parent.parent)!r})
from pathlib import Path
from eval_makers import Echo, items
from kgmed.evaluate.run import Plan, ThreadExecutor, compare
from kgmed.evaluate.items import Item
from kgmed.evaluate.log import Log
with Log(Path({str(tmp_path / "killed")!r}), {WHAT!r}) as log:
    compare(Plan(("one",), items(200)), Echo(broken="q7", seconds=0.005), log, ThreadExecutor(2))
"""
    chance, log = random.Random(0), tmp_path / "killed" / LOG
    for _ in range(3):
        before = log.stat().st_size if log.exists() else 0
        process = subprocess.Popen([sys.executable, "-c", code])
        while process.poll() is None and (log.stat().st_size if log.exists() else 0) < before + 20_000:
            time.sleep(chance.uniform(0.001, 0.01))
        assert process.poll() is None, "it ended before it was killed"
        process.kill()
        process.wait()
    subprocess.run([sys.executable, "-c", code], check=True)
    calm = finished(tmp_path / "calm", Echo(broken="q7"), ThreadExecutor(), Plan(("one",), items(200)))
    assert digest(entries(tmp_path / "killed")) == digest(calm)
    lines = (tmp_path / "killed" / LOG).read_bytes().splitlines()
    assert len(lines) == 200, "nothing that was finished is done again"


def test_a_torn_last_line_is_cut_off_and_done_again(tmp_path: Path) -> None:
    whole = finished(tmp_path, Echo(), ThreadExecutor())
    path = tmp_path / LOG
    path.write_bytes(path.read_bytes()[:-10])
    assert len(entries(tmp_path)) == 23
    assert digest(finished(tmp_path, Echo(), ThreadExecutor())) == digest(whole)


def test_a_damaged_line_is_named(tmp_path: Path) -> None:
    finished(tmp_path, Echo(), ThreadExecutor())
    path = tmp_path / LOG
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + b'{"method": 1}\n' + b"".join(lines[2:]))
    with pytest.raises(SourceError, match=r"log.jsonl:2: is no entry"):
        entries(tmp_path)


def test_a_folder_of_another_evaluation_is_refused(tmp_path: Path) -> None:
    finished(tmp_path, Echo(), ThreadExecutor())
    with pytest.raises(BadInput, match="begun with another data"):
        Log(tmp_path, {"data": "other"})
    Log(tmp_path, WHAT).__exit__(None, None, None)


def test_methods_are_added_to_an_evaluation_and_none_is_forgotten(tmp_path: Path) -> None:
    def asked(*methods: str) -> list[str]:
        told: list[str] = []
        with Log(tmp_path, {"methods": list(methods), "data": 1}, grows="methods") as log:
            compare(Plan(methods, items(3)), Echo(), log, ThreadExecutor(), each=lambda e: told.append(e.job.method))
        return told

    assert asked("one") == ["one"] * 3
    assert asked("two", "one") == ["two"] * 3
    assert read_manifest(tmp_path)["methods"] == ["two", "one"]
    with pytest.raises(BadInput, match="was begun with the methods two too; name them"):
        asked("one", "three")
    with pytest.raises(BadInput, match="begun with another methods"):
        Log(tmp_path, {"methods": ["two", "one", "three"], "data": 1})
    with pytest.raises(BadInput, match="begun with another data, methods"):
        Log(tmp_path, {"methods": ["two", "one", "three"], "data": 2}, grows="methods")
    assert asked("two", "one") == []


def test_a_question_that_was_not_asked_yet_is_neither_wrong_nor_failed(tmp_path: Path) -> None:
    found = finished(tmp_path, Echo(broken="q1"), ThreadExecutor(), Plan(("one",), items(2)))
    plan = Plan(("one", "two"), items(3))
    one, two = score(found, plan, [metric("failed")])
    assert (one.mean.n, one.without, one.left, one.values) == (2, 0, 1, (0, 1, None))
    assert (two.mean.n, two.left) == (0, 3)
    [against] = compare_to_baseline([one, two], "one")
    assert (against.n, against.p) == (0, 1)
    assert unfinished(plan, found).startswith("Not finished: 2 of 6 answers are there")
    assert unfinished(Plan(("one",), items(2)), found) == ""


def test_of_seeds_that_are_not_whole_only_the_first_counts(tmp_path: Path) -> None:
    found = finished(tmp_path, Echo(), ThreadExecutor(), Plan(("one",), items(3), (0, 1)))
    del found[Job("one", "q2", 1)]
    for seeds, n in (((0, 1), 1), ((1, 0), 1)):
        [told] = score(found, Plan(("one",), items(3), seeds), [metric("failed")])
        assert (len(told.by_seed), told.mean.n, told.deviation) == (n, 3, None)


def test_odd_text_survives_the_log() -> None:
    odd = Entry(Job("m", "q\ud800\u2028"), error="line\u2028separator \ud800")
    assert to_line(odd).count(b"\n") == 1


def test_only_one_kind_of_crew_can_be_asked_for() -> None:
    assert executor(threads=3) == ThreadExecutor(3)
    assert executor(workers=2) == ProcessExecutor(2)
    with pytest.raises(BadInput, match="one of"):
        executor(threads=2, workers=2)


def test_a_line_of_which_a_letter_was_changed_is_refused_and_one_of_old_is_read(tmp_path: Path) -> None:
    finished(tmp_path, Echo(), ThreadExecutor(), Plan(("one",), items(3)))
    path = tmp_path / LOG
    whole = path.read_bytes()
    before = digest(entries(tmp_path))
    path.write_bytes(whole.replace(b"Question 1?", b"Question 7?"))
    with pytest.raises(SourceError, match=r"log.jsonl:2: is no entry"):
        entries(tmp_path)
    path.write_bytes(whole.replace(b'"check"', b'"chock"'))
    with pytest.raises(SourceError, match=r"log.jsonl:1: is no entry"):
        entries(tmp_path)
    rows = [json.loads(line) for line in whole.splitlines()]
    old = (json.dumps({k: v for k, v in row.items() if k != "check"}) + "\n" for row in rows)
    path.write_text("".join(old), encoding="utf-8")
    with pytest.raises(SourceError, match=r"log.jsonl:1: is no entry"):
        entries(tmp_path)
    (tmp_path / "manifest.json").write_text(json.dumps(read_manifest(tmp_path)), encoding="utf-8")
    assert digest(entries(tmp_path)) == before


def test_lines_of_another_evaluation_of_the_same_questions_are_refused(tmp_path: Path) -> None:
    for name, broken in (("one", "q1"), ("other", "q2")):
        finished(tmp_path / name, Echo(broken=broken), ThreadExecutor())
    (tmp_path / "one" / LOG).write_bytes((tmp_path / "other" / LOG).read_bytes())
    with pytest.raises(SourceError, match=r"log.jsonl:1: is no entry of this evaluation's log"):
        entries(tmp_path / "one")


def test_a_manifest_that_is_deep_is_no_manifest(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text("[" * 100_000, encoding="utf-8")
    with pytest.raises(SourceError, match="is not JSON"):
        read_manifest(tmp_path)
