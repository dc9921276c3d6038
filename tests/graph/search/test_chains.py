import math
from dataclasses import replace
from itertools import pairwise, product
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgmed.errors import BadInput, Stopped
from kgmed.graph.base import Adjacency
from kgmed.graph.search.chains import Chains, SearchBudget, chains, words
from kgmed.graph.search.paths import shortest
from kgmed.stop import Stop, stopping_by
from search_oracles import Walked, chains_of, graphs, order_of, simple_paths, switches


def row(found: Chains, i: int) -> Walked:
    """A row as the oracle writes it."""
    length = int(found.length[i])
    nodes = tuple(found.nodes[i, : length + 1].tolist())
    edges, forward = found.edges[i, :length].tolist(), found.forward[i, :length].tolist()
    return nodes, tuple(zip(edges, forward, nodes[1:], strict=True))


def rows_by_pair(found: Chains) -> dict[tuple[int, int], list[Walked]]:
    pairs = [(int(a), int(b)) for a, b in found.pairs]
    grouped: dict[tuple[int, int], list[Walked]] = {pair: [] for pair in pairs}
    for i in range(len(found)):
        grouped[pairs[found.pair[i]]].append(row(found, i))
    return grouped


def same(a: Chains, b: Chains) -> bool:
    columns = ("pairs", "total", "shown", "pair", "nodes", "edges", "forward", "weight")
    return all(np.array_equal(getattr(a, c), getattr(b, c)) for c in columns) and a.cut == b.cut


@given(graphs(), st.data(), st.integers(1, 5), st.sampled_from([0, 1, 2, 5, 1000]))
def test_counts_and_rows_equal_those_of_brute_force(
    adjacency: Adjacency, data: st.DataObject, hops: int, per_pair: int
) -> None:
    anchors = data.draw(st.lists(st.integers(0, adjacency.nodes - 1), max_size=4))
    expected = chains_of(adjacency, anchors, hops)
    found = chains(adjacency, anchors, hops=hops, per_pair=per_pair)
    assert not found.truncated
    assert [tuple(p) for p in found.pairs.tolist()] == list(expected)
    assert found.total.tolist() == [len(rows) for rows in expected.values()]
    assert found.shown.tolist() == [min(per_pair, len(rows)) for rows in expected.values()]
    assert rows_by_pair(found) == {pair: rows[:per_pair] for pair, rows in expected.items()}
    assert found.weight.tolist() == [order_of(adjacency, row(found, i))[0] for i in range(len(found))]


@given(graphs(nodes=12, edges=40), st.data())
def test_the_order_of_the_anchors_and_repeated_anchors_change_nothing(
    adjacency: Adjacency, data: st.DataObject
) -> None:
    anchors = data.draw(st.lists(st.integers(0, adjacency.nodes - 1), min_size=2, max_size=5))
    again = [*data.draw(st.permutations(anchors)), anchors[0]]
    assert same(chains(adjacency, anchors, per_pair=3), chains(adjacency, again, per_pair=3))


def test_of_the_fourteen_direction_words_of_up_to_three_steps_the_two_that_change_twice_are_rejected() -> None:
    accepted = {word for length in (1, 2, 3) for word in words(length)}
    every = {word for length in (1, 2, 3) for word in product((True, False), repeat=length)}
    assert len(every) == 14
    assert every - accepted == {(True, False, True), (False, True, False)}


@pytest.mark.parametrize("word", [w for n in (1, 2, 3) for w in product((True, False), repeat=n)])
def test_a_line_of_each_direction_word_is_a_chain_unless_it_changes_direction_twice(word: tuple[bool, ...]) -> None:
    triples = [(i, 0, i + 1) if forward else (i + 1, 0, i) for i, forward in enumerate(word)]
    found = chains(Adjacency.of(len(word) + 1, np.array(triples)), [0, len(word)])
    changes = sum(a != b for a, b in pairwise(word))
    assert found.total.tolist() == [int(changes <= 1)]


@pytest.mark.parametrize(
    ("triples", "kind"),
    [
        ([(0, 0, 1), (1, 0, 2)], "path"),
        ([(1, 0, 0), (2, 0, 1)], "path"),
        ([(0, 0, 1), (2, 0, 1)], "co_ancestor"),
        ([(1, 0, 0), (1, 0, 2)], "co_occurrence"),
        ([(0, 0, 2)], "path"),
    ],
)
def test_each_shape_is_named(triples: list[tuple[int, int, int]], kind: str) -> None:
    found = chains(Adjacency.of(3, np.array(triples)), [0, 2])
    assert [found.kind(i) for i in range(len(found))] == [kind]


