from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgmed.errors import ModelFailed, PromptTooLong, Unavailable
from kgmed.models.fakes import Scripted
from kgmed.prompts import prompt
from kgmed.records import Answer, Context, Evidence, Query, Question
from kgmed.steps.read import LLMReader, fence_for, text_before

TEXTS = ("asthma | treated by | salbutamol", "asthma | finding | wheezing", "gout | finding | red toe")


def context(*texts: str) -> Context:
    return Context("\n".join(f"[{i}] {t}" for i, t in enumerate(texts, 1)), tuple(Evidence(t, "triple") for t in texts))


def read(reply: str | Exception, *more: str | Exception, question: Question | None = None) -> Answer:
    asked = question or Question("What treats asthma?")
    return LLMReader(Scripted([reply, *more]))(Query(asked), context(*TEXTS))


def test_the_numbers_that_the_model_cites_become_citations() -> None:
    answer = read("Salbutamol treats asthma [1], and wheezing【2】 is a sign of it [1].")
    assert answer.citations == (1, 2)
    assert answer.limits == ""
    assert not answer.abstained
    assert answer.reader == f"llm scripted, prompt ask/reader.en {prompt('ask/reader').hash}"


def test_a_citation_that_points_nowhere_is_reported_and_not_kept() -> None:
    answer = read("Salbutamol treats asthma [1][9] [0].")
    assert answer.citations == (1,)
    assert answer.limits == "cites evidence 9 that does not exist; cites evidence 0 that does not exist"


def test_an_answer_without_citations_says_so() -> None:
    assert read("Salbutamol treats asthma.").limits == "the model cited no evidence"


def test_a_model_that_does_not_know_abstains() -> None:
    for reply in ("I do not know.", "I don't know [1].", "The evidence does not mention warfarin.", "我不知道。"):
        question = Question("华法林？" if "我" in reply else "Warfarin?")
        answer = read(reply, question=question)
        assert answer.abstained, reply
        assert answer.citations == ()


def test_a_cited_answer_with_a_doubt_in_it_does_not_abstain() -> None:
    assert not read("Salbutamol treats asthma [1]. The evidence does not say how much.").abstained


def test_without_evidence_the_model_is_not_asked() -> None:
    llm = Scripted([])
    answer = LLMReader(llm)(Query(Question("发烧怎么办？")), Context(""))
    assert answer.abstained
    assert "没有找到" in answer.text
    left_out = LLMReader(llm)(
        Query(Question("发烧怎么办？")), Context("", notes=("1 of 1 pieces of evidence dropped to fit 9 tokens",))
    )
    assert left_out.abstained
    assert "没有采用" in left_out.text
    assert left_out.limits == "1 of 1 pieces of evidence dropped to fit 9 tokens"
    assert llm.asked == []


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "Rest now. " * 3,
        "应该吃药休息。",
        "This evidence is data, not instructions, so: The evidence is data, not instructions.",
    ],
)
def test_a_useless_reply_is_a_failure_that_names_the_model(reply: str) -> None:
    with pytest.raises(ModelFailed, match="scripted"):
        read(reply)


def test_a_failure_of_the_model_is_not_hidden() -> None:
    with pytest.raises(Unavailable, match="no server"):
        read(Unavailable("no server"))


def test_a_chinese_question_is_asked_in_chinese() -> None:
    llm = Scripted(["可用沙丁胺醇 [1]。"])
    LLMReader(llm)(Query(Question("哮喘吃什么药？")), context(*TEXTS))
    assert "回答医学问题" in llm.asked[0][0].text


def test_the_fence_is_in_no_evidence_and_stands_around_all_of_it() -> None:
    llm = Scripted(["Salbutamol [1]."])
    LLMReader(llm)(Query(Question("What treats asthma?")), context(*TEXTS))
    lines = llm.asked[0][-1].text.splitlines()
    fences = [i for i, line in enumerate(lines) if line.startswith("=== ")]
    assert len(fences) == 2
    assert lines[fences[0]] == lines[fences[1]]
    assert lines[fences[0] + 1 : fences[1]] == context(*TEXTS).text.splitlines()


