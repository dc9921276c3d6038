"""What is done to a run before anybody sees it."""

from dataclasses import replace

import pytest

from kgmed.records import Answer, Candidate, Entity, Evidence, Query, Question, Relation, Run, Triple
from kgmed.steps.finished import finished
from kgmed.steps.phrase import Numbered


def run(text: str, answer: Answer, names: str = "abcd") -> Run:
    """A run whose evidence is one triple for each name."""
    things = [Entity(name, name) for name in names]
    evidence = [Evidence(t.name, "triple", (Triple(t, Relation("has"), Entity("q", "q")),)) for t in things]
    query = Query(Question(text))
    return Run(query, (), (), (), tuple(evidence), Numbered()(query, evidence), answer)


ANSWER = Answer("x: c [3]; y: a [1], c [3]", (1, 3), (Candidate("c", 1.0, citations=(3, 4)),), reader="facts")


def test_what_is_cited_is_numbered_from_one_in_the_order_in_which_it_stands_in_the_text() -> None:
    done = finished(run("gout?", ANSWER))
    assert done.answer.text == "x: c [1]; y: a [2], c [1]"
    assert done.answer.citations == (1, 2)


def test_a_number_means_the_same_evidence_as_before_in_text_context_and_candidates() -> None:
    done = finished(run("gout?", ANSWER))
    assert [e.text for e in done.context.cited] == ["c", "a", "b", "d"]
    assert done.context.text.splitlines() == ["[1] c", "[2] a", "[3] b", "[4] d"]
    assert [done.context.cited[n - 1].text for n in done.answer.candidates[0].citations] == ["c", "d"]


@pytest.mark.parametrize("reader", ["a-model", "none"])
def test_the_numbers_that_a_model_was_shown_stay(reader: str) -> None:
    before = run("gout?", replace(ANSWER, reader=reader))
    assert finished(before) == before


def test_of_a_bite_that_asks_for_a_medicine_only_what_is_to_be_done_at_once_is_said() -> None:
    done = finished(
        run("A dog bit my hand, which medicine helps?", Answer("Treatments of bleeding: a [1]", (1,), reader="facts"))
    )
    assert "soap" in done.answer.text
    assert "bleeding" not in done.answer.text
    assert done.context.cited
