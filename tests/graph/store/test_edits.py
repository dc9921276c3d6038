from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graph.store.oracle import Oracle, edges, flat, nodes, rows, source, triples
from kgmed.errors import BadInput, UnknownName
from kgmed.graph.base import Alias, EdgeRow, NodeRow, Row, Scope
from kgmed.graph.search.paths import shortest
from kgmed.graph.store.build import build
from kgmed.graph.store.edits import edit
from kgmed.graph.store.store import Store, open_store
from kgmed.records import Support

BASE: list[Row] = [
    EdgeRow("a", "r", "b"),
    EdgeRow("a", "s", "b", 0.5),
    EdgeRow("b", "r", "c", 1.0, (Support("PMID:1"),)),
    EdgeRow("c", "r", "c"),
]


@pytest.fixture
def base(tmp_path: Path) -> Store:
    build(source(BASE), tmp_path / "g")
    return open_store(tmp_path / "g")


def same(edited: Store, rebuilt: Store) -> None:
    """Both hold the same graph, whatever their node numbers are, and the arrays of both are sound."""
    assert triples(edited) == triples(rebuilt)
    ids = sorted(edited.at(i).id for i in range(len(edited)))
    assert ids == sorted(rebuilt.at(i).id for i in range(len(rebuilt)))
    for key in ids:
        one, other = edited.number(key), rebuilt.number(key)
        assert (edited.at(one).name, edited.description(one)) == (rebuilt.at(other).name, rebuilt.description(other))
        assert edited.aliases(one) == rebuilt.aliases(other)
        assert said(edited, key) == said(rebuilt, key)
        around = [flat(t) for t in edited.neighbours(key, limit=999)]
        assert sorted(around) == sorted(flat(t) for t in rebuilt.neighbours(key, limit=999))
    for named in rebuilt.names():
        found = {m.entity.id for m in edited.lookup(named.text)}
        assert found == {m.entity.id for m in rebuilt.lookup(named.text)}
    for counted in ("entities", "triples", "aliases", "loops", "texts"):
        assert edited.manifest.counts[counted] == rebuilt.manifest.counts[counted]
    check_arrays(edited)


def said(store: Store, key: str) -> list[tuple[str, str, tuple[Support, ...]]]:
    """The texts about an entity."""
    return [(t.relation.name, t.tail.name, t.support) for t in store.attributes(key)]


def check_arrays(store: Store) -> None:
    """Both directions are sorted and tell of the same edges."""
    out, into = store.adjacency
    heads = np.repeat(np.arange(len(store)), np.diff(out.indptr))
    tails = np.repeat(np.arange(len(store)), np.diff(into.indptr))
    for first, second, relation in ((heads, out.neighbour, out.relation), (tails, into.neighbour, into.relation)):
        order = list(zip(first.tolist(), second.tolist(), relation.tolist(), strict=True))
        assert order == sorted(order)
    assert into.edge is not None
    assert sorted(into.edge.tolist()) == list(range(store.adjacency.edges))
    assert (heads[into.edge] == into.neighbour).all()
    assert (out.neighbour[into.edge] == tails).all()
    assert (out.relation[into.edge] == into.relation).all()


@settings(max_examples=60, deadline=None)
@given(rows, st.lists(edges, max_size=8), st.lists(nodes, max_size=3), st.data())
def test_an_edited_graph_is_the_graph_built_from_the_edited_rows(
    given_rows: list[Row], added: list[EdgeRow], more: list[NodeRow], data: st.DataObject
) -> None:
    before = Oracle.of(given_rows)
    withdrawn = data.draw(st.lists(st.sampled_from(sorted(before.edges)), max_size=4)) if before.edges else []
    more = [row._replace(name="", kind="", description="") if row.key in before.names else row for row in more]
    with TemporaryDirectory() as folder:
        build(source(given_rows), Path(folder) / "g")
        store = open_store(Path(folder) / "g")
        edited = edit(store, [*added, *more], withdrawn)
        left = [row for row in given_rows if not isinstance(row, EdgeRow) or row[:3] not in withdrawn]
        left += [NodeRow(key) for key in before.names]  # an entity stays when its last triple goes
        build(source([*left, *added, *more]), Path(folder) / "again" / "g")
        same(edited, open_store(Path(folder) / "again" / "g"))
        assert triples(store) == before.edges  # the graph that was edited has not changed


