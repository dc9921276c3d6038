import pytest

from kgmed.steps.read import before_loop, fault, foreign, loops

PLAIN = "Asthma is treated with salbutamol [1]."


def test_a_plain_answer_has_no_fault() -> None:
    assert fault(PLAIN, language="en", instructions=["Answer in one short sentence."], fence="abc123") == ""
    assert fault("可用奥美拉唑 [1]。", language="zh") == ""


@pytest.mark.parametrize("reply", ["", "  \n", "...", "[1] [2]", "123"])
def test_a_reply_without_letters_says_nothing(reply: str) -> None:
    assert fault(reply, language="en") == "said nothing"


def test_broken_characters_are_a_fault() -> None:
    assert "broken" in fault("可用\ufffd\ufffd拉唑", language="zh")


def test_repeating_the_prompt_or_its_fence_is_a_fault() -> None:
    rule = "Answer in one short sentence from the evidence."
    assert "instructions" in fault(f"{rule} Yes.", language="en", instructions=[rule])
    assert "instructions" in fault("The answer is 0badc0ffee11", language="en", fence="0badc0ffee11")


def test_a_short_line_of_the_prompt_may_be_said() -> None:
    assert fault("Asthma. Answer: asthma", language="en", instructions=["Answer:"]) == ""


@pytest.mark.parametrize(
    "reply",
    [
        "It is blue. It is blue. It is blue.",
        "The condition is caused by stress and " * 6,
        "多喝水，多休息，" * 6,
        "胃酸症\n胃酸症\n胃酸症",
    ],
)
def test_a_reply_that_goes_round_in_circles_loops_until_it_is_cut(reply: str) -> None:
    assert loops(reply)
    kept = before_loop(reply)
    assert kept
    assert reply.startswith(kept)
    assert not loops(kept)


def test_what_stands_before_a_loop_is_kept_whole() -> None:
    good = "Asthma is treated with salbutamol, which opens the airways. It is also treated with budesonide."
    assert before_loop(f"{good} {'The answer is: ' * 30}") == f"{good} The answer is:"
    assert before_loop(good) == good


@pytest.mark.parametrize(
    "reply",
    [
        PLAIN,
        "Asthma is treated with salbutamol. Asthma is treated with budesonide. Asthma is treated with montelukast.",
        "[1] 奥美拉唑治疗反酸。[2] 雷尼替丁治疗反酸。[3] 铝碳酸镁治疗反酸。",
        "No. No.",
    ],
)
def test_a_list_of_alike_facts_does_not_loop(reply: str) -> None:
    assert not loops(reply)


def test_a_chinese_question_needs_a_chinese_answer_but_names_may_be_foreign() -> None:
    assert foreign("You should take omeprazole.", "zh")
    assert not foreign("奥美拉唑 (omeprazole) 可用", "zh")
    assert foreign("应该吃奥美拉唑。", "en")
    assert not foreign("Use 奥美拉唑, an acid reducer.", "en")


def test_a_letter_alone_and_an_unknown_language_are_never_foreign() -> None:
    assert not foreign("B", "zh")
    assert not foreign("应该吃奥美拉唑。", "fr")
