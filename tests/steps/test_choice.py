import pytest

from kgmed.steps.options import chosen_letters

ABCD = (("A", "pneumonia"), ("B", "hand, foot and mouth disease"), ("C", "measles"), ("D", "mumps"))
ZH = (("A", "肺炎"), ("B", "手足口病"), ("C", "麻疹"))


@pytest.mark.parametrize(
    ("reply", "letters"),
    [
        ("B", ("B",)),
        ("(C).", ("C",)),
        ("A, C and D", ("A", "C", "D")),
        ("The answer is B.", ("B",)),
        ("Answer: **C**", ("C",)),
        ("I think so.\nAnswer: D\n", ("D",)),
        ("B. Hand, foot and mouth disease", ("B",)),
        ("C) measles, because of the rash", ("C",)),
        ("measles", ("C",)),
    ],
)
def test_a_clear_english_choice_is_read(reply: str, letters: tuple[str, ...]) -> None:
    assert chosen_letters(reply, ABCD) == letters


@pytest.mark.parametrize(
    ("reply", "letters"),
    [
        ("答案：A", ("A",)),
        ("答案是ＡＣ。", ("A", "C")),
        ("正确选项为B，因为有皮疹", ("B",)),
        ("Ｂ", ("B",)),
        ("B、手足口病", ("B",)),
    ],
)
def test_a_clear_chinese_choice_is_read_in_either_width(reply: str, letters: tuple[str, ...]) -> None:
    assert chosen_letters(reply, ZH) == letters


@pytest.mark.parametrize(
    "reply",
    [
        "A. Hand, foot and mouth disease",  # letter and text differ
        "The answer is A. No, the answer is C.",
        "The answer is a matter of taste.",
        "E",
        "Answer: A, E",
        "It is pneumonia or measles",
        "",
        "A patient with measles",
        "I do not know.",
    ],
)
def test_a_doubtful_choice_is_none(reply: str) -> None:
    assert chosen_letters(reply, ABCD) == ()


def test_an_open_question_has_no_choice() -> None:
    assert chosen_letters("B", ()) == ()
