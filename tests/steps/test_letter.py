import pytest

from kgmed.errors import ModelFailed
from kgmed.methods.mkg_rank import LetterReader
from kgmed.models.fakes import Scripted
from kgmed.records import Context, Query, Question
from kgmed.steps.options import letter

ABCD = (("A", "gout"), ("B", "influenza"), ("C", "measles"), ("D", "mumps"))


@pytest.mark.parametrize(
    "reply",
    [
        "B",
        "(B)",
        "[B]",
        "Ｂ。",
        "**B**",
        "B. influenza",
        "The answer is B.",
        "A is gout, which is chronic. Option C has a rash.\nSo the answer is (B).",
        "Fever and cough point to influenza.\n[B]",
        "Answer choice A is wrong. The correct answer is B because of the fever.",
        "答案：B",
        "因此正确答案是 B。",
        "应选B。",
        "正解はBです。",
        "答え：Ｂ",
        "正しい選択肢はBです。",
        "정답은 B입니다.",
        "정답: B",
        "Jibu sahihi ni B.",
        "Jibu: B",
        "Option B is correct.",
        "influenza",
    ],
)
def test_the_letter_is_found_in_five_languages(reply: str) -> None:
    assert letter(reply, ABCD) == "B"


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "I do not know.",
        "The answer is A or B.",
        "A, B",
        "答案是A和B",
        "答案可能是B",
        "答えはAまたはBです。",
        "Bかもしれません。",
        "정답은 A 또는 B입니다.",
        "아마 B입니다.",
        "Jibu ni A au B.",
        "Labda jibu ni B.",
        "Maybe the answer is B.",
        "I am not sure.\nB",
        "The answer is A. No, the answer is B.",
        "E",
        "The answer is a fever.",
        "A patient may have anything.",
    ],
)
def test_hedging_and_several_letters_choose_nothing(reply: str) -> None:
    assert letter(reply, ABCD) == ""


def test_a_reply_without_a_letter_is_told_apart_from_a_wrong_one() -> None:
    query = Query(Question("Which one?", ABCD))
    wrong, none = (LetterReader(Scripted([reply]))(query, Context("")) for reply in ("[A]", "Hard to say."))
    assert (wrong.choices, wrong.limits) == (("A",), "")
    assert (none.choices, none.limits) == ((), "the reply chooses no single option")


def test_the_model_sees_options_and_evidence_and_an_open_question_is_refused() -> None:
    llm = Scripted(["[B]"])
    LetterReader(llm)(Query(Question("Which one?", ABCD)), Context("[1] flu has fever"))
    assert "D. mumps" in llm.asked[0][-1].text
    assert "[1] flu has fever" in llm.asked[0][-1].text
    with pytest.raises(ModelFailed, match="options"):
        LetterReader(llm)(Query(Question("Why?")), Context(""))


def test_the_statement_of_the_answer_outranks_verdicts_on_single_options() -> None:
    assert letter("A正确：常见。B正确：也常见。C错误：相反。\n答案：C", ABCD) == "C"
    assert letter("A正确：常见。B正确：也常见。", ABCD) == ""
