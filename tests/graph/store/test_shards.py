"""A graph in shards finds what one store finds, in the same order."""

import os
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Barrier

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from graph.store.oracle import rows, source
from kgmed import derived
from kgmed.errors import BadInput, Busy, StoreError, UnknownName
from kgmed.graph import library
from kgmed.graph.base import Alias, EdgeRow, Match, NodeRow, Row, TextRow
from kgmed.graph.search.batched import paths_on
from kgmed.graph.search.paths import paths_between
from kgmed.graph.store import folder
from kgmed.graph.store.build import build
from kgmed.graph.store.shards import Shards, build_shards, open_shards
from kgmed.graph.store.store import Store, open_store
from kgmed.records import Role, Support, Triple
from kgmed.session import open_named

STORED = settings(max_examples=25, deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate])


def both(given_rows: list[Row], folder: Path, shards: int = 3, *, first: int = 0) -> tuple[Store, Shards]:
    """The same rows in one store and in shards."""
    build(source(given_rows, prefix="p"), folder / "one" / "g")
    build_shards(source(given_rows, prefix="p"), folder / "many" / "g", shards, first=first)
    return open_store(folder / "one" / "g"), open_shards(folder / "many" / "g")


def made(seed: int, entities: int = 400, triples: int = 4000) -> list[Row]:
    """A graph with hubs, parallel edges, loops, weights, references, other names and texts."""
    random = np.random.default_rng(seed)
    head = (entities * random.random(triples) ** 2).astype(int)
    tail = (entities * random.random(triples) ** 3).astype(int)
    relation = random.integers(0, 5, triples)
    edges: list[Row] = [
        EdgeRow(f"e{h}", f"r{r}", f"e{t}", 1.0 if h % 3 else 0.5, (Support(f"PMID:{h}"),) if t % 5 == 0 else ())
        for h, r, t in zip(head.tolist(), relation.tolist(), tail.tolist(), strict=True)
    ]
    nodes: list[Row] = [
        NodeRow(f"e{i}", f"Name {i}", "disease" if i % 2 else "drug", f"about {i}", (Alias(f"alias {i // 2}"),))
        for i in range(0, entities, 2)
    ]
    return [*edges, *nodes, *(TextRow(f"e{i}", "dosage", f"take {i}") for i in range(0, entities, 7))]


@pytest.fixture(scope="module")
def graphs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Store, Shards]:
    return both(made(1), tmp_path_factory.mktemp("shards"), 4)


def test_every_entity_has_its_texts_and_neighbours_as_in_one_store(graphs: tuple[Store, Shards]) -> None:
    one, many = graphs
    for node in range(len(one)):
        entity = one.at(node)
        assert many.entity(entity.id) == entity
        assert many.entity(entity.id).description == one.entity(entity.id).description
        assert many.attributes(entity.id) == one.attributes(entity.id)
        for limit, roles in ((64, ()), (3, ()), (5, (Role.OTHER,))):
            assert many.neighbours(entity.id, limit=limit, roles=roles) == one.neighbours(
                entity.id, limit=limit, roles=roles
            )


def test_names_lead_to_the_same_entities_in_the_same_order(graphs: tuple[Store, Shards]) -> None:
    one, many = graphs
    names = [f"Name {i}" for i in range(30)] + [f"ALIAS {i}" for i in range(30)] + ["e7", "E7", "names 3", "no such"]
    assert many.lookup_many(names) == {name: one.lookup(name) for name in names}
    assert sum(bool(one.lookup(name)) for name in names) > 40


@pytest.mark.parametrize("hops", [1, 2, 3])
def test_chains_are_those_of_one_store(graphs: tuple[Store, Shards], hops: int) -> None:
    one, many = graphs
    anchors = [f"p:e{i}" for i in (3, 50, 51, 120, 300)]
    found = many.chains(anchors, hops, 20)
    assert found == paths_between(one, [one.entity(a) for a in anchors], hops=hops, limit=20)
    assert found.total > 0 or hops == 1


def test_chains_of_five_steps_are_those_of_one_store_within_the_budget(tmp_path: Path) -> None:
    one, many = both(made(2, 200, 300), tmp_path)
    anchors = [one.at(i).id for i in (0, 9, 40)]
    assert many.chains(anchors, 5, 50) == paths_between(one, list(map(one.entity, anchors)), hops=5, limit=50)


def test_shortest_paths_are_those_of_one_store(graphs: tuple[Store, Shards]) -> None:
    one, many = graphs
    lengths = set()
    for a, b in np.random.default_rng(5).integers(0, len(one), (40, 2)).tolist():
        if a != b:
            ends = [one.at(a), one.at(b)]
            found = many.between(ends[0].id, ends[1].id, 5, 7)
            assert found == paths_between(one, ends, hops=5, limit=7)
            lengths |= {len(path.triples) for path in found.paths}
    assert len(lengths) > 1


