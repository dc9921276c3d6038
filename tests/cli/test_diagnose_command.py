"""`kgmed diagnose` as a person and a program meet it."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from kgmed.cli import app
from kgmed.errors import BadInput
from kgmed.graph.base import NodeRow
from pheno_graph import annotated

A, B = "HP:0001250", "HP:0000365"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("diagnose")
    rows = [("OMIM:1", A, "3/7", "PMID:1"), ("OMIM:2", B, "1/1", "PMID:2")]
    annotated(place / "small", [], rows, [NodeRow(A, "Seizure"), NodeRow(B, "Hearing impairment")])
    return place


def run(folder: Path, *words: str) -> Result:
    given = ["diagnose", *words, "--graph", str(folder / "small")]
    return CliRunner().invoke(app, given, env={"KGMED_HOME": str(folder), "COLUMNS": "300"})


def test_findings_give_diseases_with_reasons_frequencies_and_publications(folder: Path) -> None:
    shown = run(folder, A, f"-{B}", "--full")
    assert shown.exit_code == 0, shown.output
    first, second = shown.stdout.index("1. omim:1"), shown.stdout.index("2. omim:2")
    assert first < second
    assert "fits: Seizure (3/7, PMID:1)" in shown.stdout
    assert "against: absent, but part of it: Hearing impairment (1/1, PMID:2)" in shown.stdout
    assert "Absent: Hearing impairment (HP:0000365)" in shown.stdout
    assert "not a diagnosis" in shown.stdout


def test_a_screen_has_what_speaks_for_and_against_each_disease_and_what_to_ask(folder: Path) -> None:
    shown = run(folder, A, f"-{B}").stdout
    assert "for: Seizure (3/7)\n" in shown
    assert "against: Hearing impairment (1/1)\n" in shown
    assert "PMID" not in shown
    assert "Ask next: Hearing impairment (2)" in run(folder, A).stdout


def test_json_holds_patient_ranking_reasons_and_release(folder: Path) -> None:
    shown = json.loads(run(folder, f"NOT {B}, {A}", "--sex", "Female", "--age", "18m", "--json").stdout)
    (result,) = shown["patients"]
    assert result["patient"]["absent"] == [B]
    assert (result["patient"]["sex"], result["patient"]["age"]) == ("female", 1.5)
    assert result["ranked"][0]["reasons"][0]["triples"][0]["support"][0]["reference"] == "PMID:1"
    assert result["graph"].startswith("small 1 #")


def test_a_description_is_understood_and_shown(folder: Path) -> None:
    shown = run(folder, "a girl with seizure but no hearing impairment", "-k", "1")
    assert "Present: seizure = Seizure (HP:0001250)" in shown.stdout
    assert "Absent: hearing impairment = Hearing impairment" in shown.stdout
    assert "2. " not in shown.stdout


def test_every_phenopacket_of_a_file_is_ranked(folder: Path) -> None:
    cases = [{"id": f"case {i}", "phenotypicFeatures": [{"type": {"id": i}}]} for i in (A, B)]
    (folder / "two.jsonl").write_text("\n".join(map(json.dumps, cases)), encoding="utf-8")
    shown = json.loads(run(folder, "--file", str(folder / "two.jsonl"), "--json").stdout)
    assert [p["ranked"][0]["disease"]["id"] for p in shown["patients"]] == ["OMIM:1", "OMIM:2"]


def test_what_an_absent_finding_counts_can_be_set(folder: Path) -> None:
    def score(*words: str) -> float:
        ranked = json.loads(run(folder, A, f"-{B}", "--json", *words).stdout)["patients"][0]["ranked"]
        return float(next(r["score"] for r in ranked if r["disease"]["id"] == "OMIM:2"))

    assert score("--absent-weight", "2") < score() < score("--absent-weight", "0")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "give findings or a phenopacket"),
        ([A, "--file", "x.json"], "give findings or a phenopacket"),
        (["--nonsense"], "is no option and no HPO id"),
        (["HP:12"], "is no HPO id"),
        ([A, f"-{A}"], "present and as absent"),
        ([A, "--age", "old"], "the age 'old'"),
        ([A, "--sex", "x"], "write female or male"),
        ([A, "--onset", "HP:0001250"], "no age of onset"),
        ([A, "--database", "X"], "no annotated disease of 'X'"),
        (["tungsten"], "no finding of small"),
        (["--file", "nowhere.json"], "nowhere.json: there is no such file"),
    ],
)
def test_bad_input_is_one_line_that_says_how_to_mend_it(folder: Path, words: list[str], said: str) -> None:
    error = run(folder, *words).exception
    assert isinstance(error, BadInput)
    assert said in str(error)
    assert "\n" not in str(error)


def test_a_patient_without_findings_is_skipped_by_name_and_the_others_are_ranked(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "two.jsonl"
    has = {"id": "girl", "phenotypicFeatures": [{"type": {"id": A}}]}
    path.write_text(f"{json.dumps({'id': 'boy'})}\n{json.dumps(has)}\n", encoding="utf-8")
    done = run(folder, "--file", str(path))
    assert done.exit_code == 0, done.output
    assert done.stderr == f"kgmed: skipped boy ({path}:1): it has no phenotypicFeatures\n"
    assert "1. omim:1" in done.stdout
    said = json.loads(run(folder, "--file", str(path), "--json").stdout)
    assert ([p["patient"]["id"] for p in said["patients"]], said["skipped"]) == (["girl"], [f"boy ({path}:1)"])


def test_a_file_in_which_no_patient_has_findings_is_refused(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "none.jsonl"
    path.write_text('{"id": "boy"}\n', encoding="utf-8")
    assert isinstance(run(folder, "--file", str(path)).exception, BadInput)
