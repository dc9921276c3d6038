from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from graph.store.oracle import ODD, Oracle, about, flat, keys, nodes, rows, source, texts, triples
from kgmed.errors import SourceError, UnknownName
from kgmed.graph.base import Alias, Batch, Batches, Csr, DroppedRow, EdgeRow, NodeRow, Row, Scope, Source, TextRow, Told
from kgmed.graph.store.arrays import Arena, RecordCache, write_arena
from kgmed.graph.store.build import build
from kgmed.graph.store.folder import current
from kgmed.graph.store.index import NameIndex
from kgmed.graph.store.store import Store, open_store
from kgmed.language.text import fold, normalise
from kgmed.records import Role, Support

STORED = settings(max_examples=40, deadline=None)


def stored(rows: list[Row], folder: Path, *, prefix: str = "") -> Store:
    build(source(rows, prefix=prefix), folder / "g")
    return open_store(folder / "g")


def check_csr(csr: Csr, edges: Counter[tuple[int, int, int]], *, flip: bool) -> None:
    """One direction holds exactly those (head, tail, relation), each row sorted."""
    found: Counter[tuple[int, int, int]] = Counter()
    for node in range(len(csr.indptr) - 1):
        begin, end = csr.indptr[node], csr.indptr[node + 1]
        row = list(zip(csr.neighbour[begin:end].tolist(), csr.relation[begin:end].tolist(), strict=True))
        assert row == sorted(row)
        found.update((other, node, r) if flip else (node, other, r) for other, r in row)
    assert found == edges


@STORED
@given(rows)
def test_the_store_holds_what_a_plain_dict_of_the_rows_holds(given_rows: list[Row]) -> None:
    oracle = Oracle.of(given_rows)
    with TemporaryDirectory() as folder:
        store = stored(given_rows, Path(folder))
        assert triples(store) == oracle.edges
        assert len(store) == len(oracle.names) == store.manifest.counts["entities"]
        assert {store.at(i).id: store.at(i).name for i in range(len(store))} == oracle.names
        for key in oracle.names:
            entity, node = store.entity(key), store.number(key)
            assert store.at(node) == entity
            assert entity.description == oracle.descriptions.get(key, "")
            assert entity.kind == oracle.kinds.get(key) or not oracle.kinds.get(key)
            assert store.aliases(node) == oracle.aliases.get(key, [])
            around = [flat(t)[0] for t in store.neighbours(key, limit=1000)]
            assert len(around) == len(set(around))
            assert set(around) == oracle.around(key)
            attributes = [(t.relation.name, t.tail.name, t.support) for t in store.attributes(key)]
            assert attributes == oracle.texts.get(key, [])


@STORED
@given(rows)
def test_both_directions_are_sorted_and_hold_the_same_edges(given_rows: list[Row]) -> None:
    with TemporaryDirectory() as folder:
        store = stored(given_rows, Path(folder))
        out, into = store.adjacency
        heads = np.repeat(np.arange(len(store)), np.diff(out.indptr)).tolist()
        edges = Counter(zip(heads, out.neighbour.tolist(), out.relation.tolist(), strict=True))
        assert not edges or max(edges.values()) == 1
        check_csr(out, edges, flip=False)
        check_csr(into, edges, flip=True)
        assert into.edge is not None
        tails = np.repeat(np.arange(len(store)), np.diff(into.indptr))
        assert (out.neighbour[into.edge] == tails).all()
        assert (out.relation[into.edge] == into.relation).all()


@STORED
@given(rows, texts)
def test_lookup_finds_exactly_the_entities_with_a_name_of_the_same_key(given_rows: list[Row], name: str) -> None:
    with TemporaryDirectory() as folder:
        store = stored(given_rows, Path(folder))
        names = list(store.names())
        for asked in [name, *(n.text for n in names[:5])]:
            same = {n.node for n in names if n.text == asked or (normalise(asked) == normalise(n.text) != "")}
            loose = {n.node for n in names if fold(n.text) == fold(asked) != ""}
            matches = store.lookup(asked)
            assert {store.number(m.entity.id) for m in matches} == (same or loose)
            assert [m.score for m in matches] == sorted((m.score for m in matches), reverse=True)


@STORED
@given(rows, keys)
def test_an_id_that_is_not_there_is_an_unknown_name(given_rows: list[Row], key: str) -> None:
    with TemporaryDirectory() as folder:
        store = stored(given_rows, Path(folder))
        if key in Oracle.of(given_rows).names:
            assert store.at(store.number(key)).id == key
        else:
            with pytest.raises(UnknownName):
                store.number(key)