@settings(max_examples=30, deadline=None)
@given(rows, st.lists(edges, max_size=4), st.lists(edges, max_size=4))
def test_edits_one_after_the_other_are_the_edits_together(
    given_rows: list[Row], first: list[EdgeRow], second: list[EdgeRow]
) -> None:
    with TemporaryDirectory() as folder:
        build(source(given_rows), Path(folder) / "g")
        store = open_store(Path(folder) / "g")
        twice, once = edit(edit(store, first), second), edit(store, [*first, *second])
        same(twice, once)
        assert {flat(twice.triple(i)) for i in twice.edited} == {flat(once.triple(i)) for i in once.edited}


def test_an_added_triple_says_that_it_comes_from_the_edits(base: Store) -> None:
    edited = edit(base, [EdgeRow("a", "treats", "d", 1.0, (Support("PMID:7", (("note", "seen"),)),))])
    (triple,) = [t for t in edited.neighbours("d") if t.relation.name == "treats"]
    assert (triple.source, triple.references) == ("edits", ("PMID:7",))
    assert {t.source for t in edited.neighbours("b")} == {"g 1"}
    assert edited.entity("d").kind == "disease"  # from the relation


def test_adding_a_triple_that_is_there_adds_its_support_and_keeps_its_source(base: Store) -> None:
    edited = edit(base, [EdgeRow("b", "r", "c", 0.2, (Support("PMID:2"),))])
    triple = edited.triple(edited.edge("b", "r", "c"))
    assert (triple.references, triple.weight, triple.source) == (("PMID:1", "PMID:2"), 1.0, "g 1")


def test_withdrawing_and_adding_the_same_triple_replaces_it(base: Store) -> None:
    edited = edit(base, [EdgeRow("b", "r", "c", 0.2)], [("b", "r", "c")])
    triple = edited.triple(edited.edge("b", "r", "c"))
    assert (triple.references, triple.weight, triple.source) == ((), 0.2, "edits")


def test_withdrawing_what_is_not_there_is_bad_input(base: Store) -> None:
    for triple in (("a", "r", "c"), ("a", "none", "b"), ("z", "r", "b")):
        with pytest.raises(BadInput, match="nothing to withdraw"):
            edit(base, [], [triple])


def test_an_entity_that_is_there_may_get_aliases_but_no_other_name(base: Store) -> None:
    edited = edit(base, [NodeRow("a", aliases=(Alias("Alpha", Scope.BRAND),))])
    assert [m.entity.id for m in edited.lookup("alpha")] == ["a"]
    with pytest.raises(BadInput, match="in g already"):
        edit(base, [NodeRow("a", "Alpha")])


def test_the_label_tells_the_number_of_edits_and_differs_for_different_ones(base: Store) -> None:
    one, other = edit(base, [EdgeRow("a", "r", "d")]), edit(base, [EdgeRow("a", "r", "e")])
    assert one.label.startswith(base.label + " +1 edit ")
    assert one.label != other.label
    assert edit(base).label == base.label


def test_searches_run_on_an_edited_graph(base: Store) -> None:
    edited = edit(base, [EdgeRow("d", "r", "a")], [("a", "r", "b")])
    d, c = edited.number("d"), edited.number("c")
    path = shortest(edited.adjacency, d, c, direction="out").edges[0]
    assert [edited.triple(e).relation.name for e in path.tolist()] == ["r", "s", "r"]


def test_a_weight_out_of_range_and_half_characters_are_refused(base: Store) -> None:
    with pytest.raises(BadInput, match="between 0 and 1"):
        edit(base, [EdgeRow("a", "r", "b", 2.0)])
    with pytest.raises(BadInput, match="half a character"):
        edit(base, [EdgeRow("a", "r", "\ud800")])
    with pytest.raises(UnknownName):
        base.number("\ud800")
