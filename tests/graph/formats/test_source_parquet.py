"""Parquet files and DuckDB databases, read by their columns as other tables are."""

from pathlib import Path

import pytest

from kgmed.errors import SourceError
from kgmed.graph import formats
from kgmed.graph.store.build import build
from kgmed.graph.store.store import Store, open_store

duckdb = pytest.importorskip("duckdb")


def built(path: Path, folder: Path) -> Store:
    build(formats.read("", path, name="made"), folder / "graph")
    return open_store(folder / "graph")


def test_a_folder_of_node_and_edge_files_is_one_graph(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    nodes, edges = tmp_path / "in" / "nodes.parquet", tmp_path / "in" / "edges.parquet"
    duckdb.sql(
        "SELECT * FROM (VALUES ('D:1', 'rickets', 'Disease'), ('C:1', 'vitamin D', 'Compound')) t(id, name, kind)"
    ).write_parquet(str(nodes))
    duckdb.sql("SELECT 'C:1' AS source, 'treats' AS relation, 'D:1' AS target, 0.5 AS weight").write_parquet(str(edges))
    graph = built(tmp_path / "in", tmp_path)
    triple = graph.neighbours("D:1")[0]
    assert (triple.head.name, triple.relation.name, triple.tail.name) == ("vitamin D", "treats", "rickets")
    assert (triple.weight, triple.tail.kind) == (0.5, "disease")


def test_numbers_lists_and_nothing_in_cells_are_read(tmp_path: Path) -> None:
    sql = "SELECT i AS id, 'name ' || i AS name, ['a' || i, 'b' || i] AS synonyms, NULL AS comment FROM range(30) t(i)"
    duckdb.sql(sql).write_parquet(str(tmp_path / "n.parquet"))
    duckdb.sql("SELECT i AS head, 'r' AS relation, (i * 7 + 1) % 30 AS tail FROM range(30) t(i)").write_parquet(
        str(tmp_path / "e.parquet")
    )
    graph = built(tmp_path, tmp_path / "out")
    assert [m.entity.name for m in graph.lookup("b7")] == ["name 7"]
    assert {t.tail.name for t in graph.neighbours("made:3")} >= {"name 22"}
    assert graph.manifest.counts["triples"] == 30


def test_a_database_is_read_table_by_table(tmp_path: Path) -> None:
    file = tmp_path / "graph.duckdb"
    with duckdb.connect(str(file)) as base:
        base.execute("CREATE TABLE \"a \"\"table\" AS SELECT 'x' AS subject, 'causes' AS predicate, 'y' AS object")
        base.execute("CREATE TABLE named AS SELECT 'x' AS id, 'smoke' AS name")
    graph = built(file, tmp_path)
    assert [t.head.name for t in graph.neighbours("made:y")] == ["smoke"]


def test_what_is_no_parquet_or_says_nothing_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 and nothing")
    with pytest.raises(SourceError, match=r"bad\.parquet.*cannot be read"):
        list(formats.read("", tmp_path / "bad.parquet").rows())
    duckdb.sql("SELECT 1 AS a, 2 AS b").write_parquet(str(tmp_path / "odd.parquet"))
    with pytest.raises(SourceError, match="has columns that say nothing: a, b"):
        list(formats.read("", tmp_path / "odd.parquet").rows())
