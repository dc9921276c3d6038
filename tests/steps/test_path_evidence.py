import pytest

from kgmed.errors import BadInput
from kgmed.pipeline import notes
from kgmed.records import Link, Mention, Query, Question
from kgmed.steps.retrieve import PathRetriever
from memory_graph import MemoryGraph

QUERY = Query(Question("?"))
LINE = MemoryGraph([("A", "r", "B"), ("C", "s", "B"), ("C", "t", "D")], isolated=["Z"])


def linked(graph: MemoryGraph, *names: str) -> list[Link]:
    return [Link(Mention(n, n, -1, -1), graph.entity(n.lower()), 1.0, "exact") for n in names]


def test_a_path_through_several_entities_is_one_piece_that_names_them_all() -> None:
    [found] = PathRetriever(LINE)(QUERY, linked(LINE, "A", "B", "D"))
    assert found.text == "A -[r]-> B <-[s]- C -[t]-> D"
    assert [e.name for e in found.about] == ["A", "B", "D"]
    assert (found.kind, found.score, len(found.triples)) == ("path", 1 / 3, 3)


def test_legs_are_joined_even_where_the_walk_turns_back() -> None:
    [found] = PathRetriever(LINE)(QUERY, linked(LINE, "B", "D", "A"))
    assert found.text == "B <-[s]- C -[t]-> D <-[t]- C -[s]-> B <-[r]- A"


def test_entities_that_do_not_hang_together_give_a_path_each_segment() -> None:
    graph = MemoryGraph([("A", "r", "B"), ("C", "s", "D")])
    found = PathRetriever(graph)(QUERY, linked(graph, "A", "B", "C", "D"))
    assert [e.text for e in found] == ["A -[r]-> B", "C -[s]-> D"]
    assert PathRetriever(graph)(QUERY, linked(graph, "A", "C")) == []


def test_other_shortest_paths_follow_the_joined_one_up_to_the_number_kept() -> None:
    graph = MemoryGraph([("A", "r", x) for x in "UVWX"] + [(x, "s", "B") for x in "UVWX"] + [("B", "t", "C")])
    with notes() as left:
        found = PathRetriever(graph, keep=3)(QUERY, linked(graph, "A", "B", "C"))
    assert [e.text for e in found] == [
        "A -[r]-> U -[s]-> B -[t]-> C",
        "A -[r]-> V -[s]-> B",
        "A -[r]-> W -[s]-> B",
    ]
    with notes() as none:
        PathRetriever(graph, keep=9)(QUERY, linked(graph, "A", "B", "C"))
    assert (left, none) == (["paths: 3 of 4 shortest paths shown"], [])


def test_directed_search_follows_arrows_only() -> None:
    assert PathRetriever(LINE, direction="out")(QUERY, linked(LINE, "A", "C")) == []
    assert len(PathRetriever(LINE)(QUERY, linked(LINE, "A", "C"))) == 1


def test_isolated_or_no_entities_have_no_paths() -> None:
    for names in (["A", "Z"], ["A"], []):
        assert PathRetriever(LINE)(QUERY, linked(LINE, *names)) == []


def test_keeping_no_path_is_refused() -> None:
    with pytest.raises(BadInput, match="keep >= 1"):
        PathRetriever(LINE, keep=0)(QUERY, linked(LINE, "A"))
