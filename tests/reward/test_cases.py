"""The parts of a data set are kept apart."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgmed.errors import BadInput
from kgmed.reward.cases import Case, Cases, HeldOutCases, folds, patient_text, split, told_patient

FLU = [Case(f"f{i}", ("fever",), disease="flu") for i in range(10)]
COLD = [Case(f"c{i}", ("cough",), disease="cold") for i in range(5)]


def test_held_cases_tell_their_number_and_nothing_else() -> None:
    held = HeldOutCases(COLD)
    assert len(held) == 5
    assert "cold" not in repr(held) + str(held)
    with pytest.raises(BadInput, match="not for choosing"):
        list(held)
    with pytest.raises(BadInput, match="not for choosing"):
        held[0]


def test_a_predictor_sees_the_test_cases_without_their_disease() -> None:
    seen: list[Case] = []

    def predict(cases: Sequence[Case]) -> list[str | None]:
        seen.extend(cases)
        return ["cold", "flu", None, "cold", "cold"]

    report = HeldOutCases(COLD).report(predict)
    assert {c.disease for c in seen} == {""}
    assert (report.n, report.accuracy, report.unjudged) == (5, 0.6, 1)
    assert report.right == (True, False, False, True, True)


def test_a_predictor_that_leaves_cases_out_is_refused() -> None:
    with pytest.raises(BadInput, match="1 answers to 5 cases"):
        HeldOutCases(COLD).report(lambda cases: ["cold"])


def test_fitting_is_given_train_and_validation_and_never_the_test_part() -> None:
    def fit(train: Cases, validation: Cases) -> set[str]:
        return {c.id for c in train + validation}

    assert split("s", FLU, COLD).fitted(fit) == {c.id for c in FLU}


def test_a_validation_part_is_cut_from_train_where_there_is_none() -> None:
    made = split("s", FLU + COLD, [], share=0.2)
    assert sorted(c.disease for c in made.validation) == ["cold", "flu", "flu"]
    assert {c.id for c in made.train}.isdisjoint(c.id for c in made.validation)
    assert split("s", FLU, [], validation=COLD).validation == tuple(COLD)


@given(st.lists(st.sampled_from(["flu", "cold", "gout"]), min_size=1, max_size=40), st.integers(2, 6))
def test_in_a_cross_validation_each_case_validates_once_and_diseases_are_spread(names: list[str], k: int) -> None:
    cases = [Case(str(i), (), disease=d) for i, d in enumerate(names)]
    parts = list(folds(cases, k))
    assert sorted(c.id for _, v in parts for c in v) == sorted(c.id for c in cases)
    for train, validation in parts:
        assert {c.id for c in train} | {c.id for c in validation} == {c.id for c in cases}
        assert len(train) + len(validation) == len(cases)
    for name in set(names):
        sizes = [sum(c.disease == name for c in v) for _, v in parts]
        assert max(sizes) - min(sizes) <= 1


NAMES = st.lists(st.sampled_from(["fever", "发热", "hand, foot and mouth disease", "skin rash", "咳嗽"]), unique=True)


@given(NAMES, st.integers(0, 4), st.sampled_from(["zh", "en"]))
def test_the_findings_of_a_patients_question_are_read_back(names: list[str], cut: int, language: str) -> None:
    case = Case("", tuple(names[:cut]), tuple(names[cut : cut + 1]), tuple(names[cut + 1 :]))
    assert told_patient(patient_text(case, language)) == case
    assert told_patient(f"{patient_text(case, language)} And why?") is None
