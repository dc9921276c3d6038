"""The same words in other wording."""

from pathlib import Path

import pytest

from kgmed.graph.names import Rewordings, canonical, contradicts
from named_graph import small


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("enlarged calves", "Calf hypertrophy"),
        ("Increased size of calf muscles", "Calf muscle hypertrophy"),
        ("very high creatine kinase", "Elevated circulating creatine kinase concentration"),
        ("muscles are weak", "Muscle weakness"),
        ("renal failure", "Kidney failure"),
    ],
)
def test_equal_wordings_are_equal(a: str, b: str) -> None:
    assert canonical(a) == canonical(b) != ()


@pytest.mark.parametrize(
    ("a", "b"),
    [("high creatine kinase", "Reduced creatine kinase"), ("weak calves", "Calf hypertrophy"), ("fever", "high fever")],
)
def test_other_meanings_stay_apart(a: str, b: str) -> None:
    assert canonical(a) != canonical(b)


@pytest.mark.parametrize("text", ["tungsten", "very", "", "large", "肺炎"])
def test_what_says_too_little_has_no_wording(text: str) -> None:
    assert canonical(text) == ()


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("hypertension", "hypotension"),
        ("type 1 diabetes", "type 2 diabetes"),
        ("type II", "type III"),
        ("Left ptosis", "Right ptosis"),
        ("血压高", "血压低"),
        ("无痛血尿", "痛性血尿"),
        ("Acute hepatitis", "chronic hepatitis"),
    ],
)
def test_opposites_contradict_both_ways(a: str, b: str) -> None:
    assert contradicts(a, b)
    assert contradicts(b, a)


@pytest.mark.parametrize(("a", "b"), [("hypertension", "high blood pressure"), ("肺炎", "肺部炎症"), ("CK", "CK")])
def test_others_do_not(a: str, b: str) -> None:
    assert not contradicts(a, b)


def test_the_entity_is_found_once_and_said_to_be_by_wording(tmp_path: Path) -> None:
    found = Rewordings(small(tmp_path)).search("very high creatine kinase")
    assert [(m.entity.id, m.how) for m in found] == [("HP:4", "wording")]
    assert Rewordings(small(tmp_path)).search("low creatine kinase") == []