@STORED
@given(rows, st.integers(2, 4))
def test_any_rows_are_the_same_graph_in_shards(given_rows: list[Row], shards: int) -> None:
    with TemporaryDirectory() as folder:
        one, many = both(given_rows, Path(folder), shards)
        ids = [one.at(node).id for node in range(len(one))]
        for entity_id in ids:
            assert many.entity(entity_id) == one.entity(entity_id)
            assert many.neighbours(entity_id, limit=100) == one.neighbours(entity_id, limit=100)
            assert many.attributes(entity_id) == one.attributes(entity_id)
            assert many.lookup(one.entity(entity_id).name) == one.lookup(one.entity(entity_id).name)
        same = "entities", "triples", "relations", "texts", "aliases", "loops", "merged"
        counts = many.manifest.counts if many.manifest else {}
        assert [counts[what] for what in same] == [one.manifest.counts[what] for what in same]
        assert many.manifest is not None
        assert many.manifest.relation_counts == one.manifest.relation_counts
        if len(ids) > 2:
            expected = paths_between(one, list(map(one.entity, ids[:4])), hops=3, limit=9)
            assert many.chains(ids[:4], 3, 9) == expected


def test_numbers_beyond_two_to_the_31_are_carried_through_every_search(tmp_path: Path) -> None:
    one, many = both(made(3, 100, 900), tmp_path, first=1 << 33)
    assert min(shard.numbers.min() for shard in many.locals) > 1 << 33
    anchors = [one.at(i).id for i in (1, 8, 30)]
    assert many.chains(anchors, 3, 20) == paths_between(one, list(map(one.entity, anchors)), hops=3, limit=20)
    assert many.between(anchors[0], anchors[2], 5, 9) == paths_between(
        one, [one.entity(anchors[0]), one.entity(anchors[2])], hops=5, limit=9
    )


def test_entities_are_spread_and_each_is_in_one_shard(graphs: tuple[Store, Shards]) -> None:
    one, many = graphs
    own = [set(shard.numbers[shard.numbers % 4 == i].tolist()) for i, shard in enumerate(many.locals)]
    assert sum(map(len, own)) == len(one) == len(set().union(*own))
    assert all(len(one) / 8 < len(some) < len(one) / 2 for some in own)


def test_shards_behind_servers_are_asked_by_id_and_name(graphs: tuple[Store, Shards]) -> None:
    one, local = graphs

    class Served:
        """A shard that only answers what every graph can."""

        def __init__(self, store: Store) -> None:
            self.name, self.label, self.language = store.name, store.label, store.language
            self.entity, self.lookup = store.entity, store.lookup
            self.neighbours, self.attributes = store.neighbours, store.attributes

    many = Shards("g", [Served(shard.store) for shard in local.locals], manifest=local.manifest)
    anchors = [f"p:e{i}" for i in (3, 50, 120)]
    assert many.locals == []
    assert many.neighbours("p:e3") == one.neighbours("p:e3")
    found = many.chains(anchors, 2, 20)
    expected = paths_between(one, list(map(one.entity, anchors)), hops=2, limit=20)
    assert found.total == expected.total > 0
    assert (
        many.between(anchors[0], anchors[1], 4, 5).total
        == paths_between(one, [one.entity(a) for a in anchors[:2]], hops=4, limit=5).total
    )


class Served:
    """A shard behind a server, every call of which waits for one to each of the others."""

    def __init__(self, store: Store, together: Barrier) -> None:
        self.name, self.label, self.language, self.entity = store.name, store.label, store.language, store.entity
        self.attributes, self.neighbours, self._store, self._together = (
            store.attributes, store.neighbours, store, together,
        )  # fmt: skip

    def lookup(self, name: str) -> list[Match]:
        return self.lookup_many([name])[name]

    def lookup_many(self, names: Sequence[str]) -> dict[str, list[Match]]:
        self._together.wait()
        return {name: self._store.lookup(name) for name in names}

    def neighbours_of(self, ids: Sequence[str], *, limit: int = 64) -> dict[str, list[Triple]]:
        self._together.wait()
        return {one: self._store.neighbours(one, limit=limit) for one in ids}


def test_shards_behind_servers_are_asked_all_at_once_and_answer_in_one_order(graphs: tuple[Store, Shards]) -> None:
    one, local = graphs
    together = Barrier(4, timeout=60)  # one after the other would wait for ever
    many = Shards("g", [Served(s.store, together) for s in local.locals], manifest=local.manifest)
    ids = [one.at(node).id for node in range(0, len(one), 3)]
    found = many.neighbours_of(ids, limit=5)
    assert found == {one_id: one.neighbours(one_id, limit=5) for one_id in ids}
    assert list(found) == list(local.neighbours_of(ids, limit=5))
    names = [one.at(node).name for node in range(20)]
    assert many.lookup_many(names) == {name: many.lookup(name) for name in names}
    assert all({m.entity.id for m in many.lookup(name)} == {m.entity.id for m in one.lookup(name)} for name in names)


