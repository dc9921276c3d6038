"""Names whose words stand apart, and words that ask."""

from pathlib import Path

import pytest

from kgmed.graph.base import NodeRow, Row
from kgmed.models.encoders import NgramEncoder
from kgmed.records import Query, Question
from kgmed.toolkit import Toolkit
from named_graph import small

ROWS: tuple[Row, ...] = tuple(
    NodeRow(name, kind="symptom")
    for name in (
        "Fracture of the hand",
        "Injury to the knee",
        "Hand or finger pain",
        "Headache",
        "Chest pain",
        "Symptom",
        "Drug fever",
        "Convulsions of newborn",
        "Rash",
        "Type I allergy",
        "3-M syndrome 3",
        "Disorder of the spinal cord",
        "Hypoplasia of the small bowel",
    )
)


@pytest.fixture(scope="module")
def toolkit(tmp_path_factory: pytest.TempPathFactory) -> Toolkit:
    return Toolkit(small(tmp_path_factory.mktemp("scattered"), ROWS), encoder=NgramEncoder())


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("I fractured my left hand", ["Fracture of the hand"]),
        ("My knee got injured.", ["Injury to the knee"]),
        ("There is pain in my finger", ["Hand or finger pain"]),
        ("intense headaches recently", ["Headache"]),
        ("pain, but not in the chest", []),
        ("Which drugs treat fever?", []),
        ("fever from a drug", ["Drug fever"]),
        ("a newborn with convulsions", ["Convulsions of newborn"]),
        ("a newborn with rash and convulsions", ["rash"]),
        ("The hand is fine. It was a fracture.", []),
        ("an allergy that is type I", ["Type I allergy"]),
        ("I have an allergy of some type", []),  # who speaks is no numeral
        ("for 3 years now I'm tired", []),  # a name of numbers and letters is found as it is written alone
        ("3-M syndrome 3", ["3-M syndrome 3"]),
        ("my spinal cord was looked at", []),  # a place is no illness of it
        ("a disorder in my spinal cord", ["Disorder of the spinal cord"]),
        ("my small bowel was removed", []),
    ],
)
def test_a_name_is_found_where_its_words_stand_in_one_clause(toolkit: Toolkit, text: str, names: list[str]) -> None:
    assert [m.name for m in toolkit.lexicon(text)] == names


def test_a_medicine_is_not_gathered_from_a_form_and_an_illness(tmp_path: Path) -> None:
    rows = (NodeRow("Thyroid tablets", kind="drug"), NodeRow("Overactive thyroid", kind="disease"))
    lexicon = Toolkit(small(tmp_path, rows), encoder=NgramEncoder()).lexicon
    assert [m.name for m in lexicon("tablets for an overactive thyroid")] == ["overactive thyroid"]
    assert [m.name for m in lexicon("thyroid tablets")] == ["thyroid tablets"]


def test_an_illness_is_known_by_the_person_that_it_is_called_after(tmp_path: Path) -> None:
    rows = tuple(
        NodeRow(n, kind="disease") for n in ("Crohn disease", "Turner syndrome", "Graves disease", "Heart disease")
    )
    lexicon = Toolkit(small(tmp_path, rows), encoder=NgramEncoder()).lexicon
    said = [
        "What causes Crohn's?",
        "Is Turner's inherited?",
        "signs of Graves'",
        "Crohn's vs gout",
        "Heart's racing today",
    ]
    found = [[m.name for m in lexicon(text)] for text in said]
    assert found == [["Crohn disease"], ["Turner syndrome"], ["Graves disease"], ["Crohn disease"], []]


TOLD = tuple(
    NodeRow(name, kind="symptom")
    for name in ("Dysuria", "Vomiting", "Chest pain", "Barking cough", "Cough", "呼吸困难", "Back pain", "放射至背部")
)


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Toolkit:
    return Toolkit(small(tmp_path_factory.mktemp("told"), TOLD), encoder=NgramEncoder())


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("it burns whenever I have to pee", ["Dysuria"]),
        ("I can't keep anything down", ["Vomiting"]),
        ("no burning when I pee", ["NOT Dysuria"]),
        ("a barking cough", ["barking cough"]),
        ("belly pain going through to the back", ["放射至背部"]),  # more than pain and the back
        ("I burn. And I pee.", []),
        ("昨晚喘不上气，胸口疼", ["呼吸困难", "Chest pain"]),
    ],
)
def test_a_finding_is_found_in_a_patients_words(told: Toolkit, text: str, names: list[str]) -> None:
    assert [f"{'NOT ' * m.negated}{m.name}" for m in told.lexicon(text)] == names


def test_a_scattered_name_may_be_denied(toolkit: Toolkit) -> None:
    [mention] = toolkit.lexicon("She has no pain anywhere in the chest")
    assert (mention.name, mention.negated) == ("Chest pain", True)


def test_words_that_ask_are_no_mentions(toolkit: Toolkit) -> None:
    mentions = toolkit.recognize(Query(Question("What are the symptoms of headaches?")))
    assert [m.name for m in mentions] == ["Headache"]


def test_a_name_is_not_gathered_from_two_findings(tmp_path: Path) -> None:
    names = ("Spotted fever", "Fever", "Knee swelling", "Swelling", "Skin rash")
    rows = tuple(NodeRow(name, kind="disease") for name in names)
    lexicon = Toolkit(small(tmp_path, rows), encoder=NgramEncoder()).lexicon
    for text in ("fever and itchy red spots", "itchy red spots and fever"):
        found = [m.name.lower() for m in lexicon(text)]
        assert "spotted fever" not in found
        assert {"fever", "skin rash"} <= {*found}
    assert "Spotted fever" in [m.name for m in lexicon("a fever that is spotted")]
    assert "Knee swelling" in [m.name for m in lexicon("swelling and pain of the knee")]


def test_a_name_is_not_gathered_from_one_that_a_letter_completes(tmp_path: Path) -> None:
    rows = tuple(NodeRow(name, kind="disease") for name in ("drug hepatitis", "hepatitis C"))
    lexicon = Toolkit(small(tmp_path, rows), encoder=NgramEncoder()).lexicon
    assert [m.name for m in lexicon("Is there a drug for exposure to hepatitis C?")] == ["hepatitis C"]
    assert [m.name for m in lexicon("Is there a drug for exposure to hepatitis?")] == ["drug hepatitis"]
