"""Names that begin as typed, held against looking at every name."""

import tempfile
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgmed.graph.base import Alias, EdgeRow, NodeRow, Row, Scope
from kgmed.graph.complete import Completion, Completions
from kgmed.graph.store.store import Store
from kgmed.language.text import normalise
from named_graph import CMEKG, HPO, small

PATHS: tuple[Row, ...] = (
    NodeRow("X:1", "Gout", "disease", "A disease of joints."),
    NodeRow("X:2", "Gouty arthritis", "disease"),
    NodeRow("X:3", "Chronic gout", "disease"),
    NodeRow("X:4", "Goutte", "disease", aliases=(Alias("OMIM:77", Scope.XREF), Alias("Gout of toes"))),
    NodeRow("X:5", "Abnormality of the skin of the left foot", "phenotype"),
    NodeRow("X:6", "Abnormality of the skin of the right foot", "phenotype"),
    NodeRow("X:7", "急性胰腺炎", "disease"),
    NodeRow("X:8", "胰腺", "part"),
    NodeRow("X:9", "胰腺癌", "disease"),
)


@cache
def graph(name: str) -> Store:
    rows = {"hpo": HPO, "cmekg": CMEKG, "own": PATHS, "mixed": MIXED}[name]
    return small(Path(tempfile.mkdtemp()), rows, name)


@cache
def completions(name: str) -> Completions:
    return Completions(graph(name))


def found(typed: str, name: str = "own", **more: object) -> list[str]:
    return [c.name for c in completions(name)(typed, **more)]  # type: ignore[arg-type]


def test_the_whole_name_comes_first_then_its_start_then_a_words_start_each_by_length() -> None:
    assert found("gout") == ["Gout", "Goutte", "Gouty arthritis", "Chronic gout"]
    assert [c.how for c in completions("own")("GOUT ")] == ["exact", "start", "start", "word"]


MIXED: tuple[Row, ...] = (
    NodeRow("X:1", "Marfan syndrome", "disease", aliases=(Alias("Marfans", Scope.TRANSLATION, "sv"),)),
    NodeRow("X:2", "Marfan综合征", "disease"),
    NodeRow("X:3", "Gicht", "disease", aliases=(Alias("Gout of the big toe", Scope.TRANSLATION, "en"),)),
    NodeRow("X:4", "Fleck", "disease", aliases=(Alias("Gou", Scope.TRANSLATION, "de"),)),
    NodeRow("OMIM:5", "Twin disease", "disease"),
    NodeRow("ORPHA:6", "Twin disease", "disease"),
    NodeRow("ORPHA:7", "Twin toes", "disease"),
    NodeRow("ORPHA:8", "Twin toes", "disease"),
    NodeRow("HP:9", "Twin disease", "phenotype"),
    EdgeRow("ORPHA:6", "has", "HP:9"),
)


def test_names_of_the_askers_language_come_first_and_the_whole_name_before_all() -> None:
    assert found("marfan", "mixed") == ["Marfan syndrome", "Marfan综合征"]
    assert found("marfan", "mixed", language="zh") == ["Marfan综合征", "Marfans"]
    assert found("gou", "mixed") == ["Gou", "Gout of the big toe"]


def test_records_of_one_thing_are_one_choice_and_two_of_one_catalogue_are_two() -> None:
    twins = completions("mixed")("twin")
    assert [(c.entity.id, c.same) for c in twins] == [
        ("ORPHA:7", ()), ("ORPHA:8", ()), ("ORPHA:6", ("OMIM:5",)), ("HP:9", ())
    ]  # fmt: skip
    assert len(completions("mixed")("twin", limit=3)) == 3


def test_a_chinese_name_is_found_from_each_of_its_characters() -> None:
    assert found("胰腺") == ["胰腺", "胰腺癌", "急性胰腺炎"]
    assert found("炎") == ["急性胰腺炎"]


