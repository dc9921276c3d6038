import pytest

from kgmed.records import Answer, Context, Evidence, Query, Question, Verdict
from kgmed.steps.tree import Reasoning
from memory_graph import MemoryGraph

GRAPH = MemoryGraph(
    [("Flu", "has_symptom", "Fever"), ("Flu", "has_symptom", "Cough"), ("Gout", "has_symptom", "Fever")]
)
PATH = Evidence("Flu has_symptom Fever", "path", (GRAPH.triple(1),), (GRAPH.entity("flu"),), id="P1")
CONTEXT = Context("[1] P1: (Flu)-has symptom->(Fever)", (PATH,))


def verdicts(inference: str, tree: str = "", text: str = "Flu has fever [1].") -> tuple[Verdict, ...]:
    reasoning = f"Output 2:\n{inference}\nOutput 3:\n{tree}"
    answer = Answer(text, (1,), reasoning=reasoning)
    return Reasoning(GRAPH)(Query(Question("?")), CONTEXT, answer).verdicts[1:]


def test_the_evidence_is_what_it_is_taken_for() -> None:
    assert (PATH.triples[0].head.name, PATH.triples[0].tail.name) == ("Flu", "Fever")


@pytest.mark.parametrize(
    ("step", "supported", "reason"),
    [
        ("P1('Flu'->'has_symptom'->'Fever')", True, "evidence P1 says so"),
        ("P1('flu'->'has symptom'->'fevers')", True, "evidence P1 says so"),
        ("P1('Fever'<-'has symptom'<-'Flu')", True, "evidence P1 says so"),
        ("P1('Flu'->'Fever')", True, "evidence P1 says so"),
        ("P1('Fever'->'has_symptom'->'Flu')", False, "evidence P1 says it the other way round"),
        ("P1('Flu'->'cured by'->'Fever')", False, "evidence P1 says has_symptom, not cured by"),
        ("P1('Flu'->'has_symptom'->'Cough')", True, "the graph says so, but evidence P1 does not"),
        ("P1('Flu'->'has_symptom'->'Rash')", False, "evidence P1 does not join Flu and Rash"),
        ("N4('Flu'->'has_symptom'->'Fever')", False, "cites evidence N4 that does not exist"),
    ],
)
def test_each_step_is_held_against_its_evidence_and_the_graph(step: str, supported: bool, reason: str) -> None:
    [verdict] = verdicts(step)
    assert (verdict.supported, verdict.reason) == (supported, reason)
    assert verdict.citations == ((1,) if "P1" in reason and "graph" not in reason else ())


def test_invented_labels_of_tree_and_answer_are_reported() -> None:
    found = verdicts("", "Flu (P1)\n└── rest (N9)", "Flu has fever [1] (P8).")
    assert [v.sentence for v in found] == ["answer: P8", "tree: N9"]
    assert not any(v.supported for v in found)


def test_an_answer_that_abstains_has_no_verdicts() -> None:
    answer = Answer("I do not know.", abstained=True, reasoning="Output 2:\nP9('a'->'b')")
    assert Reasoning(GRAPH)(Query(Question("?")), CONTEXT, answer).verdicts == ()
