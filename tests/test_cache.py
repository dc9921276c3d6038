"""The SQLite file below the caches of replies and of graphs."""

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from kgmed.cache import CacheFile, Hits, Layout
from kgmed.errors import StoreError
from kgmed.graph.remote.named import ANSWERS
from kgmed.models.base import Reply
from kgmed.models.named import REPLIES, ReplyFile

BIG = Layout(
    "things",
    {"thing": "number INTEGER PRIMARY KEY, text TEXT)"},
    mark=7,
    largest=1 << 20,
    oldest="DELETE FROM thing WHERE number <= (SELECT max(number) FROM thing) - 300",
)
OLD_REPLIES = """CREATE TABLE replies (
    key TEXT PRIMARY KEY, model TEXT NOT NULL, settings TEXT NOT NULL, reply TEXT NOT NULL,
    at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP) WITHOUT ROWID;
PRAGMA application_id = 1801940338; PRAGMA user_version = 1;
INSERT INTO replies (key, model, settings, reply) VALUES ('k', 'm', '{}', '["Hi", 3, 1, "m"]');"""
OLD_ANSWERS = """
CREATE TABLE IF NOT EXISTS answer (
    graph TEXT NOT NULL, what TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, empty INTEGER NOT NULL,
    asked INTEGER NOT NULL, written REAL NOT NULL, PRIMARY KEY (graph, what, key)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS tally (
    graph TEXT NOT NULL, what TEXT NOT NULL, hits INTEGER NOT NULL, misses INTEGER NOT NULL,
    PRIMARY KEY (graph, what)) WITHOUT ROWID;
INSERT INTO answer VALUES ('g', 'lookup', 'asthma', '[]', 1, 0, 5.0);"""


def made(path: Path, script: str) -> Path:
    with sqlite3.connect(path) as file:
        file.execute("PRAGMA journal_mode = WAL")
        file.executescript(script)
    file.close()
    return path


def test_a_file_of_replies_from_before_there_was_one_cache_is_read(tmp_path: Path) -> None:
    assert ReplyFile(made(tmp_path / "c.db", OLD_REPLIES), create=False).get("k") == Reply("Hi", 3, 1, "m")


def test_a_file_of_answers_from_before_there_was_one_cache_is_read_and_written(tmp_path: Path) -> None:
    for _ in range(2):
        file = CacheFile(made(tmp_path / "c.db", OLD_ANSWERS.replace("INSERT", "INSERT OR IGNORE")), ANSWERS)
        assert file.rows("SELECT value, written FROM answer") == [("[]", 5.0)]
        file.close()


@pytest.mark.parametrize(
    ("first", "second"), [(REPLIES, ANSWERS), (ANSWERS, REPLIES), (REPLIES, REPLIES._replace(version=2))]
)
def test_a_file_of_another_kind_or_version_is_refused(tmp_path: Path, first: Layout, second: Layout) -> None:
    CacheFile(tmp_path / "c.db", first).close()
    with pytest.raises(StoreError, match=f"holds no {second.kind} of this version"):
        CacheFile(tmp_path / "c.db", second)


def test_a_file_that_grows_too_large_loses_what_is_oldest_and_grows_no_more(tmp_path: Path) -> None:
    file = CacheFile(tmp_path / "c.db", BIG)
    for number in range(3000):
        file.write("INSERT INTO thing VALUES (?, ?)", (number, "x" * 1000))
    kept = [number for (number,) in file.rows("SELECT number FROM thing ORDER BY number")]
    assert kept == list(range(kept[0], 3000))
    assert 300 <= len(kept) < 1600
    file.close()
    assert (tmp_path / "c.db").stat().st_size < 2 << 20


def test_what_is_found_is_counted_by_kind_whatever_thread_asks(tmp_path: Path) -> None:
    file = CacheFile(tmp_path / "c.db", BIG)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda i: file.count("a" if i % 2 else "b", hit=i % 4 == 0, negative=i % 8 == 0), range(800)))
    assert file.hits == {"a": Hits(0, 400), "b": Hits(200, 200, 100)}
    assert file.hits["b"].rate == 0.5
    assert file.take_counts()
    assert file.hits == {}


def test_a_full_disk_is_told_as_that_and_nobody_is_told_to_delete_what_was_kept(tmp_path: Path) -> None:
    file = CacheFile(tmp_path / "c.db", BIG)
    with sqlite3.connect(":memory:") as full:
        full.execute("PRAGMA max_page_count = 3")
        full.execute("CREATE TABLE t (x)")
        with pytest.raises(StoreError, match=r"c\.db: .*is full\); make room on the disk$"), file._errors():
            full.execute("INSERT INTO t VALUES (zeroblob(100000))")
    full.close()
    file.close()
