"""A model's guess, and the replies that are none."""

import pytest

from kgmed.errors import ModelFailed
from kgmed.models.fakes import Scripted
from kgmed.prompts import prompt
from kgmed.records import Question
from kgmed.steps.expand import Guess

NAMES = ["hykge/hypothesis", "kg_rank/draft"]
MALFORMED = ["", " \n", "...", "12. 3.", "<think>It may be gout.</think>", "<think>It may be gout, or", "可能\ufffd"]


@pytest.mark.parametrize("name", NAMES)
def test_the_guess_stands_behind_the_question_and_its_options_are_asked_too(name: str) -> None:
    llm = Scripted(["<think>hm</think>\nIt may be gout."])
    query = Guess(llm, name)(Question("What is it?", (("A", "gout"),), history=("My toe hurts.",)))
    assert query.hypothesis == "It may be gout."
    assert query.expanded.startswith("What is it?\n")
    assert "My toe hurts.\nWhat is it?\nA. gout" in llm.asked[0][-1].text
    assert len(llm.asked) == 1


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("reply", MALFORMED)
def test_a_reply_that_is_no_guess_is_a_failure_and_never_an_empty_guess(name: str, reply: str) -> None:
    with pytest.raises(ModelFailed, match=f"scripted made no guess.*{name}"):
        Guess(Scripted([reply]), name)(Question("What is it?"))


def test_a_chinese_question_is_asked_in_chinese() -> None:
    llm = Scripted(["可能是痛风。"])
    assert Guess(llm)(Question("脚趾痛是什么病？")).hypothesis == "可能是痛风。"
    assert "医生" in llm.asked[0][0].text


def test_what_repeats_the_prompt_is_no_part_of_the_guess() -> None:
    echo = prompt("hykge/hypothesis").messages(question="What is it?")[-1].text.partition("\n")[2]
    assert Guess(Scripted([f"{echo}\nIt may be gout."]))(Question("What is it?")).hypothesis == "It may be gout."
    with pytest.raises(ModelFailed, match="made no guess"):
        Guess(Scripted([echo]))(Question("What is it?"))
    said = prompt("hykge/hypothesis", language="zh").messages(question="?")[-1].text[1:]
    assert Guess(Scripted([f"{said}可能是痛风。"]))(Question("脚趾痛？")).hypothesis == "可能是痛风。"


def test_a_model_that_fails_is_not_silently_done_without() -> None:
    with pytest.raises(ModelFailed, match="down"):
        Guess(Scripted([ModelFailed("down")]))(Question("What is it?"))
