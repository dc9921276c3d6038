import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgmed.errors import BadInput
from kgmed.graph.base import Adjacency
from kgmed.graph.search.scan import Direction, incident, induced, subgraph
from search_oracles import graphs, steps_of


@given(graphs(), st.data(), st.integers(0, 12), st.sampled_from(["out", "in", "both"]), st.booleans())
def test_incident_edges_are_those_of_brute_force_heaviest_first(
    adjacency: Adjacency, data: st.DataObject, limit: int, direction: Direction, weighted: bool
) -> None:
    node = data.draw(st.integers(0, adjacency.nodes - 1))
    grades = st.lists(st.sampled_from([0.1, 0.5, 0.9]), min_size=adjacency.edges, max_size=adjacency.edges)
    weight = np.array(data.draw(grades), np.float32)
    wanted = {"out": (True,), "in": (False,), "both": (True, False)}[direction]
    edges = {edge for edge, forward, _ in steps_of(adjacency)[node] if forward in wanted}
    edges |= {e for e, _, tail in steps_of(adjacency)[node] if tail == node}
    expected = sorted(edges, key=lambda e: (-weight[e] if weighted else 0, e))[:limit]
    found = incident(adjacency, node, limit=limit, weight=weight if weighted else None, direction=direction)
    assert found.tolist() == expected


def test_a_hub_shows_its_heaviest_edges() -> None:
    adjacency = Adjacency.of(50_001, np.column_stack([np.arange(1, 50_001), np.zeros(50_000), np.zeros(50_000)]))
    weight = np.zeros(50_000, np.float32)
    weight[[40_000, 7, 12_345]] = [0.5, 0.75, 0.5]
    assert incident(adjacency, 0, limit=5, weight=weight).tolist() == [7, 12_345, 40_000, 0, 1]


def neighbours(adjacency: Adjacency, node: int, per_node: int | None) -> list[int]:
    """The neighbours that a node leads on to, by brute force."""
    steps = steps_of(adjacency)
    found = {tail for _, _, tail in steps[node]} - {node}
    return sorted(found, key=lambda n: (len(steps[n]), n))[:per_node]


def levels(adjacency: Adjacency, seeds: list[int], hops: int, per_node: int | None) -> list[list[int]]:
    """The levels of the neighbourhood, by brute force."""
    found = [sorted(set(seeds))]
    for _ in range(hops):
        seen = {n for level in found for n in level}
        reached = {n for node in found[-1] for n in neighbours(adjacency, node, per_node)}
        found.append(sorted(reached - seen))
    return found


@given(graphs(nodes=10, edges=40), st.data(), st.integers(1, 12))
def test_a_subgraph_has_its_seeds_no_more_nodes_than_asked_for_and_all_edges_between_them(
    adjacency: Adjacency, data: st.DataObject, size: int
) -> None:
    seeds = data.draw(st.lists(st.integers(0, adjacency.nodes - 1), max_size=3))
    cut = subgraph(adjacency, seeds, size=size, per_node=None)
    reached = {n for level in levels(adjacency, seeds, 10, None) for n in level}
    assert set(seeds) <= set(cut.nodes.tolist()) <= reached
    assert len(cut.nodes) == max(len(set(seeds)), min(size, len(reached)))
    inside = set(cut.nodes.tolist())
    expected = [e for head in sorted(inside) for e, along, t in steps_of(adjacency)[head] if along and t in inside]
    assert cut.edges.tolist() == sorted(expected)


@given(graphs(nodes=10, edges=40), st.data())
def test_an_induced_graph_keeps_ends_and_relations_of_its_edges(adjacency: Adjacency, data: st.DataObject) -> None:
    chosen = data.draw(st.lists(st.integers(0, adjacency.nodes - 1), max_size=6))
    cut = induced(adjacency, chosen)
    local = cut.adjacency
    assert local.edges == len(cut.edges)
    heads = np.repeat(np.arange(local.nodes), np.diff(local.out.indptr))
    whole_heads = np.repeat(np.arange(adjacency.nodes), np.diff(adjacency.out.indptr))
    assert cut.nodes[heads].tolist() == whole_heads[cut.edges].tolist()
    assert cut.nodes[local.out.neighbour].tolist() == adjacency.out.neighbour[cut.edges].tolist()
    assert local.out.relation.tolist() == adjacency.out.relation[cut.edges].tolist()


def test_of_the_last_level_the_nodes_of_lowest_degree_are_kept() -> None:
    adjacency = Adjacency.of(6, np.array([(0, 0, 1), (0, 0, 2), (0, 0, 3), (1, 0, 4), (1, 0, 5), (2, 0, 5)]))
    assert subgraph(adjacency, [0], size=3).nodes.tolist() == [0, 2, 3]
    assert subgraph(adjacency, [0], size=3).local([3, 0]).tolist() == [2, 0]


def test_a_node_that_is_not_in_the_subgraph_has_no_local_number() -> None:
    cut = induced(Adjacency.of(4, np.array([(0, 0, 1)])), [0, 2])
    for node in (1, 3):
        with pytest.raises(BadInput, match="not in the subgraph"):
            cut.local([node])
