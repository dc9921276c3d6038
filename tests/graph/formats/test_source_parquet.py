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


CLUES = "repeat('clue', 4) AS head, 'treats' AS relation, 'gout' AS tail"


@pytest.mark.parametrize(
    ("sql", "told"),
    [
        (f"SELECT {CLUES}, repeat('x', 50000000) AS name", "is too long"),
        ("SELECT 'a' AS head, repeat('x', 50000000) AS relation, 'b' AS tail", "is too long"),
        ("SELECT 'a' AS head, 'treats' AS relation, repeat('x', 100000) AS tail FROM range(20000)", "too much for its"),
        (f"SELECT {CLUES} FROM range(3000000)", "too much for its size"),
        (
            "SELECT 'a' AS id, 'b' AS name, list_transform(range(5000000), lambda x: 'z') AS synonyms",
            "too much for its size",
        ),
        (
            "SELECT 'a' AS id, 'b' AS name, [list_transform(range(2000000), lambda x: 1)] AS synonyms",
            "too much for its size",
        ),
        (f"SELECT {CLUES}, {', '.join(f'1 AS c{i}' for i in range(10_001))}", "has 10,004 columns"),
    ],
)
def test_a_small_file_that_holds_much_is_refused_before_it_is_unpacked(tmp_path: Path, sql: str, told: str) -> None:
    file = tmp_path / "small.parquet"
    sql = sql.replace(" AS name", " AS head_name") if "head" in sql else sql
    duckdb.sql(sql).write_parquet(str(file), compression="zstd")
    assert file.stat().st_size < 4_000_000
    with pytest.raises(SourceError, match=rf"small\.parquet: .*{told}"):
        build(formats.read("", file, name="made"), tmp_path / "graph")
    assert not (tmp_path / "graph").exists()


def test_a_column_that_says_nothing_is_not_unpacked(tmp_path: Path) -> None:
    file = tmp_path / "e.parquet"
    duckdb.sql(f"SELECT {CLUES}, repeat('x', 1000000) AS junk FROM range(500)").write_parquet(str(file))
    assert len(list(formats.read("", file, name="made").rows())) == 500 + 2


def test_long_rows_that_come_together_are_refused_in_a_file_of_any_size(tmp_path: Path) -> None:
    file = tmp_path / "long.parquet"
    noise = "SELECT hash(i)::VARCHAR AS head, 'r' AS relation, hash(-i)::VARCHAR AS tail, '' AS tail_name"
    long = "SELECT 'a' || i, 'treats', 'b', repeat('x', 60000)"
    duckdb.sql(f"{noise} FROM range(100000) t(i) UNION ALL {long} FROM range(4000) t(i)").write_parquet(str(file))
    with pytest.raises(SourceError, match=r"2,048 rows of \d+ MB"):
        list(formats.read("", file, name="made").rows())


def test_texts_that_a_writer_keeps_as_bytes_are_texts(tmp_path: Path) -> None:
    file = tmp_path / "spark.parquet"
    duckdb.sql("SELECT 'x'::BLOB AS head, 'causes'::BLOB AS relation, 'y'::BLOB AS tail").write_parquet(str(file))
    assert [t.head.name for t in built(file, tmp_path).neighbours("made:y")] == ["x"]


def test_what_a_database_calls_views_and_functions_is_not_run(tmp_path: Path) -> None:
    file, other = tmp_path / "it's.duckdb", tmp_path / "other.csv"
    other.write_text("head,relation,tail\nsecret,causes,y\n", encoding="utf-8")
    with duckdb.connect(str(file)) as base:
        base.execute("CREATE TABLE e AS SELECT 'x' AS head, 'causes' AS relation, 'y' AS tail")
        base.execute(f"CREATE VIEW v AS SELECT * FROM read_csv('{other}')")
        base.execute("CREATE MACRO strlen(x) AS error('run')")
    graph = built(file, tmp_path)
    assert [t.head.name for t in graph.neighbours("made:y")] == ["x"]


def test_an_edge_that_a_column_denies_is_excluded(tmp_path: Path) -> None:
    duckdb.sql(
        "SELECT 'D:1' AS subject, 'has_phenotype' AS predicate, 'S:' || i AS object, i = 2 AS negated "
        "FROM range(1, 3) t(i)"
    ).write_parquet(str(tmp_path / "edges.parquet"))
    store = built(tmp_path / "edges.parquet", tmp_path)
    roles = {t.tail.id: t.relation.role.value for t in store.neighbours("D:1")}
    assert roles == {"S:1": "finding", "S:2": "excludes"}
