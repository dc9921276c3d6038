"""Steps over the edges of some roles."""

from hypothesis import given
from hypothesis import strategies as st

from kgmed.graph.base import ByRole
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
