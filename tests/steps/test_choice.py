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


@pytest.mark.parametrize(
    ("reply", "options", "letters"),
    [
        ("The patient has measles, which is a disease of children.", ABCD, ("C",)),
        ("The child is most likely suffering from mumps.", ABCD, ("D",)),
        ("The most likely diagnosis is pneumonia.", ABCD, ("A",)),
        ("Diagnosis: measles", ABCD, ("C",)),
        ("患者患有麻疹，因为有皮疹。", ZH, ("C",)),
        ("诊断：手足口病", ZH, ("B",)),
        ("最可能的疾病是肺炎。", ZH, ("A",)),
    ],
)
def test_a_diagnosis_is_a_choice_where_no_other_option_is_named(
    reply: str, options: tuple[tuple[str, str], ...], letters: tuple[str, ...]
) -> None:
    assert chosen_letters(reply, options) == letters


@pytest.mark.parametrize(
    ("reply", "options"),
    [
        ("The patient does not have measles.", ABCD),
        ("The patient has measles or mumps.", ABCD),
        ("The patient has measles. Pneumonia is possible.", ABCD),
        ("If the patient has measles, stay at home.", ABCD),
        ("It is unclear whether the child has mumps.", ABCD),
        ("Measles is dangerous.", ABCD),
        ("不考虑肺炎。", ZH),
        ("不能诊断为肺炎。", ZH),
        ("患者患有肺炎球菌感染。", ZH),
        ("如果患有麻疹，应隔离。", ZH),
    ],
)
def test_a_diagnosis_denied_doubted_or_beside_another_is_no_choice(
    reply: str, options: tuple[tuple[str, str], ...]
) -> None:
    assert chosen_letters(reply, options) == ()


def test_an_answer_that_is_stated_counts_before_a_diagnosis() -> None:
    assert chosen_letters("The patient has measles. The answer is D.", ABCD) == ("D",)


def test_an_open_question_has_no_choice() -> None:
    assert chosen_letters("B", ()) == ()
