"""A built graph handed on as it is: fetched by the address and the hash of its index, whole or not at all."""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from damaged import HOSTILE_INDEXES
from graph.store.oracle import source
from graph.store.test_shards import made
from kgmed.errors import BadInput, KgmedError, Unavailable
from kgmed.graph import library
from kgmed.graph.get import INDEX, get_store, hand_out
from kgmed.graph.store.build import build
from kgmed.graph.store.folder import current
from kgmed.graph.store.shards import build_shards, open_shards
from kgmed.graph.store.store import open_store
from loopback import Asked, Loopback, Said, loopback


@pytest.fixture(autouse=True)
def home(tmp_path: Path) -> Iterator[Path]:
    with pytest.MonkeyPatch.context() as patch:  # the environment is how a user names the folder
        patch.setenv("KGMED_HOME", str(tmp_path / "home"))
        yield tmp_path / "home"


@pytest.fixture
def out(tmp_path: Path) -> tuple[Path, str]:
    """A graph that was handed out, and the hash of its index."""
    build(source(made(1, 60, 200), prefix="p"), tmp_path / "here" / "mine")
    return tmp_path / "out", hand_out(current(tmp_path / "here" / "mine"), tmp_path / "out")


@pytest.fixture
def server(out: tuple[Path, str]) -> Iterator[Loopback]:
    with loopback() as running:
        running.says = lambda asked: served(out[0], asked)
        yield running


def served(folder: Path, asked: Asked) -> Said:
    """A file of the folder, from where it is asked for."""
    path = folder / asked.path.removeprefix("/g/")
    if not path.is_file():
        return Said("no", 404)
    data, begin = path.read_bytes(), int((asked.headers.get("Range") or "bytes=0-")[6:-1])
    there = {"Content-Range": f"bytes {begin}-{len(data) - 1}/{len(data)}"}
    return Said(data[begin:], 206, there) if begin else Said(data)


def test_a_graph_is_fetched_by_the_hash_of_its_index_and_is_the_same(server: Loopback, out: tuple[Path, str]) -> None:
    manifest = get_store(f"{server.url}/g/{INDEX}#sha256={out[1]}", name="theirs")
    graph = library.load("theirs")
    assert manifest.content == graph.manifest.content
    assert graph.neighbours("p:e3")
    assert len(graph) == 60
    get_store(f"{server.url}/g/{INDEX}#sha256={out[1]}", name="theirs")  # again: takes its place


def test_a_transfer_that_broke_off_is_gone_on_with(server: Loopback, out: tuple[Path, str]) -> None:
    name = "out_neighbour.npy"
    size, broken = (out[0] / name).stat().st_size, [True]

    def says(asked: Asked) -> Said:
        if asked.path.endswith(name) and broken:
            broken.pop()
            return Said((out[0] / name).read_bytes()[:100], short=size - 100)
        return served(out[0], asked)

    server.says = says
    get_store(f"{server.url}/g/{INDEX}#sha256={out[1]}", name="theirs")
    assert [a.headers.get("Range") for a in server.asked if a.path.endswith(name)] == [None, "bytes=100-"]


def test_another_index_or_another_file_is_not_taken(server: Loopback, out: tuple[Path, str]) -> None:
    with pytest.raises(Unavailable, match="than the one known"):
        get_store(f"{server.url}/g/{INDEX}#sha256={'0' * 64}", name="theirs")
    (out[0] / "out_relation.npy").write_bytes(b"x" * (out[0] / "out_relation.npy").stat().st_size)
    with pytest.raises(Unavailable, match=r"another out_relation\.npy than the one known"):
        get_store(f"{server.url}/g/{INDEX}#sha256={out[1]}", name="theirs")
    assert library.graphs() == []


@pytest.mark.parametrize("name", ["../../evil.npy", "/etc/passwd", "a.sh", "shard-1/../x.npy"])
def test_an_index_that_names_files_elsewhere_is_refused(server: Loopback, out: tuple[Path, str], name: str) -> None:
    data = json.dumps({"kgmed": 1, "name": "x", "files": {name: [1, "0" * 64]}}).encode()
    (out[0] / INDEX).write_bytes(data)
    with pytest.raises(BadInput, match="is no index of a graph"):
        get_store(f"{server.url}/g/{INDEX}#sha256={hashlib.sha256(data).hexdigest()}", name="theirs")


def test_a_graph_in_shards_is_handed_on_too(tmp_path: Path, server: Loopback) -> None:
    build_shards(source(made(2, 60, 200), prefix="p"), tmp_path / "here" / "many", 3)
    digest = hand_out(current(tmp_path / "here" / "many"), tmp_path / "shards")
    server.says = lambda asked: served(tmp_path / "shards", asked)
    get_store(f"{server.url}/g/{INDEX}#sha256={digest}", name="many")
    assert library.in_shards("many")
    assert open_shards(library.folder_of("many")).neighbours("p:e3")


def test_a_graph_comes_from_a_store_that_fsspec_knows(out: tuple[Path, str]) -> None:
    fsspec = pytest.importorskip("fsspec")
    fsspec.filesystem("memory").put(str(out[0]) + "/", "/bucket/g/", recursive=True)
    get_store(f"memory://bucket/g/{INDEX}#sha256={out[1]}", name="theirs")
    assert len(library.load("theirs")) == 60
    with pytest.raises(Unavailable, match="error 404"):
        get_store(f"memory://bucket/none/{INDEX}#sha256={out[1]}", name="other")


def test_a_folder_with_something_in_it_is_not_written_to(tmp_path: Path, out: tuple[Path, str]) -> None:
    with pytest.raises(BadInput, match="not empty"):
        hand_out(current(tmp_path / "here" / "mine"), out[0])


@pytest.mark.parametrize("data", HOSTILE_INDEXES, ids=lambda data: data[:60])
def test_an_index_with_values_of_another_kind_is_refused_in_one_line(
    server: Loopback, out: tuple[Path, str], data: str
) -> None:
    (out[0] / INDEX).write_text(data, encoding="utf-8")
    with pytest.raises(BadInput, match="is no index of a graph") as caught:
        get_store(f"{server.url}/g/{INDEX}#sha256={hashlib.sha256(data.encode()).hexdigest()}")
    assert "\n" not in str(caught.value)
    assert library.graphs() == []


@pytest.mark.parametrize("value", [None, -1, "x", [], {}, [None], {"a": None}, 1e308, True], ids=str)
def test_a_manifest_with_values_of_another_kind_is_told_in_one_line(tmp_path: Path, value: Any) -> None:
    build(source(made(1, 6, 9), prefix="p"), tmp_path / "mine")
    path = current(tmp_path / "mine") / "manifest.json"
    whole = json.loads(path.read_text())
    for name in whole:
        path.write_text(json.dumps(whole | {name: value}))
        try:
            open_store(tmp_path / "mine")
        except KgmedError as error:
            assert "\n" not in str(error)  # noqa: PT017 - that it is ours is what is asked
