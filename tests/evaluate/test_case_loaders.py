"""Cases are read from every format, and what is damaged is named."""

import json
import pickle
from pathlib import Path
from typing import Any

import pytest

from kgmed.cli.reward import split_of
from kgmed.errors import SourceError, UnknownName
from kgmed.evaluate.datasets import cases as case_files
from kgmed.evaluate.datasets import patients as of_name
from kgmed.reward.cases import Case, Split


def goal(disease: str, explicit: dict[Any, Any], implicit: dict[Any, Any]) -> dict[str, Any]:
    return {"explicit_inform_slots": explicit, "implicit_inform_slots": implicit, "disease_tag": disease}


def pickled(path: Path, value: object) -> Path:
    path.write_bytes(pickle.dumps(value, protocol=2))
    return path


def gmd(path: Path) -> Path:
    """A small file of GMD's layout."""
    train = [
        goal("Asthma", {"Wheezing": True}, {"Fever": False, "Cough": True}),
        goal("Asthma", {"Cough": True}, {}),
        goal("Enteritis", {"Diarrhea": True}, {"Vomiting": "UNK"}),
        goal("Enteritis", {"Diarrhea": True, "Fever": True}, {}),
    ]
    return pickled(path, {"train": train, "test": [goal("Asthma", {"Wheezing": True}, {})]})


def test_a_file_of_gmd_is_read_with_the_signs_of_its_symptoms(tmp_path: Path) -> None:
    made = case_files.read_goals(gmd(tmp_path / "goal_set.p"), name="GMD", language="en")
    every = {c.id: c for c in made.train + made.validation}
    assert every["train-1"] == Case("train-1", ("Wheezing", "Cough"), ("Fever",), (), "Asthma", explicit=("Wheezing",))
    assert every["train-3"].unsure == ("Vomiting",)
    assert (len(every), len(made.test), made.diseases, made.language) == (4, 1, ("Asthma", "Enteritis"), "en")
    assert made.test.report(lambda cases: ["Asthma" for _ in cases]).accuracy == 1.0


@pytest.mark.parametrize("part", ["dev", "validate", "validation"])
def test_the_part_that_settings_are_chosen_on_is_read_under_any_of_its_names(tmp_path: Path, part: str) -> None:
    here = [goal("Asthma", {"Wheezing": True}, {})]
    found = case_files.read_goals(pickled(tmp_path / "goals.p", {"train": here, "test": here, part: here * 2}))
    assert (len(found.train), len(found.validation), len(found.test)) == (1, 2, 1)


def test_gmd_is_read_by_the_name_of_its_published_file_and_given_by_path(tmp_path: Path) -> None:
    (tmp_path / "gmd").mkdir()
    file = gmd(tmp_path / "gmd/gmd.pk")
    assert len(of_name("GMD", tmp_path).test) == 1
    assert split_of(str(file), None).diseases == ("Asthma", "Enteritis")


def test_one_bad_case_of_a_published_file_is_left_out_and_told(tmp_path: Path) -> None:
    here = [goal("Asthma", {"Wheezing": True}, {})] * 120
    bad = goal("Asthma", {"Wheezing": "perhaps"}, {})
    file = pickled(tmp_path / "goals.p", {"train": [*here, bad], "test": here})
    found = case_files.read_goals(file)
    assert found.dropped == ("goals.p:121: has the sign 'perhaps' for 'Wheezing'",)
    assert len(found.train) + len(found.validation) == 120
    with pytest.raises(SourceError, match="perhaps"):  # two of three are no slip
        case_files.read_goals(pickled(tmp_path / "bad.p", {"train": [here[0], bad, bad], "test": here}))


def test_a_part_of_another_name_is_refused_by_name(tmp_path: Path) -> None:
    here = [goal("Asthma", {"Wheezing": True}, {})]
    with pytest.raises(SourceError, match="has a part 'extra'"):
        case_files.read_goals(pickled(tmp_path / "goals.p", {"train": here, "test": here, "extra": here}))


class Harm:
    """An object whose pickle would run something."""

    def __reduce__(self) -> tuple[Any, ...]:
        return (print, ("harm",))


@pytest.mark.parametrize("value", [Harm(), {"train": [Harm()], "test": []}, {"train": {1}, "test": {Path("a")}}])
def test_a_pickle_that_names_a_class_is_refused_before_it_runs(
    tmp_path: Path, value: object, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SourceError, match="no pickle of plain data") as error:
        case_files.read_goals(pickled(tmp_path / "bad.p", value))
    assert str(error.value).count("\n") == 0
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ([1, 2], "no parts train and test"),
        ({"train": [], "test": []}, "has no train cases"),
        ({"train": 3, "test": []}, "is no list"),
        ({"train": [{"a": 1}], "test": []}, "is no case"),
        ({"train": [goal("", {}, {})], "test": []}, "without a disease"),
        ({"train": [goal("Flu", {"Fever": 7}, {})], "test": []}, "sign 7 for 'Fever'"),
        ({"train": [goal("Flu", {3: True}, {})], "test": []}, "no map from name to sign"),
    ],
)
def test_a_pickle_of_another_layout_is_refused_with_the_mend(tmp_path: Path, value: object, problem: str) -> None:
    with pytest.raises(SourceError, match=problem):
        case_files.read_goals(pickled(tmp_path / "bad.p", value))


@pytest.mark.parametrize("data", [b"", b"hello", b"\x80\x04K", b"cos\nsystem\n."])
def test_bytes_that_are_no_pickle_are_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "bad.p"
    path.write_bytes(data)
    with pytest.raises(SourceError, match="no pickle of plain data"):
        case_files.read_goals(path)


