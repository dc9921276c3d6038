"""Patients as questions: MDDial's dialogues, words in two languages, and the graph that train cases count."""

import json
from pathlib import Path
from typing import Any

import pytest

from kgmed.errors import BadInput, SourceError
from kgmed.evaluate.datasets import load
from kgmed.evaluate.datasets import patients as of_name
from kgmed.evaluate.datasets.diagnosis import (
    asked,
    counted_graph,
    dialogue_cases,
    english_of_dxy,
    option_letters,
    read_split,
)
from kgmed.evaluate.items import Item
from kgmed.evaluate.reproduce import _dropped
from kgmed.graph import library
from kgmed.reward.cases import Case, split
from made_cases import made_split

LISTED = {"Asthma": ["Cough", "Chest tightness"], "Enteritis": ["Diarrhea", "Fever"]}


def turn(patient: str, doctor: str) -> dict[str, str]:
    return {"patient": patient, "doctor": doctor}


TURNS = [
    turn("Hi Doctor, I am having Cough and Chest tightness", "What about Fever?"),
    turn("Not that I know of", "Oh, do you have any Diarrhea?"),
    turn("Yes, sometimes", "Is it? Then do you experience Chest tightness?"),
    turn("Perhaps", "This could probably be Asthma."),
]


def written(folder: Path, *dialogues: object, listed: Any = None) -> Path:
    path = folder / "train.json"
    path.write_text(json.dumps({f"Dialog {i}": d for i, d in enumerate(dialogues, 1)}), "utf-8")
    if listed is not None:
        (folder / "disease_symptoms.txt").write_text(json.dumps(listed), "utf-8")
    return path


def test_a_dialogue_becomes_what_the_patient_named_and_what_was_asked_for(tmp_path: Path) -> None:
    path = written(tmp_path, {"disease_tag": "Asthma", "dialogs": TURNS}, listed=LISTED)
    (case,) = dialogue_cases({"train": path}, [])["train"]
    assert case == Case(
        "train-1", ("Cough", "Chest tightness", "Diarrhea"), ("Fever",), (), "Asthma", ("Cough", "Chest tightness")
    )


def test_a_bare_list_of_turns_is_a_dialogue_whose_last_turn_names_the_disease(tmp_path: Path) -> None:
    (case,) = dialogue_cases({"train": written(tmp_path, TURNS, listed=LISTED)}, [])["train"]
    assert case.disease == "Asthma"


def test_the_symptoms_that_dialogues_list_are_known_without_the_file_beside_them(tmp_path: Path) -> None:
    row = {"disease_tag": "Asthma", "dialogs": TURNS, "symptoms_by_doctor_dialog": {"Fever": "No", "Cough": "Yes"}}
    (case,) = dialogue_cases({"train": written(tmp_path, row)}, [])["train"]
    assert (case.positive, case.negative) == (("Cough",), ("Fever",))


@pytest.mark.parametrize("row", [{}, [], {"dialogs": "x"}, {"dialogs": [{"doctor": "a"}]}, 7, {"disease_tag": 3}])
def test_what_is_no_dialogue_is_refused_with_its_number(tmp_path: Path, row: object) -> None:
    path = written(tmp_path, {"disease_tag": "Asthma", "dialogs": TURNS}, row, listed=LISTED)
    with pytest.raises(SourceError, match=r"train.json:2.*Dialog 2"):
        read_split(path, path, form="dialogues", name="MDDial", language="en")


def test_a_dialogue_without_a_disease_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, TURNS[:2], listed=LISTED)
    with pytest.raises(SourceError, match="without a disease"):
        read_split(path, path, form="dialogues", name="MDDial", language="en")


def test_one_bad_dialogue_of_a_published_file_is_left_out_and_told(tmp_path: Path) -> None:
    good = [{"disease_tag": "Asthma", "dialogs": TURNS}] * 120
    path = written(tmp_path, *good[:60], TURNS[:2], *good[60:], listed=LISTED)
    made = read_split(path, path, form="dialogues", name="MDDial", language="en")
    assert (len(made.train) + len(made.validation), len(made.test)) == (120, 120)
    assert made.dropped == ("train.json:61: has a case without a disease",) * 2
    told = mkdir_of_mddial(tmp_path, path)
    assert len(load("mddial-questions", told)) == 240
    assert of_name("mddial", told).dropped[0] == "train.json:61: has a case without a disease"
    assert _dropped("mddial-questions", told) == of_name("mddial", told).dropped
    assert _dropped("cmmlu", told) == ()


