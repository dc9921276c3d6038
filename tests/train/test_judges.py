"""Judges, the reward model that their preferences teach, and its place in the same PPO."""

from typing import Any

import pytest

from made_cases import DISEASES, Table, made_split

torch: Any = pytest.importorskip("torch", reason="training needs torch")

from kgmed.errors import BadInput  # noqa: E402
from kgmed.models.fakes import Scripted  # noqa: E402
from kgmed.train.preference import ByLikelihood, ModelJudge, Pair, learn, pairs  # noqa: E402
from kgmed.train.task import FLOOR, Task, task  # noqa: E402

PAIR = Pair("Fever. Diagnosis:", "flu", "gout")


@pytest.mark.parametrize(
    ("replies", "verdict"),
    [
        (["1", "2"], True),
        (["2", "1"], False),
        (["1", "1"], None),  # always the first: the order decided, not the answers
        (["Answer 1.", "I choose 2"], True),
        (["1 or 2", "2"], None),
        (["neither", "2"], None),
        (["12", "2"], None),
    ],
)
def test_a_model_is_asked_in_both_orders_and_believed_where_it_agrees_with_itself(
    replies: list[str], verdict: bool | None
) -> None:
    llm = Scripted(replies)
    assert ModelJudge(llm)([PAIR]) == [verdict]
    assert "1: gout\n2: flu" in llm.asked[1][-1].text


def test_a_chinese_question_is_judged_in_chinese() -> None:
    llm = Scripted(["1", "2"])
    assert ModelJudge(llm)([Pair("症状：发烧。", "感冒", "痛风")]) == [True]
    assert "患者" in llm.asked[0][0].text


def test_likelihood_prefers_what_the_question_makes_likelier_not_what_is_likely_anyway() -> None:
    # gout is likelier after both, but the question raises flu from 1/10 to 4/10
    shares = torch.tensor([[0.4, 0.6], [0.1, 0.9]]).log().tolist()
    policy = Table([PAIR.question, "blank"], ("flu", "gout"), shares)
    judge = ByLikelihood(policy, "blank", at_once=2)
    assert judge([PAIR, Pair(PAIR.question, "gout", "flu"), Pair("blank", "flu", "gout")]) == [True, False, None]


def knowing(made: Task, right: float = 1.0) -> Any:
    """A judge that knows the disease of the train and validation cases."""
    truth = {made.question(c): c.disease for c in made.train + made.validation}
    return lambda asked: [None if truth[p.question] not in p[1:] else truth[p.question] == p.first for p in asked]


def test_the_reward_model_learns_a_judges_preferences_and_holds_on_questions_it_has_not_seen() -> None:
    made = task(made_split())
    judge = knowing(made)
    model = learn(judge, pairs(made.questions(made.train), made.diseases), made.named)
    unseen = pairs(made.questions(made.validation), made.diseases)
    assert model.agreement(unseen, judge(unseen)) > 0.9
    best = [model.answers[int(model.shares(q).argmax())] for q in made.questions(made.validation)]
    assert sum(b == c.disease for b, c in zip(best, made.validation, strict=True)) > 0.9 * len(best)


def test_its_reward_is_a_share_and_an_answer_that_names_none_or_several_gets_the_floor() -> None:
    made = task(made_split())
    model = learn(knowing(made), pairs(made.questions(made.train), made.diseases), made.named)
    asked = made.question(made.train[0])
    each = model([asked] * 3, DISEASES)
    assert sum(v for v in each if v is not None) == pytest.approx(1)
    assert each[DISEASES.index(made.train[0].disease)] == max(v for v in each if v is not None)
    assert model([asked] * 3, ["flu, gout", "", "not flu"]) == [FLOOR] * 3
    assert model([asked], ["FLU! flu."]) == [each[0]]


def test_a_judge_that_decides_nothing_teaches_nothing() -> None:
    made = task(made_split())
    with pytest.raises(BadInput, match="decided on none"):
        learn(lambda asked: [None] * len(asked), pairs(made.questions(made.train), made.diseases), made.named)