def test_dxformer_json_is_read_and_unsure_is_kept_apart(tmp_path: Path) -> None:
    rows = [{"pid": "a", "exp_sxs": {"发热": "1"}, "imp_sxs": {"咳嗽": "0", "皮疹": "2"}, "label": "肺炎"}]
    path = tmp_path / "train_set.json"
    path.write_text(json.dumps(rows), encoding="utf-8")
    assert case_files.part(path, []) == [Case("a", ("发热",), ("咳嗽",), ("皮疹",), "肺炎", ("发热",))]


@pytest.mark.parametrize("text", ["", "{", "{}", "[]", "[1]", '[{"label": "x"}]', "[" * 100_000])
def test_json_of_another_layout_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "bad.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SourceError, match="pid, exp_sxs"):
        case_files.part(path, [])


def test_json_lines_are_read_into_their_parts(tmp_path: Path) -> None:
    rows = [
        {"id": "1", "disease": "flu", "positive": ["fever"], "negative": ["rash"], "explicit": ["fever"]},
        {"disease": "cold", "positive": ["cough"], "unsure": ["fever"], "split": "validation"},
        {"disease": "flu", "positive": ["fever"], "split": "test"},
    ]
    path = tmp_path / "cases.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    made = case_files.read_case_lines(path, language="en")
    assert made.train == (Case("1", ("fever",), ("rash",), (), "flu", ("fever",)),)
    assert made.validation == (Case("2", ("cough",), (), ("fever",), "cold", ("cough", "fever")),)
    assert len(made.test) == 1


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("{", "is no JSON"),
        ('{"positive": []}', "no case with a disease"),
        ('{"disease": "flu", "positive": "fever"}', "no list of names"),
        ('{"disease": "flu", "positive": ["fever"], "negative": ["fever"]}', "names a symptom twice"),
        ('{"disease": "flu", "positive": [], "split": "dev"}', "has the split 'dev'"),
    ],
)
def test_a_bad_line_is_named_with_its_number(tmp_path: Path, line: str, problem: str) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_text('{"disease": "flu", "positive": ["fever"]}\n' + line, encoding="utf-8")
    with pytest.raises(SourceError, match=problem) as error:
        case_files.read_case_lines(path)
    assert error.value.line == 2


def patients(path: Path, evidences: str, disease: str = "Grippe") -> Path:
    head = "AGE,DIFFERENTIAL_DIAGNOSIS,SEX,PATHOLOGY,EVIDENCES,INITIAL_EVIDENCE\n"
    path.write_text(f'{head}29,"[]",F,{disease},"{evidences}",E_91\n' * 1, encoding="utf-8")
    return path


def test_patients_of_ddxplus_get_english_names_where_the_release_knows_them(tmp_path: Path) -> None:
    conditions = tmp_path / "release_conditions.json"
    conditions.write_text('{"I": {"cond-name-fr": "Grippe", "condition_name": "Flu", "cond-name-eng": "Flu"}}')
    meaning = {"V_1": {"en": "the throat", "fr": "la gorge"}}
    rows = {"E_91": {"question_en": "Fever?"}, "E_55": {"question_en": "Pain where?", "value_meaning": meaning}}
    evidences = tmp_path / "release_evidences.json"
    evidences.write_text(json.dumps(rows))
    names = case_files.diseases(conditions), case_files.findings(evidences)
    (found,) = case_files.patients(patients(tmp_path / "p.csv", "['E_91', 'E_55_@_V_1', 'e66']"), *names, [])
    assert found == Case("p-1", ("Fever?", "Pain where? the throat", "e66"), disease="Flu", explicit=("Fever?",))


@pytest.mark.parametrize("evidences", ["", "E_91", "['E_91'", "__import__('os')", "['E_91' 'E_55']"])
def test_evidences_that_are_no_list_of_codes_are_refused(tmp_path: Path, evidences: str) -> None:
    with pytest.raises(SourceError, match="no list of codes") as error:
        list(case_files.patients(patients(tmp_path / "p.csv", evidences), str, str, []))
    assert error.value.line == 2


@pytest.mark.parametrize("data", [b"\xff\xfe\x00", b"A,B\n1,2\n", b"", b"PATHOLOGY,EVIDENCES,INITIAL_EVIDENCE\nFlu\n"])
def test_a_file_of_patients_that_is_none_is_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "p.csv"
    path.write_bytes(data)
    with pytest.raises(SourceError, match=r"DDXPlus|no list of codes"):
        list(case_files.patients(path, str, str, []))


def test_a_release_file_taken_for_the_other_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "release_conditions.json"
    path.write_text('{"I": {"cond-name-eng": "Flu"}}')
    with pytest.raises(SourceError, match="with question_en"):
        case_files.findings(path)
    assert case_files.diseases(path)("Flu") == "Flu"


def test_a_set_that_is_not_known_is_answered_with_those_that_are(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="mz-4"):
        of_name("MZ4", tmp_path)


SIZES = {  # train and validation, test; diseases and symptoms of the first two
    "DXY": (423, 104, 5, 41),
    "MZ": (568, 142, 4, 66),
    "MZ-4": (1388, 345, 4, 230),
    "MZ-10": (3305, 811, 10, 316),
    "DDXPlus": (6763, 6933, 19, None),
}


@pytest.mark.data
@pytest.mark.parametrize("name", SIZES)
def test_the_published_sets_have_their_published_sizes(data: Path, name: str) -> None:
    made: Split = of_name(name, data)
    fitted, test, diseases, symptoms = SIZES[name]
    assert (len(made.train) + len(made.validation), len(made.test)) == (fitted, test)
    assert len(made.diseases) == diseases
    assert symptoms in (None, len(made.symptoms))
