import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgmed.prompts import ASSISTED, tasked
from kgmed.records import Answer, Context, Entity, Evidence, Query, Question, Relation, Role, Triple, Verdict
from kgmed.steps.citations import Citations
from kgmed.steps.label import Labelled


def fact(head: str, relation: str, tail: str, role: Role = Role.OTHER, text: str = "") -> Evidence:
    triple = Triple(Entity(head, head), Relation(relation, role), Entity(tail, tail))
    return Evidence(text or f"{head} | {relation} | {tail}", "triple", (triple,))


EVIDENCE = (
    fact("type 2 diabetes", "treated by", "metformin", Role.TREATS),
    fact("warfarin", "contraindicated in", "pregnancy", Role.CONTRAINDICATED),
    fact("Marfan syndrome", "gene", "FBN1", Role.GENE),
    fact("metformin", "dose", "500 mg twice daily", Role.DOSAGE),
    fact("胃食管反流病", "药物治疗", "奥美拉唑", Role.TREATS),
    fact("Duchenne muscular dystrophy", "finding", "calf muscle pseudohypertrophy", Role.FINDING),
)
DRUGS = ("metformin", "insulin", "warfarin", "奥美拉唑", "雷尼替丁")


def drugs(text: str) -> set[str]:
    return {d for d in DRUGS if d in text.casefold()}


def verdict(sentence: str, asked: str = "What should be done?") -> Verdict:
    return Citations(names=drugs).verdict(sentence, asked, EVIDENCE)


@pytest.mark.parametrize(
    ("sentence", "citations"),
    [
        ("Metformin treats type 2 diabetes [1].", (1,)),
        ("The drug used to treat type 2 diabetes is metformin.", (1,)),
        ("The gene that causes Marfan syndrome is FBN1.", (3,)),
        ("Warfarin must not be taken in pregnancy [2].", (2,)),
        ("Metformin is given at 500 mg twice daily.", (4,)),
        ("可用奥美拉唑治疗胃食管反流病。", (5,)),
        ("胃食管反流病可用奥美拉唑【5】。", (5,)),
        ("It could be Duchenne muscular dystrophy.", (6,)),
    ],
)
def test_a_sentence_that_says_what_the_evidence_says_stands_on_it(sentence: str, citations: tuple[int, ...]) -> None:
    found = verdict(sentence)
    assert found.supported, found.reason
    assert found.citations == citations


@pytest.mark.parametrize(
    ("sentence", "reason"),
    [
        ("Aspirin prevents stroke.", "0% of its terms"),
        ("Metformin treats type 2 diabetes [3].", "0% of its terms"),  # true, but not by what it cites
        ("Metformin and insulin treat type 2 diabetes [1].", "insulin is not in the evidence"),
        ("Metformin is given at 850 mg twice daily.", "the number 850"),
        ("Metformin causes type 2 diabetes [1].", "that something causes"),
        ("FBN1 treats Marfan syndrome [3].", "that something treats"),
        ("Warfarin can be taken in pregnancy [2].", "says what the evidence denies"),
        ("Metformin does not treat type 2 diabetes [1].", "denies what the evidence says"),
        ("胃食管反流病可用奥美拉唑和雷尼替丁治疗【5】。", "雷尼替丁 is not in the evidence"),
        ("多喝热水就会好。", "0% of its terms"),
        ("Take metformin 5 times [7].", "of its terms"),
        ("Yes.", "says nothing"),
        ("It is what it is.", "could be checked"),
    ],
)
def test_a_sentence_that_says_something_else_does_not_stand_and_says_why(sentence: str, reason: str) -> None:
    found = verdict(sentence)
    assert not found.supported
    assert reason in found.reason


def test_repeating_the_words_of_the_question_is_no_support() -> None:
    asked = "Which drug treats type 2 diabetes?"
    assert not verdict("Aspirin treats type 2 diabetes.", asked).supported
    assert verdict("Metformin treats type 2 diabetes.", asked).supported


def test_a_number_and_an_entity_of_the_question_may_be_repeated() -> None:
    asked = "I take 850 mg of insulin. What treats type 2 diabetes?"
    assert verdict("With 850 mg of insulin, metformin treats type 2 diabetes.", asked).supported


def test_without_a_recogniser_strange_names_are_caught_only_by_their_share() -> None:
    mixed = "Metformin and insulin treat type 2 diabetes [1]."
    assert Citations().verdict(mixed, "What?", EVIDENCE).supported
    assert not Citations().verdict("Insulin and glipizide treat obesity [1].", "What?", EVIDENCE).supported


def test_the_threshold_decides() -> None:
    half = "Omeprazole FBN1."
    assert not Citations(threshold=0.6).verdict(half, "What?", EVIDENCE).supported
    assert Citations(threshold=0.5).verdict(half, "What?", EVIDENCE).supported


def check(text: str, *, citations: tuple[int, ...] = (), question: str = "What should be done?") -> Answer:
    query = Query(Question(question))
    return Citations(names=drugs)(query, Context("", EVIDENCE), Answer(text, citations=citations))