def mkdir_of_mddial(folder: Path, file: Path) -> Path:
    """A data folder whose MDDial is that file, as both parts."""
    (folder / "data/mddial").mkdir(parents=True)
    for part in ("train", "test"):
        (folder / f"data/mddial/{part}.json").write_bytes(file.read_bytes())
    return folder / "data"


def patients(language: str, words: dict[str, str]) -> list[Item]:
    cases = {"test": [Case("1", ("发烧",), ("咳嗽",), ("皮疹",), "肺炎"), Case("2", ("咳嗽",), disease="上呼吸道感染")]}
    return list(asked(cases, language, words))


def test_a_patient_is_asked_about_in_chinese_or_in_english_words() -> None:
    chinese, english = patients("zh", {})[0], patients("en", english_of_dxy())[0]
    assert chinese.question.text == "患者有：发烧。没有：咳嗽。不确定有没有：皮疹。最可能是下列哪种疾病？"
    assert english.question.text.startswith("The patient has: fever. Does not have: cough. Is not sure of: skin rash.")
    assert english.question.options == (("A", "upper respiratory infection"), ("B", "pneumonia"))
    assert chinese.gold.choices == english.gold.choices == ("B",)
    assert english.gold.entities == ("pneumonia",)


def test_more_diseases_than_letters_have_numbers() -> None:
    assert len({*option_letters(49)}) == 49


def test_the_english_words_of_dxy_are_each_of_one_name() -> None:
    words = english_of_dxy()
    assert len({*words.values()}) == len(words)


def test_the_graph_of_train_cases_has_their_triples_and_none_of_the_test_cases(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KGMED_HOME", str(tmp_path))
    train = [Case(f"{i}", ("fever", "flu") if i % 2 else ("fever",), disease="flu") for i in range(6)]
    graph = library.load(counted_graph(split("Made", train, [Case("9", ("rash",), disease="measles")])))
    assert graph.name == "made-cases"
    (disease,) = [m.entity for m in graph.lookup("flu") if m.entity.kind == "disease"]
    told = {(t.tail.name, t.weight, t.support[0].qualifiers) for t in graph.neighbours(disease.id)}
    assert told == {("fever", 1.0, (("count", "6"),)), ("flu", 0.5, (("count", "3"),))}
    assert graph.lookup("rash") == []


def test_a_graph_of_other_counts_is_built_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KGMED_HOME", str(tmp_path))
    first = library.load(counted_graph(made_split(), called="one")).label
    assert library.load(counted_graph(made_split(), called="one")).label == first
    other = split("made", [Case(f"{i}", ("fever",), disease="flu") for i in range(5)], [])
    assert library.load(counted_graph(other, called="one")).label != first


def test_only_dxy_has_english_words() -> None:
    with pytest.raises(BadInput, match="leave out --english"):
        counted_graph(made_split(), english=True)


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "test", "explicit", "diseases"),
    [("mz", 142, 130, 4), ("dxy", 104, 103, 5), ("mz-4", 345, 345, 4), ("mz-10", 811, 722, 10)],
)
def test_the_sets_are_counted_as_the_papers_figures_are(
    data: Path, name: str, test: int, explicit: int, diseases: int
) -> None:
    items = load(f"{name}-questions", data, part="test")
    assert len(items) == test
    assert len(load(f"{name}-questions[explicit]", data, part="test")) == explicit
    assert {len(i.question.options) for i in items} == {diseases}


@pytest.mark.data
def test_dxy_is_asked_in_two_languages_with_the_same_answers(data: Path) -> None:
    chinese, english = load("dxy-questions", data), load("dxy-questions-en", data)
    assert [i.gold.choices for i in chinese] == [i.gold.choices for i in english]
    assert not any(ord(c) > 0x3000 for i in english for c in i.question.text)


@pytest.mark.data
def test_the_patients_of_ddxplus_are_questions(data: Path) -> None:
    items = load("ddxplus-questions", data, part="test")
    assert len(items) == 6933
    assert all(i.gold.choices[0] in dict(i.question.options) for i in items)
