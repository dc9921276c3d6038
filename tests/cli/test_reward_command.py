"""`kgmed reward` as a person and a program meet it."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from kgmed.cli import app
from kgmed.errors import BadInput, SourceError, UnknownName

FLU = {"disease": "flu", "positive": ["fever", "cough"], "negative": ["rash"]}
MEASLES = {"disease": "measles", "positive": ["fever", "rash"], "negative": ["cough"]}


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("reward") / "cases.jsonl", [FLU] * 6 + [MEASLES] * 4)


def written(path: Path, rows: Sequence[object]) -> Path:
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return path


def run(*words: object) -> Result:
    return CliRunner().invoke(app, ["reward", *map(str, words)])


@pytest.mark.parametrize("scorer", ["best", "walk"])
def test_patients_are_ranked_with_the_triples_that_carried_each_disease(
    cases: Path, tmp_path: Path, scorer: str
) -> None:
    pytest.importorskip("scipy")
    patients = written(tmp_path / "p.jsonl", [{"id": "a", "positive": ["rash"]}, {"id": "a", "positive": ["cough"]}])
    shown = run("rank", cases, patients, "--scorer", scorer, "-k", 1, "--json")
    first, second = json.loads(shown.stdout)
    assert [first["ranked"][0]["disease"], second["ranked"][0]["disease"]] == ["measles", "flu"]
    (reason,) = first["ranked"][0]["reasons"]
    assert (reason["symptom"], reason["triple"]["relation"]["name"]) == ("rash", "causes")
    assert reason["triple"]["support"][0]["qualifiers"] == [["count", "4"]]


def test_what_a_patient_denies_is_among_the_reasons(cases: Path, tmp_path: Path) -> None:
    pytest.importorskip("scipy")
    patients = written(tmp_path / "p.jsonl", [{"positive": ["fever"], "negative": ["cough"]}])
    lines = run("rank", cases, patients).stdout.splitlines()
    assert lines[0] == "id\tplace\tdisease\tscore\tbecause"
    assert lines[1].split("\t")[:3] == ["1", "1", "measles"]
    assert "no cough +" in lines[1]
    assert "(seen 4)" in lines[1]


def test_answers_to_questions_and_to_findings_are_rewarded_in_one_call(cases: Path, tmp_path: Path) -> None:
    pytest.importorskip("scipy")
    asked = [
        {"question": "A child with a rash, no cough.", "answer": "I think it is measles."},
        {"positive": ["rash"], "negative": ["cough"], "explicit": [], "answer": "flu"},
        {"question": "rash", "answer": "flu or measles"},
        {"question": "My car does not start.", "answer": "flu"},
    ]
    shown = json.loads(run("score", cases, "--answers", written(tmp_path / "a.jsonl", asked), "--json").stdout)
    right, wrong, several, unjudged = shown["answers"]
    assert right["reward"] > 0.5 > wrong["reward"] > 0
    assert right["reward"] + wrong["reward"] == pytest.approx(1)
    assert {r["symptom"] for r in right["reasons"]} == {"rash", "cough"}
    assert (several["reward"], several["outcome"]) == (0.0, "several")
    assert (unjudged["reward"], unjudged["outcome"], unjudged["reasons"]) == (None, "unjudged", [])
    assert shown["outcomes"] == {"one": 2, "outside": 0, "none": 0, "several": 1, "unjudged": 1}


def test_rewards_are_a_table_without_json(cases: Path, tmp_path: Path) -> None:
    answers = written(
        tmp_path / "a.jsonl", [{"question": "rash", "answer": "measles"}, {"question": "?", "answer": "x"}]
    )
    head, first, second = run("score", cases, "--answers", answers, "--scorer", "walk").stdout.splitlines()
    assert head == "reward\toutcome\tdisease\tbecause"
    assert first.split("\t")[1:3] == ["one", "measles"]
    assert second.startswith("-\tunjudged")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"question": "rash"}', ":1: is no answer to a question"),
        ('{"question": "rash", "positive": [], "answer": "flu"}', ":1: is no answer to a question"),
        ('\n{"positive": "rash", "answer": "flu"}', ":2: has a 'positive' that is no list"),
        ('{"positive": ["a"], "negative": ["a"], "answer": "flu"}', ":1: names a symptom twice"),
        ("[1]", ":1: is no JSON object"),
        ("", ": is empty"),
    ],
)
def test_a_bad_file_of_answers_is_one_line_with_place_and_mend(
    cases: Path, tmp_path: Path, text: str, words: str
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(text, encoding="utf-8")
    shown = run("score", cases, "--answers", path)
    assert isinstance(shown.exception, SourceError)
    assert words in str(shown.exception)
    assert shown.stdout == ""


def test_an_unknown_scorer_or_shaping_is_refused(cases: Path, tmp_path: Path) -> None:
    answers = written(tmp_path / "a.jsonl", [{"question": "rash", "answer": "measles"}])
    assert isinstance(run("rank", cases, cases, "--scorer", "bets").exception, UnknownName)
    shown = run("score", cases, "--answers", answers, "--scorer", "walk", "--shaping", "curl")
    assert isinstance(shown.exception, BadInput)
    assert "flat" in str(shown.exception)
