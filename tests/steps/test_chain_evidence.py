from itertools import product

import pytest

from kgmed.graph.search.chains import SearchBudget
from kgmed.methods.hykge import ChainRetriever
from kgmed.pipeline import Fact, notes
from kgmed.records import Evidence, Link, Mention, Query, Question
from memory_graph import MemoryGraph

QUERY = Query(Question("?"))
ROWS = {"path": "A>X>B", "co_ancestor": "A>X<B", "co_occurrence": "A<X>B", "back": "A<X<B"}


def graph_of(line: str) -> MemoryGraph:
    """A graph of one line such as A>X<B, its relations r, s, ..."""
    names, arrows = line[::2], line[1::2]
    steps = zip(names, "rstu", arrows, names[1:], strict=False)
    return MemoryGraph([(a, r, b) if arrow == ">" else (b, r, a) for a, r, arrow, b in steps])


def linked(graph: MemoryGraph, *names: str, negated: str = "") -> list[Link]:
    return [Link(Mention(n, n, -1, -1, n in negated), graph.entity(n.lower()), 1.0, "exact") for n in names]


def ends(e: Evidence) -> list[str]:
    return [entity.name for entity in e.about]


@pytest.mark.parametrize(
    ("line", "kind", "text"),
    [
        ("A>X>B", "path", "A -[r]-> X -[s]-> B"),
        ("A<X<B", "path", "A <-[r]- X <-[s]- B"),
        ("A>X<B", "co_ancestor", "A -[r]-> X <-[s]- B"),
        ("A<X>B", "co_occurrence", "A <-[r]- X -[s]-> B"),
        ("A>B", "path", "A -[r]-> B"),
        ("A<X<Y>B", "co_occurrence", "A <-[r]- X <-[s]- Y -[t]-> B"),
    ],
)
def test_every_shape_shows_both_anchors_and_the_graphs_own_arrows(line: str, kind: str, text: str) -> None:
    graph = graph_of(line)
    [evidence] = ChainRetriever(graph)(QUERY, linked(graph, "A", "B"))
    assert (evidence.kind, evidence.text, ends(evidence)) == (kind, text, ["A", "B"])


def test_a_chain_is_read_from_the_entity_that_was_linked_first() -> None:
    graph = graph_of("A>X<Y<B")
    [evidence] = ChainRetriever(graph)(QUERY, linked(graph, "B", "A"))
    assert evidence.text == "B -[t]-> Y -[s]-> X <-[r]- A"
    assert ends(evidence) == ["B", "A"]
    assert [t.relation.name for t in evidence.triples] == ["t", "s", "r"]


def test_pairs_come_in_the_order_of_the_links() -> None:
    graph = MemoryGraph([(a, "r", b) for a, b in ("AB", "BC", "AC")])
    found = ChainRetriever(graph, hops=1)(QUERY, linked(graph, "C", "A", "B"))
    assert [ends(e) for e in found] == [["C", "A"], ["C", "B"], ["A", "B"]]


def test_parallel_relations_are_separate_evidence_and_direct_ones_score_one() -> None:
    graph = MemoryGraph([("A", "r", "B"), ("A", "s", "B")])
    found = ChainRetriever(graph)(QUERY, linked(graph, "A", "B"))
    assert [(e.text, e.score) for e in found] == [("A -[r]-> B", 1.0), ("A -[s]-> B", 1.0)]


def test_a_chain_through_a_common_node_scores_less() -> None:
    graph = MemoryGraph([("A", "r", "X"), ("B", "r", "X"), ("A", "r", "Y"), ("B", "r", "Y"), ("C", "r", "Y")])
    found = ChainRetriever(graph)(QUERY, linked(graph, "A", "B"))
    assert [(e.triples[0].tail.name, e.score) for e in found] == [("X", 1 / 2), ("Y", 1 / 3)]


def test_a_cut_search_says_so_in_its_notes_and_a_whole_one_has_none() -> None:
    graph = MemoryGraph([(a, "r", f"x{i}") for a, i in product("AB", range(9))])
    links = linked(graph, "A", "B")
    with notes() as left:
        ChainRetriever(graph)(QUERY, links)
        assert left == ["chains: 9 between 1 pairs, 9 looked at"]
        assert isinstance(left.pop(), Fact)
        ChainRetriever(graph, budget=SearchBudget(middles=3))(QUERY, links)
    counted, line = left
    assert isinstance(counted, Fact)
    assert "budget (middles)" in line


def test_one_entity_negated_ones_and_repeated_ones_have_no_chains() -> None:
    graph = graph_of("A>X<B")
    for links in (linked(graph, "A"), linked(graph, "A", "B", negated="B"), linked(graph, "A", "A"), []):
        assert ChainRetriever(graph)(QUERY, links) == []
