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


def test_test_cases_are_counted_with_and_without_those_who_named_no_symptom(tmp_path: Path) -> None:
    first = {**MEASLES, "explicit": ["rash"], "split": "test"}
    silent = {**FLU, "explicit": ["rash"], "split": "test"}  # the rash is denied: no symptom that the patient has
    rows = [FLU] * 6 + [MEASLES] * 4 + [first, first, silent, {"disease": "flu", "positive": [], "split": "test"}]
    counted = json.loads(run("rank", written(tmp_path / "c.jsonl", rows), "--scorer", "walk", "--json").stdout)
    assert {k: v for k, v in counted["all"].items() if k != "error"} == {
        "cases": 4,
        "right": 3,
        "unjudged": 1,
        "accuracy": 0.75,
    }
    assert (counted["with an explicit symptom"]["cases"], counted["with an explicit symptom"]["right"]) == (2, 2)
    lines = run("rank", tmp_path / "c.jsonl", "--scorer", "walk").stdout.splitlines()
    assert lines[1].split("\t")[:4] == ["all", "4", "3", "1"]


@pytest.mark.data
def test_both_denominators_of_the_paper_are_reported(data: Path) -> None:
    counted = {
        s: json.loads(run("rank", s, "--data", data, "--scorer", "walk", "--json").stdout) for s in ("DXY", "MZ")
    }
    told = {s: [(part["right"], part["cases"]) for part in parts.values()] for s, parts in counted.items()}
    assert told == {"DXY": [(84, 104), (84, 103)], "MZ": [(83, 142), (77, 130)]}


def test_readings_of_the_walk_are_compared_within_train_and_the_best_alone_meets_the_test_cases(tmp_path: Path) -> None:
    rows = [FLU] * 6 + [MEASLES] * 6 + [{**MEASLES, "explicit": ["rash"], "split": "test"}]
    shown = json.loads(run("readings", written(tmp_path / "c.jsonl", rows), "--divisions", 1, "--json").stdout)
    assert len({r["scorer"] for r in shown["readings"]}) == 12
    best = max(r["accuracy"] for r in shown["readings"])
    assert best > min(r["accuracy"] for r in shown["readings"])
    assert shown["chosen"] == next(r["scorer"] for r in shown["readings"] if r["accuracy"] == best)
    assert shown["test"]["all"]["cases"] == 1


def test_the_settings_of_the_scorer_change_its_scores(cases: Path, tmp_path: Path) -> None:
    patients = written(tmp_path / "p.jsonl", [{"positive": ["fever", "rash"]}])

    def scores(*options: object) -> list[float]:
        (row,) = json.loads(run("rank", cases, patients, "--scorer", "walk", *options, "--json").stdout)
        return [named["score"] for named in row["ranked"]]

    options = (("--restart", 0.9), ("--normalize", "row"), ("--aggregate", "product"), ("--temperature", 0.1))
    assert all(scores(*given) != scores() for given in options)


def test_an_unknown_scorer_or_shaping_is_refused(cases: Path, tmp_path: Path) -> None:
    answers = written(tmp_path / "a.jsonl", [{"question": "rash", "answer": "measles"}])
    assert isinstance(run("rank", cases, cases, "--scorer", "bets").exception, UnknownName)
    shown = run("rank", cases, "--scorer", "walk", "--mu", "0.3")
    assert "no network that mu could weigh" in str(shown.exception)
    shown = run("score", cases, "--answers", answers, "--scorer", "walk", "--shaping", "curl")
    assert isinstance(shown.exception, BadInput)
    assert "flat" in str(shown.exception)


def test_the_graph_that_train_cases_count_is_built_and_asked_on(
    cases: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KGMED_HOME", str(tmp_path))
    told = json.loads(run("graph", cases, "mine", "--json").stdout)
    assert (told["graph"], told["triples"]) == ("mine", 4)
    assert run("graph", cases).stdout.startswith("cases-cases ")
    asked = CliRunner().invoke(app, ["graph", "neighbours", "mine", "measles"])
    assert "rash" in asked.stdout
    refused = run("graph", cases, "--english")
    assert isinstance(refused.exception, BadInput)


def test_the_address_of_a_graph_is_no_file_of_cases_and_not_repeated() -> None:
    shown = run("rank", "postgresql://me:secret@localhost/x#y")
    assert isinstance(shown.exception, BadInput)
    assert "not from a graph: name a .jsonl file" in str(shown.exception)
    assert "secret" not in str(shown.exception)


def test_shares_are_told_as_diseases_grow_and_their_gap_shrinks(tmp_path: Path) -> None:
    rows = [{"disease": f"d{i}", "positive": ["fever", f"sign {i}"]} for i in range(5) for _ in range(10 - i)]
    path = written(tmp_path / "c.jsonl", rows)
    found = json.loads(run("shares", path, "--scorer", "walk", "--json").stdout)
    assert found["scorer"] == "walk"
    assert [(f["diseases"], f["cases"]) for f in found["shares"]] == [(2, 19), (3, 27), (4, 34), (5, 40)]
    gaps = [f["gap"]["mean"] for f in found["shares"]]
    assert gaps == sorted(gaps, reverse=True)
    assert all(f["gap"]["mean"] == pytest.approx(f["right"] - f["other"]) for f in found["shares"])
    assert all(f["right"] > 1 / f["diseases"] for f in found["shares"])
    head, first, *_ = run("shares", path, "--scorer", "walk").stdout.splitlines()
    assert head == "diseases\tcases\teven share\tright\tstrongest other\tgap\terror"
    assert first.startswith("2\t19\t0.5000\t")


def test_shares_of_one_disease_are_refused(tmp_path: Path) -> None:
    shown = run("shares", written(tmp_path / "c.jsonl", [FLU] * 6), "--scorer", "walk")
    assert isinstance(shown.exception, BadInput)
    assert "two diseases or more" in str(shown.exception)
