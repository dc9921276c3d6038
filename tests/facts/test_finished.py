"""What is done to a run before anybody sees it."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from frames import asked
from kgmed.facts.answer import finished
from kgmed.frame import Ask, Frame, Intent, Patient
from kgmed.records import Answer, Candidate, Entity, Evidence, Relation, Run, Triple, Verdict
from kgmed.steps.phrase import Numbered


def run(text: str, answer: Answer, *intents: Intent, names: Sequence[str] = "abcd") -> Run:
    """A run whose evidence is one triple for each name."""
    things = [Entity(name, name) for name in names]
    evidence = [Evidence(t.name, "triple", (Triple(t, Relation("has"), Entity("q", "q")),)) for t in things]
    query = asked(text, *intents)
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
    after = finished(before)
    assert replace(after, answer=replace(after.answer, limits="")) == replace(
        before, answer=replace(before.answer, limits="")
    )
    assert ("medical advice" in after.answer.limits) == (reader != "none")


def test_of_a_bite_that_asks_for_a_medicine_only_what_is_to_be_done_at_once_is_said() -> None:
    listed = Answer("Treatments of bleeding: a [1]", (1,), reader="facts")
    done = finished(run("A dog bit my hand, which medicine helps?", listed, Intent.TREATMENT))
    assert "soap" in done.answer.text
    assert "bleeding" not in done.answer.text
    assert done.context.cited


@pytest.mark.parametrize("text", ["I want to die. What illness is it?", "I want to die", "I have gout and want to die"])
def test_of_a_wish_to_die_nothing_is_listed_even_if_diseases_are_asked_for(text: str) -> None:
    told = run(text, ANSWER)
    frame = Frame((Ask(Intent.DIAGNOSIS, probability=1.0),), source="given")
    done = finished(replace(told, query=replace(told.query, frame=frame)))
    assert "x: c" not in done.answer.text
    assert "emergency number" in done.answer.text


@pytest.mark.parametrize(("groups", "said"), [(("pregnancy",), True), ((), False), (("children",), False)])
def test_what_a_model_names_and_is_not_for_the_patient_is_said_below_it(groups: tuple[str, ...], *, said: bool) -> None:
    told = run("gout?", Answer("Take lisinopril or 依那普利 daily.", reader="a-model"), names=("依那普利", "ibuprofen"))
    frame = Frame(patient=Patient(groups=groups), source="given")
    done = finished(replace(told, query=replace(told.query, frame=frame))).answer.text
    assert done.startswith("Take lisinopril")
    assert done.endswith("pregnancy: lisinopril, enalapril.") is said


def test_what_only_warns_of_a_medicine_by_the_word_of_the_model_is_not_warned_of_again() -> None:
    frame = Frame(patient=Patient(groups=("pregnancy",)), source="given")
    for text, below in (("Never take lisinopril [1].", False), ("Never take lisinopril [1]. Enalapril is good.", True)):
        verdicts = (Verdict("Never take lisinopril.", True, "", offers=False), Verdict("Enalapril is good.", False, ""))
        told = run("gout?", Answer(text, verdicts=verdicts, reader="a-model"))
        done = finished(replace(told, query=replace(told.query, frame=frame))).answer.text
        assert done.endswith("pregnancy: Enalapril.") is below
        assert "pregnancy: lisinopril" not in done
