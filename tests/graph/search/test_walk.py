import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgmed.errors import BadInput
from kgmed.graph.base import Adjacency
from kgmed.graph.search.walk import Floats, Transition, closed_form, seeds, walk
from search_oracles import graphs

# two diseases d1 - {s1, s2} and d2 - {s2, s3}, node order d1 d2 s1 s2 s3
CLINIC = Adjacency.of(5, np.array([(0, 0, 2), (0, 0, 3), (1, 0, 3), (1, 0, 4)]))
S1 = [0.344955, 0.066810, 0.420734, 0.144118, 0.023383]
S2 = [0.205882, 0.205882, 0.072059, 0.444118, 0.072059]


def test_two_diseases_and_three_symptoms_score_as_worked_out_by_hand() -> None:
    transition = Transition.of(CLINIC)
    found = walk(transition, seeds(5, [2, 3]))
    assert np.allclose(found.scores, [S1, S2], atol=1e-6)
    assert np.allclose(closed_form(transition, seeds(5, [2, 3])), [S1, S2], atol=1e-6)
    assert np.allclose(found.scores.mean(axis=0)[:2], [0.275419, 0.136346], atol=1e-6)


def test_an_edge_that_weighs_five_draws_the_walk_as_worked_out_by_hand() -> None:
    transition = Transition.of(CLINIC, np.array([5.0, 1.0, 1.0, 1.0]))
    expected = [[0.230853, 0.180911, 0.134664, 0.390252, 0.063319]]
    assert np.allclose(walk(transition, seeds(5, [3])).scores, expected, atol=1e-6)


def dense(adjacency: Adjacency, weight: Floats) -> Floats:
    """The column-normalised adjacency, entry by entry."""
    a: Floats = np.zeros((adjacency.nodes, adjacency.nodes))
    edge = 0
    for head in range(adjacency.nodes):
        for tail in adjacency.out.neighbour[adjacency.out.indptr[head] : adjacency.out.indptr[head + 1]]:
            a[tail, head] += weight[edge]
            if tail != head:
                a[head, tail] += weight[edge]
            edge += 1
    column = a.sum(axis=0)
    return a / np.where(column > 0, column, 1)


weights = st.sampled_from([0.0, 0.5, 1.0, 3.0])


@given(graphs(nodes=10), st.data(), st.sampled_from([0.0, 0.3, 0.7, 0.95]))
def test_closed_form_and_iteration_agree_and_are_the_fixed_point(
    adjacency: Adjacency, data: st.DataObject, c: float
) -> None:
    weight = np.array(data.draw(st.lists(weights, min_size=adjacency.edges, max_size=adjacency.edges)))
    transition, restart = Transition.of(adjacency, weight), seeds(adjacency.nodes, [0, 1])
    found, exact = walk(transition, restart, c=c, tolerance=1e-12), closed_form(transition, restart, c=c)
    assert found.converged
    assert np.abs(found.scores - exact).max() < 1e-10
    a = dense(adjacency, weight)
    lost = exact @ (a.sum(axis=0) == 0)
    assert np.allclose(exact, c * (exact @ a.T + lost[:, None] * restart) + (1 - c) * restart, atol=1e-12)
    assert np.allclose(found.scores.sum(axis=1), 1)


@given(graphs(nodes=10), st.data())
def test_where_the_iteration_starts_does_not_matter(adjacency: Adjacency, data: st.DataObject) -> None:
    n = adjacency.nodes
    numbers = st.floats(0.01, 1.0)
    start = np.array([data.draw(st.lists(numbers, min_size=n, max_size=n))])
    transition, restart = Transition.of(adjacency), seeds(n, [1])
    first = walk(transition, restart).scores
    second = walk(transition, restart, start=start / start.sum()).scores
    assert np.abs(first - second).max() <= 2e-10


def test_walks_of_several_seeds_are_those_of_each_seed_alone() -> None:
    transition = Transition.of(CLINIC)
    together = closed_form(transition, seeds(5, [0, 3, 4]))
    alone = [closed_form(transition, seeds(5, [seed]))[0] for seed in (0, 3, 4)]
    assert np.allclose(together, alone, atol=1e-15)


def test_parallel_edges_and_edges_back_add_up() -> None:
    doubled = Adjacency.of(3, np.array([(0, 0, 1), (0, 1, 1), (1, 0, 0), (0, 0, 2)]))
    single = Adjacency.of(3, np.array([(0, 0, 1), (0, 0, 2)]))
    expected = walk(Transition.of(single, np.array([3.0, 1.0])), seeds(3, [2])).scores
    assert np.allclose(walk(Transition.of(doubled), seeds(3, [2])).scores, expected)


def test_a_node_without_edges_keeps_its_walk() -> None:
    assert walk(Transition.of(Adjacency.of(3, np.array([(0, 0, 1)]))), seeds(3, [2])).scores.tolist() == [[0, 0, 1]]


def test_a_walk_that_was_stopped_early_says_so() -> None:
    found = walk(Transition.of(CLINIC), seeds(5, [2]), most=1)
    assert (found.converged, found.iterations) == (False, 1)
    assert found.residual > 1e-3
    done = walk(Transition.of(CLINIC), seeds(5, [2]))
    assert done.converged
    assert np.abs(done.scores - closed_form(Transition.of(CLINIC), seeds(5, [2]))).sum() <= 1e-10


def test_no_seed_has_no_walk() -> None:
    assert walk(Transition.of(CLINIC), seeds(5, [])).scores.shape == (0, 5)
    assert closed_form(Transition.of(CLINIC), seeds(5, [])).shape == (0, 5)


@pytest.mark.parametrize(
    ("restart", "c", "message"),
    [
        (seeds(5, [0]), 1.0, "below 1"),
        (seeds(4, [0]), 0.7, "rows of that length"),
        (np.full((1, 5), 0.3), 0.7, "sum to 1"),
        (np.array([[2.0, -1.0, 0, 0, 0]]), 0.7, "at least 0"),
    ],
)
def test_a_walk_that_cannot_be_is_refused(restart: Floats, c: float, message: str) -> None:
    for search in (walk, closed_form):
        with pytest.raises(BadInput, match=message):
            search(Transition.of(CLINIC), restart, c=c)


@pytest.mark.parametrize("weight", [[1.0], [1, 1, 1, -1.0], [1, 1, 1, np.nan]])
def test_weights_that_cannot_be_are_refused(weight: list[float]) -> None:
    with pytest.raises(BadInput, match="one finite weight"):
        Transition.of(CLINIC, np.array(weight))


def test_the_closed_form_refuses_a_graph_that_is_too_large_for_it() -> None:
    transition = Transition.of(Adjacency.of(6000, np.array([(0, 0, 1)])))
    with pytest.raises(BadInput, match="cut a subgraph"):
        closed_form(transition, seeds(6000, [0]))