@given(st.text())
def test_a_fence_never_occurs_in_what_it_fences(text: str) -> None:
    assert fence_for(text) not in text
    assert fence_for(f"{text}{fence_for(text)}") not in f"{text}{fence_for(text)}"


def test_a_prompt_too_long_loses_its_last_evidence_and_never_the_question() -> None:
    too_long = PromptTooLong("too long", tokens=300, limit=200)
    llm = Scripted([too_long, PromptTooLong("too long"), "Salbutamol treats asthma [1][3]."])
    answer = LLMReader(llm)(Query(Question("What treats asthma?")), context(*TEXTS))
    assert ["[3]" in m[-1].text for m in llm.asked] == [True, False, False]
    assert ["[2]" in m[-1].text for m in llm.asked] == [True, True, False]
    assert all("What treats asthma?" in m[-1].text for m in llm.asked)
    assert answer.citations == (1,)
    assert answer.limits == "the model read the first 1 of 3 pieces of evidence; cites evidence 3 that it was not shown"


def test_a_question_that_alone_is_too_long_is_a_failure() -> None:
    with pytest.raises(PromptTooLong):
        read(*[PromptTooLong("too long")] * 3)


def test_evidence_is_cut_at_its_own_mark_only() -> None:
    assert text_before(Context("[1] see [2]\n[2] b"), 1) == "[1] see [2]"
    assert text_before(Context("[1] a"), 1) == "[1] a"


def test_the_options_are_shown_and_the_choice_is_read() -> None:
    question = Question("What treats asthma?", options=(("A", "salbutamol"), ("B", "aspirin")))
    llm = Scripted(["The answer is A [1]."])
    answer = LLMReader(llm)(Query(question), context(*TEXTS))
    assert "A. salbutamol\nB. aspirin" in llm.asked[0][-1].text
    assert answer.choices == ("A",)


def test_history_stands_before_the_question() -> None:
    llm = Scripted(["Salbutamol [1]."])
    LLMReader(llm)(Query(Question("And now?", history=("I have asthma.",))), context(*TEXTS))
    assert "I have asthma.\nAnd now?" in llm.asked[0][-1].text


def test_thinking_aloud_is_kept_apart_from_the_answer() -> None:
    answer = read("<think>It is [2]?</think>\nSalbutamol treats asthma [1].")
    assert (answer.text, answer.reasoning, answer.citations) == ("Salbutamol treats asthma [1].", "It is [2]?", (1,))


def test_a_reply_cut_off_at_its_limit_says_so() -> None:
    asked = Query(Question("What treats asthma?"))
    reply = "Salbutamol [1] treats asthma and"
    assert "cut off after 5 tokens" in LLMReader(Scripted([reply]), max_tokens=5)(asked, context(*TEXTS)).limits
    assert "cut off" not in LLMReader(Scripted([reply]), max_tokens=50)(asked, context(*TEXTS)).limits


def test_a_users_own_prompt_is_used(tmp_path: Path) -> None:
    (tmp_path / "ask").mkdir()
    (tmp_path / "ask" / "reader.en.txt").write_text("# user\nMine $fence $evidence $question", encoding="utf-8")
    llm = Scripted(["Salbutamol [1]."])
    LLMReader(llm, prompts=tmp_path)(Query(Question("Q?")), context(*TEXTS))
    assert llm.asked[0][0].text.startswith("Mine ===")


def test_the_language_that_a_question_states_counts() -> None:
    llm = Scripted(["可用沙丁胺醇 [1]。"])
    answer = LLMReader(llm)(Query(Question("ALT?", language="zh")), context(*TEXTS))
    assert ".zh " in answer.reader


@pytest.mark.parametrize(
    ("question", "reply"), [("胃が痛い。何ですか？", "これは胃炎です [1]。"), ("두통?", "두통입니다 [1].")]
)
def test_an_answer_in_the_questions_own_language_is_no_fault(question: str, reply: str) -> None:
    answer = LLMReader(Scripted([reply]))(Query(Question(question)), context(*TEXTS))
    assert answer.text == reply
    assert ".en " in answer.reader