def test_an_error_of_a_shard_behind_a_server_is_that_of_the_first(graphs: tuple[Store, Shards]) -> None:
    class Broken(Served):
        def lookup_many(self, names: Sequence[str]) -> dict[str, list[Match]]:
            raise Busy(f"{self.name} is late")

    stores = [shard.store for shard in graphs[1].locals]
    kinds = [Served, Broken, Served, Broken]
    served = [kind(store, Barrier(2, timeout=60)) for kind, store in zip(kinds, stores, strict=True)]
    for number, shard in enumerate(served):
        shard.name = f"shard {number}"
    served[2]._together = served[0]._together
    with pytest.raises(Busy, match="shard 1 is late"):
        Shards("g", served, manifest=graphs[1].manifest).lookup("a")


def test_a_graph_in_shards_is_not_taken_for_one_in_a_piece(graphs: tuple[Store, Shards]) -> None:
    one, many = graphs
    folder = Path(many.locals[0].store.folder).parents[1]
    with pytest.raises(BadInput, match="is in 4 shards, and this needs it in one piece"):
        open_store(folder)
    with pytest.raises(StoreError, match="is in one piece"):
        open_shards(Path(one.folder).parent)
    with pytest.raises(UnknownName):
        many.entity("p:nobody")


@pytest.mark.parametrize("shards", [0, 1, 257])
def test_a_number_of_shards_without_sense_is_refused_and_nothing_is_written(tmp_path: Path, shards: int) -> None:
    with pytest.raises(BadInput, match="2 to 256 shards"):
        build_shards(source(made(1, 10, 10)), tmp_path / "g", shards)
    assert not (tmp_path / "g").exists()


def test_all_that_a_graph_says_of_an_entity_and_all_its_triples_are_those_of_one_store(
    graphs: tuple[Store, Shards],
) -> None:
    one, many = graphs
    for node in range(0, len(one), 7):
        entity_id = one.at(node).id
        assert library.about(many, entity_id, limit=5) == library.about(one, entity_id, limit=5)
    assert sorted(map(str, many.triples())) == sorted(map(str, one.triples(np.arange(one.adjacency.edges))))


def test_a_damaged_shard_is_told_when_the_graph_is_opened(tmp_path: Path) -> None:
    _, many = both(made(4, 50, 100), tmp_path)
    folder = Path(many.locals[1].store.folder)
    (folder / "out_neighbour.npy").write_bytes(b"short")
    with pytest.raises(StoreError, match=r"out_neighbour\.npy"):
        open_shards(folder.parents[1])


def test_a_graph_in_shards_has_a_name_and_is_asked_by_it_and_not_merged(tmp_path: Path) -> None:
    (tmp_path / "t.tsv").write_text("rickets\thas symptom\tbowed legs\nvitamin D\ttreats\trickets\n", encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:  # the environment is how a user names the folder
        patch.setenv("KGMED_HOME", str(tmp_path / "home"))
        read = library.source_of("mine", tmp_path / "t.tsv")
        assert library.build_source("mine", read, shards=2).fresh
        assert not library.build_source("mine", read, shards=2).fresh
        assert library.build_source("mine", read, shards=3).fresh
        assert library.is_remote("mine")
        assert library.graphs() == []
        assert [m.shards for m in library.survey()[0]] == [3]
        graph = open_named("mine")
        ends = [graph.lookup(name)[0].entity for name in ("vitamin d", "bowed legs")]
        assert str(paths_on(graph, ends).paths[0]) == "vitamin D -treats-> rickets -has symptom-> bowed legs"
        with pytest.raises(BadInput, match="in one piece"):
            library.load("mine")


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="the system does not tell which files are open")
def test_no_file_of_a_graph_is_open_while_its_folder_is_moved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    moved: list[str] = []

    def watched(new: Path, place: Path) -> None:  # Windows would not move a folder then
        mapped = Path("/proc/self/maps").read_text("utf-8").split()
        handles = [os.fspath(h.readlink()) for h in Path("/proc/self/fd").iterdir() if h.is_symlink()]
        assert new.is_file() or not [f for f in (*mapped, *handles) if f.startswith(f"{new}/")]
        moved.append(new.name)
        new.replace(place)

    for module in (folder, derived):
        monkeypatch.setattr(module, "put_in_place", watched)
    for _ in range(2):
        build(source(made(1, 60, 200), prefix="p"), tmp_path / "g")
        build_shards(source(made(1, 60, 200), prefix="p"), tmp_path / "s", shards=2)
    assert sum(name.startswith(".building") for name in moved) == 4