def test_parallel_edges_make_distinct_chains() -> None:
    adjacency = Adjacency.of(3, np.array([(0, 0, 1), (0, 1, 1), (1, 0, 2), (1, 4, 2), (1, 5, 2)]))
    assert chains(adjacency, [0, 2]).total.tolist() == [6]


def test_chains_through_common_nodes_come_after_those_through_rare_ones() -> None:
    hub = [(1, 0, n) for n in range(4, 30)]
    adjacency = Adjacency.of(30, np.array([(0, 0, 1), (3, 0, 1), (0, 0, 2), (3, 0, 2), *hub]))
    assert chains(adjacency, [0, 3], per_pair=2).nodes[:, 1].tolist() == [2, 1]


@pytest.mark.parametrize("steps", [1, 2, 3, 4, 5])
def test_the_weight_of_a_chain_is_the_product_of_the_degrees_between_its_anchors(steps: int) -> None:
    line = [(i, 0, i + 1) for i in range(steps)]
    leaves = [(i, 1, 10 * i + j) for i in range(1, steps) for j in range(i)]  # node i has degree 2 + i
    found = chains(Adjacency.of(60, np.array(line + leaves)), [0, steps], hops=steps)
    assert found.weight.tolist() == [math.prod(2 + i for i in range(1, steps))]


@pytest.mark.parametrize(("budget", "cut"), [(6, False), (5, True)])
def test_half_chains_grow_within_the_budget_to_the_last_edge(budget: int, cut: bool) -> None:
    """On the line 0 - 1 - 2 - 3 - 4 the second step forward looks at the six edges that leave node 1."""
    line = Adjacency.of(10, np.array([(0, 0, 1), (1, 0, 2), (2, 0, 3), (3, 0, 4), *((1, 0, n) for n in range(5, 10))]))
    found = chains(line, [0, 4], hops=4, budget=SearchBudget(halves=budget))
    assert (found.truncated, found.total.tolist()) == (cut, [int(not cut)])


def hub_graph(leaves: int) -> Adjacency:
    """Two anchors with many common neighbours, of which node 2 has one edge more than the others."""
    triples = [(a, 0, n) for a in (0, 1) for n in range(2, 2 + leaves)] + [(2, 1, 2 + leaves)]
    return Adjacency.of(leaves + 3, np.array(triples))


@pytest.mark.parametrize(
    ("budget", "name"),
    [(SearchBudget(middles=5), "middles"), (SearchBudget(joined=20), "joined"), (SearchBudget(halves=5), "halves")],
)
def test_a_search_cut_by_a_budget_says_which_and_keeps_the_most_specific(budget: SearchBudget, name: str) -> None:
    adjacency = hub_graph(20)
    whole, cut = (chains(adjacency, [0, 1], hops=4, per_pair=5, budget=b) for b in (SearchBudget(), budget))
    assert whole.cut == ()
    assert name in cut.cut
    assert cut.truncated
    assert cut.total[0] < whole.total[0] or name == "halves"
    if name != "halves":
        assert np.array_equal(cut.nodes, whole.nodes)


@given(graphs(nodes=10, edges=40), st.integers(1, 30), st.integers(3, 5), st.data())
def test_a_cut_search_finds_only_true_chains_and_does_not_depend_on_the_anchors_order(
    adjacency: Adjacency, size: int, hops: int, data: st.DataObject
) -> None:
    anchors = data.draw(st.lists(st.integers(0, adjacency.nodes - 1), min_size=2, max_size=4, unique=True))
    budget = SearchBudget(halves=size, middles=size, joined=size)
    found = chains(adjacency, anchors, hops=hops, per_pair=1000, budget=budget)
    expected = chains_of(adjacency, anchors, hops)
    for pair, rows in rows_by_pair(found).items():
        assert set(rows) <= set(expected[pair])
        assert len(set(rows)) == len(rows)
    assert found.truncated or found.total.tolist() == [len(rows) for rows in expected.values()]
    assert same(found, chains(adjacency, anchors[::-1], hops=hops, per_pair=1000, budget=budget))


