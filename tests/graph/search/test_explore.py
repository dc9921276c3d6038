import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kgmed.graph.base import Adjacency
from kgmed.graph.search.paths import Segment, explore
from search_oracles import graphs


def line(n: int, *, gap: int | None = None) -> Adjacency:
    """0 - 1 - 2 - ... without the edge gap - (gap + 1); directions alternate."""
    pairs = [(i, i + 1) if i % 2 else (i + 1, i) for i in range(n - 1) if i != gap]
    return Adjacency.of(n, np.array([(a, 0, b) for a, b in pairs]))


def entities(segments: list[Segment]) -> list[tuple[int, ...]]:
    return [segment.entities for segment in segments]


def test_three_entities_on_a_line_are_one_segment_of_one_leg_when_the_middle_one_is_passed() -> None:
    segments = explore(line(5), [0, 4, 2])
    assert entities(segments) == [(0, 2, 4)]
    assert [leg.nodes.tolist() for leg in segments[0].legs] == [[[0, 1, 2, 3, 4]]]


def test_three_entities_in_the_order_of_the_line_are_one_segment_of_two_legs() -> None:
    segments = explore(line(5), [0, 2, 4])
    assert entities(segments) == [(0, 2, 4)]
    assert [leg.nodes.tolist() for leg in segments[0].legs] == [[[0, 1, 2]], [[2, 3, 4]]]


def test_a_disconnected_pair_is_two_segments_without_legs() -> None:
    assert explore(line(4, gap=1), [0, 3]) == [Segment((0,), ()), Segment((3,), ())]


def test_an_entity_out_of_reach_ends_the_segment_and_starts_the_next() -> None:
    assert entities(explore(line(6, gap=2), [0, 4, 5, 1])) == [(0,), (4, 5), (1,)]


def test_an_entity_further_than_the_limit_is_out_of_reach() -> None:
    assert entities(explore(line(7), [0, 6])) == [(0,), (6,)]
    assert entities(explore(line(7), [0, 6], hops=6)) == [(0, 6)]


def test_repeated_entities_count_once() -> None:
    assert entities(explore(line(3), [0, 2, 0, 2, 2])) == [(0, 2)]


def test_an_empty_list_has_no_segment_and_a_single_entity_one() -> None:
    assert explore(line(3), []) == []
    assert explore(line(3), [1]) == [Segment((1,), ())]


def test_of_equally_short_paths_the_one_through_a_waiting_entity_is_taken() -> None:
    square = Adjacency.of(4, np.array([(0, 0, 1), (1, 0, 3), (0, 0, 2), (2, 0, 3)]))
    assert entities(explore(square, [0, 3, 2])) == [(0, 2, 3)]


def test_directed_search_follows_edges_only_as_they_point() -> None:
    arrow = Adjacency.of(2, np.array([(1, 0, 0)]))
    assert entities(explore(arrow, [0, 1], direction="out")) == [(0,), (1,)]
    assert entities(explore(arrow, [0, 1])) == [(0, 1)]


@given(graphs(nodes=10, edges=16), st.data())
def test_every_entity_is_in_exactly_one_segment_and_legs_join_up(adjacency: Adjacency, data: st.DataObject) -> None:
    wanted = data.draw(st.lists(st.integers(0, adjacency.nodes - 1), max_size=6))
    segments = explore(adjacency, wanted)
    assert sorted(e for s in segments for e in s.entities) == sorted(set(wanted))
    for segment in segments:
        ends = [segment.entities[0], *(int(leg.nodes[0, -1]) for leg in segment.legs)]
        assert [int(leg.nodes[0, 0]) for leg in segment.legs] == ends[:-1]
        assert set(ends) <= set(segment.entities)
