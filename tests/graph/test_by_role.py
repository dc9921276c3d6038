"""Steps over the edges of some roles."""

import gc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgmed.graph.base import ByRole, LocalGraph, kept_with_graph
from kgmed.records import Relation, Role
from role_graph import RoleGraph

RELATIONS = (
    Relation("treats", Role.TREATS),
    Relation("treated by", Role.TREATS, reverse=True),
    Relation("is_a", Role.IS_A),
)
NAMES = "abcd"
ROWS = st.sets(
    st.tuples(st.sampled_from(NAMES), st.sampled_from(["treats", "treated by", "is_a"]), st.sampled_from(NAMES)),
    min_size=1,
)


@given(rows=ROWS, start=st.lists(st.sampled_from(NAMES), min_size=1, unique=True))
def test_steps_lead_where_the_rows_do_whichever_way_they_are_written(
    rows: set[tuple[str, str, str]], start: list[str]
) -> None:
    g = RoleGraph(sorted(rows), RELATIONS, {}, isolated=list(NAMES))
    steps, nodes = ByRole(g, Role.TREATS), [g.number(n) for n in start]
    canonical = [(h, t) if r == "treats" else (t, h) for h, r, t in rows if r != "is_a"]
    objects, subjects = steps.objects(nodes), steps.subjects(nodes)
    assert sorted((start[o], g.at(n).name) for o, n in zip(objects.origin, objects.node, strict=True)) == sorted(
        pair for pair in canonical if pair[0] in start
    )
    assert sorted((g.at(n).name, start[o]) for o, n in zip(subjects.origin, subjects.node, strict=True)) == sorted(
        pair for pair in canonical if pair[1] in start
    )
    for o, n, e in zip(objects.origin.tolist(), objects.node.tolist(), objects.edge.tolist(), strict=True):
        triple = g.triple(e)
        assert (triple.subject.name, triple.object.name) == (start[o], g.at(n).name)


def test_a_closure_counts_the_fewest_steps_and_ends_in_a_cycle() -> None:
    g = RoleGraph([("a", "is_a", "b"), ("b", "is_a", "c"), ("c", "is_a", "a"), ("a", "is_a", "d")], RELATIONS, {})
    up = ByRole(g, Role.IS_A).closure(g.number("a"), up=True)
    assert {g.at(n).name: steps for n, steps in up.items()} == {"a": 0, "b": 1, "d": 1, "c": 2}
    down = ByRole(g, Role.IS_A).closure(g.number("d"), up=False)
    assert {g.at(n).name: steps for n, steps in down.items()} == {"d": 0, "a": 1, "c": 2, "b": 3}


@pytest.mark.parametrize(("folder", "times"), [("here", 2), ("", 3)])
def test_a_result_is_kept_while_its_graph_is_in_use_and_only_of_files(folder: str, times: int) -> None:
    made: list[int] = []

    class Result:
        """Something that is let go of."""

    @kept_with_graph(8)
    def result(graph: LocalGraph, node: int) -> Result:
        made.append(node)
        return Result()

    g = RoleGraph([("a", "treats", "b")], RELATIONS, {})
    g.folder = folder
    assert [type(result(g, node)).__name__ for node in (1, 2, 1)] == ["Result"] * 3
    assert len(made) == times
    del g
    gc.collect()
    assert not any(type(thing) is Result for thing in gc.get_objects())


def test_of_the_results_the_last_are_kept() -> None:
    made: list[int] = []

    @kept_with_graph(4)
    def result(graph: LocalGraph, node: int) -> int:
        made.append(node)
        return node

    g = RoleGraph([("a", "treats", "b")], RELATIONS, {})
    g.folder = "here"
    assert [result(g, node) for node in (1, 2, 3, 4, 5, 5, 1)] == [1, 2, 3, 4, 5, 5, 1]
    assert made == [1, 2, 3, 4, 5, 1]
