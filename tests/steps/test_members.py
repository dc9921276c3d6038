"""What stands under a class that is named: diseases of a mode, medicines of a list or of a class for an illness."""

import pytest

from kgmed.records import Relation, Role
from kgmed.steps.members import Members
from role_graph import RoleGraph, query

G = RoleGraph(
    [
        ("Leber disease", "inherited", "mitochondrial inheritance"),
        ("MELAS", "inherited", "mitochondrial inheritance"),
        ("furosemide", "treats", "heart failure"),
        ("digoxin", "treats", "heart failure"),
        ("metolazone", "treats", "heart failure"),
        ("metolazone", "section", "Diuretics"),
        ("digoxin", "treats", "asthma"),
        ("charcoal", "section", "Antidotes and other substances used in poisonings: Specific"),
        ("aspirin", "can cause", "asthma"),
    ],
    (
        Relation("inherited", Role.INHERITANCE),
        Relation("treats", Role.TREATS),
        Relation("section", Role.IS_A),
        Relation("can cause", Role.ADVERSE),
    ),
    {
        "disease": ["Leber disease", "MELAS", "heart failure", "asthma"],
        "inheritance": ["mitochondrial inheritance"],
        "drug": ["furosemide", "digoxin", "metolazone", "aspirin", "charcoal"],
        "drug class": ["Diuretics", "Antidotes and other substances used in poisonings: Specific"],
    },
)


def told(text: str, *names: str) -> set[str]:
    """The subjects of all that is told."""
    return {t.subject.name for e in Members(G)(query(text), [G.link(n) for n in names]) for t in e.triples}


@pytest.mark.parametrize(
    "text", ["Which diseases have mitochondrial inheritance?", "list mitochondrial inheritance disorders"]
)
def test_of_a_mode_of_inheritance_its_diseases_are_told(text: str) -> None:
    assert told(text, "mitochondrial inheritance") == {"Leber disease", "MELAS"}


def test_of_a_mode_beside_a_disease_nothing_is_listed() -> None:
    g = G.link("MELAS")
    object.__setattr__(g.mention, "start", 40)
    object.__setattr__(g.mention, "end", 45)
    asked = query("Is mitochondrial inheritance the cause of MELAS disease?")
    assert Members(G)(asked, [G.link("mitochondrial inheritance"), g]) == []


def test_the_medicines_of_a_section_of_the_list_are_told() -> None:
    assert told("Which diuretics are on the WHO essential medicines list?") == {"metolazone"}


def test_antidotes_are_told_with_the_word_that_no_poison_is_named_for_them() -> None:
    (said,) = Members(G)(query("Antidote for aspirin overdose"), [G.link("aspirin")])
    assert "the graph does not say" in said.text
    assert {t.subject.name for t in said.triples} == {"charcoal"}


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("which diuretics cause asthma", "asthma"),
        ("is a diuretic good for asthma", "asthma"),
        ("which diuretic for heart failure", "heart failure"),
        ("symptoms of asthma on diuretics", "asthma"),
        ("how is heart failure treated", "heart failure"),
    ],
)
def test_what_asks_for_no_class_is_left_to_others(text: str, name: str) -> None:
    assert Members(G)(query(text), [G.link(name)]) == []
