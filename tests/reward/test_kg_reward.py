"""The reward of an answer, and what does not pay."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kgmed
from kgmed.errors import BadInput, UnknownName
from kgmed.graph.base import Alias, EdgeRow, NodeRow
from kgmed.records import Question
from kgmed.reward.cases import Case, CauseGraph, NamesIn, case_in
from kgmed.reward.criticality import Criticality
from kgmed.reward.graph_reward import (
    KGReward,
    Outcome,
    best_of,
    for_trl,
    preferences,
    shape_scores,
    tally,
    veto,
)
from named_graph import small

GRAPH = CauseGraph.of(
    {
        "flu": {"fever": 5, "cough": 3},
        "cold": {"cough": 5, "runny nose": 4},
        "gout": {"joint pain": 9},
        "肺炎": {"fever": 2, "cough": 4},
    }
)
NAMES = {"flu": ["influenza", "the grippe"], "cold": [], "gout": [], "肺炎": ["pneumonia"]}
SCORER = Criticality(GRAPH, temperature=0.1)
SYMPTOMS = case_in(NamesIn({**{s: [] for s in GRAPH.symptoms}, "fever": ["发热"], "cough": ["咳嗽"]}))
REWARD = KGReward(SCORER, NamesIn(NAMES), SYMPTOMS)
ASKED = "I have fever and a cough."
SCORES = dict(zip(GRAPH.diseases, SCORER([Case("", ("fever", "cough"))])[0], strict=True))


def one(answer: str, question: str | Question = ASKED, reward: KGReward = REWARD) -> tuple[float | None, str]:
    (judged,) = reward.judge([question], [answer])
    return judged.reward, judged.outcome.value


def test_an_answer_is_worth_the_score_of_the_disease_it_names() -> None:
    assert one("It is flu.") == (SCORES["flu"], "one")
    assert one("诊断为肺炎。", Question("患者发热，咳嗽。")) == (SCORES["肺炎"], "one")


@pytest.mark.parametrize(
    "answer", ["Influenza", "the GRIPPE!", "It's the ＦＬＵ", "flu (influenza)", "not a cold but flu"]
)
def test_aliases_width_and_case_change_nothing_and_what_is_denied_does_not_count(answer: str) -> None:
    assert one(answer) == one("flu")


@pytest.mark.parametrize("answer", ["", "UNKNOWN", "influenzal", "affluence", "It is not flu.", "scurvy"])
def test_an_answer_without_a_disease_of_the_list_is_worth_nothing(answer: str) -> None:
    assert one(answer) == (0.0, "none")


def test_several_diseases_are_worth_nothing() -> None:
    assert one("flu or cold") == (0.0, "several")
    shared = KGReward(SCORER, NamesIn({"flu": ["it"], "cold": ["it"]}), SYMPTOMS)
    assert one("it", reward=shared) == (0.0, "several")


def test_a_disease_that_nothing_links_to_the_patient_is_worth_nothing() -> None:
    assert one("gout") == (0.0, "outside")


def test_a_question_without_a_known_symptom_cannot_be_judged() -> None:
    assert REWARD(["What is love?", "No fever."], ["flu", "flu"]) == [None, None]


def test_outcomes_are_counted() -> None:
    answers = ["flu", "flu, cold", "gout", "hm"]
    assert tally(REWARD.judge([ASKED] * 4, answers)) == {"one": 1, "several": 1, "outside": 1, "none": 1, "unjudged": 0}
    assert set(tally([])) == {o.value for o in Outcome}


def test_many_questions_are_judged_as_each_alone() -> None:
    questions = [ASKED, "joint pain", "hello", "runny nose, no cough"]
    answers = ["flu", "gout", "flu", "cold"]
    assert REWARD(questions, answers) == [REWARD([q], [a])[0] for q, a in zip(questions, answers, strict=True)]
    with pytest.raises(BadInput, match="1 questions"):
        REWARD(["a"], ["b", "c"])


@pytest.mark.parametrize("shaping", ["flat", "rank", "z"])
@given(st.lists(st.sampled_from(sorted(NAMES)), min_size=2, max_size=6), st.integers(1, 30))
def test_listing_repeating_and_padding_do_not_pay(shaping: str, listed: list[str], times: int) -> None:
    reward = KGReward(SCORER, NamesIn(NAMES), SYMPTOMS, shaping)  # type: ignore[arg-type]
    alone = {d: one(d, reward=reward)[0] or 0.0 for d in listed}
    assert one(", ".join(listed), reward=reward)[0] in ({alone[listed[0]]} if len(set(listed)) == 1 else {0.0})
    name = listed[0]
    assert one(f"{name}. " * times, reward=reward)[0] == alone[name]
    assert one("Surely, beyond all doubt, " * times + name, reward=reward)[0] == alone[name]
    assert one("UNKNOWN " * times, reward=reward)[0] == 0.0
    assert min(alone.values()) >= 0.0


@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=8), st.sampled_from(["flat", "rank", "z"]))
def test_shaping_keeps_the_order_and_pays_nothing_below_nothing(row: list[float], shaping: str) -> None:
    values = shape_scores(np.array([*row, np.nan]), shaping)  # type: ignore[arg-type]
    assert np.isnan(values[-1])
    assert (values[:-1] >= 0).all()
    for a, x in zip(row, values, strict=False):
        assert all(x >= y for b, y in zip(row, values, strict=False) if a >= b)


def test_shaping_spreads_what_a_flat_reward_leaves_nearly_equal() -> None:
    flat = np.array([0.26, 0.25, 0.25, 0.24])
    assert shape_scores(flat, "rank").tolist() == [1.0, 0.5, 0.5, 0.0]
    assert shape_scores(flat, "z")[0] - shape_scores(flat, "z")[1] > 1.0
    assert shape_scores(np.array([0.3]), "rank").tolist() == [1.0]
    assert shape_scores(np.array([0.5, 0.5]), "z").tolist() == [0.0, 0.0]


def test_settings_that_would_pay_for_silence_are_refused() -> None:
    with pytest.raises(BadInput, match="must not be paid"):
        KGReward(SCORER, NamesIn(NAMES), SYMPTOMS, otherwise=0.1)
    with pytest.raises(UnknownName, match="rank"):
        KGReward(SCORER, NamesIn(NAMES), SYMPTOMS, "rnk")  # type: ignore[arg-type]
    with pytest.raises(BadInput, match="no word"):
        NamesIn({"...": []})


def test_a_penalty_for_unusable_answers_can_be_set() -> None:
    assert one("hm", reward=KGReward(SCORER, NamesIn(NAMES), SYMPTOMS, otherwise=-0.5)) == (-0.5, "none")


def test_symptoms_of_a_question_keep_their_signs() -> None:
    case = SYMPTOMS("Fever, no cough. 患者否认咳嗽。 Runny nose? No runny nose.")
    assert case == Case("", ("fever",), ("cough",), ("runny nose",))
    assert SYMPTOMS("hello") is None


def test_the_longest_name_is_found_and_none_inside_it() -> None:
    find = NamesIn({"肺炎": ["pneumonia"], "支气管肺炎": ["bronchial pneumonia"]})
    assert [sorted(f.names) for f in find("考虑支气管肺炎；bronchial pneumonias, pneumonia")] == [
        ["支气管肺炎"],
        ["支气管肺炎"],
        ["肺炎"],
    ]


def test_of_two_names_that_begin_alike_the_longer_is_found() -> None:
    find = NamesIn({"肺炎": ["lung disease"], "肺炎链球菌感染": ["lung"]})
    assert [sorted(f.names) for f in find("肺炎链球菌感染, lung disease, lung")] == [
        ["肺炎链球菌感染"],
        ["肺炎"],
        ["肺炎链球菌感染"],
    ]


def test_the_best_of_several_answers_is_the_one_of_the_highest_reward() -> None:
    best = best_of(REWARD, ASKED, ["hm", "cold", "flu", "flu"])
    assert (best.answer, best.place, best.reward) == ("flu", 2, SCORES["flu"])
    unjudged = best_of(REWARD, "hello", ["cold", "flu"])
    assert (unjudged.answer, unjudged.reward) == ("cold", None)
    with pytest.raises(BadInput, match="no answer"):
        best_of(REWARD, ASKED, [])


def test_a_veto_passes_the_first_answer_that_is_good_enough() -> None:
    ranked = KGReward(SCORER, NamesIn(NAMES), SYMPTOMS, "rank")
    passed = veto(ranked, ASKED, ["gout", "cold", "flu", "肺炎"], at_least=0.5)
    assert passed is not None
    assert passed.answer in ("flu", "肺炎")
    assert veto(ranked, ASKED, ["gout", "hm"], at_least=0.5) is None
    unjudged = veto(ranked, "hello", ["gout"], at_least=0.5)
    assert unjudged is not None


def test_preferences_hold_the_best_against_the_worst() -> None:
    answers = [["cold", "flu", "hm"], ["gout"], ["flu"], ["flu", "influenza"]]
    (pair,) = preferences(REWARD, [ASKED, "joint pain", "hello", ASKED], answers)
    assert (pair.question, pair.chosen, pair.rejected, pair.margin) == (ASKED, "flu", "hm", SCORES["flu"])
    assert preferences(REWARD, [ASKED], [["flu", "hm"]], margin=1.0) == []


def test_trl_may_call_it_with_texts_or_conversations() -> None:
    function = for_trl(REWARD)
    said = [[{"role": "assistant", "content": "flu"}]]
    asked = [[{"role": "user", "content": ASKED}]]
    assert function(prompts=asked, completions=said, trainer_state=None) == REWARD([ASKED], ["flu"])
    assert function(prompts=[ASKED], completions=["flu"]) == REWARD([ASKED], ["flu"])


def test_a_trainer_gets_a_number_for_every_answer_also_for_one_that_cannot_be_judged() -> None:
    assert for_trl(REWARD)(["My car does not start."], ["flu"]) == [0.0]
    assert for_trl(REWARD, unjudged=-1.0)(["My car does not start.", ASKED], ["flu", "flu"]) == [-1.0, SCORES["flu"]]


def test_columns_that_tell_the_patient_are_read_in_place_of_the_prompt() -> None:
    prompts = ["Which of flu, cold, gout is it? fever of the joint pain", "x"]
    columns = {"positive": [["fever", "cough"], ["joint pain"]], "negative": [[], None], "disease": ["flu", "gout"]}
    told = for_trl(REWARD)(prompts, ["flu", "gout"], **columns)
    assert told == [SCORES["flu"], 1.0]
    assert told != for_trl(REWARD)(prompts, ["flu", "gout"])


def test_columns_of_another_length_are_refused() -> None:
    with pytest.raises(BadInput, match="1 questions do not go with 2 answers"):
        for_trl(REWARD)(["x", "y"], ["flu", "gout"], positive=[["fever"]])


ROWS = (
    NodeRow("gout", kind="disease"),
    NodeRow("flu", kind="disease", aliases=(Alias("influenza"),)),
    NodeRow("toe pain", kind="symptom", aliases=(Alias("podagra"),)),
    NodeRow("fever", kind="symptom"),
    EdgeRow("gout", "has_symptom", "toe pain"),
    EdgeRow("gout", "has_symptom", "fever"),
    EdgeRow("flu", "has_symptom", "fever"),
)


def test_any_graph_rewards_answers_without_a_labelled_case(tmp_path: Path) -> None:
    small(tmp_path, ROWS, name="g")
    reward = kgmed.reward_function(str(tmp_path / "g"), diseases=["gout", "influenza"])
    told = reward(
        prompts=["What is it? Podagra and fever.", "Podagra and fever?", "Fever?", "Nothing of note?"],
        completions=["It is gout.", "Influenza.", "gout or flu", "gout"],
    )
    assert told[0] > told[1] > 0
    assert told[2:] == [0.0, 0.0]
    of_all = kgmed.reward_function(str(tmp_path / "g"))
    asked = {"prompts": ["Podagra and fever?"] * 2, "completions": ["It is gout.", "Influenza."]}
    assert of_all(**asked) == pytest.approx(reward(**asked))  # where every disease is near, as if all were named
    nearest = kgmed.reward_function(str(tmp_path / "g"), most=1)
    assert nearest(**asked) == [1.0, 0.0]
    with pytest.raises(kgmed.BadInput, match="no findings of the disease 'measles'"):
        kgmed.reward_function(str(tmp_path / "g"), diseases=["measles"])
