"""What is told in a patient's words: an illness that is told so may be the answer, and is not defined."""

import pytest

from kgmed.language.lay import emergency
from kgmed.language.question import roles_asked
from kgmed.records import Link, Mention, Query, Question, Relation, Role
from kgmed.steps.diagnosis import Diagnosis
from kgmed.steps.fitting import Fitting
from kgmed.steps.story import defines_one
from role_graph import RoleGraph

SHOWS = Relation("shows", Role.FINDING)
G = RoleGraph(
    [
        ("colchicine", "may cause", "Insomnia"),
        ("colchicine", "treats", "Insomnia"),
        ("Depression", "shows", "Insomnia"),
        ("gastritis", "shows", "Depression"),
        ("gastritis", "shows", "Insomnia"),
        ("flu", "shows", "Dysuria"),
    ],
    (SHOWS, Relation("may cause", Role.ADVERSE), Relation("treats", Role.TREATS)),
    {"drug": ["colchicine"], "disease": ["Depression", "gastritis", "flu"], "phenotype": ["Insomnia", "Dysuria"]},
)


def told(text: str, surface: str, name: str) -> Link:
    """A link from the words of a text."""
    start = text.index(surface)
    return Link(Mention(surface, surface, start, start + len(surface)), G.link(name).entity, 1.0, "alias")


@pytest.mark.parametrize(("words", "found"), [("feel down", True), ("Depression", False)])
def test_an_illness_told_in_other_words_may_be_what_the_patient_has(words: str, found: bool) -> None:
    text = f"I have {words} and Insomnia"
    links = [told(text, words, "Depression"), told(text, "Insomnia", "Insomnia")]
    names = [e.about[0].name for e in Diagnosis(G)(Query(Question(text)), links)]
    assert ("Depression" in names) is found


@pytest.mark.parametrize(("words", "defined"), [("burning when I pee", False), ("Dysuria", True)])
def test_what_is_felt_is_explained_and_a_word_of_a_report_defined(words: str, defined: bool) -> None:
    text = f"I have {words}. What is it?"
    assert defines_one(text, [told(text, words, "Dysuria")]) is defined


@pytest.mark.parametrize(
    ("text", "alone"),
    [("I take colchicine and now I have Insomnia.", True), ("I take colchicine for my Insomnia.", False)],
)
def test_what_is_told_after_a_medicine_and_can_come_of_it_is_told_so(text: str, alone: bool) -> None:
    links = [told(text, "colchicine", "colchicine"), told(text, "Insomnia", "Insomnia")]
    found = Fitting(G, lambda _: links)(Query(Question(text)), links)
    assert ({t.relation.role for e in found for t in e.triples} == {Role.ADVERSE}) is alone


def test_what_is_told_before_a_chinese_question_asks_for_nothing() -> None:
    assert roles_asked("一天喝好多水，尿也多，会不会是糖尿病") == ()


@pytest.mark.parametrize("text", ["便秘好几天没拉了，肚子胀，也不放屁，还吐", "not passed gas, belly swollen"])
def test_a_blocked_bowel_is_an_emergency(text: str) -> None:
    found = emergency(text)
    assert found is not None
    assert found.kind == "bowel"


@pytest.mark.parametrize("text", ["我没拉肚子，也没吐", "He has no vomiting"])
def test_what_is_denied_is_no_blocked_bowel(text: str) -> None:
    assert emergency(text) is None
