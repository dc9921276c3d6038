"""A store of runs gives back what was put in, whoever else uses its file."""

import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from kgmed.errors import BadInput, StoreError
from kgmed.records import Answer, Context, Entity, Evidence, Query, Question, Relation, Role, Run, Support, Triple
from kgmed.runs import RunStore

GOUT, DRUG = Entity("x:gout", "gout", "disease"), Entity("x:c", "colchicine", "drug")
FACT = Triple(DRUG, Relation("treats", Role.TREATS), GOUT, 1.0, "x 1", (Support("PMID:1", (("frequency", "1/2"),)),))


def run(text: str = "What treats gout?", said: str = "Colchicine [1].") -> Run:
    cited = (Evidence("colchicine treats gout", "triple", (FACT,), (GOUT,), 0.5),)
    query = Query(Question(text, (("A", "gold"),), history=("Question: x",)))
    return Run(
        query, (), (), (), cited, Context("[1]", cited), Answer(said, (1,)), settings=(("keep", 5), ("at", None))
    )


def test_a_run_is_given_back_as_it_was(tmp_path: Path) -> None:
    kept = run()
    RunStore(tmp_path / "runs.sqlite").put(kept)
    again = RunStore(tmp_path / "runs.sqlite").get(kept.id)
    assert (again, again.id) == (kept, kept.id)


def test_runs_are_listed_newest_first_and_no_more_than_wanted(tmp_path: Path) -> None:
    store = RunStore(tmp_path / "runs.sqlite")
    runs = [replace(run(f"{i}?"), id=f"0000000{i}-0000-7000-8000-000000000000") for i in range(5)]
    for each in runs:
        store.put(each)
    assert [row.question for row in store.list(2)] == ["4?", "3?"]
    assert store.get("last") == runs[-1]


def test_an_id_that_several_have_or_none_is_refused(tmp_path: Path) -> None:
    store = RunStore(tmp_path / "runs.sqlite")
    for i in range(2):
        store.put(replace(run(), id=f"0000000{i}-0000-7000-8000-000000000000"))
    for id in ("0000", "%", "_", "", "ffff", "'"):
        with pytest.raises(BadInput, match="kgmed log lists them"):
            store.get(id)


def test_a_store_that_is_not_there_is_empty_and_is_not_made_by_looking(tmp_path: Path) -> None:
    store = RunStore(tmp_path / "none" / "runs.sqlite")
    assert (store.list(), store.clear()) == ([], 0)
    assert not (tmp_path / "none").exists()


def test_half_characters_and_line_ends_are_kept(tmp_path: Path) -> None:
    store = RunStore(tmp_path / "runs.sqlite")
    odd = run("a\ud800b\n\x00", "药\ud800")
    store.put(odd)
    assert store.get(odd.id).question.text == odd.question.text
    assert store.list()[0].answer == "药?"


def test_a_run_is_kept_without_pydantic_which_takes_longer_to_read_in_than_a_short_command_has() -> None:
    code = """
import sys
from kgmed.records import Answer, Context, Query, Question, Relation, Role, Entity, Evidence, Run, Triple
from kgmed.runs import packed, unpacked
fact = Triple(Entity("x:c", "秋水仙碱", "drug"), Relation("treats", Role.TREATS), Entity("x:g", "gout"), 1e-05)
cited = (Evidence("秋水仙碱 treats gout", "triple", (fact,)),)
run = Run(Query(Question("Gout?")), (), (), (), cited, Context("", cited), Answer("秋水仙碱"), settings=(("a", None),))
data = packed(run)
assert "pydantic" not in sys.modules
assert unpacked(data, "", "") == run
assert "pydantic" in sys.modules
assert unpacked(packed(run), "", "") == run
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_threads_may_share_a_store(tmp_path: Path) -> None:
    store = RunStore(tmp_path / "runs.sqlite")
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda i: store.put(run(f"{i}?")), range(64)))
    assert len({row.question for row in store.list(100)}) == 64


def test_a_run_that_is_no_run_any_more_is_an_error_in_one_line(tmp_path: Path) -> None:

    store = RunStore(tmp_path / "runs.sqlite")
    store.put(run())
    store.close()
    with sqlite3.connect(tmp_path / "runs.sqlite") as connection:
        connection.execute("UPDATE runs SET run = x'00ff'")
    with pytest.raises(StoreError, match="a run cannot be read") as caught:
        RunStore(tmp_path / "runs.sqlite").get("last")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("damage", ["id = 'x' || substr(id, 2)", "id = '0192f0c1-2a80-7000-8000-000000000000'"])
def test_an_id_that_is_not_the_runs_own_is_an_error_in_one_line(tmp_path: Path, damage: str) -> None:
    store = RunStore(tmp_path / "runs.sqlite")
    store.put(run())
    store.close()
    with sqlite3.connect(tmp_path / "runs.sqlite") as connection:
        connection.execute(f"UPDATE runs SET {damage}")
    connection.close()
    with pytest.raises(StoreError, match="under the id of another"):
        store.get("last")
    if "x" in damage.partition("=")[2]:
        with pytest.raises(StoreError, match="the id of a run cannot be read"):
            store.list()
