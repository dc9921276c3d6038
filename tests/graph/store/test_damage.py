import json
import os
import shutil
from pathlib import Path

import pytest

from graph.store.oracle import source
from kgmed.errors import StoreError
from kgmed.graph.base import Alias, EdgeRow, NodeRow, Row, TextRow
from kgmed.graph.store.build import build
from kgmed.graph.store.folder import current, read_manifest, verify
from kgmed.graph.store.store import open_store
from kgmed.records import Support

ROWS: list[Row] = [
    EdgeRow("a", "r", "b", 0.5, (Support("PMID:1"),)),
    NodeRow("a", "Alpha", "drug", "first", (Alias("A1"),)),
    TextRow("a", "dosage", "twice"),
]


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sound") / "g"
    build(source(ROWS), folder)
    return folder


@pytest.fixture
def graph(sound: Path, tmp_path: Path) -> Path:
    shutil.copytree(sound, tmp_path / "g")
    return tmp_path / "g"


def refused(graph: Path) -> str:
    """The message with which the graph is refused."""
    with pytest.raises(StoreError) as e:
        open_store(graph, contents=True)
    assert "\n" not in str(e.value)
    assert str(graph) in str(e.value)
    return str(e.value)


def files(graph: Path) -> list[Path]:
    return sorted(current(graph).glob("*"))


def test_every_file_is_found_damaged_when_one_of_its_bytes_is_another(graph: Path) -> None:
    for path in files(graph):
        data = path.read_bytes()
        for at in {0, len(data) // 2, len(data) - 1}:
            path.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
            assert path.name in refused(graph)
        path.write_bytes(data)
    assert len(open_store(graph)) == 2


def test_every_file_is_missed_when_it_is_cut_short_or_gone(graph: Path) -> None:
    for path in files(graph):
        data = path.read_bytes()
        path.write_bytes(data[: len(data) // 2])
        refused(graph)
        path.unlink()
        refused(graph)
        path.write_bytes(data)
    assert len(open_store(graph)) == 2


def test_a_graph_of_another_format_says_which(graph: Path) -> None:
    path = current(graph) / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"format": 99}))
    assert "format 99" in refused(graph)


@pytest.mark.parametrize(
    "junk", ["", "{", "[]", "null", '{"format": 1}', "[" * 100_000, '{"format": 1, "check": "", "relations": 3}', "\0"]
)
def test_a_manifest_of_junk_is_refused(graph: Path, junk: str) -> None:
    (current(graph) / "manifest.json").write_text(junk)
    assert "manifest" in refused(graph)


def test_a_manifest_that_is_no_text_is_refused(graph: Path) -> None:
    (current(graph) / "manifest.json").write_bytes(b"\xff\xfe")
    refused(graph)


def test_a_changed_relation_in_the_manifest_is_found(graph: Path) -> None:
    path = current(graph) / "manifest.json"
    path.write_text(path.read_text().replace('"role": "other"', '"role": "treats"'))
    assert "damaged" in refused(graph)


@pytest.mark.parametrize("name", ["", "..", "../g", "v-xyz", "v-000000000000", "a\0b", "v-000000000000\nv-1"])
def test_a_pointer_to_nothing_is_refused(graph: Path, name: str) -> None:
    (graph / "CURRENT").write_text(name)
    refused(graph)


def test_a_folder_without_a_graph_says_how_to_build_one(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="kgmed graph build"):
        open_store(tmp_path)
    with pytest.raises(StoreError, match="kgmed graph build"):
        open_store(tmp_path / "none")


def test_a_damaged_graph_is_mended_by_building_it_again_from_the_same_rows(graph: Path) -> None:
    path = current(graph) / "name_bytes.npy"
    path.write_bytes(b"junk")
    build(source(ROWS), graph)
    assert open_store(graph, contents=True).at(0).name == "Alpha"
    assert len(list(graph.glob("v-*"))) == 1


def test_what_was_derived_from_the_same_content_outlives_a_rebuild(graph: Path) -> None:
    derived = current(graph) / "derived"
    derived.mkdir()
    (derived / "vectors").write_text("dear")
    build(source(ROWS), graph)
    assert (current(graph) / "derived" / "vectors").read_text() == "dear"
    build(source([*ROWS, EdgeRow("b", "r", "c")]), graph)
    assert not (current(graph) / "derived").exists()


def test_the_manifest_comes_back_as_it_was_written(graph: Path, tmp_path: Path) -> None:
    manifest = build(source(ROWS), tmp_path / "h")
    assert read_manifest(current(tmp_path / "h")) == manifest
    assert manifest.content == read_manifest(current(graph)).content  # the same rows, the same files


def test_a_large_graph_that_was_written_to_is_read_whole_and_a_copy_only_once(graph: Path) -> None:
    (folder,) = graph.glob("v-*")
    manifest = read_manifest(folder)
    path = folder / "name_bytes.npy"
    whole, sealed = path.read_bytes(), (folder / "manifest.json").stat().st_mtime_ns
    path.write_bytes(whole[:-1] + b"?")
    os.utime(path, ns=(sealed + 1, sealed + 1))
    with pytest.raises(StoreError, match=r"name_bytes\.npy: damaged"):
        verify(manifest, folder, contents=False)  # as for a graph above `FULL_CHECK`
    path.write_bytes(whole)
    os.utime(path, ns=(sealed + 5, sealed + 5))
    verify(manifest, folder, contents=False)
    assert (folder / "manifest.json").stat().st_mtime_ns == sealed + 5
