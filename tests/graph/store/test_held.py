"""Once much was asked of a store, it answers from memory, and answers the same."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import Phase, given, settings

from graph.store.oracle import rows, source
from kgmed.errors import UnknownName
from kgmed.graph.base import Alias, EdgeRow, NodeRow, Row, Scope
from kgmed.graph.formats.cmekg import read_cmekg
from kgmed.graph.store import held
from kgmed.graph.store.build import build
from kgmed.graph.store.edits import edit
from kgmed.graph.store.store import Store, open_store


def two(folder: Path) -> tuple[Store, Store]:
    """The store as it is opened, and one of which much was asked."""
    asked = open_store(folder)
    of = asked.at(0).id
    for _ in range(max(held.LEAST, len(asked))):
        asked.number(of)
    return open_store(folder), asked


def names(store: Store) -> list[str]:
    """Every name, in capitals and with a plural too."""
    every = [name.text for name in store.names()]
    return [*every, *(text.upper() for text in every), *(f"{text}s" for text in every)]


def number(store: Store, entity_id: str) -> int:
    """The number of an id; -1 = none."""
    try:
        return store.number(entity_id)
    except UnknownName:
        return -1


def same(files: Store, memory: Store, wanted: list[str]) -> None:
    """Every name leads to the same, every entity is the same and has the same neighbours."""
    for name in wanted:
        assert files.lookup(name) == memory.lookup(name), name
    for node in range(0, len(files), 1 + len(files) // 5000):
        entity = files.at(node)
        assert memory.at(node) == entity
        for asked in (entity.id, files.key(entity.id)):
            assert number(memory, asked) == number(files, asked), asked
        assert memory.neighbours(entity.id, limit=9) == files.neighbours(entity.id, limit=9)


@settings(max_examples=15, deadline=None, phases=[Phase.generate])
@given(rows)
def test_a_store_of_which_much_was_asked_answers_the_same(given_rows: list[Row]) -> None:
    for prefix in ("", "pre"):
        with TemporaryDirectory() as folder:
            build(source(given_rows, prefix=prefix), Path(folder) / "g")
            files, memory = two(Path(folder) / "g")
            assert memory.holds
            assert not files.holds
            same(files, memory, names(files))


ROWS: list[Row] = [
    NodeRow("1", "Gout", "disease", "", (Alias("podagra"), Alias("痛风", Scope.TRANSLATION, "zh"))),
    NodeRow("2", "gout", "drug"),
    NodeRow("3", "?"),
    NodeRow("4", "Calves", "symptom", "", (Alias("GOUT", Scope.RELATED),)),
    EdgeRow("1", "has_symptom", "4", 0.5),
    EdgeRow("2", "treats", "1"),
]


def test_a_name_that_two_entities_bear_leads_to_both_from_memory_too(tmp_path: Path) -> None:
    build(source(ROWS), tmp_path / "g")
    files, memory = two(tmp_path / "g")
    assert [m.entity.id for m in memory.lookup("Gout")] == [m.entity.id for m in files.lookup("Gout")]
    assert len(memory.lookup("Gout")) > 1
    assert [m.how for m in memory.lookup("calf")] == ["folded"]
    assert [m.entity.id for m in memory.lookup("?")] == ["3"]
    with pytest.raises(UnknownName):
        memory.number("5")


def test_a_graph_asked_in_chinese_says_the_chinese_names_from_memory(tmp_path: Path) -> None:
    build(source(ROWS), tmp_path / "g")
    spoken = open_store(tmp_path / "g").speaking("zh")
    before = spoken.neighbours("1"), spoken.lookup("podagra"), spoken.lookup("Calves")
    for _ in range(held.LEAST):
        spoken.number("1")
    assert spoken.holds
    assert (spoken.neighbours("1"), spoken.lookup("podagra"), spoken.lookup("Calves")) == before
    assert spoken.at(0).name == "痛风"


def test_threads_that_ask_while_entities_are_taken_into_memory_are_answered_alike(tmp_path: Path) -> None:
    build(source([EdgeRow(f"a{i}", "treats", f"b{i % 700}") for i in range(4000)]), tmp_path / "g")
    files, memory = open_store(tmp_path / "g"), open_store(tmp_path / "g")
    every = [name.text for name in files.names()]

    def ask(_: int) -> list[object]:
        return [(memory.lookup(name), memory.neighbours(name, limit=3)) for name in every]

    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(ask, range(4)))
    assert memory.holds
    assert answers == [[(files.lookup(name), files.neighbours(name, limit=3)) for name in every]] * 4


def test_a_graph_with_edits_holds_what_they_added(tmp_path: Path) -> None:
    build(source(ROWS), tmp_path / "g")
    files, memory = two(tmp_path / "g")
    added: list[EdgeRow | NodeRow] = [
        EdgeRow("5", "treats", "1"),
        NodeRow("1", aliases=(Alias("Calves"),)),
        NodeRow("5", "podagra"),
    ]
    files, memory = edit(files, added), edit(memory, added)
    for _ in range(held.LEAST):
        memory.number("5")
    assert memory.holds
    assert not files.holds
    same(files, memory, names(files))
    assert len(memory.lookup("Calves")) == len(memory.lookup("podagra")) == 2


@pytest.mark.starter
def test_every_name_of_cmekg_leads_to_the_same_from_memory(tmp_path: Path) -> None:
    build(read_cmekg(), tmp_path / "g")
    files, memory = two(tmp_path / "g")
    same(files, memory, [name.text for name in files.names()])
