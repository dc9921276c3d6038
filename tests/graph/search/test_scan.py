from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgmed.graph.base import Adjacency
from kgmed.graph.search.scan import BLOCK, HUB, blocks, crossing, distinct, kth_least
from search_oracles import graphs

HUBS, LEAVES = 3, 4 * HUB


def hub_graph() -> Adjacency:
    """Three hubs that point to two thirds of the leaves each, often twice, and one leaf in four that points back."""
    random = np.random.default_rng(3)
    rows = [
        np.column_stack([np.full(LEAVES, hub), random.integers(0, 2, LEAVES), random.integers(HUBS, LEAVES, LEAVES)])
        for hub in range(HUBS)
    ]
    back = np.arange(HUBS, LEAVES, 4)
    rows.append(np.column_stack([back, np.zeros(len(back), np.int64), back % HUBS]))
    return Adjacency.of(LEAVES, np.concatenate(rows))


def expected(adjacency: Adjacency, left: list[int], right: list[int]) -> list[tuple[int, int, int]]:
    """Place of the start, place of the end, edge number: edge by edge."""
    found = []
    for i, node in enumerate(left):
        for edge in range(int(adjacency.out.indptr[node]), int(adjacency.out.indptr[node + 1])):
            found += [(i, j, edge) for j, end in enumerate(right) if adjacency.out.neighbour[edge] == end]
    return sorted(found)


def both_ways(adjacency: Adjacency, left: list[int], right: list[int]) -> list[list[tuple[int, int, int]]]:
    """The edges from left to right, asked for along the edges and, ends exchanged, against them."""
    a, b = np.array(left, np.int32), np.array(right, np.int32)
    along = crossing(adjacency.out, adjacency.into, a, b)
    against = crossing(adjacency.into, adjacency.out, b, a)
    return [
        sorted(zip(along.left.tolist(), along.right.tolist(), along.edge.tolist(), strict=True)),
        sorted(zip(against.right.tolist(), against.left.tolist(), against.edge.tolist(), strict=True)),
    ]


@given(graphs(nodes=9, edges=40), st.data())
def test_the_edges_between_two_sets_are_those_of_brute_force(adjacency: Adjacency, data: st.DataObject) -> None:
    node = st.integers(0, adjacency.nodes - 1)
    left, right = (sorted(data.draw(st.sets(node))) for _ in range(2))
    for found in both_ways(adjacency, left, right):
        assert found == expected(adjacency, left, right)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ([0, 1, 2], list(range(HUBS, 60))),  # bisection: hubs against few
        ([0, 1, 2, 3, 7, 11], [5, 6, 4000, 9000]),  # hubs and others together
        ([1], [9]),
        ([0, 2], []),
        ([], [0, 2]),
    ],
)
def test_hubs_are_searched_rightly_whether_scanned_or_bisected(left: list[int], right: list[int]) -> None:
    adjacency = hub_graph()
    for found in both_ways(adjacency, left, right):
        assert found == expected(adjacency, left, right)


def test_a_scan_of_more_than_one_block_misses_nothing() -> None:
    adjacency = hub_graph()
    assert adjacency.edges > BLOCK
    everything = np.arange(adjacency.nodes, dtype=np.int32)
    found = crossing(adjacency.out, adjacency.into, everything, everything)
    assert np.array_equal(np.sort(found.edge), np.arange(adjacency.edges))
    assert np.array_equal(adjacency.out.neighbour[found.edge], found.right)


@given(st.lists(st.integers(0, BLOCK), max_size=9))
def test_blocks_keep_all_items_in_order_and_within_their_size(sizes: list[int]) -> None:
    parts = blocks(np.arange(len(sizes)), np.array(sizes, np.int64))
    assert [i for part in parts for i in part.tolist()] == list(range(len(sizes)))
    assert all(len(part) for part in parts)
    assert all(sum(sizes[i] for i in part[1:]) <= BLOCK for part in parts)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 50))), st.integers(1, 4))
def test_the_kth_least_of_each_group_is_that_of_a_sort(rows: list[tuple[int, int]], k: int) -> None:
    group, key = (np.array([row[i] for row in rows], np.int64) for i in (0, 1))
    found = kth_least(group, key, k, 4)
    for g, limit in product(range(4), [2**36 - 1]):
        keys = sorted(row[1] for row in rows if row[0] == g)
        assert found[g] == (keys[k - 1] if len(keys) >= k else limit)


@given(st.lists(st.integers(-5, 5)))
def test_distinct_values_are_those_of_a_set(values: list[int]) -> None:
    assert distinct(np.array(values, np.int64)).tolist() == sorted(set(values))