def test_a_large_random_graph_with_hubs_is_counted_as_by_matrices() -> None:
    """Two-step and three-step counts against sums over matrix products, past the block and the hub limits."""
    rng = np.random.default_rng(5)
    n = 6000
    heads, tails = rng.integers(0, n, 40_000), rng.integers(0, n, 40_000)
    heads[:9_000], tails[9_000:18_000] = 0, 1
    adjacency = Adjacency.of(n, np.column_stack([heads, rng.integers(0, 4, 40_000), tails]))
    found = chains(adjacency, [0, 1, 2, 3], per_pair=7)
    for pair, (a, b) in enumerate(found.pairs.tolist()):
        assert found.total[pair] == count_by_matrices(adjacency, a, b)
    assert all(len({tuple(map(int, r)) for r in found.nodes[found.pair == p]}) >= 1 for p in range(6))
    assert (np.diff(found.weight)[np.diff(found.pair) == 0] >= 0).all()


def count_by_matrices(adjacency: Adjacency, a: int, b: int) -> int:
    """All accepted chains of up to three steps between a and b, node by node."""
    out: dict[int, dict[int, int]] = {}
    for head in range(adjacency.nodes):
        row = adjacency.out.neighbour[adjacency.out.indptr[head] : adjacency.out.indptr[head + 1]]
        out[head] = dict(zip(*(x.tolist() for x in np.unique(row, return_counts=True)), strict=True))
    into: dict[int, dict[int, int]] = {n: {} for n in out}
    for head, row_of in out.items():
        for tail, many in row_of.items():
            into[tail][head] = many
    side = {True: out, False: into}
    total = out[a].get(b, 0) + into[a].get(b, 0)
    for word in (w for n in (2, 3) for w in words(n)):
        first, last = side[word[0]][a], side[not word[-1]][b]
        for u, many in first.items():
            if u in (a, b):
                continue
            if len(word) == 2:
                total += many * last.get(u, 0)
                continue
            middle = side[word[1]][u]
            small, large = sorted((middle, last), key=len)
            total += many * sum(m * large.get(v, 0) for v, m in small.items() if v not in (a, b, u))
    return total


@pytest.mark.parametrize("hops", [0, 6])
def test_a_number_of_steps_out_of_range_is_refused(hops: int) -> None:
    with pytest.raises(BadInput, match="1 to 5 steps"):
        chains(hub_graph(2), [0, 1], hops=hops)


def test_fewer_than_two_anchors_have_no_pairs() -> None:
    for anchors in ([], [1], [1, 1]):
        found = chains(hub_graph(3), anchors)
        assert (len(found), found.pairs.shape, found.total.tolist()) == (0, (0, 2), [])


def test_the_oracle_itself_counts_a_case_that_can_be_counted_by_hand() -> None:
    adjacency = Adjacency.of(4, np.array([(0, 0, 1), (1, 0, 3), (0, 0, 2), (3, 0, 2), (1, 0, 2), (0, 1, 0)]))
    paths = simple_paths(adjacency, 0, 3, 3)
    assert sorted(nodes for nodes, _ in paths) == [(0, 1, 2, 3), (0, 1, 3), (0, 2, 1, 3), (0, 2, 3)]
    assert sorted(switches(taken) for _, taken in paths) == [0, 1, 1, 2]
    assert math.prod(len(rows) for rows in chains_of(adjacency, [0, 3], 3).values()) == 3


def test_searches_are_ended_by_a_stop_token() -> None:
    graph = Adjacency.of(3, np.array([[0, 0, 1], [1, 0, 2]]))
    stop = Stop()
    stop.set()
    with stopping_by(stop):
        for search in (lambda: chains(graph, [0, 2]), lambda: shortest(graph, 0, 2)):
            with pytest.raises(Stopped):
                search()


def test_the_kind_of_a_chain_is_told_by_its_own_row() -> None:
    """To tell it by the length of all rows took a minute for the chains of three hundred medicines."""
    found = chains(Adjacency.of(3, np.array([[0, 0, 2], [1, 0, 2], [0, 1, 1]])), [1, 0], hops=2)
    other = replace(found, edges=cast("Any", _Rows(found.edges)))
    assert [other.kind(i) for i in range(2)] == ["path", "co_ancestor"]


class _Rows:
    """Edges of which one row at a time is looked at."""

    def __init__(self, edges: Any) -> None:
        self._edges = edges

    def __getitem__(self, row: int) -> Any:
        return self._edges[row]
