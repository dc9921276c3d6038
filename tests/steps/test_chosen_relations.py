"""The triples of the relations that a model chooses."""

import pytest

from kgmed.errors import ModelFailed, Unavailable
from kgmed.methods.baselines_retrieval import ChosenRelations
from kgmed.models.fakes import Scripted
from kgmed.pipeline import notes
from kgmed.records import Link, Mention, Query, Question
from memory_graph import MemoryGraph

GRAPH = MemoryGraph(
    [
        ("gout", "has", "toe pain"),
        ("gout", "cause", "uric acid"),
        ("colchicine", "treats", "gout"),
        ("measles", "has", "rash"),
        ("vitamin A", "treats", "measles"),
    ]
)
Q = Query(Question("What treats gout and measles?"))


def link(text: str) -> list[Link]:
    return [_link(name) for name in ("gout", "measles") if name in text]


def _link(name: str) -> Link:
    return Link(Mention(name, name, 0, len(name)), GRAPH.entity(name), 1.0, "exact")


def test_only_the_triples_of_the_relations_chosen_are_found() -> None:
    llm = Scripted(['["treats"]'])
    with notes() as left:
        found = ChosenRelations(GRAPH, llm, link, keep=1)(Q, link(Q.text))
    assert [e.text for e in found] == ["colchicine — treats → gout", "vitamin A — treats → measles"]
    assert left == []
    assert llm.asked[0][-1].text.endswith("\ntreats\nhas\ncause")


def test_each_line_is_asked_about_its_own_entities() -> None:
    llm = Scripted(['["treats"]', '["has"]'])
    query = Query(Q.question, "What treats gout?\nWhat does measles have?")
    found = ChosenRelations(GRAPH, llm, link, keep=1)(query, link(Q.text))
    assert [e.text for e in found] == ["colchicine — treats → gout", "measles — has → rash"]
    assert "cause" not in llm.asked[1][-1].text


def test_a_line_that_names_nothing_is_asked_about_everything() -> None:
    found = ChosenRelations(GRAPH, Scripted(['["treats"]']), link, keep=1)(Query(Q.question, "It?"), link(Q.text))
    assert len(found) == 2


def test_where_there_is_nothing_to_choose_the_model_is_not_asked() -> None:
    llm = Scripted([])
    assert len(ChosenRelations(GRAPH, llm, link, keep=3)(Q, link(Q.text))) == 5
    assert llm.asked == []


def test_a_choice_that_cannot_be_read_keeps_all_relations_and_says_so() -> None:
    llm = Scripted(["treats", '["cures"]'])
    with notes() as left:
        found = ChosenRelations(GRAPH, llm, link, keep=1)(Q, link(Q.text))
    assert len(found) == 5
    assert "all 3 relations kept for 'What treats gout and measles?'" in left[0]
    assert len(llm.asked) == 2


def test_a_model_that_cannot_be_reached_is_an_error() -> None:
    with pytest.raises(Unavailable, match="no server"):
        ChosenRelations(GRAPH, Scripted([Unavailable("no server")]), link, keep=1)(Q, link(Q.text))
    with notes() as left:
        ChosenRelations(GRAPH, Scripted([ModelFailed("no")]), link, keep=1)(Q, link(Q.text))
    assert left
