"""The log-linear scorer on typed edges, and what it must beat."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgmed.errors import BadInput, UnknownName
from kgmed.reward import baselines, loglinear
from kgmed.reward.cases import Case
from kgmed.reward.graph import CauseGraph
from kgmed.reward.loglinear import LogLinearSettings
from kgmed.reward.scoring import first

FLU = [Case(f"f{i}", ("fever", "cough"), ("rash",), disease="flu", explicit=("fever",)) for i in range(6)]
MEASLES = [Case(f"m{i}", ("fever", "cough"), (), ("rash",), disease="measles", explicit=("cough",)) for i in range(4)]
CASES = tuple(FLU + MEASLES)


def test_what_is_denied_unsure_or_told_first_can_decide() -> None:
    pytest.importorskip("scipy")
    scorer = loglinear.fit(CASES)
    asked = [
        Case("1", ("fever",), negative=("rash",)),
        Case("2", ("fever",), unsure=("rash",)),
        Case("3", ("fever", "cough"), explicit=("cough",)),
    ]
    assert first(scorer)(asked) == ["flu", "measles", "measles"]


def test_scores_are_probabilities_and_a_case_without_findings_gets_the_shares() -> None:
    pytest.importorskip("scipy")
    scores = loglinear.fit(CASES, ())([Case("1", ()), *CASES])
    np.testing.assert_allclose(scores.sum(axis=1), 1.0)
    assert scores[0, 0] > scores[0, 1]


def test_the_correction_is_where_the_penalised_likelihood_is_flat() -> None:
    pytest.importorskip("scipy")
    random = np.random.default_rng(0)
    x, y = (random.random((30, 4)) < 0.5).astype(float), random.integers(0, 3, 30)
    offset, ridge = random.normal(size=(30, 3)), 0.3
    d, b = loglinear.corrected(x, y, offset, ridge)
    logits = offset + x @ d + b
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    wrong = p - np.eye(3)[y]
    np.testing.assert_allclose(x.T @ wrong + d / ridge, 0, atol=2e-3)
    np.testing.assert_allclose(wrong.sum(axis=0), 0, atol=2e-3)


def test_with_a_tight_ridge_only_the_walk_is_left() -> None:
    pytest.importorskip("scipy")
    scorer = loglinear.fit(CASES, (), LogLinearSettings(ridge=1e-9))
    np.testing.assert_allclose(scorer.edge, 0.3 * loglinear.walked(scorer.graph, 0.3, 1.0), atol=1e-6)


@given(st.floats(0.01, 0.95), st.floats(0.1, 5.0))
def test_the_walk_from_a_disease_reaches_its_own_findings_most(c: float, smooth: float) -> None:
    graph = CauseGraph.of({"d1": {"a": 5, "b": 5}, "d2": {"b": 5, "c": 5}})
    g = loglinear.walked(graph, c, smooth)
    np.testing.assert_allclose(g.sum(axis=1), 0, atol=1e-9)
    assert g[0, 0] > 0 > g[0, 1]
    assert g[2, 1] > 0 > g[2, 0]
    assert g[1, 0] == pytest.approx(0, abs=1e-9)


def test_the_reasons_explain_the_difference_between_two_cases() -> None:
    pytest.importorskip("scipy")
    scorer = loglinear.fit(CASES)
    case, less = Case("1", ("fever", "cough"), ("rash",)), Case("2", ("fever", "cough"))
    reasons = {r.symptom: r for r in scorer.reasons(case, "flu")}
    assert reasons["rash"].denied
    assert reasons["rash"].share > 0
    assert max(reasons.values(), key=lambda r: abs(r.share)).symptom == "rash"
    fact = reasons["fever"].triple
    assert fact is not None
    assert fact.head.name == "flu"
    with_rash, without = (np.log(s) - np.log(s).mean() for s in scorer([case, less]))
    assert with_rash[0] - without[0] == pytest.approx(reasons["rash"].share)


def test_nothing_can_be_fitted_on_no_cases() -> None:
    with pytest.raises(BadInput, match="no cases"):
        loglinear.fit(())


@pytest.mark.parametrize("see", ["there", "denied", "all"])
@pytest.mark.parametrize("model", ["bernoulli", "multinomial", "logistic"])
def test_classifiers_give_probabilities_and_see_only_their_part(model: str, see: str) -> None:
    pytest.importorskip("sklearn")
    scorer = baselines.classifying(model, see)(CASES, ())  # type: ignore[arg-type]
    scores = scorer(CASES)
    np.testing.assert_allclose(scores.sum(axis=1), 1.0)
    assert scorer([]).shape == (0, 2)
    alike = np.allclose(scores[0], scores[-1])
    assert alike == (see == "there")


def test_bernoulli_naive_bayes_is_the_formula() -> None:
    pytest.importorskip("sklearn")
    cases = (Case("1", ("a",), disease="x"), Case("2", ("a", "b"), disease="x"), Case("3", ("b",), disease="y"))
    (scores,) = baselines.classifying("bernoulli")(cases, ())([Case("4", ("a",))])
    x, y = 2 / 3 * (3 / 4) * (1 - 2 / 4), 1 / 3 * (1 / 3) * (1 - 2 / 3)
    np.testing.assert_allclose(scores, [x / (x + y), y / (x + y)])


def test_overlap_sums_frequencies_and_majority_counts() -> None:
    scorer = baselines.overlap(CASES, ())
    (row, nothing) = scorer([Case("1", ("fever", "zzz")), Case("2", ())])
    np.testing.assert_allclose(row, [0.5, 0.5])
    assert np.isnan(nothing).all()
    assert baselines.majority(CASES, ())([Case("1", ())]).tolist() == [[0.6, 0.4]]
    assert scorer([]).shape == (0, 2)


def test_an_unknown_classifier_or_part_is_refused() -> None:
    pytest.importorskip("sklearn")
    with pytest.raises(UnknownName, match="logistic"):
        baselines.classifying("logistik")(CASES, ())  # type: ignore[arg-type]
    with pytest.raises(UnknownName, match="there"):
        baselines.classifying("logistic", "their")  # type: ignore[arg-type]
