"""The log-linear scorer on typed edges, and what it must beat."""

import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgmed.errors import BadInput, UnknownName
from kgmed.reward import loglinear
from kgmed.reward.cases import Case, CauseGraph, best_disease
from kgmed.reward.loglinear import LogLinearSettings

sys.path.append(str(Path(__file__).resolve().parents[2] / "bench"))

import _scorers as baselines

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
    assert best_disease(scorer)(asked) == ["flu", "measles", "measles"]


def test_scores_are_probabilities_and_a_case_without_findings_gets_the_shares() -> None:
    pytest.importorskip("scipy")
    scores = loglinear.fit(CASES, ())([Case("1", ()), *CASES])
    np.testing.assert_allclose(scores.sum(axis=1), 1.0)
    assert scores[0, 0] > scores[0, 1]


def made(x: np.ndarray, y: np.ndarray) -> tuple[Case, ...]:
    """Cases with symptoms 0, 1, ... of a matrix, and the diseases of a vector."""
    rows = zip(x, y, strict=True)
    return tuple(Case(str(i), tuple(map(str, np.flatnonzero(row))), disease=f"d{d}") for i, (row, d) in enumerate(rows))


def test_what_the_labels_teach_is_where_the_penalised_likelihood_is_flat() -> None:
    pytest.importorskip("scipy")
    random = np.random.default_rng(0)
    x, y = (random.random((30, 4)) < 0.5).astype(float), random.integers(0, 3, 30)
    offset, counted = random.normal(size=(30, 3)), random.normal(size=(30, 3, 2))
    settings = LogLinearSettings(ridge=0.3, weight=0.7)
    learnt = loglinear.likeliest(x, y, offset, counted, settings)
    logits = offset + counted @ learnt.weights + x @ learnt.correction + learnt.prior
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    wrong = p - np.eye(3)[y]
    np.testing.assert_allclose(x.T @ wrong + learnt.correction / 0.3, 0, atol=2e-3)
    np.testing.assert_allclose(wrong.sum(axis=0), 0, atol=2e-3)
    np.testing.assert_allclose((counted * wrong[:, :, None]).sum(axis=(0, 1)) + learnt.weights - 0.7, 0, atol=2e-3)


def test_a_case_does_not_speak_for_its_own_disease() -> None:
    random = np.random.default_rng(0)
    cases = made(random.random((12, 3)) < 0.5, np.arange(12) % 3)
    graph = CauseGraph.counted([Case(c.id, tuple(loglinear.nodes(c)), disease=c.disease) for c in cases])
    x, y = loglinear.design(graph, cases), np.arange(12) % 3
    counted = loglinear.evidence(graph, x, y)
    for i, case in enumerate(cases):
        others = [c for c in cases if c is not case]
        for d in range(3):
            of = [c for c in others if c.disease == f"d{d}"]
            share = {s: (1 + sum(s in c.positive for c in of)) / (2 + len(of)) for s in "012"}
            there = sum(np.log(share[s]) for s in case.positive)
            missing = sum(np.log(1 - share[s]) for s in "012" if s not in case.positive)
            np.testing.assert_allclose(counted[i, d], [there, 0, 0, 0, missing])


def test_with_all_weights_at_one_and_nothing_learnt_it_is_naive_bayes() -> None:
    pytest.importorskip("sklearn")
    random = np.random.default_rng(1)
    cases = made(random.random((40, 5)) < 0.5, np.arange(40) % 2)  # two diseases, equally frequent
    graph = CauseGraph.counted([Case(c.id, tuple(loglinear.nodes(c)), disease=c.disease) for c in cases])
    there, missing = loglinear.logs(graph)
    plus = np.array([s[0] == "+" for s in graph.symptoms])
    x = loglinear.design(graph, cases)[:, plus]
    values = x @ there[plus] + (1 - x) @ missing[plus]
    bayes = np.log(baselines.classifying("bernoulli")(cases, ())(cases))
    np.testing.assert_allclose(values[:, 0] - values[:, 1], bayes[:, 0] - bayes[:, 1])


def test_where_the_labels_may_add_nothing_a_node_without_counted_part_says_what_the_walk_does() -> None:
    pytest.importorskip("scipy")
    scorer = loglinear.fit(CASES, (), LogLinearSettings(ridge=1e-9, walk=0.4, spoken=0.5))
    spoken = [i for i, s in enumerate(scorer.graph.symptoms) if s[0] == "~"]
    walk = loglinear.walk_logs(scorer.graph, 0.3, 1.0)
    np.testing.assert_allclose(scorer.edge[spoken], 0.4 * 0.5 * walk[spoken], atol=1e-6)
    there = scorer.graph.symptoms.index("+fever")
    assert not np.allclose(scorer.edge[there], 0.4 * walk[there])


@given(st.floats(0.01, 0.95), st.floats(0.1, 5.0))
def test_the_walk_from_a_disease_reaches_its_own_findings_most(c: float, smooth: float) -> None:
    graph = CauseGraph.of({"d1": {"a": 5, "b": 5}, "d2": {"b": 5, "c": 5}})
    g = loglinear.walk_logs(graph, c, smooth)
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
    assert (fact.head.name, fact.relation.name, fact.tail.name) == ("flu", "causes", "fever")
    denied = reasons["rash"].triple
    assert denied is not None
    assert (denied.relation.name, denied.tail.name) == ("is diagnosed where denied is", "rash")
    with pytest.raises(UnknownName, match="flu"):
        scorer.reasons(case, "flue")
    with_rash, without = (np.log(s) - np.log(s).mean() for s in scorer([case, less]))
    assert with_rash[0] - without[0] == pytest.approx(reasons["rash"].share)


def test_nothing_can_be_fitted_on_no_cases() -> None:
    with pytest.raises(BadInput, match="no cases"):
        loglinear.fit(())


@pytest.mark.parametrize("see", ["there", "denied", "all", "nodes"])
@pytest.mark.parametrize("model", ["bernoulli", "multinomial", "logistic", "tuned"])
def test_classifiers_give_probabilities_and_see_only_their_part(model: str, see: str) -> None:
    pytest.importorskip("sklearn")
    scorer = baselines.classifying(model, see)(CASES * 2, ())  # type: ignore[arg-type]
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
