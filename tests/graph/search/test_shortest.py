from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgmed.errors import BadInput
from kgmed.graph.base import Adjacency
from kgmed.graph.search.paths import Direction, ShortestPaths, shortest
from search_oracles import Walked, graphs, order_of, simple_paths


def rows(found: ShortestPaths) -> list[Walked]:
    return [
        (tuple(nodes), tuple(zip(edges, forward, nodes[1:], strict=True)))
        for nodes, edges, forward in zip(
            found.nodes.tolist(), found.edges.tolist(), found.forward.tolist(), strict=True
        )
    ]


def expected_paths(adjacency: Adjacency, source: int, target: int, hops: int, direction: Direction) -> list[Walked]:
    """All shortest paths, by brute force."""
    found = simple_paths(adjacency, source, target, hops)
    if direction == "out":
        found = [w for w in found if all(step[1] for step in w[1])]
    least = min((len(w[1]) for w in found), default=0)
    return [w for w in found if len(w[1]) == least]


@given(graphs(nodes=9, edges=20), st.data(), st.integers(0, 5), st.sampled_from(["out", "both"]), st.integers(1, 8))
def test_distance_count_and_paths_equal_those_of_brute_force(
    adjacency: Adjacency, data: st.DataObject, hops: int, direction: Direction, limit: int
) -> None:
    node = st.integers(0, adjacency.nodes - 1)
    source, target, via = data.draw(node), data.draw(node), data.draw(st.lists(node, max_size=3))
    found = shortest(adjacency, source, target, hops=hops, direction=direction, limit=limit, via=via)
    if source == target:
        assert (found.distance, found.total, found.nodes.tolist()) == (0, 1, [[source]])
        return
    expected = expected_paths(adjacency, source, target, hops, direction)
    expected.sort(key=lambda w: (sum(n not in via for n in w[0][1:-1]), order_of(adjacency, w)))
    assert found.distance == (len(expected[0][1]) if expected else -1)
    assert found.total == len(expected)
    assert rows(found) == expected[:limit]


@given(graphs(nodes=9, edges=20), st.data())
def test_in_both_directions_a_path_back_is_as_long_and_there_are_as_many(
    adjacency: Adjacency, data: st.DataObject
) -> None:
    a, b = (data.draw(st.integers(0, adjacency.nodes - 1)) for _ in range(2))
    there, back = shortest(adjacency, a, b), shortest(adjacency, b, a)
    assert (there.distance, there.total) == (back.distance, back.total)


def test_many_paths_through_a_hub_are_counted_and_the_most_specific_is_shown() -> None:
    leaves = range(3, 9003)
    triples = [(end, 0, leaf) for end, leaf in product((0, 1), leaves)] + [(leaf, 1, 2) for leaf in leaves if leaf > 5]
    found = shortest(Adjacency.of(9003, np.array(triples)), 0, 1, limit=4)
    assert (found.distance, found.total) == (2, 9000)
    assert found.nodes[:, 1].tolist() == [3, 4, 5, 6]


def test_a_grid_has_as_many_shortest_paths_as_there_are_ways_through_it() -> None:
    side = 4
    right = [(r * side + c, 0, r * side + c + 1) for r, c in product(range(side), range(side - 1))]
    down = [(r * side + c, 0, (r + 1) * side + c) for r, c in product(range(side - 1), range(side))]
    adjacency = Adjacency.of(side * side, np.array(right + down))
    found = shortest(adjacency, 0, side * side - 1, hops=6, limit=100)
    assert (found.distance, found.total, len(found)) == (6, 20, 20)


def test_the_longest_search_through_hubs_still_finds_the_path_of_lowest_degrees() -> None:
    side = [(i, 0, i + 1) for i in range(30)]
    other = [(0, 0, 40), *((i, 0, i + 1) for i in range(40, 68)), (68, 0, 30)]
    leaves = [(i, 1, 100 + j) for i in range(1, 30) for j in range(300)]
    found = shortest(Adjacency.of(400, np.array(side + other + leaves)), 0, 30, hops=30, direction="out", via=[5])
    assert (found.distance, found.total, found.nodes[0, 1]) == (30, 2, 1)
    found = shortest(Adjacency.of(400, np.array(side + other + leaves)), 0, 30, hops=30, direction="out", limit=2)
    assert found.nodes[:, 1].tolist() == [40, 1]


@pytest.mark.parametrize(("hops", "limit"), [(5, 0), (-1, 1), (31, 1)])
def test_limits_without_sense_are_refused(hops: int, limit: int) -> None:
    with pytest.raises(BadInput, match="limit >= 1"):
        shortest(Adjacency.of(2, np.array([(0, 0, 1)])), 0, 1, hops=hops, limit=limit)
