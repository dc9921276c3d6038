"""Accuracy by cross-validation and on closed test cases."""

import sys
from pathlib import Path

import pytest

from kgmed.errors import BadInput
from kgmed.evaluate.datasets import patients
from kgmed.evaluate.diagnosing import (
    OF_SCORERS,
    cross_validated,
    mean,
    on_test,
)
from kgmed.reward.cases import Case, Cases, split
from kgmed.reward.rlkgf import RLKGFSettings, fit_with

sys.path.append(str(Path(__file__).resolve().parents[2] / "bench"))

from _scorers import Majority, compare_over_folds, compare_predictors, majority, report_on_test

CASES = [Case(str(i), ("fever",), disease="flu" if i % 3 else "cold") for i in range(30)]


def test_the_test_cases_are_judged_by_what_was_fitted_on_the_others() -> None:
    report = report_on_test(split("s", CASES[:20], CASES[20:]), majority)
    assert (report.n, sum(report.right)) == (10, sum(c.disease == "flu" for c in CASES[20:]))


def test_of_a_scorer_is_told_how_often_it_is_right_and_how_sure_it_is() -> None:
    cases = [Case(str(i), (s,), disease=d, explicit=(s,) if i % 2 else ())
             for i, (s, d) in enumerate([("fever", "flu"), ("rash", "measles")] * 10)]  # fmt: skip
    told = on_test(split("s", cases[:16], cases[16:]), fit_with(RLKGFSettings(recipe=None)))
    assert set(told) == {*OF_SCORERS}
    assert told["accuracy"] == (1.0, 1.0, 1.0, 1.0)
    assert told["accuracy-explicit"] == (1.0, 1.0)
    assert told["lead"] == (1.0,) * 4  # each symptom belongs to one disease, so no other is in the subgraph


def test_in_cross_validation_no_case_is_judged_by_a_scorer_that_saw_it() -> None:
    seen: list[set[str]] = []

    def fit(train: Cases, validation: Cases) -> Majority:
        assert validation == ()
        seen.append({c.id for c in train})
        return majority(train, ())

    ticks: list[int] = []
    right = cross_validated(CASES, fit, k=3, done=lambda: ticks.append(1))
    assert right == tuple(c.disease == "flu" for c in CASES)
    assert [len(s) for s in seen] == [20, 20, 20]
    assert set.intersection(*seen) == set()
    assert len(ticks) == 3
    with pytest.raises(BadInput, match="no cases"):
        cross_validated([], fit)


def test_means_have_the_standard_error_of_the_mean() -> None:
    found = mean([0.1, 0.2, 0.3, 0.4])
    assert found.mean == pytest.approx(0.25)
    assert found.error == pytest.approx(0.0645497, abs=1e-6)
    assert mean([0.5]).error == 0.0
    with pytest.raises(BadInput, match="nothing"):
        mean([])


def test_predictors_are_compared_case_by_case() -> None:
    assert compare_predictors([True, False], [True, False]).p == 1.0
    assert compare_predictors([True] * 10, [False] * 10).p == pytest.approx(2 / 1024)
    with pytest.raises(BadInput, match="same cases"):
        compare_predictors([True], [])


def test_divisions_of_the_same_cases_do_not_count_as_more_cases() -> None:
    one, other = [True, True, True, False], [True, False, False, False]
    assert compare_over_folds([one] * 5, [other] * 5) == compare_over_folds([one], [other])
    assert compare_over_folds([one], [one]).p == 1.0
    assert compare_over_folds([other], [one]).difference == -0.5
    with pytest.raises(BadInput, match="same cases"):
        compare_over_folds([one], [one[:3]])


@pytest.mark.data
def test_the_walk_of_the_paper_is_within_one_case_of_its_figure_on_dxy(data: Path) -> None:
    report = report_on_test(patients("DXY", data), fit_with(RLKGFSettings(recipe=None)))
    assert report.n == 104  # the paper's .8252 is 85 of 103: one case has no symptom that is there
    assert report.unjudged == 1
    assert abs(sum(report.right) - 85) <= 4
