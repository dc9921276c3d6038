"""Semantic relevance by a network, and its mixture with the walk."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from kgmed.errors import BadInput, UnknownName
from kgmed.reward.cases import Case, CauseGraph, best_disease, split
from kgmed.reward.criticality import Criticality
from kgmed.reward.rlkgf import (
    PRESETS,
    Mixed,
    Recipe,
    RLKGFSettings,
    ScorerChoice,
    Semantic,
    _Network,
    fit_with,
    learn_mu,
    normalised,
    preset,
    train_network,
)

GRAPH = CauseGraph.of({"d1": {"s1": 1, "s2": 1}, "d2": {"s2": 1, "s3": 1}})
CASES = [Case(f"{d}{i}", s, disease=d) for i in range(5) for d, s in (("d1", ("s1", "s2")), ("d2", ("s2", "s3")))]
TURNED = np.array([[0.0, 1.0], [0.5, 0.5], [1.0, 0.0]])


def test_the_normalised_adjacency_is_that_computed_by_hand() -> None:
    np.testing.assert_allclose(normalised(GRAPH.count)[0], [0.3333, 0, 0.4082, 0.3333, 0], atol=1e-4)  # O3
    np.testing.assert_allclose(normalised(GRAPH.count), normalised(GRAPH.count).T)


@pytest.mark.parametrize("network", ["gcn", "gat", "gatv2"])
@pytest.mark.parametrize("target", ["links", "cases"])
def test_a_network_learns_which_disease_a_symptom_belongs_to(network: str, target: str) -> None:
    pytest.importorskip("torch")
    recipe = Recipe(network=network, target=target, epochs=60)  # type: ignore[arg-type]
    learnt = train_network(GRAPH, recipe, CASES, seed=3)
    assert learnt.losses[-1] < np.log(2)
    assert learnt.similarity[0, 0] > learnt.similarity[0, 1]
    assert learnt.similarity[2, 1] > learnt.similarity[2, 0]
    assert np.abs(learnt.similarity).max() <= 1 + 1e-6


def test_a_head_of_a_gat_prefers_the_same_disease_for_every_symptom_and_one_of_gatv2_does_not() -> None:
    pytest.importorskip("torch")
    graph = CauseGraph.of({"d1": {"s1": 9, "s2": 1}, "d2": {"s1": 1, "s2": 9}})
    for network, alike in (("gat", True), ("gatv2", False)):
        recipe = Recipe(network=network, relevance="attention", heads=1, epochs=200)  # type: ignore[arg-type]
        best = train_network(graph, recipe, seed=0).similarity.argmax(axis=1).tolist()
        assert (best[0] == best[1]) is alike, network
        assert alike or best == [0, 1]


def test_a_gat_scores_by_the_attention_that_a_symptom_pays_to_a_disease() -> None:
    pytest.importorskip("torch")
    learnt = train_network(GRAPH, Recipe(network="gat", relevance="attention", epochs=60), CASES, seed=3)
    assert learnt.losses[-1] < learnt.losses[0]
    assert learnt.similarity[0, 1] == learnt.similarity[2, 0] == 0.0  # no edge, no attention
    assert 0.0 < learnt.similarity[1].sum() <= 1.0 + 1e-6  # the rest is paid to the symptom itself
    cosine = train_network(GRAPH, Recipe(network="gat", epochs=60), CASES, seed=3).similarity
    assert np.abs(cosine - learnt.similarity).max() > 0.05
    with pytest.raises(BadInput, match="a gcn has no attention"):
        Recipe(relevance="attention")


@pytest.mark.parametrize("network", ["gcn", "gat"])
def test_z_has_as_many_columns_as_the_papers_features(network: str) -> None:
    pytest.importorskip("torch")
    made = _Network(GRAPH, Recipe(network=network))  # type: ignore[arg-type]
    assert made(training=False).shape == (5, 100)


def test_a_choice_is_the_named_scorer_with_what_is_given_in_place() -> None:
    made = ScorerChoice(name="rlkgf", mu="0.3", restart=0.4, normalization="row", aggregate="max", temperature=0.1)
    settings = made.settings
    assert (settings.mu, settings.c, settings.normalization, settings.aggregate) == (0.3, 0.6, "row", "max")
    assert (settings.walk_temperature, settings.network_temperature) == (0.1, 0.1)
    assert ScorerChoice(name="rlkgf").settings == preset("rlkgf")
    assert ScorerChoice(name="rlkgf", mu="learn").settings.mu is None
    assert made.told() == "rlkgf mu=0.3 restart=0.4 normalize=row aggregate=max temperature=0.1"


def test_the_ablations_are_the_halves_of_the_whole() -> None:
    pytest.importorskip("torch")
    parts = split("s", CASES, [])
    whole, walk, gcn = (parts.fitted(ScorerChoice(name=n).fit) for n in ("rlkgf", "walk", "gcn"))
    np.testing.assert_allclose(whole(CASES), 0.1 * gcn(CASES) + 0.9 * walk(CASES))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"name": "best", "mu": "0.3"}, "--mu is for RLKGF's scorers"),
        ({"name": "walk", "mu": "0.3"}, "no network that mu could weigh"),
        ({"name": "gcn", "restart": 0.3}, "does not walk; leave out --restart"),
        ({"name": "rlkgf", "mu": "lern"}, "not 'lern'"),
        ({"name": "rlkgf", "mu": "nan"}, "not 'nan'"),
        ({"name": "rlkgf", "restart": 0.0}, "above 0 and at most 1"),
        ({"name": "rlkgf", "normalization": "rows"}, "did you mean row"),
        ({"name": "rlkgt"}, "did you mean rlkgf"),
    ],
)
def test_a_choice_that_would_mean_nothing_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        _ = ScorerChoice(**given).fit


def test_the_same_seed_gives_the_same_network_and_leaves_the_random_state_alone() -> None:
    torch = pytest.importorskip("torch")
    state = torch.random.get_rng_state()
    one, same, other = (train_network(GRAPH, Recipe(epochs=3), seed=s).similarity for s in (1, 1, 2))
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one, other)
    assert torch.equal(state, torch.random.get_rng_state())


def test_the_softmax_of_equation_5_makes_all_cosines_alike_before_training() -> None:
    pytest.importorskip("torch")
    plain, softmax = (train_network(GRAPH, Recipe(z_activation=z, epochs=0)).similarity for z in ("none", "softmax"))
    assert softmax.min() > 0.9
    assert plain.max() - plain.min() > 5 * (softmax.max() - softmax.min())


def test_semantic_relevance_is_the_mean_similarity_within_the_subgraph() -> None:
    scores = Semantic(GRAPH, TURNED)([Case("p", ("s1", "s2")), Case("q", ("s1",)), Case("r", ("zzz",))])
    np.testing.assert_allclose(scores[0], np.exp([0.25, 0.75]) / np.exp([0.25, 0.75]).sum())
    assert scores[1, 0] == 1.0
    assert np.isnan(scores[1, 1])
    assert np.isnan(scores[2]).all()


def test_the_mixture_is_the_weighted_sum_of_its_halves() -> None:
    walk, semantic = Criticality(GRAPH), Semantic(GRAPH, TURNED)
    mixed = Mixed(walk, semantic, 0.3)
    np.testing.assert_allclose(mixed(CASES), 0.3 * semantic(CASES) + 0.7 * walk(CASES))
    assert mixed.reasons(CASES[0], "d1") == walk.reasons(CASES[0], "d1")
    with pytest.raises(BadInput, match="between 0 and 1"):
        Mixed(walk, semantic, 1.1)


def test_mu_is_learnt_towards_the_half_that_is_right() -> None:
    walk, wrong = Criticality(GRAPH), Semantic(GRAPH, TURNED, 0.1)
    right = Semantic(GRAPH, TURNED[:, ::-1], 0.1)
    assert learn_mu(Mixed(walk, wrong), CASES) < 0.01
    assert learn_mu(Mixed(walk, right), CASES) > 0.99
    assert learn_mu(Mixed(walk, right, 0.4), []) == 0.4
    assert (
        learn_mu(Mixed(walk, right, 0.4), [Case("x", ("zzz",), disease="d1"), Case("y", ("s1",), disease="d9")]) == 0.4
    )


def test_learnt_mu_is_the_best_of_a_grid() -> None:
    walk, half = (
        Criticality(GRAPH, temperature=0.1),
        Semantic(GRAPH, np.array([[0.9, 0.1], [0.1, 0.9], [0.4, 0.6]]), 0.2),
    )
    cases = [*CASES, Case("odd", ("s2", "s3"), disease="d1")]
    columns = [walk.diseases.index(c.disease) for c in cases]

    def loss(mu: float) -> float:
        return -float(np.log(Mixed(walk, half, mu)(cases)[np.arange(len(cases)), columns]).sum())

    best = min(np.linspace(0, 1, 1001), key=loss)
    assert learn_mu(Mixed(walk, half), cases) == pytest.approx(best, abs=2e-3)


def test_the_presets_hold_the_papers_numbers() -> None:
    paper, recipe = preset("rlkgf"), preset("rlkgf").recipe
    assert recipe is not None
    assert (paper.c, paper.mu, paper.walk_temperature, paper.network_temperature) == (0.7, 0.1, 1.0, 1.0)
    assert (recipe.features, recipe.hidden, recipe.heads, recipe.z_activation) == (100, 128, 2, "softmax")
    assert (PRESETS["code-gmd"].mu, PRESETS["code-gmd"].at_least) == (0.01, 3)
    with pytest.raises(UnknownName, match="rlkgf-gat"):
        preset("papr")
    with pytest.raises(UnknownName, match="gcn"):
        Recipe(network="gnn")  # type: ignore[arg-type]


def test_a_fit_uses_train_and_validation_and_needs_no_network_for_the_walk_alone() -> None:
    made = split("s", CASES, [])
    walk = made.fitted(fit_with(RLKGFSettings(recipe=None)))
    assert isinstance(walk, Criticality)
    assert walk.graph.count.sum() == sum(len(c.positive) for c in CASES)
    assert best_disease(walk)([Case("p", ("s1",)), Case("q", ("s3",))]) == ["d1", "d2"]


def test_a_whole_fit_learns_mu_on_validation_and_ranks_right() -> None:
    pytest.importorskip("torch")
    settings = replace(RLKGFSettings(), mu=None, recipe=Recipe(epochs=40))
    mixed = split("s", CASES, []).fitted(fit_with(settings, seed=1))
    assert isinstance(mixed, Mixed)
    assert 0 <= mixed.mu <= 1
    assert best_disease(mixed)(CASES) == [c.disease for c in CASES]
