"""Every method, asked with scripted models of a small made-up graph, answers as tests/answers.json has it."""

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

BENCH = Path(__file__).resolve().parents[1] / "bench" / "answers.py"


@pytest.fixture(scope="module")
def answers() -> ModuleType:
    """bench/answers.py, which is no part of a package."""
    spec = importlib.util.spec_from_file_location("bench_answers", BENCH)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where its records look for their own module
    spec.loader.exec_module(module)
    return module


def test_every_method_answers_as_it_did(answers: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KGMED_HOME", str(tmp_path))
    old, new = answers.read(answers.COMMITTED), answers.committed()
    found = [str(d) for d in answers.compared(old, new.items(), whole=True) if d is not None]
    told = "\n".join(found[: answers.MOST])
    assert not found, (
        f"{len(found)} differences; if the new answers are meant: {answers.RENEW}. Where only .whole differs, it is in "
        f"what is not kept there: bench/answers.py write FILE --only small/ before, check FILE after, tells it.\n{told}"
    )


def test_a_changed_answer_is_noticed(answers: ModuleType) -> None:
    old = {"k": {"answer": {"text": "so", "score": 0.5, "cited": [1]}, "seconds": 1.0}, "gone": 1}
    same = {"answer": {"text": "so", "score": 0.5000001, "cited": [1]}, "seconds": 2.0}
    other = {"answer": {"text": "not so", "score": 0.6, "cited": [1, 2], "more": None}}
    assert list(answers.compared({"k": old["k"]}, [("k", answers.normal(same))], whole=True)) == [None]
    told = [str(d) for d in answers.compared(old, [("k", answers.normal(other)), ("new", 1)], whole=True) if d]
    assert told == [
        'k  .answer.text  "so"  ->  "not so"',
        "k  .answer.score  0.5  ->  0.6",
        "k  .answer.cited[1]  (nothing)  ->  2",
        "k  .answer.more  (nothing)  ->  null",
        "new  .  (nothing)  ->  1",
        "gone  .  1  ->  (nothing)",
    ]


def test_ids_of_things_count_and_that_of_a_run_does_not(answers: ModuleType) -> None:
    run = {"id": "r1", "query": {"id": "q1"}, "stages": [{"name": "read", "seconds": 0.1}], "links": [{"id": "HP:1"}]}
    assert answers.normal(run) == {"query": {"id": "q1"}, "stages": [{"name": "read"}], "links": [{"id": "HP:1"}]}


def test_nothing_but_the_small_graph_is_committed(answers: ModuleType) -> None:
    keys = json.loads(answers.COMMITTED.read_text(encoding="utf-8"))
    assert {key.partition("/")[0] for key in keys} == {"small"}
