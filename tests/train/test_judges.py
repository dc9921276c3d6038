"""Judges, the reward model that their preferences teach, and its place in the same PPO."""

from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from made_cases import DISEASES, Table, made_split

torch: Any = pytest.importorskip("torch", reason="training needs torch")

from kgmed.errors import BadInput, SourceError  # noqa: E402
from kgmed.models.fakes import Scripted  # noqa: E402
from kgmed.models.limits import BudgetSpent  # noqa: E402
from kgmed.train import stages  # noqa: E402
from kgmed.train.policies import Free, tiny  # noqa: E402
from kgmed.train.preference import (  # noqa: E402
    ByLabels,
    ByLikelihood,
    ModelJudge,
    Pair,
    agreeing,
    judge_report,
    kept_verdicts,
    learn,
    response_pairs,
)
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
    judge = ByLikelihood(policy, "blank", str, at_once=2)
    assert judge([PAIR, Pair(PAIR.question, "gout", "flu"), Pair("blank", "flu", "gout")]) == [True, False, None]


class Knowing:
    """A judge that knows the disease of the train and validation cases; told what it was asked."""

    name = "knowing"

    def __init__(self, made: Task, most: int = 10_000) -> None:
        self.truth = {made.question(c): c.disease for c in made.train + made.validation}
        self.asked: list[Pair] = []
        self.most = most

    def __call__(self, asked: Any, /) -> list[bool | None]:
        if len(self.asked) + len(asked) > self.most:
            raise BudgetSpent("no more calls")
        self.asked += asked
        return [None if self.truth[p.question] not in p[1:] else self.truth[p.question] == p.first for p in asked]


def every_pair(questions: list[str], answers: tuple[str, ...]) -> list[Pair]:
    return [Pair(q, a, b) for q in questions for a, b in combinations(answers, 2)]


def told(made: Task, cases: Any) -> list[tuple[Pair, bool]]:
    asked = every_pair(made.questions(cases), made.diseases)
    return [(p, first) for p, first in zip(asked, Knowing(made)(asked), strict=True) if first is not None]


def test_the_reward_model_learns_a_judges_preferences_and_holds_on_questions_it_has_not_seen() -> None:
    made = task(made_split())
    model = learn(told(made, made.train), made.named)
    unseen = told(made, made.validation)
    assert agreeing(model, unseen) > 0.9 * len(unseen)
    best = [model.answers[int(model.shares(q).argmax())] for q in made.questions(made.validation)]
    assert sum(b == c.disease for b, c in zip(best, made.validation, strict=True)) > 0.9 * len(best)


def test_its_reward_is_a_share_and_an_answer_that_names_none_or_several_gets_the_floor() -> None:
    made = task(made_split())
    model = learn(told(made, made.train), made.named)
    asked = made.question(made.train[0])
    each = model([asked] * 3, DISEASES)
    assert sum(v for v in each if v is not None) == pytest.approx(1)
    assert each[DISEASES.index(made.train[0].disease)] == max(v for v in each if v is not None)
    assert model([asked] * 3, ["flu, gout", "", "not flu"]) == [FLOOR] * 3
    assert model([asked], ["FLU! flu."]) == [each[0]]


def test_verdicts_on_answers_that_name_nothing_teach_nothing() -> None:
    made = task(made_split())
    with pytest.raises(BadInput, match="decided on no pair"):
        learn([(Pair("q", "flu", "who knows"), True)], made.named)


def test_pairs_are_of_responses_that_name_two_diseases_and_every_question_has_one_before_any_has_two() -> None:
    start = [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [99.0, 0.0, 0.0]]
    policy = Table(["p", "q", "r"], ("flu", "I say flu", "gout"), start)

    def named(text: str) -> str | None:
        return text.split()[-1] if text != "?" else None

    found = response_pairs(policy, ["p", "q", "r", "p"], named, most=3, samples=20)
    assert [p.question for p in found] == ["p", "q"]  # r is always answered alike, and there are two diseases
    assert all({named(p.first), named(p.second)} == {"flu", "gout"} for p in found)
    assert found == response_pairs(policy, ["p", "q", "r", "p"], named, most=3, samples=20)
    more = Table(["p", "q"], ("flu", "gout", "scurvy"), [[0.0] * 3] * 2)
    third = response_pairs(more, ["p", "q"], str, most=3, samples=20)
    assert ([p.question for p in third[:2]], len(third)) == (["p", "q"], 3)


def test_a_judge_is_not_asked_about_responses_that_name_no_disease() -> None:
    policy = Table(["p", "q"], ("flu", "who knows"), [[0.0, 0.0], [0.0, 0.0]])
    with pytest.raises(BadInput, match="warm the policy up"):
        response_pairs(policy, ["p", "q"], lambda text: text if text == "flu" else None, most=3, samples=20)


