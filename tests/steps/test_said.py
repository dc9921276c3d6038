"""Which options replies of all kinds settle on; every reply is made up."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgmed.steps.options import How, letter, mentions, parse_choice, plain

EN = (("A", "rice"), ("B", "vitamin B12"), ("C", "brown rice"), ("D", "salt, sugar"))
ZH = (("A", "米饭"), ("B", "维生素B12"), ("C", "糙米饭"), ("D", "盐、糖"), ("E", "B型果汁"))


@pytest.mark.parametrize(
    ("reply", "letters", "how"),
    [
        ("1: B", "B", "letters"),
        ("Output 1: C", "C", "letters"),
        ("(A) and (D)", "AD", "letters"),
        ("ACD", "ACD", "letters"),
        ("C: brown rice.", "C", "letters"),
        ("brown rice", "C", "letters"),
        ("The correct option is B, as it has cobalt.", "B", "stated"),
        ("The right options are A, C and D.", "ACD", "stated"),
        ("The answer is salt, sugar.", "D", "stated"),
        ("C. brown rice\n\nIt is not polished.", "C", "headline"),
        ("A: rice\nC: brown rice\n\nBoth are cereals.", "AC", "headline"),
        ("What she lacks is B: vitamin B12.", "B", "is"),
        ("The wrong one is D.", "D", "wrong one"),
        ("Option A is wrong. Option B is right.", "B", "verdicts"),
        ("Since she eats no meat I would give vitamin B12.", "B", "named"),
    ],
)
def test_an_english_reply_is_read(reply: str, letters: str, how: How) -> None:
    found = parse_choice(reply, EN)
    assert ("".join(found.letters), found.how) == (letters, how)


@pytest.mark.parametrize(
    ("reply", "letters", "how"),
    [
        ("Ｄ", "D", "letters"),
        ("糙米饭。", "C", "letters"),
        ("正确选项：A、C、D\n\n解释：\nB: 无关", "ACD", "stated"),
        ("正确的选项是\nA: 米饭\nC: 糙米饭\n\n原因是都含淀粉。", "AC", "stated"),
        ("答案为选项B。", "B", "stated"),
        ("应选择维生素B12。", "B", "stated"),
        ("故选D。", "D", "stated"),
        ("所有选项都正确。", "ABCDE", "stated"),
        ("D: 盐、糖\n\n其他选项与此无关。", "D", "headline"),
        ("她缺乏的是维生素B12（选项B）。", "B", "is"),
        ("错误的是C选项。", "C", "wrong one"),
        ("选项C是错误的，因为太硬。", "C", "wrong one"),
        ("给她吃糙米饭即可。", "C", "named"),
    ],
)
def test_a_chinese_reply_is_read(reply: str, letters: str, how: How) -> None:
    found = parse_choice(reply, ZH)
    assert ("".join(found.letters), found.how) == (letters, how)


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "I do not know.",
        "B or C",
        "正确选项是A或C。",
        "E",
        "The answer is F.",
        "A. vitamin B12",
        "The answer is A. The answer is C.",
        "A patient with anaemia",
        "无法确定。",
        "A: rice is food.\nB: vitamin B12 is food.\nC: brown rice is food.\nD: salt, sugar are food.",
    ],
)
def test_a_reply_that_settles_on_nothing_is_told_as_such(reply: str) -> None:
    assert parse_choice(reply, EN).letters == ()


def test_a_last_conclusion_outweighs_the_first_claim() -> None:
    assert parse_choice("The answer is A. But that lacks cobalt. Therefore the answer is B.", EN).letters == ("B",)
    assert parse_choice("正确选项是A。但其不含钴。综上所述，正确选项是B。", ZH).letters == ("B",)
    assert parse_choice("A: 米饭\n\n正确选项是C: 糙米饭", ZH).letters == ("C",)


def test_two_claims_without_a_conclusion_are_at_odds() -> None:
    assert parse_choice("正确选项是A。正确选项是C。", ZH).how == "at odds"


def test_a_list_of_all_options_names_none_of_them_but_its_verdicts_do() -> None:
    listed = "A: 米饭\n这个选项是{}的。\n\nB: 维生素B12\n这个选项是正确的。\n\nC: 糙米饭\n这个选项是正确的。"
    assert parse_choice(listed.format("错误"), ZH).letters == ("A",)
    assert parse_choice(listed.format("错误") + "\n\n综上所述，选项B和选项C是正确的。", ZH).letters == ("B", "C")
    refused = "".join(f"\n\n{letter}: {text}\n没有淀粉，所以不是。" for letter, text in ZH[1:])
    assert parse_choice("A: 米饭\n有淀粉。" + refused, ZH).letters == ("A",)


def test_what_is_refused_is_not_chosen() -> None:
    assert parse_choice("不应选A。", ZH).letters == ()
    assert parse_choice("The answer is not A.", EN).letters == ()
    assert parse_choice("其他选项A和C都无关。", ZH).how != "stated"


def test_a_letter_within_a_name_is_no_option() -> None:
    assert parse_choice("需要的是维生素C。", (("A", "米"), ("B", "盐"), ("C", "糖"))).letters == ()
    assert parse_choice("它是B型血的标志。", (("A", "米"), ("B", "盐"))).letters == ()


def test_a_text_within_another_options_text_does_not_name_it() -> None:
    assert mentions(EN).named("brown rice") == {"C"}
    assert mentions(EN).named("price") == set()
    assert mentions((("A", "rice"), ("B", "rice"))).named("rice") == set()


ILL = (("A", "肺炎"), ("B", "糖尿病"), ("C", "高血压"), ("D", "胃"))


@pytest.mark.parametrize("said", ["肺炎球菌感染", "肺炎链球菌", "肺炎支原体", "糖尿病肾病", "糖尿病酮症酸中毒", "胃癌"])
def test_a_chinese_name_that_goes_on_is_another_name(said: str) -> None:
    assert parse_choice(f"答案是{said}。", ILL).letters == ()
    assert parse_choice(f"答案是{said}。", (*ILL, ("E", said))).letters == ("E",)


@pytest.mark.parametrize(
    ("said", "letter"),
    [
        ("肺炎", "A"),
        ("肺炎是最常见的病", "A"),
        ("肺炎所致的感染", "A"),
        ("糖尿病病人", "B"),
        ("糖尿病并发症", "B"),
        ("糖尿病引起的肾病", "B"),
        ("高血压病", "C"),
        ("高血压和炎症", "C"),
        ("高血压，不是心脏病", "C"),
    ],
)
def test_a_chinese_name_that_grammar_follows_is_the_option(said: str, letter: str) -> None:
    assert parse_choice(f"答案是{said}。", ILL).letters == (letter,)


def test_a_question_without_options_has_no_choice() -> None:
    assert parse_choice("B", ()).letters == ()


def test_the_reader_of_single_letters_takes_an_option_stated_by_its_text() -> None:
    assert letter("The answer is brown rice.", EN) == "C"
    assert letter("正确选项是A、C。", ZH) == ""


@given(st.text(alphabet="ABCDE答案是选项正确错误不:：、，。 \n米饭糙-()因此1"), st.booleans())
def test_every_text_has_a_reading_of_known_letters(text: str, chinese: bool) -> None:
    options = ZH if chinese else EN
    found = parse_choice(text, options)
    assert set(found.letters) <= {x for x, _ in options}
    assert found == parse_choice(plain(text), options)
    assert bool(found.letters) or found.how in {"", "at odds"}
