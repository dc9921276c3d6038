"""What a question asks for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgmed.language.question import asking_part, asks_diagnosis, roles_asked, words_that_ask
from kgmed.records import Role


@pytest.mark.parametrize(
    ("text", "roles"),
    [
        ("What are the side effects of aspirin?", (Role.ADVERSE,)),
        ("Which gene is associated with Duchenne muscular dystrophy?", (Role.GENE,)),
        ("How is Huntington disease inherited?", (Role.INHERITANCE,)),
        ("symptoms of gout", (Role.FINDING,)),
        ("阿司匹林有什么副作用？", (Role.ADVERSE,)),
        ("孕妇可以吃布洛芬吗？", (Role.CONTRAINDICATED,)),
        ("痛风不能吃什么？", (Role.AVOID,)),
        ("高血压应该吃什么药？", (Role.TREATS,)),
        ("感冒挂什么科？", (Role.CARE,)),
        ("I have a cough. What tests and what treatment do I need?", (Role.TREATS, Role.TESTS)),
        ("", ()),
    ],
)
def test_the_words_tell_the_roles(text: str, roles: tuple[Role, ...]) -> None:
    assert roles_asked(text) == roles


@pytest.mark.parametrize(
    "text",
    [
        "He takes medicine for gout, it is difficult to eat and his mother was worried about a gene.",
        "Since the treatment began I have had symptoms of a cold, and my doctor did an X-ray of my chest.",
        "我妈妈几天前吃药后出现了不良反应，医生给她做了检查，现在还没什么胃口，一直在家里休息。",
    ],
)
def test_what_is_only_told_asks_for_nothing(text: str) -> None:
    assert roles_asked(text) == ()
    assert not asks_diagnosis(text)


@pytest.mark.parametrize(
    "text",
    [
        "I take medication and noticed side effects like cough, what could it be?",
        "妈妈高血压吃药后咳嗽，是什么病？",
    ],
)
def test_what_is_told_before_the_question_asks_for_nothing(text: str) -> None:
    assert roles_asked(text) == ()
    assert asks_diagnosis(text)


def test_a_number_with_a_point_does_not_end_a_sentence() -> None:
    assert asking_part("With 38.5 degrees what should I do?") == "With 38.5 degrees what should I do?"


@given(st.text(alphabet="what gene? 吃什么药，副作用.,!\nfever", max_size=80))
def test_words_that_ask_lie_in_the_text(text: str) -> None:
    assert all(0 <= a < b <= len(text) for a, b in words_that_ask(text))
    assert bool(roles_asked(text)) <= bool(words_that_ask(text))