def test_a_judge_that_is_always_right_teaches_the_diagnosis_itself(tmp_path: Path) -> None:
    made = task(made_split())
    judge = ByLabels({made.question(c): c.disease for c in made.train}, made.named)
    first = made.train[0]
    wrong = [d for d in DISEASES if d != first.disease]
    pairs = [Pair(made.question(first), first.disease, wrong[0]), Pair(made.question(first), wrong[0], first.disease)]
    assert judge([*pairs, Pair(made.question(first), wrong[0], wrong[1])]) == [True, False, None]
    asked = every_pair(made.questions(made.train), made.diseases)
    policy = Free(tiny(made.names, width=32), longest=1)
    reward, report = stages.reward_from_judge(judge, made, asked, policy, stages.RewardModel("words", tmp_path))
    assert report.as_labels == report.labelled > 50
    best = [max(DISEASES, key=lambda d, q=q: reward([q], [d])[0] or 0) for q in made.questions(made.validation)]  # type: ignore[misc]
    assert sum(b == c.disease for b, c in zip(best, made.validation, strict=True)) > 0.9 * len(best)


@pytest.mark.parametrize("line", ['{"x": 1}', '{"pair": 3, "first": true}', '{"pair": ["q"], "first": true}'])
def test_a_line_that_is_no_verdict_is_told(tmp_path: Path, line: str) -> None:
    path = tmp_path / "verdicts.jsonl"
    path.write_text('{"judge": "knowing"}\n' + line + "\n", encoding="utf-8")
    with pytest.raises(SourceError, match="no verdict; remove the line"):
        kept_verdicts(Knowing(task(made_split())), [PAIR], path)


def test_a_judging_that_ran_out_of_its_budget_goes_on_and_asks_nothing_twice(tmp_path: Path) -> None:
    made = task(made_split())
    asked = every_pair(made.questions(made.train[:10]), made.diseases)
    path, judge = tmp_path / "verdicts.jsonl", Knowing(made, most=20)
    with pytest.raises(BudgetSpent):
        kept_verdicts(judge, asked, path, each=8)
    assert len(judge.asked) == 16
    more = Knowing(made)
    found = kept_verdicts(more, asked, path, each=8)
    assert found == Knowing(made)(asked)
    assert len(more.asked) == len(set(asked)) - 16
    again = Knowing(made)
    assert kept_verdicts(again, asked, path) == found
    assert again.asked == []
    again.name = "other"
    with pytest.raises(BadInput, match="holds verdicts of knowing, not other"):
        kept_verdicts(again, asked, path)


def test_the_report_counts_agreement_with_labels_and_with_the_judge_on_held_out_questions() -> None:
    asked = [Pair("q", "flu", "gout"), Pair("r", "flu", "gout"), Pair("s", "flu", "gout"), Pair("t", "gout", "scurvy")]
    verdicts = [True, True, None, False]
    diseases = {"q": "flu", "r": "gout", "s": "flu", "t": "flu"}  # of t's answers neither is right

    def likes_flu(questions: Sequence[Any], answers: Sequence[str], /) -> list[float | None]:
        return [1.0 if a == "flu" else 0.0 for a in answers]

    found = judge_report(asked, verdicts, diseases, str, likes_flu, {"q"})
    assert (found.pairs, found.decided, found.labelled, found.as_labels) == (4, 3, 2, 1)
    assert (found.held, found.as_judge) == (2, 1)  # r and t; t's answers are worth the same
    assert "decided on 3 of 4 pairs" in found.lines()[0]


def test_a_language_model_as_reward_model_learns_the_judges_preferences(tmp_path: Path) -> None:
    pytest.importorskip("trl", reason="reward models of language models need trl")
    made = task(made_split(), listed=False)
    policy = Free(tiny(made.names, width=32), longest=1)
    asked = every_pair(made.questions(made.train), made.diseases)
    model = stages.RewardModel("", tmp_path, steps=80, rate=3e-3)
    reward, report = stages.reward_from_judge(Knowing(made), made, asked, policy, model)
    assert report.as_judge > 0.8 * report.held > 10
    assert report.as_labels == report.labelled > 50
    question = made.question(made.train[0])
    right, wrong = made.train[0].disease, next(d for d in DISEASES if d != made.train[0].disease)
    marks = reward([question] * 3, [right, wrong, "who knows"])
    assert marks[2] == FLOOR
    assert 1 > (marks[0] or 0) > (marks[1] or 0) > 0
    again, _ = stages.reward_from_judge(Knowing(made), made, asked, policy, model)
    assert again([question] * 2, [right, wrong]) == pytest.approx(marks[:2], abs=1e-6)
