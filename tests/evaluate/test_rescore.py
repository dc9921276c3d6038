"""Recorded answers scored again: on small made-up files, and on the real ones where they are at hand."""

import csv
from collections.abc import Sequence
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kgmed.cli import app
from kgmed.errors import SourceError
from kgmed.evaluate import rescore
from kgmed.evaluate.rescore import RECORDED

QUESTION = "吃什么？\nA: 米饭\nB: 面条\n"
RIGHT = {"MindMap": 247, "GPT-3.5": 209, "GPT-4": 288, "BM25": 199, "embedding": 217, "KG retriever": 168}
STRICT = {"MindMap": 246, "GPT-3.5": 206, "GPT-4": 279, "BM25": 205, "embedding": 216, "KG retriever": 172}


def write(path: Path, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([header, *rows])


def recorded(folder: Path, replies: Sequence[tuple[str, str]], *, gold: str = "A", question: str = QUESTION) -> Path:
    """The file of ExplainCPE where every system said the same, with its grade."""
    columns = [name for pair in rescore.SYSTEMS.values() for name in pair]
    rows = [[question, gold, *(reply * len(rescore.SYSTEMS))] for reply in replies]
    write(folder / RECORDED, ["Question", "label_choice", *columns], rows)
    return folder


def test_grades_are_counted_and_compared_with_ours(tmp_path: Path) -> None:
    data = recorded(tmp_path, [("A: 米饭", "1"), ("正确选项是B。", "0"), ("不知道。", "2"), ("A: 米饭", "0")])
    found = rescore.rescore_explaincpe(rescore.read(data))
    assert [f.system for f in found] == list(RIGHT)
    assert found[0].recorded == {"right": 1, "wrong": 2, "failed": 1}
    assert found[0].ours == {"right": 2, "wrong": 1, "failed": 1}
    assert (found[0].agreement, found[0].contradicted) == (0.75, 1)


@pytest.mark.parametrize(
    ("reply", "grade", "reason"),
    [
        ("A: 米饭", "1", ""),
        ("A: 米饭", "0", "the right option alone, graded wrong"),
        ("B", "1", "another option alone, graded right"),
        ("正确选项是A和B。", "0", ""),
        ("正确选项是A和B。", "1", "several options, the right one not first, graded right"),
        ("正确选项是B: 面条和A: 米饭。", "1", "several options, the right one not first, graded right"),
        ("正确选项是A: 米饭和B: 面条。", "1", ""),
        ("正确选项是A: 米饭和B: 面条。", "0", "several options, the right one first, graded wrong"),
        ("说不清。", "0", "no option can be told, graded wrong"),
        ("A或B", "0", "at odds with itself, graded wrong"),
    ],
)
def test_a_disagreement_has_a_reason_by_rule(tmp_path: Path, reply: str, grade: str, reason: str) -> None:
    replies = rescore.read(recorded(tmp_path, [(reply, grade)]))
    assert {r.reason for r in replies} == {reason}
    assert list(rescore.reasons(replies)) == ([reason] if reason else [])


def test_a_reply_that_names_several_options_is_right_by_the_first_and_wrong_in_the_strict_score(tmp_path: Path) -> None:
    found = rescore.rescore_explaincpe(rescore.read(recorded(tmp_path, [("正确选项：A: 米饭 B: 馒头", "1")])))
    assert {(f.ours["right"], f.strict, f.several["right"]) for f in found} == {(1, 0, 1)}


@pytest.mark.parametrize(
    ("gold", "grade", "problem"), [("C", "1", "'C' is not among"), ("A", "3", "is '3', not one of")]
)
def test_a_damaged_row_is_named(tmp_path: Path, gold: str, grade: str, problem: str) -> None:
    with pytest.raises(SourceError, match=problem) as caught:
        rescore.read(recorded(tmp_path, [("A", grade)], gold=gold))
    assert caught.value.line == 5


def test_a_missing_file_is_one_line_and_exit_code_2(tmp_path: Path) -> None:
    for name in ("explaincpe", "liveqa"):
        result = CliRunner().invoke(app, ["eval", "rescore", name, "--data", str(tmp_path)])
        assert isinstance(result.exception, SourceError)


def test_the_recorded_formula_is_no_f() -> None:
    same = ["a", "b", "c"]
    assert rescore.weighted(same, same) == pytest.approx(1.2 / 1.1)
    assert rescore.weighted(same, ["d"]) == 0
    assert rescore.weighted([], same) == 0


def made_liveqa(folder: Path, score: str) -> Path:
    """One question, answered in the words of its reference."""
    for ranking, name in rescore.ANSWERS.items():
        write(folder / name, ["Question", "Generated_Answer", "Reference_Answer"], [["Why?", "flu", "flu"]])
        header = ["ROUGE-L", "BERTScore", "BLEURT", "ranking_method"]
        write(folder / rescore.SCORES / f"{ranking}_singlehop.csv", header, [[score, "90", "50", f"rerank_{ranking}"]])
    return folder


def test_a_recorded_number_that_does_not_come_out_is_told(tmp_path: Path) -> None:
    pytest.importorskip("nltk")
    right = rescore.rescore_liveqa(made_liveqa(tmp_path / "a", str(120 / 1.1)))
    wrong = rescore.rescore_liveqa(made_liveqa(tmp_path / "b", "100"))
    assert [a.reproduced for a in right] == [True, True]
    assert [a.reproduced for a in wrong] == [False, False]
    assert right[0].rouge_l.mean == 100


def test_a_score_that_is_no_number_is_named(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="ROUGE-L is no number"):
        rescore.recorded_means(made_liveqa(tmp_path, "high"))


@pytest.mark.data
def test_the_recorded_scores_of_explaincpe_come_out_and_ours_agree(data: Path) -> None:
    found = {f.system: f for f in rescore.rescore_explaincpe(rescore.read(data))}
    assert {name: f.recorded["right"] for name, f in found.items()} == RIGHT
    below = {name for name, f in found.items() if f.agreement < rescore.WANTED}
    assert below == {"BM25", "KG retriever"}  # whose grades contradict those of the same option in other replies
    assert all(f.agreement_equal >= rescore.WANTED for f in found.values())
    assert {name: f.strict for name, f in found.items()} == STRICT
    assert sum(f.unequal for f in found.values()) == 105
    within = {name: f.unequal - (f.agreeing - f.agreeing_equal) for name, f in found.items()}
    assert {name: n for name, n in within.items() if n} == {"BM25": 17, "KG retriever": 7}


def test_an_answer_that_one_system_was_graded_right_for_and_another_wrong_is_told(tmp_path: Path) -> None:
    columns = [name for pair in rescore.SYSTEMS.values() for name in pair]
    rows = [[QUESTION, "A", *["A: 米饭", "1"] * 5, "A: 米饭", "0"], [QUESTION, "A", *["A: 米饭", "0"] * 6]]
    write(tmp_path / RECORDED, ["Question", "label_choice", *columns], rows)
    found = rescore.rescore_explaincpe(rescore.read(tmp_path))
    assert [(f.contradicted, f.unequal) for f in found] == [(1, 1)] * 5 + [(2, 1)]
    assert [(f.agreement, f.agreement_equal) for f in found] == [(0.5, 0)] * 5 + [(0, 0)]


@pytest.mark.data
def test_the_recorded_rouge_of_liveqa_comes_out_and_ranking_does_not_help(data: Path) -> None:
    pytest.importorskip("nltk")
    assert all(a.reproduced and a.rouge_l.mean < a.recorded - 5 for a in rescore.rescore_liveqa(data))
    one = {m.ranking: m.rouge_l for m in rescore.recorded_means(data) if m.hops == "one"}
    assert (round(one["random"], 2), round(one["medcpt"], 2)) == (19.66, 19.75)
    assert rescore.compare_rankings(data).p > 0.5