def test_each_sentence_has_its_verdict_and_uncited_ones_are_cited() -> None:
    answer = check(
        "Metformin treats type 2 diabetes. Aspirin prevents stroke. FBN1 is the gene of Marfan syndrome [3]."
    )
    assert [v.supported for v in answer.verdicts] == [True, False, True]
    assert answer.citations == (1, 3)


def test_what_the_model_cited_stays_cited_except_what_is_not_there() -> None:
    assert check("Aspirin prevents stroke [2].", citations=(2, 9)).citations == (2,)


def test_an_abstention_is_left_as_it_is() -> None:
    answer = Answer("I do not know.", abstained=True)
    assert Citations()(Query(Question("?")), Context("", EVIDENCE), answer) is answer


def test_without_evidence_nothing_stands() -> None:
    found = Citations().verdict("Metformin treats type 2 diabetes.", "What?", ())
    assert not found.supported
    assert found.citations == ()


@given(st.text())
def test_any_text_can_be_checked_and_cites_only_what_is_there(text: str) -> None:
    answer = check(text)
    assert all(1 <= n <= len(EVIDENCE) for n in answer.citations)
    assert all(v.citations for v in answer.verdicts if v.supported)


@given(st.text(alphabet="abcdefg xyz.[]1234", max_size=60))
def test_a_text_of_other_words_never_stands(text: str) -> None:
    evidence = (fact("肺炎", "症状", "咳嗽"),)
    answer = Citations()(Query(Question("?")), Context("", evidence), Answer(text))
    assert not any(v.supported for v in answer.verdicts)


def checked(text: str, *, strict: bool = False) -> Answer:
    answer = Answer(text, limits="the model cited no evidence", reader="llm fake")
    query = Query(Question("What should be done?"))
    return Labelled(Citations(names=drugs), strict=strict)(query, Context("", EVIDENCE), answer)


def test_only_what_stands_is_shown_with_its_marks_and_the_rest_is_counted() -> None:
    answer = checked("Metformin treats type 2 diabetes. Aspirin prevents stroke.", strict=True)
    assert answer.text == "Metformin treats type 2 diabetes [1]."
    assert answer.citations == (1,)
    assert "left out, as the evidence does not support them: 1 of 2" in answer.limits
    assert len(answer.verdicts) == 2


def test_a_warning_without_support_is_shown_and_said_to_be_so() -> None:
    answer = checked("Metformin treats type 2 diabetes. Avoid alcohol.", strict=True)
    assert answer.text == "Metformin treats type 2 diabetes [1]. Avoid alcohol. [the model's own]"
    assert "sentences of the model's own, which the evidence does not support: 1" in answer.limits


def test_what_the_evidence_does_not_bear_out_is_shown_and_marked_as_the_models_own() -> None:
    answer = checked("Metformin treats type 2 diabetes. Aspirin prevents stroke.")
    assert answer.text == "Metformin treats type 2 diabetes [1]. Aspirin prevents stroke. [the model's own]"
    assert answer.citations == (1,)
    assert "sentences of the model's own, which the evidence does not support: 1" in answer.limits
    assert "left out" not in answer.limits


def test_an_answer_of_which_nothing_stands_is_shown_as_the_models_own() -> None:
    said = "Aspirin prevents stroke. [the model's own]"
    with tasked(ASSISTED):
        assert checked("Aspirin prevents stroke.").text == said
    nothing = "The evidence supports nothing that the language model said."
    assert (
        checked("Aspirin prevents stroke.").text == f"{nothing}\n{said}"
    )  # where the evidence is all that may be said
    assert checked("Aspirin prevents stroke.", strict=True).text.startswith("The evidence supports nothing")


def test_marks_stand_in_the_text_as_it_was_written() -> None:
    text = "Metformin treats type 2 diabetes.\n\n- Aspirin prevents stroke.\n- It is not in the evidence.\nAnswer: B"
    assert checked(text).text == (
        "Metformin treats type 2 diabetes [1].\n\n- Aspirin prevents stroke. [the model's own]\n"
        "- It is not in the evidence.\nAnswer: B"
    )
    assert checked(text, strict=True).text == (
        "Metformin treats type 2 diabetes [1].\n\n- It is not in the evidence.\nAnswer: B"
    )


@pytest.mark.parametrize(
    "text",
    [
        "The evidence does not say how safe it is [1].",
        "Nothing of this is mentioned in the evidence.",
        "I do not know.",
        "证据中没有提到剂量。",
        "Answer: B",
    ],
)
def test_to_say_that_the_evidence_is_silent_is_neutral(text: str) -> None:
    assert [v.label for v in checked(text).verdicts] == ["neutral"]


def test_what_is_claimed_beside_is_not() -> None:
    text = "The evidence does not mention aspirin, which is safe with warfarin."
    assert [v.label for v in checked(text).verdicts] == ["unsupported"]


def test_chinese_sentences_are_marked_before_their_full_stop() -> None:
    assert checked("可用奥美拉唑治疗胃食管反流病。").text == "可用奥美拉唑治疗胃食管反流病 [5]。"
