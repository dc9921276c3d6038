"""Of what treats an illness the class that is asked for is told, by the names of its members or of its classes."""

from dataclasses import replace

import pytest

from kgmed.records import Relation, Role
from kgmed.steps.asked import AskedFor
from kgmed.steps.classes import asks_who_may, sections_named, wanted
from role_graph import RoleGraph, query

G = RoleGraph(
    [
        ("furosemide", "treats", "heart failure"),
        ("digoxin", "treats", "heart failure"),
        ("newdrug", "treats", "heart failure"),
        ("newdrug", "section", "Diuretics"),
    ],
    (Relation("treats", Role.TREATS), Relation("section", Role.IS_A)),
    {"disease": ["heart failure"], "drug": ["furosemide", "digoxin", "newdrug"], "drug class": ["Diuretics"]},
)


@pytest.mark.parametrize(
    "text",
    ["Which diuretic treats heart failure?", "diuretics for heart failure", "best water tablets for heart failure"],
)
def test_what_is_named_so_or_stands_in_the_class_is_told(text: str) -> None:
    links = [G.link("heart failure")]
    found = replace(AskedFor(G), wanted=wanted(text, links))(query(text), links)
    assert {t.subject.name for e in found for t in e.triples} == {"furosemide", "newdrug"}


def test_without_a_class_all_that_treats_is_told() -> None:
    links = [G.link("heart failure")]
    asked = query("How is heart failure treated?")
    found = replace(AskedFor(G), wanted=wanted(asked.text, links))(asked, links)
    assert {t.subject.name for e in found for t in e.triples} == {"furosemide", "digoxin", "newdrug"}


@pytest.mark.parametrize(
    ("text", "narrows"),
    [
        ("antifungals for ringworm", True),
        ("which antibiotic for gout", True),
        ("steroids for asthma", True),
        ("antiepileptics in epilepsy", True),
        ("which painkiller for a headache", True),
        ("what treats asthma", False),
        ("which painkiller can I take with asthma", False),
    ],
)
def test_a_class_narrows_where_it_is_for_what_is_named_or_asked_for_it(text: str, narrows: bool) -> None:
    assert wanted(text, []).narrows is narrows


def test_salts_are_no_class() -> None:
    assert not wanted("antibiotics for asthma", []).holds("Salbutamol Sulfate")


def test_people_with_an_illness_ask_which_of_a_class_they_may_take() -> None:
    assert asks_who_may("Which diuretic is safe for someone with gout?", [])
    assert not asks_who_may("Which diuretic is good for people with heart failure?", [G.link("heart failure")])


def test_the_sections_of_a_class_are_found_by_its_name() -> None:
    assert sections_named("Which antimalarials are on the WHO list?")
    assert not sections_named("Which medicines are on the WHO list?")
