"""HyKGE's background text, and KG-Rank's."""

import pytest

from kgmed.methods.hykge import ChainRetriever
from kgmed.methods.kg_rank import ByEntity
from kgmed.models.fakes import TrigramEncoder
from kgmed.records import Query, Question
from kgmed.steps.phrase import Arrows
from kgmed.steps.retrieve import Neighbours
from role_graph import RoleGraph, query

GRAPH = RoleGraph(
    [("gout", "found", "red toe"), ("drug", "treats", "gout"), ("drug", "harms", "liver")],
    (),
    {},
    descriptions={"gout": "A disease\n[1] of uric acid.", "red toe": "A toe that is red.", "drug": "  "},
)
Q = query("gout, drug, red toe")
LINKS = [GRAPH.link("red toe"), GRAPH.link("drug")]


@pytest.mark.parametrize("line", ["A>B", "A<B", "A>X>B", "A<X<B", "A>X<B", "A<X>B", "A>X>Y<B", "A<X<Y>B", "A<X>Y>B"])
def test_both_anchors_of_every_shape_are_written(line: str) -> None:
    steps = zip(line[::2], line[1::2], line[2::2], strict=False)
    graph = RoleGraph([(a, "r", b) if arrow == ">" else (b, "r", a) for a, arrow, b in steps], (), {})
    context = Arrows(graph)(Q, ChainRetriever(graph)(Q, [graph.link("A"), graph.link("B")]))
    assert context.text.startswith("[1] A ")
    assert context.text.endswith(" B")
    assert context.text.count("->") + context.text.count("<-") == len(line) // 2


def test_chains_then_what_their_ends_are_each_once_and_none_for_what_has_no_description() -> None:
    context = Arrows(GRAPH)(Q, ChainRetriever(GRAPH)(Q, [*LINKS, GRAPH.link("gout")]))
    assert context.text.splitlines() == [
        "[1] red toe <-(found)- gout <-(treats)- drug",
        "[2] red toe <-(found)- gout",
        "[3] drug -(treats)-> gout",
        "[4] red toe is defined as: A toe that is red.",
        "[5] gout is defined as: A disease (1) of uric acid.",
    ]
    assert [e.kind for e in context.cited[3:]] == ["description", "description"]
    assert [e.about[0].name for e in context.cited[3:]] == ["red toe", "gout"]
    assert "None" not in context.text


def test_a_description_far_from_the_question_is_left_out_where_an_encoder_is_given() -> None:
    found = ChainRetriever(GRAPH)(Q, [*LINKS, GRAPH.link("gout")])
    near = Arrows(GRAPH, encoder=TrigramEncoder(), at_least=0.5)(Query(Question("a toe that is red")), found)
    assert [e.about[0].name for e in near.cited if e.kind == "description"] == ["red toe"]
    assert len(Arrows(GRAPH, descriptions=False)(Q, found).cited) == len(found)


def test_each_entity_has_its_block_with_its_definition_in_front() -> None:
    found = Neighbours(GRAPH)(Q, [GRAPH.link("gout"), GRAPH.link("drug")])
    assert ByEntity(GRAPH)(Q, found).text.splitlines() == [
        "gout:",
        "[1] gout is defined as: A disease (1) of uric acid.",
        "[2] drug — treats → gout",
        "[3] gout — found → red toe",
        "drug:",
        "[4] drug — harms → liver",
    ]
    assert "defined" not in ByEntity(GRAPH, definitions=False)(Q, found).text