@STORED
@given(rows)
def test_ids_carry_the_prefix_of_the_graph_and_are_found_with_and_without(given_rows: list[Row]) -> None:
    with TemporaryDirectory() as folder:
        store = stored(given_rows, Path(folder), prefix="pre")
        for node in range(len(store)):
            entity = store.at(node)
            assert entity.id.startswith("pre:")
            assert store.number(entity.id) == node


@STORED
@given(rows, st.integers(-1, 5), st.lists(st.sampled_from([Role.TREATS, Role.FINDING]), max_size=2))
def test_neighbours_keep_the_heaviest_of_the_roles_asked_for(
    given_rows: list[Row], limit: int, roles: list[Role]
) -> None:
    with TemporaryDirectory() as folder:
        store = stored(given_rows, Path(folder))
        for node in range(len(store)):
            key = store.at(node).id
            found = store.neighbours(key, limit=limit, roles=roles)
            every = [t for t in store.neighbours(key, limit=1000) if not roles or t.relation.role in roles]
            assert found == every[: max(limit, 0)]
            assert [t.weight for t in every] == sorted((t.weight for t in every), reverse=True)


def test_equal_triples_are_one_with_the_support_of_all_and_the_largest_weight(tmp_path: Path) -> None:
    one, two = Support("PMID:1", (("sex", "F"), ("sex", "M"))), Support("PMID:2")
    rows = [EdgeRow("a", "r", "b", 0.5, (one,)), EdgeRow("a", "r", "b", 0.7, (two, one)), EdgeRow("a", "r", "b", 0.1)]
    store = stored(list(rows), tmp_path)
    (triple,) = store.neighbours("a")
    assert (triple.weight, triple.support) == (0.7, (one, two))
    assert store.manifest.counts["merged"] == 2


def test_an_edge_to_itself_is_shown_once_and_counted(tmp_path: Path) -> None:
    store = stored([EdgeRow("a", "r", "a"), EdgeRow("a", "s", "a"), EdgeRow("a", "r", "b")], tmp_path)
    assert len(store.neighbours("a")) == 3
    assert store.manifest.counts["loops"] == 2


def test_what_a_later_row_says_of_an_entity_replaces_and_its_aliases_add_up(tmp_path: Path) -> None:
    rows: list[Row] = [
        NodeRow("a", "A", "drug", "old", (Alias("x"),)),
        NodeRow("a", "B", "", "new", (Alias("y", Scope.BRAND),)),
        EdgeRow("a", "has_symptom", "b"),
    ]
    store = stored(rows, tmp_path)
    entity = store.entity("a")
    assert (entity.name, entity.kind, entity.description) == ("B", "drug", "new")
    assert store.aliases(store.number("a")) == [("x", Scope.EXACT), ("y", Scope.BRAND)]
    assert store.entity("b").kind == "symptom"  # from the relation
    assert store.of_kind("symptom").tolist() == [store.number("b")]


def test_names_of_every_oddity_come_back_as_they_were(tmp_path: Path) -> None:
    store = stored([TextRow(str(i), "r", name) for i, name in enumerate(ODD)], tmp_path)
    assert [store.attributes(str(i))[0].tail.name for i in range(len(ODD))] == ODD


def test_a_lone_surrogate_is_asked_for_in_vain_and_refused_in_a_source(tmp_path: Path) -> None:
    store = stored([EdgeRow("a", "r", "b")], tmp_path)
    assert store.lookup("\ud800") == []
    with pytest.raises(SourceError, match="half a character"):
        build(source([EdgeRow("a\ud800", "r", "b")]), tmp_path / "h")
    assert not (tmp_path / "h").exists()


@pytest.mark.parametrize("weight", [float("nan"), -0.1, 1.1, float("inf")])
def test_a_weight_that_is_none_is_refused(tmp_path: Path, weight: float) -> None:
    with pytest.raises(SourceError, match="between 0 and 1"):
        build(source([EdgeRow("a", "r", "b", weight)]), tmp_path / "g")


def test_more_relations_than_two_bytes_can_number_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="65,535 relations"):
        build(source([EdgeRow("a", str(i), "b") for i in range(65_537)]), tmp_path / "g")


def test_a_source_without_entities_is_refused_and_nothing_is_left(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="holds no entity"):
        build(source([DroppedRow("NaN", 3)]), tmp_path / "g")
    assert list(tmp_path.iterdir()) == []


