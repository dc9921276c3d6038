"""What a graph says of its diseases as columns, and what is left when a publication is taken out."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgmed.diagnose.table import DiseaseTable, closure, columns, groups, read
from kgmed.graph.store.store import Store
from kgmed.records import Role
from pheno_graph import annotated

A, B, C = "HP:0000001", "HP:0000002", "HP:0000003"
X = "OMIM:1"
OFTEN = "very frequent (80-99%)"


def frequencies(table: DiseaseTable, graph: Store, disease: int = 0) -> dict[str, float]:
    """The pooled frequencies of a disease by the id of the finding."""
    pooled = table.pooled(Role.FINDING)
    mine = np.flatnonzero(pooled.disease == disease)
    return {graph.at(int(pooled.node[i])).id: float(pooled.frequency[i]) for i in mine}


def test_counts_are_pooled_with_one_pseudo_patient_and_classes_and_silence_have_their_own_values(
    tmp_path: Path,
) -> None:
    rows = [
        (X, A, "3/7", "PMID:1"),
        (X, A, "1/1", "PMID:2"),
        (X, B, "very frequent (80-99%)", "PMID:1"),
        (X, C, "", ""),
    ]
    graph = annotated(tmp_path, [], rows)
    assert frequencies(read(graph), graph) == {A: pytest.approx(4.5 / 9), B: 0.895, C: 0.5}


def test_a_finding_with_a_reference_and_no_frequency_has_the_value_of_silence(tmp_path: Path) -> None:
    graph = annotated(tmp_path, [], [(X, A, "", "PMID:1")])
    assert frequencies(read(graph), graph) == {A: 0.5}


def test_a_copy_loses_what_rests_on_the_publication_alone_and_keeps_the_rest(tmp_path: Path) -> None:
    rows = [(X, A, "3/7", "PMID:1"), (X, A, "1/1", "PMID:2"), (X, B, "2/2", "PMID:1"), (X, C, "", "PMID:1 PMID:3")]
    graph = annotated(tmp_path, [], rows)
    table = read(graph).with_copies([(0, "PMID:1")])
    assert frequencies(table, graph, 1) == {A: pytest.approx(1.5 / 2), C: 0.5}
    assert frequencies(table, graph, 0) == frequencies(read(graph), graph)
    assert table.publications().tolist() == [3, 2]


def test_a_count_that_two_publications_give_alike_goes_with_either_of_them(tmp_path: Path) -> None:
    graph = annotated(tmp_path, [], [(X, A, "3/7", "PMID:1 PMID:2")])
    table = read(graph).with_copies([(0, "PMID:1")])
    assert frequencies(table, graph, 1) == {A: 0.5}


def test_what_only_the_remaining_publications_deny_has_no_frequency(tmp_path: Path) -> None:
    graph = annotated(tmp_path, [], [(X, A, "3/7", "PMID:1"), (X, A, "0/3", "PMID:2")])
    assert frequencies(read(graph).with_copies([(0, "PMID:1")]), graph, 1) == {A: 0.0}


def test_the_table_is_kept_beside_the_graph_and_read_back_alike(tmp_path: Path) -> None:
    graph = annotated(tmp_path, [], [(X, A, "3/7", "PMID:1")])
    first, again = read(graph), read(graph)
    assert list((tmp_path).rglob("derived/phenotypes-*/references.npy"))
    assert first.references.tolist() == again.references.tolist()
    assert np.array_equal(first.counted, again.counted)


edges = st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=20)


@given(edges)
def test_the_closure_is_what_repeated_steps_reach_even_in_a_circle(pairs: list[tuple[int, int]]) -> None:
    child, parent = np.array(pairs, np.int64).reshape(-1, 2).T
    reach = np.eye(8, dtype=bool)
    reach[child, parent] = True
    for _ in range(8):
        reach = (reach.astype(int) @ reach.astype(int)) > 0
    found = closure(child, parent, 8)
    assert [found[i].tolist() for i in range(8)] == [np.flatnonzero(row).tolist() for row in reach]


entries = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3), st.floats(0.1, 1)), max_size=20)


@given(entries)
def test_sparse_columns_hold_the_largest_value_of_each_place(found: list[tuple[int, int, float]]) -> None:
    dense = np.zeros((5, 4))
    for row, column, value in found:
        dense[row, column] = max(dense[row, column], value)
    parts = np.array(found, float).reshape(-1, 3)
    matrix = columns(parts[:, 0].astype(int), parts[:, 1].astype(int), parts[:, 2], rows=5, width=4)
    for i in range(4):
        assert matrix[i].row.tolist() == np.flatnonzero(dense[:, i]).tolist()
        assert matrix[i].value.tolist() == dense[matrix[i].row, i].tolist()
    assert matrix.sums(3).tolist() == pytest.approx(dense[:3].sum(0).tolist())


@given(edges, st.lists(st.integers(0, 7), max_size=5))
def test_groups_spread_over_their_members(pairs: list[tuple[int, int]], asked: list[int]) -> None:
    number, member = np.array(pairs, np.int64).reshape(-1, 2).T
    origin, found = groups(number, member, 8).spread(np.array(asked, np.int64))
    wanted = [(i, m) for i, n in enumerate(asked) for m in sorted({b for a, b in pairs if a == n})]
    assert list(zip(origin.tolist(), found.tolist(), strict=True)) == wanted