def test_an_entity_comes_once_by_its_best_name() -> None:
    assert found("goutt") == ["Goutte"]
    assert found("gout of") == ["Gout of toes"]
    assert [c.entity.id for c in completions("own")("gou")].count("X:4") == 1


def test_an_id_that_is_typed_is_its_entity_and_a_cross_reference_is_no_name() -> None:
    assert completions("own")("X:1") == [Completion(graph("own").entity("X:1"), "Gout", "id")]
    assert found("OMIM:77") == []
    assert found("x:1") == []


def test_names_that_are_alike_beyond_what_is_kept_of_them_are_told_apart() -> None:
    assert found("abnormality of the skin of the r") == ["Abnormality of the skin of the right foot"]
    assert found("skin of the left foot") == ["Abnormality of the skin of the left foot"]
    assert len(found("abnormality of the skin of the")) == 2


def test_kinds_narrow_what_is_found_and_one_that_the_graph_lacks_finds_nothing() -> None:
    assert found("胰腺", kinds=("part",)) == ["胰腺"]
    assert found("X:8", kinds=("disease",)) == []
    assert found("gout", kinds=("planet",)) == []


@pytest.mark.parametrize("typed", ["", " ", "?", "zzz", "\ud800", "\x00", "a" * 5000, "gout " * 50, "胰" * 300])
def test_what_leads_nowhere_finds_nothing_and_breaks_nothing(typed: str) -> None:
    assert found(typed) in ([], ["Gout"])


def test_the_index_is_made_once_and_opened_afterwards() -> None:
    place = small(Path(tempfile.mkdtemp()), PATHS, "kept")
    Completions(place)
    (kept,) = (Path(place.folder) / "derived").glob("complete-*")
    made = kept.stat().st_mtime_ns
    assert [c.name for c in Completions(place)("gouty")] == ["Gouty arthritis"]
    assert kept.stat().st_mtime_ns == made


def oracle(name: str, typed: str, limit: int) -> list[tuple[int, int]]:
    """The rank of the best entities, whose names are all looked at: at the start, inside, none; then the length."""
    key, best = normalise(typed), dict[int, tuple[int, int]]()
    for named in graph(name).names():
        text = normalise(named.text)
        starts = [
            i for i in range(len(text)) if i == 0 or text[i - 1] == " " or text[i] > "\u3040" or text[i - 1] > "\u3040"
        ]
        places = [i for i in starts if text[i] != " " and text.startswith(key, i)] if named.scope != Scope.XREF else []
        if places and key:
            rank = (1 if places[0] else 0, len(text))
            best[named.node] = min(best.get(named.node, (9, 9)), rank)
    return sorted(best.values())[:limit]


@given(st.sampled_from(["hpo", "cmekg", "own"]), st.data(), st.integers(1, 12))
def test_the_same_entities_in_the_same_order_as_by_looking_at_every_name(
    name: str, data: st.DataObject, limit: int
) -> None:
    text = data.draw(st.sampled_from([n.text for n in graph(name).names()]))
    begin = data.draw(st.integers(0, len(text) - 1))
    typed = text[begin : data.draw(st.integers(begin + 1, len(text)))]
    got = completions(name)(typed, limit=limit)
    inside = [(1 if c.how == "word" else 0, len(normalise(c.name))) for c in got if c.how != "id"]
    if not any(c.how == "id" for c in got):
        assert inside == oracle(name, typed, limit)


def test_many_names_that_begin_alike_are_cut_at_the_limit_in_order() -> None:
    rows = tuple(NodeRow(f"X:{i}", f"p{'x' * (i % 90)}{i}") for i in range(5_000))
    many = Completions(small(Path(tempfile.mkdtemp()), rows, "many"))
    lengths = [len(c.name) for c in many("p", limit=50)]
    assert lengths == sorted(len(row.name) for row in rows if isinstance(row, NodeRow))[:50]