def test_dropped_rows_are_counted_by_reason_with_the_first_lines(tmp_path: Path) -> None:
    rows: list[Row] = [*(DroppedRow("NaN", i) for i in range(1, 9)), DroppedRow("empty", 20), EdgeRow("a", "r", "b")]
    store = stored(rows, tmp_path)
    assert store.manifest.dropped == {
        "NaN": {"count": 8, "lines": [1, 2, 3, 4, 5, 6, 7, 8]},
        "empty": {"count": 1, "lines": [20]},
    }


def test_an_edge_is_found_by_its_ends_and_relation(tmp_path: Path) -> None:
    store = stored([EdgeRow("a", "r", "b"), EdgeRow("a", "s", "b"), EdgeRow("b", "r", "a")], tmp_path)
    assert flat(store.triple(store.edge("a", "s", "b")))[0] == ("a", "s", "b")
    assert [store.edge(*t) for t in (("b", "s", "a"), ("a", "r", "a"), ("z", "r", "b"), ("a", "none", "b"))] == [-1] * 4


CODED = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 3), st.integers(0, 9)), max_size=9)


@STORED
@given(st.lists(st.tuples(CODED, st.lists(nodes | about, max_size=3)), min_size=1, max_size=5))
def test_rows_that_come_as_columns_give_the_graph_that_they_give_one_by_one(
    parts: list[tuple[list[tuple[int, int, int]], list[Told]]],
) -> None:
    batches = [Batch(told, *np.array(coded, np.int64).reshape(-1, 3).T) for coded, told in parts]
    both = Batches(batches, lambda codes: [f"n{i}" for i in codes], lambda codes: [f"r{i}" for i in codes])
    one_by_one = list(both)
    assert len(one_by_one) == sum(len(coded) + len(told) for coded, told in parts)
    assume(one_by_one)
    with TemporaryDirectory() as folder:
        manifest = build(Source("g", lambda: both), Path(folder) / "columns")
        assert triples(open_store(Path(folder) / "columns")) == Oracle.of(one_by_one).edges
        assert build(Source("g", lambda: iter(one_by_one)), Path(folder) / "rows").counts == manifest.counts


def test_a_helper_indexes_half_of_many_names_and_leaves_nothing_behind(tmp_path: Path) -> None:
    edges = [EdgeRow(f"name {i}s", "r", f"b {i}") for i in range(20)]
    manifest = build(source([*edges, NodeRow("b 1", aliases=(Alias("the Calves"), Alias("x")))]), tmp_path / "g")
    folder = current(tmp_path / "g")
    before = {file: (folder / file).read_bytes() for file in manifest.files}
    for file in ("normalised_hash", "normalised_number", "folded_hash", "folded_number"):
        (folder / f"{file}.npy").unlink()
    with NameIndex(folder, many=10).helped() as index:
        index.write()
    assert {file.name: file.read_bytes() for file in folder.glob("*.npy")} == before


def test_names_are_indexed_without_the_helper_where_it_does_not_run(tmp_path: Path) -> None:
    build(source([EdgeRow(f"name {i}s", "r", "b") for i in range(20)]), tmp_path / "g")
    folder = current(tmp_path / "g")
    before = (folder / "folded_hash.npy").read_bytes()
    NameIndex(folder, many=10).write()
    assert (folder / "folded_hash.npy").read_bytes() == before


def test_kept_records_stay_few_the_oldest_go_and_all_that_were_asked_for_come_in_order() -> None:
    cache, made = RecordCache[int, str](), list[int]()

    def make(numbers: list[int]) -> list[str]:
        made.extend(numbers)
        return [f"r{number}" for number in numbers]

    for first in range(0, 40_000, 100):
        asked = [first + 50, *range(first, first + 100), first]
        assert cache(asked, make) == [f"r{number}" for number in asked]
    assert len(made) == len(set(made)) == 40_000
    cache([39_999], make)
    assert len(made) == 40_000
    assert cache.one(0, lambda number: f"again {number}") == "again 0"
    assert len(cache._kept) < 10_000


def test_texts_read_together_are_those_read_one_by_one_whatever_is_in_them(tmp_path: Path) -> None:
    texts = ["gout", "", "a\0b", "肺炎", "\0", "naïve"]
    write_arena(tmp_path, "t", texts)
    arena = Arena.open(tmp_path, "t")
    for numbers in ([0, 1, 3, 5], [5, 5, 2], [4], [1], []):
        assert arena.many(np.array(numbers, np.int64)) == [texts[i] for i in numbers]
