"""A question that says only what is new in it is the last one of another thing."""

import pytest

from kgmed.language.text import asked_about, put_in


@pytest.mark.parametrize(
    ("text", "thing"),
    [
        ("what about gout?", "gout"),
        ("And what about type 2 diabetes", "type 2 diabetes"),
        ("How about aspirin?", "aspirin"),
        ("and for gout?", "gout"),
        ("And pregnant women with gout?", "pregnant women with gout"),
        ("那痛风呢？", "痛风"),
        ("痛风呢", "痛风"),
        ("换成阿司匹林怎么样？", "阿司匹林"),
    ],
)
def test_a_question_about_one_more_thing_names_it(text: str, thing: str) -> None:
    assert asked_about(text) == thing


@pytest.mark.parametrize(
    "text",
    [
        "What treats gout?",
        "And what treats it?",
        "and is it safe?",
        "and take it with food and water every day?",
        "怎么办呢？",
        "那应该吃什么药呢？",
        "什么药治痛风",
        "",
    ],
)
def test_a_question_of_its_own_names_no_such_thing(text: str) -> None:
    assert asked_about(text) == ""


def test_the_thing_takes_the_place_of_the_one_before_or_of_a_word_for_it() -> None:
    assert put_in("Does Aspirin treat gout?", "aspirin", "ibuprofen") == "Does ibuprofen treat gout?"
    assert put_in("它有什么症状？", "", "痛风") == "痛风有什么症状？"
    assert put_in("What are the symptoms?", "gout", "rickets") == ""


@pytest.mark.parametrize("text", ["and " * 20_000, "那" * 20_000, "what about " * 5_000, "呢" * 20_000])
def test_a_long_text_is_read_at_once(text: str) -> None:
    assert isinstance(asked_about(text), str)
