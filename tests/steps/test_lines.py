"""Sentences that a model makes of a question."""

import pytest

from kgmed.models.asking import Malformed, Tally
from kgmed.models.fakes import Scripted
from kgmed.records import Question
from kgmed.steps.expand import Lines

Q = Question("Which helps?", (("A", "ice"),))


def test_sentences_stand_one_a_line_and_no_more_than_asked_for() -> None:
    llm = Scripted(['{"sentences": ["Toes\\nare red.", "Ice cools.", "More."]}'])
    query = Lines(llm, "cok/prepare", most=2)(Q)
    assert query.hypothesis == "Toes are red.\nIce cools."
    assert query.question == Q
    assert "A. ice" in llm.asked[0][-1].text
    assert "2 sentences" in llm.asked[0][0].text


def test_a_chinese_question_is_asked_in_chinese() -> None:
    llm = Scripted(['{"sentences": ["痛风累及脚趾。"]}'])
    assert Lines(llm, "kg_gpt/segment")(Question("脚趾红肿怎么办？")).hypothesis == "痛风累及脚趾。"
    assert "拆成最多" in llm.asked[0][0].text


def test_a_reply_without_a_sentence_is_asked_for_once_more_and_then_fails() -> None:
    tally, llm = Tally(), Scripted(["no", "none"])
    with pytest.raises(Malformed):
        Lines(llm, "cok/prepare", tally=tally)(Q)
    assert (len(llm.asked), tally.failed) == (2, 1)
    assert Lines(Scripted(["no", '["a"]']), "cok/prepare")(Q).hypothesis == "a"


def test_the_sentences_of_the_example_are_not_taken() -> None:
    shown = '["Which drug opens the airways in asthma?"%s]'
    llm = Scripted([shown % "", shown % ', "What helps?"'])
    assert Lines(llm, "kg_gpt/segment")(Q).hypothesis == "What helps?"


def test_an_empty_question_asks_nothing() -> None:
    assert Lines(Scripted([]), "cok/prepare")(Question(" ")).hypothesis == ""
