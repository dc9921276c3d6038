"""The prompt with knowledge: one disease of those that the graph ties to the findings, or none."""

import pytest

from kgmed.graph.base import EdgeRow, NodeRow, Row
from kgmed.graph.store.store import Store
from kgmed.models.fakes import Scripted, TrigramEncoder
from kgmed.records import Run
from kgmed.registry import methods
from kgmed.toolkit import Toolkit
from named_graph import small

ROWS: tuple[Row, ...] = (
    NodeRow("type 1 diabetes", kind="disease"),
    NodeRow("type 2 diabetes", kind="disease"),
    NodeRow("measles", kind="disease"),
    NodeRow("thirst", kind="symptom"),
    NodeRow("weight loss", kind="symptom"),
    NodeRow("rash", kind="symptom"),
    EdgeRow("type 1 diabetes", "has_symptom", "thirst"),
    EdgeRow("type 1 diabetes", "has_symptom", "weight loss"),
    EdgeRow("type 2 diabetes", "has_symptom", "thirst"),
    EdgeRow("measles", "has_symptom", "rash"),
)


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return small(tmp_path_factory.mktemp("rlkgf"), ROWS)


def asked(graph: Store, reply: str, question: str = "He has thirst and weight loss.") -> tuple[Run, Scripted]:
    llm = Scripted([reply])
    return methods.get("rlkgf-prompt").build(Toolkit(graph, llm, TrigramEncoder()))(question), llm


def test_the_model_sees_the_tied_diseases_with_their_facts_and_no_others(graph: Store) -> None:
    _, llm = asked(graph, "type 1 diabetes")
    shown = llm.asked[0][-1].text
    assert "[1] type 1 diabetes: thirst" in shown
    assert "[2] type 2 diabetes: thirst" in shown
    assert "measles" not in shown


@pytest.mark.parametrize(
    "reply", ["type 2 diabetes", "Type 2 diabetes [2]", "not type 1 diabetes but type 2 diabetes", "It is number [2]."]
)
def test_the_disease_that_is_named_is_the_answer_and_cites_its_facts(graph: Store, reply: str) -> None:
    run, _ = asked(graph, reply)
    assert run.answer.text == "type 2 diabetes [2]"
    assert [c.name for c in run.answer.candidates] == ["type 2 diabetes"]
    (number,) = run.answer.citations
    assert {t.head.name for t in run.context.cited[number - 1].triples} == {"type 2 diabetes"}


def test_unknown_is_an_abstention(graph: Store) -> None:
    run, _ = asked(graph, "UNKNOW")
    assert run.answer.abstained
    assert run.answer.citations == ()
    assert not run.failures


@pytest.mark.parametrize("reply", ["type 1 diabetes or type 2 diabetes", "measles", "It could be many things."])
def test_several_or_none_of_the_list_falls_back_on_the_facts_and_is_told(graph: Store, reply: str) -> None:
    run, _ = asked(graph, reply)
    assert "disease of the list" in run.failures[0]
    assert run.answer.reader == "facts"


def test_without_findings_nothing_is_asked(graph: Store) -> None:
    run, llm = asked(graph, "measles", "What is the weather?")
    assert run.answer.abstained
    assert llm.asked == []
